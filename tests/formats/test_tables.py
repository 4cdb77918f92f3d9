"""Tables of any make: which columns are what, what is missing, and back again."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

import numpy as np
import pytest

import verite as vt
from tests.formats.in_memory import COLUMNS, RESULTS, TRUTH, same
from tests.formats.samples import refused
from verite import cli
from verite.formats import table_files
from verite.formats import tables as column_names
from verite.formats.format import Options, PathProbe
from verite.formats.table_files import columns_of_arrow
from verite.formats.tables import ColumnRows, distinct, is_numeric
from verite.model.regions import MASK

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture
def truth():
    return vt.read(TRUTH)


def tables():
    yield "pyarrow", lambda c: pyarrow.table(c)
    yield "pandas", lambda c: pandas.DataFrame(c)
    yield "columns", lambda c: {name: np.array(values) for name, values in c.items()}
    yield "old pandas", lambda c: WithoutArrow(pandas.DataFrame(c))
    yield "pandas without pyarrow", lambda c: WithoutPyarrow(pandas.DataFrame(c))
    for name, make in (("polars", lambda c, m: m.DataFrame(c)), ("duckdb", duckdb_table)):
        try:
            module = __import__(name)
        except ImportError:
            yield name, None
            continue
        yield name, lambda c, make=make, module=module: make(c, module)


def duckdb_table(columns, duckdb):
    frame = pyarrow.table(columns)
    return duckdb.connect().from_arrow(frame)


class WithoutArrow:
    """pandas as it was before it spoke Arrow."""

    def __init__(self, frame):
        self.frame, self.columns = frame, frame.columns

    def __getitem__(self, name):
        return self.frame[name]

    def to_numpy(self):
        raise NotImplementedError


class WithoutPyarrow(WithoutArrow):
    """pandas 2, which offers a stream but cannot give one by itself."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise ImportError("pyarrow is required")


@pytest.mark.parametrize(("name", "make"), list(tables()), ids=lambda value: value if isinstance(value, str) else "")
def test_tables_are_predictions(name, make, truth):
    if make is None:
        pytest.skip(f"{name} is not installed")
    same(vt.read(make(COLUMNS), like=truth), truth)
    same(vt.read(make({**COLUMNS, "image_id": [7, 7], "extra": ["a", "b"]}), like=truth), truth)


@pytest.mark.parametrize(("name", "make"), list(tables()), ids=lambda value: value if isinstance(value, str) else "")
def test_tables_of_names_and_corners(name, make, truth):
    if make is None:
        pytest.skip(f"{name} is not installed")
    columns = {
        "file_name": ["pier.jpg", "pier.jpg"],
        "label": ["boat", "gull"],
        "x1": [10, 50],
        "y1": [10, 5],
        "x2": [30, 60],
        "y2": [30, 15],
        "confidence": [0.9, 0.5],
    }
    same(vt.read(make(columns), like=truth), truth)


def test_list_column_is_a_box(truth):
    columns = {"image": [7, 7], "class": [3, 5], "score": [0.9, 0.5], "bbox": [[10, 10, 20, 20], [50, 5, 10, 10]]}
    fixed = pyarrow.array(columns["bbox"], pyarrow.list_(pyarrow.float32(), 4))
    large = pyarrow.array(columns["bbox"], pyarrow.large_list(pyarrow.int16()))
    for boxes in (columns["bbox"], fixed, large):
        same(vt.read(pyarrow.table({**columns, "bbox": boxes}), like=truth), truth)
    corners = [[10, 10, 30, 30], [50, 5, 60, 15]]
    same(vt.read(pyarrow.table({**columns, "bbox": corners}), like=truth, boxes="xyxy"), truth)


@pytest.mark.parametrize(
    "text",
    [
        pyarrow.string(),
        pyarrow.large_string(),
        pyarrow.string_view(),
        pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
    ],
    ids=str,
)
def test_every_kind_of_text(text, truth):
    names = ["boat", "a name of more than twelve bytes", "gull"]
    columns = {**COLUMNS, **{key: [*COLUMNS[key], COLUMNS[key][0]] for key in COLUMNS}}
    columns["label"] = pyarrow.array([names[0], names[2], names[1]], text)
    del columns["category_id"]
    table = pyarrow.table(columns)
    assert vt.read(table).labels.names == ("boat", "gull", names[1])
    assert vt.read(table.slice(1)).labels.names == ("gull", names[1])  # an offset into every buffer


@pytest.mark.parametrize("kind", ["int8", "uint16", "int32", "uint64", "float32", "float64"])
def test_every_kind_of_number(kind, truth):
    columns = {k: pyarrow.array(v).cast(pyarrow.type_for_alias(kind)) for k, v in COLUMNS.items() if k != "score"}
    table = pyarrow.concat_tables([pyarrow.table({**columns, "score": COLUMNS["score"]})] * 2)  # several chunks
    read = vt.read(table, like=truth)
    assert read.regions.boxes.tolist() == [[10, 10, 30, 30], [50, 5, 60, 15]] * 2
    assert read.label.tolist() == [0, 1, 0, 1]


def test_decimals_and_nulls(truth):

    table = pyarrow.table({**COLUMNS, "score": [Decimal("0.9"), None], "iscrowd": [True, None]})
    read = vt.read(table)
    assert read.confidence[0] == 0.9
    assert np.isnan(read.confidence[1])
    assert read.crowd.tolist() == [True, False]


def test_large_ids_keep_every_bit():
    big = 2**60 + 1
    assert vt.read(pyarrow.table({**COLUMNS, "image_id": [big, 7]})).images.ids.tolist() == [7, big]


def test_mapping_names_unusual_columns(truth):
    columns = {**COLUMNS, "left": COLUMNS["x"]}
    del columns["x"]
    same(vt.read(pandas.DataFrame(columns), like=truth, columns={"x": "left"}), truth)
    with pytest.raises(vt.BadParameter, match=r"expected a column 'lft', found .*; did you mean 'left'\?"):
        vt.read(columns, columns={"x": "lft"})
    with pytest.raises(vt.BadParameter, match=r"expected names out of .* found 'skore'; did you mean 'score'\?"):
        vt.read(columns, columns={"skore": "score"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image_id": None, "imageid": [7, 7]}, r"a column image_id, image or file_name, .*; did you mean 'imageid'\?"),
        (
            {"category_id": None, "kind": [1, 2]},
            r"a column category_id, label or class, .*; name it with columns={'category_id': '…'}, or the class of all "
            r"objects with class_name='NAME'",
        ),
        ({"width": None, "widht": [1, 2]}, r"columns x, y, width, height or x1, y1, x2, y2 or bbox, .*'widht'\?"),
        ({"score": ["high", 1]}, "row 1: expected a number in score, found 'high'"),
        ({"label": ["boat", None], "category_id": None}, "row 2: expected a text in label, found none"),
        ({"image_id": [None, 7]}, "row 1: expected a value in image_id, found none"),
        ({"iscrowd": [0, 3]}, r"row 2: expected 0 or 1 in iscrowd, found 3\.0"),
        ({"image_width": [640.5, 640.5], "image_height": [4, 4]}, r"row 1: expected whole pixels, found 640\.5 x 4"),
        ({"file_name": ["a", "b"]}, "row 2: expected 'a', as this image id has, found 'b'"),
    ],
)
def test_table_that_lacks_something_is_refused(changes, message):
    columns = {key: values for key, values in {**COLUMNS, **changes}.items() if values is not None}
    with pytest.raises(vt.ReadError, match=message):
        vt.read(columns)


def test_columns_of_different_lengths_are_no_table():
    with pytest.raises(vt.BadParameter, match=r"expected a path or .*; found a dict with the keys 'image_id, "):
        vt.read({**COLUMNS, "score": [1.0]})


def test_structured_array(truth):
    rows = np.array(
        [(7, 3, 10, 10, 20, 20, 0.9), (7, 5, 50, 5, 10, 10, 0.5)],
        dtype=[(name, float if name == "score" else int) for name in COLUMNS],
    )
    same(vt.read(rows, like=truth), truth)
    names = np.array([(b"a.jpg", b"boat", (0, 0, 4, 3))], [("image", "S5"), ("label", "S9"), ("bbox", "f8", 4)])
    assert vt.read(names).images.names == ("a.jpg",)
    assert vt.read(names).labels.names == ("boat",)


def test_annotations_go_out_as_tables_and_come_back(truth):
    pred = vt.read(RESULTS, like=truth)
    for out in (pred.to_pandas(), pred.to_arrow()):
        same(vt.read(out, like=truth), truth)
    frame = truth.to_pandas()
    assert list(frame.columns) == [
        "image_id",
        "file_name",
        "category_id",
        "label",
        "x",
        "y",
        "width",
        "height",
        "area",
        "id",
    ]
    assert vt.read(frame).ids.tolist() == [1, 2]


def outlined():
    """A polygon of two rings, a mask, a box alone, and a pose."""
    image, category = {"id": 7, "file_name": "a.jpg", "width": 4, "height": 3}, {"id": 1, "name": "boat"}
    pose = {"keypoints": [1, 1, 2, 0, 0, 0], "num_keypoints": 1}
    rings = [[0, 0, 2, 0, 2, 2], [3, 0, 4, 0, 4, 1, 3, 1]]
    shapes = [{"segmentation": rings}, {"segmentation": {"size": [3, 4], "counts": [2, 3, 7]}}, {}, pose]
    objects = [{"id": i, "image_id": 7, "category_id": 1, "bbox": [0, 0, 4, 3], "area": 5, "iscrowd": 0, **shape}
               for i, shape in enumerate(shapes)]  # fmt: skip
    return vt.read({"images": [image], "categories": [category], "annotations": objects})


def outlines_of(read):
    regions = read.regions
    rings = [[ring.ravel().tolist() for ring in regions.polygons[row]] for row in range(4)]
    masks = [regions.runs[row].tolist() for row in range(4) if regions.kinds[row] == MASK]
    return rings, masks, regions.runs.sizes[1].tolist(), [regions.keypoints[row].tolist() for row in range(4)]


def test_outlines_go_out_as_tables_and_come_back():
    truth = outlined()
    polars = pytest.importorskip("polars")
    for out in (truth.to_pandas(), truth.to_arrow(), polars.from_arrow(truth.to_arrow())):
        read = vt.read(out)
        assert outlines_of(read) == outlines_of(truth)
        assert read.regions.boxes.tolist() == truth.regions.boxes.tolist()
    table = truth.to_arrow()
    assert table["segmentation"].to_pylist() == [[[0, 0, 2, 0, 2, 2], [3, 0, 4, 0, 4, 1, 3, 1]], None, None, None]
    assert table["mask"].to_pylist() == [None, "237", None, None]  # 2, 3 and 7 as COCO writes them
    assert table["keypoints"].to_pylist()[3] == [1, 1, 2, 0, 0, 0]


def test_cells_may_have_runs_and_single_rings():
    boxes = [[0, 0, 4, 3]] * 2
    ragged = {"image": ["a", "a"], "label": ["boat"] * 2, "bbox": boxes, "segmentation": [[[0, 0, 2, 0, 2, 2]], None]}
    assert vt.read(ragged).regions.polygons[0][0].tolist() == [[0, 0], [2, 0], [2, 2]]
    rows = {"image": ["a", "a"], "label": ["boat"] * 2, "bbox": [[0, 0, 4, 3]] * 2}
    runs = {"size": [3, 4], "counts": [2, 3, 7]}
    read = vt.read(pandas.DataFrame({**rows, "segmentation": [[0, 0, 2, 0, 2, 2], runs]}))
    assert read.regions.polygons[0][0].tolist() == [[0, 0], [2, 0], [2, 2]]
    assert read.regions.runs[1].tolist() == [2, 3, 7]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"segmentation": [None, [[0, 0, 1, 1]]]}, r"table: row 2: expected an even number of coordinates, at least 6"),
        ({"segmentation": [None, [["a"]]]}, "table: row 2: expected lists of numbers as rings"),
        ({"segmentation": [None, {"counts": [12]}]}, "table: row 2: expected counts and a size of a mask, found"),
        ({"segmentation": [None, {"size": [3, 4], "counts": [9]}]}, r"row 2: expected runs of 3 x 4 = 12 pixels"),
        ({"mask": [None, "237"]}, "expected a column mask_height beside mask"),
        ({"mask": [None, "237"], "mask_height": [3, 3], "mask_width": [4, 99999]}, "row 2: expected a size of at most"),
    ],
)
def test_wrong_outlines_are_placed(more, said):
    rows = {"image": ["a", "a"], "label": ["boat"] * 2, "bbox": [[0, 0, 4, 3]] * 2}
    with pytest.raises(vt.ReadError, match=said):
        vt.read(pandas.DataFrame({**rows, **more}))


BARE = {
    "image": ["pier.jpg", "fog.jpg", "pier.jpg"],
    "label": ["boat", None, "gull"],
    "x": [10.0, None, 50.0],
    "y": [10.0, None, 5.0],
    "width": [20.0, None, 10.0],
    "height": [20.0, None, 10.0],
}


@pytest.mark.parametrize(("name", "make"), list(tables()), ids=lambda value: value if isinstance(value, str) else "")
def test_row_without_class_and_box_is_an_image_without_objects(name, make):
    if make is None:
        pytest.skip(f"{name} is not installed")
    read = vt.read(make(BARE))
    assert read.images.names == ("pier.jpg", "fog.jpg")
    assert read.image.tolist() == [0, 0]
    assert read.labels.names == ("boat", "gull")
    # A prediction on it is a false alarm, not one on an image that nobody knows (V213).
    pred = {"image": ["fog.jpg", "pier.jpg"], "label": ["boat"] * 2, "bbox": [[1, 1, 5, 5], [10, 10, 20, 20]]}
    found = vt.voc(make(BARE), {**pred, "score": [0.9, 0.8]})
    assert found.class_scores()["mAP"][0] == 0.5  # right, but behind a false alarm
    objects = make({key: [values[0], values[2]] for key, values in BARE.items()})
    with pytest.raises(vt.DataError, match="V213"):
        vt.voc(objects, {**pred, "score": [0.9, 0.8]})


def test_row_with_half_an_object_is_refused():
    for gone, said in (("label", "row 1: expected a value in label, found none"), ("bbox", "row 1: expected 4")):
        columns = {"image": ["a", "b"], "label": ["boat", None], "bbox": [[0, 0, 4, 3], None]}
        columns[gone] = [None, None]
        with pytest.raises(vt.ReadError, match=said):
            vt.read(columns)


def test_table_of_images_alone_is_a_truth_without_objects():
    for make in (dict, pandas.DataFrame, pyarrow.table):
        read = vt.read(make({"image_id": [3, 1], "category_id": [None, None], "bbox": [None, None]}))
        assert read.images.ids.tolist() == [1, 3]
        assert len(read) == 0


def test_large_ids_beside_nothing_keep_every_bit():
    big = 2**60 + 1
    read = vt.read(pyarrow.table({"image": ["a", "b"], "category_id": [big, None], "bbox": [[0, 0, 1, 1], None]}))
    assert read.labels.ids.tolist() == [big]


def test_sizes_of_an_image_agree():
    columns = {**COLUMNS, "image_width": [100, 100], "image_height": [50, 60]}
    with pytest.raises(vt.ReadError, match="row 2: expected an image of 100 x 50, as another row says, found 100 x 60"):
        vt.read(columns)
    assert vt.read({**columns, "image_height": [50, 50]}).images.heights.tolist() == [50]
    assert vt.read({**columns, "image_width": [None] * 2, "image_height": [None] * 2}).images.heights.tolist() == [0]


def test_pictures_give_sizes_and_fractions_become_pixels(tmp_path):
    image = pytest.importorskip("PIL.Image")
    image.new("L", (100, 50)).save(tmp_path / "pier.png")
    columns = {"file_name": ["pier.jpg"], "label": ["boat"], "bbox": [[0.1, 0.2, 0.5, 0.5]]}
    read = vt.read(columns, images=tmp_path, coords="rel")
    assert read.regions.boxes.tolist() == [[10, 10, 60, 35]]


def test_option_without_use_is_named():
    assert vt.read(COLUMNS, split="val").source.notes == ("split='…' is not used by a dictionary of columns",)
    with pytest.raises(vt.BadParameter, match="label offset: expected ids to add 1 to, found only names"):
        vt.read(BARE, label_offset=1)


@pytest.mark.parametrize("way", ["pandas", "arrow", "table", "parquet"])
def test_images_without_objects_and_sizes_go_out_and_come_back(way, truth, tmp_path):
    if way in ("table", "parquet"):
        assert vt.write(truth, tmp_path / way, way) == ()
        read = vt.read(tmp_path / way)
    else:
        read = vt.read(getattr(truth, f"to_{way}")(images=True))
    assert read.images.names == truth.images.names == ("pier.jpg", "fog.jpg")
    assert read.images.widths.tolist() == [100, 0]
    assert read.regions.boxes.tolist() == truth.regions.boxes.tolist()
    assert read.ids.tolist() == [1, 2]
    assert read.labels.ids.tolist() == [3, 5]


def test_annotations_come_from_arrow(truth):
    same(vt.Annotations.from_arrow(pyarrow.table(COLUMNS), truth), truth)
    with pytest.raises(vt.BadParameter, match=r"expected one with __arrow_c_stream__, found dict; verite\.read takes"):
        vt.Annotations.from_arrow(COLUMNS)


def test_mapping_on_the_command_line_may_be_meant_for_one_side(tmp_path, capsys):
    (tmp_path / "truth.csv").write_text("image,label,x,y,width,height\na,boat,0,0,4,3\n")
    (tmp_path / "pred.csv").write_text("image,kind,x,y,width,height,score\na,boat,0,0,4,3,0.9\n")
    words = ["voc", str(tmp_path / "truth.csv"), str(tmp_path / "pred.csv"), "--columns"]
    assert cli.run([*words, "label=kind"]) == 0
    assert "no column 'kind' here: label is taken as it is" in capsys.readouterr().err
    assert cli.run([*words, "label=kin"]) == 2
    assert "pred.csv: expected a column 'kin', found 'kind, image, " in capsys.readouterr().err
    with pytest.raises(vt.BadParameter, match="expected a column 'kind'"):
        vt.read(tmp_path / "truth.csv", columns={"label": "kind"})


ODD_CELLS = [
    None, [], [1], {}, "", "x", -1, 2**63, 10**400, float("nan"), float("inf"), 1e300, b"x", np.array(5), True,
    np.array([1.0, 2.0]), np.zeros((2, 2)), 1 + 2j, [None] * 4, ["x"] * 4, [[1, 2], [3]], {"counts": 3, "size": 4},
]  # fmt: skip


@pytest.mark.parametrize("column", ["image_id", "label", "bbox", "score", "area", "id", "iscrowd", "segmentation",
                                    "keypoints", "image_width"])  # fmt: skip
def test_a_cell_of_another_kind_is_refused_with_its_row(column):
    good = {"image_id": 1, "label": "cat", "bbox": [0, 0, 5, 5], "score": 0.5, "area": 25.0, "id": 7, "iscrowd": 0}
    good |= {"segmentation": [[0, 0, 5, 5, 5, 0]], "keypoints": [1, 2, 2], "image_width": 9, "image_height": 9}
    for cell in ODD_CELLS:
        for cells in ([good[column], cell], [cell, cell]):
            table = {key: [value, value] for key, value in good.items()} | {column: cells}
            with suppress(vt.VeriteError):  # anything else is a fault
                read = vt.read(table)
                assert len(read) <= 2


def test_ids_beyond_64_bits_are_refused_not_wrapped():
    table = {"image_id": np.array([2**63], np.uint64), "label": ["cat"], "bbox": [[0, 0, 5, 5]]}
    with pytest.raises(vt.ReadError, match="row 1: expected a whole number of 64 bits in image_id, found 92233"):
        vt.read(table)


def test_numbers_of_more_than_53_bits_stay_whole_beside_nothing():
    def column(*values):
        return columns_of_arrow(pyarrow.table({"id": pyarrow.array(values, pyarrow.int64())}))["id"]

    assert column(2**53, None)[0] == 2**53
    assert np.isnan(column(2**53, None)[1])
    assert column(2**53 + 1, None) == [2**53 + 1, None]
    assert column(-(2**53) - 1, None) == [-(2**53) - 1, None]


def test_columns_of_a_table_that_no_annotation_needs_are_left_out():
    days = pyarrow.array([1, 2], pyarrow.date32())
    names = pyarrow.array(["a", None], pyarrow.large_string())
    boxes = pyarrow.array([[1, 2, 3, 4], [5, 6, 7, 8]], pyarrow.list_(pyarrow.float32()))
    found = columns_of_arrow(pyarrow.table({"day": days, "raw": [b"x", b"y"], "name": names, "bbox": boxes}).slice(1))
    assert list(found) == ["name", "bbox"]
    assert found["name"] == [None]
    assert found["bbox"][0].tolist() == [5, 6, 7, 8]


def test_a_stream_without_columns_is_refused():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            return pyarrow.chunked_array([[1, 2]]).__arrow_c_stream__(requested_schema)

    assert "table: expected columns with names" in refused(vt.read, Broken())


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_data_frames_are_read_without_pyarrow(monkeypatch, package):
    frame = pytest.importorskip(package).DataFrame({**COLUMNS, "note": ["a", None]})
    expected = vt.read(pyarrow.table(COLUMNS))

    def missing():
        raise vt.BadParameter("pyarrow: expected it to be installed, found none")

    monkeypatch.setattr(table_files, "import_pyarrow", missing)
    same(vt.read(frame), expected)
    assert "pyarrow" in refused(vt.read, pyarrow.table(COLUMNS))


def test_decimals_of_a_part_of_a_table_are_read():
    numbers = [Decimal("1.5"), Decimal("-2.25"), Decimal("30.75"), Decimal("0.5")]
    columns = {name: pyarrow.array(numbers, pyarrow.decimal128(9, 2)) for name in ("x", "y", "width", "height")}
    whole = pyarrow.table({"image": ["a", "b", "c", "d"], "label": ["cat"] * 4, **columns})
    assert vt.read(whole).regions.sizes[:, 0].tolist() == [1.5, -2.25, 30.75, 0.5]
    assert vt.read(whole.slice(1, 2)).regions.sizes[:, 3].tolist() == [-2.25, 30.75]


def test_bits_and_nulls_of_a_part_of_a_table_begin_within_a_byte():
    crowd = [i % 3 == 0 for i in range(30)]
    confidence = [None if i % 5 == 0 else i / 100 for i in range(30)]
    columns = {name: [1.0] * 30 for name in ("x", "y", "width", "height")}
    names = [f"{i:02d}" for i in range(30)]
    whole = pyarrow.table({"image": names, "label": ["cat"] * 30, "crowd": crowd, "confidence": confidence, **columns})
    for start, length in ((0, 30), (9, 12), (17, 3)):
        found = vt.read(whole.slice(start, length))
        assert found.crowd.tolist() == crowd[start : start + length]
        assert np.isnan(found.confidence).tolist() == [i % 5 == 0 for i in range(start, start + length)]


def test_cells_are_numbers_or_not():
    for yes in ("1.5", 1, 1.5, None, np.int8(1), np.float32(1), np.True_):
        assert is_numeric(yes)
    for no in ("x", [1], b"1"):
        assert not is_numeric(no)
    rows = ColumnRows("table", {"yes": [2.0, float("nan"), 2, None], "no": [2.0, 2.5, 2, "2"]}, Options(), None)
    assert rows.is_whole("yes")
    assert not rows.is_whole("no")


def test_keys_are_told_apart_by_id_or_by_name():
    names = np.array(["b", "a", "b"], dtype=object)
    position, numbers, known = distinct(np.array([9, 2, 9]), names)
    assert (position.tolist(), numbers.tolist(), known) == ([1, 0, 1], [2, 9], ["a", "b"])
    position, numbers, known = distinct(None, names)
    assert (position.tolist(), numbers, known) == ([0, 1, 0], None, ["b", "a"])


def test_an_id_has_one_name_and_a_name_one_id():
    def table(ids, names):
        boxes = dict.fromkeys(("x", "y", "width", "height"), [1.0] * len(ids))
        return vt.read({"image": ["a"] * len(ids), "category_id": ids, "category_name": names, **boxes})

    assert table([1, 2, 1], ["cat", "dog", "cat"]).label.tolist() == [0, 1, 0]
    assert "expected 'cat', as this class id has, found 'dog'" in refused(table, [1, 1], ["cat", "dog"])
    assert "expected one id per class name, found several of 'cat'" in refused(table, [1, 2], ["cat", "cat"])


def test_half_a_surrogate_pair_in_a_column_of_images_or_classes_is_named_with_its_row():
    """It can be neither written nor drawn."""
    table = {"image": ["a", "b"], "label": ["cat", "cat"], "x": [1, 1], "y": [1, 1], "width": [5, 5], "height": [5, 5]}
    for key in ("image", "label"):
        assert "half a surrogate pair" in refused(vt.read, {**table, key: ["a", "\ud800"]})
    assert len(vt.read(table)) == 2


def test_tables_are_known_by_image_class_and_box(tmp_path):
    def known(*columns, name="a.csv"):
        (tmp_path / name).write_text(",".join(columns) + "\n")
        found = table_files.recognise(PathProbe(tmp_path / name))
        return None if found is None else "some" if "some of" in found else "all"

    box = ("x", "y", "width", "height")
    assert known("image", "label", *box) == "all"
    assert known("image", "label", "bbox") == "all"
    assert known("image", "label") == known("image", "x") == known("label", "x") == "some"
    assert known("image", "other") is known("x", "other") is None
    assert known("image", "label", "x", name="a.txt") is None


def test_widths_beside_corners_are_the_images():
    def named(**changes):
        columns = {"xmin": [1, 2], "ymin": [1, 2], "xmax": [9, 8], "ymax": [9, 8], "width": [9, 9], "height": [9, 9]}
        columns |= changes
        said = column_names.name_image_sizes(columns)
        return bool(said) and "image_width" in columns

    assert named()
    assert not named(xmax=[9, 10])
    assert not named(ymax=[9, 10])
    assert not named(width=[9, 6], height=[9, 6])  # the size of the second box
    assert named(width=[9, 10], height=[9, 12])
    assert not named(width=[9.5, 9.5])
    assert not named(image_width=[9, 9])
    assert not named(width=["x", "y"])
    assert not column_names.name_image_sizes({"x": [1], "y": [1], "width": [1], "height": [1]})
    assert not column_names.name_image_sizes({"xmin": [1], "ymin": [1], "xmax": [9], "ymax": [9], "width": [9]})


def test_cells_that_are_no_texts_are_shown():
    def said(value):
        columns = {"image": ["a", "b"], "label": np.array(["cat", value], object)}
        return refused(vt.read, columns | {side: [1.0, 1.0] for side in ("x", "y", "width", "height")})

    assert "row 2: expected a text in label, found '[7]'" in said([7])
    for nothing in (None, "", float("nan")):
        assert "expected a text in label, found none" in said(nothing)


def test_columns_are_of_one_length():
    boxes = {side: [1.0] for side in ("x", "y", "width", "height")}
    columns = {"image": ["a"], "label": ["cat"], **boxes}
    assert len(vt.read(columns)) == 1
    assert "expected columns of one length" in refused(ColumnRows, "t", columns | {"x": [1.0, 2.0]}, Options(), None)
    assert vt.read(columns | {"image_width": [20], "image_height": [10]}).images.widths.tolist() == [20]
    assert vt.read(columns | {"image_width": [20]}).images.widths.tolist() == [0]
