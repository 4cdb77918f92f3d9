"""Tables as spreadsheets, pandas and other tools write them: the same objects, or a line that says what to do."""

from __future__ import annotations

import csv
import io
import os
import random
from contextlib import suppress

import pytest

import verite as vt
from verite import cli
from verite.analysis.properties import read_metadata
from verite.analysis.reconcile import read_numbers
from verite.annotation_errors import Audit
from verite.annotation_errors.detection import read_rates
from verite.csv_files import lines_of, parse_csv
from verite.formats.format import PathProbe
from verite.formats.table_files import find_columns, header_columns, separator_of
from verite.leaderboards.audit import AuditRow, audit_table, read_rows
from verite.leaderboards.bootstrap import image_groups
from verite.leaderboards.simulation import read_confusions
from verite.ranking.tables import read_table
from verite.reporting.rank_plots import read_published
from verite.scene.class_distances import read_matrix

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
    with pytest.raises(vt.ReadError, match=r"row 2: expected 4 numbers in bbox, found '\[1, 2, 3\]'"):
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


def test_table_without_any_column_of_classes_is_of_one_class(tmp_path):
    names = ("image_id", "x", "y", "width", "height")
    read = vt.read(table(tmp_path, names, [("a", 10, 20, 30, 40), ("b", "", "", "", "")]))
    assert (read.labels.names, read.images.names, len(read)) == (("object",), ("a", "b"), 1)
    assert "no column of classes: all objects are 'object'" in read.source.notes[-1]
    assert vt.read(table(tmp_path, names, [("a", 10, 20, 30, 40)]), class_name="wheat").labels.names == ("wheat",)


def test_the_option_for_its_class_is_named_where_the_ground_truth_has_others(tmp_path):
    truth = vt.Annotations.of(["a", "b"], ["wheat", "rye"], [[10, 20, 40, 60]] * 2)
    pred = table(tmp_path, ("image", "x", "y", "width", "height", "score"), [("a", 10, 20, 30, 40, 0.9)])
    with pytest.raises(vt.DataError, match="class_name=NAME names the class of a file without classes"):
        vt.coco(truth, vt.read(pred, like=truth))
    assert vt.coco(truth, vt.read(pred, like=truth, class_name="wheat"))["AP", "wheat"].value == pytest.approx(1)


def test_sizes_beside_a_column_of_boxes_are_the_images(tmp_path):
    """As in the global wheat data, whose images without objects have no box either."""
    path = tmp_path / "train.csv"
    path.write_text('image_id,width,height,bbox\na,1024,768,"[834.0, 222.0, 56.0, 36.0]"\nb,1024,768,\n')
    read = vt.read(path)
    assert (read.images.widths.tolist(), read.images.heights.tolist(), len(read)) == ([1024, 1024], [768, 768], 1)
    assert read.regions.sizes.tolist() == [[834, 222, 56, 36]]


def test_tables_of_yolov5_without_an_image_say_so(tmp_path):
    names = ("xmin", "ymin", "xmax", "ymax", "confidence", "class", "name")
    with pytest.raises(vt.ReadError, match="have its classes in name; add a column image"):
        vt.read(table(tmp_path, names, [(10, 20, 40, 60, 0.9, 0, "cat")]))


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


def test_cells_end_at_separators_and_lines_at_line_ends_alone():
    text = 'a,b\r1,"x\u2028y\x0c\r\nz"\n\n2,a"b""c\r\n'
    assert list(parse_csv(text)) == [
        (1, ["a", "b"]),
        (3, ["1", "x\u2028y\x0c\r\nz"]),
        (5, ["2", 'a"b""c']),
    ]


def test_the_reader_agrees_with_pythons_own():
    rng = random.Random(7)
    for _ in range(2000):
        text = "".join(rng.choice('ab,"\n\r ;\u2028') for _ in range(rng.randrange(30)))
        try:
            theirs = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row and any(row)]
        except csv.Error:
            theirs = None
        try:
            ours = [row for _, row in parse_csv(text) if any(cell.strip(" ") for cell in row)]
        except vt.ReadError:
            ours = None
        if theirs is not None:
            theirs = [row for row in theirs if any(cell.strip(" ") for cell in row)]
        assert ours == theirs, text


def test_the_length_of_cells_is_bounded_for_one_reader_alone(tmp_path):
    before = csv.field_size_limit()
    lines = lines_of_text(tmp_path, "a,b\n" + "x" * 200_000 + ",1\n", longest=300_000)
    assert next(lines)[1] == ["a", "b"]
    assert csv.field_size_limit() == before
    assert len(next(lines)[1][0]) == 200_000
    previous = csv.field_size_limit(10)
    try:  # as another library of the process may set it
        assert [len(row) for _, row in lines_of_text(tmp_path, "a,b\n" + "x" * 100 + ",1\n")] == [2, 2]
    finally:
        csv.field_size_limit(previous)
    with pytest.raises(vt.ReadError, match=r"t.csv:2: expected cells of at most 131,072 characters, found 200,000"):
        list(lines_of_text(tmp_path, 'a,b\n"' + "x" * 200_000 + '",1\n'))


def lines_of_text(folder, text, **given):
    (folder / "t.csv").write_text(text)
    return lines_of(folder / "t.csv", **given)


# What every auxiliary table is read by: each line must be refused in one line, with the file and the line.
AUXILIARY = {
    "metadata": ("image,weather\n", lambda path, truth: read_metadata(path, truth)),
    "column": ("image,scene\n", lambda path, truth: image_groups(truth, f"{path}:scene", "groups")),
    "audit": ("image,label,x,y,width,height,kind,verdict\n", lambda path, truth: read_rows(path)),
    "verdicts": ("kind,verdict\n", lambda path, truth: Audit.read_counts(str(path))),
    "confusion": ("recorded,cat\n", lambda path, truth: read_confusions(path, truth)),
    "rates": ("class,size,kind,rate\n", lambda path, truth: read_rates(path)),
    "published": ("first,second,epsilon,kept\n", lambda path, truth: read_published(path, ("a", "b"))),
    "printed numbers": ("class,AP\n", lambda path, truth: read_numbers(path)),
    "distances": ("class,cat\n", lambda path, truth: read_matrix(path)),
    "answers": ("item,truth,a,b\n", lambda path, truth: read_table(path)),
}
ODD_LINES = {
    "a long cell": "x" * 200_000 + ",1\n",
    "a quote that is not closed": '"x,1\n',
    "text after a quote": '"x"y,1\n',
    "a row longer than the header": "x" + ",1" * 30 + "\n",
    "a row shorter than the header": "x\n",
    "numbers of signs": "--1,--1\n",
    "digits without end": "9" * 5000 + ",1\n",
    "a lone carriage return": "a\rb,1\n",
    "an empty line": "\n\n",
}
# Empty lines are no rows; tables of printed numbers may have absent cells and classes of any name.
MAY_BE_READ = ("an empty line", "a row shorter than the header", "a lone carriage return", "digits without end")


@pytest.mark.parametrize("line", ODD_LINES)
@pytest.mark.parametrize("table", AUXILIARY)
def test_odd_lines_of_every_table_are_refused_in_our_words(tmp_path, table, line):
    header, read = AUXILIARY[table]
    path = tmp_path / "t.csv"
    path.write_text(header + ODD_LINES[line])
    truth = vt.Annotations.of(["1.jpg"], ["cat"], [[0, 0, 5, 5]])
    must_fail = pytest.raises(vt.VeriteError, match=r"^[^\n]*t\.csv[^\n]*$")
    with suppress(vt.VeriteError) if line in MAY_BE_READ else must_fail:
        read(path, truth)


def test_an_empty_line_at_the_end_of_a_confusion_is_no_row(tmp_path):
    (tmp_path / "t.csv").write_text("recorded,cat,dog\ncat,0,2\n\n")
    truth = vt.Annotations.of(["1.jpg", "1.jpg"], ["cat", "dog"], [[0, 0, 5, 5], [5, 5, 9, 9]])
    assert read_confusions(tmp_path / "t.csv", truth).tolist() == [[0, 2], [0, 0]]


def test_an_audit_is_read_back_whatever_the_names_are(tmp_path):
    names = ["a\u2028b.jpg", "c\x0cd.jpg", "e\rf.jpg", 'g"h;i.jpg', "\x1c.jpg"]
    rows = [AuditRow.of(name, "a\x85b", (0, 1, 2, 3), "spurious", 0.5, "why\u2029") for name in names]
    (tmp_path / "audit.csv").write_text(audit_table(rows).to_csv(), newline="")
    assert [(row.image, row.label) for row in read_rows(tmp_path / "audit.csv")] == [(name, "a\x85b") for name in names]


def test_two_signs_before_digits_are_a_text(tmp_path):
    (tmp_path / "t.csv").write_text("image_id,label,x,y,width,height\n--1,cat,0,0,5,5\n")
    assert vt.read(tmp_path / "t.csv").images.names == ("--1",)


def test_columns_are_found_in_any_case_and_the_first_of_two_counts():
    assert find_columns([" ImageID", "xmin", "imageid"], ["ImageID", "XMin", "YMin"]) == {"ImageID": 0, "XMin": 1}


@pytest.mark.parametrize(("line", "found"), [("a,b,c;d", ","), ("a;b;c,d", ";"), ("a\tb", "\t"), ("a", ",")])
def test_the_separator_is_what_a_header_has_most_of(line, found):
    assert separator_of(line) == found


def test_of_a_folder_the_only_table_is_looked_at(tmp_path):
    (tmp_path / "a.csv").write_text("ImageID;XMin\n")
    assert header_columns(PathProbe(tmp_path), ["ImageID", "XMin"]) == {"ImageID": 0, "XMin": 1}
    (tmp_path / "b.csv").write_text("ImageID;XMin\n")
    assert header_columns(PathProbe(tmp_path), ["ImageID", "XMin"]) == {}
