"""CreateML JSON: a list of images with boxes by their centres in pixels, as Apple's Create ML and Roboflow write it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from verite.errors import ReadError
from verite.formats.exports import has_keys, records_in
from verite.formats.format import FRAMES, Format, Options, PathProbe
from verite.formats.rows import Rows
from verite.formats.shards import choose_split
from verite.model.annotations import Annotations


class Coordinates(msgspec.Struct):
    """The centre of a box and its size, in pixels."""

    x: float
    y: float
    width: float
    height: float


class CreateMLBox(msgspec.Struct):
    """A labelled box; `confidence` is that of a prediction."""

    label: str
    coordinates: Coordinates
    confidence: float | None = None


class CreateMLImage(msgspec.Struct):
    """An image and its boxes. Older versions write `imagefilename` and `annotation`."""

    image: str = ""
    imagefilename: str = ""
    annotations: list[CreateMLBox] = []
    annotation: list[CreateMLBox] = []


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is CreateML JSON: boxes with label and coordinates."""
    if not any(has_keys(head, "coordinates", "label") and '"image' in head for head in probe.documents.values()):
        return None
    return "a JSON list of images with labels and coordinates" if not probe.is_folder else "a folder with CreateML JSON"


def read(path: Path, options: Options) -> Annotations:
    """Read the boxes of all images; of a folder with splits, those of the one that `split` names."""
    file, why = path, ""
    if path.is_dir():
        found = {(p.parent.name if p.parent != path else ""): p for p in PathProbe(path).with_suffix(".json")}
        name, file = choose_split(path, found, options, expected="a CreateML file")
        why = f"the split {name}" if name else ""
    rows = Rows(file, replace(options, split=None))
    for where, image in records_in(file, CreateMLImage):
        with rows.errors:
            name = image.image or image.imagefilename
            if not name:
                raise ReadError(where, expected="a key 'image'", found="none")
            rows.add_image(where, name)
            for i, box in enumerate(image.annotations or image.annotation):
                centre = box.coordinates
                numbers = (centre.x, centre.y, centre.width, centre.height)
                rows.add(f"{where}.annotations[{i}]", name, box.label, numbers, box.confidence)
    return rows.annotations("createml", layout="cxcywh", why=why)


FORMAT = Format(
    name="createml",
    title="CreateML JSON",
    about="a list of images, boxes as centre and size in pixels; `split` chooses one of several files",
    recognise=recognise,
    read=read,
    options=FRAMES | {"split"},
    suffixes=(".json",),
)
