"""Every metric equals its slow definition on random masks, and label-image metrics on random label images."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.oracles.localization import ORACLES
from tests.random_masks import random_pairs
from verite.metrics.catalogue import records
from verite.reproductions.gretsi import GRETSI_2009
from verite.studies.rows import JEI_2010, JEI_2010_AS_RUN

PAIRS = random_pairs(seed=1, count=500)


@pytest.fixture(scope="module")
def pairs() -> vt.Pairs:
    return vt.Pairs.of([truth for truth, _ in PAIRS], [pred for _, pred in PAIRS])


@pytest.mark.parametrize("name", ORACLES)
def test_metric_equals_its_definition_on_500_random_pairs(name: str, pairs: vt.Pairs) -> None:
    found = vt.metric(name).values(pairs)
    expected = np.array([ORACLES[name](truth, pred) for truth, pred in PAIRS])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_every_metric_and_every_row_of_the_studies_has_a_definition() -> None:
    written = {vt.metric(name).name for name in ORACLES}
    rows = [*JEI_2010.values(), *JEI_2010_AS_RUN.values(), *GRETSI_2009.values(), "hd95", *records()]
    assert {vt.metric(row).name for row in rows} <= written


@pytest.mark.parametrize("name", ["gce", "lce", "hamming", "hafiane1", "hafiane2", "vinet"])
def test_label_images_of_several_objects_equal_the_definition(name: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(500):
        height, width = rng.integers(2, 14), rng.integers(3, 14)
        truth, pred = (rng.integers(0, rng.integers(3, 7), size=(height, width)) for _ in range(2))
        truth[0, 0] = pred[0, 0] = 2
        expected = ORACLES[name](truth, pred)
        assert vt.metric(name)(truth, pred) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_swapped_pairs_give_what_exchanged_regions_give(pairs: vt.Pairs) -> None:
    exchanged = vt.Pairs.of([pred for _, pred in PAIRS], [truth for truth, _ in PAIRS])
    for name in ORACLES:
        metric = vt.metric(name)
        np.testing.assert_allclose(metric.values(pairs.swapped), metric.values(exchanged), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("alpha", [0.05, 1.0])
def test_figure_of_merit_with_another_alpha(alpha: float, pairs: vt.Pairs) -> None:
    from tests.oracles.localization import contour, distances

    found = vt.metric("fom", alpha=alpha).values(pairs)
    for (truth, pred), value in zip(PAIRS[:60], found[:60], strict=True):
        d = distances(contour(pred), contour(truth))
        merit = (1 / (1 + alpha * d**2)).sum() / max(contour(truth).sum(), contour(pred).sum())
        assert value == pytest.approx(1 - merit, rel=1e-12)


@pytest.mark.parametrize(("p", "cutoff"), [(2.0, 3.0), (1.5, 2.0), (1.0, 0.5), (2.5, np.inf)])
def test_baddeley_with_a_cutoff_and_any_power(p: float, cutoff: float, pairs: vt.Pairs) -> None:
    from tests.oracles.localization import contour, distances, everywhere

    found = vt.metric("baddeley", p=p, cutoff=cutoff).values(pairs)
    for (truth, pred), value in zip(PAIRS[:80], found[:80], strict=True):
        a, b = (np.minimum(distances(everywhere(truth), contour(m)), cutoff) for m in (truth, pred))
        assert value == pytest.approx((np.abs(a - b) ** p).mean() ** (1 / p), rel=1e-12, abs=1e-12)
