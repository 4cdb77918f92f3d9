"""Every localization metric straight from its definition, slowly: images, sets of pixels and loops, nothing shared.

Each function takes two boolean images. Definitions are those printed in the sources, with 0 for perfect unless the
metric is a similarity; regions are not empty.
"""

from __future__ import annotations

from collections.abc import Callable
from math import atan, hypot, log, log2, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from tests.oracles.partitions import gce, hafiane1, hafiane2, hamming, lce, vinet

Image = NDArray[np.bool_]


def contour(image: Image) -> Image:
    """Pixels of the object with a 4-neighbour outside it; outside the image is outside."""
    around = np.pad(image, 1)
    return image & ~(around[:-2, 1:-1] & around[2:, 1:-1] & around[1:-1, :-2] & around[1:-1, 2:])


def distances(of: Image, to: Image) -> NDArray[np.float64]:
    """From every pixel of one set the distance to the nearest of the other, by trying them all."""
    a, b = np.argwhere(of).astype(float), np.argwhere(to).astype(float)
    return np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=2)).min(axis=1)


def everywhere(image: Image) -> Image:
    return np.ones_like(image)


def box(image: Image) -> tuple[int, int, int, int]:
    """First and last column and row."""
    ys, xs = np.nonzero(image)
    return xs.min(), ys.min(), xs.max(), ys.max()


def size(b: tuple[int, int, int, int]) -> tuple[int, int]:
    return b[2] - b[0] + 1, b[3] - b[1] + 1


def middle(b: tuple[int, int, int, int]) -> tuple[float, float]:
    return (b[0] + b[2]) / 2, (b[1] + b[3]) / 2


def robin_loc(t: Image, p: Image) -> float:
    (xt, yt), (xp, yp), (w, h) = middle(box(t)), middle(box(p)), size(box(t))
    return 2 / pi * atan(max(abs(xp - xt) / w, abs(yp - yt) / h))


def robin_com(t: Image, p: Image) -> float:
    at, ap = np.prod(size(box(t))), np.prod(size(box(p)))
    return abs(ap - at) / max(ap, at)


def robin_cor(t: Image, p: Image) -> float:
    (wt, ht), (wp, hp) = size(box(t)), size(box(p))
    return 2 / pi * atan(abs(hp / wp - ht / wt))


def centre_distance(t: Image, p: Image) -> float:
    (xt, yt), (xp, yp) = middle(box(t)), middle(box(p))
    return hypot(xp - xt, yp - yt)


def solid(b: tuple[int, int, int, int], shape: tuple[int, ...]) -> Image:
    out = np.zeros(shape, dtype=bool)
    out[b[1] : b[3] + 1, b[0] : b[2] + 1] = True
    return out


def hull(t: Image, p: Image) -> tuple[int, int, int, int]:
    return box(t | p)


def giou(t: Image, p: Image) -> float:
    a, b = solid(box(t), t.shape), solid(box(p), t.shape)
    frame = np.prod(size(hull(a, b)))
    union = (a | b).sum()
    return (a & b).sum() / union - (frame - union) / frame


def diou(t: Image, p: Image) -> float:
    a, b = solid(box(t), t.shape), solid(box(p), t.shape)
    w, h = size(hull(a, b))
    return (a & b).sum() / (a | b).sum() - centre_distance(t, p) ** 2 / (w**2 + h**2)


def ciou(t: Image, p: Image) -> float:
    a, b = solid(box(t), t.shape), solid(box(p), t.shape)
    iou = (a & b).sum() / (a | b).sum()
    (wt, ht), (wp, hp) = size(box(t)), size(box(p))
    v = 4 / pi**2 * (atan(wt / ht) - atan(wp / hp)) ** 2
    return diou(t, p) - (v * v / (1 - iou + v) if v else 0)


def err_loc(t: Image, p: Image) -> float:
    ct, cp = contour(t), contour(p)
    return ((ct & ~cp) | (cp & ~ct)).sum() / t.size


def err_under(t: Image, p: Image) -> float:
    ct, cp = contour(t), contour(p)
    return (ct & ~cp).sum() / ct.sum()


def err_over(t: Image, p: Image) -> float:
    ct, cp = contour(t), contour(p)
    return (cp & ~ct).sum() / (~ct).sum() if (~ct).any() else 0.0


def gray(t: Image, p: Image, background: float = 1, line: float = 2) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.where(contour(t), line, background).astype(float), np.where(contour(p), line, background).astype(float)


def snr(t: Image, p: Image) -> float:
    gt, gp = gray(t, p)
    differ = gt != gp
    raw = sqrt((gp[differ] ** 2 / (gt - gp)[differ] ** 2).sum() / t.size)
    return 1 / (1 + raw)


def rms(t: Image, p: Image) -> float:
    gt, gp = gray(t, p)
    return sqrt(((gt - gp) ** 2).mean())


def lq(q: float) -> Callable[[Image, Image], float]:
    def measure(t: Image, p: Image) -> float:
        gt, gp = gray(t, p)
        return float((np.abs(gt - gp) ** q).mean() ** (1 / q))

    return measure


def kullback(t: Image, p: Image) -> float:
    gt, gp = gray(t, p)
    return float(((gp - gt) * np.log(gp / gt)).mean())


def raw_bhattacharyya(gt: NDArray[np.float64], gp: NDArray[np.float64]) -> float:
    return -log(np.sqrt(gt * gp).mean())


def bhattacharyya(t: Image, p: Image) -> float:
    gt, gp = gray(t, p)
    return raw_bhattacharyya(gt, gp) - raw_bhattacharyya(gt, gt)


def bhattacharyya_as_run(t: Image, p: Image) -> float:
    gt, gp = gray(t, p, 2, 1)
    return raw_bhattacharyya(gt, gp) - raw_bhattacharyya(gt, gt)


def jensen(t: Image, p: Image) -> float:
    gt, gp = gray(t, p)
    mean = (gt + gp) / 2

    def entropy(image: NDArray[np.float64]) -> float:
        return 1 / (1 - 3) * log2((image**3).sum())

    return entropy(np.sqrt(mean * gt)) - (entropy(mean) + entropy(gt)) / 2


def mean_distance(t: Image, p: Image) -> float:
    return distances(contour(p), contour(t)).mean()


def mean_squared_distance(t: Image, p: Image) -> float:
    return (distances(contour(p), contour(t)) ** 2).mean()


def figure_of_merit(t: Image, p: Image) -> float:
    d = distances(contour(p), contour(t))
    return 1 - (1 / (1 + d**2 / 9)).sum() / max(contour(t).sum(), contour(p).sum())


def hausdorff(t: Image, p: Image) -> float:
    return max(distances(contour(p), contour(t)).max(), distances(contour(t), contour(p)).max())


def hausdorff95(t: Image, p: Image) -> float:
    return max(
        np.quantile(distances(contour(p), contour(t)), 0.95), np.quantile(distances(contour(t), contour(p)), 0.95)
    )


def seen_differently(t: Image, p: Image, at: Image) -> NDArray[np.float64]:
    return np.abs(distances(at, contour(t)) - distances(at, contour(p)))


def baddeley(order: float) -> Callable[[Image, Image], float]:
    return lambda t, p: float((seen_differently(t, p, everywhere(t)) ** order).mean() ** (1 / order))


def baddeley_as_run(order: float) -> Callable[[Image, Image], float]:
    def measure(t: Image, p: Image) -> float:
        union = contour(t) | contour(p)
        return float((seen_differently(t, p, union) ** order).sum() ** (1 / order) / union.sum())

    return measure


def baddeley_union(t: Image, p: Image) -> float:
    union = contour(t) | contour(p)
    return float((seen_differently(t, p, union) ** 2).mean() ** 0.5)


def baddeley_printed(t: Image, p: Image) -> float:
    union = contour(t) | contour(p)
    return float(((seen_differently(t, p, union) ** 2).sum() / t.size) ** 0.5)


def odet_over(n: float) -> Callable[[Image, Image], float]:
    def measure(t: Image, p: Image) -> float:
        over = contour(p) & ~contour(t)
        return float(((distances(over, contour(t)) / 5) ** n).mean()) if over.any() else 0.0

    return measure


def odet_under(n: float) -> Callable[[Image, Image], float]:
    return lambda t, p: odet_over(n)(p, t)


def odet_nd(t: Image, p: Image) -> float:
    over, under = contour(p) & ~contour(t), contour(t) & ~contour(p)
    if not (over | under).any():
        return 0.0
    total = sum(distances(of, to).sum() for of, to in ((over, contour(t)), (under, contour(p))) if of.any())
    return total / ((over | under).sum() * 5)


def average_surface_distance(t: Image, p: Image) -> float:
    return np.concatenate([distances(contour(p), contour(t)), distances(contour(t), contour(p))]).mean()


def normalised_surface_dice(t: Image, p: Image) -> float:
    return (np.concatenate([distances(contour(p), contour(t)), distances(contour(t), contour(p))]) <= 1).mean()


def rim(image: Image, width: int) -> Image:
    """Pixels with a pixel outside within so many steps to any neighbour."""
    around = np.pad(image, width)
    core = np.ones_like(image)
    for dy in range(2 * width + 1):
        for dx in range(2 * width + 1):
            core &= around[dy : dy + image.shape[0], dx : dx + image.shape[1]]
    return image & ~core


def boundary_iou(t: Image, p: Image) -> float:
    width = max(1, round(0.02 * hypot(*t.shape)))
    a, b = rim(t, width), rim(p, width)
    return (a & b).sum() / (a | b).sum()


def iou(t: Image, p: Image) -> float:
    return (t & p).sum() / (t | p).sum()


def pascal(t: Image, p: Image) -> float:
    return 1 - iou(t, p)


def dice(t: Image, p: Image) -> float:
    return 2 * (t & p).sum() / (t.sum() + p.sum())


def hen1(t: Image, p: Image) -> float:
    return abs(int(p.sum()) - int(t.sum())) / t.sum()


def hen2(t: Image, p: Image) -> float:
    return ((t & ~p).sum() + (p & ~t).sum()) / t.sum()


def yasnoff1(t: Image, p: Image) -> float:
    return 100 * (t & ~p).sum() / t.sum()


def yasnoff1_as_run(t: Image, p: Image) -> float:
    return 100 * (p & ~t).sum() / p.sum()


def yasnoff2(t: Image, p: Image) -> float:
    return 100 * (p & ~t).sum() / (~t).sum() if (~t).any() else 0.0


def yasnoff2_as_run(t: Image, p: Image) -> float:
    return 100 * (t & ~p).sum() / (~p).sum() if (~p).any() else 0.0


def yasnoff3(t: Image, p: Image) -> float:
    extra = p & ~t
    return 100 / t.size * sqrt((distances(extra, t) ** 2).sum()) if extra.any() else 0.0


def pixel_precision(t: Image, p: Image) -> float:
    return 1 - (t & p).sum() / p.sum()


def pixel_recall(t: Image, p: Image) -> float:
    return 1 - (t & p).sum() / t.sum()


ORACLES: dict[str, Callable[[Image, Image], float]] = {
    "robin": lambda t, p: (robin_loc(t, p) + robin_com(t, p) + robin_cor(t, p)) / 3,
    "robin(variant='max')": lambda t, p: max(robin_loc(t, p), robin_com(t, p), robin_cor(t, p)),
    "robin_loc": robin_loc,
    "robin_com": robin_com,
    "robin_cor": robin_cor,
    "centre_distance": centre_distance,
    "giou": giou,
    "diou": diou,
    "ciou": ciou,
    "err_loc": err_loc,
    "err_under": err_under,
    "err_over": err_over,
    "snr": snr,
    "rms": rms,
    "lq": lq(1),
    "lq(q=3)": lq(3),
    "kullback": kullback,
    "bhattacharyya": bhattacharyya,
    "bhattacharyya(variant='as-run')": bhattacharyya_as_run,
    "jensen": jensen,
    "mean_distance": mean_distance,
    "mean_squared_distance": mean_squared_distance,
    "figure_of_merit": figure_of_merit,
    "hausdorff": hausdorff,
    "hausdorff(quantile=0.95)": hausdorff95,
    "baddeley(p=1)": baddeley(1),
    "baddeley": baddeley(2),
    "baddeley(p=3)": baddeley(3),
    "baddeley(p=1, variant='as-run')": baddeley_as_run(1),
    "baddeley(variant='as-run')": baddeley_as_run(2),
    "baddeley(p=3, variant='as-run')": baddeley_as_run(3),
    "baddeley(variant='union')": baddeley_union,
    "baddeley(variant='printed')": baddeley_printed,
    "odet_over": odet_over(1),
    "odet_over(n=2)": odet_over(2),
    "odet_under": odet_under(1),
    "odet_under(n=2)": odet_under(2),
    "odet_nd": odet_nd,
    "average_surface_distance": average_surface_distance,
    "normalised_surface_dice": normalised_surface_dice,
    "boundary_iou": boundary_iou,
    "iou": iou,
    "pascal": pascal,
    "dice": dice,
    "hen1": hen1,
    "hen2": hen2,
    "yasnoff1": yasnoff1,
    "yasnoff1(variant='as-run')": yasnoff1_as_run,
    "yasnoff2": yasnoff2,
    "yasnoff2(variant='as-run')": yasnoff2_as_run,
    "yasnoff3": yasnoff3,
    "pixel_precision": pixel_precision,
    "pixel_recall": pixel_recall,
    "gce": gce,
    "lce": lce,
    "hamming": hamming,
    "hafiane1": hafiane1,
    "hafiane2": hafiane2,
    "vinet": vinet,
}
