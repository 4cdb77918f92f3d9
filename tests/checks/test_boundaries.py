"""Every constant of the checks decides something at a point; here is the point, on both sides of it."""

from __future__ import annotations

from math import exp, log
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from tests.checks.boundary import boundary
from verite.checks import boxes, evidence, examine, readings
from verite.checks import evidence as explanations
from verite.checks import misread_boxes as geometry
from verite.checks import misread_boxes as hypotheses
from verite.checks import misread_boxes as plausibility
from verite.checks import sample as chance
from verite.checks.readings import Reading
from verite.model.annotations import Source


@boundary("chance.NATS")
def test_chance_is_less_likely_than_e_to_the_minus_twelve():
    # With one expected, Chernoff's bound on seeing n is n log n - n + 1: 8 is 9.6 nats, 9 is 11.8, 10 is 14.0.
    assert chance.surprise(9, 1) == pytest.approx(9 * log(9) - 8)
    assert not evidence.exceeds_random_boxes(9, 1.0, at_least=0)
    assert evidence.exceeds_random_boxes(10, 1.0, at_least=0)
    # Fair coins: 17 of 17 heads are 2^-17, or 11.8 nats; 18 are 12.5.
    assert chance.imbalance(17, 0) == pytest.approx(17 * log(2))
    assert chance.imbalance(17, 0) < chance.NATS < chance.imbalance(18, 0)
    assert exp(-chance.NATS) == pytest.approx(6.1e-6, rel=0.01)


@boundary("evidence.ODDS", "evidence.EXPECTED")
def test_random_boxes_are_beaten_threefold_and_by_enough():
    assert evidence.exceeds_random_boxes(90, 30.0, at_least=0)
    assert not evidence.exceeds_random_boxes(89, 30.0, at_least=0)
    assert not evidence.exceeds_random_boxes(90, 30.0, at_least=91)
    # At least a quarter is expected: 5.5 would be 11.8 nats, 5.7 are 12.4.
    assert evidence.exceeds_random_boxes(5.7, 0.0, at_least=0)
    assert not evidence.exceeds_random_boxes(5.5, 0.0, at_least=0)


@boundary("evidence.FOUND", "evidence.BETTER")
def test_a_truth_is_won_by_half_and_a_tenth():
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


@boundary("evidence.FEWEST")
def test_an_explanation_wins_six_and_three_for_each_that_it_loses():
    assert evidence.is_dominant(*overlaps(6, 0, 0), more=0, fewest=evidence.FEWEST)
    assert not evidence.is_dominant(*overlaps(5, 0, 0), more=0, fewest=evidence.FEWEST)
    assert evidence.is_dominant(*overlaps(12, 2, 0), more=0, fewest=evidence.FEWEST)
    assert not evidence.is_dominant(*overlaps(11, 2, 0), more=0, fewest=evidence.FEWEST)


@boundary("evidence.MORE")
def test_an_explanation_wins_more_than_a_third_of_what_was_found():
    def explained(won, kept):
        return evidence.is_dominant(*overlaps(won, 0, kept), more=evidence.MORE, fewest=0)

    assert explained(35, 100)
    assert not explained(34, 100)


def explanation(overlaps, possible, reading=None, shift=0, outside=0.0):
    reading = reading or Reading("xywh")
    return explanations.Hypothesis("pred", reading, shift, np.array(overlaps), possible, outside)


@boundary("explanations.SOUND", "evidence.PRECISE")
def test_half_of_the_truths_found_precisely_are_sound():
    assert explanation([0.75] * 5 + [0.7] * 5, 10).is_sound
    assert not explanation([0.75] * 19 + [0.74] * 21, 40).is_sound
    assert not explanation([], 0).is_sound


@boundary("geometry.TWOFOLD")
def test_two_changes_must_win_twice_what_was_found():
    plain = explanation([0.8] * 10 + [0.1] * 20, 30)
    assert geometry.dominates(explanation([0.8] * 30, 30), plain, changes=2)
    assert not geometry.dominates(explanation([0.8] * 29 + [0.1], 30), plain, changes=2)


@boundary("hypotheses.SMALL", "hypotheses.LARGE", "hypotheses.FEWEST")
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


@boundary("hypotheses.PIXELS")
def test_pixels_have_a_median_side_above_three():
    assert hypotheses.looks_like_pixels(np.tile([0, 0, 3.1, 1], (5, 1)))
    assert not hypotheses.looks_like_pixels(np.tile([0, 0, 3.0, 1], (5, 1)))
    assert not hypotheses.looks_like_pixels(np.tile([0, 0, 30.0, 1], (4, 1)))


def side(count, *, is_truth=False, **changes):
    values = np.array([[10.0 + 3 * i, 20, 30, 40] for i in range(count)])
    names = [f"{i}.jpg" for i in range(count)]
    rows = changes.pop("rows", 0)
    for column, value in changes.items():
        values[:rows, int(column[1])] = value
    confidence = None if is_truth else np.linspace(0.1, 0.9, count)
    annotations = vt.Annotations.of(names, ["cat"] * count, values, "xywh", confidence=confidence)
    return {f.code: f.severity for f in examine(annotations, is_truth=is_truth, notes=True)}


@boundary("values.MASS")
def test_a_twentieth_of_negative_widths_is_an_error():
    assert side(40, rows=1, c2=-5)["V106"] == "warning"
    assert side(40, rows=2, c2=-5)["V106"] == "error"
    assert side(41, rows=2, c2=-5)["V106"] == "warning"
    assert side(10, rows=1, c2=-5)["V106"] == "warning"  # one is a slip, whatever the share


@boundary("values.FEW")
def test_a_hundredth_of_predictions_may_be_without_a_size():
    assert side(100, rows=1, c2=0)["V110"] == "note"
    assert side(99, rows=1, c2=0)["V110"] == "warning"
    assert side(100, rows=2, c2=0)["V110"] == "warning"
    assert side(100, rows=1, c2=0, is_truth=True)["V110"] == "warning"


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


@boundary("values.RARE")
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


@boundary("boxes.ALONG")
def test_corners_move_with_their_first_point():
    assert readings.are_like_corners(correlated(0.52), boxes.ALONG)
    assert not readings.are_like_corners(correlated(0.48), boxes.ALONG)
    one_behind = correlated(0.52)
    one_behind[7, 2] = one_behind[7, 0]
    assert not readings.are_like_corners(one_behind, boxes.ALONG)


@boundary("boxes.FEWEST_LINES")
def test_twenty_lines_on_both_sides_may_look_like_corners():
    for count, is_told in ((19, False), (20, True)):
        values = like_corners(count, 10)
        names = [f"{i}" for i in range(count)]
        source = Source("x", "text", "numbers taken as left, top, width and height, the default")
        truth = vt.Annotations.of(names, ["cat"] * count, values, "xywh").with_source(source)
        pred = vt.Annotations.of(names, ["cat"] * count, values + 1, "xywh", confidence=np.linspace(0, 1, count))
        found = list(boxes.corners_on_both_sides(truth, pred.with_source(source)))
        assert any(finding.severity == "error" for finding in found) == is_told  # below, both readings may fit


@boundary("hypotheses.USUALLY")
def test_lengths_are_usual_within_a_fiftieth():
    own = Reading("xywh")
    for length, is_worth in ((640, True), (652.7, True), (653, False), (550, False)):
        assert hypotheses.is_worth_it(Reading("xywh", "longest", (length, length)), own) == is_worth


@boundary("hypotheses.SAME")
def test_another_layout_is_scaled_by_a_twentieth_at_least():
    own = Reading("xywh")
    assert hypotheses.is_worth_it(Reading("xyxy", "factor", (1.05, 1.05)), own)
    assert not hypotheses.is_worth_it(Reading("xyxy", "factor", (1.048, 1.048)), own)
    assert hypotheses.is_worth_it(Reading("xywh", "factor", (1.04, 1.04)), own)


def sized_sample(is_sized=True):
    return SimpleNamespace(truth=SimpleNamespace(is_sized=is_sized))


@boundary("plausibility.OUTSIDE")
def test_boxes_may_leave_images_by_three_tenths_or_as_before():
    sample = sized_sample()
    plain = explanation([0.1] * 10, 10, outside=0.0)
    assert plausibility.lies_in_images(sample, plain, explanation([0.9] * 10, 10, outside=0.3))
    assert not plausibility.lies_in_images(sample, plain, explanation([0.9] * 10, 10, outside=0.31))
    left = explanation([0.1] * 10, 10, outside=0.4)
    assert plausibility.lies_in_images(sample, left, explanation([0.9] * 10, 10, outside=0.4))


@boundary("plausibility.CROWDED")
def test_no_prediction_finds_many_truths():
    sample, plain = sized_sample(), explanation([0.1] * 12, 10)
    assert plausibility.lies_in_images(sample, plain, explanation([0.9] * 12, 10))
    assert not plausibility.lies_in_images(sample, plain, explanation([0.9] * 13, 10))


@boundary("evidence.FAIR")
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
