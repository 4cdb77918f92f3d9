"""Who takes whom, kept: one evaluation that serves every protocol and can be asked many ways."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError, VeriteError
from verite.evaluation.settings import highest_floor
from verite.evaluation.state import Part, PartialMetadata, PrecisionRecall, class_id, mean_query, tell_as
from verite.limits import limit, remedy
from verite.model.complaints import translate_core_errors
from verite.model.ragged import offsets_of
from verite.model.results import Matches, choose_threshold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from verite.evaluation.settings import ClassThresholds
    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Rows = NDArray[np.int32]
    Offsets = NDArray[np.int64]


RESULTS = ("coco-results", "json-lines", "results-object")  # get new ids and areas when pycocotools loads them

EVERY_AREA = (float("-inf"), float("inf"))

USUAL_PAIRS = 16  # of a prediction: so many are no reason to refuse anything
POINTS_PER_OBJECT = 750  # of precision-recall curves, 6 kB: a record of a file has some 60 bytes

MATCHES = {"free": _core.Match.greedy, "best": _core.Match.argmax, "nearest": _core.Match.nearest}

BESIDE = 0.25  # numbers of bins are whole, ranges go this far on both sides


@dataclass(frozen=True)
class Rules:
    """How objects are compared, matched and counted: all that a protocol says to an evaluation."""

    thresholds: tuple[float, ...]  # of overlaps
    similarity: str = "box"
    pixel: float = 0.0  # added to widths and heights: 1 where corners are pixel indices
    ranges: tuple[tuple[float, float], ...] = (EVERY_AREA,)  # of areas
    limits: tuple[int, ...] = (2**31 - 1,)  # numbers of predictions of a group that count, rising
    recalls: tuple[float, ...] = ()  # where precision is read
    # The ground truth of highest IoU that is free, ignored ones last; of highest IoU alone, matched or not; or of
    # highest IoU among those that are free, which ignored ones always are.
    wants: Literal["free", "best", "nearest"] = "free"
    equal: Literal["later", "first"] = "later"  # of truths that are overlapped equally
    ties: Literal["image", "row"] = "image"  # order of equal confidences of a class
    is_strict: bool = False  # an overlap must exceed its threshold
    class_agnostic: bool = False  # all classes are one
    orders_by_class: bool = True  # then equal confidences of an image come class by class, as in pycocotools, or by row
    ignored: tuple[str, ...] = ()  # flags of truths that neither reward nor punish
    shared: tuple[str, ...] = ()  # flags of truths that any number of predictions may take
    repeats_quirks: bool = False  # of pycocotools
    image_limit: int = 0  # predictions of an image that count, whatever their classes; 0: all
    drops_flat: bool = False  # objects without any area are left out
    sigmas: tuple[tuple[float, ...], ...] = ()  # of the keypoints of each class, in the order of the truth's table
    allow_unknown_classes: bool = (
        False  # images and classes that the truth does not have count, too; classes stay in their order
    )


@dataclass(frozen=True, eq=False)
class Arrays:
    """Precision and recall of everything at once, in the reference's shapes; what is absent is `nan`.

    T thresholds, R recalls, K classes, A area ranges, M limits of predictions.
    """

    precision: Floats  # [T, R, K, A, M]
    recall: Floats  # [T, K, A, M]
    scores: Floats  # [T, R, K, A, M]: the confidence at which each recall is reached

    def with_absent(self, value: float) -> Arrays:
        """The same with another value for what is absent: -1 makes them the reference's, bit for bit."""
        absent = np.isnan(self.precision)  # a confidence may be no number without being absent
        recall = np.where(np.isnan(self.recall), value, self.recall)
        return Arrays(np.where(absent, value, self.precision), recall, np.where(absent, value, self.scores))


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What became of every object at one threshold and in one area range."""

    state: NDArray[np.int8]  # of predictions: RIGHT, WRONG, IGNORED, or UNSEEN where they do not count at all
    truth: NDArray[np.int32]  # the truth each prediction took, -1 for none
    overlap: Floats  # with that truth; nan for none
    pred: NDArray[np.int32]  # the first prediction that took each truth, -1 for none
    is_asked: NDArray[np.bool_]  # truths that are to be found


RIGHT, WRONG, IGNORED, UNSEEN = 1, 0, -1, -2


@dataclass(frozen=True, eq=False)
class MatchLayout:
    """Objects image by image, class by class within an image: a place in this layout is a slot; and pairs of slots.

    A side is (the object in each slot, its class, offsets of images); predictions of a group fall in confidence.
    """

    truths: tuple[NDArray[np.int32], NDArray[np.int32], Ints]
    preds: tuple[NDArray[np.int32], NDArray[np.int32], Ints]
    ranks: NDArray[np.int32]  # of predictions within their groups
    by_label: NDArray[np.int32]  # slots of predictions, class by class, by falling confidence
    label_offsets: Ints
    candidates: tuple[Ints, NDArray[np.int32], Floats]  # offsets of predictions, truth and overlap of each pair
    ignored: NDArray[np.uint32]  # the area ranges in which a truth neither rewards nor punishes, one bit each
    outside: NDArray[np.uint32]  # those in which a prediction that takes nothing counts for nothing
    matched: list[NDArray[np.uint16]]  # [pair, area range] thresholds, one bit each, sixteen at a time

    def is_matched(self, threshold: int, area: int = 0) -> NDArray[np.bool_]:
        """For each pair, whether the prediction took the truth."""
        bits = self.matched[threshold // 16][:, area] >> np.uint16(threshold % 16)
        return (bits & np.uint16(1)) > 0


class Evaluation(PrecisionRecall):
    """Truth and predictions by some rules. Pickles as these, and is made again when it is asked.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [20, 20, 30, 30]])
    >>> pred = Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.9])
    >>> kept = Evaluation(truth, pred, Rules((0.5,), recalls=(0.0, 0.5, 1.0)))
    >>> round(kept.mean("precision", 0, 0, 0), 4), kept.mean("recall", 0, 0, 0)
    (0.6667, 0.5)
    >>> kept.outcomes().truth
    array([0], dtype=int32)
    """

    has_objects = True
    has_one_order = True  # of predictions, at all thresholds

    def __init__(
        self, truth: Annotations, pred: Annotations, rules: Rules, threads: int = 1, **cells: NDArray[Any] | int | None
    ) -> None:
        """`pred` is aligned with `truth`. `cells` say more than flags can: see :func:`evaluate`."""
        self.truth, self.pred, self.rules, self.threads, self.cells = truth, pred, rules, threads, cells
        self.kept = evaluate(truth, pred, rules, threads, **cells)

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (self.truth, self.pred, self.rules, self.threads, self.cells)

    @cached_property
    def native(self) -> _core.PrecisionRecall:  # type: ignore[override]
        self.check_curves()
        return self.kept.numbers()

    def check_curves(self) -> None:
        """Every class has a curve at each threshold and area range, also one that no object has: a small file that
        lists very many classes is refused before memory is.
        """
        classes, most = len(self.counts[0]), self.most_points
        points = classes * max(1, len(self.rules.ranges)) * len(self.rules.thresholds) * len(self.rules.recalls)
        if points > most:
            raise DataError(
                f"classes: expected at most {most:,} points of precision-recall curves for "
                f"{self.object_count:,} objects, found {points:,} of {classes:,} classes; "
                f"{remedy('curve_points')}"
            )

    @property
    def object_count(self) -> int:
        """Of both sides, those that count."""
        return sum(map(sum, self.counts))

    @property
    def most_points(self) -> int:
        """How many points the curves of so many objects may have."""
        return limit("curve_points") + POINTS_PER_OBJECT * self.object_count

    @property
    def counts(self) -> tuple[list[int], list[int]]:
        """For each class, truths to be found and predictions that count."""
        return self.kept.truth_counts, self.kept.pred_counts

    @cached_property
    def arrays(self) -> Arrays:
        """Precision, recall and scores for every limit, in the reference's shapes."""
        from math import nan

        self.check_curves()
        return Arrays(*self.kept.arrays(nan))

    @cached_property
    def stages(self) -> MatchLayout:
        """What the numbers are made of, slot by slot."""
        return MatchLayout(**self.kept.match_layout())

    @cached_property
    def by_class(self) -> list[NDArray[np.int32]]:
        """The predictions of each class that count, by falling confidence."""
        rows, offsets = self.kept.by_class()
        return [rows[first:last] for first, last in pairwise(offsets.tolist())]

    def part(self, about: str = "") -> Part:
        """What became of these images, to be merged with what became of others `about` the same.

        Classes are known by their ids, or else by their places; those that the truth does not have, where they count,
        by their names. Images are known by their ids, or else by their names.
        """
        labels = self.truth.labels
        notes = PartialMetadata(
            self.pred.labels.all_names[len(labels) :] if self.rules.allow_unknown_classes else (),
            tuple((name, own) for name, own in zip(labels.all_names, self.rules.sigmas, strict=False) if own),
        )
        if self.rules.class_agnostic:
            ids: Iterable[int] = [0]
        elif labels.numbers is None or self.rules.allow_unknown_classes:
            ids = [*range(len(labels)), *map(class_id, notes.classes)]
        else:
            ids = sorted(labels.numbers)
        with tell_as(DataError):
            about = about or repr((replace(self.rules, sigmas=()), sorted(labels.all_names)))
            return Part(self.kept.state(int64s(ids), about), PartialMetadata.join([notes]))

    def outcomes(self, threshold: int = 0, area: int = 0) -> Outcomes:
        """Whom every prediction took, and who found every truth."""
        with tell_as(BadParameter):
            found = self.kept.outcomes(threshold, area)
        return Outcomes(found.state, found.truth, found.iou, found.pred, found.counted_truth)

    def matches(
        self, thresholds: Sequence[float], iou: float | None, confidence: float | ClassThresholds | None = None
    ) -> Matches:
        """Which prediction is matched to which ground truth at one of the `thresholds` of the protocol's settings.

        `iou` chooses it, None the only one; `confidence` is the confidence threshold of the settings, if any.
        """
        threshold = choose_threshold(thresholds, iou)
        found = self.outcomes(threshold)
        matched_pred = np.where(found.is_asked, found.pred, -1).astype(np.int64)
        return Matches(
            thresholds[threshold], found.is_asked, matched_pred, highest_floor(confidence), found.state >= WRONG
        )

    def outcomes_at(self, threshold: float) -> Outcomes:
        """The same at a threshold that these rules do not have."""
        rules = replace(self.rules, thresholds=(threshold,))
        return Evaluation(self.truth, self.pred, rules, self.threads, **self.cells).outcomes()

    def list_falling(self, threshold: int = 0) -> Ints:
        """Every prediction that is compared by falling confidence, equal ones as they count; so at every threshold."""
        listed: Any = self.cells.get("pred_rows")
        if listed is None:
            listed = self.stages.preds[0] if self.rules.ties == "image" else np.arange(len(self.pred))
        given = self.pred.confidence
        return np.asarray(listed if given is None else listed[np.argsort(-given[listed], kind="stable")])

    def bin_means(
        self, part: tuple[Any, ...], of_truths: Ints, of_preds: Ints, bins: int, areas: Any = ()
    ) -> list[float]:
        """A mean of the objects in each bin, as COCO evaluates ranges of areas: truths outside neither reward nor
        punish, nor do predictions outside that take nothing. Objects have the number of their bin; `areas`: of ranges.
        """
        from verite.model.annotations import Source

        truth, pred, rules = self.truth, self.pred, replace(self.rules, ranges=tuple(areas))
        if not areas:
            # The number stands for an area; those that predictions state are looked at in this one way.
            ranges = tuple((code - BESIDE, code + BESIDE) for code in range(bins))
            rules = replace(rules, ranges=ranges, repeats_quirks=True, drops_flat=False)
            truth, pred = (
                replace(side, area=codes.astype(np.float64), ids=None, source=Source())
                for side, codes in ((truth, of_truths), (pred, of_preds))
            )
        # As many bins together as may have curves at one time.
        curve = len(self.counts[0]) * len(rules.thresholds) * len(rules.recalls)
        together = max(1, self.most_points // max(1, curve))
        found: list[float] = []
        for first in range(0, bins, together):
            some = rules.ranges[first : first + together]
            kept = Evaluation(truth, pred, replace(rules, ranges=some), self.threads, **self.cells)
            kind, threshold, _, limit = part
            parts = [(kind, threshold, place, limit) for place in range(len(some))]
            if rules.recalls:
                found += [kept.mean(*one) for one in parts]
            else:
                found += kept.bootstrap_means(parts, np.ones((1, len(truth.images))))[0].tolist()
        return found

    def by_image(self) -> dict[str, list[Any]]:
        """Every image as if there were no other, in the order of image ids, as columns.

        `image` is its position, `precision` averaged over all thresholds, recalls and the classes it has, nan where it
        has none; counts of `truths`, of those `found` and of `wrong` predictions are at the first threshold.
        """
        return self.kept.by_image()

    def weighted(self, weights: Any) -> PrecisionRecall:
        """As if each image were there so many times, copies one after the other: whole numbers, or any from 0 up."""
        with tell_as(BadParameter):
            return PrecisionRecall(self.kept.weighted(np.asarray(weights, dtype=np.float64), self.threads))

    def changed(self, removed: Any = (), added: Annotations | None = None, weights: Any = None) -> PrecisionRecall:
        """As if these rows of the truth were not there and the added objects were, behind all others of their groups.

        An object with another class or place is one removed and one added. Only what is touched is matched again.
        """
        rows, objects = np.asarray(removed, dtype=np.int32), self.lay_beside(added)
        by_image = None if weights is None else np.asarray(weights, dtype=np.float64)
        with tell_as(BadParameter):
            return PrecisionRecall(self.kept.changed(rows, objects, by_image, self.threads))

    def lay_beside(self, added: Annotations | None) -> _core.Columns | None:
        """Objects that the truth may have besides, in its own tables."""
        with_outlines = _core.wants_outlines(self.rules.similarity)
        return None if added is None else columns_of(added.like(self.truth), with_outlines=with_outlines)

    def bootstrap_means(
        self,
        parts: Sequence[tuple[Any, ...]],
        weights: Any = None,
        changes: Changes | None = None,
        threads: int | None = None,
    ) -> Floats:
        """Means of many draws, [draw, part]: weights [draw, image], and another truth in each draw.

        A part is what :meth:`mean` takes. Much faster than asking :meth:`weighted` and :meth:`changed` draw by draw,
        and equal to them but for the last bits; the same bytes for any number of threads. Where the rules have no
        recalls, precision is summed wherever recall changes.
        """
        return self.simulate_means(parts, weights, changes, ((True, True),), threads)[:, 0]

    def simulate_means(
        self,
        parts: Sequence[tuple[Any, ...]],
        weights: Any,
        changes: Changes | None,
        doubts: Sequence[tuple[bool, bool]],
        threads: int | None = None,
    ) -> Floats:
        """The same, [draw, doubt, part]: whether weights and whether changes hold, for each doubt."""
        if not parts:
            raise BadParameter("parts: expected what to average, found nothing")
        objects = None if changes is None else self.lay_beside(changes.objects)
        with tell_as(BadParameter):
            means = self.kept.bootstrap_means(
                [mean_query(*part) for part in parts],
                None if weights is None else np.ascontiguousarray(weights, dtype=np.float64),
                None if changes is None else changes.native,
                objects,
                sources=[_core.UncertaintySource(has_weights=drawn, has_changes=new) for drawn, new in doubts],
                threads=threads or self.threads,
            )
        return np.array(means).reshape(-1, len(doubts), len(parts))


def _remake(truth: Any, pred: Any, rules: Any, threads: Any, cells: Any) -> Evaluation:
    return Evaluation(truth, pred, rules, threads, **cells)


def evaluate(
    truth: Annotations, pred: Annotations, rules: Rules, threads: int, **cells: NDArray[Any] | int | None
) -> _core.Evaluation:
    """The core's evaluation of two sides.

    `verified` and `ignore_if_unmatched`: image × labels + label of the cells, ascending, in which predictions count
    besides those with ground truth, and in which unmatched predictions are ignored. `min_iou`: the IoU that each
    ground-truth object requires besides the threshold. `pred_rows`: which predictions there are, in the order of equal
    confidences. `most_pairs`: the number of overlapping pairs above which they are refused.
    """
    order = None if rules.allow_unknown_classes else truth.labels.by_id
    widest = pred if rules.allow_unknown_classes and len(pred.images) > len(truth.images) else truth
    given: dict[str, Any] = {"most_pairs": limit("overlaps") + USUAL_PAIRS * len(pred)} | cells
    try:
        with_outlines = _core.wants_outlines(rules.similarity)
        preds = columns_of(pred, with_outlines=with_outlines or not pred.columns.regions.has_all_boxes)
        if preds.outside(len(widest.images), 2**31 - 1):
            raise unknown_image(truth, pred)
        return _core.Evaluation(
            columns_of(truth, with_outlines=with_outlines),
            preds,
            widest.images.table,
            max(len(truth.labels), len(pred.labels)) if rules.allow_unknown_classes else len(truth.labels),
            None if order is None else int32s(invert(order)),
            rules=_core.Rules(
                thresholds=rules.thresholds,
                area_ranges=rules.ranges,
                max_dets=rules.limits,
                recalls=rules.recalls,
                match=MATCHES[rules.wants],
                equal=_core.EqualIoU[rules.equal],
                ties=_core.TieOrder[rules.ties],
                is_strict=rules.is_strict,
                class_agnostic=rules.class_agnostic,
                orders_by_class=rules.orders_by_class,
            ),
            objects=_core.ObjectRules(
                ignored=[_core.Flag[name] for name in rules.ignored],
                multi_match=[_core.Flag[name] for name in rules.shared],
                repeats_quirks=rules.repeats_quirks,
                truth_is_results=truth.source.format in RESULTS,
                pred_is_results=pred.source.format in RESULTS,
                pixel=rules.pixel,
                image_limit=rules.image_limit,
                drops_flat=rules.drops_flat,
                sigmas=rules.sigmas,
                **given,
            ),
            similarity=rules.similarity,
            threads=threads,
        )
    except VeriteError:
        raise
    except ValueError as error:
        side, _, rest = str(error).partition(": ")
        path = {"truth": truth, "predictions": pred}.get(side, truth).source.path
        raise DataError(f"{path}: {rest or side}" if path else str(error)) from None


def unknown_image(truth: Annotations, pred: Annotations) -> DataError:
    rows = [row for row, image in enumerate(pred.image.tolist()) if image >= len(truth.images)]
    name = pred.images.name(int(pred.image[rows[0]]))
    return DataError(
        f"{pred.source.path or 'predictions'}: expected images of the truth, found {name!r} and others in "
        f"{len(rows)} predictions; is this the right truth?"
    )


def invert(order: Sequence[int]) -> list[int]:
    """The place of each position in an order."""
    places = [0] * len(order)
    for place, position in enumerate(order):
        places[position] = place
    return places


def int32s(values: Sequence[int]) -> Any:
    from array import array

    return array("i", values)


def int64s(values: Iterable[int]) -> Any:
    from array import array

    return array("q", values)


def columns_of(side: Annotations, *, with_outlines: bool) -> _core.Columns:
    """The columns of annotations; what is wrong with their outlines is said here."""
    if with_outlines:
        with translate_core_errors():
            side.columns.regions.load()
    return side.columns


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs that overlap: prediction i with truth[j] by overlap[j], j from offsets[i] to offsets[i + 1]."""

    offsets: Ints
    truth: NDArray[np.int32]
    overlap: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def pred(self) -> Ints:
        """The prediction of each pair."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def arrays(self) -> tuple[Ints, NDArray[np.int32], NDArray[np.float64]]:
        """As the core takes them."""
        return self.offsets, self.truth, self.overlap


def box_candidates(
    truth: Annotations,
    pred: Annotations,
    *,
    pixel: float = 0.0,
    floor: float = 0.0,
    class_agnostic: bool = False,
    threads: int = 1,
) -> Candidates:
    """Pairs of the same image and label whose boxes overlap by at least `floor`; `is_together`: of any label.

    `pixel` is added to every width and height: 1 where coordinates are pixel indices. More pairs than fit into memory
    are refused.
    """
    rules = Rules((floor,), "corner_box", pixel=pixel, allow_unknown_classes=True, class_agnostic=class_agnostic)
    stages = Evaluation(truth, pred, rules, threads, most_pairs=limit("overlaps")).stages
    slot_offsets, truth_slot, overlap = stages.candidates
    lengths = np.zeros(len(pred), dtype=np.int64)
    lengths[stages.preds[0]] = np.diff(slot_offsets)
    rows = stages.truths[0][truth_slot]
    by_pred = np.lexsort((rows, np.repeat(stages.preds[0], np.diff(slot_offsets))))
    return Candidates(offsets_of(lengths), rows[by_pred], overlap[by_pred])


@dataclass(frozen=True, eq=False)
class Changes:
    """The truth of each draw: `removed` rows are not there; of the `objects` that may be added, those in `added` are
    there, with these `labels` (positions in the truth's), behind all others of their groups; rows in `again` have a
    twin that nobody can find. The i-th draw has `removed[removed_offsets[i]:removed_offsets[i + 1]]`, and so on.
    """

    objects: Annotations | None  # with the truth's own images and labels
    removed: Rows
    removed_offsets: Offsets
    added: Rows
    labels: Rows
    added_offsets: Offsets
    again: Rows
    again_offsets: Offsets

    @classmethod
    def of(
        cls,
        objects: Annotations | None = None,
        removed: Sequence[Any] = (),
        added: Sequence[Any] = (),
        labels: Sequence[Any] | None = None,
        again: Sequence[Any] = (),
    ) -> Changes:
        """From the rows of each draw; what is not given is empty in all of them, labels are the objects' own."""
        count = max(len(removed), len(added), len(again))
        lists = [one or [()] * count for one in (list(removed), list(added), list(again))]
        flat = [join_lists(rows) for rows in lists]
        if labels is not None:
            names = join_lists(list(labels))[0]
        else:
            names = np.zeros(0, np.int32) if objects is None else objects.label[flat[1][0]]
        return cls(objects, *flat[0], flat[1][0], names, flat[1][1], *flat[2])

    def __len__(self) -> int:
        """How many draws there are."""
        return len(self.removed_offsets) - 1

    def draw(self, i: int) -> tuple[Rows, Rows, Rows, Rows]:
        """The i-th draw: rows removed, objects added, their labels, rows with a twin."""
        gone = slice(*self.removed_offsets[i : i + 2])
        new = slice(*self.added_offsets[i : i + 2])
        return self.removed[gone], self.added[new], self.labels[new], self.again[slice(*self.again_offsets[i : i + 2])]

    @property
    def native(self) -> _core.SimulatedChanges:
        """The same as the core's record, without the objects."""
        return _core.SimulatedChanges(
            removed=self.removed,
            removed_offsets=self.removed_offsets,
            added=self.added,
            labels=self.labels,
            added_offsets=self.added_offsets,
            duplicated=self.again,
            duplicated_offsets=self.again_offsets,
        )


def join_lists(rows: Sequence[Any]) -> tuple[Rows, Offsets]:
    """Lists one after the other, and where each begins."""
    parts = [np.asarray(one, dtype=np.int32) for one in rows]
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return np.concatenate([np.zeros(0, np.int32), *parts]), offsets
