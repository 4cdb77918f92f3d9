"""The breakdown of errors, slow and obvious: plain lists, one image after the other, every set of types by itself."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np

TYPES = ("class", "localization", "both", "duplicate", "background", "missed")
GRID = np.linspace(0, 1, 101)


def random_world(seed, images=15, classes=4, *, ties=False, crowds=True, unseen=False, objects=5, extra=3):
    """A COCO truth and results on it with every type of error; `unseen`: the last class has no truths."""
    r = random.Random(seed)
    listed, annotations, results = [], [], []
    for i in range(1, images + 1):
        listed.append({"id": i, "width": 640, "height": 480, "file_name": f"{i}.jpg"})
        here = []
        for _ in range(r.randint(0, objects)):
            label = r.randint(1, classes - (1 if unseen else 0))
            crowd = int(crowds and r.random() < 0.08)
            box = random_box(r)
            here.append({"id": len(annotations) + 1, "image_id": i, "category_id": label, "bbox": box,
                         "area": box[2] * box[3], "iscrowd": crowd})  # fmt: skip
            annotations.append(here[-1])
        for truth in here:
            for _ in range(r.choice([0, 1, 1, 1, 1, 2, 2, 3])):
                x, y, w, h = truth["bbox"]
                s = r.choice([0.05, 0.1, 0.2, 0.4])
                box = [x + r.gauss(0, s) * w, y + r.gauss(0, s) * h,
                       w * max(0.2, 1 + r.gauss(0, s)), h * max(0.2, 1 + r.gauss(0, s))]  # fmt: skip
                label = truth["category_id"] if r.random() < 0.8 else r.randint(1, classes)
                results.append((i, label, box, r.random()))
        results += [(i, r.randint(1, classes), random_box(r), r.random() * 0.7) for _ in range(r.randint(0, extra))]
    categories = [{"id": c + 1, "name": f"c{c + 1}"} for c in range(classes)]
    return {"images": listed, "annotations": annotations, "categories": categories}, [
        {"image_id": i, "category_id": c, "bbox": b, "score": round(s, 1) if ties else s} for i, c, b, s in results
    ]


def random_box(r):
    w, h = r.uniform(20, 200), r.uniform(20, 200)
    return [r.uniform(0, 640 - w), r.uniform(0, 480 - h), w, h]


def box_iou(a, b, *, crowd=False):
    ix = max(0, min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0]))
    iy = max(0, min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1]))
    both = ix * iy
    return both / (a[2] * a[3]) if crowd else both / (a[2] * a[3] + b[2] * b[3] - both)


def average_precision(flags, truths):
    """COCO's; where nothing is left to be found, 1 if nothing wrong is left."""
    if truths == 0:
        return 0.0 if (~flags).any() else 1.0
    if len(flags) == 0:
        return 0.0
    right = np.cumsum(flags)
    precision = np.maximum.accumulate((right / np.arange(1, len(flags) + 1))[::-1])[::-1]
    at = np.searchsorted(right / truths, GRID)
    return float(np.where(at < len(precision), precision[np.minimum(at, len(precision) - 1)], 0).mean())


class Breakdown:
    """The error of every prediction at one threshold, and AP with any set of types fixed."""

    def __init__(self, truth, results, iou=0.5, background=0.1):
        self.found = []  # label, confidence, order, type or "right", the free target, its label
        self.asked = {}
        self.target_of, self.best = set(), {}
        for a in truth["annotations"]:
            if not a["iscrowd"]:
                self.asked[a["category_id"]] = self.asked.get(a["category_id"], 0) + 1
        taken_ids = set()
        for image in truth["images"]:
            objects = [a for a in truth["annotations"] if a["image_id"] == image["id"] and not a["iscrowd"]]
            crowds = [a for a in truth["annotations"] if a["image_id"] == image["id"] and a["iscrowd"]]
            mine = [(k, d) for k, d in enumerate(results) if d["image_id"] == image["id"]]
            mine.sort(key=lambda pair: -pair[1]["score"])
            taken_ids |= self.look_at(objects, crowds, mine, iou, background)
        self.missed = {}
        for a in truth["annotations"]:
            if not a["iscrowd"] and a["id"] not in taken_ids and a["id"] not in self.target_of:
                self.missed[a["category_id"]] = self.missed.get(a["category_id"], 0) + 1
        self.winners = {order for _, order in self.best.values()}
        self.labels = sorted(self.asked)

    def look_at(self, objects, crowds, preds, iou, background):
        taken, matches = set(), {}
        for k, d in preds:
            free = [g for g in objects if g["category_id"] == d["category_id"] and g["id"] not in taken]
            near = [(box_iou(d["bbox"], g["bbox"]), n) for n, g in enumerate(free)]
            best = max(near, default=(0, 0))
            if near and best[0] >= iou:
                taken.add(free[best[1]]["id"])
                matches[k] = True
        for k, d in preds:
            if k in matches:
                self.found.append((d["category_id"], d["score"], k, "right", None, d["category_id"]))
                continue
            same = [c for c in crowds if c["category_id"] == d["category_id"]]
            on_crowd = [box_iou(d["bbox"], c["bbox"], crowd=True) for c in same]
            if any(v >= iou for v in on_crowd):
                continue
            kind, target = self.find_type(d, objects, taken, iou, background)
            if target is not None:
                self.target_of.add(target["id"])
                if target["id"] in taken:
                    target = None
            if target is not None and self.best.get(target["id"], (-1, 0))[0] < d["score"]:
                self.best[target["id"]] = (d["score"], k)
            free = (target["id"], target["category_id"]) if target is not None else (None, None)
            self.found.append((d["category_id"], d["score"], k, kind, *free))
        return taken

    @staticmethod
    def find_type(d, objects, taken, iou, background):
        if not objects:
            return "background", None
        near = [(box_iou(d["bbox"], g["bbox"]), g) for g in objects]
        same = [(v, g) for v, g in near if g["category_id"] == d["category_id"]]
        other = [(v, g) for v, g in near if g["category_id"] != d["category_id"]]
        v, g = max(same, key=lambda pair: pair[0], default=(0, None))
        if background <= v <= iou:
            return "localization", g
        v, g = max(other, key=lambda pair: pair[0], default=(0, None))
        if v >= iou:
            return "class", g
        if any(v >= iou and g["id"] in taken for v, g in same):
            return "duplicate", None
        return ("background", None) if max(v for v, _ in near) <= background else ("both", None)

    @property
    def counts(self):
        found = {kind: sum(row[3] == kind for row in self.found) for kind in TYPES}
        return found | {"missed": sum(self.missed.values())}

    def flags(self, label, fixed):
        rows = []
        for own, score, order, kind, target, target_label in self.found:
            if kind == "right":
                if own == label:
                    rows.append((-score, order, True))
            elif kind in fixed:
                if order in self.winners and target is not None and target_label == label:
                    rows.append((-score, order, True))
            elif own == label:
                rows.append((-score, order, False))
        return np.array([row[2] for row in sorted(rows)], dtype=bool)

    def value(self, label, fixed):
        less = self.missed.get(label, 0) if "missed" in fixed else 0
        return average_precision(self.flags(label, fixed), self.asked[label] - less)

    def table(self, label):
        """AP with every set of types fixed."""
        return {frozenset(s): self.value(label, s) for n in range(7) for s in itertools.combinations(TYPES, n)}


def shapley(values):
    """Of a table from sets of types to their values."""
    found = {}
    for kind in TYPES:
        found[kind] = sum(
            math.factorial(len(s)) * math.factorial(5 - len(s)) / math.factorial(6) * (values[s | {kind}] - values[s])
            for s in values
            if kind not in s
        )
    return found


def raw_precision(flags, truths):
    """AP without interpolation."""
    right, rank = np.cumsum(flags), np.arange(1, len(flags) + 1)
    return float((flags * right / rank).sum() / truths)


def pair_greedily(pairs, rank, iou, *, is_open, is_free, is_allowed, last_of_equals=False):
    """The ground truth each open prediction is paired with, one pair after the other; -1 for none.

    `pairs` are (prediction, ground truth, IoU). By decreasing confidence each open prediction takes the free ground
    truth of highest IoU among the allowed pairs; of equal IoUs the first row, or the last one.
    """
    found = {}
    chosen = [
        (rank[p], -v, -t if last_of_equals else t, p, t)
        for (p, t, v), allowed in zip(pairs, is_allowed, strict=True)
        if allowed and v >= iou and is_open[p] and is_free[t]
    ]
    taken = set()
    for *_, p, t in sorted(chosen):
        if p not in found and t not in taken:
            found[p] = t
            taken.add(t)
    return [found.get(p, -1) for p in range(len(is_open))]
