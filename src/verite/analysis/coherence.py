"""Coherence of predictions without ground truth: do regions differ from what surrounds them?

Criteria of unsupervised evaluation (Chabrier, Emile, Rosenberger, Laurent, EURASIP 2006): the contrast between the
inside of a region and a ring around it, Zeboudj's contrast, and the stability under flips where predictions of flipped
images are given. None of them measures correctness; where ground truth is given, the rank correlation with F1 per image
shows how much they say.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import IS_COMMAND_LINE, DataError, spell_option
from verite.files import find_path
from verite.formats.sizes import image_files_in, open_image
from verite.model.annotations import Annotations
from verite.model.images import stem
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table

Floats = NDArray[np.float64]
RING = 0.25  # width of the ring around a box, as a share of its sides
FEWEST = 10  # labelled images from which a rank correlation is computed
MOST_SHOWN = 10


def contrast(grey: Floats, box: tuple[int, int, int, int]) -> float:
    """Return the contrast of a box and the ring around it: difference of means over the sum of standard deviations.

    From 0 (no difference) to 1: d / (d + s1 + s2).

    >>> grey = np.zeros((20, 20)); grey[5:15, 5:15] = 1
    >>> contrast(grey, (5, 5, 15, 15)), contrast(np.ones((20, 20)), (5, 5, 15, 15))
    (1.0, 0.0)
    """
    x1, y1, x2, y2 = box
    inside = grey[y1:y2, x1:x2]
    dx, dy = max(1, round(RING * (x2 - x1))), max(1, round(RING * (y2 - y1)))
    left, top = max(0, x1 - dx), max(0, y1 - dy)
    around = grey[top : y2 + dy, left : x2 + dx]
    is_ring = np.ones(around.shape, dtype=np.bool_)
    is_ring[y1 - top : y2 - top, x1 - left : x2 - left] = False
    ring = around[is_ring]
    if not inside.size or not ring.size:
        return float("nan")
    apart = abs(float(inside.mean() - ring.mean()))
    total = apart + float(inside.std() + ring.std())
    return apart / total if total > 0 else 0.0


def zeboudj(grey: Floats, box: tuple[int, int, int, int]) -> float:
    """Return Zeboudj's contrast of a box: 1 - inner contrast / outer contrast, within 0 and 1.

    The inner contrast is the mean over pixels of the largest difference to a 4-neighbour inside, the outer one that of
    border pixels to their neighbours outside. Where the inside is uniform it is the outer contrast.

    >>> grey = np.zeros((20, 20)); grey[5:15, 5:15] = 1
    >>> zeboudj(grey, (5, 5, 15, 15))
    1.0
    """
    x1, y1, x2, y2 = box
    inside = grey[y1:y2, x1:x2]
    if not inside.size:
        return float("nan")
    largest = np.zeros(inside.shape)
    for axis in (0, 1):
        steps = np.abs(np.diff(inside, axis=axis))
        before = [slice(None), slice(None)]
        after = [slice(None), slice(None)]
        before[axis], after[axis] = slice(None, -1), slice(1, None)
        for part in (tuple(before), tuple(after)):
            largest[part] = np.maximum(largest[part], steps)
    edges = []
    if y1 > 0:
        edges.append(np.abs(grey[y1, x1:x2] - grey[y1 - 1, x1:x2]))
    if y2 < grey.shape[0]:
        edges.append(np.abs(grey[y2 - 1, x1:x2] - grey[y2, x1:x2]))
    if x1 > 0:
        edges.append(np.abs(grey[y1:y2, x1] - grey[y1:y2, x1 - 1]))
    if x2 < grey.shape[1]:
        edges.append(np.abs(grey[y1:y2, x2 - 1] - grey[y1:y2, x2]))
    if not edges:
        return float("nan")
    inner, outer = float(largest.mean()), float(np.concatenate(edges).mean())
    if inner == 0:
        return outer
    return 1 - inner / outer if inner < outer else 0.0


def flip_stability(pred: Annotations, flipped: Annotations, image: int, width: float) -> float:
    """Return the mean best IoU of predictions of an image and those of its mirror image, flipped back; both ways."""
    mine = pred.regions.boxes[pred.image == image]
    name = pred.images.name(image)
    at = flipped.images.find(name) if flipped.images.names is not None else image
    theirs = flipped.regions.boxes[flipped.image == at] if at is not None else np.empty((0, 4))
    theirs = np.stack([width - theirs[:, 2], theirs[:, 1], width - theirs[:, 0], theirs[:, 3]], axis=1)
    if not len(mine) and not len(theirs):
        return 1.0
    if not len(mine) or not len(theirs):
        return 0.0
    low = np.maximum(mine[:, None, :2], theirs[None, :, :2])
    high = np.minimum(mine[:, None, 2:], theirs[None, :, 2:])
    shared = (high - low).clip(min=0).prod(axis=2)
    areas = [(side[:, 2:] - side[:, :2]).prod(axis=1) for side in (mine, theirs)]
    union = areas[0][:, None] + areas[1][None] - shared
    iou = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    return float((iou.max(axis=1).sum() + iou.max(axis=0).sum()) / (len(mine) + len(theirs)))


def spearman(a: Floats, b: Floats) -> float:
    """Return the rank correlation of two columns, with mean ranks of ties; nan if one is constant.

    >>> spearman(np.array([1.0, 2, 3]), np.array([10.0, 30, 20]))
    0.5
    """
    ranks = []
    for values in (a, b):
        _, at, counts = np.unique(values, return_inverse=True, return_counts=True)
        ends = np.cumsum(counts)
        ranks.append((ends - (counts - 1) / 2)[at])
    x, y = (column - column.mean() for column in ranks)
    scale = np.sqrt((x @ x) * (y @ y))
    return round(float(x @ y / scale), 12) if scale > 0 else float("nan")


@dataclass(frozen=True, eq=False, repr=False)
class Coherence(Display):
    """Coherence of the predictions of each image.

    Parameters
    ----------
    images : list of str
        Images with predictions.
    columns : dict
        Mean of each criterion over the predictions of each image.
    quality : dict of array, optional
        F1 of each labelled image, by name.
    """

    images: list[str]
    columns: dict[str, Floats]
    quality: dict[str, float] | None = None

    @property
    def means(self) -> dict[str, float]:
        """Mean of each criterion over the images."""
        return {
            name: float(np.nanmean(values)) if len(values) else float("nan") for name, values in self.columns.items()
        }

    def correlations(self) -> dict[str, tuple[float, int]]:
        """Return the rank correlation of each criterion with F1 on labelled images, and their number."""
        found = {}
        for name, values in self.columns.items():
            known = [(v, self.quality[i]) for i, v in zip(self.images, values, strict=True)
                     if self.quality and i in self.quality and np.isfinite([v, self.quality[i]]).all()]  # fmt: skip
            pair = np.array(known).reshape(-1, 2)
            value = spearman(pair[:, 0], pair[:, 1]) if len(pair) >= FEWEST else float("nan")
            found[name] = (value, len(pair))
        return found

    def main_table(self) -> Table:
        """Return the criteria with their means, and how well they order labelled images."""
        found = self.correlations()
        columns: dict[str, list[Any]] = {
            "mean": [self.means[name] for name in self.columns],
            "rank correlation with F1": [found[name][0] for name in self.columns],
            "labelled images": [found[name][1] for name in self.columns],
        }
        return Table.of("criterion", list(self.columns), columns)

    def contents(self) -> list[Part]:
        lead = self.columns["contrast"]
        order = np.argsort(np.where(np.isnan(lead), np.inf, lead), kind="stable")[:MOST_SHOWN]
        lowest = Table.of("least coherent", [self.images[i] for i in order],
                          {name: values[order].tolist() for name, values in self.columns.items()})  # fmt: skip
        known = max((n for _, n in self.correlations().values()), default=0)
        note = (
            "Coherence is not correctness: it says how far regions differ from their surroundings. "
            + ("The rank correlation says how well it orders the labelled images." if known >= FEWEST else
               f"How well it orders images is unknown: {known} labelled images of at least {FEWEST} (--truth).")
        )  # fmt: skip
        return [self.main_table(), lowest, note]

    def to_json(self, *, indent: int = 0) -> str:
        found = self.correlations()
        images = {name: {key: float(v[i]) for key, v in self.columns.items()} for i, name in enumerate(self.images)}
        criteria = {name: {"mean": self.means[name], "rank_correlation": found[name][0], "labelled": found[name][1]}
                    for name in self.columns}  # fmt: skip
        return to_json({"criteria": criteria, "images": images}, indent=indent)


def coherence(
    images: str | PathLike[str],
    pred: Annotations,
    *,
    flipped: Annotations | None = None,
    quality: dict[str, float] | None = None,
) -> Coherence:
    """Measure the coherence of predictions with their images, without ground truth.

    Parameters
    ----------
    images : path
        Folder with the images.
    pred : Annotations
        Predictions in pixels.
    flipped : Annotations, optional
        Predictions on images that were mirrored from left to right, under the same names.
    quality : dict, optional
        F1 of labelled images by name.

    Returns
    -------
    Coherence

    Raises
    ------
    DataError
        If no image with predictions is found, or coordinates are relative.
    """
    if pred.unit == "rel":
        raise DataError("coherence: expected predictions in pixels, found relative coordinates")
    files = image_files_in(find_path(images), is_deep=True)
    names: list[str] = []
    keys = ["contrast", "zeboudj", *(["stability"] if flipped is not None else [])]
    columns: dict[str, list[float]] = {key: [] for key in keys}
    for image in np.unique(pred.image).tolist():
        name = pred.images.name(image)
        found = files.get(stem(name), [])
        if not found:
            continue
        with open_image(found[0]) as opened:
            grey = np.asarray(opened.convert("L"), dtype=np.float64) / 255
        height, width = grey.shape
        boxes = np.rint(pred.regions.boxes[pred.image == image]).clip(0, [width, height, width, height]).astype(int)
        whole = [(int(a), int(b), int(c), int(d)) for a, b, c, d in boxes if c > a and d > b]
        names.append(name)
        for key, measure in (("contrast", contrast), ("zeboudj", zeboudj)):
            values = np.array([measure(grey, box) for box in whole])
            columns[key].append(float(np.nanmean(values)) if np.isfinite(values).any() else float("nan"))
        if flipped is not None:
            columns["stability"].append(flip_stability(pred, flipped, image, width))
    if not names:
        how = spell_option("truth", "FILE") if IS_COMMAND_LINE.get() else "vt.read(pred, like=truth)"
        raise DataError(
            f"{images}: expected the images of the predictions, found none of {len(pred.images):,}, such as "
            f"{pred.images.name(0)!r}; if these are ids, the ground truth has the names ({how})"
        )
    return Coherence(names, {key: np.array(values) for key, values in columns.items()}, quality)
