"""Calibration of `vt.rank`: predicted ranking stability against the ranking on corrected annotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from verite.annotation_errors.calibration import RankingCalibration
from verite.annotation_errors.independent import Bernoulli
from verite.annotation_errors.model import ErrorModel
from verite.errors import DataError, ReadError, excerpt
from verite.files import find_path
from verite.model.tables import Part
from verite.ranking.answers import AnswerTable, as_text
from verite.ranking.rank import rank
from verite.ranking.sheets import read_sheet
from verite.statistics.calibration import bin_pairs


@dataclass(frozen=True, eq=False, repr=False)
class AnswerCalibration(RankingCalibration):
    """Predicted and observed shares of pairs of algorithms that keep their order on corrected annotations."""

    model: str
    items: int
    wrong: float  # share of annotations that are corrected
    wrong_in_dispute: float  # the same among items on which the algorithms are not all right or all wrong

    def summary(self) -> list[Part]:
        return [
            f"{self.every.pairs:,} pairs with different recorded scores on {self.items:,} items.",
            f"Wrong annotations: {self.wrong:.4f} of all, {self.wrong_in_dispute:.4f} where the algorithms disagree.",
            f"Predicted under {self.model}. Brier score {self.brier:.4f}. Pairs share algorithms: they are not "
            "independent.",
        ]


def calibrate(table: AnswerTable, better: Sequence[Any], errors: ErrorModel | None = None) -> AnswerCalibration:
    """Set what a model predicts about every pair beside what a better truth, one value per item, says.

    Without a model: independent errors at the rate at which records are wrong where the algorithms differ.

    >>> table = AnswerTable.of([1, 1, 0, 0, 1], {"a": [1, 1, 0, 1, 1], "b": [1, 0, 0, 1, 0]})
    >>> found = calibrate(table, [1, 1, 0, 0, 0])
    >>> found.wrong, found.wrong_in_dispute, found.every.kept
    (0.2, 0.5, 0.0)
    """
    values = np.array([as_text(v) for v in better])
    if len(values) != len(table):
        raise DataError(f"better truth: expected {len(table)} values, one per item, found {len(values)}")
    names = (*table.labels, *sorted(set(values.tolist()) - set(table.labels)))
    if table.kind != "labels" and len(names) > 2:
        raise DataError(f"better truth: expected 0 or 1, found {excerpt(names[2])}")
    place = {name: k for k, name in enumerate(names)}
    truth = np.array([place[v] for v in values.tolist()], dtype=table.truth.dtype)
    is_wrong = truth != table.truth
    right = np.stack([column == table.truth for column in table.answers])
    disputed = right.any(axis=0) & ~right.all(axis=0)
    rates = float(is_wrong.mean()), float(is_wrong[disputed].mean()) if disputed.any() else 0.0
    model = errors if errors is not None else Bernoulli(min(rates[1], 0.5))
    found = rank(table, model, draws=1000)
    after = replace(table, truth=truth, labels=names, confusion=None).tau
    pairs = [pair for pair in found.pairs if not pair.tied]
    if not pairs:
        raise DataError("algorithms: expected two with different recorded scores, found none")
    predicted = np.array([pair.kept for pair in pairs])
    if np.isnan(predicted).any():
        raise DataError(f"errors: expected a model that gives probabilities, found {model}")
    lead = np.array([after[pair.first] - after[pair.second] for pair in pairs])
    bins, every, brier = bin_pairs(predicted, lead)
    return AnswerCalibration(str(found.signature), brier, every, bins, str(model), len(table), *rates)


def read_truth(path: str | Path, table: AnswerTable) -> list[str]:
    """A better truth in the order of a table's items, from a table with the same item[,interpretation] and truth."""
    sheet = read_sheet(find_path(path))
    keys = [name for name in ("item", "interpretation") if name in table.columns]
    missing = next((name for name in (*keys, "truth") if name not in sheet.head), None)
    if missing is not None:
        found = excerpt(",".join(sheet.head))
        raise ReadError(f"{sheet.path}:1", expected=f"a header {','.join([*keys, 'truth'])}", found=found)
    known = dict(zip(zip(*(sheet.column(k) for k in keys), strict=True), sheet.column("truth"), strict=True))
    asked = list(zip(*(table.columns[k] for k in keys), strict=True))
    absent = next((item for item in asked if item not in known), None)
    if absent is not None:
        raise ReadError(
            sheet.path, expected="every item of the table", found=f"none for {' '.join(map(str, absent))!r}"
        )
    return [str(known[item]) for item in asked]
