"""Altered masks, pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import warps as oracle
from verite import _core
from verite.errors import BadParameter, DataError
from verite.model.rasters import array_of
from verite.studies.alterations import ALTERATIONS, Outline, alter, compose, rasterise_warps


def square(size, left, top, width, height):
    mask = np.zeros((size, size), dtype=bool)
    mask[top : top + height, left : left + width] = True
    return mask


def test_translation_shifts_down_by_x_and_right_by_y():
    found = alter(square(8, 2, 2, 3, 2), "translation", 1, 2)
    assert (found == square(8, 4, 3, 3, 2)).all()


def test_translation_is_cut_at_the_border():
    found = alter(square(8, 2, 2, 3, 2), "translation", -3, 4)
    assert (found == square(8, 6, 0, 2, 1)).all()


def test_scale_moves_every_side_by_the_parameter():
    assert (alter(square(12, 4, 4, 4, 4), "scale", 2, 1) == square(12, 3, 2, 6, 8)).all()
    assert (alter(square(12, 4, 4, 4, 4), "scale", -1, 0) == square(12, 4, 5, 4, 2)).all()


def test_a_side_scaled_away_leaves_nothing():
    assert not alter(square(12, 4, 4, 4, 4), "scale", -3, 0).any()


def test_a_quarter_turn_is_clockwise_and_exact():
    mask = square(9, 3, 3, 3, 3)
    mask[3:5, 4:6] = False  # an L
    assert (alter(mask, "rotation", 90) == np.rot90(mask, -1)).all()
    assert (alter(mask, "rotation", -90) == np.rot90(mask)).all()


def test_half_a_quarter_turn_of_a_square_is_a_diamond():
    # Middles of pixels with |dx| + |dy| ≤ 2 √2 of the centre: (1/2, 1/2), (1/2, 3/2) and (3/2, 1/2) in each quadrant.
    found = alter(square(16, 6, 6, 4, 4), "rotation", 45)
    dy, dx = np.abs(np.mgrid[0:16, 0:16] + 0.5 - 8)
    assert (found == (dx + dy <= 2.9)).all()
    assert found.sum() == 12


def test_perspective_widens_the_top_and_narrows_the_bottom():
    # Half the width is 4 - v/2 at v pixels below the centre: 5.75, 5.25, 4.75, 4.25, 3.75, 3.25, 2.75, 2.25.
    found = alter(square(20, 6, 6, 8, 8), "perspective", 2, 0)
    assert found.sum(axis=1)[6:14].tolist() == [12, 10, 10, 8, 8, 6, 6, 4]
    assert found.sum() == 64


def test_perspective_along_the_other_axis_is_its_mirror_image():
    mask = square(20, 6, 6, 8, 8)
    assert (alter(mask, "perspective", 0, 2) == alter(mask, "perspective", 2, 0).T).all()


def test_perspective_moves_corners_by_the_whole_parameter():
    outline = Outline.of(square(64, 16, 24, 32, 16))
    warp = ALTERATIONS["perspective"](outline, 5, 3)[0]
    corners = {(-16, -8): (-5, -3), (16, -8): (5, 3), (16, 8): (-5, -3), (-16, 8): (5, 3)}
    for (u, v), (right, down) in corners.items():
        x, y = (c[0] + c[1] * u + c[2] * v + c[3] * u * v for c in warp)
        assert (x - 32 - u, y - 32 - v) == (right, down)


def test_holes_and_several_parts_stay():
    mask = square(24, 4, 4, 8, 8) | square(24, 16, 16, 4, 4)
    mask[6:9, 6:9] = False
    found = alter(mask, "translation", 2, 3)
    assert (found[2:, 3:] == mask[:-2, :-3]).all()


@pytest.mark.parametrize("name", ALTERATIONS)
def test_no_alteration_changes_nothing(name):
    rng = np.random.default_rng(3)
    mask = rng.random((20, 17)) < 0.4
    assert (alter(mask, name) == mask).all()


@pytest.mark.parametrize("name", ALTERATIONS)
def test_the_kernel_draws_what_its_twin_draws(name):
    rng = np.random.default_rng(5)
    for _ in range(4):
        mask = rng.random((16, 19)) < 0.5
        outline = Outline.of(mask)
        x, y = rng.uniform(-3, 3, 3) * (15 if name == "rotation" else 1), rng.uniform(-3, 3, 3)
        warps = ALTERATIONS[name](outline, x, y)
        runs = rasterise_warps(outline, warps)
        for i, warp in enumerate(warps):
            assert (array_of(runs, i) == oracle.warped(outline.edges, warp, 16, 19)).all()


def test_combined_alterations_are_done_one_after_the_other():
    outline = Outline.of(square(64, 20, 24, 24, 16))
    parameters = {"translation": np.array([4.0]), "rotation": np.array([30.0]), "perspective": np.array([3.0])}
    warp = compose(outline, {**parameters, "scale": np.array([2.0])})[0]
    u, v = 7.0, -5.0
    # By hand: stretched by 14/12 and 10/8, put into perspective, turned by 30°, shifted by 4.
    p, q = u * 14 / 12, v * 10 / 8
    p, q = p * (1 - 3 * q / 96), q * (1 - 3 * p / 96)
    turn = np.deg2rad(30)
    p, q = p * np.cos(turn) - q * np.sin(turn), p * np.sin(turn) + q * np.cos(turn)
    x, y = (c[0] + c[1] * u + c[2] * v + c[3] * u * v for c in warp)
    assert (x, y) == pytest.approx((32 + p + 4, 32 + q + 4))


def test_an_empty_mask_and_an_unknown_alteration_are_refused():
    with pytest.raises(DataError, match="at least one pixel"):
        alter(np.zeros((4, 4), bool), "scale", 1)
    with pytest.raises(BadParameter, match="did you mean 'rotation'"):
        alter(np.ones((4, 4), bool), "rotaton", 1)


def test_warps_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="finite"):
        _core.warp_runs(np.array([[0.0, 0, 1, 1]]), np.full((1, 2, 4), np.nan), 4, 4)
