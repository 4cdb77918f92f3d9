"""Images with weights: the same as images that are there so many times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.evaluation.sets import assert_same, evaluate, read
from tests.oracles.coco_reference import reference
from tests.oracles.coco_sets import random_mask_set, random_set
from verite.errors import BadParameter

pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")
COPIES = 64  # no weight is larger


def repeat(truth: Any, results: Any, weights: dict[int, int]) -> tuple[Any, Any]:
    """Documents in which each image is there so many times, copies one after the other by id."""
    copies = [(image, k) for image, weight in weights.items() for k in range(weight)]
    own = {image["id"]: image for image in truth["images"]}

    def repeated(records: list[Any]) -> list[Any]:
        by_image: dict[int, list[Any]] = {}
        for record in records:
            by_image.setdefault(record["image_id"], []).append(record)
        return [{**r, "image_id": i * COPIES + k} for i, k in copies for r in by_image.get(i, [])]

    annotations = [{**record, "id": n + 1} for n, record in enumerate(repeated(truth["annotations"]))]
    images = [{**own[i], "id": i * COPIES + k, "file_name": f"{i}-{k}.jpg"} for i, k in copies]
    return {**truth, "images": images, "annotations": annotations}, repeated(results)


@pytest.mark.parametrize("first", range(0, 120, 20))
@pytest.mark.parametrize("on", ["box", "mask"])
def test_weights_are_images_repeated_in_the_reference(tmp_path: Path, on: Any, first: int) -> None:
    compared = 0
    for seed in range(first, first + 20):
        truth, results = random_set(seed) if on == "box" else random_mask_set(seed)
        rng = np.random.default_rng(seed)
        images = [image["id"] for image in truth["images"]]
        weights = rng.integers(0, 4, len(images))
        twice = repeat(truth, results, dict(zip(images, weights.tolist(), strict=True)))
        if not twice[1]:
            continue  # the reference crashes on no results at all
        expected = reference(*twice, "bbox" if on == "box" else "segm").eval
        kept = evaluate(*read(tmp_path, truth, results), on)
        found = kept.weighted(weights)
        absent = {key: np.where(expected[key] == -1, np.nan, expected[key]) for key in ("precision", "recall")}
        # [T, R, K, A, M] and [T, K, A, M]
        assert_same(found, absent["precision"][..., -1].transpose(3, 0, 1, 2), absent["recall"].transpose(3, 2, 0, 1))
        compared += 1
    assert compared >= 10


def test_weights_of_one_change_nothing(tmp_path: Path) -> None:
    kept = evaluate(*read(tmp_path, *random_set(3)))
    assert_same(kept.weighted(np.ones(len(kept.truth.images))), kept.native.precision, kept.native.recall)


def test_weights_need_not_be_whole(tmp_path: Path) -> None:
    """A weight of a half everywhere is as good as none; so is a third, whose sums depend on their order."""
    for seed in range(12):
        kept = evaluate(*read(tmp_path, *random_set(seed)))
        for share in (0.5, 1 / 3):
            found = kept.weighted(np.full(len(kept.truth.images), share))
            assert np.allclose(found.native.precision, kept.native.precision, rtol=0, atol=1e-12, equal_nan=True)
            assert np.allclose(found.native.recall, kept.native.recall, rtol=0, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("weights", [[1.0], [-1.0, 1.0], [np.nan, 1.0]])
def test_weights_that_are_none_are_refused(weights: list[float]) -> None:
    truth = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9], [0, 0, 9, 9]])
    with pytest.raises(BadParameter, match="weights: expected"):
        evaluate(truth, truth).weighted(weights)
