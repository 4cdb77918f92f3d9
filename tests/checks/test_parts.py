"""Mistakes in a part of a file: mixed formats, tiles, clipped boxes, one box per image, crowds, rectangles as masks.

Sets of 60 images of 640 x 480 with four objects each, one in every quarter, found by predictions about a pixel off.
"""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from verite.checks import examine_all, inspect

SIZE = (640, 480)
IMAGES = 60


def boxes_of(rng):
    """Four objects of an image, in its four quarters, of various sizes, as left, top, width, height."""
    quarters = np.array([(0, 0), (320, 0), (0, 240), (320, 240)])
    at = quarters + rng.uniform(5, 80, (4, 2))
    return np.concatenate([at, rng.uniform(60, 140, (4, 2))], axis=1)


def truth_and_predictions(seed=0):
    rng = np.random.default_rng(seed)
    images = [{"id": i, "file_name": f"{i}.jpg", "width": SIZE[0], "height": SIZE[1]} for i in range(1, IMAGES + 1)]
    objects, found = [], []
    for image in images:
        for box in boxes_of(rng):
            objects.append({"id": len(objects) + 1, "image_id": image["id"], "category_id": 1 + len(objects) % 3,
                            "bbox": box.tolist(), "area": box[2] * box[3], "iscrowd": 0})  # fmt: skip
            near = (box + rng.normal(0, 1, 4)).tolist()
            found.append({"image_id": image["id"], "category_id": objects[-1]["category_id"], "bbox": near,
                          "score": float(rng.uniform(0, 1))})  # fmt: skip
    categories = [{"id": i, "name": name} for i, name in enumerate(("boat", "gull", "buoy"), 1)]
    return {"images": images, "categories": categories, "annotations": objects}, found


def codes(truth, found):
    read = vt.read(truth)
    return {finding.code: finding for finding in examine_all(read, vt.read(found, like=read))}


def rewrite(found, change, chosen=lambda i, record: True):
    return [{**r, "bbox": change(r["bbox"])} if chosen(i, r) else r for i, r in enumerate(found)]


def as_corners(box):
    return [box[0], box[1], box[0] + box[2], box[1] + box[3]]


def test_healthy_files_raise_nothing():
    assert codes(*truth_and_predictions()) == {}


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_part_of_the_images_in_corners_is_named(share):
    truth, found = truth_and_predictions()
    mixed = rewrite(found, as_corners, lambda i, r: r["image_id"] <= share * IMAGES)
    finding = codes(truth, mixed)["V115"]
    assert "corners (x1 y1 x2 y2)" in finding.message
    assert "records" in finding.message  # they lie at the beginning of the file
    assert "option" in finding.fix


def test_every_other_record_in_corners_is_named():
    truth, found = truth_and_predictions()
    assert "V115" in codes(truth, rewrite(found, as_corners, lambda i, r: i % 2))


def test_fractions_in_some_images_are_named():
    truth, found = truth_and_predictions()
    small = rewrite(found, lambda b: [v / SIZE[k % 2] for k, v in enumerate(b)], lambda i, r: r["image_id"] % 10 == 0)
    finding = codes(truth, small)["V116"]
    assert finding.count == 4 * IMAGES / 10
    assert f"{IMAGES // 10} images" in finding.message


def test_a_whole_file_in_fractions_is_not_called_a_part_as_well():
    truth, found = truth_and_predictions()
    corner_fractions = rewrite(found, lambda b: [v / SIZE[k % 2] for k, v in enumerate(as_corners(b))])
    assert [code for code in codes(truth, corner_fractions) if code in ("V103", "V116")] == ["V103"]


def test_tiles_that_were_not_shifted_back_are_named():
    truth, found = truth_and_predictions()
    tiled = rewrite(
        found, lambda b: [b[0] - 320 * (b[0] + b[2] / 2 > 320), b[1] - 240 * (b[1] + b[3] / 2 > 240), *b[2:]]
    )
    finding = codes(truth, tiled)["V117"]
    assert "tile" in finding.fix


@pytest.mark.parametrize(("tile", "step"), [(320, 320), (240, 240), (320, 256), (320, 160)])
def test_predictions_that_end_at_the_border_of_their_tile_are_not_taken_for_clipped_ones(tile, step):
    truth, found = truth_and_predictions()

    def on_tile(box):
        left, top = ((box[k] + box[2 + k] / 2) // step * step for k in (0, 1))
        left, top = min(left, SIZE[0] - tile), min(top, SIZE[1] - tile)  # as tilers place the last one
        sides = [max(box[0] - left, 0), max(box[1] - top, 0)]
        return [*sides, min(box[0] + box[2] - left, tile) - sides[0], min(box[1] + box[3] - top, tile) - sides[1]]

    finding = codes(truth, rewrite(found, on_tile))["V117"]
    assert "position of its tile" in finding.fix or "position of the tile" in finding.fix
    assert "clip" not in finding.fix


def test_boxes_clipped_to_a_smaller_size_are_named():
    truth, found = truth_and_predictions()

    def clip(box):
        left, top, right, bottom = (min(v, 380) for v in as_corners(box))
        return [left, top, right - left, bottom - top]

    clipped = [r for r in rewrite(found, clip) if min(r["bbox"][2:]) > 0]
    finding = codes(truth, clipped)["V117"]
    assert "clipped to 380" in finding.fix


def test_one_prediction_per_image_is_named():
    truth, found = truth_and_predictions()
    best = {}
    for record in sorted(found, key=lambda r: r["score"]):
        best[record["image_id"]] = record
    finding = codes(truth, list(best.values()))["V313"]
    assert f"{IMAGES} images" in finding.message
    assert "4.0 objects" in finding.message


def test_a_third_of_the_objects_as_crowds_is_named_and_a_hundredth_is_not():
    truth, found = truth_and_predictions()
    for every, is_named in ((3, True), (100, False)):
        objects = [{**o, "iscrowd": int(i % every == 0)} for i, o in enumerate(truth["annotations"])]
        assert ("V224" in codes({**truth, "annotations": objects}, found)) is is_named


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda b: [b[0], SIZE[1] - b[1] - b[3], b[2], b[3]], "image height - y - box height"),
        (lambda b: [b[0], SIZE[1] - b[1], b[2], b[3]], "image height - y"),
        (lambda b: [SIZE[0] - b[0] - b[2], b[1], b[2], b[3]], "horizontal flip"),
        (lambda b: [b[0], b[1], b[3], b[2]], "width before height"),
    ],
)
def test_flipped_axes_and_exchanged_sides_are_named(change, word):
    rng = np.random.default_rng(5)
    truth, found = truth_and_predictions()
    for o, r in zip(truth["annotations"], found, strict=True):  # long objects, so that the sides differ
        o["bbox"][2 + int(rng.integers(2))] /= 3
        r["bbox"] = [v + d for v, d in zip(o["bbox"], rng.normal(0, 0.5, 4), strict=True)]
    finding = codes(truth, rewrite(found, change))["V118"]
    assert word in finding.fix


def test_duplicates_at_the_borders_of_tiles_are_named():
    rng = np.random.default_rng(3)
    truth, found = truth_and_predictions()
    twice = rewrite(found[::4], lambda box: [v + d for v, d in zip(box, rng.normal(0, 1, 4), strict=True)])
    twice = [{**r, "score": 0.95 * r["score"]} for r in twice]
    assert "NMS" in codes(truth, found + twice)["V311"].fix


def test_masks_that_are_the_rectangles_of_their_boxes_are_named():
    truth, _ = truth_and_predictions()
    for o in truth["annotations"]:
        left, top, right, bottom = as_corners(o["bbox"])
        o["segmentation"] = [[left, top, right, top, right, bottom, left, bottom]]
    assert "V119" in {finding.code for finding in inspect(truth).findings}
    pred = [
        {key: o[key] for key in ("image_id", "category_id", "bbox", "segmentation")} | {"score": 0.5 + o["id"] / 1000}
        for o in truth["annotations"]
    ]
    told = {on: {finding.code for finding in vt.coco(truth, pred, on=on).findings} for on in ("box", "mask")}
    assert ("V119" in told["box"], "V119" in told["mask"]) == (False, True)
    for o in truth["annotations"]:
        o["segmentation"][0][:2] = [o["bbox"][0] + 20, o["bbox"][1] + 20]
    assert "V119" not in {finding.code for finding in inspect(truth).findings}


def test_positions_among_all_80_classes_are_named_in_a_subset_of_them():
    truth, found = truth_and_predictions()
    ids, positions = {1: 3, 2: 17, 3: 62}, {1: 2, 2: 15, 3: 56}  # car, cat, chair: 91 ids, and places among the 80
    categories = [{**c, "id": ids[c["id"]]} for c in truth["categories"]]
    objects = [{**o, "category_id": ids[o["category_id"]]} for o in truth["annotations"]]
    found = [{**r, "category_id": positions[r["category_id"]]} for r in found]
    finding = codes({**truth, "categories": categories, "annotations": objects}, found)["V202"]
    assert "80 positions" in finding.message
