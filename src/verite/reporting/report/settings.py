"""Settings of the HTML report, which the report stores so that it can be reproduced and verified."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from verite.analysis.parts import AnalyseSettings, ProtocolSettings
from verite.errors import BadParameter, excerpt
from verite.settings import check_whole

# Settings of `vt.analyse` that a report accepts too. The protocol has its own settings; the number of bootstrap
# resamples and the audit table are settings of the report.
ANALYSIS = tuple(
    name for name in AnalyseSettings.declared if name not in (*ProtocolSettings.declared, "draws", "audit")
)

MEGABYTE = 1_000_000

PICTURES = ("auto", "link", "embed", "none")


@dataclass(frozen=True)
class ReportSettings:
    """Settings of the report itself; those of the evaluation and of the analysis are kept apart.

    Attributes
    ----------
    title
        Title of the report; by default the name of the ground-truth file, the detectors and the number of images.
    pictures
        Images: auto (link if found), link, embed (store crops in the report) or none.
    budget
        Maximum bytes of the report without images. Predictions that do not fit are counted, but cannot be opened.
    picture_budget
        Maximum bytes of embedded images.
    draws
        Number of bootstrap resamples and simulations for the reliability of the ranking; 0 for none.
    errors
        Annotation errors to simulate, such as "missing=0.05,spurious=0.02".
    """

    title: str | None = None
    pictures: str = "auto"
    budget: int = 4 * MEGABYTE
    picture_budget: int = 8 * MEGABYTE
    draws: int = 200
    errors: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.pictures, str) or self.pictures not in PICTURES:
            listed = f"{', '.join(PICTURES[:-1])} or {PICTURES[-1]}"
            raise BadParameter(f"pictures: expected {listed}, found {excerpt(self.pictures)}")
        for name in ("budget", "picture_budget", "draws"):
            check_whole(name, getattr(self, name), 0)
        for name in ("title", "errors"):
            if not isinstance(getattr(self, name), (str, type(None))):
                raise BadParameter(f"{name}: expected text, found {excerpt(getattr(self, name))}")

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the settings."""
        return tuple(one.name for one in fields(cls))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self)

    @property
    def changed(self) -> dict[str, Any]:
        """The settings that differ from their defaults."""
        defaults = ReportSettings().to_dict()
        return {key: value for key, value in self.to_dict().items() if value != defaults[key]}
