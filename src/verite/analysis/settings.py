"""What can an analysis be asked?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from verite.evaluation.settings import THREADS, ClassSettings
from verite.settings import Choice, Names, Number, Option, Setting, Thresholds

Name = Literal["coco", "voc", "lvis"]
On = Literal["box", "mask", "boundary"]
PARTS = ("errors", "worst")


class Parts(Names[Sequence[str] | str | None, tuple[str, ...]]):
    """Some of the parts, also with commas between."""

    def hold(self, value: Sequence[str] | str) -> tuple[str, ...]:
        from verite.errors import did_you_mean

        words = [word for one in super().hold(value) for word in one.split(",")]
        for word in words:
            if word not in PARTS:
                raise self.refuse(f"parts out of {', '.join(PARTS)}", f"{word!r}{did_you_mean(word, PARTS)}")
        return tuple(part for part in PARTS if part in words)


class ProtocolSettings(ClassSettings):
    """What is evaluated before it is analysed."""

    protocol: Option[Name] = Choice("coco", "Whose number is analysed.", Name)
    on: Option[On | None] = Choice(None, "Compare boxes, masks, or masks and their boundaries.", On)
    iou: Setting[float | Sequence[float] | None, tuple[float, ...] | None] = Thresholds(
        None, "IoU from which a prediction is right; may be repeated.", short="-t", default_text="the protocol's"
    )
    threads: Option[int | None] = THREADS


class AnalyseSettings(ProtocolSettings):
    """What is told of it."""

    background: Option[float] = Number(0.1, "IoU up to which a prediction overlaps nothing.", least=0, most=1)
    only: Parts = Parts(PARTS, "Only these parts; may be repeated.", metavar="PART,...", default_text="all")
