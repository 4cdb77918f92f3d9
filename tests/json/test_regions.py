"""Segmentations become points and runs: those of pycocotools, or an error with its code; never a crash."""

import itertools
import json
import random

import numpy as np
import pytest
from pycocotools import mask as coco_mask

from verite import _core

SIZES = [60, pytest.param(5000, marks=pytest.mark.slow)]  # images


def read(*regions):
    records = [{"image_id": 1, "category_id": 1, "segmentation": region} for region in regions]
    return _core.read_coco_bytes(json.dumps(records).encode())


def every(file):
    return np.arange(file.annotations["count"])


def error_of(region, method, **options):
    file = read([[0, 0, 1, 0, 1, 1]] if method == "polygons" else {"size": [2, 3], "counts": [6]}, region)
    with pytest.raises(_core.ParseError) as caught:
        getattr(file, method)(np.array([0, 1]), **options)
    assert caught.value.section == "results"
    assert caught.value.record == 1
    return caught.value


def pack(runs):
    """COCO's text for runs, written from the format's description."""
    text = []
    for i, run in enumerate(runs):
        value = run - runs[i - 2] if i > 2 else run
        while True:
            bits, value = value & 31, value >> 5
            is_last = value == (-1 if bits & 16 else 0)
            text.append(chr(48 + bits + (0 if is_last else 32)))
            if is_last:
                break
    return "".join(text)


def test_polygons_become_points_rings_and_objects():
    points, rings, objects = read([[0, 1, 2.5, 3, 4, 5], [1, 1, 2, 2, 3, 3, 4, 4]], [], [[9, 9, 8, 8, 7, 7]]).polygons(
        np.array([2, 0, 1])
    )
    assert points.tolist() == [[9, 9], [8, 8], [7, 7], [0, 1], [2.5, 3], [4, 5], [1, 1], [2, 2], [3, 3], [4, 4]]
    assert rings.tolist() == [0, 3, 6, 10]
    assert objects.tolist() == [0, 1, 3, 3]


def test_no_records_give_no_regions():
    file = read([[0, 0, 1, 0, 1, 1]])
    none = np.array([], np.int64)
    assert [part.tolist() for part in file.polygons(none)] == [[], [0], [0]]
    assert [part.tolist() for part in file.runs(none)] == [[], [0], []]


@pytest.mark.thorough
def test_runs_as_lists_and_as_text_are_the_same():
    pick = random.Random(3)
    regions, expected = [], []
    for i in range(400):
        height, width = pick.randint(1, 70), pick.randint(1, 70)
        mask = np.asfortranarray(
            np.array(pick.choices([0, 1], [pick.random(), 1], k=height * width), np.uint8).reshape(height, width)
        )
        packed = coco_mask.encode(mask)["counts"].decode()
        flat = mask.reshape(-1, order="F")
        edges = np.flatnonzero(np.diff(np.concatenate([[0], flat, [2]])))
        runs = np.diff(np.concatenate([[0], edges])).tolist()
        assert pack(runs) == packed
        counts = packed if i % 2 else runs
        regions.append(
            {"size": [height, width], "counts": counts}
            if i % 3
            else {"counts": counts, "extra": [[{}]], "size": [height, width]}
        )
        expected.append(runs)
    lengths, starts, sizes = read(*regions).runs(np.arange(400))
    assert [lengths[a:b].tolist() for a, b in itertools.pairwise(starts)] == expected
    assert sizes.tolist() == [region["size"] for region in regions]


@pytest.mark.parametrize("images", SIZES)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_realistic_regions_are_those_of_pycocotools(realistic, images, threads):
    path = realistic(images) / "coco_dtsegm36k.json"
    file = _core.read_coco(path, threads)
    lengths, starts, sizes = file.runs(every(file))
    records = json.loads(path.read_bytes())
    assert sizes.tolist() == [record["segmentation"]["size"] for record in records]
    areas = np.add.reduceat(
        np.where((np.arange(len(lengths)) - np.repeat(starts[:-1], np.diff(starts))) % 2, lengths, 0), starts[:-1]
    )
    masks = [{"size": r["segmentation"]["size"], "counts": r["segmentation"]["counts"].encode()} for r in records]
    assert np.array_equal(
        areas, [int(coco_mask.area(mask)) for mask in masks]
    )  # of a list, pycocotools 2.0.11 overflows


@pytest.mark.parametrize("images", SIZES)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_realistic_polygons_are_those_of_python(realistic, images, threads):
    path = realistic(images) / "coco_gt.json"
    file = _core.read_coco(path, threads)
    wanted = np.flatnonzero(file.region_kinds == 2)
    points, rings, objects = file.polygons(wanted)
    annotations = json.loads(path.read_bytes())["annotations"]
    parts = [annotations[i]["segmentation"] for i in wanted]
    assert np.array_equal(points.reshape(-1), np.concatenate([ring for part in parts for ring in part]))
    assert np.array_equal(np.diff(rings), [len(ring) // 2 for part in parts for ring in part])
    assert np.array_equal(np.diff(objects), [len(part) for part in parts])


@pytest.mark.parametrize(
    ("region", "code", "words"),
    [
        ([[1, 2, 3, 4]], "ring_points", "expected a ring of 3 points or more as pairs of numbers, found 4 numbers"),
        ([[1, 2, 3, 4, 5, 6, 7]], "ring_points", "found 7 numbers"),
        ([[1, 2, 3, 4, 5, 6], []], "ring_points", "found 0 numbers"),
        ([[1, 2, 3, 4, 5, 1.1e7]], "limit", "expected coordinates up to 10000000"),
        ([[1, 2, 3, 4, 5, -1e300]], "limit", "expected coordinates up to 10000000"),
        ([[1, 2, 3, 4, 5, 1e999]], "syntax", None),
        ([[1, 2, 3, 4, 5, None]], "type", "expected a number, found null"),
        ([[1, 2, 3, 4, 5, "6"]], "type", "expected a number, found a string"),
        ([[1, 2, 3, 4, 5, 6], 7], "type", "expected a ring as an array of numbers, found a number"),
        ([[1, 2] * 1_000_001], "limit", "more than 1000000 points in one object"),
    ],
)
def test_wrong_polygons_are_refused(region, code, words):
    if words is None:
        with pytest.raises(_core.ParseError):
            read(region)
        return
    error = error_of(region, "polygons")
    assert error.code == code
    assert words in str(error)
    assert "results[1].segmentation: " in str(error)


@pytest.mark.parametrize(
    ("region", "code", "words"),
    [
        ({"size": [2, 3], "counts": [1, 2, 2]}, "run_sum", "expected runs of 2 x 3 = 6 pixels, found 5"),
        ({"size": [2, 3], "counts": [1, 2, 4]}, "run_sum", "pixels, found 7"),
        ({"size": [2, 3], "counts": []}, "run_sum", "pixels, found 0"),
        ({"size": [2, 3], "counts": ""}, "run_sum", "pixels, found 0"),
        ({"size": [2, 3], "counts": pack([5])}, "run_sum", "pixels, found 5"),
        ({"size": [2, 3], "counts": [0] * 7 + [6]}, "limit", "expected at most 7 runs, found 8"),
        ({"size": [2, 3], "counts": [-1, 7]}, "limit", "expected runs from 0 to 500000000, found -1"),
        ({"size": [2, 3], "counts": [2**40]}, "limit", "expected runs from 0 to 500000000"),
        ({"size": [2, 3], "counts": [1.5, 4.5]}, "number", "expected an integer of 64 bits, found 1.5"),
        ({"size": [2, 3], "counts": pack([7, -1])}, "limit", "found -1"),
        ({"size": [2, 3], "counts": "P"}, "number", "expected characters from '0' to 'o' in counts"),
        ({"size": [2, 3], "counts": "oooooooooooooooo"}, "number", "expected characters from '0' to 'o' in counts"),
        ({"size": [2, 3], "counts": "6 0"}, "number", "expected characters from '0' to 'o' in counts"),
        ({"size": [2, 3], "counts": "6é"}, "number", "expected characters from '0' to 'o' in counts"),
        ({"size": [65536, 3], "counts": [6]}, "limit", "expected sides from 1 to 65535, found 65536"),
        ({"size": [0, 3], "counts": []}, "limit", "expected sides from 1 to 65535, found 0"),
        ({"size": [-2, -3], "counts": [6]}, "limit", "found -2"),
        ({"size": [65535, 65535], "counts": [6]}, "limit", "expected at most 500000000 pixels, found 4294836225"),
        ({"size": [2, 3, 1], "counts": [6]}, "syntax", "expected ']', found ','"),
        ({"size": [2], "counts": [6]}, "syntax", "expected ','"),
        ({"size": "2,3", "counts": [6]}, "type", "expected size as [height, width], found a string"),
        ({"size": [2, 3], "counts": None}, "type", "expected counts as an array or a string, found null"),
        ({"size": [2, 3], "counts": [[6]]}, "type", "expected a number, found an array"),
        ({"size": [2, 3]}, "missing_key", "expected the key counts"),
        ({"counts": [6]}, "missing_key", "expected the key size"),
        ({}, "missing_key", "expected the key size"),
    ],
)
def test_wrong_runs_are_refused(region, code, words):
    error = error_of(region, "runs")
    assert error.code == code
    assert words in str(error)


def test_a_key_twice_in_runs_is_refused():
    file = _core.read_coco_bytes(
        b'[{"image_id":1,"category_id":1,"segmentation":{"size":[2,3],"counts":[6],"counts":[6]}}]'
    )
    with pytest.raises(_core.ParseError, match='expected each key once, found "counts" twice'):
        file.runs(np.array([0]))


def test_leniency_lets_short_rings_and_early_ends_pass_and_nothing_else():
    assert read([[1, 2, 3, 4]]).polygons(np.array([0]), strict=False)[0].tolist() == [[1, 2], [3, 4]]
    assert read({"size": [2, 3], "counts": [1, 2]}).runs(np.array([0]), strict=False)[0].tolist() == [1, 2]
    assert error_of([[1, 2, 3]], "polygons", strict=False).code == "ring_points"
    assert error_of({"size": [2, 3], "counts": [7]}, "runs", strict=False).code == "run_sum"


def test_records_of_another_kind_or_beyond_the_end_are_the_callers_mistake():
    file = read([[0, 0, 1, 0, 1, 1]], {"size": [2, 3], "counts": [6]})
    for call in [
        lambda: file.polygons(np.array([1])),
        lambda: file.runs(np.array([0])),
        lambda: file.runs(np.array([2])),
        lambda: file.polygons(np.array([-1])),
    ]:
        with pytest.raises(ValueError):
            call()
    bare = _core.read_coco_bytes(b'[{"image_id":1,"category_id":1}]')
    with pytest.raises(ValueError, match="the segmentation of record 0 is not polygons"):
        bare.polygons(np.array([0]))


def test_the_first_error_is_the_same_for_any_number_of_threads(tmp_path):
    regions = [{"size": [2, 3], "counts": [6]}] * 3000
    regions[1000] = {"size": [2, 3], "counts": [5]}
    regions[2500] = {"size": [2, 3], "counts": [-1]}
    content = json.dumps([{"image_id": 1, "category_id": 1, "segmentation": region} for region in regions]).encode()
    errors = set()
    for threads in [1, 2, 3, 8]:
        file = _core.read_coco_bytes(content, threads)
        with pytest.raises(_core.ParseError) as caught:
            file.runs(every(file))
        errors.add(str(caught.value))
    assert len(errors) == 1
    assert "results[1000].segmentation" in errors.pop()


RECORD = {"image_id": 1, "category_id": 1, "segmentation": [[0, 0, 1, 0, 1, 1]]}


def test_a_large_file_changed_after_reading_is_not_touched_again(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps([RECORD] * 20_000))  # more than a megabyte
    file = _core.read_coco(path)
    path.write_text("")
    with pytest.raises(RuntimeError, match="the file was changed after it was read"):
        file.polygons(np.array([999]))


@pytest.mark.parametrize("is_gone", [False, True])
def test_the_shapes_of_a_small_file_outlive_it(tmp_path, is_gone):
    path = tmp_path / "results.json"
    path.write_text(json.dumps([RECORD] * 1000))
    file = _core.read_coco(path)
    path.unlink() if is_gone else path.write_text("")
    points, _, _ = file.polygons(np.array([999]))
    assert points.tolist() == [[0, 0], [1, 0], [1, 1]]


def test_mutated_regions_end_in_numbers_or_in_errors(many):
    pick = random.Random(5)
    good = json.dumps(
        [
            {
                "image_id": 1,
                "category_id": 1,
                "segmentation": {"size": [640, 425], "counts": "Sf_15ec08L5K4N0O002MZOk\\Od0Xc0O2O3L;CR^b6"},
            },
            {"image_id": 1, "category_id": 1, "segmentation": {"counts": [3, 5, 2, 10], "size": [4, 5]}},
            {
                "image_id": 1,
                "category_id": 1,
                "segmentation": [[1.5, 2, 3, 4, 5, 6.25], [10, 10, 20, 10, 20, 20.125, 10, 20]],
            },
        ]
    ).encode()
    converted = 0
    for _ in range(many(20_000)):
        content = bytearray(good)
        for _ in range(pick.randint(1, 3)):
            content[pick.randrange(len(content))] = pick.choice(b'0123456789.,[]{}"\\PQo-e ')
        try:
            file = _core.read_coco_bytes(bytes(content))
        except _core.ParseError:
            continue
        if file.region_kinds is None:
            continue
        for kind, convert in [(2, file.polygons), (3, file.runs)]:
            for record in np.flatnonzero(file.region_kinds == kind):
                for strict in [True, False]:
                    try:
                        parts = convert(np.array([record]), strict=strict)
                        converted += 1
                        if kind == 3:
                            assert parts[0].sum() <= parts[2].prod()
                    except _core.ParseError:
                        pass
    assert converted > 1000
