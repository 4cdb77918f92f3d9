"""Who comes in which place, of three? Exactly, where their scores are independent and their laws are known."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.statistics.standings import Standings

Array = NDArray[np.float64]


def three_independent(laws: list[tuple[Array, Array]], recorded: NDArray[Any]) -> Standings:
    """Standings of three independent scores with known laws (values, probabilities), in time linear in their number."""
    low = min(int(values[0]) for values, _ in laws)
    high = max(int(values[-1]) for values, _ in laws)
    at = np.zeros((3, high - low + 1))
    for j, (values, probabilities) in enumerate(laws):
        at[j, (values - low).astype(np.int64)] = probabilities
    # Each tail is summed from its own thin end: no cancellation.
    under = np.concatenate([np.zeros((3, 1)), np.cumsum(at, axis=1)[:, :-1]], axis=1)
    over = np.concatenate([np.cumsum(at[:, ::-1], axis=1)[:, ::-1][:, 1:], np.zeros((3, 1))], axis=1)
    ahead, level, places = np.zeros((3, 3)), np.eye(3), np.zeros((3, 3))
    for i in range(3):
        j, k = (other for other in range(3) if other != i)
        for other in (j, k):
            ahead[i, other] = at[i] @ under[other]
            level[i, other] = at[i] @ at[other]
        for first, of_j in enumerate((under[j], at[j], over[j])):
            for second, of_k in enumerate((under[k], at[k], over[k])):
                better = (first == 2) + (second == 2)
                many = 1 + (first == 1) + (second == 1)
                places[i, better : better + many] += float(at[i] @ (of_j * of_k)) / many
    return Standings(ahead, level, places, whole_of_three(at, under, over, recorded))


def whole_of_three(at: Array, under: Array, over: Array, recorded: NDArray[Any]) -> float:
    """P(every pair that differs on the record keeps its order)."""
    order = np.argsort(-recorded, kind="stable")
    first, second, third = (int(j) for j in order)
    if recorded[first] == recorded[third]:
        return nan
    if recorded[first] == recorded[second]:
        return float(at[third] @ (over[first] * over[second]))
    if recorded[second] == recorded[third]:
        return float(at[first] @ (under[second] * under[third]))
    return float(at[second] @ (over[first] * under[third]))
