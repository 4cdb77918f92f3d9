"""Pictures of an analysis: what do its parts look like?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.analyse import Analysis, analyse
from verite.analysis.part import AnalysisPart
from verite.evaluation.evaluation import Evaluation
from verite.model.results import Results
from verite.reporting.plots import COLOURS

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from verite.analysis.errors import Errors


def find_part(name: str, shown: Any) -> Any:
    """The part of an analysis that is to be drawn: itself, of an analysis, or of results that can be analysed."""
    if isinstance(shown, AnalysisPart):
        return shown if shown.name == name else None
    if isinstance(shown, Results) and isinstance(getattr(shown, "evaluation", None), Evaluation):
        shown = analyse(shown)
    return getattr(shown, name) if isinstance(shown, Analysis) else None


def can_draw_part(name: str, shown: Any) -> bool:
    if isinstance(shown, AnalysisPart):
        return shown.name == name
    return isinstance(shown, Analysis) or isinstance(getattr(shown, "evaluation", None), Evaluation)


def draw_part(name: str, draw: Callable[[Any, Axes], None], shown: Any, axes: Axes) -> None:
    draw(find_part(name, shown), axes)


def draw_errors(errors: Errors, axes: Axes) -> None:
    """What each type costs and would gain alone."""
    types = list(errors.cost)
    at = np.arange(len(types))
    axes.barh(at - 0.2, list(errors.cost.values()), 0.38, color=COLOURS[0], label="cost (adds up)")
    axes.barh(at + 0.2, list(errors.alone.values()), 0.38, color=COLOURS[4], label="alone (TIDE)")
    for i, cost in enumerate(errors.cost.values()):
        axes.text(cost, i - 0.2, f" {cost:.3f}", va="center", fontsize=8)
    axes.set_yticks(at, types)
    axes.set(xlabel="AP", ylim=(len(types) - 0.5, -0.5))
    axes.set_title(f"{errors.matches.results.name}: AP {errors.base:.3f}, missing {1 - errors.base:.3f}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="best")


DRAWN: dict[str, Callable[[Any, Axes], None]] = {"errors": draw_errors}
PARTS = {name: (partial(can_draw_part, name), partial(draw_part, name, draw)) for name, draw in DRAWN.items()}
