"""Bootstrap over images (or groups of images): resampled scores and confidence intervals of paired differences.

As many images as there are, drawn with replacement, the same for all detectors. An image that is drawn twice counts
twice. Intervals around a single score come from half-samples (`verite.statistics.half_samples`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.errors import BadParameter, DataError, NotComparable, did_you_mean, excerpt
from verite.model.comparison import Difference
from verite.progress import begin
from verite.statistics.intervals import check_level, difference_interval
from verite.statistics.resampling import SampledUnits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations
    from verite.model.images import Images
    from verite.model.results import Results

    Floats = NDArray[np.float64]

RESAMPLES = 1000
SEED = 0
BLOCK = 50  # resamples whose weights are held in memory at a time


def resample_images(
    images: Images, resamples: int = RESAMPLES, seed: int = SEED, *, groups: Any = None, first: int = 0
) -> Floats:
    """Return how often each image occurs in each bootstrap resample, [resample, image].

    The order of images in the file changes nothing.

    Parameters
    ----------
    images
        The images of the ground truth.
    resamples
        The number of resamples, the first of which has the number `first`.
    seed
        The seed of the random numbers.
    groups
        One group per image: whole groups are drawn instead of images (cluster bootstrap).
    """
    return sampled_units(images, groups).bootstrap(resamples, seed, first)


def sampled_units(images: Images, groups: Any = None) -> SampledUnits:
    """Return what is resampled: single images, or groups of them."""
    return SampledUnits.of([images.name(i) for i in range(len(images))], groups)


def image_groups(truth: Annotations, given: Any, purpose: str) -> NDArray[Any]:
    """Return the group of each image, for a cluster bootstrap or for correlated annotation errors.

    Parameters
    ----------
    truth
        The ground truth.
    given
        A key of the image records of a COCO file, `FILE.csv:COLUMN` with a column `image`, "sequence" for the video of
        each frame, or one value per image.
    purpose
        The argument that messages name: resample or shared.
    """
    from verite.formats.coco import read_image_records

    size = len(truth.images)
    if not isinstance(given, str):
        values = np.asarray(given)
        if values.ndim != 1:
            raise BadParameter(f"{purpose}: expected a group for each image, found {excerpt(given)}")
        if len(values) != size:
            raise BadParameter(f"{purpose}: expected a group for each of {size} images, found {len(values)}")
        return values
    path, _, column = given.rpartition(":")
    if path:
        from verite.csv_files import read_csv

        table = read_csv(path, f"the columns image and {column}", ("image", column))
        by_image = {truth.images.find(row["image"]): row[column] for _, row in table.records()}
        missing = next((i for i in range(size) if i not in by_image), None)
        if missing is not None:
            found = f"none for {truth.images.name(missing)!r}"
            raise DataError(f"{table.path}: expected a row for every image ({purpose}), found {found}")
        return np.array([by_image[i] for i in range(size)])
    records = read_image_records(truth.source)
    known = sorted({key for record in records.values() for key in record})
    if given not in known and given == "sequence":
        from verite.model.sequences import Sequences

        at = Sequences.of(truth.images, truth.source.path or "truth")
        return np.array(at.names)[at.sequence]
    if given not in known:
        special = "image, label" if purpose == "shared" else "images"
        raise BadParameter(
            f"{purpose}: expected {special}, a column of the ground truth's images "
            f"({', '.join(known) or 'no columns'}) or FILE.csv:COLUMN, found {given!r}{did_you_mean(given, known)}"
        )
    ids = truth.images.ids
    own = [records.get(truth.images.name(i) if ids is None else int(ids[i]), {}) for i in range(size)]
    missing = next((i for i, record in enumerate(own) if given not in record), None)
    if missing is not None:
        found = f"none for {truth.images.name(missing)!r}"
        raise DataError(f"{purpose}: expected {given!r} for every image, found {found}")
    return np.array([str(record[given]) for record in own])


def bootstrap_scores(
    results: Sequence[Results],
    scores: Sequence[str],
    *,
    label: str | None = None,
    draws: int = RESAMPLES,
    seed: int = SEED,
    groups: Any = None,
) -> Floats:
    """Return scores on bootstrap resamples of the images, [resample, detector, score], the same for all detectors.

    Parameters
    ----------
    results
        Results of detectors on the same images.
    scores
        Names of scores of their protocol.
    label
        The class whose scores are taken; all classes by default.
    draws, seed, groups
        The number of resamples, the seed, and one group per image where groups are resampled.

    Raises
    ------
    NotComparable
        The results are not about the same images in the same order.
    """
    images = results[0].truth.images
    for other in results[1:]:
        if images is not other.truth.images:
            mine, theirs = ([each.name(i) for i in range(len(each))] for each in (images, other.truth.images))
            if mine != theirs:
                odd = next(iter(set(mine) ^ set(theirs)), "another order")
                raise NotComparable(
                    f"resample: expected the same images, found {len(mine)} and {len(theirs)} ({odd!r})"
                )
    found = np.empty((draws, len(results), len(scores)))
    with begin("bootstrapping", draws * len(results), "evaluations") as advance:
        for first in range(0, draws, BLOCK):
            last = min(first + BLOCK, draws)
            weights = resample_images(images, last - first, seed, groups=groups, first=first)
            for i, one in enumerate(results):
                found[first:last, i] = one.draw_scores(scores, weights, label)
                advance(last - first)
    return found


def bootstrap_differences(
    results: Sequence[Results],
    names: Sequence[str],
    level: float = 0.95,
    *,
    draws: int = RESAMPLES,
    seed: int = SEED,
    groups: Any = None,
) -> list[Difference]:
    """Return the difference of each detector to the first one by every score, with its confidence interval."""
    scores = [score for score, found in results[0].scores.items() if found.value == found.value]
    if not scores:
        return []  # without ground-truth objects there are no scores
    samples = bootstrap_scores(results, scores, draws=draws, seed=seed, groups=groups)
    units = None if groups is None else sampled_units(results[0].truth.images, groups).effective
    differences = []
    for i in range(1, len(results)):
        for k, score in enumerate(scores):
            value = results[i].scores[score].value - results[0].scores[score].value
            interval = difference_interval(value, samples[:, i, k] - samples[:, 0, k], level, units)
            differences.append(Difference(names[0], names[i], score, value, *interval))
    return differences


def paired_interval(
    base: Results,
    new: Results,
    score: str,
    label: str | None = None,
    sure: float = 0.95,
    *,
    draws: int = RESAMPLES,
    seed: int = SEED,
    groups: Any = None,
) -> tuple[float, float]:
    """Return the bootstrap confidence interval of `new - base`, both detectors on the same resamples of images.

    `sure` is the confidence level; the other arguments are those of :func:`bootstrap_scores`.
    """
    check_level(sure, "sure")
    samples = bootstrap_scores([base, new], [score], label=label, draws=draws, seed=seed, groups=groups)[:, :, 0]
    once = np.ones((1, len(base.truth.images)))  # every image as it is: also AP@0.50, and scores of a class
    old, value = (float(one.draw_scores([score], once, label)[0, 0]) for one in (base, new))
    units = None if groups is None else sampled_units(base.truth.images, groups).effective
    return difference_interval(value - old, samples[:, 1] - samples[:, 0], sure, units)
