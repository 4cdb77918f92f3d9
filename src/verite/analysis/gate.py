"""Quality gates for CI: requirements such as "AP>=base-0.005" on saved results, and a summary of a run.

Two results are compared score by score; a requirement is met, or not, or not significantly missed.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verite.analysis.analyse import Analysis
from verite.analysis.parts import analyse_settings
from verite.errors import BadParameter, ReadError, did_you_mean, excerpt, one_line, spell_option
from verite.evaluation.results import MatchedResults
from verite.files import find_path
from verite.model.comparison import MOST_BESIDE, Comparison, check_alike, distinct_names
from verite.model.results import Results, to_json
from verite.model.tables import Change, Display, Part, Table, show_cell
from verite.signature import Signature

if TYPE_CHECKING:
    from verite.files import JsonObject

SHOWN_CLASSES = 5  # of the largest drop, and of the lowest score


class Summary(Display):
    """A summary of one or several results, for the job summary of CI.

    Parameters
    ----------
    results
        The results; of several, the first one is the base of the others.
    comparisons
        Comparisons with saved results, if any.
    """

    def __init__(self, results: Sequence[Results], comparisons: Sequence[SavedComparison] = ()) -> None:
        self.results, self.comparisons = tuple(results), tuple(comparisons)

    def contents(self) -> list[Part]:
        """Return scores, comparisons, the costs of error types, the classes of lowest score, and findings."""
        shown: list[Part] = []
        if not self.comparisons and self.results:
            if len(self.results) == 1:
                shown.append(self.results[0].summary())
            elif len(self.results) <= MOST_BESIDE:
                shown.append(Comparison(self.results).summary())
            else:
                shown.append(Comparison(self.results).standing_table())
        shown += [part for one in self.comparisons for part in one.contents()[:-1]]
        for result in self.results[1:] if len(self.results) > 1 and not self.comparisons else self.results:
            title = f"{result.name}: where AP is lost"
            if isinstance(result, MatchedResults) and result.has_objects:
                costs = Analysis(result, analyse_settings()()).breakdown()
                shown += [replace(one, title=title) if isinstance(one, Table) else one for one in costs]
            # The rows of the classes with the worst first score.
            headline, table = next(iter(result.scores)), result.class_table()
            values = dict(zip(result.class_names, result.class_scores()[headline], strict=True))
            present = [row for row in table.rows if not isnan(values.get(row[0], float("nan")))]
            order = sorted(present, key=lambda row: -values[row[0]] if result.is_error(headline) else values[row[0]])
            heading = f"{result.name}: worst classes"
            lowest = Table(table.head, tuple(order[:SHOWN_CLASSES]), title=heading if len(order) > 1 else result.name)
            shown += [lowest] if lowest.rows else []
        shown += dict.fromkeys(f"{one.severity}: {one}" for result in self.results for one in result.findings)
        signatures = {result.signature for result in self.results} | {one.base.signature for one in self.comparisons}
        return [*shown, *signatures]


@dataclass(frozen=True)
class Saved:
    """The scores of one evaluation as saved by `--save`: overall, per IoU threshold and per class."""

    name: str
    signature: Signature
    truth: str  # digest of the ground truth
    scores: dict[str, float]
    thresholds: dict[str, float]  # scores at single IoU thresholds, such as AP@0.50
    classes: dict[str, dict[str, float]]
    findings: tuple[str, ...] = ()  # warnings about the data, one line each

    @classmethod
    def of(cls, found: Results | Mapping[str, Any]) -> Saved:
        """Take the scores from results, or from their saved JSON document."""
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
    """Return the scores among the values of a document: all numbers that are no counts, and means of metrics."""
    found = {key: nan if v is None else float(v) for key, v in values.items() if v is None or isinstance(v, float)}
    return found | {key: nan if v["mean"] is None else float(v["mean"]) for key, v in values.get("metrics", {}).items()}


def read_saved(path: str | Path) -> Saved:
    """Read the results of one detector from a file that `--save` wrote.

    Raises
    ------
    ReadError
        If the file holds several detectors, or another document.
    """
    from verite.formats.json_documents import decode

    document = decode(find_path(path), Any)
    systems = document.get("systems") if isinstance(document, dict) else None
    if isinstance(systems, dict) and len(systems) == 1:  # the keys of one detector are at the top, too
        document = document if "name" in document else next(iter(systems.values()))
    elif isinstance(systems, (list, dict)):
        raise ReadError(
            path, expected="results of one detector", found=f"those of {len(systems)}", remedy="save them one by one"
        )
    try:
        return Saved.of(document)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
        expected = "results that verite wrote as JSON"
        raise ReadError(
            path,
            expected=expected,
            found="another document",
            remedy="write them with verite coco TRUTH PRED --save FILE",
        ) from None


# Protocols all of whose scores are better if higher, so that their differences have a colour in a terminal.
HIGHER_IS_BETTER = ("coco", "voc_ap", "lvis", "openimages_ap", "imagenet_det_ap", "panoptic", "semantic", "f1")


class SavedComparison(Display):
    """Two saved results side by side: every score, and the classes with the largest drop."""

    def __init__(self, base: Saved, new: Saved) -> None:
        check_alike((base.name, new.name), (base.signature, new.signature), (base.truth, new.truth))
        self.base, self.new = base, new
        self.names = distinct_names([base.name, new.name])

    def table(self) -> Table:
        """Return one row per score."""
        pairs = {key: (value, self.new.scores.get(key, nan)) for key, value in self.base.scores.items()}
        return self.side_by_side("score", pairs)

    def fallen(self) -> Table | None:
        """Return the classes with the largest drop of the first score; None where no class dropped."""
        score = next((key for values in self.base.classes.values() for key in values), None)
        both = {
            name: (values.get(score or "", nan), self.new.classes.get(name, {}).get(score or "", nan))
            for name, values in self.base.classes.items()
        }
        fell = sorted((name for name, (old, new) in both.items() if new < old), key=lambda n: both[n][1] - both[n][0])
        if not fell:
            return None
        return self.side_by_side(
            "class", {name: both[name] for name in fell[:SHOWN_CLASSES]}, f"largest drop of {score}"
        )

    def side_by_side(self, key: str, pairs: Mapping[str, tuple[float, float]], title: str = "") -> Table:
        """Return both values of each key, and their difference.

        Parameters
        ----------
        key
            Heading of the first column.
        pairs
            Value of the base and of the new result, by name of the row.
        title
            Title of the table.

        Returns
        -------
        Table
            A table of three columns. Differences of scores for which higher is better are marked as gains and
            losses.
        """
        old, new = ([pair[i] for pair in pairs.values()] for i in range(2))
        kind = Change if self.base.signature.name in HIGHER_IS_BETTER else float
        columns = {self.names[0]: old, self.names[1]: new, "difference": [kind(b - a) for a, b in pairs.values()]}
        return Table.of(key, list(pairs), columns, title=title)

    def contents(self) -> list[Part]:
        """Return both tables and the signature."""
        fallen = self.fallen()
        return [self.table(), *([fallen] if fallen else []), self.base.signature]

    def to_dict(self) -> JsonObject:
        """Return every score of both results."""
        scores = {key: {"base": a, "new": b, "difference": float(d)} for key, a, b, d in self.table().rows}
        return {"signature": str(self.base.signature), "base": self.names[0], "new": self.names[1], "scores": scores}

    def to_json(self, *, indent: int = 0) -> str:
        """Return one JSON document; absent values are null."""
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
    """Whether a requirement is met, and one line with the values."""

    is_met: bool
    line: str


@dataclass(frozen=True)
class Requirement:
    """A requirement on a score, overall or of one class, against a number or relative to the base.

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
        """Parse a line such as "AP>=0.5" or "AP[person]>=base-0.01"."""
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
        """The score, with its class."""
        return self.score if self.label is None else f"{self.score}[{self.label}]"

    def look_up(self, measured: Saved) -> float:
        """Return the score of the requirement among those measured."""
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
        """Decide whether the requirement is met.

        `interval` returns the confidence interval of `new - base`; with it a requirement fails only if the whole
        interval misses it, so only if the difference is significant.
        """
        value = self.look_up(new)
        if not self.has_base:
            return self.compare(value, self.number, "")
        if base is None:
            raise BadParameter(
                f"require: expected a base for {self.text!r}, found none; name it with {spell_option('base')}"
            )
        old = self.look_up(base)
        limit, about = old + self.number, f" (base {show_cell(old)})"
        if interval is None:
            return self.compare(value, limit, about)
        low, high = interval(self.score, self.label)
        best = high if self.sign.startswith(">") else low
        plain = self.compare(value, limit, f"{about}; difference {low:+.4f} to {high:+.4f}")
        is_met = not isnan(value) and (isnan(best) or SIGNS[self.sign](best, self.number))
        if is_met == plain.is_met:
            return plain
        _, _, rest = plain.line.partition(": ")
        return Decision(is_met, f"{'met, not significantly missed' if is_met else 'not met'}: {rest}")

    def compare(self, value: float, limit: float, about: str) -> Decision:
        """Compare a value with its limit; an absent value meets no requirement.

        Parameters
        ----------
        value
            The score or difference found; NaN if it is absent.
        limit
            The number in the requirement, or the one it refers to.
        about
            What is said behind the limit, such as where it comes from.

        Returns
        -------
        Decision
            Whether it is met, and the line that is printed.
        """
        is_met = not isnan(limit) and SIGNS[self.sign](value, limit)
        found = f"{self.what} {show_cell(value)}, expected {self.sign} {show_cell(limit)}{about}"
        return Decision(is_met, f"{'met' if is_met else 'not met'}: {self.text}: found {found}")
