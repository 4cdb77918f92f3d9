"""COCO's numbers for a training loop: batch by batch, from arrays, and from several processes put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.checks import Finding, examine_all, warn_of
from verite.errors import BadParameter, DataError, excerpt
from verite.model.annotations import Annotations
from verite.model.images import Images
from verite.model.labels import Labels
from verite.model.layouts import layout_name
from verite.model.outlines import Runs
from verite.model.ragged import offsets_of
from verite.model.regions import Regions
from verite.protocols.coco import CocoResults, coco

Item = Mapping[str, Any]
Columns = dict[str, NDArray[Any]]
FLAGS = ("iscrowd", "ignore")
FIRST = 64  # images after which the checks look for the first time
KEYS = {
    "predictions": ("boxes", "masks", "labels", "scores", "image_id"),
    "targets": ("boxes", "masks", "labels", "area", "iscrowd", "ignore", "image_id", "size"),
}


class CocoEvaluator:
    """Collects predictions and targets, one dictionary an image, and evaluates all of them at the end.

    A prediction has `boxes` [n, 4] (or `masks` [n, row, column]), `scores` [n] and `labels` [n]; a target has `boxes`
    (or `masks`) and `labels`, and may have `iscrowd`, `ignore` and `area`. Arrays are numpy's, torch's, or anything
    that numpy takes. Images are counted as they come, or named by an `image_id` in every target. Settings are those of
    :func:`verite.coco`, checked at once.

    What looks wrong is said once, as a Python warning, when the first images are there, and is in ``results.findings``:
    an untrained network must not end a run, so that only ``checks="stop"`` stops. Predictions whose box or confidence
    is not finite count as wrong.

    >>> evaluator = CocoEvaluator(labels={1: "cat"})
    >>> evaluator.update([{"boxes": [[0, 0, 10, 10]], "scores": [0.9], "labels": [1]}],
    ...                  [{"boxes": [[0, 0, 10, 10]], "labels": [1]}])
    >>> round(evaluator.compute().scores["AP"].value, 4)
    1.0
    """

    def __init__(
        self, *, layout: str = "xyxy", labels: Mapping[int, str] | Sequence[str] | None = None, **settings: Any
    ) -> None:
        self.layout = layout_name(layout)
        self.names = dict(enumerate(labels)) if isinstance(labels, Sequence) else dict(labels) if labels else None
        self.settings = {"checks": "warn", **settings}
        coco.settings(**self.settings)  # wrong ones are refused here, not at the end of an epoch
        self.checks = self.settings["checks"]
        self.has_warned = False
        self.images: list[int | None] = []
        self.sizes: list[tuple[int, int]] = []  # height and width, 0 x 0 where nobody says
        self.sides: dict[str, list[Columns]] = {"predictions": [], "targets": []}

    def __len__(self) -> int:
        """How many images there are."""
        return len(self.images)

    def update(self, preds: Sequence[Item] | Item, targets: Sequence[Item] | Item) -> None:
        """Add the images of a batch."""
        predictions, truths = ([items] if isinstance(items, Mapping) else list(items) for items in (preds, targets))
        if len(predictions) != len(truths):
            raise BadParameter(
                f"update: expected as many targets as predictions, found {len(truths)} and {len(predictions)}"
            )
        # Everything is checked before anything is kept, so that a bad batch leaves no trace.
        found = [
            (columns_of(pred, "predictions", i), columns_of(target, "targets", i), image_of(pred, target, i))
            for i, (pred, target) in enumerate(zip(predictions, truths, strict=True))
        ]
        ids = [image for _, _, image in found]
        check_images([*self.images, *ids])
        for pred, target, image in found:
            self.images.append(image)
            self.sizes.append(size_of(pred, target))
            self.sides["predictions"].append(pred)
            self.sides["targets"].append(target)
        if self.checks == "warn" and not self.has_warned and len(self) >= FIRST:
            self.warn(examine_all(*self.both_sides()))

    def warn(self, findings: Sequence[Finding]) -> None:
        """Say once what looks wrong."""
        if not self.has_warned:
            warn_of(findings, "CocoEvaluator")
        self.has_warned = True

    def merge(self, other: CocoEvaluator) -> None:
        """Add everything another evaluator has collected, for example in another process."""
        mine = self.layout, self.names, self.settings
        if mine != (other.layout, other.names, other.settings):
            raise BadParameter("merge: expected an evaluator with the same settings, layout and labels")
        check_images([*self.images, *other.images])
        self.images += other.images
        self.sizes += other.sizes
        for name, columns in other.sides.items():
            self.sides[name] += columns

    def reset(self) -> None:
        """Forget everything that was collected."""
        self.__init__(layout=self.layout, labels=self.names, **self.settings)  # type: ignore[misc]

    def compute(self, *, name: str | None = None) -> CocoResults:
        """Evaluate all images so far; more may be added afterwards."""
        results = coco(*self.both_sides(), name=name or "evaluator", **self.settings)
        self.warn(results.findings)
        return results

    def both_sides(self) -> tuple[Annotations, Annotations]:
        """Targets and predictions so far."""
        heights, widths = np.array(self.sizes, dtype=np.int32).reshape(-1, 2).T
        ids = np.arange(len(self)) if None in self.images else np.array(self.images, dtype=np.int64)
        images = Images(None, ids, widths=widths, heights=heights)
        labels = self.labels()
        return self.annotations("targets", images, labels), self.annotations("predictions", images, labels)

    def labels(self) -> Labels:
        """Those given, or else those that occur."""
        used = np.unique(concatenate([c["labels"] for side in self.sides.values() for c in side], np.int64))
        if self.names is None:
            return Labels(None, used)
        strange = sorted(set(used.tolist()) - set(self.names))
        if strange:
            raise DataError(f"labels: expected one of {len(self.names)} that were named, found {strange[0]}")
        return Labels(list(self.names.values()), list(self.names))

    def annotations(self, side: str, images: Images, labels: Labels) -> Annotations:
        """One side of all images as columns."""
        parts = self.sides[side]
        counts = [len(c["labels"]) for c in parts]
        used = concatenate([c["labels"] for c in parts], np.int64)
        masks = joined_masks(parts, counts)
        boxes = concatenate([c["boxes"] for c in parts], np.float64).reshape(-1, 4)
        boxed = np.repeat([bool(c["boxed"]) for c in parts], counts).astype(np.bool_)
        layout = self.layout
        if masks is not None and not boxed.all():
            boxes = np.where(boxed[:, None], Regions(boxes, layout).sizes, _core.mask_bounds(masks.arrays))
            layout = "xywh"
        areas = concatenate([c["area"] for c in parts], np.float64)
        return Annotations(
            images=images,
            labels=labels,
            image=np.repeat(np.arange(len(parts), dtype=np.int32), counts),
            label=_core.find_positions(used, np.asarray(labels.ids, dtype=np.int64))[0],
            regions=Regions(boxes, layout, runs=masks, boxed=boxed),
            confidence=concatenate([c["scores"] for c in parts], np.float64) if side == "predictions" else None,
            area=areas if not np.isnan(areas).all() else None,
            flags={
                flag: concatenate([c[key] for c in parts], np.bool_)
                for flag, key in (("crowd", "iscrowd"), ("ignore", "ignore"))
            },
        )


def columns_of(item: Item, side: str, i: int) -> Columns:
    """What a dictionary says, as arrays of one length; what it does not say is absent."""
    if not isinstance(item, Mapping):
        raise BadParameter(f"{side}[{i}]: expected a dictionary, found {type(item).__name__}")
    unknown = sorted(set(item) - set(KEYS[side]))
    if unknown:
        raise BadParameter(f"{side}[{i}]: expected keys out of {', '.join(KEYS[side])}, found {excerpt(unknown[0])}")
    for key in ("labels", *(("scores",) if side == "predictions" else ())):
        if key not in item:
            raise BadParameter(f"{side}[{i}]: expected a key {key!r}, found none")
    if "boxes" not in item and "masks" not in item:
        raise BadParameter(f"{side}[{i}]: expected boxes or masks, found neither")
    labels = array_of(item["labels"], f"{side}[{i}].labels").astype(np.int64).reshape(-1)
    count = len(labels)
    found: Columns = {"labels": labels, "boxed": np.array("boxes" in item)}
    boxes = array_of(item["boxes"], f"{side}[{i}].boxes") if "boxes" in item else np.zeros((count, 4))
    found["boxes"] = check_count(boxes.astype(np.float64).reshape(-1, 4), count, f"{side}[{i}].boxes")
    for key, dtype in (("scores", np.float64), ("area", np.float64), *((flag, np.bool_) for flag in FLAGS)):
        missing: NDArray[Any] = np.full(count, np.nan if dtype is np.float64 else 0, dtype=dtype)
        given = array_of(item[key], f"{side}[{i}].{key}").astype(dtype).reshape(-1) if key in item else missing
        found[key] = check_count(given, count, f"{side}[{i}].{key}")
    if "masks" in item:
        pixels = array_of(item["masks"], f"{side}[{i}].masks")
        if pixels.ndim != 3:
            raise BadParameter(f"{side}[{i}].masks: expected shape (n, height, width), found {pixels.shape}")
        check_count(pixels, count, f"{side}[{i}].masks")
        found["counts"], found["objects"] = encode(pixels)
        found["size"] = np.array(pixels.shape[1:], dtype=np.int32)
    elif "size" in item:
        found["size"] = array_of(item["size"], f"{side}[{i}].size").astype(np.int32).reshape(2)
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


def encode(pixels: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Runs of masks [n, row, column]: whatever is not 0 is object."""
    columns = np.ascontiguousarray((pixels != 0).transpose(0, 2, 1)).view(np.uint8)
    return _core.encode_masks(columns.transpose(2, 1, 0))


def image_of(pred: Item, target: Item, i: int) -> int | None:
    """The id of an image, if somebody says it."""
    ids = {int(array_of(item["image_id"], f"[{i}].image_id")) for item in (pred, target) if "image_id" in item}
    if len(ids) > 1:
        raise BadParameter(f"[{i}].image_id: expected the same id on both sides, found {sorted(ids)}")
    return ids.pop() if ids else None


def check_images(images: Iterable[int | None]) -> None:
    """All images have an id and each its own, or none has one."""
    listed = list(images)
    known = [image for image in listed if image is not None]
    if known and len(known) < len(listed):
        raise BadParameter("image_id: expected one for every image or for none, found some without")
    if len(set(known)) < len(known):
        twice = next(image for image in known if known.count(image) > 1)
        raise DataError(
            f"image_id: expected each image once, found {twice} again; "
            "do several processes see the same image, or was reset() forgotten?"
        )


def size_of(pred: Columns, target: Columns) -> tuple[int, int]:
    for side in (target, pred):
        if "size" in side:
            return int(side["size"][0]), int(side["size"][1])
    return 0, 0


def concatenate(parts: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype=dtype)


def joined_masks(parts: list[Columns], counts: list[int]) -> Runs | None:
    if not any("counts" in part for part in parts):
        return None
    lengths = [
        np.diff(part["objects"]) if "counts" in part else np.zeros(n, np.int64)
        for part, n in zip(parts, counts, strict=True)
    ]
    sizes = [np.tile(part.get("size", np.zeros(2, np.int32)), (n, 1)) for part, n in zip(parts, counts, strict=True)]
    runs = concatenate([part["counts"] for part in parts if "counts" in part], np.uint32)
    return Runs(runs, offsets_of(concatenate(lengths, np.int64)), concatenate(sizes, np.int32).reshape(-1, 2))
