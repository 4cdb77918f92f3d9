"""What is already in memory: which kinds of objects are annotations, and how each becomes columns?

Nothing here imports a framework: objects are known by what they offer, and their arrays taken as numpy's. COCO's
dictionaries go through the same strict reader as files, and everything meets the same checks afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, excerpt
from verite.formats.arrow_stream import read_stream
from verite.formats.class_names import class_names
from verite.formats.format import Options
from verite.formats.mask_reading import are_arrays, take_arrays
from verite.formats.tables import Columns, read_columns
from verite.model.annotations import Annotations, Source
from verite.model.images import Images
from verite.model.keypoints import Keypoints
from verite.model.labels import Labels
from verite.model.outlines import Runs
from verite.model.rasters import runs_of
from verite.model.regions import Regions
from verite.records import record


@record()
class MemoryKind:
    """One kind of object: its name in messages, how it is known, and how it becomes annotations."""

    title: str
    matches: Callable[[Any], bool]
    take: Callable[[Any, Options], Annotations]


def take(given: object, options: Options) -> Annotations:
    """Annotations from anything that holds some."""
    for kind in KINDS:
        if kind.matches(given):
            annotations = kind.take(given, options)
            source = annotations.source
            return annotations.changed(source=replace(source, why="; ".join(w for w in (kind.title, source.why) if w)))
    listed = ", ".join(kind.title for kind in KINDS)
    raise BadParameter(f"annotations: expected a path or {listed}; found {describe_object(given)}")


def describe_object(given: object) -> str:
    """What somebody handed over, in a few words."""
    name = type(given).__name__
    if isinstance(given, Mapping):
        return (
            f"a {name} with the keys {excerpt(', '.join(map(str, list(given)[:5])))}" if given else f"an empty {name}"
        )
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        return f"a {name} of {describe_object(given[0])}" if len(given) else f"an empty {name}"
    return f"{name} {excerpt(given)}" if isinstance(given, (int, float, bytes)) else name


def is_coco_dictionary(given: Any) -> bool:
    return isinstance(given, Mapping) and "images" in given and "annotations" in given


def is_pycocotools(given: Any) -> bool:
    return isinstance(getattr(given, "dataset", None), Mapping) and hasattr(given, "imgs") and hasattr(given, "cats")


def is_results(given: Any) -> bool:
    """Also where there is none: a detector that found nothing."""
    is_empty = isinstance(given, list) and not given
    keys = {"image_id", "category_id"}
    return is_empty or is_list_of(given, lambda item: isinstance(item, Mapping) and keys <= item.keys())


def is_torchvision(given: Any) -> bool:
    return is_list_of(given, lambda item: isinstance(item, Mapping) and "boxes" in item and "labels" in item)


def is_supervision(given: Any) -> bool:
    if isinstance(given, Mapping):
        return bool(given) and all(is_detections(item) for item in given.values())
    return is_detections(given) or is_list_of(given, is_detections)


def is_detections(item: Any) -> bool:
    return all(hasattr(item, name) for name in ("xyxy", "class_id", "confidence", "mask"))


def is_list_of(given: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(given, (list, tuple)) and bool(given) and all(map(fits, given))


def is_structured(given: Any) -> bool:
    return isinstance(given, np.ndarray) and given.dtype.names is not None


def is_frame(given: Any) -> bool:
    """A table that knows its columns but not Arrow, as pandas before 3."""
    return all(hasattr(given, name) for name in ("to_numpy", "__getitem__", "columns"))


def is_columns(given: Any) -> bool:
    """A dictionary of columns of one length."""
    if not isinstance(given, Mapping) or not given or not all(isinstance(key, str) for key in given):
        return False
    sized = [value for value in given.values() if hasattr(value, "__len__") and not isinstance(value, (str, bytes))]
    return len(sized) == len(given) and len({len(value) for value in sized}) == 1


def take_coco(given: Any, options: Options) -> Annotations:
    from verite.formats.coco import document

    name = Path("COCO dictionary")
    return document(name, encode_coco(name, given), options)


def take_results(given: Any, options: Options) -> Annotations:
    from verite.formats.coco_results import results

    name = Path("COCO results")
    return results(name, encode_coco(name, given), options)


def encode_coco(name: Path, given: Any) -> Any:
    """A dictionary or list as the native reader has it: the same strictness, the same places in messages."""
    from verite import _core
    from verite.limits import limit
    from verite.model.complaints import in_our_words
    from verite.threads import thread_count

    try:
        content = _core.encode_json(given, to_plain)
    except (TypeError, ValueError) as error:
        raise BadParameter(f"{name}: expected what JSON can hold, found {error}") from None
    with in_our_words(name):
        return _core.read_coco_bytes(content, thread_count(), limit("json_depth"))


def to_plain(value: Any) -> Any:
    """What JSON can hold: pycocotools' runs are bytes, numbers may be numpy's or a tensor's."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if hasattr(value, "tolist"):
        return to_array(value).tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} {excerpt(repr(value))}")


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
    if all(isinstance(id, int) for id in ids):
        return join_parts(parts, Images(None, np.array(ids, dtype=np.int64)), options, "torchvision dictionaries")
    return join_parts(parts, Images([str(id) for id in ids]), options, "torchvision dictionaries")


def scalar(value: Any) -> Any:
    return to_array(value).reshape(-1)[0].item() if hasattr(value, "tolist") else value


def take_supervision(given: Any, options: Options) -> Annotations:
    """Detections of one image, a list with one per image, or a dictionary by image name."""
    named = given if isinstance(given, Mapping) else None
    items = list(named.values()) if named is not None else list(given) if isinstance(given, (list, tuple)) else [given]
    parts = [ImageObjects(f"image {i}", d.xyxy, d.class_id, d.confidence, d.mask) for i, d in enumerate(items)]
    images = Images(list(map(str, named)) if named is not None else None, None if named else np.arange(len(items)))
    return join_parts(parts, images, options, "supervision.Detections")


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

    def column(self, name: str, values: Any, count: int) -> NDArray[Any]:
        found = to_array(values).reshape(-1)
        if len(found) != count:
            raise BadParameter(f"{self.where}: expected {count} {name} as there are boxes, found {len(found)}")
        return found


def join_parts(parts: Sequence[ImageObjects], images: Images, options: Options, name: str) -> Annotations:
    """The columns of all images, their classes known by number; names may be given or are the truth's."""
    boxes = [to_array(part.boxes).reshape(-1, 4).astype(np.float64) for part in parts]
    counts = [len(part) for part in boxes]
    labels = [whole(part, part.column("labels", part.labels, n)) for part, n in zip(parts, counts, strict=True)]
    has_scores = [part.scores is not None for part, n in zip(parts, counts, strict=True) if n]
    if any(has_scores) != all(has_scores):
        raise BadParameter(f"{name}: expected scores in every image or in none, found them in {sum(has_scores)}")
    numbers, label = np.unique(join_columns(labels, np.int64), return_inverse=True)
    columns = {
        "scores": [p.column("scores", p.scores, n) for p, n in zip(parts, counts, strict=True) if n and has_scores[0]],
        "crowds": [
            p.column("iscrowd", p.crowds, n) if p.crowds is not None else np.zeros(n)
            for p, n in zip(parts, counts, strict=True)
        ],
        "areas": [
            p.column("areas", p.areas, n) if p.areas is not None else np.full(n, np.nan)
            for p, n in zip(parts, counts, strict=True)
        ],
    }
    names, _ = class_names(options)
    numbers = numbers + options.label_offset
    if names is not None:
        if len(numbers) and not (numbers[0] >= 0 and numbers[-1] < len(names)):
            expected = f"classes from 0 to {len(names) - 1}, as there are names"
            raise BadParameter(f"{name}: expected {expected}, found {numbers[0]} to {numbers[-1]}")
        label, numbers = numbers[label], np.arange(len(names))
    corners = join_columns(boxes, np.float64).reshape(-1, 4)
    return Annotations(
        images=images,
        labels=Labels(names, numbers),
        image=np.repeat(np.arange(len(parts)), counts).astype(np.int32),
        label=label.astype(np.int32),
        regions=Regions(
            corners, options.boxes or "xyxy", runs=masks_of(parts, counts), keypoints=keypoints_of(parts, counts)
        ),
        area=join_columns(columns["areas"], np.float64) if any(part.areas is not None for part in parts) else None,
        confidence=join_columns(columns["scores"], np.float64) if any(has_scores) else None,
        flags={"crowd": join_columns(columns["crowds"], np.bool_)},
        source=Source(name, "memory"),
    )


def join_columns(parts: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([*parts, np.empty((0, *parts[0].shape[1:]) if parts else 0)]).astype(dtype)


def whole(part: ImageObjects, values: NDArray[Any]) -> NDArray[np.int64]:
    """Class numbers, which are whole."""
    if len(values) and not np.array_equal(values, values.astype(np.int64)):
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
        pixels = to_array(part.masks)
        pixels = pixels[:, 0] if pixels.ndim == 4 else pixels
        if pixels.ndim != 3 or len(pixels) != n:
            raise BadParameter(f"{part.where}: expected masks of shape ({n}, height, width), found {pixels.shape}")
        runs = runs_of(pixels > 0.5 if pixels.dtype.kind == "f" else pixels.astype(np.bool_))
        found += [(runs[i], pixels.shape[1:]) for i in range(n)]
    return Runs.of(found)


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


def take_stream(given: Any, options: Options) -> Annotations:
    try:
        columns = read_stream(given)
    except Exception:  # pandas 2 needs pyarrow to give a stream, and none holds rings and runs in one column
        if not is_frame(given):
            raise
        return take_frame(given, options)
    return read_columns("table", columns, options)


def take_structured(given: Any, options: Options) -> Annotations:
    return read_columns("array", {name: given[name] for name in given.dtype.names}, options)


def take_frame(given: Any, options: Options) -> Annotations:
    columns: Columns = {str(name): np.asarray(given[name].to_numpy()) for name in given.columns}
    return read_columns("table", columns, options)


def take_columns(given: Mapping[str, Any], options: Options) -> Annotations:
    return read_columns("columns", {name: to_array(values) for name, values in given.items()}, options)


def take_pycocotools(given: Any, options: Options) -> Annotations:
    return take_coco(given.dataset, options)


# In the order in which they are asked; the titles are what a message lists.
KINDS = (
    MemoryKind("annotations", lambda given: isinstance(given, Annotations), lambda given, _: given),
    MemoryKind("a COCO dictionary", is_coco_dictionary, take_coco),
    MemoryKind("a list of COCO results", is_results, take_results),
    MemoryKind("a pycocotools COCO object", is_pycocotools, take_pycocotools),
    MemoryKind("a list of torchvision dictionaries", is_torchvision, take_torchvision),
    MemoryKind("supervision.Detections (one, a list, or by image name)", is_supervision, take_supervision),
    MemoryKind("a table with __arrow_c_stream__ (polars, pyarrow, DuckDB, pandas 3)", lambda given: hasattr(
        given, "__arrow_c_stream__"), take_stream),
    MemoryKind("a pandas table", is_frame, take_frame),
    MemoryKind("masks or label images as arrays", are_arrays, take_arrays),
    MemoryKind("a numpy structured array", is_structured, take_structured),
    MemoryKind("a dictionary of columns", is_columns, take_columns),
)  # fmt: skip
