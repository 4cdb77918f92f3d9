"""Tables as spreadsheets, pandas and other tools write them: the same objects, or a line that says what to do."""

from __future__ import annotations

import os

import pytest

import verite as vt
from verite import cli

ROWS = [("pier.jpg", "boat", 1.5, 2.25, 3.0, 4.5, 0.75), ("quay.jpg", "buoy", 10.0, 20.0, 5.5, 6.0, 0.5)]
NAMES = ("image", "label", "x", "y", "width", "height", "score")
BOXES = [[1.5, 2.25, 4.5, 6.75], [10, 20, 15.5, 26]]


def table(tmp_path, names=NAMES, rows=ROWS, separator=",", point=".", before="", encoding="utf-8", name="a.csv"):
    def spell(cell):
        return str(cell).replace(".", point) if isinstance(cell, float) else str(cell)

    lines = [separator.join(map(spell, line)) for line in (names, *rows)]
    path = tmp_path / name
    path.write_bytes((before + "\r\n".join(lines) + "\r\n").encode(encoding))
    return path


def check(read):
    assert read.regions.boxes.tolist() == BOXES
    assert read.images.names == ("pier.jpg", "quay.jpg")
    assert read.labels.names == ("boat", "buoy")
    assert read.confidence.tolist() == [0.75, 0.5]


@pytest.mark.parametrize(
    "how",
    [
        {"separator": ";", "point": ","},  # a spreadsheet where fractions have commas
        {"separator": ";", "point": ",", "encoding": "utf-8-sig"},
        {"separator": "\t", "point": ","},
        {"separator": "\t", "name": "a.tsv"},
        {"separator": ";", "point": ",", "before": "sep=;\r\n"},  # what Excel writes for itself
        {"before": "SEP=,\n"},
    ],
)
def test_spreadsheets_of_all_countries(tmp_path, how):
    check(vt.read(table(tmp_path, **how)))


def corners(row):
    image, label, x, y, width, height, score = row
    return (image, label, x, y, x + width, y + height, score)


def centres(row):
    image, label, x, y, width, height, score = row
    return (image, label, x + width / 2, y + height / 2, width, height, score)


@pytest.mark.parametrize(
    ("names", "change"),
    [
        (("filename", "class", "x", "y", "w", "h", "conf"), tuple),
        (("image_name", "category", "left", "top", "width", "height", "confidence"), tuple),
        (("image_path", "class_name", "xmin", "ymin", "xmax", "ymax", "score"), corners),
        (("file_name", "category_name", "x_min", "y_min", "x_max", "y_max", "score"), corners),
        (("Image", "Label", "Left", "Top", "Right", "Bottom", "Score"), corners),
        (("image", "label", "cx", "cy", "w", "h", "score"), centres),
        (("image", "label", "x_center", "y_center", "width", "height", "score"), centres),
    ],
)
def test_names_that_can_mean_one_thing_only(tmp_path, names, change):
    check(vt.read(table(tmp_path, names, [change(row) for row in ROWS])))


@pytest.mark.parametrize("spell", ['"[{}, {}, {}, {}]"', '"({},{},{},{})"', "[{} {} {} {}]"])
def test_boxes_in_one_cell_as_pandas_writes_lists(tmp_path, spell):
    rows = [(image, label, spell.format(*box), score) for image, label, *box, score in ROWS]
    check(vt.read(table(tmp_path, ("image", "label", "bbox", "score"), rows)))


def test_box_of_three_numbers_in_a_cell_is_refused(tmp_path):
    rows = [("pier.jpg", "boat", '"[1, 2, 3]"', 0.5)]
    with pytest.raises(vt.ReadError, match="row 2: expected 4 numbers in bbox, found 1"):
        vt.read(table(tmp_path, ("image", "label", "bbox", "score"), rows))


def test_width_and_height_beside_corners_are_the_images(tmp_path):
    """As TensorFlow's tables have them; the sizes of boxes are not taken for those of images."""
    names = ("filename", "width", "height", "class", "xmin", "ymin", "xmax", "ymax")
    read = vt.read(table(tmp_path, names, [("pier.jpg", 640, 480, "boat", 10, 20, 30, 40)]))
    assert (read.images.widths.tolist(), read.images.heights.tolist()) == ([640], [480])
    assert read.regions.boxes.tolist() == [[10, 20, 30, 40]]
    assert "width and height taken as the image's" in read.source.notes[0]
    for width, height in ((20, 20), (25, 480)):
        read = vt.read(table(tmp_path, names, [("pier.jpg", width, height, "boat", 10, 20, 30, 40)]))
        assert read.images.widths.tolist() == [0]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("image", "label", "x", "y", "widht", "height", "score"), r"did you mean 'widht'\?; name it with columns="),
        (("picture", "label", "x", "y", "width", "height", "score"), "expected a column image_id, image or file_name"),
        (("image", "kind", "x", "y", "width", "height", "score"), "expected a column category_id, label or class"),
    ],
)
def test_column_that_is_missing_is_named(tmp_path, names, message):
    with pytest.raises(vt.ReadError, match=message):
        vt.read(table(tmp_path, names))


def test_comma_in_a_number_between_commas_is_refused(tmp_path):
    rows = [("pier.jpg", "boat", '"1,5"', 2, 3, 4, 0.5)]
    with pytest.raises(vt.ReadError, match="row 2: expected a number in x, with a decimal point, found '1,5'"):
        vt.read(table(tmp_path, rows=rows))


def test_folder_that_one_is_in_has_a_name(tmp_path, capsys):
    """`.` has no part that names it, which once ended in an internal error."""
    table(tmp_path)
    before = os.getcwd()
    try:
        os.chdir(tmp_path)
        assert cli.run(["voc", "a.csv", ".", "--json"]) == 0
    finally:
        os.chdir(before)
    assert '"mAP":1.0' in capsys.readouterr().out
