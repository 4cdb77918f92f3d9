"""How well do two volumes agree? The metrics whose definition holds in three dimensions, label by label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from verite.checks.coverage import no_predictions
from verite.errors import BadParameter, DataError
from verite.formats.class_names import class_names
from verite.formats.format import Options
from verite.formats.volumes import read_volume
from verite.metrics.localize import LocalizationResults
from verite.metrics.metric import Metric
from verite.metrics.settings import LocalizeSettings
from verite.model.annotations import Annotations, Source
from verite.model.images import Images
from verite.model.labels import Labels
from verite.model.regions import Regions
from verite.model.volumes import Volume
from verite.pairs import Pairs

OBJECT = "object"


def localize_volumes(
    truth: Any,
    pred: Any,
    metrics: Sequence[Metric],
    *,
    spacing: Any = None,
    mask_threshold: float | None = None,
    names: Any = None,
    name: str | None = None,
) -> LocalizationResults:
    """Metrics of two volumes, paths or arrays: one pair for each value but 0, whatever its overlap."""
    if not metrics:
        raise BadParameter("localize: expected at least one metric, e.g. dice, found none")
    mine, theirs = (
        side if isinstance(side, Volume) else Volume.of(side, spacing) if isinstance(side, np.ndarray)
        else read_volume(side, spacing, mask_threshold)
        for side in (truth, pred)
    )  # fmt: skip
    if mine.values.shape != theirs.values.shape:
        where = pred if isinstance(pred, (str, Path)) else "pred"
        raise DataError(f"{where}: expected the truth's shape {mine.values.shape}, found {theirs.values.shape}")
    if not mine.is_beside(theirs):
        where = pred if isinstance(pred, (str, Path)) else "pred"
        raise DataError(
            f"{where}: expected voxels at the truth's places, found another affine in the header (turned, mirrored or "
            "moved); resample one onto the other, or give both as .npy to compare them voxel by voxel"
        )
    given, _ = class_names(Options.of(names=names))
    values = sorted({int(v) for side in (mine, theirs) for v in np.unique(side.values)} - {0})
    called = dict(enumerate(given)) if given is not None else {}
    is_binary = len(values) <= 1 and not called
    labels = Labels([OBJECT] if is_binary else [called.get(v, str(v)) for v in values], values or [1])
    sides = [
        shadow(side, labels, str(path) if isinstance(path, (str, Path)) else "")
        for side, path in ((mine, truth), (theirs, pred))
    ]
    ids = labels.numbers or ()

    def pairs(truths: Any, preds: Any) -> Pairs:
        """The voxels of each pair; -1 is none."""
        found: list[list[Volume]] = [[], []]
        for rows in zip(truths.tolist(), preds.tolist(), strict=True):
            for column, side, row, table in zip(found, (mine, theirs), rows, sides, strict=True):
                mask = side.values == ids[int(table.label[row])] if row >= 0 else np.zeros(side.values.shape, np.bool_)
                column.append(Volume(mask, side.spacing))
        return Pairs.of_volumes(*found)

    settings = LocalizeSettings(match="image", spacing=mine.spacing, name=name, checks="off")
    findings = [no_predictions(len(sides[0]))] if len(sides[0]) and not len(sides[1]) else []
    return LocalizationResults(settings, list(dict.fromkeys(metrics)), sides[0], sides[1], findings, pairs)


def shadow(volume: Volume, labels: Labels, path: str) -> Annotations:
    """An object for each label, by the frame of its rows and columns and its number of voxels."""
    rows, boxes, voxels = [], [], []
    for i, value in enumerate(labels.numbers or ()):
        mask = volume.values == value
        if not mask.any():
            continue
        across, down = np.flatnonzero(mask.any((0, 1))), np.flatnonzero(mask.any((0, 2)))
        rows.append(i)
        boxes.append([across[0], down[0], across[-1] + 1, down[-1] + 1])
        voxels.append(float(mask.sum()))
    _, height, width = volume.values.shape
    return Annotations(
        images=Images(["volume"], widths=[width], heights=[height]),
        labels=labels,
        image=np.zeros(len(rows), dtype=np.int32),
        label=np.array(rows, dtype=np.int32),
        regions=Regions(np.array(boxes, dtype=np.float64).reshape(-1, 4)),
        area=np.array(voxels),
        source=Source(path, "mask-pictures", "a volume"),
    )
