"""What parts know that others do not: findings, classes that only predictions have, sigmas of keypoints."""

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


def test_findings_go_with_the_part_and_say_of_how_many_images_they_speak(tmp_path: Path) -> None:
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]])
    pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, float("nan"), 9]], confidence=[0.5])
    with pytest.raises(vt.DataError, match="V111"):
        vt.partial(truth, pred)
    part = vt.partial(truth, pred, checks="warn")
    assert part.findings == vt.coco(truth, pred, checks="warn").findings
    part.save(tmp_path / "a.part")
    again = vt.PartialResult.load(tmp_path / "a.part")
    assert again.findings == again.compute().findings == part.findings
    other = vt.partial(
        replace(truth, images=Images(["b"])), replace(pred, images=Images(["b"])).where([False]), checks="off"
    )
    for merged in (part.merge(other), vt.PartialResult.from_bytes(other.merge(again).to_bytes())):
        assert [finding.code for finding in merged.findings] == ["V111"]
        assert merged.findings[0].message.endswith("(in a part of 1 images)")
        assert merged.compute().findings == merged.findings
    assert other.findings == ()


def test_any_tree_of_parts_with_findings_gives_the_same_bytes(tmp_path: Path) -> None:
    codes = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        parts = [vt.partial(*some, checks="warn") for some in split(coco_sides(tmp_path, seed), rng, 4)]
        merged = merge_in_any_way(parts, rng)
        assert merged.to_bytes() == merge_in_any_way(parts, rng).to_bytes() == parts[0].merge(*parts[1:]).to_bytes()
        assert {f.code for f in merged.findings} == {f.code for part in parts for f in part.findings}
        codes |= {f.code for f in merged.findings}
    assert len(codes) > 2


@pytest.mark.parametrize("protocol", ["voc", "imagenet-det", "openimages"])
def test_classes_that_only_predictions_have_are_there_in_parts_as_in_the_whole(protocol: str) -> None:
    more: dict[str, Any] = {"unverified": "count"} if protocol == "openimages" else {}
    boxes = [[0, 0, 10, 10], [20, 20, 40, 40], [5, 5, 25, 25]]
    images = ["a.jpg", "b.jpg", "c.jpg"]
    truth = vt.Annotations.of(images, ["cat", "dog", "cat"], boxes)
    columns = ([*images, "c.jpg"], ["zebra", "dog", "ant", "zebra"], [*boxes, boxes[0]], [0.9, 0.8, 0.7, 0.6])

    def preds(*rows: int) -> vt.Annotations:
        image, label, box, confidence = ([column[row] for row in rows] for column in columns)
        return vt.Annotations.of(image, label, box, confidence=confidence)

    run = getattr(vt, protocol.replace("-", "_"))
    whole = run(truth, preds(0, 1, 2, 3), checks="off", **more)
    assert whole.class_names == ["cat", "dog", "zebra", "ant"]
    parts = [
        vt.partial(take_images(truth, chosen), preds(*rows), protocol, checks="off", **more)
        for chosen, rows in zip(np.eye(3, dtype=bool), ([0], [1], [2, 3]), strict=True)
    ]
    merged = parts[2].merge(parts[0].merge(parts[1]))
    assert merged == vt.partial(truth, preds(0, 1, 2, 3), protocol, checks="off", **more)
    assert_same(vt.PartialResult.from_bytes(merged.to_bytes()).compute(), whole)
    assert merged.compute().class_names == ["cat", "dog", "ant", "zebra"]  # of parts by their names
    fates = {name: (curve.truths, curve.tp, curve.fp) for name, curve in merged.compute().curves[0].items()}
    assert fates == {"cat": (2, 0, 0), "dog": (1, 1, 0), "zebra": (0, 0, 2), "ant": (0, 0, 1)}
    assert parts[0].merge(parts[1]).compute().class_names == ["cat", "dog", "zebra"]


def pose(image: str, sigmas: list[float] | None, *, has_pose: bool = True) -> Sides:
    """A person of three keypoints, whose sigmas the truth states; or a box alone."""
    person: dict[str, Any] = {"id": 1, "name": "person", "keypoints": ["a", "b", "c"], "skeleton": []}
    if sigmas:
        person["sigmas"] = sigmas
    record = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 60, 60], "area": 3600.0, "iscrowd": 0, "id": 1}
    points = [10, 10, 2, 30, 30, 2, 50, 50, 2]
    truths = [{**record, "num_keypoints": 3, "keypoints": points}] if has_pose else []
    document = {
        "images": [{"id": 1, "file_name": image, "width": 99, "height": 99}],
        "annotations": truths,
        "categories": [person],
    }
    truth = vt.read(document)
    found = [{"image_id": 1, "category_id": 1, "score": 0.5, "keypoints": [12, 10, 2, 30, 30, 2, 50, 50, 2]}]
    pred = vt.read(found, like=truth) if has_pose else replace(truth, confidence=np.empty(0))
    return tuple(replace(side, images=Images([image])) for side in (truth, pred))  # type: ignore[return-value]


def test_sigmas_of_keypoints_agree_between_parts_or_are_named() -> None:
    more: dict[str, Any] = {"on": "keypoints", "checks": "off"}
    one, same = (vt.partial(*pose(name, [0.1, 0.2, 0.3]), **more) for name in ("a", "b"))
    none = vt.partial(*pose("c", [0.1, 0.2, 0.3], has_pose=False), **more)  # a part without a single pose
    merged = one.merge(none, same)
    assert merged.to_bytes() == none.merge(same).merge(one).to_bytes()
    assert "sigmas:" in str(merged.compute().signature)
    assert str(merged.compute().signature) == str(vt.coco(*pose("a", [0.1, 0.2, 0.3]), **more).signature)
    other = vt.partial(*pose("d", [0.1, 0.2, 0.4]), **more)
    with pytest.raises(
        vt.NotComparable, match=r"same sigmas of class 'person', found 0.1, 0.2, 0.3 and 0.1, 0.2, 0.4; give sigmas="
    ):
        one.merge(other)
    with pytest.raises(vt.NotComparable, match="same sigmas"):
        vt.evaluate_parts([one, other])
    given = [vt.partial(*pose(name, s), sigmas=[0.1] * 3, **more) for name, s in (("a", [0.1, 0.2, 0.3]), ("b", None))]
    assert given[0].merge(given[1]).compute().scores["AP"].value > 0
