"""Predictions before suppression, confidences upside down, images nobody looked at, a truth that is none."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.checks.boundary import boundary
from verite.checks import examine_pair
from verite.checks.sample import Pair, is_reversed


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
    """Images of one cat each, so many copies of what finds it, each moved down a little more, and others elsewhere.

    Boxes of 100 that lie `shift` apart overlap by (100 - shift) / (100 + shift).
    """
    truth, pred = [], []
    for image in map(str, range(images)):
        truth.append((image, "cat", 0, 0, 100, 100))
        pred.append((image, "cat", 0, 0, 100, 100, 0.8))
        moved = [(shift * i, 0.8 * sure**i) for i in range(1, copies + 1)]
        pred += [(image, label, 0, down, 100, 100 + down, confidence) for down, confidence in moved]
        pred += [(image, "cat", 500 + 150 * i, 0, 600 + 150 * i, 100, 0.01 * i) for i in range(others)]
    return pair(truth, pred)


@boundary("sides.CLONES", "sides.FEWEST_IMAGES")
def test_half_of_the_predictions_lie_on_surer_ones_before_suppression():
    assert with_copies(5, 4).count("clones") == 100  # of 200
    assert with_copies(5, 5).count("clones") == 0  # 100 of 220
    assert with_copies(5, 0, images=20).count("clones") == 100
    assert with_copies(5, 0, images=19).count("clones") == 0


@boundary("FitRules.clone", "FitRules.same", "FitRules.as_sure")
def test_what_suppression_leaves_is_no_clone():
    """An overlap below 0.85, the very same box, another class, and a confidence that was more than halved."""

    def clones(*given):
        return with_copies(*given, images=1).fit["clones"]

    assert clones(20, 0, 8) == 20  # 92 / 108 = 0.852
    assert clones(20, 0, 8.2) == 0  # 91.8 / 108.2 = 0.848
    assert clones(20, 0, 0.06) == 20  # 99.94 / 100.06 = 0.9988
    assert clones(1, 0, 0.04) == 0  # 99.96 / 100.04 = 0.9992
    assert clones(20, 0, 4, 0.5) == 20
    assert clones(20, 0, 4, 0.49) == 0
    assert clones(1, 0, 4, 0.99, "dog") == 0


def test_predictions_before_suppression_are_a_warning():
    found = [finding for finding in examine_pair(*sides(with_copies(40, 0))) if finding.code == "V311"]
    assert [finding.severity for finding in found] == ["warning"]
    assert found[0].message.startswith("800 of 820 ")
    assert not [f for f in examine_pair(*sides(with_copies(0, 40))) if f.code == "V311"]


def sides(both):
    return both.truth, both.pred


@boundary("sides.FEWEST_JUDGED", "sides.REVERSED", "sides.SIGMAS")
def test_confidences_are_reversed_where_wrong_ones_are_surer_beyond_chance():
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
    assert judged(lambda sure: sure).fit["surer"] == 900  # every right one before every wrong one
    assert judged(lambda sure: 0.5).fit["surer"] == 450
    found = [f for f in examine_pair(*sides(judged(lambda sure: 1 - sure))) if f.code == "V312"]
    assert [f.severity for f in found] == ["warning"]
    assert "AUC 0.00 (30 true and 30 false positives" in found[0].message
    assert not [f for f in examine_pair(*sides(judged(lambda sure: sure))) if f.code == "V312"]


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
    assert fit["expected"] == pytest.approx(60 * np.exp(-1.5936), rel=1e-4)
    assert fit["unpredicted"][0] == 30
    assert not unlooked(30, 60).count("many_unpredicted")  # 30 of 12 are 9 nats
    assert unlooked(60, 120).count("many_unpredicted") == 60  # 60 of 24 are 18


@boundary("sides.TWICE")
def test_hard_images_are_without_predictions_together():
    """Twice as many as by chance are none of chance's: 0.203 of the images would be without, so from 0.406 on."""
    assert unlooked(416, 1000).count("many_unpredicted") == 416
    assert unlooked(396, 1000).count("many_unpredicted") == 0


def test_truth_with_confidences_is_a_warning(tmp_path):
    """The same file twice has AP 1, and says so."""
    rows = [("a", "cat", 0, 0, 50, 50, 0.9)]
    found = examine_pair(*sides(pair(rows, rows)))
    assert [(f.code, f.severity, f.side) for f in found] == [("V222", "warning", "truth")]


@boundary("classes.HALF")
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


@boundary("hypotheses.THOUSAND")
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
    assert "with ids up to 19 like positions in its list of 20 images" in found[0].message
