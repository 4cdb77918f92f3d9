"""The parts of an error analysis: their registry, their settings as arguments and options, and the reference page.

A part is declared by a record in its own module (`verite.analysis.part`). To add one, write the module and add its line
to `REGISTRY`; everything here, `vt.analyse`, `verite analyse --help` and `vt.plot` follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from verite.analysis.calibration import CalibrationSettings
from verite.analysis.confusion import ConfusionSettings
from verite.analysis.errors import ErrorSettings
from verite.analysis.operating import OperatingSettings
from verite.analysis.part import IMAGES
from verite.analysis.slices import SliceSettings
from verite.analysis.suspicious import SuspiciousSettings
from verite.errors import BadParameter, did_you_mean
from verite.evaluation.points import MaxDistanceSetting, PixelSize
from verite.evaluation.settings import THREADS, ClassSettings, On, on_setting
from verite.leaderboards.leaderboard import NONE, Groups, LeaderboardSettings
from verite.protocols.keypoints import Sigmas
from verite.protocols.openimages import Metric, OpenImagesSettings
from verite.settings import Choice, Names, Option, Setting, Settings, Thresholds, Whole

if TYPE_CHECKING:
    from verite.analysis.part import PartRecord

# The module of each part's record, in the order in which parts are shown.
REGISTRY = {
    "errors": "verite.analysis.errors",
    "worst": "verite.analysis.worst",
    "lrp": "verite.analysis.lrp",
    "operating": "verite.analysis.operating",
    "confusion": "verite.analysis.confusion",
    "calibration": "verite.analysis.calibration",
    "slices": "verite.analysis.slices",
    "suspicious": "verite.analysis.suspicious",
    "comparison": "verite.analysis.comparison",
}


def part_named(name: str) -> PartRecord:
    """Return the record of a part.

    >>> part_named("operating").kind
    'froc'
    """
    found: PartRecord = import_module(REGISTRY[name]).PART
    return found


def all_parts() -> list[PartRecord]:
    """Return the records of all parts, in the order in which they are shown."""
    return [part_named(name) for name in REGISTRY]


class PartNames(Names[Sequence[str] | str | None, tuple[str, ...]]):
    """Names of parts, repeated or separated by commas."""

    def validate(self, value: Sequence[str] | str) -> tuple[str, ...]:
        words = [word for one in super().validate(value) for word in one.split(",")]
        for word in words:
            if word not in REGISTRY:
                raise self.refuse(f"sections out of {', '.join(REGISTRY)}", f"{word!r}{did_you_mean(word, REGISTRY)}")
        return tuple(part for part in REGISTRY if part in words)


Name = Literal["coco", "voc", "lvis", "openimages", "f1"]
# Parts of the protocol f1: the others are about confidences, or about AP.
WITHOUT_CONFIDENCES = ("errors", "confusion")


class ProtocolSettings(ClassSettings):
    """Settings of the evaluation that is analysed."""

    protocol: Option[Name] = Choice("coco", "Protocol whose AP is analysed; f1 if there are no confidences.", Name)
    on: Option[On | None] = on_setting(None)
    sigmas: Sigmas = Sigmas()
    max_distance: Setting[Any, Any] = MaxDistanceSetting()
    pixel_size: Setting[Any, Any] = PixelSize()
    iou: Setting[float | Sequence[float] | None, tuple[float, ...] | None] = Thresholds(
        None, "IoU threshold of a match; may be repeated.", short="-t", default_text="the protocol's"
    )
    metric: Option[Metric | None] = Choice(
        None, "Metric of Open Images: that of the challenge, or of V2.", Metric, default_text="challenge"
    )
    image_labels: Setting[Any, Any] = OpenImagesSettings.image_labels
    hierarchy: Setting[Any, Any] = OpenImagesSettings.hierarchy
    descriptions: Setting[Any, Any] = OpenImagesSettings.descriptions
    threads: Option[int | None] = THREADS


class BootstrapSettings(Settings):
    """Settings of confidence intervals, and the choice of parts."""

    TITLE: ClassVar[str] = "Analysis"
    resample: Setting[Any, Any] = Groups(
        IMAGES, "Units of intervals and tests: images, groups of images (a column, or FILE.csv:COLUMN), or none.",
        names=["group"], metavar="images|COLUMN|none",
    )  # fmt: skip
    draws: Option[int] = Whole(
        0,
        "Number of bootstrap resamples, for intervals of F1, FROC and differences in AP; 0: none of these.",
        default_text="0, with --resample 1000",
    )
    seed: Option[int] = Whole(0, "Seed of the random numbers.")
    only: PartNames = PartNames(
        tuple(REGISTRY), "Sections to compute; may be repeated.", metavar="SECTION,...", default_text="all"
    )

    def defaults(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """All parts; and resamples where `resample` says of what."""
        unit = given.get("resample")
        found: dict[str, object] = {"only": tuple(REGISTRY)}
        if unit is not None and not (isinstance(unit, str) and unit == NONE):
            found["draws"] = LeaderboardSettings.draws.default
        return found

    def check(self) -> None:
        if self.draws and isinstance(self.resample, str) and self.resample == NONE:
            raise BadParameter(f"draws: expected 0 with resample none, found {self.draws}")


class AnalyseSettings(
    ProtocolSettings,
    ErrorSettings,
    OperatingSettings,
    ConfusionSettings,
    CalibrationSettings,
    SliceSettings,
    SuspiciousSettings,
    BootstrapSettings,
):
    """All settings of `vt.analyse`: those of the protocol, of each part, and of the bootstrap.

    The parts are listed for type checkers; `analyse_settings` adds those of parts that are registered besides.
    """


def analyse_settings() -> type[AnalyseSettings]:
    """Return the settings of `vt.analyse` with those of all registered parts."""
    known = (part.settings for part in all_parts())
    return extend_settings(tuple(one for one in known if one is not None and not issubclass(AnalyseSettings, one)))


@lru_cache
def extend_settings(more: tuple[type[Settings], ...]) -> type[AnalyseSettings]:
    """Return the settings of `vt.analyse` with those of further parts behind them."""
    return type("AnalyseSettings", (AnalyseSettings, *more), {}) if more else AnalyseSettings


def analysis_page() -> str:
    """Return the reference page of all parts as Markdown: what each shows, its settings, plot and JSON keys."""
    lines = ["# Parts of an analysis", "", "Every part of `verite analyse`, generated from its declaration.", ""]
    lines += ["| part | shows | plot | settings |", "|---|---|---|---|"]
    for part in all_parts():
        settings = ", ".join(f"`{one.option}`" for one in own_settings(part))
        lines.append(f"| [{part.name}](#{part.name}) | {part.about} | `{part.kind}` | {settings or '–'} |")
    for part in all_parts():
        # The keys of a part in the JSON document, and the notes below them.
        json_lines = part.json.splitlines()
        first_note = next((i for i, line in enumerate(json_lines) if i and not line.startswith(" ")), len(json_lines))
        keys, notes = "\n".join(json_lines[:first_note]), "\n".join(json_lines[first_note:])
        lines += ["", f"## {part.name}", "", part.about, "", "```text", keys, "```", notes]
        for one in own_settings(part):
            default = f" Default: {one.default_words}." if one.default_words else ""
            lines += ["", f"- `{one.option}` (`{one.name}`): {one.help}{default}"]
    return "\n".join([*lines, ""])


def own_settings(part: PartRecord) -> list[Setting[Any, Any]]:
    """Return the settings that a part declares."""
    return [] if part.settings is None else list(part.settings.declared.values())
