"""Outcomes of items: what each adds to the scores, if its annotation is right and if it is wrong.

An item with a right annotation gives a point to the algorithms that agree with it; with a wrong one its point goes to
others, or to none. Items of the same type are counted together, and those that treat all algorithms alike are dropped:
they never change a ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.annotation_errors.model import ErrorModel
from verite.ranking.answers import AnswerTable
from verite.ranking.poisson_binomial import Steps, merge_rows


@dataclass(frozen=True, eq=False)
class ItemOutcomes:
    """Types of items: their number, and the algorithms that are right if the annotation is right, or wrong."""

    names: tuple[str, ...]
    items: int  # all of them, also those left out
    scores: NDArray[np.int64]  # right answers of each algorithm as recorded
    counts: NDArray[np.int64]  # items of each kind
    rates: NDArray[np.float64]  # probability that the record of such an item is wrong
    right: NDArray[np.int8]  # kinds × algorithms: 1 where it is right if the record is
    moves: NDArray[np.float64]  # kinds × ways: probability of each way of being wrong, given that it is
    gains: NDArray[np.int8]  # kinds × ways × algorithms: 1 where it is right then
    groups: NDArray[np.int64]  # which group of shared errors the items belong to

    def at(self, epsilon: float) -> ItemOutcomes:
        """Return the same items with one error rate for all."""
        return replace(self, rates=np.full(len(self.counts), epsilon))

    def where(self, mask: NDArray[np.bool_]) -> ItemOutcomes:
        """Return some of the types."""
        columns = ("counts", "rates", "right", "moves", "gains", "groups")
        return replace(self, **{name: getattr(self, name)[mask] for name in columns})

    @property
    def is_reversal(self) -> bool:
        """Whether every wrong annotation turns right answers into wrong ones and vice versa."""
        return self.gains.shape[1] == 1 and bool(np.array_equal(self.gains[:, 0], 1 - self.right))

    def between(self, first: int, second: int) -> Pairwise:
        """Return the same items as seen by two algorithms."""
        stay = self.right[:, first] - self.right[:, second]
        moved = self.gains[:, :, first] - self.gains[:, :, second]
        wrong = np.stack([(self.moves * (moved == value)).sum(axis=1) for value in (-1, 0, 1)], axis=1)
        matter = (stay != 0) | ((moved != 0) & (self.moves > 0)).any(axis=1)
        rows, counts = merge_rows(np.column_stack([stay, wrong, self.rates, self.groups])[matter], self.counts[matter])
        return Pairwise(
            self.items, counts, rows[:, 0].astype(np.int64), rows[:, 1:4], rows[:, 4], rows[:, 5].astype(np.int64)
        )


@dataclass(frozen=True, eq=False)
class Pairwise:
    """Types of discordant items of two algorithms. +1 is a point for the first, -1 one for the second."""

    items: int  # all of them, also those that cannot
    counts: NDArray[np.int64]
    stay: NDArray[np.int64]  # the item's point if the record is right
    wrong: NDArray[np.float64]  # P(-1), P(0), P(+1) if it is not
    rates: NDArray[np.float64]
    groups: NDArray[np.int64]

    @property
    def gap(self) -> int:
        """The first score minus the second, as recorded."""
        return int(self.counts @ self.stay)

    @property
    def size(self) -> int:
        """The number of items that can distinguish the two."""
        return int(self.counts.sum())

    def only(self, value: int) -> int:
        """Return the number of items that the first only (1), the second only (-1) or neither (0) gets right."""
        return int(self.counts[self.stay == value].sum())

    @property
    def is_reversal(self) -> bool:
        """Whether every wrong annotation gives the point to the other algorithm."""
        return bool(np.all(self.wrong[np.arange(len(self.stay)), 1 - self.stay] == 1))

    def steps(self, epsilon: float | None = None) -> Steps:
        """Return the steps of the first score minus the second; with `epsilon`, at this rate for every item."""
        rates = self.rates if epsilon is None else np.full(len(self.stay), epsilon)
        pmfs = self.wrong * rates[:, None]
        pmfs[np.arange(len(pmfs)), self.stay + 1] += 1 - rates
        return Steps(pmfs, self.counts)

    @classmethod
    def of(cls, items: int, counts: NDArray[np.int64], stay: NDArray[np.int64], wrong: NDArray[np.float64]) -> Pairwise:
        """Make types whose rates and groups have no effect."""
        used = counts > 0
        none = np.zeros(int(used.sum()))
        return cls(items, counts[used], stay[used], wrong[used], none, none.astype(np.int64))


def outcomes_of(answers: AnswerTable, model: ErrorModel) -> ItemOutcomes:
    """Return the types of items of a table under an error model."""
    model.check(len(answers))
    table, which = model.rates_of(answers)
    groups = model.groups_of(answers)
    keys = [] if which is None else [which]
    keys += [] if groups is None else [groups]
    if answers.kind == "labels":
        right, moves, gains, extra, counts = label_kinds(answers, keys)
    else:
        # Types by who is right; a wrong annotation makes the others right (or, if it vanishes, none).
        columns = [(column == answers.truth).astype(np.uint8) for column in answers.answers]
        distinct, counts = count_rows([*columns, *keys])
        right = np.stack(distinct[: len(columns)], axis=1).astype(np.int8)
        gains = (1 - right if answers.wrong == "reverses" else np.zeros_like(right))[:, None, :]
        matter = right.any(axis=1) & ~right.all(axis=1)
        extra = [key[matter] for key in distinct[len(columns) :]]
        right, gains, counts = right[matter], gains[matter], counts[matter]
        moves = np.ones((len(counts), 1))
    rates = table[extra[0]] if which is not None else np.full(len(counts), table[0])
    return ItemOutcomes(
        names=answers.names,
        items=len(answers),
        scores=np.array([np.count_nonzero(c == answers.truth) for c in answers.answers], dtype=np.int64),
        counts=counts,
        rates=rates,
        right=right,
        moves=moves,
        gains=gains,
        groups=extra[-1] if groups is not None else np.zeros(len(counts), dtype=np.int64),
    )


Kinds = tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.int8], list[NDArray[np.int64]], NDArray[np.int64]]


def label_kinds(answers: AnswerTable, keys: Sequence[NDArray[np.int64]]) -> Kinds:
    """Return types by which algorithms gave the annotated label, and which of the others gave the same one."""
    size, confusion = len(answers.answers), answers.confusion
    labels = len(answers.labels)
    if confusion is None:
        # Labels other than the recorded one are all alike: only who agrees with whom is_relevant.
        seen = agreement(answers)
        distinct, counts = count_rows([*seen, *keys])
        codes = np.stack(distinct[:size], axis=1)
        right = (codes == 0).astype(np.int8)
        ways = [(codes == way).astype(np.int8) for way in range(1, size + 1)]
        moves = np.stack([way.any(axis=1) / (labels - 1) for way in ways], axis=1)
    else:
        distinct, counts = count_rows([answers.truth, *answers.answers, *keys])
        recorded, codes = distinct[0], np.stack(distinct[1 : size + 1], axis=1)
        right = (codes == recorded[:, None]).astype(np.int8)
        ways = [(codes == codes[:, [j]]).astype(np.int8) for j in range(size)]
        first = np.stack([~(codes[:, :j] == codes[:, [j]]).any(axis=1) for j in range(size)], axis=1)
        moves = np.where(first & (right == 0), confusion[recorded[:, None], codes], 0.0)
        ways = [way * (moves[:, [j]] > 0) for j, way in enumerate(ways)]
        distinct = distinct[1:]
    # Exactly 0 where every label an item could move to was answered, so that no tie appears that cannot be.
    could = np.full(len(right), labels - 1) if confusion is None else np.count_nonzero(confusion, axis=1)[recorded]
    unmoved = np.where((moves > 0).sum(axis=1) == could, 0.0, np.maximum(1 - moves.sum(axis=1), 0.0))
    gains = np.stack([*ways, np.zeros_like(right)], axis=1).astype(np.int8)
    moves = np.concatenate([moves, unmoved[:, None]], axis=1)
    used = moves.any(axis=0)
    alike = (right == right[:, [0]]).all(axis=1) & (gains == gains[:, :, [0]]).all(axis=(1, 2))
    matter = ~alike
    return (
        right[matter],
        moves[matter][:, used],
        gains[matter][:, used],
        [k[matter] for k in distinct[size:]],
        counts[matter],
    )


def agreement(answers: AnswerTable) -> list[NDArray[np.int64]]:
    """Return per algorithm and item 0 for the annotated label, else the number of the first that gave its label."""
    seen: list[NDArray[np.int64]] = []
    for j, column in enumerate(answers.answers):
        code = np.full(len(answers), j + 1, dtype=np.int64)
        for i in range(j - 1, -1, -1):
            same = column == answers.answers[i]
            code[same] = seen[i][same]
        code[column == answers.truth] = 0
        seen.append(code)
    return seen


def count_rows(columns: Sequence[NDArray[Any]]) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Return the distinct rows of some columns of whole numbers, and how often each occurs."""
    sizes = [int(column.max()) + 1 for column in columns]
    room = prod(sizes)
    if room >= 2**62:
        rows, counts = np.unique(np.stack(columns, axis=1).astype(np.int64), axis=0, return_counts=True)
        return list(rows.T), counts.astype(np.int64)
    # One number a row, in the smallest type that holds it.
    small = np.min_scalar_type(room)
    code = columns[0].astype(small)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        code *= small.type(size)
        code += column.astype(small, copy=False)
    if room <= 8:
        codes = np.arange(room)
        counts = np.array([np.count_nonzero(code == value) for value in range(room)])
        codes, counts = codes[counts > 0], counts[counts > 0]
    elif room <= 2**16 + len(code):
        counts = np.bincount(code)
        codes = np.flatnonzero(counts)
        counts = counts[codes]
    else:
        codes, counts = np.unique(code, return_counts=True)
        codes = codes.astype(np.int64)
    distinct: list[NDArray[np.int64]] = []
    for size in reversed(sizes):
        codes, rest = np.divmod(codes, size)
        distinct.insert(0, rest)
    return distinct, counts.astype(np.int64)
