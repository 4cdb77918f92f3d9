"""Text folders."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.formats.samples import refused, sample
from verite.formats import text
from verite.formats.format import PathProbe


def folder(path, **files):
    path.mkdir()
    for name, content in files.items():
        (path / f"{name}.txt").write_text(content)
    return path


def test_each_file_is_an_image_and_lists_are_none():
    truth = vt.read(sample("text", "good"))
    assert truth.images.names == ("fog", "pier", "buoy")
    assert truth.labels.names == ("boat", "gull")
    assert truth.image.tolist() == [1, 1, 2]
    assert truth.label.tolist() == [0, 1, 0]
    assert truth.regions.sizes.tolist() == [[10.5, 20, 30, 40], [-5, 6, 10, 12.25], [10, 2, 3, 4]]
    assert truth.confidence is None
    assert "numbers taken as left, top, width and height, the default" in truth.source.why


def test_confidence_comes_before_the_box():
    pred = vt.read(sample("text", "predictions"))  # with a byte order mark and carriage returns
    assert pred.confidence.tolist() == [0.9, 0.25]
    assert pred.labels.names == ("boat", "gull")
    assert pred.regions.sizes.tolist() == [[10.5, 20, 30, 40], [5, 6, 10, 12]]


def test_user_says_the_numbers_are_corners():
    truth = vt.read(sample("text", "good", "pier.txt"), boxes="xyrb")
    assert truth.regions.boxes[0].tolist() == [10.5, 20, 30, 40]


def test_class_numbers_get_their_names_from_the_user():
    pred = vt.read(sample("text", "numbers"), names=["boat", "gull"])
    assert pred.labels.names == ("boat", "gull")
    assert pred.label.tolist() == [1, 0]
    assert vt.read(sample("text", "numbers")).labels.names == ("0", "1")


def test_names_given_for_numbers_do_not_touch_names():
    truth = vt.read(sample("text", "good"), names=["gull", "crane"])  # perhaps meant for the predictions
    assert truth.labels.names == ("gull", "crane", "boat")
    assert [truth.labels.name(i) for i in truth.label] == ["boat", "gull", "boat"]


def test_class_number_without_a_name_is_an_error():
    with pytest.raises(
        vt.ReadError, match=r"pier.txt:1: expected a class number from 0 to 0, as there are names, found 1"
    ):
        vt.read(sample("text", "numbers"), names=["boat"])


def test_fractions_with_the_confidence_first_are_taken_for_relative_coordinates():
    pred = vt.read(sample("text", "relative"), image_size=(200, 100))
    assert pred.source.format == "text"
    assert (
        "confidence before the box, because of 3 boxes 2 leave the image if the confidence comes last, "
        "0 if it comes first" in pred.source.why
    )
    assert "coordinates taken as fractions of the image, because all 12 numbers lie between 0 and 1" in pred.source.why
    assert pred.confidence.tolist() == [0.95, 0.9, 0.05]
    # Centre 0.9, 0.5 and size 0.2, 0.4 of 200 x 100 pixels.
    np.testing.assert_allclose(pred.regions.boxes[0], [160, 30, 200, 70])
    assert pred.unit == "px"


def test_fractions_stay_fractions_where_no_size_is_known():
    pred = vt.read(sample("text", "relative"))
    assert pred.unit == "rel"
    np.testing.assert_allclose(pred.regions.boxes[0], [0.8, 0.3, 1.0, 0.7])


def test_users_word_on_coordinates_goes_first():
    pred = vt.read(sample("text", "relative"), format="text", coords="abs")
    assert pred.unit == "px"
    assert pred.regions.sizes[0].tolist() == [0.9, 0.5, 0.2, 0.4]


def test_relative_left_and_top_on_request(tmp_path):
    path = folder(tmp_path / "in", a="boat 0.5 0.5 0.25 0.25\n")
    truth = vt.read(path, coords="rel", boxes="ltwh", image_size=(100, 200))
    assert truth.regions.boxes.tolist() == [[50, 100, 75, 150]]
    truth = vt.read(path, coords="rel", image_size=(100, 200))
    assert truth.regions.boxes.tolist() == [[37.5, 75, 62.5, 125]]


def test_numbers_between_0_and_1_are_fractions_whatever_classes_are_called(tmp_path):
    truth = vt.read(folder(tmp_path / "truth", a="boat 0.5 0.5 0.25 0.25\n"), image_size=(200, 100))
    assert truth.regions.boxes.tolist() == [[75, 37.5, 125, 62.5]]  # by its centre, 100 and 50
    assert "fractions of the image, because all 4 numbers lie between 0 and 1" in truth.source.why
    assert "centre, width and height" in truth.source.why
    pred = vt.read(folder(tmp_path / "pred", a="boat 0.9 0.5 0.5 0.25 0.25\n"), like=truth)
    assert (pred.unit, pred.confidence.tolist()) == ("px", [0.9])
    assert pred.regions.boxes.tolist() == truth.regions.boxes.tolist()
    corners = vt.read(folder(tmp_path / "in", a="boat 0.25 0.5 0.5 0.75\n"), boxes="xyxy", image_size=(200, 100))
    assert corners.regions.boxes.tolist() == [[50, 50, 100, 75]]


@pytest.mark.parametrize(
    "text",
    [
        "boat 0 0 1 1\n",  # a pixel
        "boat 0.5 0.5 2.5 2.5\n",
        "boat 0.5 0.5 0.25 0.25\nboat 3 4 5 6\n",
        "boat 0.5 0.5 0.25 0.25\n" * 99 + "boat 0.5 0.5 0.25 640\n",
        "",
    ],
)
def test_numbers_that_may_be_pixels_are_pixels(tmp_path, text):
    found = vt.read(folder(tmp_path / "in", a=text))
    assert found.unit == "px"
    assert "fractions" not in found.source.why


def test_predictions_in_fractions_may_leave_the_image_a_little(tmp_path):
    lines = "boat 0.9 0.5 0.5 0.25 0.25\n" * 9 + "boat 0.8 0.7 0.5 1.25 0.25\n"
    pred = vt.read(folder(tmp_path / "in", a=lines))
    assert pred.unit == "rel"
    assert "39 of 40 numbers lie between 0 and 1, and none is above 2" in pred.source.why


def test_fractions_with_a_class_name_and_the_confidence_last(tmp_path):
    # With the confidence first the box would be 0.5 0.2 0.2 0.9, to -0.25 and 0.65 of the height.
    pred = vt.read(folder(tmp_path / "in", a="boat 0.5 0.5 0.2 0.2 0.9\n"), image_size=(100, 100))
    assert pred.confidence.tolist() == [0.9]
    np.testing.assert_allclose(pred.regions.boxes, [[40, 40, 60, 60]])
    assert "confidence after the box, because of 1 boxes 0 leave the image" in pred.source.why


@pytest.mark.parametrize(
    ("lines", "boxes"),
    [
        ("boat 0.1 0.1 0.9 0.8\nboat 0.5 0.6 0.9 0.9\n", ["xyxy"]),  # as left, top, width, height to 1.4
        ("boat 0.1 0.1 0.8 0.8\nboat 0.5 0.2 0.4 0.5\n", ["ltwh"]),  # the second is no pair of corners
        ("boat 0.1 0.1 0.8 0.8\n", ["xyxy", "ltwh"]),
    ],
)
def test_fractions_that_are_no_centres_are_refused_with_the_layouts_that_fit(tmp_path, lines, boxes):
    path = folder(tmp_path / "in", a=lines)
    with pytest.raises(vt.ReadError, match=r"expected fractions of the image as centre, width and height") as error:
        vt.read(path)
    for layout in ("xyxy", "ltwh"):
        assert (f"boxes='{layout}'" in str(error.value)) == (layout in boxes)
    for layout in boxes:
        found = vt.read(path, boxes=layout).regions.boxes
        assert found.min() >= 0
        assert found.max() <= 1


def test_image_called_train_is_no_list(tmp_path):
    path = folder(tmp_path / "in", train="boat 1 2 3 4\n", val="pictures/a.jpg\npictures/b.jpg\n")
    assert vt.read(path).images.names == ("train",)


def test_files_without_a_line_are_images_without_objects(tmp_path):
    read = vt.read(folder(tmp_path / "in", a="", b="\n"))
    assert read.images.names == ("a", "b")
    assert len(read) == 0


def test_one_bad_line_does_not_hide_the_format(tmp_path):
    path = folder(tmp_path / "in", a="boat 1 2 3 4\nboat 1 2 3\nboat 1 2 3 4\n")
    with pytest.raises(vt.ReadError, match=r"a.txt:2: expected a class and 4 or 5 numbers, found 4 words"):
        vt.read(path)


def test_offset_needs_ids_to_be_added_to():
    with pytest.raises(vt.BadParameter, match="label offset: expected ids to add 1 to, found only names"):
        vt.read(sample("text", "good"), label_offset=1)


def test_names_with_blanks_are_not_written(tmp_path):
    truth = vt.Annotations.of(["a"], ["guide dog"], [[1, 2, 3, 4]])
    with pytest.raises(vt.ReadError, match="expected class names without blanks, found 'guide dog'"):
        vt.write(truth, tmp_path / "out", "text")


def test_fractions_are_not_written_as_pixels(tmp_path):
    pred = vt.read(sample("text", "relative"))
    for format in ("text", "voc", "coco", "cvat", "labelme"):
        with pytest.raises(
            vt.ReadError, match="expected boxes in pixels, found fractions of the image; give image_size="
        ):
            vt.write(pred, tmp_path / format, format)


def test_pixels_that_would_be_read_as_fractions_are_not_written(tmp_path):
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 0.5, 0.5]])
    with pytest.raises(vt.ReadError, match=r"expected boxes in pixels, found numbers .* fractions .* 0 and 1"):
        vt.write(truth, tmp_path / "out", "text")
    assert not (tmp_path / "out").exists()
    whole = vt.Annotations.of(["a"], ["cat"], [[0, 0, 1, 1]])  # integers are pixels
    vt.write(whole, tmp_path / "out", "text")
    assert vt.read(tmp_path / "out").regions.values.tolist() == [[0, 0, 1, 1]]


def lines(tmp_path, *given, name="a.txt"):
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / name).write_text("".join(f"{line}\n" for line in given))
    return PathProbe(tmp_path / name)


def test_text_folders_have_a_class_and_four_numbers_in_most_lines(tmp_path):
    four, five = "cat 10 20 30 40", "cat 0.5 10 20 30 40"
    why = "text files with a class and 4 numbers per line"
    assert text.recognise(lines(tmp_path, four)) == why
    assert text.recognise(lines(tmp_path, five)) == f"{why}, confidence before them"
    assert text.recognise(lines(tmp_path, four, four, "x")) == why
    assert text.recognise(lines(tmp_path, four, "x")) is None
    assert text.recognise(lines(tmp_path, "cat 10 20 30 x")) is None
    assert text.recognise(lines(tmp_path, "cat 10 20 30")) is None
    assert text.recognise(lines(tmp_path, "cat 10 20 30 40 50 60")) is None


def test_class_numbers_of_text_folders_have_nine_digits_at_most(tmp_path):
    lines(tmp_path, f"{'1' * 10} 0 0 9 9", "1 0 0 9 9", "x 0 0 9 9")
    read = vt.read(tmp_path / "a.txt", format="text", names=["cat", "dog"])
    assert [read.labels.name(i) for i in read.label] == ["1" * 10, "dog", "x"]
    lines(tmp_path, f"{'1' * 9} 0 0 9 9")
    said = refused(vt.read, tmp_path / "a.txt", format="text", names=["cat", "dog"])
    assert "expected a class number from 0 to 1, as there are names, found 111111111" in said
    lines(tmp_path, "0 0 0 9 9")
    assert "found -1" in refused(vt.read, tmp_path / "a.txt", format="text", names=["cat"], label_offset=-1)
