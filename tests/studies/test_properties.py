"""Curves made by hand that have and lack each property."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest

import verite as vt
from tests.oracles import warps as oracle
from verite import _core
from verite.studies import properties as p

MARKS = np.arange(-6.0, 7)
BOWL = np.abs(MARKS)[:, None] + np.abs(MARKS)[None, :]
LINE = np.abs(MARKS)


def test_a_value_that_differs_the_other_way_round_breaks_symmetry():
    values = np.array([1.0, 2.0, 3.0])
    assert p.is_symmetric(values, values * (1 + 1e-12))
    other = np.array([1.0, 2.0, 3.000001])
    assert not p.is_symmetric(values, other)
    assert p.is_symmetric(values, other, tolerance=1e-3)


def test_separation_wants_zero_for_the_truth_and_for_nothing_else():
    same = np.array([False, True, False])
    assert p.separates(0.0, np.array([1.0, 0.0, 2.0]), same)
    assert not p.separates(0.0, np.array([0.0, 0.0, 2.0]), same)  # blind for an altered region
    assert not p.separates(1.0, np.array([2.0, 1.0, 2.0]), same)  # the truth itself gets 1
    assert not p.separates(0.0, np.array([-1.0, 0.0, 2.0]), same)  # better than perfect


def test_distances_obey_the_triangle_and_their_squares_do_not():
    at = np.array([0.0, 1.0, 2.0, 3.0])
    between = np.abs(at[:, None] - at[None, :])
    assert p.triangle_violations(at, between) == 0
    # (1, 2): 4 > 1 + 1, (1, 3): 9 > 1 + 4, (2, 3): 9 > 4 + 1; of 16 couples.
    assert p.triangle_violations(at**2, between**2) == 3 / 16


@pytest.mark.parametrize(
    ("violated", "settings", "holds"),
    [(0.025, {}, True), (0.0251, {}, False), (1.0, {"triangle_as_separation": True}, True)],
)
def test_the_triangle_inequality_may_be_violated_by_a_share_of_pairs(violated, settings, holds):
    evidence = copy(vt.study(["iou", "hen1"], "wide", "translation(reach=4)", jobs=1).evidence)
    evidence.triangle = np.array([violated, 0.0])
    separates, does_not = evidence.judge_distance(vt.Tolerances(**settings))
    assert (separates["separation"], separates["triangle"]) == (True, holds)
    assert (does_not["separation"], does_not["triangle"]) == (False, False)


def test_the_kernel_counts_the_couples_its_twin_counts():
    rng = np.random.default_rng(1)
    for reach in (1, 2):
        values = rng.random((4 * reach + 1, 4 * reach + 1))
        assert _core.triangle_failures(values, reach, 1e-9) == oracle.triangle_failures(values, reach, 1e-9)
    with pytest.raises(ValueError, match="expected 81"):
        _core.triangle_failures(np.zeros((5, 5)), 2, 0.0)


def test_a_metric_is_indifferent_only_if_it_is_on_every_truth():
    assert p.is_indifferent(np.array([0.0, 0.049]), 1.0)
    assert not p.is_indifferent(np.array([0.0, 0.05]), 1.0)
    assert p.is_indifferent(np.zeros(2), 0.0)


def test_axial_symmetry_allows_one_hundredth_of_the_amplitude():
    curve = LINE.copy()  # amplitude 6
    curve[-1] = 6.06  # amplitude 6.06, difference 0.06
    assert p.is_axially_symmetric(curve)
    curve[-1] = 6.07
    assert not p.is_axially_symmetric(curve)


def test_axial_symmetry_compares_opposite_parameters():
    x, y = MARKS[:, None], MARKS[None, :]
    assert p.is_axially_symmetric((x + y) ** 2)
    assert not p.is_axially_symmetric((x + y + 1) ** 2)


def test_a_bowl_is_strictly_monotonous_and_a_plateau_is_not():
    assert p.is_strictly_monotonous(BOWL)
    assert not p.is_strictly_monotonous(np.minimum(BOWL, 10))  # from (5, 5) on nothing rises
    assert p.is_strictly_monotonous(np.where(np.outer(MARKS, MARKS) < 0, 0.0, BOWL))  # other quadrants do not count


def test_one_neighbour_that_rises_is_enough_if_the_diagonal_does():
    one_sided = np.abs(MARKS)[:, None] + np.zeros(len(MARKS))
    assert p.is_strictly_monotonous(one_sided)
    assert not p.is_strictly_monotonous(np.zeros_like(BOWL))


def test_monotony_failures_are_counted_on_both_sides():
    # Two of twelve steps: one on either side stays.
    assert p.monotony_failures(np.minimum(LINE, 5)) == 2 / 12


def test_a_rotation_may_fail_a_fifth_of_its_steps():
    marks = np.abs(np.arange(-10, 11)).astype(float)
    curve = np.minimum(marks, 8)  # 4 of 20 steps do not rise
    assert p.is_strictly_monotonous(curve)
    assert not p.is_strictly_monotonous(np.minimum(marks, 7))
    assert p.is_strictly_monotonous(np.minimum(marks, 7), until=8)


def jump(size, at=3):
    """A line that rises by 1 a step, and by `size` at one step of the positive side; 6 steps, amplitude 5 + size."""
    steps = np.ones(6)
    steps[at] = size
    return np.concatenate([np.zeros(6), [0.0], np.cumsum(steps)])


def test_a_step_of_exactly_the_threshold_is_no_gap():
    flat = np.zeros(17)
    flat[9:] = [0, 0, 0, 1, 1, 1, 1, 8]  # amplitude 8: the step of 1 is exactly an eighth; the last one is a gap
    assert p.gaps(flat) == 1
    flat[9:] = [0, 0, 0, 1.01, 1.01, 1.01, 1.01, 8]
    assert p.gaps(flat) == 2


def test_a_step_of_exactly_four_times_its_neighbours_is_no_gap():
    assert p.gaps(jump(4.0)) == 0
    assert p.gaps(jump(4.01)) == 1
    assert p.gaps(jump(4.01), factor=5.0) == 0
    assert p.gaps(jump(4.01), amplitude_share=0.5) == 0


def test_a_steep_slope_is_no_gap():
    steep = np.concatenate([np.zeros(6), [0.0], [0.1, 1.0, 2.0, 2.9, 3.0, 3.0]])
    assert p.is_uniformly_continuous(steep)


def test_first_and_last_steps_have_one_neighbour_to_exceed():
    at_once = np.concatenate([np.zeros(6), [0.0], np.full(6, 5.0)])
    assert p.gaps(at_once) == 1
    at_last = np.concatenate([np.zeros(6), [0.0], [0, 0, 0, 0, 0, 5.0]])
    assert p.gaps(at_last) == 1


def test_gaps_are_looked_for_along_both_axes():
    wall = BOWL.copy()
    wall[9:, :] += 30
    assert not p.is_uniformly_continuous(wall)
    assert not p.is_uniformly_continuous(wall.T)
    assert p.is_uniformly_continuous(BOWL)


def test_scale_dependency_has_its_sign():
    small, large = LINE * 2, LINE
    assert p.scale_dependency(small, large) == "+"
    assert p.scale_dependency(large, small) == "-"
    mixed = LINE.copy()
    mixed[0], mixed[-1] = 10, 0
    assert p.scale_dependency(mixed, LINE) == "+/-"
    assert p.scale_dependency(LINE, LINE) == ""


def test_differences_up_to_the_tie_are_none():
    assert p.scale_dependency(LINE + 5e-5, LINE) == ""  # amplitude 6, so that 6e-5 is the limit
    assert p.scale_dependency(LINE + 7e-5, LINE) == "+"


def test_local_changes_are_noticed_grow_and_are_even():
    growth = np.array([[0.0, 1, 2, 3], [0, 1, 2, 3.3]])
    assert p.is_noticed(growth)
    assert not p.is_noticed(np.array([[0.0, 0.0, 1.0]]))
    assert p.grows(growth, allowed=0)
    assert not p.grows(np.array([[0.0, 1.0, 1.0, 1.0]]), allowed=0.5)
    assert p.grows(np.array([[0.0, 1.0, 1.0, 2.0]]), allowed=1 / 3)
    assert p.is_even(growth, tolerance=0.1)  # 0.3 of 3.15
    assert not p.is_even(growth, tolerance=0.09)
    assert p.grows_continuously(growth)
    assert not p.grows_continuously(np.array([[0.0, 1, 2, 12, 13, 14]]))
