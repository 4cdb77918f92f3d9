"""What do other tools have, and what do they say to a mistake? Both are asked of the tools as they are installed.

    .venv/bin/python benchmarks/tools.py --peers PYTHON

`PYTHON` is an interpreter that has pycocotools, faster-coco-eval, hotcoco, vernier and ultrafast-pycocotools. A name in
the first table was found in the tool, an evaluation in it was run on a perfect prediction and gave an AP of 1; a dash
means that its documentation tells of no such thing. In the second table every tool evaluates the same files with the
same mistake.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

from verite.compat.pycocotools import mask

TOOLS = {
    "pycocotools": "from pycocotools.coco import COCO; from pycocotools.cocoeval import COCOeval",
    "faster-coco-eval": "from faster_coco_eval import COCO, COCOeval_faster as COCOeval",
    "ultrafast-pycocotools": "from ultrafast_pycocotools import COCO, COCOeval",
    "vernier": "from pycocotools.coco import COCO; from vernier import COCOeval",
    "hotcoco": "from hotcoco import COCO, COCOeval",
}
EVALUATE = """
import sys
{imports}
truth = COCO(sys.argv[1])
run = COCOeval(truth, truth.loadRes(sys.argv[2]), sys.argv[3])
run.evaluate(); run.accumulate(); run.summarize()
print("AP", float(run.stats[0]))
"""
LOOK_UP = """
import importlib, inspect, sys
name, _, parameter = sys.argv[1].rstrip(")").partition("(")
found, parts = None, name.split(".")
for i, part in enumerate(parts, 1):
    try:
        found = importlib.import_module(".".join(parts[:i]))
    except ModuleNotFoundError:
        found = getattr(found, part)
assert not parameter or parameter in inspect.signature(found).parameters
"""
# What there is: by tool a name that is looked up, with a parameter that it must take, or in brackets a kind of
# evaluation that is run.
HAS: dict[str, dict[str, str]] = {
    "boundaries": {"faster-coco-eval": "[boundary]", "vernier": "[boundary]", "ultrafast-pycocotools": "[boundary]"},
    "keypoints": dict.fromkeys(TOOLS, "[keypoints]"),
    "rotated boxes": {"hotcoco": "hotcoco.COCO.from_dota"},
    "LVIS": {
        "faster-coco-eval": "faster_coco_eval.COCOeval_faster(lvis_style)", "hotcoco": "hotcoco.LVISeval",
        "vernier": "vernier.Frequency", "ultrafast-pycocotools": "ultrafast_pycocotools.COCOeval(lvis_style)",
    },
    "Open Images": {"hotcoco": "hotcoco.COCOeval(oid_style)"},
    "Pascal VOC's and ImageNet's rules": {},
    "panoptic quality": {"hotcoco": "hotcoco.panoptic.PanopticEval", "vernier": "vernier.panoptic.Evaluator"},
    "semantic segmentation": {"hotcoco": "hotcoco.semantic.SemanticEval", "vernier": "vernier.semantic.Evaluator"},
    "predictions without confidences: F1 by optimal assignment, cgF1": {},
    "ignore regions for all classes": {},
    "log-average miss rate with subsets": {},
    "suites of datasets with macro means": {},
    "points by distance, and counts": {},
    "KITTI's easy, moderate and hard objects": {},
    "WIDER FACE's easy, medium and hard faces": {},
    "Boundary PQ": {},
    "AJI, AJI+, SortedAP, AP of microscopy": {},
    "OC-cost": {},
    "tracking: HOTA, CLEAR MOT, IDF1": {},
    "classes mapped while evaluating": {},
    "scoring bundles for Codabench and EvalAI": {},
    "44 localization metrics on contours, masks and volumes": {},
    "one score for a scene": {},
    "error types": {"hotcoco": "hotcoco.COCOeval.tide_errors", "vernier": "vernier.instance.error_decomposition"},
    "costs of errors that add up to 1 − AP": {},
    "confusion": {
        "hotcoco": "hotcoco.COCOeval.confusion_matrix", "vernier": "vernier.instance.confusion_matrix",
        "ultrafast-pycocotools": "ultrafast_pycocotools.COCOeval.confusion_matrix",
        "faster-coco-eval": "faster_coco_eval.extra.PreviewResults.compute_confusion_matrix",
    },
    "calibration": {"hotcoco": "hotcoco.COCOeval.calibration", "vernier": "vernier.calibration.CalibrationResult"},
    "calibration by position and size (D-ECE)": {},
    "LRP": {"vernier": "vernier.instance.optimal_lrp"},
    "confidence interval of a difference": {"hotcoco": "hotcoco.compare"},
    "ranking robustness to annotation errors": {},
    "explains differences between tools": {},
    "distributed evaluation, merged": {
        "hotcoco": "hotcoco.StreamingEval.merge", "vernier": "vernier.instance.Evaluator.evaluate_to_partial",
    },
    "detects input mistakes": {"hotcoco": "hotcoco.COCO.healthcheck"},
    "reads VOC, YOLO, CVAT": {"hotcoco": "hotcoco.COCO.from_voc"},
    "slices of images": {"hotcoco": "hotcoco.COCOeval.slice_by", "vernier": "vernier.instance.Manifest"},
    "possible annotation errors": {"hotcoco": "hotcoco.COCOeval.image_diagnostics"},
    "report with plots": {"hotcoco": "hotcoco.plot.report"},
    "interactive HTML report with images": {},
}  # fmt: skip
OURS = {
    "boundaries": "coco --on boundary", "keypoints": "coco --on keypoints", "rotated boxes": "coco --on rotated",
    "LVIS": "lvis", "Open Images": "openimages", "Pascal VOC's and ImageNet's rules": "voc, imagenet-loc, imagenet-det",
    "panoptic quality": "panoptic", "semantic segmentation": "semantic",
    "predictions without confidences: F1 by optimal assignment, cgF1": "f1",
    "ignore regions for all classes": "everywhere", "log-average miss rate with subsets": "miss-rate",
    "suites of datasets with macro means": "suite", "points by distance, and counts": "--on point",
    "KITTI's easy, moderate and hard objects": "kitti", "WIDER FACE's easy, medium and hard faces": "wider",
    "Boundary PQ": "panoptic --on boundary", "AJI, AJI+, SortedAP, AP of microscopy": "instances", "OC-cost": "oc-cost",
    "tracking: HOTA, CLEAR MOT, IDF1": "track",
    "classes mapped while evaluating": "--map", "scoring bundles for Codabench and EvalAI": "bundle",
    "calibration by position and size (D-ECE)": "analyse",
    "44 localization metrics on contours, masks and volumes": "localize", "one score for a scene": "scene-score",
    "error types": "analyse", "costs of errors that add up to 1 − AP": "analyse", "confusion": "analyse",
    "calibration": "analyse", "LRP": "analyse", "confidence interval of a difference": "coco --resample",
    "ranking robustness to annotation errors": "leaderboard", "explains differences between tools": "reconcile",
    "distributed evaluation, merged": "partial, merge", "detects input mistakes": "always; inspect",
    "reads VOC, YOLO, CVAT": "everywhere; convert", "slices of images": "analyse",
    "possible annotation errors": "analyse", "report with plots": "report",
    "interactive HTML report with images": "report",
}  # fmt: skip


def corners(truth: Any, pred: Any) -> None:
    for one in pred:
        x, y, width, height = one["bbox"]
        one["bbox"] = [x, y, x + width, y + height]


def ids_from_zero(truth: Any, pred: Any) -> None:
    for one in pred:
        one["category_id"] -= 1


def fractions(truth: Any, pred: Any) -> None:
    sizes = {image["id"]: (image["width"], image["height"]) for image in truth["images"]}
    for one in pred:
        width, height = sizes[one["image_id"]]
        one["bbox"] = [v / s for v, s in zip(one["bbox"], (width, height, width, height), strict=True)]


def twice(truth: Any, pred: Any) -> None:
    pred += deepcopy(pred)


def half_the_images(truth: Any, pred: Any) -> None:
    kept = {image["id"] for image in truth["images"][::2]}
    pred[:] = [one for one in pred if one["image_id"] in kept]


def not_a_number(truth: Any, pred: Any) -> None:
    for one in pred:
        one["bbox"] = [float("nan")] * 4


def truth_without_numbers(truth: Any, pred: Any) -> None:
    for one in truth["annotations"][::2]:
        one["bbox"] = [float("nan")] * 4


MISTAKES: dict[str, Callable[[Any, Any], None]] = {
    "none": lambda truth, pred: None,
    "corners instead of width and height": corners,
    "class ids from 0 instead of 1": ids_from_zero,
    "fractions of the image instead of pixels": fractions,
    "every prediction twice": twice,
    "half of the images not predicted": half_the_images,
    "every predicted box NaN": not_a_number,
    "every second true box NaN": truth_without_numbers,
}
# What tools print anyway; whatever else they say is a word on the mistake.
USUAL = ("Average", "DONE", "Done", "index created", "creating index", "Loading", "Running per image", "Evaluate anno",
         "Accumulating", "AP ", "loading annotations", "COCOeval", "Converting")  # fmt: skip

WIDTH = 64  # of what is said


def run(program: list[str]) -> tuple[int, str]:
    done = subprocess.run(program, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def shorten(line: str) -> str:
    return line if len(line) <= WIDTH else line[:WIDTH].rsplit(" ", 1)[0] + " …"


def answer(status: int, text: str) -> str:
    """A number, with what was said besides it, or the end of an error."""
    lines = [re.sub(r"(verite: |warning: )?/\S+/(pred|truth)\.json: ", "", line.strip()) for line in text.splitlines()]
    lines = [line for line in lines if line]
    if status:
        return f"stops: {shorten(lines[-1])}"
    number = next(float(line.split()[1]) for line in reversed(lines) if line.startswith("AP "))
    said = [line for line in lines if not line.startswith(USUAL)]
    return f"{number:.4f}" + (f", and says: {shorten(said[0])}" if said else "")


def ask(tool: str, python: str, truth: Path, pred: Path, kind: str = "bbox") -> str:
    if tool == "verite":
        program = [str(Path(sys.executable).with_name("verite")), "coco", str(truth), str(pred), "--json"]
        status, text = run(program)
        if status == 0:
            start = text.index("{")
            document, end = json.JSONDecoder().raw_decode(text[start:])
            text = "\n".join([text[:start], text[start + end :], f"AP {document['AP']}"])
        return answer(status, text)
    return answer(*run([python, "-c", EVALUATE.format(imports=TOOLS[tool]), str(truth), str(pred), kind]))


def write_perfect(folder: Path) -> Path:
    """A truth of one object with box, mask and pose; beside it predictions that are the same, a file for each kind."""
    box, polygon, pose = [10, 10, 40, 60], [[10, 10, 50, 10, 50, 70, 10, 70]], [20, 20, 2, 40, 60, 2] + [0] * 45
    record = {"id": 1, "image_id": 1, "category_id": 1, "bbox": box, "area": 2400, "iscrowd": 0}
    truth = {
        "images": [{"id": 1, "width": 100, "height": 100, "file_name": "a.jpg"}],
        "categories": [{"id": 1, "name": "person", "keypoints": [str(i) for i in range(17)], "skeleton": []}],
        "annotations": [record | {"segmentation": polygon, "keypoints": pose, "num_keypoints": 2}],
    }
    runs = mask.frPyObjects(polygon, 100, 100)[0]
    runs["counts"] = runs["counts"].decode()
    found = {"image_id": 1, "category_id": 1, "score": 0.9}
    files = folder / "perfect.json", folder / "perfect-boundary.json", folder / "perfect-keypoints.json"
    results = [found | {"segmentation": runs, "bbox": box}], [found | {"keypoints": pose}]
    for file, content in zip(files, (truth, *results), strict=True):
        file.write_text(json.dumps(content))
    return files[0]


def has(tool: str, python: str, what: str | None, truth: Path) -> str:
    if what is None:
        return "–"
    if what.startswith("["):
        kind = what.strip("[]")
        found = ask(tool, python, truth, truth.with_name(f"perfect-{kind}.json"), kind)
        assert found.startswith("1.0000"), f"{tool}: {kind}: {found}"
        return "✓"
    status, text = run([python, "-c", LOOK_UP, what])
    assert status == 0, f"{tool} has no {what}: {text}"
    return "✓"


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", required=True, help="An interpreter that has the other tools.")
    python = parser.parse_args().peers
    demo = Path(__file__).parents[1] / "src" / "verite" / "data" / "demo"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = write_perfect(folder)
        rows = [
            [
                what,
                f"`{OURS[what]}`",
                *(has(tool, python, mine.get(tool), whole) for tool in TOOLS),
            ]
            for what, mine in HAS.items()
        ]
        print(f"{date.today()}\n\n{table(['', 'verite', *TOOLS], rows)}\n")
        rows = []
        for what, change in MISTAKES.items():
            truth = json.loads((demo / "truth.json").read_text())
            pred = json.loads((demo / "hawk.json").read_text())
            change(truth, pred)
            files = folder / "truth.json", folder / "pred.json"
            for file, content in zip(files, (truth, pred), strict=True):
                file.write_text(json.dumps(content))
            rows.append([what, *(ask(tool, python, *files) for tool in ("verite", *TOOLS))])
        print(table(["mistake", "verite", *TOOLS], rows))


if __name__ == "__main__":
    main()
