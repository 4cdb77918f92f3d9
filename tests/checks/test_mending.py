"""What is put right without asking, and that it is said."""

from __future__ import annotations

import json

import numpy as np
import pytest

import verite as vt
from verite.checks.inspection import fix_annotations
from verite.cli import run


def test_exact_repetitions_go_and_near_ones_stay():
    boxes = [[0, 0, 9, 9], [0, 0, 9, 9], [0, 0, 9, 9.1], [0, 0, 9, 9], [0, 0, 9, 9]]
    names, labels = ["a", "a", "a", "b", "a"], ["cat", "cat", "cat", "cat", "dog"]
    fixed, done = fix_annotations(vt.Annotations.of(names, labels, boxes))
    assert fixed.regions.boxes[:, 3].tolist() == [9, 9.1, 9, 9]
    assert done == ["removed 1 of 5 objects, exact duplicates of another one"]


def test_predictions_of_another_confidence_are_others():
    twice = vt.Annotations.of(["a", "a"], ["cat"] * 2, [[0, 0, 9, 9]] * 2, confidence=[0.5, 0.6])
    assert fix_annotations(twice) == (twice, [])


def test_outlines_tell_objects_apart():
    box = [0.0, 0, 9, 9]
    polygons = vt.Polygons.of([[[0, 0, 9, 0, 9, 9]], [[0, 0, 9, 9, 0, 9]], [[0, 0, 9, 0, 9, 9]]])
    plain = vt.Annotations.of(["a"] * 3, ["cat"] * 3, [box] * 3)
    with_outlines = type(plain)(
        plain.images, plain.labels, plain.image, plain.label, vt.Regions([box] * 3, "xyxy", polygons=polygons)
    )
    assert len(fix_annotations(with_outlines)[0]) == 2


def test_boxes_are_clipped_to_images_of_known_size():
    sizes = {"a": (20, 10)}
    boxes = [[-5, 0, 30, 12], [30, 0, 40, 5], [1, 1, 2, 2], [-5, 0, 3, 3]]
    old = vt.Annotations.of(["a", "a", "a", "b"], ["cat"] * 4, boxes, sizes=sizes)
    fixed, done = fix_annotations(old)
    assert fixed.regions.boxes.tolist() == [[0, 0, 20, 10], [20, 0, 20, 5], [1, 1, 2, 2], [-5, 0, 3, 3]]
    assert done == ["clipped 2 of 4 boxes to their images; 1 of them lay outside of their image and have zero size now"]


def test_names_are_trimmed_unless_two_classes_would_become_one():
    def names(*given):
        return fix_annotations(vt.Annotations.of(["a"], [given[0]], [[0, 0, 1, 1]], labels=given))

    fixed, done = names(" person", "dog ")
    assert fixed.labels.names == ("person", "dog")
    assert done == ["trimmed 2 of 2 class names"]
    fixed, done = names("person", "person ")
    assert fixed.labels.names == ("person", "person ")
    assert done == ["class names with white space not trimmed: two classes would become one"]


def test_a_sound_file_is_left_alone():
    sound = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], sizes={"a": (9, 9)})
    assert fix_annotations(sound) == (sound, [])


def test_inspect_writes_the_mended_file_and_says_what_it_did(tmp_path, capsys):
    box = {"image_id": 1, "category_id": 1, "bbox": [-50, 0, 60, 9], "area": 540}
    truth = {"images": [{"id": 1, "width": 90, "height": 90}], "categories": [{"id": 1, "name": "cat "}]}
    truth["annotations"] = [{"id": i, **box} for i in (1, 2)]
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    assert run(["inspect", str(tmp_path / "truth.json"), "--fix", str(tmp_path / "out.json")]) == 0
    said = capsys.readouterr().err
    for line in (
        "removed 1 of 2 objects",
        "clipped 1 of 1 boxes",
        "trimmed 1 of 1 class names",
        "out.json as COCO JSON",
    ):
        assert line in said
    fixed = vt.read(tmp_path / "out.json")
    assert (fixed.labels.name(0), fixed.regions.sizes.tolist()) == ("cat", [[0, 0, 10, 9]])
    assert fixed.area is not None
    assert np.array_equal(fixed.area, [90])


def test_two_files_cannot_be_mended_at_once(capsys):
    assert run(["inspect", "a.json", "b.json", "--fix", "c.json"]) == 2
    assert "--fix: expected one file, found 2" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["map", "mAP", "eval"])
def test_who_wants_ap_is_shown_the_verbs(word, capsys):
    assert run([word, "a", "b"]) == 2
    assert "AP is verite coco or verite voc" in capsys.readouterr().err
