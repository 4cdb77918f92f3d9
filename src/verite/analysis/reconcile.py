"""Reconcile AP with the number that another tool printed: which evaluation conventions give it, and by which steps.

Printed numbers (`0.523`, `52.3`, `AP50=0.721`, a table of classes) are compared, to their printed digits, with the
scores of known tools and of changed settings. The answer names the conventions, the command that prints the number,
and the chain of single changes from there to our own number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from os import PathLike
from shlex import quote
from typing import TYPE_CHECKING, Any

from verite.analysis.part import Document
from verite.analysis.reconcile_search import TOOLS, Convention, Search, Trial, format_value, tool_named
from verite.errors import BadParameter, DataError, ReadError, did_you_mean, excerpt
from verite.evaluation.prepare import prepare
from verite.formats import read_pair
from verite.model.tables import Part, Table, Verbatim
from verite.protocols import REGISTRY, protocol_named
from verite.protocols.coco import LIMITS, THRESHOLDS

if TYPE_CHECKING:
    from verite.analysis.reconcile_search import Attempt
    from verite.evaluation.prepare import Checks
    from verite.files import JsonObject
    from verite.formats import Readable

OVERALL = ("all", "mean", "average", "avg", "overall", "map", "total")  # rows of a table that are no class
ABSENT = ("", "-", "–", "—", "nan", "null", "none", "n/a")
SHARED = ("AP", "AP50", "AP75", "APs", "APm", "APl", "mAP", "P", "R", "F1")  # names of scores that need no tool
# What tools call scores that have another name here, in lower case.
SYNONYMS = {theirs.lower(): ours for tool in TOOLS.values() for theirs, ours in tool.scores.items() if theirs != "mAP"}
SAME = 1e-12  # scores this close differ only in the order of summation
# Settings of Pascal VOC with which curves are matched and read as COCO does.
AS_COCO: Mapping[str, object] = {
    "iou": THRESHOLDS,
    "interpolation": "101",
    "pixel": "continuous",
    "matching": "free",
    "ties": "image",
    "ignored": "crowd",
    "max_dets": LIMITS[-1],
}
PROTOCOLS = ("coco", "voc")
TRIES = 500
SHOWN_ATTEMPTS = 6  # JSON and CSV have all
SHOWN_NUMBERS = SHOWN_CONVENTIONS = 3
NEIGHBOURHOOD = 20  # tolerances around a number in which attempts are counted, to estimate how many fit by chance


@dataclass(frozen=True)
class PrintedNumber:
    """A number as it was printed: its value, its tolerance, and which score of which class it is, if that is known."""

    text: str
    value: float
    tolerance: float
    score: str = ""
    label: str = ""

    @classmethod
    def of(cls, text: str | float, names: Mapping[str, str] | None = None) -> PrintedNumber:
        """Parse 0.523, 52.3 (percent), AP50=0.721 or AP50[person]=0.8; `names` are a tool's names of our scores.

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
        number = cls(str(text), value, half_of_last_digit(digits), *split_name(name, names or {}))
        return number.in_percent() if is_percent or value > 1 else number

    def in_percent(self) -> PrintedNumber:
        """Return the number read as percent."""
        return replace(self, value=round(self.value / 100, 12), tolerance=self.tolerance / 100)

    @property
    def key(self) -> str:
        """The name of the score, with its class."""
        return f"{self.score}[{self.label}]" if self.label else self.score


def half_of_last_digit(digits: str) -> float:
    """Half a unit of the last printed digit: how far the exact value may be away."""
    mantissa, _, exponent = digits.lower().partition("e")
    places = len(mantissa.partition(".")[2]) - (int(exponent) if exponent else 0)
    return 0.5 * 10.0**-places


def split_name(name: str, names: Mapping[str, str]) -> tuple[str, str]:
    """Return which score of ours a printed name is, and of which class: map_50[cat] is AP50 of cat."""
    score, _, label = name.strip().partition("[")
    score = score.strip()
    known = {theirs.lower(): ours for theirs, ours in names.items()}
    for ours in SHARED:
        if score.lower() == ours.lower() and not (ours == "mAP" and "map" in known):
            return ours, label.removesuffix("]")
    return known.get(score.lower(), SYNONYMS.get(score.lower(), score)), label.removesuffix("]")


def read_numbers(path: str | PathLike[str], names: Mapping[str, str] | None = None) -> list[PrintedNumber]:
    """Read a table of scores per class: the first column names the classes, a row `all` is about all of them.

    Columns that are no scores, such as counts, are skipped. Where a value is above 1, all are in percent.

    Raises
    ------
    ReadError
        If the file is no such table, or a score is no number.
    """
    from verite.csv_files import check_width, lines_of
    from verite.files import find_path, path_of

    lines = list(lines_of(find_path(path_of(path, "table"))))
    expected = "a table of classes with columns of scores, such as class,AP,AP50"
    if len(lines) < 2:
        raise ReadError(str(path), expected=expected, found=f"{len(lines)} lines")
    (_, head), *rows = lines
    wanted = {}
    for i, name in enumerate(head[1:], start=1):
        score, _ = split_name(name.strip(), names or {})
        is_recall = score.startswith("AR") and score[2:3] in "0123456789sml"
        if score in SHARED or is_recall or score.startswith("mAP@"):
            wanted[i] = score
    if not wanted:
        raise ReadError(str(path), expected=expected, found=f"columns {excerpt(', '.join(head))}")
    found = []
    for line, row in rows:
        if len(row) > len(head):
            check_width(f"{path}:{line}", row, len(head))
        label = "" if row[0].strip().lower() in OVERALL else row[0].strip()
        for i, score in wanted.items():
            cell = row[i].strip() if i < len(row) else ""
            if cell.lower() in ABSENT or cell.startswith("-1"):
                continue
            digits = cell.removesuffix("%")
            try:
                value = float(digits)
            except ValueError:
                value = -1.0
            if not 0 <= value <= 100:
                where = f"{path}:{line}"
                raise ReadError(where, expected=f"a score from 0 to 1 or in percent as {score}", found=repr(cell))
            key = f"{score}[{label}]" if label else score
            found.append(PrintedNumber(f"{key}={cell}", value, half_of_last_digit(digits), score, label))
    if not found:
        raise ReadError(str(path), expected=expected, found="no numbers")
    return [number.in_percent() for number in found] if any(number.value > 1 for number in found) else found


def parse_numbers(given: Any, table: str | PathLike[str] | None, names: Mapping[str, str]) -> list[PrintedNumber]:
    """Return all printed numbers, from arguments and from a table.

    Raises
    ------
    BadParameter
        If there is none.
    """
    found = [PrintedNumber.of(number, names) for number in given]
    found += [] if table is None else read_numbers(table, names)
    if not found:
        raise BadParameter("number: expected at least one, found none")
    return found


@dataclass(frozen=True, eq=False)
class Step:
    """One change on the way from their number to ours: the score after it, and by how much it changed."""

    words: str
    value: float
    difference: float
    attempt: Attempt


class Reconciliation(Document):
    """All attempts, the nearest first, and the chain of changes from their number to ours.

    Parameters
    ----------
    search
        The finished search.
    ours
        The protocol that the chain leads to.
    command
        Ground truth, predictions and reading options for the commands.
    findings
        What the checks found suspicious about the data.

    Raises
    ------
    BadParameter
        If no protocol has the scores or classes that were asked for.
    """

    def __init__(self, search: Search, ours: str, command: tuple[str, str, Sequence[str]], findings: Any = ()) -> None:
        self.trial, self.ours, self.call, self.findings = search.trial, ours, command, tuple(findings)
        self.numbers, self.inert = self.trial.numbers, list(search.inert)
        self.attempts = [attempt for attempt in search.nearest() if self.distance(attempt) < inf]
        if not self.attempts:
            known = dict.fromkeys(name for attempt in search.attempts for name in attempt.scores if "[" not in name)
            labels = self.trial.sides[0].labels.all_names
            wrong = next((n for n in self.numbers if n.label and n.label not in labels), None)
            if wrong is not None:
                near = did_you_mean(wrong.label, labels)
                raise BadParameter(f"number: expected one of {len(labels)} classes, found {wrong.text!r}{near}")
            named = " and ".join(number.text for number in self.numbers[:3])
            some = ", ".join(list(known)[:12])
            raise BadParameter(f"number: expected scores that exist, such as {some}, found {named}")

    def distance(self, attempt: Attempt) -> float:
        """The distance of an attempt to the number that is farthest from it."""
        return self.trial.distance(attempt)

    @property
    def reached(self) -> list[Attempt]:
        """The attempts that give all numbers to the printed digits, the fewest changes first.

        Of equally many changes, those whose first score is the number without a name.
        """
        return sorted(
            (attempt for attempt in self.attempts if attempt.reaches(self.numbers)),
            key=lambda attempt: (attempt.effort, sum(map(attempt.is_secondary, self.numbers))),
        )

    @property
    def best(self) -> Attempt:
        """The first attempt that gives all numbers, else the nearest one."""
        return next(iter(self.reached), self.attempts[0])

    @cached_property
    def score(self) -> str:
        """Which score the first number is, by the name that protocols share."""
        own = self.best.distance(self.numbers[0])[1]
        if own == "mAP" and self.ours != "coco":
            return own
        shared = {name: key for key, name in self.best.shared.items() if name in self.best.scores}
        return own if "[" in own or self.best.protocol != "voc" else shared.get(own, own)

    @cached_property
    def walk(self) -> tuple[list[Step], list[str]]:
        """The chain from the best attempt to our number, and the changes on it without effect.

        Every setting that differs is changed from theirs to ours, one after the other; quirks first.
        """
        theirs, score = self.best, self.score
        steps, idle = [Step(theirs.words, theirs.value(score), 0.0, theirs)], []
        kind = protocol_named(theirs.protocol).settings
        target = kind(**(AS_COCO if (theirs.protocol, self.ours) == ("voc", "coco") else {}))
        start, defaults = kind(**theirs.changes), kind()
        names = [name for name, setting in kind.declared.items() if setting.is_signed]
        values = {name: getattr(start, name) for name in names}
        found: list[tuple[str, Attempt | None]] = []
        for name in sorted(names, key=lambda name: name != "quirks"):
            old, new = values[name], getattr(target, name)
            if old == new:
                continue
            values[name] = new
            changes = {key: value for key, value in values.items() if value != getattr(defaults, key)}
            words = f"{name} {format_value(name, old)} → {format_value(name, new)}"
            found.append((words, self.trial.attempt(Convention(words, theirs.protocol, changes))))
        last = self.trial.attempt(Convention(f"{self.ours} as it is", self.ours))
        if last is not None and theirs.protocol != self.ours:
            found.append((f"by the rules of {self.ours}", last))
        for words, attempt in found:
            if attempt is None:
                continue
            value, before = attempt.value(score), steps[-1].value
            if abs(value - before) < SAME or (value != value and before != before):
                idle.append(words)
            else:
                steps.append(Step(words, value, value - before, attempt))
        if last is not None:
            value = last.value(score)
            steps.append(Step(f"ours: {last.words}", value, value - steps[0].value, last))
        return steps, idle

    @property
    def chain(self) -> list[Step]:
        """The steps from their number, the best attempt, to ours, with the score after each."""
        return self.walk[0]

    @property
    def idle(self) -> list[str]:
        """Changes on the chain without effect."""
        return self.walk[1]

    @property
    def by_chance(self) -> float:
        """How many attempts are expected to fit by chance, from the density of attempts around the numbers."""
        near = [a for a in self.attempts if all(a.distance(n)[0] <= NEIGHBOURHOOD * n.tolerance for n in self.numbers)]
        return len(near) / float(NEIGHBOURHOOD ** len(self.numbers))

    def command(self, attempt: Attempt) -> str:
        """Return the command that prints the scores of an attempt."""
        return attempt.command(*self.call)

    def verdict(self) -> str:
        """Return the answer as a sentence."""
        wanted = ", ".join(number.text for number in self.numbers[:SHOWN_NUMBERS])
        rest = len(self.numbers) - SHOWN_NUMBERS
        wanted += f" and {rest} more" if rest > 0 else ""
        if not self.reached:
            nearest, number = self.attempts[0], self.worst_number(self.attempts[0])
            value = number.value + self.signed_distance(nearest, number)
            return (
                f"{wanted}: none of {len(self.attempts)} conventions gives it; the nearest is {nearest.words}, "
                f"{nearest.distance(number)[1]} {value:.4f}, {self.distance(nearest):.4f} away."
            )
        simplest = [a for a in self.reached if a.effort[0] == self.best.effort[0]]
        listed = list(dict.fromkeys(attempt.words for attempt in simplest))
        is_combined = self.best.effort[0] > 1
        alone = "no known tool and no single change gives it, but " if is_combined else ""
        if len(listed) > SHOWN_CONVENTIONS:
            some = f"{'; '.join(listed[:SHOWN_CONVENTIONS])}; and {len(listed) - SHOWN_CONVENTIONS} more"
            count = f"{len(listed)} combinations do" if is_combined else f"{len(listed)} conventions give it"
            return f"{wanted}: {alone}{count}. More digits or another number would narrow it down: {some}."
        if is_combined:
            return f"{wanted}: {alone}{' or '.join(listed)} does."
        return f"{wanted}: given by {' or by '.join(listed)}."

    def signed_distance(self, attempt: Attempt, number: PrintedNumber) -> float:
        """The score of an attempt minus the printed number."""
        return attempt.scores[attempt.distance(number)[1]] - number.value

    def worst_number(self, attempt: Attempt) -> PrintedNumber:
        """The printed number that is farthest from an attempt."""
        return max(self.numbers, key=lambda number: attempt.distance(number)[0])

    def remarks(self) -> list[str]:
        """Return sentences for the case that nothing fits, or that a fit may be chance."""
        if self.reached:
            if self.best.effort[0] > 1 and self.by_chance >= 0.5:
                return [f"{self.by_chance:.1f} of these would fit by chance: give more digits or another number."]
            return []
        number = self.worst_number(self.attempts[0])
        found = []
        if self.distance(self.attempts[0]) <= 5 * number.tolerance:
            found.append("The difference is in the last digit: a truncated number, or rounded boxes or confidences.")
        signs = [self.signed_distance(a, number) for a in self.attempts]
        if all(sign > 0 for sign in signs) or all(sign < 0 for sign in signs):
            low, high = number.value + min(signs), number.value + max(signs)
            found.append(
                f"It is outside the range of all conventions, {low:.4f} to {high:.4f}: other predictions, another "
                "ground truth, or other images, not another convention."
            )
        else:
            found.append("Other predictions, another ground truth, other images, or an unknown convention.")
        if self.findings:
            messages = "; ".join(finding.message for finding in self.findings)
            found.append(f"The data look suspicious, which may be the reason: {messages}.")
        else:
            found.append("The checks found nothing suspicious about the data; verite inspect TRUTH PRED shows details.")
        return found

    def table(self) -> Table:
        """Return all attempts, with commands and signatures."""
        first = [attempt.distance(self.numbers[0])[1] for attempt in self.attempts]
        columns: dict[str, Sequence[Any]] = {
            "score": first,
            "value": [a.scores[key] for a, key in zip(self.attempts, first, strict=True)],
            "away by": [self.distance(a) for a in self.attempts],
            "fits": ["yes" if a.reaches(self.numbers) else "no" for a in self.attempts],
            "command": [self.command(a) for a in self.attempts],
            "signature": [str(a.signature) for a in self.attempts],
        }
        return Table.of("conventions", [a.words for a in self.attempts], columns)

    def main_table(self) -> Table:
        """Return all attempts."""
        return self.table()

    def contents(self) -> list[Part]:
        """Return the answer, the first attempts with their commands, and the chain."""
        # Those that fit, and the nearest of the others.
        shown = list(dict.fromkeys([*self.reached[:SHOWN_ATTEMPTS], *self.attempts]))[:SHOWN_ATTEMPTS]
        first = [attempt.distance(self.numbers[0])[1] for attempt in shown]
        columns: dict[str, Sequence[Any]] = {
            "score": first,
            "value": [a.scores[key] for a, key in zip(shown, first, strict=True)],
            "away by": ["fits" if a.reaches(self.numbers) else f"{self.distance(a):.4f}" for a in shown],
        }
        rows = [f"{place}  {attempt.words}" for place, attempt in enumerate(shown, 1)]
        lines = [f"{place}  {self.command(a)}\n   {a.signature}" for place, a in enumerate(shown, 1)]
        idle = [f"Without effect: {', '.join(self.idle)}."] if self.idle else []
        return [
            " ".join([self.verdict(), *self.remarks()]),
            Table.of("   conventions", rows, columns),
            Verbatim("\n".join(lines)),
            self.chain_table(),
            *idle,
        ]

    def chain_table(self) -> Table:
        """Return one row per step from their number to ours."""
        columns: dict[str, Sequence[Any]] = {
            self.score: [step.value for step in self.chain],
            "difference": ["" if not i else f"{step.difference:+.4f}" for i, step in enumerate(self.chain)],
        }
        return Table.of("from theirs to ours", [step.words for step in self.chain], columns)

    def to_dict(self) -> JsonObject:
        """Return the answer, all attempts and the chain as plain values."""
        numbers = [
            {"text": n.text, "score": n.score, "class": n.label, "value": n.value, "tolerance": n.tolerance}
            for n in self.numbers
        ]
        return {
            "answer": self.verdict(),
            "remarks": self.remarks(),
            "numbers": numbers,
            "reached": [self.attempts.index(attempt) for attempt in self.reached],
            "expected_by_chance": self.by_chance,
            "attempts": [self.describe(attempt) | {"distance": self.distance(attempt)} for attempt in self.attempts],
            "without_effect": self.inert,
            "chain": [
                {"change": step.words, "score": self.score, "value": step.value, "difference": step.difference}
                | {key: self.describe(step.attempt)[key] for key in ("signature", "command")}
                for step in self.chain
            ],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def describe(self, attempt: Attempt) -> JsonObject:
        """Return one attempt as plain values."""
        return {
            "way": attempt.convention.title,
            "words": attempt.words,
            "protocol": attempt.protocol,
            "changes": attempt.changes,
            "scores": {name: value for name, value in attempt.scores.items() if "[" not in name},
            "signature": str(attempt.signature),
            "command": self.command(attempt),
        }


def reconcile(
    truth: Readable,
    pred: Readable,
    *numbers: str | float,
    table: str | PathLike[str] | None = None,
    tool: str | None = None,
    protocols: Sequence[str] = PROTOCOLS,
    tries: int = TRIES,
    checks: Checks = "stop",
    read_as: Sequence[str] = (),
) -> Reconciliation:
    """Find the evaluation conventions that give the numbers another tool printed.

    Conventions of known tools and single changes of the protocols' settings are tried; where none gives the numbers to
    their printed digits, several changes together, the most likely first.

    Parameters
    ----------
    truth, pred : path, Annotations, or anything that `vt.read` takes
        Ground truth and predictions.
    *numbers : str or float
        Printed numbers: 0.523, 52.3 (percent), AP50=0.721 or AP50[person]=0.8. Without a name a number is any of AP,
        AP50, AP75 and mAP. Several numbers narrow it down.
    table : path, optional
        CSV file of printed scores per class.
    tool : str, optional
        Only try the conventions of this tool, and understand its names of scores.
    protocols : sequence of str
        Protocols whose conventions are tried. The first one is ours: the chain of changes leads there.
    tries : int
        Largest number of conventions to try.
    checks : {"stop", "warn", "off"}
        Suspicious data are an error, as by every protocol, or are taken as they are, as the other tool may have done.
    read_as : sequence of str
        Options of the command line by which both files are read, for the printed commands.

    Returns
    -------
    Reconciliation
        The conventions that give the numbers, with commands, and the chain from their number to ours.

    Raises
    ------
    BadParameter
        If a number, tool, protocol or score is unknown.
    DataError
        If the data look wrong, or no protocol can evaluate them.

    Examples
    --------
    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29]])
    >>> pred = Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.9])
    >>> print(reconcile(truth, pred, "AP=0.7500", tool="ultralytics").verdict())
    AP=0.7500: given by ultralytics up to 8.4.36.
    """
    asked = None if tool is None else tool_named(tool)
    wanted = parse_numbers(numbers, table, asked.scores if asked else {})
    if not isinstance(protocols, Sequence):
        raise BadParameter(f"protocols: expected some of {', '.join(REGISTRY)}, found {excerpt(protocols)}")
    if isinstance(tries, bool) or not isinstance(tries, int) or tries < 0:
        raise BadParameter(f"tries: expected a whole number from 0 up, found {excerpt(tries)}")
    for name in protocols:
        if not isinstance(name, str) or name not in REGISTRY:
            near = did_you_mean(name, REGISTRY) if isinstance(name, str) else ""
            raise BadParameter(f"protocols: expected {', '.join(REGISTRY)}, found {excerpt(name)}{near}")
    if not protocols:
        raise BadParameter("protocols: expected at least one, found none")
    known, given = read_pair(truth, pred)
    _, aligned, findings = prepare(known, given, checks, is_exact=True)
    sides = known, aligned
    search = Search(Trial(sides, wanted), tries)
    if asked:
        search.run(asked.conventions, ())
    else:
        every = [one for other in TOOLS.values() for one in other.conventions]
        others = [one for one in every if one.protocol in protocols and one.changes]
        search.run([Convention(f"{name} as it is", name) for name in protocols], others)
    if not search.attempts:
        raise DataError(f"reconcile: expected data that {tool or ' or '.join(protocols)} can evaluate, found none")
    paths = [side.source.path or word for side, word in zip(sides, ("TRUTH", "PRED"), strict=True)]
    return Reconciliation(search, protocols[0], (quote(paths[0]), quote(paths[1]), read_as), findings)
