"""Pascal VOC against an independent slow implementation, published numbers and cases worked by hand."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib.resources import files

import numpy as np
import pytest

import verite as vt
from tests.oracles import voc as oracle
from verite.evaluation.curves import Curve

# Seed example, confidences and outcomes in the order of its second table.
TABLE = [
    ("5", 0.95, 1), ("7", 0.95, 0), ("3", 0.91, 1), ("1", 0.88, 0), ("6", 0.84, 0), ("1", 0.80, 0), ("4", 0.78, 0),
    ("2", 0.74, 0), ("2", 0.71, 0), ("1", 0.70, 1), ("3", 0.67, 0), ("5", 0.62, 1), ("2", 0.54, 1), ("7", 0.48, 1),
    ("4", 0.45, 0), ("6", 0.45, 0), ("3", 0.44, 0), ("5", 0.44, 0), ("6", 0.43, 0), ("3", 0.38, 0), ("4", 0.35, 0),
    ("5", 0.23, 0), ("3", 0.18, 1), ("4", 0.14, 0),
]  # fmt: skip
# Recall steps at true positives 1, 2, 6 and 7 of 15, the envelope beside them worked by hand.
ALL_POINTS = Fraction(1, 15) * 1 + Fraction(1, 15) * Fraction(2, 3) + Fraction(4, 15) * Fraction(3, 7)
ALL_POINTS += Fraction(1, 15) * Fraction(7, 23)
ELEVEN_POINTS = (1 + Fraction(2, 3) + 3 * Fraction(3, 7)) / 11


def build(truths, preds, **more):
    """Annotations from the oracle's records."""
    truth = vt.Annotations.of(
        [t.image for t in truths],
        [t.label for t in truths],
        [t.box for t in truths],
        difficult=[t.difficult for t in truths],
        **more,
    )
    pred = vt.Annotations.of(
        [p.image for p in preds],
        [p.label for p in preds],
        [p.box for p in preds],
        confidence=[p.confidence for p in preds],
    )
    return truth, pred


def random_set(rng):
    """Small coordinates and few confidences, so that ties of overlap and of confidence are common."""
    images = [f"image{i}" for i in range(rng.integers(1, 6))]
    labels = ["cat", "dog", "cow", "bird"][: rng.integers(1, 5)]

    def box():
        x, y = rng.integers(0, 12, 2)
        w, h = rng.integers(0, 10, 2)
        return float(x), float(y), float(x + w), float(y + h)

    def pick(values):
        return values[rng.integers(len(values))]

    truths = [
        oracle.Truth(pick(images), pick(labels), box(), bool(rng.random() < 0.2)) for _ in range(rng.integers(0, 14))
    ]
    preds = []
    for _ in range(rng.integers(0, 25)):
        near = pick(truths) if truths and rng.random() < 0.7 else None
        place = near.box if near and rng.random() < 0.6 else box()
        image, label = (near.image, near.label) if near else (pick(images), pick(labels))
        preds.append(oracle.Pred(image, label, place, round(float(rng.integers(0, 8)) / 8, 3)))
        if rng.random() < 0.2:
            preds.append(preds[-1])
    return truths, preds, images, labels


@pytest.mark.parametrize("block", range(10))
def test_equals_the_slow_oracle_on_random_sets(block):
    rng = np.random.default_rng([2026, block])
    compared = 0
    for _ in range(60):
        truths, preds, images, labels = random_set(rng)
        truth, pred = build(truths, preds, images=images, labels=labels)
        thresholds = [float(t) for t in rng.choice([0.1, 0.25, 0.3, 1 / 3, 0.5, 0.75, 1.0], 3, replace=False)]
        pixel = ("plus1", "continuous")[rng.integers(2)]
        ignored = ("skip", "count")[rng.integers(2)]
        for interpolation, slow in (("all", oracle.ap_all), ("11", oracle.ap_11)):
            fast = vt.voc(
                truth, pred, iou=thresholds, interpolation=interpolation, pixel=pixel, ignored=ignored, checks="off"
            )
            for t, threshold in enumerate(thresholds):
                expected = {}
                for label in labels:
                    listed, positives = oracle.outcomes(
                        truths, preds, label, threshold, one=int(pixel == "plus1"), count_difficult=ignored == "count"
                    )
                    expected[label] = slow(listed, positives)
                    curve = fast.curves[t][label]
                    assert curve.truths == positives
                    assert curve.confidence.tolist() == [c for c, _ in listed]
                    assert curve.is_true.tolist() == [kind == "tp" for _, kind in listed]
                    found = fast.ap(label, t)
                    if expected[label] is None:
                        assert np.isnan(found)
                    else:
                        assert found == pytest.approx(expected[label], abs=1e-12)
                        compared += 1
                present = [v for v in expected.values() if v is not None]
                mean = list(fast.scores.values())[t].value
                if present:
                    assert mean == pytest.approx(sum(present) / len(present), abs=1e-12)
                else:
                    assert np.isnan(mean)
    assert compared > 300


@pytest.mark.parametrize("block", range(5))
def test_class_agnostic_and_free_matching_equal_the_slow_oracle_on_random_sets(block):
    rng = np.random.default_rng([2027, block])
    compared = 0
    for _ in range(60):
        truths, preds, images, labels = random_set(rng)
        truth, pred = build(truths, preds, images=images, labels=labels)
        threshold = float(rng.choice([0.1, 0.25, 1 / 3, 0.5, 0.75]))
        for ignored in ("skip", "count"):
            for matching in ("best", "free"):
                rules = {"iou": threshold, "ignored": ignored, "matching": matching, "checks": "off"}
                apart = vt.voc(truth, pred, **rules).curves[0]
                curves = {label: apart[label] for label in labels}
                curves[None] = vt.voc(truth, pred, class_agnostic=True, **rules).curves[0]["all classes"]
                for label, curve in curves.items():
                    listed, positives = oracle.outcomes(
                        truths, preds, label, threshold, count_difficult=ignored == "count", matching=matching
                    )
                    assert curve.truths == positives
                    assert curve.confidence.tolist() == [c for c, _ in listed]
                    assert curve.is_true.tolist() == [kind == "tp" for _, kind in listed]
                    compared += 1
    assert compared > 300


def test_equal_confidences_of_different_classes_keep_the_order_of_the_file_where_classes_are_not_compared():
    # The file lists a wrong dog before a right cat, at one confidence: one object found behind one false positive.
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], labels=["cat", "dog"])
    pred = vt.Annotations.of(
        ["a", "a"], ["dog", "cat"], [[50, 50, 59, 59], [0, 0, 9, 9]], confidence=[0.9, 0.9], labels=["cat", "dog"]
    )
    for ties in ("stable", "image"):
        curve = vt.voc(truth, pred, class_agnostic=True, ties=ties, checks="off").curves[0]["all classes"]
        assert curve.is_true.tolist() == [False, True]
        assert curve.average_precision("all") == 0.5


def test_with_free_matching_a_difficult_object_stays_free_and_is_ranked_by_its_iou():
    easy, difficult = oracle.Truth("a", "cat", (0, 0, 9, 9)), oracle.Truth("a", "cat", (0, 0, 9, 10), difficult=True)
    # Both predictions have IoU 1 with the difficult object and 10/11 with the other: both are ignored.
    twice = [oracle.Pred("a", "cat", (0, 0, 9, 10), 0.9), oracle.Pred("a", "cat", (0, 0, 9, 10), 0.8)]
    curve = vt.voc(*build([easy, difficult], twice), matching="free", checks="off").curves[0]["cat"]
    assert (curve.truths, curve.tp, curve.fp) == (1, 0, 0)
    # The first prediction matches the other object at IoU 1; the second, equal one is left with the difficult object.
    again = [oracle.Pred("a", "cat", (0, 0, 9, 9), 0.9), oracle.Pred("a", "cat", (0, 0, 9, 9), 0.8)]
    curve = vt.voc(*build([easy, difficult], again), matching="free", checks="off").curves[0]["cat"]
    assert (curve.truths, curve.tp, curve.fp) == (1, 1, 0)


def example():
    home = files("verite") / "data" / "example"
    truth = vt.read(str(home / "truth"))
    return truth, vt.read(str(home / "pred"), like=truth)


@pytest.mark.parametrize(("interpolation", "expected"), [("all", ALL_POINTS), ("11", ELEVEN_POINTS)])
def test_bundled_example_gives_the_published_numbers(interpolation, expected):
    results = vt.voc(*example(), iou=0.3, interpolation=interpolation)
    assert results.scores["mAP"].value == pytest.approx(float(expected), abs=1e-15)
    assert round(100 * results.scores["mAP"].value, 2) == {"all": 24.57, "11": 26.84}[interpolation]


def test_bundled_example_gives_the_published_table():
    table = vt.voc(*example(), iou=0.3).accumulate("person")
    found = [(image.removeprefix("image-"), confidence, tp) for image, confidence, tp, *_ in table.rows]
    assert found == TABLE
    last = table.rows[-1]
    assert last[4:6] == (7, 17)
    assert last[6:] == pytest.approx((7 / 24, 7 / 15))


def test_the_seeds_own_data_give_its_numbers(shared):
    home = shared / "oracles" / "padilla_odm"
    expected = json.loads((home / "expected.json").read_text())
    truth = vt.read(home / "groundtruths")
    pred = vt.read(home / "detections", like=truth)
    results = vt.voc(truth, pred, iou=[0.1, 0.3, 0.5, 0.75])
    for t, value in enumerate(expected["every_point"].values()):
        assert results.ap("person", t) == pytest.approx(value, abs=1e-9)
    assert [row[2] for row in vt.voc(truth, pred, iou=0.3).accumulate("person").rows] == [tp for _, _, tp in TABLE]
    eleven = vt.voc(truth, pred, iou=[0.3, 0.5, 0.75], interpolation="11")
    for t, key in enumerate(("0.3", "0.5", "0.75")):
        assert eleven.ap("person", t) == pytest.approx(expected["eleven_point"][key], abs=1e-9)
    # 9 of 15 truths are found, exactly 6/10: as a fraction the level is reached, as 0.6000000000000001 it is not.
    # The ninth is the 23rd prediction.
    exact = vt.voc(truth, pred, iou=0.1, interpolation="11")
    by_float = exact.curves[0]["person"].average_precision("11", levels=np.arange(0.0, 1.1, 0.1))
    assert by_float == pytest.approx(expected["eleven_point"]["0.1"], abs=1e-9)
    assert exact.ap("person") == pytest.approx(by_float + 9 / 23 / 11, abs=1e-12)
    continuous = vt.voc(truth, pred, iou=[0.1, 0.3], pixel="continuous")
    without = expected["without_plus_one_every_point (my computation)"]
    assert [continuous.ap("person", 0), continuous.ap("person", 1)] == pytest.approx(list(without.values()), abs=1e-12)


@pytest.mark.parametrize("options", [{}, {"coords": "rel", "format": "text"}], ids=["found out", "given"])
def test_relative_coordinates_give_the_same_numbers(shared, options):
    home = shared / "oracles" / "padilla_odm"
    truth = vt.read(home / "groundtruths_rel", image_size=(200, 200), **options)
    pred = vt.read(home / "detections_rel", truth, image_size=(200, 200), **options)
    assert vt.voc(truth, pred, iou=0.3).scores["mAP"].value == pytest.approx(float(ALL_POINTS), abs=1e-12)


@pytest.mark.parametrize(
    ("truth", "pred"), [("groundtruths_rel", "detections"), ("groundtruths", "detections_rel")], ids=["truth", "pred"]
)
def test_one_side_in_relative_coordinates_gives_the_same_numbers(shared, truth, pred):
    home = shared / "oracles" / "padilla_odm"
    known = vt.read(home / truth, image_size=(200, 200))
    found = vt.voc(known, vt.read(home / pred, known), iou=0.3)
    assert found.scores["mAP"].value == pytest.approx(float(ALL_POINTS), abs=1e-12)
    with pytest.raises(vt.DataError, match="expected the size of every image"):
        vt.voc(home / truth, home / pred, iou=0.3)


def test_two_objects_in_fractions_need_the_size_of_their_images(tmp_path):
    for side, line in (("truth", "cat 0.5 0.5 0.4 0.4"), ("pred", "cat 0.9 0.5 0.5 0.4 0.2")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "a.txt").write_text(line)
    sides = tmp_path / "truth", tmp_path / "pred"
    with pytest.raises(vt.DataError, match="expected boxes in pixels for the \\+1 rule, found fractions of the image"):
        vt.voc(*sides)
    # Of 10 x 10 pixels the truth is 4 x 4, the prediction 4 x 2 within it: 8 / 16, with pixel indices 15 / 25.
    assert vt.voc(*sides, iou=0.55, pixel="continuous").ap("cat") == 0
    assert vt.voc(*sides, iou=0.5, pixel="continuous").ap("cat") == 1
    truth = vt.read(sides[0], image_size=(10, 10))
    assert vt.voc(truth, vt.read(sides[1], truth), iou=0.6).ap("cat") == 1
    assert vt.voc(truth, vt.read(sides[1], truth), iou=0.61).ap("cat") == 0
    notes = str(vt.inspect(*sides))
    assert notes.count("coordinates taken as fractions of the image") == 2


def cat(*boxes, difficult=None):
    return vt.Annotations.of(
        ["a"] * len(boxes), ["cat"] * len(boxes), boxes, difficult=difficult or [False] * len(boxes)
    )


def cats(*scored):
    return vt.Annotations.of(
        ["a"] * len(scored), ["cat"] * len(scored), [b for b, _ in scored], confidence=[c for _, c in scored]
    )


def test_overlap_exactly_on_the_threshold_is_right():
    # 10 × 10 pixels against 10 × 5 of them: 50 / 100.
    truth, pred = cat((0, 0, 9, 9)), cats(((0, 0, 9, 4), 0.9))
    assert vt.voc(truth, pred, iou=0.5).ap("cat") == 1
    assert vt.voc(truth, pred, iou=0.5, quirks="py-faster-rcnn").ap("cat") == 0


def test_plus_one_rule_counts_pixels():
    # One pixel against two by two: 1/4 with pixel indices; points have no area.
    truth, pred = cat((5, 5, 5, 5)), cats(((5, 5, 6, 6), 0.9))
    assert vt.voc(truth, pred, iou=0.25, checks="off").ap("cat") == 1
    assert vt.voc(truth, pred, iou=0.25, pixel="continuous", checks="off").ap("cat") == 0


def test_second_prediction_on_a_truth_is_false_even_if_another_truth_is_free():
    truth = cat((0, 0, 9, 9), (0, 2, 9, 11))
    pred = cats(((0, 0, 9, 9), 0.9), ((0, 0, 9, 9), 0.8))
    curve = vt.voc(truth, pred).curves[0]["cat"]
    assert curve.is_true.tolist() == [True, False]


def test_first_of_equally_good_truths_is_asked_for():
    truth = cat((0, 0, 9, 9), (0, 0, 9, 9))
    results = vt.voc(truth, cats(((0, 0, 9, 9), 0.9), ((0, 0, 9, 9), 0.8)))
    assert results.evaluation.outcomes().truth.tolist() == [0, -1]


def test_difficult_truth_swallows_any_number_of_predictions():
    truth = cat((0, 0, 9, 9), (20, 20, 29, 29), difficult=[True, False])
    pred = cats(((0, 0, 9, 9), 0.9), ((0, 0, 9, 9), 0.8), ((20, 20, 29, 29), 0.7))
    skipped = vt.voc(truth, pred)
    assert (skipped.curves[0]["cat"].truths, skipped.curves[0]["cat"].tp, skipped.curves[0]["cat"].fp) == (1, 1, 0)
    counted = vt.voc(truth, pred, ignored="count").curves[0]["cat"]
    assert (counted.truths, counted.tp, counted.fp) == (2, 2, 1)


@pytest.mark.parametrize("flag", ["crowd", "group_of", "ignore"])
def test_what_other_formats_set_aside_is_treated_like_difficult(flag):
    truth = vt.Annotations.of(["a"] * 2, ["cat"] * 2, [[0, 0, 9, 9], [20, 20, 29, 29]], **{flag: [True, False]})
    curve = vt.voc(truth, cats(((0, 0, 9, 9), 0.9), ((20, 20, 29, 29), 0.7))).curves[0]["cat"]
    assert (curve.truths, curve.tp, curve.fp) == (1, 1, 0)


def test_equal_confidences_keep_the_order_of_the_file():
    truth = cat((0, 0, 9, 9))
    right, wrong = ((0, 0, 9, 9), 0.5), ((50, 50, 59, 59), 0.5)
    assert vt.voc(truth, cats(right, wrong)).ap("cat") == 1
    assert vt.voc(truth, cats(wrong, right)).ap("cat") == 0.5


def test_class_without_truths_is_absent_and_left_out_of_the_mean():
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], labels=["cat", "dog"])
    pred = vt.Annotations.of(["a", "a"], ["cat", "dog"], [[0, 0, 9, 9], [0, 0, 9, 9]], confidence=[0.9, 0.8])
    results = vt.voc(truth, pred)
    assert np.isnan(results.ap("dog"))
    assert results.scores["mAP"].value == 1
    document = json.loads(results.to_json())
    assert document["classes"]["dog"]["AP"] is None
    assert document["classes"]["dog"]["fp"] == 1


def test_class_without_predictions_has_average_precision_zero():
    truth = vt.Annotations.of(["a", "a"], ["cat", "dog"], [[0, 0, 9, 9], [20, 20, 29, 29]])
    pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.9])
    assert vt.voc(truth, pred).scores["mAP"].value == 0.5


def test_without_predictions_every_class_is_zero():
    empty = vt.Annotations.of([], [], [], confidence=[])
    assert vt.voc(cat((0, 0, 9, 9)), empty).scores["mAP"].value == 0


def test_without_truths_the_mean_is_absent():
    results = vt.voc(vt.Annotations.of([], [], [], images=["a"], labels=["cat"]), cats(((0, 0, 9, 9), 0.9)))
    assert np.isnan(results.scores["mAP"].value)
    assert json.loads(results.to_json())["mAP"] is None


def test_prediction_on_an_unknown_image_is_an_error():
    pred = vt.Annotations.of(["elsewhere"], ["cat"], [[0, 0, 9, 9]], confidence=[0.9])
    with pytest.raises(vt.DataError, match="V213"):
        vt.voc(cat((0, 0, 9, 9)), pred)


def test_several_thresholds_give_a_score_each():
    results = vt.voc(cat((0, 0, 9, 9)), cats(((0, 0, 9, 4), 0.9)), iou=[0.5, 0.75])
    assert {name: score.value for name, score in results.scores.items()} == {
        "mAP@0.50": 1,
        "mAP@0.75": 0,
        "mAP@0.50:0.75": 0.5,
    }
    document = json.loads(results.to_json())
    assert [t["mAP"] for t in document["thresholds"]] == [1, 0]
    assert document["mAP"] == 1
    assert str(results.scores["mAP@0.75"].signature) == (
        "voc_ap|on:box|iou:0.75|interpolation:all|pixel:plus1|ties:stable|ignored:skip|quirks:none|rev:1"
    )


def test_only_the_named_classes_count():
    truth = vt.Annotations.of(["a", "a"], ["cat", "dog"], [[0, 0, 9, 9], [20, 20, 29, 29]])
    pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.9])
    assert vt.voc(truth, pred, labels=["cat"]).scores["mAP"].value == 1
    with pytest.raises(vt.BadParameter, match="did you mean 'cat'"):
        vt.voc(truth, pred, labels=["cart"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"iou": 0},
        {"iou": 1.5},
        {"iou": []},
        {"interpolation": "102"},
        {"pixel": "plus2"},
        {"ignored": "no"},
        {"quirks": "x"},
    ],
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(vt.BadParameter, match=f"{next(iter(wrong))}: expected .*found"):
        vt.voc(cat((0, 0, 9, 9)), cats(((0, 0, 9, 9), 0.9)), **wrong)


def test_relative_boxes_without_image_sizes_need_the_continuous_rule(tmp_path):
    (tmp_path / "a.txt").write_text("cat 0.5 0.5 0.2 0.2\n")
    truth = vt.read(tmp_path, format="text", coords="rel")
    with pytest.raises(vt.DataError, match=r"image_size=\(WIDTH, HEIGHT\).*pixel=\"?continuous"):
        vt.voc(truth, truth, checks="off")


def test_best_f1_keeps_equal_confidences_together():
    # After the tie: 1 true of 2 with 1 to find, F1 = 2/3; the first alone would claim F1 = 1.
    curve = Curve("cat", 1, np.array([0.5, 0.5]), np.array([True, False]))
    assert curve.best_f1 == pytest.approx((2 / 3, 0.5))


def test_py_faster_rcnn_compares_eleven_recalls_as_floating_point_numbers():
    # 3 of 10 found: 0.3 is below numpy's 0.30000000000000004.
    curve = Curve("cat", 10, np.array([0.9, 0.8, 0.7]), np.array([True, True, True]))
    assert curve.average_precision("11") == pytest.approx(4 / 11)
    assert curve.average_precision("11", levels=np.arange(0.0, 1.1, 0.1)) == pytest.approx(3 / 11)


def test_curves_are_in_the_json_only_if_asked_for_and_only_where_the_envelope_changes():
    """True, true, false, true, false of four to find: precision 1, 1, 2/3, 3/4, 3/5 at recall 1/4, 1/2, 1/2, 3/4, 3/4.

    The envelope is 1 up to a recall of 1/2 and 3/4 up to 3/4: (1/2) 1 + (1/4) 3/4 is the area below.
    """
    boxes = [(20 * i, 0, 20 * i + 9, 9) for i in range(4)]
    far = (0, 50, 9, 59)
    found = [boxes[0], boxes[1], far, boxes[2], far]
    truth = cat(*boxes)
    pred = vt.Annotations.of(["a"] * 5, ["cat"] * 5, found, confidence=[0.9, 0.8, 0.7, 0.6, 0.5])
    plain = json.loads(vt.voc(truth, pred, checks="off").to_json())["classes"]["cat"]
    assert not {"precision", "recall", "confidence"} & set(plain)
    drawn = json.loads(vt.voc(truth, pred, curves=True, checks="off").to_json())["classes"]["cat"]
    assert {key: drawn[key] for key in ("precision", "recall", "confidence")} == {
        "precision": [1, 0.75],
        "recall": [0.5, 0.75],
        "confidence": [0.8, 0.6],
    }
    assert drawn["AP"] == plain["AP"] == 0.5 * 1 + 0.25 * 0.75


def test_the_points_of_a_curve_hold_all_of_the_area_below():
    rng = np.random.default_rng(5)
    for count in (0, 1, 2, 50, 500):
        curve = Curve("cat", count + 3, np.sort(rng.random(count))[::-1], rng.random(count) < 0.5)
        recall, precision = curve.recall[curve.steps], curve.precision[curve.steps]
        assert np.all(np.diff(precision) < 0)
        assert np.sum(np.diff(recall, prepend=0) * precision) == pytest.approx(
            curve.average_precision("all"), abs=1e-12
        )
