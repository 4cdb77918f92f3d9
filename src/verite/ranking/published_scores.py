"""Rank probabilities from published scores alone: the exact range over every possible overlap of right answers.

A paper that prints accuracies of two algorithms does not tell on which items both are right. With A right on a items
and B on b < a of n, the items that only B has right may be any number x; only A has a - b + x then. Every annotation is
wrong with probability epsilon, which turns right into wrong. The probability that A stays ahead depends on x alone; it
is computed for every x.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from math import isfinite, lgamma, log

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table
from verite.ranking.result import MAX_TESTS
from verite.statistics.mcnemar import mcnemar_exact

Floats = NDArray[np.float64]
MOST_ITEMS = 10_000_000
MOST_OVERLAPS = 400  # overlaps that are computed; of more, evenly spaced ones with both ends


@dataclass(frozen=True)
class KeptRange:
    """The range of probabilities that the leader of two algorithms stays ahead.

    Parameters
    ----------
    first, second : str
        The algorithm with the higher score, and the other.
    right_first, right_second : int
        Items each has right.
    low, high : float
        Smallest and largest probability that the first stays strictly ahead, over all overlaps.
    disagree_at_low, disagree_at_high : int
        Items on which exactly one of both is right, where the smallest and the largest are reached.
    p_items_low, p_items_high : float
        Smallest and largest p-value, over all overlaps, that both are equally good on further items (McNemar's exact
        test). It rises with the number of items on which they disagree.
    """

    first: str
    second: str
    right_first: int
    right_second: int
    low: float
    high: float
    disagree_at_low: int
    disagree_at_high: int
    p_items_low: float
    p_items_high: float


def binomial_pmf(count: int, share: float) -> Floats:
    """Return the probabilities of 0 … count successes.

    >>> binomial_pmf(2, 0.5)
    array([0.25, 0.5 , 0.25])
    """
    if count == 0 or share in (0.0, 1.0):
        found = np.zeros(count + 1)
        found[count if share == 1.0 else 0] = 1.0
        return found
    k = np.arange(count + 1)
    factorials = np.array([lgamma(i + 1) for i in k])
    logs = factorials[-1] - factorials - factorials[::-1] + k * log(share) + (count - k) * log(1 - share)
    weights = np.exp(logs)
    pmf: Floats = weights / weights.sum()
    return pmf


def probability_ahead(only_first: int, only_second: int, epsilon: float) -> float:
    """Return the probability that the first stays strictly ahead if each annotation is wrong with probability epsilon.

    A wrong annotation turns an item that only the first has right into one that only the second has right.

    >>> probability_ahead(1, 0, 0.2), probability_ahead(2, 1, 0.0)
    (0.8, 1.0)
    """
    lost, won = binomial_pmf(only_first, epsilon), binomial_pmf(only_second, epsilon)
    # Ahead if only_first - 2 lost > only_second - 2 won, that is lost - won < (only_first - only_second) / 2.
    limits = np.arange(only_second + 1) + (only_first - only_second + 1) // 2 - 1  # most that may be lost, by won
    below = np.concatenate([[0.0], np.cumsum(lost)])
    found = won @ below[np.clip(limits + 1, 0, only_first + 1)]
    return float(min(1.0, found))


def disagreements(pair: KeptRange) -> list[int]:
    """Return the numbers of items on which two algorithms disagree at both ends of the range, in rising order."""
    return sorted((pair.disagree_at_low, pair.disagree_at_high))


@dataclass(frozen=True, repr=False)
class PublishedRanking(Display):
    """Pairs of algorithms with the range of the probability that their order holds.

    Parameters
    ----------
    items : int
        Number of items.
    epsilon : float
        Share of wrong annotations.
    pairs : tuple of KeptRange
        Every two algorithms, the best first.
    """

    items: int
    epsilon: float
    pairs: tuple[KeptRange, ...]

    def main_table(self) -> Table:
        """Return the pairs."""
        head = ("first", "second", "right", "right", "P(kept) at least", "at most", "disagree on", "to")
        rows = tuple(
            (
                p.first,
                p.second,
                p.right_first,
                p.right_second,
                p.low,
                p.high,
                *sorted((p.disagree_at_low, p.disagree_at_high)),
            )
            for p in self.pairs
        )
        return Table(head, rows)

    def contents(self) -> list[Part]:
        sure = sum(p.low >= 0.95 for p in self.pairs)
        return [
            f"{self.items:,} items, {100 * self.epsilon:g} % of annotations wrong: range of P(kept) over every "
            "possible overlap of right answers",
            self.main_table(),
            f"{sure} of {len(self.pairs)} orders hold with probability 0.95 whatever the overlap; tables of answers "
            "(verite rank table.csv) replace the range by one number",
            self.sampling_line(),
        ]

    def sampling_line(self) -> str:
        """What is not covered: the choice of items, with the range of the paired test over them."""
        tests = [f"{p.first} and {p.second} p = {p.p_items_low:.2g} to {p.p_items_high:.2g}" for p in self.pairs]
        shown = ", ".join(tests[:MAX_TESTS]) + (" …" if len(tests) > MAX_TESTS else "")
        return f"Not covered: the choice of items. Paired test over items, for every possible overlap: {shown}."

    def to_json(self, *, indent: int = 0) -> str:
        found = {"items": self.items, "epsilon": self.epsilon, "pairs": [asdict(pair) for pair in self.pairs]}
        return to_json(found, indent=indent)


def rank_published(scores: Mapping[str, float], items: int, epsilon: float) -> PublishedRanking:
    """Rank algorithms from published accuracies alone.

    Parameters
    ----------
    scores : mapping
        Share of right answers by algorithm, from 0 to 1.
    items : int
        Number of items.
    epsilon : float
        Share of wrong annotations, independent of each other, from 0 to 0.5.

    Returns
    -------
    PublishedRanking

    Raises
    ------
    BadParameter
        If a score is not from 0 to 1, or there are fewer than two.

    Examples
    --------
    >>> found = rank_published({"A": 0.6, "B": 0.5}, items=10, epsilon=0.2).pairs[0]
    >>> found.first, round(found.high, 6)      # they disagree on one item at least: it is right with probability 0.8
    ('A', 0.8)
    """
    if len(scores) < 2:
        raise BadParameter(f"scores: expected two algorithms or more, found {len(scores)}")
    if isinstance(items, bool) or not isinstance(items, int) or not 1 <= items <= MOST_ITEMS:
        raise BadParameter(f"items: expected a whole number from 1 to {MOST_ITEMS:,}, found {items!r}")
    if not 0 <= epsilon <= 0.5:
        raise BadParameter(f"epsilon: expected a share from 0 to 0.5, found {epsilon!r}")
    for name, score in scores.items():
        if not isfinite(score) or not 0 <= score <= 1:
            raise BadParameter(
                f"scores: expected shares from 0 to 1, found {name}={score:g}; divide percentages by 100"
            )
    right = {name: round(score * items) for name, score in scores.items()}
    ordered = sorted(scores, key=lambda name: -right[name])
    pairs = []
    for first, second in combinations(ordered, 2):
        # The range of the probability that the first of two algorithms stays ahead, over all overlaps.
        mine, theirs = right[first], right[second]
        most = min(theirs, items - mine)  # items that only the second has right
        overlaps = np.unique(np.linspace(0, most, min(most + 1, MOST_OVERLAPS)).round().astype(np.int64))
        found = [probability_ahead(mine - theirs + int(x), int(x), epsilon) for x in overlaps]
        low, high = int(np.argmin(found)), int(np.argmax(found))
        disagree = [mine - theirs + 2 * int(overlaps[i]) for i in (low, high)]
        tests = [mcnemar_exact(mine - theirs + x, x) for x in (0, most)]
        pairs.append(KeptRange(first, second, mine, theirs, found[low], found[high], *disagree, *tests))
    return PublishedRanking(items, epsilon, tuple(pairs))


def parse_scores(text: str) -> dict[str, float]:
    """Read A=0.85,B=0.84.

    >>> parse_scores("A=0.85,B=84%")
    {'A': 0.85, 'B': 0.84}
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        try:
            value = float(number.strip().removesuffix("%")) / (100 if number.strip().endswith("%") else 1)
        except ValueError:
            value = float("nan")
        if not name.strip() or value != value:
            raise BadParameter(f"scores: expected NAME=SHARE such as A=0.85,B=0.84, found {part!r}")
        if name.strip() in found:
            raise BadParameter(f"scores: expected each algorithm once, found {name.strip()} twice")
        found[name.strip()] = value
    return found
