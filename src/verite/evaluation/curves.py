"""Precision-recall curve of a class: average precision by several interpolations, and F1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from verite.arrays import np
from verite.errors import BadParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
Interpolation = Literal["all", "11", "101", "raw", "trapezoid", "sloped"]


@dataclass(frozen=True, eq=False)
class Curve:
    """Precision-recall curve of a class: its predictions by falling confidence, each a TP or an FP.

    >>> curve = Curve("cat", 3, np.array([0.9, 0.8, 0.7]), np.array([True, False, True]))
    >>> curve.precision.round(4), curve.recall.round(4)
    (array([1.    , 0.5   , 0.6667]), array([0.3333, 0.3333, 0.6667]))
    """

    label: str
    truths: float  # number of ground-truth objects
    confidence: Floats
    is_true: NDArray[np.bool_]
    rows: NDArray[np.int64] | None = None  # row of the prediction of each point
    weight: Floats | None = None  # how much each TP counts, if not one

    @cached_property
    def true_positives(self) -> NDArray[Any]:
        """Cumulative number of true positives at each point."""
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
        """Points that make the envelope: true positives after which it falls. Only they add to the area.

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
        """The largest F1 and the confidence threshold that reaches it; NaN without ground truth.

        Predictions of equal confidence are kept or dropped together, so only the last of them is a choice.
        """
        if not self.truths or not len(self.is_true):
            return (0.0 if self.truths else np.nan), np.nan
        choices = np.append(self.confidence[1:] != self.confidence[:-1], True)
        best = int(np.argmax(np.where(choices, self.f1, -1)))
        return float(self.f1[best]), float(self.confidence[best])

    def average_precision(self, interpolation: Interpolation = "all", *, levels: Floats | None = None) -> float:
        """Return average precision: the area below the curve; NaN without ground truth.

        `all`: precision is the best at any higher recall, summed wherever recall changes (Pascal VOC since 2010).
        `11`: the mean of that precision at the recalls 0, 0.1, … 1 (Pascal VOC 2007). Recalls are compared as
        fractions; `levels` gives recalls to compare as floating-point numbers instead. `101`: the same at 0, 0.01, … 1
        (COCO). `raw`: each true prediction with the precision there, whatever comes later (scikit-learn). `trapezoid`:
        straight lines between the precisions just beyond the recalls 0, 0.01, … 1 (Ultralytics). `sloped`: the same,
        and beyond the last recall a line down to 0 at recall 1 (Ultralytics up to 8.4.36).

        >>> one_of_two = Curve("cat", 2, np.array([0.9]), np.array([True]))
        >>> {way: round(one_of_two.average_precision(way), 4) for way in get_args(Interpolation)}
        {'all': 0.5, '11': 0.5455, '101': 0.505, 'raw': 0.5, 'trapezoid': 0.495, 'sloped': 0.75}
        """
        if interpolation not in get_args(Interpolation):
            known = " or ".join(get_args(Interpolation))
            raise BadParameter(f"interpolation: expected {known}, found {interpolation!r}")
        if not self.truths:
            return np.nan
        if interpolation in ("all", "raw"):
            steps = np.flatnonzero(self.is_true)
            gains = (self.envelope if interpolation == "all" else self.precision)[steps]
            return float(np.sum(gains if self.weight is None else gains * self.weight[steps]) / self.truths)
        if interpolation in ("trapezoid", "sloped"):
            return self.area_below_lines(is_sloped=interpolation == "sloped")
        if interpolation == "101":
            first = np.searchsorted(self.recall, hundredths())
        elif levels is not None:
            first = np.searchsorted(self.recall, levels)
        else:
            first = np.searchsorted(10 * self.true_positives, np.arange(11) * self.truths)
        return float(np.mean(np.append(self.envelope, 0.0)[first]))

    def area_below_lines(self, *, is_sloped: bool) -> float:
        """Return the area below straight lines between 101 recalls, as Ultralytics computes it."""
        levels = hundredths()
        heights = np.append(self.envelope, 0.0)[np.searchsorted(self.recall, levels, side="right")]
        last = self.recall[-1] if len(self.is_true) else 1.0
        if is_sloped and last < 1:
            is_beyond = levels >= last
            heights[is_beyond] = self.precision[-1] * (1 - levels[is_beyond]) / (1 - last)
        return float((np.sum(heights) - (heights[0] + heights[-1]) / 2) / 100)


def hundredths() -> Floats:
    """The recalls 0, 0.01, … 1 as COCO has them."""
    return np.array([*(i * 0.01 for i in range(100)), 1.0])
