"""Written and read again, annotations are the same but for the facts that the writer says are lost: exactly those."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import verite as vt
from tests.formats.random_annotations import annotations
from verite.formats import all_formats
from verite.formats.format import facts_of
from verite.formats.sizes import fractions
from verite.formats.text_lines import reason_for_fractions
from verite.model.images import stem
from verite.model.regions import BOX, MASK, POLYGON

# How to draw annotations that have what a format needs before it writes them at all.
DRAWN = {
    "boxes from left to right": {"layouts": ("xywh",)},  # corners in any order would be no order
    "class id": {"label_kinds": ("ids", "order", "numbers")},
    "class names without blanks": {"has_blanks": False},
    "confidence": {"is_pred": True},
    "image size": {"is_sized": True},
    "masks for all objects or none": {"kinds": ("box", "polygon", "rings")},
    "no confidence": {"is_pred": False},
}
WRITTEN = [format for format in all_formats() if format.write]
# The others need what only a competition's truth, rotated boxes or poses have: their own tests write and read that.
COMMON = [format for format in WRITTEN if format.requires <= set(DRAWN)]


def demands(format):
    """The arguments for drawing annotations that this format can write."""
    return {name: value for need in format.requires for name, value in DRAWN[need].items()}


class Pair:
    """Annotations before and after, their objects in the same order: by image, within an image as they came."""

    def __init__(self, before, after, format):
        self.before, self.after, self.format = before, after, format
        is_relative = after.unit == "rel"
        by_id = after.images.names is None
        self.mine, self.theirs = order(before, by_id), order(after, by_id)
        self.boxes = fractions(before, Path()).boxes if is_relative else before.regions.boxes
        self.points = fractions(before, Path()).polygons if is_relative else before.regions.polygons

    def image_names(self, data, rows):
        return [stem(data.images.name(i)) for i in data.image[rows]]

    def class_names(self, data, rows):
        return [data.labels.name(i) for i in data.label[rows]]

    def same(self, column):
        mine, theirs = column(self.before), column(self.after)
        if mine is None or theirs is None:
            return mine is theirs
        return np.array_equal(mine[self.mine], theirs[self.theirs], equal_nan=True)

    def same_boxes(self, rows=slice(None)):
        mine, theirs = self.boxes[self.mine][rows], self.after.regions.boxes[self.theirs][rows]
        return np.allclose(mine, theirs, rtol=0, atol=1e-9)

    def same_rings(self, rows):
        found = self.after.regions.polygons
        mine = [self.points[i] for i in self.mine[rows]]
        theirs = [found[i] if found is not None else [] for i in self.theirs[rows]]
        return all(
            len(a) == len(b)
            and all(p.shape == q.shape and np.allclose(p, q, rtol=0, atol=1e-9) for p, q in zip(a, b, strict=True))
            for a, b in zip(mine, theirs, strict=True)
        )

    def same_runs(self, rows):
        mine, theirs = self.before.regions.runs, self.after.regions.runs
        return theirs is not None and all(
            mine[i].tolist() == theirs[j].tolist() and mine.sizes[i].tolist() == theirs.sizes[j].tolist()
            for i, j in zip(self.mine[rows], self.theirs[rows], strict=True)
        )


def order(data, by_id):
    keys = [data.images.ids[i] if by_id else stem(data.images.name(i)) for i in data.image]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def by_stem(data, values):
    return {stem(data.images.name(i)): values(i) for i in range(len(data.images))}


def size_of(data):
    return by_stem(data, lambda i: (data.images.widths[i], data.images.heights[i]))


def same_ids(pair, table, row):
    """Do objects speak of the same ids, and those that have names of the same names?"""
    before, after = getattr(pair.before, table), getattr(pair.after, table)
    if before.ids is None or after.ids is None:
        return before.ids is after.ids
    used = before.ids[getattr(pair.before, row)[pair.mine]], after.ids[getattr(pair.after, row)[pair.theirs]]
    names = [{int(id): stem(t.name(i)) for i, id in enumerate(t.ids)} for t in (before, after)]
    return np.array_equal(*used) and (after.names is None or names[1].items() <= names[0].items())


def held(pair, fact):
    """Is a fact still there?"""
    before, after = pair.before, pair.after
    rings = np.zeros(len(before)) if pair.points is None else np.diff(pair.points.objects)[pair.mine]
    kinds = before.regions.kinds[pair.mine]
    match fact:
        case "area":
            return pair.same(lambda a: a.area)
        case "object id":
            return pair.same(lambda a: a.ids)
        case "confidence":
            return pair.same(lambda a: a.confidence)
        case "box apart from its mask":
            return pair.same_boxes(kinds == MASK)
        case "box apart from its polygon":
            return pair.same_boxes(kinds == POLYGON)
        case "polygon":
            return pair.same_rings(rings == 1)
        case "polygon of several rings":
            return pair.same_rings(rings > 1)
        case "mask":
            return pair.same_runs(kinds == MASK)
        case "image size":
            return size_of(before) == size_of(after)
        case "empty image":
            return set(by_stem(before, int)) == set(by_stem(after, int))
        case "image id":
            return same_ids(pair, "images", "image")
        case "image name":
            return after.images.names is not None
        case "image folder or suffix":
            return after.images.names is None or set(after.images.names) <= set(before.images.names)
        case "class id" | "class order":
            return same_ids(pair, "labels", "label")
        case "class name":
            return after.labels.names is not None
        case "class id without a name":
            return after.labels.names is None and same_ids(pair, "labels", "label")
        case "unused class" | "unused class id":
            return set(before.labels.all_names) == set(after.labels.all_names)
        case "difficult" if pair.format == "voc":  # its word for everything that is set aside
            return np.array_equal(before.ignored[pair.mine], after.difficult[pair.theirs])
    return pair.same(lambda a: a.flag(fact))


def test_most_formats_are_asked_the_same():
    assert {format.name for format in WRITTEN} - {format.name for format in COMMON} == {
        "cityscapes",
        "coco-rotated",
        "cvat-video",
        "dota",
        "kitti-tracking",
        "lvis",
        "mask-pictures",
        "mot",
        "mots",
        "openimages-labels",
        "panoptic",
        "voc-segmentation",
        "yolo-pose",
    }


@pytest.mark.parametrize("format", COMMON, ids=lambda format: format.name)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_what_is_written_is_read_again(format, data):
    before = data.draw(annotations(**demands(format)))
    # Boxes within the first pixel would be read as fractions: the writer refuses them (tests/formats/test_text.py).
    assume(format.name != "text" or not reason_for_fractions(before.regions.sizes.tolist()))
    write_and_read(format, before)


def write_and_read(format, before):
    """Everything that must be true of annotations before and after."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"out{format.suffixes[0] if format.suffixes else ''}"
        lost = vt.write(before, path, format.name)
        after = vt.read(path, format=format.name)
        assert path.is_dir() != bool(format.suffixes)
    pair = Pair(before, after, format.name)
    assert len(after) == len(before)
    assert pair.same_boxes(before.regions.kinds[pair.mine] == BOX)
    assert "image name" in lost or pair.image_names(before, pair.mine) == pair.image_names(after, pair.theirs)
    assert "class name" in lost or pair.class_names(before, pair.mine) == pair.class_names(after, pair.theirs)
    facts = facts_of(before)
    assert set(lost) <= facts
    assert lost == tuple(sorted(lost))
    for fact in facts:
        if fact not in lost:
            assert held(pair, fact), fact
        # A box of a polygon in several rings may survive where those of other polygons do not, and without an object
        # there is nothing to lose about objects.
        elif fact != "box apart from its polygon" and len(before):
            assert not held(pair, fact), fact


def test_numbers_survive_to_the_last_bit(tmp_path):
    box = [1e-17, 1 / 3, 0.1 + 0.2, 123456.789]
    for layout, formats in (("xywh", ("coco", "text")), ("xyxy", ("voc", "labelme", "cvat"))):
        truth = vt.Annotations.of(["a.jpg"], ["boat"], [box], layout, sizes={"a.jpg": (9, 9)})
        for format in formats:
            path = tmp_path / f"{format}.xml"
            vt.write(truth, path, format)
            assert vt.read(path, format=format).regions.values.tolist() == [box]


def test_labelme_does_not_turn_boxes_round(tmp_path):
    truth = vt.Annotations.of(["a.jpg"], ["boat"], [[3, 4, 1, 2]])
    with pytest.raises(vt.ReadError, match=r"expected boxes from left to right .* found object 0 of negative size"):
        vt.write(truth, tmp_path / "out", "labelme")


@pytest.mark.parametrize("format", [f.name for f in COMMON if "confidence" not in f.requires])
def test_same_annotations_give_the_same_bytes(tmp_path, format):
    names = ["b.jpg", "a.jpg"]
    truth = vt.Annotations.of(names, ["boat", "gull"], [[1, 2, 3, 4]] * 2, sizes=dict.fromkeys(names, (9, 9)))
    contents = []
    for run in ("first", "second"):
        (tmp_path / run).mkdir()
        vt.write(truth, tmp_path / run / "out", format)
        files = sorted(p for p in (tmp_path / run).rglob("*") if p.is_file())
        contents.append([(str(p.relative_to(tmp_path / run)), p.read_bytes()) for p in files])
    assert contents[0] == contents[1]
