"""Plots of error analyses by kind, from the records of the parts: `vt.plot(results, "confusion")` and the like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verite.analysis.analyse import Analyses, Analysis, analyse
from verite.analysis.comparison import DetectorPair
from verite.analysis.part import AnalysisPart, PartRecord
from verite.analysis.parts import all_parts
from verite.evaluation.results import MatchedResults
from verite.model.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class PartPlot:
    """The plot of one part: of the part itself, of an analysis, or of results that can be analysed."""

    part: PartRecord

    @property
    def is_square(self) -> bool:
        """Whether the plot has as many columns as rows."""
        return self.part.is_square

    def fits(self, shown: Any) -> bool:
        """Whether the part can be drawn of this."""
        if self.part.build is None:
            return isinstance(shown, DetectorPair)
        if isinstance(shown, AnalysisPart):
            return shown.name == self.part.name
        return isinstance(shown, Analysis) or (isinstance(shown, MatchedResults) and shown.has_objects)

    def find(self, shown: Any) -> Any:
        """Return the part that is drawn, analysing results first."""
        if isinstance(shown, AnalysisPart | DetectorPair):
            return shown
        return getattr(analyse(shown) if isinstance(shown, Results) else shown, self.part.name)

    def draw(self, shown: Any, axes: Axes) -> None:
        """Draw the part on axes."""
        self.part.plot(self.find(shown), axes)

    def rows(self, shown: Any) -> int:
        """Number of rows below each other, which make the figure taller."""
        return self.part.rows(self.find(shown))


@dataclass(frozen=True)
class DetectorsPlot:
    """The plot of several analysed detectors: AP and costs that add up to 1."""

    is_square = False

    def fits(self, shown: Any) -> bool:
        """Whether these are several analyses."""
        return isinstance(shown, Analyses)

    def draw(self, shown: Any, axes: Axes) -> None:
        """Draw one bar per detector."""
        shown.draw(axes)

    def rows(self, shown: Any) -> int:
        """Zero: the figure has its usual height."""
        return 0


def analysis_kinds() -> dict[str, PartPlot | DetectorsPlot]:
    """Return the kinds of plots of all registered parts, in their order, and that of several detectors."""
    found: dict[str, PartPlot | DetectorsPlot] = {part.kind: PartPlot(part) for part in all_parts()}
    return {**found, "systems": DetectorsPlot()}
