"""Whatever happens to a good file: it is read, or refused in one line, at once."""

from __future__ import annotations

import random
import shutil
import time

import pytest

import verite as vt
from tests.formats.samples import FORMATS, need_packages, sample

# A file to spoil; of data sets that need more than one file, each in its turn.
TARGETS = [
    ("coco", "good", "instances.json"),
    ("coco", "good", "scored.json"),
    ("coco_results", "good", "results.json"),
    ("cvat", "good", "annotations.xml"),
    ("coco_folder", "good", "_annotations.coco.json"),
    ("cvat_video", "good", "annotations.xml"),
    ("data_yaml", "good", "data.yaml"),
    ("json_lines", "good", "results.jsonl"),
    ("kitti", "good", "000000.txt"),
    ("label_studio", "good", "small.json"),
    ("label_studio", "good", "tasks.json"),
    ("labelme", "good", "pier.json"),
    ("mot", "good", "SEQ-01/gt/gt.txt"),
    ("mot", "good", "SEQ-01/seqinfo.ini"),
    ("openimages", "good", "boxes.csv"),
    ("openimages_masks", "good", "a.png"),
    ("openimages_masks", "good", "masks.csv"),
    ("parquet", "good", "truth.parquet"),
    ("results_object", "good", "predictions.json"),
    ("table", "good", "truth.csv"),
    ("text", "good", "pier.txt"),
    ("via", "good", "export.json"),
    ("via", "good", "table.csv"),
    ("voc", "good", "pier.xml"),
    ("yolo", "good", "labels/val/pier.txt"),
    ("yolo", "good", "data.yaml"),
    ("wider", "good", "faces.txt"),
]
WHOLE = ("coco_folder", "mot", "openimages_masks", "yolo")  # read as a folder
MUTATIONS = 300
TOKENS = rb"""NaN -1 1e999 99999999999999999999 [[[[ ] } " null <!DOCTYPE_a> &x; - , ; \ud800 1_0""".split()
TOKENS += [b"\xff", b"\x00", b" ", b"\n", b"\xf0\x9f\x9a\xa2"]


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The bytes with a cut, a flipped bit, a token put in, a stretch left out or doubled, once or a few times."""
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        at = chance.randrange(len(data) + 1)
        until = min(len(data), at + chance.choice([1, 1, 5, 50]))
        match chance.randrange(6):
            case 0:
                data = data[:at]
            case 1 if at < len(data):
                data = data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
            case 2:
                data = data[:at] + data[until:]
            case 3:
                data = data[:at] + data[at:until] * 3 + data[until:]
            case 4:
                data = data[:at] + bytes([chance.randrange(256)]) + data[at:]
            case _:
                data = data[:at] + chance.choice(TOKENS) + data[until:]
    return data


def complaint_about(path, format):
    """Why a path is refused; None where it is read. Anything but our own error fails the test."""
    try:
        assert vt.read(path, format=format).digest
    except vt.VeriteError as error:
        return str(error)
    return None


@pytest.mark.parametrize("target", TARGETS, ids="/".join)
def test_spoiled_file_is_read_or_refused(target, tmp_path):
    folder, root, name = target
    need_packages(folder)
    good = sample(folder, root, *name.split("/"))
    whole = tmp_path / root
    shutil.copytree(sample(folder, root), whole)
    path = whole / name
    place = whole if folder in WHOLE else path
    chance = random.Random("/".join(target))
    outcomes = {True: 0, False: 0}
    for _ in range(MUTATIONS):
        path.write_bytes(mutated(good.read_bytes(), chance))
        start = time.perf_counter()
        for format in (FORMATS[folder], None):
            complaint = complaint_about(place, format)
            assert complaint is None or complaint.isprintable()
            outcomes[complaint is None] += 1
        assert time.perf_counter() - start < 2
    assert min(outcomes.values()) > 10  # both sides were seen
