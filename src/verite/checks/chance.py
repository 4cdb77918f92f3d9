"""Could it be chance? How unlikely a count is, in nats."""

from __future__ import annotations

from math import log

NATS = 12.0  # chance must be less likely than e^-12


def surprise(seen: float, expected: float) -> float:
    """How unlikely it is to see so many where so few are expected, in nats (Chernoff's bound on a Poisson tail)."""
    return seen * log(seen / expected) - (seen - expected) if seen > expected > 0 else 0.0


def imbalance(more: int, less: int) -> float:
    """How unlikely it is that fair coins fall so unevenly, in nats (Chernoff's bound on a binomial tail)."""
    total = more + less
    return sum(part * log(2 * part / total) for part in (more, less) if part) if more > less else 0.0
