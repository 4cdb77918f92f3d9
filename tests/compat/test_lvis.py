"""verite under the name of the lvis package, beside the original: thirteen numbers, arrays, matches, steps."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.oracles.coco_sets import random_mask_set, random_set
from tests.protocols.test_lvis import federated
from verite.compat import install_as_lvis
from verite.compat import lvis as ours
from verite.errors import BadParameter, DataError

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The 'warn' method:DeprecationWarning"),
]

theirs = pytest.importorskip("lvis", reason="needs lvis, the reference")

MAKERS = {"bbox": random_set, "segm": random_mask_set}


@pytest.fixture(autouse=True)
def _old_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "float", float, raising=False)  # the package of 2020 asks for it


def load(package: Any, folder: Path, truth: Any, results: Any, kind: str, max_dets: int = 300) -> Any:
    path = folder / "truth.json"
    path.write_text(json.dumps(truth))
    gt = package.LVIS(str(path))
    return package.LVISEval(gt, package.LVISResults(gt, copy.deepcopy(results), max_dets=max_dets), kind)


def pair(folder: Path, seed: int, kind: str, **named: Any) -> tuple[Any, Any]:
    truth, results = federated(seed, MAKERS[kind])
    if not results:
        pytest.skip("lvis cannot load an empty list")
    return load(ours, folder, truth, results, kind, **named), load(theirs, folder, truth, results, kind, **named)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seed", range(12))
def test_numbers_and_arrays_are_equal_to_the_last_bit(kind: str, seed: int, tmp_path: Path) -> None:
    mine, other = pair(tmp_path, seed, kind, max_dets=7 if seed % 3 == 0 else 300)
    for one in (mine, other):
        one.run()
    assert dict(mine.get_results()) == dict(other.get_results())
    for key in ("precision", "recall"):
        np.testing.assert_array_equal(mine.eval[key], other.eval[key])
    texts = []
    for one in (mine, other):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            one.print_results()
        texts.append(printed.getvalue())
    assert texts[0] == texts[1]


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seed", range(4))
def test_step_by_step_with_other_settings(kind: str, seed: int, tmp_path: Path) -> None:
    mine, other = pair(tmp_path, seed, kind)
    for one in (mine, other):
        one.params.img_ids = one.params.img_ids[:3]
        one.params.iou_thrs = np.array([0.5, 0.6, 0.75])
        one.evaluate()
    for found, expected in zip(mine.eval_imgs, other.eval_imgs, strict=True):
        assert (found is None) == (expected is None)
        for key in expected or ():
            np.testing.assert_array_equal(np.asarray(found[key], dtype=float), np.asarray(expected[key], dtype=float))
    for one in (mine, other):
        one.accumulate()
        one.summarize()
    assert dict(mine.results) == dict(other.results)


def test_all_classes_as_one_is_refused_where_lvis_compares_nothing(tmp_path: Path) -> None:
    mine, other = pair(tmp_path, 2, "bbox")
    for one in (mine, other):
        one.params.use_cats = 0
    other.evaluate()
    other.accumulate()
    assert (other.eval["precision"] == -1).all()
    with pytest.raises(BadParameter, match="use_cats"):
        mine.evaluate()


def test_edited_matches_are_what_is_accumulated(tmp_path: Path) -> None:
    mine, other = pair(tmp_path, 5, "bbox")
    for one in (mine, other):
        one.evaluate()
        for image in one.eval_imgs:
            if image is not None:
                image["dt_matches"][:] = 0
        one.accumulate()
        one.summarize()
    assert dict(mine.results) == dict(other.results)


def test_installed_under_the_name_of_the_package() -> None:
    before = sys.modules["lvis"]
    with install_as_lvis():
        from lvis import LVIS, LVISEval, LVISResults
        from lvis.eval import Params

        assert (LVIS, LVISResults, LVISEval) == (ours.LVIS, ours.LVISResults, ours.LVISEval)
        assert Params("bbox").max_dets == 300
    assert sys.modules["lvis"] is before


def test_a_ground_truth_of_coco_is_named() -> None:
    truth, results = random_set(1)
    for one in truth["categories"]:
        one["frequency"] = "f"
    gt = ours.LVIS(truth)
    with pytest.raises(DataError, match="neg_category_ids"):
        ours.LVISEval(gt, results, "bbox").evaluate()
