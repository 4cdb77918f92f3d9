"""Plots of an error analysis: costs, confusion matrix, calibration, FROC, slices, LRP."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.analyse import Analyses, Analysis, analyse
from verite.analysis.comparison import SystemPair
from verite.analysis.confusion import MISSED, NOTHING
from verite.analysis.operating import FROC
from verite.analysis.parts import AnalysisPart
from verite.analysis.suspicious import KINDS
from verite.model.results import Results
from verite.plotting import COLOURS, MOST_OF_NAME, label_axes, shorten, shorten_apart

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from verite.analysis.calibration import Calibration
    from verite.analysis.confusion import Confusion
    from verite.analysis.errors import Errors
    from verite.analysis.lrp import LRP
    from verite.analysis.matches import Floats, Ints
    from verite.analysis.operating import Operating
    from verite.analysis.slices import Slices
    from verite.analysis.suspicious import Suspicious
    from verite.analysis.worst import Worst


def find_part(name: str, shown: Any) -> Any:
    """The part of an analysis that is to be drawn: itself, of an analysis, or of results that can be analysed."""
    if isinstance(shown, AnalysisPart):
        return shown
    if isinstance(shown, Results):
        shown = analyse(shown)
    return getattr(shown, name)


def can_draw_part(name: str, shown: Any) -> bool:
    if isinstance(shown, AnalysisPart):
        return shown.name == name
    return isinstance(shown, Analysis) or getattr(getattr(shown, "evaluation", None), "has_objects", False)


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
    axes.margins(x=0.12)
    axes.set_yticks(at, types)
    axes.set(xlabel="AP", ylim=(len(types) - 0.5, -0.5))
    set_title(axes, errors, f"AP {errors.base:.3f}, missing {1 - errors.base:.3f}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="best")


MOST_LABELS, MOST_IMAGES = 30, 20  # below each other
PALE = ("#56B4E9", "#E69F00", "#CC79A7", "#F0E442", "#009E73", "#D55E00")  # behind black figures
LEAST_WRITTEN = 0.05  # of a bar that has room for its figure
MOST_CONFUSED = 100  # labels of a confusion that is drawn


def draw_confusion(confusion: Confusion, axes: Axes) -> None:
    """Truths by row, predictions by column, shaded by the share of the row; of very many labels the most confused."""
    chosen = most_confused(confusion)
    shares = np.nan_to_num(confusion.by_truth())[np.ix_(chosen, chosen)]
    axes.imshow(np.sqrt(shares), cmap="Blues", vmin=0, vmax=1, aspect="equal")
    labels = [confusion.labels[k] for k in chosen[:-1]]
    for set_ticks, last, turn in ((axes.set_xticks, MISSED, 90), (axes.set_yticks, NOTHING, 0)):
        set_ticks(np.arange(len(chosen)), [*shorten_apart(labels, 20), last], rotation=turn, fontsize=8)
    write_counts(axes, confusion.matrix[np.ix_(chosen, chosen)], shares)
    axes.set(xlabel="predicted", ylabel="truth")
    few = "" if len(labels) == len(confusion.labels) else f", most confused {len(labels)} of {len(confusion.labels):,}"
    at = confusion.matches.words.at(confusion.matches.iou)
    set_title(axes, confusion, f"confusion{few}\nat {at}, {confusion.tell_floor()}")


def most_confused(confusion: Confusion) -> Ints:
    """The labels that are drawn, and the last row and column: all, or those with most that is not on the diagonal."""
    inside = confusion.matrix[:-1, :-1]
    wrong = inside.sum(axis=0) + inside.sum(axis=1) - 2 * np.diag(inside)
    chosen = np.sort(np.argsort(-wrong, kind="stable")[:MOST_CONFUSED])
    return np.append(chosen, len(inside))


def write_counts(axes: Axes, matrix: Ints, shares: Floats) -> None:
    """Each count into its cell, the larger the fewer there are."""
    size = min(11, max(5, 90 / len(matrix)))
    for i, j in zip(*np.nonzero(matrix), strict=True):
        colour = "white" if shares[i, j] > 0.4 else "black"
        axes.text(j, i, f"{matrix[i, j]:,}", ha="center", va="center", fontsize=size, color=colour)


def draw_calibration(calibration: Calibration, axes: Axes) -> None:
    """How often predictions are right, by what they say; bars are 95 % intervals."""
    label_axes(axes, "confidence", "share that is right")
    axes.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--", label="calibrated")
    bins = calibration.reliability
    at, right = ([one[key] for one in bins] for key in ("confidence", "right"))
    gaps = [[one["right"] - one["right_low"] for one in bins], [one["right_high"] - one["right"] for one in bins]]
    axes.errorbar(at, right, np.maximum(gaps, 0), color=COLOURS[0], marker="o", ms=4, lw=1.5, capsize=2, label="all")
    error = calibration.pooled.get("ece", float("nan"))
    set_title(axes, calibration, calibration.absent or f"calibration error {error:.3f}")
    axes.legend(frameon=False, fontsize=8, loc="upper left")


def draw_froc(operating: Operating, axes: Axes) -> None:
    """Recall against wrong predictions per image."""
    sweep = operating.micro
    last = np.maximum(sweep.per_image[-1:], 2 * FROC[-1])  # nothing more is found from there on
    line = np.append(sweep.per_image, last), np.append(sweep.recall, sweep.recall[-1:])
    axes.step(*line, where="post", color=COLOURS[0], lw=1.5)
    axes.plot(FROC, operating.froc, ls="none", marker="o", color=COLOURS[1], label=f"CPM {operating.cpm:.3f}")
    axes.set_xscale("log", base=2)
    axes.set(xlim=(FROC[0] / 2, FROC[-1] * 2), ylim=(-0.02, 1.05), xlabel="wrong per image", ylabel="recall")
    axes.set_xticks(FROC, [f"{k:g}" for k in FROC])
    axes.grid(color="0.9", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    set_title(axes, operating, "recall against wrong predictions")
    axes.legend(frameon=False, fontsize=8, loc="lower right")


def draw_slices(slices: Slices, axes: Axes) -> None:
    """Recall of each slice with its 95 % interval; those with few truths are pale."""
    rows = [one for one in slices.rows if one["truths"]]
    for i, one in enumerate(rows):
        gaps = [[max(one["recall"] - one["recall_low"], 0)], [max(one["recall_high"] - one["recall"], 0)]]
        alpha = 1.0 if one["is_ranked"] else 0.35
        axes.errorbar([one["recall"]], [i], xerr=gaps, fmt="o", ms=4, capsize=2, color=COLOURS[0], alpha=alpha)
    label_rows(axes, [f"{one['slice']}: {one['bin']}" for one in rows])
    axes.set(xlim=(-0.02, 1.02), xlabel="recall")
    axes.grid(color="0.9", lw=0.6, axis="x")
    set_title(axes, slices, f"recall at {slices.matches.words.at(slices.matches.iou)}")


def draw_lrp(lrp: LRP, axes: Axes) -> None:
    """The optimal LRP error of the worst labels, and what it is made of."""
    names, optima = lrp.matches.names, lrp.optima
    order = sorted(optima, key=lambda k: -optima[k].olrp)[:MOST_LABELS]
    at = np.arange(len(order))
    axes.barh(at, [optima[k].olrp for k in order], 0.8, color="0.88", label="oLRP")
    for i, (key, label) in enumerate({"loc": "1 − overlap", "fp": "wrong", "fn": "not found"}.items()):
        values = [getattr(optima[k], key) for k in order]
        axes.plot(values, at, ls="none", marker="osD"[i], ms=4, color=COLOURS[i], clip_on=False, label=label)
    label_rows(axes, [names[k] for k in order])
    axes.set(xlim=(0, 1.02), xlabel="error")
    set_title(axes, lrp, f"optimal LRP {lrp.mean.olrp:.3f}")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))


def draw_worst(worst: Worst, axes: Axes) -> None:
    """The images whose errors cost most."""
    chosen = worst.images(MOST_IMAGES)
    axes.barh(np.arange(len(chosen)), worst.of_images[chosen], 0.8, color=COLOURS[0])
    for i, image in enumerate(chosen.tolist()):
        count = int(worst.error_counts[image])
        axes.text(worst.of_images[image], i, f" {count} error{'s' if count > 1 else ''}", va="center", fontsize=7)
    label_rows(axes, [worst.matches.image_name(i) for i in chosen.tolist()])
    axes.margins(x=0.15)
    axes.set(xlabel="AP gained if all errors of the image were mended one by one")
    set_title(axes, worst, "images to look at first")


def draw_suspicious(suspicious: Suspicious, axes: Axes) -> None:
    """How many records look wrong in each way, and how many of them probably are."""
    kinds = [*KINDS.values(), "is it there?", "twice?"]
    listed = [[one.probability for one in suspicious.listed if one.kind == kind] for kind in kinds]
    at = np.arange(len(kinds))
    axes.barh(at - 0.2, [len(values) for values in listed], 0.38, color=COLOURS[4], label="listed")
    axes.barh(at + 0.2, [sum(values) for values in listed], 0.38, color=COLOURS[0], label="expected to be wrong")
    for i, values in enumerate(listed):
        axes.text(sum(values), i + 0.2, f" {sum(values):.1f}", va="center", fontsize=8)
    label_rows(axes, kinds)
    axes.set(xlabel="records")
    set_title(axes, suspicious, "records that look wrong")
    axes.legend(frameon=False, fontsize=8, loc="best")


def plot_pair(pair: SystemPair, axes: Axes) -> None:
    """What each type of error costs two systems."""
    at = np.arange(len(pair.difference))
    names = shorten_apart(pair.names, MOST_OF_NAME)
    for i, (name, system) in enumerate(zip(names, (pair.one, pair.two), strict=True)):
        label = f"{name}, AP {system.errors.base:.3f}"
        axes.barh(at + 0.4 * i - 0.2, list(system.errors.cost.values()), 0.38, color=COLOURS[i], label=label)
    label_rows(axes, list(pair.difference))
    axes.set(xlabel="cost in AP (adds up to 1 − AP)")
    axes.set_title(" and ".join(names))
    axes.legend(frameon=False, fontsize=8, loc="best")


def draw_systems(shown: Analyses, axes: Axes) -> None:
    """Of each system what it has and what each type of error costs it: all bars add up to 1; the best on top."""
    systems = sorted(shown.systems.items(), key=lambda one: -one[1].errors.base)
    at, left = np.arange(len(systems)), np.zeros(len(systems))
    pieces = {"AP": [one.errors.base for _, one in systems]}
    pieces |= {key: [one.errors.cost[key] for _, one in systems] for key in systems[0][1].errors.cost}
    for (label, widths), colour in zip(pieces.items(), ("0.25", *PALE), strict=True):
        axes.barh(at, widths, 0.8, left, color=colour, edgecolor="white", lw=0.6, label=label)
        for i, width in enumerate(widths):
            if width >= LEAST_WRITTEN:
                ink = "white" if label == "AP" else "black"
                axes.text(left[i] + width / 2, i, f"{width:.2f}", ha="center", va="center", fontsize=8, color=ink)
        left = left + np.nan_to_num(widths)
    label_rows(axes, shorten_apart([name for name, _ in systems], MOST_OF_NAME))
    axes.set(xlim=(0, 1), xlabel="AP, and what each type of error takes from it")
    axes.legend(frameon=False, fontsize=8, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), handlelength=1)


def set_title(axes: Axes, part: AnalysisPart, told: str) -> None:
    """Whose part it is, as far as there is room, and what it says."""
    axes.set_title(f"{shorten(part.matches.results.name, MOST_OF_NAME)}: {told}")


def label_rows(axes: Axes, names: list[str]) -> None:
    """Bars from top to bottom."""
    small: dict[str, Any] = {"fontsize": 7} if len(names) > 16 else {}
    axes.set_yticks(np.arange(len(names)), shorten_apart(names, 30), **small)
    axes.set(ylim=(max(len(names), 1) - 0.5, -0.5))
    axes.spines[["top", "right"]].set_visible(False)


# The kinds of pictures: the part each shows, and how it is drawn.
DRAWN: dict[str, tuple[str, Callable[[Any, Axes], None]]] = {
    "errors": ("errors", draw_errors),
    "froc": ("operating", draw_froc),
    "confusion": ("confusion", draw_confusion),
    "calibration": ("calibration", draw_calibration),
    "slices": ("slices", draw_slices),
    "lrp": ("lrp", draw_lrp),
    "worst": ("worst", draw_worst),
    "suspicious": ("suspicious", draw_suspicious),
}


def count_rows(kind: str, shown: Any) -> int:
    """How many rows a picture has, below each other."""
    if kind == "confusion":
        return len(most_confused(find_part("confusion", shown)))
    if kind == "slices":
        return len(find_part("slices", shown).rows)
    return 0


PARTS: dict[str, tuple[Callable[[Any], bool], Callable[[Any, Axes], None]]] = {
    kind: (partial(can_draw_part, name), partial(draw_part, name, draw)) for kind, (name, draw) in DRAWN.items()
}
PARTS["systems"] = (lambda shown: isinstance(shown, Analyses), draw_systems)
PARTS["comparison"] = (lambda shown: isinstance(shown, SystemPair), plot_pair)
