"""Section "Confusion matrix": ground truth by row, predictions by column, with missed objects and background.

The matrix is the analysis' own: at one confidence threshold, true positives keep their object, then the other
predictions are matched by falling confidence to unmatched objects of another class with sufficient IoU. Objects without
a prediction are in the column "missed", predictions without an object in the row "background". The script recomputes
the cells from `confidence_counts.confusion_by_threshold` when the slider moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.model.styles import Markup, element, join_elements
from verite.plotting import shorten_apart
from verite.reporting.report.document import Json, Quoted
from verite.reporting.report.layout import (
    column,
    count_of,
    detector_name,
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

MOST_SHOWN = 100  # classes of a matrix; of more, those with most confusions, the others summed
MOST_STORED = 100  # classes of a matrix that is stored whole; of a larger one, the cells that are not 0
SMALL_CELLS = 14  # classes beyond which cells are small
OTHERS = -2  # the script's number of the summed classes
SHADES = (0.12, 0.3, 0.55, 0.8)
JOINED = 0.1  # share of the largest rate of confusion from which classes form a block
MOST_PAIRS = 10


@dataclass(frozen=True, kw_only=True)
class ConfusionMatrix(Quoted):
    """The confusion matrix at one confidence threshold.

    Attributes
    ----------
    labels
        Classes of rows and columns.
    matrix
        [ground truth, prediction]; the last column is missed, the last row background. None for very many classes.
    totals
        How many predictions are of a wrong class, how many objects are missed, how many predictions lie on background.
    confidence
        The threshold, or one per class.
    iou
        IoU threshold of a match.
    pairs
        The most frequent confusions, as the analysis writes them.
    order, blocks
        Positions of the classes such that those that are often confused lie side by side, and the sizes of the blocks
        that they form; the same for every detector.
    """

    labels: list[str]
    matrix: NDArray[np.int64] | None
    totals: tuple[int, int, int]
    confidence: float | Mapping[str, float] | None
    iou: float
    pairs: list[Json]  # the most frequent confusions
    order: list[int]  # of the classes: those that are often confused lie side by side
    blocks: list[int]  # number of classes of each block of that order


@dataclass(frozen=True)
class ConfusionData:
    """Data of the section for one detector; None without a confusion matrix."""

    confusion: ConfusionMatrix | None = None


def build(inputs: ReportInputs, detector: EvaluatedDetector) -> ConfusionData:
    """Return the analysis' own confusion matrix of all classes that have objects or predictions at any confidence."""
    if detector.confusion is None:
        return ConfusionData()
    confusion, used, matrix = detector.confusion
    labels = [confusion.matches.names[k] for k in used]
    json = {key: value for key, value in confusion.to_dict().items() if key != "signature"}
    rows, columns, counts = confusion.count_cells(used)
    json |= {"labels": labels, "pairs": json["pairs"][:MOST_PAIRS]}
    if len(used) > MOST_STORED or matrix is None:
        del json["matrix"], json["labels"]
        json["places"] = used.tolist()  # positions among the classes of the report
        json["cells"] = np.stack([rows, columns, counts], axis=1).tolist()
    else:
        json["matrix"] = matrix.tolist()
    is_missed, is_background = columns == len(used), rows == len(used)
    totals = (
        int(counts[(rows != columns) & ~is_missed & ~is_background].sum()),
        int(counts[is_missed].sum()),
        int(counts[is_background].sum()),
    )
    order, blocks = list(range(len(labels))), []
    leader = inputs.detectors[0].confusion or detector.confusion
    if SMALL_CELLS < len(labels) <= MOST_SHOWN >= len(leader[1]) and leader[2] is not None:
        # One order for all detectors, that of the best one; classes that it does not have come last.
        theirs, sizes = block_order(leader[2])
        places = {leader[0].matches.names[k]: n for n, k in enumerate(leader[1][theirs])}
        block = np.repeat(np.arange(len(sizes)), sizes)
        order.sort(key=lambda k: places.get(labels[k], len(places) + k))
        mine = [int(block[places[labels[k]]]) if labels[k] in places else len(sizes) + k for k in order]
        blocks = [len(list(group)) for _, group in groupby(mine)]
    return ConfusionData(
        ConfusionMatrix(
            labels=labels, matrix=matrix, totals=totals, confidence=json["confidence"], iou=json["iou"],
            pairs=json["pairs"], json=json, order=order, blocks=blocks,
        )
    )  # fmt: skip


def block_order(matrix: NDArray[Any]) -> tuple[list[int], list[int]]:
    """Order classes so that those that are often confused lie side by side (average linkage), and cut the blocks.

    Parameters
    ----------
    matrix
        Confusion matrix whose last row and column are background and missed.

    Returns
    -------
    tuple
        Positions of the classes, and the number of classes in each block; a block joins classes whose mean rate of
        confusion is at least a tenth of the largest one.

    Examples
    --------
    >>> matrix = np.array([[9, 0, 3, 0], [0, 9, 0, 1], [2, 0, 9, 1], [0, 0, 1, 0]])
    >>> block_order(matrix)
    ([0, 2, 1], [2, 1])
    """
    count = len(matrix) - 1
    inner = matrix[:count, :count].astype(np.float64)
    sizes = np.maximum(matrix.sum(axis=1)[:count], 1.0)
    rates = inner / sizes[:, None] + inner.T / sizes[None, :]
    np.fill_diagonal(rates, -1.0)
    groups: list[list[int]] = [[k] for k in range(count)]
    rates, top, blocks = rates.copy(), float(rates.max(initial=0.0)), None
    while len(groups) > 1:
        a, b = sorted(divmod(int(np.argmax(rates)), len(groups)))
        if blocks is None and rates[a, b] < JOINED * top:
            blocks = [list(group) for group in groups]
        weights = len(groups[a]), len(groups[b])
        rates[a] = (weights[0] * rates[a] + weights[1] * rates[b]) / sum(weights)
        rates[:, a] = rates[a]
        rates[a, a] = -1.0
        rates = np.delete(np.delete(rates, b, axis=0), b, axis=1)
        groups[a] += groups.pop(b)
    order = groups[0] if groups else []
    sizes_of = {group[0]: len(group) for group in blocks or [order]} if order else {}
    return order, [sizes_of[label] for label in order if label in sizes_of]


def render(document: ReportDocument, images: ReportImages, i: int, data: ConfusionData) -> Markup:
    """Render the matrix with a slider and a choice of shares, and the most frequent confusions."""
    one, confusion = document.detectors[i], data.confusion
    if confusion is None or not (count := len(confusion.labels)):
        return finding("No classes to compare.")
    (off, missed, background), at = confusion.totals, confusion.confidence
    threshold = "All predictions"
    if isinstance(at, Mapping):
        threshold = "At the confidence threshold of each class"
    elif is_known(at) and not one.steps.is_constant:
        threshold = f"At confidence ≥ {number(at, 2)}"
    result = [detector_name(one.name), " confuses no classes; ", count_of(missed, "object"), " missed."]
    if off:
        word = "rarely" if off * 4 < missed + background else "often"
        confuses = f" {word} confuses classes: {count_of(off, 'time')}. It misses {count_of(missed, 'object')} and has "
        result = [detector_name(one.name), confuses, f"{count_of(background, 'false positive')} on background."]
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
            ("row", "normalised by row (recall)"),
            ("column", "normalised by column (precision)"),
        )
    ]
    shares = element("fieldset", element("legend", "Cells show", class_="hide"), *choices, class_="shares")
    moved = Markup() if one.steps.is_constant else slider(i, one, "in the matrix")
    if confusion.matrix is None:
        shade = f"The matrix of {count:,} classes is not shown."
        at_iou = f", at {document.words.at(confusion.iou)}. {shade}"
        control, content = Markup(), element("div", frequent_confusions(i, confusion.pairs), class_="full")
    elif count <= SMALL_CELLS:
        matrix = render_matrix(document, i, confusion, confusion.matrix)
        drawn = scroll(f"Matrix of classes, {plain(one.name)}", matrix)
        control = element("div", moved, shares, class_="row js", hidden="")
        content = element("div", drawn, frequent_confusions(i, confusion.pairs), class_="two wide")
    else:
        control = element("div", moved, class_="row js", hidden="")
        content = element(
            "div",
            frequent_confusions(i, confusion.pairs),
            heat_map(document, i, confusion, confusion.matrix),
            class_="full",
        )
    return join_elements(
        finding(*result),
        element("p", element("span", threshold, data_floor=i), at_iou, class_="sub"),
        control,
        content,
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


def render_matrix(document: ReportDocument, i: int, confusion: ConfusionMatrix, matrix: NDArray[np.int64]) -> Markup:
    """Render the matrix with recall of each row and precision of each column.

    Of very many classes those with the most confusions are shown and the others summed. The script updates the cells
    when the slider moves, and a cell opens its objects.
    """
    kept, counts, rest = sum_others(matrix)
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


def heat_map(document: ReportDocument, i: int, confusion: ConfusionMatrix, matrix: NDArray[np.int64]) -> Markup:
    """Render the matrix of many classes as a heat map without figures, classes that are often confused side by side.

    The script names the cell that is pointed at, moves by arrow keys, and opens the objects of a cell.
    """
    kept, counts, rest = sum_others(matrix[np.ix_(*[[*confusion.order, len(confusion.labels)]] * 2)])
    chosen = [confusion.order[k] for k in kept]
    words = shorten_apart([plain(confusion.labels[k]) for k in chosen], 18) + ([f"other ({rest})"] if rest else [])
    shown, places = len(words), {label: k for k, label in enumerate(document.truth.class_names)}
    known = [*(places.get(confusion.labels[k], k) for k in chosen), *([OTHERS] if rest else [])]
    cells, across = [], counts.sum(axis=1).tolist()
    for a, b in np.argwhere(counts).tolist():
        place = {"x": b + (b == shown), "y": a + (a == shown), "width": 1, "height": 1}
        cells.append(element("rect", **place, class_=shade(int(counts[a, b]), across[a], a == b)))
    names, edge = [], shown + 2
    for k, word in [*enumerate(words), (shown + 1, "background")]:
        names.append(element("text", word, x="-0.4", y=f"{k + 0.75:g}", text_anchor="end"))
    for k, word in [*enumerate(words), (shown + 1, "missed")]:
        names.append(element("text", word, x=0, y=0, transform=f"translate({k + 0.75} -0.4) rotate(-90)"))
    blocks, at = [], 0
    for size in confusion.blocks:
        if size > 1:
            blocks.append(element("rect", x=at, y=at, width=size, height=size, class_="block"))
        at += size
    about = f"Confusion matrix of {shown} classes, as a heat map"
    drawn = element(
        "svg",
        element("rect", x=0, y=0, width=shown, height=shown, class_="ground"),
        element("rect", x=shown + 1, y=0, width=1, height=shown, class_="ground"),
        element("rect", x=0, y=shown + 1, width=shown, height=1, class_="ground"),
        element("g", *cells, class_="cells"),
        *blocks,
        element("rect", x=-2, y=-2, width=1, height=1, class_="at"),
        element("g", *names, class_="names"),
        viewBox=f"-9 -9 {edge + 9} {edge + 9}",
        class_="heat",
        data_matrix=i,
        data_labels=" ".join(map(str, known)),
        role="img",
        aria_label=about,
    )
    title = "All classes" if not rest else f"The {len(kept)} classes with the most confusions"
    note = "Rows: ground truth; columns: predictions. Frames: classes that are often confused with each other."
    return element(
        "div",
        element("h3", title),
        element("p", note),
        element("p", class_="readout js", data_heat=i, hidden="", aria_live="polite"),
        element("button", "Enlarge", type="button", class_="btn enlarge js", hidden="", aria_pressed="false"),
        element("div", drawn, class_="map"),
    )


def shade(count: int, row: int, is_diagonal: bool) -> str:
    """Return the class of a cell's colour, by the root of its share of the `row` sum."""
    share = sqrt(count / row) if row else 0.0
    level = 1 + sum(share >= limit for limit in SHADES)
    return f"h{level}" if is_diagonal else f"o{min(level, 4)}"


def matrix_cell(count: int, row: int, is_diagonal: bool, column: int) -> Markup:
    """Render a count, shaded by the root of its share of the `row` sum; zeros are blank."""
    if not count:
        return element("td")
    of_column = f"; {percent(count, column)} of its column" if column else ""
    kind = shade(count, row, is_diagonal)
    return element("td", f"{count:,}", class_=kind, title=f"{percent(count, row)} of its row{of_column}")


def frequent_confusions(i: int, pairs: list[Json]) -> Markup:
    """Render the most frequent confusions with confidence intervals; the script adds crops of their objects."""
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
            " ",
            element("span", f"[{percent(one['low'], 1)} to {percent(one['high'], 1)}]", class_="q"),
        )
        for one in pairs
    ]
    return element(
        "div",
        element("h3", "Most frequent confusions"),
        element("p", "Ground-truth objects of the first class; 95\u00a0% confidence intervals of their share."),
        element("ol", *items, class_="says", data_ranked=i),
    )


SECTION = DetectorSection(
    id="confusion",
    title="Confusion matrix",
    place=70,
    wanted=lambda document: any(one.confusion for one in document.sections["confusion"]),
    build=build,
    render=render,
)
