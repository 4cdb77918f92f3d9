"""Localization metrics on masks: all 38 rows of the comparative study, and surface distances on large masks.

The same values by scipy and scikit-image (each shared quantity computed once, as one would write it), and surface
distances by surface-distance, MedPy and the way MONAI computes them (edges by erosion, scipy's distance transform,
percentiles; MONAI itself where it is installed). One thread, repetitions interleaved; the minimum of each
is compared, in CPU time, so that what else runs on the machine counts little.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
warnings.simplefilter("ignore")  # some of the other packages warn of their own age

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

import verite as vt
from verite.studies.rows import JEI_2010, JEI_2010_AS_RUN

Mask = NDArray[np.bool_]


def blob(rng: np.random.Generator, size: int, centre: tuple[float, float], radius: float) -> Mask:
    """A wobbly disc."""
    y, x = np.mgrid[:size, :size]
    dy, dx = y - centre[0], x - centre[1]
    angle = np.arctan2(dy, dx)
    wobble = sum(rng.normal(0, 0.06) * np.cos(k * angle + rng.uniform(0, 6.3)) for k in range(2, 6))
    return np.hypot(dy, dx) <= radius * (1 + wobble)


def pairs_256(count: int) -> tuple[Mask, Mask]:
    """Boxes and blobs as in the study: sides of 60 to 104 pixels, moved by up to 24."""
    rng = np.random.default_rng(1)
    truths, preds = np.zeros((2, count, 256, 256), dtype=bool)
    for i in range(count):
        dy, dx = rng.integers(-24, 25, size=2)
        if i % 2:
            h, w = rng.integers(60, 105, size=2)
            truths[i, 128 - h // 2 : 128 + h // 2, 128 - w // 2 : 128 + w // 2] = True
            preds[i] = np.roll(truths[i], (dy, dx), axis=(0, 1))
        else:
            radius = rng.uniform(30, 52)
            truths[i] = blob(rng, 256, (128, 128), radius)
            preds[i] = blob(rng, 256, (128 + dy / 2, 128 + dx / 2), radius * rng.uniform(0.8, 1.2))
    return truths, preds


# --- all 38 rows ------------------------------------------------------------------------------------------------------


def verite_rows(names: dict[str, str]) -> Callable[[Mask, Mask], NDArray[np.float64]]:
    metrics = [vt.metric(name) for name in names.values()]

    def run(truths: Mask, preds: Mask) -> NDArray[np.float64]:
        return np.array(list(vt.measure(vt.Pairs.of(truths, preds), metrics).values())).T

    return run


def scipy_rows(truths: Mask, preds: Mask) -> NDArray[np.float64]:
    """The 38 rows as run, with scipy and scikit-image."""
    return np.array([scipy_row(truth, pred) for truth, pred in zip(truths, preds, strict=True)])


def scipy_row(g: Mask, p: Mask) -> list[float]:
    from skimage.measure import regionprops
    from skimage.segmentation import find_boundaries

    n = g.size
    at, ap, both = int(g.sum()), int(p.sum()), int((g & p).sum())
    boxes = [regionprops(m.astype(np.uint8))[0].bbox for m in (g, p)]
    (ty1, tx1, ty2, tx2), (py1, px1, py2, px2) = boxes
    wt, ht, wp, hp = tx2 - tx1, ty2 - ty1, px2 - px1, py2 - py1
    cg, cp = (find_boundaries(np.pad(m, 1), connectivity=1, mode="inner")[1:-1, 1:-1] for m in (g, p))
    ng, np_, shared = int(cg.sum()), int(cp.sum()), int((cg & cp).sum())
    over, under = np_ - shared, ng - shared
    s = over + under
    eg, ep = ndimage.distance_transform_edt(~cg), ndimage.distance_transform_edt(~cp)
    fwd, bwd = eg[cp], ep[cg]
    far = ndimage.distance_transform_edt(~g)[p & ~g]
    union = ng + np_ - shared
    gray_t, gray_p = np.where(cg, 2.0, 1.0), np.where(cp, 2.0, 1.0)
    turned_t, turned_p = 3 - gray_t, 3 - gray_p
    mean = (gray_t + gray_p) / 2

    def entropy(a: NDArray[np.float64]) -> float:
        return float(np.log2((a**3).sum()) / -2)

    a, b, c, d = both, at - both, ap - both, n - at - ap + both
    err = [2 * a * b / at + 2 * c * d / (n - at), 2 * a * c / ap + 2 * b * d / (n - ap)]
    local = (
        a * min(b / at, c / ap)
        + b * min(a / at, d / (n - ap))
        + c * min(d / (n - at), a / ap)
        + d * min(c / (n - at), b / (n - ap))
    )
    background = d / (n - at + n - ap - d)
    rows_t = [
        a / (at + ap - a) if a >= b else b / (at + n - ap - b),
        c / (n - at + ap - c) if c >= d else background,
    ]
    cols_p = [a / (at + ap - a) if a >= c else c / (n - at + ap - c), b / (at + n - ap - b) if b >= d else background]
    return [
        2 / np.pi * np.arctan(max(abs(px1 + px2 - tx1 - tx2) / 2 / wt, abs(py1 + py2 - ty1 - ty2) / 2 / ht)),
        abs(wp * hp - wt * ht) / max(wp * hp, wt * ht),
        2 / np.pi * np.arctan(abs(hp / wp - ht / wt)),
        s / n,
        under / ng,
        over / (n - ng),
        1 / (1 + np.sqrt((4 * over + under) / n)),
        np.sqrt(((gray_t - gray_p) ** 2).mean()),
        np.abs(gray_t - gray_p).mean(),
        (np.abs(gray_t - gray_p) ** 3).mean() ** (1 / 3),
        ((gray_p - gray_t) * np.log(gray_p / gray_t)).mean(),
        np.log(turned_t.mean()) - np.log(np.sqrt(turned_t * turned_p).mean()),
        entropy(np.sqrt(mean * gray_t)) - (entropy(mean) + entropy(gray_t)) / 2,
        fwd.mean(),
        (fwd**2).mean(),
        1 - (1 / (1 + fwd**2 / 9)).sum() / max(ng, np_),
        max(fwd.max(), bwd.max()),
        *(((fwd**k).sum() + (bwd**k).sum()) ** (1 / k) / union for k in (1, 2, 3)),
        *((fwd**k).sum() / max(over, 1) / 5**k for k in (1, 2)),
        *((bwd**k).sum() / max(under, 1) / 5**k for k in (1, 2)),
        1 - both / (at + ap - both),
        abs(ap - at) / at,
        (at + ap - 2 * both) / at,
        100 * (ap - both) / ap,
        100 * (at - both) / (n - ap),
        100 / n * np.sqrt((far**2).sum()),
        min(err) / n,
        local / n,
        (min(a, c) + min(b, d) + min(a, b) + min(c, d)) / (2 * n),
        1 - sum(rows_t) / 2,
        1 - (ap / n * cols_p[0] + (n - ap) / n * cols_p[1] + 0.2) / 1.2,
        float(b + c),
        1 - both / ap,
        1 - both / at,
    ]


# --- surface distances ------------------------------------------------------------------------------------------------


def verite_surface(truth: Mask, pred: Mask) -> tuple[float, float]:
    pairs = vt.Pairs.of([truth], [pred])
    found = vt.measure(pairs, [vt.metric("hausdorff"), vt.metric("average_surface_distance")])
    return tuple(float(v[0]) for v in found.values())


def medpy_surface(truth: Mask, pred: Mask) -> tuple[float, float]:
    from medpy.metric.binary import assd, hd

    return hd(pred, truth), assd(pred, truth)


def surface_distance_surface(truth: Mask, pred: Mask) -> tuple[float, float]:
    import surface_distance as s

    found = s.compute_surface_distances(truth, pred, (1, 1))
    averages = s.compute_average_surface_distance(found)
    return s.compute_robust_hausdorff(found, 100), float(np.mean(averages))


def monai_style_surface(truth: Mask, pred: Mask) -> tuple[float, float]:
    """monai.metrics.utils: crop to both objects, edges by erosion, one distance transform a side."""
    box = ndimage.find_objects((truth | pred).astype(np.uint8))[0]
    part = tuple(slice(max(s.start - 1, 0), s.stop + 1) for s in box)
    edges = [m[part] ^ ndimage.binary_erosion(m[part]) for m in (truth, pred)]
    away = [ndimage.distance_transform_edt(~edge) for edge in edges]
    forward, backward = away[0][edges[1]], away[1][edges[0]]
    return max(forward.max(), backward.max()), float(np.concatenate([forward, backward]).mean())


def monai_surface(truth: Mask, pred: Mask) -> tuple[float, float]:
    import torch
    from monai.metrics import compute_average_surface_distance, compute_hausdorff_distance

    t, p = (torch.from_numpy(m)[None, None].float() for m in (truth, pred))
    worst = compute_hausdorff_distance(p, t, include_background=True)
    mean = compute_average_surface_distance(p, t, include_background=True, symmetric=True)
    return float(worst), float(mean)


SURFACE: dict[str, Callable[[Mask, Mask], tuple[float, float]]] = {
    "verite": verite_surface,
    "MONAI-style": monai_style_surface,
    "MedPy": medpy_surface,
    "surface-distance": surface_distance_surface,
    "MONAI": monai_surface,
}


def timed(run: Callable[[], object], rounds: int) -> tuple[float, object]:
    best, value = float("inf"), None
    for _ in range(rounds):
        start = time.process_time()
        value = run()
        best = min(best, time.process_time() - start)
    return best, value


def rows(count: int, rounds: int) -> dict[str, float]:
    truths, preds = pairs_256(count)
    few = max(4, count // 100)
    as_run, defined = verite_rows(JEI_2010_AS_RUN), verite_rows(JEI_2010)
    without = verite_rows({key: name for key, name in JEI_2010.items() if not key.startswith("BAD")})
    best = dict.fromkeys(("verite", "definitions", "without", "scipy"), float("inf"))
    for _ in range(rounds):
        seconds, mine = timed(lambda: as_run(truths, preds), 1)
        best["verite"] = min(best["verite"], seconds / count)
        seconds, theirs = timed(lambda: scipy_rows(truths[:few], preds[:few]), 1)
        best["scipy"] = min(best["scipy"], seconds / few)
        best["without"] = min(best["without"], timed(lambda: without(truths, preds), 1)[0] / count)
        best["definitions"] = min(best["definitions"], timed(lambda: defined(truths[:few], preds[:few]), 1)[0] / few)
    np.testing.assert_allclose(np.asarray(mine)[:few], np.asarray(theirs), rtol=1e-9, atol=1e-9)
    print(
        f"µs a pair of 256 × 256 masks, CPU time of one thread (best of {rounds} × {count} pairs, values equal to 1e-9)"
    )
    for key, what in (
        ("verite", "verite, 38 rows as the study ran them"),
        ("scipy", "scipy and scikit-image, the same"),
        ("without", "verite, 35 rows by definition, without Baddeley's three"),
        ("definitions", "verite, 38 rows by definition, Baddeley's Δ over all pixels"),
    ):
        print(f"  {what:<62} {1e6 * best[key]:9.1f}   {best[key] / best['verite']:6.1f} ×")
    return {f"rows_{key}_us": 1e6 * value for key, value in best.items()}


def surfaces(size: int, rounds: int) -> dict[str, float]:
    rng = np.random.default_rng(2)
    truth = blob(rng, size, (size * 0.5, size * 0.5), size * 0.3)
    pred = blob(rng, size, (size * 0.52, size * 0.47), size * 0.28)
    best: dict[str, float] = {}
    values: dict[str, tuple[float, float]] = {}
    for _ in range(rounds):
        for name, run in SURFACE.items():
            try:
                seconds, value = timed(lambda run=run: run(truth, pred), 3 if name == "verite" else 1)
            except ImportError:
                continue
            best[name] = min(best.get(name, float("inf")), seconds)
            values[name] = value
    print(f"\nHausdorff and average surface distance, {size} × {size} masks, ms of CPU time (best of {rounds})")
    for name, seconds in best.items():
        hd, asd = values[name]
        print(f"  {name:<18} {1e3 * seconds:9.2f}   {seconds / best['verite']:6.1f} ×   hd {hd:.4f}  asd {asd:.4f}")
    return {f"surface_{size}_{name}_ms": 1e3 * value for name, value in best.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sizes", default="512,4096")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    given = parser.parse_args()
    figures = rows(given.pairs, given.rounds)
    for size in (int(s) for s in given.sizes.split(",")):
        figures |= surfaces(size, max(2, given.rounds // 3) if size > 1000 else given.rounds)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")
    slow = [
        *(["38 rows: more than 100 µs a pair"] if figures["rows_verite_us"] > 100 else []),
        *(["38 rows: less than 20 × scipy"] if figures["rows_scipy_us"] < 20 * figures["rows_verite_us"] else []),
    ]
    sys.exit("; ".join(slow) or 0)


if __name__ == "__main__":
    main()
