"""Mask images and label images: PNG or TIFF whose pixels are masks, classes or instances; read and written.

The values decide which are binary masks, contours, one object per file, or label images, or the option `masks`.
They are written as label images with as few bits as their values need.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, ReadError
from verite.files import folder_atomically
from verite.formats.format import MASKS, Format, Options, PathProbe, class_names, file_stems
from verite.formats.label_images import (
    SUFFIXES,
    Pixels,
    Rule,
    Segments,
    image_files,
    is_soft,
    join,
    name_images,
    paint,
    read_pixels,
    rows_by_image,
    split,
)
from verite.model.annotations import Annotations, Source
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.polygons import RLEMasks
from verite.model.rasters import fill, frames_of, outlines_of
from verite.model.regions import MASK, Regions
from verite.progress import count_files

UNRANKED = "mask images have no confidences: predictions are ranked in the order of the files"
OBJECT = "object"  # the class of masks without classes
VOID = 255
THOUSAND = 1000
SPARE = 2  # what is inside a drawn curve has so many times its pixels


@dataclass(frozen=True, eq=False)
class Picture:
    """The masks of one file, one per value, and their origin."""

    place: str
    image: str
    segments: Segments
    is_colour: bool = False

    @property
    def values(self) -> NDArray[np.int64]:
        return self.segments.values


@dataclass(frozen=True, eq=False)
class Found:
    """Contents of mask files: for each its masks, their class ids, and whether each is a crowd."""

    segments: list[Segments]
    labels: list[NDArray[np.int64]]  # ids of classes
    crowds: list[NDArray[np.bool_]]


def read_masks(
    path: Path, options: Options, names: Mapping[int, str] | None = None, left_out: Collection[int] = ()
) -> Annotations:
    """Read the objects of a mask image or a folder of mask images.

    `names` are those of a format that knows its classes, `left_out` the values that are no class.
    """
    files = image_files(path)
    if not files:
        raise ReadError(path, expected="pictures", found="none")
    rule = name_images(path, files, options.like.images if options.like is not None else None)
    pictures = [
        load(str(p.path), p.image, read_pixels(p.path), options, p.path)
        for p in count_files("reading", list(rule.pictures))
    ]
    if rule.other is not None and are_parts(pictures, rule.other):
        images = [p.image for p in rule.other.pictures]
        pictures = [replace(p, image=image) for p, image in zip(pictures, images, strict=True)]
        rule = rule.other
    if rule.has_one_object_each and options.masks is None:
        options = replace(options, masks="binary")
    source = Source(str(path), "mask-pictures", rule.why, is_file_per_image=not rule.has_one_object_each)
    return annotations_of(pictures, options, source, names, left_out)


def load(place: str, image: str, pixels: Pixels, options: Options, path: Path | None = None) -> Picture:
    """Return the masks of a file or an array; a soft mask needs a threshold."""
    values = pixels.values
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ReadError(place, expected="numbers", found="NaN or infinity")
    if options.mask_threshold is not None:
        values = (values >= options.mask_threshold * pixels.white).astype(np.uint8)
    elif options.masks not in ("objects", "classes", "instances", "every") and is_soft(pixels):
        share, kind = options.spell("mask_threshold", 0.5), options.spell("masks", "objects")
        found = "shades of grey"
        raise ReadError(
            place,
            expected="a mask of few values",
            found=found,
            remedy=f"give {share} for a soft mask, or {kind} if each is an object",
        )
    elif values.dtype.kind == "f":
        if (values != np.rint(values)).any():
            raise ReadError(place, expected="whole numbers", found="fractions")
        if values.min(initial=0) < 0:
            raise ReadError(place, expected="values from 0 up", found=f"{values.min():g}")
        values = values.astype(np.int64)
    return Picture(place, image, split(values, path), pixels.is_colour)


def are_parts(pictures: Sequence[Picture], rule: Rule) -> bool:
    """Whether files named as objects of one image are: equal sizes, one value besides 0, no pixel in two of them."""
    groups: dict[str, list[Picture]] = {}
    for picture, named in zip(pictures, rule.pictures, strict=True):
        groups.setdefault(named.image, []).append(picture)
    for group in groups.values():
        if len({p.segments.size for p in group}) > 1 or any((p.values > 0).sum() > 1 for p in group):
            return False
        covered = np.zeros(int(np.prod(group[0].segments.size)), dtype=np.int64)
        for p in group:
            covered += pixels_above_0(p.segments)
        if covered.max(initial=0) > 1:
            return False
    return True


def pixels_above_0(segments: Segments) -> NDArray[np.bool_]:
    """Which pixels, column by column, have any value but 0."""
    is_inside = np.ones(int(np.prod(segments.size)), dtype=np.bool_)
    background = segments.take(segments.values == 0)
    if len(background.values):
        is_inside &= ~np.repeat(np.arange(len(background.counts)) % 2 == 1, background.counts)
    return is_inside


def annotations_of(
    pictures: Sequence[Picture],
    options: Options,
    source: Source,
    names: Mapping[int, str] | None = None,
    left_out: Collection[int] = (),
) -> Annotations:
    """Build annotations from mask files; several files may belong to one image."""
    if left_out:
        pictures = [
            replace(p, segments=p.segments.take(~np.isin(p.values, np.array(sorted(left_out))))) for p in pictures
        ]
    given, _ = class_names(options)
    known = dict(enumerate(given)) if given is not None else dict(names or {})
    kind = options.masks or choose_kind(pictures, has_names=bool(known))
    found = FINDERS[kind](pictures)
    images = list(dict.fromkeys(p.image for p in pictures))
    sizes = sizes_of(pictures, options)
    rows = [len(s.values) for s in found.segments]
    at = {name: i for i, name in enumerate(images)}
    runs = join(found.segments)
    ids = np.concatenate([np.empty(0, np.int64), *found.labels])
    labels = label_table(ids, known, kind, source.path)
    crowd = np.concatenate([np.empty(0, np.bool_), *found.crowds])
    index = labels.index_of_id
    notes = (*source.notes, *([UNRANKED] if options.like is not None and kind != "every" else ()))
    return Annotations(
        images=Images(images, widths=[sizes[n][1] for n in images], heights=[sizes[n][0] for n in images]),
        labels=labels,
        image=np.repeat(np.array([at[p.image] for p in pictures], dtype=np.int32), rows),
        label=np.array([index[i] for i in ids.tolist()] if labels.numbers else np.zeros(len(ids)), dtype=np.int32),
        regions=Regions(frames_of(runs), runs=runs),
        flags={"crowd": crowd} if crowd.any() else {},
        source=replace(source, why="; ".join(w for w in (source.why, f"{kind}: {MASKS[kind]}") if w), notes=notes),
    )


def sizes_of(pictures: Sequence[Picture], options: Options) -> dict[str, tuple[int, int]]:
    """Return height and width of each image; its mask files and the ground truth must agree."""
    sizes: dict[str, tuple[int, int]] = {}
    truth = options.like.images if options.like is not None else None
    for picture in pictures:
        size = picture.segments.size
        at = truth.find(picture.image) if truth is not None and truth.has_names else None
        if truth is not None and at is not None and truth.heights[at] > 0:
            sizes.setdefault(picture.image, (int(truth.heights[at]), int(truth.widths[at])))
        wanted = sizes.setdefault(picture.image, size)
        if wanted != size:
            expected = f"{wanted[1]} × {wanted[0]} pixels as image {picture.image!r} has elsewhere"
            raise ReadError(picture.place, expected=expected, found=f"{size[1]} × {size[0]}")
    return sizes


def label_table(ids: NDArray[np.int64], names: Mapping[int, str], kind: str, place: str) -> Labels:
    """Return the classes by id; binary masks and numbered objects have a single class.

    Parameters
    ----------
    ids
        Class ids that occur in the pixels.
    names
        Names by id, from data beside the images; may be empty.
    kind
        What pixel values mean: classes, objects, a silhouette or a contour.
    place
        Where the names are from, for messages.
    """
    if kind in ("binary", "contour", "objects"):
        return Labels([names.get(1, OBJECT) if len(names) <= 2 else OBJECT])
    used = sorted({*names, *np.unique(ids).tolist()})
    if not names:
        return Labels(None, used)
    return Labels([names.get(id, str(id)) for id in used], used)


def choose_kind(pictures: Sequence[Picture], *, has_names: bool) -> str:
    """Infer what pixel values mean: one value besides 0 is a binary mask, several are objects.

    Parameters
    ----------
    pictures
        All images of the folder, since one of them alone may have one object.
    has_names
        There are names for pixel values, so that they are classes.

    Returns
    -------
    str
        `classes`, `objects`, `contour` (closed thin curves) or `binary`.
    """
    values = np.unique(np.concatenate([np.empty(0, np.int64), *(p.values for p in pictures)]))
    if (values != 0).sum() > 1:
        return "classes" if has_names else "objects"
    are_curves = []  # closed contours, which enclose far more pixels than they have
    for picture in pictures:
        if (picture.values > 0).any():
            runs = picture.segments.take(picture.values > 0).runs
            area = count(runs)
            are_curves.append(count(outlines_of(runs)) == area and count(fill(runs)) >= SPARE * area)
    return "contour" if are_curves and all(are_curves) else "binary"


def count(runs: RLEMasks) -> int:
    return int(sum(int(runs[i][1::2].sum()) for i in range(len(runs))))


def find_one(pictures: Sequence[Picture]) -> Found:
    """An object of all pixels but 0."""
    return without_class([above_0(p.segments) for p in pictures])


def find_inside(pictures: Sequence[Picture]) -> Found:
    """Return the object of a closed contour: the contour and its inside."""
    inside = []
    for picture in pictures:
        one = above_0(picture.segments)
        runs = fill(one.runs)
        inside.append(Segments(one.values, runs.counts, np.diff(runs.objects), one.size))
    return without_class(inside)


def above_0(segments: Segments) -> Segments:
    """One mask of all pixels but 0, none where there are none."""
    there = segments.values != 0
    if there.sum() <= 1:
        return segments.take(there)
    flat = pixels_above_0(segments)
    whole = split(flat.reshape(segments.size[::-1]).T.astype(np.uint8))
    return whole.take(whole.values != 0)


def without_class(segments: list[Segments]) -> Found:
    numbers = [len(s.values) for s in segments]
    return Found(segments, [np.zeros(n, np.int64) for n in numbers], [np.zeros(n, np.bool_) for n in numbers])


def find_objects(pictures: Sequence[Picture]) -> Found:
    """An object for every value but 0."""
    return without_class([p.segments.take(p.values != 0) for p in pictures])


def find_classes(pictures: Sequence[Picture]) -> Found:
    """A mask for every class, background and void left out."""
    return by_value([p.segments.take((p.values != 0) & (p.values != VOID)) for p in pictures])


def find_every(pictures: Sequence[Picture]) -> Found:
    """A mask for every value."""
    return by_value([p.segments for p in pictures])


def by_value(segments: list[Segments]) -> Found:
    return Found(segments, [s.values for s in segments], [np.zeros(len(s.values), np.bool_) for s in segments])


def find_instances(pictures: Sequence[Picture]) -> Found:
    """Split values of class × 1000 + number into objects; values below 1000 are classes without instances."""
    segments = [p.segments.take((p.values > 0) & (p.values != VOID)) for p in pictures]
    is_single = [s.values >= THOUSAND for s in segments]
    ids = [np.where(one, s.values // THOUSAND, s.values) for s, one in zip(segments, is_single, strict=True)]
    return Found(segments, ids, [~one for one in is_single])


FINDERS = {
    "binary": find_one,
    "contour": find_inside,
    "objects": find_objects,
    "classes": find_classes,
    "instances": find_instances,
    "every": find_every,
}


def from_arrays(given: object, options: Options) -> Annotations:
    """Masks or label images in memory: one, a list, a stack, or a dictionary by image."""
    if isinstance(given, Mapping):
        named = {str(name): np.asarray(array) for name, array in given.items()}
    else:
        arrays = [np.asarray(a) for a in given] if isinstance(given, (list, tuple)) else np.asarray(given)
        if isinstance(arrays, np.ndarray) and arrays.ndim == 2:
            arrays = arrays[None]
        named = {str(i): array for i, array in enumerate(arrays)}
    truth = options.like.images if options.like is not None else None
    if isinstance(given, Mapping) or truth is None or len(truth) != len(named) or not truth.has_names:
        names = list(named)
    else:
        names = [truth.name(i) for i in range(len(truth))]  # arrays of both sides stand in one order
    pictures = []
    for name, array in zip(names, named.values(), strict=True):
        if array.dtype.kind not in "biuf" or array.ndim != 2:
            raise BadParameter(f"masks: expected arrays [row, column] of numbers, found {array.dtype} {array.shape}")
        if array.dtype.kind == "i" and array.size and array.min() < 0:
            raise BadParameter(f"masks: expected values from 0 up, found {array.min()}")
        known = array if array.dtype.name in ("bool", "uint8", "uint16") or array.dtype.kind == "f" else None
        pixels = Pixels(array.astype(np.int32) if known is None else known)
        pictures.append(load(f"masks[{name}]", name, pixels, options))
    return annotations_of(pictures, options, Source("", "mask-pictures"))


def are_arrays(given: object) -> bool:
    """An array of 2 or 3 dimensions, or a list or dictionary of such of 2."""
    if isinstance(given, Mapping):
        return bool(given) and all(is_plane(a) for a in given.values())
    if isinstance(given, (list, tuple)):
        return bool(given) and all(is_plane(a) for a in given)
    return is_plane(given) or (is_numeric(given) and len(given.shape) == 3)  # type: ignore[attr-defined]


def is_plane(given: object) -> bool:
    return is_numeric(given) and len(given.shape) == 2  # type: ignore[attr-defined]


def is_numeric(given: object) -> bool:
    """numpy's arrays without fields, and tensors of any framework."""
    if isinstance(given, np.ndarray):
        return given.dtype.names is None and given.dtype.kind in "biuf"
    return hasattr(given, "shape") and hasattr(given, "__array__") and not hasattr(given, "columns")


LARGEST = 65_535

Rows = NDArray[np.int64]


def paint_each(
    annotations: Annotations, path: Path, number: Callable[[Rows], range | list[int]]
) -> list[tuple[int, NDArray[np.uint32]]]:
    """Each image painted, its objects numbered so."""
    if not (annotations.regions.kinds == MASK).all():
        raise ReadError(path, expected="a mask for every object", found="boxes or polygons")
    return [
        (at, paint(annotations, at, rows, number(rows), path)) for at, rows in enumerate(rows_by_image(annotations))
    ]


def save(pixels: NDArray[np.uint32], path: Path, palette: list[int] | None = None) -> None:
    """Write a label image as PNG of 8 or 16 bits, with a palette if given."""
    from PIL import Image

    if pixels.max(initial=0) > LARGEST:
        raise ReadError(path, expected=f"values up to {LARGEST}", found=str(pixels.max()))
    depth = np.uint8 if pixels.max(initial=0) < 256 else np.uint16
    image = Image.fromarray(pixels.astype(depth))
    if palette is not None:
        image.putpalette(palette)
    image.save(path, format="PNG")


STARTS = ("\ufffdPNG", "II*\x00", "MM\x00*", "BM", "GIF8", "P1", "P2", "P4", "P5", "P6", "\ufffd\ufffd\ufffd", "RIFF")

LOOKED_AT = 20


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is mask images: nothing but images, of which one of the first 20 is no photograph."""
    pictures = [p for p in probe.files if p.suffix.lower() in SUFFIXES]
    if probe.is_folder:
        if not pictures or len(pictures) < len(probe.files):
            return None
        return "a folder that holds only images" if any(map(is_mask, pictures[:LOOKED_AT])) else None
    if not pictures or not probe.head.startswith(STARTS):
        return None
    return "a mask image" if is_mask(probe.path, is_broken=True) else None


def is_mask(path: Path, *, is_broken: bool = False) -> bool:
    """Whether a file may be a mask image: no colour JPEG or WebP; `is_broken` is the answer for broken files."""
    from verite.errors import ReadError
    from verite.formats.sizes import open_image

    try:
        with open_image(path, is_decoded=False) as image:
            return image.format not in ("JPEG", "WEBP") or image.mode in ("L", "1")
    except ReadError:
        return is_broken  # the reader reports what is wrong


def read(path: Path, options: Options) -> Annotations:
    """Read mask images."""
    from verite.formats.mask_images import read_masks

    return read_masks(path, options)


def write(annotations: Annotations, path: Path) -> None:
    """Write one label image per image; its values number the objects from 1."""
    # A folder of images whose values count the objects of each image from 1.
    stems = file_stems(annotations.images, path)
    with folder_atomically(path) as folder:
        for name, pixels in paint_each(annotations, path, lambda rows: range(1, len(rows) + 1)):
            save(pixels, folder / f"{stems[name]}.png")


FORMAT = Format(
    name="mask-pictures",
    title="mask images",
    about="PNG or TIFF: binary masks, contours, one file per object, label images; written as label images",
    recognise=recognise,
    read=read,
    write=write,
    preserves=frozenset({"empty image", "image size", "mask"}),
    requires=frozenset({"image size", "masks that do not overlap", "no confidence"}),
    options=frozenset({"mask_threshold", "masks", "names"}),
)
