"""What may have been done otherwise in 2010? Conventions the paper does not print, to be flipped one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from math import inf
from typing import Any

import numpy as np

from verite.metrics.catalogue import metric
from verite.metrics.contour import extra_pixels, missing_pixels
from verite.metrics.metric import Metric
from verite.metrics.ratios import ratio
from verite.metrics.record import On, make_record
from verite.pairs import Array, Pairs
from verite.studies.judging import Tolerances
from verite.studies.sensitivity import OTHERS, spell_value

Reading = Mapping[str, Metric]  # what each label of the study stands for


@dataclass(frozen=True)
class Convention:
    """One thing that may have been done otherwise: said so that it follows "if"."""

    name: str
    tolerances: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[str, Metric] = field(default_factory=dict)
    kind: str = ""  # truths of one kind alone are judged
    by_columns: bool = False  # sums are made pixel by pixel, column by column


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
    # Rounding may leave a trace where the contours agree.
    return np.where(extra_pixels(p) + missing_pixels(p) == 0, 0.0, total)


def under_of_pred(p: Pairs) -> Array:
    """Missed contour pixels over those of the pred."""
    return ratio(missing_pixels(p), p.pred_contour)


def hafiane_namesake(p: Pairs) -> Array:
    """Hafiane's first measure, object held against object and background against background."""
    table = p.table
    shared = np.diagonal(table, axis1=1, axis2=2)
    united = table.sum(axis=2) + table.sum(axis=1) - shared
    mean: Array = 1 - ratio(shared, united).mean(axis=1)
    return mean


def own(function: Any, on: On) -> Metric:
    return Metric(make_record(function, on=on, bounds=(0, inf), best=0, image=True, name=function.__name__), {})


def martin(variant: str) -> dict[str, Metric]:
    return {f"MAR{name}": metric(f"{name}(variant='{variant}')") for name in ("gce", "lce")}


def other_tolerances() -> Iterator[Convention]:
    """Every tolerance at its other values, the nearest first."""
    in_use = asdict(Tolerances())
    for name, values in OTHERS.items():
        if name not in ("evenness", "triangle_as_separation"):
            for value in sorted(values, key=lambda other: abs(other - in_use[name])):
                yield Convention(f"the tolerance {name} were {spell_value(value)}", {name: value})


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
    Convention("ErrSous is relative to the contour of the result", rows={"ErrSous": own(under_of_pred, "contour")}),
    Convention("images of doubles were added up column by column and compared to the last bit",
               {"shape": 0.0}, by_columns=True),
    *other_tolerances(),
    Convention("the boxes alone were judged", kind="box"),
    Convention("the silhouettes alone were judged", kind="silhouette"),
)  # fmt: skip
