"""Points compared by their distance: matching, localization errors, counts, and what is read as a point."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from math import isnan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.oracles.points import average_precision, most_matches
from verite.cli import run
from verite.errors import BadParameter, DataError
from verite.model.regions import Regions

SIZES = {"a": (300, 400), "b": (300, 400)}  # diagonal 500


def points(rows: list[tuple[str, float, float]], confidence: list[float] | None = None, **more: Any) -> vt.Annotations:
    return vt.Annotations.of(
        [image for image, _, _ in rows], ["cell"] * len(rows), [[x, y, x, y] for _, x, y in rows],
        confidence=confidence, sizes=SIZES, **more,
    )  # fmt: skip


TRUTH = points([("a", 10, 10), ("a", 100, 100), ("b", 50, 50)])
# 5 from the first, 20 from the second, 60 from the third.
PRED = points([("a", 13, 14), ("a", 112, 116), ("b", 50, 110)], [0.9, 0.8, 0.7])


@pytest.mark.parametrize(
    ("distance", "found", "mean"), [(4.99, 0, float("nan")), (5, 1, 5.0), (20, 2, 12.5), (60, 3, 85 / 3)]
)
def test_points_match_up_to_the_maximum_distance(distance: float, found: int, mean: float) -> None:
    results = vt.f1(TRUTH, PRED, on="point", max_distance=distance)
    assert results.tallies[0].tp == found
    assert results["recall"].value == pytest.approx(found / 3)
    assert results.distances is not None
    assert results.distances[0].mean == pytest.approx(mean, nan_ok=True)


def test_the_default_is_a_tenth_of_the_diagonal_and_said() -> None:
    results = vt.coco(TRUTH, PRED, on="point")
    assert dict(results.signature)["max_distance"] == "10%"
    assert "10 % of the image's diagonal" in str(results)  # 50 px: two of three are found
    assert results["AR100000"].value == pytest.approx(2 / 3)
    assert results["AP"].value == pytest.approx(67 / 101)


def test_distances_relative_to_the_size_of_objects() -> None:
    """A box of 40 x 10 has the size 20: its centre (20, 5) is 10 away from (20, 15)."""
    truth = vt.Annotations.of(["a"], ["cell"], [[0, 0, 40, 10]])
    pred = vt.Annotations.of(["a"], ["cell"], [[20, 15, 20, 15]])
    assert vt.f1(truth, pred, on="point", max_distance="0.5size")["F1"].value == 1
    assert vt.f1(truth, pred, on="point", max_distance="0.49size")["F1"].value == 0


def test_distances_in_units_of_the_pixel_size() -> None:
    """Pixels of 0.5 µm: 5 px are 2.5 µm, 20 px are 10 µm."""
    results = vt.f1(TRUTH, PRED, on="point", max_distance=2.5, pixel_size=0.5)
    assert results.tallies[0].tp == 1
    assert results.distances is not None
    assert results.distances[0].mean == 2.5
    both = vt.f1(TRUTH, PRED, on="point", max_distance=10, pixel_size=0.5).distances
    assert both is not None
    assert both[0].to_dict() == pytest.approx({"mean": 6.25, "median": 6.25, "rms": sqrt(53.125), "matches": 2})


def test_thresholds_are_shares_of_twice_the_maximum_distance() -> None:
    """0.5 is d ≤ D, 0.75 is d ≤ D / 2: at D = 40 the distances 5, 20 and 60 give two and two matches."""
    results = vt.coco(TRUTH, PRED, on="point", max_distance=40, iou=[0.5, 0.75, 0.9])
    assert [results.outcomes(t).state.tolist() for t in (0.5, 0.75, 0.9)] == [[1, 1, 0], [1, 1, 0], [1, 0, 0]]


def test_the_point_of_a_pose_is_the_mean_of_its_labelled_keypoints() -> None:
    pose = {"keypoints": [0, 0, 0, 10, 20, 2, 30, 40, 1], "num_keypoints": 2, "bbox": [0, 0, 200, 200], "area": 1.0}
    truth = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 300, "height": 400}],
        "categories": [{"id": 1, "name": "person", "keypoints": ["x", "y", "z"]}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "iscrowd": 0, **pose}],
    }
    pred = [{"image_id": 1, "category_id": 1, "bbox": [19, 30, 2, 0], "score": 0.5}]  # centre (20, 30)
    results = vt.f1(truth, pred, on="point", max_distance=1)
    assert results.distances is not None
    assert (results["F1"].value, results.distances[0].mean) == (1, 0)


def test_a_point_inside_a_crowd_region_is_ignored() -> None:
    truth = vt.Annotations.of(["a", "a"], ["cell", "cell"], [[10, 10, 10, 10], [50, 50, 150, 150]], crowd=[0, 1])
    pred = points([("a", 10, 10), ("a", 140, 60), ("a", 151, 100)], [0.9, 0.8, 0.7])
    results = vt.coco(truth, pred, on="point", max_distance=5)
    assert results.outcomes(0.5).state.tolist() == [1, -1, 0]
    region = vt.Annotations.of(
        ["a", "a"], ["cell", "other"], [[10, 10, 10, 10], [50, 50, 150, 150]], ignore_region=[0, 1]
    )
    assert vt.coco(region, pred, on="point", max_distance=5, ignored="explicit").outcomes(0.5).state.tolist() == [
        1,
        -1,
        0,
    ]


@pytest.mark.parametrize("count", [3, 70])
def test_average_precision_equals_the_slow_one(count: int) -> None:
    """Below and above the number of points from which they are looked at through a window."""
    rng = np.random.default_rng(count)
    for distance in (5.0, 40.0):
        truth, pred = [], []
        for _ in range(4):
            own = rng.integers(0, 300, (count, 2)).astype(float)
            near = own[rng.random(count) < 0.8] + rng.integers(-15, 16, (1, 2))
            other = np.concatenate([near, rng.integers(0, 300, (3, 2)).astype(float)])
            truth.append([tuple(p) for p in own.tolist()])
            pred.append([(tuple(p), float(c)) for p, c in zip(other.tolist(), rng.random(len(other)), strict=True)])
        sides = []
        for side in (truth, [[p for p, _ in own] for own in pred]):
            rows = [(f"{i}", *p) for i, own in enumerate(side) for p in own]
            sides.append(([name for name, _, _ in rows], [[x, y, x, y] for _, x, y in rows]))
        confidence = [c for own in pred for _, c in own]
        results = vt.coco(
            vt.Annotations.of(sides[0][0], ["cell"] * len(sides[0][0]), sides[0][1]),
            vt.Annotations.of(sides[1][0], ["cell"] * len(sides[1][0]), sides[1][1], confidence=confidence),
            on="point", max_distance=distance, checks="off",
        )  # fmt: skip
        assert results["AP"].value == pytest.approx(average_precision(truth, pred, distance), abs=1e-12)


def test_f1_finds_as_many_matches_as_any_assignment() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        truth, pred = (rng.integers(0, 40, (int(rng.integers(1, 6)), 2)).astype(float) for _ in range(2))
        sides = [
            vt.Annotations.of(["a"] * len(side), ["cell"] * len(side), np.concatenate([side, side], axis=1))
            for side in (truth, pred)
        ]
        results = vt.f1(*sides, on="point", max_distance=15, checks="off")
        count, length = most_matches([tuple(p) for p in truth.tolist()], [tuple(p) for p in pred.tolist()], 15)
        assert results.distances is not None
        assert results.tallies[0].tp == count == results.distances[0].matches
        if count:
            assert results.distances[0].mean == pytest.approx(length / count)


def test_counts_of_points_per_image() -> None:
    """Image a has two predictions for one object, b none for two: errors +1 and −2."""
    truth = points([("a", 10, 10), ("b", 10, 10), ("b", 90, 90)])
    pred = points([("a", 10, 10), ("a", 90, 90)], images=["b"])
    counts = vt.f1(truth, pred, on="point", max_distance=5).count_errors(0)
    assert counts == {"mae": 1.5, "rmse": sqrt(2.5), "bias": -0.5}


def test_tables_with_x_and_y_are_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "truth.csv").write_text("image,label,x,y\na,cell,10,10\na,cell,50,50\n")
    (tmp_path / "pred.csv").write_text("image,label,x,y,score\na,cell,13,14,0.9\n")
    given = [str(tmp_path / "truth.csv"), str(tmp_path / "pred.csv"), "--on", "point"]
    assert run(["coco", *given, "--max-distance", "5", "--json"]) == 0
    out = capsys.readouterr()
    document = json.loads(out.out)
    assert document["distance"] == {"mean": 5.0, "median": 5.0, "rms": 5.0, "matches": 1}
    assert document["classes"]["cell"]["distance"] == 5.0
    assert "points" in " ".join(vt.read(tmp_path / "truth.csv").source.notes)
    assert run(["coco", *given]) == 1  # no image sizes for a tenth of the diagonal
    assert "--max-distance in pixels" in capsys.readouterr().err


def test_x_and_y_beside_other_columns_of_a_box_are_no_points(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("image,label,x,y,wdth,height\na,cell,10,10,5,5\n")
    with pytest.raises(vt.ReadError, match="width"):
        vt.read(tmp_path / "truth.csv")


@pytest.mark.parametrize("value", ["x", 0, -1, "5m", True, [5], "0%", float("nan"), float("inf")])
def test_a_wrong_distance_is_refused(value: Any) -> None:
    with pytest.raises(BadParameter, match="max_distance: expected a distance such as 20"):
        vt.coco(TRUTH, PRED, on="point", max_distance=value)


def test_a_distance_is_for_points_alone() -> None:
    for protocol in (vt.coco, vt.f1):
        with pytest.raises(BadParameter, match="on=point"):
            protocol(TRUTH, PRED, max_distance=5)
    with pytest.raises(DataError, match="an area"):
        vt.coco(TRUTH, PRED, on="point", max_distance="1size")


def test_analyses_leaderboards_and_pickles_know_the_distance() -> None:
    analysis = vt.analyse(TRUTH, PRED, on="point", max_distance=15, only=["errors"])
    assert analysis.results["AP"].value == pytest.approx(34 / 101)
    board = vt.leaderboard(TRUTH, {"one": PRED, "two": PRED}, on="point", max_distance=20, draws=10)
    assert "max_distance:20" in str(board.signature)
    again = pickle.loads(pickle.dumps(vt.coco(TRUTH, PRED, on="point", max_distance=20)))
    assert again["AP"].value == pytest.approx(67 / 101)


def test_nothing_predicted_has_no_distance() -> None:
    empty = points([], [], images=["a", "b"])
    results = vt.coco(TRUTH, empty, on="point", max_distance=5)
    assert results["AP"].value == 0
    assert results.distances is not None
    assert isnan(results.distances[0].mean)


@pytest.mark.parametrize("distance", ["10%", 12.3456789012, "0.7size"])
@pytest.mark.parametrize("protocol", ["coco", "f1"])
def test_partial_results_of_points_have_the_numbers_of_the_whole(protocol: str, distance: Any) -> None:
    sides = [
        replace(side, regions=Regions(side.regions.boxes + np.array([-5, -5, 5, 5]), "xyxy")) for side in (TRUTH, PRED)
    ]
    settings: dict[str, Any] = {"on": "point", "max_distance": distance, "checks": "off"}
    whole = getattr(vt, protocol)(*sides, **settings)
    part = vt.PartialResult.from_bytes(vt.partial(*sides, protocol, **settings).to_bytes())
    merged = part.compute()
    assert {key: score.value for key, score in merged.scores.items()} == pytest.approx(
        {key: score.value for key, score in whole.scores.items()}, abs=0, nan_ok=True
    )
    assert merged.signature == whole.signature
    assert part.compute().settings.max_distance == whole.settings.max_distance


def test_signatures_tell_distances_apart_that_differ_in_the_seventh_digit() -> None:
    said = [
        dict(vt.f1(TRUTH, PRED, on="point", max_distance=d).signature)["max_distance"] for d in (12.34567, 12.34568)
    ]
    assert said == ["12.34567", "12.34568"]


def test_what_to_do_is_said_as_an_argument_in_python_and_an_option_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DataError, match="give max_distance in pixels"):
        vt.coco(TRUTH, PRED, on="point", max_distance="0.5size")
    (tmp_path / "truth.csv").write_text("image,x,y,label\na,10,10,cell\n")
    (tmp_path / "pred.csv").write_text("image,x,y,label,score\na,10,10,cell,0.5\n")
    words = [
        "coco",
        str(tmp_path / "truth.csv"),
        str(tmp_path / "pred.csv"),
        "--on",
        "point",
        "--max-distance",
        "0.5size",
    ]
    assert run(words) == 1
    assert "give --max-distance in pixels" in capsys.readouterr().err
