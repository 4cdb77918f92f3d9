"""Monte Carlo simulation of annotation errors: ground truths with objects removed, added, relabelled and displaced.

Every simulation is a list of changes to the annotated ground truth (`Changes`), which the core evaluates without
matching all images again. A simulation depends on the seed and its number alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.annotation_errors.confusion import parse_confusion
from verite.annotation_errors.detection import ANY, ERROR_KINDS, SIZES, Detection
from verite.errors import DataError
from verite.evaluation.evaluation import Changes, join_lists
from verite.leaderboards.candidates import (
    MIN_CONFIDENCE,
    MIN_IOU,
    CandidatePool,
    sort_annotations,
    verified_classes,
)
from verite.model.regions import Regions
from verite.protocols.coco import AREAS
from verite.statistics.resampling import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]
    Rows = NDArray[Any]

# Streams of random numbers, one for each thing that is sampled; 0 is the bootstrap's.
(
    RATE_STREAM,
    SPURIOUS_STREAM,
    RELABEL_STREAM,
    NEW_LABEL_STREAM,
    JITTER_STREAM,
    OFFSET_STREAM,
    UNDETECTED_STREAM,
    DETECTABLE_STREAM,
    GROUP_STREAM,
) = range(1, 10)
KIND_STEP = 100  # between the streams of two kinds of errors
MIN_SIDE = 1e-3  # of a displaced box, as a share of the original side


def count_confusions(truth: Annotations, preds: Sequence[Annotations]) -> Floats:
    """Return [annotated class, predicted class], how often a detector predicts another class on an annotated object.

    Matching is class-agnostic, at an IoU of 0.5 and confidence ≥ 0.05.
    """
    from verite.evaluation.evaluation import Evaluation, Rules

    size = len(truth.labels)
    counts = np.zeros((size, size))
    rules = Rules((MIN_IOU,), class_agnostic=True, ignored=("crowd", "ignore"), shared=("crowd",))
    for pred in preds:
        kept = pred if pred.confidence is None else pred.where(pred.confidence >= MIN_CONFIDENCE)
        kept = kept.where((kept.label < size) & (kept.image < len(truth.images)))
        matched = Evaluation(truth.changed(verdicts=None), kept, rules).outcomes().truth
        rows = np.flatnonzero(matched >= 0)
        np.add.at(counts, (truth.label[matched[rows]], kept.label[rows]), 1)
    return counts


def read_confusions(path: str | Path, truth: Annotations) -> Floats:
    """Read a table recorded,CLASS,CLASS… of where wrong annotations of a class belong, in any unit.

    Parameters
    ----------
    path
        CSV file, one row per recorded class; the unit (counts, shares, percent) does not matter.
    truth
        Ground truth whose classes the table names.

    Returns
    -------
    Floats
        Probabilities [recorded class, real class].
    """
    from verite.csv_files import read_csv

    table = read_csv(path, "the header recorded,CLASS,CLASS…", ("recorded",))
    rows = ((table.where(number), row) for number, row in table.rows)
    return parse_confusion(table.path, table.head, rows, truth.labels.all_names, is_complete=False)


@dataclass(frozen=True, eq=False)
class LabelTransitions:
    """The classes that each annotation may have instead of its own: a ragged table of classes and weights.

    Annotation i has the table's row `row[i]`, entries `starts[row]` … `starts[row + 1]`.
    """

    row: NDArray[np.int64]
    starts: NDArray[np.int64]
    labels: NDArray[np.int32]
    sums: Floats  # weights, cumulated over the whole table

    @classmethod
    def of(cls, truth: Annotations, rows: Rows, confusions: Floats) -> LabelTransitions:
        """Make transitions from class confusions; in federated ground truth to verified classes of the image only.

        Where a class is never confused with any that it may change to, all of these are equally likely.
        """
        size = len(truth.labels)
        weights = confusions.copy()
        np.fill_diagonal(weights, 0.0)
        if truth.verdicts is None:
            if size < 2:
                raise DataError("label: expected several classes, found one; no annotation can have another class")
            weights[weights.sum(axis=1) == 0] = 1.0
            np.fill_diagonal(weights, 0.0)
            labels = np.tile(np.arange(size, dtype=np.int32), size)
            starts = np.arange(size + 1, dtype=np.int64) * size
            return cls(truth.label[rows].astype(np.int64), starts, labels, np.cumsum(weights))
        image, label = np.divmod(verified_classes(truth), size)
        first = np.searchsorted(image, truth.image[rows])
        counts = np.searchsorted(image, truth.image[rows], side="right") - first
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        owner = np.repeat(np.arange(len(rows)), counts)
        labels = label[np.arange(starts[-1]) - starts[owner] + first[owner]].astype(np.int32)
        own = truth.label[rows][owner]
        chosen = weights[own, labels]
        never_confused = np.bincount(owner, chosen, len(rows))[owner] == 0
        chosen = np.where(labels == own, 0.0, np.where(never_confused, 1.0, chosen))
        return cls(np.arange(len(rows)), starts, labels, np.cumsum(chosen))

    def sample(self, annotations: Rows, uniform: Floats) -> tuple[Rows, NDArray[np.int32]]:
        """Return the annotations that can change their class at all, and the classes they change to.

        `uniform` has one random number from 0 to 1 per annotation.
        """
        rows = self.row[annotations]
        before = np.append(0.0, self.sums)[self.starts[rows]]
        total = np.append(0.0, self.sums)[self.starts[rows + 1]] - before
        can = total > 0
        at = np.searchsorted(self.sums, before[can] + uniform[can] * total[can], side="right")
        at = np.minimum(at, self.starts[rows[can] + 1] - 1)
        return annotations[can], self.labels[at]


@dataclass(frozen=True, eq=False)
class BernoulliSampler:
    """Samples independent events of unequal probabilities, in time proportional to the number that occur.

    The first event of a Poisson process of rate -log(1 - p) has occurred by time 1 with probability p. So the total
    number of events is Poisson distributed, and each belongs to one of the processes in proportion to its rate.
    """

    certain: NDArray[np.int64]
    sums: Floats  # cumulated rates of all others

    @classmethod
    def of(cls, probabilities: Floats) -> BernoulliSampler:
        """
        >>> sampler = BernoulliSampler.of(np.array([0.0, 0.5, 1.0, 0.1]))
        >>> chosen = [sampler.sample(np.random.default_rng(i)) for i in range(4000)]
        >>> np.bincount(np.concatenate(chosen), minlength=4).round(-2).tolist()
        [0, 2000, 4000, 400]
        """
        is_certain = probabilities >= 1
        rates = -np.log1p(-np.where(is_certain, 0.0, probabilities))
        return cls(np.flatnonzero(is_certain), np.cumsum(rates))

    def sample(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the positions of the events that occur, sorted."""
        total = float(self.sums[-1]) if len(self.sums) else 0.0
        events = np.sort(rng.random(rng.poisson(total)) * total)  # searching in order is much faster
        chosen = np.minimum(np.searchsorted(self.sums, events, side="right"), len(self.sums) - 1)
        if len(self.certain):
            return np.unique(np.concatenate([self.certain, chosen]))
        return chosen[np.append(True, chosen[1:] != chosen[:-1])] if len(chosen) else chosen


class AnnotationErrorSimulation:
    """Simulated ground truths: everything that the simulations of one error model have in common.

    Parameters
    ----------
    truth
        The annotated ground truth.
    counted
        Which of its objects count: neither crowds nor ignored ones.
    errors
        The error model.
    seed
        The seed of the random numbers.
    pool
        Candidates for missing objects.
    pooled_regions
        Regions of the ground truth and of the pool, and areas of the pool, where masks are compared.
    confusions
        [annotated class, true class], weights of wrong classes.
    groups
        The group of each image, where errors are correlated within such groups.
    found, favoured
        Objects that the favoured detector detects, and its index among the pool's detectors.
    known
        By kind and position whether there is an error, where an audit found out; positions are rows of the ground truth
        or, for missing objects, candidates.
    factors
        By kind of error, how many times the common rate that of each annotation is (of `rows`), and of each candidate.
    """

    def __init__(
        self,
        truth: Annotations,
        counted: NDArray[np.bool_],
        errors: Detection,
        seed: int,
        *,
        pool: CandidatePool | None = None,
        pooled_regions: tuple[Regions, Floats] | None = None,
        confusions: Floats | None = None,
        groups: Any = None,
        found: NDArray[np.bool_] | None = None,
        favoured: int | None = None,
        known: dict[tuple[str, int], bool] | None = None,
        factors: Mapping[str, Floats] | None = None,
    ) -> None:
        self.truth, self.counted, self.errors, self.seed = truth, counted, errors, seed
        self.factors = dict(factors or {})
        self.rows = sort_annotations(truth, np.flatnonzero(counted))
        self.pool, self.pooled_regions, self.groups = pool, pooled_regions, groups
        self.found, self.favoured = found, favoured
        self.confusions, self.known = confusions, known or {}

    def with_errors(self, errors: Detection, pool: CandidatePool | None = None) -> AnnotationErrorSimulation:
        """Return the simulation of another error model, or with other candidates for missing objects."""
        return AnnotationErrorSimulation(
            self.truth,
            self.counted,
            errors,
            self.seed,
            pool=self.pool if pool is None else pool,
            pooled_regions=self.pooled_regions if pool is None else None,
            confusions=self.confusions,
            groups=self.groups,
            found=self.found,
            favoured=self.favoured,
            known=self.known if pool is None else {},
            factors=self.factors if pool is None else {},
        )

    def with_factors(self, factors: Mapping[str, Floats]) -> AnnotationErrorSimulation:
        """Return the simulation with rates that differ between annotations by factors, see `factors`."""
        found = self.with_errors(self.errors)
        found.factors = dict(factors)
        return found

    @cached_property
    def active(self) -> frozenset[str]:
        """The kinds of errors that occur."""
        listed = {kind for _, _, kind, rate in self.errors.rates if rate}
        audited = {kind for kind, _ in self.known}
        return frozenset(kind for kind in ERROR_KINDS if self.errors.mean(kind) or kind in listed or kind in audited)

    @cached_property
    def transitions(self) -> LabelTransitions:
        """The classes that wrong annotations change to."""
        size = len(self.truth.labels)
        confusions = np.zeros((size, size)) if self.confusions is None else self.confusions
        return LabelTransitions.of(self.truth, self.rows, confusions)

    @cached_property
    def areas(self) -> Floats:
        """Areas of the ground-truth objects in pixels; of their boxes where the file has none."""
        area = self.truth.area
        own = np.abs(np.prod(self.truth.regions.sizes[:, 2:], axis=1))
        return own if area is None else np.where(np.isnan(area), own, area)

    @cached_property
    def relative_rates(self) -> dict[str, tuple[Floats, Floats]]:
        """By kind of error, for each annotation (and, for missing objects, each candidate behind them) two columns.

        How many times the common rate its rate is, because errors favour a detector; and the rate of its class and size
        where one is given, nan elsewhere.
        """
        rows, found = self.rows, {}
        names = {name: i for i, name in enumerate(self.truth.labels.all_names)}
        for kind in ERROR_KINDS:
            labels, areas = self.truth.label[rows], self.areas[rows]
            if kind == "missing" and self.pool is not None:
                labels = np.concatenate([labels, self.pool.label])
                areas = np.concatenate([areas, np.prod(self.pool.boxes[:, 2:], axis=1)])
            own = np.full(len(labels), np.nan)
            bounds = [AREAS[size] for size in SIZES]
            size_of = np.select([areas < high for _, high in bounds[:-1]], [0, 1], 2)
            for name, size, of, rate in self.errors.rates:
                if of != kind:
                    continue
                if name != ANY and name not in names:
                    raise DataError(f"rates: expected classes of the ground truth, found {name!r}")
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
            if kind in self.factors:
                behind = slice(len(rows), None) if kind == "missing" else slice(None)
                factor[behind] *= self.factors[kind]
            found[kind] = factor, own
        return found

    @cached_property
    def group_of(self) -> NDArray[np.int64]:
        """The number of the group of each annotation and, behind them, of each candidate for missing objects."""
        if self.errors.shared == "label":
            names = np.array(self.truth.labels.all_names)
            own, pooled = self.truth.label[self.rows], None if self.pool is None else self.pool.label
        else:
            names = np.array([self.truth.images.name(i) for i in range(len(self.truth.images))])
            names = names if self.errors.shared == "image" else np.asarray(self.groups).astype(np.str_)
            own, pooled = self.truth.image[self.rows], None if self.pool is None else self.pool.image
        every = names[own] if pooled is None else np.concatenate([names[own], names[pooled]])
        return np.unique(every, return_inverse=True)[1]

    def mean_spurious_rates(self) -> Floats:
        """Return the mean rate at which each annotation is spurious."""
        factor, own = self.relative_rates["spurious"]
        mean = np.where(np.isnan(own), self.errors.mean("spurious"), own) * factor
        return np.asarray(np.minimum(mean, 1.0))

    def rates(self, kind: str, sample: int) -> Floats:
        """Return the rate of every annotation and, for missing objects, of every candidate behind them (unscaled)."""
        errors, number = self.errors, ERROR_KINDS.index(kind)
        common = errors.sample_rate(kind, sample, generator(self.seed, sample, RATE_STREAM + KIND_STEP * number))
        factor, own = self.relative_rates[kind]
        found = np.where(np.isnan(own), common, own) * factor
        mean = errors.mean(kind)
        if errors.shared is not None and 0 < mean < 1:
            group = self.group_of if kind == "missing" else self.group_of[: len(self.rows)]
            size = (1 - errors.correlation) / errors.correlation
            rng = generator(self.seed, sample, GROUP_STREAM + KIND_STEP * number)
            by_group = rng.beta(mean * size, (1 - mean) * size, int(group.max()) + 1)
            found = found * (by_group / mean)[group]
        return np.minimum(found, 1.0)

    @cached_property
    def fixed_samplers(self) -> dict[str, BernoulliSampler]:
        """Samplers of the kinds of errors whose rates never change."""
        kinds = (kind for kind in ("spurious", "label", "jitter") if self.errors.has_fixed_rate(kind))
        return {kind: BernoulliSampler.of(self.rates(kind, 0)) for kind in kinds}

    def sample_errors(self, kind: str, sample: int, stream: int) -> NDArray[np.bool_]:
        """Return which annotations have an error of a kind, as flags; audited ones are as the audit found them."""
        fixed = self.fixed_samplers.get(kind)
        sampler = BernoulliSampler.of(self.rates(kind, sample)) if fixed is None else fixed
        flags = np.zeros(len(self.rows), dtype=np.bool_)
        flags[sampler.sample(generator(self.seed, sample, stream))] = True
        if kind in self.audited:
            at, is_wrong = self.audited[kind]
            flags[at] = is_wrong
        return flags

    @cached_property
    def audited(self) -> dict[str, tuple[Rows, NDArray[np.bool_]]]:
        """By kind of error the audited positions, among `rows` or the candidates, and whether there is an error."""
        place = np.full(len(self.truth), -1, dtype=np.int64)
        place[self.rows] = np.arange(len(self.rows))
        found = {}
        for kind in {kind for kind, _ in self.known}:
            at = np.array([position for of, position in self.known if of == kind], dtype=np.int64)
            is_wrong = np.array([value for (of, _), value in self.known.items() if of == kind], dtype=np.bool_)
            at = at if kind == "missing" else place[at]
            found[kind] = at[at >= 0], is_wrong[at >= 0]
        return found

    def sample(self, sample: int) -> tuple[Rows, Rows, Rows, Rows, Floats]:
        """Simulate one ground truth.

        Returns
        -------
        tuple
            Rows removed; rows of the object table added, and their classes; rows that get an undetected copy; displaced
            boxes (row, corners). The object table has the ground truth, then the pool; displaced boxes are behind them.
        """
        rows = self.rows
        spurious = self.sample_errors("spurious", sample, SPURIOUS_STREAM)
        relabelled = np.zeros(len(rows), dtype=np.bool_)
        if "label" in self.active:
            relabelled = self.sample_errors("label", sample, RELABEL_STREAM) & ~spurious
        moved, labels = np.zeros(0, np.int64), np.zeros(0, np.int32)
        chosen = np.flatnonzero(relabelled)
        if len(chosen):
            uniform = generator(self.seed, sample, NEW_LABEL_STREAM).random(len(chosen))
            moved, labels = self.transitions.sample(chosen, uniform)
        displaced, boxes = np.zeros(0, np.int64), np.zeros((0, 4))
        if "jitter" in self.active:
            displaced = np.flatnonzero(self.sample_errors("jitter", sample, JITTER_STREAM) & ~spurious & ~relabelled)
            normal = generator(self.seed, sample, OFFSET_STREAM).standard_normal((len(displaced), 4))
            boxes = displace_boxes(
                self.truth.regions.boxes[rows[displaced]], normal * self.errors.jitter_deviation(sample)
            )
        removed = np.concatenate([rows[spurious], rows[moved], rows[displaced]])
        detectable, undetected = self.sample_missing(sample)
        added = np.concatenate([rows[moved], len(self.truth) + detectable])
        pooled = self.pool.label[detectable] if self.pool is not None else labels[:0]
        return removed, added, np.concatenate([labels, pooled]), undetected, np.column_stack([rows[displaced], boxes])

    def sample_missing(self, sample: int) -> tuple[Rows, Rows]:
        """Return the candidates that are objects, and the annotations of which an undetected copy exists."""
        nothing = np.zeros(0, np.int64)
        if "missing" not in self.active:
            return nothing, nothing
        is_fixed = self.errors.has_fixed_rate("missing")
        detectable, undetected = self.fixed_missing_samplers if is_fixed else self.missing_samplers(sample)
        found = detectable.sample(generator(self.seed, sample, DETECTABLE_STREAM))
        if self.pool is not None and "missing" in self.audited:
            flags = np.zeros(len(self.pool), dtype=np.bool_)
            flags[found] = True
            at, is_wrong = self.audited["missing"]
            flags[at] = is_wrong
            found = np.flatnonzero(flags)
        return found, self.rows[undetected.sample(generator(self.seed, sample, UNDETECTED_STREAM))]

    @cached_property
    def fixed_missing_samplers(self) -> tuple[BernoulliSampler, BernoulliSampler]:
        """The samplers of every simulation, where rates never change."""
        return self.missing_samplers(0)

    def missing_samplers(self, sample: int) -> tuple[BernoulliSampler, BernoulliSampler]:
        """Return samplers of missing objects: candidates that some detector has, and undetected copies of annotations.

        A share `lit` of the expected number comes from the candidates, as far as these suffice.
        """
        rates = self.rates("missing", sample)[: len(self.rows)]
        scaled, wanted = self.candidate_probabilities(sample), float(rates.sum())
        share = float(scaled.sum()) / wanted if wanted else 0.0
        return BernoulliSampler.of(scaled), BernoulliSampler.of(rates * (1 - share))

    def candidate_probabilities(self, sample: int = 0) -> Floats:
        """Return the probability of each candidate to be a missing object."""
        rates, count = self.rates("missing", sample), len(self.rows)
        if self.pool is None or not len(self.pool):
            return rates[:0]
        return scale_probabilities(
            rates[count:] * self.pool.weight, self.errors.lit_share(sample) * float(rates[:count].sum())
        )

    @cached_property
    def object_table(self) -> Annotations:
        """The objects that may be added in any simulation: those of the ground truth and of the pool."""
        return self.make_object_table(np.zeros((0, 5)))

    def make_object_table(self, displaced: Floats) -> Annotations:
        """Return the objects of the ground truth and the pool, and displaced boxes (row, corners) behind them."""
        from verite.model.annotations import Annotations

        truth, pool = self.truth, self.pool
        sources = displaced[:, 0].astype(np.int64)
        old = truth.regions.sizes[sources]
        corners = displaced[:, 1:]
        growth = np.prod(corners[:, 2:] - corners[:, :2], axis=1) / np.maximum(np.prod(old[:, 2:], axis=1), 1e-300)
        pool_boxes = np.zeros((0, 4)) if pool is None else pool.boxes
        pool_image, pool_label = [np.zeros(0, np.int32)] * 2 if pool is None else [pool.image, pool.label]
        if self.pooled_regions is not None:
            regions, areas = self.pooled_regions
        else:
            # As the ground truth has them: a width is not always the difference of two corners, to the last bit.
            layout = truth.regions.kept
            if layout == "xywh":
                behind = [pool_boxes, np.column_stack([corners[:, :2], corners[:, 2:] - corners[:, :2]])]
            else:
                behind = [np.column_stack([pool_boxes[:, :2], pool_boxes[:, :2] + pool_boxes[:, 2:]]), corners]
            regions = Regions(np.concatenate([truth.regions.values, *behind]), layout)
            areas = np.prod(pool_boxes[:, 2:], axis=1)
        has_areas = truth.area is not None
        return Annotations(
            images=truth.images,
            labels=truth.labels,
            image=np.concatenate([truth.image, pool_image, truth.image[sources]]),
            label=np.concatenate([truth.label, pool_label, truth.label[sources]]),
            regions=regions,
            area=np.concatenate([self.areas, areas, self.areas[sources] * growth]) if has_areas else None,
            unit=truth.unit,
        )

    def changes(self, first: int, count: int) -> Changes:
        """Return the simulated ground truths of the numbers first … first + count - 1."""
        samples = [self.sample(first + i) for i in range(count)]
        removed, added, labels, undetected, displaced = (list(part) for part in zip(*samples, strict=True))
        table = self.object_table
        if "jitter" in self.active:
            base, table = len(table), self.make_object_table(np.concatenate(displaced))
            for i, boxes in enumerate(displaced):
                added[i] = np.concatenate([added[i], np.arange(base, base + len(boxes))])
                labels[i] = np.concatenate([labels[i], self.truth.label[boxes[:, 0].astype(np.int64)]])
                base += len(boxes)
        flat_added, added_offsets = join_lists(added)
        return Changes(
            table, *join_lists(removed), flat_added, join_lists(labels)[0], added_offsets, *join_lists(undetected)
        )


def scale_probabilities(weights: Floats, total: float) -> Floats:
    """Return probabilities in proportion to weights that add up to a total, as far as none exceeds 1.

    >>> scale_probabilities(np.array([4.0, 1.0, 1.0]), 1.5).tolist()
    [1.0, 0.25, 0.25]
    """
    positive = weights > 0
    if not positive.any() or total <= 0:
        return np.zeros(len(weights))
    factor = total / weights.sum()
    for _ in range(50):  # each round finds more that reach 1
        full = weights * factor >= 1
        rest = weights[~full].sum()
        wanted = (total - full.sum()) / rest if rest > 0 else np.inf
        if full.all() or wanted <= factor * (1 + 1e-12) or rest <= 0:
            break
        factor = wanted
    return np.asarray(np.minimum(weights * factor, 1.0))


def displace_boxes(corners: Floats, offsets: Floats) -> Floats:
    """Return boxes with displaced sides, by shares of width and height; no side passes the opposite one.

    Parameters
    ----------
    corners
        x1, y1, x2, y2 of each box.
    offsets
        Displacement of each side, in shares of width (x) and height (y).

    Returns
    -------
    Floats
        Boxes of at least a minimal width and height.
    """
    size = corners[:, 2:] - corners[:, :2]
    moved = corners + offsets * np.tile(size, 2)
    return np.column_stack([moved[:, :2], np.maximum(moved[:, 2:], moved[:, :2] + MIN_SIDE * size)])
