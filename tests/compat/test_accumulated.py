"""The dictionary that accumulate() leaves is pycocotools'."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compat.beside import OURS, THEIRS, load, modules
from tests.oracles.coco_sets import random_set
from verite.compat.pycocotools.cocoeval import mean_at

pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")
pytestmark = pytest.mark.filterwarnings("ignore:COCOeval:verite.errors.DataWarning")


def accumulate(package: str, seed: int = 7, **settings: Any) -> Any:
    module = modules(package)
    truth, results = random_set(seed)
    gt = load(module.coco, truth)
    client = module.cocoeval.COCOeval(gt, gt.loadRes(results), "bbox")
    for name, value in settings.items():
        setattr(client.params, name, value)
    client.evaluate()
    client.accumulate()
    return client


def test_the_arrays_are_those_of_pycocotools_in_a_plain_dictionary() -> None:
    ours, theirs = accumulate(OURS).eval, accumulate(THEIRS).eval
    assert type(ours) is dict
    assert set(ours) == set(theirs)
    assert list(ours["counts"]) == list(theirs["counts"])
    for key in ("precision", "recall", "scores"):
        np.testing.assert_array_equal(ours[key], theirs[key])


def test_stats_are_those_of_pycocotools() -> None:
    for seed in [seed for seed in range(15) if random_set(seed)[1]]:
        ours, theirs = accumulate(OURS, seed), accumulate(THEIRS, seed)
        theirs.summarize()
        ours.summarize()
        assert ours.stats.tobytes() == theirs.stats.tobytes()


@pytest.mark.parametrize(
    "settings",
    [
        {"maxDets": [1, 100, 300]},  # the first line reads 100, which is not the last
        {"maxDets": [1, 10, 50]},  # no 100 at all: the first line is -1
        {"maxDets": [5, 5, 100]},  # a limit twice
        {"useCats": 0},
        {"iouThrs": np.array([0.5, 0.6])},  # no 0.75
        {"iouThrs": np.array([0.5, 0.5, 0.75])},  # a threshold twice
    ],
)
def test_odd_parameters_are_summarized_alike(settings: dict[str, Any]) -> None:
    ours, theirs = accumulate(OURS, **settings), accumulate(THEIRS, **settings)
    ours.summarize()
    theirs.summarize()
    assert ours.stats.tobytes() == theirs.stats.tobytes()


def test_edited_arrays_are_what_is_summarized() -> None:
    for change in (
        lambda found: found["precision"].fill(0.25),
        lambda found: found.__setitem__("precision", np.full_like(found["precision"], 0.25)),
        lambda found: found.update(precision=np.full(found["counts"], 0.25)),
    ):
        client = accumulate(OURS)
        change(client.eval)
        client.summarize()
        assert client.stats[0] == 0.25
        assert client.stats[8] != 0.25  # recall is as it was


def test_a_place_that_is_not_there_is_an_index_error() -> None:
    found = accumulate(OURS).eval
    with pytest.raises(IndexError):
        mean_at(found, "recall", None, [4], [0])
    with pytest.raises(IndexError):
        mean_at(accumulate(OURS).eval, "recall", None, [0], [3])
