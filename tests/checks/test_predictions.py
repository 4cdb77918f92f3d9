"""Missing NMS, reversed, cut and tied confidences, images without predictions, a ground truth with confidences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import verite as vt
from tests.checks.small import side
from verite.checks import examine, examine_pair
from verite.checks import predictions as cuts
from verite.checks import predictions as ties
from verite.checks.predictions import recur_elsewhere
from verite.checks.sample import Pair, Side, is_reversed


def pair(truth, pred, labels=("cat", "dog")):
    """Rows of image, class, four numbers, and of predictions a confidence."""

    def side(rows):
        boxes = np.array([row[2:6] for row in rows], dtype=np.float64).reshape(-1, 4)
        confidence = [row[6] for row in rows] if rows and len(rows[0]) > 6 else None
        images, classes = [row[0] for row in rows], [row[1] for row in rows]
        return vt.Annotations.of(images, classes, boxes, confidence=confidence, labels=list(labels))

    known = side(truth)
    return Pair(known, side(pred).like(known))


def with_copies(copies, others, shift=4.0, sure=0.99, label="cat", images=20):
    """Images of one cat each, somewhere else in each, so many copies of what finds it, each moved down a little more.

    There are others elsewhere.

    Boxes of 100 that lie `shift` apart overlap by (100 - shift) / (100 + shift).
    """
    truth, pred = [], []
    for k in range(images):
        image, at = str(k), 150 * k
        truth.append((image, "cat", at, 0, at + 100, 100))
        pred.append((image, "cat", at, 0, at + 100, 100, 0.8))
        moved = [(shift * i, 0.8 * sure**i) for i in range(1, copies + 1)]
        pred += [(image, label, at, down, at + 100, 100 + down, confidence) for down, confidence in moved]
        pred += [(image, "cat", at, 500 + 150 * i, at + 100, 600 + 150 * i, 0.01 * i) for i in range(others)]
    return pair(truth, pred)


def test_a_tenth_of_the_predictions_lies_on_higher_confidence_ones_without_nms():
    assert with_copies(1, 8).count("clones") == 20  # of 200
    assert with_copies(1, 9).count("clones") == 0  # 20 of 220
    assert with_copies(5, 0, images=20).count("clones") == 100
    assert with_copies(5, 0, images=19).count("clones") == 0


def test_what_suppression_leaves_is_no_clone():
    """An overlap below 0.85, the very same box, another class, and a confidence that was more than halved."""

    def clones(*given):
        return with_copies(*given, images=1).fit.unsuppressed

    assert clones(20, 0, 8) == 20  # 92 / 108 = 0.852
    assert clones(20, 0, 8.2) == 0  # 91.8 / 108.2 = 0.848
    assert clones(20, 0, 0.06) == 20  # 99.94 / 100.06 = 0.9988
    assert clones(1, 0, 0.04) == 0  # 99.96 / 100.04 = 0.9992
    assert clones(20, 0, 4, 0.5) == 20
    assert clones(20, 0, 4, 0.49) == 0
    assert clones(1, 0, 4, 0.99, "dog") == 0


def test_predictions_without_nms_are_a_warning():
    found = [finding for finding in examine_pair(*sides(with_copies(40, 0))) if finding.code == "V311"]
    assert [finding.severity for finding in found] == ["warning"]
    assert found[0].message.startswith("800 of 820 ")
    assert not [f for f in examine_pair(*sides(with_copies(0, 40))) if f.code == "V311"]


def filling(copies):
    """An object that fills each of 25 images of unknown and very different sizes, and copies moved down by 1 % each."""
    truth, pred = [], []
    for k in range(25):
        side = 100 + 80 * (7 * k % 25)
        truth.append((str(k), "cat", 0.02 * side, 0.02 * side, 0.9 * side, 0.9 * side))
        for i in range(1 + copies):
            top = (0.03 + 0.01 * i) * side
            pred.append((str(k), "cat", 0.02 * side, top, 0.9 * side, top + 0.87 * side, 0.8 * 0.99**i))
    return pair(truth, pred)


def test_boxes_that_fill_images_of_unknown_sizes_are_no_evidence_of_missing_nms():
    assert filling(3).count("clones") == 75  # three of each image's four are as if NMS had been skipped,
    assert not [f for f in examine_pair(*sides(filling(3))) if f.code == "V311"]  # but so are those of other images


@pytest.mark.parametrize(("images", "recurs"), [(1, False), (2, True), (3, True)])
def test_a_still_scene_takes_two_images(images, recurs):
    """The same boxes in every image: those of another image say that duplicates are no evidence of missing NMS."""
    truth = [(str(k), "cat", 10, 10, 90, 90) for k in range(images)]
    pred = [(str(k), "cat", 10, 10 + i, 90, 90 + i, 0.8 * 0.99**i) for k in range(images) for i in range(4)]
    assert recur_elsewhere(pair(truth, pred)) is recurs


def sides(both):
    return both.truth, both.pred


def test_confidences_are_reversed_where_false_positives_are_more_confident_beyond_chance():
    """By hand: of 20 and 20 no pair is in order: 400 / 2 = 200 away, which is 5.4 times √(400 · 41 / 12) = 36.97."""
    assert is_reversed(20, 40, 0)  # 400 away, 63.8 a unit: 6.3
    assert not is_reversed(20, 20, 0)
    assert not is_reversed(19, 400, 0)
    assert is_reversed(20, 400, 0)
    assert is_reversed(1000, 1000, 399_000)
    assert not is_reversed(1000, 1000, 401_000)
    assert is_reversed(30, 30, 40)  # 410 away, 67.6 a unit: 6.06
    assert not is_reversed(30, 30, 50)  # 400 away: 5.9


def judged(turn):
    """Thirty cats, each found, and thirty false alarms that are less sure; `turn` says what is written."""
    truth = [(f"{i}", "cat", 0, 0, 50, 50) for i in range(30)]
    pred = [(f"{i}", "cat", 0, 0, 50, 50, turn(0.9 - i / 100)) for i in range(30)]
    pred += [(f"{i}", "cat", 200, 200, 250, 250, turn(0.4 - i / 100)) for i in range(30)]
    return pair(truth, pred)


def test_distances_written_as_confidences_are_a_warning():
    assert judged(lambda sure: sure).fit.u_statistic == 900  # every right one before every wrong one
    assert judged(lambda sure: 0.5).fit.u_statistic == 450
    found = [f for f in examine_pair(*sides(judged(lambda sure: 1 - sure))) if f.code == "V312"]
    assert [f.severity for f in found] == ["warning"]
    assert "AUC 0.00 (30 true and 30 false positives" in found[0].message
    assert not [f for f in examine_pair(*sides(judged(lambda sure: sure))) if f.code == "V312"]


@pytest.mark.parametrize("flag", ["crowd", "ignore"])
def test_predictions_inside_ignored_regions_are_no_false_positives(flag):
    """The thirty more confident ones lie in a region that is ignored; 0.48 of them inside is not enough."""
    reversed_ones = judged(lambda sure: 1 - sure)
    for left, is_told in ((190, False), (226, True)):
        boxes = [[0, 0, 50, 50]] * 30 + [[left, 190, left + 300, 300]] * 30
        images, flags = [f"{i}" for i in range(30)] * 2, {flag: np.repeat([False, True], 30)}
        ignoring = vt.Annotations.of(images, ["cat"] * 60, boxes, labels=["cat", "dog"], **flags)
        codes = {finding.code for finding in examine_pair(ignoring, reversed_ones.pred.like(ignoring))}
        assert ("V312" in codes) == is_told


def test_duplicates_of_low_confidence_are_no_true_positives_of_low_confidence():
    """Thirty cats, each found at 0.9 and again three times at 0.1, and thirty false positives at 0.5."""
    truth = [(f"{i}", "cat", 0, 0, 50, 50) for i in range(30)]
    pred = [(f"{i}", "cat", 0, 0, 50, 50, 0.9) for i in range(30)]
    pred += [(f"{i}", "cat", 0, 5 * j, 50, 50 + 5 * j, 0.1) for i in range(30) for j in range(1, 4)]
    pred += [(f"{i}", "cat", 200, 200, 250, 250, 0.5) for i in range(30)]
    both = pair(truth, pred)
    assert (both.fit.true_positives, both.fit.false_positives, both.fit.u_statistic) == (30, 30, 900)
    assert not [f for f in examine_pair(*sides(both)) if f.code == "V312"]


def unlooked(missing, count, per_image=4, found=2):
    """Images with four cats, two of which are found, but for the first images, of which nothing is."""
    truth = [(f"{i}", "cat", 60 * j, 0, 60 * j + 50, 50) for i in range(count) for j in range(per_image)]
    pred = [
        (f"{i}", "cat", 60 * j, 0, 60 * j + 50, 50, 0.5 + j / 10) for i in range(missing, count) for j in range(found)
    ]
    return pair(truth, pred)


def test_images_that_nobody_looked_at_do_not_lower_what_is_expected_of_others():
    """Of 60 images 30 are without: where two of four are found, 2 / (1 - e^-m) = 2 has m = 1.59, 60 e^-1.59 = 12.2."""
    fit = unlooked(30, 60).fit
    assert fit.expected == pytest.approx(60 * np.exp(-1.5936), rel=1e-4)
    assert fit.unpredicted[0] == 30
    assert not unlooked(30, 60).count("many_unpredicted")  # 30 of 12 are 9 nats
    assert unlooked(60, 120).count("many_unpredicted") == 60  # 60 of 24 are 18


def test_hard_images_are_without_predictions_together():
    """Twice as many as by chance are none of chance's: 0.203 of the images would be without, so from 0.406 on."""
    assert unlooked(416, 1000).count("many_unpredicted") == 416
    assert unlooked(396, 1000).count("many_unpredicted") == 0


def test_a_few_predicted_images_say_little_about_the_others():
    """Six predictions, two in each of three images: 16 e^(-6/16) = 11.0 images of 16 would be without by chance."""
    few = unlooked(13, 16)
    assert few.expected_unpredicted == pytest.approx(16 * np.exp(-6 / 16))
    assert not few.count("many_unpredicted")
    many = unlooked(13, 16, per_image=40, found=40)  # 120 predictions in three images: 16 e^(-7.5) = 0.009
    assert many.count("many_unpredicted") == 13


@pytest.mark.parametrize(("count", "severity"), [(4, "note"), (5, "warning")])
def test_five_predictions_of_classes_without_objects_are_a_warning(count, severity):
    truth = [(f"{i}", "cat", 0, 0, 50, 50) for i in range(10)]
    pred = [(f"{i}", "dog", 20, 20, 70, 70, 0.9 - i / 20) for i in range(count)]
    found = [f for f in examine_pair(*sides(pair(truth, pred)), notes=True) if f.code == "V203"]
    assert [f.severity for f in found] == [severity]


def test_truth_with_confidences_is_a_warning(tmp_path):
    """The same file twice has AP 1, and says so."""
    rows = [("a", "cat", 0, 0, 50, 50, 0.9)]
    found = examine_pair(*sides(pair(rows, rows)))
    assert [(f.code, f.severity, f.side) for f in found] == [("V222", "warning", "truth")]


def test_one_class_for_all_is_no_shift():
    """Predictions of one unknown class on objects of two: a shift if most are of one of them, else no classes."""

    def codes(ones):
        annotations = [
            {"id": i + 1, "image_id": 7, "category_id": 1 if i < ones else 2, "bbox": [30 * i, 0, 20, 20]}
            for i in range(40)
        ]
        names = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
        truth = vt.read({"images": [{"id": 7}], "annotations": annotations, "categories": names})
        results = [
            {"image_id": 7, "category_id": 0, "bbox": a["bbox"], "score": 1 - a["id"] / 100} for a in annotations
        ]
        return [f.code for f in examine_pair(truth, vt.read(results, like=truth)) if f.severity == "error"]

    assert codes(20) == ["V201"]
    assert codes(19) == ["V203"]


def test_classes_that_have_nothing_in_common_are_named():
    rows = [(f"{i}", "cat", 0, 0, 50, 50) for i in range(8)]
    found = examine_pair(*sides(pair(rows, [(i, "dog", *box, 0.5 + k / 100) for k, (i, _, *box) in enumerate(rows)])))
    assert [f.code for f in found] == ["V203"]
    assert found[0].message.index("'dog'") < found[0].message.index("'cat'")


def test_boxes_of_language_models_are_known():
    """Corners in thousandths, y first."""
    rng = np.random.default_rng(3)
    truth, pred = [], []
    for i in range(60):
        x, y, w, h = rng.uniform(0, 300), rng.uniform(0, 200), rng.uniform(60, 300), rng.uniform(40, 200)
        truth.append({"id": i + 1, "image_id": i, "category_id": 1, "bbox": [x, y, w, h]})
        corners = [y / 0.48, x / 0.64, (y + h) / 0.48, (x + w) / 0.64]
        pred.append({"image_id": i, "category_id": 1, "bbox": [round(v) for v in corners], "score": 1 - i / 100})
    images = [{"id": i, "width": 640, "height": 480} for i in range(60)]
    document = {"images": images, "annotations": truth, "categories": [{"id": 1, "name": "cat"}]}
    found = examine_pair(vt.read(document), vt.read(pred, like=vt.read(document)))
    assert (found[0].code, found[0].remedy) == ("V105", "add --pred-boxes yxyx --pred-coords 1000x1000")


def test_positions_in_the_list_of_images_are_named():
    images = [{"id": 1000 + 7 * i, "width": 640, "height": 480} for i in range(20)]
    annotations = [
        {"id": i + 1, "image_id": 1000 + 7 * i, "category_id": 1, "bbox": [10, 10, 50, 50]} for i in range(20)
    ]
    truth = vt.read({"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "cat"}]})
    results = [{"image_id": i, "category_id": 1, "bbox": [10, 10, 50, 50], "score": 1 - i / 100} for i in range(20)]
    found = examine_pair(truth, vt.read(results, like=truth))
    assert found[0].code == "V213"
    assert "positions from 0 in its list of images (index for id): 20 of 20 sampled objects match" in found[0].message


RESULTS = Path(__file__).parents[3] / "shared/real/coco_val2017/results"


def preds(confidence, image=None, label=None, boxes=None):
    count = len(confidence)
    boxes = [[10 + i, 10, 60 + i, 60] for i in range(count)] if boxes is None else boxes
    return vt.Annotations.of(
        image or [f"{i}.jpg" for i in range(count)], label or ["cat"] * count, boxes, confidence=confidence
    )


def codes(*sides):
    return {f.code: f for f in vt.inspect(*sides).findings}


def test_the_hundred_and_first_prediction_of_a_class_in_an_image_counts_for_nothing():
    full = preds(np.linspace(0, 1, 101), ["a.jpg"] * 101)
    assert codes(full)["V307"].count == 1
    assert codes(full)["V307"].examples == ("a.jpg: 101 of cat",)
    assert "V307" not in codes(preds(np.linspace(0, 1, 100), ["a.jpg"] * 100))
    assert "V307" not in codes(preds(np.linspace(0, 1, 200), ["a.jpg"] * 200, ["cat", "dog"] * 100))


def test_a_lowest_confidence_above_a_twentieth_is_a_threshold():
    # A default threshold of 0.05 leaves a lowest confidence just above it: 0.05004 and 0.0519 in two real files.
    assert "V308" not in codes(preds(np.linspace(0.0519, 0.9, 20)))
    assert "V308" not in codes(preds(np.linspace(0.055, 0.9, 20)))
    assert codes(preds(np.linspace(0.0551, 0.9, 20)))["V308"].severity == "note"
    assert "V308" not in codes(preds(np.linspace(0.0551, 0.9, 19)))
    assert "V308" not in codes(preds(np.linspace(5, 90, 30)))  # percents
    assert "V308" not in codes(preds(np.full(30, 0.7)))  # nothing was ordered


def test_confidences_that_end_in_an_edge_were_cut_at_a_threshold():
    def severity(*confidences):
        return getattr(codes(preds(np.concatenate(confidences))).get("V308"), "severity", None)

    # Windows of a fifth of 0.3: ten predictions from 0.3 to 0.36, as many to 0.42, and others.
    others = np.linspace(0.5, 0.9, 20)
    assert severity(np.linspace(0.3, 0.359, 10), np.linspace(0.361, 0.419, 10), others) == "warning"
    assert severity(np.linspace(0.3, 0.359, 9), np.linspace(0.361, 0.419, 10), others) == "note"  # too few
    assert severity(np.linspace(0.3, 0.359, 10), np.linspace(0.361, 0.419, 20), others) == "warning"
    assert severity(np.linspace(0.3, 0.359, 10), np.linspace(0.361, 0.419, 21), others) == "note"  # thins out
    # The default threshold of 0.05 of many tools is no cut; from 0.1 on it is.
    assert severity(np.linspace(0.0999, 0.11, 20), others) == "note"
    assert severity(np.linspace(0.1, 0.11, 20), others) == "warning"


def test_a_cut_is_named_with_its_lowest_confidence_wherever_ap_is_printed():
    pred = preds(np.linspace(0.3, 0.99, 200))
    truth = vt.Annotations.of([f"{i}.jpg" for i in range(200)], ["cat"] * 200, pred.regions.boxes)
    for results in (vt.coco(truth, pred), vt.voc(truth, pred)):
        found = {finding.code: finding for finding in results.findings}["V308"]
        assert "0.3" in found.message
        assert "0.001 to 0.05" in found.fix
    assert not vt.coco(truth, preds(np.linspace(0.01, 0.99, 200))).findings


@pytest.mark.skipif(not RESULTS.is_dir(), reason=f"no real detectors in {RESULTS}")
@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.json.gz")), ids=lambda file: file.name.split(".")[0])
def test_the_files_of_real_detectors_were_cut_at_three_tenths(file):
    found = [f for f in examine(vt.read(file), is_truth=False) if f.code == "V308"]
    assert [f.severity for f in found] == ["warning"]
    assert " 0.3" in found[0].message


def tied(values):
    """Two objects; two predictions find them, two are elsewhere."""
    boxes = [[10, 10, 60, 60], [10, 10, 60, 60], [200, 10, 260, 60], [200, 10, 260, 60]]
    truth = vt.Annotations.of(["a", "b"], ["cat", "cat"], boxes[:2])
    return truth, preds(values, ["a", "b", "a", "b"], boxes=boxes)


def test_ties_come_with_the_interval_of_ap():
    # The right ones first: precision 1 throughout. The wrong ones first: two of four are right when all are found.
    found = codes(*tied([0.5] * 4))["V305"]
    assert (found.severity, found.count) == ("warning", 4)
    assert "AP50 lies between 0.5000 and 1.0000" in found.message
    assert found.examples == ("4 of class cat have 0.5",)


def test_ties_of_some_predictions_come_with_two_orders():
    # Found, then two of equal confidence: found first, precision is 1; elsewhere first, 2/3 from the second object on.
    found = codes(*tied([0.9, 0.5, 0.5, 0.1]))["V305"]
    low = (51 + 50 * 2 / 3) / 101
    assert f"AP50 is {low:.4f} with false positives first among ties and 1.0000 with true positives" in found.message


def test_duplicates_of_equal_confidence_cannot_come_before_the_match():
    # Two equal boxes on one object and one elsewhere: the one elsewhere first gives 1/2, not the 1/3 of both first.
    truth = vt.Annotations.of(["a"], ["cat"], [[10, 10, 60, 60]])
    boxes = [[10, 10, 60, 60], [10, 10, 60, 60], [200, 10, 260, 60]]
    found = codes(truth, preds([1, 1, 1], ["a"] * 3, boxes=boxes))["V305"]
    assert "AP50 lies between 0.5000 and 1.0000" in found.message


def test_ties_among_right_ones_change_nothing():
    assert "V305" not in codes(*tied([0.5, 0.5, 0.4, 0.3]))


def test_ties_are_found_beside_an_image_that_the_ground_truth_lacks():
    truth, _ = tied([0.5] * 4)
    boxes = [[10, 10, 60, 60]] * 2 + [[200, 10, 260, 60]] * 2 + [[10, 10, 60, 60]]
    found = codes(truth, preds([0.5] * 5, ["a", "b", "a", "b", "elsewhere"], boxes=boxes))
    assert "AP50 lies between 0.5000 and 1.0000" in found["V305"].message
    assert found["V213"].severity == "error"


def test_a_check_whose_evaluation_is_refused_does_not_end_the_others(monkeypatch):
    def refuse(*sides, **settings):
        raise vt.DataError("truth: refused")

    monkeypatch.setattr(ties, "tie_range", refuse)
    found = codes(*tied([0.5] * 4))
    assert (found["V305"].severity, found["V305"].message) == ("note", "not checked: truth: refused")


def test_more_than_a_tenth_must_be_tied():
    count = 20
    boxes = [[10, 10, 60, 60]] * 10 + [[200, 10, 260, 60]] * 10
    names = [f"{i}.jpg" for i in range(10)]
    truth = vt.Annotations.of(names, ["cat"] * 10, boxes[:10])
    confidence = np.linspace(0.9, 0.1, count)
    confidence[9] = confidence[10]
    assert ties.count_ties(preds(confidence))[0] == 2
    assert "V305" not in codes(truth, preds(confidence, names * 2, boxes=boxes))  # two of twenty are a tenth
    confidence[8] = confidence[10]
    assert "V305" in codes(truth, preds(confidence, names * 2, boxes=boxes))


@pytest.mark.parametrize(("apart", "is_said"), [(0.499, True), (0.5, True), (0.501, False)])
def test_the_order_must_change_something(monkeypatch, apart, is_said):
    monkeypatch.setattr(ties, "APART", apart)
    assert ("V305" in codes(*tied([0.5] * 4))) == is_said


def test_a_cut_is_printed_with_every_ap():
    boxes = [[10 + i, 10, 60 + i, 60] for i in range(200)]
    truth = vt.Annotations.of([f"{i}.jpg" for i in range(200)], ["cat"] * 200, boxes)
    cut, whole = preds(np.linspace(0.3, 0.99, 200)), preds(np.linspace(0.01, 0.99, 200))
    printed = {
        "coco": vt.coco(truth, cut),
        "voc": vt.voc(truth, cut),
        "openimages": vt.openimages(truth, cut),
        "imagenet-det": vt.imagenet_det(truth, cut),
        "analyse": vt.analyse(truth, cut),
        "compare": vt.coco(truth, {"cut": cut, "whole": whole}),
        "leaderboard": vt.leaderboard(truth, {"cut": cut, "whole": whole}, draws=20),
    }
    lines = {key: [line for line in str(one).splitlines() if "V308" in line] for key, one in printed.items()}
    assert {key: len(said) for key, said in lines.items()} == dict.fromkeys(printed, 1)
    assert all(" 0.3," in said[0] for said in lines.values())
    for several in ("compare", "leaderboard"):
        assert "V308 cut:" in lines[several][0]
    assert "V308" not in str(vt.coco(truth, whole))


def test_a_threshold_shows_where_confidences_are_probabilities():
    def is_told(low, high, count=20):
        confidence = np.linspace(low, high, count)
        given = side([str(i) for i in range(count)], confidence=confidence)
        return bool(list(cuts.find_threshold(Side(given, is_truth=False))))

    assert is_told(0.3, 1.0)
    assert not is_told(0.3, 1.5)
    assert not is_told(1.2, 1.5)
    assert not is_told(0.5, 0.5)
    assert not is_told(0.3, 1.0, count=19)
    assert not is_told(0.05, 1.0)


def test_predictions_are_counted_by_class_and_image():
    names, labels = ["a"] * 60 + ["b"] * 60, ["dog"] * 60 + ["cat"] * 60
    given = side(names, labels, np.tile([0.0, 0, 9, 9], (120, 1)), confidence=np.linspace(0, 1, 120))
    assert list(cuts.find_too_many(Side(given, is_truth=False))) == []
    more = side(names * 2, labels * 2, np.tile([0.0, 0, 9, 9], (240, 1)), confidence=np.linspace(0, 1, 240))
    (found,) = cuts.find_too_many(Side(more, is_truth=False))
    assert (found.count, found.examples) == (40, ("b: 120 of cat", "a: 120 of dog"))
