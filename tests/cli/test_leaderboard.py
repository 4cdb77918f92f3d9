"""What a person types to hear how sure an order is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import verite
from tests.cli.test_command_line import typed  # noqa: F401

DEMO = Path(verite.__file__).parent / "data" / "demo"
TRUTH, HAWK, MAGPIE, MOLE = (str(DEMO / f"{name}.json") for name in ("truth", "hawk", "magpie", "mole"))
ERRORS = ("--errors", "missing=0.05,spurious=0.02,label=0.01")


def test_the_table_says_who_is_sure_to_be_first(typed):  # noqa: F811
    status, out, err = typed("leaderboard", TRUTH, MOLE, HAWK, MAGPIE, *ERRORS, "--draws", "100", "--quiet")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["hawk", "magpie", "mole"]
    heads = " ".join(line for line in lines if line.startswith("detector"))
    for head in ("place", "lead (95 %)", "first in", "P(first)", "kept in", "flip"):
        assert head in heads
    assert "by source of uncertainty" not in out
    status, out, err = typed("leaderboard", TRUTH, MOLE, HAWK, MAGPIE, *ERRORS, "--draws", "100", "--quiet", "--legend")
    assert (status, err) == (0, "")
    heads = " ".join(line for line in out.splitlines() if line.startswith("detector"))
    for head in ("P(first) annotations", "first in images", "first in both", "kept in both", "Γ", "own boxes"):
        assert head in heads
    for words in (
        "whole ranking kept:",
        "assumed: each annotation is spurious with probability 0.02",
        "not covered:",
        "flip:",
    ):
        assert words in out


def test_a_folder_or_a_glob_is_the_files_of_several_detectors(typed, tmp_path):  # noqa: F811
    for path in (HAWK, MOLE):
        (tmp_path / Path(path).name).write_bytes(Path(path).read_bytes())
    for several in (tmp_path, f"{tmp_path}/*.json"):
        status, out, err = typed("leaderboard", TRUTH, several, "--draws", "20", "--quiet")
        assert (status, err) == (0, "")
        assert [line.split()[0] for line in out.splitlines()[2:4]] == ["hawk", "mole"]
    status, _, err = typed("leaderboard", TRUTH, HAWK, "--quiet")
    assert status == 2
    assert "at least two detectors, found 1" in err


def test_few_draws_give_no_interval_and_say_so(typed):  # noqa: F811
    status, out, err = typed("leaderboard", TRUTH, HAWK, MOLE, *ERRORS, "--draws", "1", "--quiet")
    assert (status, err) == (0, "")
    assert " 0.3614  " in out.splitlines()[2]  # 0.5518 - 0.1903, of the leader alone
    assert "[" not in out
    assert "\n1 simulation, sources" in out
    assert "no interval of a lead: expected at least 39 draws" in out


def test_json_has_the_documented_keys(typed):  # noqa: F811
    status, out, _ = typed("leaderboard", TRUTH, HAWK, MAGPIE, MOLE, *ERRORS, "--draws", "50", "--json", "-m", "AP50")
    assert status == 0
    document = json.loads(out)
    keys = {"protocol", "signature", "metric", "detectors", "pairs", "groups", "whole_order", "audit", "draws", "seed"}
    assert keys <= set(document)
    one = document["detectors"][0]
    assert {"name", "score", "sd", "bias", "gap", "p_first", "p_keeps", "places", "flip", "gamma"} <= set(one)
    assert set(one["gap"]) == {"value", "low", "high"}
    assert set(one["p_first"]) == set(document["whole_order"]) == {"errors", "images", "both"}
    assert document["detectors"][-1]["gap"] is None
    pair = document["pairs"][0]
    assert {"kept", "tie", "reversed"} <= set(pair["both"])
    assert sum(pair["both"][side] for side in ("kept", "tie", "reversed")) == pytest.approx(1)
    assert document["metric"] == "AP50"
    assert "metrics" not in document


@pytest.mark.thorough
def test_a_folder_gets_everything(typed, tmp_path):  # noqa: F811
    pytest.importorskip("matplotlib")
    words = ("leaderboard", TRUTH, HAWK, MAGPIE, *ERRORS, "--draws", "30", "-m", "AP", "-m", "AR10", "-q")
    status, _, err = typed(*words, "-o", str(tmp_path / "out"), "--audit-size", "7")
    assert (status, err) == (0, "")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    tables = {f"{name}{end}.csv" for name in ("leaderboard", "pairs", "places") for end in ("", "-AR10")}
    plots = {f"{name}{end}.png" for name in ("gaps", "pairs", "places") for end in ("", "-AR10")} | {"kept.png"}
    assert names == tables | plots | {"audit.csv", "leaderboard.json", "leaderboard.md", "leaderboard.tex"}
    audit = (tmp_path / "out" / "audit.csv").read_text().splitlines()
    assert audit[0] == "image,label,x,y,width,height,kind,influence,reason,weight,verdict"
    assert len(audit) == 8
    status, _, err = typed(*words, "--audit", str(tmp_path / "out" / "audit.csv"))
    assert (status, err) == (0, "")


def test_a_plain_table_needs_no_draws(typed):  # noqa: F811
    status, out, _ = typed("leaderboard", TRUTH, HAWK, MAGPIE, "--resample", "none", "--quiet", "--style", "csv")
    assert status == 0
    assert [line.split(",")[0] for line in out.splitlines()] == ["detector", "hawk", "magpie"]


def test_a_better_truth_says_how_many_orders_survive(typed, tmp_path):  # noqa: F811
    document = json.loads(Path(TRUTH).read_text())
    document["annotations"] = document["annotations"][::2]
    (tmp_path / "better.json").write_text(json.dumps(document))
    words = ("leaderboard", "--calibrate", TRUTH, str(tmp_path / "better.json"), HAWK, MAGPIE, MOLE, "--draws", "50")
    status, out, err = typed(*words, *ERRORS, "--quiet")
    assert (status, err) == (0, "")
    assert "3 pairs with different recorded scores" in out
    status, out, _ = typed(*words, *ERRORS, "--json")
    assert json.loads(out)["every"]["pairs"] == 3
    status, _, err = typed(*words, "--quiet")
    assert status == 2
    assert "expected rates to predict with, found none" in err


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ((HAWK,), 2, "expected at least two detectors, found 1"),
        ((HAWK, MAGPIE, "--errors", "missing=2"), 2, "missing: expected a share from 0 to 1, found 2"),
        ((HAWK, MAGPIE, "--errors", "speed=2"), 2, "errors: expected missing, spurious, label, jitter"),
        ((HAWK, MAGPIE, *ERRORS, "--detectable", "4"), 2, "detectable: expected a share from 0 to 1, found 4"),
        ((HAWK, MAGPIE, "--bias-toward", "hawk"), 2, "bias-toward: expected NAME:TIMES"),
        (
            (HAWK, MAGPIE, *ERRORS, "--favours", "eagle:2"),
            2,
            "bias-toward: expected one of hawk, magpie, found 'eagle'",
        ),
        ((HAWK, MAGPIE, *ERRORS, "--shared", "image"), 2, "shared: expected a group"),
        ((HAWK, MAGPIE, "--resample", "video"), 2, "resample: expected images, a column of the ground truth's images"),
        ((HAWK, MAGPIE, "-m", "AP5"), 2, "metrics: expected one of AP, AP50"),
        ((HAWK, MAGPIE, "--on", "mask", "--errors", "jitter=0.1x0.1"), 2, "jitter: expected --on box"),
        ((HAWK, MAGPIE, "--errors-file", "nowhere.csv"), 1, "nowhere.csv"),
        ((HAWK, MAGPIE, "--audit", "nowhere.csv"), 1, "nowhere.csv"),
        (
            ("--calibrate", HAWK, MAGPIE),
            2,
            "calibrate: expected ground truth, corrected ground truth and at least two detectors",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(typed, words, status, message):  # noqa: F811
    found, out, err = typed("leaderboard", TRUTH, *words, "--draws", "5", "--quiet")
    assert (found, out) == (status, "")
    assert len(err.splitlines()) == 1
    assert message in err


def test_other_competitions_can_be_asked(typed):  # noqa: F811
    status, out, _ = typed("leaderboard", TRUTH, HAWK, MAGPIE, "--protocol", "voc", "--draws", "30", "--quiet")
    assert status == 0
    assert "mAP" in out.splitlines()[0]
    status, out, _ = typed("leaderboard", TRUTH, HAWK, MAGPIE, "--on", "mask", "--draws", "30", "--quiet", *ERRORS)
    assert status == 0


@pytest.mark.parametrize("verb", ["coco", "voc"])
def test_two_systems_are_compared_on_drawn_images_without_another_verb(typed, verb):  # noqa: F811
    status, out, err = typed(verb, TRUTH, HAWK, MAGPIE, "--resample", "images", "--quiet")
    assert (status, err) == (0, "")
    assert "magpie - hawk (bootstrap)" in out
    status, out, _ = typed(verb, TRUTH, HAWK, MAGPIE, MOLE, "--resample", "images", "--json")
    document = json.loads(out)
    differences = [d for d in document["differences"] if d["score"] in ("AP", "mAP")]
    assert [(d["first"], d["second"]) for d in differences] == [("hawk", "magpie"), ("hawk", "mole")]
    for d in differences:
        mine, theirs = (document["systems"][d[side]][d["score"]] for side in ("first", "second"))
        assert d["value"] == pytest.approx(theirs - mine, abs=1e-12)
        assert d["low"] < d["value"] < d["high"]
    status, _, err = typed(verb, TRUTH, HAWK, "--resample", "images", "--quiet")
    assert status == 2
    assert "--resample: expected two PREDs to compare, found one" in err


def test_few_groups_of_images_are_warned_about_where_two_are_compared(typed, tmp_path):  # noqa: F811
    sites = tmp_path / "sites.csv"
    names = [image["file_name"] for image in json.loads(Path(TRUTH).read_text())["images"]]
    sites.write_text("image,site\n" + "".join(f"{name},{i % 10}\n" for i, name in enumerate(names)))
    _, out, _ = typed("coco", TRUTH, HAWK, MAGPIE, "--resample", f"{sites}:site", "--quiet")
    assert "warning: 10 groups of images: with fewer than 30, intervals are approximate" in out


def test_a_ranking_of_detectors_names_the_published_order(typed):  # noqa: F811
    status, out, _ = typed("rank", TRUTH, HAWK, MAGPIE, MOLE, "--epsilon", "0.05", "--quiet")
    assert status == 0
    assert "The ranking by COCO's AP is hawk > magpie > mole; for its uncertainty: verite leaderboard" in out
    status, out, _ = typed("rank", TRUTH, HAWK, MAGPIE, "--epsilon", "0.05", "--json")
    assert json.loads(out)["published"]["scores"]["hawk"] == verite.coco(TRUTH, HAWK)["AP"].value
