"""Audit of ground-truth annotations: `audit.csv` lists those to check first, and brings the verdicts back.

A verdict is about the ground truth: `right` where it is correct, `wrong` where it is not (a spurious annotation is no
such object, a missing object exists, a box is badly placed), `unsure` or empty where it could not be decided.
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
    from verite.leaderboards.candidates import CandidatePool
    from verite.model.annotations import Annotations

COLUMNS = ("image", "label", "x", "y", "width", "height", "kind", "influence", "reason", "verdict")
VERDICTS = ("right", "wrong", "unsure", "")
AUDIT_KINDS = ("spurious", "label", "missing", "box")
SAME_BOX = 1e-6  # coordinates that differ by no more are the same


@dataclass(frozen=True)
class AuditRow:
    """One annotation to check, or one box in which an object may be missing."""

    image: str
    label: str
    x: float
    y: float
    width: float
    height: float
    kind: str  # of error: one of `AUDIT_KINDS`
    influence: float  # change of a score, or of the gap between two detectors, if the ground truth is wrong here
    reason: str
    verdict: str = ""

    @classmethod
    def of(cls, image: str, label: str, box: Any, kind: str, influence: float, reason: str) -> AuditRow:
        """Make a row from a box given as x, y, width, height."""
        x, y, width, height = (float(side) for side in box)
        return cls(image, label, x, y, width, height, kind, influence, reason)

    @property
    def location(self) -> tuple[Any, ...]:
        """Image, class, box and kind of error: what identifies a row."""
        return self.image, self.label, self.x, self.y, self.width, self.height, self.kind

    def to_dict(self) -> dict[str, Any]:
        """The row by column name."""
        return {name: getattr(self, name) for name in COLUMNS}


def audit_table(rows: Sequence[AuditRow]) -> Table:
    """Return `audit.csv` as a table."""
    return Table(COLUMNS, tuple(tuple(row.to_dict().values()) for row in rows))


def read_rows(path: str | PathLike[str]) -> list[AuditRow]:
    """Read the rows of an `audit.csv`; the columns influence and reason may be absent."""
    from verite.csv_files import read_csv

    needed = [name for name in COLUMNS if name not in ("influence", "reason")]
    rows = []
    for where, row in read_csv(path, f"the columns {','.join(COLUMNS)}", needed).records():
        verdict, kind = row["verdict"].strip().lower(), row["kind"]
        if verdict not in VERDICTS:
            raise ReadError(where, expected="right, wrong, unsure or nothing", found=excerpt(verdict))
        if kind not in AUDIT_KINDS:
            raise ReadError(where, expected=f"the kind {', '.join(AUDIT_KINDS)}", found=excerpt(kind))
        try:
            box = [float(row[side]) for side in ("x", "y", "width", "height")]
        except ValueError:
            found = excerpt(",".join(row.values()))
            raise ReadError(where, expected="four numbers of a box", found=found) from None
        made = AuditRow.of(row["image"], row["label"], box, kind, 0.0, row.get("reason", ""))
        rows.append(replace(made, verdict=verdict))
    return rows


class AuditVerdicts:
    """Audited annotations with the verdict right or wrong.

    Parameters
    ----------
    rows
        The audited rows.
    positions
        For each of them the row of the ground truth, -1 for missing objects.
    """

    def __init__(self, rows: Iterable[AuditRow] = (), positions: Sequence[int] = ()) -> None:
        self.rows, self.positions = tuple(rows), tuple(positions)

    @classmethod
    def read(cls, source: str | PathLike[str] | Sequence[AuditRow], truth: Annotations) -> AuditVerdicts:
        """Read the verdicts of an `audit.csv`, or of a leaderboard's own rows, and find their annotations.

        Raises
        ------
        DataError
            An audited annotation is not in this ground truth.
        """
        place, rows = "audit", source
        if isinstance(source, (str, PathLike)):
            place, rows = str(source), read_rows(source)
        if not isinstance(rows, Sequence) or not all(isinstance(row, AuditRow) for row in rows):
            raise BadParameter(f"audit: expected a table or a leaderboard's own rows, found {excerpt(source)}")
        decided = [row for row in rows if isinstance(row, AuditRow) and row.verdict in ("right", "wrong")]
        positions = []
        for row in decided:
            position = -1 if row.kind == "missing" else find_annotation(row, truth)
            if position is None:
                raise DataError(
                    f"{place}: expected annotations of this ground truth, found {row.label!r} at {row.x:g}, {row.y:g} "
                    f"in {row.image!r}; was another ground truth audited?"
                )
            positions.append(position)
        return cls(decided, positions)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def has_missing(self) -> bool:
        """Whether candidates for missing objects were audited."""
        return any(row.kind == "missing" for row in self.rows)

    def complete(self, errors: Detection) -> Detection:
        """Return the error model with rates from the audit where it has none, of spurious annotations and classes."""
        found: dict[str, Any] = {}
        for kind in ("spurious", "label"):
            verdicts = [row.verdict for row in self.rows if row.kind == kind]
            if verdicts and not errors.mean(kind):
                found[kind] = verdicts.count("wrong"), len(verdicts)
        return replace(errors, **found) if found else errors

    def known(self, truth: Annotations, pool: CandidatePool | None) -> dict[tuple[str, int], bool]:
        """Return by kind and position whether the ground truth is wrong.

        Positions are rows of the ground truth or, for missing objects, candidates of the pool. An annotation that is
        right has no error of any kind; one in a wrong place is an object, and of its class.
        """
        known: dict[tuple[str, int], bool] = {}
        for row, position in zip(self.rows, self.positions, strict=True):
            is_wrong = row.verdict == "wrong"
            if row.kind != "missing":
                known |= {("spurious", position): False, ("label", position): False}
                if row.kind != "box":
                    known[row.kind, position] = is_wrong
            elif pool is not None:
                known |= {("missing", i): is_wrong for i in find_candidates(row, truth, pool)}
        return known


def find_annotation(row: AuditRow, truth: Annotations) -> int | None:
    """Return the row of the ground truth with this image, class and box; None if there is none."""
    image = truth.images.find(row.image)
    mine = np.flatnonzero(truth.image == (-1 if image is None else image))
    distance = np.abs(truth.regions.sizes[mine] - [row.x, row.y, row.width, row.height]).max(axis=1, initial=0.0)
    return next(
        (int(i) for i in mine[distance <= SAME_BOX] if truth.labels.name(int(truth.label[i])) == row.label), None
    )


def find_candidates(row: AuditRow, truth: Annotations, pool: CandidatePool) -> list[int]:
    """Return the candidates of the same image and class whose box has an IoU of at least 0.5 with the audited one."""
    image = truth.images.find(row.image)
    mine = np.flatnonzero(pool.image == (-1 if image is None else image))
    mine = mine[[truth.labels.name(int(label)) == row.label for label in pool.label[mine]]] if len(mine) else mine
    boxes, box = pool.boxes[mine], np.array([row.x, row.y, row.width, row.height])
    low, high = np.maximum(boxes[:, :2], box[:2]), np.minimum(boxes[:, :2] + boxes[:, 2:], box[:2] + box[2:])
    both = np.prod(np.maximum(high - low, 0), axis=1)
    iou = both / np.maximum(np.prod(boxes[:, 2:], axis=1) + box[2] * box[3] - both, 1e-300)
    return [int(i) for i in mine[iou >= 0.5]]
