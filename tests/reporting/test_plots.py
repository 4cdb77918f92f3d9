"""Plots show the numbers they are about, and are the same bytes every time."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from verite.reporting.plots import file_names, plot_all, plot_class, render, save_curves, stairs


@pytest.fixture
def results():
    truth = vt.Annotations.of(
        ["a"] * 3, ["cat"] * 3, [[0, 0, 9, 9], [20, 0, 29, 9], [40, 0, 49, 9]], labels=["cat", "dog"]
    )
    boxes = [[0, 0, 9, 9], [80, 80, 89, 89], [20, 0, 29, 9]]
    return vt.voc(truth, vt.Annotations.of(["a"] * 3, ["cat"] * 3, boxes, confidence=[0.9, 0.8, 0.7]))


def test_title_has_the_average_precision(results):
    # 1/3 · 1 + 1/3 · 2/3 = 5/9
    assert plot_class(results, "cat").axes[0].get_title() == "cat: AP = 55.56 % at IoU 0.5"
    assert "mAP = 55.56 %" in plot_all(results).axes[0].get_title()


def test_area_below_the_interpolated_curve_is_the_average_precision(results):
    recall, precision = stairs(results.curves[0]["cat"])
    area = (np.diff(recall) * (precision[1:] + precision[:-1]) / 2).sum()
    assert area == pytest.approx(results.ap("cat"))


def test_raw_and_interpolated_curves_are_drawn(results):
    lines = plot_class(results, "cat").axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["raw", "interpolated, all points"]
    assert lines[0].get_ydata().tolist() == [1, 1, 0.5, pytest.approx(2 / 3)]


def test_class_without_truths_gets_no_plot(results, tmp_path):
    assert [p.name for p in save_curves(results, tmp_path)] == ["pr-all-classes.png", "pr-cat.png"]


@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_same_plot_gives_the_same_bytes(results, format):
    assert render(plot_class(results, "cat"), format) == render(plot_class(results, "cat"), format)


def test_names_of_classes_become_safe_names_of_files():
    assert file_names(["../../etc/passwd", "a b", "a/b", "A-B", "…"]) == [
        "etc-passwd",
        "a-b",
        "a-b-2",
        "A-B-3",
        "class",
    ]
