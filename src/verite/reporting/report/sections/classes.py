"""Section "Classes": scores, error costs and best confidence of each class, and precision against recall.

Rows are those of the protocol's own table of classes, the lowest score first, with a bar of AP and error costs, the
confidence with the best F1 of the class, and its optimal LRP error (Oksuz et al., ECCV 2018). Of very many classes the
worst have all their numbers, and the section "Every class" lists one score of each. True and false positives follow the
confidence slider.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from verite.model.styles import Markup, element, join_elements
from verite.model.tables import Table
from verite.reporting.draw import MOST_RING_POINTS as MOST_POINTS
from verite.reporting.report.charts import small_curve, thin_bar
from verite.reporting.report.document import Json
from verite.reporting.report.layout import (
    TALL,
    column,
    count_of,
    finding,
    is_known,
    name,
    number,
    plain,
    scroll,
    sentence,
    table,
    td,
    th,
    whole,
)
from verite.reporting.report.section import DetectorSection, ReportInputs
from verite.reporting.report.sections.error_costs import ERROR_TYPES, cost_pieces, swatch, type_name

if TYPE_CHECKING:
    from verite.model.results import Results
    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.detector import EvaluatedDetector
    from verite.reporting.report.document import ReportDocument

MOST_ROWS, LEAST_ROWS = 4000, 50  # classes with all their numbers: of all detectors, and of each
MOST_BARS = 4000  # classes of all detectors that have a bar in their row
MOST_CURVES = 24  # classes with a curve of their own, the worst
SIZES = ("APs", "APm", "APl")  # scores of COCO by area of the objects
FEW = 8  # rows up to which no filter is needed
WHOLE = 10_000  # characters of a name where it is the subject
COUNTS = {
    "truths": "GT",
    "preds": "predictions",
    "TP": "TP",
    "FP": "FP",
    "FN": "FN",
}  # columns of counts and their heads

Points: TypeAlias = list[list[float]]  # [recall, precision]


@dataclass(frozen=True)
class ClassTable:
    """Rows of the protocol's table of classes, the worst first, and for each the confidence with the best F1.

    `costs` are those of each error type, in the order of the error analysis; `olrp` the optimal LRP.
    """

    count: int
    head: list[str]
    rows: list[list[Any]]
    mean: list[Any]
    best_at: list[float | None]
    cost: list[list[float] | None] | None = None
    oLRP: list[float | None] | None = None  # noqa: N815 (a key of the JSON document)


@dataclass(frozen=True)
class ClassCurve:
    """Precision against recall of one class."""

    KEYS: ClassVar[Mapping[str, str | None]] = {"ap": "AP"}

    label: str
    ap: float
    points: Points


@dataclass(frozen=True)
class Curves:
    """Precision against recall of the worst classes, and the mean over all classes."""

    iou: float
    count: int
    worst: tuple[ClassCurve, ...]
    mean: Points


@dataclass(frozen=True)
class ClassesData:
    """Data of the section for one detector; `lrp` is the JSON of that part of the analysis."""

    classes: ClassTable
    curves: Curves
    lrp: Mapping[str, Json] | None = None


def rows_per_detector(inputs: ReportInputs) -> int:
    """Return how many classes of each detector have all their numbers."""
    return max(LEAST_ROWS, MOST_ROWS // len(inputs.detectors))


def build(inputs: ReportInputs, detector: EvaluatedDetector) -> ClassesData:
    """Return the table of classes and the curves of the worst ones."""
    results, iou, analysis = detector.results, detector.overlay.iou, detector.analysis
    data = with_sizes(results.class_table(), results)
    # The class, the first score, and what else the protocol lists, such as the kind of a class before its score.
    first = next(
        (i for i, value in enumerate(data.rows[0] if data.rows else ()) if i and not isinstance(value, str)), 1
    )
    keep = [i for i, word in enumerate(data.head) if word not in ("best F1", "at confidence")]
    keep = [0, first, *(i for i in keep if i not in (0, first))]
    # Six decimals but for the first score: more would take the room of predictions on a large page.
    rows = [
        [row[0], row[first], *(round(v, 6) if isinstance(v := row[i], float) else v for i in keep[2:])]
        for row in data.rows
    ]
    sign = -1.0 if results.is_error(next(iter(results.scores))) else 1.0
    rows.sort(key=lambda row: (not is_known(row[1]), sign * row[1] if is_known(row[1]) else 0.0))
    shown = rows[: rows_per_detector(inputs)]
    best = dict(zip(detector.counts.names, detector.counts.best_thresholds, strict=True))
    cost = olrp = None
    if analysis is not None:
        places = {label: k for k, label in enumerate(analysis.matches.names)}
        known = [places.get(row[0], -1) for row in shown]
        if detector.has_part("errors"):
            costs, objects = analysis.errors.label_cost, analysis.matches.truth_counts
            cost = [costs[k].round(5).tolist() if k >= 0 and objects[k] else None for k in known]
        if detector.has_part("lrp"):
            optima = analysis.lrp.optima
            olrp = [optima[k].olrp if k in optima else None for k in known]
    curves = class_curves(results, iou)
    worst = sorted(curves, key=lambda one: (one[1], one[0]))[:MOST_CURVES]
    recall = np.linspace(0, 1, 101)
    mean = np.mean([np.interp(recall, *points) for _, _, points in curves], axis=0) if curves else None
    return ClassesData(
        ClassTable(
            count=len(rows),
            head=[data.head[i] for i in keep],
            rows=shown,
            mean=[data.mean[i] if data.mean else None for i in keep],
            best_at=[best.get(row[0]) for row in shown],
            cost=cost,
            oLRP=olrp,
        ),
        Curves(
            iou,
            len(curves),
            tuple(ClassCurve(label, ap, thin_curve(*points)) for label, ap, points in worst),
            [] if mean is None else thin_curve(recall, mean),
        ),
        detector.parts.get("lrp"),
    )


def with_sizes(classes: Table, results: Results) -> Table:
    """Return a table of classes with AP of small, medium and large objects beside AP, where the protocol has it."""
    sizes = [key for key in SIZES if key in results.scores]
    if not sizes:
        return classes
    by_class, at = results.class_scores(), 1 + max(i for i, word in enumerate(classes.head) if word.startswith("AP"))
    added = zip(*([round(value, 4) for value in by_class[key]] for key in sizes), strict=True)
    rows = tuple((*row[:at], *own, *row[at:]) for row, own in zip(classes.rows, added, strict=True))
    means = [results.scores[key].value for key in sizes]
    mean = (*classes.mean[:at], *means, *classes.mean[at:]) if classes.mean else classes.mean
    return replace(classes, head=(*classes.head[:at], *sizes, *classes.head[at:]), rows=rows, mean=mean)


def class_curves(results: Results, iou: float) -> list[tuple[str, float, tuple[Any, Any]]]:
    """Return the precision-recall curve of each class with a score, at one IoU threshold.

    Returns
    -------
    list of tuple
        Name of the class, its first score, and (recall, precision): at COCO's 101 recalls, or the steps of the
        interpolated curve where the protocol keeps every point.
    """
    from verite.protocols.coco import CocoResults
    from verite.protocols.curves import CurveResults

    if not isinstance(results, CocoResults | CurveResults):  # no curves of precision against recall
        return []
    aps = dict(zip(results.class_names, results.class_scores()[next(iter(results.scores))], strict=True))
    t = [abs(one - iou) < 1e-9 for one in results.iou_thresholds].index(True)
    if isinstance(results, CocoResults):
        precision = results.curve_table[t]
        recall = np.linspace(0, 1, len(precision))
        points = {label: (recall, precision[:, k]) for k, label in enumerate(results.class_names)}
    else:
        from verite.reporting.plots import stairs

        points = {label: stairs(curve) for label, curve in results.curves[t].items() if curve.truths}
    return [(label, ap, points[label]) for label, ap in aps.items() if isfinite(ap) and label in points]


def thin_curve(x: Any, y: Any) -> Points:
    """Return the points of a curve where it bends, at most as many as an outline has."""
    x, y = np.round(np.asarray(x, dtype=float), 4), np.round(np.asarray(y, dtype=float), 4)
    if len(x) < 3:
        return list(np.stack([x, y], axis=1).tolist())
    bends = np.diff(y[:-1]) * np.diff(x[1:]) != np.diff(y[1:]) * np.diff(x[:-1])
    keep = np.concatenate([[True], bends, [True]])
    keep[1:-1] |= (y[1:-1] != y[:-2]) | (y[1:-1] != y[2:])
    points = np.stack([x[keep], y[keep]], axis=1)
    if len(points) > MOST_POINTS:
        points = points[np.linspace(0, len(points) - 1, MOST_POINTS).astype(int)]
    return list(points.tolist())


def render(document: ReportDocument, images: ReportImages, i: int, data: ClassesData) -> Markup:
    """Render the table of classes, with a filter where it is long, and the curves."""
    one, classes = document.detectors[i], data.classes
    known = [row for row in classes.rows if is_known(row[1])]
    box = element("input", type="search", class_="filter", data_rows=f"#classes-{i} tbody tr")
    filter_box = element("p", element("label", "Filter classes ", box), class_="row js", hidden="")
    chosen = "" if one.steps.is_constant else "; best-F1 threshold: the confidence with the best F1 of the class"
    if not known:
        about = "Predictions of each class."
    elif document.is_error:
        about = f"Highest first{chosen}."
    elif (low := sum(row[1] < 0.5 * (one.headline or 0) for row in known)) > 1:
        about = f"{count_of(low, 'class', 'classes')} of {len(known)} are below half of the mean."
    else:
        about = f"Lowest first{chosen}."
    if len(classes.rows) < classes.count:
        about += f" The {len(classes.rows):,} worst of {classes.count:,} classes; all are listed below."
    return join_elements(
        finding(summarise(document, known)),
        element("p", about, class_="sub"),
        filter_box if len(classes.rows) > FEW else Markup(),
        scroll(f"Table of classes, {plain(one.name)}", class_table(document, i, data),
               kind="tall" if len(classes.rows) > TALL else ""),
        render_curves(document, data.curves, is_cut=one.cut_at is not None),
    )  # fmt: skip


def summarise(document: ReportDocument, known: Sequence[list[Any]]) -> Markup:
    """Return the weakest and the strongest class; `known` are the rows with a score."""
    if not known:
        return sentence("No class has ground truth, so no class has a score.")
    low, high = min(known, key=lambda row: row[1]), max(known, key=lambda row: row[1])
    word, (worst, best) = document.score, (high, low) if document.is_error else (low, high)
    if len(known) == 1:
        return sentence("The only class, ", name(worst[0]), f", is at {word} {number(worst[1])}.")
    if high[1] - low[1] < 0.0005:
        return sentence(f"All classes have the same {word}, {number(worst[1])}.")
    if high[1] - low[1] < 0.1:
        span = f"All classes are within 0.1: {word} from {number(low[1])} ("
        return sentence(span, name(low[0]), f") to {number(high[1])} (", name(high[0]), ").")
    weak = f" is the weakest class at {word} {number(worst[1])}, "
    return sentence(name(worst[0]), weak, name(best[0]), f" the strongest at {number(best[1])}.")


def class_table(document: ReportDocument, i: int, data: ClassesData) -> Markup:
    """Render the table of classes of detector i.

    Columns are those of the protocol, a bar of AP and error costs, the confidence with the best F1, and the optimal LRP
    error. The script fills in true and false positives at the chosen threshold, and a row opens the errors of its
    class.
    """
    classes, errors = data.classes, document.detectors[i].errors
    words = list(classes.head[1:])
    costs = classes.cost if len(classes.rows) * len(document.detectors) <= MOST_BARS else None
    kinds = list(errors.cost) if errors is not None and costs else []
    heads = [column("class", "l")]
    if costs:
        heads.append(column(f"{words[0]} and cost of errors", "l nosort"))
    heads += [
        column(
            COUNTS.get(word, word),
            **({"aria_sort": "descending" if document.is_error else "ascending"} if k == 0 else {}),
        )
        for k, word in enumerate(words)
    ]
    is_constant = document.detectors[i].steps.is_constant
    # Counts at the chosen threshold, for the script; not shown where the protocol's own are the same.
    at = "at" if is_constant and "TP" in words else "at js"
    heads += [column(word, at, hidden="") for word in ("TP", "FP")]
    heads += [] if is_constant else [column("best-F1 threshold")]
    heads += [column("oLRP")] if classes.oLRP else []
    places = {label: k for k, label in enumerate(document.truth.class_names)}
    rows = []
    for k, row in enumerate(classes.rows):
        cells = [th(name(row[0], "nm whole", WHOLE))]
        if costs:
            cost = dict(zip(kinds, costs[k] or (), strict=False))
            cells.append(td(thin_bar(cost_pieces(row[1], cost), row[0]) if cost else Markup(), kind="wide"))
        cells += [td(show(word, v), kind="q" if word in COUNTS else "") for word, v in zip(words, row[1:], strict=True)]
        cells += [td(kind=f"{at} q", hidden="") for _ in range(2)]
        cells += [] if is_constant else [td(number(classes.best_at[k], 2), kind="q")]
        cells += [td(number(classes.oLRP[k], 2), kind="q")] if classes.oLRP else []
        rows.append(element("tr", *cells, data_label=places.get(row[0], "")))
    foot = [th("all"), *([element("td")] if costs else [])]
    foot += [td(show(word, value)) for word, value in zip(words, classes.mean[1:], strict=True)]
    foot += [td(kind=at, hidden="") for _ in range(2)]
    foot += [] if is_constant else [td()]
    foot += [td(number((data.lrp or {}).get("oLRP"), 2))] if classes.oLRP else []
    first = "Highest" if document.is_error else "Lowest"
    caption: list[str] = [f"{first} first."]
    if kinds:
        caption = [f"{first} first. ", element("span", element("span", class_="sw t-ap"), words[0], class_="tk")]
        caption += [
            element("span", swatch(kind), type_name(kind), class_="tk") for kind in ERROR_TYPES if kind in kinds
        ]
    return table(join_elements(*caption), heads, rows, foot=foot, id=f"classes-{i}")


def show(word: str, value: Any) -> str:
    """Return a value of the column of this name: a text, a count or a score."""
    if isinstance(value, str):
        return value
    return whole(value) if word in COUNTS else number(value)


def render_curves(document: ReportDocument, curves: Curves, *, is_cut: bool) -> Markup:
    """Render small precision-recall curves, the worst class first; `is_cut`: predictions were cut at a threshold."""
    if not curves.worst:
        return Markup()
    places = {label: k for k, label in enumerate(document.truth.class_names)}
    items = [
        element(
            "li",
            small_curve(one.points, curves.mean, f"{plain(one.label)}: precision against recall", is_cut=is_cut),
            element("b", name(one.label)),
            element("span", number(one.ap)),
            **({"data_label": places[one.label]} if one.label in places else {}),
        )
        for one in curves.worst
    ]
    more = f"; the worst {len(items)} of {curves.count}" if curves.count > len(items) else ""
    at = document.words.at(curves.iou)
    cut = " Shaded: recalls that the predictions in the file do not reach." if is_cut else ""
    return join_elements(
        element("h3", "Precision against recall, class by class"),
        element("p", f"At {at}, both axes from 0 to 1; grey: the mean over classes{more}.{cut}"),
        element("ul", *items, class_="mini"),
    )


SECTION = DetectorSection(
    id="classes",
    title="Classes",
    place=50,
    wanted=lambda document: bool(document.sections["classes"][0].classes.rows),
    build=build,
    render=render,
)
