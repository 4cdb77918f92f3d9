"""Conventions that the study of 2010 does not print, flipped one by one to explain cells that differ.

A published cell may differ because the paper computed another formula, used another tolerance or judged other ground
truths. Each such :class:`Convention` is flipped alone; the resulting :class:`Flip` lists the published cells that it
gives and those that it costs. `CONVENTIONS` has all that are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.metrics.catalogue import metric
from verite.metrics.contour import extra_pixels, missing_pixels
from verite.metrics.metric import Metric, On, make_record
from verite.metrics.region import ratio
from verite.pairs import Array, Pairs
from verite.reproductions.literal_sums import SUMS, Floats, values_by_columns
from verite.studies.judging import Evidence, Tolerances
from verite.studies.measuring import select_rows
from verite.studies.rows import JEI, Row
from verite.studies.sensitivity import OTHERS, format_tolerance
from verite.studies.study import Study
from verite.studies.sweeps import Grid
from verite.studies.truths import SHAPE_PAIR, Truth

if TYPE_CHECKING:
    from verite.files import JsonObject


def judge(whole: Study, reading: Reading, *conventions: Convention) -> Study:
    """Return the study of one reading of the formulas with some conventions flipped.

    Parameters
    ----------
    whole : Study
        The study of every metric that occurs in a reading or a convention; nothing is measured again.
    reading : Mapping
        The metric of each label of the paper.
    *conventions : Convention
        Conventions to flip. Where one sums by columns, the two boxes of shape dependency are measured again under
        rotation, column by column.

    Returns
    -------
    Study
    """
    switched = {label: metric for one in conventions for label, metric in one.rows.items()}
    rows = tuple(Row(label, metric, is_penalty=True) for label, metric in {**reading, **switched}.items())
    known = {row.metric: i for i, row in enumerate(whole.rows)}
    places = np.array([known[row.metric] for row in rows])
    evidence = whole.evidence
    measured = select_rows(evidence.measured, places)
    if any(one.by_columns for one in conventions):
        rotation = next(sweep for sweep in evidence.sweeps if isinstance(sweep, Grid) and sweep.is_line)
        for truth in (truth for truth in evidence.truths if truth.name in SHAPE_PAIR):
            key = (truth.name, rotation.name)
            values, forward = rotated_values(truth, rotation), measured[key].forward.copy()
            for i, row in enumerate(rows):
                forward[i] = values.get(row.metric.name, forward[i])
            measured[key] = replace(measured[key], forward=forward)
    found = Evidence(rows, evidence.truths, evidence.sweeps, measured, evidence.triangle[places])
    return rejudge(Study(found, whole.tolerances), *conventions)


def rejudge(study: Study, *conventions: Convention) -> Study:
    """Return the study of the same values with other tolerances and ground truths."""
    for one in conventions:
        study = study.with_tolerances(**one.tolerances)
        if one.kind:
            chosen = [truth for truth in study.truths if truth.kind == one.kind]
            study = Study(study.evidence.with_truths(chosen), study.tolerances)
    return study


def flip(whole: Study, base: Study, reading: Reading, convention: Convention) -> list[Study]:
    """Return the studies that one flipped convention changes.

    Parameters
    ----------
    whole, base : Study
        The study of every metric that occurs, and of the reading without any flip.
    reading : Mapping
        The metric of each label of the paper.
    convention : Convention
        The convention to flip.

    Returns
    -------
    list of Study
        The same values decided again, where tolerances or ground truths change; the rows whose formula changes.
    """
    touched = dict(convention.rows)
    if convention.by_columns:
        touched |= {label: metric for label, metric in reading.items() if metric.name in SUMS}
    judged = [rejudge(base, convention)] if convention.tolerances or convention.kind else []
    return [*judged, judge(whole, touched, convention)] if touched else judged


@cache
def rotated_values(truth: Truth, sweep: Grid) -> dict[str, Floats]:
    """Return the literal sums of a rotated ground truth."""
    return values_by_columns(truth.mask, sweep.rasterise(truth))


Place = tuple[str, str, str]  # table, metric, property

Cells = Mapping[Place, str]

UNEXPLAINED = "not explained"


@dataclass(frozen=True)
class Flip:
    """The cells that change when one convention is flipped.

    >>> place = ("T3", "KUL", "symmetry")
    >>> Flip("pixels were counted twice", (place,), ()).cost
    'gives 1, costs 0'
    """

    convention: str
    gives: tuple[Place, ...]  # cells that differed and now agree
    costs: tuple[Place, ...]  # cells that agreed and now differ

    @classmethod
    def of(cls, convention: str, before: Cells, after: Cells, published: Cells) -> Flip:
        """Compare the cells before and after with the published ones."""

        def agree(cells: Cells) -> set[Place]:
            return {place for place, cell in published.items() if cells[place] == cell}

        agreed, agrees = agree(before), agree(after)
        return cls(convention, tuple(p for p in published if p in agrees - agreed),
                   tuple(p for p in published if p in agreed - agrees))  # fmt: skip

    @property
    def explains(self) -> bool:
        """Whether it gives more cells than it costs."""
        return len(self.gives) > len(self.costs)

    @property
    def gain(self) -> int:
        """Cells given minus cells lost."""
        return len(self.gives) - len(self.costs)

    @property
    def cost(self) -> str:
        """Cells given and lost, in words."""
        return f"gives {len(self.gives)}, costs {len(self.costs)}"

    def to_dict(self) -> JsonObject:
        """Return the flip for the JSON document."""
        return {"convention": self.convention, "gives": len(self.gives), "costs": len(self.costs),
                "explains": self.explains}  # fmt: skip


def choose_flips(flips: Sequence[Flip]) -> list[Flip]:
    """Return the flips that explain a cell which no better flip explains, the largest gain first.

    >>> a, b = ("T3", "KUL", "symmetry"), ("T3", "RMS", "symmetry")
    >>> [flip.convention for flip in choose_flips([Flip("one", (a,), ()), Flip("both", (a, b), ())])]
    ['both']
    """
    found: list[Flip] = []
    for flip in sorted((f for f in flips if f.explains), key=lambda f: -f.gain):
        taken = {place for other in found for place in other.gives}
        if any(place not in taken for place in flip.gives):
            found.append(flip)
    return found


Reading = Mapping[str, Metric]  # the metric of each label of the study


@dataclass(frozen=True)
class Convention:
    """A convention of the paper that may have been another; its name completes "follows if".

    Parameters
    ----------
    name : str
        The convention in words.
    tolerances : Mapping
        Other tolerances, by name.
    rows : Mapping
        Other formulas, by the paper's label of the metric.
    kind : str
        "box" or "silhouette" if only ground truths of one kind count.
    by_columns : bool
        Whether sums are made pixel by pixel, column by column.
    """

    name: str
    tolerances: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[str, Metric] = field(default_factory=dict)
    kind: str = ""
    by_columns: bool = False


def kullback_one_way(p: Pairs) -> Array:
    """Σ q ln(q / p), p and q being the contour images of truth and pred with gray levels 1 and 2, divided by their
    sums."""
    sums = p.pixels + p.truth_contour, p.pixels + p.pred_contour
    neither = p.pixels - p.truth_contour - p.pred_contour + p.shared_contour
    total = np.zeros(len(p))
    for pixels, mine, theirs in (
        (p.shared_contour, 2, 2),
        (missing_pixels(p), 2, 1),
        (extra_pixels(p), 1, 2),
        (neither, 1, 1),
    ):
        total += pixels * (theirs / sums[1]) * np.log((theirs / sums[1]) / (mine / sums[0]))
    # Rounding may leave a value slightly off 0 where the contours agree.
    return np.where(extra_pixels(p) + missing_pixels(p) == 0, 0.0, total)


def under_of_pred(p: Pairs) -> Array:
    """Missed contour pixels, relative to the contour of the prediction."""
    return ratio(missing_pixels(p), p.pred_contour)


def hafiane_namesake(p: Pairs) -> Array:
    """Hafiane's first measure, object compared with object and background with background."""
    table = p.table
    shared = np.diagonal(table, axis1=1, axis2=2)
    united = table.sum(axis=2) + table.sum(axis=1) - shared
    mean: Array = 1 - ratio(shared, united).mean(axis=1)
    return mean


def own(function: Callable[[Pairs], Array], on: On) -> Metric:
    """Make a metric from a function of pairs of regions, named after it; 0 is best, there is no upper bound."""
    return Metric(make_record(function, on=on, bounds=(0, inf), best=0, image=True, name=function.__name__), {})


def with_corners(label: str, name: str) -> Metric:
    """Return a metric of contours computed with 8-neighbour contours.

    Parameters
    ----------
    label
        Name of the metric in the paper.
    name
        Name of the metric in the catalogue.

    Returns
    -------
    Metric
        A metric that differs from the catalogue's in its contour alone: diagonal neighbours count.
    """
    base = metric(name)

    def values(p: Pairs) -> Array:
        return base.values(p.with_corner_contours)

    return Metric(make_record(values, on="contour", best=0, image=True, name=f"{label}_8"), {})


def martin(variant: str) -> dict[str, Metric]:
    """Return Martin's two measures in one variant, by label."""
    return {f"MAR{name}": metric(f"{name}(variant='{variant}')") for name in ("gce", "lce")}


DEFAULTS = asdict(Tolerances())
PER_OBJECT, LARGER = martin("per-object"), martin("as-run")

CONVENTIONS: tuple[Convention, ...] = (
    Convention("the triangle inequality was credited to every metric that separates, as section 4.1 observes",
               {"triangle_as_separation": True}),
    Convention("Martin's measures take I1\\2 per object, with the printed minimum", rows=PER_OBJECT),
    Convention("Martin's measures take the larger error", rows=LARGER),
    Convention("ROBcom takes the length of the contour for the area of the box",
               rows={"ROBcom": metric("robin_com(variant='as-run')")}),
    Convention("KUL is the divergence one way round, of images divided by their sums",
               rows={"KUL": own(kullback_one_way, "contour")}),
    Convention("HAF1 holds object against object and background against background",
               rows={"HAF1": own(hafiane_namesake, "region")}),
    Convention("a contour has every pixel with an 8-neighbour outside",
               rows={label: with_corners(label, name) for label, name in JEI.items()
                     if metric(name).record.on == "contour"}),
    Convention("ErrSous is relative to the contour of the result", rows={"ErrSous": own(under_of_pred, "contour")}),
    Convention("images of doubles were added up column by column and compared to the last bit",
               {"shape": 0.0}, by_columns=True),
    *(Convention(f"the tolerance {name} were {format_tolerance(value)}", {name: value})
      for name, values in OTHERS.items() if name not in ("evenness", "triangle_as_separation")
      for _, value in sorted((abs(value - DEFAULTS[name]), value) for value in values)),  # the nearest first
    Convention("the boxes alone were judged", kind="box"),
    Convention("the silhouettes alone were judged", kind="silhouette"),
)  # fmt: skip
