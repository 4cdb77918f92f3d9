"""Parts of an evaluation: however images are parted and however parts are merged, the bits of the whole come out."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.oracles.coco_sets import random_mask_set, random_set
from verite.errors import DataError
from verite.evaluation.evaluation import Evaluation, Rules
from verite.evaluation.partial import MergedNumbers
from verite.evaluation.state import EvaluationState
from verite.model.images import Images
from verite.model.regions import Regions
from verite.protocols.coco import RECALLS, CocoSettings, rules_of

Sides = tuple[vt.Annotations, vt.Annotations]


def read(folder: Path, truth: Any, results: Any) -> Sides:
    paths = folder / "truth.json", folder / "results.json"
    for path, document in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(document))
    found = vt.read(paths[0])
    return found, vt.read(paths[1], like=found)


def take_images(side: vt.Annotations, chosen: Any) -> vt.Annotations:
    """The objects of some images, and these images alone."""
    images, rows = side.images, np.flatnonzero(chosen[side.image])
    names = None if images.names is None else [images.names[i] for i in np.flatnonzero(chosen)]
    ids = None if images.ids is None else images.ids[chosen]
    few = Images(names, ids, widths=images.widths[chosen], heights=images.heights[chosen])
    return replace(side.take(rows), images=few, image=(np.cumsum(chosen) - 1)[side.image[rows]].astype(np.int32))


def split(sides: Sides, rng: np.random.Generator, count: int) -> list[Sides]:
    """Every image in one of so many parts; a part may have none."""
    place = rng.integers(0, count, len(sides[0].images))
    return [(take_images(sides[0], place == i), take_images(sides[1], place == i)) for i in range(count)]


def merge_in_any_way(parts: list[EvaluationState], rng: np.random.Generator) -> EvaluationState:
    """By a random tree, some of its branches through bytes."""
    while len(parts) > 1:
        some = rng.permutation(len(parts))[: int(rng.integers(2, 4))]
        merged = EvaluationState.merge(*(parts[i] for i in some))
        if rng.random() < 0.5:
            merged = EvaluationState.from_bytes(merged.to_bytes())
        parts = [part for i, part in enumerate(parts) if i not in some] + [merged]
    return parts[0]


def evaluate(sides: Sides, on: Any = "box", **more: Any) -> Evaluation:
    return Evaluation(*sides, rules_of(CocoSettings(on=on, **more)))


def assert_same_numbers(found: MergedNumbers, whole: Evaluation) -> None:
    assert np.array_equal(found.native.precision, whole.native.precision, equal_nan=True)
    assert np.array_equal(found.native.recall, whole.native.recall, equal_nan=True)
    assert found.counts == whole.counts
    for name in ("precision", "recall", "scores"):
        assert np.array_equal(getattr(found.arrays, name), getattr(whole.arrays, name), equal_nan=True)


@pytest.mark.thorough
@pytest.mark.parametrize("on", ["box", "mask", "boundary"])
def test_any_partition_and_any_tree_gives_the_bytes_and_the_numbers_of_the_whole(tmp_path: Path, on: Any) -> None:
    for seed in range(80 if on == "box" else 20):
        rng = np.random.default_rng(seed)
        sides = read(tmp_path, *(random_set(seed) if on == "box" else random_mask_set(seed)))
        whole = evaluate(sides, on)
        parts = [evaluate(some, on).part() for some in split(sides, rng, int(rng.integers(1, 6)))]
        merged = merge_in_any_way(parts, rng)
        assert merged.to_bytes() == whole.part().to_bytes() == EvaluationState.merge(*parts).to_bytes()
        assert_same_numbers(MergedNumbers(parts, sides[0].labels), whole)
        assert_same_numbers(MergedNumbers([merged], sides[0].labels, threads=2), whole)


def test_many_thresholds_ranges_and_limits_and_classes_as_one_survive_merging(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    sides = read(tmp_path, *random_set(3))
    more: dict[str, Any] = {
        "iou": [i / 40 for i in range(1, 38)],
        "areas": {f"{i}": (i * 100.0, 1e5) for i in range(9)},
        "max_dets": [1, 2, 3, 50],
        "class_agnostic": True,
    }
    parts = [evaluate(some, **more).part() for some in split(sides, rng, 3)]
    assert_same_numbers(MergedNumbers(parts, sides[0].labels, class_agnostic=True), evaluate(sides, **more))


@pytest.mark.parametrize("digits", ["four", "single", "all"])
def test_confidences_come_back_to_the_last_bit_in_few_bytes(digits: str) -> None:
    rng = np.random.default_rng(2)
    count, images = 60_000, 2_000
    confidence = {
        "four": np.round(rng.random(count), 4),
        "single": rng.random(count, dtype=np.float32).astype(np.float64),
        "all": rng.normal(size=count) * 1e3,
    }[digits]
    ids = Images(None, np.sort(rng.choice(10**6, images, replace=False)))
    corner = rng.uniform(0, 400, (count, 2))
    boxes = Regions(np.hstack([corner, corner + rng.uniform(5, 150, (count, 2))]), "xyxy")
    image, label = (rng.integers(0, n, count).astype(np.int32) for n in (images, 20))
    labels = vt.Labels(None, range(20))
    pred = vt.Annotations(ids, labels, image, label, boxes, confidence)
    chosen = rng.permutation(count)[: count // 8]
    truth = vt.Annotations(ids, labels, image[chosen], label[chosen], Regions(boxes.values[chosen] + 3, "xyxy"))
    whole = evaluate((truth, pred))
    data = whole.part().to_bytes()
    assert_same_numbers(MergedNumbers([EvaluationState.from_bytes(data)], labels), whole)
    assert len(data) / count <= (7 if digits != "all" else 7 + 8)


def test_images_without_ids_are_known_by_their_names() -> None:
    boxes = [[0, 0, 10, 10], [20, 20, 40, 40], [5, 5, 25, 25]]
    truth = vt.Annotations.of(["b.jpg", "a.jpg", "c.jpg"], ["cat", "dog", "cat"], boxes)
    pred = vt.Annotations.of(["c.jpg", "a.jpg", "b.jpg"], ["cat"] * 3, boxes, confidence=[0.5, 0.5, 0.25]).like(truth)
    chosen = np.array([True, False, True])
    parts = [
        evaluate((take_images(truth, some), take_images(pred, some))).part() for some in (chosen, ~chosen)
    ]  # fmt: skip
    merged = MergedNumbers(parts, truth.labels)
    assert merged.images.names == ("a.jpg", "b.jpg", "c.jpg")
    assert EvaluationState.merge(*parts).to_bytes() == EvaluationState.merge(*parts[::-1]).to_bytes()
    assert_same_numbers(merged, evaluate((truth, pred)))
    with pytest.raises(DataError, match=r"found image 'a.jpg' in two of them"):
        EvaluationState.merge(parts[1], parts[1])


def test_parts_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    sides = read(tmp_path, *random_set(12))
    part = evaluate(sides).part()
    assert len(part) == len(sides[0].images)
    with pytest.raises(DataError, match=r"expected every image once, found image \d+ in two of them"):
        EvaluationState.merge(part, part)
    assert EvaluationState.merge(part, part, takes_first=True).to_bytes() == part.to_bytes()
    other = Evaluation(*sides, Rules((0.5,), recalls=RECALLS)).part()
    with pytest.raises(DataError, match="expected the same rules and classes"):
        EvaluationState.merge(part, other)


def test_an_image_that_is_in_two_parts_is_that_of_the_first(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    for seed in range(12):
        sides = read(tmp_path, *random_set(seed))
        place = rng.integers(0, 3, len(sides[0].images))
        empty = replace(sides[1].take([]), confidence=np.empty(0))
        first, second = (take_images(sides[0], place < 2), take_images(sides[0], place > 0))
        parts = [
            evaluate((first, take_images(sides[1], place < 2))).part(),
            evaluate((second, take_images(sides[1], place > 0))).part(),
        ]
        assert_same_numbers(MergedNumbers(parts, sides[0].labels, takes_first=True), evaluate(sides))
        parts[1] = evaluate((second, take_images(empty, place > 0))).part()
        without = sides[1].where((place < 2)[sides[1].image])
        assert_same_numbers(MergedNumbers(parts, sides[0].labels, takes_first=True), evaluate((sides[0], without)))


def test_damaged_bytes_give_one_clear_error(tmp_path: Path, many: Callable[[int], int]) -> None:
    data = evaluate(read(tmp_path, *random_set(5))).part().to_bytes()
    rng = np.random.default_rng(0)
    for _ in range(many(5000)):
        mutated = bytearray(data)
        kind = rng.random()
        if kind < 0.3:
            del mutated[int(rng.integers(len(mutated))) :]
        elif kind < 0.6:
            mutated[int(rng.integers(len(mutated)))] ^= int(rng.integers(1, 256))
        elif kind < 0.8:
            at = int(rng.integers(len(mutated)))
            mutated[at:at] = rng.bytes(int(rng.integers(1, 40)))
        else:
            first, last = sorted(rng.integers(0, len(mutated), 2).tolist())
            del mutated[first : last + 1]
        with pytest.raises(DataError, match="expected a part"):
            EvaluationState.from_bytes(bytes(mutated))
    with pytest.raises(DataError, match="expected a part of version 1, found version 2; make it again"):
        EvaluationState.from_bytes(data[:12] + b"\x02" + data[13:])


def test_a_liar_with_the_right_digest_cannot_read_beyond_its_bytes(tmp_path: Path) -> None:
    from verite import _core

    data = evaluate(read(tmp_path, *random_set(5))).part().to_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(3000):
        mutated = bytearray(data[:-8])
        for _ in range(int(rng.integers(1, 4))):
            mutated[int(rng.integers(13, len(mutated)))] = int(rng.choice([0, 1, 2, 127, 128, 255, rng.integers(256)]))
        whole = bytes(mutated)
        try:
            part = EvaluationState.from_bytes(whole + _core.digest(whole).to_bytes(8, "little"))
            part.numbers()
            EvaluationState.merge(part)
        except DataError:
            refused += 1
        except MemoryError:
            pytest.fail("memory asked for what is not there")
    assert refused > 500


def test_parts_and_merged_numbers_pickle_and_say_what_they_do_not_have(tmp_path: Path) -> None:
    sides = read(tmp_path, *random_set(7))
    part = evaluate(sides).part()
    for again in (pickle.loads(pickle.dumps(part)), copy.deepcopy(part)):
        assert again.to_bytes() == part.to_bytes()
    merged = MergedNumbers([part], sides[0].labels)
    again = pickle.loads(pickle.dumps(merged))
    assert_same_numbers(again, evaluate(sides))
    assert (again.truth.digest, again.pred.digest) == (merged.truth.digest, merged.pred.digest)
    assert pickle.loads(pickle.dumps(merged.truth)).digest == merged.truth.digest
    with pytest.raises(DataError, match="outcomes: boxes and masks are not there any more"):
        merged.outcomes(0)
    assert not hasattr(merged, "something_else")


def test_digests_stand_for_each_side_however_it_was_parted(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    sides = read(tmp_path, *random_set(8))
    labels = sides[0].labels
    whole = MergedNumbers([evaluate(sides).part()], labels).digests
    parts = [evaluate(some).part() for some in split(sides, rng, 4)]
    assert MergedNumbers(parts, labels).digests == whole
    fewer = sides[0], sides[1].take(range(len(sides[1]) - 1))
    truth, pred = MergedNumbers([evaluate(fewer).part()], labels).digests
    assert truth == whole[0]
    assert pred != whole[1]
    other = sides[0].take(range(len(sides[0]) - 1)), sides[1]
    assert MergedNumbers([evaluate(other).part()], labels).digests[0] != whole[0]
