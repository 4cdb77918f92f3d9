"""A few images with their truths and predictions: enough to judge by, few enough to be quick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.checks.readings import Reading, as_read
from verite.model.annotations import Annotations
from verite.model.images import positions_in
from verite.model.layouts import Floats, to_corners
from verite.model.ragged import Ints, offsets_of
from verite.model.rotated_boxes import has_angles
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.checks.check import SideName
    from verite.checks.evidence import Hypothesis


NATS = 12.0  # chance must be less likely than e^-12


def surprise(seen: float, expected: float) -> float:
    """How unlikely it is to see so many where so few are expected, in nats (Chernoff's bound on a Poisson tail)."""
    return seen * log(seen / expected) - (seen - expected) if seen > expected > 0 else 0.0


def imbalance(more: int, less: int) -> float:
    """How unlikely it is that fair coins fall so unevenly, in nats (Chernoff's bound on a binomial tail)."""
    total = more + less
    return sum(part * log(2 * part / total) for part in (more, less) if part) if more > less else 0.0


EDGE = 0.1  # of an image's side: what leaves the image by more is outside

MANY = 0.1  # share of the images with objects that may be without predictions

TWICE = 2.0  # times as many as chance would leave without: hard images are without predictions together

CLONES, FEWEST_IMAGES = 0.5, 20  # share of the predictions that surer ones make superfluous; in so many images or more

FEWEST_JUDGED = 20  # predictions that are right, and wrong, before their confidences are compared

REVERSED, SIGMAS = 0.4, 6.0  # share of pairs in which right is surer than wrong; how far from half, beyond chance


MASK_FORMATS = ("mask-pictures", "voc-segmentation", "cityscapes")

# Formats whose boxes are left, top, width and height by convention, which not every file keeps to.
UNSURE_FORMATS = {"text", "coco", "coco-results", "results-object", "json-lines", "table", "parquet"}


@dataclass(frozen=True)
class Tally:
    """How many, and the first few of them."""

    count: int
    rows: tuple[int, ...]


class Side:
    """Truths or predictions."""

    def __init__(self, annotations: Annotations, *, is_truth: bool) -> None:
        self.annotations, self.is_truth = annotations, is_truth

    @property
    def name(self) -> SideName:
        return "truth" if self.is_truth else "pred"

    def __len__(self) -> int:
        return len(self.annotations)

    @cached_property
    def census(self) -> dict[str, Tally]:
        """How many objects have each kind of fault, by name."""
        side = self.annotations
        is_relative = side.unit == "rel"
        counted = tallies(
            _core.count_anomalies(side.columns, side.images.table, self.is_truth, is_relative, thread_count())
        )
        return {**counted, "flaws": Tally(len(side.source.flaws), ()), "poses": Tally(self.odd_poses, ())}

    @property
    def odd_poses(self) -> int:
        """How many faults keypoints have."""
        side = self.annotations
        if not side.columns.regions.has_keypoints:
            return 0
        *others, outside, unlabelled = _core.pose_faults(
            side.columns, side.images.table, self.is_truth, side.unit == "rel", thread_count()
        )
        return sum(others) + unlabelled + (outside if self.is_truth or outside > MANY * len(self) else 0)

    def tally(self, fault: str) -> Tally:
        return self.census[fault]

    def count(self, fault: str) -> int:
        return self.census[fault].count


class Pair:
    """Predictions that are aligned with their truth."""

    def __init__(self, truth: Annotations, pred: Annotations) -> None:
        self.truth, self.pred = truth, pred

    @cached_property
    def fit(self) -> dict[str, Any]:
        """How predictions fit in a sample of the images, in plain numbers."""
        return _core.sample_fit(self.truth.columns, self.pred.columns, len(self.pred.images))

    @cached_property
    def faults(self) -> dict[str, int]:
        """What may be wrong, by name; zero where it is not."""
        truth, pred, fit = self.truth, self.pred, self.fit
        (_, truth_labels, truth_images), (objects, labels, images) = truth.counts, pred.counts
        unpredicted = fit["unpredicted"][0]
        least = max(MANY * fit["asked"], TWICE * fit["expected"])
        is_rare = unpredicted <= least or surprise(unpredicted, fit["expected"]) < NATS
        is_exchanged = truth.columns.has_confidence and not pred.columns.has_confidence
        has_poses = truth.columns.regions.has_keypoints and pred.columns.regions.has_keypoints
        return {
            "misfit": not fit["is_good"] or not truth.unit == pred.unit == "px",
            "both_by_default": are_read_by_default(truth, pred),
            "mask_images": truth.source.format in MASK_FORMATS and pred.source.format in MASK_FORMATS,
            "unknown_images": images - truth_images,
            "unknown_labels": labels - truth_labels,
            "exchanges": len(fit["exchanges"]),
            "unpredicted": unpredicted,
            "many_unpredicted": 0 if is_rare or not objects else unpredicted,
            "empty": len(truth) > 0 and not objects,
            "exchanged": is_exchanged and objects > 0,
            "both_confident": truth.columns.has_confidence and pred.columns.has_confidence and len(truth) > 0,
            "clones": fit["clones"] if are_unsuppressed(fit) else 0,
            "reversed": is_reversed(fit["right"], fit["wrong"], fit["surer"]),
            "mirrored": self.mirrored[1] if has_poses else 0,
            "rotated": has_angles(truth) or has_angles(pred),
        }

    @cached_property
    def mirrored(self) -> tuple[int, int]:
        """Of how many poses, and in how many of them, left and right fit when they change places."""
        from verite.model.keypoints import mirrors_of

        counts = self.truth.columns.count_keypoints(len(self.truth.labels))
        others = mirrors_of(self.truth.labels.skeletons, counts)
        return _core.mirrored_poses(self.truth.columns, self.pred.columns, len(self.pred.images), others)

    def count(self, fault: str) -> int:
        return int(self.faults[fault])

    @cached_property
    def sample(self) -> Sample | None:

        return draw(self.truth, self.pred)

    @cached_property
    def explanations(self) -> tuple[Hypothesis | None, Hypothesis | None]:
        """The files as read, and what explains far more than that, if anything does."""
        from verite.checks.misread_boxes import weigh_readings

        return weigh_readings(self.sample) if self.sample else (None, None)


def are_read_by_default(truth: Annotations, pred: Annotations) -> bool:
    """Are the four numbers of both sides read as left, top, width and height by default, so that both may be wrong in
    the same way? Where the size of images is known, boxes that leave them show it (V114).
    """
    formats = {side.source.format for side in (truth, pred)}
    if not formats <= UNSURE_FORMATS or truth.source.layout or pred.source.layout:
        return False
    return formats == {"text"} or not truth.images.sized


def tallies(found: dict[str, tuple[int, list[int]]]) -> dict[str, Tally]:
    return {name: Tally(count, tuple(rows)) for name, (count, rows) in found.items()}


def are_unsuppressed(fit: dict[str, Any]) -> bool:
    """Do most predictions lie on surer ones, in more images than chance could fill so?"""
    return fit["asked"] >= FEWEST_IMAGES and fit["clones"] >= max(1, CLONES * fit["looked_at"])  # type: ignore[no-any-return]


def is_reversed(right: int, wrong: int, surer: float) -> bool:
    """Are wrong predictions surer than right ones, by far more than chance? (Mann and Whitney's test.)"""
    if min(right, wrong) < FEWEST_JUDGED or surer >= REVERSED * right * wrong:
        return False
    return right * wrong / 2 - surer >= SIGMAS * sqrt(right * wrong * (right + wrong + 1) / 12)


IMAGES = 128

PER_IMAGE = 100


@dataclass(frozen=True, eq=False)
class SampledObjects:
    """Objects of the sampled images, image by image, the most confident first."""

    rows: Ints  # which objects of the annotations
    cells: Ints  # image i has the objects cells[i] .. cells[i + 1]
    sizes: Floats  # width and height of each object's image; ones where coordinates are relative, zeros if unknown
    numbers: Floats  # the four numbers as the file has them
    reading: Reading  # as which they were read

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def counts(self) -> Ints:
        return np.diff(self.cells)

    @cached_property
    def image(self) -> Ints:
        """Which image of the sample each object is in."""
        return np.repeat(np.arange(self.images), self.counts)

    @property
    def images(self) -> int:
        return len(self.cells) - 1

    @property
    def image_sizes(self) -> Floats:
        """Of each image; it must have an object."""
        return self.sizes[self.cells[:-1]]

    @property
    def is_sized(self) -> bool:
        return bool(np.all(self.sizes > 0))

    def corners(self, reading: Reading | None = None) -> Floats:
        """The boxes under a reading, as read if none is given."""
        return (reading or self.reading).corners(self.numbers, self.sizes)

    def first(self, counts: Ints) -> SampledObjects:
        """At most so many objects of each image, the most confident."""
        rank = np.arange(len(self)) - np.repeat(self.cells[:-1], self.counts)
        kept = np.flatnonzero(rank < counts[self.image])
        cells = offsets_of(np.minimum(self.counts, counts))
        return SampledObjects(self.rows[kept], cells, self.sizes[kept], self.numbers[kept], self.reading)

    def turn(self, turn: int) -> SampledObjects:
        """The same objects, those of image i + turn in place of those of image i."""
        rows = np.roll(np.arange(len(self)), -self.cells[turn])
        cells = offsets_of(np.roll(self.counts, -turn))
        return SampledObjects(self.rows[rows], cells, self.sizes[rows], self.numbers[rows], self.reading)


class ByShift(dict[int, SampledObjects]):
    """Predictions by the number added to their image ids, grouped when they are first asked for."""

    def __init__(self, group: Callable[[int], SampledObjects]) -> None:
        self.group = group

    def __missing__(self, shift: int) -> SampledObjects:
        self[shift] = self.group(shift)
        return self[shift]


@dataclass(frozen=True, eq=False)
class Sample:
    """Images in which both sides have objects, under one of these shifts of the predictions' image ids at least."""

    truth: SampledObjects
    preds: dict[int, SampledObjects]
    shifts: tuple[int, ...] = (0,)

    @property
    def pred(self) -> SampledObjects:
        return self.preds[0]


def speaks_by_id(pred: Annotations, what: str) -> bool:
    """Do the predictions name `images` or `labels` by number? (Whole documents and folders name them by name.)"""
    return what in pred.source.by_number or not pred.source.format


def draw(truth: Annotations, pred: Annotations) -> Sample | None:
    """Evenly spaced images; None if there is no image with objects of both sides under any shift."""
    usable, usable_preds = usable_rows(truth), usable_rows(pred)
    has_truth, has_pred = mark_images(truth, usable), mark_images(pred, usable_preds)
    partner = {shift: partners(truth, pred, shift) for shift in (0, -1, 1)}
    has_both = {s: has_truth & (positions >= 0) & has_pred[positions] for s, positions in partner.items()}
    candidates = np.flatnonzero(np.any(list(has_both.values()), axis=0))
    if not len(candidates):
        return None
    spaced = np.linspace(0, len(candidates) - 1, min(IMAGES, len(candidates))).astype(np.int64)
    chosen = candidates[spaced[np.append(True, spaced[1:] > spaced[:-1])]]
    group = group_objects(truth, chosen, usable)
    preds = ByShift(lambda shift: group_objects(pred, partner[shift][chosen], usable_preds, group.image_sizes))
    return Sample(group, preds, tuple(shift for shift in partner if shift == 0 or has_both[shift].any()))


def usable_rows(side: Annotations) -> NDArray[np.bool_] | None:
    """Objects that say something: no crowds, and finite boxes. None: all of them."""
    is_usable = np.isfinite(side.regions.values).all(axis=1) & ~side.crowd
    return None if is_usable.all() else np.asarray(is_usable)


def mark_images(side: Annotations, usable: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Which images have such an object."""
    return _core.mark_used(side.image if usable is None else side.image[usable], len(side.images))


def partners(truth: Annotations, pred: Annotations, shift: int) -> NDArray[np.int64]:
    """For each image of the truth the predictions' image that it is when `shift` is added to their ids, or -1."""
    ids, known = pred.images.ids, len(truth.images)
    if shift == 0:
        return np.arange(known)
    if ids is None or not speaks_by_id(pred, "images"):
        return np.full(known, -1)
    return positions_in(ids, ids[:known] - shift).astype(np.int64)


def group_objects(
    side: Annotations, images: NDArray[np.int64], usable: NDArray[np.bool_] | None, sizes: Floats | None = None
) -> SampledObjects:
    """The objects of these images (-1: none), at most PER_IMAGE of each."""
    cell_of = np.full(len(side.images), -1, dtype=np.int32)
    cell_of[images[images >= 0]] = np.flatnonzero(images >= 0)
    rows = _core.rows_at(side.image, cell_of >= 0)
    if usable is not None:
        rows = rows[usable[rows]]
    cell = cell_of[side.image[rows]]
    keys = (cell,) if side.confidence is None else (-side.confidence[rows], cell)
    order = np.lexsort(keys)
    rows, cell = rows[order], cell[order]
    counts = np.bincount(cell, minlength=len(images))
    rank = np.arange(len(rows)) - np.repeat(offsets_of(counts)[:-1], counts)
    kept = rank < PER_IMAGE
    rows, cell = rows[kept], cell[kept]
    if sizes is None:
        tables = side.images.widths[images], side.images.heights[images]
        sizes = np.ones((len(images), 2)) if side.unit == "rel" else np.stack(tables, axis=1).astype(np.float64)
    reading = as_read(side)
    boxes = to_corners(side.regions.values[rows], side.regions.kept)
    if reading.measure == "rel" and not np.all(sizes > 0):
        reading = Reading(reading.layout)
    numbers = reading.numbers(boxes, sizes[cell])
    return SampledObjects(rows, offsets_of(np.minimum(counts, PER_IMAGE)), sizes[cell], numbers, reading)
