"""Error rates of annotators: capture-recapture, Dawid and Skene's model of classes, jitter, and their posterior draws.

An object that the second annotator has and the first has not is missing in the first, or spurious in the second.
Counting it as the first one's error confuses the two. From three annotators on, an object that at least two others have
is taken as real, and the share of those that an annotator has is its recall (capture-recapture). With two annotators a
random sample of the objects that only one has is adjudicated. Objects that no annotator has are estimated as if all
objects were equally easy to find, which makes the rate of missing objects a lower bound. With detectors the recall of
an annotator is a logistic function of their confidence around the object, which raises the bound (Huggins, Biometrika
1989; Alho, Biometrics 1990).

Uncertainty is that of the Bayesian bootstrap of images (Dirichlet weights) and of the adjudicated shares (Beta).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from verite.annotation_errors.object_matching import MatchedObjects
from verite.evaluation.evaluation import box_candidates
from verite.model.annotations import Annotations
from verite.model.regions import Regions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

KINDS = ("missing", "spurious", "label", "jitter")
# Support of an object is the mean over detectors of the best confidence around it: bounds of its bins, for recall, and
# of wider ones, in which adjudicated objects are counted.
SUPPORT_BOUNDS = (0.005, 0.02, 0.05, 0.15, 0.3, 0.45, 0.6, 0.7, 0.8, 0.9)
SHARE_BOUNDS = (0.05, 0.3, 0.6, 0.8)
SUPPORTED = 0.05  # confidence of a detector that has an object
LOGISTIC_STEPS = 12  # of Newton's method
EM_STEPS, WARM_STEPS = 60, 8  # of Dawid and Skene's model: from the votes, and from the estimate of all images
DIAGONAL, ELSEWHERE = 2.0, 0.02  # Dirichlet prior of an annotator's confusions
MANY = 12  # annotators from which on boxes are compared with the median of all
BLOCK = 100  # posterior draws whose systems of equations are held in memory


@dataclass(frozen=True, eq=False)
class AdjudicatedShares:
    """Adjudicated objects that only one annotator has: how many there were, and how many are objects.

    Both are arrays of shape (annotators, strata).
    """

    checked: Floats
    real: Floats

    def shares(self, draws: int, rng: np.random.Generator) -> Floats:
        """Return the share of real objects, [draw, annotator, stratum]; the first draw is the posterior mean.

        The share of an annotator is Beta distributed under Jeffreys' prior; that of a stratum is drawn towards it.
        """
        checked, real = self.checked.sum(axis=1), self.real.sum(axis=1)
        shape = (draws, *self.checked.shape)
        mean = (real + 0.5) / (checked + 1)
        overall = np.vstack([mean, rng.beta(real + 0.5, checked - real + 0.5, (draws - 1, len(mean)))])[:, :, None]
        if shape[2] == 1:
            return overall
        prior = np.clip(np.broadcast_to(overall, shape), 1e-3, 1 - 1e-3)
        first, second = self.real + prior, self.checked - self.real + 1 - prior
        return np.concatenate([(first / (first + second))[:1], rng.beta(first[1:], second[1:])])


@dataclass(frozen=True, eq=False)
class RateDraws:
    """Rates of every annotator, [draw, annotator]; the first draw is the estimate, the others are its posterior.

    A rate that cannot be estimated is nan. `lit` is the share of missing objects that some detector has.
    """

    missing: Floats
    spurious: Floats
    label: Floats
    jitter: Floats
    lit: Floats

    def interval(self, kind: str, annotator: int, level: float) -> tuple[float, float, float]:
        """Return a rate with its equal-tailed credible interval.

        Parameters
        ----------
        kind
            Name of the rate, such as `recall`.
        annotator
            Position of the annotator.
        level
            Credible level, such as 0.95; both tails get half of the rest.

        Returns
        -------
        tuple[float, float, float]
            The estimate, the lower and the upper end; three NaN where the rate is not defined.
        """
        drawn = getattr(self, kind)[:, annotator]
        if np.isnan(drawn[0]) or np.isnan(drawn).all():
            return (float("nan"),) * 3
        low, high = np.nanquantile(drawn[1:], [(1 - level) / 2, (1 + level) / 2]) if len(drawn) > 1 else [np.nan] * 2
        return float(drawn[0]), float(low), float(high)


def bayesian_weights(images: int, draws: int, rng: np.random.Generator) -> Floats:
    """Return weights of images, [draw, image]: ones, then Dirichlet weights whose sum is the number of images.

    Parameters
    ----------
    images
        Number of images; an image is the unit that is resampled, since its objects are not independent.
    draws
        Number of posterior draws (Bayesian bootstrap).
    rng
        Source of the exponential variates that become Dirichlet weights.

    Returns
    -------
    Floats
        draws + 1 rows: the first one is the data as they are, for the point estimate.
    """
    weights = rng.exponential(1.0, (draws, images))
    weights *= images / weights.sum(axis=1, keepdims=True)
    return np.vstack([np.ones((1, images)), weights])


@dataclass(frozen=True, eq=False)
class DetectorSupport:
    """How confident detectors are around each object, in bins.

    Parameters
    ----------
    bin : array of int64, shape (objects,)
        The bin of each object's support.
    logit : array of float64, shape (bins,)
        The logit of the mean support of each bin: the covariate of recall.
    is_supported : array of bool, shape (objects,)
        Whether any detector has the object with a confidence of at least 0.05.
    """

    bin: Ints
    logit: Floats
    is_supported: NDArray[np.bool_]

    @classmethod
    def of(cls, objects: MatchedObjects, detectors: Sequence[Annotations]) -> DetectorSupport:
        """Measure the support: the mean over detectors of the highest confidence at IoU ≥ 0.5, of any class."""
        truth = objects.annotators.sides[0]
        here = Annotations(
            images=truth.images,
            labels=truth.labels,
            image=objects.image.astype(np.int32),
            label=np.zeros(len(objects), dtype=np.int32),
            regions=Regions(objects.mean_corners, "xyxy"),
            unit=truth.unit,
        )
        best = np.zeros((len(detectors), len(objects)))
        for own, detector in zip(best, detectors, strict=True):
            pred = detector.like(truth)
            found = box_candidates(here, pred, min_iou=0.5, class_agnostic=True)
            confidence = np.ones(len(pred)) if pred.confidence is None else pred.confidence
            np.maximum.at(own, found.truth, np.repeat(confidence, np.diff(found.offsets)))
        support = best.mean(axis=0)
        at, size = np.digitize(support, SUPPORT_BOUNDS), len(SUPPORT_BOUNDS) + 1
        count = np.bincount(at, minlength=size)
        mean = np.bincount(at, support, size) / np.maximum(count, 1)
        return cls(at, np.log((mean + 0.02) / (1.02 - mean)), np.asarray((best >= SUPPORTED).any(axis=0)))

    @property
    def share_stratum(self) -> Ints:
        """For each bin the stratum in which adjudicated objects are counted."""
        return np.searchsorted(SHARE_BOUNDS, np.array([0.0, *SUPPORT_BOUNDS]), side="right")


def logistic_recall(hits: Floats, trials: Floats, covariate: Floats) -> Floats:
    """Return the recall in each bin as a logistic function of a covariate, fitted by maximum likelihood.

    Parameters
    ----------
    hits, trials : array of float64, shape (draws, bins, annotators)
        Weighted numbers of objects that an annotator has, and of those that show whether it has them.
    covariate : array of float64, shape (bins,)
        The covariate of each bin.

    Returns
    -------
    array of float64, shape (draws, bins, annotators)
        The fitted recall. One trial in all, half a hit, is added, so that the fit exists where all trials are hits.

    Examples
    --------
    Recall 1/4 where the covariate is 0 and 3/4 where it is 2; 1/2 in between, where there are no trials.

    >>> hits, trials = np.array([25_000.0, 0, 75_000]), np.array([100_000.0, 0, 100_000])
    >>> logistic_recall(hits[None, :, None], trials[None, :, None], np.array([0.0, 1, 2]))[0, :, 0].round(4).tolist()
    [0.25, 0.5, 0.75]
    """
    total = np.maximum(trials.sum(axis=1, keepdims=True), 1e-12)
    trials, hits = trials * (1 + 1 / total), hits + 0.5 * trials / total
    x = covariate - covariate.mean()
    mean = np.clip(hits.sum(axis=1) / np.maximum(trials.sum(axis=1), 1e-12), 1e-6, 1 - 1e-6)
    level, slope = np.log(mean / (1 - mean)), np.zeros_like(mean)
    for _ in range(LOGISTIC_STEPS):
        p = 1 / (1 + np.exp(-(level[:, None] + x[:, None] * slope[:, None])))
        rest, information = hits - trials * p, trials * p * (1 - p)
        sums = [np.einsum("dsa,s->da", information, x**k) for k in range(3)]
        first, second = rest.sum(axis=1), np.einsum("dsa,s->da", rest, x)
        size = np.maximum(sums[0] * sums[2] - sums[1] ** 2, 1e-12)
        level = level + np.clip((sums[2] * first - sums[1] * second) / size, -2, 2)
        slope = slope + np.clip((sums[0] * second - sums[1] * first) / size, -1, 1)
    return np.asarray(1 / (1 + np.exp(-(level[:, None] + x[:, None] * slope[:, None]))))


class RateModel:
    """Counts per image of everything that rates are made of, and the rates for any weights of the images.

    Parameters
    ----------
    objects
        The matched objects.
    support
        The confidence of detectors around each object; unknown if None.
    adjudicated
        What an adjudication found; with two annotators and None, the share of real objects is unknown.
    """

    def __init__(
        self,
        objects: MatchedObjects,
        support: DetectorSupport | None = None,
        adjudicated: AdjudicatedShares | None = None,
    ) -> None:
        self.objects, self.support = objects, support
        used = np.flatnonzero(objects.annotators.shared)
        self.images = len(used)
        place = np.full(len(objects.annotators.shared), -1, dtype=np.int64)
        place[used] = np.arange(len(used))
        self.image = place[objects.image]
        self.annotated = objects.annotators.annotated[:, used].T  # [image, annotator]
        self.bin = np.zeros(len(objects), dtype=np.int64) if support is None else support.bin
        self.bins = 1 if support is None else len(support.logit)
        self.count = objects.has.shape[1]
        self.adjudicated = adjudicated
        # From three annotators on, and without an adjudication, spurious boxes are those that are alone.
        self.is_adjudicated = adjudicated is not None or self.annotated.sum(axis=1).max(initial=0) < 3
        self.designs, self.design = np.unique(self.annotated, axis=0, return_inverse=True)

    def sums(self, weights: Floats, values: NDArray[np.bool_], *by: tuple[Ints, int]) -> Floats:
        """Return weighted counts of objects, [draw, …, column of values], for each combination of the groups `by`."""
        shape = tuple(size for _, size in by)
        group = np.zeros(len(self.image), dtype=np.int64)
        for of, size in by:
            group = group * size + of
        total = int(np.prod(shape, dtype=np.int64))
        counts = np.zeros((self.images, total, values.shape[1]))
        np.add.at(counts, (self.image, group), values)
        found = weights @ counts.reshape(self.images, -1)
        return np.asarray(found.reshape(len(weights), *shape, values.shape[1]))

    def presence_rates(self, weights: Floats, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Return the rates of missing and of spurious objects, and the share of missing ones that detectors have."""
        has = self.objects.has
        several = has.sum(axis=1) >= 2
        bins, design = (self.bin, self.bins), (self.design[self.image], len(self.designs))
        is_here = self.annotated[self.image]
        own = self.sums(weights, has)  # [draw, annotator]
        pair = self.sums(weights, has & several[:, None], design, bins)  # [draw, design, bin, annotator]
        single = self.sums(weights, has & ~several[:, None], design, bins)
        shared = self.sums(weights, several[:, None], design, bins)[..., 0]  # [draw, design, bin]
        member = self.designs[None, :, None, :]
        if self.is_adjudicated:
            none = np.zeros((self.count, 1))
            shares = (self.adjudicated or AdjudicatedShares(none, none)).shares(len(weights), rng)
            if self.support is not None:
                # Without an adjudication there is one share; with it, one for each of the wider strata.
                shares = shares[..., np.minimum(self.support.share_stratum, shares.shape[2] - 1)]
            shares = shares.transpose(0, 2, 1)[:, None]  # [draw, 1, bin, annotator]
            real_single = single * shares
            hits = pair.sum(axis=1)
            found = shared + real_single.sum(axis=-1)
            trials = ((found[..., None] - real_single) * member).sum(axis=1)
            recall = self.fit_recall(hits, trials)[:, None]
            everything = found / np.maximum(1 - np.prod(np.where(member, 1 - recall, 1.0), axis=-1), 1e-12)
            real = pair + real_single
            spurious = (single - real_single).sum(axis=(1, 2)) / np.maximum(own, 1e-12)
        else:
            others = has.sum(axis=1)[:, None] - has >= 2
            hits = self.sums(weights, has & others, bins)
            trials = self.sums(weights, is_here & others, bins)
            recall = self.fit_recall(hits, trials)[:, None]
            everything = shared / np.maximum(self.found_twice(recall), 1e-12)
            real = recall * everything[..., None] * member
            spurious = np.maximum(1 - real.sum(axis=(1, 2)) / np.maximum(own, 1e-12), 0.0)
        missed = np.maximum((everything[..., None] - real) * member, 0.0).sum(axis=(1, 2))
        lit = np.full(own.shape, np.nan)
        if self.support is not None:
            is_supported = self.support.is_supported
            seen = self.sums(weights, is_here & ~has & several[:, None] & is_supported[:, None])
            if self.is_adjudicated:
                alone = self.sums(weights, has & (~several & is_supported)[:, None], design, bins) * shares
                seen = seen + ((alone.sum(axis=-1, keepdims=True) - alone) * member).sum(axis=(1, 2))
            lit = np.clip(seen / np.maximum(missed, 1e-12), 0.0, 1.0)
        missing = missed / np.maximum(own, 1e-12)
        unknown = trials.sum(axis=1)[0] <= 0
        for rates in (missing, spurious, lit):
            rates[:, unknown | (own[0] <= 0)] = np.nan
        return missing, spurious, lit

    def fit_recall(self, hits: Floats, trials: Floats) -> Floats:
        """Return the recall by bin and annotator: a logistic function of the support, or the share without it.

        Parameters
        ----------
        hits
            Expected number of real objects that an annotator marked, [bin, annotator].
        trials
            Expected number of real objects, in the same bins.

        Returns
        -------
        Floats
            Recall in each bin. With a support the bins share a logistic curve, so that bins of few objects borrow
            strength.
        """
        if self.support is not None:
            return logistic_recall(hits, trials, self.support.logit)
        return np.clip(hits / np.maximum(trials, 1e-12), 1e-6, 1.0)

    def found_twice(self, recall: Floats) -> Floats:
        """Return the probability that at least two annotators of a design have an object, [draw, design, bin]."""
        shape = (recall.shape[0], len(self.designs), recall.shape[2])
        none, one = np.ones(shape), np.zeros(shape)
        for r in range(self.count):
            p = recall[..., r] * self.designs[None, :, None, r]
            none, one = none * (1 - p), one * (1 - p) + none * p
        return np.asarray(1 - none - one)

    def jitter_rates(self, weights: Floats) -> Floats:
        """Return the standard deviation of each annotator's sides as a share of the side, [draw, annotator].

        The mean square difference of two annotators is the sum of their variances; with two, both have half of it.
        """
        if self.count >= MANY:
            return self.jitter_from_median(weights)
        found = np.full((len(weights), self.count), np.nan)
        pairs = [(r, s) for r, s in combinations(range(self.count), 2) if self.objects.has[:, [r, s]].all(axis=1).any()]
        if not pairs:
            return found
        squares, counts = np.zeros((self.images, len(pairs))), np.zeros((self.images, len(pairs)))
        for k, (r, s) in enumerate(pairs):
            rows = np.flatnonzero(self.objects.has[:, r] & self.objects.has[:, s])
            one, two = self.objects.corners(r, rows), self.objects.corners(s, rows)
            size = (one[:, 2:] - one[:, :2] + two[:, 2:] - two[:, :2]) / 2
            z = ((one - two) / np.maximum(np.tile(size, 2), 1e-12)) ** 2
            np.add.at(squares[:, k], self.image[rows], z.mean(axis=1))
            np.add.at(counts[:, k], self.image[rows], 1)
        square, count = weights @ squares, weights @ counts
        if self.count == 2:
            return np.asarray(np.sqrt(square / np.maximum(count, 1e-12) / 2).repeat(2, axis=1))
        member = np.zeros((len(pairs), self.count))  # which annotators each pair has
        for own, pair in zip(member, pairs, strict=True):
            own[list(pair)] = 1.0
        known = np.flatnonzero(member.any(axis=0))
        for start in range(0, len(weights), BLOCK):
            block = slice(start, start + BLOCK)
            n, v = count[block], square[block]
            matrix, right = np.einsum("bp,pr,ps->brs", n, member, member), v @ member
            ridge = 1e-9 * n.sum(axis=1)  # decides only where pairs leave the solution open
            common = v.sum(axis=1) / n.sum(axis=1) / 2
            matrix += ridge[:, None, None] * np.eye(self.count)
            right += (ridge * common)[:, None]
            variance = np.linalg.solve(matrix, right[..., None])[..., 0]
            found[block, known] = np.sqrt(np.maximum(variance[:, known], 0.0))
        return found

    def jitter_from_median(self, weights: Floats) -> Floats:
        """Return the same for many annotators: the root mean square difference to the median box of all of them.

        Among many annotators there are boxes around something else, which would move a mean.
        """
        has = self.objects.has
        boxes = np.full((self.count, len(self.objects), 4), np.nan)
        for r in range(self.count):
            rows = np.flatnonzero(has[:, r])
            boxes[r, rows] = self.objects.corners(r, rows)
        median = np.nanmedian(boxes, axis=0)
        size = np.tile(median[:, 2:] - median[:, :2], 2)
        z = (((boxes - median) / np.maximum(size, 1e-12)) ** 2).mean(axis=2)
        squares, counts = np.zeros((2, self.images, self.count))
        alone = has.sum(axis=1) < 2
        for r in range(self.count):
            rows = np.flatnonzero(has[:, r] & ~alone)
            np.add.at(squares[:, r], self.image[rows], z[r, rows])
            np.add.at(counts[:, r], self.image[rows], 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.sqrt(weights @ squares / (weights @ counts)))

    def label_rates(self, weights: Floats) -> tuple[Floats, ClassModel | None]:
        """Return the share of wrong classes, [draw, annotator], and from three annotators on the model of classes.

        With two annotators of equal rates e, classes differ in 2 e (1 - e) of the objects that both have.
        """
        found = np.full((len(weights), self.count), np.nan)
        votes = self.objects.label
        several = np.flatnonzero((votes >= 0).sum(axis=1) >= 2)
        if not len(several):
            return found, None
        if self.count == 2:
            both = (votes >= 0).all(axis=1)
            differs = both & (votes[:, 0] != votes[:, 1])
            count = self.sums(weights, np.column_stack([differs, both]))
            share = count[:, 0] / np.maximum(count[:, 1], 1e-12)
            return np.tile(((1 - np.sqrt(np.maximum(1 - 2 * share, 0.0))) / 2)[:, None], 2), None
        patterns, pattern = np.unique(votes[several], axis=0, return_inverse=True)
        counts = np.zeros((self.images, len(patterns)))
        np.add.at(counts, (self.image[several], pattern), 1)
        drawn = weights @ counts
        whole = ClassModel.fit(patterns, drawn[0])
        found[0] = whole.wrong_shares(drawn[0])
        for i in range(1, len(weights)):
            found[i] = whole.refit(drawn[i]).wrong_shares(drawn[i])
        return found, whole

    def draw(self, draws: int, rng: np.random.Generator, *, objects_given: bool = False) -> RateDraws:
        """Return the rates of all annotators: the estimate, and posterior draws of it."""
        weights = bayesian_weights(self.images, draws, rng)
        missing, spurious, lit = (np.full((len(weights), self.count), np.nan) for _ in range(3))
        label = missing
        if not objects_given:
            missing, spurious, lit = self.presence_rates(weights, rng)
            label, self.classes = self.label_rates(weights)
            for rates in (missing, spurious, label):
                for r in np.flatnonzero(rates[0] <= 0):  # no error was seen: Jeffreys' posterior of a share
                    count = int(self.objects.has[:, r].sum())
                    rates[1:, r] = rng.beta(0.5, count + 0.5, draws)
        return RateDraws(missing, spurious, label, self.jitter_rates(weights), lit)

    classes: ClassModel | None = None


@dataclass(frozen=True, eq=False)
class ClassModel:
    """Dawid and Skene's model: the true class of each pattern of votes, and each annotator's confusions.

    Parameters
    ----------
    patterns : array of int64, shape (patterns, annotators)
        Distinct combinations of classes, -1 where an annotator gives none.
    classes : array of int64
        The classes that occur.
    posterior : array of float64, shape (patterns, classes)
        The probability of each true class.
    """

    patterns: Ints
    classes: Ints
    posterior: Floats

    @classmethod
    def fit(cls, patterns: Ints, counts: Floats) -> ClassModel:
        """Fit by expectation-maximisation, from the shares of votes."""
        classes = np.unique(patterns[patterns >= 0])
        posterior = np.full((len(patterns), len(classes)), 1e-6)
        for votes in patterns.T:
            given = np.flatnonzero(votes >= 0)
            posterior[given, np.searchsorted(classes, votes[given])] += 1
        posterior /= posterior.sum(axis=1, keepdims=True)
        return cls(patterns, classes, posterior).refit(counts, EM_STEPS)

    def refit(self, counts: Floats, steps: int = WARM_STEPS) -> ClassModel:
        """Return the model for other counts of the patterns."""
        posterior, size = self.posterior, len(self.classes)
        votes = [np.flatnonzero(own >= 0) for own in self.patterns.T]
        voted = [np.searchsorted(self.classes, own[given]) for own, given in zip(self.patterns.T, votes, strict=True)]
        for _ in range(steps):
            weighted = posterior * counts[:, None]
            prior = weighted.sum(axis=0) + 0.5
            log = np.tile(np.log(prior / prior.sum()), (len(posterior), 1))
            for given, classes in zip(votes, voted, strict=True):
                confusion = np.full((size, size), ELSEWHERE) + DIAGONAL * np.eye(size)  # [given class, true class]
                np.add.at(confusion, classes, weighted[given])
                log[given] += np.log(confusion / confusion.sum(axis=0))[classes]
            posterior = np.exp(log - log.max(axis=1, keepdims=True))
            posterior /= posterior.sum(axis=1, keepdims=True)
        return ClassModel(self.patterns, self.classes, posterior)

    def wrong_shares(self, counts: Floats) -> Floats:
        """Return by annotator the probability that the class it gives is not the true one."""
        found = np.full(self.patterns.shape[1], np.nan)
        for r, own in enumerate(self.patterns.T):
            given = np.flatnonzero(own >= 0)
            total = counts[given].sum()
            if total > 0:
                right = self.posterior[given, np.searchsorted(self.classes, own[given])]
                found[r] = 1 - (counts[given] * right).sum() / total
        return found

    def true_classes(self) -> dict[bytes, int]:
        """Return the likeliest class of each pattern of votes, by the bytes of the pattern."""
        best = self.classes[self.posterior.argmax(axis=1)]
        return {pattern.tobytes(): int(label) for pattern, label in zip(self.patterns, best, strict=True)}
