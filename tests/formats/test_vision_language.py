"""Answers of vision-language models, and class names mapped by a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import verite as vt
from tests.formats.samples import sample
from verite.cli import run
from verite.formats.class_map import ClassMap


def truth_of(width: int, height: int, *names: str) -> vt.Annotations:
    return vt.read(
        {
            "images": [{"id": i, "file_name": f"{name}.jpg", "width": width, "height": height}
                       for i, name in enumerate("ab", 1)],
            "categories": [{"id": k, "name": name} for k, name in enumerate(names or ("car", "dog"), 1)],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 20, 100, 50], "area": 5000}],
        }
    )  # fmt: skip


def write(path: Path, document: Any) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_qwen_keyed_by_image() -> None:
    pred = vt.read(sample("vision_language", "models", "qwen.json"), like=truth_of(1280, 720))
    assert pred.source.format == "vision-language"
    assert pred.regions.boxes.tolist() == [[10, 20, 110, 70], [0, 0, 1200, 30]]
    assert pred.confidence is None
    assert "in pixels (1 of 2 boxes have numbers above 1000)" in pred.source.why


def test_gemini_is_y_first_and_in_thousandths() -> None:
    pred = vt.read(sample("vision_language", "models", "gemini.jsonl"), like=truth_of(2000, 500))
    assert pred.regions.boxes.tolist() == [[20, 10, 220, 35]]
    assert any("Markdown fences" in note for note in pred.source.notes)


def test_paligemma_is_y_first_and_in_1024ths() -> None:
    pred = vt.read(sample("vision_language", "models", "paligemma.csv"), like=truth_of(1024, 2048))
    assert pred.regions.boxes.tolist() == [[10, 40, 110, 140], [0, 0, 512, 2046]]
    assert [pred.labels.name(k) for k in pred.label] == ["car", "dog"]


def test_florence_has_the_class_first_and_several_boxes_behind_it() -> None:
    pred = vt.read(sample("vision_language", "models", "florence.json"), like=truth_of(1000, 1000))
    assert pred.regions.boxes.tolist() == [[10, 20, 110, 70], [200, 20, 300, 70], [0, 0, 999, 30]]
    assert [pred.labels.name(k) for k in pred.label] == ["car", "car", "dog"]


def test_boxes_beyond_their_images_are_thousandths(tmp_path: Path) -> None:
    path = write(tmp_path / "qwen3.json", {"a": [{"bbox_2d": [500, 500, 1000, 1000], "label": "car"}]})
    pred = vt.read(path, like=truth_of(640, 480))
    assert pred.regions.boxes.tolist() == [[320, 240, 640, 480]]
    assert "1 of 1 boxes would be beyond" in pred.source.why


def test_many_boxes_that_fit_are_pixels_of_small_images_and_thousandths_of_large_ones(tmp_path: Path) -> None:
    boxes = [{"bbox_2d": [i, i, i + 100, i + 100], "label": "car"} for i in range(20)]
    path = write(tmp_path / "qwen.json", {"a": boxes})
    assert vt.read(path, like=truth_of(640, 480)).regions.boxes[0].tolist() == [0, 0, 100, 100]
    assert vt.read(path, like=truth_of(4000, 3000)).regions.boxes[0].tolist() == [0, 0, 400, 300]


def test_units_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    boxes = [{"bbox_2d": [0, 0, 900, 100], "label": "car"}, {"bbox_2d": [0, 0, 1200, 100], "label": "car"}]
    path = write(tmp_path / "qwen.json", {"a": boxes})
    with pytest.raises(vt.ReadError, match="boxes in one unit"):
        vt.read(path, like=truth_of(640, 480))
    assert vt.read(path, like=truth_of(640, 480), coords="abs").regions.boxes[1, 2] == 1200


def test_prose_and_cut_off_answers_are_read_with_a_note(tmp_path: Path) -> None:
    lines = [
        {"image": "a", "answer": 'Sure! Here you are: [{"bbox_2d": [1, 2, 1003, 4], "label": "car"}] Anything else?'},
        {"image": "b", "answer": '[{"bbox_2d": [1, 2, 3, 4], "label": "car"}, {"bbox_2d": [1, 2'},
    ]
    path = write(tmp_path / "answers.jsonl", "\n".join(map(json.dumps, lines)))
    pred = vt.read(path, like=truth_of(1280, 720))
    assert len(pred) == 2
    assert any("text around" in note for note in pred.source.notes)
    assert any("cut off" in note for note in pred.source.notes)


def test_an_answer_without_boxes_is_an_image_without_predictions(tmp_path: Path) -> None:
    path = write(tmp_path / "answers.jsonl", '{"image": "a", "answer": "There is no <box>. bbox_2d"}\n'
                 '{"image": "b", "answer": [{"bbox_2d": [1, 2, 1030, 4], "label": "car"}]}')  # fmt: skip
    pred = vt.read(path, like=truth_of(1280, 720), format="vision-language")
    assert pred.image.tolist() == [1]


def test_a_line_separator_within_a_name_ends_no_line(tmp_path: Path) -> None:
    """U+2028 may stand in JSON as it is."""
    lines = [{"image": name, "answer": [{"bbox_2d": [1, 2, 1030, 4], "label": "sea\u2028gull"}]} for name in "ab"]
    path = write(tmp_path / "answers.jsonl", "\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
    pred = vt.read(path, like=truth_of(1280, 720, "sea\u2028gull"), format="vision-language")
    assert (len(pred), pred.labels.all_names) == (2, ("sea\u2028gull",))


def test_one_file_per_image(tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    folder.mkdir()
    write(folder / "a.txt", '```json\n[{"bbox_2d": [1, 2, 1030, 4], "label": "car"}]\n```')
    write(folder / "b.txt", "[]")
    pred = vt.read(folder, like=truth_of(1280, 720))
    assert [pred.images.name(i) for i in pred.image] == ["a.jpg"]


def test_spelling_is_that_of_the_ground_truth_and_unknown_names_are_listed(tmp_path: Path) -> None:
    names = ["Traffic_Light", "traffic light", "lamp", "lamp"]
    boxes = [{"bbox_2d": [0, 0, 1100, 9], "label": name} for name in names]
    path = write(tmp_path / "qwen.json", {"a": boxes})
    pred = vt.read(path, like=truth_of(1280, 720, "traffic-light"))
    assert [pred.labels.name(k) for k in pred.label] == ["traffic-light", "traffic-light", "lamp", "lamp"]
    assert any("'lamp' (2)" in note for note in pred.source.notes)


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    truth = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
        "categories": [{"id": 3, "name": "cat"}, {"id": 5, "name": "dog"}, {"id": 7, "name": "bird"}],
        "annotations": [
            {"id": k, "image_id": 1, "category_id": c, "bbox": [20 * k, 0, 10, 10], "area": 100, "iscrowd": 0}
            for k, c in enumerate((3, 5, 7), 1)
        ],
    }
    results = [
        {"image_id": 1, "category_id": c, "bbox": [20 * k, 0, 10, 10], "score": 0.9} for k, c in enumerate((5, 5, 7), 1)
    ]
    return write(tmp_path / "truth.json", truth), write(tmp_path / "pred.json", results)


def test_a_map_joins_and_ignores_classes_of_both_sides(sides: tuple[Path, Path], tmp_path: Path) -> None:
    table = write(tmp_path / "classes.csv", "from,to\ncat,animal\nDog,animal\nbird,\n")
    truth = vt.read(sides[0], map=table)
    pred = vt.read(sides[1], like=truth, map=table)
    assert (truth.labels.names, len(truth), len(pred)) == (("animal",), 2, 2)
    assert pred.labels.names == ("animal",)
    found = vt.f1(truth, pred, iou=0.5)
    assert found["F1"].value == 1.0
    assert dict(found.signature)["map"] == ClassMap.of(table).digest
    assert "map" not in dict(vt.f1(*sides, iou=0.5, checks="off").signature)


def test_every_command_takes_the_map(sides: tuple[Path, Path], tmp_path: Path, capsys: Any) -> None:
    table = write(tmp_path / "classes.csv", "from,to\ncat,animal\ndog,animal\nbird,\n")
    for verb in ("coco", "voc", "f1"):
        assert run([verb, *map(str, sides), "--map", str(table), "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert list(document["classes"]) == ["animal"]
        assert f"|map:{ClassMap.of(table).digest}" in document["signature"]
    assert run(["analyse", *map(str, sides), "--map", str(table), "--json", "--only", "errors"]) == 0


def test_the_order_of_rows_does_not_change_the_digest() -> None:
    assert ClassMap.of({"a": "x", "b": ""}).digest == ClassMap.of({"b": None, "a": "x"}).digest
    assert ClassMap.of({"a": "x"}).digest != ClassMap.of({"a": "y"}).digest


def test_a_map_of_two_classes_for_one_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(vt.ReadError, match="one class for 'a'"):
        ClassMap.of(write(tmp_path / "m.csv", "from,to\na,b\na,c\n"))
    with pytest.raises(vt.ReadError, match="from and to"):
        ClassMap.of(write(tmp_path / "n.csv", "name,to\na,b\n"))
    with pytest.raises(vt.BadParameter):
        vt.read({}, map=3)


@pytest.mark.parametrize("text", ['{"a.jpg": []}', '{"a.jpg": "[]", "b.PNG": ""}'])
def test_a_model_that_detected_nothing_has_no_predictions(tmp_path, text):
    (tmp_path / "answers.json").write_text(text)
    found = vt.read(tmp_path / "answers.json")
    assert found.source.format == "vision-language"
    assert len(found) == 0
    assert len(found.images) == text.count(":")
