"""Panoptic quality by the rules, pixel by pixel in plain Python, slowly: no numpy, nothing of verite."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

VOID = 0


def boundary(ids, segment, rim):
    """The pixels (y, x) of a segment with another pixel, or the outside of the image, within so many steps."""
    height, width = len(ids), len(ids[0])
    steps = max(1, round(rim * sqrt(height**2 + width**2)))
    around = range(-steps, steps + 1)

    def is_inside(y, x):
        return 0 <= y < height and 0 <= x < width and ids[y][x] == segment

    pixels = [(y, x) for y in range(height) for x in range(width) if is_inside(y, x)]
    return {(y, x) for y, x in pixels if not all(is_inside(y + b, x + a) for a in around for b in around)}


def boundary_iou(truth, pred, t, p, rim):
    """IoU of the boundaries of two segments; void pixels of the truth are no part of the union."""
    ours, theirs = boundary(truth, t, rim), boundary(pred, p, rim)
    void = {(y, x) for y, x in theirs if truth[y][x] == VOID}
    return Fraction(len(ours & theirs), len((ours | theirs) - void))


def counts(images, classes, rim=None):
    """For each class [sum of IoU, TP, FP, FN]. An image is (truth, pred, truth segments, pred segments).

    truth and pred are lists of rows of segment ids; segments map an id to (class, is crowd). With `rim`, a share of the
    diagonal, boundaries are compared, too.
    """
    found = {c: [Fraction(0), 0, 0, 0] for c in classes}
    for truth, pred, truths, preds in images:
        pixels = [(t, p) for row, other in zip(truth, pred, strict=True) for t, p in zip(row, other, strict=True)]
        matched_truths, matched_preds = set(), set()
        for t, (t_class, is_crowd) in truths.items():
            for p, (p_class, _) in preds.items():
                if is_crowd or t_class != p_class:
                    continue
                both = sum(pair == (t, p) for pair in pixels)
                either = sum(a == t or (b == p and a != VOID) for a, b in pixels)
                iou = Fraction(both, either) if both else 0
                if both and rim is not None:
                    iou = min(iou, boundary_iou(truth, pred, t, p, rim))
                if iou > Fraction(1, 2):
                    found[t_class][0] += iou
                    found[t_class][1] += 1
                    matched_truths.add(t)
                    matched_preds.add(p)
        for p, (p_class, _) in preds.items():
            if p in matched_preds:
                continue
            mine = [a for a, b in pixels if b == p]
            spared = sum(a == VOID or truths[a] == (p_class, True) for a in mine)
            if not 2 * spared > len(mine):
                found[p_class][2] += 1
        for t, (t_class, is_crowd) in truths.items():
            if not is_crowd and t not in matched_truths:
                found[t_class][3] += 1
    return found


def quality(iou, tp, fp, fn):
    """PQ, SQ and RQ of one class; None where it does not occur."""
    if tp + fp + fn == 0:
        return None
    weight = tp + Fraction(fp, 2) + Fraction(fn, 2)
    return iou / weight, iou / tp if tp else Fraction(0), tp / weight


def means(found, chosen):
    """The mean of each measure over the classes that occur; None where none does."""
    values = [q for c in chosen if (q := quality(*found[c])) is not None]
    return [float(sum(column) / len(values)) for column in zip(*values, strict=True)] if values else None
