"""The validation of the interpretation score: its scenes, its alterations, its checks."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import verite as vt
from verite.cli import run
from verite.errors import BadParameter
from verite.formats.voc import read_segmentation
from verite.model.rasters import array_of, frames_of, runs_of
from verite.model.regions import Regions
from verite.scene.score import ScoreRules
from verite.studies.alterations import Outline, rasterise_warps
from verite.studies.claims import checks_of
from verite.studies.interpretation import (
    CLASSES,
    COUNTS,
    POWERS,
    WAYS,
    alter_scenes,
    masks_of,
    study_interpretation,
    synthetic_scenes,
    ways,
)

FEW = {1: 4, 2: 3, 3: 2}


@pytest.fixture(scope="module")
def scenes():
    return synthetic_scenes(3, FEW)


@pytest.fixture(scope="module")
def study(scenes):
    return study_interpretation(scenes)


def test_the_papers_numbers():
    assert sum(COUNTS.values()) == 1002
    objects = sum(n * images for n, images in COUNTS.items())
    assert objects == 2134
    assert objects * WAYS == 341_440
    assert len(CLASSES) == 20


def test_scenes_have_their_counts_and_share_no_pixel(scenes):
    per_image = np.bincount(scenes.image)
    assert sorted(per_image.tolist()) == [1] * 4 + [2] * 3 + [3] * 2
    masks = masks_of(scenes)
    for i in range(len(per_image)):
        rows = np.flatnonzero(scenes.image == i)
        total = sum(np.repeat(np.arange(len(masks[r])) % 2, masks[r]) for r in rows)
        assert total.max() == 1


def test_the_same_seed_draws_the_same_scenes():
    assert synthetic_scenes(3, FEW).digest == synthetic_scenes(3, FEW).digest
    assert synthetic_scenes(3, FEW).digest != synthetic_scenes(4, FEW).digest


@pytest.mark.parametrize("matching", ["multiple", "one-to-one"])
def test_altered_scenes_score_as_interpret_scores_them(scenes, matching):
    """The study's shortcut against whole scenes, with one object replaced by its altered self."""
    masks = masks_of(scenes)
    groups = alter_scenes(scenes.image, scenes.label, masks, threads=1)
    rng = np.random.default_rng(0)
    for group in groups:
        scores = group.scores(ScoreRules(matching=matching)).reshape(len(group.images), group.count, WAYS)
        for _ in range(6):
            i, k, way = rng.integers(len(group.images)), rng.integers(group.count), rng.integers(WAYS)
            rows = np.flatnonzero(scenes.image == group.images[i])
            truth = scenes.take(rows)
            outline = Outline.of(mask_of(masks, rows[k]))
            altered = rasterise_warps(outline, ways(outline)[[way]])
            parts = [altered if row == rows[k] else masks.take(np.array([row])) for row in rows]
            runs = vt.RLEMasks.of([(part[0], tuple(part.sizes[0])) for part in parts])
            pred = replace(truth, regions=Regions(frames_of(runs), runs=runs))
            found = vt.scene_score(truth, pred, matching=matching, checks="off").image_scores[group.images[i]]
            assert scores[i, k, way] == pytest.approx(found, abs=1e-12)


def mask_of(masks, row):
    from verite.model.rasters import array_of

    return array_of(masks, int(row))


def test_threads_agree_to_the_last_bit(scenes):
    masks = masks_of(scenes)
    one, two = (alter_scenes(scenes.image, scenes.label, masks, threads=n) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a.overlap, b.overlap)
        assert np.array_equal(a.localization, b.localization)


def test_what_can_be_worked_by_hand_comes_out(study):
    c = study.curves
    for n in FEW:
        assert c.recognition[n] == pytest.approx([0.2 * wrong / n for wrong in range(n + 1)])
        assert c.removed[n] == pytest.approx([gone / n for gone in range(n + 1)])
        assert c.added[n] == pytest.approx([new / (n + new) for new in range(9)])
    assert (c.right[0], c.wrong[0], c.right[-1], c.wrong[-1]) == (0.5, 0.5, 0.0, 1.0)


def test_scaling_a_box_is_free_by_the_paper_and_costs_by_the_overlap(scenes):
    # A box grown about its centre contains the box it was; only the border of the image can change that.
    free = study_interpretation(scenes, shapes="boxes")
    assert max(max(curve) for curve in free.curves.localization["scale"].values()) == 0
    failed = {check.claim for check in free.checks if not check.passed}
    assert "scale: rises strictly with the power" in failed
    assert "separation: only a perfect scene scores 0" in failed
    dear = study_interpretation(scenes, shapes="boxes", localization="iou")
    assert "scale: rises strictly with the power" not in {c.claim for c in dear.checks if not c.passed}


def test_every_check_can_fail(study):
    """Each claim fails on curves that contradict it."""
    c = study.curves
    flat = {kind: {n: [0.1] * 20 for n in FEW} for kind in c.localization}
    leap = {kind: {n: [*np.linspace(0, 0.01, 10), *np.linspace(0.5, 0.51, 10)] for n in FEW} for kind in c.localization}
    upside = {kind: {n: (np.arange(1, 21) * n / 100).tolist() for n in FEW} for kind in c.localization}
    pooled = {"translation": 0.1, "scale": 0.2, "rotation": 0.1, "perspective": 0.3}
    same = {kind: dict.fromkeys(modes, [0.1] * 20) for kind, modes in c.matching.items()}
    milder = {k: {name: [(0.5 if name == "one-to-one" else 0.1)] * 20 for name in m} for k, m in c.matching.items()}
    jump = {**c.example, "with": c.example["without"]}
    wrong = {
        "rises strictly": replace(c, localization=flat),
        "has no jump": replace(c, localization=leap),
        "costs less the more": replace(c, localization=upside),
        "costs more than scale": replace(c, pooled=pooled),
        "scale costs more": replace(c, pooled=pooled),
        "separation": replace(c, unpunished={**c.unpunished, "scale": 3}),
        "linear": replace(c, recognition={1: [0, 0.3], 2: [0, 0.05, 0.2]}),
        "all classes wrong": replace(c, recognition={1: [0, 0.3]}),
        "removed objects: rises": replace(c, removed={1: [0, 0.0], 2: [0, 0.1, 0.1], 3: [0] * 4}),
        "added objects: rises": replace(c, added={n: [0.5] * 9 for n in FEW}),
        "removed objects: cost more": replace(c, removed={1: [0, 0.1], 2: [0, 0.2, 0.3], 3: [0, 0.3, 0.4, 0.5]}),
        "added objects: cost more": replace(c, added={n: [0, *[n / 10] * 8] for n in FEW}),
        "a removal costs more": replace(c, added={n: [0, *[1.0] * 8] for n in FEW}),
        "multiple matching": replace(c, matching=milder),
        "a higher threshold": replace(c, matching=same),
        "perspective up to 20": replace(
            c, matching={**c.matching, "perspective": {**c.matching["perspective"], "multiple 0.5": [0.9] * 20}}
        ),
        "a wrong class weighs": replace(c, wrong=[0.1] * 21),
        "class distances, potted": replace(c, example=jump),
        "class distances, all": replace(c, mean={**c.mean, "with": c.mean["without"]}),
        "identity": replace(c, asymmetric=1, asymmetry=0.1),
        "symmetry,": replace(c, opposite={kind: [4.0, 4.0, 0.5] for kind in c.opposite}),
        "size,": replace(c, by_size={kind: [[0.1] * 20, [0.2] * 20] for kind in c.by_size}),
        "shape:": replace(c, by_shape=[0.1, 0.1]),
        "small objects": replace(c, matching_small=same),
        "matches are lost sooner": replace(c, lost={**c.lost, "scale": dict.fromkeys(c.lost["scale"], [1.0] * 20)}),
        "detection weighs": replace(c, recognition={**c.recognition, 1: [0, 2.0]}),
    }
    claims = [check.claim for check in study.checks]
    for words, curves in wrong.items():
        named = [check for check in checks_of(curves, 0.8) if words in check.claim]
        assert named
        assert not any(check.passed for check in named), words
    assert all(any(words in claim for words in wrong) for claim in claims)


def test_a_claim_holds_with_a_margin(study):
    costs = [0.01 * power for power in range(1, 21)]
    c = replace(study.curves, localization={kind: dict.fromkeys(FEW, costs) for kind in study.curves.localization},
                recognition={n: [0, 0.185] for n in FEW}, removed={n: [0, 1.0] for n in FEW})  # fmt: skip
    (check,) = [check for check in checks_of(c, 0.8) if "detection weighs" in check.claim]
    # Two of twenty powers of each of four alterations cost more than a wrong class.
    assert (check.verdict, check.exceptions, check.cases) == ("holds except", 8, 80)
    assert "not for translation from 19 px on, scale from 19 px on, rotation from 19° on" in check.found
    assert "FAILED" not in str(study)


def test_scaling_from_a_corner_moves_one_side_by_twice_the_power():
    mask = np.zeros((60, 60), dtype=bool)
    mask[20:30, 20:30] = True
    outline = Outline.of(mask)
    scale = len(POWERS) * 2  # translation comes first
    for anchor, rows in (("centre", (17, 33)), ("corner", (20, 36))):
        taller = array_of(rasterise_warps(outline, ways(outline, anchor)[[scale + 2]]), 0)
        found = np.flatnonzero(taller.any(axis=1))
        assert (found[0], found[-1] + 1) == rows
    with pytest.raises(BadParameter, match="anchor: expected centre or corner"):
        study_interpretation(synthetic_scenes(0, {1: 1}), anchor="middle")


def test_a_measure_that_is_not_symmetric_is_told(scenes):
    found = study_interpretation(scenes, localization="pixel_recall")
    (check,) = [check for check in found.checks if check.claim.startswith("identity")]
    assert check.exceptions > 0


@pytest.mark.thorough
def test_the_study_is_told_and_kept(tmp_path, capsys, scenes):
    path = tmp_path / "scenes.json"
    vt.write(scenes, path, "coco")
    home = tmp_path / "out"
    assert run(["study", "interpretation", str(path), "-o", str(home), "-q", "--jobs", "1"]) == 0
    told = capsys.readouterr().out
    assert "16 objects" in told
    assert "2,560 alterations" in told
    assert "claims hold" in told
    figures = [f"figure-{n}" for n in range(10, 16)]
    assert [p.name[:9] for p in sorted(home.glob("figure-*.png"))] == figures
    document = json.loads((home / "results.json").read_text())
    assert set(document["tables"]["localization"]) == {"translation", "scale", "rotation", "perspective"}
    assert list(document["checks"][0]) == ["claim", "figure", "passed", "verdict", "exceptions", "cases", "found"]
    assert document["signature"].count("anchor:centre") == 1


def test_boxes_alone_are_drawn_as_rectangles(tmp_path, capsys):
    truth = vt.Annotations.of(["a"], ["cat"], [[20, 20, 60, 60]], sizes={"a": (100, 80)})
    vt.write(truth, tmp_path / "t.json", "coco")
    assert run(["study", "interpretation", str(tmp_path / "t.json"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert max(document["tables"]["localization"]["scale"]["1"]) == 0
    # Shifted by 20 of 40 pixels: half of it lies outside, times 0.8.
    assert document["tables"]["localization"]["translation"]["1"][-1] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["nowhere"], 1, "nowhere: expected a file or folder, found nothing"),
        (["--localization", "hausdorff"], 2, "expected a metric from 0 to 1"),
        (["--shapes", "blobs"], 2, "--shapes"),
        (["--alpha", "3"], 2, "alpha: expected a number from 0 to 1"),
    ],
)
def test_mistakes_are_told_in_one_line(words, status, said, capsys):
    assert run(["study", "interpretation", *words]) == status
    found = capsys.readouterr()
    assert said in found.err
    assert found.err.count("\n") == 1


def voc_folder(home, shape=(40, 60)):
    """Two images: a cat and a dog with a rim of void, and nothing but background."""
    objects, classes = np.zeros((2, *shape), dtype=np.uint8)
    objects[5:20, 5:25], classes[5:20, 5:25] = 1, 8
    objects[22:35, 30:55], classes[22:35, 30:55] = 2, 12
    objects[22, 30:55] = classes[22, 30:55] = 255
    for part, image in (("SegmentationObject", objects), ("SegmentationClass", classes)):
        (home / part).mkdir(parents=True)
        for name, pixels in (("2008_1", image), ("2008_2", np.zeros_like(image))):
            picture = Image.new("P", shape[::-1])
            picture.putpalette([k % 256 for k in range(768)])
            picture.putdata(pixels.ravel().tolist())
            picture.save(home / part / f"{name}.png")
    return home


def test_a_voc_folder_is_read_with_its_classes_and_void(tmp_path):
    found = read_segmentation(voc_folder(tmp_path / "VOC2008"))
    assert [found.labels.name(i) for i in found.label] == ["cat", "dog"]
    assert found.regions.boxes.tolist() == [[5, 5, 25, 20], [30, 23, 55, 35]]
    assert found.images.names == ("2008_1.jpg", "2008_2.jpg")
    assert (found.images.widths[0], found.images.heights[0]) == (60, 40)


def test_a_voc_folder_can_be_studied(tmp_path, capsys):
    assert run(["study", "interpretation", str(voc_folder(tmp_path / "VOC2008")), "-q"]) == 0
    told = capsys.readouterr().out
    assert "1 images, 2 objects, 2 classes, 320 alterations" in told
    assert "1 images without or with more than 8 objects left out" in told


def test_a_broken_voc_folder_is_named(tmp_path):
    home = voc_folder(tmp_path / "VOC2008")
    with pytest.raises(vt.ReadError, match="expected a folder SegmentationObject in it"):
        read_segmentation(tmp_path)
    Image.new("RGB", (60, 40), (1, 2, 3)).save(home / "SegmentationClass" / "2008_1.png")
    with pytest.raises(vt.ReadError, match=r"expected a palette image \(V409\), found other colours than VOC.s"):
        read_segmentation(home)
    Image.new("L", (60, 41)).save(home / "SegmentationClass" / "2008_1.png")
    with pytest.raises(vt.ReadError, match="expected 60 × 40 pixels"):
        read_segmentation(home)
    Image.new("L", (60, 40)).save(home / "SegmentationClass" / "2008_1.png")
    with pytest.raises(vt.ReadError, match="a class from 1 to 20 for object 1, found only background"):
        read_segmentation(home)
    (home / "SegmentationClass" / "2008_1.png").write_bytes(b"nothing")
    with pytest.raises(vt.ReadError, match="expected an image, found cannot identify"):
        read_segmentation(home)
    (home / "SegmentationClass" / "2008_1.png").unlink()
    with pytest.raises(vt.ReadError, match="found no such file"):
        read_segmentation(home)


def test_the_tally_counts_the_verdicts_of_the_claims(study):
    words = [check.verdict for check in study.checks]
    assert f"{words.count('holds')} of {len(words)} claims hold" in study.tally()
    assert words.count("holds") > 0


def test_opposite_directions_of_a_box_cost_what_they_cost_by_hand():
    """A box of 40 x 20 moved by d loses d / 20 or d / 40 both ways; grown or shrunk, one contains the other."""
    mask = np.zeros((100, 100), dtype=bool)
    mask[40:60, 30:70] = True
    runs = vt.RLEMasks.of([(runs_of(mask[None]).counts, (100, 100))])
    one = synthetic_scenes(0, {1: 1})
    scenes = replace(
        one, images=vt.Images(["a"], widths=[100], heights=[100]), regions=Regions(frames_of(runs), runs=runs)
    )
    found = study_interpretation(scenes).curves
    assert found.opposite["translation"] == [1, 0, 0]
    assert found.opposite["rotation"][1] == 0
    # Martin's measure forgives both directions of a scale change of a box: symmetric, and blind.
    assert found.opposite["scale"] == [1, 0, 0]
    # 16 pixels down: 16 of 64 rows of the wide box are lost, 16 of 96 of the tall one.
    assert found.by_shape == pytest.approx([0.8 * 16 / 64, 0.8 * 16 / 96])
    by_overlap = study_interpretation(scenes, localization="iou").curves
    # Grown by 5 on each side vertically: 1 - 20/30; shrunk: 1 - 10/20.
    assert by_overlap.opposite["scale"][1] == 1


def test_ways_of_matching_differ_on_small_objects(study):
    """Moved by 20 pixels a small object is below every threshold sooner or later; one-to-one matches any overlap."""
    curves = study.curves.matching_small["translation"]
    ends = [curve[-1] for curve in curves.values()]
    assert ends == sorted(ends)
    assert len(set(ends)) == 5
