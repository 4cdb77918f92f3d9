"""Where equal is enough and who is left out: small points of the interpretation score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import verite as vt
from verite.errors import BadParameter, DataError, ReadError
from verite.model.annotations import Source
from verite.model.images import Images
from verite.scene.class_distances import TOLERANCE, ClassDistances
from verite.scene.descriptors import learn_distances, pictures_of
from verite.scene.score import (
    InterpretSettings,
    ScoreRules,
    indicator,
    local_score,
    match_one_to_one,
    outer_boxes,
    reach,
    recognition_score,
)
from verite.scene.taxonomy import Taxonomy


def refused(ask, *args, **given):
    with pytest.raises((ReadError, BadParameter, DataError)) as error:
        ask(*args, **given)
    return str(error.value)


def test_objects_that_share_nothing_never_match():
    overlaps = np.array([0.0, 1e-9, 0.2, 0.5])
    assert ScoreRules("one-to-one").may_match(overlaps).tolist() == [False, True, True, True]
    assert ScoreRules("multiple").may_match(overlaps).tolist() == [False, False, True, True]
    assert ScoreRules("multiple", 0.0).may_match(overlaps).tolist() == [False, True, True, True]
    assert ScoreRules("multiple", 0.5).may_match(overlaps).tolist() == [False, False, False, True]


def test_settings_are_numbers_from_0_to_1():
    for good in (0, 1):
        ScoreRules(threshold=good, alpha=good)
        InterpretSettings(alpha=good, iou=good)
    for odd in (-0.1, 1.1):
        assert f"iou: expected a number from 0 to 1, found {odd}" in refused(ScoreRules, threshold=odd)
        assert f"alpha: expected a number from 0 to 1, found {odd}" in refused(ScoreRules, alpha=odd)
        assert "alpha" in refused(InterpretSettings, alpha=odd)
        assert "iou" in refused(InterpretSettings, iou=odd)


def test_recognition_is_weighed_by_how_sure_it_was():
    right = np.array([True, False])
    assert indicator(right, np.array([0.6, 0.6])) == pytest.approx([0.2, 0.8])
    assert recognition_score(np.array([0.5, 0.5]), right).tolist() == [0.0, 0.5]  # certain, if nobody says otherwise
    assert local_score(np.array([0.5]), np.array([0.25]), 0.8) == pytest.approx([0.8 * 0.5 + 0.2 * 0.25])


def test_of_equal_overlaps_the_preferred_are_matched():
    truth, pred = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    for preference, chosen in (([0, 1, 1, 0], [1, 2]), ([1, 0, 0, 1], [0, 3])):
        found = match_one_to_one(truth, pred, np.full(4, 0.5), np.array(preference, float), 2, 2)
        assert np.flatnonzero(found).tolist() == chosen


@pytest.mark.parametrize("several", [False, True])
def test_steps_lead_through_what_classes_have_in_common(several):
    parents = {"cat": "pet", "dog": "pet", "pet": "animal", "cow": "animal", "car": None if several else "thing"}
    parents |= {} if several else {"thing": "all", "animal": "all"}
    names, steps = Taxonomy(parents).path_lengths()
    found = {(a, b): steps[i, j] for i, a in enumerate(names) for j, b in enumerate(names)}
    assert (found["cat", "cat"], found["cat", "dog"], found["cat", "cow"]) == (0, 2, 3)
    # cat, pet, animal, what joins all, (thing,) car.
    assert found["cat", "car"] == (4 if several else 5)


def test_distances_are_symmetric_within_rounding_and_at_most_1():
    def matrix(there, back, **more):
        return ClassDistances.of(("a", "b"), np.array([[0.0, there], [back, 0.0]]), **more)

    assert matrix(0.0, TOLERANCE).square[1, 0] == TOLERANCE
    assert "expected a symmetric matrix" in refused(matrix, 0.0, 2 * TOLERANCE)
    assert matrix(1.0, 1.0).square[0, 1] == 1
    assert "expected distances from 0 to 1, found 1.1 for 'a' and 'b'" in refused(matrix, 1.1, 1.1)
    assert "expected no negative distance, found -0.1" in refused(matrix, -0.1, -0.1)
    assert "expected a number for every two classes" in refused(matrix, np.nan, np.nan)


def masked(box, ring):
    """An object whose polygon goes beyond its box."""
    given = vt.Annotations.of(["a"], ["cat"], [box], sizes={"a": (100, 100)})
    return replace(given, regions=vt.Regions([box], "xyxy", polygons=vt.Polygons.of([[ring]])))


def test_boxes_reach_around_all_that_is_compared():
    inner, outer = [40, 40, 50, 50], [10, 20, 80, 20, 80, 90, 10, 90]
    # The polygon's own corners, and a pixel more on each side.
    assert reach(masked(inner, outer)).tolist() == [[9, 19, 81, 91]]
    assert reach(masked([0, 0, 100, 100], outer)).tolist() == [[0, 0, 100, 100]]
    assert reach(masked([40, 0, 50, 100], outer)).tolist() == [[9, 0, 81, 100]]
    assert outer_boxes(masked(inner, outer)).regions.boxes.tolist() == [[9, 19, 81, 91]]
    runs = vt.RLEMasks.of([([2 * 100 + 30, 10, 60, 4000, 5700], (100, 100))])
    given = vt.Annotations.of(["a"], ["cat"], [inner], sizes={"a": (100, 100)})
    framed = replace(given, regions=vt.Regions([inner], "xyxy", runs=runs))
    assert reach(framed).tolist() == [[2, 0, 50, 100]]  # columns 2 to 42 and all rows


def test_polygons_without_a_size_are_named_by_their_file():
    ring = [10, 20, 80, 20, 80, 90]
    unsized = replace(masked([10, 20, 80, 90], ring), images=vt.Annotations.of(["a"], ["cat"], [[0, 0, 1, 1]]).images)
    pred = replace(unsized, confidence=np.array([0.5]))
    said = refused(vt.scene_score, unsized, pred, checks="off")
    assert said.startswith("truth: expected the size of every image to compare polygons, found none for 'a'")
    named = unsized.with_source(Source("gt.json", "coco", ""))
    assert refused(vt.scene_score, named, pred, checks="off").startswith("gt.json: expected the size of every image")


def test_a_folder_without_pictures_is_told_which_there_may_be(tmp_path):
    said = refused(pictures_of, [tmp_path])
    assert "expected pictures (.jpg, .jpeg, .png, …), found none" in said


def test_excused_predictions_are_counted_only_where_they_match():
    boxes = [[0, 0, 10, 10], [50, 50, 60, 60]]
    truth = vt.Annotations.of(["a", "a"], ["cat"] * 2, boxes, sizes={"a": (100, 100)})
    truth = replace(truth, flags={"crowd": np.array([False, True])})
    pred = vt.Annotations.of(["a"] * 3, ["cat"] * 3, [*boxes, [80, 80, 90, 90]], confidence=[0.9, 0.8, 0.7])
    found = vt.scene_score(truth, pred, checks="off")
    counts = {name: values.tolist() for name, values in found.image_counts().items()}
    # One truth, found; the prediction in the crowd is excused; the third one is spurious.
    assert counts == {"truths": [1], "preds": [2], "matched": [1], "missed": [0], "spurious": [1]}
    assert found.excused.tolist() == [False, True, False]


def test_images_are_found_by_name_or_by_number():
    images = Images(["7", "x"], [10, 11])
    boxes = [[0, 0, 9, 9], [0, 0, 9, 9]]
    plain = vt.Annotations.of(["7", "x"], ["cat"] * 2, boxes)
    found = vt.scene_score(replace(plain, images=images), replace(plain, images=images), checks="off")
    assert [found.position(word) for word in ("7", "x", "10", "11")] == [0, 1, 0, 1]  # a name goes before a number
    assert "image: expected one of 2 images, found '12'" in refused(found.position, "12")


def test_confidences_beyond_1_are_named_by_their_file():
    truth = vt.Annotations.of(["a"] * 2, ["cat"] * 2, [[0, 0, 9, 9], [20, 20, 29, 29]])
    pred = replace(truth, confidence=np.array([1.0, 1.5]))
    said = "expected confidences from 0 to 1, found 1.5 in image 'a', one of 1; divide them"
    assert refused(vt.scene_score, truth, pred, checks="off").startswith(f"predictions: {said}")
    named = pred.with_source(Source("dt.json", "coco", ""))
    assert refused(vt.scene_score, truth, named, checks="off").startswith(f"dt.json: {said}")
    assert vt.scene_score(truth, replace(truth, confidence=np.array([1.0, 0.0])), checks="off").score >= 0


def test_the_ratio_of_nearest_points_is_above_0_and_up_to_1():
    assert "pictures: expected at least two classes, found 0" in refused(learn_distances, {}, ratio=1)
    for odd in (0, 1.01):
        assert f"ratio: expected a number above 0 and up to 1, found {odd}" in refused(learn_distances, {}, ratio=odd)


def test_a_similarity_is_turned_round_into_a_distance():
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 4, 4]])
    pred = vt.Annotations.of(["a"], ["cat"], [[1, 0, 5, 4]])  # 12 of 20 pixels are shared
    found = vt.scene_score(truth, pred, localization="iou", checks="off")
    assert found.judged.matches.localization == pytest.approx([0.4])
    assert found.score == pytest.approx(0.8 * 0.4)
    assert vt.scene_score(truth, truth, localization="iou", checks="off").score == 0


def test_who_gives_no_confidence_is_certain():
    truth = vt.Annotations.of(["a"] * 2, ["cat"] * 2, [[0, 0, 9, 9], [20, 20, 29, 29]])
    unscored = {"unscored": np.array([True, False])}
    pred = replace(truth, confidence=np.array([np.nan, 0.25]), flags=unscored)
    found = vt.scene_score(truth, pred, checks="off")
    assert found.certainty.tolist() == [1.0, 0.25]
    assert found.score == 0
