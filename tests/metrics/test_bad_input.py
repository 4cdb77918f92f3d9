"""What cannot be measured is said in one line: where, what was found, what was expected, what to do."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

import verite as vt
from verite.cli import run
from verite.errors import BadParameter, DataError, UnknownMetric, VeriteError
from verite.metrics.catalogue import metric, records

MASK = np.eye(6, dtype=bool)


@pytest.mark.parametrize(
    ("act", "kind", "words"),
    [
        (lambda: vt.metric("gce")(MASK, np.eye(5, dtype=bool)), DataError,
         ["expected regions of one image", "6 × 6 and 5 × 5 pixels"]),
        (lambda: vt.metric("gce")(MASK, MASK, size=(7, 6)), DataError, ["6 × 6 and 7 × 6 pixels"]),
        (lambda: vt.metric("gce")(np.array([[1, 2, 0]]), np.array([[1, 2]])), DataError, ["3 × 1 and 2 × 1 pixels"]),
        (lambda: vt.metric("hausdorff")(np.arange(9).reshape(3, 3), np.ones((3, 3), bool)), DataError,
         ["expected a mask of two values", "found 0, 1, 2, 3, …", "mask == 8", "gce, lce"]),
        (lambda: vt.metric("iou")(np.ones((3, 3), bool), np.full((3, 3), 0.3)), DataError,
         ["pred 0: expected a mask of two values", "found 0.3", "mask > 0.5"]),
        (lambda: vt.metric("iou").batch(np.full((2, 3, 3), 7), np.ones((2, 3, 3), bool)), DataError,
         ["iou: expected masks of one object, found label images"]),
        (lambda: vt.metric("gce")(np.array([[1, 2, 0]]), np.array([[1, 0.5, 0]])), DataError,
         ["pred 0: expected a mask of two values", "mask > 0.5"]),
        (lambda: vt.metric("gce")(np.array([[1, 2, 0]]), "label"), BadParameter, ["pred 0: expected a box"]),
        (lambda: vt.metric("gce").batch([np.array([[1, 2, 0]]), [0, 0, 1, 1]], [None]), DataError,
         ["pair 1: expected the size of the image"]),
        (lambda: vt.metric("hausdorf"), UnknownMetric, ["expected one of", "'hausdorf'", "did you mean 'hausdorff'?"]),
        (lambda: vt.metric("MARgc"), UnknownMetric, ["did you mean 'MARgce'?"]),
        (lambda: vt.metric("hausdorff(quantile=1.5)"), BadParameter, ["expected quantile in (0, 1], found 1.5"]),
        (lambda: vt.metric("hausdorff(quantile=0)"), BadParameter, ["in (0, 1], found 0"]),
        (lambda: vt.metric("hausdorff", quantile=float("nan")), BadParameter, ["in (0, 1], found nan"]),
        (lambda: vt.metric("lq(q=0.5)"), BadParameter, ["expected q in [1, inf), found 0.5"]),
        (lambda: vt.metric("hausdorff(quantil=0.5)"), BadParameter, ["found 'quantil'", "did you mean 'quantile'?"]),
        (lambda: vt.metric("gce(quantile=0.5)"), BadParameter, ["expected one of variant"]),
        (lambda: vt.metric("iou(quantile=0.5)"), BadParameter, ["iou: expected no parameters"]),
        (lambda: vt.metric("hausdorff(quantile=half)"), BadParameter, ["expected a number for quantile, found 'half'"]),
        (lambda: vt.metric("baddeley(variant=asrun)"), BadParameter, ["found 'asrun'", "did you mean 'as-run'?"]),
        (lambda: vt.metric("hausdorff(0.95)"), BadParameter, ["expected PARAMETER=VALUE"]),
        (lambda: vt.metric("hausdorff(quantile=0.95,)"), BadParameter, ["expected PARAMETER=VALUE"]),
        (lambda: vt.metric("hausdorff(quantile=0.95"), BadParameter, ["expected NAME or NAME(PARAMETER=VALUE, …)"]),
        (lambda: vt.metric("hausdorff(quantile=1, quantile=1)"), BadParameter, ["expected quantile once"]),
        (lambda: vt.metric("hausdorff(quantile=1)", quantile=1), BadParameter, ["in the name and beside it"]),
        (lambda: vt.metric("snr(background=2, contour=2)")(MASK, MASK), BadParameter, ["to differ, found 2"]),
        (lambda: vt.metric(""), BadParameter, ["expected NAME"]),
        (lambda: vt.metric("no.such.module:thing"), UnknownMetric, ["no.such.module:thing", "ModuleNotFoundError"]),
        (lambda: vt.metric("math:no_such"), UnknownMetric, ["math:no_such", "expected a function"]),
        (lambda: vt.metric("math:pi"), UnknownMetric, ["expected a function, found float"]),
        (lambda: vt.metric("gce")([0, 0, 4, 4], [0, 0, 2, 2]), DataError,
         ["gce: expected the size of the image", "give size=(WIDTH, HEIGHT)", "image_size=(WIDTH, HEIGHT)"]),
        (lambda: vt.metric("hausdorff")([(0, 0), (4, 0), (4, 4)], [0, 0, 2, 2]), DataError, ["size of the image"]),
        (lambda: vt.metric("iou")([(0, 0), (4, 0), (4, 4)], [0, 0, 2, 2]), DataError, ["size=(WIDTH, HEIGHT)"]),
        (lambda: vt.metric("robin_com(variant=as-run)")([0, 0, 4, 4], [0, 0, 2, 2]), DataError, ["size of the image"]),
        (lambda: vt.metric("gce")([0, 0, 4, 4], [0, 0, 2, 2], size=(0, 5)), BadParameter, ["above 0, found 0 × 5"]),
        (lambda: vt.metric("gce")([0, 0, 4, 4], [0, 0, 2, 2], size=7), BadParameter, ["expected (width, height)"]),
        (lambda: vt.metric("hausdorff")([0, 0, 4, 4], None, size=(10**6, 10**6)), DataError, ["VERITE_LIMIT"]),
        (lambda: vt.metric("iou")(np.zeros((0, 5), bool), MASK), DataError, ["at least one pixel, found 5 × 0"]),
        (lambda: vt.metric("iou").batch(np.zeros((1, 0, 5), bool), [MASK]), DataError, ["at least one pixel"]),
        (lambda: vt.metric("iou")([0, 0, 4], [0, 0, 2, 2]), BadParameter, ["truth 0: expected a box (4 numbers)"]),
        (lambda: vt.metric("iou")([0, 0, 4, float("nan")], [0, 0, 2, 2]), DataError, ["four finite numbers"]),
        (lambda: vt.metric("iou")("box", [0, 0, 2, 2]), BadParameter, ["truth 0: expected a box (4 numbers)"]),
        (lambda: vt.metric("iou")([[0, 0, 4, 4, 5, 5], [1, 2]], [0, 0, 2, 2]), BadParameter, ["a polygon"]),
        (lambda: vt.metric("iou")([(0, 0), (float("inf"), 0), (4, 4)], MASK), DataError, ["finite coordinates"]),
        (lambda: vt.metric("iou")({"size": [2, 2]}, MASK), DataError, ["COCO's size and counts, found no 'counts'"]),
        (lambda: vt.metric("iou")({"size": [2, 2], "counts": [1, 1]}, MASK), DataError, ["do not add up"]),
        (lambda: vt.metric("iou")({"size": [2, 2], "counts": "~~"}, MASK), DataError, ["COCO's size and counts"]),
        (lambda: vt.metric("iou").batch([[0, 0, 1, 1]] * 2, [[0, 0, 1, 1]] * 3), BadParameter, ["expected 3 regions"]),
        (lambda: vt.metric("iou").batch(7, [[0, 0, 1, 1]]), BadParameter, ["truth: expected a list of regions"]),
        (lambda: vt.Contour([[9, 1]], size=(4, 4)), DataError, ["within 4 × 4 pixels, found (9, 1)"]),
        (lambda: vt.Contour([[1, 2, 3]], size=(4, 4)), BadParameter, ["expected points x, y"]),
        (lambda: vt.Contour(np.arange(9).reshape(3, 3)), DataError, ["contour: expected a mask of two values"]),
        (lambda: vt.Pairs.of([[0, 0, 1, 1]], [MASK], polygons="cocoa").sides(), BadParameter, ["did you mean 'coco'?"]),
    ],
    ids=count(),
)  # fmt: skip
def test_the_message_is_one_line_with_what_is_wrong_and_what_to_do(act, kind, words):
    with pytest.raises(kind) as caught:
        act()
    message = str(caught.value)
    assert isinstance(caught.value, VeriteError)
    assert "\n" not in message
    for word in words:
        assert word in message
    assert len(message) < 300


@pytest.mark.parametrize("name", ["gce", "hausdorff"])
def test_the_command_line_is_told_the_option_that_gives_the_size(tmp_path, capsys, name):
    (tmp_path / "truth.csv").write_text("image,label,xmin,ymin,xmax,ymax\na,cat,0,0,4,4\n")
    words = ["localize", str(tmp_path / "truth.csv"), str(tmp_path / "truth.csv"), "-m", name, "--checks", "off"]
    assert run(words) == 1
    errors = capsys.readouterr().err
    assert "--image-size WIDTH,HEIGHT" in errors
    assert "size=(" not in errors
    assert run([*words, "--image-size", "6,6"]) == 0


def test_an_image_wider_than_the_limit_is_refused(monkeypatch):
    monkeypatch.setenv("VERITE_LIMIT_IMAGE_SIDE", "100")
    with pytest.raises(DataError, match="at most 100 a side"):
        vt.metric("iou")(np.ones((101, 3), bool), np.ones((101, 3), bool))


# Boxes without an area: points.


def test_the_centres_of_two_points_are_as_far_apart_as_the_points():
    centre = metric("centre_distance")
    assert centre([10, 10, 10, 10], [13, 14, 13, 14]) == 5.0  # 3² + 4² = 5²
    assert centre([0, 0, 0, 0], [3, 4, 3, 4]) == 5.0
    assert centre([10, 10, 10, 10], [11, 10, 15, 20]) == np.hypot(3, 5)  # a box around 13, 15
    assert centre([10, 10, 10, 10], None, size=(30, 40)) == 50.0  # no object at all: the diagonal
    assert centre(None, None) == 0.0


@pytest.mark.parametrize("name", [name for name in records() if name != "centre_distance"])
def test_two_points_are_refused_by_every_other_metric(name):
    with pytest.raises(vt.DataError) as error:
        metric(name)([10, 10, 10, 10], [13, 14, 13, 14], size=(30, 40))
    for part in (name, "[10.0, 10.0, 10.0, 10.0] and [13.0, 14.0, 13.0, 14.0]", "centre_distance", "V110"):
        assert part in str(error.value)


def test_a_point_that_was_missed_is_no_agreement():
    assert metric("iou")([10, 10, 10, 10], None) == metric("iou")(None, [10, 10, 10, 10]) == 0.0
    assert metric("giou")([10, 10, 10, 10], None) == -1.0
    assert metric("hausdorff")([10, 10, 10, 10], None, size=(30, 40)) == 50.0
    assert metric("iou")([10, 10, 10, 10], [10, 10, 10, 10]) == 1.0  # the same box


def test_points_of_two_files_are_compared_by_their_places_only():
    truth = vt.Annotations.of(["a"], ["cat"], [[10, 10, 10, 10]])
    pred = vt.Annotations.of(["a"], ["cat"], [[13, 14, 13, 14]], confidence=[0.9])
    found = vt.localize(truth, pred, "centre_distance", match="image", checks="off")
    assert found.scores["centre_distance"].value == 5.0
    with pytest.raises(vt.DataError, match=r"giou: .*centre_distance"):
        _ = vt.localize(truth, pred, "giou", match="image", checks="off").scores
