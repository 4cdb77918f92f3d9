"""Two systems: by hand, and equal to statsmodels' McNemar and scipy's binomial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.analysis.worlds import scene, write_pair
from tests.oracles.analysis import random_world
from verite.analysis.comparison import OUTCOMES
from verite.leaderboards.bootstrap import paired_interval

TRUTHS = [("a", [0, 0, 10, 10]), ("a", [20, 0, 10, 10]), ("b", [40, 0, 10, 10]), ("b", [60, 0, 10, 10])]


def test_objects_outcomes_and_unshared_false_positives_by_hand() -> None:
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
    at = {name: i for i, name in enumerate(OUTCOMES)}
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
    assert pair.decisive | {"errors_to_turn_AP": None} == {
        "errors_to_tie": tie,
        "errors_to_reverse": reverse,
        "errors_to_turn_AP": None,
    }
    if tie > 1:
        ranked = vt.rank(
            vt.DetectionTable.of(truth, {"one": first, "two": second}), errors=vt.annotation_errors.AtMost(1)
        )
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
    assert sum(counts.values()) == pair.matches.truth_counts.sum()


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


def two_finders() -> tuple[vt.Annotations, dict[str, vt.Annotations]]:
    """Both find the first of two objects, and one of them the second."""
    truth, good = scene(TRUTHS[:2], [("a", 0.9, TRUTHS[0][1]), ("a", 0.8, TRUTHS[1][1])])
    return truth, {"good": good, "poor": scene(TRUTHS[:2], [("a", 0.9, TRUTHS[0][1])])[1]}


def test_an_annotation_swings_the_lead_by_its_removal() -> None:
    """Area below all points. 1 and 1/2. Without the second object, which good alone finds: 1 and 1, the lead of poor
    changes by 1/2. Without the first: its finders are wrong, 1/2 (second of two) and 0: the lead stays.
    """
    pair = vt.analyse(*two_finders(), protocol="voc", checks="off").comparison[0]
    assert pair.swing == pytest.approx([0.0, 0.5])
    assert pair.decisive == {"errors_to_tie": 1, "errors_to_reverse": 1, "errors_to_turn_AP": None}
    (row,) = pair.flips().rows
    assert row[1:3] == ("a", "good")
    assert dict(zip(pair.flips().head, row, strict=True))["swing of AP"] == pytest.approx(0.5)


def test_swings_are_differences_of_whole_evaluations(pair: Any) -> None:
    """Each record taken out of the truth, and both systems evaluated again."""
    truth = pair.matches.truth
    one, two = pair.one.results, pair.two.results
    for row in np.flatnonzero(pair.matches.counted_truth)[::7]:
        rest = truth.where(np.arange(len(truth)) != row)
        again = [vt.coco(rest, each.pred, checks="off")["AP"].value for each in (one, two)]
        expected = (again[1] - again[0]) - (two["AP"].value - one["AP"].value)
        assert pair.swing[row] == pytest.approx(expected, abs=1e-12)


def test_so_many_records_turn_the_order_and_what_is_looked_at_first_matters_most(pair: Any) -> None:
    turned = pair.decisive["errors_to_turn_AP"]
    lead = pair.one.results["AP"].value - pair.two.results["AP"].value
    order = np.argsort(pair.swing * (-1 if lead > 0 else 1), kind="stable")
    rest = pair.matches.truth.where(~np.isin(np.arange(len(pair.matches.truth)), order[:turned]))
    again = [vt.coco(rest, each.results.pred, checks="off")["AP"].value for each in (pair.one, pair.two)]
    assert (again[0] - again[1]) * lead < 0
    table = pair.flips()
    weight = [abs(row[-2]) * row[-3] for row in table.rows]
    assert table.head[-3:] == ("suspicion", "swing of AP", "row")
    assert weight == sorted(weight, reverse=True)


def test_an_annotation_that_two_detectors_contradict_is_listed_once() -> None:
    """Both see an object where the truth has none, and another label on a truth: two rows, not four."""
    truths = [*TRUTHS, ("b", [80, 80, 10, 10])]
    right = [(label, 0.9, box) for label, box in TRUTHS]
    extra = [("a", 0.8, [40, 60, 10, 10]), ("a", 0.7, [80, 80, 10, 10])]
    truth, one = scene(truths, [*right, *extra])
    _, two = scene(truths, [*right[:3], ("a", 0.6, [40, 60, 10, 11]), ("a", 0.5, [80, 80, 10, 9])])
    found = vt.analyse(truth, {"one": one, "two": two}, iou=0.5, checks="off")
    kinds = [told["kind"] for told in found.suspicious if told["kind"] in ("label?", "missing?")]
    assert sorted(kinds) == ["label?", "missing?"]
    assert found.to_dict()["suspicious"] == found.suspicious
    audit = found.audit()
    assert {row.kind for row in audit} >= {"label", "missing"}
    missing = next(row for row in audit if row.kind == "missing")
    assert missing.influence >= 0
    assert "suspicion" in missing.reason


def test_verdicts_on_the_audit_list_go_back_into_leaderboards_and_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import csv
    import json
    from importlib.resources import files

    from verite.cli import run

    demo = Path(str(files("verite") / "data" / "demo"))
    paths = [str(demo / f"{name}.json") for name in ("truth", "hawk", "magpie")]
    assert run(["analyse", *paths, "--audit", "20", "-o", str(tmp_path / "out"), "--no-plot", "--quiet"]) == 0
    kept = tmp_path / "out" / "audit.csv"
    rows = list(csv.DictReader(kept.read_text().splitlines()))
    assert len(rows) == 20
    records = [row for row in rows if row["kind"] != "missing"]
    for i, row in enumerate(records):
        row["verdict"] = "wrong" if i < 3 else "right"
    with kept.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    capsys.readouterr()
    assert run(["rank", *paths, "--audit", str(kept), "--json"]) == 0
    assert f"audit(errors=3, checked={len(records)})" in json.loads(capsys.readouterr().out)["signature"]
    assert run(["leaderboard", *paths, "--audit", str(kept), "--draws", "20"]) == 1
    assert "expected a rate of" in capsys.readouterr().err  # these annotations were chosen, not drawn at random
    rates = ["--errors", "spurious=0.02,label=0.02"]
    assert run(["leaderboard", *paths, "--audit", str(kept), *rates, "--draws", "20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    (tmp_path / "empty.csv").write_text("kind,verdict\nspurious,\n")
    assert run(["rank", *paths, "--audit", str(tmp_path / "empty.csv")]) == 1
    assert "expected verdicts, right or wrong, of some annotations, found none" in capsys.readouterr().err
