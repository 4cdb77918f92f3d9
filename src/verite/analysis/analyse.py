"""Why is the number what it is? The parts of an analysis, all from the matches that gave the number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from math import inf, isnan
from typing import TYPE_CHECKING, Any
from warnings import warn

import verite
from verite.analysis.calibration import Calibration
from verite.analysis.comparison import SystemPair, compare_pairs
from verite.analysis.confusion import Confusion
from verite.analysis.errors import Errors
from verite.analysis.gate import SavedComparison
from verite.analysis.influence import find_influence, list_audit, merge_suspicions
from verite.analysis.lrp import LRP
from verite.analysis.matches import AnalysisMatches
from verite.analysis.operating import Operating
from verite.analysis.parts import BEST_F1, AnalyseSettings, ImageBootstrap, ProtocolSettings, tell_set_aside
from verite.analysis.parts import LRP as LRP_WORD
from verite.analysis.properties import read_metadata
from verite.analysis.slices import Slices
from verite.analysis.suspicious import MOST as LISTED
from verite.analysis.suspicious import Suspicious
from verite.analysis.worst import WORDS as ABOUT_SINGLES
from verite.analysis.worst import Worst
from verite.errors import BadParameter
from verite.evaluation.settings import ClassThresholds, EvaluationSettings, count_left
from verite.model.comparison import MOST_BESIDE, Comparison, distinct_names
from verite.model.results import Results, describe_cuts, digest_for, to_json
from verite.model.tables import Display, Part, Table, Verbatim, show_cell
from verite.progress import begin
from verite.protocols import protocol_named
from verite.threads import use_threads

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from verite.analysis.matches import Floats
    from verite.analysis.parts import AnalysisPart
    from verite.formats import Readable
    from verite.leaderboards.audit import AuditRow
from verite.signature import Signature

SUMMARY_CLASSES = 5


class Summary(Display):
    """Systems, the first of which may be what the others are compared with, and comparisons with what was saved."""

    def __init__(self, results: Sequence[Results], comparisons: Sequence[SavedComparison] = ()) -> None:
        self.results, self.comparisons = tuple(results), tuple(comparisons)

    def contents(self) -> list[Part]:
        news = self.results[1:] if len(self.results) > 1 and not self.comparisons else self.results
        return [
            *self.numbers(),
            *(part for one in self.comparisons for part in one.contents()[:-1]),
            *(part for result in news for part in self.shortcomings(result)),
            *self.findings(),
            *({result.signature for result in self.results} | {one.base.signature for one in self.comparisons}),
        ]

    def numbers(self) -> list[Part]:
        """Every score of every system, beside each other as far as they fit."""
        if self.comparisons or not self.results:
            return []  # which have them
        if len(self.results) == 1:
            return [self.results[0].summary()]
        comparison = Comparison(self.results)
        return [comparison.summary() if len(self.results) <= MOST_BESIDE else comparison.standing_table()]

    def shortcomings(self, result: Results) -> list[Part]:
        """What each type of error costs, and the worst classes."""
        costs = [replace(part, title=f"{result.name}: what is missing") if isinstance(part, Table) else part
                 for part in result.breakdown()]  # fmt: skip
        return [*costs, *([worst] if (worst := worst_classes(result)).rows else [])]

    def findings(self) -> list[Part]:
        """What is suspicious, each thing once."""
        return [*dict.fromkeys(f"{one.severity}: {one}" for result in self.results for one in result.findings)]


def worst_classes(result: Results) -> Table:
    """The rows of the classes with the worst first score."""
    headline, table = next(iter(result.scores)), result.class_table()
    values = dict(zip(result.class_names, result.class_scores()[headline], strict=True))
    present = [row for row in table.rows if not isnan(values.get(row[0], float("nan")))]
    order = sorted(present, key=lambda row: -values[row[0]] if result.is_error(headline) else values[row[0]])
    title = f"{result.name}: worst classes"
    return Table(table.head, tuple(order[:SUMMARY_CLASSES]), title=title if len(order) > 1 else result.name)


WORST_CLASSES = 10

WORST_SHOWN = 5

CONFUSED_SHOWN = 3

MOST_COLUMNS = 24  # of a table on the screen

MOST_PAIRS = 3  # of systems, told one by one


class Saving:
    """Base of analyses: writes the HTML report."""

    def save_report(self, output: str | PathLike[str], **settings: Any) -> Path:
        """Write the self-contained HTML report of this analysis, as `vt.report` does; returns its path."""
        return verite.save_report(self, output, **settings)  # type: ignore[arg-type]

    def save_page(self, output: str | PathLike[str], **settings: Any) -> Path:
        """Call `save_report` under its earlier name, with a DeprecationWarning."""
        warn("save_page is now called save_report", DeprecationWarning, stacklevel=2)
        return self.save_report(output, **settings)


class Analysis(Saving, Display):
    """One system: its parts are attributes, each made when it is first asked for."""

    def __init__(self, results: Results, settings: AnalyseSettings) -> None:
        self.results, self.settings = results, settings
        self.matches = AnalysisMatches(results, settings.background)
        self.name = results.name

    @cached_property
    def drawn(self) -> ImageBootstrap | None:
        """What is drawn again for intervals; None: nothing."""
        settings = self.settings
        if not settings.draws:
            return None
        return ImageBootstrap(self.results.truth, settings.draws, settings.seed, settings.resample)

    @cached_property
    def errors(self) -> Errors:
        """Six types of errors whose costs add up to 1 − AP."""
        return Errors(self.matches, self.drawn)

    @cached_property
    def worst(self) -> Worst:
        """Which predictions, truths and images to look at first."""
        return Worst(self.matches, self.errors.types)

    @cached_property
    def lrp(self) -> LRP:
        """Localization, recall and precision in one error, and the threshold of each label."""
        return LRP(self.matches)

    @cached_property
    def operating(self) -> Operating:
        """From which confidence on to use predictions."""
        return Operating(self.matches, self.settings.beta, self.drawn, self.settings.seed)

    @cached_property
    def confidence(self) -> float | ClassThresholds:
        """Where confusion cuts predictions off."""
        asked: Any = self.settings.confidence
        if asked == LRP_WORD:
            return ClassThresholds.of(self.lrp.thresholds)
        if asked == BEST_F1:
            best = self.operating.confidence
            return -inf if isnan(best) else best
        count_left(self.results.pred, asked)  # a threshold that no prediction reaches is refused
        return asked  # type: ignore[no-any-return]

    def describe_threshold(self) -> list[str]:
        """How many predictions the confidence threshold of the confusion leaves, where one was given."""
        if self.settings.confidence in (None, LRP_WORD, BEST_F1):
            return []
        return [count_left(self.results.pred, self.confidence)]

    @cached_property
    def confusion(self) -> Confusion:
        """Which labels are taken for which."""
        return Confusion(self.matches, self.confidence, self.settings.matching)

    @cached_property
    def calibration(self) -> Calibration:
        """Whether confidences mean what they say."""
        return Calibration(self.matches, self.settings.bins, self.settings.seed)

    @cached_property
    def slices(self) -> Slices:
        """Where it is good and where not."""
        settings = self.settings
        meta = read_metadata(settings.meta, self.results.truth) if settings.meta else None
        return Slices(self.matches, settings.slice or (), meta, self.drawn, settings.seed)

    @cached_property
    def suspicious(self) -> Suspicious:
        """Which records of the truth look wrong."""
        return Suspicious(self.matches, self.errors.types, self.worst, self.settings.prior)

    @cached_property
    def influence(self) -> Floats:
        """Of each record of the truth: by how much the first score changes if it is no object."""
        return find_influence(self.matches)

    @property
    def signature(self) -> Signature:
        return self.errors.signature

    @property
    def parts(self) -> dict[str, AnalysisPart]:
        """The parts that were asked for, by name."""
        wanted = [name for name in self.settings.only if name != "comparison"]
        with begin("analysing", len(wanted), "parts") as advance:
            found = {}
            for name in wanted:
                found[name] = getattr(self, name)
                advance(1)
        return found

    def tables(self) -> dict[str, Table]:
        """All tables of all parts, by the names of the files they are kept in."""
        return {name: table for part in self.parts.values() for name, table in part.tables().items()}

    def main_table(self) -> Table:
        return next(iter(self.parts.values()), self.errors).main_table()

    def breakdown(self) -> list[Part]:
        """What each type of error costs, drawn; nothing where nothing is to be found."""
        return [self.errors.bar_table()] if len(self.matches.present) else []

    def contents(self) -> list[Part]:
        """One screen: the headline, and the beginning of every part; of one part that is asked for alone, all of it."""
        asked = self.settings.only
        if len(asked) == 1 and asked[0] != "errors":
            return [self.tell_headline(), *self.tell_alone(asked[0])]
        shown: list[Part] = [self.tell_headline()]
        if "errors" in asked:
            shown += [*self.errors.breakdown(), self.errors.class_table(WORST_CLASSES)]
        if "worst" in asked:
            shown += [self.worst.image_table(WORST_SHOWN), ABOUT_SINGLES]
        if "operating" in asked:
            shown.append(self.operating.sentence())
        if "lrp" in asked:
            shown.append(self.lrp.sentence())
        if "confusion" in asked:
            shown += [*self.confusion.sentences(CONFUSED_SHOWN), *self.describe_threshold()]
        if "calibration" in asked:
            shown.append(self.calibration.sentence())
        if "slices" in asked:
            shown += self.slices.sentences()
        if "suspicious" in asked:
            shown += self.suspicious.sentences()
        return [*shown, tell_set_aside(self.matches), self.signature, *describe_cuts({"": self.results.findings})]

    def tell_alone(self, name: str) -> list[Part]:
        """One part without its widest tables; where systems are compared, that is told elsewhere."""
        part: AnalysisPart | None = getattr(self, name, None)
        if part is None:
            return [tell_set_aside(self.matches), self.signature]
        listed = part.contents()
        fit = [one for one in listed if not isinstance(one, Table) or len(one.head) <= MOST_COLUMNS]
        hidden = [] if len(fit) == len(listed) else [f"more than {MOST_COLUMNS} columns are in -o DIR, --json and csv"]
        threshold = self.describe_threshold() if name == "confusion" else []
        return [*fit[:-2], *threshold, *hidden, *fit[-2:]]

    def tell_headline(self) -> str:
        score = next(iter(self.results.scores))
        return Verbatim(f"{self.name}   {score} {show_cell(self.errors.base)}{self.errors.tell_drawn()}")

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values; the keys are documented and stay."""
        results, aside = self.results, self.matches.set_aside
        return {
            "protocol": results.protocol,
            "signature": str(results.signature),
            "name": self.name,
            **{name: part.to_dict() for name, part in self.parts.items()},
            "comparison": None,  # with nothing else
            "signatures": {name: str(part.signature) for name, part in self.parts.items()},
            "set_aside": sum(aside.values()),
            "set_aside_reasons": aside,
            "version": verite.__version__,
            "truth": {"path": results.truth.source.path, "digest": digest_for(results.signature, results.truth)},
            "pred": {"path": results.pred.source.path, "digest": digest_for(results.signature, results.pred)},
            "findings": [finding.to_dict() for finding in results.findings],
        }

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)

    def to_frame(self) -> Any:
        """The main table as a pandas DataFrame (pandas must be installed)."""
        return self.main_table().to_frame()

    def plot(self, kind: str = "errors", ax: Any = None) -> Any:
        """A picture of one part on matplotlib's axes, which are returned."""
        return verite.plot(self, kind, ax)


class Analyses(Saving, Display):
    """Several systems on the same truth, one analysis each."""

    def __init__(self, analyses: Sequence[Analysis]) -> None:
        Comparison([one.results for one in analyses])  # what does not compare is said
        names = distinct_names([one.name for one in analyses])
        self.systems = dict(zip(names, analyses, strict=True))

    def __getitem__(self, name: str) -> Analysis:
        return self.systems[name]

    @cached_property
    def comparison(self) -> list[SystemPair]:
        """Every two of them: labels, objects and errors in which they differ."""
        return compare_pairs(self.systems)

    @cached_property
    def suspicious(self) -> list[dict[str, Any]]:
        """Records that look wrong to any of them: of one record the largest probability, agreement is not counted."""
        return [system.suspicious.tell(one) for system, one in merge_suspicions(list(self.systems.values()))[:LISTED]]

    def audit(self, most: int | None = None) -> list[AuditRow]:
        """Records to be checked, those that would change a lead most likely first."""
        count = self.settings.audit if most is None else most
        return list_audit(list(self.systems.values()), self.comparison, count)

    @property
    def signature(self) -> Signature:
        first, *_ = self.systems.values()
        return first.signature

    def plot(self, kind: str = "systems", ax: Any = None) -> Any:
        """What errors cost each of them, on matplotlib's axes, which are returned."""
        return verite.plot(self, kind, ax)

    def main_table(self) -> Table:
        """What each type of error costs each system."""
        first, *_ = self.systems.values()
        types = list(first.errors.cost)
        columns = {name: [one.errors.cost[key] for key in types] for name, one in self.systems.items()}
        return Table.of("error", types, columns, mean={name: sum(values) for name, values in columns.items()})

    def contents(self) -> list[Part]:
        listed: list[Part] = []
        if self.settings.only == ("comparison",):
            return [*(part for pair in self.told_pairs for part in pair.contents()), *self.tell_hidden()]
        for one in self.systems.values():
            listed += one.contents()
        told = [part for pair in self.told_pairs for part in pair.sentences()] if self.is_compared else []
        return [self.main_table(), *told, *self.tell_hidden(), *listed]

    @property
    def told_pairs(self) -> list[SystemPair]:
        """Every two systems; of many, neighbours in the order by AP."""
        if len(self.comparison) <= MOST_PAIRS:
            return self.comparison
        order = sorted(self.systems, key=lambda name: -self.systems[name].errors.base)
        near = [{a, b} for a, b in pairwise(order)]
        return [pair for both in near for pair in self.comparison if set(pair.names) == both]

    def tell_hidden(self) -> list[Part]:
        count = len(self.comparison)
        if not self.is_compared or count <= MOST_PAIRS:
            return []
        return [f"neighbours by AP; all {count:,} pairs are in -o DIR and --json"]

    @property
    def settings(self) -> AnalyseSettings:
        first, *_ = self.systems.values()
        return first.settings

    @property
    def is_compared(self) -> bool:
        return "comparison" in self.settings.only

    def to_dict(self) -> dict[str, Any]:
        first, *_ = self.systems.values()
        return {
            "protocol": first.results.protocol,
            "signature": str(first.results.signature),
            "systems": {name: one.to_dict() for name, one in self.systems.items()},
            "comparison": [pair.to_dict() for pair in self.comparison] if self.is_compared else None,
            "suspicious": self.suspicious if "suspicious" in self.settings.only else None,
        }

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)


def analyse(
    truth: Readable | Results, pred: Readable | Mapping[str, Readable] | None = None, **settings: Any
) -> Analysis | Analyses:
    """Why a number is what it is: costs of errors that add up to what is missing, and where to look first.

    Of a truth and predictions, or of several by name or in a list, or of results that are there already, as
    ``results.analyse()`` does. `protocol` is coco, voc, lvis or openimages; `on`, `iou` and others are its own.
    `background` is the overlap up to which a prediction is said to overlap nothing; `only` names the parts that are
    wanted; with `draws` (or `resample`, by which images belong together) there are intervals over the choice of images.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [20, 20, 30, 30]])
    >>> pred = Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.9])
    >>> found = analyse(truth, pred)
    >>> round(found.errors.base, 4), round(found.errors.cost["missed"], 4)
    (0.505, 0.495)
    """
    if isinstance(truth, Results):
        if pred is not None:
            raise BadParameter("analyse: expected results alone, found predictions beside them")
        evaluated = sorted(set(ProtocolSettings.declared) - set(EvaluationSettings.declared) & set(settings))
        if evaluated:
            raise BadParameter(f"analyse: expected {evaluated[0]} where the results were made, found it here")
        return Analysis(truth, AnalyseSettings(**settings))
    asked = AnalyseSettings(**settings)
    if pred is None:
        raise BadParameter("analyse: expected predictions, found none")
    with use_threads(asked.threads):
        truth, pred = protocol_named(asked.protocol).read(truth, pred)
    if not isinstance(pred, dict):
        return Analysis(evaluate(truth, pred, asked), asked)
    return Analyses([Analysis(evaluate(truth, one, asked, name), asked) for name, one in pred.items()])


def evaluate(truth: Readable, pred: Readable, settings: AnalyseSettings, name: str | None = None) -> Results:
    """The protocol's own results."""
    protocol = protocol_named(settings.protocol)
    given = {key: getattr(settings, key) for key in ProtocolSettings.declared if key != "protocol"}
    given["name"] = name or settings.name
    asked = {key: value for key, value in given.items() if value is not None}
    for key in asked:
        if key not in protocol.settings.declared:
            raise BadParameter(f"{key}: expected nothing with {settings.protocol}, found {asked[key]!r}")
    results = protocol(truth, pred, **asked)
    assert isinstance(results, Results)
    return results
