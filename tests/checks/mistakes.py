"""Everyday mistakes: what the wrong files contain, and files that can be read again with a fix."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tests.checks.sets import DataSet, best, to_xywh
from verite.formats.sizes import in_pixels
from verite.model.annotations import Annotations, Source
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.layouts import layout_name
from verite.model.regions import Regions


def centre(boxes):
    return np.concatenate([(boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]], 1)


def relative(numbers, side):
    return numbers / np.tile(side, 2)


# From corners in pixels and the size of each box's image to the four numbers in the file, which will be read as left,
# top, width and height in pixels; and the code under which that should be found.
GEOMETRY = {
    "xyxy": ("V101", lambda b, side: b),
    "cxcywh": ("V102", lambda b, side: centre(b)),
    "rel xywh": ("V103", lambda b, side: relative(to_xywh(b), side)),
    "rel xyxy": ("V103", relative),
    "rel cxcywh": ("V103", lambda b, side: relative(centre(b), side)),
    "yxhw": ("V104", lambda b, side: to_xywh(b)[:, [1, 0, 3, 2]]),
    "yxyx": ("V104", lambda b, side: b[:, [1, 0, 3, 2]]),
    "stretched to 640x640": ("V105", lambda b, side: relative(to_xywh(b), side) * 640),
    "half size": ("V105", lambda b, side: to_xywh(b) / 2),
    "double size": ("V105", lambda b, side: to_xywh(b) * 2),
}


@dataclass
class Files:
    """A COCO truth and COCO results as they would be on disk: ids and numbers, right or wrong."""

    data: DataSet
    truth_numbers: np.ndarray
    pred_numbers: np.ndarray
    image_ids: np.ndarray  # of each prediction
    label_ids: np.ndarray
    confidence: np.ndarray | None
    names: list[str] | None = None  # class name of each prediction, for files that name classes
    kept: str = "xywh"  # what the readers of both files take boxes for

    @classmethod
    def of(cls, data, kept="xywh"):
        pred = data.pred
        write = to_xywh if kept == "xywh" else np.copy
        return cls(
            data,
            write(data.truth.boxes),
            write(pred.boxes),
            data.image_ids[pred.image],
            data.label_ids[pred.label],
            pred.confidence,
            kept=kept,
        )

    def read(self, truth_options=(), pred_options=()):
        """Both sides as verite.read gives them."""
        truth = self.read_truth(**dict(truth_options))
        return truth, self.read_pred(truth, **dict(pred_options))

    def read_truth(self, boxes=None, coords=None):
        data = self.data
        sizes = data.sizes if data.is_sized else np.zeros_like(data.sizes)
        names = [f"{i:06d}.jpg" for i in data.image_ids]
        images = Images(names, data.image_ids, widths=sizes[:, 0], heights=sizes[:, 1])
        regions = Regions(self.truth_numbers, layout_name(boxes or self.kept))
        regions, unit = in_pixels(regions, coords or "abs", images, data.truth.image)
        return Annotations(
            images=images,
            labels=Labels(data.label_names, data.label_ids),
            image=data.truth.image,
            label=data.truth.label,
            regions=regions,
            unit=unit,
            source=Source("truth.json", "coco"),
        )

    def read_pred(self, truth, boxes=None, coords=None, image_offset=0, label_offset=0):
        ids, image = np.unique(self.image_ids + image_offset, return_inverse=True)
        images = Images(None, ids)
        if self.names is None:
            classes, label = np.unique(self.label_ids + label_offset, return_inverse=True)
            labels = Labels(None, classes)
        else:
            classes, label = np.unique(np.array(self.names, dtype=object), return_inverse=True)
            labels = Labels(list(classes))
        regions, unit = in_pixels(
            Regions(self.pred_numbers, layout_name(boxes or self.kept)), coords or "abs", images, image
        )
        return Annotations(
            images=images,
            labels=labels,
            image=image,
            label=label,
            regions=regions,
            confidence=self.confidence,
            unit=unit,
            source=Source("detections.json", "coco-results" if self.names is None else "coco"),
        ).like(truth)


def with_wrong_boxes(data, mistake, side="pred"):
    """Files in which the boxes of one side are written in another way."""
    files, write = Files.of(data), GEOMETRY[mistake][1]
    objects = data.pred if side == "pred" else data.truth
    numbers = write(objects.boxes, data.sizes[objects.image])
    return replace(files, **{f"{side}_numbers": numbers})


def recall_lost(data, files):
    """How much recall the mistake costs: 0 nothing, 1 all of it."""
    before = (best(data.truth, data.pred) >= 0.5).sum()
    truth = replace(data.truth, boxes=as_corners(files.truth_numbers))
    pred = replace(data.pred, boxes=as_corners(files.pred_numbers))
    return 1 - float((best(truth, pred) >= 0.5).sum() / max(before, 1))


def as_corners(numbers):
    return np.concatenate([numbers[:, :2], numbers[:, :2] + numbers[:, 2:]], 1)
