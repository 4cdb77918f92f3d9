"""What must hold for every metric of the catalogue, without a line written for any of them."""

from __future__ import annotations

import doctest
import inspect
from math import isinf, isnan

import numpy as np
import pytest
from numpy.typing import NDArray

import verite as vt
from tests.random_masks import random_pairs
from verite.metrics.catalogue import RECORDS, every_metric, metric, records
from verite.metrics.metric import Metric, measure, parse_call


def with_every_variant() -> list[Metric]:
    """Every metric at its defaults and in each of its variants, and every alias."""
    found = {m.name: m for m in every_metric()}
    for m in every_metric():
        for variant in m.record.variants:
            found.setdefault((other := metric(m, variant=variant)).name, other)
    for name in (name for record in records().values() for name in record.aliases):
        found.setdefault((other := metric(name)).name, other)
    return list(found.values())


EVERY = with_every_variant()
EMPTY = np.zeros((9, 11), dtype=bool)
PAIRS = [*random_pairs(seed=3, count=80, most=18), (EMPTY, EMPTY), (EMPTY, ~EMPTY), (~EMPTY, EMPTY), (~EMPTY, ~EMPTY)]
every = pytest.mark.parametrize("chosen", EVERY, ids=str)


@pytest.fixture(scope="module")
def pairs() -> vt.Pairs:
    return vt.Pairs.of([truth for truth, _ in PAIRS], [pred for _, pred in PAIRS])


@pytest.fixture(scope="module")
def same() -> vt.Pairs:
    regions = [region for pair in PAIRS for region in pair]
    return vt.Pairs.of(regions, regions)


@every
def test_identical_regions_get_the_best_value(chosen: Metric, same: vt.Pairs) -> None:
    if chosen.best is None:
        pytest.skip("no value is best")
    np.testing.assert_allclose(chosen.values(same), chosen.best, rtol=0, atol=1e-12)


@every
def test_values_stay_within_the_bounds(chosen: Metric, pairs: vt.Pairs) -> None:
    values = chosen.values(pairs)
    low, high = chosen.bounds
    assert not np.isnan(values).any()
    assert (values >= low - 1e-12).all()
    assert (values <= high + 1e-12).all()


@every
def test_exchanging_truth_and_pred_changes_what_was_declared(chosen: Metric, pairs: vt.Pairs) -> None:
    forward, backward = chosen.values(pairs), chosen.values(pairs.swapped)
    if chosen.symmetric:
        np.testing.assert_allclose(forward, backward, rtol=1e-12, atol=1e-12)
    else:
        assert not np.allclose(forward, backward, rtol=1e-9, atol=1e-9), "symmetric, but not declared so"


@every
@pytest.mark.parametrize("nowhere", [[1.6, 1.6, 2.4, 2.4], [20, 20, 30, 30]], ids=["between pixels", "outside"])
def test_boxes_without_a_pixel_get_the_best_value_as_themselves(chosen: Metric, nowhere: list[float]) -> None:
    if chosen.best is None:
        pytest.skip("no value is best")
    assert chosen(nowhere, nowhere, size=(9, 8)) == pytest.approx(chosen.best, abs=1e-12)


@every
def test_order_of_the_pairs_does_not_matter(chosen: Metric, pairs: vt.Pairs) -> None:
    order = np.random.default_rng(4).permutation(len(PAIRS))
    shuffled = vt.Pairs.of([PAIRS[i][0] for i in order], [PAIRS[i][1] for i in order])
    np.testing.assert_array_equal(chosen.values(shuffled), chosen.values(pairs)[order])
    np.testing.assert_array_equal(chosen.values(pairs.take(order)), chosen.values(pairs)[order])


@every
def test_a_batch_gives_what_single_pairs_give(chosen: Metric, pairs: vt.Pairs) -> None:
    values = chosen.values(pairs)
    for i in (0, 7, 33, *range(len(PAIRS) - 4, len(PAIRS))):
        assert chosen(*PAIRS[i]) == values[i]


@every
def test_moving_both_regions_together_changes_nothing_away_from_the_border(chosen: Metric) -> None:
    inner = [pair for pair in PAIRS[:30] if pair[0].any() and pair[1].any()]

    def placed(mask: NDArray[np.bool_], x: int, y: int) -> NDArray[np.bool_]:
        image = np.zeros((64, 70), dtype=bool)
        image[y : y + mask.shape[0], x : x + mask.shape[1]] = mask
        return image

    here = vt.Pairs.of([placed(t, 5, 6) for t, _ in inner], [placed(p, 5, 6) for _, p in inner])
    there = vt.Pairs.of([placed(t, 41, 33) for t, _ in inner], [placed(p, 41, 33) for _, p in inner])
    if sees_the_whole_image(chosen):
        assert not np.allclose(chosen.values(here), chosen.values(there), rtol=1e-12)
        return
    np.testing.assert_allclose(chosen.values(here), chosen.values(there), rtol=1e-12, atol=1e-12)


def sees_the_whole_image(chosen: Metric) -> bool:
    """Baddeley's own definition averages over all pixels, also those far away: where the contours lie matters to it."""
    return chosen.record.name == "baddeley" and chosen.parameters["variant"] == "primary"


@every
def test_the_name_parses_back_to_the_same_metric(chosen: Metric) -> None:
    assert metric(chosen.name) == chosen
    assert metric(chosen.name).name == chosen.name
    assert parse_call(chosen.name)[0] == chosen.record.name


@every
def test_the_signature_tells_every_parameter_and_differs_from_all_others(chosen: Metric) -> None:
    settings = dict(chosen.signature.settings)
    assert set(chosen.parameters) <= set(settings)
    assert all("|" not in value for value in settings.values())
    assert [str(m.signature) for m in EVERY].count(str(chosen.signature)) == 1


@pytest.mark.parametrize("name", records())
def test_the_docstring_has_a_sentence_a_formula_and_an_example_that_runs(name: str) -> None:
    record = records()[name]
    summary, formula, *_ = record.paragraphs
    assert summary.endswith(".")
    assert formula
    assert record.cite
    tests = doctest.DocTestFinder().find(record.function, name, globs={})
    assert tests
    assert tests[0].examples
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(tests[0])
    assert results.failed == 0
    assert f'"{name}' in inspect.getdoc(record.function)  # the example is about this metric


@pytest.mark.parametrize("name", records())
def test_what_is_said_of_empty_regions_lies_within_the_bounds(name: str) -> None:
    chosen = metric(name)
    low, high = chosen.bounds
    for truth, pred in ((EMPTY, EMPTY), (EMPTY, ~EMPTY), (~EMPTY, EMPTY)):
        value = chosen(truth, pred)
        assert not isnan(value)
        assert low <= value <= high
        assert not isinf(value)


@pytest.mark.parametrize("name", [name for name, record in records().items() if record.labels])
def test_renaming_the_objects_of_a_label_image_changes_nothing(name: str) -> None:
    rng = np.random.default_rng(5)
    for round in range(300):
        # Few pixels, so that many couples of objects share equally many.
        truth, pred = rng.integers(0, 5, size=(2, *((7, 9) if round % 2 else (3, 4))))
        truth[0, 0] = pred[0, 0] = 4
        new = np.array([0, 30, 7, 12, 5]) if round % 3 else np.array([0, -7, 2**40, 12, 2**62 + 1])
        value = metric(name)(truth, pred)
        assert metric(name)(new[truth], new[pred]) == pytest.approx(value, rel=1e-12)
        assert metric(name)(new[truth], pred) == pytest.approx(value, rel=1e-12)
        if metric(name).symmetric:
            assert metric(name)(pred, truth) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("name", [name for name, record in records().items() if record.labels])
def test_a_label_image_of_one_object_is_a_mask(name: str, pairs: vt.Pairs) -> None:
    for truth, pred in (pair for pair in PAIRS if pair[0].shape[1] > 2):  # two columns of numbers are points
        assert metric(name)(np.where(truth, 7, 0), np.where(pred, 7, 0)) == pytest.approx(
            metric(name)(truth, pred), rel=1e-12, abs=1e-12
        )


def test_measuring_many_metrics_at_once_gives_what_each_gives_alone(pairs: vt.Pairs) -> None:
    together = measure(pairs, EVERY)
    in_parts = measure(pairs, EVERY, chunk=17)
    for chosen in EVERY:
        np.testing.assert_array_equal(together[chosen.name], chosen.values(pairs))
        np.testing.assert_array_equal(in_parts[chosen.name], chosen.values(pairs))


def test_no_pairs_have_no_values() -> None:
    nothing = vt.Pairs.of([], [])
    for chosen in EVERY:
        assert chosen.values(nothing).shape == (0,)


def test_every_alias_finds_its_metric_in_any_case() -> None:
    for record in RECORDS.values():
        for alias in (record.name, *record.aliases):
            assert metric(alias.upper()).record is record
            assert metric(alias.lower()).record is record
