"""verite localize and verite metrics, as people type them."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from tests.cli.test_command_line import complaint, typed  # noqa: F401
from verite.metrics.catalogue import records

DEMO = Path(str(files("verite") / "data" / "demo"))
TRUTH, HAWK, MOLE = (str(DEMO / f"{name}.json") for name in ("truth", "hawk", "mole"))
EXAMPLE = Path(str(files("verite") / "data" / "example"))


def test_a_table_of_metrics_says_which_way_is_better(typed):  # noqa: F811
    status, out, _ = typed("localize", TRUTH, HAWK, "-m", "iou", "-m", "fom", "--quiet")
    assert status == 0
    assert "matched" in out
    assert "the missed and spurious are counted, not in the means" in out
    lines = {line.split()[0]: line for line in out.splitlines() if line}
    assert "higher" in lines["iou"]
    assert "lower" in lines["figure_of_merit"]
    assert "localize|metrics:iou,figure_of_merit|" in out


def test_json_has_the_documented_keys_and_nothing_else_is_printed(typed):  # noqa: F811
    status, out, err = typed("localize", TRUTH, HAWK, "-m", "hausdorff(quantile=0.95)", "--json")
    document = json.loads(out)
    assert (status, err) == (0, "")
    assert set(document["metrics"]["hausdorff(quantile=0.95)"]) >= {"mean", "median", "count"}
    assert "hausdorff|on:contour|quantile:0.95|" in document["signatures"]["hausdorff(quantile=0.95)"]
    assert document["objects"][0]["state"] == "matched"


def test_all_gives_every_metric(typed):  # noqa: F811
    _, out, _ = typed("localize", TRUTH, HAWK, "--all", "--json")
    assert set(json.loads(out)["metrics"]) == set(records())


def test_all_without_image_sizes_gives_what_boxes_allow_and_with_a_size_everything(typed):  # noqa: F811
    truth, pred = EXAMPLE / "truth", EXAMPLE / "pred"
    _, out, _ = typed("localize", truth, pred, "--all", "--json", "-t", "0.3")
    few = set(json.loads(out)["metrics"])
    assert {"iou", "giou", "robin_loc"} <= few
    assert "gce" not in few
    _, out, _ = typed("localize", truth, pred, "--all", "--json", "-t", "0.3", "--image-size", "400,400")
    assert set(json.loads(out)["metrics"]) == set(records())


def test_several_systems_are_compared(typed):  # noqa: F811
    status, out, _ = typed("localize", TRUTH, HAWK, MOLE, "-m", "iou", "-m", "gce", "-q")
    assert status == 0
    assert "hawk" in out
    assert "mole" in out
    assert "difference" in out


@pytest.mark.thorough
def test_output_folder_has_documents_tables_and_plots(typed, tmp_path):  # noqa: F811
    folder = tmp_path / "out"
    status, _, _ = typed("localize", TRUTH, HAWK, "-m", "iou", "-m", "hausdorff", "-o", folder, "--object", "2", "-q")
    assert status == 0
    assert sorted(p.name for p in folder.iterdir()) == [
        "cases.csv", "classes.csv", "distributions.png", "metrics.csv", "object-2.png", "objects.csv", "results.json",
        "worst-hausdorff.png", "worst-iou.png",
    ]  # fmt: skip
    assert (
        (folder / "objects.csv").read_text().startswith("image,class,state,truth,pred,confidence,overlap,iou,hausdorff")
    )


def test_a_metric_of_ones_own_by_its_path(typed, tmp_path, monkeypatch):  # noqa: F811
    (tmp_path / "own_metric.py").write_text("def widths(p):\n    return p.pred_box[:, 2] - p.pred_box[:, 0]\n")
    monkeypatch.chdir(tmp_path)  # the folder at hand is looked into, as a person expects
    monkeypatch.setattr("sys.path", list(sys.path))
    status, out, _ = typed("localize", TRUTH, HAWK, "-m", "own_metric:widths", "--json")
    assert status == 0
    assert json.loads(out)["metrics"]["own_metric:widths"]["mean"] > 0
    sys.modules.pop("own_metric")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["-m", "hausdorf"], 2, "did you mean 'hausdorff'?"),
        (["-m", "hausdorff(quantile=2)"], 2, "expected quantile in (0, 1], found 2"),
        ([], 2, "expected -m METRIC or --all"),
        (["-m", "iou", "-t", "2"], 2, "expected a number from 0 to 1"),
        (["-m", "iou", "--unmatched", "punish"], 2, "--unmatched"),
        (["-m", "iou", "--class", "boot"], 2, "did you mean 'boat'?"),
        (["-m", "iou", "--object", "3"], 2, "expected --output FOLDER"),
    ],
)
def test_a_wrong_command_is_one_line(typed, words, status, said):  # noqa: F811
    found, out, err = typed("localize", TRUTH, HAWK, "-q", *words)
    assert (found, out) == (status, "")
    assert said in complaint(err)


def test_an_object_that_is_not_there_is_one_line(typed, tmp_path):  # noqa: F811
    status, _, err = typed("localize", TRUTH, HAWK, "-m", "iou", "-q", "-o", tmp_path / "o", "--object", "99999")
    assert status == 2
    assert "expected a number from 0 to" in complaint(err)


def test_pixels_without_image_sizes_are_one_line(typed):  # noqa: F811
    status, out, err = typed("localize", EXAMPLE / "truth", EXAMPLE / "pred", "-m", "gce", "-q", "-t", "0.3")
    assert (status, out) == (1, "")
    assert "gce: expected the size of the image" in complaint(err)
    assert "--image-size WIDTH,HEIGHT" in err


def test_missing_and_empty_files_are_one_line(typed, tmp_path):  # noqa: F811
    status, _, err = typed("localize", tmp_path / "nothing.json", HAWK, "-m", "iou", "-q")
    assert status == 1
    assert "nothing.json" in complaint(err)
    (tmp_path / "empty.json").write_text("")
    status, _, err = typed("localize", TRUTH, tmp_path / "empty.json", "-m", "iou", "-q")
    assert status == 1
    assert "empty.json" in complaint(err)


def test_no_predictions_at_all_are_all_missed(typed, tmp_path):  # noqa: F811
    (tmp_path / "none.json").write_text("[]")
    status, out, _ = typed("localize", TRUTH, tmp_path / "none.json", "-m", "iou", "--json", "--checks", "off")
    document = json.loads(out)
    assert (status, document["matched"], document["spurious"]) == (0, 0, 0)
    assert document["missed"] > 200
    assert document["metrics"]["iou"]["mean"] is None


def test_the_catalogue_lists_every_metric_with_its_direction(typed):  # noqa: F811
    _, out, _ = typed("metrics")
    for name in [*records(), "voc_ap"]:
        assert f"  {name} " in out
    assert "verite metrics NAME" in out


def test_a_card_by_any_name_with_parameters(typed):  # noqa: F811
    _, out, _ = typed("metrics", "MARgce")
    assert out.startswith("gce: Global consistency error")
    assert "Martin, Fowlkes, Tal, Malik" in out
    _, out, _ = typed("metrics", "hd95")
    assert out.startswith("hausdorff(quantile=0.95): ")
    assert "hausdorff|on:contour|quantile:0.95" in out


def test_the_catalogue_as_json(typed):  # noqa: F811
    _, out, _ = typed("metrics", "--json")
    cards = json.loads(out)["metrics"]
    assert cards["hausdorff"]["bounds"] == [0, None]  # without bound
    assert cards["hausdorff"]["symmetric"] is True
    assert cards["gce"]["better"] == "lower"
    _, out, _ = typed("metrics", "iou", "--json")
    assert json.loads(out)["best"] == 1


@pytest.mark.parametrize("name", ["AP", "mAP", "coco_ap"])
def test_average_precision_has_a_card(typed, name):  # noqa: F811
    status, out, _ = typed("metrics", name)
    assert status == 0
    assert out.startswith("coco_ap: Average precision")
    assert "verite coco" in out
