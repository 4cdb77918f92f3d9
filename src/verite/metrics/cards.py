"""What does each metric measure? One card a metric, for people, programs and the reference page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from shlex import quote
from textwrap import wrap
from typing import Any

from verite.errors import UnknownMetric, did_you_mean, excerpt
from verite.metrics.catalogue import metric, records
from verite.metrics.metric import Metric, Record, spell_best, spell_metric, spell_settled, word_of
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table

WIDTH = 110
ON = {
    "detector": "Detectors, over a whole data set",
    "box": "Boxes",
    "contour": "Contours",
    "region": "Regions",
}


@dataclass(frozen=True)
class Card(Display):
    """One metric: what it measures, on what, which way is better, and where it comes from."""

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
    aliases: Mapping[str, str] = field(default_factory=dict)  # what a name with parameters of its own stands for
    parameters: Mapping[str, str] = field(default_factory=dict)
    variants: Mapping[str, str] = field(default_factory=dict)
    empty: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    signature: str = ""

    @property
    def facts(self) -> dict[str, str]:
        """What a person reads, in order; what does not apply is left out."""
        low, high = self.bounds
        unit = f" {self.unit}" if self.unit else ""
        facts = {
            "also": ", ".join(f"{name} = {meant}" if meant else name for name, meant in self.aliases.items()),
            "formula": self.formula,
            "on": self.on,
            "range": f"{low:g} to {high:g}{unit}, best {spell_best(self.best)}, {self.better} is better",
            "parameters": "; ".join(f"{key}: {text}" for key, text in self.parameters.items()),
            "variants": "; ".join(f"{key}: {text}" for key, text in self.variants.items()),
            "truth and pred": "may be exchanged" if self.symmetric else "may not be exchanged",
            "where empty": "; ".join(f"{case}: {text}" for case, text in self.empty.items()),
            "remarks": " ".join(self.remarks),
            "computed by": self.verb,
            "source": self.cite,
            "signature": self.signature,
        }
        return {key: text for key, text in facts.items() if text}

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.summary}"]
        for key, text in self.facts.items():
            first, *rest = [text] if key == "signature" else wrap(text, WIDTH - 18)
            lines += [f"  {key:<15} {first}", *(f"  {'':<15} {line}" for line in rest)]
        return "\n".join(lines)

    def contents(self) -> list[Part]:
        return [self.summary, Table((self.name, ""), tuple(self.facts.items()))]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)


VOC = Card(
    name="voc_ap",
    summary="Average precision of a detector, per class, as Pascal VOC computes it.",
    formula="sum over recalls r of (r' - r) * best precision at recall r' or more",
    on="detector",
    bounds=(0.0, 1.0),
    best=1.0,
    better="higher",
    verb="verite voc",
    cite="Everingham et al., The Pascal Visual Object Classes Challenge: A Retrospective, IJCV 2015",
)
DETECTORS = {VOC.name: VOC}


def card_of(chosen: Metric) -> Card:
    """The card of a localization metric with its parameters."""
    record = chosen.record
    return Card(
        name=chosen.name,
        summary=record.summary,
        formula=record.formula,
        on=record.on,
        bounds=chosen.bounds,
        best=chosen.best,
        better=chosen.better,
        verb=f"verite localize TRUTH PRED -m {quote(chosen.path)}",
        cite=record.cite,
        unit=chosen.unit,
        symmetric=chosen.symmetric,
        aliases={
            alias: spell_metric(record.name, dict(given)) if given else "" for alias, given in record.aliases.items()
        },
        parameters={key: parameter(record, key, default) for key, default in record.defaults.items()},
        variants={key: variant.text for key, variant in record.variants.items()},
        empty=empty_rules(chosen),
        remarks=(*record.remarks, *needs(chosen)),
        signature=str(chosen.signature),
    )


def parameter(record: Record, key: str, default: Any) -> str:
    """A parameter in words: its range and its default."""
    allowed = record.ranges.get(key)
    choice = " or ".join(record.variants) if key == "variant" else f"in {allowed.text}" if allowed else ""
    return f"{choice}{', ' if choice else ''}{word_of(default)} if not given"


def empty_rules(chosen: Metric) -> dict[str, str]:
    rules = {case: spell_settled(getattr(chosen.empty, case)) for case in ("truth", "pred", "both")}
    if chosen.record.is_complement(chosen.parameters):
        return {case: text if text == "formula" else f"1 - {text}" for case, text in rules.items()}
    return rules


def needs(chosen: Metric) -> list[str]:
    """Remarks that follow from the facts."""
    remarks = ["Needs the size of the image."] if chosen.needs_image else []
    if chosen.record.distance:
        lengths = [key for key in ("tolerance", "cutoff", "threshold") if key in chosen.parameters]
        also = f", and so {'is' if len(lengths) == 1 else 'are'} {' and '.join(lengths)}" if lengths else ""
        remarks.append(f"Distances are in pixels, with --spacing in its unit{also}.")
    if chosen.record.labels:
        remarks.append("Defined for label images of several objects, too.")
    return remarks


class Catalogue(Display):
    """All metrics, as a list or a document."""

    def __init__(self, cards: Iterable[Card]) -> None:
        self.cards = {card.name: card for card in cards}

    def __str__(self) -> str:
        wide = max(map(len, self.cards))
        lines = []
        for on, title in ON.items():
            chosen = [card for card in self.cards.values() if card.on == on]
            if not chosen:
                continue
            lines += ["", title, f"  {'metric':<{wide}}  {'better':<10}  unit  what it measures"]
            lines += [f"  {c.name:<{wide}}  {c.better:<10}  {c.unit:<4}  {c.summary}" for c in chosen]
        return "\n".join([*lines[1:], "", "verite metrics NAME shows one card with formula, parameters and source."])

    def contents(self) -> list[Part]:
        return [self.list_metrics([on], title) for on, title in ON.items()]

    def main_table(self) -> Table:
        return self.list_metrics(list(ON))

    def list_metrics(self, on: Sequence[str], title: str = "") -> Table:
        """The metrics that look at these kinds of regions."""
        chosen = [card for card in self.cards.values() if card.on in on]
        heads = {"on": "on", "better": "better", "unit": "unit", "summary": "measures"}
        columns = {head: [getattr(card, name) for card in chosen] for name, head in heads.items()}
        return Table.of("metric", [card.name for card in chosen], columns, title=title)

    def to_dict(self) -> dict[str, Any]:
        return {"metrics": {name: card.to_dict() for name, card in self.cards.items()}}

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)

    def to_markdown(self) -> str:
        """The reference page: every card, generated from the records."""
        lines = ["# The catalogue", "", "Every metric verite knows, generated from its declaration.", ""]
        for on, title in ON.items():
            chosen = [card for card in self.cards.values() if card.on == on]
            lines += [
                f"## {title}",
                "",
                "| metric | also | better | unit | what it measures |",
                "|---|---|---|---|---|",
            ]
            for c in chosen:
                link = f"[{c.name}](#{c.name.replace('_', '-')})"
                lines.append(f"| {link} | {', '.join(c.aliases)} | {c.better} | {c.unit} | {c.summary} |")
            for card in chosen:
                lines += ["", f"### {card.name}", "", card.summary, ""]
                lines += [f"- **{key}**: {f'`{text}`' if key in CODE else text}" for key, text in card.facts.items()]
            lines.append("")
        return "\n".join(lines)


CODE = ("formula", "computed by", "signature")


def catalogue() -> Catalogue:
    """Every metric.

    >>> {"voc_ap", "gce", "hausdorff"} <= set(catalogue().cards)
    True
    """
    return Catalogue([*DETECTORS.values(), *(card_of(metric(name)) for name in records())])


def card(name: str) -> Card:
    """The card of a metric, by any of its names, with the parameters in the name."""
    if name in DETECTORS:
        return DETECTORS[name]
    try:
        return card_of(metric(name))
    except UnknownMetric as error:
        near = did_you_mean(name, DETECTORS)
        if near and "did you mean" not in str(error):
            raise UnknownMetric(f"metric: expected a known name, found {excerpt(name)}{near}") from None
        raise
