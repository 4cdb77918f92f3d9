"""Pascal VOC by the rules, in plain Python, slowly: no numpy, nothing of verite."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass
class Truth:
    image: str
    label: str
    box: tuple[float, float, float, float]  # corners
    difficult: bool = False


@dataclass
class Pred:
    image: str
    label: str
    box: tuple[float, float, float, float]
    confidence: float


def iou(a, b, one):
    """Intersection over union; `one` is 1 where corners are pixel indices."""
    iw = min(a[2], b[2]) - max(a[0], b[0]) + one
    ih = min(a[3], b[3]) - max(a[1], b[1]) + one
    if iw <= 0 or ih <= 0:
        return 0.0
    union = (a[2] - a[0] + one) * (a[3] - a[1] + one) + (b[2] - b[0] + one) * (b[3] - b[1] + one) - iw * ih
    return iw * ih / union


def outcomes(truths, preds, label, threshold, one=1, count_difficult=False, strict=False, matching="best"):
    """(confidence, 'tp' | 'fp') of the predictions of a class by falling confidence, and the number of positives.

    `label`: None for all classes as one. `matching`: "best" asks for the object of highest IoU (of equal ones the
    first), "free" for that of highest IoU among those not yet matched (of equal ones the last), where difficult ones
    always stay free.
    """
    mine = [t for t in truths if label in (None, t.label)]
    is_difficult = {id(t): t.difficult and not count_difficult for t in mine}
    taken = set()
    listed = []
    # sorted() is stable: equal confidences stay in their order.
    for p in sorted((p for p in preds if label in (None, p.label)), key=lambda p: -p.confidence):
        best, best_iou = None, 0.0
        for t in mine:
            if t.image != p.image or (matching == "free" and id(t) in taken):
                continue
            overlap = iou(t.box, p.box, one)
            if overlap > best_iou or (matching == "free" and overlap == best_iou > 0):
                best, best_iou = t, overlap
        reached = best is not None and (best_iou > threshold if strict else best_iou >= threshold)
        if reached and is_difficult[id(best)]:
            continue
        if reached and id(best) not in taken:
            taken.add(id(best))
            listed.append((p.confidence, "tp"))
        else:
            listed.append((p.confidence, "fp"))
    return listed, sum(not is_difficult[id(t)] for t in mine)


def points(listed, positives):
    """Precision and recall after each prediction, as exact fractions."""
    tp = 0
    found = []
    for n, (_, kind) in enumerate(listed, start=1):
        tp += kind == "tp"
        found.append((Fraction(tp, n), Fraction(tp, positives)))
    return found


def ap_all(listed, positives):
    """Envelope from the right, area where recall changes; None without positives."""
    if not positives:
        return None
    recall = [Fraction(0), *(r for _, r in points(listed, positives)), Fraction(1)]
    precision = [Fraction(0), *(p for p, _ in points(listed, positives)), Fraction(0)]
    for i in range(len(precision) - 2, -1, -1):
        precision[i] = max(precision[i], precision[i + 1])
    return float(sum((recall[i + 1] - recall[i]) * precision[i + 1] for i in range(len(recall) - 1)))


def ap_11(listed, positives):
    """The mean of the best precision at recall 0, 1/10, … 1 or more; None without positives."""
    if not positives:
        return None
    found = points(listed, positives)
    best = [max((p for p, r in found if r >= Fraction(k, 10)), default=Fraction(0)) for k in range(11)]
    return float(sum(best) / 11)
