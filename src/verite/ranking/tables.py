"""Read tables of answers from CSV or Parquet.

::

    item[,interpretation][,MORE…],truth,NAME…     one row per item: 0 and 1, or labels; one column per algorithm
    item,label[,MORE…],truth,NAME…                one row per item and label: confidences; truth is 1 on the true label,
                                                  or a confidence of its own (soft labels)

Further columns before `truth` are about the item and must be asked for: a group of correlated errors, a rate, a mark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from verite.csv_files import header_of, parse_csv, separator_of
from verite.errors import BadParameter, ReadError, did_you_mean, excerpt
from verite.files import find_path
from verite.formats.format import head_of
from verite.ranking.answers import AnswerTable, Where, encode_answers
from verite.ranking.confidence import ScoreTable, check_soft_truth
from verite.ranking.detectors import DetectionTable
from verite.ranking.sheets import HEADER, Sheet, is_parquet, read_numbers, read_sheet

# The makers of each kind of answers: their parameters are the settings that say something about it.
MAKERS: dict[str, Callable[..., Any]] = {
    "labels": AnswerTable.of,
    "confidences": ScoreTable.of,
    "found": DetectionTable.of,
}
CALLED = {"binary": "0 and 1", "labels": "labels", "confidences": "confidences", "found": "objects found by detectors"}


def read_table(
    path: str | Path,
    columns: Collection[str] = (),
    *,
    kind: Literal["binary", "labels", "confidences"] | None = None,
    **settings: Any,
) -> AnswerTable | ScoreTable:
    """Read a table of answers of any kind, with the settings of that kind.

    Parameters
    ----------
    path
        A CSV or Parquet file.
    columns
        The columns before `truth` that will be used.
    kind
        The kind of answers; detected by default.
    **settings
        Settings of `AnswerTable.of` or `ScoreTable.of`, whichever the table is.
    """
    sheet = read_sheet(find_path(path))
    names, more, is_long = check_head(sheet, columns)
    if kind is not None and is_long != (kind == "confidences"):
        raise ReadError(
            f"{sheet.path}:1", expected=f"a table of kind {kind}", found=f"the header {','.join(sheet.head)}"
        )
    # Refuse empty cells: an algorithm without an answer to an item cannot be compared on it.
    for name, column in zip(sheet.head, sheet.columns, strict=True):
        empty = np.flatnonzero(column == "")
        if len(empty):
            row = int(empty[0])
            remedy = "every algorithm must answer the same items" if name not in ("item", "truth") else ""
            raise ReadError(sheet.where(row), expected=f"a value for {name!r}", found="nothing", remedy=remedy)
    if is_long:
        if settings.pop("labels", None) is not None:
            raise BadParameter("labels: expected none beside a table of confidences, which names its labels")
        check_settings(settings, "confidences")
        return parse_scores(sheet, names, more).with_settings(**settings)
    keys = ["item", *(["interpretation"] if "interpretation" in sheet.head else [])]
    check_once(sheet, keys)
    found = encode_answers(
        names,
        sheet.column("truth"),
        [sheet.column(name) for name in names],
        None if kind == "confidences" else kind,
        settings.pop("labels", None),
        {name: sheet.column(name) for name in [*keys, *more]},
        sheet.where,
        str(sheet.path),
    )
    check_settings(settings, found.kind)
    return found.with_confusion(settings.get("confusion"))


def check_settings(settings: Collection[str], kind: str) -> None:
    """Refuse settings that do not apply to answers of this kind.

    Parameters
    ----------
    settings
        Names of the settings that were given.
    kind
        Kind of the table: answers of 0 and 1, labels, or confidences.
    """
    for name in settings:
        kinds = [served for served, maker in MAKERS.items() if name in signature(maker).parameters]
        if kind not in kinds:
            wanted = " or ".join(CALLED[served] for served in kinds)
            raise BadParameter(f"{name}: expected {wanted} for this setting, found {CALLED[kind]}")


def is_table(path: str | Path) -> bool:
    """Return whether a file is a table of answers: its first column is `item`, or it has a column `truth`."""
    place = find_path(path)
    if not place.is_file():
        return False
    if is_parquet(place):
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import read_schema

            return "truth" in read_schema(place).names
        except (ImportError, ArrowException, OSError):
            return True  # reading it says what is wrong
    first = head_of(place)
    try:
        _, names = next(parse_csv(header_of(first), separator_of(header_of(first))), (1, []))
    except ReadError:  # no CSV
        return False
    head = [name.strip() for name in names]
    return head[:1] == ["item"] or "truth" in head


def check_head(sheet: Sheet, asked: Collection[str]) -> tuple[tuple[str, ...], list[str], bool]:
    """Return the algorithms, the columns about items, and whether the table is one of confidences."""
    head, where = sheet.head, f"{sheet.path}:1"
    shown = excerpt(",".join(head))
    if head[:1] != ("item",) or "truth" not in head:
        missing = "item" if head[:1] != ("item",) else "truth"
        near = next((name for name in head if did_you_mean(name, [missing])), None)
        remedy = f"is {near!r} the column {missing!r}?" if near is not None else ""
        raise ReadError(where, expected=HEADER, found=shown, remedy=remedy)
    twice = next((name for name in head if head.count(name) > 1), None)
    if twice is not None:
        raise ReadError(where, expected="a name of its own for every column", found=f"{twice!r} twice")
    place = head.index("truth")
    names = head[place + 1 :]
    if len(names) < 2:
        raise ReadError(where, expected="at least two algorithms after truth", found=", ".join(names) or "none")
    if "" in names:
        raise ReadError(where, expected="a name for every algorithm", found="an empty one")
    is_long = "label" in head[1:place]
    known = ("label",) if is_long else ("interpretation",)
    more = [name for name in head[1:place] if name not in known]
    unasked = next((name for name in more if name not in asked), None)
    if unasked is not None:
        raise ReadError(
            where,
            expected="only columns before truth that are asked for",
            found=f"{unasked!r}",
            remedy="put algorithms after truth, or name the column as groups, rates or audited",
        )
    if not len(sheet):
        raise ReadError(sheet.path, expected="at least one item", found="a header alone")
    return names, more, is_long


def check_once(sheet: Sheet, keys: Sequence[str]) -> None:
    """Refuse items that occur twice."""
    columns = [sheet.column(key) for key in keys]
    order = np.lexsort([np.unique(column, return_inverse=True)[1].ravel() for column in columns])
    same = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for column in columns:
        same &= column[order][1:] == column[order][:-1]
    if same.any():
        one, two = min(
            (sorted((int(a), int(b))) for (a, b), s in zip(pairwise(order), same, strict=True) if s), key=lambda p: p[1]
        )
        name = " ".join(f"{key} {str(column[two])!r}" for key, column in zip(keys, columns, strict=True))
        raise ReadError(
            sheet.where(two),
            expected="each item once",
            found=f"{name} again",
            remedy=f"it stands at {sheet.where(one)} too",
        )


@dataclass(frozen=True)
class ItemRows:
    """Names items of several rows by the first of them."""

    where: Where
    first: tuple[int, ...]
    names: tuple[str, ...]

    def __call__(self, item: int) -> str:
        return f"{self.where(self.first[item])} (item {self.names[item]!r})"


def parse_scores(sheet: Sheet, names: tuple[str, ...], more: Sequence[str]) -> ScoreTable:
    """Return a long table, one row per item and label, as confidences."""
    check_once(sheet, ["item", "label"])
    items, item = list_values(sheet.column("item"))
    labels, label = list_values(sheet.column("label"))
    place = np.full((len(items), len(labels)), -1, dtype=np.int64)
    place[item, label] = np.arange(len(sheet))
    if (place < 0).any():
        i, k = (int(v) for v in np.argwhere(place < 0)[0])
        raise ReadError(
            sheet.path,
            expected=f"a row for every label of item {str(items[i])!r}",
            found=f"none for {str(labels[k])!r}",
        )
    first = place[:, 0]
    where = ItemRows(sheet.where, tuple(first.tolist()), tuple(str(item) for item in items))
    known = tuple(str(v) for v in labels)
    true = read_numbers(sheet, "truth")[place]
    is_sure = bool(np.isin(true, [0, 1]).all())
    wrong = np.flatnonzero(true.sum(axis=1) != 1) if is_sure else np.zeros(0, dtype=np.int64)
    if len(wrong):
        i = int(wrong[0])
        found = " and ".join(repr(known[k]) for k in np.flatnonzero(true[i])) or "none"
        raise ReadError(sheet.where(int(first[i])), expected=f"one true label of item {str(items[i])!r}", found=found)
    soft = None if is_sure else check_soft_truth(true, known, where)
    values = np.stack([read_numbers(sheet, name)[place] for name in names])
    columns = {"item": items, **{name: read_constant(sheet, name, place)[first] for name in more}}
    recorded = np.argmax(true if soft is None else soft, axis=1)
    return ScoreTable(names, known, recorded, values, columns, where, str(sheet.path), soft=soft)


def list_values(column: NDArray[np.str_]) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Return the distinct values in the order of their first occurrence, and for every row the index of its value."""
    values, first, inverse = np.unique(column, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return values[order], rank[inverse.ravel()]


def read_constant(sheet: Sheet, name: str, place: NDArray[np.int64]) -> NDArray[np.str_]:
    """Return a column about items; refuse different values within one item."""
    column = sheet.column(name)
    differs = np.argwhere(column[place] != column[place[:, :1]])
    if len(differs):
        i, k = (int(v) for v in differs[0])
        raise ReadError(
            sheet.where(int(place[i, k])),
            expected=f"one value of {name!r} for all rows of an item",
            found=excerpt(str(column[place[i, k]])),
        )
    return column
