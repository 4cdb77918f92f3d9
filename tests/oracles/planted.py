"""Truths with planted errors and a detector on them, and how soon a list of suspicious records comes to the errors."""

from __future__ import annotations

import math
import random

from tests.oracles.analysis import box_iou


def plant(seed, *, sharp=False, rate=0.05, labels=5, noise=0.05, extra=2, recall=0.92):
    """200 images; of their objects this share has another label, is not in the truth, and is shifted, each.

    A detector of this recall sees what is really there, its boxes deviate by `noise`, up to `extra` of an image are of
    nothing; `sharp`: it is surer of what is right. Errors are ("truth", row) or ("gone", image, box).
    """
    r = random.Random(seed)
    truth, results, planted = [], [], []
    for image in range(1, 201):
        objects: list[tuple[int, list[float]]] = []
        for _ in range(r.randint(1, 5)):
            for _ in range(20):
                w, h = r.uniform(40, 160), r.uniform(40, 160)
                box = [r.uniform(0, 640 - w), r.uniform(0, 480 - h), w, h]
                if all(box_iou(box, other) < 0.05 for _, other in objects):
                    objects.append((r.randint(1, labels), box))
                    break
        for label, box in objects:
            x, y, w, h = box
            if r.random() < recall:
                near = [x + r.gauss(0, noise) * w, y + r.gauss(0, noise) * h,
                        w * math.exp(r.gauss(0, noise)), h * math.exp(r.gauss(0, noise))]  # fmt: skip
                said = label if r.random() >= 0.04 else r.randint(1, labels)
                shape = (3, 3) if said != label else (20, 0.5) if sharp else (8, 2)
                results.append({"image_id": image, "category_id": said, "bbox": near, "score": r.betavariate(*shape)})
            chance = r.random()
            row = {"id": len(truth) + 1, "image_id": image, "category_id": label, "bbox": box, "area": w * h,
                   "iscrowd": 0}  # fmt: skip
            if chance < rate:
                row["category_id"] = r.choice([other for other in range(1, labels + 1) if other != label])
                planted.append(("truth", len(truth)))
            elif chance < 2 * rate:
                planted.append(("gone", image, box))
                continue
            elif chance < 3 * rate:
                row["bbox"] = [x + r.choice([-1, 1]) * 0.45 * w, y + 0.1 * h, w, h]
                planted.append(("truth", len(truth)))
            truth.append(row)
        for _ in range(r.randint(0, extra)):
            w, h = r.uniform(40, 160), r.uniform(40, 160)
            box = [r.uniform(0, 640 - w), r.uniform(0, 480 - h), w, h]
            results.append(
                {"image_id": image, "category_id": r.randint(1, labels), "bbox": box, "score": r.betavariate(2, 5)}
            )
    images = [{"id": i, "width": 640, "height": 480, "file_name": f"{i}.jpg"} for i in range(1, 201)]
    categories = [{"id": c, "name": f"c{c}"} for c in range(1, labels + 1)]
    return {"images": images, "annotations": truth, "categories": categories}, results, planted


def list_precision(listed, results, planted):
    """Average precision of a list of ("truth", row) and ("pred", row): each planted error counts once."""
    wrong = {one[1] for one in planted if one[0] == "truth"}
    gone = [one[1:] for one in planted if one[0] == "gone"]
    seen = set()
    total = 0.0
    for k, (side, row) in enumerate(listed, 1):
        if side == "truth":
            hit = row if row in wrong else None
        else:
            d = results[row]
            places = enumerate(gone)
            near = [i for i, (image, box) in places if image == d["image_id"] and box_iou(d["bbox"], box) >= 0.5]
            hit = ("gone", near[0]) if near else None
        if hit is not None and hit not in seen:
            seen.add(hit)
            total += len(seen) / k
    return total / len(planted)
