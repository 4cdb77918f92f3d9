"""Does memory stay flat when every public function is called again and again? `python -m tests.campaign.soak 2000`."""

from __future__ import annotations

import gc
import json
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import verite as vt

BOX = [10.0, 10.0, 40.0, 40.0]
PAGE = resource.getpagesize()
WARM = 30  # calls at least, until caches and arenas are filled


def resident() -> int:
    """Bytes of this process that are in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


TRUTH = {
    "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": BOX, "area": 1600, "iscrowd": 0}],
}
# A decorator that registers what it is given, and what takes minutes or pictures.
LEFT_OUT = {"localization", "study", "learn_distances"}


def list_calls(folder: Path) -> dict[str, Callable[[], Any]]:
    """Every public function, on a ground truth of one object, which is found, and the evaluators."""
    sides = folder / "truth.json", folder / "pred.json"
    sides[0].write_text(json.dumps(TRUTH))
    sides[1].write_text(json.dumps([{"image_id": 1, "category_id": 1, "bbox": BOX, "score": 0.5}]))
    (folder / "table.csv").write_text("item,truth,a,b\n1,1,1,0\n2,1,1,1\n3,0,0,1\n")
    suite = 'metric = "AP"\ndetectors = ["pred"]\n\n[datasets.one]\ntruth = "truth.json"\npred = "{detector}.json"\n'
    (folder / "suite.toml").write_text(suite)
    tracks = folder / "gt.txt", folder / "tracks.txt"
    tracks[0].write_text("1,1,10,10,40,40,1,1,1\n2,1,11,10,40,40,1,1,1\n")
    tracks[1].write_text("1,1,10,10,40,40,0.5,-1,-1,-1\n2,1,11,10,40,40,0.5,-1,-1,-1\n")
    part, maps = vt.partial(*sides), np.array([[0, 1], [1, 1]])
    known, measured = vt.read(sides[0]), vt.localize(*sides, "iou")
    found, analysis, distances = vt.coco(*sides), vt.analyse(*sides), vt.class_distances({"a": {"a": 0.0}})
    volume = np.zeros((4, 4, 4), np.uint8)
    volume[1:3, 1:3, 1:3] = 1
    np.save(folder / "volume.npy", volume)
    vt.report(*sides, folder / "page.html")
    scene = vt.scene_score(*sides).trace("a.jpg")
    pairs = vt.Pairs.of([[0, 0, 9, 9]], [[0, 0, 9, 8]])

    def train() -> None:
        evaluator = vt.CocoEvaluator()
        item = {"boxes": np.array([[0.0, 0, 9, 9]]), "labels": np.array([1])}
        evaluator.update([item | {"scores": np.array([0.5])}], [item])
        evaluator.compute()

    def train_f1() -> None:
        evaluator = vt.F1Evaluator()
        item = {"boxes": np.array([[0.0, 0, 9, 9]]), "labels": np.array([1])}
        evaluator.update([item], [item])
        evaluator.compute()

    def train_semantic() -> None:
        evaluator = vt.SemanticEvaluator(labels=2)
        evaluator.update(maps, maps)
        evaluator.compute()

    def plot(function: Callable[[], Any]) -> None:
        function().clear()

    calls: dict[str, Callable[[], Any]] = {
        name: partial(getattr(vt, name), *sides)
        for name in (
            "coco",
            "voc",
            "openimages",
            "imagenet_det",
            "f1",
            "miss_rate",
            "kitti",
            "wider",
            "oc_cost",
            "partial",
            "scene_score",
            "analyse",
            "inspect",
            "imagenet_loc",
        )
    }
    calls |= {name: partial(refuse, partial(getattr(vt, name), *sides)) for name in ("lvis", "panoptic", "instances")}
    return calls | {
        "track": lambda: vt.track(*tracks),
        "suite": lambda: vt.suite(folder / "suite.toml"),
        "read": lambda: vt.read(sides[0]),
        "read_volume": lambda: vt.read_volume(folder / "volume.npy"),
        "write": lambda: vt.write(known, folder / "written.json", "coco"),
        "localize": lambda: vt.localize(*sides, "iou"),
        "localize volumes": lambda: vt.localize(folder / "volume.npy", folder / "volume.npy", "iou"),
        "metric": lambda: vt.metric("iou")([0, 0, 9, 9], [0, 0, 9, 8]),
        "measure": lambda: vt.measure(pairs, [vt.metric("iou")]),
        "semantic": lambda: vt.semantic(maps, maps),
        "rank": lambda: vt.rank(folder / "table.csv", errors=vt.annotation_errors.Bernoulli(0.05)),
        "leaderboard": lambda: vt.leaderboard(sides[0], {"a": sides[1], "b": sides[1]}),
        "score_leaderboard": lambda: vt.score_leaderboard({"a": [0.1] * 9, "b": [0.2] * 9}, draws=50),
        "agree": lambda: vt.agree({"a": sides[0], "b": sides[0]}, draws=20),
        "reconcile": lambda: vt.reconcile(*sides, 0.5),
        "compare": lambda: vt.compare(found, found),
        "class_distances": lambda: vt.class_distances({"a": {"a": 0.0, "b": 0.5}, "b": {"a": 0.5, "b": 0.0}}),
        "report": lambda: vt.report(*sides, folder / "page.html"),
        "save_report": lambda: vt.save_report(analysis, folder / "page.html"),
        "read_report": lambda: vt.read_report(folder / "page.html"),
        "draw": lambda: vt.draw(*sides, folder / "drawn"),
        "plot": lambda: plot(lambda: vt.plot(found)),
        "plot_image": lambda: plot(lambda: vt.plot_image(found, "a.jpg")),
        "plot_distributions": lambda: plot(lambda: vt.plot_distributions(measured)),
        "plot_pair": lambda: plot(lambda: vt.plot_pair([0, 0, 9, 9], [0, 0, 9, 8], size=(20, 20))),
        "plot_scene": lambda: plot(lambda: vt.plot_scene(scene)),
        "plot_distances": lambda: plot(lambda: vt.plot_distances(distances)),
        "evaluate_parts": lambda: vt.evaluate_parts(*sides, parts=1, executor=ThreadPoolExecutor(1)),
        "compute": lambda: str(part.compute()),
        "merge": lambda: vt.PartialResult.from_bytes(part.to_bytes()).merge(),
        "CocoEvaluator": train,
        "F1Evaluator": train_f1,
        "SemanticEvaluator": train_semantic,
    }


def refuse(call: Callable[[], Any]) -> None:
    try:
        call()
    except vt.VeriteError:
        return
    raise AssertionError("expected an error")


def leftovers(call: Callable[[], Any]) -> set[str]:
    """Kinds of verite's objects that wait for Python's collector after a call: it does not see their native memory."""
    call()
    gc.collect()
    gc.disable()
    try:
        call()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found = {type(one).__qualname__ for one in gc.garbage if type(one).__module__.startswith("verite")}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    return found


def growth(call: Callable[[], Any], times: int) -> float:
    """Bytes by which memory grows with each call in the second half of them: arenas fill up in the first."""
    for _ in range(max(WARM, times // 2)):
        call()
    before = resident()
    for _ in range(times // 2):
        call()
    return (resident() - before) / (times // 2)


MOST = 2_000_000  # bytes that all calls together may leave: arenas of the allocator, not what a call keeps


def main(times: int, names: list[str]) -> int:
    """Every call, or those that are named, so many times, and what they leave behind."""
    warnings.simplefilter("ignore")
    is_flat = True
    with tempfile.TemporaryDirectory() as folder:
        for name, call in list_calls(Path(folder)).items():
            if not names or name in names:
                left = growth(call, times)
                is_flat = is_flat and left * times <= MOST
                print(f"{name:18} {left:10.0f} bytes a call, {left * times / 1e6:6.2f} MB in all", flush=True)
    return 0 if is_flat else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, sys.argv[2:]))
