"""What did the other tool print? Numbers with the digits they were printed to, one by one or as a table of classes."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from verite.analysis.explain_tools import TOOLS
from verite.errors import BadParameter, ReadError
from verite.records import record, replace

OVERALL = ("all", "mean", "average", "avg", "overall", "map", "total")  # rows that are about no class
ABSENT = ("", "-", "–", "—", "nan", "null", "none", "n/a")
SHARED = ("AP", "AP50", "AP75", "APs", "APm", "APl", "mAP", "P", "R", "F1")
# What tools call what we call otherwise, in lower case.
THEIRS = {theirs.lower(): ours for tool in TOOLS.values() for theirs, ours in tool.scores.items() if theirs != "mAP"}


@record()
class PrintedNumber:
    """A number as it was printed: its value, what it may differ by, and which score of which class it is, if said."""

    text: str
    value: float
    tolerance: float
    score: str = ""
    label: str = ""

    @classmethod
    def of(cls, text: str | float, names: Mapping[str, str] | None = None) -> PrintedNumber:
        """From what was printed: 0.523, 52.3 (percent), AP50=0.721 or AP50[person]=0.8; `names`: whose words they are.

        >>> PrintedNumber.of("AP50=72.1")
        PrintedNumber(text='AP50=72.1', value=0.721, tolerance=0.0005, score='AP50', label='')
        """
        name, _, digits = str(text).rpartition("=")
        digits = digits.strip()
        is_percent = digits.endswith("%")
        digits = digits.removesuffix("%").strip()
        try:
            value = float(digits)
        except ValueError:
            expected = "a number such as 0.523, 52.3 or AP50=0.721"
            raise BadParameter(f"number: expected {expected}, found {str(text)!r}") from None
        if not 0 <= value <= 100:
            raise BadParameter(f"number: expected a score from 0 to 1 or in percent, found {str(text)!r}")
        number = cls(str(text), value, half_of_last_place(digits), *split_label(name, names or {}))
        return number.in_percent() if is_percent or value > 1 else number

    def in_percent(self) -> PrintedNumber:
        return replace(self, value=round(self.value / 100, 12), tolerance=self.tolerance / 100)

    @property
    def key(self) -> str:
        """The score, and the class it is of."""
        return f"{self.score}[{self.label}]" if self.label else self.score


def half_of_last_place(digits: str) -> float:
    mantissa, _, exponent = digits.lower().partition("e")
    places = len(mantissa.partition(".")[2]) - (int(exponent) if exponent else 0)
    return 0.5 * 10.0**-places


def split_label(name: str, names: Mapping[str, str]) -> tuple[str, str]:
    """Which score of ours, and of which class: map_50[cat] is AP50 of cat."""
    score, _, label = name.strip().partition("[")
    score = score.strip()
    known = {theirs.lower(): ours for theirs, ours in names.items()}
    for ours in SHARED:
        if score.lower() == ours.lower() and not (ours == "mAP" and "map" in known):
            return ours, label.removesuffix("]")
    return known.get(score.lower(), THEIRS.get(score.lower(), score)), label.removesuffix("]")


def read_numbers(path: str | PathLike[str], names: Mapping[str, str] | None = None) -> list[PrintedNumber]:
    """A table of classes: the first column names them, others are scores; a row `all` is about all of them.

    Columns that are no scores, such as counts, are passed over. Where a value is above 1, all are in percent.
    """
    import csv
    from pathlib import Path

    from verite.files import read_text

    lines = [line for line in read_text(Path(path)).splitlines() if line.strip()]
    expected = "a table of classes with columns of scores, such as class,AP,AP50"
    if len(lines) < 2:
        raise ReadError(str(path), expected=expected, found=f"{len(lines)} lines")
    delimiter = max(",;\t", key=lines[0].count)
    head, *rows = csv.reader(lines, delimiter=delimiter)
    scores = {i: split_label(name, names or {})[0] for i, name in enumerate(head) if i}
    wanted = {i: score for i, score in scores.items() if is_score(score)}
    if not wanted:
        raise ReadError(str(path), expected=expected, found=f"columns {', '.join(head)}")
    found = []
    for place, row in enumerate(rows, 2):
        label = "" if row[0].strip().lower() in OVERALL else row[0].strip()
        for i, score in wanted.items():
            cell = row[i].strip() if i < len(row) else ""
            if cell.lower() not in ABSENT and not cell.startswith("-1"):
                found.append(number_in_cell(f"{path}:{place}", score, label, cell))
    if not found:
        raise ReadError(str(path), expected=expected, found="no numbers")
    return [number.in_percent() for number in found] if any(number.value > 1 for number in found) else found


def is_score(name: str) -> bool:
    return name in SHARED or (name.startswith("AR") and name[2:3] in "0123456789sml") or name.startswith("mAP@")


def number_in_cell(where: str, score: str, label: str, cell: str) -> PrintedNumber:
    digits = cell.removesuffix("%")
    try:
        value = float(digits)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise ReadError(where, expected=f"a score from 0 to 1 or in percent as {score}", found=repr(cell))
    key = f"{score}[{label}]" if label else score
    return PrintedNumber(f"{key}={cell}", value, half_of_last_place(digits), score, label)


def numbers_of(given: Any, table: str | PathLike[str] | None, names: Mapping[str, str]) -> list[PrintedNumber]:
    """All that was printed."""
    found = [PrintedNumber.of(number, names) for number in given]
    found += [] if table is None else read_numbers(table, names)
    if not found:
        raise BadParameter("number: expected at least one, found none")
    return found
