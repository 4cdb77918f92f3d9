"""The rows of a study: metrics with their labels, and the conversion of their values to penalties (larger is worse)."""

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

# Hemery, Laurent, Emile, Rosenberger, Comparative study of localization metrics for the evaluation of image
# interpretation systems, Journal of Electronic Imaging 2010, table 2 with its parameters: 38 rows.
JEI_2010 = {
    "ROBloc": "robin_loc",
    "ROBcom": "robin_com",
    "ROBcor": "robin_cor",
    "ErrLoc": "err_loc",
    "ErrSous": "err_under",
    "ErrSur": "err_over",
    "SNR": "snr",
    "RMS": "rms",
    "L1": "lq(q=1)",
    "L3": "lq(q=3)",
    "KUL": "kullback",
    "BAH": "bhattacharyya",
    "JEN": "jensen",
    "DMoy": "mean_distance",
    "DMoC": "mean_squared_distance",
    "FOM": "figure_of_merit",
    "HAU": "hausdorff",
    "BAD1": "baddeley(p=1)",
    "BAD2": "baddeley(p=2)",
    "BAD3": "baddeley(p=3)",
    "ODI1": "odet_over(n=1)",
    "ODI2": "odet_over(n=2)",
    "UDI1": "odet_under(n=1)",
    "UDI2": "odet_under(n=2)",
    "PAS": "pascal",
    "HEN1": "hen1",
    "HEN2": "hen2",
    "YAS1": "yasnoff1",
    "YAS2": "yasnoff2",
    "YAS3": "yasnoff3",
    "MARgce": "gce",
    "MARlce": "lce",
    "HAM": "hamming",
    "HAF1": "hafiane1",
    "HAF2": "hafiane2",
    "VIN": "vinet",
    "Ppx": "pixel_precision",
    "Rpx": "pixel_recall",
}

# Rows whose published cells show that another formula was computed than the source of the metric defines.
AS_RUN = {
    "BAH": "bhattacharyya(variant='as-run')",
    "BAD1": "baddeley(p=1, variant='as-run')",
    "BAD2": "baddeley(p=2, variant='as-run')",
    "BAD3": "baddeley(p=3, variant='as-run')",
    "YAS1": "yasnoff1(variant='as-run')",
    "YAS2": "yasnoff2(variant='as-run')",
}
JEI_2010_AS_RUN = JEI_2010 | AS_RUN

# The rows with the formulas as the paper prints them.
JEI_PRINTED = JEI_2010_AS_RUN | {
    "SNR": "snr(variant='raw')",
    "BAH": "bhattacharyya(variant='raw')",
    "BAD1": "baddeley(p=1, variant='printed')",
    "BAD2": "baddeley(p=2, variant='printed')",
    "BAD3": "baddeley(p=3, variant='printed')",
}


@dataclass(frozen=True)
class Switch:
    """Rows whose formula is read otherwise than printed, and why."""

    rows: dict[str, str]  # metrics by the study's label
    what: str
    why: str

    def __str__(self) -> str:
        return f"{', '.join(self.rows)}: {self.what}, because {self.why}."


SWITCHES = (
    Switch(
        {"SNR": "snr"},
        "1 / (1 + the printed root)",
        "a ratio of signal to noise is good when large, and the published row fails separation and has the signs of "
        "scale of the inverse",
    ),
    Switch(
        {"BAH": "bhattacharyya(background=2, contour=1, variant='raw')"},
        "gray levels 2 off and 1 on the contour",
        "the paper prints no levels, and these give continuity under scale and both signs under rotation",
    ),
    Switch(
        {f"BAD{p}": f"baddeley(p={p}, variant='as-run')" for p in (1, 2, 3)},
        "the root of the sum, divided by the number of contour pixels",
        "divided by the pixels of the image inside the root, as printed, it would be strictly monotonous under "
        "translation, and section 4.2 says it is not",
    ),
)  # fmt: skip

JEI = JEI_PRINTED | {label: name for switch in SWITCHES for label, name in switch.rows.items()}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PenaltyRule:
    """The conversion of a metric's values to penalties, of which larger is worse.

    >>> PenaltyRule("turned", 1.0)(np.array([1.0, 0.25]))
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
    """A metric with its label in tables."""

    label: str
    metric: Metric
    is_penalty: bool = False  # values are penalties already, whatever the metric declares

    @property
    def is_own(self) -> bool:
        """Whether it is a user's metric, not one of the catalogue."""
        return not self.metric.record.is_builtin

    @property
    def on(self) -> str:
        """What it compares, in the words of the study: box, contour or mask."""
        return "mask" if self.metric.record.on == "region" else self.metric.record.on

    def values(self, pairs: Pairs) -> Floats:
        """Return the values of the metric; DataError if one is not finite."""
        found = self.metric.values(pairs)
        wrong = np.flatnonzero(~np.isfinite(found))
        if len(wrong):
            raise DataError(
                f"{self.label}: expected a finite number for every pair of regions, found {found[wrong[0]]} for "
                f"{len(wrong)} of {len(found)}"
            )
        return found

    def penalty_rule(self, itself: Floats, mean: float) -> PenaltyRule:
        """Return how values become penalties: by the declared best value, or by the values themselves.

        `itself` are the values of identical regions, `mean` is the mean of all values: a metric without a declared best
        whose values fall with alterations is a similarity.
        """
        best = self.metric.best
        if self.is_penalty or self.metric.better == "lower":
            return PenaltyRule("as it is")
        if best is not None:
            return PenaltyRule("turned" if self.metric.better == "higher" else "distance", best)
        return PenaltyRule("turned", float(itself.max())) if mean < itself.mean() else PenaltyRule("as it is")


def jei_rows(reading: Mapping[str, str] = JEI) -> tuple[Row, ...]:
    """Return the 38 rows of the comparative study in the best reading; their values are penalties."""
    return tuple(Row(label, metric(name), is_penalty=True) for label, name in reading.items())


def rows_of(given: Any = "jei") -> tuple[Row, ...]:
    """Return rows: "jei", "all", names of metrics, `package.module:function`, functions, or a mapping by label.

    A user's function takes `Pairs` and returns an array, or takes two masks and returns a number.

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
    """Return one row; its label is the metric's name by default.

    Parameters
    ----------
    thing
        A row, a metric, or the name of one.
    label
        What tables call it.
    """
    if isinstance(thing, Row):
        return thing
    chosen = metric(thing)
    return Row(label or chosen.name.rpartition(":")[2], chosen)


def distinct_rows(rows: list[Row]) -> tuple[Row, ...]:
    """Remove repeated rows; BadParameter if a label stands for two metrics."""
    found: dict[str, Row] = {}
    for row in rows:
        if row.label in found and found[row.label].metric != row.metric:
            raise BadParameter(f"metrics: expected different names, found {row.label!r} for two metrics")
        found.setdefault(row.label, row)
    return tuple(found.values())
