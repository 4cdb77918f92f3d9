"""ImageNet's localization and detection tasks against slow implementations and cases worked by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

import verite as vt
from tests.oracles import imagenet as oracle

ERRORS = ("top1_error", "top5_error", "top1_class_error", "top5_class_error")
LABELS = ["n01", "n02", "n03", "n04"]


def annotations(rows, images=(), labels=LABELS, **more):
    return vt.Annotations.of([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows],
                             images=images, labels=labels, **more)  # fmt: skip


def random_set(rng, *, sizes=12):
    """Small coordinates and few confidences, so that ties of overlap and of confidence are common."""
    images = [f"val_{i:08d}" for i in range(1, int(rng.integers(2, 7)))]

    def box():
        x, y = rng.integers(0, 10, 2)
        w, h = rng.integers(0, sizes, 2)
        return float(x), float(y), float(x + w), float(y + h)

    def pick(values):
        return values[int(rng.integers(len(values)))]

    truths = [(pick(images), pick(LABELS[:3]), box()) for _ in range(rng.integers(1, 12))]
    preds = []
    for _ in range(rng.integers(0, 26)):
        near = pick(truths) if rng.random() < 0.7 else (pick(images), pick(LABELS), box())
        preds.append(
            (near[0], near[1] if rng.random() < 0.8 else pick(LABELS), near[2] if rng.random() < 0.5 else box())
        )
        if rng.random() < 0.2:
            preds.append(preds[-1])
    return images, truths, preds


@pytest.mark.parametrize("block", range(10))
def test_localization_equals_the_slow_oracle_on_random_sets(block, tmp_path):
    rng = np.random.default_rng([1000, block])
    for _ in range(32):
        images, truths, guesses = random_set(rng)
        truth, pred = annotations(truths, images), annotations(guesses, images)
        left_out = [i for i in images if rng.random() < 0.2]
        results = vt.imagenet_loc(truth, pred, blacklist=left_out, checks="off")
        for most in (1, 5):
            expected = oracle.localization_error(truths, guesses, most, left_out=left_out)
            found = results.scores[f"top{most}_error"].value
            assert np.isnan(found) if expected is None else found == pytest.approx(expected, abs=1e-12)
            by_class = oracle.localization_error(truths, guesses, most, with_place=False)
            assert results.scores[f"top{most}_class_error"].value == pytest.approx(by_class, abs=1e-12)


@pytest.mark.parametrize("block", range(10))
def test_detection_equals_the_slow_oracle_on_random_sets(block):
    rng = np.random.default_rng([2000, block])
    compared = 0
    for _ in range(32):
        images, truths, preds = random_set(rng, sizes=25)
        scored = [(*p, float(rng.integers(0, 8)) / 8) for p in preds]
        blacklist = [(i, label) for i in images for label in LABELS[:3] if rng.random() < 0.15]
        truth = annotations(truths, images)
        pred = annotations(scored, images, confidence=[p[3] for p in scored])
        results = vt.imagenet_det(truth, pred, blacklist=blacklist, checks="off")
        means = []
        for label in LABELS:
            listed, positives = oracle.outcomes(truths, scored, label, blacklist)
            curve = results.curves[0][label]
            assert curve.truths == positives
            assert curve.confidence.tolist() == [c for c, _ in listed]
            assert curve.is_true.tolist() == [kind == "tp" for _, kind in listed]
            expected = oracle.average_precision(truths, scored, label, blacklist)
            if expected is None:
                assert np.isnan(results.ap(label))
            else:
                assert results.ap(label) == pytest.approx(expected, abs=1e-12)
                means.append(expected)
                compared += 1
        if means:
            assert results.scores["mAP"].value == pytest.approx(sum(means) / len(means), abs=1e-12)
    assert compared > 50


def errors(truths, listed, **more):
    results = vt.imagenet_loc(annotations(truths), annotations(listed), **more)
    return [results.scores[key].value for key in ERRORS]


BOX, HALF, AWAY = (0, 0, 9, 9), (0, 0, 9, 4), (50, 50, 59, 59)


def test_overlap_of_exactly_one_half_is_in_place():
    assert errors([("a", "n01", BOX)], [("a", "n01", HALF)]) == [0, 0, 0, 0]
    assert errors([("a", "n01", BOX)], [("a", "n01", (0, 0, 8, 4))]) == [1, 1, 0, 0]


def test_plus_one_counts_pixels():
    # One pixel against one by two: 1/2.
    found = errors([("a", "n01", (0, 0, 0, 0))], [("a", "n01", (0, 0, 0, 1))], checks="off")
    assert found == [0, 0, 0, 0]


def test_right_class_in_the_wrong_place_is_a_localization_error_alone():
    assert errors([("a", "n01", BOX)], [("a", "n01", AWAY)]) == [1, 1, 0, 0]


def test_later_guess_counts_for_five_not_for_one():
    guesses = [("a", "n02", BOX), ("a", "n01", AWAY), ("a", "n01", BOX)]
    assert errors([("a", "n01", BOX)], guesses) == [1, 0, 1, 0]


def test_sixth_guess_is_too_late():
    guesses = [("a", "n02", BOX)] * 5 + [("a", "n01", BOX)]
    assert errors([("a", "n01", BOX)], guesses) == [1, 1, 1, 1]


def test_any_of_several_boxes_of_the_label_will_do():
    assert errors([("a", "n01", AWAY), ("a", "n01", BOX)], [("a", "n01", BOX)]) == [0, 0, 0, 0]


def test_labels_of_an_image_share_its_weight():
    truths = [("a", "n01", BOX), ("a", "n02", BOX), ("b", "n01", BOX)]
    assert errors(truths, [("a", "n01", BOX), ("b", "n01", BOX)]) == [0.25, 0.25, 0.25, 0.25]


def test_image_without_guesses_is_wrong():
    assert errors([("a", "n01", BOX), ("b", "n01", BOX)], [("a", "n01", BOX)]) == [0.5, 0.5, 0.5, 0.5]


def test_blacklisted_image_counts_for_classification_alone(tmp_path):
    truths = [("ILSVRC2012_val_00000007", "n01", BOX), ("ILSVRC2012_val_00000008", "n01", BOX)]
    guesses = [(truths[1][0], "n01", BOX)]
    path = tmp_path / "blacklist.txt"
    path.write_text("7\n")
    assert errors(truths, guesses, blacklist=path) == [0, 0, 0.5, 0.5]
    path.write_text("ILSVRC2012_val_00000007\n")
    assert errors(truths, guesses, blacklist=path) == [0, 0, 0.5, 0.5]


def test_confidences_order_guesses_where_there_are_some():
    guesses = [("a", "n02", BOX), ("a", "n01", BOX)]
    pred = annotations(guesses, confidence=[0.1, 0.9])
    assert vt.imagenet_loc(annotations([("a", "n01", BOX)]), pred).scores["top1_error"].value == 0


def test_localization_json_has_the_documented_keys():
    results = vt.imagenet_loc(annotations([("a", "n01", BOX)]), annotations([("a", "n01", AWAY)]))
    document = json.loads(results.to_json())
    assert [document[key] for key in ERRORS] == [1, 1, 0, 0]
    assert document["classes"]["n01"] == {
        "images": 1, "top1_error": 1, "top5_error": 1, "top1_class_error": 0, "top5_class_error": 0
    }  # fmt: skip
    assert document["classes"]["n02"]["top1_error"] is None
    assert document["signature"] == (
        "imagenet_loc|on:box|guesses:1,5|iou:0.50|pixel:plus1|image:mean of its labels|blacklist:none|rev:1"
    )
    assert "top1_error" in str(vt.compare(results, results))


def solution(tmp_path, *lines, name="solution.csv", header="ImageId,PredictionString"):
    path = tmp_path / name
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def test_solution_and_predictions_are_read(tmp_path):
    truth = vt.read(solution(tmp_path, "a,n01 0 0 9 9 n01 20 20 29 29 ", "b,n02 1 2 3 4 "))
    assert truth.source.format == "imagenet-loc"
    assert truth.regions.boxes.tolist() == [[0, 0, 9, 9], [20, 20, 29, 29], [1, 2, 3, 4]]
    pred = vt.read(solution(tmp_path, "a,n02 0 0 9 9 n01 0 0 9 9", "b,", name="pred.csv"), like=truth)
    results = vt.imagenet_loc(truth, pred)
    assert [results.scores[key].value for key in ERRORS] == [1, 0.5, 1, 0.5]


def test_devkits_xml_is_a_truth(tmp_path):
    (tmp_path / "xml").mkdir()
    for name in ("ILSVRC2012_val_00000001", "ILSVRC2012_val_00000002"):
        (tmp_path / "xml" / f"{name}.xml").write_text(
            f"<annotation><filename>{name}</filename><size><width>50</width><height>50</height></size><object>"
            "<name>n01</name><bndbox><xmin>0</xmin><ymin>0</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object>"
            "</annotation>"
        )
    truth = vt.read(tmp_path / "xml")
    pred = vt.read(solution(tmp_path, "ILSVRC2012_val_00000001,n01 0 0 9 9", "ILSVRC2012_val_00000002,"), like=truth)
    assert vt.imagenet_loc(truth, pred).scores["top5_error"].value == 0.5


def test_written_file_is_the_same_again(tmp_path):
    truth = annotations([("a", "n01", BOX), ("b", "n02", (0.5, 1, 2.25, 3)), ("a", "n02", AWAY)], labels=())
    assert vt.write(truth, tmp_path / "a.csv", "imagenet-loc") == ()
    again = vt.read(tmp_path / "a.csv", like=truth)
    assert sorted(zip(again.image, again.label, again.regions.boxes.tolist(), strict=True)) == sorted(
        zip(truth.image, truth.label, truth.regions.boxes.tolist(), strict=True)
    )


@pytest.mark.parametrize(
    ("lines", "header", "message"),
    [
        (
            ["a,n01 0 0 9"],
            None,
            r":2: expected 5 words per object, CLASS X1 Y1 X2 Y2, found 4 words \('n01 0 0 9' at the",
        ),
        (["a,n01 0 0 9 9 n02"], None, ":2: expected 5 words per object, CLASS X1 Y1 X2 Y2, found 6 words"),
        (["a,n01 0 0 9 nine"], None, ":2: expected a number in CLASS X1 Y1 X2 Y2, found 'nine'"),
        (["a,n01 0 0 9 9", "a,n01 0 0 9 9"], None, ":3: expected each image once, found a second 'a'"),
        ([",n01 0 0 9 9"], None, ":2: expected the name of an image, found an empty one"),
        (["a"], "ImageId", ":1: expected a column PredictionString, found 'ImageId'"),
        (["a,b,c"], None, ":2: expected 2 cells as in the header, found 3"),
        (["a,x"], "ImageId,PredictionStrin", "expected a column PredictionString, .*did you mean 'PredictionStrin'"),
    ],
)
def test_broken_csv_is_one_line(tmp_path, lines, header, message):
    path = solution(tmp_path, *lines, header=header or "ImageId,PredictionString")
    with pytest.raises(vt.ReadError, match=message) as caught:
        vt.read(path, format="imagenet-loc")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("9\n", r":1: expected an image of the ground truth, found '9'"),
        ("\nval_8 n01 x\n", r":2: expected IMAGE CLASS, found 'val_8 n01 x'"),
        ("val_99 n01\n", r":1: expected an image of the ground truth, found 'val_99'"),
    ],
)
def test_broken_blacklist_is_one_line(tmp_path, text, message):
    path = tmp_path / "blacklist.txt"
    path.write_text(text)
    truth = annotations([("val_8", "n01", BOX)])
    pred = annotations([("val_8", "n01", BOX)], confidence=[0.9])
    with pytest.raises(vt.ReadError, match=message):
        vt.imagenet_det(truth, pred, blacklist=path) if "n01" in text else vt.imagenet_loc(truth, pred, blacklist=path)


def detected(truths, preds, **more):
    pred = annotations([p[:3] for p in preds], confidence=[p[3] for p in preds])
    return vt.imagenet_det(annotations(truths), pred, **more).curves[0]["n01"]


def test_small_objects_ask_for_less():
    # 10 × 10 pixels ask for 100/400, 30 × 30 for 900/1600 and so for 0.5.
    assert detected([("a", "n01", BOX)], [("a", "n01", (0, 0, 4, 4), 0.9)]).is_true.tolist() == [True]  # 25/100
    assert detected([("a", "n01", BOX)], [("a", "n01", (0, 0, 3, 5), 0.9)]).is_true.tolist() == [False]  # 24/100
    large = (0, 0, 29, 29)
    assert detected([("a", "n01", large)], [("a", "n01", (0, 0, 29, 14), 0.9)]).is_true.tolist() == [True]  # 0.5
    assert detected([("a", "n01", large)], [("a", "n01", (0, 0, 29, 13), 0.9)]).is_true.tolist() == [False]
    relaxed = detected([("a", "n01", large)], [("a", "n01", (0, 0, 29, 13), 0.9)], tolerance=30)
    assert relaxed.is_true.tolist() == [True]


def test_second_prediction_takes_the_truth_that_is_left():
    # Unlike Pascal VOC, where it asks for its best truth alone.
    truths = [("a", "n01", (0, 0, 9, 9)), ("a", "n01", (0, 2, 9, 11))]
    preds = [("a", "n01", (0, 0, 9, 9), 0.9), ("a", "n01", (0, 0, 9, 9), 0.8)]
    assert detected(truths, preds).is_true.tolist() == [True, True]


def test_equal_confidences_keep_the_order_of_the_file():
    right, wrong = ("a", "n01", BOX, 0.5), ("a", "n01", AWAY, 0.5)
    assert detected([("a", "n01", BOX)], [right, wrong]).is_true.tolist() == [True, False]
    assert detected([("a", "n01", BOX)], [wrong, right]).is_true.tolist() == [False, True]


def test_blacklisted_class_counts_neither_way(tmp_path):
    truths = [("val_00000007", "n01", BOX), ("val_00000008", "n01", BOX)]
    preds = [("val_00000007", "n01", AWAY, 0.9), ("val_00000008", "n01", BOX, 0.5)]
    path = tmp_path / "blacklist.txt"
    path.write_text("7 n01\n7 n99\n")
    curve = detected(truths, preds, blacklist=path)
    assert (curve.truths, curve.tp, curve.fp) == (1, 1, 0)


def test_detection_json_has_the_documented_keys():
    pred = annotations([("a", "n01", BOX)], confidence=[0.9])
    document = json.loads(vt.imagenet_det(annotations([("a", "n01", BOX)]), pred).to_json())
    assert document["mAP"] == 1
    assert {"AP", "truths", "tp", "fp"} <= set(document["classes"]["n01"])
    assert document["classes"]["n02"]["AP"] is None
    assert document["signature"] == (
        "imagenet_det_ap|on:box|iou:0.50|tolerance:10.00|interpolation:all|pixel:plus1|match:best unused|ties:stable|"
        "blacklist:none|rev:1"
    )


@pytest.mark.parametrize("wrong", [{"iou": 0}, {"iou": 1.5}, {"tolerance": -1}, {"tolerance": float("nan")}])
def test_detection_settings_out_of_range_are_refused(wrong):
    with pytest.raises(vt.BadParameter, match=f"{next(iter(wrong))}: expected .*found"):
        detected([("a", "n01", BOX)], [("a", "n01", BOX, 0.9)], **wrong)


@pytest.mark.parametrize("wrong", [{"iou": 0}, {"guesses": [0]}, {"guesses": []}, {"blacklist": 7}])
def test_localization_settings_out_of_range_are_refused(wrong):
    with pytest.raises(vt.BadParameter, match=f"{next(iter(wrong))}: expected .*found"):
        errors([("a", "n01", BOX)], [("a", "n01", BOX)], **wrong)


def test_fractions_of_images_have_no_pixels(tmp_path):
    (tmp_path / "a.csv").write_text("ImageID,LabelName,XMin,XMax,YMin,YMax\na,n01,0,1,0,1\n")
    side = vt.read(tmp_path / "a.csv")
    with pytest.raises(vt.DataError, match="expected boxes in pixels for the \\+1 rule"):
        vt.imagenet_loc(side, side, checks="off")
