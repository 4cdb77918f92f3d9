"""Coverage of the intervals of `verite judge fit`, measured with simulated judges whose preferences are known.

    python benchmarks/judge.py                       300 studies of each kind (some minutes)
    python benchmarks/judge.py --runs 300 --only shares,strengths
    python benchmarks/judge.py --only alpha --runs 100     whole scenes: alpha of the scene score

A judge follows a metric with noise, prefers the left side a little or a lot, and lapses in 2 % of the answers; noise,
bias and lapses differ between judges. The true agreement of a metric is its expectation over all judges and all pairs
of the population from which 12 judges and 40 pairs are drawn. Each line has a figure, the range that was wanted, and
whether it is reached; --seed gives fresh studies.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from importlib.resources import files
from time import process_time

import numpy as np
from acceptance import show

import verite as vt
from verite.judge.fit import (
    DecidedVotes,
    box_contrasts,
    box_penalties,
    davidson,
    fit,
    human_ceiling,
    metric_shares,
    strengths_of,
    summarise_judges,
)
from verite.judge.plan import Candidate, Plan, make_plan, study_candidates, trial_of
from verite.judge.scenes import find_scenes, scores_of
from verite.judge.votes import Vote

FOLLOWED = "hausdorff"
JUDGES, PAIRS = 12, 40
NOISE, BIAS, LAPSES = (2.0, 0.5), 0.4, 0.02  # median and log spread of noise in pixels; standard deviation of the bias
WANTED = (0.93, 1.0)
SHOWN = ("iou", "hausdorff", "pixel_recall", "robin_cor", "gce")


class Population:
    """All pairs of the study of shapes, with the preference of the metric that judges follow."""

    def __init__(self) -> None:
        self.candidates: list[Candidate] = study_candidates(0)
        order = np.arange(2)
        self.trials = [trial_of(f"p{i}", c, order, "pair") for i, c in enumerate(self.candidates)]
        self.penalties = box_penalties(self.trials)
        self.preference = self.penalties[FOLLOWED][:, 1] - self.penalties[FOLLOWED][:, 0]

    def chances(self, judges: int, rng: np.random.Generator) -> np.ndarray:
        """Return the probability of a vote for the first result, [judge, pair]; sides are random."""
        noise = NOISE[0] * np.exp(NOISE[1] * rng.standard_normal(judges))[:, None]
        bias = BIAS * rng.standard_normal(judges)[:, None] * rng.choice([-1.0, 1.0], (judges, len(self.trials)))
        odds = np.clip(self.preference / noise + bias, -50, 50)
        found: np.ndarray = LAPSES / 2 + (1 - LAPSES) / (1 + np.exp(-odds))
        return found


def draw_study(world: Population, rng: np.random.Generator) -> DecidedVotes:
    """Draw judges and pairs, and let every judge vote on every pair."""
    pairs = rng.choice(len(world.trials), PAIRS, replace=False)
    chances = world.chances(JUDGES, rng)[:, pairs]
    chosen = (rng.random(chances.shape) >= chances).astype(np.int64).ravel()
    at = np.tile(np.arange(PAIRS), JUDGES)
    trials = [world.trials[i] for i in pairs]
    penalties = {name: values[pairs] for name, values in world.penalties.items()}
    return DecidedVotes(chosen, np.repeat(np.arange(JUDGES), PAIRS), at, at, trials, penalties)


def measure_shares(runs: int, rng: np.random.Generator) -> None:
    """Coverage of the intervals of metrics, of a contrast and of the ceiling; how often the right metric is first."""
    world = Population()
    chances = world.chances(4000, rng).mean(axis=0)
    every = np.arange(len(world.trials))
    sides = [
        DecidedVotes(np.full(len(every), k), every * 0, every, every, world.trials, world.penalties) for k in (0, 1)
    ]
    true = {name: float((sides[0].hits(v) * chances + sides[1].hits(v) * (1 - chances)).mean())
            for name, v in world.penalties.items()}  # fmt: skip
    contrast = "too large over too small"
    covered: Counter[str] = Counter()
    first, equal, contrasts, ceilings = 0, set(), [], []
    for name, values in world.penalties.items():
        if np.array_equal(np.sign(values[:, 1] - values[:, 0]), np.sign(world.preference)):
            equal.add(name)  # orders every pair as the followed metric does
    for _ in range(runs):
        decided = draw_study(world, rng)
        shares = metric_shares(decided)
        covered.update(name for name, share in shares.items() if share.low <= true[name] <= share.high)
        best = max(share.agreement for share in shares.values())
        first += any(shares[name].agreement >= best - 1e-12 for name in {FOLLOWED, *equal})
        ceilings.append(human_ceiling(decided))
        contrasts.append(box_contrasts(decided).get(contrast))
    print(f"agreement of metrics, {runs} studies of {JUDGES} judges and {PAIRS} pairs:")
    for name in SHOWN:
        show(
            f"coverage of the interval of {name} (true agreement {true[name]:.3f})", covered[name] / runs, WANTED, runs
        )
    least = min(world.penalties, key=lambda name: covered[name])
    show(f"lowest of {len(world.penalties)} metrics ({least})", covered[least] / runs, WANTED, runs)
    show("mean over all metrics", sum(covered.values()) / runs / len(world.penalties), WANTED, runs)
    middle = float(np.mean([one.agreement for one in ceilings]))
    show(
        f"human ceiling (mean {middle:.3f})",
        float(np.mean([c.low <= middle <= c.high for c in ceilings])),
        WANTED,
        runs,
    )
    known = [one for one in contrasts if one is not None]
    middle = float(np.average([one.agreement for one in known], weights=[one.votes for one in known]))
    inside = float(np.mean([one.low <= middle <= one.high for one in known]))
    show(f"{contrast} (true share {middle:.3f})", inside, WANTED, len(known))
    show("the metric that judges follow has the highest agreement", first / runs)


def measure_strengths(runs: int, rng: np.random.Generator) -> None:
    """Coverage of the strengths of results, over other judges on the same pairs; random clickers that are found."""
    world = Population()
    plan = make_plan(world.candidates, pairs=60, seed=0)
    pairs = Plan([t for t in plan.trials if t.kind == "pair"], 0)
    numbers = {(t.object, t.left): i for i, t in enumerate(world.trials)} | {
        (t.object, t.right): i for i, t in enumerate(world.trials)
    }
    at = np.array([numbers[t.object, t.left] for t in pairs.trials])
    flipped = np.array([world.trials[i].left != t.left for i, t in zip(at, pairs.trials, strict=True)])

    def left_chances(judges: int) -> np.ndarray:
        chances = world.chances(judges, rng)[:, at]
        return np.where(flipped, 1 - chances, chances)

    names = sorted({name for t in pairs.trials for name in t.names})
    wins = np.zeros((len(names), len(names)))
    for chance, t in zip(left_chances(4000).mean(axis=0), pairs.trials, strict=True):
        left, right = names.index(t.left), names.index(t.right)
        wins[left, right] += chance
        wins[right, left] += 1 - chance
    true = davidson(wins, np.zeros_like(wins), steps=5000)
    covered = np.zeros(len(names))
    errors = []
    for run in range(runs):
        votes = votes_of(pairs, left_chances(JUDGES), rng)
        found = strengths_of(pairs, votes, 100, run)
        covered += [found[name].low <= value <= found[name].high for name, value in zip(names, true, strict=True)]
        values = np.array([found[name].agreement for name in names])
        errors.append(np.abs(values - true).mean())
    print(f"strengths (Bradley–Terry with ties), {runs} studies of {JUDGES} judges and 60 pairs:")
    for name, share, value in zip(names, covered / runs, true, strict=True):
        show(f"coverage of the interval of {name} (true log strength {value:+.2f})", float(share), WANTED, runs)
    show("mean error of a log strength", float(np.mean(errors)))
    clickers = honest = 0
    checked = runs
    for _ in range(checked):
        votes = []
        for t in plan.trials:
            chance = 1 - LAPSES / 2 if t.kind == "catch" else 0.5
            good = t.answer if t.answer else t.left
            other = next(name for name in t.names if name != good)
            votes.append(Vote("honest", t.id, t.left, t.right, good if rng.random() < chance else other, 1.0))
            choice = (t.left, t.right, "equal", "cannot tell")[rng.integers(4)]
            votes.append(Vote("clicker", t.id, t.left, t.right, choice, 1.0))
        found_judges = summarise_judges(plan, votes)
        clickers += found_judges["clicker"].excluded
        honest += found_judges["honest"].excluded
    show("judges who click at random are excluded", clickers / checked, (0.95, 1.0), checked)
    show("judges who lapse in 2 % are excluded", honest / checked, (0.0, 0.05), checked)


def votes_of(plan: Plan, left: np.ndarray, rng: np.random.Generator) -> list[Vote]:
    """Return votes of judges, [judge, trial], with these probabilities of the left side."""
    is_left = rng.random(left.shape) < left
    return [
        Vote(f"j{j}", t.id, t.left, t.right, t.left if is_left[j, i] else t.right, 1.0)
        for j in range(len(left))
        for i, t in enumerate(plan.trials)
    ]


def measure_alpha(runs: int, rng: np.random.Generator) -> None:
    """Coverage of alpha of the scene score, from votes on the bundled scenes."""
    demo = files("verite") / "data" / "demo"
    truth = vt.read(demo / "truth.json")
    sides = {name: vt.read(demo / f"{name}.json", like=truth) for name in ("hawk", "magpie", "mole")}
    scenes = [c for a, b in (("hawk", "magpie"), ("hawk", "mole"), ("magpie", "mole"))
              for c in find_scenes(truth, {a: sides[a], b: sides[b]}, 0.5)]  # fmt: skip
    trials = [
        trial_of(f"p{i}", replace(c, object=f"{c.object}#{i}"), np.arange(2), "pair") for i, c in enumerate(scenes)
    ]
    ends = [scores_of(trials, side, "iou", 0.5) for side in (0, 1)]
    print(f"alpha of the scene score, {runs} studies of {JUDGES} judges and {PAIRS} of {len(trials)} pairs of scenes:")
    for alpha in (0.2, 0.5, 0.8):
        first, second = ((1 - alpha) * zero + alpha * one for zero, one in ends)
        inside, errors = 0, []
        for run in range(runs):
            some = rng.choice(len(trials), PAIRS, replace=False)
            plan = Plan([trials[i] for i in some], 0)
            slope = 25 * np.exp(0.5 * rng.standard_normal(JUDGES))[:, None]
            chance = LAPSES / 2 + (1 - LAPSES) / (1 + np.exp(-slope * (second - first)[some]))
            found = fit(plan, votes_of(plan, chance, rng), draws=100, seed=run).scene_score
            assert found is not None
            assert found.alpha is not None
            assert found.alpha_low is not None
            assert found.alpha_high is not None
            inside += found.alpha_low <= alpha <= found.alpha_high
            errors.append(abs(found.alpha - alpha))
        show(
            f"coverage of the interval at alpha {alpha} (mean error {np.mean(errors):.2f})", inside / runs, WANTED, runs
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--only", default="shares,strengths,alpha")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    start = process_time()
    for name in given.only.split(","):
        {"shares": measure_shares, "strengths": measure_strengths, "alpha": measure_alpha}[name](given.runs, rng)
    print(f"{process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main()
