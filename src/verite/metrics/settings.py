"""Everything about matching and regions that can change the number of a localization metric."""

from __future__ import annotations

from typing import Literal

from verite.evaluation.settings import ComparisonSettings
from verite.settings import Choice, Fact, Number, Option

Unmatched = Literal["leave", "score"]


class LocalizeSettings(ComparisonSettings):
    match = Fact("greedy")
    iou: Option[float] = Number(
        0.5,
        "Overlap from which a prediction and a truth are one object; 0 is any overlap.",
        least=0,
        most=1,
        short="-t",
    )
    unmatched: Option[Unmatched] = Choice(
        "leave", "Missed and spurious objects: count them, or also score them as empty regions.", Unmatched
    )
