"""Objects of frameworks in memory: Ultralytics, detectron2, mmdetection, SAHI, FiftyOne, Hugging Face datasets.

No framework is imported: an object is recognised by its attributes. Each reader lists the objects of every image as a
`Picture`; `join_pictures` makes annotations of them. Coordinates are pixels of the original image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, excerpt
from verite.formats.format import Options
from verite.formats.polygons import parse_runs
from verite.formats.rows import build, name_class_numbers, size_images
from verite.model.annotations import Annotations, Source
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.keypoints import Keypoints
from verite.model.polygons import Polygons, RLEMasks
from verite.model.rasters import runs_of

Named = Mapping[Any, Any]


def to_array(values: Any) -> NDArray[Any]:
    """Convert tensors, wrapped tensors (`.tensor`) and arrays to NumPy, from any device."""
    values = getattr(values, "tensor", values)
    for step in ("detach", "cpu"):
        values = getattr(values, step)() if hasattr(values, step) else values
    return np.asarray(values)


@dataclass
class Picture:
    """The objects of one image, one entry per object in every list that is not None."""

    name: str
    boxes: Any  # [n, 4], corners in pixels
    labels: Sequence[Any]  # names, or numbers
    size: tuple[int, int] | None = None  # width and height
    scores: Sequence[float] | None = None
    masks: list[Any] | None = None  # pixels of the whole image, or COCO's size and counts
    polygons: list[list[Any]] | None = None
    keypoints: Any = None  # [n, point, 3]
    crowds: Sequence[bool] | None = None
    areas: Sequence[float] | None = None

    def __post_init__(self) -> None:
        self.boxes = np.asarray(self.boxes, dtype=np.float64).reshape(-1, 4)
        for name in ("labels", "scores", "masks", "polygons", "keypoints", "crowds", "areas"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.boxes):
                raise BadParameter(
                    f"image {self.name}: expected {len(self.boxes)} {name} as there are boxes, found {len(values)}"
                )


def join_pictures(pictures: Iterable[Picture], names: Any, options: Options, title: str) -> Annotations:
    """Concatenate the objects of all images.

    Parameters
    ----------
    pictures
        The images.
    names
        Names of the classes by number, if the framework states them; the user's option comes first.
    options
        The user's.
    title
        What kind of objects they are, for messages.
    """
    found = list(pictures)
    twice = len({picture.name for picture in found}) < len(found)
    if twice:
        raise BadParameter(f"{title}: expected each image once, found one twice; hand over a dictionary by image name")
    sizes = [picture.size or (0, 0) for picture in found]
    images = Images([p.name for p in found], widths=[w for w, _ in sizes], heights=[h for _, h in sizes])
    counts = [len(picture.boxes) for picture in found]
    every = [label for picture in found for label in list(picture.labels)]
    label, labels = index_classes(every, names, options, title)
    full = [picture for picture in found if len(picture.boxes)]

    def column(name: str, missing: Any, kind: Any) -> Any:
        given = [getattr(picture, name) for picture in full]
        if all(values is None for values in given):
            return None
        filled = [[missing] * len(p.boxes) if v is None else v for p, v in zip(full, given, strict=True)]
        return np.array([value for values in filled for value in values], dtype=kind)

    masks = [mask for p in full for mask in (p.masks or [None] * len(p.boxes))]
    polygons = [rings for p in full for rings in (p.polygons or [[]] * len(p.boxes))]
    poses = [pose for p in full for pose in (p.keypoints if p.keypoints is not None else [None] * len(p.boxes))]
    has_scores = {picture.scores is not None for picture in full}
    if len(has_scores) > 1:
        raise BadParameter(f"{title}: expected confidences in every image or in none, found them in some")
    is_pred = True in has_scores or (not has_scores and any(p.scores is not None for p in found))
    crowds = column("crowds", False, np.bool_)
    return build(
        options,
        np.concatenate([np.empty((0, 4)), *(picture.boxes for picture in found)]),
        "xyxy",
        images=size_images(images, options, title),
        image=np.repeat(np.arange(len(found)), counts).astype(np.int32),
        labels=labels,
        label=label,
        runs=encode_masks(masks) if any(mask is not None for mask in masks) else None,
        polygons=Polygons.of(polygons) if any(polygons) else None,
        keypoints=Keypoints.of(poses) if any(pose is not None for pose in poses) else None,
        area=column("areas", np.nan, np.float64),
        confidence=(column("scores", np.nan, np.float64) if full else np.empty(0)) if is_pred else None,
        flags={} if crowds is None else {"crowd": crowds},
        source=Source(title, "memory", by_number=() if labels.names is not None else ("labels",)),
    )


def index_classes(every: list[Any], names: Any, options: Options, title: str) -> tuple[NDArray[np.int32], Labels]:
    """Return the class of each object and the classes: by the names they have, or by number."""
    if every and isinstance(every[0], str):
        known = list(dict.fromkeys([*(names or ()), *every]))
        place = {name: i for i, name in enumerate(known)}
        return np.array([place[name] for name in every], dtype=np.int32), Labels(known)

    def refuse(expected: str, found: Mapping[int, str]) -> None:
        for text in found.values():
            raise BadParameter(f"{title}: expected {expected}, found {text}")

    if names and options.names is None:
        by_number = dict(names) if isinstance(names, Mapping) else dict(enumerate(names))
        listed = [str(by_number.get(i, i)) for i in range(max(map(int, by_number)) + 1)]
        options = replace(options, names=listed)
    return name_class_numbers(np.array([int(one) for one in every], dtype=np.int64), options, refuse)


def encode_masks(masks: Sequence[Any]) -> RLEMasks:
    """Encode masks of whole images, pixels or COCO's `size` and `counts`; None for an object without one."""
    found: list[Any] = []
    for i, mask in enumerate(masks):
        if isinstance(mask, Mapping):
            height, width = (int(side) for side in mask["size"])
            counts = mask["counts"].decode() if isinstance(mask["counts"], bytes) else mask["counts"]
            found.append((parse_runs(f"masks[{i}]", counts, height, width), (height, width)))
            continue
        runs = None if mask is None else runs_of(np.asarray(mask)[None] != 0)
        found.append(None if mask is None or runs is None else (runs[0], np.asarray(mask).shape))
    return RLEMasks.of(found)


def list_named(given: Any, name_of: Callable[[Any], Any], fits: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """Return names and objects of one object, a list, or a dictionary by image name.

    Parameters
    ----------
    given
        What a user passed.
    name_of
        The name that an object itself states, such as its image path; None if it has none.
    fits
        Whether something is one object of the framework.

    Returns
    -------
    Iterator[tuple[str, Any]]
        Pairs of a name and an object; objects without a name are called by their position.
    """
    is_one = fits(given)
    if isinstance(given, Mapping) and not is_one:
        yield from ((str(name), item) for name, item in given.items())
        return
    for i, item in enumerate([given] if is_one else given):
        name = name_of(item)
        yield (str(i) if name is None else str(name)), item


def is_one_or_more(given: Any, fits: Callable[[Any], bool]) -> bool:
    """Tell whether an object fits, or is a non-empty list or dictionary by image name of such objects.

    Parameters
    ----------
    given
        What a user passed.
    fits
        Whether something is one object of the framework.
    """
    if fits(given):
        return True
    items = list(given.values()) if isinstance(given, Mapping) else given if isinstance(given, (list, tuple)) else ()
    return bool(items) and all(map(fits, items))


def stem_of(path: Any) -> str | None:
    """Return the name of an image file."""
    return PurePath(str(path)).name if path else None


def size_of_shape(shape: Any) -> tuple[int, int] | None:
    """Return width and height of a shape (height, width, …)."""
    return (int(shape[1]), int(shape[0])) if shape is not None and len(shape) >= 2 else None


def is_ultralytics(item: Any) -> bool:
    """Tell whether an object is `ultralytics.engine.results.Results`."""
    return all(hasattr(item, name) for name in ("orig_shape", "names", "boxes", "keypoints"))


def from_ultralytics(given: Any, options: Options) -> Annotations:
    """Convert Results of Ultralytics: boxes, masks as polygons in the original image, keypoints, or oriented boxes."""
    items = list(list_named(given, lambda item: stem_of(getattr(item, "path", None)), is_ultralytics))

    def pictures() -> Iterator[Picture]:
        for name, item in items:
            found = item.boxes if item.boxes is not None else getattr(item, "obb", None)
            if found is None:
                raise BadParameter(
                    f"Ultralytics results: expected boxes, found none in image {name}; is it a classifier?"
                )
            corners = to_array(found.xyxyxyxy).reshape(-1, 8).tolist() if item.boxes is None else None
            outlines = getattr(item, "masks", None)
            points = None if item.keypoints is None else to_array(item.keypoints.data)
            if points is not None and points.shape[-1] == 2:  # without visibility: all are visible
                points = np.concatenate([points, np.ones((*points.shape[:-1], 1))], axis=-1)
            rings = (
                None if outlines is None else [[ring] if len(ring) > 2 else [] for ring in map(to_array, outlines.xy)]
            )
            yield Picture(
                name,
                to_array(found.xyxy),
                to_array(found.cls).tolist(),
                size_of_shape(item.orig_shape),
                to_array(found.conf).tolist(),
                polygons=[[ring] for ring in corners] if corners is not None else rings,
                keypoints=points,
            )

    return join_pictures(pictures(), items[0][1].names, options, "Ultralytics results")


def is_instances(item: Any) -> bool:
    """Tell whether an object is detectron2's `Instances`, or a dictionary of its model's output."""
    if isinstance(item, Mapping):
        return "instances" in item and is_instances(item["instances"])
    return hasattr(item, "image_size") and callable(getattr(item, "get_fields", None))


def from_detectron2(given: Any, options: Options) -> Annotations:
    """Convert Instances of detectron2, ground truth (gt_boxes) or predictions (pred_boxes)."""

    def name_of(item: Any) -> Any:
        if not isinstance(item, Mapping):
            return None
        return stem_of(item.get("file_name")) or item.get("image_id")

    def pictures() -> Iterator[Picture]:
        for name, item in list_named(given, name_of, is_instances):
            instances = item["instances"] if isinstance(item, Mapping) else item
            fields = instances.get_fields()
            side = "pred" if "pred_boxes" in fields or "gt_boxes" not in fields else "gt"
            boxes, classes = fields.get(f"{side}_boxes"), fields.get(f"{side}_classes")
            if boxes is None or classes is None:
                raise BadParameter(f"Instances: expected {side}_boxes and {side}_classes, found {sorted(fields)}")
            masks, scores = fields.get(f"{side}_masks"), fields.get("scores")
            outlines = getattr(masks, "polygons", None)
            yield Picture(
                name,
                to_array(boxes),
                to_array(classes).tolist(),
                size_of_shape(instances.image_size),
                None if scores is None else to_array(scores).tolist(),
                masks=None if masks is None or outlines is not None else list(to_array(masks) != 0),
                polygons=None if outlines is None else [list(rings) for rings in outlines],
                keypoints=to_array(fields["pred_keypoints"]) if "pred_keypoints" in fields else None,
            )

    return join_pictures(pictures(), None, options, "detectron2 Instances")


def is_data_sample(item: Any) -> bool:
    """Tell whether an object is mmdetection's `DetDataSample`, or a dictionary of it as its metrics and dumps have."""
    sides = ("pred_instances", "gt_instances")
    if isinstance(item, Mapping):
        return any(isinstance(item.get(side), Mapping) and "bboxes" in item[side] for side in sides)
    return hasattr(item, "metainfo") and any(hasattr(item, side) for side in sides)


def from_mmdet(given: Any, options: Options) -> Annotations:
    """Convert DetDataSamples of mmdetection: `pred_instances`, else `gt_instances`, or what `field` says.

    `ignored_instances` are crowds of the ground truth, as in mmdetection's own COCO metric.
    """

    def entry(item: Any, name: str) -> Any:
        return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)

    def about(item: Any) -> Named:
        return item if isinstance(item, Mapping) else item.metainfo

    def name_of(item: Any) -> Any:
        return stem_of(about(item).get("img_path")) or about(item).get("img_id")

    def masks_of(given: Any) -> list[Any] | None:
        masks = getattr(given, "masks", given)
        if masks is None or (isinstance(masks, list) and all(isinstance(one, Mapping) for one in masks)):
            return masks
        return list(to_array(masks) != 0)

    def pictures() -> Iterator[Picture]:
        for name, item in list_named(given, name_of, is_data_sample):
            side = options.field or next(
                one for one in ("pred_instances", "gt_instances") if entry(item, one) is not None
            )
            instances = entry(item, side)
            if instances is None:
                raise BadParameter(f"field: expected pred_instances or gt_instances of DetDataSample, found {side!r}")
            parts = [instances]
            if side == "gt_instances" and (ignored := entry(item, "ignored_instances")) is not None:
                parts.append(ignored)  # where its pipelines put crowds
            boxes = [to_array(entry(own, "bboxes")).reshape(-1, 4) for own in parts]
            scores, masks = entry(instances, "scores"), [masks_of(entry(own, "masks")) for own in parts]
            yield Picture(
                name,
                np.concatenate(boxes),
                [label for own in parts for label in to_array(entry(own, "labels")).tolist()],
                size_of_shape(about(item).get("ori_shape")),
                None if scores is None else to_array(scores).tolist(),
                masks=None if masks[0] is None else [one for own in masks for one in own or ()],
                crowds=None if side == "pred_instances" else [k > 0 for k, own in enumerate(boxes) for _ in own],
            )

    return join_pictures(pictures(), None, options, "mmdetection DetDataSample")


def is_sahi_object(item: Any) -> bool:
    """Tell whether an object is SAHI's `ObjectPrediction`."""
    return all(hasattr(item, name) for name in ("bbox", "score", "category")) and hasattr(item.bbox, "to_xyxy")


def is_sahi(item: Any) -> bool:
    """Tell whether an object is SAHI's `PredictionResult`, or the list of objects of an image."""
    if isinstance(item, list):
        return bool(item) and all(map(is_sahi_object, item))
    return hasattr(item, "object_prediction_list")


def from_sahi(given: Any, options: Options) -> Annotations:
    """Convert predictions of SAHI: results, or lists of objects by image name."""

    def pictures() -> Iterator[Picture]:
        # A result does not state the name of its image: they are numbered unless a dictionary names them.
        for name, item in list_named(given, lambda _: None, is_sahi):
            objects = item if isinstance(item, list) else item.object_prediction_list
            masks = [getattr(one, "mask", None) for one in objects]
            yield Picture(
                name,
                [one.bbox.to_xyxy() for one in objects],
                [str(one.category.name) for one in objects],
                (int(item.image_width), int(item.image_height)) if hasattr(item, "image_width") else None,
                [float(one.score.value) for one in objects],
                masks=[None if mask is None else np.asarray(mask.bool_mask) for mask in masks],
            )

    return join_pictures(pictures(), None, options, "SAHI predictions")


def is_fiftyone(item: Any) -> bool:
    """Tell whether an object is a dataset or view of FiftyOne."""
    return callable(getattr(item, "iter_samples", None)) and hasattr(item, "get_field_schema")


def from_fiftyone(given: Any, options: Options) -> Annotations:
    """Convert the detections of a field of a FiftyOne dataset or view; its boxes are fractions of the image."""
    if options.field is None:
        known = ", ".join(map(str, given.get_field_schema()))
        raise BadParameter(f"field: expected the field with detections, such as 'ground_truth', out of {known}")

    def pictures() -> Iterator[Picture]:
        for sample in given.iter_samples():
            name, about = str(stem_of(sample.filepath)), sample.metadata
            width, height = (getattr(about, side, None) for side in ("width", "height"))
            if not width or not height:
                raise BadParameter(f"image {name}: expected metadata with width and height; run compute_metadata()")
            found = sample[options.field]
            objects = [] if found is None else found.detections
            boxes = np.array([one.bounding_box for one in objects], dtype=np.float64).reshape(-1, 4)
            boxes = boxes * [width, height, width, height]
            boxes[:, 2:] += boxes[:, :2]
            scores = [one.confidence for one in objects]
            yield Picture(
                name,
                boxes,
                [str(one.label) for one in objects],
                (int(width), int(height)),
                None if any(score is None for score in scores) else scores,
                masks=[fill_mask(one, box, width, height) for one, box in zip(objects, boxes, strict=True)],
                crowds=[bool(getattr(one, "iscrowd", None)) for one in objects],
            )

    found = list(pictures())
    if any(len(picture.boxes) and picture.scores is None for picture in found):
        for picture in found:
            picture.scores = None
    return join_pictures(found, None, options, "FiftyOne detections")


def fill_mask(item: Any, box: Any, width: int, height: int) -> NDArray[np.bool_] | None:
    """Return the mask of a FiftyOne detection, which covers its box, in the whole image."""
    mask = getattr(item, "mask", None)
    if mask is None and getattr(item, "mask_path", None):  # in a file beside the dataset, which FiftyOne reads
        mask = item.get_mask()
    if mask is None:
        return None
    inner = np.asarray(mask) != 0
    left, top = (round(float(value)) for value in box[:2])
    pixels = np.zeros((height, width), dtype=np.bool_)
    rows, columns = min(inner.shape[0], height - top), min(inner.shape[1], width - left)
    pixels[top : top + rows, left : left + columns] = inner[:rows, :columns]
    return pixels


def is_hugging_face(given: Any) -> bool:
    """Tell whether an object is a Hugging Face dataset, or a list of its rows, with `objects` per image."""
    if hasattr(given, "features") and "objects" in (getattr(given, "column_names", None) or ()):
        return True
    is_row = lambda row: isinstance(row, Mapping) and isinstance(row.get("objects"), (Mapping, list))  # noqa: E731
    return isinstance(given, (list, tuple)) and bool(given) and all(map(is_row, given))


def from_hugging_face(given: Any, options: Options) -> Annotations:
    """Convert rows of a Hugging Face dataset: `objects` with bbox (left, top, width, height) and category per image."""
    title = "Hugging Face rows"

    def pictures() -> Iterator[Picture]:
        for i, row in enumerate(given):
            held = row["objects"]
            objects = {key: [one[key] for one in held] for key in held[0]} if isinstance(held, list) and held else held
            objects = objects or {}
            name = row.get("image_id", row.get("file_name", i))
            classes = next(
                (objects[key] for key in ("category", "category_id", "label", "labels") if key in objects), []
            )
            if "bbox" not in objects and objects:
                raise BadParameter(f"image {name}: expected objects with bbox, found {excerpt(sorted(objects))}")
            boxes = np.array(objects.get("bbox", []), dtype=np.float64).reshape(-1, 4)
            if options.boxes in (None, "xywh"):
                boxes = np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)
            size = (
                (row["width"], row["height"])
                if {"width", "height"} <= row.keys()
                else getattr(row.get("image"), "size", None)
            )
            scores = objects.get("score", objects.get("scores"))
            yield Picture(
                str(name), boxes, classes, size, scores, crowds=objects.get("iscrowd"), areas=objects.get("area")
            )

    read = replace(options, boxes=None) if options.boxes in (None, "xywh", "xyxy") else options
    # The names of the classes, where the features of the dataset state them.
    features = (getattr(given, "features", None) or {}).get("objects")
    features = getattr(features, "feature", features)
    features = features[0] if isinstance(features, list) and features else features
    names = None
    for key in ("category", "category_id", "label", "labels"):
        inner = features.get(key) if isinstance(features, Mapping) else None
        names = names or getattr(getattr(inner, "feature", inner), "names", None)
    return join_pictures(pictures(), list(names) if names else None, read, title)


@dataclass(frozen=True)
class Framework:
    """Objects of a framework: a title for messages, how they are recognised and converted, the options they use."""

    title: str
    matches: Callable[[Any], bool]
    convert: Callable[[Any, Options], Annotations]
    options: frozenset[str] = field(default=frozenset({"image_size", "images", "names", "label_offset"}))


FRAMEWORKS = (
    Framework("Ultralytics Results", lambda given: is_one_or_more(given, is_ultralytics), from_ultralytics),
    Framework("detectron2 Instances", lambda given: is_one_or_more(given, is_instances), from_detectron2),
    Framework("mmdetection DetDataSamples", lambda given: is_one_or_more(given, is_data_sample), from_mmdet,
              frozenset({"image_size", "images", "names", "label_offset", "field"})),
    Framework("SAHI predictions", lambda given: is_one_or_more(given, is_sahi), from_sahi),
    Framework("a FiftyOne dataset with field=…", is_fiftyone, from_fiftyone, frozenset({"names", "field"})),
    Framework("a Hugging Face dataset with objects", is_hugging_face, from_hugging_face,
              frozenset({"boxes", "image_size", "images", "names", "label_offset"})),
)  # fmt: skip
