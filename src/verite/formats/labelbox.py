"""Labelbox: exports of version 1 (JSON), of version 2 (NDJSON), and its import format for annotations and predictions.

Boxes and polygons are read; masks are addresses on Labelbox's server, and are skipped and counted.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from verite.errors import ReadError
from verite.formats.exports import Point, Sides, file_name, has_keys, note_if_unscored, records_in
from verite.formats.exports import ring_of as corners_of
from verite.formats.format import Format, Options, PathProbe
from verite.formats.polygons import bounds_of_rings
from verite.formats.rows import Rows
from verite.model.annotations import Annotations

NO_NAME = "schema ids taken as class names, as the file has no others"


class LabelboxObject(msgspec.Struct, rename={"schema": "schemaId"}):
    """One object of any of the three formats: `title` and `bbox` (1), `name` and `bounding_box` (2)."""

    title: str = ""
    name: str = ""
    value: str | None = None
    schema: str = ""
    bbox: Sides | None = None
    bounding_box: Sides | None = None
    polygon: list[Point] | None = None
    page: int | None = None
    confidence: float | None = None

    @property
    def label(self) -> str:
        """Name of the class; the id of the schema where a file has no names."""
        return self.title or self.name or self.value or self.schema


class Label(msgspec.Struct):
    """The objects of a label in an export of version 1."""

    objects: list[LabelboxObject] = []


class MediaSize(msgspec.Struct, frozen=True):
    """Size of an image in pixels, where the export states it."""

    width: int | None = None
    height: int | None = None


class ExportOne(
    msgspec.Struct,
    rename={"label": "Label", "external": "External ID", "url": "Labeled Data", "row": "DataRow ID",
            "media": "Media Attributes"},
):  # fmt: skip
    """One image of an export of version 1."""

    label: Label | str | list[object]
    external: str | None = None
    url: str = ""
    row: str = ""
    media: MediaSize = MediaSize()


class DataRow(msgspec.Struct):
    """The image of an export of version 2."""

    id: str = ""
    external_id: str | None = None
    row_data: str = ""


class LabelObjects(msgspec.Struct, frozen=True):
    """The objects of one label of version 2."""

    objects: tuple[LabelboxObject, ...] = ()


class ProjectLabel(msgspec.Struct):
    """The annotations of one annotator."""

    annotations: LabelObjects = LabelObjects()


class LabelboxProject(msgspec.Struct):
    """The labels of one project."""

    labels: list[ProjectLabel] = []


class ExportTwo(msgspec.Struct):
    """One image of an export of version 2."""

    data_row: DataRow
    media_attributes: MediaSize = MediaSize()
    projects: dict[str, LabelboxProject] = {}


class ImportRow(msgspec.Struct, frozen=True, rename={"key": "globalKey"}):
    """The image of an imported object."""

    id: str = ""
    key: str = ""


class Imported(LabelboxObject, rename={"schema": "schemaId", "row": "dataRow"}):
    """One object of the import format."""

    row: ImportRow = ImportRow()


Found = tuple[str, str, LabelboxObject]


def kind_of(head: str) -> str:
    """Return which of Labelbox's formats a text is: `1`, `2`, `import`, or "" if none."""
    if has_keys(head, "DataRow ID", "Label") or has_keys(head, "Labeled Data", "Label"):
        return "1"
    if has_keys(head, "data_row", "projects"):
        return "2"
    is_import = has_keys(head, "dataRow", "uuid") or (has_keys(head, "dataRow") and '"bbox"' in head)
    return "import" if is_import else ""


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is of Labelbox: the names of its keys."""
    if probe.is_folder:
        return None
    kind = next((kind_of(head) for head in probe.documents.values()), "")
    names = {"1": "an export with Label and DataRow ID", "2": "an export with data_row and projects"}
    return names.get(kind, "annotations with dataRow and uuid") if kind else None


def read(path: Path, options: Options) -> Annotations:
    """Read boxes and polygons; an import whose objects all have confidences is predictions."""
    kind = kind_of(PathProbe(path).head.lstrip())
    rows = Rows(path, options)
    found = list({"1": read_one, "2": read_two, "import": read_imported}[kind](path, rows))
    is_pred = note_if_unscored(rows, [one.confidence for _, _, one in found])
    for where, image, one in found:
        with rows.errors:
            confidence = one.confidence if is_pred else None
            box = one.bbox or one.bounding_box
            if one.page is not None:
                raise ReadError(where, expected="an object of an image", found=f"one of page {one.page} of a PDF",
                                remedy="export the pages as images")  # fmt: skip
            if one.label == one.schema and (box or one.polygon):
                rows.remark(NO_NAME)
            if box is not None:
                rows.add(where, image, one.label, box.corners, confidence)
            elif one.polygon:
                ring = corners_of(where, one.polygon)
                rows.add(where, image, one.label, bounds_of_rings([ring]), confidence, polygon=[ring])
            else:
                rows.remark("objects without a box or a polygon left out", where)
    if not rows.boxes and found:
        raise ReadError(
            path,
            expected="boxes or polygons of images",
            found="objects of other kinds: texts, lines, masks, classifications or videos",
            remedy="export image bounding boxes or polygons",
        )
    return rows.annotations("labelbox", layout="xyxy")


def read_one(path: Path, rows: Rows) -> list[Found]:
    """Return the objects of an export of version 1."""
    found: list[Found] = []
    for where, record in records_in(path, ExportOne):
        name = record.external or file_name(record.url.splitlines()[0] if record.url else "") or record.row
        if "tileLayerUrl" in record.url:
            raise ReadError(where, expected="an image", found="a tiled map, whose outlines are in degrees",
                            remedy="export it as GeoJSON, and rasterise it")  # fmt: skip
        rows.add_image(where, name, record.media.width or 0, record.media.height or 0)
        if isinstance(record.label, list) or (isinstance(record.label, str) and record.label.startswith("http")):
            raise ReadError(f"{where}.Label", expected="the objects of an image", found="the frames of a video",
                            remedy="split the video into images before labelling")  # fmt: skip
        objects = record.label.objects if isinstance(record.label, Label) else []
        found += [(f"{where}.Label.objects[{i}]", name, one) for i, one in enumerate(objects)]
    return found


def read_two(path: Path, rows: Rows) -> list[Found]:
    """Return the objects of an export of version 2; of several labels of an image, those of the first."""
    found: list[Found] = []
    for where, record in records_in(path, ExportTwo):
        name = record.data_row.external_id or file_name(record.data_row.row_data) or record.data_row.id
        rows.add_image(where, name, record.media_attributes.width or 0, record.media_attributes.height or 0)
        labels = [label for project in record.projects.values() for label in project.labels]
        rows.remark("further labels of an image left out", where, max(0, len(labels) - 1))
        for label in labels[:1]:
            found += [(f"{where}.objects[{i}]", name, one) for i, one in enumerate(label.annotations.objects)]
    return found


def read_imported(path: Path, rows: Rows) -> list[Found]:
    """Return the objects of an import.

    Parameters
    ----------
    path
        A file in the layout in which predictions are imported.
    rows
        Collects images and objects.

    Returns
    -------
    list[Found]
        Place, image and record of each object.
    """
    found: list[Found] = []
    for where, one in records_in(path, Imported):
        name = one.row.key or one.row.id
        rows.remember_image(where, name)
        found.append((where, name, one))
    return found


FORMAT = Format(
    name="labelbox",
    title="Labelbox JSON",
    about="exports of version 1 and 2, and annotations to import: boxes and polygons",
    recognise=recognise,
    read=read,
    suffixes=(".json", ".ndjson"),
)
