"""Open Images protocol: average precision with groups, verified labels and a class hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError, excerpt, spell_option
from verite.evaluation.curves import Curve
from verite.evaluation.evaluation import (
    FALSE_POSITIVE,
    IGNORED,
    TRUE_POSITIVE,
    UNSEEN,
    Evaluation,
    MatchedEvaluation,
    Outcomes,
    Rules,
)
from verite.evaluation.prepare import check_mask_sizes, prepare
from verite.evaluation.results import MatchedResults
from verite.evaluation.settings import THREADS, above_threshold, highest_threshold
from verite.formats import read
from verite.model.alignment import free_ids
from verite.model.annotations import Annotations
from verite.model.classes import ABSENT, PRESENT, Hierarchy, ImageLevelLabels, Labels, is_in
from verite.model.polygons import Polygons, RLEMasks
from verite.model.regions import BOX, Regions
from verite.model.results import Matches, choose_threshold
from verite.protocols.coco import masks_of
from verite.protocols.curves import IOU, CurveSettings, GroupedResults, merged_group_curves, part_of_curves
from verite.protocols.protocol import protocol
from verite.settings import Choice, Constant, FileOrContent, Number, Option, Overlaps
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]
    from verite.evaluation.partial import MergedNumbers
    from verite.evaluation.settings import ClassThresholds
    from verite.evaluation.state import EvaluationState
    from verite.model.annotations import Annotations


@dataclass(frozen=True, eq=False)
class Sides:
    """Ground truth and predictions that count, and the regions that are compared: masks, else boxes."""

    truth: Annotations
    pred: Annotations
    stages: dict[str, Bools]  # the truths that are compared by each similarity
    order: Ints  # predictions by falling confidence, of equal ones the last first
    confidence: NDArray[np.float64]
    origin: Ints  # where each prediction was before some were dropped
    threads: int


def pair_sides(settings: OpenImagesSettings, truth: Annotations, pred: Annotations, threads: int) -> Sides:
    labels = max(len(truth.labels), len(pred.labels))
    kept = np.asarray((pred.regions.sizes[:, 2:] > 0).all(axis=1))
    if settings.unverified == "drop":
        cells = np.unique(truth.image.astype(np.int64) * labels + truth.label)
        if truth.verdicts is not None:
            cells = np.union1d(cells, truth.verdicts.cells(labels, PRESENT, ABSENT))
        kept &= is_in(cells, pred.image, pred.label, labels)
    if settings.on == "mask":
        kept &= ~is_empty_mask(pred, threads)
    pred = pred.where(kept)
    stages = {"box": np.ones(len(truth), dtype=np.bool_)}
    if settings.on == "mask":
        has_mask = np.asarray(truth.regions.kinds != BOX)
        if len(truth) and not has_mask.any():
            place = truth.source.path or "truth"
            raise DataError(
                f"{place}: expected masks, found boxes alone; compare them with {spell_option('on', 'box')}"
            )
        if pred.regions.runs is not None:
            check_mask_sizes(pred, np.arange(len(pred)), pred.regions.runs)
        stages = {"mask": has_mask, "box": ~has_mask}
    confidence = np.ones(len(pred)) if pred.confidence is None else pred.confidence
    order = np.lexsort((-np.arange(len(pred)), -confidence))
    return Sides(truth, pred, stages, order, confidence, np.flatnonzero(kept), threads)


@dataclass(frozen=True, eq=False)
class Decided:
    """Outcomes of the predictions that count, and of every ground-truth object."""

    outcome: NDArray[np.int8]
    met: Ints  # the truth each prediction matches, or is ignored for; -1 for none
    overlap: NDArray[np.float64]  # with it; of a group, the share of the prediction inside it
    matched_pred: Ints  # of each ground-truth object, of a group the best one; -1 for none
    groups: Ints  # the best prediction of each group that is hit and asked for


def decide(sides: Sides, threshold: float) -> Decided:
    truth, pred = sides.truth, sides.pred
    outcome = np.full(len(pred), FALSE_POSITIVE, dtype=np.int8)
    matched_pred = np.full(len(truth), -1, dtype=np.int64)
    met, overlap = np.full(len(pred), -1, dtype=np.int64), np.full(len(pred), np.nan)
    groups: list[Ints] = []

    def meet(rows: Ints, found: Outcomes, among: Bools) -> None:
        hit = found.truth >= 0
        met[rows[hit]] = np.flatnonzero(among)[found.truth[hit]]
        overlap[rows[hit]] = found.overlap[hit]

    for similarity, compared in sides.stages.items():
        says_nothing = similarity != next(iter(sides.stages))  # about masks, where the ground truth has none
        rules = Rules((threshold,), similarity, wants="best", equal="first", ties="row", allow_unknown_classes=True)
        one_by_one, as_groups = replace(rules, ignored=("difficult",)), replace(rules, shared=("group_of",))
        singles, grouped = compared & ~truth.group_of, compared & truth.group_of
        rows, found = match_undecided(sides, outcome, singles, one_by_one)
        outcome[rows] = np.where(says_nothing & (found.state == TRUE_POSITIVE), IGNORED, found.state)
        meet(rows, found, singles)
        is_right = found.state == TRUE_POSITIVE
        matched_pred[np.flatnonzero(singles)[found.truth[is_right]]] = rows[is_right]
        rows, found = match_undecided(sides, outcome, grouped, as_groups)
        outcome[rows[found.truth >= 0]] = IGNORED
        meet(rows, found, grouped)
        if not says_nothing:
            # The prediction of highest confidence in each group, else -1; a confidence of 0 does not count here.
            group = np.full(len(sides.pred), -1, dtype=np.int64)
            group[rows] = np.append(np.flatnonzero(grouped), -1)[found.truth]
            falling = sides.order[((group >= 0) & (sides.confidence > 0))[sides.order]]
            highest = np.full(len(sides.truth), -1, dtype=np.int64)
            highest[group[falling[::-1]]] = falling[::-1]  # last to first, so that the best one stays
            best = np.where(sides.truth.difficult, -1, highest)
            is_hit = best >= 0
            matched_pred[is_hit] = best[is_hit]
            groups.append(best[is_hit])
    return Decided(outcome, met, overlap, matched_pred, np.concatenate(groups))


def is_empty_mask(side: Annotations, threads: int) -> Bools:
    """Return which objects have a mask or polygon without pixels.

    Parameters
    ----------
    side
        Ground truth or predictions.
    threads
        Threads that rasterise polygons.

    Returns
    -------
    Bools
        A flag per object; boxes are never empty in this sense.
    """
    is_empty = np.zeros(len(side), dtype=np.bool_)
    rows = np.flatnonzero(side.regions.kinds != BOX)
    if len(rows):
        is_empty[rows] = _core.mask_areas(masks_of(side.take(rows), threads).arrays) == 0
    return is_empty


def drop_empty_masks(truth: Annotations, threads: int) -> Annotations:
    """Return the ground truth with only a box for empty masks: in the challenge, an empty mask is no mask."""
    is_empty = is_empty_mask(truth, threads)
    if not is_empty.any():
        return truth
    rows, regions = np.flatnonzero(~is_empty), truth.regions
    polygons, runs = regions.outlines

    def offsets(objects: Ints) -> Ints:
        """Return offsets of all objects from those of the objects that keep their shape."""
        lengths = np.zeros(len(truth), dtype=np.int64)
        lengths[rows] = np.diff(objects)
        return np.concatenate([[0], np.cumsum(lengths)])

    if polygons is not None:
        kept = polygons.take(rows)
        polygons = Polygons(kept.points, kept.rings, offsets(kept.objects))
    if runs is not None:
        masks = runs.take(rows)
        runs = RLEMasks(masks.counts, offsets(masks.objects), np.where(is_empty[:, None], 0, runs.sizes))
    boxes = Regions(
        regions.values, regions.kept, polygons=polygons, runs=runs, boxed=regions.boxed, keypoints=regions.keypoints
    )
    return replace(truth, regions=boxes)


def is_ignored(truth: Annotations, on: On) -> Bools:
    """Return which ground-truth objects are ignored: difficult ones, and for masks those without one."""
    return truth.difficult | (np.asarray(truth.regions.kinds == BOX) if on == "mask" else False)


def match_undecided(sides: Sides, outcome: NDArray[np.int8], truths: Bools, rules: Rules) -> tuple[Ints, Outcomes]:
    """Match the unmatched predictions with some ground-truth objects; of equal confidences the last comes first."""
    rows = np.flatnonzero(outcome == FALSE_POSITIVE)[::-1]
    return rows, Evaluation(sides.truth.where(truths), sides.pred.take(rows), rules, sides.threads).outcomes()


@dataclass(frozen=True, eq=False)
class Entries:
    """Points of all curves, by class and falling confidence: predictions, and groups that were hit."""

    label: NDArray[np.int32]
    rows: Ints
    is_true: Bools
    is_group: Bools

    @classmethod
    def of(cls, sides: Sides, decided: Decided, group_weight: float) -> Entries:
        """Return the points; groups have one if their weight is above 0."""
        rows, is_group = list_falling(sides, decided, group_weight)
        order = np.argsort(sides.pred.label[rows], kind="stable")
        rows, is_group = rows[order], is_group[order]
        return cls(sides.pred.label[rows], rows, is_group | (decided.outcome[rows] == TRUE_POSITIVE), is_group)


def list_falling(sides: Sides, decided: Decided, group_weight: float) -> tuple[Ints, Bools]:
    """Return the points by falling confidence, and which of them are groups.

    Equal confidences come in the reverse of the order in which the reference lists them: by the names of images, within
    an image as they were matched, groups last.
    """
    images = sides.pred.images
    names = np.array([images.name(i) for i in range(len(images))])
    rank = np.empty(len(names), dtype=np.int64)
    rank[np.argsort(names, kind="stable")] = np.arange(len(names))
    counted = sides.order[decided.outcome[sides.order] != IGNORED]
    rows = np.concatenate([counted, decided.groups]) if group_weight > 0 else counted
    is_group = np.arange(len(rows)) >= len(counted)
    listed = np.lexsort((is_group, rank[sides.pred.image[rows]]))  # stable: matched order, then order of groups
    place = np.empty(len(rows), dtype=np.int64)
    place[listed] = np.arange(len(rows))
    order = np.lexsort((-place, -sides.confidence[rows]))
    return rows[order], is_group[order]


def curves_of(settings: OpenImagesSettings, sides: Sides, decided: Decided) -> dict[str, Curve]:
    """Return the curve of every class."""
    truth, pred = sides.truth, sides.pred
    group_weight = settings.group_of_weight or 0.0
    entries = Entries.of(sides, decided, group_weight)
    ignored = is_ignored(truth, settings.on)
    labels = max(len(truth.labels), len(pred.labels))
    singles = np.bincount(truth.label[~truth.group_of & ~ignored], minlength=labels)
    grouped = np.bincount(truth.label[truth.group_of & ~ignored], minlength=labels)
    positives = singles + group_weight * grouped
    names = pred.labels.all_names if len(pred.labels) >= len(truth.labels) else truth.labels.all_names
    bounds = np.searchsorted(entries.label, np.arange(labels + 1))
    curves = {}
    for label, name in enumerate(names):
        part = slice(bounds[label], bounds[label + 1])
        weight = None
        if entries.is_group[part].any() and group_weight != 1:
            weight = np.where(entries.is_group[part], group_weight, 1.0)
        wanted = float(positives[label])
        to_find: float = int(wanted) if wanted.is_integer() else wanted
        rows = entries.rows[part]
        is_true = entries.is_true[part]
        curves[name] = Curve(name, to_find, sides.confidence[rows], is_true, sides.origin[rows], weight)
    return curves


class OpenImagesEvaluation(MatchedEvaluation):
    """Ground truth and predictions by the rules of Open Images, matched on first use."""

    has_one_order = False  # groups come behind objects of equal confidence, and what hits one depends on the threshold

    def __init__(self, settings: OpenImagesSettings, truth: Annotations, pred: Annotations, threads: int) -> None:
        self.settings, self.truth, self.pred, self.threads = settings, truth, pred, threads
        self.weight = settings.group_of_weight or 0.0
        ignored = ("difficult",) if self.weight > 0 else ("difficult", "group_of")
        self.rules = Rules(  # without groups and verified classes
            settings.iou,
            settings.on,
            wants="best",
            equal="first",
            ties="row",
            allow_unknown_classes=True,
            ignored=ignored,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenImagesEvaluation, (self.settings, self.truth, self.pred, self.threads)

    @cached_property
    def sides(self) -> Sides:
        return pair_sides(self.settings, self.truth, self.pred, self.threads)

    @cached_property
    def decide(self) -> Callable[[float], Decided]:
        """Function that returns the cached outcomes at an IoU threshold."""
        sides = self.sides  # the function holds no reference to what holds it
        return cache(lambda threshold: decide(sides, threshold))

    def curves(self, threshold: float) -> dict[str, Curve]:
        return curves_of(self.settings, self.sides, self.decide(threshold))

    @property
    def is_asked(self) -> Bools:
        """Which ground-truth objects count."""
        truth = self.truth
        return np.asarray(~is_ignored(truth, self.settings.on) & (~truth.group_of | (self.weight > 0)))

    def outcomes(self, threshold: int = 0) -> Outcomes:
        return self.outcomes_at(self.settings.iou[threshold])

    def outcomes_at(self, threshold: float) -> Outcomes:
        """Return the outcomes of all objects; a group is matched with its prediction of highest confidence."""
        if self.weight not in (0.0, 1.0):
            raise BadParameter(
                f"group_of_weight: expected 0 or 1, so that a group is an object or none, found {self.weight:g}"
            )
        found, origin, asked = self.decide(threshold), self.sides.origin, self.is_asked
        matched_pred = np.where(asked & (found.matched_pred >= 0), np.append(origin, -1)[found.matched_pred], -1)
        state = np.full(len(self.pred), UNSEEN, dtype=np.int8)
        met, overlap = np.full(len(self.pred), -1, dtype=np.int32), np.full(len(self.pred), np.nan)
        state[origin], met[origin], overlap[origin] = found.outcome, found.met, found.overlap
        state[matched_pred[matched_pred >= 0]] = TRUE_POSITIVE
        return Outcomes(state, met, overlap, matched_pred.astype(np.int32), asked)

    def matches(
        self, thresholds: Sequence[float], iou: float | None, confidence: float | ClassThresholds | None = None
    ) -> Matches:
        """Which prediction is matched to which ground truth at an IoU threshold, whatever groups are worth.

        A group has its highest-confidence prediction.
        """
        threshold = thresholds[choose_threshold(thresholds, iou)]
        found, origin, counted_truth = self.decide(threshold), self.sides.origin, self.is_asked
        found_by = found.matched_pred
        matched_pred = np.where(counted_truth & (found_by >= 0), np.append(origin, -1)[found_by], -1)
        counted_pred = np.zeros(len(self.pred), dtype=np.bool_)
        counted_pred[origin[found.outcome != IGNORED]] = True
        return Matches(threshold, counted_truth, matched_pred, highest_threshold(confidence), counted_pred)

    def list_falling(self, threshold: int = 0) -> Ints:
        """Return all predictions by falling confidence, ties as at this threshold, ignored ones last."""
        sides = self.sides
        counted, _ = list_falling(sides, self.decide(self.settings.iou[threshold]), self.weight)
        rows = sides.origin[counted]
        return np.concatenate([rows, np.setdiff1d(np.arange(len(self.pred)), rows)])

    def bin_means(
        self, part: tuple[Any, ...], of_truths: Ints, of_preds: Ints, bins: int, areas: Any = ()
    ) -> list[float]:
        """Mean AP at the first threshold of each bin, whatever `part` and `areas` are.

        Ground truth outside the bin is difficult, and unmatched predictions outside it are ignored.
        """
        found = []
        for code in range(bins):
            flags = {**self.truth.flags, "difficult": self.truth.difficult | (of_truths != code)}
            truth = replace(self.truth, flags=flags)
            sides = pair_sides(self.settings, truth, self.pred, self.threads)
            decided = decide(sides, self.settings.iou[0])
            is_outside = (decided.outcome == FALSE_POSITIVE) & (of_preds[sides.origin] != code)
            decided = replace(decided, outcome=np.where(is_outside, IGNORED, decided.outcome).astype(np.int8))
            values = [curve.average_precision("all") for curve in curves_of(self.settings, sides, decided).values()]
            found.append(_core.mean([value for value in values if value == value]))
        return found


Path = str | PathLike[str]

On = Literal["box", "mask"]

Metric = Literal["challenge", "v2"]

Unverified = Literal["drop", "count"]

# What a group is worth: hitting one counts as much as finding one object in the challenge for boxes, else nothing.
WEIGHTS = {("challenge", "box"): 1.0, ("challenge", "mask"): 0.0, ("v2", "box"): 0.0, ("v2", "mask"): 0.0}


class OpenImagesSettings(CurveSettings):
    """Settings of the Open Images protocol."""

    SCORE = "openimages_ap"
    metric: Option[Metric] = Choice("challenge", "The challenge's metric or that of Open Images V2.", Metric)
    on: Option[On] = Choice("box", "Compare boxes or masks.", On)
    iou: Overlaps = IOU
    interpolation = Constant("all")
    group_of_weight: Option[float | None] = Number(
        None,
        "Weight of a group of objects that is detected.",
        least=0,
        default_text="1 for boxes of the challenge, else 0",
    )
    unverified: Option[Unverified | None] = Choice(
        None,
        "Predictions of classes that were not verified in the image.",
        Unverified,
        default_text="count in v2 without labels, else drop",
    )
    hierarchy: Option[Hierarchy | Path | None] = FileOrContent(
        None, "Class hierarchy (JSON): a box counts for its class and for every class above."
    )
    ties = Constant("reversed")
    image_labels: Option[Annotations | Path | None] = FileOrContent(
        None, "CSV of the classes that were verified in each image.", is_signed=False
    )
    descriptions: Option[Mapping[str, str] | Path | None] = FileOrContent(
        None, "CSV of classes and their names, to print names.", is_signed=False, is_rare=True
    )
    threads: Option[int | None] = THREADS

    def complete(self, truth: Annotations) -> OpenImagesSettings:
        """Return settings with the defaults that follow from the metric and the ground truth."""
        has_labels = self.image_labels is not None or truth.verdicts is not None
        unverified = self.unverified or ("count" if self.metric == "v2" and not has_labels else "drop")
        weight = WEIGHTS[self.metric, self.on] if self.group_of_weight is None else self.group_of_weight
        return self.change(unverified=unverified, group_of_weight=weight)


class OpenImagesResults(GroupedResults, MatchedResults):
    """Results of the Open Images protocol: average precision per class at each IoU threshold, with the curves."""

    settings: OpenImagesSettings
    evaluation: OpenImagesEvaluation | MergedNumbers
    is_reversed = True

    def with_evaluation(self, kept: OpenImagesEvaluation | MergedNumbers) -> OpenImagesResults:
        """Set the evaluation behind the scores, and return itself."""
        self.evaluation = kept
        return self

    @property
    def group_weight(self) -> float:  # type: ignore[override]
        return self.settings.group_of_weight or 0.0

    def tp_needed_per_recall(self, truths: int) -> NDArray[np.int64]:
        return np.arange(1, truths + 1)

    def bin_means(self, of_truths: Any, of_preds: Any, bins: int, areas: Any = ()) -> list[float]:
        return self.evaluation.bin_means((), of_truths, of_preds, bins)

    def part(self, about: Callable[[Labels], str]) -> EvaluationState:
        truth = self.truth
        is_asked = ~is_ignored(truth, self.settings.on)
        return part_of_curves(
            self, about, (is_asked & ~truth.group_of, is_asked & truth.group_of), is_reversed=True
        )  # fmt: skip

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: Any) -> OpenImagesResults:
        """Return the results of merged partial results."""
        weight = settings.group_of_weight or 0.0
        curves = merged_group_curves(numbers, len(settings.iou), weight, is_reversed=True)
        found = cls("openimages", settings, curves, numbers.truth, numbers.pred).with_numbers(numbers)
        return found.with_evaluation(numbers)


@protocol(
    OpenImagesSettings,
    files="TRUTH is a CSV of boxes, PREDs are the challenge's CSVs or boxes with scores, or any known format",
    examples="""
verite openimages validation-boxes.csv predictions.csv --image-labels labels.csv
verite openimages boxes.csv a.csv b.csv --image-labels labels.csv --hierarchy bbox_labels_500_hierarchy.json
verite openimages boxes.csv predictions.csv --metric v2 --descriptions class-descriptions.csv
verite openimages segments.csv predictions.csv --on mask --image-labels labels.csv""",
)
def openimages(truth: Annotations, pred: Annotations, settings: OpenImagesSettings) -> OpenImagesResults:
    """Average precision as Open Images computes it, with groups, verified labels and a class hierarchy.

    In order of falling confidence, a prediction is compared with the ground-truth object of its class that has the
    highest IoU with it. An object that is matched already makes it a false positive; a difficult one makes it ignored.
    An unmatched prediction is ignored if at least `iou` of its own area lies in a box around a group. Each group that
    is hit counts once, with the highest confidence and the weight `group_of_weight`, and as one object to find: 1 in
    the challenge for boxes, 0 for masks and in V2.

    `image_labels` are the classes verified in each image. Predictions of classes that are neither verified nor
    annotated there are dropped in the challenge; ``unverified="count"`` keeps them, as V2 does without labels. With a
    `hierarchy`, a box also counts for every class above its own, a positive label for the classes above and a negative
    one for those below. `descriptions` gives the names to print. With ``on="mask"``, a ground-truth object without a
    mask, or with an empty one, is compared by its box: it does not count, and a prediction that matches it is ignored.

    References
    ----------
    Kuznetsova et al., The Open Images Dataset V4, IJCV 2020.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 8, 8]], group_of=[True])
    >>> pred = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 2, 2], [4, 4, 6, 6]], confidence=[0.9, 0.8])
    >>> vt.openimages(truth, pred)["mAP"].value
    1.0
    """
    from verite.formats.openimages import read_descriptions, read_hierarchy

    settings = settings.complete(truth)
    if settings.image_labels is not None:
        # The ground truth with verified labels of whole images, also of images without objects.
        labels = (
            settings.image_labels
            if isinstance(settings.image_labels, Annotations)
            else read(settings.image_labels, format="openimages-labels")
        )
        if labels.verdicts is None:
            raise DataError(f"{labels.source.path or 'image labels'}: expected labels of whole images, found none")
        aligned = replace(labels, unit=truth.unit).like(truth)
        truth = replace(truth, images=aligned.images, labels=aligned.labels, verdicts=aligned.verdicts)
    tree, names = settings.hierarchy, {} if settings.descriptions is None else settings.descriptions
    if tree is not None:
        truth = expand(truth, tree if isinstance(tree, Hierarchy) else read_hierarchy(tree))
    if isinstance(names, (str, PathLike)):
        names = read_descriptions(names)
    elif not isinstance(names, Mapping):
        raise BadParameter(f"descriptions: expected a file, or names by their codes, found {excerpt(names)}")
    truth, pred, findings = prepare(truth, pred, settings.checks)
    if settings.labels is not None:
        codes = {names.get(code, code): code for code in truth.labels.all_names}
        wanted = {codes.get(label, label) for label in settings.labels}
        truth = truth.only(wanted)
        pred = pred.only([name for name in pred.labels.all_names if name in wanted])
    if settings.confidence is not None and pred.confidence is not None:
        pred = pred.where(above_threshold(pred, settings.confidence))
    threads = thread_count(settings.threads)
    if settings.on == "mask":
        truth = drop_empty_masks(truth, threads)
    kept = OpenImagesEvaluation(settings, truth, pred, threads)
    curves = [
        {names.get(code, code): replace(c, label=names.get(code, code)) for code, c in kept.curves(iou).items()}
        for iou in settings.iou
    ]
    return OpenImagesResults("openimages", settings, curves, truth, pred, findings).with_evaluation(kept)


def expand(truth: Annotations, hierarchy: Hierarchy) -> Annotations:
    """Return the ground truth with objects also in all classes above; positive labels go up, negative ones down."""
    own = truth.labels.all_names
    said = truth.verdicts if truth.verdicts is not None else ImageLevelLabels.of([])
    used = np.unique(np.concatenate([truth.label, said.label]))
    for i in used:
        hierarchy.need(own[i], truth.source.path or "truth")
    new = sorted(set(hierarchy.above) - set(own))
    names = [*own, *new]
    place = {name: i for i, name in enumerate(names)}

    def others(side: dict[str, frozenset[str]]) -> list[NDArray[np.int32]]:
        """Return for each class itself and those above (or below) it, by name."""
        return [
            np.array([i, *(place[o] for o in sorted(side.get(name, ())))], dtype=np.int32) for i, name in enumerate(own)
        ]

    above, below = others(hierarchy.above), others(hierarchy.below)
    rows, label = spread(truth.label, above)
    ids = truth.labels.ids
    all_ids = None if ids is None else np.concatenate([ids, free_ids(ids, len(new))])
    wide = replace(truth.take(rows), labels=Labels(names, all_ids), label=label)
    parts = []
    for kind, table in ((PRESENT, above), (ABSENT, below)):
        chosen = np.flatnonzero(said.kind == kind)
        source, moved = spread(said.label[chosen], table)
        parts.append((said.image[chosen][source], moved, np.full(len(moved), kind)))
    columns = (np.concatenate(values) for values in zip(*parts, strict=True))
    return replace(wide, verdicts=ImageLevelLabels(*columns) if truth.verdicts is not None else None)


def spread(label: NDArray[np.int32], table: list[NDArray[np.int32]]) -> tuple[Ints, NDArray[np.int32]]:
    """Return each row once for every class in the list of its class: the row, and that class.

    Parameters
    ----------
    label
        Class of each object.
    table
        For each class those that it stands for: itself and all above it in the hierarchy.

    Returns
    -------
    tuple[Ints, NDArray[np.int32]]
        Row of the object, and class, once for every class it counts in.
    """
    lengths = np.array([len(classes) for classes in table], dtype=np.int64)
    rows = np.repeat(np.arange(len(label)), lengths[label] if len(label) else 0)
    flat = [table[i] for i in label.tolist()]
    return rows, np.concatenate(flat) if flat else np.empty(0, dtype=np.int32)
