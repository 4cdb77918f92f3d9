"""`verite coco` as people type it: good files, wrong ones and empty ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.coco_sets import random_mask_set
from verite.cli import run

HARBOUR = Path(__file__).parents[2] / "src" / "verite" / "data" / "demo"
TRUTH, HAWK, MOLE = (str(HARBOUR / f"{name}.json") for name in ("truth", "hawk", "mole"))


def typed(capsys: Any, *words: object) -> tuple[int, str, str]:
    status = run(["coco", *map(str, words)])
    out, err = capsys.readouterr()
    return status, out, err


def test_json_is_one_document_and_nothing_else(capsys: Any) -> None:
    status, out, err = typed(capsys, TRUTH, HAWK, "--json")
    assert status == 0
    assert json.loads(out)["protocol"] == "coco"
    assert err == ""


@pytest.mark.thorough
def test_results_and_all_tables_are_kept(capsys: Any, tmp_path: Path) -> None:
    status, out, _ = typed(capsys, TRUTH, HAWK, MOLE, "-o", tmp_path / "out")
    assert status == 0
    assert "hawk" in out
    assert "mole" in out
    for system in ("hawk", "mole"):
        names = {path.name for path in (tmp_path / "out" / system).iterdir()}
        tables = {"results.json", "classes.csv", "thresholds.csv", "images.csv"}
        assert names == tables | {"pr.png", "pr-classes.png", "classes.png", "sizes.png", "worst"}
    assert (tmp_path / "out" / "comparison.csv").exists()


def test_everything_that_can_be_asked_for_at_once(capsys: Any) -> None:
    words = (
        "-t 0.3 -t 0.6 --areas all:0:1e10 --areas tiny:0:400 --max-dets 5 --max-dets 50 --ignored explicit -j 2 --json"
    )
    status, out, _ = typed(capsys, TRUTH, HAWK, *words.split(), "--class", "boat", "--per", "threshold")
    document = json.loads(out)
    assert status == 0
    assert {"AP", "APtiny", "AR5", "AR50", "ARtiny"} <= set(document)
    assert list(document["classes"]) == ["boat"]


def test_masks_and_boundaries(capsys: Any, tmp_path: Path) -> None:
    truth, results = random_mask_set(8)
    for name, content in (("truth", truth), ("results", results)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    found = {}
    for on in ("mask", "boundary"):
        status, out, _ = typed(
            capsys, tmp_path / "truth.json", tmp_path / "results.json", "--on", on, "--json", "--checks", "off"
        )
        assert status == 0
        found[on] = json.loads(out)["AP"]
    assert 0 <= found["boundary"] <= found["mask"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected annotations, found an empty file"),
        ('[{"image_id": 1, "score"', "expected a whole JSON document"),
        ('[{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3], "score": 1}]', "results[0].bbox"),
        ('[{"image_id": 987654, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 1}]', "V213"),
        ('[{"image_id": 1, "category_id": 1, "segmentation": {"size": [2, 2], "counts": "zz"}, "score": 1}]', "counts"),
    ],
)
def test_a_wrong_file_is_one_line_and_status_one(capsys: Any, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "pred.json").write_text(content)
    status, out, err = typed(capsys, TRUTH, tmp_path / "pred.json", "--on", "mask", "--quiet")
    assert status == 1
    assert out == ""
    assert len(err.splitlines()) == 1
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-t", "2"], "iou: expected a threshold above 0 and up to 1, found 2.0"),
        (["--areas", "tiny"], "tiny"),
        (["--max-dets", "0"], "0"),
        (["--on", "bboxes"], "box"),
    ],
)
def test_a_wrong_command_is_status_two(capsys: Any, words: list[str], message: str) -> None:
    status, _, err = typed(capsys, TRUTH, HAWK, *words, "--quiet")
    assert status == 2
    assert message in err


def test_pointer_to_the_analysis_says_how_files_are_read(capsys: Any, tmp_path: Path) -> None:
    document = [{**one, "category_id": one["category_id"] + 1} for one in json.loads(Path(HAWK).read_text())]
    (tmp_path / "shifted.json").write_text(json.dumps(document))
    words = ("--pred-label-offset", "-1", "--image-size", "320,240")
    _, _, err = typed(capsys, TRUTH, tmp_path / "shifted.json", *words)
    assert err.rstrip().endswith(f"{tmp_path / 'shifted.json'} --pred-label-offset -1 --image-size 320,240")


def test_what_several_files_have_in_common_is_printed_once(capsys: Any, tmp_path: Path) -> None:
    """How they were read, the advice against a confidence threshold, and not all paths again at the end."""
    cut = []
    for name in ("hawk", "magpie"):
        sure = [one for one in json.loads((HARBOUR / f"{name}.json").read_text()) if one["score"] >= 0.5]
        cut.append(tmp_path / f"{name}-cut.json")
        cut[-1].write_text(json.dumps(sure))
    _, _, err = typed(capsys, TRUTH, *cut, HAWK, MOLE)
    assert err.count("read as COCO results JSON") == 1
    warnings = [line for line in err.splitlines() if "V308" in line]
    assert [str(path) in line for path, line in zip(cut, warnings, strict=True)] == [True, True]
    assert ["export predictions" in line for line in warnings] == [True, False]
    assert "verite analyse with the same files" in err.splitlines()[-1]
    _, _, err = typed(capsys, TRUTH, HAWK, MOLE)
    assert err.splitlines()[-1].endswith(f"verite analyse {TRUTH} {HAWK} {MOLE}")
