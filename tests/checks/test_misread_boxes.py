"""The inference of misread box formats: candidates, dominance, plausibility, and both sides of each threshold."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from tests.checks.test_evidence import correlated, explanation, overlaps
from verite.checks import boxes as outside
from verite.checks import boxes as rotated
from verite.checks import classes, evidence, images, scaling
from verite.checks import misread_boxes as geometry
from verite.checks import misread_boxes as hypotheses
from verite.checks import misread_boxes as plausibility
from verite.checks import predictions as ties
from verite.checks.readings import Reading
from verite.checks.sample import Sample, SampledObjects
from verite.model.ragged import offsets_of


def group(*boxes, size=(100.0, 100.0), layout="xyxy"):
    """Boxes of each image."""
    numbers = np.concatenate([np.asarray(own, dtype=np.float64).reshape(-1, 4) for own in boxes])
    cells = offsets_of(np.array([len(own) for own in boxes]))
    return SampledObjects(np.arange(len(numbers)), cells, np.tile(size, (len(numbers), 1)), numbers, Reading(layout))


def apart(count, first=0):
    """Boxes of 10 pixels that have nothing in common."""
    return [[20 * i, 0, 20 * i + 10, 10] for i in range(first, first + count)]


def test_overlaps_below_three_tenths_are_none():
    truth, image = np.array([[0.0, 0, 100, 100]]), np.zeros(1, dtype=np.int64)
    assert evidence.best_overlaps(truth, image, np.array([[0.0, 0, 100, 31]]), image) == pytest.approx([0.31])
    assert evidence.best_overlaps(truth, image, np.array([[0.0, 0, 100, 29]]), image) == [0]


def test_a_median_may_be_off_by_four_of_its_errors():
    middle, error = evidence.median_and_error(np.tile([[1.0], [-1.0]], (50, 1)))
    # Median deviation 1, so normal with 1.4826; the error of a median of 100 is a tenth of 1.2533 of that, four times.
    assert (middle, error) == (pytest.approx([0]), pytest.approx([0.7433], rel=1e-3))


def test_an_image_has_five_parts_across_and_five_down():
    diagonal = np.array([[10.0 * i, 10 * i, 10 * i + 10, 10 * i + 10] for i in range(6)])
    assert evidence.places(diagonal) == 5  # the third and the fourth of six lie in the middle


def test_boxes_outside_cost_a_fifth():
    assert explanation([1.0] * 10, 10, outside=1.0).score == pytest.approx(8)
    assert explanation([1.0] * 10, 10, outside=0.5).score == pytest.approx(9)


def test_boxes_leave_an_image_by_a_tenth():
    def leaves(right):
        return bool(outside.leave(np.array([[0.0, 0, right, 50]]), np.array([[100.0, 100]])).any())

    assert not leaves(110)
    assert leaves(110.1)


def test_a_reading_finds_more_than_a_third():
    plain = explanation([0.0] * 100, 100)
    assert geometry.dominates(explanation([0.8] * 35 + [0] * 65, 100), plain, changes=1)
    assert not geometry.dominates(explanation([0.8] * 34 + [0] * 66, 100), plain, changes=1)


def test_a_scale_or_two_changes_find_four_tenths():
    plain, scaled = explanation([0.0] * 100, 100), Reading("xywh", "factor", (2.0, 2.0))
    for changes, reading in ((2, None), (1, scaled)):
        assert geometry.dominates(explanation([0.8] * 40 + [0] * 60, 100, reading), plain, changes)
        assert not geometry.dominates(explanation([0.8] * 39 + [0] * 61, 100, reading), plain, changes)


def side_of(truth, pred, *, places=8, kept=1.0):
    """Which side is called scaled when boxes reach so far."""
    found = explanation([0.8] * 10, 10, Reading("xywh", "frame", (640.0, 640.0)))
    sides = {
        "truth": SimpleNamespace(is_sized=True, ends=truth, corners=lambda: None, reading=Reading("xywh")),
        "pred": SimpleNamespace(ends=pred, corners=lambda: None),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(geometry, "reach", lambda side, boxes: np.array(side.ends, dtype=np.float64))
        patch.setattr(geometry, "places", lambda boxes: places)
        patch.setattr(geometry, "estimate", lambda *given: Reading("xywh", "frame", (320.0, 320.0)))
        patch.setattr(geometry, "overlaps_under", lambda *given: kept * found.overlaps)
        return geometry.choose_resized_side(SimpleNamespace(**sides), found).side


def test_the_side_that_leaves_its_images_is_scaled():
    assert side_of((1.5, 1.5), (1.1, 1)) == "truth"
    assert side_of((1.5, 1.5), (1.11, 1)) == "pred"
    assert side_of((1.16, 1.16), (1, 1)) == "truth"
    assert side_of((1.15, 1.15), (1, 1)) == "pred"


def test_objects_are_scaled_that_end_early_where_predictions_do_not():
    assert side_of((0.7, 0.9), (1, 1)) == "truth"
    assert side_of((0.71, 0.9), (1, 1)) == "pred"
    assert side_of((0.6, 0.6), (0.93, 1)) == "truth"
    assert side_of((0.6, 0.6), (0.92, 1)) == "pred"


def test_objects_are_scaled_that_lie_in_many_places_and_fit_as_well():
    assert side_of((0.6, 0.6), (1, 1), places=8) == "truth"
    assert side_of((0.6, 0.6), (1, 1), places=7) == "pred"
    assert side_of((0.6, 0.6), (1, 1), kept=0.951) == "truth"
    assert side_of((0.6, 0.6), (1, 1), kept=0.949) == "pred"


def test_readings_weigh_less_the_less_likely_they_are():
    own, shifted = group(apart(5), layout="xywh"), group(apart(5), layout="xywh")
    sample = Sample(own, {0: own, 1: shifted}, (0, 1))
    weight = {(side, r.layout, shift): w for side, r, shift, w in hypotheses.plain_readings(sample)}
    assert weight["pred", "xyxy", 0] == 1
    assert weight["pred", "yxyx", 0] == pytest.approx(0.985)
    assert weight["truth", "xyxy", 0] == pytest.approx(0.995)
    assert weight["pred", "xywh", 1] == 1
    assert weight["pred", "xyxy", 1] == pytest.approx(0.9)


def test_scales_weigh_less_than_layouts():
    truth = group(apart(5), layout="xywh")
    truth.sizes[0] = 120, 100  # images of different sizes: the truth may be of another frame
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hypotheses, "estimate", lambda wrong, right, layout, measure: Reading(layout, measure))
        patch.setattr(hypotheses, "is_worth_it", lambda *given: True)
        tried = list(hypotheses.scaled_readings(Sample(truth, {0: group(apart(5), layout="xywh")})))
    weight = {(side, r.layout, r.measure): w for side, r, _, w in tried}
    assert weight["pred", "xywh", "factor"] == pytest.approx(0.97)
    assert weight["pred", "xywh", "frame"] == pytest.approx(0.95)
    assert weight["pred", "xyxy", "factor"] == pytest.approx(0.94)
    assert weight["truth", "xywh", "frame"] == pytest.approx(0.94)


def test_edges_are_off_by_a_tenth_of_a_side():
    def is_biased(by):
        truth = [[0.0, 0, 100, 100]] * 3
        sample = Sample(group(*([box] for box in truth)), {0: group(*([np.add(box, by)] for box in truth))})
        return plausibility.is_biased(sample, explanation([0.9] * 3, 3, Reading("xyxy")))

    assert not is_biased([9.9, 0, 0, 0])
    assert is_biased([10.1, 0, 0, 0])


def test_predictions_that_are_the_same_everywhere_say_nothing():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plausibility, "recurrence", lambda share: share)
        for share, is_blind in ((0.8, False), (0.81, True)):
            sample = SimpleNamespace(truth=0.3, preds={0: share})
            assert plausibility.ignores_the_image(sample, explanation([0.9], 1)) == is_blind


def test_boxes_recur_that_the_next_image_has_as_well():
    same = apart(3)
    assert plausibility.recurrence(group(same, same, same)) == 1
    assert plausibility.recurrence(group(apart(1, 0), apart(1, 1), apart(1, 2))) == 0
    assert plausibility.recurrence(group(same)) == 0  # there is no other image


def test_objects_of_unknown_images_reach_no_farther_than_predictions():
    def lies_inside(ends):
        boxes = [[0, 0, end, end] for end in ends]
        truth, pred = (group(own, size=(0.0, 0.0)) for own in (boxes, [[0, 0, 100, 100]] * 11))
        found = explanation([0.9] * 11, 11, Reading("xyxy"))
        object.__setattr__(found, "side", "truth")
        return plausibility.lies_in_images(Sample(truth, {0: pred}), explanation([0.0], 11), found)

    assert lies_inside([130] * 11)
    assert not lies_inside([131] * 11)
    assert lies_inside([100] * 10 + [900])  # nine tenths of eleven end at the tenth
    assert not lies_inside([100] * 9 + [140] * 2)


def test_confident_predictions_find_more_than_a_third_precisely():
    def is_precise(count):
        pred = group([*apart(count), *apart(40 - count, 50)])
        return plausibility.is_precise(Sample(group(apart(40)), {0: pred}), explanation([], 40, Reading("xyxy")))

    assert is_precise(14)
    assert not is_precise(13)


def test_boxes_that_end_early_fill_their_images_when_scaled():
    def fills(before, after):
        pred = group([[0, 0, 100 * before, 100 * before]] * 3)
        reading = Reading("xyxy", "factor", (before / after, before / after))
        return plausibility.fills_the_images(Sample(pred, {0: pred}), explanation([0.9] * 3, 3, reading))

    assert fills(0.7, 0.9)
    assert not fills(0.71, 0.9)
    assert fills(0.5, 0.76)
    assert not fills(0.5, 0.74)
    assert fills(0.5, 1.09)
    assert not fills(0.5, 1.11)


def test_two_boxes_of_a_hundred_may_reach_farther():
    def reach(far):
        boxes = group([[0, 0, 90, 90]] * far + [[0, 0, 50, 50]] * (101 - far))
        return plausibility.reach(boxes, boxes.corners()).tolist()

    assert reach(2) == [0.5, 0.5]
    assert reach(3) == [0.9, 0.9]


def test_half_of_the_objects_or_three_tenths_of_the_predictions_are_beyond_chance():
    def beats(found, right):
        pred = group([*apart(40 - right, 50), *apart(right)])  # those that are right are not the most confident
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plausibility, "exceeds_random_boxes", lambda hits, expected, at_least: hits >= at_least)
            given = explanation([0.9] * found + [0] * (40 - found), 40, Reading("xyxy"))
            return plausibility.beats_random_boxes(Sample(group(apart(40)), {0: pred}), given)

    assert beats(20, 0)
    assert not beats(19, 0)
    assert beats(0, 12)
    assert not beats(0, 11)


def test_shifted_ids_overlap_as_well():
    def shift(kept):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(images, "overlaps_under", lambda *given: np.full(100, kept))
            plain = SimpleNamespace(side="pred", reading=None, overlaps=np.ones(100))
            return images.shift_that_makes_known(np.arange(1, 101), np.arange(100), SimpleNamespace(shifts=(1,)), plain)

    assert shift(0.981) == 1
    assert shift(0.979) == 0


def test_texts_of_eighteen_digits_are_ids():
    assert images.are_ids_as_texts(["9" * 18], np.array([10**18 - 1]))
    assert not images.are_ids_as_texts(["1" * 19], np.array([int("1" * 19)]))


def test_names_of_nine_digits_are_class_ids():
    def numbers(name):
        truth = vt.Annotations.of(["a"], [name], [[0, 0, 9, 9]])
        return classes.class_numbers(truth, vt.Annotations.of(["a"], [name], [[0, 0, 9, 9]], confidence=[1]))

    assert numbers("9" * 9) is not None
    assert numbers("9" * 10) is None


def mistaken_mapping(label, found, possible):
    """Of a hundred pairs whose classes have the ids 1 to 40."""
    rows = SimpleNamespace(rows=np.arange(100))
    truth, pred = (SimpleNamespace(label=own.astype(np.int32), labels=range(40)) for own in (label, found))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classes, "class_numbers", lambda truth, pred: (np.arange(1, 41), np.arange(1, 41)))
        patch.setattr(classes, "pairings", lambda *given: [(np.arange(100), np.arange(100))])
        patch.setattr(classes, "pair_examples", lambda *given: ())
        given = SimpleNamespace(truth=rows, preds={0: rows})
        return classes.mistaken_mapping(truth, pred, given, explanation([], possible))


def test_a_mapping_explains_more_than_a_seventh():
    def mapping(shifted):
        label = (np.arange(100) % 10 + 10).astype(np.int32)
        told = mistaken_mapping(label, np.where(np.arange(100) < shifted, label - 1, label + 5), 100)
        return told.name if told else None

    assert mapping(15) == "+1"
    assert mapping(14) is None


def test_images_are_not_much_longer_than_high():
    for size, is_usual in (((250, 100), True), ((251, 100), False), ((39.9, 100), False)):
        assert scaling.has_usual_shape("frame", size) == is_usual
        assert scaling.has_usual_shape("factor", size)


def test_ratios_agree_within_four_tenths():
    def ratio(centre, size, count=6):
        differences = np.tile([centre, centre, size, size, centre, centre], (count, 1))
        return scaling.common_ratio(differences, is_one_number=True)

    assert ratio(0.5, 0.11) == pytest.approx(exp(0.5))
    assert ratio(0.5, 0.1) is None
    assert ratio(0.5, 0.5, count=5) is None


def test_ratios_within_an_eighth_of_a_bar_make_the_last_median():
    def ratio(*values):
        return float(np.log(scaling.common_ratio(np.tile(np.array(values)[:, None], 6), is_one_number=True)[0]))

    around = [-0.015] * 4 + [0.0] * 4
    assert ratio(*around, *[0.0095] * 5) == pytest.approx(0.0095)
    assert ratio(*around, *[0.0105] * 5) == pytest.approx(0.0)  # four are too few, and all count


def test_scaled_boxes_are_as_large_as_they_are_far_away():
    def scale(growth, count=6):
        at = np.arange(count)[:, None] * 37.0 + [100, 90]
        truth = np.concatenate([at, at + 60], axis=1)
        half = 30 * exp(-growth)
        scaled = np.concatenate([at + 30 - half, at + 30 + half], axis=1)
        return scaling.is_scale(truth, scaled / 2, scaled)

    assert scale(0.095)
    assert not scale(0.11)
    assert not scale(0.0, count=5)


def test_boxes_that_are_moved_are_not_scaled():
    def scale(off):
        """Boxes that are 10 pixels off when scaled, and so many when moved."""
        way = np.tile([[1.0], [-1.0]], (10, 4))
        truth = np.tile([1000.0, 1000, 1200, 1200], (20, 1))
        return scaling.is_scale(truth, truth + off * way, truth + 10 * way)

    assert scale(9.1)
    assert not scale(8.9)


def test_round_numbers_are_near():
    def snap(measure, number, grid):
        found = scaling.snap(Reading("xywh", measure, (number, number)), grid)
        return found and found.unit[0]

    assert snap("frame", 2300.0, "likely") == 2048
    assert snap("frame", 2340.0, "likely") is None
    assert [snap("factor", 1.4734, g) for g in ("likely", "coarse", "fine", "finest")] == pytest.approx(
        [1.5, 1.5, 1.47, 1.473]
    )
    assert [snap("frame", 1003.4, g) for g in ("coarse", "fine", "finest")] == [992, 1000, 1003]


def test_round_numbers_may_cost_a_fiftieth_or_a_two_hundredth():
    def rounded(number, fits):
        def fit(truth, image, reading, other):
            return np.array([fits.get(reading.unit[0], 0.0)])

        side = SimpleNamespace(corners=lambda reading=None: reading, image=None, is_sized=False)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scaling, "best_overlaps", fit)
            return scaling.round_off(side, side, Reading("xywh", "frame", (number, number))).unit[0]

    assert rounded(630.0, {630.0: 100, 640.0: 98.1}) == 640
    assert rounded(630.0, {630.0: 100, 640.0: 97.9}) == 630
    assert rounded(1103.0, {1103.0: 100, 1088.0: 99.51, 1100.0: 99.9}) == 1088
    assert rounded(1103.0, {1103.0: 100, 1088.0: 99.49, 1100.0: 99.9}) == 1100


def corners(count):
    """Corners, read as width and height: those of the first two leave an image of 1000 pixels."""
    values = np.array([200.0, 200, 400, 400]) + np.arange(count)[:, None]
    values[:2] += 300
    return values


def layouts(values):
    names = [f"{i}.jpg" for i in range(len(values))]
    side = vt.Annotations.of(names, ["cat"] * len(values), values, "xywh", sizes=dict.fromkeys(names, (1000, 1000)))
    return "V114" in {f.code for f in vt.inspect(side).findings}


def test_a_tenth_of_five_boxes_outside_prove_a_layout_wrong():
    assert layouts(corners(5))
    assert not layouts(corners(4))
    assert layouts(corners(20))
    assert not layouts(corners(21))  # two of them


def test_widths_do_not_move_with_the_left_edge():
    def moves(along):
        return layouts([400.0, 400, 0, 0] + 40 * correlated(along, 40) + [0, 0, 300, 300])

    assert moves(0.1)
    assert not moves(-0.1)


def mirrored(plain, turned):
    """Is the angle said to turn the other way, with these overlaps?"""
    others = np.zeros(len(plain))  # with exchanged sides, and with both
    answers = iter([np.array(plain), np.array(turned), others, others])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rotated, "quads_of", lambda regions: np.zeros((len(plain), 4, 2)))
        patch.setattr(rotated, "nearest", lambda pair: [(i, i) for i in range(len(plain))])
        patch.setattr(rotated, "_core", SimpleNamespace(quad_iou=lambda *given: next(answers)))
        side = SimpleNamespace(regions=None, source=SimpleNamespace(notes=()))
        return bool(list(rotated.find_mirrored_angles(SimpleNamespace(truth=side, pred=side))))


def test_angles_turn_the_other_way_in_five_pairs_by_a_tenth_in_most():
    assert mirrored([0.3] * 5, [0.9] * 5)
    assert not mirrored([0.3] * 4, [0.9] * 4)
    assert mirrored([0.3] * 5, [0.9] * 4 + [0.351])
    assert not mirrored([0.3] * 5, [0.9] * 4 + [0.349])  # too alike to say
    assert mirrored([0.5] * 5, [0.601] * 5)
    assert not mirrored([0.5] * 5, [0.599] * 5)
    assert mirrored([0.3] * 20, [0.9] * 16 + [0.2] * 4)
    assert not mirrored([0.3] * 20, [0.9] * 15 + [0.2] * 5)


def test_a_tenth_of_ties_that_move_ap_by_half_a_hundredth():
    def told(count, apart):
        pred = vt.Annotations.of(["a"] * 100, ["cat"] * 100, [[0, 0, 9, 9]] * 100, confidence=np.linspace(0, 1, 100))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ties, "count_ties", lambda pred: (count, []))
            patch.setattr(ties, "tie_range", lambda truth, pred: (0.0, apart, False))
            return bool(list(ties.find_ties(SimpleNamespace(truth=pred, pred=pred))))

    assert told(11, 0.5)
    assert not told(10, 0.5)
    assert told(50, 0.0051)
    assert not told(50, 0.0049)


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
        patch.setattr(geometry, "choose_resized_side", lambda sample, found: found)
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
    assert geometry.choose_resized_side(nothing, found) is found
    sized = SimpleNamespace(truth=SimpleNamespace(is_sized=True))
    assert geometry.choose_resized_side(sized, replace(found, side="truth")).side == "truth"
    plain = replace(found, reading=CORNERS)
    assert geometry.choose_resized_side(sized, plain) is plain


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
    flips = [("pred", "xywh", flip, 0) for flip in ("up", "hanging", "mirrored", "exchanged")]
    assert tried(side, {0: side}) == [*plain, *flips]
    shifted = [("pred", layout, "abs", 1) for layout in ("xywh", *layouts)]
    assert tried(side, {0: side, 1: side}, shifts=(0, 1)) == [*plain[:4], *shifted, *plain[4:], *flips]


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


def test_the_ground_truth_is_scaled_to_a_frame_where_images_differ():
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
    names = ("is_about_fractions", "is_biased", "fills_the_images", "ignores_the_image", "exceeds_other_images")
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
    assert is_believed(plain_outside=0.3, ignores_the_image=True)
    assert not is_believed(plain_outside=0.29)
    assert not is_believed(plain_outside=0.3, shift=1)
    assert is_believed(fills_the_images=True)
    assert not is_believed(fills_the_images=True, shift=1)


def test_predictions_that_are_the_same_everywhere_are_never_believed():
    assert not is_believed(ignores_the_image=True, exceeds_other_images=True, beats_random_boxes=True)


def test_shifted_ids_must_fit_their_own_images():
    assert is_believed(shift=1, exceeds_other_images=True)
    assert not is_believed(shift=1, beats_random_boxes=True)


def test_another_layout_beats_other_images_or_random_boxes():
    assert is_believed(exceeds_other_images=True, places=1)
    assert is_believed(beats_random_boxes=True, places=1)
    assert not is_believed(is_precise=True)


def test_a_flipped_axis_beats_other_images_or_fits_very_well():
    flipped = Reading("xywh", "up")
    assert is_believed(flipped, exceeds_other_images=True)
    assert is_believed(flipped, is_precise=True, beats_random_boxes=True)
    assert not is_believed(flipped, beats_random_boxes=True)
    assert not is_believed(flipped, is_precise=True)


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


def test_objects_may_lie_farther_than_predictions_only_where_predictions_are_read_again():
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


def test_images_are_filled_where_half_of_the_objects_are_found():
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


def test_the_mapping_under_which_most_agree_is_reported():
    # Ids 1 to 40; 60 of 100 pairs agree one up, 40 one down.
    label = np.arange(100) % 10 + 10
    told = mistaken_mapping(label, np.where(np.arange(100) < 60, label - 1, label + 1), 1)
    assert (told.name, told.agree, told.before, told.pairs) == ("+1", 60, 0, 100)


def test_the_first_of_two_units_is_that_of_the_width():
    own = Reading("xywh")
    assert hypotheses.is_worth_it(Reading("xywh", "longest", (640.0, 700.0)), own)
    assert not hypotheses.is_worth_it(Reading("xywh", "longest", (700.0, 640.0)), own)
    assert hypotheses.is_worth_it(Reading("xyxy", "factor", (1.5, 1.0)), own)
    assert not hypotheses.is_worth_it(Reading("xyxy", "factor", (1.0, 1.5)), own)
    assert Reading("xywh", "factor", (0.5, 0.25)).words.endswith("0.5 times as large as the image's")
    assert Reading("xywh", "longest", (640.0, 1.0)).words.endswith("whose longer side is 640")
    assert Reading("xywh", "factor", (0.5, 0.25)).coords == "*2"


def test_images_that_are_all_as_wide_as_each_other_do_not_differ():
    wide = group([[0, 0, 20, 20]] * 5, size=(200.0, 100.0), layout="xywh")
    assert {one[0] for one in scaled(wide, wide)} == {"pred"}


def test_a_bias_is_measured_by_the_sides_of_boxes_wherever_they_lie():
    def is_biased(by):
        boxes = [[1000.0, 1000, 1100, 1100]] * 3
        sample = Sample(group(*([box] for box in boxes)), {0: group(*([np.add(box, by)] for box in boxes))})
        return plausibility.is_biased(sample, explanation([0.9] * 3, 3, Reading("xyxy")))

    for edge in range(4):
        off = np.zeros(4)
        for by, is_so in ((9.9, False), (10.1, True), (-9.9, False), (-10.1, True)):
            off[edge] = by
            assert is_biased(off) == is_so


def test_a_point_at_the_end_of_the_image_is_in_its_last_part():
    assert evidence.places(np.array([[80.0, 80, 100, 100], [100, 100, 100, 100]])) == 1


def test_objects_that_reach_just_as_far_lie_in_enough_places():
    assert side_of((1.15, 0.6), (1, 1), places=7) == "pred"
    assert side_of((1.15, 0.6), (1, 1), places=8) == "truth"


def test_objects_reach_farther_in_either_direction():
    near, plain = group([[0, 0, 10, 10]] * 3, size=(0.0, 0.0)), explanation([0.0] * 3, 3)
    found = replace(explanation([0.9] * 3, 3, Reading("xyxy")), side="truth")
    for box in ([0, 0, 90, 10], [0, 0, 10, 90]):
        far = group([box] * 3, size=(0.0, 0.0))
        assert not plausibility.lies_in_images(Sample(far, {0: near}), plain, found)


def test_two_classes_are_several():
    """Of predictions of two classes a seventh may show a shift, as of more; of one class half of them."""
    given = np.repeat([9, 10], 50).astype(np.int32)
    for used, is_told in (([9, 10], True), ([9, 9], False)):
        pred = np.where(given == 9, *used).astype(np.int32)
        label = np.where(np.arange(100) % 50 < 15, pred + 1, pred + 5).astype(np.int32)  # 30 of 100 are one up
        rows = SimpleNamespace(rows=np.arange(100))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(classes, "class_numbers", lambda truth, pred: (np.arange(1, 41), np.arange(1, 41)))
            patch.setattr(classes, "pairings", lambda *given: [(np.arange(100), np.arange(100))])
            patch.setattr(classes, "pair_examples", lambda *given: ())
            patch.setattr(classes, "is_explained", lambda *given: True)
            sides = [SimpleNamespace(label=own, labels=range(40)) for own in (label, pred)]
            told = classes.mistaken_mapping(*sides, SimpleNamespace(truth=rows, preds={0: rows}), explanation([], 1))
        assert (told is not None) == is_told
