"""Plans: how many images, gold images and checked annotations a decision needs."""

from __future__ import annotations

import pytest

import verite as vt
from verite.leaderboards.plan import images_needed, power_of


def test_images_for_a_lead_are_those_of_the_review() -> None:
    """COCO, YOLOv3 against SSD Inception v2: lead 0.0092, standard deviation 0.0109 on 500 images: 5,500 images."""
    found = images_needed(0.0092, 0.0109, 500)
    assert found is not None
    assert 5450 <= found <= 5550
    by_hand = 300 * ((1.959964 + 1.281552) * 0.01 / 0.005) ** 2
    assert images_needed(0.005, 0.01, 300, power=0.9) == pytest.approx(by_hand, abs=1)
    assert images_needed(0.0, 0.01, 300) is None


def test_power_and_images_belong_together() -> None:
    images = images_needed(0.005, 0.01, 300, power=0.8)
    assert images is not None
    assert power_of(0.005, 0.01 * (300 / images) ** 0.5) == pytest.approx(0.8, abs=0.001)


@pytest.fixture(scope="module")
def sides() -> tuple[vt.Annotations, dict[str, vt.Annotations]]:
    names = [f"i{i}" for i in range(60)]
    boxes = [[0, 0, 50, 50]] * 60
    truth = vt.Annotations.of(names, ["cat"] * 60, boxes)
    preds = {
        name: vt.Annotations.of(names[:count], ["cat"] * count, boxes[:count], confidence=[0.9] * count)
        for name, count in (("a", 55), ("b", 50), ("c", 20))
    }
    return truth, preds


def test_a_plan_lists_every_two_neighbours(sides: tuple[vt.Annotations, dict[str, vt.Annotations]]) -> None:
    truth, preds = sides
    errors = vt.annotation_errors.Detection(spurious=0.05)
    board = vt.leaderboard(truth, preds, errors=errors, plan=0.05, power=0.8, draws=200, checks="off")
    assert board.plan is not None
    first, second = board.plan.pairs
    assert (first.first, first.second) == ("a", "b")
    assert first.images is not None
    assert first.images_for_delta is not None
    # The lead of a over b is 5 of 60 images, about 0.083: more images are needed for 0.05 than for it.
    assert first.images < first.images_for_delta
    assert second.images is not None
    assert second.images < 60  # c is far behind
    assert second.records == 0
    assert first.gold is None
    document = board.to_dict()["plan"]
    assert {"delta", "power", "images", "gold", "records"} <= set(document)
    assert document["images"] == first.images_for_delta
    assert "plan:" in str(board)


def test_gold_images_of_a_plan_come_from_a_pilot(sides: tuple[vt.Annotations, dict[str, vt.Annotations]]) -> None:
    truth, preds = sides
    names = [f"i{i}" for i in range(25)]
    gold = vt.Annotations.of(names[:-3], ["cat"] * 22, [[0, 0, 50, 50]] * 22, images=names)
    board = vt.leaderboard(truth, preds, gold=gold, plan=0.05, draws=100, checks="off")
    assert board.plan is not None
    assert board.plan.pairs[1].gold is not None


def test_a_plan_needs_a_bootstrap_and_a_lead(sides: tuple[vt.Annotations, dict[str, vt.Annotations]]) -> None:
    truth, preds = sides
    with pytest.raises(vt.BadParameter, match="plan: expected a bootstrap of images"):
        vt.leaderboard(truth, preds, plan=0.05, resample="none", draws=50, checks="off")
    for wrong in ({"plan": -0.1}, {"plan": 0.1, "power": 1.5}):
        with pytest.raises(vt.BadParameter, match="expected a number between 0 and 1"):
            vt.leaderboard(truth, preds, draws=50, checks="off", **wrong)
