"""Conventions of the study of 2010 that explain a differing cell, and sums over images column by column."""

from __future__ import annotations

import numpy as np
import pytest

from verite.metrics.catalogue import metric
from verite.model.rasters import array_of
from verite.reproductions.comparison import Reproduction, TableComparison
from verite.reproductions.conventions import CONVENTIONS, Flip, choose_flips
from verite.reproductions.literal_sums import SUMS, add_up, values_by_columns
from verite.studies.judging import PropertyTable
from verite.studies.rows import jei_rows
from verite.studies.sweeps import Grid
from verite.studies.truths import truths_of

A, B, C = (("T3", name, "symmetry") for name in "abc")
PUBLISHED = {A: "1", B: "1", C: "0"}


def test_a_flip_counts_the_cells_it_gives_and_those_it_costs():
    flip = Flip.of("x", {A: "0", B: "0", C: "0"}, {A: "1", B: "1", C: "1"}, PUBLISHED)
    assert (flip.gives, flip.costs, flip.explains) == ((A, B), (C,), True)
    even = Flip.of("y", {A: "0", B: "1", C: "0"}, {A: "1", B: "0", C: "0"}, PUBLISHED)
    assert (even.gives, even.costs, even.explains) == ((A,), (B,), False)


@pytest.mark.parametrize(
    ("place", "flips", "reason"),
    [
        (A, [Flip("dear", (A, B), (C,)), Flip("cheap", (A,), ())], "follows if dear (gives 2, costs 1)"),  # the first
        (B, [Flip("cheap", (A,), ()), Flip("dear", (A, B), (C,))], "follows if dear (gives 2, costs 1)"),
        (C, [Flip("even", (C,), (A,))], "not explained; it would follow if even, but that gives 1, costs 1"),
        (C, [Flip("cheap", (A,), ()), Flip("dear", (A, B), (C,))], "not explained"),
    ],
)
def test_a_cell_goes_to_the_convention_with_the_largest_gain_or_is_not_explained(place, flips, reason):
    ours = PropertyTable.of("distance", [place[1]], ["mask"], [{"symmetry": False}])
    found = Reproduction("jei", [TableComparison("T3", ours, {place[1]: {"symmetry": "1"}})], None, flips)
    assert [(d.place, d.reason) for d in found.differences] == [(place, reason)]


def test_conventions_that_explain_the_same_cells_are_taken_once():
    first, second, useless = Flip("first", (A,), ()), Flip("second", (A,), ()), Flip("useless", (B,), (C,))
    assert choose_flips([first, second, useless]) == [first]


def test_conventions_have_names_of_their_own():
    assert len({one.name for one in CONVENTIONS}) == len(CONVENTIONS)


def test_added_by_columns_fractions_depend_on_how_the_image_lies():
    rng = np.random.default_rng(3)
    fractions, whole = rng.random((40, 60)), rng.integers(0, 9, (40, 60)).astype(float)
    assert add_up(fractions) != add_up(fractions.T)
    assert add_up(fractions) == pytest.approx(add_up(fractions.T), rel=1e-12)
    assert add_up(whole) == add_up(whole.T)
    # One number after the other, which no library call says of itself.
    total = 0.0
    for column in fractions.T:
        part = 0.0
        for value in column:
            part += value
        total += part
    assert add_up(fractions) == total


def test_literal_sums_are_the_catalogues_numbers():
    (truth,) = truths_of("wide")
    results = Grid("rotation", 90, 45).rasterise(truth)
    found = values_by_columns(truth.mask, results)
    asked = {row.metric.name: row.metric for row in jei_rows()} | {
        name: metric(name) for name in ("gce(variant='per-object')", "lce(variant='per-object')")
    }
    own = {row.name: row for one in CONVENTIONS for row in one.rows.values()}
    masks = [array_of(results, i) for i in range(len(results))]
    assert set(SUMS) <= set(asked | own)
    for name in SUMS:
        values = (asked | own)[name].batch([truth.mask] * len(masks), masks)
        np.testing.assert_allclose(found[name], values, rtol=1e-12, atol=1e-12, err_msg=name)
