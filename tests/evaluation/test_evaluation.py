"""One evaluation asked many ways: with weights, with a changed truth, per object; the same as if it were made anew."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.oracles.coco_reference import reference
from tests.oracles.coco_sets import random_mask_set, random_set
from verite.errors import BadParameter, DataError
from verite.evaluation.changes import Changes
from verite.evaluation.evaluation import IGNORED, RIGHT, UNSEEN, WRONG, Evaluation, Rules
from verite.model.outlines import Polygons, Runs
from verite.model.regions import Regions
from verite.protocols.coco import rules_of
from verite.protocols.coco_settings import RECALLS, CocoSettings

pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")
COPIES = 64  # no weight is larger


def read(folder: Path, truth: Any, results: Any) -> tuple[vt.Annotations, vt.Annotations]:
    paths = folder / "truth.json", folder / "results.json"
    for path, document in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(document))
    found = vt.read(paths[0])
    return found, vt.read(paths[1], like=found)


def evaluate(truth: vt.Annotations, pred: vt.Annotations, on: Any = "box", threads: int = 1) -> Evaluation:
    return Evaluation(truth, pred, rules_of(CocoSettings(on=on)), threads)


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


def assert_same(found: Any, precision: Any, recall: Any) -> None:
    """Precision [range, threshold, recall, class] and recall [limit, range, threshold, class], to the last bit."""
    assert np.array_equal(found.native.precision, precision, equal_nan=True)
    assert np.array_equal(found.native.recall, recall, equal_nan=True)


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


def draw_changes(truth: vt.Annotations, seed: int) -> tuple[Any, vt.Annotations]:
    """Truths that vanish, move, get another class, appear; what is added comes behind all others."""
    rng = np.random.default_rng(seed)
    removed = np.flatnonzero(rng.random(len(truth)) < 0.4)
    again = removed[rng.random(len(removed)) < 0.7]
    copies = rng.integers(0, len(truth), int(rng.integers(0, 4)))
    added = truth.take(np.concatenate([again, copies]).astype(np.int64))
    label = np.where(rng.random(len(added)) < 0.4, rng.integers(0, len(truth.labels), len(added)), added.label)
    image = np.where(rng.random(len(added)) < 0.2, rng.integers(0, len(truth.images), len(added)), added.image)
    return removed, replace(added, image=image.astype(np.int32), label=label.astype(np.int32))


def write_out(truth: vt.Annotations, removed: Any, added: vt.Annotations) -> vt.Annotations:
    """The changed truth as a truth of its own."""
    kept = np.setdiff1d(np.arange(len(truth)), removed)
    rows = np.concatenate([kept, np.zeros(len(added), np.int64)])
    wide = truth.take(rows)
    if not len(added):
        return wide

    def join(own: Any, other: Any) -> Any:
        return None if own is None else np.concatenate([own[: len(kept)], other])

    def flags(name: str) -> Any:
        return np.concatenate([truth.flag(name)[kept], added.flag(name)])

    runs = polygons = None
    if added.regions.runs is not None or wide.regions.runs is not None:
        sides = [truth.take(kept).regions.runs, added.regions.runs]
        rows_of = [
            [(part[i], tuple(part.sizes[i])) if len(part[i]) else None for i in range(len(part))]
            if part is not None
            else [None] * count
            for part, count in zip(sides, (len(kept), len(added)), strict=True)
        ]
        runs = Runs.of(rows_of[0] + rows_of[1])
    if added.regions.polygons is not None or wide.regions.polygons is not None:
        parts = [truth.take(kept).regions.polygons, added.regions.polygons]
        objects = [
            [part[i] for i in range(len(part))] if part is not None else [[]] * count
            for part, count in zip(parts, (len(kept), len(added)), strict=True)
        ]
        polygons = Polygons.of(objects[0] + objects[1])
    sizes = np.concatenate([truth.regions.sizes[kept], added.regions.sizes])
    return replace(
        wide,
        image=join(wide.image, added.image),
        label=join(wide.label, added.label),
        area=join(wide.area, added.area),
        ids=None,
        regions=Regions(sizes, "xywh", polygons=polygons, runs=runs),
        flags={name: flags(name) for name in ("crowd", "ignore")},
    )


@pytest.mark.parametrize("first", range(0, 120, 20))
@pytest.mark.parametrize("on", ["box", "mask"])
def test_a_changed_truth_is_evaluated_as_if_it_were_written_out(tmp_path: Path, on: Any, first: int) -> None:
    compared = 0
    for seed in range(first, first + 20):
        sides = read(tmp_path, *(random_set(seed) if on == "box" else random_mask_set(seed)))
        if not len(sides[0]):
            continue
        kept = evaluate(*sides, on)
        removed, added = draw_changes(kept.truth, seed)
        anew = evaluate(write_out(kept.truth, removed, added), kept.pred, on)
        before = kept.native.precision.tobytes()
        assert_same(kept.changed(removed, added), anew.native.precision, anew.native.recall)
        weights = np.random.default_rng(seed).integers(0, 3, len(kept.truth.images))
        weighted = anew.weighted(weights)
        found = kept.changed(removed, added, weights)
        assert_same(found, weighted.native.precision, weighted.native.recall)
        assert kept.kept.numbers().precision.tobytes() == before
        compared += 1
    assert compared >= 12


OTHER_RULES = (
    rules_of(CocoSettings(class_agnostic=True)),
    rules_of(CocoSettings(ignored="explicit", max_dets=(1, 3))),
    Rules((0.3, 0.5), "corner_box", pixel=1.0, wants="best", equal="first", ties="row", recalls=RECALLS, is_open=True),
    Rules((0.5,), "corner_box", equal="first", ties="row", recalls=RECALLS, is_strict=True),
)


@pytest.mark.parametrize("rules", OTHER_RULES)
def test_a_truth_can_be_changed_by_any_rules(tmp_path: Path, rules: Rules) -> None:
    for seed in range(20):
        sides = read(tmp_path, *random_set(seed))
        if not len(sides[0]):
            continue
        kept = Evaluation(*sides, rules)
        removed, added = draw_changes(kept.truth, seed)
        anew = Evaluation(write_out(kept.truth, removed, added), kept.pred, rules)
        assert_same(kept.changed(removed, added), anew.native.precision, anew.native.recall)


def test_changes_are_of_the_truth_s_own_rows_and_classes() -> None:
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]])
    kept = evaluate(truth, truth)
    with pytest.raises(BadParameter, match="changes: expected rows of the truth, found 1"):
        kept.changed([1])
    with pytest.raises(BadParameter, match="changes: expected classes of the truth"):
        kept.changed([0], vt.Annotations.of(["a"], ["dog"], [[0, 0, 9, 9]]))
    with pytest.raises(BadParameter, match="expected images of the truth"):
        kept.changed([0], vt.Annotations.of(["b"], ["cat"], [[0, 0, 9, 9]]))


PARTS = (
    *(("precision", threshold, area, 2) for threshold in (None, 0, 5) for area in range(4)),
    *(("recall", None, area, limit) for area in (0, 2) for limit in range(3)),
)


def draw_many(truth: vt.Annotations, seed: int, draws: int) -> Changes:
    """Other truths, of which each has some of a dozen objects, with any labels."""
    rng = np.random.default_rng(seed)
    objects = truth.take(rng.integers(0, len(truth), 12))
    lists = []
    for _ in range(draws):
        removed = np.flatnonzero(rng.random(len(truth)) < 0.4)
        added = np.flatnonzero(rng.random(12) < 0.5)
        lists.append((removed, added, rng.integers(0, len(truth.labels), len(added))))
    return Changes.of(objects, *zip(*lists, strict=True))


def one_of(changes: Changes, i: int) -> tuple[Any, vt.Annotations]:
    assert changes.objects is not None
    removed, added, labels, _ = changes.draw(i)
    return removed, replace(changes.objects.take(added), label=labels)


@pytest.mark.thorough
@pytest.mark.parametrize("on", ["box", "mask"])
def test_means_of_many_draws_are_those_of_one_draw_after_the_other(tmp_path: Path, on: Any) -> None:
    compared = 0
    for seed in range(40):
        sides = read(tmp_path, *(random_set(seed) if on == "box" else random_mask_set(seed)))
        if not len(sides[0]):
            continue
        kept = evaluate(*sides, on)
        rng = np.random.default_rng(seed)
        weights = rng.integers(0, 4, (5, len(kept.truth.images)))
        changes = draw_many(kept.truth, seed, 5)
        first = draw_many(kept.truth, seed, 2)
        for asked in ((weights, None), (None, changes), (weights, changes)):
            found = kept.draw_means(PARTS, *asked)
            for i in range(5):
                own = asked[0][i] if asked[0] is not None else None
                removed, added = one_of(changes, i) if asked[1] is not None else ((), None)
                numbers = kept.changed(removed, added, own)
                expected = [numbers.mean(*part) for part in PARTS]
                assert np.allclose(found[i], expected, rtol=0, atol=1e-15, equal_nan=True)
            assert kept.draw_means(PARTS, *asked, threads=3).tobytes() == found.tobytes()
            fewer = (None if asked[0] is None else weights[:2], None if asked[1] is None else first)
            assert kept.draw_means(PARTS, *fewer).tobytes() == found[:2].tobytes()
        doubts = kept.draw_doubts(PARTS, weights, changes, ((True, False), (False, True), (True, True)))
        for k, asked in enumerate(((weights, None), (None, changes), (weights, changes))):
            assert doubts[:, k].tobytes() == kept.draw_means(PARTS, *asked).tobytes()
        compared += 1
    assert compared >= 25


def test_draws_ask_for_what_there_is(tmp_path: Path) -> None:
    kept = evaluate(*read(tmp_path, *random_set(12)))
    weights = np.ones((2, len(kept.truth.images)))
    for part, message in (
        (("precision", None, 0, 0), "precision at the last limit"),
        (("recall", 10, 0, 0), "thresholds, area ranges and limits"),
        (("recall", None, 4, 0), "thresholds, area ranges and limits"),
    ):
        with pytest.raises(BadParameter, match=message):
            kept.draw_means([part], weights)
    with pytest.raises(BadParameter, match="as many changed truths as draws"):
        kept.draw_means(PARTS, weights, Changes.of(removed=[()]))
    for changes, message in (
        (Changes.of(removed=[[10**6]]), "rows of the truth, found 1000000"),
        (Changes.of(again=[[-1]]), "rows of the truth, found -1"),
        (Changes.of(kept.truth, added=[[10**6]], labels=[[0]]), "objects that may be added, found 1000000"),
        (Changes.of(kept.truth, added=[[0]], labels=[[99]]), "classes of the truth"),
    ):
        with pytest.raises(BadParameter, match=message):
            kept.draw_means(PARTS, None, changes)


def test_a_twin_that_nobody_finds_is_an_object_far_away(tmp_path: Path) -> None:
    compared = 0
    for seed in range(30):
        sides = read(tmp_path, *random_set(seed))
        if not len(sides[0]):
            continue
        kept = evaluate(*sides)
        rng = np.random.default_rng(seed)
        rows = np.flatnonzero(~kept.truth.crowd & (rng.random(len(kept.truth)) < 0.5))
        far = np.tile([-1e6, -1e6, 1.0, 1.0], (len(rows), 1))
        twins = replace(kept.truth.take(rows), regions=Regions(far, "xywh"))
        weights = rng.integers(0, 3, (1, len(kept.truth.images)))
        for given in (None, weights):
            numbers = kept.changed((), twins, None if given is None else given[0])
            found = kept.draw_means(PARTS, given, Changes.of(again=[rows]))[0]
            assert np.allclose(found, [numbers.mean(*part) for part in PARTS], rtol=0, atol=1e-15, equal_nan=True)
        compared += 1
    assert compared >= 20


def test_draws_may_ask_for_some_classes(tmp_path: Path) -> None:
    kept = evaluate(*read(tmp_path, *random_set(12)))
    classes = [i % 2 == 0 for i in range(len(kept.truth.labels))]
    weights = np.random.default_rng(0).integers(0, 3, (3, len(kept.truth.images)))
    for part in PARTS:
        found = kept.draw_means([(*part, classes)], weights)[:, 0]
        expected = [kept.weighted(row).mean(*part, classes) for row in weights]
        assert np.allclose(found, expected, rtol=0, atol=1e-15, equal_nan=True)
    with pytest.raises(BadParameter, match="a flag for each class"):
        kept.draw_means([(*PARTS[0], [True])], weights)


@pytest.mark.parametrize("weight", [0.5, 1 / 3, 300.0])
def test_draws_take_weights_that_are_no_small_whole_numbers(tmp_path: Path, weight: float) -> None:
    for seed in (3, 12, 17):
        kept = evaluate(*read(tmp_path, *random_set(seed)))
        rng = np.random.default_rng(seed)
        weights = weight * rng.integers(0, 3, (2, len(kept.truth.images)))
        changes = draw_many(kept.truth, seed, 2)
        found = kept.draw_means(PARTS, weights, changes)
        for i in range(2):
            numbers = kept.changed(*one_of(changes, i), weights[i])
            assert np.allclose(found[i], [numbers.mean(*part) for part in PARTS], rtol=0, atol=1e-15, equal_nan=True)


def test_a_sum_over_all_recalls_asks_for_whole_weights(tmp_path: Path) -> None:
    results = vt.voc(*read(tmp_path, *random_set(12)), checks="off")
    with pytest.raises(BadParameter, match="whole numbers up to 255"):
        results.evaluation.draw_means([results.part_of("mAP")], np.full((1, len(results.truth.images)), 0.5))


@pytest.mark.parametrize("interpolation", ["all", "11"])
def test_draws_of_pascal_voc_s_precision_are_its_own_numbers(tmp_path: Path, interpolation: Any) -> None:
    compared = 0
    for seed in range(40):
        sides = read(tmp_path, *random_set(seed))
        if not len(sides[0]):
            continue
        results = vt.voc(*sides, interpolation=interpolation, checks="off")
        kept, changes = results.evaluation, draw_many(results.truth, seed, 3)
        found = kept.draw_means([results.part_of("mAP")], None, changes)[:, 0]
        for i in range(3):
            other = write_out(kept.truth, *one_of(changes, i))
            expected = vt.voc(other, kept.pred, interpolation=interpolation, checks="off")["mAP"].value
            assert found[i] == pytest.approx(expected, abs=1e-15, nan_ok=True)
        ones = np.ones((1, len(kept.truth.images)))
        plain = kept.draw_means([results.part_of("mAP")], ones)[0, 0]
        assert plain == pytest.approx(results["mAP"].value, abs=1e-15, nan_ok=True)
        compared += 1
    assert compared >= 25


def test_more_than_sixteen_thresholds_are_changed_and_weighted_too(tmp_path: Path) -> None:
    truth, pred = read(tmp_path, *random_set(7))
    rules = Rules(tuple(np.linspace(0.2, 0.9, 37).tolist()), recalls=RECALLS, ignored=("crowd",), shared=("crowd",))
    kept = Evaluation(truth, pred, rules)
    removed, added = draw_changes(truth, 7)
    anew = Evaluation(write_out(truth, removed, added), pred, rules)
    assert_same(kept.changed(removed, added), anew.native.precision, anew.native.recall)
    for i, threshold in enumerate(rules.thresholds):
        alone = Evaluation(truth, pred, Rules((threshold,), recalls=RECALLS, ignored=("crowd",), shared=("crowd",)))
        assert np.array_equal(kept.native.precision[:, i], alone.native.precision[:, 0], equal_nan=True)


def test_draws_may_be_asked_for_on_threads(tmp_path: Path) -> None:
    kept = evaluate(*read(tmp_path, *random_set(12)))
    draws = [draw_changes(kept.truth, seed) for seed in range(24)]
    expected = [kept.changed(*draw).native.precision.tobytes() for draw in draws]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda draw: kept.changed(*draw).native.precision.tobytes(), draws))
    assert found == expected


@pytest.mark.parametrize("on", ["box", "mask", "boundary"])
def test_any_number_of_threads_gives_the_same_bytes(tmp_path: Path, on: Any) -> None:
    for seed in (5, 21, 40):
        sides = read(tmp_path, *(random_set(seed) if on == "box" else random_mask_set(seed)))
        weights = np.arange(len(sides[0].images)) % 3
        found = []
        for threads in (1, 2, 3, 7):
            kept = evaluate(*sides, on, threads)
            arrays = kept.arrays
            outcomes = kept.outcomes(2, 1)
            found.append(
                [a.tobytes() for a in (arrays.precision, arrays.recall, arrays.scores)]
                + [kept.weighted(weights).native.precision.tobytes(), outcomes.state.tobytes()]
                + [repr(kept.by_image())]
            )
        assert all(one == found[0] for one in found)


def test_outcomes_say_who_took_whom() -> None:
    truth = vt.Annotations.of(
        ["a", "a", "a"], ["cat"] * 3, [[0, 0, 10, 10], [20, 0, 30, 10], [40, 0, 60, 20]], crowd=[False, False, True]
    )
    pred = vt.Annotations.of(
        ["a"] * 5,
        ["cat"] * 4 + ["dog"],
        [[0, 0, 10, 10], [0, 0, 10, 9], [41, 1, 51, 11], [20, 0, 30, 4], [0, 0, 9, 9]],
        confidence=[0.9, 0.8, 0.7, 0.6, 0.5],
    )
    kept = evaluate(truth, pred.like(truth))
    found = kept.outcomes(0)
    assert found.state.tolist() == [RIGHT, WRONG, IGNORED, WRONG, UNSEEN]  # nobody asks for dogs
    assert found.truth.tolist() == [0, -1, 2, -1, -1]
    assert found.overlap[[0, 2]].tolist() == [1.0, 1.0]
    assert np.isnan(found.overlap[[1, 3, 4]]).all()
    assert found.pred.tolist() == [0, -1, 2]
    assert found.is_asked.tolist() == [True, True, False]
    with pytest.raises(BadParameter, match="outcomes: expected one of the thresholds"):
        kept.outcomes(10)


def test_an_image_by_itself_is_an_evaluation_of_that_image(tmp_path: Path) -> None:
    for seed in (2, 8, 33):
        kept = evaluate(*read(tmp_path, *random_set(seed)))
        found = kept.by_image()
        for i, position in enumerate(found["image"]):
            own = Evaluation(
                kept.truth.where(kept.truth.image == position), kept.pred.where(kept.pred.image == position), kept.rules
            )
            values = [v for v in own.class_means("precision", None, 0, 2) if not np.isnan(v)]
            expected = np.mean(values) if values else np.nan
            assert found["precision"][i] == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_an_evaluation_is_pickled_as_what_it_is_made_of() -> None:
    truth = vt.Annotations.of(["a", "b"], ["cat", "dog"], [[0, 0, 10, 10], [20, 0, 30, 10]])
    pred = vt.Annotations.of(["a", "b"], ["cat", "dog"], [[0, 0, 10, 6], [20, 0, 30, 9]], confidence=[0.9, 0.8])
    kept = evaluate(truth, pred)
    for other in (pickle.loads(pickle.dumps(kept)), copy.deepcopy(kept)):
        assert_same(other, kept.native.precision, kept.native.recall)


def test_best_of_all_is_taken_or_none() -> None:
    """Pascal VOC's rule: who comes second for the truth it overlaps most does not take another."""
    truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [0, 2, 10, 12]])
    pred = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [0, 0, 10, 11]], confidence=[0.9, 0.8])
    states = {}
    for wants in ("best", "free"):
        kept = Evaluation(truth, pred, Rules((0.5,), "corner_box", wants=wants, equal="first"))
        states[wants] = kept.outcomes().state.tolist()
    assert states == {"best": [RIGHT, WRONG], "free": [RIGHT, RIGHT]}


def test_truths_may_ask_for_more_than_the_threshold() -> None:
    truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [20, 0, 30, 10]])
    pred = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 6], [20, 0, 30, 6]], confidence=[0.9, 0.8])
    kept = Evaluation(truth, pred, Rules((0.5,), "corner_box"), least=np.array([0.5, 0.7]))
    assert kept.outcomes().state.tolist() == [RIGHT, WRONG]


def test_rules_that_are_none_are_refused() -> None:
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]])
    for rules, message in (
        (Rules(()), "a threshold"),
        (Rules((0.5,), "circle"), "expected one of box, mask, boundary, keypoints, rotated, corner_box, found circle"),
        (Rules((0.5,), limits=(10, 1)), "rising numbers"),
        (Rules((0.5,), recalls=(1.0, 0.0)), "recalls that rise"),
    ):
        with pytest.raises(DataError, match=message):
            Evaluation(truth, truth, rules)
