"""Every object in a few bytes: columns that the page's script unpacks, so that a row or a cell can show its objects."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.reporting.page.mixups import find_claims, find_mixups, has_matrix
from verite.reporting.page.outlines import Lines, choose_images, find_outlines, pack_outlines
from verite.reporting.page.tally import ConfidenceTally, StepCounts

if TYPE_CHECKING:
    from verite.model.annotations import Annotations

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
        self.truth, self.asked = first.truth, first.overlay.finds.asked
        self.scale = max(scale_of(one.truth, one.pred) for one in tallies)
        self.is_open = np.zeros(len(self.truth.images), dtype=np.bool_)
        self.is_open[images if len(self.truth.images) > MOST_IMAGES else slice(None)] = True
        self.outlined: list[int] = []
        if first.overlay.on != "box":
            sides = [first.truth, *(one.pred for one in tallies)]
            many = sum(np.bincount(side.image, minlength=len(self.truth.images)) for side in sides)
            self.outlined = [k for k in choose_images(images, np.asarray(many)) if self.is_open[k]]
        order = np.argsort(self.truth.image, kind="stable")
        self.order = order[self.is_open[self.truth.image[order]]]

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
        wanted = wanted[self.is_open[tally.pred.image[wanted]]]
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
        taken = tally.overlay.finds.taken[self.order]
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
        place = -sure if tally.analysis is None else tally.analysis.matches.place
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
    found = np.where(matches.is_right, matches.outcomes.overlap, near)
    return np.asarray(np.clip(np.nan_to_num(found), 0, 1))
