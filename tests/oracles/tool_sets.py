"""Random data sets on which other tools were run: the same on every machine, and sound, so that only rules differ.

Coordinates are quarters of a pixel in images of 512 × 512 pixels, exact in single precision and as fractions of the
image. Confidences are all different, to three decimals, too: how a tool orders equal ones depends on its sort, and on
the processor.
"""

from __future__ import annotations

from random import Random
from typing import Any

Record = dict[str, Any]
SIZE = 512
SEEDS = range(24)


def tool_set(seed: int) -> tuple[Record, list[Record]]:
    """Crowds, stated areas, objects side by side, images and classes without objects, found several times, or never."""
    draw = Random(seed).random  # its numbers are promised never to change
    images = [{"id": 7 * i % 11, "file_name": f"{i}.jpg", "width": SIZE, "height": SIZE} for i in range(2 + seed % 8)]
    kinds = 1 + seed % 5
    truths: list[Record] = []
    found: list[Record] = []
    for image in images:
        here: list[Record] = []
        for _ in range(int(draw() * 8) if draw() > 0.2 else 0):
            box = random_box(draw)
            here.append(truth_of(image, int(draw() * kinds), box, draw))
            if draw() < 0.3:  # another one that is hardly elsewhere
                here.append(truth_of(image, here[-1]["category_id"], moved(box, 6, draw), draw))
        truths += here
        for truth in here:
            for _ in range(int(draw() * 4)):
                kind = truth["category_id"] if draw() < 0.85 else int(draw() * (kinds + 1))
                found.append(found_of(image, kind, moved(truth["bbox"], 3 if draw() < 0.5 else 24, draw)))
        many = int(draw() * 4) + (120 if seed % 6 == 5 and draw() < 0.3 else 0)
        found += [found_of(image, int(draw() * (kinds + 1)), random_box(draw)) for _ in range(many)]
    order = sorted(range(len(found)), key=lambda _: draw())
    for place, i in enumerate(order):
        found[i]["score"] = (2 * place + 3) / 1024
    for number, truth in enumerate(truths, 1):
        truth["id"] = number
    names = [{"id": i, "name": f"kind {i}"} for i in range(kinds + 1)]  # the last one never has an object
    return {"images": images, "categories": names, "annotations": truths}, [found[i] for i in order]


def random_box(draw: Any) -> list[float]:
    width, height = (8 + int(draw() * 480) / 4 for _ in range(2))
    return [int(draw() * 1400) / 4, int(draw() * 1400) / 4, width, height]


def moved(box: list[float], most: int, draw: Any) -> list[float]:
    """A box near another, within the image."""
    x, y, width, height = (value + int((2 * draw() - 1) * 4 * most) / 4 for value in box)
    width, height = max(width, 4.0), max(height, 4.0)
    return [min(max(x, 0.0), SIZE - width), min(max(y, 0.0), SIZE - height), width, height]


def truth_of(image: Record, kind: int, box: list[float], draw: Any) -> Record:
    area = box[2] * box[3] * (1.0 if draw() < 0.5 else 0.5)  # as if it had a mask
    crowd = int(draw() < 0.1)
    return {"image_id": image["id"], "category_id": kind, "bbox": box, "area": area, "iscrowd": crowd}


def found_of(image: Record, kind: int, box: list[float]) -> Record:
    return {"image_id": image["id"], "category_id": kind, "bbox": box}
