"""Why does a published cell come out otherwise? One convention is flipped, and either the cell follows or it does not.

A convention explains the cells it gives if it gives more cells than it costs: cells that agreed and then differ. A cell
that no convention explains is not explained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Place = tuple[str, str, str]  # table, metric, property
Cells = Mapping[Place, str]
UNEXPLAINED = "not explained"


@dataclass(frozen=True)
class Flip:
    """What flipping one convention does to the cells."""

    convention: str
    gives: tuple[Place, ...]  # cells that differed and now agree
    costs: tuple[Place, ...]  # cells that agreed and now differ

    @classmethod
    def of(cls, convention: str, before: Cells, after: Cells, published: Cells) -> Flip:
        def agree(cells: Cells) -> set[Place]:
            return {place for place, cell in published.items() if cells[place] == cell}

        held, holds = agree(before), agree(after)
        return cls(convention, tuple(p for p in published if p in holds - held),
                   tuple(p for p in published if p in held - holds))  # fmt: skip

    @property
    def explains(self) -> bool:
        return len(self.gives) > len(self.costs)

    @property
    def gain(self) -> int:
        return len(self.gives) - len(self.costs)

    @property
    def price(self) -> str:
        return f"gives {len(self.gives)}, costs {len(self.costs)}"

    def to_dict(self) -> dict[str, Any]:
        return {"convention": self.convention, "gives": len(self.gives), "costs": len(self.costs),
                "explains": self.explains}  # fmt: skip


def find_flip(place: Place, flips: Sequence[Flip]) -> Flip | None:
    """The flip that gives this cell at the best price, the first of equals; none where nothing tried gives it."""
    return max((flip for flip in flips if place in flip.gives), key=lambda flip: flip.gain, default=None)


def spell_reason(flip: Flip | None) -> str:
    """Why a cell differs, as tables say it.

    >>> spell_reason(Flip("pixels were counted twice", (("T3", "KUL", "symmetry"),), ()))
    'follows if pixels were counted twice (gives 1, costs 0)'
    >>> spell_reason(None)
    'not explained'
    """
    if flip is None:
        return UNEXPLAINED
    if flip.explains:
        return f"follows if {flip.convention} ({flip.price})"
    return f"{UNEXPLAINED}; it would follow if {flip.convention}, but that {flip.price}"


def choose_flips(flips: Sequence[Flip]) -> list[Flip]:
    """The flips that explain something, each cell being left to the best of them."""
    found: list[Flip] = []
    for flip in sorted((f for f in flips if f.explains), key=lambda f: -f.gain):
        taken = {place for other in found for place in other.gives}
        if any(place not in taken for place in flip.gives):
            found.append(flip)
    return found
