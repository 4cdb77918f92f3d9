"""Which metrics are studied, and which way round? Every row gives penalties: larger is worse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, DataError
from verite.metrics.catalogue import every_metric, metric
from verite.metrics.metric import Metric
from verite.pairs import Pairs
from verite.studies.readings import JEI

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Turn:
    """How values become penalties, of which larger is worse.

    >>> Turn("turned", 1.0)(np.array([1.0, 0.25]))
    array([0.  , 0.75])
    """

    way: Literal["as it is", "turned", "distance"]
    best: float = 0.0

    def __call__(self, values: Floats) -> Floats:
        if self.way == "as it is":
            return values
        return self.best - values if self.way == "turned" else np.abs(values - self.best)


@dataclass(frozen=True)
class Row:
    """A metric under the name that tables show."""

    label: str
    metric: Metric
    is_penalty: bool = False  # values are penalties as they are, whatever the metric declares

    @property
    def is_own(self) -> bool:
        """Is it somebody's own, rather than of the catalogue?"""
        return not self.metric.record.is_ours

    @property
    def on(self) -> str:
        """What it looks at, in the words of the study."""
        return "mask" if self.metric.record.on == "region" else self.metric.record.on

    def values(self, pairs: Pairs) -> Floats:
        """What the metric says, every value a number."""
        found = self.metric.values(pairs)
        wrong = np.flatnonzero(~np.isfinite(found))
        if len(wrong):
            raise DataError(
                f"{self.label}: expected a finite number for every pair of regions, found {found[wrong[0]]} for "
                f"{len(wrong)} of {len(found)}"
            )
        return found

    def turn(self, itself: Floats, mean: float) -> Turn:
        """How values become penalties: by the metric's declared best, or by what it does.

        `itself` is what identical regions get, `mean` the mean of all values: a metric that declares nothing and whose
        values fall with alterations is a similarity.
        """
        best = self.metric.best
        if self.is_penalty or self.metric.better == "lower":
            return Turn("as it is")
        if best is not None:
            return Turn("turned" if self.metric.better == "higher" else "distance", best)
        return Turn("turned", float(itself.max())) if mean < itself.mean() else Turn("as it is")


def jei_rows(reading: Mapping[str, str] = JEI) -> tuple[Row, ...]:
    """The 38 rows of the comparative study, as they are best read; every value is a penalty as it stands."""
    return tuple(Row(label, metric(name), is_penalty=True) for label, name in reading.items())


def rows_of(given: Any = "jei") -> tuple[Row, ...]:
    """Rows as people name them: "jei", "all", names of metrics, `package.module:function`, functions, or a mapping.

    A function of one's own takes `Pairs` and returns an array, or takes two masks and returns a number.

    >>> [row.label for row in rows_of(["iou", "HAU"])]
    ['iou', 'hausdorff']
    """
    if isinstance(given, str) and given == "jei":
        return jei_rows()
    if isinstance(given, Mapping):
        return distinct_rows([row_of(name, str(label)) for label, name in given.items()])
    things = [given] if isinstance(given, (str, Metric)) or callable(given) else given
    if not isinstance(things, Iterable):
        raise BadParameter(f"metrics: expected names or functions, found {type(given).__name__}")
    found: list[Row] = []
    for thing in things:
        if isinstance(thing, str) and thing == "jei":
            found += jei_rows()
        elif isinstance(thing, str) and thing == "all":
            found += [Row(m.name, m) for m in every_metric()]
        else:
            found.append(row_of(thing))
    if not found:
        raise BadParameter("metrics: expected at least one, found none")
    return distinct_rows(found)


def row_of(thing: Any, label: str | None = None) -> Row:
    """One row; its label is the metric's name unless another is given."""
    if isinstance(thing, Row):
        return thing
    chosen = metric(thing)
    return Row(label or chosen.name.rpartition(":")[2], chosen)


def distinct_rows(rows: list[Row]) -> tuple[Row, ...]:
    """A row named twice is studied once; a label stands for one metric."""
    found: dict[str, Row] = {}
    for row in rows:
        if row.label in found and found[row.label].metric != row.metric:
            raise BadParameter(f"metrics: expected different names, found {row.label!r} for two metrics")
        found.setdefault(row.label, row)
    return tuple(found.values())
