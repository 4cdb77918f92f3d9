"""Compare detectors: AP by IoU threshold, objects detected by either of the best two, differences of scores."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.charts import Axes, Stroke, interval, lines, share_bar
from verite.reporting.report.confusion import cell
from verite.reporting.report.header import score_name
from verite.reporting.report.layout import (
    ABSENT,
    TALL,
    chance,
    is_known,
    name,
    number,
    overlap_at,
    plain,
    scroll,
    sentence,
    show_difference,
)

KINDS = ("a", "k")  # the first in the accent, the second in ink, others grey
MOST_LINES = 6
MOST_NAMED = 3  # lines that are named at their place


def sides(doc: dict[str, Any]) -> Markup | None:
    """Render the comparison; None for one detector or without ground-truth objects."""
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
        gap = sentence(name(first["name"]), " and ", name(second["name"]), f" are tied in {word}")
    told = (doc.get("sides") or {}).get("finds")
    if not told:
        return sentence(gap, ".")
    more = told["second_only"] - told["first_only"]
    if more > 0:
        return sentence(gap, ", but ", name(second["name"]), f" detects {more:,} more objects.")
    return (
        sentence(gap, f" and detects {-more:,} more objects.")
        if more
        else sentence(gap, "; both detect the same number of objects.")
    )


def chart(doc: dict[str, Any]) -> Markup | None:
    """Plot the score against the IoU threshold, one line per detector."""
    told = [system["thresholds"] for system in doc["systems"][:MOST_LINES]]
    if len(told[0]) < 3:
        return None
    ious = [one["iou"] for one in told[0]]
    words = doc["words"]
    axes = Axes(f"{words['overlap']} threshold", score_name(doc), x_range=(ious[0], ious[-1]), x_ticks=ious[::2])
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
        element("h3", f"{score_name(doc)} by {words['overlap']} threshold"),
        element("p", tell_lines(len(told), hidden)),
        lines(axes, drawn[::-1], said),
    )


def tell_lines(shown: int, hidden: int) -> str:
    """Describe the lines of the chart."""
    best = f" for the best {shown} detectors" if hidden > 0 else ""
    return f"The score at each threshold{best}{'; grey: the others' if shown > MOST_NAMED else ''}."


def threshold_rows(doc: dict[str, Any]) -> Markup:
    """Render the table of scores by IoU threshold."""
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
        element("caption", "The score at each threshold."),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
    )
    return scroll("Table of thresholds", table)


def finders(doc: dict[str, Any]) -> Markup | None:
    """Render how many objects both, one or neither of the best two detectors detect."""
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
        element("h3", "Objects detected by each detector"),
        element(
            "p",
            f"{total:,} objects at {overlap_at(doc, told['iou'])}, each detector at the confidence of its best F1.",
        ),
        share_bar(parts, total),
        element(
            "table",
            element("caption", "Objects by the detectors that detect them.", class_="hide"),
            element("tbody", *rows),
            class_="slim",
        ),
        element("p", mcnemar(told, first, second), class_="note"),
    )


def fates(doc: dict[str, Any]) -> Markup:
    """Render the outcomes of every object: rows the best detector, columns the second."""
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
        element("caption", "Objects by outcome under two detectors.", class_="hide"),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
        class_="mx fate",
    )
    about = element("p", "Rows: ", name(first), ". Columns: ", name(second), ". At any confidence.")
    return join_elements(
        element("h3", "Outcome of every object under both detectors"), about, scroll("Table of outcomes", table)
    )


def mcnemar(told: dict[str, Any], first: str, second: str) -> Markup:
    p = told.get("p")
    if not is_known(p):
        return Markup()
    odds = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    word = "Statistically significant" if p < 0.05 else "Not statistically significant"
    return sentence(f"{word} (exact McNemar test, {odds}; assumes independent objects).")


def gaps(doc: dict[str, Any]) -> Markup:
    """Render differences of neighbours in the ranking for every score, with bootstrap confidence intervals."""
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
    heads = [("detectors", "l"), ("score", "l"), ("difference", ""), ("line: no difference", "l")]
    heads += [("95\u00a0% CI", ""), ("P(order kept)", "")] if has_interval else []
    said = " in the ranking, with 95\u00a0% confidence intervals (paired bootstrap over images)" if has_interval else ""
    table = element(
        "table",
        element("caption", f"Differences of neighbours{said}."),
        element("thead", element("tr", *(element("th", word, scope="col", class_=kind) for word, kind in heads))),
        element("tbody", *body),
        class_="gaps",
    )
    return scroll("Table of differences", table, kind="tall" if len(rows) > TALL else "")
