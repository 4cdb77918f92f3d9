"""Panoptic JSON with PNGs, written: `X.json`, and the folder `X` of PNGs beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import ReadError
from verite.files import folder_atomically
from verite.formats.coco_write import ids_or_count
from verite.formats.document import write_json
from verite.formats.format import file_stems
from verite.formats.outlines import bounds_of_runs
from verite.formats.panoptic import THING
from verite.model.annotations import Annotations
from verite.model.outlines import Runs
from verite.model.regions import MASK


def write_panoptic(annotations: Annotations, path: Path) -> None:
    if not (annotations.regions.kinds == MASK).all():
        raise ReadError(path, expected="a mask for every object", found="boxes or polygons")
    images, labels = annotations.images, annotations.labels
    stems = file_stems(images, path)
    ids, classes = ids_or_count(images), ids_or_count(labels)
    order = np.argsort(annotations.image, kind="stable")
    bounds = np.searchsorted(annotations.image[order], np.arange(len(images) + 1))
    records = []
    with folder_atomically(path.with_suffix("")) as folder:
        for at, name in enumerate(stems):
            rows = order[bounds[at] : bounds[at + 1]]
            pixels = paint(annotations, at, rows, path)
            save(pixels, folder / f"{name}.png")
            segments = [segment(annotations, int(row), number, classes) for number, row in enumerate(rows, 1)]
            records.append({"image_id": ids[at], "file_name": f"{name}.png", "segments_info": segments})
        document = {
            "images": [image_record(annotations, i, ids[i]) for i in range(len(images))],
            "annotations": records,
            "categories": [category(annotations, i, id) for i, id in enumerate(classes)],
        }
        write_json(path, document)


def paint(annotations: Annotations, at: int, rows: NDArray[np.int64], path: Path) -> NDArray[np.uint32]:
    """The number of the segment of every pixel, from 1; 0 where there is none."""
    images, runs = annotations.images, annotations.regions.runs
    height, width = int(images.heights[at]), int(images.widths[at])
    if runs is not None and len(rows):
        height, width = (int(side) for side in runs.sizes[rows[0]])
    if not height or not width:
        raise ReadError(path, expected="the size of every image", found=f"none for {images.name(at)!r}")
    flat = np.zeros(height * width, dtype=np.uint32)
    for number, row in enumerate(rows.tolist(), 1):
        assert runs is not None
        inside = pixels_of(runs, row)
        if len(inside) != len(flat):
            raise ReadError(path, expected="masks of one size an image", found=f"two in {images.name(at)!r}")
        if flat[inside].any():
            found = f"pixels of two in {images.name(at)!r}"
            raise ReadError(path, expected="segments that share no pixel", found=found)
        flat[inside] = number
    return flat.reshape(width, height).T


def pixels_of(runs: Runs, row: int) -> NDArray[np.bool_]:
    """Which pixels, column by column, belong to a mask."""
    return np.repeat(np.arange(len(runs[row])) % 2 == 1, runs[row])


def save(pixels: NDArray[np.uint32], path: Path) -> None:
    from PIL import Image

    colours = np.stack([pixels >> shift & 255 for shift in (0, 8, 16)], axis=-1).astype(np.uint8)
    Image.fromarray(colours).save(path, format="PNG")


def segment(annotations: Annotations, row: int, number: int, classes: list[int]) -> dict[str, Any]:
    runs = annotations.regions.runs
    assert runs is not None
    return {
        "id": number,
        "category_id": classes[annotations.label[row]],
        "area": int(runs[row][1::2].sum()),
        "bbox": [int(v) for v in bounds_of_runs(runs[row], int(runs.sizes[row, 0]))],
        "iscrowd": int(annotations.crowd[row]),
    }


def image_record(annotations: Annotations, i: int, id: int) -> dict[str, Any]:
    images = annotations.images
    size = {"width": int(images.widths[i]), "height": int(images.heights[i])}
    return {"id": id, "file_name": images.name(i), **size}


def category(annotations: Annotations, i: int, id: int) -> dict[str, Any]:
    labels = annotations.labels
    kind = {"isthing": int(labels.groups[i] == THING)} if labels.groups is not None else {}
    return {"id": id, "name": labels.name(i), **kind}
