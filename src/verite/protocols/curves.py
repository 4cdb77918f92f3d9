"""Protocols with one precision-recall curve per class and IoU threshold: VOC, Open Images, ImageNet.

Also precision, recall and F1 at one operating point of each curve, as other tools print them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import isnan
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError, did_you_mean
from verite.evaluation.bootstrap import Points, mean_over_classes, rearrange
from verite.evaluation.curves import Curve, Interpolation
from verite.evaluation.evaluation import GONE, IGNORED, TRUE_POSITIVE, Evaluation, Rules, int64s
from verite.evaluation.partial import ClassRows, MergedNumbers
from verite.evaluation.prepare import explain_low_score
from verite.evaluation.settings import RankedSettings
from verite.evaluation.state import EvaluationState, PartialMetadata, class_id, tell_as
from verite.model.annotations import Annotations
from verite.model.classes import Labels
from verite.model.images import known_images
from verite.model.results import Results
from verite.model.tables import Table
from verite.settings import Choice, Flag, Option, Overlaps, Thresholds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.evaluation.curves import Curve
    from verite.files import JsonObject

    Floats = NDArray[np.float64]
    from verite.model.images import Images

    Bools = NDArray[np.bool_]


CONFIDENCES = 1000  # confidences between 0 and 1 among which the operating point is chosen

SMOOTHED = 101  # width of the moving average: a tenth of them, plus one


@dataclass(frozen=True, eq=False)
class Point:
    """Precision and recall of each class at its operating point; 0 for classes without predictions."""

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
        """Return precision, recall and F1 of these classes, NaN for those without."""
        values = {"P": self.precision, "R": self.recall, "F1": self.f1}
        known = {name: dict(zip(self.labels, each.tolist(), strict=True)) for name, each in values.items()}
        return {name: [each.get(label, np.nan) for label in labels] for name, each in known.items()}


def harmonic_mean(precision: Floats, recall: Floats) -> Floats:
    total = precision + recall
    return np.asarray(2 * precision * recall / np.where(total > 0, total, 1.0))


def choose_point(curves: Mapping[str, Curve], how: str) -> Point | None:
    """Return the operating point of each class.

    ``best``: the confidence with the largest mean F1 over classes; ``smooth``: the same after smoothing the mean;
    ``class``: the best F1 of each class; ``last``: after the last prediction.

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
    """Return the last prediction at or above the operating point; -1 if there is none.

    Parameters
    ----------
    curve
        Precision and recall of one class by falling confidence.
    how
        `last` for all predictions; anything else for the confidence of the best F1.
    """
    if how == "last":
        return len(curve.confidence) - 1
    return int(np.count_nonzero(curve.confidence >= curve.best_f1[1])) - 1


def at_confidences(curves: Sequence[Curve]) -> tuple[Floats, Floats]:
    """Return precision and recall of each curve at evenly spaced confidences, linearly interpolated.

    Above the highest confidence, precision is 1 and recall 0.
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
    """Return the moving average, as differences of running sums; the end values are repeated beyond the ends.

    >>> smooth(np.arange(1000.0))[[0, 500, 999]].round(4).tolist()
    [12.6238, 500.0, 986.3762]
    """
    before, after = np.repeat(values[[0, -1]], SMOOTHED // 2).reshape(2, -1)
    sums = np.cumsum(np.concatenate([[0.0], before, values, after]))
    return np.asarray((sums[SMOOTHED:] - sums[:-SMOOTHED]) / SMOOTHED)


IOU: Overlaps = Thresholds(0.5, "IoU threshold of a match; may be repeated.", short="-t")

Ties = Literal["stable", "image"]

TIES: Option[Ties] = Choice("stable", "Order of equal confidences: that of the file, or of images by id or name.", Ties)


class CurveSettings(RankedSettings):
    """Settings of protocols with one curve per class and IoU threshold."""

    SCORE: ClassVar[str]  # name of the score in signatures
    iou: Overlaps = IOU
    curves: Option[bool] = Flag(
        False,
        "Precision and recall in the JSON, at the points where the envelope changes.",
        is_signed=False,
        is_common=True,
    )


class CurveResults(Results):
    """Average precision per class at each IoU threshold, with the precision-recall curves.

    ``curves[t]`` maps class names to curves at the t-th IoU threshold.
    """

    settings: Any

    def __init__(
        self,
        protocol: str,
        settings: CurveSettings,
        curves: Sequence[dict[str, Curve]],
        truth: Annotations,
        pred: Annotations,
        findings: Sequence[Any] = (),
    ) -> None:
        self.settings, self.curves = settings, list(curves)
        means = [mean_of_present(self.ap_values(t)) for t in range(len(settings.iou))]
        names = ["mAP"] if len(settings.iou) == 1 else [f"mAP@{t:.2f}" for t in settings.iou]
        signature = settings.signature(settings.SCORE)
        signatures = [settings.signature(settings.SCORE, iou=t) for t in settings.iou]
        more = {name: (value, signature) for name, value in self.more_scores().items()}
        super().__init__(
            protocol=protocol,
            signature=signature,
            scores=dict(zip(names, zip(means, signatures, strict=True), strict=True)) | more,
            truth=truth,
            pred=pred,
            name=settings.name,
            findings=findings,
        )

    @property
    def notes(self) -> list[str]:
        return [*explain_low_score(self), *super().notes]

    @property
    def iou_thresholds(self) -> tuple[float, ...]:
        """IoU thresholds, one for each dictionary of `curves`."""
        return tuple(self.settings.iou)

    def ap(self, label: str, threshold: int = 0) -> float:
        """Return the average precision of a class at the t-th IoU threshold.

        Parameters
        ----------
        label
            Name of the class.
        threshold
            Position of the IoU threshold.

        Returns
        -------
        float
            Area below the precision-recall curve, by the interpolation of the protocol.
        """
        curves = self.curves[threshold]
        if label not in curves:
            raise BadParameter(
                f"class: expected one of {len(curves)} classes, found {label!r}{did_you_mean(label, curves)}"
            )
        return self.area_below(curves[label])

    def area_below(self, curve: Curve) -> float:
        """Return the average precision of a curve by the protocol's interpolation."""
        return curve.average_precision("all")

    def threshold_of(self, score: str, label: str | None = None) -> int:
        """Return the position of a score's IoU threshold; AP of a class is at the first."""
        return 0 if score == "AP" and label is not None else list(self.scores).index(self[score].name)

    def ap_values(self, threshold: int) -> list[float]:
        """Return the average precision of every class at the t-th IoU threshold."""
        return [self.ap(label, threshold) for label in self.curves[threshold]]

    @property
    def class_names(self) -> list[str]:
        """Names of the classes, in the order of `class_scores`."""
        return list(self.curves[0])

    def more_scores(self) -> dict[str, float]:
        """Return scores besides the mean at each IoU threshold."""
        return {}

    def more_class_scores(self) -> dict[str, list[float]]:
        """Return the scores of `more_scores` for every class."""
        return {}

    def class_scores(self) -> dict[str, list[float]]:
        """Return for each score its value per class."""
        names = list(self.scores)[: len(self.settings.iou)]
        return {name: self.ap_values(t) for t, name in enumerate(names)} | self.more_class_scores()

    def class_table(self) -> Table:
        """Return AP per class, and for a single IoU threshold TP, FP and the best F1."""
        if len(self.settings.iou) > 1:
            columns = {f"AP@{t:.2f}": self.ap_values(i) for i, t in enumerate(self.settings.iou)}
            truths = [curve.truths for curve in self.curves[0].values()]
            columns |= {head_of(name): values for name, values in self.more_class_scores().items()}
            return Table.of("class", self.class_names, {"truths": truths, **columns}, mean=self.mean_row())
        rows = [(self.ap(name), c.truths, c.tp, c.fp, *c.best_f1) for name, c in self.curves[0].items()]
        heads = ("AP", "truths", "TP", "FP", "best F1", "at confidence")
        columns = {head: [row[i] for row in rows] for i, head in enumerate(heads)} | self.more_class_scores()
        return Table.of("class", self.class_names, columns, mean=self.mean_row())

    def mean_row(self) -> dict[str, float]:
        """Return the last row of the table per class: means and sums."""
        curves, means = self.curves[0].values(), {head_of(name): score.value for name, score in self.scores.items()}
        counts = {"truths": sum(c.truths for c in curves)}
        if len(self.settings.iou) > 1:
            return counts | means
        return counts | means | {"TP": sum(c.tp for c in curves), "FP": sum(c.fp for c in curves)}

    def accumulate(self, label: str, threshold: int = 0) -> Table:
        """Return the predictions of a class by falling confidence, with cumulative TP, FP, precision and recall."""
        self.ap(label, threshold)  # an unknown class is named there
        curve = self.curves[threshold][label]
        assert curve.rows is not None
        names = [self.pred.images.name(int(i)) for i in self.pred.image[curve.rows]]
        is_true = curve.is_true.astype(int)
        columns = {
            "confidence": curve.confidence.tolist(),
            "TP": is_true.tolist(),
            "FP": (1 - is_true).tolist(),
            "acc TP": curve.true_positives.tolist(),
            "acc FP": np.cumsum(1 - is_true).tolist(),
            "precision": curve.precision.tolist(),
            "recall": curve.recall.tolist(),
        }
        return Table.of("image", names, columns)

    def details(self) -> JsonObject:
        """Return the documented keys: mAP and classes at the first IoU threshold, and at all if there are several."""
        first, more = self.at(0), self.more_class_scores()
        for place, facts in enumerate(first["classes"].values()):
            facts.update({name: values[place] for name, values in more.items()})
        first |= {name: self.scores[name].value for name in more}
        if len(self.settings.iou) == 1:
            return first
        return {**first, "thresholds": [{"iou": t, **self.at(i)} for i, t in enumerate(self.settings.iou)]}

    def at(self, threshold: int) -> JsonObject:
        """Return the JSON of one IoU threshold."""
        score = list(self.scores.values())[threshold]
        classes = {}
        for name, curve in self.curves[threshold].items():
            best, confidence = curve.best_f1
            classes[name] = {
                "AP": self.ap(name, threshold),
                "truths": curve.truths,
                "tp": curve.tp,
                "fp": curve.fp,
                "f1": best,
                "f1_confidence": confidence,
            }
            if self.settings.curves:
                points = {"precision": curve.precision, "recall": curve.recall, "confidence": curve.confidence}
                classes[name] |= {key: values[curve.steps].tolist() for key, values in points.items()}
        return {"mAP": score.value, "classes": classes}


def head_of(score: str) -> str:
    """Return the name of a score for one class: AP for mAP."""
    return score.removeprefix("m")


def mean_of_present(values: Sequence[float]) -> float:
    """Return the mean over classes with ground truth; NaN if there is none."""
    return _core.mean([value for value in values if not isnan(value)])


class KeptCurve(Curve):
    """Curve of a class of an evaluation. Its AP and best F1 are known; its points are computed on first use."""

    def __init__(
        self,
        label: str,
        evaluation: Evaluation,
        place: int,
        state: Callable[[], NDArray[np.int8]],
        summary: _core.CurveSummary,
    ) -> None:
        """`place` is the position of the class in the evaluation, `state` gives the outcomes of the predictions."""
        vars(self).update(
            label=label,
            truths=summary.truths,
            weight=None,
            evaluation=evaluation,
            place=place,
            state=state,
            areas=summary.average_precision,
            counts=(summary.tp, summary.fp),
            best=(summary.best_f1, summary.f1_confidence),
        )

    evaluation: Evaluation
    place: int
    state: Callable[[], NDArray[np.int8]]
    areas: dict[str, float]
    counts: tuple[int, int]
    best: tuple[float, float]

    def __reduce__(self) -> tuple[Any, ...]:
        return Curve, (self.label, self.truths, self.confidence, self.is_true, self.rows, self.weight)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        rows = self.evaluation.by_class[self.place]
        return np.asarray(rows[self.state()[rows] != IGNORED], dtype=np.int64)

    @cached_property
    def confidence(self) -> Floats:
        given = self.evaluation.pred.confidence
        return np.ones(len(self.rows)) if given is None else given[self.rows]

    @cached_property
    def is_true(self) -> NDArray[np.bool_]:
        return np.asarray(self.state()[self.rows] == TRUE_POSITIVE)

    @property
    def tp(self) -> int:
        return self.counts[0]

    @property
    def fp(self) -> int:
        return self.counts[1]

    @property
    def best_f1(self) -> tuple[float, float]:
        return self.best

    def average_precision(self, interpolation: Interpolation = "all", *, levels: Floats | None = None) -> float:
        if levels is None and interpolation in self.areas:
            return self.areas[interpolation]
        return super().average_precision(interpolation, levels=levels)


def curves_of(evaluation: Evaluation, threshold: int = 0) -> dict[str, Curve]:
    """Return the curve of every class at the t-th IoU threshold, without ignored predictions."""
    truth, pred = evaluation.truth, evaluation.pred
    names = pred.labels.all_names if len(pred.labels) >= len(truth.labels) else truth.labels.all_names
    if evaluation.rules.class_agnostic:
        names = ("all classes",)
    summaries = evaluation.kept.curve_summaries(threshold, evaluation.threads)
    state = cache(lambda: evaluation.outcomes(threshold).state)
    return {
        name: KeptCurve(name, evaluation, place, state, summary)
        for place, (name, summary) in enumerate(zip(names, summaries, strict=True))
    }


EVERY = 0xFFFF  # thresholds of a block

OBJECTS, GROUPS = 0, 1  # single objects, and groups with a weight of their own: two area ranges of a partial result


class GroupedResults(CurveResults):
    """Results from several matchings, in which a group may count more or less than one object."""

    is_reversed = False  # equal confidences come the last first
    group_weight = 0.0
    has_ignore_regions = False  # whether predictions in ignore regions are ignored

    @property
    def notes(self) -> list[str]:
        """Notes, also on objects flagged as ignored, a flag these protocols do not have."""
        counted, regions = self.truth.flag("ignore"), self.truth.flag("ignore_region")
        counted = counted & ~regions if self.has_ignore_regions else counted | regions
        count = int(counted.sum())
        said = (
            f"{count:,} of {len(self.truth):,} objects are marked as ignored and were counted, as this protocol has no "
        )
        remedy = "such mark; verite voc ignores them"
        return [*([said + remedy] if count else []), *super().notes]

    @cached_property
    def numbers(self) -> MergedNumbers:
        """Matches of all images."""
        return MergedNumbers([self.part(lambda labels: "")], Labels(self.class_names[: len(self.truth.labels)]))

    def with_numbers(self, numbers: MergedNumbers) -> Self:
        """Set the merged partial results, and return itself."""
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
        """Return the points of a class's curve, for the bootstrap.

        Parameters
        ----------
        rows
            Outcomes of one class, image by image.
        threshold
            Position of the IoU threshold.

        Returns
        -------
        Points
            Weighted true and false positives; objects within a group-of box count with the group's weight.
        """
        kept, weight = order_rows(rows, threshold, self.group_weight, self.is_reversed)
        truths = rows.counts[:, OBJECTS] + self.group_weight * rows.counts[:, GROUPS]
        return Points(rows.image[kept], rows.is_hit(threshold)[kept], rows.cell_image, truths, weight)


def part_of_curves(
    results: CurveResults, about: Callable[[Labels], str], is_asked: Sequence[Bools], *, is_reversed: bool = False
) -> EvaluationState:
    """Return a partial result with the points of all curves, each ignored at all other IoU thresholds.

    `is_asked` flags the ground truth that counts as single objects, and as groups. `is_reversed`: equal confidences are
    in reverse order, and images identified by their names.
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
        return EvaluationState(
            _core.EvaluationState.of(
                about=about(labels),
                ids=ids,
                names=names_of(images) if ids is None else None,
                labels=int64s([*range(count), *map(class_id, more)]),
                thresholds=len(results.curves),
                ranges=2,
                rows=_core.PredictionRows(
                    label=label.astype(np.int32), image=image.astype(np.int32), confidence=confidence, words=words
                ),
                cells=cells,
            ),
            PartialMetadata(classes=tuple(sorted(more))),
        )


def column_rules(thresholds: int) -> Rules:
    """Return the rules of such a partial result: two kinds of objects take the place of area ranges."""
    return Rules((0.5,) * thresholds, ranges=((0.0, 0.0), (0.0, 0.0)), limits=(1,))


def names_of(images: Images) -> Sequence[str]:
    return images.names or [images.name(i) for i in range(len(images))]


def column_of(
    curve: Curve, place: int, threshold: int, thresholds: int, image: NDArray[np.int32], back: slice
) -> tuple[Any, ...]:
    """Return the points of one curve: class, image, confidence and match bits."""
    assert curve.rows is not None
    is_true, count = curve.is_true[back], len(curve.rows)
    is_group = np.zeros(count, bool) if curve.weight is None else np.asarray(curve.weight[back] != 1) & is_true
    words = np.zeros((count, 1 + (thresholds + 15) // 16 * 2), dtype=np.uint32)
    words[:, 1:] = EVERY << 16
    column, bit = 1 + threshold // 16 * 2, np.uint32(1 << threshold % 16)
    for kind, is_hit in ((OBJECTS, is_true), (GROUPS, is_group)):
        words[:, column + kind] = np.where(is_hit, bit, 0) | np.uint32((EVERY ^ int(bit)) << 16)
    return np.full(count, place), image[curve.rows[back]], np.ascontiguousarray(curve.confidence[back]), words


def count_cells(where: Sequence[NDArray[np.int32]], is_asked: Sequence[Bools]) -> _core.TruthCounts:
    """Label and image of every cell with truths, and how many there are of each kind."""
    label, image = where
    width = int(image.max(initial=0)) + 1
    cells, place = np.unique(label.astype(np.int64) * width + image, return_inverse=True)
    counts = np.stack([np.bincount(place[kind], minlength=len(cells)) for kind in is_asked], axis=1)
    kept = counts.any(axis=1)
    cells = cells[kept]
    return _core.TruthCounts(
        label=(cells // width).astype(np.int32),
        image=(cells % width).astype(np.int32),
        counts=counts[kept].astype(np.uint32),
    )


class MergedCurve(KeptCurve):
    """Curve of a class of merged partial results; its points are computed on first use."""

    def __init__(
        self, label: str, numbers: MergedNumbers, place: int, threshold: int, summary: _core.CurveSummary
    ) -> None:
        vars(self).update(
            label=label,
            truths=summary.truths,
            weight=None,
            numbers=numbers,
            place=place,
            threshold=threshold,
            areas=summary.average_precision,
            counts=(summary.tp, summary.fp),
            best=(summary.best_f1, summary.f1_confidence),
        )

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
    """Return the curve of every class at each IoU threshold, equal confidences ordered by image."""
    found: list[dict[str, Curve]] = []
    for t in range(thresholds):
        summaries = numbers.curve_summaries(t)
        found.append(
            {name: MergedCurve(name, numbers, place, t, summaries[place]) for name, place in list_classes(numbers)}
        )
    return found


def list_classes(numbers: MergedNumbers) -> list[tuple[str, int]]:
    """Return every class and its position: those of the ground truth, then by name those only predictions have."""
    if numbers.given["class_agnostic"]:
        return [("all classes", 0)]
    names, count = numbers.pred.labels.all_names, len(numbers.truth.labels)
    return [
        *zip(names[:count], range(count), strict=True),
        *sorted(zip(names[count:], range(count, len(names)), strict=True)),
    ]


def merged_group_curves(
    numbers: MergedNumbers, thresholds: int, group_weight: float, *, is_reversed: bool
) -> list[dict[str, Curve]]:
    """Return the curves of partial results of `part_of_curves`; groups count as much as `group_weight`."""
    numbers.expect_rules(column_rules(thresholds))
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
    """Return the rows that count by falling confidence, and how much each TP counts, None if one."""
    kept = np.flatnonzero(~rows.is_spared(threshold))
    if is_reversed:
        kept = kept[np.lexsort((-np.arange(len(kept)), -rows.confidence[kept]))]
    is_group = rows.is_hit(threshold, GROUPS)[kept]
    return kept, np.where(is_group, group_weight, 1.0) if is_group.any() and group_weight != 1 else None
