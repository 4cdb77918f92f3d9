"""Study of the scene score: the cost of each kind of error on many scenes, as in the validation of the paper.

Every object of every scene is altered in 160 ways; classes are changed, objects removed and added. The curves of
figures 10 to 15 of the paper, and its claims, are measured on VOC segmentations or on synthetic scenes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import BadParameter, DataError, did_you_mean
from verite.metrics.metric import Metric
from verite.model.annotations import Annotations
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.polygons import RLEMasks
from verite.model.rasters import array_of, frames_of, rasterise, runs_of
from verite.model.regions import Regions
from verite.model.shapes import Shapes as RegionShapes
from verite.model.tables import Display, Part, Table
from verite.pairs import Pairs
from verite.scene.class_distances import ClassDistances, class_distances
from verite.scene.score import (
    MARTIN,
    CandidateMatches,
    SceneObjects,
    ScoreRules,
    confidence_weight,
    localization_metric,
    localization_score,
    recognition_score,
    score_scenes,
)
from verite.signature import Signature
from verite.studies.alterations import ALTERATIONS, Outline, Warps, rasterise_warps
from verite.studies.claims import EXACT, CheckedClaim, checks_of
from verite.studies.truths import SHAPE_PAIR, truths_of
from verite.threads import thread_count

if TYPE_CHECKING:
    from verite.files import JsonObject

Floats = NDArray[np.float64]
# Number of images by number of objects: VOC 2008's segmentation set without images of more than eight.
COUNTS = {1: 498, 2: 237, 3: 106, 4: 61, 5: 40, 6: 32, 7: 16, 8: 12}

CLASSES = (
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
    "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)  # fmt: skip

SIZES = ((500, 375), (375, 500))  # width and height, landscape or portrait

COVERED = (0.1, 0.6)  # share of the image that its objects would cover without occlusion

EVENNESS = 8.0  # how similar the objects of one image are in size

# Of figure 13, on which ways of matching differ: scenes of one object that covers 0.3 to 2 % of the image.
SMALL_SCENES, SMALL_COVERED = 40, (0.003, 0.02)

MOST_OPPOSITE = 200  # objects that are altered in both directions

OPPOSITE = 0.01  # difference of opposite directions that counts as none, as a share of the curve's amplitude

CANDIDATES = 12  # positions of which the farthest from other objects is chosen

SMALLEST = 400  # pixels

CORNERS = 96

WAVES = np.arange(2, 8)

Mask = NDArray[np.bool_]


def synthetic_scenes(
    seed: int = 0, counts: Mapping[int, int] | None = None, covered: tuple[float, float] = COVERED
) -> Annotations:
    """Make images with as many objects as the paper's, of irregular outline, some of them partly occluded.

    Parameters
    ----------
    seed : int, default 0
        Seed of the random numbers.
    counts : Mapping, optional
        Number of images by number of objects. Default: those of VOC 2008's segmentation set.
    covered : (float, float), default (0.1, 0.6)
        Share of the image that its objects would cover without occlusion, from and to.

    Returns
    -------
    Annotations
        Masks with a random class each, of VOC's 20.

    Examples
    --------
    >>> scenes = synthetic_scenes(counts={1: 2, 3: 1})
    >>> len(scenes.images), len(scenes)
    (3, 5)
    """
    rng = np.random.default_rng(seed)
    masks: list[tuple[NDArray[np.uint32], tuple[int, int]]] = []
    image: list[int] = []
    sizes: list[tuple[int, int]] = []
    for count, images in (COUNTS if counts is None else counts).items():
        for _ in range(images):
            width, height = SIZES[int(rng.random() < 0.3)]
            for mask in sample_silhouettes(count, width, height, rng, covered):
                masks.append((runs_of(mask[None]).counts, (height, width)))
                image.append(len(sizes))
            sizes.append((width, height))
    runs = RLEMasks.of(masks)
    names = [f"scene-{i:04}.png" for i in range(len(sizes))]
    return Annotations(
        images=Images(names, widths=[w for w, _ in sizes], heights=[h for _, h in sizes]),
        labels=Labels(CLASSES),
        image=np.array(image, dtype=np.int32),
        label=rng.integers(0, len(CLASSES), len(image)).astype(np.int32),
        regions=Regions(frames_of(runs), runs=runs),
    )


def sample_silhouettes(
    count: int, width: int, height: int, rng: np.random.Generator, covered: tuple[float, float] = COVERED
) -> list[Mask]:
    """Sample disjoint regions: occluded parts are cut off, as annotators mark visible pixels.

    Together they would cover a share of the image, each a random part of it, far from the others. A region is a closed
    line with bays and limbs: a circle whose radius is a sum of random waves.

    Parameters
    ----------
    count : int
        Number of regions.
    width, height : int
        Size of the image.
    rng : Generator
        Source of random numbers.
    covered : (float, float), default (0.1, 0.6)
        Share of the image that the regions would cover together without occlusion, from and to.

    Returns
    -------
    list of array of bool
        Masks of at least `SMALLEST` pixels each.
    """
    angle = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    image_size, one = np.array([[height, width]], dtype=np.int32), np.array([0, 1], dtype=np.int64)
    while True:
        taken = np.zeros((height, width), dtype=np.bool_)
        masks: list[Mask] = []
        shares = np.exp(rng.uniform(*np.log(covered))) * rng.dirichlet(np.full(count, EVENNESS))
        middles = np.empty((0, 2))
        for share in shares:
            aspect = np.exp(rng.uniform(-0.5, 0.5))
            size = np.sqrt(share * width * height) * np.array([aspect, 1 / aspect])
            inside = np.minimum(size / 2, (width / 2, height / 2))
            places = rng.uniform(inside, (width, height) - inside, (CANDIDATES, 2))
            if len(middles):
                distances = np.abs(places[:, None] - middles[None]).sum(axis=2).min(axis=1)
                places = places[[int(distances.argmax())]]
            middles = np.concatenate([middles, places[:1]])
            heights = rng.uniform(0.0, 0.55, len(WAVES)) / WAVES**0.5
            phases = rng.uniform(0, 2 * np.pi, len(WAVES))
            waves = heights[:, None] * np.cos(WAVES[:, None] * angle + phases[:, None])
            ring = np.maximum(0.2, 1 + waves.sum(axis=0))[:, None] * circle
            ring = ring / np.abs(ring).max(axis=0) * size / 2 + places[0]
            runs = _core.polygon_runs(np.ascontiguousarray(ring), one * CORNERS, one, image_size, False)
            mask = array_of(RLEMasks(*runs, image_size), 0) & ~taken
            taken |= mask
            masks.append(mask)
        if all(mask.sum() >= SMALLEST for mask in masks):
            return masks


POWERS = np.arange(1, 21)
DIRECTIONS = 2  # down and to the right, or both ways round
WAYS = len(ALTERATIONS) * DIRECTIONS * len(POWERS)


@dataclass(frozen=True, eq=False)
class Altered:
    """IoU and localization error of all images with the same number of objects, before and after alteration.

    Axes: image, altered object, kind of alteration × direction × power, ground truth.
    """

    count: int
    images: NDArray[np.int64]
    labels: NDArray[np.int64]  # [image, object]
    base_overlap: Floats  # [image, truth, object]
    base_localization: Floats
    overlap: Floats  # [image, object, way, truth]
    localization: Floats
    base_exchanged: Floats  # localization with truth and pred exchanged, in the same places
    exchanged: Floats

    def scores(self, rules: ScoreRules, *, exchanged: bool = False) -> Floats:
        """Return the score of every altered scene, [image, object, kind, direction, power].

        `exchanged` takes the altered scene as ground truth.
        """
        images, count = len(self.images), self.count
        # Column k of a scene's matrix is the altered object, the others are as in the truth.
        shape = (images, count, WAYS, count, count)
        matrices = []
        places = (self.base_exchanged, self.exchanged) if exchanged else (self.base_localization, self.localization)
        for base, altered in ((self.base_overlap, self.overlap), places):
            whole = np.broadcast_to(base[:, None, None], shape).copy()
            for k in range(count):
                whole[:, k, :, :, k] = altered[:, k]
            matrices.append(whole.reshape(-1, count, count))
        overlap, localization = (matrix.transpose(0, 2, 1) for matrix in matrices) if exchanged else matrices
        scene, truth, pred = np.nonzero(overlap)
        of_object = np.repeat(np.arange(len(overlap)), count)
        possible = CandidateMatches(
            scene * count + truth,
            scene * count + pred,
            overlap[scene, truth, pred],
            localization[scene, truth, pred],
            np.zeros(len(scene)),
        )
        score = score_scenes(SceneObjects(len(overlap), of_object, of_object), possible, rules).score
        return score.reshape(images, count, len(ALTERATIONS), DIRECTIONS, len(POWERS))

    @property
    def own_overlap(self) -> Floats:
        """IoU of each altered object with its original, [image, object, kind, direction, power]."""
        own = np.stack([self.overlap[:, k, :, k] for k in range(self.count)], axis=1)
        return own.reshape(*own.shape[:2], len(ALTERATIONS), DIRECTIONS, len(POWERS))

    def mean_score(self, rules: ScoreRules, *, wrong: int = 0, removed: int = 0, added: int = 0) -> float:
        """Return the mean score of the scenes if every remaining object is detected exactly.

        Parameters
        ----------
        rules : ScoreRules
            Weights and matching of the scene score.
        wrong, removed : int
            Number of objects with a wrong class (the first ones), and without a prediction (the last ones).
        added : int
            Number of false positives that overlap nothing.
        """
        images, count, kept = len(self.images), self.count, self.count - removed
        overlap = self.base_overlap[:, :, :kept]
        image, truth, pred = np.nonzero(overlap)
        preds = kept + added
        predicted = self.labels.copy()
        predicted[:, :wrong] = -1  # a class that no object has
        is_wrong = self.labels[image, truth] != predicted[image, pred]
        possible = CandidateMatches(
            image * count + truth,
            image * preds + pred,
            overlap[image, truth, pred],
            self.base_localization[image, truth, pred],
            recognition_score(is_wrong.astype(np.float64), ~is_wrong),
        )
        objects = SceneObjects(images, np.repeat(np.arange(images), count), np.repeat(np.arange(images), preds))
        return float(score_scenes(objects, possible, rules).score.mean())


def masks_of(truth: Annotations) -> RLEMasks:
    """Rasterise every object; DataError where the size of an image is unknown."""
    sizes = np.stack([truth.images.heights, truth.images.widths], axis=1)[truth.image]
    unsized = np.flatnonzero((sizes <= 0).any(axis=1))
    if len(unsized):
        name = truth.images.name(int(truth.image[unsized[0]]))
        raise DataError(f"{truth.source.path or 'scenes'}: expected the size of every image, found none for {name!r}")
    return rasterise(truth.regions, sizes.astype(np.int32))


Anchor = Literal["centre", "corner"]
ANCHORS = ("centre", "corner")


def ways(outline: Outline, anchor: Anchor = "centre") -> Warps:
    """Return the warps of every alteration of one object: kinds, then directions, then powers."""
    found = []
    for name, alter in ALTERATIONS.items():
        if name == "rotation":
            found += [alter(outline, POWERS, 0.0), alter(outline, -POWERS, 0.0)]
        else:
            found += [alter(outline, POWERS, 0.0), alter(outline, 0.0, POWERS)]
    warps = np.concatenate(found)
    if anchor == "corner":  # one side moves by twice the power, the opposite one stays
        first = list(ALTERATIONS).index("scale") * DIRECTIONS * len(POWERS)
        warps[first : first + len(POWERS), 1, 0] += POWERS
        warps[first + len(POWERS) : first + 2 * len(POWERS), 0, 0] += POWERS
    return warps


def compare(truths: RLEMasks, preds: RLEMasks, metric: Metric) -> tuple[Floats, Floats, Floats]:
    """Return IoU, localization error and that with exchanged sides of every pair, [pred, truth].

    The localization error is measured where the regions overlap, and 0 elsewhere.
    """
    rows = np.tile(np.arange(len(truths)), len(preds))
    columns = np.repeat(np.arange(len(preds)), len(truths))
    mine, theirs = (RegionShapes(Regions(frames_of(side), runs=side), side.sizes) for side in (truths, preds))
    pairs = Pairs.from_shapes(mine, theirs, rows, columns)
    union = pairs.truth_area + pairs.pred_area - pairs.shared_area
    overlap = np.divide(pairs.shared_area, union, out=np.zeros(len(union)), where=union > 0)
    localization, exchanged = np.zeros((2, len(overlap)))
    touching = np.flatnonzero(overlap)
    chosen = pairs.take(touching)
    localization[touching] = localization_score(metric, chosen)
    exchanged[touching] = localization_score(metric, chosen.swapped)
    shape = len(preds), len(truths)
    return overlap.reshape(shape), localization.reshape(shape), exchanged.reshape(shape)


def alter_scenes(
    image: NDArray[np.integer],
    label: NDArray[np.integer],
    masks: RLEMasks,
    metric: Metric = MARTIN,
    *,
    anchor: Anchor = "centre",
    threads: int | None = None,
    report: Callable[[int], None] | None = None,
) -> list[Altered]:
    """Alter every object of every image in every way; images are grouped by their number of objects.

    Parameters
    ----------
    image, label : array of int
        Image and class of each object.
    masks : RLEMasks
        Mask of each object.
    metric : Metric
        The localization metric.
    anchor : {"centre", "corner"}
        The point that a scale change keeps.
    threads : int, optional
        Number of threads. Default: one per core.
    report : callable, optional
        Called with the number of objects done.

    Returns
    -------
    list of Altered
        One group for each number of objects, the fewest first.
    """
    order = np.argsort(image, kind="stable")
    names, starts, counts = np.unique(image[order], return_index=True, return_counts=True)
    rows = np.split(order, starts[1:])

    def alter_image(i: int) -> tuple[Floats, ...]:
        """Compare the objects of one image with each other and with each of them altered, in the order of Altered."""
        truths = masks.take(rows[i])
        base = [part.T for part in compare(truths, truths, metric)]
        outlines = [Outline.of(array_of(truths, k)) for k in range(len(truths))]
        altered = [compare(truths, rasterise_warps(outline, ways(outline, anchor)), metric) for outline in outlines]
        overlap, localization, exchanged = (np.array(part) for part in zip(*altered, strict=True))
        if report is not None:
            report(len(rows[i]))
        return base[0], base[1], overlap, localization, base[2], exchanged

    with ThreadPoolExecutor(thread_count(threads)) as pool:
        futures = [pool.submit(alter_image, i) for i in range(len(rows))]
        try:
            found = [future.result() for future in futures]
        except BaseException:  # a wrong image or Ctrl-C: cancel the others
            for future in futures:
                future.cancel()
            raise
    groups = []
    for count in np.unique(counts).tolist():
        members = np.flatnonzero(counts == count)
        labels = np.stack([label[rows[i]] for i in members]).astype(np.int64)
        parts = [np.stack([found[i][part] for i in members]) for part in range(6)]
        groups.append(Altered(count, names[members], labels, *parts))
    return groups


Shapes = Literal["masks", "boxes"]

MOST_OBJECTS = 8

MOST_ADDED = 8

THRESHOLDS = (0.2, 0.3, 0.4, 0.5)

CONFIDENCES = np.linspace(0, 1, 21)

EXAMPLE = "pottedplant"  # the class of figure 15a


@dataclass(frozen=True, eq=False)
class StudyCurves:
    """The measured curves, by figure of the paper."""

    localization: dict[str, dict[int, list[float]]]  # figure 10: kind, number of objects, power
    errors: dict[str, dict[int, list[float]]]  # standard errors of these means, over images
    differing: dict[str, int]  # of each kind: altered regions that differ from the ground truth, ...
    unpunished: dict[str, int]  # ... and those of them whose scene scores 0
    alterations: dict[str, int]
    pooled: dict[str, float]  # mean over all objects and powers
    asymmetric: int  # altered scenes whose score changes if truth and result are exchanged, ...
    asymmetry: float  # ... and by how much at most
    recognition: dict[int, list[float]]  # figure 11: number of objects, wrong classes from 0
    removed: dict[int, list[float]]  # figure 12: number of objects, removed from 0
    added: dict[int, list[float]]
    matching: dict[str, dict[str, list[float]]]  # figure 13: kind, way of matching, power
    matching_small: dict[str, dict[str, list[float]]]  # the same on synthetic scenes of one small object
    opposite: dict[str, list[float]]  # kind: objects, those whose opposite directions differ, largest difference
    by_size: dict[str, list[list[float]]]  # kind: mean cost by power of the smaller and of the larger half of objects
    by_shape: list[float]  # cost of a vertical translation by 16 pixels of a wide and of a tall box of equal area
    lost: dict[str, dict[str, list[float]]]  # share of objects without their match: kind, threshold, power
    right: list[float]  # figure 14: by confidence
    wrong: list[float]
    example: dict[str, list[Any]]  # figure 15a: classes from near to far, with and without distances
    mean: dict[str, list[float]]  # figure 15b


@dataclass(frozen=True, eq=False, repr=False)
class InterpretationStudy(Display):
    """The curves of figures 10 to 15, and the paper's claims checked on them.

    Parameters
    ----------
    source : str
        File of the scenes, or "synthetic scenes".
    images : dict
        Number of images by number of objects.
    rejected : int
        Images with more objects than are studied, or none.
    classes : int
        Number of classes.
    signature : Signature
        The settings of the study.
    curves : StudyCurves
        The measured curves.
    checks : list of CheckedClaim
        The claims.
    """

    source: str
    images: dict[int, int]
    rejected: int
    classes: int
    signature: Signature
    curves: StudyCurves
    checks: list[CheckedClaim] = field(default_factory=list)

    @property
    def objects(self) -> int:
        """Number of objects."""
        return sum(count * images for count, images in self.images.items())

    @property
    def alterations(self) -> int:
        """Number of altered scenes."""
        return self.objects * WAYS

    def contents(self) -> list[Part]:
        return [
            f"{self.source}: {sum(self.images.values()):,} images, {self.objects:,} objects, {self.classes} classes, "
            f"{self.alterations:,} alterations",
            *(
                [f"{self.rejected:,} images without or with more than {MOST_OBJECTS} objects left out"]
                * bool(self.rejected)
            ),
            self.cost_table(),
            self.check_table(),
            self.tally(),
            self.signature,
        ]

    def tally(self) -> str:
        """Count the claims that hold, hold with exceptions, and fail."""
        words = [check.verdict for check in self.checks]
        parts = [f"{words.count('holds')} of {len(words)} claims hold"]
        parts += [f"{words.count('holds except')} with exceptions"] * ("holds except" in words)
        failing = words.count("fails")
        return ", ".join([*parts, *[f"{failing} fail" + "s" * (failing == 1)] * (failing > 0)])

    def cost_table(self) -> Table:
        """Return the cost of an altered object by the number of objects in the scene."""
        counts = list(self.images)
        columns: dict[str, list[Any]] = {"images": [self.images[n] for n in counts]}
        for kind, curves in self.curves.localization.items():
            columns[f"{kind} 10"] = [curves[n][9] for n in counts]
            columns[f"{kind} 20"] = [curves[n][19] for n in counts]
        return Table.of("objects", [str(n) for n in counts], columns)

    def check_table(self) -> Table:
        """Return the claims with their verdicts."""
        rows = tuple((check.claim, check.verdict, check.found) for check in self.checks)
        widest = max(len(row[2]) for row in rows)
        return Table(("claim", "", "found".ljust(widest)), tuple((a, b, c.ljust(widest)) for a, b, c in rows))

    def to_dict(self) -> JsonObject:
        """Return the JSON document."""
        c = self.curves
        return {
            "signature": str(self.signature),
            "source": self.source,
            "images": {str(n): count for n, count in self.images.items()},
            "objects": self.objects,
            "alterations": self.alterations,
            "rejected": self.rejected,
            "tables": {
                "localization": {kind: by_number(curves) for kind, curves in c.localization.items()},
                "pooled": c.pooled,
                "unpunished": c.unpunished,
                "recognition": by_number(c.recognition),
                "removed": by_number(c.removed),
                "added": by_number(c.added),
                "matching": c.matching,
                "matching_small": c.matching_small,
                "opposite": c.opposite,
                "by_size": c.by_size,
                "by_shape": c.by_shape,
                "lost": c.lost,
                "confidence": {"confidence": CONFIDENCES.tolist(), "right": c.right, "wrong": c.wrong},
                "class_distance": {"example": c.example, "mean": c.mean},
            },
            "checks": [check.to_dict() for check in self.checks],
        }

    def to_json(self, *, indent: int = 0) -> str:
        from verite.model.results import to_json

        return to_json(self.to_dict(), indent=indent)


def by_number(curves: dict[int, list[float]]) -> dict[str, list[float]]:
    """Return curves with the number of objects as text, for JSON."""
    return {str(n): values for n, values in curves.items()}


def study_interpretation(
    truth: Annotations,
    *,
    localization: str | Metric = "martin",
    alpha: float = 0.8,
    distance: Any = "voc",
    shapes: Shapes = "masks",
    anchor: Anchor = "centre",
    threads: int | None = None,
    report: Callable[[int], None] | None = None,
) -> InterpretationStudy:
    """Alter every object of every image, score the scenes, and check the paper's claims.

    Parameters
    ----------
    truth : Annotations
        Ground truth with masks, polygons or bounding boxes; ignored objects are left out.
    localization : str or Metric, default "martin"
        The localization metric of the scene score.
    alpha : float, default 0.8
        Weight of localization against recognition.
    distance : str, path, array or mapping, default "voc"
        Distances between classes.
    shapes : {"masks", "boxes"}
        Whether an object is its pixels or its bounding box.
    anchor : {"centre", "corner"}
        The point that a scale change keeps: the centre of an object's box or its upper left corner.
    threads : int, optional
        Number of threads. Default: one per core.
    report : callable, optional
        Called with the number of objects done.

    Returns
    -------
    InterpretationStudy

    Raises
    ------
    DataError
        If no image has 1 to 8 objects, or the size of an image is unknown.
    """
    if anchor not in ANCHORS:
        raise BadParameter(f"anchor: expected {' or '.join(ANCHORS)}, found {anchor!r}{did_you_mean(anchor, ANCHORS)}")
    if shapes not in ("masks", "boxes"):
        raise BadParameter(f"shapes: expected masks or boxes, found {shapes!r}")
    rules, metric, distances = ScoreRules(alpha=alpha), localization_metric(localization), class_distances(distance)
    truth = truth.where(~truth.ignored)  # crowds and other ignored objects are left out
    per_image = np.bincount(truth.image, minlength=len(truth.images))
    kept = (per_image >= 1) & (per_image <= MOST_OBJECTS)
    if not kept.any():
        raise DataError(
            f"{truth.source.path or 'scenes'}: expected images with 1 to {MOST_OBJECTS} objects, found none"
        )
    chosen = truth.where(kept[truth.image])
    masks = masks_of(chosen)
    if shapes == "boxes":
        masks = rasterise(Regions(frames_of(masks)), masks.sizes)
    areas = np.array([masks[i][1::2].sum() for i in range(len(masks))])
    if (areas == 0).any():
        where = chosen.images.name(int(chosen.image[np.argmax(areas == 0)]))
        raise DataError(
            f"{truth.source.path or 'scenes'}: expected objects with pixels, found none for one in {where!r}"
        )
    groups = alter_scenes(chosen.image, chosen.label, masks, metric, anchor=anchor, threads=threads, report=report)
    curves = measure(groups, rules, distances, measure_topology(groups[0], chosen.image, masks, metric, alpha))
    return InterpretationStudy(
        source=truth.source.path or "synthetic scenes",
        images={group.count: len(group.images) for group in groups},
        rejected=int((~kept).sum()),
        classes=len(np.unique(chosen.label)),
        signature=Signature.of(
            "study_interpretation",
            matching=rules.matching,
            threshold=rules.iou_threshold,
            alpha=float(alpha),
            localization=metric.name,
            distance=distances.signature_value,
            shapes=shapes,
            powers="1-20",
            scale="each-side",
            anchor=anchor,
            rotation="degrees",
            rev=1,
        ),
        curves=curves,
        checks=checks_of(curves, alpha),
    )


@dataclass(frozen=True, eq=False)
class Topology:
    """Costs of single objects by direction, size and shape, and of small objects by the way of matching."""

    small: Altered
    opposite: dict[str, list[float]]
    by_size: dict[str, list[list[float]]]
    by_shape: list[float]


def measure_topology(
    group: Altered, image: NDArray[np.integer], masks: RLEMasks, metric: Metric, alpha: float
) -> Topology:
    """Measure opposite directions, size and shape on the images with the fewest objects, and small objects.

    Parameters
    ----------
    group : Altered
        The altered objects of these images.
    image : array of int
        Image of each object.
    masks : RLEMasks
        Mask of each object.
    metric : Metric
        The localization metric.
    alpha : float
        Weight of localization.

    Returns
    -------
    Topology
    """
    small = synthetic_scenes(0, {1: SMALL_SCENES}, SMALL_COVERED)
    rows = np.concatenate([np.flatnonzero(image == one) for one in group.images])[:MOST_OPPOSITE]
    kinds = {name: alter for name, alter in ALTERATIONS.items() if name != "rotation"}
    found: dict[str, list[Floats]] = {kind: [] for kind in kinds}
    for row in rows.tolist():
        truth = masks.take(np.array([row]))
        outline = Outline.of(array_of(truth, 0))
        warps = [alter(outline, *p) for alter in kinds.values()
                 for p in ((POWERS, 0.0), (-POWERS, 0.0), (0.0, POWERS), (0.0, -POWERS))]  # fmt: skip
        errors = compare(truth, rasterise_warps(outline, np.concatenate(warps)), metric)[1]
        for kind, curves in zip(kinds, errors.reshape(len(kinds), 2, 2, len(POWERS)), strict=True):
            found[kind].append(curves)
    own = np.stack([group.localization[:, k, :, k] for k in range(group.count)], axis=1)
    own = own.reshape(-1, len(ALTERATIONS), DIRECTIONS, len(POWERS))
    turned = own[:, list(ALTERATIONS).index("rotation")][:, None]  # one axis, both directions
    opposite = {}
    for kind, curves in {**{k: np.stack(v) for k, v in found.items()}, "rotation": turned}.items():
        apart = np.abs(curves[:, :, 0] - curves[:, :, 1]).max(axis=(1, 2))
        differs = apart > OPPOSITE * np.ptp(curves, axis=(1, 2, 3)).clip(min=EXACT)
        opposite[kind] = [float(len(apart)), float(differs.sum()), float(apart.max(initial=0.0))]
    areas = np.array([masks[row][1::2].sum() for one in group.images for row in np.flatnonzero(image == one).tolist()])
    is_small = areas <= np.median(areas)
    costs = alpha * own.mean(axis=2)
    halves = {kind: [costs[side, i].mean(axis=0).tolist() if side.any() else [] for side in (is_small, ~is_small)]
              for i, kind in enumerate(ALTERATIONS)}  # fmt: skip
    shaped = []
    for name in SHAPE_PAIR:
        truth = runs_of(truths_of(name)[0].mask[None])
        outline = Outline.of(array_of(truth, 0))
        moved = rasterise_warps(outline, ALTERATIONS["translation"](outline, np.array([16.0]), 0.0))
        shaped.append(alpha * float(compare(truth, moved, metric)[1][0, 0]))
    return Topology(alter_scenes(small.image, small.label, masks_of(small), metric)[0], opposite, halves, shaped)


def measure(groups: list[Altered], rules: ScoreRules, distances: ClassDistances, topology: Topology) -> StudyCurves:
    """Measure all curves; those of matching on the images with the fewest objects, one in the paper."""
    kinds = list(ALTERATIONS)
    localization: dict[str, dict[int, list[float]]] = {kind: {} for kind in kinds}
    errors: dict[str, dict[int, list[float]]] = {kind: {} for kind in kinds}
    total = dict.fromkeys(kinds, 0.0)
    differing, unpunished, alterations = (dict.fromkeys(kinds, 0) for _ in range(3))
    asymmetric, asymmetry = 0, 0.0
    for group in groups:
        scores = group.scores(rules)
        apart = np.abs(scores - group.scores(rules, exchanged=True))
        asymmetric, asymmetry = asymmetric + int((apart > EXACT).sum()), max(asymmetry, float(apart.max()))
        own = group.own_overlap
        for i, kind in enumerate(kinds):
            part = scores[:, :, i]
            localization[kind][group.count] = part.mean(axis=(0, 1, 2)).tolist()
            spread = part.mean(axis=(1, 2)).std(axis=0) / np.sqrt(max(1, len(part) - 1))
            errors[kind][group.count] = spread.tolist()
            total[kind] += float(part.sum())
            alterations[kind] += part.size
            differs = own[:, :, i] < 1
            differing[kind] += int(differs.sum())
            unpunished[kind] += int((differs & (part == 0)).sum())
    modes = {"one-to-one": replace(rules, matching="one-to-one", threshold=None)}
    modes |= {f"multiple {t:g}": replace(rules, matching="multiple", threshold=t) for t in THRESHOLDS}
    by_mode, by_mode_small = (
        {name: group.scores(mode).mean(axis=(0, 1, 3)) for name, mode in modes.items()}
        for group in (groups[0], topology.small)
    )
    own = groups[0].own_overlap
    return StudyCurves(
        localization=localization,
        errors=errors,
        differing=differing,
        unpunished=unpunished,
        alterations=alterations,
        asymmetric=asymmetric,
        asymmetry=asymmetry,
        lost={
            kind: {f"threshold {t:g}": (own[:, :, i] < t).mean(axis=(0, 1, 2)).tolist() for t in THRESHOLDS}
            for i, kind in enumerate(kinds)
        },
        pooled={kind: total[kind] / alterations[kind] for kind in kinds},
        recognition={g.count: [g.mean_score(rules, wrong=n) for n in range(g.count + 1)] for g in groups},
        removed={g.count: [g.mean_score(rules, removed=n) for n in range(g.count + 1)] for g in groups},
        added={g.count: [g.mean_score(rules, added=n) for n in range(MOST_ADDED + 1)] for g in groups},
        matching={kind: {name: values[i].tolist() for name, values in by_mode.items()} for i, kind in enumerate(kinds)},
        matching_small={
            kind: {name: values[i].tolist() for name, values in by_mode_small.items()} for i, kind in enumerate(kinds)
        },
        opposite=topology.opposite,
        by_size=topology.by_size,
        by_shape=topology.by_shape,
        right=confidence_weight(np.ones(len(CONFIDENCES), dtype=np.bool_), CONFIDENCES).tolist(),
        wrong=confidence_weight(np.zeros(len(CONFIDENCES), dtype=np.bool_), CONFIDENCES).tolist(),
        **class_curves(distances),
    )


def class_curves(distances: ClassDistances) -> JsonObject:
    """Return recognition scores of wrong classes by distance: of one class, and the mean over all.

    Returns
    -------
    dict
        The fields `example` and `mean` of :class:`StudyCurves`.
    """
    names, matrix = distances.names, distances.square
    if names is None:
        raise BadParameter("distance: expected a matrix or taxonomy to compare with the default, found the default")
    ordered = np.sort(matrix, axis=1)
    at = names.index(EXAMPLE) if EXAMPLE in names else 0
    order = np.argsort(matrix[at], kind="stable")
    plain = [0.0] + [1.0] * (len(names) - 1)
    return {
        "example": {
            "class": [names[at]],
            "classes": [names[i] for i in order],
            "with": matrix[at][order].tolist(),
            "without": plain,
        },
        "mean": {"with": ordered.mean(axis=0).tolist(), "without": plain},
    }
