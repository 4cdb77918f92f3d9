"""Which records should a person check, and what did they say? `audit.csv`, there and back.

A verdict is about the truth: `right` where it is as it should be, `wrong` where it is not (a spurious record is no such
object; a missing one is an object; a box lies badly), `unsure` or nothing where nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.errors import BadParameter, DataError, ReadError, excerpt
from verite.model.tables import Table

if TYPE_CHECKING:
    from verite.annotation_errors.detection import Detection
    from verite.leaderboards.simulation import Pool
    from verite.model.annotations import Annotations

COLUMNS = ("image", "label", "x", "y", "width", "height", "kind", "influence", "reason", "verdict")
VERDICTS = ("right", "wrong", "unsure", "")
KINDS = ("spurious", "label", "missing", "box")
NEAR = 1e-6  # coordinates that differ by less are the same


@dataclass(frozen=True)
class AuditRow:
    """One record, or one place without a record, to be checked."""

    image: str
    label: str
    x: float
    y: float
    width: float
    height: float
    kind: str
    influence: float
    reason: str
    verdict: str = ""

    @classmethod
    def of(cls, image: str, label: str, box: Any, kind: str, influence: float, reason: str) -> AuditRow:
        x, y, width, height = (float(side) for side in box)
        return cls(image, label, x, y, width, height, kind, influence, reason)

    @property
    def place(self) -> tuple[Any, ...]:
        return self.image, self.label, self.x, self.y, self.width, self.height, self.kind

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in COLUMNS}


def audit_table(rows: Sequence[AuditRow]) -> Table:
    return Table(COLUMNS, tuple(tuple(getattr(row, name) for name in COLUMNS) for row in rows))


class AuditVerdicts:
    """What somebody said about records."""

    def __init__(self, rows: Iterable[AuditRow] = (), positions: Sequence[int] = ()) -> None:
        """`positions` are rows of the truth, -1 for missing objects."""
        self.rows, self.positions = tuple(rows), tuple(positions)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def has_missing(self) -> bool:
        """Whether somebody found an object that is not recorded, or looked for one."""
        return any(row.kind == "missing" for row in self.rows)

    def complete(self, errors: Detection) -> Detection:
        """Rates of spurious records and wrong classes that nobody gave, from what was checked."""
        found: dict[str, Any] = {}
        for kind in ("spurious", "label"):
            said = [row.verdict for row in self.rows if row.kind == kind]
            if said and not errors.mean(kind):
                found[kind] = said.count("wrong"), len(said)
        return replace(errors, **found) if found else errors

    def known(self, truth: Annotations, pool: Pool | None) -> dict[tuple[str, int], bool]:
        """By kind and position whether the truth is wrong; a record that is right is right in every way."""
        known: dict[tuple[str, int], bool] = {}
        for row, position in zip(self.rows, self.positions, strict=True):
            is_wrong = row.verdict == "wrong"
            if row.kind != "missing":
                known |= {("spurious", position): False, ("label", position): False}
                if row.kind != "box":  # an object in the wrong place is one, and of its class
                    known[row.kind, position] = is_wrong
            elif pool is not None:
                known |= {("missing", i): is_wrong for i in find_candidates(row, truth, pool)}
        return known


def read_verdicts(source: str | PathLike[str] | Sequence[AuditRow], truth: Annotations) -> AuditVerdicts:
    """The rows of a table, or of a leaderboard's own list, that have a verdict."""
    place = str(source) if isinstance(source, (str, PathLike)) else "audit"
    if not isinstance(source, (str, PathLike, Sequence)) or not all(hasattr(row, "verdict") for row in (
        () if isinstance(source, (str, PathLike)) else source)):  # fmt: skip
        raise BadParameter(f"audit: expected a table or a leaderboard's own rows, found {excerpt(source)}")
    rows = read_rows(source) if isinstance(source, (str, PathLike)) else list(source)
    said = [row for row in rows if row.verdict in ("right", "wrong")]
    positions = [find_record(row, truth, place) if row.kind != "missing" else -1 for row in said]
    return AuditVerdicts(said, positions)


def read_rows(path: str | PathLike[str]) -> list[AuditRow]:
    """The rows of an `audit.csv`."""
    from verite.csv_files import read_csv

    needed = [name for name in COLUMNS if name not in ("influence", "reason")]
    rows = []
    for where, row in read_csv(path, f"the columns {','.join(COLUMNS)}", needed).records():
        verdict, kind = row["verdict"].strip().lower(), row["kind"]
        if verdict not in VERDICTS:
            raise ReadError(where, expected="right, wrong, unsure or nothing", found=excerpt(verdict))
        if kind not in KINDS:
            raise ReadError(where, expected=f"the kind {', '.join(KINDS)}", found=excerpt(kind))
        try:
            box = [float(row[side]) for side in ("x", "y", "width", "height")]
        except ValueError:
            found = excerpt(",".join(row.values()))
            raise ReadError(where, expected="four numbers of a box", found=found) from None
        made = AuditRow.of(row["image"], row["label"], box, kind, 0.0, row.get("reason", ""))
        rows.append(replace(made, verdict=verdict))
    return rows


def find_record(row: AuditRow, truth: Annotations, place: str) -> int:
    """The row of the truth that is meant."""
    image = truth.images.find(row.image)
    mine = np.flatnonzero(truth.image == (-1 if image is None else image))
    near = np.abs(truth.regions.sizes[mine] - [row.x, row.y, row.width, row.height]).max(axis=1, initial=0.0) <= NEAR
    for at in mine[near]:
        if truth.labels.name(int(truth.label[at])) == row.label:
            return int(at)
    raise DataError(
        f"{place}: expected records of this truth, found {row.label!r} at {row.x:g}, {row.y:g} in {row.image!r}; "
        "is it the truth that was checked?"
    )


def find_candidates(row: AuditRow, truth: Annotations, pool: Pool) -> list[int]:
    """The candidates that are meant: those of the same class that overlap the box by half."""
    image = truth.images.find(row.image)
    mine = np.flatnonzero(pool.image == (-1 if image is None else image))
    mine = mine[[truth.labels.name(int(label)) == row.label for label in pool.label[mine]]] if len(mine) else mine
    boxes, box = pool.boxes[mine], np.array([row.x, row.y, row.width, row.height])
    low, high = np.maximum(boxes[:, :2], box[:2]), np.minimum(boxes[:, :2] + boxes[:, 2:], box[:2] + box[2:])
    both = np.prod(np.maximum(high - low, 0), axis=1)
    overlap = both / np.maximum(np.prod(boxes[:, 2:], axis=1) + box[2] * box[3] - both, 1e-300)
    return [int(at) for at in mine[overlap >= 0.5]]
