"""Pascal VOC's segmentation set: for each image a picture of its objects and one of their classes, by palette index.

Index 0 is background and 255 void, the rim that nobody need decide. An object's class is the index that most of its
pixels have in SegmentationClass. A folder SegmentationClass alone has classes, SegmentationObject alone has objects.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import ReadError
from verite.faults import Tolerance
from verite.files import find_path
from verite.formats.format import Format, Look, Options
from verite.model.annotations import Annotations, Source
from verite.records import replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.formats.segments import Segments

OBJECTS, CLASSES = "SegmentationObject", "SegmentationClass"
VOID = 255
NAMES = (
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
    "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)  # fmt: skip
BACKGROUND = "background"


def is_segmentation(path: Path) -> bool:
    """Is this a VOC folder with segmentations?"""
    return (path / OBJECTS).is_dir() and (path / CLASSES).is_dir()


def recognise(look: Look) -> str | None:
    if is_segmentation(look.path):
        return f"folders {OBJECTS} and {CLASSES}"
    for folder in (OBJECTS, CLASSES):
        if look.is_folder and look.with_suffix(".png") and (look.path.name == folder or (look.path / folder).is_dir()):
            return f"a folder {folder}"
    return None


def read(path: Path, options: Options) -> Annotations:
    """Objects with their classes where both folders are there; for a class each pixel, the classes alone."""
    from verite.formats.class_names import class_names
    from verite.formats.mask_reading import read_masks

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
    return found.said_to_be(replace(found.source, path=str(path), format="voc-segmentation"))


def read_segmentation(path: Any, names: dict[int, str] | None = None) -> Annotations:
    """The objects of every image in a VOC folder, as masks."""
    from verite.formats.segments import join
    from verite.model.images import Images
    from verite.model.labels import Labels
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
    tolerance = Tolerance()
    found: dict[Path, tuple[Segments, list[int], int]] = {}
    for file in count_files("reading", files):
        with tolerance:
            found[file] = read_picture(file, folder / CLASSES / file.name, names)
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
        source=Source(str(folder), "voc-segmentation", f"folders {OBJECTS} and {CLASSES}", notes, tolerance.flaws),
    )


def read_picture(objects: Path, classes: Path, names: dict[int, str]) -> tuple[Segments, list[int], int]:
    """The masks of one image, the class of each, and how many pixels are void."""
    from verite.formats.segments import split

    owner = indices(objects)
    if not classes.exists():
        raise ReadError(classes, expected=f"the classes of {objects.name}", found="no such file")
    kind = indices(classes)
    if owner.shape != kind.shape:
        sizes = [f"{a.shape[1]} × {a.shape[0]}" for a in (owner, kind)]
        raise ReadError(classes, expected=f"{sizes[0]} pixels as {objects}", found=sizes[1])
    segments = split(owner)
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
    """The palette indices of a picture."""
    from verite.formats.pixels import read_pixels

    pixels = read_pixels(path)
    values = index_colours(pixels.values) if pixels.is_colour else pixels.values
    if values is None or values.dtype != np.uint8:
        found = "other colours than VOC's" if pixels.is_colour else f"{pixels.values.dtype} values"
        raise ReadError(path, expected="a picture of palette indices (V409)", found=found, remedy="save it with one")
    return values


def index_colours(colours: NDArray[np.int32]) -> NDArray[np.uint8] | None:
    """The indices of VOC's colours; None where there are others."""
    table = np.array(voc_palette()).reshape(-1, 3) @ [1, 256, 65_536]
    order = np.argsort(table)
    at = order[np.minimum(np.searchsorted(table, colours, sorter=order), 255)]
    return at.astype(np.uint8) if (table[at] == colours).all() else None


def write(annotations: Annotations, path: Path) -> None:
    """Both folders, with VOC's palette; classes that are not VOC's are numbered by their ids, or from 1."""
    from verite.files import folder_atomically
    from verite.formats.format import file_stems
    from verite.formats.mask_writing import paint_each, save

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
    """The colours of VOC's indices: bits of the index dealt out to red, green and blue, the highest first.

    >>> voc_palette()[3:9], voc_palette()[-3:]
    ([128, 0, 0, 0, 128, 0], [224, 224, 192])
    """
    return [
        sum((index >> (3 * bit + channel) & 1) << (7 - bit) for bit in range(3))
        for index in range(256)
        for channel in range(3)
    ]


FORMAT = Format(
    name="voc-segmentation",
    title="Pascal VOC segmentation",
    about="folders SegmentationObject and SegmentationClass of PNGs with a palette",
    recognise=recognise,
    read=read,
    write=write,
    holds=frozenset({"empty image", "image size", "mask"}),
    needs=frozenset({"image size", "known class names", "masks that do not overlap", "no confidence"}),
    honours=frozenset({"mask_threshold", "masks", "names"}),
)
