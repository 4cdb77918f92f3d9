"""Labelme JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

import verite as vt
from tests.formats.samples import sample
from verite.model.regions import BOX, POLYGON


@pytest.fixture
def harbour():
    return vt.read(sample("labelme", "good"))


def test_images_with_names_and_sizes(harbour):
    assert harbour.images.names == ("fog", "pier.jpg")  # fog.json does not say
    assert harbour.images.widths.tolist() == [320, 640]
    assert harbour.images.heights.tolist() == [200, 480]


def test_objects_are_columns(harbour):
    assert harbour.image.tolist() == [1, 1, 1]
    assert harbour.labels.names == ("boat", "buoy", "gull")
    assert harbour.label.tolist() == [0, 2, 1]
    assert harbour.difficult.tolist() == [True, False, True]
    assert harbour.confidence is None


def test_rectangle_is_a_box_whichever_its_corners(harbour):
    assert harbour.regions.kinds[0] == BOX
    assert harbour.regions.boxes[0].tolist() == [10.5, 20, 40.5, 60]


def test_shapes_of_a_group_are_one_object(harbour):
    first, second = harbour.regions.polygons[1]
    assert first.tolist() == [[5, 6], [15, 6], [15, 18]]
    assert second.tolist() == [[5, 10], [7, 10], [7, 12], [5, 12]]
    assert harbour.regions.boxes[1].tolist() == [5, 6, 15, 18]


def test_circle_is_a_polygon_of_64_corners(harbour):
    assert harbour.regions.kinds[2] == POLYGON
    (ring,) = harbour.regions.polygons[2]
    assert ring.shape == (64, 2)
    np.testing.assert_allclose(np.hypot(*(ring - [100, 50]).T), 5)  # 3, 4 away from the centre
    np.testing.assert_allclose(harbour.regions.boxes[2], [95, 45, 105, 55])


def test_what_is_left_out_is_counted(harbour):
    assert harbour.source.notes == (
        "1 scores dropped, as this is ground truth",
        "1 shapes joined to others by their group_id",
        "1 shapes of type 'line' left out",
        "1 shapes of type 'point' left out",
    )


def test_single_file_is_read():
    read = vt.read(sample("labelme", "good", "pier.json"))
    assert read.source.format == "labelme"
    assert read.source.why == "a JSON file with shapes and imagePath and imageData"
    assert len(read) == 3


def test_picture_before_everything_else_does_not_hide_the_format(tmp_path):
    text = '{"imageData": "' + "A" * 100_000 + '", "imagePath": "a.jpg", "shapes": []}'
    (tmp_path / "a.json").write_text(text)
    assert vt.read(tmp_path / "a.json").source.format == "labelme"


def test_four_corners_of_a_rectangle_will_do(tmp_path):
    shape = {"label": "boat", "points": [[1, 2], [3, 2], [3, 4], [1, 4]], "shape_type": "rectangle"}
    (tmp_path / "a.json").write_text(json.dumps({"shapes": [shape], "imagePath": "a.jpg"}))
    assert vt.read(tmp_path).regions.boxes.tolist() == [[1, 2, 3, 4]]


def test_written_files_are_the_same_again(harbour, tmp_path):
    assert vt.write(harbour, tmp_path / "out", "labelme") == ()
    assert vt.read(tmp_path / "out").digest == harbour.digest


def test_masks_and_confidences_are_told_to_be_lost(tmp_path):
    truth = vt.read(sample("coco", "good", "instances.json"))
    lost = vt.write(truth, tmp_path / "out", "labelme")
    assert lost == ("area", "class id", "image id", "mask", "object id", "unused class")
    assert len(vt.read(tmp_path / "out")) == 4
