"""What does each type of error cost? Shares of what is missing from AP that add up to it.

For a set S of types let v(S) be AP after every error whose type is in S is fixed. A type costs its Shapley value

    φᵢ = Σ over S without i of |S|! (5 − |S|)! / 6! · (v(S ∪ {i}) − v(S)),

the mean of what fixing it gains over every order of fixing all six; v of all six is 1, so that the costs add up to
1 − AP. What fixing it alone gains, v({i}) − v(∅), is TIDE's ΔAP.

Shapley, A Value for n-Person Games, 1953.
"""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from verite import _core
from verite.analysis.error_types import TYPES, ErrorTypes
from verite.records import record

if TYPE_CHECKING:
    from verite.analysis.matches import Floats, Ints, Matches

SETS = 2 ** len(TYPES)  # of types, one bit each


@record(eq=False)
class Costs:
    """Of every label, not a number where it has no truths; [label, type]."""

    base: Floats  # AP of each label
    cost: Floats
    alone: Floats
    false_positives: Floats  # gained if right predictions came first of all
    false_negatives: Floats  # gained if nothing were to be found but what is found


def find_costs(matches: Matches, types: ErrorTypes) -> Costs:
    """At one threshold."""
    values, special = value_sets(matches, types)
    base = values[:, 0]
    alone = values[:, [1 << i for i in range(len(TYPES))]] - base[:, None]
    return Costs(base, share(values), alone, special[:, 0] - base, special[:, 1] - base)


def value_sets(matches: Matches, types: ErrorTypes) -> tuple[Floats, Floats]:
    """AP of each label with every set of types fixed, [label, set], and with two special fixes, [label, 2]."""
    truths = matches.truths
    left = truths - matches.count(matches.truth_label[types.is_missed])
    found = matches.count(matches.pred_label[types.is_right])
    none = np.empty(0, dtype=np.int64)
    lists: list[Ints] = [
        matches.needed_hits(int(count)) if count and truths[k] else none
        for k, counts in enumerate(zip(truths, left, found, strict=True))
        for count in counts
    ]
    return _core.fix_errors(
        types.by_label,
        np.searchsorted(matches.pred_label[types.by_label], np.arange(len(matches.names) + 1)),
        types.place,
        np.where(types.is_right, 1, 0).astype(np.int8),
        types.kind,
        types.target,
        np.ascontiguousarray(matches.truth_label),
        types.is_mended.view(np.uint8),
        truths,
        left,
        np.concatenate([none, *lists]),
        np.cumsum([0, *map(len, lists)]),
        matches.results.SLACK,
        matches.evaluation.threads,
    )


def share(values: Floats) -> Floats:
    """Shapley values, [label, type], of the values of sets."""
    count, sets = len(TYPES), np.arange(SETS)
    shares = []
    for one in range(count):
        without = sets[sets >> one & 1 == 0]
        sizes = [int(bits).bit_count() for bits in without]
        weights = [factorial(size) * factorial(count - size - 1) / factorial(count) for size in sizes]
        # A type without errors changes no value, so that differences make its cost 0 to the last bit.
        shares.append((values[:, without | 1 << one] - values[:, without]) @ np.array(weights))
    return np.stack(shares, axis=1)
