"""A format is one record: whoever adds one finds it everywhere, without another line."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings

import verite as vt
from tests.formats.random_annotations import annotations
from tests.formats.test_round_trips import demands, write_and_read
from tests.formats.toy import FORMAT
from verite import cli, formats
from verite.formats.format import Format
from verite.formats.registry import reference_page


@pytest.fixture
def toy(monkeypatch):
    """The toy among the formats, asked last."""
    monkeypatch.setitem(formats.REGISTRY, "toy", "tests.formats.toy")
    return FORMAT


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.toy"
    path.write_text("TOY\npier.jpg|boat|1|2|3|4\n")
    return path


def test_file_of_nobody_is_not_read(file):
    with pytest.raises(vt.ReadError, match="expected annotations in a format known to verite"):
        vt.read(file)


def test_toy_is_recognised_and_read(toy, file):
    read = vt.read(file)
    assert read.source.format == "toy"
    assert read.source.why == "a file that begins with TOY"
    assert read.regions.boxes.tolist() == [[1, 2, 3, 4]]


def test_toy_is_converted_from_and_to(toy, file, tmp_path, capsys):
    assert cli.run(["convert", str(file), str(tmp_path / "b.json"), "--to", "coco"]) == 0
    assert cli.run(["convert", str(tmp_path / "b.json"), str(tmp_path / "c.toy"), "--to", "toy"]) == 0
    assert (tmp_path / "c.toy").read_text() == "TOY\npier.jpg|boat|1.0|2.0|3.0|4.0\n"
    said = capsys.readouterr().err
    assert "read as a toy: a file that begins with TOY" in said
    assert "left out, because a toy cannot hold it: area, class id, image id, object id" in said


def test_toy_is_in_the_help(toy, capsys):
    assert cli.run(["convert", "--help"]) == 0
    assert "labelme" in (said := " ".join(capsys.readouterr().out.split()))
    assert ", toy," in said[said.index("--to FORMAT") :]


def test_toy_is_in_the_reference(toy):
    assert "| `toy` | a toy | ground truth and predictions | yes |" in reference_page()


def test_toy_is_named_to_whoever_misspells_it(toy, file):
    with pytest.raises(vt.BadParameter, match=r"found 'toi'; did you mean 'toy'\?"):
        vt.read(file, format="toi")


def test_option_without_use_is_named(toy, file, tmp_path):
    assert vt.read(file, names=["a"]).source.notes == ("names='…' is not used by a toy",)


@given(before=annotations(**demands(FORMAT)))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_toy_passes_the_common_round_trip(toy, before):
    write_and_read(toy, before)


def test_record_with_an_option_that_does_not_exist_is_refused():
    with pytest.raises(vt.BadParameter, match=r"options: expected names out of boxes, .* found 'colour'"):
        Format("x", "x", "x", lambda look: None, lambda path, options: None, options=frozenset({"colour"}))


def test_every_record_is_listed():
    """A file in formats/ that declares a FORMAT has a place in the order in which they are asked."""
    folder = formats.__path__[0]
    from pathlib import Path

    declared = sum(len(re.findall(r"^[A-Z_]+ = Format\(", p.read_text(), re.M)) for p in Path(folder).glob("*.py"))
    assert declared == len(formats.REGISTRY)
    assert [format.name for format in formats.all_formats()] == list(formats.REGISTRY)
