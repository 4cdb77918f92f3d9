"""Studies of human judgement: plans, votes, simulated judges with known preferences, other people's studies."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPConnection
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

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
    krippendorff,
    metric_module,
    metric_shares,
)
from verite.judge.other_studies import study_choices
from verite.judge.page import make_page
from verite.judge.plan import Plan, find_candidates, make_plan, penalties_of, read_plan, study_candidates
from verite.judge.server import make_server
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
    assert found.fitted["held_out"] > 0.7


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
    held_out = fit_metric(decided)["held_out"]
    assert abs(held_out - 0.5) < 0.1


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
    exec(metric_module({"weights": {"pascal": 0.75, "robin_com": 0.25, "gce": 0.0}}), module)
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
