"""ImageNet protocols: top-k errors of localization and classification, and AP of detection, as in the devkits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.evaluation.bootstrap import draw_ratio
from verite.evaluation.evaluation import Evaluation, Rules, box_candidates
from verite.evaluation.prepare import need_pixels, prepare
from verite.evaluation.settings import IGNORE_REGIONS, THREADS, EvaluationSettings
from verite.formats.imagenet_loc import read_blacklist
from verite.model.annotations import Annotations
from verite.model.classes import EXCLUDED, ImageLevelLabels, is_in
from verite.model.results import Matches, Results, choose_threshold
from verite.model.tables import Table
from verite.protocols.curves import (
    IOU,
    TIES,
    CurveSettings,
    GroupedResults,
    Ties,
    curves_of,
    merged_group_curves,
    part_of_curves,
)
from verite.protocols.protocol import protocol
from verite.settings import Constant, Counts, FileOrContent, Number, Option, Overlaps, Setting, Threshold
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.evaluation.partial import MergedNumbers
    from verite.evaluation.state import EvaluationState
    from verite.files import JsonObject
    from verite.model.classes import Labels

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

Path = str | PathLike[str]
PIXEL = 1.0  # corners are pixel indices: a width is x2 - x1 + 1


class TopErrorResults(Results):
    """Results of the localization task: top-1 and top-5 error of class and box, and of the class alone."""

    def __init__(
        self,
        settings: TopErrorSettings,
        errors: dict[str, TopErrors],
        truth: Annotations,
        pred: Annotations,
        findings: Sequence[Any] = (),
    ) -> None:
        self.settings, self.errors = settings, errors
        scores = {key: (found.mean, settings.signature(key, guesses=found.guesses)) for key, found in errors.items()}
        super().__init__(
            protocol="imagenet-loc",
            signature=settings.signature("imagenet_loc"),
            scores=scores,
            truth=truth,
            pred=pred,
            name=settings.name,
            findings=findings,
        )

    @property
    def class_names(self) -> list[str]:
        return list(self.truth.labels.all_names)

    def class_scores(self) -> dict[str, list[float]]:
        """Return each error over the images of each class."""
        return {key: found.by_class.tolist() for key, found in self.errors.items()}

    def is_error(self, score: str) -> bool:
        return True

    def draw_scores(self, scores: Sequence[str], weights: Floats, label: str | None = None) -> Floats:
        return np.stack([self.draw_score(self[score].name, weights, label) for score in scores], axis=1)

    def draw_score(self, score: str, weights: Floats, label: str | None) -> Floats:
        image, labels, is_wrong = self.errors[score].cells
        if label is not None:
            chosen = labels == self.class_names.index(label)
            return draw_ratio(weights, image[chosen], is_wrong[chosen], np.ones(chosen.sum()))
        share = 1 / np.bincount(image)[image]  # the labels of an image share its weight
        return draw_ratio(weights, image, is_wrong * share, share)

    def class_table(self) -> Table:
        columns: dict[str, list[Any]] = {key.replace("_", " "): values for key, values in self.class_scores().items()}
        images = next(iter(self.errors.values())).images.tolist()
        mean = {key.replace("_", " "): score.value for key, score in self.scores.items()}
        return Table.of("class", self.class_names, {"images": images, **columns}, mean=mean)

    def details(self) -> JsonObject:
        """Return the documented keys of the JSON: the four errors, and the same per class."""
        by_class = self.class_scores()
        images = next(iter(self.errors.values())).images.tolist()
        classes = {
            name: {"images": images[k], **{key: values[k] for key, values in by_class.items()}}
            for k, name in enumerate(self.class_names)
        }
        return {key: score.value for key, score in self.scores.items()} | {"classes": classes}


class TopErrorSettings(EvaluationSettings):
    on = Constant("box")
    guesses: Setting[int | Sequence[int], tuple[int, ...]] = Counts(
        (1, 5), "Guesses per image that count; may be repeated.", short="-n"
    )
    iou: Option[float] = Threshold(0.5, "IoU threshold of a correct box.", short="-t")
    pixel = Constant("plus1")
    image = Constant("mean of its labels")
    blacklist: Option[Path | Iterable[str] | None] = FileOrContent(
        None, "Images that count for classification alone: one per line."
    )


@dataclass(frozen=True, eq=False)
class TopErrors:
    """Of one kind, with so many guesses."""

    guesses: int
    mean: float  # over images; the labels of an image share its weight
    by_class: Floats
    images: NDArray[np.int64]  # that have the class
    cells: tuple[NDArray[np.int64], NDArray[np.int64], Floats]  # image, label and whether it is wrong


@protocol(
    TopErrorSettings,
    best=0.0,
    files="TRUTH is a solution CSV or a folder of the devkit's XML, PREDs are prediction CSVs, or any known format",
    examples="""
verite imagenet-loc LOC_val_solution.csv predictions.csv
verite imagenet-loc Annotations/ a.csv b.csv
verite imagenet-loc LOC_val_solution.csv predictions.csv --blacklist blacklist.txt
verite imagenet-loc LOC_val_solution.csv predictions.csv --json | jq .top5_error""",
)
def imagenet_loc(truth: Annotations, pred: Annotations, settings: TopErrorSettings) -> TopErrorResults:
    """Top-1 and top-5 error of ImageNet's localization task, and of classification alone.

    The first predictions of an image count, in the order of the file, or by falling confidence where there is one. A
    class of the image is found if one of them has it and its box has an IoU of at least `iou` with one of the class's
    boxes; corners are pixel indices. For classification the class is enough. The error of an image is the share of its
    classes that are not found; the error is the mean over images. Images of the `blacklist` (a file with one number or
    name per line) count for classification alone.

    References
    ----------
    Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge, IJCV 2015.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "b"], ["cat", "dog"], [[0, 0, 9, 9], [0, 0, 9, 9]])
    >>> pred = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9], [0, 0, 9, 9]], confidence=[0.9, 0.8])
    >>> vt.imagenet_loc(truth, pred)["top5_error"].value
    0.5
    """
    truth, pred, findings = prepare(truth, pred, settings.checks, is_ranked=False)
    need_pixels(truth, "the +1 rule")
    excluded = np.zeros(len(truth.images), dtype=np.bool_)
    if settings.blacklist is not None:
        excluded[read_blacklist(settings.blacklist, truth, with_labels=False).image] = True
    cells, found, rank = guess_table(truth, pred, settings)
    errors = {}
    for kind, columns in (("", 1), ("_class", 0)):
        for most in settings.guesses:
            right = np.zeros(len(cells), dtype=np.bool_)
            kept = (found[:, 0] >= 0) & (rank < most) & (found[:, 1] >= columns)
            right[found[kept, 0]] = True
            errors[f"top{most}{kind}_error"] = errors_of(truth, cells, ~right, most, excluded if kind == "" else None)
    return TopErrorResults(settings, errors, truth, pred, findings)


def guess_table(
    truth: Annotations, pred: Annotations, settings: TopErrorSettings
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Labels of images (image × labels + label), for each guess which of them it names (-1: none) and whether it is in
    place, and its rank in its image.
    """
    labels = len(truth.labels)
    cells = np.unique(truth.image.astype(np.int64) * labels + truth.label)
    mine = pred.image.astype(np.int64) * labels + pred.label
    at = np.minimum(np.searchsorted(cells, mine), max(len(cells) - 1, 0))
    named = (cells[at] == mine) & (pred.label < labels) if len(cells) else np.zeros(len(pred), np.bool_)
    in_place = np.diff(box_candidates(truth, pred, pixel=PIXEL, min_iou=settings.iou).offsets) > 0
    confidence = np.ones(len(pred)) if pred.confidence is None else pred.confidence
    order = np.lexsort((-confidence, pred.image))
    images = pred.image[order]
    rank = np.empty(len(pred), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.searchsorted(images, images)
    return cells, np.stack([np.where(named, at, -1), in_place.astype(np.int64)], axis=1), rank


def errors_of(
    truth: Annotations, cells: NDArray[np.int64], is_wrong: Bools, guesses: int, excluded: Bools | None
) -> TopErrors:
    labels = max(len(truth.labels), 1)
    image, label = cells // labels, cells % labels
    if excluded is not None:
        kept = ~excluded[image]
        image, label, is_wrong = image[kept], label[kept], is_wrong[kept]
    counts = np.bincount(image, minlength=len(truth.images))
    wrong = np.bincount(image, weights=is_wrong, minlength=len(truth.images))
    there = counts > 0
    images = np.bincount(label, minlength=len(truth.labels))
    with np.errstate(invalid="ignore"):
        by_class = np.bincount(label, weights=is_wrong, minlength=len(truth.labels)) / images
    mean = float((wrong[there] / counts[there]).mean()) if there.any() else np.nan
    return TopErrors(guesses, mean, by_class, images, (image, label, is_wrong.astype(np.float64)))


class DetectionSettings(CurveSettings):
    SCORE = "imagenet_det_ap"
    on = Constant("box")
    iou: Overlaps = IOU
    tolerance: Option[float] = Number(
        10.0, "Tolerance in pixels, which lowers the IoU threshold of small objects.", least=0
    )
    interpolation = Constant("all")
    pixel = Constant("plus1")
    match = Constant("best unused")
    ties: Option[Ties] = TIES
    blacklist: Option[Path | Iterable[tuple[str, str]] | None] = FileOrContent(
        None, "Classes that do not count in an image: IMAGE CLASS per line."
    )
    ignore_regions: Option[float] = IGNORE_REGIONS
    threads: Option[int | None] = THREADS


class DetectionResults(GroupedResults):
    """Results of the detection task: average precision per class, with the curves."""

    settings: DetectionSettings
    has_ignore_regions = True

    def matches(self, iou: float | None = None) -> Matches:
        """Which prediction is matched to which ground truth at one of the IoU thresholds."""
        threshold = self.settings.iou[choose_threshold(self.settings.iou, iou)]
        kept = evaluate_at(threshold, self.settings, self.truth, self.pred)
        return kept.matches((threshold,), None, self.settings.confidence)

    def part(self, about: Callable[[Labels], str]) -> EvaluationState:
        every = np.ones(len(self.truth), dtype=np.bool_)
        return part_of_curves(self, about, (every, ~every))

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: Any) -> DetectionResults:
        """Return the results of merged partial results."""
        curves = merged_group_curves(numbers, len(settings.iou), 0.0, is_reversed=False)
        return cls("imagenet-det", settings, curves, numbers.truth, numbers.pred).with_numbers(numbers)


@protocol(
    DetectionSettings,
    examples="""
verite imagenet-det Annotations/ detections.json
verite imagenet-det Annotations/ detections.json --blacklist ILSVRC2014_det_validation_blacklist.txt
verite imagenet-det truth.json a.json b.json -o results/""",
)
def imagenet_det(truth: Annotations, pred: Annotations, settings: DetectionSettings) -> DetectionResults:
    """Average precision of ImageNet's detection task.

    The IoU threshold of an object of w × h pixels is min(`iou`, wh / ((w + t)(h + t))) with t the `tolerance`, so that
    a small object may be missed by some pixels on each side. In order of falling confidence, a prediction is matched
    with the unmatched ground-truth object of its class that has the highest IoU among those whose threshold it reaches;
    it is a false positive if there is none. Pairs of image and class on the `blacklist` (a file with an image number or
    name and a class per line) are dropped on both sides.

    References
    ----------
    Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge, IJCV 2015.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]])  # 10 × 10: the IoU threshold is 100 / 400
    >>> pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 2]], confidence=[0.9])
    >>> vt.imagenet_det(truth, pred)["mAP"].value
    1.0
    """
    truth, pred, findings = prepare(truth, pred, settings.checks, measures="boxes")
    need_pixels(truth, "the +1 rule")
    if settings.blacklist is not None:
        truth, pred = without(truth, pred, read_blacklist(settings.blacklist, truth, with_labels=True))
    truth, pred = settings.choose(truth, pred)
    curves = [curves_of(evaluate_at(threshold, settings, truth, pred)) for threshold in settings.iou]
    return DetectionResults("imagenet-det", settings, curves, truth, pred, findings)


def without(truth: Annotations, pred: Annotations, said: ImageLevelLabels) -> tuple[Annotations, Annotations]:
    """Return both sides without the classes that are excluded in an image.

    Parameters
    ----------
    truth
        Ground truth.
    pred
        Predictions.
    said
        Labels of whole images; an excluded class is not annotated in that image.

    Returns
    -------
    tuple[Annotations, Annotations]
        Both sides. In these images predictions of the class are neither right nor wrong.
    """
    labels = max(len(truth.labels), len(pred.labels))
    cells = said.cells(labels, EXCLUDED)
    kept = [side.where(~is_in(cells, side.image, side.label, labels)) for side in (truth, pred)]
    return kept[0], kept[1]


def evaluate_at(threshold: float, settings: DetectionSettings, truth: Annotations, pred: Annotations) -> Evaluation:
    # The IoU threshold of each ground-truth object: lower for small ones.
    sides = truth.regions.boxes[:, 2:] - truth.regions.boxes[:, :2] + PIXEL
    wanted: Floats = sides.prod(axis=1) / (sides + settings.tolerance).prod(axis=1)
    least = np.minimum(wanted, threshold)
    rules = Rules(
        thresholds=(float(least.min(initial=1.0)),),
        similarity="corner_box",
        pixel=PIXEL,
        equal="first",
        ties="image" if settings.ties == "image" else "row",
        allow_unknown_classes=True,
        ignored=("ignore_region",),
        region_share=settings.ignore_regions,
    )
    return Evaluation(truth, pred, rules, thread_count(settings.threads), min_iou=least)
