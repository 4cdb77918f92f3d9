"""One data set of 100 pictures that others published in six formats: read, it is the same six times."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from verite.model.images import stem

# The classes of the numbers in the predictions' text files: Pascal VOC's, by name.
VOC_CLASSES = [
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
]

# How far apart the same box may be, as a fraction of the image's side: pixels are written as they are; Open Images
# has 10 digits after the comma, YOLO 6 for centre and size, of which a corner takes one and a half.
TOLERANCES = {
    "coco_format_v2/instances_v2.json": 0,
    "cvat_format/annotations.xml": 0,
    "imagenet_format": 0,
    "pascalvoc_format": 0,
    "openimages_format/all_bounding_boxes.csv": 1e-10,
    "yolo_format": 1e-6,
}


@pytest.fixture(scope="module")
def base(shared):
    return shared / "oracles" / "padilla_review" / "database"


@pytest.fixture(scope="module")
def truth(base):
    return vt.read(base / "gts" / "coco_format_v1" / "instances_default.json")


def objects(data):
    """Image, class and corners of every object, in an order that does not depend on the file."""
    names = [(stem(data.images.name(i)), data.labels.name(j)) for i, j in zip(data.image, data.label, strict=True)]
    order = sorted(range(len(data)), key=lambda i: (*names[i], *np.round(data.regions.boxes[i], 1)))
    return [names[i] for i in order], data.regions.boxes[order], data.image[order], order


@pytest.mark.parametrize("name", TOLERANCES)
def test_truth_is_the_same_in_every_format(base, truth, name):
    read = vt.read(base / "gts" / name, like=truth)
    assert len(read) == 273
    assert read.images is truth.images  # all 100 were found again, by name
    assert read.labels is truth.labels  # and all 20 classes
    assert read.unit == "px"
    keys, boxes, image, _ = objects(read)
    expected_keys, expected, _, _ = objects(truth)
    assert keys == expected_keys
    sides = np.stack([truth.images.widths, truth.images.heights] * 2, axis=1)[image]
    np.testing.assert_array_less(np.abs(boxes - expected), TOLERANCES[name] * sides + 1e-9)


@pytest.mark.parametrize("name", TOLERANCES)
def test_images_and_classes_are_the_same_without_help(base, truth, name):
    read = vt.read(base / "gts" / name)
    assert {stem(read.images.name(i)) for i in range(len(read.images))} == {stem(n) for n in truth.images.names}
    assert set(read.labels.names) == set(truth.labels.names)


def test_sizes_are_the_same_where_the_format_has_them(base, truth):
    sizes = {stem(n): s for n, *s in zip(truth.images.names, truth.images.widths, truth.images.heights, strict=True)}
    for name in ("coco_format_v2/instances_v2.json", "cvat_format", "imagenet_format", "pascalvoc_format"):
        images = vt.read(base / "gts" / name).images
        assert {stem(n): s for n, *s in zip(images.names, images.widths, images.heights, strict=True)} == sizes


@pytest.mark.parametrize(
    ("name", "options", "errors"),
    [
        ("abs_xywh", {}, 0),
        ("abs_xyx2y2", {"boxes": "xyxy"}, 0),
        ("rel_xywh", {}, 1e-6),  # centre and size with 6 digits, whole pixels before
    ],
)
def test_predictions_are_the_same_in_every_format(base, truth, name, options, errors):
    expected = vt.read(base / "dets" / "coco_format" / "coco_dets.json", like=truth)
    read = vt.read(base / "dets" / name, like=truth, names=VOC_CLASSES, **options)
    assert read.source.format == "text"
    assert len(read) == len(expected) == 452
    assert read.labels is expected.labels is truth.labels
    keys, boxes, image, order = objects(read)
    expected_keys, expected_boxes, _, expected_order = objects(expected)
    assert keys == expected_keys
    sides = np.stack([truth.images.widths, truth.images.heights] * 2, axis=1)[image]
    np.testing.assert_array_less(np.abs(boxes - expected_boxes), errors * sides + 1e-9)
    # The text files have 6 digits.
    np.testing.assert_allclose(read.confidence[order], expected.confidence[expected_order], rtol=0, atol=5.1e-7)


def test_relative_predictions_are_recognised_as_text_and_say_so(base):
    read = vt.read(base / "dets" / "rel_xywh")
    assert read.source.format == "text"
    assert read.unit == "rel"
    assert "0 if it comes first" in read.source.why
    assert "taken as fractions of the image" in read.source.why
