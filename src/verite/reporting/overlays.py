"""What became of every object of an evaluation, as it is drawn: found, missed, right or wrong, image by image."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, did_you_mean
from verite.evaluation.floors import LabelFloors, hold_floor, sure_enough
from verite.model.fates import FATES, FOUND, LEFT_OUT, MISSED, NOT_ASKED, RIGHT, WRONG
from verite.records import record
from verite.reporting.rings import Ring, rings_of
from verite.reporting.skeletons import pose_of

if TYPE_CHECKING:
    from verite.model.results import Results

USUAL = 0.5  # the overlap at which objects are called found, where a protocol has several


@record(eq=False)
class Mark:
    """One object on its photo."""

    side: str  # truth or pred
    row: int
    fate: str
    label: str
    confidence: float  # of a prediction
    rings: list[Ring]
    joints: Ring | None = None  # of a pose, where keypoints are compared
    bones: list[Ring] = field(default_factory=list)

    @property
    def lines(self) -> list[Ring]:
        """What is drawn of it: the bones of a pose as rings of two points, else its outline."""
        return self.bones or self.rings


class Overlay:
    """Which objects are found and which predictions are right, at one overlap and from one confidence on.

    What is less confident neither finds anything nor is wrong: a greedy matching of the surer ones is the same with
    and without it.
    """

    def __init__(self, results: Results, iou: float | None = None, confidence: Any = None) -> None:
        """`confidence` is a number, one for each label, or the `thresholds.json` of an analysis."""
        known = thresholds_of(results)
        self.results, self.truth, self.pred = results, results.truth, results.pred
        self.on = dict(results.signature).get("on", "box")
        if iou is None and len(known) > 1:
            iou = USUAL if USUAL in known else known[0]
        self.finds = results.finds(iou)
        self.iou = self.finds.iou
        given = self.pred.confidence
        self.sureness = np.ones(len(self.pred)) if given is None else given
        floor: float | LabelFloors = self.best_confidence if confidence is None else hold_floor(confidence)
        self.confidence = floor

    @cached_property
    def is_right(self) -> NDArray[np.bool_]:
        """Predictions that take an object that was asked for, whatever their confidence."""
        found = np.zeros(len(self.pred), dtype=np.bool_)
        found[self.finds.taken[self.finds.taken >= 0]] = True
        return found

    @cached_property
    def counts(self) -> NDArray[np.bool_]:
        """Predictions that count for or against."""
        is_counted = np.ones(len(self.pred), dtype=np.bool_) if self.finds.claims is None else self.finds.claims.copy()
        if self.finds.least is not None:
            is_counted &= self.sureness >= self.finds.least
        return is_counted | self.is_right

    @cached_property
    def best_confidence(self) -> float:
        """The confidence with the largest F1 over all objects; of several the highest. Nothing found: the lowest."""
        order = np.argsort(-self.sureness, kind="stable")
        order = order[self.counts[order]]
        if not len(order) or not self.is_right.any():
            return float(self.sureness.min(initial=0.0))
        right = np.cumsum(self.is_right[order])
        f1 = 2 * right / (np.arange(1, len(order) + 1) + int(self.finds.asked.sum()))
        is_last = np.append(np.diff(self.sureness[order]) != 0, True)
        return float(self.sureness[order[int(np.argmax(np.where(is_last, f1, -1.0)))]])

    @cached_property
    def fates(self) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Of truths and of predictions, as `verite.model.fates` numbers them."""
        taken = self.finds.taken
        is_sure = sure_enough(self.pred, self.confidence)
        is_found = (taken >= 0) & np.append(is_sure, False)[taken]
        truths = np.where(is_found, FOUND, np.where(self.finds.asked, MISSED, NOT_ASKED))
        preds = np.where(self.is_right, RIGHT, np.where(self.counts, WRONG, LEFT_OUT))
        return truths.astype(np.int8), np.where(is_sure, preds, LEFT_OUT).astype(np.int8)

    @cached_property
    def by_image(self) -> dict[str, NDArray[np.int64]]:
        """For each image, how many truths are found and missed and how many predictions are wrong."""
        count = len(self.truth.images)
        truths, preds = self.fates
        return {
            "found": np.bincount(self.truth.image[truths == FOUND], minlength=count),
            "missed": np.bincount(self.truth.image[truths == MISSED], minlength=count),
            "wrong": np.bincount(self.pred.image[preds == WRONG], minlength=count)[:count],
        }

    @property
    def worst(self) -> list[int]:
        """Images by falling number of mistakes; those without any are left out."""
        mistakes = self.by_image["missed"] + self.by_image["wrong"]
        order = np.argsort(-mistakes, kind="stable")
        return [int(i) for i in order if mistakes[i]]

    def position(self, name: str) -> int:
        """Where the image of this name is, or of this id where images have no names."""
        images = self.truth.images
        found = images.find(name)
        if found is None and name.lstrip("-").isdecimal():
            found = images.index_of_id.get(int(name))
        if found is None:
            near = did_you_mean(name, images.names or ())
            raise BadParameter(f"image: expected one of {len(images)}, found {name!r}{near}")
        return found

    def size(self, image: int) -> tuple[float, float]:
        """Width and height of an image, or of what is in it where they are not known."""
        images = self.truth.images
        width, height = float(images.widths[image]), float(images.heights[image])
        if width > 0 and height > 0:
            return width, height
        boxes = [side.regions.boxes[side.image == image] for side in (self.truth, self.pred)]
        corners = np.concatenate([*boxes, [[0, 0, 1, 1]]])
        corners = corners[np.isfinite(corners).all(axis=1)]
        return float(corners[:, 2].max()) * 1.02, float(corners[:, 3].max()) * 1.02

    def marks(self, image: int) -> list[Mark]:
        """The objects of an image, the large ones first, so that small ones stay to be seen."""
        found = []
        for name, side, fates in (("truth", self.truth, self.fates[0]), ("pred", self.pred, self.fates[1])):
            rows = np.flatnonzero((side.image == image) & (fates != LEFT_OUT))
            found += [self.mark(name, int(row)) for row in rows if np.isfinite(side.regions.boxes[row]).all()]
        return sorted(found, key=lambda mark: -spread(mark.rings))

    def mark(self, name: str, row: int) -> Mark:
        """One object."""
        side, fates = (self.truth, self.fates[0]) if name == "truth" else (self.pred, self.fates[1])
        sure = float("nan") if name == "truth" else float(self.sureness[row])
        label = side.labels.all_names[side.label[row]]
        rings = rings_of(side.regions, row, "box" if self.on == "keypoints" else self.on)
        joints, bones = pose_of(side, row) if self.on == "keypoints" else (None, [])
        return Mark(name, row, FATES[fates[row]], label, sure, rings, joints, bones)


def thresholds_of(results: Results) -> tuple[float, ...]:
    """The overlaps at which results were made."""
    asked: Any = getattr(getattr(results, "settings", None), "iou", None)
    return tuple(asked) if isinstance(asked, (tuple, list)) else ()


def spread(rings: list[Ring]) -> float:
    """The area of the box around rings."""
    if not rings:
        return 0.0
    points = np.concatenate(rings)
    width, height = np.ptp(points, axis=0)
    return float(width * height)
