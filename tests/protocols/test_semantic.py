"""Semantic segmentation against an independent slow implementation, scikit-learn, and cases worked by hand."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from math import isnan

import numpy as np
import pytest
from PIL import Image

import verite as vt
from tests.oracles import semantic as oracle
from verite.cli import run

CLASSES, IGNORE = 5, 255


def random_maps(rng, count=3):
    """Pairs of maps with ignored pixels, classes that only one side has, and predictions out of range."""
    pairs = []
    used = rng.choice(CLASSES, size=rng.integers(1, CLASSES + 1), replace=False)
    for _ in range(count):
        shape = tuple(rng.integers(1, 9, 2))
        truth = rng.choice(used, size=shape)
        pred = np.where(rng.random(shape) < 0.6, truth, rng.integers(0, CLASSES, shape))
        truth[rng.random(shape) < 0.2] = IGNORE
        if rng.random() < 0.3:
            pred[rng.random(shape) < 0.2] = IGNORE
        pairs.append((truth.astype(np.uint8), pred.astype(np.uint8)))
    return pairs


def values(results):
    return {name: score.value for name, score in results.scores.items()}


@pytest.mark.parametrize("block", range(5))
def test_equals_mmsegmentations_rules_on_random_maps(block):
    rng = np.random.default_rng([2015, block])
    seen = 0
    for _ in range(40):
        pairs = random_maps(rng)
        expected, by_class = oracle.measures(
            oracle.areas([(t.tolist(), p.tolist()) for t, p in pairs], CLASSES, IGNORE)
        )
        truths, preds = ([pair[side] for pair in pairs] for side in (0, 1))
        evaluator = vt.SemanticEvaluator(labels=CLASSES)
        for truth, pred in pairs:
            evaluator.update(pred, truth)
        for results in (vt.semantic(truths, preds, checks="off"), evaluator.compute()):
            assert values(results) == pytest.approx(expected, abs=1e-12, nan_ok=True)
            found = results.by_class
            for k in results.rows:
                id = int(results.class_names[results.rows.index(k)])
                for measure, column in found.items():
                    want = by_class[measure][id]
                    assert isnan(column[k]) if want is None else column[k] == pytest.approx(float(want), abs=1e-12)
                    seen += want is not None
    assert seen > 500


def test_confusion_and_iou_are_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    rng = np.random.default_rng(7)
    truth, pred = rng.integers(0, CLASSES, (2, 4, 20, 30))
    results = vt.semantic(truth, pred, checks="off")
    flat = truth.ravel(), pred.ravel()
    assert np.array_equal(results.confusion[:, :-1], metrics.confusion_matrix(*flat))
    assert results.scores["mIoU"].value == pytest.approx(metrics.jaccard_score(*flat, average="macro"), abs=1e-12)
    assert results.scores["fwIoU"].value == pytest.approx(metrics.jaccard_score(*flat, average="weighted"), abs=1e-12)
    assert results.scores["mAcc"].value == pytest.approx(metrics.balanced_accuracy_score(*flat), abs=1e-12)
    assert results.scores["aAcc"].value == pytest.approx(metrics.accuracy_score(*flat), abs=1e-12)
    assert results.scores["Dice"].value == pytest.approx(metrics.f1_score(*flat, average="macro"), abs=1e-12)


def test_worked_example():
    # Class 0: 1 of 2 pixels right, 1 false: 1/3. Class 1: 2 right, 1 missed, 1 false: 2/4. The last pixel is ignored.
    results = vt.semantic(np.array([[0, 0, 1, 1, 1, 255]]), np.array([[0, 1, 0, 1, 1, 0]]))
    assert values(results) == pytest.approx(
        {"mIoU": 5 / 12, "fwIoU": (2 / 3 + 3 / 2) / 5, "mAcc": 7 / 12, "aAcc": 3 / 5, "Dice": 7 / 12}
    )
    assert results.confusion.tolist() == [[1, 1, 0], [1, 2, 0]]


def test_class_that_only_predictions_have_counts_as_0():
    results = vt.semantic(np.array([[0, 0]]), np.array([[0, 3]]))
    assert results.class_names == ["0", "3"]
    assert results.scores["mIoU"].value == pytest.approx(0.25)
    assert results.scores["mAcc"].value == pytest.approx(0.5)  # without truth it has no accuracy


def test_another_value_is_ignored_if_asked_for():
    truth, pred = np.array([[0, 1, 255]]), np.array([[1, 1, 1]])
    assert values(vt.semantic(truth, pred, ignore=0))["aAcc"] == pytest.approx(1 / 2)
    assert values(vt.semantic(truth, pred, ignore=-1))["aAcc"] == pytest.approx(1 / 3)
    assert ("ignore", "0") in vt.semantic(truth, pred, ignore=0).signature.settings


def test_pairs_of_classes_are_counted_alike_however_many_there_might_be(monkeypatch):
    random = np.random.default_rng(8)
    maps = random.integers(0, 7, (2, 20, 40, 30))
    usual = vt.semantic(*maps).confusion
    counted = np.zeros((7, 7), dtype=int)
    np.add.at(counted, (maps[0], maps[1]), 1)
    assert (usual[:, :-1] == counted).all()
    monkeypatch.setattr("verite.protocols.panoptic.MOST_SUMS", 0)
    assert (vt.semantic(*maps).confusion == usual).all()


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (np.nan, "expected numbers, found NaN or infinity"),
        (np.inf, "expected numbers, found NaN or infinity"),
        (1.5, "expected whole numbers, found fractions"),
        (-1.0, "expected values from 0 up, found -1"),
    ],
)
def test_what_is_no_class_is_refused(value, sentence):
    """NaN was class 0, and 300.0 class 44."""
    truth = np.zeros((2, 2), dtype=int)
    with pytest.raises(vt.ReadError, match=sentence):
        vt.semantic(truth, np.full((2, 2), value))


def test_classes_may_be_written_as_floats():
    truth = np.array([[0, 300], [300, 1]])
    found = vt.semantic(truth, truth.astype(np.float32))
    assert found.scores["mIoU"].value == 1
    assert list(found.class_names) == ["0", "1", "300"]


def test_pixel_without_prediction_is_wrong_and_without_truth_left_out():
    truth = vt.Annotations.of(["a", "a"], ["cat", "dog"], [[0, 0, 4, 4], [4, 0, 8, 4]], sizes={"a": (10, 4)})
    pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 5, 4]], sizes={"a": (10, 4)})
    with pytest.raises(vt.DataError, match=r"expected a mask for every segment, found 2 boxes.*semantic"):
        vt.semantic(truth, pred, checks="off")
    masks = np.zeros((2, 4, 10), dtype=np.uint8)
    masks[0, :, :4], masks[0, :, 4:8] = 1, 2
    masks[1, :, :5] = 1
    sides = [vt.read(masks[i : i + 1], masks="classes") for i in (0, 1)]
    results = vt.semantic(sides[0], sides[1].like(sides[0]), checks="off")
    assert results.confusion.tolist() == [[16, 0, 0], [4, 0, 12]]


def test_objects_of_one_class_may_share_pixels_and_of_two_may_not():
    image = {"id": 1, "width": 6, "height": 1, "file_name": "a"}
    classes = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]

    def document(*objects):
        rings = [
            {"id": i, "image_id": 1, "category_id": label, "bbox": [a, 0, b - a, 1], "area": b - a, "iscrowd": 0,
             "segmentation": {"size": [1, 6], "counts": [a, b - a, 6 - b]}}
            for i, (label, a, b) in enumerate(objects, 1)
        ]  # fmt: skip
        return {"images": [image], "categories": classes, "annotations": rings}

    truth = vt.read(document((1, 0, 3), (1, 2, 4), (2, 4, 6)))
    assert vt.semantic(truth, truth, checks="off").counts.classes.truth.tolist() == [4, 2]
    odd = vt.read(document((1, 0, 3), (2, 2, 4)))
    with pytest.raises(vt.DataError, match="expected segments that share no pixel"):
        vt.semantic(odd, odd, checks="off")


def test_batches_and_processes_give_what_all_maps_at_once_give():
    rng = np.random.default_rng(3)
    truth, pred = rng.integers(0, 3, (2, 6, 8, 8))
    truth[:, 0] = 255
    names = ["sky", "sea", "sand"]
    parts = [vt.SemanticEvaluator(labels=names) for _ in range(3)]
    for i, part in enumerate(parts):
        part.update(pred[2 * i : 2 * i + 2], truth[2 * i : 2 * i + 2])
    whole = pickle.loads(pickle.dumps(parts[0]))
    for part in parts[1:]:
        whole.merge(part)
    at_once = vt.semantic(truth, pred)
    assert len(whole) == 6
    assert whole.compute().confusion.tolist() == at_once.confusion.tolist()
    assert values(whole.compute()) == values(at_once)
    assert whole.compute().class_names == names
    whole.reset()
    assert isnan(whole.compute().scores["mIoU"].value)


def test_evaluator_refuses_what_it_cannot_count():
    evaluator = vt.SemanticEvaluator(labels=2)
    with pytest.raises(vt.DataError, match="targets: expected one of 2 classes or 255, which is ignored, found 2"):
        evaluator.update([[0, 0]], [[0, 2]])
    with pytest.raises(vt.BadParameter, match=r"expected preds of the targets' shape \(1, 2\), found \(1, 3\)"):
        evaluator.update([[0, 0, 1]], [[0, 1]])
    with pytest.raises(vt.BadParameter, match="expected whole numbers, found float64; take argmax"):
        evaluator.update([[0.5, 1.0]], [[0, 1]])
    with pytest.raises(vt.BadParameter, match="expected an evaluator with the same settings and labels"):
        evaluator.merge(vt.SemanticEvaluator(labels=3))
    with pytest.raises(vt.BadParameter, match="labels: expected a number of classes"):
        vt.SemanticEvaluator(labels=0)
    assert len(evaluator) == 0


def write_folders(home, rng, count=3):
    names = []
    for i in range(count):
        truth = np.kron(rng.integers(0, 3, (3, 4)), np.ones((5, 5), int)).astype(np.uint8)
        pred = truth.copy()
        pred[: i + 2] = rng.integers(0, 3)
        truth[-1] = 255
        for side, array in (("truth", truth), ("pred", pred)):
            (home / side).mkdir(exist_ok=True)
            Image.fromarray(array).save(home / side / f"view{i}.png")
        names.append(f"view{i}")
    return names


def test_folders_files_and_arrays_give_the_same(tmp_path, capsys):
    write_folders(tmp_path, np.random.default_rng(1))
    sides = [[np.asarray(Image.open(p)) for p in sorted((tmp_path / s).iterdir())] for s in ("truth", "pred")]
    expected = values(vt.semantic(*sides))
    assert values(vt.semantic(tmp_path / "truth", tmp_path / "pred")) == expected
    assert run(["semantic", str(tmp_path / "truth"), str(tmp_path / "pred"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {key: document[key] for key in expected} == expected
    assert list(document) == ["schema", "protocol", "signature", "name", "mIoU", "fwIoU", "mAcc", "aAcc", "Dice",
                              "classes", "confusion", "version", "truth", "pred", "findings", "systems"]  # fmt: skip
    assert set(document["classes"]["0"]) == {"IoU", "acc", "Dice", "pixels"}
    assert document["confusion"]["labels"] == ["0", "1", "2", "nothing"]


def test_names_of_classes_come_from_a_file(tmp_path, capsys):
    write_folders(tmp_path, np.random.default_rng(1))
    (tmp_path / "names.txt").write_text("sky\nsea\nsand\n")
    sides = [str(tmp_path / "truth"), str(tmp_path / "pred")]
    assert run(["semantic", *sides, "--names", str(tmp_path / "names.txt"), "--style", "csv", "-q"]) == 0
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines()] == [
        "class",
        "sky",
        "sea",
        "sand",
        "all",
    ]


def test_folder_has_confusion_and_drawn_differences(tmp_path):
    names = write_folders(tmp_path, np.random.default_rng(1))
    out = tmp_path / "out"
    assert run(["semantic", str(tmp_path / "truth"), str(tmp_path / "pred"), "-q", "-o", str(out)]) == 0
    assert {p.name for p in out.iterdir()} == {"results.json", "classes.csv", "confusion.csv", "images.csv",
                                               "confusion.png", "differences"}  # fmt: skip
    assert {p.stem for p in (out / "differences").iterdir()} == set(names)
    shares = [float(line.split(",")[1]) for line in (out / "images.csv").read_text().splitlines()[1:]]
    assert shares == sorted(shares)


def test_sizes_that_differ_are_told(tmp_path, capsys):
    Image.new("L", (4, 3)).save(tmp_path / "t.png")
    Image.new("L", (4, 2)).save(tmp_path / "p.png")
    assert run(["semantic", str(tmp_path / "t.png"), str(tmp_path / "p.png")]) == 1
    assert "p.png: expected 4 × 3 pixels as image 't' has elsewhere, found 4 × 2" in capsys.readouterr().err


def test_two_systems_are_compared(tmp_path, capsys):
    write_folders(tmp_path, np.random.default_rng(1))
    truth, pred = str(tmp_path / "truth"), str(tmp_path / "pred")
    assert run(["semantic", truth, pred, truth, "-q"]) == 0
    assert "difference" in capsys.readouterr().out


def test_image_that_is_drawn_twice_counts_twice():
    rng = np.random.default_rng(4)
    truth, pred = rng.integers(0, 3, (2, 4, 6, 6))
    results = vt.semantic(truth, pred)
    weights = np.array([[1.0, 1, 1, 1], [2, 0, 1, 0], [0, 0, 0, 3]])
    names = list(results.scores)
    for drawn, row in zip(results.draw_scores(names, weights), weights.astype(int), strict=True):
        again = vt.semantic(np.repeat(truth, row, axis=0), np.repeat(pred, row, axis=0))
        assert drawn.tolist() == pytest.approx([again.scores[name].value for name in names], abs=1e-12)


def test_systems_are_compared_on_drawn_images(tmp_path, capsys):
    write_folders(tmp_path, np.random.default_rng(1))
    truth, pred = str(tmp_path / "truth"), str(tmp_path / "pred")
    assert run(["semantic", truth, pred, truth, "--resample", "images", "--json"]) == 0
    found = {d["score"]: d for d in json.loads(capsys.readouterr().out)["differences"]}
    assert found["aAcc"]["low"] <= found["aAcc"]["value"] <= found["aAcc"]["high"]
    assert found["aAcc"]["value"] > 0


def test_memory_follows_the_pixels_and_not_the_square_of_the_classes():
    """Of 70,000 classes three occur, by hand: class 1 has both of its pixels, 2 and 69,999 none."""
    evaluator = vt.SemanticEvaluator(labels=70_000)
    tracemalloc.start()
    evaluator.update([[1, 1, 69_999]], [[1, 1, 2]])
    evaluator.update([[1, 1, 69_999]], [[1, 1, 2]])
    results = evaluator.compute()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert results.scores["mIoU"].value == pytest.approx(1 / 3)
    assert results.scores["aAcc"].value == pytest.approx(2 / 3)
    assert most < 50e6
    with pytest.raises(vt.DataError, match="VERITE_LIMIT_CONFUSION_CELLS"):
        results.to_dict()
    with pytest.raises(vt.BadParameter, match="VERITE_LIMIT_CLASSES"):
        vt.SemanticEvaluator(labels=10_000_000)
