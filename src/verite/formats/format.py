"""What every annotation format declares (`Format`), the options of reading (`Options`), and a first look at a path.

A format is a record of three functions (recognise, read, write) and of what it can express: the facts it preserves, the
facts it requires, and the options it uses. Help, documentation, recognition and the common tests work on these records.
Class names by number, which many formats keep in a file beside the annotations, are read here as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from verite.arrays import np
from verite.errors import BadParameter, ReadError, did_you_mean, excerpt
from verite.files import check_file, find_path, read_text
from verite.formats.polygons import bounds_of_runs
from verite.formats.text_lines import is_number
from verite.limits import limit, remedy
from verite.model.annotations import Annotations
from verite.model.images import Images, stem
from verite.model.layouts import layout_name
from verite.model.regions import MASK, POLYGON, Regions, angle_factor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.formats.class_map import ClassMap


def facts_of(annotations: Annotations) -> set[str]:
    """Return the kinds of facts that annotations contain and that some format cannot store.

    `write` reports those that the chosen format does not preserve. The names are those of `Format.preserves`.
    """
    labels, images = annotations.labels, annotations.images
    is_unused = len(np.unique(annotations.label)) < len(labels)
    has_both = labels.ids is not None and labels.names is not None
    is_count = labels.ids is not None and np.array_equal(labels.ids, np.arange(len(labels)))  # an order, not ids
    regions, tolerance = annotations.regions, 1e-9 if annotations.unit == "rel" else 1e-6
    rings = np.diff(regions.polygons.objects) if regions.polygons is not None else np.zeros(len(regions))
    is_polygon, is_mask = regions.kinds == POLYGON, regions.kinds == MASK
    present = {
        "area": annotations.area is not None,
        "class group": labels.groups is not None,
        "confidence": annotations.confidence is not None,
        "classes of whole images": annotations.verdicts is not None and len(annotations.verdicts) > 0,
        "empty image": len(np.unique(annotations.image)) < len(annotations.images),
        "keypoints": annotations.regions.has_keypoints,
        "object id": annotations.ids is not None,
        "skeleton": labels.skeletons is not None,
        "track id": annotations.track is not None,
        "unused class": is_unused and labels.names is not None,
        "unused class id": is_unused and labels.names is None,
        # A name without an id identifies the image; every format keeps it.
        "image folder or suffix": any(name != stem(name) for name in images.names or ()),
        "image id": images.ids is not None,
        "image name": images.ids is not None and images.names is not None,
        "image size": bool((images.widths > 0).any()),
        "class id": has_both and not is_count,
        "class order": has_both and is_count,
        "class name": has_both,
        "class id without a name": labels.names is None,
        "box apart from its mask": has_tighter_box(regions, np.flatnonzero(is_mask), tolerance),
        "box apart from its polygon": has_tighter_box(regions, np.flatnonzero(is_polygon), tolerance),
        "mask": bool(is_mask.any()),
        "polygon": bool((is_polygon & (rings == 1)).any()),
        "polygon beside a mask": bool((is_mask & (rings > 0)).any()),
        "polygon of several rings": bool((is_polygon & (rings > 1)).any()),
    }
    return {fact for fact, there in present.items() if there} | set(annotations.flags)


def flags_by_row(annotations: Annotations) -> list[list[str]]:
    """Return for each object the names of its flags (`crowd`, `difficult` …)."""
    found: list[list[str]] = [[] for _ in range(len(annotations))]
    for name, column in annotations.flags.items():
        for row in np.flatnonzero(column).tolist():
            found[row].append(name)
    return found


def has_tighter_box(regions: Regions, rows: NDArray[np.int64], tolerance: float) -> bool:
    """Tell whether, among these objects of one kind, some box differs from the bounding box of its polygon or mask."""
    if not len(rows):
        return False
    if regions.kinds[rows[0]] == POLYGON and regions.polygons is not None:
        chosen = regions.polygons.take(rows)
        starts = chosen.rings[chosen.objects[:-1]]
        low, high = (f.reduceat(chosen.points, starts, axis=0) for f in (np.minimum, np.maximum))
        boxes, around = regions.boxes[rows], np.concatenate([low, high], axis=1)
    else:
        assert regions.runs is not None
        heights = regions.runs.sizes[:, 0]
        bounds = [bounds_of_runs(regions.runs[row], int(heights[row])) for row in rows.tolist()]
        boxes, around = regions.sizes[rows], np.array(bounds)
    return not np.allclose(boxes, around, rtol=0, atol=tolerance)


HEAD = 65_536

# The options that a format may use, and those that the command line has once for both sides.
OPTION_NAMES = ("boxes", "coords", "angle", "image_size", "images", "names", "label_offset", "image_offset", "columns",
                "split", "masks", "mask_threshold", "class_name", "annotator", "field")  # fmt: skip

OFFSETS = ("label_offset", "image_offset")

BOTH_SIDES = ("image_size", "images", "names", "split", "columns", "mask_threshold", "class_name", "annotator")

OTHER_SPELLINGS = {"class_name": "class"}  # options whose name on the command line is another one

# What the pixels of mask images may be, and what they mean then.
MASKS = {
    "binary": "one object of all pixels but 0",
    "contour": "one object inside a drawn curve",
    "objects": "an object for every value but 0",
    "classes": "a class for every value but 0 and 255",
    "instances": "class × 1000 + number, as Cityscapes has them",
    "every": "a class for every value, 0 and 255 too",
}


@dataclass(frozen=True)
class Options:
    """How to read a file where the file itself does not say or says it wrongly: the keyword arguments of `vt.read`.

    Values are validated on construction; an invalid one is a `BadParameter`.
    """

    boxes: str | None = None  # what the four numbers mean: a name out of LAYOUTS
    coords: str | None = None  # abs, rel, WIDTHxHEIGHT of the image they were measured in, or *FACTOR
    angle: str | None = None  # of rotated boxes of five numbers: a name out of ANGLES
    image_size: tuple[int, int] | None = None  # width and height of every image
    images: Path | None = None  # the folder with the images
    names: Path | Sequence[str] | None = None  # class names by number
    label_offset: int = 0  # added to every class id
    image_offset: int = 0  # added to every image id
    columns: Mapping[str, str] | None = None  # which column of a table stands for which of ours
    split: str | None = None  # which part of a data set: train, val or test
    masks: str | None = None  # what the pixels of mask images are: a name out of MASKS
    mask_threshold: float | None = None  # share of white from which a grey pixel belongs to the object
    class_name: str | None = None  # the class of all objects of a table without a column of classes
    unknown_images: str | None = None  # predictions on images that the truth does not have: stop or drop
    annotator: str | None = None  # the column of annotators, or COLUMN=NAME for the objects of one of them
    class_map: ClassMap | None = None  # names of classes and the classes they stand for
    field: str | None = None  # which field of a framework's object holds the objects
    like: Annotations | None = None  # the truth: its images give sizes, its labels names
    predictions: Any = None  # what is read next to this ground truth: its images may select the split
    side: str | None = None  # who asks: truth or pred on the command line, "" for its only side, None for Python

    @classmethod
    def of(
        cls,
        *,
        images: str | PathLike[str] | None = None,
        names: str | PathLike[str] | Sequence[str] | None = None,
        map: Any = None,
        **given: Any,
    ) -> Options:
        """Build options from user input; the paths must exist and be readable, whether or not the format uses them."""
        folder = find_path(images) if images is not None else None
        if folder is not None and not folder.is_dir():
            raise ReadError(folder, expected="a folder of images", found="a file")
        if isinstance(names, (str, PathLike)):
            names = find_path(names)
            check_file(names)
        if map is not None:
            from verite.formats.class_map import ClassMap

            map = ClassMap.of(map)
        return cls(images=folder, names=names, class_map=map, **given)

    def spell(self, name: str, value: object) -> str:
        """Return an option as the user would write it: an argument in Python, an option on the command line.

        >>> Options(side="pred").spell("label_offset", -1), Options().spell("format", "text")
        ('--pred-label-offset -1', "format='text'")
        """
        if self.side is None:
            return f"{name}={value!r}"
        side = f"{self.side}-" if self.side and name not in BOTH_SIDES else ""
        return f"--{side}{OTHER_SPELLINGS.get(name, name).replace('_', '-')} {value}"

    def __post_init__(self) -> None:
        for name in ("boxes", "coords", "angle", "masks", "class_name", "annotator", "field"):
            if not isinstance(getattr(self, name), (str, type(None))):
                raise BadParameter(f"{name}: expected a word, found {excerpt(getattr(self, name))}")
        for name in OFFSETS:
            offset = getattr(self, name)
            if isinstance(offset, bool) or not isinstance(offset, Integral) or abs(int(offset)) >= 2**53:
                raise BadParameter(f"{name}: expected a whole number below 2^53, found {excerpt(offset)}")
        if not isinstance(self.mask_threshold, (Real, type(None))):
            raise BadParameter(f"mask threshold: expected a number, found {excerpt(self.mask_threshold)}")
        if self.image_size is not None:
            size = self.image_size
            sides = tuple(size) if isinstance(size, Sequence) and not isinstance(size, str) else ()
            if len(sides) != 2 or not all(isinstance(side, Real) and float(side) >= 1 for side in sides):
                raise BadParameter(f"image size: expected WIDTH,HEIGHT above 0, found {excerpt(size)}")
        if self.boxes is not None:
            layout_name(self.boxes)
        if self.coords is not None:
            frame_of(self.coords)
        if self.angle is not None:
            angle_factor(self.angle)
        unknown = self.unknown_images
        if unknown is not None and not (isinstance(unknown, str) and unknown in ("stop", "drop")):
            raise BadParameter(f"unknown images: expected stop or drop, found {excerpt(unknown)}")
        if self.masks is not None and self.masks not in MASKS:
            near = did_you_mean(self.masks, MASKS)
            raise BadParameter(f"masks: expected one of {', '.join(MASKS)}, found {self.masks!r}{near}")
        if self.mask_threshold is not None and not 0 < self.mask_threshold <= 1:
            raise BadParameter(f"mask threshold: expected a share above 0 and up to 1, found {self.mask_threshold}")


@dataclass(frozen=True)
class Frame:
    """The unit of coordinates: pixels times a factor, or fractions of a frame of this width and height."""

    width: float = 0  # 0: absolute
    height: float = 0
    factor: float = 1.0

    @property
    def is_relative(self) -> bool:
        """Whether coordinates are fractions of a frame."""
        return self.width > 0


def frame_of(coords: str | None) -> Frame:
    """Parse the option `coords`: `abs`, `rel`, `WIDTHxHEIGHT` or `*FACTOR`.

    >>> frame_of("640x480"), frame_of("*0.5")
    (Frame(width=640.0, height=480.0, factor=1.0), Frame(width=0, height=0, factor=0.5))
    """
    if coords is None or coords == "abs":
        return Frame()
    if coords == "rel":
        return Frame(1, 1)
    try:
        if coords.startswith("*"):
            frame = Frame(factor=float(coords[1:]))
        else:
            width, height = coords.split("x")
            frame = Frame(float(width), float(height))
    except ValueError:
        frame = Frame(factor=-1)
    if not (0 < frame.factor < 1e9 and 0 <= frame.width < 1e9 and 0 <= frame.height < 1e9):
        raise BadParameter(f"coords: expected abs, rel, WIDTHxHEIGHT or *FACTOR, found {coords!r}")
    return frame


DEEPEST = 8  # levels of folders below which no files are searched


@dataclass(frozen=True)
class PathProbe:
    """A first look at a path, for recognition: the names of its files and the first 64 KiB of one of them.

    Everything is computed at first use and kept, so that all formats share one probe.
    """

    path: Path

    @cached_property
    def is_folder(self) -> bool:
        """Whether the path is a folder."""
        return self.path.is_dir()

    @cached_property
    def files(self) -> list[Path]:
        """The files of a folder and its subfolders, or of the next level that has some; for a file, the file itself."""
        if not self.is_folder:
            return [self.path]
        found = [p for p in self.path.iterdir() if not p.name.startswith(".")]
        inner = [q for p in found if p.is_dir() for q in p.iterdir() if not q.name.startswith(".")]
        files = [p for p in [*found, *inner] if p.is_file()]
        for depth in range(3, DEEPEST):  # as in the roots of Cityscapes and of downloads
            files = files or [p for p in self.path.glob("/".join("*" * depth)) if p.is_file()]
        # Ultralytics keeps a cache beside the labels it has read.
        return sorted(p for p in files if not p.name.startswith(".") and p.suffix != ".cache")

    def with_suffix(self, suffix: str) -> list[Path]:
        """Return the files of this suffix, whatever its case."""
        return [p for p in self.files if p.suffix.lower() == suffix]

    @cached_property
    def head(self) -> str:
        """The first 64 KiB of the file, or of the first file of the folder, as text."""
        return head_of(self.files[0]) if self.files else ""

    @cached_property
    def documents(self) -> dict[Path, str]:
        """The first three documents (JSON, JSON lines, a manifest) of the path, and how they begin."""
        suffixes = (".json", ".jsonl", ".ndjson", ".manifest")
        found = [p for p in self.files if p.suffix.lower() in suffixes or not self.is_folder]
        return {path: head_of(path).lstrip() for path in found[:3]}

    @cached_property
    def lines(self) -> list[list[str]]:
        """The words of the first 50 lines of the first 50 text files; lists of classes or images are skipped."""
        texts = (p for p in self.with_suffix(".txt") if not self.is_folder or not is_list(p))
        heads = (head_of(p).splitlines()[:50] for p in islice(texts, 50))
        return [words for lines in heads for line in lines if (words := line.split())]


# Text files of these names stand beside annotations and list classes or images.
LISTS = frozenset({"classes", "train", "val", "test", "labelmap", "names", "obj"})


def is_list(path: Path) -> bool:
    """Tell whether a text file lists classes or images instead of objects.

    Its name alone does not decide: an image may be called `train`, and then the lines hold four or more numbers.
    """
    if path.stem not in LISTS:
        return False
    words = next((w for line in head_of(path).splitlines() if (w := line.split())), [])
    return sum(map(is_number, words)) < 4


def head_of(path: Path) -> str:
    """Return the first 64 KiB of a file as text; undecodable bytes become U+FFFD; empty if it cannot be opened."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD).decode("utf-8-sig", errors="replace")
    except OSError:
        return ""


def tail_of(path: Path, length: int = HEAD) -> str:
    """Return the end of a file as text, for formats whose distinctive keys come last.

    Parameters
    ----------
    path
        The file.
    length
        Number of bytes from its end.

    Returns
    -------
    str
        Text, with replacements for bytes that are no UTF-8; empty for a file that cannot be read.
    """
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - length))
            return file.read(length).decode(errors="replace")
    except OSError:
        return ""


# What annotations must have before a format writes them at all.
REQUIREMENTS = (
    "boxes from left to right",
    "class group",
    "class id",
    "class names without blanks",
    "classes of whole images",
    "confidence",
    "four corners",
    "image size",
    "keypoints",
    "known class names",
    "masks for all objects or none",
    "masks that do not overlap",
    "no confidence",
    "rectangles",
    "tracks",
)

# What most readers make use of: the four numbers and what they are measured in.
FRAMES = frozenset({"boxes", "coords", "image_size", "images"})


@dataclass(frozen=True)
class Format:
    """One annotation format: everything that help, documentation, recognition and the common tests know about it.

    Attributes
    ----------
    name, title, about : str
        Name on the command line, name in messages, and one line for the reference.
    recognise : callable
        Returns why a path is of this format; None if it is not.
    read : callable
        Reads a path with these options.
    write : callable or None
        Writes annotations to a path; None if the format can only be read.
    preserves, requires : frozenset of str
        Facts that survive writing and reading back (see `facts_of`), and facts without which nothing is written.
    options : frozenset of str
        Options that change what is read; others are reported as unused.
    suffixes : tuple of str
        Suffixes of its files, that of a written one first; empty if it is written as a folder.
    sides : tuple of str
        What may be read from it: `truth`, `pred` or both.
    """

    name: str
    title: str
    about: str  # a line for the reference: what it is and what is particular about it
    recognise: Callable[[PathProbe], str | None]  # why a path is of this format; None if it is not
    read: Callable[[Path, Options], Annotations]
    write: Callable[[Annotations, Path], None] | None = None
    preserves: frozenset[str] = field(default_factory=frozenset)  # facts it can write: see facts_of
    requires: frozenset[str] = field(default_factory=frozenset)  # required for writing: out of REQUIREMENTS
    options: frozenset[str] = FRAMES  # options that change what is read: out of OPTION_NAMES
    suffixes: tuple[str, ...] = ()  # of its files, that of a written one first; none: it is written as a folder
    sides: tuple[str, ...] = ("truth", "pred")  # what may be read from it

    def __post_init__(self) -> None:
        for what, names, known in (("options", self.options, OPTION_NAMES), ("needs", self.requires, REQUIREMENTS)):
            for name in names:
                if name not in known:
                    raise BadParameter(f"{self.name}: {what}: expected names out of {', '.join(known)}, found {name!r}")


class Reader(Protocol):
    """A format of files or of objects in memory, as messages about unused options need it."""

    @property
    def title(self) -> str:
        """Name in messages."""

    @property
    def options(self) -> frozenset[str]:
        """Options that change what is read."""


def notes_on_unused_options(annotations: Annotations, reader: Reader, options: Options) -> list[str]:
    """Return one note for every option that was given and has no effect in this format.

    Protocols of masks ask every format for objects, or for every value of label images.

    Parameters
    ----------
    annotations
        What a reader returned.
    reader
        The format, which says whether it has ids at all.
    options
        Options of the call.

    Raises
    ------
    BadParameter
        If class or image ids are to be increased where there are none.
    """
    for name, table in (("label_offset", "labels"), ("image_offset", "images")):
        offset = getattr(options, name)
        if offset and (name not in reader.options or getattr(annotations, table).ids is None):
            what, found = name.replace("_", " "), f"only names, as {reader.title} has no ids"
            raise BadParameter(f"{what}: expected ids to add {offset} to, found {found}")
    used = {*reader.options, "class_name"}  # that is used where it is needed
    if options.side is not None:
        used.add("images")  # the command line takes them for figures, too
    values = {name: getattr(options, name) for name in OPTION_NAMES if name not in used}
    unused = [name for name, value in values.items() if value is not None and (name not in OFFSETS or value)]
    if options.masks in ("objects", "every"):
        unused = [name for name in unused if name != "masks"]
    return [f"{options.spell(name, '…')} is not used by {reader.title}" for name in unused]


def write_lines(folder: Path, stems: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Write one text file per image.

    Parameters
    ----------
    folder
        An existing folder.
    stems
        Name of each file without suffix.
    lines
        Lines of each file with their line ends; none for an image without objects, whose file is empty.
    """
    from verite.progress import count_files

    for name, image_lines in count_files("writing", list(zip(stems, lines, strict=True))):
        (folder / f"{name}.txt").write_text("".join(image_lines), encoding="utf-8")


def check_words(path: Path, names: Sequence[str], what: str = "class names") -> None:
    """Refuse names with blanks or line ends, for writers that separate words by blanks and objects by lines.

    Parameters
    ----------
    path
        The file to be written, for the message.
    names
        Names that become one word of a line.
    what
        What they are, for the message.
    """
    for name in names:
        if name.split() != [name]:
            expected = f"{what} without blanks"
            raise ReadError(path, expected=expected, found=excerpt(name), remedy="rename it or choose another format")


def check_ends(path: Path, names: Sequence[str], what: str) -> None:
    """Refuse names with leading or trailing blanks, for formats whose readers strip them.

    Parameters
    ----------
    path
        The file to be written, for the message.
    names
        Names to check.
    what
        What they are, for the message.
    """
    for name in names:
        if name.strip() != name:
            expected = f"{what} without blanks at their ends"
            raise ReadError(path, expected=expected, found=excerpt(name), remedy="rename it or choose another format")


def file_stems(images: Images, path: Path) -> list[str]:
    """Return a file name without suffix for every image: unique, and inside the output folder."""
    stems = [stem(images.name(i)) for i in range(len(images))]
    seen: dict[str, int] = {}
    for i, name in enumerate(stems):
        if not name or name.startswith(".") or "\0" in name:
            raise ReadError(path, expected="image names that can name a file", found=excerpt(images.name(i)))
        if seen.setdefault(name, i) != i:
            twice = f"{images.name(seen[name])!r} and {images.name(i)!r}"
            raise ReadError(path, expected="one file per image", found=f"{twice} of the same stem", remedy="rename one")
    return stems


def class_names(options: Options, *beside: Path) -> tuple[list[str] | None, str]:
    """Return the class names by number and their origin; (None, "") if there are none.

    Parameters
    ----------
    options : Options
        `options.names` comes first: a sequence of names, or a file with one per line or the key `names` in YAML.
    *beside : Path
        Candidate files beside the annotations, of which the first existing one is read.
    """
    if options.names is not None and not isinstance(options.names, Path):
        names = list(options.names)
        check_names("names", names)
        return names, "the names given"
    path = options.names or next((p for p in beside if p.is_file()), None)
    if path is None:
        return None, ""
    text = read_text(path)
    if path.suffix.lower() in (".yaml", ".yml"):
        from verite.formats.data_yaml import names_of_yaml

        names = names_of_yaml(text, path)
    else:  # one per line
        names = [line.strip() for line in text.rstrip().split("\n")]
        if names == [""]:
            raise ReadError(path, expected="class names", found="an empty file")
        if "" in names:  # every later class would move up by one
            where = f"{path}:{names.index('') + 1}"
            raise ReadError(where, expected="a class name a line", found="an empty line", remedy="take it out")
    check_names(path, names)
    return names, str(path)


def check_names(where: object, names: Sequence[str]) -> None:
    """Refuse class names that are repeated, empty, too long or too many."""
    if len(names) > limit("classes"):
        raise too_many_classes(where, len(names))
    longest = limit("class_name")
    if not are_plain(names, longest):
        for name in names:
            check_name(where, name, longest)
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ReadError(where, expected="each class name once", found=f"{excerpt(twice)} twice")


def are_plain(names: Sequence[str], longest: int) -> bool:
    """Tell whether `check_name` accepts all of many names without a look at each: ASCII, and neither empty nor long."""
    lengths = [len(name) for name in names]
    return "".join(names).isascii() and min(lengths, default=1) > 0 and max(lengths, default=1) <= longest


def too_many_classes(where: object, count: int) -> ReadError:
    """Return the error for more classes than the limit."""
    most = f"at most {limit('classes')} classes"
    return ReadError(where, expected=most, found=str(count), remedy=remedy("classes"))


HALF_PAIR = re.compile("[\ud800-\udfff]")  # of surrogates: no letter, and nothing that can be written or drawn


def check_name(where: object, name: str, longest: int | None = None) -> None:
    """Refuse a class name that is empty, too long, or has an unpaired surrogate, which no file or figure can show.

    `longest` is the limit, for callers with many names, who look it up once.
    """
    if not name.isascii() and HALF_PAIR.search(name):
        raise ReadError(where, expected="a class name of letters", found=f"half a surrogate pair in {excerpt(name)}")
    longest = limit("class_name") if longest is None else longest
    if not 0 < len(name) <= longest:
        expected = f"a class name of 1 to {longest} characters"
        found = f"{len(name)}, {name[:20]!r}…" if name else "an empty one"
        raise ReadError(where, expected=expected, found=found, remedy=remedy("class_name") if name else "")
