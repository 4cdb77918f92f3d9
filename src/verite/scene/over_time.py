"""Scene scores over time: one curve per video sequence, and the frames at which its level changes (change points).

Change points are found by binary segmentation: a sequence is split where the means on both sides differ most (CUSUM
statistic), if that is more than in 99 % of simulated series of noise of this length, and so on within the parts. Scores
of neighbouring frames are alike: noise is the long-run variance around a running median (Bartlett kernel).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.model.results import to_json
from verite.model.sequences import Sequences
from verite.model.tables import Display, Part, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.files import JsonObject
    from verite.scene.scene_score import SceneScoreResults
    from verite.signature import Signature

    Floats = NDArray[np.float64]

LEVEL = 0.01  # significance of a change point
SIMULATIONS, BLOCK = 1000, 50  # of noise, and how many are held at a time
LEAST = 8  # frames of a part, and on both sides of the running median
LAGS = 4  # frames over which noise may be correlated
STREAM = 7  # of random numbers


def change_points(values: Floats, *, level: float = LEVEL, seed: int = 0) -> list[int]:
    """Return the positions at which the level of a series changes: each is the first value of its part.

    Parameters
    ----------
    values
        One number per frame, in their order.
    level
        Significance level of each split.
    seed
        Seed of the simulated noise.

    Examples
    --------
    >>> change_points(np.array([0.1, 0.12, 0.11, 0.1] * 10 + [0.5, 0.52, 0.51, 0.5] * 10))
    [40]
    >>> change_points(np.array([0.1, 0.2] * 40))
    []
    """
    found: list[int] = []
    open_parts = [(0, len(values))]
    while open_parts:
        first, end = open_parts.pop()
        part = np.asarray(values[first:end], dtype=np.float64)
        if len(part) < 2 * LEAST or np.ptp(part) == 0:
            continue
        split, size = largest_shift(part[None, :])
        if size[0] > threshold(len(part), level, seed):
            at = first + int(split[0])
            found.append(at)
            open_parts += [(first, at), (at, end)]
    return sorted(found)


def largest_shift(series: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return for each row the split with the largest CUSUM statistic, and that statistic in units of the noise."""
    count = series.shape[1]
    left = np.arange(LEAST, count - LEAST + 1)
    sums = np.cumsum(series, axis=1)
    mean_left = sums[:, left - 1] / left
    mean_right = (sums[:, -1:] - sums[:, left - 1]) / (count - left)
    shift = np.abs(mean_left - mean_right) * np.sqrt(left * (count - left) / count)
    best = np.argmax(shift, axis=1)
    # For each row the square root of the long-run variance around its running median, at least 1e-9. A score that
    # alternates from frame to frame equals its running median, so that half of the mean squared difference of
    # neighbours, the variance of independent noise, is a lower bound.
    padded = np.pad(series, ((0, 0), (LEAST, LEAST)), mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * LEAST + 1, axis=1)
    rest = series - np.median(windows, axis=2)
    rest = rest - rest.mean(axis=1, keepdims=True)
    variance = (rest**2).mean(axis=1)
    total = variance.copy()
    for lag in range(1, LAGS + 1):
        total += 2 * (1 - lag / (LAGS + 1)) * (rest[:, lag:] * rest[:, :-lag]).sum(axis=1) / series.shape[1]
    alternating = (np.diff(series, axis=1) ** 2).mean(axis=1) / 2
    noise: Floats = np.maximum(np.sqrt(np.maximum(np.maximum(total, variance), alternating)), 1e-9)
    return left[best], shift[np.arange(len(shift)), best] / noise


@lru_cache(maxsize=256)
def threshold(count: int, level: float, seed: int) -> float:
    """Return the quantile of the statistic among simulated series of independent normal noise."""
    rng = np.random.default_rng([seed, STREAM])
    drawn = [largest_shift(rng.standard_normal((BLOCK, count)))[1] for _ in range(SIMULATIONS // BLOCK)]
    return float(np.quantile(np.concatenate(drawn), 1 - level))


@dataclass(frozen=True, eq=False)
class SequenceScores:
    """The scores of one sequence: frame numbers in rising order, the score of each, and the change points.

    A change point is the number of the first frame of the new level.
    """

    name: str
    frames: NDArray[np.int64]
    scores: Floats
    changes: tuple[int, ...]

    @property
    def levels(self) -> list[tuple[int, int, float]]:
        """First frame, last frame and mean score of each part between change points."""
        edges = [0, *np.searchsorted(self.frames, self.changes).tolist(), len(self.frames)]
        return [
            (int(self.frames[a]), int(self.frames[b - 1]), float(self.scores[a:b].mean()))
            for a, b in itertools.pairwise(edges)
            if b > a
        ]


@dataclass(frozen=True, eq=False, repr=False)
class FrameScores(Display):
    """Scene scores over time: the result of `verite scene-score --per frame`.

    Attributes
    ----------
    name
        The detector.
    sequences
        One record per sequence.
    signature
        The signature of the scene score.
    is_stated
        Whether the file states sequences or tracks. If not, the order of frames is that of the numbers in the names of
        images, which may as well be unrelated images.
    """

    name: str
    sequences: tuple[SequenceScores, ...]
    signature: Signature
    is_stated: bool = True

    @classmethod
    def of(cls, results: SceneScoreResults) -> FrameScores:
        """Group the image scores of results by sequence.

        Raises
        ------
        DataError
            If images are no frames: their names have no number.
        """
        at = Sequences.of(results.known, results.truth.source.path or "truth")
        found = []
        for i, name in enumerate(at.names):
            rows = np.flatnonzero(at.sequence == i)
            rows = rows[np.argsort(at.frame[rows], kind="stable")]
            scores, frames = results.image_scores[rows], at.frame[rows]
            found.append(SequenceScores(name, frames, scores, tuple(frames[change_points(scores)].tolist())))
        is_stated = at.is_stated or results.truth.track is not None
        return cls(results.name, tuple(found), results.signature, is_stated)

    def table(self) -> Table:
        """Return one row per sequence: frames, mean and worst score, change points."""
        columns: dict[str, list[Any]] = {
            "frames": [len(one.frames) for one in self.sequences],
            "mean score": [float(one.scores.mean()) for one in self.sequences],
            "worst": [float(one.scores.max()) for one in self.sequences],
            "in frame": [int(one.frames[np.argmax(one.scores)]) for one in self.sequences],
            "changes": [len(one.changes) for one in self.sequences],
        }
        return Table.of("sequence", [one.name for one in self.sequences], columns)

    def level_table(self) -> Table:
        """Return one row per part between change points."""
        rows = tuple((one.name, f"{first}–{last}", mean) for one in self.sequences for first, last, mean in one.levels)
        return Table(("sequence", "frames", "mean score"), rows, title="levels between change points")

    def frame_table(self) -> Table:
        """Return one row per frame."""
        rows = tuple(
            (one.name, int(frame), float(score), int(frame) in one.changes)
            for one in self.sequences
            for frame, score in zip(one.frames, one.scores, strict=True)
        )
        return Table(("sequence", "frame", "score", "is change"), rows)

    def main_table(self) -> Table:
        return self.table()

    def tables(self) -> dict[str, Table]:
        """All tables, by the names of their files."""
        return {"sequences": self.table(), "levels": self.level_table(), "frames": self.frame_table()}

    def contents(self) -> list[Part]:
        parts: list[Part] = [self.name, self.table()]
        if any(one.changes for one in self.sequences):
            parts.append(self.level_table())
        note = f"change points: p ≤ {LEVEL:g} each, against noise as between neighbouring frames; 0 is a perfect frame"
        return [*parts, note, *self.warnings, self.signature]

    @property
    def warnings(self) -> list[str]:
        """A line if nothing but the numbers in the names of images shows that they are frames of videos."""
        if self.is_stated:
            return []
        names = ", ".join(repr(one.name) for one in self.sequences[:3] if one.name)
        more = f" and {len(self.sequences) - 3} more" if len(self.sequences) > 3 else ""
        called = f" ({names}{more})" if names else ""
        frames, count = sum(len(one.frames) for one in self.sequences), len(self.sequences)
        return [
            f"warning: {frames:,} images are taken as frames of {count} sequence{'s' if count > 1 else ''}{called} by "
            "the numbers in their names; the ground truth states neither videos nor tracks: of unrelated images, "
            "neither curve nor change points mean anything"
        ]

    def to_dict(self) -> JsonObject:
        """The documented keys of the JSON document."""
        return {
            "signature": str(self.signature),
            "is_stated": self.is_stated,
            "sequences": {
                one.name: {
                    "frames": one.frames.tolist(),
                    "scores": one.scores.tolist(),
                    "mean": float(one.scores.mean()),
                    "changes": list(one.changes),
                    "levels": [dict(zip(("first", "last", "mean"), level, strict=True)) for level in one.levels],
                }
                for one in self.sequences
            },
        }

    def to_json(self, *, indent: int = 0) -> str:
        """The JSON document."""
        return to_json(self.to_dict(), indent=indent)

    def to_frame(self) -> Any:
        """The scores of all frames as a pandas DataFrame; pandas must be installed."""
        return self.frame_table().to_frame()
