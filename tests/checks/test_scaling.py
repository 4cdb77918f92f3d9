"""Scales of resized images are estimated and rounded (V105), and offsets of one pixel are measured (V107)."""

from __future__ import annotations

import shutil
from dataclasses import replace
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from tests.checks.test_misread_boxes import group
from verite.checks import evidence, scaling
from verite.checks.check import near_word
from verite.checks.readings import Reading
from verite.checks.sample import Sample, is_reversed


def differences(*pairs):
    """Logarithms of the ratio in x and in y, the same of centres, sizes and distances."""
    return np.tile(np.array(pairs, dtype=np.float64), 3)


def common(*pairs, is_one_number=False):
    found = scaling.common_ratio(differences(*pairs), is_one_number=is_one_number)
    return None if found is None else np.log(found)


def test_most_pairs_share_the_common_ratio():
    shared, others = [(0.5, -0.3)] * 7, [(-1.0, 0.2), (0.1, 1.7), (2.0, 2.0), (0.9, -2.0)]
    assert common(*shared, *others) == pytest.approx([0.5, -0.3])
    assert common(*others, *shared) == pytest.approx([0.5, -0.3])
    assert common(*shared[:5]) is None  # six at least
    assert common(*shared[:6]) == pytest.approx([0.5, -0.3])


def test_the_mode_lies_where_three_bars_each_way_are_highest_together():
    # Bars are 0.08 wide and begin at the smallest, 0: five in one bar against four and four in two that touch.
    lonely, broad = [(0.0, 0.0)] * 7, [(0.45, 0.0)] * 4 + [(0.52, 0.0)] * 4
    assert common(*lonely, *broad)[0] == pytest.approx(0.485)  # eight are more than seven; too few are nearer
    assert common(*lonely, *lonely, *broad)[0] == pytest.approx(0.0)
    lonely, broad = [(0.0, 0.0)] * 7, [(0.0, 0.45)] * 4 + [(0.0, 0.52)] * 4
    assert common(*lonely, *broad)[1] == pytest.approx(0.485)
    corner = [(0.45, 0.45)] * 4 + [(0.52, 0.52)] * 4
    assert common(*lonely, *corner) == pytest.approx([0.485, 0.485])


def test_the_highest_bar_is_found_wherever_it_stands():
    wide = [(0.1 * i, 0.0) for i in range(9)]
    for at in (0.0, 0.4, 0.8):
        assert common(*wide, *[(at, 0.0)] * 8)[0] == pytest.approx(at)
    high = [(0.0, 0.1 * i) for i in range(9)]
    for at in (0.0, 0.4, 0.8):
        assert common(*high, *[(0.0, at)] * 8)[1] == pytest.approx(at)


def test_a_single_number_is_the_mean_of_both_directions():
    assert common(*[(0.5, 0.3)] * 6, is_one_number=True) == pytest.approx([0.4, 0.4])
    assert common(*[(0.5, 0.11)] * 6, is_one_number=True) == pytest.approx([0.305, 0.305])
    assert common(*[(0.5, 0.05)] * 6, is_one_number=True) is None  # too far apart to be one
    assert common(*[(0.5, 0.05)] * 6) == pytest.approx([0.5, 0.05])


def test_centres_agree_with_sizes_in_both_directions():
    for column in (0, 1):
        given = differences(*[(0.5, 0.5)] * 6)
        given[:, 2 + column] = 0.11
        assert scaling.common_ratio(given, is_one_number=False) is not None
        given[:, 2 + column] = 0.09
        assert scaling.common_ratio(given, is_one_number=False) is None
        given[:, 2 + column] = -np.inf  # a box without a size says nothing
        assert scaling.common_ratio(given, is_one_number=False) is None


def test_ratios_that_fill_too_many_bars_have_no_mode():
    # 1000 bars each way are a million, which is the most.
    assert common(*[(0.0, 0.0)] * 6, (0.08 * 999.5, 0.08 * 999.5)) is not None
    assert common(*[(0.0, 0.0)] * 6, (0.08 * 1000.5, 0.08 * 999.5)) is None


def test_ratios_are_narrowed_down_as_long_as_six_remain():
    # Within 0.08 of the median, 0.02, all remain; within 0.04 the six; within 0.02, 0.01 they stay.
    given = [(0.0, 0.0)] * 3 + [(0.02, 0.0)] * 3 + [(0.07, 0.0)] * 3
    # Median of nine: 0.02. Nearer than 0.04: six, with a median of 0.01. Nearer than 0.01: all six.
    assert common(*given)[0] == pytest.approx(0.01)


def refine(truth, pred, ratio, image=None, *, is_one_number=False):
    image = np.zeros(len(truth), np.int64) if image is None else image
    truth, pred = np.array(truth, dtype=np.float64), np.array(pred, dtype=np.float64)
    found = scaling.refine_ratio(truth, pred, image, image, np.array(ratio), is_one_number=is_one_number)
    return found and (found[0].tolist(), found[1].tolist(), found[2].tolist())


def spread(count):
    return np.array([[100.0 * i + 100, 50, 100 * i + 150, 90] for i in range(count)])


def test_a_ratio_is_that_of_the_sums_of_pairs_that_overlap():
    truth = spread(6)
    ratio, one, other = refine(truth, truth / [2, 4, 2, 4], [2.02, 3.96])
    assert ratio == pytest.approx([2, 4])
    assert one == other == list(range(6))
    # As one number: both sums together, of x 100 + ... + 600 with 50 more each, of y 50 and 90.
    x, y = sum(200 * i + 250 for i in range(6)), 6 * 140
    ratio, *_ = refine(truth, truth / [2, 2.1, 2, 2.1], [2.0, 2.1], is_one_number=True)
    assert ratio == pytest.approx([(x + y) / (x / 2 + y / 2.1)] * 2)


def test_a_ratio_needs_six_pairs_that_overlap_by_half():
    truth = spread(6)
    assert refine(truth[:5], truth[:5], [1.0, 1.0]) is None
    assert refine(truth, truth + 40, [1.0, 1.0]) is None
    assert refine(truth, truth, [1.0, 1.0]) is not None


def test_a_ratio_is_refined_twice():
    # Times 1.06 the last two, which are larger by 0.02 anyway, overlap by less than half; the six others say 1, under
    # which all eight overlap.
    truth = np.array([[10.0 + 100 * i, 0, 110 + 100 * i, 100] for i in range(8)])
    pred = truth.copy()
    pred[6:] = truth[6:] * 1.02
    image = np.arange(8)
    again = refine(truth, pred, [1.06, 1.0], image)
    assert again[1] == list(range(8))
    assert again[0][0] == pytest.approx(truth[:, ::2].sum() / pred[:, ::2].sum())


def boxes_of(count=7):
    """Boxes that are no multiples of each other."""
    return np.array([[31.0 * i + 20, 17 * i + 30, 31 * i + 60 + i * i, 17 * i + 75 + 2 * i] for i in range(count)])


def estimated(measure, change, size=(400.0, 200.0), layout="xyxy"):
    boxes = boxes_of()
    truth, pred = (group(*([box] for box in own), size=size) for own in (boxes, change(boxes)))
    return scaling.estimate(pred, truth, layout, measure)


def test_a_factor_is_found():
    found = estimated("factor", lambda boxes: boxes / 2)
    assert (found.measure, found.unit, found.image_size) == ("factor", pytest.approx((0.5, 0.5)), None)
    assert estimated("factor", lambda boxes: boxes / 2, size=(0.0, 0.0)).unit == pytest.approx((0.5, 0.5))


def test_a_frame_is_found_in_images_of_known_size():
    found = estimated("frame", lambda boxes: boxes * [1.6, 3, 1.6, 3])
    assert (found.unit, found.image_size) == (pytest.approx((640, 600)), None)
    longest = estimated("longest", lambda boxes: boxes * 1.6)
    assert longest.unit == pytest.approx((640, 640))
    padded = estimated("padded", lambda boxes: np.add(boxes, [0, 100, 0, 100]) * 1.6)  # 200 of 400 rows are border
    assert padded.unit == pytest.approx((640, 640))


def test_of_images_without_a_size_the_size_is_found():
    found = estimated("rel", lambda boxes: boxes / [400, 200, 400, 200], size=(0.0, 0.0))
    assert (found.unit, found.image_size) == ((1, 1), pytest.approx((400, 200)))
    # To pictures of 640 x 640, if these are so, from 400 x 200.
    found = estimated("frame", lambda boxes: boxes * [1.6, 3.2, 1.6, 3.2], size=(0.0, 0.0))
    assert (found.unit, found.image_size) == ((640, 640), pytest.approx((400, 200)))
    assert estimated("longest", lambda boxes: boxes * 1.6, size=(0.0, 0.0)) is None
    assert estimated("padded", lambda boxes: boxes * 1.6, size=(0.0, 0.0)) is None


def test_images_of_no_usual_shape_are_no_frame():
    assert estimated("frame", lambda boxes: boxes * [1.6, 1.2, 1.6, 1.2]) is None  # 640 x 240
    assert estimated("frame", lambda boxes: boxes * [1.6, 1.3, 1.6, 1.3]) is not None  # 640 x 260


def is_scale(truth, as_read, scaled):
    return scaling.is_scale(*(np.array(boxes, dtype=np.float64) for boxes in (truth, as_read, scaled)))


def test_scaled_boxes_grow_as_much_as_they_move_in_each_direction():
    truth = boxes_of()
    assert is_scale(truth, truth / 2, truth)
    for axis in (0, 1):
        wider = truth.copy()  # the same centres, sides a fifth longer: log 1.2 is 0.18
        side = truth[:, 2 + axis] - truth[:, axis]
        wider[:, axis] -= 0.1 * side
        wider[:, 2 + axis] += 0.1 * side
        assert not is_scale(truth, truth / 2, wider)
        assert not is_scale(wider, truth / 2, truth)
    # Grown and moved by the same ratio, it is but another scale.
    assert is_scale(truth, truth / 2, truth * 1.02)


def test_boxes_without_a_size_say_nothing_of_a_scale():
    truth = boxes_of()
    for count, is_told in ((6, True), (5, False)):
        flat = truth.copy()
        flat[count:, 2] = flat[count:, 0]
        assert is_scale(truth, truth / 2, flat) == is_told


def test_noise_excuses_boxes_that_are_too_large():
    truth = np.tile([100.0, 100, 200, 200], (9, 1))
    ways = np.exp(np.array([-1.2, -1.2, -1.2, -1.2, 0.15, 1.2, 1.2, 1.2, 1.2]))[:, None] * [50, 50]
    scaled = np.concatenate([150 - ways, 150 + ways], axis=1)
    # The median is 0.15, above 0.1; deviations of about 1.13 make it anything within 4 * 1.13 / 3.
    assert is_scale(truth, truth / 2, scaled)
    sure = np.exp(np.full((9, 2), 0.15)) * 50
    assert not is_scale(truth, truth / 2, np.concatenate([150 - sure, 150 + sure], axis=1))


def test_boxes_moved_in_one_direction_are_not_scaled():
    truth = np.array([[100.0 * i + 100, 100, 100 * i + 140, 140] for i in range(9)])
    scaled = truth * [1.02, 1, 1.02, 1]
    assert not is_scale(truth, np.add(truth, [7, 0, 7, 0]), scaled)  # moved by 7 they all fit
    assert is_scale(truth, truth * [0.5, 1, 0.5, 1], scaled)


def test_a_pair_is_met_once_for_so_many():
    # 5000 truths of one image with 3 predictions each are 15,000 pairs, of which 10,000 are the most: every second.
    class Truth(SimpleNamespace):
        def __len__(self):
            return 5000

    truth = Truth(counts=np.array([5000]), image=np.zeros(5000, np.int64))
    one, other = scaling.pairs_within(truth, SimpleNamespace(counts=np.array([3]), cells=np.array([0, 3])))
    assert len(one) == 7500
    assert (one[:7].tolist(), other[:7].tolist()) == ([0, 0, 0, 2, 2, 2, 4], [0, 1, 2, 0, 1, 2, 0])


def test_a_number_is_snapped_to_the_sides_that_networks_have():
    def snap(*size, grid="likely"):
        found = scaling.snap(Reading("xywh", "frame", size), grid)
        return found and found.unit

    usual = (224, 256, 300, 320, 384, 416, 448, 480, 512, 600, 608, 640, 768, 800)
    for side in (*usual, 896, 960, 1024, 1280, 1536, 1920, 2048):
        assert snap(float(side), float(side)) == (side, side)
    assert snap(630.0, 660.0) == (640, 640)  # their mean is 645
    assert snap(500.0, 700.0) is None
    assert snap(635.0, 475.0, grid="coarse") == (640, 480)
    read = Reading("xywh", "rel", (1.0, 1.0), (633.0, 474.0))
    assert scaling.snap(read, "coarse") == replace(read, image_size=(640.0, 480.0))
    assert scaling.snap(Reading("xywh", "factor", (0.1, 0.1)), "likely").unit == pytest.approx((0.1, 0.1))


def test_overlaps_are_weighed_against_random_boxes():
    assert evidence.places(np.empty((0, 4))) == 0
    boxes = evidence.random_boxes()
    assert boxes.shape == (500, 4)
    assert np.all(boxes[:, 2:] >= boxes[:, :2])
    assert boxes.min() > 0
    assert boxes.max() < 1
    # The whole square is overlapped by half by a box of half its area. Sides are distances z of two uniform numbers,
    # of density 2 (1 - z), and the other side exceeds 1 / 2z with (1 - 1 / 2z)²; 500 draws are off by a little.
    whole = evidence.chance_of_random(np.array([[0.0, 0, 1, 1]]))
    z = np.linspace(0.5, 1, 200_001)
    values = 2 * (1 - z) * (1 - 0.5 / z) ** 2
    exact = ((values[1:] + values[:-1]) / 2 * np.diff(z)).sum()
    assert whole == pytest.approx([exact], abs=4 * np.sqrt(exact / 500))


def test_places_are_counted_in_fifths_of_the_image():
    # Centres at 0.1, 0.3, 0.5, 0.7 and 0.9 of an image that ends at 100.
    row = np.array([[20.0 * i, 0, 20 * i + 20, 100] for i in range(5)])
    assert evidence.places(row) == 5
    column = row[:, [1, 0, 3, 2]]
    assert evidence.places(column) == 5
    assert evidence.places(np.concatenate([row, column])) == 9  # both have the one in the middle


def test_objects_found_as_often_elsewhere_are_a_tie():
    own = np.full(18, 0.6)
    assert evidence.exceeds_other_images(own, [np.full(18, 0.55)])  # better in all 18
    same = np.where(np.arange(36) < 18, 0.6, 0.55)
    assert evidence.exceeds_other_images(same, [np.full(36, 0.55)])  # in 18, and equal in 18, which say nothing


def test_as_many_objects_can_be_found_as_there_are_predictions():
    truth, pred = group([[0, 0, 1, 1]] * 3, [[0, 0, 1, 1]]), group([[0, 0, 1, 1]], [[0, 0, 1, 1]] * 4)
    assert evidence.most_possible(truth, pred) == 2
    assert Sample(truth, {0: pred}).pred is pred


def codes(shift, count=30, noise=0.1, seed=4):
    rng = np.random.default_rng(seed)
    at = rng.uniform(10, 400, (count, 2))
    boxes = np.concatenate([at, at + rng.uniform(60, 200, (count, 2))], axis=1)
    names = [f"{i}.jpg" for i in range(count)]
    truth = vt.Annotations.of(names, ["cat"] * count, boxes)
    moved = boxes + shift + rng.normal(0, noise, boxes.shape)
    pred = vt.Annotations.of(names, ["cat"] * count, moved, confidence=np.linspace(0.01, 0.9, count))
    return {f.code: f for f in vt.inspect(truth, pred).findings}


@pytest.mark.parametrize("shift", [[-1, -1, 0, 0], [-1, -1, -1, -1], [1, 1, 1, 1], [1, 1, 0, 0]])
def test_one_pixel_beside_is_noted(shift):
    found = codes(shift)["V107"]
    assert found.severity == "note"
    assert f"left {shift[0]:+d}, top {shift[1]:+d}, right {shift[2]:+d}" in found.message


@pytest.mark.parametrize("shift", [[0, 0, 0, 0], [-1, 0, 0, 0], [-1, -1, 1, 1], [-2, -2, 0, 0], [-0.6, -0.6, 0, 0]])
def test_other_errors_are_a_detectors(shift):
    assert "V107" not in codes(shift)


def test_it_takes_thirty_objects_and_a_sharp_median():
    assert "V107" in codes([-1, -1, 0, 0], count=30)
    assert "V107" not in codes([-1, -1, 0, 0], count=29)
    assert "V107" in codes([-1.23, -1.23, 0, 0], noise=0.01)
    assert "V107" not in codes([-1.27, -1.27, 0, 0], noise=0.01)
    assert "V107" not in codes([-1, -1, 0, 0], noise=3.0)


def test_one_pixel_is_measured_on_all_images_of_a_large_set():
    """With errors of 3 pixels, 128 boxes leave the medians unsure by 1.3 pixels (four standard errors), 5,000 by .2."""
    assert "V107" in codes([1, 1, 1, 1], count=5000, noise=3.0)
    assert "V107" not in codes([0, 0, 0, 0], count=5000, noise=3.0)


class Truths(SimpleNamespace):
    def __len__(self):
        return len(self.image)


def pairs(truths, preds):
    truth = Truths(counts=np.array([truths]), image=np.zeros(truths, np.int64))
    return scaling.pairs_within(truth, SimpleNamespace(counts=np.array([preds]), cells=np.array([0, preds])))


def test_objects_meet_twice_as_many_predictions_as_there_are_objects():
    assert len(pairs(3, 9)[0]) == 18
    assert len(pairs(2, 9)[0]) == 10  # five at least
    assert len(pairs(3, 4)[0]) == 12


def test_ten_thousand_pairs_are_too_many():
    assert len(pairs(2499, 4)[0]) == 9996
    assert len(pairs(2500, 4)[0]) == 5000


def test_small_boxes_a_pixel_apart_do_not_overlap_by_half():
    tiny = np.concatenate([spread(6)[:, :2], spread(6)[:, :2] + 2], axis=1)
    assert refine(tiny, np.add(tiny, [1, 0, 1, 0]), [1.0, 1.0]) is None  # a third; with edges in it would be half
    image = np.zeros(6, np.int64)
    assert evidence.best_overlaps(tiny, image, np.add(tiny, [1, 0, 1, 0]), image) == pytest.approx([1 / 3] * 6)


def test_shapes_and_shares_at_the_point_itself():
    assert scaling.has_usual_shape("frame", (40.0, 100.0))
    assert scaling.has_usual_shape("frame", (250.0, 100.0))
    assert not is_reversed(1000, 1000, 400_000)
    assert is_reversed(1000, 1000, 399_999)
    assert near_word("cat", ["dog"]) is None


def test_a_frame_is_a_factor_by_the_size_of_any_image():
    truth = SimpleNamespace(sizes=np.array([[200.0, 100.0]]), is_sized=True)
    ways = list(scaling.ways_to_put(Reading("xywh", "frame", (100.0, 50.0)), truth))
    assert [(way.measure, way.unit) for way in ways] == [("frame", (100, 50)), ("factor", (0.5, 0.5))]


def test_ratios_that_are_just_as_far_apart_do_not_agree():
    apart = np.tile([0.4, 0.0], (6, 3))
    assert scaling.common_ratio(apart, is_one_number=True) is None
    assert scaling.common_ratio(apart, is_one_number=False) is not None
    sizes = np.tile([0.5, 0.5, 0.1, 0.1, 0.5, 0.5], (6, 1))  # 0.4 from the centres
    assert scaling.common_ratio(sizes, is_one_number=False) is None


def test_an_image_of_one_pixel_has_a_size():
    assert group([[0, 0, 1, 1]], size=(1.0, 1.0)).is_sized
    assert not group([[0, 0, 1, 1]], size=(1.0, 0.0)).is_sized


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_a_scale_is_named_against_relative_ground_truth(tmp_path, factor):
    """YOLO's ground truth is in fractions and read as such: its numbers say nothing about the predictions' scale."""
    bundled = files("verite") / "data" / "demo"
    truth = vt.read(str(bundled / "truth.json"))
    pred = vt.read(str(bundled / "hawk.json"), like=truth)
    vt.write(truth, tmp_path / "yolo", "yolo")
    shutil.copytree(str(bundled / "images"), tmp_path / "yolo" / "images")
    relative = vt.read(tmp_path / "yolo", images=tmp_path / "yolo" / "images")
    names = [truth.images.name(int(image)) for image in pred.image]
    records = [
        {"image_id": name, "category_id": int(label), "bbox": (factor * box).tolist(), "score": float(score)}
        for name, label, box, score in zip(names, pred.label, pred.regions.sizes, pred.confidence, strict=True)
    ]
    with pytest.raises(vt.errors.DataError, match=rf"V105.*\*{1 / factor:g}"):
        vt.coco(relative, vt.read(records, like=relative))
