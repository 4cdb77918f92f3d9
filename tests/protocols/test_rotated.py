"""Rotated boxes: exact overlaps with shapely as the oracle, by VOC's and COCO's rules, from every format of theirs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from verite import _core
from verite.errors import DataError, ReadError
from verite.model.regions import ANGLES, boxes_of, corners_of

shapely = pytest.importorskip("shapely", reason="the oracle is not installed: pip install shapely")
SQUARE = [0.0, 0.0, 2.0, 0.0, 2.0, 2.0, 0.0, 2.0]


def overlap(first: Any, second: Any) -> float:
    one, other = (np.array(corners, dtype=np.float64).reshape(1, 8) for corners in (first, second))
    return float(_core.quad_iou(one, other)[0])


def oracle(first: Any, second: Any) -> Any:
    one, other = shapely.polygons(first), shapely.polygons(second)
    shared = shapely.area(shapely.intersection(one, other))
    return shared / (shapely.area(one) + shapely.area(other) - shared)


def random_boxes(rng: np.random.Generator, count: int, size: float = 1.0, away: float = 0.0) -> Any:
    centre, sides = away + 2 * size * rng.random((count, 2)), size * (0.001 + 2 * rng.random((count, 2)))
    return corners_of(np.column_stack([centre, sides, 7 * rng.random(count)]), "radians")


def ours(first: Any, second: Any) -> Any:
    return _core.quad_iou(*(np.ascontiguousarray(quads.reshape(-1, 8)) for quads in (first, second)))


@pytest.mark.thorough
def test_a_hundred_thousand_random_pairs_overlap_as_shapely_says() -> None:
    rng = np.random.default_rng(0)
    first, second = random_boxes(rng, 100_000), random_boxes(rng, 100_000)
    assert np.abs(ours(first, second) - oracle(first, second)).max() <= 1e-9
    assert (ours(first, second) > 0).mean() > 0.5


@pytest.mark.parametrize(("size", "away"), [(1e-6, 0.0), (50.0, 4000.0), (1e-3, 100.0)])
def test_small_far_and_reversed_pairs_overlap_as_shapely_says(size: float, away: float) -> None:
    rng = np.random.default_rng(1)
    first, second = random_boxes(rng, 5000, size, away), random_boxes(rng, 5000, size, away)
    assert np.abs(ours(first, second[:, ::-1]) - oracle(first, second)).max() <= 1e-9


@pytest.mark.thorough
def test_any_four_corners_overlap_as_shapely_says() -> None:
    rng = np.random.default_rng(2)
    quads = rng.random((40_000, 4, 2))
    simple = quads[shapely.is_valid(shapely.polygons(quads))][:10_000]  # a part of them concave
    first, second = simple[:5000], simple[5000:]
    assert np.abs(ours(first, second) - oracle(first, second)).max() <= 1e-9


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (SQUARE, 1.0),
        (SQUARE[::-1], 1.0),  # x and y change places as well: the same square
        ([2, 0, 4, 0, 4, 2, 2, 2], 0.0),  # touches along an edge
        ([2, 2, 4, 2, 4, 4, 2, 4], 0.0),  # touches in a corner
        ([0.5, 0.5, 1.5, 0.5, 1.5, 1.5, 0.5, 1.5], 0.25),  # inside
        ([1, 0, 2, 1, 1, 2, 0, 1], 0.5),  # a diamond on its edges
        ([1, 0, 3, 0, 3, 2, 1, 2], 1 / 3),  # half of each
        ([0, 0, 1, 1, 2, 2, 1, 1], 0.0),  # no area
        ([1, 1, 1, 1, 1, 1, 1, 1], 0.0),  # a point
        ([0, 0, 2, 2, 2, 0, 0, 2], 0.5),  # edges cross: two triangles of area 1
        ([0, 0, 2, 0, 0.5, 0.5, 0, 2], 0.25),  # concave: two triangles of area 0.5
    ],
)
def test_overlaps_worked_by_hand(other: list[float], expected: float) -> None:
    assert overlap(SQUARE, other) == pytest.approx(expected, abs=1e-15)
    assert overlap(other, SQUARE) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("angle", ANGLES)
def test_centre_width_height_and_angle_come_back_from_corners(angle: str) -> None:
    rng = np.random.default_rng(3)
    unit = 180 / np.pi if angle.startswith("degrees") else 1.0
    boxes = np.column_stack([100 * rng.random((50, 2)), 1 + 9 * rng.random((50, 2)), unit * (3 * rng.random(50) - 1.5)])
    again, is_box = boxes_of(corners_of(boxes, angle), angle)
    assert is_box.all()
    assert np.allclose(again, boxes, atol=1e-9)


def dota(tmp_path: Path, truth: list[str], preds: list[str]) -> tuple[vt.Annotations, vt.Annotations]:
    for folder, name, lines in (("truth", "P1.txt", truth), ("preds", "Task1_ship.txt", preds)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("".join(f"{line}\n" for line in lines))
    found = vt.read(tmp_path / "truth")
    return found, vt.read(tmp_path / "preds", like=found)


def test_dota_has_voc_s_average_precision(tmp_path: Path) -> None:
    # Three ships, one of them difficult; predictions by falling confidence: right, on the difficult one, wrong, right.
    # Recall 1/2 at precision 1, then 2/2 at 2/3: all points 1/2 + 1/2 · 2/3; at eleven recalls (6 + 5 · 2/3) / 11.
    diamond = "50 40 60 50 50 60 40 50"
    truth = ["0 0 20 0 20 10 0 10 ship 0", f"{diamond} ship 0", "100 100 120 100 120 110 100 110 ship 1"]
    preds = [
        "P1 0.9 0 0 20 0 20 10 0 10",
        "P1 0.8 100 100 120 100 120 110 100 110",
        "P1 0.7 200 200 220 200 220 210 200 210",
        f"P1 0.6 {diamond}",
    ]
    sides = dota(tmp_path, truth, preds)
    assert vt.voc(*sides, on="rotated").scores["mAP"].value == pytest.approx(0.5 + 0.5 * 2 / 3)
    eleven = vt.voc(*sides, on="rotated", interpolation="11", quirks="py-faster-rcnn")
    assert eleven.scores["mAP"].value == pytest.approx((6 + 5 * 2 / 3) / 11)
    assert "|on:rotated|" in str(eleven.signature)
    assert "pixel" not in str(eleven.signature)


def test_a_turned_box_is_told_from_the_upright_box_around_it(tmp_path: Path) -> None:
    # A diamond and the square around it: boxes agree, rotated boxes overlap by a half, which 0.5 accepts and 0.55 not.
    sides = dota(tmp_path, ["50 40 60 50 50 60 40 50 ship 0"], ["P1 0.9 40 40 60 40 60 60 40 60"])
    assert vt.coco(*sides).scores["AP"].value == pytest.approx(1.0)
    found = vt.coco(*sides, on="rotated")
    assert found.evaluation.outcomes().overlap[0] == 0.5
    assert found.scores["AP"].value == pytest.approx(0.1)
    assert found.scores["APs"].value == pytest.approx(0.1)  # the diamond's area is 200, below 32²


def test_an_overlap_of_exactly_one_half_suffices_unless_the_devkit_is_repeated(tmp_path: Path) -> None:
    # The diamond is half of the square around it. DOTA's devkit asks for more than 0.5.
    sides = dota(tmp_path, ["50 40 60 50 50 60 40 50 ship 0"], ["P1 0.9 40 40 60 40 60 60 40 60"])
    assert vt.voc(*sides, on="rotated").scores["mAP"].value == 1
    assert vt.voc(*sides, on="rotated", quirks="py-faster-rcnn").scores["mAP"].value == 0


def test_who_compares_upright_boxes_of_turned_ones_is_told(tmp_path: Path) -> None:
    document = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
        "categories": [{"id": 1, "name": "ship"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [50, 40, 20, 10, 30.0]}],
    }
    truth = vt.read(document)
    pred = vt.read([{"image_id": 1, "category_id": 1, "bbox": [50, 40, 20, 10, 30.0], "score": 0.9}], like=truth)
    hint = 'boxes are rotated; the upright ones around them were compared, see on="rotated"'
    for protocol in (vt.coco, vt.voc):
        assert hint in protocol(truth, pred).notes
        assert hint not in protocol(truth, pred, on="rotated").notes
    vt.write(truth, tmp_path / "dota", "dota")
    corners = vt.read(tmp_path / "dota")
    assert hint in vt.voc(corners, pred.like(corners)).notes


def test_what_has_no_four_corners_is_sent_elsewhere(tmp_path: Path) -> None:
    boxes = vt.Annotations.of(["a"], ["ship"], [[0, 0, 9, 9]], confidence=[0.5])
    with pytest.raises(DataError, match=r'expected rotated boxes, found none; evaluate boxes with on="box"'):
        vt.coco(boxes, boxes, on="rotated", checks="off")
    regions = vt.Regions([[0, 0, 9, 9]], polygons=vt.Polygons.of([[[0, 0, 9, 0, 9, 9]]]))
    triangle = replace(boxes, regions=regions)
    with pytest.raises(
        DataError, match=r"four corners for every object, found a polygon of 3 in image 'a'; .*on=.mask"
    ):
        vt.coco(triangle, boxes, on="rotated", checks="off")
    with pytest.raises(ReadError, match="expected four corners for every object"):
        vt.write(triangle, tmp_path / "out", "dota")


def test_five_numbers_dota_and_yolo_say_the_same(tmp_path: Path) -> None:
    boxes = [[50, 40, 20, 10, 30.0], [70, 60, 8, 30, -45.0]]
    document = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
        "categories": [{"id": 1, "name": "ship"}],
        "annotations": [
            {"id": i, "image_id": 1, "category_id": 1, "bbox": b, "iscrowd": 0} for i, b in enumerate(boxes, 1)
        ],
    }
    five = vt.read(document)
    for format in ("dota", "yolo", "coco-rotated", "coco"):
        path = tmp_path / (f"{format}.json" if format.startswith("coco") else format)
        vt.write(five, path, format)
        again = vt.read(path, image_size=(100, 100)) if format == "dota" else vt.read(path, like=five)
        assert again.regions.polygons is not None
        assert np.allclose(again.regions.polygons.points, five.regions.polygons.points, atol=1e-9), format
    written = json.loads((tmp_path / "coco-rotated.json").read_text())["annotations"]
    assert np.allclose([record["bbox"] for record in written], boxes)
    other = vt.read(document, angle="degrees-ccw")
    assert not np.allclose(other.regions.polygons.points, five.regions.polygons.points)


@pytest.mark.parametrize("order", [("bbox", "obb"), ("obb", "bbox"), ("obb",), ("bbox", "rotated"), ("rotated",)])
def test_five_numbers_stand_in_obb_or_rotated_beside_any_bbox(tmp_path: Path, order: tuple[str, ...]) -> None:
    # Of 40 × 10, turned by 90 degrees: 10 wide and 40 high around (50, 50).
    angle = np.pi / 2 if "obb" in order else 90.0  # hotcoco's obb is in radians
    values = {"bbox": [0.0, 0.0, 5.0, 5.0], "obb": [50, 50, 40, 10, angle], "rotated": [50, 50, 40, 10, angle]}
    record = {"image_id": 1, "category_id": 1, **{key: values[key] for key in order}}
    document = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
        "categories": [{"id": 1, "name": "ship"}],
        "annotations": [{"id": 1, **record}],
    }
    (tmp_path / "truth.json").write_text(json.dumps(document))
    (tmp_path / "pred.json").write_text(json.dumps([{**record, "score": 0.5}]))
    truth = vt.read(tmp_path / "truth.json")
    pred = vt.read(tmp_path / "pred.json", like=truth)
    for side in (truth, pred):
        assert np.allclose(side.regions.boxes, [[45, 30, 55, 70]])
    assert vt.coco(truth, pred, on="rotated").scores["AP"].value == pytest.approx(1.0)
    other = vt.read(tmp_path / "truth.json", angle="degrees" if "obb" in order else "degrees-ccw")
    assert np.allclose(other.regions.boxes, truth.regions.boxes) == ("obb" not in order)  # 90 and -90 look the same


def test_an_obb_of_four_numbers_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "pred.json"
    path.write_text('[{"image_id": 1, "category_id": 1, "obb": [1, 2, 3, 4], "score": 0.5}]')
    with pytest.raises(ReadError, match=r"\[0\].obb: expected 5 numbers in obb, found 4"):
        vt.read(path)


def test_angles_that_cannot_be_what_they_are_read_as_stop(tmp_path: Path) -> None:
    turns = np.linspace(-1.5, 1.5, 9)
    document = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
        "categories": [{"id": 1, "name": "ship"}],
        "annotations": [
            {"id": i + 1, "image_id": 1, "category_id": 1, "bbox": [50, 40, 20, 10, float(a)]}
            for i, a in enumerate(turns)
        ],
    }
    with pytest.raises(
        ReadError, match=r"expected angles in degrees \(V430\), found none beyond 1.5; are these radians"
    ):
        vt.read(document)
    assert len(vt.read(document, angle="degrees")) == len(vt.read(document, angle="radians")) == 9
    document["annotations"] = document["annotations"][:7]  # too few to tell
    assert len(vt.read(document)) == 7
    document["annotations"][0]["bbox"][4] = 90.0
    with pytest.raises(ReadError, match=r"expected angles in radians \(V430\), found 90; angle='degrees'"):
        vt.read(document, angle="radians")


@pytest.mark.parametrize("is_mirrored", [False, True])
def test_angles_that_turn_the_other_way_are_found(is_mirrored: bool) -> None:
    rng = np.random.default_rng(5)
    records, results = [], []
    for i in range(20):
        box = [100 + 40 * i, 200.0, 40.0, 20.0, float(rng.choice([-1, 1]) * rng.uniform(25, 40))]
        facts = {"image_id": 1, "category_id": 1}
        records.append({"id": i + 1, **facts, "bbox": box})
        results.append({**facts, "bbox": [*box[:4], -box[4] if is_mirrored else box[4]], "score": 0.5})
    images = [{"id": 1, "file_name": "a.jpg", "width": 1000, "height": 1000}]
    truth = vt.read({"images": images, "categories": [{"id": 1, "name": "ship"}], "annotations": records})
    pred = vt.read(results, like=truth)
    codes = [finding.code for finding in vt.inspect(truth, pred).findings]
    assert ("V431" in codes) == is_mirrored
    if is_mirrored:
        mended = vt.read(results, like=truth, angle="degrees-ccw")
        assert vt.coco(truth, mended, on="rotated").scores["AP"].value == pytest.approx(1.0)
