"""Section "Where AP is lost": the cost in AP of each of TIDE's error types, per detector.

Error types are those of TIDE (Bolya et al., ECCV 2020): classification, localization, both, duplicate, background,
missed. TIDE fixes one type at a time, so its gains do not sum. Here the cost of a type is its mean gain over every
order of fixing the types (a Shapley value): costs sum to 1 − AP, and with AP they fill one bar. The gain of fixing a
type alone is listed beside its cost.

The data are those of the analysis part `errors`; counts follow the confidence slider.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.charts import Piece, stacked_bar
from verite.reporting.report.header import ERROR_NOUNS, MOST_BESIDE
from verite.reporting.report.layout import (
    column,
    finding,
    is_known,
    name,
    number,
    plain,
    scroll,
    table,
    td,
    whole,
)
from verite.reporting.report.section import Section

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


def render(document: ReportDocument, images: ReportImages, data: None) -> Markup:
    """Render a bar per detector and the table of costs by error type."""
    word, known = document.score, known_costs(document)
    _, first, costs = known[0]
    (kind, cost), *_ = costs.falling() or [("no errors", 0.0)]
    result = [ERROR_NOUNS.get(kind, kind).capitalize(), " cost ", name(first.name), f" {number(cost)}\u00a0{word}"]
    for _, other, theirs in known[1:2]:
        if is_known(value := theirs.cost.get(kind)):
            result += [f", {'and' if value >= cost else 'but'} ", name(other.name), f" {number(value)}"]
    bars = [
        element("li", element("b", name(one.name)), stacked_bar(cost_pieces(e.ap, e.cost, word), plain(one.name), i))
        for i, one, e in known
    ]
    return join_elements(
        finding(*result, "."),
        element("p", f"{word} and the cost of each of six error types; together they sum to 1.", class_="sub"),
        element("ul", *bars, class_="stack"),
        scroll("Table of costs", cost_table(document), kind="far" if len(known) > MOST_BESIDE else ""),
    )


def cost_table(document: ReportDocument) -> Markup:
    """Render cost in AP, gain if fixed alone, and count of each error type, one group of columns per detector.

    Counts are at all confidences until the slider moves; a click on a count opens the objects.
    """
    known, word = known_costs(document), document.score
    kinds = [kind for kind in ERROR_TYPES if kind in known[0][2].cost]
    groups, heads = [element("td")], [column("error type", "l")]
    foot = [element("th", f"total: 1 − {word}", scope="row")]
    for _, one, costs in known:
        groups.append(element("th", name(one.name), scope="colgroup", colspan=3, class_="grp"))
        heads += [column(f"cost in {word}", "grp"), column("if fixed alone"), column("count")]
        foot += [td(number(sum(value for value in costs.cost.values() if is_known(value))), kind="grp"), td(), td()]
    rows = []
    for kind in kinds:
        meaning = ERROR_TYPES[kind][1].format(overlap=document.words.overlap)
        gloss = element("span", meaning, class_="gl narrow")
        cells = [element("th", swatch(kind), type_name(kind), gloss, scope="row")]
        for i, _, costs in known:
            cells += [td(number(costs.cost[kind]), kind="grp"), td(number(costs.alone[kind]), kind="q")]
            cells.append(td(whole(costs.counts.get(kind)), kind="q", data_count=f"{i}.{kind}"))
        rows.append(element("tr", *cells))
    caption = join_elements(
        element("b", "cost"), ": mean gain over every order of fixing the error types; costs and score sum to 1. ",
        element("b", "if fixed alone"), ": gain if only this type were fixed. ",
        element("b", "count"), f": at {document.words.at(known[0][2].iou)}. ",
        *describe_threshold([(i, one) for i, one, _ in known]),
    )  # fmt: skip
    return table(caption, heads, rows, groups=groups, foot=foot)


def describe_threshold(detectors: Sequence[tuple[int, Detector]]) -> list[str]:
    """Return the confidence threshold of the counts, which the script updates per detector."""
    if len(detectors) == 1:
        return [element("span", "At all confidences", data_counted=detectors[0][0]), "."]
    others = [element("span", name(one.name), ": ", element("span", data_counted=i), ". ") for i, one in detectors]
    return ["At all confidences. ", element("span", *others, class_="counted")]


SECTION = Section(
    id="missing",
    title="Where AP is lost",
    place=10,
    wanted=lambda document: any(costs.falling() for _, _, costs in known_costs(document)),
    build=lambda inputs: None,
    render=render,
)
