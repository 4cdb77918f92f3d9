"""Open Images against an independent slow implementation and cases worked by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import verite as vt
from tests.oracles import openimages as oracle
from tests.oracles.openimages import Pred, Truth
from verite.model.classes import ABSENT, PRESENT, Hierarchy, ImageLevelLabels
from verite.model.polygons import RLEMasks

SIDE = 8
PAIRS = [("animal", "cat"), ("animal", "dog"), ("dog", "pug"), ("pet", "dog"), ("pet", "cat"), ("tool", "saw")]
TREE = Hierarchy.of(PAIRS)
LABELS = ["animal", "cat", "dog", "pug", "pet", "saw", "tool"]


def runs_of(mask):
    """COCO's runs of a set of (x, y), column by column."""
    flat = [(x, y) in mask for x in range(SIDE) for y in range(SIDE)]
    counts, value = [0], False
    for pixel in flat:
        if pixel != value:
            counts.append(0)
            value = pixel
        counts[-1] += 1
    return counts


def side(rows, images, *, has_masks=False, **more):
    found = vt.Annotations.of(
        [r.image for r in rows], [r.label for r in rows], [r.box for r in rows],
        labels=LABELS, sizes=dict.fromkeys(images, (SIDE, SIDE)), **more,
    )  # fmt: skip
    if not has_masks:
        return found
    masks = RLEMasks.of([None if r.mask is None else (runs_of(r.mask), (SIDE, SIDE)) for r in rows])
    return replace(found, regions=vt.Regions(np.array([r.box for r in rows]).reshape(-1, 4), runs=masks))


def both(truths, preds, images, verified=(), *, has_masks=False):
    truth = side(truths, images, has_masks=has_masks, group_of=[t.group for t in truths],
                 difficult=[t.difficult for t in truths])  # fmt: skip
    said = [(images.index(i), LABELS.index(label), PRESENT if there else ABSENT) for i, label, there in verified]
    truth = replace(truth, verdicts=ImageLevelLabels.of(said))
    return truth, side(preds, images, has_masks=has_masks, confidence=[p.confidence for p in preds])


def random_set(rng, *, has_masks=False):
    """Whole coordinates below 8 and few confidences, so that ties and overlaps on the threshold are common."""
    images = [f"image{i}" for i in range(int(rng.integers(1, 5)))]

    def pick(values):
        return values[int(rng.integers(len(values)))]

    def box():
        x, y = rng.integers(0, SIDE - 1, 2).tolist()
        return x, y, x + int(rng.integers(1, SIDE - x + 1)), y + int(rng.integers(1, SIDE - y + 1))

    def mask(b):
        pixels = {(x, y) for x in range(b[0], b[2]) for y in range(b[1], b[3])}
        kept = frozenset(p for p in pixels if rng.random() < 0.9)
        return kept or frozenset(pixels)

    truths, preds = [], []
    for _ in range(rng.integers(0, 12)):
        b = box()
        shape = mask(b) if has_masks and rng.random() < 0.7 else None
        if shape and rng.random() < 0.15:
            shape = frozenset()  # a mask without a pixel
        truths.append(Truth(pick(images), pick(LABELS[1:6]), b, rng.random() < 0.3, rng.random() < 0.15, shape))
    for _ in range(rng.integers(0, 24)):
        near = pick(truths) if truths and rng.random() < 0.75 else Truth(pick(images), pick(LABELS), box())
        b = near.box if rng.random() < 0.4 else box()
        shape = (near.mask if near.mask and b == near.box and rng.random() < 0.5 else mask(b)) if has_masks else None
        if has_masks and rng.random() < 0.05:
            shape = frozenset()
        if not has_masks and rng.random() < 0.05:
            b = (b[0], b[1], b[0], b[3])
        label = near.label if rng.random() < 0.8 else pick(LABELS)
        preds.append(Pred(near.image, label, b, float(rng.integers(0, 7)) / 8, shape))
        if rng.random() < 0.2:
            preds.append(replace(preds[-1]))
    verified = [(i, label, bool(rng.random() < 0.5)) for i in images for label in LABELS[1:6] if rng.random() < 0.3]
    return images, truths, preds, verified


def compare(results, truths, preds, threshold_at=0, **rules):
    means = []
    for label in LABELS:
        expected, positives, listed = oracle.average_precision(truths, preds, label, **rules)
        curve = results.curves[threshold_at][label]
        assert curve.truths == pytest.approx(float(positives))
        assert curve.confidence.tolist() == [c for c, _ in listed]
        assert curve.is_true.tolist() == [worth > 0 for _, worth in listed]
        found = results.ap(label, threshold_at)
        if expected is None:
            assert np.isnan(found)
        else:
            assert found == pytest.approx(expected, abs=1e-12)
            means.append(expected)
    mean = list(results.scores.values())[threshold_at].value
    assert mean == pytest.approx(sum(means) / len(means), abs=1e-12) if means else np.isnan(mean)
    return len(means)


@pytest.mark.parametrize("block", range(10))
def test_boxes_equal_the_slow_oracle_on_random_sets(block):
    rng = np.random.default_rng([4, block])
    compared = 0
    for _ in range(32):
        images, truths, preds, verified = random_set(rng)
        truth, pred = both(truths, preds, images, verified)
        weight = float(rng.choice([0, 0.25, 1]))
        thresholds = [0.5, 0.25]
        kept = vt.openimages(truth, pred, group_of_weight=weight, iou=thresholds, checks="off")
        for t, threshold in enumerate(thresholds):
            counted = oracle.judged(truths, preds, verified)
            compared += compare(kept, truths, counted, t, weight=weight, threshold=threshold)
        everything = vt.openimages(truth, pred, unverified="count", metric="v2", checks="off")
        compared += compare(everything, truths, preds, weight=0)
        grown, said = oracle.expanded(truths, verified, TREE.above, TREE.below)
        wide = vt.openimages(truth, pred, hierarchy=TREE, checks="off")
        compared += compare(wide, grown, oracle.judged(grown, preds, said), weight=1)
    assert compared > 200


@pytest.mark.parametrize("block", range(10))
def test_masks_equal_the_slow_oracle_on_random_sets(block):
    rng = np.random.default_rng([5, block])
    compared = 0
    for _ in range(40):
        images, truths, preds, verified = random_set(rng, has_masks=True)
        if all(not t.mask for t in truths):
            continue  # refused: nothing to compare masks with
        truth, pred = both(truths, preds, images, verified, has_masks=True)
        counted = oracle.judged(truths, preds, verified)
        results = vt.openimages(truth, pred, on="mask", checks="off")
        compared += compare(results, truths, counted, weight=0, masks=True)
        weighted = vt.openimages(truth, pred, on="mask", group_of_weight=0.5, checks="off")
        compared += compare(weighted, truths, counted, weight=0.5, masks=True)
    assert compared > 60


@pytest.mark.parametrize(("weight", "expected"), [(None, 1), (0, 1), (1, 0.5)])
def test_a_group_counts_nothing_for_masks_unless_its_weight_is_given(weight, expected):
    # One object is found; the group beside it is missed. Weight 1 is what the challenge's script uses for masks.
    square, group = frozenset({(0, 0), (0, 1), (1, 0), (1, 1)}), frozenset({(4, 4), (4, 5), (5, 4), (5, 5)})
    truths = [Truth("a", "cat", (0, 0, 2, 2), mask=square), Truth("a", "cat", (4, 4, 6, 6), group=True, mask=group)]
    sides = both(truths, [Pred("a", "cat", (0, 0, 2, 2), 0.5, square)], ["a"], has_masks=True)
    assert vt.openimages(*sides, on="mask", group_of_weight=weight, checks="off").ap("cat") == expected


def test_an_empty_ground_truth_mask_is_no_mask():
    # One object has a mask and is found, the other has a mask without a pixel and a box. The prediction on that box is
    # ignored, the other object is not counted: 1 of 1 found, no false positive.
    square, other = frozenset({(0, 0), (0, 1), (1, 0), (1, 1)}), frozenset({(4, 4), (4, 5), (5, 4), (5, 5)})
    truths = [Truth("a", "cat", (0, 0, 2, 2), mask=square), Truth("a", "cat", (4, 4, 6, 6), mask=frozenset())]
    preds = [Pred("a", "cat", (4, 4, 6, 6), 0.9, other), Pred("a", "cat", (0, 0, 2, 2), 0.5, square)]
    curve = vt.openimages(*both(truths, preds, ["a"], has_masks=True), on="mask", checks="off").curves[0]["cat"]
    assert (curve.truths, curve.tp, curve.fp) == (1, 1, 0)


@pytest.mark.parametrize("as_polygon", [False, True])
def test_an_empty_mask_of_a_coco_file_is_no_mask(as_polygon):
    empty = [[4, 4, 4, 6, 4, 4]] if as_polygon else {"size": [8, 8], "counts": [64]}
    rows = [([0, 0, 2, 2], [[0, 0, 2, 0, 2, 2, 0, 2]]), ([4, 4, 2, 2], empty)]
    truth = vt.read({
        "images": [{"id": 1, "width": 8, "height": 8}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {"id": i, "image_id": 1, "category_id": 1, "bbox": box, "area": 4, "iscrowd": 0, "segmentation": shape}
            for i, (box, shape) in enumerate(rows, 1)
        ],
    })  # fmt: skip
    square = {"image_id": 1, "category_id": 1, "bbox": [4, 4, 2, 2], "segmentation": [[4, 4, 6, 4, 6, 6, 4, 6]]}
    curve = vt.openimages(truth, vt.read([{**square, "score": 0.9}], like=truth), on="mask", checks="off").curves[0]
    assert (curve["cat"].truths, curve["cat"].tp, curve["cat"].fp) == (1, 0, 0)


def cats(truths, preds, **more):
    """The curve of cats in one image: truths are (box, group, difficult) or a box, preds (box, confidence)."""
    listed = [Truth("a", "cat", *t) if isinstance(t[0], tuple) else Truth("a", "cat", t) for t in truths]
    truth, pred = both(listed, [Pred("a", "cat", b, c) for b, c in preds], ["a"])
    return vt.openimages(truth, pred, checks="off", **more).curves[0]["cat"]


GROUP = ((0, 0, 8, 8), True)


def test_group_hit_twice_counts_once_with_the_best_confidence():
    curve = cats([GROUP], [((0, 0, 2, 2), 0.5), ((4, 4, 6, 6), 0.75)])
    assert (curve.truths, curve.confidence.tolist(), curve.is_true.tolist()) == (1, [0.75], [True])
    assert curve.average_precision() == 1


def test_group_of_weight_zero_is_neither_found_nor_asked_for():
    curve = cats([GROUP, (0, 0, 1, 1)], [((0, 0, 2, 2), 0.5), ((0, 0, 1, 1), 0.25)], metric="v2")
    assert (curve.truths, curve.tp, curve.fp) == (1, 1, 0)


def test_group_not_hit_is_missed():
    curve = cats([GROUP, (0, 0, 1, 1)], [((0, 0, 1, 1), 0.5)])
    # The single object is asked for first; the group stays alone.
    assert (curve.truths, curve.tp, curve.fp) == (2, 1, 0)
    assert curve.average_precision() == 0.5


def test_fraction_of_a_group():
    # One hit on a group worth 1/4 and one object found: precision is 1 throughout.
    curve = cats([GROUP, (0, 0, 1, 1)], [((0, 0, 1, 1), 0.5), ((4, 4, 6, 6), 0.75)], group_of_weight=0.25)
    assert curve.truths == 1.25
    assert curve.true_positives.tolist() == [0.25, 1.25]
    assert curve.average_precision() == 1
    # With a false one first: 0.25 of 1.25 at best precision 1.25 / 2.25.
    curve = cats([((0, 0, 4, 4), True), (5, 5, 6, 6)],
                 [((6, 6, 8, 8), 0.9), ((0, 0, 2, 2), 0.75), ((5, 5, 6, 6), 0.5)], group_of_weight=0.25)  # fmt: skip
    assert curve.average_precision() == pytest.approx(1.25 / 2.25)


@pytest.mark.parametrize(("box", "is_hit"), [((6, 0, 10, 2), True), ((7, 0, 10, 2), False)])
def test_share_in_a_group_exactly_on_the_threshold(box, is_hit):
    curve = cats([GROUP], [(box, 0.5)])  # half of the prediction is inside, or a third
    assert (curve.tp, curve.fp) == (int(is_hit), int(not is_hit))


def test_overlap_exactly_on_the_threshold_is_right():
    assert cats([(0, 0, 4, 4)], [((0, 0, 4, 2), 0.5)]).is_true.tolist() == [True]  # 8/16
    assert cats([(0, 0, 4, 4)], [((0, 0, 7, 1), 0.5)]).is_true.tolist() == [False]


def test_second_prediction_of_an_object_is_false_unless_it_lies_in_a_group():
    twice = [((0, 0, 1, 1), 0.9), ((0, 0, 1, 1), 0.8)]
    assert cats([(0, 0, 1, 1)], twice).is_true.tolist() == [True, False]
    curve = cats([(0, 0, 1, 1), GROUP], twice)
    assert (curve.confidence.tolist(), curve.is_true.tolist()) == ([0.9, 0.8], [True, True])
    assert cats([(0, 0, 1, 1), GROUP], twice, metric="v2").is_true.tolist() == [True]


def test_difficult_object_neither_rewards_nor_punishes():
    curve = cats([((0, 0, 1, 1), False, True), (4, 4, 5, 5)], [((0, 0, 1, 1), 0.9)] * 2 + [((4, 4, 5, 5), 0.5)])
    assert (curve.truths, curve.tp, curve.fp) == (1, 1, 0)


def test_difficult_group_takes_predictions_and_is_not_found():
    curve = cats([((0, 0, 8, 8), True, True), (0, 0, 1, 1)], [((4, 4, 5, 5), 0.9), ((0, 0, 1, 1), 0.5)])
    assert (curve.truths, curve.tp, curve.fp) == (1, 1, 0)


def test_prediction_without_area_is_removed():
    assert len(cats([(0, 0, 1, 1)], [((0, 0, 0, 1), 0.9), ((0, 0, 1, 1), 0.5)]).is_true) == 1


def test_of_equal_confidences_the_last_is_matched_first_and_listed_last():
    # Both overlap the truth by half or more; the second takes it, and the first, false, is listed before it.
    curve = cats([(0, 0, 4, 4)], [((0, 0, 4, 4), 0.5), ((0, 0, 4, 3), 0.5)])
    assert curve.is_true.tolist() == [False, True]
    assert curve.average_precision() == 0.5


def test_box_without_a_verified_label_counts_and_a_prediction_without_both_does_not():
    truths = [Truth("a", "cat", (0, 0, 1, 1))]
    preds = [
        Pred("a", "cat", (4, 4, 5, 5), 0.9),
        Pred("a", "dog", (0, 0, 1, 1), 0.9),
        Pred("a", "saw", (0, 0, 1, 1), 0.9),
    ]
    truth, pred = both(truths, preds, ["a"], [("a", "saw", False)])
    curves = vt.openimages(truth, pred, checks="off").curves[0]
    assert [curves[name].fp for name in ("cat", "dog", "saw")] == [1, 0, 1]
    kept = vt.openimages(truth, pred, unverified="count", checks="off").curves[0]
    assert [kept[name].fp for name in ("cat", "dog", "saw")] == [1, 1, 1]


def test_hierarchy_lifts_boxes_and_labels_and_lowers_negatives():
    truths = [Truth("a", "pug", (0, 0, 1, 1))]
    preds = [Pred("a", name, (0, 0, 1, 1), 0.9) for name in LABELS]
    truth, pred = both(truths, preds, ["a"], [("a", "tool", False)])
    curves = vt.openimages(truth, pred, hierarchy=TREE, checks="off").curves[0]
    assert [name for name in LABELS if curves[name].tp] == ["animal", "dog", "pug", "pet"]
    assert [name for name in LABELS if curves[name].fp] == ["saw", "tool"]  # cats were not looked for


def test_mask_of_a_truth_without_one_falls_back_to_its_box():
    square = frozenset((x, y) for x in range(4) for y in range(4))
    truths = [Truth("a", "cat", (0, 0, 4, 4)), Truth("a", "cat", (4, 4, 8, 8), mask=frozenset({(5, 5)}))]
    preds = [Pred("a", "cat", (0, 0, 4, 4), 0.9, square), Pred("a", "cat", (5, 5, 6, 6), 0.5, frozenset({(5, 5)}))]
    truth, pred = both(truths, preds, ["a"], has_masks=True)
    curve = vt.openimages(truth, pred, on="mask", checks="off").curves[0]["cat"]
    assert (curve.truths, curve.confidence.tolist(), curve.is_true.tolist()) == (1, [0.5], [True])


def test_accumulated_table_names_the_images_of_predictions():
    truths = [Truth("b", "cat", (0, 0, 1, 1)), Truth("a", "cat", (0, 0, 8, 8), True)]
    preds = [
        Pred("a", "dog", (0, 0, 1, 1), 0.9),
        Pred("b", "cat", (0, 0, 1, 1), 0.5),
        Pred("a", "cat", (2, 2, 3, 3), 0.25),
    ]
    truth, pred = both(truths, preds, ["b", "a"])
    table = vt.openimages(truth, pred, checks="off").accumulate("cat")
    assert [row[:3] for row in table.rows] == [("b", 0.5, 1), ("a", 0.25, 1)]


def test_json_has_the_documented_keys():
    truth, pred = both([Truth("a", "cat", (0, 0, 1, 1))], [Pred("a", "cat", (0, 0, 1, 1), 0.9)], ["a"])
    results = vt.openimages(truth, pred)
    document = json.loads(results.to_json())
    assert document["mAP"] == 1
    assert {"AP", "truths", "tp", "fp"} <= set(document["classes"]["cat"])
    assert document["classes"]["dog"]["AP"] is None
    assert document["signature"] == (
        "openimages_ap|metric:challenge|on:box|iou:0.50|interpolation:all|group_of_weight:1.00|unverified:drop|hierarchy:none|"
        "ties:reversed|rev:1"
    )
    assert "difference" in str(vt.compare(results, results))


@pytest.mark.parametrize(
    "wrong",
    [{"iou": 0}, {"iou": []}, {"metric": "v3"}, {"on": "boundary"}, {"unverified": "no"}, {"group_of_weight": -1}],
)
def test_settings_out_of_range_are_refused(wrong):
    truth, pred = both([Truth("a", "cat", (0, 0, 1, 1))], [Pred("a", "cat", (0, 0, 1, 1), 0.9)], ["a"])
    with pytest.raises(vt.BadParameter, match=f"{next(iter(wrong))}: expected .*found"):
        vt.openimages(truth, pred, **wrong)


def test_class_that_the_hierarchy_does_not_have_is_named():
    truth, pred = both([Truth("a", "cat", (0, 0, 1, 1))], [], ["a"])
    with pytest.raises(
        vt.DataError, match="expected classes of the hierarchy, found 'cat', which is not in it; did you"
    ):
        vt.openimages(truth, pred, hierarchy=Hierarchy.of([("animal", "car")]))


def test_ignore_regions_are_counted_and_said_to_be() -> None:
    truth = vt.Annotations.of(
        ["a", "a"], ["car", "ignore"], [[0, 0, 9, 9], [50, 0, 99, 50]], ignore_region=[False, True]
    )
    pred = vt.Annotations.of(["a"], ["car"], [[0, 0, 9, 9]], confidence=[0.9])
    results = vt.openimages(truth, pred, checks="off")
    assert results["mAP"].value == 0.5  # the region is a missed object of its class
    assert any(note.startswith("1 of 2 objects are marked as ignored and were counted") for note in results.notes)
