"""What can a page be asked, beside what is measured and analysed?"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from verite.analysis.settings import AnalyseSettings, ProtocolSettings
from verite.errors import BadParameter
from verite.records import record

# What an analysis can be asked here; how an order is drawn again, and what was checked, are asked of the page.
ELSEWHERE = (*ProtocolSettings.declared, "draws", "audit")
ANALYSIS = tuple(name for name in AnalyseSettings.declared if name not in ELSEWHERE)
MEGABYTE = 1_000_000
PICTURES = ("auto", "link", "embed", "none")


@record()
class PageSettings:
    """Settings of a page; they are kept in it, so that it can be made again."""

    title: str | None = None
    pictures: str = "auto"
    budget: int = 4 * MEGABYTE  # bytes without pictures
    picture_budget: int = 8 * MEGABYTE
    draws: int = 200  # of other images and truths, for how sure an order is
    errors: str | None = None  # of the truth

    def __post_init__(self) -> None:
        if self.pictures not in PICTURES:
            listed = f"{', '.join(PICTURES[:-1])} or {PICTURES[-1]}"
            raise BadParameter(f"pictures: expected {listed}, found {self.pictures!r}")
        for word, value in (("budget", self.budget), ("picture_budget", self.picture_budget)):
            if value < 0:
                raise BadParameter(f"{word}: expected bytes from 0 up, found {value}")

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(one.name for one in fields(cls))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def changed(self) -> dict[str, Any]:
        """Those that are not as they are by themselves."""
        usual = PageSettings().to_dict()
        return {key: value for key, value in self.to_dict().items() if value != usual[key]}
