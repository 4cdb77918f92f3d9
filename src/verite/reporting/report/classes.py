"""Which classes are the problem? A row for each, and precision against recall of the worst."""

from __future__ import annotations

from typing import Any

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.charts import small_curve, thin_stack
from verite.reporting.report.costs import KINDS, pieces_of, swatch
from verite.reporting.report.header import score_name
from verite.reporting.report.layout import (
    TALL,
    count_of,
    each,
    is_known,
    name,
    number,
    overlap_at,
    plain,
    scroll,
    sentence,
    table_head,
    whole,
)

MOST_BARS = 1500  # classes of all systems that have a bar in their row
FEW = 8  # rows up to which nothing needs a filter
WHOLE = 10_000  # letters of a name where it is the subject
COUNTS = {"truths", "preds", "TP", "FP"}


def classes(doc: dict[str, Any]) -> Markup | None:
    if not doc["systems"][0]["classes"]["rows"]:
        return None
    parts = each(doc["systems"], [classes_of(doc, i) for i in range(len(doc["systems"]))])
    return join_elements(parts, all_classes(doc))


def classes_of(doc: dict[str, Any], i: int) -> Markup:
    system = doc["systems"][i]
    table = system["classes"]
    known = [row for row in table["rows"] if is_known(row[1])]
    filter_box = element(
        "p",
        element(
            "label",
            "Filter classes ",
            element("input", type="search", class_="filter", data_rows=f"#classes-{i} tbody tr"),
        ),
        class_="row js",
        hidden="",
    )
    hidden = table["count"] - len(table["rows"])
    cut = f"The {len(table['rows']):,} worst of {table['count']:,} classes; all are listed below." if hidden else ""
    return join_elements(
        element("p", tell_classes(doc, system, known), class_="finding"),
        element("p", tell_rest(system, known), f" {cut}" if cut else "", class_="sub"),
        filter_box if len(table["rows"]) > FEW else Markup(),
        scroll(f"Table of classes, {plain(system['name'])}", class_table(doc, i),
               kind="tall" if len(table["rows"]) > TALL else ""),
        multiples(doc, system),
    )  # fmt: skip


def all_classes(doc: dict[str, Any]) -> Markup:
    """One score of every class and system, where not every class has all its numbers."""
    told = doc["classes"]
    if not told:
        return Markup()
    heads = [("class", "l"), *((plain(system["name"], 24), "") for system in doc["systems"])]
    rows = [
        element("tr", element("th", name(label), scope="row"), *(element("td", number(value)) for value in values))
        for label, values in zip(told["labels"], told["scores"], strict=True)
    ]
    table = element(
        "table",
        element("caption", f"{told['score']} of every class."),
        element("thead", table_head(heads)),
        element("tbody", *rows),
        id="classes-all",
    )
    box = element("input", type="search", class_="filter", data_rows="#classes-all tbody tr")
    return join_elements(
        element("h3", "Every class"),
        element("p", element("label", "Filter all classes ", box), class_="row js", hidden=""),
        scroll("Table of every class", table, kind="tall"),
    )


def tell_classes(doc: dict[str, Any], system: dict[str, Any], known: list[Any]) -> Markup:
    if not known:
        return sentence("No class has ground truth, so no class has a score.")
    worst, best = min(known, key=lambda row: row[1]), max(known, key=lambda row: row[1])
    word = score_name(doc)
    if len(known) == 1:
        return sentence("The only class, ", name(worst[0]), f", is at {word} {number(worst[1])}.")
    if best[1] - worst[1] < 0.0005:
        return sentence(f"All classes have the same {word}, {number(worst[1])}.")
    if best[1] - worst[1] < 0.1:
        span = f"All classes are within 0.1: {word} from {number(worst[1])} ("
        return sentence(span, name(worst[0]), f") to {number(best[1])} (", name(best[0]), ").")
    weak = f" is the weakest class at {word} {number(worst[1])}, "
    return sentence(name(worst[0]), weak, name(best[0]), f" the strongest at {number(best[1])}.")


def tell_rest(system: dict[str, Any], known: list[Any]) -> Markup:
    if not known:
        return sentence("Predictions of each class.")
    low = [row for row in known if row[1] < 0.5 * (system["headline"] or 0)]
    if len(low) > 1:
        return sentence(f"{count_of(len(low), 'class', 'classes')} of {len(known)} are below half of the mean.")
    return sentence("Lowest first; best at: the confidence with the best F1 of the class.")


def class_table(doc: dict[str, Any], i: int) -> Markup:
    system = doc["systems"][i]
    table = system["classes"]
    rows, heads = table["rows"], list(table["head"][1:])
    kinds = system["errors"]["cost"] if system.get("errors") else {}
    costs = table.get("cost") if len(rows) * len(doc["systems"]) <= MOST_BARS else None
    olrp = table.get("oLRP")
    columns = [element("th", "class", scope="col", class_="l")]
    if costs:
        columns.append(element("th", f"{heads[0]} and cost of errors", scope="col", class_="l nosort"))
    columns += [
        element("th", word, scope="col", **({"aria_sort": "ascending"} if k == 0 else {}))
        for k, word in enumerate(heads)
    ]
    columns += [element("th", word, scope="col", class_="at js", hidden="") for word in ("TP", "FP")]
    columns.append(element("th", "best at", scope="col"))
    if olrp:
        columns.append(element("th", "oLRP", scope="col"))
    body = []
    labels = {label: k for k, label in enumerate(doc["truth"]["labels"])}
    for k, row in enumerate(rows):
        cells = [element("th", name(row[0], "nm whole", WHOLE), scope="row")]
        if costs:
            cost = dict(zip(kinds, costs[k] or (), strict=False))
            cells.append(
                element("td", thin_stack(pieces_of(row[1], cost), row[0]) if cost else Markup(), class_="wide")
            )
        cells += [element("td", cell(word, value), **soft(word)) for word, value in zip(heads, row[1:], strict=True)]
        cells += [element("td", class_="at q js", hidden="") for _ in range(2)]
        cells.append(element("td", number(table["best_at"][k], 2), class_="q"))
        if olrp:
            cells.append(element("td", number(olrp[k], 2), class_="q"))
        body.append(element("tr", *cells, data_label=labels.get(row[0], "")))
    mean = [element("th", "all", scope="row")] + ([element("td")] if costs else [])
    mean += [element("td", cell(word, value)) for word, value in zip(heads, table["mean"][1:], strict=True)]
    mean += [element("td", class_="at js", hidden="") for _ in range(2)]
    mean += [element("td")] + ([element("td", number((system.get("lrp") or {}).get("oLRP"), 2))] if olrp else [])
    return element(
        "table",
        element("caption", *caption(kinds if costs else {}, heads[0])),
        element("thead", element("tr", *columns)),
        element("tbody", *body),
        element("tfoot", element("tr", *mean)),
        id=f"classes-{i}",
    )


def caption(kinds: Any, word: str) -> list[str]:
    if not kinds:
        return ["Lowest first."]
    parts = ["Lowest first. ", element("span", element("span", class_="sw t-ap"), word, class_="tk")]
    return parts + [element("span", swatch(kind), kind, class_="tk") for kind in KINDS if kind in kinds]


def soft(word: str) -> dict[str, str | int]:
    return {"class_": "q"} if word in COUNTS else {}


def cell(word: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    return whole(value) if word in COUNTS and value is not None else number(value)


def multiples(doc: dict[str, Any], system: dict[str, Any]) -> Markup:
    """Small curves, the worst class first."""
    curves = system["curves"]
    if not curves["worst"]:
        return Markup()
    items = [
        element(
            "li",
            small_curve(one["points"], curves["mean"], f"{plain(one['label'])}: precision against recall"),
            element("b", name(one["label"])),
            element("span", number(one["AP"])),
        )
        for one in curves["worst"]
    ]
    hidden = curves["count"] - len(items)
    more = f"; the worst {len(items)} of {curves['count']}" if hidden else ""
    return join_elements(
        element("h3", "Precision against recall, class by class"),
        element(
            "p",
            f"At {overlap_at(doc, curves['iou'])}, both axes from 0 to 1; grey: the mean over classes{more}.",
        ),
        element("ul", *items, class_="mini"),
    )
