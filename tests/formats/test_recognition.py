"""Looking at a path, picking its format, and saying why."""

from __future__ import annotations

import json
import os

import pytest

import verite as vt
from tests.formats.samples import DATA, FORMATS, need_packages, refused, sample
from verite.formats import REGISTRY, format_named
from verite.formats.format import PathProbe

# A file is a sample; of the others a folder.
FILES = {
    **dict.fromkeys(("coco", "coco_results", "coco_rotated", "datumaro", "json_lines", "label_studio"), "*/*"),
    **dict.fromkeys(("lvis", "parquet", "results_object", "via"), "*/*"),
    **dict.fromkeys(("by_image", "image_lines", "youtube_vis"), "*/*"),
    **dict.fromkeys(("azure_ml", "createml", "crowdhuman", "kaggle", "labelbox", "sagemaker", "scalabel"), "*/*"),
    "data_yaml": "*/*.yaml",
    "vision_language": "models/*",  # the answers of one model each; good/ is a folder of files per image
}
GOOD = [
    (path, format)
    for folder, format in FORMATS.items()
    for path in sorted((DATA / folder).glob(FILES.get(folder, "*")))
    if "broken" not in path.parts and path.name != "broken.json"
] + [(DATA / "vision_language" / "good", "vision-language")]


def test_every_format_has_samples():
    assert set(FORMATS.values()) == set(REGISTRY)
    assert {format for _, format in GOOD} == set(REGISTRY)


@pytest.mark.parametrize(("path", "format"), GOOD, ids=lambda value: str(value).removeprefix(str(DATA)))
def test_good_samples_are_recognised(path, format):
    need_packages(format)
    read = vt.read(path)
    assert read.source.format == format
    assert read.source.why
    assert read.source.path == str(path)


@pytest.mark.parametrize(("path", "format"), GOOD, ids=lambda value: str(value).removeprefix(str(DATA)))
def test_named_format_reads_the_same(path, format):
    need_packages(format)
    assert vt.read(path, format=format).digest == vt.read(path).digest


def test_order_of_asking_matters_where_several_know_a_file():
    """Every format that would take a sample of another is asked after it, and some would."""
    order = list(REGISTRY)
    others = {
        (format, other) for path, format in GOOD for other in REGISTRY if format_named(other).recognise(PathProbe(path))
    }
    assert all(order.index(format) <= order.index(other) for format, other in others)
    # The more particular first: these would be taken for the other one if they came later.
    assert {("lvis", "coco"), ("cityscapes", "mask-pictures")} <= others
    assert {("voc-segmentation", "mask-pictures"), ("yolo-pose", "yolo")} <= others
    # Rotated boxes and upright ones exclude each other: neither is asked for the other's sake.
    assert not {("coco-rotated", "coco"), ("coco", "coco-rotated")} & others


def test_named_format_is_said_to_be_named():
    read = vt.read(sample("voc", "good"), format="voc")
    assert read.source.why == "named by the user"


def test_unknown_format_shows_the_nearest():
    with pytest.raises(vt.BadParameter, match=r"expected one of .*, found 'labelmee'; did you mean 'labelme'\?"):
        vt.read(sample("voc", "good"), format="labelmee")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"", "expected annotations, found an empty file"),
        (
            "a.json",
            b'{"a": 1}',
            "found text that begins with '{\"a\": 1}'; COCO ground truth is .* or name its format with format='NAME'",
        ),
        (
            "a.csv",
            b"a,b,c\n",
            r"found text that begins with 'a,b,c\\n'; the first line of a table names its columns, e\.g",
        ),
        ("a.csv", "image,label\n".encode("utf-16"), "found UTF-16 text, which is recognised but not read; save it as"),
        ("a.csv", "image;label\n".encode("utf-16-le"), "found UTF-16 text"),
        ("a.json", b"<!DOCTYPE html><html>404", "found a web page, .*; open it"),
        ("a.json", b"version https://git-lfs.github.com/spec/v1\noid", "found a pointer of Git LFS, .*git lfs pull"),
        ("a.json", b"[{'image_id': 1, 'score': 0.5}]", "found Python's notation, .*; write JSON"),
        ("a.xlsx", b"PK\x03\x04", "found a spreadsheet, .*; save it as CSV"),
        ("a.json", b"PK\x03\x04", "found a zip file of another name"),
        ("a.json", b"\x1f\x8b\x08\x00", "found a gzip file of another name"),
        ("a.txt", b"hello\n", r"found text that begins with 'hello\\n'"),
        ("a.bin", b"\xff\xfe\x00", "found bytes that are no UTF-8 text"),
        ("a.xml", b"<note/>", "found text that begins with '<note/>'"),
    ],
)
def test_unknown_file_is_described(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(vt.ReadError, match=message):
        vt.read(tmp_path / name)


def test_empty_folder_is_said_to_be_empty(tmp_path):
    with pytest.raises(vt.ReadError, match="expected annotation files, found an empty folder"):
        vt.read(tmp_path)


def test_folder_of_pictures_is_described(tmp_path):
    for name in ("a.jpg", "b.png"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(vt.ReadError, match=r"a\.jpg: expected an image, found cannot identify"):
        vt.read(tmp_path)


def test_folder_around_one_file_points_to_it(tmp_path):
    (tmp_path / "a.json").write_text('{"images": [], "annotations": [], "categories": []}')
    with pytest.raises(vt.ReadError, match=r"name the file itself: .*a\.json"):
        vt.read(tmp_path)


def labelme_file(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = {"label": "cat", "points": [[1, 2], [30, 40]], "shape_type": "rectangle"}
    name = f"{path.stem}.jpg"
    document = {"version": "5.0", "shapes": [shape], "imagePath": name, "imageHeight": 60, "imageWidth": 80}
    path.write_text(json.dumps(document))


def test_folder_whose_deeper_folders_would_be_left_out_is_refused_with_the_choice(tmp_path):
    labelme_file(tmp_path / "few" / "a.json")
    labelme_file(tmp_path / "most" / "batch" / "b.json")
    with pytest.raises(vt.ReadError, match=r"in deeper folders .*batch/b.json; name one of them: few \(labelme\), m"):
        vt.read(tmp_path)
    assert len(vt.read(tmp_path / "most").images) == 1


def test_folder_with_annotations_of_two_formats_is_refused_with_the_choice(tmp_path):
    labelme_file(tmp_path / "drawn" / "a.json")
    (tmp_path / "exported").mkdir()
    coco = {"images": [], "annotations": [], "categories": []}
    (tmp_path / "exported" / "instances.json").write_text(json.dumps(coco))
    with pytest.raises(vt.ReadError, match="of the format coco beside those of the format labelme: exported/instances"):
        vt.read(tmp_path)
    (tmp_path / "exported" / "instances.json").write_text("{}")  # of no known format
    labelme_file(tmp_path / "more" / "b.json")
    (tmp_path / "exported" / "instances.json").unlink()
    assert vt.read(tmp_path).images.names == ("a.jpg", "b.jpg")


def test_files_of_a_deep_folder_are_found(tmp_path):
    labelme_file(tmp_path / "1" / "2" / "3" / "4" / "5" / "a.json")
    assert len(vt.read(tmp_path)) == 1


def test_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(vt.ReadError, match="expected a file or folder, found nothing"):
        vt.read(tmp_path / "a.json")


def test_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(vt.ReadError, match="found a device or pipe"):
        vt.read(tmp_path / "pipe", format="coco")


def test_hidden_files_are_not_looked_at(tmp_path):
    (tmp_path / ".a.txt").write_text("boat 1 2 3 4\n")
    (tmp_path / "b.txt").write_text("boat 1 2 3 4\n")
    assert vt.read(tmp_path).images.names == ("b",)


def test_file_name_that_is_no_utf8_is_refused(tmp_path):
    try:
        (tmp_path / os.fsdecode(b"b\xe5t.txt")).write_text("boat 1 2 3 4\n")
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    with pytest.raises(vt.ReadError, match="expected an image name in UTF-8") as caught:
        vt.read(tmp_path)
    assert str(caught.value).isprintable()


def test_what_nobody_recognises_is_told_what_it_may_be(tmp_path):
    (tmp_path / "a.txt").write_text("one two\n")
    assert "; or name its format with format='NAME'" in refused(vt.read, tmp_path / "a.txt")
    (tmp_path / "folder").mkdir()
    for name in "ab":
        (tmp_path / "folder" / f"{name}.txt").write_text("one two\n")
    said = refused(vt.read, tmp_path / "folder")
    assert "found files ending in .txt, with lines such as 'one two'" in said
    assert "YOLO has lines of class cx cy w h" in said
    assert "or name its format" not in said
    (tmp_path / "folder" / "b.txt").unlink()
    assert "name the file itself: " in refused(vt.read, tmp_path / "folder")
