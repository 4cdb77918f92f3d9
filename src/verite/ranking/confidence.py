"""Tables of confidences: a confidence for every label and item, ranked by log-loss or KL divergence (`vt.ScoreTable`).

An algorithm loses, on each item, what its confidences say about the true label. A wrong annotation means that the label
is another one: with probability epsilon it moves, to any other label with equal probability or as a confusion matrix
says. The annotations may have confidences of their own (soft labels): then the loss is weighted by them, and a label
that moves exchanges its confidence with the other's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from verite.annotation_errors.distributions import binomial_log_pmf
from verite.annotation_errors.model import ErrorModel, fingerprint
from verite.errors import BadParameter, DataError
from verite.ranking.answers import Where, check_items, describe_moves, digest_of, numbered_item
from verite.ranking.montecarlo import ErrorEffects
from verite.ranking.sheets import resolve_confusion
from verite.statistics.intervals import student_tails
from verite.statistics.rankings import keeps_order

Array = NDArray[np.float64]
Loss = Literal["logloss", "kl_printed"]
Sums = Literal["check", "keep", "scale"]
LOSSES = {"logloss": "log-loss", "kl_printed": "KL divergence"}
COMBINATIONS = 500_000  # ways of being wrong that are gone through one by one


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """A confidence of every algorithm for every label of every item, and the annotated label.

    Make one with :meth:`of` or :meth:`read`.

    Parameters
    ----------
    names, labels : tuple of str
        The algorithms and the labels, at least two each.
    truth : array of int
        The annotations, as positions in `labels`.
    values : array
        Confidences, algorithms × items × labels.
    columns : mapping of str to array
        Further columns about the items.
    where : callable
        Names an item in messages.
    source : str
        The file.
    sums : {"check", "keep", "scale"}, default "check"
        What was done about rows that do not add up to one.
    loss : {"logloss", "kl_printed"}, default "logloss"
        D(truth || answer), or D(answer || truth).
    zero : float, default 1e-9
        Replaces zero confidences.
    tolerance : float, default 1e-9
        Losses that differ by no more are tied.
    confusion : array, optional
        P(true label | annotated label, and the annotation is wrong).
    soft : array, optional
        Confidences of the annotations, items × labels.

    Examples
    --------
    >>> table = ScoreTable.of([0, 1], {"a": [[0.9, 0.1], [0.2, 0.8]], "b": [[0.6, 0.4], [0.5, 0.5]]})
    >>> table
    Confidences: 2 algorithms on 2 items with 2 labels
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    truth: NDArray[np.int64]  # positions in `labels`
    values: Array  # algorithms × items × labels
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    where: Where = numbered_item
    source: str = ""
    sums: Sums = "check"  # what was done about rows that do not add up to one
    loss: Loss = "logloss"
    zero: float = 1e-9  # takes the place of zero confidences
    tolerance: float = 1e-9  # losses that differ by no more are equal
    confusion: Array | None = None  # P(true label | recorded label, and the record is wrong)
    soft: Array | None = None  # the truth's own confidences, items × labels; None: it is sure of every label

    @property
    def kind(self) -> str:
        """The kind of answers."""
        return "confidences"

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise BadParameter(f"loss: expected {' or '.join(LOSSES)}, found {self.loss!r}")
        if not 0 < self.zero < 1:
            found = f"found {self.zero:g}"
            raise BadParameter(f"zero: expected what to put in place of zeros, above 0 and below 1, {found}")
        if not self.tolerance >= 0:
            raise BadParameter(f"tolerance: expected a number from 0 on, found {self.tolerance:g}")
        if len(self.names) < 2:
            raise DataError(f"algorithms: expected at least two to compare, found {len(self.names)}")
        if not len(self.truth):
            raise DataError(f"{self.source or 'truth'}: expected at least one item, found none")
        if len(self.labels) < 2:
            raise DataError(f"{self.source or 'labels'}: expected at least two labels, found {len(self.labels)}")

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def units(self) -> str:
        """What a paired test of two algorithms takes as independent."""
        return "items"

    def paired_p(self, one: int, two: int) -> float | None:
        """Return the p-value that two algorithms have the same expected loss: a paired t test over the items."""
        count = len(self.truth)
        if self.soft is not None or count < 2:
            return None
        own = losses(self)[[one, two]][:, np.arange(count), self.truth]
        difference = own[0] - own[1]
        spread = float(difference.std(ddof=1)) / sqrt(count)
        return student_tails(abs(float(difference.mean())) / spread, count - 1) if spread else 1.0

    @property
    def digest(self) -> str:
        """A hash of sixteen characters of names, labels, annotations and confidences."""
        soft = [] if self.soft is None else [self.soft]
        return digest_of([*self.names, *self.labels], [self.truth, self.values, *soft])

    def __repr__(self) -> str:
        return f"Confidences: {len(self.names)} algorithms on {len(self)} items with {len(self.labels)} labels"

    @classmethod
    def of(
        cls,
        truth: Any,
        answers: Mapping[str, Any],
        *,
        labels: Sequence[str] | None = None,
        sums: Sums = "check",
        loss: Loss = "logloss",
        zero: float = 1e-9,
        tolerance: float = 1e-9,
        confusion: Any = None,
        columns: Mapping[str, Any] | None = None,
    ) -> ScoreTable:
        """Make a table from annotated labels and each algorithm's rows of confidences, one column per label.

        Parameters
        ----------
        truth : sequence or mapping
            The label of every item (without `labels`, the column's number from 0), or rows of confidences (soft
            labels).
        answers : mapping of str to rows or mapping
            The confidences of every algorithm, for the same items.
        labels : sequence of str, optional
            The labels of the columns.
        sums : {"check", "keep", "scale"}, default "check"
            Rows that do not add up to one are refused, kept or scaled.
        loss : {"logloss", "kl_printed"}, default "logloss"
            The log-loss D(truth || answer), or D(answer || truth) as Lamiroy and Pierrot print it.
        zero : float, default 1e-9
            Replaces zero confidences.
        tolerance : float, default 1e-9
            Losses that differ by no more are tied.
        confusion : matrix, mapping or path, optional
            The true labels of wrong annotations; uniform by default.
        columns : mapping of str to sequence, optional
            Further columns about the items.
        """
        if not isinstance(answers, Mapping):
            raise BadParameter(f"answers: expected a mapping of names to answers, found {type(answers).__name__}")
        names = tuple(str(name) for name in answers)
        rows = list(answers.values())
        if isinstance(truth, Mapping):
            check_items(truth, answers)
            rows = [[given[item] for item in truth] for given in rows]
        recorded = np.asarray(list(truth.values()) if isinstance(truth, Mapping) else truth)
        arrays = [to_numbers(name, given) for name, given in zip(names, rows, strict=True)]
        for name, array in zip(names, arrays, strict=True):
            if array.ndim != 2 or array.shape != (len(recorded), arrays[0].shape[1]):
                expected = f"{len(recorded)} rows of {arrays[0].shape[-1]} confidences"
                raise DataError(f"{name}: expected {expected}, found an array of shape {array.shape}")
        known = tuple(str(v) for v in (labels if labels is not None else range(arrays[0].shape[1] if arrays else 0)))
        if len(set(known)) < len(known):
            raise BadParameter("labels: expected each label once")
        if arrays and len(known) != arrays[0].shape[1]:
            raise DataError(f"labels: expected {arrays[0].shape[1]}, one a column, found {len(known)}")
        soft = check_soft_truth(to_numbers("truth", recorded), known, numbered_item) if recorded.ndim == 2 else None
        found = cls(
            names,
            known,
            encode_truth(recorded, known) if soft is None else np.argmax(soft, axis=1),
            np.stack(arrays) if arrays else np.zeros((0, 0, 0)),
            {name: np.asarray(column) for name, column in (columns or {}).items()},
            soft=soft,
        )
        return found.with_settings(sums, loss, zero, tolerance, confusion)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        sums: Sums = "check",
        loss: Loss = "logloss",
        zero: float = 1e-9,
        tolerance: float = 1e-9,
        confusion: Any = None,
        columns: Collection[str] = (),
    ) -> ScoreTable:
        """Read a table item,label[,COLUMN…],truth,NAME… from CSV or Parquet; `columns` are those to use."""
        from verite.ranking.tables import read_table

        settings = {"sums": sums, "loss": loss, "zero": zero, "tolerance": tolerance, "confusion": confusion}
        found = read_table(path, columns, kind="confidences", **settings)
        assert isinstance(found, ScoreTable)
        return found

    def with_settings(
        self,
        sums: Sums = "check",
        loss: Loss = "logloss",
        zero: float = 1e-9,
        tolerance: float = 1e-9,
        confusion: Any = None,
    ) -> ScoreTable:
        """Return the table with these settings."""
        moves = resolve_confusion(confusion, self.labels)
        return replace(self, loss=loss, zero=zero, tolerance=tolerance, confusion=moves).with_sums(sums)

    @property
    def about(self) -> dict[str, object]:
        """The settings for a signature."""
        return {
            "loss": self.loss,
            "zero": self.zero,
            "tolerance": self.tolerance,
            "sums": self.sums,
            "labels": len(self.labels),
            "moves": "uniform" if self.confusion is None else fingerprint(self.confusion),
            **({} if self.soft is None else {"truth": "soft"}),
        }

    @property
    def score(self) -> str:
        """What the printed scores are."""
        return f"{LOSSES[self.loss]}: mean over the items, less is better"

    def assume(self, model: ErrorModel) -> str:
        """Return the assumption in words."""
        if model.is_worst_case:
            return model.assumption
        with_it = "" if self.soft is None else " and changes its confidence for the other's"
        return f"{model.assumption}; {describe_moves(len(self.labels), self.confusion)}{with_it}"

    def with_sums(self, sums: Sums) -> ScoreTable:
        """Return the table with rows checked to add up to one (`check`), scaled to do so (`scale`) or kept (`keep`)."""
        if sums not in ("check", "keep", "scale"):
            raise BadParameter(f"sums: expected check, keep or scale, found {sums!r}")
        bad = ~((self.values >= 0) & (self.values <= 1))
        if bad.any():
            j, i, k = (int(v) for v in np.argwhere(bad)[0])
            raise DataError(
                f"{self.where(i)}: expected confidences from 0 to 1 in {self.names[j]!r}, "
                f"found {self.values[j, i, k]:g} for label {self.labels[k]!r}"
            )
        totals = self.values.sum(axis=2)
        off = np.abs(totals - 1) > 1e-6
        if sums == "check" and off.any():
            j, i = (int(v) for v in np.argwhere(off)[0])
            raise DataError(
                f"{self.where(i)}: expected confidences of {self.names[j]!r} that add up to 1, found {totals[j, i]:g}; "
                "take them as they are with sums keep, or scale them with sums scale"
            )
        if sums != "scale":
            return replace(self, sums=sums)
        if not totals.all():
            j, i = (int(v) for v in np.argwhere(totals == 0)[0])
            raise DataError(
                f"{self.where(i)}: expected confidences of {self.names[j]!r} that can be scaled, found only zeros"
            )
        return replace(self, sums=sums, values=self.values / totals[:, :, None])

    def only(self, algorithms: Sequence[int]) -> ScoreTable:
        """Return the table of some of the algorithms."""
        return replace(self, names=tuple(self.names[j] for j in algorithms), values=self.values[list(algorithms)])

    def column(self, name: str, purpose: str) -> NDArray[Any]:
        """Return a column about the items by name; the annotations are one, too."""
        if name in self.columns:
            return self.columns[name]
        if name == "truth":
            return self.truth
        raise BadParameter(
            f"{purpose}: expected one of the columns {', '.join([*self.columns, 'truth'])}, found {name!r}"
        )


def to_numbers(name: str, rows: Any) -> Array:
    """Return rows of confidences as one array.

    Parameters
    ----------
    name
        Name of the algorithm.
    rows
        For each item the confidence of every label.

    Returns
    -------
    Array
        Array [item, label]; ragged rows are refused.
    """
    try:
        return np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"{name}: expected rows of confidences, a number for every label, found something else"
        ) from None


def encode_truth(recorded: NDArray[Any], labels: Sequence[str]) -> NDArray[np.int64]:
    """Return annotated labels as positions among all labels."""
    places = {label: i for i, label in enumerate(labels)}
    codes = []
    for i, value in enumerate(recorded.tolist()):
        if str(value) not in places:
            raise DataError(f"item {i + 1}: expected one of the {len(labels)} labels as truth, found {value!r}")
        codes.append(places[str(value)])
    return np.array(codes, dtype=np.int64)


def check_soft_truth(rows: Array, labels: Sequence[str], where: Where) -> Array:
    """Return soft labels; refuse rows without one most likely label, and rows that do not add up to one.

    Where only one label of an item has a confidence, the others share the rest equally.
    """
    if rows.ndim != 2 or rows.shape[1] != len(labels):
        raise DataError(f"truth: expected {len(labels)} confidences per item, found an array of shape {rows.shape}")
    found = rows.copy()
    for i, row in enumerate(found):
        if not np.all((row >= 0) & (row <= 1)):
            raise DataError(f"{where(i)}: expected confidences from 0 to 1 as truth, found {row.tolist()}")
        if np.count_nonzero(row) == 1:
            row[row == 0] = (1 - row.max()) / (len(row) - 1)
        if abs(row.sum() - 1) > 1e-6:
            raise DataError(
                f"{where(i)}: expected confidences of the truth that sum to 1, or that of a single label, "
                f"found {row.sum():g}"
            )
        if np.count_nonzero(row == row.max()) > 1:
            first = " and ".join(repr(labels[int(k)]) for k in np.flatnonzero(row == row.max()))
            raise DataError(f"{where(i)}: expected one label with the highest confidence in the truth, found {first}")
    return found


def losses(table: ScoreTable) -> Array:
    """Return the loss of each algorithm on each item for each true label: algorithms × items × labels.

    `logloss` is D_KL(truth || answer) = -ln of the true label's confidence, a proper scoring rule, finite where that is
    not 0. `kl_printed` is D_KL(answer || truth), as Lamiroy and Pierrot print it: the sum of a ln(a / t), t being
    `zero` for all labels but the true one. Zero confidences are replaced by `zero` in both.
    """
    zero = table.zero
    given = np.where(table.values == 0, zero, table.values)
    if table.soft is not None:
        # For soft labels t, those of the annotated label and the column's are exchanged. `logloss` is the
        # cross-entropy, the sum of -t ln a: D_KL(truth || answer) up to a term that no answer changes.
        if table.loss == "logloss":
            weights, terms = np.broadcast_to(table.soft, given.shape), -np.log(given)
            base: Array | float = 0.0
        else:
            weights, terms = given, -np.log(np.where(table.soft == 0, table.zero, table.soft))
            base = (given * np.log(given)).sum(axis=2, keepdims=True)
            terms = np.broadcast_to(terms, given.shape)
        at = np.arange(len(table)), table.truth
        weight, log_ = weights[:, *at][:, :, None], terms[:, *at][:, :, None]
        # An exchange of two terms of a sum of products changes it by the product of the differences.
        changed: Array = base + (weights * terms).sum(axis=2, keepdims=True) - (weight - weights) * (log_ - terms)
        return changed
    if table.loss == "logloss":
        logs: Array = np.log(given)
        return -logs
    own = (given * np.log(given)).sum(axis=2, keepdims=True)
    wrong = given.sum(axis=2, keepdims=True) - given
    divergence: Array = own - wrong * log(zero)
    return divergence


def error_effects(table: ScoreTable, lost: Array, rates: Array, groups: NDArray[np.int64]) -> ErrorEffects:
    """Return what a moved label adds to each score (minus the loss): one type per item, one effect per label."""
    confusion = table.confusion
    items = np.arange(len(table))
    size = len(table.labels)
    others = (table.truth[:, None] + np.arange(1, size)) % size
    ways = (
        np.full((len(table), size - 1), 1 / (size - 1))
        if confusion is None
        else confusion[table.truth[:, None], others]
    )
    change = lost[:, items, table.truth][:, :, None] - lost[:, items[:, None], others]
    return ErrorEffects(np.ones(len(table), dtype=np.int64), rates, ways, np.moveaxis(change, 0, 2), groups, len(table))


def enumerate_errors(moves: ErrorEffects, model: ErrorModel) -> tuple[Array, Array] | None:
    """Return every combination of errors: what it adds to the scores, and its probability; None if too many."""
    matter = is_relevant(moves)
    if exceeds_limit(moves, matter):
        return None
    blocks = np.arange(len(moves.counts)) if model.is_independent else moves.groups
    change, weights = np.zeros((1, moves.change.shape[2])), np.ones(1)
    for block in np.unique(blocks[matter]):
        items = np.flatnonzero(matter & (blocks == block))
        if model.is_independent:
            added, shares, _ = combine_errors(moves, items, moves.rates[items])
        else:
            pmf = model.log_pmf(len(items), moves.items)
            if pmf is None:
                return None
            added, shares, wrong = combine_errors(moves, items, np.full(len(items), 0.5))
            shares = shares * np.exp(pmf - binomial_log_pmf(len(items), 0.5))[wrong]
        change = (change[:, None, :] + added[None, :, :]).reshape(-1, change.shape[1])
        weights = np.outer(weights, shares).ravel()
    return change, weights


def probabilities_given_errors(moves: ErrorEffects, recorded: Array, tolerance: float) -> Array | None:
    """Return probabilities given that k of the relevant annotations are wrong, for all k; None if there are too many.

    Rows: the first ends below, tied with and above the second, and the whole order holds. One enumeration serves every
    rate that is common to all annotations.
    """
    matter = is_relevant(moves)
    if exceeds_limit(moves, matter):
        return None
    items = np.flatnonzero(matter)
    change, weights, wrong = combine_errors(moves, items, np.full(len(items), 0.5))
    scores = change + recorded
    lead = scores[:, 0] - scores[:, 1]
    pmf = np.exp(binomial_log_pmf(len(items), 0.5)) if len(items) else np.ones(1)
    events = (lead < -tolerance, np.abs(lead) <= tolerance, lead > tolerance, keeps_order(scores, recorded, tolerance))
    return np.stack([np.bincount(wrong[e], weights[e], len(items) + 1) / pmf for e in events])


def is_relevant(moves: ErrorEffects) -> NDArray[np.bool_]:
    """Return which items can change a ranking: those that do not move all scores alike."""
    alike: NDArray[np.bool_] = np.abs(moves.change - moves.change[:, :, :1]).max(axis=(1, 2)) == 0
    return ~alike


def exceeds_limit(moves: ErrorEffects, matter: NDArray[np.bool_]) -> bool:
    """Return whether there are more combinations of errors than can be enumerated."""
    ways = np.count_nonzero(moves.ways[matter], axis=1) + 1.0
    return bool(np.log(ways).sum() > log(COMBINATIONS))


def combine_errors(
    moves: ErrorEffects, items: NDArray[np.int64], rates: Array
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Return all combinations of right and wrong annotations: changes, probabilities and numbers of errors."""
    size = moves.change.shape[2]
    change, weights, wrong = np.zeros((1, size)), np.ones(1), np.zeros(1, dtype=np.int64)
    for item, rate in zip(items, rates, strict=True):
        used = moves.ways[item] > 0
        shares = np.concatenate([[1 - rate], rate * moves.ways[item][used]])
        added = np.concatenate([np.zeros((1, size)), moves.change[item][used]])
        change = (change[:, None, :] + added[None, :, :]).reshape(-1, size)
        weights = np.outer(weights, shares).ravel()
        wrong = (wrong[:, None] + (np.arange(len(shares)) > 0)).ravel()
    return change, weights, wrong
