"""Open Images CSV."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.formats.samples import refused, sample
from verite.formats.openimages import decimal, is_yes, read_descriptions


def test_truth_with_all_columns():
    truth = vt.read(sample("openimages", "good", "boxes.csv"))
    assert truth.source.format == "openimages"
    assert truth.images.names == ("pier", "fog")
    assert truth.labels.names == ("/m/019jd", "/m/0h2r6")
    assert truth.image.tolist() == [0, 1]
    assert truth.label.tolist() == [0, 1]
    assert truth.unit == "rel"
    assert truth.confidence is None
    assert truth.regions.boxes.tolist() == [[0.25, 0.125, 0.5, 0.75], [0.5, 0, 0.75, 1]]  # the second with commas


def test_flags_of_which_minus_one_is_none():
    truth = vt.read(sample("openimages", "good"))
    assert set(truth.flags) == {"occluded", "group_of"}
    assert truth.flag("occluded").tolist() == [True, False]
    assert truth.group_of.tolist() == [True, False]
    assert truth.flag("depiction").tolist() == [False, False]


def test_sizes_turn_fractions_into_pixels():
    truth = vt.read(sample("openimages", "good"), image_size=(80, 40))
    assert truth.unit == "px"
    assert truth.regions.boxes[0].tolist() == [20, 5, 40, 30]


def test_columns_in_any_order_case_and_separator():
    truth = vt.read(sample("openimages", "semicolons"))
    assert truth.images.names == ("pier",)
    assert truth.labels.names == ("boat",)
    assert truth.regions.boxes.tolist() == [[0.25, 0.125, 0.5, 0.75]]


def test_score_makes_predictions():
    pred = vt.read(sample("openimages", "predictions"))
    assert pred.confidence.tolist() == [0.875]
    assert pred.source.why.endswith("predictions, because there is a column Score")


def test_confidence_makes_predictions_only_without_flags_and_if_it_says_something():
    pred = vt.read(sample("openimages", "confidence"))
    assert pred.confidence.tolist() == [1, 0.5]
    assert pred.source.why.endswith("predictions, because not every Confidence is 1 or empty")


def test_confidence_of_annotators_is_left_out_and_noted():
    truth = vt.read(sample("openimages", "annotators"))
    assert truth.confidence is None
    assert len(truth.source.notes) == 1
    assert truth.source.notes[0].startswith("Confidence left out")


def test_header_alone_is_a_truth_without_objects(tmp_path):
    (tmp_path / "a.csv").write_text("ImageID,LabelName,XMin,XMax,YMin,YMax\n")
    assert len(vt.read(tmp_path / "a.csv")) == 0


@pytest.mark.parametrize("confidence", [None, [0.5, 0.25]])
def test_written_file_is_the_same_again(tmp_path, confidence):
    images, names = ["a, b.jpg", 'c "d".jpg'], ["boat; big", "gull\nchick"]
    boxes = [[10, 20, 30, 60], [0, 0, 1, 1]]
    data = vt.Annotations.of(
        images, names, boxes, sizes=dict.fromkeys(images, (64, 128)), confidence=confidence, group_of=[False, True]
    )
    assert vt.write(data, tmp_path / "a.csv", "openimages") == ("image size",)
    again = vt.read(tmp_path / "a.csv", like=data)
    assert again.images is data.images
    assert again.labels is data.labels
    np.testing.assert_allclose(again.regions.boxes, data.regions.boxes, rtol=1e-15)
    assert again.group_of.tolist() == [False, True]
    assert (again.confidence is None) if confidence is None else (again.confidence.tolist() == confidence)


def test_descriptions_may_have_a_header(tmp_path):
    def read(text):
        (tmp_path / "a.csv").write_text(text)
        return read_descriptions(tmp_path / "a.csv")

    lines = "/m/1,Person\n\n/m/2,Tree\n"
    assert read(lines) == read(f"LabelName,DisplayName\n{lines}") == {"/m/1": "Person", "/m/2": "Tree"}
    assert read("/m/1,Bat\n/m/2,Bat\n") == {"/m/1": "Bat (/m/1)", "/m/2": "Bat (/m/2)"}
    assert read("/m/1,Person\nLabelName,DisplayName\n")["LabelName"] == "DisplayName"
    assert "a.csv:1: expected CODE,NAME, found '/m/1,a,b'" in refused(read, "/m/1,a,b\n")
    assert "a.csv:2: expected each class once, found a second '/m/1'" in refused(read, "/m/1,a\n/m/1,b\n")


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
