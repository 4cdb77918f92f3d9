"""Semantic segmentation, slowly: mmsegmentation's rules, pixel by pixel in plain Python with fractions."""

from __future__ import annotations

from fractions import Fraction
from math import nan


def areas(pairs, classes, ignore):
    """Intersection, prediction and truth of each class, over all pairs of maps (nested lists)."""
    found = {k: [0, 0, 0] for k in range(classes)}
    for truth, pred in pairs:
        for row, other in zip(truth, pred, strict=True):
            for mine, theirs in zip(row, other, strict=True):
                if mine == ignore:
                    continue
                if mine == theirs:
                    found[mine][0] += 1
                if theirs in found:
                    found[theirs][1] += 1
                found[mine][2] += 1
    return found


def ratio(a, b):
    return Fraction(a, b) if b else None


def mean(values):
    """As numpy's nanmean: those that there are."""
    known = [value for value in values if value is not None]
    return float(sum(known) / len(known)) if known else nan


def measures(found):
    """IoU, accuracy and Dice of each class, None for what mmsegmentation has NaN for, and the five numbers."""
    iou = {k: ratio(both, pred + truth - both) for k, (both, pred, truth) in found.items()}
    acc = {k: ratio(both, truth) for k, (both, _, truth) in found.items()}
    dice = {k: ratio(2 * both, pred + truth) for k, (both, pred, truth) in found.items()}
    pixels = sum(truth for _, _, truth in found.values())
    right = sum(both for both, _, _ in found.values())
    weighted = sum((iou[k] or 0) * truth for k, (_, _, truth) in found.items())
    scores = {
        "mIoU": mean(iou.values()),
        "fwIoU": float(weighted / pixels) if pixels else nan,
        "mAcc": mean(acc.values()),
        "aAcc": right / pixels if pixels else nan,
        "Dice": mean(dice.values()),
    }
    return scores, {"IoU": iou, "acc": acc, "Dice": dice}
