"""What follows from pixels counted by their class in the truth and in the prediction: IoU, accuracy, Dice, means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

NOTHING = "nothing"  # what a pixel is predicted as that has no label, or one that nobody knows


@record(eq=False)
class ClassPixels:
    """Pixels of each class: right ones, those of the truth, and those predicted where the truth has a class.

    Classes are the last axis; there may be a row for each image or draw.
    """

    right: NDArray[Any]
    truth: NDArray[Any]
    pred: NDArray[Any]

    def measures(self) -> dict[str, Floats]:
        """NaN where there is nothing to divide by: IoU and Dice of a class on neither side, accuracy without truth."""
        right, truth, pred = self.right, self.truth, self.pred
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                "IoU": right / (truth + pred - right),
                "acc": right / truth,
                "Dice": 2 * right / (truth + pred),
            }

    def means(self, kept: Sequence[int]) -> dict[str, Floats]:
        """The means over these classes, those without a value left out, and what is counted pixel by pixel."""
        found = {name: values[..., kept] for name, values in self.measures().items()}
        truth, right = self.truth[..., kept], self.right[..., kept]
        pixels = truth.sum(axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                "mIoU": mean_known(found["IoU"]),
                "fwIoU": (truth * np.nan_to_num(found["IoU"])).sum(axis=-1) / pixels,
                "mAcc": mean_known(found["acc"]),
                "aAcc": right.sum(axis=-1) / pixels,
                "Dice": mean_known(found["Dice"]),
            }


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
    def classes(self) -> ClassPixels:
        return ClassPixels(self.matrix.diagonal(), self.matrix.sum(axis=1), self.matrix.sum(axis=0)[:-1])


def mean_known(values: Floats) -> Floats:
    """The mean along the last axis of the values that there are."""
    is_known = ~np.isnan(values)
    count = is_known.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(is_known, values, 0.0).sum(axis=-1) / count)


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
