"""ImageNet's two evaluations by the rules, in plain Python, slowly: no numpy, nothing of verite.

A truth is (image, label, box), a guess the same in its order, a detection (image, label, box, confidence); boxes are
corners as pixel indices.
"""

from __future__ import annotations

from fractions import Fraction

from tests.oracles.voc import ap_all
from tests.oracles.voc import iou as overlap


def iou(a, b):
    """Corners are pixel indices."""
    return overlap(a, b, 1)


def localization_error(truths, guesses, most, threshold=0.5, *, with_place=True, left_out=()):
    """The mean over images of the share of their labels that no guess finds; None without images."""
    errors = []
    for image in dict.fromkeys(i for i, _, _ in truths):
        if image in left_out:
            continue
        first = [(label, box) for i, label, box in guesses if i == image][:most]
        labels = {label for i, label, _ in truths if i == image}
        wrong = 0
        for label in labels:
            places = [box for i, other, box in truths if (i, other) == (image, label)]
            found = any(
                guess == label and (not with_place or any(iou(box, place) >= threshold for place in places))
                for guess, box in first
            )
            wrong += not found
        errors.append(Fraction(wrong, len(labels)))
    return float(sum(errors) / len(errors)) if errors else None


def threshold_of(box, default=0.5, tolerance=10):
    w, h = box[2] - box[0] + 1, box[3] - box[1] + 1
    return min(default, (w * h) / ((w + tolerance) * (h + tolerance)))


def outcomes(truths, detections, label, blacklist=()):
    """[(confidence, 'tp' | 'fp')] of one class by falling confidence, and the number of truths to find."""
    mine = [(i, box) for i, other, box in truths if other == label and (i, label) not in blacklist]
    used = set()
    listed = []
    for image, _, box, confidence in sorted((d for d in detections if d[1] == label), key=lambda d: -d[3]):
        if (image, label) in blacklist:
            continue
        best, chosen = -1.0, None
        for k, (i, place) in enumerate(mine):
            if i == image and k not in used and iou(box, place) >= threshold_of(place) and iou(box, place) > best:
                best, chosen = iou(box, place), k
        if chosen is not None:
            used.add(chosen)
        listed.append((confidence, "fp" if chosen is None else "tp"))
    return listed, len(mine)


def average_precision(truths, detections, label, blacklist=()):
    return ap_all(*outcomes(truths, detections, label, blacklist))
