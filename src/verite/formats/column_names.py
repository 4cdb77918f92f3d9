"""What do people call the columns of a table? Names that can mean one thing only; all others are said by a mapping."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from verite.model.annotations import FLAGS
from verite.model.frames import SIDES

Columns = Mapping[str, Any]

# The first three are those of messages.
IMAGE = ("image_id", "image", "file_name", "filename", "image_name", "image_path")
LABEL = ("category_id", "label", "class", "class_id", "class_name", "category", "category_name")
SCORE = ("score", "confidence", "conf")
SIZE = ("image_width", "image_height")
BOX, POSE, RINGS, RUNS, RUN_SIZE = "bbox", "keypoints", "segmentation", "mask", ("mask_height", "mask_width")
# What the four numbers of a box are, by the names of their columns; what is complete first is taken.
BOXES = (
    ("xywh", SIDES["xywh"]),
    ("xyxy", SIDES["xyxy"]),
    ("xyxy", ("xmin", "ymin", "xmax", "ymax")),
    ("xyxy", ("x_min", "y_min", "x_max", "y_max")),
    ("xyxy", ("left", "top", "right", "bottom")),
    ("xywh", ("left", "top", "width", "height")),
    ("xywh", ("x", "y", "w", "h")),
    ("cxcywh", ("cx", "cy", "w", "h")),
    ("cxcywh", ("cx", "cy", "width", "height")),
    ("cxcywh", ("x_center", "y_center", "width", "height")),
)
BOX_SIDES = tuple(dict.fromkeys(side for _, sides in BOXES for side in sides))
UNREADABLE = (POSE, RINGS, RUNS, *RUN_SIZE)  # what no cell of a CSV file holds
FLAG_NAMES = {"iscrowd": "crowd", **{flag: flag for flag in FLAGS}}
KNOWN = (*IMAGE, *LABEL, *SCORE, *SIZE, *BOX_SIDES, BOX, *UNREADABLE, "area", "id", *FLAG_NAMES)

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
FOUR = re.compile(rf"\s*[\[(]?\s*({NUMBER})" + rf"\s*[,;\s]\s*({NUMBER})" * 3 + r"\s*[\])]?\s*")


def box_columns(names: Columns | Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
    """The layout of boxes whose four columns are all there, and these."""
    return next(((layout, sides) for layout, sides in BOXES if all(side in names for side in sides)), None)


def numbers_of(box: Any) -> Any:
    """The four numbers of a cell that is a text, `[1, 2, 3, 4]` as pandas writes a list; others as they are."""
    found = FOUR.fullmatch(box) if isinstance(box, str) else None
    return [float(number) for number in found.groups()] if found else box


def name_image_sizes(columns: dict[str, Any]) -> tuple[str, ...]:
    """Corners beside a width and a height: those are the image's, if every box fits into them and none is as large.

    So TensorFlow's tables have it. They get the names of an image's sides; returns what to say of it.
    """
    layout, sides = box_columns(columns) or ("", ())
    if layout != "xyxy" or not {"width", "height"} <= columns.keys() or any(side in columns for side in SIZE):
        return ()
    try:
        left, top, right, bottom, width, height = (
            np.array(columns[name], dtype=np.float64) for name in (*sides, "width", "height")
        )
    except (TypeError, ValueError):
        return ()
    are_boxes = ((right - left == width) & (bottom - top == height)).any()
    if are_boxes or not len(width) or not ((right <= width) & (bottom <= height) & (width % 1 == 0)).all():
        return ()
    columns["image_width"], columns["image_height"] = columns.pop("width"), columns.pop("height")
    return ("width and height taken as the image's, because every box fits into them",)
