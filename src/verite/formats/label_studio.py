"""Label Studio JSON: a list of tasks, one image each, with annotations and model predictions, in percent of the image.

Rectangles, rotated ones as polygons, polygons, ellipses and brush strokes (masks) are read; keypoints and others are
skipped and counted. Of a task's annotations the first that was not cancelled counts. A file with predictions only is
read as predictions. Both exports are read, JSON and JSON-MIN.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
import numpy as np
from numpy.typing import NDArray

from verite.errors import UNLABELLED, ReadError, excerpt
from verite.files import JsonObject, write_atomically
from verite.formats.cvat import image_runs, runs, segments, transpose
from verite.formats.exports import records_in
from verite.formats.format import Format, Options, PathProbe
from verite.formats.json_documents import check_finite, decode
from verite.formats.polygons import bounds_of_rings, bounds_of_runs, check_mask_size, check_ring
from verite.formats.rows import Rows
from verite.formats.sizes import check_order, fractions
from verite.formats.text_lines import is_plain_number
from verite.formats.xml import to_whole
from verite.model.annotations import Annotations
from verite.model.images import IMAGE_SUFFIXES
from verite.model.regions import MASK, POLYGON

CHANNELS = 4  # the last one is how opaque a pixel is

WORD = 8

LENGTHS = (3, 4, 8, 16)  # bits, as Label Studio itself chooses them

LONGEST = 1 << LENGTHS[-1]


class Bits:
    """Bits out of bytes, the highest of each byte first."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> int:
        first, last = self.at, self.at + count
        if last > 8 * len(self.data):
            raise EOFError
        self.at = last
        chunk = int.from_bytes(self.data[first // 8 : (last + 7) // 8], "big")
        return chunk >> (-last % 8) & ((1 << count) - 1)


def decode_brush(packed: Any, height: int, width: int, where: str) -> NDArray[np.uint32]:
    """COCO's runs of a mask of this size."""
    check_mask_size(where, height, width)
    expected = f"a brush mask of {height} x {width} pixels (V405)"
    if not isinstance(packed, list) or not all(isinstance(b, int) and 0 <= b < 256 for b in packed):
        raise ReadError(where, expected=expected, found=excerpt(str(packed), 40))
    bits = Bits(bytes(packed))
    try:
        total, word = bits.take(32), bits.take(5) + 1
        if total != height * width * CHANNELS:
            raise ReadError(where, expected=expected, found=f"{total:,} bytes")
        counts = count_rows(stretches(bits, total, word))
    except EOFError:
        raise ReadError(where, expected=expected, found=f"{len(packed):,} bytes, which end too soon") from None
    return image_runs(counts, (0, 0, width, height), height, width)


def stretches(bits: Bits, total: int, word: int) -> Iterator[tuple[bool, int]]:
    """Pixels row by row: whether the brush was there, and for how many of them."""
    lengths = [bits.take(4) + 1 for _ in range(4)]
    at = 0
    while at < total:
        is_repeated = bits.take(1)
        end = min(at + 1 + bits.take(lengths[bits.take(2)]), total)
        if is_repeated:
            yield bits.take(word) > 0, end // CHANNELS - at // CHANNELS
        else:
            for place in range(at, end):
                value = bits.take(word)
                if place % CHANNELS == CHANNELS - 1:
                    yield value > 0, 1
        at = end


def count_rows(found: Iterator[tuple[bool, int]]) -> NDArray[np.uint32]:
    """Runs, the first of them background."""
    counts = [0]
    for path_exists, length in found:
        if path_exists == (len(counts) % 2 == 0):
            counts[-1] += length
        elif length:
            counts.append(length)
    return np.array(counts, dtype=np.uint32)


def encode_brush(counts: NDArray[np.uint32], height: int, width: int) -> list[int]:
    """A mask as Label Studio packs it."""
    rows = runs(transpose(segments(counts, height), width, height), width, height)
    words = [f"{height * width * CHANNELS:032b}{WORD - 1:05b}", *(f"{bits - 1:04b}" for bits in LENGTHS)]
    for i, length in enumerate(rows.tolist()):
        whole, rest = divmod(length * CHANNELS, LONGEST)
        value = ("1" if i % 2 else "0") * WORD
        parts = [LONGEST] * whole + [rest] * (rest > 0)
        words += [f"1{len(LENGTHS) - 1:02b}{part - 1:0{LENGTHS[-1]}b}{value}" for part in parts]
    text = "".join(words)
    text += "0" * (-len(text) % 8)
    return list(int(text, 2).to_bytes(len(text) // 8, "big"))


CORNERS = 64

Size = tuple[int, int]  # height and width

UPLOADED = re.compile(r"^[0-9a-f]{8}-")  # what Label Studio puts before the name of an uploaded file

BRUSH = "brushlabels"

SHAPE_TYPES = {
    "rectanglelabels": "rectangle",
    "polygonlabels": "polygon",
    "ellipselabels": "ellipse",
    BRUSH: "brush",
}


class Result(msgspec.Struct):
    type: str
    value: JsonObject = {}
    original_width: float | None = None
    original_height: float | None = None
    score: float | None = None


class Drawn(msgspec.Struct):
    result: list[Result] = []
    was_cancelled: bool = False
    score: float | None = None


class Task(msgspec.Struct):
    data: JsonObject = {}
    annotations: list[Drawn] | None = None
    completions: list[Drawn] | None = None  # what annotations were called before 1.0
    predictions: list[Drawn] = []
    result: list[Result] = []  # where the file is one annotation, as the editor hands it over

    @property
    def drawn(self) -> list[Drawn]:
        """The annotations that were not cancelled."""
        own = [Drawn(self.result)] if self.result else []
        return [drawn for drawn in self.annotations or self.completions or own if not drawn.was_cancelled]


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is Label Studio JSON, the editor's JSON of one task (or a folder of them), or JSON-MIN."""
    start = next(iter(probe.documents.values()), "")
    has_results = '"result"' in start and any(key in start for key in ('"data"', '"from_name"', '"lead_time"'))
    if start.startswith("{"):
        return "JSON of a task with data and annotations" if has_results else None
    if probe.is_folder or not start.startswith("["):
        return None
    if '"data"' in start and re.search(r'"(annotations|completions|predictions)"\s*:', start):
        return "a JSON array of tasks with data and annotations"
    return "a JSON array with labels of rectangles, polygons or the like" if is_small(start) else None


def is_small(start: str) -> bool:
    """JSON-MIN: a record per image, its shapes without the tasks around them."""
    return re.search(r'"(rectangle|polygon|ellipse|brush)labels"\s*:', start) is not None and '"result"' not in start


def read(path: Path, options: Options) -> Annotations:
    """Read the annotations of all tasks; the predictions, if no task has annotations."""
    head = PathProbe(path).head
    is_min = not path.is_dir() and is_small(head) and '"data"' not in head
    if is_min:
        placed = []
        for i, record in enumerate(decode(path, list[dict[str, Any]])):
            lists = [value for value in record.values() if isinstance(value, list)]
            shapes = [shape for values in lists for shape in values if isinstance(shape, dict)]
            found = [(next((kind for kind in SHAPE_TYPES if kind in shape), "others"), shape) for shape in shapes]
            sized = [
                Result(kind, shape, shape.get("original_width"), shape.get("original_height")) for kind, shape in found
            ]
            texts = {key: value for key, value in record.items() if isinstance(value, str)}
            placed.append((f"{path}: [{i}]", Task(texts, [Drawn(sized)])))
    else:
        files = PathProbe(path).with_suffix(".json") if path.is_dir() else [path]
        placed = [task for file in files for task in records_in(file, Task)]
    tasks = [task for _, task in placed]
    is_truth = any(task.drawn for task in tasks) or not any(task.predictions for task in tasks)
    rows = Rows(path, options)
    # The editor writes no sizes: then all coordinates are fractions, and the sizes come from elsewhere.
    shown = [(where, task.data, result_of(task, is_truth=is_truth)) for where, task in placed]
    has_sizes = all(image_size(where, data, results)[0] for where, data, results in shown if results)
    for where, task in placed:
        with rows.errors:
            read_task(rows, where, task, is_truth=is_truth, has_sizes=has_sizes)
    why = "what annotators drew" if is_truth else "what models proposed, as there are no annotations by people"
    return rows.annotations("label-studio", layout="xyxy", coords="abs" if has_sizes else "rel", why=why)


def result_of(task: Task, *, is_truth: bool) -> list[Result]:
    """Return the results of the first annotation, or of the first prediction."""
    drawn = task.drawn if is_truth else task.predictions
    return drawn[0].result if drawn else []


def read_task(rows: Rows, where: str, task: Task, *, is_truth: bool, has_sizes: bool) -> None:
    """Add the image of a task and its shapes, in pixels, or in fractions where sizes are missing."""
    drawn = task.drawn if is_truth else task.predictions
    rows.remark("annotations of the same task left out", where, max(0, len(drawn) - 1))
    results = result_of(task, is_truth=is_truth)
    width, height = image_size(where, task.data, results)
    name = image_name(rows, where, task.data)
    rows.add_image(where, name, width, height)
    for i, result in enumerate(results):
        place = f"{where}.result[{i}]"
        if result.type == "labels" and result.value.get("format") == "rle":  # of the magic wand
            value = {**result.value, BRUSH: result.value.get("labels")}
            result = Result(BRUSH, value, result.original_width, result.original_height, result.score)
        if result.type not in SHAPE_TYPES:
            rows.remark(f"results of type {excerpt(result.type)} left out")
            continue
        labels = result.value.get(result.type)
        if not isinstance(labels, list) or not labels or not isinstance(labels[0], str):
            rows.errors.add(UNLABELLED, "no label", place, "")
            continue
        needs_size = result.type == BRUSH or bool(result.value.get("rotation"))
        if not width and needs_size:
            remedy = "export the project as JSON, which has them"
            raise ReadError(place, expected="original_width and original_height", found="none", remedy=remedy)
        score = result.score if result.score is not None else drawn[0].score
        confidence = None if is_truth else math.nan if score is None else score
        if result.type == BRUSH:
            own = result.original_height or height, result.original_width or width  # a stroke may state its own size
            tall, wide = (to_whole(float(side), "whole pixels", place) for side in own)
            runs = decode_brush(result.value.get("rle"), tall, wide, place)
            left, top, across, down = bounds_of_runs(runs, tall)
            box = (left, top, left + across, top + down)
            rows.add(place, name, labels[0], box, confidence, runs=(runs, (tall, wide)))
            continue
        scale = (width / 100, height / 100) if has_sizes else (0.01, 0.01)
        ring = READERS[result.type](result.value, *scale, place)
        is_box = SHAPE_TYPES[result.type] == "rectangle" and not result.value.get("rotation")
        rows.add(place, name, labels[0], bounds_of_rings([ring]), confidence, polygon=None if is_box else [ring])


def image_size(where: str, data: JsonObject, results: list[Result]) -> tuple[int, int]:
    """Return the image size that shapes state, or else the task."""
    sized = next(
        ((r.original_width, r.original_height) for r in results if r.original_width and r.original_height), None
    )
    sides = sized or (data.get("width"), data.get("height"))
    if not all(isinstance(side, (int, float)) for side in sides):
        return 0, 0
    width, height = (to_whole(float(side or 0), "whole pixels", where) for side in sides)
    return width, height


def image_name(rows: Rows, where: str, data: JsonObject) -> str:
    """Return the image name of a task: the value that looks like one, without server, upload folder and prefix."""
    texts = [value for value in data.values() if isinstance(value, str)]
    found = next((text for text in texts if Path(bare(text)).suffix.lower() in IMAGE_SUFFIXES), None)
    if found is None:
        found = data.get("image") if isinstance(data.get("image"), str) else None
    if not data:
        remedy = "this is the editor's own annotation; export the project as JSON, which names the images"
        raise ReadError(where, expected="a key 'data'", found="none", remedy=remedy)
    if not found:
        remedy = (
            "tasks with several images each are not read" if any(isinstance(v, list) for v in data.values()) else ""
        )
        raise ReadError(f"{where}.data", expected="the path of an image", found=excerpt(str(data)), remedy=remedy)
    name = bare(found)
    if "/upload/" in found and UPLOADED.match(name.rpartition("/")[2]):
        rows.remark("names without the eight characters that an upload puts before them")
        name = UPLOADED.sub("", name.rpartition("/")[2])
    return name


def bare(text: str) -> str:
    """The path in a URL: that of `?d=` where files are local, else the last part."""
    try:
        parts = urlsplit(text)
    except ValueError:  # a bracket without its partner would begin an address
        return text
    local = parse_qs(parts.query).get("d")
    if local:
        return local[0]
    if parts.scheme or text.startswith("/data/"):
        return unquote(parts.path).rpartition("/")[2]
    return text


def numbers_of(value: JsonObject, keys: tuple[str, ...], where: str) -> list[float]:
    for key in keys:
        if not is_plain_number(value.get(key)):
            found = "none" if key not in value else excerpt(str(value[key]))
            raise ReadError(f"{where}.value", expected=f"a number {key!r}", found=found)
    return [float(value[key]) for key in keys]


def rectangle_ring(value: JsonObject, across: float, down: float, where: str) -> list[float]:
    """Turned around its first corner, in degrees and clockwise, in pixels.

    Parameters
    ----------
    value
        x, y, width and height in percent of the image, and rotation in degrees.
    across
        One percent of the width, in pixels or as a fraction.
    down
        One percent of the height.
    where
        The result, for messages.

    Returns
    -------
    list[float]
        Four corners as x1, y1, … in pixels.
    """
    x, y, width, height = numbers_of(value, ("x", "y", "width", "height"), where)
    left, top, width, height = x * across, y * down, width * across, height * down
    angle = math.radians(numbers_of(value, ("rotation",), where)[0]) if value.get("rotation") else 0.0
    cos, sin = math.cos(angle), math.sin(angle)
    corners = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]
    return list(check_ring(where, [v for a, b in corners for v in (left + a * cos - b * sin, top + a * sin + b * cos)]))


def polygon_ring(value: JsonObject, across: float, down: float, where: str) -> list[float]:
    points = value.get("points")
    if not isinstance(points, list) or not all(
        isinstance(p, list) and len(p) == 2 and all(isinstance(v, (int, float)) for v in p) for p in points
    ):
        raise ReadError(f"{where}.value", expected="points of two numbers each", found=excerpt(str(points)))
    return list(check_ring(where, [v for x, y in points for v in (x * across, y * down)]))


def ellipse_ring(value: JsonObject, across: float, down: float, where: str) -> list[float]:
    x, y, first, second = numbers_of(value, ("x", "y", "radiusX", "radiusY"), where)
    angle = math.radians(numbers_of(value, ("rotation",), where)[0]) if value.get("rotation") else 0.0
    cos, sin = math.cos(angle), math.sin(angle)
    turns = [2 * math.pi * k / CORNERS for k in range(CORNERS)]
    around = [(first * across * math.cos(turn), second * down * math.sin(turn)) for turn in turns]
    points = [(x * across + a * cos - b * sin, y * down + a * sin + b * cos) for a, b in around]
    return list(check_ring(where, [v for point in points for v in point]))


READERS = {"rectanglelabels": rectangle_ring, "polygonlabels": polygon_ring, "ellipselabels": ellipse_ring}


def write(annotations: Annotations, path: Path) -> None:
    """Return tasks to import: ground truth as annotations, predictions as predictions with their scores."""
    check_finite(path, "boxes", annotations.regions.values)
    check_order(annotations, path)
    regions = fractions(annotations, path).scale(np.full((len(annotations), 2), 100.0))
    images, confidence = annotations.images, annotations.confidence
    results: list[list[JsonObject]] = [[] for _ in range(len(images))]
    boxes = regions.sizes.tolist()
    for row, image in enumerate(annotations.image.tolist()):
        rings = regions.polygons[row] if regions.kinds[row] == POLYGON and regions.polygons is not None else []
        kind = "polygonlabels" if len(rings) == 1 else "rectanglelabels"
        x, y, width, height = boxes[row]
        value: JsonObject = {"x": x, "y": y, "width": width, "height": height, "rotation": 0}
        value = {"points": rings[0].tolist()} if len(rings) == 1 else value
        sides = [int(images.heights[image]), int(images.widths[image])]
        if regions.kinds[row] == MASK and regions.runs is not None:
            kind, sides = BRUSH, regions.runs.sizes[row].tolist()
            value = {"format": "rle", "rle": encode_brush(regions.runs[row], *sides)}
        result = {
            "id": f"o{row}",
            "type": kind,
            "from_name": "label",
            "to_name": "image",
            "original_width": sides[1],
            "original_height": sides[0],
            "image_rotation": 0,
            "value": {**value, kind: [annotations.labels.name(int(annotations.label[row]))]},
        }
        results[image].append(result if confidence is None else {**result, "score": float(confidence[row])})
    side = "annotations" if confidence is None else "predictions"
    sizes = zip(images.widths.tolist(), images.heights.tolist(), strict=True)
    about = [{"image": images.name(i), "width": width, "height": height} for i, (width, height) in enumerate(sizes)]
    tasks = [{"data": data, side: [{"result": found}]} for data, found in zip(about, results, strict=True)]
    write_atomically(path, msgspec.json.format(msgspec.json.encode(tasks)) + b"\n")


PRESERVES = frozenset(
    {
        "class name",
        "confidence",
        "empty image",
        "image folder or suffix",
        "image name",
        "image size",
        "mask",
        "polygon",
    }
)

FORMAT = Format(
    name="label-studio",
    title="Label Studio JSON",
    about="tasks with annotations or predictions: rectangles, polygons, ellipses, brushes; JSON and JSON-MIN",
    recognise=recognise,
    read=read,
    write=write,
    preserves=PRESERVES,
    requires=frozenset({"boxes from left to right", "image size"}),
    suffixes=(".json",),
)
