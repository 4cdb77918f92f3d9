"""The input of checks: one side or a pair of sides, with anomaly counts and a sample of images.

`Side` counts anomalies of one file in one pass of the compiled core. `Pair` matches predictions with the ground truth
on a sample of images (`fit`) and draws up to 128 evenly spaced images with objects on both sides (`sample`), on which
other box formats and shifts of image ids are tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import exp, log, sqrt
from typing import TYPE_CHECKING

from verite import _core
from verite.arrays import np
from verite.checks.readings import Reading, as_read
from verite.model.annotations import Annotations
from verite.model.images import positions_in
from verite.model.layouts import Floats, to_corners
from verite.model.ragged import Ints, offsets_of
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.checks.check import SideName
    from verite.checks.evidence import Hypothesis


NATS = 12.0  # an observation is no chance if its probability is below exp(-12)


def surprise(seen: float, expected: float) -> float:
    """Return -log of the Chernoff bound on a Poisson tail: seeing so many where so few are expected, in nats."""
    return seen * log(seen / expected) - (seen - expected) if seen > expected > 0 else 0.0


def imbalance(more: int, less: int) -> float:
    """Return -log of the Chernoff bound on a binomial tail: fair coins that fall so unevenly, in nats."""
    total = more + less
    return sum(part * log(2 * part / total) for part in (more, less) if part) if more > less else 0.0


EDGE = 0.1  # share of the image's side by which a box may leave the image

MANY = 0.1  # share of images with objects that may have no prediction

FEWEST_PREDICTED = 5  # images with predictions from which the number without any is estimated

TWICE = 2.0  # times the number expected by chance: images without predictions are not independent

CLONES, FEWEST_IMAGES = 0.1, 20  # share of predictions that duplicate another one, and images, for V311

BEYOND = 0.02  # share of objects beyond the reach of all predictions, for V117

CROWDS, FEWEST_CROWDS = 0.1, 20  # share and number of crowds, for V224; COCO has 1 %

FEWEST_SHAPES = 5  # polygons or masks before their order is compared with boxes

FEWEST_FRAMES = 5  # predicted images before an offset of their ids beyond one is tried

FEWEST_FRACTIONS = 3  # boxes in fractions, for V116

FEWEST_GAINED, GAINED = 6, 0.02  # objects, and their share, matched in another layout before images are looked at

FEWEST_JUDGED = 20  # true positives, and false positives, before their confidences are compared

REVERSED, SIGMAS = 0.4, 6.0  # AUC of the confidence below which it is reversed, and standard errors below 0.5


MASK_FORMATS = ("mask-pictures", "voc-segmentation", "cityscapes")

# Formats whose boxes are left, top, width, height by convention, which not every file follows.
UNSURE_FORMATS = {"text", "coco", "coco-folder", "coco-results", "results-object", "json-lines", "table", "parquet"}


@dataclass(frozen=True)
class Tally:
    """The number of objects with an anomaly, and the rows of the first few."""

    count: int
    rows: tuple[int, ...]


def fold(name: str) -> str:
    """Normalise a class name: case folded, white space collapsed."""
    return " ".join(name.casefold().split())


@dataclass(eq=False)
class Side:
    """Ground truth or predictions, with the counts of anomalies that decide which checks run."""

    annotations: Annotations
    is_truth: bool

    @property
    def name(self) -> SideName:
        """The side as messages and options name it."""
        return "truth" if self.is_truth else "pred"

    def __len__(self) -> int:
        return len(self.annotations)

    @cached_property
    def anomalies(self) -> dict[str, Tally]:
        """Count objects with each anomaly, by name: boxes outside, zero sizes, duplicates, missing confidences ..."""
        side = self.annotations
        is_relative = side.unit == "rel"
        found = _core.count_anomalies(side.columns, side.images.table, self.is_truth, is_relative, thread_count())
        counted = {name: Tally(count, tuple(rows)) for name, (count, rows) in found.items()}
        crowds, fractions, none = counted["crowd"], counted["fractions"], Tally(0, ())
        counted["crowd"] = crowds if crowds.count >= max(FEWEST_CROWDS, CROWDS * len(side)) else none
        counted["fractions"] = fractions if fractions.count >= FEWEST_FRACTIONS else none
        names = [fold(name) for name in side.labels.all_names] if self.is_truth else []
        of_side = {
            "flaws": len(side.source.flaws),
            "poses": self.count_odd_poses() if side.columns.regions.has_keypoints else 0,
            "shapes": 0 if side.columns.regions.has_only_boxes or len(side) < FEWEST_SHAPES else len(side),
            "tracks": len(side) if side.columns.track is not None else 0,
            "annotators": int(side.source.annotators is not None),
            "alike_names": len(names) - len(set(names)),
        }
        return counted | {name: Tally(count, ()) for name, count in of_side.items()}

    def count_odd_poses(self) -> int:
        """Count anomalies of keypoints; predicted keypoints may lie outside in up to 10 % of the objects."""
        side = self.annotations
        *others, outside, unlabelled = _core.pose_faults(
            side.columns, side.images.table, self.is_truth, side.unit == "rel", thread_count()
        )
        return sum(others) + unlabelled + (outside if self.is_truth or outside > MANY * len(self) else 0)

    def tally(self, anomaly: str) -> Tally:
        """Return the number of objects with an anomaly, and the first rows."""
        return self.anomalies[anomaly]

    def count(self, anomaly: str) -> int:
        """Return the number of objects with an anomaly."""
        return self.anomalies[anomaly].count


@dataclass(eq=False)
class Pair:
    """Predictions aligned with their ground truth, with the counts that decide which checks run."""

    truth: Annotations
    pred: Annotations

    @cached_property
    def fit(self) -> _core.SampleFit:
        """Match predictions with the ground truth on a sample of images: numbers of duplicates, TP, FP, images ..."""
        return _core.sample_fit(self.truth.columns, self.pred.columns, len(self.pred.images))

    @cached_property
    def anomalies(self) -> dict[str, int]:
        """Count possible mistakes between the sides, by name; zero rules the checks out that name it."""
        truth, pred, fit = self.truth, self.pred, self.fit
        objects, unpredicted = len(pred), fit.unpredicted[0]
        unknown_labels = len(pred.labels) - len(truth.labels)  # aligned predictions have these after the known ones
        expected = self.expected_unpredicted
        is_rare = (
            unpredicted <= max(MANY * fit.images_with_objects, TWICE * expected)
            or surprise(unpredicted, expected) < NATS
        )
        # A tenth of the sampled predictions duplicate one of higher confidence: NMS may have been skipped.
        duplicates = fit.unsuppressed if fit.images_with_objects >= FEWEST_IMAGES else 0
        # Objects that match precisely in another layout, and not as read: enough of them to look at single images.
        most_gained = max(fit.gained.values())
        # Objects beyond the reach of all predictions (V117): of a share q there, n predictions stay before it by chance
        # with probability (1 - q)^n. A share above 0.9 counts as 0.9, so that some predictions are needed.
        beyond = fit.beyond_reach / max(fit.objects, 1)
        is_unreached = fit.beyond_reach >= FEWEST_GAINED and beyond >= BEYOND
        is_unreached = is_unreached and -objects * log(max(0.1, 1 - beyond)) >= NATS
        is_exchanged = truth.columns.has_confidence and not pred.columns.has_confidence
        has_poses = truth.columns.regions.has_keypoints and pred.columns.regions.has_keypoints
        return {
            "misfit": not fit.is_good or not truth.unit == pred.unit == "px",
            "shapes": not fit.is_good and objects >= FEWEST_SHAPES and not pred.columns.regions.has_only_boxes,
            "both_by_default": are_read_by_default(truth, pred),
            "mask_images": truth.source.format in MASK_FORMATS and pred.source.format in MASK_FORMATS,
            "unknown_images": len(pred.images) - len(truth.images),
            "unknown_labels": unknown_labels,
            "alike_names": unknown_labels,
            "exchanges": len(fit.exchanges),
            "unpredicted": unpredicted,
            "many_unpredicted": 0 if is_rare or not objects else unpredicted,
            "empty": len(truth) > 0 and not objects,
            "exchanged": is_exchanged and objects > 0,
            "both_confident": truth.columns.has_confidence and pred.columns.has_confidence and len(truth) > 0,
            "clones": duplicates if duplicates >= max(1, CLONES * fit.looked_at) else 0,
            "mixed": most_gained >= max(FEWEST_GAINED, GAINED * (most_gained + fit.found)),
            "unreached": fit.beyond_reach if is_unreached else 0,
            "single": fit.most_in_image == 1 and fit.images_predicted >= FEWEST_IMAGES,
            "reversed": is_reversed(fit.true_positives, fit.false_positives, fit.u_statistic),
            "mirrored": self.mirrored[1] if has_poses else 0,
            "tracks": truth.columns.track is not None and pred.columns.track is not None,
            "rotated": truth.source.has_angles or pred.source.has_angles,
        }

    @cached_property
    def expected_unpredicted(self) -> float:
        """The number of images with objects expected to have no prediction.

        Estimated from the predictions of the images that have some. Where these are fewer than five, not below what as
        many predictions spread over all images at random leave: two each in three images say nothing about the others.
        """
        asked, expected = self.fit.images_with_objects, float(self.fit.expected)
        if asked - self.fit.unpredicted[0] >= FEWEST_PREDICTED:
            return expected
        return max(expected, asked * exp(-len(self.pred) / asked)) if asked else expected

    @cached_property
    def mirrored(self) -> tuple[int, int]:
        """The number of poses compared, and of those that fit better with left and right keypoints swapped."""
        from verite.model.keypoints import mirrors_of

        counts = self.truth.columns.count_keypoints(len(self.truth.labels))
        others = mirrors_of(self.truth.labels.skeletons, counts)
        return _core.mirrored_poses(self.truth.columns, self.pred.columns, len(self.pred.images), others)

    def count(self, anomaly: str) -> int:
        """Return the count of a possible mistake."""
        return int(self.anomalies[anomaly])

    @cached_property
    def sample(self) -> Sample | None:
        """A sample of images with objects on both sides; None if there is none."""
        return sample_images(self.truth, self.pred)

    @cached_property
    def explanations(self) -> tuple[Hypothesis | None, Hypothesis | None]:
        """The box format as read, and another one under which far more objects match, if there is one."""
        from verite.checks.misread_boxes import weigh_readings

        return weigh_readings(self.sample) if self.sample else (None, None)


def are_read_by_default(truth: Annotations, pred: Annotations) -> bool:
    """Whether both sides are read as left, top, width, height by default, so that both may be misread in the same way.

    Where image sizes are known, boxes outside of them show it (V114).
    """
    formats = {side.source.format for side in (truth, pred)}
    if not formats <= UNSURE_FORMATS or truth.source.layout or pred.source.layout:
        return False
    return formats == {"text"} or not truth.images.sized


def is_reversed(true_positives: int, false_positives: int, u_statistic: float) -> bool:
    """Whether false positives have higher confidences than true positives, by the Mann-Whitney U test.

    The U statistic is the number of pairs of a true and a false positive in which the true positive has the higher
    confidence, ties counted half.
    """
    pairs = true_positives * false_positives
    if min(true_positives, false_positives) < FEWEST_JUDGED or u_statistic >= REVERSED * pairs:
        return False
    return pairs / 2 - u_statistic >= SIGMAS * sqrt(pairs * (true_positives + false_positives + 1) / 12)


IMAGES = 128

PER_IMAGE = 100


@dataclass(frozen=True, eq=False)
class SampledObjects:
    """Objects of the sampled images, image by image, by descending confidence."""

    rows: Ints  # rows of the annotations
    cells: Ints  # image i has the objects cells[i] .. cells[i + 1]
    sizes: Floats  # width and height of each object's image; ones where coordinates are relative, zeros if unknown
    numbers: Floats  # the four numbers of each box as the file has them
    reading: Reading  # the box format as read

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def counts(self) -> Ints:
        """The number of objects of each image."""
        return np.diff(self.cells)

    @cached_property
    def image(self) -> Ints:
        """The index of each object's image in the sample."""
        return np.repeat(np.arange(self.images), self.counts)

    @property
    def images(self) -> int:
        """The number of sampled images."""
        return len(self.cells) - 1

    @property
    def image_sizes(self) -> Floats:
        """Width and height of each image, [image, 2]; every image must have an object."""
        return self.sizes[self.cells[:-1]]

    @property
    def is_sized(self) -> bool:
        """Whether all image sizes are known."""
        return bool(np.all(self.sizes > 0))

    def corners(self, reading: Reading | None = None) -> Floats:
        """Return the boxes as corners in pixels under a box format, by default as read."""
        return (reading or self.reading).corners(self.numbers, self.sizes)

    def first(self, counts: Ints) -> SampledObjects:
        """Keep at most so many objects of each image, those of highest confidence."""
        rank = np.arange(len(self)) - np.repeat(self.cells[:-1], self.counts)
        kept = np.flatnonzero(rank < counts[self.image])
        cells = offsets_of(np.minimum(self.counts, counts))
        return SampledObjects(self.rows[kept], cells, self.sizes[kept], self.numbers[kept], self.reading)

    def turn(self, turn: int) -> SampledObjects:
        """Rotate objects between images: those of image i + turn replace those of image i."""
        rows = np.roll(np.arange(len(self)), -self.cells[turn])
        cells = offsets_of(np.roll(self.counts, -turn))
        return SampledObjects(self.rows[rows], cells, self.sizes[rows], self.numbers[rows], self.reading)


class ByShift(dict[int, SampledObjects]):
    """Predictions by the shift of their image ids, grouped on first use."""

    def __init__(self, group: Callable[[int], SampledObjects]) -> None:
        self.group = group

    def __missing__(self, shift: int) -> SampledObjects:
        self[shift] = self.group(shift)
        return self[shift]


@dataclass(frozen=True, eq=False)
class Sample:
    """Sampled images with objects on both sides, under at least one of the shifts of the predictions' image ids."""

    truth: SampledObjects
    preds: dict[int, SampledObjects]
    shifts: tuple[int, ...] = (0,)

    @property
    def pred(self) -> SampledObjects:
        """The predictions without a shift."""
        return self.preds[0]


def speaks_by_id(pred: Annotations, what: str) -> bool:
    """Whether predictions refer to `images` or `labels` by number; whole documents and folders use names."""
    return what in pred.source.by_number or not pred.source.format


def sample_images(truth: Annotations, pred: Annotations, most: int = IMAGES) -> Sample | None:
    """Sample at most so many evenly spaced images; None if no image has objects on both sides under any shift."""
    usable, usable_preds = usable_rows(truth), usable_rows(pred)
    has_truth, has_pred = mark_images(truth, usable), mark_images(pred, usable_preds)
    shifts = (0, -1, 1, *likely_offsets(truth, pred))
    partner = {shift: partners(truth, pred, shift) for shift in shifts}
    has_both = {s: has_truth & (positions >= 0) & has_pred[positions] for s, positions in partner.items()}
    candidates = np.flatnonzero(np.any(list(has_both.values()), axis=0))
    if not len(candidates):
        return None
    spaced = np.linspace(0, len(candidates) - 1, min(most, len(candidates))).astype(np.int64)
    chosen = candidates[spaced[np.append(True, spaced[1:] > spaced[:-1])]]
    group = group_objects(truth, chosen, usable)
    preds = ByShift(lambda shift: group_objects(pred, partner[shift][chosen], usable_preds, group.image_sizes))
    return Sample(group, preds, tuple(shift for shift in partner if shift == 0 or has_both[shift].any()))


def likely_offsets(truth: Annotations, pred: Annotations) -> list[int]:
    """Return numbers, beyond ±1, that added to all image ids of the predictions make every image known.

    Frames of a video that are counted from another number look so. The offsets are those that bring the first or the
    last predicted image onto the first or last of the ground truth; the IoU decides whether one of them is right.
    """
    ids, known = pred.images.ids, len(truth.images)
    if ids is None or not known or len(ids) == known or not speaks_by_id(pred, "images"):
        return []
    theirs, used = ids[:known], ids[_core.mark_used(pred.image, len(ids))]
    if len(used) < FEWEST_FRAMES:
        return []
    offsets = {int(theirs.min()) - int(used.min()), int(theirs.max()) - int(used.max())} - {-1, 0, 1}
    return [offset for offset in sorted(offsets) if np.isin(used + offset, theirs).all()]


def usable_rows(side: Annotations) -> NDArray[np.bool_] | None:
    """Mark objects that are no crowds and have finite boxes; None if all are usable."""
    is_usable, is_finite = ~side.crowd, np.isfinite(side.regions.values)
    if not is_finite.all():
        is_usable &= is_finite.all(axis=1)
    return None if is_usable.all() else np.asarray(is_usable)


def mark_images(side: Annotations, usable: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Mark images with a usable object."""
    return _core.mark_used(side.image if usable is None else side.image[usable], len(side.images))


def partners(truth: Annotations, pred: Annotations, shift: int) -> NDArray[np.int64]:
    """Return for each ground-truth image the predictions' image of the same id after the shift, or -1.

    Parameters
    ----------
    truth
        Ground truth.
    pred
        Predictions aligned with it.
    shift
        What is added to the image ids of the predictions, 1 if they were counted from 0.
    """
    ids, known = pred.images.ids, len(truth.images)
    if shift == 0:
        return np.arange(known)
    if ids is None or not speaks_by_id(pred, "images"):
        return np.full(known, -1)
    return positions_in(ids, ids[:known] - shift).astype(np.int64)


def group_objects(
    side: Annotations, images: NDArray[np.int64], usable: NDArray[np.bool_] | None, sizes: Floats | None = None
) -> SampledObjects:
    """Group the objects of these images (-1 for none), at most PER_IMAGE per image, by descending confidence."""
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
