"""MOTChallenge and MOTS: one text file per sequence, with a frame and a track id per line.

MOTChallenge: lines of `frame,id,left,top,width,height,confidence,…`. In ground truth (`gt.txt`) the seventh number says
whether a box counts, the eighth is its class; in predictions the seventh is the confidence. MOTS (segmentation): lines
of `frame id class height width rle`, where the id is class × 1000 + number and class 10 is a region to ignore. Images
are frames, named `SEQUENCE/000001`; `seqinfo.ini` gives their number and size. The second number is the track id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import ErrorCollector, ReadError, excerpt, spell_option, to_format
from verite.files import folder_atomically, read_lines, read_text, write_atomically
from verite.formats.format import Format, Options, PathProbe, head_of
from verite.formats.polygons import bounds_of_runs, check_mask_size, parse_runs
from verite.formats.rows import Rows, build, size_images
from verite.formats.sizes import check_size, need_pixels
from verite.formats.text_lines import to_numbers
from verite.model.annotations import FLAGS, Annotations, Source
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.regions import MASK
from verite.model.sequences import Sequences

LINE = re.compile(r"\s*\d+\s*,\s*-?\d+(\.0*)?\s*(,\s*-?[\d.]+(e[-+]?\d+)?\s*){5,8}")
CLASSES = (
    "pedestrian",
    "person on vehicle",
    "car",
    "bicycle",
    "motorbike",
    "non-motorized vehicle",
    "static person",
    "distractor",
    "occluder",
    "occluder on the ground",
    "occluder full",
    "reflection",
)
DISTRACTORS = ("person on vehicle", "static person", "distractor", "reflection")  # predictions on them are ignored
LEAST, MOST = 7, 10
FRAMES_AT_MOST = 1_000_000
SCORE = 6  # column of the confidence, in ground truth of the flag "counts"
CLASS = 7  # column of the class, in ground truth with nine columns
LOOKED_AT = 200  # lines that distinguish ground truth from predictions


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is a MOT sequence, or a folder of them."""
    files = sequence_files(probe.path)
    lines = head_of(files[0]).splitlines()[:20] if files else []
    if lines and all(LINE.fullmatch(line) for line in lines[:-1] or lines):
        return "lines of a frame, a track, a box and a confidence with commas between them"
    return None


def sequence_files(path: Path) -> list[Path]:
    """The file itself, the ground truth below a folder, or the text files in it, one per sequence."""
    if not path.is_dir():
        return [path] if path.suffix.lower() == ".txt" else []
    truths = sorted([*path.glob("gt/gt.txt"), *path.glob("*/gt/gt.txt")])
    return truths or sorted(p for p in path.glob("*.txt") if p.is_file())


def read(path: Path, options: Options) -> Annotations:
    """Read the sequences of a file or folder.

    Lines are parsed by the core, all of a file at once; only those that it cannot read are parsed one by one, for their
    errors and for rare spellings of numbers.
    """
    files = sequence_files(path)
    if not files:
        raise ReadError(path, expected="gt/gt.txt or text files, one per sequence", found="none")
    kinds = {is_truth(file): file for file in reversed(files)}
    if len(kinds) > 1:
        raise ReadError(path, expected="ground truth or results, one file per sequence",
                        found=f"ground truth ({kinds[True].name}) beside results ({kinds[False].name})",
                        remedy=f"name the file itself: {kinds[True]} or {kinds[False]}")  # fmt: skip
    has_truth, errors = True in kinds, ErrorCollector()
    parts = [read_sequence(file, errors, is_truth=has_truth) for file in files]
    values = np.concatenate([part.values for part in parts])
    count = len(values)
    flags = {name: np.zeros(count, dtype=np.bool_) for name in FLAGS}
    label, used = np.zeros(count, dtype=np.int32), [CLASSES[0]] if count else []
    notes = []
    if has_truth:
        # Ground truth with fewer than nine columns has no classes: pedestrians.
        number = np.where(np.isnan(values[:, CLASS]), 1, values[:, CLASS]).astype(np.int64) - 1
        used = sorted(CLASSES[i] for i in np.unique(number).tolist())
        label = np.array([used.index(name) if name in used else 0 for name in CLASSES], dtype=np.int32)[number]
        flags["ignore"] = values[:, SCORE] == 0
        is_distractor = np.array([name in DISTRACTORS for name in CLASSES])[number]
        flags["ignore_region"] = flags["ignore"] & is_distractor
        if flags["ignore"].any():
            notes.append(
                f"{int(flags['ignore'].sum()):,} objects are ignored (flag 0), {int(flags['ignore_region'].sum()):,} "
                "of them for predictions of any class: distractors, static persons, persons on vehicles and reflections"
            )
    images, image = frame_table(parts)
    return build(
        options,
        values[:, 2:6],
        "xywh",
        images=size_images(images, options, path),
        image=image,
        labels=Labels(used),
        label=label,
        confidence=None if has_truth or not count else np.ascontiguousarray(values[:, SCORE]),
        track=values[:, 1].astype(np.int64) if count else None,
        flags=flags,
        source=Source(
            str(path),
            "mot",
            "ground truth, because of its name or its classes"
            if has_truth
            else "predictions, the seventh number a confidence",
            tuple(notes),
            errors.flaws,
        ),
    )


@dataclass(frozen=True, eq=False)
class SequenceLines:
    """The lines of one sequence: a row of ten numbers each (nan where a line is shorter), and its frames.

    `frames` are the numbers of all frames, those of seqinfo.ini first; `size` is their width and height, 0 if unknown.
    """

    name: str
    values: NDArray[np.float64]
    frames: NDArray[np.int64]
    size: tuple[int, int]


def frame_table(parts: Sequence[SequenceLines]) -> tuple[Images, NDArray[np.int32]]:
    """Return the frames of all sequences as images, and the image of each object."""
    counts = [len(part.frames) for part in parts]
    sequences = Sequences(
        tuple(dict.fromkeys(part.name for part in parts)),
        np.repeat(np.arange(len(parts)), counts),
        np.concatenate([part.frames for part in parts]) if parts else np.zeros(0, dtype=np.int64),
    )
    images = Images(
        [f"{part.name}/{frame:06d}" for part in parts for frame in part.frames.tolist()],
        widths=np.repeat([part.size[0] for part in parts], counts),
        heights=np.repeat([part.size[1] for part in parts], counts),
        sequences=sequences,
    )
    image, first = [], 0
    for part in parts:
        order = np.argsort(part.frames)
        found = np.searchsorted(part.frames, part.values[:, 0].astype(np.int64), sorter=order)
        image.append(first + order[found])
        first += len(part.frames)
    return images, np.concatenate(image).astype(np.int32)


def sequence_name(file: Path) -> str:
    """MOT17-02 for MOT17-02/gt/gt.txt, MOT17-02/det/det.txt and MOT17-02.txt."""
    return file.parent.parent.name if file.parent.name == file.stem and file.stem in ("gt", "det") else file.stem


def is_truth(file: Path) -> bool:
    """By its name, else by nine numbers of which the seventh is 0 or 1 and the eighth a class."""
    if file.stem in ("gt", "det"):
        return file.stem == "gt"
    # So few that none of them is cut off where the beginning ends.
    lines = [line.split(",") for line in head_of(file).splitlines()[:LOOKED_AT] if line.strip()]
    return bool(lines) and all(
        len(words) == 9 and words[6].strip() in ("0", "1") and words[7].strip() in map(str, range(1, len(CLASSES) + 1))
        for words in lines
    )


def read_sequence(file: Path, errors: ErrorCollector, *, is_truth: bool) -> SequenceLines:
    """Read the lines of one sequence; invalid ones are errors, or left out where all errors are listed."""
    name = sequence_name(file)
    if name != name.encode("utf-8", "replace").decode():
        raise ReadError(file, expected="an image name in UTF-8", found=excerpt(name))
    size, count = (0, 0), 0  # of the frames, as seqinfo.ini says
    place = file.parent.parent / "seqinfo.ini"
    if file.parent.name in ("gt", "det") and place.is_file():
        info = dict(re.findall(r"^(\w+)\s*=\s*(\d{1,9})\s*$", read_text(place), re.MULTILINE))
        size, count = (int(info.get("imWidth", 0)), int(info.get("imHeight", 0))), int(info.get("seqLength", 0))
        if count > FRAMES_AT_MOST:
            raise ReadError(place, expected=f"at most {FRAMES_AT_MOST:,} frames", found=f"{count:,}")
        check_size(place, *size)
    text = read_text(file)
    values, line, lengths, other = _core.read_number_lines(text.encode(), ",", MOST)
    whole = np.floor(values[:, :2])
    is_valid = (lengths >= LEAST) & (whole == values[:, :2]).all(axis=1)
    is_valid &= (whole[:, 0] >= 1) & (whole[:, 0] <= FRAMES_AT_MOST) & (np.abs(whole[:, 1]) < 2**63)
    if is_truth:
        number = values[:, CLASS]
        has_class = lengths == 9
        is_valid &= ~has_class | ((number >= 1) & (number <= len(CLASSES)) & (np.floor(number) == number))
        values[~has_class, CLASS] = np.nan
    rest = np.sort(np.concatenate([other, line[~is_valid]]))
    values, line = values[is_valid], line[is_valid]
    if len(rest):
        lines, found = read_lines(file), []
        for number in rest.tolist():
            with errors:
                found.append((number, parse_line(f"{file}:{number}", lines[number - 1], is_truth=is_truth)))
        if found:
            order = np.argsort(np.concatenate([line, [number for number, _ in found]]), kind="stable")
            values = np.concatenate([values, [row for _, row in found]])[order]
    frame = values[:, 0].astype(np.int64)
    known = np.arange(1, count + 1)
    seen, first = np.unique(frame[frame > count], return_index=True)
    return SequenceLines(name, values, np.concatenate([known, seen[np.argsort(first)]]), size)


def parse_line(where: str, line: str, *, is_truth: bool) -> list[float]:
    """Return the ten numbers of one line, nan for those it does not have.

    Raises
    ------
    ReadError
        If the line has another number of words, a word is no number, or a frame, track id or class is none.
    """
    words = line.split(",")
    if not LEAST <= len(words) <= MOST:
        expected = f"{LEAST} to {MOST} numbers with commas between them, FRAME,ID,LEFT,TOP,WIDTH,HEIGHT,CONFIDENCE"
        raise ReadError(where, expected=expected, found=f"{len(words)} ({excerpt(line.strip())})")
    numbers = to_numbers([word.strip() for word in words], where)
    frame, track = numbers[:2]
    if frame != frame or not 1 <= frame <= FRAMES_AT_MOST or frame != int(frame):
        raise ReadError(where, expected="the number of a frame, from 1", found=excerpt(words[0]))
    if not (abs(track) < 2**63 and track == int(track)):
        raise ReadError(where, expected="the id of a track, a whole number", found=excerpt(words[1]))
    if is_truth and len(words) == 9:
        class_name(where, numbers[CLASS])
    elif is_truth:
        numbers = numbers[:CLASS]
    return [*numbers, *[float("nan")] * (MOST - len(numbers))]


def class_name(where: str, number: float) -> str:
    """Return the class of a number from 1 to 12; any other number is a `ReadError`.

    Parameters
    ----------
    where
        File and line, for messages.
    number
        Class number of MOT16 to MOT20, such as 1 for pedestrians.
    """
    if number != number or not 1 <= number <= len(CLASSES) or number != int(number):
        raise ReadError(where, expected=f"a class from 1 to {len(CLASSES)}", found=str(number))
    return CLASSES[int(number) - 1]


def track_frames(annotations: Annotations, path: Path) -> tuple[NDArray[np.int64], Sequences]:
    """Return the track of each object and the sequences; annotations without them cannot be written as tracks.

    Raises
    ------
    ReadError
        If objects have no track ids, or frames are counted from 0 or below.
    DataError
        If the names of images are no frames.
    """
    need_pixels(annotations, path)
    if annotations.track is None:
        raise ReadError(path, expected="objects with track ids", found="none", remedy="choose another format")
    sequences = Sequences.of(annotations.images, path)
    return annotations.track, sequences


def write(annotations: Annotations, path: Path) -> None:
    """Write a folder: SEQUENCE/gt/gt.txt and seqinfo.ini of ground truth, SEQUENCE.txt of predictions.

    A path that ends in .txt becomes the file of the only sequence. Frames that are counted from 0 are written from 1.
    """
    track, sequences = track_frames(annotations, path)
    names, confidence = annotations.labels.all_names, annotations.confidence
    unknown = [name for name in names if name not in CLASSES]
    used = np.unique(annotations.label).tolist()
    if confidence is None and any(names[i] in unknown for i in used):
        found = excerpt(next(names[i] for i in used if names[i] in unknown))
        raise ReadError(path, expected="classes of MOTChallenge (pedestrian, car …)", found=found,
                        remedy=f"map it with {spell_option('map', 'FILE')}, or choose another format")  # fmt: skip
    if confidence is not None and len(used) > 1:
        found = f"{len(used)} classes"
        raise ReadError(path, expected="predictions of one class", found=found, remedy="choose another format")
    lines: list[list[tuple[int, int, str]]] = [[] for _ in sequences.names]
    ignored = annotations.ignored
    for row, box in enumerate(annotations.regions.sizes.tolist()):
        image = int(annotations.image[row])
        at = int(sequences.sequence[image])
        frame = int(sequences.frame[image]) + shift_of(sequences, at)
        end = (
            f"{float(confidence[row])!r},-1,-1,-1"
            if confidence is not None
            else f"{int(not ignored[row])},{CLASSES.index(names[annotations.label[row]]) + 1},1"
        )
        text = f"{frame},{int(track[row])},{','.join(map(repr, box))},{end}\n"
        lines[at].append((frame, int(track[row]), text))
    texts = ["".join(text for *_, text in sorted(of)) for of in lines]
    if path.suffix.lower() == ".txt":
        if len(texts) != 1:
            raise ReadError(path, expected="one sequence in a file", found=str(len(texts)), remedy="name a folder")
        write_atomically(path, texts[0])
        return
    with folder_atomically(path) as folder:
        for at, (name, text) in enumerate(zip(sequences.names, texts, strict=True)):
            safe = name.replace("/", "-") or "sequence"
            if confidence is not None:
                (folder / f"{safe}.txt").write_text(text, encoding="utf-8")
                continue
            (folder / safe / "gt").mkdir(parents=True)
            (folder / safe / "gt" / "gt.txt").write_text(text, encoding="utf-8")
            mine = np.flatnonzero(sequences.sequence == at)
            length = int(sequences.frame[mine].max(initial=0)) + shift_of(sequences, at)
            width, height = (
                int(sides[mine].max(initial=0)) for sides in (annotations.images.widths, annotations.images.heights)
            )
            info = f"[Sequence]\nname={safe}\nseqLength={length}\nimWidth={width}\nimHeight={height}\n"
            (folder / safe / "seqinfo.ini").write_text(info, encoding="utf-8")


def shift_of(sequences: Sequences, at: int) -> int:
    """Return what has to be added to the frames of a sequence so that they count from 1: 1 if its first is 0."""
    frames = sequences.frame[sequences.sequence == at]
    return 1 if len(frames) and frames.min() == 0 else 0


FORMAT = Format(
    name="mot",
    title="MOT challenge",
    about="a text file per sequence, `frame,id,left,top,width,height,confidence,…` per line; frames become images",
    recognise=recognise,
    read=read,
    write=write,
    preserves=frozenset({"confidence", "ignore", "image folder or suffix", "image size", "track id"}),
    requires=frozenset({"tracks", "known class names"}),
)

MOTS_CLASSES = {1: "car", 2: "pedestrian"}
MOTS_IGNORED = 10  # class of the regions to ignore
MOTS_LINE = re.compile(r"\s*\d+ \d+ (1|2|10) \d+ \d+ [!-~]+\s*")


def recognise_mots(probe: PathProbe) -> str | None:
    """Return why a path is MOTS: lines of a frame, a track, a class, a height, a width and a run-length mask."""
    files = mots_files(probe.path)
    lines = head_of(files[0]).splitlines()[:20] if files else []
    if lines and all(MOTS_LINE.fullmatch(line) for line in lines[:-1] or lines):
        return "lines of a frame, a track, a class, a height, a width and a run-length mask"
    return None


def mots_files(path: Path) -> list[Path]:
    """Return the files of the sequences: as of MOTChallenge, or `instances_txt/*.txt` as KITTI MOTS has them."""
    return sequence_files(path / "instances_txt" if (path / "instances_txt").is_dir() else path)


def read_mots(path: Path, options: Options) -> Annotations:
    """Read the masks of MOTS sequences. Predictions have no confidence in this format."""
    files = mots_files(path)
    if not files:
        raise ReadError(path, expected="text files, one per sequence", found="none")
    rows = Rows(path, options)
    places: dict[str, tuple[str, int]] = {}  # sequence and frame of each image
    for file in files:
        name = sequence_name(file)
        for number, line in enumerate(read_lines(file), start=1):
            where, words = f"{file}:{number}", line.split()
            if not words:
                continue
            with rows.errors:
                if len(words) != 6 or not all(word.isdecimal() and len(word) < 10 for word in words[:5]):
                    raise ReadError(where, expected="FRAME ID CLASS HEIGHT WIDTH RLE", found=excerpt(line.strip(), 60))
                frame, track, kind, height, width = map(int, words[:5])
                if kind not in (*MOTS_CLASSES, MOTS_IGNORED):
                    raise ReadError(where, expected="class 1 (car), 2 (pedestrian) or 10 (ignored)", found=words[2])
                check_mask_size(where, height, width)
                runs = parse_runs(where, words[5], height, width)
                image = f"{name}/{frame:06d}"
                rows.remember_image(where, image, (width, height))
                places[image] = (name, frame)
                flags = ["ignore", "ignore_region"] if kind == MOTS_IGNORED else []
                label, box = MOTS_CLASSES.get(kind, MOTS_CLASSES[2]), bounds_of_runs(runs, height)
                rows.add(where, image, label, box, track=track, runs=(runs, (height, width)), flags=flags)
    if rows.flags["ignore"]:
        rows.notes.append(f"{len(rows.flags['ignore']):,} regions of class {MOTS_IGNORED} are ignored for all classes")
    found = rows.annotations("mots", layout="xywh")
    names = tuple(dict.fromkeys(name for name, _ in places.values()))
    at = [places[name] for name in rows.images]
    sequences = Sequences(
        names,
        np.array([names.index(name) for name, _ in at], dtype=np.int64),
        np.array([frame for _, frame in at], dtype=np.int64),
    )
    return found.changed(images=found.images.with_sequences(sequences))


def write_mots(annotations: Annotations, path: Path) -> None:
    """Write one text file per sequence; a track id below 1000 gets its class before it (class × 1000 + id)."""
    track, sequences = track_frames(annotations, path)
    regions, names = annotations.regions, annotations.labels.all_names
    numbers = {name: number for number, name in MOTS_CLASSES.items()}
    lines: list[list[tuple[int, str]]] = [[] for _ in sequences.names]
    for row in range(len(annotations)):
        if regions.runs is None or regions.kinds[row] != MASK:
            raise ReadError(
                path, expected="a mask of each object", found="boxes", remedy=f"write MOT text: {to_format('mot')}"
            )
        is_ignored = bool(annotations.ignored[row])
        label = names[annotations.label[row]]
        if not is_ignored and label not in numbers:
            raise ReadError(
                path,
                expected="cars and pedestrians",
                found=excerpt(label),
                remedy=f"map it with {spell_option('map', 'FILE')}",
            )
        number = MOTS_IGNORED if is_ignored else numbers[label]
        key = int(track[row])
        key = key if key >= 1000 else 1000 * number + key
        image = int(annotations.image[row])
        frame, (height, width) = int(sequences.frame[image]), regions.runs.sizes[row].tolist()
        rle = _core.encode_runs(np.ascontiguousarray(regions.runs[row])).decode()
        lines[int(sequences.sequence[image])].append((frame, f"{frame} {key} {number} {height} {width} {rle}\n"))
    with folder_atomically(path) as folder:
        for name, of in zip(sequences.names, lines, strict=True):
            text = "".join(text for _, text in sorted(of, key=lambda one: one[0]))
            (folder / f"{name.replace('/', '-') or 'sequence'}.txt").write_text(text, encoding="utf-8")


MOTS = Format(
    name="mots",
    title="MOTS masks of tracks",
    about="a text file per sequence, `frame id class height width rle` per line; class 10 is ignored",
    recognise=recognise_mots,
    read=read_mots,
    write=write_mots,
    preserves=frozenset({"ignore", "image folder or suffix", "image size", "mask", "track id"}),
    requires=frozenset({"tracks", "known class names", "masks for all objects or none"}),
    options=frozenset(),
)
