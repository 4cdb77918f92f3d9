"""Whatever happens to a good file of a competition: it is read, or refused in one line, at once."""

from __future__ import annotations

import random
import shutil
import time
from importlib.resources import files

import pytest

import verite as vt
from tests.formats.test_fuzz import complaint_about, mutated
from verite.formats.openimages import read_hierarchy

HOME = files("verite") / "data" / "competitions"
TARGETS = [
    ("lvis", "truth.json", "lvis"),
    ("openimages", "boxes.csv", "openimages"),
    ("openimages", "labels.csv", "openimages-labels"),
    ("openimages", "hawk.csv", "openimages-predictions"),
    ("openimages", "hierarchy.json", "hierarchy"),
    ("imagenet", "solution.csv", "imagenet-loc"),
    ("panoptic", "truth.json", "panoptic"),
    ("panoptic", "truth/beach-4013.png", "panoptic"),
]
MUTATIONS = 100


def complaint_about_hierarchy(path):
    try:
        read_hierarchy(path)
    except vt.VeriteError as error:
        return str(error)
    return None


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target[0]}/{target[1]}")
def test_spoiled_file_is_read_or_refused(target, tmp_path):
    folder, name, format = target
    shutil.copytree(str(HOME / folder), tmp_path / folder)
    path = tmp_path / folder / name
    if not path.exists():  # any PNG will do
        path = sorted((tmp_path / folder / "truth").glob("*.png"))[0]
    place = path if path.suffix != ".png" else tmp_path / folder / "truth.json"
    good = path.read_bytes()
    chance = random.Random("/".join(target))
    outcomes = {True: 0, False: 0}
    for _ in range(MUTATIONS):
        path.write_bytes(mutated(good, chance))
        start = time.perf_counter()
        complaint = complaint_about(place, format) if format != "hierarchy" else complaint_about_hierarchy(place)
        assert complaint is None or complaint.isprintable()
        outcomes[complaint is None] += 1
        assert time.perf_counter() - start < 20  # a hang, not a busy machine
    assert outcomes[False] > 5
