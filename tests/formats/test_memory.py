"""What is in memory already: tables, dictionaries, tensors and other tools' objects, as good as files."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from tests.formats.samples import sample
from verite import _core
from verite.formats.memory import to_plain
from verite.model.regions import MASK

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

TRUTH = {
    "images": [{"id": 7, "file_name": "pier.jpg", "width": 100, "height": 50}, {"id": 9, "file_name": "fog.jpg"}],
    "categories": [{"id": 3, "name": "boat"}, {"id": 5, "name": "gull"}],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 3, "bbox": [10, 10, 20, 20], "area": 400, "iscrowd": 0},
        {"id": 2, "image_id": 7, "category_id": 5, "bbox": [50, 5, 10, 10], "area": 100, "iscrowd": 0},
    ],
}
RESULTS = [
    {"image_id": 7, "category_id": 3, "bbox": [10, 10, 20, 20], "score": 0.9},
    {"image_id": 7, "category_id": 5, "bbox": [50, 5, 10, 10], "score": 0.5},
]
COLUMNS = {
    "image_id": [7, 7],
    "category_id": [3, 5],
    "x": [10.0, 50.0],
    "y": [10.0, 5.0],
    "width": [20.0, 10.0],
    "height": [20.0, 10.0],
    "score": [0.9, 0.5],
}


@pytest.fixture
def truth():
    return vt.read(TRUTH)


def same(read, truth):
    """Two boxes, worked by hand, on the truth's own image and classes."""
    assert read.regions.boxes.tolist() == [[10, 10, 30, 30], [50, 5, 60, 15]]
    assert read.image.tolist() == [0, 0]
    assert read.label.tolist() == [0, 1]
    assert read.labels.names == truth.labels.names
    assert read.confidence.tolist() == [0.9, 0.5]
    assert vt.coco(truth, read).scores["AP"].value == pytest.approx(1)


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
    columns["label"] = pyarrow.array([names[0], names[2], names[1]]).cast(text)
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
    from decimal import Decimal

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
            {"category_id": None},
            r"a column category_id, label or class, .*; name it with columns={'category_id': '…'}",
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


def test_coco_dictionary_is_read_as_its_file(tmp_path, truth):
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(TRUTH))
    assert vt.read(path).digest == truth.digest
    for name in ("instances.json", "scored.json", "text_ids.json"):
        file = sample("coco", "good", name)
        assert vt.read(json.loads(file.read_text())).digest == vt.read(file).digest


def test_results_are_read_as_their_file(tmp_path, truth):
    path = tmp_path / "pred.json"
    path.write_text(json.dumps(RESULTS))
    same(vt.read(RESULTS, like=truth), truth)
    assert vt.read(RESULTS, like=truth).digest == vt.read(path, like=truth).digest
    assert len(vt.read([], like=truth)) == 0


def test_results_may_hold_numpy_numbers_and_runs_as_bytes(truth):
    runs = {"size": [2, 2], "counts": b"13"}
    odd = [{**RESULTS[0], "image_id": np.int64(7), "bbox": np.array(RESULTS[0]["bbox"]), "segmentation": runs}]
    read = vt.read(odd, like=truth)
    assert read.regions.boxes.tolist() == [[10, 10, 30, 30]]
    assert read.regions.runs[0].tolist() == [1, 3]


def test_text_of_what_is_in_memory_is_that_of_pythons_own_module():
    rng = np.random.default_rng(4)
    numbers = [*rng.integers(0, 2**64, 3000, dtype=np.uint64).view(np.float64).tolist(), *rng.random(500).tolist()]
    numbers += [0.0, -0.0, 5.0, 1e5, 1e16, 1e22, 1e300, 5e-324, math.inf, -math.inf, 2**63, -(2**70), True, None]
    texts = ["", "Straße", '"quoted" \\ \n\t\x00\x1f\x7f', "海", "🚤"]
    given = {"numbers": numbers, "texts": texts, **{text: {"deep": [[], {}, (1, (2,))]} for text in texts}}
    written = _core.encode_json(given, to_plain)
    assert repr(json.loads(written)) == repr(json.loads(json.dumps(given)))
    for wrong in ("\ud800", {1, 2}):
        with pytest.raises(vt.BadParameter, match="COCO results: expected what JSON can hold, found"):
            vt.read([{**RESULTS[0], "extra": wrong}])
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(vt.BadParameter, match="found something nested too deeply, or in itself"):
        vt.read([{**RESULTS[0], "extra": endless}])


def test_place_of_a_mistake_is_named_as_in_files():
    with pytest.raises(vt.ReadError, match=r"COCO results: results\[1\].score: expected a number, found a string"):
        _ = vt.read([RESULTS[0], {**RESULTS[1], "score": "high"}]).regions
    with pytest.raises(vt.ReadError, match=r"COCO dictionary: annotations\[0\].category_id: expected an id out of cat"):
        vt.read({**TRUTH, "annotations": [{**TRUTH["annotations"][0], "category_id": 4}]})
    with pytest.raises(vt.BadParameter, match="COCO results: expected what JSON can hold, found object"):
        vt.read([{**RESULTS[0], "extra": object()}])


def test_pycocotools_objects(truth):
    reference = pytest.importorskip("pycocotools.coco")
    theirs = reference.COCO()
    theirs.dataset = json.loads(json.dumps(TRUTH))
    theirs.createIndex()
    assert vt.read(theirs).digest == truth.digest
    loaded = theirs.loadRes([dict(record) for record in RESULTS])
    assert vt.coco(theirs, loaded).scores["AP"].value == pytest.approx(1)


def test_torchvision_dictionaries(truth):
    def tensor(values):
        return SimpleNamespace(detach=lambda: SimpleNamespace(cpu=lambda: np.array(values)), tolist=None)

    images = [{"boxes": [[10, 10, 30, 30], [50, 5, 60, 15]], "labels": [3, 5], "scores": [0.9, 0.5]},
              {"boxes": np.empty((0, 4)), "labels": [], "scores": []}]  # fmt: skip
    numbered = [{**images[0], "image_id": 7}, {**images[1], "image_id": np.array([9])}]
    same(vt.read(numbered, like=truth), truth)
    tensors = [{key: tensor(values) for key, values in image.items()} for image in images]
    read = vt.read(tensors)
    assert read.images.ids.tolist() == [0, 1]
    assert read.regions.boxes.tolist() == [[10, 10, 30, 30], [50, 5, 60, 15]]
    named = vt.read([{**images[0], "labels": [0, 1]}], names=["boat", "gull"])
    assert named.labels.names == ("boat", "gull")
    masks = np.zeros((2, 1, 2, 3), dtype=np.float32)
    masks[0, 0, 0, 1] = 0.7
    drawn = vt.read([{**images[0], "masks": masks}])
    assert drawn.regions.runs[0].tolist() == [2, 1, 3]  # column by column: the third of six pixels
    with pytest.raises(vt.BadParameter, match="image 0: expected 2 labels as there are boxes, found 1"):
        vt.read([{**images[0], "labels": [3]}])
    with pytest.raises(vt.BadParameter, match="expected scores in every image or in none, found them in 1"):
        vt.read([images[0], {"boxes": [[0, 0, 1, 1]], "labels": [3]}])


def test_supervision_detections(truth):
    supervision = pytest.importorskip("supervision")
    found = supervision.Detections(
        xyxy=np.array([[10, 10, 30, 30], [50, 5, 60, 15]], dtype=np.float32),
        class_id=np.array([3, 5]),
        confidence=np.array([0.9, 0.5]),
    )
    same(vt.read({"pier.jpg": found, "fog.jpg": supervision.Detections.empty()}, like=truth), truth)
    assert vt.read(found).images.ids.tolist() == [0]


def test_public_functions_take_paths_and_objects(tmp_path, truth):
    paths = tmp_path / "truth.json", tmp_path / "pred.json"
    for path, content in zip(paths, (TRUTH, RESULTS), strict=True):
        path.write_text(json.dumps(content))
    frame = pandas.DataFrame(COLUMNS)
    for pair in (paths, tuple(map(str, paths)), (TRUTH, RESULTS), (truth, frame), (str(paths[0]), frame)):
        assert vt.coco(*pair).scores["AP"].value == pytest.approx(1)
        assert vt.voc(*pair).scores["mAP"].value == 1.0
        assert vt.imagenet_det(*pair).scores["mAP"].value == 1.0
        assert vt.localize(*pair, "iou").scores["iou"].value == 1.0
        assert vt.interpret(*pair).score == 0.0  # nothing is wrong


def test_same_checks_as_for_files():
    at = np.arange(100, 140.0)
    names = [f"{i}.jpg" for i in range(40)]
    truth = {"image": names, "label": ["boat"] * 40, "x1": at, "y1": at, "x2": at + 50, "y2": at + 30}
    corners = {"x": at, "y": at, "width": at + 50, "height": at + 30}  # said to be sizes
    pred = pandas.DataFrame({"image": names, "label": ["boat"] * 40, **corners, "score": at / 200})
    with pytest.raises(vt.DataError, match="V101"):
        vt.coco(truth, pred)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (3, "int 3"),
        ({"a": 1}, "a dict with the keys 'a'"),
        ([1, 2], "a list of int 1"),
        (None, "NoneType"),
    ],
)
def test_wrong_type_is_told_what_is_taken(given, found):
    with pytest.raises(vt.BadParameter) as caught:
        vt.read(given)
    said = str(caught.value)
    assert said.startswith(
        "annotations: expected a path or annotations, a COCO dictionary, a list of COCO results, a pyc"
    )
    assert "torchvision" in said
    assert "supervision" in said
    assert "__arrow_c_stream__" in said
    assert said.endswith(f"found {found}")


def test_format_of_what_is_in_memory_is_not_asked_for():
    with pytest.raises(vt.BadParameter, match="format: expected none for what is in memory already, found 'coco'"):
        vt.read(TRUTH, format="coco")


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
