"""Everything about matching and regions that can change the number of a localization metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from verite.evaluation.settings import ComparisonSettings
from verite.settings import Choice, Number, Option

Match = Literal["greedy", "image"]
Unmatched = Literal["leave", "score"]


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
