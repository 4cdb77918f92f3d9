"""The objects of images as frameworks hand them over: torchvision's dictionaries and supervision's Detections.

A part per image, with its boxes as corners, class numbers, and what else there is; tensors are taken as numpy's arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, excerpt
from verite.formats.building import build, name_numbers, size_images
from verite.formats.format import Options
from verite.model.annotations import Annotations, Source
from verite.model.images import Images
from verite.model.keypoints import Keypoints
from verite.model.outlines import Runs
from verite.model.rasters import runs_of
from verite.records import record

HONOURS = frozenset({"boxes", "coords", "image_size", "images", "names", "label_offset", "image_offset"})


def to_array(values: Any) -> NDArray[Any]:
    """numpy's array of anything that has one, wherever its memory is."""
    for step in ("detach", "cpu"):
        values = getattr(values, step)() if hasattr(values, step) else values
    return np.asarray(values)


def take_torchvision(given: Sequence[Mapping[str, Any]], options: Options) -> Annotations:
    """A dictionary per image: boxes (corners), labels, and for predictions scores; masks, keypoints and areas where
    there are some.
    """
    ids = [scalar(item["image_id"]) if "image_id" in item else i for i, item in enumerate(given)]
    keys = {"scores": "scores", "masks": "masks", "crowds": "iscrowd", "keypoints": "keypoints", "areas": "area"}
    parts = [
        ImageObjects(
            f"image {id}", item["boxes"], item["labels"], **{name: item.get(key) for name, key in keys.items()}
        )
        for id, item in zip(ids, given, strict=True)
    ]
    twice = next((id for id, count in Counter(map(str, ids)).items() if count > 1), None)
    if twice is not None:
        raise BadParameter(f"torchvision dictionaries: expected each image once, found a second image_id {twice}")
    if all(isinstance(id, int) for id in ids):
        return join_parts(parts, images_by_number(ids, options), options, "torchvision dictionaries")
    return join_parts(parts, Images([str(id) for id in ids]), options, "torchvision dictionaries")


def scalar(value: Any) -> Any:
    return to_array(value).reshape(-1)[0].item() if hasattr(value, "tolist") else value


def take_supervision(given: Any, options: Options) -> Annotations:
    """Detections of one image, a list with one per image, or a dictionary by image name."""
    named = given if isinstance(given, Mapping) else None
    items = list(named.values()) if named is not None else list(given) if isinstance(given, (list, tuple)) else [given]
    parts = [ImageObjects(f"image {i}", d.xyxy, d.class_id, d.confidence, d.mask) for i, d in enumerate(items)]
    images = Images(list(map(str, named))) if named is not None else images_by_number(range(len(items)), options)
    return join_parts(parts, images, options, "supervision.Detections")


def images_by_number(ids: Sequence[int], options: Options) -> Images:
    return Images(None, np.array(ids, dtype=np.int64) + options.image_offset)


@record()
class ImageObjects:
    """The objects of one image, as a framework hands them over."""

    where: str
    boxes: Any
    labels: Any
    scores: Any = None
    masks: Any = None
    crowds: Any = None
    keypoints: Any = None
    areas: Any = None

    def corners(self) -> NDArray[np.float64]:
        """The boxes, four numbers each; none may come in any shape."""
        found = to_array(self.boxes)
        if found.size == 0:
            return np.empty((0, 4))
        if found.dtype.kind not in "biuf" or found.ndim != 2 or found.shape[1] != 4:
            what = f"{found.dtype} {found.shape}"
            raise BadParameter(f"{self.where}: expected boxes as numbers of shape (n, 4), found {what}")
        return found.astype(np.float64)

    def column(self, name: str, values: Any, count: int) -> NDArray[Any]:
        found = to_array([] if values is None else values).reshape(-1)
        if len(found) != count:
            raise BadParameter(f"{self.where}: expected {count} {name} as there are boxes, found {len(found)}")
        return found


def join_parts(parts: Sequence[ImageObjects], images: Images, options: Options, name: str) -> Annotations:
    """The columns of all images, their classes known by number; names may be given or are the truth's."""
    boxes = [part.corners() for part in parts]
    counts = [len(part) for part in boxes]
    sized = list(zip(parts, counts, strict=True))
    has_scores = [part.scores is not None for part, n in sized if n]
    if has_scores and any(has_scores) != all(has_scores):
        raise BadParameter(f"{name}: expected scores in every image or in none, found them in {sum(has_scores)}")
    is_scored = any(has_scores) if has_scores else any(part.scores is not None for part in parts)
    scores = [part.column("scores", part.scores, n) for part, n in sized if n and is_scored]
    crowds = [np.zeros(n) if p.crowds is None else p.column("iscrowd", p.crowds, n) for p, n in sized]
    areas = [np.full(n, np.nan) if p.areas is None else p.column("areas", p.areas, n) for p, n in sized]
    image = np.repeat(np.arange(len(parts)), counts).astype(np.int32)
    numbers = join_columns([whole(part, part.column("labels", part.labels, n)) for part, n in sized], np.int64)

    def refuse(expected: str, found: Mapping[int, str]) -> None:
        for row, text in found.items():
            raise BadParameter(f"{name}: {parts[image[row]].where}: expected {expected}, found {text}")

    label, labels = name_numbers(numbers, options, refuse)
    return build(
        options,
        join_columns(boxes, np.float64),
        "xyxy",
        images=size_images(images, options, name),
        image=image,
        labels=labels,
        label=label,
        runs=masks_of(parts, counts),
        keypoints=keypoints_of(parts, counts),
        area=join_columns(areas, np.float64) if any(part.areas is not None for part in parts) else None,
        confidence=join_columns(scores, np.float64) if is_scored else None,
        flags={"crowd": join_columns(crowds, np.bool_)},
        source=Source(name, "memory", by_number=("labels",) if images.has_names else ("images", "labels")),
    )


def join_columns(parts: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """Columns one after the other, also where there is none."""
    return np.concatenate([*parts, np.empty((0, *parts[0].shape[1:]) if parts else 0)]).astype(dtype)


def whole(part: ImageObjects, values: NDArray[Any]) -> NDArray[np.int64]:
    """Class numbers, which are whole."""
    if not len(values):
        return np.empty(0, np.int64)
    is_whole = values.dtype.kind in "biu" or (values.dtype.kind == "f" and bool((np.mod(values, 1) == 0).all()))
    if not is_whole:
        raise BadParameter(f"{part.where}: expected whole numbers as labels, found {excerpt(str(values[0]))}")
    return values.astype(np.int64)


def masks_of(parts: Sequence[ImageObjects], counts: Sequence[int]) -> Runs | None:
    """Masks of [n, height, width] or [n, 1, height, width]; as in torchvision, above a half is inside."""
    if not any(part.masks is not None and n for part, n in zip(parts, counts, strict=True)):
        return None
    found: list[Any] = []
    for part, n in zip(parts, counts, strict=True):
        if part.masks is None:
            found += [None] * n
            continue
        pixels = mask_pixels(to_array(part.masks), f"{part.where}: masks")
        if len(pixels) != n:
            raise BadParameter(f"{part.where}: expected masks of shape ({n}, height, width), found {pixels.shape}")
        runs = runs_of(pixels)
        found += [(runs[i], pixels.shape[1:]) for i in range(n)]
    return Runs.of(found)


def mask_pixels(values: NDArray[Any], where: str) -> NDArray[np.bool_]:
    """Which pixels are inside: of whole numbers all but 0, of probabilities those above a half."""
    if values.ndim not in (3, 4) or (values.ndim == 4 and values.shape[1] != 1):
        raise BadParameter(f"{where}: expected shape (n, height, width), found {values.shape}")
    flat = values[:, 0] if values.ndim == 4 else values
    if flat.dtype.kind != "f":
        return flat if flat.dtype == np.bool_ else np.asarray(flat != 0)
    if np.isnan(flat).any():
        raise BadParameter(f"{where}: expected truth values or probabilities, found NaN")
    return np.asarray(flat > 0.5)


def keypoints_of(parts: Sequence[ImageObjects], counts: Sequence[int]) -> Keypoints | None:
    """Keypoints of [n, point, 3], as torchvision has them."""
    if not any(part.keypoints is not None and n for part, n in zip(parts, counts, strict=True)):
        return None
    found: list[Any] = []
    for part, n in zip(parts, counts, strict=True):
        points = [None] * n if part.keypoints is None else list(to_array(part.keypoints))
        if len(points) != n:
            raise BadParameter(
                f"{part.where}: expected keypoints of {n} objects as there are boxes, found {len(points)}"
            )
        found += points
    return Keypoints.of(found)
