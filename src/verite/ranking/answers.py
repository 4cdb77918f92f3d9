"""Tables of answers: what each algorithm answered on every item, and the annotation (`vt.AnswerTable`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from verite.annotation_errors.model import ErrorModel, fingerprint
from verite.errors import BadParameter, DataError, ReadError, excerpt
from verite.ranking.sheets import resolve_confusion
from verite.statistics.mcnemar import mcnemar_exact

Kind = Literal["binary", "labels", "found"]
Wrong = Literal["reverses", "vanishes"]
Where = Callable[[int], str]  # how a message calls an item


def numbered_item(row: int) -> str:
    """Name an item without a name in messages."""
    return f"item {row + 1}"


@dataclass(frozen=True)
class NamedItems:
    """Names items in messages; an object instead of a function, so that tables pickle."""

    names: tuple[str, ...]

    def __call__(self, row: int) -> str:
        return f"item {self.names[row]!r}"


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """One answer of every algorithm for every item, and the annotation.

    `binary`: each item is answered 0 or 1. `labels`: each item has one label out of several; a wrong annotation has any
    other label with equal probability, or as `confusion` says. Make one with :meth:`of` or :meth:`read`.

    Parameters
    ----------
    names : tuple of str
        The algorithms, at least two.
    truth : array of int
        The annotations, as positions in `labels`.
    answers : tuple of arrays
        One column per algorithm.
    labels : tuple of str, default ("0", "1")
        All labels.
    kind : {"binary", "labels", "found"}, default "binary"
        The kind of answers.
    columns : mapping of str to array
        Further columns about the items.
    where : callable
        Names an item in messages.
    source : str
        The file.
    confusion : array, optional
        P(true label | annotated label, and the annotation is wrong).

    Examples
    --------
    >>> table = AnswerTable.of([0, 1, 1], {"a": [0, 1, 0], "b": [0, 1, 1]})
    >>> table.tau
    {'a': 0.6666666666666666, 'b': 1.0}
    """

    names: tuple[str, ...]
    truth: NDArray[np.integer[Any]]  # positions in `labels`
    answers: tuple[NDArray[np.integer[Any]], ...]  # one column an algorithm
    labels: tuple[str, ...] = ("0", "1")
    kind: Kind = "binary"
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # further facts about the items
    where: Where = numbered_item
    source: str = ""
    confusion: NDArray[np.float64] | None = None  # P(true label | recorded label, and the record is wrong)
    wrong: ClassVar[Wrong] = "reverses"  # what a wrong record does to the point of its item
    score: ClassVar[str] = "tau: share of right answers, more is better"

    def __post_init__(self) -> None:
        if len(self.names) < 2:
            raise DataError(f"algorithms: expected at least two to compare, found {len(self.names)}")
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise DataError(f"algorithms: expected a name of its own for each, found {twice!r} twice")
        if not len(self.truth):
            raise DataError(f"{self.source or 'truth'}: expected at least one item, found none")

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def units(self) -> str:
        """What a paired test of two algorithms takes as independent."""
        return "items"

    def paired_p(self, one: int, two: int) -> float | None:
        """Return the p-value that two algorithms are equally good on further items: McNemar's exact test."""
        first, second = (self.answers[i] == self.truth for i in (one, two))
        return mcnemar_exact(int((first & ~second).sum()), int((second & ~first).sum()))

    @property
    def digest(self) -> str:
        """A hash of sixteen characters of names, labels, annotations and answers."""
        return digest_of([*self.names, *self.labels], [self.truth, *self.answers])

    def __repr__(self) -> str:
        return f"Answers: {len(self.names)} algorithms on {len(self)} items ({self.kind})"

    @classmethod
    def of(
        cls,
        truth: Any,
        answers: Mapping[str, Any],
        *,
        kind: Literal["binary", "labels"] | None = None,
        labels: Sequence[str] | None = None,
        confusion: Any = None,
        columns: Mapping[str, Any] | None = None,
    ) -> AnswerTable:
        """Make a table from columns, or from mappings of an item's name to its answer.

        Parameters
        ----------
        truth : sequence or mapping
            The annotation of every item.
        answers : mapping of str to sequence or mapping
            The answers of every algorithm, for the same items.
        kind : {"binary", "labels"}, optional
            By default binary if everything is 0 or 1, and labels if neither the annotations nor the answers are.
        labels : sequence of str, optional
            All labels, where some occur nowhere in the table.
        confusion : matrix, mapping or path, optional
            The true labels of wrong annotations: a matrix in the order of the labels, a mapping of annotated to true
            labels to shares, or a file; uniform by default.
        columns : mapping of str to sequence, optional
            Further columns about the items, such as groups of correlated errors.

        Raises
        ------
        DataError
            Columns have different lengths, or the kind is not clear.
        """
        if not isinstance(answers, Mapping):
            raise BadParameter(f"answers: expected a mapping of names to answers, found {type(answers).__name__}")
        names = tuple(str(name) for name in answers)
        where: Where = numbered_item
        if isinstance(truth, Mapping):
            check_items(truth, answers)
            listed = [np.asarray([answers[name][item] for item in truth]) for name in answers]
            recorded = np.asarray(list(truth.values()))
            where = NamedItems(tuple(str(item) for item in truth))
        else:
            recorded = np.asarray(truth)
            listed = [np.asarray(answers[name]) for name in answers]
        if recorded.ndim != 1:
            raise DataError(f"truth: expected one value per item, found an array of shape {recorded.shape}")
        for name, column in zip(names, listed, strict=True):
            if column.shape != recorded.shape:
                found = len(column) if column.ndim == 1 else f"an array of shape {column.shape}"
                raise DataError(f"{name}: expected {len(recorded)} answers, one per item, found {found}")
        more = {name: np.asarray(column) for name, column in (columns or {}).items()}
        return encode_answers(names, recorded, listed, kind, labels, more, where, "").with_confusion(confusion)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        kind: Literal["binary", "labels"] | None = None,
        labels: Sequence[str] | None = None,
        confusion: Any = None,
        columns: Collection[str] = (),
    ) -> AnswerTable:
        """Read a table item[,interpretation][,COLUMN…],truth,NAME… from CSV or Parquet.

        Parameters
        ----------
        path : path
            The file.
        kind, labels, confusion
            As in :meth:`of`.
        columns : collection of str
            The columns before `truth` to use.

        Raises
        ------
        ReadError
            The file is no such table.
        """
        from verite.ranking.tables import read_table

        given = {"labels": labels, "confusion": confusion}
        found = read_table(path, columns, kind=kind, **{k: v for k, v in given.items() if v is not None})
        if not isinstance(found, AnswerTable):
            raise ReadError(path, expected="a table of 0 and 1 or of labels", found="one of confidences")
        return found

    def with_confusion(self, confusion: Any) -> AnswerTable:
        """Return the table with a confusion matrix."""
        if confusion is not None and self.kind != "labels":
            raise BadParameter("confusion: expected labels or confidences for this setting, found 0 and 1")
        return replace(self, confusion=resolve_confusion(confusion, self.labels))

    @property
    def about(self) -> dict[str, object]:
        """The settings for a signature."""
        if self.kind != "labels":
            return {}
        return {
            "labels": len(self.labels),
            "moves": "uniform" if self.confusion is None else fingerprint(self.confusion),
        }

    def assume(self, model: ErrorModel) -> str:
        """Return the assumption in words."""
        if model.is_worst_case:
            return model.assumption
        if self.kind == "labels":
            return f"{model.assumption}; {describe_moves(len(self.labels), self.confusion)}"
        return f"{model.assumption}; errors do not depend on what the algorithms answered"

    @property
    def tau(self) -> dict[str, float]:
        """The share of right answers (accuracy) of each algorithm."""
        right = [int(np.count_nonzero(column == self.truth)) for column in self.answers]
        return {name: count / len(self) for name, count in zip(self.names, right, strict=True)}

    def column(self, name: str, purpose: str) -> NDArray[Any]:
        """Return a column about the items by name; the annotations are one, too.

        Parameters
        ----------
        name
            `truth` for the annotations, or a further column of the table, such as the source of an item.
        purpose
            The setting that names the column, for the message.

        Returns
        -------
        NDArray[Any]
            One value per item.
        """
        if name in self.columns:
            return self.columns[name]
        if name == "truth":
            return self.truth
        known = [*self.columns, "truth"]
        raise BadParameter(f"{purpose}: expected one of the columns {', '.join(known)}, found {name!r}")


def describe_moves(labels: int, confusion: NDArray[np.float64] | None) -> str:
    """Return in words which label a wrong annotation should have.

    Parameters
    ----------
    labels
        Number of labels.
    confusion
        Probability of each label given the annotated one, if it was stated.

    Returns
    -------
    str
        A clause for the sentence that tells the assumption.
    """
    how = (
        f"to any of the other {labels - 1} labels with equal probability"
        if confusion is None
        else "as the confusion matrix says"
    )
    return f"a wrong label moves {how}"


def digest_of(words: Sequence[str], arrays: Sequence[NDArray[Any]]) -> str:
    """Return a hash of sixteen characters of these words and arrays."""
    from hashlib import blake2b

    state = blake2b("\n".join(words).encode(), digest_size=8)
    for array in arrays:
        state.update(f"{array.shape}".encode())
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()


def check_items(truth: Mapping[Any, Any], answers: Mapping[str, Any]) -> None:
    """Refuse algorithms that did not answer exactly the annotated items."""
    for name, given in answers.items():
        if not isinstance(given, Mapping):
            raise DataError(
                f"{name}: expected a mapping of items to answers, as for the truth, found {type(given).__name__}"
            )
        for item in truth:
            if item not in given:
                raise DataError(f"{name}: expected an answer for every item of the truth, found none for {item!r}")
        for item in given:
            if item not in truth:
                raise DataError(f"{name}: expected answers for items of the truth only, found one for {item!r}")


def encode_answers(
    names: tuple[str, ...],
    truth: NDArray[Any],
    answers: Sequence[NDArray[Any]],
    kind: Literal["binary", "labels"] | None,
    labels: Sequence[str] | None,
    columns: Mapping[str, NDArray[Any]],
    where: Where,
    source: str,
) -> AnswerTable:
    """Return a table with every value replaced by its position among the labels."""
    if kind not in (None, "binary", "labels"):
        raise BadParameter(f"kind: expected 'binary' or 'labels', found {kind!r}")
    for name, column in columns.items():
        if len(column) != len(truth):
            raise DataError(f"{name}: expected {len(truth)} values, one per item, found {len(column)}")
    if kind is None:
        kind = detect_kind(names, truth, answers, labels, where)
    if kind == "binary":
        columns_of_bits = [
            encode_bits(name, c, where) for name, c in zip(("truth", *names), (truth, *answers), strict=True)
        ]
        return AnswerTable(
            names, columns_of_bits[0], tuple(columns_of_bits[1:]), columns=columns, where=where, source=source
        )
    for name, column in zip(("truth", *names), (truth, *answers), strict=True):
        absent = np.flatnonzero([v is None or v == "" or v != v for v in column.tolist()])
        if len(absent):
            raise DataError(f"{where(int(absent[0]))}: expected a label in {name!r}, found nothing")
    known, codes = encode_labels([truth, *answers], labels)
    if len(known) < 2:
        raise DataError(
            f"{source or 'labels'}: expected at least two labels, found {', '.join(known) or 'none'}; "
            "name those that could occur with labels"
        )
    return AnswerTable(names, codes[0], tuple(codes[1:]), known, "labels", columns, where, source)


def detect_kind(
    names: tuple[str, ...],
    truth: NDArray[Any],
    answers: Sequence[NDArray[Any]],
    labels: Sequence[str] | None,
    where: Where,
) -> Literal["binary", "labels"]:
    """Return whether a table is binary or of labels; refuse one where annotations and answers differ in that."""
    if labels is not None:
        return "labels"
    truth_fits = first_non_binary(truth) is None
    odd = next(
        ((name, i) for name, c in zip(names, answers, strict=True) if (i := first_non_binary(c)) is not None), None
    )
    if truth_fits == (odd is None):
        return "binary" if truth_fits else "labels"
    name, row, column = (
        ("truth", first_non_binary(truth), truth) if odd is None else (*odd, answers[names.index(odd[0])])
    )
    assert row is not None
    rest = "the answers are all 0 or 1" if odd is None else "the truth is all 0 or 1"
    raise DataError(
        f"{where(row)}: expected 0 or 1 in {name!r}, found {excerpt(as_text(column[row]))}; {rest}; "
        "if these are labels, set kind to labels"
    )


def first_non_binary(column: NDArray[Any]) -> int | None:
    """Return the first row that is neither 0 nor 1; None if there is none."""
    if column.dtype.kind == "b" or (
        column.dtype.kind in "iu" and len(column) and column.min() >= 0 and column.max() <= 1
    ):
        return None
    fits = np.isin(column, ["0", "1"]) if column.dtype.kind in "US" else (column == 0) | (column == 1)
    return None if fits.all() else int(np.argmin(fits))


def encode_bits(name: str, column: NDArray[Any], where: Where) -> NDArray[np.uint8]:
    """Return a column of 0 and 1 as bytes; refuse other values.

    Parameters
    ----------
    name
        Name of the algorithm or of the annotations.
    column
        Its answers, as numbers or as text.
    where
        Names the place of a row for messages.

    Returns
    -------
    NDArray[np.uint8]
        One byte per item.
    """
    row = first_non_binary(column)
    if row is not None:
        raise DataError(f"{where(row)}: expected 0 or 1 in {name!r}, found {excerpt(as_text(column[row]))}")
    return (column == "1").view(np.uint8) if column.dtype.kind in "US" else column.astype(np.uint8, copy=False)


def encode_labels(
    columns: Sequence[NDArray[Any]], labels: Sequence[str] | None
) -> tuple[tuple[str, ...], list[NDArray[np.int32]]]:
    """Return all labels, sorted or in the given order, and the columns as positions among them."""
    texts = [c if c.dtype.kind in "US" else np.array([as_text(v) for v in c.tolist()], dtype=np.str_) for c in columns]
    known, inverse = np.unique(np.concatenate(texts), return_inverse=True)
    order = [str(name) for name in known]
    if labels is not None:
        wanted = [str(name) for name in labels]
        unknown = next((name for name in order if name not in wanted), None)
        if unknown is not None:
            raise DataError(f"labels: expected only the {len(wanted)} that were named, found {excerpt(unknown)}")
        if len(set(wanted)) < len(wanted):
            raise BadParameter("labels: expected each label once")
        place = np.array([wanted.index(name) for name in order])
        order, inverse = wanted, place[inverse]
    codes = np.split(inverse.ravel().astype(np.int32), len(columns))
    return tuple(order), codes


def as_text(value: Any) -> str:
    """Return a value as it would stand in a table: 2 and 2.0 are the same label."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value.item() if isinstance(value, np.generic) else value)
