"""What do the papers say? Their tables, transcribed."""

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
