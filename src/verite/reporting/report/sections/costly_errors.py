"""Section "Errors with the highest cost": single false positives and missed objects as image crops.

The cost of an error is the gain in AP if only this error were fixed; these costs do not sum. Crops show ground truth
solid, hatched if it is missed, and the prediction dashed, so that outcomes never differ by colour alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from verite.analysis.errors import TYPES
from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.crops import draw_crop
from verite.reporting.report.document import Outline
from verite.reporting.report.layout import (
    column,
    count_of,
    finding,
    is_known,
    list_all,
    name,
    number,
    plain,
    scroll,
    sentence,
    table,
    td,
    th,
    whole,
)
from verite.reporting.report.section import DetectorSection, ReportInputs
from verite.reporting.report.sections.error_costs import swatch, type_name

if TYPE_CHECKING:
    from verite.reporting.draw import Overlay
    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.detector import EvaluatedDetector
    from verite.reporting.report.document import ReportDocument

MOST_CROPS = 24
MOST_SEARCHED = 400  # errors of the highest cost, of which at most two per class and error type are shown
MOST_ALIKE = 2


@dataclass(frozen=True)
class ErrorCrop:
    """One error: its type, classes and confidence, its cost in AP, and the outlines to draw.

    `alike` is how many errors of this type the class has in all; None where errors have no types.
    """

    KEYS: ClassVar[Mapping[str, str | None]] = {"truth_class": "truth_label", "pred_class": "label"}

    image: int
    error: str
    truth_class: str | None
    pred_class: str | None
    confidence: float | None
    iou: float | None
    cost: float | None
    truth: Outline
    pred: Outline
    window: list[float]
    alike: int | None = None

    def describe(self) -> Markup:
        """Return the error in a few words."""
        truth, pred = name(self.truth_class), name(self.pred_class)
        match self.error:
            case "missed":
                return sentence(truth, " missed")
            case "class" if self.truth_class is not None:
                return sentence(truth, " confused with ", pred)
            case "localization":
                return sentence(pred, " localized poorly")
            case "duplicate":
                return sentence("duplicate of ", pred)
            case "background":
                return sentence(pred, " on background")
            case "both" if self.truth_class is not None:
                return sentence(truth, " localized poorly and confused with ", pred)
        return sentence("false positive ", pred)


@dataclass(frozen=True)
class CostlyErrors:
    """Errors by falling cost in AP."""

    KEYS: ClassVar[Mapping[str, str | None]] = {"errors": "look"}

    errors: tuple[ErrorCrop, ...]


@dataclass(frozen=True)
class ListedError:
    """An error by its rows in predictions and ground truth, one of which may be None; cost in AP, None if unknown."""

    error: str  # its type
    pred: int | None
    truth: int | None
    cost: float | None = None
    iou: float | None = None


def build(inputs: ReportInputs, detector: EvaluatedDetector) -> CostlyErrors:
    """Return the errors with the highest cost in AP.

    Without an analysis, and by the protocol f1, errors have no cost of their own: then half of them are the false
    positives with the highest confidence, half the largest missed objects.
    """
    overlay, listed = detector.overlay, list[ListedError]()
    if detector.analysis is not None and detector.results.protocol != "f1":
        worst = detector.analysis.worst
        for row in worst.preds(MOST_SEARCHED):
            error = worst.pred_dict(int(row))
            listed.append(ListedError(error["error"], error["row"], error["truth"], error["cost"], error["iou"]))
        for row in worst.truths(MOST_SEARCHED):
            missed = worst.truth_dict(int(row))
            listed.append(ListedError(missed["error"], None, missed["row"], missed["cost"]))
        listed = sorted((one for one in listed if (one.cost or 0) > 0), key=lambda one: -(one.cost or 0))
        seen: Counter[tuple[str, int]] = Counter()
        spread = []
        for one in listed:
            kind = one.error, label_of(overlay, one)
            seen[kind] += 1
            spread += [one] if seen[kind] <= MOST_ALIKE else []
        # Few classes have few kinds of errors: then more of each are shown.
        listed = (spread if len(spread) >= MOST_CROPS // 2 else listed)[:MOST_CROPS]
        first = {(one.error, label_of(overlay, one)): -k for k, one in reversed(list(enumerate(listed)))}
        listed.sort(key=lambda one: -first[one.error, label_of(overlay, one)])  # errors alike stand together
    else:
        wrong = np.flatnonzero(detector.counts.type > 0)
        wrong = wrong[np.argsort(-overlay.confidences[wrong], kind="stable")][: MOST_CROPS // 2]
        rows = np.flatnonzero(overlay.matches.counted_truth & (overlay.matches.matched_pred < 0))
        sizes = overlay.truth.regions.sizes[rows]
        rows = rows[np.argsort(-(sizes[:, 2] * sizes[:, 3]), kind="stable")][: MOST_CROPS // 2]
        listed += [ListedError("wrong", int(row), None) for row in wrong]
        listed += [ListedError("missed", None, int(row)) for row in rows]
    return CostlyErrors(tuple(crop_of(detector, one) for one in listed[:MOST_CROPS]))


def crop_of(detector: EvaluatedDetector, listed: ListedError) -> ErrorCrop:
    """Return an error with what is needed to draw it."""
    overlay, pred, truth = detector.overlay, listed.pred, listed.truth
    image, truth_outline, pred_outline, window = detector.outlines(truth, pred)
    ours, theirs = (
        None if row is None else side.labels.all_names[side.label[row]]
        for side, row in ((overlay.truth, truth), (overlay.pred, pred))
    )
    confidence = None if pred is None else float(overlay.confidences[pred])
    outlines = truth_outline, pred_outline, window
    return ErrorCrop(
        image, listed.error, ours, theirs, confidence, listed.iou, listed.cost, *outlines, count_alike(detector, listed)
    )


def count_alike(detector: EvaluatedDetector, listed: ListedError) -> int | None:
    """Return how many errors are described as this one: of its type, its class, and the class it is confused with."""
    if detector.analysis is None or listed.error not in TYPES:
        return None
    types, overlay = detector.analysis.errors.types, detector.overlay
    truth_label, label = overlay.truth.label, label_of(overlay, listed)
    if listed.pred is None:
        return int((types.is_missed & (truth_label == label)).sum())
    is_alike = (types.kind == TYPES.index(listed.error)) & (overlay.pred.label == label)
    if listed.error == "class" and listed.truth is not None:
        is_alike &= (types.target >= 0) & (truth_label[types.target] == truth_label[listed.truth])
    return int(is_alike.sum())


def label_of(overlay: Overlay, listed: ListedError) -> int:
    """Return the class of an error: that of the prediction, or of the missed object."""
    return int(overlay.truth.label[listed.truth] if listed.pred is None else overlay.pred.label[listed.pred])


def render(document: ReportDocument, images: ReportImages, i: int, data: CostlyErrors) -> Markup:
    """Render the crops below a legend and the most frequent errors among them."""
    items = data.errors
    if not items:
        return finding("No errors.")
    has_cost = is_known(items[0].cost)
    about = "The false positives with the highest confidence and the largest missed objects."
    if has_cost:
        about = "The number is the cost in AP: the gain if only this error were fixed. These costs do not sum."
    described = Counter(item.describe() for item in items)
    frequent = dict(described.most_common(3))
    if has_cost:
        # Each kind once, the costliest first, and how often it occurs in all.
        frequent = {item.describe(): item.alike or 1 for item in reversed(items)}
        frequent = dict(list(reversed(frequent.items()))[:3])
    listed = [sentence(words, f" ({count_of(many, 'time')})" if many > 1 else "") for words, many in frequent.items()]
    spread = ", at most two per class and error type" if max(described.values()) <= MOST_ALIKE else ""
    lead = "The costliest single errors: " if has_cost else "Most frequent among them: "
    drawn = join_elements(
        legend(has_cost),
        element(
            "ol",
            *(element("li", render_error(document, images, item), data_open=f"{i} {item.image}") for item in items),
            class_="crops",
        ),
    )
    if images.mode == "none":
        # Render the errors of detector i as a table, where there are no images to show.
        rows = []
        for item in items:
            cells = [th(item.describe()), td(join_elements(swatch(item.error), type_name(item.error)), kind="l")]
            cells += [td(name(document.images.name(item.image), "nm img"), kind="l"), td(number(item.confidence, 2))]
            cells += [
                td(number(item.iou, 2)),
                td(whole(item.alike), kind="q"),
                *([td(number(item.cost, 4))] if has_cost else []),
            ]
            rows.append(element("tr", *cells, data_open=f"{i} {item.image}"))
        heads = [column("error", "l"), column("type", "l"), column("image", "l"), column("confidence")]
        heads += [column(document.words.overlap), column("such errors"), *([column("cost in AP")] if has_cost else [])]
        drawn = scroll(
            f"Table of errors, {plain(document.detectors[i].name)}",
            table("Errors with the highest cost.", heads, rows, is_captioned=False, class_="errors"),
        )
    return join_elements(
        finding(lead, list_all(listed), "."),
        element("p", f"{count_of(len(items), 'error')}{spread}. {about}", class_="sub"),
        drawn,
    )


def legend(has_cost: bool) -> Markup:
    """Render the legend of the outlines."""
    parts = []
    for word, kind, fill in (
        ("ground truth", "tru", {}),
        ("missed (FN)", "tru", {"fill": "url(#hatch-3)"}),
        ("prediction", "prd", {}),
    ):
        box = element("path", d="M2 2H24V12H2Z", class_=f"k{kind}", **fill)
        parts.append(element("span", element("svg", box, width=26, height=14, aria_hidden="true"), word))
    return element("p", *parts, *([element("span", "number: cost in AP")] if has_cost else []), class_="key")


def render_error(document: ReportDocument, images: ReportImages, item: ErrorCrop) -> Markup:
    """Render one crop with its description, error type, cost, image and confidence."""
    where = document.images.name(item.image)
    details = []
    if is_known(item.confidence):
        details.append(f"conf {number(item.confidence, 2)}")
    if is_known(item.iou) and item.iou > 0:
        details.append(f"{document.words.overlap} {number(item.iou, 2)}")
    cost = [element("i", number(item.cost, 4))] if is_known(item.cost) else []
    kind, outlines = type_name(item.error), (item.truth, item.pred)
    about, is_missed = f"{plain(where)}: {kind}", item.error == "missed"
    return join_elements(
        draw_crop(document, images, item.image, item.window, outlines, about, is_missed=is_missed),
        element("p", element("b", item.describe()), class_="what"),
        element("p", swatch(item.error), kind, *cost, class_="c"),
        element("p", element("small", name(where, "nm img"), element("br"), ", ".join(details))),
    )


SECTION = DetectorSection(
    id="look",
    title="Errors with the highest cost",
    place=40,
    wanted=lambda document: any(one.errors for one in document.sections["look"]),
    build=build,
    render=render,
    images_of=lambda data: (item.image for item in data.errors),
)
