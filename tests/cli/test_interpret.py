"""The verbs interpret and class-distance."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import verite as vt
from verite.cli import run

KEYS = {"score", "truths", "preds", "matched", "missed", "spurious"}
MATRICES = ("overlap", "correspondence", "localization", "recognition", "local", "compensation")


@pytest.fixture(scope="module")
def scene():
    from importlib.resources import as_file, files

    with as_file(files("verite") / "data" / "scene") as home:
        yield str(home / "truth.json"), str(home / "found.json")


def width(path):
    with Image.open(path) as image:
        return image.size[0]


def test_a_table_for_people(scene, capsys):
    assert run(["interpret", *scene]) == 0
    said = capsys.readouterr()
    assert re.search(r"found   score 0\.\d{4} over 1 image \(", said.out)
    assert "person" in said.out
    assert "interpret|matching:multiple|iou:0.20|alpha:0.80" in said.out


def test_json_has_the_documented_keys(scene, capsys):
    assert run(["interpret", *scene, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document["images"]["street.png"]) == KEYS
    assert document["score"] == document["images"]["street.png"]["score"]
    assert document["signature"].startswith("interpret|")
    assert document["worst"] == ["street.png"]
    assert document["classes"]["car"]["missed"] == 1


def test_the_trace_of_one_image(scene, capsys):
    assert run(["interpret", *scene, "--image", "street", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    for name in MATRICES:
        assert len(document[name]) == 7
    assert document["overlap"][0][0] == 0
    assert document["localization"][0][0] is None
    assert np.sum(document["compensation"]) == 7
    assert run(["interpret", *scene, "--image", "street.png", "-q"]) == 0
    told = capsys.readouterr().out
    for title in ("IoU", "Correspondence", "Localization", "Recognition", "Local scores", "Compensation"):
        assert title in told


@pytest.mark.thorough
def test_results_tables_and_pictures_are_kept(scene, tmp_path, capsys):
    home = tmp_path / "out"
    assert run(["interpret", *scene, "--image", "street.png", "-o", str(home), "-q"]) == 0
    found = {p.name for p in home.iterdir()}
    assert found == {"results.json", "images.csv", "classes.csv", "trace.json", "scores.png", "scene-street.png"}
    for name in ("scores.png", "scene-street.png"):
        assert width(home / name) > 600
    assert run(["interpret", *scene, "-o", str(home / "svg"), "--plot-format", "svg", "-q"]) == 0
    assert (home / "svg" / "scene-street.svg").exists()


def test_several_results_side_by_side(scene, tmp_path, capsys):
    truth, found = scene
    assert run(["interpret", truth, found, truth, "-q", "-o", str(tmp_path / "out"), "--no-plot"]) == 0
    told = capsys.readouterr().out
    assert "found" in told
    assert "truth" in told
    assert "difference" in told
    assert (tmp_path / "out" / "comparison.csv").exists()
    assert run(["interpret", truth, found, truth, "--image", "street.png", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["systems"]["truth"]["score"] == 0
    assert run(["interpret", truth, found, truth, "--image", "street.png", "-q"]) == 0


def test_two_results_without_a_truth(tmp_path, capsys):
    def results(name, x):
        boxes = [{"image_id": 7, "category_id": 1, "bbox": [x, 0, 10, 10], "score": 0.9}]
        (tmp_path / name).write_text(json.dumps(boxes))
        return str(tmp_path / name)

    a, b = results("a.json", 0), results("b.json", 5)
    assert run(["interpret", a, b, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["score"] == pytest.approx(0.8 * 0.5)
    assert run(["interpret", b, a, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["score"] == first["score"]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--image", "stret.png"], 2, "image: expected one of 1 images, found 'stret.png'; did you mean 'street.png'?"),
        (["--alpha", "2"], 2, "alpha: expected a number from 0 to 1, found 2.0"),
        (["--iou", "nan"], 2, "iou: expected a number from 0 to 1"),
        (["--localization", "hausdorff"], 2, "localization: expected a metric from 0 to 1"),
        (["--localization", "iuo"], 2, "did you mean 'iou'?"),
        (["--matching", "many"], 2, "--match"),
        (["--distance", "voc"], 1, "found none for 'truck'"),
        (["--distance", "nothing.csv"], 1, "nothing.csv: expected a file or folder, found nothing"),
        (["--class", "zebra"], 2, "zebra"),
    ],
)
def test_mistakes_are_told_in_one_line(scene, words, status, said, capsys):
    assert run(["interpret", *scene, *words, "-q"]) == status
    found = capsys.readouterr()
    assert said in found.err
    assert found.err.count("\n") == 1
    assert found.out == ""


def test_confidences_out_of_range_are_told(scene, tmp_path, capsys):
    document = json.loads(Path(scene[1]).read_text())
    for record in document["annotations"]:
        record["score"] = 87.5
    (tmp_path / "percent.json").write_text(json.dumps(document))
    assert run(["interpret", scene[0], str(tmp_path / "percent.json"), "-q", "--checks", "off"]) == 1
    assert "expected confidences from 0 to 1, found 87.5" in capsys.readouterr().err
    words = [scene[0], str(tmp_path / "percent.json"), "-q", "--checks", "off", "--certain"]
    assert run(["interpret", *words]) == 0


def test_an_empty_file_and_a_wrong_one(scene, tmp_path, capsys):
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "wrong.json").write_text('{"a": 1}')
    for name in ("empty.json", "wrong.json"):
        assert run(["interpret", scene[0], str(tmp_path / name), "-q"]) == 1
        assert capsys.readouterr().err.count("\n") == 1


def test_no_predictions_at_all(scene, tmp_path, capsys):
    (tmp_path / "none.json").write_text("[]")
    assert run(["interpret", scene[0], str(tmp_path / "none.json"), "--json", "--checks", "off"]) == 0
    assert json.loads(capsys.readouterr().out)["score"] == 1


@pytest.mark.thorough
def test_class_distances_from_a_taxonomy(tmp_path, capsys):
    table, plot = tmp_path / "d.csv", tmp_path / "d.png"
    assert run(["class-distance", "voc", "-o", str(table), "--plot", str(plot), "-q"]) == 0
    assert "taxonomy-voc" in capsys.readouterr().out
    assert vt.class_distances(table)["cat", "dog"] == 0.25
    assert width(plot) > 600
    assert run(["class-distance", str(table), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["classes"]) == 20
    assert document["distances"][0][0] == 0


def test_class_distances_from_pictures(tmp_path, capsys):
    pytest.importorskip("cv2", reason="needs OpenCV, the extra [vision]")
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for i in range(2):
            Image.fromarray(rng.integers(0, 255, (24, 24)).astype(np.uint8)).resize((96, 96)).save(
                tmp_path / name / f"{i}.png"
            )
    assert run(["class-distance", str(tmp_path / "one"), str(tmp_path / "two"), "-o", str(tmp_path / "d.csv")]) == 0
    assert 0 <= vt.class_distances(tmp_path / "d.csv")["one", "two"] <= 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("class,cat,dog\ncat,0,0.5\ndog,0.4,0\n", "expected a symmetric matrix"),
        ("class,cat,dog\ncat,0,-1\ndog,-1,0\n", "expected no negative distance"),
        ("class,cat,dog\ncat,1,1\ndog,1,0\n", "expected a distance of 0 from a class to itself"),
    ],
)
def test_bad_matrices_are_told(tmp_path, text, said, capsys):
    (tmp_path / "bad.csv").write_text(text)
    assert run(["class-distance", str(tmp_path / "bad.csv"), "-o", str(tmp_path / "out.csv")]) == 1
    found = capsys.readouterr()
    assert said in found.err
    assert not (tmp_path / "out.csv").exists()


def test_a_plot_of_unknown_kind_is_refused(capsys):
    assert run(["class-distance", "voc", "--plot", "d.gif"]) == 2
    assert ".png, .svg or .pdf" in capsys.readouterr().err


def test_no_images_have_no_score(tmp_path, capsys):
    truth, pred = tmp_path / "truth.json", tmp_path / "pred.json"
    truth.write_text('{"images": [], "annotations": [], "categories": [{"id": 1, "name": "cat"}]}')
    pred.write_text("[]")
    assert run(["interpret", str(truth), str(pred), "-q"]) == 0
    out = capsys.readouterr().out
    assert "score – over 0 images" in out
    assert "nan" not in out
    assert "the ground truth has no objects" in out
