"""Section "Every class": the first score of every class and detector, where there are too many for all numbers.

Large vocabularies such as LVIS with 1,203 classes would make the table of classes too long: it then lists the worst
classes, and this section one score of every class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from verite.model.styles import Markup, element, join_elements
from verite.model.tables import Table
from verite.reporting.report.layout import is_known, plain, plain_table, scroll
from verite.reporting.report.section import ReportInputs, Section
from verite.reporting.report.sections.classes import rows_per_detector

if TYPE_CHECKING:
    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.document import ReportDocument


@dataclass(frozen=True)
class ClassScores:
    """One score of every class and detector: scores[class][detector]."""

    score: str
    labels: list[str]
    scores: list[list[float | None]]


@dataclass(frozen=True)
class EveryClass:
    """Data of the section; None where the table of classes lists every class."""

    classes: ClassScores | None


def build(inputs: ReportInputs) -> EveryClass:
    """Return the first score of every class that has one."""
    results = [one.results for one in inputs.detectors]
    if len(results[0].class_table().rows) <= rows_per_detector(inputs):
        return EveryClass(None)
    key = next(iter(results[0].scores))
    scores = [dict(zip(one.class_names, one.class_scores()[key], strict=True)) for one in results]
    labels = [label for label in scores[0] if any(is_known(one.get(label)) for one in scores)]
    values = [[None if (v := one.get(label)) is None else round(v, 6) for one in scores] for label in labels]
    return EveryClass(ClassScores(key, labels, values))


def render(document: ReportDocument, images: ReportImages, data: EveryClass) -> Markup:
    """Render the table, with a filter."""
    assert data.classes is not None
    head = ("class", *(plain(one.name, 24) for one in document.detectors))
    rows = tuple((label, *row) for label, row in zip(data.classes.labels, data.classes.scores, strict=True))
    caption = f"{data.classes.score} of every class."
    box = element("input", type="search", class_="filter", data_rows="#classes-all tbody tr")
    return join_elements(
        element("p", element("label", "Filter all classes ", box), class_="row js", hidden=""),
        scroll("Table of every class", plain_table(Table(head, rows), caption, ["l"], id="classes-all"), kind="tall"),
    )


SECTION = Section(
    id="every-class",
    title="Every class",
    place=55,
    wanted=lambda document: document.sections["every-class"].classes is not None,
    build=build,
    render=render,
)
