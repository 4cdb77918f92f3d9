"""Bootstrap of images: scores on many samples of the images at once.

Weights are [sample, image]: how often each image occurs in each bootstrap sample, whole numbers. Images beyond those
that have weights occur once.
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


MOST_CELLS = 4_000_000  # samples × rows in memory at a time


def widen(weights: Floats, images: int) -> Floats:
    """Return weights for more images: those that the ground truth does not have are once in every sample."""
    missing = images - weights.shape[1]
    return np.hstack([weights, np.ones((len(weights), missing))]) if missing > 0 else weights


def rearrange(weights: Floats, images: Images, others: Images) -> Floats:
    """Return weights for the same images in another order, identified by name or else by id."""
    weights = widen(weights, len(images))
    if images is others:
        return weights
    if others.names is None:
        assert others.ids is not None
        return np.asarray(weights[:, [images.index_of_id[i] for i in others.ids.tolist()]])
    place = {images.name(i): i for i in range(len(images))}
    return np.asarray(weights[:, [place[name] for name in others.names]])


def draw_ratio(weights: Floats, image: NDArray[np.integer], above: Floats, below: Floats) -> Floats:
    """Return the ratio of two sums over rows in every bootstrap sample, such as a mean IoU over matches.

    Parameters
    ----------
    weights : array, shape (samples, images)
        How often each image occurs in each sample.
    image : array of int, shape (rows,)
        The image of each row.
    above, below : array, shape (rows,)
        The summands of numerator and denominator.

    Returns
    -------
    array, shape (samples,)
        The ratios; nan for 0 / 0.
    """
    images = max(weights.shape[1], int(image.max(initial=-1)) + 1)
    weights = widen(weights, images)
    sums, counts = (np.bincount(image, weights=values, minlength=images) for values in (above, below))
    is_endless = ~np.isfinite(sums)  # nothing times that is nothing, too
    total, count = weights @ np.where(is_endless, 0.0, sums), weights @ counts
    total[weights[:, is_endless].any(axis=1)] = sums[is_endless].sum()
    return np.asarray(np.divide(total, count, out=np.full(len(weights), np.nan), where=count > 0))


@dataclass(frozen=True, eq=False)
class Points:
    """Predictions of a class by falling confidence and its ground truth, with their images.

    What precision and recall of a class need on bootstrap samples: boxes and matches are not looked at again, only how
    often the image of each prediction and object occurs in a sample.
    """

    image: NDArray[np.integer]
    is_true: Bools
    truth_image: NDArray[np.integer]
    truths: Floats  # how much each counts
    gain: Floats | None = None  # how much each true positive counts, if not one

    def blocks(self, weights: Floats) -> Iterator[slice]:
        """Return slices of the samples that fit into memory."""
        size = max(1, MOST_CELLS // (len(self.image) + 1))
        return (slice(first, first + size) for first in range(0, len(weights), size))

    def positives(self, weights: Floats) -> Floats:
        """Return the weighted number of ground-truth objects in every sample."""
        return np.asarray(weights[:, self.truth_image] @ self.truths)

    def draw_precision(self, weights: Floats, recalls: Sequence[float] = ()) -> Floats:
        """Return average precision in every sample.

        Parameters
        ----------
        weights : array, shape (samples, images)
            How often each image occurs in each sample.
        recalls : sequence of float
            Recall levels at which precision is interpolated (COCO's 101); none: the area under the curve, summed at
            every change of recall (Pascal VOC since 2010).

        Returns
        -------
        array, shape (samples,)
            AP; nan where a sample has no ground truth of the class.
        """
        parts = [self.average(weights[block], recalls) for block in self.blocks(weights)]
        return np.concatenate(parts) if parts else np.empty(0)

    def average(self, weights: Floats, recalls: Sequence[float]) -> Floats:
        """Return AP in every sample of one block; see `draw_precision`."""
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
            # The sum over recalls of the interpolated precision, in every sample.
            needed = find_needed(np.asarray(recalls), positives)
            draws, places = found.shape
            stride = int(max(found.max(initial=0), needed.max(initial=0))) + 1
            start = np.arange(draws, dtype=np.int64)[:, None]
            at = np.searchsorted((found.astype(np.int64) + start * stride).ravel(), (needed + start * stride).ravel())
            at = at.reshape(needed.shape) - start * places
            padded = np.hstack([best, np.zeros((draws, 1))])
            sums = np.asarray(np.take_along_axis(padded, np.clip(at, 0, places), axis=1).sum(axis=1)) / len(recalls)
        else:
            sums = np.divide((best * gained).sum(axis=1), positives, out=np.zeros(len(best)), where=positives > 0)
        return np.where(positives > 0, sums, np.nan)

    def draw_recall(self, weights: Floats) -> Floats:
        """Return recall in every sample."""
        hits, positives = self.image[self.is_true], self.positives(weights)
        found = weights @ np.bincount(hits, minlength=weights.shape[1])
        return np.asarray(np.divide(found, positives, out=np.full(len(weights), np.nan), where=positives > 0))


def find_needed(recalls: Floats, positives: Floats) -> Ints:
    """Return the true positives needed to reach each recall [sample, recall], as floating-point division has it.

    Parameters
    ----------
    recalls
        The recalls at which precision is read, such as 0, 0.01 … 1.
    positives
        Number of ground-truth objects in each bootstrap sample (the sum of their weights).

    Returns
    -------
    Ints
        The smallest number of true positives whose quotient by the positives, computed in floating point, reaches
        the recall. Rounding up the product would be one off where the division rounds.
    """
    total = np.maximum(positives, 1)[:, None]
    needed = np.floor(recalls * total)
    needed -= (needed > 0) & ((needed - 1) / total >= recalls)
    needed += needed / total < recalls
    return needed.astype(np.int64)


def mean_over_classes(values: Sequence[Floats], draws: int) -> Floats:
    """Return the mean of each sample over the classes with ground truth in it; NaN if there is none.

    Parameters
    ----------
    values
        The AP of each class in every sample, NaN where the class has no ground truth in that sample.
    draws
        Number of samples, which is known even if there is no class.

    Returns
    -------
    Floats
        The mAP of each sample.
    """
    table = np.reshape(values, (-1, draws))
    present = ~np.isnan(table)
    count = present.sum(axis=0)
    total = np.where(present, table, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0))
