"""Studies of human judgement: plans, votes, simulated judges with known preferences, other people's studies."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPConnection
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import verite as vt
from verite.cli import run
from verite.errors import BadParameter, DataError, ReadError
from verite.judge.fit import (
    COMPONENTS,
    DecidedVotes,
    crossed_interval,
    davidson,
    decided_votes,
    fit,
    fit_metric,
    held_out_folds,
    human_ceiling,
    judged_properties,
    krippendorff,
    metric_module,
    metric_shares,
)
from verite.judge.other_studies import has_boxes, read_study, study_choices
from verite.judge.page import crop_as_data, make_page, make_server
from verite.judge.plan import (
    Plan,
    Trial,
    find_candidates,
    make_plan,
    penalties_of,
    read_plan,
    save_plan,
    study_candidates,
)
from verite.judge.scenes import find_scenes, log_likelihoods, score_grid, scores_of
from verite.judge.votes import HEAD, Choice, Vote, read_choices, read_votes

DEMO = files("verite") / "data" / "demo"
CHOICES = Path(__file__).parents[3] / "shared" / "real" / "judgements" / "mturk-choices.csv"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(study_candidates(0), pairs=60, seed=0)


def preferences(plan: Plan, metric: str) -> np.ndarray:
    """By how much a metric prefers the left result of each trial."""
    trials = plan.trials
    sides = [penalties_of([t.truth for t in trials], [t.boxes[k] for t in trials], [t.size for t in trials])[metric]
             for k in (0, 1)]  # fmt: skip
    return sides[1] - sides[0]


def simulate(plan: Plan, metric: str, judges: int, seed: int, noise: float = 0.03, bias: float = 0.0) -> list[Vote]:
    """Votes of judges who follow a metric with noise, a bias to the left side, and 2 % lapses."""
    rng = np.random.default_rng(seed)
    chance = 0.01 + 0.98 / (1 + np.exp(-np.clip(preferences(plan, metric) / noise + bias, -50, 50)))
    return [
        Vote(f"judge-{j}", t.id, t.left, t.right, t.left if rng.random() < chance[i] else t.right, 500.0)
        for j in range(judges)
        for i, t in enumerate(plan.trials)
    ]


def test_a_plan_has_repeats_with_swapped_sides_and_catch_trials(plan):
    kinds = [trial.kind for trial in plan.trials]
    assert (kinds.count("pair"), kinds.count("repeat"), kinds.count("catch")) == (60, 6, 6)
    first = {(t.object, frozenset(t.names)): t for t in plan.trials if t.kind == "pair"}
    for trial in plan.trials:
        if trial.kind == "repeat":
            shown = first[trial.object, frozenset(trial.names)]
            assert (trial.left, trial.right) == (shown.right, shown.left)
        if trial.kind == "catch":
            assert trial.boxes[trial.names.index(trial.answer)] == trial.truth
    left = sum(t.left < t.right for t in plan.trials if t.kind == "pair")
    assert 15 <= left <= 45  # sides are random
    assert make_plan(study_candidates(0), pairs=60, seed=0).id == plan.id
    assert make_plan(study_candidates(0), pairs=60, seed=1).id != plan.id


def test_the_metric_that_judges_follow_is_found_and_random_clicks_are_excluded(plan):
    rng = np.random.default_rng(5)
    votes = simulate(plan, "hausdorff", 8, 1, noise=0.5)
    names = [[t.left, t.right, "equal", "cannot tell"][rng.integers(4)] for t in plan.trials]
    votes += [Vote("clicker", t.id, t.left, t.right, c, 90.0) for t, c in zip(plan.trials, names, strict=True)]
    found = fit(plan, votes)
    assert found.judges["clicker"].excluded
    assert not any(judge.excluded for name, judge in found.judges.items() if name != "clicker")
    best = max(found.metrics, key=lambda name: found.metrics[name].agreement)
    assert found.metrics["hausdorff"].agreement == found.metrics[best].agreement
    assert found.ceiling.agreement > 0.7
    assert found.metric is not None
    assert found.metric.held_out > 0.7
    assert found.metric.low <= found.metric.held_out <= found.metric.high
    assert found.chance == 0.5


def test_a_bias_to_one_side_is_seen(plan):
    plain, biased = (fit(plan, simulate(plan, "iou", 4, 2, bias=b)) for b in (0.0, 2.0))
    assert all(abs(judge.side_bias - 0.5) < 0.2 for judge in plain.judges.values())
    assert all(judge.side_bias > 0.6 for judge in biased.judges.values())


def test_the_held_out_share_is_not_the_share_of_the_fit():
    """Votes by chance: a fit explains some of them, other objects and judges half."""
    rng = np.random.default_rng(0)
    count, judges = 60, 6
    penalties = {name: rng.normal(size=(count, 2)) for name in COMPONENTS}
    pair = np.tile(np.arange(count), judges)
    decided = DecidedVotes(
        rng.integers(0, 2, count * judges), np.repeat(np.arange(judges), count), pair, pair, [], penalties
    )
    found = fit_metric(decided)
    assert found is not None
    assert abs(found.held_out - 0.5) < 0.1
    # The weights that all votes gave explain more of these votes than that: what is reported is not their share.
    combined = sum(weight * penalties[name] for name, weight in found.weights.items())
    assert decided.hits(combined).mean() > found.held_out


def test_folds_share_neither_object_nor_judge(plan):
    decided = decided_votes(plan, simulate(plan, "iou", 7, 0))
    seen = np.zeros(len(decided.chosen), dtype=int)
    for train, test in held_out_folds(decided, 0):
        assert not set(decided.object[train]) & set(decided.object[test])
        assert not set(decided.judge[train]) & set(decided.judge[test])
        seen[test] += 1
    assert (seen == 1).all()  # every vote is held out once


def test_intervals_cover_the_agreement_of_other_judges_and_objects():
    """300 studies of 12 judges and 40 objects from one population: the 95 % interval holds the mean at least 93 %."""
    rng = np.random.default_rng(0)
    hits, runs = 0, 300
    for _ in range(runs):
        ability, ease = rng.normal(0, 0.5, 12), rng.normal(0, 0.8, 40)
        logits = 0.8 + ability[:, None] + ease[None]
        values = (rng.random((12, 40)) < 1 / (1 + np.exp(-logits))).astype(float).ravel()
        found = crossed_interval(values, np.repeat(np.arange(12), 40), np.tile(np.arange(40), 12))
        hits += found.low <= TRUE_MEAN <= found.high
    assert hits / runs >= 0.93


# The mean of the logistic function of a normal variable of mean 0.8 and variance 0.5² + 0.8².
GRID = np.linspace(-8, 8, 4001)
DENSITY = np.exp(-(GRID**2) / 2)
TRUE_MEAN = float((DENSITY / (1 + np.exp(-(0.8 + np.sqrt(0.89) * GRID)))).sum() / DENSITY.sum())


def test_strengths_are_the_odds_of_winning():
    # 3 of 4 comparisons won: odds 3 to 1.
    values = davidson(np.array([[0.0, 3], [1, 0]]), np.zeros((2, 2)))
    assert np.exp(values[0] - values[1]) == pytest.approx(3)
    # Davidson 1970: ties of two equally strong results leave them equal.
    values = davidson(np.array([[0.0, 2], [2, 0]]), np.array([[0.0, 4], [4, 0]]))
    assert values == pytest.approx([0, 0], abs=1e-9)


def test_krippendorffs_alpha_of_a_worked_table():
    """Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section B: binary data, two observers, 0.095."""
    first = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    second = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff([[str(a), str(b)] for a, b in zip(first, second, strict=True)]) == pytest.approx(
        0.095, abs=5e-4
    )


def write_votes(path: Path, plan: Plan, votes: list[Vote], plan_id: str | None = None) -> None:
    lines = [",".join(HEAD)]
    lines += [f"{plan_id or plan.id},{v.pair},{v.left},{v.right},{v.choice},{v.ms:g}" for v in votes]
    path.write_text("\n".join(lines) + "\n")


def test_votes_are_read_and_wrong_ones_refused(plan, tmp_path):
    votes = simulate(plan, "iou", 2, 0)
    mine = [v for v in votes if v.judge == "judge-0"]
    write_votes(tmp_path / "votes-ann.csv", plan, mine)
    found = read_votes(plan, [tmp_path / "votes-ann.csv"])
    assert [(v.pair, v.choice) for v in found] == [(v.pair, v.choice) for v in mine]
    assert {v.judge for v in found} == {"ann"}
    write_votes(tmp_path / "votes-other.csv", plan, mine, plan_id="0123456789ab")
    with pytest.raises(ReadError, match="expected votes of plan"):
        read_votes(plan, [tmp_path / "votes-other.csv"])
    (tmp_path / "again").mkdir()
    write_votes(tmp_path / "again" / "votes-ann.csv", plan, mine)
    with pytest.raises(BadParameter, match="one file per judge, found 'ann'"):
        read_votes(plan, [tmp_path / "votes-ann.csv", tmp_path / "again" / "votes-ann.csv"])
    write_votes(tmp_path / "votes-bob.csv", plan, mine)
    with pytest.raises(BadParameter, match="votes of another judge"):
        read_votes(plan, [tmp_path / "votes-ann.csv", tmp_path / "votes-bob.csv"])
    (tmp_path / "votes-empty.csv").write_text("")
    with pytest.raises(ReadError, match="the columns plan,pair"):
        read_votes(plan, [tmp_path / "votes-empty.csv"])


def test_make_and_fit_on_the_command_line(tmp_path, capsys, monkeypatch):
    study = tmp_path / "study"
    sides = [str(DEMO / f"{name}.json") for name in ("truth", "hawk", "magpie")]
    assert run(["judge", "make", *sides, "--images", str(DEMO / "images"), "--pairs", "20", "-o", str(study)]) == 0
    plan = read_plan(study)
    document = json.loads((study / "plan.json").read_text())
    assert {"id", "image", "class", "left", "right", "kind"} <= set(document["pairs"][0])
    assert len({trial.label for trial in plan.trials}) > 3  # spread over classes
    for j in range(3):
        votes = [v for v in simulate(plan, "iou", 3, 7) if v.judge == f"judge-{j}"]
        write_votes(study / f"votes-{j}.csv", plan, votes)
    assert (
        run(
            [
                "judge",
                "fit",
                str(study / "plan.json"),
                str(study / "votes-*.csv"),
                "-o",
                str(tmp_path / "fit"),
                "--json",
            ]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert set(found) >= {"judges", "alpha", "metrics", "ceiling", "contrasts", "fitted"}
    assert set(found["metrics"]["iou"]) >= {"agreement", "low", "high"}
    monkeypatch.chdir(tmp_path / "fit")
    monkeypatch.syspath_prepend(str(tmp_path / "fit"))
    assert run(["localize", sides[0], sides[1], "-m", "fitted_metric:fitted", "-q"]) == 0
    assert run(["judge", "make", *sides, "-o", str(tmp_path / "none")]) == 2
    assert "--images" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert run(["judge", "make", *sides, "--images", str(tmp_path / "empty"), "-o", str(tmp_path / "none")]) == 1
    assert "expected the images of the ground truth" in capsys.readouterr().err
    assert run(["judge", "fit", str(study / "plan.json")]) == 2
    assert run(["judge", "fit", str(study / "index.html"), str(study / "votes-0.csv")]) == 1


def test_the_fitted_metric_is_a_weighted_sum():
    module: dict = {}
    exec(metric_module({"pascal": 0.75, "robin_com": 0.25, "gce": 0.0}), module)
    pairs = vt.Pairs.of([[0, 0, 4, 4]], [[0, 0, 4, 2]], size=(8, 8))
    assert module["fitted"](pairs) == pytest.approx([0.75 * 0.5 + 0.25 * 0.5])


def test_500_pairs_are_below_20_megabytes():
    truth = vt.read(DEMO / "truth.json")
    sides = {name: vt.read(DEMO / f"{name}.json", like=truth) for name in ("hawk", "magpie")}
    candidates = find_candidates(truth, sides) * 5
    plan = make_plan(candidates[:500], pairs=500, seed=0)
    page = make_page(plan, DEMO / "images")
    assert len(plan.trials) == 600
    assert len(page.encode()) <= 20e6


def test_hostile_names_are_inert(tmp_path):
    name = "</script><img src=x onerror=alert(1)>"
    plan = make_plan(study_candidates(0), pairs=4, seed=0)
    hostile = Plan([replace(trial, label=name) for trial in plan.trials], 0)
    page = make_page(hostile, None, consent="<b>yes</b>")
    assert name not in page
    assert "<b>yes" not in page


def test_metric_shares_count_ties_half(plan):
    votes = simulate(plan, "iou", 1, 0)
    shares = metric_shares(decided_votes(plan, votes))
    assert all(0 <= share.low <= share.agreement <= share.high <= 1 for share in shares.values())
    with pytest.raises(DataError, match="expected votes for one of two results"):
        fit(plan, [Vote("a", t.id, t.left, t.right, t.answer or "equal", 1.0) for t in plan.trials])


@pytest.fixture
def server(plan, tmp_path) -> Iterator[tuple[HTTPConnection, Path]]:
    made = make_server(plan, make_page(plan, None, serve=True), tmp_path)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    connection = HTTPConnection("127.0.0.1", made.server_port, timeout=10)
    yield connection, tmp_path
    connection.close()
    made.shutdown()
    made.server_close()


def test_votes_are_collected_on_this_computer_alone(plan, server):
    connection, folder = server
    write_votes(folder / "sent.csv", plan, simulate(plan, "iou", 1, 0))
    body = (folder / "sent.csv").read_bytes()
    connection.request("POST", "/votes", body, {"X-Judge": "..%2Fann"})
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"saved\n")
    assert (folder / "votes-ann.csv").read_bytes() == body
    for path, headers, text in (
        ("/votes", {"X-Judge": "bob", "Host": "evil.example"}, body),
        ("/votes", {"X-Judge": "bob"}, b"nonsense"),
        ("/plan.json", {"X-Judge": "bob"}, body),
    ):
        connection.request("POST", path, text, headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status in (400, 403)
    assert not (folder / "votes-bob.csv").exists()
    connection.request("GET", "/../plan.json")
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 404


def test_choices_among_boxes_without_coordinates(tmp_path):
    """Three judges, one question: the higher IoU is chosen twice; one answer to an attention check."""
    ious = (0.9, 0.5)
    choices = [Choice(f"w{i}", "q", "cat", ("alpha1", "factor"), ious, int(i == 2), False) for i in range(3)]
    choices.append(Choice("w0", "attention", "cat", ("a", "b"), ious, 0, True))
    found = study_choices(choices, 1)
    assert found.iou.agreement == pytest.approx(2 / 3)
    assert found.chance == 0.5
    assert found.kinds["alpha1"].agreement == pytest.approx(2 / 3)
    # Others: two of three see one vote each way (half), one sees both against it.
    assert found.ceiling.agreement == pytest.approx((0.5 + 0.5 + 0) / 3)
    assert (found.choices, found.checks, found.check_passed, found.unusable) == (3, 1, 1.0, 1)
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ReadError, match="the columns WorkerId"):
        read_choices(tmp_path / "bad.csv")
    assert run(["judge", "fit", str(tmp_path / "bad.csv")]) == 1


@pytest.mark.skipif(not CHOICES.exists(), reason="needs the human choices of the shared data")
def test_the_crowd_study_of_four_boxes():
    choices, unusable = read_choices(CHOICES)
    assert (len(choices), unusable) == (704, 0)
    found = study_choices(choices, unusable)
    # Counted in the table: 704 rows with one chosen box each, of which 59 have links to attention_check/.
    assert (found.choices, found.checks) == (645, 59)
    assert found.check_passed == 1  # every answer is the link to correct/, whose IoU is 0.3 in one of the four checks
    assert found.judges == 20
    # As published (arXiv 2408.10844): people do not simply choose the highest IoU.
    assert found.iou.high < 0.75
    # The four alterations were offered in every question; counted by `true` in the columns of the table.
    chosen = {kind: round(share.agreement * share.votes) for kind, share in found.kinds.items()}
    assert chosen == {"alpha1": 166, "alpha10": 245, "alpha100": 140, "factor1.5": 94}
    assert sum(chosen.values()) == 645


def trial(names: tuple[str, ...], boxes: list[tuple[float, ...]], id: str = "p1", kind: str = "pair") -> Trial:
    """A trial of one object of 20 x 20 pixels at 40, 40."""
    truth = (40.0, 40.0, 60.0, 60.0)
    return Trial(id, "a.png", "cat", names[0], names[1], kind, f"a#{id}", truth, boxes, (100.0, 100.0), "",
                 list(names[2:]))  # type: ignore[arg-type]  # fmt: skip


LARGE, SMALL, EXACT = (35.0, 35.0, 65.0, 65.0), (43.0, 43.0, 57.0, 57.0), (40.0, 40.0, 60.0, 60.0)
LARGER = (30.0, 30.0, 70.0, 70.0)


def votes_for(plan: Plan, *choices: str) -> list[Vote]:
    """One vote of each judge on the first trial."""
    shown = plan.trials[0]
    return [Vote(f"j{i}", shown.id, shown.left, shown.right, choice, 1.0) for i, choice in enumerate(choices)]


def test_votes_among_three_results_count_for_the_chosen_one():
    plan = Plan([trial(("exact", "large", "larger"), [EXACT, LARGE, LARGER])], 0)
    votes = votes_for(plan, "exact", "exact", "large", "equal")
    decided = decided_votes(plan, votes)
    assert len(decided.comparisons[0]) == 6  # three decided votes against two others each
    assert metric_shares(decided)["iou"].agreement == pytest.approx(2 / 3)
    # Others of the first and second judge: one for each of two results, half; of the third: both against it.
    assert human_ceiling(decided).agreement == pytest.approx((0.5 + 0.5 + 0) / 3)
    found = fit(plan, votes, draws=20)
    assert found.chance == pytest.approx(1 / 3)
    order = sorted(found.strengths, key=lambda name: -found.strengths[name].agreement)
    assert order == ["exact", "large", "larger"]


def test_contrasts_name_the_property_they_are_about():
    # IoU of LARGE 400/900 = 0.444, of SMALL 196/400 = 0.49: about equal.
    plan = Plan([trial(("large", "small"), [LARGE, SMALL]), trial(("large", "larger"), [LARGE, LARGER], "p2"),
                 trial(("exact", "small"), [EXACT, SMALL], "p3")], 0)  # fmt: skip
    chosen = {"p1": "large", "p2": "large", "p3": "exact"}
    votes = [Vote(f"j{j}", t.id, t.left, t.right, chosen[t.id], 1.0) for t in plan.trials for j in range(3)]
    votes[0] = replace(votes[0], choice="small")
    found = fit(plan, votes, draws=20).contrasts
    assert (found["too large over too small"].agreement, found["too large over too small"].votes) == (2 / 3, 3)
    assert found["less altered over more altered"].agreement == 1  # LARGE lies between the object and LARGER
    assert found["exact over altered"].agreement == 1
    assert {one.about for one in found.values()} >= {"symmetry", "monotony", "separation", "scale"}
    said = judged_properties(found)
    assert said["monotony"].startswith("preference: less altered over more altered 1.000")
    assert said["symmetry"].startswith("no significant preference")
    assert said["continuity"].startswith("not judged")


def scene_plan(pairs: int = 30) -> Plan:
    truth = vt.read(DEMO / "truth.json")
    sides = {name: vt.read(DEMO / f"{name}.json", like=truth) for name in ("hawk", "magpie")}
    return make_plan(find_scenes(truth, sides, 0.5), pairs=pairs, seed=0)


def simulate_scenes(plan: Plan, alpha: float, judges: int, seed: int, slope: float = 25.0) -> list[Vote]:
    """Votes of judges who follow the scene score with IoU as localization and threshold 0.5."""
    rng = np.random.default_rng(seed)
    ends = [scores_of(plan.trials, side, "iou", 0.5) for side in (0, 1)]
    left, right = ((1 - alpha) * zero + alpha * one for zero, one in ends)
    chance = 1 / (1 + np.exp(-slope * (right - left)))
    return [
        Vote(f"judge-{j}", t.id, t.left, t.right, t.left if rng.random() < chance[i] else t.right, 500.0)
        for j in range(judges)
        for i, t in enumerate(plan.trials)
    ]


def test_alpha_of_the_scene_score_is_fitted_to_votes_on_scenes(tmp_path):
    plan = scene_plan()
    assert read_plan(save_plan(plan, tmp_path)).id == plan.id
    for alpha in (0.1, 0.9):
        found = fit(plan, simulate_scenes(plan, alpha, 12, 3), draws=40).scene_score
        assert found is not None
        assert found.alpha_low - 0.05 <= alpha <= found.alpha_high + 0.05
        assert found.held_out is not None
        assert found.held_out > 0.6
    single = fit(
        make_plan(study_candidates(0), pairs=12), simulate(make_plan(study_candidates(0), pairs=12), "iou", 3, 0)
    )
    assert single.scene_score is not None
    assert (single.scene_score.alpha, single.scene_score.threshold) == (None, None)
    assert "--scenes" in single.scene_score.why


def test_scene_scores_of_the_grid_are_those_of_the_command():
    """One object of class cat called dog, exactly placed: 1 - alpha, whatever the threshold (README of the score)."""
    box = (10.0, 10.0, 30.0, 30.0)
    shown = replace(trial(("a", "b"), [EXACT, EXACT]), objects=[("cat", box)], scenes=[[("dog", box)], []])
    grid = score_grid([shown])
    assert np.allclose(grid.at_zero[:, 0], [1, 1])  # a wrong class, and a missed object
    assert np.allclose(grid.at_one[:, 0], [0, 1])
    assert np.allclose(grid.at(0, 0.8)[0], [0.2, 1])


def test_the_likelihood_takes_the_best_slope():
    """Three of four votes agree with a difference of 1: best slope log 3, log likelihood 3 log(3/4) + log(1/4)."""
    found = log_likelihoods(np.array([[1.0], [1.0], [1.0], [-1.0]]), np.ones(4))
    assert found == pytest.approx([3 * np.log(0.75) + np.log(0.25)])


STUDY_HEAD = "judge,image,class,truth,box1,box2,name1,name2,choice,width,height\n"


def test_a_table_of_another_study_with_boxes(tmp_path, capsys):
    path = tmp_path / "other.csv"
    boxes = "40 40 60 60,35 35 65 65,43;43;57;57,large,small"
    path.write_text(STUDY_HEAD + "".join(f"j{j},a.png,cat,{boxes},{choice},100,100\n"
                                         for j, choice in enumerate(["1", "large", "small", "equal"])))  # fmt: skip
    assert has_boxes(path)
    plan, votes = read_study(path)
    assert (len(plan.trials), [vote.choice for vote in votes]) == (1, ["large", "large", "small", "equal"])
    assert plan.trials[0].size == (100, 100)
    assert run(["judge", "fit", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["contrasts"]["too large over too small"]["agreement"] == pytest.approx(2 / 3)
    assert found["metrics"]["iou"]["agreement"] == pytest.approx(1 / 3)  # 0.444 against 0.49
    for wrong, expected in (
        ("j,a.png,cat,40 40 60 60,1 2 3,1 1 2 2,a,b,1,9,9", "a box, x1 y1 x2 y2"),
        ("j,a.png,cat,40 40 60 60,9 9 1 1,1 1 2 2,a,b,1,9,9", "x2 > x1"),
        ("j,a.png,cat,40 40 60 60,1 1 2 2,1 1 3 3,a,b,3,9,9", "a number from 1 to 2"),
        ("j,a.png,cat,40 40 60 60,1 1 2 2,1 1 3 3,a,a,1,9,9", "different names"),
        ("j,a.png,cat,40 40 60 60,1 1 2 2,1 1 3 3,a,b,1,wide,9", "width and height"),
        ("j,a.png,cat", "11 cells"),
    ):
        path.write_text(STUDY_HEAD + wrong + "\n")
        assert run(["judge", "fit", str(path)]) == 1
        said = capsys.readouterr().err
        assert expected in said
        assert "other.csv:2" in said
    path.write_text(STUDY_HEAD)
    assert run(["judge", "fit", str(path)]) == 1
    assert "at least one vote" in capsys.readouterr().err


def test_results_pickle_and_show_the_same(plan):
    votes = simulate(plan, "iou", 3, 0)
    found = fit(plan, votes, draws=10)
    again = pickle.loads(pickle.dumps(found))
    assert again.to_json() == found.to_json()
    assert str(again) == str(found)
    assert pickle.loads(pickle.dumps(plan)).id == plan.id
    choices = [Choice(f"w{i}", "q", "cat", ("a", "b"), (0.9, 0.5), 0, False) for i in range(3)]
    other = study_choices(choices)
    assert pickle.loads(pickle.dumps(other)).to_json() == other.to_json()


def test_plots_and_tables_are_saved(plan, tmp_path):
    pytest.importorskip("matplotlib")
    save_plan(plan, tmp_path)
    for j in range(2):
        votes = [v for v in simulate(plan, "iou", 2, 7) if v.judge == f"judge-{j}"]
        write_votes(tmp_path / f"votes-{j}.csv", plan, votes)
    words = ["judge", "fit", str(tmp_path), str(tmp_path / "votes-*.csv"), "-o", str(tmp_path / "out"), "-q"]
    assert run(words) == 0
    saved = {path.name for path in (tmp_path / "out").iterdir()}
    tables = {"judges.csv", "metrics.csv", "contrasts.csv", "strengths.csv"}
    assert saved == tables | {"fit.json", "fitted_metric.py", "metrics.png", "judges.png", "preferences.png"}
    assert run(words) == 1  # the folder has files
    assert run([*words, "--overwrite", "--no-plot"]) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_a_fit_at_once_and_leaves_nothing(plan, tmp_path):
    save_plan(plan, tmp_path)
    write_votes(tmp_path / "votes-a.csv", plan, simulate(plan, "iou", 1, 7))
    words = ["judge", "fit", "plan.json", "votes-a.csv", "-o", "out", "--draws", "1000000"]
    with subprocess.Popen([sys.executable, "-m", "verite", *words], cwd=tmp_path, stderr=subprocess.PIPE) as running:
        time.sleep(4)
        assert running.poll() is None
        running.send_signal(signal.SIGINT)
        start = time.monotonic()
        running.wait(timeout=20)
        assert time.monotonic() - start < 5
    assert not (tmp_path / "out").exists()


def test_the_report_has_a_section_of_human_judgement(plan, tmp_path, capsys):
    sides = [str(DEMO / f"{name}.json") for name in ("truth", "hawk", "magpie")]
    words = ["report", *sides, "-o", str(tmp_path / "report.html"), "--draws", "0", "-q"]
    assert run(words) == 0
    assert 'id="judgement"' not in (tmp_path / "report.html").read_text()
    found = fit(plan, simulate(plan, "iou", 3, 0), draws=10)
    (tmp_path / "fit.json").write_text(found.to_json())
    assert run([*words, "--judge", str(tmp_path / "fit.json")]) == 0
    page = (tmp_path / "report.html").read_text()
    best = max(found.metrics, key=lambda name: found.metrics[name].agreement)
    assert 'id="judgement"' in page
    assert f"{100 * found.metrics[best].agreement:.0f}\u00a0% of votes" in page
    shown = vt.read_report(tmp_path / "report.html")["judgement"]
    assert (shown["judges"], shown["kept"]) == (3, 3)
    assert [row["name"] for row in shown["strengths"]] == list(found.strengths)
    choices = [Choice(f"w{i}", "q", "cat", ("a", "b"), (0.9, 0.5), int(i == 2), False) for i in range(3)]
    (tmp_path / "choices.json").write_text(study_choices(choices).to_json())
    assert run([*words, "--judge", str(tmp_path / "choices.json")]) == 0
    assert "box with the highest IoU" in (tmp_path / "report.html").read_text()
    capsys.readouterr()
    assert run([*words, "--judge", sides[1]]) == 1
    assert "fit.json" in capsys.readouterr().err
    (tmp_path / "deep.json").write_text("[" * 100_000)
    assert run([*words, "--judge", str(tmp_path / "deep.json")]) == 1
    assert "deep.json: expected at most" in capsys.readouterr().err
    with pytest.raises(vt.ReadError, match="levels of nesting"):
        read_plan(tmp_path / "deep.json")


def test_an_image_far_smaller_than_the_ground_truth_states_is_refused(tmp_path):
    """Of one pixel for 320 x 240, a crop of 40 x 40 has none."""
    Image.new("RGB", (1, 1)).save(tmp_path / "a.png")
    with pytest.raises(vt.ReadError, match=r"about 320 x 240 pixels.*found 1 x 1"):
        crop_as_data(tmp_path / "a.png", (100, 100, 40, 40), (320, 240))
