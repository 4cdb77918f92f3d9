"""JSON documents: errors by place, limits of depth, values that JSON has not."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

import verite as vt
from tests.formats.samples import refused, sample
from verite.formats.json_documents import check_depth, check_finite, explain_syntax, odd_value, translate


def test_wrong_json_is_named_by_its_line(tmp_path):
    path = tmp_path / "a.json"
    for data, line in ((b'{"a": 1,\n "b": x}', 2), (b"x", 1)):
        with pytest.raises(msgspec.DecodeError) as error:
            msgspec.json.decode(data)
        assert str(explain_syntax(path, data, error.value)).startswith(f"{path}:{line}: expected JSON")


def test_json_may_be_nested_so_deeply_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setenv("VERITE_LIMIT_JSON_DEPTH", "3")
    check_depth(tmp_path, b"[[[1]]]")
    check_depth(tmp_path, b'[[1], [2], [3], [4], {"a": [5]}]')
    check_depth(tmp_path, b'["[[[[[["]')  # in a text
    assert "at most 3 levels of nesting, found more" in refused(check_depth, tmp_path, b"[[[[1]]]]")
    assert "found more" in refused(check_depth, tmp_path, b'[{"a": [{"b": 1}]}]')


def test_values_that_json_has_not_are_found_by_their_place():
    nan = float("nan")
    assert odd_value({"a": [1, {"b": nan}]}, "", frozenset()) == (".a[1].b", "a number", "nan")
    assert odd_value({"a": [1, {"b": nan}]}, "", frozenset({"b"})) is None
    assert odd_value({"a": "\ud800"}, "", frozenset()) == (".a", "text", "half a surrogate pair")
    assert odd_value({"\ud800": 1}, "", frozenset())[0] == ": key"
    assert odd_value({"é": "é", "a": [1.5, "x"]}, "", frozenset()) is None


def test_numbers_that_json_has_not_are_not_written(tmp_path):
    check_finite(tmp_path, "boxes", np.zeros((3, 4)))
    values = np.zeros((3, 4))
    values[1, 2] = np.nan
    assert "expected boxes that JSON can hold, found NaN or infinity in object 1" in refused(
        check_finite, tmp_path, "boxes", values
    )


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Number out of range", ("a number", "one too large to hold")),
        ("Expected `array` of length 4, got 3", ("4 values", "3")),
        ("Expected `float | null`, got `str`", ("a number", "text")),
        ("Object missing required field `id`", ("a key 'id'", "none")),
        ("Something else", ("a value that fits", "'Something else'")),
    ],
)
def test_complaints_of_the_parser_are_put_into_our_words(message, told):
    assert translate(message) == told


def test_wrong_json_is_shown_around_the_place():
    data = b"[\n" + b"1" * 30 + b" x" + b"2" * 30
    with pytest.raises(msgspec.DecodeError) as error:
        msgspec.json.decode(data)
    said = str(explain_syntax(Path("a"), data, error.value))
    # Ten bytes before byte 33, and twenty from there on.
    assert f"a:2: expected JSON, found '{data[23:53].decode()}' around byte 33" in said


def test_dictionaries_per_image_may_be_a_list_in_a_file(tmp_path):
    read = vt.read(sample("by_image", "good", "list.json"))
    assert (read.source.format, read.images.ids.tolist(), read.image.tolist()) == ("by-image", [5, 9], [1, 1])
    assert read.regions.boxes.tolist() == [[1, 2, 4, 6], [10, 10, 20, 30]]
    assert read.confidence.tolist() == [0.5, 0.25]
    named = [{"file_name": "a.jpg", "boxes": [[1, 2, 4, 6]], "labels": ["cat"], "scores": [0.5]}]
    (tmp_path / "named.json").write_text(json.dumps(named))
    read = vt.read(tmp_path / "named.json")
    assert (read.images.names, read.labels.names, len(read)) == (("a.jpg",), ("cat",), 1)
    (tmp_path / "twice.json").write_text(json.dumps(named * 2))
    with pytest.raises(vt.ReadError, match=r"\[1\]: expected an image_id or file_name that no other image has"):
        vt.read(tmp_path / "twice.json")
