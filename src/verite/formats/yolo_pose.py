"""YOLO pose: `class cx cy w h` and `x y` or `x y visibility` of each keypoint, everything as a fraction of the image.

How many keypoints there are is `kpt_shape` in data.yaml, else what the truth has, else what the lines betray: every
third number behind the box is 0, 1 or 2. Predictions end with their confidence.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from verite.errors import ReadError
from verite.files import folder_atomically
from verite.formats import yolo
from verite.formats.format import Format, Look, Options, file_stems, write_lines
from verite.formats.sizes import fractions
from verite.formats.yolo_keypoints import shape_in, shape_of_lines
from verite.model.annotations import Annotations
from verite.model.layouts import spell_as


def recognise(look: Look) -> str | None:
    if not yolo.label_files(look.path) if look.is_folder else look.path.suffix.lower() != ".txt":
        return None
    shape = shape_in(yolo.names_files(look.path))
    if shape is not None:
        return f"text files beside a data.yaml with kpt_shape {list(shape)}"
    shape = shape_of_lines(look.lines)
    is_pose = shape is not None and all(0 <= float(word) <= 1.01 for words in look.lines for word in words[1:5])
    return f"text files with a class number, a box and {shape[0]} keypoints per line" if shape and is_pose else None


def read(path: Path, options: Options) -> Annotations:
    found = yolo.read(path, options)
    if len(found) and not found.regions.has_keypoints:
        remedy = "say how many there are as kpt_shape: [17, 3]"
        raise ReadError(path, expected="kpt_shape in data.yaml, or lines of a box and keypoints", found="neither",
                        remedy=remedy)  # fmt: skip
    return found.said_to_be(replace(found.source, format="yolo-pose"))


def write(annotations: Annotations, path: Path) -> None:
    """labels/*.txt and data.yaml with kpt_shape; objects without a pose have points that are not labelled."""
    regions, keypoints = fractions(annotations, path), annotations.regions.keypoints
    counts = set(keypoints.counts.tolist()) - {0} if keypoints is not None else set()
    if len(counts) != 1:
        found = "none" if not counts else f"{sorted(counts)} in different objects"
        raise ReadError(path, expected="as many keypoints in every object", found=found)
    count, scaled = counts.pop(), regions.keypoints
    assert scaled is not None
    numbers = yolo.class_numbers(annotations, path)
    lines: list[list[str]] = [[] for _ in range(len(annotations.images))]
    boxes = spell_as(regions.boxes, yolo.LAYOUT).tolist()
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
        text = f"kpt_shape: [{count}, 3]\n{yolo.yaml_of(tuple(names))}"
        (folder / "data.yaml").write_text(text, encoding="utf-8")


FORMAT = Format(
    name="yolo-pose",
    title="YOLO pose txt",
    about="as `yolo`, with `x y visibility` of each keypoint behind the box; `kpt_shape` in `data.yaml`",
    recognise=recognise,
    read=read,
    write=write,
    holds=(yolo.HOLDS | {"keypoints", "box apart from its polygon"}) - {"polygon", "class id without a name"},
    needs=frozenset({"image size", "keypoints"}),
    honours=yolo.FORMAT.honours,
)
