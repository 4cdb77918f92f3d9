"""Every rule on scenes small enough to be worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import verite as vt
from tests.scene.scenes import refused, scene, scored
from verite.errors import BadParameter, ReadError
from verite.model.annotations import Source
from verite.scene.score import SceneScoreSettings, ScoreRules, confidence_weight, recognition_score

A, B, C = (0, 0, 10, 10), (20, 0, 30, 10), (40, 0, 50, 10)
MOVED = (5, 0, 15, 10)  # shares half of A: overlap 50 / 150 = 1/3, localization 1/2


def test_the_same_scene_scores_0():
    assert scored(scene([A, B]), scene([A, B])).score == 0


def test_localization_is_the_smaller_share_outside():
    # |u| = 100, |v| = 200, shared 80: min(20/100, 120/200) = 0.2
    truth, pred = scene([(0, 0, 10, 10)]), scene([(2, 0, 22, 10)])
    assert scored(truth, pred, iou=0.1).score == pytest.approx(0.8 * 0.2)


def test_containment_costs_nothing_by_the_paper_and_something_by_the_overlap():
    truth, pred = scene([(0, 0, 10, 10)]), scene([(0, 0, 10, 20)])
    assert scored(truth, pred).score == 0
    assert scored(truth, pred, localization="iou").score == pytest.approx(0.8 * 0.5)


def test_one_found_object_may_match_two_truths():
    # 10 × 20 over two of 10 × 10: overlaps 1/2, both contained, no compensation.
    truth, pred = scene([(0, 0, 10, 10), (0, 10, 10, 20)]), scene([(0, 0, 10, 20)])
    found = scored(truth, pred)
    assert found.score == 0
    assert found.scored.matched.tolist() == [2]


def test_one_to_one_leaves_the_second_truth_alone():
    truth, pred = scene([(0, 0, 10, 10), (0, 10, 10, 20)]), scene([(0, 0, 10, 20)])
    assert scored(truth, pred, matching="one-to-one").score == pytest.approx((0 + 1) / 2)


def test_one_to_one_maximises_the_sum_and_not_each_overlap():
    # The first pred overlaps the first truth most (2/3) but the second truth has nobody else.
    overlap = [[0.6, 0.5], [0.5, 0.0]]
    trace = vt.Trace.of(overlap, np.zeros((2, 2)), np.zeros((2, 2)), matching="one-to-one")
    assert trace.correspondence.tolist() == [[0, 1], [1, 0]]


def test_one_to_one_needs_no_threshold_but_an_overlap():
    far = (9, 0, 19, 10)  # shares 10 of 190 with A
    assert scored(scene([A]), scene([far]), matching="one-to-one").score == pytest.approx(0.8 * 0.9)
    assert scored(scene([A]), scene([far]), matching="one-to-one", iou=0.1).score == 1
    assert scored(scene([A]), scene([B]), matching="one-to-one").score == 1


def test_the_threshold_itself_is_enough():
    # 20 × 10 against 40 × 10, contained: overlap exactly 0.5.
    truth, pred = scene([(0, 0, 20, 10)]), scene([(0, 0, 40, 10)])
    assert scored(truth, pred, iou=0.5).score == 0
    assert scored(truth, pred, iou=0.5000001).score == 1


def test_objects_that_share_nothing_do_not_match_even_at_threshold_0():
    assert scored(scene([A]), scene([B]), iou=0).score == 1


def test_more_truths_left_than_preds():
    # One match with 0; truths B, C and pred D alone: max(2, 1) = 2 compensations.
    found = scored(scene([A, B, C]), scene([A, (60, 0, 70, 10)]))
    assert found.score == pytest.approx((0 + 2) / 3)
    trace = found.trace("a")
    assert trace.compensation_pairs == [(1, 1), (2, None)]
    assert trace.compensation.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_more_preds_left_than_truths():
    found = scored(scene([A, B]), scene([A, C, (60, 0, 70, 10), (80, 0, 90, 10)]))
    assert found.score == pytest.approx((0 + 3) / 4)
    trace = found.trace("a")
    assert trace.compensation_pairs == [(1, 1), (None, 2), (None, 3)]
    assert trace.compensation.tolist() == np.eye(4).tolist()  # two rows are added


def test_as_many_left_on_both_sides_cost_once():
    assert scored(scene([A, B]), scene([A, C])).score == pytest.approx(1 / 2)


def test_only_truths_left():
    assert scored(scene([A, B]), scene([A])).score == pytest.approx(1 / 2)


def test_only_preds_left():
    assert scored(scene([A]), scene([A, B, C])).score == pytest.approx(2 / 3)


def test_empty_sides():
    assert scored(scene([]), scene([])).score == 0
    assert scored(scene([A]), scene([])).score == 1
    assert scored(scene([]), scene([A])).score == 1


@pytest.mark.parametrize(("confidence", "factor"), [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0), (None, 1.0)])
def test_a_wrong_class_counts_by_its_confidence(confidence, factor):
    given = None if confidence is None else [confidence]
    found = scored(scene([A], ["cat"]), scene([A], ["dog"], given))
    assert found.score == pytest.approx(0.2 * factor)


@pytest.mark.parametrize("confidence", [0.0, 0.5, 1.0])
def test_the_confidence_of_a_right_class_has_no_effect(confidence):
    assert scored(scene([A], ["cat"]), scene([A], ["cat"], [confidence])).score == 0


def test_confidences_may_be_left_out_of_account():
    found = scored(scene([A], ["cat"]), scene([A], ["dog"], [0.0]), certain=True)
    assert found.score == pytest.approx(0.2)


def test_alpha_0_looks_at_classes_alone_and_alpha_1_at_places_alone():
    truth, pred = scene([A], ["cat"]), scene([MOVED], ["dog"])
    assert scored(truth, pred, alpha=0).score == 1
    assert scored(truth, pred, alpha=1).score == pytest.approx(0.5)
    assert scored(truth, pred).score == pytest.approx(0.8 * 0.5 + 0.2 * 1)


def test_weak_predictions_can_be_left_out():
    pred = scene([A, B], ["cat", "cat"], [0.9, 0.2])
    assert scored(scene([A]), pred).score == pytest.approx(1 / 2)
    assert scored(scene([A]), pred, confidence=0.5).score == 0
    assert scored(scene([A]), pred, confidence=0.2).score == pytest.approx(1 / 2)


def test_two_results_are_cut_on_both_sides():
    one, two = scene([A, B], ["cat", "cat"], [0.9, 0.2]), scene([A, C], ["cat", "cat"], [0.8, 0.1])
    assert scored(one, two).score == pytest.approx(1 / 2)
    assert scored(one, two, confidence=0.5).score == scored(two, one, confidence=0.5).score == 0


def test_class_distances_soften_a_wrong_class():
    near = vt.ClassDistances.of(["cat", "dog", "car"], [[0, 0.25, 1], [0.25, 0, 1], [1, 1, 0]])
    truth = scene([A], ["cat"])
    assert scored(truth, scene([A], ["dog"]), distance=near).score == pytest.approx(0.2 * 0.25)
    assert scored(truth, scene([A], ["car"]), distance=near).score == pytest.approx(0.2)
    assert scored(truth, scene([A], ["dog"], [0.5]), distance=near).score == pytest.approx(0.2 * 0.25 * 0.75)


def test_asymmetric_distances_go_from_truth_to_pred():
    matrix = {"cat": {"dog": 0.1, "car": 1}, "dog": {"cat": 0.9, "car": 1}, "car": {"cat": 1, "dog": 1}}
    distances = vt.class_distances(matrix, symmetric=False)
    assert scored(scene([A], ["cat"]), scene([A], ["dog"]), distance=distances).score == pytest.approx(0.2 * 0.1)
    assert scored(scene([A], ["dog"]), scene([A], ["cat"]), distance=distances).score == pytest.approx(0.2 * 0.9)


def test_ignored_truths_neither_reward_nor_punish():
    truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [A, B], difficult=[False, True])
    assert scored(truth, scene([A])).score == 0  # not missed
    assert scored(truth, scene([A, B])).score == 0  # not spurious
    assert scored(truth, scene([A, C])).score == pytest.approx(1 / 2)
    assert scored(truth, scene([A]), ignored="count").score == pytest.approx(1 / 2)


def test_a_data_set_is_the_mean_over_its_images():
    truth = vt.Annotations.of(["a", "b"], ["cat", "cat"], [A, A], images=["a", "b", "c"])
    pred = vt.Annotations.of(["a"], ["dog"], [A], images=["a"])
    found = scored(truth, pred)
    assert found.image_scores.tolist() == pytest.approx([0.2, 1.0, 0.0])
    assert found.score == pytest.approx(0.4)
    assert [found.image_names[i] for i in found.worst_first] == ["b", "a", "c"]
    assert found.quantiles() == pytest.approx(
        {"best": 0, "lower quarter": 0.1, "median": 0.2, "upper quarter": 0.6, "worst": 1}
    )


def test_images_that_only_the_predictions_know_count_too():
    truth = vt.Annotations.of(["a"], ["cat"], [A])
    pred = vt.Annotations.of(["a", "b"], ["cat", "cat"], [A, A])
    assert scored(truth, pred).image_scores.tolist() == [0, 1]


def test_classes_tell_what_became_of_their_objects():
    truth = scene([A, B, C], ["cat", "cat", "dog"])
    pred = scene([A, (60, 0, 70, 10), C], ["cat", "car", "cat"])
    columns = scored(truth, pred).class_columns()
    rows = {name: {k: v[i] for k, v in columns.items()} for i, name in enumerate(["cat", "dog", "car"])}
    assert rows["cat"]["score"] == pytest.approx((0 + 1) / 2)
    assert rows["dog"]["score"] == pytest.approx(0.2)
    assert (rows["cat"]["missed"], rows["dog"]["confused"], rows["car"]["spurious"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"matching": "one to one"}, "did you mean 'one-to-one'"),
        ({"iou": 1.5}, "iou: expected a number from 0 to 1, found 1.5"),
        ({"alpha": -0.1}, "alpha: expected a number from 0 to 1"),
        ({"localization": "hausdorff"}, "expected a metric from 0 to 1"),
        ({"localization": "giou"}, "giou from -1 to 1"),
        ({"distance": [[0]]}, "ClassDistances.of"),
    ],
)
def test_wrong_settings_are_named(how, said):
    with pytest.raises(BadParameter, match=said):
        scored(scene([A]), scene([A]), **how)


def test_matrices_of_different_shapes_are_refused():
    with pytest.raises(BadParameter, match=r"recognition: expected a matrix \(1, 1\)"):
        vt.Trace.of([[1.0]], [[0.0]], [[0.0, 0.0]])


def test_more_matches_than_ground_truth_are_explained():
    # One truth and two halves of it: each overlaps it by half.
    truth = vt.Annotations.of(["a"], ["x"], [[0, 0, 10, 10]], sizes={"a": (20, 20)})
    halves = vt.Annotations.of(["a", "a"], ["x", "x"], [[0, 0, 10, 5], [0, 5, 10, 10]], sizes={"a": (20, 20)})
    found = vt.scene_score(truth, halves, checks="off")
    assert "2 matches of 1 ground-truth object: with" in str(found)
    assert "an object may have several" in str(found)
    assert "matches of" not in str(vt.scene_score(truth, halves, matching="one-to-one", checks="off"))


def test_the_number_of_matches_is_that_of_all_ground_truth():
    # Two truths, the first found by both its halves.
    truth, pred = scene([A, C]), scene([(0, 0, 10, 5), (0, 5, 10, 10), C])
    assert "3 matches of 2 ground-truth objects: with" in str(scored(truth, pred))


def test_recognition_falls_with_the_confidence_of_a_correct_class():
    # distance · (1 - confidence) / 2 where it is right, distance · (1 + confidence) / 2 where it is wrong
    found = recognition_score(np.array([0.4, 0.4]), np.array([True, False]), np.array([0.5, 0.5]))
    assert found == pytest.approx([0.4 * 0.25, 0.4 * 0.75])


def test_boxes_that_share_a_column_of_whole_pixels_overlap():
    # Columns 0 to 4 and 4 to 8 of 5 rows: 5 pixels of 45.
    truth, pred = scene([(0, 0, 4, 4)]), scene([(4, 0, 8, 4)])
    assert scored(truth, pred, iou=0.1, pixel="plus1").score == pytest.approx(0.8 * 20 / 25)
    assert scored(truth, pred, iou=0.1).score == 1


def test_the_trace_leaves_out_preds_on_ignored_truths():
    # The second pred lies on the ignored truth and touches the other by 10 of 190.
    far = (9, 0, 19, 10)
    truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [A, far], difficult=[False, True])
    trace = scored(truth, scene([A, far])).trace("a")
    assert trace.overlap.tolist() == [[1]]


def test_rules_of_a_score_lie_between_0_and_1():
    assert ScoreRules("multiple", 1.0, 1.0).iou_threshold == 1
    assert ScoreRules("one-to-one", 0.0, 0.0).iou_threshold == 0
    for wrong in (-0.1, 1.5):
        with pytest.raises(BadParameter, match=f"iou: expected a number from 0 to 1, found {wrong}"):
            ScoreRules("multiple", wrong)
        with pytest.raises(BadParameter, match=f"alpha: expected a number from 0 to 1, found {wrong}"):
            ScoreRules(alpha=wrong)


def test_objects_without_an_intersection_never_match():
    overlaps = np.array([0.0, 1e-9, 0.2, 0.5])
    assert ScoreRules("one-to-one").may_match(overlaps).tolist() == [False, True, True, True]
    assert ScoreRules("multiple").may_match(overlaps).tolist() == [False, False, True, True]
    assert ScoreRules("multiple", 0.0).may_match(overlaps).tolist() == [False, True, True, True]
    assert ScoreRules("multiple", 0.5).may_match(overlaps).tolist() == [False, False, False, True]


def test_settings_are_numbers_from_0_to_1():
    for good in (0, 1):
        ScoreRules(threshold=good, alpha=good)
        SceneScoreSettings(alpha=good, iou=good)
    for odd in (-0.1, 1.1):
        assert f"iou: expected a number from 0 to 1, found {odd}" in refused(ScoreRules, threshold=odd)
        assert f"alpha: expected a number from 0 to 1, found {odd}" in refused(ScoreRules, alpha=odd)
        assert "alpha" in refused(SceneScoreSettings, alpha=odd)
        assert "iou" in refused(SceneScoreSettings, iou=odd)


def test_recognition_is_weighted_by_confidence():
    right = np.array([True, False])
    assert confidence_weight(right, np.array([0.6, 0.6])) == pytest.approx([0.2, 0.8])
    assert recognition_score(np.array([0.5, 0.5]), right).tolist() == [0.0, 0.5]  # confidence 1 by default


def test_predictions_on_ignored_objects_count_only_where_they_match():
    boxes = [[0, 0, 10, 10], [50, 50, 60, 60]]
    truth = vt.Annotations.of(["a", "a"], ["cat"] * 2, boxes, sizes={"a": (100, 100)})
    truth = replace(truth, flags={"crowd": np.array([False, True])})
    pred = vt.Annotations.of(["a"] * 3, ["cat"] * 3, [*boxes, [80, 80, 90, 90]], confidence=[0.9, 0.8, 0.7])
    found = vt.scene_score(truth, pred, checks="off")
    counts = {name: values.tolist() for name, values in found.image_counts().items()}
    # One truth, found; the prediction in the crowd is excused; the third one is spurious.
    assert counts == {"truths": [1], "preds": [2], "matched": [1], "missed": [0], "spurious": [1]}
    assert found.on_ignored.tolist() == [False, True, False]


def test_confidences_beyond_1_are_named_by_their_file():
    truth = vt.Annotations.of(["a"] * 2, ["cat"] * 2, [[0, 0, 9, 9], [20, 20, 29, 29]])
    pred = replace(truth, confidence=np.array([1.0, 1.5]))
    said = "expected confidences from 0 to 1, found 1.5 in image 'a', one of 1; divide them"
    assert refused(vt.scene_score, truth, pred, checks="off").startswith(f"predictions: {said}")
    named = pred.with_source(Source("dt.json", "coco", ""))
    assert refused(vt.scene_score, truth, named, checks="off").startswith(f"dt.json: {said}")
    assert vt.scene_score(truth, replace(truth, confidence=np.array([1.0, 0.0])), checks="off").score >= 0


def test_a_similarity_becomes_a_distance():
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 4, 4]])
    pred = vt.Annotations.of(["a"], ["cat"], [[1, 0, 5, 4]])  # 12 of 20 pixels are shared
    found = vt.scene_score(truth, pred, localization="iou", checks="off")
    assert found.scored.matches.localization == pytest.approx([0.4])
    assert found.score == pytest.approx(0.8 * 0.4)
    assert vt.scene_score(truth, truth, localization="iou", checks="off").score == 0


def test_predictions_without_a_confidence_have_confidence_1():
    truth = vt.Annotations.of(["a"] * 2, ["cat"] * 2, [[0, 0, 9, 9], [20, 20, 29, 29]])
    unscored = {"unscored": np.array([True, False])}
    pred = replace(truth, confidence=np.array([np.nan, 0.25]), flags=unscored)
    found = vt.scene_score(truth, pred, checks="off")
    assert found.confidence.tolist() == [1.0, 0.25]
    assert found.score == 0


def test_pixels_of_weight_3_count_as_three_where_a_match_is_placed(tmp_path):
    """Columns 0 and 1 are missed, 4 and 5 spurious, 2 and 3 shared: martin is 1/2, and 3/4 if the former weigh 3."""
    image = pytest.importorskip("PIL.Image")
    sizes = {"b": (8, 8), "a": (8, 8)}
    truth = vt.Annotations.of(["b", "a"], ["cat", "cat"], [[0, 0, 2, 2], [0, 0, 4, 4]], images=["b", "a"], sizes=sizes)
    pred = vt.Annotations.of(["a"], ["cat"], [[2, 0, 6, 4]], images=["b", "a"], sizes=sizes)
    weights = np.ones((8, 8), dtype=np.float32)
    weights[:, [0, 1, 4, 5]] = 3
    for name in sizes:
        image.fromarray(weights).save(tmp_path / f"{name}.tiff")

    def score(**more):
        return vt.scene_score(truth, pred, checks="off", **more).image_scores.tolist()

    assert score() == [1, pytest.approx(0.8 * 1 / 2)]
    assert score(importance=tmp_path) == [1, pytest.approx(0.8 * 3 / 4)]
    # IoU: 24 of 56 pixels by weight, 8 of 24 without.
    assert score(importance=tmp_path, localization="iou") == [1, pytest.approx(0.8 * (1 - 8 / 56))]
    with pytest.raises(BadParameter, match="expected metrics of areas"):
        score(importance=tmp_path, localization="boundary_iou")


def test_keypoints_weigh_the_pixels_that_are_nearest_to_them(tmp_path):
    """Nose at 1, hand at 3.5: columns 0 and 1 weigh 3. Missed 12 of 32, spurious 4 of 24: martin is 1/6, not 1/4."""
    crowd = {"id": 7, "image_id": 1, "category_id": 1, "bbox": [40, 40, 4, 4], "area": 16, "iscrowd": 1}
    person = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 4, 4], "area": 16, "iscrowd": 0}
    person |= {"keypoints": [1, 2, 2, 3.5, 2, 2], "num_keypoints": 2}
    images = [{"id": 1, "file_name": "a.png", "width": 64, "height": 64}]
    classes = [{"id": 1, "name": "person", "keypoints": ["nose", "hand"]}]
    truth = vt.read({"images": images, "categories": classes, "annotations": [crowd, person]})
    pred = vt.read([{"image_id": 1, "category_id": 1, "bbox": [1, 0, 4, 4], "score": 1.0}], like=truth)
    (tmp_path / "weights.csv").write_text("keypoint,weight\nnose,3\n")
    assert vt.scene_score(truth, pred, checks="off").score == pytest.approx(0.8 / 4)
    weighted = vt.scene_score(truth, pred, importance=tmp_path / "weights.csv", checks="off")
    assert weighted.score == pytest.approx(0.8 / 6)


def test_an_object_of_weight_3_counts_as_three(tmp_path):
    truth = vt.Annotations.of(["a", "a"], ["person", "bird"], [A, B])
    pred = vt.Annotations.of(["a"], ["person"], [A], confidence=[1.0])

    def weighted(importance):
        return vt.scene_score(truth, pred, importance=importance, checks="off").score

    assert weighted(None) == pytest.approx(1 / 2)  # one found exactly, one missed
    assert weighted([3, 1]) == pytest.approx(1 / 4)
    assert weighted([1, 3]) == pytest.approx(3 / 4)
    assert weighted([1, 0]) == 0
    path = tmp_path / "weights.csv"
    path.write_text("class,weight\nperson,3\n")
    assert weighted(path) == pytest.approx(1 / 4)
    path.write_text("image,class,weight\na,,2\n,bird,6\n")  # empty cells agree with all; the later row replaces
    assert weighted(path) == pytest.approx(6 / 8)
    assert "importance" in str(vt.scene_score(truth, pred, importance=path, checks="off").signature)
    for text, expected in (
        ("class,weight\ncat,3\n", "an object of the ground truth"),
        ("class,weight\nperson,heavy\n", "a weight from 0 up"),
        ("class,weight\nperson,-1\n", "a weight from 0 up"),
        ("class,weight\nperson\n", "2 cells"),
        ("person,3\n", "the column weight"),
        ("", "the column weight"),
        ("id,weight\n1,3\n", "no ids of annotations"),
    ):
        path.write_text(text)
        with pytest.raises(ReadError, match=expected):
            weighted(path)
    with pytest.raises(BadParameter, match="expected 2 weights"):
        weighted([1, 2, 3])
    with pytest.raises(BadParameter, match="from 0 up"):
        weighted([1, -2])
