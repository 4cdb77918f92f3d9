"""How far does it go? Evaluations in parts: processor time and memory of shards, of merging, and of training loops.

`.venv/bin/python benchmarks/scale.py` takes 1 and 6 million boxes; `--millions 1 6 20 100` is the whole table. Shards
of a million boxes are made from their numbers, evaluated one after the other, and removed, so that a hundred of them
need no more room on the disk than one and their parts. `--only detectors classes draws` is growth in what else there
can be many of; `--only engines` runs the lines for dask, Ray and Spark on local clusters, each of which loses a worker
(`pip install distributed ray pyspark`; Spark needs Java). `--only epoch` wants torchmetrics and faster-coco-eval, which
`make clients` installs: `build/clients/bin/python benchmarks/scale.py --only epoch`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

VERITE = str(Path(sys.executable).parent / "verite")
IMAGES, PER_IMAGE, TRUTHS, CLASSES = 10_000, 100, 7, 80  # of a shard


def write_shard(folder: Path, number: int) -> None:
    """A truth of 10,000 images and a million predictions, a tenth of them near a truth, confidences of four digits."""
    rng = np.random.default_rng(number)
    ids = np.arange(IMAGES) + number * IMAGES
    corner = rng.uniform(0, 500, (IMAGES, TRUTHS, 2))
    truths = np.concatenate([corner, rng.uniform(10, 140, corner.shape)], axis=2).round(2)
    labels = rng.integers(1, CLASSES + 1, (IMAGES, TRUTHS))
    annotations = [
        {"id": int(i * TRUTHS + j + 1), "image_id": int(ids[i]), "category_id": int(labels[i, j]), "iscrowd": 0,
         "bbox": truths[i, j].tolist(), "area": round(float(truths[i, j, 2] * truths[i, j, 3]), 2)}
        for i in range(IMAGES) for j in range(TRUTHS)
    ]  # fmt: skip
    images = [{"id": int(i), "file_name": f"{i}.jpg", "width": 640, "height": 640} for i in ids]
    categories = [{"id": c, "name": f"class {c}"} for c in range(1, CLASSES + 1)]
    document = {"images": images, "annotations": annotations, "categories": categories}
    truth_file(folder, number).write_text(json.dumps(document))
    lines = []
    for i in range(IMAGES):
        near = rng.integers(0, TRUTHS, 10)
        boxes = np.concatenate([rng.uniform(0, 500, (PER_IMAGE - 10, 2)), rng.uniform(10, 140, (PER_IMAGE - 10, 2))], 1)
        boxes = np.concatenate([truths[i, near] + rng.normal(0, 4, (10, 4)), boxes]).round(2)
        boxes[:, 2:] = np.maximum(boxes[:, 2:], 1)
        own = np.concatenate([labels[i, near], rng.integers(1, CLASSES + 1, PER_IMAGE - 10)])
        scores = np.concatenate([rng.beta(5, 2, 10), rng.beta(1, 6, PER_IMAGE - 10)]).round(4)
        lines += [
            f'{{"image_id":{ids[i]},"category_id":{c},"bbox":[{x},{y},{w},{h}],"score":{s}}}'
            for c, (x, y, w, h), s in zip(own.tolist(), boxes.tolist(), scores.tolist(), strict=True)
        ]
    pred_file(folder, number).write_text("[" + ",\n".join(lines) + "]")


def truth_file(folder: Path, number: int) -> Path:
    return folder / f"gt-{number:03}.json"


def pred_file(folder: Path, number: int) -> Path:
    return folder / f"dt-{number:03}.json"


def write_shards(folder: Path, numbers: Iterable[int]) -> None:
    """In processes of their own: what a process was before it became another one counts as its memory."""
    missing = [number for number in numbers if not pred_file(folder, number).exists()]
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(write_shard, [folder] * len(missing), missing))


def run(*words: object) -> tuple[float, int]:
    """Processor seconds and peak MB of a command."""
    process = subprocess.Popen([VERITE, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(said.decode())
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def make_part(job: tuple[Path, int]) -> tuple[float, int]:
    folder, number = job
    files = truth_file(folder, number), pred_file(folder, number)
    return run("partial", "coco", *files, "-j", 1, "-q", "-o", folder / f"{number:03}.part")


def measure_parts(folder: Path, counts: Sequence[int]) -> None:
    """A row of the table for each number of millions of boxes, which is that of shards."""
    print("| boxes | map | merge | together | memory of a map | of the merge | bytes per box |")
    print("|---|---|---|---|---|---|---|")
    used = []
    for number in range(max(counts, default=0)):
        write_shards(folder, [number])
        used.append(make_part((folder, number)))
        for file in (truth_file(folder, number), pred_file(folder, number)):
            file.unlink()
        millions = number + 1
        if millions not in counts:
            continue
        parts = [folder / f"{n:03}.part" for n in range(millions)]
        merging, peak = run("merge", *parts, "--quiet", "-j", 1)
        size = sum(part.stat().st_size for part in parts) / (millions * 1e6)
        mapping = sum(cpu for cpu, _ in used)
        print(
            f"| {millions} M | {mapping:.1f} s | {merging:.1f} s | {mapping + merging:.1f} s | "
            f"{max(mb for _, mb in used)} MB | {peak} MB | {size:.2f} |",
            flush=True,
        )


def write_growing(folder: Path, name: str, images: int, classes: int, detectors: int) -> tuple[Path, list[Path]]:
    """A truth with seven objects per image, and detectors that find nine tenths of them and as many things besides."""
    rng = np.random.default_rng([images, classes])
    boxes = np.concatenate([rng.uniform(0, 500, (images, TRUTHS, 2)), rng.uniform(10, 140, (images, TRUTHS, 2))], 2)
    labels = rng.integers(1, classes + 1, (images, TRUTHS))
    places = [(i, j) for i in range(images) for j in range(TRUTHS)]
    annotations = [
        {"id": n + 1, "image_id": i + 1, "category_id": int(labels[i, j]), "iscrowd": 0,
         "bbox": boxes[i, j].round(2).tolist(), "area": round(float(boxes[i, j, 2:].prod()), 2)}
        for n, (i, j) in enumerate(places)
    ]  # fmt: skip
    document = {
        "images": [{"id": i + 1, "file_name": f"{i}.jpg", "width": 640, "height": 640} for i in range(images)],
        "annotations": annotations,
        "categories": [{"id": c + 1, "name": f"class {c}"} for c in range(classes)],
    }
    truth = folder / f"{name}-truth.json"
    truth.write_text(json.dumps(document))
    preds = []
    image_ids = np.repeat(np.arange(1, images + 1), TRUTHS)
    for detector in range(detectors):
        is_found = rng.random(len(places)) < 0.9
        near = (boxes + rng.normal(0, 3 + detector / 20, boxes.shape)).reshape(-1, 4)[is_found]
        far = np.concatenate([rng.uniform(0, 500, (len(places), 2)), rng.uniform(10, 140, (len(places), 2))], 1)
        columns = (
            np.concatenate([image_ids[is_found], image_ids]),
            np.concatenate([labels.ravel()[is_found], rng.integers(1, classes + 1, len(places))]),
            np.concatenate([near, far]).clip(1).round(2),
            np.concatenate([rng.beta(5, 2, len(near)), rng.beta(1, 3, len(far))]).round(4),
        )
        records = [
            {"image_id": image, "category_id": label, "bbox": box, "score": score}
            for image, label, box, score in zip(*(column.tolist() for column in columns), strict=True)
        ]
        preds.append(folder / f"{name}-{detector:02}.json")
        preds[-1].write_text(json.dumps(records))
    return truth, preds


def write_apart(*given: Any) -> tuple[Path, list[Path]]:
    """The same in a process of its own, whose memory the commands would have as theirs."""
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(write_growing, *given).result()


def print_growth(what: str, rows: Iterable[tuple[int, float, int]]) -> None:
    """Processor seconds and memory by a number, and per unit of it."""
    print(f"| {what} | processor time | memory | of each |")
    print("|---|---|---|---|")
    for count, cpu, peak in rows:
        print(f"| {count:,} | {cpu:.1f} s | {peak} MB | {1000 * cpu / count:.1f} ms |", flush=True)


def measure_detectors(folder: Path) -> None:
    """The leaderboard of 2 to 64 detectors: 1,000 images, 100 simulations of missing objects and of images."""
    truth, preds = write_apart(folder, "detectors", 1_000, CLASSES, 64)
    words = ("--errors", "missing=0.05", "--draws", 100, "-j", 1, "-q")
    print_growth("detectors", ((n, *run("leaderboard", truth, *preds[:n], *words)) for n in (2, 8, 32, 64)))


def measure_classes(folder: Path) -> None:
    """`verite coco` with 80 to 10,000 classes: 20,000 images, 140,000 objects."""

    def one(classes: int) -> tuple[int, float, int]:
        truth, preds = write_apart(folder, "classes", 20_000, classes, 1)
        return classes, *run("coco", truth, *preds, "-j", 1, "-q")

    os.environ["VERITE_LIMIT_CURVE_POINTS"] = str(100_000_000)  # 10,000 classes have more curve points than usual
    print_growth("classes", map(one, (80, 365, 1_203, 10_000)))


def measure_draws(folder: Path) -> None:
    """The leaderboard of three detectors with 100 to 10,000 simulations."""
    truth, preds = write_apart(folder, "draws", 1_000, CLASSES, 3)
    words = ("leaderboard", truth, *preds, "--errors", "missing=0.05", "-j", 1, "-q", "--draws")
    print_growth("draws", ((n, *run(*words, n)) for n in (100, 1_000, 10_000)))


def measure_map(folder: Path) -> None:
    """What a part costs beside the numbers themselves; alternately, the best of five."""
    write_shards(folder, [0])
    files = truth_file(folder, 0), pred_file(folder, 0)
    ways = {"direct": ("coco",), "part": ("partial", "coco", "-o", folder / "x.part")}
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(5):
        for name, words in ways.items():
            found[name].append(run(*words, *files, "-j", 1, "-q")[0])
    one, two = (min(times) for times in found.values())
    print(f"map: {two:.2f} s against {one:.2f} s of the direct way, {two / one:.2f} × (at most 1.15)")


def measure_processes(folder: Path) -> None:
    """Two processes beside one, on the clock and in processor time; alternately, the best of three."""
    shards = range(8)
    write_shards(folder, shards)
    walls: dict[int, list[float]] = {1: [], 2: []}
    cpus: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(3):
        for workers in walls:
            with ProcessPoolExecutor(workers) as pool:
                start = time.perf_counter()
                used = list(pool.map(make_part, [(folder, number) for number in shards]))
                walls[workers].append(time.perf_counter() - start)
                cpus[workers].append(sum(cpu for cpu, _ in used))
    clock, cost = (min(times[1]) / min(times[2]) for times in (walls, cpus))
    print(
        f"two processes: {clock:.2f} × as fast as one (at least 1.7); the same work costs {1 / cost:.2f} × the "
        f"processor time, so that two free cores give {2 * cost:.2f} ×; load {os.getloadavg()[0]:.1f}"
    )


DIRECT = """
import sys, verite as vt
print(vt.coco(sys.argv[1], sys.argv[2], checks="off", threads=1, parts=1000).scores["AP"].value)
"""
DASK = """
import sys, verite as vt
from distributed import Client, LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        found = vt.coco(sys.argv[1], sys.argv[2], checks="off", threads=1, executor=client.get_executor(retries=3))
        print(found.scores["AP"].value)
"""


def measure_dask(folder: Path) -> None:
    """Processor time of dask and its two workers beside one process, for the same eight shards; the best of three."""
    write_shards(folder, range(8))
    words = f"{folder}/gt-00[0-7].json", f"{folder}/dt-00[0-7].json"
    times: dict[str, list[float]] = {DIRECT: [], DASK: []}
    said = set()
    for _ in range(3):
        for number, program in enumerate(times):
            file = folder / f"way-{number}.py"
            file.write_text(program)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            said.add(subprocess.run([sys.executable, file, *words], check=True, capture_output=True).stdout)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times[program].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert len(said) == 1, said
    one, two = (min(values) for values in times.values())
    print(f"dask: {two:.1f} s against {one:.1f} s of one process (at most 4 s + 5 %: {4 + 1.05 * one:.1f} s)")


# The lines of docs/howto/scale.md; the first task kills the process that runs it.
LOSING = """
import os, signal, sys
from pathlib import Path
import verite as vt

folder, flag = Path(sys.argv[1]), Path(sys.argv[2])
pairs = [(str(folder / f"gt-{i:03}.json"), str(folder / f"dt-{i:03}.json")) for i in range(4)]

def make_part(pair):
    if not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return vt.partial(*pair, checks="off")

if __name__ == "__main__":
"""
ENGINES = {
    "distributed": """
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        parts = list(client.get_executor(retries=3).map(make_part, pairs))
        print(parts[0].merge(*parts[1:]).compute().scores["AP"].value)
""",
    "ray": """
    import ray
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    make = ray.remote(make_part)
    parts = ray.get([make.remote(pair) for pair in pairs])
    print(parts[0].merge(*parts[1:]).compute().scores["AP"].value)
""",
    "pyspark": """
    import pyspark
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    sc = pyspark.SparkContext("local[2,4]")
    found = sc.parallelize(pairs, len(pairs)).map(make_part).treeReduce(lambda a, b: a.merge(b))
    print(found.compute().scores["AP"].value)
""",
}


def measure_engines(folder: Path) -> None:
    """Each engine on a local cluster whose first worker is killed: the same number as one process, and its version."""
    write_shards(folder, range(4))
    words = f"{folder}/gt-00[0-3].json", f"{folder}/dt-00[0-3].json"
    whole = subprocess.run([sys.executable, "-c", DIRECT, *words], check=True, capture_output=True, text=True).stdout
    for engine, lines in ENGINES.items():
        if find_spec(engine) is None:
            print(f"{engine}: not installed")
            continue
        file, flag = folder / f"{engine}_lines.py", folder / f"{engine}.flag"
        file.write_text(LOSING + lines)
        flag.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, file, folder, flag], capture_output=True, text=True, check=False)
        said = done.stdout.strip().splitlines()[-1:] or done.stderr.strip().splitlines()[-1:]
        is_same = said == whole.split() and flag.exists()
        verdict = "a worker killed, the same number" if is_same else f"FAILED: {said}, expected {whole.strip()}"
        print(f"{engine} {version(engine)}: {verdict}", flush=True)


def measure_evaluator(images: int) -> None:
    """Batches of 16 images: what an update costs at first and in the end."""
    import verite as vt

    rng = np.random.default_rng(0)
    pool = []
    for _ in range(512):
        corner = rng.uniform(0, 500, (7, 2))
        truth = np.hstack([corner, corner + rng.uniform(20, 120, (7, 2))])
        other = rng.uniform(0, 500, (2, 2))
        pred = np.vstack([truth + rng.normal(0, 4, truth.shape), np.hstack([other, other + 60])])
        labels = rng.integers(1, 81, 7)
        scores = rng.random(9, dtype=np.float32)
        pool.append(
            ({"boxes": pred.astype(np.float32), "scores": scores, "labels": np.append(labels, [1, 2])},
             {"boxes": truth, "labels": labels})
        )  # fmt: skip
    loop = vt.CocoEvaluator(labels={i: str(i) for i in range(1, 81)}, checks="off")
    marks, start, step = [], time.process_time(), 20_000
    for first in range(0, images, 16):
        batch = [pool[(first + 7 * k) % 512] for k in range(16)]
        loop.update([p for p, _ in batch], [{**t, "image_id": first + k} for k, (_, t) in enumerate(batch)])
        if (first + 16) // step > first // step:
            now = time.process_time()
            marks.append((now - start) / step * 16 * 1e3)
            start = now
    start = time.process_time()
    loop.compute()
    took = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    half = max(1, len(marks) // 2)
    late = sum(marks[half:] or marks) / len(marks[half:] or marks)
    print(
        f"CocoEvaluator, {images:,} images in batches of 16: {marks[0]:.2f} ms an update up to 20,000 images, "
        f"{late:.2f} ms over the last half ({late / marks[0]:.2f} ×, at most 1.2); compute {took:.2f} s, {peak} MB"
    )


def measure_masks() -> None:
    """An update with masks beside pycocotools' encode alone; alternately, the best of seven."""
    from pycocotools import mask

    import verite as vt

    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:480, :640]
    pixels = np.zeros((20, 480, 640), dtype=np.uint8)
    for own in pixels:
        y, x, r = rng.uniform(60, 420), rng.uniform(60, 580), rng.uniform(20, 90)
        own[(rows - y) ** 2 + (columns - x) ** 2 < r * r] = 1
    sides = {"masks": pixels, "labels": np.ones(20, int)}
    ours, theirs = [], []
    for _ in range(7):
        loop = vt.CocoEvaluator(on="mask", checks="off")
        start = time.process_time()
        for _ in range(8):
            loop.update({**sides, "scores": np.linspace(0, 1, 20)}, sides)
        ours.append(time.process_time() - start)
        start = time.process_time()
        for _ in range(16):
            mask.encode(np.asfortranarray(pixels.transpose(1, 2, 0)))
        theirs.append(time.process_time() - start)
    print(
        f"masks: update {min(ours) / 8 * 1e3:.1f} ms, pycocotools' encode of the same masks "
        f"{min(theirs) / 8 * 1e3:.1f} ms ({min(ours) / min(theirs):.2f} ×, at most 1)"
    )


def measure_epoch() -> None:
    """An epoch of 5,000 images beside torchmetrics with faster_coco_eval; alternately, the best of three."""
    import torch

    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.compat.torchvision_operators import define_operators

    operators = define_operators()  # noqa: F841 - kept as long as they are needed
    from torchmetrics.detection import MeanAveragePrecision

    import verite as vt

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    epoch = []
    for _ in range(5000):
        count = int(rng.poisson(7.3))
        corner = rng.uniform(0, 500, (count, 2))
        truth = np.hstack([corner, corner + rng.uniform(20, 120, (count, 2))])
        labels = rng.integers(1, 81, count)
        pred = np.vstack(
            [truth + rng.normal(0, 4, truth.shape), [[5.0, 5.0, 60.0, 60.0], [300.0, 200.0, 380.0, 290.0]]]
        )
        found = {"scores": rng.random(count + 2), "labels": np.append(labels, [1, 2])}
        # Whole pixels: float32 then has no part in what overlaps.
        sides = ({**found, "boxes": pred.round()}, {"boxes": truth.round(), "labels": labels})
        kinds = {"boxes": torch.float32, "scores": torch.float32, "labels": torch.int64}
        epoch.append([{k: torch.as_tensor(v, dtype=kinds[k]) for k, v in side.items()} for side in sides])

    def run_epoch(metric: Any) -> tuple[float, float]:
        start = time.process_time()
        for first in range(0, len(epoch), 16):
            batch = epoch[first : first + 16]
            metric.update([p for p, _ in batch], [t for _, t in batch])
        results = metric.compute()
        took = time.process_time() - start
        return took, float(results["map"] if isinstance(results, dict) else results.scores["AP"].value)

    # COCO's own; torchmetrics' defaults are rounded to float32, which changes the fourth digit here.
    limits: Any = {
        "iou_thresholds": np.linspace(0.5, 0.95, 10).tolist(),
        "rec_thresholds": np.linspace(0, 1, 101).tolist(),
    }
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(3):
        took, ours = run_epoch(vt.CocoEvaluator(checks="off", threads=1))
        times["ours"].append(took)
        took, theirs = run_epoch(MeanAveragePrecision(backend="faster_coco_eval", **limits))
        times["theirs"].append(took)
        assert abs(ours - theirs) < 1e-6, (ours, theirs)
    boxes = sum(len(p["labels"]) for p, _ in epoch)
    mine, other = (min(values) for values in times.values())
    print(
        f"epoch of 5,000 images, {boxes:,} boxes: {mine:.2f} s, torchmetrics with faster_coco_eval {other:.2f} s, "
        f"{other / mine:.1f} × (at least 8)"
    )


ROWS = ("parts", "detectors", "classes", "draws", "map", "processes", "dask", "engines", "evaluator", "masks", "epoch")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None, help="where shards are kept; removed afterwards if none")
    parser.add_argument("--millions", type=int, nargs="*", default=[1, 6], help="boxes, in millions")
    parser.add_argument("--images", type=int, default=200_000, help="images of the training loop; 1000000 is the whole")
    parser.add_argument("--only", choices=ROWS, nargs="*", default=ROWS, help="which rows")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.data or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows: dict[str, Callable[[], None]] = {
            "parts": lambda: measure_parts(folder, asked.millions),
            "detectors": lambda: measure_detectors(folder),
            "classes": lambda: measure_classes(folder),
            "draws": lambda: measure_draws(folder),
            "map": lambda: measure_map(folder),
            "processes": lambda: measure_processes(folder),
            "dask": lambda: measure_dask(folder),
            "engines": lambda: measure_engines(folder),
            "evaluator": lambda: measure_evaluator(asked.images),
            "masks": measure_masks,
            "epoch": measure_epoch,
        }
        for name in asked.only:
            try:
                rows[name]()
            except ModuleNotFoundError as error:
                print(f"{name}: {error.name} is not installed")


if __name__ == "__main__":
    main()
