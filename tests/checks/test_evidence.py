"""How much chance would do, and which scale fits: small rules, each at the point where it turns."""

from __future__ import annotations

from dataclasses import replace
from math import log
from types import SimpleNamespace

import numpy as np
import pytest

from tests.checks.small import side
from verite.checks import evidence, scaling
from verite.checks import sample as chance
from verite.checks.boxes import fractions
from verite.checks.readings import Reading, are_like_corners

# Chance.


def test_uneven_coins_are_counted_in_nats():
    # Three of four heads: 3 ln(6/4) + ln(2/4)
    assert chance.imbalance(3, 1) == pytest.approx(3 * log(1.5) - log(2))
    assert chance.imbalance(2, 2) == chance.imbalance(1, 3) == 0


def test_nothing_is_surprising_that_is_expected():
    assert chance.surprise(2, 1) == pytest.approx(2 * log(2) - 1)
    assert chance.surprise(1, 1) == chance.surprise(1, 2) == chance.surprise(2, 0) == 0


def test_a_truth_is_paired_with_the_best_overlap_then_with_the_most_confident():
    which, by, overlap = np.array([1, 0, 0, 0]), np.array([2, 5, 3, 1]), np.array([0.9, 0.6, 0.6, 0.5])
    one, other = evidence.best_pairs(which, by, overlap)
    assert (one.tolist(), other.tolist()) == ([0, 1], [3, 2])


@pytest.mark.parametrize(("many", "turned"), [(1, []), (2, [1]), (5, [1, 2, 3, 4]), (10, [2, 3, 5, 6])])
def test_samples_are_turned_by_parts_and_never_onto_themselves(many, turned):
    # A half, a third, two thirds, a fifth and four fifths of so many images, the first four of them.
    assert evidence.turns(many) == turned


def test_a_median_may_be_off_by_four_errors():
    middle, error = evidence.median_and_error(np.array([[0.0], [1], [2], [3], [4]]))
    assert middle.tolist() == [2]
    # The median deviation is 1; 1.4826 makes it a normal one, 1.2533 / √5 the error of a median of five.
    assert error == pytest.approx(4 * 1.4826 * 1.2533 / np.sqrt(5))


def test_where_no_size_is_known_images_end_with_the_last_box():
    boxes = np.array([[0.0, 0, 50, 20], [10, 10, 100, 40]])
    unknown = evidence.relative_to_images(boxes, np.zeros((2, 2)))
    assert unknown.tolist() == [[0, 0, 0.5, 0.5], [0.1, 0.25, 1, 1]]
    known = evidence.relative_to_images(boxes, np.array([[200.0, 80], [200, 80]]))
    assert known[1].tolist() == [0.05, 0.125, 0.5, 0.5]


def test_truths_found_in_their_own_images_alone_are_no_chance():
    # 18 of 18 fair coins are 12.5 nats, 17 are 11.8; and with 16 looks elsewhere few hits are expected.
    own, other = np.full(18, 0.6), np.zeros(18)
    assert evidence.exceeds_other_images(own, [other])
    assert not evidence.exceeds_other_images(np.full(17, 0.6), [np.full(17, 0.55)])
    assert not evidence.exceeds_other_images(own, [own])
    assert not evidence.exceeds_other_images(own, [])


# Fractions.


def group(numbers, measure="abs", is_sized=True):
    return SimpleNamespace(numbers=np.array(numbers), reading=Reading("xywh", measure), is_sized=is_sized)


SMALL, LARGE = [[0.1, 0.2, 0.3, 0.4]] * 5, [[10.0, 20, 30, 40]] * 5


def fractions_of(truth, pred, unit="px", is_sized=True):
    sample = SimpleNamespace(truth=group(truth, is_sized=is_sized), pred=group(pred))
    mine = side([str(i) for i in range(4)])
    theirs = side([str(i) for i in range(7)], confidence=np.linspace(0.1, 0.9, 7))
    return list(fractions(replace(mine, unit=unit), theirs, sample))


def test_fractions_of_one_side_are_an_error():
    (found,) = fractions_of(LARGE, SMALL)
    assert (found.code, found.severity, found.count) == ("V103", "error", 7)
    assert "predictions" in found.message
    assert found.examples == ("0.1 0.2 0.3 0.4",) * 5
    assert found.remedy.startswith('add coords="rel" for the predictions, and name the box format with boxes=: xywh')


def test_fractions_of_both_sides_are_a_warning():
    (found,) = fractions_of(SMALL, SMALL, is_sized=False)
    assert (found.severity, found.count) == ("warning", 11)
    assert "both sides" in found.message
    assert found.remedy.startswith('add coords="rel" for both sides and image_size=(WIDTH, HEIGHT), and name')


def test_fractions_that_are_meant_so_and_small_pixels_are_left_in_peace():
    assert fractions_of(LARGE, LARGE) == []
    assert fractions_of(SMALL, SMALL, unit="rel") == []
    assert fractions_of([[1.0, 1, 3, 3]] * 5, SMALL) == []  # the other side may be as small


def sized(*sizes):
    return SimpleNamespace(sizes=np.array(sizes, dtype=float), is_sized=True)


def test_a_scale_is_a_factor_or_a_frame_where_all_images_have_one_size():
    def ways(measure, unit, truth):
        return [(way.measure, *way.unit) for way in scaling.ways_to_put(Reading("xywh", measure, unit), truth)]

    one, several = sized((200, 100), (200, 100)), sized((200, 100), (200, 50))
    assert ways("factor", (0.5, 0.5), one) == [("factor", 0.5, 0.5), ("frame", 100, 50)]
    assert ways("frame", (100.0, 50.0), one) == [("frame", 100, 50), ("factor", 0.5, 0.5)]
    assert ways("factor", (0.5, 0.5), several) == [("factor", 0.5, 0.5)]
    assert ways("longest", (640.0, 640.0), one) == [("longest", 640, 640)]


@pytest.mark.parametrize(
    ("value", "step", "found"), [(2.3, 0.5, 2.5), (0.4, 0.5, 0.4), (0.3, 1, 1 / 3), (0.98, 0.5, 1), (33, 32, 32)]
)
def test_numbers_below_one_are_reciprocals_of_multiples(value, step, found):
    assert scaling.multiple(value, step) == pytest.approx(found)


def test_logarithms_are_of_centre_size_and_distance():
    found = scaling.logarithms(np.array([[3.0, 5, 4, 12]]))
    assert np.exp(found[0]) == pytest.approx([7, 17, 1, 7, 5, 13])


def test_truths_meet_the_most_confident_predictions_of_their_image():
    # One truth and seven predictions in the first image: twice as many as truths, but five at least; one in the second.
    class Truth(SimpleNamespace):
        def __len__(self):
            return 2

    pred = SimpleNamespace(counts=np.array([7, 1]), cells=np.array([0, 7, 8]))
    one, other = scaling.pairs_within(Truth(counts=np.array([1, 1]), image=np.array([0, 1])), pred)
    assert (one.tolist(), other.tolist()) == ([0] * 5 + [1], [0, 1, 2, 3, 4, 7])


def test_boxes_that_all_begin_or_end_at_one_place_are_not_taken_for_corners():
    moving = np.array([[5.0, 1, 10, 4], [6, 2, 11, 5], [7, 3, 12, 6]])
    assert are_like_corners(moving, 0.5)
    for column in range(4):
        still = moving.copy()
        still[:, column] = moving[0, column] if column < 2 else 20
        assert not are_like_corners(still, 0.5)
