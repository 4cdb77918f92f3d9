"""XML of the LabelMe of 2005 (MIT), which CVAT still exports as "LabelMe 3.0": one file per image, polygons.

Deleted objects are skipped. An object of type `bounding_box` is a box; masks (`segm`) are PNGs elsewhere and counted.
"""

from __future__ import annotations

from pathlib import Path

from verite.errors import ReadError
from verite.formats.exports import files_of
from verite.formats.format import FRAMES, Format, Options, PathProbe
from verite.formats.polygons import bounds_of_rings, check_ring
from verite.formats.rows import Rows
from verite.formats.xml import Element, parse
from verite.model.annotations import Annotations


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is LabelMe XML: objects with `<polygon><pt>` or `<deleted>`."""
    files = probe.with_suffix(".xml")
    head = PathProbe(files[0]).head if files else ""
    if "<annotation" not in head or "<object>" not in head.replace("<object ", "<object>"):
        return None
    is_old = "<deleted>" in head or ("<polygon>" in head and "<pt>" in head)
    return "XML with polygons of <pt>, as the LabelMe of MIT writes it" if is_old else None


def read(path: Path, options: Options) -> Annotations:
    """Read one file per image."""
    files, why = files_of(path, options, ".xml")
    rows = Rows(path, options)
    for file in files:
        with rows.errors:
            root = parse(file)
            name = root.word("filename") or file.stem
            size = root.find("imagesize")
            sides = (int(size.number("ncols")), int(size.number("nrows"))) if size is not None else (0, 0)
            rows.add_image(file, name, *sides)
            for one in root.all("object"):
                with rows.errors:
                    add_object(rows, name, one)
    return rows.annotations("labelme-xml", layout="xyxy", why=why)


def add_object(rows: Rows, image: str, one: Element) -> None:
    """Add one object that is not deleted."""
    if one.word("deleted") == "1":
        rows.remark("deleted objects left out", one.where)
        return
    outline = one.find("polygon")
    if outline is None:
        rows.remark("objects without a polygon left out", one.where)
        return
    if not one.word("name"):
        raise ReadError(one.where, expected="a name of the object", found="none")
    points = [(pt.number("x"), pt.number("y")) for pt in outline.all("pt")]
    flags = ["occluded"] if one.word("occluded") == "yes" else []
    if one.word("type") == "bounding_box" and len(points) in (2, 4):
        box = [*(min(side) for side in zip(*points, strict=True)), *(max(side) for side in zip(*points, strict=True))]
        rows.add(one.where, image, one.word("name"), box, flags=flags)
        return
    ring = list(check_ring(one.where, [value for point in points for value in point]))
    rows.add(one.where, image, one.word("name"), bounds_of_rings([ring]), polygon=[ring], flags=flags)


FORMAT = Format(
    name="labelme-xml",
    title="LabelMe XML",
    about="the XML of MIT's LabelMe, and of CVAT's export of that name: polygons and boxes",
    recognise=recognise,
    read=read,
    options=FRAMES | {"split"},
    sides=("truth",),
)
