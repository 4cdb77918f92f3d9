"""Which setting of the scene score puts which detector first: intervals of alpha and of the IoU threshold.

With multiple matching the score of a detector is a straight line in alpha, so that the intervals of alpha are exact.
Thresholds are tried in steps of 0.05.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.checks import Finding
from verite.errors import BadParameter, did_you_mean
from verite.model.annotations import Annotations
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table
from verite.scene.scene_score import SceneScoreResults, scene_score

Floats = NDArray[np.float64]
SWEPT = ("alpha", "threshold")
THRESHOLDS = tuple(round(0.05 * i, 2) for i in range(1, 20))


@dataclass(frozen=True)
class Lead:
    """An interval of a setting in which one detector has the lowest score.

    Parameters
    ----------
    setting : str
        "alpha" or "threshold".
    low, high : float
        Ends of the interval.
    first : str
        The detector with the lowest score.
    at_low, at_high : float
        Its score at both ends.
    """

    setting: str
    low: float
    high: float
    first: str
    at_low: float
    at_high: float


def lowest_lines(names: Sequence[str], at_zero: Floats, at_one: Floats) -> list[Lead]:
    """Return the intervals of alpha in which each of several lines is the lowest (their lower envelope).

    >>> [(lead.first, lead.low, lead.high) for lead in lowest_lines("ab", np.array([0.0, 0.25]), np.array([0.5, 0.25]))]
    [('a', 0.0, 0.5), ('b', 0.5, 1.0)]
    """
    slope = at_one - at_zero
    cuts = {0.0, 1.0}
    for i in range(len(names)):
        for k in range(i):
            if slope[i] != slope[k]:
                cut = float((at_zero[k] - at_zero[i]) / (slope[i] - slope[k]))
                cuts |= {cut} if 0 < cut < 1 else set()
    ordered = sorted(cuts)
    found: list[Lead] = []
    for low, high in pairwise(ordered):
        best = int(np.argmin(at_zero + slope * (low + high) / 2))
        start = low
        if found and found[-1].first == names[best]:
            start = found.pop().low
        ends = (float(at_zero[best] + slope[best] * alpha) for alpha in (start, high))
        found.append(Lead("alpha", start, high, names[best], *ends))
    return found


@dataclass(frozen=True, repr=False)
class SceneScoreSweep(Display):
    """The leading detector by alpha and by IoU threshold.

    Parameters
    ----------
    scores : dict
        Scores by detector with the given settings.
    leads : list of Lead
        The intervals, by setting.
    signature : str
        The given settings.
    findings : mapping of sequences of Finding
        Findings of the checks by detector.
    """

    scores: dict[str, float]
    leads: list[Lead]
    signature: str
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict)

    def never_first(self) -> list[str]:
        """Return the detectors that no setting puts first."""
        return [name for name in self.scores if all(lead.first != name for lead in self.leads)]

    def main_table(self) -> Table:
        """Return the intervals."""
        rows = [(x.setting, f"{x.low:.3f} to {x.high:.3f}", x.first, x.at_low, x.at_high) for x in self.leads]
        return Table(("setting", "values", "first", "score from", "to"), tuple(rows))

    def contents(self) -> list[Part]:
        never = self.never_first()
        notes = [f"No value puts {' or '.join(never)} first."] * bool(never)
        scores = Table.of("detector", list(self.scores), {"score": list(self.scores.values())})
        return [scores, self.main_table(), *notes, f"settings: {self.signature}"]

    def to_json(self, *, indent: int = 0) -> str:
        found = {"scores": self.scores, "leads": [asdict(lead) for lead in self.leads]}
        return to_json(found | {"never_first": self.never_first(), "signature": self.signature}, indent=indent)


def sweep_settings(
    truth: Annotations, preds: Mapping[str, Annotations], settings: Sequence[str] = SWEPT, **given: Any
) -> SceneScoreSweep:
    """Find the detector with the lowest scene score for every alpha, and for IoU thresholds from 0.05 to 0.95.

    Parameters
    ----------
    truth : Annotations
        Ground truth.
    preds : mapping of Annotations
        Predictions by detector.
    settings : sequence of str
        "alpha", "threshold" or both.
    **given
        Settings of :func:`verite.scene_score`, ``checks`` among them.

    Returns
    -------
    SceneScoreSweep

    Raises
    ------
    BadParameter
        If a setting cannot be swept.
    DataError
        If the checks find an error.
    """
    for name in settings:
        if name not in SWEPT:
            raise BadParameter(f"sweep: expected alpha, threshold or both, found {name!r}{did_you_mean(name, SWEPT)}")

    def evaluate(**changed: Any) -> list[SceneScoreResults]:
        return [scene_score(truth, pred, **{**given, **changed, "checks": "off"}) for pred in preds.values()]

    names = list(preds)
    base = [scene_score(truth, pred, **given) for pred in preds.values()]  # the only one whose inputs are checked
    leads: list[Lead] = []
    if "alpha" in settings:
        ends = [np.array([result.score for result in evaluate(alpha=alpha)]) for alpha in (0.0, 1.0)]
        leads += lowest_lines(names, *ends)
    if "threshold" in settings:
        grid = np.array([[result.score for result in evaluate(iou=threshold)] for threshold in THRESHOLDS])
        for i, best in enumerate(grid.argmin(axis=1)):
            here, score = THRESHOLDS[i], float(grid[i, best])
            start, at_low = here, score
            if leads and leads[-1].setting == "threshold" and leads[-1].first == names[best]:
                start, at_low = leads[-1].low, leads.pop().at_low
            leads.append(Lead("threshold", start, here, names[best], at_low, score))
    scores = {name: result.score for name, result in zip(names, base, strict=True)}
    findings = {name: result.findings for name, result in zip(names, base, strict=True)}
    return SceneScoreSweep(scores, leads, str(base[0].signature), findings)


@dataclass(frozen=True, eq=False, repr=False)
class SceneDistances(Display):
    """Distances between results of several detectors without ground truth.

    Parameters
    ----------
    names : list of str
        The detectors.
    matrix : array of float, [detector, detector]
        Mean scene score of each two results, over both directions.
    images : list of str
        Names of the images.
    spread : array of float
        Mean distance over all pairs of detectors, for each image.
    signature : str
        The settings.
    """

    names: list[str]
    matrix: Floats
    images: list[str]
    spread: Floats
    signature: str

    def label_first(self, most: int = 10) -> list[tuple[str, float]]:
        """Return the images on which the detectors differ most: those whose annotation decides most between them."""
        order = np.argsort(-self.spread, kind="stable")[:most]
        return [(self.images[i], float(self.spread[i])) for i in order]

    def main_table(self) -> Table:
        """Return the matrix."""
        columns = {name: self.matrix[:, i].tolist() for i, name in enumerate(self.names)}
        return Table.of("distance", self.names, columns)

    def contents(self) -> list[Part]:
        first = self.label_first()
        images = Table.of("label first", [name for name, _ in first], {"mean distance": [value for _, value in first]})
        note = "Distances say how similar results are, not how good: no ground truth was used."
        return [self.main_table(), images, note, f"settings: {self.signature}"]

    def to_json(self, *, indent: int = 0) -> str:
        matrix = {
            a: dict(zip(self.names, row, strict=True)) for a, row in zip(self.names, self.matrix.tolist(), strict=True)
        }
        label_first = [{"image": name, "distance": value} for name, value in self.label_first(len(self.images))]
        found = {"distances": matrix, "label_first": label_first, "signature": self.signature}
        return to_json(found, indent=indent)


def distances_between(preds: Mapping[str, Annotations], **given: Any) -> SceneDistances:
    """Compare results of several detectors with each other by the scene score, without ground truth.

    Parameters
    ----------
    preds : mapping of Annotations
        Predictions by detector, two or more, of the same images.
    **given
        Settings of :func:`verite.scene_score`.

    Returns
    -------
    SceneDistances

    Raises
    ------
    BadParameter
        If there are fewer than two detectors.
    """
    if len(preds) < 2:
        raise BadParameter(f"predictions: expected two detectors or more, found {len(preds)}")
    names, sides = list(preds), list(preds.values())
    matrix, images, signature = np.zeros((len(names), len(names))), [], ""
    by_image: dict[str, list[float]] = {}
    for i, mine in enumerate(sides):
        for k, theirs in enumerate(sides):
            result = scene_score(mine, theirs, **{**given, "checks": "off"})
            matrix[i, k] = result.score
            images, signature = result.image_names, str(result.signature)
            if i != k:
                for name, score in zip(images, result.image_scores.tolist(), strict=True):
                    by_image.setdefault(name, []).append(score)
    mean = (matrix + matrix.T) / 2
    known = list(by_image)
    return SceneDistances(names, mean, known, np.array([np.mean(by_image[name]) for name in known]), signature)
