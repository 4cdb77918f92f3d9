"""What tests of evaluations share: documents read, evaluated by COCO's rules, and truths that change."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import verite as vt
from verite.evaluation.evaluation import Evaluation
from verite.model.polygons import Polygons, RLEMasks
from verite.model.regions import Regions
from verite.protocols.coco import CocoSettings, rules_of


def read(folder: Path, truth: Any, results: Any) -> tuple[vt.Annotations, vt.Annotations]:
    paths = folder / "truth.json", folder / "results.json"
    for path, document in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(document))
    found = vt.read(paths[0])
    return found, vt.read(paths[1], like=found)


def evaluate(truth: vt.Annotations, pred: vt.Annotations, on: Any = "box", threads: int = 1) -> Evaluation:
    return Evaluation(truth, pred, rules_of(CocoSettings(on=on)), threads)


def assert_same(found: Any, precision: Any, recall: Any) -> None:
    """Precision [range, threshold, recall, class] and recall [limit, range, threshold, class], to the last bit."""
    assert np.array_equal(found.native.precision, precision, equal_nan=True)
    assert np.array_equal(found.native.recall, recall, equal_nan=True)


def draw_changes(truth: vt.Annotations, seed: int) -> tuple[Any, vt.Annotations]:
    """Truths that vanish, move, get another class, appear; what is added comes behind all others."""
    rng = np.random.default_rng(seed)
    removed = np.flatnonzero(rng.random(len(truth)) < 0.4)
    again = removed[rng.random(len(removed)) < 0.7]
    copies = rng.integers(0, len(truth), int(rng.integers(0, 4)))
    added = truth.take(np.concatenate([again, copies]).astype(np.int64))
    label = np.where(rng.random(len(added)) < 0.4, rng.integers(0, len(truth.labels), len(added)), added.label)
    image = np.where(rng.random(len(added)) < 0.2, rng.integers(0, len(truth.images), len(added)), added.image)
    return removed, replace(added, image=image.astype(np.int32), label=label.astype(np.int32))


def write_out(truth: vt.Annotations, removed: Any, added: vt.Annotations) -> vt.Annotations:
    """The changed truth as a truth of its own."""
    kept = np.setdiff1d(np.arange(len(truth)), removed)
    rows = np.concatenate([kept, np.zeros(len(added), np.int64)])
    wide = truth.take(rows)
    if not len(added):
        return wide

    def join(own: Any, other: Any) -> Any:
        return None if own is None else np.concatenate([own[: len(kept)], other])

    def flags(name: str) -> Any:
        return np.concatenate([truth.flag(name)[kept], added.flag(name)])

    runs = polygons = None
    if added.regions.runs is not None or wide.regions.runs is not None:
        sides = [truth.take(kept).regions.runs, added.regions.runs]
        rows_of = [
            [(part[i], tuple(part.sizes[i])) if len(part[i]) else None for i in range(len(part))]
            if part is not None
            else [None] * count
            for part, count in zip(sides, (len(kept), len(added)), strict=True)
        ]
        runs = RLEMasks.of(rows_of[0] + rows_of[1])
    if added.regions.polygons is not None or wide.regions.polygons is not None:
        parts = [truth.take(kept).regions.polygons, added.regions.polygons]
        objects = [
            [part[i] for i in range(len(part))] if part is not None else [[]] * count
            for part, count in zip(parts, (len(kept), len(added)), strict=True)
        ]
        polygons = Polygons.of(objects[0] + objects[1])
    sizes = np.concatenate([truth.regions.sizes[kept], added.regions.sizes])
    return replace(
        wide,
        image=join(wide.image, added.image),
        label=join(wide.label, added.label),
        area=join(wide.area, added.area),
        ids=None,
        regions=Regions(sizes, "xywh", polygons=polygons, runs=runs),
        flags={name: flags(name) for name in ("crowd", "ignore")},
    )
