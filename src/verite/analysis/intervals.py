"""How much of it is the choice of images? Images, or groups of them, drawn again; one set of draws for all parts.

An image that is drawn twice counts twice. Shares and differences have percentile intervals; average precision has not:
drawing from a sample adds its own bias once more, so that its deviation and that bias are told instead.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.settings import IMAGES
from verite.leaderboards.columns import groups_of
from verite.leaderboards.resampling import draw_images
from verite.statistics.intervals import percentile_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.analysis.matches import Floats
    from verite.model.annotations import Annotations

LEVEL = 0.95


class ImageDraws:
    """How often each image is there in each draw, the same for every system and part."""

    def __init__(self, truth: Annotations, draws: int, seed: int = 0, by: Any = IMAGES) -> None:
        self.truth, self.count, self.seed, self.by = truth, draws, seed, by

    @cached_property
    def groups(self) -> NDArray[Any] | None:
        """Of each image, where groups of them are drawn."""
        return None if isinstance(self.by, str) and self.by == IMAGES else groups_of(self.truth, self.by, "resample")

    @property
    def unit(self) -> str:
        """What is drawn."""
        if isinstance(self.by, str):
            return IMAGES if self.by == IMAGES else f"groups of images ({self.by})"
        return "groups of images"

    @cached_property
    def weights(self) -> Floats:
        """[draw, image]"""
        return draw_images(self.truth.images, self.count, self.seed, groups=self.groups)

    def sum(self, per_image: NDArray[Any]) -> Floats:
        """Sums over images in each draw, [draw, …] of [image, …]; images that the truth does not have are not drawn."""
        return np.asarray(self.weights @ per_image[: self.weights.shape[1]].astype(np.float64))

    def ratio(self, above: NDArray[Any], below: NDArray[Any]) -> Floats:
        """The ratio of two sums in each draw; not a number of nothing."""
        total, count = self.sum(above), self.sum(below)
        return np.asarray(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0))

    def tell(self) -> dict[str, Any]:
        return {"draws": self.count, "seed": self.seed, "resample": self.unit}

    @property
    def settings(self) -> dict[str, object]:
        """What signatures say."""
        return {"resample": self.by if isinstance(self.by, str) else "given", "draws": self.count, "seed": self.seed}


def interval(drawn: Floats) -> tuple[float, float]:
    """95 % of the draws."""
    return percentile_interval(drawn, LEVEL)
