"""Every rule on scenes small enough to be worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.scene.scenes import judged, scene
from verite.errors import BadParameter
from verite.scene.score import ScoreRules, recognition_score

A, B, C = (0, 0, 10, 10), (20, 0, 30, 10), (40, 0, 50, 10)
MOVED = (5, 0, 15, 10)  # shares half of A: overlap 50 / 150 = 1/3, localization 1/2


def test_the_same_scene_scores_0():
    assert judged(scene([A, B]), scene([A, B])).score == 0


def test_localization_is_the_smaller_share_outside():
    # |u| = 100, |v| = 200, shared 80: min(20/100, 120/200) = 0.2
    truth, pred = scene([(0, 0, 10, 10)]), scene([(2, 0, 22, 10)])
    assert judged(truth, pred, iou=0.1).score == pytest.approx(0.8 * 0.2)


def test_containment_costs_nothing_by_the_paper_and_something_by_the_overlap():
    truth, pred = scene([(0, 0, 10, 10)]), scene([(0, 0, 10, 20)])
    assert judged(truth, pred).score == 0
    assert judged(truth, pred, localization="iou").score == pytest.approx(0.8 * 0.5)


def test_one_found_object_may_match_two_truths():
    # 10 × 20 over two of 10 × 10: overlaps 1/2, both contained, no compensation.
    truth, pred = scene([(0, 0, 10, 10), (0, 10, 10, 20)]), scene([(0, 0, 10, 20)])
    found = judged(truth, pred)
    assert found.score == 0
    assert found.judged.matched.tolist() == [2]


def test_one_to_one_leaves_the_second_truth_alone():
    truth, pred = scene([(0, 0, 10, 10), (0, 10, 10, 20)]), scene([(0, 0, 10, 20)])
    assert judged(truth, pred, matching="one-to-one").score == pytest.approx((0 + 1) / 2)


def test_one_to_one_maximises_the_sum_and_not_each_overlap():
    # The first pred overlaps the first truth most (2/3) but the second truth has nobody else.
    overlap = [[0.6, 0.5], [0.5, 0.0]]
    trace = vt.Trace.of(overlap, np.zeros((2, 2)), np.zeros((2, 2)), matching="one-to-one")
    assert trace.correspondence.tolist() == [[0, 1], [1, 0]]


def test_one_to_one_needs_no_threshold_but_an_overlap():
    far = (9, 0, 19, 10)  # shares 10 of 190 with A
    assert judged(scene([A]), scene([far]), matching="one-to-one").score == pytest.approx(0.8 * 0.9)
    assert judged(scene([A]), scene([far]), matching="one-to-one", iou=0.1).score == 1
    assert judged(scene([A]), scene([B]), matching="one-to-one").score == 1


def test_the_threshold_itself_is_enough():
    # 20 × 10 against 40 × 10, contained: overlap exactly 0.5.
    truth, pred = scene([(0, 0, 20, 10)]), scene([(0, 0, 40, 10)])
    assert judged(truth, pred, iou=0.5).score == 0
    assert judged(truth, pred, iou=0.5000001).score == 1


def test_objects_that_share_nothing_do_not_match_even_at_threshold_0():
    assert judged(scene([A]), scene([B]), iou=0).score == 1


def test_more_truths_left_than_preds():
    # One match with 0; truths B, C and pred D alone: max(2, 1) = 2 compensations.
    found = judged(scene([A, B, C]), scene([A, (60, 0, 70, 10)]))
    assert found.score == pytest.approx((0 + 2) / 3)
    trace = found.trace("a")
    assert trace.couples == [(1, 1), (2, None)]
    assert trace.compensation.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_more_preds_left_than_truths():
    found = judged(scene([A, B]), scene([A, C, (60, 0, 70, 10), (80, 0, 90, 10)]))
    assert found.score == pytest.approx((0 + 3) / 4)
    trace = found.trace("a")
    assert trace.couples == [(1, 1), (None, 2), (None, 3)]
    assert trace.compensation.tolist() == np.eye(4).tolist()  # two rows are added


def test_as_many_left_on_both_sides_cost_once():
    assert judged(scene([A, B]), scene([A, C])).score == pytest.approx(1 / 2)


def test_only_truths_left():
    assert judged(scene([A, B]), scene([A])).score == pytest.approx(1 / 2)


def test_only_preds_left():
    assert judged(scene([A]), scene([A, B, C])).score == pytest.approx(2 / 3)


def test_empty_sides():
    assert judged(scene([]), scene([])).score == 0
    assert judged(scene([A]), scene([])).score == 1
    assert judged(scene([]), scene([A])).score == 1


@pytest.mark.parametrize(("confidence", "factor"), [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0), (None, 1.0)])
def test_a_wrong_class_counts_by_its_confidence(confidence, factor):
    given = None if confidence is None else [confidence]
    found = judged(scene([A], ["cat"]), scene([A], ["dog"], given))
    assert found.score == pytest.approx(0.2 * factor)


@pytest.mark.parametrize("confidence", [0.0, 0.5, 1.0])
def test_the_confidence_of_a_right_class_has_no_effect(confidence):
    assert judged(scene([A], ["cat"]), scene([A], ["cat"], [confidence])).score == 0


def test_confidences_may_be_left_out_of_account():
    found = judged(scene([A], ["cat"]), scene([A], ["dog"], [0.0]), certain=True)
    assert found.score == pytest.approx(0.2)


def test_alpha_0_looks_at_classes_alone_and_alpha_1_at_places_alone():
    truth, pred = scene([A], ["cat"]), scene([MOVED], ["dog"])
    assert judged(truth, pred, alpha=0).score == 1
    assert judged(truth, pred, alpha=1).score == pytest.approx(0.5)
    assert judged(truth, pred).score == pytest.approx(0.8 * 0.5 + 0.2 * 1)


def test_weak_predictions_can_be_left_out():
    pred = scene([A, B], ["cat", "cat"], [0.9, 0.2])
    assert judged(scene([A]), pred).score == pytest.approx(1 / 2)
    assert judged(scene([A]), pred, confidence=0.5).score == 0
    assert judged(scene([A]), pred, confidence=0.2).score == pytest.approx(1 / 2)


def test_two_results_are_cut_on_both_sides():
    one, two = scene([A, B], ["cat", "cat"], [0.9, 0.2]), scene([A, C], ["cat", "cat"], [0.8, 0.1])
    assert judged(one, two).score == pytest.approx(1 / 2)
    assert judged(one, two, confidence=0.5).score == judged(two, one, confidence=0.5).score == 0


def test_class_distances_soften_a_wrong_class():
    near = vt.ClassDistances.of(["cat", "dog", "car"], [[0, 0.25, 1], [0.25, 0, 1], [1, 1, 0]])
    truth = scene([A], ["cat"])
    assert judged(truth, scene([A], ["dog"]), distance=near).score == pytest.approx(0.2 * 0.25)
    assert judged(truth, scene([A], ["car"]), distance=near).score == pytest.approx(0.2)
    assert judged(truth, scene([A], ["dog"], [0.5]), distance=near).score == pytest.approx(0.2 * 0.25 * 0.75)


def test_asymmetric_distances_go_from_truth_to_pred():
    matrix = {"cat": {"dog": 0.1, "car": 1}, "dog": {"cat": 0.9, "car": 1}, "car": {"cat": 1, "dog": 1}}
    distances = vt.class_distances(matrix, symmetric=False)
    assert judged(scene([A], ["cat"]), scene([A], ["dog"]), distance=distances).score == pytest.approx(0.2 * 0.1)
    assert judged(scene([A], ["dog"]), scene([A], ["cat"]), distance=distances).score == pytest.approx(0.2 * 0.9)


def test_ignored_truths_neither_reward_nor_punish():
    truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [A, B], difficult=[False, True])
    assert judged(truth, scene([A])).score == 0  # not missed
    assert judged(truth, scene([A, B])).score == 0  # not spurious
    assert judged(truth, scene([A, C])).score == pytest.approx(1 / 2)
    assert judged(truth, scene([A]), ignored="count").score == pytest.approx(1 / 2)


def test_a_data_set_is_the_mean_over_its_images():
    truth = vt.Annotations.of(["a", "b"], ["cat", "cat"], [A, A], images=["a", "b", "c"])
    pred = vt.Annotations.of(["a"], ["dog"], [A], images=["a"])
    found = judged(truth, pred)
    assert found.image_scores.tolist() == pytest.approx([0.2, 1.0, 0.0])
    assert found.score == pytest.approx(0.4)
    assert [found.image_names[i] for i in found.worst_first] == ["b", "a", "c"]
    assert found.quantiles() == pytest.approx(
        {"best": 0, "lower quarter": 0.1, "median": 0.2, "upper quarter": 0.6, "worst": 1}
    )


def test_images_that_only_the_predictions_know_count_too():
    truth = vt.Annotations.of(["a"], ["cat"], [A])
    pred = vt.Annotations.of(["a", "b"], ["cat", "cat"], [A, A])
    assert judged(truth, pred).image_scores.tolist() == [0, 1]


def test_classes_tell_what_became_of_their_objects():
    truth = scene([A, B, C], ["cat", "cat", "dog"])
    pred = scene([A, (60, 0, 70, 10), C], ["cat", "car", "cat"])
    columns = judged(truth, pred).class_columns()
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
        judged(scene([A]), scene([A]), **how)


def test_matrices_of_different_shapes_are_refused():
    with pytest.raises(BadParameter, match=r"recognition: expected a matrix \(1, 1\)"):
        vt.Trace.of([[1.0]], [[0.0]], [[0.0, 0.0]])


def test_more_matches_than_truths_are_explained_where_they_are_shown():
    # One truth and two halves of it: each overlaps it by half.
    truth = vt.Annotations.of(["a"], ["x"], [[0, 0, 10, 10]], sizes={"a": (20, 20)})
    halves = vt.Annotations.of(["a", "a"], ["x", "x"], [[0, 0, 10, 5], [0, 5, 10, 10]], sizes={"a": (20, 20)})
    found = vt.scene_score(truth, halves, checks="off")
    assert "2 matches of 1 truth: with" in str(found)
    assert "an object may have several" in str(found)
    assert "matches of" not in str(vt.scene_score(truth, halves, matching="one-to-one", checks="off"))


def test_matches_of_several_truths_are_told_as_such():
    # Two truths, the first found by both its halves.
    truth, pred = scene([A, C]), scene([(0, 0, 10, 5), (0, 5, 10, 10), C])
    assert "3 matches of 2 truths: with" in str(judged(truth, pred))


def test_a_class_counts_less_the_surer_a_right_one_was():
    # distance · (1 - confidence) / 2 where it is right, distance · (1 + confidence) / 2 where it is wrong
    found = recognition_score(np.array([0.4, 0.4]), np.array([True, False]), np.array([0.5, 0.5]))
    assert found == pytest.approx([0.4 * 0.25, 0.4 * 0.75])


def test_boxes_that_share_a_column_of_whole_pixels_overlap():
    # Columns 0 to 4 and 4 to 8 of 5 rows: 5 pixels of 45.
    truth, pred = scene([(0, 0, 4, 4)]), scene([(4, 0, 8, 4)])
    assert judged(truth, pred, iou=0.1, pixel="plus1").score == pytest.approx(0.8 * 20 / 25)
    assert judged(truth, pred, iou=0.1).score == 1


def test_the_trace_leaves_out_preds_on_ignored_truths():
    # The second pred lies on the ignored truth and touches the other by 10 of 190.
    far = (9, 0, 19, 10)
    truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [A, far], difficult=[False, True])
    trace = judged(truth, scene([A, far])).trace("a")
    assert trace.overlap.tolist() == [[1]]


def test_rules_of_a_score_lie_between_0_and_1():
    assert ScoreRules("multiple", 1.0, 1.0).least == 1
    assert ScoreRules("one-to-one", 0.0, 0.0).least == 0
    for wrong in (-0.1, 1.5):
        with pytest.raises(BadParameter, match=f"iou: expected a number from 0 to 1, found {wrong}"):
            ScoreRules("multiple", wrong)
        with pytest.raises(BadParameter, match=f"alpha: expected a number from 0 to 1, found {wrong}"):
            ScoreRules(alpha=wrong)
