"""Text folders: one file per image, one object per line.

Truth:       `<class> <x> <y> <w> <h>`;   predictions: `<class> <confidence> <x> <y> <w> <h>`.
The four numbers are left, top, width and height (`xywh`) unless the user says they are corners (`xyrb`). In relative
coordinates `xywh` means the centre, as in the tool this format comes from; `ltwh` says left and top there, too.
"""

from __future__ import annotations

from pathlib import Path

from verite.errors import ReadError, excerpt
from verite.files import folder_atomically, read_text
from verite.formats.format import NOT_ANNOTATIONS, Format, Look, Options, file_stems
from verite.formats.rows import Rows
from verite.model.annotations import Annotations


def recognise(look: Look) -> str | None:
    if not look.lines or not look.with_suffix(".txt"):
        return None
    counts = {len(words) for words in look.lines}
    if counts <= {5, 6} and all(is_number(w) for words in look.lines for w in words[1:]):
        return "text files with a class and 4 numbers a line" + (", confidence before them" if 6 in counts else "")
    return None


def is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def read(path: Path, options: Options) -> Annotations:
    rows = Rows(path, options)
    look = Look(path)
    files = [p for p in look.with_suffix(".txt") if p.stem not in NOT_ANNOTATIONS or not look.is_folder]
    if not files:
        raise ReadError(path, expected="files ending in .txt", found="none")
    for file in files:
        rows.add_image(file.stem)
        for number, line in enumerate(read_text(file).splitlines(), start=1):
            if line.strip():
                add_line(rows, file, number, line)
    is_relative = options.coords not in (None, "abs") and not (options.coords or "").startswith("*")
    is_centre = is_relative and options.boxes in (None, "xywh")
    if is_centre:
        rows.options = Options(**{**options.__dict__, "boxes": None})
    layout = "cxcywh" if is_centre else "xywh"
    meaning = "centre, width and height" if is_centre else "left, top, width and height"
    why = "" if options.boxes else f"numbers taken as {meaning}, the default"
    return rows.annotations("text", layout=layout, why=why)


def add_line(rows: Rows, file: Path, number: int, line: str) -> None:
    words = line.split()
    where = f"{file}:{number}"
    if len(words) not in (5, 6):
        raise ReadError(
            where,
            expected="a class and 4 or 5 numbers",
            found=f"{len(words)} words ({excerpt(line.strip())})",
            remedy="class names may contain no blanks",
        )
    try:
        numbers = [float(word) for word in words[1:]]
    except ValueError:
        wrong = next(word for word in words[1:] if not is_number(word))
        raise ReadError(where, expected="a class and 4 or 5 numbers", found=excerpt(wrong)) from None
    confidence = numbers.pop(0) if len(numbers) == 5 else None
    rows.add(where, file.stem, words[0], numbers, confidence)


def write(annotations: Annotations, path: Path) -> None:
    names = annotations.labels.all_names
    blank = next((name for name in names if name.split() != [name]), None)
    if blank is not None:
        raise ReadError(path, expected="class names without blanks", found=excerpt(blank), remedy="choose another format")
    lines: list[list[str]] = [[] for _ in range(len(annotations.images))]
    for row, box in enumerate(annotations.regions.sizes.tolist()):
        words = [names[annotations.label[row]], *(repr(v) for v in box)]
        if annotations.confidence is not None:
            words.insert(1, repr(float(annotations.confidence[row])))
        lines[annotations.image[row]].append(" ".join(words) + "\n")
    stems = file_stems(annotations.images, path)
    with folder_atomically(path) as folder:
        for name, image_lines in zip(stems, lines, strict=True):
            (folder / f"{name}.txt").write_text("".join(image_lines), encoding="utf-8")


FORMAT = Format("text", "text folder", recognise, read, write, frozenset({"confidence", "empty image"}))
