"""Costs of errors: by hand, against a slow version that tries every set of types, and against tidecv."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.analysis.worlds import (
    SIX,
    TIDE_TYPES,
    analyse_by_tidecv,
    analyse_case,
    evaluate_by_hotcoco,
    scene,
    sides,
    write_pair,
)
from tests.oracles.analysis import TYPES, Breakdown, random_world, raw_precision, shapley
from verite.analysis.errors import ap_of_fixed_sets, error_types
from verite.analysis.worst import ClassRanking
from verite.evaluation.evaluation import FALSE_POSITIVE

WORLDS = [
    *({"seed": seed} for seed in range(15)),
    *({"seed": seed, "ties": True} for seed in range(15, 22)),
    *({"seed": seed, "crowds": False} for seed in range(22, 26)),
    *({"seed": seed, "unseen": True} for seed in range(26, 30)),
]


def test_one_error_of_each_type_costs_what_was_worked_out_by_hand() -> None:
    """b: its only truth is found under a wrong label, so fixing labels gains all of it: 1/2 of the mean.

    a: 1 of 4 is right at rank 1: 26/101 of recalls are reached, half of it is .128713.
    """
    errors = vt.analyse(*SIX, iou=0.5, checks="off").errors
    assert errors.base == pytest.approx(26 / 101 / 2)
    assert errors.counts == dict(zip(TYPES, (1, 1, 1, 1, 1, 2), strict=True))
    alone = {"class": 0.5, "localization": 0.061881, "missed": 0.123762}
    assert errors.alone == pytest.approx({kind: alone.get(kind, 0.0) for kind in TYPES}, abs=5e-7)
    cost = {"class": 0.5, "localization": 0.139233, "missed": 0.173611, "duplicate": 0.029222, "background": 0.029222}
    assert errors.cost == pytest.approx({kind: cost.get(kind, 0.0) for kind in TYPES}, abs=5e-7)


def test_a_class_without_matches_costs_its_whole_share_as_missed() -> None:
    truths = [("a", [0, 0, 10, 10]), ("b", [50, 50, 10, 10])]
    right = ("a", 0.9, [0, 0, 10, 10])
    assert vt.analyse(*scene(truths, [right])).errors.cost["missed"] == pytest.approx(0.5)
    wrong = ("b", 0.8, [80, 0, 10, 10])
    found = vt.analyse(*scene(truths, [right, wrong])).errors.cost
    assert (found["missed"], found["background"]) == pytest.approx((0.25, 0.25))


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_costs_equal_a_slow_version_that_tries_every_set(world: dict[str, Any], tmp_path: Path) -> None:
    truth, results = random_world(**world)
    slow = Breakdown(truth, results)
    found = vt.analyse(*sides(truth, results, tmp_path), iou=0.5).errors
    assert found.counts == slow.counts
    names = found.matches.names
    for label in slow.labels:
        table = slow.table(label)
        k = names.index(f"c{label}")
        assert found.label_base[k] == pytest.approx(table[frozenset()], abs=1e-12)
        for i, (kind, share) in enumerate(shapley(table).items()):
            assert found.label_cost[k, i] == pytest.approx(share, abs=1e-12)
            alone = table[frozenset({kind})] - table[frozenset()]
            assert found.label_alone[k, i] == pytest.approx(alone, abs=1e-12)


@pytest.mark.parametrize("world", WORLDS[::3], ids=str)
@pytest.mark.parametrize("protocol", ["coco", "voc"])
def test_costs_add_up_to_what_is_missing_from_the_protocols_own_number(
    world: dict[str, Any], protocol: Any, tmp_path: Path
) -> None:
    known, pred = sides(*random_world(**world), tmp_path)
    results = getattr(vt, protocol)(known, pred)
    errors = results.analyse().errors
    headline = next(iter(results.scores.values())).value
    assert errors.base == headline
    assert sum(errors.cost.values()) == pytest.approx(1 - headline, abs=1e-12)
    assert all(cost >= 0 for cost in errors.cost.values())
    by_class = dict(zip(results.class_names, next(iter(results.class_scores().values())), strict=True))
    for k in errors.matches.present:
        assert errors.label_cost[k].sum() == pytest.approx(1 - by_class[errors.matches.names[k]], abs=1e-12)
    assert [errors.label_base[k] for k in errors.matches.present] == pytest.approx(
        [by_class[errors.matches.names[k]] for k in errors.matches.present], abs=1e-12
    )


@pytest.mark.parametrize("seed", range(4))
def test_ap_and_six_costs_are_one_with_pycocotools_own_ap(seed: int, tmp_path: Path) -> None:
    import contextlib
    import io

    coco = pytest.importorskip("pycocotools.coco", reason="pycocotools is in the group 'test'")
    from pycocotools.cocoeval import COCOeval

    paths = write_pair(tmp_path, *random_world(seed, images=40))
    with contextlib.redirect_stdout(io.StringIO()):
        truth = coco.COCO(paths[0])
        run = COCOeval(truth, truth.loadRes(paths[1]), "bbox")
        run.evaluate()
        run.accumulate()
        run.summarize()
    known = vt.read(paths[0])
    errors = vt.analyse(known, vt.read(paths[1], like=known)).errors
    assert errors.base == run.stats[0]
    assert run.stats[0] + sum(errors.cost.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("settings", [{"interpolation": "11"}, {"quirks": "py-faster-rcnn", "interpolation": "11"}])
def test_costs_add_up_to_pascal_vocs_older_number_too(settings: dict[str, Any], tmp_path: Path) -> None:
    results = vt.voc(*sides(*random_world(5, ties=True), tmp_path), **settings)
    errors = results.analyse().errors
    assert sum(errors.cost.values()) == pytest.approx(1 - results["mAP"].value, abs=1e-12)


@pytest.mark.thorough
def test_fixing_more_is_never_worse(tmp_path: Path) -> None:
    """All 192 pairs of a set and the same with one type more."""
    for seed in range(30):
        matches = vt.coco(*sides(*random_world(seed, ties=seed % 2 == 1), tmp_path), iou=0.5).analyse().matches
        types = error_types(matches, 0)
        table, _ = ap_of_fixed_sets(matches, types)
        for k in matches.present:
            values = table[k]
            gains = [values[s | 1 << i] - values[s] for s in range(64) for i in range(6) if not s >> i & 1]
            assert len(gains) == 192
            assert min(gains) >= 0
            assert values[63] == pytest.approx(1, abs=1e-15)


def test_every_wrong_prediction_has_one_type_and_missed_ones_were_not_found(tmp_path: Path) -> None:
    for seed in range(4):
        results = vt.coco(*sides(*random_world(seed), tmp_path))
        errors = results.analyse().errors
        found = results.evaluation.outcomes(0)
        assert sum(errors.counts.values()) - errors.counts["missed"] == (found.state == FALSE_POSITIVE).sum()
        assert errors.counts["missed"] <= (found.is_asked & (found.pred < 0)).sum()


def test_a_type_without_errors_costs_nothing_to_the_last_bit() -> None:
    truth, _ = SIX
    found = vt.analyse(truth, vt.Annotations.of(["i"], ["a"], [[0, 0, 10, 10]], confidence=[0.9]))
    assert [kind for kind, cost in found.errors.cost.items() if cost] == ["missed"]


def test_labels_and_images_may_be_named_and_ordered_in_any_way(tmp_path: Path) -> None:
    truth, results = random_world(3)
    costs = vt.analyse(*sides(truth, results, tmp_path)).errors.cost
    turned = {5 - c: f"other{c}" for c in range(1, 5)}  # ids and names, in the other direction
    truth["categories"] = [{"id": i, "name": name} for i, name in turned.items()]
    for record in [*truth["annotations"], *results]:
        record["category_id"] = 5 - record["category_id"]
        record["image_id"] = 100 - record["image_id"]
    truth["images"] = [image | {"id": 100 - image["id"]} for image in truth["images"]][::-1]
    assert vt.analyse(*sides(truth, results, tmp_path)).errors.cost == pytest.approx(costs, abs=1e-12)


@pytest.mark.parametrize("protocol", ["coco", "voc"])
def test_the_same_data_twice_costs_the_same(protocol: Any, tmp_path: Path) -> None:
    """Twice as many truths and right predictions at every confidence: every second of two equal ones has the precision
    that one had, and the envelope gives it to the first.
    """
    truth, results = random_world(8)
    once = vt.analyse(*sides(truth, results, tmp_path), protocol=protocol).errors
    images = [image | {"id": image["id"] + 100, "file_name": f"b{image['id']}.jpg"} for image in truth["images"]]
    again = [a | {"id": a["id"] + 1000, "image_id": a["image_id"] + 100} for a in truth["annotations"]]
    both = {**truth, "images": truth["images"] + images, "annotations": truth["annotations"] + again}
    copies = [d | {"image_id": d["image_id"] + 100} for d in results]
    twice = vt.analyse(*sides(both, results + copies, tmp_path), protocol=protocol).errors
    assert twice.base == pytest.approx(once.base, abs=1e-12)
    assert twice.cost == pytest.approx(once.cost, abs=1e-12)
    assert twice.counts == {kind: 2 * count for kind, count in once.counts.items()}


def test_ignored_predictions_are_in_no_part() -> None:
    truth = vt.Annotations.of(["i", "i"], ["a", "a"], [[0, 0, 50, 50], [60, 60, 70, 70]], crowd=[True, False])
    boxes = [[0, 0, 10, 10], [10, 10, 20, 20], [60, 60, 70, 70], [80, 80, 90, 90]]
    pred = vt.Annotations.of(["i"] * 4, ["a"] * 4, boxes, confidence=[0.9, 0.8, 0.7, 0.6])
    found = vt.coco(truth, pred, max_dets=3).analyse()
    assert found.to_dict()["set_aside_reasons"] == {"crowd": 2, "limit": 1}
    assert found.to_dict()["set_aside"] == 3
    assert sum(found.errors.counts.values()) == 0
    assert "3 predictions are ignored" in str(found)


@pytest.mark.parametrize("seed", range(20))
def test_single_costs_are_what_one_change_gains(seed: int) -> None:
    r = np.random.default_rng(seed)
    flags = r.random(r.integers(1, 50)) < r.random()
    truths = int(flags.sum() + r.integers(1, 10))
    line = ClassRanking(flags, truths)
    base = raw_precision(flags, truths)
    assert line.ap == pytest.approx(base, abs=1e-15)
    for k in np.flatnonzero(~flags):
        assert line.gain_of_removing(np.array([k]))[0] == pytest.approx(
            raw_precision(np.delete(flags, k), truths) - base, abs=1e-14
        )
        mended = flags.copy()
        mended[k] = True
        assert line.gain_of_fixing(np.array([k]))[0] == pytest.approx(raw_precision(mended, truths) - base, abs=1e-14)
    for k in range(len(flags) + 1):
        more = np.insert(flags, k, True)
        assert line.gain_of_inserting(np.array([k]))[0] == pytest.approx(raw_precision(more, truths) - base, abs=1e-14)
    if truths > 1:
        assert line.gain_of_dropping_truth() == pytest.approx(raw_precision(flags, truths - 1) - base, abs=1e-14)


def test_forgetting_the_only_truth_of_a_class_gains_all_of_it_unless_something_wrong_is_left() -> None:
    assert ClassRanking(np.zeros(0, dtype=bool), 1).gain_of_dropping_truth() == 1
    assert ClassRanking(np.zeros(2, dtype=bool), 1).gain_of_dropping_truth() == 0


def test_the_worst_image_has_the_costliest_errors() -> None:
    """By hand, a: ranks 1 (right) to 5 (wrong), 4 truths, AP 1/4. Making rank 4 right gains 2/4 / 4 = 1/8, a
    missed truth less 1/4 / 3 = 1/12; the prediction of b's truth moves there and is all of it: 1. Half of each.
    """
    worst = vt.analyse(*SIX, iou=0.5, checks="off").worst
    assert worst.of_preds.tolist() == pytest.approx([0, 0, 0, 1 / 16, 1 / 2, 0])
    assert worst.of_truths.tolist() == pytest.approx([0, 0, 1 / 24, 1 / 24, 0])
    assert worst.preds().tolist()[:2] == [4, 3]
    assert worst.of_images.tolist() == pytest.approx([1 / 16 + 1 / 2 + 2 / 24])
    told = worst.to_dict()
    assert told["preds"][0] | {"box": None} == {
        "row": 4, "image": "i", "label": "a", "error": "class", "confidence": 0.5, "iou": 1.0,
        "truth": 4, "truth_label": "b", "box": None, "cost": pytest.approx(0.5),
    }  # fmt: skip
    assert "non-interpolated" in told["signature"]


def test_masks_are_analysed_as_boxes_are(tmp_path: Path) -> None:
    truth, results = random_world(2, images=5, crowds=False)
    for record in [*truth["annotations"], *results]:
        x, y, w, h = record["bbox"] = [float(round(v)) for v in record["bbox"]]
        record["segmentation"] = [[x, y, x + w, y, x + w, y + h, x, y + h]]
        record["area"] = w * h
    known, pred = sides(truth, results, tmp_path)
    results_of = vt.coco(known, pred, on="mask")
    errors = results_of.analyse().errors
    assert sum(errors.cost.values()) == pytest.approx(1 - results_of["AP"].value, abs=1e-12)
    assert errors.counts["localization"] > 0


def test_nothing_to_be_found_has_no_costs() -> None:
    truth = vt.Annotations.of([], [], np.zeros((0, 4)), images=["i"], labels=["a"])
    pred = vt.Annotations.of(["i"], ["a"], [[0, 0, 10, 10]], confidence=[0.5])
    found = vt.analyse(truth, pred, checks="off")
    assert all(math.isnan(cost) for cost in found.errors.cost.values())
    assert found.errors.counts["background"] == 1
    assert found.to_dict()["errors"]["classes"]["a"]["cost"] is None
    assert str(found)


def test_predictions_of_a_class_without_truths_have_types_and_are_in_no_mean(tmp_path: Path) -> None:
    truth, results = random_world(27, unseen=True)
    found = vt.analyse(*sides(truth, results, tmp_path), iou=0.5)
    last = found.to_dict()["errors"]["classes"]["c4"]
    assert last["AP"] is None
    assert sum(last["counts"].values()) == sum(d["category_id"] == 4 for d in results)
    assert sum(found.errors.cost.values()) == pytest.approx(1 - found.errors.base, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_types_and_single_gains_equal_tidecvs(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without crowds and ties the definitions agree, once precision is read at its own recalls, i / 100."""
    tidecv = pytest.importorskip("tidecv", reason="tidecv is in the group 'peers'")
    truth, results = random_world(seed, crowds=False)
    data, preds = tidecv.Data("truth"), tidecv.Data("pred")
    grid = [i / 100 for i in range(101)]
    monkeypatch.setattr(
        vt.CocoResults, "tp_needed_per_recall", lambda self, n: np.searchsorted(np.arange(1, n + 1) / n, grid) + 1
    )
    for image in truth["images"]:
        data.add_image(image["id"], image["file_name"])
    for a in truth["annotations"]:
        data.add_ground_truth(a["image_id"], a["category_id"], a["bbox"])
    for d in results:
        preds.add_detection(d["image_id"], d["category_id"], d["score"], d["bbox"])
    run = tidecv.TIDE().evaluate(data, preds, pos_threshold=0.5, background_threshold=0.1, mode=tidecv.TIDE.BOX)
    found = vt.analyse(*sides(truth, results, tmp_path), iou=0.5).errors
    theirs = {TIDE_TYPES[kind.short_name]: len(errors) for kind, errors in run.error_dict.items()}
    assert theirs == found.counts
    gains = {TIDE_TYPES[kind.short_name]: gain for kind, gain in run.fix_main_errors().items()}
    assert found.mean(found.label_base[:, None]) == pytest.approx([run.ap / 100], abs=1e-12)
    assert found.alone == pytest.approx({kind: gain / 100 for kind, gain in gains.items()}, abs=1e-12)


DEVIATIONS = Path(__file__).parents[2] / "docs" / "explanation" / "deviations.md"
CASES = (
    "tide-equal-confidences",
    "tide-crowds",
    "tide-class-without-truths",
    "tide-all-missed",
    "lrp-equal-confidences",
    "confusion-same-label-first",
    "calibration-of-any-number",
    "laece-of-a-calibrated-label",
    "laece0-of-nothing-touched",
)


@pytest.mark.parametrize("name", CASES)
def test_every_case_has_its_row(name: str) -> None:
    assert f"| {name} |" in DEVIATIONS.read_text()


def test_equal_confidences_stay_in_their_order_when_something_is_fixed() -> None:
    """Right, twice, right, wrong, all at .9: precision 1 at 51 recalls, 2/3 at 50. Without the second: 1."""
    errors = analyse_case("tide-equal-confidences").errors
    base = (51 + 50 * 2 / 3) / 101
    assert errors.base == pytest.approx(base)
    assert errors.alone["duplicate"] == pytest.approx(1 - base)


def test_tidecv_puts_wrong_ones_first_then() -> None:
    ap, counts, gains = analyse_by_tidecv("tide-equal-confidences")
    assert ap == pytest.approx((51 + 50 * 2 / 3) / 101)
    assert counts["duplicate"] == 1
    assert gains["duplicate"] == 0  # wrong, right, right: 2/3, less than before, and cut off at 0


def test_a_prediction_on_a_crowd_is_no_error_and_a_crowd_is_no_target() -> None:
    """The second lies in the crowd; the third does not, by 0.47 of itself; it overlaps it by 0.30: nothing is there."""
    found = analyse_case("tide-crowds")
    assert found.errors.counts == dict.fromkeys(found.errors.counts, 0) | {"background": 1}
    assert found.to_dict()["set_aside_reasons"] == {"crowd": 1}


def test_tidecv_counts_predictions_on_crowds_and_hotcoco_makes_the_crowd_a_target() -> None:
    assert analyse_by_tidecv("tide-crowds")[1]["background"] == 2
    counts = evaluate_by_hotcoco("tide-crowds").tide_errors()["counts"]
    assert (counts["Loc"], counts["Bkg"]) == (1, 0)


def test_a_class_without_truths_is_in_no_mean_and_its_errors_are_counted() -> None:
    errors = analyse_case("tide-class-without-truths").errors
    assert errors.base == pytest.approx(1)
    assert errors.counts["background"] == 1


def test_tidecv_puts_zero_into_the_mean_for_it() -> None:
    assert analyse_by_tidecv("tide-class-without-truths")[0] == pytest.approx(0.5)


def test_a_class_without_matches_is_missed() -> None:
    errors = analyse_case("tide-all-missed").errors
    assert errors.cost["missed"] == pytest.approx(0.5)
    assert errors.alone["missed"] == pytest.approx(0.5)


def test_hotcoco_says_that_finding_it_gains_nothing() -> None:
    told = evaluate_by_hotcoco("tide-all-missed").tide_errors()
    assert told["ap_base"] == pytest.approx(0.5)
    assert told["delta_ap"]["Miss"] == 0
