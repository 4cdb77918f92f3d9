"""Whatever the streams are, the command ends well: narrow encodings, closed ends, readers that leave."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


@pytest.fixture
def truth(tmp_path):
    document = {
        "images": [{"id": 1, "width": 90, "height": 90}],
        "categories": [{"id": 1, "name": "żółw\x1b[2J\u202e漢"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}],
    }
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(document))
    return path


def typed(*words, **more):
    program = "import sys; from verite.cli import main; main(sys.argv[1:])"
    return subprocess.run([sys.executable, "-c", program, *map(str, words)], capture_output=True, check=False, **more)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "latin-1", "cp437"])
def test_any_encoding_will_do(truth, encoding):
    done = typed("inspect", truth, env={**os.environ, "PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode(encoding)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert ("漢" if encoding == "utf-8" else r"\u6f22") in text


def test_tables_are_ruled_with_what_an_encoding_has(truth):
    for encoding, rule in (("utf-8", "────"), ("cp437", "────"), ("cp1252", "----")):
        done = typed("coco", truth, truth, "--checks", "off", "-q", env={**os.environ, "PYTHONIOENCODING": encoding})
        assert rule in done.stdout.decode(encoding)
        assert r"\u2500" not in done.stdout.decode(encoding)


def test_closed_ends_do_no_harm(truth):
    for redirection in (">&-", "2>&-", ">&- 2>&-"):
        program = f"{sys.executable} -c 'import sys; from verite.cli import main; main(sys.argv[1:])'"
        command = f"{program} inspect {truth} {redirection}"
        assert subprocess.run(["sh", "-c", command], check=False, stdout=subprocess.DEVNULL).returncode == 0
