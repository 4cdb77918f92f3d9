"""Metric cards: formula, range, unit, parameters, values for empty regions and citation of every metric.

`verite metrics NAME` prints one card, `verite metrics` the catalogue; the reference page of the documentation and the
JSON document are made from the same cards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from shlex import quote
from textwrap import wrap
from typing import TYPE_CHECKING

from verite.errors import UnknownMetric, did_you_mean, excerpt
from verite.metrics.catalogue import metric, records
from verite.metrics.metric import Metric, format_best, format_call, format_value
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table

if TYPE_CHECKING:
    from verite.files import JsonObject

WIDTH = 110
# Sections of the catalogue, by what a metric compares.
SECTIONS = {
    "detector": "Detectors, over a whole dataset",
    "box": "Boxes",
    "contour": "Contours",
    "region": "Regions",
}
CODE = ("formula", "computed by", "signature")  # facts shown as code in Markdown


@dataclass(frozen=True, repr=False)
class Card(Display):
    """The card of one metric. Its fields are the keys of the JSON document."""

    name: str
    summary: str
    formula: str
    on: str
    bounds: tuple[float, float]
    best: float | None
    better: str
    verb: str
    cite: str
    unit: str = ""
    symmetric: bool = False
    aliases: Mapping[str, str] = field(default_factory=dict)  # an alias with parameters: the name it stands for
    parameters: Mapping[str, str] = field(default_factory=dict)
    variants: Mapping[str, str] = field(default_factory=dict)
    empty: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    signature: str = ""

    @property
    def facts(self) -> dict[str, str]:
        """The lines of the card in order, without those that do not apply."""
        low, high = self.bounds
        unit = f" {self.unit}" if self.unit else ""
        facts = {
            "also": ", ".join(f"{name} = {meant}" if meant else name for name, meant in self.aliases.items()),
            "formula": self.formula,
            "on": self.on,
            "range": f"{low:g} to {high:g}{unit}, best {format_best(self.best)}, {self.better} is better",
            "parameters": "; ".join(f"{key}: {text}" for key, text in self.parameters.items()),
            "variants": "; ".join(f"{key}: {text}" for key, text in self.variants.items()),
            "symmetric": "yes" if self.symmetric else "no: exchanging truth and pred changes the value",
            "where empty": "; ".join(f"{case}: {text}" for case, text in self.empty.items()),
            "remarks": " ".join(self.remarks),
            "computed by": self.verb,
            "source": self.cite,
            "signature": self.signature,
        }
        return {key: text for key, text in facts.items() if text}

    def to_text(self, width: int | None = None, *, legend: bool = False) -> str:
        """Return the card as text of at most so many columns; the signature stays one word."""
        width = min(width or WIDTH, WIDTH)
        first, *rest = wrap(f"{self.name}: {self.summary}", width)
        lines = [first, *(f"  {line}" for line in rest)]
        for key, text in self.facts.items():
            first, *rest = [text] if key == "signature" else wrap(text, max(20, width - 18))
            lines += [f"  {key:<15} {first}", *(f"  {'':<15} {line}" for line in rest)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def contents(self) -> list[Part]:
        return [self.summary, Table((self.name, ""), tuple(self.facts.items()))]

    def to_dict(self) -> JsonObject:
        """Return the fields, the document of `verite metrics NAME --json`."""
        return asdict(self)

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)


DETECTORS = {
    "coco_ap": Card(
        name="coco_ap",
        summary="Average precision (AP, mAP) of a detector as COCO computes it: mean over classes and IoU thresholds.",
        formula="mean over classes and IoU 0.50, 0.55, …, 0.95 of the best precision at recall r or more, averaged "
        "over the 101 recalls r = 0, 0.01, …, 1",
        on="detector",
        bounds=(0.0, 1.0),
        best=1.0,
        better="higher",
        verb="verite coco",
        cite="Lin et al., Microsoft COCO: Common Objects in Context, ECCV 2014",
    ),
    "voc_ap": Card(
        name="voc_ap",
        summary="Average precision of a detector, per class, as Pascal VOC computes it.",
        formula="sum over recalls r of (r' - r) * best precision at recall r' or more",
        on="detector",
        bounds=(0.0, 1.0),
        best=1.0,
        better="higher",
        verb="verite voc",
        cite="Everingham et al., The Pascal Visual Object Classes Challenge: A Retrospective, IJCV 2015",
    ),
}
# What people call the scores of a detector.
DETECTOR_NAMES = {"ap": "coco_ap", "map": "coco_ap", "ap50": "coco_ap", "ap75": "coco_ap"}


def make_card(chosen: Metric) -> Card:
    """Make the card of a localization metric with its parameters."""
    record = chosen.record
    summary, *others = record.paragraphs
    parameters = {}
    for key, default in record.defaults.items():
        allowed = record.ranges.get(key)
        values = " or ".join(record.variants) if key == "variant" else f"in {allowed.text}" if allowed else ""
        parameters[key] = f"{values}{', ' if values else ''}default {format_value(default)}"
    empty = chosen.empty.to_dict()
    if record.is_complement(chosen.parameters):
        empty = {case: text if text == "formula" else f"1 - {text}" for case, text in empty.items()}
    remarks = others[1:]
    if chosen.needs_image:
        remarks.append("Needs the size of the image.")
    if record.distance:
        lengths = [key for key in ("tolerance", "cutoff", "threshold") if key in chosen.parameters]
        also = f", and so {'is' if len(lengths) == 1 else 'are'} {' and '.join(lengths)}" if lengths else ""
        remarks.append(f"Distances are in pixels, with --spacing in its unit{also}.")
    if record.labels:
        remarks.append("Also defined for label images of several objects.")
    return Card(
        name=chosen.name,
        summary=summary,
        formula=others[0] if others else "",
        on=record.on,
        bounds=chosen.bounds,
        best=chosen.best,
        better=chosen.better,
        verb=f"verite localize TRUTH PRED -m {quote(chosen.path)}",
        cite=record.cite,
        unit=chosen.unit,
        symmetric=chosen.symmetric,
        aliases={alias: format_call(record.name, given) if given else "" for alias, given in record.aliases.items()},
        parameters=parameters,
        variants={key: variant.text for key, variant in record.variants.items()},
        empty=empty,
        remarks=tuple(remarks),
        signature=str(chosen.signature),
    )


class Catalogue(Display):
    """All metrics as a list, a JSON document or the reference page."""

    def __init__(self, cards: Iterable[Card]) -> None:
        self.cards = {card.name: card for card in cards}

    def section(self, on: str) -> list[Card]:
        """Return the cards of the metrics that compare boxes, contours, regions or detectors."""
        return [card for card in self.cards.values() if card.on == on]

    def to_text(self, width: int | None = None, *, legend: bool = False) -> str:
        """Return the list as text; what a metric measures is wrapped within its column."""
        wide = max(map(len, self.cards))
        start = wide + 22  # the column of what is measured
        room = 1000 if width is None else max(20, width - start)
        lines = []
        for on, title in SECTIONS.items():
            chosen = self.section(on)
            if not chosen:
                continue
            lines += ["", title, f"  {'metric':<{wide}}  {'better':<10}  unit  measures"]
            for card in chosen:
                first, *more = wrap(card.summary, room, break_on_hyphens=False)
                lines.append(f"  {card.name:<{wide}}  {card.better:<10}  {card.unit:<4}  {first}")
                lines += [" " * start + line for line in more]
        return "\n".join([*lines[1:], "", "verite metrics NAME shows one card with formula, parameters and source."])

    def __str__(self) -> str:
        return self.to_text()

    def contents(self) -> list[Part]:
        return [self.list_metrics(self.section(on), title) for on, title in SECTIONS.items()]

    def main_table(self) -> Table:
        return self.list_metrics([card for on in SECTIONS for card in self.section(on)])

    def list_metrics(self, chosen: Sequence[Card], title: str = "") -> Table:
        """Return a table with one row per metric.

        Parameters
        ----------
        chosen
            The cards to list, in this order.
        title
            Title of the table, such as the kind of the metrics.

        Returns
        -------
        Table
            What the metric compares, whether high or low values are better, its unit, and what it measures.
        """
        heads = {"on": "on", "better": "better", "unit": "unit", "summary": "measures"}
        columns = {head: [getattr(card, name) for card in chosen] for name, head in heads.items()}
        return Table.of("metric", [card.name for card in chosen], columns, title=title)

    def to_dict(self) -> JsonObject:
        """Return the document of `verite metrics --json`."""
        return {"metrics": {name: card.to_dict() for name, card in self.cards.items()}}

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)

    def to_markdown(self) -> str:
        """Return the reference page, with every card."""
        lines = ["# Metrics", "", "Every metric of the catalogue, generated from its declaration.", ""]
        for on, title in SECTIONS.items():
            chosen = self.section(on)
            lines += [
                f"## {title}",
                "",
                "| metric | also | better | unit | measures |",
                "|---|---|---|---|---|",
            ]
            for c in chosen:
                link = f"[{c.name}](#{c.name})"
                lines.append(f"| {link} | {', '.join(c.aliases)} | {c.better} | {c.unit} | {c.summary} |")
            for card in chosen:
                lines += ["", f"### {card.name}", "", card.summary, ""]
                lines += [f"- **{key}**: {f'`{text}`' if key in CODE else text}" for key, text in card.facts.items()]
            lines.append("")
        return "\n".join(lines)


def catalogue() -> Catalogue:
    """Return the cards of all metrics.

    >>> {"voc_ap", "gce", "hausdorff"} <= set(catalogue().cards)
    True
    """
    return Catalogue([*DETECTORS.values(), *(make_card(metric(name)) for name in records())])


def card(name: str) -> Card:
    """Return the card of a metric by its name or an alias, with the parameters in the name."""
    known = DETECTOR_NAMES.get(name.casefold(), name)
    if known in DETECTORS:
        return DETECTORS[known]
    try:
        return make_card(metric(name))
    except UnknownMetric as error:
        near = did_you_mean(name, DETECTORS)
        if near and "did you mean" not in str(error):
            raise UnknownMetric(f"metric: expected a known name, found {excerpt(name)}{near}") from None
        raise
