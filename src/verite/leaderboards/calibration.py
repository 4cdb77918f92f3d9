"""Calibration of a leaderboard: predicted ranking stability against the ranking on corrected annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verite.annotation_errors.calibration import RankingCalibration
from verite.errors import BadParameter, DataError, spell_option
from verite.leaderboards.leaderboard import evaluate_detector, rank_results
from verite.model.tables import Part, Table
from verite.signature import Signature
from verite.statistics.calibration import bin_pairs
from verite.statistics.multiple_comparisons import TIE

if TYPE_CHECKING:
    from verite.annotation_errors.detection import Detection
    from verite.leaderboards.leaderboard import LeaderboardSettings
    from verite.model.annotations import Annotations


@dataclass(frozen=True, eq=False, repr=False)
class LeaderboardCalibration(RankingCalibration):
    """Predicted and observed shares of pairs of detectors that keep their order on corrected annotations."""

    metric: str
    assumption: str
    scores: dict[str, tuple[float, float]]  # by detector, on the first and on the corrected ground truth

    def score_table(self) -> Table:
        """The score of each detector on both ground truths."""
        before, after = ([pair[i] for pair in self.scores.values()] for i in range(2))
        return Table.of("detector", list(self.scores), {self.metric: before, "on corrected annotations": after})

    def summary(self) -> list[Part]:
        return [
            self.score_table(),
            f"{self.every.pairs:,} pairs with different recorded scores; predicted under annotation errors: "
            f"{self.assumption}. Brier score {self.brier:.4f}. Pairs share detectors: they are not independent.",
        ]


def calibrate(
    truth: Annotations,
    better: Annotations,
    preds: Mapping[str, Annotations],
    errors: Detection,
    settings: LeaderboardSettings,
) -> LeaderboardCalibration:
    """Compare the predicted stability of every pair with its order on corrected annotations of the same images.

    Parameters
    ----------
    truth, better
        The first and the corrected ground truth.
    preds
        The predictions of each detector, by name.
    errors
        The error model that predicts.
    settings
        Those of the leaderboard; images are not resampled.
    """
    if errors.is_none:
        rates = spell_option("errors", "missing=0.05,spurious=0.02")
        raise BadParameter(f"errors: expected rates to predict with, found none; {rates}")
    names = {truth.images.name(i) for i in range(len(truth.images))}
    others = {better.images.name(i) for i in range(len(better.images))}
    if names != others:
        odd = sorted(names ^ others)[0]
        where = better.source.path or "better truth"
        raise DataError(f"{where}: expected the same images, found {odd!r} in one of the two only")
    settings = settings.change(resample="none")
    results = {name: evaluate_detector(truth, pred, name, settings) for name, pred in preds.items()}
    ranked = rank_results(results, errors, None, settings)
    board = ranked.board
    after = {
        name: evaluate_detector(better, pred, name, settings).scores[board.metric].value for name, pred in preds.items()
    }
    pairs = [pair for pair in board.pairs if ranked.scores[pair.first] - ranked.scores[pair.second] > TIE]
    if not pairs:
        raise DataError("detectors: expected two with different recorded scores, found none")
    predicted = np.array([(pair.shares["errors"] or (np.nan,))[0] for pair in pairs])
    bins, every, brier = bin_pairs(predicted, np.array([after[pair.first] - after[pair.second] for pair in pairs]))
    return LeaderboardCalibration(
        signature=str(Signature("leaderboard_calibration", ranked.signature.settings)),
        brier=brier,
        every=every,
        bins=bins,
        metric=board.metric,
        assumption=errors.assumption,
        scores={name: (float(score), after[name]) for name, score in ranked.scores.items()},
    )
