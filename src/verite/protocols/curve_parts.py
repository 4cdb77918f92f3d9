"""How are curves of some images kept and merged? A row for each point, by class, falling confidence and image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from verite import _core
from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.curves import Curve
from verite.evaluation.evaluation import int64s
from verite.evaluation.notes import Notes, class_id
from verite.evaluation.numbers import tell_as
from verite.evaluation.part import Part
from verite.evaluation.parts import GONE, ClassRows, MergedNumbers
from verite.evaluation.redrawing import Points, mean_over_classes, rearrange
from verite.model.images import known_images
from verite.model.labels import Labels
from verite.protocols.curve_results import CurveResults, KeptCurve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.images import Images

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]

EVERY = 0xFFFF  # thresholds of a block
OBJECTS, GROUPS = 0, 1  # what counts one, and what counts as much as somebody says: two ranges of a part


class GroupedResults(CurveResults):
    """Curves that do not stand on one evaluation, and whose groups may count for more or less than one object."""

    is_reversed = False  # equal confidences come the last first
    group_weight = 0.0

    @cached_property
    def numbers(self) -> MergedNumbers:
        """What became of all images."""
        return MergedNumbers([self.part(lambda labels: "")], Labels(self.class_names[: len(self.truth.labels)]))

    def hold_numbers(self, numbers: MergedNumbers) -> Self:
        """Made of parts, which are known."""
        self.numbers = numbers
        return self

    def draw_scores(self, scores: Sequence[str], weights: Floats, label: str | None = None) -> Floats:
        weights = rearrange(weights, known_images(self.truth, self.pred), self.numbers.images)
        chosen = self.class_names if label is None else [label]
        places = [place for place, name in enumerate(self.numbers.truth.labels.all_names) if name in chosen]
        gathered = [self.numbers.gather(place) for place in places]
        drawn = [
            [self.points(rows, self.threshold_of(score, label)).draw_precision(weights) for rows in gathered]
            for score in scores
        ]
        return np.stack([mean_over_classes(own, len(weights)) for own in drawn], axis=1)

    def points(self, rows: ClassRows, threshold: int) -> Points:
        """What the curve of a class is made of."""
        kept, weight = order_rows(rows, threshold, self.group_weight, self.is_reversed)
        truths = rows.counts[:, OBJECTS] + self.group_weight * rows.counts[:, GROUPS]
        return Points(rows.image[kept], rows.is_hit(threshold)[kept], rows.cell_image, truths, weight)


def part_of_curves(
    results: CurveResults, about: Callable[[Labels], str], is_asked: Sequence[Bools], *, is_reversed: bool = False
) -> Part:
    """The points of all curves, those of a threshold spared at all others, and the truths asked for, image by image.

    `is_asked`: truths that count one, and those that are groups. `is_reversed`: equal confidences come the last first,
    images by their names.
    """
    truth, pred = results.truth, results.pred
    names, count = results.class_names, len(truth.labels)
    labels, more = Labels(names[:count]), names[count:]
    images = known_images(truth, pred)
    rows = [
        column_of(curve, place, t, len(results.curves), pred.image, slice(None, None, -1 if is_reversed else 1))
        for t, curves in enumerate(results.curves)
        for place, curve in enumerate(curves.values())
    ]
    label, image, confidence, words = (np.concatenate(values) for values in zip(*rows, strict=True))
    cells = count_cells([truth.label, truth.image], is_asked)
    ids = None if is_reversed else images.ids
    with tell_as(DataError):
        return Part(
            _core.Part.of(
                about(labels),
                ids,
                names_of(images) if ids is None else None,
                int64s([*range(count), *map(class_id, more)]),
                len(results.curves),
                2,
                (label.astype(np.int32), image.astype(np.int32), confidence, words),
                cells,
            ),
            Notes(classes=tuple(sorted(more))),
        )


def names_of(images: Images) -> Sequence[str]:
    return images.names or [images.name(i) for i in range(len(images))]


def column_of(
    curve: Curve, place: int, threshold: int, thresholds: int, image: NDArray[np.int32], back: slice
) -> tuple[Any, ...]:
    """The points of one curve, forth or back: label, image, confidence, words."""
    assert curve.rows is not None
    is_true, count = curve.is_true[back], len(curve.rows)
    is_group = np.zeros(count, bool) if curve.weight is None else np.asarray(curve.weight[back] != 1) & is_true
    words = np.zeros((count, 1 + (thresholds + 15) // 16 * 2), dtype=np.uint32)
    words[:, 1:] = EVERY << 16
    column, bit = 1 + threshold // 16 * 2, np.uint32(1 << threshold % 16)
    for kind, is_hit in ((OBJECTS, is_true), (GROUPS, is_group)):
        words[:, column + kind] = np.where(is_hit, bit, 0) | np.uint32((EVERY ^ int(bit)) << 16)
    return np.full(count, place), image[curve.rows[back]], np.ascontiguousarray(curve.confidence[back]), words


def count_cells(where: Sequence[NDArray[np.int32]], is_asked: Sequence[Bools]) -> tuple[Any, Any, Any]:
    """Label and image of every cell with truths, and how many there are of each kind."""
    label, image = where
    width = int(image.max(initial=0)) + 1
    cells, place = np.unique(label.astype(np.int64) * width + image, return_inverse=True)
    counts = np.stack([np.bincount(place[kind], minlength=len(cells)) for kind in is_asked], axis=1)
    kept = counts.any(axis=1)
    cells = cells[kept]
    return (cells // width).astype(np.int32), (cells % width).astype(np.int32), counts[kept].astype(np.uint32)


class MergedCurve(KeptCurve):
    """The curve of a class of merged parts: its points are listed when asked for."""

    def __init__(self, label: str, numbers: MergedNumbers, place: int, threshold: int, reading: Sequence[Any]) -> None:
        areas, truths, right, wrong, f1, confidence = reading
        vars(self).update(label=label, truths=truths, weight=None, numbers=numbers, place=place, threshold=threshold)
        vars(self).update(areas=areas, counts=(right, wrong), best=(f1, confidence))

    numbers: MergedNumbers
    threshold: int

    def __reduce__(self) -> tuple[Any, ...]:
        return Curve, (self.label, self.truths, self.confidence, self.is_true, None, self.weight)

    @cached_property
    def points(self) -> tuple[Floats, Bools]:
        rows = self.numbers.gather(self.place)
        is_kept = ~rows.is_spared(self.threshold)
        return rows.confidence[is_kept], rows.is_hit(self.threshold)[is_kept]

    @property
    def rows(self) -> NDArray[np.int64]:
        raise DataError(f"curve: {GONE}; evaluate in one piece")

    @property
    def confidence(self) -> Floats:
        return self.points[0]

    @property
    def is_true(self) -> Bools:
        return self.points[1]


def merged_curves(numbers: MergedNumbers, thresholds: int) -> list[dict[str, Curve]]:
    """The curve of every class at each threshold, equal confidences by image."""
    found: list[dict[str, Curve]] = []
    for t in range(thresholds):
        readings = numbers.readings(t)
        found.append(
            {name: MergedCurve(name, numbers, place, t, readings[place]) for name, place in list_classes(numbers)}
        )
    return found


def list_classes(numbers: MergedNumbers) -> list[tuple[str, int]]:
    """Every class and its place: the truth's, then by their names those that only predictions have."""
    if numbers.given["is_together"]:
        return [("all classes", 0)]
    names, count = numbers.pred.labels.all_names, len(numbers.truth.labels)
    return [
        *zip(names[:count], range(count), strict=True),
        *sorted(zip(names[count:], range(count, len(names)), strict=True)),
    ]


def merged_group_curves(
    numbers: MergedNumbers, thresholds: int, group_weight: float, *, is_reversed: bool
) -> list[dict[str, Curve]]:
    """The same of `part_of_curves`: groups count as much as `group_weight`."""
    gathered = {name: numbers.gather(place) for name, place in list_classes(numbers)}
    return [
        {name: group_curve(name, rows, t, group_weight, is_reversed) for name, rows in gathered.items()}
        for t in range(thresholds)
    ]


def group_curve(name: str, rows: ClassRows, threshold: int, group_weight: float, is_reversed: bool) -> Curve:
    objects, groups = rows.counts.sum(axis=0, dtype=np.int64).tolist()
    wanted = objects + group_weight * groups
    kept, weight = order_rows(rows, threshold, group_weight, is_reversed)
    to_find: float = int(wanted) if float(wanted).is_integer() else wanted
    return Curve(name, to_find, rows.confidence[kept], rows.is_hit(threshold)[kept], None, weight)


def order_rows(
    rows: ClassRows, threshold: int, group_weight: float, is_reversed: bool
) -> tuple[NDArray[np.int64], Floats | None]:
    """The rows that count by falling confidence, and how much the true ones count for where that is not one."""
    kept = np.flatnonzero(~rows.is_spared(threshold))
    if is_reversed:
        kept = kept[np.lexsort((-np.arange(len(kept)), -rows.confidence[kept]))]
    is_group = rows.is_hit(threshold, GROUPS)[kept]
    return kept, np.where(is_group, group_weight, 1.0) if is_group.any() and group_weight != 1 else None
