"""A score against a parameter: names of runs, held-out choice on noise and on a real difference, conditions."""

from __future__ import annotations

import json
import pickle
from importlib.resources import files

import numpy as np
import pytest

import verite as vt
from verite.analysis.parameter_sweep import ParameterSweep, parameter_of, sweep_runs
from verite.cli import run
from verite.errors import BadParameter
from verite.reporting.comparison_plots import plot_sweep

DEMO = files("verite") / "data" / "demo"


@pytest.fixture(scope="module")
def truth():
    return vt.read(DEMO / "truth.json")


def test_parameters_are_in_the_names_of_runs():
    assert parameter_of("yolo-conf=0.25") == ("conf", 0.25)
    assert parameter_of("nms=soft") == ("nms", "soft")
    assert parameter_of("epoch_12") == ("run", 12.0)


def boxes_of(images: int, objects: int, found: float, seed: int):
    """Ground truth, and predictions that find a share of the objects exactly."""
    names = [f"{i:03}" for i in range(images) for _ in range(objects)]
    boxes = np.array([[20 * k, 0, 20 * k + 10, 10] for _ in range(images) for k in range(objects)], dtype=float)
    truth = vt.Annotations.of(names, ["cat"] * len(names), boxes)
    kept = np.random.default_rng(seed).random(len(names)) < found
    pred = vt.Annotations.of([n for n, k in zip(names, kept, strict=True) if k], ["cat"] * int(kept.sum()), boxes[kept])
    return truth, pred


def test_the_best_of_equal_settings_is_too_good_where_it_was_chosen():
    """Ten detectors that find half of the objects by chance: on the images of the choice the best looks better."""
    runs = {}
    for setting in range(10):
        truth, pred = boxes_of(40, 2, 0.5, setting)
        runs[float(setting)] = vt.f1(truth, pred, checks="off")
    found = sweep_runs(runs, "F1", draws=50)
    assert found.apparent > found.held_out + 0.005
    assert all(low <= value <= high for low, value, high in zip(found.low, found.values, found.high, strict=True))


def test_a_setting_that_is_better_is_chosen_always():
    runs = {}
    for setting, share in ((0.1, 0.2), (0.5, 1.0)):
        truth, pred = boxes_of(30, 2, share, 0)
        runs[setting] = vt.f1(truth, pred, checks="off")
    found = sweep_runs(runs, "F1", draws=50, groups=["day"] * 15 + ["night"] * 15)
    assert found.settings[found.best] == 0.5
    assert found.chosen == [0, 1]
    assert found.held_out == found.apparent == 1
    assert {name: (n, best) for name, (n, best, _) in found.slices.items()} == {"day": (15, 0.5), "night": (15, 0.5)}
    with pytest.raises(BadParameter, match="two runs or more"):
        sweep_runs({0.1: runs[0.1]}, "F1")


def test_runs_on_the_command_line(tmp_path, capsys):
    predictions = json.loads((DEMO / "hawk.json").read_text())
    for cut in (0.2, 0.6):
        (tmp_path / f"conf={cut}.json").write_text(json.dumps([p for p in predictions if p["score"] >= cut]))
    sides = ["sweep", str(DEMO / "truth.json"), str(tmp_path / "conf=*.json"), "--draws", "50"]
    assert run([*sides, "--json", "--checks", "off"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["parameter"], [s["value"] for s in found["settings"]]) == ("conf", [0.2, 0.6])
    direct = vt.coco(DEMO / "truth.json", tmp_path / "conf=0.2.json", checks="off")["AP"].value
    assert found["settings"][0]["score"] == pytest.approx(direct)
    (tmp_path / "runs.csv").write_text("conf,file\n0.2,conf=0.2.json\n0.6,conf=0.6.json\n")
    assert run(["sweep", sides[1], str(tmp_path / "runs.csv"), "--draws", "50", "--json", "--checks", "off"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"] == found["settings"]
    assert run(["sweep", sides[1], str(tmp_path / "conf=0.2.json")]) == 2
    assert run(["sweep", sides[1], str(tmp_path / "conf=0.2.json"), str(tmp_path / "conf=0.2.json")]) == 2
    (tmp_path / "bad.csv").write_text("only\n")
    assert run(["sweep", sides[1], str(tmp_path / "bad.csv")]) == 1
    assert run([*sides, "--metric", "APP"]) == 2


def test_the_plot_shows_scores_band_and_choices(tmp_path):
    pytest.importorskip("matplotlib")
    demo = files("verite") / "data" / "demo"
    predictions = json.loads((demo / "hawk.json").read_text())
    for cut in (0.2, 0.6):
        kept = [one for one in predictions if one["score"] >= cut]
        (tmp_path / f"conf={cut}.json").write_text(json.dumps(kept))
    words = ["sweep", str(demo / "truth.json"), str(tmp_path / "conf=*.json"), "--draws", "20", "-q"]
    assert run([*words, "-o", str(tmp_path / "out")]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"sweep.json", "sweep.csv", "sweep.png"}
    saved = json.loads((tmp_path / "out" / "sweep.json").read_text())
    assert [one["value"] for one in saved["settings"]] == [0.2, 0.6]
    found = ParameterSweep("conf", "F1", ["a", "b"], [0.4, 0.5], [0.3, 0.4], [0.5, 0.6], 1, [0.1, 0.9], 0.5, 0.48)
    upper, lower = plot_sweep(found).axes
    assert upper.lines[0].get_ydata().tolist() == [0.4, 0.5]
    assert [bar.get_height() for bar in lower.patches] == [0.1, 0.9]
    assert [label.get_text() for label in lower.get_xticklabels()] == ["a", "b"]
    assert pickle.loads(pickle.dumps(found)).to_json() == found.to_json()


def test_findings_of_the_checks_are_printed(tmp_path, capsys):
    """Ninety predictions between 0.3 and 0.75 were cut at a threshold, which lowers AP; the other file was not."""
    names = [f"{i}" for i in range(10)]
    truth = vt.Annotations.of(names, ["cat"] * 10, [[0, 0, 10, 10]] * 10)
    vt.write(truth, tmp_path / "truth.json", "coco")
    for name, low in (("a=0", 0.01), ("a=3", 0.3)):
        rows = [f"{i % 10},cat,0,{i // 10},10,{i // 10 + 10},{low + i / 200}" for i in range(90)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["image,label,x1,y1,x2,y2,score", *rows]) + "\n")
    runs = [str(tmp_path / f"{name}.csv") for name in ("a=0", "a=3")]
    assert run(["sweep", str(tmp_path / "truth.json"), *runs, "-q"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "V308" in line]
    assert len(lines) == 1
    assert "a=3.csv" in lines[0]
