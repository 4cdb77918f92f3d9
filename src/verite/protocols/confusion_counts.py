"""What follows from pixels counted by their class in the truth and in the prediction: IoU, accuracy, Dice, means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verite.arrays import np
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

NOTHING = "nothing"  # what a pixel is predicted as that has no label, or one that nobody knows


@record(eq=False)
class PixelCounts:
    """Pixels by their class in the truth, in rows, and in the prediction, in columns; the last column is nothing."""

    matrix: Ints  # [class, class + 1]

    @classmethod
    def none(cls, classes: int) -> PixelCounts:
        return cls(np.zeros((classes, classes + 1), dtype=np.int64))

    def __add__(self, other: PixelCounts) -> PixelCounts:
        return PixelCounts(self.matrix + other.matrix)

    @property
    def right(self) -> Ints:
        return self.matrix.diagonal()

    @property
    def truth(self) -> Ints:
        """Pixels of each class in the truth."""
        found: Ints = self.matrix.sum(axis=1)
        return found

    @property
    def pred(self) -> Ints:
        """Pixels predicted as each class where the truth has one."""
        found: Ints = self.matrix.sum(axis=0)[:-1]
        return found

    def by_class(self) -> dict[str, Floats]:
        """NaN where there is nothing to divide by: IoU and Dice of a class on neither side, accuracy without truth."""
        right, truth, pred = self.right, self.truth, self.pred
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                "IoU": right / (truth + pred - right),
                "acc": right / truth,
                "Dice": 2 * right / (truth + pred),
            }

    def scores(self, kept: Sequence[int]) -> dict[str, float]:
        """The means over these classes, those without a value left out, and what is counted pixel by pixel."""
        found, truth, right = self.by_class(), self.truth[kept], self.right[kept]
        pixels = truth.sum()
        weighted = np.where(truth > 0, truth * np.nan_to_num(found["IoU"][kept]), 0.0)
        return {
            "mIoU": mean_known(found["IoU"][kept]),
            "fwIoU": float(weighted.sum() / pixels) if pixels else np.nan,
            "mAcc": mean_known(found["acc"][kept]),
            "aAcc": float(right.sum() / pixels) if pixels else np.nan,
            "Dice": mean_known(found["Dice"][kept]),
        }


def mean_known(values: Floats) -> float:
    """The mean of the values that there are."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def count_pixels(truth: Ints, pred: Ints, classes: int, weights: NDArray[np.integer] | None = None) -> PixelCounts:
    """From the class of each pixel on both sides; a truth outside 0 … classes - 1 is left out, such a pred is nothing.

    >>> count_pixels(np.array([0, 1, 1, 9]), np.array([0, 0, 7, 0]), 2).matrix
    array([[1, 0, 0],
           [1, 0, 1]])
    """
    kept = (truth >= 0) & (truth < classes)
    mine, theirs = truth[kept].astype(np.int64), pred[kept].astype(np.int64)
    theirs = np.where((theirs >= 0) & (theirs < classes), theirs, classes)
    shares = None if weights is None else weights[kept]
    found = np.bincount(mine * (classes + 1) + theirs, weights=shares, minlength=classes * (classes + 1))
    return PixelCounts(found.astype(np.int64).reshape(classes, classes + 1))
