"""A score against a parameter of the detector: bootstrap band, and a setting chosen on one half of the images.

The best of many settings on a test set is better there than elsewhere. The honest score of "take the best setting" is
measured on images that took no part in the choice: settings are chosen on random halves and scored on the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, NotComparable
from verite.model.results import Results, to_json
from verite.model.tables import Display, Part, Table
from verite.statistics.intervals import percentile_interval
from verite.statistics.resampling import SampledUnits

Floats = NDArray[np.float64]
SPLITS = 200
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def parameter_of(name: str) -> tuple[str, float | str]:
    """Return parameter and value from the name of a run: `conf=0.25`, else its last number.

    >>> parameter_of("yolo-conf=0.25"), parameter_of("epoch_12"), parameter_of("night")
    (('conf', 0.25), ('run', 12.0), ('run', 'night'))
    """
    given = re.search(r"([A-Za-z][A-Za-z0-9]*)=([^,=]+)$", name)
    if given:
        word = given[2]
        return given[1], float(word) if NUMBER.fullmatch(word) else word
    numbers = NUMBER.findall(name.replace("-", " "))
    return ("run", float(numbers[-1])) if numbers else ("run", name)


@dataclass(frozen=True, eq=False, repr=False)
class ParameterSweep(Display):
    """A score by setting, with 95 % intervals, and the honest score of the best setting.

    Parameters
    ----------
    parameter, score : str
        The parameter, and the name of the score.
    settings : list
        Values of the parameter, in rising order.
    values, low, high : list of float
        Score and 95 % bootstrap interval of each.
    best : int
        Position of the best setting.
    chosen : list of float
        Share of random halves of the images on which each setting is the best.
    apparent, held_out : float
        Mean score of the best setting on the halves on which it was chosen, and on the other halves.
    slices : dict
        Best setting by condition: its name, images, setting and score.
    """

    parameter: str
    score: str
    settings: list[float | str]
    values: list[float]
    low: list[float]
    high: list[float]
    best: int
    chosen: list[float]
    apparent: float
    held_out: float
    slices: dict[str, tuple[int, float | str, float]] = field(default_factory=dict)
    is_error: bool = False  # lower is better

    def main_table(self) -> Table:
        """Return the settings."""
        labels = [f"{value:g}" if isinstance(value, float) else value for value in self.settings]
        columns = {self.score: self.values, "low": self.low, "high": self.high, "best on halves": self.chosen}
        return Table.of(self.parameter, labels, columns)

    def contents(self) -> list[Part]:
        best = self.settings[self.best]
        shown = f"{best:g}" if isinstance(best, float) else best
        lost = abs(self.apparent - self.held_out)
        side = "too good" if (self.apparent < self.held_out) == self.is_error else "worse than that"
        parts: list[Part] = [
            self.main_table(),
            f"best on all images: {self.parameter} {shown}, {self.score} {self.values[self.best]:.4f}",
            f"chosen on one half of the images and scored on the other ({SPLITS} random halves): "
            f"{self.held_out:.4f}; on the half of the choice {self.apparent:.4f}, {lost:.4f} {side}",
        ]
        if self.slices:
            labels, rows = list(self.slices), list(self.slices.values())
            columns: dict[str, list[Any]] = {
                "images": [row[0] for row in rows],
                f"best {self.parameter}": [row[1] for row in rows],
                self.score: [row[2] for row in rows],
            }
            parts.append(Table.of("condition", labels, columns))
        return parts

    def to_json(self, *, indent: int = 0) -> str:
        rows = zip(self.settings, self.values, self.low, self.high, self.chosen, strict=True)
        found = {
            "parameter": self.parameter,
            "score": self.score,
            "settings": [{"value": v, "score": s, "low": a, "high": b, "chosen": c} for v, s, a, b, c in rows],
            "best": self.settings[self.best],
            "apparent": self.apparent,
            "held_out": self.held_out,
            "slices": {k: {"images": n, "best": v, "score": s} for k, (n, v, s) in self.slices.items()},
        }
        return to_json(found, indent=indent)


def sweep_runs(
    runs: Mapping[float | str, Results],
    score: str,
    *,
    parameter: str = "run",
    draws: int = 1000,
    seed: int = 0,
    groups: Sequence[str] | None = None,
) -> ParameterSweep:
    """Compare runs of one detector by a parameter.

    Parameters
    ----------
    runs : mapping of Results
        Results of the same protocol and images by the value of the parameter.
    score : str
        Name of the score, such as "AP".
    parameter : str, default "run"
        Name of the parameter.
    draws : int, default 1000
        Bootstrap resamples of images.
    seed : int, default 0
        Seed of resamples and halves.
    groups : sequence of str, optional
        Condition of each image (illumination, occlusion, …), for the best setting by condition.

    Returns
    -------
    ParameterSweep

    Raises
    ------
    BadParameter
        If there are fewer than two runs or four images.
    NotComparable
        If the runs have other images.
    """
    if len(runs) < 2:
        raise BadParameter(f"sweep: expected two runs or more, found {len(runs)}")
    numeric = all(isinstance(value, float) for value in runs)
    settings: list[Any] = sorted(runs) if numeric else sorted(runs, key=str)
    results = [runs[value] for value in settings]
    names = [results[0].truth.images.name(i) for i in range(len(results[0].truth.images))]
    for result in results[1:]:
        if len(result.truth.images) != len(names):
            raise NotComparable(f"sweep: expected the same images in every run, found {len(result.truth.images)}")
    if len(names) < 4:
        raise BadParameter(f"sweep: expected at least 4 images to choose and judge on halves, found {len(names)}")
    sign = -1.0 if results[0].is_error(score) else 1.0
    units = SampledUnits.of(names)

    def measure(weights: Floats) -> Floats:
        """Return the score of every run under weights of the images, [weights, run]."""
        return np.stack([np.asarray(result.draw_scores([score], weights))[:, 0] for result in results], axis=1)

    values = [float(result[score].value) for result in results]
    samples = measure(units.bootstrap(draws, seed))
    bands = [percentile_interval(samples[:, i][np.isfinite(samples[:, i])], 0.95) for i in range(len(results))]
    halves = units.half_samples(SPLITS, seed)
    inside, outside = measure(halves), measure(1 - halves)
    usable = np.isfinite(inside).all(axis=1) & np.isfinite(outside).all(axis=1)
    inside, outside = inside[usable], outside[usable]
    if not len(inside):
        raise BadParameter(f"sweep: expected halves of the images on which {score} is defined, found none")
    picked = np.argmax(sign * inside, axis=1)
    rows = np.arange(len(picked))
    slices = {}
    for group in sorted(set(groups or ())):
        is_in = np.array([[float(name == group) for name in groups or ()]])
        row = measure(is_in)[0]
        if np.isfinite(row).any():
            at = int(np.nanargmax(sign * row))
            slices[group] = (int(is_in.sum()), settings[at], float(row[at]))
    return ParameterSweep(
        parameter, score, settings, values, [low for low, _ in bands], [high for _, high in bands],
        int(np.nanargmax(sign * np.array(values))), [float((picked == i).mean()) for i in range(len(results))],
        float(inside[rows, picked].mean()), float(outside[rows, picked].mean()), slices, sign < 0,
    )  # fmt: skip
