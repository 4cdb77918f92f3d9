"""Packed files and standard input: read like what is in them, named like what was given, and bounded."""

from __future__ import annotations

import gzip
import io
import json
import random
import shutil
import sys
import zipfile
from types import SimpleNamespace

import pytest

import verite as vt
from tests.formats.samples import sample
from verite import cli
from verite.analysis.properties import read_metadata
from verite.leaderboards.bootstrap import image_groups

COCO = sample("coco", "good", "instances.json")


def zipped(path, folder, *, inside=""):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, f"{inside}{file.relative_to(folder)}")
    return path


def test_gz_is_the_file_in_it(tmp_path):
    path = tmp_path / "truth.json.gz"
    path.write_bytes(gzip.compress(COCO.read_bytes()))
    read = vt.read(path)
    assert read.digest == vt.read(COCO).digest
    assert read.source.path == str(path)
    assert read.regions.polygons is not None  # though what was unpacked is gone


def test_nothing_that_was_unpacked_stays(tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    path = tmp_path / "truth.json.gz"
    path.write_bytes(gzip.compress(COCO.read_bytes()))
    assert vt.read(path).digest == vt.read(COCO).digest
    assert vt.read(zipped(tmp_path / "a.zip", sample("voc", "good"))).source.format == "voc"
    path.write_bytes(gzip.compress(b'{"images": ['))
    with pytest.raises(vt.ReadError):
        vt.read(path)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(gzip.compress(COCO.read_bytes()))))
    assert vt.read("-").digest == vt.read(COCO).digest
    assert list((tmp_path / "temporary").iterdir()) == []


def test_zst_is_the_file_in_it(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "truth.json.zst"
    path.write_bytes(zstandard.compress(COCO.read_bytes()))
    assert vt.read(path).digest == vt.read(COCO).digest


def test_zst_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "a.json.zst").write_bytes(b"x")
    with pytest.raises(vt.BadParameter, match=r"expected zstandard to read it, found none; pip install verite\[zstd\]"):
        vt.read(tmp_path / "a.json.zst")


@pytest.mark.parametrize("format", ["voc", "labelme", "cvat", "yolo", "kitti", "coco_folder", "openimages_masks"])
@pytest.mark.parametrize("inside", ["", "export/"])
def test_zip_is_the_folder_in_it(tmp_path, format, inside):
    folder = sample(format, "good")
    path = zipped(tmp_path / "export.zip", folder, inside=inside)
    read = vt.read(path)
    assert read.digest == vt.read(folder).digest
    assert read.source.path == str(path)


def test_zip_of_a_data_set_is_read_by_its_yaml(tmp_path):
    root = tmp_path / "set"
    shutil.copytree(sample("data_yaml", "good", "images", "val"), root / "valid" / "images")
    shutil.copytree(sample("data_yaml", "good", "labels", "val"), root / "valid" / "labels")
    (root / "data.yaml").write_text("val: ../valid/images\nnames: [boat, gull]\n")
    read = vt.read(zipped(tmp_path / "set.zip", root), split="val")
    assert read.regions.boxes.tolist() == [[1, 0, 3, 2], [0, 0, 2, 1]]


def test_only_json_of_a_zip_is_read(tmp_path):
    path = tmp_path / "coco.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(COCO, "annotations/instances_default.json")
        archive.writestr("__MACOSX/annotations/._instances_default.json", b"x")
        archive.writestr("images/a.jpg", b"x" * 1000)
    assert vt.read(path).digest == vt.read(COCO).digest


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/evil.txt", "a/../../evil.txt", "..\\evil.txt", "C:/evil.txt"])
def test_zip_writes_nothing_outside(tmp_path, name):
    path = tmp_path / "evil.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, "boat 1 2 3 4\n")
    with pytest.raises(vt.ReadError, match="expected names inside the archive's own folder, found"):
        vt.read(path)
    assert not list(tmp_path.parent.glob("evil.txt"))


def test_bombs_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("verite.files.FREE", 10_000)
    monkeypatch.setenv("VERITE_LIMIT_UNPACKED_RATIO", "10")
    bomb = b'{"images": []' + b" " * 1_000_000
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(bomb))
    with pytest.raises(vt.ReadError, match=r"bomb.json.gz: expected at most [\d,]+ bytes, unpacked, found more; raise"):
        vt.read(tmp_path / "bomb.json.gz")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(20):
            archive.writestr(f"{i}.txt", b" " * 100_000)
    with pytest.raises(vt.ReadError, match=r"bomb.zip: expected at most [\d,]+ bytes, unpacked, found more"):
        vt.read(tmp_path / "bomb.zip")
    monkeypatch.setenv("VERITE_LIMIT_UNPACKED_FILES", "19")
    with pytest.raises(vt.ReadError, match="expected at most 19 files, found 20"):
        vt.read(tmp_path / "bomb.zip")


@pytest.mark.parametrize("cut", [0, 5, 40])
@pytest.mark.parametrize("suffix", [".gz", ".zip"])
def test_cut_off_package_is_named(tmp_path, suffix, cut):
    path = tmp_path / f"a.json{suffix}"
    if suffix == ".gz":
        path.write_bytes(gzip.compress(COCO.read_bytes())[:cut])
    else:
        zipped(path, COCO.parent)
        path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(vt.ReadError) as caught:
        vt.read(path)
    assert str(caught.value).startswith(f"{path}")
    assert "verite-" not in str(caught.value)


def test_mistake_inside_is_placed_in_the_package(tmp_path):
    path = zipped(tmp_path / "export.zip", sample("kitti", "broken", "one_image_twice"))
    with pytest.raises(vt.ReadError) as caught:
        vt.read(path)
    assert str(caught.value).startswith(f"{path}/b/1.txt: expected each image once, found a second '1'; ")
    assert f"{path}/a;" in str(caught.value)


def test_encrypted_zip_is_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", sample("kitti", "good"))
    content = bytearray(path.read_bytes())
    for start, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := content.find(start, at + 1)) >= 0:
            content[at + offset] |= 1  # says that it is encrypted
    path.write_bytes(content)
    with pytest.raises(vt.ReadError, match="expected an archive that is not encrypted, found an encrypted one"):
        vt.read(path)


@pytest.mark.parametrize(
    "name",
    ["coco/good/instances.json", "coco_results/good/results.json", "cvat/good/annotations.xml", "table/good/truth.csv",
     "text/numbers/pier.txt"],
)  # fmt: skip
def test_standard_input_is_a_file(monkeypatch, name):
    path = sample(*name.split("/"))
    for content in (path.read_bytes(), gzip.compress(path.read_bytes())):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        read = vt.read("-")
        assert read.regions.boxes.tolist() == vt.read(path).regions.boxes.tolist()
        assert read.source.path == "standard input"


def test_nothing_on_standard_input_is_said(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"")))
    with pytest.raises(vt.ReadError, match="standard input: expected annotations, found nothing"):
        vt.read("-")


def test_standard_input_on_the_command_line(monkeypatch, tmp_path, capsys):
    truth = tmp_path / "truth.json"
    box = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], "area": 25, "iscrowd": 0}
    document = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "boat"}], "annotations": [box]}
    truth.write_text(json.dumps(document))
    pred = json.dumps([{"image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], "score": 0.5}])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(pred.encode())))
    assert cli.run(["voc", str(truth), "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mAP"] == 1.0


@pytest.mark.parametrize(
    ("name", "content", "title"),
    [
        ("a.tfrecord", b"\x00\x01", "TFRecord"),
        ("val.tfrecord-00000-of-00010", b"\x00\x01", "TFRecord"),
        ("a.nii", b"\x5c\x01\x00\x00", "a NIfTI volume"),
        ("a.nii.gz", gzip.compress(b"\x5c\x01\x00\x00", mtime=0), "a NIfTI volume"),
        ("a.npy", b"\x93NUMPY\x01\x00", "a NumPy array file"),
        ("a.h5", b"\x89HDF\r\n\x1a\n", "HDF5"),
        ("a.mat", b"MATLAB 5.0 MAT-file, Platform", "a MATLAB file"),
        ("a.pkl", b"\x80\x04\x95", "a pickle"),
        ("a.json", b'{"annotations": [{"predicted_iou": 1, "stability_score": 1}]}', "Segment Anything's masks .*"),
        ("a.json", b'{"annotations": [{"datasetId": "x", "label": "boat"}]}', "Dataloop JSON"),
        ("a.json", b'{"main": {"shapes": [], "tracks": []}}', "CVAT's own document of a task"),
        ("a.csv", b"HITId,AssignmentId,WorkerId\n1,2,3\n", "MTurk results"),
        ("instances_predictions.pth", b"PK\x03\x04", "weights or results of PyTorch"),
    ],
)
def test_what_is_not_read_is_named(tmp_path, name, content, title):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(vt.ReadError, match=f"found {title}, which is recognised but not read; "):
        vt.read(tmp_path / name)


def test_masks_of_open_images():
    read = vt.read(sample("openimages_masks", "good"))
    assert read.images.names == ("pier",)
    assert read.regions.boxes.tolist() == [[1, 0, 3, 1]]  # 0.25 to 0.75 of 4 and 0 to 0.5 of 2 pixels
    assert read.regions.runs[0].tolist() == [2, 1, 1, 1, 3]  # the second and third pixel of the first row
    assert read.labels.names == ("/m/boat",)


def test_system_is_named_without_the_suffixes_of_its_package(tmp_path):
    for name in ("hawk.json.gz", "hawk.json"):
        content = json.dumps([{"image_id": 7, "category_id": 3, "bbox": [10, 10, 20, 20], "score": 0.9}]).encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        assert vt.coco(COCO, tmp_path / name, checks="off").name == "hawk"


def test_column_of_the_truths_images_is_found_in_packages(tmp_path):
    truth = json.loads(COCO.read_text())
    for image in truth["images"]:
        image["place"] = f"place {image['id'] % 2}"
    content = json.dumps(truth).encode()
    (tmp_path / "a.json").write_bytes(content)
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(content))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("inner/a.json", content)
    for name in ("a.json", "a.json.gz", "a.zip", "*.json"):
        read = vt.read(str(tmp_path / name))
        assert image_groups(read, "place", "resample").tolist() == [
            f"place {id % 2}" for id in read.images.ids.tolist()
        ]


@pytest.mark.thorough
def test_tables_beside_annotations_may_be_packed(tmp_path):
    read = vt.read(COCO)
    names = [read.images.name(i) for i in range(len(read.images))]
    lines = "image,place\n" + "".join(f"{name},p{i}\n" for i, name in enumerate(names))
    table = tmp_path / "places.csv.gz"
    table.write_bytes(gzip.compress(lines.encode()))
    assert image_groups(read, f"{table}:place", "resample").tolist() == [f"p{i}" for i in range(len(names))]
    assert read_metadata(table, read)["place"] == [f"p{i}" for i in range(len(names))]
    table.write_bytes(gzip.compress(lines.encode())[:-9])
    with pytest.raises(vt.ReadError, match=r"places\.csv\.gz: expected a whole \.gz file, found .*; was it cut off"):
        read_metadata(table, read)
    table.write_bytes(gzip.compress(b"image,place\n" * 20_000_000))
    with pytest.raises(vt.ReadError, match=r"places\.csv\.gz: expected at most [\d,]+ bytes, unpacked, found more"):
        read_metadata(table, read)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a.txt", "b.txt", "a.txt"], "expected each name once in the archive, found a second 'a.txt'"),
        (["a/b.txt", "a"], "expected each name once in the archive, found a second 'a'"),
        (["a", "a/b.txt"], "expected files that can be unpacked here, found"),
        (["x" * 300 + ".txt"], "expected files that can be unpacked here, found file name too long"),
    ],
)
def test_archive_whose_files_cannot_all_be_there_is_refused(tmp_path, names, said):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "boat 1 2 3 4\n")
    with pytest.raises(vt.ReadError, match=said):
        vt.read(path)


def test_link_in_an_archive_is_not_followed(tmp_path):
    path = tmp_path / "a.zip"
    link = zipfile.ZipInfo("b.txt")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "boat 1 2 3 4\n")
        archive.writestr(link, "/etc/hostname")
    with pytest.raises(vt.ReadError, match=r"a\.zip/b\.txt:1: expected a class and 4 or 5 numbers, found"):
        vt.read(path, format="text")


def zst_of(text, *, checksum):
    """Text in several blocks of one frame, as zstd writes a stream."""
    zstandard = pytest.importorskip("zstandard")
    stream = zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=False).compressobj()
    parts = [text[at : at + 2000].encode() for at in range(0, len(text), 2000)]
    blocks = [stream.compress(part) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for part in parts]
    return b"".join(blocks) + stream.flush()


TABLE = "image,label,x,y,width,height\n" + "".join(f"{i}.jpg,cat,{i},0,5,5\n" for i in range(1000))


@pytest.mark.parametrize("checksum", [False, True])
def test_a_zst_that_was_cut_off_is_refused_wherever_it_was_cut(tmp_path, checksum):
    path, whole = tmp_path / "a.csv.zst", zst_of(TABLE, checksum=checksum)
    path.write_bytes(whole)
    assert len(vt.read(path)) == 1000
    rng = random.Random(1)
    for cut in (0, 1, len(whole) - 4, len(whole) - 1, *(rng.randrange(len(whole)) for _ in range(120))):
        path.write_bytes(whole[:cut])
        with pytest.raises(vt.ReadError, match=r"a.csv.zst: expected a whole .zst file.*V403"):
            vt.read(path)


def test_all_frames_of_a_zst_are_read(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    head, tail = TABLE[: len(TABLE) // 2], TABLE[len(TABLE) // 2 :]
    (tmp_path / "a.csv.zst").write_bytes(b"".join(zstandard.compress(part.encode()) for part in (head, tail)))
    assert len(vt.read(tmp_path / "a.csv.zst")) == 1000


@pytest.mark.parametrize("suffix", [".gz", ".zst", ".zip"])
def test_what_is_no_archive_is_refused_in_one_line(tmp_path, suffix, monkeypatch):
    if suffix == ".zst":
        pytest.importorskip("zstandard")
    magic = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd", ".zip": b"PK\x03\x04"}[suffix]
    for content in (b"", magic, magic + b"\xff" * 30, magic + bytes(30)):
        path = tmp_path / f"a.json{suffix}"
        path.write_bytes(content)
        with pytest.raises(vt.ReadError, match=f"a.json{suffix}: expected a whole {suffix} file.*V403"):
            vt.read(path)
        if not content:
            continue
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        with pytest.raises(vt.ReadError, match=f"^standard input: expected a whole {suffix} file"):
            vt.read("-")


def test_a_member_without_a_name_and_a_broken_lzma_member_are_refused(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", b"{}")
    content = path.read_bytes()
    at = content.index(b"PK\x01\x02")
    nameless = bytearray(content)
    nameless[at + 28] = 0  # the length of its name in the directory
    del nameless[at + 46]
    end = nameless.index(b"PK\x05\x06")
    nameless[end + 12] -= 1  # the size of the directory
    path.write_bytes(bytes(nameless))
    with pytest.raises(vt.ReadError, match=r"a\.zip: expected a name for every file of the archive, found none"):
        vt.read(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("truth.json", COCO.read_bytes())
    content = bytearray(path.read_bytes())
    content[60:100] = b"\xff" * 40
    path.write_bytes(bytes(content))
    with pytest.raises(vt.ReadError, match=r"a\.zip: expected a whole \.zip file"):
        vt.read(path)
