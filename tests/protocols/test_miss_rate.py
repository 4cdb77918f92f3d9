"""Log-average miss rate against CityPersons' own evaluator, numbers by hand and a slow oracle."""

from __future__ import annotations

import json
from importlib.resources import files
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.oracles.miss_rate import log_average, match_image, miss_rates
from verite.cli import run
from verite.protocols.miss_rate import FPPI

# MR of `pedestrians(seed)`, from CityPersons' own eval_MR_multisetup.py; it prints 47.69 %, 48.35 % … of seed 1.
PUBLISHED = {
    (1, "reasonable"): 0.47685414853672886,
    (1, "small"): 0.48349665490470534,
    (1, "heavy"): 0.5218432667587828,
    (1, "citypersons-all"): 0.5285303956472083,
    (2, "reasonable"): 0.5074273877809048,
    (2, "small"): 0.34297866162543716,
    (2, "heavy"): 0.67502907780911,
    (2, "citypersons-all"): 0.6332034003863749,
}
DEMO = Path(str(files("verite") / "data" / "demo"))


def pedestrians(seed: int, images: int = 60) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Pedestrians of random height and visible share, and detections of them, as COCO JSON."""
    rng = np.random.default_rng(seed)
    truths: list[dict[str, Any]] = []
    preds: list[dict[str, Any]] = []

    def box(height: float) -> list[float]:
        return [round(float(v), 2) for v in (*rng.uniform(0, 1500, 2), 0.41 * height, height)]

    def predict(image: int, place: list[float], score: float) -> None:
        preds.append({"image_id": image, "category_id": 1, "bbox": place, "score": score})

    for image in range(1, images + 1):
        for _ in range(int(rng.poisson(6))):
            x, y, w, h = box(int(rng.integers(15, 160)))
            shown = int(rng.integers(2, 21)) / 20
            record = {"image_id": image, "category_id": 1, "bbox": [x, y, w, h], "vis_ratio": shown, "area": w * h}
            truths.append({"id": len(truths) + 1, **record, "ignore": int(rng.random() < 0.1), "iscrowd": 0})
            if rng.random() < 0.3 + 0.6 * shown:
                dx, dy, dw, dh = rng.normal(0, 0.07, 4)
                predict(image, [x + dx * w, y + dy * h, w * (1 + dw), h * (1 + dh)], float(rng.beta(4, 2)))
        for _ in range(int(rng.poisson(2))):
            predict(image, box(rng.uniform(20, 160)), float(rng.beta(2, 4)))
    sizes = [{"id": i, "width": 2000, "height": 1700} for i in range(1, images + 1)]
    return {"images": sizes, "categories": [{"id": 1, "name": "pedestrian"}], "annotations": truths}, preds


@pytest.mark.parametrize(("seed", "subset"), PUBLISHED)
def test_numbers_are_those_of_the_published_evaluator(seed: int, subset: str, tmp_path: Path) -> None:
    for name, document in zip(("truth", "pred"), pedestrians(seed), strict=True):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    truth = vt.read(tmp_path / "truth.json")
    found = vt.miss_rate(truth, vt.read(tmp_path / "pred.json", like=truth), subset=subset, checks="off")
    assert found["MR-2"].value == pytest.approx(PUBLISHED[seed, subset], abs=1e-14)


def test_nine_points_by_hand() -> None:
    """Ten images with one person each: five found, then a false positive (FPPI 0.1), two more, two false positives."""
    images = [f"{i}" for i in range(10)]
    boxes = [[0, 0, 20, 60]] * 10
    truth = vt.Annotations.of(images, ["person"] * 10, boxes)
    far = [100, 0, 120, 60]
    pred = vt.Annotations.of(
        [*images[:5], "9", *images[5:7], "9", "9"], ["person"] * 10,
        [*boxes[:5], far, *boxes[:2], [200, 0, 220, 60], [300, 0, 320, 60]],
        confidence=np.linspace(0.95, 0.05, 10).tolist(),
    )  # fmt: skip
    found = vt.miss_rate(truth, pred, checks="off")
    # FPPI 0 with a miss rate of 0.5, 0.1 with 0.3, 0.3 at the end.
    expected = [0.5] * 4 + [0.3] * 5
    assert found.curves["person"].at() == pytest.approx(expected)
    assert found["MR-2"].value == pytest.approx(exp(sum(map(log, expected)) / 9))
    assert FPPI[4] == pytest.approx(0.1)


def test_the_first_prediction_may_have_too_many_false_positives() -> None:
    truth = vt.Annotations.of(["a"], ["person"], [[0, 0, 20, 60]])
    pred = vt.Annotations.of(["a"] * 2, ["person"] * 2, [[90, 0, 110, 60], [0, 0, 20, 60]], confidence=[0.9, 0.8])
    # One image: FPPI 1 from the first prediction on, so that only the last point has the person.
    found = vt.miss_rate(truth, pred, checks="off")
    assert found.curves["person"].at().tolist() == [1.0] * 8 + [0.0]


def random_boxes(rng: np.random.Generator, count: int) -> Any:
    corners = rng.integers(0, 200, (count, 2)).astype(float)
    return np.concatenate([corners, corners + rng.integers(20, 120, (count, 2))], axis=1)


def test_random_sets_have_the_miss_rates_of_the_oracle() -> None:
    rng = np.random.default_rng(3)
    for seed in range(40):
        low, high = (50.0, 75.0) if seed % 2 else (50.0, float("inf"))
        images, rows, found, total = int(rng.integers(2, 12)), ([], [], []), [], 0
        preds: tuple[list[Any], ...] = ([], [], [])
        for i in range(images):
            truths = random_boxes(rng, int(rng.integers(0, 6)))
            ignore = rng.random(len(truths)) < 0.2
            moved = truths[rng.random(len(truths)) < 0.7] + rng.normal(0, 4, 4)
            boxes = np.concatenate([moved, random_boxes(rng, int(rng.integers(0, 3)))])
            scores = rng.permutation(10_000)[: len(boxes)] / 10_000 + i * 1e-7
            order = np.argsort(-scores)
            boxes, scores = boxes[order], scores[order]
            for column, values in zip(rows, ([f"{i}"] * len(truths), truths.tolist(), ignore.tolist()), strict=True):
                column.extend(values)  # type: ignore[attr-defined]
            for column, values in zip(preds, ([f"{i}"] * len(boxes), boxes.tolist(), scores.tolist()), strict=True):
                column.extend(values)
            heights = truths[:, 3] - truths[:, 1]
            outside = ignore | (heights < low) | (heights > high)
            total += int((~outside).sum())
            tall = boxes[:, 3] - boxes[:, 1]
            kept = (tall >= low / 1.25) & (tall < high * 1.25)
            letters = match_image(list(zip(truths.tolist(), outside.tolist(), strict=True)), boxes[kept].tolist(), 0.5)
            found += list(zip(scores[kept].tolist(), letters, strict=True))
        if not total:
            continue
        names = [f"{i}" for i in range(images)]
        truth = vt.Annotations.of(rows[0], ["person"] * len(rows[0]), rows[1], ignore=rows[2], images=names)
        pred = vt.Annotations.of(preds[0], ["person"] * len(preds[0]), preds[1], confidence=preds[2], images=names)
        subset = "height:50-75" if seed % 2 else "height:50-"
        ours = vt.miss_rate(truth, pred, subset=subset, checks="off")
        expected = miss_rates(found, total, images)
        assert ours.curves["person"].at() == pytest.approx(expected, abs=1e-12)
        assert ours["MR-2"].value == pytest.approx(log_average(expected), abs=1e-12)


def citypersons(folder: Path, with_visibility: bool = True) -> tuple[str, str]:
    """Three persons: tall and visible, tall and hidden, small; the first and the second are found."""
    boxes, shares = [[0, 0, 20, 60], [100, 0, 20, 60], [200, 0, 20, 30]], [1.0, 0.4, 1.0]
    annotations = [
        {"id": i, "image_id": 1, "category_id": 1, "bbox": box, "area": box[2] * box[3], "iscrowd": 0}
        | ({"vis_ratio": share} if with_visibility else {})
        for i, (box, share) in enumerate(zip(boxes, shares, strict=True), start=1)
    ]
    truth = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 400, "height": 100}],
        "categories": [{"id": 1, "name": "pedestrian"}],
        "annotations": annotations,
    }
    pred = [{"image_id": 1, "category_id": 1, "bbox": box, "score": 0.9 - i / 10} for i, box in enumerate(boxes[:2])]
    for name, document in (("truth", truth), ("pred", pred)):
        (folder / f"{name}.json").write_text(json.dumps(document))
    return str(folder / "truth.json"), str(folder / "pred.json")


@pytest.mark.parametrize(
    ("subset", "expected"),
    [("all", 1 / 3), ("reasonable", 0.0), ("heavy", 0.0), ("height:-40", 1.0), ("citypersons-all", 1 / 3)],
)
def test_subsets_by_height_and_visible_share(tmp_path: Path, subset: str, expected: float) -> None:
    found = vt.miss_rate(*citypersons(tmp_path), subset=subset, checks="off")
    assert found["MR-2"].value == pytest.approx(expected)


def test_visible_shares_may_be_given_and_must_be_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = citypersons(tmp_path, with_visibility=False)
    given = vt.miss_rate(*sides, subset="reasonable", visibility=[1.0, 0.4, 1.0], checks="off")
    assert given["MR-2"].value == 0
    assert run(["miss-rate", *sides, "--subset", "reasonable", "-q"]) == 1
    said = capsys.readouterr().err
    assert "vis_ratio" in said
    assert len(said.strip().splitlines()) == 1
    assert run(["miss-rate", *sides, "--subset", "sensible", "-q"]) != 0
    assert "reasonable" in capsys.readouterr().err


def test_without_predictions_everything_is_missed() -> None:
    box = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 40, 80], "area": 3200, "iscrowd": 0}
    truth = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
        "categories": [{"id": 1, "name": "person"}],
        "annotations": [box],
    }
    results = vt.miss_rate(truth, [], checks="off")
    assert results["MR-2"] == 1.0
    assert results.draw_scores(["MR-2"], np.ones((2, 1))).tolist() == [[1.0], [1.0]]


def test_bootstrap_of_all_images_once_is_the_value() -> None:
    from tests.protocols.scenes import random_sides

    found = vt.miss_rate(*random_sides(7), checks="off")
    weights = np.ones((1, len(found.truth.images)))
    assert found.draw_scores(["MR-2"], weights)[0, 0] == pytest.approx(found["MR-2"].value)


def test_the_plot_has_a_step_per_confidence_and_a_dot_per_fppi() -> None:
    # One of two objects at 0.9, a false positive at 0.5, the other object at 0.4; on ten images.
    names = [f"{i}" for i in range(10)]
    truth = vt.Annotations.of(["0", "1"], ["person"] * 2, [[0, 0, 20, 60]] * 2, images=names)
    boxes = [[0, 0, 20, 60], [100, 0, 120, 60], [0, 0, 20, 60]]
    pred = vt.Annotations.of(["0", "0", "1"], ["person"] * 3, boxes, confidence=[0.9, 0.5, 0.4], images=names)
    results = vt.miss_rate(truth, pred)
    axes = vt.plot(results, "miss-rate")
    line, dots = axes.lines
    assert line.get_ydata()[:3].tolist() == [1, 0.5, 0.5]
    assert line.get_xdata()[2:4].tolist() == [0.1, 0.1]
    assert dots.get_xdata() == pytest.approx([10 ** (-2 + i / 4) for i in range(9)])
    # Below an FPPI of 0.1 half of the objects are missed, from there on none: drawn at the lower end of the axis.
    assert dots.get_ydata()[:4].tolist() == [0.5] * 4
    assert dots.get_ydata()[4:].tolist() == [axes.get_ylim()[0]] * 5
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [f"person {results['MR-2'].value:.3f}"]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_plots_are_saved_with_the_results(tmp_path: Path) -> None:
    saved = {"miss-rate": "miss-rate.svg", "kitti": "pr.svg", "wider": "pr.svg", "oc-cost": "costs.svg"}
    for verb, name in (saved | {"instances": "thresholds.svg"}).items():
        words = [verb, str(DEMO / "truth.json"), str(DEMO / "hawk.json"), "-q", "-o"]
        assert run([*words, str(tmp_path / verb), "--plot-format", "svg"]) == 0
        assert (tmp_path / verb / name).read_text().count("<path") > 10
        assert run([*words, str(tmp_path / "none" / verb), "--no-plot"]) == 0
        assert not list((tmp_path / "none" / verb).glob("*.png"))


def test_analysis_and_report_have_the_value_of_all_classes(tmp_path: Path) -> None:
    truth = vt.read(DEMO / "truth.json")
    results = vt.coco(truth, DEMO / "hawk.json")
    value = results.analyse().operating.lamr
    assert f"Log-average miss rate (MR⁻²) of all classes together {value:.3f}" in str(results.analyse().operating)
    vt.report(truth, {"hawk": DEMO / "hawk.json"}, tmp_path / "r.html")
    assert f"Log-average miss rate (MR⁻²) of all classes together: {value:.3f}." in (tmp_path / "r.html").read_text()
