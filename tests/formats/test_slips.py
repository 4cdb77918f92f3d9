"""What people hand over by mistake: a number that is right, or one line that says what is wrong and what to do."""

from __future__ import annotations

import json

import numpy as np
import pytest

import verite as vt
from verite import cli
from verite.formats.text_lines import confidence_position

CATEGORIES = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
RESULT = {"image_id": 1, "category_id": 1, "bbox": [1.0, 2.0, 3.0, 4.0], "score": 0.5}


def write_set(folder, count=12):
    """A COCO truth of cats and dogs, all found by a detector that writes YOLO's lines, whose classes begin at 0."""
    rng = np.random.default_rng(5)
    images, annotations = [], []
    (folder / "yolo").mkdir()
    for i in range(count):
        images.append({"id": i + 1, "file_name": f"{i}.jpg", "width": 200, "height": 100})
        lines = []
        for label in (1, 2):
            x, y, w, h = (round(float(v)) for v in rng.uniform((0, 0, 40, 30), (100, 50, 100, 50)))
            annotations.append(
                {"id": len(annotations) + 1, "image_id": i + 1, "category_id": label, "bbox": [x, y, w, h]}
            )
            sure = 0.9 - len(annotations) / 100
            lines.append(f"{label - 1} {(x + w / 2) / 200} {(y + h / 2) / 100} {w / 200} {h / 100} {sure:.2f}")
        (folder / "yolo" / f"{i}.txt").write_text("\n".join(lines))
    document = {"images": images, "annotations": annotations, "categories": CATEGORIES}
    (folder / "truth.json").write_text(json.dumps(document))
    return document


def test_yolo_classes_from_0_against_ids_from_1_are_stopped(tmp_path, capsys):
    """Once AP 0.0000 and a hint at --names: classes that are numbers were not compared as numbers."""
    write_set(tmp_path)
    words = ["coco", str(tmp_path / "truth.json"), str(tmp_path / "yolo"), "--json"]
    assert cli.run(words) == 1
    assert "V201 class ids look shifted by -1" in (said := capsys.readouterr().err)
    assert "add --pred-label-offset 1 (" in said
    assert cli.run([*words, "--pred-label-offset", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["AP50"] == 1


def test_python_is_told_in_its_own_words(tmp_path):
    write_set(tmp_path)
    truth = vt.read(tmp_path / "truth.json")
    with pytest.raises(vt.DataError, match=r'read it with label_offset=1 \(verite\.inspect .*checks="warn"'):
        vt.coco(truth, vt.read(tmp_path / "yolo", like=truth))


def test_images_of_other_names_are_said_to_be_unknown(tmp_path, capsys):
    write_set(tmp_path)
    (tmp_path / "yolo" / "0.txt").rename(tmp_path / "yolo" / "frame_0.txt")
    assert cli.run(["coco", str(tmp_path / "truth.json"), str(tmp_path / "yolo")]) == 1
    assert "none for 'frame_0'; the ground truth has no image of this name (V213)" in capsys.readouterr().err


def test_corners_tell_where_the_confidence_stands():
    """Fractions that leave the image as centre and size wherever the confidence stands, and are corners once."""
    lines = [f"0 0.{i} 0.2 0.95 0.9 0.1".split() for i in range(1, 9)]
    assert confidence_position(lines) == ("after", "confidence after the box, because all 8 boxes are corners then")
    lines = [f"0 0.{i} 0.7 0.2 0.95 0.9".split() for i in range(1, 9)]
    assert confidence_position(lines) == ("before", "confidence before the box, because all 8 boxes are corners then")


def test_lines_that_are_no_numbers_are_shown(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("0 0,5 0,5 0,25 0,25 0,9\n")
    with pytest.raises(
        vt.ReadError, match=r"files ending in \.txt, with lines such as '0 0,5 .*; YOLO has lines of class"
    ):
        vt.read(tmp_path)


def test_results_by_number_take_the_names_that_the_truth_lacks_ids_for(tmp_path):
    """A truth of names alone, as Pascal VOC's, and results that count classes."""
    truth = vt.Annotations.of(["1.jpg"], ["dog"], [[1, 2, 4, 6]], labels=["cat", "dog"])
    (tmp_path / "a.json").write_text(json.dumps([{**RESULT, "category_id": 1}]))
    pred = vt.read(tmp_path / "a.json", like=truth, names=["cat", "dog"])
    assert [pred.labels.name(i) for i in pred.label.tolist()] == ["dog"]
    with pytest.raises(vt.ReadError, match=r"class numbers from 0 to 0, as there are names \(V206\), found 1"):
        vt.read(tmp_path / "a.json", like=truth, names=["cat"])
    coco = vt.read({"images": [{"id": 1}], "annotations": [], "categories": CATEGORIES})
    assert vt.read(tmp_path / "a.json", like=coco, names=["dog", "cat"]).label.tolist() == [0]  # the truth's own word


@pytest.mark.parametrize("key", ["predictions", "results", "detections"])
def test_results_in_an_object_of_any_usual_name(tmp_path, key):
    (tmp_path / "a.json").write_text(json.dumps({"model": "x", key: [RESULT]}))
    assert vt.read(tmp_path / "a.json").confidence.tolist() == [0.5]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            [{**RESULT, "category_id": "cat"}],
            "category_id: expected a number, .*; write the id of the class in the ground truth",
        ),
        ([{**RESULT, "score": "0.5"}], "score: expected a number, .*; write a number without quotation marks"),
        ([{**RESULT, "bbox": {"x": 1}}], "bbox: expected an array of 4 numbers, .*; write left, top, width, height"),
        ([[RESULT]], r"results\[0\]: expected an object, .*; put the records of all images into one list"),
        ({"7": [RESULT]}, r"\(V401\), .*; COCO ground truth is .* COCO results are a list of records with image_id"),
    ],
)
def test_results_that_are_none_say_what_to_write(tmp_path, content, message):
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(vt.ReadError, match=message):
        vt.read(tmp_path / "a.json")


def test_comma_after_the_last_record_is_named(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([RESULT])[:-1] + ",]")
    with pytest.raises(vt.ReadError, match=r"is there a comma after the last record\?"):
        vt.read(tmp_path / "a.json")


def test_confidence_of_another_name_is_named(tmp_path):
    other = {("confidence" if key == "score" else key): value for key, value in RESULT.items()}
    (tmp_path / "a.json").write_text(json.dumps([other]))
    truth = vt.read({"images": [{"id": 1}], "annotations": [], "categories": CATEGORIES})
    with pytest.raises(vt.DataError, match=r"V301 .*: records have confidence where COCO results have score"):
        vt.coco(truth, vt.read(tmp_path / "a.json", like=truth))


@pytest.mark.parametrize("text", [json.dumps([RESULT] * 300), json.dumps([]), json.dumps({"images": []})])
def test_json_handed_over_as_a_text_is_no_path(text):
    """A long one once ended in the system's `File name too long`."""
    with pytest.raises(vt.BadParameter, match=r"expected a path, found JSON, .*; hand over json\.loads"):
        vt.read(text)


@pytest.mark.parametrize("name", ["*" * 5000, "a*\0b", "@" + "b" * 5000])
def test_names_that_nothing_can_have_are_refused_in_our_words(name):
    with pytest.raises(vt.VeriteError):
        vt.read(name)


def test_predictions_that_are_none_at_all():
    with pytest.raises(vt.BadParameter, match="predictions: expected some with the ground truth"):
        vt.coco({"images": [], "annotations": [], "categories": []}, None)
