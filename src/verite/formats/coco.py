"""COCO JSON: images, categories and annotations in one document. Predictions may come this way, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from verite.errors import ReadError, excerpt
from verite.formats.class_names import check_name, check_names
from verite.formats.coco_write import HOLDS, write
from verite.formats.document import decode
from verite.formats.format import Format, Look, Options
from verite.formats.outlines import NO_BOX, bounds_of_rings, bounds_of_runs, check_mask_size, checked_ring, checked_runs
from verite.formats.sizes import check_size, in_pixels
from verite.model.annotations import Annotations, Source
from verite.model.images import Images, stem
from verite.model.labels import Labels
from verite.model.layouts import layout_name
from verite.model.regions import MASK, POLYGON, Polygons, Regions, Runs

Id = int | str
# Where a NaN is a finding about an object, to be named with its code, and not a broken file.
NAN_IN = frozenset({"score", "bbox", "area"})


class Image(msgspec.Struct, omit_defaults=True):
    id: Id
    file_name: str | None = None
    width: int | None = None
    height: int | None = None


class Category(msgspec.Struct):
    id: int
    name: str | None = None


class Mask(msgspec.Struct):
    size: tuple[int, int]
    counts: str | list[int]


class Annotation(msgspec.Struct, omit_defaults=True):
    image_id: Id
    category_id: int
    bbox: tuple[float, float, float, float] | None = None
    score: float | None = None
    segmentation: list[list[float]] | Mask | None = None
    area: float | None = None
    iscrowd: int | bool | None = None
    ignore: int | bool | None = None
    id: Id | None = None


class Document(msgspec.Struct):
    images: list[Image]
    annotations: list[Annotation]
    categories: list[Category]


def recognise(look: Look) -> str | None:
    start = look.head.lstrip()
    if look.is_folder or not start.startswith("{"):
        return None
    keys = [key for key in ("images", "annotations", "categories") if f'"{key}"' in start]
    return f"a JSON object with {' and '.join(keys)}" if keys else None


def read(path: Path, options: Options) -> Annotations:
    document = decode(path, Document, nan_in=NAN_IN)
    images, image_notes = image_table(path, document.images, options.image_offset)
    labels, label_notes = label_table(path, document.categories, options.label_offset)
    rows = document.annotations
    image = positions(path, [row.image_id for row in rows], "image_id", [i.id for i in document.images], "images")
    categories = [c.id for c in document.categories]
    label = positions(path, [row.category_id for row in rows], "category_id", categories, "categories")
    notes = (*image_notes, *label_notes)
    return columns(path, "coco", rows, images, labels, image, label, options, notes)


def image_table(path: Path, images: list[Image], offset: int) -> tuple[Images, list[str]]:
    """The images, and what to say about their names."""
    ids = [image.id for image in images]
    check_unique(path, "images", ids)
    is_text = check_kind(f"{path}: images", "id", ids)
    sizes = [(image.width or 0, image.height or 0) for image in images]
    for i, size in enumerate(sizes):
        check_size(f"{path}: images[{i}]", *size)
    names, notes = image_names(images, is_text)
    known = int_ids(f"{path}: images", "id", [int(id) + offset for id in ids]) if not is_text else None
    return Images(names, known, widths=[w for w, _ in sizes], heights=[h for _, h in sizes]), notes


def image_names(images: list[Image], is_text: bool) -> tuple[list[str] | None, list[str]]:
    """The file names. Where ids are texts, results speak of images by them, so they are the names unless both agree."""
    odd = next((i for i in images if is_text and i.file_name and stem(i.file_name) != stem(str(i.id))), None)
    if odd is not None:
        note = f"images named by their ids, which are texts; file names such as {excerpt(odd.file_name)} left out"
        return [str(image.id) for image in images], [note]
    if images and not is_text and not any(image.file_name for image in images):
        return None, []
    return [image.file_name or str(image.id) for image in images], []


def label_table(path: Path, categories: list[Category], offset: int) -> tuple[Labels, list[str]]:
    """The classes; those of the same name are told apart by their ids."""
    check_unique(path, "categories", [c.id for c in categories])
    ids = int_ids(f"{path}: categories", "id", [c.id + offset for c in categories])
    if categories and all(c.name is None for c in categories):
        return Labels(None, ids), []
    for i, category in enumerate(categories):
        if category.name is None:
            raise ReadError(f"{path}: categories[{i}]", expected="a key 'name'", found="none")
        check_name(f"{path}: categories[{i}].name", category.name)
    counts = Counter(c.name for c in categories)
    names = [f"{c.name} (id {c.id})" if counts[c.name] > 1 else str(c.name) for c in categories]
    check_names(f"{path}: categories", names)
    shared = [str(name) for name, count in counts.items() if count > 1]
    return Labels(names, ids), [f"classes of the same name {excerpt(name)} told apart by their ids" for name in shared]


def check_unique(path: Path, what: str, ids: Sequence[Id]) -> None:
    if len(set(ids)) < len(ids):
        first: dict[Any, int] = {}
        for i, id in enumerate(ids):
            if first.setdefault(id, i) != i:
                twice = f"{id!r} in {what}[{first[id]}] and {what}[{i}]"
                raise ReadError(path, expected=f"each id once in {what}", found=twice)


def check_kind(table: str, key: str, ids: Sequence[Id]) -> bool:
    """Are the ids texts? All are or none is."""
    is_text = bool(ids) and isinstance(ids[0], str)
    for i, id in enumerate(ids):
        if isinstance(id, str) != is_text:
            kinds = ("text", "a number") if is_text else ("a number", "text")
            expected = f"{kinds[0]} as in the first record"
            raise ReadError(f"{table}[{i}].{key}", expected=expected, found=f"{kinds[1]}, {excerpt(id)}")
    return is_text


def int_ids(table: str, key: str, ids: Sequence[int]) -> NDArray[np.int64]:
    try:
        return np.array(ids, dtype=np.int64)
    except OverflowError:
        at = next(i for i, id in enumerate(ids) if not -(2**63) <= id < 2**63)
        raise ReadError(f"{table}[{at}].{key}", expected="an id of at most 64 bits", found=excerpt(ids[at])) from None


def positions(path: Path, used: Sequence[Id], key: str, ids: Sequence[Id], table: str) -> NDArray[np.int32]:
    """For each annotation, the position of its image or category in the table."""
    index = {id: i for i, id in enumerate(ids)}
    try:
        return np.array([index[id] for id in used], dtype=np.int32)
    except KeyError as error:
        id = error.args[0]
        place = f"{path}: annotations[{used.index(id)}].{key}"
        is_other_kind = bool(ids) and isinstance(id, str) != isinstance(ids[0], str)
        hint = f"ids are text in one place and numbers in the other (V212), {table}[0] has {ids[0]!r}"
        remedy = hint if is_other_kind else ""
        raise ReadError(place, expected=f"an id out of {table}", found=excerpt(id), remedy=remedy) from None


def columns(
    path: Path,
    format: str,
    rows: list[Annotation],
    images: Images,
    labels: Labels,
    image: NDArray[np.int32],
    label: NDArray[np.int32],
    options: Options,
    notes: Sequence[str] = (),
) -> Annotations:
    """Typed records to columns."""
    table = f"{path}: annotations" if format == "coco" else f"{path}: "
    polygons, runs = outlines(table, rows)
    boxes = np.array([row.bbox or NO_BOX for row in rows], dtype=np.float64).reshape(-1, 4)
    without = [i for i, row in enumerate(rows) if row.bbox is None]
    regions = Regions(boxes, layout_name(options.boxes or "xywh"), polygons=polygons, runs=runs)
    regions, unit = in_pixels(regions, options.coords or "abs", images, image)
    if without:
        regions = with_bounds(table, regions, without)
    given = any(row.score is not None for row in rows)
    areas = [row.area for row in rows]
    ids = [row.id for row in rows if isinstance(row.id, int)]
    return Annotations(
        images=images,
        labels=labels,
        image=image,
        label=label,
        regions=regions,
        confidence=np.array([np.nan if row.score is None else row.score for row in rows]) if given else None,
        area=np.array([np.nan if a is None else a for a in areas]) if any(a is not None for a in areas) else None,
        ids=int_ids(table, "id", ids) if rows and len(ids) == len(rows) else None,
        flags={
            "crowd": np.array([bool(row.iscrowd) for row in rows], dtype=np.bool_),
            "ignore": np.array([bool(row.ignore) for row in rows], dtype=np.bool_),
            "unscored": np.array([given and row.score is None for row in rows], dtype=np.bool_),
        },
        unit=unit,
        source=Source(str(path), format, notes=(*notes, *notes_on_ids(rows, len(ids)))),
    )


def notes_on_ids(rows: list[Annotation], kept: int) -> list[str]:
    if kept < len(rows) and any(row.id is not None for row in rows):
        return [f"object ids left out: {len(rows) - kept} of {len(rows)} are texts or missing"]
    return []


def outlines(table: str, rows: list[Annotation]) -> tuple[Polygons | None, Runs | None]:
    polygons: list[list[Any]] = [[] for _ in rows]
    runs: list[Any] = [None] * len(rows)
    for i, row in enumerate(rows):
        place = f"{table}[{i}].segmentation"
        if isinstance(row.segmentation, Mask):
            height, width = row.segmentation.size
            check_mask_size(f"{place}.size", height, width)
            runs[i] = checked_runs(f"{place}.counts", row.segmentation.counts, height, width), (height, width)
        elif row.segmentation:
            polygons[i] = [checked_ring(f"{place}[{r}]", ring) for r, ring in enumerate(row.segmentation)]
    return (
        Polygons.of(polygons) if any(polygons) else None,
        Runs.of(runs) if any(r is not None for r in runs) else None,
    )


def with_bounds(table: str, regions: Regions, rows: list[int]) -> Regions:
    """Boxes around the polygon or mask of the objects that came without one."""
    values = regions.sizes.copy()
    for row in rows:
        if regions.kinds[row] == POLYGON and regions.polygons is not None:
            left, top, right, bottom = bounds_of_rings(regions.polygons[row])
            values[row] = [left, top, right - left, bottom - top]
        elif regions.kinds[row] == MASK and regions.runs is not None:
            values[row] = bounds_of_runs(regions.runs[row], int(regions.runs.sizes[row, 0]))
        else:
            raise ReadError(f"{table}[{row}]", expected="a bbox or a segmentation", found="neither")
    boxed = np.ones(len(values), dtype=np.bool_)
    boxed[rows] = False
    return Regions(values, "xywh", polygons=regions.polygons, runs=regions.runs, boxed=boxed)


FORMAT = Format("coco", "COCO JSON", recognise, read, write, HOLDS)
