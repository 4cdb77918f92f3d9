"""Comparisons of whole scenes: which of two results describes an image better, and the scene score that agrees.

The weight alpha of the scene score, its IoU threshold and its localization metric are fitted to the votes by maximum
likelihood: a vote is explained by the difference of both scores, times a slope that is fitted too. Only in whole scenes
do missed objects, wrong classes and loose boxes compete, so that boxes of single objects cannot tell alpha.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from verite.judge.plan import Box, Candidate
from verite.model.annotations import Annotations
from verite.scene.scene_score import scene_score

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LOCALIZATIONS = ("martin", "iou")
THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
ALPHAS = tuple(round(0.05 * i, 2) for i in range(21))
PRESETS = (0.2, 0.5, 0.8)  # weights alpha that are listed as metrics, at the threshold of the paper, 0.2
STEPS = 12  # of Newton's method for the slope


class WithScenes(Protocol):
    """What a trial and a candidate have in common."""

    @property
    def objects(self) -> Sequence[tuple[str, Box]]: ...
    @property
    def scenes(self) -> Sequence[Sequence[tuple[str, Box]]]: ...
    @property
    def size(self) -> tuple[float, float]: ...


def find_scenes(truth: Annotations, preds: Mapping[str, Annotations], confidence: float = 0.5) -> list[Candidate]:
    """Return the images whose results differ, with all predictions from a confidence on.

    Parameters
    ----------
    truth : Annotations
        Ground truth; ignored objects are left out.
    preds : mapping of Annotations
        Predictions by detector.
    confidence : float, default 0.5
        Lowest confidence of a prediction that is shown.
    """
    sides = [without(truth, truth.ignored)]
    for pred in preds.values():
        low = np.zeros(len(pred.image), dtype=bool) if pred.confidence is None else pred.confidence < confidence
        sides.append(without(pred, low))
    found = []
    images = truth.images
    for image in range(len(images)):
        name = images.name(image)
        size = float(images.widths[image]), float(images.heights[image])
        own, *scenes = (side.get(name, ()) for side in sides)
        if own and len(set(scenes)) > 1 and min(size) > 0:
            box = (0.0, 0.0, *size)
            found.append(
                Candidate(name, "scene", name, box, size, tuple(preds), (box,) * len(preds), own, tuple(scenes))
            )
    return found


def without(side: Annotations, dropped: NDArray[np.bool_]) -> dict[str, tuple[tuple[str, Box], ...]]:
    """Return class and box of the other objects, by name of the image.

    Parameters
    ----------
    side
        Ground truth or predictions.
    dropped
        Objects that the trial is about, and that are not drawn as context.

    Returns
    -------
    dict[str, tuple[tuple[str, Box], ...]]
        Boxes as corners in pixels, rounded to thousandths.
    """
    found: dict[str, list[tuple[str, Box]]] = {}
    for row in np.flatnonzero(~dropped).tolist():
        x1, y1, x2, y2 = (round(float(v), 3) for v in side.regions.boxes[row])
        name = side.images.name(int(side.image[row]))
        found.setdefault(name, []).append((side.labels.name(int(side.label[row])), (x1, y1, x2, y2)))
    return {name: tuple(objects) for name, objects in found.items()}


def scores_of(trials: Sequence[WithScenes], side: int, localization: str, iou: float) -> tuple[Floats, Floats]:
    """Return the scene scores of one side at alpha 0 and at alpha 1; with multiple matching others lie between."""
    names = [f"{i}" for i in range(len(trials))]
    known = sorted({label for t in trials for scene in (t.objects, *t.scenes) for label, _ in scene})

    def annotations(scenes: Sequence[Sequence[tuple[str, Box]]], **more: object) -> Annotations:
        rows = [(name, *one) for name, scene in zip(names, scenes, strict=True) for one in scene]
        boxes = np.array([row[2] for row in rows], dtype=np.float64).reshape(-1, 4)
        return Annotations.of([row[0] for row in rows], [row[1] for row in rows], boxes, images=names, labels=known,
                              **more)  # type: ignore[arg-type]  # fmt: skip

    truth = annotations([t.objects for t in trials])
    scenes = [t.scenes[min(side, len(t.scenes) - 1)] for t in trials]
    pred = annotations(scenes, confidence=np.ones(sum(map(len, scenes))))
    ends = [
        scene_score(truth, pred, alpha=alpha, localization=localization, iou=iou, checks="off") for alpha in (0.0, 1.0)
    ]
    # Images without any object on either side have no score; none is chosen for a study.
    first, second = (np.array([dict(zip(end.image_names, end.image_scores, strict=True)).get(n, 0.0) for n in names])
                     for end in ends)  # fmt: skip
    return first, second


def setting_preferences(candidates: Sequence[Candidate]) -> Floats:
    """Return the score of the first result minus that of the second, for settings that differ, [setting, scene]."""
    rows = []
    for localization, iou in product(LOCALIZATIONS, (0.2, 0.5)):
        ends = [scores_of(candidates, side, localization, iou) for side in (0, 1)]
        for alpha in PRESETS:
            first, second = ((1 - alpha) * zero + alpha * one for zero, one in ends)
            rows.append(first - second)
    return np.stack(rows)


@dataclass(frozen=True, eq=False)
class ScoreGrid:
    """Scene scores of every trial and option for a grid of settings.

    Parameters
    ----------
    cells : list of (str, float)
        Localization metric and IoU threshold.
    at_zero, at_one : array, [cell, trial, option]
        Scores at alpha 0 and at alpha 1; nan where a trial has fewer options.
    """

    cells: list[tuple[str, float]]
    at_zero: Floats
    at_one: Floats

    def at(self, cell: int, alpha: float) -> Floats:
        """Return the scores of a cell, [trial, option]."""
        found: Floats = (1 - alpha) * self.at_zero[cell] + alpha * self.at_one[cell]
        return found


def score_grid(trials: Sequence[WithScenes]) -> ScoreGrid:
    """Compute the scores of every trial for all thresholds and localization metrics."""
    options = max(len(t.scenes) for t in trials)
    cells = list(product(LOCALIZATIONS, THRESHOLDS))
    zero, one = (np.full((len(cells), len(trials), options), np.nan) for _ in range(2))
    is_there = np.array([[k < len(t.scenes) for k in range(options)] for t in trials])
    for c, (localization, iou) in enumerate(cells):
        for k in range(options):
            ends = scores_of(trials, k, localization, iou)
            for grid, values in zip((zero, one), ends, strict=True):
                grid[c, is_there[:, k], k] = values[is_there[:, k]]
    return ScoreGrid(cells, zero, one)


def preset_penalties(grid: ScoreGrid) -> dict[str, Floats]:
    """Return scene scores as metrics: the weights of `PRESETS`, both localizations, threshold 0.2."""
    return {
        f"scene_score(alpha={alpha:g},localization={localization})": grid.at(
            grid.cells.index((localization, 0.2)), alpha
        )
        for localization in LOCALIZATIONS
        for alpha in PRESETS
    }


def log_likelihoods(differences: Floats, weights: Floats) -> Floats:
    """Return the log likelihood of the votes under every setting, each with its best slope.

    Parameters
    ----------
    differences : array, [vote, setting]
        Score of the result that was not chosen minus that of the chosen one; positive agrees with the vote.
    weights : array, [vote]
        How often each vote counts.

    Returns
    -------
    array, [setting]
        The maximum over slopes from 0 to 100 of the sum of log(1 / (1 + exp(-slope · difference))).
    """
    slope = np.ones(differences.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(np.clip(differences * slope, -40, 40)))
        gradient = (weights[:, None] * p * differences).sum(axis=0)
        bend = (weights[:, None] * p * (1 - p) * differences**2).sum(axis=0)
        step = np.clip(gradient / np.maximum(bend, 1e-9), -10, 10)
        slope = np.clip(slope + step, 0.0, 100.0)
    found: Floats = -(weights[:, None] * np.log1p(np.exp(np.clip(-differences * slope, -40, 40)))).sum(axis=0)
    return found


@dataclass(frozen=True)
class SceneScoreFit:
    """Settings of the scene score that agree best with people.

    Parameters
    ----------
    localization : str or None
        Localization metric.
    alpha, alpha_low, alpha_high : float or None
        Weight of localization, with a 95 % bootstrap interval over judges and images.
    threshold : float or None
        IoU threshold of a match.
    held_out, low, high : float or None
        Share of votes that scores fitted to other images and judges predict, with its 95 % confidence interval.
    why : str
        Why there is no alpha and threshold, where there is none.
    """

    localization: str | None
    alpha: float | None = None
    threshold: float | None = None
    alpha_low: float | None = None
    alpha_high: float | None = None
    held_out: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


@lru_cache(maxsize=1)
def settings_of_grid() -> list[tuple[int, float]]:
    """Return all settings: position of the cell, and alpha."""
    return list(product(range(len(LOCALIZATIONS) * len(THRESHOLDS)), ALPHAS))
