"""Which class is meant where a record has the wrong one? The detectors' own confusions, or a table of a user's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from verite import _core
from verite.annotation_errors.detection import ANY, ERROR_KINDS, SIZES, Detection
from verite.errors import DataError, ReadError, did_you_mean, excerpt
from verite.evaluation.evaluation import Changes, join_lists
from verite.leaderboards.bootstrap import generator
from verite.model.classes import ABSENT, is_in
from verite.model.regions import Regions
from verite.protocols.coco import AREAS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int32]
    Rows = NDArray[Any]


def count_confusions(truth: Annotations, preds: Sequence[Annotations]) -> Floats:
    """[recorded, said] how often a detector says another class where an object is recorded."""
    from verite.evaluation.evaluation import Evaluation, Rules

    size = len(truth.labels)
    counts = np.zeros((size, size))
    rules = Rules((LEAST_OVERLAP,), class_agnostic=True, ignored=("crowd", "ignore"), shared=("crowd",))
    for pred in preds:
        sure = pred if pred.confidence is None else pred.where(pred.confidence >= LEAST_CONFIDENCE)
        sure = sure.where((sure.label < size) & (sure.image < len(truth.images)))
        taken = Evaluation(truth.changed(verdicts=None), sure, rules).outcomes().truth
        rows = np.flatnonzero(taken >= 0)
        np.add.at(counts, (truth.label[taken[rows]], sure.label[rows]), 1)
    return counts


def read_confusions(path: str | Path, truth: Annotations) -> Floats:
    """A table recorded,CLASS,CLASS…: where wrong records of a class move to, in any unit."""
    from verite.csv_files import read_csv

    names, header = truth.labels.all_names, "the header recorded,CLASS,CLASS…"
    sheet = read_csv(path, header, ("recorded",))
    if sheet.head[0] != "recorded":
        raise ReadError(sheet.where(1), expected=header, found=excerpt(",".join(sheet.head)))
    position = {name: i for i, name in enumerate(names)}
    table = np.zeros((len(names), len(names)))
    for number, row in sheet.rows:
        for name in (row[0], *sheet.head[1:]):
            if name not in position:
                found = excerpt(name) + did_you_mean(name, names)
                raise ReadError(sheet.where(number), expected=f"one of {len(names)} classes", found=found)
        try:
            values = [float(cell or 0) for cell in row[1:]]
        except ValueError:
            values = [-1.0]
        if not all(0 <= value < inf for value in values):
            found = excerpt(",".join(row))
            raise ReadError(sheet.where(number), expected="a number from 0 up for every class", found=found)
        table[position[row[0]], [position[name] for name in sheet.head[1:]]] = values
    return table


@dataclass(frozen=True, eq=False)
class ClassMoves:
    """Where records may move: row `row[i]` of a ragged table is the record's, with the classes and their weights."""

    row: NDArray[np.int64]
    starts: NDArray[np.int64]
    labels: NDArray[np.int32]
    sums: Floats  # weights added up over the whole table

    def draw(self, records: NDArray[Any], chance: Floats) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Records that can move at all, and the classes they move to."""
        rows = self.row[records]
        before = np.append(0.0, self.sums)[self.starts[rows]]
        total = np.append(0.0, self.sums)[self.starts[rows + 1]] - before
        can = total > 0
        at = np.searchsorted(self.sums, before[can] + chance[can] * total[can], side="right")
        at = np.minimum(at, self.starts[rows[can] + 1] - 1)
        return records[can], self.labels[at]


def find_moves(truth: Annotations, records: NDArray[Any], table: Floats) -> ClassMoves:
    """By class; in a federated truth by record, to classes that somebody looked for in its image.

    Where a class is never confused with one it may move to, all of them are as likely.
    """
    size = len(truth.labels)
    weights = table.copy()
    np.fill_diagonal(weights, 0.0)
    if truth.verdicts is None:
        if size < 2:
            raise DataError("label: expected several classes, found one; no record can be of another")
        weights[weights.sum(axis=1) == 0] = 1.0
        np.fill_diagonal(weights, 0.0)
        labels = np.tile(np.arange(size, dtype=np.int32), size)
        starts = np.arange(size + 1, dtype=np.int64) * size
        return ClassMoves(truth.label[records].astype(np.int64), starts, labels, np.cumsum(weights))
    cells = find_verified(truth)
    image, label = np.divmod(cells, size)
    first = np.searchsorted(image, truth.image[records])
    counts = np.searchsorted(image, truth.image[records], side="right") - first
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    owner = np.repeat(np.arange(len(records)), counts)
    labels = label[np.arange(starts[-1]) - starts[owner] + first[owner]].astype(np.int32)
    own = truth.label[records][owner]
    chosen = weights[own, labels]
    lonely = np.bincount(owner, chosen, len(records))[owner] == 0
    chosen = np.where(labels == own, 0.0, np.where(lonely, 1.0, chosen))
    return ClassMoves(np.arange(len(records)), starts, labels, np.cumsum(chosen))


LEAST_CONFIDENCE = 0.05

LEAST_OVERLAP = 0.5


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidates for missing objects, in an order that does not depend on that of files or detectors."""

    image: Ints
    label: Ints
    boxes: Floats  # left, top, width, height
    weight: Floats  # how likely each is an object, up to a factor
    found: NDArray[np.bool_]  # [candidate, detector]: who has a box there
    best: tuple[Ints, Ints]  # detector and row of the surest box of each, whose mask it has

    def __len__(self) -> int:
        return len(self.image)

    def take(self, kept: NDArray[Any]) -> Pool:
        """These candidates, by flags or by positions."""
        detector, row = self.best
        return Pool(
            self.image[kept],
            self.label[kept],
            self.boxes[kept],
            self.weight[kept],
            self.found[kept],
            (detector[kept], row[kept]),
        )


@dataclass(frozen=True, eq=False)
class UnmatchedDetections:
    """Boxes that no truth explains, by image and class, the surest first, whatever the order of files."""

    key: NDArray[np.int64]  # image × labels + label
    sure: Floats
    boxes: Floats
    detector: Ints
    row: Ints
    labels: int

    def take(self, kept: NDArray[Any]) -> UnmatchedDetections:
        boxes = np.ascontiguousarray(self.boxes[kept])
        return UnmatchedDetections(
            self.key[kept], self.sure[kept], boxes, self.detector[kept], self.row[kept], self.labels
        )

    def pool(self, members: Sequence[int]) -> Pool:
        """Candidates out of the boxes of these detectors, clustered per image and class.

        The surest box begins a cluster and takes all that overlap it by .5. A candidate lies where the members are in
        the mean, weighted by confidence, and weighs the mean over detectors of their best confidence in the cluster.
        """
        number = np.full(max(*members, int(self.detector.max(initial=0))) + 1, -1, np.int32)  # its place among them
        number[list(members)] = np.arange(len(members))
        own = self.take(number[self.detector] >= 0)
        nothing = np.zeros(0, np.int64), np.zeros((0, 4)), np.zeros(0, np.bool_)
        cluster = _core.cluster_boxes(own.key, own.boxes, *nothing, LEAST_OVERLAP)
        return gather(cluster, own, number[own.detector], len(members))


def find_unexplained(truth: Annotations, preds: Sequence[Annotations]) -> UnmatchedDetections:
    """Boxes from a confidence of .05 on that overlap no truth of their class by .5."""
    labels = len(truth.labels)
    columns: list[list[NDArray[Any]]] = []
    for number, pred in enumerate(preds):
        sure = np.ones(len(pred)) if pred.confidence is None else pred.confidence
        rows = np.flatnonzero((sure >= LEAST_CONFIDENCE) & (pred.label < labels) & (pred.image < len(truth.images)))
        key = pred.image[rows].astype(np.int64) * labels + pred.label[rows]
        columns.append([key, sure[rows], pred.regions.sizes[rows], np.full(len(rows), number, np.int32), rows])
    key, sure, boxes, detector, row = (np.concatenate(column) for column in zip(*columns, strict=True))
    found = UnmatchedDetections(key, sure, boxes, detector, row.astype(np.int32), labels)
    found = found.take(order_boxes(key, sure, boxes))
    truth_key = truth.image.astype(np.int64) * labels + truth.label
    by_key = np.argsort(truth_key, kind="stable")
    cluster = _core.cluster_boxes(
        found.key,
        found.boxes,
        truth_key[by_key],
        np.ascontiguousarray(truth.regions.sizes[by_key]),
        truth.crowd[by_key] | truth.group_of[by_key],
        LEAST_OVERLAP,
    )
    return found.take(cluster >= 0)


def order_boxes(key: NDArray[np.int64], sure: Floats, boxes: Floats) -> NDArray[np.int64]:
    """By image and class, the surest first; only where confidences are equal are boxes looked at."""
    order = np.lexsort((-sure, key))
    is_equal = (np.diff(key[order]) == 0) & (np.diff(sure[order]) == 0)
    tied = np.flatnonzero(np.append(is_equal, False) | np.insert(is_equal, 0, False))
    rows = order[tied]
    order[tied] = rows[np.lexsort((*boxes[rows].T[::-1], -sure[rows], key[rows]))]
    return order


def gather(cluster: Any, boxes: UnmatchedDetections, detector: Ints, detectors: int) -> Pool:
    """Candidates out of the members of clusters, which come by falling confidence."""
    count = int(cluster.max(initial=-1)) + 1
    total = np.bincount(cluster, boxes.sure, count)
    mean = (
        np.stack([np.bincount(cluster, boxes.sure * side, count) for side in boxes.boxes.T], axis=1)
        / np.maximum(total, 1e-300)[:, None]
    )
    best = np.zeros((count, detectors))
    np.maximum.at(best, (cluster, detector), boxes.sure)
    first = np.full(count, len(cluster), dtype=np.int64)
    np.minimum.at(first, cluster, np.arange(len(cluster)))
    # Three and more are sorted before they are added, so that the order of detectors changes no bit.
    found = best > 0
    several = np.flatnonzero(np.count_nonzero(found, axis=1) > 2)
    weight = best.sum(axis=1)
    weight[several] = np.sort(best[several], axis=1).sum(axis=1)
    image, label = np.divmod(boxes.key[first], boxes.labels)
    members = detector[first], boxes.row[first]
    return Pool(image.astype(np.int32), label.astype(np.int32), mean, weight / max(detectors, 1), found, members)


def pool_file(truth: Annotations, objects: Annotations, preds: Sequence[Annotations]) -> Pool:
    """Candidates out of a file; they weigh what their confidence says, or all the same."""
    known = np.flatnonzero((objects.label < len(truth.labels)) & (objects.image < len(truth.images)))
    objects = objects.take(known)
    names = np.array([truth.images.name(i) for i in range(len(truth.images))])
    boxes = objects.regions.sizes
    order = np.lexsort((*boxes.T[::-1], objects.label, names[objects.image]))
    objects, boxes = objects.take(order), boxes[order]
    weight = np.ones(len(objects)) if objects.confidence is None else objects.confidence
    found = np.stack([is_met(objects, pred) for pred in preds], axis=1)
    nobody = np.full(len(objects), -1, np.int32)
    return Pool(objects.image, objects.label, boxes, weight, found, (nobody, known[order].astype(np.int32)))


def is_met(objects: Annotations, pred: Annotations) -> NDArray[np.bool_]:
    """Which objects a detector has a box on."""
    from verite.evaluation.evaluation import Evaluation, Rules

    if not len(objects):
        return np.zeros(0, dtype=np.bool_)
    found = Evaluation(objects.changed(verdicts=None), pred, Rules((LEAST_OVERLAP,))).outcomes()
    return np.asarray(found.pred >= 0)


def keep_verified(pool: Pool, truth: Annotations) -> Pool:
    """In a federated truth, candidates of classes that somebody looked for in their image."""
    return (
        pool
        if truth.verdicts is None
        else pool.take(is_in(find_verified(truth), pool.image, pool.label, len(truth.labels)))
    )


def find_verified(truth: Annotations) -> NDArray[np.int64]:
    """image × labels + label of the classes that somebody looked for in an image, and found or not."""
    assert truth.verdicts is not None
    own = truth.image.astype(np.int64) * len(truth.labels) + truth.label
    return np.union1d(own, truth.verdicts.cells(len(truth.labels), ABSENT))


# Streams of random numbers; 0 are images.
RATES, GONE, MOVED, TARGET, SHIFTED, SHIFT, TWIN, LIT, GROUPS = range(1, 10)

LEAST_SIDE = 1e-3  # of a moved box, as a share of what it was


@dataclass(frozen=True, eq=False)
class Law:
    """Things of which each is chosen with its own probability, independently: drawn without looking at each.

    The first event of a Poisson process of rate -log(1 - p) has come with probability p by time 1, whatever comes
    elsewhere: so many events as there are in all, each of a thing in proportion to its rate, choose those things.
    """

    certain: NDArray[np.int64]
    sums: Floats  # of the rates of all others

    @classmethod
    def of(cls, probabilities: Floats) -> Law:
        """
        >>> law = Law.of(np.array([0.0, 0.5, 1.0, 0.1]))
        >>> chosen = [law.draw(np.random.default_rng(i)) for i in range(4000)]
        >>> np.bincount(np.concatenate(chosen), minlength=4).round(-2).tolist()
        [0, 2000, 4000, 400]
        """
        is_certain = probabilities >= 1
        rates = -np.log1p(-np.where(is_certain, 0.0, probabilities))
        return cls(np.flatnonzero(is_certain), np.cumsum(rates))

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """The positions of those that are chosen, rising."""
        total = float(self.sums[-1]) if len(self.sums) else 0.0
        events = rng.random(rng.poisson(total)) * total
        chosen = np.searchsorted(self.sums, events, side="right")
        return np.unique(np.concatenate([self.certain, np.minimum(chosen, len(self.sums) - 1)]))


class TruthDraws:
    """Everything that draws of a truth have in common."""

    def __init__(
        self,
        truth: Annotations,
        asked: NDArray[np.bool_],
        errors: Detection,
        seed: int,
        *,
        pool: Pool | None = None,
        pooled: Any = None,
        confusions: Floats | None = None,
        groups: Any = None,
        found: NDArray[np.bool_] | None = None,
        favoured: int | None = None,
        known: dict[tuple[str, int], bool] | None = None,
    ) -> None:
        """`asked`: the truths that are to be found. `pooled` are the masks of the pool, where masks are compared.
        `groups`: the group of each image, where errors are shared by one. `found`: truths that the favoured detector
        found, which is the `favoured`-th of the pool's. `known`: by kind and position whether there is an error, where
        somebody looked; positions are rows of the truth, or candidates of the pool for missing objects.
        """
        self.truth, self.errors, self.seed = truth, errors, seed
        self.records = sort_records(truth, np.flatnonzero(asked))
        self.pool, self.pooled, self.groups, self.found, self.favoured = pool, pooled, groups, found, favoured
        self.confusions, self.known = confusions, known or {}

    def with_errors(self, errors: Detection, pool: Pool | None = None) -> TruthDraws:
        """The same records by another model, or with other candidates for missing objects."""
        return TruthDraws(
            self.truth,
            np.isin(np.arange(len(self.truth)), self.records),
            errors,
            self.seed,
            pool=self.pool if pool is None else pool,
            pooled=self.pooled if pool is None else None,
            confusions=self.confusions,
            groups=self.groups,
            found=self.found,
            favoured=self.favoured,
            known=self.known if pool is None else {},
        )

    @cached_property
    def moves(self) -> ClassMoves:
        size = len(self.truth.labels)
        table = np.zeros((size, size)) if self.confusions is None else self.confusions
        return find_moves(self.truth, self.records, table)

    @cached_property
    def sizes(self) -> Floats:
        """Areas of the truth's objects."""
        area = self.truth.area
        own = np.abs(np.prod(self.truth.regions.sizes[:, 2:], axis=1))
        return own if area is None else np.where(np.isnan(area), own, area)

    def base_rates(self, kind: str) -> tuple[Floats, Floats]:
        """How much likelier than at the common rate errors of a kind are, for records and candidates; and where a
        rate is given for a class and size, that rate instead (nan: none).
        """
        rows = self.records
        label, area = [self.truth.label[rows]], [self.sizes[rows]]
        if kind == "missing" and self.pool is not None:
            label.append(self.pool.label)
            area.append(np.prod(self.pool.boxes[:, 2:], axis=1))
        labels, areas = np.concatenate(label), np.concatenate(area)
        own = np.full(len(labels), np.nan)
        names = {name: i for i, name in enumerate(self.truth.labels.all_names)}
        bounds = [AREAS[size] for size in SIZES]
        size_of = np.select([areas < high for _, high in bounds[:-1]], [0, 1], 2)
        for name, size, of, rate in self.errors.rates:
            if of != kind:
                continue
            if name != ANY and name not in names:
                raise DataError(f"rates: expected classes of the truth, found {name!r}")
            fits = np.ones(len(labels), bool) if name == ANY else labels == names[name]
            fits &= np.ones(len(labels), bool) if size == ANY else size_of == SIZES.index(size)
            own[fits] = rate
        factor = np.ones(len(labels))
        if self.errors.favours is not None:
            odds = self.errors.favours[1]
            if kind == "spurious" and self.found is not None:
                factor = np.where(self.found[rows], odds, 1.0)
                factor /= factor.mean()
            if kind == "missing" and self.pool is not None and self.favoured is not None:
                factor[len(rows) :] = np.where(self.pool.found[:, self.favoured], 1.0, odds)
        return factor, own

    @cached_property
    def bases(self) -> dict[str, tuple[Floats, Floats]]:
        return {kind: self.base_rates(kind) for kind in ERROR_KINDS}

    @cached_property
    def group_of(self) -> dict[str, NDArray[np.int64]]:
        """The group of each record, and of each record and candidate for missing objects."""
        shared, rows = self.errors.shared, self.records
        if shared == "label":
            names = np.array(self.truth.labels.all_names)
            of_record = names[self.truth.label[rows]]
            pooled = names[self.pool.label] if self.pool is not None else of_record[:0]
        else:
            names = np.array([self.truth.images.name(i) for i in range(len(self.truth.images))])
            images = names if shared == "image" else np.asarray(self.groups).astype(np.str_)
            of_record = images[self.truth.image[rows]]
            pooled = images[self.pool.image] if self.pool is not None else of_record[:0]
        every = np.unique(np.concatenate([of_record, pooled]), return_inverse=True)[1]
        return {kind: every if kind == "missing" else every[: len(rows)] for kind in ERROR_KINDS}

    def rates(self, kind: str, draw: int) -> Floats:
        """The rate of every record, and for missing objects of every candidate behind them, before they are scaled."""
        errors, number = self.errors, ERROR_KINDS.index(kind)
        given = errors.jitter[0] if kind == "jitter" else getattr(errors, kind)
        if isinstance(given, tuple):
            wrong, checked = given
            common = float(generator(self.seed, draw, RATES + 100 * number).beta(wrong + 0.5, checked - wrong + 0.5))
        else:
            common = float(given)
        factor, own = self.bases[kind]
        found = np.where(np.isnan(own), common, own) * factor
        mean = errors.mean(kind)
        if errors.shared is not None and 0 < mean < 1:
            group = self.group_of[kind]
            size = (1 - errors.correlation) / errors.correlation
            drawn = generator(self.seed, draw, GROUPS + 100 * number).beta(
                mean * size, (1 - mean) * size, int(group.max()) + 1
            )
            found = found * (drawn / mean)[group]
        return np.minimum(found, 1.0)

    def settle(self, kind: str, positions: Rows, wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """What somebody looked at is as they said."""
        for (of, position), is_wrong in self.known.items():
            if of == kind:
                wrong[positions == position] = is_wrong
        return wrong

    def draw(self, draw: int) -> tuple[Rows, Rows, Rows, Rows, Floats]:
        """Rows removed; objects of the table added and their labels; rows with a twin nobody finds; moved boxes.

        The table has the truth's objects, then the pool's; a moved box is behind them, in the order of the draw.
        """
        rows, count = self.records, len(self.records)
        gone = self.settle("spurious", rows, self.choose("spurious", draw, GONE))
        relabelled = np.zeros(count, dtype=np.bool_)
        if "label" in self.active:
            relabelled = self.settle("label", rows, self.choose("label", draw, MOVED)) & ~gone
        moved, labels = np.zeros(0, np.int64), np.zeros(0, np.int32)
        chosen = np.flatnonzero(relabelled)
        if len(chosen):
            moved, labels = self.moves.draw(chosen, generator(self.seed, draw, TARGET).random(len(chosen)))
        shifted = np.zeros(0, np.int64)
        boxes = np.zeros((0, 4))
        if "jitter" in self.active:
            is_shifted = self.choose("jitter", draw, SHIFTED) & ~gone & ~relabelled
            shifted = np.flatnonzero(is_shifted)
            normal = generator(self.seed, draw, SHIFT).standard_normal((len(shifted), 4))
            boxes = shift(self.truth.regions.boxes[rows[shifted]], normal * self.errors.jitter[1])
        removed = np.concatenate([rows[gone], rows[moved], rows[shifted]])
        lit, twins = self.draw_missing(draw)
        added = np.concatenate([rows[moved], len(self.truth) + lit])
        pooled = self.pool.label[lit] if self.pool is not None else labels[:0]
        return removed, added, np.concatenate([labels, pooled]), twins, np.column_stack([rows[shifted], boxes])

    def draw_missing(self, draw: int) -> tuple[Rows, Rows]:
        """Candidates that are objects, and records with a twin that nobody finds."""
        nothing = np.zeros(0, np.int64)
        if "missing" not in self.active:
            return nothing, nothing
        lit, twins = self.missing_laws if self.is_steady("missing") else self.find_missing_laws(draw)
        found = lit.draw(generator(self.seed, draw, LIT))
        if self.pool is not None and any(kind == "missing" for kind, _ in self.known):
            flags = np.zeros(len(self.pool), dtype=np.bool_)
            flags[found] = True
            found = np.flatnonzero(self.settle("missing", np.arange(len(flags)), flags))
        return found, self.records[twins.draw(generator(self.seed, draw, TWIN))]

    @cached_property
    def missing_laws(self) -> tuple[Law, Law]:
        return self.find_missing_laws(0)

    def find_missing_laws(self, draw: int) -> tuple[Law, Law]:
        """Which candidates are objects, and which records have a twin that nobody finds."""
        rates = self.rates("missing", draw)
        count = len(self.records)
        wanted = float(rates[:count].sum())
        scaled, share = rates[:0], 0.0
        if self.pool is not None and len(self.pool):
            scaled = scale_to(rates[count:] * self.pool.weight, self.errors.lit * wanted)
            share = float(scaled.sum()) / wanted if wanted else 0.0
        return Law.of(scaled), Law.of(rates[:count] * (1 - share))

    def is_steady(self, kind: str) -> bool:
        """Whether the rates of a kind are the same in every draw."""
        given = self.errors.jitter[0] if kind == "jitter" else getattr(self.errors, kind)
        return self.errors.shared is None and not isinstance(given, tuple)

    @cached_property
    def laws(self) -> dict[str, Law]:
        return {kind: Law.of(self.rates(kind, 0)) for kind in ("spurious", "label", "jitter") if self.is_steady(kind)}

    def choose(self, kind: str, draw: int, stream: int) -> NDArray[np.bool_]:
        """The records with an error of a kind, as flags."""
        law = self.laws[kind] if self.is_steady(kind) else Law.of(self.rates(kind, draw))
        flags = np.zeros(len(self.records), dtype=np.bool_)
        flags[law.draw(generator(self.seed, draw, stream))] = True
        return flags

    @cached_property
    def active(self) -> frozenset[str]:
        """The kinds of errors that there are."""
        listed = {kind for _, _, kind, rate in self.errors.rates if rate}
        said = {kind for kind, _ in self.known}
        return frozenset(kind for kind in ERROR_KINDS if self.errors.mean(kind) or kind in listed or kind in said)

    @cached_property
    def fixed_table(self) -> Annotations:
        return self.lay_table(np.zeros((0, 5)))

    def lay_table(self, moved: Floats) -> Annotations:
        """The objects that may be added: the truth's, the pool's, and moved boxes (row, corners)."""
        from verite.model.annotations import Annotations

        truth, pool = self.truth, self.pool
        sources = moved[:, 0].astype(np.int64)
        old = truth.regions.sizes[sources]
        corners = moved[:, 1:]
        growth = np.prod(corners[:, 2:] - corners[:, :2], axis=1) / np.maximum(np.prod(old[:, 2:], axis=1), 1e-300)
        pool_boxes = np.zeros((0, 4)) if pool is None else pool.boxes
        extra = [np.zeros(0, np.int32)] * 2 if pool is None else [pool.image, pool.label]
        if self.pooled is not None:
            regions, areas = self.pooled
        else:
            # As the truth has them: a width is not always the difference of two corners, to the last bit.
            layout = truth.regions.kept
            if layout == "xywh":
                behind = [pool_boxes, np.column_stack([corners[:, :2], corners[:, 2:] - corners[:, :2]])]
            else:
                behind = [np.column_stack([pool_boxes[:, :2], pool_boxes[:, :2] + pool_boxes[:, 2:]]), corners]
            regions = Regions(np.concatenate([truth.regions.values, *behind]), layout)
            areas = np.prod(pool_boxes[:, 2:], axis=1)
        return Annotations(
            images=truth.images,
            labels=truth.labels,
            image=np.concatenate([truth.image, extra[0], truth.image[sources]]),
            label=np.concatenate([truth.label, extra[1], truth.label[sources]]),
            regions=regions,
            area=np.concatenate([self.sizes, areas, self.sizes[sources] * growth]) if has_areas(truth) else None,
            unit=truth.unit,
        )

    def changes(self, first: int, count: int) -> Changes:
        """The truths of so many draws."""
        drawn = [self.draw(first + i) for i in range(count)]
        removed, added, labels, again, moved = (list(part) for part in zip(*drawn, strict=True))
        table = self.fixed_table
        if "jitter" in self.active:
            base, table = len(table), self.lay_table(np.concatenate(moved))
            for i, boxes in enumerate(moved):
                added[i] = np.concatenate([added[i], np.arange(base, base + len(boxes))])
                labels[i] = np.concatenate([labels[i], self.truth.label[boxes[:, 0].astype(np.int64)]])
                base += len(boxes)
        flat_added, added_offsets = join_lists(added)
        return Changes(
            table, *join_lists(removed), flat_added, join_lists(labels)[0], added_offsets, *join_lists(again)
        )


def has_areas(truth: Annotations) -> bool:
    return truth.area is not None


def sort_records(truth: Annotations, rows: Rows) -> Rows:
    """Rows in an order that does not depend on that of the file: by the names of image and class, then by the box."""
    keys = [rank_names(names)[positions[rows]] for names, positions in names_of(truth)]
    return rows[np.lexsort((*truth.regions.sizes[rows].T[::-1], *keys[::-1]))]


def sort_pool(pool: Pool, truth: Annotations) -> Pool:
    """The same for candidates, which have an order of their own within an image and a class."""
    (images, _), (labels, _) = names_of(truth)
    keys = rank_names(labels)[pool.label], rank_names(images)[pool.image]
    return pool.take(np.lexsort((np.arange(len(pool)), *keys)))


def names_of(truth: Annotations) -> Sequence[tuple[list[str], NDArray[np.int32]]]:
    images = [truth.images.name(i) for i in range(len(truth.images))]
    return (images, truth.image), (list(truth.labels.all_names), truth.label)


def rank_names(names: Sequence[str]) -> NDArray[np.int64]:
    """The place of each name in the alphabet."""
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return ranks


def scale_to(weights: Floats, total: float) -> Floats:
    """Probabilities in proportion to weights that add up to a total, as far as none exceeds 1.

    >>> scale_to(np.array([4.0, 1.0, 1.0]), 1.5).tolist(), scale_to(np.array([4.0, 1.0, 1.0]), 2.0).tolist()
    ([1.0, 0.25, 0.25], [1.0, 0.5, 0.5])
    """
    positive = weights > 0
    if not positive.any() or total <= 0:
        return np.zeros(len(weights))
    factor = total / weights.sum()
    for _ in range(50):  # each round finds more that are certain
        full = weights * factor >= 1
        rest = weights[~full].sum()
        wanted = (total - full.sum()) / rest if rest > 0 else np.inf
        if full.all() or wanted <= factor * (1 + 1e-12) or rest <= 0:
            break
        factor = wanted
    return np.asarray(np.minimum(weights * factor, 1.0))


def shift(corners: Floats, by: Floats) -> Floats:
    """Boxes with moved sides, by shares of their width and height; no side passes the opposite one."""
    size = corners[:, 2:] - corners[:, :2]
    moved = corners + by * np.tile(size, 2)
    return np.column_stack([moved[:, :2], np.maximum(moved[:, 2:], moved[:, :2] + LEAST_SIDE * size)])
