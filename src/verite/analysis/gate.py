"""Is it good enough? Requirements such as "AP>=base-0.005", held against what was measured."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from math import isnan

from verite.analysis.saved import Saved
from verite.errors import BadParameter, did_you_mean, excerpt
from verite.model.tables import show_cell
from verite.records import record

NUMBER = r"\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+"
GRAMMAR = re.compile(
    rf"\s*(?P<score>[^\[\]<>=]+?)\s*(?:\[(?P<label>.*)\])?\s*(?P<sign>>=|<=|>|<)\s*"
    rf"(?:(?P<base>base)\s*(?:(?P<side>[+-])\s*(?P<by>{NUMBER}))?|(?P<number>-?(?:{NUMBER})))\s*",
    re.IGNORECASE | re.DOTALL,
)
SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt
}  # fmt: skip
Interval = Callable[[str, "str | None"], tuple[float, float]]


@record()
class Decision:
    """Whether a requirement is met, and a line that says why."""

    is_met: bool
    line: str


@record()
class Requirement:
    """A score, of all classes or of one, against a number or against the base.

    >>> Requirement.parse("AP[person] >= base - 0.01")
    Requirement(text='AP[person] >= base - 0.01', score='AP', label='person', sign='>=', has_base=True, number=-0.01)
    """

    text: str
    score: str
    label: str | None
    sign: str
    has_base: bool
    number: float  # added to the base, or the number itself

    @classmethod
    def parse(cls, text: str) -> Requirement:
        found = GRAMMAR.fullmatch(text)
        if found is None:
            raise BadParameter(
                'require: expected a line such as "AP>=0.5", "AP[person]>=0.6" or "AP>=base-0.005", '
                f"found {excerpt(text)}"
            )
        if found["base"]:
            number = float(f"{found['side'] or '+'}{found['by'] or 0}")
        else:
            number = float(found["number"])
        return cls(text.strip(), found["score"], found["label"], found["sign"], bool(found["base"]), number)

    @property
    def what(self) -> str:
        return self.score if self.label is None else f"{self.score}[{self.label}]"

    def look_up(self, measured: Saved) -> float:
        """The score that is asked about."""
        scores = measured.scores | measured.thresholds
        if self.label is not None:
            if self.label not in measured.classes:
                near = did_you_mean(self.label, measured.classes)
                raise BadParameter(f"require: expected a class of {measured.name}, found {excerpt(self.label)}{near}")
            scores = measured.classes[self.label]
        if self.score not in scores:
            near = did_you_mean(self.score, scores)
            known = ", ".join(measured.scores if self.label is None else scores)
            raise BadParameter(f"require: expected one of {known}, found {excerpt(self.score)}{near}")
        return scores[self.score]

    def judge(self, new: Saved, base: Saved | None = None, interval: Interval | None = None) -> Decision:
        """Met or not. With an interval of `new - base`, not met only if all of it misses the requirement."""
        value = self.look_up(new)
        if not self.has_base:
            return self.tell(value, self.number, "")
        if base is None:
            raise BadParameter(f"require: expected a base for {self.text!r}, found none; name it with --base FILE")
        old = self.look_up(base)
        limit = old + self.number
        about = f" (base {show_cell(old)})"
        if interval is None:
            return self.tell(value, limit, about)
        low, high = interval(self.score, self.label)
        best = high if self.sign.startswith(">") else low
        plain = self.tell(value, limit, f"{about}; difference {low:+.4f} to {high:+.4f}")
        is_met = not isnan(value) and (isnan(best) or SIGNS[self.sign](best, self.number))
        return Decision(is_met, plain.line) if is_met == plain.is_met else self.say(is_met, plain.line)

    def tell(self, value: float, limit: float, about: str) -> Decision:
        """A value that is absent meets nothing."""
        is_met = not isnan(limit) and SIGNS[self.sign](value, limit)
        found = f"{self.what} {show_cell(value)}, expected {self.sign} {show_cell(limit)}{about}"
        return Decision(is_met, f"{'met' if is_met else 'not met'}: {self.text}: found {found}")

    def say(self, is_met: bool, line: str) -> Decision:
        """The interval decides otherwise than the values alone."""
        _, _, rest = line.partition(": ")
        return Decision(is_met, f"{'met, not surely missed' if is_met else 'not met'}: {rest}")
