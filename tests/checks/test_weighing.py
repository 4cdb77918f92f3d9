"""Which of all readings is the best, and what was tried? By overlaps that are given, so that each answer is by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.checks.test_boundaries import explanation, overlaps
from tests.checks.test_reading_boundaries import apart, group
from verite.checks import misread_boxes as geometry
from verite.checks import misread_boxes as hypotheses
from verite.checks.readings import Reading
from verite.checks.sample import Sample

CORNERS, DOUBLED = Reading("xyxy"), Reading("xywh", "factor", (2.0, 2.0))


def best_of(*tried, plain_outside=0.0, implausible=()):
    """The best of what is tried, given as side, reading, shift, weight, truths found by 0.8, and how many changes."""
    side = group(apart(5), layout="xywh")
    given = {(one, reading, shift): count for one, reading, shift, _, count in tried}
    changes = []

    def dominates(e, plain, many):
        changes.append(many)
        return e.found >= 6

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(geometry, "overlaps_under", lambda _, *asked: np.array([0.8] * given[asked] + [0.0]))
        patch.setattr(geometry, "dominates", dominates)
        patch.setattr(geometry, "share_outside", lambda *asked: 0.0)
        patch.setattr(geometry, "is_plausible", lambda sample, plain, e: e.found not in implausible)
        found = geometry.best_of(
            Sample(side, {0: side, 1: side}),
            explanation([0.1] * 10, 10, outside=plain_outside),
            iter([one[:4] for one in tried]),
        )
    return (found and (found.side, found.reading, found.shift)), changes


def test_layouts_scales_and_shifts_are_changes():
    both = Reading("xyxy", "frame", (640.0, 640.0))
    tried = [("pred", Reading("xywh"), 1), ("pred", CORNERS, 0), ("pred", CORNERS, 1), ("pred", DOUBLED, 0)]
    _, changes = best_of(*((*one, 1.0, 0) for one in [*tried, ("pred", both, 0), ("pred", both, 1)]))
    assert changes == [1, 1, 2, 1, 2, 3]
    assert best_of(("pred", Reading("xywh"), 0, 1.0, 0))[1] == [1]  # one at least


def test_the_best_has_the_largest_score_and_is_plausible():
    tried = [("pred", CORNERS, 0, 1.0, 7), ("pred", Reading("yxyx"), 0, 1.0, 9), ("truth", CORNERS, 0, 1.0, 8)]
    assert best_of(*tried)[0] == ("pred", Reading("yxyx"), 0)
    assert best_of(*tried, implausible=(9,))[0] == ("truth", CORNERS, 0)
    assert best_of(*tried, implausible=(7, 8, 9))[0] is None
    lighter = [tried[0], ("pred", Reading("yxyx"), 0, 0.7, 9), ("truth", CORNERS, 0, 0.5, 8)]  # 7, 6.3 and 4
    assert best_of(*lighter)[0] == ("pred", CORNERS, 0)


def test_three_readings_are_asked_whether_they_are_plausible():
    tried = [("pred", Reading(layout), 0, 1.0, 10 - i) for i, layout in enumerate(("xyxy", "cxcywh", "yxhw", "yxyx"))]
    assert best_of(*tried, implausible=(10, 9))[0] == ("pred", Reading("yxhw"), 0)
    assert best_of(*tried, implausible=(10, 9, 8))[0] is None


def test_of_scales_the_best_fit_says_how():
    frame = Reading("xywh", "frame", (640.0, 640.0))
    tried = [("truth", CORNERS, 0, 1.0, 9), ("pred", DOUBLED, 0, 1.0, 8), ("pred", frame, 0, 1.0, 7)]
    # The frame alone is plausible: something is scaled, and the factor fits best on that side.
    assert best_of(*tried, implausible=(9, 8))[0] == ("pred", DOUBLED, 0)


def test_boxes_that_come_back_need_not_dominate():
    tried = ("pred", CORNERS, 0, 1.0, 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(geometry, "stays_inside", lambda e, plain: True)
        assert best_of(tried, plain_outside=0.3)[0] == ("pred", CORNERS, 0)
        assert best_of(tried, plain_outside=0.29)[0] is None
        patch.setattr(geometry, "stays_inside", lambda e, plain: False)
        assert best_of(tried, plain_outside=0.3)[0] is None
        assert best_of((*tried[:4], 6), plain_outside=0.3)[0] == ("pred", CORNERS, 0)


def test_boxes_that_come_back_win_six_more_than_they_lose():
    def stays(won, lost, before=0.3, after=0.0, reading=CORNERS):
        new, old = overlaps(won, lost, 0)
        return geometry.stays_inside(explanation(new, 10, reading, outside=after), explanation(old, 10, outside=before))

    assert stays(6, 0)
    assert not stays(5, 0)
    assert stays(7, 1)
    assert not stays(6, 1)
    assert not stays(6, 0, before=0.5, after=0.21)
    assert not stays(6, 0, reading=DOUBLED)


def test_what_was_estimated_or_changes_two_things_wins_more():
    def dominates(won, changes=1, reading=CORNERS):
        new, old = overlaps(won, 0, 0)
        return geometry.dominates(explanation(new, 10, reading), explanation(old, 10), changes)

    assert dominates(6)
    assert not dominates(5)
    assert dominates(12, changes=2)
    assert not dominates(11, changes=2)
    assert dominates(12, reading=DOUBLED)
    assert not dominates(11, reading=DOUBLED)
    assert dominates(24, changes=2, reading=DOUBLED)
    assert not dominates(23, changes=2, reading=DOUBLED)


def weigh(*answers, sound=False):
    """What is told where the plain reading is not sound, and these are the best plain and scaled readings."""
    side = group([[0, 0, 10, 10]], layout="xywh")
    other = side if sound else group([[40, 40, 50, 50]], layout="xywh")
    answers = iter(answers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(geometry, "best_of", lambda *given: next(answers))
        patch.setattr(geometry, "share_outside", lambda *given: 0.25)
        patch.setattr(geometry, "on_the_right_side", lambda sample, found: found)
        patch.setattr(geometry, "with_round_numbers", lambda sample, found: replace(found, shift=7))
        plain, best = geometry.weigh_readings(Sample(side, {0: other}))
    return plain, best and (best.reading, best.shift), list(answers)


def test_nothing_is_tried_where_predictions_fit():
    plain, best, _ = weigh(sound=True)
    assert (plain.side, plain.shift, plain.overlaps.tolist(), plain.possible, plain.outside) == ("pred", 0, [1], 1, 0)
    assert best is None


def test_scales_are_tried_where_no_layout_is_sound():
    sound, poor = explanation([0.8] * 10, 10, CORNERS), explanation([0.6] * 10, 10, CORNERS)
    scaled = explanation([0.7] * 10, 10, DOUBLED)
    plain, best, left = weigh(sound, scaled)
    assert (plain.outside, best, left) == (0.25, (CORNERS, 0), [scaled])
    assert weigh(poor, scaled)[1] == (DOUBLED, 7)
    assert weigh(None, scaled)[1] == (DOUBLED, 7)
    assert weigh(poor, None)[1] == (CORNERS, 0)
    assert weigh(poor, explanation([0.6] * 10, 10, DOUBLED))[1] == (CORNERS, 0)  # as good is not better
    assert weigh(None, None)[1] is None


def test_the_other_side_is_not_asked_where_no_size_is_known():
    found = explanation([0.8], 1, DOUBLED)
    nothing = SimpleNamespace(truth=SimpleNamespace(is_sized=False))
    assert geometry.on_the_right_side(nothing, found) is found
    sized = SimpleNamespace(truth=SimpleNamespace(is_sized=True))
    assert geometry.on_the_right_side(sized, replace(found, side="truth")).side == "truth"
    plain = replace(found, reading=CORNERS)
    assert geometry.on_the_right_side(sized, plain) is plain


def test_round_numbers_are_looked_for_on_the_side_that_is_wrong():
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(geometry, "round_off", lambda wrong, right, reading: asked.append((wrong, right)) or CORNERS)
        patch.setattr(geometry, "overlaps_under", lambda *given: np.array(given[3:]))
        sample = SimpleNamespace(truth="truth", pred="pred")
        found = geometry.with_round_numbers(sample, explanation([0.8], 1, DOUBLED))
        geometry.with_round_numbers(sample, replace(found, side="truth"))
    assert (found.reading, found.overlaps.tolist()) == (CORNERS, [0])
    assert asked == [("pred", "truth"), ("truth", "pred")]


# What is tried.


def tried(truth, pred, **more):
    readings = hypotheses.plain_readings(Sample(truth, pred, **more))
    return [(side, reading.layout, reading.measure, shift) for side, reading, shift, _ in readings]


def test_every_other_layout_of_both_sides_is_tried_and_shifts_with_each():
    side = group(apart(5), layout="xywh")
    layouts = ["xyxy", "cxcywh", "yxhw", "yxyx"]
    plain = [(one, layout, "abs", 0) for one in ("pred", "truth") for layout in layouts]
    assert tried(side, {0: side}) == plain
    shifted = [("pred", layout, "abs", 1) for layout in ("xywh", *layouts)]
    assert tried(side, {0: side, 1: side}, shifts=(0, 1)) == [*plain[:4], *shifted, *plain[4:]]


def test_fractions_are_tried_for_small_numbers_in_images_of_known_size():
    side, small = group(apart(5), layout="xywh"), group([[0.1, 0.2, 0.3, 0.4]] * 5, layout="xywh")
    measures = {(one, measure) for one, _, measure, _ in tried(side, {0: small})}
    assert measures == {("pred", "rel"), ("truth", "abs")}
    unsized = group([[0.1, 0.2, 0.3, 0.4]] * 5, layout="xywh", size=(0.0, 0.0))
    assert {one for one, *_ in tried(side, {0: unsized})} == {"truth"}


def test_fractions_stay_fractions_unless_they_look_like_pixels():
    def measure(numbers, was="rel"):
        return hypotheses.likely_measure(SimpleNamespace(numbers=np.array(numbers), reading=Reading("xywh", was)))

    assert measure([[0.1, 0.1, 3, 3]] * 5) == "rel"
    assert measure([[10, 10, 30, 30]] * 5) == "abs"
    assert measure([[10, 10, 30, 30]] * 4) == "rel"  # too few to say
    assert measure([[0.1, 0.1, 0.3, 0.3]] * 5, "abs") == "rel"
    assert measure([[0.1, 0.1, 0.3, 0.3]] * 4, "abs") == "abs"


def scaled(truth, pred):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hypotheses, "estimate", lambda wrong, right, layout, measure: Reading(layout, measure))
        patch.setattr(hypotheses, "is_worth_it", lambda *given: True)
        return [
            (side, r.layout, r.measure, *r.unit, round(weight, 6))
            for side, r, shift, weight in hypotheses.scaled_readings(Sample(truth, {0: pred}))
            if shift == 0
        ]


def test_four_scales_of_three_layouts_are_tried_and_a_thousand():
    side = group(apart(5), layout="xywh")
    found = scaled(side, side)
    assert [one[1:3] for one in found[:4]] == [("xywh", m) for m in ("factor", "frame", "longest", "padded")]
    assert [one[5] for one in found[:4]] == [0.97, 0.95, 0.93, 0.91]
    assert [one[1] for one in found[:12:4]] == ["xywh", "xyxy", "cxcywh"]
    # 1 - 0.03 for a scale, 0.03 for the layout, 0.015 for y before x
    assert found[12:] == [("pred", "yxyx", "frame", 1000.0, 1000.0, 0.925)]


def test_a_thousand_is_tried_where_numbers_do_not_exceed_it():
    side = group(apart(5), layout="xywh")
    below, above = (group([[0, 0, 5, 5]] * 4 + [[n, n, n, n]], layout="xywh") for n in (1000.0, 1001.0))
    assert scaled(side, below)[-1][1] == "yxyx"
    assert scaled(side, above)[-1][1] != "yxyx"  # four of twenty are too many


def test_the_truth_is_scaled_to_a_frame_where_images_differ():
    side = group(apart(5), layout="xywh")
    for axis in (0, 1):
        other = group(apart(5), layout="xywh")
        other.sizes[0, axis] = 120
        assert scaled(other, side)[-1] == ("truth", "xywh", "frame", 1.0, 1.0, 0.94)
    assert scaled(side, side)[-1][0] == "pred"
    relative = replace(other, reading=Reading("xywh", "rel"))
    assert scaled(relative, side)[-1][0] == "pred"


def test_scales_of_images_without_a_size_are_of_the_layout_as_read():
    side = group(apart(5), layout="xywh", size=(0.0, 0.0))
    assert [one[1:3] for one in scaled(side, side)] == [
        ("xywh", measure) for measure in ("factor", "frame", "longest", "padded")
    ]
    small = group([[0.1, 0.2, 0.3, 0.4]] * 5, layout="xywh", size=(0.0, 0.0))
    assert [one[1:3] for one in scaled(side, small)] == [
        (layout, "rel") for layout in ("xywh", "xyxy", "cxcywh", "yxhw", "yxyx")
    ]


def test_fractions_are_not_scaled_where_sizes_say_what_they_are():
    side, small = group(apart(5), layout="xywh"), group([[0.1, 0.2, 0.3, 0.4]] * 5, layout="xywh")
    assert scaled(side, small) == scaled(small, side) == []
    assert scaled(side, replace(side, reading=Reading("xywh", "rel"))) == []


def test_a_scale_is_worth_it_unless_it_is_another_layout_alone():
    own = Reading("xywh")
    assert hypotheses.is_worth_it(Reading("xyxy", "frame", (1.0, 1.0)), own)
    assert hypotheses.is_worth_it(Reading("xyxy", "factor", (0.95, 0.95)), own)
    assert not hypotheses.is_worth_it(Reading("xyxy", "factor", (0.96, 0.96)), own)
    assert hypotheses.is_worth_it(Reading("xywh", "padded", (640.0, 640.0)), own)
    assert not hypotheses.is_worth_it(Reading("xywh", "padded", (700.0, 700.0)), own)
