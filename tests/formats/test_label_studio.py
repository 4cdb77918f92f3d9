"""Label Studio JSON: brush strokes, several annotations, uploads."""

from __future__ import annotations

import json

import numpy as np
import pytest

import verite as vt
from verite.formats.label_studio import encode_brush
from verite.formats.yolo import shape_from_lines


def brush_task(**more):
    # Columns of a mask of 2 x 3: only the middle one.
    value = {"format": "rle", "rle": encode_brush(np.array([2, 2, 2], np.uint32), 2, 3), "brushlabels": ["cat"]}
    result = {"type": "brushlabels", "value": value, **more}
    return [{"data": {"image": "a.jpg", "width": 3, "height": 2}, "annotations": [{"result": [result]}]}]


def shape(*lines):
    return shape_from_lines([line.split() for line in lines])


@pytest.mark.parametrize("more", [{}, {"original_width": 3, "original_height": 2}])
def test_strokes_have_a_size_of_their_own_or_that_of_their_image(tmp_path, more):
    (tmp_path / "a.json").write_text(json.dumps(brush_task(**more)))
    found = vt.read(tmp_path / "a.json")
    assert found.regions.runs.sizes.tolist() == [[2, 3]]
    assert found.regions.boxes.tolist() == [[1, 0, 2, 2]]


def test_of_several_annotations_of_a_task_the_first_counts_and_the_others_are_counted(tmp_path):
    def drawn(x, **more):
        value = {"x": x, "y": 0, "width": 10, "height": 10, "rectanglelabels": ["cat"]}
        shape = {"type": "rectanglelabels", "original_width": 100, "original_height": 100, "value": value}
        return {"result": [shape], **more}

    several = [drawn(1, was_cancelled=True), drawn(2), drawn(3), drawn(4)]
    tasks = [{"data": {"image": f"{i}.jpg"}, "annotations": said} for i, said in enumerate((several, [drawn(5)], []))]
    (tmp_path / "a.json").write_text(json.dumps(tasks))
    found = vt.read(tmp_path / "a.json")
    assert found.regions.boxes[:, 0].tolist() == [2, 5]
    (note,) = found.source.notes
    assert note.startswith("2 annotations of the same task left out (first: ")
    assert note.endswith("a.json: [0])")


def task_name(tmp_path, **data):
    result = {"type": "rectanglelabels", "original_width": 100, "original_height": 100}
    result["value"] = {"x": 1, "y": 0, "width": 10, "height": 10, "rectanglelabels": ["cat"]}
    (tmp_path / "a.json").write_text(json.dumps([{"data": data, "annotations": [{"result": [result]}]}]))
    return vt.read(tmp_path / "a.json").images.name(0)


def test_uploads_lose_the_eight_characters_before_their_names(tmp_path):
    assert task_name(tmp_path, image="/data/upload/1/abcdef12-cat.jpg") == "cat.jpg"
    assert task_name(tmp_path, image="/data/upload/1/cat.jpg").endswith("cat.jpg")
    assert task_name(tmp_path, image="in/abcdef12-cat.jpg").endswith("abcdef12-cat.jpg")
    assert task_name(tmp_path, text="hello", picture="x/dog.png").endswith("dog.png")


def test_a_file_in_which_somebody_drew_is_a_truth_whatever_models_proposed(tmp_path):
    value = {"x": 1, "y": 0, "width": 10, "height": 10, "rectanglelabels": ["cat"]}
    shape = {"type": "rectanglelabels", "original_width": 100, "original_height": 100, "value": value, "score": 0.5}
    tasks = [
        {"data": {"image": "a.jpg"}, "annotations": [{"result": [shape]}]},
        {"data": {"image": "b.jpg"}, "predictions": [{"result": [shape]}]},
    ]
    (tmp_path / "a.json").write_text(json.dumps(tasks))
    found = vt.read(tmp_path / "a.json")
    assert (found.confidence, found.image.tolist()) == (None, [0])
    (tmp_path / "a.json").write_text(json.dumps(tasks[1:]))
    assert vt.read(tmp_path / "a.json").confidence.tolist() == [0.5]
