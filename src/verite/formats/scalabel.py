"""Scalabel JSON, the format of BDD100K: frames with boxes, polygons or COCO's compressed RLE.

Box corners are pixels from 0, the last ones included, as Scalabel's own conversion to COCO reads them: a box from 10 to
19 is 10 pixels wide. Polygons may have Bézier curves (`types` with C), which become eight short lines each. Lane
markings are lines and are skipped. In BDD100K's ground truth the classes that its evaluation ignores (other person,
other vehicle, trailer) are ignore regions.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from verite.errors import ReadError
from verite.formats.exports import files_of, has_keys, note_if_unscored, records_in
from verite.formats.format import FRAMES, Format, Options, PathProbe
from verite.formats.polygons import bounds_of_rings, bounds_of_runs, check_mask_size, check_ring, parse_runs
from verite.formats.rows import Rows
from verite.model.annotations import Annotations

STEPS = 8  # lines of a Bézier curve
FLAGS = ("crowd", "occluded", "truncated")
# Predictions of any class that match nothing and lie in an object of these classes are ignored by BDD100K's evaluation.
DISTRACTORS = frozenset(("other person", "other vehicle", "trailer"))
BDD100K = DISTRACTORS | {
    "pedestrian", "person", "rider", "car", "bus", "truck", "train", "motorcycle", "motor", "bicycle", "bike",
    "traffic light", "traffic sign", "lane", "drivable area", "area/drivable", "area/alternative",
}  # fmt: skip


class Box2D(msgspec.Struct):
    """Corners in pixels, the last ones included."""

    x1: float
    y1: float
    x2: float
    y2: float


class Poly2D(msgspec.Struct):
    """A ring of vertices; `types` says L (corner) or C (control point) of each."""

    vertices: list[tuple[float, float]]
    types: str = ""


class ScalabelRuns(msgspec.Struct):
    """A mask as COCO's compressed RLE, with height and width."""

    counts: str
    size: tuple[int, int]


class ScalabelObject(msgspec.Struct, rename={"box": "box2d", "polygons": "poly2d"}):
    """One label of a frame."""

    category: str | None = None
    box: Box2D | None = None
    polygons: list[Poly2D] | None = None
    rle: ScalabelRuns | None = None
    score: float | None = None
    attributes: dict[str, object] | None = None


class ImageSize(msgspec.Struct):
    """Size of an image in pixels."""

    width: int
    height: int


class Frame(msgspec.Struct):
    """One image; the first BDD100K files call its labels `objects`."""

    name: str = ""
    labels: list[ScalabelObject] | None = None
    objects: list[ScalabelObject] | None = None
    size: ImageSize | None = None


class Frames(msgspec.Struct):
    """A frame, or a file with a list of them."""

    name: str = ""
    frames: list[Frame] | None = None
    labels: list[ScalabelObject] | None = None
    size: ImageSize | None = None


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is Scalabel JSON: frames with `box2d`, `poly2d` or `rle` of a category."""
    for head in probe.documents.values():
        kind = next((key for key in ("box2d", "poly2d") if f'"{key}"' in head), None)
        if kind and has_keys(head, "category") and ('"labels"' in head or '"objects"' in head):
            return f"JSON with labels of {kind} and category, as BDD100K and Scalabel write it"
        if has_keys(head, "name", "labels", "index", "score") and '"category"' not in head:
            return "JSON with the scores of mask images, as BDD100K writes it"
    return None


def read(path: Path, options: Options) -> Annotations:
    """Read the objects of all frames; they are predictions if all of them have a score."""
    files, why = files_of(path, options)
    rows = Rows(path, options)
    found = []
    for file in files:
        for where, one in records_in(file, Frames):
            listed = one.frames if one.frames is not None else [Frame(one.name, one.labels, size=one.size)]
            for i, frame in enumerate(listed):
                place = f"{where}.frames[{i}]" if one.frames is not None else where
                name = frame.name or one.name or file.stem
                size = frame.size or ImageSize(0, 0)
                rows.add_image(place, name, size.width, size.height)
                objects = frame.labels or frame.objects or []
                found += [(f"{place}.labels[{k}]", name, label) for k, label in enumerate(objects)]
    is_pred = note_if_unscored(rows, [label.score for _, _, label in found])
    categories = {label.category for _, _, label in found if label.category is not None}
    is_bdd100k = all(name in BDD100K or name.startswith("lane/") for name in categories)
    distractors = DISTRACTORS if is_bdd100k and not is_pred else frozenset()
    for where, name, label in found:
        with rows.errors:
            add_label(rows, where, name, label, label.score if is_pred else None, distractors)
    if rows.flags["ignore_region"]:
        names = " and ".join(sorted(categories & distractors))
        rows.notes.append(f"objects of {names} are ignored for predictions of any class, as by BDD100K's evaluation")
    return rows.annotations("scalabel", layout="xyxy", why=why)


def add_label(
    rows: Rows,
    where: str,
    image: str,
    label: ScalabelObject,
    confidence: float | None,
    distractors: frozenset[str],
) -> None:
    """Add one label: its box, or its outline with the box around it; `distractors` are classes of ignore regions."""
    if label.category is None:
        remedy = "the masks are in PNGs; convert both to RLE with `python -m bdd100k.label.to_rle`"
        raise ReadError(where, expected="a category", found="an index and a score only", remedy=remedy)
    flags = [flag for flag in FLAGS if (label.attributes or {}).get(flag) is True]
    flags += ["ignore", "ignore_region"] if label.category in distractors else []
    add = rows.add
    areas = [polygon for polygon in label.polygons or [] if len(polygon.vertices) > 2]
    if label.rle is not None:
        height, width = label.rle.size
        check_mask_size(where, height, width)
        runs = parse_runs(where, label.rle.counts, height, width)
        left, top, across, down = bounds_of_runs(runs, height)
        box = (left, top, left + across, top + down)
        add(where, image, label.category, box, confidence, runs=(runs, (height, width)), flags=flags)
    elif label.box is not None:
        corners = label.box
        box = (corners.x1, corners.y1, corners.x2 + 1, corners.y2 + 1)
        add(where, image, label.category, box, confidence, flags=flags)
    elif areas and not label.category.startswith("lane"):
        rings = [ring_of(f"{where}.poly2d[{i}]", polygon) for i, polygon in enumerate(areas)]
        around = bounds_of_rings(rings)
        add(where, image, label.category, around, confidence, polygon=rings, flags=flags)
    else:
        rows.remark("labels without a box or an area left out", where)


def ring_of(where: str, polygon: Poly2D) -> list[float]:
    """Return a polygon as x, y, x, y …; two control points and a corner are a cubic Bézier curve."""
    points: list[tuple[float, float]] = []
    curve: list[tuple[float, float]] = []
    for i, vertex in enumerate(polygon.vertices):
        if polygon.types[i : i + 1] != "C" or not points:
            points += [*curve, vertex]
            curve = []
            continue
        curve.append(vertex)
        if len(curve) == 3:
            start, (first, second, end) = points[-1], curve
            for step in range(1, STEPS + 1):
                t = step / STEPS
                weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
                four = (start, first, second, end)
                x, y = (sum(w * p[side] for w, p in zip(weights, four, strict=True)) for side in (0, 1))
                points.append((x, y))
            curve = []
    return list(check_ring(where, [value for point in [*points, *curve] for value in point]))


FORMAT = Format(
    name="scalabel",
    title="Scalabel (BDD100K) JSON",
    about="BDD100K's frames: boxes, polygons, RLE; with scores, predictions",
    recognise=recognise,
    read=read,
    options=FRAMES | {"split"},
    suffixes=(".json",),
)
