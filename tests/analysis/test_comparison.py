"""Two systems: by hand, and equal to statsmodels' McNemar and scipy's binomial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.analysis.worlds import scene, write_pair
from tests.oracles.analysis import random_world
from verite.analysis.comparison import FATES
from verite.leaderboards.resampling import paired_interval

TRUTHS = [("a", [0, 0, 10, 10]), ("a", [20, 0, 10, 10]), ("b", [40, 0, 10, 10]), ("b", [60, 0, 10, 10])]


def test_objects_fates_and_lonely_predictions_by_hand() -> None:
    """One finds the first two and has a wrong one both have; two finds the second and third, and one more is wrong."""
    truth, one = scene(TRUTHS, [("a", 0.9, [0, 0, 10, 10]), ("a", 0.8, [20, 0, 10, 10]), ("a", 0.7, [80, 80, 9, 9])])
    _, two = scene(
        TRUTHS,
        [
            ("a", 0.9, [20, 0, 10, 10]),
            ("b", 0.8, [40, 0, 10, 10]),
            ("a", 0.7, [80, 80, 9, 9]),
            ("b", 0.6, [0, 80, 9, 9]),
        ],
    )
    found = vt.analyse(truth, {"one": one, "two": two}, iou=0.5, confidence=0.0, checks="off")
    pair = found.comparison[0]
    assert pair.objects == {"both": 1, "only_first": 1, "only_second": 1, "neither": 1}
    assert pair.p_objects == 1.0
    assert pair.only_wrong == (0, 1)
    at = {name: i for i, name in enumerate(FATES)}
    assert pair.migration[at["right"], at["right"]] == 1
    assert pair.migration[at["right"], at["missed"]] == 1
    assert pair.migration[at["missed"], at["right"]] == 1
    assert pair.migration.sum() == 4
    table = pair.flips()
    assert sorted((row[1], row[2]) for row in table.rows) == [("a", "one"), ("b", "two")]


@pytest.mark.parametrize(("one", "two", "tie", "reverse"), [(10, 4, 3, 4), (5, 5, 0, 1), (4, 1, 2, 2)])
def test_how_many_wrong_records_decide(one: int, two: int, tie: int, reverse: int) -> None:
    """10 and 4: each wrong record of the first's own takes 2 of the lead of 6."""
    count = one + two
    boxes = [[12.0 * k, 0, 10, 10] for k in range(count)]
    truth = vt.Annotations.of(["i"] * count, ["a"] * count, boxes, "xywh")
    first = vt.Annotations.of(["i"] * one, ["a"] * one, boxes[:one], "xywh", confidence=[0.9] * one)
    second = vt.Annotations.of(["i"] * two, ["a"] * two, boxes[one:], "xywh", confidence=[0.9] * two)
    pair = vt.analyse(truth, {"one": first, "two": second}, checks="off").comparison[0]
    assert pair.decisive == {"errors_to_tie": tie, "errors_to_reverse": reverse}
    if tie > 1:
        ranked = vt.rank(vt.Finds.of(truth, {"one": first, "two": second}), errors=vt.truth_errors.AtMost(1))
        (told,) = ranked.to_dict()["pairs"]
        assert (told["errors_to_tie"], told["errors_to_reverse"]) == (tie, reverse)


@pytest.fixture
def pair(tmp_path: Path) -> Any:
    truth, results = random_world(3, images=25)
    paths = write_pair(tmp_path, truth, results)
    known = vt.read(paths[0])
    pred = vt.read(paths[1], like=known)
    half = pred.take(np.arange(0, len(pred), 2))
    return vt.analyse(known, {"all": pred, "half": half}, confidence=0.2, draws=50).comparison[0]


def test_differences_of_costs_add_up_to_that_of_ap(pair: Any) -> None:
    lead = pair.one.errors.base - pair.two.errors.base
    assert sum(pair.difference.values()) == pytest.approx(lead, abs=1e-12)


def test_mcnemar_is_statsmodels(pair: Any) -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables", reason="statsmodels is in the group 'test'")
    counts = pair.objects
    table = [[counts["both"], counts["only_first"]], [counts["only_second"], counts["neither"]]]
    assert pair.p_objects == pytest.approx(tables.mcnemar(table, exact=True).pvalue, rel=1e-9)
    assert sum(counts.values()) == pair.matches.truths.sum()


def test_flipped_signs_of_images_agree_with_counting_all_of_them() -> None:
    """Four images with leads 1, 1, 1, 1: of 16 sign patterns two have a sum as large, p = 1/8."""
    names = [f"i{k}" for k in range(4)]
    truth = vt.Annotations.of(names, ["a"] * 4, [[0, 0, 9, 9]] * 4)
    right = vt.Annotations.of(names, ["a"] * 4, [[0, 0, 9, 9]] * 4, confidence=[0.9] * 4)
    wrong = vt.Annotations.of(names, ["a"] * 4, [[50, 50, 59, 59]] * 4, confidence=[0.9] * 4)
    pair = vt.analyse(truth, {"one": right, "two": wrong}, checks="off").comparison[0]
    assert pair.p_images == pytest.approx(1 / 8, abs=0.01)
    assert pair.p_objects == pytest.approx(1 / 8)


def test_intervals_of_labels_are_those_of_each_label_alone(pair: Any) -> None:
    one = pair.labels[0]
    alone = paired_interval(pair.one.results, pair.two.results, "AP", one["label"], 0.95, draws=50, seed=0)
    assert (one["low"], one["high"]) == pytest.approx(alone, abs=1e-12)


def test_a_system_does_not_differ_from_itself(tmp_path: Path) -> None:
    paths = write_pair(tmp_path, *random_world(4))
    known = vt.read(paths[0])
    pred = vt.read(paths[1], like=known)
    pair = vt.analyse(known, {"a": pred, "b": pred}).comparison[0]
    assert (pair.objects["only_first"], pair.objects["only_second"]) == (0, 0)
    assert (pair.p_objects, pair.p_images) == (1.0, 1.0)
    assert pair.only_wrong == (0, 0)
    assert np.count_nonzero(pair.migration - np.diag(np.diag(pair.migration))) == 0
