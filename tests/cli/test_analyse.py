"""verite analyse: one screen, the document, the folder, and what is refused."""

from __future__ import annotations

import csv
import json
from importlib.resources import files
from pathlib import Path

import pytest

from verite.cli import run

DEMO = Path(str(files("verite") / "data" / "demo"))
TRUTH, HAWK, MOLE = (str(DEMO / f"{name}.json") for name in ("truth", "hawk", "mole"))


def test_both_spellings_print_one_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyse", TRUTH, HAWK, "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("hawk   AP ")
    assert "localization" in shown
    assert run(["analyze", TRUTH, HAWK, "--quiet"]) == 0
    assert capsys.readouterr().out == shown


def test_localise_is_localize(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["localize", TRUTH, HAWK, "-m", "iou", "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert run(["localise", TRUTH, HAWK, "-m", "iou", "--quiet"]) == 0
    assert capsys.readouterr().out == shown


def test_the_american_spelling_is_not_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "analyse " in shown
    assert "analyze" not in shown


def test_the_document_has_the_headline_of_the_protocols_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["coco", TRUTH, HAWK, "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    assert run(["analyse", TRUTH, HAWK, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["errors"]["AP"] == expected["AP"]
    assert found["truth"] == expected["truth"]
    assert found["signature"] == expected["signature"]
    assert {name: one["AP"] for name, one in found["errors"]["classes"].items()} == {
        name: one["AP"] for name, one in expected["classes"].items()
    }


KEYS = {
    "errors": {"AP", "cost", "alone", "counts", "fp", "fn", "classes"},
    "lrp": {"oLRP", "loc", "fp", "fn", "classes"},
    "confusion": {"labels", "matrix", "confidence", "iou"},
    "operating": {"confidence", "micro", "macro", "classes", "froc", "goals"},
    "calibration": {"ece", "mce", "bins", "classes", "absent"},
    "worst": {"images", "preds", "truths"},
}


def test_the_document_has_the_keys_that_are_promised(capsys: pytest.CaptureFixture[str]) -> None:
    types = ["class", "localization", "both", "duplicate", "background", "missed"]
    assert run(["analyse", TRUTH, HAWK, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"protocol", "signature", "name", "slices", "suspicious", "comparison", "set_aside"} <= set(found)
    assert found["comparison"] is None
    for part, keys in KEYS.items():
        assert keys <= set(found[part]), part
    assert list(found["errors"]["cost"]) == list(found["errors"]["alone"]) == list(found["errors"]["counts"]) == types
    assert "confidence" in found["lrp"]["classes"]["boat"]
    assert found["set_aside"] == sum(found["set_aside_reasons"].values()) == 4


def test_several_systems_are_analysed_under_their_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["analyse", TRUTH, HAWK, MOLE, "--json", "-o", str(tmp_path), "--no-plot"]) == 0
    assert list(json.loads(capsys.readouterr().out)["systems"]) == ["hawk", "mole"]
    kept = json.loads((tmp_path / "mole" / "analysis.json").read_text())
    assert kept["name"] == "mole"
    assert (tmp_path / "hawk" / "worst-preds.csv").read_text().startswith("image,label,error,confidence,")


MAGPIE = str(DEMO / "magpie.json")


def test_all_pairs_of_systems_are_in_one_file_of_each_kind(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["analyse", TRUTH, HAWK, MOLE, MAGPIE, "--only", "errors,comparison"]
    assert run([*words, "--json", "-o", str(tmp_path), "--no-plot"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert json.loads((tmp_path / "analysis.json").read_text()) == shown
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {
        "analysis.json", "costs.csv", "flips.csv", "labels.csv", "migration.csv"
    }  # fmt: skip
    rows = list(csv.DictReader((tmp_path / "flips.csv").read_text().splitlines()))
    for pair in shown["comparison"]:
        mine = [row for row in rows if (row["first system"], row["second system"]) == (pair["first"], pair["second"])]
        found_by = [row["found by"] for row in mine]
        counts = pair["objects"]["only_first"], pair["objects"]["only_second"]
        assert (found_by.count("first"), found_by.count("second")) == counts


@pytest.mark.thorough
def test_systems_with_very_long_names_are_kept(tmp_path: Path) -> None:
    preds = [tmp_path / f"{'x' * 140}-{k}.json" for k in range(3)]
    for path in preds:
        path.write_bytes(Path(HAWK).read_bytes())
    words = ["analyse", TRUTH, *map(str, preds), "--only", "errors,comparison", "--quiet", "-o", str(tmp_path / "out")]
    assert run(words) == 0
    assert (tmp_path / "out" / "systems.png").exists()
    assert len([path for path in (tmp_path / "out").iterdir() if path.is_dir()]) == 3


def test_of_many_detectors_neighbours_in_the_ranking_are_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(Path(MOLE).read_bytes())
    words = ["analyse", TRUTH, HAWK, MOLE, MAGPIE, str(copy), "--only", "errors,comparison", "--quiet"]
    assert run(words) == 0
    shown = capsys.readouterr().out
    assert shown.count("objects matched by both") == 3
    assert "all 6 pairs are in -o DIR and --json" in shown


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("slices", "size: small "),
        ("lrp", "at confidence"),
        ("operating", "FP per image"),
        ("confusion", "nothing there"),
        ("calibration", "0.90–1.00"),
    ],
)
def test_a_part_that_is_asked_for_alone_shows_its_table(
    part: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["analyse", TRUTH, HAWK, "--only", part, "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert told in shown
    assert shown.splitlines()[-1].startswith(f"settings: {part}|of:coco_ap|")


def test_a_matrix_that_is_too_wide_for_a_screen_is_elsewhere(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    many = [{"id": k, "name": f"c{k}"} for k in range(40)]
    places = [{"image_id": 1, "category_id": k, "bbox": [20 * k, 0, 10, 10]} for k in range(40)]
    truths = [one | {"id": i + 1, "area": 100, "iscrowd": 0} for i, one in enumerate(places)]
    images = [{"id": 1, "file_name": "a.png", "width": 900, "height": 20}]
    truth, pred = tmp_path / "truth.json", tmp_path / "pred.json"
    truth.write_text(json.dumps({"images": images, "annotations": truths, "categories": many}))
    pred.write_text(json.dumps([one | {"score": 0.5} for one in places]))
    assert run(["analyse", str(truth), str(pred), "--only", "confusion", "--quiet", "--checks", "off"]) == 0
    shown = capsys.readouterr().out
    assert "more than 24 columns" in shown
    assert "nothing there" not in shown


def test_comparing_alone_shows_costs_and_classes_of_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyse", TRUTH, HAWK, MOLE, "--only", "comparison", "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "objects matched by both" in shown
    heads = [line.split() for line in shown.splitlines()]
    assert ["cost", "hawk", "mole", "difference"] in heads
    assert ["class", "hawk", "mole", "difference"] in heads
    assert shown.splitlines()[-1].startswith("settings: comparison|of:coco_ap|")


def test_one_system_alone_is_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyse", TRUTH, HAWK, "--only", "comparison"]) == 2
    assert "only: expected two PREDs or more to compare, found one" in capsys.readouterr().err


def test_only_the_parts_that_are_asked_for_are_made(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["analyse", TRUTH, HAWK, "--only", "errors", "-o", str(tmp_path), "--quiet"]) == 0
    assert "Costs of single errors" not in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {
        "analysis.json", "errors.csv", "error-classes.csv", "errors.png"
    }  # fmt: skip


@pytest.mark.parametrize("style", ["markdown", "latex", "csv", "html"])
def test_every_style_has_the_costs(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyse", TRUTH, HAWK, "--quiet", "--style", style]) == 0
    assert "localization" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--only", "error"], "only: expected sections out of"),
        (["--background", "0.6"], "background: expected an IoU above 0 and below 0.5"),
        (["--protocol", "voc", "--on", "mask"], "on: expected box or rotated, found 'mask'"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["analyse", TRUTH, HAWK, *words]) == 2
    assert complaint in capsys.readouterr().err


def test_what_is_missing_leads_from_the_number_to_the_analysis(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["coco", TRUTH, HAWK]) == 0
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last == f"to see where the score is lost: verite analyse {TRUTH} {HAWK}"
    assert run(["voc", TRUTH, HAWK]) == 0
    assert capsys.readouterr().err.strip().endswith(f"verite analyse {TRUTH} {HAWK} --protocol voc")
    for words in (["coco", TRUTH, HAWK, "--quiet"], ["coco", TRUTH, HAWK, "--json"]):
        assert run(words) == 0
        assert "verite analyse" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        (["coco", "-t", "0.5", "-t", "0.75", "--class", "boat"], " -t 0.5 -t 0.75 --class boat"),
        (["voc", "--on", "box", "-j", "1"], " --protocol voc --on box"),
        (["voc", "--interpolation", "11"], None),
        (["coco", "--max-dets", "10", "--confidence", "0.5"], None),
    ],
)
def test_the_way_to_the_analysis_leads_to_the_same_number_or_is_not_told(
    words: list[str], ending: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([words[0], TRUTH, HAWK, *words[1:]]) == 0
    told = capsys.readouterr().err
    assert told.strip().endswith(f"{HAWK}{ending}") if ending else "verite analyse" not in told


def test_nothing_is_said_where_nothing_is_missing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    records = json.loads(Path(TRUTH).read_text())["annotations"]
    pred = tmp_path / "perfect.json"
    kept = ("image_id", "category_id", "bbox")
    pred.write_text(
        json.dumps([{key: one[key] for key in kept} | {"score": 0.9} for one in records if not one["iscrowd"]])
    )
    assert run(["coco", TRUTH, str(pred)]) == 0
    assert "verite analyse" not in capsys.readouterr().err


def test_few_draws_give_no_interval_of_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["analyse", TRUTH, HAWK, MOLE, "--only", "errors,operating,comparison", "--draws", "1", "--quiet"]
    assert run(words) == 0
    out = capsys.readouterr().out
    assert "nan" not in out
    assert "AP -0.3614; objects" in out  # 0.1903 - 0.5518
    assert ", recall 0.730 [" in out  # 165 of 226
    assert " (95 % CI), 0.444 false positives per image" in out  # 16 in 36 images
