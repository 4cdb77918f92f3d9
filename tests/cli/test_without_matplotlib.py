"""Without matplotlib every verb keeps its tables, and says in one line what to install."""

from __future__ import annotations

import sys

import pytest

from tests.cli.test_command_line import DATA, typed  # noqa: F401

TRUTH, HAWK, MOLE = (DATA / "demo" / f"{name}.json" for name in ("truth", "hawk", "mole"))
VERBS = {
    "voc": (TRUTH, HAWK),
    "coco": (TRUTH, HAWK),
    "localize": (TRUTH, HAWK, "-m", "iou"),
    "interpret": (TRUTH, HAWK, "--confidence", "0.3"),
    "rank": (TRUTH, HAWK, MOLE, "--epsilon", "0.05"),
    "study": ("-m", "iou", "-a", "translation(reach=2)", "--truth", "boxes"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_tables_are_written_and_plots_left_out(typed, verb, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, out, err = typed(verb, *VERBS[verb], "-o", tmp_path, "--quiet")
    assert status == 0
    assert out
    assert err == "no plots: expected matplotlib, found none; pip install 'verite[plots]'\n"
    written = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert {".csv", ".json"} <= written
    assert ".png" not in written


def test_nothing_is_said_where_no_plot_was_asked_for(typed, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert typed("voc", TRUTH, HAWK, "-o", tmp_path, "--no-plot", "--quiet")[2] == ""
    assert typed("coco", TRUTH, HAWK, "-o", tmp_path, "--overwrite", "--no-plot", "--quiet")[2] == ""


def test_distances_are_printed_without_their_picture(typed, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, out, err = typed("class-distance", "voc", "--plot", tmp_path / "a.png", "--quiet")
    assert status == 0
    assert "20 classes" in out
    assert "verite[plots]" in err
