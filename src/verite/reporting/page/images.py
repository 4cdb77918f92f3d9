"""Which images are the worst, and what is on them?"""

from __future__ import annotations

from typing import Any

from verite.model.elements import Markup, element, join_elements
from verite.reporting.page.charts import Piece, thin_stack
from verite.reporting.page.crops import THUMB, Photos
from verite.reporting.page.document import MOST_IMAGES
from verite.reporting.page.frame import each, scroll
from verite.reporting.page.head import is_known
from verite.reporting.page.words import count_of, name, number, percent, plain, sentence, whole


def images(doc: dict[str, Any], photos: Photos) -> Markup | None:
    if not doc["truth"]["images"]:
        return None
    return each(doc["systems"], [images_of(doc, i, photos) for i in range(len(doc["systems"]))])


def images_of(doc: dict[str, Any], i: int, photos: Photos) -> Markup:
    system = doc["systems"][i]
    rows = system["images"]
    if not rows:
        return element("p", "No image has an error.", class_="finding")
    has_cost = is_known(rows[0]["cost"])
    words = ["truths", "right", "wrong", "missed", *(["cost"] if has_cost else [])]
    heads = [("image", "l"), ("right, wrong, missed", "l nosort"), *((word, "") for word in words)]
    most = max(row["truths"] + row["wrong"] for row in rows)
    body = [image_row(doc, i, row, most, has_cost, photos) for row in rows]
    last = heads[-1][0]
    sort = {last: "descending"} if has_cost else {}
    at = number(system["best"]["confidence"], 2)
    table = element(
        "table",
        element(
            "caption",
            f"{'Dearest' if has_cost else 'Most errors'} first, at confidence {at}",
            element("span", data_at="shown"),
            ".",
        ),
        element("thead", element("tr", *(head_cell(word, kind, sort.get(word)) for word, kind in heads))),
        element("tbody", *body),
        class_="sortable images",
        id=f"images-{i}",
    )
    hidden = doc["truth"]["images"] - len(rows)
    find = element(
        "p",
        element("label", "Find an image ", element("input", type="search", class_="find", data_system=i)),
        class_="row js",
        hidden="",
    )
    clean = len(rows) < MOST_IMAGES
    more = (
        f" The other {count_of(hidden, 'image')} {'have no error' if clean else 'can be found by name'}."
        if hidden > 0
        else ""
    )
    return join_elements(
        element("p", tell_images(doc, system), class_="finding"),
        element("p", f"The worst {len(rows)} of {doc['truth']['images']:,}.{more}", class_="sub"),
        find,
        scroll(f"Table of images, {plain(system['name'])}", table, kind="tall" if len(rows) > 25 else ""),
        left_out(system),
    )


def head_cell(word: str, kind: str, order: str | None) -> Markup:
    about = {"class_": kind, "aria_sort": order}
    return element("th", word, scope="col", **{key: value for key, value in about.items() if value})


def tell_images(doc: dict[str, Any], system: dict[str, Any]) -> Markup:
    rows = system["images"]
    total = sum(row["wrong"] + row["missed"] for row in rows)
    top = rows[:5]
    share = sum(row["wrong"] + row["missed"] for row in top)
    if len(rows) <= 5 or not total:
        return sentence("The worst image is ", name(doc["images"]["names"][str(rows[0]["image"])]), ".")
    errors = system["best"]["wrong"] + system["best"]["missed"]
    return sentence(f"Five of {doc['truth']['images']:,} images hold {percent(share, errors)} of the errors.")


def image_row(doc: dict[str, Any], i: int, row: dict[str, Any], most: int, has_cost: bool, photos: Photos) -> Markup:
    k = str(row["image"])
    title = doc["images"]["names"][k]
    size = doc["images"]["sizes"].get(k)
    scale = max(most, 1)
    bar = thin_stack(
        [
            Piece("right", row["right"] / scale, "c-ap"),
            Piece("wrong", row["wrong"] / scale, "c-loc"),
            Piece("missed", row["missed"] / scale, "c-miss"),
        ],
        title,
    )
    cells = [
        element("th", thumb(row["image"], size, photos), name(title), scope="row"),
        element("td", bar, class_="wide"),
        element("td", whole(row["truths"]), class_="q"),
        *(element("td", whole(row[word]), data_image=f"{i}.{k}.{word}") for word in ("right", "wrong", "missed")),
    ]
    if has_cost:
        cells.append(element("td", number(row["cost"], 4)))
    return element("tr", *cells, data_open=f"{i}.{k}", data_truths=row["truths"])


def thumb(image: int, size: Any, photos: Photos) -> Markup:
    if not size:
        return Markup()
    link = photos.link(image)
    data = photos.crop(image, [0.0, 0.0, size[0], size[1]], THUMB) if link is None else None
    if link is None and data is None:
        return Markup()
    box = f"0 0 {size[0]:g} {size[1]:g}"
    inside = element("image", href=link or data or "", width=f"{size[0]:g}", height=f"{size[1]:g}")
    return element("svg", inside, viewBox=box, class_="thumb", aria_hidden="true")


def left_out(system: dict[str, Any]) -> Markup:
    told = system.get("packed") or {}
    if not told.get("left_out"):
        return Markup()
    below = number(told["left_out_below"], 3)
    return element(
        "p",
        f"{told['left_out']:,} wrong predictions up to confidence {below} are counted, but cannot be opened.",
        class_="note",
    )
