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


def object_columns(annotations: Annotations, *, images: bool = False) -> dict[str, NDArray[Any]]:
    """The objects as columns of numbers and words; classes without an object are in none.

    With `images`, sizes of the images as well, and a row without class and box for each image without objects.
    """
    known, labels, regions = annotations.images, annotations.labels, annotations.regions
    bare = bare_images(annotations) if images else np.empty(0, np.int64)
    image = np.concatenate([annotations.image, bare]).astype(np.int64)
    columns: dict[str, NDArray[Any]] = {}
    if known.ids is not None:
        columns["image_id"] = known.ids[image]
    if known.names is not None:
        columns["file_name"] = np.array(known.names, dtype=object)[image]
    if known.sequences is not None and known.sequences.is_stated:
        columns["sequence"] = np.array(known.sequences.names, dtype=object)[known.sequences.sequence[image]]
        columns["frame"] = known.sequences.frame[image]
    if images and (known.widths > 0).any():
        columns |= {"image_width": known.widths[image], "image_height": known.heights[image]}
    told: dict[str, NDArray[Any]] = {}
    if labels.ids is not None:
        told["category_id"] = labels.ids[annotations.label]
    if labels.names is not None:
        told["label"] = np.array(labels.names, dtype=object)[annotations.label]
    told |= dict(zip(SIDES[regions.kept], regions.values.T, strict=True))
    for key, values in (
        ("score", annotations.confidence),
        ("area", annotations.area),
        ("id", annotations.ids),
        ("track_id", annotations.track),
    ):
        if values is not None:
            told[key] = values
    told |= {flag: values.astype(np.int8) for flag, values in annotations.flags.items()}
    return columns | {key: pad(values, len(bare)) for key, values in told.items()}


def bare_images(annotations: Annotations) -> NDArray[np.int64]:
    """The images without objects."""
    return np.setdiff1d(np.arange(len(annotations.images)), annotations.image)


def pad(values: NDArray[Any], count: int) -> NDArray[Any]:
    """A column with so many rows more that say nothing.

    Parameters
    ----------
    values
        The column; text columns become object columns.
    count
        Number of rows to append: images without objects, for instance.

    Returns
    -------
    NDArray[Any]
        The column, with NaN (numbers) or None (all else) in the new rows.
    """
    if not count:
        return values
    kind = values.dtype.kind
    nothing = np.full(count, np.nan if kind == "f" else None)
    return np.concatenate([values if kind == "f" else values.astype(object), nothing])


def outline_columns(annotations: Annotations, *, images: bool = False) -> dict[str, NDArray[Any]]:
    """Their outlines, where some have one: rings of polygons, masks as COCO's run-length text, keypoints as triples."""
    regions = annotations.regions
    polygons, runs = regions.outlines
    columns: dict[str, list[Any]] = {}
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
    count = len(bare_images(annotations)) if images else 0
    return {name: pad(values, count) for name, values in found.items()}


def objects(values: list[Any]) -> NDArray[np.object_]:
    """A column of anything, also of lists of one length."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def to_pandas(annotations: Annotations, *, images: bool = False) -> pandas.DataFrame:
    """A table for pandas.

    Parameters
    ----------
    annotations
        Ground truth or predictions.
    images
        Also one row for each image without objects.

    Returns
    -------
    pandas.DataFrame
        One row per object: image, class, box, confidence where there is one, flags.
    """
    try:
        import pandas
    except ImportError:
        raise BadParameter("to_pandas: expected pandas, found none; pip install pandas") from None
    return pandas.DataFrame(all_columns(annotations, images=images))


def to_arrow(annotations: Annotations, *, images: bool = False) -> pyarrow.Table:
    """A table for pyarrow, and so for polars and DuckDB."""
    return import_pyarrow().table(all_columns(annotations, images=images))


def all_columns(annotations: Annotations, *, images: bool) -> dict[str, NDArray[Any]]:
    return object_columns(annotations, images=images) | outline_columns(annotations, images=images)


def import_pyarrow() -> Any:
    """pyarrow, which comes with the extra `parquet`."""
    try:
        import pyarrow
    except ImportError:
        raise BadParameter("pyarrow: expected it to be installed, found none; pip install verite[parquet]") from None
    return pyarrow
