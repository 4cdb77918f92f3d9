"""How fast is the leaderboard, and do its probabilities hold? Ten detectors of 44,000 and of 500,000 boxes.

benchmarks/leaderboard.py bench-data                 files to table, one evaluation, one replicate, memory
benchmarks/leaderboard.py --real FOLDER              files to table and analysis: twelve real detectors on COCO val2017
benchmarks/leaderboard.py bench-data --coverage      how often intervals hold the true difference
benchmarks/leaderboard.py bench-data --calibration   how often orders survive, against what was predicted
benchmarks/leaderboard.py bench-data --written       drawn truths against the same written out, at full size
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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from leaderboard_data import ensure_ten

import verite as vt
from verite.annotation_errors import Detection
from verite.evaluation.evaluation import Changes
from verite.leaderboards.audit import AuditVerdicts
from verite.leaderboards.influence import find_influence
from verite.leaderboards.leaderboard import LeaderboardSettings, LeaderboardSimulation
from verite.leaderboards.result import Board
from verite.leaderboards.simulation import AnnotationErrorSimulation
from verite.model.regions import Regions
from verite.statistics.calibration import bin_pairs

ERRORS = "missing=0.05,spurious=0.02,label=0.01"
HOTCOCO = """
import sys, time, hotcoco
truth = hotcoco.COCO({truth!r})
made = []
for path in {preds!r}:
    one = hotcoco.COCOeval(truth, truth.load_res(path), "bbox")
    one.evaluate()
    made.append(one)
spent = []
for count in (1, 41):
    start = time.process_time()
    hotcoco.compare(made[0], made[1], n_bootstrap=count)
    spent.append(time.process_time() - start)
print((spent[1] - spent[0]) / 40 / 2)
"""


def cpu(work: Any, repeat: int = 5) -> float:
    """The least CPU time of several runs."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def time_command(truth: Path, preds: list[Path], draws: int, *more: str) -> tuple[float, float]:
    """Wall and CPU seconds of the verb, files to table."""
    words = [sys.executable, "-m", "verite", "leaderboard", str(truth), *map(str, preds), "--draws", str(draws), *more]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run([*words, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rest_memory() -> float:
    """Megabytes that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure_speed(folder: Path, draws: int, peers: str | None) -> None:
    truth_path = folder / "coco_gt.json"
    for kind, name in (("d", "44k"), ("f", "500k")):
        paths = ensure_ten(folder, kind)
        for what, more in (("images alone", ()), ("all three doubts", ("--errors", ERRORS))):
            wall, spent = time_command(truth_path, paths, draws, *more)
            print(f"{name}, 10 detectors x {draws} draws, {what}: {wall:.1f} s, {spent:.1f} s CPU", flush=True)
        measure_one(truth_path, paths, name, peers)


def measure_real(folder: Path, draws: int) -> None:
    """Leaderboard and `analyse -o` of twelve detectors on val2017 (`truth.json.gz`, `results/*.json.gz`)."""
    truth = folder / "truth.json.gz"
    preds = [path for path in sorted((folder / "results").glob("*.json.gz")) if "tensorrt" not in path.name]
    if not truth.exists() or not preds:
        raise SystemExit(f"{folder}: expected truth.json.gz and results/*.json.gz, found none")
    load = os.getloadavg()[0]
    wall, spent = time_command(truth, preds, draws, "--errors", f"{ERRORS},jitter=0.02x0.1", "--checks", "off")
    print(f"{len(preds)} real detectors x {draws} simulations, four kinds of errors: {wall:.1f} s, {spent:.1f} s CPU")
    with tempfile.TemporaryDirectory() as scratch:
        words = [sys.executable, "-m", "verite", "analyse", str(truth), *map(str, preds), "-o", f"{scratch}/out", "-q"]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"analyse -o of the same: {time.monotonic() - start:.1f} s, {spent:.1f} s CPU; load before {load:.1f}")


def measure_one(truth_path: Path, paths: list[Path], name: str, peers: str | None) -> None:
    """One evaluation against the alternatives, in the same run."""
    truth = vt.read(truth_path)
    preds = [vt.read(path, like=truth) for path in paths[:4]]
    memory = measure_memory(truth, preds)
    results = [vt.coco(truth, pred, threads=1) for pred in preds]
    one = results[0]
    asked = one.evaluation.outcomes().is_asked
    changes = AnnotationErrorSimulation(
        truth, asked, Detection(spurious=0.01, label=0.005, jitter=(0.005, 0.1)), 0
    ).changes(0, 100)
    part = [one.mean_query("AP")]
    changed = cpu(lambda: one.evaluation.bootstrap_means(part, None, changes, 1)) / 100
    weights = np.random.default_rng(0).multinomial(len(truth.images), [1 / len(truth.images)] * len(truth.images), 100)
    drawn = cpu(lambda: one.evaluation.bootstrap_means(part, weights, None, 1)) / 100
    removed, added, labels, _ = changes.draw(0)
    anew = write_truth(truth, removed, changes.objects, added, labels)
    whole = cpu(lambda: vt.coco(anew, preds[0], checks="off", threads=1)["AP"])
    print(f"{name}, one evaluation with 2 % changed: {1e3 * changed:.2f} ms CPU, {whole / changed:.1f} x vt.coco on it")
    line = f"{name}, one bootstrap replicate: {1e3 * drawn:.2f} ms CPU"
    if peers:
        script = HOTCOCO.format(truth=str(truth_path), preds=[str(path) for path in paths[:2]])
        done = subprocess.run([peers, "-c", script], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            theirs = float(done.stdout.split()[-1])
            line += f", {theirs / drawn:.0f} x hotcoco's ({1e3 * theirs:.0f} ms)"
        else:
            line += f" (hotcoco: {done.stderr.strip().splitlines()[-1][:80]})"
    print(line)
    print(f"{name}, memory beyond the files: {memory:.1f} MB a detector")
    board = Board("AP", ("a", "b"), np.array([r["AP"].value for r in results[:2]]), {})
    spent = (
        cpu(lambda: find_influence(board, results[:2], truth, asked, Detection(), 100, None, AuditVerdicts(), 0), 1) / 2
    )
    print(f"{name}, records to flip: {spent:.1f} s CPU a detector", flush=True)


def measure_memory(truth: vt.Annotations, preds: list[vt.Annotations]) -> float:
    """Megabytes that each detector needs beyond its file, which is read when it is first asked for."""
    opened = sum(len(side) for side in (truth, *preds))
    weights, before = np.ones((2, len(truth.images))), rest_memory()
    results = [vt.coco(truth, pred, threads=1) for pred in preds]
    for one in results:
        one.evaluation.bootstrap_means([one.mean_query("AP")], weights, None, 1)
    return (rest_memory() - before) / len(results) if opened else float("nan")


def write_truth(truth: vt.Annotations, removed: Any, objects: Any, added: Any, labels: Any) -> vt.Annotations:
    """The truth of a draw as annotations of its own."""
    kept = np.delete(np.arange(len(truth)), removed)
    base = truth.take(np.concatenate([kept, np.zeros(len(added), np.int64)]))
    sizes = np.concatenate([truth.regions.sizes[kept], objects.regions.sizes[added]])
    crowd = np.concatenate([truth.crowd[kept], np.zeros(len(added), bool)])
    return replace(
        base,
        image=np.concatenate([truth.image[kept], objects.image[added]]),
        label=np.concatenate([truth.label[kept], labels]).astype(np.int32),
        area=np.concatenate([truth.area[kept], objects.area[added]]),
        regions=Regions(sizes, "xywh"),
        flags={"crowd": crowd},
        ids=None,
    )


def measure_coverage(folder: Path, images: int, sets: int, inner: int = 200) -> None:
    """Test sets out of a population, and intervals inside each: how often do they hold the population's value?"""
    truth = vt.read(folder / "coco_gt.json")
    paths = ensure_ten(folder, "d")
    preds = [vt.read(paths[i], like=truth) for i in (0, 2)]
    population = [vt.coco(truth, pred)["AP"].value for pred in preds]
    rng = np.random.default_rng([images, 1])
    hits: dict[str, list[bool]] = {}
    for done in range(sets):
        own = rng.multinomial(images, np.full(len(truth.images), 1 / len(truth.images)))
        weights = np.concatenate([own[None], rng.multinomial(images, own / images, inner)])
        there = own > 0
        found = []
        for pred in preds:
            results = vt.coco(truth.where(there[truth.image]), pred.where(there[pred.image]), checks="off", threads=1)
            found.append(results.evaluation.bootstrap_means([results.mean_query("AP")], weights)[:, 0])
        scores = np.stack(found, axis=1)
        gap, gaps = scores[0, 0] - scores[0, 1], scores[1:, 0] - scores[1:, 1]
        low, high = np.quantile(gaps, [0.025, 0.975])
        true = population[0] - population[1]
        hits.setdefault("gap, percentile", []).append(bool(low <= true <= high))
        hits.setdefault("gap, +- 1.96 sd", []).append(bool(abs(gap - true) <= 1.96 * gaps.std(ddof=1)))
        low, high = np.quantile(scores[1:, 0], [0.025, 0.975])
        hits.setdefault("AP itself, percentile", []).append(bool(low <= population[0] <= high))
        if (done + 1) % 100 == 0 or done + 1 == sets:
            print(f"{images} images, {done + 1} test sets:", flush=True)
            for name, held in hits.items():
                share = np.mean(held)
                print(f"  {name}: {share:.3f} +- {np.sqrt(share * (1 - share) / len(held)):.3f} (nominal .95)")


def measure_calibration(folder: Path, images: int, worlds: int, draws: int, favours: float) -> None:
    """The file is the true truth; records are made from it with errors, and only they are shown to the model.

    Each world has other images, so that true differences are small and of either sign: where one detector is far ahead
    on every truth, its order is always kept and nothing can be learned.
    """
    truth = vt.read(folder / "coco_gt.json")
    preds = [vt.read(path, like=truth) for path in ensure_ten(folder, "d")]
    names = tuple(f"d{i}" for i in range(len(preds)))
    predicted, lead, of_world = [], [], []
    for world in range(worlds):
        rng = np.random.default_rng([7, world])
        there = np.isin(np.arange(len(truth.images)), rng.choice(len(truth.images), images, replace=False))
        own, given = truth.where(there[truth.image]), [pred.where(there[pred.image]) for pred in preds]
        exact = [vt.coco(own, pred, checks="off") for pred in given]
        true = {name: one["AP"].value for name, one in zip(names, exact, strict=True)}
        found = exact[1].evaluation.outcomes().pred >= 0 if favours != 1 else None
        record = corrupt(own, rng, found, favours, given[1])
        board = predict(record, given, names, draws, world)
        for pair in board.pairs:
            predicted.append((pair.shares["errors"] or (np.nan,))[0])
            lead.append(true[pair.first] - true[pair.second])
            of_world.append(world)
    how = "independent errors" if favours == 1 else f"errors {favours:g} times as likely where they favour d1"
    print(f"{how}, {worlds} records of {images} images and {len(preds)} detectors, {draws} draws:")
    tell_bins(np.array(predicted), np.array(lead), np.array(of_world))


def predict(record: vt.Annotations, preds: list[vt.Annotations], names: Any, draws: int, seed: int) -> Board:
    """What the model says about a record."""
    results = [vt.coco(record, pred, checks="off") for pred in preds]
    settings = LeaderboardSettings(draws=draws, resample="none", seed=seed)
    errors = Detection(missing=0.08, spurious=0.03, label=0.03)
    drawn = LeaderboardSimulation(names, results, ["AP"], errors, None, settings).draw()
    scores = np.array([one["AP"].value for one in results])
    return Board("AP", names, scores, {doubt: values[:, :, 0] for doubt, values in drawn.items()})


def tell_bins(predicted: Any, lead: Any, world: Any) -> None:
    """Predicted and actual shares; pairs of one world hang together, so that errors are those of worlds."""
    bins, every, brier = bin_pairs(predicted, lead)
    print(f"  Brier score {brier:.4f}")
    for one in [*bins, every]:
        mine = (predicted >= one.low) & ((predicted < one.high) | (one.high == 1))
        rest = np.bincount(world[mine], (lead[mine] > 0) - one.kept)
        error = np.sqrt((rest**2).sum()) / one.pairs
        verdict = "holds" if abs(one.predicted - one.kept) <= 0.03 + 2 * error else "does not hold"
        where = f"  predicted {one.low:g} .. {one.high:g}: {one.pairs} pairs"
        print(f"{where}, mean {one.predicted:.3f}, kept {one.kept:.3f} +- {error:.3f}: {verdict}", flush=True)


def corrupt(truth: vt.Annotations, rng: np.random.Generator, found: Any, favours: float, pred: Any) -> vt.Annotations:
    """A record with errors: 8 % of the objects are not in it, 3 % have another class, 3 % as many are no objects."""
    count = len(truth)
    tilt = np.ones(count) if found is None else np.where(found, 1.0, favours)
    missed = (rng.random(count) < 0.08 * tilt / tilt.mean()) & ~truth.crowd
    moved = (rng.random(count) < 0.03) & ~missed & ~truth.crowd
    label = np.where(moved, (truth.label + rng.integers(1, len(truth.labels), count)) % len(truth.labels), truth.label)
    if found is None:
        source = rng.integers(0, count, rng.poisson(0.03 * count))
        image, boxes = rng.choice(np.unique(truth.image), len(source)), truth.regions.sizes[source]
        new = truth.label[source]
    else:  # annotators were shown this detector's boxes
        wrong = np.flatnonzero(vt.coco(truth, pred).evaluation.outcomes().state == 0)
        source = rng.choice(wrong, rng.poisson(0.03 * count), replace=False)
        image, boxes, new = pred.image[source], pred.regions.sizes[source], pred.label[source]
    kept = np.flatnonzero(~missed)
    base = truth.take(np.concatenate([kept, np.zeros(len(new), np.int64)]))
    return replace(
        base,
        image=np.concatenate([truth.image[kept], image]).astype(np.int32),
        label=np.concatenate([label[kept], new]).astype(np.int32),
        area=np.concatenate([truth.area[kept], np.prod(boxes[:, 2:], axis=1)]),
        regions=Regions(np.concatenate([truth.regions.sizes[kept], boxes]), "xywh"),
        flags={"crowd": np.concatenate([truth.crowd[kept], np.zeros(len(new), bool)])},
        ids=None,
    )


def compare_written(folder: Path) -> None:
    """Three drawn truths of each size, written out, read and evaluated."""
    truth = vt.read(folder / "coco_gt.json")
    document = json.loads((folder / "coco_gt.json").read_text())
    preds = [vt.read(path, like=truth) for path in ensure_ten(folder, "d")[:3]]
    names = tuple(f"d{i}" for i in range(3))
    results = [vt.coco(truth, pred) for pred in preds]
    errors = Detection(missing=0.05, spurious=0.02, label=0.01, jitter=(0.05, 0.15))
    simulation = LeaderboardSimulation(names, results, ["AP"], errors, None, LeaderboardSettings(draws=3))
    assert simulation.ground_truths is not None
    changes: Changes = simulation.ground_truths.changes(0, 3)
    drawn = results[0].evaluation.bootstrap_means([results[0].mean_query("AP")], None, changes)[:, 0]
    for i in range(3):
        removed, added, labels, again = changes.draw(i)
        objects = changes.objects
        assert objects is not None
        kept = [one for row, one in enumerate(document["annotations"]) if row not in set(removed.tolist())]
        new = [
            {"image_id": document["images"][objects.image[row]]["id"], "iscrowd": 0, "area": float(objects.area[row]),
             "category_id": document["categories"][label]["id"], "bbox": objects.regions.sizes[row].tolist()}
            for row, label in zip(added.tolist(), labels.tolist(), strict=True)
        ]  # fmt: skip
        new += [{**document["annotations"][row], "bbox": [-1e6, -1e6, 1, 1]} for row in again.tolist()]
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "drawn.json"
            listed = [{**one, "id": n + 1} for n, one in enumerate([*kept, *new])]
            path.write_text(json.dumps({**document, "annotations": listed}))
            other = vt.read(path)
            pred = vt.read(folder / "d0.json", like=other)
            expected = vt.coco(other, pred, checks="off")["AP"].value
        print(f"draw {i}: {drawn[i]:.15f}, written out {expected:.15f}, difference {drawn[i] - expected:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("bench-data"))
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--real", type=Path, help="folder of COCO val2017 with real detectors, as for work.py")
    parser.add_argument("--peers", help="the Python that has hotcoco")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--calibration", action="store_true")
    parser.add_argument("--written", action="store_true")
    parser.add_argument("--sets", type=int, default=600)
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--worlds", type=int, default=40)
    given = parser.parse_args()
    if given.real:
        measure_real(given.real, given.draws)
    elif given.coverage:
        measure_coverage(given.folder, given.images, given.sets)
    elif given.calibration:
        for favours in (1.0, 4.0):
            measure_calibration(given.folder, given.images, given.worlds, min(given.draws, 200), favours)
    elif given.written:
        compare_written(given.folder)
    else:
        measure_speed(given.folder, given.draws, given.peers)


if __name__ == "__main__":
    main()
