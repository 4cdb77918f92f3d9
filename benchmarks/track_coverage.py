"""Coverage of the intervals of track leaderboards: how often a 95 % interval holds the lead on all sequences.

``python -m benchmarks.track_coverage [--repetitions 300] [--draws 200] [--world NAME]`` generates worlds of sequences.
In each, two trackers miss objects, report false tracks and exchange ids, at rates that vary from sequence to sequence
and that both share in part. The lead of the first by HOTA, MOTA and IDF1 over the second is known from 4,000 sequences
of the world; leaderboards are made of test sets of a few sequences. Printed are, for each world and kind of resampling,
the share of test sets whose interval holds that lead, with its Monte Carlo standard error, and the mean width.

Intervals from blocks of frames are for other footage of the same sequences, not for other sequences: the rates of the
sequences stay the same there, and the lead they have to hold is that of very many recordings of them.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass

import numpy as np

import verite as vt
from verite.leaderboards.track_leaderboard import rank_trackers

METRICS = ("HOTA", "MOTA", "IDF1")
POPULATION = 4000  # sequences from which the true lead is known
TRACKS = 4  # objects of a frame


@dataclass(frozen=True)
class TrackWorld:
    """How sequences differ.

    Attributes
    ----------
    sequences, frames
        Sequences of a test set, and the mean number of frames of one.
    unequal
        Deviation of the logarithm of the number of frames.
    variation
        Deviation of a sequence's difficulty, in logits; trackers share it.
    own
        Deviation of what is particular to a tracker and a sequence.
    resample
        What is resampled; with blocks, all test sets are recordings of the same sequences.
    """

    sequences: int
    frames: int = 24
    unequal: float = 0.0
    variation: float = 0.6
    own: float = 0.3
    resample: str = "sequence"


WORLDS = {
    "5 sequences": TrackWorld(5),
    "7 sequences": TrackWorld(7),
    "7 unequal sequences": TrackWorld(7, unequal=1.0),
    "14 sequences": TrackWorld(14),
    "14 unequal sequences": TrackWorld(14, unequal=1.0),
    "30 unequal sequences": TrackWorld(30, unequal=1.0),
    "3 sequences, blocks of 20": TrackWorld(3, frames=200, resample="blocks:20"),
    "3 sequences, blocks of 50": TrackWorld(3, frames=200, resample="blocks:50"),
}
RATES = {"first": (-1.6, -3.2), "second": (-1.3, -2.9)}  # logits of missing an object, and of a change of id


def sequences_of(
    world: TrackWorld, count: int, rng: np.random.Generator
) -> tuple[vt.Annotations, dict[str, vt.Annotations]]:
    """Generate ground truth and both trackers of some sequences."""
    rows: dict[str, list[tuple[str, float, int]]] = {name: [] for name in ("truth", *RATES)}
    for sequence in range(count):
        kept = world.resample.startswith("blocks")
        rates = np.random.default_rng([7, sequence % world.sequences]) if kept else rng
        frames = max(4, int(world.frames * np.exp(rates.normal(0, world.unequal) - world.unequal**2 / 2)))
        shared, own = rates.normal(0, world.variation), rates.normal(0, world.own, len(RATES))
        names = [f"{sequence:05d}/{f:06d}" for f in range(frames)]
        place = 100.0 * np.arange(TRACKS) + np.cumsum(rng.normal(0, 1, (frames, TRACKS)), axis=0)
        rows["truth"] += [(names[f], place[f, t], t) for f in range(frames) for t in range(TRACKS)]
        for (tracker, bases), particular in zip(RATES.items(), own.tolist(), strict=True):
            miss, swap = (1 / (1 + np.exp(-(base + shared + particular))) for base in bases)
            is_found = rng.random((frames, TRACKS)) >= miss
            ids = np.arange(TRACKS) + TRACKS * np.cumsum(rng.random((frames, TRACKS)) < swap, axis=0)
            shift = rng.normal(0, 2, (frames, TRACKS))
            rows[tracker] += [
                (names[f], place[f, t] + shift[f, t], int(ids[f, t]))
                for f in range(frames)
                for t in range(TRACKS)
                if is_found[f, t]
            ]
            rows[tracker] += [(names[f], 100.0 * TRACKS + 50, 10_000) for f in range(frames) if rng.random() < miss / 2]
    made = {
        name: vt.Annotations.of(
            [image for image, _, _ in own_rows],
            ["car"] * len(own_rows),
            [[x, 0, x + 20, 20] for _, x, _ in own_rows],
            track=[key for _, _, key in own_rows],
            confidence=None if name == "truth" else np.ones(len(own_rows)),
        )
        for name, own_rows in rows.items()
    }
    return made["truth"], {name: made[name] for name in RATES}


def evaluate(world: TrackWorld, count: int, rng: np.random.Generator) -> dict[str, vt.TrackResults]:
    """Evaluate both trackers on generated sequences."""
    truth, preds = sequences_of(world, count, rng)
    return {name: vt.track(truth, pred, name=name, checks="off", rules="plain") for name, pred in preds.items()}


def true_leads(world: TrackWorld, rng: np.random.Generator) -> dict[str, float]:
    """Return the lead of the first tracker over the second on very many sequences."""
    results = evaluate(world, POPULATION * WORLDS["7 sequences"].frames // world.frames, rng)
    return {key: results["first"].metrics[key] - results["second"].metrics[key] for key in METRICS}


def measure(
    world: TrackWorld, repetitions: int, draws: int, seed: int
) -> tuple[dict[str, list[bool]], dict[str, float]]:
    """Return for each score whether each interval holds the true lead, and the mean width of the intervals."""
    rng = np.random.default_rng(seed)
    leads = true_leads(world, rng)
    held: dict[str, list[bool]] = {key: [] for key in METRICS}
    widths: dict[str, list[float]] = {key: [] for key in METRICS}
    for at in range(repetitions):
        results = evaluate(world, world.sequences, rng)
        board = rank_trackers(results, METRICS, resample=world.resample, draws=draws, seed=at)
        for key, one in board.boards.items():
            gap = one.gaps[0]
            assert gap is not None
            sign = 1 if one.names[0] == "first" else -1
            held[key].append(gap[1] <= sign * leads[key] <= gap[2])
            widths[key].append(gap[2] - gap[1])
    return held, {key: float(np.mean(found)) for key, found in widths.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--world", choices=WORLDS, action="append")
    given = parser.parse_args()
    print(f"{given.repetitions} test sets, {given.draws} resamples, load {os.getloadavg()[0]:.1f}")
    for name in given.world or WORLDS:
        start = time.process_time()
        held, widths = measure(WORLDS[name], given.repetitions, given.draws, given.seed)
        shown = []
        for key in METRICS:
            share = float(np.mean(held[key]))
            error = (share * (1 - share) / given.repetitions) ** 0.5
            shown.append(f"{key} {100 * share:5.1f} % ± {100 * error:.1f} (width {widths[key]:.3f})")
        print(f"{name:26s} {'  '.join(shown)}  {time.process_time() - start:.0f} s CPU", flush=True)


if __name__ == "__main__":
    main()
