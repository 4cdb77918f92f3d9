"""A folder of many files: converted in order, with a word on how far it is, and nothing lost."""

from __future__ import annotations

import pytest

import verite as vt
from tests.formats.test_round_trips import COMMON
from verite import cli
from verite.progress import listen

COUNT = 1200
FOLDERS = [f.name for f in COMMON if not f.suffixes]


@pytest.fixture(scope="module")
def truth():
    """One object per image, its left edge the number of the image."""
    names = [f"{i:06d}.jpg" for i in range(COUNT)]
    boxes = [[i, 10, i + 20, 30] for i in range(COUNT)]
    return vt.Annotations.of(names, ["boat"] * COUNT, boxes, sizes=dict.fromkeys(names, (5000, 500)))


@pytest.mark.thorough
@pytest.mark.parametrize("format", FOLDERS)
def test_order_stays_and_nothing_is_lost(tmp_path, truth, format):
    vt.write(truth, tmp_path / "out", format)
    assert sum(1 for p in (tmp_path / "out").rglob("*.*") if p.is_file() and p.suffix != ".yaml") == COUNT
    read = vt.read(tmp_path / "out", image_size=(5000, 500))
    assert read.source.format == format
    assert [name.removesuffix(".jpg") for name in read.images.names] == [f"{i:06d}" for i in range(COUNT)]
    assert read.regions.boxes[:, 0].round(9).tolist() == list(range(COUNT))
    vt.write(read, tmp_path / "back.json", "coco")
    assert vt.read(tmp_path / "back.json").image.tolist() == list(range(COUNT))


@pytest.mark.parametrize("format", FOLDERS)
def test_progress_is_told_of_reading_and_writing(tmp_path, truth, format):
    told = []
    with listen(lambda work: told.append((work.what, work.done, work.total, work.is_over))):
        vt.write(truth, tmp_path / "out", format)
        vt.read(tmp_path / "out", format=format)
    for what in ("writing", "reading"):
        mine = [rest for name, *rest in told if name == what]
        assert mine == [*([n, COUNT, False] for n in range(COUNT + 1)), [COUNT, COUNT, True]]


def test_broken_file_among_many_ends_the_conversion_and_leaves_nothing(tmp_path, truth):
    vt.write(truth, tmp_path / "in", "kitti")
    (tmp_path / "in" / "000700.txt").write_text("Car 1 2\n")
    words = ["convert", str(tmp_path / "in"), str(tmp_path / "out.json"), "--to", "coco", "--quiet"]
    assert cli.run(words) == 1
    assert not (tmp_path / "out.json").exists()
