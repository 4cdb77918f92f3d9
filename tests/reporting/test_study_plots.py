"""Pictures of a study show its curves."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import verite as vt
from verite.errors import BadParameter, DataError
from verite.reporting.plots import render
from verite.reporting.study_plots import (
    distance_from_best,
    plot_alterations,
    plot_behaviour,
    plot_curves,
    plot_places,
    plot_results,
    plot_scales,
    plot_surfaces,
    plot_synthesis,
    plot_truths,
    save_study,
)


@cache
def study():
    alterations = ["translation(reach=6)", "rotation(reach=10)", "bite(every=30)", "missing"]
    return vt.study(["iou", "hausdorff", "rms"], ["small square", "wide"], alterations)


def titles(figure):
    return [axes.get_title() for axes in figure.axes if axes.get_title()]


def test_every_truth_has_its_picture_scenes_included():
    assert titles(plot_truths(study())) == ["small square", "wide", "four squares", "four objects"]


def test_alterations_are_shown_with_their_parameters():
    shown = titles(plot_alterations(study()))
    assert shown[0] == "translation(reach=6)\n(4, 0)"
    assert len(shown) == 8


def test_curves_are_shares_of_the_largest_penalty():
    axes = plot_curves(study(), "translation(reach=6)").axes[0]
    lines = {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}
    assert list(lines) == ["iou", "hausdorff", "rms"]
    # Hausdorff's distance of a diagonal shift of t pixels is t √2.
    np.testing.assert_allclose(lines["hausdorff"].get_ydata(), np.abs(np.arange(-6, 7)) / 6)
    assert axes.get_title() == "translation(reach=6), truth: small square"


def test_rotations_show_the_box_the_paper_shows():
    assert plot_curves(study(), "rotation(reach=10)").axes[0].get_title() == "rotation(reach=10), truth: wide"


def test_surfaces_need_two_parameters():
    assert titles(plot_surfaces(study(), "translation(reach=6)")) == ["iou", "hausdorff", "rms"]
    with pytest.raises(BadParameter, match="two parameters"):
        plot_surfaces(study(), "rotation(reach=10)")


def test_gaps_are_shaded():
    figure = plot_behaviour(study(), "translation(reach=6)", ["rms"])
    assert len(figure.axes[0].patches) == 2  # the first step on either side


def test_scale_dependency_shows_its_sign():
    assert titles(plot_scales(study(), "translation(reach=6)")) == ["iou  +", "hausdorff  independent", "rms  -"]


def test_places_are_coloured_by_their_penalty():
    figure = plot_places(study(), "bite(every=30)", ["iou"])
    dots = figure.axes[0].collections[0]
    assert len(dots.get_offsets()) == len(dots.get_array()) > 4


def test_the_heat_map_has_the_best_on_top():
    axes = plot_synthesis(study()).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    scores = study().scores
    assert names == sorted(scores, key=lambda name: -scores[name])


def test_unknown_names_are_told():
    with pytest.raises(BadParameter, match="did you mean 'iou'"):
        plot_curves(study(), "translation(reach=6)", ["iuo"])
    with pytest.raises(BadParameter, match="expected one of"):
        plot_curves(study(), "scale")


@pytest.mark.thorough
def test_the_same_study_gives_the_same_bytes(tmp_path):
    saved = save_study(study(), tmp_path, "png")
    assert {path.name for path in saved} >= {
        "truths.png",
        "synthesis.png",
        "places-bite-every-30.png",
        "curves-missing.png",
    }
    assert (tmp_path / "truths.png").read_bytes() == render(plot_truths(study()), "png")


def test_segmentations_and_metric_values_make_one_figure():
    truth = np.zeros((20, 20), dtype=bool)
    truth[5:15, 5:15] = True
    figure = plot_results(
        truth, {"exact": truth, "shifted": np.roll(truth, 3, axis=1)}, {"IoU": "iou", "HAU": "hausdorff"}
    )
    texts = [(text.get_text(), text.get_weight()) for axes in figure.axes for text in axes.texts]
    # 70 of 130 pixels shared.
    assert ("1", "bold") in texts
    assert ("0.5385", "normal") in texts
    assert ("0", "bold") in texts
    assert ("3", "normal") in texts
    assert distance_from_best("iou", [1.0, 0.25]) == [0, 0.75]


def test_results_of_another_size_and_no_results_are_refused():
    with pytest.raises(DataError, match="small: expected the size of the ground truth"):
        plot_results(np.ones((4, 4)), {"small": np.ones((3, 4))}, {"IoU": "iou"})
    with pytest.raises(BadParameter, match="at least one mask"):
        plot_results(np.ones((4, 4)), {}, {"IoU": "iou"})
