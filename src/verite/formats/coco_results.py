"""COCO results: a JSON array of predictions that speak of images and classes by id."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from verite.errors import ReadError
from verite.files import write_atomically
from verite.formats import coco
from verite.formats.coco_write import ids_or_count, records
from verite.formats.document import decode
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
    rows = decode(path, list[coco.Annotation], nan_in=coco.NAN_IN)
    if coco.check_kind(f"{path}: ", "image_id", [row.image_id for row in rows]):
        names, image = np.unique(np.array([row.image_id for row in rows], dtype=object), return_inverse=True)
        images = Images(names.tolist())
    else:
        ids = coco.int_ids(f"{path}: ", "image_id", [row.image_id + options.image_offset for row in rows])
        known, image = np.unique(ids, return_inverse=True)
        images = Images(None, known)
    classes = coco.int_ids(f"{path}: ", "category_id", [row.category_id + options.label_offset for row in rows])
    known, label = np.unique(classes, return_inverse=True)
    labels = Labels(None, known)
    return coco.columns(
        path, "coco-results", rows, images, labels, image.astype(np.int32), label.astype(np.int32), options
    )


def write(annotations: Annotations, path: Path) -> None:
    if annotations.confidence is None and len(annotations):
        raise ReadError(
            path, expected="predictions", found="objects without confidence", remedy="write truth with --to coco"
        )
    if annotations.labels.ids is None and len(annotations):
        # Counting them would make up numbers that mean other classes in the truth.
        remedy = "take them from a truth with --like TRUTH, or write --to coco, which holds names"
        raise ReadError(path, expected="classes with ids", found="names only", remedy=remedy)
    images = annotations.images
    image_ids: Sequence[int | str] = images.names if images.ids is None and images.names else ids_or_count(images)
    found = records(annotations, path, image_ids, ids_or_count(annotations.labels), is_truth=False)
    write_atomically(path, msgspec.json.encode(found) + b"\n")


HOLDS = frozenset(
    {
        "box apart from its mask",
        "box apart from its polygon",
        "class id",
        "class id without a name",
        "class order",
        "confidence",
        "image folder or suffix",  # of images without ids, whose names stand in for them
        "image id",
        "mask",
        "polygon",
        "polygon of several rings",
        "unscored",
    }
)
FORMAT = Format("coco-results", "COCO results JSON", recognise, read, write, HOLDS)
