"""Reproduction of tables 3 to 8 of the study of 2010: formulas as printed, as best read, and as probably run.

Hemery, Laurent, Emile, Rosenberger, Comparative study of localization metrics for the evaluation of image
interpretation systems, Journal of Electronic Imaging 19(2), 2010. 38 metrics are measured on 118,080 altered ground
truths once; the three columns and every flipped convention are decided on the same values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.metrics.catalogue import metric
from verite.model.tables import Table
from verite.reproductions.comparison import (
    JEI_TABLES,
    WIDTH,
    Counts,
    Reproduction,
    TableComparison,
    count_agreement,
    jei_scores,
    jei_table,
)
from verite.reproductions.conventions import (
    CONVENTIONS,
    LARGER,
    PER_OBJECT,
    Convention,
    Flip,
    Place,
    Reading,
    choose_flips,
    flip,
    judge,
)
from verite.reproductions.statements import Limits, Statement, jei_statements
from verite.studies.judging import code
from verite.studies.measuring import Progress
from verite.studies.rows import JEI, JEI_PRINTED, SWITCHES, Row
from verite.studies.study import Study, study
from verite.studies.verdict import standardise_ranks

if TYPE_CHECKING:
    from verite.files import JsonObject

CAVEAT = (
    "Sizes of truths and tolerances are not printed in the paper; they were chosen on these very tables, so that the "
    "agreement is no test of them. The same holds for readings and conventions."
)
# The columns of the comparison, by the name JSON gives them.
COLUMNS = {"printed": "as printed", "best": "best reading", "inferred": "as probably run"}
ADVISED = ("MARgce", "MARlce", "VIN", "PAS")  # recommended for masks in the paper's conclusion
MARTIN: dict[str, Reading] = {
    "printed, by the region of each pixel": {},
    "printed, per object": PER_OBJECT,
    "the larger error": LARGER,
}


class JeiReproduction(Reproduction):
    """Tables 3 to 8 of the comparative study of 2010; `outcome` is the study of the best reading.

    Parameters
    ----------
    columns : Mapping of Study
        The study of each reading, by the keys of `COLUMNS`.
    flips : Sequence of Flip
        The conventions that were flipped one by one.
    martin : Mapping
        Final scores by metric, for each reading of Martin's measures.
    """

    def __init__(
        self, columns: Mapping[str, Study], flips: Sequence[Flip], martin: Mapping[str, Mapping[str, int]]
    ) -> None:
        self.columns, self.martin = columns, martin
        super().__init__("jei", compare_tables(columns["best"]), columns["best"], flips)

    def find_statements(self, limits: Limits) -> list[Statement]:
        """Return the statements of sections 3.3 and 4.1 to 5 of the paper."""
        return jei_statements(self.outcome, limits)

    @property
    def inferred(self) -> list[Flip]:
        """The conventions of the third column."""
        return choose_flips(self.flips)

    def agreement_of(self, column: str) -> Counts:
        """Return the agreement of one column."""
        return count_agreement(compare_tables(self.columns[column]))

    @property
    def off(self) -> dict[str, int]:
        """Difference of each final score from the published one."""
        printed = jei_scores()
        return {label: score - printed[label] for label, score in self.outcome.scores.items()}

    @property
    def spearman(self) -> float:
        """Rank correlation of the final scores with the published ones."""
        printed = jei_scores()
        scores = self.outcome.scores
        ranks = standardise_ranks(np.array([list(scores.values()), [printed[label] for label in scores]], dtype=float))
        return float((ranks[0] * ranks[1]).mean())

    def remarks(self) -> list[str]:
        """Return how near the final scores are, and the caveat."""
        off = self.off
        near = sum(abs(difference) <= 2 for difference in off.values())
        return [
            f"Final scores: {near} of {len(off)} within ±2 of table 8, the farthest {max(map(abs, off.values()))} off; "
            f"rank correlation (Spearman) {self.spearman:.3f}.",
            CAVEAT,
        ]

    def score_table(self) -> Table:
        """Return table 8: final scores in every column beside the published ones."""
        printed, labels = jei_scores(), list(self.outcome.scores)
        columns: dict[str, list[Any]] = {
            title: [self.columns[key].scores[label] for label in labels] for key, title in COLUMNS.items()
        }
        return Table.of("metric", labels, columns | {"published": [printed[label] for label in labels]})

    def total_table(self) -> Table:
        """Return the agreement of every column, by table."""
        counts = {title: self.agreement_of(key) for key, title in COLUMNS.items()}
        cells = [cells for _, cells in self.agreement.values()]
        columns: dict[str, list[Any]] = {title: [a for a, _ in found.values()] for title, found in counts.items()}
        return Table.of("table", list(self.agreement), columns | {"cells": cells})

    def row_table(self) -> Table:
        """Return the number of agreeing cells of the metrics on which the columns differ."""
        cells = {label: sum(len(jei_table(table)[label]) for table in JEI_TABLES) for label in self.outcome.scores}
        found: dict[str, dict[str, int]] = {}
        for key in COLUMNS:
            mismatches = [d.metric for one in compare_tables(self.columns[key]) for d in one.differences]
            found[key] = {label: number - mismatches.count(label) for label, number in cells.items()}
        labels = [label for label in self.outcome.scores if len({found[key][label] for key in COLUMNS}) > 1]
        columns: dict[str, list[Any]] = {COLUMNS[key]: [found[key][label] for label in labels] for key in COLUMNS}
        return Table.of("metric", labels, columns | {"cells": [cells[label] for label in labels]})

    def advice_table(self) -> Table:
        """Return the final scores of the metrics the paper advises, by the reading of Martin's measure."""
        scores = {**self.martin, "as probably run": self.columns["inferred"].scores, "published": jei_scores()}
        columns: dict[str, list[Any]] = {label: [found[label] for found in scores.values()] for label in ADVISED}
        highest = [
            ", ".join(label for label in found if found[label] == max(found.values())) for found in scores.values()
        ]
        return Table.of("Martin's measure", list(scores), columns | {"highest": highest})

    def switches(self) -> str:
        """List what the second and the third column change, and why."""
        lines = ["The best reading switches"]
        for switch in SWITCHES:
            lines += wrap(str(switch), WIDTH, initial_indent="  ", subsequent_indent="    ")
        lines.append("As it was probably run, which is inference from these tables alone, also switches")
        for one in self.inferred:
            lines += wrap(f"{one.convention} ({one.cost})", WIDTH, initial_indent="  ", subsequent_indent="    ")
        return "\n".join(lines)

    def __str__(self) -> str:
        parts = [
            f"{self.outcome.results:,} results",
            f"Published cells that come out\n\n{self.total_table()}",
            f"Rows on which the columns differ: cells that come out\n\n{self.row_table()}",
            self.switches(),
            f"T8: final scores out of {self.outcome.out_of}\n\n{self.score_table()}",
            f"Recommendation: final scores of the metrics the paper advises\n\n{self.advice_table()}",
            "Below, the best reading.",
            super().__str__(),
        ]
        return "\n\n".join(parts)

    def to_markdown(self) -> str:
        """Return the comparison as Markdown."""
        text = "\n\n".join(str(part) for part in (self.total_table(), self.row_table(), self.switches()))
        return f"```text\n{text}\n```\n\n{super().to_markdown()}"

    def to_dict(self) -> JsonObject:
        """Return the JSON document."""
        found = super().to_dict()
        found["agreement"] |= {key: self.agreement_of(key) for key in ("printed", "inferred")}
        return found | {
            "switches": [{"metrics": one.rows, "what": one.what, "why": one.why} for one in SWITCHES],
            "inferred": [one.to_dict() for one in self.inferred],
            "final_scores": {label: [score, jei_scores()[label]] for label, score in self.outcome.scores.items()},
            "final_scores_by_column": {key: self.columns[key].scores for key in COLUMNS},
            "advice": {name: {label: scores[label] for label in ADVISED} for name, scores in self.martin.items()},
            "within_2": [sum(abs(d) <= 2 for d in self.off.values()), len(self.off)],
            "spearman": self.spearman,
            "results": self.outcome.results,
            **{key: value for key, value in self.outcome.to_dict().items() if key in ("tables", "curves")},
            "caveat": CAVEAT,
        }


def compare_tables(outcome: Study) -> list[TableComparison]:
    """Compare the tables of a study with the published ones."""
    return [TableComparison(table, outcome.tables[name], jei_table(table)) for table, name in JEI_TABLES.items()]


def cells_of(outcome: Study) -> dict[Place, str]:
    """Return every cell by the paper's number of its table."""
    return {
        (table, label, column): code(row[column])
        for table, name in JEI_TABLES.items()
        for label, row in zip(outcome.tables[name].labels, outcome.tables[name].cells, strict=True)
        for column in outcome.tables[name].columns
    }


def read_formulas(reading: Mapping[str, str]) -> Reading:
    """Return the metric of each label."""
    return {label: metric(name) for label, name in reading.items()}


def reproduce_jei(
    *, jobs: int | None = None, progress: Progress | None = None, conventions: Sequence[Convention] = CONVENTIONS
) -> JeiReproduction:
    """Reproduce the study of 2010: 118,080 results measured by its 38 rows, read in three ways.

    Parameters
    ----------
    jobs : int, optional
        Number of threads. Default: one per core.
    progress : callable, optional
        Called with the number of results that were measured.
    conventions : Sequence of Convention
        Conventions to flip one by one. Default: `CONVENTIONS`.

    Returns
    -------
    JeiReproduction
    """
    printed, best = read_formulas(JEI_PRINTED), read_formulas(JEI)
    readings = [best, printed, *(one.rows for one in conventions)]
    labels = {metric: label for reading in readings for label, metric in reading.items()}
    rows = [Row(f"{label}: {metric.name}", metric, is_penalty=True) for metric, label in labels.items()]
    whole = study(rows, jobs=jobs, progress=progress)
    base = judge(whole, best)
    before = cells_of(base)
    published: dict[Place, str] = {
        (table, label, column): cell
        for table in JEI_TABLES
        for label, row in jei_table(table).items()
        for column, cell in row.items()
    }
    flips = []
    for one in conventions:
        after = before | {
            place: cell for part in flip(whole, base, best, one) for place, cell in cells_of(part).items()
        }
        flips.append(Flip.of(one.name, before, after, published))
    taken = {one.convention for one in choose_flips(flips)}
    inferred = judge(whole, best, *(one for one in conventions if one.name in taken))
    columns = {"printed": judge(whole, printed), "best": base, "inferred": inferred}
    martin = {name: base.scores | (judge(whole, rows).scores if rows else {}) for name, rows in MARTIN.items()}
    return JeiReproduction(columns, flips, martin)
