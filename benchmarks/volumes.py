"""How long do surface distances of two volumes take, here and in MedPy? Alternately, in one run.

.venv/bin/python benchmarks/volumes.py [SIDE]
"""

from __future__ import annotations

import sys
from statistics import median
from time import perf_counter

import numpy as np
from medpy.metric import binary

import verite as vt

SIDE = int(sys.argv[1]) if len(sys.argv) > 1 else 128
ROUNDS = 3
POOLED = "hausdorff(quantile=0.95, variant=pooled)"
THEIRS = {"hausdorff": binary.hd, POOLED: binary.hd95, "average_surface_distance": binary.assd}


def ellipsoid(centre: tuple[float, ...], radii: tuple[float, ...]) -> np.ndarray:
    grid = np.mgrid[:SIDE, :SIDE, :SIDE] / SIDE
    return sum(((g - c) / r) ** 2 for g, c, r in zip(grid, centre, radii, strict=True)) < 1


def main() -> None:
    truth, pred = ellipsoid((0.5, 0.47, 0.5), (0.39, 0.35, 0.31)), ellipsoid((0.47, 0.52, 0.48), (0.37, 0.37, 0.33))
    print(f"two ellipsoids in {SIDE}³ voxels, median of {ROUNDS} rounds, alternately")
    for name, theirs in THEIRS.items():
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            start = perf_counter()
            mine = float(vt.metric(name).values(vt.Pairs.of_volumes(truth, pred))[0])
            between = perf_counter()
            other = theirs(pred, truth)
            times[0].append(between - start)
            times[1].append(perf_counter() - between)
            assert abs(mine - other) < 1e-9 * max(other, 1)
        ours, medpy = (median(t) for t in times)
        print(f"{name:45s} verite {ours:.3f} s   MedPy {medpy:.3f} s   {medpy / ours:.1f} times as fast")


if __name__ == "__main__":
    main()
