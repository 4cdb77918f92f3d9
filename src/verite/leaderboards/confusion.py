"""Which class is meant where a record has the wrong one? The detectors' own confusions, or a table of a user's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.errors import DataError, ReadError, did_you_mean
from verite.leaderboards.pool import LEAST_CONFIDENCE, LEAST_OVERLAP, find_verified
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]


def count_confusions(truth: Annotations, preds: Sequence[Annotations]) -> Floats:
    """[recorded, said] how often a detector says another class where an object is recorded."""
    from verite.evaluation.evaluation import Evaluation, Rules

    size = len(truth.labels)
    counts = np.zeros((size, size))
    rules = Rules((LEAST_OVERLAP,), is_together=True, ignored=("crowd", "ignore"), shared=("crowd",))
    for pred in preds:
        sure = pred if pred.confidence is None else pred.where(pred.confidence >= LEAST_CONFIDENCE)
        sure = sure.where((sure.label < size) & (sure.image < len(truth.images)))
        taken = Evaluation(truth.changed(verdicts=None), sure, rules).outcomes().truth
        rows = np.flatnonzero(taken >= 0)
        np.add.at(counts, (truth.label[taken[rows]], sure.label[rows]), 1)
    return counts


def read_confusions(path: str | Path, truth: Annotations) -> Floats:
    """A table recorded,CLASS,CLASS…: where wrong records of a class move to, in any unit."""
    import csv

    from verite.files import find_path, read_text

    place, names = find_path(path), truth.labels.all_names
    rows = list(csv.reader(read_text(place).splitlines()))
    if not rows or not rows[0] or rows[0][0] != "recorded":
        found = ",".join(rows[0]) if rows else "nothing"
        raise ReadError(f"{place}:1", expected="the header recorded,CLASS,CLASS…", found=found)
    position = {name: i for i, name in enumerate(names)}
    table = np.zeros((len(names), len(names)))
    for number, row in enumerate(rows[1:], 2):
        for name in (row[0], *rows[0][1:]):
            if name not in position:
                near = did_you_mean(name, names)
                raise ReadError(f"{place}:{number}", expected=f"one of {len(names)} classes", found=f"{name!r}{near}")
        try:
            values = [float(cell or 0) for cell in row[1:]]
        except ValueError:
            values = [-1.0]
        if len(values) != len(rows[0]) - 1 or min(values, default=0.0) < 0:
            raise ReadError(f"{place}:{number}", expected="a number from 0 up for every class", found=",".join(row))
        table[position[row[0]], [position[name] for name in rows[0][1:]]] = values
    return table


@record(eq=False)
class ClassMoves:
    """Where records may move: row `row[i]` of a ragged table is the record's, with the classes and their weights."""

    row: NDArray[np.int64]
    starts: NDArray[np.int64]
    labels: NDArray[np.int32]
    sums: Floats  # weights added up over the whole table

    def draw(self, records: NDArray[Any], chance: Floats) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Records that can move at all, and the classes they move to."""
        rows = self.row[records]
        before = np.append(0.0, self.sums)[self.starts[rows]]
        total = np.append(0.0, self.sums)[self.starts[rows + 1]] - before
        can = total > 0
        at = np.searchsorted(self.sums, before[can] + chance[can] * total[can], side="right")
        at = np.minimum(at, self.starts[rows[can] + 1] - 1)
        return records[can], self.labels[at]


def find_moves(truth: Annotations, records: NDArray[Any], table: Floats) -> ClassMoves:
    """By class; in a federated truth by record, to classes that somebody looked for in its image.

    Where a class is never confused with one it may move to, all of them are as likely.
    """
    size = len(truth.labels)
    weights = table.copy()
    np.fill_diagonal(weights, 0.0)
    if truth.verdicts is None:
        if size < 2:
            raise DataError("label: expected several classes, found one; no record can be of another")
        weights[weights.sum(axis=1) == 0] = 1.0
        np.fill_diagonal(weights, 0.0)
        labels = np.tile(np.arange(size, dtype=np.int32), size)
        starts = np.arange(size + 1, dtype=np.int64) * size
        return ClassMoves(truth.label[records].astype(np.int64), starts, labels, np.cumsum(weights))
    cells = find_verified(truth)
    image, label = np.divmod(cells, size)
    first = np.searchsorted(image, truth.image[records])
    counts = np.searchsorted(image, truth.image[records], side="right") - first
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    owner = np.repeat(np.arange(len(records)), counts)
    labels = label[np.arange(starts[-1]) - starts[owner] + first[owner]].astype(np.int32)
    own = truth.label[records][owner]
    chosen = weights[own, labels]
    lonely = np.bincount(owner, chosen, len(records))[owner] == 0
    chosen = np.where(labels == own, 0.0, np.where(lonely, 1.0, chosen))
    return ClassMoves(np.arange(len(records)), starts, labels, np.cumsum(chosen))
