"""What did each algorithm answer, item by item, and what does the truth record?"""

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

Kind = Literal["binary", "labels", "found"]
Wrong = Literal["reverses", "vanishes"]
Where = Callable[[int], str]  # how a message calls an item


def numbered_item(row: int) -> str:
    """An item without a name."""
    return f"item {row + 1}"


@dataclass(frozen=True)
class NamedItems:
    """Items that have names; an object instead of a function, so that tables pickle."""

    names: tuple[str, ...]

    def __call__(self, row: int) -> str:
        return f"item {self.names[row]!r}"


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """One answer of every algorithm for every item, beside the recorded one.

    `binary`: each item asks yes or no. `labels`: each item has one label out of several; a wrong one moves to any other
    alike, or as `confusion` says.

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
    def digest(self) -> str:
        """Sixteen characters that stand for everything in it."""
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
        """From plain columns, or from mappings of an item's name to its answer.

        Without `kind` the table is binary if everything in it is 0 or 1, and one of labels if neither the truth nor the
        answers are; anything between is refused. `labels` names labels that an item could have though none here has.
        `confusion` is a matrix in their order, a mapping of recorded to true labels to shares, or a file.
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
        return code_columns(names, recorded, listed, kind, labels, more, where, "").with_confusion(confusion)

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
        """From a table item[,interpretation][,COLUMN…],truth,NAME…, CSV or Parquet; `columns` names those to use."""
        from verite.ranking.tables import read_table

        given = {"labels": labels, "confusion": confusion}
        found = read_table(path, columns, kind=kind, **{k: v for k, v in given.items() if v is not None})
        if not isinstance(found, AnswerTable):
            raise ReadError(path, expected="a table of 0 and 1 or of labels", found="one of confidences")
        return found

    def with_confusion(self, confusion: Any) -> AnswerTable:
        """The same with a confusion matrix."""
        if confusion is not None and self.kind != "labels":
            raise BadParameter("confusion: expected labels or confidences for this setting, found 0 and 1")
        return replace(self, confusion=resolve_confusion(confusion, self.labels))

    @property
    def about(self) -> dict[str, object]:
        """The settings that belong into a signature."""
        if self.kind != "labels":
            return {}
        return {
            "labels": len(self.labels),
            "moves": "uniform" if self.confusion is None else fingerprint(self.confusion),
        }

    def assume(self, model: ErrorModel) -> str:
        """What is assumed, in words."""
        if model.is_worst_case:
            return model.words
        if self.kind == "labels":
            return f"{model.words}; {say_moves(len(self.labels), self.confusion)}"
        return f"{model.words}; errors do not depend on what the algorithms answered"

    @property
    def tau(self) -> dict[str, float]:
        """The share of right answers of each algorithm."""
        right = [int(np.count_nonzero(column == self.truth)) for column in self.answers]
        return {name: count / len(self) for name, count in zip(self.names, right, strict=True)}

    def column(self, name: str, purpose: str) -> NDArray[Any]:
        """A further fact about the items, by name; the truth is one, too."""
        if name in self.columns:
            return self.columns[name]
        if name == "truth":
            return self.truth
        known = [*self.columns, "truth"]
        raise BadParameter(f"{purpose}: expected one of the columns {', '.join(known)}, found {name!r}")


def say_moves(labels: int, confusion: NDArray[np.float64] | None) -> str:
    """Where a wrong label moves to, in words."""
    how = f"to any of the other {labels - 1} labels alike" if confusion is None else "as the confusion matrix says"
    return f"a wrong label moves {how}"


def digest_of(words: Sequence[str], arrays: Sequence[NDArray[Any]]) -> str:
    """Sixteen characters that stand for these words and numbers."""
    from hashlib import blake2b

    state = blake2b("\n".join(words).encode(), digest_size=8)
    for array in arrays:
        state.update(f"{array.shape}".encode())
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()


def check_items(truth: Mapping[Any, Any], answers: Mapping[str, Any]) -> None:
    """Refuse algorithms that did not answer exactly the truth's items."""
    for name, given in answers.items():
        if not isinstance(given, Mapping):
            raise DataError(
                f"{name}: expected a mapping of items to answers, as the truth is one, found {type(given).__name__}"
            )
        for item in truth:
            if item not in given:
                raise DataError(f"{name}: expected an answer for every item of the truth, found none for {item!r}")
        for item in given:
            if item not in truth:
                raise DataError(f"{name}: expected answers for the truth's items alone, found one for {item!r}")


def code_columns(
    names: tuple[str, ...],
    truth: NDArray[Any],
    answers: Sequence[NDArray[Any]],
    kind: Literal["binary", "labels"] | None,
    labels: Sequence[str] | None,
    columns: Mapping[str, NDArray[Any]],
    where: Where,
    source: str,
) -> AnswerTable:
    """Answers with every value replaced by its position among the labels."""
    if kind not in (None, "binary", "labels"):
        raise BadParameter(f"kind: expected 'binary' or 'labels', found {kind!r}")
    for name, column in columns.items():
        if len(column) != len(truth):
            raise DataError(f"{name}: expected {len(truth)} values, one per item, found {len(column)}")
    if kind is None:
        kind = tell_kind(names, truth, answers, labels, where)
    if kind == "binary":
        columns_of_bits = [bits(name, c, where) for name, c in zip(("truth", *names), (truth, *answers), strict=True)]
        return AnswerTable(
            names, columns_of_bits[0], tuple(columns_of_bits[1:]), columns=columns, where=where, source=source
        )
    for name, column in zip(("truth", *names), (truth, *answers), strict=True):
        absent = np.flatnonzero([v is None or v == "" or v != v for v in column.tolist()])
        if len(absent):
            raise DataError(f"{where(int(absent[0]))}: expected a label in {name!r}, found nothing")
    known, codes = number_labels([truth, *answers], labels)
    if len(known) < 2:
        raise DataError(
            f"{source or 'labels'}: expected at least two labels, found {', '.join(known) or 'none'}; "
            "name those that could occur with labels"
        )
    return AnswerTable(names, codes[0], tuple(codes[1:]), known, "labels", columns, where, source)


def tell_kind(
    names: tuple[str, ...],
    truth: NDArray[Any],
    answers: Sequence[NDArray[Any]],
    labels: Sequence[str] | None,
    where: Where,
) -> Literal["binary", "labels"]:
    """Is this a table of yes and no, or one of labels? Refused where the truth says one and the answers the other."""
    if labels is not None:
        return "labels"
    truth_fits = first_odd(truth) is None
    odd = next(((name, i) for name, c in zip(names, answers, strict=True) if (i := first_odd(c)) is not None), None)
    if truth_fits == (odd is None):
        return "binary" if truth_fits else "labels"
    name, row, column = ("truth", first_odd(truth), truth) if odd is None else (*odd, answers[names.index(odd[0])])
    assert row is not None
    rest = "the answers are all 0 or 1" if odd is None else "the truth is all 0 or 1"
    raise DataError(
        f"{where(row)}: expected 0 or 1 in {name!r}, found {excerpt(as_text(column[row]))}; {rest}; "
        "if these are labels, say so with kind labels"
    )


def first_odd(column: NDArray[Any]) -> int | None:
    """The first row that is neither 0 nor 1."""
    if column.dtype.kind == "b" or (
        column.dtype.kind in "iu" and len(column) and column.min() >= 0 and column.max() <= 1
    ):
        return None
    fits = np.isin(column, ["0", "1"]) if column.dtype.kind in "US" else (column == 0) | (column == 1)
    return None if fits.all() else int(np.argmin(fits))


def bits(name: str, column: NDArray[Any], where: Where) -> NDArray[np.uint8]:
    """A column of 0 and 1."""
    row = first_odd(column)
    if row is not None:
        raise DataError(f"{where(row)}: expected 0 or 1 in {name!r}, found {excerpt(as_text(column[row]))}")
    return (column == "1").view(np.uint8) if column.dtype.kind in "US" else column.astype(np.uint8, copy=False)


def number_labels(
    columns: Sequence[NDArray[Any]], labels: Sequence[str] | None
) -> tuple[tuple[str, ...], list[NDArray[np.int32]]]:
    """Every label that occurs, in order, and the columns as positions among them."""
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
    """A value as it would stand in a table: 2 and 2.0 are the same label."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value.item() if isinstance(value, np.generic) else value)
