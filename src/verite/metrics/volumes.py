"""Segmentation metrics of volumes: Dice, Hausdorff, surface distances in three dimensions, per case and label value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.checks.predictions import no_predictions
from verite.checks.regions import describe_inverted, is_inverted, name_disjoint_values, name_missing_files
from verite.errors import BadParameter, DataError, spell_option
from verite.formats.format import Options, class_names
from verite.formats.volumes import pair_cases, read_volume
from verite.metrics.localize import MASK_IMAGES, LocalizationResults, LocalizeSettings, Measured, match_objects
from verite.metrics.metric import Metric, measure
from verite.model.annotations import Annotations, Source
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.regions import Regions
from verite.model.shapes import Spacing, Volume
from verite.pairs import Pairs
from verite.pairs.objects import iou_of
from verite.progress import begin

if TYPE_CHECKING:
    from numpy.typing import NDArray

OBJECT = "object"  # the class of volumes with a single value


@dataclass(frozen=True, eq=False)
class MeasuredCase:
    """One case, measured per label value; of the volumes only boxes and one plane per value are kept."""

    name: str
    shape: tuple[int, ...]
    spacing: Spacing | None
    boxes: tuple[dict[int, tuple[list[float], float]], ...]  # truth and pred, by value: box in the plane, voxels
    values: dict[int, dict[str, float]]
    iou: dict[int, float]
    planes: dict[int, tuple[int, NDArray[np.bool_], NDArray[np.bool_]]]  # the plane that differs most, of both sides


def localize_volumes(
    truth: Any,
    pred: Any,
    metrics: Sequence[Metric],
    *,
    spacing: Any = None,
    mask_threshold: float | None = None,
    names: Any = None,
    name: str | None = None,
    per: Any = "class",
) -> LocalizationResults:
    """Measure metrics of volumes: one pair per case and label value other than 0, whatever its IoU.

    `truth` and `pred` are two volumes, their paths, or two folders whose files are paired by name. A case without a
    prediction is predicted empty. `names` are class names by label value; `per` chooses the rows of the printed table.
    """
    if not metrics:
        raise BadParameter("localize: expected at least one metric, e.g. dice, found none")
    chosen = list(dict.fromkeys(metrics))
    cases = pair_cases(truth, pred)
    measured: list[MeasuredCase] = []
    inverted: list[str] = []
    with begin("comparing", len(cases), "volumes") as advance:
        for case, (mine, theirs) in cases.items():
            volumes = read_case(mine, theirs, spacing, mask_threshold)
            measured.append(measure_case(case, *volumes, chosen))
            inverted += [case] if has_inverted(*(side.values for side in volumes)) else []
            advance(1)
    values = sorted({v for case in measured for side in case.boxes for v in side})
    given, _ = class_names(Options.of(names=names))
    named: Mapping[int, str] = dict(enumerate(given)) if given is not None else {}
    is_binary = len(values) <= 1 and not named
    labels = Labels([OBJECT] if is_binary else [named.get(v, str(v)) for v in values], values or [1])
    paths = [str(side) if isinstance(side, (str, Path)) else "" for side in (truth, pred)]
    known, found = (annotations_of(measured, k, labels, path) for k, path in enumerate(paths))
    settings = LocalizeSettings(match="image", spacing=common_spacing(measured), name=name, checks="off", per=per)
    findings = [no_predictions(len(known))] if len(known) and not len(found) else []
    missing = [case for case, (_, theirs) in cases.items() if theirs is None]
    findings += name_missing_files(missing, len(cases), "cases")
    findings += describe_inverted(inverted, len(cases) - len(missing), "cases")
    used = [sorted({value for case in measured for value in case.boxes[side]}) for side in (0, 1)]
    findings += name_disjoint_values(*used)
    matched = match_objects(known, found, settings)
    values_of_pairs: list[tuple[MeasuredCase, int]] = []
    for t, p in zip(*(rows.tolist() for rows in matched.scored_rows(settings.unmatched)), strict=True):
        side, row = (known, t) if t >= 0 else (found, p)
        values_of_pairs.append((measured[int(side.image[row])], int((labels.numbers or ())[int(side.label[row])])))
    iou = np.array([case.iou[v] for case, v in values_of_pairs])[: len(matched.truth)]
    matched = replace(matched, overlap=iou)
    return LocalizationResults(settings, chosen, known, found, matched, look_up(values_of_pairs, chosen), findings)


def has_inverted(truth: NDArray[Any], pred: NDArray[Any]) -> bool:
    """Whether the background of a predicted volume fits the object, and its foreground does not."""
    shared = sum(int(np.count_nonzero((mine != 0) & (theirs != 0))) for mine, theirs in zip(truth, pred, strict=True))
    return is_inverted(int(np.count_nonzero(truth)), int(np.count_nonzero(pred)), shared, truth.size)


def read_case(mine: Any, theirs: Any, spacing: Any, threshold: float | None) -> tuple[Volume, Volume]:
    """Read both sides of a case, which must have one shape and position; None is an empty prediction."""

    def read_side(side: Any) -> Volume:
        if isinstance(side, Volume):
            return side
        return Volume.of(side, spacing) if isinstance(side, np.ndarray) else read_volume(side, spacing, threshold)

    truth = read_side(mine)
    if theirs is None:
        return truth, Volume(np.zeros(truth.values.shape, np.bool_), truth.spacing, truth.affine)
    pred = read_side(theirs)
    where = theirs if isinstance(theirs, (str, Path)) else "pred"
    if truth.values.shape != pred.values.shape:
        raise DataError(
            f"{where}: expected the shape of the ground truth, {truth.values.shape}, found {pred.values.shape}"
        )
    if not truth.is_beside(pred):
        raise DataError(
            f"{where}: expected voxels at the positions of the ground truth's, found another affine in the "
            "header (rotated, mirrored or shifted); resample one onto the other, or give both as .npy to compare them "
            "voxel by voxel"
        )
    return truth, pred


def measure_case(case: str, truth: Volume, pred: Volume, metrics: list[Metric]) -> MeasuredCase:
    """Measure every label value of either side of one case."""
    # Plane by plane: sorting millions of voxels at once would take memory and delay an interrupt.
    values = sorted({v for side in (truth, pred) for plane in side.values for v in np.unique(plane).tolist()} - {0})
    boxes: tuple[dict[int, tuple[list[float], float]], ...] = ({}, {})
    measured: dict[int, dict[str, float]] = {}
    iou, planes = {}, {}
    for value in values:
        masks = [side.values == value for side in (truth, pred)]
        for by_value, mask in zip(boxes, masks, strict=True):
            if mask.any():
                across, down = np.flatnonzero(mask.any((0, 1))), np.flatnonzero(mask.any((0, 2)))
                by_value[value] = [across[0], down[0], across[-1] + 1, down[-1] + 1], float(mask.sum())
        pairs = Pairs.of_volumes(*(Volume(mask, side.spacing) for mask, side in zip(masks, (truth, pred), strict=True)))
        measured[value] = {key: float(column[0]) for key, column in measure(pairs, metrics).items()}
        iou[value] = float(iou_of(pairs)[0])
        plane = int(np.argmax((masks[0] ^ masks[1]).sum((1, 2)) + 1e-9 * masks[0].sum((1, 2))))
        planes[value] = (plane, masks[0][plane].copy(), masks[1][plane].copy())
    return MeasuredCase(case, truth.values.shape, truth.spacing, boxes, measured, iou, planes)


def annotations_of(cases: Sequence[MeasuredCase], side: int, labels: Labels, path: str) -> Annotations:
    """Return one side of all cases as annotations: one object per case and label value, by its bounding box."""
    numbers = list(labels.numbers or ())
    rows = [(i, numbers.index(v), *cases[i].boxes[side][v]) for i in range(len(cases)) for v in cases[i].boxes[side]]
    shapes = [case.shape for case in cases]
    return Annotations(
        images=Images([case.name for case in cases], widths=[s[2] for s in shapes], heights=[s[1] for s in shapes]),
        labels=labels,
        image=np.array([row[0] for row in rows], dtype=np.int32),
        label=np.array([row[1] for row in rows], dtype=np.int32),
        regions=Regions(np.array([row[2] for row in rows], dtype=np.float64).reshape(-1, 4)),
        area=np.array([row[3] for row in rows], dtype=np.float64),
        source=Source(path, MASK_IMAGES, "volumes" if len(cases) > 1 else "a volume"),
    )


def common_spacing(cases: Sequence[MeasuredCase]) -> Spacing | None:
    """Return the spacing of all cases; where they differ, their common unit without steps."""
    known = list(dict.fromkeys(case.spacing for case in cases))
    if len(known) == 1:
        return known[0]
    units = {spacing.unit if spacing is not None else None for spacing in known}
    if len(units) > 1:
        without = next(case.name for case in cases if case.spacing is None)
        raise DataError(
            f"{without}: expected a spacing as of other cases, found none; "
            f"give {spell_option('spacing', 'Z,Y,X')} for all"
        )
    return Spacing((), str(units.pop()))


def look_up(pairs: Sequence[tuple[MeasuredCase, int]], metrics: Sequence[Metric]) -> Measured:
    """Collect the values of pairs, given as case and label value; each is plotted by the plane that differs most."""
    planes = [case.planes[v] for case, v in pairs]
    captions = [
        f", plane {plane[0]} of {case.shape[0]} (differs most)" for plane, (case, _) in zip(planes, pairs, strict=True)
    ]
    return Measured(
        Pairs.of([plane[1] for plane in planes], [plane[2] for plane in planes]),
        {m.name: np.array([case.values[v][m.name] for case, v in pairs]) for m in metrics},
        captions,
    )
