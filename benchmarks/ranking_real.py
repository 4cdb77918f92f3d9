"""The theory of rankings on real data: twelve detectors on COCO val2017, and LVIS's annotation of 100 images as truth.

    python benchmarks/ranking_real.py [FOLDER]        (default: ../shared/real)

On the images that LVIS annotated again, each model of annotation errors foretells for every pair of detectors with what
probability the order by recall is kept. LVIS says which orders are kept. A pair is called safe from 0.95. The error
rates are measured: the share of COCO's objects that LVIS does not have, among those of a class that LVIS annotated
exhaustively in that image, or found absent.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from agree import coco_and_lvis
from numpy.typing import NDArray

import verite as vt
from verite.annotation_errors import Audit, Bernoulli, ErrorModel, Shared
from verite.ranking.answers import AnswerTable
from verite.ranking.detectors import DetectionTable

CONFIDENCE, SAFE = 0.3, 0.95
HERE = Path(__file__).resolve().parent


def read_detectors(home: Path, truth: vt.Annotations) -> dict[str, vt.Annotations]:
    """Return the predictions of the twelve detectors."""
    paths = [path for path in sorted((home / "results").glob("*.json.gz")) if "tensorrt" not in path.name]
    return {path.name.removesuffix(".json.gz"): vt.read(path, like=truth) for path in paths}


def detections(truth: vt.Annotations, preds: dict[str, vt.Annotations]) -> DetectionTable:
    """Return which objects each detector finds, by the rules of `verite rank`."""
    return DetectionTable.of(truth, preds, confidence=CONFIDENCE, iou=0.5)


def are_checked(home: Path, truth: vt.Annotations) -> NDArray[np.bool_]:
    """Return for each of COCO's objects whether LVIS annotated its class exhaustively there, or found it absent."""
    folder = home / "lvis_val100" / "data"
    lvis = json.loads((folder / "lvis_val_100.json").read_bytes())
    synsets = json.loads((folder / "coco_to_synset.json").read_bytes())
    class_of = {entry["synset"]: name for name, entry in synsets.items()}
    known = {c["id"]: class_of[c["synset"]] for c in lvis["categories"] if c.get("synset") in class_of}
    checked: set[tuple[str, str]] = set()
    for image in lvis["images"]:
        annotated = {r["category_id"] for r in lvis["annotations"] if r["image_id"] == image["id"]}
        for number in (annotated | set(image["neg_category_ids"])) - set(image["not_exhaustive_category_ids"]):
            if number in known:
                checked.add((str(image["id"]), known[number]))
    return np.array([(image, label) in checked for image, label in names_of(truth)])


def names_of(side: vt.Annotations) -> Iterator[tuple[str, str]]:
    """Return the id of the image and the class of each object."""
    for image, label in zip(side.image, side.label, strict=True):
        yield Path(side.images.name(int(image))).stem.lstrip("0"), side.labels.name(int(label))


def foretell(table: AnswerTable, model: ErrorModel, kept: dict[tuple[str, str], bool]) -> tuple[float, int, int, float]:
    """Return the mean probability of an order by a model, kept and all of those it calls safe, and its Brier score."""
    pairs = [pair for pair in vt.rank(table, model, draws=20_000).pairs if not pair.tied]
    chances = np.array([pair.kept for pair in pairs], dtype=np.float64)
    true = np.array([kept[pair.first, pair.second] for pair in pairs])
    safe = chances >= SAFE
    return float(chances.mean()), int(true[safe].sum()), int(safe.sum()), float(((chances - true) ** 2).mean())


def main() -> None:
    """Print the figures of docs/explanation/ranking-real-data.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=HERE.parent.parent / "shared" / "real")
    home = parser.parse_args().folder / "coco_val2017"
    if not (home / "lvis_val100").exists():
        parser.error(f"{home}: expected COCO val2017 with lvis_val100, found none")
    whole = vt.read(home / "truth.json.gz")
    objects = detections(whole, read_detectors(home, whole))
    ranking = vt.rank(objects, Bernoulli(0.05))
    closest = min(ranking.neighbours, key=lambda pair: pair.largest_epsilon or 1.0)
    print(f"COCO val2017: {len(objects.names)} detectors, {len(objects):,} objects; 5 % of annotations wrong")
    print(f"  whole order kept: {ranking.whole:.5f}")
    print(f"  closest: {closest.first} > {closest.second}, kept with 0.95 up to {closest.largest_epsilon:.4f}")

    truth, again = coco_and_lvis(home)
    every = read_detectors(home, truth)
    preds = {n: pred.where(pred.image < len(truth.images)).changed(images=truth.images) for n, pred in every.items()}
    table, better = detections(truth, preds), detections(again, preds)
    kept = {(a, b): better.tau[a] > better.tau[b] for a in preds for b in preds if table.tau[a] > table.tau[b]}
    turned = [pair for pair in kept if better.tau[pair[0]] < better.tau[pair[1]]]
    few = sum("lowproposals" in name for name in ("".join(pair) for pair in turned))
    print(f"LVIS: {len(table)} objects of COCO, {len(better)} of its own")
    print(f"  of {len(kept)} orders {sum(kept.values())} are kept")
    print(f"  {len(turned)} are reversed, {few} of them with a detector of few proposals")

    names = {"images": [truth.images.name(i) for i in range(len(truth.images))], "labels": truth.labels.all_names}
    where = [again.images.name(int(i)) for i in again.image], [again.labels.name(int(k)) for k in again.label]
    second = vt.Annotations.of(*where, again.regions.boxes, confidence=np.ones(len(again)), **names)
    matched = vt.coco(truth, second, iou=0.5, checks="off").evaluation.outcomes().pred
    is_wrong, checked = matched < 0, are_checked(home, truth)
    disagree = (table.answers != table.answers[0]).any(axis=0)
    errors, looked = int((is_wrong & checked & disagree).sum()), int((checked & disagree).sum())
    rate = float(is_wrong[checked].mean())
    alike = correlation(is_wrong[checked], truth.image[checked])
    print(f"  LVIS lacks {rate:.3f} of {checked.sum()} objects of COCO that it looked for;")
    print(f"  {errors} of the {looked} on which detectors disagree; correlation of two in one image: {alike:.2f}")
    by_image = [str(i) for i in truth.image]
    models: dict[str, ErrorModel] = {
        "5 %, independent": Bernoulli(0.05),
        "measured rate, independent": Bernoulli(rate),
        "measured where detectors disagree": Audit(errors, looked),
        "measured rate, shared by image": Shared(rate, alike, by_image),
    }
    print(f"  {'model':36s}{'mean P(kept)':>14s}{'safe and kept':>16s}{'Brier':>8s}")
    for name, model in models.items():
        mean, right, safe, brier = foretell(table, model, kept)
        print(f"  {name:36s}{mean:14.3f}{f'{right} of {safe}':>16s}{brier:8.3f}")


def correlation(wrong: NDArray[np.bool_], group: NDArray[np.integer[Any]]) -> float:
    """Return the correlation of two errors in one group: analysis of variance of 0 and 1 (Ridout et al. 1999)."""
    names, of = np.unique(group, return_inverse=True)
    sizes, sums = np.bincount(of), np.bincount(of, wrong)
    total, count = len(wrong), len(names)
    between = float((sums**2 / sizes).sum() - sums.sum() ** 2 / total) / (count - 1)
    within = float((sums - sums**2 / sizes).sum()) / (total - count)
    usual = (total - float((sizes**2).sum()) / total) / (count - 1)
    return max(0.0, (between - within) / (between + (usual - 1) * within))


if __name__ == "__main__":
    main()
