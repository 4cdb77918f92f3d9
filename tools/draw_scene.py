"""The scene that shows what the interpretation score does: seven true objects, four found ones.

    python tools/draw_scene.py

The outlines are drawn by hand; the same situations as in the published example: three people found as one, of whom one
covers too little of it to be matched; a person, a bus and a plane found well, the bus called a truck; a car missed.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

HOME = Path(__file__).parent.parent / "src" / "verite" / "data" / "scene"
SIZE = (640, 400)
LABELS = {"person": 1, "bus": 2, "aeroplane": 3, "car": 4, "truck": 5}
Ring = list[tuple[float, float]]

# A unit square, y downwards: what stands or rolls has its feet at 1.
PERSON: Ring = [
    (0.38, 0.00), (0.62, 0.00), (0.68, 0.08), (0.60, 0.17), (0.88, 0.22), (1.00, 0.52), (0.86, 0.54), (0.78, 0.34),
    (0.76, 0.60), (0.80, 1.00), (0.56, 1.00), (0.50, 0.66), (0.44, 1.00), (0.20, 1.00), (0.24, 0.60), (0.22, 0.34),
    (0.14, 0.54), (0.00, 0.52), (0.12, 0.22), (0.40, 0.17), (0.32, 0.08),
]  # fmt: skip
BUS: Ring = [
    (0.03, 0.00), (0.97, 0.00), (1.00, 0.12), (1.00, 0.86), (0.88, 0.86), (0.86, 0.97), (0.80, 1.00), (0.74, 0.97),
    (0.72, 0.86), (0.30, 0.86), (0.28, 0.97), (0.22, 1.00), (0.16, 0.97), (0.14, 0.86), (0.00, 0.86), (0.00, 0.12),
]  # fmt: skip
PLANE: Ring = [
    (0.00, 0.48), (0.08, 0.40), (0.36, 0.38), (0.50, 0.00), (0.60, 0.00), (0.58, 0.38), (0.84, 0.40), (0.92, 0.16),
    (1.00, 0.16), (0.98, 0.52), (0.84, 0.60), (0.58, 0.62), (0.66, 1.00), (0.56, 1.00), (0.38, 0.62), (0.08, 0.58),
]  # fmt: skip
CAR: Ring = [
    (0.00, 0.50), (0.16, 0.42), (0.30, 0.00), (0.74, 0.00), (0.88, 0.42), (1.00, 0.50), (1.00, 0.86), (0.88, 1.00),
    (0.74, 0.86), (0.28, 0.86), (0.16, 1.00), (0.04, 0.86),
]  # fmt: skip
# Around three people, cutting a foot and an elbow.
GROUP: Ring = [
    (92, 196), (110, 183), (136, 190), (160, 172), (186, 176), (212, 168), (236, 180), (250, 240), (248, 306),
    (232, 352), (196, 356), (176, 350), (150, 352), (120, 347), (96, 346), (84, 300), (83, 244),
]  # fmt: skip

TRUTH = [
    ("person", PERSON, (20, 190, 52, 150)),
    ("person", PERSON, (82, 186, 58, 160)),
    ("person", PERSON, (132, 174, 66, 180)),
    ("person", PERSON, (184, 170, 68, 184)),
    ("bus", BUS, (300, 170, 230, 150)),
    ("aeroplane", PLANE, (330, 20, 250, 110)),
    ("car", CAR, (526, 262, 84, 52)),
]
FOUND = [
    ("truck", BUS, (303, 172, 230, 149), 1.0),
    ("aeroplane", PLANE, (326, 15, 262, 124), 1.0),
    ("person", GROUP, None, 1.0),
    ("person", PERSON, (16, 186, 57, 152), 1.0),
]


def placed(ring: Ring, box: tuple[int, int, int, int] | None) -> list[float]:
    """The corners of a ring in pixels."""
    x, y, width, height = box or (0, 0, 1, 1)
    return [round(number, 2) for u, v in ring for number in (x + u * width, y + v * height)]


def record(number: int, label: str, corners: list[float]) -> dict[str, object]:
    xs, ys = corners[::2], corners[1::2]
    box = [min(xs), min(ys), round(max(xs) - min(xs), 2), round(max(ys) - min(ys), 2)]
    return {"id": number, "image_id": 1, "category_id": LABELS[label], "bbox": box, "segmentation": [corners]}


def area(corners: list[float]) -> float:
    """Of the polygon, by the shoelace formula."""
    points = list(zip(corners[::2], corners[1::2], strict=True))
    return round(abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise([*points, points[0]]))) / 2, 2)


def main() -> None:
    HOME.mkdir(exist_ok=True)
    images = [{"id": 1, "file_name": "street.png", "width": SIZE[0], "height": SIZE[1]}]
    categories = [{"id": number, "name": name} for name, number in LABELS.items()]
    truths = [record(i, label, placed(ring, box)) for i, (label, ring, box) in enumerate(TRUTH, 1)]
    preds = [
        {**record(i, label, placed(ring, box)), "score": confidence}
        for i, (label, ring, box, confidence) in enumerate(FOUND, 1)
    ]
    for truth, (_, ring, box) in zip(truths, TRUTH, strict=True):
        truth |= {"area": area(placed(ring, box)), "iscrowd": 0}
    documents = {
        "truth.json": {"images": images, "categories": categories, "annotations": truths},
        "found.json": {"images": images, "categories": categories, "annotations": preds},
    }
    for name, document in documents.items():
        (HOME / name).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
