"""Files that say they are parts: whatever is in them, one clear line, and no memory for what is not there."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.scale.test_partial import coco_sides
from verite import _core
from verite.cli import run

MAGIC = b"verite part\n"
HOSTILE: list[Any] = [
    None, True, -1, 0, 2**70, 1e308, float("nan"), "", "x" * 5000, "a\nb\x1b[31m", "\ud800", [], {}, [[]], [None],
    ["a", "a"], {"a": 1}, [1, 2, 3], [[1, {}]],
]  # fmt: skip


@pytest.fixture(scope="module", params=["coco", "voc", "panoptic"])
def part(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """With findings and classes that only predictions have, where there may be some."""
    folder = tmp_path_factory.mktemp("sides")
    if request.param == "panoptic":
        from tests.panoptic_files import write_side
        from tests.protocols.test_panoptic import random_set

        images = random_set(np.random.default_rng(7))
        sides = [{i: (s[k][0].tolist(), s[k][1]) for i, s in images.items()} for k in (0, 1)]
        paths = [write_side(folder, f"side{k}", sides[k]) for k in (0, 1)]
        return vt.partial(*paths, "panoptic", checks="off").to_bytes()
    truth, pred = coco_sides(folder, 5)
    more: dict[str, Any] = {"ties": "image"} if request.param == "voc" else {}
    return vt.partial(truth, pred, request.param, checks="warn", **more).to_bytes()


def sign(inner: bytes) -> bytes:
    """With the digest that belongs to it: a liar who knows the format."""
    return inner + _core.digest(inner).to_bytes(8, "little")


def number(data: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte, at = data[at], at + 1
        found |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return found, at


def spell(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def with_about(data: bytes, change: Callable[[Any], Any]) -> bytes:
    """The same part that says other things about itself."""
    start = len(MAGIC) + 1
    size, first = number(data, start)
    about = json.dumps(change(json.loads(data[first : first + size]))).encode()
    return sign(data[:start] + spell(len(about)) + about + data[first + size : -8])


def with_notes(data: bytes, text: bytes) -> bytes:
    bare = _core.EvaluationState.from_bytes(data).with_notes("").to_bytes()
    return sign(bare[:-8] + spell(len(text)) + text)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a document."""
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*path, key))


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    home = document
    for key in path[:-1]:
        home = home[key]
    home[path[-1]] = value
    return document


def say(capsys: pytest.CaptureFixture[str], path: Path, data: bytes) -> tuple[int, str]:
    """The status of `verite merge`, and what it said; a refusal is one line, and prints nothing else."""
    path.write_bytes(data)
    status = run(["merge", str(path), "--quiet"])
    out, err = capsys.readouterr()
    if status:
        assert (status, out, err.count("\n")) == (1, "", 1), (data, err)
        assert "internal error" not in err
        assert str(path) in err or "part" in err
        assert err.isprintable() or err[:-1].isprintable()
        assert len(err) < 1000
    return status, err


@pytest.mark.thorough
def test_documents_that_lie_are_refused_in_one_line(
    part: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    size, first = number(part, len(MAGIC) + 1)
    about = json.loads(part[first : first + size])
    refused = 0
    for path in places(about):
        for hostile in HOSTILE:
            data = with_about(part, lambda known, path=path, hostile=hostile: put(known, path, hostile))
            refused += say(capsys, tmp_path / "x.part", data)[0]
    for key in ("protocol", "settings", "labels"):
        data = with_about(part, lambda known, key=key: {k: v for k, v in known.items() if k != key})
        assert say(capsys, tmp_path / "x.part", data)[0] == 1
    assert refused > 50


@pytest.mark.thorough
def test_notes_that_lie_are_refused_in_one_line(
    part: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fix = {"side": "pred", "options": [["boxes", "xyxy"], ["image_size", [3, 4]]]}
    finding = {
        "code": "V111",
        "severity": "error",
        "side": "pred",
        "message": "m",
        "count": 3,
        "examples": ["e"],
        "fix": fix,
    }
    notes = {
        "classes": ["zebra"],
        "sigmas": {"cat": [0.1]},
        "findings": [[2, finding], [2, {**finding, "fix": "mend"}]],
    }
    refused = 0
    for path in places(notes):
        for hostile in HOSTILE:
            text = json.dumps(put(json.loads(json.dumps(notes)), path, hostile)).encode()
            refused += say(capsys, tmp_path / "x.part", with_notes(part, text))[0]
    for text in (b"{", b"\xff\xfe", b"[" * 100_000, b'{"classes":' + b"9" * 10_000 + b"}", b"null"):
        assert say(capsys, tmp_path / "x.part", with_notes(part, text))[0] == 1
    assert refused > 200


def test_bytes_that_were_changed_are_refused_in_one_line(
    part: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(3)
    for kind in range(60):
        mutated = bytearray(part)
        at = int(rng.integers(len(mutated)))
        if kind % 3 == 0:
            mutated[at] ^= int(rng.integers(1, 256))
        elif kind % 3 == 1:
            del mutated[at:]
        else:
            mutated[at:at] = rng.bytes(9)
        status, said = say(capsys, tmp_path / "x.part", bytes(mutated))
        assert status == 1
        assert "x.part: expected a part" in said


def test_a_liar_with_the_right_digest_ends_in_numbers_or_in_one_line_and_takes_no_memory(
    part: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(4)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = 0
    _, first = number(part, len(MAGIC) + 1)
    for _ in range(150):
        mutated = bytearray(part[:-8])
        for _ in range(int(rng.integers(1, 4))):
            mutated[int(rng.integers(first, len(mutated)))] = int(rng.choice([0, 1, 127, 128, 255, rng.integers(256)]))
        refused += say(capsys, tmp_path / "x.part", sign(bytes(mutated)))[0]
    for claim in (2**32, 2**63, 2**64 - 1):  # so many bytes of text, images or classes
        start = len(MAGIC) + 1
        assert say(capsys, tmp_path / "x.part", sign(part[:start] + spell(claim) + part[start + 1 : -8]))[0] == 1
    assert refused > 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


def test_what_is_no_file_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder.part").mkdir()
    (tmp_path / "empty.part").touch()
    (tmp_path / "zip.part").write_bytes(b"PK\x03\x04" + bytes(100))
    (tmp_path / "pickle.part").write_bytes(b"\x80\x05cos\nsystem\n(S'true'\ntR.")  # never unpickled
    for name in ("folder.part", "empty.part", "zip.part", "pickle.part", "absent.part"):
        assert run(["merge", str(tmp_path / name)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert name in err
