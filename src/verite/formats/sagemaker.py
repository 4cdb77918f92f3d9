"""Manifests of SageMaker Ground Truth: one JSON line per image, boxes by class number, names in the metadata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from verite.errors import ReadError
from verite.files import JsonObject
from verite.formats.exports import Sides, file_name, records_in
from verite.formats.format import Format, Options, PathProbe
from verite.formats.rows import Rows
from verite.model.annotations import Annotations


class ManifestBox(Sides):
    """A box and the number of its class."""

    class_id: int


class ManifestSize(msgspec.Struct):
    """Size of the image in pixels."""

    width: int
    height: int


class Boxes(msgspec.Struct):
    """The label attribute of an object detection job."""

    annotations: list[ManifestBox]
    image_size: list[ManifestSize] = []


class Metadata(msgspec.Struct, rename={"names": "class-map"}):
    """Metadata of a labelling job."""

    names: dict[str, str] = {}
    type: str = ""


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is a manifest: JSON lines with `source-ref`."""
    files = [p for p in probe.files if p.suffix.lower() != ".txt"]
    if len(files) != 1:
        return None
    head = PathProbe(files[0]).head.lstrip()
    return "JSON lines with source-ref" if head.startswith("{") and '"source-ref"' in head.split("\n")[0] else None


def read(path: Path, options: Options) -> Annotations:
    """Read the boxes of all images. A job's class names are those of its `class-map`."""
    file = path if not path.is_dir() else next(p for p in PathProbe(path).files if p.suffix.lower() != ".txt")
    rows = Rows(path, options)
    attribute = ""
    for where, line in records_in(file, dict[str, Any]):
        with rows.errors:
            name = file_name(str(line.get("source-ref", "")))
            attribute = attribute or find_attribute(where, line)
            if attribute not in line:
                rows.remark("images without labels of the job left out", where)
                continue
            boxes = convert(f"{where}.{attribute}", line[attribute], Boxes)
            metadata = convert(f"{where}.{attribute}-metadata", line.get(f"{attribute}-metadata", {}), Metadata)
            size = boxes.image_size[0] if boxes.image_size else ManifestSize(0, 0)
            rows.add_image(where, name, size.width, size.height)
            for i, box in enumerate(boxes.annotations):
                label = metadata.names.get(str(box.class_id), str(box.class_id))
                rows.add(f"{where}.{attribute}.annotations[{i}]", name, label, box.corners)
    return rows.annotations("sagemaker", layout="xyxy", why=f"the labels {attribute!r}")


def find_attribute(where: str, line: JsonObject) -> str:
    """Return the name of the label attribute with boxes; a job of another kind is refused by its type."""
    for key, value in line.items():
        if isinstance(value, dict) and isinstance(value.get("annotations"), list):
            return key
    kinds = [value.get("type") for key, value in line.items() if key.endswith("-metadata") and isinstance(value, dict)]
    kind = next((str(kind) for kind in kinds if kind), "")
    raise ReadError(
        where,
        expected="the boxes of a job of type groundtruth/object-detection",
        found=f"a job of type {kind}" if kind else "images without labels, as in the input of a job",
        remedy="name the output manifest of an object detection job",
    )


def convert(where: str, value: Any, kind: type[Any]) -> Any:
    """Return a value as a structure, or raise `ReadError`.

    Parameters
    ----------
    where
        The record, for messages.
    value
        Plain values, as JSON has them.
    kind
        The msgspec structure.
    """
    from verite.formats.json_documents import explain_misfit

    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise explain_misfit(where, error) from None


FORMAT = Format(
    name="sagemaker",
    title="SageMaker Ground Truth manifest",
    about="JSON lines with `source-ref` and the boxes of an object detection job",
    recognise=recognise,
    read=read,
    suffixes=(".manifest", ".jsonl"),
    sides=("truth",),
)
