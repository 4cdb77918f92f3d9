"""At which confidence is a detector used? Precision, recall and F1 at one point of each curve, as tools print them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from verite.arrays import np
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.evaluation.curves import Curve

    Floats = NDArray[np.float64]

CONFIDENCES = 1000  # between 0 and 1, at which common points are sought
SMOOTHED = 101  # a tenth of them and one, half on either side, are averaged


@record(eq=False)
class Point:
    """Precision and recall of each class at its point; classes without predictions have none of either."""

    labels: tuple[str, ...]
    precision: Floats
    recall: Floats

    @property
    def f1(self) -> Floats:
        return harmonic_mean(self.precision, self.recall)

    def means(self) -> dict[str, float]:
        values = {"P": self.precision, "R": self.recall, "F1": self.f1}
        return {name: float(np.mean(each)) if len(each) else np.nan for name, each in values.items()}

    def columns(self, labels: Sequence[str]) -> dict[str, list[float]]:
        """A value for each of these classes, NaN where it has none."""
        values = {"P": self.precision, "R": self.recall, "F1": self.f1}
        known = {name: dict(zip(self.labels, each.tolist(), strict=True)) for name, each in values.items()}
        return {name: [each.get(label, np.nan) for label in labels] for name, each in known.items()}


def harmonic_mean(precision: Floats, recall: Floats) -> Floats:
    total = precision + recall
    return np.asarray(2 * precision * recall / np.where(total > 0, total, 1.0))


def choose_point(curves: Mapping[str, Curve], how: str) -> Point | None:
    """`best`: one confidence for all classes, where their mean F1 is largest; `smooth`: where that mean is once it is
    smoothed; `class`: the best of each class; `last`: after the last prediction.

    >>> from verite.evaluation.curves import Curve
    >>> cat = Curve("cat", 2, np.array([0.9, 0.8, 0.1]), np.array([True, True, False]))
    >>> choose_point({"cat": cat}, "class").means(), round(choose_point({"cat": cat}, "last").means()["P"], 4)
    ({'P': 1.0, 'R': 1.0, 'F1': 1.0}, 0.6667)
    """
    if how == "none":
        return None
    if how in ("best", "smooth"):
        precision, recall = at_confidences(list(curves.values()))
        mean = harmonic_mean(precision, recall).mean(axis=0) if len(curves) else np.zeros(CONFIDENCES)
        best = int(np.argmax(smooth(mean) if how == "smooth" else mean))
        return Point(tuple(curves), precision[:, best], recall[:, best])
    places = [place_of(curve, how) for curve in curves.values()]
    return Point(
        tuple(curves),
        np.array([0.0 if i < 0 else c.precision[i] for i, c in zip(places, curves.values(), strict=True)]),
        np.array([0.0 if i < 0 else c.recall[i] for i, c in zip(places, curves.values(), strict=True)]),
    )


def place_of(curve: Curve, how: str) -> int:
    """Which prediction is the last one that is kept; -1: there is none."""
    if how == "last":
        return len(curve.confidence) - 1
    return int(np.count_nonzero(curve.confidence >= curve.best_f1[1])) - 1


def at_confidences(curves: Sequence[Curve]) -> tuple[Floats, Floats]:
    """Precision and recall of each curve at evenly spaced confidences, along lines between predictions; above the
    highest confidence nothing is wrong and nothing found.
    """
    asked = np.linspace(0, 1, CONFIDENCES)
    precision, recall = np.zeros((2, len(curves), CONFIDENCES))
    for row, curve in enumerate(curves):
        if len(curve.confidence):
            rising = curve.confidence[::-1]
            precision[row] = np.interp(asked, rising, curve.precision[::-1], right=1.0)
            recall[row] = np.interp(asked, rising, curve.recall[::-1], right=0.0)
    return precision, recall


def smooth(values: Floats) -> Floats:
    """The mean of each value and its neighbours, as differences of running sums; end values go on beyond the ends.

    >>> smooth(np.arange(1000.0))[[0, 500, 999]].round(4).tolist()
    [12.6238, 500.0, 986.3762]
    """
    before, after = np.repeat(values[[0, -1]], SMOOTHED // 2).reshape(2, -1)
    sums = np.cumsum(np.concatenate([[0.0], before, values, after]))
    return np.asarray((sums[SMOOTHED:] - sums[:-SMOOTHED]) / SMOOTHED)
