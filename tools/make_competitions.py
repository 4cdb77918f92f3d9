"""Write the small data sets of the competitions from the harbour town of the demo: python tools/make_competitions.py

The same pictures and the same detectors, as LVIS, Open Images, ImageNet and the panoptic task would have them.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

import verite as vt
from verite.model.classes import ABSENT, INCOMPLETE, PRESENT, ImageLevelLabels, Labels
from verite.model.polygons import RLEMasks
from verite.model.regions import Regions
from verite.protocols.coco import masks_of

DATA = Path(__file__).parent.parent / "src" / "verite" / "data"
HARBOUR, HOME = DATA / "demo", DATA / "competitions"
STUFF = ("house", "tree")
FREQUENCY = {"bird": "f", "person": "f", "house": "f", "tree": "c", "boat": "c", "dog": "c", "kite": "r", "car": "r"}
KINDS = {"animal": ["bird", "dog"], "vehicle": ["boat", "car"], "plant": ["tree"]}
SUPERCATEGORIES = {
    "bird": "animal", "boat": "vehicle", "car": "vehicle", "dog": "animal", "house": "building", "kite": "toy",
    "person": "person", "tree": "plant",
}  # fmt: skip
PANORAMAS = 8


def lvis(truth: vt.Annotations, rng: np.random.Generator) -> None:
    """In each image some classes were looked for in vain, and birds are sometimes too many to mark."""
    there = set(zip(truth.image.tolist(), truth.label.tolist(), strict=True))
    rows = []
    for image in range(len(truth.images)):
        for label, name in enumerate(truth.labels.all_names):
            if (image, label) not in there and rng.random() < 0.5:
                rows.append((image, label, ABSENT))
            if (image, label) in there and name == "bird" and rng.random() < 0.4:
                rows.append((image, label, INCOMPLETE))
    groups = [FREQUENCY[name] for name in truth.labels.all_names]
    labels = Labels(truth.labels.names, truth.labels.ids, groups=groups)
    kept = truth.where(~truth.crowd)
    vt.write(replace(kept, labels=labels, verdicts=ImageLevelLabels.of(rows)), HOME / "lvis" / "truth.json", "lvis")


def openimages(truth: vt.Annotations, preds: dict[str, vt.Annotations], rng: np.random.Generator) -> None:
    home = HOME / "openimages"
    groups = replace(truth, flags={"group_of": truth.crowd})
    boxes = replace(groups, regions=Regions(truth.regions.boxes), area=None, ids=None)
    vt.write(boxes, home / "boxes.csv", "openimages")
    there = set(zip(truth.image.tolist(), truth.label.tolist(), strict=True))
    rows = [(image, label, PRESENT) for image, label in sorted(there)]
    cells = ((image, label) for image in range(len(truth.images)) for label in range(len(truth.labels)))
    rows += [(*cell, ABSENT) for cell in cells if cell not in there and rng.random() < 0.4]
    vt.write(replace(truth, verdicts=ImageLevelLabels.of(rows)), home / "labels.csv", "openimages-labels")
    nested = [
        {"LabelName": kind, "Subcategory": [{"LabelName": name} for name in names]} for kind, names in KINDS.items()
    ]
    single = [name for name in truth.labels.all_names if not any(name in names for names in KINDS.values())]
    tree = {"LabelName": "everything", "Subcategory": [*nested, *({"LabelName": name} for name in single)]}
    (home / "hierarchy.json").write_text(json.dumps(tree, indent=1) + "\n")
    for name, pred in preds.items():
        plain = with_kinds(replace(pred, regions=Regions(pred.regions.boxes)))
        vt.write(plain, home / f"{name}.csv", "openimages-predictions")


def with_kinds(pred: vt.Annotations) -> vt.Annotations:
    """Predictions are not expanded by the evaluation: a detector says animal where it says dog."""
    names = [*pred.labels.all_names, *KINDS]
    kind = {name: names.index(kind) for kind, members in KINDS.items() for name in members}
    rows = [row for row, label in enumerate(pred.label) if names[label] in kind]
    both = pred.take(np.concatenate([np.arange(len(pred)), rows]))
    label = np.concatenate([pred.label, [kind[names[pred.label[row]]] for row in rows]])
    return replace(both, labels=Labels(names), label=label.astype(np.int32))


def imagenet(truth: vt.Annotations, preds: dict[str, vt.Annotations]) -> None:
    """A label an image, that of its largest object."""
    sizes = (truth.regions.boxes[:, 2:] - truth.regions.boxes[:, :2]).prod(axis=1)
    chosen = np.zeros(len(truth), dtype=np.bool_)
    for image in range(len(truth.images)):
        rows = np.flatnonzero((truth.image == image) & ~truth.crowd)
        if len(rows):
            largest = rows[np.argmax(sizes[rows])]
            chosen |= (truth.image == image) & (truth.label == truth.label[largest]) & ~truth.crowd
    vt.write(truth.where(chosen), HOME / "imagenet" / "solution.csv", "imagenet-loc")
    for name, pred in preds.items():
        first = np.zeros(len(pred), dtype=np.bool_)
        for image in range(len(truth.images)):
            rows = np.flatnonzero(pred.image == image)
            first[rows[np.argsort(-pred.confidence[rows], kind="stable")][:5]] = True
        vt.write(pred.where(first), HOME / "imagenet" / f"{name}.csv", "imagenet-loc")


def panoptic(side: vt.Annotations, path: Path) -> None:
    """The first pictures; what lies behind is painted first, and all houses of a picture are one segment."""
    names = np.array(side.labels.all_names)
    images = side.images
    keep = np.arange(PANORAMAS)
    masks = masks_of(side, 1)
    runs, rows = [], []
    for image in keep:
        height, width = int(images.heights[image]), int(images.widths[image])
        pixels = np.zeros(height * width, dtype=np.int64)
        mine = np.flatnonzero(side.image == image)
        if side.confidence is not None:
            mine = mine[side.confidence[mine] >= 0.4]
            mine = mine[np.argsort(side.confidence[mine], kind="stable")]
        mine = mine[np.argsort(~np.isin(names[side.label[mine]], STUFF), kind="stable")]
        numbers: dict[str, int] = {}
        owner: list[int] = []
        for row in mine:
            name = names[side.label[row]]
            number = numbers.get(name, 0) if name in STUFF else 0
            if not number:
                owner.append(int(row))
                number = numbers[name] = len(owner)
            pixels[np.repeat(np.arange(len(masks[row])) % 2 == 1, masks[row])] = number
        for number, row in enumerate(owner, 1):
            inside = pixels == number
            if inside.any():
                edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
                counts = np.diff(np.concatenate([[0], edges, [len(inside)] if not inside[-1] else []]).astype(int))
                runs.append((counts.tolist(), (height, width)))
                rows.append(row)
    taken = side.take(np.array(rows))
    names_kept = [images.name(int(i)) for i in keep]
    table = vt.Images(names_kept, images.ids[keep], widths=images.widths[keep], heights=images.heights[keep])
    groups = ["stuff" if name in STUFF else "thing" for name in names]
    labels = Labels(side.labels.names, side.labels.ids, groups=groups)
    regions = Regions(taken.regions.boxes, runs=RLEMasks.of(runs))
    flags = {"crowd": taken.crowd}
    plain = replace(
        taken, images=table, labels=labels, regions=regions, flags=flags, confidence=None, area=None, ids=None
    )
    vt.write(plain, path, "panoptic")


def main() -> None:
    shutil.rmtree(HOME, ignore_errors=True)
    for name in ("lvis", "openimages", "imagenet", "panoptic"):
        (HOME / name).mkdir(parents=True)
    rng = np.random.default_rng(2026)
    truth = vt.read(HARBOUR / "truth.json")
    preds = {name: vt.read(HARBOUR / f"{name}.json", like=truth) for name in ("hawk", "magpie")}
    lvis(truth, rng)
    openimages(truth, preds, rng)
    imagenet(truth, preds)
    for name, side in {"truth": truth, **preds}.items():
        panoptic(side, HOME / "panoptic" / f"{name}.json")
    path = HOME / "panoptic" / "truth.json"
    document = json.loads(path.read_text())
    document["categories"] = [{**c, "supercategory": SUPERCATEGORIES[c["name"]]} for c in document["categories"]]
    path.write_text(json.dumps(document, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
