"""LVIS on boxes by the rules, in plain Python, slowly: no numpy, nothing of verite or of the package `lvis`."""

from __future__ import annotations

from sys import float_info

# The ninth is what floating point makes of 0.9 when ten steps are counted from 0.5 to 0.95.
THRESHOLDS = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.8999999999999999, 0.95]
AREAS = {"": (0, 1e10), "s": (0, 1024), "m": (1024, 9216), "l": (9216, 1e10)}


def iou(a, b):
    """Of left, top, width and height, without any +1."""
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = w * h if w > 0 and h > 0 else 0.0
    return shared / (a[2] * a[3] + b[2] * b[3] - shared) if shared else 0.0


def counted(truth, results, most):
    """The best predictions of each image, of classes that were looked for in it."""
    kept = []
    for image in truth["images"]:
        mine = [r for r in results if r["image_id"] == image["id"]]
        sought = {a["category_id"] for a in truth["annotations"] if a["image_id"] == image["id"] and a["area"] > 0}
        sought |= set(image["neg_category_ids"])
        best = sorted(mine, key=lambda r: -r["score"])[:most]
        kept += [r for r in best if r["category_id"] in sought and r["bbox"][2] * r["bbox"][3] > 0]
    return kept


def outcomes(truths, preds, threshold, low, high, is_incomplete):
    """[(score, kind)] of one image and class by falling score, and how many truths are to be found."""
    ignored = [bool(t.get("ignore")) or not low <= t["area"] <= high for t in truths]
    taken = set()
    listed = []
    for p in sorted(preds, key=lambda p: -p["score"]):
        best, chosen = min(threshold, 1 - 1e-10), None
        for kind in (False, True):  # truths to be found first, then those that count for nothing
            if chosen is not None:
                break
            for i, t in enumerate(truths):
                if ignored[i] == kind and i not in taken and iou(p["bbox"], t["bbox"]) >= best:
                    best, chosen = iou(p["bbox"], t["bbox"]), i
        is_outside = not low <= p["bbox"][2] * p["bbox"][3] <= high
        if chosen is not None:
            taken.add(chosen)
            listed.append((p["score"], "spared" if ignored[chosen] else "hit"))
        else:
            listed.append((p["score"], "spared" if is_outside or is_incomplete else "false"))
    return listed, ignored.count(False)


def curve(truth, preds, label, threshold, low, high):
    """Precision at 101 recalls, and the last recall; None where there is nothing to find."""
    listed, positives = [], 0
    for image in sorted(truth["images"], key=lambda image: image["id"]):
        truths = [a for a in truth["annotations"] if (a["image_id"], a["category_id"]) == (image["id"], label)]
        truths = [t for t in truths if t["area"] > 0]
        mine = [p for p in preds if (p["image_id"], p["category_id"]) == (image["id"], label)]
        is_incomplete = label in image["not_exhaustive_category_ids"]
        found, count = outcomes(truths, mine, threshold, low, high, is_incomplete)
        listed += found
        positives += count
    if not positives:
        return None
    listed.sort(key=lambda pair: -pair[0])
    tp = fp = 0
    points = []
    for _, kind in listed:
        tp += kind == "hit"
        fp += kind == "false"
        points.append((tp / positives, tp / (tp + fp + float_info.epsilon)))
    read = [max((p for r, p in points if r >= level * 0.01), default=0.0) for level in range(101)]
    return read, points[-1][0] if points else 0.0


def numbers(truth, results, most=300):
    """The thirteen numbers; None where there is nothing to find."""
    preds = counted(truth, results, most)
    classes = {c["id"]: c["frequency"] for c in truth["categories"]}
    curves = {
        (area, label, t): curve(truth, preds, label, threshold, *limits)
        for area, limits in AREAS.items()
        for label in classes
        for t, threshold in enumerate(THRESHOLDS)
    }

    def mean(which, area="", at=None, group=None):
        values = []
        for (a, label, t), found in curves.items():
            if a == area and found is not None and at in (None, t) and group in (None, classes[label]):
                values += found[0] if which == "ap" else [found[1]]
        return sum(values) / len(values) if values else None

    found = {"AP": mean("ap"), "AP50": mean("ap", at=0), "AP75": mean("ap", at=5)}
    found |= {f"AP{area}": mean("ap", area) for area in "sml"}
    found |= {f"AP{group}": mean("ap", group=group) for group in "rcf"}
    return found | {f"AR{most}": mean("ar")} | {f"AR{area}": mean("ar", area) for area in "sml"}
