"""Which pixels do segments of two sides share, where every pixel belongs to one segment or none?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verite import _core
from verite.arrays import np
from verite.errors import DataError
from verite.model.outlines import Runs
from verite.progress import begin
from verite.protocols.coco_masks import masks_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

BLOCK = 16  # images that are compared at once: enough to be quick, few enough to stay small in memory
MOST_SUMS = 1 << 22  # counters of pairs of segments, beyond which those that are there are looked for


def segment_masks(side: Annotations, threads: int, what: str) -> Runs:
    """The mask of every object; boxes are none."""
    boxes = np.flatnonzero(side.regions.kinds == 0)
    if len(boxes):
        name = side.images.name(int(side.image[boxes[0]]))
        raise DataError(
            f"{side.source.path or 'annotations'}: expected a mask for every segment, found {len(boxes)} boxes, the "
            f"first in image {name!r}; {what} needs pixels, e.g. panoptic JSON with PNGs"
        )
    return masks_of(side, threads)


def join_classes(side: Annotations, threads: int) -> tuple[Runs, Annotations]:
    """One mask for each class of an image, and an object each to stand for it; objects of a class may share pixels."""
    masks = segment_masks(side, threads, "semantic segmentation")
    group = side.image.astype(np.int64) * max(len(side.labels), 1) + side.label
    found, first, numbers = np.unique(group, return_index=True, return_counts=True)
    if len(found) == len(group):
        return masks, side
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.cumsum(numbers)[:-1])
    check_same_size(masks, parts, side)
    joined = [
        masks[int(rows[0])] if len(rows) == 1 else _core.merge_masks(masks.take(rows).arrays, False) for rows in parts
    ]
    sizes = [(int(height), int(width)) for height, width in masks.sizes[first]]
    return Runs.of(list(zip(joined, sizes, strict=True))), side.take(first)


def check_same_size(masks: Runs, parts: Sequence[Ints], side: Annotations) -> None:
    """Masks of one image have one size."""
    for rows in parts:
        odd = np.flatnonzero((masks.sizes[rows] != masks.sizes[rows[0]]).any(axis=1))
        if len(odd):
            (height, width), (tall, wide) = masks.sizes[rows[0]], masks.sizes[rows[odd[0]]]
            raise DataError(
                f"{side.source.path or 'annotations'}: expected {width} × {height} pixels as elsewhere in image "
                f"{side.images.name(int(side.image[rows[0]]))!r}, found {wide} × {tall}"
            )


def blocks(truth: Annotations, pred: Annotations) -> Iterator[tuple[Ints, Ints]]:
    """Rows of both sides, a few images at a time."""
    orders = [np.argsort(side.image, kind="stable") for side in (truth, pred)]
    images = [side.image[order] for side, order in zip((truth, pred), orders, strict=True)]
    last = max((int(image[-1]) for image in images if len(image)), default=-1)
    with begin("comparing", last + 1, "images") as advance:
        for first in range(0, last + 1, BLOCK):
            spans = [np.searchsorted(image, [first, first + BLOCK]) for image in images]
            one, two = (order[a:b] for order, (a, b) in zip(orders, spans, strict=True))
            yield one, two
            advance(min(BLOCK, last + 1 - first))


@dataclass(frozen=True, eq=False)
class SharedPixels:
    """Pixels that segments share, by their places among the rows of a block; -1 is no segment, void in the truth."""

    truth: Ints
    pred: Ints
    pixels: Ints

    def sums(self, side: str, count: int, where: NDArray[np.bool_] | bool = True) -> Floats:
        """Pixels of each segment of one side, all or some of them."""
        owner: Ints = getattr(self, side)
        kept = (owner >= 0) & where
        found: Floats = np.bincount(owner[kept], weights=self.pixels[kept], minlength=count).astype(np.float64)
        return found


def overlaps(masks: tuple[Runs, Runs], rows: tuple[Ints, Ints], sides: tuple[Annotations, Annotations]) -> SharedPixels:
    """Every pair of segments that share pixels, and how many; what no segment of the truth covers is void."""
    bases = image_bases(masks, rows, sides)
    truth, pred = (intervals(m, r, s, bases) for m, r, s in zip(masks, rows, sides, strict=True))
    cuts = merge_cuts(truth[0], truth[1], pred[0], pred[1])
    if len(cuts) < 2:
        return SharedPixels(*(np.empty(0, np.int64) for _ in range(3)))
    lengths, places = np.diff(cuts), cuts[:-1]
    one, two = find_cover(truth, places), find_cover(pred, places)
    width = len(rows[1]) + 1
    found, pixels = add_up((one + 1) * width + two + 1, lengths, (len(rows[0]) + 1) * width)
    return SharedPixels(found // width - 1, found % width - 1, pixels)


def merge_cuts(*rising: Ints) -> Ints:
    """Every place once, of several lists that rise: a stable sort merges them, `np.unique` would hash each place."""
    cuts = np.sort(np.concatenate(rising), kind="stable")
    return cuts[np.diff(cuts, prepend=-1) > 0]


def add_up(codes: Ints, lengths: Ints, most: int) -> tuple[Ints, Ints]:
    """The codes below `most` that are there, and the sum of the lengths of each."""
    if most <= MOST_SUMS:
        sums = np.bincount(codes, weights=lengths, minlength=most).astype(np.int64)
        found = np.flatnonzero(sums)
        return found, sums[found]
    found, inverse = np.unique(codes, return_inverse=True)
    return found, np.bincount(inverse, weights=lengths, minlength=len(found)).astype(np.int64)


def image_bases(
    masks: tuple[Runs, Runs], rows: tuple[Ints, Ints], sides: tuple[Annotations, Annotations]
) -> dict[int, int]:
    """Where the pixels of each image begin on the common axis of a block. Both sides must have its size."""
    sizes: dict[int, tuple[int, int]] = {}
    for mask, chosen, side in zip(masks, rows, sides, strict=True):
        for image, (height, width) in zip(side.image[chosen].tolist(), mask.sizes[chosen].tolist(), strict=True):
            if sizes.setdefault(image, (height, width)) != (height, width):
                known = sizes[image]
                raise DataError(
                    f"{side.source.path or 'annotations'}: expected {known[1]} × {known[0]} pixels as elsewhere in "
                    f"image {side.images.name(image)!r}, found {width} × {height}"
                )
    bases, base = {}, 0
    for image, (height, width) in sizes.items():
        bases[image] = base
        base += height * width
    return bases


def intervals(masks: Runs, rows: Ints, side: Annotations, bases: dict[int, int]) -> tuple[Ints, Ints, Ints]:
    """First and last pixel of every run, and whose it is, in the order of pixels. No two may share one."""
    chosen = masks.take(rows)
    counts = chosen.counts.astype(np.int64)
    lengths = np.diff(chosen.objects)
    owner = np.repeat(np.arange(len(rows)), lengths)
    ends = np.cumsum(counts)
    before = np.concatenate([[0], ends])[chosen.objects[:-1]]
    base = np.array([bases[i] for i in side.image[rows].tolist()], dtype=np.int64)
    ends += np.repeat(base - before, lengths)
    is_inside = (np.arange(len(counts)) - np.repeat(chosen.objects[:-1], lengths)) % 2 == 1
    is_inside &= counts > 0
    starts, ends, owner = (ends - counts)[is_inside], ends[is_inside], owner[is_inside]
    order = np.argsort(starts, kind="stable")
    starts, ends, owner = starts[order], ends[order], owner[order]
    clash = np.flatnonzero(starts[1:] < ends[:-1])
    if len(clash):
        row = int(rows[owner[clash[0]]])
        raise DataError(
            f"{side.source.path or 'annotations'}: expected segments that share no pixel, found two that do in image "
            f"{side.images.name(int(side.image[row]))!r}; every pixel belongs to one segment or none"
        )
    return starts, ends, owner


def find_cover(runs: tuple[Ints, Ints, Ints], places: Ints) -> Ints:
    """Whose run covers each place; -1 where none does."""
    starts, ends, owner = runs
    if not len(starts):
        return np.full(len(places), -1, dtype=np.int64)
    at = np.searchsorted(starts, places, side="right") - 1
    inside = (at >= 0) & (places < ends[at])
    return np.where(inside, owner[at], -1)
