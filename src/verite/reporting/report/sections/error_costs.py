"""Section "Where AP is lost": the cost in AP of each of TIDE's error types, per detector.

Error types are those of TIDE (Bolya et al., ECCV 2020): classification, localization, both, duplicate, background,
missed. TIDE fixes one type at a time, so its gains do not sum. Here the cost of a type is its mean gain over every
order of fixing the types (a Shapley value): costs sum to 1 − AP, and with AP they fill one bar. The gain of fixing a
type alone is listed beside its cost.

The data are those of the analysis part `errors`; counts follow the confidence slider.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verite.analysis.errors import TYPES
from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.charts import Piece, stacked_bar
from verite.reporting.report.header import ERROR_NOUNS, MOST_BESIDE
from verite.reporting.report.layout import (
    column,
    detector_name,
    finding,
    is_known,
    number,
    plain,
    scroll,
    signed,
    table,
    td,
    th,
    whole,
)
from verite.reporting.report.section import ReportInputs, Section

if TYPE_CHECKING:
    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.document import Detector, ErrorCosts, ReportDocument

# Error types in the order of bars and tables, each with its colour and its definition.
ERROR_TYPES = {
    "localization": ("loc", "correct class, {overlap} too low"),
    "missed": ("miss", "no prediction matched the object (FN)"),
    "class": ("cls", "{overlap} sufficient, wrong class"),
    "background": ("bkg", "false positive, {overlap} with every object too low"),
    "duplicate": ("dup", "false positive on an object already matched"),
    "both": ("both", "wrong class, and {overlap} too low"),
    "wrong": ("loc", "false positive"),
}
TYPE_NAMES = {"class": "classification", "wrong": "false positive"}  # where the key of the JSON is not the name

LONGEST_BESIDE = 12  # letters of a name beside its bar


def type_name(kind: str) -> str:
    """Return the name of an error type."""
    return TYPE_NAMES.get(kind, kind)


def cost_pieces(ap: float | None, cost: Mapping[str, float], word: str = "AP") -> list[Piece]:
    """Return the score and the cost of each error type as pieces of a bar, which sum to 1.

    Parameters
    ----------
    ap, cost
        The score, and the cost of each error type in it.
    word
        Name of the score, such as AP or mAP.
    """
    known = [Piece(word, float(ap), "c-ap", "right")] if is_known(ap) else []
    for kind, (colour, _) in ERROR_TYPES.items():
        if is_known(value := cost.get(kind)):
            known.append(Piece(type_name(kind), float(value), f"c-{colour}", kind))
    return known


def swatch(kind: str) -> Markup:
    """Return a square in the colour of an error type."""
    return element("span", class_=f"sw t-{ERROR_TYPES.get(kind, ERROR_TYPES['wrong'])[0]}")


def known_costs(document: ReportDocument) -> list[tuple[int, Detector, ErrorCosts]]:
    """Return position, detector and costs of the detectors that have an error analysis."""
    return [(i, one, one.errors) for i, one in enumerate(document.detectors) if one.errors is not None]


@dataclass(frozen=True)
class FixedErrors:
    """AP if errors were fixed: ap[detector][IoU threshold][set of error types], one bit per type of `types`."""

    types: list[str]
    ious: list[float]
    ap: list[list[list[float]]]


@dataclass(frozen=True)
class ErrorCostsData:
    """Data of the section; None where a detector has no error analysis."""

    whatif: FixedErrors | None = None


def build(inputs: ReportInputs) -> ErrorCostsData:
    """Compute AP with every set of error types fixed."""
    sets = [found for one in inputs.detectors if (found := one.fixed_sets) is not None]
    if len(sets) < len(inputs.detectors):
        return ErrorCostsData()
    ious = [float(iou) for iou in inputs.detectors[0].results.iou_thresholds]
    return ErrorCostsData(FixedErrors(list(TYPES), ious, sets))


def what_if(document: ReportDocument, data: FixedErrors) -> Markup:
    """Render a slider of the IoU threshold and a switch per error type, which move AP."""
    many, overlap = len(data.ious), document.words.overlap
    slider = element(
        "input", type="range", min=0 if many > 1 else 1, max=many, step=1, value=0 if many > 1 else 1,
        aria_label=f"{overlap} threshold", class_="iou",
    )  # fmt: skip
    switches = [
        element(
            "label",
            element("input", type="checkbox", value=data.types.index(kind)),
            swatch(kind), f"fix {type_name(kind)}",
        )
        for kind in ERROR_TYPES
        if kind in data.types
    ]  # fmt: skip
    bar = element("rect", x=0, y=1, height=10, width=0, class_="c-ap")
    rows = [
        element(
            "li",
            detector_name(one.name),
            element("b", number(one.headline)),
            element("svg", bar, class_="bar thin", aria_hidden="true"),
            element("small"),
            data_ap=i,
            data_detector=i,
        )
        for i, one in enumerate(document.detectors)
    ]  # fmt: skip
    return element(
        "div",
        element("h3", f"{document.score} if errors were fixed, at any {overlap} threshold"),
        element("p", "Tick error types to fix them together; move the slider to one threshold."),
        element("p", element("label", slider, " ", element("span", class_="where")), class_="row"),
        element("p", *switches, class_="row switches"),
        element("ul", *rows, class_="whatif"),
        id="whatif",
        class_="js",
        hidden="",
    )


def render(document: ReportDocument, images: ReportImages, data: ErrorCostsData) -> Markup:
    """Render a bar per detector, the table of costs by error type, and what fixing errors would gain."""
    word, known = document.score, known_costs(document)
    _, first, costs = known[0]
    (kind, cost), *_ = costs.falling() or [("no errors", 0.0)]
    result = [
        ERROR_NOUNS.get(kind, kind).capitalize(),
        " cost ",
        detector_name(first.name),
        f" {number(cost)}\u00a0{word}",
    ]
    for _, other, theirs in known[1:2]:
        if is_known(value := theirs.cost.get(kind)):
            result += [f", {'and' if value >= cost else 'but'} ", detector_name(other.name), f" {number(value)}"]
    # Names that do not fit beside the bars, or many of them, have lines of their own.
    is_named = len(known) > MOST_BESIDE or any(len(one.name) > LONGEST_BESIDE for _, one, _ in known)
    bars = [
        element(
            "li",
            element("b", detector_name(one.name)),
            stacked_bar(cost_pieces(e.ap, e.cost, word), plain(one.name), i),
        )
        for i, one, e in known
    ]
    return join_elements(
        finding(*result, "."),
        element("p", f"{word} and the cost of each of six error types; together they sum to 1.", class_="sub"),
        element("ul", *bars, class_="stack named" if is_named else "stack"),
        scroll("Table of costs", cost_table(document)),
        what_if(document, data.whatif) if data.whatif is not None else Markup(),
    )


def cost_table(document: ReportDocument) -> Markup:
    """Render the cost in AP of each error type, one row per detector, with the gain if fixed alone and the count.

    Detectors are rows, so that any number of them fits screen and paper. Counts are at all confidences until the slider
    moves; a click on a count opens the objects.
    """
    known, word = known_costs(document), document.score
    kinds = [kind for kind in ERROR_TYPES if kind in known[0][2].cost]
    overlap = document.words.overlap
    heads = [column("detector", "l"), column(word)]
    heads += [column(join_elements(swatch(kind), type_name(kind))) for kind in kinds]
    heads.append(column(f"total: 1 − {word}"))
    rows = []
    for i, one, costs in known:
        cells = [th(detector_name(one.name)), td(number(costs.ap))]
        for kind in kinds:
            count = element("span", whole(costs.counts.get(kind)), data_count=f"{i}.{kind}")
            alone = element("span", signed(costs.alone[kind]))
            cells.append(td(number(costs.cost[kind]), element("small", alone, " · ", count)))
        cells.append(td(number(sum(value for value in costs.cost.values() if is_known(value)))))
        rows.append(element("tr", *cells))
    caption = join_elements(
        element("b", "Cost"), ": mean gain over every order of fixing the error types; costs and score sum to 1. Below "
        "it the gain if only this type were fixed (ΔAP of TIDE) and, after the dot, the ", element("b", "count"),
        f" at {document.words.at(known[0][2].iou)}. ", *describe_threshold([(i, one) for i, one, _ in known]),
    )  # fmt: skip
    meanings = [
        element("span", swatch(kind), type_name(kind), ": ", ERROR_TYPES[kind][1].format(overlap=overlap))
        for kind in kinds
    ]
    return join_elements(table(caption, heads, rows, class_="costs"), element("p", *meanings, class_="note meanings"))


def describe_threshold(detectors: Sequence[tuple[int, Detector]]) -> list[str]:
    """Return the confidence threshold of the counts, which the script updates per detector."""
    if len(detectors) == 1:
        return [element("span", "At all confidences", data_counted=detectors[0][0]), "."]
    others = [
        element("span", detector_name(one.name), ": ", element("span", data_counted=i), ". ") for i, one in detectors
    ]
    return ["At all confidences. ", element("span", *others, class_="counted")]


SECTION = Section(
    id="missing",
    title="Where AP is lost",
    place=10,
    wanted=lambda document: any(costs.falling() for _, _, costs in known_costs(document)),
    build=build,
    render=render,
)
