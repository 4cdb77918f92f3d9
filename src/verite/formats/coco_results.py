"""COCO results: a JSON array of predictions that speak of images and classes by id."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from verite.errors import ReadError
from verite.files import write_atomically
from verite.formats import coco
from verite.formats.format import Format, Look, Options
from verite.model.annotations import Annotations
from verite.model.images import Images
from verite.model.labels import Labels


def recognise(look: Look) -> str | None:
    start = look.head.lstrip()
    if look.is_folder or not start.startswith("["):
        return None
    if '"image_id"' in start:
        return "a JSON array of records with image_id"
    return "an empty JSON array" if start.rstrip() in ("[]", "[ ]") else None


def read(path: Path, options: Options) -> Annotations:
    rows = coco.decode(path, list[coco.Annotation])
    is_text = bool(rows) and isinstance(rows[0].image_id, str)
    for i, row in enumerate(rows):
        if isinstance(row.image_id, str) != is_text:
            kinds = ("text", "a number") if is_text else ("a number", "text")
            expected = f"{kinds[0]} as in the first record"
            raise ReadError(f"{path}: [{i}].image_id", expected=expected, found=kinds[1])
    if is_text:
        names, image = np.unique([row.image_id for row in rows], return_inverse=True)
        images = Images([str(name) for name in names])
    else:
        ids, image = np.unique(coco.int_ids(path, [row.image_id for row in rows]), return_inverse=True)
        images = Images(None, ids + options.image_offset)
    classes, label = np.unique(coco.int_ids(path, [row.category_id for row in rows]), return_inverse=True)
    labels = Labels(None, classes + options.label_offset)
    return coco.columns(path, "coco-results", rows, images, labels, image, label, options)


def write(annotations: Annotations, path: Path) -> None:
    if annotations.confidence is None and len(annotations):
        raise ReadError(path, expected="predictions", found="objects without confidence", remedy="write truth with --to coco")
    image_ids = coco.ids_or_count(annotations.images.ids, len(annotations.images))
    label_ids = coco.ids_or_count(annotations.labels.ids, len(annotations.labels))
    found = coco.records(annotations, image_ids, label_ids, is_truth=False)
    write_atomically(path, msgspec.json.encode(found) + b"\n")


FORMAT = Format(
    "coco-results", "COCO results JSON", recognise, read, write, frozenset({"confidence", "polygon", "mask", "empty image", "unused class"})
)
