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
from verite.formats.segments import paint, rows_by_image
from verite.model.annotations import Annotations
from verite.model.regions import MASK


def write_panoptic(annotations: Annotations, path: Path) -> None:
    if not (annotations.regions.kinds == MASK).all():
        raise ReadError(path, expected="a mask for every object", found="boxes or polygons")
    images, labels = annotations.images, annotations.labels
    stems = file_stems(images, path)
    ids, classes = ids_or_count(images), ids_or_count(labels)
    records = []
    with folder_atomically(path.with_suffix("")) as folder:
        for at, (name, rows) in enumerate(zip(stems, rows_by_image(annotations), strict=True)):
            pixels = paint(annotations, at, rows, range(1, len(rows) + 1), path)
            save(pixels, folder / f"{name}.png")
            segments = [segment(annotations, int(row), number, classes) for number, row in enumerate(rows, 1)]
            records.append({"image_id": ids[at], "file_name": f"{name}.png", "segments_info": segments})
        document = {
            "images": [image_record(annotations, i, ids[i]) for i in range(len(images))],
            "annotations": records,
            "categories": [category(annotations, i, id) for i, id in enumerate(classes)],
        }
        write_json(path, document)


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
