"""Annotations from objects in memory: COCO dictionaries, pycocotools, torchvision, supervision, tables and arrays.

No framework is imported: objects are recognised by their attributes, and their arrays converted by NumPy. COCO
dictionaries go through the same strict native reader as files, and everything passes the same checks afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import BadParameter, VeriteError, excerpt, is_listing
from verite.files import translate_core_errors
from verite.formats import coco, coco_results, lvis, tables
from verite.formats import mask_images as mask_pictures
from verite.formats.annotators import annotators_of_records, with_annotators
from verite.formats.archives import Archive, temporary_folder
from verite.formats.coco_video import with_tracks
from verite.formats.format import Options, notes_on_unused_options
from verite.formats.frameworks import FRAMEWORKS
from verite.formats.mask_images import are_arrays, from_arrays
from verite.formats.rows import build, name_class_numbers, size_images
from verite.formats.tables import IMAGE, LABEL, Columns, read_columns
from verite.limits import limit, remedy
from verite.model.annotations import Annotations, Source
from verite.model.images import Images
from verite.model.keypoints import Keypoints
from verite.model.polygons import RLEMasks
from verite.model.rasters import frames_of, runs_of
from verite.threads import thread_count

FRAMEWORK_OPTIONS = frozenset({"boxes", "coords", "image_size", "images", "names", "label_offset", "image_offset"})


def to_array(values: Any) -> NDArray[Any]:
    """Convert tensors and arrays to NumPy, from any device."""
    for step in ("detach", "cpu"):
        values = getattr(values, step)() if hasattr(values, step) else values
    return np.asarray(values)


BY_IMAGE_ID = "images are numbered by image_id"
IN_ORDER = "no image_id: the images are those of the ground truth, in its order"


def from_torchvision(given: Any, options: Options) -> Annotations:
    """Convert torchvision dictionaries, one per image: boxes (corners), labels, and scores for predictions.

    Parameters
    ----------
    given : sequence or mapping of str to mapping
        A list, whose images are numbered by `image_id`, else from 0, or in the order of a ground truth of as many
        dictionaries that have an `image_id`; or a dictionary by image name. Masks, keypoints,
        areas and `iscrowd` are read where they exist; without boxes, those around the masks are taken. The labels of
        Hugging Face's image processors (DETR and the like) have `class_labels`, and boxes as centre and size in
        fractions of `orig_size` (height, width).
    options : Options
        How to read them.
    """
    items = list(given.values()) if isinstance(given, Mapping) else given
    ids: list[Any] = (
        [str(name) for name in given]
        if isinstance(given, Mapping)
        else [item.get("image_id", i) for i, item in enumerate(items)]
    )
    ids = [to_array(id).reshape(-1)[0].item() if hasattr(id, "tolist") else id for id in ids]  # tensors of one number
    like, note = options.like, ""
    is_numbered = not isinstance(given, Mapping) and not any("image_id" in item for item in items)
    if is_numbered and like is not None and BY_IMAGE_ID in like.source.why and len(like.images) == len(items):
        ids, note = np.asarray(like.images.ids).tolist(), IN_ORDER
    keys = {"scores": "scores", "masks": "masks", "crowds": "iscrowd", "keypoints": "keypoints", "areas": "area"}
    parts = []
    for id, item in zip(ids, items, strict=True):
        where = f"image {id}"
        facts = {name: item.get(key) for name, key in keys.items()}
        if "class_labels" in item:
            facts["areas"] = None  # of the resized image
            # The corners in pixels of boxes that are centre and size in fractions of the image.
            size = to_array(item["orig_size"]).reshape(-1) if "orig_size" in item else np.empty(0)
            if len(size) != 2:
                raise BadParameter(
                    f"{where}: expected orig_size (height, width) beside class_labels, found {len(size)} numbers"
                )
            centres = ImageObjects(where, item["boxes"], item["class_labels"]).corners()
            half = centres[:, 2:] / 2
            corners = np.concatenate([centres[:, :2] - half, centres[:, :2] + half], axis=1)
            parts.append(
                ImageObjects(
                    where,
                    np.asarray(corners * np.tile(size[::-1].astype(np.float64), 2)),
                    item["class_labels"],
                    **facts,
                )
            )
        else:
            boxes = item.get("boxes")
            if "boxes" not in item:  # as torchmetrics takes them: those around the masks
                boxes = frames_of(runs_of(mask_pixels(to_array(item["masks"]), f"{where}: masks")))
            parts.append(ImageObjects(where, boxes, item["labels"], **facts))
    twice = next((id for id, count in Counter(map(str, ids)).items() if count > 1), None)
    if twice is not None:
        raise BadParameter(f"torchvision dictionaries: expected each image once, found a second image_id {twice}")
    if all(isinstance(id, int) for id in ids):
        for id in ids:
            if not -(2**63) <= id < 2**63:
                raise BadParameter(f"image_id: expected integers from -2^63 to 2^63 - 1, or names, found {id}")
        found = join_parts(parts, images_by_number(ids, options), options, "torchvision dictionaries")
        why, notes = "" if is_numbered else BY_IMAGE_ID, (*found.source.notes, *([note] if note else []))
        return found.with_source(replace(found.source, why=why, notes=notes))
    return join_parts(parts, Images([str(id) for id in ids]), options, "torchvision dictionaries")


def from_supervision(given: Any, options: Options) -> Annotations:
    """Convert `supervision.Detections` of one image, a list with one per image, or a dictionary by image name.

    Parameters
    ----------
    given
        Boxes as corners, with class ids, confidences and masks where they exist.
    options
        Options of the call; `like` gives the names of images that are only numbered.

    Returns
    -------
    Annotations
        Annotations; images without detections are kept.
    """
    named = given if isinstance(given, Mapping) else None
    items = list(named.values()) if named is not None else list(given) if isinstance(given, (list, tuple)) else [given]
    parts = [ImageObjects(f"image {i}", d.xyxy, d.class_id, d.confidence, d.mask) for i, d in enumerate(items)]
    images = Images(list(map(str, named))) if named is not None else images_by_number(range(len(items)), options)
    return join_parts(parts, images, options, "supervision.Detections")


def images_by_number(ids: Sequence[int], options: Options) -> Images:
    """Return images that are known by number."""
    return Images(None, np.array(ids, dtype=np.int64) + options.image_offset)


@dataclass(frozen=True)
class ImageObjects:
    """The objects of one image as arrays of a framework."""

    where: str
    boxes: Any
    labels: Any
    scores: Any = None
    masks: Any = None
    crowds: Any = None
    keypoints: Any = None
    areas: Any = None

    def corners(self) -> NDArray[np.float64]:
        """Return the boxes as floats of shape (n, 4); an empty array may have any shape."""
        found = to_array(self.boxes)
        if found.size == 0:
            return np.empty((0, 4))
        if found.dtype.kind not in "biuf" or found.ndim != 2 or found.shape[1] != 4:
            what = f"{found.dtype} {found.shape}"
            raise BadParameter(f"{self.where}: expected boxes as numbers of shape (n, 4), found {what}")
        return found.astype(np.float64)

    def column(self, name: str, values: Any, count: int) -> NDArray[Any]:
        """Return a flat array with one value per box.

        Parameters
        ----------
        name
            What the values are, for the message.
        values
            One value per box; None for none.
        count
            Number of boxes.
        """
        found = to_array([] if values is None else values).reshape(-1)
        if len(found) != count:
            raise BadParameter(f"{self.where}: expected {count} {name} as there are boxes, found {len(found)}")
        return found


def join_parts(parts: Sequence[ImageObjects], images: Images, options: Options, name: str) -> Annotations:
    """Concatenate the objects of all images. Classes are numbers; names come from the options or the ground truth."""
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
    numbers = join_columns(
        [whole_numbers(part.column("labels", part.labels, n), f"{part.where}: labels") for part, n in sized], np.int64
    )

    def refuse(expected: str, found: Mapping[int, str]) -> None:
        for row, text in found.items():
            raise BadParameter(f"{name}: {parts[image[row]].where}: expected {expected}, found {text}")

    label, labels = name_class_numbers(numbers, options, refuse)
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
    """Concatenate columns, also where there is none."""
    return np.concatenate([*parts, np.empty((0, *parts[0].shape[1:]) if parts else 0)]).astype(dtype)


def whole_numbers(values: NDArray[Any], where: str) -> NDArray[np.int64]:
    """Class numbers or ids as 64-bit integers, in one dimension.

    Raises
    ------
    BadParameter
        If a number is not an integer (1.7, NaN, infinity) or does not fit into 64 bits with a sign. A plain
        ``astype(int64)`` would silently evaluate 1.7 as class 1.
    """
    flat = values.reshape(-1)
    if not flat.size:
        return np.empty(0, np.int64)
    if flat.dtype.kind not in "biuf":
        raise BadParameter(f"{where}: expected integers, found {excerpt(flat[0])} ({flat.dtype})")
    is_fitting = (flat >= -(2.0**63)) & (flat < 2.0**63) if flat.dtype.kind == "f" else flat <= np.int64(2**63 - 1)
    if flat.dtype.kind == "f":
        is_fitting &= flat == np.floor(flat)
    if not is_fitting.all():
        found = excerpt(str(flat[~is_fitting][0]))
        raise BadParameter(f"{where}: expected integers from -2^63 to 2^63 - 1, found {found}")
    return flat.astype(np.int64)


def masks_of(parts: Sequence[ImageObjects], counts: Sequence[int]) -> RLEMasks | None:
    """Encode masks of shape (n, height, width) or (n, 1, height, width); as in torchvision, above 0.5 is inside."""
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
    return RLEMasks.of(found)


def mask_pixels(values: NDArray[Any], where: str) -> NDArray[np.bool_]:
    """Return which pixels are inside: non-zero integers, probabilities above 0.5."""
    if values.ndim not in (3, 4) or (values.ndim == 4 and values.shape[1] != 1):
        raise BadParameter(f"{where}: expected shape (n, height, width), found {values.shape}")
    flat = values[:, 0] if values.ndim == 4 else values
    if flat.dtype.kind != "f":
        return flat if flat.dtype == np.bool_ else np.asarray(flat != 0)
    if np.isnan(flat).any():
        raise BadParameter(f"{where}: expected truth values or probabilities, found NaN")
    return np.asarray(flat > 0.5)


def keypoints_of(parts: Sequence[ImageObjects], counts: Sequence[int]) -> Keypoints | None:
    """Return keypoints of shape (n, points, 3), as in torchvision."""
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


@dataclass(frozen=True)
class InMemoryFormat:
    """A kind of object in memory: its name in messages, how it is recognised and converted, and the options it uses.

    The first record of `IN_MEMORY_FORMATS` whose `matches` accepts an object converts it.
    """

    title: str
    matches: Callable[[Any], bool]
    convert: Callable[[Any, Options], Annotations]
    options: frozenset[str] = frozenset()


FOREIGN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def read_object(given: object, options: Options) -> Annotations:
    """Convert any supported object to annotations.

    Raises
    ------
    BadParameter
        If the object is of no kind in `IN_MEMORY_FORMATS`; the message lists them.
    """
    title = "a path or data"
    try:
        for kind in IN_MEMORY_FORMATS:
            if kind.matches(given):
                title = kind.title
                annotations = kind.convert(given, options)
                source = annotations.source
                why = "; ".join(w for w in (kind.title, source.why) if w)
                notes = (*source.notes, *notes_on_unused_options(annotations, kind, options))
                return annotations.with_source(replace(source, why=why, notes=notes))
        listed = ", ".join(kind.title for kind in IN_MEMORY_FORMATS)
        raise BadParameter(f"annotations: expected a path or {listed}; found {describe_object(given)}")
    except VeriteError:
        raise
    except RecursionError:
        raise BadParameter(f"annotations: expected {title}, found values nested too deeply") from None
    except FOREIGN as error:  # whatever numpy, a tensor or an object of a framework makes of a broken value
        found = excerpt(f"{type(error).__name__}: {error}", 120)
        raise BadParameter(f"annotations: expected {title}, found what cannot be converted ({found})") from error


def are_detectors(given: object) -> bool:
    """Tell whether a dictionary holds predictions by detector name, rather than one set of predictions.

    One set may also be a dictionary: a COCO document, the columns of a table, or images by name.
    """
    known = (is_coco_dictionary, is_supervision, is_torchvision, are_arrays)
    if not isinstance(given, Mapping) or any(fits(given) for fits in known):
        return False
    is_table = any(key in given for key in IMAGE) and any(key in given for key in LABEL)
    return not (is_table and is_columns(given))


def describe_object(given: object) -> str:
    """Describe an unsupported object for a message."""
    name = type(given).__name__
    if isinstance(given, Mapping):
        return (
            f"a {name} with the keys {excerpt(', '.join(map(str, list(given)[:5])))}" if given else f"an empty {name}"
        )
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        return f"a {name} of {describe_object(given[0])}" if len(given) else f"an empty {name}"
    return f"{name} {excerpt(given)}" if isinstance(given, (int, float, bytes)) else name


def is_coco_dictionary(given: Any) -> bool:
    """Tell whether an object is a COCO document."""
    return isinstance(given, Mapping) and "images" in given and "annotations" in given


def is_pycocotools(given: Any) -> bool:
    """Tell whether an object is `pycocotools.coco.COCO`."""
    return isinstance(getattr(given, "dataset", None), Mapping) and hasattr(given, "imgs") and hasattr(given, "cats")


def is_results(given: Any) -> bool:
    """Tell whether an object is a list of COCO results, by its first record.

    An empty list is one, too: a detector without detections.
    """
    if not isinstance(given, (list, tuple)) or not given:
        return isinstance(given, list)
    return isinstance(given[0], Mapping) and {"image_id", "category_id"} <= given[0].keys()


def is_detectron2_file(given: Any) -> bool:
    """Tell whether an object is what detectron2 saves as instances_predictions.pth: images with lists of results."""
    return is_list_of(given, lambda item: isinstance(item, Mapping) and isinstance(item.get("instances"), list))


def is_torchvision(given: Any) -> bool:
    """Tell whether an object is a list of torchvision dictionaries, or a dictionary of them by image name."""

    def fits(item: Any) -> bool:
        has_regions = isinstance(item, Mapping) and ("boxes" in item or "masks" in item)
        return has_regions and ("labels" in item or "class_labels" in item)

    return is_list_of(list(given.values()) if isinstance(given, Mapping) else given, fits)


def is_supervision(given: Any) -> bool:
    """Tell whether an object is `supervision.Detections`, a list of them, or a dictionary by image name."""
    if isinstance(given, Mapping):
        return bool(given) and all(is_detections(item) for item in given.values())
    return is_detections(given) or is_list_of(given, is_detections)


def is_detections(item: Any) -> bool:
    """Tell whether an object is one `supervision.Detections`."""
    return all(hasattr(item, name) for name in ("xyxy", "class_id", "confidence", "mask"))


def is_list_of(given: Any, fits: Callable[[Any], bool]) -> bool:
    """Tell whether an object is a non-empty list whose items all fit."""
    return isinstance(given, (list, tuple)) and bool(given) and all(map(fits, given))


def is_structured(given: Any) -> bool:
    """Tell whether an object is a NumPy structured array."""
    return isinstance(given, np.ndarray) and given.dtype.names is not None


def is_frame(given: Any) -> bool:
    """Tell whether an object is a data frame of pandas or polars."""
    return all(hasattr(given, name) for name in ("to_numpy", "__getitem__", "columns"))


def is_columns(given: Any) -> bool:
    """Tell whether an object is a dictionary of columns of one length."""
    if not isinstance(given, Mapping) or not given or not all(isinstance(key, str) for key in given):
        return False
    sized = [value for value in given.values() if hasattr(value, "__len__") and not isinstance(value, (str, bytes))]
    return len(sized) == len(given) and len({len(value) for value in sized}) == 1


def from_coco(given: Any, options: Options) -> Annotations:
    """Convert a COCO or LVIS document."""
    images = given["images"]
    first = images[0] if isinstance(images, (list, tuple)) and images else None
    is_lvis = isinstance(first, Mapping) and any(key in first for key in lvis.LISTS)  # verified classes per image
    annotations = read_encoded("COCO dictionary", given, lvis if is_lvis else coco, options)
    annotations = with_tracks(annotations, given, "COCO dictionary")
    return with_annotators(annotations, annotators_of_records(given["annotations"]))


def read_encoded(name: str, given: Any, reader: Any, options: Options) -> Annotations:
    """Encode an object as JSON and read it natively, so that checks and places in messages are those of files.

    Where all errors are wanted (`verite inspect`), it is read as a temporary file.
    """
    try:
        content = _core.encode_json(given, to_plain)
    except (TypeError, ValueError) as error:
        raise BadParameter(f"{name}: expected what JSON can hold, found {error}") from None
    if is_listing():
        from verite.formats import read_archive

        with temporary_folder() as folder:
            place = folder / "given.json"
            place.write_bytes(content)
            found = read_archive(Archive(name, place), reader.FORMAT.name, options)
        return found.with_source(replace(found.source, why=""))
    path = Path(name)
    with translate_core_errors(path):
        file = _core.read_coco_bytes(content, thread_count(), limit("json_depth"))
    read = reader.results if reader is coco_results else reader.document
    annotations: Annotations = read(path, file, options)
    return annotations


def to_plain(value: Any) -> Any:
    """Convert a value for JSON: compressed RLE in bytes, NumPy numbers, tensors, mappings."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if hasattr(value, "tolist"):
        return to_array(value).tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} {excerpt(repr(value))}")


def from_arrow_stream(given: Any, options: Options) -> Annotations:
    """Convert a table with `__arrow_c_stream__` by pyarrow; data frames are read by their columns without it."""
    from verite.formats.table_files import columns_of_arrow

    if is_frame(given):
        check_levels(given)
    try:
        columns = columns_of_arrow(given)
    except Exception:  # no pyarrow, or a frame with rings and runs in one column, which no Arrow type holds
        if not is_frame(given):
            raise
        return from_data_frame(given, options)
    return read_columns("table", columns, options)


NESTS = (list, tuple, dict, np.ndarray)


def check_levels(frame: Any) -> None:
    """Refuse cells of a data frame that are nested too deeply: pyarrow follows them until the process ends."""
    for name in frame.columns:
        cells = frame[name]
        if str(cells.dtype) != "object":
            continue
        nests = [cell for cell in cells if isinstance(cell, NESTS)]
        for _ in range(limit("json_depth")):
            if not nests:
                break
            rows = [
                one.values() if isinstance(one, dict) else one.flat if isinstance(one, np.ndarray) else one
                for one in nests
                if not isinstance(one, np.ndarray) or one.dtype == object
            ]
            inner = {id(value): value for row in rows for value in row if isinstance(value, NESTS)}
            nests = list(inner.values())  # each once: lists may be shared
        else:
            most = f"cells of at most {limit('json_depth')} levels in the column {excerpt(str(name))}"
            raise BadParameter(f"table: expected {most}, found more; {remedy('json_depth')}")


def from_structured_array(given: Any, options: Options) -> Annotations:
    """Convert a NumPy structured array.

    Parameters
    ----------
    given
        An array with named fields, one row per object; fields are recognised like columns of a CSV file.
    options
        Options of the call.
    """
    columns = {name: given[name] for name in given.dtype.names}
    texts = {
        name: np.char.decode(cells, "utf-8", "replace") for name, cells in columns.items() if cells.dtype.kind == "S"
    }
    return read_columns("array", columns | texts, options)


def from_data_frame(given: Any, options: Options) -> Annotations:
    """Convert a data frame of pandas or polars by columns, without pyarrow."""
    columns: Columns = {str(name): cells_of(given[name]) for name in given.columns}
    return read_columns("table", columns, options)


def cells_of(column: Any) -> NDArray[Any]:
    """Return the cells of a column of a data frame, None where a value is missing."""
    cells = np.array(column.to_numpy())
    if cells.dtype == object and hasattr(column, "isna"):  # pandas; polars has None there already
        cells[np.asarray(column.isna())] = None
    return cells


def from_columns(given: Mapping[str, Any], options: Options) -> Annotations:
    """Convert a dictionary of columns."""
    columns: dict[str, Any] = {}
    for name, values in given.items():
        columns[name] = values
        with suppress(ValueError):  # cells of several shapes
            columns[name] = to_array(values)
        if not getattr(columns[name], "shape", True):
            raise BadParameter(f"columns: expected a list or an array in {name!r}, found {type(values).__name__}")
    return read_columns("columns", columns, options)


# The first that matches converts the object; messages list the titles.
IN_MEMORY_FORMATS = (
    InMemoryFormat("annotations", lambda given: isinstance(given, Annotations), lambda given, _: given),
    InMemoryFormat("a COCO dictionary", is_coco_dictionary, from_coco, coco.FORMAT.options),
    InMemoryFormat("a list of COCO results", is_results, lambda given, options: with_tracks(read_encoded(
        "COCO results", given, coco_results, options), given, "COCO results"), coco_results.FORMAT.options),
    InMemoryFormat("detectron2's instances_predictions", is_detectron2_file, lambda given, options: read_encoded(
        "instances_predictions", [record for image in given for record in image["instances"]], coco_results, options),
        coco_results.FORMAT.options),
    InMemoryFormat("a pycocotools COCO object", is_pycocotools,
                   lambda given, options: from_coco(given.dataset, options), coco.FORMAT.options),
    InMemoryFormat("torchvision dictionaries (a list, or by image name)", is_torchvision, from_torchvision,
               FRAMEWORK_OPTIONS),
    InMemoryFormat("supervision.Detections (one, a list, or by image name)", is_supervision, from_supervision,
               FRAMEWORK_OPTIONS),
    *(InMemoryFormat(one.title, one.matches, one.convert, one.options) for one in FRAMEWORKS),
    InMemoryFormat("a table with __arrow_c_stream__ (polars, pyarrow, DuckDB, pandas 3)", lambda given: hasattr(
        given, "__arrow_c_stream__"), from_arrow_stream, tables.TABLE_OPTIONS),
    InMemoryFormat("a pandas table", is_frame, from_data_frame, tables.TABLE_OPTIONS),
    InMemoryFormat("masks or label images as arrays", are_arrays, from_arrays, mask_pictures.FORMAT.options),
    InMemoryFormat("a numpy structured array", is_structured, from_structured_array, tables.TABLE_OPTIONS),
    InMemoryFormat("a dictionary of columns", is_columns, from_columns, tables.TABLE_OPTIONS),
)  # fmt: skip
