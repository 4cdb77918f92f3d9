"""A format that nobody has: a line per object, `image|label|x1|y1|x2|y2`, below a line that says TOY."""

from __future__ import annotations

from verite.files import read_text, write_atomically
from verite.formats.format import Format
from verite.formats.rows import Rows
from verite.formats.text_lines import to_numbers


def recognise(probe):
    return "a file that begins with TOY" if probe.head.startswith("TOY\n") else None


def read(path, options):
    rows = Rows(path, options)
    for number, line in enumerate(read_text(path).splitlines()[1:], start=2):
        image, label, *box = line.split("|")
        rows.add(f"{path}:{number}", image, label, to_numbers(box, f"{path}:{number}"))
    return rows.annotations("toy", layout="xyxy")


def write(annotations, path):
    lines = ["TOY\n"]
    for row, box in enumerate(annotations.regions.boxes.tolist()):
        names = annotations.images.name(annotations.image[row]), annotations.labels.name(annotations.label[row])
        lines.append("|".join([*names, *map(repr, box)]) + "\n")
    write_atomically(path, "".join(lines))


FORMAT = Format(
    name="toy",
    title="a toy",
    about="a line per object, for this test alone",
    recognise=recognise,
    read=read,
    write=write,
    preserves=frozenset(
        {"box apart from its mask", "box apart from its polygon", "class name", "image folder or suffix", "image name"}
    ),
    suffixes=(".toy",),
)
