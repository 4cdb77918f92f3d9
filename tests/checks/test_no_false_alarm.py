"""Healthy data raise no alarm, however odd they are and however bad the detector."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.adversaries import ADVERSARIES
from tests.checks.mistakes import Files
from tests.checks.sets import KINDS, draw_set
from verite.checks import examine_all, examine_pair


@pytest.mark.parametrize("kind", KINDS)
def test_random_healthy_sets_raise_no_alarm(kind):
    for seed in range(30):
        data = draw_set(np.random.default_rng([1848, seed, KINDS.index(kind)]), kind)
        truth, pred = Files.of(data, "xyxy" if seed % 4 == 0 else "xywh").read()
        assert examine_all(truth, pred) == [], (seed, data.recall)


@pytest.mark.parametrize("name", ADVERSARIES)
def test_odd_data_and_bad_detectors_raise_no_alarm(name):
    for seed in range(5):
        data = ADVERSARIES[name](np.random.default_rng([1871, seed]))
        truth, pred = Files.of(data).read()
        assert [f for f in examine_pair(truth, pred) if f.severity == "error"] == [], seed
