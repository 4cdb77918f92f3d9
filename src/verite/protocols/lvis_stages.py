"""COCO's stages as LVIS needs them: predictions of classes that are not all marked are spared."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from verite.model.verdicts import INCOMPLETE, is_in
from verite.protocols.coco_stages import Evaluation

if TYPE_CHECKING:
    from numpy.typing import NDArray


class FederatedEvaluation(Evaluation):
    """COCO's stages, with predictions of classes that are not all marked spared where they find nothing."""

    @cached_property
    def outside(self) -> NDArray[np.uint32]:
        """For each prediction (by slot) the area ranges in which it is spared if it finds nothing, one bit each."""
        found = super().outside
        said, rows = self.truth.verdicts, self.ordered.cells.rows
        assert said is not None
        labels = len(self.truth.labels)
        spared = is_in(said.cells(labels, INCOMPLETE), self.pred.image[rows], self.pred.label[rows], labels)
        return np.where(spared, np.uint32((1 << len(self.settings.areas)) - 1), found)
