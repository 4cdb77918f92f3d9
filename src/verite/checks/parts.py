"""Mistakes in a part of a file, or of what was written: mixed box formats, tiles, clipped boxes, one box per image.

A whole file in another format is found by the IoU of all sampled objects (`misread_boxes`). Here the rest of the file
is right, so that the evidence lies in single images: objects that no prediction matches as read, and that one matches
precisely under another layout (V115); boxes below one pixel, as of fractions (V116); objects beyond the farthest edge
of all predictions (V117); never more than one prediction in an image (V313); too many crowds (V224); ground-truth masks
that are rectangles (V119).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from verite import _core
from verite.checks.check import EXAMPLES, FEW_MASKS, Finding
from verite.checks.evidence import (
    FEWEST,
    MATCHED_IOU,
    PRECISE,
    best_overlaps,
    boxes_under,
    overlaps_under,
    turns,
)
from verite.checks.readings import Reading
from verite.checks.sample import NATS, Pair, Sample, Side, surprise
from verite.checks.values import image_name, object_name, spell_box
from verite.errors import spell_option
from verite.model.layouts import Floats
from verite.model.regions import POLYGON

SHARE = 0.04  # of the objects that are matched either way: to be matched in the other layout only
RIVAL = 0.5  # of the objects gained by the best layout, that the second best may gain
WHOLE = 0.8  # share of the boxes of an image in fractions, from which the image is
FEW_BOXES = 3  # boxes in fractions before they are named
AT_EDGE = 0.03  # share of predictions that end exactly at their common reach: clipped there
ON_TILES = 0.25  # share of the objects beyond the common reach that match if moved to their tile
SEVERAL = 1.5  # objects per image before one prediction per image is odd
SCATTERED = 9.0  # nats: few predictions on many images are single by chance
LARGER = 2.0  # times the area of single objects that crowds have
RECTANGLES, FIRST_MASKS = 0.9, 50  # share of masks that are their own boxes; how many are tried first
CROWD_FORMATS = ("coco", "coco-folder", "lvis", "table", "parquet", "memory")


def find_mixed_layouts(pair: Pair) -> Iterator[Finding]:
    """Find predictions of which a part is written in another layout than the rest (V115).

    The layout is named only if objects match in it precisely that nothing matches as read, far more than predictions of
    other images would match them, and more than in any other layout.
    """
    sample, (_, found) = pair.sample, pair.explanations
    if sample is None or found is not None:
        return
    gained = sorted(((count, layout) for layout, count in pair.fit.gained.items()), reverse=True)
    (most, layout), (second, _) = gained[0], gained[1]
    if second > RIVAL * most:
        return
    reading = Reading(layout, sample.pred.reading.measure)
    plain = overlaps_under(sample, "pred", sample.pred.reading, 0)
    other = overlaps_under(sample, "pred", reading, 0)
    is_gained = (other >= PRECISE) & (plain < MATCHED_IOU)
    count, matched = int(is_gained.sum()), int((plain >= MATCHED_IOU).sum())
    exchanged = Reading(sample.pred.reading.layout, "exchanged")
    if int(((overlaps_under(sample, "pred", exchanged, 0) >= PRECISE) & (plain < MATCHED_IOU)).sum()) > RIVAL * count:
        return
    if count < max(FEWEST, SHARE * (count + matched)) or surprise(count, chance_of_gains(sample, reading)) < NATS:
        return
    images = np.unique(sample.truth.image[is_gained])
    truth_boxes, pred_boxes = boxes_under(sample, "pred", reading, 0)
    rows = []  # objects, and the prediction that matches each under the other layout
    for t in np.flatnonzero(is_gained).tolist():
        start, end = sample.pred.cells[sample.truth.image[t] :][:2].tolist()
        rows.append((t, start + int(np.argmax(_core.box_iou(truth_boxes[t : t + 1], pred_boxes[start:end])[0]))))
    truth = pair.truth
    shown = [
        f"{truth.images.name(int(truth.image[sample.truth.rows[t]]))}: {spell_box(sample.pred.numbers[p])} has IoU "
        f"{plain[t]:.2f} as read, {other[t]:.2f} as {reading.words}"
        for t, p in rows[:EXAMPLES]
    ]
    places, total = sample.pred.rows[[p for _, p in rows]], len(pair.pred)
    first, last = int(places.min()), int(places.max())
    where = f"; they lie between records {first:,} and {last:,} of {total:,}" if last - first < WHOLE * total else ""
    yield Finding(
        "V115",
        "warning",
        f"a part of the predictions looks like {reading.words}, the rest like {sample.pred.reading.words}: "
        f"{count:,} objects in {len(images):,} of {sample.truth.images:,} sampled images match only so, "
        f"{matched:,} match as read{where}",
        count,
        tuple(shown),
        "write all boxes in one format: no option reads two",
    )


def chance_of_gains(sample: Sample, reading: Reading) -> float:
    """Return how many objects predictions of other images would gain by another layout, by rotating the images.

    Parameters
    ----------
    sample
        Images with objects on both sides.
    reading
        The other layout.

    Returns
    -------
    float
        The mean over the rotations, with one added so that it is never 0.
    """
    hits, tried = 0, turns(sample.truth.images)
    for turn in tried:
        rotated = Sample(sample.truth, {0: sample.pred.turn(turn)})
        plain = overlaps_under(rotated, "pred", sample.pred.reading, 0)
        hits += int(((overlaps_under(rotated, "pred", reading, 0) >= PRECISE) & (plain < MATCHED_IOU)).sum())
    return (hits + 1) / max(len(tried), 1)


def find_fractions_of_images(side: Side) -> Iterator[Finding]:
    """Find images whose boxes are fractions of the image, in a file whose other boxes are pixels (V116)."""
    annotations = side.annotations
    if annotations.unit == "rel":
        return
    boxes = np.asarray(annotations.regions.boxes)
    is_fraction = (boxes[:, 2:] - boxes[:, :2] < 1).all(axis=1) & (boxes[:, 2:] <= 1.5).all(axis=1)
    is_fraction &= (boxes[:, :2] >= 0).all(axis=1) & (boxes[:, 2:] > boxes[:, :2]).all(axis=1)
    of_image = np.bincount(annotations.image, minlength=len(annotations.images))
    share = np.bincount(annotations.image[is_fraction], minlength=len(of_image)) / np.maximum(1, of_image)
    images = np.flatnonzero(share >= WHOLE)
    rows = np.flatnonzero(is_fraction & (share[annotations.image] >= WHOLE))
    if len(rows) < FEW_BOXES or is_fraction.mean() > WHOLE:
        return
    yield Finding(
        "V116",
        "warning",
        f"the boxes of {len(images):,} images look like fractions of the image, those of the other "
        f"{int((share < WHOLE).sum()):,} like pixels: {len(rows):,} boxes end within 1.5 pixels of the corner",
        len(rows),
        tuple(
            f"{image_name(annotations, row)}: {spell_box(annotations.regions.values[row])}" for row in rows[:EXAMPLES]
        ),
        "multiply them by width and height of their images",
        side.name,
    )


def find_unreached(pair: Pair) -> Iterator[Finding]:
    """Find predictions that all end before a common edge beyond which many objects lie (V117).

    Tiles that were not shifted back to their place in the image, and boxes clipped to the size of a resized image, look
    so. As many predictions as there are would reach beyond by chance, if only one in fifty objects lies there.
    """
    fit = pair.fit
    if pair.explanations[1] is not None or not pair.truth.images.sized:
        return
    across, down = fit.reach
    is_clipped = fit.at_reach >= max(FEW_BOXES, AT_EDGE * len(pair.pred))
    tiles = matches_on_tiles(pair.sample, across, down) if pair.sample else (0, 0)
    if tiles[1] and tiles[0] >= ON_TILES * tiles[1]:
        evidence = f"{tiles[0]:,} of {tiles[1]:,} sampled ones match if predictions are on tiles of this size"
        remedy = "add the position of its tile in the image to every box"
    elif is_clipped:
        evidence = f"{fit.at_reach:,} boxes end exactly at this edge"
        remedy = f"were boxes clipped to {across:.6g} x {down:.6g}? clip them to their own images"
    else:
        evidence, remedy = "", "were predictions on tiles shifted back by the position of the tile?"
    yield Finding(
        "V117",
        "warning",
        f"no predicted box reaches beyond {across:.6g} in x and {down:.6g} in y, but {fit.beyond_reach:,} of "
        f"{fit.objects:,} objects lie there" + (f"; {evidence}" if evidence else ""),
        fit.beyond_reach,
        (),
        remedy,
    )


def matches_on_tiles(sample: Sample, across: float, down: float) -> tuple[int, int]:
    """Count sampled objects beyond the reach that match a prediction once moved to their tile and clipped to it.

    Predictions that match an object as read are left out.

    Parameters
    ----------
    sample
        Images with objects on both sides.
    across, down
        Width and height of a tile. Neighbouring tiles may overlap by a fifth, a quarter or a half of it.

    Returns
    -------
    tuple[int, int]
        Matched objects under the best overlap of tiles, and objects beyond the reach.
    """
    truth, pred = sample.truth, sample.pred
    boxes, size = truth.corners(), np.ceil([across, down])
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    is_beyond = (centres > size).any(axis=1)
    first = np.where(centres > size, 1, 0)  # the first tile that an object can be on
    free = best_overlaps(pred.corners(), pred.image, boxes, truth.image) < MATCHED_IOU  # others match as read
    preds, pred_image = pred.corners()[free], pred.image[free]
    found = []
    for step in (1, 0.8, 0.75, 0.5):
        last = np.floor(centres / (size * step))  # the last tile that has the centre; where tiles overlap, also ...
        for tile in (last, np.maximum(last - 1, first))[: 1 + (step < 1)]:  # ... the one before
            moved = np.clip(boxes - np.tile(tile * size * step, 2), 0, np.tile(size, 2))
            overlaps = best_overlaps(moved, truth.image, preds, pred_image)
            found.append(int(((overlaps >= MATCHED_IOU) & is_beyond).sum()))
    return max(found), int(is_beyond.sum())


def find_single_predictions(pair: Pair) -> Iterator[Finding]:
    """Find predictions of which no image has more than one, though images have several objects (V313)."""
    fit = pair.fit
    if not fit.images_with_objects:
        return
    mean = fit.objects / fit.images_with_objects
    # n predictions spread over N images at random would all be in different ones with probability exp(-n^2 / 2N).
    count = fit.images_predicted
    if mean < SEVERAL or count**2 < 2 * SCATTERED * max(len(pair.truth.images), count):
        return
    yield Finding(
        "V313",
        "warning",
        f"each of {fit.images_predicted:,} images has exactly one prediction, but {mean:.1f} objects on average",
        fit.images_predicted,
        (),
        "was only the best prediction of each image written?",
    )


def find_many_crowds(side: Side) -> Iterator[Finding]:
    """Find ground truth with so many crowds, no larger than its objects, that single objects are among them (V224)."""
    annotations, count = side.annotations, side.count("crowd")
    if count == len(side) or annotations.source.format not in (*CROWD_FORMATS, ""):
        return
    boxes: Floats = np.asarray(annotations.regions.sizes)
    areas, crowd = boxes[:, 2] * boxes[:, 3], np.asarray(annotations.crowd)
    if np.median(areas[crowd]) > LARGER * np.median(areas[~crowd]):
        return
    rows = side.tally("crowd").rows
    yield Finding(
        "V224",
        "warning",
        f"{count:,} of {len(side):,} objects are crowds (iscrowd), and no larger than the others: predictions on them "
        "are ignored, and they cannot be missed; COCO has 1 %",
        count,
        tuple(object_name(side, row) for row in rows[:EXAMPLES]),
        "set iscrowd to 0 for single objects",
        side.name,
    )


def find_masks_that_are_boxes(side: Side) -> Iterator[Finding]:
    """Note polygons that are the rectangles of their boxes: a mask AP then measures boxes (V119)."""
    regions = side.annotations.regions
    if regions.has_only_boxes or regions.polygons is None:
        return
    rows = np.flatnonzero(regions.kinds == POLYGON)
    if len(rows) < FEW_MASKS:
        return
    corners, polygons = np.asarray(regions.boxes), regions.polygons

    def is_rectangle(row: int) -> bool:
        points = {(round(x, 3), round(y, 3)) for ring in polygons[row] for x, y in ring.tolist()}
        left, top, right, bottom = (round(v, 3) for v in corners[row].tolist())
        return len(polygons[row]) == 1 and points == {(left, top), (right, top), (right, bottom), (left, bottom)}

    first = rows[:: max(1, len(rows) // FIRST_MASKS)].tolist()
    if sum(map(is_rectangle, first)) < RECTANGLES * len(first) / 2:  # far from it
        return
    count = sum(map(is_rectangle, rows.tolist()))
    if count < RECTANGLES * len(rows):
        return
    yield Finding(
        "V119",
        "warning" if side.is_truth else "note",
        f"{count:,} of {len(rows):,} polygons are the rectangles of their boxes: mask metrics measure boxes",
        count,
        tuple(object_name(side, int(row)) for row in rows[:EXAMPLES]),
        f"evaluate boxes ({spell_option('on', 'box')}), or annotate the outlines",
        side.name,
    )
