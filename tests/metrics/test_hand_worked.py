"""Pixels counted by hand: squares in an image of 10 × 10, and what every metric must say about them.

=========  =========================================================================================================
shifted    4 × 4 and the same two columns to the right. Areas 16, 16, shared 8. Contours 12, 12, shared 4; of the
           other 8 pixels 4 lie 1 and 4 lie 2 away, either way.
nested     6 × 6 and 2 × 2 in its middle. Areas 36, 4, shared 4. Contours 20, 4, shared 0. The inner 4 pixels lie 2
           away; of the outer 20 pixels 8 lie 2 away, 8 lie √5 and the 4 corners √8.
disjoint   2 × 2 and the same five columns to the right. Areas 4, 4, shared 0. Contours 4, 4, shared 0; 2 pixels lie 4
           and 2 lie 5 away, either way.
border     4 × 4 and 3 × 3, both in the corner of the image. Areas 16, 9, shared 9. Contours 12 (the border counts), 8,
           shared 5; the other 3 of the small one lie 1 away, of the other 7 of the large one 6 lie 1 and 1 lies √2.
no truth   an empty truth and 4 × 4.    no pred   4 × 4 and an empty pred.    nothing   both empty.
=========  =========================================================================================================
"""

from __future__ import annotations

from math import atan, log, log2, pi, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

import verite as vt
from verite.metrics.catalogue import records
from verite.reproductions.gretsi import GRETSI_2009
from verite.studies.rows import JEI_2010, JEI_2010_AS_RUN

N = 100
D = sqrt(200)  # the image's diagonal
R2, R5, R8 = sqrt(2), sqrt(5), sqrt(8)
OUT = 4 * R8 + 8 * R5 + 8 * 2  # nested: distances of the outer contour, summed
OUT3 = 4 * 8 * R8 + 8 * 5 * R5 + 8 * 8  # their cubes
LN2 = log(2)


def jensen(shared: int, missed: int, extra: int) -> float:
    """From contour pixels on both, on the truth's only, on the pred's only; gray levels 1 and 2, power 3."""
    rest = N - shared - missed - extra
    mean = 8 * shared + 1.5**3 * (missed + extra) + rest
    truth = 8 * (shared + missed) + extra + rest
    mixed = 8 * shared + 3**1.5 * missed + 1.5**1.5 * extra + rest
    return -log2(mixed) / 2 + (log2(mean) + log2(truth)) / 4


CASES = ("shifted", "nested", "disjoint", "border", "no truth", "no pred", "nothing")
BY_HAND: dict[str, tuple[float, ...]] = {
    "robin_loc": (2 / pi * atan(2 / 4), 0, 2 / pi * atan(5 / 2), 2 / pi * atan(0.5 / 4), 1, 1, 0),
    "robin_com": (0, 32 / 36, 0, 7 / 16, 1, 1, 0),
    "robin_com(variant='as-run')": (0, 16 / 20, 0, 4 / 12, 1, 1, 0),
    "robin_cor": (0, 0, 0, 0, 1, 1, 0),
    "robin": (
        2 / pi * atan(2 / 4) / 3,
        32 / 36 / 3,
        2 / pi * atan(5 / 2) / 3,
        (2 / pi * atan(0.5 / 4) + 7 / 16) / 3,
        1,
        1,
        0,
    ),
    "robin(variant='max')": (2 / pi * atan(2 / 4), 32 / 36, 2 / pi * atan(5 / 2), 7 / 16, 1, 1, 0),
    "centre_distance": (2, 0, 5, sqrt(0.5), D, D, 0),
    "giou": (8 / 24, 4 / 36, -6 / 14, 9 / 16, -1, -1, 1),
    "diou": (8 / 24 - 4 / 52, 4 / 36, -25 / 53, 9 / 16 - 0.5 / 32, -1, -1, 1),
    "ciou": (8 / 24 - 4 / 52, 4 / 36, -25 / 53, 9 / 16 - 0.5 / 32, -1.5, -1.5, 1),
    "err_loc": (16 / N, 24 / N, 8 / N, 10 / N, 12 / N, 12 / N, 0),
    "err_under": (8 / 12, 1, 1, 7 / 12, 0, 1, 0),
    "err_over": (8 / 88, 4 / 80, 4 / 96, 3 / 88, 12 / N, 0, 0),
    "snr": tuple(1 / (1 + sqrt(v / N)) for v in (8 * 4 + 8, 4 * 4 + 20, 4 * 4 + 4, 3 * 4 + 7, 12 * 4, 12, 0)),
    "snr(variant='raw')": tuple(sqrt(v / N) for v in (8 * 4 + 8, 4 * 4 + 20, 4 * 4 + 4, 3 * 4 + 7, 12 * 4, 12, 0)),
    "rms": tuple(sqrt(v / N) for v in (16, 24, 8, 10, 12, 12, 0)),
    "lq": (16 / N, 24 / N, 8 / N, 10 / N, 12 / N, 12 / N, 0),
    "lq(q=3)": tuple((v / N) ** (1 / 3) for v in (16, 24, 8, 10, 12, 12, 0)),
    "kullback": tuple(v / N * LN2 for v in (16, 24, 8, 10, 12, 12, 0)),
    "bhattacharyya": (
        log(112 / (8 + 16 * R2 + 80)),
        log(120 / (24 * R2 + 76)),
        log(104 / (8 * R2 + 92)),
        log(112 / (10 + 10 * R2 + 85)),
        log(100 / (12 * R2 + 88)),
        log(112 / (12 * R2 + 88)),
        0,
    ),
    "bhattacharyya(variant='as-run')": (
        log(188 / (4 + 16 * R2 + 160)),
        log(180 / (24 * R2 + 152)),
        log(196 / (8 * R2 + 184)),
        log(188 / (5 + 10 * R2 + 170)),
        log(200 / (12 * R2 + 176)),
        log(188 / (12 * R2 + 176)),
        0,
    ),
    "bhattacharyya(variant='raw')": (
        -log((8 + 16 * R2 + 80) / N),
        -log((24 * R2 + 76) / N),
        -log((8 * R2 + 92) / N),
        -log((10 + 10 * R2 + 85) / N),
        -log((12 * R2 + 88) / N),
        -log((12 * R2 + 88) / N),
        0,
    ),
    "jensen": (
        jensen(4, 8, 8),
        jensen(0, 20, 4),
        jensen(0, 4, 4),
        jensen(5, 7, 3),
        jensen(0, 0, 12),
        jensen(0, 12, 0),
        0,
    ),
    "mean_distance": (12 / 12, 8 / 4, 18 / 4, 3 / 8, D, D, 0),
    "mean_squared_distance": (20 / 12, 16 / 4, 82 / 4, 3 / 8, 200, 200, 0),
    "figure_of_merit": (
        1 - (4 + 4 * 9 / 10 + 4 * 9 / 13) / 12,
        1 - (4 * 9 / 13) / 20,
        1 - (2 * 9 / 25 + 2 * 9 / 34) / 4,
        1 - (5 + 3 * 9 / 10) / 12,
        1,
        1,
        0,
    ),
    "figure_of_merit(variant='similarity')": (
        (4 + 4 * 9 / 10 + 4 * 9 / 13) / 12,
        (4 * 9 / 13) / 20,
        (2 * 9 / 25 + 2 * 9 / 34) / 4,
        (5 + 3 * 9 / 10) / 12,
        0,
        0,
        1,
    ),
    "hausdorff": (2, R8, 5, R2, D, D, 0),
    # The middle of the ordered distances: shifted 0 0 0 0 1 1 1 1 2 2 2 2, nested 8 × 2, 8 × √5, 4 × √8.
    "hausdorff(quantile=0.5)": (1, R5, 4.5, 1, D, D, 0),
    # The quantile at place 0.95 · (n - 1) of the ordered distances: nested 0.95 · 19 = 18.05, all √8 there.
    "hausdorff(quantile=0.95)": (2, R8, 5, 1 + 0.45 * (R2 - 1), D, D, 0),
    "baddeley(p=1, variant='as-run')": (24 / 20, (8 + OUT) / 24, 36 / 8, (3 + 6 + R2) / 15, D, D, 0),
    "baddeley(variant='as-run')": (sqrt(40) / 20, sqrt(16 + 104) / 24, sqrt(164) / 8, sqrt(3 + 8) / 15, D, D, 0),
    "baddeley(p=3, variant='as-run')": (
        72 ** (1 / 3) / 20,
        (32 + OUT3) ** (1 / 3) / 24,
        756 ** (1 / 3) / 8,
        (3 + 6 + 2 * R2) ** (1 / 3) / 15,
        D,
        D,
        0,
    ),
    "baddeley(variant='union')": (sqrt(40 / 20), sqrt(120 / 24), sqrt(164 / 8), sqrt(11 / 15), D, D, 0),
    "baddeley(variant='printed')": (sqrt(40 / N), sqrt(120 / N), sqrt(164 / N), sqrt(11 / N), D, D, 0),
    "odet_over": (12 / 8 / 5, 8 / 4 / 5, 18 / 4 / 5, 3 / 3 / 5, D / 5, 0, 0),
    "odet_over(n=2)": (20 / 8 / 25, 16 / 4 / 25, 82 / 4 / 25, 3 / 3 / 25, 200 / 25, 0, 0),
    "odet_under": (12 / 8 / 5, OUT / 20 / 5, 18 / 4 / 5, (6 + R2) / 7 / 5, 0, D / 5, 0),
    "odet_under(n=2)": (20 / 8 / 25, 104 / 20 / 25, 82 / 4 / 25, 8 / 7 / 25, 0, 200 / 25, 0),
    "odet_nd": (24 / 16 / 5, (8 + OUT) / 24 / 5, 36 / 8 / 5, (9 + R2) / 10 / 5, D / 5, D / 5, 0),
    "average_surface_distance": (24 / 24, (8 + OUT) / 24, 36 / 8, (9 + R2) / 20, D, D, 0),
    "average_surface_distance(variant='mean')": (1, (2 + OUT / 20) / 2, 4.5, (3 / 8 + (6 + R2) / 12) / 2, D, D, 0),
    "normalised_surface_dice": (16 / 24, 0, 0, 19 / 20, 0, 0, 1),
    "boundary_iou": (4 / 20, 0, 0, 5 / 15, 0, 0, 1),
    "iou": (8 / 24, 4 / 36, 0, 9 / 16, 0, 0, 1),
    "pascal": (16 / 24, 32 / 36, 1, 7 / 16, 1, 1, 0),
    "dice": (16 / 32, 8 / 40, 0, 18 / 25, 0, 0, 1),
    "hen1": (0, 32 / 36, 0, 7 / 16, N, 1, 0),
    "hen2": (1, 32 / 36, 2, 7 / 16, N, 1, 0),
    "yasnoff1": (50, 3200 / 36, 100, 700 / 16, 0, 100, 0),
    "yasnoff1(variant='as-run')": (50, 0, 100, 0, 100, 0, 0),
    "yasnoff2": (800 / 84, 0, 400 / 96, 0, 16, 0, 0),
    "yasnoff2(variant='as-run')": (800 / 84, 3200 / 96, 400 / 96, 700 / 91, 0, 16, 0),
    "yasnoff3": (sqrt(4 + 16), 0, sqrt(2 * 16 + 2 * 25), 0, sqrt(16) * D, 0, 0),
    "pixel_precision": (1 / 2, 0, 1, 0, 1, 1, 0),
    "pixel_recall": (1 / 2, 32 / 36, 1, 7 / 16, 0, 1, 0),
    "pixel_precision(variant='similarity')": (1 / 2, 1, 0, 1, 0, 0, 1),
    "pixel_recall(variant='similarity')": (1 / 2, 4 / 36, 0, 9 / 16, 1, 0, 1),
    # Pixels in both, in the truth only, in the pred only, in neither: 8 8 8 76, 4 32 0 64, 0 4 4 92, 9 7 0 84.
    "gce": tuple(
        v / N for v in (2 * 8 * 8 / 16 + 2 * 8 * 76 / 84, 2 * 4 * 32 / 36, 2 * 4 * 92 / 96, 2 * 9 * 7 / 16, 0, 0, 0)
    ),
    "gce(variant='as-run')": tuple(
        v / N
        for v in (
            2 * 8 * 8 / 16 + 2 * 8 * 76 / 84,
            2 * 32 * 64 / 96,
            2 * 4 * 92 / 96,
            2 * 7 * 84 / 91,
            2 * 16 * 84 / 100,
            2 * 16 * 84 / 100,
            0,
        )
    ),
    "lce": tuple(v / N for v in (3 * 8 / 2 + 76 * 8 / 84, 32 * 4 / 36, 92 * 4 / 96, 7 * 9 / 16, 0, 0, 0)),
    "hamming": (32 / 200, 36 / 200, 8 / 200, 14 / 200, 16 / 200, 16 / 200, 0),
    "hamming(variant='similarity')": (168 / 200, 164 / 200, 192 / 200, 186 / 200, 184 / 200, 184 / 200, 1),
    "hafiane1": (
        1 - (8 / 24 + 76 / 92) / 2,  # half of the object in either: the object goes first
        1 - (32 / 100 + 64 / 96) / 2,  # most of the object lies in the background
        1 - (4 / 96 + 92 / 100) / 2,
        1 - (9 / 16 + 84 / 91) / 2,
        1,
        1,
        0,
    ),
    "hafiane2": (
        1 - (0.16 * 8 / 24 + 0.84 * 76 / 92 + 0.2) / 1.2,
        1 - (0.04 * 4 / 36 + 0.96 * 64 / 96 + 0.2) / 1.2,
        1 - (0.04 * 4 / 96 + 0.96 * 92 / 100 + 0.2) / 1.2,
        1 - (0.09 * 9 / 16 + 0.91 * 84 / 91 + 0.2) / 1.2,
        1 - (0.16 * 16 / 100 + 0.84 * 84 / 100) / 1.2,
        1 - 84 / 100 / 1.2,
        0,
    ),
    "vinet": (16, 32, 8, 7, 16, 16, 0),
    "vinet(variant='share')": (0.16, 0.32, 0.08, 0.07, 0.16, 0.16, 0),
}


def square(x: int, y: int, side: int) -> NDArray[np.bool_]:
    image = np.zeros((10, 10), dtype=bool)
    image[y : y + side, x : x + side] = True
    return image


NOTHING = np.zeros((10, 10), dtype=bool)
REGIONS = {
    "shifted": (square(2, 3, 4), square(4, 3, 4)),
    "nested": (square(1, 1, 6), square(3, 3, 2)),
    "disjoint": (square(1, 1, 2), square(6, 1, 2)),
    "border": (square(0, 0, 4), square(0, 0, 3)),
    "no truth": (NOTHING, square(2, 3, 4)),
    "no pred": (square(2, 3, 4), NOTHING),
    "nothing": (NOTHING, NOTHING),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", BY_HAND)
def test_value_counted_by_hand(name: str, case: str) -> None:
    truth, pred = REGIONS[case]
    assert vt.metric(name)(truth, pred) == pytest.approx(BY_HAND[name][CASES.index(case)], rel=1e-12, abs=1e-12)


def test_identical_squares_give_the_best_value() -> None:
    for name in BY_HAND:
        metric = vt.metric(name)
        if metric.best is not None:
            assert metric(square(2, 3, 4), square(2, 3, 4)) == pytest.approx(metric.best, abs=1e-15)


def test_the_far_corner_is_no_different_from_the_near_one() -> None:
    truth, pred = REGIONS["border"]
    for name, values in BY_HAND.items():
        turned = vt.metric(name)(truth[::-1, ::-1], pred[::-1, ::-1])
        assert turned == pytest.approx(values[CASES.index("border")], rel=1e-12, abs=1e-12)


def test_baddeley_sees_two_single_pixels_from_everywhere() -> None:
    truth, pred = np.array([[1, 0, 0, 0, 0]], dtype=bool), np.array([[0, 0, 0, 0, 1]], dtype=bool)
    # Distances 0 1 2 3 4 and 4 3 2 1 0 differ by 4 2 0 2 4; cut off at 2 they differ by 2 1 0 1 2.
    assert vt.metric("baddeley(p=1)")(truth, pred) == pytest.approx(12 / 5)
    assert vt.metric("baddeley")(truth, pred) == pytest.approx(sqrt(40 / 5))
    assert vt.metric("baddeley(p=3)")(truth, pred) == pytest.approx((144 / 5) ** (1 / 3))
    assert vt.metric("baddeley(p=1, cutoff=2)")(truth, pred) == pytest.approx(6 / 5)
    assert vt.metric("baddeley")(NOTHING, pred_of(10)) == pytest.approx(D)
    assert vt.metric("baddeley")(NOTHING, NOTHING) == 0


def pred_of(side: int) -> NDArray[np.bool_]:
    return square(0, 0, side)


def test_a_consistency_error_may_be_taken_per_object() -> None:
    # 8 pixels missed, 8 added; object against object, background (48 pixels) against background.
    boxes = [0, 0, 4, 4], [2, 0, 6, 4]
    assert vt.metric("gce(variant=per-object)")(*boxes, size=(8, 8)) == pytest.approx((8 + 8) / 64)
    # The 8 shared pixels lie in two objects that miss a half; all others in one background or two, which miss 8 of 48.
    assert vt.metric("lce(variant=per-object)")(*boxes, size=(8, 8)) == pytest.approx((8 / 2 + (8 + 8 + 40) / 6) / 64)
    # Shrunk to nothing much it keeps rising, where the printed reading forgives it.
    shrunk = [vt.metric("gce(variant=per-object)")([0, 0, 8, 8], [0, 0, n, n], size=(16, 16)) for n in (6, 4, 2)]
    assert shrunk == pytest.approx([28 / 256, 48 / 256, 60 / 256])


def test_a_local_error_may_be_the_larger_one_as_it_was_run() -> None:
    truth, pred = REGIONS["border"]
    # In both 9: max(7/16, 0); truth only 7: max(9/16, 84/91); neither 84: max(0, 7/91).
    expected = (9 * 7 / 16 + 7 * 84 / 91 + 84 * 7 / 91) / N
    assert vt.metric("lce(variant='as-run')")(truth, pred) == pytest.approx(expected)


def test_pooled_quantile_orders_both_lists_together() -> None:
    truth, pred = REGIONS["border"]
    # 8 and 12 distances: ten 0, nine 1 and √2; place 0.95 · 19 = 18.05 lies between the last 1 and √2.
    assert vt.metric("hd95(variant=pooled)")(truth, pred) == pytest.approx(1 + 0.05 * (R2 - 1))


def test_every_row_of_the_studies_was_worked_by_hand() -> None:
    worked = {vt.metric(name).name for name in BY_HAND} | {"baddeley", "baddeley(p=1)", "baddeley(p=3)"}
    rows = [*JEI_2010.values(), *JEI_2010_AS_RUN.values(), *GRETSI_2009.values(), "hd95", *records()]
    assert {vt.metric(row).name for row in rows} <= worked


WHOLE, HALVES = np.array([[0, 0, 3, 3, 0, 0]]), np.array([[0, 0, 1, 2, 0, 0]])


def test_an_object_taken_for_two_halves_hafianes_factor() -> None:
    # The object overlaps either half by 1/2, the background itself by 1; 1 object for 2.
    assert vt.metric("hafiane1(variant=similarity)")(WHOLE, HALVES) == pytest.approx(1 / 2 * (1 / 2 + 1) / 2)


def test_two_objects_taken_for_one_lower_hafianes_factor() -> None:
    # Each half overlaps the whole by 1/2, the background itself by 1; 1 / log2(1 + 2/1).
    assert vt.metric("hafiane1(variant=similarity)")(HALVES, WHOLE) == pytest.approx((1 / 2 + 1 / 2 + 1) / 3 / log2(3))


def test_vinet_couples_each_object_once() -> None:
    # Background with background 4 pixels, then the whole with one of the halves 1; one pixel of 6 is left over.
    assert vt.metric("vinet")(WHOLE, HALVES) == 1


@pytest.mark.parametrize("nowhere", [[1.6, 1.6, 2.4, 2.4], [20, 20, 30, 30]], ids=["between pixels", "outside"])
def test_a_truth_without_a_pixel_lies_a_diagonal_away(nowhere):
    # 4 pixels, each the diagonal of 6 x 8 pixels away: 100 / 48 * sqrt(4 * 100).
    assert vt.metric("yasnoff3")(nowhere, [0, 0, 2, 2], size=(6, 8)) == pytest.approx(100 / 48 * 20)
    assert vt.metric("yasnoff3")(None, [0, 0, 2, 2], size=(6, 8)) == pytest.approx(100 / 48 * 20)
    assert vt.metric("yasnoff3")([0, 0, 2, 2], nowhere, size=(6, 8)) == 0
