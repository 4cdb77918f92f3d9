"""Label images and mask images: decode the pixels, split them into masks, and find the image that each file belongs to.

Files of masks follow one of several naming rules (one file per image, per object, or a folder per image). The rule is
inferred from all names together and reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from verite.arrays import np
from verite.errors import ReadError
from verite.formats.sizes import open_image
from verite.limits import limit, remedy
from verite.model.annotations import Annotations
from verite.model.images import Images
from verite.model.polygons import RLEMasks
from verite.model.ragged import gather, offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image

Ints: TypeAlias = "NDArray[np.int64]"

SUFFIXES = frozenset({".png", ".tif", ".tiff", ".bmp", ".gif", ".pgm", ".ppm", ".jpg", ".jpeg", ".webp"})

# Words that say "this is the mask of", at the end of every name of a folder.
ENDINGS = re.compile(
    r"[_-](gtfine[_-](instanceids|labelids|labeltrainids)|instanceids|labelids|labeltrainids|masks?|seg|segmentations?|"
    r"gt|groundtruth|ground[_-]truth|labels?|annotations?|anno|preds?|predictions?|contours?)$",
    re.IGNORECASE,
)

# One object a file: a word for it and a number, or a number alone.
NUMBERED = re.compile(
    r"^(?P<image>.+?)[_-]+(?P<word>obj|objects?|inst|instances?|masks?|nucle(?:us|i)|cells?|lesions?)?[_-]?"
    r"(?P<number>\d+)$",
    re.IGNORECASE,
)


# A class of an image and annotator a file, as Label Studio exports brush strokes.
LABEL_STUDIO = re.compile(r"^(?P<task>task-\d+)-annotation-\d+-by-.*-tag-(?P<label>.+)-\d+$", re.IGNORECASE)


@dataclass(frozen=True)
class Named:
    """A mask file and the image that it belongs to."""

    path: Path
    image: str


@dataclass(frozen=True)
class Rule:
    """Naming rule of the mask files in a folder."""

    pictures: tuple[Named, ...]
    why: str
    has_one_object_each: bool = False
    is_sure: bool = False  # whatever is in the images
    other: Rule | None = None  # how they may be named instead, which their pixels have to decide


def image_files(path: Path) -> list[Path]:
    """Return the image files in a folder and its subfolders, or the file itself."""
    if not path.is_dir():
        return [path]
    return sorted(
        p
        for p in path.rglob("*")
        if p.suffix.lower() in SUFFIXES
        and p.is_file()
        and not any(part.startswith(".") for part in p.relative_to(path).parts)
    )


def name_images(path: Path, files: Sequence[Path], images: Images | None) -> Rule:
    """Infer the naming rule of mask files, by the ground truth's images if they are known."""
    if not path.is_dir():
        single = images.name(0) if images is not None and len(images) == 1 else path.stem
        return Rule((Named(path, single),), "one picture")
    by_task: dict[str, list[Path]] = {}
    for file in files:
        if task := LABEL_STUDIO.match(file.stem):
            by_task.setdefault(task["task"], []).append(file)
    several = next((mine for mine in by_task.values() if len(mine) > 1), None)
    if several is not None:  # neither one image per file nor objects of one class
        one_task = f"{len(several)} of one Label Studio task, one per class: {several[0].name} and {several[1].name}"
        remedy = "export the project as Label Studio JSON, which keeps images, classes and brush masks"
        raise ReadError(path, expected="one file per image", found=one_task, remedy=remedy)
    plain = name_plainly(files)
    has_images = images is not None and len(images) > 0
    numbered = name_by_number(files, least=1 if has_images else 2)
    folders = name_by_folder(path, files)
    if images is not None and has_images:
        choices = [rule for rule in (plain, numbered, folders) if rule is not None]
        found = [sum(images.find(p.image) is not None for p in rule.pictures) for rule in choices]
        if max(found) > 0:
            return choices[found.index(max(found))]
    sure = [rule for rule in (folders, numbered) if rule is not None and rule.is_sure]
    if sure:
        return sure[0]
    other = folders or numbered
    return plain if other is None else Rule(plain.pictures, plain.why, other=other)


def name_plainly(files: Sequence[Path]) -> Rule:
    """Name one file per image: by its stem, without an ending that all stems share."""
    stems = [f.stem for f in files]
    endings = {found.group(0) if (found := ENDINGS.search(stem)) else "" for stem in stems}
    cut = endings.pop() if len(endings) == 1 else ""
    names = [stem[: len(stem) - len(cut)] if cut else stem for stem in stems]
    if len(set(names)) < len(names):  # the same name in several folders
        names, cut = stems, ""
    why = f"one file per image, named IMAGE{cut}" if cut else "one file per image, named like it"
    return Rule(tuple(map(Named, files, names)), why)


def name_by_number(files: Sequence[Path], least: int) -> Rule | None:
    """Name one file per object: IMAGE_1, IMAGE_2, …, where at least one image has several files."""
    found = [NUMBERED.match(f.stem) for f in files]
    if not all(found):
        return None
    names = [match["image"] for match in found if match]
    has_words = all(match["word"] for match in found if match)
    if len(set(names)) == len(names) or (len(set(names)) < least and not has_words):
        return None
    words = sorted({match["word"] or "" for match in found if match})
    shown = f"IMAGE_{words[0]}NUMBER" if words == [words[0]] and words[0] else "IMAGE_NUMBER"
    why = f"one file per object, named {shown}"
    return Rule(tuple(map(Named, files, names)), why, has_one_object_each=True, is_sure="" not in words)


def name_by_folder(path: Path, files: Sequence[Path]) -> Rule | None:
    """Name one file per object in a folder for each image, or in the folder `masks` of such a folder."""
    parts = [f.relative_to(path).parts for f in files]
    if any(len(p) < 2 for p in parts):
        return None
    is_below = all(len(p) > 2 and p[-2].lower() in BELOW for p in parts)
    owners = [p[-3] if is_below else p[-2] for p in parts]
    if len(set(owners)) == len(owners) or (len(set(owners)) < 2 and not is_below):
        return None
    why = "one file per object, in a folder for each image"
    return Rule(tuple(map(Named, files, owners)), why, has_one_object_each=True, is_sure=is_below)


BELOW = ("masks", "mask", "objects")  # folders of objects in the folder of an image

MASK_PICTURES = ("PNG", "TIFF", "BMP", "GIF", "PPM", "JPEG", "WEBP")

WHITE = {"uint8": 255, "bool": 1, "uint16": 65_535, "int32": 65_535}  # what a threshold is a share of

ORIENTATION = 0x0112  # the EXIF tag

MOST_COLOURS = 4096  # more are a photo

MOST_VALUES = 65_536


@dataclass(frozen=True, eq=False)
class Pixels:
    """The pixel values of a mask file, and their properties."""

    values: NDArray[Any]  # [row, column], whole numbers, or fractions where it is soft
    is_palette: bool = False
    is_colour: bool = False  # a value is red + 256 × green + 256² × blue
    is_lossy: bool = False

    @property
    def white(self) -> float:
        return 1.0 if self.values.dtype.kind == "f" else float(WHITE[self.values.dtype.name])


def read_pixels(path: Path, *, most: float = 1) -> Pixels:
    """Read the pixel values of one file; `most` is the largest fraction allowed, 1 in masks."""
    with open_image(path, MASK_PICTURES) as image:
        pages = getattr(image, "n_frames", 1)
        if pages > 1:
            hint = "a volume is compared with another by verite localize TRUTH PRED"
            raise ReadError(path, expected="an image file of one page", found=f"{pages} pages", remedy=hint)
        turned = image.getexif().get(ORIENTATION, 1)
        if turned not in (0, 1):
            found = f"EXIF orientation {turned}, which viewers turn and others do not"
            raise ReadError(path, expected="a mask that stands upright", found=found, remedy="save it turned, without")
        mode, is_lossy = image.mode, image.format in ("JPEG", "WEBP")
        array = decode_pixels(image)
    del image  # and with it Pillow's own copy of the pixels
    if mode in ("RGBA", "LA", "PA", "La", "RGBa"):
        array, mode = without_alpha(path, array), {"RGBA": "RGB", "LA": "L", "PA": "P"}.get(mode, mode)
    if mode in ("1", "L", "P", "I", "F") or mode.startswith("I;16"):
        check_range(path, array, most)
        values = array.astype(np.uint16, copy=False) if mode.startswith("I;16") else array
        return Pixels(values, mode == "P", is_lossy=is_lossy)
    if mode == "RGB":
        return read_colours(path, array, is_lossy)
    raise ReadError(path, expected="a black-and-white, grey, palette or colour image", found=f"mode {mode}")


def decode_pixels(image: Image.Image) -> NDArray[Any]:
    """Return the pixel values of an opened image, copied in stripes, since Pillow needs two copies of a whole one."""
    width, height = image.size
    rows = max(1, BLOCK // max(1, width))
    if rows >= height:
        return np.asarray(image)
    image.load()
    whole: NDArray[Any] | None = None
    for top in range(0, height, rows):
        stripe = np.asarray(image.crop((0, top, width, min(top + rows, height))))
        whole = np.empty((height, *stripe.shape[1:]), stripe.dtype) if whole is None else whole
        whole[top : top + rows] = stripe
    assert whole is not None
    return whole


FEWEST_OPAQUE = 128  # of 255: below, alpha is no opacity


def without_alpha(path: Path, array: NDArray[Any]) -> NDArray[Any]:
    """Return the image without its alpha channel, which must be constant.

    Parameters
    ----------
    path
        The image, for messages.
    array
        Pixels [row, column, channel], the last channel being alpha.

    Returns
    -------
    NDArray[Any]
        Pixels of gray level [row, column] or colour [row, column, 3].
    """
    alpha = array[..., -1]
    if alpha.size and (alpha != alpha.flat[0]).any():
        found = "transparency that varies"
        remedy = "flatten it first"
        if alpha.max() < FEWEST_OPAQUE:
            remedy = (
                "are these BDD100K's bitmasks, with the instance in blue and alpha? convert them to COCO or RLE with "
            )
            remedy += "python -m bdd100k.label.to_coco or .to_rle"
        raise ReadError(path, expected="a mask without an alpha channel", found=found, remedy=remedy)
    return array[..., 0] if array.shape[-1] == 2 else array[..., :-1]


def read_colours(path: Path, array: NDArray[Any], is_lossy: bool) -> Pixels:
    """Grey written as colour is grey; otherwise every colour is a value."""
    if (array[..., 0] == array[..., 1]).all() and (array[..., 0] == array[..., 2]).all():
        return Pixels(np.ascontiguousarray(array[..., 0]), is_lossy=is_lossy)
    values = array[..., 2].astype(np.int32)
    for channel in (1, 0):
        values <<= 8
        values |= array[..., channel]
    colours = len(np.unique(np.concatenate([np.unique(flat[starts]) for starts, flat in blocks_of_runs(values)])))
    if colours > MOST_COLOURS or is_lossy:
        found = f"{colours:,} colours{' of a lossy format' * is_lossy}, as photos have them"
        raise ReadError(path, expected="a mask", found=found, remedy="name the folder of the masks")
    return Pixels(values, is_colour=True)


def check_range(path: Path, array: NDArray[Any], most: float = 1) -> None:
    """Numbers that are finite and not below 0; fractions of a mask are at most 1."""
    if not array.size:
        raise ReadError(path, expected="pixels", found="none")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ReadError(path, expected="finite pixels", found="some that are not")
    low, high = array.min(), array.max()
    if low < 0:
        raise ReadError(path, expected="pixels from 0 up", found=f"{low}")
    if array.dtype.kind == "f" and high > most:
        raise ReadError(path, expected="fractions from 0 to 1", found=f"{high:g}", remedy="save whole numbers as such")
    if array.dtype.kind != "f" and high >= MOST_VALUES:
        raise ReadError(path, expected=f"values below {MOST_VALUES:,}", found=f"{high}")


def is_soft(pixels: Pixels) -> bool:
    """Whether grey values are a soft mask: fractions, or values in shorter runs than objects are wide."""
    values = pixels.values
    if values.dtype.kind == "f":
        return bool(((values > 0) & (values < 1)).any())
    if pixels.is_palette or pixels.is_colour or values.dtype.kind == "b":
        return False
    found, across = mean_stretches(values)
    _, down = mean_stretches(values.T)
    # Black and white are what shades lie between.
    shades = (found > 0) & (found < found.max(initial=0))
    return bool(shades.sum() >= SHADES and np.median(np.minimum(across, down)[shades]) <= SHORT)


SHADES, SHORT = 3, 2.0


def mean_stretches(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the values that occur, and the mean length of their horizontal runs."""
    shades, stretches, pixels = [], [], []
    for starts, flat in blocks_of_runs(values.T):
        is_cut = not len(starts) or starts[0] > 0  # begins within a stretch of the block before
        bounds = np.concatenate([[0], starts]) if is_cut else starts
        found, owner = np.unique(flat[bounds], return_inverse=True)
        shades.append(found)
        pixels.append(np.bincount(owner, weights=np.diff(bounds, append=len(flat))))
        stretches.append(np.bincount(owner[1:] if is_cut else owner, minlength=len(found)))
    found, owner = np.unique(np.concatenate(shades), return_inverse=True)
    counts = np.bincount(owner, weights=np.concatenate(stretches))
    return found, np.bincount(owner, weights=np.concatenate(pixels)) / counts


BLOCK = 2**19  # pixels looked at together, so that their flags and places need little memory beside the image


def blocks_of_runs(pixels: NDArray[Any]) -> Iterator[tuple[Ints, NDArray[Any]]]:
    """The pixels column by column, in blocks, each with the places in it where another value begins."""
    height, width = pixels.shape
    columns, last = max(1, BLOCK // max(1, height)), None
    for first in range(0, width, columns):
        flat = pixels[:, first : first + columns].T.ravel()
        if not len(flat):
            return
        is_new = np.empty(len(flat), dtype=np.bool_)
        is_new[0] = last is None or flat[0] != last
        np.not_equal(flat[1:], flat[:-1], out=is_new[1:])
        last = flat[-1]
        yield np.flatnonzero(is_new), flat


@dataclass(frozen=True, eq=False)
class Segments:
    """The masks of one file, one per pixel value."""

    values: Ints
    counts: NDArray[np.uint32]  # runs of all masks, column by column, the first of each outside it
    lengths: Ints  # how many runs each mask has
    size: tuple[int, int]  # height and width

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Segments:
        """Some of the masks, in this order."""
        chosen = np.arange(len(self.values))[rows]
        at, _ = gather(offsets_of(self.lengths), chosen)
        return Segments(self.values[chosen], self.counts[at], self.lengths[chosen], self.size)

    @property
    def runs(self) -> RLEMasks:
        return join([self])


FREE_RUNS = 2_000_000  # come from however few bytes


def split(pixels: NDArray[np.integer], path: Path | None = None) -> Segments:
    """A mask for every value that occurs, by rising value; of a file, no more runs than its bytes allow for.

    >>> found = split(np.array([[5, 0], [5, 7]]))
    >>> found.values, found.counts, found.lengths
    (array([0, 5, 7]), array([2, 1, 1, 0, 2, 2, 3, 1], dtype=uint32), array([3, 3, 2]))
    """
    # Stripes and checkerboards are small files of very many runs.
    most = FREE_RUNS + limit("runs_per_byte") * path.stat().st_size if path else None
    starts, values, owner = runs_by_value(pixels, most, path)
    ends = np.append(starts[1:], np.uint32(pixels.size)) if len(starts) else starts
    by_owner = np.argsort(owner, kind="stable")
    starts, ends = starts[by_owner], ends[by_owner]
    numbers = np.bincount(owner, minlength=len(values))
    del owner, by_owner
    lasts = np.cumsum(numbers) - 1
    pairs = np.empty((len(starts), 2), dtype=np.uint32)  # pixels outside the mask, then inside
    pairs[:1, 0], pairs[1:, 0] = starts[:1], starts[1:] - ends[:-1]
    pairs[lasts - numbers + 1, 0] = starts[lasts - numbers + 1]
    np.subtract(ends, starts, out=pairs[:, 1])
    tails = pixels.size - ends[lasts].astype(np.int64)
    del starts, ends
    has_tail = tails > 0
    counts = np.insert(pairs.ravel(), 2 * (lasts[has_tail] + 1), tails[has_tail])
    return Segments(values, counts, 2 * numbers + has_tail, (pixels.shape[0], pixels.shape[1]))


def runs_by_value(
    pixels: NDArray[Any], most: int | None, path: Path | None
) -> tuple[NDArray[np.uint32], Ints, NDArray[Any]]:
    """Where runs of equal pixels begin, column by column; the values that occur; and which of them each run has."""
    starts, shades, count, before = [np.empty(0, np.uint32)], [np.empty(0, pixels.dtype)], 0, 0
    for places, flat in blocks_of_runs(pixels):
        count += len(places)
        if most is not None and count > most:
            expected = f"at most {most:,} runs of equal pixels in a file of this size"
            raise ReadError(path, expected=expected, found="more", remedy=remedy("runs_per_byte"))
        shades.append(flat[places])
        starts.append((places + before).astype(np.uint32))
        before += len(flat)
    shade = np.concatenate(shades)
    if shade.dtype.itemsize > 2 or shade.dtype.kind not in "bu":
        values, owner = np.unique(shade.astype(np.int64), return_inverse=True)
        return np.concatenate(starts), values, owner
    values = np.flatnonzero(np.bincount(shade, minlength=1))
    place = np.zeros(int(values[-1]) + 1 if len(values) else 1, dtype=np.uint16)
    place[values] = np.arange(len(values))
    return np.concatenate(starts), values, place[shade.astype(np.uint16, copy=False)]


def join(parts: Sequence[Segments]) -> RLEMasks:
    """Concatenate the masks of all files."""
    counts = [part.counts for part in parts] or [np.empty(0, np.uint32)]
    lengths = [part.lengths for part in parts] or [np.empty(0, np.int64)]
    sizes = [np.tile(np.array(part.size, np.int32), (len(part.lengths), 1)) for part in parts]
    return RLEMasks(
        np.concatenate(counts),
        offsets_of(np.concatenate(lengths)),
        np.concatenate(sizes) if sizes else np.empty((0, 2), np.int32),
    )


def paint(
    annotations: Annotations, at: int, rows: NDArray[np.integer], numbers: Sequence[int], path: object
) -> NDArray[np.uint32]:
    """The number of the mask that each pixel of an image belongs to; 0 where there is none."""
    images, runs = annotations.images, annotations.regions.runs
    height, width = int(images.heights[at]), int(images.widths[at])
    if runs is not None and len(rows):
        height, width = (int(side) for side in runs.sizes[rows[0]])
    if not height or not width:
        raise ReadError(path, expected="the size of every image", found=f"none for {images.name(at)!r}")
    flat = np.zeros(height * width, dtype=np.uint32)
    for number, row in zip(numbers, rows.tolist(), strict=True):
        assert runs is not None
        inside = pixels_of(runs, row)
        if len(inside) != len(flat):
            raise ReadError(path, expected="masks of one size an image", found=f"two in {images.name(at)!r}")
        if flat[inside].any():
            found = f"pixels of two in {images.name(at)!r}"
            raise ReadError(path, expected="segments that share no pixel", found=found)
        flat[inside] = number
    return flat.reshape(width, height).T


def pixels_of(runs: RLEMasks, row: int) -> NDArray[np.bool_]:
    """Which pixels, column by column, belong to a mask."""
    return np.repeat(np.arange(len(runs[row])) % 2 == 1, runs[row])


def rows_by_image(annotations: Annotations) -> list[NDArray[np.int64]]:
    """The objects of each image."""
    order = np.argsort(annotations.image, kind="stable")
    bounds = np.searchsorted(annotations.image[order], np.arange(len(annotations.images) + 1))
    return [order[bounds[i] : bounds[i + 1]] for i in range(len(annotations.images))]
