"""Why do two tools print different numbers? Which conventions give the number that another tool printed.

A convention is one named change of a protocol's settings. Each is tried alone; where none gives the number, two at a
time. What the settings declare as choices and flags is tried without a line written for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Any

from verite.errors import BadParameter, DataError
from verite.evaluation.prepare import prepare
from verite.formats import read_pair
from verite.model.display import Display, Part
from verite.model.results import to_json
from verite.model.tables import Table
from verite.protocols import HOMES, protocol_named
from verite.records import record
from verite.settings import Choice, Flag
from verite.signature import spell

if TYPE_CHECKING:
    from verite.checks import Finding
    from verite.evaluation.prepare import Checks
    from verite.formats import Readable
    from verite.model.annotations import Annotations
    from verite.protocols.protocol import Protocol
    from verite.signature import Signature

# Values that other tools are known to use where a setting has no list of choices.
USUAL: dict[str, tuple[Any, ...]] = {
    "iou": (0.3, 0.4, 0.5, 0.75, 0.9),
    "max_dets": ((1, 10, 300), (1, 10, 500), (1, 10, 1000)),
    "confidence": (0.001, 0.01, 0.05, 0.1, 0.25, 0.3, 0.5),
}
PROTOCOLS = ("coco", "voc")
HEADLINES = ("AP", "AP50", "AP75")  # what tools print first, and mAP
MOST_ROWS = 15  # shown; JSON has all


@record()
class PrintedNumber:
    """A number as it was printed: its value, what it may differ by, and which score it is, if somebody says so."""

    text: str
    value: float
    tolerance: float
    score: str = ""

    @classmethod
    def of(cls, text: str | float) -> PrintedNumber:
        """From what was printed: 0.523, 52.3 (percent), or AP50=0.721.

        >>> PrintedNumber.of("AP50=72.1")
        PrintedNumber(text='AP50=72.1', value=0.721, tolerance=0.0005, score='AP50')
        """
        name, _, digits = str(text).rpartition("=")
        try:
            value = float(digits)
        except ValueError:
            raise BadParameter(f"number: expected a number such as 0.523 or AP50=0.721, found {text!r}") from None
        if not 0 <= value <= 100:
            raise BadParameter(f"number: expected a score from 0 to 1 or in percent, found {text!r}")
        unit = 0.01 if value > 1 else 1.0
        places = len(digits.strip().partition(".")[2])
        return cls(str(text), round(value * unit, 12), 0.5 * 10.0**-places * unit, name.strip())

    def distance(self, scores: dict[str, float]) -> tuple[float, str]:
        """How far the nearest score is, and which one it is."""
        asked = [self.score] if self.score else [key for key in scores if is_headline(key)] or list(scores)
        known = {key: scores[key] for key in asked if not isnan(scores.get(key, nan))}
        nearest = min(known, key=lambda key: abs(known[key] - self.value), default="")
        return (abs(known[nearest] - self.value), nearest) if nearest else (inf, self.score)

    def is_reached(self, scores: dict[str, float]) -> bool:
        return self.distance(scores)[0] <= self.tolerance * (1 + 1e-9)


def is_headline(score: str) -> bool:
    return score in HEADLINES or score.startswith("mAP")


@record()
class Attempt:
    """A protocol with some of its settings changed, and what comes out."""

    verb: str
    changes: tuple[tuple[str, Any], ...]
    scores: dict[str, float]
    signature: Signature

    @property
    def words(self) -> str:
        return ", ".join(f"{name} {spell(value)}" for name, value in self.changes) or "as it is"

    def command(self, truth: str, pred: str) -> str:
        """What prints these numbers."""
        declared = protocol_named(self.verb).settings.declared
        options = []
        for name, value in self.changes:
            if isinstance(declared[name], Flag):
                options.append(declared[name].option)
            else:
                values = value if isinstance(value, tuple) else (value,)
                options += [f"{declared[name].option} {one}" for one in values]
        return " ".join(["verite", self.verb, truth, pred, *options])


class Explanation(Display):
    """Every attempt, the nearest first, and the way from the protocol as it is to the best of them."""

    def __init__(
        self,
        numbers: Sequence[PrintedNumber],
        attempts: Iterable[Attempt],
        paths: tuple[str, str],
        findings: Sequence[Finding] = (),
    ) -> None:
        self.numbers, self.paths, self.findings = tuple(numbers), paths, tuple(findings)
        every = list(attempts)
        # Of equally near ones that with fewer changes; those that do not have the score cannot be compared.
        order = sorted(every, key=lambda attempt: (self.distance(attempt), len(attempt.changes)))
        self.attempts = [attempt for attempt in order if self.distance(attempt) < inf]
        if not self.attempts:
            known = ", ".join(dict.fromkeys(key for attempt in every for key in attempt.scores))
            named = " and ".join(number.text for number in self.numbers)
            raise BadParameter(f"number: expected scores that are there, such as {known}, found {named}")

    def distance(self, attempt: Attempt) -> float:
        return max(number.distance(attempt.scores)[0] for number in self.numbers)

    @property
    def reached(self) -> list[Attempt]:
        """Those that give all numbers to the printed digits."""
        return [a for a in self.attempts if all(number.is_reached(a.scores) for number in self.numbers)]

    def chain(self) -> list[tuple[str, float]]:
        """From the protocol as it is to the nearest attempt, one change after the other, with the score so far."""
        best = self.attempts[0]
        _, score = self.numbers[0].distance(best.scores)
        by_changes = {frozenset(a.changes): a for a in self.attempts if a.verb == best.verb}
        steps = [by_changes.get(frozenset(best.changes[:count])) for count in range(len(best.changes) + 1)]
        words = ["as it is", *(f"{name} {spell(value)}" for name, value in best.changes)]
        return [(w, a.scores.get(score, nan)) for w, a in zip(words, steps, strict=True) if a is not None]

    def table(self, most: int | None = None) -> Table:
        shown = self.attempts[:most]
        first = [self.numbers[0].distance(attempt.scores)[1] for attempt in shown]
        columns: dict[str, Sequence[Any]] = {
            "score": first,
            "value": [a.scores.get(key, nan) for a, key in zip(shown, first, strict=True)],
            "away by": [self.distance(a) for a in shown],
            "command": [a.command("TRUTH", "PRED") for a in shown],
        }
        return Table.of("conventions", [f"{a.verb}: {a.words}" for a in shown], columns)

    def verdict(self) -> str:
        wanted = " and ".join(number.text for number in self.numbers)
        reached = self.reached
        if not reached:
            return (
                f"{wanted}: nothing that was tried gives it ({len(self.attempts)} ways); other predictions, another "
                "truth, or a convention that is not known here? see verite inspect TRUTH PRED"
            )
        fewest = min(len(attempt.changes) for attempt in reached)
        simplest = [f"{a.verb}: {a.words}" for a in reached if len(a.changes) == fewest]
        return f"{wanted}: to the printed digits by {'; or '.join(simplest[:4])}" + (
            f"; and {len(simplest) - 4} more" if len(simplest) > 4 else ""
        )

    def contents(self) -> list[Part]:
        steps = [f"{words} {value:.4f}" for words, value in self.chain()]
        nearest = self.attempts[0]
        parts: list[Part] = [self.verdict(), self.table(MOST_ROWS)]
        if len(steps) > 1:
            parts.append(f"from {nearest.verb} as it is to the nearest: {' → '.join(steps)}")
        return [*parts, nearest.signature]

    def to_dict(self) -> dict[str, Any]:
        return {
            "numbers": [{"text": n.text, "value": n.value, "tolerance": n.tolerance} for n in self.numbers],
            "reached": [self.attempts.index(attempt) for attempt in self.reached],
            "attempts": [
                {
                    "protocol": attempt.verb,
                    "changes": {name: spell(value) for name, value in attempt.changes},
                    "distance": self.distance(attempt),
                    "scores": attempt.scores,
                    "signature": str(attempt.signature),
                    "command": attempt.command(*self.paths),
                }
                for attempt in self.attempts
            ],
            "chain": [{"change": words, "value": value} for words, value in self.chain()],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)


def explain(
    truth: Readable,
    pred: Readable,
    *numbers: str | float,
    protocols: Sequence[str] = PROTOCOLS,
    checks: Checks = "stop",
) -> Explanation:
    """Which conventions give the numbers that another tool printed.

    A number is 0.523, 52.3 (percent) or AP50=0.721, without a name any of AP, AP50, AP75 and mAP; several narrow it
    down. Each convention of the `protocols` is tried alone, and where none gives the numbers to their printed digits,
    two at a time. Data that look wrong are looked at first, as by every protocol: with `warn` or `off` they are taken
    as they are, as the other tool may have done.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29]])
    >>> pred = Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.9])
    >>> print(explain(truth, pred, 0.5455, protocols=["voc"]).verdict())
    0.5455: to the printed digits by voc: interpolation 11
    """
    wanted = [PrintedNumber.of(number) for number in numbers]
    if not wanted:
        raise BadParameter("number: expected at least one, found none")
    for verb in protocols:
        if verb not in HOMES:
            raise BadParameter(f"protocols: expected {', '.join(HOMES)}, found {verb!r}")
    known, given = read_pair(truth, pred)
    _, aligned, findings = prepare(known, given, checks, is_exact=True)
    sides = known, aligned
    attempts = [a for verb in protocols for a in attempts_of(protocol_named(verb), sides, 0)]
    attempts += [a for verb in protocols for a in attempts_of(protocol_named(verb), sides, 1)]
    if not attempts:
        raise DataError(f"explain: expected data that {' or '.join(protocols)} can evaluate, found none")
    if not any(all(n.is_reached(a.scores) for n in wanted) for a in attempts):
        attempts += [a for verb in protocols for a in attempts_of(protocol_named(verb), sides, 2)]
    paths = tuple(side.source.path or word for side, word in zip(sides, ("TRUTH", "PRED"), strict=True))
    return Explanation(wanted, attempts, (paths[0], paths[1]), findings)


def conventions(protocol: Protocol[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Every single change of a protocol's settings that is worth a try."""
    for setting in protocol.settings.declared.values():
        if not setting.is_signed:
            continue
        if isinstance(setting, Choice):
            yield from ((setting.name, word) for word in setting.choices if word != setting.default)
        elif isinstance(setting, Flag):
            yield setting.name, not setting.default
        elif setting.name in USUAL:
            is_new = [value for value in USUAL[setting.name] if value != setting.default]
            yield from ((setting.name, value) for value in is_new)


def attempts_of(protocol: Protocol[Any, Any], sides: tuple[Annotations, Annotations], count: int) -> Iterator[Attempt]:
    """The numbers with so many changes at once; what the data does not allow, such as masks of boxes, is left out."""
    for changes in combinations(list(conventions(protocol)), count):
        if len({name for name, _ in changes}) < count:
            continue
        try:
            results = protocol(*sides, checks="off", **dict(changes))
        except (BadParameter, DataError):
            continue
        scores = {key: score.value for key, score in results.scores.items()}
        yield Attempt(protocol.verb, changes, scores, results.signature)
