"""McNemar's exact test: do two detectors differ on the same objects?

Only the discordant pairs count: objects that exactly one of the two detects. If both were equally good, each of them
would be equally likely to go to either detector, so that their number follows a binomial distribution with p = 1/2.

Q. McNemar, Note on the sampling error of the difference between correlated proportions, Psychometrika 1947.
"""

from __future__ import annotations

from math import exp, lgamma, log


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Return the two-sided p value of McNemar's exact (binomial) test.

    Parameters
    ----------
    only_first, only_second
        Objects that the first detector alone, and the second alone, detects. Objects that both or neither detect do
        not enter the test. Objects are taken as independent.

    Returns
    -------
    float
        P(a split at least as uneven | both are equally good); 1 without discordant pairs. Exact for any number of
        objects: no normal approximation, and no overflow for large counts.

    Examples
    --------
    >>> round(mcnemar_exact(10, 4), 6), round(mcnemar_exact(1, 5), 4), mcnemar_exact(0, 0)
    (0.179565, 0.2188, 1.0)
    """
    total, fewer = only_first + only_second, min(only_first, only_second)
    if total == 0 or only_first == only_second:
        return 1.0
    # The largest term of the tail is the last one; relative to it, the others fall quickly.
    last = lgamma(total + 1) - lgamma(fewer + 1) - lgamma(total - fewer + 1) - total * log(2)
    term, tail = 1.0, 0.0
    for k in range(fewer, -1, -1):
        tail += term
        term *= k / (total - k + 1)
        if term < 1e-18 * tail:
            break
    return min(1.0, 2 * exp(last) * tail)
