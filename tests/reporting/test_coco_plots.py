"""Plots of COCO results stay readable, however many classes there are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import Rectangle

import verite as vt
from verite.reporting.coco_plots import MOST_BARS, MOST_PANELS, plot_classes, plot_panels, plot_sizes, save_coco


def many(classes: int):
    rng = np.random.default_rng(0)
    at = rng.integers(0, 500, (classes, 2))
    boxes = np.concatenate([at, at + 50], axis=1)
    names = [f"class {i}" for i in range(classes)]
    truth = vt.Annotations.of(["a"] * classes, names, boxes, sizes={"a": (640, 640)})
    moved = boxes + rng.integers(0, 12, (classes, 1))
    pred = vt.Annotations.of(["a"] * classes, names, moved, confidence=rng.random(classes))
    return vt.coco(truth, pred, name="mine", checks="off")


def test_every_plot_is_saved(tmp_path):
    saved = save_coco(many(3), tmp_path)
    assert sorted(path.name for path in saved) == ["classes.png", "pr-classes.png", "pr.png", "sizes.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in saved)


def test_bars_are_the_scores_of_the_classes():
    results = many(5)
    bars = [bar.get_width() for bar in plot_classes(results).axes[0].patches if isinstance(bar, Rectangle)]
    assert bars == sorted(results.class_scores()["AP"])


@pytest.mark.thorough
def test_figures_grow_with_the_classes_and_very_many_are_cut():
    assert plot_classes(many(80)).get_figheight() > 0.15 * 80
    assert len(plot_classes(many(150)).axes[0].patches) == MOST_BARS
    panels = plot_panels(many(80))
    assert sum(axes.axison for axes in panels.axes) == MOST_PANELS


def test_sizes_without_objects_have_no_number():
    shown = [text.get_text() for text in plot_sizes(many(3)).axes[0].texts]
    assert shown.count("none") == 4  # no small and no large object, for AP and AR


@pytest.mark.parametrize("systems", [1, 3])
def test_bar_charts_grow_with_their_classes(systems):
    results = many(80)
    axes = results.plot("classes") if systems == 1 else vt.compare(*[results] * systems).plot()
    assert axes.figure.get_figheight() > 12


def test_several_detectors_are_compared_in_plots_of_their_own(tmp_path):
    from verite.reporting.comparison_plots import save_comparison

    demo = Path(vt.__file__).parent / "data" / "demo"
    results = [vt.coco(demo / "truth.json", demo / f"{name}.json") for name in ("mole", "hawk", "magpie")]
    saved = save_comparison(results, tmp_path, "svg")
    assert [path.name for path in saved] == ["compare-pr.svg", "compare-ap.svg", "compare-classes.svg"]
    for path in saved:
        text = path.read_text()
        assert all(name in text for name in ("hawk", "magpie", "mole"))
    assert f"{results[1]['AP'].value:.3f}" in (tmp_path / "compare-ap.svg").read_text()
