"""What does a dictionary of arrays say of an image? One column per fact, and many images together as annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import BadParameter, excerpt
from verite.formats.frameworks import mask_pixels
from verite.model.annotations import Annotations
from verite.model.images import Images
from verite.model.keypoints import Keypoints
from verite.model.labels import Labels
from verite.model.outlines import Runs
from verite.model.ragged import offsets_of
from verite.model.regions import Regions
from verite.records import record

Item = Mapping[str, Any]
Columns = dict[str, NDArray[Any]]
COLUMNS: dict[str, tuple[Any, Any]] = {  # their types, and what is absent
    "scores": (np.float64, np.nan),
    "area": (np.float64, np.nan),
    "iscrowd": (np.bool_, False),
    "ignore": (np.bool_, False),
}
KEYS = {
    "predictions": ("boxes", "masks", "keypoints", "labels", "scores", "image_id"),
    "targets": ("boxes", "masks", "keypoints", "labels", "area", "iscrowd", "ignore", "image_id", "size"),
}


@record(eq=False)
class Batch:
    """An image: what was predicted and what is there, and its id."""

    pred: Columns
    target: Columns
    image: int

    @property
    def size(self) -> tuple[int, int]:
        """Height and width, 0 x 0 where nobody says."""
        for side in (self.target, self.pred):
            if "size" in side:
                return int(side["size"][0]), int(side["size"][1])
        return 0, 0

    def __len__(self) -> int:
        """How many objects there are."""
        return len(self.pred["labels"]) + len(self.target["labels"])


def used_labels(batches: Sequence[Batch]) -> NDArray[np.int64]:
    """The classes that occur."""
    return np.unique(concatenate([side["labels"] for b in batches for side in (b.pred, b.target)], np.int64))


def join_batches(batches: Sequence[Batch], labels: Labels, layout: str) -> tuple[Annotations, Annotations]:
    """Targets and predictions of many images."""
    heights, widths = np.array([batch.size for batch in batches], dtype=np.int32).reshape(-1, 2).T
    ids = np.array([batch.image for batch in batches], dtype=np.int64)
    images = Images(None, ids, widths=widths, heights=heights)
    return (
        join_side([batch.target for batch in batches], images, labels, layout, is_pred=False),
        join_side([batch.pred for batch in batches], images, labels, layout, is_pred=True),
    )


def join_side(parts: list[Columns], images: Images, labels: Labels, layout: str, *, is_pred: bool) -> Annotations:
    """One side of many images as columns."""
    counts = [len(c["labels"]) for c in parts]
    used = concatenate([c["labels"] for c in parts], np.int64)
    masks = join_masks(parts, counts)
    boxes = concatenate([c["boxes"] for c in parts], np.float64).reshape(-1, 4)
    boxed = np.repeat([bool(c["boxed"]) for c in parts], counts).astype(np.bool_)
    regions = Regions(boxes, layout, runs=masks, boxed=boxed, keypoints=join_keypoints(parts, counts))
    return Annotations(
        images=images,
        labels=labels,
        image=np.repeat(np.arange(len(parts), dtype=np.int32), counts),
        label=_core.find_positions(used, np.asarray(labels.ids, dtype=np.int64))[0],
        regions=Regions.over(regions.native.bound()),
        confidence=join_column(parts, counts, "scores") if is_pred else None,
        area=None if is_pred or all("area" not in c for c in parts) else join_column(parts, counts, "area"),
        flags={
            flag: join_column(parts, counts, key)
            for flag, key in (("crowd", "iscrowd"), ("ignore", "ignore"))
            if any(key in c for c in parts)
        },
    )


def join_column(parts: list[Columns], counts: list[int], key: str) -> NDArray[Any]:
    """What all images say; where one says nothing it is absent."""
    kind, absent = COLUMNS[key]
    return concatenate([c[key] if key in c else np.full(n, absent) for c, n in zip(parts, counts, strict=True)], kind)


def is_finite(side: Annotations) -> bool:
    """Are all boxes, keypoints and confidences numbers that can be compared?"""
    keypoints = side.regions.keypoints
    given = (side.regions.values, side.confidence, None if keypoints is None else keypoints.points)
    return all(values is None or bool(np.isfinite(values).all()) for values in given)


def read_batch(item: Item, side: str, i: int) -> Columns:
    """What a dictionary says, as arrays of one length; what it does not say is absent."""
    if not isinstance(item, Mapping):
        raise BadParameter(f"{side}[{i}]: expected a dictionary, found {type(item).__name__}")
    unknown = sorted(set(item) - set(KEYS[side]))
    if unknown:
        raise BadParameter(f"{side}[{i}]: expected keys out of {', '.join(KEYS[side])}, found {excerpt(unknown[0])}")
    for key in ("labels", *(("scores",) if side == "predictions" else ())):
        if key not in item:
            raise BadParameter(f"{side}[{i}]: expected a key {key!r}, found none")
    if not any(key in item for key in ("boxes", "masks", "keypoints")):
        raise BadParameter(f"{side}[{i}]: expected boxes, masks or keypoints, found none")
    labels = array_of(item["labels"], f"{side}[{i}].labels").astype(np.int64).reshape(-1)
    count = len(labels)
    found: Columns = {"labels": labels, "boxed": np.array("boxes" in item)}
    boxes = array_of(item["boxes"], f"{side}[{i}].boxes") if "boxes" in item else np.zeros((count, 4))
    if boxes.size and (boxes.ndim > 2 or boxes.shape[-1] != 4):
        raise BadParameter(f"{side}[{i}].boxes: expected shape (n, 4), found {boxes.shape}")
    found["boxes"] = check_count(boxes.astype(np.float64).reshape(-1, 4), count, f"{side}[{i}].boxes")
    for key, (kind, _) in COLUMNS.items():
        if key in item:
            given = array_of(item[key], f"{side}[{i}].{key}").astype(kind).reshape(-1)
            found[key] = check_count(given, count, f"{side}[{i}].{key}")
    if "masks" in item:
        pixels = mask_pixels(array_of(item["masks"], f"{side}[{i}].masks"), f"{side}[{i}].masks")
        check_count(pixels, count, f"{side}[{i}].masks")
        found["counts"], found["objects"] = _core.mask_runs(np.ascontiguousarray(pixels).view(np.uint8))
        found["size"] = np.array(pixels.shape[1:], dtype=np.int32)
    elif "size" in item:
        found["size"] = array_of(item["size"], f"{side}[{i}].size").astype(np.int32).reshape(2)
    if "keypoints" in item:
        points = array_of(item["keypoints"], f"{side}[{i}].keypoints").astype(np.float64)
        if points.size and (points.ndim != 3 or points.shape[2] not in (2, 3)):
            raise BadParameter(f"{side}[{i}].keypoints: expected shape (n, points, 3), found {points.shape}")
        found["keypoints"] = check_count(points, count, f"{side}[{i}].keypoints")
    return found


def array_of(values: Any, what: str) -> NDArray[Any]:
    """Anything as a numpy array; torch's tensors wherever they are."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if "bfloat16" in str(values.dtype) else values
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise BadParameter(f"{what}: expected an array of numbers, found {error}") from None
    if array.dtype.kind not in "biuf":
        raise BadParameter(f"{what}: expected numbers, found {array.dtype}")
    return array


def check_count(values: NDArray[Any], count: int, what: str) -> NDArray[Any]:
    if len(values) != count:
        raise BadParameter(f"{what}: expected {count} values as there are labels, found {len(values)}")
    return values


def image_of(pred: Item, target: Item, i: int) -> int | None:
    """The id of an image, if somebody says it."""
    ids = {int(array_of(item["image_id"], f"[{i}].image_id")) for item in (pred, target) if "image_id" in item}
    if len(ids) > 1:
        raise BadParameter(f"[{i}].image_id: expected the same id on both sides, found {sorted(ids)}")
    return ids.pop() if ids else None


def concatenate(parts: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype=dtype)


def join_masks(parts: list[Columns], counts: list[int]) -> Runs | None:
    if not any("counts" in part for part in parts):
        return None
    lengths = [
        np.diff(part["objects"]) if "counts" in part else np.zeros(n, np.int64)
        for part, n in zip(parts, counts, strict=True)
    ]
    sizes = [np.tile(part.get("size", np.zeros(2, np.int32)), (n, 1)) for part, n in zip(parts, counts, strict=True)]
    runs = concatenate([part["counts"] for part in parts if "counts" in part], np.uint32)
    return Runs(runs, offsets_of(concatenate(lengths, np.int64)), concatenate(sizes, np.int32).reshape(-1, 2))


def join_keypoints(parts: list[Columns], counts: list[int]) -> Keypoints | None:
    if not any("keypoints" in part for part in parts):
        return None
    every = [part["keypoints"] if "keypoints" in part else [None] * n for part, n in zip(parts, counts, strict=True)]
    return Keypoints.of([pose for poses in every for pose in poses])
