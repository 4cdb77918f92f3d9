"""MOT: sequences, frames and classes."""

from __future__ import annotations

from pathlib import Path

import pytest

import verite as vt
from tests.formats.samples import refused
from verite.formats import mot


def sequence(folder, line, info=None, name="gt"):
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / f"{name}.txt").write_text(f"{line}\n")
    if info is not None:
        (folder / "seqinfo.ini").write_text("[Sequence]\n" + "".join(f"{key}={value}\n" for key, value in info.items()))
    return vt.read(folder / name / f"{name}.txt")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("MOT17-02/gt/gt.txt", "MOT17-02"),
        ("MOT17-02/det/det.txt", "MOT17-02"),
        ("in/MOT17-02.txt", "MOT17-02"),
        ("a/walk/walk.txt", "walk"),
        ("a/gt/det.txt", "det"),
    ],
)
def test_sequences_have_the_name_of_their_folder(path, name):
    assert mot.sequence_name(Path(path)) == name


def test_frames_are_as_many_and_as_large_as_their_sequence_says(tmp_path):
    line = "2,1,10,20,30,40,1,1,1"
    bare = sequence(tmp_path / "a", line)
    assert (len(bare.images), bare.images.widths.tolist()) == (1, [0])
    told = sequence(tmp_path / "b", line, {"seqLength": 3, "imWidth": 640, "imHeight": 480})
    assert [told.images.name(i) for i in range(3)] == ["b/000001", "b/000002", "b/000003"]
    assert (told.images.widths.tolist(), told.images.heights.tolist()) == ([640] * 3, [480] * 3)
    unsized = sequence(tmp_path / "c", line, {"seqLength": 2})
    assert (unsized.images.widths.tolist(), unsized.images.heights.tolist()) == ([0, 0], [0, 0])
    assert told.regions.sizes.tolist() == [[10, 20, 30, 40]]


def test_classes_of_sequences_are_counted_from_1():
    assert mot.class_name("x", 1) == mot.CLASSES[0]
    assert mot.class_name("x", len(mot.CLASSES)) == mot.CLASSES[-1]
    for odd in (0, len(mot.CLASSES) + 1, 1.5, float("nan"), -1):
        assert f"expected a class from 1 to {len(mot.CLASSES)}, found {odd}" in refused(mot.class_name, "x", odd)


def test_a_truth_of_sequences_has_nine_numbers_and_a_class(tmp_path):
    def is_truth(*lines, name="x.txt"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        return mot.is_truth(tmp_path / name)

    assert is_truth("1,1,10,20,30,40,1,1,0.5", "1,2,10,20,30,40,0,7,1")
    assert not is_truth("1,1,10,20,30,40,0.5,-1,-1,-1")
    good, other = "1,1,10,20,30,40,1,1,0.5", "1,-1,10,20,30,40,0.7,-1,-1,-1"
    assert is_truth(good, good, good)
    assert not is_truth(good, other, good)
    assert is_truth("", name="gt.txt")
    assert not is_truth("1,1,10,20,30,40,1,1,0.5", name="det.txt")


def test_ignored_objects_and_distractors_are_named(tmp_path):
    lines = ["1,1,10,10,40,40,1,1,1", "1,2,200,10,40,40,0,8,1"]
    truth = sequence(tmp_path / "a", "\n".join(lines))
    notes = truth.source.notes
    assert any("1 objects are ignored (flag 0), 1 of them for predictions of any class" in note for note in notes)
    assert not any("ignored" in note for note in sequence(tmp_path / "b", lines[0]).source.notes)


@pytest.mark.parametrize("track", ["19999999999999999999926", "1e400", "-9.3e18", "nan", "1.5"])
def test_ids_of_tracks_are_whole_numbers_of_64_bits(tmp_path, track):
    path = tmp_path / "results.txt"
    path.write_text(f"1,1,10,10,20,20,0.5,-1,-1,-1\n1,{track},10,10,20,20,0.5,-1,-1,-1\n")
    with pytest.raises(vt.ReadError, match=r"results\.txt:2: expected .*found"):
        vt.read(path, format="mot")
