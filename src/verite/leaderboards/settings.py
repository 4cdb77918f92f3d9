"""What can be asked of a leaderboard?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from verite.evaluation.settings import THREADS, EvaluationSettings
from verite.evaluation.similarities import On, on_setting
from verite.protocols.keypoints import Sigmas
from verite.settings import Choice, Count, FileOrContent, Names, Number, Option, Setting, Whole

Which = Literal["coco", "voc", "lvis"]
NONE = "none"


class Level(Number[float, float]):
    """A probability that is neither 0 nor 1."""

    def hold(self, value: Any) -> float:
        from verite.statistics.intervals import check_level

        check_level(float(value))
        return float(value)


class Groups(Setting[Any, Any]):
    """Images, none, a column of them, or a group for each."""

    def spell(self, value: Any) -> object:
        return value if isinstance(value, str) else "given"


class LeaderboardSettings(EvaluationSettings):
    """Whose numbers, what is drawn, and how often."""

    protocol: Option[Which] = Choice("coco", "Whose numbers.", Which)
    on: Option[On] = on_setting()
    sigmas: Setting[Any, Any] = Sigmas(is_quiet=True)
    metrics: Setting[str | Sequence[str] | None, tuple[str, ...]] = Names(
        ("AP",), "A score of the protocol, such as AP, AP50 or AR100; may be repeated.", short="-m", names=["metric"],
        metavar="NAME", is_signed=False,
    )  # fmt: skip
    missing_from: Setting[Any, Any] = Groups(
        "pool", "Candidates for missing objects: the detectors' own boxes (pool), a file, or none.",
        metavar="pool|FILE|none",
    )  # fmt: skip
    confusion: Setting[str | Path | None, Any] = FileOrContent(
        None, "Table recorded,CLASS…: where wrong labels move to.", default_text="the detectors' own confusions"
    )
    resample: Setting[Any, Any] = Groups(
        "images", "What is drawn again: images, groups of images (a column), or none.", metavar="images|COLUMN|none"
    )
    draws: Option[int] = Count(1000, "How many truths and sets of images are drawn.")
    seed: Option[int] = Whole(0, "Of the draws.")
    level: Option[float] = Level(0.95, "Probability with which intervals and places hold.")
    audit_size: Option[int] = Count(100, "At most so many records to check first.", is_signed=False)
    threads: Option[int | None] = THREADS
    parts: Option[int | None] = Count(None, "", is_signed=False, has_option=False)  # draws need everything at once

    def check(self) -> None:
        if self.sigmas is not None and self.on != "keypoints":
            raise type(self).sigmas.refuse("nothing but with on=keypoints", self.sigmas)
        if self.protocol == "voc" and self.on not in ("box", "rotated"):
            raise type(self).on.refuse("box or rotated with Pascal VOC", self.on)
        if self.protocol == "lvis" and self.on not in ("box", "mask"):
            raise type(self).on.refuse("box or mask with LVIS", self.on)
