"""Ways in besides a file of its own: bytes, file objects, pipes, tar archives, roots of datasets, unknown images."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile

import numpy as np
import pytest
from PIL import Image

import verite as vt
from tests.formats.samples import refused

TRUTH = {
    "images": [{"id": i, "file_name": f"{i}.jpg", "width": 640, "height": 480} for i in (1, 2)],
    "categories": [{"id": 3, "name": "car"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 3, "bbox": [10, 20, 100, 50], "area": 5000, "iscrowd": 0}],
}
FOUND = [{"image_id": i, "category_id": 3, "bbox": [10, 20, 100, 50], "score": 0.9} for i in (1, 9)]


def test_bytes_and_open_files_are_read_like_files(tmp_path):
    text = json.dumps(TRUTH)
    (tmp_path / "truth.json").write_text(text)
    with (tmp_path / "truth.json").open() as words, (tmp_path / "truth.json").open("rb") as raw:
        for source in (text.encode(), io.BytesIO(text.encode()), io.StringIO(text), words, raw):
            read = vt.read(source)
            assert (read.source.format, len(read.images), read.regions.sizes.tolist()) == (
                "coco",
                2,
                [[10, 20, 100, 50]],
            )


def test_an_empty_stream_is_refused_by_name():
    assert "a stream: expected annotations, found nothing" in refused(vt.read, b"")


def test_a_pipe_of_the_shell_is_read():
    code = "import verite as vt; print(len(vt.read('/dev/stdin')))"
    ran = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(FOUND), capture_output=True, text=True, check=True
    )
    assert ran.stdout == "2\n"


@pytest.mark.parametrize(("name", "mode"), [("a.tar.gz", "w:gz"), ("a.tgz", "w:gz"), ("a.tar", "w")])
def test_tar_archives_are_read_like_what_is_in_them(tmp_path, name, mode):
    vt.write(TRUTH, tmp_path / "Annotations", "voc")
    with tarfile.open(tmp_path / name, mode) as archive:
        archive.add(tmp_path / "Annotations", arcname="export/Annotations")
    read = vt.read(tmp_path / name)
    assert (read.source.format, len(read.images), len(read)) == ("voc", 2, 1)


@pytest.mark.parametrize("name", ["../a.json", "/a.json"])
def test_tar_archives_cannot_write_elsewhere(tmp_path, name):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        member = tarfile.TarInfo(name)
        member.size = 2
        archive.addfile(member, io.BytesIO(b"{}"))
    assert "inside the archive's own folder" in refused(vt.read, tmp_path / "a.tar")


def test_tar_archives_have_no_links(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        member = tarfile.TarInfo("a.json")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    assert "expected files in the archive, found none" in refused(vt.read, tmp_path / "a.tar")


def test_the_cache_of_ultralytics_is_not_looked_at(tmp_path):
    vt.write(TRUTH, tmp_path / "set", "yolo")
    (tmp_path / "set" / "labels.cache").write_bytes(b"\x93NUMPY\x01\x00")
    (tmp_path / "set" / "labels" / "train.cache").write_bytes(b"\x93NUMPY\x01\x00")
    for folder in (tmp_path / "set", tmp_path / "set" / "labels"):
        assert len(vt.read(folder, image_size=(640, 480))) == 1


def test_ground_truth_beside_predictions_is_no_side(tmp_path):
    for side in ("gt", "preds"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "a.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    assert "found gt/ and preds/ side by side; name one of them" in refused(vt.read, tmp_path)


def test_folders_that_can_be_read_are_listed(tmp_path):
    (tmp_path / "NOTE.txt").write_text("a set of annotations\n")
    vt.write(TRUTH, tmp_path / "export" / "day" / "Annotations", "voc")
    assert "export/day/Annotations (voc)" in refused(vt.read, tmp_path)


def test_the_root_of_cityscapes_has_splits(tmp_path):
    pixels = np.zeros((4, 6), np.uint16)
    pixels[1:3, 1:3] = 26001
    for split, city in (("train", "bonn"), ("val", "ulm")):
        folder = tmp_path / "gtFine" / split / city
        folder.mkdir(parents=True)
        Image.fromarray(pixels).save(folder / f"{city}_000000_000019_gtFine_instanceIds.png")
    assert "found train, val" in refused(vt.read, tmp_path)
    read = vt.read(tmp_path, split="val")
    assert (len(read.images), read.labels.name(int(read.label[0]))) == (1, "car")


def test_predictions_on_unknown_images_are_dropped_where_that_is_asked():
    truth = vt.read(TRUTH)
    with pytest.raises(vt.DataError, match='unknown_images="drop"'):
        vt.coco(truth, vt.read(FOUND, like=truth))
    pred = vt.read(FOUND, like=truth, unknown_images="drop")
    assert pred.source.notes == ("1 predictions on 1 images that the ground truth does not have were dropped",)
    assert vt.coco(truth, pred)["AP50"].value == pytest.approx(1)
    assert "expected stop or drop" in refused(vt.read, FOUND, like=truth, unknown_images="keep")
