"""Whatever the verb: a truth that inspect calls wrong gives no number, unless somebody asks for one."""

from __future__ import annotations

import json

import pytest

from verite import cli

VERBS = {
    "coco": [],
    "voc": [],
    "imagenet-det": [],
    "openimages": [],
    "partial coco": ["-o", "part.npz"],
    "localize": ["-m", "iou"],
    "interpret": [],
    "analyse": [],
    "explain": ["--number", "0.5"],
    "draw": ["-o", "drawn"],
    "rank": ["other.json", "--epsilon", "0.1"],
    "leaderboard": ["other.json", "--resample", "images", "--draws", "9"],
    "report": ["-o", "report.html"],
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    images = [{"id": i, "width": 100, "height": 100, "file_name": f"{i}.jpg"} for i in (1, 2)]
    objects = [
        {"id": i, "image_id": i, "category_id": 1, "bbox": [10, 10, 30, 30], "area": 900, "iscrowd": 0} for i in (1, 2)
    ]
    objects[0]["bbox"] = [float("nan"), 10, 30, 30]
    document = {"images": images, "categories": [{"id": 1, "name": "cat"}], "annotations": objects}
    preds = [{"image_id": i, "category_id": 1, "bbox": [10, 10, 30, 30], "score": 0.5} for i in (1, 2)]
    for name, content in (("truth", document), ("pred", preds), ("other", preds[:1])):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_stops_at_a_truth_that_is_wrong(verb, home, capsys):
    before = {p.name for p in home.iterdir()}
    assert cli.run([*verb.split(), "truth.json", "pred.json", *VERBS[verb]]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    last = said.err.splitlines()[-1]
    assert last.startswith("verite: truth.json: V111 1 of 2 boxes has coordinates that are NaN or infinite")
    assert {p.name for p in home.iterdir()} == before


def test_inspect_lists_it_and_leaves_with_status_one(home, capsys):
    assert cli.run(["inspect", "truth.json", "pred.json"]) == 1
    assert "error: V111 1 of 2 boxes" in capsys.readouterr().out


def test_a_number_is_given_to_those_who_ask_for_one(home, capsys):
    assert cli.run(["voc", "truth.json", "pred.json", "--checks", "warn"]) == 0
    assert "error: truth.json: V111" in capsys.readouterr().err
