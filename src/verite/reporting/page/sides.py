"""Side by side: who is better where, and who finds what?"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from verite.model.elements import Markup, element, join_elements
from verite.reporting.page.charts import Axes, Stroke, interval, lines, share_bar
from verite.reporting.page.confusion import cell
from verite.reporting.page.frame import TALL, scroll
from verite.reporting.page.head import score_name
from verite.reporting.page.words import (
    ABSENT,
    chance,
    is_known,
    name,
    number,
    overlap_at,
    plain,
    sentence,
    show_difference,
)

KINDS = ("a", "k")  # the first in the accent, the second in ink, others grey
MOST_LINES = 6
MOST_NAMED = 3  # lines that are named at their place


def sides(doc: dict[str, Any]) -> Markup | None:
    """Only of several systems, and where there is something to find."""
    if len(doc["systems"]) < 2 or not doc["truth"]["objects"]:
        return None
    blocks = [chart(doc), join_elements(finders(doc) or Markup(), fates(doc))]
    known = [block for block in blocks if block is not None]
    return join_elements(
        element("p", tell_sides(doc), class_="finding"),
        element("div", *(element("div", block) for block in known), class_="two") if known else Markup(),
        threshold_rows(doc),
        gaps(doc),
    )


def tell_sides(doc: dict[str, Any]) -> Markup:
    first, second = doc["systems"][:2]
    word = score_name(doc)
    ahead = first["headline"] - second["headline"]
    gap = sentence(name(first["name"]), f" is ahead by {number(ahead)}\u00a0{word}")
    if not ahead >= 0.0005:
        gap = sentence(name(first["name"]), " and ", name(second["name"]), f" are level in {word}")
    told = (doc.get("sides") or {}).get("finds")
    if not told:
        return sentence(gap, ".")
    more = told["second_only"] - told["first_only"]
    if more > 0:
        return sentence(gap, ", but ", name(second["name"]), f" finds {more:,} objects more.")
    return (
        sentence(gap, f" and finds {-more:,} objects more.") if more else sentence(gap, "; both find as many objects.")
    )


def chart(doc: dict[str, Any]) -> Markup | None:
    """The score at every overlap, a line for each system."""
    told = [system["thresholds"] for system in doc["systems"][:MOST_LINES]]
    if len(told[0]) < 3:
        return None
    ious = [one["iou"] for one in told[0]]
    words = doc["words"]
    axes = Axes(
        f"{words['overlap']} asked of a {words['one']}", score_name(doc), x_range=(ious[0], ious[-1]), x_ticks=ious[::2]
    )
    drawn = []
    for i, (system, rows) in enumerate(zip(doc["systems"], told, strict=False)):
        points = [(one["iou"], one["AP"] if is_known(one["AP"]) else float("nan")) for one in rows]
        at = ious[0] + (0.02 + 0.22 * (i % 3)) * (ious[-1] - ious[0])
        # Names of many lines would lie on each other: then the grey ones are told by the pointer and by the table.
        named = system["name"] if i < len(KINDS) or len(told) <= MOST_NAMED else ""
        drawn.append(Stroke(named, points, KINDS[i] if i < len(KINDS) else "g", at, name=system["name"]))
    said = f"{score_name(doc)} against {words['overlap']}"
    hidden = len(doc["systems"]) - len(told)
    return join_elements(
        element("h3", f"How well must a {words['one']} fit?"),
        element("p", tell_lines(len(told), hidden)),
        lines(axes, drawn[::-1], said),
    )


def tell_lines(shown: int, hidden: int) -> str:
    """Which lines these are."""
    best = f"; the best {shown} systems" if hidden > 0 else ""
    return f"The score at each overlap{best}{'; grey: the others' if shown > MOST_NAMED else ''}."


def threshold_rows(doc: dict[str, Any]) -> Markup:
    """The same in numbers."""
    ious = [one["iou"] for one in doc["systems"][0]["thresholds"]]
    if len(ious) < 2:
        return Markup()
    rows = [
        element(
            "tr",
            element("th", name(system["name"]), scope="row"),
            *(element("td", number(one["AP"])) for one in system["thresholds"]),
        )
        for system in doc["systems"]
    ]
    heads = [element("th", doc["words"]["overlap"], scope="col", class_="l")] + [
        element("th", f"{t:g}", scope="col") for t in ious
    ]
    table = element(
        "table",
        element("caption", "The score at each overlap."),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
    )
    return scroll("Table of overlaps", table)


def finders(doc: dict[str, Any]) -> Markup | None:
    """Found by both, one, none of the best two."""
    told = (doc.get("sides") or {}).get("finds")
    if not told:
        return None
    first, second = (system["name"] for system in doc["systems"][:2])
    parts = [
        ("both", told["both"], "c-two"),
        (f"{plain(first, 16)} only", told["first_only"], "c-ap"),
        (f"{plain(second, 16)} only", told["second_only"], "c-b"),
        ("neither", told["neither"], "c-none"),
    ]
    rows = [
        element(
            "tr", element("th", element("span", class_=f"sw {kind}"), label, scope="row"), element("td", f"{count:,}")
        )
        for label, count, kind in parts
    ]
    total = sum(count for _, count, _ in parts)
    return join_elements(
        element("h3", "Who finds what"),
        element(
            "p",
            f"{total:,} objects at {overlap_at(doc, told['iou'])}, each system from the confidence of its best F1 on.",
        ),
        share_bar(parts, total),
        element(
            "table",
            element("caption", "Objects by who finds them.", class_="hide"),
            element("tbody", *rows),
            class_="slim",
        ),
        element("p", mcnemar(told, first, second), class_="note"),
    )


def fates(doc: dict[str, Any]) -> Markup:
    """What became of every object: rows the best system, columns the second."""
    told = (doc.get("sides") or {}).get("fates")
    if not told:
        return Markup()
    matrix = told["matrix"]
    kept = [k for k in range(len(told["names"])) if any(matrix[k]) or any(row[k] for row in matrix)]
    total = sum(map(sum, matrix))
    rows = [
        element(
            "tr",
            element("th", told["names"][a], scope="row"),
            *(cell(matrix[a][b], total, a == b, 0) for b in kept),
        )
        for a in kept
    ]
    heads = [element("td"), *(element("th", name(told["names"][k]), scope="col") for k in kept)]
    first, second = (system["name"] for system in doc["systems"][:2])
    table = element(
        "table",
        element("caption", "Objects by their fate under two systems.", class_="hide"),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
        class_="mx fate",
    )
    about = element("p", "Rows: ", name(first), ". Columns: ", name(second), ". At any confidence.")
    return join_elements(element("h3", "The fate of every object"), about, scroll("Table of fates", table))


def mcnemar(told: dict[str, Any], first: str, second: str) -> Markup:
    p = told.get("p")
    if not is_known(p):
        return Markup()
    odds = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    word = "That is hardly an accident" if p < 0.05 else "That may be an accident"
    return sentence(f"{word} (exact McNemar, {odds}, objects taken as independent).")


def gaps(doc: dict[str, Any]) -> Markup:
    """Neighbours in the order: how far apart, for every score, with the interval where it was drawn."""
    systems = doc["systems"]
    told = (doc.get("sides") or {}).get("gaps") or {}
    keys = [key for key in list(systems[0]["scores"])[:6] if is_known(systems[0]["scores"][key])]
    rows, values = [], []
    for a, b in pairwise(systems):
        for key in keys:
            gap = told.get(f"{systems.index(a)}.{key}") or {}
            value = (a["scores"][key] or 0) - (b["scores"][key] or 0)
            rows.append((a["name"], b["name"], key, value, gap.get("low"), gap.get("high"), gap.get("kept")))
            values += [value, gap.get("low") or value, gap.get("high") or value]
    if not rows:
        return Markup()
    reach = max(0.02, *(abs(value) for value in values)) * 1.05
    has_interval = any(is_known(row[4]) for row in rows)
    body = []
    for i, (a, b, key, value, low, high, kept) in enumerate(rows):
        is_first = i % len(keys) == 0
        who = sentence(name(a), " − ", name(b)) if is_first else element("span", name(a), " − ", name(b), class_="hide")
        kind = "w" if value < 0 else ""
        if is_known(low) and is_known(high) and low <= 0 <= high:
            kind = "g"
        ends = (low, high) if is_known(low) and is_known(high) else (float("nan"), float("nan"))
        cells = [
            element("th", who, scope="row"),
            element("td", key, class_="l"),
            element("td", show_difference(value)),
            element("td", interval(value, *ends, (-reach, reach), kind), class_="wide"),
        ]
        if has_interval:
            between = f"{show_difference(low)} to {show_difference(high)}" if is_known(low) else ABSENT
            cells += [element("td", between, class_="q"), element("td", chance(kept), class_="q")]
        body.append(element("tr", *cells))
    heads = [("gap", "l"), ("score", "l"), ("difference", ""), ("0 is no difference", "l")]
    heads += [("interval", ""), ("order stays", "")] if has_interval else []
    said = " with 95\u00a0% intervals and how often the order stays on other images, paired" if has_interval else ""
    table = element(
        "table",
        element("caption", f"Differences of neighbours{said}."),
        element("thead", element("tr", *(element("th", word, scope="col", class_=kind) for word, kind in heads))),
        element("tbody", *body),
        class_="gaps",
    )
    return scroll("Table of differences", table, kind="tall" if len(rows) > TALL else "")
