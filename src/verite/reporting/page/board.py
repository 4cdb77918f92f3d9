"""How sure is the order? What the leaderboard says, with its assumption in words, and the records that decide."""

from __future__ import annotations

from typing import Any

from verite.model.elements import Markup, element, join_elements
from verite.reporting.page.crops import Photos, crop
from verite.reporting.page.frame import scroll, table_head
from verite.reporting.page.words import chance, count_of, is_known, list_all, name, number, plain, sentence

DOUBTS = {"errors": "errors of the truth", "images": "other images", "both": "errors of the truth and other images"}
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
    """The whole order, and how likely it stays."""
    names = [name(one["name"]) for one in board["detectors"]]
    shown = list_all(names) if len(names) <= 4 else sentence("The whole order of ", count_of(len(names), "system"))
    if not asked:
        return sentence("The order by ", board["metric"], ": ", shown, ".")
    key = asked[-1]
    odds = chance(board["whole_order"][key])
    word = "stay in this order" if len(names) <= 4 else "stays"
    return sentence(shown, f" {word} with probability {odds} under {DOUBTS[key]}.")


def tell_assumption(board: dict[str, Any]) -> Markup:
    told = [f"{board['draws']:,} draws"]
    if board.get("resample"):
        told.append(f"other images: {board['resample']} drawn again with replacement, the same for every system")
    if board.get("assumption"):
        told.append(f"errors of the truth: {board['assumption']}")
    return sentence("; ".join(told), ". No interval stands around a score itself: it would be wrong.")


def detector_table(board: dict[str, Any], asked: list[str]) -> Markup:
    first = [element("td")] + [element("td") for _ in range(4)]
    first += [element("th", "is first", scope="colgroup", colspan=len(asked), class_="grp")] if asked else []
    first += [element("th", "keeps its place", scope="colgroup", colspan=len(asked), class_="grp")] if asked else []
    heads = [("system", "l"), (board["metric"], ""), ("sd", ""), ("bias", ""), ("gap to the next", "")]
    heads += [(key, "grp" if k == 0 else "") for _ in range(2) for k, key in enumerate(asked)]
    heads += [("places", "grp"), ("flip", "")]
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
        "gap: with its 95\u00a0% interval over drawn images. places: those that cannot be excluded, all at once. "
        "flip: so many wrong records of the truth, the worst ones, would turn the order with the next."
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
    """Those that cannot be told apart."""
    groups = [group for group in board.get("groups") or [] if len(group) > 1]
    if not groups:
        return Markup()
    told = [sentence(list_all([name(one) for one in group]), ". ") for group in groups]
    return element("p", "Not to be told apart: ", *told, class_="note")


def records(doc: dict[str, Any], board: dict[str, Any], photos: Photos) -> Markup:
    """The records of the truth that decide first place, as crops."""
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
                    f"{plain(where)}: a record that decides",
                ),
                element("p", element("b", name(item["label"])), class_="what"),
                element("p", element("small", element("bdi", item["reason"]))),
                element("p", element("small", name(where))),
            )
        )
    return join_elements(
        element("h3", "Look at these records before you believe the order"),
        element(
            "p",
            f"The {count_of(len(items), 'record')} of the truth that would change the lead most if they were wrong.",
        ),
        element("ol", *drawn, class_="crops"),
    )
