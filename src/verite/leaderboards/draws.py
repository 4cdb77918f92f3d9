"""Which truths may there be, given the record? Draws of what is removed, added and missing, by a model of errors.

Each draw has its own random numbers, whatever the order of files, of objects in them, or the number of draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.errors import DataError
from verite.evaluation.changes import Changes, join_lists
from verite.leaderboards.confusion import ClassMoves, find_moves
from verite.leaderboards.pool import Pool
from verite.leaderboards.resampling import generator
from verite.model.regions import Regions
from verite.protocols.coco_settings import AREAS
from verite.records import record
from verite.truth_errors.detection import ANY, KINDS, SIZES, Detection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]
    Rows = NDArray[Any]
# Streams of random numbers; 0 are images.
RATES, GONE, MOVED, TARGET, SHIFTED, SHIFT, TWIN, LIT, GROUPS = range(1, 10)
LEAST_SIDE = 1e-3  # of a moved box, as a share of what it was


@record(eq=False)
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
        return {kind: self.base_rates(kind) for kind in KINDS}

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
        return {kind: every if kind == "missing" else every[: len(rows)] for kind in KINDS}

    def rates(self, kind: str, draw: int) -> Floats:
        """The rate of every record, and for missing objects of every candidate behind them, before they are scaled."""
        errors, number = self.errors, KINDS.index(kind)
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
        return frozenset(kind for kind in KINDS if self.errors.mean(kind) or kind in listed or kind in said)

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
