"""Whatever describes a region gives the same numbers: boxes, polygons, contours, masks, runs, on either side."""

from __future__ import annotations

import numpy as np
import pytest
from pycocotools import mask as coco

import verite as vt
from verite.metrics.catalogue import every_metric
from verite.model.regions import Regions
from verite.model.shapes import Contour

SIZE = (12, 9)  # width, height


def solid(x1, y1, x2, y2):
    image = np.zeros(SIZE[::-1], dtype=bool)
    image[y1:y2, x1:x2] = True
    return image


def ring(x1, y1, x2, y2):
    image = solid(x1, y1, x2, y2)
    image[y1 + 1 : y2 - 1, x1 + 1 : x2 - 1] = False
    return image


def points(x1, y1, x2, y2):
    return [(int(x), int(y)) for y, x in np.argwhere(ring(x1, y1, x2, y2))]


def corners(x1, y1, x2, y2):
    return [(x1, y1), (x2, y1), (x2, y2), (x1, y2)]


# The same rectangle said in every way.
WAYS = {
    "box": lambda *b: list(b),
    "box as an array": lambda *b: np.array(b, dtype=np.float32),
    "polygon": corners,
    "polygon as an array": lambda *b: np.array(corners(*b), dtype=float),
    "polygon of whole numbers": lambda *b: np.array(corners(*b)),
    "flat polygon": lambda *b: [v for corner in corners(*b) for v in corner],
    "coco rings": lambda *b: [[v for corner in corners(*b) for v in corner]],
    "two rings that share a part": lambda x1, y1, x2, y2: [
        [v for c in corners(x1, y1, x2 - 1, y2) for v in c],
        corners(x1 + 1, y1, x2, y2),
    ],
    "mask": solid,
    "mask of 0 and 1": lambda *b: solid(*b).astype(np.uint8),
    "mask of 0 and 255": lambda *b: solid(*b).astype(np.uint8) * 255,
    "mask of floats": lambda *b: solid(*b).astype(float),
    "mask in Fortran order": lambda *b: np.asfortranarray(solid(*b)),
    "contour image": lambda *b: Contour(ring(*b)),
    "contour points": lambda *b: Contour(points(*b), size=SIZE),
    "coco runs": lambda *b: coco.encode(np.asfortranarray(solid(*b).astype(np.uint8))),
    "coco runs, not packed": lambda *b: coco_counts(solid(*b)),
    "regions": lambda *b: Regions([list(b)]),
}


def coco_counts(mask):
    flat = np.concatenate([[0], mask.T.ravel(), [0]]).astype(int)
    edges = np.flatnonzero(np.diff(flat))
    counts = np.diff(np.concatenate([[0], edges, [mask.size]]))
    return {"size": list(mask.shape), "counts": counts.tolist()}


@pytest.mark.parametrize("pred_way", WAYS)
@pytest.mark.parametrize("truth_way", WAYS)
def test_every_metric_says_the_same_however_the_regions_are_given(truth_way, pred_way):
    truth_box, pred_box = (2, 1, 7, 6), (4, 2, 10, 8)
    expected = vt.measure(vt.Pairs.of([solid(*truth_box)], [solid(*pred_box)]), every_metric())
    truth, pred = WAYS[truth_way](*truth_box), WAYS[pred_way](*pred_box)
    found = vt.measure(vt.Pairs.of([truth], [pred], size=SIZE), every_metric())
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-12), name
    for name in ("iou", "gce", "hausdorff"):
        assert vt.metric(name)(truth, pred, size=SIZE) == pytest.approx(expected[name][0], rel=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_a_label_image_beside_any_other_region(way):
    labels = np.where(solid(2, 1, 7, 6), 1, 0) + np.where(solid(8, 1, 11, 6), 2, 0)
    region = WAYS[way](4, 2, 10, 8)
    for name in ("gce", "lce", "hamming", "hafiane1", "hafiane2", "vinet"):
        metric = vt.metric(name)
        assert metric(labels, region) == pytest.approx(metric(labels, solid(4, 2, 10, 8).astype(int)), rel=1e-12)
        assert metric(region, labels) == pytest.approx(metric(solid(4, 2, 10, 8).astype(int), labels), rel=1e-12)
        batch = metric.batch([labels, [2, 1, 7, 6]], [region, region], size=SIZE)
        expected = metric([2, 1, 7, 6], region, size=SIZE)
        assert batch.tolist() == pytest.approx([metric(labels, region), expected], rel=1e-12)


def test_an_array_of_polygons():
    triangles = np.array([[(0, 0), (8, 0), (0, 8)], [(1, 0), (9, 0), (1, 8)]])
    found = vt.metric("gce").batch(triangles, triangles[::-1], size=SIZE)
    assert found.tolist() == [
        vt.metric("gce")(a, b, size=SIZE) for a, b in zip(triangles, triangles[::-1], strict=True)
    ]
    assert found[0] > 0


def test_a_mask_gives_a_box_the_size_of_its_image():
    assert vt.metric("gce")([2, 1, 7, 6], solid(2, 1, 7, 6)) == 0
    assert vt.metric("err_loc")(solid(2, 1, 7, 6), [2, 1, 7, 5]) == pytest.approx((3 + 5) / 108)


def test_boxes_in_other_layouts():
    assert vt.metric("iou")([2, 1, 5, 5], [2, 1, 5, 5], layout="xywh") == 1
    assert vt.metric("centre_distance")([4, 4, 2, 2], [7, 8, 2, 2], layout="cxcywh") == 5


def test_boxes_are_measured_exactly_where_no_pixel_is_needed():
    assert vt.metric("iou")([0, 0, 1, 1], [0.25, 0, 1.25, 1]) == pytest.approx(0.6)
    assert vt.metric("dice")([0.1, 0, 0.2, 1], [0.1, 0, 0.2, 1]) == 1  # no pixel's middle is inside


def test_two_boxes_are_cut_at_the_border_where_the_image_counts():
    inside = vt.metric("gce")([0, 0, 4, 4], [2, 0, 8, 4], size=(8, 8))
    beyond = vt.metric("gce")([-5, -2, 4, 4], [2, 0, 80, 4], size=(8, 8))
    assert beyond == pytest.approx(inside)
    assert vt.metric("iou")([-5, 0, 4, 4], [0, 0, 4, 4], size=(8, 8)) == pytest.approx(16 / 36)  # but not for iou


def test_a_contour_counts_as_it_is_given_and_is_filled_for_regions():
    thick = ring(1, 1, 8, 8) | ring(2, 2, 7, 7)
    pairs = vt.Pairs.of([Contour(thick)], [solid(1, 1, 8, 8)])
    assert pairs.truth_contour.tolist() == [thick.sum()]
    assert pairs.truth_area.tolist() == [49]
    assert vt.metric("iou")(Contour(thick), solid(1, 1, 8, 8)) == 1


def test_an_open_contour_encloses_nothing():
    open_curve = ring(1, 1, 8, 8)
    open_curve[1, 4] = False
    assert vt.Pairs.of([Contour(open_curve)], [Contour(open_curve)]).truth_area.tolist() == [open_curve.sum()]


def test_none_is_no_object():
    assert vt.metric("iou")(None, None) == 1
    assert vt.metric("iou")([0, 0, 4, 4], None) == 0
    assert vt.metric("hausdorff")(solid(1, 1, 3, 3), None) == pytest.approx(np.hypot(*SIZE))


def test_one_truth_serves_many_preds():
    preds = np.array([solid(2, 1, 7, 6), solid(4, 2, 10, 8), np.zeros_like(solid(0, 0, 1, 1))])
    found = vt.metric("iou").batch([solid(2, 1, 7, 6)], preds)
    assert found.tolist() == [vt.metric("iou")(solid(2, 1, 7, 6), pred) for pred in preds]
    assert vt.metric("hausdorff").batch([[2, 1, 7, 6]], preds)[0] == 0


def test_pairs_may_lie_in_images_of_different_sizes():
    truths, preds = [[0, 0, 2, 2], [0, 0, 2, 2]], [None, None]
    found = vt.metric("hausdorff").batch(truths, preds, size=[(3, 4), (6, 8)])
    assert found.tolist() == [5, 10]
    assert vt.metric("hausdorff").batch([[0, 0, 2, 2]], preds, size=[(3, 4), (6, 8)]).tolist() == [5, 10]


def test_a_batch_of_mixed_regions():
    truths = [[0, 0, 4, 4], solid(0, 0, 4, 4), corners(0, 0, 4, 4), Contour(ring(0, 0, 4, 4)), None]
    preds = [[2, 0, 6, 4]] * 5
    found = vt.metric("pascal").batch(truths, preds, size=SIZE)
    np.testing.assert_allclose(found, [2 / 3, 2 / 3, 2 / 3, 2 / 3, 1])


def test_label_images_in_a_batch():
    truth = np.array([[[1, 1, 2, 0]], [[1, 1, 0, 0]]])
    found = vt.metric("vinet").batch(truth, truth[:, :, ::-1])
    # 2 of 4 pixels lie in couples of one object and one background; the other image is the same partition.
    assert found.tolist() == [2, 0]
    one = vt.metric("gce").batch(truth, [np.array([[3, 3, 4, 0]])])
    assert one[0] == 0


def test_polygons_by_the_centre_rule():
    triangle = [(0, 0), (8, 0), (0, 8)]
    pairs = [vt.Pairs.of([triangle], [triangle], size=SIZE, polygons=rule) for rule in ("coco", "centre")]
    assert [int(p.truth_area[0]) for p in pairs] != [0, 0]
    assert pairs[1].truth_area.tolist() == [28]  # middles strictly below the slanted side: 7 + 6 + … + 1
