"""Panoptic quality: how well are things and stuff told apart, pixel by pixel, as panopticapi computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.evaluation import int64s
from verite.evaluation.numbers import tell_as
from verite.evaluation.part import Part
from verite.evaluation.parts import MergedNumbers
from verite.evaluation.prepare import prepare
from verite.evaluation.redrawing import mean_over_classes, rearrange
from verite.evaluation.settings import THREADS, ShardedSettings
from verite.model.display import Part as Piece
from verite.model.images import known_images
from verite.model.labels import Labels
from verite.model.results import Results, Taken, choose_threshold
from verite.model.tables import Table
from verite.protocols.curve_parts import count_cells
from verite.protocols.protocol import protocol
from verite.protocols.shared_pixels import SharedPixels, blocks, overlaps, segment_masks
from verite.settings import Fact, Option
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

GROUPS = {"": None, "_things": "thing", "_stuff": "stuff"}
MEASURES = ("PQ", "SQ", "RQ")


@dataclass(frozen=True, eq=False)
class SegmentCounts:
    """For each class: matched segments and the sum of their IoU, false and missed ones."""

    iou: Floats
    tp: NDArray[Any]
    fp: NDArray[Any]
    fn: NDArray[Any]

    @property
    def present(self) -> NDArray[np.bool_]:
        return np.asarray(self.tp + self.fp + self.fn > 0)

    def measures(self) -> dict[str, Floats]:
        """PQ, SQ and RQ of each class; NaN where it occurs on neither side. SQ is 0 where nothing matches."""
        with np.errstate(invalid="ignore", divide="ignore"):
            weight = self.tp + 0.5 * self.fp + 0.5 * self.fn
            sq = np.where(self.tp > 0, self.iou / self.tp, 0.0)
            found = {"PQ": self.iou / weight, "SQ": sq, "RQ": self.tp / weight}
        return {name: np.where(self.present, values, np.nan) for name, values in found.items()}


class PanopticSettings(ShardedSettings):
    on = Fact("mask")
    iou = Fact(">0.50")
    void = Fact("left out")
    crowd = Fact("same class")
    threads: Option[int | None] = THREADS


class PanopticResults(Results):
    """PQ, SQ and RQ over all classes, over things and over stuff, with the counts of every class behind them."""

    def __init__(
        self,
        settings: PanopticSettings,
        counts: SegmentCounts,
        truth: Annotations,
        pred: Annotations,
        findings: Sequence[Any] = (),
        matched: MatchedSegments | None = None,
    ) -> None:
        self.settings, self.counts, self.matched = settings, counts, matched
        self.by_class = counts.measures()
        self.groups = truth.labels.groups
        kinds = np.array(self.groups if self.groups is not None else [""] * len(truth.labels))
        scores = {}
        for suffix, group in GROUPS.items():
            rows = counts.present & ((kinds == group) if group else np.ones(len(kinds), np.bool_))
            for name in MEASURES:
                value = float(self.by_class[name][rows].mean()) if rows.any() else np.nan
                scores[f"{name}{suffix}"] = (value, settings.signature(name.lower(), classes=group or "all"))
        super().__init__(
            protocol="panoptic",
            signature=settings.signature("panoptic"),
            scores=scores,
            truth=truth,
            pred=pred,
            name=settings.name,
            findings=findings,
        )

    def finds(self, iou: float | None = None) -> Taken:
        """Segment by segment what was found; crowds were not asked for."""
        choose_threshold((0.5,), iou)
        matched = self.matched
        assert matched is not None
        taken = np.full(len(self.truth), -1, dtype=np.int64)
        taken[matched.truth] = matched.pred
        asked = taken >= 0
        asked[matched.missed] = True
        claims = np.zeros(len(self.pred), dtype=np.bool_)
        claims[matched.pred] = claims[matched.false] = True
        return Taken(0.5, asked, taken, claims=claims)

    def part(self, about: Callable[[Labels], str]) -> Part:
        """A row for each match with its IoU for a confidence; truths and false predictions are counted by image."""
        matched, truth, pred = self.matched, self.truth, self.pred
        assert matched is not None
        labels = Labels(truth.labels.all_names, groups=truth.labels.groups)
        known = matched.false[pred.label[matched.false] < len(labels)]
        asked = np.concatenate([matched.truth, matched.missed])
        cells = count_cells(
            [np.concatenate([side.label[rows] for side, rows in ((truth, asked), (pred, known))]),
             np.concatenate([side.image[rows] for side, rows in ((truth, asked), (pred, known))])],
            [np.arange(len(asked) + len(known)) < len(asked), np.arange(len(asked) + len(known)) >= len(asked)],
        )  # fmt: skip
        images = known_images(truth, pred)
        words = np.tile(np.array([0, 1, 0], dtype=np.uint32), (len(matched.truth), 1))
        rows = (truth.label[matched.truth], truth.image[matched.truth], matched.iou, words)
        with tell_as(DataError):
            names = images.names if images.ids is None else None
            made = _core.Part.of(about(labels), images.ids, names, int64s(range(len(labels))), 1, 2, rows, cells)
            return Part(made)

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: Any) -> PanopticResults:
        """Of what became of all images."""
        gathered = [numbers.gather(place) for place in range(len(numbers.truth.labels))]
        iou = np.array([fsum(rows.confidence.tolist()) for rows in gathered])
        tp = np.array([len(rows.confidence) for rows in gathered], dtype=np.int64)
        asked, fp = np.array([rows.counts.sum(axis=0, dtype=np.int64) for rows in gathered]).reshape(-1, 2).T
        counts = SegmentCounts(iou, tp, fp, asked - tp)
        if settings.labels is not None:
            counts = restrict(counts, numbers.truth, set(settings.labels))
        found = cls(settings, counts, numbers.truth, numbers.pred)
        found.numbers = numbers
        return found

    @cached_property
    def numbers(self) -> MergedNumbers:
        """What became of all images."""
        return MergedNumbers([self.part(lambda labels: "")], Labels(self.truth.labels.all_names))

    def draw_scores(self, scores: Sequence[str], weights: Floats, label: str | None = None) -> Floats:
        weights = rearrange(weights, known_images(self.truth, self.pred), self.numbers.images)
        measures = draw_counts(self.numbers, weights).measures()
        chosen = np.array([label in (None, name) for name in self.class_names]) & self.counts.present
        found = []
        for score in scores:
            name, _, group = self[score].name.partition("_")
            kinds = np.array([GROUPS[f"_{group}"] in (None, kind) if group else True
                              for kind in self.groups or [""] * len(chosen)])  # fmt: skip
            found.append(mean_over_classes(measures[name].T[chosen & kinds], len(weights)))
        return np.stack(found, axis=1)

    @property
    def class_names(self) -> list[str]:
        return list(self.truth.labels.all_names)

    def class_scores(self) -> dict[str, list[float]]:
        """Each measure of each class; the means over things know only things."""
        found = {}
        for suffix, group in GROUPS.items():
            outside = np.array([group is not None and g != group for g in self.groups or [""] * len(self.class_names)])
            for name in MEASURES:
                found[f"{name}{suffix}"] = np.where(outside, np.nan, self.by_class[name]).tolist()
        return found

    def class_table(self) -> Table:
        """The measures and counts of each class; below them the means over all classes, things and stuff."""
        names = [*self.class_names]
        columns: dict[str, list[Any]] = {"kind": [*(self.groups or [""] * len(names))]}
        columns |= {name: self.by_class[name].tolist() for name in MEASURES}
        columns |= {head: getattr(self.counts, head.lower()).tolist() for head in ("TP", "FP", "FN")}
        mean: dict[str, Any] = {name: self.scores[name].value for name in MEASURES}
        mean |= {head: int(getattr(self.counts, head.lower()).sum()) for head in ("TP", "FP", "FN")}
        return Table.of("class", names, columns, mean=mean)

    def group_table(self) -> Table:
        """PQ, SQ and RQ of all classes, things and stuff, and how many classes are behind them."""
        rows = [("all", ""), *(((group or "", suffix)) for suffix, group in GROUPS.items() if group)]
        columns: dict[str, list[Any]] = {
            name: [self.scores[f"{name}{suffix}"].value for _, suffix in rows] for name in MEASURES
        }
        kinds = np.array(self.groups or [""] * len(self.class_names))
        columns["classes"] = [
            int((self.counts.present & ((kinds == name) if suffix else True)).sum()) for name, suffix in rows
        ]
        return Table.of("", [{"thing": "things"}.get(name, name) for name, _ in rows], columns)

    def tables(self) -> dict[str, Table]:
        return {"classes": self.class_table(), "groups": self.group_table()}

    def contents(self) -> list[Piece]:
        return [self.name, self.group_table(), self.class_table(), self.signature, *self.notes]

    def details(self) -> dict[str, Any]:
        """The documented keys: the nine numbers, and every class with its counts."""
        classes: dict[str, dict[str, Any]] = {}
        for k, name in enumerate(self.class_names):
            classes[name] = {measure: float(self.by_class[measure][k]) for measure in MEASURES}
            classes[name] |= {key: int(getattr(self.counts, key)[k]) for key in ("tp", "fp", "fn")}
            classes[name] |= {"iou": float(self.counts.iou[k])}
            classes[name] |= {"isthing": self.groups[k] == "thing" if self.groups is not None else None}
        return {key: score.value for key, score in self.scores.items()} | {"classes": classes}


@protocol(
    PanopticSettings,
    files="TRUTH and PRED are panoptic JSON files with their folders of PNGs, or any format that has a mask for every "
    "segment",
    examples="""
verite panoptic panoptic_val2017.json predictions.json
verite panoptic truth.json a.json b.json
verite panoptic truth.json pred.json --truth-images truth_png/ --pred-images pred_png/
verite panoptic truth.json pred.json --json | jq .PQ""",
)
def panoptic(truth: Annotations, pred: Annotations, settings: PanopticSettings) -> PanopticResults:
    """Panoptic quality: PQ, SQ and RQ over all classes, things and stuff.

    A predicted segment and a segment of the truth match where they have the same class and an IoU above 0.5, void
    pixels of the truth taken out of the union; segments of one side share no pixel, so a match is unique. Crowds match
    nobody. A prediction without a match is left out if more than half of it is void or a crowd of its class. PQ of a
    class is the sum of the IoUs of its matches over TP + FP/2 + FN/2, and the product of SQ, their mean, and RQ.

    Kirillov et al., Panoptic Segmentation, CVPR 2019.

    >>> truth = vt.read("panoptic_val2017.json")                     # doctest: +SKIP
    >>> pred = vt.read("panoptic_predictions.json", like=truth)      # doctest: +SKIP
    >>> print(vt.panoptic(truth, pred))                              # doctest: +SKIP
    """
    truth, pred, findings = prepare(truth, pred, settings.checks, is_ranked=False)
    settings.check_labels(truth.labels.all_names)
    matched = evaluate(truth, pred, thread_count(settings.threads))
    counts = count(matched, truth, pred)
    if settings.labels is not None:
        counts = restrict(counts, truth, set(settings.labels))
    return PanopticResults(settings, counts, truth, pred, findings, matched)


def draw_counts(numbers: MergedNumbers, weights: Floats) -> SegmentCounts:
    """The counts of every class in every draw, [draw, class]."""
    columns = []
    for place in range(len(numbers.truth.labels)):
        rows = numbers.gather(place)
        own, cells = weights[:, rows.image], weights[:, rows.cell_image]
        asked, fp = (cells @ rows.counts.astype(np.float64)).T
        tp = own.sum(axis=1)
        columns.append((own @ rows.confidence, tp, fp, asked - tp))
    return SegmentCounts(*(np.stack(values, axis=1) for values in zip(*columns, strict=True)))


def restrict(counts: SegmentCounts, truth: Annotations, chosen: set[str]) -> SegmentCounts:
    """Only these classes count; the others still occupy their pixels."""
    kept = np.array([name in chosen for name in truth.labels.all_names])
    return SegmentCounts(*(np.where(kept, getattr(counts, key), 0) for key in ("iou", "tp", "fp", "fn")))


def evaluate(truth: Annotations, pred: Annotations, threads: int) -> MatchedSegments:
    """Which segments match, which are missed and which are false."""
    masks = segment_masks(truth, threads, "panoptic quality"), segment_masks(pred, threads, "panoptic quality")
    found = [match(overlaps(masks, rows, (truth, pred)), truth, pred, rows) for rows in blocks(truth, pred)]
    if not found:
        none = np.empty(0, dtype=np.int64)
        return MatchedSegments(none, none, np.empty(0), none, none)
    return MatchedSegments(
        *(np.concatenate([getattr(m, name) for m in found]) for name in MatchedSegments.__dataclass_fields__)
    )


def count(matched: MatchedSegments, truth: Annotations, pred: Annotations) -> SegmentCounts:
    """The counts of every class of the truth. Sums are exact, so that they are the same in whatever order."""
    classes = len(truth.labels)
    labels = truth.label[matched.truth]
    iou = [fsum(matched.iou[labels == k].tolist()) for k in range(classes)]
    false = pred.label[matched.false]
    tp, fn, fp = (
        np.bincount(own, minlength=classes)
        for own in (labels, truth.label[matched.missed], false[false < classes])
    )  # fmt: skip
    return SegmentCounts(np.array(iou), tp, fp, fn)


@dataclass(frozen=True, eq=False)
class MatchedSegments:
    truth: Ints  # rows of the truth that were found
    pred: Ints  # rows of the predictions that found them
    iou: Floats
    missed: Ints  # rows of the truth
    false: Ints  # rows of the predictions


def match(shared: SharedPixels, truth: Annotations, pred: Annotations, rows: tuple[Ints, Ints]) -> MatchedSegments:
    """Which segments match, which are missed and which are false, in one block."""
    ours, theirs = rows
    is_void = shared.truth < 0
    void = shared.sums("pred", len(theirs), is_void)
    truth_area, pred_area = shared.sums("truth", len(ours)), shared.sums("pred", len(theirs))
    pairs = ~is_void & (shared.pred >= 0)
    one, two, pixels = (column[pairs] for column in (shared.truth, shared.pred, shared.pixels))
    same = truth.label[ours[one]] == pred.label[theirs[two]]
    crowd = truth.crowd[ours[one]]
    union = truth_area[one] + pred_area[two] - pixels - void[two]
    iou = pixels / union
    hit = same & ~crowd & (iou > 0.5)
    spared = void + np.bincount(two[same & crowd], weights=pixels[same & crowd], minlength=len(theirs))
    is_missed = ~truth.crowd[ours]
    is_missed[one[hit]] = False
    is_false = 2 * spared <= pred_area
    is_false[two[hit]] = False
    return MatchedSegments(ours[one[hit]], theirs[two[hit]], iou[hit], ours[is_missed], theirs[is_false])
