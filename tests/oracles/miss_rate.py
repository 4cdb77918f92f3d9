"""Log-average miss rate, slowly and plainly, by the rules of Dollár et al. (2012) and CityPersons."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from tests.oracles.ignore_regions import area, intersection

Box = Sequence[float]


def match_image(truths: Sequence[tuple[Box, bool]], preds: Sequence[Box], iou: float) -> str:
    """One letter per prediction, by falling confidence: T, F, or I; `truths` are boxes and whether they are ignored."""
    used: set[int] = set()
    letters = ""
    for pred in preds:
        best, at = iou, -1
        for i, (box, is_ignored) in enumerate(truths):
            both = intersection(pred, box)
            if not is_ignored and i not in used and (value := both / (area(pred) + area(box) - both)) >= best:
                best, at = value, i
        if at >= 0:
            used.add(at)
            letters += "T"
        else:
            over = any(flag and intersection(pred, box) / area(pred) >= iou for box, flag in truths)
            letters += "I" if over else "F"
    return letters


def miss_rates(found: Sequence[tuple[float, str]], truths: int, images: int) -> list[float]:
    """Miss rates at nine FPPI from confidences and letters of all images; no two confidences are equal."""
    rates = []
    for i in range(9):
        most = 10 ** (-2 + i / 4)
        rate, tp, fp = 1.0, 0, 0
        for _, letter in sorted(found, reverse=True):
            tp, fp = tp + (letter == "T"), fp + (letter == "F")
            if fp / images > most:
                break
            rate = 1 - tp / truths
        rates.append(rate)
    return rates


def log_average(rates: Sequence[float]) -> float:
    return exp(sum(log(max(rate, 1e-10)) for rate in rates) / len(rates)) if any(rates) else 0.0
