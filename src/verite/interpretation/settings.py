"""Everything that can change the interpretation score."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Literal, TypeAlias

from verite.evaluation.settings import ComparisonSettings
from verite.settings import Choice, FileOrContent, Flag, Number, Option, Setting

if TYPE_CHECKING:
    from verite.interpretation.class_distances import ClassDistances
    from verite.metrics.metric import Metric

    Distance: TypeAlias = ClassDistances | str | PathLike[str] | Mapping[str, Mapping[str, float]] | None

Matching = Literal["multiple", "one-to-one"]
ALPHA = 0.8


class InterpretSettings(ComparisonSettings):
    matching: Option[Matching] = Choice(
        "multiple", "Any number of objects with any other, or the best assignment.", Matching
    )
    iou: Option[float | None] = Number(
        None,
        "Overlap from which two objects may match.",
        least=0,
        most=1,
        short="-t",
        default_text="0.2; one-to-one: any overlap",
    )
    alpha: Option[float] = Number(ALPHA, "Weight of localization; recognition has the rest.", least=0, most=1)
    localization: Option[str | Metric] = Setting(
        "martin", "The paper's measure, or a metric of the catalogue from 0 to 1.", metavar="METRIC"
    )
    distance: Option[Distance] = FileOrContent(
        None, "A matrix of class distances (.csv), a taxonomy (.json, indented .txt), or voc.", metavar="FILE|voc"
    )
    certain: Option[bool] = Flag(False, "Take every prediction as certain.")
