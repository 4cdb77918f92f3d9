"""Columns equal what Python's json module says, on real-looking files and on thousands of odd little ones."""

import json
import os

import numpy as np
import pytest

from tests.json import oracle
from tests.json.documents import random_document
from verite import _core

SIZES = [60, pytest.param(5000, marks=pytest.mark.slow)]  # images


def read_all_ways(content):
    """One outcome for any number of threads and any size of pieces: the file, or the error's every field."""
    outcomes = []
    for threads, piece_bytes in [(1, 1 << 20), (1, 50), (2, 64), (3, 17), (8, 200), (2, 1)]:
        try:
            outcomes.append(_core.read_coco_bytes(content, threads, piece_bytes=piece_bytes))
        except _core.ParseError as error:
            outcomes.append((str(error), error.code, error.byte, error.line, error.section, error.record))
    return outcomes


def assert_agrees(content):
    """True if the document was accepted."""
    try:
        expected = oracle.read(content)
    except oracle.RefusedError:
        expected = None
    outcomes = read_all_ways(content)
    if expected is None:
        assert isinstance(outcomes[0], tuple), ("accepted", content)
        assert 0 <= outcomes[0][2] <= len(content)
        assert all(outcome == outcomes[0] for outcome in outcomes), (outcomes, content)
        return False
    for outcome in outcomes:
        assert not isinstance(outcome, tuple), (outcome, content)
        oracle.assert_same(outcome, content, expected)
    return True


@pytest.mark.parametrize("block", range(20))
def test_random_documents_read_as_python_reads_them(block):
    for seed in range(150 * block, 150 * (block + 1)):
        assert assert_agrees(random_document(seed)), seed


@pytest.mark.parametrize("block", range(20))
def test_documents_with_something_wrong_are_refused_when_python_refuses_them(block):
    accepted = sum(
        assert_agrees(random_document(seed, fault_rate=0.01))
        for seed in range(10**6 + 150 * block, 10**6 + 150 * (block + 1))
    )
    assert 0 < accepted < 150


@pytest.mark.parametrize("images", SIZES)
@pytest.mark.parametrize("name", ["coco_gt", "coco_dt44k", "coco_dtsegm36k", "coco_dt500k"])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_realistic_files_read_as_python_reads_them(realistic, images, name, threads):
    path = realistic(images) / f"{name}.json"
    assert path.stat().st_size > 700 * images  # a dozen pieces and more
    file = _core.read_coco(path, threads, piece_bytes=50 * images)
    document = json.loads(path.read_bytes())
    rows = document if file.is_results else document["annotations"]
    found = file.annotations
    assert found["count"] == len(rows)
    for key in ["image_id", "category_id", "bbox", "score", "area", "iscrowd", "id"]:
        if key in rows[0]:
            assert np.array_equal(found[key], np.array([row[key] for row in rows])), key
        else:
            assert found[key] is None
    if not file.is_results:
        images = document["images"]
        assert np.array_equal(file.images["id"], [image["id"] for image in images])
        assert np.array_equal(file.images["width"], [image["width"] for image in images])
        names = [part.tobytes().decode() for part in oracle.split(file.images["file_name"])]
        assert names == [image["file_name"] for image in images]
        labels = [part.tobytes().decode() for part in oracle.split(file.categories["name"])]
        assert labels == [category["name"] for category in document["categories"]]


def test_arrays_outlive_the_file_object():
    boxes = _core.read_coco_bytes(b'[{"image_id":1,"category_id":2,"bbox":[1,2,3,4]}]').annotations["bbox"]
    assert boxes.tolist() == [[1, 2, 3, 4]]


def test_text_ids_are_text():
    content = '{"images":[{"id":"ä"},{"id":""}],"annotations":[{"image_id":"ä","category_id":1},{"image_id":"b","category_id":1}]}'.encode()  # noqa: E501
    file = _core.read_coco_bytes(content)
    assert [part.tobytes().decode() for part in oracle.split(file.annotations["image_id"])] == ["ä", "b"]
    assert [part.tobytes().decode() for part in oracle.split(file.images["id"])] == ["ä", ""]


def test_sections_may_come_in_any_order_and_be_empty():
    file = _core.read_coco_bytes(
        b' {"annotations" : [ ] , "info":{"a":[1,{"b":null}]},"images":[{"id":7,"width":3}],"categories":[]} '
    )
    assert (file.annotations["count"], file.images["count"], file.categories["count"]) == (0, 1, 0)
    assert file.keys == ["annotations", "categories", "images", "info"]
    assert file.images["width"].tolist() == [3]
    assert file.images["height"] is None


def test_a_pipe_is_read_like_a_file(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    child = os.fork()
    if child == 0:
        with open(fifo, "wb") as out:
            out.write(b'[{"image_id":1,"category_id":2}]' + b" " * 3_000_000)
        os._exit(0)
    assert _core.read_coco(str(fifo)).annotations["count"] == 1
    os.waitpid(child, 0)


def test_file_sizes_around_a_page_are_read_whole(tmp_path):
    for size in range(4096 - 80, 4096 + 80):
        content = b'[{"image_id":1,"category_id":2}'.ljust(size - 1) + b"]"
        path = tmp_path / "page.json"
        path.write_bytes(content)
        assert _core.read_coco(path).annotations["count"] == 1
        path.write_bytes(content[:-1])
        with pytest.raises(_core.ParseError, match=f"the file ends at byte {size - 1} inside results"):
            _core.read_coco(path)


@pytest.mark.parametrize(("threads", "piece_bytes"), [(1, 1 << 20), (1, 60), (2, 300)])
def test_keys_that_are_not_read_are_named_wherever_they_first_occur(threads, piece_bytes):
    annotations = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "id": i} for i in range(500)]
    annotations[377] |= {"track_id": 4, "attributes": {"inner": 1}, "ü": 2, "x" * 65: 3}
    document = {
        "images": [{"id": 1, "file_name": "a.jpg", "license": 3}],
        "categories": [{"id": 1, "name": "a", "colour": "red"}],
        "annotations": annotations,
    }
    file = _core.read_coco_bytes(json.dumps(document, ensure_ascii=False).encode(), threads, piece_bytes=piece_bytes)
    assert {"track_id", "attributes", "license", "colour", "ü"} <= set(file.other_keys)
    assert not {"image_id", "bbox", "x" * 65} & set(file.other_keys)


def test_words_are_found_as_by_python():
    rng = np.random.default_rng(5)
    words = ["abab", "bcbcb", 'ca"b', "aaaa", "cccccccc", "<loc", 'é"ab']
    some = 0
    for _ in range(400):
        text = "".join(rng.choice([*'abc"é<', "<loc"], rng.integers(0, 60)))
        expected = [word for word in words if word in text]
        assert _core.find_words(text, words) == expected, text
        some += bool(expected)
    assert 40 < some < 400
    assert _core.find_words("abab", ["abab"]) == ["abab"]
    with pytest.raises(ValueError, match="at least four bytes"):
        _core.find_words("abc", ["abc"])
