"""Is the ranking reliable? Bootstrap over images and simulated annotation errors, and the decisive annotations."""

from __future__ import annotations

from typing import Any

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.crops import Photos, crop
from verite.reporting.report.layout import (
    chance,
    count_of,
    is_known,
    list_all,
    name,
    number,
    plain,
    scroll,
    sentence,
    table_head,
)

DOUBTS = {
    "errors": "simulated annotation errors",
    "images": "bootstrap over images",
    "both": "simulated annotation errors and bootstrap over images",
}
MOST_RECORDS = 12


def show_board(doc: dict[str, Any], photos: Photos) -> Markup | None:
    board = doc.get("leaderboard")
    if not board or not board.get("detectors"):
        return None
    asked = [key for key in DOUBTS if is_known((board.get("whole_order") or {}).get(key))]
    return join_elements(
        element("p", tell_order(board, asked), class_="finding"),
        element("p", tell_assumption(board), class_="sub"),
        scroll("Table of detectors", detector_table(board, asked)),
        tell_groups(board),
        records(doc, board, photos),
    )


def tell_order(board: dict[str, Any], asked: list[str]) -> Markup:
    """Return the ranking and the probability that all of it stays the same."""
    names = [name(one["name"]) for one in board["detectors"]]
    shown = list_all(names) if len(names) <= 4 else sentence("The ranking of all ", count_of(len(names), "detector"))
    if not asked:
        return sentence("The ranking by ", board["metric"], ": ", shown, ".")
    key = asked[-1]
    odds = chance(board["whole_order"][key])
    word = "keep this ranking" if len(names) <= 4 else "stays the same"
    return sentence(shown, f" {word} with probability {odds} under {DOUBTS[key]}.")


def tell_assumption(board: dict[str, Any]) -> Markup:
    told = [f"{board['draws']:,} resamples"]
    if board.get("resample"):
        told.append(f"bootstrap: {board['resample']} resampled with replacement, the same for every detector")
    if board.get("assumption"):
        told.append(f"annotation errors: {board['assumption']}")
    return sentence(
        "; ".join(told),
        ". They measure the stability of the ranking, not of a single score.",
    )


def detector_table(board: dict[str, Any], asked: list[str]) -> Markup:
    first = [element("td")] + [element("td") for _ in range(4)]
    first += [element("th", "P(first)", scope="colgroup", colspan=len(asked), class_="grp")] if asked else []
    first += [element("th", "P(keeps rank)", scope="colgroup", colspan=len(asked), class_="grp")] if asked else []
    heads = [("detector", "l"), (board["metric"], ""), ("sd", ""), ("bias", ""), ("gap to the next", "")]
    heads += [(key, "grp" if k == 0 else "") for _ in range(2) for k, key in enumerate(asked)]
    heads += [("ranks", "grp"), ("flip", "")]
    rows = []
    for one in board["detectors"]:
        gap = one.get("gap")
        between = (
            [element("small", f" [{number(gap['low'])}, {number(gap['high'])}]")]
            if gap and is_known(gap["low"])
            else []
        )
        cells = [element("th", name(one["name"]), scope="row"), element("td", number(one["score"]))]
        cells += [element("td", number(one.get("sd")), class_="q"), element("td", number(one.get("bias")), class_="q")]
        cells.append(element("td", number(gap["value"]) if gap else number(None), *between))
        for part in ("p_first", "p_keeps"):
            told = one.get(part) or {}
            cells += [
                element("td", chance(told.get(key)), **({"class_": "grp"} if k == 0 else {}))
                for k, key in enumerate(asked)
            ]
        low, high = one["places"]
        cells.append(element("td", str(low) if low == high else f"{low}–{high}", class_="grp"))
        flip = one.get("flip")
        cells.append(element("td", number(None) if flip is None else f"{flip:,}"))
        rows.append(element("tr", *cells))
    caption = (
        "gap: with its 95\u00a0% confidence interval (bootstrap). ranks: those not excluded, simultaneously. "
        "flip: smallest number of annotations found whose removal swaps this detector with the next."
    )
    return element(
        "table",
        element("caption", caption),
        element(
            "thead",
            *([element("tr", *first, element("td", class_="grp"), element("td"))] if asked else []),
            table_head(heads),
        ),
        element("tbody", *rows),
    )


def tell_groups(board: dict[str, Any]) -> Markup:
    """Render the groups of statistically tied detectors."""
    groups = [group for group in board.get("groups") or [] if len(group) > 1]
    if not groups:
        return Markup()
    told = [sentence(list_all([name(one) for one in group]), ". ") for group in groups]
    return element("p", "Statistically tied: ", *told, class_="note")


def records(doc: dict[str, Any], board: dict[str, Any], photos: Photos) -> Markup:
    """Render the annotations with the largest influence on the first rank as image crops."""
    items = board.get("look") or []
    if not items:
        return Markup()
    drawn = []
    for item in items:
        image = item["image"]
        size = doc["images"]["sizes"].get(str(image)) or [item["window"][2], item["window"][3]]
        where = doc["images"]["names"].get(str(image), "")
        drawn.append(
            element(
                "li",
                crop(
                    item,
                    size,
                    photos.link(image),
                    photos.crop(image, item["window"]),
                    f"{plain(where)}: decisive annotation",
                ),
                element("p", element("b", name(item["label"])), class_="what"),
                element("p", element("small", element("bdi", item["reason"]))),
                element("p", element("small", name(where))),
            )
        )
    return join_elements(
        element("h3", "Check these annotations before you trust the ranking"),
        element(
            "p",
            f"The {count_of(len(items), 'annotation')} that would change the lead most if wrong.",
        ),
        element("ol", *drawn, class_="crops"),
    )
