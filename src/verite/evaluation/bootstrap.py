"""What would a score be if each image were there so many times? Draws of images, all of them at once.

Weights are [draw, image], whole numbers; images behind those that have weights are there once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verite.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.images import Images

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


MOST_CELLS = 4_000_000  # draws × rows that are held at a time


def widen(weights: Floats, images: int) -> Floats:
    """The same for more images: those that the truth does not know are in every draw."""
    missing = images - weights.shape[1]
    return np.hstack([weights, np.ones((len(weights), missing))]) if missing > 0 else weights


def rearrange(weights: Floats, images: Images, others: Images) -> Floats:
    """The same for the same images in another order, which are known by their names or else by their ids."""
    weights = widen(weights, len(images))
    if images is others:
        return weights
    if others.names is None:
        assert others.ids is not None
        return np.asarray(weights[:, [images.index_of_id[i] for i in others.ids.tolist()]])
    place = {images.name(i): i for i in range(len(images))}
    return np.asarray(weights[:, [place[name] for name in others.names]])


def draw_ratio(weights: Floats, image: NDArray[np.integer], above: Floats, below: Floats) -> Floats:
    """The ratio of two sums over rows, each in its image, in every draw. NaN of nothing."""
    images = max(weights.shape[1], int(image.max(initial=-1)) + 1)
    weights = widen(weights, images)
    sums, counts = (np.bincount(image, weights=values, minlength=images) for values in (above, below))
    is_endless = ~np.isfinite(sums)  # nothing times that is nothing, too
    total, count = weights @ np.where(is_endless, 0.0, sums), weights @ counts
    total[weights[:, is_endless].any(axis=1)] = sums[is_endless].sum()
    return np.asarray(np.divide(total, count, out=np.full(len(weights), np.nan), where=count > 0))


@dataclass(frozen=True, eq=False)
class Points:
    """A class by falling confidence and its truths, each in its image."""

    image: NDArray[np.integer]
    is_true: Bools
    truth_image: NDArray[np.integer]
    truths: Floats  # how many each counts for
    gain: Floats | None = None  # of the true ones, where they do not all count one

    def blocks(self, weights: Floats) -> Iterator[slice]:
        """As many draws as fit at a time."""
        size = max(1, MOST_CELLS // (len(self.image) + 1))
        return (slice(first, first + size) for first in range(0, len(weights), size))

    def positives(self, weights: Floats) -> Floats:
        return np.asarray(weights[:, self.truth_image] @ self.truths)

    def draw_precision(self, weights: Floats, recalls: Sequence[float] = ()) -> Floats:
        """Average precision in every draw, read at recalls, or else summed wherever recall changes; NaN: no truth."""
        parts = [self.average(weights[block], recalls) for block in self.blocks(weights)]
        return np.concatenate(parts) if parts else np.empty(0)

    def average(self, weights: Floats, recalls: Sequence[float]) -> Floats:
        hits = np.flatnonzero(self.is_true)
        seen = weights[:, self.image]
        if self.gain is not None:
            seen = seen * np.where(self.is_true, self.gain, 1.0)
        gained, seen = seen[:, hits], np.cumsum(seen, axis=1)[:, hits]
        found = np.cumsum(gained, axis=1)
        best = np.divide(found, seen, out=np.zeros_like(found), where=seen > 0)
        best = np.maximum.accumulate(best[:, ::-1], axis=1)[:, ::-1]
        positives = self.positives(weights)
        if recalls:
            sums = read_at(found, best, find_needed(np.asarray(recalls), positives)) / len(recalls)
        else:
            sums = np.divide((best * gained).sum(axis=1), positives, out=np.zeros(len(best)), where=positives > 0)
        return np.where(positives > 0, sums, np.nan)

    def draw_recall(self, weights: Floats) -> Floats:
        """The share of the truths that are found, in every draw."""
        hits, positives = self.image[self.is_true], self.positives(weights)
        found = weights @ np.bincount(hits, minlength=weights.shape[1])
        return np.asarray(np.divide(found, positives, out=np.full(len(weights), np.nan), where=positives > 0))


def find_needed(recalls: Floats, positives: Floats) -> Ints:
    """How many truths must be found until recall reaches each level, [draw, level], as floating point divides."""
    total = np.maximum(positives, 1)[:, None]
    needed = np.floor(recalls * total)
    needed -= (needed > 0) & ((needed - 1) / total >= recalls)
    needed += needed / total < recalls
    return needed.astype(np.int64)


def read_at(found: Floats, best: Floats, needed: Ints) -> Floats:
    """The sum over levels of the best precision from the first place on where so many are found, in every draw."""
    draws, places = found.shape
    stride = int(max(found.max(initial=0), needed.max(initial=0))) + 1
    start = np.arange(draws, dtype=np.int64)[:, None]
    at = np.searchsorted((found.astype(np.int64) + start * stride).ravel(), (needed + start * stride).ravel())
    at = at.reshape(needed.shape) - start * places
    padded = np.hstack([best, np.zeros((draws, 1))])
    return np.asarray(np.take_along_axis(padded, np.clip(at, 0, places), axis=1).sum(axis=1))


def mean_over_classes(values: Sequence[Floats], draws: int) -> Floats:
    """The mean of each draw over the classes that have a truth in it; NaN where none has."""
    table = np.reshape(values, (-1, draws))
    present = ~np.isnan(table)
    count = present.sum(axis=0)
    total = np.where(present, table, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0))
