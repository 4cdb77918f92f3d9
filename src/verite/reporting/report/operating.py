"""Operating point: precision, recall and F1 by confidence threshold, FROC, and a slider that updates all counts."""

from __future__ import annotations

from typing import Any

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.charts import BOTTOM, HIGH, TOP, Axes, Stroke, lines, tick
from verite.reporting.report.layout import count_of, each, name, number, overlap_at, plain, scroll, sentence, whole

SHOWN = tuple(range(5, 100, 10))  # steps in the table
ISO = (0.4, 0.6, 0.8)  # F1 of the lines in the empty half
FROC = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def show_operating(doc: dict[str, Any]) -> Markup | None:
    if not doc["truth"]["objects"]:
        return None
    return each(doc["systems"], [operating_of(doc, i) for i in range(len(doc["systems"]))])


def rates(steps: dict[str, Any], k: int) -> tuple[float, float, float]:
    """Precision, recall and F1 at a step; NaN where nothing is kept."""
    right, wrong, truths = steps["right"][k], steps["wrong"][k], steps["truths"]
    nan = float("nan")
    return (
        right / (right + wrong) if right + wrong else nan,
        right / truths if truths else nan,
        2 * right / (right + wrong + truths) if right + wrong + truths else nan,
    )


def operating_of(doc: dict[str, Any], i: int) -> Markup:
    system = doc["systems"][i]
    best, steps, total = system["best"], system["steps"], doc["truth"]["objects"]
    at = steps["steps"]
    told = [rates(steps, k) for k in range(len(at))]
    span = (at[0], at[-1]) if at[-1] > at[0] else (at[0], at[0] + 1)
    ticks = [span[0] + share * (span[1] - span[0]) for share in (0, 0.25, 0.5, 0.75, 1)]
    axes = Axes("confidence threshold", "share", x_range=span, x_ticks=ticks)
    x = axes.place(best["confidence"], 0)[0]
    cut = element("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=TOP, y2=HIGH - BOTTOM, class_="cut", data_cut=str(i))
    rates_chart = lines(
        axes,
        [
            Stroke(
                "precision",
                list(zip(at, (one[0] for one in told), strict=True)),
                "k",
                span[0] + 0.6 * (span[1] - span[0]),
            ),
            Stroke(
                "recall",
                list(zip(at, (one[1] for one in told), strict=True)),
                "g",
                span[0] + 0.02 * (span[1] - span[0]),
                True,
            ),
            Stroke(
                "F1", list(zip(at, (one[2] for one in told), strict=True)), "a", span[0] + 0.3 * (span[1] - span[0])
            ),
        ],
        f"Precision, recall and F1 of {plain(system['name'])} against confidence",
        cut,
        key=str(i),
    )
    slide = element("p", slider(i, system, "in the charts"), class_="slide js", hidden="")
    return join_elements(
        element("p", tell_point(system, total), class_="finding"),
        element("p", "The confidence with the highest F1 over all objects, chosen on these images.", class_="sub"),
        read_out(i, best, steps["images"]),
        element(
            "div",
            panel(
                "Precision, recall and F1 by confidence",
                f"All classes, at {overlap_at(doc, system['curves']['iou'])}.",
                rates_chart,
                slide,
            ),
            panel(
                "Precision against recall", "All objects together, at every confidence.", recall_chart(i, system, told)
            ),
            class_="two",
        ),
        element(
            "div",
            panel(
                "FROC: recall against false positives",
                "False positives per image, logarithmic scale.",
                froc_chart(system),
            ),
            element("div", scroll(f"Table of confidences, {plain(system['name'])}", threshold_table(system, told))),
            class_="two",
        ),
    )


def slider(i: int, system: dict[str, Any], where: str) -> Markup:
    """Render a slider for the confidence threshold; all sliders of a detector move together."""
    at = system["steps"]["steps"]
    about = f"Confidence threshold of {plain(system['name'])}, {where}"
    start = nearest(at, system["best"]["confidence"])
    moved = element(
        "input", type="range", min=0, max=len(at) - 1, step=1, value=start, class_="slider", data_system=i,
        aria_label=about,
    )  # fmt: skip
    choices = [
        element("button", word, type="button", class_="btn choice", data_system=i, value=k)
        for k, word in enumerate(system["choices"])
        if word
    ]
    return join_elements(moved, *choices)


def panel(title: str, about: str, *content: Markup) -> Markup:
    """A chart with its name and what is in it."""
    return element("div", element("h3", title), element("p", about), *content)


def nearest(steps: list[float], confidence: float) -> int:
    return min(range(len(steps)), key=lambda k: abs(steps[k] - confidence))


def tell_point(system: dict[str, Any], total: int) -> Markup:
    best = system["best"]
    if not best["right"]:
        return sentence(name(system["name"]), " detects no object at any confidence.")
    return sentence(
        f"At confidence ≥ {number(best['confidence'], 2)}, ",
        name(system["name"]),
        f" detects {best['right']:,} of {total:,} objects, with {count_of(best['wrong'], 'false positive')}.",
    )


def read_out(i: int, best: dict[str, Any], images: int) -> Markup:
    """Large figures that follow the slider."""
    per_image = best["wrong"] / images if images else float("nan")
    cells = [
        ("confidence", number(best["confidence"], 2)),
        ("precision", number(best["precision"])),
        ("recall", number(best["recall"])),
        ("f1", number(best["f1"])),
        ("true positives", whole(best["right"])),
        ("false positives", whole(best["wrong"])),
        ("missed (FN)", whole(best["missed"])),
        ("false positives per image", number(per_image, 2)),
    ]
    shown = {"f1": "F1"}
    return element(
        "dl",
        *(element("div", element("dd", value), element("dt", shown.get(word, word))) for word, value in cells),
        class_="read",
        data_read=i,
    )


def recall_chart(i: int, system: dict[str, Any], told: list[tuple[float, float, float]]) -> Markup:
    """Precision against recall, with lines of equal F1 in the empty half."""
    axes = Axes("recall", "precision")
    iso = []
    for f1 in ISO:
        first = f1 / (2 - f1)  # the recall at which precision is 1
        recalls = [first + (1 - first) * k / 40 for k in range(41)]
        iso.append(Stroke("", [(r, f1 * r / (2 * r - f1)) for r in recalls], "iso"))
    points = [(recall, precision) for precision, recall, _ in reversed(told) if precision == precision]
    best = system["best"]
    marks = []
    if best["right"]:
        x, y = axes.place(best["recall"], best["precision"])
        marks.append(element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5, class_="dot", data_dot=i))
    for f1 in ISO:
        x, y = axes.place(f1 / (2 - f1), 1)
        marks.append(
            element("text", f"F1 {tick(f1)}", x=f"{x:.1f}", y=f"{y - 5:.1f}", class_="f sm", text_anchor="middle")
        )
    return lines(axes, [*iso, Stroke("", points, "a")], f"Precision against recall of {plain(system['name'])}", *marks)


def froc_chart(system: dict[str, Any]) -> Markup:
    """Plot recall against false positives per image (FROC)."""
    steps = system["steps"]
    images, truths = max(steps["images"], 1), max(steps["truths"], 1)
    axes = Axes("false positives per image", "recall", x_range=(0.125, 8.0), x_ticks=FROC, is_log=True)
    seen = [(wrong / images, right / truths) for right, wrong in zip(steps["right"], steps["wrong"], strict=True)]
    points = sorted({(max(x, 0.125), y) for x, y in seen if x <= 8})
    best: dict[float, float] = {}
    for x, y in points:
        best[x] = max(y, best.get(x, 0.0))
    return lines(
        axes,
        [Stroke("", sorted(best.items()), "a")],
        f"Recall of {plain(system['name'])} against false positives per image",
    )


def threshold_table(system: dict[str, Any], told: list[tuple[float, float, float]]) -> Markup:
    steps = system["steps"]
    best = nearest(steps["steps"], system["best"]["confidence"])
    rows = []
    for k in SHOWN:
        precision, recall, f1 = told[k]
        cells = (number(precision), number(recall), number(f1), whole(steps["right"][k]), whole(steps["wrong"][k]))
        rows.append(
            element(
                "tr",
                element("th", number(steps["steps"][k], 2), scope="row"),
                *(element("td", cell) for cell in cells),
                **({"class_": "chosen"} if abs(k - best) <= 5 and k == min(SHOWN, key=lambda s: abs(s - best)) else {}),
            )
        )
    heads = ("confidence ≥", "precision", "recall", "F1", "TP", "FP")
    return element(
        "table",
        element("caption", "Selected confidences; the row nearest to the best F1 is marked."),
        element("thead", element("tr", *(element("th", word, scope="col") for word in heads))),
        element("tbody", *rows),
    )
