"""The dictionary that accumulate() leaves behaves like pycocotools', whether or not its arrays were made yet."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.compat.beside import OURS, THEIRS, load, modules
from tests.oracles.coco_sets import random_set
from verite.compat.pycocotools.cocoeval import ARRAYS, Accumulated, mean_at

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


LOOKS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "dict": dict,
    "unpacked": lambda found: {**found},
    "items": lambda found: dict(found.items()),
    "values": lambda found: dict(zip(found, found.values(), strict=True)),
    "get": lambda found: {key: found.get(key) for key in found},
    "copy": lambda found: found.copy(),
    "copied": copy.copy,
    "deeply": copy.deepcopy,
    "pickled": lambda found: pickle.loads(pickle.dumps(found)),
    "merged": lambda found: found | {},
    "merged into": lambda found: {} | found,
    "pop": lambda found: {key: found.pop(key) for key in list(found)},
    "popitem": lambda found: dict(found.popitem() for _ in list(found)),
    "setdefault": lambda found: {key: found.setdefault(key, None) for key in found},
    "update": lambda found: found.update(more=1) or {key: found[key] for key in found if key != "more"},
}


@pytest.mark.parametrize("look", LOOKS)
def test_every_way_of_looking_finds_the_arrays(look: str) -> None:
    ours, theirs = accumulate(OURS).eval, accumulate(THEIRS).eval
    assert not ours.is_loaded
    found = LOOKS[look](ours)
    assert set(found) == set(theirs)
    assert list(found["counts"]) == list(theirs["counts"])
    for key in ARRAYS:
        np.testing.assert_array_equal(found[key], theirs[key])


def test_what_leaves_the_process_is_a_plain_dictionary() -> None:
    found = pickle.loads(pickle.dumps(accumulate(OURS).eval))
    assert type(found) is dict
    assert type(copy.deepcopy(accumulate(OURS)).eval) is dict


def test_stats_need_no_arrays_and_are_the_same_with_them() -> None:
    for seed in [seed for seed in range(15) if random_set(seed)[1]]:
        ours, theirs = accumulate(OURS, seed), accumulate(THEIRS, seed)
        theirs.summarize()
        ours.summarize()
        assert isinstance(ours.eval, Accumulated)
        assert not ours.eval.is_loaded
        assert ours.stats.tobytes() == theirs.stats.tobytes()
        assert ours.eval["precision"].size  # somebody looks
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


def test_what_is_set_before_a_look_stays() -> None:
    found = Accumulated({"counts": []}, lambda: dict.fromkeys(ARRAYS, 1.0))
    found["recall"] = 0.5
    assert found == {"counts": [], "precision": 1.0, "recall": 0.5, "scores": 1.0}
    assert repr(found) == repr(dict(found))
    assert len(found) == 4
    del found["scores"]
    assert "scores" not in found


def test_a_place_that_is_not_there_is_an_index_error() -> None:
    found = accumulate(OURS).eval
    with pytest.raises(IndexError):
        mean_at(found, "recall", None, [4], [0])
    with pytest.raises(IndexError):
        mean_at(accumulate(OURS).eval, "recall", None, [0], [3])
