"""YOLO txt: one file per image, classes by number, all coordinates as fractions of the image.

A line is `class cx cy w h` for a box, `class x1 y1 x2 y2 x3 y3 …` for a polygon (four corners for rotated boxes, OBB),
or a box followed by keypoints (YOLO pose); predictions end with their confidence. Class names come from classes.txt,
obj.names or data.yaml beside or above the files, image sizes from the images in `images/` or from the ground truth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from verite.errors import ReadError, count_words, excerpt
from verite.files import folder_atomically, read_lines
from verite.formats.format import (
    FRAMES,
    Format,
    Options,
    PathProbe,
    class_names,
    file_stems,
    head_of,
    is_list,
    write_lines,
)
from verite.formats.polygons import bounds_of_rings, check_ring
from verite.formats.rows import Rows
from verite.formats.shards import files_of_split
from verite.formats.sizes import check_order, fractions, image_files_in
from verite.formats.text_lines import confidence_position, is_number, relative_lines, to_numbers
from verite.model.annotations import Annotations
from verite.model.keypoints import VISIBLE
from verite.model.layouts import layout_name, spell_as
from verite.model.regions import POLYGON, Regions
from verite.progress import count_files

Shape = tuple[int, int]  # how many keypoints, how many numbers each


def shape_from_yaml(files: Iterable[Path]) -> Shape | None:
    """Return the `kpt_shape` of the first of these files that has one: how many keypoints, how many numbers each."""
    from verite.formats.data_yaml import keypoint_shape

    found = (keypoint_shape(file) for file in files if file.suffix in (".yaml", ".yml") and file.is_file())
    return next((shape for shape in found if shape is not None), None)


def shape_from_lines(lines: Sequence[Sequence[str]]) -> Shape | None:
    """Infer the keypoint shape from lines of equal length whose every third number behind the box is a visibility."""
    lengths = {len(words) for words in lines}
    if len(lengths) != 1:
        return None
    count, rest = divmod(lengths.pop() - 5, 3)
    if count < 1 or rest or not all(is_number(word) for words in lines for word in words):
        return None
    seen = {float(word) for words in lines for word in words[7::3]}
    return (count, 3) if seen <= {0.0, 1.0, 2.0} and 2.0 in seen else None


def shape_from_truth(lines: Sequence[Sequence[str]], options: Options) -> Shape | None:
    """Return as many keypoints as the ground truth has, if the lines are long enough for them.

    Parameters
    ----------
    lines
        Words of each line.
    options
        Options of the call, with the ground truth in `like`.

    Returns
    -------
    Shape | None
        Number of keypoints, and numbers per keypoint (2, or 3 with visibility); None if they do not fit.
    """
    truth = options.like.regions.keypoints if options.like is not None else None
    if truth is None or not lines:
        return None
    count, lengths = int(truth.counts.max()), {len(words) - 5 for words in lines}
    return next(((count, each) for each in (3, 2) if lengths <= {count * each, count * each + 1}), None)


def find_shape(files: Iterable[Path], lines: Sequence[Sequence[str]], options: Options) -> Shape | None:
    """Return number and length of the keypoints; None where lines are boxes or polygons.

    Sources in this order: data.yaml, the ground truth, the lines themselves.

    Parameters
    ----------
    files
        data.yaml files beside the labels.
    lines
        Words of each line.
    options
        Options of the call; `names` may be a data.yaml.

    Returns
    -------
    Shape | None
        Number of keypoints, and numbers per keypoint.
    """
    named = [options.names] if isinstance(options.names, Path) else []
    return shape_from_yaml([*named, *files]) or shape_from_truth(lines, options) or shape_from_lines(lines)


def split_keypoints(where: str, numbers: Sequence[float], shape: Shape) -> tuple[list[float], float | None]:
    """Split the numbers behind a box into keypoints (x, y, visibility) and the confidence, if there is one."""
    count, each = shape
    wanted = count * each
    if len(numbers) not in (wanted, wanted + 1):
        expected = f"a class, 4 numbers and {count} keypoints of {each} numbers, as kpt_shape says (V420)"
        raise ReadError(where, expected=expected, found=f"{len(numbers) + 5} words")
    points = []
    for i in range(0, wanted, each):
        x, y, *seen = numbers[i : i + each]
        points += [x, y, *(seen or [0.0 if min(x, y) < 0 else VISIBLE])]  # below zero: Ultralytics' way to say unknown
    return points, numbers[wanted] if len(numbers) > wanted else None


NAMES_FILES = ("classes.txt", "obj.names", "data.yaml", "data.yml", "dataset.yaml", "dataset.yml")

LAYOUT = "cxcywh"


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is YOLO: data.yaml beside `labels/`, or lines of a class number and fractions."""
    if probe.is_folder:
        marker = next((name for name in NAMES_FILES[1:] if (probe.path / name).is_file()), None)
        folder = next((p.name for p in label_folders(probe.path)), None)
        if marker and folder:
            return f"a folder with {marker} and {folder}/"
    lines = probe.lines if probe.with_suffix(".txt") else []
    place, reason = confidence_position(lines) or ("", "")
    if place == "before" or not relative_lines(lines):
        return None
    why = "text files with a class number and fractions of the image per line"
    return f"{why}; {reason}" if reason else why


def label_folders(root: Path) -> list[Path]:
    """Return the folders of annotations below a dataset: `labels` (Ultralytics) or `obj_*_data` (Darknet)."""
    if (root / "labels").is_dir():
        return [root / "labels"]
    return sorted(p for p in root.glob("obj_*_data") if p.is_dir())


def label_files(path: Path) -> list[Path]:
    """Return the annotation files of a file, a folder, or a dataset."""
    if not path.is_dir():
        return [path]
    folders = label_folders(path)
    found = [p for folder in folders for p in sorted(folder.rglob("*.txt"))] or PathProbe(path).with_suffix(".txt")
    return [p for p in found if p.is_file() and not p.name.startswith(".") and not is_list(p)]


def read(path: Path, options: Options) -> Annotations:
    """Read boxes, polygons or poses of a file, a folder or a dataset."""
    files, split = files_of_split(path, label_files(path), options)
    if not files:
        raise ReadError(path, expected="annotation files ending in .txt", found="none")
    names, origin = class_names(options, *names_files(path))
    rows = Rows(path, options, names=names, is_numbered=True)
    layout = layout_name(options.boxes or LAYOUT)
    shape = find_shape(names_files(path), first_lines(files), options)
    for file in count_files("reading", files):
        with rows.errors:
            add_file(rows, file, layout, shape)
    if options.images is None and options.image_size is None:
        rows.image_files_beside = image_files_beside({file.parent for file in files})
    why = f"class names from {origin}" if names is not None else "no class names found, classes known by number"
    why = f"{split}; {why}" if split else why
    why += f"; {shape[0]} keypoints of {shape[1]} numbers behind each box" if shape is not None else ""
    return rows.annotations("yolo", layout=layout, coords="rel", why=why)


def first_lines(files: Sequence[Path]) -> list[list[str]]:
    """Return the words of the first 20 lines of the first 20 files."""
    return [words for file in files[:20] for line in head_of(file).splitlines()[:20] if (words := line.split())]


def add_file(rows: Rows, file: Path, layout: str, shape: Shape | None) -> None:
    """Add the objects of one image.

    Parameters
    ----------
    rows
        Collects images and objects.
    file
        One text file per image. A line at fault is recorded, and the next one read.
    layout
        Layout of the boxes, such as `cxcywh`.
    shape
        Number and length of keypoints; None for none.
    """
    rows.add_image(file, file.stem)
    for number, line in enumerate(read_lines(file), start=1):
        if line.strip():
            with rows.errors:
                add_line(rows, file, number, line.split(), layout, shape)


def read_files(path: Path, options: Options, labels: Mapping[Path, Path]) -> Annotations:
    """Read the label files that a data.yaml lists by image; images without a label file have no objects."""
    names, _ = class_names(options)
    rows = Rows(path, options, names=names, is_numbered=True)
    layout = layout_name(options.boxes or LAYOUT)
    shape = find_shape([path], first_lines([file for file in labels.values() if file.is_file()][:20]), options)
    for picture, file in count_files("reading", list(labels.items())):
        rows.image_files_beside.setdefault(picture.stem, []).append(picture)
        with rows.errors:
            if file.is_file():
                add_file(rows, file, layout, shape)
            else:
                rows.add_image(picture, picture.stem)
    return rows.annotations("yolo", layout=layout, coords="rel")


def names_files(path: Path) -> list[Path]:
    """Return candidate files for the class names: beside the annotations, then above, up to the root of the dataset."""
    folder = path if path.is_dir() else path.parent
    above = [folder.parent, folder.parent.parent] if folder.parent.name == "labels" else [folder.parent]
    beside = [place / name for place in (folder, *label_folders(folder)) for name in NAMES_FILES]
    # Above, a YAML file without names belongs to another tool.
    return beside + [place / name for place in above for name in NAMES_FILES if has_names(place / name)]


def has_names(path: Path) -> bool:
    """Tell whether a file above the annotations may hold class names: a YAML file needs the key `names`."""
    return path.suffix not in (".yaml", ".yml") or re.search(r"^names\s*:", head_of(path), re.MULTILINE) is not None


def image_files_beside(folders: set[Path]) -> dict[str, list[Path]]:
    """Return the image files of these label folders by stem: in `images` for `labels`, else beside the labels."""
    pictures: dict[str, list[Path]] = {}
    for folder in sorted(folders):
        parts = list(folder.absolute().parts)
        is_apart = "labels" in parts
        if is_apart:
            parts[len(parts) - 1 - parts[::-1].index("labels")] = "images"
        images = Path(*parts)
        for stem, paths in (image_files_in(images, is_deep=is_apart) if images.is_dir() else {}).items():
            known = pictures.setdefault(stem, [])
            known += [p for p in paths if p not in known]
    return pictures


def add_line(rows: Rows, file: Path, number: int, words: list[str], layout: str, shape: Shape | None) -> None:
    """Add one object: a box, a box with keypoints, or a polygon with its bounding box."""
    where = f"{file}:{number}"
    if len(words) < 5:
        expected = "a class and 4 numbers, 5 with a confidence, or a polygon of at least 3 points"
        raise ReadError(where, expected=expected, found=count_words(words), remedy="is this a YOLO file?")
    if not words[0].isdecimal() or len(words[0]) > 18:
        spelled = rows.options.spell("format", "text")
        remedy = "" if is_number(words[0]) else f"class names belong to the text format: {spelled}"
        raise ReadError(where, expected="a class number", found=excerpt(words[0]), remedy=remedy)
    label = int(words[0]) + rows.options.label_offset
    if rows.names is not None and not 0 <= label < len(rows.names):
        expected = f"a class number from 0 to {len(rows.names) - 1}, as there are names (V206)"
        remedy = f"are these the right names? else add {rows.options.spell('label_offset', 'N')}"
        raise ReadError(where, expected=expected, found=str(label), remedy=remedy)
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


def write(annotations: Annotations, path: Path) -> None:
    """Write labels/*.txt and, where classes have names, data.yaml; the images are expected in images/.

    Ultralytics ignores files that mix boxes and polygons, so boxes beside polygons are written as rectangles.
    """
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
    """Return the number of each class: counted from 0 where classes have names, else their ids.

    Parameters
    ----------
    annotations
        What is written.
    path
        Where, for the message.
    """
    labels = annotations.labels
    if labels.names is not None or labels.ids is None:
        return list(range(len(labels)))
    if labels.ids.min(initial=0) < 0:
        raise ReadError(path, expected="class numbers from 0", found=str(labels.ids.min()))
    return [int(id) for id in labels.ids]


def outline(regions: Regions, row: int) -> list[float]:
    """Return the coordinates of a polygon of one ring; empty for masks and several rings, which YOLO cannot hold.

    Parameters
    ----------
    regions
        Boxes, polygons and masks.
    row
        The object.

    Returns
    -------
    list[float]
        x1, y1, x2, y2, …
    """
    if regions.kinds[row] != POLYGON or regions.polygons is None or len(regions.polygons[row]) != 1:
        return []
    return [float(v) for v in regions.polygons[row][0].ravel()]


def yaml_of(names: tuple[str, ...]) -> str:
    """Return the text of data.yaml with these class names."""
    lines = ["train: images", "val: images", "names:"]
    lines += [f"  {i}: {json.dumps(name, ensure_ascii=False)}" for i, name in enumerate(names)]
    return "\n".join(lines) + "\n"


PRESERVES = frozenset(
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
    preserves=PRESERVES,
    requires=frozenset({"boxes from left to right", "image size"}),
    options=FRAMES | {"label_offset", "names", "split"},
)


def recognise_yolo_pose(probe: PathProbe) -> str | None:
    """Return why a path is YOLO pose: `kpt_shape` in data.yaml, or lines that are a box and keypoints."""
    if not label_files(probe.path) if probe.is_folder else probe.path.suffix.lower() != ".txt":
        return None
    shape = shape_from_yaml(names_files(probe.path))
    if shape is not None:
        return f"text files beside a data.yaml with kpt_shape {list(shape)}"
    shape = shape_from_lines(probe.lines)
    is_pose = shape is not None and all(0 <= float(word) <= 1.01 for words in probe.lines for word in words[1:5])
    return f"text files with a class number, a box and {shape[0]} keypoints per line" if shape and is_pose else None


def read_yolo_pose(path: Path, options: Options) -> Annotations:
    """Read boxes with keypoints."""
    found = read(path, options)
    if len(found) and not found.regions.has_keypoints:
        remedy = "say how many there are as kpt_shape: [17, 3]"
        raise ReadError(path, expected="kpt_shape in data.yaml, or lines of a box and keypoints", found="neither",
                        remedy=remedy)  # fmt: skip
    return found.with_source(replace(found.source, format="yolo-pose"))


def write_yolo_pose(annotations: Annotations, path: Path) -> None:
    """Write labels/*.txt and data.yaml with `kpt_shape`; objects without keypoints get unlabelled ones."""
    regions, keypoints = fractions(annotations, path), annotations.regions.keypoints
    counts = set(keypoints.counts.tolist()) - {0} if keypoints is not None else set()
    if len(counts) != 1:
        found = "none" if not counts else f"{sorted(counts)} in different objects"
        raise ReadError(path, expected="as many keypoints in every object", found=found)
    count, scaled = counts.pop(), regions.keypoints
    assert scaled is not None
    numbers = class_numbers(annotations, path)
    lines: list[list[str]] = [[] for _ in range(len(annotations.images))]
    boxes = spell_as(regions.boxes, LAYOUT).tolist()
    for row, image in enumerate(annotations.image):
        values = [*boxes[row], *(scaled[row].ravel().tolist() or [0.0] * (3 * count))]
        if annotations.confidence is not None:
            values.append(float(annotations.confidence[row]))
        lines[image].append(" ".join([str(numbers[annotations.label[row]]), *map(repr, values)]) + "\n")
    stems = file_stems(annotations.images, path)
    with folder_atomically(path) as folder:
        (folder / "labels").mkdir()
        write_lines(folder / "labels", stems, lines)
        names = annotations.labels.names or [str(i) for i in range(max(numbers, default=0) + 1)]
        text = f"kpt_shape: [{count}, 3]\n{yaml_of(tuple(names))}"
        (folder / "data.yaml").write_text(text, encoding="utf-8")


YOLO_POSE = Format(
    name="yolo-pose",
    title="YOLO pose txt",
    about="as `yolo`, with `x y visibility` of each keypoint behind the box; `kpt_shape` in `data.yaml`",
    recognise=recognise_yolo_pose,
    read=read_yolo_pose,
    write=write_yolo_pose,
    preserves=(PRESERVES | {"keypoints", "box apart from its polygon"}) - {"polygon", "class id without a name"},
    requires=frozenset({"image size", "keypoints"}),
    options=FORMAT.options,
)
