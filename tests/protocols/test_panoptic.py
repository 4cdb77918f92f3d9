"""Panoptic quality against an independent slow implementation and cases worked by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import verite as vt
from tests.oracles import panoptic as oracle
from tests.panoptic_files import CLASSES, save_png, write_side

NAMES = {id: name for id, name, _ in CLASSES}
GROUPS = {"": list(NAMES), "_things": [i for i, _, t in CLASSES if t], "_stuff": [i for i, _, t in CLASSES if not t]}


def random_side(rng, shape, crowd_rate, base=None):
    """Rectangles painted over each other, or another side's segments with some of them cut; ids up to 256³."""
    ids = np.zeros(shape, dtype=np.int64) if base is None else base[0].copy()
    segments = {} if base is None else dict(base[1])
    for _ in range(rng.integers(0, 6)):
        y, x = (rng.integers(0, side) for side in shape)
        number = int(rng.choice([0, rng.integers(1, 300), rng.integers(1, 256**3)]))
        ids[y : y + rng.integers(1, 6), x : x + rng.integers(1, 6)] = number
        if number:
            segments[number] = (int(rng.choice(list(NAMES))), bool(rng.random() < crowd_rate))
    there = set(ids.ravel().tolist())
    return ids, {s: facts for s, facts in segments.items() if s in there}


def random_set(rng):
    """Images whose predictions are mostly a spoiled truth."""
    found = {}
    for image in range(1, int(rng.integers(1, 4)) + 1):
        shape = tuple(int(side) for side in rng.integers(1, 9, 2))
        truth = random_side(rng, shape, 0.3)
        base = truth if rng.random() < 0.7 else None
        pred_ids, pred_segments = random_side(rng, shape, 0.0, base)
        found[image] = (truth, (pred_ids, {s: (c, False) for s, (c, _) in pred_segments.items()}))
    return found


@pytest.mark.parametrize(("block", "rim"), [*((i, None) for i in range(10)), *((i, 0.02) for i in range(4)), (4, 0.2)])
def test_equals_the_slow_oracle_on_random_sets(block, rim, tmp_path):
    rng = np.random.default_rng([2018, block])
    more = {} if rim is None else {"on": "boundary", "rim": rim}
    seen = np.zeros(3, dtype=int)
    for n in range(32):
        images = random_set(rng)
        sides = [{i: (s[k][0].tolist(), s[k][1]) for i, s in images.items()} for k in (0, 1)]
        truth = vt.read(write_side(tmp_path, f"truth{n}", sides[0]))
        pred = vt.read(write_side(tmp_path, f"pred{n}", sides[1], is_truth=False), like=truth)
        results = vt.panoptic(truth, pred, checks="off", **more)
        both = [(sides[0][i][0], sides[1][i][0], sides[0][i][1], sides[1][i][1]) for i in images]
        expected = oracle.counts(both, NAMES, rim)
        for k, id in enumerate(NAMES):
            iou, tp, fp, fn = expected[id]
            counts = results.counts
            assert (counts.tp[k], counts.fp[k], counts.fn[k]) == (tp, fp, fn)
            assert counts.iou[k] == pytest.approx(float(iou), abs=1e-12)
            seen += [tp, fp, fn]
        for suffix, chosen in GROUPS.items():
            values = oracle.means(expected, chosen)
            for i, measure in enumerate(("PQ", "SQ", "RQ")):
                found = results.scores[f"{measure}{suffix}"].value
                assert np.isnan(found) if values is None else found == pytest.approx(values[i], abs=1e-12)
    assert seen.min() > 10  # matches, false and missed ones were all there


@pytest.mark.parametrize("number", [1, 10])  # boundary-iou-api writes 10, the largest class id + 1, into the inside
def test_boundary_quality_by_hand(number, tmp_path):
    # A square of 6 × 6 in an image of 8 × 8, predicted one column further to the right. Boundaries of one pixel have
    # 20 pixels each and share 10: the upper and lower sides but for one pixel. Masks: 30 / 42, boundaries: 10 / 30.
    truth, pred = np.zeros((8, 8), int), np.zeros((8, 8), int)
    truth[1:7, 1:7], pred[1:7, 2:8] = number, number
    truth[truth == 0] = 2  # no void pixels
    ids = truth.tolist(), {number: (2, False), 2: (1, False)}, pred.tolist(), {number: 2}
    masks, boundaries = (evaluated(tmp_path, *ids, on=on) for on in ("mask", "boundary"))
    assert row_of(masks, "cat") == (pytest.approx(30 / 42), 1, 0, 0)
    assert row_of(boundaries, "cat") == (0, 0, 1, 1)
    # With a rim of two pixels (0.17 × 11.3) boundaries have 32 pixels each and share 24.
    wide = evaluated(tmp_path, *ids, on="boundary", rim=0.17)
    assert row_of(wide, "cat") == (pytest.approx(24 / 40), 1, 0, 0)
    assert "on:boundary|rim:0.17" in str(wide.signature)
    with pytest.raises(vt.BadParameter, match=r"rim: expected none with on mask, found 0\.17"):
        evaluated(tmp_path, *ids, rim=0.17)


def large_set(seed):
    """Ellipses, shifted and scaled a little in the predictions, around void pixels and one crowd per class at most."""
    rng = np.random.default_rng([2021, seed])
    found = {}
    for image in range(1, 7):
        height, width = (int(n) for n in rng.integers(90, 160, 2))
        y, x = np.mgrid[:height, :width]
        sides = [(np.zeros((height, width), dtype=np.int64), {}), (np.zeros((height, width), dtype=np.int64), {})]
        crowds = set()
        for number in range(300, 312):
            name = int(rng.choice(list(NAMES)))
            is_crowd = bool(rng.random() < 0.2) and name not in crowds
            crowds |= {name} if is_crowd else set()
            cy, cx, ry, rx = rng.uniform([0, 0, 12, 12], [height, width, 40, 40])
            for k, (ids, segments) in enumerate(sides):
                dy, dx, zoom = rng.normal([0, 0, 1], [1, 1, 0.05]) if k else (0, 0, 1)
                ids[((y - cy - dy) / ry / zoom) ** 2 + ((x - cx - dx) / rx / zoom) ** 2 < 1] = number
                segments[number] = (name, is_crowd and not k)
        found[image] = tuple((ids, {n: s[n] for n in np.unique(ids).tolist() if n}) for ids, s in sides)
    return found


# PQ, SQ and RQ of all classes from boundary-iou-api (`pq_compute_single_core`, dilation ratio 0.02 and 0.05) on
# `large_set(seed)`.
BOUNDARY_PQ = {
    (1, 0.02): (0.4875850310096313, 0.6624789489207058, 0.7347639847639849),
    (1, 0.05): (0.7077418397891326, 0.8047521022719644, 0.87999687999688),
    (2, 0.02): (0.6130693981981025, 0.6799400760068294, 0.8998511904761906),
    (2, 0.05): (0.8105227609974939, 0.8259640904166761, 0.9821428571428572),
}


@pytest.mark.parametrize(("seed", "rim"), BOUNDARY_PQ)
def test_boundary_quality_is_that_of_its_authors_code(seed, rim, tmp_path):
    images = large_set(seed)
    sides = [{i: (s[k][0].tolist(), s[k][1]) for i, s in images.items()} for k in (0, 1)]
    truth = vt.read(write_side(tmp_path, "truth", sides[0]))
    pred = vt.read(write_side(tmp_path, "pred", sides[1], is_truth=False), like=truth)
    results = vt.panoptic(truth, pred, on="boundary", rim=rim)
    assert [results[name].value for name in ("PQ", "SQ", "RQ")] == pytest.approx(BOUNDARY_PQ[seed, rim], abs=1e-12)


def evaluated(tmp_path, truth_ids, truths, pred_ids, preds, **more):
    """One image; segments map an id to (class, is crowd), those of predictions to a class."""
    truth = vt.read(write_side(tmp_path, "truth", {7: (truth_ids, truths)}))
    pred_segments = {s: (c, False) for s, c in preds.items()}
    pred = vt.read(write_side(tmp_path, "pred", {7: (pred_ids, pred_segments)}, is_truth=False), like=truth)
    return vt.panoptic(truth, pred, **more)


def row_of(results, name):
    k = results.class_names.index(name)
    c = results.counts
    return float(c.iou[k]), int(c.tp[k]), int(c.fp[k]), int(c.fn[k])


def test_worked_example_with_void_and_crowd(tmp_path):
    # sky: 4 shared, truth 4, pred 6 of which 1 void: 4 / (4 + 6 - 4 - 1). cat: 3 shared of 4 and 4: 3/5.
    # The third prediction lies in the crowd of its class and is left out.
    results = evaluated(
        tmp_path,
        [[1, 1, 1000, 1000], [1, 1, 1000, 70000], [0, 0, 1000, 70000]],
        {1: (1, False), 1000: (2, False), 70000: (2, True)},
        [[5, 5, 5, 6], [5, 5, 6, 6], [0, 5, 6, 7]],
        {5: 1, 6: 2, 7: 2},
    )
    assert row_of(results, "sky") == (pytest.approx(4 / 5), 1, 0, 0)
    assert row_of(results, "cat") == (pytest.approx(3 / 5), 1, 0, 0)
    assert results.scores["PQ"].value == pytest.approx(0.7)
    assert results.scores["PQ_things"].value == pytest.approx(0.6)
    assert results.scores["PQ_stuff"].value == pytest.approx(0.8)
    (row,) = results.image_table().rows  # one image: its scores are those of the dataset
    assert row[1:] == pytest.approx((0.7, 0.7, 1.0))


def test_overlap_of_exactly_one_half_is_no_match(tmp_path):
    # 2 shared of 3 and 3: 2/4.
    results = evaluated(tmp_path, [[1, 1, 1, 2]], {1: (2, False), 2: (1, False)}, [[3, 4, 4, 4]], {3: 1, 4: 2})
    assert row_of(results, "cat") == (0, 0, 1, 1)


def test_void_pixels_of_the_truth_are_no_part_of_the_union(tmp_path):
    # 2 shared of 2 and 5; three of the five are void.
    results = evaluated(tmp_path, [[1, 1, 0, 0, 0]], {1: (2, False)}, [[4, 4, 4, 4, 4]], {4: 2})
    assert row_of(results, "cat") == (1, 1, 0, 0)


@pytest.mark.parametrize(("void", "is_false"), [(1, True), (2, True), (3, False)])
def test_prediction_is_left_out_only_if_more_than_half_of_it_is_void(tmp_path, void, is_false):
    truth = [[0] * void + [1] * (4 - void) + [1] * 6]
    results = evaluated(tmp_path, truth, {1: (1, False)}, [[4] * 4 + [5] * 6], {4: 2, 5: 1})
    assert row_of(results, "cat") == (0, 0, int(is_false), 0)


def test_crowd_of_another_class_spares_nobody(tmp_path):
    results = evaluated(tmp_path, [[1, 1]], {1: (9, True)}, [[4, 4]], {4: 2})
    assert row_of(results, "cat") == (0, 0, 1, 0)
    assert row_of(results, "dog") == (0, 0, 0, 0)


def test_two_crowds_of_one_class_spare_together(tmp_path):
    results = evaluated(tmp_path, [[1, 2, 3]], {1: (2, True), 2: (2, True), 3: (1, False)}, [[4, 4, 4]], {4: 2})
    assert row_of(results, "cat") == (0, 0, 0, 0)


def test_crowd_is_never_matched_nor_missed(tmp_path):
    results = evaluated(tmp_path, [[1, 1]], {1: (2, True)}, [[0, 0]], {})
    assert row_of(results, "cat") == (0, 0, 0, 0)
    assert np.isnan(results.scores["PQ"].value)
    document = json.loads(results.to_json())
    assert document["PQ"] is None
    assert document["classes"]["cat"]["PQ"] is None


def test_wrong_class_is_false_and_missed(tmp_path):
    results = evaluated(tmp_path, [[1, 1]], {1: (2, False)}, [[4, 4]], {4: 9})
    assert (row_of(results, "cat"), row_of(results, "dog")) == ((0, 0, 0, 1), (0, 0, 1, 0))
    assert results.scores["SQ"].value == 0


def test_only_the_named_classes_count(tmp_path):
    sides = [[1, 2]], {1: (2, False), 2: (9, False)}, [[4, 4]], {4: 2}
    results = evaluated(tmp_path, *sides, labels=["dog"])
    assert row_of(results, "cat") == (0, 0, 0, 0)
    assert row_of(results, "dog") == (0, 0, 0, 1)
    assert "labels:dog" in str(results.signature)
    with pytest.raises(vt.BadParameter, match="did you mean 'dog'"):
        evaluated(tmp_path, *sides, labels=["dig"])


def test_json_has_the_documented_keys(tmp_path):
    results = evaluated(tmp_path, [[1, 1]], {1: (2, False)}, [[4, 4]], {4: 2})
    document = json.loads(results.to_json())
    assert document["protocol"] == "panoptic"
    assert document["signature"] == "panoptic|on:mask|iou:>0.50|void:left out|crowd:same class|rev:1"
    assert {f"{m}{s}" for m in ("PQ", "SQ", "RQ") for s in ("", "_things", "_stuff")} <= set(document)
    cat = document["classes"]["cat"]
    assert cat == {"PQ": 1, "SQ": 1, "RQ": 1, "tp": 1, "fp": 0, "fn": 0, "iou": 1, "isthing": True}
    assert str(results.scores["PQ_things"].signature).startswith("pq|on:mask|iou:>0.50|")


def test_several_systems_are_compared(tmp_path):
    results = evaluated(tmp_path, [[1, 2]], {1: (2, False), 2: (1, False)}, [[4, 5]], {4: 2, 5: 1})
    table = str(vt.compare(results, results))
    assert "PQ_things" in table
    assert "sky" in table


def test_boxes_are_no_segments():
    side = vt.Annotations.of(["a"], ["cat"], [[0, 0, 5, 5]])
    with pytest.raises(vt.DataError, match="expected a mask for every segment, found 1 boxes"):
        vt.panoptic(side, side)


def test_segments_that_share_pixels_are_refused():
    runs = vt.RLEMasks.of([([0, 3, 1], (2, 2)), ([2, 2], (2, 2))])
    side = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 2, 2]] * 2)
    side = replace(side, regions=vt.Regions([[0, 0, 2, 2]] * 2, runs=runs))
    with pytest.raises(vt.DataError, match="expected segments that share no pixel, found two that do in image 'a'"):
        vt.panoptic(side, side)


def test_written_files_are_the_same_again(tmp_path):
    rng = np.random.default_rng(3)
    images = {i: (s[0][0].tolist(), s[0][1]) for i, s in random_set(rng).items()}
    truth = vt.read(write_side(tmp_path, "truth", images))
    assert vt.write(truth, tmp_path / "again.json", "panoptic") == ()
    again = vt.read(tmp_path / "again.json")
    assert again.labels.groups == truth.labels.groups
    assert again.digest == truth.digest


def one(tmp_path, **changes):
    return write_side(tmp_path, "truth", {7: ([[1, 2]], {1: (2, False), 2: (1, False)})}, **changes)


@pytest.mark.parametrize(
    ("segments", "place", "expected", "found"),
    [
        ([{"id": 1, "category_id": 2}], " (7.png)", "every segment of the PNG in segments_info", "2 in the PNG alone"),
        (
            [{"id": i, "category_id": 2} for i in (1, 2, 3)],
            " (7.png)",
            "pixels of every segment of segments_info in the PNG",
            "none for segment 3",
        ),
        ([{"id": 0, "category_id": 2}], ".segments_info[0].id", "an id from 1 to 16777215", "0"),
        ([{"id": 1, "category_id": 2}] * 2, ".segments_info[1].id", "each segment once", "a second 1"),
        ([{"id": 1, "category_id": 4}], ".segments_info[0].category_id", "an id out of categories", "4"),
        ([{"id": "1", "category_id": 2}], ".segments_info[0].id", "a whole number", "text"),
        ([{"category_id": 2}], ".segments_info[0]", "a key 'id'", "none"),
    ],
)
def test_broken_segments_are_one_line(tmp_path, segments, place, expected, found):
    path = one(tmp_path, annotations=[{"image_id": 7, "file_name": "7.png", "segments_info": segments}])
    with pytest.raises(vt.ReadError) as caught:
        vt.read(path)
    assert str(caught.value).startswith(f"{path}: annotations[0]{place}: expected {expected}, found {found}")


@pytest.mark.parametrize("name", ["../7.png", "/7.png", "a/../../7.png", "c:\\7.png", ""])
def test_names_that_lead_out_of_the_folder_are_refused(tmp_path, name):
    path = one(tmp_path, annotations=[{"image_id": 7, "file_name": name, "segments_info": []}])
    with pytest.raises(vt.ReadError, match="file_name: expected the name of a PNG in its folder"):
        vt.read(path)


def test_missing_png_is_named(tmp_path):
    path = one(tmp_path)
    (tmp_path / "truth" / "7.png").unlink()
    with pytest.raises(vt.ReadError, match=r"expected a PNG .*7\.png, found none; name the folder of the PNGs"):
        vt.read(path)


def test_png_of_another_size_is_refused(tmp_path):
    path = one(tmp_path)
    save_png(tmp_path / "truth" / "7.png", [[1, 2, 2]])
    with pytest.raises(vt.ReadError, match=r"7\.png: expected the size of its image, 2 x 1, found 3 x 1"):
        vt.read(path)


def test_prediction_of_another_size_is_refused(tmp_path):
    truth = vt.read(one(tmp_path))
    path = write_side(tmp_path, "pred", {7: ([[1, 2], [1, 2]], {1: (2, False), 2: (1, False)})}, is_truth=False)
    with pytest.raises(vt.ReadError, match=r"7\.png: expected the size of its image, 2 x 1, found 2 x 2"):
        vt.read(path, like=truth)


def test_grey_png_and_no_png_are_refused(tmp_path):
    from PIL import Image

    path = one(tmp_path)
    picture = tmp_path / "truth" / "7.png"
    Image.fromarray(np.zeros((1, 2), np.uint8)).save(picture)
    with pytest.raises(vt.ReadError, match=r"expected a PNG in colour \(V409\)"):
        vt.read(path)
    picture.write_bytes(picture.read_bytes()[:40])
    with pytest.raises(vt.ReadError, match=r"7\.png: expected an image"):
        vt.read(path)


def test_image_without_prediction_is_named(tmp_path):
    truth = vt.read(write_side(tmp_path, "truth", {7: ([[1]], {1: (2, False)}), 8: ([[1]], {1: (2, False)})}))
    path = write_side(tmp_path, "pred", {7: ([[1]], {1: (2, False)})}, is_truth=False)
    with pytest.raises(
        vt.ReadError, match="expected an annotation for every image of the ground truth, found none for 1 of 2"
    ):
        vt.read(path, like=truth)


def test_stated_areas_that_are_wrong_are_noted_and_not_used(tmp_path):
    segments = [{"id": 1, "category_id": 2, "area": 99, "iscrowd": 0}, {"id": 2, "category_id": 1, "area": 1}]
    truth = vt.read(one(tmp_path, annotations=[{"image_id": 7, "file_name": "7.png", "segments_info": segments}]))
    assert truth.area.tolist() == [1, 1]
    assert truth.source.notes == ("1 of 2 stated areas are not those of the PNGs, whose pixels count",)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400])
@pytest.mark.parametrize("key", ["id", "category_id", "image_id"])
def test_numbers_that_no_id_can_be_are_refused(tmp_path, key, number):
    segment = {"id": 1, "category_id": 1, "area": 1, "iscrowd": 0}
    record = {"image_id": 1, "file_name": "a.png", "segments_info": [segment]}
    document = {"images": [{"id": 1, "file_name": "a.jpg", "width": 4, "height": 4}], "annotations": [record]}
    document["categories"] = [{"id": number if key == "id" else 1, "name": "cat", "isthing": 1}]
    (record if key == "image_id" else segment)[key if key != "id" else "category_id"] = number
    (tmp_path / "a.json").write_text(json.dumps(document))
    with pytest.raises(vt.ReadError, match=r"a\.json.*expected a whole number (up to|from) -?92233720368547758"):
        vt.read(tmp_path / "a.json", format="panoptic")


@pytest.mark.parametrize("side", ["width", "height"])
def test_the_size_of_an_image_beyond_32_bits_is_listed_by_inspect(tmp_path, side):
    truth = one(tmp_path)
    document = json.loads(truth.read_text())
    document["images"][0][side] = 2**31
    truth.write_text(json.dumps(document))
    with pytest.raises(vt.ReadError, match=r"images\[0\]: expected a width and height of at most"):
        vt.read(truth)
    assert any("a width and height of at most" in finding.message for finding in vt.inspect(truth).findings)
