"""Pascal VOC: XML annotations, segmentation images, and the results of the detection competitions.

XML has one file per image, corners as 1-based pixel indices, both inclusive. The numbers are kept as they stand; the
VOC protocol adds its own +1. Segmentations are PNGs in SegmentationObject and SegmentationClass. Results are text
files `comp4_det_test_CLASS.txt` with lines `image confidence left top right bottom`; py-faster-rcnn writes a code
between the competition and `det`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from verite.arrays import np
from verite.errors import ErrorCollector, ReadError, count_words
from verite.files import find_path, folder_atomically, read_lines, read_text
from verite.formats.format import FRAMES, Format, Options, PathProbe, file_stems, flags_by_row
from verite.formats.rows import Rows
from verite.formats.shards import choose_split, files_of_split
from verite.formats.sizes import need_pixels
from verite.formats.text_lines import to_numbers
from verite.formats.xml import Element, check_writable, parse, to_whole
from verite.model.annotations import Annotations, Source
from verite.model.images import SPLITS
from verite.progress import count_files

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.formats.label_images import Segments

VOC_FLAGS = ("truncated", "difficult", "occluded")


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is VOC XML: files with <annotation>."""
    files = probe.with_suffix(".xml")
    if files and re.search(r"<annotation[\s>]", PathProbe(files[0]).head):
        return "XML files with <annotation>" if probe.is_folder else "an XML file with <annotation>"
    return None


def read(path: Path, options: Options) -> Annotations:
    """Read the XML files of a folder, or of one image set (split) of a VOC devkit."""
    rows = Rows(path, options)
    files = PathProbe(path).with_suffix(".xml")
    parts: dict[str, list[Path]] = {}
    folders = {file.parent for file in files}
    if len(folders) == 1 and (folder := folders.pop()).name == ANNOTATIONS:
        for place in sorted((folder.parent / "ImageSets" / "Main").glob("*.txt")):
            if place.stem in SPLITS:  # other lists are those of single classes
                names = {line.split()[0] for line in read_lines(place) if line.strip()}
                parts[place.stem] = [file for file in files if file.stem in names]
    parts = {split: own for split, own in parts.items() if own}
    parts = parts if len(parts) > 1 else {}
    if parts and (options.split is not None or path.name != ANNOTATIONS):
        split, files = choose_split(path, parts, options, expected="image sets")
        why = f"the split {split}"
    else:
        if parts:
            chosen = options.spell("split", next(iter(parts)))
            rows.notes.append(f"all of {', '.join(parts)} (ImageSets/Main); {chosen} reads one of them")
        files, why = files_of_split(path, files, options)
    if not files:
        raise ReadError(path, expected="files ending in .xml", found="none")
    for file in count_files("reading", files):
        with rows.errors:
            add_file(rows, file)
    return rows.annotations("voc", layout="xyxy", why=why)


ANNOTATIONS = "Annotations"  # folder of all splits of a VOC devkit; ImageSets/Main beside it lists each


def add_file(rows: Rows, file: Path) -> None:
    """Add the image of one XML file and its objects."""
    root = parse(file)
    if root.tag != "annotation":
        raise ReadError(root.where, expected="<annotation>", found=f"<{root.tag}>")
    name = root.word("filename") or file.stem
    rows.add_image(root.where, name, *size_of(root))
    for item in root.all("object"):
        with rows.errors:
            add_object(rows, name, item)


def size_of(root: Element) -> tuple[int, int]:
    """Return width and height of <size>; (0, 0) where it is missing."""
    size = root.find("size")
    if size is None:
        return 0, 0
    width, height = (size.number(side) for side in ("width", "height"))
    return (
        to_whole(width, "whole pixels in <width>", size.where),
        to_whole(height, "whole pixels in <height>", size.where),
    )


def add_object(rows: Rows, image: str, item: Element) -> None:
    """Add one <object>: class, corners, flags, and the confidence that some tools write.

    Parameters
    ----------
    rows
        Collects images and objects.
    image
        Name of the image.
    item
        The <object> element.
    """
    corners = item.need("bndbox")
    box = [corners.number(side) for side in ("xmin", "ymin", "xmax", "ymax")]
    confidence = item.number("confidence") if item.find("confidence") is not None else None
    flags = [flag for flag in VOC_FLAGS if item.word(flag).lower() in ("1", "true")]
    rows.add(item.where, image, item.need("name").text.strip(), box, confidence, flags=flags)


def write(annotations: Annotations, path: Path) -> None:
    """Write one XML file per image. Every ignored object becomes `difficult`, the only such flag that VOC has."""
    need_pixels(annotations, path)
    annotations = replace(annotations, flags={**annotations.flags, "difficult": annotations.ignored})
    check_writable(path, "class names", annotations.labels.all_names)
    check_writable(path, "image names", annotations.images.names or ())
    stems = file_stems(annotations.images, path)
    objects: list[list[str]] = [[] for _ in stems]
    boxes, flags, images = annotations.regions.boxes.tolist(), flags_by_row(annotations), annotations.images
    for row, image in enumerate(annotations.image):
        lines = ["  <object>", f"    <name>{escape(annotations.labels.name(annotations.label[row]))}</name>"]
        lines += [f"    <{flag}>{int(flag in flags[row])}</{flag}>" for flag in VOC_FLAGS]
        if annotations.confidence is not None:
            lines.append(f"    <confidence>{float(annotations.confidence[row])!r}</confidence>")
        lines.append("    <bndbox>")
        for side, value in zip(("xmin", "ymin", "xmax", "ymax"), boxes[row], strict=True):
            lines.append(f"      <{side}>{int(value) if value.is_integer() else repr(value)}</{side}>")
        objects[image] += [*lines, "    </bndbox>", "  </object>"]
    with folder_atomically(path) as folder:
        for i, name in count_files("writing", list(enumerate(stems))):
            lines = ["<annotation>", f"  <filename>{escape(images.name(i))}</filename>"]
            if width := images.widths[i]:  # a size of 0 is not known
                lines += ["  <size>", f"    <width>{width}</width>", f"    <height>{images.heights[i]}</height>"]
                lines += ["    <depth>3</depth>", "  </size>"]
            text = "\n".join([*lines, *objects[i], "</annotation>"]) + "\n"
            (folder / f"{name}.xml").write_text(text, encoding="utf-8")


PRESERVES = frozenset(
    {
        "box apart from its mask",
        "box apart from its polygon",
        "class name",
        "confidence",
        "empty image",
        "image folder or suffix",
        "image name",
        "image size",
        *VOC_FLAGS,
    }
)

FORMAT = Format(
    name="voc",
    title="Pascal VOC XML",
    about="one XML file per image; difficult, truncated, occluded",
    recognise=recognise,
    read=read,
    write=write,
    preserves=PRESERVES,
    options=FRAMES | {"split"},
)

OBJECTS, CLASSES = "SegmentationObject", "SegmentationClass"

VOID = 255

NAMES = (
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
    "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)  # fmt: skip

BACKGROUND = "background"


def is_segmentation(path: Path) -> bool:
    """Tell whether a folder has both kinds of VOC segmentations."""
    return (path / OBJECTS).is_dir() and (path / CLASSES).is_dir()


def recognise_voc_segmentation(probe: PathProbe) -> str | None:
    """Return why a path is VOC segmentation: its folders SegmentationObject and SegmentationClass, or one of them."""
    if is_segmentation(probe.path):
        return f"folders {OBJECTS} and {CLASSES}"
    for folder in (OBJECTS, CLASSES):
        if (
            probe.is_folder
            and probe.with_suffix(".png")
            and (probe.path.name == folder or (probe.path / folder).is_dir())
        ):
            return f"a folder {folder}"
    return None


def read_voc_segmentation(path: Path, options: Options) -> Annotations:
    """Read objects with their classes where both folders exist; else the objects or classes of the one that does."""
    from verite.formats.format import class_names
    from verite.formats.mask_images import read_masks

    given, _ = class_names(options)
    names = dict(enumerate(given if given is not None else (BACKGROUND, *NAMES)))
    if is_segmentation(path) and options.masks is None:
        return read_segmentation(path, {id: name for id, name in names.items() if id > 0})
    folder = CLASSES if (path / CLASSES).is_dir() else OBJECTS if (path / OBJECTS).is_dir() else path.name
    home = path / folder if (path / folder).is_dir() else path
    kind = options.masks or ("classes" if folder == CLASSES else "objects")
    if kind in ("classes", "instances") and given is None:
        names.pop(0)
    left_out = () if kind == "every" else (VOID,)
    found = read_masks(home, replace(options, masks=kind, names=None), names, left_out)
    return found.with_source(replace(found.source, path=str(path), format="voc-segmentation"))


def read_segmentation(path: Any, names: dict[int, str] | None = None) -> Annotations:
    """Read the instance masks of every image; the class of an object is that of most of its pixels."""
    from verite.formats.label_images import join
    from verite.model.classes import Labels
    from verite.model.images import Images
    from verite.model.rasters import frames_of
    from verite.model.regions import Regions
    from verite.progress import count_files

    names = dict(enumerate(NAMES, 1)) if names is None else names
    folder = find_path(path)
    for part in (OBJECTS, CLASSES):
        if not (folder / part).is_dir():
            raise ReadError(folder, expected=f"a folder {part} in it, as in VOC2008", found="none")
    files = sorted((folder / OBJECTS).glob("*.png"))
    if not files:
        raise ReadError(folder / OBJECTS, expected="files ending in .png", found="none")
    errors = ErrorCollector()
    found: dict[Path, tuple[Segments, list[int], int]] = {}
    for file in count_files("reading", files):
        with errors:
            found[file] = read_segmented_image(file, folder / CLASSES / file.name, names)
    files, pictures = list(found), [(segments, labels) for segments, labels, _ in found.values()]
    runs = join([segments for segments, _ in pictures])
    index = {id: i for i, id in enumerate(names)}
    sizes = [segments.size for segments, _ in pictures]
    void, pixels = sum(count for *_, count in found.values()), sum(height * width for height, width in sizes)
    notes = (f"{void:,} of {pixels:,} pixels are void, of no object (V410)",) if void else ()
    return Annotations(
        images=Images(
            [file.stem + ".jpg" for file in files], heights=[h for h, _ in sizes], widths=[w for _, w in sizes]
        ),
        labels=Labels(list(names.values()), list(names)),
        image=np.repeat(np.arange(len(files)), [len(labels) for _, labels in pictures]).astype(np.int32),
        label=np.array([index[label] for _, labels in pictures for label in labels], dtype=np.int32),
        regions=Regions(frames_of(runs), runs=runs),
        source=Source(str(folder), "voc-segmentation", f"folders {OBJECTS} and {CLASSES}", notes, errors.flaws),
    )


def read_segmented_image(objects: Path, classes: Path, names: dict[int, str]) -> tuple[Segments, list[int], int]:
    """Read the masks of one image, the class of each, and the number of void pixels."""
    from verite.formats.label_images import split

    owner = indices(objects)
    if not classes.exists():
        raise ReadError(classes, expected=f"the classes of {objects.name}", found="no such file")
    kind = indices(classes)
    if owner.shape != kind.shape:
        sizes = [f"{a.shape[1]} × {a.shape[0]}" for a in (owner, kind)]
        raise ReadError(classes, expected=f"{sizes[0]} pixels as {objects}", found=sizes[1])
    segments = split(owner, objects)
    segments = segments.take((segments.values != 0) & (segments.values != VOID))
    votes = np.zeros((VOID + 1, VOID + 1), dtype=np.int64)
    np.add.at(votes, (owner.ravel(), kind.ravel()), 1)
    votes[:, [0, VOID]] = 0
    labels = votes[segments.values].argmax(axis=1).tolist()
    for number, label in zip(segments.values.tolist(), labels, strict=True):
        if not votes[number, label] or label not in names:
            found = f"index {label}" if votes[number, label] else "only background"
            raise ReadError(classes, expected=f"a class from 1 to {len(names)} for object {number}", found=found)
    return segments, labels, int((owner == VOID).sum())


def indices(path: Path) -> NDArray[np.uint8]:
    """Read the palette indices of an image; RGB images are translated by VOC's palette."""
    from verite.formats.label_images import read_pixels

    pixels = read_pixels(path)
    values = index_colours(pixels.values) if pixels.is_colour else pixels.values
    if values is None or values.dtype != np.uint8:
        found = "other colours than VOC's" if pixels.is_colour else f"{pixels.values.dtype} values"
        raise ReadError(path, expected="a palette image (V409)", found=found, remedy="save it with one")
    return values


def index_colours(colours: NDArray[np.int32]) -> NDArray[np.uint8] | None:
    """Translate colours to indices of VOC's palette; None where a colour is not in it."""
    table = np.array(voc_palette()).reshape(-1, 3) @ [1, 256, 65_536]
    order = np.argsort(table)
    at = order[np.minimum(np.searchsorted(table, colours, sorter=order), 255)]
    return at.astype(np.uint8) if (table[at] == colours).all() else None


def write_voc_segmentation(annotations: Annotations, path: Path) -> None:
    """Write SegmentationObject and SegmentationClass with VOC's palette; only VOC's 20 classes can be written."""
    from verite.files import folder_atomically
    from verite.formats.format import file_stems
    from verite.formats.mask_images import paint_each, save

    ids = {name: id for id, name in enumerate(NAMES, 1)}
    for name in annotations.labels.all_names:
        if name not in ids:
            raise ReadError(path, expected="VOC's class names", found=repr(name), remedy=f"one of {', '.join(NAMES)}")
    classes = [ids[name] for name in annotations.labels.all_names]

    def number(rows: NDArray[np.int64]) -> list[int]:
        if len(rows) >= VOID:
            name = annotations.images.name(int(annotations.image[rows[0]]))
            found = f"{len(rows)} in {name!r}"
            raise ReadError(path, expected=f"at most {VOID - 1} objects an image", found=found)
        return list(range(1, len(rows) + 1))

    stems = file_stems(annotations.images, path)
    with folder_atomically(path) as folder:
        for part, numbers in (
            (OBJECTS, number),
            (CLASSES, lambda rows: [classes[int(annotations.label[row])] for row in rows]),
        ):
            (folder / part).mkdir()
            for at, pixels in paint_each(annotations, path, numbers):
                save(pixels, folder / part / f"{stems[at]}.png", voc_palette())


def voc_palette() -> list[int]:
    """Return VOC's palette: the bits of the index are distributed over red, green and blue, the highest first.

    >>> voc_palette()[3:9], voc_palette()[-3:]
    ([128, 0, 0, 0, 128, 0], [224, 224, 192])
    """
    return [
        sum((index >> (3 * bit + channel) & 1) << (7 - bit) for bit in range(3))
        for index in range(256)
        for channel in range(3)
    ]


VOC_SEGMENTATION = Format(
    name="voc-segmentation",
    title="Pascal VOC segmentation",
    about="folders SegmentationObject and SegmentationClass of PNGs with a palette",
    recognise=recognise_voc_segmentation,
    read=read_voc_segmentation,
    write=write_voc_segmentation,
    preserves=frozenset({"empty image", "image size", "mask"}),
    requires=frozenset({"image size", "known class names", "masks that do not overlap", "no confidence"}),
    options=frozenset({"mask_threshold", "masks", "names"}),
)


RESULTS_NAME = re.compile(r"(?P<results>comp\d(_.+)?_det_[^_]+)_(?P<label>.+)\.txt")
RESULTS_WORDS = 6


def recognise_voc_results(probe: PathProbe) -> str | None:
    """Return why a path is VOC results: all text files are named compN_det_SET_CLASS.txt."""
    files = probe.with_suffix(".txt")
    return "text files named compN_det_SET_CLASS.txt" if files and all(map(name_of, files)) else None


def name_of(file: Path) -> re.Match[str] | None:
    """Match the name of a results file: its competition and set, and its class."""
    return RESULTS_NAME.fullmatch(file.name)


def read_voc_results(path: Path, options: Options) -> Annotations:
    """Read the results of one detector, one file per class."""
    files = {file: match for file in PathProbe(path).with_suffix(".txt") if (match := name_of(file))}
    if not files:
        raise ReadError(path, expected="files named compN_det_SET_CLASS.txt", found="none")
    sets = {f"{file.parent}/{match['results']}": file for file, match in reversed(files.items())}
    if len(sets) > 1:
        first, second, *_ = reversed(sets)
        raise ReadError(path, expected="the results of one detector, a file per class",
                        found=f"those of {len(sets)}: {first}_*.txt and {second}_*.txt",
                        remedy="keep each in a folder of its own, and name the folders")  # fmt: skip
    rows = Rows(path, options)
    for file, match in count_files("reading", list(files.items())):
        with rows.errors:
            # Add the predictions of one class.
            label = match["label"]
            for number, line in enumerate(StringIO(read_text(file), newline=None), start=1):
                words = line.split()
                if not words:
                    continue
                with rows.errors:
                    where = f"{file}:{number}"
                    if len(words) != RESULTS_WORDS:
                        found = count_words(words)
                        raise ReadError(where, expected="an image, a confidence and 4 numbers", found=found)
                    confidence, *corners = to_numbers(words[1:], where)
                    rows.add(where, words[0], label, corners, confidence)
    return rows.annotations("voc-results", layout="xyxy")


VOC_RESULTS = Format(
    name="voc-results",
    title="Pascal VOC results",
    about="one text file per class, `comp4_det_test_CLASS.txt`: `image confidence left top right bottom`",
    recognise=recognise_voc_results,
    read=read_voc_results,
    sides=("pred",),
)
