"""How many orders survive the step from one truth to a better one, against what was predicted?

For those who have data that was annotated again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.errors import BadParameter, DataError
from verite.leaderboards.leaderboard import evaluate_one, rank_results
from verite.leaderboards.result import WIDTH
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table
from verite.signature import Signature
from verite.statistics.calibration import CalibrationBin, bin_columns, bin_pairs
from verite.statistics.multiple_comparisons import TIE

if TYPE_CHECKING:
    from verite.annotation_errors.detection import Detection
    from verite.leaderboards.leaderboard import LeaderboardSettings
    from verite.model.annotations import Annotations


@dataclass(frozen=True, eq=False)
class BoardCalibration(Display):
    """What was predicted about every pair on one truth, and what a better one says."""

    signature: str
    metric: str
    assumption: str
    scores: dict[str, tuple[float, float]]  # by detector, on both truths
    brier: float
    every: CalibrationBin
    bins: tuple[CalibrationBin, ...]

    def main_table(self) -> Table:
        return Table.of("probability", *bin_columns(self.bins, self.every))

    def score_table(self) -> Table:
        before, after = ([pair[i] for pair in self.scores.values()] for i in range(2))
        return Table.of("detector", list(self.scores), {self.metric: before, "on the better truth": after})

    def contents(self) -> list[Part]:
        said = (
            f"{self.every.pairs:,} pairs that differ on the record; predicted under errors of the truth: "
            f"{self.assumption}. Brier score {self.brier:.4f}. Pairs share detectors: they are not independent."
        )
        return [self.score_table(), fill(said, WIDTH), self.main_table(), self.signature]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)


def calibrate(
    truth: Annotations,
    better: Annotations,
    preds: Mapping[str, Annotations],
    errors: Detection,
    settings: LeaderboardSettings,
) -> BoardCalibration:
    """Set what the model predicts of every pair on one truth beside their order on a better one of the same images."""
    if errors.is_none:
        raise BadParameter("errors: expected rates to predict with, found none; --errors missing=0.05,spurious=0.02")
    names = {truth.images.name(i) for i in range(len(truth.images))}
    others = {better.images.name(i) for i in range(len(better.images))}
    if names != others:
        odd = sorted(names ^ others)[0]
        raise DataError(f"{better.source.path or 'better truth'}: expected the same images, found {odd!r} in one alone")
    asked = settings.change(resample="none")
    ranked = rank_results(
        {name: evaluate_one(truth, pred, name, asked) for name, pred in preds.items()}, errors, None, asked
    )
    board = ranked.board
    after = {name: evaluate_one(better, pred, name, asked).scores[board.metric].value for name, pred in preds.items()}
    pairs = [
        pair
        for i, j, pair in ((board.names.index(p.first), board.names.index(p.second), p) for p in board.pairs)
        if board.scores[i] - board.scores[j] > TIE
    ]
    if not pairs:
        raise DataError("detectors: expected two that differ on the record, found none")
    predicted = np.array([(pair.shares["errors"] or (np.nan,))[0] for pair in pairs])
    bins, every, brier = bin_pairs(predicted, np.array([after[pair.first] - after[pair.second] for pair in pairs]))
    scores = {name: (float(score), after[name]) for name, score in zip(board.names, board.scores, strict=True)}
    signature = Signature("leaderboard_calibration", ranked.signature.settings)
    return BoardCalibration(str(signature), board.metric, errors.assumption, scores, brier, every, bins)
