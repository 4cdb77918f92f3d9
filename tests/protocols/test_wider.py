"""WIDER FACE: equal to the official evaluation, with its lists in MATLAB's files or as a table."""

from __future__ import annotations

import json
import struct
import zlib
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.oracles.wider import average_precision, random_faces
from verite.cli import run
from verite.errors import DataError, ReadError
from verite.formats.mat_files import read_mat

# AP of `random_faces(seed)`, from WiderFace-Evaluation (a port of the official MATLAB tools).
PUBLISHED = {1: 0.38272852971803506, 2: 0.38624871485993556, 3: 0.2891028946386629}


@pytest.mark.parametrize("seed", PUBLISHED)
def test_numbers_are_those_of_the_published_evaluator(seed: int) -> None:
    faces = random_faces(seed)
    results = vt.wider(*faces.sides(), lists={"easy": faces.numbers()}, checks="off")
    assert results["AP_easy"].value == pytest.approx(PUBLISHED[seed], abs=1e-12)


@pytest.mark.parametrize("seed", range(10, 20))
def test_numbers_are_those_of_the_slow_rules(seed: int) -> None:
    faces = random_faces(seed, 8)
    results = vt.wider(*faces.sides(), lists={"easy": faces.numbers()}, checks="off")
    assert results["AP_easy"].value == pytest.approx(average_precision(faces), abs=1e-12)


# -- MATLAB files, written by hand as its documentation describes them


def element(kind: int, data: bytes) -> bytes:
    return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)


def matrix(kind: int, shape: tuple[int, int], content: bytes, name: str = "") -> bytes:
    flags = element(6, struct.pack("<II", kind, 0))
    return element(14, flags + element(5, struct.pack("<ii", *shape)) + element(1, name.encode()) + content)


def cells(values: list[Any], name: str = "") -> bytes:
    return matrix(1, (len(values), 1), b"".join(map(encode, values)), name)


def encode(value: Any) -> bytes:
    if isinstance(value, list):
        return cells(value)
    if isinstance(value, str):
        return matrix(4, (1, len(value)), element(16, value.encode()))
    return matrix(9, value.shape, element(2, value.astype(np.uint8).tobytes(order="F")))


def write_mat(path: Path, **values: list[Any]) -> None:
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    packed = [zlib.compress(cells(value, name)) for name, value in values.items()]
    path.write_bytes(head + b"".join(struct.pack("<II", 15, len(data)) + data for data in packed))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_wider_folder(tmp_path)
    return tmp_path


def write_wider_folder(folder: Path) -> None:
    """Write two events of an image each: three faces, of which one, two and three count; one of them is invalid."""
    folder.mkdir(exist_ok=True)
    boxes = [np.array([[0, 0, 20, 20], [50, 0, 20, 20]]), np.array([[10, 10, 30, 30]])]
    common = {"event_list": ["0--Parade", "1--Handshaking"], "file_list": [["one"], ["two"]]}
    lists = {"easy": ([1], []), "medium": ([1], [1]), "hard": ([1, 2], [1])}
    for name, (first, second) in lists.items():
        numbers = [[np.array(own).reshape(-1, 1)] for own in (first, second)]
        write_mat(folder / f"wider_{name}_val.mat", **common, gt_list=numbers)
    invalid = [[np.array([[0], [0]])], [np.array([[0]])]]
    write_mat(
        folder / "wider_face_val.mat", **common, face_bbx_list=[[boxes[0]], [boxes[1]]], invalid_label_list=invalid
    )
    for event, name, lines in (
        ("0--Parade", "one", ["0 0 20 20 0.9", "50 0 20 20 0.8", "90 90 9 9 0.5"]),
        ("1--Handshaking", "two", ["10 10 30 30 0.3"]),
    ):
        (folder / "pred" / event).mkdir(parents=True)
        text = "\n".join([name, str(len(lines)), *lines])
        (folder / "pred" / event / f"{name}.txt").write_text(text + "\n")


def test_the_folder_of_the_evaluation_tools_is_enough(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Easy: the first prediction is the only true positive. Hard: two of three are found before a false positive."""
    assert run(["wider", str(folder), str(folder / "pred"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["classes"]["face"]["truths"] == {"easy": 1, "medium": 2, "hard": 3}
    assert document["AP_easy"] == 1
    assert document["AP_medium"] == pytest.approx(1 / 2 + 1 / 2 * 2 / 3)  # 1 TP, 1 FP, 1 TP
    assert document["AP_hard"] == pytest.approx(2 / 3 + 1 / 3 * 3 / 4)


def test_lists_may_be_a_table_of_face_numbers(folder: Path) -> None:
    table = folder / "lists.csv"
    table.write_text("image,face,subset\none.jpg,1,easy\ntwo.jpg,1,medium\none.jpg,2,hard\n")
    results = vt.wider(folder / "wider_face_val.mat", folder / "pred", lists=table)
    assert results["AP_hard"].value == pytest.approx(2 / 3 + 1 / 3 * 3 / 4)
    table.write_text("image,face,subset\none.jpg,3,easy\n")
    with pytest.raises(DataError, match=r"expected face 3 of image 'one\.jpg'"):
        vt.wider(folder / "wider_face_val.mat", folder / "pred", lists=table)
    table.write_text("image,face,subset\none.jpg,1,tiny\n")
    with pytest.raises(ReadError, match=r"lists\.csv:2: expected a face number and one of easy, medium, hard"):
        vt.wider(folder / "wider_face_val.mat", folder / "pred", lists=table)
    table.write_text("image,face\none.jpg,1\n")
    with pytest.raises(ReadError, match="image,face,subset"):
        vt.wider(folder / "wider_face_val.mat", folder / "pred", lists=table)


def test_without_lists_all_faces_are_one_subset(folder: Path) -> None:
    results = vt.wider(folder / "wider_face_val.mat", folder / "pred")
    assert list(results) == ["AP"]
    assert any("lists=FOLDER" in note for note in results.file_notes)


def test_a_missing_or_broken_list_is_said(folder: Path) -> None:
    (folder / "wider_hard_val.mat").write_bytes((folder / "wider_hard_val.mat").read_bytes()[:200])
    with pytest.raises(ReadError, match=r"cut off|compressed data"):
        vt.wider(folder, folder / "pred")
    (folder / "wider_hard_val.mat").unlink()
    with pytest.raises(ReadError, match=r"expected wider_hard_val\.mat"):
        vt.wider(folder, folder / "pred")


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "MATLAB 5"), (b"\x89HDF\r\n\x1a\n" + b"\0" * 200, "-v7"), (b"x" * 300, "MATLAB 5")]
)
def test_other_files_are_no_matlab_files(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(ReadError, match=words):
        read_mat(tmp_path / "a.mat")


def test_no_predictions_and_no_faces() -> None:
    truth = vt.Annotations.of(["a"], ["face"], [[0, 0, 9, 9]])
    none = vt.Annotations.of([], [], np.empty((0, 4)), images=["a"], labels=["face"], confidence=[])
    assert vt.wider(truth, none, checks="off")["AP"].value == 0
    assert isnan(vt.wider(none, truth, checks="off")["AP"].value)
