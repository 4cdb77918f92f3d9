"""Small data sets for tests of the analysis, in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import verite as vt


def write_pair(folder: Path, truth: Any, results: Any) -> tuple[str, str]:
    """Two COCO files."""
    paths = folder / "truth.json", folder / "pred.json"
    for path, document in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(document))
    return str(paths[0]), str(paths[1])


def sides(truth: Any, results: Any, folder: Path) -> tuple[vt.Annotations, vt.Annotations]:
    """The same as annotations."""
    known = vt.read(write_pair(folder, truth, results)[0])
    return known, vt.read(str(folder / "pred.json"), like=known)


def scene(
    truths: list[tuple[str, list[float]]], preds: list[tuple[str, float, list[float]]]
) -> tuple[vt.Annotations, vt.Annotations]:
    """One image; boxes are left, top, width, height."""
    sizes = {"i": (100, 100)}
    truth = vt.Annotations.of(["i"] * len(truths), [t for t, _ in truths], [b for _, b in truths], "xywh", sizes=sizes)
    pred = vt.Annotations.of(
        ["i"] * len(preds), [p for p, _, _ in preds], [b for _, _, b in preds], "xywh",
        confidence=[c for _, c, _ in preds], sizes=sizes,
    )  # fmt: skip
    return truth, pred


# One error of each type, and two truths that are missed.
SIX = scene(
    [
        ("a", [0, 0, 10, 10]),
        ("a", [20, 0, 10, 10]),
        ("a", [40, 0, 10, 10]),
        ("a", [60, 0, 10, 10]),
        ("b", [80, 0, 10, 10]),
    ],
    [
        ("a", 0.9, [0, 0, 10, 10]),
        ("a", 0.8, [0, 1, 10, 10]),
        ("a", 0.7, [0, 50, 10, 10]),
        ("a", 0.6, [25, 0, 10, 10]),
        ("a", 0.5, [80, 0, 10, 10]),
        ("b", 0.4, [45, 0, 10, 10]),
    ],
)
