"""Counts by confidence threshold, and every object as compressed columns for the report's script."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.analysis.confusion import BEST_F1, MATCHING
from verite.evaluation.settings import ClassThresholds
from verite.reporting.draw import thin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations
    from verite.reporting.draw import Overlay, Ring


STEPS = 101

RIGHT = "right"

FIRST, BEST, LRP = "", "best F1", "LRP"  # where the page begins, and of each label


@dataclass(frozen=True, eq=False)
class StepCounts:
    """How many there are: [..., step] whose last step it is, and [..., choice] that a choice keeps."""

    steps: NDArray[np.int64]
    chosen: NDArray[np.int64]

    @property
    def falling(self) -> NDArray[np.int64]:
        """From each step on."""
        return np.asarray(self.steps[..., ::-1].cumsum(axis=-1)[..., ::-1])


class ConfidenceTally:
    """Histograms over confidence steps: of each label and type, and of each image; and the same at each choice."""

    def __init__(self, overlay: Overlay, analysis: Any = None) -> None:
        self.overlay, self.analysis = overlay, analysis
        self.truth, self.pred = overlay.truth, overlay.pred
        ours, theirs = self.truth.labels.all_names, self.pred.labels.all_names
        self.names = tuple(theirs if len(theirs) > len(ours) else ours)
        counted = overlay.counts & (self.pred.image < len(self.truth.images))
        of = np.zeros(len(self.pred), dtype=np.int64)
        self.types: tuple[str, ...] = (RIGHT, "wrong")
        self.target = np.full(len(self.pred), -1, dtype=np.int64)  # the truth that an error is after
        if analysis is not None:
            errors = analysis.errors
            of, self.types = np.maximum(errors.types.kind, 0), (RIGHT, *tuple(errors.cost)[:-1])
            self.target = errors.types.target.astype(np.int64)
        self.kind = np.where(counted, np.where(overlay.is_right, 0, of + 1), -1)  # -1: counts for nothing

    @cached_property
    def best_of_labels(self) -> list[float | None]:
        """For each label the confidence with the largest F1, the highest of equals; none where nothing is right."""
        order = np.lexsort((-self.overlay.sureness, self.pred.label))
        order = order[self.kind[order] >= 0]
        starts = np.searchsorted(self.pred.label[order], np.arange(len(self.names) + 1))
        found: list[float | None] = []
        for k, truths in enumerate(self.truths.tolist()):
            rows = order[starts[k] : starts[k + 1]]
            right = np.cumsum(self.kind[rows] == 0)
            if not truths or not len(rows) or not right[-1]:
                found.append(None)
                continue
            sure = self.overlay.sureness[rows]
            f1 = np.where(np.append(np.diff(sure) != 0, True), 2 * right / (np.arange(1, len(rows) + 1) + truths), -1)
            found.append(float(sure[int(np.argmax(f1))]))
        return found

    @cached_property
    def choices(self) -> dict[str, NDArray[np.float64]]:
        """Floors that differ from label to label, by what they are called; a label without one keeps everything."""
        found = {FIRST: self.first_floors, BEST: np.array([-np.inf if x is None else x for x in self.best_of_labels])}
        if self.analysis is not None:
            found[LRP] = ClassThresholds.of(self.analysis.lrp.thresholds).of_labels(self.names)
        return found

    @cached_property
    def confidence(self) -> float | ClassThresholds:
        """Where the page begins: what the analysis was asked for, else the confidence of the best F1."""
        if self.analysis is None or self.analysis.settings.confidence == BEST_F1:
            return self.overlay.best_confidence
        return self.analysis.confidence  # type: ignore[no-any-return]

    @property
    def first_floors(self) -> NDArray[np.float64]:
        at = self.confidence
        return at.of_labels(self.names) if isinstance(at, ClassThresholds) else np.full(len(self.names), at)

    @cached_property
    def is_chosen(self) -> NDArray[np.bool_]:
        """[choice, prediction]: who reaches the floor of its label."""
        floors = np.stack(list(self.choices.values()))
        return np.asarray(self.overlay.sureness >= floors[:, self.pred.label])

    @cached_property
    def steps(self) -> NDArray[np.float64]:
        """Rising confidences: hundredths, or where confidences are no shares, equal steps between the extremes."""
        sure = self.overlay.sureness[np.isfinite(self.overlay.sureness)]
        if not len(sure) or (sure.min() >= 0 and sure.max() <= 1):
            return np.arange(STEPS) / (STEPS - 1)
        return np.linspace(sure.min(), sure.max(), STEPS)

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """The last step at which each prediction still counts; -1 for none."""
        return np.searchsorted(self.steps, self.overlay.sureness, side="right") - 1

    def count(self, rows: NDArray[Any], places: tuple[NDArray[Any], ...], shape: tuple[int, ...]) -> StepCounts:
        """How many predictions there are in every place: at each step those whose last one it is, at each choice all
        that are kept.
        """
        many = int(np.prod(shape))
        at = np.ravel_multi_index(places, shape)
        step = self.step[rows]
        known = step >= 0
        steps = np.bincount(at[known] * STEPS + step[known], minlength=many * STEPS)
        chosen = [np.bincount(at[kept], minlength=many) for kept in self.is_chosen[:, rows]]
        return StepCounts(steps.reshape(*shape, STEPS), np.stack(chosen, axis=-1).reshape(*shape, len(chosen)))

    @cached_property
    def by_label(self) -> StepCounts:
        """Of [label, type]."""
        rows = np.flatnonzero(self.kind >= 0)
        return self.count(rows, (self.pred.label[rows], self.kind[rows]), (len(self.names), len(self.types)))

    def by_image(self, images: NDArray[Any], is_right: bool) -> StepCounts:
        """Right or wrong ones of these images."""
        place = np.full(len(self.truth.images) + 1, -1)
        place[images] = np.arange(len(images))
        rows = np.flatnonzero((self.kind == 0) if is_right else (self.kind > 0))
        rows = rows[place[self.pred.image[rows]] >= 0]
        return self.count(rows, (place[self.pred.image[rows]],), (len(images),))

    @cached_property
    def near(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Of each truth the last step at which it is taken or an error is after it, -1 for none; and [choice, truth]
        whether it is so there. A truth to which nobody comes near is missed.
        """
        asked, taken = self.overlay.finds.counted_truth, self.overlay.finds.matched_pred
        rows, pairs = np.flatnonzero((self.kind > 0) & (self.target >= 0)), np.flatnonzero(taken >= 0)
        truth, pred = np.append(self.target[rows], pairs), np.append(rows, taken[pairs])
        truth, pred = truth[asked[truth]], pred[asked[truth]]
        last = np.full(len(asked), -1)
        np.maximum.at(last, truth, self.step[pred])
        chosen = np.zeros((len(self.choices), len(asked)), dtype=np.bool_)
        for is_near, kept in zip(chosen, self.is_chosen, strict=True):
            is_near[truth[kept[pred]]] = True
        return last, chosen

    @cached_property
    def reached(self) -> StepCounts:
        """Of [label] the truths to which somebody comes near."""
        last, chosen = self.near
        known, shape = last >= 0, (len(self.names), STEPS)
        places = np.ravel_multi_index((self.truth.label[known], last[known]), shape)
        steps = np.bincount(places, minlength=int(np.prod(shape))).reshape(shape)
        counts = [np.bincount(self.truth.label[is_near], minlength=len(self.names)) for is_near in chosen]
        return StepCounts(steps, np.stack(counts, axis=-1))

    @cached_property
    def truths(self) -> NDArray[np.int64]:
        """Objects to be found of each label."""
        return np.bincount(self.truth.label[self.overlay.finds.counted_truth], minlength=len(self.names))

    def curve(self) -> dict[str, Any]:
        """Right and wrong predictions of all labels at each step."""
        falling = self.by_label.falling.sum(axis=0)
        return {
            "steps": self.steps.tolist(),
            "right": falling[0].tolist(),
            "wrong": falling[1:].sum(axis=0).tolist(),
            "truths": int(self.truths.sum()),
            "images": len(self.truth.images),
        }

    def at(self, confidence: float) -> dict[str, Any]:
        """Everything at one confidence, which need not be a step."""
        is_kept = (self.kind >= 0) & (self.overlay.sureness >= confidence)
        right = int((is_kept & (self.kind == 0)).sum())
        wrong, truths = int(is_kept.sum()) - right, int(self.truths.sum())
        return {
            "confidence": confidence,
            "right": right,
            "wrong": wrong,
            "missed": truths - right,
            "precision": right / (right + wrong) if right + wrong else None,
            "recall": right / truths if truths else None,
            "f1": 2 * right / (right + wrong + truths) if truths else None,
        }


Change = tuple[int, int, int, int]  # step or choice, label of the truth, label of the prediction, how many more

Pair = tuple[int, int, int, int]  # prediction, truth, and their labels


def find_mixups(tally: ConfidenceTally) -> dict[str, NDArray[Any]]:
    """Columns of changes, sorted; a choice stands behind the steps and has whole counts. None without an analysis."""
    if not has_matrix(tally):
        return {}
    found: Counter[tuple[int, int, int]] = Counter()
    for step, ours, theirs, more in (*right_ones(tally), *others(tally)):
        found[ours, theirs, step] += more
    listed = np.array([(*key, many) for key, many in sorted(found.items()) if many], dtype=np.int64).reshape(-1, 4)
    truth, pred, at, change = listed.T
    wide = np.uint8 if len(tally.names) < 2**8 else np.uint16
    return {
        "m_at": at.astype(np.uint8),
        "m_truth": truth.astype(wide),
        "m_pred": pred.astype(wide),
        "m_many": change.astype(np.int32 if np.abs(change).max(initial=0) >= 2**15 else np.int16),
    }


def has_matrix(tally: ConfidenceTally) -> bool:
    """Whether there are labels that can be taken for each other."""
    analysis = tally.analysis
    return analysis is not None and not analysis.matches.rules.class_agnostic and "confusion" in analysis.settings.only


def find_claims(tally: ConfidenceTally) -> tuple[NDArray[Any], NDArray[Any]]:
    """Predictions and the truths that each overlaps enough to be paired with, as they are asked: image by image, the
    surest prediction first, and for it the largest overlap.
    """
    matches, pairs = tally.analysis.matches, tally.analysis.matches.pairs
    is_first = tally.analysis.settings.matching == MATCHING[0]
    is_unassigned = matches.counted_pred & ~matches.is_tp if is_first else matches.counted_pred
    chosen = (
        (pairs.overlap >= matches.thresholds[matches.main_threshold])
        & is_unassigned[pairs.pred]
        & matches.counted_truth[pairs.truth]
    )
    chosen = np.flatnonzero(chosen & ~pairs.same_class if is_first else chosen)
    pred, truth = pairs.pred[chosen], pairs.truth[chosen].astype(np.int64)
    later = truth if is_first else -truth
    order = np.lexsort((later, -pairs.overlap[chosen], matches.rank[pred], matches.pred.image[pred]))
    return pred[order], truth[order]


def right_ones(tally: ConfidenceTally) -> Iterator[Change]:
    """The diagonal, where right predictions keep their truths."""
    if tally.analysis.settings.matching != MATCHING[0]:
        return
    counts = tally.by_label
    for part, first in ((counts.steps, 0), (counts.chosen, STEPS)):
        right = part[:, 0]
        for label, at in np.argwhere(right).tolist():
            yield first + at, label, label, int(right[label, at])


def others(tally: ConfidenceTally) -> Iterator[Change]:
    """Pairs of what is left, image by image."""
    matches, step = tally.analysis.matches, tally.step.tolist()
    taken = tally.overlay.finds.matched_pred
    is_first = tally.analysis.settings.matching == MATCHING[0]
    pred, truth = find_claims(tally)
    columns = (pred, truth, matches.truth_label[truth], matches.pred_label[pred])
    listed = zip(
        matches.pred.image[pred].tolist(), zip(*(column.tolist() for column in columns), strict=True), strict=True
    )
    for _, group in groupby(listed, key=lambda one: one[0]):
        mine = [pair for _, pair in group]
        # Who takes a truth rightly, and is not among the pairs.
        taker = {one[1]: int(taken[one[1]]) for one in mine} if is_first else {}
        yield from pair_at_steps(mine, step, taker)
        for k, is_kept in enumerate(tally.is_chosen):
            gone = {one for one, by in taker.items() if by >= 0 and is_kept[by]}
            for labels, many in pair_up((one for one in mine if is_kept[one[0]]), gone).items():
                yield STEPS + k, *labels, many


def pair_at_steps(mine: list[Pair], step: list[int], taker: dict[int, int]) -> Iterator[Change]:
    """What changes, from the surest step down."""
    enters = {step[one[0]] for one in mine} | {step[by] for by in taker.values() if by >= 0}
    before: Counter[tuple[int, int]] = Counter()
    for at in sorted(enters - {-1}, reverse=True):
        gone = {one for one, by in taker.items() if by >= 0 and step[by] >= at}
        now = pair_up((one for one in mine if step[one[0]] >= at), gone)
        for labels in now.keys() | before.keys():
            if now[labels] != before[labels]:
                yield at, *labels, now[labels] - before[labels]
        before = now


def pair_up(mine: Iterable[Pair], gone: set[int]) -> Counter[tuple[int, int]]:
    """Predictions by falling confidence take the free truth they overlap most: how often which labels meet."""
    found: Counter[tuple[int, int]] = Counter()
    done: set[int] = set()
    for pred, truth, ours, theirs in mine:
        if pred not in done and truth not in gone:
            done.add(pred)
            gone.add(truth)
            found[ours, theirs] += 1
    return found


MOST_OBJECTS = 2000  # that are traced beside those of the images named on the page: a second

Lines = dict[int, "list[Ring]"]  # of a row


def choose_images(named: Sequence[int], objects: NDArray[Any]) -> list[int]:
    """Images whose objects have their outlines: those named on the page, then as many others as are soon traced.

    >>> choose_images([2], np.array([900, 1000, 5000, 101, 100]))
    [0, 1, 2, 4]
    """
    others = np.setdiff1d(np.arange(len(objects)), named)
    found, spent = list(named), 0
    for image, many in zip(others.tolist(), objects[others].tolist(), strict=True):
        if spent + many <= MOST_OBJECTS:
            spent += many
            found.append(image)
    return sorted(found)


def find_outlines(overlay: Overlay, name: str, rows: NDArray[Any], images: Sequence[int]) -> Lines:
    """Of the objects in some images."""
    side = overlay.truth if name == "truth" else overlay.pred
    chosen = rows[np.isin(side.image[rows], images)] if len(images) else rows[:0]
    known = chosen[np.isfinite(side.regions.boxes[chosen]).all(axis=1)]
    return {row: [thin(line) for line in overlay.mark(name, row).lines] for row in known.tolist()}


def pack_outlines(lines: Lines, rows: NDArray[Any], scale: float) -> dict[str, NDArray[Any]]:
    """How many lines each row has, how many points each line, and from point to point."""
    if not lines:
        return {}
    mine = [lines.get(row, []) for row in rows.tolist()]
    every = [np.rint(np.asarray(line) / scale) for one in mine for line in one]
    ways = np.concatenate([np.zeros((0, 2)), *(np.diff(line, axis=0, prepend=np.zeros((1, 2))) for line in every)])
    wide = np.int16 if np.abs(ways).max(initial=0) < 2**15 else np.int32
    return {
        "lines": np.array([len(one) for one in mine], dtype=np.uint16),
        "points": np.array([len(line) for line in every], dtype=np.uint16),
        "across": ways[:, 0].astype(wide),
        "down": ways[:, 1].astype(wide),
    }


CELLS = "xywh"

BYTES_EACH = 12.0  # of a prediction, packed and written as text; a first guess

LEVEL = 6  # of compression; 9 takes four times as long for one byte in a hundred

FINE = 100  # levels of confidence in a step

CHOICE = 4  # the first bit of a type's byte that says by which choices a prediction is kept

MOST_IMAGES = 20_000  # beyond, only the images that are named on the page can be opened

Columns = dict[str, NDArray[Any]]


def pack(columns: Columns) -> tuple[bytes, list[list[Any]]]:
    """Columns one after the other, and what they are: name, type, bytes. Compressed the same way everywhere."""
    layout = [[name, array_of(values.dtype), int(values.nbytes)] for name, values in columns.items()]
    raw = b"".join(
        np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes() for values in columns.values()
    )
    return zlib.compress(raw, LEVEL), layout


def array_of(kind: np.dtype[Any]) -> str:
    """What a script calls such a column.

    >>> array_of(np.dtype(np.uint8)), array_of(np.dtype(np.int32))
    ('Uint8Array', 'Int32Array')
    """
    return f"{kind.name.capitalize()}Array"


def smallest(values: NDArray[Any]) -> NDArray[Any]:
    """StepCounts in the fewest bytes that hold them."""
    top = int(values.max(initial=0))
    return values.astype(np.uint8 if top < 2**8 else np.uint16 if top < 2**16 else np.uint32)


def scale_of(truth: Annotations, pred: Annotations) -> float:
    """What one unit of a packed coordinate is in pixels: a quarter, or more where images are very large."""
    tops = [float(np.abs(boxes).max(initial=0.0)) for boxes in (finite(truth), finite(pred))]
    return max(0.25, max(tops) / 65000)


def finite(side: Annotations) -> NDArray[np.float64]:
    boxes = side.regions.sizes
    return boxes if np.isfinite(boxes).all() else np.where(np.isfinite(boxes), boxes, 0.0)


def box_columns(side: Annotations, rows: NDArray[Any], scale: float) -> Columns:
    """Left, top, width and height, each for itself: alike numbers beside each other pack better."""
    cells = np.clip(np.rint(finite(side)[rows] / scale), 0, 65535).astype(np.uint16)
    return {name: cells[:, k] for k, name in enumerate(CELLS)}


class Packer:
    """What the objects of all systems share: the images that can be opened, in which order, and the unit of lengths."""

    def __init__(self, tallies: Sequence[ConfidenceTally], images: Sequence[int]) -> None:
        """`images`: those named on the page, which can always be opened."""
        first = tallies[0]
        self.truth, self.asked = first.truth, first.overlay.finds.counted_truth
        self.scale = max(scale_of(one.truth, one.pred) for one in tallies)
        self.can_be_opened = np.zeros(len(self.truth.images), dtype=np.bool_)
        self.can_be_opened[images if len(self.truth.images) > MOST_IMAGES else slice(None)] = True
        self.outlined: list[int] = []
        if first.overlay.on != "box":
            sides = [first.truth, *(one.pred for one in tallies)]
            many = sum(np.bincount(side.image, minlength=len(self.truth.images)) for side in sides)
            self.outlined = [k for k in choose_images(images, np.asarray(many)) if self.can_be_opened[k]]
        order = np.argsort(self.truth.image, kind="stable")
        self.order = order[self.can_be_opened[self.truth.image[order]]]

    def starts(self, image: NDArray[Any]) -> NDArray[Any]:
        return np.searchsorted(image, np.arange(len(self.truth.images) + 1)).astype(np.uint32)

    def pack_truth(self, tally: ConfidenceTally) -> tuple[bytes, list[list[Any]]]:
        """The objects of the truth, image by image, and in which bin of each property they are."""
        truth, order = self.truth, self.order
        columns = {"start": self.starts(truth.image[order]), "label": smallest(truth.label[order])}
        columns |= {"asked": self.asked[order].astype(np.uint8)} | box_columns(truth, order, self.scale)
        if tally.analysis is not None and "slices" in tally.analysis.settings.only:
            for k, one in enumerate(tally.analysis.slices.properties):
                columns[f"s{k}"] = smallest(one.of_truths[order] + 1)
        lines = find_outlines(tally.overlay, "truth", order, self.outlined)
        return pack(columns | pack_outlines(lines, order, self.scale))

    def pack_system(
        self, tally: ConfidenceTally, budget: int, images: Sequence[int] = ()
    ) -> tuple[bytes, dict[str, Any]]:
        """What became of the truths, counts at every step, and as many predictions as fit: the right ones, those that
        may be taken for another class, then the others by falling confidence. `images`: those whose counts follow the
        slider.
        """
        fixed = self.fixed_columns(tally, np.asarray(images, dtype=np.int64))
        wanted = np.flatnonzero(tally.kind >= 0)
        wanted = wanted[self.can_be_opened[tally.pred.image[wanted]]]
        sure = tally.overlay.sureness
        wanted = wanted[np.lexsort((-sure[wanted], rank_kinds(tally)[wanted]))]
        lines = find_outlines(tally.overlay, "pred", wanted, self.outlined)
        rest = 4 * len(pack(fixed)[0]) // 3  # base64 takes a third more
        room = min(len(wanted), int(max(0, budget - rest) / BYTES_EACH))
        while True:
            data, layout = pack(fixed | self.pred_columns(tally, wanted[:room], lines))
            size = 4 * len(data) // 3
            if size <= budget or not room:
                break
            room = int(room * min(0.97, 0.98 * max(0, budget - rest) / max(1, size - rest)))
        left = wanted[room:]
        about: dict[str, Any] = {"layout": layout, "kept": room, "left_out": len(left)}
        if len(left):
            about["left_out_below"] = float(sure[left].max())
        return data, about

    def fixed_columns(self, tally: ConfidenceTally, images: NDArray[Any]) -> Columns:
        columns = spread("labels", tally.by_label) | spread("reached", tally.reached)
        columns |= spread("right", tally.by_image(images, True)) | spread("wrong", tally.by_image(images, False))
        columns |= find_mixups(tally)
        taken = tally.overlay.finds.matched_pred[self.order]
        # Up to which step, counted from 1; 0 is at none.
        columns["found"] = (np.append(tally.step, -1)[taken] + 1).astype(np.uint8)
        columns["found+"] = np.append(bits(tally), 0)[taken].astype(np.uint8)
        last, chosen = tally.near
        columns["near"] = (last[self.order] + 1).astype(np.uint8)
        columns["near+"] = ((1 << np.arange(len(chosen))) @ chosen)[self.order].astype(np.uint8)
        return columns

    def pred_columns(self, tally: ConfidenceTally, rows: NDArray[Any], lines: Lines) -> Columns:
        """Predictions image by image, in an image by falling confidence."""
        pred, sure = tally.pred, tally.overlay.sureness
        place = -sure if tally.analysis is None else tally.analysis.matches.rank
        rows = rows[np.lexsort((place[rows], pred.image[rows]))]
        low, high = float(tally.steps[0]), float(tally.steps[-1])
        step = tally.step[rows] * FINE
        share = (sure[rows] - low) / (high - low) if high > low else np.zeros(len(rows))
        level = np.floor(np.clip(share, 0, 1) * (len(tally.steps) - 1) * FINE)
        columns = {
            "start": self.starts(pred.image[rows]),
            "label": smallest(pred.label[rows]),
            "type": (tally.kind[rows] | bits(tally)[rows] << CHOICE).astype(np.uint8),
            "sure": np.clip(level, step, step + FINE - 1).astype(np.uint16),
        }
        if tally.analysis is not None:
            columns["iou"] = np.rint(overlaps(tally)[rows] * 255).astype(np.uint8)
        columns |= self.claim_columns(tally, rows) if has_matrix(tally) else {}
        columns |= box_columns(pred, rows, self.scale) | pack_outlines(lines, rows, self.scale)
        return columns

    def claim_columns(self, tally: ConfidenceTally, rows: NDArray[Any]) -> Columns:
        """How many truths each prediction could be paired with, and which of its image they are."""
        pred, truth = find_claims(tally)
        place, at = np.full(len(tally.pred), -1), np.zeros(len(self.truth), dtype=np.int64)
        place[rows], at[self.order] = np.arange(len(rows)), np.arange(len(self.order))
        is_kept = place[pred] >= 0
        pred, truth = pred[is_kept], truth[is_kept]
        first = self.starts(self.truth.image[self.order])[self.truth.image[truth]]
        counts = np.bincount(place[pred], minlength=len(rows))
        return {"claims": smallest(counts), "to": smallest(at[truth] - first)}


def spread(name: str, counts: StepCounts) -> Columns:
    return {name: smallest(counts.steps), f"{name}+": smallest(counts.chosen)}


def bits(tally: ConfidenceTally) -> NDArray[np.int64]:
    """Of each prediction, which choices keep it."""
    powers = 1 << np.arange(len(tally.choices))
    return np.asarray(powers @ tally.is_chosen)


def rank_kinds(tally: ConfidenceTally) -> NDArray[np.int64]:
    """Who is kept first: without those that take a truth for another class, too many would be listed as missed."""
    rank = np.full(len(tally.pred), 2)
    if has_matrix(tally):
        rank[find_claims(tally)[0]] = 1
    rank[tally.kind == 0] = 0
    return rank


def overlaps(tally: ConfidenceTally) -> NDArray[np.float64]:
    """Of each prediction: with the truth it takes, or with the one it comes nearest to."""
    matches = tally.analysis.matches
    near = np.maximum(matches.nearest_same.overlap, matches.nearest_other.overlap)
    found = np.where(matches.is_tp, matches.outcomes.overlap, near)
    return np.asarray(np.clip(np.nan_to_num(found), 0, 1))
