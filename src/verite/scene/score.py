"""Scene score of matched objects: matching, score per match, compensation of missed and spurious objects, mean.

Hemery, Laurent, Emile, Rosenberger, Évaluation d'un résultat d'interprétation d'images. All scenes are scored at once:
everything is a column over the candidate matches, pairs of objects whose regions overlap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import IS_COMMAND_LINE, BadParameter, DataError, did_you_mean, give_sizes
from verite.evaluation.evaluation import box_candidates
from verite.evaluation.settings import ComparisonSettings, Weights
from verite.metrics.catalogue import metric
from verite.metrics.metric import Metric, make_record
from verite.metrics.region import ratio
from verite.model.annotations import Annotations
from verite.model.images import known_images
from verite.model.rasters import frames_of
from verite.model.regions import MASK, POLYGON, Regions
from verite.pairs import Array, Pairs
from verite.pairs.objects import compares_boxes, pairs_of, region_shapes
from verite.settings import Choice, FileOrContent, Flag, Given, Held, Number, Option, Setting

if TYPE_CHECKING:
    from verite.scene.class_distances import ClassDistances

    Distance: TypeAlias = ClassDistances | str | PathLike[str] | Mapping[str, Mapping[str, float]] | None

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Matching = Literal["multiple", "one-to-one"]
MATCHINGS = ("multiple", "one-to-one")
ALPHA = 0.8
IOU_THRESHOLD = 0.2  # of multiple matching
CostGiven: TypeAlias = "Costs | Mapping[str, float] | str | None"
FIXED_POINT = 2**40  # IoU and preference as whole numbers, so that their sums are exact


@dataclass(frozen=True)
class Costs:
    """Weights of missed and spurious objects in the mean of a scene; a match has weight 1."""

    missed: float = 1.0
    spurious: float = 1.0

    def __str__(self) -> str:
        return f"missed={self.missed:g},spurious={self.spurious:g}"


class CostSetting(Setting[Given, Held]):
    """Costs of missed and spurious objects: `missed=3,spurious=1`, a mapping, or `Costs`."""

    def validate(self, value: Any) -> Costs:
        if isinstance(value, Costs):
            return value
        parts = [part.partition("=")[::2] for part in value.split(",")] if isinstance(value, str) else value.items()
        found: dict[str, float] = {}
        for key, number in parts:
            if key.strip() not in ("missed", "spurious"):
                raise self.refuse("missed=N,spurious=N", repr(value))
            found[key.strip()] = self.validate_number(number, lambda v: 0 <= v < inf, f"{key.strip()}=N from 0 up")
        return Costs(**found)

    def format(self, value: Any) -> object:
        return str(value)


class SceneScoreSettings(ComparisonSettings):
    """The settings of `verite scene-score`."""

    TITLE: ClassVar[str] = "Score"
    matching: Option[Matching] = Choice(
        "multiple",
        "Match an object with any number of others (multiple), or by the best assignment (one-to-one).",
        Matching,
        long="match",
    )
    iou: Option[float | None] = Number(
        None,
        "IoU threshold at which two objects may match.",
        least=0,
        most=1,
        short="-t",
        default_text="0.2; one-to-one: any overlap",
    )
    alpha: Option[float] = Number(ALPHA, "Weight of localization; recognition has the rest.", least=0, most=1)
    localization: Option[str | Metric] = Setting(
        "martin", "Localization metric: martin (the paper's), or one of the catalogue from 0 to 1.", metavar="METRIC"
    )
    distance: Option[Distance] = FileOrContent(
        None,
        "Class distances: a matrix (.csv), a taxonomy (.json, indented .txt), or voc.",
        metavar="FILE|voc",
    )
    certain: Option[bool] = Flag(False, "Treat every prediction as having confidence 1.")
    cost: Setting[CostGiven, Costs | None] = CostSetting(
        None,
        "Weight of missed and spurious objects against a match of weight 1, e.g. missed=3,spurious=1.",
        metavar="missed=N,spurious=N",
        default_text="1 each",
        omit_default=True,
    )
    importance: Option[Any] = Weights(
        None,
        "Weights: of ground-truth objects (a table with the column weight and image, class or id; others have 1), or "
        "of pixels for the localization of matches (a folder of grey images, or a table keypoint,weight).",
        metavar="FILE|FOLDER",
        omit_default=True,
    )


def martin(p: Pairs) -> Array:
    """Martin's error of two regions: the smaller share of either that lies outside the other.

    min(|T \\ P| / |T|, |P \\ T| / |P|)

    It is 0 where one region contains the other.

    >>> MARTIN.values(Pairs.of([[0, 0, 4, 4]], [[2, 0, 4, 4], [3, 0, 9, 4]]))
    array([0.  , 0.75])
    """
    return np.minimum(
        ratio(p.truth_area - p.shared_area, p.truth_area), ratio(p.pred_area - p.shared_area, p.pred_area)
    )


CITE = "Hemery, Laurent, Emile, Rosenberger, Évaluation d'un résultat d'interprétation d'images, eq. 6"
MARTIN: Metric = Metric(
    make_record(martin, on="region", bounds=(0, 1), best=0, symmetric=True, cite=CITE, name="martin"), {}
)


def localization_metric(name: str | Metric) -> Metric:
    """Return the metric of this name; BadParameter if it does not run from 0 to 1 with its best value at one end."""
    chosen = MARTIN if isinstance(name, str) and name == "martin" else metric(name)
    if chosen.bounds != (0, 1) or chosen.best not in (0, 1):
        low, high = chosen.bounds
        raise BadParameter(
            f"localization: expected a metric from 0 to 1 with its best at one end, such as martin, iou or gce, "
            f"found {chosen.name} from {low:g} to {high:g}"
        )
    return chosen


def localization_score(chosen: Metric, pairs: Pairs) -> Array:
    """Return the localization error of each pair, 0 being perfect.

    Parameters
    ----------
    chosen
        A metric of the catalogue whose best value is 0 or 1.
    pairs
        Matched objects.

    Returns
    -------
    Array
        Errors in [0, 1]; a similarity such as IoU is turned round.
    """
    values = chosen.values(pairs)
    # Areas of boxes are rounded, so the difference of equal ones may miss 0 by a little.
    return np.clip(1 - values if chosen.best == 1 else values, 0.0, 1.0)


def recognition_score(distance: Floats, is_correct: Bools, confidence: Floats | float = 1.0) -> Floats:
    """Return the recognition error: the distance of the classes, weighted by the confidence of the prediction.

    distance · (1 - confidence) / 2 for a correct class, distance · (1 + confidence) / 2 for a wrong one

    >>> recognition_score(np.array([1.0, 1.0, 0.4]), np.array([False, False, False]), np.array([1.0, 0.0, 0.5]))
    array([1. , 0.5, 0.3])
    """
    return distance * confidence_weight(is_correct, confidence)


def confidence_weight(is_correct: Bools, confidence: Floats | float) -> Floats:
    """Return the weight of a class distance: falls with the confidence of a correct class, rises with a wrong one's."""
    weight: Floats = np.where(is_correct, 1 - np.asarray(confidence), 1 + np.asarray(confidence)) / 2
    return weight


def overlapping_pairs(truth: Annotations, pred: Annotations, settings: ComparisonSettings) -> tuple[Ints, Ints, Pairs]:
    """Return rows of ground truth and predictions of one image that may overlap, of any classes, and their regions.

    An object is rasterised once, however many others it may overlap.
    """
    pixel = 1.0 if settings.pixel == "plus1" else 0.0
    found = box_candidates(enclosing_boxes(truth), enclosing_boxes(pred), pixel=pixel, class_agnostic=True)
    truths, preds = found.truth.astype(np.int64), found.pred
    as_boxes = compares_boxes(truth, pred, truths, preds, settings.regions)
    known = known_images(truth, pred)
    images = truth.image[truths]
    # Polygons, and boxes beside polygons, are rasterised in an image of known size; a mask has its own.
    kinds = truth.regions.kinds[truths], pred.regions.kinds[preds]
    rasterised = ~as_boxes & ((kinds[0] == POLYGON) | (kinds[1] == POLYGON)) & (kinds[0] != MASK) & (kinds[1] != MASK)
    unsized = np.flatnonzero(rasterised & ((known.widths[images] <= 0) | (known.heights[images] <= 0)))
    if len(unsized):
        name = known.name(int(images[unsized[0]]))
        boxes = "--regions box" if IS_COMMAND_LINE.get() else 'regions="box"'
        raise DataError(
            f"{truth.source.path or 'truth'}: expected the size of every image to compare polygons, found none for "
            f"{name!r}; {give_sizes()}, or compare boxes with {boxes}"
        )
    if as_boxes.any() and not as_boxes.all():
        return truths, preds, pairs_of(truth, pred, truths, preds, settings)
    sides = []
    for side, rows in ((truth, truths), (pred, preds)):
        used, at = np.unique(rows, return_inverse=True)
        shapes = region_shapes(side, used, np.full(len(used), bool(as_boxes.all())), settings)
        sides.append((shapes, at.astype(np.int64)))
    (truth_shapes, truth_at), (pred_shapes, pred_at) = sides
    size = np.stack([known.widths, known.heights], axis=1)[images].reshape(-1, 2)
    pairs = Pairs.from_shapes(truth_shapes, pred_shapes, truth_at, pred_at, size=size, polygons=settings.polygons)
    return truths, preds, pairs


def enclosing_boxes(side: Annotations) -> Annotations:
    """Return objects as bounding boxes around all of their regions (box, polygon, mask), without confidences."""
    regions = side.regions
    boxes = regions.boxes if regions.has_only_boxes else np.array(regions.boxes)
    for kind in () if regions.has_only_boxes else (POLYGON, MASK):
        rows = np.flatnonzero(regions.kinds == kind)
        if not len(rows):
            continue
        if kind == POLYGON:
            assert regions.polygons is not None
            polygons = regions.polygons.take(rows)
            starts, points = polygons.rings[polygons.objects[:-1]], polygons.points
            # One pixel more: the rule that rasterises polygons rounds.
            outer = np.hstack([np.minimum.reduceat(points, starts) - 1, np.maximum.reduceat(points, starts) + 1])
        else:
            assert regions.runs is not None
            outer = frames_of(regions.runs.take(rows))
        boxes[rows, :2] = np.minimum(boxes[rows, :2], outer[:, :2])
        boxes[rows, 2:] = np.maximum(boxes[rows, 2:], outer[:, 2:])
    return replace(side, regions=Regions(boxes), confidence=None, area=None)


@dataclass(frozen=True)
class ScoreRules:
    """Matching, IoU threshold and weight of localization; the defaults are the paper's."""

    matching: Matching = "multiple"
    threshold: float | None = None  # None: 0.2 for multiple matching, any overlap for one-to-one
    alpha: float = ALPHA
    cost: Costs | None = None  # None: missed and spurious objects weigh as much as a match

    def __post_init__(self) -> None:
        if self.matching not in MATCHINGS:
            near = did_you_mean(str(self.matching), MATCHINGS)
            raise BadParameter(f"matching: expected {' or '.join(MATCHINGS)}, found {self.matching!r}{near}")
        for name, value in (("iou", self.iou_threshold), ("alpha", self.alpha)):
            if not 0 <= value <= 1:
                raise BadParameter(f"{name}: expected a number from 0 to 1, found {value}")

    @property
    def iou_threshold(self) -> float:
        """The IoU at which two objects may match."""
        if self.threshold is not None:
            return float(self.threshold)
        return IOU_THRESHOLD if self.matching == "multiple" else 0.0

    def may_match(self, iou: Floats) -> Bools:
        """Return which IoUs reach the threshold; objects without an intersection never match."""
        return (iou >= self.iou_threshold) & (iou > 0)


@dataclass(frozen=True, eq=False)
class SceneObjects:
    """The number of scenes, and the scene of each ground-truth object and each prediction."""

    scenes: int
    truth: Ints
    pred: Ints


@dataclass(frozen=True, eq=False)
class CandidateMatches:
    """Candidate matches truth[i] with pred[i]: their IoU, and their localization and recognition errors."""

    truth: Ints
    pred: Ints
    overlap: Floats
    localization: Floats
    recognition: Floats

    def take(self, rows: Bools | Ints) -> CandidateMatches:
        """Return some of the candidates."""
        return CandidateMatches(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class ScoredScenes:
    """Matches, unmatched objects and the score of every scene."""

    matches: CandidateMatches
    local: Floats  # score of each match
    missed: Ints  # ground truth without a match
    spurious: Ints  # predictions without a match
    matched: Ints  # matches of each scene
    compensated: Ints  # scores of 1 added to each scene
    score: Floats  # of each scene


def score_scenes(
    objects: SceneObjects,
    pairs: CandidateMatches,
    rules: ScoreRules,
    ignored: Bools | None = None,
    importance: Floats | None = None,
) -> ScoredScenes:
    """Match the objects of every scene and score them.

    A match scores alpha · localization + (1 - alpha) · recognition. Missed and spurious objects are paired at a score
    of 1, and the score of a scene is the mean. `ignored` predictions count only if they have a match. `importance`
    weighs each ground-truth object; missed and spurious objects are also weighted by the rules' costs.

    >>> one = np.zeros(1, np.int64)
    >>> pairs = CandidateMatches(one, one, np.array([0.5]), np.array([0.25]), np.array([1.0]))
    >>> objects = SceneObjects(1, np.zeros(2, np.int64), one)
    >>> score_scenes(objects, pairs, ScoreRules()).score    # (0.8 · 0.25 + 0.2 · 1 + 1) / 2
    array([0.7])
    """
    pairs = pairs.take(rules.may_match(pairs.overlap))
    local = rules.alpha * pairs.localization + (1 - rules.alpha) * pairs.recognition
    if rules.matching == "one-to-one":
        # Every match replaces one compensation, so it lowers the sum of scores by 1 - local.
        counts = len(objects.truth), len(objects.pred)
        chosen = match_one_to_one(pairs.truth, pairs.pred, pairs.overlap, 1 - local, *counts)
        pairs, local = pairs.take(chosen), local[chosen]
    missed = np.setdiff1d(np.arange(len(objects.truth)), pairs.truth)
    spurious = np.setdiff1d(np.arange(len(objects.pred)), pairs.pred)
    if ignored is not None:
        spurious = spurious[~ignored[spurious]]
    scene = objects.truth[pairs.truth]
    matched = np.bincount(scene, minlength=objects.scenes)
    compensated = np.maximum(
        np.bincount(objects.truth[missed], minlength=objects.scenes),
        np.bincount(objects.pred[spurious], minlength=objects.scenes),
    )
    if rules.cost is None and importance is None:
        weighted: Floats = np.bincount(scene, weights=local, minlength=objects.scenes).astype(np.float64)
        total = weighted + compensated
        count: Floats = (matched + compensated).astype(np.float64)
    else:
        weights = np.ones(len(objects.truth)) if importance is None else importance
        own = weights[pairs.truth]
        unmatched = compensation_weights(objects, missed, spurious, weights, rules.cost or Costs())
        total = np.bincount(scene, weights=own * local, minlength=objects.scenes) + unmatched
        count = np.bincount(scene, weights=own, minlength=objects.scenes) + unmatched
    score = np.divide(total, count, out=np.zeros(objects.scenes), where=count > 0)
    return ScoredScenes(pairs, local, missed, spurious, matched, compensated, np.minimum(score, 1.0))


def compensation_weights(
    objects: SceneObjects, missed: Ints, spurious: Ints, importance: Floats, cost: Costs
) -> Floats:
    """Return the weight of missed and spurious objects of each scene, all of which score 1.

    A missed object weighs its importance times its cost. Missed and spurious objects are paired, the heaviest missed
    ones first; a pair weighs as much as its heavier member.

    >>> objects = SceneObjects(1, np.zeros(3, np.int64), np.zeros(1, np.int64))
    >>> compensation_weights(objects, np.array([1, 2]), np.array([0]), np.ones(3), Costs(missed=3))
    array([6.])
    """
    weights = np.zeros(objects.scenes)
    heavy = importance[missed] * cost.missed
    left = np.bincount(objects.pred[spurious], minlength=objects.scenes)
    for scene, weight in sorted(zip(objects.truth[missed].tolist(), heavy.tolist(), strict=True), key=lambda m: -m[1]):
        is_paired = left[scene] > 0
        left[scene] -= is_paired
        weights[scene] += max(weight, cost.spurious) if is_paired else weight
    total: Floats = weights + cost.spurious * left
    return total


def match_one_to_one(truth: Ints, pred: Ints, iou: Floats, preference: Floats, truths: int, preds: int) -> Bools:
    """Return which pairs truth[i], pred[i] are in the assignment with the largest sum of IoUs (Hungarian method).

    Of assignments with the same sum, the one with the largest sum of preferences is taken, so that the result does not
    depend on the order of the objects. Both are numbers from 0 to 1.

    >>> match_one_to_one(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0.6, 0.5, 0.5]), np.zeros(3), 2, 2)
    array([False,  True,  True])
    """
    first, second = (np.rint(values * FIXED_POINT).astype(np.int64) for values in (iou, preference))
    rows, columns = (np.ascontiguousarray(side, dtype=np.int64) for side in (truth, pred))
    return _core.assign(rows, columns, np.maximum(first, 1), np.maximum(second, 0), truths, preds)
