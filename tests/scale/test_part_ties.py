"""Equal confidences in parts: the order of images, exactly that of the whole, or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.evaluation.test_parts import Sides, split, take_images
from tests.scale.test_partial import assert_same, coco_sides, merge_in_any_way
from verite.model.images import Images
from verite.model.regions import Regions


def mixed_ties(order: list[int]) -> Sides:
    """A right and a wrong prediction of equal confidence in two images, listed in this order."""
    truth = vt.Annotations.of(["a.jpg", "b.jpg"], ["cat", "cat"], [[0, 0, 9, 9], [0, 0, 9, 9]])
    pred = vt.Annotations.of(
        ["a.jpg", "b.jpg"], ["cat", "cat"], [[50, 50, 59, 59], [0, 0, 9, 9]], confidence=[0.5, 0.5]
    )
    return truth, pred.like(truth).take(order)


@pytest.mark.parametrize("protocol", ["voc", "imagenet-det"])
def test_equal_confidences_have_the_order_of_images_or_are_refused(protocol: str) -> None:
    run = getattr(vt, protocol.replace("-", "_"))
    # The wrong one first: half of the truths at a precision of a half. The right one first: at one.
    assert run(*mixed_ties([0, 1]), checks="off").scores["mAP"].value == 0.25
    assert run(*mixed_ties([1, 0]), checks="off").scores["mAP"].value == 0.5
    assert vt.partial(*mixed_ties([0, 1]), protocol, checks="off").compute().scores["mAP"].value == 0.25
    with pytest.raises(vt.DataError, match=r"equal confidences in the order of images, found 2 .*ties=.image."):
        vt.partial(*mixed_ties([1, 0]), protocol, checks="off")
    by_image = run(*mixed_ties([1, 0]), ties="image", checks="off")
    assert by_image.scores["mAP"].value == 0.25
    assert "ties:image" in str(by_image.signature)
    assert_same(vt.partial(*mixed_ties([1, 0]), protocol, ties="image", checks="off").compute(), by_image)
    # Equal fates: whatever the order, the numbers are the same, and nobody complains.
    truth, pred = mixed_ties([1, 0])
    both = replace(pred, regions=Regions(np.array([[0.0, 0, 9, 9]] * 2), "xyxy"))
    assert_same(vt.partial(truth, both, protocol, checks="off").compute(), run(truth, both, checks="off"))


@pytest.mark.parametrize("protocol", ["voc", "imagenet-det", "coco"])
def test_in_the_order_of_images_any_listing_and_partition_has_the_numbers_of_the_whole(
    tmp_path: Path, protocol: str
) -> None:
    more: dict[str, Any] = {} if protocol == "coco" else {"ties": "image"}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        truth, pred = coco_sides(tmp_path, seed)
        if seed % 2:  # images known by their names, which do not rise
            names = rng.permutation([f"{i:02}.jpg" for i in range(len(truth.images))]).tolist()
            truth, pred = (replace(side, images=Images(names)) for side in (truth, pred))
        sides = truth, pred.take(rng.permutation(len(pred)))
        whole = getattr(vt, protocol.replace("-", "_"))(*sides, checks="off", **more)
        parts = [vt.partial(*some, protocol, checks="off", **more) for some in split(sides, rng, 3)]
        assert_same(merge_in_any_way(parts, rng).compute(), whole)


@pytest.mark.parametrize("protocol", ["voc", "imagenet-det"])
def test_results_merged_over_equal_confidences_of_several_images_are_signed_by_image(protocol: str) -> None:
    # In one piece the file lists the right prediction of b.jpg first: mAP 0.5. Parts know a.jpg before b.jpg: 0.25.
    truth, pred = mixed_ties([1, 0])
    whole = getattr(vt, protocol.replace("-", "_"))(truth, pred, checks="off")
    parts = [
        vt.partial(take_images(truth, chosen), take_images(pred, chosen), protocol, checks="off")
        for chosen in np.eye(2, dtype=bool)
    ]
    merged = parts[0].merge(parts[1])
    for found in (merged.compute(), vt.PartialResult.from_bytes(merged.to_bytes()).compute(), vt.evaluate_parts(parts)):
        assert (whole.scores["mAP"].value, found.scores["mAP"].value) == (0.5, 0.25)
        assert "ties:stable" in str(whole.signature)
        assert "ties:image" in str(found.signature)
    by_image = getattr(vt, protocol.replace("-", "_"))(truth, pred, ties="image", checks="off")
    assert_same(merged.compute(), by_image)
    # Both right: every order gives the same number, so the signature stays that of one piece.
    both = replace(pred, regions=Regions(np.array([[0.0, 0, 9, 9]] * 2), "xyxy"))
    alone = [vt.partial(take_images(truth, some), take_images(both, some), protocol, checks="off")
             for some in np.eye(2, dtype=bool)]  # fmt: skip
    assert "ties:stable" in str(alone[0].merge(alone[1]).compute().signature)


def test_shards_whose_images_do_not_rise_are_refused_where_it_matters() -> None:
    truth, pred = mixed_ties([0, 1])
    one, two = [
        (take_images(truth, chosen), take_images(pred, chosen)) for chosen in np.eye(2, dtype=bool)
    ]  # fmt: skip
    for pairs in ([one, two], [two, one]):
        assert vt.evaluate_parts(pairs, None, "voc", ties="image", checks="off").scores["mAP"].value == 0.25
    assert vt.evaluate_parts([one, two], None, "voc", checks="off").scores["mAP"].value == 0.25
    with pytest.raises(vt.DataError, match="shards: expected images that rise from shard to shard, found 2 equal"):
        vt.evaluate_parts([two, one], None, "voc", checks="off")
    half = two[0], replace(two[1], confidence=np.array([0.25]))
    assert vt.evaluate_parts([half, one], None, "voc", checks="off").scores["mAP"].value == 0.25
