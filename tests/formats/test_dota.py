"""DOTA: text files and results per class."""

from __future__ import annotations

from dataclasses import replace

import verite as vt
from tests.formats.samples import refused
from verite.formats import dota
from verite.formats.format import PathProbe


def test_dota_results_are_a_file_for_each_class(tmp_path):
    square = vt.Polygons.of([[[1, 2, 5, 2, 5, 8, 1, 8]]] * 2)
    pred = vt.Annotations.of(
        ["p1", "p2"], ["ship", "plane"], [[1, 2, 5, 8]] * 2, confidence=[0.75, 0.5], labels=["plane", "ship"]
    )
    vt.write(replace(pred, regions=vt.Regions([[1, 2, 5, 8]] * 2, polygons=square)), tmp_path / "out", "dota")
    found = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    corners = "1.0 2.0 5.0 2.0 5.0 8.0 1.0 8.0"
    assert found == {"Task1_plane.txt": f"p2 0.5 {corners}\n", "Task1_ship.txt": f"p1 0.75 {corners}\n"}


def lines(tmp_path, *given, name="a.txt"):
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / name).write_text("".join(f"{line}\n" for line in given))
    return PathProbe(tmp_path / name)


def test_dota_results_are_files_of_one_name_each(tmp_path):
    truth = "1 1 5 1 5 5 1 5 ship 0"
    lines(tmp_path, "P1 0.5 1 1 5 1 5 5 1 5", name="Task1_ship.txt")
    assert dota.recognise(PathProbe(tmp_path)) == "text files named Task1_CLASS.txt"
    lines(tmp_path, truth, name="P1.txt")
    assert dota.recognise(PathProbe(tmp_path)) != "text files named Task1_CLASS.txt"
    assert "keep truth apart from predictions" in refused(vt.read, tmp_path, format="dota")
    other = tmp_path / "other"
    assert dota.recognise(lines(other, truth)) == "text files with eight numbers, a class and a difficulty per line"
    assert dota.recognise(lines(other, truth, "x")) is None
    assert dota.recognise(lines(other, "imagesource:Google", "x")) == "text files that begin with imagesource: or gsd:"
    assert not dota.is_truth(["1", "1", "5", "1", "5", "5", "1", "5"])
    assert dota.is_truth(["1", "1", "5", "1", "5", "5", "1", "5", "ship"])
    assert not dota.is_truth(["1", "1", "5", "1", "5", "5", "1", "5", "ship", "0", "0"])
    assert not dota.is_truth(["1", "1", "5", "1", "5", "5", "1", "5", "7", "0"])
