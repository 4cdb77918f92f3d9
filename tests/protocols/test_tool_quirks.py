"""Do the quirks of a tool give the tool's own numbers? Against what the tools said, written down in tests/data.

Obtained by `python -m tests.compat.tools_beside tests/data/tools.json`, which has the versions; `make clients` asks the
installed ones again. Ultralytics is AGPL: it was run, nothing of it is here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.oracles.tool_sets import SEEDS, tool_set
from verite.analysis.reconcile_search import TOOLS, Convention
from verite.protocols import protocol_named

SAID = json.loads((Path(__file__).parent.parent / "data" / "tools.json").read_text())
# torchmetrics computes in single precision, and supervision adds a trifle to what it divides by.
TOLERANCES = {"torchmetrics": 2e-7, "supervision": 2e-6}
WAYS = {
    "pycocotools": ("pycocotools", 0),
    "mmdetection": ("mmdetection", 0),
    "torchmetrics": ("torchmetrics", 0),
    "supervision": ("supervision", 0),
    "ultralytics": ("ultralytics", 0),
    "ultralytics-8.4.37": ("ultralytics", 1),
    "ultralytics-8.3": ("ultralytics", 2),
    "detectron2-voc": ("detectron-voc", 0),
    "detectron2-voc2007": ("detectron-voc", 1),
}


def sides(seed: int, said: str, folder: Path) -> tuple[vt.Annotations, vt.Annotations]:
    truth, found = tool_set(seed)
    if said.startswith("detectron2-voc"):  # files of Pascal VOC: corners that are whole numbers, difficult objects
        truth["annotations"] = [as_in_voc(record) for record in truth["annotations"]]
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "found.json").write_text(json.dumps(found))
    known = vt.read(folder / "truth.json")
    return known, vt.read(folder / "found.json", like=known)


def as_in_voc(record: dict[str, Any]) -> dict[str, Any]:
    x, y, w, h = record["bbox"]
    left, top, right, bottom = int(x), int(y), int(x + w), int(y + h)
    return record | {"bbox": [left, top, right - left, bottom - top]}


def ours(way: Convention, known: vt.Annotations, found: vt.Annotations) -> dict[str, float]:
    """Scores of one of a tool's ways, under the names that several protocols share, and AP of each class."""
    results = protocol_named(way.protocol)(known, found, checks="off", **way.changes)
    values = {key: score.value for key, score in results.scores.items()}
    shared = {"mAP@0.50:0.95": "AP", "mAP@0.50": "AP50", "mAP@0.75": "AP75"}
    by_class = results.class_scores()
    first = by_class.get("AP", by_class.get("mAP@0.50:0.95", []))
    classes = {f"AP/{name}": value for name, value in zip(results.class_names, first, strict=True)}
    return {shared.get(key, key): value for key, value in values.items()} | classes


def translate_core_errors(tool: str, name: str) -> str:
    score, _, label = name.partition("/")
    return "/".join([TOOLS[tool].scores.get(score, score), *([label] if label else [])])


@pytest.mark.parametrize("said", WAYS)
def test_quirks_give_what_the_tool_said(said: str, tmp_path: Path) -> None:
    tool, place = WAYS[said]
    way = TOOLS[tool].conventions[place]
    compared = 0
    for seed in SEEDS:
        values = ours(way, *sides(seed, said, tmp_path))
        for name, theirs in SAID[said]["numbers"][str(seed)].items():
            mine = values[translate_core_errors(tool, name)]
            if theirs == -1:
                assert np.isnan(mine), (seed, name)
            else:
                assert mine == pytest.approx(theirs, abs=TOLERANCES.get(tool, 1e-12)), (seed, name)
                compared += 1
    assert compared >= 3 * (len(SEEDS) - 2)


def test_one_of_two_objects_found_by_each_rule() -> None:
    """By hand: recall ends at 1/2, with precision 1."""
    truth = vt.Annotations.of(["a", "b"], ["cat"] * 2, [[0, 0, 10, 10]] * 2)
    pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.9])
    # 101 recalls joined by straight lines: precision 1 up to 0.49, then down to 0 at 0.5.
    now = vt.voc(truth, pred, quirks="ultralytics", checks="off")
    assert now["mAP@0.50"].value == pytest.approx(0.49 + 0.01 / 2)
    # A line from precision 1 at recall 1/2 down to 0 at recall 1.
    before = vt.voc(truth, pred, quirks="ultralytics-8.3", checks="off")
    assert before["mAP@0.50"].value == pytest.approx(1 / 2 + 1 / 4)
    assert vt.voc(truth, pred, checks="off")["mAP"].value == pytest.approx(1 / 2)
    assert vt.coco(truth, pred, checks="off")["AP50"].value == pytest.approx(51 / 101)


def test_ways_differ_where_it_matters(tmp_path: Path) -> None:
    """What is alike on all sets would show nothing."""
    ways = ("ultralytics", "ultralytics-8.4.37", "ultralytics-8.3")
    values = [[SAID[said]["numbers"][str(seed)]["mAP50-95"] for seed in SEEDS] for said in ways]
    for one, two in ((0, 1), (1, 2)):
        assert np.count_nonzero(~np.isclose(values[one], values[two], atol=1e-6)) >= 5
