"""Recall by slice: subsets of objects and images by size, position, crowding and metadata."""

from __future__ import annotations

from typing import Any

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.charts import interval
from verite.reporting.report.layout import each, is_known, name, number, plain, scroll, sentence, whole

MOST = 40
GREY = "Bars: 95\u00a0% confidence intervals; grey: not significant, or fewer than 30 objects."


def show_slices(doc: dict[str, Any]) -> Markup | None:
    if not any(system.get("slices") for system in doc["systems"]):
        return None
    return each(doc["systems"], [slices_of(i, system) for i, system in enumerate(doc["systems"])])


def slices_of(i: int, system: dict[str, Any]) -> Markup:
    rows = [one for one in system.get("slices") or [] if is_known(one.get("recall"))]
    if not rows:
        return element("p", "No slices.", class_="finding")
    steps = system["steps"]
    base = steps["right"][0] / steps["truths"] if steps["truths"] else 0.0
    ordered = sorted(rows, key=lambda one: (not one.get("is_ranked", True), one["recall"]))
    hidden = len(ordered) - MOST
    more = f" The {MOST} worst of {len(ordered)}." if hidden > 0 else ""
    return join_elements(
        element("p", tell(system, rows, base), class_="finding"),
        element("p", f"Recall at any confidence; {number(base)} over all objects. {GREY}{more}", class_="sub"),
        scroll(f"Table of slices, {plain(system['name'])}", table(i, ordered[:MOST], base)),
    )


def tell(system: dict[str, Any], rows: list[dict[str, Any]], base: float) -> Markup:
    clear = [one for one in rows if one.get("is_ranked", True) and one["recall_high"] < base]
    if not clear:
        return sentence("No slice of at least 30 objects has a significantly lower recall than all objects.")
    worst = min(clear, key=lambda one: one["recall"])
    return sentence(
        name(system["name"]),
        " has its lowest recall on ",
        name(f"{worst['slice']} {worst['bin']}"),
        f": {100 * worst['recall']:.0f}\u00a0%, against {100 * base:.0f}\u00a0% of all objects.",
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
    heads = (("slice", "l"), ("GT", ""), ("against all", "l nosort"), ("recall", ""), ("95\u00a0% CI", ""), ("AP", ""))
    return element(
        "table",
        element("caption", "Lowest recall first; AP only where predictions have the property, too.", class_="hide"),
        element(
            "thead",
            element(
                "tr", *(element("th", word, scope="col", **({"class_": kind} if kind else {})) for word, kind in heads)
            ),
        ),
        element("tbody", *body),
        class_="gaps",
    )
