"""Leaderboards of tables of scores per case: formats, clusters, ranks, gaps in the table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from verite.cli import run
from verite.leaderboards.score_tables import CaseScores, ScoreSettings, mean_ranks, rank_scores, read_scores

LONG = "case,system,score,patient\n1,a,0.9,p\n1,b,0.7,p\n2,a,0.8,p\n2,b,0.9,p\n3,a,0.7,q\n3,b,0.5,q\n"


def random_scores(patients: int = 40, cases: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    unit = np.repeat(np.arange(patients), cases)
    base = rng.normal(0.7, 0.1, patients)[unit]
    own = rng.normal(0, 0.03, (patients, 3))[unit]
    return base[:, None] + own + rng.normal(0, 0.02, (len(unit), 3)) + [0.03, 0.0, 0.0], unit


def test_long_and_wide_tables_hold_the_same(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(LONG)
    (tmp_path / "wide.csv").write_text("case,patient,a,b\n1,p,0.9,0.7\n2,p,0.8,0.9\n3,q,0.7,0.5\n")
    settings = ScoreSettings(cluster="patient")
    long, wide = (read_scores(tmp_path / f"{name}.csv", settings) for name in ("long", "wide"))
    assert long.systems == wide.systems == ("a", "b")
    assert long.values.tolist() == wide.values.tolist() == [[0.9, 0.7], [0.8, 0.9], [0.7, 0.5]]
    assert long.clusters == wide.clusters == ["p", "p", "q"]


def test_one_table_per_system_is_joined_by_its_cases(tmp_path: Path) -> None:
    (tmp_path / "hawk").mkdir()
    (tmp_path / "hawk" / "images.csv").write_text("image,F1,TP\nx.png,0.5,3\ny.png,0.25,1\n")
    (tmp_path / "mole.csv").write_text("image,F1,TP\ny.png,0.75,1\nx.png,1,3\n")
    found = read_scores([tmp_path / "hawk" / "images.csv", tmp_path / "mole.csv"], ScoreSettings())
    assert found.systems == ("hawk", "mole")
    assert found.cases == ["x.png", "y.png"]
    assert found.values.tolist() == [[0.5, 1.0], [0.25, 0.75]]
    assert found.score == "F1"


def test_means_and_ranks_are_those_by_hand() -> None:
    scores = {"a": [0.9, 0.8, 0.7, 0.6, 0.5], "b": [0.1, 0.9, 0.8, 0.7, 0.6], "c": [0.0, 0.0, 0.0, 0.0, 0.0]}
    by_mean = vt.score_leaderboard(scores, draws=50)
    assert by_mean.names == ("a", "b", "c")
    assert by_mean.table().rows[0][2] == pytest.approx(0.7)
    by_rank = vt.score_leaderboard(scores, average="rank", draws=50)
    assert by_rank.names == ("b", "a", "c")  # b is first in four of five cases
    assert [row[2] for row in by_rank.table().rows] == pytest.approx([1.2, 1.8, 3.0])
    lower = vt.score_leaderboard(scores, better="lower", draws=50)
    assert lower.names == ("c", "b", "a")
    assert lower.table().rows[0][2] == 0
    assert mean_ranks(np.array([[3.0, 1.0, 3.0, 2.0]])).tolist() == [[1.5, 4.0, 1.5, 3.0]]


def test_cases_that_are_copied_within_a_patient_add_nothing() -> None:
    values, unit = random_scores(40, 1)
    names = ("a", "b", "c")
    from verite.leaderboards.score_tables import CaseScores, rank_scores

    settings = ScoreSettings(draws=300)
    once = CaseScores(names, [str(i) for i in range(40)], values, [str(i) for i in unit])
    often = np.repeat(np.arange(40), 5)
    copied = CaseScores(names, [str(i) for i in range(200)], values[often], [str(i) for i in unit[often]])
    one, two = (rank_scores(table, settings).board.gaps for table in (once, copied))
    assert np.array(one[:-1]) == pytest.approx(np.array(two[:-1]))
    alone = CaseScores(names, [str(i) for i in range(200)], values[often])
    assert rank_scores(alone, settings).board.gaps[0][2] < two[0][2]  # type: ignore[index]


def test_the_interval_of_a_lead_is_students_over_clusters() -> None:
    values, unit = random_scores(30, 4)
    from verite.leaderboards.score_tables import CaseScores, rank_scores

    table = CaseScores(("a", "b", "c"), [str(i) for i in range(120)], values, [str(i) for i in unit])
    board = rank_scores(table, ScoreSettings(draws=4000)).board
    gap = board.gaps[0]
    assert gap is not None
    first, second = ("abc".index(name) for name in board.names[:2])
    means = np.array([(values[unit == k, first] - values[unit == k, second]).mean() for k in range(30)])
    # Patients have as many cases each: the mean of 30 differences, t = 2.045 with 29 degrees of freedom.
    reach = 2.045 * means.std(ddof=1) / np.sqrt(30)
    assert gap[0] == pytest.approx(means.mean())
    assert gap[2] - gap[0] == pytest.approx(reach, rel=0.06)


def test_a_lead_without_an_interval_is_a_number_alone() -> None:
    """Twenty resamples are too few for an interval of 95 %."""
    cases = np.arange(20) / 20
    found = vt.score_leaderboard({"old": cases, "new": cases + 0.125 + cases % 0.25 - np.mean(cases % 0.25)}, draws=20)
    assert found.board.gaps[0] is not None
    assert np.isnan(found.board.gaps[0][1])
    assert " 0.1250\n" in str(found)  # the mean of what was added
    assert "nan" not in str(found)


def test_tasks_count_alike() -> None:
    rng = np.random.default_rng(2)
    from verite.leaderboards.score_tables import CaseScores, rank_scores

    first = np.column_stack([np.full(90, 0.9), np.full(90, 0.8)]) + rng.normal(0, 0.01, (90, 2))
    second = np.column_stack([np.full(10, 0.1), np.full(10, 0.5)]) + rng.normal(0, 0.01, (10, 2))
    names = [str(i) for i in range(100)]
    table = CaseScores(("a", "b"), names, np.concatenate([first, second]), None, ["x"] * 90 + ["y"] * 10)
    found = rank_scores(table, ScoreSettings(draws=100, task="t"))
    assert found.names == ("b", "a")
    expected = [(first[:, k].mean() + second[:, k].mean()) / 2 for k in (1, 0)]
    assert found.board.scores.tolist() == pytest.approx(expected)


def test_gaps_in_a_table_are_an_error_unless_something_is_said() -> None:
    scores = {"a": [0.9, 0.8, np.nan, 0.6, 0.5, 0.4], "b": [0.1, 0.9, 0.8, 0.7, 0.6, 0.3]}
    with pytest.raises(vt.DataError, match="'a' for '2'"):
        vt.score_leaderboard(scores, draws=50)
    dropped = vt.score_leaderboard(scores, missing="drop", draws=50)
    assert len(dropped.scores.cases) == 5
    worst = vt.score_leaderboard(scores, missing="worst", draws=50)
    assert worst.scores.values[2, 0] == 0.1


def test_wrong_scores_are_documented_errors() -> None:
    with pytest.raises(vt.DataError, match="found 0"):
        vt.score_leaderboard({})
    with pytest.raises(vt.BadParameter, match="list of numbers"):
        vt.score_leaderboard({"a": [10**400, 1], "b": [1, 1]})
    with pytest.raises(vt.DataError, match="finite scores, found inf of 'b' for '1'"):
        vt.score_leaderboard({"a": [0.1] * 6, "b": [0.1, np.inf, 0.1, 0.1, 0.1, 0.1]})


def test_results_of_any_protocol_are_tables_of_their_images() -> None:
    names = [f"i{i}" for i in range(30)]
    truth = vt.Annotations.of(names, ["cat"] * 30, [[0, 0, 50, 50]] * 30)
    preds = {
        name: vt.Annotations.of(names[:count], ["cat"] * count, [[0, 0, 50, 50]] * count)
        for name, count in (("most", 29), ("few", 12))
    }
    results = {name: vt.f1(truth, pred, checks="off") for name, pred in preds.items()}
    found = vt.score_leaderboard(results, draws=100, missing="worst")
    assert found.names == ("most", "few")
    assert found.board.scores.tolist() == pytest.approx([29 / 30, 12 / 30])
    assert bool(found.significance[0, 1])
    localized = {name: vt.localize(truth, pred, "iou", unmatched="score", checks="off") for name, pred in preds.items()}
    assert vt.score_leaderboard(localized, draws=100, missing="worst").names[0] == "most"


def test_the_command_ranks_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values, unit = random_scores()
    rows = [f"{i},{unit[i]},{','.join(map(str, row))}" for i, row in enumerate(values)]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(["case,patient,a,b,c", *rows]) + "\n")
    words = ["leaderboard", str(path), "--cluster", "patient", "--draws", "300"]
    assert run([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["units"] == 40
    assert document["detectors"][0]["name"] == "a"
    assert {"name", "score", "gap", "places"} <= set(document["detectors"][0])
    assert {"pairs", "groups"} <= set(document)
    assert run([*words, "-o", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "significance (95 %, all pairs at once)" in out
    assert "40 clusters" in out
    names = {found.name for found in (tmp_path / "out").iterdir()}
    assert {"leaderboard.csv", "significance.csv", "leaderboard.json", "gaps.png"} <= names


def test_bad_tables_are_answered_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def complaint(text: str, *words: str) -> str:
        path = tmp_path / "scores.csv"
        path.write_text(text)
        assert run(["leaderboard", str(path), *words]) in (1, 2)
        (line,) = capsys.readouterr().err.splitlines()
        return line

    assert "a column of cases" in complaint("x,y\n1,2\n")
    assert "'b' for '1'" in complaint(LONG + "1,b,0.3,p\n", "--cluster", "patient")
    assert "expected a number in score" in complaint("case,system,score\n1,a,x\n")
    assert "at least 5 clusters, found 2" in complaint(LONG, "--cluster", "patient")
    assert "'patients'" in complaint(LONG, "--cluster", "patients")
    assert "at least two systems, found 1" in complaint("case,system,score\n1,a,0.5\n")
    assert "at least 5 cases" in complaint(LONG, "--case", "case")


def test_tables_that_other_commands_write_are_recognised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """images.csv of f1 has images as cases; objects.csv of localize ground-truth objects, within images."""
    for name, lift in (("low", 0.0), ("high", 0.1)):
        home = tmp_path / name
        home.mkdir()
        rows = "".join(f"{i}.png,{0.5 + lift + i / 100},3,1,0\n" for i in range(12))
        (home / "images.csv").write_text("image,F1,TP,FP,FN\n" + rows)
        rows = "".join(f"{i // 2}.png,cat,matched,{i % 2},0,0.9,{0.6 + lift + i / 100}\n" for i in range(12))
        (home / "objects.csv").write_text(
            "image,class,state,truth,pred,confidence,iou\n" + rows + "0.png,cat,fp,,3,0.1,\n"
        )
    for file, cases, units in (("images.csv", 12, 12), ("objects.csv", 12, 6)):
        paths = [str(tmp_path / name / file) for name in ("low", "high")]
        assert run(["leaderboard", *paths, "--json", "--quiet"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert [one["name"] for one in document["detectors"]] == ["high", "low"]
        assert document["detectors"][0]["gap"]["value"] == pytest.approx(0.1)
        assert (document["cases"], document["units"]) == (cases, units)


def test_clusters_of_unequal_size_count_as_fewer() -> None:
    """Six patients with 20, 1, 1, 1, 1, 1 cases: Kish's number is 25² / 405 = 1.5, of which there are at least two."""
    rng = np.random.default_rng(0)
    patients = np.repeat(np.arange(6), [20, 1, 1, 1, 1, 1])
    scores = CaseScores(("a", "b"), [str(i) for i in range(25)], rng.random((25, 2)), [str(i) for i in patients])
    board = rank_scores(scores, ScoreSettings(draws=100)).board
    assert (board.units, board.effective_units) == (6, 2)


def test_lower_scores_are_better_where_the_score_is_an_error(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    near = rng.random(20) + 1
    distances = {"near": near, "far": near + 0.5}
    assert vt.score_leaderboard(distances, score="HD95", draws=50).names == ("near", "far")
    assert vt.score_leaderboard(distances, score="Dice", draws=50).names == ("far", "near")
    assert vt.score_leaderboard(distances, score="HD95", better="higher", draws=50).names == ("far", "near")
    truth = vt.Annotations.of([str(i) for i in range(8)], ["cat"] * 8, [[0, 0, 10, 10]] * 8)
    good, bad = (vt.Annotations.of([str(i) for i in range(n)], ["cat"] * n, [[0, 0, 10, 10]] * n) for n in (8, 3))
    results = [vt.scene_score(truth, pred, name=name, checks="off") for name, pred in (("bad", bad), ("good", good))]
    found = vt.score_leaderboard(results, draws=50)
    assert found.names == ("good", "bad")
    assert "lower is better" in found.to_text()
    for one in results:  # the table that `verite scene-score -o` writes
        (tmp_path / f"{one.name}.csv").write_text(one.tables()["images"].to_csv())
    assert vt.score_leaderboard([tmp_path / "bad.csv", tmp_path / "good.csv"], draws=50).names == ("good", "bad")


def test_the_folder_of_a_table_has_a_page(tmp_path: Path) -> None:
    values, unit = random_scores()
    rows = [f"{i},p{unit[i]},{a},{b},{c}" for i, (a, b, c) in enumerate(values.tolist())]
    (tmp_path / "scores.csv").write_text("case,patient,<b>new,old,older\n" + "\n".join(rows) + "\n")
    arguments = [str(tmp_path / "scores.csv"), "--cluster", "patient", "--draws", "100", "-o", str(tmp_path / "out")]
    assert run(["leaderboard", *arguments, "-q"]) == 0
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "the lead is significant" in page
    assert "<b>new" not in page  # names are escaped
    stored = page.split('id="verite-leaderboard">')[1].split("</script>")[0]
    document = json.loads(stored)
    assert document["detectors"][0]["name"] == "<b>new"
    assert "script-src" not in page.split("</head>")[0]  # no script may run
