"""What can an analysis be asked?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from verite.errors import BadParameter
from verite.evaluation.floors import Floor
from verite.evaluation.settings import THREADS, ClassSettings
from verite.evaluation.similarities import On, on_setting
from verite.leaderboards.settings import NONE, Groups, LeaderboardSettings
from verite.protocols.keypoints import Sigmas
from verite.protocols.openimages import Metric, OpenImagesSettings
from verite.settings import Choice, FileOrContent, Names, Number, Option, Setting, Thresholds, Whole

Name = Literal["coco", "voc", "lvis", "openimages"]
MATCHING = ("same-first", "label-free")
PARTS = ("errors", "worst", "lrp", "operating", "confusion", "calibration", "slices", "suspicious", "comparison")
IMAGES = "images"
BEST_F1, LRP = "best-f1", "lrp"


class Parts(Names[Sequence[str] | str | None, tuple[str, ...]]):
    """Some of the parts, also with commas between."""

    def hold(self, value: Sequence[str] | str) -> tuple[str, ...]:
        from verite.errors import did_you_mean

        words = [word for one in super().hold(value) for word in one.split(",")]
        for word in words:
            if word not in PARTS:
                raise self.refuse(f"parts out of {', '.join(PARTS)}", f"{word!r}{did_you_mean(word, PARTS)}")
        return tuple(part for part in PARTS if part in words)


class Cut(Floor):
    """A floor of confidences, or how to find one."""

    def hold(self, value: Any) -> Any:
        return value if value in (BEST_F1, LRP) else super().hold(value)


class ProtocolSettings(ClassSettings):
    """What is evaluated before it is analysed."""

    protocol: Option[Name] = Choice("coco", "Whose number is analysed.", Name)
    on: Option[On | None] = on_setting(None)
    sigmas: Sigmas = Sigmas()
    iou: Setting[float | Sequence[float] | None, tuple[float, ...] | None] = Thresholds(
        None, "IoU from which a prediction is right; may be repeated.", short="-t", default_text="the protocol's"
    )
    metric: Option[Metric | None] = Choice(
        None, "Of Open Images: the challenge's metric or that of V2.", Metric, default_text="challenge"
    )
    image_labels = OpenImagesSettings.image_labels
    hierarchy = OpenImagesSettings.hierarchy
    descriptions = OpenImagesSettings.descriptions
    threads: Option[int | None] = THREADS


class AnalyseSettings(ProtocolSettings):
    """What is told of it."""

    background: Option[float] = Number(0.1, "IoU up to which a prediction overlaps nothing.", least=0, most=1)
    beta: Option[float] = Number(1.0, "How much more recall weighs than precision in F.", least=0.01, most=100)
    confidence: Cut = Cut(
        BEST_F1,
        "Where confusion cuts predictions off: a number, best-f1, lrp, or a thresholds.json.",
        metavar="C|best-f1|lrp|FILE",
    )
    matching: Option[Literal["same-first", "label-free"]] = Choice(
        "same-first", "How confusion pairs objects: right ones first, or whatever their labels.", MATCHING
    )
    bins: Option[Literal["equal", "quantile"]] = Choice(
        "equal", "Bins of calibration: equally wide, or of equally many predictions.", ("equal", "quantile")
    )
    slice: Setting[Sequence[str] | str | None, tuple[str, ...] | None] = Names(
        None,
        "By what to slice: size, aspect, border, position, crowding, overlap, frequency, label-group, a field of the "
        "truth or a column of --meta, with edges as aspect:0.5,2; may be repeated.",
        metavar="NAME[:EDGES]",
        default_text="those that are built in, and all columns of --meta",
    )
    meta: Setting[Any, Any] = FileOrContent(
        None, "CSV of what is known about images, by name or id.", metavar="FILE.csv"
    )
    prior: Option[float] = Number(
        0.05, "Share of records wrong in each way, before anybody looked.", least=1e-6, most=0.3
    )
    audit: Option[int] = Whole(50, "Records to be checked in audit.csv of -o.")
    resample: Setting[Any, Any] = Groups(
        IMAGES, "What is drawn again for intervals: images, groups of images (a column, or FILE.csv:COLUMN), or none.",
        names=["group"], metavar="images|COLUMN|none",
    )  # fmt: skip
    draws: Option[int] = Whole(
        0, "Draws for intervals; 0: objects as if they were independent.", default_text="0, with --resample 1000"
    )
    seed: Option[int] = Whole(0, "Of all random draws.")
    only: Parts = Parts(PARTS, "Only these parts; may be repeated.", metavar="PART,...", default_text="all")

    def usual(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Who says what is to be drawn wants draws."""
        by = given.get("resample")
        many = LeaderboardSettings.draws.default
        return {} if by is None or (isinstance(by, str) and by == NONE) else {"draws": many}

    def check(self) -> None:
        if self.draws and isinstance(self.resample, str) and self.resample == NONE:
            raise BadParameter(f"draws: expected 0 where nothing is drawn again, found {self.draws}")
