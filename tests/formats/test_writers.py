"""What is written is whole or not there, and nothing of a user's is replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import verite as vt
from tests.formats.test_round_trips import COMMON

WRITTEN = [format.name for format in COMMON if "no confidence" not in format.requires]
FOLDERS = [format.name for format in COMMON if not format.suffixes]
FILES = [name for name in WRITTEN if name not in FOLDERS]


@pytest.fixture
def pred():
    """Predictions that every format can write."""
    names = ["a.jpg", "b.jpg", "c.jpg"]
    found = vt.Annotations.of(
        names, ["boat"] * 3, [[1, 2, 3, 4]] * 3, confidence=[0.5] * 3, sizes=dict.fromkeys(names, (9, 9))
    )
    labels = vt.Labels(["boat"], [0])
    return vt.Annotations(found.images, labels, found.image, found.label, found.regions, found.confidence)


def test_every_format_can_be_written(pred, tmp_path):
    for format in WRITTEN:
        vt.write(pred, tmp_path / format, format)
        assert len(vt.read(tmp_path / format, format=format)) == 3 if format != "cvat" else True


def fail_at_the_second(monkeypatch, kind, name):
    """Make the second call of a function fail as a full disk does."""
    calls = []
    real = getattr(kind, name)

    def refuse(*args, **given):
        calls.append(args)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return real(*args, **given)

    monkeypatch.setattr(kind, name, refuse)
    return calls


@pytest.mark.parametrize("format", FOLDERS)
def test_failure_half_way_through_a_folder_leaves_nothing(pred, tmp_path, monkeypatch, format):
    calls = fail_at_the_second(monkeypatch, Path, "write_bytes" if format == "labelme" else "write_text")
    with pytest.raises(vt.ReadError, match="expected a file that can be written, found no space left on device"):
        vt.write(pred, tmp_path / "out", format)
    assert len(calls) == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", FILES)
def test_failure_at_the_end_of_a_file_leaves_the_old_one(pred, tmp_path, monkeypatch, format):
    (tmp_path / "out").write_text("old")

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(vt.ReadError, match="no space left on device"):
        vt.write(pred, tmp_path / "out", format)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == "old"


@pytest.mark.parametrize("format", FOLDERS)
def test_folder_with_files_is_never_written_to(pred, tmp_path, format):
    (tmp_path / "mine").write_text("x")
    with pytest.raises(vt.ReadError, match="expected a new or empty folder, found a folder with files in it"):
        vt.write(pred, tmp_path, format)
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("format", FILES)
def test_folder_is_not_replaced_by_a_file(pred, tmp_path, format):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(vt.ReadError, match="expected a file that can be written"):
        vt.write(pred, tmp_path / "out", format)
    assert (tmp_path / "out" / "mine").read_text() == "x"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("format", FOLDERS)
def test_image_names_cannot_lead_out_of_the_folder(tmp_path, format):
    names = ["../../a.jpg", "/etc/b.jpg", "..\\c.jpg"]
    truth = vt.Annotations.of(names, ["boat"] * 3, [[1, 2, 3, 4]] * 3, sizes=dict.fromkeys(names, (9, 9)))
    vt.write(truth, tmp_path / "in" / "out", format)
    assert [p.name for p in tmp_path.iterdir()] == ["in"]
    assert [p.name for p in (tmp_path / "in").iterdir()] == ["out"]
    files = (p for p in (tmp_path / "in" / "out").rglob("*") if p.is_file() and p.suffix != ".yaml")
    written = sorted(p.stem for p in files)
    assert written == ["a", "b", "c"]


@pytest.mark.parametrize("format", FOLDERS)
@pytest.mark.parametrize("name", ["..", ".hidden.jpg", "a/", "a\0b"])
def test_image_names_that_name_no_file_are_refused(tmp_path, format, name):
    truth = vt.Annotations.of([name], ["boat"], [[1, 2, 3, 4]], sizes={name: (9, 9)})
    if name == "a/":  # PurePath drops the slash
        vt.write(truth, tmp_path / "out", format)
        return
    with pytest.raises(vt.ReadError, match="expected image names that"):
        vt.write(truth, tmp_path / "out", format)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", FOLDERS)
def test_images_of_the_same_stem_are_refused(tmp_path, format):
    names = ["x/a.jpg", "y/a.png"]
    truth = vt.Annotations.of(names, ["boat"] * 2, [[1, 2, 3, 4]] * 2, sizes=dict.fromkeys(names, (9, 9)))
    with pytest.raises(
        vt.ReadError, match=r"expected one file per image, found 'x/a\.jpg' and 'y/a\.png' of the same stem"
    ):
        vt.write(truth, tmp_path / "out", format)


@pytest.mark.parametrize("format", FOLDERS)
def test_names_too_long_for_the_file_system_are_one_line(tmp_path, format):
    name = "a" * 300
    truth = vt.Annotations.of([name], ["boat"], [[1, 2, 3, 4]], sizes={name: (9, 9)})
    with pytest.raises(vt.ReadError, match="expected a file that can be written, found file name too long"):
        vt.write(truth, tmp_path / "out", format)
    assert not list(tmp_path.iterdir())


SEPARATED = ("dota", "imagenet-loc", "kitti", "openimages", "openimages-predictions", "table", "text", "yolo")


@pytest.mark.parametrize("kind", ["image", "class"])
@pytest.mark.parametrize("format", SEPARATED)
@pytest.mark.parametrize("name", ["a b", "a\tb", "a\nb", "a\u2028b", "a,b", 'a"b', "a;b", " a", "a "])
def test_names_come_back_or_are_refused(tmp_path, format, kind, name):
    images, classes = (["x", name] if kind == what else ["x", "y"] for what in ("image", "class"))
    pred = vt.Annotations.of(
        images, classes, [[1, 2, 5, 9], [2, 3, 8, 9]], confidence=[0.5, 0.25], sizes=dict.fromkeys(images, (20, 10))
    )
    path = tmp_path / "out"
    try:
        vt.write(pred, path, format)
    except vt.ReadError as error:
        said = str(error)
    else:
        said = ""
    if said:
        assert f"{kind} names without blanks" in said
        assert repr(name) in said
        assert not list(tmp_path.iterdir())
        return
    found = vt.read(path, format=format)
    objects = {(found.images.name(i), found.labels.name(k)) for i, k in zip(found.image, found.label, strict=True)}
    assert objects == set(zip(images, classes, strict=True))


def test_dota_results_with_a_blank_in_an_image_name_are_refused(tmp_path):
    pred = vt.Annotations.of(["a b"], ["ship"], [[1, 2, 5, 9]], confidence=[0.5])
    with pytest.raises(vt.ReadError, match="expected image names without blanks, found 'a b'"):
        vt.write(pred, tmp_path / "out", "dota")
    assert not list(tmp_path.iterdir())
    truth = vt.Annotations.of(["a b"], ["ship"], [[1, 2, 5, 9]])  # named by a file, not by a line
    vt.write(truth, tmp_path / "out", "dota")
    assert vt.read(tmp_path / "out").images.names == ("a b",)


def test_dota_images_may_be_called_like_a_list_but_not_like_results(tmp_path):
    truth = vt.Annotations.of(["train", "val"], ["ship"] * 2, [[1, 2, 5, 9]] * 2)
    vt.write(truth, tmp_path / "out", "dota")
    assert vt.read(tmp_path / "out").images.names == ("train", "val")
    with pytest.raises(vt.ReadError, match=r"image names that do not begin with Task1_.*found 'Task1_a'"):
        vt.write(vt.Annotations.of(["Task1_a"], ["ship"], [[1, 2, 5, 9]]), tmp_path / "other", "dota")
