"""Figures of the papers, reproduced."""

from __future__ import annotations

import numpy as np
import pytest

from verite.errors import BadParameter, DataError
from verite.reporting.study_plots import distance_from_best, plot_results
from verite.reproductions.gretsi import STEPS, reproduce_gretsi
from verite.reproductions.gretsi_plots import relative_curve, save_stars
from verite.reproductions.jei_plots import save_illustrations


@pytest.mark.thorough
def test_figures_3_to_6_of_2009_show_what_its_text_says(tmp_path):
    stars = reproduce_gretsi().outcome
    names = [path.name for path in save_stars(stars, tmp_path)]
    assert names == ["figure-3-translation.png", "figure-4-L1.png", "figure-5-scale.png", "figure-6-rotation.png"]
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in names)
    labels = [row.label for row in stars.rows]
    # "Hen1 does not penalise translation at all"; a box shifted by n pixels is n pixels away.
    assert not relative_curve(stars, labels.index("Hen1"), "translation", 0).any()
    np.testing.assert_allclose(relative_curve(stars, labels.index("Hausdorff"), "translation", 0), np.abs(STEPS) / 16)
    # "L1 penalises one pixel on the diagonal more than 16 pixels along an axis."
    lq = stars.values["tall", "translation"][labels.index("Lq")]
    assert lq[2, 17] > max(lq[0, -1], lq[1, -1])
    # "RobCor gives its worst at 90°, RobCom at 45°."
    assert relative_curve(stars, labels.index("RobCor"), "rotation", 0).argmax() == 20
    assert relative_curve(stars, labels.index("RobCom"), "rotation", 0).argmax() == 11


def test_segmentations_and_metric_values_make_one_figure(tmp_path):
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
    assert [path.name for path in save_illustrations(tmp_path)] == ["figure-12.png", "figure-13.png", "figure-14.png"]


def test_results_of_another_size_and_no_results_are_refused():
    with pytest.raises(DataError, match="small: expected the truth's size"):
        plot_results(np.ones((4, 4)), {"small": np.ones((3, 4))}, {"IoU": "iou"})
    with pytest.raises(BadParameter, match="at least one mask"):
        plot_results(np.ones((4, 4)), {}, {"IoU": "iou"})
