"""Calibration: confidence against precision by bin, expected calibration error (D-ECE), Brier score."""

from __future__ import annotations

from typing import Any

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.charts import Axes, Stroke, lines, text
from verite.reporting.report.layout import each, is_known, name, number, plain, scroll, sentence, whole

DOTS = "Dots: bins of confidence, grey where the 95\u00a0% confidence interval (bar) includes the mean confidence."


def show_calibration(doc: dict[str, Any]) -> Markup | None:
    if not any(system.get("calibration") for system in doc["systems"]):
        return None
    return each(doc["systems"], [calibration_of(system) for system in doc["systems"]])


def calibration_of(system: dict[str, Any]) -> Markup:
    told = system.get("calibration") or {}
    bins = [one for one in told.get("bins") or [] if one["preds"] and is_known(one["confidence"])]
    if not bins:
        reason = told.get("absent") or told.get("reason") or "The predictions have no confidences between 0 and 1."
        said = f"{str(reason)[:1].upper()}{str(reason)[1:].rstrip('.')}."
        return element("p", element("bdi", said), class_="finding")
    return join_elements(
        element("p", tell(system, bins), class_="finding"),
        element("p", verdict(told, bins), class_="sub"),
        element(
            "div",
            element("div", element("h3", "Reliability diagram"), element("p", DOTS), chart(system, bins)),
            element("div", scroll(f"Table of bins, {plain(system['name'])}", table(told, bins))),
            class_="two",
        ),
    )


def tell(system: dict[str, Any], bins: list[dict[str, Any]]) -> Markup:
    most = max(bins, key=lambda one: one["preds"])
    right = round(most["right"] * most["preds"])
    return sentence(
        "At a mean confidence of ",
        number(most["confidence"], 2),
        ", ",
        name(system["name"]),
        f" has {right:,} true positives among {most['preds']:,} predictions.",
    )


def verdict(told: dict[str, Any], bins: list[dict[str, Any]]) -> str:
    over = sum(one["preds"] for one in bins if one["right_high"] < one["confidence"])
    under = sum(one["preds"] for one in bins if one["right_low"] > one["confidence"])
    total = sum(one["preds"] for one in bins)
    word = "neither clearly overconfident nor underconfident"
    if over > 0.3 * total and over >= under:
        word = "overconfident"
    elif under > 0.3 * total:
        word = "underconfident"
    return f"It is {word}. D-ECE (mean over classes) {number(told.get('ece'))}, largest {number(told.get('mce'))}."


def chart(system: dict[str, Any], bins: list[dict[str, Any]]) -> Markup:
    axes = Axes("confidence", "precision")
    marks = []
    for one in bins:
        (x, low), (_, high) = (
            axes.place(one["confidence"], one["right_low"]),
            axes.place(one["confidence"], one["right_high"]),
        )
        y = axes.place(one["confidence"], one["right"])[1]
        inside = one["right_low"] <= one["confidence"] <= one["right_high"]
        kind = "g" if inside else ""
        marks.append(
            element(
                "line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=f"{low:.1f}", y2=f"{high:.1f}", class_=f"iv {kind}".strip()
            )
        )
        marks.append(
            element(
                "circle",
                element(
                    "title", f"{number(one['confidence'])}: precision {number(one['right'])}, n = {one['preds']:,}"
                ),
                cx=f"{x:.1f}",
                cy=f"{y:.1f}",
                r=5 if one["preds"] > 20 else 4,
                class_=f"dot {kind}".strip(),
            )
        )
    # Above the end of the line: no interval reaches there.
    x, y = axes.place(1.0, 1.0)
    marks.append(text(f"{x:.1f}", f"{y - 10:.1f}", "perfect calibration", kind="f sm", anchor="end"))
    diagonal = Stroke("", [(0.0, 0.0), (1.0, 1.0)], "iso")
    return lines(axes, [diagonal], f"Confidence of {plain(system['name'])} against precision", *marks)


def table(told: dict[str, Any], bins: list[dict[str, Any]]) -> Markup:
    rows = [
        element(
            "tr",
            element("th", f"{number(one['low'], 1)}–{number(one['high'], 1)}", scope="row"),
            element("td", whole(one["preds"])),
            element("td", number(one["confidence"])),
            element("td", number(one["right"])),
            element("td", f"{number(one['right_low'], 2)} to {number(one['right_high'], 2)}", class_="q"),
        )
        for one in bins
    ]
    heads = ("bin", "n", "confidence", "precision", "95\u00a0% CI")
    return element(
        "table",
        element("caption", f"All classes together; Brier score {number(told.get('brier'))}."),
        element("thead", element("tr", *(element("th", word, scope="col") for word in heads))),
        element("tbody", *rows),
    )
