"""Objects by image: a JSON object with an entry per image, and lists of images with their boxes in one line.

- `{"a.jpg": {"boxes": [[x1, y1, x2, y2], …], "labels": […], "scores": […]}}`, as training scripts dump predictions;
- `[{"image_id": 1, "boxes": …, "labels": …, "scores": …}, …]`, the same as a list (torchvision's dictionaries);
- `{"000001": [{"name": "dog", "bbox": [x1, y1, x2, y2], "difficult": 0}, …]}`, the annotation cache of
  py-faster-rcnn and its descendants (`annots.pkl` as JSON);
- `a.jpg x1,y1,x2,y2,class x1,y1,x2,y2,class …`, a line per image (keras-yolo3 and its descendants), or
  `a.jpg,x1,y1,x2,y2,class`, a line per object without a header (keras-retinanet); an image alone has no objects.

All boxes are corners in pixels unless the option `boxes` says otherwise. Classes are names, or numbers that the option
`names` or the ground truth names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from verite.errors import ReadError, excerpt
from verite.files import read_lines
from verite.formats.format import FRAMES, Format, Options, PathProbe, class_names
from verite.formats.json_documents import decode
from verite.formats.rows import Rows
from verite.formats.text_lines import is_number, to_numbers
from verite.model.annotations import Annotations
from verite.model.layouts import layout_name

Box = tuple[float, float, float, float]
OPTIONS = FRAMES | {"names", "label_offset"}
LAYOUT = "xyxy"


class ImageArrays(msgspec.Struct):
    """The objects of one image, a list of each fact."""

    boxes: list[Box]
    labels: list[int | str]
    scores: list[float] | None = None


class ListedImage(msgspec.Struct, omit_defaults=True):
    """The objects of one image, which it names itself, as in a list of torchvision's dictionaries."""

    boxes: list[Box]
    labels: list[int | str]
    scores: list[float] | None = None
    image_id: int | str | None = None
    file_name: str | None = None


class ImageObject(msgspec.Struct):
    """One object of an image."""

    bbox: Box
    name: str | None = None
    label: int | str | None = None
    score: float | None = None
    difficult: int | bool = 0
    truncated: int | bool = 0


ARRAYS = re.compile(r'\{\s*"[^"]+"\s*:\s*\{\s*"(boxes|scores|labels)"\s*:\s*\[')
OBJECTS = re.compile(r'\{\s*(?:"[^"]+"\s*:\s*\[\s*\]\s*,\s*)*"[^"]+"\s*:\s*\[\s*\{[^}]*"bbox"\s*:\s*\[')


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is a JSON object by image: its first entry has boxes, or is a list of objects with bbox."""
    head = "" if probe.is_folder else probe.head.lstrip()
    if is_list_of_images(head):
        return "a JSON array with boxes and labels per image"
    if ARRAYS.match(head) and '"boxes"' in head and '"labels"' in head:
        return "a JSON object with boxes and labels per image"
    found = OBJECTS.match(head)
    is_named = found is not None and re.search(r'"(name|label)"\s*:', head[found.start() : found.end() + 200])
    is_section = re.match(r'\{\s*"(images|annotations|categories|predictions|results|detections)"', head)
    return "a JSON object with a list of objects per image" if is_named and not is_section else None


def is_list_of_images(head: str) -> bool:
    """Tell whether a document begins like an array of `{image_id, boxes, labels, scores}`."""
    first = head[: head.find("}") + 1] if head.startswith("[") else ""
    return '"boxes"' in first and '"labels"' in first and ('"image_id"' in first or '"file_name"' in first)


def by_name(path: Path, images: list[ListedImage]) -> dict[str, ImageArrays | list[ImageObject]]:
    """Return listed images by file name, or by id."""
    found: dict[str, ImageArrays | list[ImageObject]] = {}
    for i, image in enumerate(images):
        name = image.image_id if image.file_name is None else image.file_name
        if name is None or str(name) in found:
            what = "none" if name is None else f"a second {excerpt(str(name))}"
            raise ReadError(f"{path}: [{i}]", expected="an image_id or file_name that no other image has", found=what)
        found[str(name)] = ImageArrays(image.boxes, image.labels, image.scores)
    return found


def read(path: Path, options: Options) -> Annotations:
    """Read a JSON object by image, or an array of images."""
    if is_list_of_images(PathProbe(path).head.lstrip()):
        images = decode(path, list[ListedImage])
        if all(isinstance(image.image_id, int) and image.file_name is None for image in images):
            from verite.formats.memory import read_object

            found = read_object([msgspec.to_builtins(image) for image in images], options)
            return found.with_source(replace(found.source, path=str(path), format="by-image"))
        document = by_name(path, images)
    else:
        document = decode(path, dict[str, ImageArrays | list[ImageObject]])
    names, _ = class_names(options)
    entries: list[tuple[str, str, ImageObject]] = []
    for image, objects in document.items():
        if not isinstance(objects, list):  # columns of an image
            boxes, labels = objects.boxes, objects.labels
            scores: Sequence[float | None] = objects.scores if objects.scores is not None else [None] * len(boxes)
            if not len(boxes) == len(labels) == len(scores):
                lengths = f"{len(boxes)}, {len(labels)} and {len(scores)}"
                raise ReadError(f"{path}: {image}", expected="boxes, labels and scores of one length", found=lengths)
            rows_of_image = zip(boxes, labels, scores, strict=True)
            objects = [ImageObject(box, label=label, score=score) for box, label, score in rows_of_image]
        entries += [(f"{path}: {image}[{i}]", image, item) for i, item in enumerate(objects)]
    is_numbered = all(isinstance(item.label, int) for _, _, item in entries) and bool(entries)
    rows = Rows(path, options, names=names, is_numbered=is_numbered)
    for image in document:
        rows.add_image(f"{path}: {image}", image)
    for where, image, item in entries:
        with rows.errors:
            label = item.name if item.label is None else item.label
            if label is None:
                raise ReadError(where, expected="a name or label", found="none")
            flags = [flag for flag in ("difficult", "truncated") if getattr(item, flag)]
            number = label_of(where, label, names, options) if is_numbered else str(label)
            rows.add(where, image, number, item.bbox, item.score, flags=flags)
    return rows.annotations("by-image", layout=layout_name(options.boxes or LAYOUT))


def label_of(where: str, label: int | str, names: list[str] | None, options: Options) -> int:
    """Return a class number with the offset of the options, which must have a name if there are names (V206)."""
    number = int(label) + options.label_offset
    if number < 0 or (names is not None and number >= len(names)):
        expected = (
            f"a class number from 0 to {len(names) - 1}, as there are names (V206)" if names else "numbers from 0"
        )
        raise ReadError(where, expected=expected, found=str(number))
    return number


FORMAT = Format(
    name="by-image",
    title="JSON by image",
    about="a JSON object with an entry per image: `{boxes, labels, scores}`, also as a list with `image_id`, or a list "
    "of objects with `bbox` and `name` (py-faster-rcnn's annotation cache); corners",
    recognise=recognise,
    read=read,
    options=OPTIONS,
    suffixes=(".json",),
)

ONE_BOX = re.compile(r"-?[\d.]+,-?[\d.]+,-?[\d.]+,-?[\d.]+,[^,\s]+")
IMAGE = re.compile(r"\S.*\.(jpe?g|png|bmp|tiff?|webp|gif)$", re.IGNORECASE)


def recognise_lines(probe: PathProbe) -> str | None:
    """Return why a path is a list of images with boxes: lines of an image file and `x1,y1,x2,y2,class`."""
    if probe.is_folder or probe.path.suffix.lower() not in (".txt", ".csv"):
        return None
    lines = [line for line in probe.head.splitlines()[:50] if line.strip()]
    lines = lines[:-1] if len(lines) == 50 or len(probe.head) >= 65_000 else lines
    found = [split_line(line) for line in lines]
    if not found or any(one is None for one in found) or not any(one[1] for one in found if one is not None):
        return None
    return "lines of an image file and its boxes as x1,y1,x2,y2,class"


def split_line(line: str) -> tuple[str, list[list[str]]] | None:
    """Return image and boxes (five words each) of a line; None if it has another form."""
    words = line.split()
    if words and IMAGE.match(words[0]) and all(ONE_BOX.fullmatch(word) for word in words[1:]):
        return words[0], [word.split(",") for word in words[1:]]
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != 6 or not IMAGE.match(cells[0]):
        return None
    if not any(cells[1:]):
        return cells[0], []
    return (cells[0], [cells[1:]]) if all(map(is_number, cells[1:5])) and cells[5] else None


def read_image_lines(path: Path, options: Options) -> Annotations:
    """Read lines of an image and its boxes; an image may have several lines."""
    found = [(f"{path}:{i}", split_line(line), line) for i, line in enumerate(read_lines(path), 1) if line.strip()]
    labels = [box[4] for _, parts, _ in found if parts is not None for box in parts[1]]
    is_numbered = bool(labels) and all(label.isdecimal() for label in labels)
    names, _ = class_names(options)
    rows = Rows(path, options, names=names, is_numbered=is_numbered)
    for where, parts, line in found:
        with rows.errors:
            if parts is None:
                raise ReadError(where, expected="an image and its boxes as x1,y1,x2,y2,class", found=excerpt(line))
            image, boxes = parts
            rows.remember_image(where, image)
            for box in boxes:
                label = label_of(where, box[4], names, options) if is_numbered else box[4]
                rows.add(where, image, label, to_numbers(box[:4], where))
    return rows.annotations("image-lines", layout=layout_name(options.boxes or LAYOUT))


IMAGE_LINES = Format(
    name="image-lines",
    title="images with boxes in lines",
    about="`a.jpg x1,y1,x2,y2,class …` per image (keras-yolo3), or `a.jpg,x1,y1,x2,y2,class` per object without a "
    "header (keras-retinanet)",
    recognise=recognise_lines,
    read=read_image_lines,
    options=OPTIONS,
    suffixes=(".txt", ".csv"),
    sides=("truth",),
)
