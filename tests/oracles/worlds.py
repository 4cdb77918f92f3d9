"""Every truth there could be, one by one, in exact fractions: slow, obvious, and independent of the package.

A world is a weight and the score of every algorithm in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb, prod

World = tuple[Fraction, tuple[Fraction, ...]]
# The weight of a set of wrong records, given as a 0 or 1 for every item.
Weight = Callable[[Sequence[int]], Fraction]


@dataclass(frozen=True)
class Orders:
    """What the worlds say about every pair, every place and the whole order."""

    ahead: list[list[Fraction]]
    level: list[list[Fraction]]
    places: list[list[Fraction]]
    whole: Fraction | None


def independent(rates: Sequence[float]) -> Weight:
    exact = [Fraction(rate) for rate in rates]
    return lambda wrong: prod((e if w else 1 - e for e, w in zip(exact, wrong, strict=True)), start=Fraction(1))


def exactly(errors: int) -> Weight:
    return lambda wrong: Fraction(sum(wrong) == errors, comb(len(wrong), errors))


def rising(start: Fraction, steps: int) -> Fraction:
    return prod((start + i for i in range(steps)), start=Fraction(1))


def beta_weight(alpha: Fraction, beta: Fraction, wrong: Sequence[int]) -> Fraction:
    """The probability of this very set when the common rate is drawn from Beta(alpha, beta)."""
    k, n = sum(wrong), len(wrong)
    return rising(alpha, k) * rising(beta, n - k) / rising(alpha + beta, n)


def audit(errors: int, checked: int) -> Weight:
    half = Fraction(1, 2)
    return lambda wrong: beta_weight(errors + half, checked - errors + half, wrong)


def shared(epsilon: float, correlation: float, groups: Sequence[object]) -> Weight:
    names = sorted(set(groups), key=str)
    members = [[i for i, g in enumerate(groups) if g == name] for name in names]
    rate, rho = Fraction(epsilon), Fraction(correlation)

    def weight(wrong: Sequence[int]) -> Fraction:
        total = Fraction(1)
        for rows in members:
            mine = [wrong[i] for i in rows]
            if rho == 1:
                total *= rate if all(mine) else 1 - rate if not any(mine) else Fraction(0)
            elif rho == 0:
                total *= independent([epsilon] * len(mine))(mine)
            else:
                total *= beta_weight(rate * (1 - rho) / rho, (1 - rate) * (1 - rho) / rho, mine)
        return total

    return weight


def binary_worlds(
    truth: Sequence[int], answers: Sequence[Sequence[int]], weight: Weight, vanishes: bool = False
) -> Iterator[World]:
    """All 2^p truths. `vanishes`: a wrong record gives its point to nobody."""
    for wrong in product((0, 1), repeat=len(truth)):
        real = [t ^ w for t, w in zip(truth, wrong, strict=True)]
        scores = tuple(
            Fraction(sum(a == r and not (vanishes and w) for a, r, w in zip(column, real, wrong, strict=True)))
            for column in answers
        )
        yield weight(wrong), scores


def label_worlds(
    truth: Sequence[int],
    labels: int,
    gain: Callable[[int, int, int], Fraction],
    algorithms: int,
    weight: Weight,
    confusion: Sequence[Sequence[float]] | None = None,
) -> Iterator[World]:
    """All labellings of items with one of several labels; gain(algorithm, item, true label) is what it scores there."""
    for real in product(range(labels), repeat=len(truth)):
        moves = Fraction(1)
        for t, r in zip(truth, real, strict=True):
            if t != r:
                moves *= Fraction(confusion[t][r]) if confusion is not None else Fraction(1, labels - 1)
        if moves:
            chance = weight([int(t != r) for t, r in zip(truth, real, strict=True)]) * moves
            yield (
                chance,
                tuple(sum((gain(j, i, r) for i, r in enumerate(real)), Fraction(0)) for j in range(algorithms)),
            )


def orders(worlds: Iterator[World], recorded: Sequence[Fraction | int], tolerance: float = 0.0) -> Orders:
    """Count the orders; a tie shares its places evenly."""
    size = len(recorded)
    zero = [[Fraction(0)] * size for _ in range(size)]
    ahead, level, places = ([row[:] for row in zero] for _ in range(3))
    whole = Fraction(0)
    strict = [(i, j) for i in range(size) for j in range(size) if recorded[i] - recorded[j] > tolerance]
    chances: dict[tuple[Fraction, ...], Fraction] = {}
    for weight, scores in worlds:
        chances[scores] = chances.get(scores, Fraction(0)) + weight
    for scores, weight in chances.items():
        for i in range(size):
            better = sum(scores[j] - scores[i] > tolerance for j in range(size))
            tied = sum(abs(scores[j] - scores[i]) <= tolerance for j in range(size))
            for place in range(better, better + tied):
                places[i][place] += weight / tied
            for j in range(size):
                ahead[i][j] += weight * (scores[i] - scores[j] > tolerance)
                level[i][j] += weight * (abs(scores[i] - scores[j]) <= tolerance)
        whole += weight * all(scores[i] - scores[j] > tolerance for i, j in strict)
    return Orders(ahead, level, places, whole if strict else None)
