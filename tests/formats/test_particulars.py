"""What is particular about wrong JSON, Arrow and some formats: their rules, each at the point where it turns."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from PIL import Image

import verite as vt
from verite.errors import BadParameter, DataError, ReadError, list_faults
from verite.formats import coco_errors, wider, yolo
from verite.formats.arrow_stream import check as check_stream
from verite.formats.format import Options, PathProbe
from verite.formats.json_documents import check_depth, check_finite, explain_syntax, odd_value, translate
from verite.formats.label_studio import encode_brush
from verite.formats.mask_images import save
from verite.formats.openimages import decimal, is_yes
from verite.formats.yolo import shape_from_lines, shape_from_truth, split_keypoints
from verite.model.keypoints import Keypoints


def refused(ask, *args, **given):
    with pytest.raises((ReadError, BadParameter, DataError)) as error:
        ask(*args, **given)
    return str(error.value)


# Wrong records of COCO files, all of them.


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


# JSON that is none.


def test_wrong_json_is_named_by_its_line(tmp_path):
    path = tmp_path / "a.json"
    for data, line in ((b'{"a": 1,\n "b": x}', 2), (b"x", 1)):
        with pytest.raises(msgspec.DecodeError) as error:
            msgspec.json.decode(data)
        assert str(explain_syntax(path, data, error.value)).startswith(f"{path}:{line}: expected JSON")


def test_json_may_be_nested_so_deeply_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setenv("VERITE_LIMIT_JSON_DEPTH", "3")
    check_depth(tmp_path, b"[[[1]]]")
    check_depth(tmp_path, b'[[1], [2], [3], [4], {"a": [5]}]')
    check_depth(tmp_path, b'["[[[[[["]')  # in a text
    assert "at most 3 levels of nesting, found more" in refused(check_depth, tmp_path, b"[[[[1]]]]")
    assert "found more" in refused(check_depth, tmp_path, b'[{"a": [{"b": 1}]}]')


def test_values_that_json_has_not_are_found_by_their_place():
    nan = float("nan")
    assert odd_value({"a": [1, {"b": nan}]}, "", frozenset()) == (".a[1].b", "a number", "nan")
    assert odd_value({"a": [1, {"b": nan}]}, "", frozenset({"b"})) is None
    assert odd_value({"a": "\ud800"}, "", frozenset()) == (".a", "text", "half a surrogate pair")
    assert odd_value({"\ud800": 1}, "", frozenset())[0] == ": key"
    assert odd_value({"é": "é", "a": [1.5, "x"]}, "", frozenset()) is None


def test_numbers_that_json_has_not_are_not_written(tmp_path):
    check_finite(tmp_path, "boxes", np.zeros((3, 4)))
    values = np.zeros((3, 4))
    values[1, 2] = np.nan
    assert "expected boxes that JSON can hold, found NaN or infinity in object 1" in refused(
        check_finite, tmp_path, "boxes", values
    )


# Arrow.


def test_decimals_of_a_part_of_a_table_are_read():
    pa = pytest.importorskip("pyarrow")
    numbers = [Decimal("1.5"), Decimal("-2.25"), Decimal("30.75"), Decimal("0.5")]
    columns = {name: pa.array(numbers, pa.decimal128(9, 2)) for name in ("x", "y", "width", "height")}
    whole = pa.table({"image": ["a", "b", "c", "d"], "label": ["cat"] * 4, **columns})
    assert vt.read(whole).regions.sizes[:, 0].tolist() == [1.5, -2.25, 30.75, 0.5]
    assert vt.read(whole.slice(1, 2)).regions.sizes[:, 3].tolist() == [-2.25, 30.75]


def test_bits_and_nulls_of_a_part_of_a_table_begin_within_a_byte():
    pa = pytest.importorskip("pyarrow")
    crowd = [i % 3 == 0 for i in range(30)]
    confidence = [None if i % 5 == 0 else i / 100 for i in range(30)]
    columns = {name: [1.0] * 30 for name in ("x", "y", "width", "height")}
    names = [f"{i:02d}" for i in range(30)]
    whole = pa.table({"image": names, "label": ["cat"] * 30, "crowd": crowd, "confidence": confidence, **columns})
    for start, length in ((0, 30), (9, 12), (17, 3)):
        found = vt.read(whole.slice(start, length))
        assert found.crowd.tolist() == crowd[start : start + length]
        assert np.isnan(found.confidence).tolist() == [i % 5 == 0 for i in range(start, start + length)]


def test_a_stream_that_breaks_off_says_why():
    check_stream(SimpleNamespace(), 0, 0)
    silent, loud = (SimpleNamespace(get_last_error=lambda _, said=said: said) for said in (None, b"no disk"))
    assert "expected a stream that can be read, found 'an error'" in refused(check_stream, silent, 0, 5)
    assert "found 'no disk'" in refused(check_stream, loud, 0, 5)


# What is particular about some formats.


def test_dota_results_are_a_file_for_each_class(tmp_path):
    square = vt.Polygons.of([[[1, 2, 5, 2, 5, 8, 1, 8]]] * 2)
    pred = vt.Annotations.of(
        ["p1", "p2"], ["ship", "plane"], [[1, 2, 5, 8]] * 2, confidence=[0.75, 0.5], labels=["plane", "ship"]
    )
    vt.write(replace(pred, regions=vt.Regions([[1, 2, 5, 8]] * 2, polygons=square)), tmp_path / "out", "dota")
    found = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    corners = "1.0 2.0 5.0 2.0 5.0 8.0 1.0 8.0"
    assert found == {"Task1_plane.txt": f"p2 0.5 {corners}\n", "Task1_ship.txt": f"p1 0.75 {corners}\n"}


def brush_task(**more):
    # Columns of a mask of 2 x 3: only the middle one.
    value = {"format": "rle", "rle": encode_brush(np.array([2, 2, 2], np.uint32), 2, 3), "brushlabels": ["cat"]}
    result = {"type": "brushlabels", "value": value, **more}
    return [{"data": {"image": "a.jpg", "width": 3, "height": 2}, "annotations": [{"result": [result]}]}]


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


def test_label_images_have_as_few_bits_as_their_values_need(tmp_path):
    for value, depth in ((255, "uint8"), (256, "uint16"), (65_535, "uint16")):
        save(np.full((2, 3), value, np.uint32), tmp_path / "a.png")
        with Image.open(tmp_path / "a.png") as image:
            found = np.asarray(image)
        assert (found.max(), found.astype(depth).max()) == (value, value)
        assert (image.mode == "L") == (depth == "uint8")
    assert "expected values up to 65535, found 65536" in refused(
        save, np.full((2, 3), 65_536, np.uint32), tmp_path / "a.png"
    )


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("a.jpg\n0\n", True),
        ("a.jpg\n1\n", False),  # the face is missing
        ("a.jpg\n1\n1 2 3 4 0.5\n", True),
        ("a.jpg\n1\n1 2 3 4 0 0 0 0 0 0\n", True),
        ("a.jpg\n1\n1 2 3 4\n", False),
        ("a.jpg\n1\n1 2 3 4 x\n", False),
        ("7\n1\n1 2 3 4 0.5\n", False),  # no name
        ("a b.jpg\n1\n1 2 3 4 0.5\n", False),
        ("a.jpg\nx\n1 2 3 4 0.5\n", False),
        ("a.jpg\n", False),
    ],
)
def test_faces_are_known_by_name_number_and_numbers(tmp_path, text, is_so):
    (tmp_path / "a.txt").write_text(text)
    assert (wider.recognise(PathProbe(tmp_path / "a.txt")) is not None) is is_so


def test_images_without_faces_may_have_a_line_of_zeros(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a.jpg\n0\n0 0 0 0 0 0 0 0 0 0\nb.jpg\n0\nc.jpg\n1\n1 2 3 4 0 0 0 1 1 0\n")
    found = vt.read(path, format="wider")
    assert found.images.names == ("a.jpg", "b.jpg", "c.jpg")
    assert found.regions.sizes.tolist() == [[1, 2, 3, 4]]
    assert (found.flag("ignore").tolist(), found.flag("occluded").tolist()) == ([True], [True])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a.jpg\n", "a.txt:2: expected the number of faces, found the end of the file"),
        ("a.jpg\nx\n", "a.txt:2: expected the number of faces, found 'x'"),
        ("a.jpg\n1234567890\n", "a.txt:2: expected the number of faces, found '1234567890'"),
        ("a.jpg\n123456789\n", "expected 123456789 faces of a.jpg, found the end of the file"),
        ("a.jpg\n2\n1 2 3 4 0.5\n", "expected 2 faces of a.jpg, found the end of the file"),
        ("a.jpg\n1\n1 2 3 4\n", "a.txt:3: expected 10 numbers per face, 5 of a prediction, found 4"),
    ],
)
def test_faces_that_are_none_are_named(tmp_path, text, said):
    (tmp_path / "a.txt").write_text(text)
    assert said in refused(vt.read, tmp_path / "a.txt", format="wider")


def shape(*lines):
    return shape_from_lines([line.split() for line in lines])


def test_keypoints_are_betrayed_by_visibilities():
    box = "0 0.5 0.5 0.2 0.2"
    assert shape(f"{box} 0.1 0.2 2") == (1, 3)
    assert shape(f"{box} 0.1 0.2 2 0.3 0.4 0", f"{box} 0.1 0.2 1 0.3 0.4 0") == (2, 3)
    assert shape(f"{box} 0.1 0.2 1") is None  # nobody is seen: it may be a polygon
    assert shape(f"{box} 0.1 0.2 2 0.3 0.4 0.5") is None
    assert shape(f"{box} 0.1 0.2") is None
    assert shape(box) is None
    assert shape(f"{box} 0.1 0.2 2", box) is None
    assert shape(f"{box} 0.1 x 2") is None


def test_predictions_have_as_many_keypoints_as_the_truth():
    regions = vt.Regions([[0, 0, 1, 1]], keypoints=Keypoints.of([[1, 2, 2, 3, 4, 2]]))
    truth = replace(vt.Annotations.of(["a"], ["x"], [[0, 0, 1, 1]]), regions=regions)

    def found(many):
        return shape_from_truth([["0"] * (5 + many)], Options(like=truth))

    assert [found(many) for many in (6, 7, 4, 5)] == [(2, 3), (2, 3), (2, 2), (2, 2)]
    assert [found(many) for many in (3, 8, 0)] == [None] * 3
    assert shape_from_truth([], Options(like=truth)) is None
    assert shape_from_truth([["0"] * 11], Options()) is None


def test_points_below_zero_are_unknown_where_nothing_says_so():
    assert split_keypoints("a", [0.1, 0.2, -1, 0.3, 0, 0], (3, 2)) == ([0.1, 0.2, 2, -1, 0.3, 0, 0, 0, 2], None)
    assert split_keypoints("a", [0.1, 0.2, 1, 0.75], (1, 3)) == ([0.1, 0.2, 1], 0.75)
    assert "found 10 words" in refused(split_keypoints, "a", [0.1] * 5, (1, 3))
    assert "found 7 words" in refused(split_keypoints, "a", [0.1] * 2, (1, 3))


@pytest.mark.parametrize(("cell", "value"), [("0,5", 0.5), ("0.5", 0.5), ("1", 1)])
def test_a_decimal_point_may_be_a_comma(cell, value):
    assert decimal(cell, "a:1", "XMin") == value


@pytest.mark.parametrize("cell", ["1,000.5", "1,2,3", "x"])
def test_thousands_are_no_decimals(cell):
    assert "a:1: expected a number in XMin, found" in refused(decimal, cell, "a:1", "XMin")


@pytest.mark.parametrize(("cell", "is_so"), [("1", True), ("0", False), ("-1", False), (" 1 ", True)])
def test_flags_are_1_0_or_unknown(cell, is_so):
    assert is_yes(cell, "a:1", "IsGroupOf") is is_so
    assert "expected 1, 0 or -1 in IsGroupOf, found '2'" in refused(is_yes, "2", "a:1", "IsGroupOf")


def test_objects_without_ids_are_counted_from_1(tmp_path):
    vt.write(vt.Annotations.of(["a", "a"], ["x", "x"], [[0, 0, 1, 1]] * 2), tmp_path / "a.json", "coco")
    written = json.loads((tmp_path / "a.json").read_text())
    assert [record["id"] for record in written["annotations"]] == [1, 2]
    assert [record["id"] for record in written["images"] + written["categories"]] == [1, 1]


def test_poses_begin_with_a_box_within_the_image(tmp_path):
    def recognised(line):
        (tmp_path / "a.txt").write_text(line)
        return yolo.recognise_yolo_pose(PathProbe(tmp_path / "a.txt")) is not None

    assert recognised("0 0.5 0.5 0.2 0.2 0.1 0.2 2\n")
    for odd in ("0 5 0.5 0.2 0.2", "0 0.5 5 0.2 0.2", "0 0.5 0.5 5 0.2", "0 0.5 0.5 0.2 5", "0 -1 0.5 0.2 0.2"):
        assert not recognised(f"{odd} 0.1 0.2 2\n")


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


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Number out of range", ("a number", "one too large to hold")),
        ("Expected `array` of length 4, got 3", ("4 values", "3")),
        ("Expected `float | null`, got `str`", ("a number", "text")),
        ("Object missing required field `id`", ("a key 'id'", "none")),
        ("Something else", ("a value that fits", "'Something else'")),
    ],
)
def test_complaints_of_the_parser_are_put_into_our_words(message, told):
    assert translate(message) == told


def test_arrays_are_images_of_the_truth_in_its_order_where_there_are_as_many():
    truth = vt.Annotations.of(["x", "y"], ["cat"] * 2, [[0, 0, 2, 2]] * 2, sizes={"x": (2, 2), "y": (2, 2)})
    assert vt.read([np.ones((2, 2), bool)] * 2, like=truth).image.tolist() == [0, 1]
    assert vt.read([np.ones((2, 2), bool)] * 2).images.names == ("0", "1")
