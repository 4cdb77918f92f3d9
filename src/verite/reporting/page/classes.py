"""Which classes are the problem? A row for each, and precision against recall of the worst."""

from __future__ import annotations

from typing import Any

from verite.model.elements import Markup, element, join_elements
from verite.reporting.page.charts import small_curve, thin_stack
from verite.reporting.page.costs import KINDS, pieces_of, swatch
from verite.reporting.page.frame import each, scroll
from verite.reporting.page.head import is_known, score_name
from verite.reporting.page.words import count_of, name, number, plain, sentence, whole

MOST_BARS = 1500  # classes of all systems that have a bar in their row
TALL = 25  # rows from which on a table scrolls by itself
COUNTS = {"truths", "preds", "TP", "FP"}


def classes(doc: dict[str, Any]) -> Markup | None:
    if not doc["systems"][0]["classes"]["rows"]:
        return None
    return each(doc["systems"], [classes_of(doc, i) for i in range(len(doc["systems"]))])


def classes_of(doc: dict[str, Any], i: int) -> Markup:
    system = doc["systems"][i]
    table = system["classes"]
    known = [row for row in table["rows"] if is_known(row[1])]
    ordered = sorted(table["rows"], key=lambda row: (not is_known(row[1]), row[1] if is_known(row[1]) else 0.0))
    filter_box = element(
        "p",
        element(
            "label", "Filter classes ", element("input", type="search", class_="filter", data_table=f"classes-{i}")
        ),
        class_="row js",
        hidden="",
    )
    return join_elements(
        element("p", tell_classes(doc, system, known), class_="finding"),
        element("p", tell_rest(system, known), class_="sub"),
        filter_box if len(table["rows"]) > TALL else Markup(),
        scroll(f"Table of classes, {plain(system['name'])}", class_table(doc, i, ordered),
               kind="tall" if len(ordered) > TALL else ""),
        multiples(system),
    )  # fmt: skip


def tell_classes(doc: dict[str, Any], system: dict[str, Any], known: list[Any]) -> Markup:
    if not known:
        return sentence("No class has a number.")
    worst, best = min(known, key=lambda row: row[1]), max(known, key=lambda row: row[1])
    word = score_name(doc)
    if len(known) == 1:
        return sentence("The only class, ", name(worst[0]), f", is at {word} {number(worst[1])}.")
    if len(known) > 1 and best[1] - worst[1] < 0.1:
        span = f"All classes are alike: {word} from {number(worst[1])} ("
        return sentence(span, name(worst[0]), f") to {number(best[1])} (", name(best[0]), ").")
    weak = f" is the weakest class at {word} {number(worst[1])}, "
    return sentence(name(worst[0]), weak, name(best[0]), f" the strongest at {number(best[1])}.")


def tell_rest(system: dict[str, Any], known: list[Any]) -> Markup:
    low = [row for row in known if row[1] < 0.5 * (system["headline"] or 0)]
    if len(low) > 1:
        return sentence(f"{count_of(len(low), 'class', 'classes')} of {len(known)} stay below half the mean.")
    return sentence("Worst first; confidence is that of the best F1 of each class.")


def class_table(doc: dict[str, Any], i: int, rows: list[Any]) -> Markup:
    system = doc["systems"][i]
    table, errors = system["classes"], system.get("errors") or {}
    is_small = len(table["rows"]) * len(doc["systems"]) <= MOST_BARS
    costs = (errors.get("classes") or {}) if is_small else {}
    olrp = (system.get("lrp") or {}).get("classes") or {}
    best_at = dict(zip((row[0] for row in table["rows"]), table["best_at"], strict=True))
    heads = list(table["head"][1:])
    columns = [element("th", "class", scope="col", class_="l")]
    if costs:
        columns.append(element("th", f"{heads[0]} and costs", scope="col", class_="l nosort"))
    columns += [
        element("th", word, scope="col", **({"aria_sort": "ascending"} if k == 0 else {}))
        for k, word in enumerate(heads)
    ]
    columns += [element("th", word, scope="col", class_="at js", hidden="") for word in ("right", "wrong")]
    columns.append(element("th", "best at", scope="col"))
    if olrp:
        columns.append(element("th", "oLRP", scope="col"))
    body = []
    labels = {label: k for k, label in enumerate(doc["truth"]["labels"])}
    for row in rows:
        label = row[0]
        cells = [element("th", name(label, "nm whole", 400), scope="row")]
        if costs:
            told = costs.get(label) or {}
            bar = thin_stack(pieces_of(row[1], told.get("cost") or {}), label) if told.get("cost") else Markup()
            cells.append(element("td", bar, class_="wide"))
        cells += [element("td", cell(word, value), **soft(word)) for word, value in zip(heads, row[1:], strict=True)]
        at = labels.get(label, -1)
        cells += [
            element("td", class_="at q js", hidden="", data_label=f"{i}.{at}.{word}") for word in ("right", "wrong")
        ]
        cells.append(element("td", number(best_at.get(label), 2), class_="q"))
        if olrp:
            cells.append(element("td", number((olrp.get(label) or {}).get("oLRP"), 2), class_="q"))
        body.append(element("tr", *cells, data_label=at))
    mean = [element("th", "all", scope="row")] + ([element("td")] if costs else [])
    mean += [element("td", cell(word, value)) for word, value in zip(heads, table["mean"][1:], strict=True)]
    mean += [element("td", class_="at js", hidden="") for _ in range(2)]
    mean += [element("td")] + ([element("td", number((system.get("lrp") or {}).get("oLRP"), 2))] if olrp else [])
    return element(
        "table",
        element("caption", *caption(costs, heads[0])),
        element("thead", element("tr", *columns)),
        element("tbody", *body),
        element("tfoot", element("tr", *mean)),
        class_="sortable",
        id=f"classes-{i}",
    )


def caption(costs: Any, word: str) -> list[str]:
    if not costs:
        return ["Worst first."]
    parts = ["Worst first. ", element("span", element("span", class_="sw t-ap"), word, class_="tk")]
    first: dict[str, Any] = next((one["cost"] for one in costs.values() if one.get("cost")), {})
    return parts + [element("span", swatch(kind), kind, class_="tk") for kind in KINDS if kind in first]


def soft(word: str) -> dict[str, str | int]:
    return {"class_": "q"} if word in COUNTS else {}


def cell(word: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    return whole(value) if word in COUNTS and value is not None else number(value)


def multiples(system: dict[str, Any]) -> Markup:
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
        element("p", f"At IoU {curves['iou']:g}, both axes from 0 to 1; grey: the mean of all classes{more}."),
        element("ul", *items, class_="mini"),
    )
