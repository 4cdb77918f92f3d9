"""Pictures of localization show the numbers they are about."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from verite.errors import BadParameter
from verite.reporting.localization import plot_distributions, plot_object, plot_pair, save_localization, worst_pair
from verite.reporting.plots import render


@pytest.fixture
def results():
    sizes = {"a": (40, 30)}
    truth = vt.Annotations.of(
        ["a", "a", "a"], ["cat"] * 3, [[0, 0, 10, 10], [20, 10, 30, 20], [0, 20, 5, 25]], sizes=sizes
    )
    boxes = [[0, 0, 10, 8], [20, 10, 30, 15], [33, 3, 38, 9]]
    pred = vt.Annotations.of(["a", "a", "a"], ["cat"] * 3, boxes, sizes=sizes, confidence=[0.9, 0.8, 0.7])
    return vt.localize(truth, pred, "iou", "hausdorff", checks="off")


def test_each_metric_has_its_histogram_mean_and_direction(results):
    figure = plot_distributions(results)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["iou", "hausdorff"]
    assert [axes.get_xlabel() for axes in figure.axes] == ["higher is better", "lower is better [px]"]
    assert sum(patch.get_height() for patch in figure.axes[0].patches) == 2
    assert figure.axes[0].get_legend().get_texts()[0].get_text() == "mean 0.65"
    assert "2 matched, 1 missed, 1 spurious" in figure.get_suptitle()


def test_a_metric_without_values_says_so():
    nothing = vt.Annotations.of([], [], [], images=["a"], labels=["cat"])
    figure = plot_distributions(vt.localize(nothing, nothing, "iou", checks="off"))
    assert figure.axes[0].texts[0].get_text() == "no values"


def test_the_pair_is_drawn_with_its_largest_distance(results):
    figure = plot_object(results, 1)
    axes = figure.axes[0]
    assert axes.get_title() == "a, cat\niou 0.5   hausdorff 5"
    longest = axes.get_lines()[-1]
    (x1, x2), (y1, y2) = longest.get_data()
    assert np.hypot(x2 - x1, y2 - y1) == pytest.approx(5)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[-1] == "largest distance, 5 px"
    assert {
        "ground truth only",
        "prediction only",
        "both",
        "contour of the ground truth",
        "contour of the prediction",
    } <= set(labels)


def test_the_worst_pair_is_found(results):
    assert [worst_pair(results, m) for m in results.metrics] == [1, 1]


def test_any_two_regions_make_a_picture():
    mask = np.zeros((20, 20), dtype=bool)
    mask[5:12, 5:12] = True
    figure = plot_pair(mask, [4, 4, 10, 12], "iou", "hausdorff", title="a square")
    assert figure.axes[0].get_title().startswith("a square\niou ")
    assert figure.axes[0].get_xlim() == (1, 15)  # cropped to the objects with three pixels around them
    alone = plot_pair(mask, None, "iou")
    assert "largest distance" not in [t.get_text() for t in alone.legends[0].get_texts()][-1]
    empty = plot_pair(np.zeros((5, 7), bool), np.zeros((5, 7), bool))
    assert empty.axes[0].get_xlim() == (0, 7)


def test_the_colours_show_who_has_which_pixel():
    from verite.reporting.localization import BOTH, PRED, TRUTH, colour_regions

    image = colour_regions(np.array([[1, 1, 0, 0]], dtype=bool), np.array([[0, 1, 1, 0]], dtype=bool))
    from matplotlib.colors import to_rgba

    expected = [to_rgba(colour, 0.35) for colour in (TRUTH, BOTH, PRED)] + [(1, 1, 1, 1)]
    np.testing.assert_allclose(image[0], expected)


@pytest.mark.thorough
def test_pictures_are_written_and_the_same_every_time(results, tmp_path):
    names = [path.name for path in save_localization(results, tmp_path)]
    assert names == ["distributions.png", "worst-iou.png", "worst-hausdorff.png"]
    assert render(plot_object(results, 0), "png") == render(plot_object(results, 0), "png")


def test_an_object_that_is_not_there_is_refused(results):
    with pytest.raises(BadParameter, match="expected a number from 0 to 1, found 2"):
        plot_object(results, 2)
