"""Why do two tools print different numbers? Which conventions give the number that another tool printed.

A tool's way is a protocol with some of its settings; a convention is one change of a setting. Ways of known tools are
tried, every single change, and where none gives the number, the likeliest of several changes together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import inf
from os import PathLike
from typing import TYPE_CHECKING, Any

from verite.analysis.explain_chain import Step, chain_from
from verite.analysis.explain_numbers import PrintedNumber, numbers_of
from verite.analysis.explain_search import Search, Trial
from verite.analysis.explain_tools import TOOLS, Way, tool_named
from verite.errors import BadParameter, DataError, did_you_mean
from verite.evaluation.prepare import prepare
from verite.formats import read_pair
from verite.model.display import Display, Part, Verbatim
from verite.model.results import to_json
from verite.model.tables import Table
from verite.protocols import HOMES

if TYPE_CHECKING:
    from verite.analysis.explain_search import Attempt
    from verite.evaluation.prepare import Checks
    from verite.formats import Readable

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


def explain(
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
    >>> print(explain(truth, pred, "AP=0.7500", tool="ultralytics").verdict())
    AP=0.7500: given by ultralytics up to 8.4.36.
    """
    asked = tool_named(tool) if tool else None
    wanted = numbers_of(numbers, table, asked.scores if asked else {})
    for verb in protocols:
        if verb not in HOMES:
            raise BadParameter(f"protocols: expected {', '.join(HOMES)}, found {verb!r}{did_you_mean(verb, HOMES)}")
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
