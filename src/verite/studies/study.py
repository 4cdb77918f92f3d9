"""Study of localization metrics: properties of a metric under controlled alterations of known ground truths.

Ground truths are translated, scaled, rotated and put into perspective; a metric gets a point for each property that its
values show (Hemery, Laurent, Emile, Rosenberger, Journal of Electronic Imaging 2010).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite import __version__
from verite.errors import BadParameter, did_you_mean
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table, Verbatim
from verite.signature import Signature
from verite.studies.judging import Evidence, PropertyTable, Tolerances
from verite.studies.measuring import Measured, Progress, count_results, measure_all, penalty_rules_of, select_rows
from verite.studies.properties import triangle_shares
from verite.studies.rows import Row, jei_rows, rows_of
from verite.studies.sweeps import Grid, Sweep, coarsen, sweeps_of
from verite.studies.truths import SCALE_PAIR, SHAPE_PAIR, Truth, boxes, truths_of
from verite.studies.verdict import MOST_LIKE, Verdict, likeness, out_of, verdict
from verite.threads import thread_count

if TYPE_CHECKING:
    from verite.files import JsonObject

Floats = NDArray[np.float64]
MOST_SHIFTED = 24  # largest translation, in pixels, of the pairs tried for the triangle inequality
QUICK_SHIFTED = 8
QUICK = (
    "Quick: a missing tick is final, because an exception was found; so are ticks of shape and both signs of scale.\n"
    "Any other tick means that none was found among these results. Continuity needs every step and is left open."
)
MOST_JUDGED = 6  # up to so many metrics each gets a verdict; of more, only the user's own


class Study(Display):
    """The result of :func:`verite.study`: tables of properties, final scores, and verdicts.

    Parameters
    ----------
    evidence : Evidence
        The measured values of all metrics.
    tolerances : Tolerances
        The tolerances of the properties.
    references : Evidence, optional
        The values of the known metrics, to find those that a metric resembles.

    Examples
    --------
    >>> import verite as vt
    >>> found = vt.study("hen1", "boxes", "translation(reach=4)")
    >>> found.verdict("hen1").ignores[0]
    'translation(reach=4)'
    """

    def __init__(self, evidence: Evidence, tolerances: Tolerances, references: Evidence | None = None) -> None:
        self.evidence, self.tolerances, self.references = evidence, tolerances, references
        self.include_curves = False  # whether the JSON document has every curve

    @property
    def rows(self) -> Sequence[Row]:
        """The metrics with their labels."""
        return self.evidence.rows

    @property
    def truths(self) -> Sequence[Truth]:
        """The ground truths that were altered."""
        return self.evidence.truths

    @property
    def sweeps(self) -> Sequence[Sweep]:
        """The alterations with their parameters."""
        return self.evidence.sweeps

    @property
    def results(self) -> int:
        """Number of altered regions."""
        return count_results(self.truths, self.sweeps)

    @property
    def out_of(self) -> int:
        """The highest possible score."""
        return out_of(self.tables)

    @cached_property
    def signature(self) -> Signature:
        """Metrics, ground truths, alterations and tolerances."""
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
        """Tables by name: the distance properties, one per alteration, and the synthesis with the final scores."""
        labels, kinds = [row.label for row in self.rows], [row.on for row in self.rows]
        found = {"distance": PropertyTable.of("distance", labels, kinds, self.evidence.judge_distance(self.tolerances))}
        for sweep in self.sweeps:
            found[sweep.name] = PropertyTable.of(
                sweep.name, labels, kinds, self.evidence.judge_sweep(sweep, self.tolerances)
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
        """Verdicts on the user's own metrics, or on all where there are few."""
        own = [i for i, row in enumerate(self.rows) if row.is_own]
        asked = own or (list(range(len(self.rows))) if len(self.rows) <= MOST_JUDGED else [])
        return [self.verdict(i) for i in asked]

    def verdict(self, row: int | str) -> Verdict:
        """Return the verdict on one metric, by its label or its position."""
        labels = [r.label for r in self.rows]
        if isinstance(row, str) and row not in labels:
            raise BadParameter(f"verdict: expected a metric of the study, found {row!r}{did_you_mean(row, labels)}")
        i = labels.index(row) if isinstance(row, str) else row
        return verdict(self.evidence, self.tolerances, self.tables, i, self.find_resembling(i))

    def find_resembling(self, i: int) -> list[tuple[str, float]]:
        """Return the known metrics whose penalties have the highest rank correlation with those of row i."""
        found: dict[str, tuple[float, float]] = {}
        mine = self.rows[i].metric.signature
        for others in (self.references, self.evidence):
            if others is None:
                continue
            ranks, values = self.alike if others is self.references else self.alike_inside
            for j, row in enumerate(others.rows):
                if row.metric.signature != mine and not row.is_own:
                    found.setdefault(row.metric.name, (float(ranks[i, j]), float(values[i, j])))
        # Of metrics with equal rank correlation, the one with the higher correlation of values.
        ordered = sorted(found.items(), key=lambda item: (-round(item[1][0], 3), -round(item[1][1], 9), item[0]))
        return [(name, alike) for name, (alike, _) in ordered[:MOST_LIKE]]

    @cached_property
    def alike(self) -> tuple[Floats, Floats]:
        """Correlations of ranks and of values with the known metrics, [row, reference]."""
        assert self.references is not None
        return likeness(self.evidence, self.references)

    @cached_property
    def alike_inside(self) -> tuple[Floats, Floats]:
        """Correlations of ranks and of values between the metrics of the study, [row, row]."""
        return likeness(self.evidence, self.evidence)

    def with_tolerances(self, **others: Any) -> Study:
        """Return the study of the same values with other tolerances, by name."""
        return Study(self.evidence, tolerances_of(self.tolerances, others), self.references)

    def __str__(self) -> str:
        tables = [str(sheet) for sheet in self.tables.values()]
        return "\n\n".join([*tables, self.summary, str(self.signature), *(str(one) for one in self.verdicts)])

    @property
    def left_open(self) -> list[str]:
        """Properties that a quick study has too few results to decide."""
        return sorted({name for sweep in self.sweeps if isinstance(sweep, Grid) for name in sweep.left_open})

    @property
    def summary(self) -> str:
        """Numbers of results, ground truths and metrics, and the highest score."""
        found = (
            f"{self.results:,} results of {count(len(self.truths), 'truth')}, {count(len(self.rows), 'metric')}; "
            f"the highest score is {self.out_of}."
        )
        return f"{found}\n{QUICK}" if self.left_open else found

    def curves(self) -> JsonObject:
        """Return every penalty, minus that of identical regions, by ground truth, alteration and metric."""
        found: JsonObject = {}
        for (truth, sweep), values in self.evidence.curves.items():
            by_metric = {row.label: values[i].tolist() for i, row in enumerate(self.rows)}
            found.setdefault(truth, {})[sweep] = by_metric
        return found

    def to_dict(self) -> JsonObject:
        """Return the JSON document."""
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
            "version": __version__,
            **({"curves": self.curves()} if self.include_curves else {}),
        }

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)

    def main_table(self) -> Table:
        return self.tables["synthesis"].main_table()

    def contents(self) -> list[Part]:
        """Return all tables, the summary and the verdicts."""
        verdicts = [Verbatim(str(one)) for one in self.verdicts]
        return [*(one.table() for one in self.tables.values()), self.summary, self.signature, *verdicts]


def count(number: int, noun: str) -> str:
    """Write a number with its noun.

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
    symmetry: float | None = None,
    zero: float | None = None,
    triangle: float | None = None,
    triangle_as_separation: bool | None = None,
    indifferent: float | None = None,
    axial: float | None = None,
    monotony: float | None = None,
    turning: float | None = None,
    until: int | None = None,
    gap: float | None = None,
    factor: float | None = None,
    tie: float | None = None,
    shape: float | None = None,
    evenness: float | None = None,
    quorum: float | None = None,
) -> Study:
    """Study localization metrics with the protocol of the comparative study of 2010.

    Parameters
    ----------
    metrics : str, Metric, callable, or a list or mapping of these, default "jei"
        Names of metrics, functions of your own (of `Pairs`, or of two masks), "jei" (the 38 rows of the study) or
        "all".
    truths : str, path, array, or a list or mapping of these, default "all"
        Ground truths to alter: "all" (16), "boxes", "silhouettes", a name, masks, or files of mask images.
    alterations : str or list of str, default "jei"
        Alterations with their reach, e.g. ``"translation(reach=12)"``, "jei" (the four of the study) or "beyond".
    tolerances : Tolerances, optional
        The tolerances of the properties.
    jobs : int, optional
        Number of threads. Default: one per core.
    processes : bool, default False
        Call functions of your own that can be imported in `jobs` new processes. In a script, only below
        ``if __name__ == "__main__":``.
    quick : bool, default False
        Measure a tenth of the results, and leave open the properties that they cannot decide.
    progress : callable, optional
        Called with the number of results that were measured.
    symmetry, zero, triangle, triangle_as_separation, indifferent, axial, monotony, turning, until, gap, factor, tie, \
shape, evenness, quorum : optional
        Single tolerances in place of those of `tolerances`; see :class:`Tolerances`.

    Returns
    -------
    Study

    Raises
    ------
    BadParameter
        If a name is unknown, or a tolerance is out of its range.
    DataError
        If a metric returns a value that is not finite.

    Examples
    --------
    >>> import verite as vt
    >>> found = vt.study(["iou", "hen1"], "boxes", "translation(reach=4)")
    >>> found.tables["translation(reach=4)"].to_dict()["hen1"]["score"]      # it counts pixels only
    0
    """
    given = {
        "symmetry": symmetry, "zero": zero, "triangle": triangle, "triangle_as_separation": triangle_as_separation,
        "indifferent": indifferent, "axial": axial, "monotony": monotony, "turning": turning, "until": until,
        "gap": gap, "factor": factor, "tie": tie, "shape": shape, "evenness": evenness, "quorum": quorum,
    }  # fmt: skip
    chosen, objects, sweeps = rows_of(metrics), truths_of(truths), sweeps_of(alterations)
    sweeps = coarsen(sweeps) if quick else sweeps
    settled = tolerances_of(tolerances or Tolerances(), {k: v for k, v in given.items() if v is not None})
    threads = thread_count(jobs)
    wanted = len(chosen) <= MOST_JUDGED or any(row.is_own for row in chosen)
    known = [row for row in jei_rows() if wanted]
    every = [*chosen, *known]
    measured: Measured = measure_all(every, objects, sweeps, jobs=threads, progress=progress, processes=processes)
    missing = [t for t in boxes() if t.name in (*SCALE_PAIR, *SHAPE_PAIR) and all(t.name != o.name for o in objects)]
    comparable = [sweep for sweep in sweeps if sweep.is_comparable]
    measured = {**measured, **measure_all(every, missing, comparable, jobs=threads, processes=processes)}
    mine = select_rows(measured, slice(0, len(chosen)))
    shifts = next((s.reach for s in sweeps if isinstance(s, Grid) and s.alteration == "translation"), MOST_SHIFTED)
    reach = QUICK_SHIFTED if quick else min(shifts, MOST_SHIFTED)
    shares = triangle_shares(chosen, penalty_rules_of(chosen, mine), reach=reach, jobs=threads, processes=processes)
    evidence = Evidence(chosen, objects, sweeps, mine, shares)
    if not known:
        return Study(evidence, settled)
    theirs = select_rows(measured, slice(len(chosen), None))
    return Study(evidence, settled, Evidence(known, objects, sweeps, theirs, np.zeros(len(known))))


def tolerances_of(tolerances: Tolerances, others: Mapping[str, Any]) -> Tolerances:
    """Return tolerances with some of them replaced by name."""
    known = asdict(tolerances)
    for name, value in others.items():
        if name not in known:
            raise BadParameter(
                f"study: expected a tolerance out of {', '.join(known)}, found {name!r}{did_you_mean(name, known)}"
            )
        if isinstance(value, bool) != isinstance(known[name], bool) or not isinstance(value, (int, float)):
            raise BadParameter(f"{name}: expected a value like {known[name]}, found {value!r}")
    return replace(tolerances, **others)
