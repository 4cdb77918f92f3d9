"""The analysis by the rules of LVIS and Open Images: costs add up to their numbers, and what is set aside is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.protocols.test_lvis import federated, written
from tests.protocols.test_openimages import TREE, both, random_set
from verite.cli import run
from verite.evaluation.evaluation import TRUE_POSITIVE

GROUP = vt.Annotations.of(
    ["i", "i", "j"], ["cat", "cat", "dog"], [[0, 0, 40, 40], [60, 60, 80, 80], [0, 0, 10, 10]],
    group_of=[True, False, False],
)  # fmt: skip
# Two in the group, the better one of which finds it; one right; one on a class that nobody looked for; one wrong.
FOUND = vt.Annotations.of(
    ["i", "i", "i", "i", "j"], ["cat", "cat", "cat", "dog", "dog"],
    [[0, 0, 10, 10], [20, 20, 30, 30], [60, 60, 80, 80], [0, 0, 9, 9], [50, 50, 60, 60]],
    confidence=[0.9, 0.8, 0.7, 0.6, 0.5],
)  # fmt: skip


def lvis_results(seed: int, folder: Path, **settings: Any) -> Any:
    paths = written(folder, *federated(seed))
    truth = vt.read(paths[0], format="lvis")
    return vt.lvis(truth, vt.read(paths[1], like=truth), checks="off", **settings)


@pytest.mark.parametrize("seed", range(12))
def test_costs_add_up_to_what_is_missing_from_lviss_number(seed: int, tmp_path: Path) -> None:
    results = lvis_results(seed, tmp_path)
    found = results.analyse()
    if np.isnan(results["AP"].value):
        assert all(np.isnan(cost) for cost in found.errors.cost.values())
        return
    assert found.errors.base == results["AP"].value
    assert sum(found.errors.cost.values()) == pytest.approx(1 - results["AP"].value, abs=1e-12)
    by_class = dict(zip(results.class_names, results.class_scores()["AP"], strict=True))
    for k in found.matches.present:
        assert found.errors.label_cost[k].sum() == pytest.approx(1 - by_class[found.matches.names[k]], abs=1e-12)


def test_predictions_that_lvis_does_not_evaluate_are_ignored_with_their_reason(tmp_path: Path) -> None:
    """Of three predictions without a truth one is of a class known to be absent, one of a class that not every object
    is marked of, and one of a class nobody looked for.
    """
    truth = {
        "images": [{"id": 1, "width": 99, "height": 99, "file_name": "1.jpg", "neg_category_ids": [2],
                    "not_exhaustive_category_ids": [1]}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10], "area": 100}],
        "categories": [{"id": c, "name": n, "frequency": "f", "synset": n} for c, n in ((1, "a"), (2, "b"), (3, "c"))],
    }  # fmt: skip
    results = [{"image_id": 1, "category_id": c, "bbox": [50, 50, 9, 9], "score": 0.5} for c in (1, 2, 3)]
    paths = written(tmp_path, truth, results)
    known = vt.read(paths[0], format="lvis")
    found = vt.analyse(known, vt.read(paths[1], like=known), protocol="lvis", checks="off")
    assert found.errors.counts == dict.fromkeys(found.errors.counts, 0) | {"background": 1, "missed": 1}
    assert found.to_dict()["set_aside_reasons"] == {"spared": 1, "unjudged": 1}
    for part in found.parts.values():
        assert "2 predictions are ignored: 1 in images that are not fully annotated" in str(part)
        assert "1 of a class that was not verified" in str(part)


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("block", range(4))
def test_costs_add_up_to_what_is_missing_from_open_images_number(block: int, weight: float) -> None:
    """With groups, ties, verified classes and a hierarchy, at two thresholds, against the protocol's own AP."""
    rng = np.random.default_rng([18, block])
    compared = 0
    for _ in range(12):
        images, truths, preds, verified = random_set(rng)
        truth, pred = both(truths, preds, images, verified)
        tree = TREE if rng.random() < 0.5 else None
        results = vt.openimages(
            truth, pred, group_of_weight=weight, iou=[0.5, 0.25], hierarchy=tree, checks="off"
        )  # fmt: skip
        found = results.analyse()
        expected = np.mean([results.ap_values(t) for t in range(2)], axis=0)
        present = found.matches.present.tolist()
        assert present == np.flatnonzero(~np.isnan(expected)).tolist()
        assert found.errors.label_base[present] == pytest.approx(expected[present], abs=1e-12)
        assert found.errors.label_cost[present].sum(axis=1) == pytest.approx(1 - expected[present], abs=1e-12)
        assert found.errors.label_cost[present].min(initial=0) >= 0
        finds = results.matches(0.5)
        assert found.operating.micro.tp.max(initial=0) == (finds.matched_pred >= 0).sum()
        assert found.matches.counted_truth.tolist() == finds.counted_truth.tolist()
        compared += len(present)
    assert compared > 15


@pytest.mark.parametrize("block", range(2))
def test_masks_of_open_images_are_analysed(block: int) -> None:
    rng = np.random.default_rng([19, block])
    compared = 0
    for _ in range(12):
        images, truths, preds, verified = random_set(rng, has_masks=True)
        if all(t.mask is None for t in truths):
            continue
        results = vt.openimages(*both(truths, preds, images, verified, has_masks=True), on="mask", checks="off")
        errors = results.analyse().errors
        if not np.isnan(results["mAP"].value):
            assert sum(errors.cost.values()) == pytest.approx(1 - results["mAP"].value, abs=1e-12)
            compared += 1
    assert compared > 5


def test_a_group_is_matched_by_its_best_prediction_and_the_others_are_ignored() -> None:
    """By hand: cat 2 of 2 found, AP 1; dog: its only one is missed, with a wrong prediction beside, AP 0."""
    found = vt.analyse(GROUP, FOUND, protocol="openimages", checks="off")
    assert found.errors.base == 0.5
    assert found.errors.cost == pytest.approx(
        dict.fromkeys(found.errors.cost, 0) | {"missed": 0.25, "background": 0.25}
    )
    assert found.to_dict()["set_aside_reasons"] == {"group_of": 1, "unjudged": 1}
    state = found.matches.outcomes.state
    assert (state == TRUE_POSITIVE).tolist() == [True, False, True, False, False]
    told = found.to_dict()
    assert told["operating"]["classes"]["cat"]["tp"] == 2
    assert told["confusion"]["matrix"] == [[2, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert str(found)


def test_where_groups_have_no_weight_all_predictions_on_them_are_ignored() -> None:
    found = vt.openimages(GROUP, FOUND, metric="v2", unverified="drop", checks="off").analyse()
    assert found.to_dict()["set_aside_reasons"] == {"group_of": 2, "unjudged": 1}
    assert found.matches.truth_counts.tolist() == [1, 1]


def test_a_group_that_is_worth_a_part_of_an_object_cannot_be_analysed() -> None:
    results = vt.openimages(GROUP, FOUND, group_of_weight=0.25, checks="off")
    with pytest.raises(vt.BadParameter, match="group_of_weight: expected 0 or 1"):
        results.analyse().errors  # noqa: B018


def test_slices_of_open_images_leave_out_what_is_outside() -> None:
    """Sizes: the group is medium (1600), the others small. Small: 2 to find; cat found, AP 1, dog 0. Medium: the group
    alone, found; wrong predictions are small and count for nothing there: 1.
    """
    found = vt.analyse(GROUP, FOUND, protocol="openimages", slice="size", checks="off").slices
    rows = {one["bin"]: one for one in found.rows}
    assert [rows[name]["truths"] for name in ("small", "medium", "large")] == [2, 1, 0]
    assert rows["small"]["AP"] == 0.5
    assert rows["medium"]["AP"] == 1.0
    assert np.isnan(rows["large"]["AP"])


@pytest.fixture(scope="module")
def open_images(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Files as the challenge has them."""
    folder = tmp_path_factory.mktemp("openimages")
    boxes = ["ImageID,LabelName,XMin,XMax,YMin,YMax,IsGroupOf"]
    preds = ["ImageID,LabelName,Score,XMin,XMax,YMin,YMax"]
    labels = ["ImageID,LabelName,Confidence"]
    for i in range(12):
        boxes += [f"i{i},/m/cat,0.1,0.4,0.1,0.4,{int(i == 3)}", f"i{i},/m/dog,0.5,0.9,0.5,0.9,0"]
        preds += [f"i{i},/m/cat,{0.9 - i / 20},0.1,{0.4 + i / 40},0.1,0.4", f"i{i},/m/dog,0.{i + 10},0.5,0.7,0.5,0.9"]
        preds += [f"i{i},/m/emu,0.5,0.1,0.2,0.1,0.2"]
        labels += [f"i{i},/m/cat,1", f"i{i},/m/dog,1", *([f"i{i},/m/emu,0"] if i < 5 else [])]
    paths = [folder / name for name in ("boxes.csv", "preds.csv", "labels.csv", "tree.json", "names.csv")]
    tree = {"LabelName": "/m/all", "Subcategory": [{"LabelName": f"/m/{n}"} for n in ("cat", "dog", "emu")]}
    texts = ["\n".join(rows) + "\n" for rows in (boxes, preds, labels)]
    texts += [json.dumps(tree), "/m/cat,Cat\n/m/dog,Dog\n/m/emu,Emu\n"]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return [str(path) for path in paths]


@pytest.mark.thorough
def test_open_images_files_are_analysed_by_the_same_rules_as_they_are_evaluated(
    open_images: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    truth, pred, labels, _, names = open_images
    given = ["--image-labels", labels, "--descriptions", names, "--quiet", "--json"]
    assert run(["openimages", truth, pred, *given]) == 0
    expected = json.loads(capsys.readouterr().out)
    kept = tmp_path / "kept"
    assert run(["analyse", truth, pred, "--protocol", "openimages", *given, "-o", str(kept)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["errors"]["AP"] == expected["mAP"]
    assert found["signature"] == expected["signature"]
    assert {name: one["AP"] for name, one in found["errors"]["classes"].items()} == {
        name: one["AP"] for name, one in expected["classes"].items() if one["truths"] or one["fp"]
    }
    assert sum(found["errors"]["cost"].values()) == pytest.approx(1 - expected["mAP"], abs=1e-12)
    assert found["set_aside_reasons"] == {"unjudged": 7}
    assert {"analysis.json", "thresholds.json", "errors.png", "froc.png"} <= {path.name for path in kept.iterdir()}


def test_settings_of_another_protocol_are_refused(open_images: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    truth, pred, labels, *_ = open_images
    assert run(["analyse", truth, pred, "--protocol", "voc", "--image-labels", labels]) == 2
    assert "--image-labels: expected nothing with voc" in capsys.readouterr().err


@pytest.mark.parametrize("protocol", ["lvis", "openimages"])
def test_thresholds_of_the_analysis_are_floors_of_the_protocols_verb(
    protocol: str, open_images: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is counted from the floors on is what the operating points said."""
    if protocol == "lvis":
        files = [str(path) for path in written(tmp_path, *federated(3))]
        more = ["--checks", "off", "--truth-format", "lvis"]
    else:
        files, more = open_images[:2], ["--image-labels", open_images[2]]
    kept = tmp_path / "kept"
    assert run(["analyse", *files, "--protocol", protocol, *more, "-o", str(kept), "--no-plot", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["operating"]["classes"]
    floors = kept / "thresholds.json"
    assert json.loads(floors.read_text())
    truth = vt.read(files[0], format="lvis") if protocol == "lvis" else vt.read(files[0])
    settings = {} if protocol == "lvis" else {"image_labels": open_images[2]}
    cut = getattr(vt, protocol)(truth, vt.read(files[1], like=truth), confidence=str(floors), checks="off", **settings)
    found = cut.matches(0.5)
    names = cut.truth.labels.all_names
    right = np.bincount(cut.truth.label[found.matched_pred >= 0], minlength=len(names))
    for name, floor in json.loads(floors.read_text()).items():
        assert told[name]["confidence"] == floor
        assert right[names.index(name)] == told[name]["tp"]
    assert run([protocol, *files, *more, "--confidence", str(floors), "--json"]) == 0
    assert "confidence:by label" in json.loads(capsys.readouterr().out)["signature"]


def test_finds_is_the_earlier_name_of_matches(tmp_path: Path) -> None:
    results = vt.coco(GROUP, FOUND, iou=0.5, checks="off")
    with pytest.warns(DeprecationWarning, match="finds is now called matches"):
        earlier = results.finds()
    assert earlier.matched_pred.tolist() == results.matches().matched_pred.tolist() == [-1, 2, -1]
