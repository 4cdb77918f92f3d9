"""LVIS against the package `lvis`, an independent slow implementation, and cases worked by hand."""

from __future__ import annotations

import json
from copy import deepcopy

import numpy as np
import pytest

import verite as vt
from tests.oracles import lvis as oracle
from tests.oracles import lvis_package as package
from tests.oracles.coco_sets import random_mask_set, random_set
from verite.evaluation.evaluation import FALSE_POSITIVE, TRUE_POSITIVE

pytest.importorskip("lvis", reason="needs the package lvis, which `make test` installs")
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
THIRTEEN = ("AP", "AP50", "AP75", "APs", "APm", "APl", "APr", "APc", "APf", "AR300", "ARs", "ARm", "ARl")


def federated(seed, make=random_set):
    """A random COCO set in which some classes were looked for in vain, and some not everywhere marked."""
    truth, results = make(seed)
    rng = np.random.default_rng([seed, 2])
    ids = [c["id"] for c in truth["categories"]]
    for image in truth["images"]:
        there = {a["category_id"] for a in truth["annotations"] if a["image_id"] == image["id"]}
        image["neg_category_ids"] = [c for c in ids if c not in there and rng.random() < 0.4]
        image["not_exhaustive_category_ids"] = [c for c in ids if rng.random() < 0.3]
    for category in truth["categories"]:
        category["frequency"] = str(rng.choice(["r", "c", "f"]))
    return truth, results


def written(folder, truth, results):
    paths = folder / "truth.json", folder / "results.json"
    for path, document in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(document))
    return paths


def evaluated(folder, truth, results, **settings):
    paths = written(folder, truth, results)
    read = vt.read(paths[0], format="lvis")
    return vt.lvis(read, vt.read(paths[1], like=read), checks="off", **settings)


def assert_equal(found, expected):
    for key, value in expected.items():
        mine = found.scores[key].value
        assert np.isnan(mine) if value is None else mine == pytest.approx(value, abs=1e-12), key


@pytest.mark.parametrize("block", range(10))
def test_boxes_equal_the_package(block, tmp_path):
    compared = 0
    for seed in range(1000 * block, 1000 * block + 25):
        truth, results = federated(seed)
        if not results:
            continue  # the package cannot load an empty list
        expected = package.numbers(written(tmp_path, truth, results)[0], deepcopy(results), "bbox")
        assert_equal(evaluated(tmp_path, truth, results), expected)
        compared += 1
    assert compared > 18


@pytest.mark.parametrize("block", range(8))
def test_masks_equal_the_package(block, tmp_path):
    compared = 0
    for seed in range(1000 * block + 500, 1000 * block + 516):
        truth, results = federated(seed, random_mask_set)
        if not results:
            continue
        expected = package.numbers(written(tmp_path, truth, results)[0], deepcopy(results), "segm")
        assert_equal(evaluated(tmp_path, truth, results, on="mask"), expected)
        compared += 1
    assert compared > 9


@pytest.mark.parametrize("block", range(6))
def test_limit_of_an_image_is_the_packages(block, tmp_path):
    compared = 0
    for seed in range(1000 * block + 700, 1000 * block + 712):
        truth, results = federated(seed)
        if not results:
            continue
        path = written(tmp_path, truth, results)[0]
        expected = package.numbers(path, deepcopy(results), "bbox", max_dets=5)
        expected["AR5"] = expected.pop("AR300")
        assert_equal(evaluated(tmp_path, truth, results, max_dets=5), expected)
        compared += 1
    assert compared > 6


@pytest.mark.parametrize("block", range(10))
def test_equals_the_slow_oracle_on_random_sets(block, tmp_path, many):
    for seed in range(2000 * block + 40, 2000 * block + 40 + many(31)):
        truth, results = federated(seed)
        assert_equal(evaluated(tmp_path, truth, results), oracle.numbers(truth, results))


BOX = [0, 0, 40, 40]  # medium


def one_image(truths, preds, *, absent=(), incomplete=()):
    """One image; truths are (class, box), preds (class, box, score). Classes 1, 2, 3 are rare, common, frequent."""
    truth = {
        "images": [{"id": 1, "width": 100, "height": 100, "neg_category_ids": list(absent),
                    "not_exhaustive_category_ids": list(incomplete)}],
        "annotations": [
            {"id": i + 1, "image_id": 1, "category_id": c, "bbox": b, "area": b[2] * b[3]}
            for i, (c, b) in enumerate(truths)
        ],
        "categories": [{"id": i + 1, "name": n, "frequency": n[0]} for i, n in enumerate(("rat", "cat", "fox"))],
    }  # fmt: skip
    return truth, [{"image_id": 1, "category_id": c, "bbox": b, "score": s} for c, b, s in preds]


def counts_of(results, label):
    """Hits and false ones at the first threshold."""
    state = results.evaluation.outcomes().state
    own = results.pred.label == results.truth.labels.index_of_name[label]
    return int((state[own] == TRUE_POSITIVE).sum()), int((state[own] == FALSE_POSITIVE).sum())


def test_prediction_of_a_class_that_nobody_looked_for_is_left_out(tmp_path):
    preds = [(1, BOX, 0.5), (2, BOX, 0.9), (3, BOX, 0.9)]
    results = evaluated(tmp_path, *one_image([(1, BOX)], preds, absent=[3]))
    assert counts_of(results, "rat") == (1, 0)
    assert counts_of(results, "cat") == (0, 0)
    assert counts_of(results, "fox") == (0, 1)


def test_prediction_that_finds_nothing_is_spared_where_not_all_are_marked(tmp_path):
    preds = [(1, [60, 60, 40, 40], 0.9), (1, BOX, 0.5)]
    truth, results = one_image([(1, BOX)], preds)
    assert evaluated(tmp_path, truth, results).scores["AP"].value == pytest.approx(0.5)
    truth["images"][0]["not_exhaustive_category_ids"] = [1]
    spared = evaluated(tmp_path, truth, results)
    assert spared.scores["AP"].value == pytest.approx(1)
    assert counts_of(spared, "rat") == (1, 0)


def test_means_over_rare_common_and_frequent_classes(tmp_path):
    truth, results = one_image([(1, BOX), (2, BOX)], [(1, BOX, 0.9)])
    found = evaluated(tmp_path, truth, results)
    assert found.scores["APr"].value == pytest.approx(1)
    assert found.scores["APc"].value == 0
    assert np.isnan(found.scores["APf"].value)
    assert found.scores["AP"].value == pytest.approx(0.5)


def test_only_the_best_predictions_of_an_image_count_over_all_classes(tmp_path):
    preds = [(2, BOX, 0.9)] * 3 + [(1, BOX, 0.5)]
    truth, results = one_image([(1, BOX), (2, BOX)], preds)
    assert evaluated(tmp_path, truth, results, max_dets=3).scores["APr"].value == 0
    assert evaluated(tmp_path, truth, results, max_dets=4).scores["APr"].value == pytest.approx(1)


def test_of_equal_confidences_the_first_in_the_file_counts(tmp_path):
    truth, results = one_image([(1, BOX)], [(1, [60, 60, 40, 40], 0.5), (1, BOX, 0.5)])
    assert evaluated(tmp_path, truth, results, max_dets=1).scores["AP"].value == 0


def test_overlap_on_the_threshold_counts(tmp_path):
    # 40 × 40 against 40 × 20 of it: 0.5. Nothing but AP50 is reached.
    truth, results = one_image([(1, BOX)], [(1, [0, 0, 40, 20], 0.9)])
    found = evaluated(tmp_path, truth, results)
    assert found.scores["AP50"].value == pytest.approx(1)
    assert found.scores["AP"].value == pytest.approx(0.1)


def test_explicit_ignore_is_honoured_and_crowds_are_not(tmp_path):
    truth, results = one_image([(1, BOX), (1, [60, 60, 40, 40])], [(1, BOX, 0.9), (1, [60, 60, 40, 40], 0.8)])
    truth["annotations"][0]["ignore"] = 1
    truth["annotations"][1]["iscrowd"] = 1
    found = evaluated(tmp_path, truth, results)
    assert found.evaluation.counts[0][0] == 1
    assert found.scores["AP"].value == pytest.approx(1)


def test_json_has_the_documented_keys(tmp_path):
    truth, results = one_image([(1, BOX)], [(1, BOX, 0.9)])
    found = evaluated(tmp_path, truth, results)
    document = json.loads(found.to_json())
    assert [key for key in document if key in THIRTEEN] == list(THIRTEEN)
    assert document["protocol"] == "lvis"
    assert document["APf"] is None
    assert document["classes"]["rat"]["frequency"] == "r"
    assert document["signature"] == (
        "lvis|on:box|iou:0.50:0.05:0.95|areas:all,small,medium,large|max_dets:300 per image|classes:federated|"
        "ignored:explicit|rev:1"
    )
    assert str(found.scores["APr"].signature).endswith("|frequency:rare")


def test_empty_results_are_zero(tmp_path):
    truth, _ = one_image([(1, BOX)], [])
    assert evaluated(tmp_path, truth, []).scores["AP"].value == 0


def test_only_the_named_classes_count_and_the_limit_is_over_all(tmp_path):
    truth, results = one_image([(1, BOX), (2, BOX)], [(2, BOX, 0.9), (1, BOX, 0.5)])
    assert evaluated(tmp_path, truth, results, labels=["rat"]).scores["AP"].value == pytest.approx(1)
    assert evaluated(tmp_path, truth, results, labels=["rat"], max_dets=1).scores["AP"].value == 0


def test_lvis_file_is_recognised_wherever_its_lists_are(tmp_path):
    truth, _ = one_image([(1, BOX)] * 2000, [])
    path = tmp_path / "truth.json"
    for keys in (("images", "categories", "annotations"), ("annotations", "images", "categories")):
        path.write_text(json.dumps({key: truth[key] for key in keys}))
        read = vt.read(path)
        assert read.source.format == "lvis"
        assert read.labels.groups == ("r", "c", "f")


def test_written_file_is_the_same_again(tmp_path):
    truth, results = federated(11)
    path = written(tmp_path, truth, results)[0]
    read = vt.read(path)
    assert vt.write(read, tmp_path / "again.json", "lvis") == ()
    again = vt.read(tmp_path / "again.json")
    assert again.digest == read.digest
    assert again.verdicts.kind.tolist() == read.verdicts.kind.tolist()


def test_coco_truth_is_refused_with_the_remedy(tmp_path):
    truth, results = one_image([(1, BOX)], [])
    for image in truth["images"]:
        del image["neg_category_ids"], image["not_exhaustive_category_ids"]
    paths = written(tmp_path, truth, results)
    with pytest.raises(vt.ReadError, match=r"images\[0\]: expected a key 'neg_category_ids', found none; .*\(V414\)"):
        vt.read(paths[0], format="lvis")
    read = vt.read(paths[0], format="coco")
    with pytest.raises(
        vt.DataError, match=r"expected LVIS ground truth, found one without .*verite.read\(…, format=.lvis.\)"
    ):
        vt.lvis(read, read)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t["categories"][1].update(frequency="x"),
            r"categories\[1\].frequency: expected .*\"r\", \"c\" or \"f\"",
        ),
        (lambda t: t["categories"][1].pop("frequency"), r"categories\[1\]: expected a key 'frequency', found none"),
        (
            lambda t: t["images"][0].update(neg_category_ids=[7]),
            r"images\[0\].neg_category_ids: expected ids out of categories, found 7",
        ),
        (
            lambda t: t["images"][0].update(neg_category_ids=["1"]),
            r"images\[0\].neg_category_ids: expected a number, found a string",
        ),
        (
            lambda t: t["images"][0].update(not_exhaustive_category_ids=None),
            r"images\[0\]: expected a key .not_exhaustive_category_ids., found none",
        ),
    ],
)
def test_broken_lists_are_one_line(tmp_path, change, message):
    truth, results = one_image([(1, BOX)], [])
    change(truth)
    with pytest.raises(vt.ReadError, match=message) as caught:
        vt.read(written(tmp_path, truth, results)[0], format="lvis")
    assert str(caught.value).isprintable()


def test_boundaries_are_not_for_lvis(tmp_path):
    truth, results = one_image([(1, BOX)], [])
    with pytest.raises(vt.BadParameter, match="on: expected box or mask, found 'boundary'"):
        evaluated(tmp_path, truth, results, on="boundary")
