"""COCO protocol: average precision and recall over IoU thresholds, object sizes and numbers of predictions.

The numbers are those of pycocotools to the last bit. `evaluate` matches, `CocoResults` reads the scores off the
accumulated precision and recall.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import isnan, nan
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError, did_you_mean, give_sizes, one_line, spell_option
from verite.evaluation.evaluation import RECALLS, Evaluation, Rules
from verite.evaluation.points import (
    DIAGONAL,
    MOST,
    DistanceErrors,
    PointSettings,
    check_distance,
    distance_sentence,
    mean_column,
    reach_of,
    summarise_distances,
)
from verite.evaluation.prepare import explain_low_score, need_pixels, prepare
from verite.evaluation.results import WeighableResults
from verite.evaluation.settings import (
    IGNORE_REGIONS,
    IMPORTANCE,
    MAX_IMAGE_DETS,
    THREADS,
    EvaluationSettings,
    On,
    RankedSettings,
    on_setting,
)
from verite.evaluation.state import EvaluationState
from verite.model.polygons import RLEMasks
from verite.model.results import to_small_json, with_systems
from verite.model.tables import ABSENT, Legend, Part, Table
from verite.protocols.keypoints import Sigmas, choose_sigmas, fill_crowdpose_areas, name_sigmas, pose_areas
from verite.protocols.protocol import protocol
from verite.settings import Choice, Counts, Flag, Option, Setting, Thresholds
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.checks import Finding
    from verite.evaluation.evaluation import Arrays
    from verite.evaluation.partial import MergedNumbers
    from verite.files import JsonObject
    from verite.model.annotations import Annotations
    from verite.model.classes import Labels
    from verite.signature import Signature

    Floats = NDArray[np.float64]


def masks_of(side: Annotations, threads: int) -> RLEMasks:
    """Return the mask of every object; polygons and boxes are rasterised."""
    runs = side.regions.runs
    if runs is not None and bool(np.all(runs.objects[1:] > runs.objects[:-1])):
        return runs
    try:
        # Masks, polygons, boxes and image sizes of all objects, the arguments of `_core.draw_masks`.
        regions = side.regions
        runs, polygons = regions.runs, regions.polygons
        sizes = np.stack([side.images.heights, side.images.widths], axis=1)[side.image]
        is_drawn = np.ones(len(side), np.bool_) if runs is None else runs.objects[1:] == runs.objects[:-1]
        unsized = np.flatnonzero(is_drawn & (sizes <= 0).any(axis=1))
        if len(unsized):
            name = side.images.name(int(side.image[unsized[0]]))
            raise DataError(
                f"{side.source.path or 'annotations'}: expected the size of every image to draw masks, found none for "
                f"{name!r}; {give_sizes()}"
            )
        no_runs = (np.empty(0, np.uint32), np.zeros(1, np.int64), np.empty((0, 2), np.int32))
        no_polygons = (np.empty((0, 2)), np.zeros(1, np.int64), np.empty(0, np.int64))
        rings = (polygons.points, polygons.rings, polygons.objects) if polygons is not None else no_polygons
        outline_arrays = runs.arrays if runs is not None else no_runs, *rings, regions.sizes, sizes
        return RLEMasks(*_core.draw_masks(*outline_arrays, threads))
    except ValueError as error:
        raise DataError(f"{side.source.path or 'annotations'}: {error}") from None


Per = Literal["class", "threshold", "image", "sequence"]

Ignored = Literal["crowd", "explicit", "count", "drop"]

Ties = Literal["id", "file", "row"]

Quirks = Literal["none", "pycocotools", "torchmetrics"]

Area = tuple[str, float, float]

# Evenly spaced as numpy's linspace has them, which pycocotools calls; the ninth threshold is 0.8999999999999999.
THRESHOLDS: tuple[float, ...] = (*(i * ((0.95 - 0.5) / 9) + 0.5 for i in range(9)), 0.95)


AREAS = {
    "all": (0.0, 1e5**2),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e5**2),
}

LIMITS = (1, 10, 100)

# COCO evaluates no keypoints of small objects, and at most twenty predictions per image.
KEYPOINT_DEFAULTS: Mapping[str, object] = {
    "areas": tuple((name, *AREAS[name]) for name in ("all", "medium", "large")),
    "max_dets": (20,),
}

# Points have no area; one threshold, 0.5, is the maximum distance.
POINT_DEFAULTS: Mapping[str, object] = {
    "iou": (0.5,),
    "areas": (("all", *AREAS["all"]),),
    "max_dets": (MOST,),
    "max_distance": DIAGONAL,
}

# Settings that emulate torchmetrics without `iscrowd` and `area`, with images in the order of the file.
TORCHMETRICS: Mapping[str, object] = {"ignored": "count", "area_from": "box", "ties": "file"}

# pycocotools matches at min(threshold, 1 - 1e-10), so that a threshold of 1 can be reached.
HIGHEST = 1 - 1e-10

MOST_AREAS = 24

# Formats with flags for objects that their own protocols ignore; COCO has no such flag.
MARK_IGNORED = ("mot", "kitti", "visdrone")


class CocoThresholds(Thresholds[float | Sequence[float] | None, tuple[float, ...]]):
    """IoU thresholds, COCO's ten by default."""

    def __init__(self) -> None:
        text = "IoU threshold of a match; may be repeated."
        super().__init__(THRESHOLDS, text, short="-t", default_text="0.5 to 0.95 by 0.05")

    def format(self, value: Sequence[float]) -> object:
        """Return COCO's ten thresholds in short form, others one by one."""
        return "0.50:0.05:0.95" if tuple(value) == THRESHOLDS else list(value)


class Areas(Setting[Mapping[str, Sequence[float]] | Sequence[Area] | None, tuple[Area, ...]]):
    """Named area ranges in square pixels, limits included."""

    kind = "area"
    takes = "Mapping[str, Sequence[float]] | Sequence[tuple[str, float, float]]"
    is_repeated = True

    def validate(self, value: Any) -> tuple[Area, ...]:
        ranges = [(k, *v) for k, v in value.items()] if isinstance(value, Mapping) else list(value)
        if not 0 < len(ranges) <= MOST_AREAS:
            raise self.refuse(f"1 to {MOST_AREAS} ranges", len(ranges))
        for name, *limits in (one if isinstance(one, (list, tuple)) and one else (one,) for one in ranges):
            if len(limits) != 2:
                raise self.refuse(f"two limits for {name!r}", len(limits))
            if not limits[0] <= limits[1]:
                raise self.refuse(f"{name!r} to rise", f"{limits[0]:g} to {limits[1]:g}")
        if len({name for name, *_ in ranges}) < len(ranges):
            raise self.refuse("each name once", [name for name, *_ in ranges])
        return tuple((str(name), float(low), float(high)) for name, low, high in ranges)

    def format(self, value: Sequence[Area]) -> object:
        return ",".join(map(spell_area, value))


class CocoSettings(RankedSettings, PointSettings):
    """Settings of the COCO protocol."""

    on: Option[On] = on_setting()
    iou: CocoThresholds = CocoThresholds()
    areas: Areas = Areas(
        tuple((name, *limits) for name, limits in AREAS.items()),
        "Area range in square pixels; may be repeated.",
        names=["area"],
        default_text="COCO's",
    )
    max_dets: Setting[int | Sequence[int] | None, tuple[int, ...]] = Counts(
        LIMITS,
        "Detections per class and image that count; may be repeated.",
        short="-n",
        default_text="1, 10, 100",
    )
    sigmas: Setting[str | PathLike[str] | Sequence[float] | None, tuple[float, ...] | Literal["truth"] | None] = (
        Sigmas()
    )
    ignored: Option[Ignored] = Choice(
        "crowd",
        "Ground truth to ignore: crowd (COCO), explicit (crowd and `ignore` flag), count (none), drop (remove it).",
        Ignored,
    )
    area_from: Option[Literal["file", "box", "pose"]] = Choice(
        "file",
        "Area of a ground-truth object: as its file states, of its box, or 0.53 of its box (CrowdPose, Ultralytics).",
        ("file", "box", "pose"),
        default_text="file; pose with --sigmas crowdpose",
        omit_default=True,
        is_rare=True,
    )
    ties: Option[Ties] = Choice(
        "id",
        "Order of equal confidences: by image id, by image in the ground-truth file, or by row in the predictions.",
        Ties,
        omit_default=True,
        is_rare=True,
    )
    max_image_dets: Option[int | None] = MAX_IMAGE_DETS
    class_agnostic: Option[bool] = Flag(False, "Ignore classes when matching.")
    quirks: Option[Quirks] = Choice(
        "none",
        "Emulate another tool: pycocotools (its bugs: id 0, repeated ids, NaN) or torchmetrics (no crowds, box areas).",
        Quirks,
        flags={"exact": "pycocotools"},
    )
    per: Option[Per] = Choice("class", "Rows of the table.", Per, is_signed=False, is_common=True)
    ignore_regions: Option[float] = IGNORE_REGIONS
    importance: Option[Any] = IMPORTANCE
    threads: Option[int | None] = THREADS

    def defaults(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        usual = {"keypoints": KEYPOINT_DEFAULTS, "point": POINT_DEFAULTS}.get(str(given.get("on")), {})
        if given.get("on") == "keypoints" and str(given.get("sigmas")) == "crowdpose":
            usual = {**usual, "area_from": "pose"}
        return {**usual, **TORCHMETRICS} if given.get("quirks") == "torchmetrics" else usual

    def check(self) -> None:
        if self.max_distance is not None or self.pixel_size is not None:
            check_distance(self)

    def for_truth(self, truth: Annotations) -> CocoSettings:
        """Set `ignored` to explicit for formats with ignored objects or regions: MOT's flag 0, KITTI's DontCare, …"""
        marks = truth.source.format in MARK_IGNORED or "ignore_region" in truth.flags
        if self.ignored == "crowd" and self.quirks == "none" and marks:
            return self.change(ignored="explicit")
        return self

    def choose(self, truth: Annotations, pred: Annotations) -> tuple[Annotations, Annotations]:
        """Return both sides with the chosen classes, and the areas that `area_from` asks for."""
        truth, pred = super().choose(truth, pred)
        if self.ignored == "drop":
            truth = truth.where(~truth.ignored)
        if self.area_from != "file":
            truth = replace(truth, area=None if self.area_from == "box" else pose_areas(truth))
        if self.ties == "file":
            # Both sides with image ids in the order of the ground-truth file.
            from verite.model.images import Images

            old = truth.images
            names = [old.name(i) for i in range(len(old))]
            images = Images(names, range(len(old)), widths=old.widths, heights=old.heights)
            return truth.changed(images=images), pred.changed(images=images) if len(pred.images) == len(old) else pred
        return (truth, pred)

    @property
    def recalls(self) -> tuple[float, ...]:
        """Recalls at which precision is interpolated; in single precision for torchmetrics."""
        return spread_in_single(0, 1, len(RECALLS)) if self.quirks == "torchmetrics" else RECALLS

    @property
    def area_names(self) -> tuple[str, ...]:
        """Names of the area ranges."""
        return tuple(name for name, _, _ in self.areas)


def spell_area(area: Area) -> str:
    """Return the name of an area range, with its limits unless it is one of COCO's."""
    name, low, high = area
    return name if AREAS.get(name) == (low, high) else f"{name}={low:g}..{high:g}"


def single(value: float) -> float:
    """Return the nearest number of single precision, in which torch computes by default."""
    from array import array

    return array("f", [value])[0]


def spread_in_single(first: float, last: float, count: int) -> tuple[float, ...]:
    """Return evenly spaced numbers as torch's linspace computes them: from both ends to the middle, rounded once.

    Parameters
    ----------
    first
        The first number.
    last
        The last number.
    count
        How many there are.

    Returns
    -------
    tuple[float, ...]
        Numbers of single precision. float64's linspace differs from them in the last bits, which moves a few recall
        thresholds.
    """
    first, last = single(first), single(last)
    step = single(single(last - first) / (count - 1))
    rising = [single(first + step * i) for i in range(count // 2)]
    return (*rising, *(single(last - step * (count - 1 - i)) for i in range(count // 2, count)))


SHORT = {"small": "s", "medium": "m", "large": "l"}


@protocol(
    CocoSettings,
    kept=lambda *given: evaluate(*given),
    examples="""
verite coco instances_val.json detections.json
verite coco instances_val.json segments.json --on mask
verite coco instances_val.json a.json b.json c.json
verite coco truth.json pred.json -t 0.5 --areas all:0:1e10 --areas tiny:0:256
verite coco truth.json pred.json --per image -o results/""",
)
def coco(truth: Annotations, pred: Annotations, settings: CocoSettings) -> CocoResults:
    """COCO average precision and recall: the twelve numbers of pycocotools.

    Per class and image, predictions are matched in order of falling confidence, at most ``max(max_dets)`` of them. Each
    is matched with the unmatched ground-truth object of highest IoU, if that reaches the IoU threshold. Crowds and
    objects outside the area range are ignored, and so are predictions matched with them. Precision is interpolated at
    101 recalls and averaged over ten IoU thresholds and all classes.

    Keypoints are compared by object keypoint similarity (OKS) and have ten numbers of their own. `areas` maps names to
    ranges, ``{"all": (0, 1e10), "small": (0, 1024), …}``; the first one is the headline. AP is computed at the largest
    of `max_dets`. ``ignored="explicit"`` also honours the `ignore` flag of annotations, which COCO overwrites by
    `iscrowd`. ``quirks="pycocotools"`` repeats the bugs of pycocotools, which change no bit on sound files;
    ``quirks="torchmetrics"`` gives the numbers of its `MeanAveragePrecision` without crowds and areas.

    References
    ----------
    Lin et al., Microsoft COCO: Common Objects in Context, ECCV 2014.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [20, 20, 30, 30]])
    >>> pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.9])
    >>> results = vt.coco(truth, pred)
    >>> round(results["AP"], 4), results["AR100"].value
    (0.505, 0.5)
    >>> vt.coco(truth, pred, iou=0.5, on="box").signature.name
    'coco'
    """
    evaluation, findings = evaluate(truth, pred, settings)
    if evaluation.rules.sigmas:
        settings = settings.change(sigmas=name_sigmas(settings.sigmas, evaluation.rules.sigmas))
    return CocoResults(evaluation, settings, settings, findings)


def evaluate(truth: Annotations, pred: Annotations, settings: CocoSettings) -> tuple[Evaluation, list[Finding]]:
    """Match ground truth and predictions by COCO's rules; return the evaluation and the findings of the checks."""
    truth, pred, findings = prepare(
        truth, pred, settings.checks, is_exact=settings.quirks == "pycocotools", is_point=settings.on == "point",
        measures="masks" if settings.on in ("mask", "boundary") else "boxes",
    )  # fmt: skip
    need_pixels(truth)
    truth, pred = settings.choose(truth, pred)
    sigmas: tuple[tuple[float, ...], ...] = ()
    if settings.on == "keypoints":
        sigmas = choose_sigmas(settings, truth, pred)
        if settings.area_from == "file":
            truth = fill_crowdpose_areas(truth, sigmas)
    return Evaluation(truth, pred, rules_of(settings, sigmas), thread_count(settings.threads)), findings


def rules_of(settings: CocoSettings, sigmas: tuple[tuple[float, ...], ...] = ()) -> Rules:
    """Return the matching rules of COCO's settings; `sigmas` are the keypoint sigmas of each class.

    torchmetrics compares IoU with thresholds in single precision, and interpolates at recalls in single precision.
    """
    iou = tuple(map(single, settings.iou)) if settings.quirks == "torchmetrics" else settings.iou
    return Rules(
        thresholds=tuple(min(t, HIGHEST) for t in iou),
        similarity=settings.on,
        ranges=tuple((low, high) for _, low, high in settings.areas),
        limits=settings.max_dets,
        recalls=settings.recalls,
        class_agnostic=settings.class_agnostic,
        ignored={"crowd": ("crowd",), "explicit": ("crowd", "ignore", "ignore_region")}.get(settings.ignored, ()),
        shared=("crowd",) if settings.ignored in ("crowd", "explicit") else (),
        image_limit=settings.max_image_dets or 0,
        repeats_quirks=settings.quirks == "pycocotools",
        sigmas=sigmas,
        reach=reach_of(settings) if settings.on == "point" else (0.0, 0.0, 0.0),
        region_share=settings.ignore_regions if settings.ignored != "count" and settings.quirks == "none" else 0.0,
    )


class CocoResults(WeighableResults):
    """Results of the COCO protocol: the twelve numbers, the same per class, IoU threshold and image, and the arrays.

    Returned by :func:`verite.coco`.

    Parameters
    ----------
    numbers : Evaluation or MergedNumbers
        Accumulated precision and recall.
    settings : CocoSettings
        The settings of COCO.
    asked : EvaluationSettings
        The settings of the protocol, for signatures; those of LVIS differ from COCO's.
    findings : sequence of Finding, optional
        Findings of the checks.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [20, 20, 30, 30]])
    >>> pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.9])
    >>> results = vt.coco(truth, pred)
    >>> list(results)[:3], results.precision.shape
    (['AP', 'AP50', 'AP75'], (10, 101, 1, 4, 3))
    >>> [round(ap, 3) for ap in results.class_scores()["AP"]]
    [0.505]
    """

    settings: CocoSettings
    PROTOCOL = "coco"
    SLACK = 2.0**-52  # pycocotools divides by TP + FP + this

    def __init__(
        self,
        numbers: Evaluation | MergedNumbers,
        settings: CocoSettings,
        asked: EvaluationSettings,
        findings: Sequence[Any] = (),
    ) -> None:
        """Compute the scores."""
        self.numbers, self.settings, self.asked = numbers, settings, asked
        self.signature = asked.signature(self.PROTOCOL)
        super().__init__(
            protocol=self.PROTOCOL,
            signature=self.signature,
            scores={key: (self.mean(*part), self.signature_of(*part)) for key, part in self.parts.items()},
            truth=numbers.truth,
            pred=numbers.pred,
            name=asked.name,
            findings=findings,
        )

    @property
    def given_settings(self) -> EvaluationSettings:
        """Settings of the protocol as they were given; those of LVIS differ from COCO's."""
        return self.asked

    def part(self, about: Callable[[Labels], str]) -> EvaluationState:
        """Return the partial result of these images; see `Results.part`."""
        return self.evaluation.part(about(self.truth.labels))

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: Any) -> CocoResults:
        """Return the results of merged partial results."""
        settings = settings.change(sigmas=name_sigmas(settings.sigmas, dict(numbers.notes.sigmas).values()))
        numbers.expect_rules(rules_of(settings))
        return cls(numbers, settings, settings)

    @property
    def per(self) -> str:
        """What the printed table has a row for: class, threshold or image."""
        return self.settings.per

    @cached_property
    def parts(self) -> dict[str, tuple[str, int | None, int, int]]:
        """How each score is averaged, as the parameters of `PrecisionRecall.mean`.

        These are precision or recall, and the positions of the IoU threshold (None: all of them; -1: none, the score is
        nan), of the area range and of the limit of predictions.
        """
        names, limits = [name for name, _, _ in self.settings.areas], self.settings.max_dets
        last = len(limits) - 1
        # pycocotools reads AP, and nothing else, at 100 predictions, whatever the largest number is.
        is_fixed = self.settings.quirks == "pycocotools" and self.settings.on != "keypoints" and 100 in limits
        first = limits.index(100) if is_fixed else last
        found: dict[str, tuple[str, int | None, int, int]] = {"AP": ("precision", None, 0, first)}
        for key, threshold in (("AP50", 0.5), ("AP75", 0.75)):
            at = self.settings.iou.index(threshold) if threshold in self.settings.iou else -1
            found[key] = ("precision", at, 0, last)
        for a, name in enumerate(names[1:], 1):
            found[f"AP{SHORT.get(name, name)}"] = ("precision", None, a, last)
        if self.settings.on == "keypoints":
            found["AR"] = ("recall", None, 0, last)
            for key in ("AP50", "AP75"):
                found[f"AR{key[2:]}"] = ("recall", found[key][1], 0, last)
        for m, limit in enumerate(limits[:-1] if self.settings.on == "keypoints" else limits):
            found[f"AR{limit}"] = ("recall", None, 0, m)
        for a, name in enumerate(names[1:], 1):
            found[f"AR{SHORT.get(name, name)}"] = ("recall", None, a, last)
        return found

    def mean_query(self, score: str, label: str | None = None) -> tuple[Any, ...]:
        """Return the mean behind a score (also AP@0.50), of all classes or one, as the bootstrap takes it."""
        key, _, iou = score.partition("@")
        part: tuple[str, int | None, int, int]
        if iou and key in ("AP", "AR"):
            at = {f"{t:.2f}": i for i, t in enumerate(self.settings.iou)}.get(iou, -1)
            part = ("precision" if key == "AP" else "recall", at, 0, len(self.settings.max_dets) - 1)
        else:
            part = self.parts[self[score].name]
        return part if label is None else (*part[:4], flag_class(self.class_names, label))

    @property
    def evaluation(self) -> Evaluation | MergedNumbers:
        """The evaluation; for merged partial results only methods that need no boxes work."""
        return self.numbers

    def mean(self, kind: str, threshold: int | None, area: int, limit: int) -> float:
        """Return the mean of precision or recall over all classes with objects.

        Parameters
        ----------
        kind
            `precision` (AP) or `recall` (AR).
        threshold
            Position of the IoU threshold; None for the mean over all.
        area
            Position of the area range: all, small, medium, large.
        limit
            Position of the limit on predictions per image and class.

        Returns
        -------
        float
            The score in [0, 1]; NaN where no class has objects, or the reference does not compute it.
        """
        # The reference reads AP at 100 predictions, and all scores of keypoints at 20, or not at all.
        if self.settings.quirks == "pycocotools":
            is_fixed = self.settings.on == "keypoints" or (kind, threshold, area) == ("precision", None, 0)
            if is_fixed and (20 if self.settings.on == "keypoints" else 100) not in self.settings.max_dets:
                return nan
        return self.numbers.mean(kind, threshold, area, limit)

    def importance_query(self) -> tuple[dict[str, tuple[str, Sequence[int]]], Sequence[float]]:
        every = range(len(self.settings.iou))
        asked: dict[str, tuple[str, Sequence[int]]] = {"AP": ("precision", every)}
        asked |= {f"AP{100 * t:g}": ("precision", [i]) for i, t in enumerate(self.settings.iou) if t in (0.5, 0.75)}
        return asked | {"AR": ("recall", every)}, self.settings.recalls

    def signature_of(self, kind: str, threshold: int | None, area: int, limit: int) -> Signature:
        """Return the signature of one score: its own threshold, area range and limit.

        Parameters
        ----------
        kind
            `precision` (AP) or `recall` (AR).
        threshold
            Position of the IoU threshold; None for the mean over all.
        area
            Position of the area range.
        limit
            Position of the limit on predictions.

        Returns
        -------
        Signature
            The settings of the run, narrowed to what this score depends on, so that AP50 of two runs compares
            whatever the other thresholds were.
        """
        one: dict[str, object] = {"areas": spell_area(self.settings.areas[area])}
        if threshold is not None:
            one["iou"] = self.settings.iou[threshold] if threshold >= 0 else nan
        if len(self.settings.max_dets) > 1:
            one["max_dets"] = self.settings.max_dets[limit]
        return self.signature.replace(f"{self.PROTOCOL}_{'ap' if kind == 'precision' else 'ar'}", **one)

    def tp_needed_per_recall(self, truths: int) -> NDArray[np.int64]:
        """Return the true positives needed for each of the 101 recalls, for `truths` objects."""
        return np.searchsorted(np.arange(1, truths + 1) / truths, self.settings.recalls) + 1

    @property
    def notes(self) -> list[str]:
        """Notes that are printed below the scores: low scores, ignored objects, predictions without boxes."""
        found: list[str] = []
        regions = self.pred.columns.regions
        if self.settings.on == "box" and not regions.has_all_boxes:
            hint = "predictions have masks and no boxes: areas are those of the masks, as in pycocotools; see "
            hint += spell_option("on", "mask")
            if regions.has_only_boxes:
                hint = "predictions have keypoints and no boxes: boxes are those around the points; see "
                hint += spell_option("on", "keypoints")
            found.append(hint)
        found += explain_low_score(self)
        # Objects that their file flags as ignored, a flag that COCO itself does not honour.
        count = int(self.truth.flag("ignore").sum()) if "ignore" in self.truth.columns.flag_names else 0
        if count and self.settings.ignored == "explicit":
            hint = f"; {spell_option('ignored', 'count')} counts them" if self.PROTOCOL == "coco" else ""
            found.append(f"{count:,} objects are marked as ignored and were ignored{hint}")
        elif count and self.settings.ignored != "drop":
            hint = f"{spell_option('ignored', 'explicit')} ignores them"
            found.append(f"{count:,} objects are marked as ignored and were counted; {hint}")
        if self.distances is not None:
            found.append(distance_sentence(self.distances[0], self.settings.max_distance, self.settings.pixel_size))
        if self.settings.importance is not None:
            found.append(str(self.importance))
        return [*found, *super().notes]

    @cached_property
    def distances(self) -> tuple[DistanceErrors, list[DistanceErrors]] | None:
        """Localization errors of points at the first threshold, of all classes and of each; None for other regions."""
        if self.settings.on != "point" or not self.has_objects:
            return None
        order = self.truth.labels.by_id
        every, each = summarise_distances(
            self.truth, self.pred, self.outcomes(self.settings.iou[0]), len(self.truth.labels), self.settings.pixel_size
        )
        if self.settings.class_agnostic:
            return every, [every]
        return every, each if order is None else [each[i] for i in order]

    @property
    def arrays(self) -> Arrays:
        """Arrays precision[T, R, K, A, M], recall[T, K, A, M] and scores[T, R, K, A, M]; absent values are `nan`.

        T are IoU thresholds, R recalls, K classes, A area ranges, M limits of predictions.
        ``results.arrays.with_absent(-1)`` are pycocotools' own arrays, bit for bit.
        """
        return self.evaluation.arrays

    @property
    def curve_table(self) -> Floats:
        """Precision [threshold, recall, class] of the first area range: a small part of `arrays`.

        Raises `DataError` for very many classes, of which those without objects have a row, too.
        """
        rules = self.evaluation.rules
        if isinstance(self.evaluation, Evaluation):
            self.evaluation.check_curves(len(self.class_names) * len(rules.thresholds) * len(rules.recalls))
        return np.asarray(self.numbers.native.curves)

    @property
    def precision(self) -> Floats:
        """precision[T, R, K, A, M]; see `arrays`."""
        return self.arrays.precision

    @property
    def recall(self) -> Floats:
        """recall[T, K, A, M]; see `arrays`."""
        return self.arrays.recall

    @cached_property
    def class_names(self) -> list[str]:
        """Names of the classes along the K axis: by id, as in pycocotools."""
        if self.settings.class_agnostic:
            return ["all classes"]
        names = self.truth.labels.all_names
        order = self.truth.labels.by_id
        return list(names) if order is None else [names[i] for i in order]

    def class_scores(self) -> dict[str, list[float]]:
        """Return for each score its value per class, in the order of `class_names`."""
        return {key: self.class_means(*part) for key, part in self.parts.items()}

    def class_means(self, kind: str, threshold: int | None, area: int, limit: int) -> list[float]:
        """Return the mean of precision or recall for each class."""
        return self.numbers.class_means(kind, threshold, area, limit)

    def class_table(self) -> Table:
        """Return the headline scores per class, with numbers of ground-truth objects and predictions."""
        recall = "AR" if self.settings.on == "keypoints" else f"AR{max(self.settings.max_dets)}"
        shown = [key for key in ("AP", "AP50", "AP75", recall) if key in self.parts]
        columns: dict[str, Sequence[Any]] = {key: self.class_means(*self.parts[key]) for key in shown}
        truths, preds = self.numbers.counts
        columns |= {"truths": truths, "preds": preds}
        mean = {key: float(self.scores[key]) for key in shown} | {"truths": sum(truths), "preds": sum(preds)}
        if self.distances is not None:
            columns["distance"], mean["distance"] = mean_column(self.distances[1]), self.distances[0].mean
        return Table.of("class", self.class_names, columns, mean=mean)

    def threshold_table(self) -> Table:
        """Return AP and AR at each IoU threshold."""
        last = len(self.settings.max_dets) - 1
        ap = [self.mean("precision", t, 0, last) for t in range(len(self.settings.iou))]
        ar = [self.mean("recall", t, 0, last) for t in range(len(self.settings.iou))]
        return Table.of(self.words.overlap, [f"{t:.4g}" for t in self.settings.iou], {"AP": ap, "AR": ar})

    def image_table(self) -> Table:
        """Return per image its AP when evaluated alone, and objects, TP, FN and FP at the first IoU threshold.

        The worst image comes first.
        """
        found = self.by_image()
        missed = [truths - hits for truths, hits in zip(found["truths"], found["found"], strict=True)]
        mistakes = [wrong + lost for wrong, lost in zip(found["wrong"], missed, strict=True)]
        ap = found["precision"]
        order = sorted(range(len(ap)), key=lambda i: (-2.0 if isnan(ap[i]) else -ap[i], mistakes[i]))[::-1]
        names = [self.truth.images.name(found["image"][i]) for i in order]
        columns = {"AP": ap, "truths": found["truths"], "found": found["found"], "missed": missed}
        columns["false"] = found["wrong"]
        return Table.of("image", names, {key: [values[i] for i in order] for key, values in columns.items()})

    def sequence_table(self) -> Table:
        """Return the headline scores of each video sequence evaluated alone, with its frames, objects and predictions.

        Sequences are those of the file (`video_id`, the tracks' sequences), else the folders of frames named
        ``SEQUENCE/000042``. Their scores do not average to the combined ones, whose classes run over all sequences.

        Raises
        ------
        DataError
            If images are no frames: their names have no number.
        """
        from verite.model.sequences import Sequences

        at = Sequences.of(self.truth.images, self.truth.source.path or "truth")
        recall = "AR" if self.settings.on == "keypoints" else f"AR{max(self.settings.max_dets)}"
        shown = [key for key in ("AP", "AP50", "AP75", recall) if key in self.parts]
        is_in = np.arange(len(at.names))[:, None] == at.sequence[None, :]
        scores = self.draw_scores(shown, is_in.astype(np.float64))
        columns: dict[str, Sequence[Any]] = {key: scores[:, k].tolist() for k, key in enumerate(shown)}
        by_image, sizes = self.by_image(), len(at.names)
        owner = at.sequence[np.asarray(by_image["image"], dtype=np.int64)]
        columns["frames"] = np.bincount(at.sequence, minlength=sizes).tolist()
        columns["truths"] = np.bincount(owner, by_image["truths"], sizes).astype(int).tolist()
        columns["preds"] = np.bincount(at.sequence[self.pred.image], minlength=sizes).tolist()
        mean = {key: float(self.scores[key]) for key in shown}
        mean |= {key: sum(columns[key]) for key in ("frames", "truths", "preds")}
        return Table.of("sequence", list(at.names), columns, mean=mean)

    def tables(self) -> dict[str, Table]:
        """Return the tables per class, IoU threshold and image, and per sequence if asked for or stated by the file."""
        images = {"images": self.image_table()} if self.has_objects else {}
        if self.has_objects and (self.settings.per == "sequence" or self.truth.images.sequences is not None):
            images["sequences"] = self.sequence_table()
        return {"classes": self.class_table(), "thresholds": self.threshold_table(), **images}

    def to_text(self, width: int | None = None, *, legend: bool = False) -> str:
        """Return the scores in two rows (AP, AR), the table per class, and the settings."""
        from verite.model.styles import wrap_text

        keys = list(self.scores)
        half = keys.index(next(key for key in keys if key.startswith("AR")))
        lines = [one_line(self.name)]
        for group in (keys[:half], keys[half:]):
            cells = [(key, ABSENT if isnan(self.scores[key]) else f"{self.scores[key]:.4f}") for key in group]
            widths = [max(len(key), len(value)) for key, value in cells]
            lines += ["  ".join(key.rjust(w) for (key, _), w in zip(cells, widths, strict=True))]
            lines += ["  ".join(value.rjust(w) for (_, value), w in zip(cells, widths, strict=True))]
        notes = [wrap_text(note, width) for note in self.notes]
        settings = f"settings: {self.signature}"
        explained = ["", *(wrap_text(line, width) for line in self.legend())] if legend else []
        return "\n".join([*lines, "", self.chosen_table().to_text(width), *explained, "", settings, *notes])

    def legend(self) -> list[Legend]:
        """Return what each score means, with the thresholds, areas and limits of this evaluation."""
        iou, overlap = self.settings.iou, self.words.overlap
        mean = f"{iou[0]:.2f}" if len(iou) == 1 else f"{iou[0]:.2f} to {iou[-1]:.2f} ({len(iou)} thresholds)"
        most = self.settings.max_dets[-1]
        areas = "; ".join(f"{name} {low:g} to {high:g} px²" for name, low, high in self.settings.areas[1:])
        return [
            Legend(f"AP: mean over classes of average precision at {overlap} {mean}, interpolated at 101 recalls."),
            Legend("AP50, AP75: the same at one threshold. APs, APm, APl, ARs, ARm, ARl: objects of one area range."),
            Legend(f"ARn: mean recall with at most n predictions per image and class, here up to {most}."),
            *([Legend(f"Area ranges: {areas}.")] if areas else []),
        ]

    def remarks(self) -> list[str]:
        """Return lines on classes without predictions, object id 0 and tied confidences; none without checks."""
        if self.settings.checks == "off" or not len(self.truth):
            return []
        from verite.checks import remarks_on_ap

        truths, preds = self.numbers.counts
        rows = zip(self.class_names, truths, preds, strict=True)
        unpredicted = [name for name, objects, found in rows if objects and not found]
        lines = remarks_on_ap(self.truth, self.pred, unpredicted)
        is_emulated = self.settings.quirks == "pycocotools"  # then id 0 is missed here, too
        return [line for line in lines if not (is_emulated and line.startswith("V217"))]

    def contents(self) -> list[Part]:
        """Return the scores, the chosen table, the signature and the notes."""
        scores = Table(("system", *self.scores), ((self.name, *(score.value for score in self.scores.values())),))
        return [scores, self.chosen_table(), self.signature, *self.notes]

    def chosen_table(self) -> Table:
        """Return the table that the setting `per` chooses."""
        tables = {
            "class": self.class_table,
            "threshold": self.threshold_table,
            "image": self.image_table,
            "sequence": self.sequence_table,
        }
        return tables[self.settings.per]()

    def main_table(self) -> Table:
        """Return the table that CSV and LaTeX output show."""
        return self.chosen_table()

    def to_json(self, *, indent: int = 0) -> str:
        """Return one JSON document; absent values are null."""
        return to_small_json(with_systems(self.name, self.to_dict()), indent=indent)

    def details(self) -> JsonObject:
        """Return the documented keys of the JSON document: the scores, and the same per class and threshold."""
        by_class = self.class_scores()
        truths, preds = self.numbers.counts
        classes = {
            name: {key: by_class[key][k] for key in by_class} | {"truths": truths[k], "preds": preds[k]}
            for k, name in enumerate(self.class_names)
        }
        at = self.threshold_table()
        thresholds = [{"iou": t, "AP": ap, "AR": ar} for t, (_, ap, ar) in zip(self.settings.iou, at.rows, strict=True)]
        document: JsonObject = {key: score.value for key, score in self.scores.items()}
        document |= {"classes": classes, "thresholds": thresholds}
        if self.distances is not None:
            document["distance"] = self.distances[0].to_dict()
            for name, one in zip(self.class_names, self.distances[1], strict=True):
                classes[name]["distance"] = one.mean
        if self.per in ("image", "sequence"):
            table = self.chosen_table()
            document[f"{self.per}s"] = {name: dict(zip(table.head[1:], row, strict=True)) for name, *row in table.rows}
        return document


def flag_class(names: Sequence[str], label: str) -> list[bool]:
    """Return a flag per class that is true for one class; raise `BadParameter` if it is unknown.

    Parameters
    ----------
    names
        All classes.
    label
        The one that is wanted.

    Returns
    -------
    list[bool]
        Flags in the order of the classes, as queries for means take them.
    """
    if label not in names:
        raise BadParameter(f"class: expected one of {len(names)} classes, found {label!r}{did_you_mean(label, names)}")
    return [name == label for name in names]
