"""How well do volumes agree? Metrics whose definition holds in three dimensions, case by case and label by label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.checks.check import Finding
from verite.checks.predictions import no_predictions
from verite.checks.regions import describe_inverted, is_inverted, name_disjoint_values, name_missing_files
from verite.errors import BadParameter, DataError
from verite.formats.class_names import class_names
from verite.formats.format import Options
from verite.formats.volumes import pair_cases, read_volume
from verite.metrics.localize import LocalizationResults, LocalizeSettings, Measured
from verite.metrics.metric import Metric, measure
from verite.model.annotations import Annotations, Source
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.regions import Regions
from verite.model.shapes import Spacing, Volume
from verite.pairs import Pairs
from verite.pairs.objects import overlap_of
from verite.progress import begin

if TYPE_CHECKING:
    from numpy.typing import NDArray

OBJECT = "object"


@dataclass(frozen=True, eq=False)
class CaseFound:
    """One case measured: for each value that either side has, its frames, its metrics, and the plane to be drawn."""

    name: str
    shape: tuple[int, ...]
    spacing: Spacing | None
    frames: tuple[dict[int, tuple[list[float], float]], ...]  # of truth and pred: box in the plane, voxels
    values: dict[int, dict[str, float]]
    overlap: dict[int, float]
    planes: dict[int, tuple[int, NDArray[np.bool_], NDArray[np.bool_]]]


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
    """Metrics of two volumes, paths or arrays, or of folders of them, whose files are paired by their names: one pair
    for each case and each value but 0, whatever its overlap. A case without a prediction is predicted empty.
    """
    if not metrics:
        raise BadParameter("localize: expected at least one metric, e.g. dice, found none")
    chosen = list(dict.fromkeys(metrics))
    cases = pair_cases(truth, pred)
    found = []
    inverted: list[str] = []
    with begin("comparing", len(cases), "volumes") as advance:
        for case, (mine, theirs) in cases.items():
            read = read_case(mine, theirs, spacing, mask_threshold)
            found.append(measure_case(case, *read, chosen))
            inverted += [case] if has_inverted(*(side.values for side in read)) else []
            advance(1)
    labels = name_values(sorted({v for one in found for side in one.frames for v in side}), names)
    paths = [str(side) if isinstance(side, (str, Path)) else "" for side in (truth, pred)]
    sides = [gather(found, k, labels, path) for k, path in enumerate(paths)]
    settings = LocalizeSettings(match="image", spacing=common_spacing(found), name=name, checks="off")
    findings = [no_predictions(len(sides[0]))] if len(sides[0]) and not len(sides[1]) else []
    missing = [case for case, (_, theirs) in cases.items() if theirs is None]
    findings += find_odd_volumes([one.frames for one in found], missing, inverted)
    return LocalizationResults(settings, chosen, sides[0], sides[1], findings, look_up(found, sides, chosen))


def has_inverted(truth: NDArray[Any], pred: NDArray[Any]) -> bool:
    """Does the background of a predicted volume, and not its foreground, fit the object?"""
    shared = sum(int(np.count_nonzero((mine != 0) & (theirs != 0))) for mine, theirs in zip(truth, pred, strict=True))
    return is_inverted(int(np.count_nonzero(truth)), int(np.count_nonzero(pred)), shared, truth.size)


def find_odd_volumes(
    frames: Sequence[tuple[Mapping[int, Any], ...]], missing: Sequence[str], inverted: Sequence[str]
) -> list[Finding]:
    """Cases without a prediction, inverted masks, and label values that the two sides do not share."""
    values = (sorted({value for one in frames for value in one[side]}) for side in (0, 1))
    return [
        *name_missing_files(missing, len(frames), "cases"),
        *describe_inverted(inverted, len(frames) - len(missing), "cases"),
        *name_disjoint_values(*values),
    ]


def read_case(mine: Any, theirs: Any, spacing: Any, threshold: float | None) -> tuple[Volume, Volume]:
    """Both sides of a case, which must lie at the same places; None: nothing is predicted."""
    read = [
        None if side is None else side if isinstance(side, Volume) else Volume.of(side, spacing)
        if isinstance(side, np.ndarray) else read_volume(side, spacing, threshold)
        for side in (mine, theirs)
    ]  # fmt: skip
    truth = read[0]
    assert truth is not None
    pred = read[1] or Volume(np.zeros(truth.values.shape, np.bool_), truth.spacing, truth.affine)
    where = theirs if isinstance(theirs, (str, Path)) else "pred"
    if truth.values.shape != pred.values.shape:
        raise DataError(f"{where}: expected the truth's shape {truth.values.shape}, found {pred.values.shape}")
    if not truth.is_beside(pred):
        raise DataError(
            f"{where}: expected voxels at the truth's places, found another affine in the header (turned, mirrored or "
            "moved); resample one onto the other, or give both as .npy to compare them voxel by voxel"
        )
    return truth, pred


def measure_case(case: str, truth: Volume, pred: Volume, metrics: list[Metric]) -> CaseFound:
    """Every value of either side, one pair each; only frames, numbers and one plane of each are kept."""
    # Plane by plane: a sort of millions of voxels would take memory, and hear an interrupt only when it is done.
    values = sorted({v for side in (truth, pred) for plane in side.values for v in np.unique(plane).tolist()} - {0})
    frames: tuple[dict[int, tuple[list[float], float]], ...] = ({}, {})
    measured: dict[int, dict[str, float]] = {}
    overlap, planes = {}, {}
    for value in values:
        masks = [side.values == value for side in (truth, pred)]
        for frame, mask in zip(frames, masks, strict=True):
            if mask.any():
                frame[value] = frame_of(mask)
        pairs = Pairs.of_volumes(*(Volume(mask, side.spacing) for mask, side in zip(masks, (truth, pred), strict=True)))
        measured[value] = {key: float(column[0]) for key, column in measure(pairs, metrics).items()}
        overlap[value] = float(overlap_of(pairs)[0])
        plane = int(np.argmax((masks[0] ^ masks[1]).sum((1, 2)) + 1e-9 * masks[0].sum((1, 2))))
        planes[value] = (plane, masks[0][plane].copy(), masks[1][plane].copy())
    return CaseFound(case, truth.values.shape, truth.spacing, frames, measured, overlap, planes)


def frame_of(mask: NDArray[np.bool_]) -> tuple[list[float], float]:
    """The frame of its rows and columns, and its number of voxels."""
    across, down = np.flatnonzero(mask.any((0, 1))), np.flatnonzero(mask.any((0, 2)))
    return [across[0], down[0], across[-1] + 1, down[-1] + 1], float(mask.sum())


def name_values(values: list[int], names: Any) -> Labels:
    """What voxels are called: by the names that are given, else their values; one value is an object."""
    given, _ = class_names(Options.of(names=names))
    called: Mapping[int, str] = dict(enumerate(given)) if given is not None else {}
    is_binary = len(values) <= 1 and not called
    return Labels([OBJECT] if is_binary else [called.get(v, str(v)) for v in values], values or [1])


def gather(found: Sequence[CaseFound], side: int, labels: Labels, path: str) -> Annotations:
    """One side of all cases: an object for each label that is there, in its frame."""
    numbers = list(labels.numbers or ())
    rows = [(i, numbers.index(v), *found[i].frames[side][v]) for i in range(len(found)) for v in found[i].frames[side]]
    sizes = [one.shape for one in found]
    return Annotations(
        images=Images([one.name for one in found], widths=[s[2] for s in sizes], heights=[s[1] for s in sizes]),
        labels=labels,
        image=np.array([row[0] for row in rows], dtype=np.int32),
        label=np.array([row[1] for row in rows], dtype=np.int32),
        regions=Regions(np.array([row[2] for row in rows], dtype=np.float64).reshape(-1, 4)),
        area=np.array([row[3] for row in rows], dtype=np.float64),
        source=Source(path, "mask-pictures", "volumes" if len(found) > 1 else "a volume"),
    )


def common_spacing(found: Sequence[CaseFound]) -> Spacing | None:
    """Of all cases; where each has its own, the unit alone."""
    known = list(dict.fromkeys(one.spacing for one in found))
    if len(known) == 1:
        return known[0]
    units = {one.unit if one is not None else None for one in known}
    if len(units) > 1:
        without = next(one.name for one in found if one.spacing is None)
        raise DataError(f"{without}: expected a spacing as of other cases, found none; give --spacing for all")
    return Spacing((), str(units.pop()))


def look_up(found: Sequence[CaseFound], sides: Sequence[Annotations], metrics: list[Metric]) -> Any:
    """What was measured of pairs of rows of both sides, -1 being none."""

    def keys(truths: Any, preds: Any) -> Iterator[tuple[CaseFound, int]]:
        for rows in zip(truths.tolist(), preds.tolist(), strict=True):
            side, row = next((side, row) for side, row in zip(sides, rows, strict=True) if row >= 0)
            yield found[int(side.image[row])], int((side.labels.numbers or ())[int(side.label[row])])

    def looked_up(truths: Any, preds: Any) -> Measured:
        asked = list(keys(truths, preds))
        values = {m.name: np.array([case.values[v][m.name] for case, v in asked]) for m in metrics}
        planes = [case.planes[v] for case, v in asked]
        flat = Pairs.of([plane[1] for plane in planes], [plane[2] for plane in planes])
        said = [
            f", plane {plane[0]} of {case.shape[0]} (differs most)"
            for plane, (case, _) in zip(planes, asked, strict=True)
        ]
        return Measured(flat, values, np.array([case.overlap[v] for case, v in asked]), said)

    return looked_up
