"""Localization quality of matched objects: any metric of the catalogue, per object, per class and over a dataset.

Predictions are matched to ground truth greedily by IoU, or by image. Each metric is computed for every matched pair and
averaged; missed ground truth and spurious predictions are counted, or scored as empty regions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from verite import _core
from verite.arrays import np
from verite.checks.check import Finding
from verite.errors import BadParameter, DataError, excerpt, give_sizes
from verite.evaluation.bootstrap import draw_ratio
from verite.evaluation.evaluation import box_candidates
from verite.evaluation.importance import object_weights
from verite.evaluation.prepare import Checks, prepare
from verite.evaluation.settings import (
    ComparisonSettings,
    Ignored,
    Pixel,
    PolygonRule,
    Regions,
    Weights,
    above_threshold,
    highest_threshold,
)
from verite.formats import Readable, read_pair
from verite.formats.volumes import are_volumes
from verite.metrics.catalogue import every_metric, metric
from verite.metrics.importance import are_pixel_weights, check_weighable, is_weighable, pixel_weights, weigh_pixels
from verite.metrics.metric import Metric, measure
from verite.model.annotations import Annotations
from verite.model.regions import BOX
from verite.model.results import Matches, Results, choose_threshold
from verite.model.shapes import Spacing
from verite.model.tables import Part, Table, show_cell
from verite.pairs import Array, Pairs
from verite.pairs.objects import (
    compares_boxes,
    ignored_truth,
    iou_of,
    lie_in_ignore_regions,
    mean_of,
    pairs_of,
    region_kinds,
)
from verite.settings import Choice, Number, Option, Setting
from verite.signature import Signature, spell
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.files import JsonObject

Match = Literal["greedy", "image"]
Unmatched = Literal["leave", "score"]
Per = Literal["class", "case"]
MASK_IMAGES = "mask-pictures"  # the name of the format
SMALLEST_IOU = 5e-324  # objects without an intersection never match, whatever the threshold
MOST_COLUMNS = 6  # metrics side by side in a table of classes


class SpacingSetting(Setting[Any, Spacing | None]):
    """A spacing: one number for both axes, two, or their text with a unit."""

    def validate(self, value: Any) -> Spacing:
        return Spacing.of(value)

    def format(self, value: Any) -> object:
        return str(value)


class LocalizeSettings(ComparisonSettings):
    """The settings of `verite localize`."""

    match: Option[Match | None] = Choice(
        None,
        "Match objects greedily by IoU, or pair the objects of each image and class whatever their IoU.",
        Match,
        default_text="image for mask images of one object each, else greedy",
    )
    iou: Option[float] = Number(
        0.5,
        "IoU threshold at which a prediction matches a ground-truth object; 0 is any overlap.",
        least=0,
        most=1,
        short="-t",
    )
    spacing: Setting[Any, Spacing | None] = SpacingSetting(
        None,
        "Distance between neighbouring rows and columns, e.g. 0.7,0.7 (mm) or 3,3um: distances are in that unit.",
        metavar="ROWS,COLUMNS",
        default_text="distances in pixels",
    )
    unmatched: Option[Unmatched | None] = Choice(
        None,
        "False negatives and false positives: leave them out of the means, or score them as empty regions.",
        Unmatched,
        default_text="leave; score with --match image",
    )

    importance: Option[Any] = Weights(
        None,
        "Weights: of objects (a table with the column weight and image, class or id), or of pixels for metrics of "
        "areas (a folder of grey images, or a table keypoint,weight).",
        metavar="FILE|FOLDER",
        omit_default=True,
    )
    per: Option[Per] = Choice("class", "Rows of the table: class, or case (image or volume).", Per, is_signed=False)

    def defaults(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Score unmatched objects by default where objects are paired by image: a missing mask is a bad one."""
        match = given.get("match") or "greedy"
        return {"match": match, "unmatched": "score" if match == "image" else "leave"}


@dataclass(frozen=True, eq=False)
class MatchedObjects:
    """Matching of two datasets by rows: truth[i] is matched with pred[i]; the others are missed or spurious."""

    truth: NDArray[np.int64]
    pred: NDArray[np.int64]
    overlap: NDArray[np.float64]  # IoU of each match
    missed: NDArray[np.int64]  # ground truth without a match (false negatives)
    spurious: NDArray[np.int64]  # predictions without a match (false positives)

    def scored_rows(self, unmatched: Unmatched | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of ground truth and prediction of every scored pair; -1 is no object."""
        missed, spurious = (rows if unmatched == "score" else rows[:0] for rows in (self.missed, self.spurious))
        return (
            np.concatenate([self.truth, missed, np.full(len(spurious), -1)]),
            np.concatenate([self.pred, np.full(len(missed), -1), spurious]),
        )


def match_objects(truth: Annotations, pred: Annotations, settings: LocalizeSettings) -> MatchedObjects:
    """Match predictions, by falling confidence, to the unmatched object of image and class with the highest IoU.

    A prediction that matches none but reaches the threshold with an ignored object, or lies in an ignore region, is
    neither matched nor spurious.
    """
    if settings.match == "image":
        return match_images(truth, pred, settings)
    confidence = np.ones(len(pred)) if pred.confidence is None else pred.confidence
    order = np.argsort(-np.nan_to_num(confidence, nan=-np.inf), kind="stable")
    if settings.confidence is not None:
        order = order[above_threshold(pred, settings.confidence)[order]]
    candidates = box_candidates(truth, pred, pixel=1.0 if settings.pixel == "plus1" else 0.0, threads=thread_count())
    preds, truths = candidates.pred, candidates.truth.astype(np.int64)
    # Candidates have the IoU of their boxes; polygons and masks get that of their pixels.
    are_boxes = (region_kinds(truth, truths) == BOX) & (region_kinds(pred, preds) == BOX)
    as_boxes = compares_boxes(truth, pred, truths, preds, settings.regions)
    by_pixels = np.flatnonzero(~are_boxes & ~as_boxes)
    if len(by_pixels):
        overlap = candidates.overlap.copy()
        overlap[by_pixels] = iou_of(pairs_of(truth, pred, truths[by_pixels], preds[by_pixels], settings))
        candidates = replace(candidates, overlap=overlap)
    ignored = ignored_truth(truth, settings)
    pair = _core.match_candidates(candidates.arrays, order, ignored, max(settings.iou, SMALLEST_IOU))
    matched_truth = np.append(candidates.truth, np.int32(-1))[pair].astype(np.int64)
    matched_pred = np.flatnonzero((matched_truth >= 0) & ~np.append(ignored, False)[matched_truth])
    missed = ~ignored
    missed[matched_truth[matched_pred]] = False
    is_spurious = (matched_truth < 0) & ~lie_in_ignore_regions(truth, pred, settings)
    return MatchedObjects(
        truth=matched_truth[matched_pred],
        pred=matched_pred,
        overlap=candidates.overlap[pair[matched_pred]],
        missed=np.flatnonzero(missed),
        spurious=np.sort(order[is_spurious[order]]),
    )


def match_images(truth: Annotations, pred: Annotations, settings: LocalizeSettings) -> MatchedObjects:
    """Match the ground truth and the prediction of each image and class, whatever their IoU."""
    ignored = ignored_truth(truth, settings)
    labels = max(len(pred.labels), len(truth.labels))
    sides = []
    for side, kept in ((truth, ~ignored), (pred, np.ones(len(pred), np.bool_))):
        rows = np.flatnonzero(kept)
        key = side.image[rows].astype(np.int64) * labels + side.label[rows]
        keys, first, number = np.unique(key, return_index=True, return_counts=True)
        if len(keys) < len(rows):
            image = int(side.image[rows[first[np.argmax(number)]]])
            raise DataError(
                f"{side.source.path or 'annotations'}: expected one object per class and image (match image), found "
                f"{number.max()} in {side.images.name(image)!r}; match greedy matches those of highest IoU"
            )
        sides.append((keys, rows[first]))
    (truth_keys, truths), (pred_keys, preds) = sides
    both, at_truth, at_pred = np.intersect1d(truth_keys, pred_keys, assume_unique=True, return_indices=True)
    truth_rows, pred_rows = truths[at_truth], preds[at_pred]
    overlap = np.empty(0)
    if len(both):
        overlap = iou_of(pairs_of(truth, pred, truth_rows, pred_rows, settings))
    spurious = np.setdiff1d(preds, pred_rows)
    spurious = spurious[~lie_in_ignore_regions(truth, pred, settings)[spurious]]
    return MatchedObjects(truth_rows, pred_rows, overlap, np.setdiff1d(truths, truth_rows), spurious)


@dataclass(frozen=True, eq=False)
class Measured:
    """Scored pairs: their regions as they are plotted, the values of each metric, and a caption per pair (or none).

    `weights` are those of the pairs in means, None where all weigh 1.
    """

    pairs: Pairs
    values: dict[str, Array]
    captions: Sequence[str] = field(default_factory=tuple)
    weights: Array | None = None


def localize(
    truth: Readable,
    pred: Readable,
    *metrics: str | Metric | Sequence[str | Metric],
    all: bool = False,
    iou: float = 0.5,
    confidence: float | None = None,
    match: Match | None = None,
    unmatched: Unmatched | None = None,
    spacing: Any = None,
    regions: Regions = "common",
    pixel: Pixel = "continuous",
    ignored: Ignored = "skip",
    polygons: PolygonRule = "coco",
    labels: Iterable[str] | None = None,
    importance: Any = None,
    per: Per = "class",
    name: str | None = None,
    checks: Checks = "stop",
) -> LocalizationResults:
    """Measure localization metrics of matched objects: per object, per class and over the dataset.

    In order of decreasing confidence, each prediction is matched to the free ground-truth object of its image and class
    with the highest IoU, if that reaches `iou`. Ground truth without a match is missed, a prediction without one is
    spurious. Volumes (NIfTI, .npy, TIFF files of several pages, `Volume`) are compared in three dimensions, one pair
    per case and value.

    Parameters
    ----------
    truth, pred : Annotations, path, or anything :func:`verite.read` takes
        Ground truth and predictions.
    *metrics : str, Metric or list of them
        Metrics of the catalogue, e.g. ``"iou"`` or ``"hausdorff(quantile=0.95)"``.
    all : bool, default False
        Add every metric that these regions allow.
    iou : float, default 0.5
        IoU threshold of a match; 0 is any overlap.
    confidence : float, mapping or path, optional
        Drop predictions below this confidence, or below that of their class. Default: keep all.
    match : {"greedy", "image"}, optional
        "image" pairs the objects of each image and class whatever their IoU. Default: "image" for mask images of one
        object each, else "greedy".
    unmatched : {"leave", "score"}, optional
        Leave missed and spurious objects out of the means, or score them as empty regions. Default: "leave", and
        "score" with ``match="image"``.
    spacing : number, (rows, columns) or str, optional
        Distance between neighbouring pixels, e.g. ``"0.7,0.7 mm"``: distances are in its unit. Default: pixels.
    regions : {"common", "box", "given"}, default "common"
        Compare boxes where either side has nothing else and pixels otherwise; always boxes; or each region as given.
    pixel : {"continuous", "plus1"}, default "continuous"
        Read the corners of boxes as coordinates or as pixel indices.
    ignored : {"skip", "count"}, default "skip"
        Ignore crowd, difficult and group-of ground truth, or count it.
    polygons : str, default "coco"
        Rule by which polygons become pixels.
    labels : iterable of str, optional
        Classes to evaluate. Default: all.
    importance : path or iterable of float, optional
        Weights of ground-truth objects in the means (a table with the column ``weight`` and ``image``, ``class`` or
        ``id``, or one number per object), or of pixels in metrics of areas: a folder with a grey image per image, or a
        table with the columns ``keypoint`` and ``weight``. Default: everything weighs 1.
    per : {"class", "case"}, default "class"
        Rows of the printed table: classes, or cases (images or volumes).
    name : str, optional
        Name of the detector. Default: from its file.
    checks : {"stop", "warn", "off"}, default "stop"
        Whether suspicious inputs stop the evaluation, warn, or are not checked.

    Returns
    -------
    LocalizationResults
        `scores[metric]`, `values[metric]` per pair, `matched` with the rows, and tables.

    Raises
    ------
    BadParameter
        If no metric is given, or a setting is out of its range.
    DataError
        If a metric is not defined for these regions.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 4, 4], [10, 10, 14, 14]])
    >>> pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 4, 3]], confidence=[0.9])
    >>> results = vt.localize(truth, pred, "iou", "centre_distance", checks="off")
    >>> results.scores["iou"].value, results.scores["centre_distance"].value, len(results.matched.missed)
    (0.75, 0.5, 1)
    """
    settings = LocalizeSettings(
        match=match,
        spacing=spacing,
        regions=regions,
        pixel=pixel,
        polygons=polygons,
        iou=iou,
        confidence=confidence,
        ignored=ignored,
        unmatched=unmatched,
        labels=labels,
        importance=importance,
        per=per,
        name=name,
        checks=checks,
    )
    if not isinstance(all, bool):
        raise BadParameter(f"all: expected True or False, found {excerpt(all)}")
    listed: list[str | Metric] = []
    for one in metrics:
        listed += one if isinstance(one, (list, tuple)) else [one]  # type: ignore[list-item]
    chosen = [metric(m) for m in listed]
    if not chosen and not all:
        raise BadParameter("localize: expected at least one metric, e.g. iou, or all; found none")
    if are_volumes(truth, pred):
        from verite.metrics.volumes import localize_volumes

        if importance is not None:
            raise BadParameter("importance: expected none for volumes, whose voxels all weigh the same")
        return localize_volumes(truth, pred, chosen, spacing=spacing, name=name, per=per)
    truth, pred = read_pair(truth, pred)
    is_one_per_image = [
        side.source.format == MASK_IMAGES and len(side.labels) == 1 and len(np.unique(side.image)) == len(side)
        for side in (truth, pred)
    ]
    if match is None and min(is_one_per_image):
        settings = settings.change(match="image", unmatched=unmatched or "score")
    truth, pred, findings = prepare(truth, pred, settings.checks, is_ap=False)
    threshold_note = settings.describe_threshold(pred)
    truth, pred = settings.choose(truth, pred)
    if all:
        is_sized = truth.unit != "rel" and truth.images.sized and pred.images.sized
        fitting = [m for m in every_metric() if is_sized or not m.needs_image]
        chosen += [m for m in fitting if m not in chosen and (truth.unit != "rel" or m.record.on == "region")]
    chosen = list(dict.fromkeys(chosen))
    weighs_pixels = importance is not None and are_pixel_weights(importance)
    if weighs_pixels:
        if all:
            chosen = [m for m in chosen if m in listed or is_weighable(m)]
        check_weighable(chosen)
    check_units(truth, chosen)
    matched = match_objects(truth, pred, settings)
    rows = matched.scored_rows(settings.unmatched)
    pairs = pairs_of(truth, pred, *rows, settings, settings.spacing)
    if weighs_pixels:
        pairs = weigh_pixels(pairs, pixel_weights(importance, truth, pred, *rows))
    measured = Measured(pairs, measure(pairs, chosen))
    if importance is not None and not weighs_pixels:
        measured = replace(measured, weights=np.append(object_weights(importance, truth), 1.0)[rows[0]])
    results = LocalizationResults(settings, chosen, truth, pred, matched, measured, findings)
    results.threshold_note = threshold_note
    return results


def check_units(truth: Annotations, metrics: Sequence[Metric]) -> None:
    """Refuse metrics of shapes and distances for boxes in fractions of images of unknown size.

    Parameters
    ----------
    truth
        Ground truth; its unit is pixels or fractions of the image.
    metrics
        The metrics asked for. IoU-like ones do not depend on the unit of the axes, distances and contours do.
    """
    for chosen in metrics if truth.unit == "rel" else ():
        if chosen.record.on != "region" or chosen.needs_image:
            raise DataError(
                f"{chosen.name}: expected boxes in pixels, found fractions of images whose size is not known; "
                f"{give_sizes()}"
            )


class LocalizationResults(Results):
    """Localization metrics of every matched object, with means per class and over the dataset.

    `values[name]` has one value per pair of `pairs`: the matched objects, then, where they are scored, the missed and
    the spurious ones. `matched` has their rows, `captions` a text per pair for its figure, or none.
    """

    def __init__(
        self,
        settings: LocalizeSettings,
        metrics: Sequence[Metric],
        truth: Annotations,
        pred: Annotations,
        matched: MatchedObjects,
        measured: Measured,
        findings: Sequence[Finding] = (),
    ) -> None:
        self.settings, self.metrics, self.matched = settings, metrics, matched
        self.pairs, self.values, self.captions = measured.pairs, measured.values, measured.captions
        self.weights = np.ones(len(measured.pairs)) if measured.weights is None else measured.weights
        self.truth_rows, self.pred_rows = matched.scored_rows(settings.unmatched)
        self.label = self.of_pairs(truth.label, pred.label)
        super().__init__(
            protocol="localize",
            signature=self.sign_all([m.name for m in metrics]),
            scores={m.name: (mean_of(self.values[m.name], self.weights), self.sign(m)) for m in metrics},
            truth=truth,
            pred=pred,
            name=settings.name,
            findings=findings,
        )

    def of_pairs(self, truth: NDArray[Any], pred: NDArray[Any]) -> NDArray[Any]:
        """Return the image or class of each scored pair: the ground truth's, or the prediction's if there is none."""
        return np.where(self.truth_rows >= 0, np.append(truth, 0)[self.truth_rows], np.append(pred, 0)[self.pred_rows])

    def sign_all(self, metrics: object) -> Signature:
        """Return the signature of the result: the metrics and all settings."""
        return Signature("localize", (("metrics", spell(metrics)), *self.settings.signature("").settings))

    def sign(self, chosen: Metric) -> Signature:
        """Return the signature of one mean: the metric's parameters and all settings."""
        own, facts = dict(chosen.signature.settings), dict(self.settings.signature("").settings)
        rev = own.pop("rev")
        del facts["rev"]
        # A parameter of a user's metric may have the name of a setting.
        own = {f"{chosen.record.name}.{key}" if key in facts else key: value for key, value in own.items()}
        return Signature.of(chosen.record.name, **own, **facts, rev=rev)

    def matches(self, iou: float | None = None) -> Matches:
        """Return the matches at the IoU threshold; ignored ground truth is not counted."""
        choose_threshold((self.settings.iou,), iou)
        found, sizes = self.matched, (len(self.truth), len(self.pred))
        confidence = highest_threshold(self.settings.confidence)
        pairs = found.truth, found.pred
        return Matches.of_pairs(self.settings.iou, sizes, pairs, found.missed, found.spurious, confidence)

    @property
    def names(self) -> tuple[str, ...]:
        """The class names; predictions may have more classes than the ground truth."""
        known = self.pred.labels if len(self.pred.labels) >= len(self.truth.labels) else self.truth.labels
        return known.all_names

    def counts(self) -> dict[str, NDArray[np.int64]]:
        """Return the number of matched, missed and spurious objects of each class."""
        count = len(self.names)
        found = self.matched
        return {
            "matched": np.bincount(self.truth.label[found.truth], minlength=count),
            "missed": np.bincount(self.truth.label[found.missed], minlength=count),
            "spurious": np.bincount(self.pred.label[found.spurious], minlength=count),
        }

    def draw_scores(self, scores: Sequence[str], weights: Array, label: str | None = None) -> Array:
        """Return bootstrap means of some metrics, [draw, metric], for weights of the images, [draw, image].

        Parameters
        ----------
        scores
            Names of the metrics, as the scores are called.
        weights
            How often each image occurs in each bootstrap sample.
        label
            Class whose pairs are averaged; None for all.

        Returns
        -------
        Array
            The weighted mean over matched pairs; every pair counts as often as its image.
        """
        image = self.of_pairs(self.truth.image, self.pred.image)
        at = slice(None) if label is None else self.label == self.names.index(label)
        values, count = [self.values[self[score].name][at] for score in scores], self.weights[at]
        return np.stack([draw_ratio(weights, image[at], own * count, count) for own in values], axis=1)

    @property
    def class_names(self) -> list[str]:
        return list(self.names)

    def class_scores(self) -> dict[str, list[float]]:
        """Return the mean of each metric over the objects of every class."""
        rows = [np.flatnonzero(self.label == i) for i in range(len(self.names))]
        return {name: [mean_of(values[at], self.weights[at]) for at in rows] for name, values in self.values.items()}

    def class_table(self) -> Table:
        """Return a table of classes: matched, missed and spurious objects, and the mean of each metric."""
        counts = {state: column.tolist() for state, column in self.counts().items()}
        means = {name: score.value for name, score in self.scores.items()}
        totals = {state: sum(column) for state, column in counts.items()}
        return Table.of("class", self.class_names, {**counts, **self.class_scores()}, mean={**totals, **means})

    def case_table(self) -> Table:
        """Return a table of cases (images or volumes): numbers of objects, and the mean of each metric over them."""
        image, count = self.of_pairs(self.truth.image, self.pred.image), len(self.truth.images)
        found = self.matched
        counts = {
            "matched": np.bincount(self.truth.image[found.truth], minlength=count).tolist(),
            "missed": np.bincount(self.truth.image[found.missed], minlength=count).tolist(),
            "spurious": np.bincount(self.pred.image[found.spurious], minlength=count).tolist(),
        }
        rows = [np.flatnonzero(image == i) for i in range(count)]
        means = {name: [mean_of(values[at], self.weights[at]) for at in rows] for name, values in self.values.items()}
        totals = {state: sum(column) for state, column in counts.items()}
        names = [self.truth.images.name(i) for i in range(count)]
        mean = {**totals, **{name: score.value for name, score in self.scores.items()}}
        return Table.of("case", names, {**counts, **means}, mean=mean)

    def metric_table(self) -> Table:
        """Return a table of metrics: better direction, unit, mean, SD, median, quartiles, worst value and count."""
        columns: dict[str, list[Any]] = {"better": [], "unit": []}
        keys = ("mean", "sd", "median", "q1", "q3", "worst", "count")
        columns |= {key: [] for key in keys}
        for m in self.metrics:
            values = self.values[m.name]
            worst = nan  # the value farthest from the best
            if len(values) and m.best is not None:
                worst = float(values[np.argmax(np.abs(values - m.best))])
            found = {**summary(values, self.weights), "worst": worst}
            row = (m.better, m.unit_with(self.settings.spacing), *(found[key] for key in keys))
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
        return Table.of("metric", [m.name for m in self.metrics], columns)

    def shown_metrics(self) -> Table:
        """Return the printed table of metrics: mean ± SD and median [first to third quartile]."""
        rows = []
        for name, better, unit, mean, sd, median, q1, q3, worst, count in self.metric_table().rows:
            spread = show_cell(mean) if isnan(sd) else f"{mean:.4f} ± {sd:.4f}"
            middle = show_cell(median) if isnan(sd) else f"{median:.4f} [{q1:.4f}, {q3:.4f}]"
            rows.append((name, better, unit, spread, middle, worst, count))
        return Table(("metric", "better", "unit", "mean ± SD", "median [IQR]", "worst", "count"), tuple(rows))

    @property
    def treatment(self) -> str:
        """The numbers of matched, missed and spurious objects, and whether the latter are in the means."""
        found = self.matched
        counts = f"{len(found.truth):,} matched, {len(found.missed):,} missed, {len(found.spurious):,} spurious"
        treated = "scored as empty regions" if self.settings.unmatched == "score" else "counted, not in the means"
        weighted = ""
        if self.settings.importance is not None:
            pixels = are_pixel_weights(self.settings.importance)
            weighted = "; areas are weighted by pixel" if pixels else "; means are weighted by object, spreads are not"
        return f"{counts}; the missed and spurious are {treated}{weighted}"

    def is_error(self, score: str) -> bool:
        """Whether lower values of a metric are better."""
        return any(m.name == score and m.better == "lower" for m in self.metrics)

    def tables(self) -> dict[str, Table]:
        return {
            "metrics": self.metric_table(),
            "classes": self.class_table(),
            "cases": self.case_table(),
            "objects": self.object_table(),
        }

    def contents(self) -> list[Part]:
        parts: list[Part] = [f"{self.name}   {self.treatment}", self.shown_metrics()]
        if self.settings.per == "case":
            parts.append(self.case_table())
        elif len(self.metrics) <= MOST_COLUMNS and len(self.class_names) > 1:
            parts.append(self.class_table())
        shown = self.signature
        if len(self.metrics) > MOST_COLUMNS:  # their names are in the table
            shown = self.sign_all(len(self.metrics))
        return [*parts, shown, *self.notes]

    def object_rows(self) -> list[ObjectRow]:
        """Return one row per object: image, class, state (matched, missed, spurious), rows, IoU and values."""
        found = self.matched
        states = ["matched"] * len(found.truth) + ["missed"] * len(found.missed) + ["spurious"] * len(found.spurious)
        truths = [*found.truth.tolist(), *found.missed.tolist(), *[None] * len(found.spurious)]
        preds = [*found.pred.tolist(), *[None] * len(found.missed), *found.spurious.tolist()]
        lists = {name: [*values.tolist(), *[nan] * (len(states) - len(values))] for name, values in self.values.items()}
        rows: list[ObjectRow] = []
        for i, (state, t, p) in enumerate(zip(states, truths, preds, strict=True)):
            side, at = (self.pred, p) if t is None else (self.truth, t)
            confidence = None if p is None or self.pred.confidence is None else float(self.pred.confidence[p])
            rows.append(
                {
                    "image": side.images.name(int(side.image[at])),
                    "class": self.names[int(side.label[at])],
                    "state": state,
                    "truth": t,
                    "pred": p,
                    "confidence": confidence,
                    "overlap": float(found.overlap[i]) if state == "matched" else None,
                    "values": {name: None if isnan(column[i]) else column[i] for name, column in lists.items()},
                }
            )
        return rows

    def details(self) -> JsonObject:
        counts = {state: column.tolist() for state, column in self.counts().items()}
        rows = [np.flatnonzero(self.label == i) for i in range(len(self.names))]
        classes = {}
        for i, name in enumerate(self.names):
            own = {m: summary(values[rows[i]], self.weights[rows[i]]) for m, values in self.values.items()}
            classes[name] = {**{state: column[i] for state, column in counts.items()}, "metrics": own}
        about = {
            m.name: {"better": m.better, "best": m.best, "unit": m.unit_with(self.settings.spacing)}
            for m in self.metrics
        }
        return {
            "signatures": {name: str(score.signature) for name, score in self.scores.items()},
            "metrics": {name: {**summary(values, self.weights), **about[name]} for name, values in self.values.items()},
            **{state: sum(column) for state, column in counts.items()},
            "unmatched": self.settings.unmatched,
            "classes": classes,
            **({"cases": self.case_rows()} if self.settings.per == "case" else {}),
            "objects": self.object_rows(),
        }

    def case_rows(self) -> dict[str, JsonObject]:
        """Return the rows of :meth:`case_table` by case, for JSON."""
        table = self.case_table()
        return {name: dict(zip(table.head[1:], row, strict=True)) for name, *row in table.rows}

    def object_table(self) -> Table:
        """Return the rows of :meth:`object_rows` as a table."""
        rows = self.object_rows()
        heads = tuple(ObjectRow.__annotations__)[:-1]  # without the values, which follow
        cells = tuple((*list(row.values())[:-1], *row["values"].values()) for row in rows)
        return Table((*heads, *self.values), cells)


# One object of a `LocalizationResults`; the keys are those of the JSON document.
ObjectRow = TypedDict(
    "ObjectRow",
    {
        "image": str,
        "class": str,
        "state": str,  # matched, missed or spurious
        "truth": int | None,  # rows of the files
        "pred": int | None,
        "confidence": float | None,
        "overlap": float | None,
        "values": dict[str, float | None],  # by metric
    },
)


class Summary(TypedDict):
    """Values of a metric in short; NaN where there are too few. The keys are those of the JSON document."""

    mean: float
    sd: float
    median: float
    q1: float
    q3: float
    count: int


def summary(values: Array, weights: Array) -> Summary:
    """Return mean, standard deviation, median, quartiles and number of values; NaN where there are too few.

    Only the mean is weighted.
    """
    q1, median, q3 = np.percentile(values, (25, 50, 75)).tolist() if len(values) else (nan, nan, nan)
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else nan
    return {"mean": mean_of(values, weights), "sd": sd, "median": median, "q1": q1, "q3": q3, "count": len(values)}
