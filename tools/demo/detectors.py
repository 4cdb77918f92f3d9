"""Three imaginary detectors, each good and bad in a way of its own.

hawk    precise and cautious: tight boxes and exact masks, confidences that mean what they say; it misses what is
        small or hidden.
magpie  finds nearly everything, some of it twice, and whatever else glitters: sun, buoys, lamps.
mole    knows what is there but not quite where: boxes too large and off to one side, oval masks, similar things taken
        for each other, and always sure of itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from demo import outlines
from demo.canvas import Dice
from demo.scenes import Picture
from demo.truth import LABELS, Object

Box = tuple[float, float, float, float]  # left, top, width, height

LOOKALIKES = {
    "bird": "kite", "boat": "car", "car": "boat", "dog": "person", "house": "tree", "kite": "bird", "person": "dog",
    "tree": "house",
}  # fmt: skip


@dataclass(frozen=True)
class Guess:
    """A detection before it is written down: what, how sure, where, and of which shape."""

    label: str
    confidence: float
    box: Box
    shape: np.ndarray  # the mask it is stretched from

    def record(self, picture: Picture, style: str) -> dict[str, Any]:
        """A line of COCO results."""
        mask = stretched(self.shape, self.box, style)
        return {
            "image_id": picture.id,
            "category_id": LABELS[self.label],
            "bbox": list(self.box),
            "score": round(min(max(self.confidence, 0.01), 0.999), 3),
            "segmentation": {"size": list(mask.shape), "counts": outlines.compressed(mask)},
        }


def ease(o: Object) -> float:
    """From 0, hardly to be seen, to 1: large and whole."""
    size = min(max((o.area**0.5 - 4) / 24, 0.0), 1.0)
    return size * min(1.0, 0.25 + 0.75 * o.inside * o.seen)


def about(dice: Dice, box: tuple[int, int, int, int], share: float, pixels: float, shape: tuple[int, ...]) -> Box:
    """The box with every side moved a little: by a share of its length and some pixels, one standard deviation."""
    x, y, width, height = box
    wobble = [share * side + pixels for side in (width, height)]
    left, right = (dice.normal() * wobble[0] for _ in range(2))
    top, bottom = (dice.normal() * wobble[1] for _ in range(2))
    return within((x + left, y + top, width - left + right, height - top + bottom), shape)


def within(box: Box, shape: tuple[int, ...]) -> Box:
    """The part inside the picture, at least two pixels each way, to a tenth of a pixel."""
    x1, x2 = sorted((box[0], box[0] + box[2]))
    y1, y2 = sorted((box[1], box[1] + box[3]))
    x1, y1 = min(max(x1, 0.0), shape[1] - 2.0), min(max(y1, 0.0), shape[0] - 2.0)
    x2, y2 = max(min(x2, float(shape[1])), x1 + 2), max(min(y2, float(shape[0])), y1 + 2)
    x1, y1 = round(x1, 1), round(y1, 1)
    return x1, y1, round(min(x2, shape[1]) - x1, 1), round(min(y2, shape[0]) - y1, 1)


def stretched(shape: np.ndarray, box: Box, style: str) -> np.ndarray:
    """The mask in its new box: `exact`, `fat` (a pixel wider) or `oval`."""
    height, width = shape.shape
    x0, y0, w0, h0 = outlines.bounds(shape)
    columns, rows = np.arange(width) + 0.5, np.arange(height) + 0.5
    u, v = (columns - box[0]) / box[2], (rows - box[1]) / box[3]  # 0 to 1 within the box
    is_in = ((v >= 0) & (v < 1))[:, None] & ((u >= 0) & (u < 1))[None, :]
    if style == "oval":
        return is_in & (((2 * v - 1) ** 2)[:, None] + ((2 * u - 1) ** 2)[None, :] <= 1.05)
    across = np.clip((x0 + u * w0).astype(int), x0, x0 + w0 - 1)
    down = np.clip((y0 + v * h0).astype(int), y0, y0 + h0 - 1)
    mask = shape[down][:, across] & is_in
    if style == "fat":
        wide = np.pad(mask, 1)
        mask = is_in & (wide[1:-1, 1:-1] | wide[:-2, 1:-1] | wide[2:, 1:-1] | wide[1:-1, :-2] | wide[1:-1, 2:])
    return mask


def hawk(picture: Picture, marked: list[Object]) -> list[Guess]:
    found = []
    for o, dice in seen(marked, 1):
        clear = ease(o)
        if dice.random() > min(2.1 * clear - 0.3, 0.93):
            continue
        label = LOOKALIKES[o.label] if dice.happens(0.05) else o.label
        sure = 0.46 + 0.52 * clear + 0.1 * dice.normal() - 0.1 * (label != o.label)
        wobble = 0.08 if dice.happens(0.1) else 0.018  # the best have a bad day
        found.append(Guess(label, sure, about(dice, o.box, wobble, 0.6, o.mask.shape), o.mask))
    for label, mask, dice in glitter(picture, 1):
        if dice.happens(0.3):
            box = about(dice, outlines.bounds(mask), 0.03, 0.3, mask.shape)
            found.append(Guess(label, dice.between(0.1, 0.75), box, mask))
    return sorted(found, key=lambda g: -g.confidence)


def magpie(picture: Picture, marked: list[Object]) -> list[Guess]:
    found = []
    for o, dice in seen(marked, 2):
        if not dice.happens(0.97):
            continue
        label = LOOKALIKES[o.label] if dice.happens(0.02) else o.label
        sure = 0.6 + 0.38 * ease(o) + 0.1 * dice.normal()
        found.append(Guess(label, sure, about(dice, o.box, 0.06, 0.6, o.mask.shape), o.mask))
        if dice.happens(0.3):  # once more; now and then with the same confidence
            again = sure - dice.pick((0.0, 0.1, 0.2, 0.3))
            found.append(Guess(label, again, about(dice, o.box, 0.09, 0.8, o.mask.shape), o.mask))
    for label, mask, dice in glitter(picture, 2):
        if dice.happens(0.85):
            box = about(dice, outlines.bounds(mask), 0.06, 0.6, mask.shape)
            found.append(Guess(label, dice.between(0.2, 0.8), box, mask))
    return found


def mole(picture: Picture, marked: list[Object]) -> list[Guess]:
    found = []
    for o, dice in seen(marked, 3):
        if dice.random() > 0.62 + 0.4 * ease(o):
            continue
        label = LOOKALIKES[o.label] if dice.happens(0.24) else o.label
        x, y, width, height = o.box
        low = round(x - 0.02 * width), round(y + 0.04 * height), round(1.1 * width), round(1.05 * height) + 1
        sure = dice.pick((0.99, 0.98, 0.95)) if dice.happens(0.4) else dice.between(0.8, 0.999)
        found.append(Guess(label, sure, about(dice, low, 0.06, 0.6, o.mask.shape), o.mask))
    for label, mask, dice in glitter(picture, 3):
        if dice.happens(0.2):
            box = about(dice, outlines.bounds(mask), 0.12, 1.0, mask.shape)
            found.append(Guess(label, dice.between(0.7, 0.95), box, mask))
    return found


def seen(marked: list[Object], salt: int):
    """Objects, each with dice of its own; of a crowd, its larger members one by one."""
    for o in marked:
        if not o.is_crowd:
            yield o, Dice(10 * o.id + salt)
            continue
        for k, piece in enumerate(outlines.components(o.mask)):
            if piece.sum() >= 20:
                member = Object(o.id, o.label, piece, None, int(piece.sum()), 1.0, 1.0, is_crowd=False)
                yield member, Dice(10 * (1000 * o.id + k) + salt)


def glitter(picture: Picture, salt: int):
    """Odds and ends: what they may be taken for, their pixels, and dice."""
    for owner, thing in picture.shown.items():
        if thing.is_odd:
            mask = outlines.without_specks(picture.canvas.visible(owner))
            yield thing.label, mask, Dice(10 * (10_000 * picture.id + owner) + salt)


DETECTORS = {"hawk": (hawk, "exact"), "magpie": (magpie, "fat"), "mole": (mole, "oval")}
