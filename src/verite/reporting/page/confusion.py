"""What is taken for what? A matrix that says where the accent lies and where it should."""

from __future__ import annotations

from math import sqrt
from typing import Any

from verite.model.elements import Markup, element, join_elements
from verite.reporting.page.frame import each, scroll
from verite.reporting.page.words import count_of, name, number, percent, plain, sentence

MOST = 40  # labels of a matrix; of more, those with most mistakes, the others summed
MANY = 14  # labels from which on cells are small
SHADES = (0.12, 0.3, 0.55, 0.8)
TEN = 10
SHADE = "Rows: the truth; columns: what is said. Shade: share of the row."


def show_confusion(doc: dict[str, Any]) -> Markup | None:
    if not any(system.get("confusion") for system in doc["systems"]):
        return None
    return each(doc["systems"], [confusion_of(doc, i) for i in range(len(doc["systems"]))])


def confusion_of(doc: dict[str, Any], i: int) -> Markup:
    system = doc["systems"][i]
    told = system.get("confusion")
    if not told or not told["labels"]:
        return element("p", "No classes to confuse.", class_="finding")
    labels, count = told["labels"], len(told["labels"])
    matrix = told["matrix"] if "matrix" in told else fill_matrix(count, told["cells"])
    off = sum(matrix[a][b] for a in range(count) for b in range(count) if a != b)
    missed, nothing = sum(row[count] for row in matrix[:count]), sum(matrix[count][:count])
    return join_elements(
        element("p", tell(system, off, missed, nothing), class_="finding"),
        element(
            "p", f"From confidence {number(told['confidence'], 2)} on, at IoU {told['iou']:g}. {SHADE}", class_="sub"
        ),
        element(
            "div",
            scroll(f"Matrix of classes, {plain(system['name'])}", table(doc, i, labels, matrix)),
            largest(told),
            class_="two wide" if count <= MANY else "stacked",
        ),
    )


def fill_matrix(count: int, cells: list[list[int]]) -> list[list[int]]:
    """A matrix from the cells that are not 0; the last row is of nothing, the last column of the missed."""
    matrix = [[0] * (count + 1) for _ in range(count + 1)]
    for a, b, value in cells:
        matrix[a][b] = value
    return matrix


def tell(system: dict[str, Any], off: int, missed: int, nothing: int) -> Markup:
    who = name(system["name"])
    if not off:
        return sentence(who, " never takes one class for another; ", count_of(missed, "object"), " missed.")
    word = "seldom" if off * 4 < missed + nothing else "often"
    return sentence(
        who,
        f" {word} mixes classes up: {count_of(off, 'time')}. It overlooks {count_of(missed, 'object')} and sees "
        f"{nothing:,} where nothing is.",
    )


def shrink(labels: list[str], matrix: list[list[int]]) -> tuple[list[int], list[list[int]], list[int]]:
    """The rows and columns with most mistakes, the others summed up; and how many labels each stands for."""
    count = len(labels)
    if count <= MOST:
        return list(range(count)), matrix, []
    wrong = [sum(matrix[k]) + sum(row[k] for row in matrix) - 2 * matrix[k][k] for k in range(count)]
    kept = sorted(sorted(range(count), key=lambda k: -wrong[k])[:MOST])
    rest = [k for k in range(count) if k not in set(kept)]
    groups = [*([k] for k in kept), rest, [count]]
    small = [[sum(matrix[a][b] for a in rows for b in columns) for columns in groups] for rows in groups]
    return kept, small, rest


def table(doc: dict[str, Any], i: int, labels: list[str], matrix: list[list[int]]) -> Markup:
    kept, cells, rest = shrink(labels, matrix)
    places = {label: k for k, label in enumerate(doc["truth"]["labels"])}
    at = [places.get(labels[k], -2) for k in kept]
    words: list[Markup] = [name(labels[k]) for k in kept]
    if rest:
        words.append(name(f"other ({len(rest)} labels)"))
        at.append(-2)
    shown = len(words)
    heads = [element("td"), *(element("th", word, scope="col") for word in words), element("td", class_="gap")]
    heads += [element("th", name("missed"), scope="col"), element("th", name("found"), scope="col")]
    rows = []
    for a in range(shown):
        total = sum(cells[a])
        row = [element("th", words[a], scope="row")]
        row += [
            cell(cells[a][b], total, a == b, f"{i}.{at[a]}.{at[b]}", sum(line[b] for line in cells))
            for b in range(shown)
        ]
        row += [element("td", class_="gap"), cell(cells[a][shown], total, False, f"{i}.{at[a]}.-1", 0)]
        row.append(element("td", percent(cells[a][a], total), class_="q plainly"))
        rows.append(element("tr", *row))
    nothing = [element("th", name("nothing there"), scope="row")]
    total = sum(cells[shown])
    nothing += [cell(cells[shown][b], total, False, f"{i}.-1.{at[b]}", 0) for b in range(shown)]
    rows.append(
        element("tr", *nothing, element("td", class_="gap"), element("td", class_="gap"), element("td", class_="gap"))
    )
    sums = [sum(line[b] for line in cells) for b in range(shown)]
    right = [element("th", name("right"), scope="row")]
    right += [element("td", percent(cells[b][b], sums[b]), class_="q plainly") for b in range(shown)]
    rows.append(element("tr", *right, *(element("td", class_="gap") for _ in range(3))))
    many = " many" if shown > MANY else ""
    return element(
        "table",
        element(
            "caption",
            "Counts; found: share of the row that is right; right: share of the column that is.",
            class_="hide",
        ),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
        class_=f"mx{many}",
    )


def cell(count: int, total: int, is_right: bool, where: str, claims: int) -> Markup:
    """A count, its shade by the root of its share; zeros are blank."""
    if not count:
        return element("td")
    share = sqrt(count / total) if total else 0.0
    level = 1 + sum(share >= limit for limit in SHADES)
    shade = f"h{level}" if is_right else f"o{min(level, 4)}"
    of = f"; {percent(count, claims)} of its column" if claims else ""
    opens: dict[str, str | int] = {} if "-2" in where else {"data_cell": where}
    return element("td", f"{count:,}", class_=shade, title=f"{percent(count, total)} of its row{of}", **opens)


def largest(told: dict[str, Any]) -> Markup:
    """The ten largest confusions as sentences."""
    pairs = told.get("pairs") or []
    if not pairs:
        return Markup()
    items = [
        element(
            "li",
            element(
                "span", f"{one['count']:,} of {one['truths']:,} ", name(one["truth"]), " taken for ", name(one["pred"])
            ),
            element("span", f"{percent(one['low'], 1)} to {percent(one['high'], 1)}", class_="q"),
        )
        for one in pairs[:TEN]
    ]
    return element(
        "div",
        element("h3", "The largest"),
        element("p", "With 95\u00a0% intervals."),
        element("ul", *items, class_="says"),
    )
