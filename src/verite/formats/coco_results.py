"""COCO results: a JSON array of predictions that speak of images and classes by id."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from verite import _core
from verite.arrays import np
from verite.errors import ReadError
from verite.formats import coco
from verite.formats.coco_file import open_coco, region_limits
from verite.formats.format import Format, Look, Options
from verite.model.annotations import Annotations, Source
from verite.model.ids import Ids, Positions, distinct
from verite.model.images import Images
from verite.model.labels import Labels
from verite.model.unopened import Unopened
from verite.threads import thread_count


def recognise(look: Look) -> str | None:
    start = look.head.lstrip()
    if look.is_folder or not start.startswith("["):
        return None
    if '"image_id"' in start:
        return "a JSON array of records with image_id"
    return "an empty JSON array" if start.rstrip() in ("[]", "[ ]") else None


def read(path: Path, options: Options) -> Annotations:
    file = open_coco(path)
    later = unopened(path, file, options)
    return later if later is not None else results(path, file, options)


def unopened(path: Path, file: _core.CocoFile, options: Options) -> Annotations | None:
    """The file as it is, where the truth knows every id in it and nothing is unusual."""
    truth = options.like.unopened if options.like is not None else None
    if options.like is None or truth is None or options.given:
        return None
    if not file.settle_in(truth.file):
        return None
    kept = Unopened(file, lambda: results(path, file, options), region_limits(), truth)
    return Annotations.later(kept, options.like.labels, Source(str(path), "coco-results"))


def results(path: Path, file: _core.CocoFile, options: Options) -> Annotations:
    """An array of results."""
    if not file.is_results:
        raise ReadError(f"{path}: top level", expected="an array", found="an object")
    used = coco.id_column(file.annotations["image_id"])
    classes = coco.column(file.annotations["category_id"], np.int64)
    if not isinstance(used, list) and (known := known_positions(used, classes, options)):
        images, labels, image, label = known
        return coco.columns(path, "coco-results", file, images, labels, image, label, options)
    if isinstance(used, list):
        names = sorted(set(used))
        order = {name: i for i, name in enumerate(names)}
        images, image = Images(names), np.array([order[name] for name in used], dtype=np.int32)
    else:
        image_ids, image = distinct(used)
        images = Images(None, image_ids + options.image_offset)
    label_ids, label = distinct(classes)
    labels = Labels(None, label_ids + options.label_offset)
    return coco.columns(path, "coco-results", file, images, labels, image, label, options)


def known_positions(used: Ids, classes: Ids, options: Options) -> tuple[Images, Labels, Positions, Positions] | None:
    """The truth's own tables and the places in them, where the truth knows every id: the common case, done quickly."""
    truth = options.like
    if truth is None or truth.images.ids is None or truth.labels.ids is None:
        return None
    threads = thread_count()
    image, strange = _core.find_positions(used, truth.images.ids - options.image_offset, threads)
    if strange:
        return None
    label, strange = _core.find_positions(classes, truth.labels.ids - options.label_offset, threads)
    return None if strange else (truth.images, truth.labels, image, label)


def write(annotations: Annotations, path: Path) -> None:
    from verite.formats.document import write_json

    write_json(path, records_of(annotations, path))


def records_of(annotations: Annotations, path: Path) -> list[dict[str, Any]]:
    """A record per prediction, as results have them."""
    if annotations.confidence is None and len(annotations):
        raise ReadError(
            path, expected="predictions", found="objects without confidence", remedy="write truth with --to coco"
        )
    if annotations.labels.ids is None and len(annotations):
        # Counting them would make up numbers that mean other classes in the truth.
        remedy = "take them from a truth with --like TRUTH, or write --to coco, which holds names"
        raise ReadError(path, expected="classes with ids", found="names only", remedy=remedy)
    from verite.formats.coco_write import ids_or_count, records

    images = annotations.images
    image_ids: Sequence[int | str] = images.names if images.ids is None and images.names else ids_or_count(images)
    return records(annotations, path, image_ids, ids_or_count(annotations.labels), is_truth=False)


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
FORMAT = Format(
    name="coco-results",
    title="COCO results JSON",
    about="a JSON array of predictions; image ids may be text",
    recognise=recognise,
    read=read,
    write=write,
    holds=HOLDS,
    needs=frozenset({"class id", "confidence"}),
    honours=frozenset({"boxes", "coords", "image_offset", "label_offset"}),
    suffixes=(".json",),
    sides=("pred",),
)
