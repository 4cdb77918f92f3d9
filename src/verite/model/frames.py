"""The objects of annotations as a table for other programs, by the column names that are read again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter
from verite.model.annotations import Annotations
from verite.model.regions import MASK

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from numpy.typing import NDArray

SIDES = {"xywh": ("x", "y", "width", "height"), "xyxy": ("x1", "y1", "x2", "y2")}


def object_columns(annotations: Annotations) -> dict[str, NDArray[Any]]:
    """The objects as columns of numbers and words; images and classes without an object and sizes are in none."""
    images, labels, regions = annotations.images, annotations.labels, annotations.regions
    columns: dict[str, Any] = {}
    if images.ids is not None:
        columns["image_id"] = images.ids[annotations.image]
    if images.names is not None:
        columns["file_name"] = np.array(images.names, dtype=object)[annotations.image]
    if labels.ids is not None:
        columns["category_id"] = labels.ids[annotations.label]
    if labels.names is not None:
        columns["label"] = np.array(labels.names, dtype=object)[annotations.label]
    columns |= dict(zip(SIDES[regions.kept], regions.values.T, strict=True))
    for key, values in (("score", annotations.confidence), ("area", annotations.area), ("id", annotations.ids)):
        if values is not None:
            columns[key] = values
    columns |= {flag: values.astype(np.int8) for flag, values in annotations.flags.items()}
    return columns


def outline_columns(annotations: Annotations) -> dict[str, NDArray[Any]]:
    """Their outlines, where some have one: rings of polygons, masks as COCO's run-length text, keypoints as triples."""
    regions = annotations.regions
    polygons, runs = regions.outlines
    columns: dict[str, Any] = {}
    if polygons is not None:
        columns["segmentation"] = [[ring.ravel().tolist() for ring in polygons[row]] for row in range(len(polygons))]
    if runs is not None:
        is_mask = (regions.kinds == MASK).tolist()
        columns["mask"] = [_core.encode_runs(runs[row]).decode() if there else "" for row, there in enumerate(is_mask)]
    if regions.keypoints is not None:
        columns["keypoints"] = [regions.keypoints[row].ravel().tolist() for row in range(len(regions))]
    found: dict[str, NDArray[Any]] = {
        name: objects([value or None for value in values]) for name, values in columns.items()
    }
    if runs is not None:
        found |= {"mask_height": runs.sizes[:, 0], "mask_width": runs.sizes[:, 1]}
    return found


def objects(values: list[Any]) -> NDArray[np.object_]:
    """A column of anything, also of lists of one length."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def to_pandas(annotations: Annotations) -> pandas.DataFrame:
    """A table for pandas."""
    try:
        import pandas
    except ImportError:
        raise BadParameter("to_pandas: expected pandas, found none; pip install pandas") from None
    return pandas.DataFrame(object_columns(annotations) | outline_columns(annotations))


def to_arrow(annotations: Annotations) -> pyarrow.Table:
    """A table for pyarrow, and so for polars and DuckDB."""
    return import_pyarrow().table(object_columns(annotations) | outline_columns(annotations))


def import_pyarrow() -> Any:
    """pyarrow, which comes with the extra `parquet`."""
    try:
        import pyarrow
    except ImportError:
        raise BadParameter("pyarrow: expected it to be installed, found none; pip install verite[parquet]") from None
    return pyarrow
