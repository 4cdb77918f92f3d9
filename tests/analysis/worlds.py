"""Small data sets for tests of the analysis, in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import verite as vt

QUIRKS = Path(__file__).parent.parent / "data" / "quirks"  # the smallest cases in which other tools differ
TIDE_TYPES = {"Cls": "class", "Loc": "localization", "Both": "both", "Dupe": "duplicate", "Bkg": "background",
              "Miss": "missed"}  # fmt: skip


def write_pair(folder: Path, truth: Any, results: Any) -> tuple[str, str]:
    """Two COCO files."""
    paths = folder / "truth.json", folder / "pred.json"
    for path, document in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(document))
    return str(paths[0]), str(paths[1])


def sides(truth: Any, results: Any, folder: Path) -> tuple[vt.Annotations, vt.Annotations]:
    """The same as annotations."""
    known = vt.read(write_pair(folder, truth, results)[0])
    return known, vt.read(str(folder / "pred.json"), like=known)


def scene(
    truths: list[tuple[str, list[float]]], preds: list[tuple[str, float, list[float]]]
) -> tuple[vt.Annotations, vt.Annotations]:
    """One image; boxes are left, top, width, height."""
    sizes = {"i": (100, 100)}
    truth = vt.Annotations.of(["i"] * len(truths), [t for t, _ in truths], [b for _, b in truths], "xywh", sizes=sizes)
    pred = vt.Annotations.of(
        ["i"] * len(preds), [p for p, _, _ in preds], [b for _, _, b in preds], "xywh",
        confidence=[c for _, c, _ in preds], sizes=sizes,
    )  # fmt: skip
    return truth, pred


# One error of each type, and two truths that are missed.
SIX = scene(
    [
        ("a", [0, 0, 10, 10]),
        ("a", [20, 0, 10, 10]),
        ("a", [40, 0, 10, 10]),
        ("a", [60, 0, 10, 10]),
        ("b", [80, 0, 10, 10]),
    ],
    [
        ("a", 0.9, [0, 0, 10, 10]),
        ("a", 0.8, [0, 1, 10, 10]),
        ("a", 0.7, [0, 50, 10, 10]),
        ("a", 0.6, [25, 0, 10, 10]),
        ("a", 0.5, [80, 0, 10, 10]),
        ("b", 0.4, [45, 0, 10, 10]),
    ],
)


def analyse_case(name: str, **settings: Any) -> Any:
    truth = vt.read(QUIRKS / name / "truth.json")
    pred = vt.read(QUIRKS / name / "results.json", like=truth)
    return vt.analyse(truth, pred, iou=0.5, checks="off", confidence=0.0, **settings)


def analyse_by_tidecv(name: str) -> Any:
    tidecv = pytest.importorskip("tidecv", reason="tidecv is in the group 'peers'")
    truth, results = (json.loads((QUIRKS / name / f"{side}.json").read_text()) for side in ("truth", "results"))
    data, preds = tidecv.Data("truth"), tidecv.Data("pred")
    for image in truth["images"]:
        data.add_image(image["id"], image["file_name"])
    for a in truth["annotations"]:
        add = data.add_ignore_region if a["iscrowd"] else data.add_ground_truth
        add(a["image_id"], a["category_id"], a["bbox"])
    for d in results:
        preds.add_detection(d["image_id"], d["category_id"], d["score"], d["bbox"])
    run = tidecv.TIDE().evaluate(data, preds, pos_threshold=0.5, background_threshold=0.1, mode=tidecv.TIDE.BOX)
    counts = {TIDE_TYPES[kind.short_name]: len(errors) for kind, errors in run.error_dict.items()}
    return run.ap / 100, counts, {TIDE_TYPES[kind.short_name]: v / 100 for kind, v in run.fix_main_errors().items()}


def evaluate_by_hotcoco(name: str) -> Any:
    hotcoco = pytest.importorskip("hotcoco", reason="hotcoco is in the group 'peers'")
    truth = hotcoco.COCO(str(QUIRKS / name / "truth.json"))
    run = hotcoco.COCOeval(truth, truth.load_res(str(QUIRKS / name / "results.json")), "bbox")
    run.evaluate()
    run.accumulate()
    return run
