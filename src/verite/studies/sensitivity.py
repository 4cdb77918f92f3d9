"""Sensitivity of a study to its tolerances and ground truths: the cells that change under other settings.

Every tolerance is set to the other values of `OTHERS`, one at a time, and ground truths are left out; the cells are
decided again on the same measured values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verite.model.tables import Display, Part, Table
from verite.studies.judging import code
from verite.studies.study import Study

if TYPE_CHECKING:
    from verite.files import JsonObject

# Other values for each tolerance, below and above the one in use.
OTHERS: dict[str, tuple[Any, ...]] = {
    "symmetry": (1e-12, 1e-6, 1e-3),
    "zero": (0.0, 1e-9, 1e-6),
    "triangle": (0.0, 0.001, 0.01, 0.1),
    "triangle_as_separation": (True,),
    "indifferent": (0.0, 0.01, 0.1, 0.2),
    "axial": (0.0, 0.005, 0.02, 0.05),
    "monotony": (0.005, 0.02, 0.1),
    "turning": (0.0, 0.05, 0.1, 0.3, 0.4),
    "until": (30, 60, 90),
    "gap": (1 / 4, 1 / 6, 1 / 10, 1 / 16),
    "factor": (2.0, 3.0, 6.0, 8.0),
    "tie": (0.0, 1e-4, 1e-3),
    "shape": (1e-12, 1e-6, 1e-3),
    "evenness": (0.05, 0.2, 0.5),
    "quorum": (0.25, 0.75, 1.0),
}
Cells = dict[tuple[str, str, str], str]  # by table, metric and property


@dataclass(frozen=True)
class Change:
    """The cells that change under one other setting.

    Parameters
    ----------
    setting, value : str
        The tolerance (or "truths") and its other value.
    changed, gained, lost : int
        Cells that change, and ticks gained and lost among them.
    most : str
        The property that changes most, with the number of its changes.
    agreement : int, optional
        Published cells that come out.
    """

    setting: str
    value: str
    changed: int
    gained: int
    lost: int
    most: str
    agreement: int | None = None


class Sensitivity(Display):
    """The changes under every other setting."""

    def __init__(self, changes: list[Change], cells: int) -> None:
        self.changes, self.cells = changes, cells

    @property
    def table(self) -> Table:
        """The changes as a table."""
        columns: dict[str, list[Any]] = {
            "value": [c.value for c in self.changes],
            "cells changed": [c.changed for c in self.changes],
            "ticks gained": [c.gained for c in self.changes],
            "lost": [c.lost for c in self.changes],
            "mostly": [c.most for c in self.changes],
        }
        if any(c.agreement is not None for c in self.changes):
            columns["published cells"] = [c.agreement for c in self.changes]
        return Table.of("setting", [c.setting for c in self.changes], columns)

    def contents(self) -> list[Part]:
        return [f"Sensitivity: changes of the {self.cells:,} cells under other settings", self.table]

    def to_dict(self) -> list[JsonObject]:
        """Return the changes for the JSON document."""
        return [vars(change) for change in self.changes]


def cells_of(study: Study) -> Cells:
    """Return every cell of the property tables."""
    return {
        (name, label, column): code(row[column])
        for name, sheet in study.tables.items()
        if name != "synthesis"
        for label, row in zip(sheet.labels, sheet.cells, strict=True)
        for column in sheet.columns
    }


def sensitivity(study: Study, agreement: Callable[[Study], int] | None = None) -> Sensitivity:
    """Decide the cells of a study again under other tolerances and ground truths, one setting at a time.

    Parameters
    ----------
    study : Study
        The study; nothing is measured again.
    agreement : callable, optional
        Counts the published cells that a study reproduces.

    Returns
    -------
    Sensitivity
        One row per setting: cells that change, ticks gained and lost, and the property that changes most.
    """
    base = cells_of(study)

    def change(setting: str, value: str, other: Study) -> Change:
        found = cells_of(other)
        keys = [key for key, cell in base.items() if found[key] != cell]
        by_property: dict[str, int] = {}
        for _, _, column in keys:
            by_property[column] = by_property.get(column, 0) + 1
        most = max(by_property, key=lambda name: (by_property[name], name), default="")
        return Change(
            setting,
            value,
            len(keys),
            sum(is_tick(found[key]) and not is_tick(base[key]) for key in keys),
            sum(is_tick(base[key]) and not is_tick(found[key]) for key in keys),
            f"{most} {by_property[most]}" if most else "",
            agreement(other) if agreement else None,
        )

    changes = [change("as it is", "", study)]
    in_use = vars(study.tolerances)
    columns = {column for _, _, column in base}
    for name, values in OTHERS.items():
        if name == "evenness" and "evenness" not in columns:
            continue
        changes += [
            change(name, format_tolerance(v), study.with_tolerances(**{name: v})) for v in values if v != in_use[name]
        ]
    groups = {f"{kind} only": [t for t in study.truths if t.kind == kind] for kind in ("box", "silhouette", "own")}
    groups |= {f"without {truth.name}": [t for t in study.truths if t is not truth] for truth in study.truths}
    for label, chosen in groups.items():
        if chosen and len(chosen) < len(study.truths):
            changes.append(change("truths", label, Study(study.evidence.with_truths(chosen), study.tolerances)))
    return Sensitivity(changes, len(base))


def is_tick(cell: str) -> bool:
    """Whether a cell says that the property holds."""
    return cell in ("1", "+", "-")


def format_tolerance(value: Any) -> str:
    """Format a tolerance.

    >>> format_tolerance(0.125), format_tolerance(1e-6), format_tolerance(True)
    ('0.125', '1e-06', 'yes')
    """
    return "yes" if value is True else "no" if value is False else f"{value:g}"
