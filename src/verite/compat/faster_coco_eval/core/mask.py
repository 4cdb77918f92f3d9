"""Masks as run-length dictionaries: the functions of faster_coco_eval.core.mask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verite.compat.pycocotools import _mask as _mask
from verite.compat.pycocotools import steps
from verite.compat.pycocotools._mask import Rle
from verite.compat.pycocotools.mask import area as area
from verite.compat.pycocotools.mask import decode as decode
from verite.compat.pycocotools.mask import encode as encode
from verite.compat.pycocotools.mask import frPyObjects as frPyObjects
from verite.compat.pycocotools.mask import iou as iou
from verite.compat.pycocotools.mask import merge as merge
from verite.compat.pycocotools.mask import toBbox as toBbox


def segmToRle(segm: Any, w: int, h: int) -> Rle:  # noqa: N802
    """Return the run-length encoding of polygons, of runs, or of one that is encoded already.

    Parameters
    ----------
    segm
        A list of polygons, a dictionary with `counts` as a list of runs, or an encoded mask.
    w, h
        Width and height of the image.
    """
    if isinstance(segm, list):
        return merge(frPyObjects(segm, h, w)) if segm else {"size": [h, w], "counts": b""}
    if _mask.has_plain_runs(segm):
        return frPyObjects(segm, h, w)  # type: ignore[no-any-return]
    return segm  # type: ignore[no-any-return]


def rleToBoundary(rle: Rle, dilation_ratio: float = 0.02, backend: str = "mask_api") -> Rle:  # noqa: N802
    """Return the pixels of a mask within `dilation_ratio` × the image diagonal of its boundary.

    The distance is the number of steps to one of the eight neighbours; the image border belongs to the boundary.

    Parameters
    ----------
    rle
        The mask.
    dilation_ratio
        Width of the boundary, as a share of the diagonal of the image; at least one pixel.
    backend
        Accepted for compatibility: both of faster-coco-eval's give the same pixels.
    """
    return steps.find_boundary(rle, dilation_ratio)


rleToBoundaryCV = rleToBoundary  # noqa: N816

opencv_available = True  # what it would do is done without it


def calculateRleForAllAnnotations(  # noqa: N802
    anns: Sequence[Rle],
    img_sizes: Mapping[Any, tuple[int, int]],
    compute_rle: bool,
    compute_boundary: bool,
    boundary_dilation_ratio: float,
    boundary_cpu_count: int,
) -> None:
    """Write `rle` and, if asked for, `boundary` into annotations that have a segmentation."""
    for ann in anns if compute_rle else ():
        height, width = img_sizes[ann["image_id"]]
        ann["rle"] = segmToRle(ann["segmentation"], width, height)
        if compute_boundary:
            ann["boundary"] = rleToBoundary(ann["rle"], boundary_dilation_ratio)
