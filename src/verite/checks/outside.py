"""Do boxes leave their images, and if so why? (V108, V109, V114)"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from verite.checks.findings import EXAMPLES, Finding, Fix, Severity
from verite.checks.readings import Reading, are_like_corners
from verite.checks.sides import EDGE, Side
from verite.checks.values import count_boxes, found_boxes, image_name, spell_box
from verite.model.layouts import Floats

FEWEST = 5  # boxes before their layout is called proven wrong
BEYOND = 0.1  # share of the boxes that leave their images, from which there is something to explain
ALONG = 0.0  # correlation of first and second points, in parts of the image, that corners exceed
LOST = 0.1  # share of predictions that may lie wholly outside: detectors do not all clip, but they look at the image
TURNED = 3  # images whose boxes fit the image lying on its side, before sizes are called exchanged


def find_outside(side: Side) -> Iterator[Finding]:
    """Of a truth every box that leaves its image counts; of predictions those that have no part in it."""
    tally, beyond = side.tally("outside"), side.count("beyond")
    lost = f", {beyond:,} of them wholly" if beyond else ""
    message = f"{count_boxes(side, tally, 'leave')} the image by more than a tenth of its side{lost}"
    severity: Severity = "warning" if side.is_truth or beyond > LOST * len(side) else "note"
    remedy = "clip them to their images (verite inspect FILE --fix OUT), or are these other images, or of another size?"
    yield found_boxes(side, "V109", severity, message, tally, remedy)


def find_impossible_layout(side: Side) -> Iterator[Finding]:
    """Boxes that leave their images as read, and none of which does when they are read as corners: proof enough."""
    annotations, tally = side.annotations, side.tally("outside")
    regions = annotations.regions
    if len(side) < FEWEST or tally.count < BEYOND * len(side) or regions.kept != "xywh":
        return
    sizes = image_sizes(side)
    if not np.all(sizes > 0) or leave(regions.values, sizes).any():
        return
    if not are_like_corners(regions.values / np.tile(sizes, 2), ALONG):
        return
    whose = "the truth's" if side.is_truth else "the predictions'"
    takes_option = annotations.source.format not in ("voc", "openimages")
    yield Finding(
        "V114",
        "error",
        f"{whose} boxes cannot be {Reading('xywh').words}: {tally.count:,} of {len(side):,} leave their "
        f"image as read, none when read as {Reading('xyxy').words}",
        tally.count,
        tuple(spell_box(regions.values[row]) for row in tally.rows),
        Fix(side.name, (("boxes", "xyxy"),)) if takes_option else "write them as the format asks",
        side.name,
    )


def find_turned_images(side: Side) -> Iterator[Finding]:
    """Images that lie on their side: boxes leave them as they are, and fit if width and height change places."""
    images, sizes, boxes = side.annotations.image, image_sizes(side), side.annotations.regions.boxes
    leaves, fits = leave(boxes, sizes), ~leave(boxes, sizes[:, ::-1])
    wrong = np.unique(images[leaves & (sizes > 0).all(axis=1)])
    if len(wrong) < TURNED or not fits[np.isin(images, wrong)].all():
        return
    rows = np.flatnonzero(leaves)
    rows = rows[np.unique(images[rows], return_index=True)[1]]
    examples = [
        f"{image_name(side.annotations, row)}: {sizes[row, 0]:g} x {sizes[row, 1]:g}, box to "
        f"{boxes[row, 2]:g}, {boxes[row, 3]:g}"
        for row in rows.tolist()
    ]
    yield Finding(
        "V108",
        "warning",
        f"{len(wrong):,} images look as if they lay on their side: boxes leave them, and fit if width and height "
        "change places",
        len(wrong),
        tuple(examples[:EXAMPLES]),
        "was the orientation in their EXIF data applied on one side only?",
        side.name,
    )


def image_sizes(side: Side) -> Floats:
    """Width and height of each object's image."""
    images = side.annotations.images
    return np.stack([images.widths, images.heights], axis=1)[side.annotations.image].astype(np.float64)


def leave(boxes: Floats, sizes: Floats) -> np.ndarray:
    """Which boxes, as corners, leave their images."""
    return np.asarray(((boxes[:, :2] < -EDGE * sizes) | (boxes[:, 2:] > (1 + EDGE) * sizes)).any(axis=1))
