"""Pictures of an analysis: what do its parts look like?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.analyse import Analysis, analyse
from verite.analysis.confusion import MISSED, NOTHING
from verite.analysis.operating import FROC
from verite.analysis.part import AnalysisPart
from verite.evaluation.evaluation import Evaluation
from verite.model.results import Results
from verite.reporting.plots import COLOURS, label_axes, shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from verite.analysis.calibration import Calibration
    from verite.analysis.confusion import Confusion
    from verite.analysis.errors import Errors
    from verite.analysis.operating import Operating
    from verite.analysis.slices import Slices


def find_part(name: str, shown: Any) -> Any:
    """The part of an analysis that is to be drawn: itself, of an analysis, or of results that can be analysed."""
    if isinstance(shown, AnalysisPart):
        return shown
    if isinstance(shown, Results) and isinstance(getattr(shown, "evaluation", None), Evaluation):
        shown = analyse(shown)
    return getattr(shown, name)


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


MOST_CELLS = 30  # labels whose counts are written into their cells


def draw_confusion(confusion: Confusion, axes: Axes) -> None:
    """Truths by row, predictions by column, shaded by the share of the row."""
    shares = np.nan_to_num(confusion.by_truth())
    axes.imshow(np.sqrt(shares), cmap="Blues", vmin=0, vmax=1, aspect="equal")
    rows, columns = [*confusion.labels, NOTHING], [*confusion.labels, MISSED]
    size = 8 if len(rows) <= MOST_CELLS else 5
    axes.set_xticks(np.arange(len(columns)), [shorten(name, 20) for name in columns], rotation=90, fontsize=size)
    axes.set_yticks(np.arange(len(rows)), [shorten(name, 20) for name in rows], fontsize=size)
    if len(rows) <= MOST_CELLS:
        for i, j in zip(*np.nonzero(confusion.matrix), strict=True):
            colour = "white" if shares[i, j] > 0.4 else "black"
            axes.text(j, i, f"{confusion.matrix[i, j]:,}", ha="center", va="center", fontsize=6, color=colour)
    axes.set(xlabel="predicted", ylabel="truth")
    axes.set_title(f"{confusion.matches.results.name}: confusion at IoU {confusion.matches.iou:g}")


def draw_calibration(calibration: Calibration, axes: Axes) -> None:
    """How often predictions are right, by what they say; bars are 95 % intervals."""
    label_axes(axes, "confidence", "share that is right")
    axes.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--", label="calibrated")
    bins = calibration.reliability
    at, right = ([one[key] for one in bins] for key in ("confidence", "right"))
    gaps = [[one["right"] - one["right_low"] for one in bins], [one["right_high"] - one["right"] for one in bins]]
    axes.errorbar(at, right, np.maximum(gaps, 0), color=COLOURS[0], marker="o", ms=4, lw=1.5, capsize=2, label="all")
    error = calibration.pooled.get("ece", float("nan"))
    axes.set_title(f"{calibration.matches.results.name}: {calibration.absent or f'calibration error {error:.3f}'}")
    axes.legend(frameon=False, fontsize=8, loc="upper left")


def draw_froc(operating: Operating, axes: Axes) -> None:
    """Recall against wrong predictions per image."""
    sweep = operating.micro
    axes.step(sweep.per_image, sweep.recall, where="post", color=COLOURS[0], lw=1.5)
    axes.plot(FROC, operating.froc, ls="none", marker="o", color=COLOURS[1], label=f"CPM {operating.cpm:.3f}")
    axes.set_xscale("log", base=2)
    axes.set(xlim=(FROC[0] / 2, FROC[-1] * 2), ylim=(-0.02, 1.05), xlabel="wrong per image", ylabel="recall")
    axes.set_xticks(FROC, [f"{k:g}" for k in FROC])
    axes.grid(color="0.9", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"{operating.matches.results.name}: recall against wrong predictions")
    axes.legend(frameon=False, fontsize=8, loc="lower right")


def draw_slices(slices: Slices, axes: Axes) -> None:
    """Recall of each slice with its 95 % interval; those with few truths are pale."""
    rows = [one for one in slices.rows if one["truths"]]
    for i, one in enumerate(rows):
        gaps = [[max(one["recall"] - one["recall_low"], 0)], [max(one["recall_high"] - one["recall"], 0)]]
        alpha = 1.0 if one["is_ranked"] else 0.35
        axes.errorbar([one["recall"]], [i], xerr=gaps, fmt="o", ms=4, capsize=2, color=COLOURS[0], alpha=alpha)
    axes.set_yticks(np.arange(len(rows)), [shorten(f"{one['slice']}: {one['bin']}", 30) for one in rows], fontsize=7)
    axes.set(xlim=(-0.02, 1.02), ylim=(len(rows) - 0.5, -0.5), xlabel="recall")
    axes.grid(color="0.9", lw=0.6, axis="x")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"{slices.matches.results.name}: recall at IoU {slices.matches.iou:g}")


# The kinds of pictures: the part each shows, and how it is drawn.
DRAWN: dict[str, tuple[str, Callable[[Any, Axes], None]]] = {
    "errors": ("errors", draw_errors),
    "froc": ("operating", draw_froc),
    "confusion": ("confusion", draw_confusion),
    "calibration": ("calibration", draw_calibration),
    "slices": ("slices", draw_slices),
}
PARTS = {kind: (partial(can_draw_part, name), partial(draw_part, name, draw)) for kind, (name, draw) in DRAWN.items()}
