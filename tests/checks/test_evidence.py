"""Evidence for a box format: IoU per object, gains and losses, chance, boxes that look like corners or fractions."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from tests.checks.small import side
from verite.checks import boxes, evidence, examine, readings, scaling
from verite.checks import evidence as explanations
from verite.checks import misread_boxes as geometry
from verite.checks import misread_boxes as hypotheses
from verite.checks import misread_boxes as plausibility
from verite.checks import sample as chance
from verite.checks.boxes import fractions
from verite.checks.readings import Reading, are_like_corners
from verite.model.annotations import Source


# Chance.
def test_uneven_coins_are_counted_in_nats():
    # Three of four heads: 3 ln(6/4) + ln(2/4)
    assert chance.imbalance(3, 1) == pytest.approx(3 * log(1.5) - log(2))
    assert chance.imbalance(2, 2) == chance.imbalance(1, 3) == 0


def test_nothing_is_surprising_that_is_expected():
    assert chance.surprise(2, 1) == pytest.approx(2 * log(2) - 1)
    assert chance.surprise(1, 1) == chance.surprise(1, 2) == chance.surprise(2, 0) == 0


def test_a_ground_truth_is_paired_with_the_best_overlap_then_with_the_most_confident():
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


def test_objects_found_in_their_own_images_alone_are_no_chance():
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


def test_objects_meet_the_most_confident_predictions_of_their_image():
    # One truth and seven predictions in the first image: twice as many as truths, but five at least; one in the second.
    class Truth(SimpleNamespace):
        def __len__(self):
            return 2

    pred = SimpleNamespace(counts=np.array([7, 1]), cells=np.array([0, 7, 8]))
    one, other = scaling.pairs_within(Truth(counts=np.array([1, 1]), image=np.array([0, 1])), pred)
    assert (one.tolist(), other.tolist()) == ([0] * 5 + [1], [0, 1, 2, 3, 4, 7])


def test_boxes_that_all_begin_or_end_at_one_place_are_not_confused_with_corners():
    moving = np.array([[5.0, 1, 10, 4], [6, 2, 11, 5], [7, 3, 12, 6]])
    assert are_like_corners(moving, 0.5)
    for column in range(4):
        still = moving.copy()
        still[:, column] = moving[0, column] if column < 2 else 20
        assert not are_like_corners(still, 0.5)


def test_chance_is_less_likely_than_e_to_the_minus_twelve():
    # With one expected, Chernoff's bound on seeing n is n log n - n + 1: 8 is 9.6 nats, 9 is 11.8, 10 is 14.0.
    assert chance.surprise(9, 1) == pytest.approx(9 * log(9) - 8)
    assert not evidence.exceeds_random_boxes(9, 1.0, at_least=0)
    assert evidence.exceeds_random_boxes(10, 1.0, at_least=0)
    # Fair coins: 17 of 17 heads are 2^-17, or 11.8 nats; 18 are 12.5.
    assert chance.imbalance(17, 0) == pytest.approx(17 * log(2))
    assert chance.imbalance(17, 0) < chance.NATS < chance.imbalance(18, 0)
    assert exp(-chance.NATS) == pytest.approx(6.1e-6, rel=0.01)


def test_random_boxes_are_beaten_threefold_and_by_enough():
    assert evidence.exceeds_random_boxes(90, 30.0, at_least=0)
    assert not evidence.exceeds_random_boxes(89, 30.0, at_least=0)
    assert not evidence.exceeds_random_boxes(90, 30.0, at_least=91)
    # At least a quarter is expected: 5.5 would be 11.8 nats, 5.7 are 12.4.
    assert evidence.exceeds_random_boxes(5.7, 0.0, at_least=0)
    assert not evidence.exceeds_random_boxes(5.5, 0.0, at_least=0)


def test_a_ground_truth_is_won_by_half_and_a_tenth():
    for new, old, expected in (
        (0.5, 0.399, (1, 0)),  # found now, and better by a tenth
        (0.5, 0.405, (0, 0)),
        (0.49, 0.2, (0, 0)),
        (0.399, 0.5, (0, 1)),
        (0.405, 0.5, (0, 0)),
        (0.9, 0.5, (0, 0)),  # it was found before
    ):
        assert evidence.wins(np.array([new]), np.array([old])) == expected


def overlaps(won, lost, kept):
    new = [0.9] * won + [0.1] * lost + [0.8] * kept
    old = [0.1] * won + [0.9] * lost + [0.8] * kept
    return np.array(new), np.array(old)


def test_an_explanation_wins_six_and_three_for_each_that_it_loses():
    assert evidence.is_dominant(*overlaps(6, 0, 0), more=0, fewest=evidence.FEWEST)
    assert not evidence.is_dominant(*overlaps(5, 0, 0), more=0, fewest=evidence.FEWEST)
    assert evidence.is_dominant(*overlaps(12, 2, 0), more=0, fewest=evidence.FEWEST)
    assert not evidence.is_dominant(*overlaps(11, 2, 0), more=0, fewest=evidence.FEWEST)


def test_an_explanation_wins_more_than_a_third_of_what_was_found():
    def explained(won, kept):
        return evidence.is_dominant(*overlaps(won, 0, kept), more=evidence.MORE, fewest=0)

    assert explained(35, 100)
    assert not explained(34, 100)


def explanation(overlaps, possible, reading=None, shift=0, outside=0.0):
    reading = reading or Reading("xywh")
    return explanations.Hypothesis("pred", reading, shift, np.array(overlaps), possible, outside)


def test_half_of_the_objects_found_precisely_are_sound():
    assert explanation([0.75] * 5 + [0.7] * 5, 10).is_sound
    assert not explanation([0.75] * 19 + [0.74] * 21, 40).is_sound
    assert not explanation([], 0).is_sound


def test_two_changes_must_win_twice_what_was_found():
    plain = explanation([0.8] * 10 + [0.1] * 20, 30)
    assert geometry.dominates(explanation([0.8] * 30, 30), plain, changes=2)
    assert not geometry.dominates(explanation([0.8] * 29 + [0.1], 30), plain, changes=2)


def test_fractions_are_small_but_for_one_number_in_twenty():
    numbers = np.full((5, 4), 0.5)
    assert hypotheses.looks_like_fractions(numbers)
    many = np.full((50, 4), 0.5)
    many[:10, 0] = 9  # ten of two hundred
    assert hypotheses.looks_like_fractions(many)
    many[10, 0] = 9
    assert not hypotheses.looks_like_fractions(many)
    numbers[0, :2] = 2.0
    assert hypotheses.looks_like_fractions(numbers)
    numbers[0, :2] = 2.1, 0.5  # one of twenty
    assert hypotheses.looks_like_fractions(numbers)
    numbers[0, 1] = 2.1
    assert not hypotheses.looks_like_fractions(numbers)
    assert not hypotheses.looks_like_fractions(np.full((4, 4), 0.5))


def test_pixels_have_a_median_side_above_three():
    assert hypotheses.looks_like_pixels(np.tile([0, 0, 3.1, 1], (5, 1)))
    assert not hypotheses.looks_like_pixels(np.tile([0, 0, 3.0, 1], (5, 1)))
    assert not hypotheses.looks_like_pixels(np.tile([0, 0, 30.0, 1], (4, 1)))


def rows_of_boxes(count, *, is_truth=False, **changes):
    values = np.array([[10.0 + 3 * i, 20, 30, 40] for i in range(count)])
    names = [f"{i}.jpg" for i in range(count)]
    rows = changes.pop("rows", 0)
    for column, value in changes.items():
        values[:rows, int(column[1])] = value
    confidence = None if is_truth else np.linspace(0.1, 0.9, count)
    annotations = vt.Annotations.of(names, ["cat"] * count, values, "xywh", confidence=confidence)
    return {f.code: f.severity for f in examine(annotations, is_truth=is_truth, notes=True)}


def test_a_twentieth_of_negative_widths_is_an_error():
    assert rows_of_boxes(40, rows=1, c2=-5)["V106"] == "warning"
    assert rows_of_boxes(40, rows=2, c2=-5)["V106"] == "error"
    assert rows_of_boxes(41, rows=2, c2=-5)["V106"] == "warning"
    assert rows_of_boxes(10, rows=1, c2=-5)["V106"] == "warning"  # one is a slip, whatever the share


def test_a_hundredth_of_predictions_may_be_without_a_size():
    assert rows_of_boxes(100, rows=1, c2=0)["V110"] == "note"
    assert rows_of_boxes(99, rows=1, c2=0)["V110"] == "warning"
    assert rows_of_boxes(100, rows=2, c2=0)["V110"] == "warning"
    assert rows_of_boxes(100, rows=1, c2=0, is_truth=True)["V110"] == "warning"


def test_fewer_than_one_in_a_thousand_objects_there_twice_are_a_note():
    def severity(count):
        boxes = [[10.0, 10, 60, 60], *([10.0, 10, 60, 60] for _ in range(count - 1))]
        names = ["0.jpg", *(f"{max(i, 1) - 1}.jpg" for i in range(1, count))]  # the first two are in one image
        truth = vt.Annotations.of(names, ["cat"] * count, boxes)
        return {f.code: f.severity for f in examine(truth, is_truth=True, notes=True)}["V306"]

    assert (severity(1000), severity(1001)) == ("warning", "note")


def test_a_twentieth_of_predictions_twice_is_a_warning():
    def found(repeated):
        rows = list(range(100 - repeated)) + list(range(repeated))
        values = np.array([[10.0 + 3 * i, 20, 30, 40] for i in rows])
        pred = vt.Annotations.of(
            [f"{i}.jpg" for i in rows], ["cat"] * 100, values, "xywh", confidence=np.array(rows) / 100 + 0.001
        )
        return "V306" in {f.code for f in examine(pred, is_truth=False)}

    assert found(5)
    assert not found(4)


def test_one_in_a_thousand_areas_larger_than_their_box_is_a_warning():
    from dataclasses import replace

    def severity(count):
        boxes = np.array([[10 * (i % 90), i // 90, 10 * (i % 90) + 9, i // 90 + 9] for i in range(count)], dtype=float)
        truth = vt.Annotations.of([f"{i}.jpg" for i in range(count)], ["cat"] * count, boxes)
        area = np.full(count, 81.0)
        area[0] = 900
        return [f.severity for f in examine(replace(truth, area=area), is_truth=True, notes=True) if f.code == "V113"]

    assert severity(1000) == ["warning"]
    assert severity(1001) == ["note"]


def test_a_twentieth_of_small_areas_is_a_warning():
    def found(small):
        values = np.array([[10.0 + 3 * i, 20, 30, 40] for i in range(100)])
        truth = vt.Annotations.of([f"{i}.jpg" for i in range(100)], ["cat"] * 100, values, "xywh")
        area = np.full(100, 1200.0)
        area[:small] = 5  # less than a hundredth of 1200
        from dataclasses import replace

        return "V113" in {f.code for f in examine(replace(truth, area=area), is_truth=True)}

    assert found(5)
    assert not found(4)


def like_corners(count, spread):
    """Widths that move with the left edge, as right edges do, and others by so much."""
    rng = np.random.default_rng(5)
    first = rng.uniform(0, 100, (count, 2))
    return np.concatenate([first, first + 200 + rng.normal(0, spread, (count, 2))], axis=1)


def correlated(along, count=200):
    """Points whose second one is always behind, and goes with the first in so many more cases than against it."""
    first = np.repeat([1.0, -1.0], count // 2)
    against = np.tile(np.arange(count // 2) < round((1 - along) * count / 4), 2)
    second = 10 + np.where(against, -first, first)
    return np.stack([first, first, second, second], axis=1)


def test_corners_move_with_their_first_point():
    assert readings.are_like_corners(correlated(0.52), boxes.ALONG)
    assert not readings.are_like_corners(correlated(0.48), boxes.ALONG)
    one_behind = correlated(0.52)
    one_behind[7, 2] = one_behind[7, 0]
    assert not readings.are_like_corners(one_behind, boxes.ALONG)


def test_twenty_lines_on_both_sides_may_look_like_corners():
    for count, is_told in ((19, False), (20, True)):
        values = like_corners(count, 10)
        names = [f"{i}" for i in range(count)]
        source = Source("x", "text", "numbers taken as left, top, width and height, the default")
        truth = vt.Annotations.of(names, ["cat"] * count, values, "xywh").with_source(source)
        pred = vt.Annotations.of(names, ["cat"] * count, values + 1, "xywh", confidence=np.linspace(0, 1, count))
        found = list(boxes.corners_on_both_sides(truth, pred.with_source(source)))
        assert any(finding.severity == "error" for finding in found) == is_told  # below, both readings may fit


def test_lengths_are_usual_within_a_fiftieth():
    own = Reading("xywh")
    for length, is_worth in ((640, True), (652.7, True), (653, False), (550, False)):
        assert hypotheses.is_worth_it(Reading("xywh", "longest", (length, length)), own) == is_worth


def test_another_layout_is_scaled_by_a_twentieth_at_least():
    own = Reading("xywh")
    assert hypotheses.is_worth_it(Reading("xyxy", "factor", (1.05, 1.05)), own)
    assert not hypotheses.is_worth_it(Reading("xyxy", "factor", (1.048, 1.048)), own)
    assert hypotheses.is_worth_it(Reading("xywh", "factor", (1.04, 1.04)), own)


def sized_sample(is_sized=True):
    return SimpleNamespace(truth=SimpleNamespace(is_sized=is_sized))


def test_boxes_may_leave_images_by_three_tenths_or_as_before():
    sample = sized_sample()
    plain = explanation([0.1] * 10, 10, outside=0.0)
    assert plausibility.lies_in_images(sample, plain, explanation([0.9] * 10, 10, outside=0.3))
    assert not plausibility.lies_in_images(sample, plain, explanation([0.9] * 10, 10, outside=0.31))
    left = explanation([0.1] * 10, 10, outside=0.4)
    assert plausibility.lies_in_images(sample, left, explanation([0.9] * 10, 10, outside=0.4))


def test_no_prediction_finds_many_objects():
    sample, plain = sized_sample(), explanation([0.1] * 12, 10)
    assert plausibility.lies_in_images(sample, plain, explanation([0.9] * 12, 10))
    assert not plausibility.lies_in_images(sample, plain, explanation([0.9] * 13, 10))


def test_places_are_parts_of_the_image_with_a_thirtieth_of_the_boxes():
    corners = np.array([[0, 0, 20, 20], [80, 0, 100, 20], [0, 80, 20, 100], [80, 80, 100, 100]], dtype=np.float64)
    assert evidence.places(corners) == 4
    few = np.concatenate([np.tile(corners[:1], (97, 1)), np.tile(corners[3:], (3, 1))])
    assert evidence.places(few) == 2
    assert evidence.places(np.concatenate([few, corners[:1]])) == 1  # three of 101


def test_the_last_constants_are_amounts_of_work():
    """They bound what is looked at; more of it changes no verdict by itself."""
    assert evidence.turns(100) == [20, 33, 50, 66]
    assert len(evidence.random_boxes()) == evidence.RANDOM_BOXES
