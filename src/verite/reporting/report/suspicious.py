"""Suspicious annotations: probable annotation errors to check, to mark, and to pass back as audit.csv."""

from __future__ import annotations

from csv import writer
from io import StringIO
from typing import Any

from verite.analysis.suspicious import PRIOR
from verite.leaderboards.audit import COLUMNS
from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.crops import Photos, crop
from verite.reporting.report.layout import count_of, name, plain

MOST = 24
ABOUT = "The ground truth and a confident prediction disagree. The probability is that of an annotation error, if "
MARK = "Mark what you see, then copy the marks as CSV and pass them to --audit."
VERDICTS = ("right", "wrong", "unsure")


def show_suspicious(doc: dict[str, Any], photos: Photos) -> Markup | None:
    """Render the suspicious annotations of all detectors together."""
    items = doc.get("suspects") or []
    if not items:
        return None
    likely = sum(item["probability"] >= 0.5 for item in items)
    prior = float(doc["settings"]["changed"].get("prior", PRIOR))
    few = "is" if likely == 1 else "are"
    told = f"{count_of(len(items), 'annotation')} to check; {likely:,} {few} more likely wrong than correct."
    listed = [element("li", show(doc, k, item, photos), data_row=audit_line(item)) for k, item in enumerate(items)]
    copy = element("button", "Copy marks as CSV", type="button", class_="btn", id="copy-marks")
    return join_elements(
        element("p", told, class_="finding"),
        element("p", f"{ABOUT}{100 * prior:g}\u00a0% of all annotations are wrong. {MARK}", class_="sub"),
        element("ol", *listed, class_="sus"),
        element("p", copy, class_="row js", hidden=""),
        element(
            "div",
            element("p", "Save them as audit.csv for --audit of verite report and verite leaderboard.", class_="note"),
            element(
                "textarea", id="marks", rows=6, readonly="", data_head=",".join(COLUMNS), aria_label="Marks as CSV"
            ),
            hidden="",
        ),
    )


def audit_line(item: dict[str, Any]) -> str:
    """What a table of checked records says of it, up to the verdict."""
    line = StringIO()
    writer(line, lineterminator=",").writerow([*item["audit"], item["probability"], item["reason"]])
    return line.getvalue()


def show(doc: dict[str, Any], k: int, item: dict[str, Any], photos: Photos) -> Markup:
    image = item["image"]
    size = doc["images"]["sizes"].get(str(image)) or [item["window"][2], item["window"][3]]
    where = doc["images"]["names"].get(str(image), "")
    verdict = item["verdict"]
    odds = f"{100 * item['probability']:.0f}\u00a0%"
    choices = [
        element(
            "label",
            element(
                "input", type="radio", name=f"mark-{k}", value=word, **({"checked": ""} if word == verdict else {})
            ),
            word,
        )
        for word in VERDICTS
    ]
    return join_elements(
        crop(item, size, photos.link(image), photos.crop(image, item["window"]), plain(where)),
        element(
            "div",
            element(
                "p",
                element("span", odds, class_="odds"),
                " ",
                element("b", item["kind"].replace("box", doc["words"]["one"])),
            ),
            element("p", element("bdi", item["reason"])),
            element("p", element("small", name(where))),
            element("fieldset", element("legend", f"Object {k + 1}", class_="hide"), *choices, class_="js", hidden=""),
        ),
    )
