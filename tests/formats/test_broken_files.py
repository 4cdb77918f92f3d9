"""A broken file is refused in one line: the place, what was expected, and what was found instead.

What is said about each is in `broken.json` beside the samples: place, expectation, finding. FILE stands for the path
itself, BROKEN for the folder it is in.
"""

from __future__ import annotations

import json

import pytest

import verite as vt
from tests.formats.samples import DATA, FORMATS, need_packages, sample

BROKEN = {folder: json.loads((DATA / folder / "broken.json").read_text()) for folder in FORMATS}
CASES = [(folder, name, *said) for folder, cases in BROKEN.items() for name, said in cases.items()]


@pytest.mark.parametrize(
    ("folder", "name", "place", "expected", "found"), CASES, ids=lambda value: value.split()[0] if value else ""
)
def test_broken_file_is_named_with_place_expectation_and_finding(folder, name, place, expected, found):
    need_packages(folder)
    path = sample(folder, "broken", name)
    with pytest.raises(vt.ReadError) as caught:
        _ = vt.read(path, format=FORMATS[folder]).regions.outlines  # polygons and masks are read when asked for
    message = str(caught.value)
    assert message.isprintable()  # one line, and nothing in it that a terminal could take for a command
    assert message.startswith(
        f"{path}{place}: expected {expected}, found {found}".replace("FILE", str(path)).replace(
            "BROKEN", str(path.parent)
        )
    )


@pytest.mark.parametrize("folder", FORMATS)
def test_every_broken_sample_is_tested_and_there_are_enough(folder):
    there = {path.name for path in (DATA / folder / "broken").iterdir()}
    assert there == set(BROKEN[folder])
    assert len(there) >= 6


def test_hint_follows_where_there_is_one():
    with pytest.raises(vt.ReadError, match=r"; was it cut off\? \(V403\)$"):
        vt.read(sample("coco", "broken", "truncated.json"))
    with pytest.raises(
        vt.ReadError, match=r"; ids are text in one place and numbers in the other \(V212\), images\[0\] has 7$"
    ):
        vt.read(sample("coco", "broken", "image_id_as_text.json"))
    with pytest.raises(vt.ReadError, match=r"; did you mean 'Ymx'\? \(V415\)$"):
        vt.read(sample("openimages", "broken", "no_column.csv"), format="openimages")


def test_csv_cell_without_end_is_refused(tmp_path):
    path = tmp_path / "boxes.csv"
    path.write_text("ImageID,LabelName,XMin,XMax,YMin,YMax\n" + "p" * 200_000 + ",boat,0,1,0,1\n")
    with pytest.raises(vt.ReadError, match=r"boxes.csv:2: expected cells of at most 131,072 characters, found 200,000"):
        vt.read(path)


def test_text_in_an_xml_element_is_bounded(tmp_path, monkeypatch):
    path = tmp_path / "a.xml"
    path.write_text("<annotation>" + "x<i/>" * 1001 + "</annotation>")
    assert len(vt.read(path)) == 0
    monkeypatch.setenv("VERITE_LIMIT_XML_TEXT", "1000")
    with pytest.raises(vt.ReadError, match="at most 1000 characters in <annotation>, found more"):
        vt.read(path)


def test_brackets_in_texts_are_no_nesting(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"images": [], "annotations": [], "categories": [{"id": 1, "name": "' + "[" * 100 + '"}]}')
    assert vt.read(path).labels.names == ("[" * 100,)


def test_limit_can_be_raised(monkeypatch):
    monkeypatch.setenv("VERITE_LIMIT_JSON_DEPTH", "100")
    assert len(vt.read(sample("coco", "broken", "deep.json"))) == 1
