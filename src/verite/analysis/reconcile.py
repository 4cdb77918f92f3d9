"""What did the other tool print? Numbers with the digits they were printed to, one by one or as a table of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from os import PathLike
from typing import TYPE_CHECKING, Any

from verite.analysis.reconcile_search import TOOLS, Search, Trial, Way, spell_value, tool_named
from verite.errors import BadParameter, DataError, ReadError, did_you_mean, excerpt
from verite.evaluation.prepare import prepare
from verite.formats import read_pair
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table, Verbatim
from verite.protocols import REGISTRY, protocol_named
from verite.protocols.coco import LIMITS, THRESHOLDS

if TYPE_CHECKING:
    from verite.analysis.reconcile_search import Attempt, Trial
    from verite.evaluation.prepare import Checks
    from verite.formats import Readable


OVERALL = ("all", "mean", "average", "avg", "overall", "map", "total")  # rows that are about no class

ABSENT = ("", "-", "–", "—", "nan", "null", "none", "n/a")

SHARED = ("AP", "AP50", "AP75", "APs", "APm", "APl", "mAP", "P", "R", "F1")

# What tools call what we call otherwise, in lower case.
THEIRS = {theirs.lower(): ours for tool in TOOLS.values() for theirs, ours in tool.scores.items() if theirs != "mAP"}


@dataclass(frozen=True)
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
    from verite.csv_files import check_width, lines_of
    from verite.files import find_path, path_of

    lines = list(lines_of(find_path(path_of(path, "table"))))
    expected = "a table of classes with columns of scores, such as class,AP,AP50"
    if len(lines) < 2:
        raise ReadError(str(path), expected=expected, found=f"{len(lines)} lines")
    (_, head), *rows = lines
    scores = {i: split_label(name.strip(), names or {})[0] for i, name in enumerate(head) if i}
    wanted = {i: score for i, score in scores.items() if is_score(score)}
    if not wanted:
        raise ReadError(str(path), expected=expected, found=f"columns {excerpt(', '.join(head))}")
    found = []
    for place, row in rows:
        if len(row) > len(head):
            check_width(f"{path}:{place}", row, len(head))
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


SAME = 1e-12  # sums in another order

# Settings with which curves are matched and read as COCO does.
AS_COCO: dict[str, Any] = {
    "iou": THRESHOLDS,
    "interpolation": "101",
    "pixel": "continuous",
    "matching": "free",
    "ties": "image",
    "ignored": "crowd",
    "max_dets": LIMITS[-1],
}


@dataclass(frozen=True, eq=False)
class Step:
    """A change, the score after it, and what it made of it."""

    words: str
    value: float
    difference: float
    attempt: Attempt


def chain_from(trial: Trial, theirs: Attempt, ours: str, score: str) -> tuple[list[Step], list[str]]:
    """From an attempt to the protocol `ours` as it is, and the changes that do nothing."""
    steps = [Step(theirs.words, theirs.value(score), 0.0, theirs)]
    idle: list[str] = []

    def go(words: str, attempt: Attempt | None) -> None:
        if attempt is None:
            return
        value, before = attempt.value(score), steps[-1].value
        if abs(value - before) < SAME or (value != value and before != before):
            idle.append(words)
        else:
            steps.append(Step(words, value, value - before, attempt))

    for words, way in ways_between(theirs, ours):
        go(words, trial.attempt(way))
    last = trial.attempt(Way(f"{ours} as it is", ours))
    if last is not None:
        if steps[-1].attempt.verb != ours:
            go(f"by the rules of {ours}", last)
        value = last.value(score)
        steps.append(Step(f"ours: {last.words}", value, value - steps[0].value, last))
    return steps, idle


def ways_between(theirs: Attempt, ours: str) -> list[tuple[str, Way]]:
    """Every setting that differs, brought from theirs to ours one after the other; quirks first, what they say kept."""
    kind = protocol_named(theirs.verb).settings
    start = kind(**theirs.changes)
    target = kind(**(AS_COCO if (theirs.verb, ours) == ("voc", "coco") else {}))
    names = [name for name, setting in kind.declared.items() if setting.is_signed]
    values = {name: getattr(start, name) for name in names}
    found = []
    for name in sorted(names, key=lambda name: name != "quirks"):
        old, new = values[name], getattr(target, name)
        if old == new:
            continue
        values[name] = new
        usual = kind()
        changes = {key: value for key, value in values.items() if value != getattr(usual, key)}
        told = f"{name} {spell_value(theirs.verb, name, old)} → {spell_value(theirs.verb, name, new)}"
        found.append((told, Way(told, theirs.verb, changes)))
    return found


PROTOCOLS = ("coco", "voc")

TRIES = 500

MOST_ROWS = 6  # shown; JSON and CSV have all

WIDE = 20  # tolerances around a number in which attempts are counted, to know how many are near by chance


class Explanation(Display):
    """Every attempt, the nearest first, and the way from their number to ours."""

    def __init__(self, search: Search, ours: str, command: tuple[str, str, Sequence[str]], findings: Any = ()) -> None:
        """`command`: what truth and predictions are called, and how they are read."""
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
            raise BadParameter(f"number: expected scores that are there, such as {some}, found {named}")

    def distance(self, attempt: Attempt) -> float:
        return self.trial.distance(attempt)

    @property
    def reached(self) -> list[Attempt]:
        """Those that give all numbers to the printed digits, the fewest changes first; of equally many, those whose
        first score is a number that nobody named.
        """
        return sorted(
            (attempt for attempt in self.attempts if attempt.reaches(self.numbers)),
            key=lambda attempt: (attempt.effort, sum(map(attempt.is_aside, self.numbers))),
        )

    @property
    def best(self) -> Attempt:
        return next(iter(self.reached), self.attempts[0])

    @cached_property
    def score(self) -> str:
        """Which score the first number is, in the words that protocols share."""
        own = self.best.distance(self.numbers[0])[1]
        if own == "mAP" and self.ours != "coco":
            return own
        shared = {name: key for key, name in self.best.shared.items() if name in self.best.scores}
        return own if "[" in own or self.best.verb != "voc" else shared.get(own, own)

    @cached_property
    def walk(self) -> tuple[list[Step], list[str]]:
        return chain_from(self.trial, self.best, self.ours, self.score)

    @property
    def chain(self) -> list[Step]:
        """From theirs, the best attempt, to ours, one change after the other, with the score so far."""
        return self.walk[0]

    @property
    def idle(self) -> list[str]:
        """Changes on that way that change nothing."""
        return self.walk[1]

    @property
    def by_chance(self) -> float:
        """How many attempts one would expect to fit if they lay where they lie by chance."""
        near = [a for a in self.attempts if all(a.distance(n)[0] <= WIDE * n.tolerance for n in self.numbers)]
        return len(near) / float(WIDE ** len(self.numbers))

    def command(self, attempt: Attempt) -> str:
        return attempt.command(*self.call)

    def verdict(self) -> str:
        """The answer in a sentence."""
        wanted = ", ".join(number.text for number in self.numbers[:3])
        wanted += f" and {len(self.numbers) - 3} more" if len(self.numbers) > 3 else ""
        if not self.reached:
            nearest, number = self.attempts[0], self.worst_number(self.attempts[0])
            value = number.value + self.signed_distance(nearest, number)
            return (
                f"{wanted}: none of {len(self.attempts)} ways gives it; the nearest is {nearest.words}, "
                f"{nearest.distance(number)[1]} {value:.4f}, {self.distance(nearest):.4f} away."
            )
        simplest = [a for a in self.reached if a.effort[0] == self.best.effort[0]]
        ways = list(dict.fromkeys(attempt.words for attempt in simplest))
        is_combined = self.best.effort[0] > 1
        alone = "no known tool and no single change gives it, but " if is_combined else ""
        if len(ways) > 3:
            told = f"{'; '.join(ways[:3])}; and {len(ways) - 3} more"
            fit = f"{len(ways)} ways of several changes do" if is_combined else f"{len(ways)} ways give it"
            return f"{wanted}: {alone}{fit}. More digits or another number would tell which: {told}."
        return (
            f"{wanted}: {alone}{' or '.join(ways)} does."
            if is_combined
            else f"{wanted}: given by {' or by '.join(ways)}."
        )

    def signed_distance(self, attempt: Attempt, number: PrintedNumber) -> float:
        return attempt.scores[attempt.distance(number)[1]] - number.value

    def worst_number(self, attempt: Attempt) -> PrintedNumber:
        return max(self.numbers, key=lambda number: attempt.distance(number)[0])

    def remarks(self) -> list[str]:
        """What it means, where nothing fits or what fits may be chance."""
        if self.reached:
            if self.best.effort[0] > 1 and self.by_chance >= 0.5:
                return [f"By chance {self.by_chance:.1f} of these ways would fit: give more digits or another number."]
            return []
        number = self.worst_number(self.attempts[0])
        found = []
        if self.distance(self.attempts[0]) <= 5 * number.tolerance:
            found.append("That is a difference in the last digit: a number cut off, or boxes or confidences rounded.")
        signs = [self.signed_distance(a, number) for a in self.attempts]
        if all(sign > 0 for sign in signs) or all(sign < 0 for sign in signs):
            low, high = number.value + min(signs), number.value + max(signs)
            found.append(
                f"It lies outside of all that conventions give, {low:.4f} to {high:.4f}: other predictions, another "
                "truth, or other images, not another convention."
            )
        else:
            found.append("Other predictions, another truth, other images, or a convention that is not known here.")
        if self.findings:
            told = "; ".join(finding.message for finding in self.findings)
            found.append(f"The data look suspicious, and that may be why: {told}.")
        else:
            found.append("The checks found nothing suspicious about the data; verite inspect TRUTH PRED tells more.")
        return found

    def table(self) -> Table:
        """All attempts, with commands and signatures."""
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
        return self.table()

    def shown(self) -> list[Attempt]:
        """The best few: those that fit, and the nearest of the others."""
        return list(dict.fromkeys([*self.reached[:MOST_ROWS], *self.attempts]))[:MOST_ROWS]

    def contents(self) -> list[Part]:
        shown = self.shown()
        first = [attempt.distance(self.numbers[0])[1] for attempt in shown]
        columns: dict[str, Sequence[Any]] = {
            "score": first,
            "value": [a.scores[key] for a, key in zip(shown, first, strict=True)],
            "away by": ["fits" if a.reaches(self.numbers) else f"{self.distance(a):.4f}" for a in shown],
        }
        rows = [f"{place}  {attempt.words}" for place, attempt in enumerate(shown, 1)]
        lines = [f"{place}  {self.command(a)}\n   {a.signature}" for place, a in enumerate(shown, 1)]
        idle = [f"Without effect on the way: {', '.join(self.idle)}."] if self.idle else []
        return [
            " ".join([self.verdict(), *self.remarks()]),
            Table.of("   conventions", rows, columns),
            Verbatim("\n".join(lines)),
            self.chain_table(),
            *idle,
        ]

    def chain_table(self) -> Table:
        columns: dict[str, Sequence[Any]] = {
            self.score: [step.value for step in self.chain],
            "difference": ["" if not i else f"{step.difference:+.4f}" for i, step in enumerate(self.chain)],
        }
        return Table.of("from theirs to ours", [step.words for step in self.chain], columns)

    def to_dict(self) -> dict[str, Any]:
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

    def describe(self, attempt: Attempt) -> dict[str, Any]:
        return {
            "way": attempt.way.title,
            "words": attempt.words,
            "protocol": attempt.verb,
            "changes": attempt.changes,
            "scores": {name: value for name, value in attempt.scores.items() if "[" not in name},
            "signature": str(attempt.signature),
            "command": self.command(attempt),
        }

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)


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
) -> Explanation:
    """Which conventions give the numbers that another tool printed.

    A number is 0.523, 52.3 (percent), AP50=0.721 or AP50[person]=0.8; without a name it is any of AP, AP50, AP75 and
    mAP. Several narrow it down, and so does a `table` of classes (CSV). `tool`: only what that tool may do, and its
    names for scores. Ways of tools and single changes of the `protocols` are tried; where none gives the numbers to
    their printed digits, several changes together, the likeliest first, `tries` in all. The first of the protocols is
    ours: the chain from their number leads there. Data that look wrong are refused, as by every protocol; with
    `checks="warn"` or `"off"` they are taken as they are, as the other tool may have done. `read_as`: options of the
    command line with which both sides were read, for the commands.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29]])
    >>> pred = Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.9])
    >>> print(reconcile(truth, pred, "AP=0.7500", tool="ultralytics").verdict())
    AP=0.7500: given by ultralytics up to 8.4.36.
    """
    asked = None if tool is None else tool_named(tool)
    wanted = numbers_of(numbers, table, asked.scores if asked else {})
    if not isinstance(protocols, Sequence):
        raise BadParameter(f"protocols: expected some of {', '.join(REGISTRY)}, found {excerpt(protocols)}")
    if isinstance(tries, bool) or not isinstance(tries, int) or tries < 0:
        raise BadParameter(f"tries: expected a whole number from 0 up, found {excerpt(tries)}")
    for verb in protocols:
        if not isinstance(verb, str) or verb not in REGISTRY:
            near = did_you_mean(verb, REGISTRY) if isinstance(verb, str) else ""
            raise BadParameter(f"protocols: expected {', '.join(REGISTRY)}, found {excerpt(verb)}{near}")
    if not protocols:
        raise BadParameter("protocols: expected at least one, found none")
    known, given = read_pair(truth, pred)
    _, aligned, findings = prepare(known, given, checks, is_exact=True)
    sides = known, aligned
    search = Search(Trial(sides, wanted), tries)
    if asked:
        search.run(asked.ways, ())
    else:
        others = [way for other in TOOLS.values() for way in other.ways if way.verb in protocols and way.changes]
        search.run([Way(f"{verb} as it is", verb) for verb in protocols], others)
    if not search.attempts:
        raise DataError(f"explain: expected data that {tool or ' or '.join(protocols)} can evaluate, found none")
    paths = [side.source.path or word for side, word in zip(sides, ("TRUTH", "PRED"), strict=True)]
    return Explanation(search, protocols[0], (quote(paths[0]), quote(paths[1]), read_as), findings)


def quote(path: object) -> str:
    from shlex import quote as quote_word

    return quote_word(str(path))
