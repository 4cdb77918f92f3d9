"""Match the objects of several annotators: groups with at most one bounding box of each annotator.

Annotators are joined one after the other by optimal one-to-one assignment on the mean IoU with the members of a group,
plus 0.1 for members of the same class. Where the annotators were given the objects, their keys are the groups. The IoU
is that of boxes or of masks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verite import _core
from verite.annotation_errors.annotators import AnnotatorSet
from verite.errors import DataError, spell_option
from verite.evaluation.evaluation import box_candidates, load_outlines
from verite.model.rasters import array_of, frames_of, join_runs, no_runs, rasterise, runs_of
from verite.model.regions import Regions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

Compared = Literal["box", "mask"]
SAME_CLASS = 0.1  # added to the mean IoU with members of the same class
UNIT = 2.0**39  # gains of the assignment are whole numbers below 2^40


@dataclass(frozen=True, eq=False)
class MatchedObjects:
    """Objects that at least one annotator has, in images that at least two annotated.

    Parameters
    ----------
    annotators
        Whose objects these are.
    image : array of int64, shape (objects,)
        The image of each object.
    member : array of int64, shape (objects, annotators)
        The row of each annotator's box, -1 where there is none.
    iou
        The IoU threshold.
    on : {"box", "mask"}
        What is compared.
    """

    annotators: AnnotatorSet
    image: Ints
    member: Ints
    iou: float
    on: Compared = "box"

    def __len__(self) -> int:
        return len(self.image)

    @property
    def has(self) -> NDArray[np.bool_]:
        """Which annotators have each object."""
        return self.member >= 0

    @property
    def label(self) -> Ints:
        """The class that each annotator gives to each object, -1 where it has none."""
        found = np.full(self.member.shape, -1, dtype=np.int64)
        for r, side in enumerate(self.annotators.sides):
            mine = self.has[:, r]
            found[mine, r] = side.label[self.member[mine, r]]
        return found

    def corners(self, r: int, rows: Any) -> Floats:
        """Return the boxes of annotator r for some of the objects, as corners."""
        return np.asarray(self.annotators.sides[r].regions.boxes[self.member[rows, r]], dtype=np.float64)

    @property
    def mean_corners(self) -> Floats:
        """The mean box of the members of each object."""
        total = np.zeros((len(self), 4))
        for r in range(self.member.shape[1]):
            mine = np.flatnonzero(self.has[:, r])
            total[mine] += self.corners(r, mine)
        return np.asarray(total / self.has.sum(axis=1)[:, None])

    def pair_ious(self, r: int, s: int) -> tuple[Ints, Floats]:
        """Return the objects that two annotators have, and the IoU of their boxes or masks."""
        rows = np.flatnonzero(self.has[:, r] & self.has[:, s])
        if self.on == "mask":
            drawn = [self.annotators.sides[k].take(self.member[rows, k]) for k in (r, s)]
            found = box_candidates(*drawn, class_agnostic=True, similarity="mask")
            same, overlap = found.truth == found.pred, np.zeros(len(rows))
            overlap[found.truth[same]] = found.overlap[same]
            return rows, overlap
        one, two = self.corners(r, rows), self.corners(s, rows)
        both = np.prod(np.maximum(np.minimum(one[:, 2:], two[:, 2:]) - np.maximum(one[:, :2], two[:, :2]), 0.0), axis=1)
        areas = [np.prod(box[:, 2:] - box[:, :2], axis=1) for box in (one, two)]
        return rows, both / np.maximum(areas[0] + areas[1] - both, 1e-300)

    def consensus_regions(self, rows: Ints) -> Regions:
        """Return the region of some of the objects: the mean box, or the pixels that most of the members have.

        Of an even number of masks, a pixel that exactly half of them have belongs to the object.
        """
        if self.on == "box":
            return Regions(self.mean_corners[rows], "xyxy")
        images = self.annotators.sides[0].images
        sizes = np.stack([images.heights, images.widths], axis=1).astype(np.int32)
        pixels = []
        for row in rows.tolist():
            members = np.flatnonzero(self.has[row])
            size, votes = sizes[[self.image[row]]], np.zeros(sizes[self.image[row]], dtype=np.int32)
            for r in members.tolist():
                votes += array_of(rasterise(self.annotators.sides[r].regions.take(self.member[[row], r]), size), 0)
            pixels.append(runs_of((2 * votes >= len(members))[None]))
        runs = join_runs(pixels) if pixels else no_runs(0)
        return Regions(frames_of(runs), runs=runs)


def match_objects(annotators: AnnotatorSet, iou: float, on: Compared = "box") -> MatchedObjects:
    """Match the objects of all annotators; crowds and ignored objects are left out.

    Raises
    ------
    DataError
        Masks are compared, and an annotator has none.
    """
    shared = annotators.shared
    if on == "mask":
        for name, side in zip(annotators.names, annotators.sides, strict=True):
            load_outlines(side)
            if len(side) and side.regions.has_only_boxes:
                raise DataError(
                    f"{annotators.path}: expected polygons or masks, found boxes only of {name!r}; "
                    + spell_option("on", "box")
                )
    kept = [np.flatnonzero(shared[side.image] & ~side.ignored) for side in annotators.sides]
    if annotators.objects is not None:
        # The objects were given to the annotators: they are grouped by their keys.
        place: dict[tuple[int, str], int] = {}
        entries = []
        for r, (side, rows) in enumerate(zip(annotators.sides, kept, strict=True)):
            for row in rows.tolist():
                key = int(side.image[row]), annotators.objects[r][row]
                entries.append((place.setdefault(key, len(place)), r, row))
        member = np.full((len(place), len(annotators.sides)), -1, dtype=np.int64)
        for number, r, row in entries:
            member[number, r] = row
        return MatchedObjects(annotators, np.array([image for image, _ in place], dtype=np.int64), member, iou, on)
    count = len(annotators.sides)
    image = annotators.sides[0].image[kept[0]].astype(np.int64)
    member = np.full((len(kept[0]), count), -1, dtype=np.int64)
    member[:, 0] = kept[0]
    for r in range(1, count):
        side, rows = annotators.sides[r], kept[r]
        group, own, gain = joining_gains(annotators, member, r, rows, iou, on)
        whole = np.rint(gain * UNIT).astype(np.int64)
        chosen = _core.assign(group, own, whole, np.zeros(len(whole), dtype=np.int64), len(member), len(rows))
        member[group[chosen], r] = rows[own[chosen]]
        alone = np.setdiff1d(np.arange(len(rows)), own[chosen])
        added = np.full((len(alone), count), -1, dtype=np.int64)
        added[:, r] = rows[alone]
        member = np.concatenate([member, added])
        image = np.concatenate([image, side.image[rows[alone]].astype(np.int64)])
    return MatchedObjects(annotators, image, member, iou, on)


def joining_gains(
    annotators: AnnotatorSet, member: Ints, r: int, rows: Ints, iou: float, on: Compared = "box"
) -> tuple[Ints, Ints, Floats]:
    """Return the pairs of a group and a box of annotator r that may be joined, and what each gains.

    The mean IoU is over all members of the group; a member that does not overlap counts as 0.
    """
    side = annotators.sides[r]
    sizes = (member >= 0).sum(axis=1)
    order = np.argsort(side.image[rows], kind="stable")  # the core wants images in one piece
    own_boxes = np.ascontiguousarray(side.regions.boxes[rows[order]], dtype=np.float64)
    own_cells = side.image[rows[order]].astype(np.int64)
    keys, sums = [], []
    for q in range(r):
        groups = np.flatnonzero(member[:, q] >= 0)
        other, taken = annotators.sides[q], member[groups, q]
        groups, taken = (part[np.argsort(other.image[taken], kind="stable")] for part in (groups, taken))
        if on == "mask":
            found = box_candidates(other.take(taken), side.take(rows), class_agnostic=True, similarity="mask")
            at, own, overlap = found.truth, found.pred, found.overlap
        else:
            offsets, at, overlap = _core.box_candidates(
                np.ascontiguousarray(other.regions.boxes[taken], dtype=np.float64),
                other.image[taken].astype(np.int64),
                own_boxes,
                own_cells,
            )
            own = order[np.repeat(np.arange(len(rows)), np.diff(offsets))]
        same = other.label[taken[at]] == side.label[rows[own]]
        keys.append(groups[at] * len(rows) + own)
        sums.append(np.column_stack([overlap, same]))
    every, where = np.unique(np.concatenate(keys), return_inverse=True)
    total = np.zeros((len(every), 2))
    np.add.at(total, where, np.concatenate(sums))
    group, own = np.divmod(every, max(len(rows), 1))
    mean = total / sizes[group][:, None]
    fits = mean[:, 0] >= iou
    return group[fits], own[fits], (mean[:, 0] + SAME_CLASS * mean[:, 1])[fits]
