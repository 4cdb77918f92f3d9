"""Every object in a few bytes: columns that the page's script unpacks, so that a row or a cell can show its objects."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.reporting.page.tally import ConfidenceTally

if TYPE_CHECKING:
    from verite.model.annotations import Annotations

CELLS = "xywh"
NEVER = 255  # a truth that is found at no step
BYTES_EACH = 12.0  # of a prediction, packed and written as text; a first guess
LEVEL = 6  # of compression; 9 takes four times as long for one byte in a hundred
MOST_IMAGES = 20_000  # beyond, images cannot be opened


def pack(columns: dict[str, NDArray[Any]]) -> tuple[bytes, list[list[Any]]]:
    """Columns one after the other, and what they are: name, type, length. Compressed the same way everywhere."""
    layout = [
        [name, f"{values.dtype.kind}{values.dtype.itemsize}", int(values.size)] for name, values in columns.items()
    ]
    raw = b"".join(
        np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes() for values in columns.values()
    )
    return zlib.compress(raw, LEVEL), layout


def smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Counts in the fewest bytes that hold them."""
    top = int(values.max(initial=0))
    return values.astype(np.uint8 if top < 2**8 else np.uint16 if top < 2**16 else np.uint32)


def scale_of(truth: Annotations, pred: Annotations) -> float:
    """What one unit of a packed coordinate is in pixels: a quarter, or more where images are very large."""
    tops = [float(np.abs(boxes).max(initial=0.0)) for boxes in (finite(truth), finite(pred))]
    return max(0.25, max(tops) / 65000)


def finite(side: Annotations) -> NDArray[np.float64]:
    boxes = side.regions.sizes
    return boxes if np.isfinite(boxes).all() else np.where(np.isfinite(boxes), boxes, 0.0)


def box_columns(side: Annotations, rows: NDArray[Any], scale: float, prefix: str) -> dict[str, NDArray[Any]]:
    """Left, top, width and height, each for itself: alike numbers beside each other pack better."""
    cells = np.clip(np.rint(finite(side)[rows] / scale), 0, 65535).astype(np.uint16)
    return {f"{prefix}{name}": cells[:, k] for k, name in enumerate(CELLS)}


def pack_truth(truth: Annotations, asked: NDArray[np.bool_], scale: float) -> tuple[bytes, list[list[Any]]]:
    """The objects of the truth, image by image."""
    order = np.argsort(truth.image, kind="stable")
    starts = np.searchsorted(truth.image[order], np.arange(len(truth.images) + 1))
    columns = {"start": starts.astype(np.uint32), "label": smallest(truth.label[order])}
    columns |= {"asked": asked[order].astype(np.uint8)} | box_columns(truth, order, scale, "")
    return pack(columns)


def pack_system(tally: ConfidenceTally, scale: float, budget: int) -> tuple[bytes, dict[str, Any]]:
    """What became of the truths, counts at every step, and as many predictions as fit: the right ones, then wrong ones
    by falling confidence."""
    truth, overlay = tally.truth, tally.overlay
    fixed = count_columns(tally)
    order = np.argsort(truth.image, kind="stable")
    taken = overlay.finds.taken[order]
    fixed["found"] = np.where(taken >= 0, np.append(tally.step, NEVER)[taken], NEVER).astype(np.uint8)
    wanted = np.flatnonzero(tally.kind >= 0)
    wanted = wanted[np.lexsort((-overlay.sureness[wanted], tally.kind[wanted] != 0))]
    rest = 4 * len(pack(fixed)[0]) // 3  # base64 takes a third more
    room = min(len(wanted), int(max(0, budget - rest) / BYTES_EACH))
    while True:
        data, layout = pack(fixed | pred_columns(tally, wanted[:room], scale))
        size = 4 * len(data) // 3
        if size <= budget or not room:
            break
        room = int(room * min(0.97, 0.98 * max(0, budget - rest) / max(1, size - rest)))
    left = wanted[room:]
    about = {"layout": layout, "kept": room, "left_out": len(left)}
    if len(left):
        about["left_out_below"] = float(overlay.sureness[left].max())
    return data, about


def count_columns(tally: ConfidenceTally) -> dict[str, NDArray[Any]]:
    return {
        "labels": smallest(tally.by_label),
        "image_right": smallest(tally.by_image(True)),
        "image_wrong": smallest(tally.by_image(False)),
    }


def pred_columns(tally: ConfidenceTally, rows: NDArray[Any], scale: float) -> dict[str, NDArray[Any]]:
    """Predictions image by image, in an image by falling confidence."""
    pred, sure = tally.pred, tally.overlay.sureness
    rows = rows[np.lexsort((-sure[rows], pred.image[rows]))]
    starts = np.searchsorted(pred.image[rows], np.arange(len(tally.truth.images) + 1))
    low, high = float(tally.steps[0]), float(tally.steps[-1])
    level = np.rint(np.clip((sure[rows] - low) / (high - low), 0, 1) * 10_000) if high > low else np.zeros(len(rows))
    columns = {
        "start": starts.astype(np.uint32),
        "label": smallest(pred.label[rows]),
        "type": tally.kind[rows].astype(np.uint8),
        "sure": level.astype(np.uint16),
    }
    if tally.other is not None:
        columns["other"] = smallest(tally.other[rows] + 1)
    return {f"p_{name}": values for name, values in (columns | box_columns(pred, rows, scale, "")).items()}
