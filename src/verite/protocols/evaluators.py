"""Evaluation batch by batch (COCO, F1): dictionaries of arrays per image, as torchvision and torchmetrics have them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.checks import Finding, warn_of
from verite.errors import BadParameter, DataError, DataWarning, excerpt
from verite.evaluation.evaluation import Rules
from verite.evaluation.partial import MergedNumbers
from verite.evaluation.settings import count_merged
from verite.evaluation.state import EvaluationState, PartialMetadata
from verite.formats.memory import mask_pixels, whole_numbers
from verite.model.annotations import Annotations
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.keypoints import Keypoints
from verite.model.layouts import layout_name, spell_as
from verite.model.polygons import RLEMasks
from verite.model.ragged import offsets_of
from verite.model.regions import Regions
from verite.model.results import Results
from verite.protocols.coco import CocoResults, CocoSettings, coco, evaluate, rules_of
from verite.protocols.f1 import F1Results, F1Settings, evaluate_counts, f1, partial_state
from verite.protocols.f1 import rules_of as f1_rules
from verite.protocols.protocol import signature_with_settings
from verite.threads import thread_count

if TYPE_CHECKING:
    from concurrent.futures import Future
    from inspect import Signature

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


@dataclass(frozen=True, eq=False)
class Batch:
    """Predictions and targets of one image, and its id."""

    pred: Columns
    target: Columns
    image: int

    @property
    def size(self) -> tuple[int, int]:
        """Height and width; 0 × 0 if neither side states them."""
        for side in (self.target, self.pred):
            if "size" in side:
                return int(side["size"][0]), int(side["size"][1])
        return 0, 0

    def __len__(self) -> int:
        """Return the number of predictions and targets."""
        return len(self.pred["labels"]) + len(self.target["labels"])


def used_labels(batches: Sequence[Batch]) -> NDArray[np.int64]:
    """Return the classes that occur, sorted."""
    return np.unique(concatenate([side["labels"] for b in batches for side in (b.pred, b.target)], np.int64))


def join_batches(batches: Sequence[Batch], labels: Labels, layout: str) -> tuple[Annotations, Annotations]:
    """Return targets and predictions of many images as annotations."""
    heights, widths = np.array([batch.size for batch in batches], dtype=np.int32).reshape(-1, 2).T
    ids = np.array([batch.image for batch in batches], dtype=np.int64)
    images = Images(None, ids, widths=widths, heights=heights)
    return (
        join_side([batch.target for batch in batches], images, labels, layout, is_pred=False),
        join_side([batch.pred for batch in batches], images, labels, layout, is_pred=True),
    )


def join_side(parts: list[Columns], images: Images, labels: Labels, layout: str, *, is_pred: bool) -> Annotations:
    """Return one side of many images as annotations."""
    counts = [len(c["labels"]) for c in parts]
    used = concatenate([c["labels"] for c in parts], np.int64)
    masks = None
    if any("counts" in part for part in parts):
        lengths = [
            np.diff(part["objects"]) if "counts" in part else np.zeros(n, np.int64)
            for part, n in zip(parts, counts, strict=True)
        ]
        sizes = [
            np.tile(part.get("size", np.zeros(2, np.int32)), (n, 1)) for part, n in zip(parts, counts, strict=True)
        ]
        runs = concatenate([part["counts"] for part in parts if "counts" in part], np.uint32)
        masks = RLEMasks(runs, offsets_of(concatenate(lengths, np.int64)), concatenate(sizes, np.int32).reshape(-1, 2))
    boxes = concatenate([c["boxes"] for c in parts], np.float64).reshape(-1, 4)
    boxed = np.repeat([bool(c["boxed"]) for c in parts], counts).astype(np.bool_)
    keypoints = None
    if any("keypoints" in part for part in parts):
        poses = [part.get("keypoints", [None] * n) for part, n in zip(parts, counts, strict=True)]
        keypoints = Keypoints.of([pose for own in poses for pose in own])
    regions = Regions(boxes, layout, runs=masks, boxed=boxed, keypoints=keypoints)
    return Annotations(
        images=images,
        labels=labels,
        image=np.repeat(np.arange(len(parts), dtype=np.int32), counts),
        label=_core.find_positions(used, np.asarray(labels.ids, dtype=np.int64))[0],
        regions=Regions.over(regions.native.bound()),
        confidence=join_column(parts, counts, "scores") if is_pred and has_scores(parts) else None,
        area=None if is_pred or all("area" not in c for c in parts) else join_column(parts, counts, "area"),
        flags={
            flag: join_column(parts, counts, key)
            for flag, key in (("crowd", "iscrowd"), ("ignore", "ignore"))
            if any(key in c for c in parts)
        },
    )


def has_scores(parts: Sequence[Columns]) -> bool:
    """Return whether predictions have confidences: all images, or none.

    Raises
    ------
    DataError
        If some images have them and others do not.
    """
    found = ["scores" in part for part in parts if len(part["labels"])]
    if any(found) and not all(found):
        raise DataError(f"scores: expected them in all images or in none, found {sum(found)} of {len(found)} with them")
    return all(found)


def join_column(parts: list[Columns], counts: list[int], key: str) -> NDArray[Any]:
    """Return a column of all images, with the absent value for images that lack it."""
    kind, absent = COLUMNS[key]
    return concatenate([c[key] if key in c else np.full(n, absent) for c, n in zip(parts, counts, strict=True)], kind)


def is_finite(side: Annotations) -> bool:
    """Return whether all boxes, keypoints and confidences are finite."""
    keypoints = side.regions.keypoints
    given = (side.regions.values, side.confidence, None if keypoints is None else keypoints.points)
    return all(values is None or bool(np.isfinite(values).all()) for values in given)


def is_detr_target(target: object) -> bool:
    """Return whether a target is one of DETR's: boxes as centre and size in fractions of `orig_size`.

    Hugging Face's image processors call the classes `class_labels`; DETR's own targets have `labels`.
    """
    if not isinstance(target, Mapping) or "boxes" not in target or "orig_size" not in target:
        return False
    return "class_labels" in target or bool((array_of(target["boxes"], "boxes") <= 1).all())


def read_detr_target(target: Item, i: int, layout: str) -> Item:
    """Return a target of DETR with boxes and areas in pixels of the original image, in a layout of boxes."""
    where = f"targets[{i}]"
    sizes = array_of(target["orig_size"], f"{where}.orig_size").reshape(-1).astype(np.float64)
    if len(sizes) != 2 or not (sizes > 0).all():
        raise BadParameter(f"{where}.orig_size: expected height and width in pixels, found {sizes.tolist()}")
    height, width = sizes
    boxes = array_of(target["boxes"], f"{where}.boxes").astype(np.float64)
    if boxes.size and (boxes.ndim != 2 or boxes.shape[1] != 4):
        raise BadParameter(f"{where}.boxes: expected shape (n, 4), found {boxes.shape}")
    scaled = boxes.reshape(-1, 4) * [width, height, width, height]
    half = scaled[:, 2:] / 2
    corners = np.concatenate([scaled[:, :2] - half, scaled[:, :2] + half], axis=1)
    # Masks are of the resized image, other keys (such as DETR's "orig_size") are none of an evaluation.
    kept = {key: target[key] for key in ("labels", "iscrowd", "ignore", "image_id") if key in target}
    if "class_labels" in target:
        kept["labels"] = target["class_labels"]
    if "area" in target and "size" in target:  # of the resized image
        resized = array_of(target["size"], f"{where}.size").reshape(-1).astype(np.float64)
        factor = height * width / resized.prod() if len(resized) == 2 and resized.prod() > 0 else 1.0
        kept["area"] = array_of(target["area"], f"{where}.area").astype(np.float64) * factor
    return {**kept, "boxes": spell_as(corners, layout), "size": sizes}


def read_batch(item: Item, side: str, i: int, needed: Sequence[str] = ("labels",)) -> Columns:
    """Return the validated arrays of one dictionary, all of the same length; `needed` are keys that it must have."""
    if not isinstance(item, Mapping):
        raise BadParameter(f"{side}[{i}]: expected a dictionary, found {type(item).__name__}")
    unknown = sorted(set(item) - set(KEYS[side]))
    if unknown:
        raise BadParameter(f"{side}[{i}]: expected keys out of {', '.join(KEYS[side])}, found {excerpt(unknown[0])}")
    for key in needed:
        if key not in item:
            raise BadParameter(f"{side}[{i}]: expected a key {key!r}, found none")
    if not any(key in item for key in ("boxes", "masks", "keypoints")):
        raise BadParameter(f"{side}[{i}]: expected boxes, masks or keypoints, found none")
    labels = whole_numbers(array_of(item["labels"], f"{side}[{i}].labels"), f"{side}[{i}].labels")
    count = len(labels)
    found: Columns = {"labels": labels, "boxed": np.array("boxes" in item)}
    boxes = array_of(item["boxes"], f"{side}[{i}].boxes") if "boxes" in item else np.zeros((count, 4))
    if boxes.size and (boxes.ndim not in (1, 2) or boxes.shape[-1] != 4):
        raise BadParameter(f"{side}[{i}].boxes: expected shape (n, 4), found {boxes.shape}")
    found["boxes"] = check_count(boxes.astype(np.float64).reshape(-1, 4), count, f"{side}[{i}].boxes")
    for key, (kind, _) in COLUMNS.items():
        if key in item:
            given = array_of(item[key], f"{side}[{i}].{key}").reshape(-1)
            if kind is np.bool_ and np.isnan(given).any():
                raise BadParameter(f"{side}[{i}].{key}: expected 0 or 1 for every object, found nan")
            found[key] = check_count(given.astype(kind), count, f"{side}[{i}].{key}")
    if "masks" in item:
        pixels = mask_pixels(array_of(item["masks"], f"{side}[{i}].masks"), f"{side}[{i}].masks")
        check_count(pixels, count, f"{side}[{i}].masks")
        found["counts"], found["objects"] = _core.mask_runs(np.ascontiguousarray(pixels).view(np.uint8))
        found["size"] = np.array(pixels.shape[1:], dtype=np.int32)
    elif "size" in item:
        size = whole_numbers(array_of(item["size"], f"{side}[{i}].size"), f"{side}[{i}].size")
        if len(size) != 2 or not ((size >= 0) & (size < 2**31)).all():
            raise BadParameter(f"{side}[{i}].size: expected height and width in pixels, found {size.tolist()}")
        found["size"] = size.astype(np.int32)
    if "keypoints" in item:
        points = array_of(item["keypoints"], f"{side}[{i}].keypoints").astype(np.float64)
        if points.size and (points.ndim != 3 or points.shape[2] not in (2, 3)):
            raise BadParameter(f"{side}[{i}].keypoints: expected shape (n, points, 3), found {points.shape}")
        found["keypoints"] = check_count(points, count, f"{side}[{i}].keypoints")
    return found


def array_of(values: Any, what: str) -> NDArray[Any]:
    """Return a numpy array of numbers; tensors of torch may be on any device."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if "bfloat16" in str(values.dtype) else values
    try:
        array = np.asarray(values)
    except RecursionError:
        raise BadParameter(f"{what}: expected an array of numbers, found values nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise BadParameter(f"{what}: expected an array of numbers, found {error}") from None
    if array.dtype.kind not in "biuf":
        found = excerpt(array.flat[0]) if array.size else str(array.dtype)
        raise BadParameter(f"{what}: expected numbers, found {found} ({array.dtype})")
    return array


def check_count(values: NDArray[Any], count: int, what: str) -> NDArray[Any]:
    if len(values) != count:
        raise BadParameter(f"{what}: expected {count} values as there are labels, found {len(values)}")
    return values


def image_of(pred: Item, target: Item, i: int) -> int | None:
    """Return the id of an image if one side states it: a number, or an array of one number as in torchvision."""
    ids = set()
    for side, item in (("predictions", pred), ("targets", target)):
        if "image_id" not in item:
            continue
        where = f"{side}[{i}].image_id"
        numbers = whole_numbers(array_of(item["image_id"], where), where)
        if len(numbers) != 1:
            raise BadParameter(f"{where}: expected one number, found {len(numbers)}")
        ids.add(int(numbers[0]))
    if len(ids) > 1:
        raise BadParameter(f"[{i}].image_id: expected the same id on both sides, found {sorted(ids)}")
    return ids.pop() if ids else None


def concatenate(parts: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype=dtype)


FIRST = 64  # images after which the checks look for the first time

LATER, MANY = 256, 50_000  # images or objects that are evaluated together from then on

MOST_PARTS = 16  # of about one size, before they are merged

AGAIN = "do several processes see the same image, or was reset() forgotten? duplicates='first' takes the first"


R = TypeVar("R", bound=Results)


class BatchEvaluator(Generic[R]):
    """Base of evaluators: collects predictions and targets, evaluates some images together and keeps their matches."""

    __signature__: ClassVar[Signature]
    settings_type: ClassVar[Any]
    needed: ClassVar[tuple[str, ...]] = ("labels",)  # keys of every prediction

    def __init__(
        self,
        *,
        layout: str = "xyxy",
        labels: Mapping[int, str] | Sequence[str] | None = None,
        keep: bool = False,
        duplicates: Literal["error", "first"] = "error",
        **settings: Any,
    ) -> None:
        self.layout = layout_name(layout)
        if isinstance(labels, str) or not isinstance(labels, (Mapping, Sequence, type(None))):
            raise BadParameter(f"labels: expected names, or names by their numbers, found {excerpt(labels)}")
        self.names = dict(enumerate(labels)) if isinstance(labels, Sequence) else dict(labels) if labels else None
        for name in (self.names or {}).values():
            if not isinstance(name, str):
                raise BadParameter(f"labels: expected names, or names by their numbers, found {excerpt(name)}")
        self.settings = {"checks": "warn", **settings}
        self.asked = self.settings_type(**self.settings)  # wrong ones are refused here, not at the end of an epoch
        if not isinstance(duplicates, str) or duplicates not in ("error", "first"):
            raise BadParameter(f"duplicates: expected error or first, found {excerpt(duplicates)}")
        if not isinstance(keep, (bool, np.bool_)):
            raise BadParameter(f"keep: expected True or False, found {excerpt(keep)}")
        self.keep, self.duplicates = bool(keep), duplicates
        self.count = 0
        self.has_ids: bool | None = None  # None: not known yet
        self.seen: set[int] = set()  # ids
        self.waiting: list[Batch] = []  # images that are not evaluated yet
        self.objects = 0  # in them
        self.parts: list[EvaluationState] = []
        self.findings: list[Finding] = []
        self.is_examined = False
        self.knows_ignore = False  # some targets mark objects as ignored, and a warning was given if they count

    def __len__(self) -> int:
        """Return the number of images."""
        return self.count

    @property
    def checks(self) -> str:
        """The setting `checks`: stop, warn or off."""
        return str(self.settings["checks"])

    def update(self, preds: Sequence[Item] | Item, targets: Sequence[Item] | Item) -> None:
        """Add the images of a batch. A batch that is refused changes nothing.

        Parameters
        ----------
        preds, targets : sequence of dict, or dict
            One dictionary per image, or that of a single image.

        Raises
        ------
        BadParameter
            If a key is missing or unknown, or an array has the wrong shape.
        DataError
            If an image comes twice, or a class has no name.
        """
        for key, items in (("preds", preds), ("targets", targets)):
            if not isinstance(items, (Mapping, Iterable)):
                raise BadParameter(f"{key}: expected a dictionary per image, found {type(items).__name__}")
        predictions, truths = ([items] if isinstance(items, Mapping) else list(items) for items in (preds, targets))
        if len(predictions) != len(truths):
            raise BadParameter(
                f"update: expected as many targets as predictions, found {len(truths)} and {len(predictions)}"
            )
        truths = [
            read_detr_target(target, i, self.layout) if is_detr_target(target) else target
            for i, target in enumerate(truths)
        ]
        # Everything is checked before anything is kept, so that a bad batch leaves no trace.
        found = [
            (
                read_batch(pred, "predictions", i, self.needed),
                read_batch(target, "targets", i),
                image_of(pred, target, i),
            )
            for i, (pred, target) in enumerate(zip(predictions, truths, strict=True))
        ]
        ids = [image for _, _, image in found]
        has_ids = self.agree_on_ids(ids)
        fresh = self.choose_new(ids) if has_ids else range(len(ids))
        first = self.count
        batches = [
            Batch(pred, target, first + n if image is None else image)
            for n, (pred, target, image) in enumerate(found[i] for i in fresh)
        ]
        self.check_labels(batches)
        self.warn_of_ignore(batches)
        self.has_ids, self.count = has_ids, first + len(batches)
        self.seen.update(batch.image for batch in batches if has_ids)
        self.waiting += batches
        self.objects += sum(map(len, batches))
        if not self.keep and (len(self.waiting) >= (LATER if self.is_examined else FIRST) or self.objects >= MANY):
            self.evaluate_waiting()
        elif self.keep and not self.is_examined and len(self.waiting) >= FIRST:
            self.look_at_first()

    def warn_of_ignore(self, batches: Sequence[Batch]) -> None:
        """Warn once of targets that flag objects as ignored, where they count."""

    def agree_on_ids(self, ids: Sequence[int | None]) -> bool | None:
        """Return whether images have ids: all have one, or none."""
        kinds = {image is not None for image in ids} | ({self.has_ids} - {None})
        if len(kinds) > 1:
            raise BadParameter("image_id: expected one for every image or for none, found some without")
        return kinds.pop() if kinds else None

    def choose_new(self, ids: Sequence[Any]) -> list[int]:
        """Return the positions of images that were not seen before."""
        fresh: dict[int, int] = {}
        for i, image in enumerate(ids):
            if image not in self.seen and image not in fresh:
                fresh[image] = i
            elif self.duplicates == "error":
                raise DataError(f"image_id: expected each image once, found {image} again; {AGAIN}")
        return list(fresh.values())

    def check_labels(self, batches: Sequence[Batch]) -> None:
        """Raise `DataError` for a class without a name, if classes have names."""
        strange = sorted(set(used_labels(batches).tolist()) - set(self.names)) if self.names is not None else []
        if strange:
            raise DataError(f"labels: expected one of {len(self.names or ())} that were named, found {strange[0]}")

    def evaluate_waiting(self) -> None:
        """Evaluate the images that are waiting, and keep their matches alone."""
        if not self.waiting:
            return
        truth, pred = join_batches(self.waiting, self.labels(self.waiting), self.layout)
        # The checks of the first images hold for the others, except for values that are not finite.
        checks = "off" if self.is_examined and is_finite(truth) and is_finite(pred) else self.checks
        # Many small evaluations are faster in one thread.
        settings = self.asked.change(checks=checks, threads=self.asked.threads or 1)
        part, findings = self.evaluate_part(truth, pred, settings)
        self.parts.append(part)
        self.waiting, self.objects, self.is_examined = [], 0, True
        self.say(findings)
        self.merge_small()

    def evaluate_part(
        self, truth: Annotations, pred: Annotations, settings: Any
    ) -> tuple[EvaluationState, list[Finding]]:
        """Return the partial result of some images, and the findings of the checks."""
        raise NotImplementedError

    def evaluate_whole(self, truth: Annotations, pred: Annotations, name: str) -> R:
        """Return the results of images that are kept."""
        raise NotImplementedError

    def results_of(self, numbers: MergedNumbers, settings: Any) -> R:
        """Return the results of merged partial results."""
        raise NotImplementedError

    @property
    def rules(self) -> Rules:
        """The rules of matching."""
        raise NotImplementedError

    def merge_small(self) -> None:
        """Keep the number of partial results low: 16 of one size are merged to one of the next size."""
        sizes = [len(part) for part in self.parts]
        while len(sizes) >= MOST_PARTS and sizes[-MOST_PARTS] < MOST_PARTS * sizes[-1]:
            merged = EvaluationState.merge(*self.parts[-MOST_PARTS:], takes_first=self.takes_first)
            self.parts[-MOST_PARTS:], sizes[-MOST_PARTS:] = [merged], [len(merged)]

    def look_at_first(self) -> None:
        """Run the checks on the first images, before the last one has arrived."""
        from verite.checks import examine_all

        self.is_examined = True
        if self.checks == "warn":
            self.say(examine_all(*self.both_sides()))

    def say(self, findings: Sequence[Finding]) -> None:
        """Warn of findings that were not reported before."""
        known = {(finding.code, finding.side) for finding in self.findings}
        new = [finding for finding in findings if (finding.code, finding.side) not in known]
        self.findings += new
        if self.checks == "warn":
            warn_of(new, type(self).__name__)

    @property
    def takes_first(self) -> bool:
        """Whether the first of several images with the same id counts."""
        return self.duplicates == "first"

    @property
    def about(self) -> str:
        """Classes and settings that must agree between merged evaluators."""
        return repr((self.names, self.rules, self.asked.confidence, self.has_ids))

    def merge(self, other: BatchEvaluator[R]) -> None:
        """Add everything that another evaluator has collected, for example in another process.

        If images have no ids, the numbers of the other's images continue those of this one.

        Raises
        ------
        BadParameter
            If settings, layout or classes differ.
        DataError
            If an image is in both and ``duplicates="error"``.
        """
        if self.identity != other.identity:
            raise BadParameter("merge: expected an evaluator with the same settings, layout and labels")
        has_ids = self.agree_on_ids([]) if other.has_ids is None else self.agree_on_ids([0 if other.has_ids else None])
        again = self.seen & other.seen
        if again and not self.takes_first:
            raise DataError(f"image_id: expected each image once, found {min(again)} again; {AGAIN}")
        self.has_ids = has_ids
        if self.keep:
            self.take_waiting([batch for batch in other.waiting if batch.image not in again])
        else:
            self.evaluate_waiting()
            other.evaluate_waiting()
            PartialMetadata.join(part.notes for part in (*self.parts, *other.parts))  # raises if they disagree
            self.take_parts(other.parts)
        self.seen |= other.seen
        self.count += other.count - len(again)
        self.findings += [finding for finding in other.findings if finding not in self.findings]
        self.is_examined |= other.is_examined

    @property
    def identity(self) -> tuple[Any, ...]:
        """Arguments and settings that must be equal between merged evaluators."""
        return self.layout, self.names, self.settings, self.keep, self.duplicates

    def take_waiting(self, batches: Sequence[Batch]) -> None:
        base = 0 if self.has_ids else self.count
        self.waiting += [Batch(batch.pred, batch.target, batch.image + base) for batch in batches]

    def take_parts(self, parts: Sequence[EvaluationState]) -> None:
        base = 0 if self.has_ids else self.count
        self.parts += [EvaluationState(part.kept.shift(base)) if base else part for part in parts]
        self.merge_small()

    def reset(self) -> None:
        """Remove all images, for example at the start of an epoch."""
        given = {"layout": self.layout, "labels": self.names, "keep": self.keep, "duplicates": self.duplicates}
        self.__init__(**given, **self.settings)  # type: ignore[misc]

    def compute_async(self, *, name: str | None = None) -> Future[R]:
        """Start to compute the results of all images so far in a background thread, while training goes on.

        The evaluator may be updated or reset at once: what is computed is what was collected before. Matching and
        accumulation run without Python's global lock.

        Parameters
        ----------
        name : str, optional
            Name of the detector.

        Returns
        -------
        concurrent.futures.Future
            ``future.result()`` waits for the results, or raises what :meth:`compute` would raise.
        """
        from concurrent.futures import Future
        from threading import Thread

        frozen = copy(self)
        frozen.waiting, frozen.parts = list(self.waiting), list(self.parts)
        frozen.seen, frozen.findings = set(self.seen), list(self.findings)
        future: Future[R] = Future()
        future.set_running_or_notify_cancel()

        def work() -> None:
            try:
                future.set_result(frozen.compute(name=name))
            except BaseException as error:
                future.set_exception(error)

        Thread(target=work, name="verite", daemon=True).start()
        return future

    def compute(self, *, name: str | None = None, gather: Callable[[bytes], Sequence[bytes]] | None = None) -> R:
        """Return the results of all images so far; more may be added afterwards.

        Parameters
        ----------
        name : str, optional
            Name of the detector.
        gather : callable, optional
            Function that takes the bytes of this process and returns those of all processes, in the same order
            everywhere: three lines around ``all_gather_object`` of torch.distributed. Every process then has the
            results of all images.
        """
        if gather is not None:
            return self.gather(gather).compute(name=name)
        name = name or "evaluator"
        if self.keep:
            results = self.evaluate_whole(*self.both_sides(), name)
            self.say(results.findings)
            return results
        self.evaluate_waiting()
        if not self.parts:
            return self.evaluate_whole(*self.both_sides(), name)
        numbers = MergedNumbers(
            self.parts,
            None if self.names is None else self.labels(()),
            class_agnostic=self.asked.class_agnostic,
            takes_first=self.takes_first,
            threads=thread_count(self.asked.threads),
            remedy=f"keep them with {type(self).__name__}(keep=True)",
        )
        results = self.results_of(numbers, self.asked.change(name=name))
        results.findings = tuple(self.findings)
        left = sum(part.kept.row_count for part in self.parts)
        results.threshold_note = count_merged(left, self.asked.confidence)
        if self.asked.confidence is not None and not left and self.checks != "off":
            warnings.warn(f"{type(self).__name__}: {results.threshold_note}", DataWarning, stacklevel=2)
        return results

    def to_bytes(self) -> bytes:
        """Return the matches of all images so far as bytes, for other processes."""
        if self.keep:
            raise BadParameter("gather: expected keep=False, found keep=True; merge pickled evaluators instead")
        self.evaluate_waiting()
        if not self.parts:
            return b""
        return EvaluationState.merge(*self.parts, takes_first=self.takes_first).add(self.findings).to_bytes()

    def gather(self, gather: Callable[[bytes], Sequence[bytes]]) -> BatchEvaluator[R]:
        """Return an evaluator with the images and findings of all processes; see :meth:`compute`."""
        whole = type(self)(
            layout=self.layout, labels=self.names, duplicates=self.duplicates, **self.settings
        )  # fmt: skip
        for data in gather(self.to_bytes()):
            if not data:
                continue
            part = EvaluationState.from_bytes(data)
            if whole.parts and part.kept.about != whole.parts[0].kept.about:
                raise BadParameter("gather: expected evaluators with the same settings and labels in all processes")
            whole.has_ids = bool(self.has_ids)
            whole.take_parts([part])
            whole.count += len(part)
        whole.findings = list(PartialMetadata.join(part.notes for part in whole.parts).tell(whole.count))
        whole.is_examined = True
        return whole

    def both_sides(self) -> tuple[Annotations, Annotations]:
        """Return targets and predictions of the images that are kept."""
        return join_batches(self.waiting, self.labels(self.waiting, every=True), self.layout)

    def labels(self, batches: Sequence[Batch], *, every: bool = False) -> Labels:
        """Return the classes: those with names, or else those that occur in the batches.

        Parameters
        ----------
        batches
            Columns of predictions or targets, batch by batch.
        every
            Also classes that no batch has, as for a table over all classes.

        Returns
        -------
        Labels
            The table of classes.
        """
        if self.names is None:
            return Labels(None, used_labels(batches))
        if every or not batches:
            return Labels(list(self.names.values()), list(self.names))
        used = used_labels(batches).tolist()
        return Labels([self.names[id] for id in used], used)


class CocoEvaluator(BatchEvaluator[CocoResults]):
    """COCO evaluation in a training loop: collects predictions and targets, one dictionary per image.

    A prediction has `boxes` [n, 4] (or `masks` [n, row, column], or `keypoints` [n, point, 3]), `scores` [n] and
    `labels` [n]. A target has `boxes` (or one of the others) and `labels`, and may have `iscrowd`, `ignore` and `area`.
    Targets of DETR and of Hugging Face's image processors (`class_labels`, boxes in fractions of `orig_size`) are
    taken as they are. Arrays are numpy's, torch's, or anything that numpy takes. Images are numbered as they come,
    or identified by an `image_id` in every target. COCO does not honour `ignore`: ``ignored="explicit"`` does, and
    a warning says so otherwise.

    An image must be complete when it is added. A few images are evaluated together, and only their matches are kept,
    not their boxes and masks.

    Findings of the checks are given once, as a Python warning, after the first images, and are in ``results.findings``.
    An untrained network must not end a run, so ``checks`` is ``"warn"`` by default. Predictions whose box or confidence
    is not finite count as false positives.

    Parameters
    ----------
    layout : str, default 'xyxy'
        Layout of the boxes: ``xyxy``, ``xywh`` or ``cxcywh``.
    labels : mapping of int to str, or sequence of str, optional
        Names of the classes by their numbers. By default classes are numbered as they occur.
    keep : bool, default False
        Whether to keep boxes and masks, for ``results.objects()``, ``results.matches()`` and the table per image.
    duplicates : {'error', 'first'}, default 'error'
        For an image that comes twice: raise an error, or keep the first, as for a distributed sampler that repeats
        images to give every process as many.
    **settings
        Settings of :func:`verite.coco`, such as `on`, `iou`, `areas` and `max_dets`; validated at once.

    Raises
    ------
    BadParameter
        If an argument or setting is unknown or out of its range.

    Examples
    --------
    >>> evaluator = CocoEvaluator(labels={1: "cat"})
    >>> evaluator.update([{"boxes": [[0, 0, 10, 10]], "scores": [0.9], "labels": [1]}],
    ...                  [{"boxes": [[0, 0, 10, 10]], "labels": [1]}])
    >>> round(evaluator.compute()["AP"], 4)
    1.0
    """

    settings_type = CocoSettings
    needed = ("labels", "scores")

    def evaluate_part(
        self, truth: Annotations, pred: Annotations, settings: Any
    ) -> tuple[EvaluationState, list[Finding]]:
        evaluation, findings = evaluate(truth, pred, settings)
        return evaluation.part(self.about), findings

    def evaluate_whole(self, truth: Annotations, pred: Annotations, name: str) -> CocoResults:
        return coco(truth, pred, **{**self.settings, "name": name})

    def results_of(self, numbers: MergedNumbers, settings: Any) -> CocoResults:
        return CocoResults.of_parts(numbers, settings)

    @property
    def rules(self) -> Rules:
        return rules_of(self.asked)

    def warn_of_ignore(self, batches: Sequence[Batch]) -> None:
        """Warn once that targets flag objects as ignored which are counted."""
        if self.knows_ignore or not any("ignore" in batch.target and batch.target["ignore"].any() for batch in batches):
            return
        self.knows_ignore = True
        if self.settings.get("ignored") is None and self.checks != "off":
            message = 'targets mark objects as ignored, which COCO counts; ignored="explicit" ignores them'
            warnings.warn(f"CocoEvaluator: {message}", DataWarning, stacklevel=3)


class F1Evaluator(BatchEvaluator[F1Results]):
    """Precision, recall and F1 batch by batch, of predictions with or without confidences.

    Takes the dictionaries of :class:`CocoEvaluator`, in which `scores` may be absent: in all images or in none.

    Parameters
    ----------
    layout : str, default 'xyxy'
        Layout of the boxes: ``xyxy``, ``xywh`` or ``cxcywh``.
    labels : mapping of int to str, or sequence of str, optional
        Names of the classes by their numbers. By default classes are numbered as they occur.
    keep : bool, default False
        Whether to keep boxes and masks, for ``results.objects()`` and ``results.matches()``.
    duplicates : {'error', 'first'}, default 'error'
        For an image that comes twice: raise an error, or keep the first.
    **settings
        Settings of :func:`verite.f1`, such as `on`, `iou` and `match`; validated at once.

    Raises
    ------
    BadParameter
        If an argument or setting is unknown or out of its range.

    Examples
    --------
    >>> evaluator = F1Evaluator(labels={1: "cat"})
    >>> evaluator.update([{"boxes": [[0, 0, 10, 10], [50, 50, 60, 60]], "labels": [1, 1]}],
    ...                  [{"boxes": [[0, 0, 10, 10]], "labels": [1]}])
    >>> results = evaluator.compute()
    >>> results["precision"].value, results["recall"].value
    (0.5, 1.0)
    """

    settings_type = F1Settings

    def evaluate_part(
        self, truth: Annotations, pred: Annotations, settings: Any
    ) -> tuple[EvaluationState, list[Finding]]:
        evaluation, findings, _ = evaluate_counts(truth, pred, settings)
        return partial_state(evaluation, self.about, by_id=True), findings

    def evaluate_whole(self, truth: Annotations, pred: Annotations, name: str) -> F1Results:
        return f1(truth, pred, **{**self.settings, "name": name})

    def results_of(self, numbers: MergedNumbers, settings: Any) -> F1Results:
        return F1Results.of_parts(numbers, settings)

    @property
    def rules(self) -> Rules:
        return f1_rules(self.asked)


for one in (CocoEvaluator, F1Evaluator):
    one.__signature__ = signature_with_settings(
        one.__init__, one.settings_type, omit=("name", "executor", "parts", "asked", "metric", "other_truths"),
        checks="warn",
    )  # fmt: skip
