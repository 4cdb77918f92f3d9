"""Where is it weak? Recall of every slice of objects and images, against that of all."""

from __future__ import annotations

from typing import Any

from verite.model.elements import Markup, element, join_elements
from verite.reporting.page.charts import interval
from verite.reporting.page.frame import each, scroll
from verite.reporting.page.words import is_known, name, number, plain, sentence, whole

MOST = 40
GREY = "Intervals of 95\u00a0%; grey: no clear difference, or fewer than 30 objects."


def show_slices(doc: dict[str, Any]) -> Markup | None:
    if not any(system.get("slices") for system in doc["systems"]):
        return None
    return each(doc["systems"], [slices_of(i, system) for i, system in enumerate(doc["systems"])])


def slices_of(i: int, system: dict[str, Any]) -> Markup:
    rows = [one for one in system.get("slices") or [] if is_known(one.get("recall"))]
    if not rows:
        return element("p", "There is nothing to slice.", class_="finding")
    steps = system["steps"]
    base = steps["right"][0] / steps["truths"] if steps["truths"] else 0.0
    ordered = sorted(rows, key=lambda one: (not one.get("is_ranked", True), one["recall"]))
    hidden = len(ordered) - MOST
    more = f" The {MOST} worst of {len(ordered)}." if hidden > 0 else ""
    return join_elements(
        element("p", tell(system, rows, base), class_="finding"),
        element("p", f"Recall at any confidence; {number(base)} of all objects. {GREY}{more}", class_="sub"),
        scroll(f"Table of slices, {plain(system['name'])}", table(i, ordered[:MOST], base)),
    )


def tell(system: dict[str, Any], rows: list[dict[str, Any]], base: float) -> Markup:
    clear = [one for one in rows if one.get("is_ranked", True) and one["recall_high"] < base]
    if not clear:
        return sentence("No slice with 30 objects or more is clearly worse than the rest.")
    worst = min(clear, key=lambda one: one["recall"])
    return sentence(
        name(system["name"]),
        " is weakest at ",
        name(f"{worst['slice']} {worst['bin']}"),
        f": it finds {100 * worst['recall']:.0f}\u00a0% of them, {100 * base:.0f}\u00a0% of all.",
    )


def table(i: int, rows: list[dict[str, Any]], base: float) -> Markup:
    body = []
    for one in rows:
        low, high = one["recall_low"], one["recall_high"]
        is_clear = one.get("is_ranked", True) and not low <= base <= high
        kind = "g" if not is_clear else "w" if one["recall"] < base else ""
        ap = one.get("AP")
        body.append(
            element(
                "tr",
                element("th", name(f"{one['slice']}: {one['bin']}", "nm whole"), scope="row"),
                element("td", whole(one["truths"]), class_="q"),
                element(
                    "td",
                    interval(one["recall"] - base, low - base, high - base, (-base, 1 - base), kind),
                    class_="wide",
                ),
                element("td", number(one["recall"])),
                element("td", f"{number(low, 2)} to {number(high, 2)}", class_="q"),
                element("td", number(ap), class_="q"),
                data_slice=f"{i} {one['place'][0]} {one['place'][1]}",
            )
        )
    heads = (("slice", "l"), ("truths", ""), ("against all", "l nosort"), ("recall", ""), ("interval", ""), ("AP", ""))
    return element(
        "table",
        element("caption", "Weakest first; AP only where a prediction has the property, too.", class_="hide"),
        element(
            "thead",
            element(
                "tr", *(element("th", word, scope="col", **({"class_": kind} if kind else {})) for word, kind in heads)
            ),
        ),
        element("tbody", *body),
        class_="gaps",
    )
