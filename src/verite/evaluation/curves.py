"""Precision against recall, and the areas below."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from verite.arrays import np
from verite.errors import BadParameter
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
Interpolation = Literal["all", "11"]


@record(eq=False)
class Curve:
    """The predictions of one class by falling confidence, true or false, and everything that follows from them.

    >>> curve = Curve("cat", 3, np.array([0.9, 0.8, 0.7]), np.array([True, False, True]))
    >>> curve.precision.round(4), curve.recall.round(4)
    (array([1.    , 0.5   , 0.6667]), array([0.3333, 0.3333, 0.6667]))
    """

    label: str
    truths: float  # how many there are to find
    confidence: Floats
    is_true: NDArray[np.bool_]
    rows: NDArray[np.int64] | None = None  # which prediction each point is
    weight: Floats | None = None  # of the true ones, where they do not all count one

    @cached_property
    def true_positives(self) -> NDArray[Any]:
        """True predictions so far, at each point."""
        if self.weight is None:
            return np.cumsum(self.is_true, dtype=np.int64)
        return np.cumsum(np.where(self.is_true, self.weight, 0.0))

    @cached_property
    def positives(self) -> NDArray[Any]:
        """True and false predictions so far, at each point."""
        if self.weight is None:
            return np.arange(1, len(self.is_true) + 1)
        return self.true_positives + np.cumsum(~self.is_true)

    @cached_property
    def precision(self) -> Floats:
        return np.asarray(self.true_positives / self.positives)

    @cached_property
    def recall(self) -> Floats:
        if not self.truths:
            return np.full(len(self.is_true), np.nan)
        return self.true_positives / self.truths

    @property
    def tp(self) -> int:
        return int(self.is_true.sum())

    @property
    def fp(self) -> int:
        return len(self.is_true) - self.tp

    @cached_property
    def envelope(self) -> Floats:
        """The best precision at this recall or a higher one, at each point."""
        return np.maximum.accumulate(self.precision[::-1])[::-1]

    @property
    def steps(self) -> NDArray[np.int64]:
        """The points that make the envelope: true ones after which it falls. Nothing else adds to the area below.

        >>> Curve("cat", 4, np.array([0.9, 0.8, 0.7, 0.6, 0.5]), np.array([True, True, False, True, False])).steps
        array([1, 3])
        """
        found = np.flatnonzero(self.is_true)
        falls = np.diff(self.envelope[found], append=-1) < 0
        return np.asarray(found[falls])

    @cached_property
    def f1(self) -> Floats:
        """The harmonic mean of precision and recall, at each point."""
        return 2 * self.true_positives / (self.positives + self.truths)

    @property
    def best_f1(self) -> tuple[float, float]:
        """The largest F1 and the confidence from which it is reached; NaN where nothing is to be found.

        Predictions of equal confidence are kept or dropped together, so only the last of them is a choice.
        """
        if not self.truths or not len(self.is_true):
            return (0.0 if self.truths else np.nan), np.nan
        choices = np.append(self.confidence[1:] != self.confidence[:-1], True)
        best = int(np.argmax(np.where(choices, self.f1, -1)))
        return float(self.f1[best]), float(self.confidence[best])

    def average_precision(self, interpolation: Interpolation = "all", *, levels: Floats | None = None) -> float:
        """The area below the curve; NaN where there is nothing to find.

        `all`: precision is the best at any higher recall, summed wherever recall changes (Pascal VOC since 2010).
        `11`: the mean of that precision at the recalls 0, 0.1, … 1 (Pascal VOC 2007). Recalls are compared as
        fractions; `levels` gives recalls to compare as floating-point numbers instead.
        """
        if interpolation not in ("all", "11"):
            raise BadParameter(f"interpolation: expected all or 11, found {interpolation!r}")
        if not self.truths:
            return np.nan
        if interpolation == "all":
            steps = np.flatnonzero(self.is_true)
            gains = self.envelope[steps] if self.weight is None else self.envelope[steps] * self.weight[steps]
            return float(np.sum(gains) / self.truths)
        if levels is not None:
            first = np.searchsorted(self.recall, levels)
        else:
            first = np.searchsorted(10 * self.true_positives, np.arange(11) * self.truths)
        return float(np.sum(np.append(self.envelope, 0.0)[first]) / 11)
