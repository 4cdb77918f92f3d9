"""Precision, recall and F1 without confidences, against brute force, scipy and numbers by hand."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

import verite as vt
from tests.protocols.scenes import random_sides, shuffle
from verite.cli import run
from verite.protocols.f1 import F1Results

Box = list[float]
THRESHOLDS = (0.1, 0.3, 0.5, 0.7)


def iou(a: Box, b: Box, *, is_crowd: bool = False) -> float:
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if wide <= 0 or high <= 0:
        return 0.0
    mine, theirs = ((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    return wide * high / (mine if is_crowd else mine + theirs - wide * high)


def annotations(boxes: list[Box], **more: Any) -> vt.Annotations:
    return vt.Annotations.of(["a"] * len(boxes), ["c"] * len(boxes), boxes, images=["a"], labels=["c"], **more)


def small_boxes(rng: random.Random, most: int) -> list[Box]:
    """Boxes on a coarse grid, so that many are equal and many IoUs are."""
    found: list[Box] = []
    for _ in range(rng.randint(0, most)):
        x, y = rng.randint(0, 4), rng.randint(0, 4)
        found.append([x, y, x + rng.randint(1, 5), y + rng.randint(1, 5)])
    return found


def best_by_hand(table: list[list[float]], threshold: float) -> tuple[int, float]:
    """The most pairs and the largest sum of IoU over all assignments, one by one."""
    best, columns = (0, 0.0), range(len(table[0]) if table else 0)

    def go(row: int, used: frozenset[int], count: int, total: float) -> None:
        nonlocal best
        if row == len(table):
            best = max(best, (count, total))
            return
        go(row + 1, used, count, total)
        for column in columns:
            if column not in used and table[row][column] >= threshold:
                go(row + 1, used | {column}, count + 1, total + table[row][column])

    go(0, frozenset(), 0, 0.0)
    return best


@pytest.mark.thorough
def test_the_optimal_assignment_is_the_best_of_all() -> None:
    rng = random.Random(1)
    for _ in range(2000):
        truths, preds = small_boxes(rng, 5), small_boxes(rng, 5)
        crowd = np.array([rng.random() < 0.2 for _ in truths], dtype=np.bool_)
        found = vt.f1(annotations(truths, crowd=crowd), annotations(preds), iou=THRESHOLDS, checks="off")
        asked = [truth for truth, is_crowd in zip(truths, crowd, strict=True) if not is_crowd]
        table = [[iou(pred, truth) for truth in asked] for pred in preds]
        for threshold, tally in zip(THRESHOLDS, found.tallies, strict=True):
            count, total = best_by_hand(table, threshold)
            assert (tally.tp, tally.fn) == (count, len(asked) - count)
            assert tally.iou == pytest.approx(total, abs=1e-9)
            over_crowd = sum(
                any(iou(pred, t, is_crowd=True) >= threshold for t, c in zip(truths, crowd, strict=True) if c)
                for pred in preds
            )
            # Predictions over a crowd are ignored unless they are matched.
            assert len(preds) - count - over_crowd <= tally.fp <= len(preds) - count


def test_a_prediction_over_a_crowd_is_ignored_unless_it_is_matched() -> None:
    truth = annotations([[0, 0, 10, 10], [20, 0, 60, 40]], crowd=np.array([False, True]))
    pred = annotations([[0, 0, 10, 10], [20, 0, 30, 10], [40, 10, 50, 20], [80, 80, 90, 90]])
    tally = vt.f1(truth, pred, iou=0.5).tallies[0]
    assert (tally.tp, tally.fp, tally.fn) == (1, 1, 0)
    counted = vt.f1(truth, pred, iou=0.5, ignored="count").tallies[0]
    assert (counted.tp, counted.fp, counted.fn) == (1, 3, 1)


@pytest.mark.thorough
def test_large_assignments_are_those_of_scipy() -> None:
    rng = np.random.default_rng(2)
    for size in (20, 60, 150):
        corners = rng.uniform(0, 60, (size, 2))
        boxes = np.concatenate([corners, corners + rng.uniform(20, 40, (size, 2))], axis=1)
        moved = boxes[: size - 5] + rng.normal(0, 6, (size - 5, 4))
        found = vt.f1(annotations(boxes.tolist()), annotations(moved.tolist()), iou=THRESHOLDS, checks="off")
        table: NDArray[np.float64] = np.array([[iou(p, t) for t in boxes.tolist()] for p in moved.tolist()])
        for threshold, tally in zip(THRESHOLDS, found.tallies, strict=True):
            gains = np.where(table >= threshold, 1000 + table, 0)  # one more pair is worth more than any IoU
            rows, columns = linear_sum_assignment(gains, maximize=True)
            chosen = table[rows, columns][table[rows, columns] >= threshold]
            assert tally.tp == len(chosen)
            assert tally.iou == pytest.approx(chosen.sum(), abs=1e-6)


def test_greedy_takes_pairs_by_falling_iou() -> None:
    # The first prediction overlaps both objects; taking its best one leaves the second prediction without any.
    truth = annotations([[0, 0, 10, 10], [4, 0, 14, 10]])
    pred = annotations([[1, 0, 11, 10], [-3, 0, 7, 10]])  # IoU 0.818 and 0.538; 0.538 and 0.176
    best = vt.f1(truth, pred, iou=0.5, checks="off").tallies[0]
    greedy = vt.f1(truth, pred, iou=0.5, match="greedy", checks="off").tallies[0]
    assert (best.tp, greedy.tp) == (2, 1)
    assert best.iou == pytest.approx(2 * 7 / 13)
    assert greedy.iou == pytest.approx(9 / 11)


@pytest.mark.parametrize("match", ["optimal", "greedy"])
def test_no_order_changes_a_bit(match: Any) -> None:
    rng = random.Random(3)
    for _ in range(60):
        truths, preds = small_boxes(rng, 4), small_boxes(rng, 4)
        documents = {
            json.dumps(vt.f1(annotations(list(t)), annotations(list(p)), match=match, checks="off").details())
            for t in list(permutations(truths))[:6]
            for p in list(permutations(preds))[:6]
        }
        assert len(documents) == 1


def test_order_of_images_and_objects_changes_no_bit() -> None:
    truth, pred = random_sides(7)
    first = vt.f1(truth, pred, checks="off").details()
    for seed in range(3):
        again = vt.f1(shuffle(truth, seed), shuffle(pred, seed + 10), checks="off").details()
        assert json.dumps(again, sort_keys=True) == json.dumps(first, sort_keys=True)


def cats_and_dogs() -> tuple[vt.Annotations, vt.Annotations]:
    """Two cats, one dog; a cat at IoU 0.6, a dog exactly, and a dog too many."""
    truth = vt.Annotations.of(
        ["a", "a", "b"],
        ["cat", "cat", "dog"],
        [[0, 0, 10, 10], [50, 50, 60, 60], [0, 0, 10, 10]],
        images=["a", "b", "c"],
    )
    pred = vt.Annotations.of(
        ["a", "b", "b"],
        ["cat", "dog", "dog"],
        [[0, 0, 10, 6], [0, 0, 10, 10], [30, 30, 40, 40]],
        images=["a", "b", "c"],
    )
    return truth, pred


def test_numbers_by_hand() -> None:
    found = vt.f1(*cats_and_dogs(), iou=(0.5, 0.75), checks="off")
    # At 0.5: TP 2, FP 1, FN 1; at 0.75: TP 1, FP 2, FN 2.
    assert found["precision"].value == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert found["F1@0.50"].value == pytest.approx(2 / 3)
    assert [one["accuracy"] for one in found.details()["thresholds"]] == [2 / 4, 1 / 5]
    assert found["F1@0.75"].value == pytest.approx(1 / 3)
    # Cats: F1 2/3 and 0; dogs: 2/3 and 2/3.
    assert found["macro_F1"].value == pytest.approx(((2 / 3 + 2 / 3) / 2 + (0 + 2 / 3) / 2) / 2)
    assert found.tallies[0].mean_iou == pytest.approx((0.6 + 1.0) / 2)
    # Predictions minus objects in a, b, c: -1, 1, 0.
    assert found.count_errors() == pytest.approx({"mae": 2 / 3, "rmse": (2 / 3) ** 0.5, "bias": 0.0})
    assert found.count_errors(0) == pytest.approx({"mae": 1 / 3, "rmse": (1 / 3) ** 0.5, "bias": -1 / 3})


def aps_of_all_orders(truth: vt.Annotations, pred: vt.Annotations, thresholds: tuple[float, ...]) -> list[float]:
    """AP by COCO's matching for every order of the predictions."""
    count = len(pred)
    return [
        vt.coco(truth, replace(pred, confidence=np.array(order, float)), iou=thresholds, checks="off")["AP"].value
        for order in permutations(range(count))
    ]


def test_bounds_of_average_precision_are_reached_by_some_order() -> None:
    truth, pred = cats_and_dogs()
    found = vt.f1(truth, pred, iou=(0.5, 0.75), checks="off")
    values = aps_of_all_orders(truth, pred, (0.5, 0.75))
    assert found.ap_bounds == pytest.approx((min(values), max(values)), abs=1e-12)
    assert "no confidences: AP lies between" in str(found)
    assert "outer" not in str(found)
    assert found.to_dict()["ap_bounds_exact"] == [True, True]


def test_a_duplicate_is_a_false_positive_only_behind_the_match_of_its_object() -> None:
    """One object and two boxes on it: in both orders the first one matches, and AP is 1, not 1/2."""
    truth = annotations([[0, 0, 10, 10]])
    pred = annotations([[0, 0, 10, 10], [0, 0, 10, 9]])
    assert vt.f1(truth, pred, iou=0.5, checks="off").ap_bounds == (1.0, 1.0)
    # A second object with one box: 1, 2/3 at worst (the object with two boxes first), 1 at best.
    truth = annotations([[0, 0, 10, 10], [50, 50, 60, 60]])
    pred = annotations([[0, 0, 10, 10], [0, 0, 10, 9], [50, 50, 60, 60]])
    low, high = vt.f1(truth, pred, iou=0.5, checks="off").ap_bounds or (0.0, 0.0)
    assert (low, high) == (pytest.approx((51 + 50 * 2 / 3) / 101), 1.0)


def random_orders(rng: random.Random) -> tuple[vt.Annotations, vt.Annotations]:
    """A few objects, crowds and predictions of one or two classes in one to three images, with many equal IoUs."""
    sides = []
    images = rng.choice([["a"], ["a", "b"], ["a", "b", "c"]])
    classes = rng.choice([["c"], ["c"], ["c", "d"]])
    width = rng.choice([3, 6, 12])
    for most in (5, 5):
        count = rng.randint(0, most)
        boxes: list[Box] = []
        for _ in range(count):
            x, y = rng.randint(0, width), rng.randint(0, 1)
            boxes.append([x, y, x + rng.randint(2, 5), y + rng.randint(2, 4)])
        crowd = np.array([most == 5 and not sides and rng.random() < 0.15 for _ in boxes], dtype=np.bool_)
        sides.append(
            vt.Annotations.of(
                [rng.choice(images) for _ in boxes], [rng.choice(classes) for _ in boxes], boxes,
                images=images, labels=classes, crowd=crowd,
            )
        )  # fmt: skip
    return sides[0], sides[1]


@pytest.mark.thorough
def test_bounds_at_one_threshold_are_the_extremes_over_all_orders() -> None:
    rng, seen, exact, several = random.Random(3), 0, 0, 0
    for _ in range(400):
        truth, pred = random_orders(rng)
        threshold = rng.choice([0.2, 0.3, 0.5])
        values = [value for value in aps_of_all_orders(truth, pred, (threshold,)) if value == value]
        bounds = vt.f1(truth, pred, iou=threshold, match=rng.choice(["optimal", "greedy"]), checks="off").mean_bounds
        assert bounds is not None
        if not values:
            assert bounds.low != bounds.low
            continue
        seen += 1
        assert bounds.high == pytest.approx(max(values), abs=1e-12)
        assert bounds.is_high_exact
        assert bounds.low <= min(values) + 1e-12
        if bounds.is_low_exact:
            assert bounds.low == pytest.approx(min(values), abs=1e-12)
            exact += 1
            several += min(values) < max(values)
    assert exact > 0.95 * seen
    assert several > 80


@pytest.mark.thorough
def test_bounds_over_thresholds_hold_for_all_orders_and_are_exact_where_they_are_said_to_be() -> None:
    rng, exact = random.Random(4), 0
    for _ in range(250):
        truth, pred = random_orders(rng)
        values = [value for value in aps_of_all_orders(truth, pred, (0.2, 0.4, 0.6)) if value == value]
        bounds = vt.f1(truth, pred, iou=(0.2, 0.4, 0.6), checks="off").mean_bounds
        assert bounds is not None
        if not values:
            continue
        assert bounds.low <= min(values) + 1e-12
        assert bounds.high >= max(values) - 1e-12
        if bounds.is_low_exact:
            assert bounds.low == pytest.approx(min(values), abs=1e-12)
        if bounds.is_high_exact:
            assert bounds.high == pytest.approx(max(values), abs=1e-12)
        exact += bounds.is_low_exact + bounds.is_high_exact
    assert exact > 300


def test_bounds_that_no_order_may_reach_are_called_outer_bounds() -> None:
    """At 0.5 the object with two boxes should come first, at 0.75 its better box last: no order does both."""
    truth = annotations([[0, 0, 10, 10], [50, 50, 60, 60]])
    pred = annotations([[0, 0, 10, 10], [0, 0, 10, 6], [50, 50, 60, 56]])
    found = vt.f1(truth, pred, iou=(0.5, 0.75), checks="off")
    values = aps_of_all_orders(truth, pred, (0.5, 0.75))
    low, high = found.ap_bounds or (0.0, 0.0)
    assert low < min(values)
    assert high == pytest.approx(max(values))
    reached = found.to_dict()["ap_reached"]
    assert all(min(abs(one - value) for value in values) < 1e-12 for one in reached)
    assert f"(outer bounds; orders with {reached[0]:.4f} and {reached[1]:.4f} exist)" in " ".join(str(found).split())
    assert found.to_dict()["ap_bounds_exact"] == [False, True]
    each = found.to_dict()["thresholds"]
    assert [one["ap_bounds_exact"] for one in each] == [[True, True]] * 2
    for one in each:
        own = aps_of_all_orders(truth, pred, (one["iou"],))
        assert one["ap_bounds"] == pytest.approx([min(own), max(own)], abs=1e-12)


def test_a_large_group_of_overlapping_objects_has_outer_bounds() -> None:
    """Twenty objects and twenty-five boxes that all overlap: too many orders to go through."""
    rng = np.random.default_rng(6)
    corners = rng.uniform(0, 4, (25, 2))
    boxes = np.concatenate([corners, corners + rng.uniform(28, 32, (25, 2))], axis=1)
    truth, pred = annotations(boxes[:20].tolist()), annotations(boxes[::-1].tolist())
    bounds = vt.f1(truth, pred, iou=0.5, checks="off").mean_bounds
    assert bounds is not None
    assert (bounds.is_low_exact, bounds.is_high_exact) == (False, True)
    for _ in range(50):
        order = rng.permutation(25).astype(float)
        ap = vt.coco(truth, replace(pred, confidence=order), iou=0.5, checks="off")["AP"].value
        assert bounds.low <= ap <= bounds.high + 1e-12


def test_predictions_with_confidences_have_no_bounds() -> None:
    truth, pred = random_sides(7)
    found = vt.f1(truth, pred, confidence=0.5, checks="off")
    assert found.ap_bounds is None
    assert "confidence threshold 0.5" in str(found)


def test_an_empty_image_without_predictions_is_perfect_and_counts_nowhere() -> None:
    found = vt.f1(*cats_and_dogs(), iou=0.5, per="image", checks="off")
    assert found.to_dict()["images"]["c"] == {"F1": 1.0, "tp": 0, "fp": 0, "fn": 0}
    assert found["F1"].value == pytest.approx(2 / 3)


def test_only_the_classes_that_were_asked_for_count() -> None:
    truth, pred = cats_and_dogs()
    found = vt.f1(truth, pred, iou=0.5, asked=[("a", "cat"), ("b", "cat"), ("c", "cat")], checks="off")
    tally = found.tallies[0]
    assert (tally.tp, tally.fp, tally.fn) == (1, 0, 1)
    assert "asked" in dict(found.signature)
    with pytest.raises(vt.DataError, match="'z'"):
        vt.f1(truth, pred, asked=[("z", "cat")], checks="off")


def test_questions_may_come_from_a_file(tmp_path: Any) -> None:
    (tmp_path / "asked.csv").write_text("image,class\na,cat\n")
    found = vt.f1(*cats_and_dogs(), iou=0.5, asked=str(tmp_path / "asked.csv"), checks="off")
    assert found.counts.truths == [2, 0]


def test_precision_recall_and_f1_are_those_of_the_analysis_where_matches_agree() -> None:
    """Objects that overlap no other one are matched alike by every rule."""
    rng = np.random.default_rng(5)
    boxes = [[40 * i, 0, 40 * i + 20, 20] for i in range(30)]
    kept = rng.random(30) < 0.7
    moved = [[x1 + 2, y1, x2 + 2, y2] for (x1, y1, x2, y2), is_kept in zip(boxes, kept, strict=True) if is_kept]
    moved += [[5000 + 40 * i, 0, 5020 + 40 * i, 20] for i in range(6)]
    truth = annotations(boxes)
    pred = annotations(moved, confidence=rng.random(len(moved)))
    tally = vt.f1(truth, pred, iou=0.5, checks="off").tallies[0]
    point = vt.analyse(truth, pred, iou=0.5, checks="off", only=["operating"]).operating.to_dict()["classes"]["c"]
    curve = vt.voc(truth, pred, iou=0.5, checks="off", pixel="continuous", point="last")
    assert tally.precision == pytest.approx(curve["P"].value)
    assert tally.recall == pytest.approx(curve["R"].value)
    assert tally.f1 == pytest.approx(curve["F1"].value)
    assert point is not None


def test_partial_results_merge_to_the_same_bits(tmp_path: Any) -> None:
    truth, pred = random_sides(7)
    whole = vt.f1(truth, pred, checks="off")
    parts = []
    for rest in range(3):
        chosen = [i for i in range(len(truth.images)) if i % 3 == rest]
        names = [truth.images.name(i) for i in chosen]
        sides = [pick_images(side, names) for side in (truth, pred)]
        parts.append(vt.partial(*sides, "f1", checks="off"))
    merged = parts[2].merge(parts[0], parts[1]).compute()
    assert isinstance(merged, F1Results)
    ours, theirs = (json.loads(json.dumps(one.details())) for one in (whole, merged))
    for key in ("precision", "recall", "F1", "macro", "counts", "thresholds"):
        assert without_mean_iou(theirs[key]) == without_mean_iou(ours[key])
    assert theirs["mean_iou"] == ours["mean_iou"]


def without_mean_iou(value: Any) -> Any:
    return [{k: v for k, v in one.items() if k != "mean_iou"} for one in value] if isinstance(value, list) else value


def pick_images(side: vt.Annotations, names: list[str]) -> vt.Annotations:
    rows = [r for r in range(len(side)) if side.images.name(int(side.image[r])) in names]
    return vt.Annotations.of(
        [side.images.name(int(side.image[r])) for r in rows],
        [side.labels.name(int(side.label[r])) for r in rows],
        side.regions.boxes[rows].tolist() if rows else [],
        confidence=None if side.confidence is None else side.confidence[rows].tolist(),
        images=names,
        labels=list(side.labels.all_names),
        **{name: column[rows] for name, column in side.flags.items()},
    )


def test_bootstrap_means_are_those_of_repeated_images() -> None:
    truth, pred = random_sides(7)
    found = vt.f1(truth, pred, checks="off")
    weights = np.ones((2, len(truth.images)))
    weights[1, 0] = 0
    drawn = found.draw_scores(["F1", "macro_F1", "precision", "recall", "F1@0.50"], weights)
    values = [found[name].value for name in ("F1", "macro_F1", "precision", "recall", "F1@0.50")]
    assert drawn[0] == pytest.approx(values, abs=1e-12)
    rest = [truth.images.name(i) for i in range(1, len(truth.images))]
    less = vt.f1(pick_images(truth, rest), pick_images(pred, rest), checks="off")
    assert drawn[1] == pytest.approx([less[n].value for n in ("F1", "macro_F1", "precision", "recall", "F1@0.50")])


def test_bad_input_gets_one_sentence(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    images = [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}]
    truth = {
        "images": images,
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10], "area": 100, "iscrowd": 0}],
    }
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    (tmp_path / "empty.json").write_text(json.dumps(truth | {"annotations": []}))
    (tmp_path / "none.csv").write_text("image,label,x1,y1,x2,y2\n")
    (tmp_path / "strange.csv").write_text("image,label,x1,y1,x2,y2\na.jpg,spoon,0,0,10,10\n")
    (tmp_path / "outside.csv").write_text("image,label,x1,y1,x2,y2\na.jpg,cat,5000,5000,5010,5010\n")
    for sides in (("truth.json", "strange.csv"), ("truth.json", "outside.csv"), ("empty.json", "none.csv")):
        status = run(["f1", *(str(tmp_path / name) for name in sides), "--quiet"])
        captured = capsys.readouterr()
        assert status == 1, (sides, captured.out)
        assert len(captured.err.strip().splitlines()) == 1
        assert "expected" in captured.err or "V" in captured.err


def test_missing_confidences_name_the_command() -> None:
    with pytest.raises(vt.DataError, match="verite f1"):
        vt.coco(*cats_and_dogs())


PUBLISHED = Path(__file__).parents[1] / "data" / "cgf1" / "published.json"


@pytest.mark.parametrize("case", json.loads(PUBLISHED.read_text()), ids=lambda case: f"seed {case['seed']}")
def test_cgf1_is_that_of_the_published_evaluator(case: Any, tmp_path: Path) -> None:
    """Figures of one run of facebookresearch/sam3's sam3/eval/cgf1_eval.py (bbox) on 24 random sets."""
    paths = [tmp_path / f"truth-{i}.json" for i in range(len(case["truths"]))]
    for path, truth in zip(paths, case["truths"], strict=True):
        path.write_text(json.dumps(truth))
    (tmp_path / "pred.json").write_text(json.dumps(case["preds"]))
    found = vt.f1(
        paths[0], tmp_path / "pred.json", metric="cgf1", other_truths=list(map(str, paths[1:])) or None, checks="off"
    )
    for name in ("cgF1", "pmF1", "IL_MCC"):
        assert found[name].value == pytest.approx(case[name], abs=1e-12)
        assert found.to_dict()[name] == found[name].value


def test_cgf1_by_hand() -> None:
    """Four questions: a cat found, a cat missed, a dog where none is, and nothing where nothing is."""
    truth = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 10, 10], [0, 0, 10, 10]], labels=["cat", "dog"])
    pred = vt.Annotations.of(["a", "b"], ["cat", "dog"], [[0, 0, 10, 10], [0, 0, 10, 10]], labels=["cat", "dog"])
    found = vt.f1(truth, pred, metric="cgf1", checks="off")
    # Presence: 1 TP, 1 FP, 1 TN, 1 FN: no correlation. pmF1: precision 1 (the dog is in no positive item), recall 1/2.
    assert found["IL_MCC"].value == pytest.approx(0, abs=1e-6)
    assert found["pmF1"].value == pytest.approx(2 / 3, abs=2e-4)
    without = vt.f1(truth, pred.where(pred.label == 0), metric="cgf1", checks="off")
    # 1 TP, 0 FP, 2 TN, 1 FN: (1 · 2 - 0) / sqrt(1 · 2 · 2 · 3)
    assert without["IL_MCC"].value == pytest.approx(2 / 12**0.5, abs=1e-6)
    assert without["cgF1"].value == pytest.approx(2 / 3 * 2 / 12**0.5, abs=2e-4)


def test_means_on_changed_ground_truth_are_those_of_evaluating_it(tmp_path: Path) -> None:
    """Simulated annotation errors of a leaderboard: objects that vanish, appear and have another class."""
    from tests.evaluation.sets import draw_changes, read, write_out
    from tests.oracles.coco_sets import random_set
    from verite.evaluation.evaluation import Changes

    compared = 0
    for seed in range(30):
        truth, pred = read(tmp_path, *random_set(seed))
        if not len(truth):
            continue
        found = vt.f1(truth, pred, iou=(0.5, 0.75), checks="off")
        removed, added = draw_changes(found.truth, seed)
        changes = Changes.of(added, [removed], [np.arange(len(added))])
        names = ("F1", "precision", "recall", "macro_F1", "F1@0.75")
        means = found.evaluation.bootstrap_means([found.mean_query(name) for name in names], None, changes)
        again = vt.f1(write_out(found.truth, removed, added), found.pred, iou=(0.5, 0.75), checks="off")
        assert means[0] == pytest.approx([again[name].value for name in names], abs=1e-12, nan_ok=True)
        compared += 1
    assert compared >= 20


def test_a_leaderboard_by_f1_needs_no_confidences() -> None:
    truth, pred = cats_and_dogs()
    worse = pred.where(np.array([True, False, True]))
    board = vt.leaderboard(truth, {"worse": worse, "better": pred}, metrics="F1", draws=50, checks="off")
    assert board.names == ("better", "worse")
    assert board.protocol == "f1"
    # Three objects. The better one has 2 TP of 3 up to IoU 0.6, then 1; the worse one has 1 TP of 2, then none.
    better, worse_f1 = (3 * 4 / 6 + 7 * 2 / 6) / 10, 3 * 2 / 5 / 10
    assert board.boards["F1"].scores.tolist() == pytest.approx([better, worse_f1])


def costs_by_hand(counts: dict[str, int], tp: int, truths: int, fixable: dict[str, int]) -> dict[str, float]:
    """Shapley values of the error types: the mean gain in F1 over all orders in which they are fixed."""
    types = list(counts)

    def f1(fixed: tuple[str, ...]) -> float:
        right = tp + sum(fixable.get(one, 0) for one in fixed)
        wrong = sum(n for one, n in counts.items() if one not in fixed and one != "missed")
        objects = truths - (counts["missed"] if "missed" in fixed else 0)
        return 2 * right / (right + wrong + objects)

    orders = list(permutations(types))
    found = dict.fromkeys(types, 0.0)
    for order in orders:
        for i, one in enumerate(order):
            found[one] += (f1(order[: i + 1]) - f1(order[:i])) / len(orders)
    return found


def test_costs_of_error_types_in_f1_are_shapley_values_by_hand() -> None:
    """Four cats and a dog: one found, one at IoU 0.3, a dog called cat, one missed, a duplicate, a background box."""
    truth = vt.Annotations.of(
        ["a"] * 5, ["cat"] * 4 + ["dog"],
        [[0, 0, 10, 10], [20, 0, 30, 10], [40, 0, 50, 10], [60, 0, 70, 10], [80, 0, 90, 10]],
    )  # fmt: skip
    pred = vt.Annotations.of(
        ["a"] * 5, ["cat"] * 5,
        [[0, 0, 10, 10], [0, 0, 10, 9], [20, 0, 30, 3], [80, 0, 90, 10], [0, 50, 10, 60]],
    )  # fmt: skip
    found = vt.analyse(truth, pred, protocol="f1", iou=0.5, checks="off").errors
    counts = {"class": 1, "localization": 1, "both": 0, "duplicate": 1, "background": 1, "missed": 2}
    assert found.counts == counts
    expected = costs_by_hand(counts, tp=1, truths=5, fixable={"class": 1, "localization": 1})
    assert found.cost == pytest.approx(expected, abs=1e-12)
    assert sum(found.cost.values()) == pytest.approx(1 - found.base)
    assert found.base == 2 * 1 / (5 + 5)
    assert found.to_dict()["fp"] == pytest.approx(2 / 6 - 0.2)  # no false positives: 1 TP, 5 objects
    assert found.to_dict()["fn"] == pytest.approx(2 / 6 - 0.2)  # only the matched object: 1 TP, 4 FP


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_costs_add_up_to_one_minus_f1_whatever_the_order(average: Any) -> None:
    for seed in range(6):
        truth, pred = random_sides(seed)
        first = vt.f1(truth, pred, average=average, checks="off").analyse().errors
        assert sum(first.cost.values()) == pytest.approx(1 - first.base, abs=1e-12)
        again = vt.f1(shuffle(truth, 1), shuffle(pred, 2), average=average, checks="off").analyse().errors
        assert again.cost == pytest.approx(first.cost, abs=1e-12)


def test_an_analysis_without_confidences_has_no_parts_about_them() -> None:
    analysis = vt.analyse(*cats_and_dogs(), protocol="f1", checks="off")
    assert list(analysis.parts) == ["errors", "confusion"]
    with pytest.raises(vt.BadParameter, match="errors, confusion with f1, found 'calibration'"):
        vt.analyse(*cats_and_dogs(), protocol="f1", only="calibration", checks="off")


def test_the_report_shows_f1(tmp_path: Path) -> None:
    truth, pred = cats_and_dogs()
    page = vt.report(truth, {"model": pred}, tmp_path / "report.html", protocol="f1", iou=0.5, checks="off")
    found = vt.read_report(page)
    assert found["systems"][0]["scores"]["F1"] == pytest.approx(2 / 3)
    assert "Where F1 is lost" in page.read_text()


def test_a_confidence_threshold_is_that_of_the_protocol_in_analyses() -> None:
    truth, pred = random_sides(7)
    assert pred.confidence is not None
    some = float(np.median(pred.confidence))
    found = vt.f1(truth, pred, confidence=some, checks="off")
    analysis = vt.analyse(truth, pred, protocol="f1", confidence=some, checks="off")
    assert analysis.errors.base == found["F1"].value
    assert int(analysis.confusion.matrix[:-1, :-1].trace()) == found.tallies[0].tp


def batch(side: vt.Annotations, image: int, **more: Any) -> dict[str, Any]:
    rows = np.flatnonzero(side.image == image)
    return {"boxes": side.regions.boxes[rows], "labels": side.label[rows], **{k: v[rows] for k, v in more.items()}}


@pytest.mark.parametrize("keep", [True, False])
def test_batches_without_scores_give_the_numbers_of_all_images(keep: bool) -> None:
    truth, pred = random_sides(7)
    crowd = truth.flag("crowd")
    bare = replace(pred, confidence=None)
    whole = vt.f1(truth, bare, checks="off")
    names = list(truth.labels.all_names)
    evaluator = vt.F1Evaluator(labels=dict(enumerate(names)), checks="off", keep=keep)
    ignore = truth.flag("ignore")
    for image in range(len(truth.images)):
        evaluator.update([batch(pred, image)], [batch(truth, image, iscrowd=crowd, ignore=ignore)])
    found = evaluator.compute()
    assert isinstance(found, F1Results)
    for name in ("F1", "precision", "recall", "macro_F1"):
        assert found[name].value == pytest.approx(whole[name].value, abs=1e-12)
    assert found.ap_bounds == pytest.approx(whole.ap_bounds)
    assert [tally.tp for tally in found.tallies] == [tally.tp for tally in whole.tallies]


def test_scores_in_some_images_alone_are_refused() -> None:
    item = {"boxes": [[0, 0, 10, 10]], "labels": [1]}
    evaluator = vt.F1Evaluator()
    evaluator.update([item, item | {"scores": [0.5]}], [item, item])
    with pytest.raises(vt.DataError, match="scores: expected them in all images or in none, found 1 of 2"):
        evaluator.compute()
    with pytest.raises(vt.BadParameter, match="expected a key 'scores'"):
        vt.CocoEvaluator().update([item], [item])


def test_merged_results_know_whether_there_were_confidences() -> None:
    truth, pred = random_sides(7)
    assert vt.partial(truth, pred, "f1", checks="off").compute().ap_bounds is None
    bare = vt.partial(truth, replace(pred, confidence=None), "f1", checks="off").compute()
    assert bare.ap_bounds == pytest.approx(vt.f1(truth, replace(pred, confidence=None), checks="off").ap_bounds)


def test_partial_results_are_made_and_merged_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "truth.csv").write_text("image,label,x1,y1,x2,y2\na,cat,0,0,10,10\nb,cat,0,0,10,10\n")
    (tmp_path / "pred.csv").write_text("image,label,x1,y1,x2,y2\na,cat,0,0,10,10\n")
    part = str(tmp_path / "one.part")
    sides = [str(tmp_path / name) for name in ("truth.csv", "pred.csv")]
    assert run(["partial", "f1", *sides, "-o", part, "-q", "--checks", "off"]) == 0
    assert run(["merge", part, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["F1"] == pytest.approx(2 / 3)
