"""Do the published tables come out? Ours beside theirs, every differing cell marked and explained, and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

import verite
from verite.model.results import to_json
from verite.model.tables import Table
from verite.studies.judging import Evidence
from verite.studies.measuring import Progress
from verite.studies.property_tables import TICK, PropertyTable, code, markdown_row
from verite.studies.published import GRETSI_TABLES, JEI_TABLES, jei_scores, jei_table, reason
from verite.studies.rows import JEI, JEI_SWITCHED, Row, jei_rows
from verite.studies.study import Study, part_of, study
from verite.studies.verdict import standardise_ranks

Counts = dict[str, list[int]]  # agreeing cells and all cells of a table
WIDTH = 110
CAVEAT = (
    "Sizes of truths and tolerances are not printed in the paper; they were chosen on these very tables, so that the "
    "agreement is no test of them."
)


@dataclass(frozen=True)
class Difference:
    """A cell that does not come out as it was published."""

    table: str
    metric: str
    column: str
    ours: str
    published: str
    reason: str

    def __str__(self) -> str:
        ours, theirs = (face(cell, self.table).replace("·", "blank") for cell in (self.ours, self.published))
        return f"{self.table} {self.metric}, {self.column}: {ours} here, {theirs} published"


def face(cell: str, table: str) -> str:
    """A cell of a file as it is shown; the table of 2009 has stars.

    >>> face("1", "T4"), face("0", "T4"), face("+", "T4"), face("2", "T2")
    ('✓', '·', '✓+', '★★')
    """
    if table in GRETSI_TABLES:
        return "★" * int(cell)
    return {"1": TICK, "0": "·"}.get(cell, TICK + cell)


@dataclass(frozen=True)
class Comparison:
    """One table of ours beside a published one."""

    table: str  # the paper's number
    sheet: PropertyTable
    published: Mapping[str, Mapping[str, str]]

    @cached_property
    def differences(self) -> list[Difference]:
        found = []
        for label, row in zip(self.sheet.labels, self.sheet.cells, strict=True):
            for column in self.sheet.columns:
                ours, theirs = code(row[column]), self.published[label][column]
                if ours != theirs:
                    found.append(Difference(self.table, label, column, ours, theirs, reason(self.table, label, column)))
        return found

    @property
    def agreement(self) -> list[int]:
        cells = len(self.sheet.labels) * len(self.sheet.columns)
        return [cells - len(self.differences), cells]

    def beside(self) -> Table:
        """Our cells, then theirs; ours carry ≠ where they differ."""
        columns = self.sheet.columns
        differing = {(d.metric, d.column) for d in self.differences}
        rows = []
        for label, row in zip(self.sheet.labels, self.sheet.cells, strict=True):
            mine = [face(code(row[c]), self.table) + ("≠" if (label, c) in differing else "") for c in columns]
            rows.append((label, *mine, "│", *(face(self.published[label][c], self.table) for c in columns)))
        return Table(("metric", *columns, "│", *columns), tuple(rows))

    def __str__(self) -> str:
        agreed, cells = self.agreement
        title = (
            f"{self.table}: {self.sheet.title} here (left) and as published (right), {agreed} of {cells} cells agree"
        )
        return f"{title}\n\n{self.beside()}"

    def to_markdown(self) -> str:
        table = self.beside()
        lines = [
            markdown_row(table.head),
            markdown_row(["---"] * len(table.head)),
            *(markdown_row(row) for row in table.rows),
        ]
        agreed, cells = self.agreement
        return "\n".join([f"### {self.table}: {agreed} of {cells} cells agree", "", *lines, ""])


class Reproduction:
    """A paper's tables made anew."""

    def __init__(self, paper: str, comparisons: Sequence[Comparison], outcome: Any) -> None:
        self.paper, self.comparisons, self.outcome = paper, comparisons, outcome

    @property
    def agreement(self) -> Counts:
        """Agreeing cells and all cells, table by table and in all."""
        return count_agreement(self.comparisons)

    @property
    def differences(self) -> list[Difference]:
        return [difference for one in self.comparisons for difference in one.differences]

    @property
    def headline(self) -> str:
        counts = self.agreement
        tables = ", ".join(f"{name} {a}/{n}" for name, (a, n) in counts.items() if name != "all")
        a, n = counts["all"]
        return f"{a} of {n} published cells come out ({100 * a / n:.1f} %): {tables}."

    def remarks(self) -> list[str]:
        return []

    def __str__(self) -> str:
        parts = [str(one) for one in self.comparisons]
        parts += [self.explain(), self.headline + "\n" + "\n".join(wrap_lines(self.remarks()))]
        return "\n\n".join([*parts, str(self.outcome.signature)])

    __repr__ = __str__

    def explain(self) -> str:
        """Every differing cell with its reason, cells of one reason together."""
        by_reason: dict[str, list[Difference]] = {}
        for difference in self.differences:
            by_reason.setdefault(difference.reason, []).append(difference)
        lines = [f"Cells that differ, {len(self.differences)}, and why"]
        for why, cells in by_reason.items():
            lines += ["", *wrap(f"{why} ({len(cells)}):", WIDTH), *(f"  {cell}" for cell in cells)]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {
            "reproduces": self.paper,
            "signature": str(self.outcome.signature),
            "agreement": self.agreement,
            "differences": [vars(difference) for difference in self.differences],
            "version": verite.__version__,
        }

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)

    def to_csv(self, table: str = "") -> str:
        """The cells that differ."""
        head = ("table", "metric", "property", "ours", "published", "reason")
        rows = [(d.table, d.metric, d.column, d.ours, d.published, d.reason) for d in self.differences]
        return Table(head, tuple(rows)).to_csv()

    def to_markdown(self) -> str:
        reasons = [f"- {difference}: {difference.reason}" for difference in self.differences]
        parts = [one.to_markdown() for one in self.comparisons]
        return "\n".join(
            [*parts, self.headline, "", *reasons, "", *self.remarks(), "", f"`{self.outcome.signature}`\n"]
        )

    def to_latex(self) -> str:
        return "\n".join(one.sheet.to_latex() for one in self.comparisons)


def count_agreement(comparisons: Sequence[Comparison]) -> Counts:
    counts = {one.table: one.agreement for one in comparisons}
    return {**counts, "all": [sum(column) for column in zip(*counts.values(), strict=True)]}


def wrap_lines(remarks: Sequence[str]) -> list[str]:
    return [line for remark in remarks for line in wrap(remark, WIDTH)]


class JeiReproduction(Reproduction):
    """Tables 3 to 8 of the comparative study of 2010."""

    def __init__(self, outcome: Study, switched: Study) -> None:
        super().__init__("jei", compare_tables(outcome), outcome)
        self.switched = switched

    @property
    def agreement_as_run(self) -> Counts:
        """The same with what the published cells show to have been computed."""
        return count_agreement(compare_tables(self.switched))

    @property
    def off(self) -> dict[str, int]:
        """How far each final score lies from the printed one."""
        printed = jei_scores()
        return {label: score - printed[label] for label, score in self.outcome.scores.items()}

    @property
    def spearman(self) -> float:
        """Rank correlation of our final scores with the printed ones."""
        printed = jei_scores()
        scores = self.outcome.scores
        ranks = standardise_ranks(np.array([list(scores.values()), [printed[label] for label in scores]], dtype=float))
        return float((ranks[0] * ranks[1]).mean())

    def remarks(self) -> list[str]:
        off = self.off
        near = sum(abs(difference) <= 2 for difference in off.values())
        a, n = self.agreement_as_run["all"]
        return [
            f"Final scores: {near} of {len(off)} within ±2 of table 8, the farthest {max(map(abs, off.values()))} off; "
            f"rank correlation (Spearman) {self.spearman:.3f}.",
            f"With what the published cells show to have been computed (MAR with the larger error, ROBcom with the "
            f"contour's length, the triangle inequality credited to whoever separates) {a} of {n} cells agree.",
            CAVEAT,
        ]

    def __str__(self) -> str:
        synthesis = self.outcome.tables["synthesis"]
        printed, off = jei_scores(), self.off
        scores = {"here": synthesis.scores, "published": [printed[label] for label in synthesis.labels],
                  "difference": [f"{off[label]:+d}" if off[label] else "" for label in synthesis.labels]}  # fmt: skip
        table = Table.of("metric", synthesis.labels, scores)
        return f"{self.outcome.results:,} results\n\nT8: final scores out of {self.outcome.out_of}\n\n{table}\n\n" + (
            super().__str__()
        )

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict()
        return found | {
            "agreement_as_run": self.agreement_as_run,
            "final_scores": {label: [score, jei_scores()[label]] for label, score in self.outcome.scores.items()},
            "within_2": [sum(abs(d) <= 2 for d in self.off.values()), len(self.off)],
            "spearman": self.spearman,
            "results": self.outcome.results,
            "tables": self.outcome.to_dict()["tables"],
            "caveat": CAVEAT,
        }


def compare_tables(outcome: Study) -> list[Comparison]:
    return [Comparison(table, outcome.tables[name], jei_table(table)) for table, name in JEI_TABLES.items()]


def reproduce_jei(*, jobs: int | None = None, progress: Progress | None = None) -> JeiReproduction:
    """The 118,080 results of 2010 measured by its 38 rows, and by the three that differ as they were run."""
    rows, switched = jei_rows(), jei_rows(switched=True)
    changed = [row for row in switched if JEI[row.label] != JEI_SWITCHED[row.label]]
    whole = study(
        [*rows, *(replace(row, label=f"{row.label} as run") for row in changed)], jobs=jobs, progress=progress
    )
    # Where each row of either reading is among all that were measured.
    places = {row.label: len(rows) + i for i, row in enumerate(changed)}
    plain = np.arange(len(rows))
    other = np.array([places.get(row.label, i) for i, row in enumerate(rows)])
    outcome = Study(choose_rows(whole.evidence, rows, plain), whole.tolerances)
    as_run = Study(choose_rows(whole.evidence, switched, other), whole.tolerances)
    return JeiReproduction(outcome, as_run.with_tolerances(triangle_as_separation=True))


def choose_rows(evidence: Evidence, rows: Sequence[Row], places: NDArray[np.int64]) -> Evidence:
    """The evidence on some rows."""
    measured = part_of(evidence.measured, places)
    return Evidence(rows, evidence.truths, evidence.sweeps, measured, evidence.triangle[places])
