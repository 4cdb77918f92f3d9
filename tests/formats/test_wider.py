"""WIDER FACE: recognition, images without faces, errors."""

from __future__ import annotations

import pytest

import verite as vt
from tests.formats.samples import refused
from verite.formats import wider
from verite.formats.format import PathProbe


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("a.jpg\n0\n", True),
        ("a.jpg\n1\n", False),  # the face is missing
        ("a.jpg\n1\n1 2 3 4 0.5\n", True),
        ("a.jpg\n1\n1 2 3 4 0 0 0 0 0 0\n", True),
        ("a.jpg\n1\n1 2 3 4\n", False),
        ("a.jpg\n1\n1 2 3 4 x\n", False),
        ("7\n1\n1 2 3 4 0.5\n", False),  # no name
        ("a b.jpg\n1\n1 2 3 4 0.5\n", False),
        ("a.jpg\nx\n1 2 3 4 0.5\n", False),
        ("a.jpg\n", False),
    ],
)
def test_faces_are_known_by_name_number_and_numbers(tmp_path, text, is_so):
    (tmp_path / "a.txt").write_text(text)
    assert (wider.recognise(PathProbe(tmp_path / "a.txt")) is not None) is is_so


def test_images_without_faces_may_have_a_line_of_zeros(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a.jpg\n0\n0 0 0 0 0 0 0 0 0 0\nb.jpg\n0\nc.jpg\n1\n1 2 3 4 0 0 0 1 1 0\n")
    found = vt.read(path, format="wider")
    assert found.images.names == ("a.jpg", "b.jpg", "c.jpg")
    assert found.regions.sizes.tolist() == [[1, 2, 3, 4]]
    assert (found.flag("ignore").tolist(), found.flag("occluded").tolist()) == ([True], [True])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a.jpg\n", "a.txt:2: expected the number of faces, found the end of the file"),
        ("a.jpg\nx\n", "a.txt:2: expected the number of faces, found 'x'"),
        ("a.jpg\n1234567890\n", "a.txt:2: expected the number of faces, found '1234567890'"),
        ("a.jpg\n123456789\n", "expected 123456789 faces of a.jpg, found the end of the file"),
        ("a.jpg\n2\n1 2 3 4 0.5\n", "expected 2 faces of a.jpg, found the end of the file"),
        ("a.jpg\n1\n1 2 3 4\n", "a.txt:3: expected 10 numbers per face, 5 of a prediction, found 4"),
    ],
)
def test_faces_that_are_none_are_named(tmp_path, text, said):
    (tmp_path / "a.txt").write_text(text)
    assert said in refused(vt.read, tmp_path / "a.txt", format="wider")
