"""Section "Confusion matrix": ground truth by row, predictions by column, with missed objects and background.

The matrix is the analysis' own: at one confidence threshold, true positives keep their object, then the other
predictions are matched by falling confidence to unmatched objects of another class with sufficient IoU. Objects without
a prediction are in the column "missed", predictions without an object in the row "background". The script recomputes
the cells from `confidence_counts.confusion_by_threshold` when the slider moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.confusion import Confusion
from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.document import Json, Quoted
from verite.reporting.report.layout import (
    column,
    count_of,
    finding,
    is_known,
    name,
    number,
    percent,
    plain,
    scroll,
    table,
    td,
    th,
)
from verite.reporting.report.section import DetectorSection, ReportInputs
from verite.reporting.report.sections.operating import slider

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.detector import EvaluatedDetector
    from verite.reporting.report.document import ReportDocument

MOST_SHOWN = 40  # classes of a matrix; of more, those with most confusions, the others summed
MOST_STORED = 100  # classes of a matrix that is stored whole; of a larger one, the cells that are not 0
SMALL_CELLS = 14  # classes beyond which cells are small
OTHERS = -2  # the script's number of the summed classes
SHADES = (0.12, 0.3, 0.55, 0.8)
MOST_PAIRS = 10


@dataclass(frozen=True, kw_only=True)
class ConfusionMatrix(Quoted):
    """The confusion matrix at one confidence threshold.

    Attributes
    ----------
    labels
        Classes of rows and columns.
    matrix
        [ground truth, prediction]; the last column is missed, the last row background.
    confidence
        The threshold, or one per class.
    iou
        IoU threshold of a match.
    pairs
        The most frequent confusions, as the analysis writes them.
    """

    labels: list[str]
    matrix: NDArray[np.int64]
    confidence: float | Mapping[str, float] | None
    iou: float
    pairs: list[Json]  # the most frequent confusions


@dataclass(frozen=True)
class ConfusionData:
    """Data of the section for one detector; None without a confusion matrix."""

    confusion: ConfusionMatrix | None = None


def build(inputs: ReportInputs, detector: EvaluatedDetector) -> ConfusionData:
    """Return the analysis' own confusion matrix of all classes that have objects or predictions at any confidence."""
    analysis = detector.analysis
    if analysis is None or "confusion" not in analysis.parts:
        return ConfusionData()
    confusion = Confusion(analysis.matches, detector.counts.confidence, analysis.settings.matching)
    matches = confusion.matches
    used = np.flatnonzero(matches.truth_counts + matches.count_classes(matches.pred_label[matches.counted_pred]))
    matrix, labels = confusion.count_among(used), [matches.names[k] for k in used]
    json = {key: value for key, value in confusion.to_dict().items() if key != "signature"}
    json |= {"labels": labels, "pairs": json["pairs"][:MOST_PAIRS], "matrix": matrix.tolist()}
    if len(used) > MOST_STORED:
        del json["matrix"], json["labels"]
        json["places"] = used.tolist()  # positions among the classes of the report
        json["cells"] = [[int(a), int(b), int(matrix[a, b])] for a, b in np.argwhere(matrix)]
    return ConfusionData(
        ConfusionMatrix(
            labels=labels, matrix=matrix, confidence=json["confidence"], iou=json["iou"], pairs=json["pairs"], json=json
        )
    )


def render(document: ReportDocument, images: ReportImages, i: int, data: ConfusionData) -> Markup:
    """Render the matrix with a slider and a choice of shares, and the most frequent confusions."""
    one, confusion = document.detectors[i], data.confusion
    if confusion is None or not (count := len(confusion.labels)):
        return finding("No classes to compare.")
    inner = confusion.matrix[:count, :count]
    off, missed = int(inner.sum() - inner.trace()), int(confusion.matrix[:, count].sum())
    background, at = int(confusion.matrix[count].sum()), confusion.confidence
    threshold = (
        f"At confidence ≥ {number(at, 2)}" if not isinstance(at, Mapping) and is_known(at) else "All predictions"
    )
    if isinstance(at, Mapping):
        threshold = "At the confidence threshold of each class"
    result = [name(one.name), " confuses no classes; ", count_of(missed, "object"), " missed."]
    if off:
        word = "rarely" if off * 4 < missed + background else "often"
        confuses = f" {word} confuses classes: {count_of(off, 'time')}. It misses {count_of(missed, 'object')} and has "
        result = [name(one.name), confuses, f"{count_of(background, 'false positive')} on background."]
    shade = "Rows: ground truth; columns: predictions. Shade: share of the row."
    at_iou = f", at {document.words.at(confusion.iou)}. {shade}"
    choices = [
        element(
            "label",
            element("input", type="radio", name=f"share-{i}", value=value, **({"checked": ""} if not value else {})),
            word,
        )
        for value, word in (
            ("", "counts"),
            ("row", "share of the ground truth"),
            ("column", "share of the predictions"),
        )
    ]
    shares = element("fieldset", element("legend", "Cells show", class_="hide"), *choices, class_="shares")
    drawn = scroll(f"Matrix of classes, {plain(one.name)}", render_matrix(document, i, confusion))
    kind = "two wide" if count <= SMALL_CELLS else "stacked"
    return join_elements(
        finding(*result),
        element("p", element("span", threshold, data_floor=i), at_iou, class_="sub"),
        element("div", slider(i, one, "in the matrix"), shares, class_="row js", hidden=""),
        element("div", drawn, frequent_confusions(confusion.pairs), class_=kind),
    )


def sum_others(matrix: NDArray[Any]) -> tuple[list[int], NDArray[Any], int]:
    """Return the classes with most confusions, their matrix with the others summed, and how many others there are."""
    count = len(matrix) - 1
    if count <= MOST_SHOWN:
        return list(range(count)), matrix, 0
    wrong = (matrix.sum(axis=0) + matrix.sum(axis=1) - 2 * matrix.diagonal())[:count]
    kept = np.sort(np.argsort(-wrong, kind="stable")[:MOST_SHOWN])
    group = np.full(count + 1, MOST_SHOWN)
    group[kept], group[count] = np.arange(MOST_SHOWN), MOST_SHOWN + 1
    small = np.zeros((MOST_SHOWN + 2, MOST_SHOWN + 2), dtype=np.int64)
    np.add.at(small, (group[:, None], group[None, :]), matrix)
    return kept.tolist(), small, count - MOST_SHOWN


def render_matrix(document: ReportDocument, i: int, confusion: ConfusionMatrix) -> Markup:
    """Render the matrix with recall of each row and precision of each column.

    Of very many classes those with the most confusions are shown and the others summed. The script updates the cells
    when the slider moves, and a cell opens its objects.
    """
    kept, counts, rest = sum_others(confusion.matrix)
    cells, labels = counts.tolist(), confusion.labels
    words: list[Markup] = [name(labels[k]) for k in kept]
    if rest:
        words.append(name(f"other ({rest} classes)"))
    shown, down = len(words), counts.sum(axis=0).tolist()
    heads = [element("td"), *(column(word) for word in words), td(kind="gap")]
    heads += [column(name("missed")), column(name("recall"))]
    rows = []
    for a in range(shown):
        total = sum(cells[a])
        row = [th(words[a]), *(matrix_cell(cells[a][b], total, a == b, down[b]) for b in range(shown))]
        row += [td(kind="gap"), matrix_cell(cells[a][shown], total, False, 0)]
        rows.append(element("tr", *row, td(percent(cells[a][a], total), kind="q plainly")))
    total, blank = sum(cells[shown]), [td(kind="gap") for _ in range(3)]
    background = [matrix_cell(cells[shown][b], total, False, down[b]) for b in range(shown)]
    rows.append(element("tr", th(name("background")), *background, *blank))
    precision = [td(percent(cells[b][b], down[b]), kind="q plainly") for b in range(shown)]
    rows.append(element("tr", th(name("precision")), *precision, *blank))
    # For the script: which classes the rows are; the last one is the sum of the others, where there are some.
    places = {label: k for k, label in enumerate(document.truth.class_names)}
    known = " ".join(str(place) for place in [*(places.get(labels[k], k) for k in kept), *([OTHERS] if rest else [])])
    return table(
        "Counts; recall: diagonal as a share of its row; precision: diagonal as a share of its column.",
        heads,
        rows,
        is_captioned=False,
        class_=f"mx{' many' if shown > SMALL_CELLS else ''}",
        data_matrix=i,
        data_labels=known,
    )


def matrix_cell(count: int, row: int, is_diagonal: bool, column: int) -> Markup:
    """Render a count, shaded by the root of its share of the `row` sum; zeros are blank."""
    if not count:
        return element("td")
    share = sqrt(count / row) if row else 0.0
    level = 1 + sum(share >= limit for limit in SHADES)
    shade = f"h{level}" if is_diagonal else f"o{min(level, 4)}"
    of_column = f"; {percent(count, column)} of its column" if column else ""
    return element("td", f"{count:,}", class_=shade, title=f"{percent(count, row)} of its row{of_column}")


def frequent_confusions(pairs: list[Json]) -> Markup:
    """Render the most frequent confusions with confidence intervals."""
    if not pairs:
        return Markup()
    items = [
        element(
            "li",
            element(
                "span",
                f"{one['count']:,} of {one['truths']:,} ",
                name(one["truth"]),
                " confused with ",
                name(one["pred"]),
            ),
            element("span", f"{percent(one['low'], 1)} to {percent(one['high'], 1)}", class_="q"),
        )
        for one in pairs
    ]
    return element(
        "div",
        element("h3", "Most frequent confusions"),
        element("p", "Share of the ground-truth objects, with 95\u00a0% confidence intervals."),
        element("ul", *items, class_="says"),
    )


SECTION = DetectorSection(
    id="confusion",
    title="Confusion matrix",
    place=70,
    wanted=lambda document: any(one.confusion for one in document.sections["confusion"]),
    build=build,
    render=render,
)
