"""Results by subsets of the objects (easy, medium, hard), with a curve for each class and subset: KITTI, WIDER FACE."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, ClassVar

from verite.arrays import np
from verite.evaluation.bootstrap import mean_over_classes, widen
from verite.model.images import known_images
from verite.model.results import Results
from verite.model.tables import Legend, Part, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class SubsetResults(Results):
    """Results whose scores are AP of subsets of the objects, as means over classes.

    `file_notes` are sentences about the files, shown below the table; `legend` explains the columns.
    """

    file_notes: list[str]
    legend: ClassVar[Legend]

    def curve_table(self) -> Table:
        """Return the points of the curves of every class and subset."""
        raise NotImplementedError

    def draw_class(self, name: str, score: str, weights: Floats) -> Floats:
        """Return a score of one class on bootstrap samples of the images, [sample]; weights are [sample, image]."""
        raise NotImplementedError

    def draw_scores(self, scores: Sequence[str], weights: Floats, label: str | None = None) -> Floats:
        weights = widen(np.asarray(weights, dtype=np.float64), len(known_images(self.truth, self.pred)))
        names = self.class_names if label is None else [label]
        found = [
            mean_over_classes([self.draw_class(name, self[score].name, weights) for name in names], len(weights))
            for score in scores
        ]
        return np.stack(found, axis=1)

    def draw_class_scores(self, score: str, weights: Floats, labels: Sequence[str]) -> Floats:
        return np.concatenate([self.draw_scores([score], weights, label) for label in labels], axis=1)

    def main_table(self) -> Table:
        return self.class_table()

    def tables(self) -> dict[str, Table]:
        return {"classes": self.class_table(), "curves": self.curve_table()}

    def contents(self) -> list[Part]:
        values = [f"{name} {'–' if isnan(score) else f'{score:.4f}'}" for name, score in self.scores.items()]
        return [f"{self.name}   {'   '.join(values)}", self.class_table(), *self.file_notes, self.legend,
                self.signature, *self.notes]  # fmt: skip
