"""What does each type of error cost? Shares of what is missing from AP that add up to it.

For a set S of types let v(S) be AP after every error whose type is in S is fixed. A type costs its Shapley value

    φᵢ = Σ over S without i of |S|! (5 − |S|)! / 6! · (v(S ∪ {i}) − v(S)),

the mean of what fixing it gains over every order of fixing all six; v of all six is 1, so that the costs add up to
1 − AP. What fixing it alone gains, v({i}) − v(∅), is TIDE's ΔAP.

Shapley, A Value for n-Person Games, 1953.
"""

from __future__ import annotations

from functools import lru_cache
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from verite.analysis.error_types import BOTH, CLASS, LOCALIZATION, MISSED, NONE, TYPES, ErrorTypes
from verite.records import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from verite.analysis.matches import Floats, Ints, Matches

    Needed = Callable[[int], Ints]

SETS = 2 ** len(TYPES)  # of types, one bit each
OTHERS = (BOTH, BOTH + 1, BOTH + 2)  # those whose fix only takes predictions away
# For each of their eight sets, how many predictions of each are left.
LEFT = np.array([[0 if bits >> i & 1 else 1 for i in range(len(OTHERS))] for bits in range(2 ** len(OTHERS))])


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
    labels = len(matches.names)
    values = np.full((labels, SETS), np.nan)
    special = np.full((labels, 2), np.nan)
    hits = list_hits(matches, types)
    missed = matches.count(matches.truth_label[types.is_missed])
    needed = remember(matches.results.needed_hits)
    for label in matches.present.tolist():
        walk = Walk(hits, label, needed, matches.results.SLACK)
        truths = int(matches.truths[label])
        values[label] = walk.value_sets(truths, truths - int(missed[label]))
        special[label] = walk.value_specials(truths)
    base = values[:, 0]
    alone = values[:, [1 << i for i in range(len(TYPES))]] - base[:, None]
    return Costs(base, share(values), alone, special[:, 0] - base, special[:, 1] - base)


def remember(needed: Needed) -> Needed:
    """Labels often have as many truths as others."""
    return lru_cache(maxsize=4096)(needed)


@record(eq=False)
class Hits:
    """Predictions that are right or become right, label by label and by falling confidence."""

    offsets: Ints  # of labels
    mended_by: NDArray[np.int8]  # the type whose fix makes them right; NONE: they are right
    wrong: Ints  # [type, hit]: wrong predictions of the same label before it, by the type of their error
    all_wrong: Ints  # [type, label]


def list_hits(matches: Matches, types: ErrorTypes) -> Hits:
    """A class error that is mended becomes right among the predictions of another label."""
    count = len(matches.pred) + 1
    right, mended = np.flatnonzero(types.is_right), np.flatnonzero(types.is_mended)
    rows = np.concatenate([right, mended])
    label = np.concatenate([matches.pred_label[right], matches.truth_label[types.target[mended]]]).astype(np.int64)
    mended_by = np.concatenate([np.full(len(right), NONE, dtype=np.int8), types.kind[mended]])
    keys = label * count + matches.place[rows]
    order = np.argsort(keys)
    keys, label = keys[order], label[order]
    labels = np.arange(len(matches.names) + 1)
    listed = matches.by_label
    kinds = types.kind[listed]
    listed_keys = matches.pred_label[listed].astype(np.int64) * count + matches.place[listed]
    wrong, all_wrong = [], []
    for one in range(MISSED):
        of_type = listed_keys[kinds == one]
        starts = np.searchsorted(of_type, labels * count)
        wrong.append(np.searchsorted(of_type, keys) - starts[label])
        all_wrong.append(np.diff(starts))
    offsets = np.searchsorted(keys, labels * count)
    return Hits(offsets, mended_by[order], np.stack(wrong), np.stack(all_wrong))


class Walk:
    """The hits of one label, walked with every set of types fixed."""

    def __init__(self, hits: Hits, label: int, needed: Needed, slack: float) -> None:
        part = slice(hits.offsets[label], hits.offsets[label + 1])
        self.mended_by, self.wrong = hits.mended_by[part], hits.wrong[:, part]
        self.all_wrong = hits.all_wrong[:, label]
        self.needed, self.slack = needed, slack

    def value_sets(self, truths: int, unmissed: int) -> Floats:
        """AP with each set of types fixed; `unmissed` truths are left where those that are missed do not count."""
        values = np.empty(SETS)
        others = np.arange(len(LEFT)) << BOTH
        for moved in range(4):  # sets of the two types whose fix makes predictions right
            fixed = [one for one in (CLASS, LOCALIZATION) if moved >> one & 1]
            kept = [one for one in (CLASS, LOCALIZATION) if one not in fixed]
            chosen = np.isin(self.mended_by, [NONE, *fixed])
            wrong = LEFT @ self.wrong[OTHERS[0] : MISSED, chosen] + self.wrong[kept][:, chosen].sum(axis=0)
            all_wrong = LEFT @ self.all_wrong[OTHERS[0] : MISSED] + self.all_wrong[kept].sum()
            best = self.rise(wrong)
            values[moved | others] = self.read(best, truths, all_wrong)
            values[moved | others | 1 << MISSED] = self.read(best, unmissed, all_wrong)
        return values

    def rise(self, wrong: Ints) -> Floats:
        """The best precision from each hit on, [set, hit]."""
        right = np.arange(1, wrong.shape[-1] + 1)
        precision = right / (right + wrong + self.slack)
        return np.asarray(np.maximum.accumulate(precision[..., ::-1], axis=-1)[..., ::-1])

    def read(self, best: Floats, truths: int, all_wrong: Ints) -> Floats:
        """AP of each set; where nothing is to be found, 1 if nothing wrong is left, else 0."""
        if truths == 0:
            return np.where(all_wrong == 0, 1.0, 0.0)
        padded = np.concatenate([best, np.zeros((len(best), 1))], axis=1)
        at = np.minimum(self.needed(truths) - 1, best.shape[1])
        return np.asarray(padded[:, at].mean(axis=1))

    def value_specials(self, truths: int) -> tuple[float, float]:
        """AP with all right predictions before all wrong ones, and with nothing to be found but what is found."""
        right = self.mended_by == NONE
        wrong = self.wrong[:, right].sum(axis=0)[None]
        found, all_wrong = int(right.sum()), np.array([self.all_wrong.sum()])
        first = self.read(self.rise(np.zeros_like(wrong)), truths, all_wrong)
        return float(first[0]), float(self.read(self.rise(wrong), found, all_wrong)[0])


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
