"""Panoptic segmentation protocol: panoptic quality (PQ), as panopticapi computes it, and Boundary PQ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, isnan
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.bootstrap import mean_over_classes, rearrange
from verite.evaluation.evaluation import GONE, int64s
from verite.evaluation.partial import MergedNumbers
from verite.evaluation.prepare import prepare
from verite.evaluation.settings import THREADS, ShardedSettings
from verite.evaluation.state import EvaluationState, tell_as
from verite.model.classes import Labels
from verite.model.images import known_images
from verite.model.polygons import RLEMasks
from verite.model.results import Matches, Results, choose_threshold
from verite.model.tables import Part, Table
from verite.progress import begin
from verite.protocols.coco import masks_of
from verite.protocols.curves import column_rules, count_cells
from verite.protocols.protocol import protocol
from verite.settings import Choice, Constant, Number, Option
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.files import JsonObject
    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


BLOCK = 16  # images that are compared at once: enough to be quick, few enough to stay small in memory

MOST_SUMS = 1 << 22  # counters of pairs of segments, beyond which those that are there are looked for


def segment_masks(side: Annotations, threads: int, what: str) -> RLEMasks:
    """Return the mask of every object; raise `DataError` for objects with only a box."""
    boxes = np.flatnonzero(side.regions.kinds == 0)
    if len(boxes):
        name = side.images.name(int(side.image[boxes[0]]))
        raise DataError(
            f"{side.source.path or 'annotations'}: expected a mask for every segment, found {len(boxes)} boxes, the "
            f"first in image {name!r}; {what} needs pixels, e.g. panoptic JSON with PNGs"
        )
    return masks_of(side, threads)


def join_classes(side: Annotations, threads: int) -> tuple[RLEMasks, Annotations]:
    """Return one mask per image and class, and an object for each; objects of a class may share pixels."""
    masks = segment_masks(side, threads, "semantic segmentation")
    group = side.image.astype(np.int64) * max(len(side.labels), 1) + side.label
    found, first, numbers = np.unique(group, return_index=True, return_counts=True)
    if len(found) == len(group):
        return masks, side
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.cumsum(numbers)[:-1])
    # Refused if masks of one image differ in size.
    for rows in parts:
        odd = np.flatnonzero((masks.sizes[rows] != masks.sizes[rows[0]]).any(axis=1))
        if len(odd):
            (height, width), (tall, wide) = masks.sizes[rows[0]], masks.sizes[rows[odd[0]]]
            raise DataError(
                f"{side.source.path or 'annotations'}: expected {width} × {height} pixels as elsewhere in image "
                f"{side.images.name(int(side.image[rows[0]]))!r}, found {wide} × {tall}"
            )
    joined = [
        masks[int(rows[0])] if len(rows) == 1 else _core.merge_masks(masks.take(rows).arrays, False) for rows in parts
    ]
    sizes = [(int(height), int(width)) for height, width in masks.sizes[first]]
    return RLEMasks.of(list(zip(joined, sizes, strict=True))), side.take(first)


def blocks(truth: Annotations, pred: Annotations) -> Iterator[tuple[Ints, Ints]]:
    """Yield rows of both sides for a few images at a time."""
    orders = [np.argsort(side.image, kind="stable") for side in (truth, pred)]
    images = [side.image[order] for side, order in zip((truth, pred), orders, strict=True)]
    last = max((int(image[-1]) for image in images if len(image)), default=-1)
    with begin("comparing", last + 1, "images") as advance:
        for first in range(0, last + 1, BLOCK):
            spans = [np.searchsorted(image, [first, first + BLOCK]) for image in images]
            one, two = (order[a:b] for order, (a, b) in zip(orders, spans, strict=True))
            yield one, two
            advance(min(BLOCK, last + 1 - first))


@dataclass(frozen=True, eq=False)
class SharedPixels:
    """Pixels shared by pairs of segments, as positions in a block; -1 is no segment: void in the ground truth."""

    truth: Ints
    pred: Ints
    pixels: Ints

    def sums(self, side: str, count: int, where: NDArray[np.bool_] | bool = True) -> Floats:
        """Return the pixels of each segment of one side, over all pairs or some.

        Parameters
        ----------
        side
            `truth` or `pred`.
        count
            Number of segments of that side.
        where
            Flags of the pairs to sum over; True for all.

        Returns
        -------
        Floats
            Pixels per segment.
        """
        owner: Ints = getattr(self, side)
        kept = (owner >= 0) & where
        found: Floats = np.bincount(owner[kept], weights=self.pixels[kept], minlength=count).astype(np.float64)
        return found


def overlaps(
    masks: tuple[RLEMasks, RLEMasks], rows: tuple[Ints, Ints], sides: tuple[Annotations, Annotations]
) -> SharedPixels:
    """Return every pair of segments that share pixels, and how many; pixels without ground truth are void."""
    # The offset of each image on the common pixel axis of a block; both sides must have its size.
    sizes: dict[int, tuple[int, int]] = {}
    for mask, chosen, side in zip(masks, rows, sides, strict=True):
        for image, (tall, wide) in zip(side.image[chosen].tolist(), mask.sizes[chosen].tolist(), strict=True):
            if sizes.setdefault(image, (tall, wide)) != (tall, wide):
                known = sizes[image]
                raise DataError(
                    f"{side.source.path or 'annotations'}: expected {known[1]} × {known[0]} pixels as elsewhere in "
                    f"image {side.images.name(image)!r}, found {wide} × {tall}"
                )
    bases, base = {}, 0
    for image, (tall, wide) in sizes.items():
        bases[image] = base
        base += tall * wide
    truth, pred = (intervals(m, r, s, bases) for m, r, s in zip(masks, rows, sides, strict=True))
    # A stable sort merges sorted lists; `np.unique` would hash each value.
    cuts = np.sort(np.concatenate([truth[0], truth[1], pred[0], pred[1]]), kind="stable")
    cuts = cuts[np.diff(cuts, prepend=-1) > 0]
    if len(cuts) < 2:
        return SharedPixels(*(np.empty(0, np.int64) for _ in range(3)))
    lengths, places = np.diff(cuts), cuts[:-1]
    one, two = find_cover(truth, places), find_cover(pred, places)
    width = len(rows[1]) + 1
    found, pixels = add_up((one + 1) * width + two + 1, lengths, (len(rows[0]) + 1) * width)
    return SharedPixels(found // width - 1, found % width - 1, pixels)


def add_up(codes: Ints, lengths: NDArray[np.integer] | None, most: int) -> tuple[Ints, Ints]:
    """Return the codes below `most` that occur, and the sum of lengths of each; None: each length is 1.

    Parameters
    ----------
    codes
        One whole number per run of pixels, which stands for a pair of segments.
    lengths
        Pixels of each run.
    most
        Codes are below this. Small ranges are counted in a table, large ones sorted.

    Returns
    -------
    tuple[Ints, Ints]
        Distinct codes in rising order, and their pixels: the intersections from which IoU is computed.
    """
    if most <= MOST_SUMS:
        sums = np.bincount(codes, weights=lengths, minlength=most).astype(np.int64)
        found = np.flatnonzero(sums)
        return found, sums[found]
    found, inverse = np.unique(codes, return_inverse=True)
    return found, np.bincount(inverse, weights=lengths, minlength=len(found)).astype(np.int64)


def intervals(masks: RLEMasks, rows: Ints, side: Annotations, bases: dict[int, int]) -> tuple[Ints, Ints, Ints]:
    """Return first and last pixel and segment of every run, in pixel order; raise `DataError` if segments overlap."""
    chosen = masks.take(rows)
    counts = chosen.counts.astype(np.int64)
    lengths = np.diff(chosen.objects)
    owner = np.repeat(np.arange(len(rows)), lengths)
    ends = np.cumsum(counts)
    before = np.concatenate([[0], ends])[chosen.objects[:-1]]
    base = np.array([bases[i] for i in side.image[rows].tolist()], dtype=np.int64)
    ends += np.repeat(base - before, lengths)
    is_inside = (np.arange(len(counts)) - np.repeat(chosen.objects[:-1], lengths)) % 2 == 1
    is_inside &= counts > 0
    starts, ends, owner = (ends - counts)[is_inside], ends[is_inside], owner[is_inside]
    order = np.argsort(starts, kind="stable")
    starts, ends, owner = starts[order], ends[order], owner[order]
    clash = np.flatnonzero(starts[1:] < ends[:-1])
    if len(clash):
        row = int(rows[owner[clash[0]]])
        raise DataError(
            f"{side.source.path or 'annotations'}: expected segments that share no pixel, found two that do in image "
            f"{side.images.name(int(side.image[row]))!r}; every pixel belongs to one segment or none"
        )
    return starts, ends, owner


def find_cover(runs: tuple[Ints, Ints, Ints], places: Ints) -> Ints:
    """Return the segment that covers each pixel; -1 if there is none.

    Parameters
    ----------
    runs
        Starts, ends (excluded) and segment of all runs of an image, by rising start.
    places
        Pixel positions, column by column.

    Returns
    -------
    Ints
        Position of the segment; segments of a panoptic image do not overlap, so that there is at most one.
    """
    starts, ends, owner = runs
    if not len(starts):
        return np.full(len(places), -1, dtype=np.int64)
    at = np.searchsorted(starts, places, side="right") - 1
    inside = (at >= 0) & (places < ends[at])
    return np.where(inside, owner[at], -1)


IMAGE_BLOCK = 200  # images whose scores are computed at a time
GROUPS = {"": None, "_things": "thing", "_stuff": "stuff"}

MEASURES = ("PQ", "SQ", "RQ")


@dataclass(frozen=True, eq=False)
class SegmentCounts:
    """For each class: TP and the sum of their IoU, FP and FN."""

    iou: Floats
    tp: NDArray[Any]
    fp: NDArray[Any]
    fn: NDArray[Any]

    @property
    def present(self) -> NDArray[np.bool_]:
        return np.asarray(self.tp + self.fp + self.fn > 0)

    def measures(self) -> dict[str, Floats]:
        """Return PQ, SQ and RQ of each class; NaN if it occurs on neither side. SQ is 0 without matches."""
        with np.errstate(invalid="ignore", divide="ignore"):
            weight = self.tp + 0.5 * self.fp + 0.5 * self.fn
            sq = np.where(self.tp > 0, self.iou / self.tp, 0.0)
            found = {"PQ": self.iou / weight, "SQ": sq, "RQ": self.tp / weight}
        return {name: np.where(self.present, values, np.nan) for name, values in found.items()}


On = Literal["mask", "boundary"]


class PanopticSettings(ShardedSettings):
    on: Option[On] = Choice(
        "mask", "Compare masks (PQ), or masks and their boundaries, whichever IoU is lower (Boundary PQ).", On
    )  # fmt: skip
    rim: Option[float] = Number(
        0.02, "Width of a boundary as a share of the image's diagonal (0.005 for Cityscapes).", least=1e-6, most=1,
        omit_default=True,
    )  # fmt: skip
    iou = Constant(">0.50")
    void = Constant("left out")
    crowd = Constant("same class")
    threads: Option[int | None] = THREADS

    def check(self) -> None:
        if self.on == "mask" and self.rim != type(self).rim.default:
            raise type(self).rim.refuse("none with on mask", f"{self.rim:g}; a width is for on boundary")


class PanopticResults(Results):
    """Results of the panoptic protocol: PQ, SQ and RQ over all classes, things and stuff, with counts per class."""

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

    def matches(self, iou: float | None = None) -> Matches:
        """Which predicted segment is matched to which segment of the ground truth; crowds are ignored."""
        choose_threshold((0.5,), iou)
        found = self.matched
        if found is None:
            raise DataError(f"matches: {GONE}; evaluate in one piece")
        sizes = len(self.truth), len(self.pred)
        return Matches.of_pairs(0.5, sizes, (found.truth, found.pred), found.missed, found.false)

    def part(self, about: Callable[[Labels], str]) -> EvaluationState:
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
        rows = _core.PredictionRows(
            label=truth.label[matched.truth], image=truth.image[matched.truth], confidence=matched.iou, words=words
        )
        with tell_as(DataError):
            names = images.names if images.ids is None else None
            made = _core.EvaluationState.of(
                about=about(labels),
                ids=images.ids,
                names=names,
                labels=int64s(range(len(labels))),
                thresholds=1,
                ranges=2,
                rows=rows,
                cells=cells,
            )
            return EvaluationState(made)

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: Any) -> PanopticResults:
        """Of what became of all images."""
        numbers.expect_rules(column_rules(1))
        gathered = [numbers.gather(place) for place in range(len(numbers.truth.labels))]
        if any(((rows.confidence < 0) | (rows.confidence > 1)).any() for rows in gathered):
            raise DataError("part: expected IoUs from 0 to 1, found others; make it again")
        iou = np.array([fsum(rows.confidence.tolist()) for rows in gathered])
        tp = np.array([len(rows.confidence) for rows in gathered], dtype=np.int64)
        asked, fp = np.array([rows.counts.sum(axis=0, dtype=np.int64) for rows in gathered]).reshape(-1, 2).T
        if (tp > asked).any():
            raise DataError("part: expected no more matched segments than there are, found more; make it again")
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
        # Counts of every class on bootstrap samples, [sample, class].
        columns = []
        for place in range(len(self.numbers.truth.labels)):
            rows = self.numbers.gather(place)
            own, cells = weights[:, rows.image], weights[:, rows.cell_image]
            asked, fp = (cells @ rows.counts.astype(np.float64)).T
            tp = own.sum(axis=1)
            columns.append((own @ rows.confidence, tp, fp, asked - tp))
        measures = SegmentCounts(*(np.stack(values, axis=1) for values in zip(*columns, strict=True))).measures()
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
        """Return each score per class; those of things are absent for stuff, and the reverse."""
        found = {}
        for suffix, group in GROUPS.items():
            outside = np.array([group is not None and g != group for g in self.groups or [""] * len(self.class_names)])
            for name in MEASURES:
                found[f"{name}{suffix}"] = np.where(outside, np.nan, self.by_class[name]).tolist()
        return found

    def class_table(self) -> Table:
        """Return PQ, SQ, RQ and counts per class, and below them the means over all classes, things and stuff."""
        names = [*self.class_names]
        columns: dict[str, list[Any]] = {"kind": [*(self.groups or [""] * len(names))]}
        columns |= {name: self.by_class[name].tolist() for name in MEASURES}
        columns |= {head: getattr(self.counts, head.lower()).tolist() for head in ("TP", "FP", "FN")}
        mean: JsonObject = {name: self.scores[name].value for name in MEASURES}
        mean |= {head: int(getattr(self.counts, head.lower()).sum()) for head in ("TP", "FP", "FN")}
        return Table.of("class", names, columns, mean=mean)

    def group_table(self) -> Table:
        """Return PQ, SQ and RQ of all classes, things and stuff, with the number of classes."""
        rows = [("all", ""), *(((group or "", suffix)) for suffix, group in GROUPS.items() if group)]
        columns: dict[str, list[Any]] = {
            name: [self.scores[f"{name}{suffix}"].value for _, suffix in rows] for name in MEASURES
        }
        kinds = np.array(self.groups or [""] * len(self.class_names))
        columns["classes"] = [
            int((self.counts.present & ((kinds == name) if suffix else True)).sum()) for name, suffix in rows
        ]
        return Table.of("", [{"thing": "things"}.get(name, name) for name, _ in rows], columns)

    def image_table(self) -> Table:
        """PQ, SQ and RQ of each image alone, over the classes that it has; `verite leaderboard` reads it as scores."""
        images, scores = known_images(self.truth, self.pred), ["PQ", "SQ", "RQ"]
        names = [images.name(i) for i in range(len(images))]
        rows: list[tuple[Any, ...]] = []
        for first in range(0, len(names), IMAGE_BLOCK):
            some = names[first : first + IMAGE_BLOCK]
            weights = np.zeros((len(some), len(names)))
            weights[np.arange(len(some)), first + np.arange(len(some))] = 1.0
            found = self.draw_scores(scores, weights).tolist()
            rows += [(name, *(None if isnan(v) else v for v in own)) for name, own in zip(some, found, strict=True)]
        return Table(("image", *scores), tuple(rows))

    def tables(self) -> dict[str, Table]:
        return {"classes": self.class_table(), "groups": self.group_table(), "images": self.image_table()}

    def contents(self) -> list[Part]:
        return [self.name, self.group_table(), self.class_table(), self.signature, *self.notes]

    def details(self) -> JsonObject:
        """Return the documented keys of the JSON: the nine scores, and every class with its counts."""
        classes: dict[str, JsonObject] = {}
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
verite panoptic truth.json pred.json --on boundary
verite panoptic truth.json pred.json --truth-images truth_png/ --pred-images pred_png/
verite panoptic truth.json pred.json --json | jq .PQ""",
)
def panoptic(truth: Annotations, pred: Annotations, settings: PanopticSettings) -> PanopticResults:
    """Panoptic quality: PQ, SQ and RQ over all classes, things and stuff.

    A predicted and a ground-truth segment match if they have the same class and an IoU above 0.5, void pixels of the
    ground truth being taken out of the union. Segments of one side share no pixel, so a match is unique. Crowds are
    never matched. An unmatched prediction is ignored if more than half of it is void or a crowd of its class. PQ of a
    class is the sum of the IoUs of its matches over TP + FP/2 + FN/2: the product of SQ, their mean IoU, and RQ, the F1
    of the matching.

    Boundary PQ (``on="boundary"``) takes the lower of two IoUs: that of the masks, and that of their boundaries, the
    pixels of a segment within 2 % of the image's diagonal of a pixel outside it.

    References
    ----------
    Kirillov et al., Panoptic Segmentation, CVPR 2019.
    Cheng et al., Boundary IoU: Improving Object-Centric Image Segmentation Evaluation, CVPR 2021.

    Examples
    --------
    >>> import verite as vt
    >>> masks = vt.RLEMasks.of([([0, 8, 8], (4, 4))])  # the two left columns of 4 × 4 pixels
    >>> segment = vt.Regions([[0, 0, 2, 4]], runs=masks)
    >>> truth = vt.Annotations(vt.Images(["a"], widths=[4], heights=[4]), vt.Labels(["cat"]), [0], [0], segment)
    >>> vt.panoptic(truth, truth)["PQ"].value
    1.0
    """
    truth, pred, findings = prepare(truth, pred, settings.checks, is_ranked=False)
    settings.check_labels(truth.labels.all_names)
    rim = settings.rim if settings.on == "boundary" else None
    matched = evaluate(truth, pred, thread_count(settings.threads), rim)
    counts = count(matched, truth, pred)
    if settings.labels is not None:
        counts = restrict(counts, truth, set(settings.labels))
    return PanopticResults(settings, counts, truth, pred, findings, matched)


def restrict(counts: SegmentCounts, truth: Annotations, chosen: set[str]) -> SegmentCounts:
    """Return the counts of some classes; the others still occupy their pixels."""
    kept = np.array([name in chosen for name in truth.labels.all_names])
    return SegmentCounts(*(np.where(kept, getattr(counts, key), 0) for key in ("iou", "tp", "fp", "fn")))


def evaluate(truth: Annotations, pred: Annotations, threads: int, rim: float | None = None) -> MatchedSegments:
    """Return which segments are matched (TP), missed (FN) and false (FP).

    `rim` is the width of boundaries as a share of the image's diagonal, if they are compared, too.
    """
    masks = segment_masks(truth, threads, "panoptic quality"), segment_masks(pred, threads, "panoptic quality")
    found = []
    for rows in blocks(truth, pred):
        boundaries = None if rim is None else BoundarySegments(masks, rows, (truth, pred), rim)
        found.append(match(overlaps(masks, rows, (truth, pred)), truth, pred, rows, boundaries))
    if not found:
        none = np.empty(0, dtype=np.int64)
        return MatchedSegments(none, none, np.empty(0), none, none)
    return MatchedSegments(
        *(np.concatenate([getattr(m, name) for m in found]) for name in MatchedSegments.__dataclass_fields__)
    )


def count(matched: MatchedSegments, truth: Annotations, pred: Annotations) -> SegmentCounts:
    """Return the counts of every class. Sums are exact, so that they are the same in any order."""
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


@dataclass(frozen=True, eq=False)
class BoundarySegments:
    """The segments of one block of images, whose boundaries are compared where their masks match."""

    masks: tuple[RLEMasks, RLEMasks]
    rows: tuple[Ints, Ints]
    sides: tuple[Annotations, Annotations]
    rim: float  # width of a boundary, as a share of the image's diagonal

    def iou(self, one: Ints, two: Ints) -> Floats:
        """Return the IoU of the boundaries of pairs of segments, without the void pixels of the ground truth.

        `one` and `two` are positions of ground truth and predictions in the block.
        """
        chosen = [np.unique(places) for places in (one, two)]
        rows = [own[places] for own, places in zip(self.rows, chosen, strict=True)]
        sides = self.sides[0].take(rows[0]), self.sides[1].take(rows[1])
        borders = self.boundaries(0, rows[0]), self.boundaries(1, rows[1])
        within = np.arange(len(rows[0])), np.arange(len(rows[1]))
        both = overlaps(borders, within, sides)
        covered = overlaps((self.masks[0], borders[1]), (self.rows[0], within[1]), (self.sides[0], sides[1]))
        void = covered.sums("pred", len(within[1]), covered.truth < 0)
        areas = both.sums("truth", len(within[0])), both.sums("pred", len(within[1]))
        width = max(len(within[1]), 1)
        is_pair = (both.truth >= 0) & (both.pred >= 0)
        known = both.truth[is_pair] * width + both.pred[is_pair]  # ascending
        t, p = np.searchsorted(chosen[0], one), np.searchsorted(chosen[1], two)
        place = np.searchsorted(known, t * width + p)
        is_known = np.append(known, -1)[place] == t * width + p
        common = np.where(is_known, np.append(both.pixels[is_pair], 0)[place], 0)
        return np.asarray(common / (areas[0][t] + areas[1][p] - common - void[p]))

    def boundaries(self, side: int, rows: Ints) -> RLEMasks:
        """Return the boundaries of some segments of the ground truth (0) or the predictions (1).

        Parameters
        ----------
        side
            0 for the ground truth, 1 for the predictions.
        rows
            Positions of the segments.

        Returns
        -------
        RLEMasks
            Masks of the pixels within `rim` times the diagonal of the image from the outline, at least one pixel
            (Boundary IoU).
        """
        masks = self.masks[side].take(rows)
        diagonals = np.hypot(masks.sizes[:, 0], masks.sizes[:, 1])
        widths = np.maximum(np.rint(self.rim * diagonals), 1).astype(np.int64)
        counts, objects = _core.boundary_masks(masks.arrays, widths)
        return RLEMasks(counts, objects, masks.sizes)


def match(
    shared: SharedPixels,
    truth: Annotations,
    pred: Annotations,
    rows: tuple[Ints, Ints],
    boundaries: BoundarySegments | None = None,
) -> MatchedSegments:
    """Return which segments are TP, FN and FP in one block; `boundaries` if theirs are compared, too."""
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
    if boundaries is not None and hit.any():
        iou[hit] = np.minimum(iou[hit], boundaries.iou(one[hit], two[hit]))
        hit &= iou > 0.5
    ignored_area = void + np.bincount(two[same & crowd], weights=pixels[same & crowd], minlength=len(theirs))
    is_missed = ~truth.crowd[ours]
    is_missed[one[hit]] = False
    is_false = 2 * ignored_area <= pred_area
    is_false[two[hit]] = False
    return MatchedSegments(ours[one[hit]], theirs[two[hit]], iou[hit], ours[is_missed], theirs[is_false])
