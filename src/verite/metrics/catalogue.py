"""Which metrics are there, and what does each one measure?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from verite.errors import UnknownMetric, did_you_mean
from verite.model.results import to_json
from verite.model.tables import Table


@dataclass(frozen=True)
class Card:
    """One metric: what it measures, on what, which way is better, and where it comes from."""

    name: str
    summary: str
    formula: str
    on: str
    bounds: tuple[float, float]
    best: float
    verb: str
    cite: str

    def __str__(self) -> str:
        low, high = self.bounds
        facts = {
            "formula": self.formula,
            "on": self.on,
            "range": f"{low:g} to {high:g}, best {self.best:g}",
            "computed by": self.verb,
            "source": self.cite,
        }
        return "\n".join([f"{self.name}: {self.summary}", *(f"  {key:<12} {value}" for key, value in facts.items())])

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)


CARDS = (
    Card(
        name="voc_ap",
        summary="average precision of a detector, per class, as Pascal VOC computes it",
        formula="sum over recalls r of (r' - r) * best precision at recall r' or more",
        on="box",
        bounds=(0.0, 1.0),
        best=1.0,
        verb="verite voc",
        cite="Everingham et al., The Pascal Visual Object Classes Challenge: A Retrospective, IJCV 2015",
    ),
)


class Catalogue:
    """All metrics, as a table or a document."""

    def __init__(self, cards: Sequence[Card]) -> None:
        self.cards = {card.name: card for card in cards}

    def __str__(self) -> str:
        cards = self.cards.values()
        columns: dict[str, Sequence[Any]] = {
            "on": [c.on for c in cards],
            "best": [c.best for c in cards],
            "summary": [c.summary for c in cards],
        }
        return str(Table.of("metric", list(self.cards), columns))

    def to_dict(self) -> dict[str, Any]:
        return {"metrics": {name: card.to_dict() for name, card in self.cards.items()}}

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)


def catalogue() -> Catalogue:
    """Every metric.

    >>> "voc_ap" in catalogue().cards
    True
    """
    return Catalogue(CARDS)


def card(name: str) -> Card:
    """The card of a metric."""
    cards = catalogue().cards
    if name not in cards:
        raise UnknownMetric(
            f"metric: expected one of {len(cards)} (see verite metrics), found {name!r}{did_you_mean(name, cards)}"
        )
    return cards[name]
