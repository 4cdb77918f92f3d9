"""Open Images: average precision with groups, verified labels and a hierarchy of classes, as its challenges do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.curves import Curve
from verite.evaluation.evaluation import IGNORED, RIGHT, WRONG, Evaluation, Outcomes, Rules
from verite.evaluation.floors import highest_floor
from verite.evaluation.prepare import check_mask_sizes, prepare
from verite.evaluation.settings import THREADS
from verite.formats import read
from verite.model.alignment import free_ids
from verite.model.annotations import Annotations
from verite.model.hierarchy import Hierarchy
from verite.model.labels import Labels
from verite.model.regions import BOX
from verite.model.results import Taken, choose_threshold
from verite.model.verdicts import ABSENT, PRESENT, Verdicts, is_in
from verite.protocols.curve_parts import GroupedResults, merged_group_curves, part_of_curves
from verite.protocols.curve_results import IOU, CurveSettings
from verite.protocols.protocol import protocol
from verite.records import record, replace
from verite.settings import Choice, Fact, FileOrContent, Number, Option, Overlaps
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.evaluation.part import Part
    from verite.evaluation.parts import MergedNumbers

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

Path = str | PathLike[str]
On = Literal["box", "mask"]
Metric = Literal["challenge", "v2"]
Unverified = Literal["drop", "count"]
# What a group is worth: hitting one counts as much as finding one object in the challenge for boxes, else nothing.
WEIGHTS = {("challenge", "box"): 1.0, ("challenge", "mask"): 0.0, ("v2", "box"): 0.0, ("v2", "mask"): 0.0}


class OpenImagesSettings(CurveSettings):
    """Everything that can change the number."""

    SCORE = "openimages_ap"
    metric: Option[Metric] = Choice("challenge", "The challenge's metric or that of Open Images V2.", Metric)
    on: Option[On] = Choice("box", "Compare boxes or masks.", On)
    iou: Overlaps = IOU
    interpolation = Fact("all")
    group_of_weight: Option[float | None] = Number(
        None, "What finding a group is worth.", least=0, default_text="1 for boxes of the challenge, else 0"
    )
    unverified: Option[Unverified | None] = Choice(
        None,
        "Predictions of classes that nobody verified in the image.",
        Unverified,
        default_text="count in v2 without labels, else drop",
    )
    hierarchy: Option[Hierarchy | Path | None] = FileOrContent(
        None, "JSON of classes and those below them; boxes count for all above."
    )
    ties = Fact("reversed")
    image_labels: Option[Annotations | Path | None] = FileOrContent(
        None, "CSV of the classes that were verified in each image.", is_signed=False
    )
    descriptions: Option[Mapping[str, str] | Path | None] = FileOrContent(
        None, "CSV of classes and their names, to print names.", is_signed=False
    )
    threads: Option[int | None] = THREADS

    def complete(self, truth: Annotations) -> OpenImagesSettings:
        """With what follows from the metric and the truth, where nobody said it."""
        has_labels = self.image_labels is not None or truth.verdicts is not None
        unverified = self.unverified or ("count" if self.metric == "v2" and not has_labels else "drop")
        weight = WEIGHTS[self.metric, self.on] if self.group_of_weight is None else self.group_of_weight
        return self.change(unverified=unverified, group_of_weight=weight)


class OpenImagesResults(GroupedResults):
    """Average precision per class at each threshold, with the curves it comes from."""

    settings: OpenImagesSettings
    is_reversed = True

    @property
    def group_weight(self) -> float:  # type: ignore[override]
        return self.settings.group_of_weight or 0.0

    def finds(self, iou: float | None = None) -> Taken:
        """Object by object what was found, a group by its best prediction; difficult ones were not asked for."""
        threshold = self.settings.iou[choose_threshold(self.settings.iou, iou)]
        sides = pair_sides(self.settings, self.truth, self.pred, thread_count(self.settings.threads))
        decided, truth = decide(sides, threshold), self.truth
        asked = ~is_set_aside(truth, self.settings.on) & (~truth.group_of | (self.group_weight > 0))
        taken = np.where(asked & (decided.taken >= 0), np.append(sides.origin, -1)[decided.taken], -1)
        claims = np.zeros(len(self.pred), dtype=np.bool_)
        claims[sides.origin[decided.outcome != IGNORED]] = True
        return Taken(threshold, asked, taken, highest_floor(self.settings.confidence), claims)

    def part(self, about: Callable[[Labels], str]) -> Part:
        truth = self.truth
        is_asked = ~is_set_aside(truth, self.settings.on)
        return part_of_curves(
            self, about, (is_asked & ~truth.group_of, is_asked & truth.group_of), is_reversed=True
        )  # fmt: skip

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: Any) -> OpenImagesResults:
        """Of what became of all images."""
        weight = settings.group_of_weight or 0.0
        curves = merged_group_curves(numbers, len(settings.iou), weight, is_reversed=True)
        return cls("openimages", settings, curves, numbers.truth, numbers.pred).hold_numbers(numbers)


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
    """Average precision as Open Images computes it, with groups, verified labels and the hierarchy of classes.

    By falling confidence a prediction asks for the truth of its class that it overlaps most; a taken one makes it
    false, a difficult one leaves it out. Predictions that are false then, but lie at least by `iou` of their own area
    in a box around a group, are left out; each group that is hit counts once, with the best confidence and
    `group_of_weight`, and so does each group as something to find: 1 in the challenge for boxes, 0 for masks and in V2.

    `image_labels` says which classes people verified in each image: predictions of other classes, that are not among
    the image's boxes either, are dropped in the challenge (``unverified="count"`` keeps them, as V2 does without
    labels). With a `hierarchy` a box is also one of every class above its own, a label that is there goes up and one
    that is not goes down. `descriptions` gives the names to print. With ``on="mask"`` truths without a mask are
    compared by their box, and what finds them is left out.

    Kuznetsova et al., The Open Images Dataset V4, IJCV 2020.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a"], ["cat"], [[0, 0, 8, 8]], group_of=[True])
    >>> pred = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 2, 2], [4, 4, 6, 6]], confidence=[0.9, 0.8])
    >>> openimages(truth, pred).scores["mAP"].value
    1.0
    """
    from verite.formats.openimages_classes import read_descriptions, read_hierarchy

    settings = settings.complete(truth)
    if settings.image_labels is not None:
        truth = with_image_labels(truth, settings.image_labels)
    tree, names = settings.hierarchy, settings.descriptions or {}
    if tree is not None:
        truth = expand(truth, tree if isinstance(tree, Hierarchy) else read_hierarchy(tree))
    if isinstance(names, (str, PathLike)):
        names = read_descriptions(names)
    truth, pred, findings = prepare(truth, pred, settings.checks)
    if settings.labels is not None:
        codes = {names.get(code, code): code for code in truth.labels.all_names}
        wanted = {codes.get(label, label) for label in settings.labels}
        truth = truth.only(wanted)
        pred = pred.only([name for name in pred.labels.all_names if name in wanted])
    pred = settings.choose_sure(pred)
    curves = evaluate(settings, truth, pred, thread_count(settings.threads))
    shown = [
        {names.get(code, code): replace(c, label=names.get(code, code)) for code, c in at.items()} for at in curves
    ]
    return OpenImagesResults("openimages", settings, shown, truth, pred, findings)


def with_image_labels(truth: Annotations, given: Annotations | Path) -> Annotations:
    """The truth with what was verified in whole images, which may be images without any object."""
    labels = given if isinstance(given, Annotations) else read(given, format="openimages-labels")
    if labels.verdicts is None:
        raise DataError(f"{labels.source.path or 'image labels'}: expected labels of whole images, found none")
    aligned = replace(labels, unit=truth.unit).like(truth)
    return replace(truth, images=aligned.images, labels=aligned.labels, verdicts=aligned.verdicts)


def expand(truth: Annotations, hierarchy: Hierarchy) -> Annotations:
    """Every object once for its class and once for each class above; labels that are there go up, others go down."""
    own = truth.labels.all_names
    said = truth.verdicts if truth.verdicts is not None else Verdicts.of([])
    used = np.unique(np.concatenate([truth.label, said.label]))
    for i in used:
        hierarchy.need(own[i], truth.source.path or "truth")
    new = sorted(set(hierarchy.above) - set(own))
    names = [*own, *new]
    place = {name: i for i, name in enumerate(names)}

    def others(side: dict[str, frozenset[str]]) -> list[NDArray[np.int32]]:
        """For each class of the truth itself and, by name, those on this side of it."""
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
    return replace(wide, verdicts=Verdicts(*columns) if truth.verdicts is not None else None)


def spread(label: NDArray[np.int32], table: list[NDArray[np.int32]]) -> tuple[Ints, NDArray[np.int32]]:
    """Each row once for every class in its class's list: the row, and that class."""
    lengths = np.array([len(classes) for classes in table], dtype=np.int64)
    rows = np.repeat(np.arange(len(label)), lengths[label] if len(label) else 0)
    flat = [table[i] for i in label.tolist()]
    return rows, np.concatenate(flat) if flat else np.empty(0, dtype=np.int32)


@record(eq=False)
class Sides:
    """Truth and predictions that count, and what is compared: masks first, then boxes of truths without one."""

    truth: Annotations
    pred: Annotations
    stages: dict[str, Bools]  # the truths that are compared by each similarity
    order: Ints  # predictions by falling confidence, of equal ones the last first
    confidence: NDArray[np.float64]
    origin: Ints  # where each prediction was before some were dropped
    threads: int


def evaluate(
    settings: OpenImagesSettings, truth: Annotations, pred: Annotations, threads: int
) -> list[dict[str, Curve]]:
    """The curve of every class at each threshold."""
    sides = pair_sides(settings, truth, pred, threads)
    return [curves_at(settings, sides, threshold) for threshold in settings.iou]


def pair_sides(settings: OpenImagesSettings, truth: Annotations, pred: Annotations, threads: int) -> Sides:
    labels = max(len(truth.labels), len(pred.labels))
    kept = np.asarray((pred.regions.sizes[:, 2:] > 0).all(axis=1))
    if settings.unverified == "drop":
        cells = np.unique(truth.image.astype(np.int64) * labels + truth.label)
        if truth.verdicts is not None:
            cells = np.union1d(cells, truth.verdicts.cells(labels, PRESENT, ABSENT))
        kept &= is_in(cells, pred.image, pred.label, labels)
    pred = pred.where(kept)
    stages = {"box": np.ones(len(truth), dtype=np.bool_)}
    if settings.on == "mask":
        has_mask = np.asarray(truth.regions.kinds != BOX)
        if len(truth) and not has_mask.any():
            place = truth.source.path or "truth"
            raise DataError(f"{place}: expected masks, found boxes alone; compare them with --on box")
        if pred.regions.runs is not None:
            check_mask_sizes(pred, np.arange(len(pred)), pred.regions.runs)
        stages = {"mask": has_mask, "box": ~has_mask}
    confidence = np.ones(len(pred)) if pred.confidence is None else pred.confidence
    order = np.lexsort((-np.arange(len(pred)), -confidence))
    return Sides(truth, pred, stages, order, confidence, np.flatnonzero(kept), threads)


@record(eq=False)
class Decided:
    """What became of the predictions that count, and of every truth."""

    outcome: NDArray[np.int8]
    taken: Ints  # the prediction that found each truth, the best one of a group; -1 for none
    groups: Ints  # the best prediction of each group that is hit and asked for


def decide(sides: Sides, threshold: float) -> Decided:
    truth, pred = sides.truth, sides.pred
    outcome = np.full(len(pred), WRONG, dtype=np.int8)
    taken = np.full(len(truth), -1, dtype=np.int64)
    groups: list[Ints] = []
    for similarity, compared in sides.stages.items():
        says_nothing = similarity != next(iter(sides.stages))  # about masks, where a truth has none
        rules = Rules((threshold,), similarity, wants="best", equal="first", ties="row", is_open=True)
        one_by_one, as_groups = replace(rules, ignored=("difficult",)), replace(rules, shared=("group_of",))
        rows, found = match_undecided(sides, outcome, compared & ~truth.group_of, one_by_one)
        outcome[rows] = np.where(says_nothing & (found.state == RIGHT), IGNORED, found.state)
        is_right = found.state == RIGHT
        taken[np.flatnonzero(compared & ~truth.group_of)[found.truth[is_right]]] = rows[is_right]
        rows, found = match_undecided(sides, outcome, compared & truth.group_of, as_groups)
        outcome[rows[found.truth >= 0]] = IGNORED
        if not says_nothing:
            best = best_of_groups(sides, rows, found.truth, np.flatnonzero(compared & truth.group_of))
            is_hit = best >= 0
            taken[is_hit] = best[is_hit]
            groups.append(best[is_hit])
    return Decided(outcome, taken, np.concatenate(groups))


def curves_at(settings: OpenImagesSettings, sides: Sides, threshold: float) -> dict[str, Curve]:
    truth, pred = sides.truth, sides.pred
    decided = decide(sides, threshold)
    weight_of_group = settings.group_of_weight or 0.0
    entries = Entries.of(sides, decided.outcome, decided.groups if weight_of_group > 0 else np.empty(0, np.int64))
    ignored = is_set_aside(truth, settings.on)
    labels = max(len(truth.labels), len(pred.labels))
    singles = np.bincount(truth.label[~truth.group_of & ~ignored], minlength=labels)
    grouped = np.bincount(truth.label[truth.group_of & ~ignored], minlength=labels)
    positives = singles + weight_of_group * grouped
    names = pred.labels.all_names if len(pred.labels) >= len(truth.labels) else truth.labels.all_names
    bounds = np.searchsorted(entries.label, np.arange(labels + 1))
    curves = {}
    for label, name in enumerate(names):
        part = slice(bounds[label], bounds[label + 1])
        weight = None
        if entries.is_group[part].any() and weight_of_group != 1:
            weight = np.where(entries.is_group[part], weight_of_group, 1.0)
        wanted = float(positives[label])
        to_find: float = int(wanted) if wanted.is_integer() else wanted
        rows = entries.rows[part]
        is_true = entries.is_true[part]
        curves[name] = Curve(name, to_find, sides.confidence[rows], is_true, sides.origin[rows], weight)
    return curves


def is_set_aside(truth: Annotations, on: On) -> Bools:
    """Truths that are not asked for: difficult ones, and where masks are compared those without one."""
    return truth.difficult | (np.asarray(truth.regions.kinds == BOX) if on == "mask" else False)


def match_undecided(sides: Sides, outcome: NDArray[np.int8], truths: Bools, rules: Rules) -> tuple[Ints, Outcomes]:
    """What becomes of the predictions that found nothing yet, among these truths; of equal ones the last asks first."""
    rows = np.flatnonzero(outcome == WRONG)[::-1]
    return rows, Evaluation(sides.truth.where(truths), sides.pred.take(rows), rules, sides.threads).outcomes()


def best_of_groups(sides: Sides, rows: Ints, took: NDArray[np.int32], groups: Ints) -> Ints:
    """For each truth that is a group the best prediction that hits it, else -1; a confidence of 0 is none here."""
    group = np.full(len(sides.pred), -1, dtype=np.int64)
    group[rows] = np.append(groups, -1)[took]
    falling = sides.order[((group >= 0) & (sides.confidence > 0))[sides.order]]
    best = np.full(len(sides.truth), -1, dtype=np.int64)
    best[group[falling[::-1]]] = falling[::-1]  # last to first, so that the best one stays
    return np.where(sides.truth.difficult, -1, best)  # what is not asked for is not found, either


@record(eq=False)
class Entries:
    """The points of all curves, class by class and by falling confidence: predictions, and groups that were hit."""

    label: NDArray[np.int32]
    rows: Ints
    is_true: Bools
    is_group: Bools

    @classmethod
    def of(cls, sides: Sides, outcome: NDArray[np.int8], groups: Ints) -> Entries:
        """Equal confidences come in the reverse of the order in which the reference lists them: by the names of images,
        within an image as they were matched, groups last.
        """
        images = sides.pred.images
        names = np.array([images.name(i) for i in range(len(images))])
        rank = np.empty(len(names), dtype=np.int64)
        rank[np.argsort(names, kind="stable")] = np.arange(len(names))
        counted = sides.order[outcome[sides.order] != IGNORED]
        rows = np.concatenate([counted, groups])
        is_group = np.arange(len(rows)) >= len(counted)
        listed = np.lexsort((is_group, rank[sides.pred.image[rows]]))  # stable: matched order, then order of groups
        place = np.empty(len(rows), dtype=np.int64)
        place[listed] = np.arange(len(rows))
        order = np.lexsort((-place, -sides.confidence[rows], sides.pred.label[rows]))
        rows, is_group = rows[order], is_group[order]
        return cls(sides.pred.label[rows], rows, is_group | (outcome[rows] == RIGHT), is_group)
