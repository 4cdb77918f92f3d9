"""What is a metric worth? Alter truths in known ways, look how its values behave, and count the properties it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import verite
from verite.errors import BadParameter, did_you_mean
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table, Verbatim
from verite.signature import Signature
from verite.studies.judging import Evidence, Tolerances, judge_distance, judge_sweep
from verite.studies.measuring import Measured, Progress, count_results, mean_query, measure_all, turns_of
from verite.studies.properties import triangle_shares
from verite.studies.property_tables import PropertyTable
from verite.studies.rows import Row, jei_rows, rows_of
from verite.studies.sweeps import Grid, Sweep, hasten, sweeps_of
from verite.studies.truths import SCALE_PAIR, SHAPE_PAIR, Truth, boxes, truths_of
from verite.studies.verdict import MOST_LIKE, Verdict, likeness, out_of, verdict
from verite.threads import thread_count

Floats = NDArray[np.float64]
MOST_SHIFTED = 24  # pixels to which couples of translations are tried for the triangle inequality
QUICK_SHIFTED = 8
QUICK = (
    "Quick: a missing tick stands, for an exception was met; so do ticks of shape and both signs of scale. Any other\n"
    "tick says that no exception was met among these results. Continuity needs every step and is left open."
)
MOST_JUDGED = 6  # metrics up to which every one gets a verdict; of more, only one's own


class Study(Display):
    """The outcome: tables of properties, the synthesis, and verdicts."""

    def __init__(self, evidence: Evidence, tolerances: Tolerances, references: Evidence | None = None) -> None:
        self.evidence, self.tolerances, self.references = evidence, tolerances, references
        self.tells_curves = False  # whether its document has every curve

    @property
    def rows(self) -> Sequence[Row]:
        return self.evidence.rows

    @property
    def truths(self) -> Sequence[Truth]:
        return self.evidence.truths

    @property
    def sweeps(self) -> Sequence[Sweep]:
        return self.evidence.sweeps

    @property
    def results(self) -> int:
        """How many altered regions were measured."""
        return count_results(self.truths, self.sweeps)

    @property
    def out_of(self) -> int:
        """The highest score there is."""
        return out_of(self.tables)

    @cached_property
    def signature(self) -> Signature:
        return Signature.of(
            "study",
            metrics=[row.metric.name for row in self.rows],
            truths=[truth.name for truth in self.truths],
            alterations=[sweep.name for sweep in self.sweeps],
            **asdict(self.tolerances),
            rev=1,
        )

    @cached_property
    def tables(self) -> dict[str, PropertyTable]:
        """The distance properties, one table an alteration, and the synthesis."""
        labels, kinds = [row.label for row in self.rows], [row.on for row in self.rows]
        found = {
            "distance": PropertyTable.of("distance", labels, kinds, judge_distance(self.evidence, self.tolerances))
        }
        for sweep in self.sweeps:
            found[sweep.name] = PropertyTable.of(
                sweep.name, labels, kinds, judge_sweep(self.evidence, sweep, self.tolerances)
            )
        scores = {name: sheet.scores for name, sheet in found.items()}
        cells = [{name: column[i] for name, column in scores.items()} for i in range(len(labels))]
        found["synthesis"] = PropertyTable(
            "synthesis", tuple(scores), tuple(labels), tuple(kinds), tuple(cells), "final"
        )
        return found

    @property
    def scores(self) -> dict[str, int]:
        """The final score of every metric."""
        return dict(zip(self.tables["synthesis"].labels, self.tables["synthesis"].scores, strict=True))

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """A verdict on one's own metrics, or on all of a few."""
        own = [i for i, row in enumerate(self.rows) if row.is_own]
        asked = own or (list(range(len(self.rows))) if len(self.rows) <= MOST_JUDGED else [])
        return [self.verdict(i) for i in asked]

    def verdict(self, row: int | str) -> Verdict:
        """What was found out about one metric, by its label or its place."""
        labels = [r.label for r in self.rows]
        if isinstance(row, str) and row not in labels:
            raise BadParameter(f"verdict: expected a metric of the study, found {row!r}{did_you_mean(row, labels)}")
        i = labels.index(row) if isinstance(row, str) else row
        return verdict(self.evidence, self.tolerances, self.tables, i, self.find_resembling(i))

    def find_resembling(self, i: int) -> list[tuple[str, float]]:
        """The known metrics whose penalties are ordered most like those of row i."""
        found: dict[str, tuple[float, float]] = {}
        mine = self.rows[i].metric.signature
        for others in (self.references, self.evidence):
            if others is None:
                continue
            ranks, values = self.alike if others is self.references else self.alike_inside
            for j, row in enumerate(others.rows):
                if row.metric.signature != mine and not row.is_own:
                    found.setdefault(row.metric.name, (float(ranks[i, j]), float(values[i, j])))
        # Of those that order results alike, the one whose values run alike.
        ordered = sorted(found.items(), key=lambda item: (-round(item[1][0], 3), -round(item[1][1], 9), item[0]))
        return [(name, alike) for name, (alike, _) in ordered[:MOST_LIKE]]

    @cached_property
    def alike(self) -> tuple[Floats, Floats]:
        assert self.references is not None
        return likeness(self.evidence, self.references)

    @cached_property
    def alike_inside(self) -> tuple[Floats, Floats]:
        return likeness(self.evidence, self.evidence)

    def with_tolerances(self, **others: Any) -> Study:
        """The same values judged by other tolerances."""
        return Study(self.evidence, tolerances_of(self.tolerances, others), self.references)

    def __str__(self) -> str:
        tables = [str(sheet) for sheet in self.tables.values()]
        return "\n\n".join([*tables, self.summary, str(self.signature), *(str(one) for one in self.verdicts)])

    @property
    def left_open(self) -> list[str]:
        """Properties that were not asked for, because a quick study has too few results."""
        return sorted({name for sweep in self.sweeps if isinstance(sweep, Grid) for name in sweep.left_open})

    @property
    def summary(self) -> str:
        found = (
            f"{self.results:,} results of {count(len(self.truths), 'truth')}, {count(len(self.rows), 'metric')}; "
            f"the highest score is {self.out_of}."
        )
        return f"{found}\n{QUICK}" if self.left_open else found

    def curves(self) -> dict[str, Any]:
        """Every penalty, less that of identical regions, by truth, alteration and metric, as the parameters run."""
        found: dict[str, Any] = {}
        for (truth, sweep), values in self.evidence.curves.items():
            by_metric = {row.label: values[i].tolist() for i, row in enumerate(self.rows)}
            found.setdefault(truth, {})[sweep] = by_metric
        return found

    def to_dict(self) -> dict[str, Any]:
        return {
            "signature": str(self.signature),
            "results": self.results,
            "left_open": self.left_open,
            "out_of": self.out_of,
            "tables": {name: sheet.to_dict() for name, sheet in self.tables.items()},
            "triangle_violations": {
                row.label: float(share) for row, share in zip(self.rows, self.evidence.triangle, strict=True)
            },
            "metrics": {row.label: str(row.metric.signature) for row in self.rows},
            "verdicts": {one.label: one.to_dict() for one in self.verdicts},
            "version": verite.__version__,
            **({"curves": self.curves()} if self.tells_curves else {}),
        }

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)

    def main_table(self) -> Table:
        return self.tables["synthesis"].main_table()

    def contents(self) -> list[Part]:
        """All tables, what they were made of, and the verdicts."""
        verdicts = [Verbatim(str(one)) for one in self.verdicts]
        return [*(one.table() for one in self.tables.values()), self.summary, self.signature, *verdicts]


def count(number: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "truth"), count(16, "truth")
    ('1 truth', '16 truths')
    """
    return f"{number:,} {noun}" + "s" * (number != 1)


def study(
    metrics: Any = "jei",
    truths: Any = "all",
    alterations: Any = "jei",
    *,
    tolerances: Tolerances | None = None,
    jobs: int | None = None,
    processes: bool = False,
    quick: bool = False,
    progress: Progress | None = None,
    **others: Any,
) -> Study:
    """Put metrics through the protocol of the comparative study.

    `metrics` are names, functions of your own (of `Pairs`, or of two masks), or "jei", the study's 38 rows; `truths`
    names, masks, image files, or "all" sixteen; `alterations` names with their reach, "jei" or "beyond". Tolerances are
    those of `Tolerances`, by name. `quick` takes a tenth of the results, and leaves open what they cannot decide;
    `processes` calls functions of your own that can be imported in `jobs` new processes (in a script, only below
    `if __name__ == "__main__":`).

    >>> import verite as vt
    >>> found = vt.study(["iou", "hen1"], "boxes", "translation(reach=4)")
    >>> found.tables["translation(reach=4)"].to_dict()["hen1"]["score"]      # it counts pixels only
    0
    """
    chosen, objects, sweeps = rows_of(metrics), truths_of(truths), sweeps_of(alterations)
    sweeps = hasten(sweeps) if quick else sweeps
    settled = tolerances_of(tolerances or Tolerances(), others)
    threads = thread_count(jobs)
    wanted = len(chosen) <= MOST_JUDGED or any(row.is_own for row in chosen)
    known = [row for row in jei_rows() if wanted]
    every = [*chosen, *known]
    measured: Measured = measure_all(every, objects, sweeps, jobs=threads, progress=progress, processes=processes)
    missing = [t for t in boxes() if t.name in (*SCALE_PAIR, *SHAPE_PAIR) and all(t.name != o.name for o in objects)]
    comparable = [sweep for sweep in sweeps if sweep.is_comparable]
    measured = {**measured, **measure_all(every, missing, comparable, jobs=threads, processes=processes)}
    mine = mean_query(measured, slice(0, len(chosen)))
    shifts = next((s.reach for s in sweeps if isinstance(s, Grid) and s.alteration == "translation"), MOST_SHIFTED)
    reach = QUICK_SHIFTED if quick else min(shifts, MOST_SHIFTED)
    shares = triangle_shares(chosen, turns_of(chosen, mine), reach=reach, jobs=threads, processes=processes)
    evidence = Evidence(chosen, objects, sweeps, mine, shares)
    if not known:
        return Study(evidence, settled)
    theirs = mean_query(measured, slice(len(chosen), None))
    return Study(evidence, settled, Evidence(known, objects, sweeps, theirs, np.zeros(len(known))))


def tolerances_of(tolerances: Tolerances, others: Mapping[str, Any]) -> Tolerances:
    """Tolerances, some of them replaced."""
    known = asdict(tolerances)
    for name, value in others.items():
        if name not in known:
            raise BadParameter(
                f"study: expected a tolerance out of {', '.join(known)}, found {name!r}{did_you_mean(name, known)}"
            )
        if isinstance(value, bool) != isinstance(known[name], bool) or not isinstance(value, (int, float)):
            raise BadParameter(f"{name}: expected a value like {known[name]}, found {value!r}")
    return replace(tolerances, **others)
