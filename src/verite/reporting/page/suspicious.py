"""Which records of the truth are probably wrong? To look at, to mark, and to give back to the leaderboard."""

from __future__ import annotations

from typing import Any

from verite.model.elements import Markup, element, join_elements
from verite.reporting.page.crops import Photos, crop
from verite.reporting.page.words import count_of, name, plain

MOST = 24
ABOUT = (
    "The truth and a sure detector disagree, so one of them is wrong: the probability that it is the record, if one "
    "record in twenty is. Mark what you see; the marks can be copied as CSV."
)
VERDICTS = ("right", "wrong", "unsure")


def show_suspicious(doc: dict[str, Any], photos: Photos) -> Markup | None:
    """Of all systems together: a record is suspicious for whoever looks."""
    items = doc.get("suspects") or []
    if not items:
        return None
    likely = sum(item["probability"] >= 0.5 for item in items)
    few = "is" if likely == 1 else "are"
    told = f"{count_of(len(items), 'record')} to look at; {likely:,} {few} more likely wrong than right."
    listed = [
        element("li", show(doc, k, item, photos), data_record=record_of(doc, item)) for k, item in enumerate(items)
    ]
    copy = element("button", "Copy marks as CSV", type="button", class_="btn", id="copy-marks")
    return join_elements(
        element("p", told, class_="finding"),
        element("p", ABOUT, class_="sub"),
        element("ol", *listed, class_="sus"),
        element("p", copy, class_="row js", hidden=""),
        element("textarea", id="marks", rows=6, hidden="", readonly="", aria_label="Marks as CSV"),
    )


def record_of(doc: dict[str, Any], item: dict[str, Any]) -> str:
    return f"{doc['images']['names'].get(str(item['image']), '')}:{'pred' if item['row'] is None else item['row']}"


def show(doc: dict[str, Any], k: int, item: dict[str, Any], photos: Photos) -> Markup:
    image = item["image"]
    size = doc["images"]["sizes"].get(str(image)) or [item["window"][2], item["window"][3]]
    where = doc["images"]["names"].get(str(image), "")
    odds = f"{100 * item['probability']:.0f}\u00a0%"
    choices = [
        element("label", element("input", type="radio", name=f"mark-{k}", value=word), word) for word in VERDICTS
    ]
    return join_elements(
        crop(item, size, photos.link(image), photos.crop(image, item["window"]), plain(where)),
        element(
            "div",
            element("p", element("span", odds, class_="odds"), " ", element("b", item["kind"])),
            element("p", element("bdi", item["reason"])),
            element("p", element("small", name(where))),
            element("fieldset", element("legend", f"Record {k + 1}", class_="hide"), *choices, class_="js", hidden=""),
        ),
    )
