"""Hierarchical shrinkage of scores: probabilities that allow for the winner's curse.

The detector with the highest score was probably lucky: of five detectors that lead on 300 images, resamples of these
images put the leader first in 67 %, but only 54 % of the leaders are the best on all images. The hierarchical model

    scores ~ N(θ, Σ),   θ_j ~ N(μ, τ²),   μ and τ flat

with Σ, the covariance of resampled scores, pulls the scores towards each other, the more the closer they are together
compared with their noise (Efron and Morris, JASA 1975). τ is integrated over a grid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verite.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIN_DETECTORS = 3  # from two, nothing follows about how alike detectors are
GRID = 60  # values of τ
DRAWS = 4000
WIDEST = 10  # largest τ, in standard deviations of the scores or of their noise


def shrunken_scores(scores: Any, samples: Any, seed: int = 0, draws: int = DRAWS) -> NDArray[np.float64]:
    """Return draws from the posterior of true scores, [draw, detector].

    Parameters
    ----------
    scores
        The score of each detector; at least three.
    samples
        Resampled scores, [sample, detector], whose covariance is that of the noise. Samples with nan are left out.
    seed, draws
        The seed, and the number of draws.

    Examples
    --------
    Three detectors whose scores differ by less than their noise: the leader is hardly better than the others.

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(0, 0.05, (500, 3))
    >>> found = shrunken_scores([0.52, 0.50, 0.48], noise)
    >>> bool(0.33 < (found.argmax(axis=1) == 0).mean() < 0.55)
    True
    """
    observed, sampled = np.asarray(scores, dtype=np.float64), np.asarray(samples, dtype=np.float64)
    sampled = sampled[~np.isnan(sampled).any(axis=1)]
    size = len(observed)
    identity, ones = np.eye(size), np.ones(size)
    noise = np.cov(sampled.T)
    centring = identity - 1 / size
    scale = float(np.sqrt(max(np.trace(centring @ noise @ centring) / (size - 1), 1e-18)))
    taus = np.linspace(0, 1, GRID) ** 2 * WIDEST * max(scale, float(np.std(observed, ddof=1))) + 1e-3 * scale
    # For each τ, with μ integrated: log posterior, inverse covariance of the scores, precision and mean of μ.
    logs = np.log(np.gradient(taus))
    inverses, precisions, means = [], [], []
    for i, tau in enumerate(taus):
        covariance = noise + tau**2 * identity
        inverse = np.linalg.inv(covariance)
        precision = float(ones @ inverse @ ones)
        mean = float(ones @ inverse @ observed) / precision
        rest = observed - mean
        logs[i] -= 0.5 * (np.linalg.slogdet(covariance)[1] + np.log(precision) + rest @ inverse @ rest)
        inverses.append(inverse)
        precisions.append(precision)
        means.append(mean)
    weights = np.exp(logs - logs.max())
    rng = np.random.Generator(np.random.PCG64(seed))
    chosen = rng.choice(GRID, draws, p=weights / weights.sum())
    found = np.empty((draws, size))
    for i in np.unique(chosen):
        rows, square = np.flatnonzero(chosen == i), taus[i] ** 2
        mu = means[i] + rng.standard_normal(len(rows)) / np.sqrt(precisions[i])
        spread = np.linalg.cholesky(square * identity - square**2 * inverses[i] + 1e-12 * square * identity)
        pulled = (observed - mu[:, None]) @ (square * inverses[i])
        found[rows] = mu[:, None] + pulled + rng.standard_normal((len(rows), size)) @ spread.T
    return found
