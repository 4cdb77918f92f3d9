"""Error rates of annotators: capture-recapture, Dawid and Skene's model of classes, jitter, and their posterior draws.

An object that the second annotator has and the first has not is missing in the first, or spurious in the second.
Counting it as the first one's error confuses the two. From three annotators on, an object that at least two others have
is taken as real, and the share of those that an annotator has is its recall (capture-recapture). With two annotators a
random sample of the objects that only one has is adjudicated. Objects that no annotator has are estimated as if all
objects were equally easy to find, which makes the rate of missing objects a lower bound; strata of the confidence of
detectors raise it.

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
SUPPORT_BOUNDS = (0.05, 0.3, 0.6, 0.8)  # of the strata: mean over detectors of the best confidence around an object
FEW = 5  # objects of a stratum that both have; with fewer, one is added
POOLED = 2.0  # weight, in objects, of the recall in all strata within one stratum
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
        """Return a rate with its equal-tailed credible interval."""
        drawn = getattr(self, kind)[:, annotator]
        if np.isnan(drawn[0]) or np.isnan(drawn).all():
            return (float("nan"),) * 3
        low, high = np.nanquantile(drawn[1:], [(1 - level) / 2, (1 + level) / 2]) if len(drawn) > 1 else [np.nan] * 2
        return float(drawn[0]), float(low), float(high)


def bayesian_weights(images: int, draws: int, rng: np.random.Generator) -> Floats:
    """Return weights of images, [draw, image]: ones, then Dirichlet weights whose sum is the number of images."""
    weights = rng.exponential(1.0, (draws, images))
    weights *= images / weights.sum(axis=1, keepdims=True)
    return np.vstack([np.ones((1, images)), weights])


def support_strata(objects: MatchedObjects, detectors: Sequence[Annotations]) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the stratum of each object, and whether any detector has it with a confidence of at least 0.05.

    Strata are bins of the mean over detectors of the highest confidence of a box with IoU ≥ 0.5, of any class.
    """
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
    return np.digitize(best.mean(axis=0), SUPPORT_BOUNDS), np.asarray((best >= SUPPORT_BOUNDS[0]).any(axis=0))


class RateModel:
    """Counts per image of everything that rates are made of, and the rates for any weights of the images.

    Parameters
    ----------
    objects
        The matched objects.
    strata
        The stratum of each object; one stratum if None.
    is_supported
        Which objects some detector has; unknown if None.
    adjudicated
        What an adjudication found; with two annotators and None, the share of real objects is unknown.
    """

    def __init__(
        self,
        objects: MatchedObjects,
        strata: Ints | None = None,
        is_supported: NDArray[np.bool_] | None = None,
        adjudicated: AdjudicatedShares | None = None,
    ) -> None:
        self.objects, self.is_supported = objects, is_supported
        used = np.flatnonzero(objects.annotators.shared)
        self.images = len(used)
        place = np.full(len(objects.annotators.shared), -1, dtype=np.int64)
        place[used] = np.arange(len(used))
        self.image = place[objects.image]
        self.annotated = objects.annotators.annotated[:, used].T  # [image, annotator]
        self.strata = np.zeros(len(objects), dtype=np.int64) if strata is None else strata
        self.strata_count = int(self.strata.max(initial=0)) + 1
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
        strata, design = (self.strata, self.strata_count), (self.design[self.image], len(self.designs))
        is_here = self.annotated[self.image]
        own = self.sums(weights, has)  # [draw, annotator]
        pair = self.sums(weights, has & several[:, None], design, strata)  # [draw, design, stratum, annotator]
        single = self.sums(weights, has & ~several[:, None], design, strata)
        shared = self.sums(weights, several[:, None], design, strata)[..., 0]  # [draw, design, stratum]
        member = self.designs[None, :, None, :]
        if self.is_adjudicated:
            none = np.zeros((self.count, self.strata_count))
            shares = (self.adjudicated or AdjudicatedShares(none, none)).shares(len(weights), rng)
            real_single = single * shares.transpose(0, 2, 1)[:, None]
            hits = pair.sum(axis=1)
            found = shared + real_single.sum(axis=-1)
            trials = ((found[..., None] - real_single) * member).sum(axis=1)
            hits, trials = (
                hits + (hits < FEW) * (self.strata_count > 1),
                trials + (hits < FEW) * (self.strata_count > 1),
            )
            recall = np.clip(hits / np.maximum(trials, 1e-12), 1e-6, 1.0)[:, None]
            everything = found / np.maximum(1 - np.prod(np.where(member, 1 - recall, 1.0), axis=-1), 1e-12)
            real = pair + real_single
            spurious = (single - real_single).sum(axis=(1, 2)) / np.maximum(own, 1e-12)
        else:
            others = has.sum(axis=1)[:, None] - has >= 2
            hits = self.sums(weights, has & others, strata)
            trials = self.sums(weights, is_here & others, strata)
            recall = self.pooled_recall(hits, trials)[:, None]
            everything = shared / np.maximum(self.found_twice(recall), 1e-12)
            real = recall * everything[..., None] * member
            spurious = np.maximum(1 - real.sum(axis=(1, 2)) / np.maximum(own, 1e-12), 0.0)
        missed = np.maximum((everything[..., None] - real) * member, 0.0).sum(axis=(1, 2))
        lit = np.full(own.shape, np.nan)
        if self.is_supported is not None:
            seen = self.sums(weights, is_here & ~has & several[:, None] & self.is_supported[:, None])
            if self.is_adjudicated:
                alone = self.sums(weights, has & (~several & self.is_supported)[:, None], design, strata)
                alone = alone * shares.transpose(0, 2, 1)[:, None]
                seen = seen + ((alone.sum(axis=-1, keepdims=True) - alone) * member).sum(axis=(1, 2))
            lit = np.clip(seen / np.maximum(missed, 1e-12), 0.0, 1.0)
        missing = missed / np.maximum(own, 1e-12)
        unknown = trials.sum(axis=1)[0] <= 0
        for rates in (missing, spurious, lit):
            rates[:, unknown | (own[0] <= 0)] = np.nan
        return missing, spurious, lit

    def pooled_recall(self, hits: Floats, trials: Floats) -> Floats:
        """Return the recall by stratum and annotator, drawn towards that of all strata; without trials, that of all."""
        every = hits.sum(axis=(1, 2)) / np.maximum(trials.sum(axis=(1, 2)), 1e-12)
        total = trials.sum(axis=1)
        own = np.where(total > 0, hits.sum(axis=1) / np.maximum(total, 1e-12), every[:, None])[:, None]
        weight = POOLED if self.strata_count > 1 else 0.0
        return np.asarray(np.where(trials > 0, (hits + weight * own) / np.maximum(trials + weight, 1e-12), own))

    def found_twice(self, recall: Floats) -> Floats:
        """Return the probability that at least two annotators of a design have an object, [draw, design, stratum]."""
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
