"""Pascal VOC's rules in plain Python, slowly and in exact fractions: an oracle that shares no line with verite.

A box is (x1, y1, x2, y2) in pixel indices, both ends included. A truth is (image, box, is_difficult), a prediction
(image, confidence, box); all of one class.
"""

from fractions import Fraction
from itertools import pairwise

TRUE, FALSE, SKIPPED = "TP", "FP", "--"


def area(box):
    return (box[2] - box[0] + 1) * (box[3] - box[1] + 1)


def iou(a, b):
    x1, y1, x2, y2 = max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])
    if x2 - x1 + 1 <= 0 or y2 - y1 + 1 <= 0:
        return Fraction(0)
    shared = area((x1, y1, x2, y2))
    return Fraction(shared) / (area(a) + area(b) - shared)


def outcomes(truths, preds, threshold):
    """TP, FP or skipped for each prediction, in the order given, and the order of falling confidence."""
    order = sorted(range(len(preds)), key=lambda i: -preds[i][1])  # stable
    found = [FALSE] * len(preds)
    taken = set()
    for i in order:
        image, _, box = preds[i]
        best, best_iou = None, Fraction(-1)
        for t, (other, truth, _) in enumerate(truths):
            if other == image and iou(box, truth) > best_iou:
                best, best_iou = t, iou(box, truth)
        if best is None or best_iou < threshold:
            continue
        if truths[best][2]:
            found[i] = SKIPPED
        elif best not in taken:
            taken.add(best)
            found[i] = TRUE
    return found, order


def curve(truths, preds, threshold):
    """(recall, precision) after each prediction that counts, as fractions."""
    found, order = outcomes(truths, preds, threshold)
    positives = sum(not is_difficult for _, _, is_difficult in truths)
    points, true, false = [], 0, 0
    for i in order:
        true += found[i] == TRUE
        false += found[i] == FALSE
        if found[i] != SKIPPED:
            points.append((Fraction(true, positives), Fraction(true, true + false)))
    return points


def average_precision(points, steps=None):
    """All-point AP, or the mean of the best precision at recall 0, 1/(steps - 1) … 1 and beyond."""

    def best(recall):
        return max((p for r, p in points if r >= recall), default=Fraction(0))

    if steps:
        return sum(best(Fraction(k, steps - 1)) for k in range(steps)) / steps
    recalls = sorted({r for r, _ in points} | {Fraction(0)})
    return sum((b - a) * best(b) for a, b in pairwise(recalls))
