"""Section "Slices": recall on subsets of objects and images by size, position, crowding and metadata.

Each property divides the objects into bins; the recall of a bin is compared with that of all objects. The properties
follow each other by their lowest recall. A bin is marked where its 95 % confidence interval excludes the recall of all
objects and it has at least 30 objects. AP is listed where predictions have the property, too. The data are those of the
analysis part `slices`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.charts import interval
from verite.reporting.report.document import Json, Quoted
from verite.reporting.report.layout import (
    CI,
    column,
    detector_name,
    finding,
    is_known,
    name,
    number,
    plain,
    scroll,
    table,
    td,
    th,
    whole,
)
from verite.reporting.report.section import DetectorSection, ReportInputs

if TYPE_CHECKING:
    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.detector import EvaluatedDetector
    from verite.reporting.report.document import Detector, ReportDocument

MOST_SLICES = 40
ABOUT = "Bars: 95\u00a0% confidence intervals; grey: not significant, or fewer than 30 objects."


@dataclass(frozen=True, kw_only=True)
class Slice(Quoted):
    """Recall on the objects of one bin of a property.

    Attributes
    ----------
    name, objects
        Property and bin, and the number of ground-truth objects in it.
    recall, low, high
        Recall at any confidence, with its 95 % confidence interval (Wilson).
    ap
        AP where predictions have the property, too.
    is_large
        Whether there are enough objects to compare.
    place
        Positions of property and bin, by which the script finds the objects.
    """

    name: str
    objects: int
    recall: float
    low: float
    high: float
    ap: float | None
    is_large: bool  # enough objects to be ranked
    place: tuple[int, int]  # property and bin, by which the script finds the objects

    @classmethod
    def of(cls, row: Mapping[str, Json], place: tuple[int, int]) -> Slice:
        """Read a row of the analysis part `slices`."""
        return cls(
            name=f"{row['slice']}: {row['bin']}",
            objects=row["truths"],
            recall=row["recall"],
            low=row["recall_low"],
            high=row["recall_high"],
            ap=row.get("AP"),
            is_large=row.get("is_ranked", True),
            place=place,
            json=dict(row) | {"place": list(place)},
        )


@dataclass(frozen=True)
class SlicesData:
    """Data of the section for one detector."""

    slices: tuple[Slice, ...] | None = None


def build(inputs: ReportInputs, detector: EvaluatedDetector) -> SlicesData:
    """Return the slices of the analysis."""
    if not detector.has_part("slices"):
        return SlicesData()
    assert detector.analysis is not None
    slices: Any = detector.analysis.slices
    places = [(k, bin) for k, one in enumerate(slices.properties) for bin in range(len(one.bins))]
    return SlicesData(tuple(Slice.of(*one) for one in zip(slices.rows, places, strict=True)))


def render(document: ReportDocument, images: ReportImages, i: int, data: SlicesData) -> Markup:
    """Render recall by slice, the property with the lowest first."""
    one = document.detectors[i]
    rows = [slice for slice in data.slices or () if is_known(slice.recall)]
    if not rows:
        return finding("No slices.")
    base = one.steps.true_positives[0] / one.steps.objects if one.steps.objects else 0.0
    worst = sorted(rows, key=lambda slice: (not slice.is_large, slice.recall))
    more = f" The {MOST_SLICES} worst of {len(worst)}." if len(worst) > MOST_SLICES else ""
    groups: dict[int, list[Slice]] = {}
    for slice in worst[:MOST_SLICES]:
        groups.setdefault(slice.place[0], []).append(slice)
    ordered = [slice for group in groups.values() for slice in sorted(group, key=lambda slice: slice.place[1])]
    body = []
    for k, shown in enumerate(ordered):
        is_clear = shown.is_large and not shown.low <= base <= shown.high
        colour = "g" if not is_clear else "w" if shown.recall < base else ""
        bar = interval(shown.recall - base, shown.low - base, shown.high - base, (-base, 1 - base), colour)
        property_name, bin = shown.name.split(": ", 1)
        spelled = bin.replace(">=", "≥").replace("<=", "≤")
        parts = element("span", plain(property_name), class_="sl"), " ", element("span", plain(spelled), class_="bin")
        head = element("bdi", *parts, class_="nm whole")
        cells = [th(head), td(whole(shown.objects), kind="q"), td(bar, kind="wide")]
        cells += [td(number(shown.recall)), td(f"{number(shown.low, 2)} to {number(shown.high, 2)}", kind="q")]
        cells.append(td(number(shown.ap), kind="q"))
        is_first = k == 0 or ordered[k - 1].place[0] != shown.place[0]
        begins = {"class_": "first"} if is_first else {}
        body.append(element("tr", *cells, data_slice=f"{i} {shown.place[0]} {shown.place[1]}", **begins))
    heads = (("slice", "l"), ("GT", ""), ("against all", "l nosort"), ("recall", ""), (CI, ""), ("AP", ""))
    caption = "By property, that of the lowest recall first; AP only where predictions have the property, too."
    return join_elements(
        finding(*summarise(one, rows, base)),
        element("p", f"Recall at any confidence; {number(base)} over all objects. {ABOUT}{more}", class_="sub"),
        scroll(
            f"Table of slices, {plain(one.name)}",
            table(caption, [column(*head) for head in heads], body, is_captioned=False, class_="gaps slices"),
        ),
    )


def summarise(one: Detector, rows: Sequence[Slice], base: float) -> list[str]:
    """Return the slice with the lowest recall, if it is significantly lower than `base`, that of all objects."""
    low = [slice for slice in rows if slice.is_large and slice.high < base]
    if not low:
        return ["No slice of at least 30 objects has a significantly lower recall than all objects."]
    worst = min(low, key=lambda slice: slice.recall)
    rates = f": {100 * worst.recall:.0f}\u00a0%, against {100 * base:.0f}\u00a0% of all objects."
    return [detector_name(one.name), " has its lowest recall on ", name(worst.name.replace(": ", " ", 1)), rates]


SECTION = DetectorSection(
    id="slices",
    title="Slices",
    place=90,
    wanted=lambda document: any(one.slices for one in document.sections["slices"]),
    build=build,
    render=render,
)
