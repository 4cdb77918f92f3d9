"""The four steps of the interpretation score, for many scenes at once: match, judge each match, compensate, average.

Everything is a column over the pairs of objects that overlap; nothing here knows of pixels or files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import IS_COMMAND_LINE, BadParameter, DataError, did_you_mean, give_sizes
from verite.evaluation.evaluation import box_candidates
from verite.evaluation.settings import ComparisonSettings
from verite.metrics.catalogue import metric
from verite.metrics.metric import Metric, make_record
from verite.metrics.region import ratio
from verite.model.annotations import Annotations
from verite.model.images import known_images
from verite.model.rasters import frames_of
from verite.model.regions import MASK, POLYGON, Regions
from verite.pairs import Array, Pairs
from verite.pairs.objects import pairs_of, shapes_of_side, uses_boxes
from verite.settings import Choice, FileOrContent, Flag, Number, Option, Setting

if TYPE_CHECKING:
    from verite.metrics.metric import Metric
    from verite.scene.class_distances import ClassDistances

    Distance: TypeAlias = ClassDistances | str | PathLike[str] | Mapping[str, Mapping[str, float]] | None


Matching = Literal["multiple", "one-to-one"]

ALPHA = 0.8


class InterpretSettings(ComparisonSettings):
    matching: Option[Matching] = Choice(
        "multiple", "Any number of objects with any other, or the best assignment.", Matching
    )
    iou: Option[float | None] = Number(
        None,
        "Overlap from which two objects may match.",
        least=0,
        most=1,
        short="-t",
        default_text="0.2; one-to-one: any overlap",
    )
    alpha: Option[float] = Number(ALPHA, "Weight of localization; recognition has the rest.", least=0, most=1)
    localization: Option[str | Metric] = Setting(
        "martin", "The paper's measure, or a metric of the catalogue from 0 to 1.", metavar="METRIC"
    )
    distance: Option[Distance] = FileOrContent(
        None, "A matrix of class distances (.csv), a taxonomy (.json, indented .txt), or voc.", metavar="FILE|voc"
    )
    certain: Option[bool] = Flag(False, "Take every prediction as certain.")


CITE = "Hemery, Laurent, Emile, Rosenberger, Évaluation d'un résultat d'interprétation d'images, eq. 6"


def martin(p: Pairs) -> Array:
    """Share of either region outside the other, whichever is less: 0 where one contains the other.

    min(|T \\ P| / |T|, |P \\ T| / |P|)

    >>> PAPER.values(Pairs.of([[0, 0, 4, 4]], [[2, 0, 4, 4], [3, 0, 9, 4]]))
    array([0.  , 0.75])
    """
    return np.minimum(
        ratio(p.truth_area - p.shared_area, p.truth_area), ratio(p.pred_area - p.shared_area, p.pred_area)
    )


PAPER = Metric(make_record(martin, on="region", bounds=(0, 1), best=0, symmetric=True, cite=CITE, name="martin"), {})


def localization_metric(name: str | Metric) -> Metric:
    """The metric of this name, if a scene can be scored with it."""
    chosen = PAPER if isinstance(name, str) and name == "martin" else metric(name)
    if chosen.bounds != (0, 1) or chosen.best not in (0, 1):
        low, high = chosen.bounds
        raise BadParameter(
            f"localization: expected a metric from 0 to 1 with its best at one end, such as martin, iou or gce, "
            f"found {chosen.name} from {low:g} to {high:g}"
        )
    return chosen


def localization_score(chosen: Metric, pairs: Pairs) -> Array:
    """Its values with 0 as the best."""
    values = chosen.values(pairs)
    # Areas of boxes are rounded, so that a difference of equal ones may miss 0 by a hair.
    return np.clip(1 - values if chosen.best == 1 else values, 0.0, 1.0)


Floats = NDArray[np.float64]

Ints = NDArray[np.int64]


def find_overlaps(truth: Annotations, pred: Annotations, settings: ComparisonSettings) -> tuple[Ints, Ints, Pairs]:
    """Truths and preds of one image that may share something, whatever their labels, and the regions in pairs."""
    pixel = 1.0 if settings.pixel == "plus1" else 0.0
    found = box_candidates(outer_boxes(truth), outer_boxes(pred), pixel=pixel, class_agnostic=True)
    truths = found.truth.astype(np.int64)
    return truths, found.pred, shared_pairs(truth, pred, truths, found.pred, settings)


def outer_boxes(side: Annotations) -> Annotations:
    """Every object as a box around all that it may be compared by, and as sure as any other."""
    return replace(side, regions=Regions(reach(side)), confidence=None, area=None)


def reach(side: Annotations) -> Floats:
    """A box around everything that an object may be compared by: its box, its polygon, its mask."""
    regions = side.regions
    if regions.has_only_boxes:
        return regions.boxes
    boxes = np.array(regions.boxes)
    for kind, outer in ((POLYGON, around_polygons), (MASK, around_masks)):
        rows = np.flatnonzero(regions.kinds == kind)
        if len(rows):
            found = outer(side, rows)
            boxes[rows, :2] = np.minimum(boxes[rows, :2], found[:, :2])
            boxes[rows, 2:] = np.maximum(boxes[rows, 2:], found[:, 2:])
    return boxes


def around_polygons(side: Annotations, rows: Ints) -> Floats:
    """Boxes around the points, and a pixel more: the rule that draws them rounds."""
    assert side.regions.polygons is not None
    polygons = side.regions.polygons.take(rows)
    starts = polygons.rings[polygons.objects[:-1]]
    return np.hstack(
        [np.minimum.reduceat(polygons.points, starts) - 1, np.maximum.reduceat(polygons.points, starts) + 1]
    )


def around_masks(side: Annotations, rows: Ints) -> Floats:
    assert side.regions.runs is not None
    return frames_of(side.regions.runs.take(rows))


def shared_pairs(
    truth: Annotations, pred: Annotations, truths: Ints, preds: Ints, settings: ComparisonSettings
) -> Pairs:
    """The same as `pairs_of`, every object drawn once however many others it meets."""
    as_boxes = uses_boxes(truth, pred, truths, preds, settings.regions)
    check_sized(truth, pred, truths, preds, as_boxes)
    if as_boxes.any() and not as_boxes.all():
        return pairs_of(truth, pred, truths, preds, settings)
    known = known_images(truth, pred)
    sizes = np.stack([known.widths, known.heights], axis=1)
    sides = []
    for side, rows in ((truth, truths), (pred, preds)):
        asked, place = np.unique(rows, return_inverse=True)
        shapes = shapes_of_side(side, asked, np.full(len(asked), bool(as_boxes.all())), settings)
        sides.append((shapes, place.astype(np.int64)))
    (mine, mine_rows), (theirs, their_rows) = sides
    size = sizes[truth.image[truths]].reshape(-1, 2)
    return Pairs.from_shapes(mine, theirs, mine_rows, their_rows, size=size, polygons=settings.polygons)


def check_sized(truth: Annotations, pred: Annotations, truths: Ints, preds: Ints, as_boxes: NDArray[np.bool_]) -> None:
    """Polygons, and boxes beside polygons, become pixels only in an image of known size; a mask brings its own."""
    mine, theirs = truth.regions.kinds[truths], pred.regions.kinds[preds]
    drawn = ~as_boxes & ((mine == POLYGON) | (theirs == POLYGON)) & (mine != MASK) & (theirs != MASK)
    known = known_images(truth, pred)
    images = truth.image[truths]
    unsized = np.flatnonzero(drawn & ((known.widths[images] <= 0) | (known.heights[images] <= 0)))
    if len(unsized):
        name = known.name(int(images[unsized[0]]))
        boxes = "--regions box" if IS_COMMAND_LINE.get() else 'regions="box"'
        raise DataError(
            f"{truth.source.path or 'truth'}: expected the size of every image to compare polygons, found none for "
            f"{name!r}; {give_sizes()}, or compare boxes with {boxes}"
        )


Bools = NDArray[np.bool_]

MATCHINGS = ("multiple", "one-to-one")

THRESHOLD = 0.2

WHOLE = 2**40  # overlaps and preferences as whole numbers, so that their sums are exact


@dataclass(frozen=True)
class ScoreRules:
    """How scenes are judged; what is not said is as the paper has it."""

    matching: Matching = "multiple"
    threshold: float | None = None  # None: 0.2 for multiple matching, any overlap for one to one
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if self.matching not in MATCHINGS:
            near = did_you_mean(str(self.matching), MATCHINGS)
            raise BadParameter(f"matching: expected {' or '.join(MATCHINGS)}, found {self.matching!r}{near}")
        for name, value in (("iou", self.least), ("alpha", self.alpha)):
            if not 0 <= value <= 1:
                raise BadParameter(f"{name}: expected a number from 0 to 1, found {value}")

    @property
    def least(self) -> float:
        """The overlap from which two objects may be a match."""
        if self.threshold is not None:
            return float(self.threshold)
        return THRESHOLD if self.matching == "multiple" else 0.0

    def may_match(self, overlap: Floats) -> Bools:
        """Which overlaps are enough. Objects that share nothing never match, whatever the threshold."""
        return (overlap >= self.least) & (overlap > 0)


@dataclass(frozen=True, eq=False)
class Objects:
    """How many scenes there are, and in which of them each object is."""

    scenes: int
    truth: Ints
    pred: Ints


@dataclass(frozen=True, eq=False)
class Possible:
    """Objects that may be a match: truth[i] with pred[i], and how well they agree, 0 being perfect."""

    truth: Ints
    pred: Ints
    overlap: Floats
    localization: Floats
    recognition: Floats

    def take(self, rows: Bools | Ints) -> Possible:
        return Possible(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class Ruling:
    """What became of every scene and object."""

    matches: Possible
    local: Floats  # of each match
    missed: Ints  # truths without a match
    spurious: Ints  # preds without a match
    matched: Ints  # matches of each scene
    compensated: Ints  # scores of 1 added in each scene
    score: Floats  # of each scene


def recognition_score(distance: Floats, is_right: Bools, confidence: Floats | float = 1.0) -> Floats:
    """How badly the class was recognised: the distance of the classes, weighed by how sure the pred was.

    distance · (1 - confidence) / 2 for a right class, distance · (1 + confidence) / 2 for a wrong one

    >>> recognition_score(np.array([1.0, 1.0, 0.4]), np.array([False, False, False]), np.array([1.0, 0.0, 0.5]))
    array([1. , 0.5, 0.3])
    """
    return distance * indicator(is_right, confidence)


def indicator(is_right: Bools, confidence: Floats | float) -> Floats:
    """How much a class distance counts: less the surer a right class was, more the surer a wrong one was."""
    weight: Floats = np.where(is_right, 1 - np.asarray(confidence), 1 + np.asarray(confidence)) / 2
    return weight


def local_score(localization: Floats, recognition: Floats, alpha: float) -> Floats:
    """The score of a match: alpha of its localization, the rest of its recognition."""
    return alpha * localization + (1 - alpha) * recognition


def judge(objects: Objects, pairs: Possible, rules: ScoreRules, excused: Bools | None = None) -> Ruling:
    """The score of every scene. Preds that are `excused` count only if they have a match.

    >>> one = np.zeros(1, np.int64)
    >>> pairs = Possible(one, one, np.array([0.5]), np.array([0.25]), np.array([1.0]))
    >>> judge(Objects(1, np.zeros(2, np.int64), one), pairs, ScoreRules()).score    # (0.8 · 0.25 + 0.2 · 1 + 1) / 2
    array([0.7])
    """
    pairs = pairs.take(rules.may_match(pairs.overlap))
    local = local_score(pairs.localization, pairs.recognition, rules.alpha)
    if rules.matching == "one-to-one":
        # Every pair of an assignment takes the place of a compensation, so the score falls by 1 - local with each.
        chosen = match_one_to_one(
            pairs.truth, pairs.pred, pairs.overlap, 1 - local, len(objects.truth), len(objects.pred)
        )
        pairs, local = pairs.take(chosen), local[chosen]
    missed = alone(len(objects.truth), pairs.truth)
    spurious = alone(len(objects.pred), pairs.pred)
    if excused is not None:
        spurious = spurious[~excused[spurious]]
    scene = objects.truth[pairs.truth]
    matched = np.bincount(scene, minlength=objects.scenes)
    compensated = np.maximum(
        np.bincount(objects.truth[missed], minlength=objects.scenes),
        np.bincount(objects.pred[spurious], minlength=objects.scenes),
    )
    total = np.bincount(scene, weights=local, minlength=objects.scenes) + compensated
    count = matched + compensated
    score = np.divide(total, count, out=np.zeros(objects.scenes), where=count > 0)
    return Ruling(pairs, local, missed, spurious, matched, compensated, np.minimum(score, 1.0))


def match_one_to_one(
    truth: Ints, pred: Ints, overlap: NDArray[np.float64], preference: NDArray[np.float64], truths: int, preds: int
) -> NDArray[np.bool_]:
    """Which of the pairs truth[i], pred[i] are in the assignment with the largest sum of overlaps (Hungarian method).

    Of assignments with the same sum the one with the largest sum of preferences is taken, so that the outcome does not
    depend on the order of the objects. Both are numbers from 0 to 1.

    >>> match_one_to_one(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0.6, 0.5, 0.5]), np.zeros(3), 2, 2)
    array([False,  True,  True])
    """
    gains = (np.rint(values * WHOLE).astype(np.int64) for values in (overlap, preference))
    first, second = gains
    rows, columns = (np.ascontiguousarray(side, dtype=np.int64) for side in (truth, pred))
    return _core.assign(rows, columns, np.maximum(first, 1), np.maximum(second, 0), truths, preds)


def alone(count: int, matched: Ints) -> Ints:
    """Of so many objects those without a match."""
    is_alone = np.ones(count, dtype=np.bool_)
    is_alone[matched] = False
    return np.flatnonzero(is_alone)
