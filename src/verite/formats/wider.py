"""WIDER FACE: the path of an image, the number of its faces, and one line per face.

Ground truth is one file for all images, ten numbers per face: `x y w h blur expression illumination invalid occlusion
pose`; invalid faces are ignored. Predictions are one file per image with `x y w h score`. The `wider_face_val.mat` of
the evaluation tools is ground truth, too.
"""

from __future__ import annotations

from pathlib import Path

from verite.errors import ReadError, excerpt
from verite.files import read_lines
from verite.formats.format import FRAMES, Format, Options, PathProbe, head_of
from verite.formats.rows import Rows
from verite.formats.shards import files_of_split
from verite.formats.text_lines import is_number, to_numbers
from verite.model.annotations import Annotations
from verite.progress import count_files

LABEL = "face"
TRUTH, PRED = 10, 5
INVALID, OCCLUDED = 7, 8  # places of these numbers


def face_files(probe: PathProbe) -> list[Path]:
    """Return the text files of a path; in WIDER's root folder those of the ground truth, not the read-me."""
    files = probe.with_suffix(".txt")
    return [file for file in files if file.stem.endswith("_bbx_gt")] or files


def mat_of(path: Path) -> Path | None:
    """Return the ground truth of the evaluation tools: the file itself, or that of their folder."""
    inside = [file for file in path.glob("wider_face_*.mat") if file.is_file()] if path.is_dir() else []
    return inside[0] if inside else path if path.is_file() and path.name.startswith("wider_face_") and (
        path.suffix == ".mat") else None  # fmt: skip


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is WIDER FACE ground truth or predictions."""
    if mat_of(probe.path) is not None:
        return "wider_face_….mat of the evaluation tools"
    files = face_files(probe)
    lines = [line.split() for line in head_of(files[0]).splitlines()[:3]] if files else []
    if (
        len(lines) < 2
        or len(lines[0]) != 1
        or is_number(lines[0][0])
        or len(lines[1]) != 1
        or not lines[1][0].isdecimal()
    ):
        return None
    if len(lines) < 3:
        return "the name of an image and the number of its faces" if int(lines[1][0]) == 0 else None
    if len(lines[2]) in (TRUTH, PRED) and all(map(is_number, lines[2])):
        return f"the name of an image, the number of its faces, and {len(lines[2])} numbers per face"
    return None


def read(path: Path, options: Options) -> Annotations:
    """Read ground truth of all images, or predictions of one file per image."""
    if (mat := mat_of(path)) is not None:
        # Faces of the evaluation tools: events, their images, and the boxes of each; invalid ones are ignored.
        from verite.formats.mat_files import read_mat

        rows, content = Rows(path, options), read_mat(mat)
        for key in ("event_list", "file_list", "face_bbx_list", "invalid_label_list"):
            if key not in content:
                raise ReadError(mat, expected=key, found=", ".join(content) or "nothing")
        lists = zip(*(content[key] for key in ("event_list", "file_list", "face_bbx_list", "invalid_label_list")),
                    strict=True)  # fmt: skip
        for event, names, boxes, invalid in lists:
            for name, own, odd in zip(names, boxes, invalid, strict=True):
                image = f"{event}/{name}.jpg"
                rows.add_image(str(mat), image)
                for box, is_odd in zip(own.tolist(), odd.ravel().tolist(), strict=True):
                    rows.add(str(mat), image, LABEL, box, flags=["ignore"] if is_odd else [])
        return rows.annotations("wider", layout="xywh")
    files, why = files_of_split(path, face_files(PathProbe(path)), options, by_name=True)
    if not files:
        raise ReadError(path, expected="files ending in .txt", found="none")
    rows = Rows(path, options)
    for file in count_files("reading", files):
        with rows.errors:
            read_faces(rows, file)
    return rows.annotations("wider", layout="xywh", why=why)


def read_faces(rows: Rows, file: Path) -> None:
    """The images of a file, each followed by its faces."""
    lines = [(i, line.strip()) for i, line in enumerate(read_lines(file), start=1) if line.strip()]
    at = 0
    while at < len(lines):
        number, image = lines[at]
        rows.add_image(f"{file}:{number}", image)
        if at + 1 >= len(lines) or not lines[at + 1][1].isdecimal() or len(lines[at + 1][1]) > 9:
            found = excerpt(lines[at + 1][1]) if at + 1 < len(lines) else "the end of the file"
            raise ReadError(f"{file}:{number + 1}", expected="the number of faces", found=found)
        count = int(lines[at + 1][1])
        at += 2
        if not count and at < len(lines) and set(lines[at][1].split()) == {"0"}:
            at += 1  # where there is no face, the data set has a line of zeros
        if at + count > len(lines):
            raise ReadError(
                file, expected=f"{count} faces of {image}", found="the end of the file", remedy="was it cut off? (V403)"
            )
        for place, line in lines[at : at + count]:
            with rows.errors:
                where = f"{file}:{place}"
                numbers = to_numbers(line.split(), where)
                if len(numbers) not in (TRUTH, PRED):
                    expected = f"{TRUTH} numbers per face, {PRED} of a prediction"
                    raise ReadError(where, expected=expected, found=f"{len(numbers)} ({excerpt(line)})")
                if len(numbers) == PRED:
                    rows.add(where, image, LABEL, numbers[:4], numbers[4])
                else:
                    flags = [flag for flag, at in (("ignore", INVALID), ("occluded", OCCLUDED)) if numbers[at] > 0]
                    rows.add(where, image, LABEL, numbers[:4], flags=flags)
        at += count


FORMAT = Format(
    name="wider",
    title="WIDER FACE",
    about="the path of an image, the number of its faces, a line per face; predictions are a file per image",
    recognise=recognise,
    read=read,
    options=FRAMES | {"split"},
    suffixes=(".txt", ".mat"),
)
