"""A data set evaluated in parts has the numbers of the whole, by every protocol, in whatever way parts are merged."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import verite as vt
from tests.evaluation.test_parts import Sides, split, take_images
from tests.oracles.coco_sets import random_set
from tests.oracles.kitti import random_scene
from tests.oracles.wider import random_faces
from tests.panoptic_files import write_side
from tests.protocols.scenes import random_sides
from tests.protocols.test_lvis import federated, written
from tests.protocols.test_panoptic import random_set as random_panoptic
from verite.model.classes import ImageLevelLabels
from verite.model.images import Images
from verite.model.regions import Regions

KINDS: dict[str, dict[str, Any]] = {
    "coco": {"max_dets": [1, 3, 100]},
    "voc": {"iou": [0.3, 0.5, 0.75], "ties": "image"},
    "imagenet-det": {"iou": [0.5, 0.75], "ties": "image"},
    "openimages": {"metric": "v2"},
}


def by_image(sides: Sides) -> Sides:
    """Predictions listed image by image, as detectors list them."""
    return sides[0], sides[1].take(np.argsort(sides[1].image, kind="stable"))


def coco_sides(folder: Path, seed: int) -> Sides:
    documents = random_set(seed)
    documents[0]["images"].sort(key=lambda image: image["id"])
    for name, document in zip(("truth", "pred"), documents, strict=True):
        (folder / f"{name}.json").write_text(json.dumps(document))
    truth = vt.read(folder / "truth.json")
    return by_image((truth, vt.read(folder / "pred.json", like=truth)))


def assert_same(found: Any, whole: Any) -> None:
    """Every number, every class, to the last bit."""
    assert list(found.scores) == list(whole.scores)
    for key, score in whole.scores.items():
        assert found.scores[key].value == score.value or np.isnan([found.scores[key].value, score.value]).all()
        assert found.scores[key].signature == score.signature
    documents = [json.loads(r.to_json()) for r in (found, whole)]
    for document in documents:
        for own in (document, *document.get("systems", {}).values()):
            for key in ("truth", "pred", "findings", "name"):
                own.pop(key, None)
        document["systems"] = list(document.get("systems", {}).values())  # keyed by the name
    assert documents[0] == documents[1]


def merge_in_any_way(parts: list[vt.PartialResult], rng: np.random.Generator) -> vt.PartialResult:
    while len(parts) > 1:
        some = rng.permutation(len(parts))[: int(rng.integers(2, 4))].tolist()
        merged = parts[some[0]].merge(*(parts[i] for i in some[1:]))
        if rng.random() < 0.5:
            merged = vt.PartialResult.from_bytes(merged.to_bytes())
        parts = [part for i, part in enumerate(parts) if i not in some] + [merged]
    return parts[0]


@pytest.mark.parametrize("protocol", KINDS)
def test_parts_have_the_results_of_the_whole_by_every_protocol(tmp_path: Path, protocol: str) -> None:
    for seed in range(25):
        rng = np.random.default_rng(seed)
        sides = coco_sides(tmp_path, seed)
        whole = getattr(vt, protocol.replace("-", "_"))(*sides, checks="off", **KINDS[protocol])
        parts = [
            vt.partial(*some, protocol, checks="off", **KINDS[protocol])
            for some in split(sides, rng, int(rng.integers(1, 5)))
        ]
        merged = merge_in_any_way(parts, rng)
        assert merged == vt.partial(*sides, protocol, checks="off", **KINDS[protocol])
        assert_same(merged.compute(), whole)
        assert_same(pickle.loads(pickle.dumps(merged)).compute(), whole)


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Sides, list[int]]:
    """Small scenes full of ties, crowds, empty images and classes, more predictions than count; and a partition."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    images, labels = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    truths, preds = draw(st.integers(0, 12)), draw(st.sampled_from([0, 1, 20, 300]))
    levels = draw(st.sampled_from([1, 3, 1000]))

    def boxes(count: int) -> Regions:
        corner = rng.integers(0, 30, (count, 2)).astype(float)
        return Regions(np.hstack([corner, corner + rng.choice([8.0, 20.0, 40.0, 120.0], (count, 2))]), "xyxy")

    tables = Images(None, np.sort(rng.choice(1000, images, replace=False))), vt.Labels(None, range(labels))
    places = [[rng.integers(0, n, count).astype(np.int32) for n in (images, labels)] for count in (truths, preds)]
    truth = vt.Annotations(*tables, *places[0], boxes(truths), flags={"crowd": rng.random(truths) < 0.2})
    confidence = np.round(rng.integers(0, levels, preds) / levels, 3)
    pred = vt.Annotations(*tables, *places[1], boxes(preds), confidence)
    return (truth, pred), draw(st.lists(st.integers(0, 3), min_size=images, max_size=images))


@pytest.mark.thorough
@settings(max_examples=120, deadline=None)
@given(scenes(), st.integers(0, 2**32))
def test_any_partition_and_tree_gives_the_bytes_of_the_whole(scene: tuple[Sides, list[int]], seed: int) -> None:
    sides, place = scene
    whole = vt.partial(*sides, checks="off")
    chosen = [np.array(place) == i for i in range(4)]
    parts = [vt.partial(*(take_images(side, some) for side in sides), checks="off") for some in chosen]
    merged = merge_in_any_way(parts, np.random.default_rng(seed))
    assert merged.to_bytes() == whole.to_bytes()
    assert_same(merged.compute(), vt.coco(*sides, checks="off"))


def take_verdicts(side: vt.Annotations, chosen: Any) -> vt.Annotations:
    """The same with what is said about whole images."""
    assert side.verdicts is not None
    kept = chosen[side.verdicts.image]
    image = (np.cumsum(chosen) - 1)[side.verdicts.image[kept]].astype(np.int32)
    verdicts = ImageLevelLabels(image, side.verdicts.label[kept], side.verdicts.kind[kept])
    return replace(take_images(replace(side, verdicts=None), chosen), verdicts=verdicts)


def test_lvis_in_parts_has_its_thirteen_numbers(tmp_path: Path) -> None:
    for seed in range(15):
        paths = written(tmp_path, *federated(seed))
        truth = vt.read(paths[0], format="lvis")
        pred = vt.read(paths[1], like=truth)
        place = np.random.default_rng(seed).integers(0, 3, len(truth.images))
        parts = [
            vt.partial(take_verdicts(truth, place == i), take_images(pred, place == i), "lvis", checks="off")
            for i in range(3)
        ]
        assert_same(parts[0].merge(*parts[1:]).compute(), vt.lvis(truth, pred, checks="off"))


def test_panoptic_in_parts_sums_exactly(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    for n in range(12):
        images = random_panoptic(rng)
        sides = [{i: (s[k][0].tolist(), s[k][1]) for i, s in images.items()} for k in (0, 1)]
        truth = vt.read(write_side(tmp_path, f"truth{n}", sides[0]))
        pred = vt.read(write_side(tmp_path, f"pred{n}", sides[1], is_truth=False), like=truth)
        parts = [vt.partial(*some, "panoptic", checks="off") for some in split((truth, pred), rng, 3)]
        assert parts[0].merge(*parts[1:]) == parts[2].merge(parts[0], parts[1])
        assert_same(parts[0].merge(*parts[1:]).compute(), vt.panoptic(truth, pred, checks="off"))


@pytest.mark.thorough
def test_groups_of_open_images_count_in_parts_as_in_the_whole() -> None:
    rng = np.random.default_rng(3)
    compared = 0
    for seed in range(20):
        truth, pred = random_sides(seed)
        groups = rng.random(len(truth)) < 0.4
        truth = replace(truth, flags={"group_of": groups, "difficult": (rng.random(len(truth)) < 0.1) & ~groups})
        for metric in ("challenge", "v2"):
            for weight in (None, 0.5):
                more: dict[str, Any] = {"metric": metric, "group_of_weight": weight, "checks": "off", "iou": [0.3, 0.6]}
                whole = vt.openimages(truth, pred, **more)
                parts = [vt.partial(*some, "openimages", **more) for some in split((truth, pred.like(truth)), rng, 3)]
                assert_same(parts[2].merge(*parts[:2]).compute(), whole)
                compared += not np.isnan(whole.scores["mAP@0.30"].value)
    assert compared > 40


def two_parts(**more: Any) -> tuple[vt.PartialResult, vt.PartialResult]:
    box = [[0, 0, 9, 9]]
    parts = []
    for name in ("a.jpg", "b.jpg"):
        truth = vt.Annotations.of([name], ["cat"], box)
        parts.append(vt.partial(truth, vt.Annotations.of([name], ["cat"], box, confidence=[0.5]), **more))
    return parts[0], parts[1]


def test_what_does_not_belong_together_is_named() -> None:
    one, two = two_parts()
    with pytest.raises(vt.DataError, match=r"expected every image once, found image 'a.jpg' in two of them"):
        one.merge(two, one)
    assert one.merge(two, one, duplicates="first") == one.merge(two)
    with pytest.raises(vt.NotComparable, match=r"parts: expected the same max_dets, found \[1, 10, 100\] and \[7\]"):
        one.merge(two_parts(max_dets=7)[1])
    with pytest.raises(vt.NotComparable, match="parts: expected one protocol, found coco and voc"):
        one.merge(two_parts(protocol="voc")[1])
    truth = vt.Annotations.of(["c"], ["dog"], [[0, 0, 9, 9]])
    other = vt.partial(truth, replace(truth, confidence=np.ones(1)), checks="off")
    with pytest.raises(vt.NotComparable, match=r"expected the same classes .* \('cat' and 'dog'\)"):
        one.merge(other)
    with pytest.raises(vt.BadParameter, match=r"protocol: expected voc, .* or oc-cost, found 'imagenet-loc'"):
        vt.partial(truth, truth, "imagenet-loc")
    with pytest.raises(vt.BadParameter, match="found 'cocoa'; did you mean 'coco'"):
        vt.partial(truth, truth, "cocoa")
    with pytest.raises(vt.BadParameter, match="quirks"):
        two_parts(protocol="voc", quirks="py-faster-rcnn")


def test_what_changes_no_number_may_differ_and_be_said_later() -> None:
    one, two = two_parts(threads=1)[0], two_parts(threads=2, name="other")[1]
    results = one.merge(two).compute(name="mine", per="threshold")
    assert (results.name, results.per) == ("mine", "threshold")
    assert repr(one.merge(two)) == "Partial: coco of 2 images, 2 predictions"
    assert copy.deepcopy(one) == one
    assert one != two


def test_a_part_is_saved_whole_and_refused_damaged(tmp_path: Path) -> None:
    one, _ = two_parts()
    one.save(tmp_path / "a.part")
    assert vt.PartialResult.load(tmp_path / "a.part") == one
    (tmp_path / "b.part").write_bytes((tmp_path / "a.part").read_bytes()[:-3])
    with pytest.raises(vt.ReadError, match=r"b.part: expected a part that is whole, found damaged bytes"):
        vt.PartialResult.load(tmp_path / "b.part")
    (tmp_path / "c.part").write_text("{}")
    with pytest.raises(vt.ReadError, match=r"c.part: expected a part as verite writes it, found other bytes"):
        vt.PartialResult.load(tmp_path / "c.part")
    loop = vt.CocoEvaluator(checks="off")
    loop.update({"boxes": [], "scores": [], "labels": []}, {"boxes": [[0, 0, 9, 9]], "labels": [1]})
    (tmp_path / "d.part").write_bytes(loop.to_bytes())
    with pytest.raises(
        vt.ReadError, match=r"expected one of `verite partial` or vt.partial, found that of an evaluator"
    ):
        vt.PartialResult.load(tmp_path / "d.part")
    with pytest.raises(vt.ReadError, match="nothing"):
        vt.PartialResult.load(tmp_path / "e.part")


def test_a_part_that_was_written_long_ago_is_read_for_ever() -> None:
    """Bytes of version 1, kept: the boxes of the test below, whose numbers follow by hand."""
    path = Path(__file__).parent.parent / "data" / "part" / "version-1.part"
    truth = vt.Annotations.of(
        ["b.jpg", "a.jpg", "b.jpg"], ["cat", "dog", "cat"], [[0, 0, 10, 10], [20, 20, 40, 40], [50, 50, 90, 90]]
    )
    boxes = [[0, 0, 10, 10], [60, 60, 80, 80], [200, 200, 240, 240]]
    pred = vt.Annotations.of(["b.jpg", "a.jpg", "b.jpg"], ["cat", "dog", "cat"], boxes, confidence=[0.9, 0.5, 0.25])
    part = vt.PartialResult.load(path)
    assert part.to_bytes() == path.read_bytes() == vt.partial(truth, pred).to_bytes()
    results = part.compute()
    # One of two cats is found, first of all; no dog: 51 of 101 recalls, and none.
    assert results.scores["AP"].value == pytest.approx((51 / 101 + 0) / 2, rel=1e-12)
    assert results.scores["AR100"].value == pytest.approx(0.25)


def test_parts_that_two_versions_of_python_wrote_are_merged() -> None:
    """One was written by Python 3.11, one by 3.13; whichever runs this writes their bytes, and merges them."""
    home = Path(__file__).parent.parent / "data" / "part"
    one, two = (vt.PartialResult.load(home / f"{name}.part") for name in ("version-1", "python-3.13"))
    truth = vt.Annotations.of(["c.jpg"] * 2, ["cat", "dog"], [[0, 0, 10, 10], [50, 50, 90, 90]])
    pred = vt.Annotations.of(["c.jpg"] * 2, ["cat", "zebra"], [[0, 0, 10, 10], [0, 0, 5, 5]], confidence=[0.75, 0.5])
    assert vt.partial(truth, pred, checks="off") == two
    assert one.merge(two) == two.merge(one)
    # Two of three cats are found before anything else, and no dog: 67 of 101 recalls, and none.
    assert one.merge(two).compute().scores["AP"].value == pytest.approx((67 / 101 + 0) / 2, rel=1e-12)


def test_keypoints_are_merged_as_boxes_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    skeleton = [{"id": 1, "name": "person", "keypoints": [f"p{i}" for i in range(17)], "skeleton": []}]
    images = [{"id": i, "file_name": f"{i}.jpg", "width": 200, "height": 200} for i in range(1, 9)]
    poses = np.concatenate([rng.integers(10, 150, (16, 17, 2)), np.full((16, 17, 1), 2)], axis=2)
    truths = [
        {"id": n + 1, "image_id": n // 2 + 1, "category_id": 1, "bbox": [5, 5, 150, 150], "area": 9000.0, "iscrowd": 0,
         "num_keypoints": 17, "keypoints": poses[n].ravel().tolist()}
        for n in range(16)
    ]  # fmt: skip
    preds = [
        {"image_id": n // 2 + 1, "category_id": 1, "score": round(float(rng.random()), 1),
         "keypoints": (poses[n] + np.append(rng.normal(0, 6, 2), 0)).ravel().tolist()}
        for n in rng.permutation(16).tolist()
    ]  # fmt: skip
    preds.sort(key=lambda record: record["image_id"])
    document = {"images": images, "annotations": truths, "categories": skeleton}
    (tmp_path / "truth.json").write_text(json.dumps(document))
    (tmp_path / "pred.json").write_text(json.dumps(preds))
    truth = vt.read(tmp_path / "truth.json")
    sides = truth, vt.read(tmp_path / "pred.json", like=truth)
    whole = vt.coco(*sides, on="keypoints", sigmas="coco", checks="off")
    assert 0 < whole.scores["AP"].value < 1
    parts = [vt.partial(*some, on="keypoints", sigmas="coco", checks="off") for some in split(sides, rng, 3)]
    assert_same(parts[0].merge(*parts[1:]).compute(), whole)


def test_each_shard_of_faces_takes_its_own_from_the_lists_of_the_dataset(tmp_path: Path) -> None:
    truth, pred = random_faces(3).sides()
    numbers = random_faces(3).numbers()
    table = tmp_path / "lists.csv"
    rows = [f"{image},{face},{'easy' if face % 2 else 'hard'}" for image, own in numbers.items() for face in own]
    table.write_text("\n".join(["image,face,subset", *rows]) + "\n")
    for lists in (table, {"chosen": numbers}):
        whole = vt.wider(truth, pred, lists=lists, checks="off")
        sides = split((truth, pred.like(truth)), np.random.default_rng(0), 3)
        parts = [vt.partial(*some, "wider", lists=lists, checks="off") for some in sides]
        assert_same(parts[1].merge(parts[2], parts[0]).compute(), whole)
    with pytest.raises(vt.DataError, match="lists: chosen: expected face 1 of image"):
        vt.wider(*sides[0], lists=lists, checks="off")  # a dataset that lacks images of the lists
    with pytest.raises(vt.NotComparable, match="expected the same lists"):
        parts[0].merge(vt.partial(*sides[1], "wider", checks="off"))


def test_visible_shares_of_a_shard_are_those_of_its_own_objects() -> None:
    truth, pred = random_sides(4)
    shares = np.random.default_rng(4).random(len(truth))
    more: dict[str, Any] = {"subset": "visibility:0.3-", "checks": "off"}
    place = np.random.default_rng(5).integers(0, 3, len(truth.images))
    parts = [
        vt.partial(take_images(truth, place == i), take_images(pred, place == i), "miss-rate",
                   visibility=shares[np.isin(truth.image, np.flatnonzero(place == i))], **more)
        for i in range(3)
    ]  # fmt: skip
    whole = vt.miss_rate(truth, pred, visibility=shares, **more)
    merged = parts[0].merge(*parts[1:])
    assert_same(merged.compute(), whole)
    assert not merged.compute().has_objects
    with pytest.raises(vt.DataError, match="evaluate in one piece"):
        merged.compute().matches()


def spoil(data: bytes, rng: np.random.Generator) -> bytes:
    """A part with some of its fields changed and the digest of what it is now."""
    from verite import _core

    body = bytearray(data[:-8])
    for _ in range(int(rng.integers(1, 4))):
        at, kind = int(rng.integers(13, len(body))), rng.random()
        if kind < 0.7:  # numbers of one byte: counts, places of images and fates, bits of hits
            body[at] = int(rng.choice([0, 1, 127, 128, 255, rng.integers(256), body[at] ^ 1, (body[at] + 1) % 256]))
        elif kind < 0.85:
            body.insert(at, int(rng.integers(256)))
        else:
            del body[at]
    return bytes(body) + _core.digest(bytes(body)).to_bytes(8, "little")


OWN_ROWS = ("f1", "miss-rate", "kitti", "wider", "instances", "oc-cost")


@pytest.mark.parametrize("protocol", [*KINDS, "panoptic", *OWN_ROWS])
def test_a_part_that_contradicts_itself_is_refused_whatever_its_digest(
    tmp_path: Path, protocol: str, many: Callable[[int], int]
) -> None:
    """Each is a documented error, or numbers that a data set could have."""
    rng = np.random.default_rng(0)
    if protocol == "panoptic":
        images = random_panoptic(rng)
        sides = [{i: (s[k][0].tolist(), s[k][1]) for i, s in images.items()} for k in (0, 1)]
        truth = vt.read(write_side(tmp_path, "truth", sides[0]))
        pred = vt.read(write_side(tmp_path, "pred", sides[1], is_truth=False), like=truth)
        data = vt.partial(truth, pred, "panoptic", checks="off").to_bytes()
    elif protocol in OWN_ROWS:
        given = random_scene(5, 8).sides() if protocol == "kitti" else random_sides(5, 6)
        data = vt.partial(*given, protocol, checks="off").to_bytes()
    else:
        data = vt.partial(*coco_sides(tmp_path, 5), protocol, **KINDS[protocol], checks="off").to_bytes()
    refused = 0
    for _ in range(many(1000)):
        try:
            found = vt.PartialResult.from_bytes(spoil(data, rng)).compute()
            values = [score.value for score in found.scores.values()]
            values += [value for own in found.class_scores().values() for value in own]
            str(found)
        except vt.VeriteError:
            refused += 1
            continue
        assert all(np.isnan(value) or 0 <= value <= 1 for value in values)
    assert refused > 0


def test_results_of_parts_are_freed_when_they_are_let_go(tmp_path: Path) -> None:
    """Native memory does not wait for Python's collector, which does not see it."""
    part = vt.partial(*coco_sides(tmp_path, 5))
    gc.collect()
    gc.disable()
    try:
        found = part.compute()
        assert found.truth.digest != found.pred.digest
        merged = weakref.ref(found.numbers)
        str(found)
        del found
        assert merged() is None
    finally:
        gc.enable()
