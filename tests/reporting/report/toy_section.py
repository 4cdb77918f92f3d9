"""A section of the report in one file: the number of false positives per detector."""

from __future__ import annotations

from dataclasses import dataclass

from verite.model.styles import element
from verite.reporting.report.section import Section


@dataclass(frozen=True)
class ToyData:
    toy_false_positives: tuple[int, ...]


SECTION = Section(
    id="toy",
    title="Toy section",
    place=35,
    wanted=lambda document: len(document.detectors) > 0,
    build=lambda inputs: ToyData(tuple(one.counts.at(0.0).false_positives for one in inputs.detectors)),
    render=lambda document, images, data: element("p", f"{sum(data.toy_false_positives)} in all", class_="finding"),
)
