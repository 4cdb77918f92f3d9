"""What may a person hand over as a region? Four numbers, points, a mask, a contour, COCO's runs: all become columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verite import _core
from verite.errors import BadParameter, DataError, excerpt
from verite.model.outlines import Polygons, Runs
from verite.model.rasters import Sizes, fill, frames_of, runs_of
from verite.model.regions import Regions

NO_BOX = (0.0, 0.0, 0.0, 0.0)
LABEL_METRICS = "gce, lce, hamming, hafiane1, hafiane2 or vinet"


class Contour:
    """The outline of an object, pixel by pixel: an image of it, or its points x, y and the image's width and height.

    A contour metric takes the pixels as they are; a region metric fills what they enclose.

    >>> ring = Contour([[1, 1], [2, 1], [3, 1], [3, 2], [3, 3], [2, 3], [1, 3], [1, 2]], size=(5, 5))
    >>> int(ring.image.sum()), int(ring.filled.sum())
    (8, 9)
    """

    def __init__(self, pixels: ArrayLike, size: tuple[int, int] | None = None) -> None:
        values = np.asarray(pixels)
        self.image = drawn_points(values, size) if size is not None else binary(values, "contour")

    @property
    def filled(self) -> NDArray[np.bool_]:
        """The contour and everything inside it."""
        from verite.model.rasters import array_of

        return array_of(fill(runs_of(self.image[None])), 0)


def drawn_points(points: NDArray[Any], size: tuple[int, int]) -> NDArray[np.bool_]:
    """An image of that width and height with these points in it."""
    width, height = checked_size(size)
    image = np.zeros((height, width), dtype=np.bool_)
    if points.size == 0:
        return image
    if points.ndim != 2 or points.shape[1] != 2 or points.dtype.kind not in "iuf":
        raise BadParameter(f"contour: expected points x, y, found an array of shape {points.shape}")
    pixels = np.floor(points)
    outside = ~((pixels >= 0) & (pixels < (width, height))).all(axis=1)
    if outside.any():
        found = ", ".join(f"{v:g}" for v in points[np.argmax(outside)])
        raise DataError(f"contour: expected points within {width} × {height} pixels, found ({found})")
    x, y = pixels.astype(np.int64).T
    image[y, x] = True
    return image


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
    """An image as a mask; one line that says so where it is none."""
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
    outlines: Runs | None = None  # contours that were given; an object without one has no runs

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
    return join_shapes([one(thing, f"{what} {i}", layout) for i, thing in enumerate(things)])


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
    masks = Runs.of([(runs, (height, width))])
    return Shapes(Regions(frames_of(masks), runs=masks), masks.sizes)


def checked_boxes(boxes: NDArray[Any], what: str) -> NDArray[np.float64]:
    """Boxes of four finite numbers."""
    values = np.asarray(boxes, dtype=np.float64)
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        raise DataError(f"{what}: expected four finite numbers, found {excerpt(values[np.argmin(finite)].tolist())}")
    return values


def join_shapes(parts: Sequence[Shapes]) -> Shapes:
    """Single regions in columns."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return of_regions(Regions(np.empty((0, 4))))
    polygons = [part.regions.polygons[0] if part.regions.polygons else [] for part in parts]
    runs = [(part.regions.runs[0], size_of(part.regions.runs)) if part.regions.runs else None for part in parts]
    outlines = [(part.outlines[0], size_of(part.outlines)) if part.outlines else None for part in parts]
    return Shapes(
        Regions(
            np.concatenate([part.regions.boxes for part in parts]),
            polygons=Polygons.of(polygons) if any(polygons) else None,
            runs=Runs.of(runs) if any(r is not None for r in runs) else None,
        ),
        np.concatenate([part.sizes for part in parts]),
        Runs.of(outlines) if any(o is not None for o in outlines) else None,
    )


def size_of(runs: Runs) -> tuple[int, int]:
    return int(runs.sizes[0, 0]), int(runs.sizes[0, 1])
