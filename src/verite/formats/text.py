"""Text folders (Object-Detection-Metrics): one file per image, one object per line.

Ground truth is `<class> <x> <y> <w> <h>`, predictions `<class> <confidence> <x> <y> <w> <h>`. The four numbers are
left, top, width and height (`xywh`); the option `boxes` declares corners (`xyrb`). Numbers that all lie between 0 and
1 are fractions of the image unless `coords` is `abs`. In fractions `xywh` means the centre, as in
Object-Detection-Metrics; `ltwh` is left and top there, too. Classes may be numbers, which the option `names`
translates.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from verite.errors import ReadError, count_words
from verite.files import folder_atomically, read_lines
from verite.formats.format import (
    FRAMES,
    Format,
    Options,
    PathProbe,
    check_words,
    class_names,
    file_stems,
    frame_of,
    is_list,
    write_lines,
)
from verite.formats.rows import Rows
from verite.formats.shards import files_of_split
from verite.formats.sizes import need_pixels
from verite.formats.text_lines import (
    confidence_position,
    ends_with_confidence,
    is_number,
    layouts_inside_image,
    leaves_image,
    reason_for_fractions,
    to_numbers,
)
from verite.model.annotations import Annotations
from verite.progress import count_files


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is a text folder: most lines are a class and four or five numbers."""
    if not probe.with_suffix(".txt"):
        return None
    lines = probe.lines
    if not lines:
        return "text files without a line" if text_files(probe) else None
    fitting = [words for words in lines if len(words) in (5, 6) and all(is_number(word) for word in words[1:])]
    if 2 * len(fitting) <= len(lines):
        return None
    why = "text files with a class and 4 numbers per line"
    if not any(len(words) == 6 for words in fitting):
        return why
    place, reason = confidence_position(lines, is_named=True) or ("", "")
    if place == "after" or (place and lines[0][0].isdecimal()):  # where the reader departs from what is usual
        return f"{why}; {reason}"
    return f"{why}, confidence {'behind' if ends_with_confidence(lines) else 'before'} them"


def text_files(probe: PathProbe) -> list[Path]:
    """Return the annotation files, without lists of classes or images."""
    return [path for path in probe.with_suffix(".txt") if not probe.is_folder or not is_list(path)]


def read(path: Path, options: Options) -> Annotations:
    """Read a text folder; position of the confidence, unit and layout are inferred and recorded in the source."""
    probe = PathProbe(path)
    files, split = files_of_split(path, text_files(probe), options)
    if not files:
        found = "only lists of classes or images" if probe.with_suffix(".txt") else "none"
        raise ReadError(path, expected="annotation files ending in .txt", found=found)
    names, _ = class_names(options)
    rows = Rows(path, options, names=names)
    why, is_last = [split] if split else [], ends_with_confidence(probe.lines)
    if is_last:
        why.append(
            "confidence taken from the end of the line, as it lies between 0 and 1, and the first number does not"
        )
    place, _ = confidence_position(probe.lines, is_named=True) or ("", "")
    for file in count_files("reading", files):
        with rows.errors:
            add_file(rows, file, -1 if is_last or place == "after" else 0)
    coords = options.coords
    if coords is None and (reason := reason_for_fractions(rows.boxes)):
        coords = "rel"
        why.append(f"coordinates taken as fractions of the image, because {reason}")
    is_centre = frame_of(coords).is_relative and options.boxes in (None, "xywh")
    if not options.boxes:
        fitting = layouts_inside_image(rows.boxes) if coords == "rel" else []
        if fitting and "cxcywh" not in fitting:
            leaving = sum(map(leaves_image, rows.boxes))
            remedy = " or ".join(options.spell("boxes", layout) for layout in fitting)
            raise ReadError(
                path,
                expected="fractions of the image as centre, width and height, the default",
                found=f"{leaving:,} of {len(rows.boxes):,} boxes that leave their image so",
                remedy=f"none does with {remedy}",
            )
        meaning = "centre, width and height" if is_centre else "left, top, width and height"
        why.append(f"numbers taken as {meaning}, the default")
    if is_centre:
        rows.options = replace(options, boxes="cxcywh")
    return rows.annotations("text", layout="xywh", coords=coords or "abs", why="; ".join(why))


def add_file(rows: Rows, file: Path, place: int) -> None:
    """Add the objects of one image; `place` is the index of the confidence among the numbers of a line.

    Parameters
    ----------
    rows
        Collects images and objects.
    file
        Lines of class and numbers, as Object-Detection-Metrics writes them.
    place
        Index of the confidence among the numbers of a line.
    """
    rows.add_image(file, file.stem)
    for number, line in enumerate(read_lines(file), start=1):
        if line.strip():
            with rows.errors:
                add_line(rows, file, number, line, place)


def add_line(rows: Rows, file: Path, number: int, line: str, place: int) -> None:
    """Add one object."""
    words = line.split()
    where = f"{file}:{number}"
    if len(words) not in (5, 6):
        raise ReadError(
            where,
            expected="a class and 4 or 5 numbers",
            found=count_words(words),
            remedy="class names may contain no blanks",
        )
    numbers = to_numbers(words[1:], where)
    confidence = numbers.pop(place) if len(numbers) == 5 else None
    rows.add(where, file.stem, class_name(where, words[0], rows), numbers, confidence)


def class_name(where: str, word: str, rows: Rows) -> str:
    """Return the class of a line: a name, or a number that the option `names` translates, counted from 0."""
    if rows.names is None or not word.isdecimal() or len(word) > 9:
        return word
    number = int(word) + rows.options.label_offset
    if not 0 <= number < len(rows.names):
        expected = f"a class number from 0 to {len(rows.names) - 1}, as there are names"
        raise ReadError(where, expected=expected, found=str(number), remedy="are these the right names?")
    return rows.names[number]


def write(annotations: Annotations, path: Path) -> None:
    """Write one text file per image, boxes as left, top, width and height in pixels."""
    need_pixels(annotations, path)
    names = annotations.labels.all_names
    check_words(path, names)
    boxes = annotations.regions.sizes.tolist()
    if reason := reason_for_fractions(boxes):
        raise ReadError(
            path,
            expected="boxes in pixels",
            found=f"numbers that would be read as fractions of the image, because {reason}",
            remedy="multiply them by the size of their image, or write YOLO",
        )
    lines: list[list[str]] = [[] for _ in range(len(annotations.images))]
    for row, box in enumerate(boxes):
        words = [names[annotations.label[row]], *(repr(v) for v in box)]
        if annotations.confidence is not None:
            words.insert(1, repr(float(annotations.confidence[row])))
        lines[annotations.image[row]].append(" ".join(words) + "\n")
    stems = file_stems(annotations.images, path)
    with folder_atomically(path) as folder:
        write_lines(folder, stems, lines)


PRESERVES = frozenset(
    {
        "box apart from its mask",
        "box apart from its polygon",
        "class name",
        "confidence",
        "empty image",
        "image name",
    }
)
FORMAT = Format(
    name="text",
    title="text folder",
    about="one file per image: `class x y w h`, predictions `class confidence x y w h`; other layouts on request",
    recognise=recognise,
    read=read,
    write=write,
    preserves=PRESERVES,
    requires=frozenset({"class names without blanks"}),
    options=FRAMES | {"label_offset", "names", "split"},
)
