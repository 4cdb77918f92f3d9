"""What do the papers say? Their tables, transcribed, and for cells that come out otherwise here, why."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

# Tables of Hemery, Laurent, Emile, Rosenberger, Comparative study of localization metrics for the evaluation of image
# interpretation systems, Journal of Electronic Imaging 19(2), 2010, by the table of a study they answer to.
JEI_TABLES = {"T3": "distance", "T4": "translation", "T5": "scale", "T6": "rotation", "T7": "perspective"}
# Hemery, Laurent, Rosenberger, Étude comparative de métriques d'évaluation d'algorithmes de localisation, GRETSI 2009.
GRETSI_TABLES = {"T2": "stars"}


@cache
def read_table(name: str) -> dict[str, dict[str, str]]:
    """A transcribed table by its metrics: cells as files have them, 1, 0, +, - and +/-."""
    text = (files("verite") / "data" / "studies" / f"{name}.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {row.pop("metric"): {k: v for k, v in row.items() if k != "representation"} for row in rows}


def jei_table(table: str) -> dict[str, dict[str, str]]:
    return read_table(f"jei-table{table[1:]}")


def jei_scores() -> dict[str, int]:
    """The printed final scores of table 8."""
    return {name: int(row["final"]) for name, row in read_table("jei-table8").items()}


TURNED = (
    "rounding in the paper: truth 5 is truth 4 turned by 90°, so that in exact arithmetic both are penalised alike by "
    "every metric but ROBcor"
)
SQUARES = "contradicts the definition: squared distances break the triangle inequality, (2d)² > d² + d²"
BOTH_ROOT = "doubtful: the cube root of L1 jumps at the first step; L3's ticks add up to 16 where table 8 prints 14"
RASTER = (
    "depends on how altered regions are drawn: opposite parameters differ by single pixels, around the limit of 1 %"
)
SIZES = "depends on the sizes of the truths and on how altered regions are drawn, which the paper does not print"
AREA = "not the printed definition: the published row follows if the length of the contour stands for the box's area"
SMALLER = (
    "contradicts the definition: shrunk to a share r of its area, a region gets the smaller error 2 r (1 - r), which "
    "falls again below one half; the published tick follows with the larger error"
)
NOISE = "noise in the paper: the row looks like that of a metric that hardly answers, by the printed definition it does"

# Table, metrics (none: all), property, and why the published cell does not come out. The first that fits is told.
REASONS: tuple[tuple[str, tuple[str, ...], tuple[str, ...], str], ...] = (
    ("T3", ("DMoC", "ODI2", "UDI2"), ("triangle",), SQUARES),
    ("T3", ("KUL",), ("symmetry",), "contradicts the definition: (a - b) · log(a / b) is the same both ways round"),
    ("T3", ("HAF1",), ("symmetry",), "contradicts the definition: the sum runs over the regions of the truth alone"),
    ("T5", ("ROBcom",), ("scale", "shape"), AREA),
    ("T5", ("BAH",), ("monotony", "continuity"),
     "contradicts the text: section 4.3 counts BAH among those that penalise shrinking by 1 pixel more than by 20"),
    ("T5", ("MARgce", "MARlce"), ("monotony",), SMALLER),
    ("T6", (), ("shape",), TURNED),
    ("T6", ("L3",), ("continuity",), BOTH_ROOT),
    ("T7", ("L3",), ("continuity",), BOTH_ROOT),
    ("T6", ("HAU",), ("monotony",),
     "it holds on the silhouettes and not on the boxes, and half of the truths are enough here"),
    ("T6", ("BAH",), (), NOISE),
    ("T7", ("BAH", "ROBcom"), (), NOISE),
    ("T7", (), ("axial",), RASTER),
    ("T6", (), (), SIZES),
    ("T7", (), (), SIZES),
    ("T5", (), (), SIZES),
    ("T2", ("RobCom",), ("scale",),
     "impossible: on nested boxes RobCom and Pascal are the same function, yet got two and three stars"),
    ("T2", ("RobCom",), ("rotation",),
     "impossible by one rule: it falls back to 0 at 90° like Hen1, which got two stars"),
    ("T2", ("Martin1", "Martin2"), ("rotation",),
     "its curve hardly falls on the way to 90°, like those of Pascal, Hafiane and RobCor, which got three stars"),
)  # fmt: skip
UNEXPLAINED = "not explained"


def reason(table: str, metric: str, column: str) -> str:
    """Why a cell of the paper does not come out here.

    >>> reason("T3", "KUL", "symmetry")
    'contradicts the definition: (a - b) · log(a / b) is the same both ways round'
    """
    for where, metrics, columns, why in REASONS:
        if where == table and (not metrics or metric in metrics) and (not columns or column in columns):
            return why
    return UNEXPLAINED
