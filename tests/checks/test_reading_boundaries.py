"""Where another reading of boxes, a scale or a mapping of ids begins to be plausible: both sides of each point."""

from __future__ import annotations

from math import exp
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from tests.checks.boundary import boundary
from tests.checks.test_boundaries import correlated, explanation
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


@boundary("evidence.SEEN")
def test_overlaps_below_three_tenths_are_none():
    truth, image = np.array([[0.0, 0, 100, 100]]), np.zeros(1, dtype=np.int64)
    assert evidence.best_overlaps(truth, image, np.array([[0.0, 0, 100, 31]]), image) == pytest.approx([0.31])
    assert evidence.best_overlaps(truth, image, np.array([[0.0, 0, 100, 29]]), image) == [0]


@boundary("evidence.SIGMAS")
def test_a_median_may_be_off_by_four_of_its_errors():
    middle, error = evidence.median_and_error(np.tile([[1.0], [-1.0]], (50, 1)))
    # Median deviation 1, so normal with 1.4826; the error of a median of 100 is a tenth of 1.2533 of that, four times.
    assert (middle, error) == (pytest.approx([0]), pytest.approx([0.7433], rel=1e-3))


@boundary("evidence.PARTS")
def test_an_image_has_five_parts_across_and_five_down():
    diagonal = np.array([[10.0 * i, 10 * i, 10 * i + 10, 10 * i + 10] for i in range(6)])
    assert evidence.places(diagonal) == 5  # the third and the fourth of six lie in the middle


@boundary("explanations.COST")
def test_boxes_outside_cost_a_fifth():
    assert explanation([1.0] * 10, 10, outside=1.0).score == pytest.approx(8)
    assert explanation([1.0] * 10, 10, outside=0.5).score == pytest.approx(9)


@boundary("sides.EDGE")
def test_boxes_leave_an_image_by_a_tenth():
    def leaves(right):
        return bool(outside.leave(np.array([[0.0, 0, right, 50]]), np.array([[100.0, 100]])).any())

    assert not leaves(110)
    assert leaves(110.1)


@boundary("geometry.LEAST")
def test_a_reading_finds_more_than_a_third():
    plain = explanation([0.0] * 100, 100)
    assert geometry.dominates(explanation([0.8] * 35 + [0] * 65, 100), plain, changes=1)
    assert not geometry.dominates(explanation([0.8] * 34 + [0] * 66, 100), plain, changes=1)


@boundary("geometry.LEAST_CHANGED")
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
        return geometry.on_the_right_side(SimpleNamespace(**sides), found).side


@boundary("geometry.PAST", "geometry.TRUTH_PAST")
def test_the_side_that_leaves_its_images_is_scaled():
    assert side_of((1.5, 1.5), (1.1, 1)) == "truth"
    assert side_of((1.5, 1.5), (1.11, 1)) == "pred"
    assert side_of((1.16, 1.16), (1, 1)) == "truth"
    assert side_of((1.15, 1.15), (1, 1)) == "pred"


@boundary("geometry.SHORT", "geometry.FULL")
def test_truths_are_scaled_that_end_early_where_predictions_do_not():
    assert side_of((0.7, 0.9), (1, 1)) == "truth"
    assert side_of((0.71, 0.9), (1, 1)) == "pred"
    assert side_of((0.6, 0.6), (0.93, 1)) == "truth"
    assert side_of((0.6, 0.6), (0.92, 1)) == "pred"


@boundary("geometry.AS_GOOD", "plausibility.PLACES")
def test_truths_are_scaled_that_lie_in_many_places_and_fit_as_well():
    assert side_of((0.6, 0.6), (1, 1), places=8) == "truth"
    assert side_of((0.6, 0.6), (1, 1), places=7) == "pred"
    assert side_of((0.6, 0.6), (1, 1), kept=0.951) == "truth"
    assert side_of((0.6, 0.6), (1, 1), kept=0.949) == "pred"


@boundary("hypotheses.CHANGED", "hypotheses.TRUTHS", "hypotheses.SWAPPED")
def test_readings_weigh_less_the_less_likely_they_are():
    own, shifted = group(apart(5), layout="xywh"), group(apart(5), layout="xywh")
    sample = Sample(own, {0: own, 1: shifted}, (0, 1))
    weight = {(side, r.layout, shift): w for side, r, shift, w in hypotheses.plain_readings(sample)}
    assert weight["pred", "xyxy", 0] == 1
    assert weight["pred", "yxyx", 0] == pytest.approx(0.985)
    assert weight["truth", "xyxy", 0] == pytest.approx(0.995)
    assert weight["pred", "xywh", 1] == 1
    assert weight["pred", "xyxy", 1] == pytest.approx(0.9)


@boundary("hypotheses.ESTIMATED", "hypotheses.UNUSUAL", "hypotheses.RELAID", "hypotheses.TRUTHS_SCALE")
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


@boundary("plausibility.BIAS")
def test_edges_are_off_by_a_tenth_of_a_side():
    def is_biased(by):
        truth = [[0.0, 0, 100, 100]] * 3
        sample = Sample(group(*([box] for box in truth)), {0: group(*([np.add(box, by)] for box in truth))})
        return plausibility.is_biased(sample, explanation([0.9] * 3, 3, Reading("xyxy")))

    assert not is_biased([9.9, 0, 0, 0])
    assert is_biased([10.1, 0, 0, 0])


@boundary("plausibility.SAME")
def test_predictions_that_are_the_same_everywhere_say_nothing():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plausibility, "recurrence", lambda share: share)
        for share, is_blind in ((0.8, False), (0.81, True)):
            sample = SimpleNamespace(truth=0.3, preds={0: share})
            assert plausibility.is_blind(sample, explanation([0.9], 1)) == is_blind


def test_boxes_recur_that_the_next_image_has_as_well():
    same = apart(3)
    assert plausibility.recurrence(group(same, same, same)) == 1
    assert plausibility.recurrence(group(apart(1, 0), apart(1, 1), apart(1, 2))) == 0
    assert plausibility.recurrence(group(same)) == 0  # there is no other image


@boundary("plausibility.MOST", "plausibility.FARTHER")
def test_truths_of_unknown_images_reach_no_farther_than_predictions():
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


@boundary("plausibility.CONFIDENT")
def test_confident_predictions_find_more_than_a_third_precisely():
    def is_precise(count):
        pred = group([*apart(count), *apart(40 - count, 50)])
        return plausibility.is_precise(Sample(group(apart(40)), {0: pred}), explanation([], 40, Reading("xyxy")))

    assert is_precise(14)
    assert not is_precise(13)


@boundary("plausibility.SHORT", "plausibility.FULL", "plausibility.PAST")
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


@boundary("plausibility.REACH")
def test_two_boxes_of_a_hundred_may_reach_farther():
    def reach(far):
        boxes = group([[0, 0, 90, 90]] * far + [[0, 0, 50, 50]] * (101 - far))
        return plausibility.reach(boxes, boxes.corners()).tolist()

    assert reach(2) == [0.5, 0.5]
    assert reach(3) == [0.9, 0.9]


@boundary("plausibility.HALF", "plausibility.RIGHT")
def test_half_of_the_truths_or_three_tenths_of_the_predictions_are_beyond_chance():
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


@boundary("images.NO_WORSE")
def test_shifted_ids_overlap_as_well():
    def shift(kept):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(images, "overlaps_under", lambda *given: np.full(100, kept))
            plain = SimpleNamespace(side="pred", reading=None, overlaps=np.ones(100))
            return images.shift_that_makes_known(np.arange(1, 101), np.arange(100), SimpleNamespace(shifts=(1,)), plain)

    assert shift(0.981) == 1
    assert shift(0.979) == 0


@boundary("images.DIGITS")
def test_texts_of_eighteen_digits_are_ids():
    assert images.are_ids_as_texts(["9" * 18], np.array([10**18 - 1]))
    assert not images.are_ids_as_texts(["1" * 19], np.array([int("1" * 19)]))


@boundary("classes.DIGITS")
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


@boundary("classes.SHARE")
def test_a_mapping_explains_more_than_a_seventh():
    def mapping(shifted):
        label = (np.arange(100) % 10 + 10).astype(np.int32)
        told = mistaken_mapping(label, np.where(np.arange(100) < shifted, label - 1, label + 5), 100)
        return told.name if told else None

    assert mapping(15) == "+1"
    assert mapping(14) is None


@boundary("scaling.WIDEST")
def test_pictures_are_not_much_longer_than_high():
    for size, is_usual in (((250, 100), True), ((251, 100), False), ((39.9, 100), False)):
        assert scaling.has_usual_shape("frame", size) == is_usual
        assert scaling.has_usual_shape("factor", size)


@boundary("scaling.AGREE")
def test_ratios_agree_within_four_tenths():
    def ratio(centre, size, count=6):
        differences = np.tile([centre, centre, size, size, centre, centre], (count, 1))
        return scaling.common_ratio(differences, is_one_number=True)

    assert ratio(0.5, 0.11) == pytest.approx(exp(0.5))
    assert ratio(0.5, 0.1) is None
    assert ratio(0.5, 0.5, count=5) is None


@boundary("scaling.BIN")
def test_ratios_within_an_eighth_of_a_bar_make_the_last_median():
    def ratio(*values):
        return float(np.log(scaling.common_ratio(np.tile(np.array(values)[:, None], 6), is_one_number=True)[0]))

    around = [-0.015] * 4 + [0.0] * 4
    assert ratio(*around, *[0.0095] * 5) == pytest.approx(0.0095)
    assert ratio(*around, *[0.0105] * 5) == pytest.approx(0.0)  # four are too few, and all count


@boundary("scaling.BIASED")
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


@boundary("scaling.SHIFTED")
def test_boxes_that_are_moved_are_not_scaled():
    def scale(off):
        """Boxes that are 10 pixels off when scaled, and so many when moved."""
        way = np.tile([[1.0], [-1.0]], (10, 4))
        truth = np.tile([1000.0, 1000, 1200, 1200], (20, 1))
        return scaling.is_scale(truth, truth + off * way, truth + 10 * way)

    assert scale(9.1)
    assert not scale(8.9)


@boundary("scaling.NEAR", "scaling.FACTORS", "scaling.LENGTHS")
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


@boundary("scaling.GRIDS")
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
    assert rounded(1003.0, {1003.0: 100, 992.0: 99.51, 1000.0: 99.9}) == 992
    assert rounded(1003.0, {1003.0: 100, 992.0: 99.49, 1000.0: 99.9}) == 1000


def corners(count):
    """Corners, read as width and height: those of the first two leave an image of 1000 pixels."""
    values = np.array([200.0, 200, 400, 400]) + np.arange(count)[:, None]
    values[:2] += 300
    return values


def layouts(values):
    names = [f"{i}.jpg" for i in range(len(values))]
    side = vt.Annotations.of(names, ["cat"] * len(values), values, "xywh", sizes=dict.fromkeys(names, (1000, 1000)))
    return "V114" in {f.code for f in vt.inspect(side).findings}


@boundary("outside.FEWEST", "outside.BEYOND")
def test_a_tenth_of_five_boxes_outside_prove_a_layout_wrong():
    assert layouts(corners(5))
    assert not layouts(corners(4))
    assert layouts(corners(20))
    assert not layouts(corners(21))  # two of them


@boundary("outside.ALONG")
def test_widths_do_not_move_with_the_left_edge():
    def moves(along):
        return layouts([400.0, 400, 0, 0] + 40 * correlated(along, 40) + [0, 0, 300, 300])

    assert moves(0.1)
    assert not moves(-0.1)


def mirrored(plain, turned):
    """Is the angle said to turn the other way, with these overlaps?"""
    answers = iter([np.array(plain), np.array(turned)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rotated, "quads_of", lambda regions: np.zeros((len(plain), 4, 2)))
        patch.setattr(rotated, "nearest", lambda pair: [(i, i) for i in range(len(plain))])
        patch.setattr(rotated, "_core", SimpleNamespace(quad_iou=lambda *given: next(answers)))
        side = SimpleNamespace(regions=None, source=SimpleNamespace(notes=()))
        return bool(list(rotated.find_mirrored_angles(SimpleNamespace(truth=side, pred=side))))


@boundary("rotated.FEWEST", "rotated.TURNED", "rotated.BETTER", "rotated.MOSTLY")
def test_angles_turn_the_other_way_in_five_pairs_by_a_tenth_in_most():
    assert mirrored([0.3] * 5, [0.9] * 5)
    assert not mirrored([0.3] * 4, [0.9] * 4)
    assert mirrored([0.3] * 5, [0.9] * 4 + [0.351])
    assert not mirrored([0.3] * 5, [0.9] * 4 + [0.349])  # too alike to say
    assert mirrored([0.5] * 5, [0.601] * 5)
    assert not mirrored([0.5] * 5, [0.599] * 5)
    assert mirrored([0.3] * 20, [0.9] * 16 + [0.2] * 4)
    assert not mirrored([0.3] * 20, [0.9] * 15 + [0.2] * 5)


@boundary("ties.TIED", "ties.APART")
def test_a_tenth_of_ties_that_move_ap_by_half_a_hundredth():
    def told(count, apart):
        pred = vt.Annotations.of(["a"] * 100, ["cat"] * 100, [[0, 0, 9, 9]] * 100, confidence=np.linspace(0, 1, 100))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ties, "count_ties", lambda pred: (count, []))
            patch.setattr(ties, "tie_range", lambda truth, pred: (0.0, apart))
            return bool(list(ties.find_ties(SimpleNamespace(truth=pred, pred=pred))))

    assert told(11, 0.5)
    assert not told(10, 0.5)
    assert told(50, 0.0051)
    assert not told(50, 0.0049)
