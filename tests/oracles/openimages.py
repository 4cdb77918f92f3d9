"""Open Images by the rules, one prediction after the other in plain Python: no numpy, nothing of verite."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction


@dataclass
class Truth:
    image: str
    label: str
    box: tuple
    group: bool = False
    difficult: bool = False
    mask: frozenset | None = None  # of pixels; an empty one is none


@dataclass
class Pred:
    image: str
    label: str
    box: tuple
    confidence: float
    mask: frozenset | None = None


def shared(a, b):
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return w * h if w > 0 and h > 0 else 0


def area(box):
    return (box[2] - box[0]) * (box[3] - box[1])


def iou(pred, truth, by_mask):
    if by_mask:
        return len(pred.mask & truth.mask) / len(pred.mask | truth.mask)
    both = shared(pred.box, truth.box)
    return both / (area(pred.box) + area(truth.box) - both)


def ioa(pred, truth, by_mask):
    """The share of the prediction that lies in the truth."""
    return len(pred.mask & truth.mask) / len(pred.mask) if by_mask else shared(pred.box, truth.box) / area(pred.box)


def expanded(truths, verified, above, below):
    """`above` and `below` map a class to those above and below it; verified are (image, label, is there)."""
    boxes = [replace(t, label=label) for t in truths for label in (t.label, *sorted(above[t.label]))]
    said = [
        (image, other, there)
        for image, label, there in verified
        for other in (label, *sorted((above if there else below)[label]))
    ]
    return boxes, said


def judged(truths, preds, verified):
    """Predictions of classes that were verified in their image or have a truth in it."""
    known = {(image, label) for image, label, _ in verified} | {(t.image, t.label) for t in truths}
    return [p for p in preds if (p.image, p.label) in known]


def entries_of_image(truths, preds, weight, threshold, masks):
    """[(confidence, worth)] of one image and class, worth 0 for false ones, in the reference's order."""
    # The reference sorts rising and turns the list round: of equal confidences the last comes first.
    preds = sorted(preds, key=lambda p: p.confidence)[::-1]
    state = ["free"] * len(preds)
    found = []
    for by_mask in (True, False) if masks else (False,):
        mine = [t for t in truths if bool(t.mask) == by_mask] if masks else truths
        singles, groups = [t for t in mine if not t.group], [t for t in mine if t.group]
        taken = set()
        for i, p in enumerate(preds):
            if state[i] != "free" or not singles:
                continue
            values = [iou(p, t, by_mask) for t in singles]
            best = values.index(max(values))
            if values[best] < threshold:
                continue
            if singles[best].difficult:
                state[i] = "left out"
            elif best not in taken:
                taken.add(best)
                state[i] = "left out" if masks and not by_mask else "hit"
        scores = [0.0] * len(groups)
        for i, p in enumerate(preds):
            if state[i] != "free" or not groups:
                continue
            values = [ioa(p, t, by_mask) for t in groups]
            best = values.index(max(values))
            if values[best] >= threshold:
                state[i] = "left out"
                scores[best] = max(scores[best], p.confidence)
        if by_mask == masks:
            # A difficult group is not asked for, so it is not found, either; the reference stops where it is hit.
            hit = zip(scores, groups, strict=True)
            found += [(s, weight) for s, t in hit if s > 0 and weight > 0 and not t.difficult]
    kept = [(p.confidence, 1 if s == "hit" else 0) for p, s in zip(preds, state, strict=True) if s != "left out"]
    return kept + found


def average_precision(truths, preds, label, *, weight, threshold=0.5, masks=False):
    """Of one class; None where there is nothing to find. Also the number to find and [(confidence, worth)]."""
    weight = Fraction(weight)
    listed, positives = [], Fraction(0)
    for image in sorted({r.image for r in [*truths, *preds]}):
        mine = [t for t in truths if (t.image, t.label) == (image, label)]
        theirs = [p for p in preds if (p.image, p.label) == (image, label)]
        theirs = [p for p in theirs if p.box[0] < p.box[2] and p.box[1] < p.box[3] and (p.mask or not masks)]
        listed += entries_of_image(mine, theirs, weight, threshold, masks)
        counted = [t for t in mine if not t.difficult and not (masks and not t.mask)]
        positives += sum(weight if t.group else 1 for t in counted)
    listed = sorted(listed, key=lambda entry: entry[0])[::-1]
    if not positives:
        return None, positives, listed
    tp = fp = Fraction(0)
    points = [(Fraction(0), Fraction(0))]
    for _, worth in listed:
        tp += Fraction(worth)
        fp += worth <= 0
        points.append((tp / positives, tp / (tp + fp)))
    total = Fraction(0)
    for i in range(1, len(points)):
        total += (points[i][0] - points[i - 1][0]) * max(p for _, p in points[i:])
    return float(total), positives, listed
