"""From columns to annotations: what do the four numbers mean, how large are the images, what are numbers called?

Rows of text files, tables and what frameworks hand over differ in how columns are found; here they become the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verite.errors import ReadError
from verite.formats.class_names import class_names
from verite.formats.format import Options
from verite.formats.sizes import in_pixels, picture_size, pictures_in
from verite.model.alignment import match_images
from verite.model.annotations import Annotations
from verite.model.images import Images, stem
from verite.model.keypoints import Keypoints
from verite.model.labels import Labels
from verite.model.layouts import layout_name
from verite.model.outlines import Polygons, Runs
from verite.model.regions import Regions

EMPTY: Mapping[str, list[Path]] = {}
Refuse = Callable[[str, Mapping[int, str]], None]  # what was expected, and what was found in which rows


def build(
    options: Options,
    boxes: ArrayLike,
    layout: str,
    coords: str = "abs",
    *,
    images: Images,
    image: NDArray[np.int32],
    polygons: Polygons | None = None,
    runs: Runs | None = None,
    keypoints: Keypoints | None = None,
    **columns: Any,
) -> Annotations:
    """Annotations of these columns. Layout and frame are the format's own; the user's word goes before them."""
    numbers = np.asarray(boxes, dtype=np.float64).reshape(-1, 4)
    layout = layout_name(options.boxes or layout)
    regions = Regions(numbers, layout, polygons=polygons, runs=runs, keypoints=keypoints)
    regions, unit = in_pixels(regions, options.coords or coords, images, image)
    return Annotations(images=images, image=image, regions=regions, unit=unit, **columns)


def size_images(images: Images, options: Options, where: object, beside: Mapping[str, list[Path]] = EMPTY) -> Images:
    """The images with the sizes that their file does not say: the user's, those of the pictures, or the truth's.

    Pictures `beside` the annotations are asked after those in the user's own folder.
    """
    unknown = np.flatnonzero(images.widths == 0)
    if not len(unknown):
        return images
    sizes = np.stack([images.widths, images.heights], axis=1)
    if options.image_size is not None:
        sizes[unknown] = options.image_size
    elif options.images is not None:
        pictures = pictures_in(options.images)
        for i in unknown.tolist():
            name = stem(images.name(i))
            if name not in pictures:
                remedy = f"is {options.images} the right folder?"
                raise ReadError(where, expected=f"a picture named {name}", found="none", remedy=remedy)
            sizes[i] = picture_size(pictures[name])
    else:
        if options.like is not None:
            found, _ = match_images(images, options.like.images)
            theirs = np.stack([options.like.images.widths, options.like.images.heights], axis=1)
            known = unknown[found[unknown] >= 0]
            sizes[known] = theirs[found[known]]
        for i in unknown.tolist() if beside else ():
            if (name := stem(images.name(i))) in beside:
                sizes[i] = picture_size(beside[name])
    return Images(images.names, images.ids, widths=sizes[:, 0], heights=sizes[:, 1])


def name_numbers(numbers: NDArray[np.int64], options: Options, refuse: Refuse) -> tuple[NDArray[np.int32], Labels]:
    """Classes that are known by number, one for each row: under the names the user gives, else as numbers."""
    numbers = numbers + options.label_offset
    names, _ = class_names(options)
    if names is None:
        known, label = np.unique(numbers, return_inverse=True)
        return label.astype(np.int32), Labels(None, known)
    odd = np.flatnonzero((numbers < 0) | (numbers >= len(names))).tolist()
    expected = f"class numbers from 0 to {len(names) - 1}, as there are names (V206)"
    refuse(expected, {row: str(numbers[row]) for row in odd})
    return numbers.astype(np.int32), Labels(names, range(len(names)))
