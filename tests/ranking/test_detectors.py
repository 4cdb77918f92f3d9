"""Detectors on one truth: objects found or not, and what a wrong object means."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import verite as vt
from verite.errors import BadParameter, DataError, NotComparable

DEMO = Path(str(files("verite") / "data" / "demo"))


def boxes(*places):
    return [[x, 0, x + 9, 9] for x in places]


@pytest.fixture
def truth():
    """Five cats in a row, the last one difficult, and a dog."""
    return vt.Annotations.of(
        ["a"] * 6, ["cat"] * 5 + ["dog"], boxes(0, 20, 40, 60, 80, 100), difficult=[False] * 4 + [True, False]
    )


def predictions(places, confidence, label="cat"):
    return vt.Annotations.of(["a"] * len(places), [label] * len(places), boxes(*places), confidence=confidence)


def test_an_object_is_found_by_a_sure_prediction_of_its_class_that_overlaps(truth):
    one = predictions([0, 20, 43, 80], [0.9, 0.4, 0.9, 0.9])
    two = predictions([100, 61], [0.9, 0.5])
    table = vt.DetectionTable.of(truth, {"one": one, "two": two}, confidence=0.5, iou=0.5)
    # cats at 0, 20, 40, 60 and the dog; the difficult cat is not asked for. At 43 the overlap is 70/130 = 0.54.
    assert table.answers[0].tolist() == [1, 0, 1, 0, 0]
    assert table.answers[1].tolist() == [0, 0, 0, 1, 0]
    strict = vt.DetectionTable.of(truth, {"one": one, "two": two}, confidence=0.5, iou=0.6)
    assert strict.answers[0].tolist() == [1, 0, 0, 0, 0]
    sure = vt.DetectionTable.of(truth, {"one": one, "two": two}, confidence=0.2, iou=0.5)
    assert sure.answers[0].tolist() == [1, 1, 1, 0, 0]


def test_detections_are_ranked_like_a_table_of_ones(truth):
    preds = {"one": predictions([0, 20, 40], [0.9] * 3), "two": predictions([0, 60], [0.9] * 2)}
    found = vt.rank(vt.DetectionTable.of(truth, preds), vt.annotation_errors.Bernoulli(0.1))
    table = vt.rank(
        vt.AnswerTable.of([1] * 5, {"one": [1, 1, 1, 0, 0], "two": [1, 0, 0, 1, 0]}),
        vt.annotation_errors.Bernoulli(0.1),
    )
    assert found.scores == {"one": 0.6, "two": 0.4}
    assert found.pairs[0].kept == table.pairs[0].kept
    assert found.kind == "found"
    assert "confidence:0.50|iou:0.50|wrong:reverses" in str(found.signature)
    assert "detecting it was wrong" in found.assumption


def test_an_object_that_vanishes_counts_for_nobody():
    """Recall: each of the objects that only one finds is real with probability 0.9."""
    truth = vt.Annotations.of(["a"] * 100, ["cat"] * 100, boxes(*range(0, 2000, 20)))
    ahead, behind = range(0, 1200, 20), range(1200, 2000, 20)
    preds = {"one": predictions(ahead, [0.9] * 60), "two": predictions(behind, [0.9] * 40)}
    pair = vt.rank(vt.DetectionTable.of(truth, preds, wrong="vanishes"), vt.annotation_errors.Bernoulli(0.1)).pairs[0]
    many = np.arange(61)
    one, two = binom(60, 0.9), binom(40, 0.9)
    kept = float((one.pmf(many) * two.cdf(many - 1)).sum())
    tie = float((one.pmf(many) * two.pmf(many)).sum())
    assert pair.kept == pytest.approx(kept, rel=1e-10)
    assert pair.tie == pytest.approx(tie, rel=1e-10)
    assert pair.counts == (60, 40, 0)
    # An object that vanishes takes one point from the leader, not two.
    assert (pair.errors_to_tie, pair.errors_to_reverse) == (20, 21)


def test_results_on_one_truth_can_be_ranked(truth):
    preds = {"one": predictions([0, 20, 40], [0.9] * 3), "two": predictions([0, 60], [0.9, 0.4])}
    results = {name: vt.voc(truth, pred) for name, pred in preds.items()}
    by_results = vt.rank(results, vt.annotation_errors.Bernoulli(0.1))
    assert (
        by_results.pairs[0].kept
        == vt.rank(vt.DetectionTable.of(truth, preds), vt.annotation_errors.Bernoulli(0.1)).pairs[0].kept
    )
    assert by_results.scores == {"one": 0.6, "two": 0.2}
    listed = vt.rank(
        [vt.voc(truth, pred, name=name) for name, pred in preds.items()], vt.annotation_errors.Bernoulli(0.1)
    )
    assert listed.order == ("one", "two")


def test_one_of_several_thresholds_may_be_asked_for(truth):
    # At 43 and 63 the overlap with the cats at 40 and 60 is 70/130 = 0.54.
    preds = {"one": predictions([0, 20, 40], [0.9] * 3), "two": predictions([0, 43, 63], [0.9] * 3)}
    results = {name: vt.voc(truth, pred, iou=[0.5, 0.75]) for name, pred in preds.items()}
    assert vt.rank(vt.DetectionTable.of(results, iou=0.5), vt.annotation_errors.Bernoulli(0.1)).scores == {
        "one": 0.6,
        "two": 0.6,
    }
    assert vt.rank(vt.DetectionTable.of(results, iou=0.75), vt.annotation_errors.Bernoulli(0.1)).scores == {
        "one": 0.6,
        "two": 0.2,
    }


def test_localization_results_can_be_ranked(truth):
    preds = {"one": predictions([0, 20, 40, 80], [0.9] * 4), "two": predictions([0, 60], [0.9, 0.4])}
    results = {name: vt.localize(truth, pred, "iou", confidence=0.3) for name, pred in preds.items()}
    assert vt.rank(vt.DetectionTable.of(results, confidence=0.4), vt.annotation_errors.Bernoulli(0.1)).scores == {
        "one": 0.6,
        "two": 0.4,
    }
    assert vt.rank(vt.DetectionTable.of(results, confidence=0.5), vt.annotation_errors.Bernoulli(0.1)).scores == {
        "one": 0.6,
        "two": 0.2,
    }
    with pytest.raises(
        BadParameter, match=r"confidence: expected at least 0\.3, below which no prediction was matched"
    ):
        vt.rank(vt.DetectionTable.of(results, confidence=0.2), vt.annotation_errors.Bernoulli(0.1))


def test_coco_results_can_be_ranked_at_any_of_their_thresholds():
    """The recall at a threshold that the evaluation reports is the share of objects found, class by class."""
    truth = vt.read(DEMO / "truth.json")
    preds = {name: vt.read(DEMO / f"{name}.json", like=truth) for name in ("hawk", "magpie", "mole")}
    results = {name: vt.coco(truth, pred) for name, pred in preds.items()}
    for threshold, iou in ((0, 0.5), (5, 0.75)):
        found = vt.rank(vt.DetectionTable.of(results, iou=iou, confidence=0.0), vt.annotation_errors.Bernoulli(0.05))
        for name, result in results.items():
            recall = result.evaluation.arrays.recall[threshold, :, 0, -1]
            positives = np.array(result.evaluation.counts[0])
            expected = float((np.nan_to_num(recall) * positives).sum() / positives.sum())
            assert found.scores[name] == pytest.approx(expected, rel=1e-12)
    with pytest.raises(BadParameter, match=r"iou: expected one of 0\.5, 0\.55, .* found none"):
        vt.rank(results, vt.annotation_errors.Bernoulli(0.05))


def test_leaving_out_low_confidences_before_or_after_matching_is_the_same():
    truth = vt.read(DEMO / "truth.json")
    magpie = vt.read(DEMO / "magpie.json", like=truth)
    sure = magpie.where(magpie.confidence >= 0.6)
    hawk = vt.read(DEMO / "hawk.json", like=truth)
    after = vt.DetectionTable.of(truth, {"m": magpie, "h": hawk}, confidence=0.6, iou=0.5)
    before = vt.DetectionTable.of(truth, {"m": sure, "h": hawk}, confidence=0.0, iou=0.5)
    assert np.array_equal(after.answers[0], before.answers[0])


def test_recall_equals_that_of_the_evaluation():
    truth = vt.read(DEMO / "truth.json")
    hawk, mole = (vt.read(DEMO / f"{name}.json", like=truth) for name in ("hawk", "mole"))
    found = vt.rank(
        vt.DetectionTable.of(truth, {"hawk": hawk, "mole": mole}, confidence=0.0), vt.annotation_errors.Bernoulli(0.05)
    )
    for name, pred in (("hawk", hawk), ("mole", mole)):
        curves = vt.voc(truth, pred).curves[0].values()
        assert found.scores[name] == pytest.approx(sum(c.tp for c in curves) / sum(c.truths for c in curves))


def test_paths_are_read_and_named_by_their_files():
    found = vt.rank(
        vt.DetectionTable.of(DEMO / "truth.json", [DEMO / "hawk.json", DEMO / "mole.json"]),
        vt.annotation_errors.Bernoulli(0.05),
    )
    assert set(found.order) == {"hawk", "mole"}


def test_errors_may_be_shared_by_class_or_image():
    truth = vt.read(DEMO / "truth.json")
    preds = {name: vt.read(DEMO / f"{name}.json", like=truth) for name in ("hawk", "mole")}
    alone = vt.rank(vt.DetectionTable.of(truth, preds), vt.annotation_errors.Bernoulli(0.1)).pairs[0]
    for groups in ("label", "image"):
        together = vt.rank(vt.DetectionTable.of(truth, preds), vt.annotation_errors.Shared(0.1, 0.5, groups)).pairs[0]
        assert together.reversed > alone.reversed


def test_results_that_do_not_compare_are_refused(truth):
    one, two = predictions([0], [0.9]), predictions([20], [0.9])
    with pytest.raises(NotComparable, match="different iou"):
        vt.rank([vt.voc(truth, one, iou=0.5), vt.voc(truth, two, iou=0.7)], vt.annotation_errors.Bernoulli(0.1))
    other = vt.Annotations.of(["a"], ["cat"], boxes(0))
    with pytest.raises(NotComparable, match="expected the same truth"):
        vt.rank([vt.voc(truth, one), vt.voc(other, two)], vt.annotation_errors.Bernoulli(0.1))


def test_wrong_settings_are_refused(truth):
    one = vt.voc(truth, predictions([0], [0.9]), iou=[0.5, 0.7])
    with pytest.raises(BadParameter, match=r"iou: expected one of 0\.5, 0\.7, at which .* found none"):
        vt.DetectionTable.of([one, one], confidence=0.5)
    with pytest.raises(BadParameter, match=r"iou: expected 0\.5, 0\.7, at which .* found 0\.6"):
        vt.rank(vt.DetectionTable.of([one, one], iou=0.6), vt.annotation_errors.Bernoulli(0.1))
    with pytest.raises(BadParameter, match="confidence: expected a number from 0 to 1, found 3"):
        vt.rank(
            vt.DetectionTable.of(truth, {"a": predictions([0], [0.9]), "b": predictions([0], [0.9])}, confidence=3),
            vt.annotation_errors.Bernoulli(0.1),
        )
    with pytest.raises(DataError, match="algorithms: expected at least two to compare, found 1"):
        vt.rank(vt.DetectionTable.of(truth, {"a": predictions([0], [0.9])}), vt.annotation_errors.Bernoulli(0.1))
    nothing = vt.Annotations.of(["a"], ["cat"], boxes(0), difficult=[True])
    pred = predictions([0], [0.9])
    with pytest.raises(DataError, match="expected objects that count, found none"):
        vt.rank(
            vt.DetectionTable.of(nothing, {"a": pred, "b": pred}, checks="off"), vt.annotation_errors.Bernoulli(0.1)
        )


def make_images(found):
    """Detectors that find these numbers of the four objects of each image, and their ground truth."""
    boxes = [[20.0 * i, 0, 20.0 * i + 10, 10] for i in range(4)]
    count = len(next(iter(found.values())))
    names = [f"{i:03d}" for i in range(count)]
    every = {"images": names, "labels": ["cat"]}
    truth = vt.Annotations.of(np.repeat(names, 4).tolist(), ["cat"] * 4 * count, boxes * count, **every)
    preds = {}
    for name, numbers in found.items():
        images = np.repeat(names, numbers).tolist()
        own = [box for number in numbers for box in boxes[:number]]
        preds[name] = vt.Annotations.of(images, ["cat"] * len(own), own, confidence=[0.9] * len(own), **every)
    return truth, preds


def test_the_choice_of_images_is_not_covered_and_tested_beside_it():
    """Differences per image of 4, 4, 4 and 0 objects: of the eight sign patterns two are as extreme, p = 0.25."""
    truth, preds = make_images({"a": [4, 4, 4, 2], "b": [0, 0, 0, 2]})
    found = vt.rank(vt.DetectionTable.of(truth, preds, checks="off"), vt.annotation_errors.Bernoulli(0.05))
    assert found.pairs[0].kept > 0.999
    document = json.loads(found.to_json())
    assert document["pairs"][0]["p_paired"] == pytest.approx(0.25)
    assert document["units"] == "images"
    assert "Not covered: the choice of images. Paired test over images: a and b p = 0.25." in found.to_text()


def test_the_test_of_precision_over_images_is_the_t_test_of_ratio_residuals():
    """Precision of a and b by image; residuals (hits − ratio · predictions) / all predictions, computed by hand."""
    from scipy import stats

    truth, preds = make_images({"a": [4, 3, 2, 4, 1], "b": [2, 3, 1, 1, 2]})
    for name, more in (("a", [1, 0, 2, 0, 1]), ("b", [0, 2, 1, 3, 0])):
        wrong = [i for i, number in enumerate(more) for _ in range(number)]
        boxes = [[100.0 + 20 * k, 50, 110.0 + 20 * k, 60] for k in range(len(wrong))]
        own = preds[name]
        images = [own.images.name(int(i)) for i in own.image] + [f"{i:03d}" for i in wrong]
        every = {"images": [f"{i:03d}" for i in range(5)], "labels": ["cat"]}
        corners = [[x, y, x + w, y + h] for x, y, w, h in own.regions.sizes.tolist()]
        preds[name] = vt.Annotations.of(
            images, ["cat"] * len(images), corners + boxes, confidence=[0.9] * len(images), **every
        )
    table = vt.DetectionTable.of(truth, preds, by="precision", checks="off")
    hits, counts = np.array([[4, 3, 2, 4, 1], [2, 3, 1, 1, 2]]), np.array([[5, 3, 4, 4, 2], [2, 5, 2, 4, 2]])
    ratio = hits.sum(axis=1) / counts.sum(axis=1)
    residuals = (hits - ratio[:, None] * counts) / counts.sum(axis=1, keepdims=True)
    spread = np.sqrt(((residuals[0] - residuals[1]) ** 2).sum() * 5 / 4)
    expected = 2 * stats.t.sf(abs(ratio[0] - ratio[1]) / spread, 4)
    assert table.paired_p(0, 1) == pytest.approx(expected, rel=1e-9)
    found = vt.rank(table, vt.annotation_errors.Bernoulli(0.05))
    assert "objects missing from the ground truth are not in the model" in found.caveat
    assert "0.5 or more" not in found.to_text()


def test_the_paired_test_of_a_table_of_answers_is_mcnemars():
    truth = [1] * 14
    answers = {"a": [1] * 10 + [0] * 4, "b": [0] * 10 + [1] * 4}
    table = vt.AnswerTable.of(truth, answers)
    assert table.paired_p(0, 1) == pytest.approx(0.179565, abs=1e-6)  # binomial: 2 P(X ≤ 4), X of 14 at one half
