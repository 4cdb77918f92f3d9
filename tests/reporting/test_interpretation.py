"""Pictures of scenes, scores and class distances."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.scene.scenes import SIDE, of_masks, scene, scored
from verite.errors import BadParameter
from verite.reporting.plots import render
from verite.reporting.scene_score_plots import UNMATCHED, group_colours, plot_scores, save_scene_scores

A, B, C = (0, 0, 10, 10), (20, 0, 30, 10), (40, 0, 50, 10)


def texts(figure):
    from matplotlib.text import Text

    return [t.get_text() for t in figure.findobj(Text)]


def test_a_scene_shows_objects_matches_and_matrices():
    from matplotlib.patches import ConnectionPatch

    found = scored(scene([A, B]), scene([A, C]))
    figure = vt.plot_scene(found.trace("a"))
    shown = texts(figure)
    for text in (
        "ground truth: 2 objects, 1 missed",
        "predictions: 2 objects, 1 spurious",
        "1 cat",
        "IoU",
        "compensation",
    ):
        assert text in shown
    assert len(figure.findobj(ConnectionPatch)) == 1
    assert render(figure, "png")[:4] == b"\x89PNG"


def test_objects_that_hang_together_share_a_colour():
    trace = scored(scene([(0, 0, 10, 10), (0, 10, 10, 20), B]), scene([(0, 0, 10, 20), C])).trace("a")
    truths, preds = group_colours(trace)
    assert truths[0] == truths[1] == preds[0]
    assert truths[2] == preds[1] == UNMATCHED


def test_masks_and_polygons_are_drawn():
    mask = np.zeros((1, SIDE, SIDE), dtype=bool)
    mask[0, 2:8, 3:9] = True
    pair = of_masks(mask, [0], [0], 1), of_masks(np.roll(mask, 1, axis=2), [0], [0], 1)
    assert render(vt.plot_scene(scored(*pair).trace(0)), "svg")


@pytest.mark.parametrize(("truths", "preds"), [([], []), ([A], []), ([], [A]), ([A] * 40, [A] * 20)])
def test_scenes_of_any_size_are_drawn(truths, preds):
    assert render(vt.plot_scene(scored(scene(truths), scene(preds)).trace("a")), "png")


def test_names_are_text_and_nothing_else(tmp_path):
    truth = vt.Annotations.of(["a$b$.png"], ["$\\frac$"], [A])
    found = scored(truth, truth)
    saved = save_scene_scores(found, tmp_path)
    assert sorted(path.name for path in saved) == ["scene-a-b.png", "scores.png"]


def test_the_spread_of_scores_is_drawn():
    figure = plot_scores(scored(scene([A, B]), scene([A])))
    assert any("mean 0.500" in text for text in texts(figure))


def test_a_heat_map_has_every_class_and_number():
    distances = vt.ClassDistances.of(["cat", "dog"], [[0, 0.25], [0.25, 0]])
    figure = vt.plot_distances(distances)
    axes = figure.axes[0]
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        assert [label.get_text() for label in labels] == ["cat", "dog"]
    assert texts(figure).count(".25") == 2
    many = [f"class {i}" for i in range(60)]
    assert vt.plot_distances(vt.ClassDistances.of(many, 1 - np.eye(60)))


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(BadParameter, match="expected a matrix with class names"):
        vt.plot_distances(vt.ClassDistances())
    with pytest.raises(BadParameter, match="expected the trace of an image"):
        vt.plot_scene(vt.Trace.of([[1.0]], [[0.0]], [[0.0]]))
