"""Gold images: a better ground truth of a random subset of the images corrects leads, whatever the errors are.

The difference of a detector's score between the better and the given ground truth, on the same images, is an unbiased
estimate of what annotation errors do to it (prediction-powered inference, difference estimator in survey sampling). No
model of the errors is needed: the correction is valid if the images were drawn at random and the better ground truth is
right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.annotation_errors.annotators import listed_images
from verite.errors import BadParameter, DataError
from verite.evaluation.evaluation import Evaluation, Rules
from verite.formats import read
from verite.leaderboards.candidates import MIN_CONFIDENCE, MIN_IOU
from verite.model.annotations import Annotations
from verite.model.tables import ABSENT, Part, Table
from verite.protocols import protocol_named
from verite.statistics.intervals import student_quantile
from verite.statistics.multiple_comparisons import TIE
from verite.statistics.resampling import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.files import JsonObject
    from verite.leaderboards.result import Board

    Floats = NDArray[np.float64]

MIN_GOLD = 20  # images; fewer say next to nothing
MIN_MISSING = 10  # objects that the ground truth lacks, from which the share of detectable ones is estimated
RESAMPLES, FLIPS, POSTERIOR_DRAWS = 400, 1999, 10_000
MODEL_SD = 0.005  # of leads under annotation errors, where none are simulated
DRAW_STREAM, RESAMPLE_STREAM, FLIP_STREAM, POSTERIOR_STREAM = 30, 31, 32, 33  # of random numbers
VALID = "valid whatever the errors are, if the gold images were drawn at random and are right"


@dataclass(frozen=True)
class GoldPair:
    """Two neighbours of a leaderboard, the one with the higher score first, and their lead corrected by gold images.

    `low` and `high` are the interval on the same images, `population_low` and `population_high` that for other images.
    """

    first: str
    second: str
    lead: float
    corrected: float
    low: float
    high: float
    population_low: float | None = None
    population_high: float | None = None


@dataclass(frozen=True, eq=False)
class GoldCorrection:
    """What gold images say about the ranking by one score.

    Parameters
    ----------
    names : tuple of str
        The detectors, the best first.
    images, total : int
        The number of gold images, and of all.
    pairs : list of GoldPair
        Every two detectors.
    p_first : list of float
        The probability that each detector is first on the better ground truth of all images.
    p_differential : float
        The p-value of the test that errors favour no detector.
    influence : array of float64, shape (gold images, detectors)
        What each image adds to the correction of each score, by the jackknife; their mean is the correction.
    image_names : list of str
        The gold images.
    deviations : dict
        By pair of detectors the standard deviation of the correction per image, for planning.
    posterior_mean, posterior : array of float64
        Mean and covariance of the scores on the better ground truth of all images, up to a common shift.
    detectable : (int, int), optional
        Missing objects in the gold images that some detector has, and all of them, where simulated annotation errors
        take the share of detectable ones from these.
    """

    names: tuple[str, ...]
    images: int
    total: int
    pairs: list[GoldPair]
    p_first: list[float]
    p_differential: float
    influence: Floats
    image_names: list[str]
    deviations: dict[tuple[str, str], float]
    posterior_mean: Floats
    posterior: Floats
    level: float
    detectable: tuple[int, int] | None = None

    @property
    def neighbours(self) -> list[GoldPair]:
        """Each detector and the next one."""
        following = dict(zip(self.names, self.names[1:], strict=False))
        return [pair for pair in self.pairs if following.get(pair.first) == pair.second]

    def shown_table(self) -> Table:
        """Return the printed table: corrected leads over the next detector, and the probability of being first."""
        rows = {pair.first: pair for pair in self.neighbours}
        columns: dict[str, list[Any]] = {"corrected lead": [], "other images": [], "P(first | gold)": []}
        for name, share in zip(self.names, self.p_first, strict=True):
            pair = rows.get(name)
            shown, other = ABSENT, ABSENT
            if pair is not None:
                shown = f"{pair.corrected:+.4f} [{pair.low:+.4f}, {pair.high:+.4f}]"
                if pair.population_low is not None:
                    other = f"[{pair.population_low:+.4f}, {pair.population_high:+.4f}]"
            columns["corrected lead"].append(shown)
            columns["other images"].append(other)
            columns["P(first | gold)"].append(f"{share:.3f}")
        title = f"corrected by {self.images:,} gold images ({100 * self.level:g} %)"
        return Table.of("detector", list(self.names), columns, title=title)

    def contents(self) -> list[Part]:
        """The table, the test, and what it assumes."""
        favour = "annotation errors favour some detector" if self.p_differential < 1 - self.level else (
            "no sign that annotation errors favour a detector"
        )  # fmt: skip
        lines: list[Part] = [self.shown_table(), f"{favour} (p = {self.p_differential:.2g}, sign flips of gold images)"]
        lines += [
            f"warning: on the gold images {pair.second} is ahead of {pair.first}: the corrected lead lies on the other "
            "side of 0"
            for pair in self.neighbours
            if pair.lead > TIE and pair.high < 0
        ]
        share = self.images / self.total
        if not 0.01 <= share <= 0.99:
            lines.append(f"gold images are {100 * share:.2g} % of all images")
        if self.detectable is not None:
            found, missing = self.detectable
            lines.append(
                f"of {missing:,} missing objects in the gold images some detector has {found:,}: a share of "
                f"{share_detectable(found, missing):.2f} of the simulated ones is detectable"
            )
        return [*lines, f"corrected leads are {VALID}"]

    def table(self) -> Table:
        """Return gold.csv: one row per gold image with what it adds to the correction of each score."""
        rows = zip(self.image_names, self.influence.tolist(), strict=True)
        return Table(("image", *self.names), tuple((name, *values) for name, values in rows))

    def to_dict(self) -> JsonObject:
        """Return the documented keys."""
        return {
            "images": self.images,
            "p_differential": self.p_differential,
            "pairs": [asdict(pair) for pair in self.pairs],
        }


def draw_gold_images(truth: Annotations, count: int, seed: int = 0) -> list[str]:
    """Draw images at random, without replacement, for a better annotation.

    Parameters
    ----------
    truth : Annotations
        The ground truth.
    count : int
        The number of images.
    seed : int, default 0
        The seed of the random numbers.

    Returns
    -------
    list of str
        Names of images, in the order in which they were drawn: a part of them, from the first on, is a sample as well.

    Raises
    ------
    BadParameter
        There are fewer images, or fewer than 20 are to be drawn.
    """
    if not MIN_GOLD <= count <= len(truth.images):
        most = f"the {len(truth.images):,} images" if len(truth.images) >= MIN_GOLD else "as many images"
        raise BadParameter(f"draw_gold: expected a number from {MIN_GOLD} up to {most}, found {count}")
    chosen = generator(seed, 0, DRAW_STREAM).permutation(len(truth.images))[:count]
    return [truth.images.name(int(i)) for i in chosen]


def read_gold(source: Any, truth: Annotations) -> tuple[Annotations, NDArray[np.int64]]:
    """Read a better ground truth of some images, and find these among the images of the ground truth.

    Raises
    ------
    DataError
        Some image is not in the ground truth, or there are fewer than 20.
    """
    given = source if isinstance(source, Annotations) else read(source)
    place = given.source.path or "gold"
    try:
        positions = listed_images(given, truth)
    except DataError:
        positions = np.full(max(len(given.images), 1), len(truth.images))
    outside = np.flatnonzero(positions >= len(truth.images))
    if len(outside):
        named = repr(given.images.name(int(outside[0]))) if len(given.images) else "no image"
        raise DataError(
            f"{place}: expected images of the ground truth, found {named} and {len(outside) - 1} others that it lacks"
            if len(outside) > 1
            else f"{place}: expected images of the ground truth, found {named}, which it lacks"
        )
    if len(positions) < MIN_GOLD:
        raise DataError(f"{place}: expected at least {MIN_GOLD} gold images, found {len(positions)}")
    gold = given.like(truth)
    return gold.changed(images=truth.images), np.unique(positions)


def detectable_by_gold(
    gold: Annotations, positions: NDArray[np.int64], evaluations: Sequence[Any]
) -> tuple[int, int] | None:
    """Return how many missing objects of the gold images some detector has a box of, and how many are missing.

    None where fewer than ten are missing. Boxes match with an IoU of 0.5 and the same class; of predictions those of
    confidence ≥ 0.05, from which candidates for missing objects are made.
    """
    truth = evaluations[0].truth
    known = truth.where(np.isin(truth.image, positions))
    better = gold.where(~gold.ignored).changed(verdicts=None)
    rules = Rules((MIN_IOU,))
    recorded = Annotations(
        images=truth.images, labels=truth.labels, image=known.image, label=known.label, regions=known.regions,
        confidence=np.ones(len(known)),
    )  # fmt: skip
    missing = better.where(Evaluation(better, recorded, rules).outcomes().pred < 0)
    if len(missing) < MIN_MISSING:
        return None
    found = np.zeros(len(missing), dtype=np.bool_)
    for one in evaluations:
        pred = one.pred
        kept = pred if pred.confidence is None else pred.where(pred.confidence >= MIN_CONFIDENCE)
        found |= Evaluation(missing, kept, rules).outcomes().pred >= 0
    return int(found.sum()), len(missing)


def share_detectable(found: int, missing: int) -> float:
    """Return the share of missing objects that are detectable, by the mean of Jeffreys' posterior.

    >>> share_detectable(3, 13)
    0.25
    """
    return (found + 0.5) / (missing + 1)


def correct_by_gold(
    gold: Annotations,
    positions: NDArray[np.int64],
    results: Sequence[Any],
    board: Board,
    seed: int = 0,
    threads: int | None = None,
    detectable: tuple[int, int] | None = None,
) -> GoldCorrection:
    """Correct the leads of a leaderboard by a better ground truth of some images.

    Parameters
    ----------
    gold, positions
        The better ground truth, with the images of the given one, and the positions of its own.
    results
        The results of the detectors on the given ground truth, in the order in which they were made.
    board
        The ranking by one score, with its bootstrap of images if there is one.
    seed, threads
        The seed of the random numbers, and the number of threads.
    detectable
        The detectable among the missing objects, see `detectable_by_gold`.
    """
    ranked = [results[i] for i in board.order]
    total, count, size = len(ranked[0].truth.images), len(positions), len(ranked)
    weights = np.zeros((1 + RESAMPLES + count, total))
    weights[0, positions] = 1
    rng = generator(seed, 0, RESAMPLE_STREAM)
    weights[1 : 1 + RESAMPLES, positions] = rng.multinomial(count, np.full(count, 1 / count), RESAMPLES)
    weights[1 + RESAMPLES :, positions] = 1 - np.eye(count)
    change = np.empty((len(weights), size))
    for i, one in enumerate(ranked):
        settings = {key: value for key, value in vars(one.settings).items() if key != "checks"}
        better = protocol_named(one.protocol)(gold, one.pred, checks="off", **settings)
        old, new = (each.draw_scores([board.metric], weights)[:, 0] for each in (one, better))
        change[:, i] = new - old
    if np.isnan(change[0]).any():
        raise DataError(f"gold: expected objects that count in the gold images, found none for {board.metric}")
    resampled = change[1 : 1 + RESAMPLES]
    resampled = resampled[~np.isnan(resampled).any(axis=1)]
    rest = np.where(np.isnan(change[1 + RESAMPLES :]), change[0], change[1 + RESAMPLES :])
    influence = change[0] - (count - 1) * (rest - rest.mean(axis=0))  # jackknife; their mean is the correction
    covariance = np.cov(resampled, rowvar=False).reshape(size, size) * count / (count - 1)
    finite = 1 - count / total
    mean, spread = shrink(change[0], covariance * finite, model_variance(board, change[0], covariance * finite))
    drawn = generator(seed, 0, POSTERIOR_STREAM).multivariate_normal(
        board.scores + mean, spread, POSTERIOR_DRAWS, method="svd"
    )
    is_best = drawn >= drawn.max(axis=1, keepdims=True) - TIE
    p_first = (is_best / is_best.sum(axis=1, keepdims=True)).mean(axis=0)
    images = ranked[0].truth.images
    return GoldCorrection(
        names=board.names,
        images=count,
        total=total,
        pairs=correct_leads(board, change[0], covariance, count, finite),
        p_first=p_first.tolist(),
        p_differential=differential_test(influence, seed),
        influence=influence,
        image_names=[images.name(int(i)) for i in positions],
        deviations={
            (board.names[i], board.names[j]): sqrt(max(contrast(covariance, i, j), 0.0) * count)
            for i in range(size)
            for j in range(i + 1, size)
        },
        posterior_mean=board.scores + mean,
        posterior=spread,
        level=board.level,
        detectable=detectable,
    )


def contrast(covariance: Floats, i: int, j: int) -> float:
    """Return the variance of the difference of two entries."""
    return float(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])


def correct_leads(board: Board, change: Floats, covariance: Floats, count: int, finite: float) -> list[GoldPair]:
    """Return every two detectors with their corrected lead and its intervals by Student's t."""
    deviations = student_quantile(NormalDist().inv_cdf((1 + board.level) / 2), count - 1)
    pairs = []
    for i in range(len(board.names)):
        for j in range(i + 1, len(board.names)):
            lead = float(board.scores[i] - board.scores[j])
            corrected = lead + float(change[i] - change[j])
            variance = max(contrast(covariance, i, j), 0.0)
            reach = deviations * sqrt(variance * finite)
            low = high = None
            if board.images is not None:
                of_images = float(np.nanvar(board.images[:, i] - board.images[:, j], ddof=1))
                wide = deviations * sqrt(variance + of_images)
                low, high = corrected - wide, corrected + wide
            names = board.names[i], board.names[j]
            pairs.append(GoldPair(*names, lead, corrected, corrected - reach, corrected + reach, low, high))
    return pairs


def model_variance(board: Board, change: Floats, covariance: Floats) -> float:
    """Return the prior variance of the correction of a lead: that of simulated errors, or what the gold images show."""
    first, second = np.triu_indices(len(change), 1)
    variances = np.array([contrast(covariance, i, j) for i, j in zip(first.tolist(), second.tolist(), strict=True)])
    observed = float(((change[first] - change[second]) ** 2 - variances).mean())
    model = MODEL_SD**2
    if "errors" in board.samples:
        simulated = board.samples["errors"]
        model = float(np.nanvar(simulated[:, first] - simulated[:, second], axis=0).mean())
    return max(model, observed)


def shrink(change: Floats, covariance: Floats, variance: float) -> tuple[Floats, Floats]:
    """Return posterior mean and covariance of the corrections, as differences to their mean.

    Prior: corrections of scores are independent and normal, and those of leads have the given variance.
    """
    size = len(change)
    centre = np.eye(size) - 1 / size
    prior = centre * variance / 2
    data = centre @ covariance @ centre
    gain = prior @ np.linalg.pinv(prior + data, hermitian=True)
    spread = prior - gain @ prior
    return gain @ (centre @ change), (spread + spread.T) / 2


def differential_test(influence: Floats, seed: int = 0) -> float:
    """Return the p-value of the hypothesis that errors change all scores alike, by sign flips of images.

    The statistic is the sum over neighbours of the squared mean of their difference, each over its variance.
    """
    differences = influence[:, :-1] - influence[:, 1:]
    variance = differences.var(axis=0, ddof=1) / len(differences)
    known = variance > TIE**2
    if not known.any():
        return 1.0
    differences, variance = differences[:, known], variance[known]
    signs = generator(seed, 0, FLIP_STREAM).choice([-1.0, 1.0], (FLIPS, len(differences)))
    flipped = ((signs @ differences / len(differences)) ** 2 / variance).sum(axis=1)
    observed = float((differences.mean(axis=0) ** 2 / variance).sum())
    return float((1 + (flipped >= observed * (1 - 1e-12)).sum()) / (1 + FLIPS))
