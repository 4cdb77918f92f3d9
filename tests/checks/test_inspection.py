"""Findings, summaries of files, and safe fixes of annotation files."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from tests.checks.small import BOX, coco, side, told
from verite.checks import Finding
from verite.checks import boxes as rotated
from verite.checks import predictions as ties
from verite.checks import regions as poses
from verite.checks.check import Fix, near_word, stop_on_errors, warn_of
from verite.checks.inspection import clip_boxes, fix_annotations
from verite.checks.readings import Reading
from verite.cli import run
from verite.model.annotations import Source


# Values.
def test_one_box_has_and_two_boxes_have():
    boxes = np.array([BOX, BOX, BOX])
    for many, verb in ((1, "1 of 3 boxes has"), (2, "2 of 3 boxes have")):
        odd = boxes.copy()
        odd[:many, 2] = 10
        found = told(side(["a", "b", "c"], boxes=odd), is_truth=True)["V110"]
        assert found.message.startswith(f"{verb} zero width or height")
        assert found.examples[0] == "a: x1 y1 x2 y2 = 10 20 10 60"


def test_numbers_are_shown_as_the_file_has_them():
    found = told(side(["a", "b"], boxes=[[10, 20, 0, 40], [1, 2, 3, 4]], layout="xywh"), is_truth=True)["V110"]
    assert found.examples == ("a: x y w h = 10 20 0 40",)


def test_corners_the_wrong_way_round_may_be_widths():
    corners = told(side(["a", "b"], boxes=[[50, 20, 10, 60], BOX]), is_truth=True)["V106"]
    assert "boxes=xyxy" in corners.remedy
    names = [f"{i}" for i in range(30)]
    slip = told(side(names, boxes=[[50, 20, 10, 60], *[BOX] * 29]), is_truth=True)["V106"]  # one of thirty is a slip
    assert slip.remedy == "write the smaller corner first: x1 <= x2, y1 <= y2"
    sizes = told(side(["a", "b"], boxes=[[50, 20, -10, 60], BOX], layout="xywh"), is_truth=True)["V106"]
    assert sizes.remedy == "write the smaller corner first: x1 <= x2, y1 <= y2"


def test_ids_that_occur_twice_are_reported_with_their_images(tmp_path):
    found = coco(tmp_path, {"id": 7}, {"id": 7, "image_id": 2})["V216"]
    assert found.message.startswith("1 of 2 objects")
    assert found.examples == ("id 7 again in b.jpg",)


def test_an_area_larger_than_its_box_is_reported(tmp_path):
    found = coco(tmp_path, {"area": 1200}, {})["V113"]
    assert (found.severity, found.count) == ("warning", 1)
    assert "1 of 2 objects have a stated area larger than their box" in found.message
    assert found.examples == ("a.jpg, id 1: area 1200, box 3 x 4",)


def test_areas_of_nothing_hide_no_area_larger_than_its_box(tmp_path):
    areas = [{"area": 0}, {"area": 1200}]
    (tmp_path / "truth.json").write_text(json.dumps({
        "images": [{"id": 1, "file_name": "a.jpg", "width": 99, "height": 99}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": i, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], **area}
                        for i, area in enumerate(areas, start=1)],
    }))  # fmt: skip
    found = [f.message for f in vt.inspect(tmp_path / "truth.json").findings if f.code == "V113"]
    assert ["zero or below" in message for message in found] == [True, False]
    assert "larger than their box" in found[1]


def test_areas_of_nothing_are_reported(tmp_path):
    found = coco(tmp_path, {"area": 0}, {})["V113"]
    assert found.message.startswith("1 of 2 objects have a stated area of zero or below")
    assert found.examples == ("a.jpg, id 1: area 0, box 3 x 4",)


def test_an_id_of_zero_is_reported_with_its_image(tmp_path):
    found = coco(tmp_path, {"id": 0}, {"id": 5})["V217"]
    assert (found.count, found.examples) == (1, ("a.jpg, id 0",))


def test_predictions_without_confidence_may_be_objects():
    found = told(side(["a", "b"]), is_truth=False)["V301"]
    assert found.message == "2 of 2 predictions have no confidence"
    assert "ground-truth file?" in found.remedy
    some = [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": s} for s in (0.5, None)]
    del some[1]["score"]
    mixed = told(vt.read(some), is_truth=False)["V301"]
    assert (mixed.message, mixed.remedy) == (
        "1 of 2 predictions have no confidence", "write the detector's confidence with every box"
    )  # fmt: skip


def test_formats_without_confidences_are_not_asked_for_them():
    panoptic = side(["a", "b"]).with_source(Source("x", "panoptic"))
    assert "V301" not in told(panoptic, is_truth=False)


def test_strange_confidences_are_shown():
    def found(*confidence):
        return told(side(["a", "b", "c"], confidence=list(confidence)), is_truth=False)

    assert found(0.5, np.nan, 0.7)["V302"].message == "1 of 3 confidences are NaN or infinite"
    assert found(0.5, np.nan, 0.7)["V302"].examples == ("b: nan",)
    assert found(50, 0.5, 70)["V303"].message == "2 of 3 confidences are above 1"
    assert found(50, 0.5, 70)["V303"].examples == ("a: 50", "c: 70")


def test_file_names_that_occur_twice_are_reported(tmp_path):
    two = [{"id": i, "width": 100, "height": 50, "file_name": "a.jpg"} for i in (1, 2)]
    found = coco(tmp_path, {}, images=two)["V215"]
    assert found.message.startswith("1 of 2 images")
    assert found.examples == ("'a.jpg'",)


# Poses and rotated boxes.
@pytest.mark.parametrize(("compared", "better", "is_told"), [(9, 6, False), (8, 6, True), (5, 5, True), (4, 4, False)])
def test_more_than_two_thirds_of_the_poses_must_be_mirrored(compared, better, is_told):
    found = list(poses.find_mirrored(SimpleNamespace(mirrored=(compared, better))))
    assert [(f.code, f.count, f"{better} of {compared}" in f.message) for f in found] == [
        ("V423", better, True)
    ] * is_told


def test_objects_are_paired_with_predictions_that_overlap_by_half():
    truth = side(["a", "b", "c"], boxes=[[0, 0, 10, 10]] * 3)
    boxes = [[0, 0, 10, 4], [0, 0, 10, 5], [0, 0, 10, 4.9]]
    pred = side(["a", "a", "b"], boxes=boxes, confidence=[0.9, 0.8, 0.7]).like(truth)
    assert list(poses.nearest(SimpleNamespace(truth=truth, pred=pred))) == [(0, 1)]


def test_another_number_of_keypoints_is_reported(tmp_path):
    three, two = {"keypoints": [5, 5, 2] * 3, "num_keypoints": 3}, {"keypoints": [5, 5, 2] * 2, "num_keypoints": 2}
    found = coco(tmp_path, three, three, two, {}, {}, {}, {})["V420"]  # who has none may have none
    assert found.message.startswith("1 of 7 objects")
    assert "3 keypoints" in found.message
    assert found.examples == ("a.jpg, id 3",)


def test_keypoints_leave_the_image_by_a_tenth_of_its_side(tmp_path):
    # Images of 100 x 50.
    for point, is_told in (((110, 10), False), ((110.1, 10), True), ((-10, 10), False), ((10, -5.1), True)):
        found = coco(tmp_path, {"keypoints": [*point, 2, 5, 5, 2], "num_keypoints": 2}, {"keypoints": [5, 5, 2] * 2})
        assert ("V421" in found) == is_told
    unlabelled = coco(tmp_path, {"keypoints": [900, 10, 0, 5, 5, 2], "num_keypoints": 1})
    assert "V421" not in unlabelled


def test_objects_without_a_labelled_keypoint_are_counted(tmp_path):
    found = coco(tmp_path, {"keypoints": [5, 5, 0]}, {"keypoints": [6, 5, 0]}, {})["V422"]
    assert (found.count, "none of 2" in found.message) == (2, True)


@pytest.mark.parametrize(
    ("note", "option"),
    [
        ("degrees, clockwise", "degrees-ccw"),
        ("degrees, counterclockwise", "degrees"),
        ("radians, clockwise", "radians-ccw"),
        ("radians, counterclockwise", "radians"),
    ],
)
def test_angles_are_to_be_read_the_other_way(note, option):
    noted = SimpleNamespace(source=SimpleNamespace(notes=("something", f"{rotated.FIVE_NUMBERS} {note}")))
    silent = SimpleNamespace(source=SimpleNamespace(notes=()))
    of_pred = rotated.opposite_angle(SimpleNamespace(pred=noted, truth=silent))
    of_truth = rotated.opposite_angle(SimpleNamespace(pred=silent, truth=noted))
    assert (of_pred.as_options(), of_truth.as_options()) == (f"--pred-angle {option}", f"--truth-angle {option}")
    assert (of_pred.side, of_truth.side, of_pred.as_python()) == ("pred", "truth", f'angle="{option}"')


def test_equal_confidences_are_counted_by_class():
    pred = side(list("abcdef"), ["cat"] * 4 + ["dog"] * 2, confidence=[0.5, 0.5, 0.5, 0.6, 0.5, 0.5])
    assert ties.count_ties(pred) == (5, [(3, 0, 0.5), (2, 1, 0.5)])


# Masks.
def test_masks_rotated_are_reported_with_both_sizes(tmp_path):
    found = coco(tmp_path, {"segmentation": {"size": [100, 50], "counts": [0, 5000]}}, {})["V406"]
    assert found.message.startswith("1 of 2 masks")
    assert found.examples == ("a.jpg, id 1: 100 x 50, its image 50 x 100 (height x width)",)


def test_crowds_of_polygons_are_counted_among_crowds(tmp_path):
    ring = {"segmentation": [[0, 0, 3, 0, 3, 3]], "iscrowd": 1}
    mask = {"segmentation": {"size": [50, 100], "counts": [0, 5000]}, "iscrowd": 1}
    found = coco(tmp_path, ring, mask, {})["V418"]
    assert found.message.startswith("1 of 2 crowd annotations")
    assert found.examples == ("a.jpg, id 1",)


# What is made of findings.
def finding(code="V111", severity="error", side="pred", **more):
    return Finding(code, severity, more.pop("message", "something"), 1, more.pop("examples", ()), "mend it", side)


def stopped(*findings, **paths):
    with pytest.raises(vt.DataError) as error:
        stop_on_errors(findings, paths)
    return str(error.value)


def test_an_evaluation_stops_at_the_first_error_and_counts_the_others():
    assert stopped(finding()).startswith("V111 something; mend it (verite.inspect")
    assert 'checks="warn"' in stopped(finding())
    assert stopped(finding(), finding("V112")).startswith("V111 something; mend it (one more error; verite.inspect")
    assert stopped(finding(), finding(), finding()).startswith("V111 something; mend it (2 more errors; verite.inspect")
    assert stopped(finding("V110", "warning"), finding()) == stopped(finding())
    stop_on_errors([finding(severity="warning")], {})


def test_the_file_at_fault_is_named():
    assert stopped(finding(), pred="p.json", truth="t.json").startswith("p.json: V111")
    assert stopped(finding(side="truth"), pred="p.json", truth="t.json").startswith("t.json: V111")
    assert stopped(finding(side="truth"), truth="").startswith("truth: V111")


def test_one_warning_reports_how_many_more_there_are():
    def warned(*findings):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warn_of(findings, "coco")
        return [str(one.message) for one in caught]

    assert warned() == []
    assert warned(finding()) == ["coco: V111 something; mend it"]
    assert warned(finding(), finding("V112")) == ["coco: V111 something; mend it (1 more)"]


def test_five_examples_are_enough():
    assert finding(examples=tuple("abcdefg")).examples == tuple("abcde")


def test_a_finding_as_plain_values_has_its_options():
    fixed = Finding("V101", "error", "m", 3, ("e",), Fix("pred", (("boxes", "xyxy"), ("coords", "*0.5"))))
    assert fixed.to_dict() | {"message": ""} == {
        "code": "V101", "severity": "error", "side": "pred", "message": "", "count": 3, "examples": ["e"],
        "fix": 'add --pred-boxes xyxy --pred-coords "*0.5"', "options": '--pred-boxes xyxy --pred-coords "*0.5"',
        "python": 'boxes="xyxy", coords="*0.5"',
    }  # fmt: skip
    assert finding().to_dict()["options"] is None


def test_among_very_many_names_only_those_that_begin_or_end_alike_are_compared():
    many = [f"n{i:06d}" for i in range(2001)]
    assert near_word("cat", [*many, "cet"]) != "cet"
    assert near_word("catalogue", [*many, "catalogua"]) == "catalogua"
    assert near_word("xatalogue", [*many, "catalogue"]) == "catalogue"
    assert near_word("cat", [*many[:1000], "cet"]) == "cet"


# A file in numbers.
def test_a_file_is_reported_in_numbers():
    # Sides of boxes: square roots of 100, 400 and 900.
    annotations = vt.Annotations.of(
        ["a", "a", "b"], ["dog", "cat", "cat"], [[0, 0, 10, 10], [0, 0, 20, 20], [0, 0, 30, 30]],
        confidence=[0.25, 0.5, 0.75], sizes={"a": (100, 50), "b": (200, 80), "c": (20, 10)},
    )  # fmt: skip
    lines = str(vt.inspect(annotations)).splitlines()
    assert "  images       3, 2 with predictions, 20 x 10 to 200 x 80" in lines
    assert "  classes      2: cat 2, dog 1" in lines
    assert "  read as      given in Python" in lines
    assert "  box sides    10 to 30 px, median 20 (square root of the area)" in lines
    assert "  confidences  0.25 to 0.75" in lines


def test_ten_labels_are_shown_and_the_rest_is_counted():
    for many, more in ((10, ""), (11, " and 1 more")):
        names = [f"c{i:02d}" for i in range(many)]
        text = str(vt.inspect(side([str(i) for i in range(many)], names)))
        shown = ", ".join(f"{name} 1" for name in names[:10])
        assert f"  classes      {many}: {shown}{more}\n" in text


def test_images_of_one_size_are_reported_once_and_unknown_sizes_as_such():
    assert "with objects, 9 x 8\n" in str(vt.inspect(side(["a", "b"], sizes={"a": (9, 8), "b": (9, 8)})))
    assert "with objects, sizes unknown\n" in str(vt.inspect(side(["a"])))


def test_poses_are_counted(tmp_path):
    coco(tmp_path, {"keypoints": [5, 5, 2, 6, 6, 0]}, {"keypoints": [6, 5, 0, 7, 7, 0]}, {})
    text = str(vt.inspect(tmp_path / "truth.json"))
    assert "  keypoints    2 each, 2 objects, 1 with a labelled one" in text
    assert "  read as      coco: a JSON object" in text


def test_an_inspection_as_a_document_is_one_line_unless_reported():
    found = vt.inspect(side(["a"]))
    assert "\n" not in found.to_json().strip()
    assert "\n " in found.to_json(indent=1)


def test_stated_areas_stay_unless_they_were_those_of_clipped_boxes():
    boxes = [[-10, 0, 10, 10], [0, 0, 10, 10], [-10, 0, 10, 10]]
    given = side(["a", "b", "c"], boxes=boxes, sizes=dict.fromkeys("abc", (50, 50)))
    mended, (said,) = clip_boxes(replace(given, area=np.array([200.0, 100, 55])))
    assert mended.area.tolist() == [100, 100, 55]
    assert mended.regions.boxes[0].tolist() == [0, 0, 10, 10]
    assert said == "clipped 2 of 3 boxes to their images"


def test_exact_duplicates_go_and_near_ones_stay():
    boxes = [[0, 0, 9, 9], [0, 0, 9, 9], [0, 0, 9, 9.1], [0, 0, 9, 9], [0, 0, 9, 9]]
    names, labels = ["a", "a", "a", "b", "a"], ["cat", "cat", "cat", "cat", "dog"]
    fixed, done = fix_annotations(vt.Annotations.of(names, labels, boxes))
    assert fixed.regions.boxes[:, 3].tolist() == [9, 9.1, 9, 9]
    assert done == ["removed 1 of 5 objects, exact duplicates of another one"]


def test_predictions_of_another_confidence_are_others():
    twice = vt.Annotations.of(["a", "a"], ["cat"] * 2, [[0, 0, 9, 9]] * 2, confidence=[0.5, 0.6])
    assert fix_annotations(twice) == (twice, [])


def test_outlines_distinguish_objects():
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


def test_inspect_writes_the_fixed_file_and_says_what_it_did(tmp_path, capsys):
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


def test_two_files_cannot_be_fixed_at_once(capsys):
    assert run(["inspect", "a.json", "b.json", "--fix", "c.json"]) == 2
    assert "--fix: expected one file, found 2" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["map", "mAP", "eval"])
def test_who_wants_ap_is_shown_the_verbs(word, capsys):
    assert run([word, "a", "b"]) == 2
    assert "AP is verite coco or verite voc" in capsys.readouterr().err


def test_a_warning_points_at_who_asked():
    finding = Finding("V101", "error", "something", 1, (), "nothing")

    def evaluate():
        warn_of([finding], "coco")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate()
    here = test_a_warning_points_at_who_asked.__code__.co_firstlineno
    assert caught[0].lineno == here + 8  # the line that called `evaluate`


def test_a_file_is_named_by_its_path():
    given = side(["a"])
    assert str(vt.inspect(given)).startswith("truth: (not from a file)\n")
    assert str(vt.inspect(given.with_source(Source("gt.json", "coco", "")))).startswith("truth: gt.json\n")
    assert Reading("xyxy", "padded", (640.0, 480.0)).words.endswith("padded to 640 x 480")


def test_what_follows_from_misread_corners_is_not_listed_as_well():
    """Clipping these boxes, or changing their areas, would be the wrong advice: only their format is wrong."""
    truth = json.loads((files("verite") / "data" / "demo" / "truth.json").read_text("utf-8"))
    for one in truth["annotations"]:
        x, y, w, h = one["bbox"]
        one["bbox"] = [x, y, x + w, y + h]
        del one["segmentation"]
    assert [f.code for f in vt.inspect(truth).findings if f.severity != "note"] == ["V114"]
