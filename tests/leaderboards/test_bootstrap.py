"""Bootstrap over images: the same resamples for all detectors."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from verite.leaderboards.bootstrap import bootstrap_scores, paired_interval, resample_images

NAMES = [f"image {i}" for i in range(12)]
TRUTH = vt.Annotations.of(NAMES * 2, ["cat"] * 12 + ["dog"] * 12, [[0, 0, 9, 9]] * 12 + [[20, 20, 39, 39]] * 12)


def predictions(found):
    """Predictions of the first `found` objects, and a false positive in every third image."""
    rows = np.arange(found)
    names = [NAMES[i % 12] for i in rows] + NAMES[::3]
    labels = ["cat" if i < 12 else "dog" for i in rows] + ["cat"] * 4
    boxes = TRUTH.regions.boxes[:found].tolist() + [[50, 50, 59, 59]] * 4
    return vt.Annotations.of(names, labels, boxes, confidence=np.linspace(0.9, 0.1, found + 4), labels=["cat", "dog"])


def test_a_detector_does_not_differ_from_itself():
    results = vt.coco(TRUTH, predictions(8))
    assert paired_interval(results, results, "AP", None, 0.95) == (0.0, 0.0)


def test_the_interval_contains_the_difference_and_widens_with_the_level():
    base, new = vt.coco(TRUTH, predictions(6)), vt.coco(TRUTH, predictions(20))
    difference = new["AP"].value - base["AP"].value
    low, high = paired_interval(base, new, "AP", None, 0.95)
    assert 0 < low < difference < high
    inner = paired_interval(base, new, "AP", None, 0.5)
    assert low < inner[0] < inner[1] < high


def test_intervals_of_a_single_class():
    base, new = vt.coco(TRUTH, predictions(12)), vt.coco(TRUTH, predictions(20))
    assert paired_interval(base, new, "AP", "cat", 0.9)[1] < 0.2
    assert paired_interval(base, new, "AP", "dog", 0.9)[0] > 0.2


def test_a_resample_is_the_evaluation_of_copied_images():
    pred = predictions(20)
    results = vt.coco(TRUTH, pred)
    weights = np.array([2, 0, 1, 3, 1, 0, 1, 1, 0, 2, 1, 0])

    def copied(side):
        rows = [
            (int(i), f"{NAMES[int(side.image[i])]} copy {k}")
            for i in range(len(side))
            for k in range(weights[side.image[i]])
        ]
        at = [i for i, _ in rows]
        more = {} if side.confidence is None else {"confidence": side.confidence[at]}
        return vt.Annotations.of([n for _, n in rows], [side.labels.name(int(side.label[i])) for i in at],
                                 side.regions.boxes[at], labels=["cat", "dog"], **more)  # fmt: skip

    # Only copies of one image have equal confidences, so their order changes nothing.
    expected = vt.coco(copied(TRUTH), copied(pred), checks="off")
    parts = [results.mean_query("AP"), results.mean_query("AP50", "dog")]
    drawn = results.evaluation.bootstrap_means(parts, weights[None])[0]
    assert drawn == pytest.approx([expected["AP"].value, expected.class_scores()["AP50"][1]], abs=1e-15)


def test_every_resample_has_as_many_images_as_there_are():
    weights = resample_images(TRUTH.images, 50)
    assert (weights.sum(axis=1) == 12).all()
    assert 0.55 < (weights > 0).mean() < 0.72  # 1 - (11/12)^12 = .648 of the images are there at all


def test_a_resample_depends_on_seed_and_number_only():
    weights = resample_images(TRUTH.images, 20, seed=3)
    assert (resample_images(TRUTH.images, 5, seed=3) == weights[:5]).all()
    assert (resample_images(TRUTH.images, 5, seed=3, first=15) == weights[15:]).all()
    assert (resample_images(TRUTH.images, 20, seed=4) != weights).any()


def test_the_order_of_images_in_the_file_changes_nothing():
    turned = vt.Images(NAMES[::-1])
    assert (resample_images(turned, 9)[:, ::-1] == resample_images(TRUTH.images, 9)).all()


def test_groups_of_images_are_resampled_as_wholes():
    weights = resample_images(TRUTH.images, 60, groups=np.repeat(list("abcdef"), 2)).reshape(60, 6, 2)
    assert (weights == weights[:, :, :1]).all()
    assert (weights[:, :, 0].sum(axis=1) == 6).all()
    with pytest.raises(vt.DataError, match="expected a group for each of 12 images, found 2"):
        resample_images(TRUTH.images, 1, groups=["a", "b"])
    with pytest.raises(vt.BadParameter, match="expected at least 5 groups of images, found 4"):
        resample_images(TRUTH.images, 1, groups=np.repeat(list("abcd"), 3))


def test_all_detectors_are_scored_on_the_same_resamples():
    results = [vt.voc(TRUTH, predictions(8)), vt.voc(TRUTH, predictions(20)), vt.voc(TRUTH, predictions(8))]
    drawn = bootstrap_scores(results, ["mAP"], draws=300)
    assert drawn.shape == (300, 3, 1)
    assert (drawn[:, 0] == drawn[:, 2]).all()
    assert drawn[:, 1].std() > 0


def test_results_on_other_images_are_refused():
    other = vt.Annotations.of(["somewhere"], ["cat"], [[0, 0, 9, 9]], labels=["cat", "dog"])
    results = [vt.voc(TRUTH, predictions(8)), vt.voc(other, predictions(0).take([]), checks="off")]
    with pytest.raises(vt.NotComparable, match="expected the same images, found 12 and 1"):
        bootstrap_scores(results, ["mAP"])


@pytest.mark.parametrize("sure", [0.0, 1.0, 95.0, -1.0])
def test_the_level_is_a_probability(sure):
    results = vt.coco(TRUTH, predictions(8))
    with pytest.raises(vt.BadParameter, match="sure: expected a probability"):
        paired_interval(results, results, "AP", None, sure)
