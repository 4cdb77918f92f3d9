"""The traps of pycocotools: sensible by default, repeated in the exact mode where the reference does not crash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.oracles.coco_reference import reference
from tests.protocols.test_coco_reference import assert_same_bits

QUIRKS = Path(__file__).parent.parent / "data" / "quirks"
DEVIATIONS = Path(__file__).parents[2] / "docs" / "explanation" / "deviations.md"


def case(name: str) -> tuple[Path, Path]:
    return QUIRKS / name / "truth.json", QUIRKS / name / "results.json"


def evaluated(name: str, **settings: Any) -> vt.CocoResults:
    truth_path, pred_path = case(name)
    truth = vt.read(truth_path)
    return vt.coco(truth, vt.read(pred_path, like=truth), checks="off", **settings)


def by_reference(name: str, **settings: Any) -> Any:
    return reference(*(json.loads(path.read_text()) for path in case(name)), "bbox", **settings)


def test_a_truth_with_the_id_zero_can_be_found() -> None:
    assert evaluated("truth-id-zero").scores["AR100"].value == 1


def test_the_exact_mode_does_not_find_a_truth_with_the_id_zero() -> None:
    expected = by_reference("truth-id-zero")
    assert expected.stats[8] == 0.5
    assert_same_bits(evaluated("truth-id-zero", quirks="pycocotools"), expected)


def test_truths_with_the_same_id_are_two_truths() -> None:
    assert evaluated("repeated-truth-ids").scores["AR100"].value == 1


def test_the_exact_mode_sees_the_last_of_truths_with_the_same_id_twice() -> None:
    expected = by_reference("repeated-truth-ids")
    assert expected.stats[8] < 1
    assert_same_bits(evaluated("repeated-truth-ids", quirks="pycocotools"), expected)


def test_no_results_score_zero_where_the_reference_crashes() -> None:
    assert evaluated("no-results").scores["AP"].value == 0
    assert evaluated("no-results", quirks="pycocotools").scores["AP"].value == 0
    with pytest.raises(IndexError):
        by_reference("no-results")


def test_a_confidence_that_is_no_number_is_refused() -> None:
    with pytest.raises(vt.DataError, match=r"found 1 that are no numbers, the first in image 'a\.jpg'"):
        evaluated("confidence-not-a-number")


def test_the_exact_mode_takes_a_confidence_that_is_no_number_as_the_last() -> None:
    expected = by_reference("confidence-not-a-number")
    assert_same_bits(evaluated("confidence-not-a-number", quirks="pycocotools"), expected)


def test_a_box_that_is_no_number_is_refused() -> None:
    truth, pred = (str(path) for path in case("box-not-a-number"))
    with pytest.raises(vt.DataError, match="V111 1 of 1 boxes has coordinates that are NaN or infinite"):
        vt.coco(truth, pred)


def test_without_checks_a_box_that_is_no_number_overlaps_everything_as_in_the_reference() -> None:
    expected = by_reference("box-not-a-number")
    assert expected.stats[0] == pytest.approx(1)
    assert_same_bits(evaluated("box-not-a-number", quirks="pycocotools"), expected)
    assert evaluated("box-not-a-number").scores["AP"].value == expected.stats[0]


def test_ap_is_known_without_a_limit_of_a_hundred() -> None:
    assert evaluated("max-dets-without-100", max_dets=[1, 10, 50]).scores["AP"].value == pytest.approx(1)


def test_the_exact_mode_has_no_ap_without_a_limit_of_a_hundred() -> None:
    expected = by_reference("max-dets-without-100", maxDets=[1, 10, 50])
    assert expected.stats[0] == -1
    exact = evaluated("max-dets-without-100", max_dets=[1, 10, 50], quirks="pycocotools")
    assert np.isnan(exact.scores["AP"].value)
    assert_same_bits(exact, expected)


def test_an_explicit_ignore_is_overwritten_unless_asked_for() -> None:
    assert evaluated("explicit-ignore").scores["AR100"].value == by_reference("explicit-ignore").stats[8] == 0.5
    assert evaluated("explicit-ignore", ignored="explicit").scores["AR100"].value == 1


@pytest.mark.parametrize("folder", sorted(path.name for path in QUIRKS.iterdir()))
def test_every_quirk_is_a_named_row_of_the_page_on_deviations(folder: str) -> None:
    assert f"| {folder} |" in DEVIATIONS.read_text()
