"""Table of the images with the highest cost in AP or the most errors."""

from __future__ import annotations

from typing import Any

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.charts import Piece, thin_stack
from verite.reporting.report.crops import Photos
from verite.reporting.report.document import LISTED_IMAGES as MOST_IMAGES
from verite.reporting.report.layout import (
    TALL,
    count_of,
    each,
    is_known,
    name,
    number,
    percent,
    plain,
    scroll,
    sentence,
    whole,
)


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
    words = ["GT", "TP", "FP", "missed (FN)", *(["cost in AP"] if has_cost else [])]
    heads = [("image", "l"), ("TP, FP, FN", "l nosort"), *((word, "") for word in words)]
    most = max(row["truths"] + row["wrong"] for row in rows)
    body = [image_row(doc, i, k, most, has_cost, photos) for k in range(len(rows))]
    last = heads[-1][0]
    sort = {last: "descending"} if has_cost else {}
    at = number(system["best"]["confidence"], 2)
    table = element(
        "table",
        element(
            "caption",
            f"{'Highest cost' if has_cost else 'Most errors'} first. ",
            element("span", f"At confidence ≥ {at}", data_floor=i),
            ".",
        ),
        element("thead", element("tr", *(head_cell(word, kind, sort.get(word)) for word, kind in heads))),
        element("tbody", *body),
        class_="images",
        id=f"images-{i}",
    )
    hidden = doc["truth"]["images"] - len(rows)
    # What is typed leaves rows of its name; when it is entered, the first image of all that has it opens.
    box = element("input", type="search", class_="find filter", data_system=i, data_rows=f"#images-{i} tbody tr")
    find = element("p", element("label", "Find an image ", box), class_="row js", hidden="")
    fate = "can be found by name" if len(doc["images"]["names"]) == doc["truth"]["images"] else "are counted"
    fate = "have no error" if len(rows) < MOST_IMAGES else fate
    more = f" The other {count_of(hidden, 'image')} {fate}." if hidden > 0 else ""
    return join_elements(
        element("p", tell_images(doc, system), class_="finding"),
        element("p", f"The worst {len(rows)} of {doc['truth']['images']:,}.{more}", class_="sub"),
        find,
        scroll(f"Table of images, {plain(system['name'])}", table, kind="tall" if len(rows) > TALL else ""),
        left_out(doc, system),
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
        return sentence("The image with the most errors is ", name(doc["images"]["names"][str(rows[0]["image"])]), ".")
    errors = system["best"]["wrong"] + system["best"]["missed"]
    return sentence(f"Five of {doc['truth']['images']:,} images have {percent(share, errors)} of the errors.")


def image_row(doc: dict[str, Any], i: int, at: int, most: int, has_cost: bool, photos: Photos) -> Markup:
    row = doc["systems"][i]["images"][at]
    k = str(row["image"])
    title = doc["images"]["names"][k]
    size = doc["images"]["sizes"].get(k)
    scale = max(most, 1)
    bar = thin_stack(
        [
            Piece("TP", row["right"] / scale, "c-ap"),
            Piece("FP", row["wrong"] / scale, "c-loc"),
            Piece("missed (FN)", row["missed"] / scale, "c-miss"),
        ],
        title,
    )
    cells = [
        element("th", thumb(row["image"], size, photos), name(title), scope="row"),
        element("td", bar, class_="wide"),
        element("td", whole(row["truths"]), class_="q"),
        *(element("td", whole(row[word]), class_="n") for word in ("right", "wrong", "missed")),
    ]
    if has_cost:
        cells.append(element("td", number(row["cost"], 4)))
    return element("tr", *cells, data_open=f"{i} {k}", data_row=at, data_truths=row["truths"])


def thumb(image: int, size: Any, photos: Photos) -> Markup:
    """Render a thumbnail: a link to the image file, or the image embedded in the report."""
    link = photos.link(image)
    if not size or (link is None and not photos.embed_photo(image, size)):
        return Markup()
    about = {"width": f"{size[0]:g}", "height": f"{size[1]:g}"}
    inside = element("use", href=f"#photo-{image}") if link is None else element("image", href=link, **about)
    return element("svg", inside, viewBox=f"0 0 {size[0]:g} {size[1]:g}", class_="thumb", aria_hidden="true")


def left_out(doc: dict[str, Any], system: dict[str, Any]) -> Markup:
    """Describe which objects are counted but not stored in the report."""
    told, parts = system.get("packed") or {}, []
    if told.get("left_out"):
        below = number(told["left_out_below"], 3)
        many = count_of(told["left_out"], "false positive")
        parts.append(f"{many} with confidence ≤ {below} are counted, but cannot be opened.")
    packed = doc.get("packed") or {}
    opened, outlined = packed.get("opened"), packed.get("outlined")
    if outlined is not None:
        many = doc["words"]["many"]
        parts.append(f"In {count_of(outlined, 'image')} {many} have outlines when opened; other images show boxes.")
    if opened is not None:
        parts.append(
            f"Of {doc['truth']['images']:,} images the {opened:,} listed in this report can be opened; the "
            "objects of the others are counted, but not listed."
        )
    return element("p", " ".join(parts), class_="note") if parts else Markup()
