"""Rows: images, confidences and remarks of text formats."""

from __future__ import annotations

from pathlib import Path

from tests.formats.samples import refused
from verite.errors import list_faults
from verite.formats.format import Options
from verite.formats.rows import Rows


def test_remarks_are_counted_and_told_with_the_first_place():
    rows = Rows(Path("in"), Options())
    rows.notes.append("a word")
    rows.remark("things left out", "a:1")
    rows.remark("things left out", "a:7", 2)
    rows.remark("others", "", 1)
    rows.remark("nothing", "a:9", 0)
    assert rows.all_notes == ("a word", "1 others", "3 things left out (first: a:1)")


def test_an_image_has_a_name_and_comes_once():
    rows = Rows(Path("in"), Options())
    rows.add_image("a:1", "x", 4, 5)
    assert "expected each image once, found a second 'x'" in refused(rows.add_image, "a:2", "x")
    rows.remember_image("a:3", "x")  # objects speak of it again
    assert rows.images == {"x": (4, 5)}
    assert "the name of an image, found an empty one" in refused(rows.remember_image, "a:4", "")
    assert "an image name in UTF-8" in refused(rows.remember_image, "a:5", "\ud800")


def test_all_objects_have_a_confidence_or_none():
    def rows(*confidences):
        found = Rows(Path("in"), Options())
        for i, confidence in enumerate(confidences):
            found.add(f"a:{i}", "x", "cat", (0, 0, 1, 1), confidence)
        return found

    assert rows(0.5, 0.6).annotations("text", layout="xywh").confidence.tolist() == [0.5, 0.6]
    assert rows(None, None).annotations("text", layout="xywh").confidence is None
    assert "a:1: expected a confidence as in a:0, found none" in refused(rows(0.5, None).check_confidences)
    assert "a:1: expected no confidence as in a:0, found one" in refused(rows(None, 0.5).check_confidences)


def test_where_faults_are_listed_objects_unlike_the_first_are_left_out():
    with list_faults():
        rows = Rows(Path("in"), Options())
        for i, (confidence, flags) in enumerate([(0.5, ()), (None, ("crowd",)), (0.7, ("difficult",))]):
            rows.add(f"a:{i}", "x", "cat", (i, 0, 1, 1), confidence, flags=flags)
        found = rows.annotations("text", layout="xywh")
    assert found.confidence.tolist() == [0.5, 0.7]
    assert found.flag("difficult").tolist() == [False, True]
    assert not found.flag("crowd").any()
