"""V7 Darwin JSON, versions 1 and 2: one file per image, with boxes, polygons, ellipses and raster masks."""

from __future__ import annotations

from pathlib import Path

import msgspec

from verite.arrays import np
from verite.errors import ReadError, excerpt
from verite.formats.exports import Point, ellipse_ring, files_of, has_keys, note_if_unscored, ring_of
from verite.formats.format import FRAMES, Format, Options, PathProbe
from verite.formats.json_documents import decode
from verite.formats.label_images import split
from verite.formats.polygons import bounds_of_rings, bounds_of_runs, check_mask_size
from verite.formats.rows import Rows
from verite.model.annotations import Annotations


class DarwinBox(msgspec.Struct):
    """A box as its top left corner and its size."""

    x: float
    y: float
    w: float
    h: float


class DarwinPolygon(msgspec.Struct):
    """Rings of corners: `paths` in version 2; `path` and `additional_paths` in version 1."""

    paths: list[list[Point]] | None = None
    path: list[Point | list[Point]] | None = None
    additional_paths: list[list[Point]] = []

    @property
    def rings(self) -> list[list[Point]]:
        """All rings of the polygon."""
        if self.paths is not None:
            return self.paths
        given = self.path or []
        corners = [point for point in given if isinstance(point, Point)]
        rings = [ring for ring in given if isinstance(ring, list)]
        return [*([corners] if corners else []), *rings, *self.additional_paths]


class Ellipse(msgspec.Struct):
    """An ellipse by its centre, half axes and angle in radians."""

    center: Point
    radius: Point
    angle: float = 0.0


class RasterLayer(msgspec.Struct):
    """All masks of an image: pairs of value and run length, row by row, and the value of each annotation."""

    dense_rle: list[int]
    mask_annotation_ids_mapping: dict[str, int]


class Inference(msgspec.Struct):
    """Model output attached to an annotation."""

    confidence: float | None = None


class DarwinObject(msgspec.Struct):
    """One annotation; the shape that is present determines its kind."""

    name: str = ""
    id: str = ""
    bounding_box: DarwinBox | None = None
    polygon: DarwinPolygon | None = None
    complex_polygon: DarwinPolygon | None = None
    ellipse: Ellipse | None = None
    mask: dict[str, object] | None = None
    raster_layer: RasterLayer | None = None
    frames: dict[str, object] | None = None
    inference: Inference | None = None


class Slot(msgspec.Struct):
    """An image file of an item."""

    type: str = "image"
    width: int | None = None
    height: int | None = None


class DarwinItem(msgspec.Struct):
    """The image in version 2."""

    name: str = ""
    slots: list[Slot] = []


class DarwinImage(msgspec.Struct):
    """The image in version 1."""

    filename: str = ""
    original_filename: str = ""
    width: int | None = None
    height: int | None = None


class DarwinDocument(msgspec.Struct):
    """One file: an image and its annotations."""

    annotations: list[DarwinObject]
    item: DarwinItem | None = None
    image: DarwinImage | None = None


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is Darwin JSON: an item with slots, or the address of V7's schema."""
    for head in probe.documents.values():
        if has_keys(head, "annotations") and ("darwin" in head[:400] or has_keys(head, "item", "slots")):
            return "JSON of an item and its annotations, as V7 Darwin exports it"
        if has_keys(head, "image", "annotations", "original_filename"):
            return "JSON of an image and its annotations, as V7 Darwin 1 exports it"
    return None


def read(path: Path, options: Options) -> Annotations:
    """Read one file per image; they are predictions if all annotations have an inference confidence."""
    files, why = files_of(path, options)
    rows = Rows(path, options)
    found = []
    for file in files:
        document = decode(file, DarwinDocument)
        if document.item is not None:  # of version 2: in the first slot
            slot = document.item.slots[0] if document.item.slots else Slot()
            size, name = (slot.width or 0, slot.height or 0), document.item.name or file.stem
        else:
            image = document.image or DarwinImage()
            size = image.width or 0, image.height or 0
            name = image.original_filename or image.filename or file.stem
        rows.add_image(file, name, *size)
        found += [(file, i, name, size, one, document) for i, one in enumerate(document.annotations)]
    drawn = [one for *_, one, _ in found if one.raster_layer is None]
    is_pred = note_if_unscored(rows, [one.inference and one.inference.confidence for one in drawn])
    for file, i, name, size, one, document in found:
        where = f"{file}: annotations[{i}]"
        with rows.errors:
            if one.frames is not None:
                raise ReadError(
                    where,
                    expected="annotations of single images",
                    found="frames of a video or slices of a volume",
                    remedy="read NIfTI exports with verite localize, or split the video into images in V7",
                )
            confidence = one.inference.confidence if is_pred and one.inference else None
            add_object(rows, where, name, size, one, document, confidence)
    return rows.annotations("darwin", layout="xyxy", why=why)


def add_object(
    rows: Rows,
    where: str,
    image: str,
    size: tuple[int, int],
    one: DarwinObject,
    document: DarwinDocument,
    confidence: float | None,
) -> None:
    """Add one annotation: a polygon with its own box, a box, an ellipse, or a mask out of the raster layer."""
    polygon = one.polygon or one.complex_polygon
    if polygon is not None:
        rings = [ring_of(where, ring) for ring in polygon.rings]
        if not rings:
            raise ReadError(f"{where}.polygon", expected="rings of corners in paths or path", found="none")
        box = one.bounding_box
        around = (box.x, box.y, box.x + box.w, box.y + box.h) if box is not None else bounds_of_rings(rings)
        rows.add(where, image, one.name, around, confidence, polygon=rings)
    elif one.ellipse is not None:
        centre, axes = one.ellipse.center, one.ellipse.radius
        ring = ellipse_ring(where, centre.x, centre.y, (axes.x, axes.y), one.ellipse.angle)
        rows.add(where, image, one.name, bounds_of_rings([ring]), confidence, polygon=[ring])
    elif one.bounding_box is not None:
        box = one.bounding_box
        rows.add(where, image, one.name, (box.x, box.y, box.x + box.w, box.y + box.h), confidence)
    elif one.mask is not None:
        layers = [a.raster_layer for a in document.annotations if a.raster_layer is not None]
        layer = next((layer for layer in layers if one.id in layer.mask_annotation_ids_mapping), None)
        if layer is None:
            raise ReadError(where, expected="a raster layer with this mask", found=f"none with {excerpt(one.id)}")
        width, height = size
        runs = runs_in_layer(where, layer, layer.mask_annotation_ids_mapping[one.id], height, width)
        left, top, across, down = bounds_of_runs(runs, height)
        box_of_mask = (left, top, left + across, top + down)
        rows.add(where, image, one.name, box_of_mask, confidence, runs=(runs, (height, width)))
    elif one.raster_layer is None:
        rows.remark("annotations without a box or an area left out", where)


def runs_in_layer(where: str, layer: RasterLayer, value: int, height: int, width: int) -> np.ndarray:
    """Return the run lengths, column by column, of the pixels of one value in a raster layer."""
    check_mask_size(where, height, width)
    values, lengths = layer.dense_rle[0::2], layer.dense_rle[1::2]
    total = sum(lengths)
    if len(values) != len(lengths) or total != height * width or min(lengths, default=0) < 0:
        expected = f"pairs of value and length for {height} x {width} = {height * width} pixels (V405)"
        raise ReadError(where, expected=expected, found=f"{total} pixels in {len(layer.dense_rle)} numbers")
    pixels = np.repeat(np.array(values) == value, lengths).reshape(height, width)
    segments = split(pixels.astype(np.uint8))
    if 1 not in segments.values:
        raise ReadError(where, expected=f"pixels of value {value} in the raster layer", found="none")
    return segments.take(segments.values == 1).counts


FORMAT = Format(
    name="darwin",
    title="V7 Darwin JSON",
    about="one JSON file per image: boxes, polygons, ellipses, raster masks",
    recognise=recognise,
    read=read,
    options=FRAMES | {"split"},
    suffixes=(".json",),
)
