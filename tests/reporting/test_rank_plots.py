"""Plots of rankings show the numbers they are about."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.ranking.paper import TABLE_3, TABLE_3_PUBLISHED, TABLE_3_TRUTH, table_2
from verite.reporting.plots import render
from verite.reporting.rank_plots import (
    Published,
    format_cell,
    plot_kept,
    plot_leaderboard,
    plot_ranks,
    save_ranking,
    stack_runs,
)


@pytest.fixture(scope="module")
def ranking():
    return vt.rank(vt.AnswerTable.of(*table_2()), vt.annotation_errors.Bernoulli(0.1))


@pytest.fixture(scope="module")
def ten():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    answers = {f"m{j}": np.where(rng.random(400) < 0.7 + 0.01 * j, truth, 1 - truth) for j in range(10)}
    return vt.rank(vt.AnswerTable.of(truth, answers), vt.annotation_errors.Bernoulli(0.1), draws=500)


@pytest.fixture(scope="module")
def thirty():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    answers = {
        f"the-system-of-team-{j:02d}": np.where(rng.random(300) < 0.6 + 0.01 * j, truth, 1 - truth) for j in range(30)
    }
    return vt.rank(vt.AnswerTable.of(truth, answers), vt.annotation_errors.Bernoulli(0.1), draws=500)


def labelled(figure):
    return {line.get_label(): line for line in figure.axes[0].get_lines() if not line.get_label().startswith("_")}


def test_every_pair_has_a_curve_of_its_probability(ranking):
    lines = labelled(plot_kept(ranking))
    assert set(lines) == {"A2 > A1", "A2 > A3", "A1 > A3"}
    x, y = lines["A2 > A1"].get_data()
    assert (x[0], y[0], x[-1], y[-1]) == pytest.approx((0, 1, 0.5, 0.3125))
    assert np.interp(0.1, x, y) == pytest.approx(0.7533, abs=1e-3)


def test_published_points_are_marked():
    points = [Published("A2", "A1", e, k) for e, k in TABLE_3_PUBLISHED.items()]
    lines = labelled(
        plot_kept(vt.rank(vt.AnswerTable.of(TABLE_3_TRUTH, TABLE_3), vt.annotation_errors.Bernoulli(0.2)), points)
    )
    assert lines["published"].get_xydata().tolist() == [[0.5, 0.3135], [0.2, 0.5893], [0.1, 0.7517]]


@pytest.mark.thorough
def test_many_pairs_are_all_drawn_and_neighbours_named(ten):
    figure = plot_kept(ten)
    untied = [pair for pair in ten.pairs if not pair.tied]
    assert len(figure.axes[0].get_lines()) == len(untied) + 1  # and the level
    assert len(labelled(figure)) <= 9


@pytest.mark.thorough
def test_of_very_many_pairs_neighbours_are_drawn_and_the_frailest_named(thirty):
    figure = plot_kept(thirty)
    neighbours = [pair for pair in thirty.neighbours if not pair.tied]
    assert len(figure.axes[0].get_lines()) == len(neighbours) + 1
    frail = sorted(neighbours, key=lambda pair: pair.largest_epsilon)[:15]
    assert len(labelled(figure)) == 15
    assert all(pair.largest_epsilon >= frail[-1].largest_epsilon for pair in neighbours if pair not in frail)


@pytest.mark.thorough
def test_legends_of_thirty_systems_fit_into_the_picture(thirty):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = plot_kept(thirty)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    legend = figure.axes[0].get_legend().get_window_extent(canvas.get_renderer())
    width, height = figure.bbox.size
    assert legend.x0 >= 0
    assert legend.x1 <= width
    assert legend.y0 >= 0
    assert legend.y1 <= height


def test_the_heat_map_shows_every_probability(ranking):
    axes = plot_ranks(ranking).axes[0]
    assert axes.get_images()[0].get_array().tolist() == ranking.ranks.tolist()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["A2", "A1", "A3"]
    assert len(axes.texts) == 9


def test_what_is_not_known_is_not_shown_as_a_number():
    ranking = vt.rank(vt.AnswerTable.of(*table_2()), vt.annotation_errors.AtMost(1))
    shown = [text.get_text() for text in plot_ranks(ranking).axes[0].texts]
    assert shown.count("?") == 7
    assert format_cell(0.0) == "0"
    assert format_cell(1e-5) == "<.01"


def test_bars_join_what_cannot_be_told_apart(ranking):
    axes = plot_leaderboard(ranking).axes[0]
    assert axes.get_lines()[0].get_xydata().tolist() == [[0.95, 1], [0.85, 2], [0.80, 3]]
    bars = [line.get_ydata().tolist() for line in axes.get_lines()[1:]]
    assert bars == [[0.75, 2.25], [1.75, 3.25]]


def test_bars_that_overlap_stand_side_by_side():
    runs = [("a", "b"), ("b", "c"), ("d", "e")]
    assert stack_runs(runs, tuple("abcde")) == [[(0, 1), (3, 4)], [(1, 2)]]


def test_smaller_losses_are_further_to_the_right():
    table = {"a": [[0.9, 0.1]], "b": [[0.6, 0.4]]}
    axes = plot_leaderboard(vt.rank(vt.ScoreTable.of([0], table), vt.annotation_errors.Bernoulli(0.1))).axes[0]
    assert axes.xaxis_inverted()


@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_same_plot_gives_the_same_bytes(ranking, format):
    assert render(plot_kept(ranking), format) == render(plot_kept(ranking), format)


@pytest.mark.thorough
def test_three_plots_are_saved(ten, tmp_path):
    assert [path.name for path in save_ranking(ten, tmp_path)] == ["kept.png", "ranks.png", "leaderboard.png"]


def test_ties_everywhere_can_be_plotted(tmp_path):
    tied = vt.rank(vt.AnswerTable.of([1, 0], {"a": [1, 0], "b": [1, 0]}), vt.annotation_errors.Bernoulli(0.1))
    assert len(save_ranking(tied, tmp_path)) == 3
    assert "No two algorithms differ" in plot_kept(tied).axes[0].get_title()
