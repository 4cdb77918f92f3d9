"""Calibration of predicted ranking stability on corrected annotations, for `vt.rank` and `vt.leaderboard` alike.

For data that was annotated again: how many pairs keep their order on the corrected ground truth, against the
probabilities that an error model predicted from the first annotations alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from verite.model.results import to_json
from verite.model.tables import Display, Part, Table
from verite.statistics.calibration import CalibrationBin, bin_columns

if TYPE_CHECKING:
    from verite.files import JsonObject


@dataclass(frozen=True, eq=False, repr=False)
class RankingCalibration(Display):
    """Predicted and observed shares of pairs that keep their order, in bins of the predicted probability."""

    signature: str
    brier: float  # Brier score: mean squared difference of prediction and outcome
    every: CalibrationBin  # all pairs
    bins: tuple[CalibrationBin, ...]

    def main_table(self) -> Table:
        """One row per bin of predicted probabilities, and one for all pairs."""
        return Table.of("probability", *bin_columns(self.bins, self.every))

    def summary(self) -> list[Part]:
        """The tables and sentences before the bins."""
        raise NotImplementedError

    def contents(self) -> list[Part]:
        """Everything that is printed, from top to bottom."""
        return [*self.summary(), self.main_table(), self.signature]

    def to_dict(self) -> JsonObject:
        """Everything as plain values; the documented keys of the JSON document."""
        return asdict(self)

    def to_json(self, *, indent: int = 0) -> str:
        """The JSON document."""
        return to_json(self.to_dict(), indent=indent)
