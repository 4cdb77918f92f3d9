"""Where AP is lost: cost in AP of each TIDE error type, and the costliest single errors as image crops."""

from __future__ import annotations

from typing import Any

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.charts import Piece, stack
from verite.reporting.report.crops import Photos, crop
from verite.reporting.report.header import MOST_BESIDE, costs_of, say, score_name
from verite.reporting.report.layout import (
    count_of,
    each,
    is_known,
    list_all,
    name,
    number,
    overlap_at,
    plain,
    scroll,
    sentence,
    whole,
)

# Error types in the order of bars and tables, each with its colour and its definition.
KINDS = {
    "localization": ("loc", "correct class, {overlap} too low"),
    "missed": ("miss", "no prediction matched the object (FN)"),
    "class": ("cls", "{overlap} sufficient, wrong class"),
    "background": ("bkg", "false positive, {overlap} with every object too low"),
    "duplicate": ("dup", "false positive on an object already matched"),
    "both": ("both", "wrong class, and {overlap} too low"),
    "wrong": ("loc", "false positive"),
}


def pieces_of(ap: Any, cost: dict[str, Any], word: str = "AP") -> list[Piece]:
    """Return the score and the cost of each error type, which sum to 1."""
    known = [Piece(word, float(ap), "c-ap")] if is_known(ap) else []
    return known + [Piece(kind, float(cost[kind]), f"c-{KINDS[kind][0]}") for kind in KINDS if is_known(cost.get(kind))]


def swatch(kind: str) -> Markup:
    return element("span", class_=f"sw t-{KINDS.get(kind, KINDS['wrong'])[0]}")


def show_missing(doc: dict[str, Any]) -> Markup | None:
    """Render a bar per detector and the table of costs by error type."""
    systems = [system for system in doc["systems"] if system.get("errors")]
    if not systems or not any(costs_of(system) for system in systems):
        return None
    word = score_name(doc)
    bars = [
        element(
            "li",
            element("b", name(system["name"])),
            stack(
                pieces_of(system["errors"]["AP"], system["errors"]["cost"], word),
                plain(system["name"]),
                doc["systems"].index(system),
            ),
        )
        for system in systems
    ]
    return join_elements(
        element("p", tell_missing(doc, systems, word), class_="finding"),
        element("p", f"{word} and the cost of each of six error types; together they sum to 1.", class_="sub"),
        element("ul", *bars, class_="stack"),
        scroll("Table of costs", cost_table(doc, systems), kind="far" if len(systems) > MOST_BESIDE else ""),
    )


def tell_missing(doc: dict[str, Any], systems: list[dict[str, Any]], word: str) -> Markup:
    first = systems[0]
    (kind, cost), *_ = costs_of(first) or [("nothing", 0.0)]
    told = [sentence(say(doc, kind).capitalize(), " cost ", name(first["name"]), f" {number(cost)}\u00a0{word}")]
    for other in systems[1:2]:
        value = other["errors"]["cost"].get(kind)
        if is_known(value):
            more = "and" if value >= cost else "but"
            told.append(sentence(f", {more} ", name(other["name"]), f" {number(value)}"))
    return join_elements(*told, ".")


def cost_table(doc: dict[str, Any], systems: list[dict[str, Any]]) -> Markup:
    kinds = [kind for kind in KINDS if kind in systems[0]["errors"]["cost"]]
    iou = systems[0]["errors"].get("iou", 0.5)
    groups = [element("td")] + [
        element("th", name(system["name"]), scope="colgroup", colspan=3, class_="grp") for system in systems
    ]
    words = [element("th", "error type", scope="col", class_="l")]
    for _ in systems:
        words += [
            element("th", f"cost in {score_name(doc)}", scope="col", class_="grp"),
            element("th", "if fixed alone", scope="col"),
        ]
        words += [element("th", "count", scope="col")]
    rows = []
    for kind in kinds:
        meaning = KINDS[kind][1].format(**doc["words"])
        cells = [element("th", swatch(kind), kind, element("span", meaning, class_="gl narrow"), scope="row")]
        for system in systems:
            i, errors = doc["systems"].index(system), system["errors"]
            cells += [
                element("td", number(errors["cost"][kind]), class_="grp"),
                element("td", number(errors["alone"][kind]), class_="q"),
                element("td", whole(errors["counts"].get(kind)), class_="q", data_count=f"{i}.{kind}"),
            ]
        rows.append(element("tr", *cells))
    foot = [element("th", f"total: 1 − {score_name(doc)}", scope="row")]
    for system in systems:
        total = sum(value for value in system["errors"]["cost"].values() if is_known(value))
        foot += [element("td", number(total), class_="grp"), element("td"), element("td")]
    caption = element(
        "caption", element("b", "cost"), ": mean gain over every order of fixing the error types; costs and score sum "
        "to 1. ", element("b", "if fixed alone"), ": gain if only this type were fixed. ", element("b", "count"),
        f": at {overlap_at(doc, iou)}. ",
        *tell_counted(doc, systems),
    )  # fmt: skip
    return element(
        "table",
        caption,
        element("thead", element("tr", *groups), element("tr", *words)),
        element("tbody", *rows),
        element("tfoot", element("tr", *foot)),
    )


def tell_counted(doc: dict[str, Any], systems: list[dict[str, Any]]) -> list[str]:
    """Return the confidence threshold of the counts; the script updates it per detector."""
    places = [doc["systems"].index(system) for system in systems]
    if len(places) == 1:
        return [element("span", "At all confidences", data_counted=places[0]), "."]
    told = zip(places, systems, strict=True)
    others = [element("span", name(one["name"]), ": ", element("span", data_counted=i), ". ") for i, one in told]
    return ["At all confidences. ", element("span", *others, class_="counted")]


# Crops


def look(doc: dict[str, Any], photos: Photos) -> Markup | None:
    """Render the errors with the highest cost as image crops, per detector."""
    if not any(system["look"] for system in doc["systems"]):
        return None
    return each(doc["systems"], [look_of(doc, system, photos) for system in doc["systems"]])


def look_of(doc: dict[str, Any], system: dict[str, Any], photos: Photos) -> Markup:
    items = system["look"]
    if not items:
        return element("p", "No errors.", class_="finding")
    has_cost = is_known(items[0]["cost"])
    if has_cost:
        about = "The number is the cost in AP: the gain if only this error were fixed. These costs do not sum."
    else:
        about = "The false positives with the highest confidence and the largest missed objects."
    return join_elements(
        element("p", tell_look(doc, items), class_="finding"),
        element("p", f"{count_of(len(items), 'error')}. {about}", class_="sub"),
        key(has_cost),
        element("ol", *(element("li", show_error(doc, item, photos)) for item in items), class_="crops"),
    )


def key(has_cost: bool) -> Markup:
    """Render the legend of the outlines."""

    def sample(kind: str, **fill: str) -> Markup:
        box = element("path", d="M2 2H24V12H2Z", class_=f"k{kind}", **fill)
        return element("svg", box, width=26, height=14, aria_hidden="true")

    parts = [element("span", sample("tru"), "ground truth"), element("span", sample("prd"), "prediction")]
    parts.insert(1, element("span", sample("tru", fill="url(#hatch-3)"), "missed (FN)"))
    return element("p", *parts, *([element("span", "number: cost in AP")] if has_cost else []), class_="key")


def tell_look(doc: dict[str, Any], items: list[dict[str, Any]]) -> Markup:
    """Return the three most frequent of these errors in words."""
    told: dict[str, tuple[int, Markup]] = {}
    for item in items:
        words = tell_error(doc, item)
        count = told.get(str(words), (0, words))[0]
        told[str(words)] = (count + 1, words)
    common = sorted(told.values(), key=lambda one: -one[0])[:3]
    parts = [sentence(words, f" ({count}\u00a0times)" if count > 1 else "") for count, words in common]
    return sentence("Most frequent among them: ", list_all(parts), ".")


def tell_error(doc: dict[str, Any], item: dict[str, Any]) -> Markup:
    """Describe an error in a few words."""
    kind, label, truth = item["error"], item["label"], item["truth_label"]
    if kind == "missed":
        return sentence(name(truth), " missed")
    if kind == "class" and truth is not None:
        return sentence(name(truth), " confused with ", name(label))
    if kind == "localization":
        return sentence(name(label), " localized poorly")
    if kind == "duplicate":
        return sentence("duplicate of ", name(label))
    if kind == "background":
        return sentence(name(label), " on background")
    if kind == "both" and truth is not None:
        return sentence(name(truth), " localized poorly and confused with ", name(label))
    return sentence("false positive ", name(label))


def show_error(doc: dict[str, Any], item: dict[str, Any], photos: Photos) -> Markup:
    image = item["image"]
    size = doc["images"]["sizes"].get(str(image)) or [item["window"][2], item["window"][3]]
    words = tell_error(doc, item)
    where = doc["images"]["names"].get(str(image), "")
    about = f"{plain(where)}: {item['error']}"
    details = []
    if is_known(item["confidence"]):
        details.append(f"conf {number(item['confidence'], 2)}")
    if is_known(item["iou"]) and item["iou"] > 0:
        details.append(f"{doc['words']['overlap']} {number(item['iou'], 2)}")
    cost = [element("i", number(item["cost"], 4))] if is_known(item["cost"]) else []
    return join_elements(
        crop(item, size, photos.link(image), photos.crop(image, item["window"]), about),
        element("p", element("b", words), class_="what"),
        element("p", swatch(item["error"]), item["error"], *cost, class_="c"),
        element("p", element("small", name(where), element("br"), ", ".join(details))),
    )
