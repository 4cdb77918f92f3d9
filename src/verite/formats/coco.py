"""COCO JSON: images, categories and annotations in one document. Predictions may come this way, too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import ReadError, excerpt
from verite.files import read_bytes, write_atomically
from verite.formats.format import Format, Look, Options
from verite.formats.rows import in_pixels
from verite.limits import limit, remedy
from verite.model.annotations import Annotations, Source
from verite.model.images import Images
from verite.model.labels import Labels
from verite.model.layouts import layout_name
from verite.model.regions import BOX, MASK, POLYGON, Polygons, Regions, Runs

Id = int | str


class Image(msgspec.Struct, omit_defaults=True):
    id: Id
    file_name: str | None = None
    width: int | None = None
    height: int | None = None


class Category(msgspec.Struct):
    id: int
    name: str


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
    id: int | None = None


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
    document = decode(path, Document)
    names = [c.name for c in document.categories]
    check_unique(path, "categories", [c.id for c in document.categories])
    check_unique(path, "images", [i.id for i in document.images])
    if len(set(names)) < len(names):  # the ids tell them apart
        names = [f"{c.name} (id {c.id})" if names.count(c.name) > 1 else c.name for c in document.categories]
    images = image_table(path, document.images)
    labels = Labels(names, [c.id + options.label_offset for c in document.categories])
    image_ids = [i.id for i in document.images]
    image = positions(path, document.annotations, "image_id", image_ids, "images")
    label = positions(path, document.annotations, "category_id", [c.id for c in document.categories], "categories")
    return columns(path, "coco", document.annotations, images, labels, image, label, options)


def decode(path: Path, kind: Any) -> Any:
    """The document, typed; every way of not being one in a line with its place."""
    raw = read_bytes(path)
    data = raw.removeprefix(b"\xef\xbb\xbf")
    check_depth(path, data)
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        expected, found = wanted(message)
        raise ReadError(f"{path}: {place.strip('`.') or 'top level'}", expected=expected, found=found) from None
    except msgspec.DecodeError as error:
        if "truncated" in str(error):
            found = f"the end of the file at byte {len(raw)}"
            raise ReadError(path, expected="a whole JSON document", found=found, remedy="was it cut off?") from None
        document = with_nan(data)
        if document is not None:
            return msgspec.convert(document, kind)
        byte = int(found_byte[1]) if (found_byte := re.search(r"byte (\d+)", str(error))) else 0
        near = data[max(0, byte - 10) : byte + 20].decode("utf-8", errors="replace")
        raise ReadError(f"{path}: byte {byte}", expected="JSON", found=excerpt(near)) from None
    except RecursionError:
        raise too_deep(path) from None


def with_nan(data: bytes) -> Any:
    """The document if all that is wrong with it is the NaN that Python's json module writes."""
    import json

    if not re.search(rb"NaN|Infinity", data):
        return None
    try:
        return json.loads(data)
    except ValueError:
        return None


def check_depth(path: Path, data: bytes) -> None:
    """Nesting is counted before anything recurses into it; brackets inside strings only make the count larger."""
    most = limit("json_depth")
    if data.count(b"[") + data.count(b"{") <= most:
        return
    brackets = np.frombuffer(data, dtype=np.uint8)
    opened = (brackets == ord("[")) | (brackets == ord("{"))
    closed = (brackets == ord("]")) | (brackets == ord("}"))
    depth = np.cumsum(opened.astype(np.int8) - closed.astype(np.int8), dtype=np.int32)
    if depth.max(initial=0) > most:
        raise too_deep(path)


def too_deep(path: Path) -> ReadError:
    most = limit("json_depth")
    return ReadError(path, expected=f"at most {most} levels of nesting", found="more", remedy=remedy("json_depth"))


def wanted(message: str) -> tuple[str, str]:
    """What was expected and found, from msgspec's sentence."""
    if match := re.match(r"Expected `(.+)`, got `(.+)`", message):
        return match[1].replace(" | null", ""), match[2]
    if match := re.match(r"Object missing required field `(.+)`", message):
        return f"a key {match[1]!r}", "none"
    return "a value that fits", excerpt(message)


def check_unique(path: Path, what: str, ids: list[Any]) -> None:
    if len(set(ids)) < len(ids):
        first: dict[Any, int] = {}
        for i, id in enumerate(ids):
            if first.setdefault(id, i) != i:
                twice = f"{id!r} in {what}[{first[id]}] and {what}[{i}]"
                raise ReadError(path, expected=f"each id once in {what}", found=twice)


def image_table(path: Path, images: list[Image]) -> Images:
    """The images; ids given as text are their names where no file name is given."""
    most = limit("image_side")
    for i, image in enumerate(images):
        for what, side in (("width", image.width or 0), ("height", image.height or 0)):
            if not 0 <= side <= most:
                place = f"{path}: images[{i}].{what}"
                raise ReadError(place, expected=f"a number from 0 to {most}", found=str(side), remedy=remedy("image_side"))
    has_names = any(image.file_name for image in images) or any(isinstance(image.id, str) for image in images)
    has_ids = all(isinstance(image.id, int) for image in images)
    return Images(
        [image.file_name or str(image.id) for image in images] if has_names or not images else None,
        int_ids(path, [image.id for image in images]) if has_ids else None,
        widths=[image.width or 0 for image in images],
        heights=[image.height or 0 for image in images],
    )


def int_ids(path: Path, ids: list[Any]) -> NDArray[np.int64]:
    try:
        return np.array(ids, dtype=np.int64)
    except OverflowError:
        large = next(i for i in ids if not -(2**63) <= i < 2**63)
        raise ReadError(path, expected="ids of at most 64 bits", found=str(large)) from None


def positions(path: Path, rows: list[Annotation], key: str, ids: list[Any], table: str) -> NDArray[np.int32]:
    """For each annotation, the position of its image or category in the table."""
    index = {id: i for i, id in enumerate(ids)}
    try:
        return np.array([index[getattr(row, key)] for row in rows], dtype=np.int32)
    except KeyError as error:
        at = next(i for i, row in enumerate(rows) if getattr(row, key) == error.args[0])
        place = f"{path}: annotations[{at}].{key}"
        raise ReadError(place, expected=f"an id out of {table}", found=repr(error.args[0])) from None


def columns(
    path: Path,
    format: str,
    rows: list[Annotation],
    images: Images,
    labels: Labels,
    image: NDArray[np.int32],
    label: NDArray[np.int32],
    options: Options,
) -> Annotations:
    """Typed records to columns."""
    polygons, runs = outlines(path, rows)
    boxes = np.array([row.bbox or NO_BOX for row in rows], dtype=np.float64).reshape(-1, 4)
    without = [i for i, row in enumerate(rows) if row.bbox is None]
    regions = Regions(boxes, layout_name(options.boxes or "xywh"), polygons=polygons, runs=runs)
    regions, unit = in_pixels(regions, options.coords or "abs", images, image)
    if without:
        regions = with_bounds(path, regions, without)
    scores = [row.score for row in rows]
    given = sum(score is not None for score in scores)
    ids = [row.id for row in rows]
    areas = [row.area for row in rows]
    return Annotations(
        images=images,
        labels=labels,
        image=image,
        label=label,
        regions=regions,
        confidence=np.array([np.nan if s is None else s for s in scores]) if given else None,
        area=np.array([np.nan if a is None else a for a in areas]) if any(a is not None for a in areas) else None,
        ids=int_ids(path, ids) if rows and None not in ids else None,
        flags={
            "crowd": np.array([bool(row.iscrowd) for row in rows], dtype=np.bool_),
            "ignore": np.array([bool(row.ignore) for row in rows], dtype=np.bool_),
            "unscored": np.array([bool(given) and s is None for s in scores], dtype=np.bool_),
        },
        unit=unit,
        source=Source(str(path), format),
    )


NO_BOX = (0.0, 0.0, 0.0, 0.0)


def outlines(path: Path, rows: list[Annotation]) -> tuple[Polygons | None, Runs | None]:
    polygons: list[list[Any]] = []
    runs: list[Any] = []
    for i, row in enumerate(rows):
        place = f"{path}: annotations[{i}].segmentation"
        is_mask = isinstance(row.segmentation, Mask)
        polygons.append(checked_rings(place, row.segmentation) if isinstance(row.segmentation, list) else [])
        runs.append(decoded_runs(place, row.segmentation) if is_mask else None)  # type: ignore[arg-type]
    return (
        Polygons.of(polygons) if any(polygons) else None,
        Runs.of(runs) if any(r is not None for r in runs) else None,
    )


def checked_rings(place: str, rings: list[list[float]]) -> list[list[float]]:
    for r, ring in enumerate(rings):
        if len(ring) < 6 or len(ring) % 2:
            expected = "an even number of coordinates, at least 6 (V408)"
            raise ReadError(f"{place}[{r}]", expected=expected, found=str(len(ring)))
        if len(ring) > 2 * limit("polygon_points"):
            most = f"at most {limit('polygon_points')} points"
            raise ReadError(f"{place}[{r}]", expected=most, found=str(len(ring) // 2), remedy=remedy("polygon_points"))
        if not all(abs(v) <= limit("coordinate") for v in ring):
            odd = next(v for v in ring if not abs(v) <= limit("coordinate"))
            most = f"coordinates up to {limit('coordinate')}"
            raise ReadError(f"{place}[{r}]", expected=most, found=str(odd), remedy=remedy("coordinate"))
    return rings


def decoded_runs(place: str, mask: Mask) -> tuple[NDArray[np.uint32], tuple[int, int]]:
    height, width = mask.size
    side, pixels = limit("image_side"), limit("image_pixels")
    if not (0 <= height <= side and 0 <= width <= side and height * width <= pixels):
        most = f"a size of at most {side} a side and {pixels:,} pixels"
        raise ReadError(f"{place}.size", expected=most, found=f"{height} x {width}", remedy=remedy("image_side"))
    try:
        if isinstance(mask.counts, str):
            return _core.decode_runs(mask.counts.encode(), height, width), (height, width)
        total = sum(mask.counts)
        if any(c < 0 for c in mask.counts) or total != height * width:
            raise ValueError(f"runs that add up to {total}")
        return np.array(mask.counts, dtype=np.uint32), (height, width)
    except ValueError as error:
        expected = f"runs of {height} x {width} = {height * width} pixels (V405)"
        raise ReadError(f"{place}.counts", expected=expected, found=str(error)) from None


def with_bounds(path: Path, regions: Regions, rows: list[int]) -> Regions:
    """Boxes around the polygon or mask of the objects that came without one."""
    values = regions.sizes.copy()
    for row in rows:
        match regions.kinds[row]:
            case 1 if regions.polygons is not None:
                points = np.concatenate(regions.polygons[row])
                values[row] = [*points.min(axis=0), *np.ptp(points, axis=0)]
            case 2 if regions.runs is not None:
                values[row] = bounds_of_runs(regions.runs[row], int(regions.runs.sizes[row, 0]))
            case _:
                raise ReadError(f"{path}: annotations[{row}]", expected="a bbox or a segmentation", found="neither")
    boxed = np.ones(len(values), dtype=np.bool_)
    boxed[rows] = False
    return Regions(values, "xywh", polygons=regions.polygons, runs=regions.runs, boxed=boxed)


def bounds_of_runs(counts: NDArray[np.uint32], height: int) -> list[float]:
    """Left, top, width and height of the pixels of a mask; zeros for an empty one."""
    ends = np.cumsum(counts, dtype=np.int64)
    first, last = ends[0::2][: len(ends) // 2], ends[1::2] - 1
    first, last = first[first <= last], last[first <= last]
    if not len(first):
        return list(NO_BOX)
    columns = first // height, last // height
    spans = columns[0] != columns[1]  # a run over a column's end touches the bottom and the next top
    top = 0 if spans.any() else int((first % height).min())
    bottom = height - 1 if spans.any() else int((last % height).max())
    left, right = int(columns[0].min()), int(columns[1].max())
    return [left, top, right - left + 1, bottom - top + 1]


def write(annotations: Annotations, path: Path) -> None:
    """A whole COCO document; predictions keep their scores."""
    image_ids = ids_or_count(annotations.images.ids, len(annotations.images))
    label_ids = ids_or_count(annotations.labels.ids, len(annotations.labels))
    images = [
        {"id": int(id), "file_name": annotations.images.name(i), **size_of(annotations.images, i)}
        for i, id in enumerate(image_ids)
    ]
    categories = [{"id": int(id), "name": annotations.labels.name(i)} for i, id in enumerate(label_ids)]
    document = {"images": images, "annotations": records(annotations, image_ids, label_ids), "categories": categories}
    write_atomically(path, msgspec.json.encode(document) + b"\n")


def size_of(images: Images, i: int) -> dict[str, int]:
    return {"width": int(images.widths[i]), "height": int(images.heights[i])} if images.widths[i] else {}


def ids_or_count(ids: NDArray[np.int64] | None, count: int) -> NDArray[np.int64]:
    return ids if ids is not None else np.arange(1, count + 1)


def records(
    annotations: Annotations, image_ids: NDArray[np.int64], label_ids: NDArray[np.int64], *, is_truth: bool = True
) -> list[dict[str, Any]]:
    """One JSON record an object. Truth gets COCO's usual keys, results only what results have."""
    if annotations.unit != "px":
        remedy = "give --image-size WIDTH,HEIGHT or --images FOLDER"
        raise ReadError(annotations.source.path, expected="boxes in pixels", found="fractions of the image", remedy=remedy)
    sizes = annotations.regions.sizes.tolist()
    found = []
    for i, box in enumerate(sizes):
        record: dict[str, Any] = {
            "image_id": int(image_ids[annotations.image[i]]),
            "category_id": int(label_ids[annotations.label[i]]),
            "bbox": box,
        }
        if is_truth:
            record["id"] = int(annotations.ids[i]) if annotations.ids is not None else i + 1
            given = annotations.area is not None and not np.isnan(annotations.area[i])
            record["area"] = float(annotations.area[i]) if given else box[2] * box[3]  # type: ignore[index]
            record["iscrowd"] = int(annotations.crowd[i])
            if annotations.ignore[i]:
                record["ignore"] = 1
        if annotations.confidence is not None:
            record["score"] = float(annotations.confidence[i])
        if annotations.regions.kinds[i] != BOX:
            record["segmentation"] = segmentation(annotations.regions, i, is_compressed=not is_truth)
        found.append(record)
    return found


def segmentation(regions: Regions, i: int, *, is_compressed: bool) -> Any:
    """An outline as COCO writes it: polygons, runs in truth files, compressed runs in results."""
    if regions.kinds[i] == POLYGON:
        assert regions.polygons is not None
        return [ring.ravel().tolist() for ring in regions.polygons[i]]
    assert regions.kinds[i] == MASK
    assert regions.runs is not None
    counts = regions.runs[i]
    text = _core.encode_runs(np.ascontiguousarray(counts)).decode() if is_compressed else counts.tolist()
    return {"size": regions.runs.sizes[i].tolist(), "counts": text}


HOLDS = frozenset(
    {"confidence", "area", "id", "polygon", "mask", "image size", "empty image", "unused class", "ignore", "crowd"}
)
FORMAT = Format("coco", "COCO JSON", recognise, read, write, HOLDS)
