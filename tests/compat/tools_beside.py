"""What do other tools print? Each is run as its documentation says, on sets of `tests.oracles.tool_sets`.

    python -m tests.compat.tools_beside tests/data/tools.json [SOURCES]

writes down what those say that are installed, beside what the file has of others; below SOURCES may be Detectron2's
source (Apache 2.0), whose package is on no index. Their numbers are facts about data of ours; nothing of their code is
in them.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from tests.compat.torchvision_operators import define_operators
from tests.oracles.tool_sets import SEEDS, SIZE, Record, tool_set

PrecisionRecall = dict[str, float]


def is_there(*names: str) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in names)


def import_torch() -> Any:
    """Torch; a torchvision that was built for another one gets stand-ins for its operators."""
    import torch

    define_operators()
    return torch


def by_image(truth: Record, found: list[Record], keep: Any = lambda record: True) -> Any:
    """For each image in the order of the file, its truths and its predictions, the surest first."""
    for image in truth["images"]:
        mine = [a for a in truth["annotations"] if a["image_id"] == image["id"] and keep(a)]
        theirs = [r for r in found if r["image_id"] == image["id"]]
        yield image, mine, sorted(theirs, key=lambda record: -record["score"])


def corners(records: list[Record]) -> Any:
    boxes = np.array([r["bbox"] for r in records], dtype=np.float64).reshape(-1, 4)
    return np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)


def kinds(records: list[Record]) -> list[int]:
    return [record["category_id"] for record in records]


def run_ultralytics(truth: Record, found: list[Record]) -> PrecisionRecall:
    """Its validator for boxes, fed image by image, as `yolo val` does after the model; labels have no crowds."""
    torch = import_torch()
    if not hasattr(np, "trapz"):  # versions of 2023 want it
        vars(np)["trapz"] = np.trapezoid
    from ultralytics.models.yolo.detect import DetectionValidator

    names = {kind["id"]: kind["name"] for kind in truth["categories"]}
    validator = DetectionValidator(args={"plots": False, "save_json": False, "save_txt": False, "verbose": False})
    validator.device, validator.data = torch.device("cpu"), {"val": "", "names": names, "nc": len(names)}
    validator.init_metrics(SimpleNamespace(names=names, end2end=False))
    for image, mine, theirs in by_image(truth, found, lambda record: not record["iscrowd"]):
        boxes = torch.tensor(corners(mine), dtype=torch.float32)
        middles = torch.cat([(boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]], 1) / SIZE
        batch = {
            "batch_idx": torch.zeros(len(mine)),
            "cls": torch.tensor(kinds(mine), dtype=torch.float32).reshape(-1, 1),
            "bboxes": middles,
            "ori_shape": [(SIZE, SIZE)],
            "img": torch.zeros(1, 3, SIZE, SIZE),
            "ratio_pad": [((1.0, 1.0), (0.0, 0.0))],
            "im_file": [image["file_name"]],
        }
        theirs = theirs[:300]
        preds = {
            "bboxes": torch.tensor(corners(theirs), dtype=torch.float32),
            "conf": torch.tensor([r["score"] for r in theirs], dtype=torch.float32),
            "cls": torch.tensor(kinds(theirs), dtype=torch.float32),
        }
        validator.update_metrics([preds], batch)
    said, box = validator.get_stats(), validator.metrics.box
    numbers = {key.removeprefix("metrics/").removesuffix("(B)"): float(value) for key, value in said.items()}
    by_kind = dict(zip(map(int, box.ap_class_index), np.asarray(box.all_ap).mean(axis=1).tolist(), strict=True))
    return {key: numbers[key] for key in ("precision", "recall", "mAP50", "mAP50-95")} | {
        f"mAP50-95/{names[kind]}": value for kind, value in by_kind.items()
    }


def run_torchmetrics(truth: Record, found: list[Record]) -> PrecisionRecall:
    """MeanAveragePrecision with boxes, scores and labels, and nothing else."""
    torch = import_torch()
    from torchmetrics.detection import MeanAveragePrecision

    metric = MeanAveragePrecision(class_metrics=True)
    for _, mine, theirs in by_image(truth, found):
        target = {"boxes": torch.tensor(corners(mine), dtype=torch.float32), "labels": torch.tensor(kinds(mine))}
        preds = {
            "boxes": torch.tensor(corners(theirs), dtype=torch.float32),
            "scores": torch.tensor([r["score"] for r in theirs], dtype=torch.float32),
            "labels": torch.tensor(kinds(theirs)),
        }
        whole = {"labels": torch.int64}
        metric.update(
            [{key: value.to(whole.get(key, torch.float32)) for key, value in preds.items()}],
            [{key: value.to(whole.get(key, torch.float32)) for key, value in target.items()}],
        )
    said = metric.compute()
    wanted = [key for key in said if key.startswith(("map", "mar")) and "per_class" not in key]
    names = {kind["id"]: kind["name"] for kind in truth["categories"]}
    classes = dict(zip(said["classes"].reshape(-1).tolist(), said["map_per_class"].reshape(-1).tolist(), strict=True))
    return {key: float(said[key]) for key in wanted} | {f"map/{names[k]}": value for k, value in classes.items()}


def run_supervision(truth: Record, found: list[Record]) -> PrecisionRecall:
    """MeanAveragePrecision of its metrics."""
    from supervision import Detections
    from supervision.metrics import MeanAveragePrecision

    metric = MeanAveragePrecision()
    for _, mine, theirs in by_image(truth, found):
        scores = np.array([r["score"] for r in theirs])
        metric.update(
            Detections(xyxy=corners(theirs), class_id=np.array(kinds(theirs), dtype=int), confidence=scores),
            Detections(xyxy=corners(mine), class_id=np.array(kinds(mine), dtype=int)),
        )
    said = metric.compute()
    return {"map50_95": float(said.map50_95), "map50": float(said.map50), "map75": float(said.map75)}


def run_pycocotools(truth: Record, found: list[Record], limits: tuple[int, ...] = (1, 10, 100)) -> PrecisionRecall:
    """COCOeval's twelve numbers; `limits`: those of MMDetection's CocoMetric are 100, 300, 1000."""
    from contextlib import redirect_stdout
    from io import StringIO

    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    with redirect_stdout(StringIO()):
        known = COCO()
        known.dataset = json.loads(json.dumps(truth))
        known.createIndex()
        evaluation = COCOeval(known, known.loadRes(json.loads(json.dumps(found))), "bbox")
        evaluation.params.maxDets = list(limits)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    names = ["AP", "AP50", "AP75", "APs", "APm", "APl", *(f"AR{limit}" for limit in limits), "ARs", "ARm", "ARl"]
    return dict(zip(names, map(float, evaluation.stats), strict=True))


def load_detectron2(sources: Path) -> ModuleType:
    """Its file for Pascal VOC, without its framework."""
    home = next(sources.rglob("pascal_voc_evaluation.py"))
    text = home.read_text()
    code = text[text.index('"""Python implementation of the PASCAL VOC') :]
    module = ModuleType("pascal_voc_evaluation")
    from functools import lru_cache
    from xml.etree import ElementTree

    vars(module).update(np=np, lru_cache=lru_cache, ET=ElementTree, PathManager=SimpleNamespace(open=open))
    exec(code, vars(module))
    return module


def run_detectron2(truth: Record, found: list[Record], module: ModuleType, is_2007: bool = False) -> PrecisionRecall:
    """What its PascalVOCDetectionEvaluator prints for lines it has written; crowds are difficult objects."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        stems = [image["file_name"].removesuffix(".jpg") for image in truth["images"]]
        (home / "set.txt").write_text("\n".join(stems))
        lines: dict[int, list[str]] = defaultdict(list)
        for (image, mine, theirs), stem in zip(by_image(truth, found), stems, strict=True):
            objects = "".join(voc_object(record) for record in mine)
            (home / f"{stem}.xml").write_text(f"<annotation>{objects}</annotation>")
            for record, (x1, y1, x2, y2) in zip(theirs, corners(theirs), strict=True):
                row = f"{stem} {record['score']:.3f} {x1:.1f} {y1:.1f} {x2:.1f} {y2:.1f}"
                lines[record["category_id"]].append(row)
            assert image
        aps = []
        for kind in sorted({record["category_id"] for record in truth["annotations"] if not record["iscrowd"]}):
            if not lines[kind]:
                aps.append([0.0] * 10)
                continue
            (home / f"dets_{kind}.txt").write_text("\n".join(lines[kind]))
            paths = str(home / "dets_{}.txt"), str(home / "{}.xml"), str(home / "set.txt")
            module.parse_rec.cache_clear()
            grid = [percent / 100.0 for percent in range(50, 100, 5)]
            aps.append([float(module.voc_eval(*paths, str(kind), t, is_2007)[2]) for t in grid])
    mean = np.mean(aps, axis=0)
    return {"AP": float(mean.mean()), "AP50": float(mean[0]), "AP75": float(mean[5])}


def voc_object(record: Record) -> str:
    x, y, w, h = record["bbox"]
    box = {"xmin": int(x), "ymin": int(y), "xmax": int(x + w), "ymax": int(y + h)}
    inside = "".join(f"<{key}>{value}</{key}>" for key, value in box.items())
    return (
        f"<object><name>{record['category_id']}</name><pose>-</pose><truncated>0</truncated>"
        f"<difficult>{record['iscrowd']}</difficult><bndbox>{inside}</bndbox></object>"
    )


RUNS: dict[str, tuple[tuple[str, ...], Any]] = {
    "ultralytics": (("torch", "ultralytics"), run_ultralytics),
    "torchmetrics": (("torch", "torchmetrics", "pycocotools"), run_torchmetrics),
    "supervision": (("supervision",), run_supervision),
    "pycocotools": (("pycocotools",), run_pycocotools),
    "mmdetection": (("pycocotools",), lambda truth, found: run_pycocotools(truth, found, (100, 300, 1000))),
}


def ways_of_ultralytics() -> str:
    """Which of its ways the installed version has."""
    numbers = [int(part) for part in version("ultralytics").split(".")]
    ways = [([8, 4, 176], "ultralytics"), ([8, 4, 37], "ultralytics-8.4.37"), ([0], "ultralytics-8.3")]
    return next(name for since, name in ways if numbers >= since)


def main(path: str, *sources: str) -> None:
    home = Path(path)
    said = json.loads(home.read_text()) if home.exists() else {}
    for tool, (needed, run) in RUNS.items():
        if is_there(*needed):
            numbers = {str(seed): run(*tool_set(seed)) for seed in SEEDS}
            key = ways_of_ultralytics() if tool == "ultralytics" else tool
            said[key] = {"versions": {name: version(name) for name in needed}, "numbers": numbers}
    if sources:
        module = load_detectron2(Path(sources[0]))
        for tool, is_2007 in (("detectron2-voc", False), ("detectron2-voc2007", True)):
            numbers = {str(seed): run_detectron2(*tool_set(seed), module, is_2007) for seed in SEEDS}
            said[tool] = {"versions": {}, "numbers": numbers}
    lines = ",\n".join(f"{json.dumps(tool)}: {{\n{show(known)}\n}}" for tool, known in sorted(said.items()))
    home.write_text(f"{{\n{lines}\n}}\n")


def show(known: Any) -> str:
    """A line for each set."""
    rows = ",\n".join(f'"{seed}": {json.dumps(numbers)}' for seed, numbers in known["numbers"].items())
    return f'"versions": {json.dumps(known["versions"])},\n"numbers": {{\n{rows}\n}}'


if __name__ == "__main__":
    main(*sys.argv[1:])
