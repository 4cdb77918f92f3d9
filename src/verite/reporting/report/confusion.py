"""What is taken for what? A matrix that says where the accent lies and where it should."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.layout import (
    count_of,
    each,
    is_known,
    name,
    number,
    overlap_at,
    percent,
    plain,
    scroll,
    sentence,
)
from verite.reporting.report.operating import slider

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 40  # labels of a matrix; of more, those with most mistakes, the others summed
MANY = 14  # labels from which on cells are small
OTHERS = -2  # their place among labels
SHADES = (0.12, 0.3, 0.55, 0.8)
TEN = 10
SHADE = "Rows: ground truth; columns: predictions. Shade: share of the row."


def show_confusion(doc: dict[str, Any]) -> Markup | None:
    if not any(system.get("confusion") for system in doc["systems"]):
        return None
    return each(doc["systems"], [confusion_of(doc, i) for i in range(len(doc["systems"]))])


def confusion_of(doc: dict[str, Any], i: int) -> Markup:
    system = doc["systems"][i]
    told = system.get("confusion")
    if not told or not (labels := labels_of(doc, told)):
        return element("p", "No classes to compare.", class_="finding")
    count = len(labels)
    matrix = np.array(told["matrix"]) if "matrix" in told else fill_matrix(count, told["cells"])
    inner = matrix[:count, :count]
    off, missed, nothing = (int(n) for n in (inner.sum() - inner.trace(), matrix[:, count].sum(), matrix[count].sum()))
    floor = element("span", tell_floor(told), data_floor=i)
    return join_elements(
        element("p", tell(system, off, missed, nothing), class_="finding"),
        element("p", floor, f", at {overlap_at(doc, told['iou'])}. {SHADE}", class_="sub"),
        controls(i, system),
        element(
            "div",
            scroll(f"Matrix of classes, {plain(system['name'])}", table(doc, i, labels, matrix)),
            largest(told),
            class_="two wide" if count <= MANY else "stacked",
        ),
    )


def labels_of(doc: dict[str, Any], told: dict[str, Any]) -> list[str]:
    """Of rows and columns; of many, where they are among all."""
    return told["labels"] if "labels" in told else [doc["truth"]["labels"][k] for k in told["places"]]


def tell_floor(told: dict[str, Any]) -> str:
    at = told["confidence"]
    if isinstance(at, dict):
        return "At the confidence threshold of each class"
    return f"At confidence ≥ {number(at, 2)}" if is_known(at) else "All predictions"


def controls(i: int, system: dict[str, Any]) -> Markup:
    """The slider once more, and what cells say: counts, or shares of the truth or of the claims."""
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
    share = element("fieldset", element("legend", "Cells show", class_="hide"), *choices, class_="shares")
    return element("div", slider(i, system, "in the matrix"), share, class_="row js", hidden="")


def fill_matrix(count: int, cells: list[list[int]]) -> NDArray[Any]:
    """A matrix from the cells that are not 0; the last row is of nothing, the last column of the missed."""
    matrix = np.zeros((count + 1, count + 1), dtype=np.int64)
    if cells:
        truth, pred, many = np.array(cells).T
        matrix[truth, pred] = many
    return matrix


def tell(system: dict[str, Any], off: int, missed: int, nothing: int) -> Markup:
    who = name(system["name"])
    if not off:
        return sentence(who, " confuses no classes; ", count_of(missed, "object"), " missed.")
    word = "rarely" if off * 4 < missed + nothing else "often"
    return sentence(
        who,
        f" {word} confuses classes: {count_of(off, 'time')}. It misses {count_of(missed, 'object')} and has "
        f"{count_of(nothing, 'false positive')} on background.",
    )


def shrink(matrix: NDArray[Any]) -> tuple[list[int], NDArray[Any], int]:
    """The rows and columns with most mistakes, the others summed up; and how many these are."""
    count = len(matrix) - 1
    if count <= MOST:
        return list(range(count)), matrix, 0
    wrong = (matrix.sum(axis=0) + matrix.sum(axis=1) - 2 * matrix.diagonal())[:count]
    kept = np.sort(np.argsort(-wrong, kind="stable")[:MOST])
    group = np.full(count + 1, MOST)
    group[kept], group[count] = np.arange(MOST), MOST + 1
    small = np.zeros((MOST + 2, MOST + 2), dtype=np.int64)
    np.add.at(small, (group[:, None], group[None, :]), matrix)
    return kept.tolist(), small, count - MOST


def table(doc: dict[str, Any], i: int, labels: list[str], matrix: NDArray[Any]) -> Markup:
    kept, counts, rest = shrink(matrix)
    cells = counts.tolist()
    places = {label: k for k, label in enumerate(doc["truth"]["labels"])}
    words: list[Markup] = [name(labels[k]) for k in kept]
    if rest:
        words.append(name(f"other ({rest} classes)"))
    shown, down = len(words), counts.sum(axis=0).tolist()
    heads = [element("td"), *(element("th", word, scope="col") for word in words), element("td", class_="gap")]
    heads += [element("th", name("missed"), scope="col"), element("th", name("recall"), scope="col")]
    rows = []
    for a in range(shown):
        total = sum(cells[a])
        row = [element("th", words[a], scope="row")]
        row += [cell(cells[a][b], total, a == b, down[b]) for b in range(shown)]
        row += [element("td", class_="gap"), cell(cells[a][shown], total, False, 0)]
        row.append(element("td", percent(cells[a][a], total), class_="q plainly"))
        rows.append(element("tr", *row))
    total = sum(cells[shown])
    nothing = [element("th", name("background"), scope="row")]
    nothing += [cell(cells[shown][b], total, False, down[b]) for b in range(shown)]
    blank = [element("td", class_="gap") for _ in range(3)]
    rows.append(element("tr", *nothing, *blank))
    right = [element("th", name("precision"), scope="row")]
    right += [element("td", percent(cells[b][b], down[b]), class_="q plainly") for b in range(shown)]
    rows.append(element("tr", *right, *blank))
    about = "Counts; recall: diagonal as a share of its row; precision: diagonal as a share of its column."
    # For the script: which labels these are; the last row and column are of the others, where there are some.
    known = " ".join(str(place) for place in [*(places.get(labels[k], k) for k in kept), *([OTHERS] if rest else [])])
    return element(
        "table",
        element("caption", about, class_="hide"),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
        class_=f"mx{' many' if shown > MANY else ''}",
        data_matrix=i,
        data_labels=known,
    )


def cell(count: int, total: int, is_right: bool, claims: int) -> Markup:
    """A count, its shade by the root of its share; zeros are blank."""
    if not count:
        return element("td")
    share = sqrt(count / total) if total else 0.0
    level = 1 + sum(share >= limit for limit in SHADES)
    shade = f"h{level}" if is_right else f"o{min(level, 4)}"
    of = f"; {percent(count, claims)} of its column" if claims else ""
    return element("td", f"{count:,}", class_=shade, title=f"{percent(count, total)} of its row{of}")


def largest(told: dict[str, Any]) -> Markup:
    """The ten largest confusions as sentences."""
    pairs = told.get("pairs") or []
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
        for one in pairs[:TEN]
    ]
    return element(
        "div",
        element("h3", "Most frequent confusions"),
        element("p", "Share of the ground-truth objects, with 95\u00a0% confidence intervals."),
        element("ul", *items, class_="says"),
    )
