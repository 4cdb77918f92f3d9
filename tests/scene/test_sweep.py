"""Settings that turn the order, costs of missed and spurious objects, and results without ground truth."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest

import verite as vt
from verite.cli import run
from verite.errors import BadParameter
from verite.scene.score import CandidateMatches, Costs, SceneObjects, ScoreRules, score_scenes
from verite.scene.sweep import distances_between, lowest_lines, sweep_settings

FIGURE1 = files("verite") / "data" / "scene" / "figure1"


@pytest.fixture
def four():
    truth = vt.read(FIGURE1 / "truth.json")
    return truth, {name: vt.read(FIGURE1 / f"{name}.json", like=truth) for name in "abcd"}


def test_four_results_of_one_scene_are_ordered_as_in_figure_16(four):
    truth, results = four
    scores = {name: vt.scene_score(truth, pred, checks="off").score for name, pred in results.items()}
    # Three objects. Each box of (a) is moved by a fifth of its width: 0.8 · 0.2. (b) adds 0.2 · 1 for one of three,
    # (c) has 1 for one of three, and the box of (d) covers two people but for 40 of 100 rows: 0.8 · 0.4 twice.
    assert scores == pytest.approx({"a": 0.16, "b": 0.68 / 3, "c": 1.32 / 3, "d": 0.8 / 3})
    published = {"a": 0.1242, "b": 0.1574, "c": 0.3716, "d": 0.1935}
    assert sorted(scores, key=scores.get) == sorted(published, key=published.get)


def test_no_alpha_puts_d_first(four):
    """The paper says another alpha could; neither (a) nor (d) has a recognition error, so both are lines through 0."""
    truth, results = four
    found = sweep_settings(truth, results, ["alpha"])
    assert [(lead.first, lead.low, lead.high) for lead in found.leads] == [("a", 0, 1)]
    assert found.never_first() == ["b", "c", "d"]
    # But it is before (b) for alpha < 1 / 1.4: alpha / 3 against (0.6 alpha + 1 - alpha) / 3.
    pair = sweep_settings(truth, {name: results[name] for name in "bd"}, ["alpha"])
    assert [(lead.first, round(lead.high, 6)) for lead in pair.leads] == [("d", round(1 / 1.4, 6)), ("b", 1)]


def test_no_alpha_puts_d_first_by_the_printed_scores():
    """From figure 16 alone: scores are lines in alpha, (a) is 0 at alpha 0, and (d) is c there, from 0 to its score."""
    a, d = 0.1242, 0.1935  # at alpha 0.8
    for c in np.linspace(0, d, 50):
        lead_at_zero, lead_at_one = c, c + ((d - a) - c) / 0.8
        assert lead_at_zero >= 0
        assert lead_at_one > 0


def test_a_threshold_decides_which_match_is_lost(four):
    truth, results = four
    found = sweep_settings(truth, {name: results[name] for name in "ad"}, ["threshold"])
    # The second box of (a) reaches 10 of 90 pixels into its neighbour: a fourth match of 0.8 · 0.8 below IoU 0.111, and
    # the mean of (a) is 1.12 / 4 instead of 0.16, above the 0.8 / 3 of (d).
    assert [(lead.first, lead.low, lead.high) for lead in found.leads] == [("d", 0.05, 0.1), ("a", 0.15, 0.95)]
    assert found.leads[0].at_low == pytest.approx(0.8 / 3)
    with pytest.raises(BadParameter, match="sweep: expected alpha, threshold or both, found 'beta'"):
        sweep_settings(truth, results, ["beta"])


def test_three_lines_have_a_lower_envelope_by_hand():
    # 0.3, x and 0.5 - 0.5 x: the rising line is lowest until 0.3, the constant until 0.4, then the falling one.
    leads = lowest_lines(["flat", "rising", "falling"], np.array([0.3, 0.0, 0.5]), np.array([0.3, 1.0, 0.0]))
    assert [(lead.first, round(lead.low, 9), round(lead.high, 9)) for lead in leads] == [
        ("rising", 0, 0.3), ("flat", 0.3, 0.4), ("falling", 0.4, 1),
    ]  # fmt: skip


def test_costs_weigh_missed_and_spurious_objects():
    """One match of score 0.4, two missed, one spurious: a pair and a missed one."""
    zero = np.zeros(1, np.int64)
    pairs = CandidateMatches(zero, zero, np.array([0.8]), np.array([0.5]), np.array([0.0]))
    objects = SceneObjects(1, np.zeros(3, np.int64), np.zeros(2, np.int64))

    def score(**cost: float) -> float:
        return float(score_scenes(objects, pairs, ScoreRules(cost=Costs(**cost))).score[0])

    assert score() == pytest.approx((0.4 + 2) / 3)
    assert score(missed=3) == pytest.approx((0.4 + 3 + 3) / 7)  # the pair weighs as its heavier member
    assert score(spurious=5) == pytest.approx((0.4 + 5 + 1) / 7)
    assert score(missed=0, spurious=0) == pytest.approx(0.4)


def test_the_cost_is_in_the_signature_and_wrong_ones_are_refused(four):
    truth, results = four
    found = vt.scene_score(truth, results["c"], cost={"missed": 3}, checks="off")
    assert found.score == pytest.approx((0.16 + 0.16 + 3) / 5)
    assert "cost:missed=3,spurious=1" in str(found.signature)
    assert "cost" not in str(vt.scene_score(truth, results["c"], checks="off").signature)
    with pytest.raises(BadParameter, match="cost: expected missed=N,spurious=N"):
        vt.scene_score(truth, results["c"], cost="mised=3")
    with pytest.raises(BadParameter, match="cost: expected missed=N from 0 up, found -1"):
        vt.scene_score(truth, results["c"], cost={"missed": -1})


def test_results_are_compared_without_ground_truth(four):
    _, results = four
    found = distances_between({name: results[name] for name in "ac"})
    # (c) is (a) without its third box: one of three is missing.
    assert found.matrix == pytest.approx(np.array([[0, 1 / 3], [1 / 3, 0]]))
    assert found.label_first() == [("field.png", pytest.approx(1 / 3))]
    with pytest.raises(BadParameter, match="expected two detectors or more, found 1"):
        distances_between({"a": results["a"]})


def test_distances_and_sweeps_on_the_command_line(capsys):
    paths = [str(FIGURE1 / f"{name}.json") for name in ("truth", "a", "b", "c", "d")]
    assert run(["scene-score", *paths, "--sweep", "alpha,threshold", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["never_first"] == ["b", "c"]
    assert run(["scene-score", *paths[1:], "--like", paths[0], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["distances"]["a"]["c"] == pytest.approx(1 / 3)
    assert found["label_first"][0]["image"] == "field.png"
    assert run(["scene-score", *paths[1:], "--like", paths[0], "--sweep", "alpha"]) == 2
    assert run(["scene-score", paths[0]]) == 2
    assert run(["scene-score", paths[0], paths[1], "--sweep", "alpha"]) == 2
    assert "expected two PREDs or more, found 1" in capsys.readouterr().err


def test_a_forgiving_metric_is_named_where_detectors_are_chosen(capsys):
    demo = files("verite") / "data" / "demo"
    assert run(["scene-score", *(str(demo / f"{name}.json") for name in ("truth", "hawk", "magpie", "mole"))]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "the order depends on the localization metric" in said
    assert said.index("hawk 0.4041") < said.index("magpie 0.4461") < said.index("mole 0.5222")
    assert run(["scene-score", str(demo / "truth.json"), str(demo / "mole.json")]) == 0
    assert "martin forgives much" in " ".join(capsys.readouterr().out.split())
