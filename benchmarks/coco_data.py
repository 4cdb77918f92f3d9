"""COCO data sets of realistic size, made from a seed: the same numpy and the same seed give the same bytes.

coco: 5,000 images, 80 classes, 37,000 truths with polygons and a few crowds; 44,000 and 500,000 result boxes, and
36,000 result masks. o365: 80,000 images, 365 classes, 1.2 million truths and 1.2 million result boxes. lvis: 20,000
images, 1,203 classes, 250,000 truths, 6 million result boxes (0.9 GB).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FILES = {
    "coco": ("coco_gt.json", "coco_dt44k.json", "coco_dt500k.json", "coco_dtsegm36k.json"),
    "o365": ("o365_gt.json", "o365_dt.json"),
    "poses": ("poses_gt.json", "poses_dt.json"),
    "lvis": ("lvis_gt.json", "lvis_dt.json"),
}
SEED = 2017


class Scene:
    """Images and the true objects in them, as columns."""

    def __init__(self, rng: np.random.Generator, images: int, classes: int, objects: float, pool: float) -> None:
        self.rng, self.classes = rng, classes
        self.ids = np.sort(rng.choice(20 * images, images, replace=False) + 1)
        is_wide = rng.random(images) < 0.72
        self.widths = np.where(is_wide, 640, rng.choice([425, 427, 480, 500], images))
        self.heights = np.where(is_wide, rng.choice([424, 426, 427, 480], images), 640)
        # A few images have many objects, some have none; an image shows a handful of classes.
        counts = np.minimum(rng.lognormal(np.log(objects) - 0.45, 0.95, images) + 0.9 * rng.random(images), 90)
        self.image = rng.permutation(np.repeat(np.arange(images), counts.astype(int)))
        share = 1.0 / np.arange(1, classes + 1) ** 0.8
        drawn = rng.choice(classes, (images, 12), p=share / share.sum())
        shown = np.minimum(1 + rng.poisson(pool - 1, images), 12)
        place = (rng.random(len(self.image)) ** 1.6 * shown[self.image]).astype(int)
        self.label = drawn[self.image, place]
        self.boxes = self.random_boxes(self.image, 3.9)

    def random_boxes(self, image: Ints, size: float) -> Floats:
        """Left, top, width, height within the image; sides are spread evenly in their logarithm."""
        side = np.exp(self.rng.normal(size, 1.15, len(image)))
        shape = np.exp(self.rng.normal(0, 0.45, len(image)))
        limit = np.stack([self.widths[image], self.heights[image]], 1)
        sides = np.clip(np.stack([side * shape, side / shape], 1), 2, 0.98 * limit)
        return np.concatenate([self.rng.random(sides.shape) * (limit - sides), sides], 1)

    def moved(self, boxes: Floats, image: Ints, amount: float) -> Floats:
        """Boxes as a detector finds them: about there, about so large."""
        quality = np.abs(self.rng.normal(1, 0.6, (len(boxes), 1)))
        centre = boxes[:, :2] + boxes[:, 2:] / 2
        centre += self.rng.normal(0, amount, centre.shape) * quality * boxes[:, 2:]
        sides = boxes[:, 2:] * np.exp(self.rng.normal(0, 1.6 * amount, centre.shape) * quality)
        limit = np.stack([self.widths[image], self.heights[image]], 1)
        low = np.clip(centre - sides / 2, 0, limit - 1)
        return np.concatenate([low, np.clip(centre + sides / 2, low + 1, limit) - low], 1)

    def detections(self, total: int, *, recall: float) -> tuple[Ints, Ints, Floats, Floats]:
        """Image, label, box and score: most truths found, then duplicates, wrong classes and background."""
        rng = self.rng
        found = np.flatnonzero(rng.random(len(self.image)) < recall)
        rest = rng.integers(0, len(self.image), total - len(found))
        source = np.concatenate([found, rest])
        image, label = self.image[source], self.label[source].copy()
        is_rest = np.arange(total) >= len(found)
        is_background = is_rest & (rng.random(total) < 0.5)
        image[is_background] = rng.integers(0, len(self.ids), is_background.sum())
        boxes = np.where(
            is_rest[:, None], self.moved(self.boxes[source], image, 0.16), self.moved(self.boxes[source], image, 0.055)
        )
        boxes[is_background] = self.random_boxes(image[is_background], 4.0)
        wrong = rng.random(total) < np.where(is_rest, 0.3, 0.04)
        label[wrong] = rng.integers(0, self.classes, wrong.sum())
        score = np.where(is_rest, rng.beta(1, 7, total), rng.beta(3.2, 1.6, total))
        order = np.lexsort([-score, rng.permutation(len(self.ids))[image]])
        return image[order], label[order], boxes[order], np.clip(score[order], 0.001, 0.999)


def polygon(box: Floats, corners: int, rng: np.random.Generator) -> Floats:
    """A star around the middle of a box."""
    angle = np.sort(rng.random(corners)) * 2 * np.pi
    radius = np.clip(0.72 + 0.2 * np.sin(angle * rng.integers(1, 4)) + rng.normal(0, 0.05, corners), 0.35, 1.0)
    centre, half = box[:2] + box[2:] / 2, box[2:] / 2
    return np.round(centre + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1) * half, 2)


def outlines_of(scene: Scene) -> list[list[Floats]]:
    """One or two rings for each truth; its box becomes theirs."""
    rng, found = scene.rng, []
    for i, box in enumerate(scene.boxes):
        corners = int(np.clip(rng.lognormal(2.9, 0.45), 8, 40))
        parts = [box]
        if rng.random() < 0.1 and box[2] > 12:
            half = box * [1, 1, 0.45, 1]
            parts = [half, half + np.array([0.55 * box[2], 0, 0, 0])]
        rings = [polygon(part, max(8, corners // len(parts)), rng) for part in parts]
        low, high = np.concatenate(rings).min(0), np.concatenate(rings).max(0)
        scene.boxes[i] = np.round(np.concatenate([low, high - low]), 2)
        found.append(rings)
    return found


def ring_area(ring: Floats) -> float:
    x, y = ring.T
    return float(0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))))


def drawn(rings: list[Floats], height: int, width: int) -> dict[str, Any]:
    from verite.compat.pycocotools import mask

    return mask.merge(mask.frPyObjects([ring.ravel().tolist() for ring in rings], height, width))


def uncompressed(rle: dict[str, Any]) -> dict[str, Any]:
    from verite.compat.pycocotools._mask import counts_of

    return {"size": rle["size"], "counts": counts_of(rle).tolist()}


def image_records(scene: Scene) -> list[dict[str, Any]]:
    return [
        {"license": 4, "file_name": f"{id:012d}.jpg", "coco_url": f"http://example.org/val/{id:012d}.jpg",
         "height": height, "width": width, "date_captured": "2013-11-14 17:02:52", "id": id}
        for id, width, height in zip(scene.ids.tolist(), scene.widths.tolist(), scene.heights.tolist(), strict=True)
    ]  # fmt: skip


def write_records(path: Path, records: Iterable[str]) -> None:
    temporary = path.with_suffix(".part")
    with temporary.open("w") as file:
        file.write("[")
        for i, record in enumerate(records):
            file.write(f",{record}" if i else record)
        file.write("]")
    temporary.rename(path)


def write_boxes(path: Path, scene: Scene, ids: Ints, total: int, recall: float, style: str) -> None:
    """Results as detectors write them: rounded, or with all the digits of single precision and some equal scores."""
    image, label, boxes, score = scene.detections(total, recall=recall)
    if style == "short":
        boxes, score = np.round(boxes, 2), np.round(score, 3)
    else:
        tied = scene.rng.random(total) < 0.15
        score = np.where(tied, np.round(score, 2), score).astype(np.float32).astype(np.float64)
        boxes = boxes.astype(np.float32).astype(np.float64)
    rows = zip(scene.ids[image].tolist(), ids[label].tolist(), boxes.tolist(), score.tolist(), strict=True)
    write_records(
        path, (f'{{"image_id": {i},"category_id": {c},"bbox": [{b[0]!r},{b[1]!r},{b[2]!r},{b[3]!r}],"score": {s!r}}}'
               for i, c, b, s in rows)
    )  # fmt: skip


def write_masks(path: Path, scene: Scene, ids: Ints, outlines: list[list[Floats]], total: int) -> None:
    """Result masks: truths moved a little, and stars anywhere."""
    rng, records = scene.rng, []
    found = np.flatnonzero(rng.random(len(outlines)) < 0.78)[:total]
    for i in [*found.tolist(), *([-1] * (total - len(found)))]:
        near = i if i >= 0 else int(rng.integers(len(outlines)))
        image, box = int(scene.image[near]), scene.boxes[near]
        width, height = int(scene.widths[image]), int(scene.heights[image])
        if i >= 0:
            shift = rng.normal(0, 0.045, 2) * box[2:]
            rings = [
                np.clip(r + shift + rng.normal(0, 0.012, r.shape) * box[2:], 0, [width, height]) for r in outlines[i]
            ]
        else:
            rings = [polygon(scene.random_boxes(np.array([image]), 4.1)[0], int(rng.integers(8, 30)), rng)]
        from verite.compat.pycocotools import mask

        rle = drawn(rings, height, width)
        label = int(scene.label[near]) if rng.random() > 0.1 else int(rng.integers(scene.classes))
        score = float(np.float32(rng.beta(3.2, 1.6) if i >= 0 else rng.beta(1, 7)))
        records.append((image, {
            "image_id": int(scene.ids[image]), "category_id": int(ids[label]),
            "segmentation": {"size": rle["size"], "counts": rle["counts"].decode()},
            "bbox": mask.toBbox(rle).tolist(), "score": score}))  # fmt: skip
    records.sort(key=lambda record: record[0])
    write_records(path, (json.dumps(record, separators=(",", ": ")) for _, record in records))


def make_coco(folder: Path, seed: int, share: float) -> None:
    scene = Scene(np.random.default_rng([seed, 1]), round(5000 * share), 80, 7.4, 4.3)
    ids = np.setdiff1d(np.arange(1, 91), [12, 26, 29, 30, 45, 66, 68, 69, 71, 83])
    outlines = outlines_of(scene)
    object_ids = np.sort(scene.rng.choice(2_200_000, len(outlines), replace=False) + 1).tolist()
    is_crowd = scene.rng.random(len(outlines)) < 0.012
    annotations = []
    for i, rings in enumerate(outlines):
        image = int(scene.image[i])
        shape: Any = [ring.ravel().tolist() for ring in rings]
        if is_crowd[i]:
            shape = uncompressed(drawn(rings, int(scene.heights[image]), int(scene.widths[image])))
        annotations.append(
            {"segmentation": shape, "area": sum(map(ring_area, rings)), "iscrowd": int(is_crowd[i]),
             "image_id": int(scene.ids[image]), "bbox": scene.boxes[i].tolist(),
             "category_id": int(ids[scene.label[i]]), "id": object_ids[i]}
        )  # fmt: skip
    document = {
        "info": {"description": "made from a seed", "year": 2017},
        "images": image_records(scene),
        "annotations": annotations,
        "categories": [{"supercategory": "thing", "id": int(id), "name": f"class {id}"} for id in ids],
    }
    (folder / "coco_gt.json").write_text(json.dumps(document, separators=(",", ": ")))
    write_boxes(folder / "coco_dt44k.json", scene, ids, round(44_000 * share), 0.8, "short")
    write_boxes(folder / "coco_dt500k.json", scene, ids, round(500_000 * share), 0.92, "long")
    write_masks(folder / "coco_dtsegm36k.json", scene, ids, outlines, round(36_000 * share))


def make_o365(folder: Path, seed: int, share: float) -> None:
    scene = Scene(np.random.default_rng([seed, 2]), round(80_000 * share), 365, 15.4, 5.5)
    ids = np.arange(1, 366)
    categories = [{"id": int(id), "name": f"class {id}"} for id in ids]
    write_truth(folder / "o365_gt.json", scene, ids, image_records(scene), categories)
    write_boxes(folder / "o365_dt.json", scene, ids, round(1_200_000 * share), 0.75, "short")


def make_lvis(folder: Path, seed: int, share: float) -> None:
    """Some classes of every image were looked for and are not there, some were not annotated in full."""
    scene = Scene(np.random.default_rng([seed, 4]), round(20_000 * share), 1203, 12.7, 5.5)
    ids = np.arange(1, 1204)
    negative = ids[scene.rng.integers(0, len(ids), (len(scene.ids), 6))]
    partial = np.full(len(scene.ids), -1)
    partial[scene.image] = scene.label
    images = image_records(scene)
    for record, absent, label in zip(images, negative.tolist(), partial.tolist(), strict=True):
        record["neg_category_ids"] = sorted(set(absent) - set(ids[[label]].tolist()))
        record["not_exhaustive_category_ids"] = ids[[label]].tolist() if label >= 0 and label % 5 == 0 else []
    shown = np.bincount(np.unique(np.stack([scene.image, scene.label], 1), axis=0)[:, 1], minlength=len(ids))
    categories = [
        {"id": int(id), "name": f"class {id}", "frequency": "r" if n <= 10 else "c" if n <= 100 else "f"}
        for id, n in zip(ids, shown, strict=True)
    ]
    write_truth(folder / "lvis_gt.json", scene, ids, images, categories)
    write_boxes(folder / "lvis_dt.json", scene, ids, round(6_000_000 * share), 0.9, "short")


def write_truth(path: Path, scene: Scene, ids: Ints, images: list[Any], categories: list[Any]) -> None:
    """A truth of boxes, a hundredth of them crowds."""
    boxes = np.round(scene.boxes, 4)
    rows = zip(
        scene.ids[scene.image].tolist(), ids[scene.label].tolist(), boxes.tolist(),
        (scene.rng.random(len(boxes)) < 0.01).astype(int).tolist(), strict=True,
    )  # fmt: skip
    with path.open("w") as file:
        file.write('{"images": ' + json.dumps(images, separators=(",", ": ")))
        file.write(',"categories": ' + json.dumps(categories))
        file.write(',"annotations": [')
        for i, (image, label, b, crowd) in enumerate(rows):
            record = (
                f'{{"id": {i + 1},"image_id": {image},"category_id": {label},"iscrowd": {crowd},'
                f'"area": {b[2] * b[3]!r},"bbox": [{b[0]!r},{b[1]!r},{b[2]!r},{b[3]!r}]}}'
            )
            file.write(f",{record}" if i else record)
        file.write("]}")


def make_poses(folder: Path, seed: int, share: float) -> None:
    """People as in COCO's validation set: 11,000, many without a labelled point, and 20 guesses in each image."""
    scene = Scene(np.random.default_rng([seed, 3]), round(5000 * share), 1, 2.2, 4.6)
    rng, count = scene.rng, len(scene.image)
    points = scene.boxes[:, None, :2] + rng.random((count, 17, 2)) * scene.boxes[:, None, 2:]
    seen = rng.choice(3, (count, 17), p=(0.4, 0.15, 0.45)) * (rng.random((count, 1)) < 0.6)
    poses = np.concatenate([np.round(points) * (seen > 0)[..., None], seen[..., None]], axis=2).astype(int)
    annotations = [
        {"segmentation": [], "num_keypoints": int((seen[i] > 0).sum()), "area": float(0.6 * box[2] * box[3]),
         "iscrowd": int(rng.random() < 0.01), "keypoints": poses[i].ravel().tolist(),
         "image_id": int(scene.ids[scene.image[i]]), "bbox": box.tolist(), "category_id": 1, "id": i + 1}
        for i, box in enumerate(np.round(scene.boxes, 2))
    ]  # fmt: skip
    document = {"images": image_records(scene), "annotations": annotations, "categories": [{"id": 1, "name": "person"}]}
    (folder / "poses_gt.json").write_text(json.dumps(document, separators=(",", ": ")))
    near = np.concatenate([np.arange(count), rng.integers(0, count, 20 * len(scene.ids) - count)])
    shift = np.where(np.arange(len(near)) < count, 0.03, 0.3)[:, None, None] * scene.boxes[near][:, None, 2:]
    limit = np.stack([scene.widths, scene.heights], axis=1)[scene.image[near]][:, None]
    moved = np.clip(points[near] + shift * rng.normal(0, 1, (len(near), 17, 2)), 0, limit - 1)
    moved += rng.random(moved.shape)
    found = np.round(np.concatenate([moved, rng.random((len(near), 17, 1))], axis=2), 3).reshape(len(near), -1)
    score = np.round(rng.random(len(near)), 6)
    low, high = moved.min(axis=1), moved.max(axis=1)
    images, boxes = scene.ids[scene.image[near]].tolist(), np.round(np.hstack([low, high - low]), 2).tolist()
    write_records(
        folder / "poses_dt.json",
        (f'{{"image_id": {i},"category_id": 1,"keypoints": {p},"bbox": {b},"score": {s!r}}}'
         for i, p, b, s in zip(images, map(json.dumps, found.tolist()), map(json.dumps, boxes), score.tolist(),
                               strict=True)),
    )  # fmt: skip


MAKERS = {"coco": make_coco, "o365": make_o365, "poses": make_poses, "lvis": make_lvis}


def ensure(folder: Path, which: str, seed: int = SEED, share: float = 1) -> None:
    """Make the files of a data set that are not there, with a share of its images."""
    folder.mkdir(parents=True, exist_ok=True)
    if not all((folder / name).exists() for name in FILES[which]):
        MAKERS[which](folder, seed, share)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("bench-data"))
    parser.add_argument("--which", default=",".join(MAKERS))
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--share", type=float, default=1, help="of the images")
    given = parser.parse_args()
    for name in given.which.split(","):
        ensure(given.folder, name, given.seed, given.share)
