"""Settings of the HTML report, which the report stores so that it can be reproduced and verified."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verite.analysis.parts import AnalyseSettings, ProtocolSettings
from verite.settings import Bytes, Choice, Option, Setting, Settings, Text, Whole

if TYPE_CHECKING:
    from verite.files import JsonObject

# Settings of `vt.analyse` that a report accepts too. The protocol has its own settings; the number of bootstrap
# resamples and the audit table are settings of the report.
ANALYSIS = tuple(
    name for name in AnalyseSettings.declared if name not in (*ProtocolSettings.declared, "draws", "audit")
)

MEGABYTE = 1_000_000


class ReportSettings(Settings):
    """Settings of the report itself; those of the evaluation and of the analysis are kept apart."""

    title: Option[str | None] = Text(
        None,
        "Title of the report.",
        metavar="TEXT",
        default_text="ground-truth file, detectors, number of images",
        section="Output",
    )
    pictures: Option[str] = Choice(
        "auto",
        "Images: auto (link if found), link, embed (store crops in the report) or none.",
        ("auto", "link", "embed", "none"),
        section="Output",
    )
    budget: Setting[int | str, int] = Bytes(
        4 * MEGABYTE,
        "Maximum bytes of the report without images; predictions that do not fit are counted, but cannot be opened.",
        metavar="SIZE",
        default_text="4MB",
        section="Output",
    )
    picture_budget: Setting[int | str, int] = Bytes(
        8 * MEGABYTE, "Maximum bytes of embedded images.", metavar="SIZE", default_text="8MB", section="Output"
    )
    draws: Option[int] = Whole(
        200, "Bootstrap resamples and simulations for the reliability of the ranking; 0: none.", metavar="N"
    )
    errors: Option[str | None] = Text(
        None,
        "Annotation errors to simulate, as in verite leaderboard.",
        metavar="KIND=RATE,...",
        default_text="none",
    )

    def to_dict(self) -> JsonObject:
        """Return the settings as plain values."""
        return dict(vars(self))

    @property
    def changed(self) -> JsonObject:
        """The settings that differ from their defaults."""
        defaults = ReportSettings().to_dict()
        return {key: value for key, value in self.to_dict().items() if value != defaults[key]}
