"""Pascal VOC XML."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.formats.samples import sample
from verite.formats.voc import read_segmentation


@pytest.fixture
def harbour():
    return vt.read(sample("voc", "good"))


def test_images_are_named_by_the_files_or_what_they_say(harbour):
    assert harbour.images.names == ("fog", "pier.jpg", "unsized.png")  # fog.xml does not say
    assert harbour.images.widths.tolist() == [320, 640, 0]
    assert harbour.images.heights.tolist() == [200, 480, 0]


def test_objects_are_columns_and_parts_are_none(harbour):
    assert harbour.image.tolist() == [1, 1, 2]
    assert harbour.labels.names == ("boat", "gull & chick")
    assert harbour.labels.ids is None
    assert harbour.label.tolist() == [0, 1, 0]
    assert harbour.confidence is None


def test_corners_stay_as_they_stand(harbour):
    assert harbour.regions.boxes.tolist() == [[11, 21, 40, 60], [5.25, 6, 15, 18.5], [1, 2, 3, 4]]


def test_flags(harbour):
    assert harbour.flag("truncated").tolist() == [True, False, False]
    assert harbour.flag("difficult").tolist() == [False, True, False]
    assert harbour.flag("occluded").tolist() == [False, False, True]


def test_root_with_attributes_is_recognised():
    read = vt.read(sample("voc", "good", "pier.xml"))
    assert read.source.format == "voc"
    assert read.source.why == "an XML file with <annotation>"
    assert len(read) == 2


def test_predictions_carry_their_confidence(tmp_path):
    pred = vt.Annotations.of(["a.jpg"], ["boat"], [[1, 2, 3.5, 4]], confidence=[0.1])
    assert vt.write(pred, tmp_path / "out", "voc") == ()
    again = vt.read(tmp_path / "out")
    assert again.confidence.tolist() == [0.1]
    assert again.regions.boxes.tolist() == [[1, 2, 3.5, 4]]


def test_whole_numbers_are_written_as_such(tmp_path):
    truth = vt.Annotations.of(["a.jpg"], ["boat"], [[1, 2, 3.5, np.nan]], sizes={"a.jpg": (640, 480)})
    vt.write(truth, tmp_path / "out", "voc")
    text = (tmp_path / "out" / "a.xml").read_text()
    assert "<xmin>1</xmin>" in text
    assert "<xmax>3.5</xmax>" in text
    assert "<ymax>nan</ymax>" in text
    assert "<width>640</width>" in text


@pytest.mark.parametrize("name", ["a\x00b", "tab\x0b", " boat", "boat\n"])
def test_names_that_xml_cannot_hold_are_refused(tmp_path, name):
    truth = vt.Annotations.of(["a.jpg"], [name], [[1, 2, 3, 4]])
    with pytest.raises(vt.ReadError, match="expected class names that XML can hold"):
        vt.write(truth, tmp_path / "out", "voc")
    assert not list(tmp_path.iterdir())


def test_latin_1_is_read_where_the_file_says_so(tmp_path):
    head = '<?xml version="1.0" encoding="iso-8859-1"?>'
    box = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox>"
    text = f"{head}<annotation><object><name>båt</name>{box}</object></annotation>"
    (tmp_path / "a.xml").write_bytes(text.encode("latin-1"))
    assert vt.read(tmp_path / "a.xml").labels.names == ("båt",)


def test_voc_counts_its_classes_from_1(tmp_path):
    from PIL import Image

    for part in ("SegmentationObject", "SegmentationClass"):
        (tmp_path / part).mkdir()
        Image.fromarray(np.array([[0, 1]], np.uint8)).save(tmp_path / part / "a.png")
    read = read_segmentation(tmp_path)
    assert (read.labels.name(int(read.label[0])), read.labels.ids[read.label[0]]) == ("aeroplane", 1)
