"""Datumaro JSON: recognised by its mapping of categories, where COCO has a list.

Confidences and track ids are the attributes `score` and `track_id`, as CVAT's exports have them.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import msgspec

from verite.errors import UNLABELLED, ReadError, excerpt
from verite.files import JsonObject, write_atomically
from verite.formats.format import Format, Options, PathProbe, flags_by_row
from verite.formats.json_documents import decode
from verite.formats.polygons import bounds_of_rings, bounds_of_runs, check_mask_size, check_ring, parse_runs
from verite.formats.rows import Outline, Rows
from verite.formats.sizes import need_pixels
from verite.model.annotations import Annotations
from verite.model.images import stem
from verite.model.regions import MASK, POLYGON
from verite.model.results import to_json

FLAGS = {"is_crowd": "crowd", "difficult": "difficult", "occluded": "occluded", "truncated": "truncated"}


class Label(msgspec.Struct):
    name: str


class DatumaroLabels(msgspec.Struct):
    labels: list[Label]


class Categories(msgspec.Struct):
    label: DatumaroLabels


class DatumaroRuns(msgspec.Struct):
    counts: str | list[int]
    size: tuple[int, int]  # height and width


class DatumaroShape(msgspec.Struct):
    type: str
    label_id: int | None = None
    attributes: JsonObject = {}
    bbox: tuple[float, float, float, float] | None = None  # left, top, width and height
    points: list[float] | None = None
    rle: DatumaroRuns | None = None

    @property
    def score(self) -> float | None:
        """The attribute `score`; nan where it is null, None where there is none."""
        found = self.attributes.get("score")
        if found is None and "score" in self.attributes:
            return math.nan
        return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None

    @property
    def track(self) -> int | None:
        """The attribute `track_id`, which CVAT writes for the shapes of tracks."""
        found = self.attributes.get("track_id")
        is_id = isinstance(found, int) and not isinstance(found, bool) and abs(found) < 2**63
        return found if is_id else None


class DatumaroPicture(msgspec.Struct):
    path: str = ""
    size: tuple[int, int] | None = None  # height and width


class Item(msgspec.Struct):
    id: str
    annotations: list[DatumaroShape] = []
    image: DatumaroPicture | None = None


class Document(msgspec.Struct):
    categories: Categories
    items: list[Item]


def read_items(path: Path, options: Options) -> Annotations:
    document = decode(path, Document)
    names = [label.name for label in document.categories.label.labels]
    rows = Rows(path, options, names=names)
    shapes = [shape for item in document.items for shape in item.annotations if shape.type in READERS]
    is_pred = bool(shapes) and all(shape.score is not None for shape in shapes)
    for position, item in enumerate(document.items):
        with rows.errors:
            where, picture = f"{path}: items[{position}]", item.image or DatumaroPicture()
            name = picture.path.replace("\\", "/") or item.id
            height, width = picture.size or (0, 0)
            rows.add_image(where, name, width, height)
            for i, shape in enumerate(item.annotations):
                place = f"{where}.annotations[{i}]"
                if shape.type not in READERS:
                    rows.remark(f"annotations of type {excerpt(shape.type)} left out")
                elif shape.label_id is None:
                    rows.errors.add(UNLABELLED, "no label", place, "")
                elif not 0 <= shape.label_id < len(names):
                    expected = f"a label_id from 0 to {len(names) - 1}, as there are labels"
                    raise ReadError(place, expected=expected, found=str(shape.label_id))
                else:
                    flags = [flag for key, flag in FLAGS.items() if shape.attributes.get(key) is True]
                    box, outline = READERS[shape.type](shape, place)
                    label, score = names[shape.label_id], shape.score if is_pred else None
                    rows.add(place, name, label, box, score, track=shape.track, flags=flags, **outline)
    return rows.annotations("datumaro", layout="xyxy", why="all objects have scores" if is_pred else "")


def read_box(shape: DatumaroShape, place: str) -> tuple[list[float], Outline]:
    if shape.bbox is None:
        raise ReadError(place, expected="a key 'bbox'", found="none")
    left, top, width, height = shape.bbox
    return [left, top, left + width, top + height], {}


def read_polygon(shape: DatumaroShape, place: str) -> tuple[list[float], Outline]:
    ring = list(check_ring(place, shape.points or []))
    return bounds_of_rings([ring]), {"polygon": [ring]}


def read_mask(shape: DatumaroShape, place: str) -> tuple[list[float], Outline]:
    if shape.rle is None:
        raise ReadError(place, expected="a key 'rle'", found="none")
    height, width = shape.rle.size
    check_mask_size(place, height, width)
    runs = parse_runs(place, shape.rle.counts, height, width)
    left, top, across, down = bounds_of_runs(runs, height)
    return [left, top, left + across, top + down], {"runs": (runs, (height, width))}


READERS = {"bbox": read_box, "polygon": read_polygon, "mask": read_mask}


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is Datumaro JSON."""
    start = "" if probe.is_folder else probe.head.lstrip()
    if '"categories"' not in start:
        return None
    is_mapped = re.search(r'"categories"\s*:\s*\{(\s*\}|\s*"(label|mask|points|hash_key)")', start)
    return "a JSON object with a map of categories" if start.startswith("{") and is_mapped else None


def write(annotations: Annotations, path: Path) -> None:
    """Write one JSON file; the confidence is the attribute `score`, the track `track_id`, as CVAT writes them.

    A polygon of several rings is written as its box: Datumaro's polygons have one ring.
    """
    need_pixels(annotations, path)
    images, labels, regions, track = annotations.images, annotations.labels, annotations.regions, annotations.track
    corners, flags = regions.boxes.tolist(), flags_by_row(annotations)
    shapes: list[list[JsonObject]] = [[] for _ in range(len(images))]
    keys = {flag: key for key, flag in FLAGS.items()}
    for row, image in enumerate(annotations.image.tolist()):
        attributes: JsonObject = {keys[flag]: True for flag in flags[row] if flag in keys}
        if annotations.confidence is not None:
            score = float(annotations.confidence[row])
            attributes["score"] = None if math.isnan(score) else score  # null: a prediction without a score
        if track is not None and track[row] >= 0:
            attributes["track_id"] = int(track[row])
        left, top, right, bottom = corners[row]
        kind = regions.kinds[row]
        if kind == MASK and regions.runs is not None:
            size = regions.runs.sizes[row].tolist()
            shape: JsonObject = {"type": "mask", "rle": {"counts": regions.runs[row].tolist(), "size": size}}
        elif kind == POLYGON and regions.polygons is not None and len(regions.polygons[row]) == 1:
            shape = {"type": "polygon", "points": regions.polygons[row][0].ravel().tolist()}
        else:
            shape = {"type": "bbox", "bbox": [left, top, right - left, bottom - top]}
        shapes[image].append(
            {"id": row, "group": 0, "label_id": int(annotations.label[row]), "attributes": attributes, **shape}
        )
    items = []
    for i, own in enumerate(shapes):
        name = images.name(i)
        picture: JsonObject = {"path": name}
        if images.widths[i] > 0:
            picture["size"] = [int(images.heights[i]), int(images.widths[i])]
        items.append({"id": stem(name), "annotations": own, "image": picture})
    names = [{"name": name, "parent": "", "attributes": []} for name in labels.all_names]
    document = {"info": {}, "categories": {"label": {"labels": names, "attributes": []}}, "items": items}
    write_atomically(path, to_json(document) + "\n")


FORMAT = Format(
    name="datumaro",
    title="Datumaro JSON",
    about="items with boxes, polygons and masks, as Datumaro and CVAT export them",
    recognise=recognise,
    read=read_items,
    write=write,
    preserves=frozenset(
        {
            "class name",
            "class order",
            "confidence",
            "empty image",
            "image folder or suffix",
            "image name",
            "image size",
            "mask",
            "polygon",
            "track id",
            "unused class",
            "unused class id",
            *FLAGS.values(),
        }
    ),
    requires=frozenset({"boxes from left to right"}),
    suffixes=(".json",),
)
