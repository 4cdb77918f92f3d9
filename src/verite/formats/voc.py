"""Pascal VOC XML: one file per image, corners as 1-based pixel indices, both included.

The numbers are kept as they stand; the protocol that counts pixels adds its own +1.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import escape

from verite.errors import ReadError
from verite.files import folder_atomically
from verite.formats.facts import flags_by_row
from verite.formats.format import Format, Look, Options, file_stems
from verite.formats.markup import Element, check_writable, parse, to_whole
from verite.formats.rows import Rows
from verite.formats.sizes import need_pixels
from verite.model.annotations import Annotations
from verite.progress import count_files

VOC_FLAGS = ("truncated", "difficult", "occluded")


def recognise(look: Look) -> str | None:
    files = look.with_suffix(".xml")
    if files and re.search(r"<annotation[\s>]", Look(files[0]).head):
        return "XML files with <annotation>" if look.is_folder else "an XML file with <annotation>"
    return None


def read(path: Path, options: Options) -> Annotations:
    rows = Rows(path, options)
    files = Look(path).with_suffix(".xml")
    if not files:
        raise ReadError(path, expected="files ending in .xml", found="none")
    for file in count_files("reading", files):
        with rows.tolerance:
            add_file(rows, file)
    return rows.annotations("voc", layout="xyxy")


def add_file(rows: Rows, file: Path) -> None:
    """The objects of one image."""
    root = parse(file)
    if root.tag != "annotation":
        raise ReadError(root.where, expected="<annotation>", found=f"<{root.tag}>")
    name = root.word("filename") or file.stem
    rows.add_image(root.where, name, *size_of(root))
    for item in root.all("object"):
        with rows.tolerance:
            add_object(rows, name, item)


def size_of(root: Element) -> tuple[int, int]:
    size = root.find("size")
    if size is None:
        return 0, 0
    width, height = (size.number(side) for side in ("width", "height"))
    return (
        to_whole(width, "whole pixels in <width>", size.where),
        to_whole(height, "whole pixels in <height>", size.where),
    )


def add_object(rows: Rows, image: str, item: Element) -> None:
    corners = item.need("bndbox")
    box = [corners.number(side) for side in ("xmin", "ymin", "xmax", "ymax")]
    confidence = item.number("confidence") if item.find("confidence") is not None else None
    flags = [flag for flag in VOC_FLAGS if item.word(flag).lower() in ("1", "true")]
    rows.add(item.where, image, item.need("name").text.strip(), box, confidence, flags=flags)


def write(annotations: Annotations, path: Path) -> None:
    need_pixels(annotations, path)
    # VOC has one word for what neither rewards nor punishes; crowds and groups keep that, though not their name.
    annotations = replace(annotations, flags={**annotations.flags, "difficult": annotations.ignored})
    check_writable(path, "class names", annotations.labels.all_names)
    check_writable(path, "image names", annotations.images.names or ())
    stems = file_stems(annotations.images, path)
    objects: list[list[str]] = [[] for _ in stems]
    corners, flags = annotations.regions.boxes.tolist(), flags_by_row(annotations)
    for row, image in enumerate(annotations.image):
        objects[image].append(object_text(annotations, row, corners[row], flags[row]))
    with folder_atomically(path) as folder:
        for i, name in count_files("writing", list(enumerate(stems))):
            text = image_text(annotations, i) + "".join(objects[i]) + "</annotation>\n"
            (folder / f"{name}.xml").write_text(text, encoding="utf-8")


def image_text(annotations: Annotations, i: int) -> str:
    images = annotations.images
    lines = ["<annotation>", f"  <filename>{escape(images.name(i))}</filename>"]
    if images.widths[i]:
        lines += ["  <size>", f"    <width>{images.widths[i]}</width>", f"    <height>{images.heights[i]}</height>"]
        lines += ["    <depth>3</depth>", "  </size>"]
    return "\n".join(lines) + "\n"


def object_text(annotations: Annotations, row: int, box: list[float], flags: list[str]) -> str:
    lines = ["  <object>", f"    <name>{escape(annotations.labels.name(annotations.label[row]))}</name>"]
    lines += [f"    <{flag}>{int(flag in flags)}</{flag}>" for flag in VOC_FLAGS]
    if annotations.confidence is not None:
        lines.append(f"    <confidence>{float(annotations.confidence[row])!r}</confidence>")
    sides = zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True)
    lines += [
        "    <bndbox>",
        *(f"      <{side}>{print_number(value)}</{side}>" for side, value in sides),
        "    </bndbox>",
    ]
    return "\n".join([*lines, "  </object>"]) + "\n"


def print_number(value: float) -> str:
    """A number as VOC prints it: whole where it is whole, exact where it is not."""
    return str(int(value)) if value.is_integer() else repr(value)


HOLDS = frozenset(
    {
        "box apart from its mask",
        "box apart from its polygon",
        "class name",
        "confidence",
        "empty image",
        "image folder or suffix",
        "image name",
        "image size",
        *VOC_FLAGS,
    }
)
FORMAT = Format(
    name="voc",
    title="Pascal VOC XML",
    about="one XML file per image; difficult, truncated, occluded",
    recognise=recognise,
    read=read,
    write=write,
    holds=HOLDS,
)
