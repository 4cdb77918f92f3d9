"""What does it cost to misplace one object of a scene? Every object altered in 160 ways, the others left alone."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from verite.errors import DataError
from verite.metrics.metric import Metric
from verite.model.annotations import Annotations
from verite.model.polygons import RLEMasks
from verite.model.rasters import array_of, frames_of, rasterise
from verite.model.regions import Regions
from verite.model.shapes import Shapes
from verite.pairs import Pairs
from verite.scene.score import MARTIN, CandidateMatches, SceneObjects, ScoreRules, localization_score, score_scenes
from verite.studies.alterations import ALTERATIONS, Outline, Warps, draw
from verite.threads import thread_count

Floats = NDArray[np.float64]
POWERS = np.arange(1, 21)
DIRECTIONS = 2  # down and to the right, or both ways round
WAYS = len(ALTERATIONS) * DIRECTIONS * len(POWERS)


@dataclass(frozen=True, eq=False)
class Altered:
    """All images with the same number n of objects: what their objects share before and after alteration.

    Axes: image, altered object, kind of alteration × direction × power, truth.
    """

    count: int
    images: NDArray[np.int64]
    base_overlap: Floats  # [image, truth, object]
    base_localization: Floats
    overlap: Floats  # [image, object, way, truth]
    localization: Floats
    base_exchanged: Floats  # localization with truth and pred exchanged, in the same places
    exchanged: Floats

    def scores(self, rules: ScoreRules, *, exchanged: bool = False) -> Floats:
        """The score of every altered scene, [image, object, kind, direction, power]; `exchanged` takes it for truth."""
        images, count = len(self.images), self.count
        # Column k of a scene's matrix is the altered object, the others are as in the truth.
        shape = (images, count, WAYS, count, count)
        matrices = []
        places = (self.base_exchanged, self.exchanged) if exchanged else (self.base_localization, self.localization)
        for base, altered in ((self.base_overlap, self.overlap), places):
            whole = np.broadcast_to(base[:, None, None], shape).copy()
            for k in range(count):
                whole[:, k, :, :, k] = altered[:, k]
            matrices.append(whole.reshape(-1, count, count))
        overlap, localization = (matrix.transpose(0, 2, 1) for matrix in matrices) if exchanged else matrices
        scene, truth, pred = np.nonzero(overlap)
        of_object = np.repeat(np.arange(len(overlap)), count)
        possible = CandidateMatches(
            scene * count + truth,
            scene * count + pred,
            overlap[scene, truth, pred],
            localization[scene, truth, pred],
            np.zeros(len(scene)),
        )
        score = score_scenes(SceneObjects(len(overlap), of_object, of_object), possible, rules).score
        return score.reshape(images, count, len(ALTERATIONS), DIRECTIONS, len(POWERS))


def masks_of(truth: Annotations) -> RLEMasks:
    """Every object as the pixels it covers."""
    sizes = np.stack([truth.images.heights, truth.images.widths], axis=1)[truth.image]
    unsized = np.flatnonzero((sizes <= 0).any(axis=1))
    if len(unsized):
        name = truth.images.name(int(truth.image[unsized[0]]))
        raise DataError(f"{truth.source.path or 'scenes'}: expected the size of every image, found none for {name!r}")
    return rasterise(truth.regions, sizes.astype(np.int32))


def box_masks(masks: RLEMasks) -> RLEMasks:
    """The boxes around masks, as masks."""
    return rasterise(Regions(frames_of(masks)), masks.sizes)


Anchor = Literal["centre", "corner"]
ANCHORS = ("centre", "corner")


def ways(outline: Outline, anchor: Anchor = "centre") -> Warps:
    """Every alteration of one object: kinds, then directions, then powers."""
    found = []
    for name, alter in ALTERATIONS.items():
        if name == "rotation":
            found += [alter(outline, POWERS, 0.0), alter(outline, -POWERS, 0.0)]
        else:
            found += [alter(outline, POWERS, 0.0), alter(outline, 0.0, POWERS)]
    warps = np.concatenate(found)
    if anchor == "corner":  # a side moves by twice the power, the opposite one not at all
        first = list(ALTERATIONS).index("scale") * DIRECTIONS * len(POWERS)
        warps[first : first + len(POWERS), 1, 0] += POWERS
        warps[first + len(POWERS) : first + 2 * len(POWERS), 0, 0] += POWERS
    return warps


def pairs_between(truths: RLEMasks, preds: RLEMasks, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Pairs:
    mine, theirs = (Shapes(Regions(frames_of(side), runs=side), side.sizes) for side in (truths, preds))
    return Pairs.from_shapes(mine, theirs, rows, columns)


def compare(truths: RLEMasks, preds: RLEMasks, metric: Metric) -> tuple[Floats, Floats, Floats]:
    """Overlap and localization of every truth with every pred, both ways round, [pred, truth]."""
    rows = np.tile(np.arange(len(truths)), len(preds))
    columns = np.repeat(np.arange(len(preds)), len(truths))
    pairs = pairs_between(truths, preds, rows, columns)
    union = pairs.truth_area + pairs.pred_area - pairs.shared_area
    overlap = np.divide(pairs.shared_area, union, out=np.zeros(len(union)), where=union > 0)
    localization, exchanged = np.zeros((2, len(overlap)))
    touching = np.flatnonzero(overlap)
    chosen = pairs.take(touching)
    localization[touching] = localization_score(metric, chosen)
    exchanged[touching] = localization_score(metric, chosen.swapped)
    shape = len(preds), len(truths)
    return overlap.reshape(shape), localization.reshape(shape), exchanged.reshape(shape)


def alter_image(truths: RLEMasks, metric: Metric, anchor: Anchor = "centre") -> tuple[Floats, ...]:
    """One image: what its objects share with each other, and with each of them altered; in the order of `Altered`."""
    base = [part.T for part in compare(truths, truths, metric)]
    outlines = [Outline.of(array_of(truths, k)) for k in range(len(truths))]
    altered = [compare(truths, draw(outline, ways(outline, anchor)), metric) for outline in outlines]
    overlap, localization, exchanged = (np.array(part) for part in zip(*altered, strict=True))
    return base[0], base[1], overlap, localization, base[2], exchanged


def alter_scenes(
    image: NDArray[np.integer],
    masks: RLEMasks,
    metric: Metric = MARTIN,
    *,
    anchor: Anchor = "centre",
    threads: int | None = None,
    report: Callable[[int], None] | None = None,
) -> list[Altered]:
    """Every object of every image altered in every way; images in groups by their number of objects."""
    order = np.argsort(image, kind="stable")
    names, starts, counts = np.unique(image[order], return_index=True, return_counts=True)
    rows = np.split(order, starts[1:])

    def one(i: int) -> tuple[Floats, ...]:
        found = alter_image(masks.take(rows[i]), metric, anchor)
        if report is not None:
            report(len(rows[i]))
        return found

    with ThreadPoolExecutor(thread_count(threads)) as pool:
        futures = [pool.submit(one, i) for i in range(len(rows))]
        try:
            found = [future.result() for future in futures]
        except BaseException:  # one wrong image or Ctrl-C: nobody waits for the others
            for future in futures:
                future.cancel()
            raise
    groups = []
    for count in np.unique(counts).tolist():
        members = np.flatnonzero(counts == count)
        parts = [np.stack([found[i][part] for i in members]) for part in range(6)]
        groups.append(Altered(count, names[members], *parts))
    return groups
