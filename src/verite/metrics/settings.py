"""Everything about matching and regions that can change the number of a localization metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from verite.evaluation.settings import ComparisonSettings
from verite.model.spacing import Spacing
from verite.settings import Choice, Number, Option, Setting

Match = Literal["greedy", "image"]
Unmatched = Literal["leave", "score"]


class SpacingSetting(Setting[Any, Spacing | None]):
    """One number for both, two, or their text with a unit."""

    def hold(self, value: Any) -> Spacing:
        return Spacing.of(value)

    def spell(self, value: Any) -> object:
        return None if value is None else str(value)


class LocalizeSettings(ComparisonSettings):
    match: Option[Match | None] = Choice(
        None,
        "Which objects are one: those that overlap most, or the ones of an image whatever their overlap.",
        Match,
        default_text="image for pictures of one mask each, else greedy",
    )
    iou: Option[float] = Number(
        0.5,
        "Overlap from which a prediction and a truth are one object; 0 is any overlap.",
        least=0,
        most=1,
        short="-t",
    )
    spacing: Setting[Any, Spacing | None] = SpacingSetting(
        None,
        "How far apart rows and columns lie, e.g. 0.7,0.7 (mm) or 3,3um: distances are in that unit.",
        metavar="ROWS,COLUMNS",
        default_text="distances in pixels",
    )
    unmatched: Option[Unmatched | None] = Choice(
        None,
        "Missed and spurious objects: count them, or also score them as empty regions.",
        Unmatched,
        default_text="leave; score with --match image",
    )

    def usual(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """An image without a mask on one side is an answer, and a bad one."""
        match = given.get("match") or "greedy"
        return {"match": match, "unmatched": "score" if match == "image" else "leave"}
