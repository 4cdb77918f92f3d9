"""What every format offers, and what a user may say about a file."""

from __future__ import annotations

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
from verite.files import check_file, find_path
from verite.formats.polygons import bounds_of_runs
from verite.formats.words import is_number
from verite.model.annotations import Annotations
from verite.model.classes import Labels
from verite.model.images import Images, stem
from verite.model.layouts import layout_name
from verite.model.polygons import Polygons
from verite.model.regions import MASK, POLYGON, Regions
from verite.model.rotated_boxes import angle_factor

if TYPE_CHECKING:
    from numpy.typing import NDArray


def facts_of(annotations: Annotations) -> set[str]:
    """The kinds of facts in annotations that a format may be unable to hold."""
    labels = annotations.labels
    is_unused = len(np.unique(annotations.label)) < len(labels)
    present = {
        "area": annotations.area is not None,
        "class group": labels.groups is not None,
        "confidence": annotations.confidence is not None,
        "classes of whole images": annotations.verdicts is not None and len(annotations.verdicts) > 0,
        "empty image": len(np.unique(annotations.image)) < len(annotations.images),
        "keypoints": annotations.regions.has_keypoints,
        "object id": annotations.ids is not None,
        "skeleton": labels.skeletons is not None,
        "unused class": is_unused and labels.names is not None,
        "unused class id": is_unused and labels.names is None,
        **facts_of_images(annotations.images),
        **facts_of_labels(labels),
        **facts_of_regions(annotations.regions, 1e-9 if annotations.unit == "rel" else 1e-6),
    }
    return {fact for fact, there in present.items() if there} | set(annotations.flags)


def flags_by_row(annotations: Annotations) -> list[list[str]]:
    """The names of the flags that each object carries."""
    found: list[list[str]] = [[] for _ in range(len(annotations))]
    for name, column in annotations.flags.items():
        for row in np.flatnonzero(column).tolist():
            found[row].append(name)
    return found


def facts_of_images(images: Images) -> dict[str, bool]:
    """Ids, names and sizes; a name without an id is what objects speak of, and always held."""
    return {
        "image folder or suffix": any(name != stem(name) for name in images.names or ()),
        "image id": images.ids is not None,
        "image name": images.ids is not None and images.names is not None,
        "image size": bool((images.widths > 0).any()),
    }


def facts_of_labels(labels: Labels) -> dict[str, bool]:
    """Ids and names of classes; ids that only count from 0 are an order."""
    has_both = labels.ids is not None and labels.names is not None
    is_count = labels.ids is not None and np.array_equal(labels.ids, np.arange(len(labels)))
    return {
        "class id": has_both and not is_count,
        "class order": has_both and is_count,
        "class name": has_both,
        "class id without a name": labels.names is None,
    }


def facts_of_regions(regions: Regions, tolerance: float) -> dict[str, bool]:
    """Outlines, and boxes that are more than the box around them."""
    rings = np.diff(regions.polygons.objects) if regions.polygons is not None else np.zeros(len(regions))
    is_polygon, is_mask = regions.kinds == POLYGON, regions.kinds == MASK
    return {
        "box apart from its mask": has_boxes_apart(regions, np.flatnonzero(is_mask), tolerance),
        "box apart from its polygon": has_boxes_apart(regions, np.flatnonzero(is_polygon), tolerance),
        "mask": bool(is_mask.any()),
        "polygon": bool((is_polygon & (rings == 1)).any()),
        "polygon beside a mask": bool((is_mask & (rings > 0)).any()),
        "polygon of several rings": bool((is_polygon & (rings > 1)).any()),
    }


def has_boxes_apart(regions: Regions, rows: NDArray[np.int64], tolerance: float) -> bool:
    """Is there, among these objects of one kind, a box that is not simply the box around the outline?"""
    if not len(rows):
        return False
    if regions.kinds[rows[0]] == POLYGON and regions.polygons is not None:
        boxes, around = regions.boxes[rows], bounds_of_polygons(regions.polygons, rows)
    else:
        assert regions.runs is not None
        heights = regions.runs.sizes[:, 0]
        bounds = [bounds_of_runs(regions.runs[row], int(heights[row])) for row in rows.tolist()]
        boxes, around = regions.sizes[rows], np.array(bounds)
    return not np.allclose(boxes, around, rtol=0, atol=tolerance)


def bounds_of_polygons(polygons: Polygons, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Corners of the boxes around the polygons of these objects, each of which has one."""
    chosen = polygons.take(rows)
    starts = chosen.rings[chosen.objects[:-1]]
    low, high = (f.reduceat(chosen.points, starts, axis=0) for f in (np.minimum, np.maximum))
    return np.concatenate([low, high], axis=1)


HEAD = 65_536

# The options that a format may honour, and those that a command line takes once for both sides.
WAYS = ("boxes", "coords", "angle", "image_size", "images", "names", "label_offset", "image_offset", "columns", "split",
        "masks", "mask_threshold")  # fmt: skip

OFFSETS = ("label_offset", "image_offset")

BOTH_SIDES = ("image_size", "images", "names", "split", "columns", "mask_threshold")

# What the pixels of mask pictures may be, and what that makes of them.
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
    """How to read a file, where the file itself does not say or says it wrongly."""

    boxes: str | None = None  # what the four numbers mean: a name out of LAYOUTS
    coords: str | None = None  # abs, rel, WIDTHxHEIGHT of the picture they were measured in, or *FACTOR
    angle: str | None = None  # of rotated boxes of five numbers: a name out of ANGLES
    image_size: tuple[int, int] | None = None  # width and height of every image
    images: Path | None = None  # the folder with the pictures
    names: Path | Sequence[str] | None = None  # class names by number
    label_offset: int = 0  # added to every class id
    image_offset: int = 0  # added to every image id
    columns: Mapping[str, str] | None = None  # which column of a table stands for which of ours
    split: str | None = None  # which part of a data set: train, val or test
    masks: str | None = None  # what the pixels of mask pictures are: a name out of MASKS
    mask_threshold: float | None = None  # share of white from which a grey pixel belongs to the object
    like: Annotations | None = None  # the truth: its images give sizes, its labels names
    side: str | None = None  # who asks: truth or pred on the command line, "" for its only side, None for Python

    @classmethod
    def of(
        cls,
        *,
        images: str | PathLike[str] | None = None,
        names: str | PathLike[str] | Sequence[str] | None = None,
        **given: Any,
    ) -> Options:
        """From what a user says, whose paths must be there and readable, whether or not a format asks for them."""
        folder = find_path(images) if images is not None else None
        if folder is not None and not folder.is_dir():
            raise ReadError(folder, expected="a folder with pictures", found="a file")
        if isinstance(names, (str, PathLike)):
            names = find_path(names)
            check_file(names)
        return cls(images=folder, names=names, **given)

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the options that say something about the file; the truth and who asks do not."""
        said = {name: getattr(self, name) for name in WAYS}
        return tuple(name for name, value in said.items() if value is not None and (name not in OFFSETS or value))

    def spell(self, name: str, value: object) -> str:
        """An option in the words of whoever asks.

        >>> Options(side="pred").spell("label_offset", -1), Options().spell("format", "text")
        ('--pred-label-offset -1', "format='text'")
        """
        if self.side is None:
            return f"{name}={value!r}"
        side = f"{self.side}-" if self.side and name not in BOTH_SIDES else ""
        return f"--{side}{name.replace('_', '-')} {value}"

    def __post_init__(self) -> None:
        for name in ("boxes", "coords", "angle", "masks"):
            if not isinstance(getattr(self, name), (str, type(None))):
                raise BadParameter(f"{name}: expected a word, found {excerpt(getattr(self, name))}")
        for name in OFFSETS:
            offset = getattr(self, name)
            if isinstance(offset, bool) or not isinstance(offset, Integral) or abs(int(offset)) >= 2**53:
                raise BadParameter(f"{name}: expected a whole number below 2^53, found {excerpt(offset)}")
        if not isinstance(self.mask_threshold, (Real, type(None))):
            raise BadParameter(f"mask threshold: expected a number, found {excerpt(self.mask_threshold)}")
        if self.image_size is not None:
            check_image_size(self.image_size)
        if self.boxes is not None:
            layout_name(self.boxes)
        frame_of(self.coords)
        if self.angle is not None:
            angle_factor(self.angle)
        if self.masks is not None and self.masks not in MASKS:
            near = did_you_mean(self.masks, MASKS)
            raise BadParameter(f"masks: expected one of {', '.join(MASKS)}, found {self.masks!r}{near}")
        if self.mask_threshold is not None and not 0 < self.mask_threshold <= 1:
            raise BadParameter(f"mask threshold: expected a share above 0 and up to 1, found {self.mask_threshold}")


def check_image_size(size: Any) -> None:
    """Two whole numbers above 0."""
    sides = tuple(size) if isinstance(size, Sequence) and not isinstance(size, str) else ()
    if len(sides) != 2 or not all(isinstance(side, Real) and float(side) >= 1 for side in sides):
        raise BadParameter(f"image size: expected WIDTH,HEIGHT above 0, found {excerpt(size)}")


@dataclass(frozen=True)
class Frame:
    """In what are coordinates measured? As fractions of a frame, or in pixels times a factor."""

    width: float = 0  # 0: absolute
    height: float = 0
    factor: float = 1.0

    @property
    def is_relative(self) -> bool:
        return self.width > 0


def frame_of(coords: str | None) -> Frame:
    """The frame a user names.

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


@dataclass(frozen=True)
class PathProbe:
    """A first look at a path: enough to recognise a format, little enough to be quick."""

    path: Path

    @cached_property
    def is_folder(self) -> bool:
        return self.path.is_dir()

    @cached_property
    def files(self) -> list[Path]:
        """The files of a folder and of the folders in it, or in those, by name; for a file, the file."""
        if not self.is_folder:
            return [self.path]
        found = [p for p in self.path.iterdir() if not p.name.startswith(".")]
        inner = [q for p in found if p.is_dir() for q in p.iterdir() if not q.name.startswith(".")]
        files = [p for p in [*found, *inner] if p.is_file()] or [p for p in self.path.glob("*/*/*") if p.is_file()]
        return sorted(p for p in files if not p.name.startswith("."))

    def with_suffix(self, suffix: str) -> list[Path]:
        return [p for p in self.files if p.suffix.lower() == suffix]

    @cached_property
    def head(self) -> str:
        """The beginning of the file, or of the first file in the folder."""
        return head_of(self.files[0]) if self.files else ""

    @cached_property
    def lines(self) -> list[list[str]]:
        """The words of the first lines of a folder's first text files."""
        texts = (p for p in self.with_suffix(".txt") if not self.is_folder or not is_list(p))
        heads = (head_of(p).splitlines()[:50] for p in islice(texts, 50))
        return [words for lines in heads for line in lines if (words := line.split())]


# Text files of these names stand beside annotations and list classes or images.
LISTS = frozenset({"classes", "train", "val", "test", "labelmap", "names", "obj"})


def is_list(path: Path) -> bool:
    """Is this a list of classes or images? An image may be called `train`, too: then its lines are annotations."""
    if path.stem not in LISTS:
        return False
    words = next((w for line in head_of(path).splitlines() if (w := line.split())), [])
    return sum(map(is_number, words)) < 4


def head_of(path: Path) -> str:
    """The beginning of a file as text, whatever its encoding."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD).decode("utf-8-sig", errors="replace")
    except OSError:
        return ""


def tail_of(path: Path, length: int = HEAD) -> str:
    """The end of a file as text: what comes last may tell as much as what comes first."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - length))
            return file.read(length).decode(errors="replace")
    except OSError:
        return ""


# What annotations must have before a format writes them at all.
NEEDS = (
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
)

# What most readers make use of: the four numbers and what they are measured in.
FRAMES = frozenset({"boxes", "coords", "image_size", "images"})


@dataclass(frozen=True)
class Format:
    """One way of writing annotations down: all that help, documentation, recognition and common tests know of it."""

    name: str
    title: str
    about: str  # a line for the reference: what it is and what is particular about it
    recognise: Callable[[PathProbe], str | None]  # why a path is of this format; None if it is not
    read: Callable[[Path, Options], Annotations]
    write: Callable[[Annotations, Path], None] | None = None
    preserves: frozenset[str] = field(default_factory=frozenset)  # facts it can write: see facts.py
    requires: frozenset[str] = field(default_factory=frozenset)  # what it cannot be written without: out of NEEDS
    options: frozenset[str] = FRAMES  # options that change what is read: out of WAYS
    suffixes: tuple[str, ...] = ()  # of its files, that of a written one first; none: it is written as a folder
    sides: tuple[str, ...] = ("truth", "pred")  # what may be read from it

    def __post_init__(self) -> None:
        for what, names, known in (("options", self.options, WAYS), ("needs", self.requires, NEEDS)):
            for name in names:
                if name not in known:
                    raise BadParameter(f"{self.name}: {what}: expected names out of {', '.join(known)}, found {name!r}")


class Reader(Protocol):
    """What is asked of whoever reads: a title, and which options change what is read."""

    @property
    def title(self) -> str: ...

    @property
    def options(self) -> frozenset[str]: ...


def name_unused(reader: Reader, options: Options) -> list[str]:
    """A word on every option that was given and changes nothing."""
    unused = (name for name in options.given if name not in reader.options)
    return [f"{options.spell(name, '…')} not used: {reader.title} has no use for it" for name in unused]


def check_offsets(annotations: Annotations, reader: Reader, options: Options) -> None:
    """A number to add needs something to be added to."""
    for name, table in (("label_offset", "labels"), ("image_offset", "images")):
        offset = getattr(options, name)
        if offset and (name not in reader.options or getattr(annotations, table).ids is None):
            what, found = name.replace("_", " "), f"only names, as {reader.title} has no ids"
            raise BadParameter(f"{what}: expected ids to add {offset} to, found {found}")


def write_lines(folder: Path, stems: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """A text file per image."""
    from verite.progress import count_files

    for name, image_lines in count_files("writing", list(zip(stems, lines, strict=True))):
        (folder / f"{name}.txt").write_text("".join(image_lines), encoding="utf-8")


def check_words(path: Path, names: Sequence[str], what: str = "class names") -> None:
    """Refuse names with blanks or line ends, for writers that separate words by blanks and objects by lines."""
    for name in names:
        if name.split() != [name]:
            expected = f"{what} without blanks"
            raise ReadError(path, expected=expected, found=excerpt(name), remedy="rename it or choose another format")


def check_ends(path: Path, names: Sequence[str], what: str) -> None:
    """Refuse names that begin or end with a blank, for formats whose readers strip them."""
    for name in names:
        if name.strip() != name:
            expected = f"{what} without blanks at their ends"
            raise ReadError(path, expected=expected, found=excerpt(name), remedy="rename it or choose another format")


def file_stems(images: Images, path: Path) -> list[str]:
    """A file name without suffix for every image, each of its own and none outside the folder."""
    stems = [stem(images.name(i)) for i in range(len(images))]
    seen: dict[str, int] = {}
    for i, name in enumerate(stems):
        if not name or name.startswith(".") or "\0" in name:
            raise ReadError(path, expected="image names that can name a file", found=excerpt(images.name(i)))
        if seen.setdefault(name, i) != i:
            twice = f"{images.name(seen[name])!r} and {images.name(i)!r}"
            raise ReadError(path, expected="one file per image", found=f"{twice} of the same stem", remedy="rename one")
    return stems
