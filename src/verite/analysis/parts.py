"""What can an analysis be asked?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import verite
from verite.analysis.matches import REASONS
from verite.errors import BadParameter
from verite.evaluation.settings import THREADS, ClassSettings, On, ThresholdSetting, on_setting
from verite.leaderboards.bootstrap import image_groups, resample_images
from verite.leaderboards.leaderboard import NONE, Groups, LeaderboardSettings
from verite.model.results import to_json
from verite.model.tables import Display
from verite.protocols.keypoints import Sigmas
from verite.protocols.openimages import Metric, OpenImagesSettings
from verite.settings import Choice, FileOrContent, Names, Number, Option, Setting, Thresholds, Whole
from verite.signature import Signature
from verite.statistics.intervals import percentile_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.analysis.matches import AnalysisMatches, Floats
    from verite.model.annotations import Annotations
    from verite.model.tables import Part as Content
    from verite.model.tables import Table


Name = Literal["coco", "voc", "lvis", "openimages"]

MATCHING = ("same-first", "label-free")

PARTS = ("errors", "worst", "lrp", "operating", "confusion", "calibration", "slices", "suspicious", "comparison")

IMAGES = "images"

BEST_F1, LRP = "best-f1", "lrp"


class Parts(Names[Sequence[str] | str | None, tuple[str, ...]]):
    """Some of the parts, also with commas between."""

    def validate(self, value: Sequence[str] | str) -> tuple[str, ...]:
        from verite.errors import did_you_mean

        words = [word for one in super().validate(value) for word in one.split(",")]
        for word in words:
            if word not in PARTS:
                raise self.refuse(f"parts out of {', '.join(PARTS)}", f"{word!r}{did_you_mean(word, PARTS)}")
        return tuple(part for part in PARTS if part in words)


class Cut(ThresholdSetting):
    """A floor of confidences, or how to find one."""

    def validate(self, value: Any) -> Any:
        return value if isinstance(value, str) and value in (BEST_F1, LRP) else super().validate(value)


class ProtocolSettings(ClassSettings):
    """What is evaluated before it is analysed."""

    protocol: Option[Name] = Choice("coco", "Whose number is analysed.", Name)
    on: Option[On | None] = on_setting(None)
    sigmas: Sigmas = Sigmas()
    iou: Setting[float | Sequence[float] | None, tuple[float, ...] | None] = Thresholds(
        None, "IoU threshold of a match; may be repeated.", short="-t", default_text="the protocol's"
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

    def defaults(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Who says what is to be drawn wants draws."""
        by = given.get("resample")
        many = LeaderboardSettings.draws.default
        return {} if by is None or (isinstance(by, str) and by == NONE) else {"draws": many}

    def check(self) -> None:
        if self.draws and isinstance(self.resample, str) and self.resample == NONE:
            raise BadParameter(f"draws: expected 0 where nothing is drawn again, found {self.draws}")


REVISION = "1"


class AnalysisPart(Display):
    """One part of an analysis: its `name` is its key in the JSON and the name of its plot."""

    name: str
    picture: str = ""  # the kind of its plot, where that has another name
    matches: AnalysisMatches

    def table(self) -> Table:
        """The table that stands for the part."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values; the keys are documented and stay."""
        raise NotImplementedError

    def main_table(self) -> Table:
        return self.table()

    def tables(self) -> dict[str, Table]:
        """All tables, by the names of the files they are kept in."""
        return {self.name: self.table()}

    def contents(self) -> list[Content]:
        return [self.table(), tell_set_aside(self.matches), self.signature]

    @property
    def signature(self) -> Signature:
        return sign(self.name, self.matches)

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame (pandas must be installed)."""
        return self.table().to_frame()

    def plot(self, ax: Any = None) -> Any:
        """A picture on matplotlib's axes, which are returned."""
        return verite.plot(self, self.picture or self.name, ax)


def sign(name: str, matches: AnalysisMatches, *, at_single: bool = True, **more: object) -> Signature:
    """What a part is made of: the protocol's own settings, and what the part adds; `at_single`, of one threshold."""
    of = next(iter(matches.results.scores.values())).signature
    own = Signature.of(name, **more).settings
    changed = {key: value for key, value in of.settings if key != "rev"}
    if at_single:
        changed["iou"] = dict(Signature.of("", iou=matches.iou).settings)["iou"]
    return Signature(name, (("of", of.name), *changed.items(), *own, ("rev", REVISION)))


def tell_set_aside(matches: AnalysisMatches) -> str:
    """How many predictions no part looks at, and why."""
    found = matches.set_aside
    if not found:
        return "no prediction is set aside"
    reasons = "; ".join(f"{count:,} {REASONS[key]}" for key, count in found.items())
    total = sum(found.values())
    return f"{total:,} prediction{'s are' if total > 1 else ' is'} set aside: {reasons}"


LEVEL = 0.95


class ImageBootstrap:
    """How often each image is there in each draw, the same for every system and part."""

    def __init__(self, truth: Annotations, draws: int, seed: int = 0, by: Any = IMAGES) -> None:
        self.truth, self.count, self.seed, self.by = truth, draws, seed, by

    @cached_property
    def groups(self) -> NDArray[Any] | None:
        """Of each image, where groups of them are drawn."""
        return None if isinstance(self.by, str) and self.by == IMAGES else image_groups(self.truth, self.by, "resample")

    @property
    def unit(self) -> str:
        """What is drawn."""
        if isinstance(self.by, str):
            return IMAGES if self.by == IMAGES else f"groups of images ({self.by})"
        return "groups of images"

    @cached_property
    def weights(self) -> Floats:
        """[draw, image]"""
        return resample_images(self.truth.images, self.count, self.seed, groups=self.groups)

    def sum(self, per_image: NDArray[Any]) -> Floats:
        """Sums over images in each draw, [draw, …] of [image, …]; images that the truth does not have are not drawn."""
        return np.asarray(self.weights @ per_image[: self.weights.shape[1]].astype(np.float64))

    def ratio(self, above: NDArray[Any], below: NDArray[Any]) -> Floats:
        """The ratio of two sums in each draw; not a number of nothing."""
        total, count = self.sum(above), self.sum(below)
        return np.asarray(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0))

    def tell(self) -> dict[str, Any]:
        return {"draws": self.count, "seed": self.seed, "resample": self.unit}

    @property
    def settings(self) -> dict[str, object]:
        """What signatures say."""
        return {"resample": self.by if isinstance(self.by, str) else "given", "draws": self.count, "seed": self.seed}


def interval(drawn: Floats) -> tuple[float, float]:
    """95 % of the draws."""
    return percentile_interval(drawn, LEVEL)
