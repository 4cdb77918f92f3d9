"""Is it good enough? Requirements such as "AP>=base-0.005", held against what was measured."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from typing import Any

from verite.errors import BadParameter, ReadError, did_you_mean, excerpt, one_line
from verite.files import find_path
from verite.model.comparison import check_alike, distinct_names
from verite.model.results import Results, to_json
from verite.model.tables import Display, Part, Table, show_cell
from verite.signature import Signature

SHOWN = 5  # classes that fell most


@dataclass(frozen=True)
class Saved:
    """The scores of one evaluation, of all classes and of each."""

    name: str
    signature: Signature
    truth: str  # its digest
    scores: dict[str, float]
    thresholds: dict[str, float]  # the same at one threshold each, as AP@0.50
    classes: dict[str, dict[str, float]]
    findings: tuple[str, ...] = ()  # warnings about the data, a line each

    @classmethod
    def of(cls, found: Results | Mapping[str, Any]) -> Saved:
        """Of results, or of the document that they are saved as."""
        document = found.to_dict() if isinstance(found, Results) else found
        thresholds = {
            f"{key}@{one['iou']:.2f}": value
            for one in document.get("thresholds", ())
            for key, value in means_of(one).items()
            if key != "iou"
        }
        classes = {name: means_of(values) for name, values in document.get("classes", {}).items()}
        signature = Signature.parse(document["signature"])
        name, digest = document["name"], document["truth"]["digest"]
        if not isinstance(name, str) or not isinstance(digest, str):
            raise TypeError(f"expected a name and a digest, found {name!r} and {digest!r}")
        findings = tuple(
            one_line(f"{one['severity']}: {name}: {one['code']} {one['message']}; {one['fix']}")
            for one in document.get("findings", ())
        )
        return cls(name, signature, digest, means_of(document), thresholds, classes, findings)


def means_of(values: Mapping[str, Any]) -> dict[str, float]:
    """The scores among the values of a document: every number that is no count, and the means of metrics."""
    found = {key: nan if v is None else float(v) for key, v in values.items() if v is None or isinstance(v, float)}
    return found | {key: nan if v["mean"] is None else float(v["mean"]) for key, v in values.get("metrics", {}).items()}


def read_saved(path: str | Path) -> Saved:
    """Results of one system from the file that `--save` wrote."""
    from verite.formats.json_documents import decode

    document = decode(find_path(path), Any)
    if isinstance(document, dict) and isinstance(document.get("systems"), (list, dict)):
        raise ReadError(path, expected="one system", found=f"{len(document['systems'])}", remedy="save them one by one")
    try:
        return Saved.of(document)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
        expected = "results that --save or --json wrote"
        raise ReadError(
            path, expected=expected, found="another document", remedy="verite coco TRUTH PRED --save FILE"
        ) from None


class SavedComparison(Display):
    """Two saved results side by side: every score, and the classes that fell most."""

    def __init__(self, base: Saved, new: Saved) -> None:
        check_alike((base.name, new.name), (base.signature, new.signature), (base.truth, new.truth))
        self.base, self.new = base, new
        self.names = distinct_names([base.name, new.name])

    def table(self) -> Table:
        """A row for each score."""
        pairs = {key: (value, self.new.scores.get(key, nan)) for key, value in self.base.scores.items()}
        return self.beside("score", pairs)

    def fallen(self) -> Table | None:
        """The classes whose first score fell most."""
        score = next((key for values in self.base.classes.values() for key in values), None)
        both = {
            name: (values.get(score or "", nan), self.new.classes.get(name, {}).get(score or "", nan))
            for name, values in self.base.classes.items()
        }
        fell = sorted((name for name, (old, new) in both.items() if new < old), key=lambda n: both[n][1] - both[n][0])
        if not fell:
            return None
        return self.beside("class", {name: both[name] for name in fell[:SHOWN]}, f"{score} fell most")

    def beside(self, key: str, pairs: Mapping[str, tuple[float, float]], title: str = "") -> Table:
        old, new = ([pair[i] for pair in pairs.values()] for i in range(2))
        columns = {self.names[0]: old, self.names[1]: new, "difference": [b - a for a, b in pairs.values()]}
        return Table.of(key, list(pairs), columns, title=title)

    def contents(self) -> list[Part]:
        fallen = self.fallen()
        return [self.table(), *([fallen] if fallen else []), self.base.signature]

    def to_dict(self) -> dict[str, Any]:
        scores = {key: {"base": a, "new": b, "difference": d} for key, a, b, d in self.table().rows}
        return {"signature": str(self.base.signature), "base": self.names[0], "new": self.names[1], "scores": scores}

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)


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


@dataclass(frozen=True)
class Decision:
    """Whether a requirement is met, and a line that says why."""

    is_met: bool
    line: str


@dataclass(frozen=True)
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
