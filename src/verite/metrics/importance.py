"""Importance of pixels: areas in which some parts of an object count more than others.

A localization error near the head of a person may matter more than one near the hands. Each pixel has a weight, from a
grey image per image of the dataset, or from the ground truth's keypoints: a pixel then has the weight of the nearest
labelled keypoint of its object. Metrics that are computed from areas alone (IoU, Dice, pixel recall, …) use the sums of
weights in place of numbers of pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isfinite
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from verite.arrays import np
from verite.csv_files import lines_of
from verite.errors import BadParameter, DataError, ReadError, did_you_mean, excerpt
from verite.files import find_path
from verite.formats.label_images import read_pixels
from verite.formats.sizes import image_files_in
from verite.metrics.metric import Metric
from verite.model.annotations import Annotations
from verite.model.images import stem
from verite.model.polygons import RLEMasks
from verite.model.rasters import array_of
from verite.pairs import Array, Pairs
from verite.pairs.store import Rows, Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

# fmt: off
COCO_POINTS = [
    "nose", "left_eye", "right_eye", "left_ear", "right_ear", "left_shoulder", "right_shoulder", "left_elbow",
    "right_elbow", "left_wrist", "right_wrist", "left_hip", "right_hip", "left_knee", "right_knee", "left_ankle",
    "right_ankle",
]
# fmt: on

# Weights of pixels of a pair, given the pair and the rows and columns of the pixels.
PixelWeights = Callable[[int, "NDArray[np.int64]", "NDArray[np.int64]"], Array]


class WeightedStore(Store):
    """Pairs of regions whose areas are sums of the weights of their pixels."""

    def __init__(self, base: Store, weighted: Array) -> None:
        super().__init__(*base.shapes, *base.object_rows, base.sizes, base.polygons, base.spacing)
        self.weighted = weighted

    @property
    def areas(self) -> Array:
        """Weights of ground truth, prediction and intersection, [n, 3]."""
        return self.weighted

    def subset(self, rows: Rows) -> WeightedStore:
        return WeightedStore(super().subset(rows), self.weighted[rows])


def weigh_pixels(pairs: Pairs, weights: PixelWeights) -> Pairs:
    """Return the same pairs with areas that are sums of the weights of pixels.

    >>> p = Pairs.of([[0, 0, 4, 2]], [[2, 0, 4, 2]], size=(8, 8))
    >>> near_left = weigh_pixels(p, lambda pair, rows, columns: np.where(columns < 2, 3.0, 1.0))
    >>> near_left.truth_area, near_left.shared_area          # the half that is missed counts three times
    (array([16.]), array([4.]))
    """
    store = pairs.store if pairs.rows is None else pairs.store.subset(pairs.rows)
    masks = [(RLEMasks(side.counts, side.objects, side.sizes), side.rows) for side in store.sides]
    areas = np.zeros((len(store), 3))
    for pair in range(len(store)):
        truth, pred = (array_of(runs, int(rows[pair])) for runs, rows in masks)
        rows, columns = np.nonzero(truth | pred)
        own = weights(pair, rows, columns)
        in_truth, in_pred = truth[rows, columns], pred[rows, columns]
        areas[pair] = own[in_truth].sum(), own[in_pred].sum(), own[in_truth & in_pred].sum()
    return Pairs(WeightedStore(store, areas), is_swapped=pairs.is_swapped)


def is_weighable(chosen: Metric) -> bool:
    """Return whether a metric is computed from areas alone, so that weights of pixels change it."""
    probe = SimpleNamespace(truth_area=np.array([2.0]), pred_area=np.array([2.0]), shared_area=np.array([1.0]))
    try:
        chosen.record.function(probe, **chosen.parameters)
    except AttributeError:
        return False
    except Exception:
        if chosen.record.is_builtin:
            raise
        return False  # a function of the user's that needs more than areas
    return True


def check_weighable(metrics: Sequence[Metric]) -> None:
    """Raise `BadParameter` for metrics that are not computed from areas alone."""
    for chosen in metrics:
        if not is_weighable(chosen):
            raise BadParameter(
                f"importance: expected metrics of areas, such as iou, dice and pixel_recall, found {chosen.name}, "
                "which does not count pixels by weight"
            )


def importance_values(chosen: Metric) -> Array | None:
    """Return the values of a metric for a strip that is missed where pixels weigh 3, and where they weigh 1.

    The ground truth is a square of 12 pixels whose left half weighs 3; the prediction lacks its two first columns, or
    its two last ones.

    Returns
    -------
    array, shape (2,), or None
        None if the metric is not computed from areas alone.

    Examples
    --------
    >>> import verite as vt
    >>> importance_values(vt.metric("pascal"))    # 3 · 24 of 288, and 24 of 288
    array([0.25      , 0.08333333])
    """
    if not is_weighable(chosen):
        return None
    pairs = Pairs.of([[4, 4, 16, 16]], [[6, 4, 16, 16], [4, 4, 14, 16]], size=(20, 20))
    return chosen.values(weigh_pixels(pairs, lambda pair, rows, columns: np.where(columns < 10, 3.0, 1.0)))


def are_pixel_weights(given: object) -> bool:
    """Return whether weights are those of pixels (a folder, or a table of keypoints) and not those of objects."""
    if not isinstance(given, (str, PathLike)):
        return False
    path = Path(find_path(given))
    return path.is_dir() or any("keypoint" in row for _, row in [next(iter(lines_of(path)), (0, []))])


def pixel_weights(
    given: str | PathLike[str], truth: Annotations, pred: Annotations, truth_rows: Rows, pred_rows: Rows
) -> PixelWeights:
    """Return the weights of pixels from a folder of grey images, or from a table of keypoints and weights.

    Parameters
    ----------
    given : path
        A folder with a grey image for each image of the dataset, of the same name and size: black weighs 0, white 1,
        and numbers of single precision (TIFF) weigh what they say. Or a table with the columns ``keypoint`` (a name,
        or a number from 1) and ``weight``; keypoints without a row weigh 1.
    truth, pred : Annotations
        Both sides.
    truth_rows, pred_rows : array of int
        The objects of each pair; -1 is none.

    Raises
    ------
    ReadError
        If the folder lacks an image, an image has another size, or the table is wrong.
    """
    folder = Path(find_path(given))
    if not folder.is_dir():
        return keypoint_weights(folder, truth, truth_rows)
    files = image_files_in(folder)
    last: dict[int, Array] = {}  # the map of the image read last: pairs come image by image

    def read(image: int) -> Array:
        if image not in last:
            name = truth.images.name(image) if image < len(truth.images) else pred.images.name(image)
            found = files.get(stem(name), [])
            if len(found) != 1:
                number = f"{len(found)} of that name" if found else "none"
                expected = f"one grey image named {stem(name)} with weights of pixels"
                raise ReadError(folder, expected=expected, found=number)
            pixels = read_pixels(found[0], most=inf)
            last.clear()
            values = pixels.values.astype(np.float64)
            last[image] = values if pixels.values.dtype.kind == "f" else values / pixels.white
        return last[image]

    def weigh(pair: int, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Array:
        own = truth_rows[pair]
        image = int(truth.image[own] if own >= 0 else pred.image[pred_rows[pair]])
        weights = read(image)
        if len(rows) and (rows.max() >= weights.shape[0] or columns.max() >= weights.shape[1]):
            found = f"{weights.shape[1]} × {weights.shape[0]} pixels"
            raise ReadError(folder, expected=f"weights for every pixel of {truth.images.name(image)!r}", found=found)
        return np.asarray(weights[rows, columns])

    return weigh


def keypoint_weights(table: Path, truth: Annotations, truth_rows: Rows) -> PixelWeights:
    points = truth.regions.keypoints
    if points is None or not points.labelled.any():
        raise DataError(
            f"{truth.source.path or 'truth'}: expected labelled keypoints, whose weights {table} has, found none"
        )
    count = int(points.counts.max())
    stated = [one.names for one in truth.labels.skeletons or () if one.names]
    names = list(stated[0]) if stated else COCO_POINTS if count == len(COCO_POINTS) else []
    rows = [(number, [cell.strip() for cell in row]) for number, row in lines_of(table) if any(row)]
    if not rows or sorted(rows[0][1]) != ["keypoint", "weight"]:
        found = excerpt(",".join(rows[0][1])) if rows else "an empty file"
        raise ReadError(table, expected="the columns keypoint and weight", found=found)
    known = {name: i for i, name in enumerate(names)} | {str(i + 1): i for i in range(count)}
    of_point = np.ones(count)
    for number, row in rows[1:]:
        where = f"{table}:{number}"
        if len(row) != 2:
            raise ReadError(where, expected="2 cells", found=str(len(row)))
        cell = dict(zip(rows[0][1], row, strict=True))
        if cell["keypoint"] not in known:
            near = did_you_mean(cell["keypoint"], names)
            expected = f"a keypoint, one of {', '.join(names) or f'1 to {count}'}"
            raise ReadError(where, expected=expected, found=excerpt(cell["keypoint"]) + near)
        try:
            weight = float(cell["weight"])
        except ValueError:
            weight = -1.0
        if not isfinite(weight) or weight < 0:
            raise ReadError(where, expected="a weight from 0 up", found=excerpt(cell["weight"]))
        of_point[known[cell["keypoint"]]] = weight

    def weigh(pair: int, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Array:
        own = int(truth_rows[pair])
        mine = points[own] if own >= 0 else np.empty((0, 3))
        labelled = np.flatnonzero(mine[:, 2] > 0)
        if not len(labelled):
            return np.ones(len(rows))
        x, y = mine[labelled, 0], mine[labelled, 1]
        squared = (columns[:, None] + 0.5 - x) ** 2 + (rows[:, None] + 0.5 - y) ** 2
        return np.asarray(of_point[labelled[np.argmin(squared, axis=1)]])

    return weigh
