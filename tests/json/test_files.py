"""Files are read a stretch at a time: like bytes in memory, whatever the stretches, and whatever happens meanwhile."""

import json
import os
import resource
import threading

import numpy as np
import pytest

import verite as vt
from tests.json import oracle
from tests.json.documents import random_document
from verite import _core

PIECES = [(1, 1), (1, 300), (2, 64), (3, 1000), (2, 1 << 20)]


def outcome(read, *given):
    """The file, or every field of the error."""
    try:
        return read(*given)
    except _core.ParseError as error:
        return (str(error), error.code, error.byte, error.line, error.section, error.record)


@pytest.mark.parametrize("fault_rate", [0.0, 0.01])
def test_a_file_reads_like_its_bytes_whatever_the_stretches(tmp_path, fault_rate, many):
    path = tmp_path / "document.json"
    for seed in range(many(200)):
        content = random_document(seed, fault_rate=fault_rate)
        path.write_bytes(content)
        expected = outcome(_core.read_coco_bytes, content)
        for threads, piece_bytes in PIECES:
            found = outcome(_core.read_coco, path, threads, 64, piece_bytes)
            if isinstance(expected, tuple):
                assert found == expected, (seed, piece_bytes)
            else:
                oracle.assert_same(found, content, oracle.read(content))


@pytest.mark.parametrize("threads", [1, 2])
def test_records_and_sections_longer_than_a_stretch_are_read_whole(tmp_path, threads):
    ring = [float(i % 7) for i in range(60_000)]  # 300 kB
    annotations = [
        {
            "id": i,
            "image_id": 1,
            "category_id": 1,
            "bbox": [i, 0, 2, 2],
            "segmentation": [ring if i == 40 else ring[:6]],
        }
        for i in range(1, 5000)
    ]
    text = json.dumps(
        {
            "info": "x" * 3_000_000,
            "images": [{"id": 1, "file_name": "a.jpg", "width": 9, "height": 9}],
            "annotations": annotations,
            "categories": [{"id": 1, "name": "a"}],
            "extra": [ring] * 9,
        }
    )
    path = tmp_path / "truth.json"
    path.write_text(text + " " * 2_000_000)
    file = _core.read_coco(path, threads, piece_bytes=1 << 16)
    assert file.keys == ["annotations", "categories", "extra", "images", "info"]
    assert file.annotations["bbox"][:, 0].tolist() == list(range(1, 5000))
    points, rings, _ = file.polygons(np.arange(4999))
    assert points[rings[39] : rings[40]].ravel().tolist() == ring
    assert len(points) == 4998 * 3 + 30_000


def test_a_defect_far_into_a_file_has_its_line(tmp_path):
    lines = ['{"image_id": 1, "category_id": 1, "score": 0.5},'] * 50_000
    lines[40_000] = '{"image_id": 1, "category_id": 1, "score": "high"},'
    path = tmp_path / "results.json"
    path.write_text("[" + "\n".join(lines)[:-1] + "]")
    with pytest.raises(vt.ReadError, match=r"results\[40000\]\.score"):
        vt.read(path)
    assert outcome(_core.read_coco, path, 2)[3] == 40_001


def has_seen_a_change(outcomes):
    return any("was changed while it was read" in str(found) for found in outcomes)


def test_a_file_that_shrinks_and_grows_while_it_is_read_gives_one_clear_error(tmp_path):
    record = {"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}
    content = json.dumps([record] * 60_000).encode()
    path = tmp_path / "results.json"
    path.write_bytes(content)
    stop = threading.Event()

    def rewrite():
        while not stop.is_set():
            os.truncate(path, 100_000)
            path.write_bytes(content)

    writer = threading.Thread(target=rewrite)
    writer.start()
    outcomes = []
    try:
        while len(outcomes) < 80 or (len(outcomes) < 2000 and not has_seen_a_change(outcomes)):
            try:
                outcomes.append(_core.read_coco(path, 2).annotations["count"])
            except (_core.ChangedFileError, _core.ParseError) as error:
                outcomes.append(str(error))
    finally:
        stop.set()
        writer.join()
    assert {found for found in outcomes if isinstance(found, int)} <= {60_000}
    assert has_seen_a_change(outcomes)


def test_no_descriptor_stays_open(tmp_path):
    truth = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 9, "height": 9}],
        "categories": [{"id": 1, "name": "a"}],
    }
    ring = [[0, 0, 5, 0, 5, 5]]
    truth["annotations"] = [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], "segmentation": ring}]
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(truth))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_now = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_now + 20, limits[1]))
    try:
        kept = [vt.read(path) for _ in range(200)]
        assert len(os.listdir("/proc/self/fd")) == open_now
        assert all(len(annotations.regions.polygons.points) == 3 for annotations in kept)
        assert len(os.listdir("/proc/self/fd")) == open_now
        broken = tmp_path / "broken.json"
        broken.write_text("[{}")
        for _ in range(100):
            with pytest.raises(vt.ReadError):
                vt.read(broken)
        assert len(os.listdir("/proc/self/fd")) == open_now
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
