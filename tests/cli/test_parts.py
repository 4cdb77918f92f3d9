"""`verite partial`, `verite merge` and shards on the command line."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.formats.test_shards import write_shards
from verite.cli import run

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Typed:
    def type_words(*words: Any) -> tuple[int, str, str]:
        status = run([str(word) for word in words])
        return status, *capsys.readouterr()

    return type_words


def numbers_of(out: str) -> list[Any]:
    return [value for key, value in json.loads(out).items() if key.startswith("A")]


def test_globs_and_parts_have_the_numbers_of_one_file(tmp_path: Path, typed: Typed) -> None:
    write_shards(tmp_path, 3)
    whole = typed("coco", tmp_path / "truth.json", tmp_path / "pred.json", "--checks", "off", "--json")[1]
    for more in ([], ["--parts", "2"], ["--parts", "16"]):  # more parts than shards are a part each
        status, out, err = typed(
            "coco", f"{tmp_path}/gt/*.json", f"{tmp_path}/dt/*.json", "--checks", "off", "--json", *more
        )
        assert status == 0, err
        assert json.loads(out)["name"] == "dt"
        assert numbers_of(out) == numbers_of(whole)


@pytest.mark.parametrize("protocol", ["coco", "voc", "openimages"])
def test_parts_that_were_written_are_merged_to_the_numbers_of_all(tmp_path: Path, typed: Typed, protocol: str) -> None:
    write_shards(tmp_path, 3)
    for i in range(3):
        status, out, err = typed(
            "partial", protocol, tmp_path / f"gt/{i}.json", tmp_path / f"dt/{i}.json", "--checks", "off",
            "-o", tmp_path / f"{i}.part",
        )  # fmt: skip
        assert (status, out) == (0, "")
        assert f"Partial: {protocol} of" in err
    status, out, _ = typed("merge", f"{tmp_path}/*.part", "--json")
    assert status == 0
    one = typed(protocol, tmp_path / "truth.json", tmp_path / "pred.json", "--checks", "off", "--json")[1]
    key = "AP" if protocol == "coco" else "mAP"
    assert numbers_of(out) == numbers_of(one)
    assert json.loads(out)["protocol"] == protocol
    assert set(json.loads(out)["classes"]) <= set(json.loads(one)["classes"])
    assert json.loads(out)[key] == json.loads(one)[key]
    some = [tmp_path / "0.part", tmp_path / "1.part"]
    assert typed("merge", *some, "-o", tmp_path / "01.part", "-q") == (0, "", "")
    again = typed("merge", tmp_path / "2.part", tmp_path / "01.part", "--json")[1]
    assert numbers_of(again) == numbers_of(out)
    assert json.loads(again)[key] == json.loads(out)[key]
    status, out, _ = typed("merge", f"{tmp_path}/[012].part", "--name", "mine")
    assert status == 0
    assert "mine" in out
    assert "no objects" not in out


def test_what_cannot_be_merged_is_said_in_one_line(tmp_path: Path, typed: Typed) -> None:
    write_shards(tmp_path, 3)
    files = tmp_path / "gt/0.json", tmp_path / "dt/0.json"
    part = tmp_path / "a.part"
    assert typed("partial", "coco", *files, "--checks", "off", "-q", "-o", part)[0] == 0
    assert typed("partial", "coco", *files, "--checks", "off", "-q", "-n", "5", "-o", tmp_path / "b.part")[0] == 0
    cases = [
        ([part, part], 1, "in two of them; --duplicates first takes the first"),
        ([part, tmp_path / "b.part"], 1, "parts: expected the same max_dets, found [1, 10, 100] and [5]"),
        ([tmp_path / "truth.json"], 1, "expected a part as verite writes it"),
        ([tmp_path / "c.part"], 1, "found nothing; did you mean"),
    ]
    for words, status, message in cases:
        found, out, err = typed("merge", *words)
        assert (found, out, err.count("\n")) == (status, "", 1)
        assert message in err
    status, _, err = typed("partial", "imagenet-loc", *files, "-o", part)
    assert status == 2
    assert "imagenet-loc" in err
    assert typed("partial", "coco", *files)[0] == 2  # nowhere to write to


def test_a_full_disk_leaves_no_part_behind(tmp_path: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shards(tmp_path, 3)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    home = tmp_path / "parts"
    home.mkdir()
    status, _, err = typed(
        "partial",
        "coco",
        tmp_path / "gt/0.json",
        tmp_path / "dt/0.json",
        "--checks",
        "off",
        "-q",
        "-o",
        home / "a.part",
    )
    assert status == 1
    assert "no space left on device" in err
    assert list(home.iterdir()) == []


def test_no_command_complains_about_memory_at_its_end(tmp_path: Path) -> None:
    """Neither after merging nor after an error, when frames of Python hold what the core made."""
    write_shards(tmp_path, 2)
    files = [str(tmp_path / f"{side}.json") for side in ("truth", "pred")]
    part = str(tmp_path / "a.part")
    assert run(["partial", "coco", *files, "-o", part]) == 0
    for words, status in ((["merge", part], 0), (["compare", part, part], 0), (["lvis", *files], 1)):
        ended = subprocess.run([sys.executable, "-m", "verite", *words], capture_output=True, text=True)
        assert ended.returncode == status, ended.stderr
        assert "nanobind" not in ended.stderr
