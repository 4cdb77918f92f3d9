"""KITTI: recognition, flags and ignored classes."""

from __future__ import annotations

import verite as vt
from verite.formats import kitti
from verite.formats.format import PathProbe


def lines(tmp_path, *given, name="a.txt"):
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / name).write_text("".join(f"{line}\n" for line in given))
    return PathProbe(tmp_path / name)


FACE = "Car 0 0 -10 1 2 30 40 -1 -1 -1 -1000 -1000 -1000 -10"


def test_kitti_is_known_by_more_than_half_of_its_lines(tmp_path):
    assert kitti.recognise(lines(tmp_path, FACE, FACE, "x y")) == "text files with a type and 14 numbers per line"
    assert kitti.recognise(lines(tmp_path, f"{FACE} 0.5")) == "text files with a type and 15 numbers per line"
    assert kitti.recognise(lines(tmp_path, FACE, "x y")) is None
    assert kitti.recognise(lines(tmp_path, f"{FACE} 0.5 1")) is None
    assert kitti.recognise(lines(tmp_path, FACE.replace("Car", "1"))) is None
    assert kitti.recognise(lines(tmp_path, FACE.replace("40", "forty"))) is None


def test_kitti_knows_what_is_cut_hidden_or_nobodys_care(tmp_path):
    def flags(truncated, occluded, kind="Car"):
        lines(tmp_path, FACE.replace("Car 0 0", f"{kind} {truncated} {occluded}"))
        read = vt.read(tmp_path / "a.txt", format="kitti")
        return {name for name in ("truncated", "occluded", "ignore") if read.flag(name).any()}

    assert flags(0, 0) == flags(-1, -1) == set()
    assert flags(0.1, 0) == {"truncated"}
    assert flags(0, 1) == flags(0, 2) == {"occluded"}
    assert flags(0, 3) == set()  # nobody could tell
    assert flags(-1, -1, "DontCare") == {"ignore"}
