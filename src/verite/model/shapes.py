"""Regions as users give them (boxes, polygons, masks, contours, COCO RLE, volumes), converted to columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError, excerpt
from verite.model.polygons import Polygons, RLEMasks
from verite.model.rasters import Sizes, fill, frames_of, runs_of
from verite.model.regions import Regions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

WRITTEN = re.compile(r"\s*(?P<steps>[^a-zA-Zµμ]*(?:[eE][-+]?\d+[^a-zA-Zµμ]*)*?)\s*(?P<unit>[a-zA-Zµμ]*)\s*")

USUAL = "mm"


@dataclass(frozen=True)
class Spacing:
    """The distance between the middles of neighbouring pixels along each axis: rows, then columns, as DICOM and numpy
    count; of volumes planes, rows and columns. One number serves all; none, if each volume has its own.

    >>> Spacing.of("0.7,0.5"), str(Spacing.of(2)), str(Spacing.of("3,3 um"))
    (Spacing(steps=(0.7, 0.5), unit='mm'), '2mm', '3,3um')
    """

    steps: tuple[float, ...]
    unit: str = USUAL

    @classmethod
    def of(cls, given: Any) -> Spacing:
        """From a number, several, or their text with or without a unit."""
        if isinstance(given, Spacing):
            return given
        unit, steps = USUAL, given
        if isinstance(given, str):
            found = WRITTEN.fullmatch(given)
            steps, unit = (found["steps"].split(","), found["unit"] or USUAL) if found else ([], USUAL)
        try:
            numbers = [float(step) for step in steps] if isinstance(steps, Iterable) else [float(steps)]
        except (TypeError, ValueError, OverflowError):
            numbers = []
        if len(numbers) not in (1, 2, 3) or not all(0 < n < 1e9 and isfinite(n) for n in numbers):
            expected = "ROWS,COLUMNS above 0, e.g. 0.7,0.7 (mm) or 3,3um"
            raise BadParameter(f"spacing: expected {expected}, found {excerpt(given)}")
        return cls(tuple(numbers), unit)

    def along(self, axes: int) -> tuple[float, ...]:
        """A number for each of so many axes."""
        if len(self.steps) not in (1, axes):
            raise BadParameter(f"spacing: expected a number for each of {axes} axes, found {len(self.steps)}")
        return self.steps if len(self.steps) == axes else self.steps * axes

    @property
    def plane(self) -> tuple[float, float]:
        """Down and across."""
        down, across = self.along(2)
        return down, across

    def __str__(self) -> str:
        return (",".join(f"{step:.12g}" for step in self.steps) or "each its own ") + self.unit


@dataclass(frozen=True, eq=False)
class Volume:
    """A mask or label map in three dimensions, with the spacing of its voxels.

    Parameters
    ----------
    values : array of bool or int, shape (planes, rows, columns)
        The voxels: True inside the object, or the number of the object.
    spacing : Spacing, optional
        Distance between neighbouring voxels along each axis.
    affine : array of float64, shape (4, 4), optional
        Transform from voxels to millimetres, as in NIfTI.

    Examples
    --------
    >>> volume = Volume.of(np.ones((2, 3, 4), dtype=bool), spacing=(5, 0.7, 0.7))
    >>> volume.steps, str(volume.spacing)
    ((5.0, 0.7, 0.7), '5,0.7,0.7mm')
    """

    values: NDArray[Any]
    spacing: Spacing | None = None
    affine: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, given: Any, spacing: Any = None) -> Volume:
        """Return a volume from an array, or from another volume with a new spacing.

        Parameters
        ----------
        given : array-like of bool or int, or Volume
            The voxels [plane, row, column].
        spacing : float, sequence of float or str, optional
            Distance between voxels, one number for all axes or one per axis: ``(5, 0.7, 0.7)`` or ``"5,0.7,0.7 mm"``.

        Raises
        ------
        BadParameter
            If the array has another shape or type, or the spacing is no positive number.
        """
        apart = None if spacing is None else Spacing.of(spacing)
        if isinstance(given, Volume):
            return given if apart is None else cls(given.values, apart, given.affine)
        values = np.asarray(given)
        if values.ndim != 3 or values.dtype.kind not in "biu" or not values.size:
            found = f"{values.dtype} {values.shape}"
            raise BadParameter(f"volume: expected truth values or whole numbers [plane, row, column], found {found}")
        return cls(values, apart)

    @property
    def steps(self) -> tuple[float, float, float]:
        """Distance between voxels along each axis; 1 if no spacing is known."""
        plane, row, column = (1.0, 1.0, 1.0) if self.spacing is None else self.spacing.along(3)
        return plane, row, column

    def is_beside(self, other: Volume) -> bool:
        """Return whether the voxels of both lie at the same positions; True if an affine is missing."""
        if self.affine is None or other.affine is None:
            return True
        return np.allclose(self.affine, other.affine, rtol=1e-4, atol=1e-2)


NO_BOX = (0.0, 0.0, -1.0, -1.0)  # no object; a point has a width and a height of 0

LABEL_METRICS = "gce, lce, hamming, hafiane1, hafiane2 or vinet"


class Contour:
    """The contour of an object as pixels.

    A contour metric uses the pixels as they are; a region metric fills the area that they enclose.

    Parameters
    ----------
    pixels : array-like
        A binary image of the contour, or its points x, y with shape (n, 2) if `size` is given.
    size : (int, int), optional
        Width and height of the image.

    Raises
    ------
    BadParameter
        If the array has the wrong shape.
    DataError
        If the image has more than two values, or a point lies outside of it.

    Examples
    --------
    >>> ring = Contour([[1, 1], [2, 1], [3, 1], [3, 2], [3, 3], [2, 3], [1, 3], [1, 2]], size=(5, 5))
    >>> int(ring.image.sum()), int(ring.filled.sum())
    (8, 9)
    """

    def __init__(self, pixels: ArrayLike, size: tuple[int, int] | None = None) -> None:
        values = np.asarray(pixels)
        if size is None:
            self.image = binary(values, "contour")
            return
        width, height = checked_size(size)
        self.image = np.zeros((height, width), dtype=np.bool_)
        if values.size == 0:
            return
        if values.ndim != 2 or values.shape[1] != 2 or values.dtype.kind not in "iuf":
            raise BadParameter(f"contour: expected points x, y, found an array of shape {values.shape}")
        points = np.floor(values)
        outside = ~((points >= 0) & (points < (width, height))).all(axis=1)
        if outside.any():
            found = ", ".join(f"{v:g}" for v in values[np.argmax(outside)])
            raise DataError(f"contour: expected points within {width} × {height} pixels, found ({found})")
        x, y = points.astype(np.int64).T
        self.image[y, x] = True

    @property
    def filled(self) -> NDArray[np.bool_]:
        """The contour and everything inside it, as a boolean image."""
        from verite.model.rasters import array_of

        return array_of(fill(runs_of(self.image[None])), 0)


def checked_size(size: Any) -> tuple[int, int]:
    """Width and height of an image."""
    try:
        width, height = (int(v) for v in size)
    except (TypeError, ValueError):
        raise BadParameter(f"size: expected (width, height), found {excerpt(size)}") from None
    if width <= 0 or height <= 0:
        raise BadParameter(f"size: expected a width and a height above 0, found {width} × {height}")
    return width, height


def is_binary(values: NDArray[Any]) -> bool:
    """Are there no other values than False and True, 0 and 1, or 0 and 255?"""
    if values.dtype == np.bool_ or values.size == 0:
        return True
    largest = values.max()
    if values.dtype.kind == "u" and largest <= 1:
        return True
    return bool(largest in (0, 1, 255) and np.all((values == 0) | (values == largest)))


def is_point_list(values: NDArray[Any]) -> bool:
    """Rows of x and y, at least three of them: a polygon, or a batch of them, and no image of two columns."""
    return values.dtype.kind in "iuf" and values.ndim in (2, 3) and values.shape[-1] == 2 and values.shape[-2] >= 3


def binary(values: NDArray[Any], what: str) -> NDArray[np.bool_]:
    """An image as a mask; one line that says so where it is none.

    Parameters
    ----------
    values
        Array of rows and columns; 0 and any one other value count as binary.
    what
        The object, for messages.

    Returns
    -------
    NDArray[np.bool_]
        A Boolean mask; gray levels and probabilities are refused, as no threshold is agreed on.
    """
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise BadParameter(f"{what}: expected an image of rows and columns, found an array of shape {values.shape}")
    check_pixels(values.shape, what)
    if not is_binary(values):
        raise not_binary(what, values)
    return values if values.dtype == np.bool_ else values != 0


def check_pixels(shape: tuple[int, ...], what: str) -> None:
    if 0 in shape:
        raise DataError(f"{what}: expected an image of at least one pixel, found {shape[1]} × {shape[0]}")


def not_binary(what: str, values: NDArray[Any]) -> DataError:
    """What is wrong with a mask of more than two values, and what to do about it."""
    found = np.unique(values)
    shown = ", ".join(f"{v:g}" for v in found[:4]) + (", …" if len(found) > 4 else "")
    if values.dtype.kind == "f":
        remedy = "threshold it, e.g. mask > 0.5"
    else:
        remedy = f"take one object (mask == {found[-1]}), or use a metric for label images: {LABEL_METRICS}"
    return DataError(
        f"{what}: expected a mask of two values (False and True, 0 and 1, or 0 and 255), found {shown}; {remedy}"
    )


@dataclass(frozen=True, eq=False)
class Shapes:
    """Regions in columns with what is known of their images."""

    regions: Regions
    sizes: Sizes  # height and width of each region's image, 0 where it does not say
    outlines: RLEMasks | None = None  # contours that were given; an object without one has no runs

    def __len__(self) -> int:
        return len(self.regions)


def shapes_of(things: Any, what: str, layout: str = "xyxy") -> Shapes:
    """Many regions: `Regions`, a list, or an array of boxes [n, 4], masks [n, row, column], polygons [n, point, 2]."""
    if isinstance(things, Shapes):
        return things
    if isinstance(things, Regions):
        return of_regions(things)
    if isinstance(things, np.ndarray) and things.ndim == 3 and not is_point_list(things):
        check_pixels(things.shape[1:], what)
        if not is_binary(things):
            raise not_binary(what, things)
        runs = runs_of(things if things.dtype == np.bool_ else things != 0)
        return Shapes(Regions(frames_of(runs), runs=runs), runs.sizes)
    if isinstance(things, np.ndarray) and things.ndim == 2 and things.shape[1] == 4 and things.dtype.kind in "iuf":
        return of_regions(Regions(checked_boxes(things, what), layout))
    if not isinstance(things, Sequence) and not (isinstance(things, np.ndarray) and things.ndim == 3):
        raise BadParameter(f"{what}: expected a list of regions, found {type(things).__name__}")
    parts = [one(thing, f"{what} {i}", layout) for i, thing in enumerate(things)]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return of_regions(Regions(np.empty((0, 4))))
    polygons = [part.regions.polygons[0] if part.regions.polygons else [] for part in parts]
    masks = [(part.regions.runs[0], size_of(part.regions.runs)) if part.regions.runs else None for part in parts]
    outlines = [(part.outlines[0], size_of(part.outlines)) if part.outlines else None for part in parts]
    return Shapes(
        Regions(
            np.concatenate([part.regions.boxes for part in parts]),
            polygons=Polygons.of(polygons) if any(polygons) else None,
            runs=RLEMasks.of(masks) if any(mask is not None for mask in masks) else None,
        ),
        np.concatenate([part.sizes for part in parts]),
        RLEMasks.of(outlines) if any(outline is not None for outline in outlines) else None,
    )


def of_regions(regions: Regions) -> Shapes:
    """Regions as they are; masks bring the size of their image."""
    sizes = regions.runs.sizes if regions.runs is not None else np.zeros((len(regions), 2), dtype=np.int32)
    return Shapes(regions, sizes)


def one(thing: Any, what: str, layout: str = "xyxy") -> Shapes:
    """One region, whatever it is; None is no object at all."""
    if isinstance(thing, Contour):
        outline = runs_of(thing.image[None])
        runs = fill(outline)
        return Shapes(Regions(frames_of(runs), runs=runs), runs.sizes, outline)
    if thing is None:
        return of_regions(Regions([NO_BOX]))
    if isinstance(thing, (Regions, Shapes)):
        found = thing if isinstance(thing, Shapes) else of_regions(thing)
        if len(found) != 1:
            raise BadParameter(f"{what}: expected one region, found {len(found)}")
        return found
    if isinstance(thing, Mapping):
        return of_mapping(thing, what)
    values = numbers(thing)
    if values is None:
        return of_rings(thing, what)
    if values.ndim == 1 and len(values) == 4:
        return of_regions(Regions(checked_boxes(values[None], what), layout))
    if values.ndim == 2 and is_point_list(values):
        return of_rings([values], what)
    if values.ndim == 1 and len(values) >= 6 and len(values) % 2 == 0:
        return of_rings([values], what)
    if values.ndim == 2 and not (isinstance(thing, (list, tuple)) and values.shape[1] >= 6):
        mask = binary(values, what)
        return shapes_of(mask[None], what)
    if values.ndim in (2, 3):
        return of_rings(list(values), what)
    raise BadParameter(
        f"{what}: expected a box (4 numbers), a polygon (at least 3 points), a mask or a Contour, "
        f"found an array of shape {values.shape}"
    )


def numbers(thing: Any) -> NDArray[Any] | None:
    """An array of numbers, or None where the thing is ragged."""
    try:
        values = np.asarray(thing)
    except ValueError:
        return None
    return values if values.dtype.kind in "biuf" else None


def of_rings(rings: Any, what: str) -> Shapes:
    """One polygon of one or more rings, each flat or a list of points."""
    kinds = "a box (4 numbers), a polygon (at least 3 points), a mask or a Contour"
    wrong = BadParameter(f"{what}: expected {kinds}, found {excerpt(rings)}")
    if not isinstance(rings, (list, tuple)) or not len(rings):
        raise wrong
    flat = []
    for ring in rings:
        values = numbers(ring)
        if values is None or values.size < 6 or values.size % 2 or (values.ndim == 2 and values.shape[1] != 2):
            raise wrong
        if not np.isfinite(values).all():
            raise DataError(f"{what}: expected finite coordinates, found {excerpt(values.tolist())}")
        flat.append(values.astype(np.float64).reshape(-1, 2))
    points = np.concatenate(flat)
    return of_regions(Regions([[*points.min(axis=0), *points.max(axis=0)]], polygons=Polygons.of([flat])))


def of_mapping(thing: Mapping[str, Any], what: str) -> Shapes:
    """COCO's `{"size": [height, width], "counts": …}`."""
    try:
        height, width = (int(v) for v in thing["size"])
        counts = thing["counts"]
        if isinstance(counts, (str, bytes)):
            text = counts.encode() if isinstance(counts, str) else counts
            runs = _core.decode_runs(text, height, width)
        else:
            runs = np.asarray(counts, dtype=np.uint32)
            if int(runs.sum(dtype=np.int64)) != height * width:
                raise ValueError("runs that do not add up")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else error
        raise DataError(f"{what}: expected COCO's size and counts, found {reason}") from None
    masks = RLEMasks.of([(runs, (height, width))])
    return Shapes(Regions(frames_of(masks), runs=masks), masks.sizes)


def checked_boxes(boxes: NDArray[Any], what: str) -> NDArray[np.float64]:
    """Boxes of four finite numbers.

    Parameters
    ----------
    boxes
        Array [object, 4] in any layout.
    what
        The objects, for messages.

    Returns
    -------
    NDArray[np.float64]
        The boxes as float64; NaN and infinity are refused, with the first such box.
    """
    values = np.asarray(boxes, dtype=np.float64)
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        raise DataError(f"{what}: expected four finite numbers, found {excerpt(values[np.argmin(finite)].tolist())}")
    return values


def size_of(runs: RLEMasks) -> tuple[int, int]:
    return int(runs.sizes[0, 0]), int(runs.sizes[0, 1])


Floats: TypeAlias = "NDArray[np.float64]"


def is_image(thing: Any) -> bool:
    """Pixels in rows and columns, numbered or not."""
    return isinstance(thing, np.ndarray) and thing.ndim == 2 and thing.dtype.kind in "biu" and not is_point_list(thing)


def is_label_image(thing: Any) -> bool:
    """An image of whole numbers with more than one object in it."""
    return is_image(thing) and not is_binary(thing)


def has_label_images(things: Any) -> bool:
    """Does a list or an array [n, row, column] hold a label image?"""
    is_list = isinstance(things, Sequence) or (isinstance(things, np.ndarray) and things.ndim == 3)
    return is_list and any(is_label_image(thing) for thing in things)


def number(values: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """The image with its objects counted from 0 and the background last, and how many objects there are.

    Objects count in the order in which a reader meets them, whatever their numbers: where two couples of objects share
    as many pixels, a metric that has to choose must not look at the numbers.
    """
    low, high = int(values.min()), int(values.max())
    if high - low <= 2**16 + values.size and high < 2**62:
        where = values.astype(np.intp) - low
        met = np.full(high - low + 1, -1, dtype=np.intp)
        met[where.ravel()[::-1]] = np.arange(values.size)[::-1]  # of several pixels the last that is told stays
        found = np.flatnonzero(met >= 0)
        first, is_object = met[found], found + low != 0
    else:
        labels, first, where = np.unique(values, return_index=True, return_inverse=True)
        found, is_object = np.arange(len(labels)), labels != 0
    objects = int(is_object.sum())
    number = np.full(int(found[-1]) + 1, objects, dtype=np.int64)
    number[found[is_object][np.argsort(first[is_object])]] = np.arange(objects)
    return number[where.reshape(values.shape)], objects


def crop(*images: NDArray[Any]) -> list[NDArray[Any]]:
    """The part of the images in which any of them has an object, at least one pixel."""
    is_used = np.logical_or.reduce([image != 0 for image in images])
    rows, columns = (np.flatnonzero(is_used.any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        return [image[:1, :1] for image in images]
    return [image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] for image in images]


def overlap_table(truth: NDArray[Any], pred: NDArray[Any]) -> Floats:
    """Pixels shared by region i of the truth and region j of the pred; the background is the last of each.

    >>> overlap_table(np.array([[1, 1, 0]]), np.array([[2, 0, 0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    (mine, rows), (theirs, columns) = (number(image) for image in crop(truth, pred))
    flat = np.bincount((mine * (columns + 1) + theirs).ravel(), minlength=(rows + 1) * (columns + 1))
    flat[-1] += truth.size - mine.size
    return flat.reshape(rows + 1, columns + 1).astype(np.float64)


def stack(tables: Sequence[Floats]) -> Floats:
    """Tables of different sizes in one array: regions that do not exist have no pixels."""
    rows = max((table.shape[0] for table in tables), default=2)
    columns = max((table.shape[1] for table in tables), default=2)
    out = np.zeros((len(tables), rows, columns))
    for i, table in enumerate(tables):
        out[i, : table.shape[0] - 1, : table.shape[1] - 1] = table[:-1, :-1]
        out[i, -1, : table.shape[1] - 1] = table[-1, :-1]
        out[i, : table.shape[0] - 1, -1] = table[:-1, -1]
        out[i, -1, -1] = table[-1, -1]
    return out


def table_of_one(areas: Floats, pixels: Floats) -> Floats:
    """The tables of pairs of one object each, from the areas of truth, pred and both and the pixels of the image."""
    truth, pred, shared = areas.T
    out = np.empty((len(pixels), 2, 2))
    out[:, 0, 0] = shared
    out[:, 0, 1] = truth - shared
    out[:, 1, 0] = pred - shared
    out[:, 1, 1] = pixels - truth - pred + shared
    return out
