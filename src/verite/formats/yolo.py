"""YOLO txt: one file per image, classes by number, everything as a fraction of the image.

`class cx cy w h` for boxes, `class x1 y1 x2 y2 x3 y3 …` for polygons, of four corners for rotated boxes (OBB), a box
followed by keypoints for poses (see yolo_pose.py); predictions end with their confidence.
Names come from classes.txt, obj.names or data.yaml beside or above the files. A polygon's box is the box around it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from verite.errors import ReadError, excerpt
from verite.files import folder_atomically, read_text
from verite.formats.class_names import class_names
from verite.formats.format import FRAMES, Format, Look, Options, file_stems, head_of, is_list, write_lines
from verite.formats.outlines import bounds_of_rings, check_ring
from verite.formats.rows import Rows
from verite.formats.sizes import check_order, fractions, pictures_in
from verite.formats.words import confidence_place, is_number, relative_lines, to_numbers
from verite.formats.yolo_keypoints import Shape, find_shape, split_keypoints
from verite.model.annotations import Annotations
from verite.model.layouts import layout_name, spell_as
from verite.model.regions import POLYGON, Regions
from verite.progress import count_files

NAMES_FILES = ("classes.txt", "obj.names", "data.yaml", "data.yml", "dataset.yaml", "dataset.yml")
LAYOUT = "cxcywh"


def recognise(look: Look) -> str | None:
    if look.is_folder:
        marker = next((name for name in NAMES_FILES[1:] if (look.path / name).is_file()), None)
        folder = next((p.name for p in label_folders(look.path)), None)
        if marker and folder:
            return f"a folder with {marker} and {folder}/"
    lines = look.lines if look.with_suffix(".txt") else []
    place, reason = confidence_place(lines) or ("", "")
    if place == "before" or not relative_lines(lines):
        return None
    why = "text files with a class number and fractions of the image per line"
    return f"{why}; {reason}" if reason else why


def label_folders(root: Path) -> list[Path]:
    """Where a data set's root keeps its annotations: `labels` (Ultralytics) or `obj_train_data` (Darknet)."""
    if (root / "labels").is_dir():
        return [root / "labels"]
    return sorted(p for p in root.glob("obj_*_data") if p.is_dir())


def label_files(path: Path) -> list[Path]:
    """The annotation files of a file, a folder, or a data set's root."""
    if not path.is_dir():
        return [path]
    folders = label_folders(path)
    found = [p for folder in folders for p in sorted(folder.rglob("*.txt"))] or Look(path).with_suffix(".txt")
    return [p for p in found if p.is_file() and not p.name.startswith(".") and not is_list(p)]


def read(path: Path, options: Options) -> Annotations:
    files = label_files(path)
    if not files:
        raise ReadError(path, expected="annotation files ending in .txt", found="none")
    names, origin = class_names(options, *names_files(path))
    rows = Rows(path, options, names=names, is_numbered=True)
    layout = layout_name(options.boxes or LAYOUT)
    shape = find_shape(names_files(path), first_lines(files), options)
    for file in count_files("reading", files):
        with rows.tolerance:
            add_file(rows, file, layout, shape)
    if options.images is None and options.image_size is None:
        rows.pictures_beside = pictures_beside({file.parent for file in files})
    why = f"class names from {origin}" if names is not None else "no class names found, classes known by number"
    why += f"; {shape[0]} keypoints of {shape[1]} numbers behind each box" if shape is not None else ""
    return rows.annotations("yolo", layout=layout, coords="rel", why=why)


def first_lines(files: Sequence[Path]) -> list[list[str]]:
    """The words of the first lines of some files."""
    return [words for file in files[:20] for line in head_of(file).splitlines()[:20] if (words := line.split())]


def add_file(rows: Rows, file: Path, layout: str, shape: Shape | None) -> None:
    """The lines of one image."""
    rows.add_image(file, file.stem)
    for number, line in enumerate(read_text(file).splitlines(), start=1):
        if line.strip():
            with rows.tolerance:
                add_line(rows, file, number, line.split(), layout, shape)


def read_files(path: Path, options: Options, labels: Mapping[Path, Path]) -> Annotations:
    """The same for pictures whose label files are known; those without one have no objects."""
    names, _ = class_names(options)
    rows = Rows(path, options, names=names, is_numbered=True)
    layout = layout_name(options.boxes or LAYOUT)
    shape = find_shape([path], first_lines([file for file in labels.values() if file.is_file()][:20]), options)
    for picture, file in count_files("reading", list(labels.items())):
        rows.pictures_beside.setdefault(picture.stem, []).append(picture)
        with rows.tolerance:
            if file.is_file():
                add_file(rows, file, layout, shape)
            else:
                rows.add_image(picture, picture.stem)
    return rows.annotations("yolo", layout=layout, coords="rel")


def names_files(path: Path) -> list[Path]:
    """Files that may hold the class names: beside the annotations, then above, as far as the data set goes."""
    folder = path if path.is_dir() else path.parent
    above = [folder.parent, folder.parent.parent] if folder.parent.name == "labels" else [folder.parent]
    beside = [place / name for place in (folder, *label_folders(folder)) for name in NAMES_FILES]
    # Above, a YAML file without names belongs to somebody else.
    return beside + [place / name for place in above for name in NAMES_FILES if has_names(place / name)]


def has_names(path: Path) -> bool:
    return path.suffix not in (".yaml", ".yml") or re.search(r"^names\s*:", head_of(path), re.MULTILINE) is not None


def pictures_beside(folders: set[Path]) -> dict[str, list[Path]]:
    """The pictures that belong to the annotations in these folders: in `images` for `labels`, else beside them."""
    pictures: dict[str, list[Path]] = {}
    for folder in sorted(folders):
        parts = list(folder.absolute().parts)
        is_apart = "labels" in parts
        if is_apart:
            parts[len(parts) - 1 - parts[::-1].index("labels")] = "images"
        images = Path(*parts)
        for stem, paths in (pictures_in(images, is_deep=is_apart) if images.is_dir() else {}).items():
            known = pictures.setdefault(stem, [])
            known += [p for p in paths if p not in known]
    return pictures


def add_line(rows: Rows, file: Path, number: int, words: list[str], layout: str, shape: Shape | None) -> None:
    where = f"{file}:{number}"
    if len(words) < 5:
        expected = "a class and 4 numbers, 5 with a confidence, or a polygon of at least 3 points"
        raise ReadError(where, expected=expected, found=f"{len(words)} words ({excerpt(' '.join(words))})")
    label = class_number(where, words[0], rows)
    numbers = to_numbers(words[1:], where)
    if shape is not None:
        points, confidence = split_keypoints(where, numbers[4:], shape)
        rows.add(where, file.stem, label, numbers[:4], confidence, keypoints=points)
        return
    confidence = numbers.pop() if len(numbers) % 2 else None
    if len(numbers) == 4:
        rows.add(where, file.stem, label, numbers, confidence)
    else:
        ring = check_ring(where, numbers)
        box = spell_as(np.array([bounds_of_rings([ring])]), layout)[0]
        rows.add(where, file.stem, label, box.tolist(), confidence, polygon=[ring])


def class_number(where: str, word: str, rows: Rows) -> int:
    """The class of a line, a whole number that has a name if there are names."""
    if not word.isdecimal() or len(word) > 18:
        spelled = rows.options.spell("format", "text")
        remedy = "" if is_number(word) else f"class names belong to the text format: {spelled}"
        raise ReadError(where, expected="a class number", found=excerpt(word), remedy=remedy)
    number = int(word) + rows.options.label_offset
    if rows.names is not None and not 0 <= number < len(rows.names):
        expected = f"a class number from 0 to {len(rows.names) - 1}, as there are names (V206)"
        remedy = f"are these the right names? else add {rows.options.spell('label_offset', 'N')}"
        raise ReadError(where, expected=expected, found=str(number), remedy=remedy)
    return number


def write(annotations: Annotations, path: Path) -> None:
    """labels/*.txt and, where classes have names, data.yaml; pictures are expected in images/."""
    regions = fractions(annotations, path)
    numbers = class_numbers(annotations, path)
    lines: list[list[str]] = [[] for _ in range(len(annotations.images))]
    shapes = [outline(regions, row) for row in range(len(regions))]
    if any(shapes):  # Ultralytics leaves out files in which boxes stand beside polygons
        check_order(annotations.take([row for row, shape in enumerate(shapes) if not shape]), path)
        boxes = regions.boxes[:, [0, 1, 2, 1, 2, 3, 0, 3]].tolist()
    else:
        boxes = spell_as(regions.boxes, LAYOUT).tolist()
    for row, image in enumerate(annotations.image):
        values = shapes[row] or boxes[row]
        if annotations.confidence is not None:
            values = [*values, float(annotations.confidence[row])]
        lines[image].append(" ".join([str(numbers[annotations.label[row]]), *map(repr, values)]) + "\n")
    stems = file_stems(annotations.images, path)
    with folder_atomically(path) as folder:
        (folder / "labels").mkdir()
        write_lines(folder / "labels", stems, lines)
        if annotations.labels.names is not None:
            (folder / "data.yaml").write_text(yaml_of(annotations.labels.names), encoding="utf-8")


def class_numbers(annotations: Annotations, path: Path) -> list[int]:
    """Counted from 0 where classes have names; else the ids, which are all there is."""
    labels = annotations.labels
    if labels.names is not None or labels.ids is None:
        return list(range(len(labels)))
    if labels.ids.min(initial=0) < 0:
        raise ReadError(path, expected="class numbers from 0", found=str(labels.ids.min()))
    return [int(id) for id in labels.ids]


def outline(regions: Regions, row: int) -> list[float]:
    """The one ring of a polygon; YOLO has no way to write several, nor masks."""
    if regions.kinds[row] != POLYGON or regions.polygons is None or len(regions.polygons[row]) != 1:
        return []
    return [float(v) for v in regions.polygons[row][0].ravel()]


def yaml_of(names: tuple[str, ...]) -> str:
    lines = ["train: images", "val: images", "names:"]
    lines += [f"  {i}: {json.dumps(name, ensure_ascii=False)}" for i, name in enumerate(names)]
    return "\n".join(lines) + "\n"


HOLDS = frozenset(
    {
        "box apart from its mask",
        "class id without a name",
        "class name",
        "class order",
        "confidence",
        "empty image",
        "image name",
        "polygon",
        "unused class",
    }
)
FORMAT = Format(
    name="yolo",
    title="YOLO txt",
    about="one file per image: `class cx cy w h [confidence]` in fractions, or polygons (boxes beside them are written "
    "as rectangles); names from `data.yaml`, `classes.txt` or `obj.names`",
    recognise=recognise,
    read=read,
    write=write,
    holds=HOLDS,
    needs=frozenset({"boxes from left to right", "image size"}),
    honours=FRAMES | {"label_offset", "names"},
)
