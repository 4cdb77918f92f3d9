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

from verite import _core
from verite.errors import BadParameter, excerpt
from verite.faults import is_listing
from verite.formats import coco, coco_results, frameworks, lvis, mask_pictures, tables
from verite.formats.arrow_stream import read_stream
from verite.formats.column_names import IMAGE, LABEL, Columns
from verite.formats.format import Options, check_offsets, name_unused
from verite.formats.frameworks import take_supervision, take_torchvision, to_array
from verite.formats.mask_reading import are_arrays, take_arrays
from verite.formats.packages import Package, new_folder
from verite.formats.tables import read_columns
from verite.limits import limit
from verite.model.annotations import Annotations
from verite.model.complaints import in_our_words
from verite.records import record
from verite.threads import thread_count


@record()
class MemoryKind:
    """One kind of object: its name in messages, how it is known, how it becomes annotations, and by which options."""

    title: str
    matches: Callable[[Any], bool]
    take: Callable[[Any, Options], Annotations]
    honours: frozenset[str] = frozenset()


def take(given: object, options: Options) -> Annotations:
    """Annotations from anything that holds some."""
    for kind in KINDS:
        if kind.matches(given):
            annotations = kind.take(given, options)
            check_offsets(annotations, kind, options)
            source = annotations.source
            why = "; ".join(w for w in (kind.title, source.why) if w)
            notes = (*source.notes, *name_unused(kind, options))
            return annotations.said_to_be(replace(source, why=why, notes=notes))
    listed = ", ".join(kind.title for kind in KINDS)
    raise BadParameter(f"annotations: expected a path or {listed}; found {describe_object(given)}")


def are_systems(given: object) -> bool:
    """Several predictions by the names of their systems? A dictionary may also be one side: COCO's, a table's columns,
    or images by name.
    """
    if not isinstance(given, Mapping) or is_coco_dictionary(given) or is_supervision(given) or are_arrays(given):
        return False
    is_table = any(key in given for key in IMAGE) and any(key in given for key in LABEL)
    return not (is_table and is_columns(given))


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
    """Also where there is none: a detector that found nothing. The first record tells; the reader asks them all."""
    if not isinstance(given, (list, tuple)) or not given:
        return isinstance(given, list)
    return isinstance(given[0], Mapping) and {"image_id", "category_id"} <= given[0].keys()


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


def is_lvis(given: Any) -> bool:
    """Does a COCO dictionary say which classes were looked for in an image?"""
    images = given["images"]
    first = images[0] if isinstance(images, (list, tuple)) and images else None
    return isinstance(first, Mapping) and any(key in first for key in lvis.LISTS)


def take_coco(given: Any, options: Options) -> Annotations:
    return read_encoded("COCO dictionary", given, lvis if is_lvis(given) else coco, options)


def take_results(given: Any, options: Options) -> Annotations:
    return read_encoded("COCO results", given, coco_results, options)


def read_encoded(name: str, given: Any, reader: Any, options: Options) -> Annotations:
    """A dictionary or list through the native reader: the same strictness, the same places in messages.

    Whoever wants a list of what is wrong gets that of the file it would be.
    """
    try:
        content = _core.encode_json(given, to_plain)
    except (TypeError, ValueError) as error:
        raise BadParameter(f"{name}: expected what JSON can hold, found {error}") from None
    if is_listing():
        from verite.formats import read_package

        with new_folder() as folder:
            place = folder / "given.json"
            place.write_bytes(content)
            found = read_package(Package(name, place), reader.FORMAT.name, options)
        return found.said_to_be(replace(found.source, why=""))
    path = Path(name)
    with in_our_words(path):
        file = _core.read_coco_bytes(content, thread_count(), limit("json_depth"))
    read = reader.results if reader is coco_results else reader.document
    annotations: Annotations = read(path, file, options)
    return annotations


def to_plain(value: Any) -> Any:
    """What JSON can hold: pycocotools' runs are bytes, numbers may be numpy's or a tensor's."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if hasattr(value, "tolist"):
        return to_array(value).tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} {excerpt(repr(value))}")


def take_stream(given: Any, options: Options) -> Annotations:
    try:
        columns = read_stream(given)
    except Exception:  # pandas 2 needs pyarrow to give a stream, and none holds rings and runs in one column
        if not is_frame(given):
            raise
        return take_frame(given, options)
    return read_columns("table", columns, options)


def take_structured(given: Any, options: Options) -> Annotations:
    columns = {name: given[name] for name in given.dtype.names}
    texts = {
        name: np.char.decode(cells, "utf-8", "replace") for name, cells in columns.items() if cells.dtype.kind == "S"
    }
    return read_columns("array", columns | texts, options)


def take_frame(given: Any, options: Options) -> Annotations:
    columns: Columns = {str(name): cells_of(given[name]) for name in given.columns}
    return read_columns("table", columns, options)


def cells_of(column: Any) -> NDArray[Any]:
    """The cells of a column of pandas, None where one of any type is missing."""
    cells = np.array(column.to_numpy())
    if cells.dtype == object:
        cells[np.asarray(column.isna())] = None
    return cells


def take_columns(given: Mapping[str, Any], options: Options) -> Annotations:
    return read_columns("columns", {name: to_column(values) for name, values in given.items()}, options)


def to_column(values: Any) -> Any:
    """An array where all cells are of one shape, else what was given."""
    try:
        return to_array(values)
    except ValueError:
        return values


def take_pycocotools(given: Any, options: Options) -> Annotations:
    return take_coco(given.dataset, options)


# In the order in which they are asked; the titles are what a message lists.
KINDS = (
    MemoryKind("annotations", lambda given: isinstance(given, Annotations), lambda given, _: given),
    MemoryKind("a COCO dictionary", is_coco_dictionary, take_coco, coco.FORMAT.honours),
    MemoryKind("a list of COCO results", is_results, take_results, coco_results.FORMAT.honours),
    MemoryKind("a pycocotools COCO object", is_pycocotools, take_pycocotools, coco.FORMAT.honours),
    MemoryKind("a list of torchvision dictionaries", is_torchvision, take_torchvision, frameworks.HONOURS),
    MemoryKind("supervision.Detections (one, a list, or by image name)", is_supervision, take_supervision,
               frameworks.HONOURS),
    MemoryKind("a table with __arrow_c_stream__ (polars, pyarrow, DuckDB, pandas 3)", lambda given: hasattr(
        given, "__arrow_c_stream__"), take_stream, tables.HONOURS),
    MemoryKind("a pandas table", is_frame, take_frame, tables.HONOURS),
    MemoryKind("masks or label images as arrays", are_arrays, take_arrays, mask_pictures.FORMAT.honours),
    MemoryKind("a numpy structured array", is_structured, take_structured, tables.HONOURS),
    MemoryKind("a dictionary of columns", is_columns, take_columns, tables.HONOURS),
)  # fmt: skip
