"""Where other tools differ from the analysis: the smallest cases, by hand, and what the tools say of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt

QUIRKS = Path(__file__).parent.parent / "data" / "quirks"
DEVIATIONS = Path(__file__).parents[2] / "docs" / "explain" / "deviations.md"
WORDS = {"Cls": "class", "Loc": "localization", "Both": "both", "Dupe": "duplicate", "Bkg": "background",
         "Miss": "missed"}  # fmt: skip
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


def analysed(name: str, **settings: Any) -> Any:
    truth = vt.read(QUIRKS / name / "truth.json")
    pred = vt.read(QUIRKS / name / "results.json", like=truth)
    return vt.analyse(truth, pred, iou=0.5, checks="off", confidence=0.0, **settings)


def by_tidecv(name: str) -> Any:
    tidecv = pytest.importorskip("tidecv", reason="tidecv is in the group 'peers'")
    truth, results = (json.loads((QUIRKS / name / f"{side}.json").read_text()) for side in ("truth", "results"))
    data, preds = tidecv.Data("truth"), tidecv.Data("pred")
    for image in truth["images"]:
        data.add_image(image["id"], image["file_name"])
    for a in truth["annotations"]:
        add = data.add_ignore_region if a["iscrowd"] else data.add_ground_truth
        add(a["image_id"], a["category_id"], a["bbox"])
    for d in results:
        preds.add_detection(d["image_id"], d["category_id"], d["score"], d["bbox"])
    run = tidecv.TIDE().evaluate(data, preds, pos_threshold=0.5, background_threshold=0.1, mode=tidecv.TIDE.BOX)
    counts = {WORDS[kind.short_name]: len(errors) for kind, errors in run.error_dict.items()}
    return run.ap / 100, counts, {WORDS[kind.short_name]: v / 100 for kind, v in run.fix_main_errors().items()}


def by_hotcoco(name: str) -> Any:
    hotcoco = pytest.importorskip("hotcoco", reason="hotcoco is in the group 'peers'")
    truth = hotcoco.COCO(str(QUIRKS / name / "truth.json"))
    run = hotcoco.COCOeval(truth, truth.load_res(str(QUIRKS / name / "results.json")), "bbox")
    run.evaluate()
    run.accumulate()
    return run


@pytest.mark.parametrize("name", CASES)
def test_every_case_has_its_row(name: str) -> None:
    assert f"| {name} |" in DEVIATIONS.read_text()


def test_equal_confidences_stay_in_their_order_when_something_is_fixed() -> None:
    """Right, twice, right, wrong, all at .9: precision 1 at 51 recalls, 2/3 at 50. Without the second: 1."""
    errors = analysed("tide-equal-confidences").errors
    base = (51 + 50 * 2 / 3) / 101
    assert errors.base == pytest.approx(base)
    assert errors.alone["duplicate"] == pytest.approx(1 - base)


def test_tidecv_puts_wrong_ones_first_then() -> None:
    ap, counts, gains = by_tidecv("tide-equal-confidences")
    assert ap == pytest.approx((51 + 50 * 2 / 3) / 101)
    assert counts["duplicate"] == 1
    assert gains["duplicate"] == 0  # wrong, right, right: 2/3, less than before, and cut off at 0


def test_what_a_crowd_excuses_is_no_error_and_a_crowd_is_nobodys_target() -> None:
    """The second lies in the crowd; the third does not, by 0.47 of itself; it overlaps it by 0.30: nothing is there."""
    found = analysed("tide-crowds")
    assert found.errors.counts == dict.fromkeys(found.errors.counts, 0) | {"background": 1}
    assert found.to_dict()["set_aside_reasons"] == {"crowd": 1}


def test_tidecv_counts_what_a_crowd_excuses_and_hotcoco_aims_at_the_crowd() -> None:
    assert by_tidecv("tide-crowds")[1]["background"] == 2
    counts = by_hotcoco("tide-crowds").tide_errors()["counts"]
    assert (counts["Loc"], counts["Bkg"]) == (1, 0)


def test_a_class_without_truths_is_in_no_mean_and_its_errors_are_counted() -> None:
    errors = analysed("tide-class-without-truths").errors
    assert errors.base == pytest.approx(1)
    assert errors.counts["background"] == 1


def test_tidecv_puts_zero_into_the_mean_for_it() -> None:
    assert by_tidecv("tide-class-without-truths")[0] == pytest.approx(0.5)


def test_a_class_that_nobody_finds_is_missed() -> None:
    errors = analysed("tide-all-missed").errors
    assert errors.cost["missed"] == pytest.approx(0.5)
    assert errors.alone["missed"] == pytest.approx(0.5)


def test_hotcoco_says_that_finding_it_gains_nothing() -> None:
    told = by_hotcoco("tide-all-missed").tide_errors()
    assert told["ap_base"] == pytest.approx(0.5)
    assert told["delta_ap"]["Miss"] == 0


def test_no_threshold_parts_equal_confidences() -> None:
    """One right, one wrong, both at .9, one truth: kept together (0 + 1 + 0) / 2. LRP-Error's code says 0."""
    assert analysed("lrp-equal-confidences").lrp.to_dict()["oLRP"] == pytest.approx(0.5)


def test_a_person_on_a_horse_is_a_person() -> None:
    assert analysed("confusion-same-label-first").confusion.matrix.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_hotcoco_takes_the_person_for_the_horse_though_its_own_ap_counts_it() -> None:
    run = by_hotcoco("confusion-same-label-first")
    assert np.asarray(run.confusion_matrix(iou_thr=0.5)["matrix"]).tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0]]
    assert run.tide_errors()["ap_base"] == pytest.approx(0.5)


def test_confidences_that_are_no_probabilities_are_told() -> None:
    found = analysed("calibration-of-any-number").calibration
    assert found.absent == "expected confidences from 0 to 1, found 1.5 in prediction 1"


def test_hotcocos_function_takes_them_in_silence() -> None:
    """1.5 is in the last bin with .9: |1/2 − 1.2|."""
    metrics = pytest.importorskip("hotcoco", reason="hotcoco is in the group 'peers'").metrics
    assert metrics.calibration_error(np.array([0.9, 1.5]), np.array([True, False]), 10)[0] == pytest.approx(0.7)


def test_a_calibrated_label_is_in_the_mean() -> None:
    """0 and 0.4; without the first, as the code of LaECE has it, 0.4."""
    assert analysed("laece-of-a-calibrated-label").calibration.mean["laece"] == pytest.approx(0.2)


def test_a_prediction_that_touches_nothing_uses_up_no_object() -> None:
    """0.9 that touches nothing and 0.8 at IoU 1, in bins of their own: (0.9 + 0.2) / 2."""
    assert analysed("laece0-of-nothing-touched").calibration.mean["laece0"] == pytest.approx(0.55)


def test_at_an_iou_of_0_pycocotools_matching_gives_the_object_to_the_first_prediction() -> None:
    """The code of LaECE₀ matches as pycocotools does, at a threshold of 0: (0.9 + 0.8) / 2 = 0.85."""
    pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")
    from tests.oracles.coco_reference import reference

    home = QUIRKS / "laece0-of-nothing-touched"
    sides = [json.loads((home / f"{side}.json").read_text()) for side in ("truth", "results")]
    found = reference(*sides, "bbox", iouThrs=np.array([0.0])).evalImgs[0]
    assert (found["dtScores"], found["dtMatches"].tolist()) == ([0.9, 0.8], [[1.0, 0.0]])
