"""The figures that benchmarks/statistics.py prints, one function for each part of the specification."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from acceptance import show
from statistics_worlds import Detector, World

import verite as vt
from verite.analysis.calibration import Calibration
from verite.analysis.slices import SliceAP, Slices
from verite.annotation_errors import Detection
from verite.leaderboards.audit import AuditRow, find_annotation, find_candidates, rate_of_sample
from verite.leaderboards.leaderboard import LeaderboardSettings, LeaderboardSimulation
from verite.leaderboards.result import Board
from verite.leaderboards.simulation import SPURIOUS_STREAM
from verite.statistics.half_samples import HALVES, half_sample_interval
from verite.statistics.intervals import clustered_wilson, percentile_interval, wilson
from verite.statistics.mcnemar import mcnemar_exact, sign_flip_exact
from verite.statistics.multiple_comparisons import compare_all_pairs
from verite.statistics.resampling import SampledUnits

HERE = Path(__file__).resolve().parent
# Real detectors of COCO val2017: nine with AP between 0.19 and 0.29, and six from 0.24 to 0.44.
CLOSE = (
    "rcnn-inception-resnet-v2-lowproposals", "rcnn-inception-v2", "rcnn-resnet101-lowproposals",
    "rcnn-resnet50-lowproposals", "ssd-inception-v2", "ssd-mobilenet-v1-non-quantized-mlperf",
    "ssd-mobilenet-v1-quantized-mlperf", "ssdlite-mobilenet-v2", "yolo-v3",
)  # fmt: skip
SIX = (
    "ssd-mobilenet-v1-quantized-mlperf", "ssdlite-mobilenet-v2", "ssd-inception-v2", "yolo-v3", "ssd-resnet50-fpn",
    "rcnn-nas-lowproposals",
)  # fmt: skip
ECE_SIZES = (50, 100, 300, 1000)
POPULATIONS = 4  # with classes and a detector of their own, among which the worlds of an interval are divided


def real_results(folder: Path, names: tuple[str, ...] = SIX) -> Iterator[tuple[str, Any]]:
    """Evaluate real detectors on COCO val2017; nothing where the data are absent."""
    home = folder / "coco_val2017"
    if not (home / "truth.json.gz").exists():
        print(f"  skipped: no real data in {folder} (--real)")
        return
    truth = vt.read(home / "truth.json.gz")
    for name in names:
        if (path := home / "results" / f"{name}.json.gz").exists():
            yield name, vt.coco(truth, vt.read(path, like=truth), checks="off")


def subsets(rng: np.random.Generator, size: int, of: int, count: int) -> np.ndarray[Any, Any]:
    """Return random subsets of images as rows of weights."""
    weights = np.zeros((count, of))
    for row in weights:
        row[rng.permutation(of)[:size]] = 1
    return weights


def ties_and_audits(options: argparse.Namespace) -> None:
    """S2: groups agree with P(first); checking the list moves no probability; rates from verdicts."""
    demo = files("verite") / "data" / "demo"
    paths = [str(demo / f"{name}.json") for name in ("truth", "hawk", "magpie", "mole")]
    from verite.cli import run

    for more in (["--errors", "spurious=0.2,missing=0.2", "--bias-toward", "hawk:20"], ["--errors", "jitter=1x0.1"]):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            run(["leaderboard", *paths, *more, "--draws", "400", "--json", "--quiet"])
        show(
            f"hawk and magpie tied with {' '.join(more)}",
            ["hawk", "magpie"] in json.loads(out.getvalue())["groups"],
            (1, 1),
        )
    missing_by_lvis(options)
    for kind in ("independent", "habit"):
        said, rates, odds, coherent = [], [], [], []
        for k in range(options.worlds):
            rng = np.random.default_rng([options.seed, 2, k, len(kind)])
            world = World(rng, 300, rng.normal(0, 0.5, 10))
            record, is_spurious, missing = world.annotate(kind)
            learned = (rng.random(5) < 0.5).astype(float) if kind == "habit" else np.zeros(5)
            preds = {f"d{i}": world.detect(Detector.sample(rng, 0.06, learned[i])) for i in range(5)}
            share = Detection(missing=missing.sum() / len(record), spurious=is_spurious.sum() / len(record))
            settings = LeaderboardSettings(draws=200, resample="none", checks="off", threads=1, audit_size=400, seed=k)
            results = [vt.coco(record, pred, name=name, checks="off", threads=1) for name, pred in preds.items()]
            before = LeaderboardSimulation(tuple(preds), results, ["AP"], share, None, settings)
            board = board_of(before)
            rows = before.influence(board).rows
            verdicts = [replace(row, verdict=verdict_of(row, record, is_spurious, world, missing)) for row in rows]
            after = LeaderboardSimulation(tuple(preds), results, ["AP"], share, verdicts, settings)
            changed = board_of(after)
            best = max(preds, key=lambda name: vt.coco(world.truth, preds[name], checks="off", threads=1)["AP"].value)
            first = board.names[0]
            said.append([one.p_first(one.names.index(first))["errors"] or 0.0 for one in (board, changed)])
            said[-1].append(float(best == first))
            if kind == "independent":
                own = LeaderboardSimulation(
                    tuple(preds), results, ["AP"], share, verdicts_of_model(before, rows), settings
                )
                again = board_of(own)
                coherent.append((again.p_first(again.names.index(first))["errors"] or 0.0) - said[-1][0])
            drawn = [row for row in verdicts if row.weight is not None and row.kind == "spurious" and row.verdict]
            errors, checked = rate_of_sample(drawn)
            rates.append((errors / checked, is_spurious.mean()))
            of_neighbours = zip(changed.names, changed.names[1:], after.influence(changed).odds, strict=False)
            for one, other, found in of_neighbours:
                if found is not None and learned[int(one[1:])] > learned[int(other[1:])]:
                    odds.append((found.value, found.low > 1))
        p_before, p_after, right = np.array(said).T
        # Errors that some detectors have learned are outside the model: there verdicts should move P(first).
        is_modelled = kind == "independent"
        show(f"{kind}: leader is the best on the true ground truth", float(right.mean()), trials=len(said))
        for what, values, wanted in (
            ("P(first) before − that", p_before - right, None),
            ("P(first) after 400 verdicts − that", p_after - right, (-0.06, 0.06) if is_modelled else None),
            ("mean move of P(first) by 400 verdicts", p_after - p_before, (-0.03, 0.03) if is_modelled else None),
            ("change of the Brier score", (p_after - right) ** 2 - (p_before - right) ** 2, (-9.0, 0.003)),
        ):
            error = float(np.std(values, ddof=1)) / len(values) ** 0.5
            show(f"{kind}: {what}", float(np.mean(values)), wanted, error=error)
        if coherent:
            what = "the same move, if errors are as the model says"
            error = float(np.std(coherent, ddof=1)) / len(coherent) ** 0.5
            show(f"{kind}: {what}", float(np.mean(coherent)), (-0.03, 0.03), error=error)
        implied, true = np.mean(rates, axis=0)
        show(f"{kind}: rate from verdicts / true rate ({true:.3f})", float(implied / true), (0.6, 1.4))
        if odds:
            values, exceed = np.array(odds).T
            what = f"{kind}: odds of checked annotations, where the first of two alone has learned"
            show(f"{what}: median", float(np.median(values)))
            show(f"{what}: exceed 1 significantly", float(exceed.mean()), trials=len(odds))


def missing_by_lvis(options: argparse.Namespace) -> None:
    """Print how the odds grow with confidence that an unmatched prediction is an object, by a second annotation."""
    from agree import coco_and_lvis

    home = options.real / "coco_val2017"
    if not (home / "lvis_val100").exists():
        print(f"  skipped: no real data in {options.real} (--real)")
        return
    truth, again = coco_and_lvis(home)
    paths = [path for path in sorted((home / "results").glob("*.json.gz")) if "tensorrt" not in path.name]
    results = []
    for path in paths:
        pred = vt.read(path, like=truth)
        pred = pred.where(pred.image < len(truth.images)).changed(images=truth.images)
        results.append(vt.coco(truth, pred, checks="off"))
    names, settings = tuple(path.name for path in paths), LeaderboardSettings(draws=1, resample="none", checks="off")
    pool = LeaderboardSimulation(names, results, ["AP"], Detection(missing=0.1), None, settings).pool
    assert pool is not None
    images, labels = ([truth.images.name(i) for i in pool.image], [truth.labels.name(i) for i in pool.label])
    corners = np.column_stack([pool.boxes[:, :2], pool.boxes[:, :2] + pool.boxes[:, 2:]])
    every = {"images": [truth.images.name(i) for i in range(len(truth.images))], "labels": truth.labels.all_names}
    found = vt.Annotations.of(images, labels, corners, confidence=np.minimum(pool.weight, 1.0), **every)
    is_object = np.zeros(len(pool), dtype=bool)
    matched = vt.coco(again, found, checks="off").evaluation.outcomes().pred
    is_object[matched[matched >= 0]] = True
    columns = np.column_stack([np.ones(len(pool)), np.log(pool.weight)])
    slope = np.zeros(2)
    for _ in range(50):  # logistic regression by Newton's method
        chance = 1 / (1 + np.exp(-columns @ slope))
        information = (columns * (chance * (1 - chance))[:, None]).T @ columns
        slope += np.linalg.solve(information, columns.T @ (is_object - chance))
    what = f"LVIS: {is_object.sum()} objects of {len(pool):,} candidates, exponent of confidence (1 assumed)"
    show(what, float(slope[1]), error=float(np.linalg.inv(information)[1, 1] ** 0.5))


def board_of(simulation: LeaderboardSimulation) -> Board:
    """Return the simulated ranking by AP, without what else a leaderboard has."""
    scores = np.array([one.scores["AP"].value for one in simulation.results])
    drawn = {source: found[:, :, 0] for source, found in simulation.simulate().items()}
    return Board("AP", simulation.names, scores, drawn)


def verdicts_of_model(simulation: LeaderboardSimulation, rows: list[AuditRow]) -> list[AuditRow]:
    """Return the rows with verdicts from one simulated ground truth more, which the simulations do not include."""
    ground_truths, number = simulation.ground_truths, simulation.settings.draws + 1
    assert ground_truths is not None
    assert ground_truths.pool is not None
    is_spurious = np.zeros(len(simulation.truth), dtype=np.bool_)
    is_spurious[ground_truths.rows] = ground_truths.sample_errors("spurious", number, SPURIOUS_STREAM)
    missing = set(ground_truths.sample_missing(number)[0].tolist())
    found = []
    for row in rows:
        if row.kind == "spurious":
            is_wrong = bool(is_spurious[find_annotation(row, simulation.truth)])
        else:
            is_wrong = not missing.isdisjoint(find_candidates(row, simulation.truth, ground_truths.pool))
        found.append(replace(row, verdict="wrong" if is_wrong else "right"))
    return found


def verdict_of(row: AuditRow, record: Any, is_spurious: Any, world: World, missing: Any) -> str:
    """Return the true verdict about an audit row."""
    if row.kind == "spurious":
        return "wrong" if is_spurious[find_annotation(row, record)] else "right"
    lost = np.flatnonzero(missing & (world.image == int(row.image)) & (world.label == int(row.label.split()[1])))
    boxes = world.box[lost]

    class Pool:
        image = np.full(len(lost), record.images.find(row.image))
        label = np.full(len(lost), world.label[lost[0]] if len(lost) else 0)

    Pool.boxes = np.column_stack([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]])  # type: ignore[attr-defined]
    return "wrong" if len(lost) and find_candidates(row, record, Pool) else "right"  # type: ignore[arg-type]


def intervals_around_ap(options: argparse.Namespace) -> None:
    """S3: coverage for test sets of this size and for more images; time; threads."""
    many = options.population
    for images, classes in ((500, 80), (1000, 20), (2000, 80), (250, 5)):
        covered, biases = [], []
        for k in range(POPULATIONS):
            rng = np.random.default_rng([options.seed, 3, images, classes, k])
            effects, detector = rng.normal(0, 0.5, classes), Detector.sample(rng, 0.4)
            big = World(rng, many, effects)
            target = vt.coco(big.truth, big.detect(detector), checks="off")["AP"].value
            found = []
            for _ in range(max(options.worlds // POPULATIONS, 2)):
                world = World(rng, images, effects)
                results = vt.coco(world.truth, world.detect(detector), checks="off", threads=1)
                found.append((results.interval("AP"), results.interval("AP", many)))
            expected = float(np.mean([one.measured for one, _ in found]))
            for one, two in found:
                covered.append([one.low <= expected <= one.high, two.low <= target <= two.high])
                covered[-1].append(one.low <= target <= one.high)
            biases.append((np.mean([one.measured - two.value for one, two in found]), expected - target))
        name, trials = f"{images} images × {classes} classes", len(covered)
        here, there, plain = np.mean(covered, axis=0).tolist()
        show(f"{name}: mean AP of this size covered", here, (0.92, 0.98), trials)
        show(f"{name}: AP of {many:,} images covered", there, (0.89, 0.98), trials)
        show(f"{name}: the same by the interval for this size", plain, trials=trials)
        estimated, true = np.mean(biases, axis=0).tolist()
        show(f"{name}: bias estimated / true ({true:.4f})", estimated / true)
    for name, results in real_results(options.real):
        rng = np.random.default_rng([options.seed, 33])
        count = len(results.truth.images)
        hits, by_percentiles, excess = [], [], []
        for chosen in subsets(rng, 500, count, options.worlds):
            units = SampledUnits.of([results.truth.images.name(i) for i in np.flatnonzero(chosen)])
            weights = np.zeros((HALVES + 1, count))
            weights[0] = chosen
            weights[1:, np.flatnonzero(chosen)] = units.half_samples(HALVES)
            scores = results.draw_scores(["AP"], weights)[:, 0]
            interval = half_sample_interval("AP", float(scores[0]), scores[1:], 500, images=count)
            hits.append(interval.low <= results["AP"].value <= interval.high)
            excess.append(float(scores[0]) - results["AP"].value)
            if len(hits) % 4 == 1:
                weights[1:, np.flatnonzero(chosen)] = units.bootstrap(HALVES)
                low, high = percentile_interval(results.draw_scores(["AP"], weights[1:])[:, 0], 0.95)
                by_percentiles.append(low <= results["AP"].value <= high)
        show(f"real, {name}: AP of {count:,} from 500 images", float(np.mean(hits)), (0.92, 0.98), options.worlds)
        what, trials = "the same, by percentiles of the bootstrap", len(by_percentiles)
        show(f"real, {name}: {what}", float(np.mean(by_percentiles)), trials=trials)
        show(f"real, {name}: AP of 500 images − AP of {count:,}", float(np.mean(excess)))
    for name, results in real_results(options.real, ("ssd-resnet50-fpn",)):
        results.interval("AP")
        start = time.process_time()
        one = results.interval("AP", "all")
        show(
            f"real, {name}: CPU seconds of 200 halves, {len(results.pred):,} boxes",
            time.process_time() - start,
            (-9, 0.25),
        )
        again = vt.coco(results.truth, results.pred, checks="off", threads=4).interval("AP", "all")
        show("the same bytes with 4 threads", float(one == again), (1, 1))


def probabilities_of_first(options: argparse.Namespace) -> None:
    """S4: P(first) over images, as share of resamples and by shrinkage, against who is first on all images."""
    said: list[tuple[float, float, bool]] = []
    for k in range(options.worlds):
        rng = np.random.default_rng([options.seed, 4, k])
        effects, detectors = rng.normal(0, 0.5, 10), [Detector.sample(rng, 0.06) for _ in range(5)]
        boards = []
        for images in (300, 8000):
            world = World(rng, images, effects)
            boards.append([vt.coco(world.truth, world.detect(d), checks="off", threads=1) for d in detectors])
        said.append(judge_first(boards[0], [one["AP"].value for one in boards[1]]))
    report_first("generated", said)
    real = [results for _, results in real_results(options.real, CLOSE)]
    if not real:
        return
    said, rng = [], np.random.default_rng([options.seed, 44])
    truths = np.array([one["AP"].value for one in real])
    for chosen in subsets(rng, 300, len(real[0].truth.images), options.worlds):
        at = np.flatnonzero(chosen)
        weights = np.zeros((201, len(chosen)))
        weights[0] = chosen
        for row in weights[1:]:
            row[at] = np.bincount(rng.integers(0, len(at), len(at)), minlength=len(at))
        scores = np.stack([one.draw_scores(["AP"], weights)[:, 0] for one in real], axis=1)
        board = Board("AP", tuple(str(i) for i in range(len(real))), scores[0], {"images": scores[1:]})
        shrunken = board.p_first_images[0]
        assert shrunken is not None
        said.append((board.p_first(0)["images"] or 0.0, shrunken, int(board.names[0]) == int(truths.argmax())))
    report_first(f"real, {len(real)} detectors", said)


def judge_first(results: list[Any], truths: list[float]) -> tuple[float, float, bool]:
    """Return share of resamples and shrunken probability of the leader, and whether it is the best."""
    board = vt.leaderboard({str(i): one for i, one in enumerate(results)}, draws=200, threads=1).board
    shrunken = board.p_first_images[0]
    assert shrunken is not None
    return board.p_first(0)["images"] or 0.0, shrunken, int(board.names[0]) == int(np.argmax(truths))


def report_first(name: str, said: list[tuple[float, float, bool]]) -> None:
    """Print said and true frequencies of being first, and Brier scores."""
    shares, shrunken, right = (np.array(column, dtype=float) for column in zip(*said, strict=True))
    show(f"{name}: leader is the best", float(right.mean()), trials=len(said))
    show(f"{name}: first in resamples, mean share − that", float(shares.mean() - right.mean()))
    excess, worse = shrunken - right, (shrunken - right) ** 2 - (shares - right) ** 2
    errors = [float(one.std(ddof=1)) / len(said) ** 0.5 for one in (excess, worse)]
    show(f"{name}: P(first) by shrinkage − that", float(excess.mean()), (-0.06, 0.06), error=errors[0])
    show(f"{name}: Brier score by shrinkage − by resamples", float(worse.mean()), (-9, 0.003), error=errors[1])


def few_groups(options: argparse.Namespace) -> None:
    """S5: family-wise error rate of six equal systems on few groups of images."""
    trials = max(1500, 2 * options.worlds)  # of some milliseconds each
    for groups in (10, 20, 60, 200):
        rng = np.random.default_rng([options.seed, 5, groups])
        wrong = 0
        for _ in range(trials):
            scores = rng.normal(0, 1, (groups, 1)) + rng.normal(0, 1, (groups, 6))
            samples = rng.multinomial(groups, np.full(groups, 1 / groups), 400) @ scores / groups
            wrong += bool(compare_all_pairs(scores.mean(axis=0), samples, 0.95, groups).ahead.any())
        show(f"{groups} groups: family-wise error", wrong / trials, (-9, 0.08), trials)


def clustered_intervals(options: argparse.Namespace) -> None:
    """S6: coverage of recall and precision, image-level tests, sentences about worst slices without any."""
    trials = max(200, 2 * options.worlds)
    for images in (300, 50):
        rng = np.random.default_rng([options.seed, 6, images])
        effects, detector = rng.normal(0, 0.5, 10), Detector.sample(rng, 0.2)
        big = World(rng, options.population, effects)
        whole = shares_by_image(vt.coco(big.truth, big.detect(detector), checks="off"))
        true = [hits.sum() / counts.sum() for hits, counts in whole]
        covered = np.zeros((trials, 2, 2))
        for k in range(trials):
            world = World(rng, images, effects)
            found = shares_by_image(vt.coco(world.truth, world.detect(detector), checks="off", threads=1))
            covered[k] = [coverage(one, p) for one, p in zip(found, true, strict=True)]
        report_coverage(f"{images} images", covered, 0.91 if images == 300 else None)
    for name, results in real_results(options.real):
        rng = np.random.default_rng([options.seed, 66])
        whole = shares_by_image(results)
        true = [hits.sum() / counts.sum() for hits, counts in whole]
        count = max(1500, trials)  # sums of images alone, which costs nothing
        covered = np.zeros((count, 2, 2))
        for k in range(count):
            at = rng.permutation(len(results.truth.images))[:300]
            covered[k] = [coverage((hits[at], counts[at]), p) for (hits, counts), p in zip(whole, true, strict=True)]
        report_coverage(f"real, {name}, 300 images", covered, 0.94)
    rng = np.random.default_rng([options.seed, 666])
    rejected, tests = np.zeros(2), max(1000, trials)
    for _ in range(tests):  # two equally good detectors, each with easy and hard images of its own
        counts = rng.poisson(rng.gamma(1.2, 5 / 1.2, 300))
        chances = 1 / (1 + np.exp(-(0.5 + rng.normal(0, 0.7, (300, 1)) + rng.normal(0, 0.7, (300, 2)))))
        hits = [rng.random((int(count), 2)) < chance for count, chance in zip(counts, chances, strict=True)]
        only = np.array([[(one[:, 0] & ~one[:, 1]).sum(), (one[:, 1] & ~one[:, 0]).sum()] for one in hits])
        rejected += sign_flip_exact(only[:, 0] - only[:, 1]) < 0.05, mcnemar_exact(*only.sum(axis=0).tolist()) < 0.05
    show("equal detectors: test over images rejects at 0.05", rejected[0] / tests, (-9, 0.07), tests)
    show("the same, McNemar's test over objects", rejected[1] / tests, trials=tests)
    rng = np.random.default_rng([options.seed, 6666])
    effects, detector, alarms = rng.normal(0, 0.5, 10), Detector.sample(rng, 0.2), 0
    for _ in range(trials):
        world = World(rng, 300, effects)
        matches = vt.coco(world.truth, world.detect(detector), checks="off", threads=1).analyse(only="slices").matches
        meta = {"site": [str(site) for site in rng.integers(0, 30, 300)]}
        alarms += bool(NullSlices(matches, ("site",), meta).worst())
    show("30 random slices: runs with a sentence about a worst one", alarms / trials, (-9, 0.07), trials)


class NullSlices(Slices):
    """Slices without AP, which costs most of the time and is not part of the sentences."""

    def find_ap(self, one: Any) -> list[SliceAP]:
        return [SliceAP()] * len(one.bins)


def shares_by_image(results: Any) -> list[tuple[Any, Any]]:
    """Return hits and trials of each image, for recall, and for precision at confidence ≥ 0.5."""
    outcomes = results.evaluation.outcomes()
    truth, pred, size = results.evaluation.truth, results.evaluation.pred, len(results.truth.images)
    found, counted = (outcomes.pred >= 0) & outcomes.is_asked, outcomes.is_asked
    right = np.zeros(len(pred), dtype=bool)
    right[outcomes.pred[found]] = True
    sure = pred.confidence >= 0.5
    return [
        (np.bincount(truth.image[found], minlength=size), np.bincount(truth.image[counted], minlength=size)),
        (np.bincount(pred.image[right & sure], minlength=size), np.bincount(pred.image[sure], minlength=size)),
    ]


def coverage(shares: tuple[Any, Any], true: float) -> tuple[bool, bool]:
    """Return whether the clustered interval and that of independent objects cover a share."""
    hits, counts = shares
    ends = clustered_wilson(hits, counts), wilson(float(hits.sum() / counts.sum()), float(counts.sum()))
    return ends[0][0] <= true <= ends[0][1], ends[1][0] <= true <= ends[1][1]


def report_coverage(name: str, covered: Any, least: float | None) -> None:
    """Print the coverage of recall and precision."""
    for i, share in enumerate(("recall", "precision")):
        wanted = None if least is None else (least, 9.0)
        show(f"{name}: {share} covered", float(covered[:, i, 0].mean()), wanted, len(covered))
        show(f"{name}: {share} covered, objects independent", float(covered[:, i, 1].mean()), trials=len(covered))


def calibration_and_suspicion(options: argparse.Namespace) -> None:
    """S10: ECE of a calibrated detector against its null; suspicion and probabilities from verdicts."""
    for size in ECE_SIZES:
        rng = np.random.default_rng([options.seed, 10, size])
        found = []
        for _ in range(max(options.worlds, 40)):
            boxes = [[20.0 * i, 0, 20.0 * i + 10, 10] for i in range(size)]
            names = [f"{i // 4:04d}" for i in range(size)]
            confidence = rng.random(size)
            right = rng.random(size) < confidence
            known = {"images": sorted(set(names)), "labels": ["cat"]}
            rows = np.flatnonzero(right)
            truth = vt.Annotations.of([names[i] for i in rows], ["cat"] * len(rows), np.array(boxes)[rows], **known)
            pred = vt.Annotations.of(names, ["cat"] * size, boxes, confidence=confidence, **known)
            part: Calibration = vt.coco(truth, pred, checks="off", threads=1).analyse(only="calibration").calibration
            document = part.to_dict()
            found.append((document["ece"], document["ece"] - document["ece_if_calibrated"]))
        plain, excess = np.mean(found, axis=0)
        show(f"calibrated detector, {size} predictions: ECE", float(plain))
        error = float(np.std([one for _, one in found], ddof=1)) / len(found) ** 0.5
        show(f"calibrated detector, {size} predictions: ECE − null", float(excess), (-0.01, 0.01), error=error)
    high, wrong_at_high, moved, count = 0, 0, 0.0, 0
    for k in range(max(options.worlds // 4, 5)):
        rng = np.random.default_rng([options.seed, 100, k])
        world = World(rng, 300, rng.normal(0, 0.5, 10))
        record, is_spurious, missing = world.annotate("independent")
        results = vt.coco(record, world.detect(Detector.sample(rng, 0.2)), checks="off", threads=1)
        first = results.analyse(only="suspicious", audit=300).suspicious
        marked = [replace(row, verdict=verdict_of(row, record, is_spurious, world, missing))
                  for row in first.audit(300) if row.kind in ("spurious", "missing")]  # fmt: skip
        again = results.analyse(only="suspicious", verdicts=marked).suspicious
        truths = {row.location[:-1]: row.verdict == "wrong" for row in marked}
        for one, probability in zip(again.listed, again.probabilities.tolist(), strict=True):
            is_wrong = (
                truths.get(again.audit_row(one).location[:-1]) if one.kind in ("missing?", "is it there?") else None
            )
            if is_wrong is None or np.isnan(probability):
                continue
            high, wrong_at_high = high + (one.suspicion >= 0.9), wrong_at_high + (one.suspicion >= 0.9 and is_wrong)
            moved, count = moved + probability - is_wrong, count + 1
    if high:
        show(f"suspicion ≥ 0.9: share that is wrong, n = {high}", wrong_at_high / high, trials=high)
    if count:
        show("probability after 50 verdicts, out of fold: mean − share wrong", moved / count, (-0.05, 0.05))


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "S2": ties_and_audits,
    "S3": intervals_around_ap,
    "S4": probabilities_of_first,
    "S5": few_groups,
    "S6": clustered_intervals,
    "S10": calibration_and_suspicion,
}


def main(description: str) -> None:
    """Print the figures that were asked for."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, such as S3,S6")
    parser.add_argument("--worlds", type=int, default=40, help="worlds or test sets of each kind (default 40)")
    parser.add_argument("--population", type=int, default=60_000, help="images that stand for all (default 60,000)")
    parser.add_argument("--seed", type=int, default=20261118)
    parser.add_argument("--real", type=Path, default=HERE.parent.parent / "shared" / "real")
    options = parser.parse_args()
    unknown = [name for name in options.only.split(",") if name not in PARTS]
    if unknown:
        parser.error(f"--only: expected {', '.join(PARTS)}, found {', '.join(unknown)}")
    for name in options.only.split(","):
        start = time.process_time()
        print(f"{name}: {str(PARTS[name].__doc__).partition(': ')[2]}")
        PARTS[name](options)
        print(f"  ({time.process_time() - start:.0f} s of CPU, {options.worlds} worlds, seed {options.seed})")
