"""Data sets that every protocol can be asked about: masks that share no pixel, boxes around them, verified labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import verite as vt
from verite.model.classes import ABSENT, PRESENT, ImageLevelLabels
from verite.model.keypoints import Keypoints
from verite.model.polygons import Polygons
from verite.model.rasters import runs_of

CELL, GRID = 12, 4  # every object has a cell of its own, so that masks share no pixel
SIDE = CELL * GRID
LABELS = vt.Labels(["cat", "dog", "cow", "emu"], [3, 5, 8, 9], groups=["r", "c", "f", "f"])
NOWHERE = "emu"  # no object has it


def objects(
    images: int, image: list[int], label: list[int], boxes: list[list[int]], confidence: list[float] | None = None
) -> vt.Annotations:
    """Rectangles as masks, as boxes around them and as poses on their diagonal; corners are whole numbers.

    Absent classes are verified to be so.
    """
    masks = np.zeros((len(boxes), SIDE, SIDE), dtype=np.bool_)
    for mask, (x1, y1, x2, y2) in zip(masks, boxes, strict=True):
        mask[y1:y2, x1:x2] = True
    corners = np.array(boxes, dtype=np.float64).reshape(-1, 4)
    there = set(zip(image, label, strict=True))
    said = [(i, k, PRESENT if (i, k) in there else ABSENT) for i in range(images) for k in range(len(LABELS))]
    return vt.Annotations(
        images=vt.Images(
            [f"{i:03d}.jpg" for i in range(images)],
            range(1, images + 1),
            widths=[SIDE] * images,
            heights=[SIDE] * images,
        ),
        labels=LABELS,
        image=np.array(image, dtype=np.int32),
        label=np.array(label, dtype=np.int32),
        regions=vt.Regions(corners, runs=runs_of(masks), keypoints=Keypoints.of(list(diagonals(corners)))),
        confidence=None if confidence is None else np.array(confidence),
        ids=np.arange(1, len(boxes) + 1),
        verdicts=ImageLevelLabels.of(said) if confidence is None else None,
    )


def diagonals(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """As many points as COCO's people have on the diagonal of each box."""
    shares = np.linspace(0, 1, 17)[:, None]
    return corners[:, None, :2] * (1 - shares) + corners[:, None, 2:] * shares


def as_quadrilaterals(side: vt.Annotations) -> vt.Annotations:
    """The same with outlines of four corners in the place of masks."""
    rings = [[[x1, y1, x2, y1, x2, y2, x1, y2]] for x1, y1, x2, y2 in side.regions.values.tolist()]
    return replace(side, regions=vt.Regions(side.regions.values, polygons=Polygons.of(rings)))


def with_tracks(side: vt.Annotations) -> vt.Annotations:
    """The same with a track for each cell and class, over all images as the frames of a video."""
    x, y = (side.regions.values[:, :2] // CELL).astype(np.int64).T.reshape(2, -1)
    return replace(side, track=1 + side.label + len(LABELS) * (x + GRID * y))


def one_per_image() -> tuple[vt.Annotations, vt.Annotations]:
    """Six images with an object each, and predictions that are the same."""
    boxes = [[1, 2, 9 + i % 2, 11] for i in range(6)]
    columns = (6, list(range(6)), [0, 1, 2, 0, 1, 2], boxes)
    return objects(*columns), objects(*columns, confidence=[0.9 - i / 10 for i in range(6)])


def random_sides(seed: int, images: int = 12) -> tuple[vt.Annotations, vt.Annotations]:
    """Truths in some of the cells; predictions that are shrunk, sometimes of another class, missing or made up."""
    rng = np.random.default_rng(seed)
    truth: list[tuple[int, int, list[int]]] = []
    pred: list[tuple[int, int, list[int]]] = []
    for image in range(images):
        for cell in range(GRID * GRID):
            x, y = CELL * (cell % GRID), CELL * (cell // GRID)
            box = [x + 1, y + 1, x + 11, y + 11]
            label = int(rng.integers(3))
            if rng.random() < 0.6:
                truth.append((image, label, box))
            if rng.random() < 0.6:
                shrunk = [box[0] + int(rng.integers(4)), box[1] + int(rng.integers(4)), box[2], box[3]]
                pred.append((image, label if rng.random() < 0.8 else int(rng.integers(3)), shrunk))
    confidence = rng.permutation(np.linspace(0.05, 0.95, len(pred))).tolist()  # no two are equal
    return objects(images, *columns(truth)), objects(images, *columns(pred), confidence=confidence)


def columns(rows: list[tuple[int, int, list[int]]]) -> tuple[list[int], list[int], list[list[int]]]:
    return [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows]


def enlarge(side: vt.Annotations, factor: float) -> vt.Annotations:
    """The same boxes, larger and farther apart."""
    return replace(side, regions=vt.Regions(side.regions.boxes * factor))


def without_objects(side: vt.Annotations) -> vt.Annotations:
    return side.where(np.zeros(len(side), dtype=np.bool_))


def video_xml(side: vt.Annotations) -> str:
    """Boxes with tracks as CVAT writes them for a video; it has no place for confidences.

    Where a track has a gap, CVAT writes a last box with outside="1"; otherwise boxes in between are interpolated.
    """
    assert side.track is not None
    names = "".join(f"<label><name>{name}</name></label>" for name in side.labels.all_names)
    size = f"<size>{len(side.images)}</size><labels>{names}</labels>"
    meta = (
        f"<meta><task>{size}<original_size><width>{SIDE}</width><height>{SIDE}</height></original_size></task></meta>"
    )
    tracks = []
    for track in np.unique(side.track).tolist():
        rows = np.flatnonzero(side.track == track)
        corners = side.regions.values[rows].tolist()
        frames = side.image[rows].tolist()
        boxes = "".join(
            f'<box frame="{at}" outside="{at - frame}" xtl="{x1}" ytl="{y1}" xbr="{x2}" ybr="{y2}"/>'
            for frame, (x1, y1, x2, y2) in sorted(zip(frames, corners, strict=True))
            for at in ((frame,) if frame + 1 in frames else (frame, frame + 1))
        )
        tracks.append(f'<track id="{track}" label="{side.labels.name(int(side.label[rows[0]]))}">{boxes}</track>')
    return f"<annotations><version>1.1</version>{meta}{''.join(tracks)}</annotations>"


def shuffle(side: vt.Annotations, seed: int) -> vt.Annotations:
    """The same objects in another order."""
    order: NDArray[np.int64] = np.random.default_rng(seed).permutation(len(side))
    return side.take(order)
