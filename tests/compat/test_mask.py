"""Run-length masks under the name of pycocotools, beside the original."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from verite.compat.pycocotools import coco, cocoeval, mask

pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")


@pytest.fixture(autouse=True)
def _old_reference() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its decode() is behind numpy's times
        yield


def test_runs_that_end_early_are_taken() -> None:
    from pycocotools import mask as reference

    rng = np.random.default_rng(6)
    for _ in range(300):
        height, width = (int(side) for side in rng.integers(1, 30, 2))
        pixels = height * width
        cuts = np.sort(rng.integers(0, pixels + 1, int(rng.integers(1, 7))))
        runs = {"size": [height, width], "counts": np.diff(cuts, prepend=0).tolist()}
        short, theirs = mask.frPyObjects(runs, height, width), reference.frPyObjects(runs, height, width)
        assert short == theirs
        assert mask.area(short) == reference.area(theirs)
        assert mask.toBbox(short).tobytes() == reference.toBbox(theirs).tobytes()
        assert mask.merge([short]) == reference.merge([theirs])
        # Beside a whole mask the original never returns; beside one that ends as early it does.
        assert mask.merge([short, short]) == reference.merge([theirs, theirs])
        assert np.array_equal(mask.iou([short], [short], [0]), reference.iou([theirs], [theirs], [0]))
        expected = np.repeat(np.arange(len(cuts)) % 2, np.diff(cuts, prepend=0))
        shown = mask.decode(short).ravel(order="F")
        assert np.array_equal(shown[: len(expected)], expected)
        assert not shown[len(expected) :].any()
        everything = mask.encode(np.ones((height, width), dtype=np.uint8))
        assert mask.area(mask.merge([short, everything])) == pixels
        assert mask.iou([short], [everything], [0])[0, 0] == expected.sum() / pixels


def test_every_name_of_the_original_is_there() -> None:
    """But for what its modules import for themselves, and memory of its compiled module's own."""
    own = {"Masks", "PYTHON_VERSION", "copy", "itertools", "os", "sys", "urlretrieve"}
    for name in ("_mask", "coco", "cocoeval", "mask"):
        theirs, ours = (import_module(f"{package}.{name}") for package in ("pycocotools", "verite.compat.pycocotools"))
        missing = {key for key in dir(theirs) if not key.startswith("__")} - set(dir(ours))
        assert missing <= own, name
        for key, kind in vars(theirs).items():
            if isinstance(kind, type) and kind.__module__ == theirs.__name__ and key not in own:
                assert {one for one in dir(kind) if not one.startswith("__")} <= set(dir(getattr(ours, key)))


def test_the_compiled_module_is_there_under_its_name() -> None:
    from pycocotools import _mask as theirs

    from verite.compat.pycocotools import _mask as ours

    rng = np.random.default_rng(7)
    pixels = random_masks(rng, 3)
    height, width = pixels.shape[:2]
    rles = theirs.encode(pixels)
    boxes = rng.random((3, 4)) * 20
    rings = [(rng.random(8) * 30).tolist() for _ in range(3)]
    assert ours.encode(pixels) == rles
    assert ours._toString(ours._frString(rles)) == theirs._toString(theirs._frString(rles)) == rles
    assert ours.decode(rles).tobytes(order="A") == theirs.decode(rles).tobytes(order="A")
    assert ours.decode(rles).flags.f_contiguous
    assert ours.area(rles).tolist() == theirs.area(rles).tolist()
    assert ours.toBbox(rles).tolist() == theirs.toBbox(rles).tolist()
    assert ours.frBbox(boxes, height, width) == theirs.frBbox(boxes, height, width)
    assert ours.frPoly(rings, height, width) == theirs.frPoly(rings, height, width)
    runs = [{"size": [height, width], "counts": [1, height * width - 1]}]
    assert ours.frUncompressedRLE(runs, height, width) == theirs.frUncompressedRLE(runs, height, width)
    assert coco.maskUtils is cocoeval.maskUtils is mask
    assert coco._isArrayLike([1])
    assert not coco._isArrayLike(1)


def random_masks(rng: np.random.Generator, count: int) -> Any:
    height, width = rng.integers(1, 40, 2)
    return np.asfortranarray((rng.random((height, width, count)) < rng.random()).astype(np.uint8))


def test_masks_are_the_same() -> None:
    from pycocotools import mask as reference

    rng = np.random.default_rng(3)
    for _ in range(200):
        pixels = random_masks(rng, 4)
        ours, theirs = mask.encode(pixels), reference.encode(pixels)
        assert ours == theirs
        assert mask.encode(pixels[:, :, 0]) == theirs[0]
        assert np.array_equal(mask.decode(theirs), pixels)
        assert np.array_equal(mask.decode(theirs[0]), pixels[:, :, 0])
        for function in ("area", "toBbox"):
            got, expected = getattr(mask, function)(theirs), getattr(reference, function)(theirs)
            assert got.dtype == expected.dtype
            assert np.array_equal(got, expected)
        for intersect in (0, 1):
            assert mask.merge(theirs, intersect) == reference.merge(theirs, intersect)
        crowd = rng.integers(0, 2, 4).tolist()
        assert mask.iou(theirs, theirs, crowd).tobytes() == reference.iou(theirs, theirs, crowd).tobytes()


def test_shapes_are_drawn_the_same() -> None:
    from pycocotools import mask as reference

    rng = np.random.default_rng(4)
    for _ in range(300):
        height, width = (int(side) for side in rng.integers(5, 60, 2))
        rings = [(rng.random(2 * int(rng.integers(3, 12))) * 80 - 10).round(2).tolist() for _ in range(3)]
        assert mask.frPyObjects(rings, height, width) == reference.frPyObjects(rings, height, width)
        boxes = rng.random((3, 4)) * 40
        assert mask.frPyObjects(boxes, height, width) == reference.frPyObjects(boxes, height, width)
        counts = np.diff(np.sort(rng.integers(0, height * width, 6)), prepend=0, append=height * width).tolist()
        runs = {"size": [height, width], "counts": counts}
        assert mask.frPyObjects(runs, height, width) == reference.frPyObjects(runs, height, width)


def test_boxes_overlap_the_same() -> None:
    from pycocotools import mask as reference

    rng = np.random.default_rng(5)
    for _ in range(200):
        dt, gt = rng.random((5, 4)) * 50, rng.random((4, 4)) * 50
        crowd = rng.integers(0, 2, 4).tolist()
        assert mask.iou(dt, gt, crowd).tobytes() == reference.iou(dt, gt, crowd).tobytes()


@pytest.mark.parametrize(
    "broken",
    [
        {"size": [10, 10], "counts": b"\xff\xff"},
        {"size": [10, 10], "counts": b"5d?"},
        {"size": [10, 10], "counts": [5, 500]},
        {"size": [10, 10], "counts": [-1, 101]},
        {"size": [-1, 10], "counts": b""},
        {"size": [2**20, 2**20], "counts": b"1"},
    ],
    ids=str,
)
def test_broken_masks_are_refused(broken: Any) -> None:
    for function in (mask.decode, mask.area, mask.toBbox):
        with pytest.raises(ValueError, match="mask: expected"):
            function(broken)


@pytest.mark.parametrize(
    "call",
    [
        lambda: mask.area({"size": [10, 10], "counts": [2**63 - 1, 2**63 - 1, 102]}),  # 100 modulo 2^64
        lambda: mask.area({"size": [float("inf"), 10], "counts": b"abc"}),
        lambda: mask.frPyObjects([[0, 0, 5, 0, 5, 5]], 2**31, 1),
        lambda: mask.frPyObjects(np.array([[0.0, 0, 5, 5]]), -1, 1),
    ],
    ids=["runs that wrap around", "an infinite side", "a side of 2^31", "a negative side"],
)
def test_impossible_masks_are_refused(call):
    with pytest.raises(ValueError, match="mask: expected"):
        call()
