"""What is the truth about the pictures, and how is it written down?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from demo import outlines
from demo.scenes import Picture, Thing

LABELS = {
    "bird": 3,
    "boat": 5,
    "car": 8,
    "dog": 11,
    "house": 12,
    "kite": 20,
    "person": 21,
    "tree": 34,
}  # with gaps, as ids have


@dataclass(frozen=True)
class Object:
    """A thing as an annotator marks it: the pixels that show it."""

    id: int
    label: str
    mask: np.ndarray
    segmentation: Any
    area: int
    inside: float  # share of it that lies inside the picture
    seen: float  # share of that which nothing hides
    is_crowd: bool

    @property
    def box(self) -> tuple[int, int, int, int]:
        return outlines.bounds(self.mask)

    @property
    def is_truncated(self) -> bool:
        return self.inside < 0.95

    @property
    def is_occluded(self) -> bool:
        return self.seen < 0.85

    @property
    def is_difficult(self) -> bool:
        """Tiny, mostly hidden, or a crowd: Pascal VOC would not ask for it."""
        return self.is_crowd or self.area < 36 or self.inside * self.seen < 0.45


def objects(picture: Picture) -> list[Object]:
    """Everything in a picture that has a label."""
    return [mark(picture, owner, thing) for owner, thing in picture.shown.items() if not thing.is_odd]


def mark(picture: Picture, owner: int, thing: Thing) -> Object:
    mask = outlines.without_specks(picture.canvas.visible(owner))
    is_crowd = thing.count > 1
    found = None if is_crowd else outlines.polygon(mask)
    if found is not None:
        area = int(outlines.rasterise(found, mask.shape).sum())
    else:
        area = int(mask.sum())
        counts = outlines.runs(mask) if is_crowd else outlines.compressed(mask)
        found = {"size": list(mask.shape), "counts": counts}
    inside, seen = picture.canvas.shares(owner)
    id = 100 * picture.id + 7 * owner + picture.id % 7
    return Object(id, thing.kind, mask, found, area, inside, seen, is_crowd)


def write_coco(path: Path, found: dict[Picture, list[Object]]) -> None:
    """COCO JSON, one record a line."""
    images = [{"id": p.id, "file_name": p.name, "width": p.canvas.width, "height": p.canvas.height} for p in found]
    annotations = [
        {
            "id": o.id,
            "image_id": picture.id,
            "category_id": LABELS[o.label],
            "bbox": list(o.box),
            "area": o.area,
            "iscrowd": int(o.is_crowd),
            "segmentation": o.segmentation,
        }
        for picture, marked in found.items()
        for o in marked
    ]
    categories = [{"id": id, "name": name} for name, id in LABELS.items()]
    parts = {"images": images, "annotations": annotations, "categories": categories}
    text = ",\n".join(f'"{name}": {one_a_line(rows)}' for name, rows in parts.items())
    path.write_text("{\n" + text + "\n}\n", encoding="utf-8")


def one_a_line(records: list[dict[str, Any]]) -> str:
    """A JSON array that a person can read and a diff can show."""
    return "[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in records) + "\n]"


def write_voc(folder: Path, found: dict[Picture, list[Object]]) -> None:
    """Pascal VOC XML, one file a picture.

    A corner is the 1-based index of a pixel that still belongs to the object: xmin = x + 1, xmax = x + width. Crowds,
    which VOC does not know, are difficult.
    """
    for picture, marked in found.items():
        text = "".join(object_xml(o) for o in marked)
        (folder / f"{Path(picture.name).stem}.xml").write_text(
            PICTURE_XML.format(p=picture, objects=text), encoding="utf-8"
        )


def object_xml(o: Object) -> str:
    x, y, width, height = o.box
    return OBJECT_XML.format(
        label=o.label, truncated=int(o.is_truncated), occluded=int(o.is_occluded), difficult=int(o.is_difficult),
        xmin=x + 1, ymin=y + 1, xmax=x + width, ymax=y + height,
    )  # fmt: skip


PICTURE_XML = """<annotation>
  <folder>images</folder>
  <filename>{p.name}</filename>
  <source><database>verite demo</database></source>
  <size>
    <width>{p.canvas.width}</width>
    <height>{p.canvas.height}</height>
    <depth>3</depth>
  </size>
  <segmented>0</segmented>
{objects}</annotation>
"""
OBJECT_XML = """  <object>
    <name>{label}</name>
    <pose>Unspecified</pose>
    <truncated>{truncated}</truncated>
    <occluded>{occluded}</occluded>
    <difficult>{difficult}</difficult>
    <bndbox>
      <xmin>{xmin}</xmin>
      <ymin>{ymin}</ymin>
      <xmax>{xmax}</xmax>
      <ymax>{ymax}</ymax>
    </bndbox>
  </object>
"""
