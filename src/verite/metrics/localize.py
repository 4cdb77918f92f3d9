"""How well are objects localized? Catalogue metrics over the matched objects of two data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError, excerpt, give_sizes
from verite.evaluation.bootstrap import draw_ratio
from verite.evaluation.evaluation import Candidates, box_candidates
from verite.evaluation.prepare import Checks, prepare
from verite.evaluation.settings import (
    ComparisonSettings,
    Ignored,
    Pixel,
    PolygonRule,
    Regions,
    above_threshold,
    highest_floor,
)
from verite.formats import Readable, read_pair
from verite.formats.volumes import are_volumes
from verite.metrics.catalogue import every_metric, metric
from verite.metrics.metric import Metric, measure
from verite.model.annotations import Annotations
from verite.model.regions import BOX
from verite.model.results import Matches, Results, choose_threshold
from verite.model.shapes import Spacing
from verite.model.tables import Part, Table
from verite.pairs import Array, Pairs
from verite.pairs.objects import ignored_truths, kinds, mean_of, overlap_of, pairs_of, uses_boxes
from verite.settings import Choice, Number, Option, Setting
from verite.signature import Signature, spell
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

Match = Literal["greedy", "image"]

Unmatched = Literal["leave", "score"]


class SpacingSetting(Setting[Any, Spacing | None]):
    """One number for both, two, or their text with a unit."""

    def validate(self, value: Any) -> Spacing:
        return Spacing.of(value)

    def format(self, value: Any) -> object:
        return None if value is None else str(value)


class LocalizeSettings(ComparisonSettings):
    match: Option[Match | None] = Choice(
        None,
        "Which objects are one: those that overlap most, or the ones of an image whatever their overlap.",
        Match,
        default_text="image for pictures of one mask each, else greedy",
    )
    iou: Option[float] = Number(
        0.5,
        "Overlap from which a prediction and a truth are one object; 0 is any overlap.",
        least=0,
        most=1,
        short="-t",
    )
    spacing: Setting[Any, Spacing | None] = SpacingSetting(
        None,
        "How far apart rows and columns lie, e.g. 0.7,0.7 (mm) or 3,3um: distances are in that unit.",
        metavar="ROWS,COLUMNS",
        default_text="distances in pixels",
    )
    unmatched: Option[Unmatched | None] = Choice(
        None,
        "Missed and spurious objects: count them, or also score them as empty regions.",
        Unmatched,
        default_text="leave; score with --match image",
    )

    def defaults(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """An image without a mask on one side is an answer, and a bad one."""
        match = given.get("match") or "greedy"
        return {"match": match, "unmatched": "score" if match == "image" else "leave"}


MASK_PICTURES = "mask-pictures"

SOME = 5e-324  # objects that share nothing never match, whatever the threshold


@dataclass(frozen=True, eq=False)
class MatchedObjects:
    """Objects of both sides, by their rows: truth[i] with pred[i], and those that stayed alone."""

    truth: NDArray[np.int64]
    pred: NDArray[np.int64]
    overlap: NDArray[np.float64]
    missed: NDArray[np.int64]  # truths without a prediction
    spurious: NDArray[np.int64]  # predictions without a truth


def match_objects(truth: Annotations, pred: Annotations, settings: LocalizeSettings) -> MatchedObjects:
    """In the order of falling confidence each prediction takes the free truth of its image and label it overlaps most.

    A prediction that finds none but reaches the threshold with an ignored truth is neither matched nor spurious.
    """
    if settings.match == "image":
        return match_images(truth, pred, settings)
    confidence = np.ones(len(pred)) if pred.confidence is None else pred.confidence
    order = np.argsort(-np.nan_to_num(confidence, nan=-np.inf), kind="stable")
    if settings.confidence is not None:
        order = order[above_threshold(pred, settings.confidence)[order]]
    candidates = with_region_overlaps(truth, pred, settings)
    ignored = ignored_truths(truth, settings)
    pair = _core.match_candidates(candidates.arrays, order, ignored, max(settings.iou, SOME))
    taken = np.append(candidates.truth, np.int32(-1))[pair].astype(np.int64)
    found = np.flatnonzero((taken >= 0) & ~np.append(ignored, False)[taken])
    missed = ~ignored
    missed[taken[found]] = False
    return MatchedObjects(
        truth=taken[found],
        pred=found,
        overlap=candidates.overlap[pair[found]],
        missed=np.flatnonzero(missed),
        spurious=np.sort(order[taken[order] < 0]),
    )


def are_single(*sides: Annotations) -> bool:
    """Are these pictures of one mask each?"""
    return all(
        side.source.format == MASK_PICTURES and len(side.labels) == 1 and len(np.unique(side.image)) == len(side)
        for side in sides
    )


def match_images(truth: Annotations, pred: Annotations, settings: LocalizeSettings) -> MatchedObjects:
    """The truth and the prediction of each image and label, whatever they share."""
    ignored = ignored_truths(truth, settings)
    labels = max(len(pred.labels), len(truth.labels))
    places = []
    for side, kept in ((truth, ~ignored), (pred, np.ones(len(pred), np.bool_))):
        rows = np.flatnonzero(kept)
        place = side.image[rows].astype(np.int64) * labels + side.label[rows]
        used, first, number = np.unique(place, return_index=True, return_counts=True)
        if len(used) < len(rows):
            odd = int(side.image[rows[first[np.argmax(number)]]])
            raise DataError(
                f"{side.source.path or 'annotations'}: expected one object of a class an image (match image), found "
                f"{number.max()} in {side.images.name(odd)!r}; match greedy takes those that overlap most"
            )
        places.append((used, rows[first]))
    (mine, truths), (theirs, preds) = places
    both, one, two = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    truth_rows, pred_rows = truths[one], preds[two]
    overlap = overlap_of(pairs_of(truth, pred, truth_rows, pred_rows, settings)) if len(both) else np.empty(0)
    return MatchedObjects(
        truth_rows, pred_rows, overlap, np.setdiff1d(truths, truth_rows), np.setdiff1d(preds, pred_rows)
    )


def with_region_overlaps(truth: Annotations, pred: Annotations, settings: LocalizeSettings) -> Candidates:
    """Pairs of one image and label whose boxes overlap, by the overlap of what is compared: boxes or pixels."""
    pixel = 1.0 if settings.pixel == "plus1" else 0.0
    candidates = box_candidates(truth, pred, pixel=pixel, threads=thread_count())
    owner, rows = candidates.pred, candidates.truth.astype(np.int64)
    are_boxes = (kinds(truth, rows) == BOX) & (kinds(pred, owner) == BOX)
    needs = np.flatnonzero(~are_boxes & ~uses_boxes(truth, pred, rows, owner, settings.regions))
    if not len(needs):
        return candidates
    overlap = candidates.overlap.copy()
    overlap[needs] = overlap_of(pairs_of(truth, pred, rows[needs], owner[needs], settings))
    return replace(candidates, overlap=overlap)


MOST_COLUMNS = 6  # metrics beside each other in a table of classes

STATES = ("matched", "missed", "spurious")


def localize(
    truth: Readable,
    pred: Readable,
    *metrics: str | Metric,
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
    name: str | None = None,
    checks: Checks = "stop",
) -> LocalizationResults:
    """Catalogue metrics over matched objects: per object, per class and for the data set.

    In the order of falling confidence each prediction takes the free truth of its image and class that it overlaps
    most, if the overlap reaches `iou` (0: any overlap). Truths left over are missed, predictions left over spurious:
    they are counted, and `unmatched="score"` also gives them the value of an empty region; otherwise the means are over
    matched objects alone. Truths that are to be ignored (crowds, difficult, groups) neither match nor miss, unless
    `ignored="count"`. Predictions below `confidence` are left out. With `match="image"`, as pictures of one mask each
    have it, the two masks of an image are one pair whatever their overlap, and a missing one is an empty region.
    Files of volumes (NIfTI, .npy, TIFFs of several pages) and `Volume` are compared label by label in three dimensions.
    `spacing` (rows, columns; a number for both; "0.7,0.7 mm") puts all distances into its unit.

    `regions="common"` compares boxes where either side has nothing better, else pixels; "box" compares boxes always,
    "given" each region as it is. `pixel="plus1"` reads the corners of boxes as pixel indices. `all` adds every metric
    that fits the regions.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 4, 4], [10, 10, 14, 14]])
    >>> pred = Annotations.of(["a"], ["cat"], [[0, 0, 4, 3]], confidence=[0.9])
    >>> found = localize(truth, pred, "iou", "centre_distance", checks="off")
    >>> found.scores["iou"].value, found.scores["centre_distance"].value, len(found.matched.missed)
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
        name=name,
        checks=checks,
    )
    if not isinstance(all, bool):
        raise BadParameter(f"all: expected True or False, found {excerpt(all)}")
    chosen = [metric(m) for m in metrics]
    if not chosen and not all:
        raise BadParameter("localize: expected at least one metric, e.g. iou, or all; found none")
    if are_volumes(truth, pred):
        from verite.metrics.volumes import localize_volumes

        return localize_volumes(truth, pred, chosen, spacing=spacing, name=name)
    truth, pred = read_pair(truth, pred)
    if match is None and are_single(truth, pred):
        settings = settings.change(match="image", unmatched=unmatched or "score")
    truth, pred, findings = prepare(truth, pred, settings.checks, is_ap=False)
    threshold_note = settings.describe_threshold(pred)
    truth, pred = settings.choose(truth, pred)
    if all:
        chosen += [m for m in fitting_metrics(truth, pred) if m not in chosen]
    refuse_fractions(truth, chosen)
    results = LocalizationResults(settings, list(dict.fromkeys(chosen)), truth, pred, findings)
    results.threshold_note = threshold_note
    return results


def fitting_metrics(truth: Annotations, pred: Annotations) -> list[Metric]:
    """Every metric that the regions of these data sets allow."""
    if truth.unit == "rel":
        return [m for m in every_metric() if m.record.on == "region" and not m.needs_image]
    is_sized = truth.images.sized and pred.images.sized
    return [m for m in every_metric() if is_sized or not m.needs_image]


def refuse_fractions(truth: Annotations, metrics: Sequence[Metric]) -> None:
    """Fractions of an image of unknown proportions know areas, but no distances and no shapes."""
    for chosen in metrics if truth.unit == "rel" else ():
        if chosen.record.on != "region" or chosen.needs_image:
            raise DataError(
                f"{chosen.name}: expected boxes in pixels, found fractions of images whose size is not known; "
                f"{give_sizes()}"
            )


@dataclass(frozen=True, eq=False)
class Measured:
    """What is known of pairs: themselves as they are drawn, the values of each metric, their overlaps."""

    pairs: Pairs
    values: dict[str, Array]
    overlap: Array = field(default_factory=lambda: np.zeros(0))
    said: Sequence[str] = ()


class LocalizationResults(Results):
    """Values of every matched object, with means per class and over all.

    `values[name]` has a value for each pair of `pairs`: the matched objects, then, where they are scored, the missed
    and the spurious ones.
    """

    def __init__(
        self,
        settings: LocalizeSettings,
        metrics: list[Metric],
        truth: Annotations,
        pred: Annotations,
        findings: Sequence[Any] = (),
        measured: Callable[[NDArray[np.int64], NDArray[np.int64]], Measured] | None = None,
    ) -> None:
        """`measured` knows rows of both sides, -1 being none, whose regions are not in the annotations."""
        self.settings, self.metrics = settings, metrics
        self.matched: MatchedObjects = match_objects(truth, pred, settings)
        found = self.matched
        is_scored = settings.unmatched == "score"
        missed, spurious = (rows if is_scored else rows[:0] for rows in (found.missed, found.spurious))
        self.truth_rows = np.concatenate([found.truth, missed, np.full(len(spurious), -1)])
        self.pred_rows = np.concatenate([found.pred, np.full(len(missed), -1), spurious])
        if measured is not None:
            known = measured(self.truth_rows, self.pred_rows)
            self.matched = replace(found, overlap=known.overlap[: len(found.truth)])
        else:
            pairs = pairs_of(truth, pred, self.truth_rows, self.pred_rows, settings)
            known = Measured(pairs, measure(pairs, metrics))
        self.pairs: Pairs = known.pairs
        self.values: dict[str, Array] = known.values
        self.said = known.said  # of each pair, what its picture shows of it
        self.label = np.where(
            self.truth_rows >= 0, np.append(truth.label, 0)[self.truth_rows], np.append(pred.label, 0)[self.pred_rows]
        )
        scores = {m.name: (mean_of(self.values[m.name]), self.sign(m)) for m in metrics}
        super().__init__(
            protocol="localize",
            signature=self.sign_all([m.name for m in metrics]),
            scores=scores,
            truth=truth,
            pred=pred,
            name=settings.name,
            findings=findings,
        )

    def sign_all(self, metrics: object) -> Signature:
        """What all means have in common."""
        return Signature("localize", (("metrics", spell(metrics)), *self.settings.signature("").settings))

    def sign(self, chosen: Metric) -> Signature:
        """What exactly a mean is the mean of."""
        own, facts = dict(chosen.signature.settings), dict(self.settings.signature("").settings)
        rev = own.pop("rev")
        del facts["rev"]
        # A parameter of one's own metric may be called like a setting.
        own = {f"{chosen.record.name}.{key}" if key in facts else key: value for key, value in own.items()}
        return Signature.of(chosen.record.name, **own, **facts, rev=rev)

    def matches(self, iou: float | None = None) -> Matches:
        """Which prediction is matched to which ground truth; ignored ones do not count."""
        choose_threshold((self.settings.iou,), iou)
        found, sizes = self.matched, (len(self.truth), len(self.pred))
        confidence = highest_floor(self.settings.confidence)
        pairs = found.truth, found.pred
        return Matches.of_pairs(self.settings.iou, sizes, pairs, found.missed, found.spurious, confidence)

    @property
    def names(self) -> tuple[str, ...]:
        """What the labels are called; predictions may know more of them than the truth."""
        known = self.pred.labels if len(self.pred.labels) >= len(self.truth.labels) else self.truth.labels
        return known.all_names

    def counts(self) -> dict[str, NDArray[np.int64]]:
        """How many objects of each label were matched, missed and spurious."""
        count = len(self.names)
        found = self.matched
        return {
            "matched": np.bincount(self.truth.label[found.truth], minlength=count),
            "missed": np.bincount(self.truth.label[found.missed], minlength=count),
            "spurious": np.bincount(self.pred.label[found.spurious], minlength=count),
        }

    def draw_scores(self, scores: Sequence[str], weights: Array, label: str | None = None) -> Array:
        image = np.where(
            self.truth_rows >= 0,
            np.append(self.truth.image, 0)[self.truth_rows],
            np.append(self.pred.image, 0)[self.pred_rows],
        )
        at = slice(None) if label is None else self.label == self.names.index(label)
        values = [self.values[self[score].name][at] for score in scores]
        return np.stack([draw_ratio(weights, image[at], own, np.ones(len(own))) for own in values], axis=1)

    @property
    def class_names(self) -> list[str]:
        return list(self.names)

    def class_scores(self) -> dict[str, list[float]]:
        """For each metric its mean over the objects of every class."""
        rows = [np.flatnonzero(self.label == i) for i in range(len(self.names))]
        return {name: [mean_of(values[at]) for at in rows] for name, values in self.values.items()}

    def class_table(self) -> Table:
        """What was found of each class, and the mean of each metric."""
        counts = {state: column.tolist() for state, column in self.counts().items()}
        means = {name: score.value for name, score in self.scores.items()}
        totals = {state: sum(column) for state, column in counts.items()}
        return Table.of("class", self.class_names, {**counts, **self.class_scores()}, mean={**totals, **means})

    def metric_table(self) -> Table:
        """One row a metric: which way is better, mean, median and the extremes."""
        columns: dict[str, list[Any]] = {"better": [], "unit": [], "mean": [], "median": [], "worst": [], "count": []}
        for m in self.metrics:
            values = self.values[m.name]
            row = (
                m.better,
                m.unit_with(self.settings.spacing),
                mean_of(values),
                median(values),
                worst(values, m),
                len(values),
            )
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
        return Table.of("metric", [m.name for m in self.metrics], columns)

    @property
    def treatment(self) -> str:
        """What became of the objects without a partner, in words."""
        found = self.matched
        what = f"{len(found.truth):,} matched, {len(found.missed):,} missed, {len(found.spurious):,} spurious"
        how = "scored as empty regions" if self.settings.unmatched == "score" else "counted, not in the means"
        return f"{what}; the missed and spurious are {how}"

    def is_error(self, score: str) -> bool:
        return any(m.name == score and m.better == "lower" for m in self.metrics)

    def tables(self) -> dict[str, Table]:
        return {"metrics": self.metric_table(), "classes": self.class_table(), "objects": self.object_table()}

    def contents(self) -> list[Part]:
        parts: list[Part] = [f"{self.name}   {self.treatment}", self.metric_table()]
        if len(self.metrics) <= MOST_COLUMNS and len(self.class_names) > 1:
            parts.append(self.class_table())
        shown = self.signature
        if len(self.metrics) > MOST_COLUMNS:  # the table has named them
            shown = self.sign_all(len(self.metrics))
        return [*parts, shown, *self.notes]

    def object_rows(self) -> list[dict[str, Any]]:
        """Every object: where, what, its state, and its values."""
        found = self.matched
        states = ["matched"] * len(found.truth) + ["missed"] * len(found.missed) + ["spurious"] * len(found.spurious)
        truths = [*found.truth.tolist(), *found.missed.tolist(), *[None] * len(found.spurious)]
        preds = [*found.pred.tolist(), *[None] * len(found.missed), *found.spurious.tolist()]
        lists = {name: [*values.tolist(), *[nan] * (len(states) - len(values))] for name, values in self.values.items()}
        rows = []
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

    def details(self) -> dict[str, Any]:
        counts = {state: column.tolist() for state, column in self.counts().items()}
        rows = [np.flatnonzero(self.label == i) for i in range(len(self.names))]
        classes = {}
        for i, name in enumerate(self.names):
            own = {m: summary(values[rows[i]]) for m, values in self.values.items()}
            classes[name] = {**{state: column[i] for state, column in counts.items()}, "metrics": own}
        about = {
            m.name: {"better": m.better, "best": m.best, "unit": m.unit_with(self.settings.spacing)}
            for m in self.metrics
        }
        return {
            "signatures": {name: str(score.signature) for name, score in self.scores.items()},
            "metrics": {name: {**summary(values), **about[name]} for name, values in self.values.items()},
            **{state: sum(column) for state, column in counts.items()},
            "unmatched": self.settings.unmatched,
            "classes": classes,
            "objects": self.object_rows(),
        }

    def object_table(self) -> Table:
        """Every object: where, what, its state, and its values."""
        rows = self.object_rows()
        heads = ("image", "class", "state", "truth", "pred", "confidence", "overlap")
        cells = tuple((*(row[head] for head in heads), *row["values"].values()) for row in rows)
        return Table((*heads, *self.values), cells)


def median(values: Array) -> float:
    return float(np.median(values)) if len(values) else nan


def worst(values: Array, chosen: Metric) -> float:
    """The value farthest from the best."""
    if not len(values) or chosen.best is None:
        return nan
    return float(values[np.argmax(np.abs(values - chosen.best))])


def summary(values: Array) -> dict[str, Any]:
    return {"mean": mean_of(values), "median": median(values), "count": len(values)}
