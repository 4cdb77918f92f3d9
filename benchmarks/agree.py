"""Acceptance figures of agree, gold images, tables of scores and plans, on generated worlds and on real annotators.

    python benchmarks/agree.py                 everything, smaller numbers of worlds (some minutes)
    python benchmarks/agree.py --rates 60      error rates from two and three annotators, sets of 150 images
    python benchmarks/agree.py --gold 40       gold images in four worlds of annotation errors, 300 images
    python benchmarks/agree.py --scores 300    family-wise error of tables of scores, cases within patients
    python benchmarks/agree.py --plan 120      power that was planned from 300 images, and what it is
    python benchmarks/agree.py --real          three radiologists, crowd polygons, COCO annotated again by LVIS

Worlds have objects of differing difficulty, look-alikes, and detectors that share both; the true rates are known. Each
line has a figure, the range that was wanted, and whether it is reached, as in statistics.py; --seed gives fresh worlds.
The real data are read from ../shared/real, beside the project; without it that part is left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from acceptance import show

import verite as vt
from verite.annotation_errors.agree import count_verdicts
from verite.annotation_errors.annotator_rates import DetectorSupport, RateModel
from verite.annotation_errors.annotators import read_annotators
from verite.annotation_errors.object_matching import match_objects
from verite.leaderboards.leaderboard import LeaderboardSettings, rank_results
from verite.leaderboards.plan import power_of
from verite.leaderboards.score_tables import CaseScores, ScoreSettings, rank_scores

REAL = Path(__file__).parents[2] / "shared" / "real"
CLASSES, DETECTORS, SEED = 10, 5, 2026
LABELS = tuple(f"c{i}" for i in range(CLASSES))
CLASS_SHARES = 1 / np.arange(1, CLASSES + 1) ** 0.75
CLASS_SHARES /= CLASS_SHARES.sum()


# -- worlds


@dataclass
class World:
    """Objects with a difficulty, and look-alikes, in images of 640 x 480 pixels; boxes are x, y, width, height."""

    images: int
    image: Any
    label: Any
    box: Any
    difficulty: Any
    ambiguity: Any
    clutter_image: Any
    clutter_label: Any
    clutter_box: Any
    clutter_look: Any

    @classmethod
    def make(cls, rng: np.random.Generator, images: int, difficulty_of_class: Any) -> World:
        counts = np.minimum(np.floor(rng.lognormal(np.log(7.4) - 0.45, 0.95, images) + 0.9 * rng.random(images)), 90)
        image = np.repeat(np.arange(images), counts.astype(int))
        kinds = rng.choice(CLASSES, (images, 6), p=CLASS_SHARES)
        slot = rng.random(len(image)) ** 1.6 * np.minimum(1 + rng.poisson(2, images), 6)[image]
        label = kinds[image, slot.astype(int)]
        box, size = random_boxes(rng, len(image))
        of_image = rng.normal(0, 0.7, images)
        own = rng.normal(0, 0.8, len(image))
        difficulty = of_image[image] + difficulty_of_class[label] - 0.7 * (size - 4.1) / 1.1 + own
        where = np.repeat(np.arange(images), rng.poisson(4.0, images))
        look = rng.normal(-2.2, 1.0, len(where)) - 0.3 * of_image[where]
        clutter = kinds[where, rng.integers(0, 6, len(where))]
        boxes = random_boxes(rng, len(where))[0]
        return cls(images, image, label, box, difficulty, rng.random(len(image)), where, clutter, boxes, look)


def random_boxes(rng: np.random.Generator, count: int) -> tuple[Any, Any]:
    size = rng.normal(4.1, 1.1, count)
    aspect = np.exp(rng.normal(0, 0.4, count))
    width, height = np.clip(np.exp(size) * aspect, 4, 600), np.clip(np.exp(size) / aspect, 4, 460)
    x, y = rng.random(count) * (640 - width), rng.random(count) * (480 - height)
    return np.stack([x, y, width, height], axis=1), size


def move(box: Any, shift: Any) -> Any:
    """Displace the four sides by shares of width and height."""
    low = box[:, :2] + shift[:, :2] * box[:, 2:]
    high = np.maximum(box[:, :2] + box[:, 2:] + shift[:, 2:] * box[:, 2:], low + 1)
    return np.concatenate([low, high - low], axis=1)


def loosen(box: Any, share: Any) -> Any:
    return np.concatenate([box[:, :2] - share * box[:, 2:] / 2, box[:, 2:] * (1 + share)], axis=1)


def other_class(rng: np.random.Generator, label: Any) -> Any:
    return (label + rng.integers(1, CLASSES, len(label))) % CLASSES


def annotations(images: int, image: Any, label: Any, box: Any, confidence: Any = None) -> vt.Annotations:
    order = np.lexsort((label, image))
    return vt.Annotations(
        images=vt.Images([f"{i:06d}" for i in range(images)], widths=[640] * images, heights=[480] * images),
        labels=vt.Labels(list(LABELS)),
        image=image[order].astype(np.int32),
        label=label[order].astype(np.int32),
        regions=vt.Regions(np.ascontiguousarray(box[order]), "xywh"),
        confidence=None if confidence is None else confidence[order],
    )


@dataclass
class Detector:
    ability: float
    accuracy: float
    clutter: float
    confusion: float
    of_class: Any
    learned: float = 0.0  # how far the habits of annotators were learned
    loose: float = 0.0

    @classmethod
    def make(cls, rng: np.random.Generator, spread: float) -> Detector:
        return cls(rng.normal(0, spread), 0.06 * np.exp(rng.normal(0, 0.25 * spread)), 1 + rng.normal(0, spread),
                   0.1 * np.exp(rng.normal(0, spread)), rng.normal(0, 0.15, CLASSES))  # fmt: skip

    def detect(self, rng: np.random.Generator, world: World, habit: Any = None) -> vt.Annotations:
        """Detect objects and look-alikes; `habit` are what annotators leave out and take for objects."""
        left_out, taken = (0, 0) if habit is None else habit
        evidence = self.ability + self.of_class[world.label] - world.difficulty + rng.normal(0, 0.7, len(world.image))
        evidence = evidence - 2 * self.learned * left_out
        seen = np.flatnonzero(evidence > -1.5)
        look = 0.3 * self.ability + self.clutter + world.clutter_look + rng.normal(0, 0.7, len(world.clutter_image))
        look = look + 2.5 * self.learned * taken
        false = np.flatnonzero(look > -1.5)
        extra = rng.poisson(world.images)
        box = [move(world.box[seen], self.accuracy * rng.normal(0, 1, (len(seen), 4))),
               move(world.clutter_box[false], self.accuracy * rng.normal(0, 1, (len(false), 4))),
               random_boxes(rng, extra)[0]]  # fmt: skip
        confused = 0.5 * world.ambiguity[seen] + 0.5 * rng.random(len(seen)) > 1 - np.sqrt(self.confusion / 2)
        label = [np.where(confused, other_class(rng, world.label[seen]), world.label[seen]),
                 world.clutter_label[false], rng.choice(CLASSES, extra, p=CLASS_SHARES)]  # fmt: skip
        image = [world.image[seen], world.clutter_image[false], rng.integers(0, world.images, extra)]
        score = np.concatenate([evidence[seen], look[false], rng.exponential(0.5, extra) - 1.5])
        confidence = 1 / (1 + np.exp(-1.5 * score))
        boxes = loosen(np.concatenate(box), self.loose)
        return annotations(world.images, np.concatenate(image), np.concatenate(label), boxes, confidence)


# -- rates of annotators


def annotate(rng: np.random.Generator, world: World, heterogeneity: float) -> tuple[vt.Annotations, dict[str, Any]]:
    """One annotator: 8 % of the objects missed, 3 % spurious, 3 % of another class, sides displaced by 3 %."""
    easy = (world.difficulty - world.difficulty.mean()) / world.difficulty.std()
    offset, low, high = 0.0, -12.0, 6.0
    for _ in range(50):
        offset = (low + high) / 2
        share = (1 / (1 + np.exp(-(offset + heterogeneity * easy)))).mean()
        low, high = (offset, high) if share < 0.08 else (low, offset)
    has = rng.random(len(world.image)) >= 1 / (1 + np.exp(-(offset + heterogeneity * easy)))
    kept = np.flatnonzero(has)
    count = rng.poisson(0.03 * len(world.image))
    wrong = rng.random(len(kept)) < 0.03
    label = np.where(wrong, other_class(rng, world.label[kept]), world.label[kept])
    box = move(world.box[kept], 0.03 * rng.normal(0, 1, (len(kept), 4)))
    image = np.concatenate([world.image[kept], rng.integers(0, world.images, count)])
    labels = np.concatenate([label, rng.choice(CLASSES, count, p=CLASS_SHARES)])
    boxes = np.concatenate([box, random_boxes(rng, count)[0]])
    real = np.concatenate([np.ones(len(kept), bool), np.zeros(count, bool)])
    order = np.lexsort((labels, image))
    total = len(image)
    true = {"missing": float((~has).sum()) / total, "spurious": count / total, "label": float(wrong.mean()),
            "jitter": 0.03, "real": real[order]}  # fmt: skip
    return annotations(world.images, image, labels, boxes), true


def measure_rates(sets: int, images: int, heterogeneity: float, draws: int = 300) -> None:
    """Print bias and coverage of every estimator of the first annotator's rates."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for number in range(sets):
        rng = np.random.default_rng([SEED, number, images, int(10 * heterogeneity)])
        world = World.make(rng, images, rng.normal(0, 0.5, CLASSES))
        sides, truths = zip(*(annotate(rng, world, heterogeneity) for _ in range(3)), strict=True)
        true = truths[0]
        two = match_objects(read_annotators({"A": sides[0], "B": sides[1]}), 0.5)
        three = match_objects(read_annotators(dict(zip("ABC", sides, strict=True))), 0.5)
        only = [two.has[:, r] & ~two.has[:, 1 - r] for r in range(2)]
        counted = {"missing": only[1].sum() / two.has[:, 0].sum(), "spurious": only[0].sum() / two.has[:, 0].sum()}
        for kind, value in counted.items():
            found.setdefault(f"counted {kind}", []).append((true[kind], value, np.nan, np.nan))
        verdicts = {}
        for r in range(2):
            for row in rng.permutation(np.flatnonzero(only[r]))[:60].tolist():
                verdicts[row] = bool(truths[r]["real"][two.member[row, r]])
        detectors = [Detector.make(rng, 0.1).detect(rng, world) for _ in range(3)]
        support = DetectorSupport.of(two, detectors)
        models = {
            "two adjudicated": RateModel(two, adjudicated=count_verdicts(two, None, verdicts)),
            "two adjudicated, detectors": RateModel(two, support, count_verdicts(two, support, verdicts)),
            "three": RateModel(three),
            "three, detectors": RateModel(three, DetectorSupport.of(three, detectors)),
        }
        for name, model in models.items():
            rates = model.draw(draws, rng)
            for kind in ("missing", "spurious", "label", "jitter"):
                found.setdefault(f"{name} {kind}", []).append((true[kind], *rates.interval(kind, 0, 0.95)))
    print(f"rates: {sets} sets of {images} images, heterogeneity {heterogeneity:g} (logit sd)")
    for name, rows in found.items():
        true, value, low, high = np.array(rows).T
        bias, error = value.mean() - true.mean(), float(np.std(value - true, ddof=1)) / len(rows) ** 0.5
        is_missing, has_detectors = name.endswith("missing"), "detectors" in name
        wanted = (-0.003, 0.003) if name == "two adjudicated missing" and not heterogeneity else None
        show(f"{name}: bias (true {true.mean():.4f})", float(bias), wanted, error=error)
        if is_missing and has_detectors and heterogeneity:
            show(f"{name}: relative bias", float(bias / true.mean()), (-0.15, 0.15), error=error / float(true.mean()))
        if not np.isnan(low).all():
            least = 0.9 if name.endswith(("label", "jitter")) else 0.92 if not heterogeneity or has_detectors else None
            covered = float(np.mean((low <= true) & (true <= high)))
            show(f"{name}: covered", covered, None if least is None else (least, 9.0), len(rows))


# -- gold images


def simulate(rng: np.random.Generator, images: int, kind: str) -> tuple[vt.Annotations, vt.Annotations, list[Any]]:
    """The true and the annotated ground truth, and the predictions of five detectors."""
    world = World.make(rng, images, rng.normal(0, 0.5, CLASSES))
    count = len(world.image)
    habit = rng.random(count) < 0.1, rng.random(len(world.clutter_image)) < 0.08
    detectors = [Detector.make(rng, 0.06) for _ in range(DETECTORS)]
    for one in detectors:
        if kind == "learned by some":
            one.learned = float(rng.choice([0.0, 1.0]))
        if kind == "loose boxes":
            one.loose = float(rng.uniform(0, 0.06))
    preds = [one.detect(rng, world, habit) for one in detectors]
    chance = np.full(count, 0.08)
    if kind == "hard":
        chance = np.exp(0.9 * world.difficulty)
        chance = np.minimum(chance * 0.08 / chance.mean(), 0.95)
    if kind == "learned by some":
        chance = np.where(habit[0], 0.8, 0.01)
    kept = np.flatnonzero(rng.random(count) >= chance)
    label = np.where(rng.random(len(kept)) < 0.03, other_class(rng, world.label[kept]), world.label[kept])
    extra = rng.poisson(0.03 * count)
    if kind == "learned by some":
        own = np.flatnonzero(habit[1] & (rng.random(len(habit[1])) < 0.8))
        more = world.clutter_image[own], world.clutter_label[own], world.clutter_box[own]
    elif kind == "hard":
        share = np.exp(1.2 * world.clutter_look)
        own = rng.choice(len(share), min(extra, len(share)), replace=False, p=share / share.sum())
        more = world.clutter_image[own], world.clutter_label[own], world.clutter_box[own]
    else:
        more = (rng.integers(0, images, extra), rng.choice(CLASSES, extra, p=CLASS_SHARES), random_boxes(rng, extra)[0])
    box = loosen(world.box[kept], 0.06) if kind == "loose boxes" else world.box[kept]
    record = [np.concatenate(parts) for parts in zip((world.image[kept], label, box), more, strict=True)]
    truth = annotations(images, world.image, world.label, world.box)
    return truth, annotations(images, *record), preds


def measure_gold(worlds: int, kind: str) -> None:
    """Print coverage of the corrected lead, and Brier scores of pairs, with 30 and 60 gold images of 300."""
    found: dict[int, list[tuple[float, float, float, float]]] = {30: [], 60: []}
    said: dict[int, list[tuple[float, float]]] = {30: [], 60: []}
    tests: dict[int, list[float]] = {30: [], 60: []}
    plain = []
    for number in range(worlds):
        rng = np.random.default_rng([SEED, number, 12])
        truth, record, preds = simulate(rng, 300, kind)
        named = {f"d{i}": pred for i, pred in enumerate(preds)}
        true = {name: vt.coco(truth, pred, checks="off").scores["AP"].value for name, pred in named.items()}
        results = {name: vt.coco(record, pred, checks="off") for name, pred in named.items()}
        order = rng.permutation(300)
        for count, rows in found.items():
            part = truth.where(np.isin(truth.image, order[:count]))
            gold = subset(part, order[:count])
            settings = LeaderboardSettings(resample="none", gold=gold, draws=40, seed=number, threads=1)
            correction = rank_results(results, None, None, settings).gold
            assert correction is not None
            tests[count].append(correction.p_differential)
            for pair in correction.pairs:
                lead = true[pair.first] - true[pair.second]
                rows.append((lead, pair.low, pair.high, pair.corrected))
                if count == 30:
                    plain.append((pair.lead, lead))
            best = max(true, key=lambda name: true[name])
            said[count] += [
                (share, float(name == best)) for name, share in zip(correction.names, correction.p_first, strict=True)
            ]
            found_pairs = pair_chances(correction)
            brier = [(found_pairs[pair.first, pair.second], true[pair.first] > true[pair.second])
                     for pair in correction.pairs]  # fmt: skip
            rows[-len(brier) :] = [(*row, (p - y) ** 2) for row, (p, y) in zip(rows[-len(brier) :], brier, strict=True)]
    wrong = np.mean([(lead > 0) != (true > 0) for lead, true in plain])
    print(f"gold: {kind}, {worlds} worlds; pairs in the wrong order without gold images: {wrong:.2f}")
    most = {"learned by some": 0.11, "independent": 0.07}.get(kind)
    for count, rows in found.items():
        lead, low, high, corrected, brier = np.array(rows).T
        of_world = ((low <= lead) & (lead <= high)).reshape(worlds, -1).mean(axis=1)  # pairs of a world hang together
        error = float(of_world.std(ddof=1)) / worlds**0.5
        show(f"{count} gold images: lead covered", float(of_world.mean()), (0.92, 0.99), error=error)
        show(f"{count} gold images: rms error of the lead", float(np.sqrt(np.mean((corrected - lead) ** 2))))
        error = float(brier.reshape(worlds, -1).mean(axis=1).std(ddof=1)) / worlds**0.5
        wanted = (-9.0, most) if count == 60 and most is not None else None
        show(f"{count} gold images: Brier score of pairs", float(brier.mean()), wanted, error=error)
        p, first = np.array(said[count]).T
        is_right = first.reshape(-1, DETECTORS)[np.arange(worlds), p.reshape(-1, DETECTORS).argmax(axis=1)]
        likeliest = p.reshape(-1, DETECTORS).max(axis=1)
        error = float((likeliest - is_right).std(ddof=1)) / worlds**0.5
        show(f"{count} gold images: P(first | gold) − is first", float((likeliest - is_right).mean()), error=error)
        rejected = float(np.mean(np.array(tests[count]) < 0.05))
        show(f"{count} gold images: errors favour a detector (p < 0.05) in", rejected, trials=worlds)
    rng = np.random.default_rng([SEED, 13])
    truth, record, preds = simulate(rng, 60, kind)
    results = {f"d{i}": vt.coco(record, pred, checks="off") for i, pred in enumerate(preds)}
    settings = LeaderboardSettings(resample="none", gold=truth, draws=40, threads=1)
    correction = rank_results(results, None, None, settings).gold
    assert correction is not None
    true = {f"d{i}": vt.coco(truth, pred, checks="off").scores["AP"].value for i, pred in enumerate(preds)}
    off = max(abs(pair.corrected - (true[pair.first] - true[pair.second])) for pair in correction.pairs)
    show("all images are gold: largest difference to vt.coco on the gold file (1e-12)", off / 1e-12, (-9.0, 1.0))


def subset(side: vt.Annotations, images: Any) -> vt.Annotations:
    """The objects of some images, which alone are listed."""
    names = [side.images.name(int(i)) for i in sorted(images)]
    rows = [side.images.name(int(i)) for i in side.image]
    labels = [side.labels.name(int(i)) for i in side.label]
    return vt.Annotations.of(rows, labels, side.regions.boxes, images=names, labels=LABELS,
                             sizes=dict.fromkeys(names, (640, 480)))  # fmt: skip


def pair_chances(correction: Any) -> dict[tuple[str, str], float]:
    """The probability that the first of two is ahead on the better ground truth, from the posterior of the scores."""
    found = {}
    for i, first in enumerate(correction.names):
        for j in range(i + 1, len(correction.names)):
            mean = correction.posterior_mean[i] - correction.posterior_mean[j]
            spread = correction.posterior[i, i] + correction.posterior[j, j] - 2 * correction.posterior[i, j]
            deviation = np.sqrt(max(spread, 1e-18))
            found[first, correction.names[j]] = NormalDist().cdf(mean / deviation)
    return found


# -- tables of scores


def measure_scores(tables: int, patients: int, effects: Any) -> None:
    """Print how often a table of six systems leads to any wrong decision; patients have four cases on average."""
    rng = np.random.default_rng([SEED, patients])
    means = np.asarray(effects, dtype=float)
    wrong = wrong_by_case = decisions = 0
    for _ in range(tables):
        unit = np.repeat(np.arange(patients), 1 + rng.poisson(3, patients))
        base = rng.normal(1.4, 0.8, patients)[unit] + rng.normal(0, 0.5, len(unit))
        systems = len(means)
        own = rng.normal(0, 0.25, (patients, systems))[unit] + rng.normal(0, 0.4, (len(unit), systems))
        scores = 1 / (1 + np.exp(-(base[:, None] + means + own)))
        scores = np.where(rng.random(scores.shape) < 0.02, 0.0, scores)
        names = tuple(f"s{i}" for i in range(systems))
        cases = [str(i) for i in range(len(unit))]
        settings = ScoreSettings(draws=500, seed=int(rng.integers(2**31)))
        board = rank_scores(CaseScores(names, cases, scores, [str(i) for i in unit]), settings)
        wrong += is_any_wrong(board, means)
        decisions += int(board.significance.sum())
        wrong_by_case += is_any_wrong(rank_scores(CaseScores(names, cases, scores), settings), means)
    print(f"scores: {tables} tables of {patients} patients, effects {means.tolist()}")
    show("any wrong decision (nominal 0.05)", wrong / tables, (-9.0, 0.08), tables)
    show("the same with cases as units", wrong_by_case / tables, trials=tables)
    show("right and wrong decisions per table", decisions / tables)


def is_any_wrong(board: Any, means: Any) -> bool:
    """Whether a system is significantly ahead of one that is as good or better; systems are s0, s1 and so on."""
    true = means[[int(name[1:]) for name in board.names]]
    return bool((board.significance & ~(true[:, None] > true[None] + 1e-12)).any())


# -- plan


def measure_plan(worlds: int, step: float) -> None:
    """Print the power foretold from 300 images, and that on 1,200 and 2,400."""
    rng = np.random.default_rng([SEED, 9])
    of_class = rng.normal(0, 0.5, CLASSES)
    one = Detector(0.0, 0.06, 1.0, 0.1, rng.normal(0, 0.15, CLASSES))
    two = Detector(0.0, 0.06, 1.0, 0.1, one.of_class + step)

    def lead(images: int, draws: int = 0) -> tuple[float, float]:
        world = World.make(rng, images, of_class)
        truth = annotations(images, world.image, world.label, world.box)
        results = [vt.coco(truth, each.detect(rng, world), checks="off", threads=1) for each in (two, one)]
        gap = results[0].scores["AP"].value - results[1].scores["AP"].value
        if not draws:
            return gap, np.nan
        weights = rng.multinomial(images, np.full(images, 1 / images), draws).astype(float)
        drawn = [each.draw_scores(["AP"], weights)[:, 0] for each in results]
        return gap, float(np.std(drawn[0] - drawn[1], ddof=1))

    # The lead itself must be known well: an error of 0.0005 in it is one of 0.05 in the power at 2,400 images.
    many = np.array([lead(8000)[0] for _ in range(max(worlds // 2, 60))])
    true, error = float(many.mean()), float(many.std(ddof=1)) / len(many) ** 0.5
    deviation = float(np.mean([lead(300, 100)[1] for _ in range(max(worlds // 4, 20))]))
    print(
        f"plan: {worlds} worlds, true lead {true:.4f} ± {error:.4f}, standard deviation on 300 images {deviation:.4f}"
    )
    for images in (300, 1200, 2400):
        found = np.array([lead(images, 100) for _ in range(worlds)])
        actual = float(np.mean(np.abs(found[:, 0]) > 1.96 * found[:, 1]))
        ends = [power_of(true + k * error, deviation * np.sqrt(300 / images)) for k in (-1, 0, 1)]
        spread = np.sqrt(actual * (1 - actual) / worlds + ((ends[2] - ends[0]) / 2) ** 2)
        show(f"{images:,} images: power {actual:.2f} − foretold {ends[1]:.2f}", actual - ends[1],
             (-0.06, 0.06) if images > 300 else None, error=float(spread))  # fmt: skip


# -- real data


def show_real() -> None:
    """Print the case studies of docs/howto/agree.md."""
    if not (REAL / "annotators").exists():
        print("real: ../shared/real is not there; left out")
        return
    readers = vt.agree(REAL / "annotators" / "vinbigdata-3-readers.json.gz", only=["R8", "R9", "R10"])
    print("real: three radiologists of VinBigData")
    print(readers)
    crowd = vt.agree(REAL / "annotators" / "crowdseg" / "bounding_box.csv", object_key="object_id")
    jitter = crowd.main.rates.jitter[0]
    objects = crowd.objects.has.sum(axis=0)
    many = objects >= 10
    print(
        f"real: crowd polygons: {len(crowd.names)} workers, {len(crowd.objects)} objects, {int(objects.sum()):,} "
        f"polygons; mean IoU of two boxes {crowd.mean_iou:.3f}; jitter of the {int(many.sum())} workers with at least "
        f"ten objects: median {np.median(jitter[many]):.3f}, quartiles {np.quantile(jitter[many], 0.25):.3f} and "
        f"{np.quantile(jitter[many], 0.75):.3f}, largest {jitter[many].max():.3f}"
    )
    show_lvis()


def show_lvis() -> None:
    """COCO's 100 images annotated again by LVIS: another guide, so neither gold images nor rates of errors."""
    home = REAL / "coco_val2017"
    truth, gold = coco_and_lvis(home)
    found = vt.agree({"COCO": truth, "LVIS": gold}, draws=300)
    has = found.objects.has
    print(
        f"real: COCO and LVIS on {found.images} images: {int(has[:, 0].sum())} and {int(has[:, 1].sum())} objects of "
        f"COCO's classes, {int(has.all(axis=1).sum())} in common; F1 {found.ceiling['F1']:.3f}, alpha of classes "
        f"{found.alphas['alpha'][0]:.3f}, mean IoU {found.mean_iou:.3f}"
    )
    preds = {path.name.split(".")[0]: path for path in sorted((home / "results").glob("*.json.gz"))
             if "tensorrt" not in path.name}  # fmt: skip
    results = {}
    for name, path in preds.items():
        pred = vt.read(path, like=truth)
        pred = pred.where(pred.image < len(truth.images)).changed(images=truth.images)
        results[name] = vt.coco(truth, pred, checks="off")
    rates = {"missing": 0.15, "spurious": 0.05, "label": 0.02}
    errors = vt.annotation_errors.Detection(**rates)
    settings = LeaderboardSettings(gold=gold, draws=300)
    board = rank_results(results, errors, None, settings)
    assert board.gold is not None
    first = board.gold.neighbours[0]
    shares = board.pairs[0].shares["errors"]
    print(
        f"  {first.first} leads {first.second} by {first.lead:.4f} on COCO; simulated errors {rates} keep the order in "
        f"{0.0 if shares is None else shares.kept:.3f}; with LVIS as gold images the lead is {first.corrected:+.4f} "
        f"[{first.low:+.4f}, {first.high:+.4f}], and errors favour a detector with p = {board.gold.p_differential:.2g}"
    )
    turned = [pair for pair in board.gold.pairs if pair.high < 0]
    print(f"  pairs whose corrected lead lies on the other side of 0: {len(turned)} of {len(board.gold.pairs)}")


def coco_and_lvis(home: Path) -> tuple[vt.Annotations, vt.Annotations]:
    """COCO's ground truth and LVIS's, of the images that both have and of COCO's classes."""
    folder = home / "lvis_val100" / "data"
    with gzip.open(home / "truth.json.gz") as file:
        coco = json.load(file)
    lvis = json.loads((folder / "lvis_val_100.json").read_bytes())
    synsets = json.loads((folder / "coco_to_synset.json").read_bytes())
    class_of = {entry["synset"]: name for name, entry in synsets.items()}
    ids = {image["id"] for image in lvis["images"]}
    names = {c["id"]: c["name"] for c in coco["categories"]}
    known = {c["id"]: class_of[c["synset"]] for c in lvis["categories"] if c.get("synset") in class_of}
    images = [image for image in coco["images"] if image["id"] in ids]
    numbers = {name: number for number, name in names.items()}
    sides = []
    for records, classes in ((coco["annotations"], names), (lvis["annotations"], known)):
        own = [r for r in records if r["image_id"] in ids and r["category_id"] in classes and not r.get("iscrowd")]
        for number, record in enumerate(own):
            area = record["bbox"][2] * record["bbox"][3]
            label = numbers[classes[record["category_id"]]]
            keys = ("image_id", "bbox")
            own[number] = {key: record[key] for key in keys} | {"id": number + 1, "category_id": label, "area": area}
        sides.append(vt.read({"images": images, "categories": coco["categories"], "annotations": own}))
    return sides[0], sides[1]


def main() -> None:
    parser = argparse.ArgumentParser(description="Acceptance figures of agree, gold images, score tables and plans.")
    parser.add_argument("--rates", type=int, metavar="SETS")
    parser.add_argument("--gold", type=int, metavar="WORLDS")
    parser.add_argument("--scores", type=int, metavar="TABLES")
    parser.add_argument("--plan", type=int, metavar="WORLDS")
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    every = not any((given.rates, given.gold, given.scores, given.plan, given.real))
    globals()["SEED"] = given.seed
    if given.rates or every:
        for heterogeneity in (0.0, 0.7, 2.0):
            measure_rates(given.rates or 20, 150, heterogeneity)
    if given.gold or every:
        for kind in ("independent", "hard", "learned by some", "loose boxes"):
            measure_gold(given.gold or 10, kind)
    if given.scores or every:
        for patients in (20, 60):
            measure_scores(given.scores or 100, patients, [0.0] * 6)
        measure_scores(given.scores or 100, 60, [0.3, 0.3, 0.3, 0, 0, 0])
    if given.plan or every:
        measure_plan(given.plan or 40, 0.06)
    if given.real or every:
        show_real()


if __name__ == "__main__":
    main()
