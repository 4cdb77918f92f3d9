"""When is another reading believed? Every way through the verdict, and what it weighs, counted by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.checks.test_boundaries import explanation
from tests.checks.test_reading_boundaries import apart, group
from verite.checks import misread_boxes as plausibility
from verite.checks.readings import Reading
from verite.checks.sample import Sample

SCALED = Reading("xywh", "factor", (2.0, 2.0))


def is_believed(reading=None, shift=0, side="pred", plain_outside=0.0, **facts):
    """The verdict where predicates answer so; what is not said speaks for nothing."""
    answers = {"lies_in_images": True, "places": 4, "overlaps": (0.5,)} | facts
    overlaps = np.array(answers.pop("overlaps"))
    found = replace(explanation(overlaps, 10, reading, shift), side=side)
    sample = SimpleNamespace(
        truth=SimpleNamespace(sizes=None), pred=SimpleNamespace(reading=Reading(facts.get("own", "xywh")))
    )
    answers.pop("own", None)
    names = ("is_about_fractions", "is_biased", "fills_the_images", "is_blind", "exceeds_other_images")
    with pytest.MonkeyPatch.context() as patch:
        for name in (*names, "is_precise", "beats_random_boxes"):
            patch.setattr(plausibility, name, lambda *given, name=name: answers.get(name, False))
        patch.setattr(plausibility, "lies_in_images", lambda *given: answers["lies_in_images"])
        patch.setattr(plausibility, "places", lambda boxes: answers["places"] if len(boxes) else 0)
        patch.setattr(plausibility, "boxes_under", lambda *given: (overlaps, None))
        patch.setattr(plausibility, "relative_to_images", lambda boxes, sizes: boxes)
        patch.setattr(plausibility, "chance_of", lambda *given: [])
        return plausibility.is_plausible(sample, explanation([0.0], 10, outside=plain_outside), found)


def test_fractions_are_certain_whatever_else_is_odd():
    assert is_believed(is_about_fractions=True, lies_in_images=False, is_biased=True)


def test_boxes_outside_or_off_to_one_side_are_never_believed():
    assert is_believed(exceeds_other_images=True)
    assert not is_believed(exceeds_other_images=True, lies_in_images=False)
    assert not is_believed(exceeds_other_images=True, is_biased=True)


def test_boxes_that_come_back_into_their_images_need_no_further_evidence():
    assert is_believed(plain_outside=0.3, is_blind=True)
    assert not is_believed(plain_outside=0.29)
    assert not is_believed(plain_outside=0.3, shift=1)
    assert is_believed(fills_the_images=True)
    assert not is_believed(fills_the_images=True, shift=1)


def test_predictions_that_are_the_same_everywhere_are_never_believed():
    assert not is_believed(is_blind=True, exceeds_other_images=True, beats_random_boxes=True)


def test_shifted_ids_must_fit_their_own_images():
    assert is_believed(shift=1, exceeds_other_images=True)
    assert not is_believed(shift=1, beats_random_boxes=True)


def test_another_layout_beats_other_images_or_random_boxes():
    assert is_believed(exceeds_other_images=True, places=1)
    assert is_believed(beats_random_boxes=True, places=1)
    assert not is_believed(is_precise=True)


def test_a_scale_that_fits_in_four_places_is_like_a_layout():
    assert is_believed(SCALED, beats_random_boxes=True, places=4, own="xyxy")
    assert is_believed(SCALED, exceeds_other_images=True, places=4, own="xyxy")
    assert not is_believed(SCALED, is_precise=True, places=4)
    assert not is_believed(SCALED, beats_random_boxes=True, places=3)
    assert not is_believed(SCALED, beats_random_boxes=True, overlaps=(0.49,))  # none is found, so in no place


def test_a_scale_that_fits_in_few_places_fits_very_well():
    assert is_believed(SCALED, exceeds_other_images=True, places=1)
    assert is_believed(SCALED, is_precise=True, beats_random_boxes=True, places=2)
    assert not is_believed(SCALED, is_precise=True, beats_random_boxes=True, places=1)
    assert not is_believed(SCALED, is_precise=True, places=2)
    assert not is_believed(SCALED, beats_random_boxes=True, places=2)
    assert not is_believed(SCALED, exceeds_other_images=True, places=3, own="xyxy")
    assert is_believed(SCALED, exceeds_other_images=True, places=3, own="xyxy", side="truth")


def test_truths_may_lie_farther_than_predictions_only_where_predictions_are_read_anew():
    near, far = group([[0, 0, 10, 10]] * 3, size=(0.0, 0.0)), group([[0, 0, 10, 90]] * 3, size=(0.0, 0.0))
    found = explanation([0.9] * 3, 3, Reading("xyxy"))
    plain = explanation([0.0] * 3, 3)
    assert plausibility.lies_in_images(Sample(far, {0: near}), plain, found)
    assert not plausibility.lies_in_images(Sample(far, {0: near}), plain, replace(found, side="truth"))
    assert plausibility.lies_in_images(Sample(near, {0: far}), plain, replace(found, side="truth"))


def test_half_of_the_boxes_recur():
    first, second, third = apart(3)
    assert plausibility.recurrence(group([first, second], [first, third])) == 0.5
    small, large = group([[10, 10, 20, 20]], [[20, 20, 40, 40]]), (100.0, 200.0)
    small.sizes[:] = np.array(large)[:, None]  # the same part of a small and of a large image
    assert plausibility.recurrence(small) == 1


def test_boxes_without_a_bias_err_to_all_sides():
    truth, errors = [[0.0, 0, 100, 100]], ([20, 0, 0, 0], [-20, 0, 0, 0], [0, 0, 0, 0])
    sample = Sample(group(*([truth[0]] for _ in errors)), {0: group(*([np.add(truth[0], by)] for by in errors))})
    assert not plausibility.is_biased(sample, explanation([0.9] * 3, 3, Reading("xyxy")))


def test_a_side_is_about_fractions_where_its_own_measure_is_another():
    sample = SimpleNamespace(
        truth=SimpleNamespace(reading=Reading("xywh")), pred=SimpleNamespace(reading=Reading("xywh", "rel"))
    )
    found = explanation([0.9], 1, Reading("xyxy", "rel"))
    assert not plausibility.is_about_fractions(sample, found)
    assert plausibility.is_about_fractions(sample, replace(found, side="truth"))
    assert plausibility.is_about_fractions(sample, replace(found, reading=Reading("xyxy")))
    assert not plausibility.is_about_fractions(sample, replace(found, reading=SCALED))


def test_images_are_filled_where_half_of_the_truths_are_found():
    pred = group([[0, 0, 50, 50]] * 3)
    doubled = Reading("xyxy", "factor", (0.5, 0.5))

    def fills(found, possible, reading=doubled, sized=pred):
        return plausibility.fills_the_images(
            Sample(sized, {0: sized}), explanation([0.9] * found + [0.0], possible, reading)
        )

    assert fills(1, 2)
    assert not fills(1, 3)
    assert not fills(2, 2, Reading("xyxy"))
    assert not fills(2, 2, sized=group([[0, 0, 50, 50]] * 3, size=(0.0, 0.0)))


def test_a_box_is_wide_that_ends_late_in_one_direction_alone():
    wide = group([[0, 0, 50, 80]] * 3)
    doubled = Reading("xyxy", "factor", (0.5, 0.5))
    assert not plausibility.fills_the_images(Sample(wide, {0: wide}), explanation([0.9] * 3, 3, doubled))
    flat = group([[0, 0, 50, 30]] * 3)  # doubled it ends at 1 and 0.6
    assert not plausibility.fills_the_images(Sample(flat, {0: flat}), explanation([0.9] * 3, 3, doubled))


def test_random_boxes_are_expected_by_the_number_of_tries():
    truth = group([[0, 0, 10, 10], [50, 50, 60, 60]], [[0, 0, 10, 10]])
    pred = group([[0, 0, 10, 10], [0, 0, 10, 10], [50, 50, 60, 60]], [[70, 70, 90, 90]])
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plausibility, "chance_of_random", lambda boxes: np.array([0.5, 0.7, 0.1]))
        patch.setattr(plausibility, "exceeds_random_boxes", lambda *given: asked.append(given))
        found = explanation([1.0, 1.0, 0.0], 3, Reading("xyxy"))
        assert not plausibility.beats_random_boxes(Sample(truth, {0: pred}), found)
    # Three tries: 1 - 0.5^3 and 1 - 0.7^3 are found by chance, then one try with 0.1.
    assert asked[0] == (2, pytest.approx(0.875 + 0.973 + 0.1), 1.5)
    # Three predictions meet truths that have 1.2, so 1, and one has 0.1; three of four are right.
    assert asked[1] == (3, pytest.approx(3.1), pytest.approx(1.2))
    # The two most confident of the first image and the one of the second.
    assert asked[2] == (2, pytest.approx(2.1), pytest.approx(0.9))


def test_predictions_of_other_images_are_stretched_to_the_image():
    truth = group([[10, 10, 20, 20]], [[20, 10, 40, 20]])
    truth.sizes[1] = 200, 100
    pred = group([[10, 10, 20, 20]], [[20, 10, 40, 20]])
    pred.sizes[1] = 200, 100
    sample, found = Sample(truth, {0: pred}), explanation([1.0, 1.0], 2, Reading("xyxy"))
    assert [one.tolist() for one in plausibility.chance_of(sample, found)] == [[1, 1]]
    truth.sizes[1] = 100, 100  # as they are, 10 of 30 columns are shared at best: nothing from 0.3 on but a third
    assert [one.tolist() for one in plausibility.chance_of(sample, found)] == [[0, 0]]


def turned_scale(measure, unit, *pred_boxes):
    """Overlaps with the other image's prediction, with an estimate there and without, and what was estimated from."""
    truth, pred = group([[10, 10, 20, 20]], [[20, 10, 40, 20]]), group(*([box] for box in pred_boxes))
    for side in (truth, pred):
        side.sizes[1] = 200, 100
    asked, out = [], list[np.ndarray]()
    reading = Reading("xyxy", measure, (unit, unit))

    def estimate(here, right, layout, measure):
        asked.append((here.numbers.tolist(), here.sizes.tolist(), layout, measure))
        return answers.pop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plausibility, "estimate", estimate)
        answers = [None, reading]
        while answers:
            out += plausibility.chance_of(Sample(truth, {0: pred}), explanation([1.0, 1.0], 2, reading))
    return [one.tolist() for one in out], asked[0]


def test_a_factor_is_estimated_again_in_other_images():
    found, asked = turned_scale("factor", 0.5, [5, 5, 10, 10], [10, 5, 20, 10])
    assert found == [[1, 1], [1, 1]]
    # A factor is of pixels, which are stretched first: those of the second image to half, those of the first twofold.
    assert asked == ([[5, 5, 10, 10], [10, 5, 20, 10]], [[100, 100], [200, 100]], "xyxy", "factor")


def test_a_frame_is_estimated_again_in_other_images():
    found, asked = turned_scale("frame", 50.0, [5, 5, 10, 10], [6, 5, 11, 10])
    # The second prediction is 12 to 22 in the first image, where the truth is 10 to 20: 8 of 12 are shared.
    assert found == [pytest.approx([2 / 3, 1]), pytest.approx([2 / 3, 1])]
    assert asked == ([[6, 5, 11, 10], [5, 5, 10, 10]], [[100, 100], [200, 100]], "xyxy", "frame")


def test_images_without_a_size_reach_as_far_as_their_boxes():
    truth = group([[0, 0, 30, 20]], [[0, 0, 0.5, 9]], size=(0.0, 0.0))
    pred = group([[0, 0, 10, 40]], [[0, 0, 0.2, 3]], size=(0.0, 0.0))
    assert plausibility.frames_of(truth, pred).tolist() == [[30, 40], [1, 9]]
    assert plausibility.frames_of(group([[0, 0, 1, 1]], size=(70.0, 50.0)), pred).tolist() == [[70, 50]]
