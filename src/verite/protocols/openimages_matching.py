"""Who takes whom in Open Images? Objects one by one, then groups, which any number of predictions may hit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.curves import Curve
from verite.evaluation.evaluation import IGNORED, RIGHT, WRONG, Evaluation, Outcomes, Rules
from verite.evaluation.prepare import check_mask_sizes
from verite.model.annotations import Annotations
from verite.model.regions import BOX
from verite.model.verdicts import ABSENT, PRESENT, is_in
from verite.records import record, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.protocols.openimages import On, OpenImagesSettings

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]


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
    met: Ints  # the truth each prediction is right on, or spared by; -1 for none
    overlap: NDArray[np.float64]  # with it; of a group, the share of the prediction inside it
    taken: Ints  # the prediction that found each truth, the best one of a group; -1 for none
    groups: Ints  # the best prediction of each group that is hit and asked for


def decide(sides: Sides, threshold: float) -> Decided:
    truth, pred = sides.truth, sides.pred
    outcome = np.full(len(pred), WRONG, dtype=np.int8)
    taken = np.full(len(truth), -1, dtype=np.int64)
    met, overlap = np.full(len(pred), -1, dtype=np.int64), np.full(len(pred), np.nan)
    groups: list[Ints] = []

    def meet(rows: Ints, found: Outcomes, among: Bools) -> None:
        hit = found.truth >= 0
        met[rows[hit]] = np.flatnonzero(among)[found.truth[hit]]
        overlap[rows[hit]] = found.overlap[hit]

    for similarity, compared in sides.stages.items():
        says_nothing = similarity != next(iter(sides.stages))  # about masks, where a truth has none
        rules = Rules((threshold,), similarity, wants="best", equal="first", ties="row", is_open=True)
        one_by_one, as_groups = replace(rules, ignored=("difficult",)), replace(rules, shared=("group_of",))
        singles, grouped = compared & ~truth.group_of, compared & truth.group_of
        rows, found = match_undecided(sides, outcome, singles, one_by_one)
        outcome[rows] = np.where(says_nothing & (found.state == RIGHT), IGNORED, found.state)
        meet(rows, found, singles)
        is_right = found.state == RIGHT
        taken[np.flatnonzero(singles)[found.truth[is_right]]] = rows[is_right]
        rows, found = match_undecided(sides, outcome, grouped, as_groups)
        outcome[rows[found.truth >= 0]] = IGNORED
        meet(rows, found, grouped)
        if not says_nothing:
            best = best_of_groups(sides, rows, found.truth, np.flatnonzero(grouped))
            is_hit = best >= 0
            taken[is_hit] = best[is_hit]
            groups.append(best[is_hit])
    return Decided(outcome, met, overlap, taken, np.concatenate(groups))


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
    def of(cls, sides: Sides, decided: Decided, group_weight: float) -> Entries:
        """Groups have points where they are worth something."""
        rows, is_group = list_falling(sides, decided, group_weight)
        order = np.argsort(sides.pred.label[rows], kind="stable")
        rows, is_group = rows[order], is_group[order]
        return cls(sides.pred.label[rows], rows, is_group | (decided.outcome[rows] == RIGHT), is_group)


def list_falling(sides: Sides, decided: Decided, group_weight: float) -> tuple[Ints, Bools]:
    """What counts by falling confidence, and which of it are groups that were hit.

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
    """The curve of every class."""
    truth, pred = sides.truth, sides.pred
    group_weight = settings.group_of_weight or 0.0
    entries = Entries.of(sides, decided, group_weight)
    ignored = is_set_aside(truth, settings.on)
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
