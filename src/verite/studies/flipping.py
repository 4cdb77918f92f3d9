"""What comes out if a convention is flipped? All that anybody may ask for is measured once, then judged again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from verite.studies.conventions import Convention, Reading
from verite.studies.judging import Evidence
from verite.studies.measuring import Measured, Values, part_of
from verite.studies.pixelwise import SUMS, Floats, literal_values
from verite.studies.rows import Row
from verite.studies.study import Study
from verite.studies.sweeps import Grid
from verite.studies.truths import SHAPE_PAIR, Truth


def rows_for(readings: Sequence[Reading]) -> list[Row]:
    """A row for every metric that occurs in a reading."""
    found = {metric: label for reading in readings for label, metric in reading.items()}
    return [Row(f"{label}: {metric.name}", metric, is_penalty=True) for metric, label in found.items()]


def judge(whole: Study, reading: Reading, *conventions: Convention) -> Study:
    """The study of one reading with some conventions flipped, out of the study of every metric that occurs."""
    switched = {label: metric for one in conventions for label, metric in one.rows.items()}
    rows = tuple(Row(label, metric, is_penalty=True) for label, metric in {**reading, **switched}.items())
    known = {row.metric: i for i, row in enumerate(whole.rows)}
    places = np.array([known[row.metric] for row in rows])
    evidence = whole.evidence
    measured = part_of(evidence.measured, places)
    if any(one.by_columns for one in conventions):
        measured |= add_by_columns(rows, evidence, measured)
    found = Evidence(rows, evidence.truths, evidence.sweeps, measured, evidence.triangle[places])
    return rejudge(Study(found, whole.tolerances), *conventions)


def rejudge(study: Study, *conventions: Convention) -> Study:
    """The same values by other tolerances and by other truths."""
    for one in conventions:
        study = study.with_tolerances(**one.tolerances)
        if one.kind:
            chosen = [truth for truth in study.truths if truth.kind == one.kind]
            study = Study(study.evidence.among(chosen), study.tolerances)
    return study


def flip(whole: Study, base: Study, reading: Reading, convention: Convention) -> list[Study]:
    """What one flipped convention changes: the old values judged again, and the rows that get others."""
    touched = dict(convention.rows)
    if convention.by_columns:
        touched |= {label: metric for label, metric in reading.items() if metric.name in SUMS}
    judged = [rejudge(base, convention)] if convention.tolerances or convention.kind else []
    return [*judged, judge(whole, touched, convention)] if touched else judged


@cache
def turned_values(truth: Truth, sweep: Grid) -> dict[str, Floats]:
    return literal_values(truth.mask, sweep.draw(truth))


def add_by_columns(rows: Sequence[Row], evidence: Evidence, measured: Measured) -> dict[tuple[str, str], Values]:
    """What the two boxes whose shapes are compared get, turned, from a program that adds column by column."""
    found = {}
    rotation = next(sweep for sweep in evidence.sweeps if isinstance(sweep, Grid) and sweep.is_line)
    for truth in (truth for truth in evidence.truths if truth.name in SHAPE_PAIR):
        key = (truth.name, rotation.name)
        values, forward = turned_values(truth, rotation), measured[key].forward.copy()
        for i, row in enumerate(rows):
            forward[i] = values.get(row.metric.name, forward[i])
        found[key] = replace(measured[key], forward=forward)
    return found
