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
    # In the basis of the noise's eigenvectors all matrices are diagonal; two copies of a detector make one of them 0.
    values, basis = np.linalg.eigh(np.cov(sampled.T))
    values = np.where(values > 1e-12 * values.max(), values, 0.0)
    turned, ones = basis.T @ observed, basis.T @ np.ones(size)
    scale = float(np.sqrt(max((values.sum() - values @ ones**2 / size) / (size - 1), 1e-18)))
    taus = np.linspace(0, 1, GRID) ** 2 * WIDEST * max(scale, float(np.std(observed, ddof=1))) + 1e-3 * scale
    # For each τ, with μ integrated: precision and mean of μ, log posterior of τ.
    variances = values + taus[:, None] ** 2
    precisions = (ones**2 / variances).sum(axis=1)
    means = (ones * turned / variances).sum(axis=1) / precisions
    misfits = ((turned - means[:, None] * ones) ** 2 / variances).sum(axis=1)
    logs = np.log(np.gradient(taus)) - 0.5 * (np.log(variances).sum(axis=1) + np.log(precisions) + misfits)
    weights = np.exp(logs - logs.max())
    rng = np.random.Generator(np.random.PCG64(seed))
    chosen = rng.choice(GRID, draws, p=weights / weights.sum())
    mu = means[chosen] + rng.standard_normal(draws) / np.sqrt(precisions[chosen])
    kept = taus[chosen, None] ** 2 / variances[chosen]  # share of each deviation from μ that is no noise
    spread = np.sqrt(kept * values)
    found = kept * (turned - mu[:, None] * ones) + spread * rng.standard_normal((draws, size))
    return np.asarray(mu[:, None] + found @ basis.T)
