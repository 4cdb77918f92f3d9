"""Every error of a COCO file is listed, and its valid records are read."""

from __future__ import annotations

import json
import re

import pytest

import verite as vt
from tests.formats.samples import refused
from verite.errors import list_faults
from verite.formats import coco_errors


def records(*boxes):
    images, categories = [{"id": 1, "width": 9, "height": 9}], [{"id": 1, "name": "cat"}]
    found = [{"id": i, "image_id": 1, "category_id": 1, "bbox": box} for i, box in enumerate(boxes, 1)]
    return {"images": images, "categories": categories, "annotations": found}


GOOD, BAD = [0, 0, 1, 1], [0, 0, "x", 1]


def flaws(tmp_path, *boxes):
    (tmp_path / "truth.json").write_text(json.dumps(records(*boxes)))
    with list_faults():
        found = vt.read(tmp_path / "truth.json")
    return len(found), [place.partition(": ")[2] for flaw in found.source.flaws for place in flaw.places]


@pytest.mark.parametrize("block", [1, 2, 3, 100])
def test_wrong_records_are_found_whatever_is_read_together(tmp_path, monkeypatch, block):
    monkeypatch.setattr(coco_errors, "BLOCK", block)
    count, places = flaws(tmp_path, GOOD, BAD, GOOD, GOOD, BAD)
    assert count == 3
    assert [place.partition(".")[0] for place in places] == ["annotations[1]", "annotations[4]"]


def test_after_many_wrong_records_the_others_are_not_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(coco_errors, "MOST", 2)
    count, places = flaws(tmp_path, BAD, GOOD, BAD, GOOD, BAD)
    assert count == 1
    assert "annotations[3]" in places


def test_objects_of_unknown_images_are_left_out_one_by_one(tmp_path):
    document = records(GOOD, GOOD, GOOD)
    document["annotations"][1]["image_id"] = 7
    (tmp_path / "truth.json").write_text(json.dumps(document))
    with list_faults():
        found = vt.read(tmp_path / "truth.json")
    assert found.ids.tolist() == [1, 3]
    assert len(found.source.flaws) == 1


def place(data):
    import ctypes

    held = ctypes.create_string_buffer(bytes(data), len(data))
    return held, ctypes.addressof(held)


def test_outlines_that_are_none_are_listed_with_the_others(tmp_path):
    def record(i, **more):
        return {"id": i, "image_id": 1, "category_id": 1, "bbox": [0, 0, 2, 2], "area": 4, **more}

    odd = [
        record(1, segmentation=[[0, 0, 1, 1]]),
        record(2, segmentation={"size": [4, 4], "counts": [99]}),
        record(3, segmentation=[[0, 0, 2, 0, 2, 2]]),
        record(4, segmentation={"size": [4, 4], "counts": [4, 4, 8]}),
    ]
    images = [{"id": 1, "width": -4, "height": 4, "file_name": "a.jpg"}]
    document = {"images": images, "categories": [{"id": 1, "name": "cat"}], "annotations": odd}
    (tmp_path / "a.json").write_text(json.dumps(document))
    with list_faults():
        read = vt.read(tmp_path / "a.json")
    places = sorted(place.partition(": ")[2] for flaw in read.source.flaws for place in flaw.places)
    assert [re.match(r"\w+\[\d\]", place)[0] for place in places] == ["annotations[0]", "annotations[1]", "images[0]"]
    assert len(read) == 2
    assert read.images.widths.tolist() == [0]


def test_sections_that_are_no_lists_are_no_coco_file(tmp_path):
    document = {"images": [{"id": 1}], "categories": 5, "annotations": []}
    (tmp_path / "a.json").write_text(json.dumps(document))
    with list_faults():
        assert "expected an array of categories, found a number" in refused(vt.read, tmp_path / "a.json")
