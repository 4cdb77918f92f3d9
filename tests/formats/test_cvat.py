"""CVAT XML for images."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import verite as vt
from tests.formats.samples import sample
from verite.formats.cvat import box_runs, image_runs
from verite.model.regions import BOX, MASK, POLYGON


@pytest.fixture
def harbour():
    return vt.read(sample("cvat", "good", "annotations.xml"))


def test_images_and_classes_in_the_files_order(harbour):
    assert harbour.images.names == ("quay/pier.jpg", "buoy.png", "fog.jpg")
    assert harbour.images.widths.tolist() == [640, 4, 640]
    assert harbour.images.heights.tolist() == [480, 3, 480]
    assert harbour.labels.names == ("gull", "boat", "crane")


def test_objects_are_columns(harbour):
    assert harbour.image.tolist() == [0, 0, 0, 1]
    assert harbour.label.tolist() == [1, 0, 1, 1]
    assert harbour.regions.kinds.tolist() == [BOX, POLYGON, POLYGON, MASK]
    assert harbour.flag("occluded").tolist() == [True, False, False, False]
    assert harbour.flag("truncated").tolist() == [True, False, False, False]


def test_boxes_are_corners_or_lie_around_the_outline(harbour):
    # The third is 10 x 4 around (15, 22), turned by a quarter; the last has the pixels (1, 0), (1, 1), (2, 1).
    np.testing.assert_allclose(
        harbour.regions.boxes, [[10.5, 20, 40.5, 60], [5, 6, 15, 18], [13, 17, 17, 27], [1, 0, 3, 2]]
    )


def test_outlines(harbour):
    assert harbour.regions.polygons[1][0].tolist() == [[5, 6], [15, 6], [15, 18]]
    np.testing.assert_allclose(harbour.regions.polygons[2][0], [[17, 17], [17, 27], [13, 27], [13, 17]])
    # Rows 1 0 and 1 1 of the box become the columns 110 and 010 of the image.
    assert harbour.regions.runs[3].tolist() == [3, 2, 2, 1, 4]
    assert harbour.regions.runs.sizes[3].tolist() == [3, 4]


def test_what_is_left_out_is_counted(harbour):
    assert harbour.source.notes == (
        "2 <points> left out: neither box, polygon nor mask",
        "1 <polyline> left out: neither box, polygon nor mask",
    )


def test_folder_with_the_one_file_is_read(harbour):
    assert vt.read(sample("cvat", "good")).digest == harbour.digest


def test_written_file_is_the_same_again(harbour, tmp_path):
    assert vt.write(harbour, tmp_path / "a.xml", "cvat") == ()
    again = vt.read(tmp_path / "a.xml")
    assert again.digest == harbour.digest


def test_sizes_are_needed_to_write(tmp_path):
    truth = vt.Annotations.of(["a.jpg"], ["boat"], [[1, 2, 3, 4]])
    with pytest.raises(vt.ReadError, match=r"expected the size of every image, found none for 'a\.jpg'"):
        vt.write(truth, tmp_path / "a.xml", "cvat")


def test_mask_of_another_size_than_its_image_is_not_written(tmp_path):
    truth = vt.read(sample("coco", "good", "instances.json"), image_offset=0)
    turned = vt.Images(truth.images.names, truth.images.ids, widths=[640, 3, 640], heights=[480, 4, 480])
    with pytest.raises(
        vt.ReadError, match="expected a mask of its image's height and width, 4 x 3, found 3 x 4 in object 2"
    ):
        vt.write(replace(truth, images=turned), tmp_path / "a.xml", "cvat")


def runs_of(pixels):
    """Runs of pixels one after the other, the first of them background: the slow and obvious way."""
    runs, value = [0], 0
    for pixel in pixels:
        if pixel != value:
            runs.append(0)
            value = pixel
        runs[-1] += 1
    return runs


@pytest.mark.parametrize("seed", range(100))
def test_masks_survive_the_way_to_coco_and_back(seed, monkeypatch):
    monkeypatch.setattr("verite.formats.cvat.BLOCK", 16)  # small masks in several blocks, too
    random = np.random.default_rng(seed)
    height, width = random.integers(1, 9, 2)
    image = np.zeros((height, width), dtype=np.uint8)
    top, left = random.integers(0, height), random.integers(0, width)
    box = image[top : top + random.integers(1, 9), left : left + random.integers(1, 9)]
    box[:] = random.random(box.shape) < random.choice([0, 0.3, 0.9, 1])
    place = (int(left), int(top), box.shape[1], box.shape[0])
    expected = runs_of(image.T.ravel())
    runs = image_runs(np.array(runs_of(box.ravel()), dtype=np.uint32), place, int(height), int(width))
    assert runs.tolist() == expected
    back, (x, y, w, h) = box_runs(runs, int(height))
    assert back.tolist() == runs_of(image[y : y + h, x : x + w].ravel())
    rows, columns = np.nonzero(image)
    if len(rows):
        assert (x, y) == (columns.min(), rows.min())
        assert (x + w, y + h) == (columns.max() + 1, rows.max() + 1)


def test_few_bytes_that_stand_for_all_pixels_take_no_memory():
    import tracemalloc

    tracemalloc.start()
    side = 6000
    runs = image_runs(np.array([0, side * side], dtype=np.uint32), (0, 0, side, side), side, side)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert runs.tolist() == [0, side * side]
    assert peak < 36e6  # one byte a pixel would be as much


def test_a_rotation_that_is_not_finite_is_refused(tmp_path):
    box = '<box label="c" occluded="0" xtl="1" ytl="1" xbr="5" ybr="5" rotation="inf"/>'
    image = f'<image id="0" name="a.jpg" width="9" height="9">{box}</image>'
    (tmp_path / "a.xml").write_text(f"<annotations><version>1.1</version>{image}</annotations>")
    with pytest.raises(vt.ReadError, match="expected a finite rotation, found 'inf'"):
        vt.read(tmp_path / "a.xml")
