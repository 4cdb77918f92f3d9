"""Is one of two more frequent than the other beyond chance? The exact binomial test of a fair coin."""

from __future__ import annotations

from math import exp, lgamma, log


def sign_test(one: int, two: int) -> float:
    """The probability that a fair coin thrown as often falls at least as unevenly; two-sided. McNemar's exact test.

    >>> round(sign_test(10, 4), 6), sign_test(0, 0)
    (0.179565, 1.0)
    """
    total, fewer = one + two, min(one, two)
    if total == 0 or one == two:
        return 1.0
    # Terms fall fast from the largest one, which is the last.
    last = lgamma(total + 1) - lgamma(fewer + 1) - lgamma(total - fewer + 1) - total * log(2)
    term, tail = 1.0, 0.0
    for k in range(fewer, -1, -1):
        tail += term
        term *= k / (total - k + 1)
        if term < 1e-18 * tail:
            break
    return min(1.0, 2 * exp(last) * tail)
