"""Error analysis of a detector (`vt.analyse`): where AP is lost, and which images, classes and annotations to look at.

Every part (error types, confusion matrix, calibration …) comes from the matches of the evaluation that gave the AP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, update_wrapper
from itertools import combinations, pairwise
from math import inf, isnan
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, overload
from warnings import warn

import numpy as np

from verite import __version__
from verite.analysis.comparison import DetectorPair, audit_comparison, influence_of_truths, merge_suspicions
from verite.analysis.confusion import BEST_F1
from verite.analysis.confusion import LRP as LRP_THRESHOLDS
from verite.analysis.errors import TYPES, F1Errors
from verite.analysis.matches import AnalysisMatches
from verite.analysis.part import Document, ImageBootstrap, describe_ignored, find_groups
from verite.analysis.parts import (
    REGISTRY,
    WITHOUT_CONFIDENCES,
    AnalyseSettings,
    ProtocolSettings,
    analyse_settings,
    part_named,
)
from verite.analysis.suspicious import MOST_IN_JSON
from verite.errors import BadParameter
from verite.evaluation.settings import ClassThresholds, EvaluationSettings, count_left
from verite.hooks import hook
from verite.model.comparison import Comparison, distinct_names
from verite.model.results import Results, describe_cuts, digest_for, to_json, with_systems
from verite.model.tables import Part, Table, Verbatim, show_cell
from verite.plotting import ERROR_COLOURS, MOST_OF_NAME, SCORE_COLOUR, label_rows, shorten_apart
from verite.progress import begin
from verite.protocols import protocol_named
from verite.settings import call_signature
from verite.statistics.resampling import warn_of_few
from verite.threads import use_threads

if TYPE_CHECKING:
    from inspect import Signature as CallSignature
    from os import PathLike
    from pathlib import Path

    from matplotlib.axes import Axes

    from verite.analysis.calibration import Calibration
    from verite.analysis.confusion import Confusion
    from verite.analysis.errors import Errors
    from verite.analysis.lrp import LRP
    from verite.analysis.matches import Floats
    from verite.analysis.operating import Operating
    from verite.analysis.part import AnalysisPart
    from verite.analysis.slices import Slices
    from verite.analysis.suspicious import SuspicionRow, Suspicious
    from verite.analysis.worst import Worst
    from verite.files import JsonObject
    from verite.formats import Readable
    from verite.leaderboards.audit import AuditRow
    from verite.model.annotations import Annotations
    from verite.signature import Signature

MOST_COLUMNS = 24  # of a table on the screen
MOST_PAIRS = 3  # of detectors that are all compared on the screen
# Of AP, then of the error types, as in the report.
SEGMENT_COLOURS = (SCORE_COLOUR.light, *(ERROR_COLOURS[kind].light for kind in TYPES))
DEPRECATED_KEYS = ("errors.deviation.bias", "suspicious.probability", "comparison.flips_of_signs")  # for one version
NARROWEST_LABELLED = 0.05  # bar segment that has room for its number


class ReportWriter:
    """Base of analyses: writes the HTML report."""

    def save_report(self, output: str | PathLike[str], **settings: Any) -> Path:
        """Write the self-contained HTML report of this analysis, as `vt.report` does; return its path."""
        path: Path = hook("save_report")(self, output, **settings)
        return path

    def save_page(self, output: str | PathLike[str], **settings: Any) -> Path:
        """Call `save_report` under its earlier name, with a DeprecationWarning."""
        warn("save_page is now called save_report", DeprecationWarning, stacklevel=2)
        return self.save_report(output, **settings)


class Analysis(ReportWriter, Document):
    """The error analysis of one detector; each part is computed when it is first used.

    Parameters
    ----------
    results : Results
        Results that keep their matches: those of `vt.coco`, `vt.voc`, `vt.lvis` or `vt.openimages`.
    settings : AnalyseSettings
        The settings, as `vt.analyse` takes them.

    Attributes
    ----------
    errors : Errors
        Six error types whose costs add up to 1 − AP.
    worst : Worst
        Cost of every single false positive, missed object and image.
    lrp : LRP
        Optimal LRP error, and the confidence threshold of each class.
    operating : Operating
        Precision, recall and F1 by confidence threshold, and FROC.
    confusion : Confusion
        Confusion matrix, with background and missed objects.
    calibration : Calibration
        Calibration of confidences: ECE, Brier score, LaECE.
    slices : Slices
        Recall and AP by size, position, metadata.
    suspicious : Suspicious
        Annotations that look wrong.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [20, 20, 30, 30]])
    >>> pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.9])
    >>> analysis = vt.coco(truth, pred).analyse(confidence=0.5)
    >>> analysis.errors.counts["missed"], analysis.confusion.matrix.tolist()
    (1, [[1, 1], [0, 0]])
    """

    results: Results
    settings: AnalyseSettings
    matches: AnalysisMatches
    errors: Errors
    worst: Worst
    lrp: LRP
    operating: Operating
    confusion: Confusion
    calibration: Calibration
    slices: Slices
    suspicious: Suspicious

    def __init__(self, results: Results, settings: AnalyseSettings) -> None:
        if results.protocol == "f1":
            unknown = [name for name in settings.only if name not in WITHOUT_CONFIDENCES]
            if unknown and settings.only != tuple(REGISTRY):
                listed = ", ".join(WITHOUT_CONFIDENCES)
                raise BadParameter(f"only: expected sections out of {listed} with f1, found {unknown[0]!r}")
            settings = settings.change(only=tuple(one for one in settings.only if one in WITHOUT_CONFIDENCES))
        self.results, self.settings = results, settings
        self.matches = AnalysisMatches(results, settings.background, find_groups(results.truth, settings.resample))
        self.name = results.name

    def __getattr__(self, name: str) -> Any:
        """Compute a part by its name, and keep it."""
        build = part_named(name).build if name in REGISTRY else None
        if build is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        vars(self)[name] = part = build(self)
        return part

    @cached_property
    def bootstrap(self) -> ImageBootstrap | None:
        """Bootstrap resamples of images for confidence intervals; None without `draws`."""
        settings = self.settings
        if not settings.draws:
            return None
        return ImageBootstrap(self.results.truth, settings.draws, settings.seed, settings.resample)

    @cached_property
    def confidence(self) -> float | ClassThresholds:
        """The confidence threshold of the confusion matrix, or one per class; -inf keeps every prediction."""
        given: Any = self.settings.confidence
        if given == LRP_THRESHOLDS:
            return ClassThresholds.of(self.lrp.thresholds)
        if self.results.protocol == "f1":  # predictions below its threshold are dropped already
            return -inf
        if given == BEST_F1:
            best = self.operating.confidence
            return -inf if isnan(best) else best
        count_left(self.results.pred, given)  # a threshold that no prediction reaches is an error
        return given  # type: ignore[no-any-return]

    @cached_property
    def influence(self) -> Floats:
        """For each ground truth, by how much the first score changes if it is removed."""
        return influence_of_truths(self.matches)

    @property
    def signature(self) -> Signature:
        """The signature of the error costs."""
        return self.errors.signature

    @property
    def group_warning(self) -> list[str]:
        """A warning where intervals and tests have few groups of images as units."""
        groups = self.matches.groups
        return warn_of_few(None if groups is None else len(np.unique(groups.astype(np.str_))))

    @property
    def parts(self) -> dict[str, AnalysisPart]:
        """The parts that the setting `only` chooses, by name."""
        wanted = [name for name in self.settings.only if part_named(name).build is not None]
        with begin("analysing", len(wanted), "parts") as advance:
            found = {}
            for name in wanted:
                found[name] = getattr(self, name)
                advance(1)
        return found

    def tables(self) -> dict[str, Table]:
        """Return all tables of all parts by the names of their CSV files."""
        return {name: table for part in self.parts.values() for name, table in part.tables().items()}

    def main_table(self) -> Table:
        """Return the main table of the first part."""
        return next(iter(self.parts.values()), self.errors).main_table()

    def breakdown(self) -> list[Part]:
        """Return the costs of the error types with bars; nothing without ground truth."""
        return [self.errors.bar_table()] if len(self.matches.present) else []

    def contents(self) -> list[Part]:
        """Return one screen: the headline and a summary of every part; of a part that is chosen alone, all of it."""
        score = self.errors.headline if isinstance(self.errors, F1Errors) else next(iter(self.results.scores))
        value = f"{show_cell(self.errors.base)}{self.errors.describe_deviation()}"
        headline = Verbatim(f"{self.name}   {score} {value}")
        chosen, parts = self.settings.only, self.parts
        if len(chosen) == 1 and chosen[0] in parts and chosen[0] != "errors":
            listed = parts[chosen[0]].contents()
            fit = [one for one in listed if not isinstance(one, Table) or len(one.head) <= MOST_COLUMNS]
            hidden = [f"Tables of more than {MOST_COLUMNS} columns are in -o DIR, --json and --style csv"]
            return [headline, *fit[:-2], *(hidden if len(fit) < len(listed) else []), *self.group_warning, *fit[-2:]]
        shown = [one for part in parts.values() for one in part.summary()]
        cuts = describe_cuts({"": self.results.findings})
        return [headline, *shown, *self.group_warning, describe_ignored(self.matches), self.signature, *cuts]

    def to_dict(self) -> JsonObject:
        """Return everything as plain values, the content of the JSON document; the keys are documented and stable."""
        results, ignored, parts = self.results, self.matches.ignored_counts, self.parts
        return {
            "protocol": results.protocol,
            "signature": str(results.signature),
            "name": self.name,
            **{name: part.to_dict() for name, part in parts.items()},
            "comparison": None,  # there is no other detector
            "signatures": {name: str(part.signature) for name, part in parts.items()},
            "set_aside": sum(ignored.values()),
            "set_aside_reasons": ignored,
            "version": __version__,
            "truth": {"path": results.truth.source.path, "digest": digest_for(results.signature, results.truth)},
            "pred": {"path": results.pred.source.path, "digest": digest_for(results.signature, results.pred)},
            "findings": [finding.to_dict() for finding in results.findings],
            "deprecated": list(DEPRECATED_KEYS),
        }

    def to_json(self, *, indent: int = 0) -> str:
        """Return one JSON document; absent values are null. ``systems`` has this detector, as it has several."""
        return to_json(with_systems(self.name, self.to_dict()), indent=indent)

    def plot(self, kind: str = "errors", ax: Any = None) -> Axes:
        """Draw the plot of one part, by its kind, on matplotlib's axes, or on new ones; return the axes."""
        axes: Axes = hook("plot")(self, kind, ax)
        return axes


class Analyses(ReportWriter, Document):
    """The error analyses of several detectors on the same ground truth, and their comparison.

    Parameters
    ----------
    analyses : sequence of Analysis
        One analysis per detector, by the same settings.

    Raises
    ------
    NotComparable
        If the detectors were evaluated differently or on different ground truths.
    """

    def __init__(self, analyses: Sequence[Analysis]) -> None:
        Comparison([one.results for one in analyses])
        names = distinct_names([one.name for one in analyses])
        self.systems = dict(zip(names, analyses, strict=True))

    def __getitem__(self, name: str) -> Analysis:
        """Return the analysis of one detector."""
        return self.systems[name]

    @property
    def first(self) -> Analysis:
        """The analysis of the first detector."""
        return next(iter(self.systems.values()))

    @property
    def settings(self) -> AnalyseSettings:
        """The settings, the same for all detectors."""
        return self.first.settings

    @property
    def signature(self) -> Signature:
        """The signature of the error costs."""
        return self.first.signature

    @property
    def is_compared(self) -> bool:
        """Whether the comparison is among the chosen parts."""
        return "comparison" in self.settings.only

    @cached_property
    def comparison(self) -> list[DetectorPair]:
        """Every two detectors, in the given order: classes, objects and errors in which they differ."""
        return [DetectorPair(self.systems[a], self.systems[b], (a, b)) for a, b in combinations(self.systems, 2)]

    @property
    def shown_pairs(self) -> list[DetectorPair]:
        """The pairs that are printed: all or, of many detectors, neighbours in the ranking by AP."""
        if len(self.comparison) <= MOST_PAIRS:
            return self.comparison
        ranking = sorted(self.systems, key=lambda name: -self.systems[name].errors.base)
        near = [{a, b} for a, b in pairwise(ranking)]
        return [pair for both in near for pair in self.comparison if set(pair.names) == both]

    @cached_property
    def suspicious(self) -> list[SuspicionRow]:
        """Annotations that look wrong to any detector; of one annotation the largest suspicion."""
        merged = merge_suspicions(list(self.systems.values()))[:MOST_IN_JSON]
        return [detector.suspicious.suspicion_dict(one) for detector, one in merged]

    def audit(self, most: int | None = None) -> list[AuditRow]:
        """Return annotations to check, those most likely to change a difference in AP first."""
        count = self.settings.audit if most is None else most
        return audit_comparison(list(self.systems.values()), self.comparison, count)

    def main_table(self) -> Table:
        """Return the cost of each error type for each detector."""
        types = list(self.first.errors.cost)
        columns = {name: [one.errors.cost[key] for key in types] for name, one in self.systems.items()}
        return Table.of("error", types, columns, mean={name: sum(values) for name, values in columns.items()})

    def contents(self) -> list[Part]:
        """Return costs, comparisons and one screen per detector."""
        hidden, warning = [], self.first.group_warning
        if self.is_compared and len(self.comparison) > MOST_PAIRS:
            hidden = [f"Neighbours by AP; all {len(self.comparison):,} pairs are in -o DIR and --json"]
        if self.settings.only == ("comparison",):
            return [*(part for pair in self.shown_pairs for part in pair.contents()), *hidden, *warning]
        compared = [part for pair in self.shown_pairs for part in pair.sentences()] if self.is_compared else []
        each = [part for one in self.systems.values() for part in one.contents() if part not in warning]
        return [self.main_table(), *compared, *hidden, *warning, *each]

    def draw(self, axes: Axes) -> None:
        """Draw one bar per detector, the highest AP on top: AP and the cost of each error type, which add up to 1."""
        systems = sorted(self.systems.items(), key=lambda one: -one[1].errors.base)
        at, left = np.arange(len(systems)), np.zeros(len(systems))
        pieces = {"AP": [one.errors.base for _, one in systems]}
        pieces |= {key: [one.errors.cost[key] for _, one in systems] for key in systems[0][1].errors.cost}
        for (label, widths), colour in zip(pieces.items(), SEGMENT_COLOURS, strict=True):
            axes.barh(at, widths, 0.8, left, color=colour, edgecolor="white", lw=0.6, label=label)
            for i, width in enumerate(widths):
                if width >= NARROWEST_LABELLED:
                    ink = "white" if label == "AP" else "black"
                    axes.text(left[i] + width / 2, i, f"{width:.2f}", ha="center", va="center", fontsize=8, color=ink)
            left = left + np.nan_to_num(widths)
        label_rows(axes, shorten_apart([name for name, _ in systems], MOST_OF_NAME))
        axes.set(xlim=(0, 1), xlabel="AP and cost of each error type")
        axes.legend(frameon=False, fontsize=8, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), handlelength=1)

    def to_dict(self) -> JsonObject:
        """Return everything as plain values, the content of the JSON document; the keys are documented and stable."""
        return {
            "protocol": self.first.results.protocol,
            "signature": str(self.first.results.signature),
            "systems": {name: one.to_dict() for name, one in self.systems.items()},
            "comparison": [pair.to_dict() for pair in self.comparison] if self.is_compared else None,
            "suspicious": self.suspicious if "suspicious" in self.settings.only else None,
        }

    def plot(self, kind: str = "systems", ax: Any = None) -> Axes:
        """Draw the costs of all detectors on matplotlib's axes, or on new ones; return the axes."""
        axes: Axes = hook("plot")(self, kind, ax)
        return axes


P = ParamSpec("P")


class AnalyseFunction(Generic[P]):
    """`vt.analyse`, called like a function; its keyword arguments are the settings of all registered parts."""

    def __init__(self, function: Callable[..., Analysis | Analyses], settings: Callable[P, AnalyseSettings]) -> None:
        update_wrapper(self, function)
        self.function = function

    @overload
    def __call__(self, truth: Results, pred: None = None, *args: P.args, **settings: P.kwargs) -> Analysis: ...
    @overload
    def __call__(
        self, truth: Readable, pred: Mapping[str, Annotations], *args: P.args, **settings: P.kwargs
    ) -> Analyses: ...
    @overload
    def __call__(
        self, truth: Readable, pred: Annotations | str | PathLike[str], *args: P.args, **settings: P.kwargs
    ) -> Analysis: ...
    @overload
    def __call__(self, truth: Readable, pred: Readable, *args: P.args, **settings: P.kwargs) -> Analysis | Analyses: ...
    def __call__(self, truth: Any, pred: Any = None, *args: P.args, **settings: P.kwargs) -> Analysis | Analyses:
        return self.function(truth, pred, *args, **settings)

    @property
    def __signature__(self) -> CallSignature:
        found = call_signature(
            analyse_settings(), {"truth": "Readable | Results", "pred": "Readable"}, "Analysis | Analyses"
        )
        parameters = dict(found.parameters)
        parameters["pred"] = parameters["pred"].replace(default=None)
        return found.replace(parameters=list(parameters.values()))

    def __reduce__(self) -> str:
        return "analyse"


def analyse_detectors(
    truth: Readable | Results, pred: Readable | Mapping[str, Readable] | None = None, **settings: Any
) -> Analysis | Analyses:
    """Analyse the errors of one or several detectors: where AP is lost, and where to look first.

    Every part comes from the matches that gave the AP: error types whose costs add up to 1 − AP, the cost of single
    errors and images, optimal LRP, operating points, confusion matrix, calibration, slices, and suspicious annotations.
    Several detectors are also compared.

    Parameters
    ----------
    truth : path, Annotations, anything that `vt.read` takes, or Results
        The ground truth; or existing results of `vt.coco`, `vt.voc`, `vt.lvis` or `vt.openimages`, which are not
        evaluated again (as ``results.analyse()`` does) and take no predictions beside them.
    pred : path, Annotations, anything that `vt.read` takes, or ``{name: predictions}``
        The predictions of one detector, or of several by name or in a list.
    protocol : {"coco", "voc", "lvis", "openimages", "f1"}
        Protocol whose AP is analysed; "f1" for predictions without confidences. Default: "coco".
    on, iou, sigmas, max_distance, pixel_size, metric, image_labels, hierarchy, descriptions, labels, checks, threads
        Settings of the protocol, as ``vt.coco`` and the others take them.
    background : float
        Maximum IoU of a background error (TIDE's t_b). Default: 0.1.
    beta : float
        Weight of recall against precision in F-beta. Default: 1.
    confidence : float, "best-f1", "lrp", path or ``{class: float}``
        Confidence threshold of the confusion matrix and of the comparison. Default: "best-f1".
    matching : {"same-first", "label-free"}
        Matching of the confusion matrix: same class first, or regardless of class.
    bins : {"equal", "quantile"}
        Bins of the calibration.
    slice : str or sequence of str
        Properties to slice by, such as "size" or "aspect:0.5,2". Default: all that are known.
    meta : path
        CSV file with metadata of the images.
    prior : float
        Prior share of wrong annotations per error kind. Default: 0.05.
    audit : int
        Number of annotations to check in an audit. Default: 50.
    verdicts : path
        An audit.csv with its verdicts filled in: 50 of them turn suspicions into probabilities.
    resample : "images", "none", column or sequence
        Units of intervals and tests: images or groups of images.
    draws : int
        Number of bootstrap resamples, for intervals of F1, FROC and differences in AP. Default: 0. Intervals of recall
        and precision need none.
    seed : int
        Seed of the random numbers. Default: 0.
    only : str or sequence of str
        Sections to compute. Default: all.

    Returns
    -------
    Analysis or Analyses
        The analysis of one detector, whose parts are attributes; of several, an analysis each and their comparison.

    Raises
    ------
    BadParameter
        If a setting is wrong, or does not belong to the protocol.
    DataError, ReadError
        If the files are wrong, as by every protocol.

    Examples
    --------
    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [20, 20, 30, 30]])
    >>> pred = Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.9])
    >>> found = analyse(truth, pred)
    >>> round(found.errors.base, 4), round(found.errors.cost["missed"], 4)
    (0.505, 0.495)
    """
    declared = analyse_settings()
    if isinstance(truth, Results):
        if pred is not None:
            raise BadParameter("analyse: expected results alone, found predictions beside them")
        evaluated = sorted(set(ProtocolSettings.declared) - set(EvaluationSettings.declared) & set(settings))
        if evaluated:
            raise BadParameter(f"analyse: expected {evaluated[0]} where the results were made, found it here")
        return Analysis(truth, declared(**settings))
    chosen = declared(**settings)
    if pred is None:
        raise BadParameter("analyse: expected predictions, found none")
    with use_threads(chosen.threads):
        truth, pred = protocol_named(chosen.protocol).read(truth, pred)
    if not isinstance(pred, dict):
        return Analysis(evaluate(truth, pred, chosen), chosen)
    return Analyses([Analysis(evaluate(truth, one, chosen, name), chosen) for name, one in pred.items()])


analyse_detectors.__name__ = analyse_detectors.__qualname__ = "analyse"
analyse = AnalyseFunction(analyse_detectors, AnalyseSettings)


def evaluate(truth: Readable, pred: Readable, settings: AnalyseSettings, name: str | None = None) -> Results:
    """Evaluate predictions by the protocol of the settings.

    Raises
    ------
    BadParameter
        If a setting does not belong to the protocol.
    """
    protocol = protocol_named(settings.protocol)
    given = {key: getattr(settings, key) for key in ProtocolSettings.declared if key != "protocol"}
    given["name"] = name or settings.name
    if settings.protocol == "f1" and settings.confidence not in (BEST_F1, LRP_THRESHOLDS):
        given["confidence"] = settings.confidence
    present = {key: value for key, value in given.items() if value is not None}
    for key in present:
        if key not in protocol.settings.declared:
            raise BadParameter(f"{key}: expected nothing with {settings.protocol}, found {present[key]!r}")
    results = protocol(truth, pred, **present)
    assert isinstance(results, Results)
    return results
