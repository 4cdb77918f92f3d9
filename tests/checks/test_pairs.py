"""Predictions against their ground truth: counts of a pair, matching on a sample, findings and consequences."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from tests.checks.adversaries import ADVERSARIES
from tests.checks.mistakes import GEOMETRY, Files, with_wrong_boxes
from tests.checks.sets import KINDS, draw_set
from tests.checks.small import coco, side, told, told_of
from tests.checks.test_evidence import explanation
from tests.checks.test_misread_boxes import group
from verite import checks
from verite.checks import Finding, boxes, images, run_checks
from verite.checks import boxes as outside
from verite.checks import boxes as rotated
from verite.checks import predictions as coverage
from verite.checks import regions as outlines
from verite.checks import regions as poses
from verite.checks import scaling as offsets
from verite.checks import without_consequences as without
from verite.checks.check import Check, add_check, every_check
from verite.checks.readings import Reading
from verite.checks.sample import Pair, Sample, Side
from verite.model.annotations import Source
from verite.model.images import Images

FIT = {
    "is_good": True,
    "exchanges": [],
    "unpredicted": (0, []),
    "images_with_objects": 0,
    "expected": 0.0,
    "unsuppressed": 0,
    "looked_at": 0,
    "true_positives": 0,
    "false_positives": 0,
    "u_statistic": 0.0,
    "gained": {"xyxy": 0, "cxcywh": 0},
    "found": 0,
    "reach": (0.0, 0.0),
    "at_reach": 0,
    "beyond_reach": 0,
    "objects": 0,
    "most_in_image": 0,
    "images_predicted": 0,
}


def pair(truth=None, pred=None, **fit):
    truth = side(["a", "b"]) if truth is None else truth
    pred = side(["a", "b"], confidence=[0.5, 0.6]) if pred is None else pred
    both = Pair(truth, pred.like(truth))
    if fit:
        both.__dict__["fit"] = SimpleNamespace(**FIT | fit)
    return both


def test_a_bad_fit_and_fractions_are_a_misfit():
    assert not pair(is_good=True).count("misfit")
    assert pair(is_good=False).count("misfit")
    relative, found = (replace(side(["a", "b"], confidence=c), unit="rel") for c in (None, [0.5, 0.6]))
    assert pair(relative, found, is_good=True).count("misfit")


def test_unknown_images_and_classes_are_counted():
    both = pair(pred=side(["a", "x", "y", "z"], ["cat", "dog", "owl", "owl"], confidence=[0.1, 0.2, 0.3, 0.4]))
    assert (both.count("unknown_images"), both.count("unknown_labels")) == (3, 2)


def test_two_sides_read_by_default_may_be_wrong_alike():
    def by_default(*formats, layout=None):
        sources = [Source("x", format, "", layout=layout) for format in formats]
        truth, pred = side(["a"]).with_source(sources[0]), side(["a"], confidence=[0.5]).with_source(sources[1])
        return pair(truth, pred).count("both_by_default")

    assert by_default("text", "text")
    assert by_default("coco", "coco-results")  # whose images have no size here
    assert not by_default("text", "text", layout="xywh")
    assert not by_default("coco", "table", layout="xyxy")
    assert not by_default("yolo", "yolo")


def many(unpredicted, expected, asked=100, **more):
    return pair(unpredicted=(unpredicted, [0]), expected=expected, images_with_objects=asked, **more).count(
        "many_unpredicted"
    )


def test_many_images_without_predictions_are_a_tenth_and_no_chance():
    # With one expected, nine are 9 ln 9 - 8 = 11.8 nats and ten are 10 ln 10 - 9 = 14.0.
    assert many(10, 1.0, asked=90) == 10
    assert many(9, 1.0, asked=80) == 0
    assert many(10, 1.0, asked=100) == 0  # a tenth is not more than a tenth
    assert many(11, 1.0, asked=100) == 11
    nothing = side(["a"], confidence=[0.5]).where(np.array([False]))
    assert many(11, 1.0, asked=100, pred=nothing) == 0


def test_no_predictions_at_all_are_empty():
    nothing = side(["a"], confidence=[0.5]).where(np.array([False]))
    assert pair(pred=nothing).count("empty")
    assert not pair().count("empty")
    no_truth = side(["a"]).where(np.array([False]))
    assert not pair(no_truth, nothing).count("empty")


def test_sides_are_swapped_where_the_ground_truth_alone_has_confidences():
    plain, sure = side(["a", "b"]), side(["a", "b"], confidence=[0.5, 0.6])
    counts = {
        (t is sure, p is sure): (pair(t, p).count("exchanged"), pair(t, p).count("both_confident"))
        for t in (plain, sure)
        for p in (plain, sure)
    }
    assert counts == {(False, False): (0, 0), (False, True): (0, 0), (True, False): (1, 0), (True, True): (0, 1)}
    nothing = np.array([False, False])
    assert not pair(sure.where(nothing), sure).count("both_confident")
    assert not pair(sure, plain.where(nothing)).count("exchanged")


def test_clones_are_a_tenth_of_what_was_looked_at_and_one_at_least():
    def clones(clones, looked_at, asked=20):
        return pair(unsuppressed=clones, looked_at=looked_at, images_with_objects=asked).count("clones")

    assert clones(5, 50) == 5
    assert clones(5, 51) == 0
    assert clones(5, 50, asked=19) == 0
    assert pair(unsuppressed=0, looked_at=0, images_with_objects=20).count("clones") == 0


def test_images_without_a_prediction_are_noted_where_they_are_few():
    def codes(**counts):
        both = SimpleNamespace(
            fit=SimpleNamespace(unpredicted=(1, [0]), images_with_objects=2),
            truth=side(["a"]),
            count=lambda name: counts.get(name, 0),
        )
        return [(f.code, f.count, f.examples) for f in coverage.find_unpredicted(both)]

    assert codes() == [("V219", 1, ("a",))]
    assert codes(many_unpredicted=1) == codes(empty=1) == codes(many_unpredicted=1, empty=1) == []


def finding(code, severity="error", side="pred"):
    return Finding(code, severity, "something", 1, (), "nothing", side)


def codes(*findings):
    return [found.code for found in without(findings)]


def test_what_follows_from_an_error_is_left_out_on_its_own_side():
    assert codes(finding("V101"), finding("V109", "warning")) == ["V101"]
    assert codes(finding("V101"), finding("V109", "warning", "truth")) == ["V101", "V109"]
    assert codes(finding("V101", "warning"), finding("V109", "warning")) == ["V101", "V109"]  # it explains nothing
    assert codes(finding("V108", "warning"), finding("V109", "warning")) == ["V108"]  # it does
    assert codes(finding("V114"), finding("V108", "warning"), finding("V109", "warning")) == ["V114"]
    assert codes(finding("V213"), finding("V214", "warning"), finding("V219", "note")) == ["V213"]
    assert codes(finding("V221", "warning"), finding("V101")) == ["V101", "V221"]
    assert codes(finding("V101"), finding("V221")) == ["V221"]


def test_the_worst_finding_comes_first():
    assert codes(finding("V1", "note"), finding("V2", "warning"), finding("V3"), finding("V4", "note")) == [
        "V3",
        "V2",
        "V1",
        "V4",
    ]


def test_notes_and_slow_checks_wait_to_be_asked_for():
    subject = Side(side(["a"]), is_truth=True)
    for change, when in (({}, (1, 1)), ({"severity": "note"}, (0, 1)), ({"is_slow": True}, (0, 1))):
        severity = change.get("severity", "warning")
        given = {"severity": "warning", "subjects": ("truth",)} | change
        check = Check(
            "V900", title="", remedy="", look=lambda side, severity=severity: [finding("V900", severity)], **given
        )
        with add_check(check):
            found = [[f.code for f in run_checks(subject, "truth", notes=notes)] for notes in (False, True)]
        assert tuple(map(len, found)) == when
    twice = Check("V901", "warning", "", "", ("truth",), check.look)
    with add_check(check), add_check(twice):
        assert len(run_checks(subject, "truth", notes=True)) == 1  # one look for several records
    with add_check(check):
        assert run_checks(subject, "pred", notes=True) == []
    cleared = Check("V902", "warning", "", "", ("truth",), check.look, ("negative", "zero_size"))
    flat = Side(side(["a"], boxes=[[0, 0, 0, 9]]), is_truth=True)
    with add_check(cleared):
        assert run_checks(subject, "truth", notes=False) == []
        assert "V900" in [f.code for f in run_checks(flat, "truth", notes=True)]


# Images.
def test_positions_in_a_list_of_images_are_at_least_half_of_them():
    def are_positions(*ids, known, by_number=True):
        source = SimpleNamespace(format="coco", by_number={"images"} if by_number else set())
        pred = SimpleNamespace(images=SimpleNamespace(ids=np.array(ids)), source=source)
        return images.are_consecutive(pred, np.arange(len(ids)), known)

    assert are_positions(0, 1, known=4)
    assert not are_positions(0, 1, known=5)
    assert are_positions(1, 4, known=4)
    assert not are_positions(1, 5, known=4)
    assert not are_positions(-1, 3, known=4)
    assert not are_positions(0, 1, known=4, by_number=False)


def test_ids_as_texts_are_reported_with_both():
    truth = side(["7", "8"], boxes=[[0, 0, 9, 9]] * 2)
    truth = replace(truth, images=Images(["a.jpg", "b.jpg"], [7, 8]))
    pred = side(["7", "8"], boxes=[[0, 0, 9, 9]] * 2, confidence=[0.5, 0.6]).with_source(Source("x", "text", ""))
    found = told_of(truth, pred)["V212"]
    assert all(part in found.message for part in ("2 of 2 predictions", "such as '7'", "such as 7"))
    assert (found.count, found.examples, found.fix) == (
        2,
        ("'7'", "'8'"),
        "write image ids as numbers, without quotation marks: 7",
    )


def test_ids_are_as_dense_as_their_range_has_them():
    # Ten ids of 1 to 20, so half of the numbers: 18 unknown ones are 12.5 nats, 17 are 11.8.
    known = np.arange(1, 200, 2)
    for many, shift in ((18, 1), (17, 0)):
        assert images.shift_that_makes_known(known, known[:many] - 1, None, None) == shift
    # One id: the next number is it for certain, and certainty proves nothing.
    assert images.shift_that_makes_known(np.array([5]), np.array([4]), None, None) == 0
    plain = SimpleNamespace(side="pred", reading=None, overlaps=np.full(6, 0.5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(images, "overlaps_under", lambda *given: np.full(6, 0.5))
        sample = SimpleNamespace(shifts=(0, 1))
        assert images.shift_that_makes_known(np.arange(9), np.arange(6), sample, plain) == 1  # half is found
        assert images.shift_that_makes_known(np.arange(9), np.arange(1, 7), SimpleNamespace(shifts=(0,)), plain) == 0


# Boxes.
def test_examples_show_the_objects_that_win_most():
    truth = side(["a", "b"], boxes=[[0, 0, 10, 10], [0, 0, 10, 10]])
    first, second = [[80, 80, 90, 90], [0, 0, 10, 5]], [[70, 70, 90, 90], [0, 0, 10, 8]]
    sample = Sample(group([[0, 0, 10, 10]], [[0, 0, 10, 10]]), {0: group(first, second)})
    plain, found = explanation([0.1, 0.1], 2, Reading("xyxy")), explanation([0.5, 0.8], 2, Reading("xyxy"))
    assert boxes.examples(truth, truth, sample, plain, found) == (
        "b: 0 0 10 8 has IoU 0.10 as read, 0.80 if read so",
        "a: 0 0 10 5 has IoU 0.10 as read, 0.50 if read so",
    )
    worse = explanation([0.1, 0.8], 2, Reading("xyxy"))
    assert len(boxes.examples(truth, truth, sample, plain, worse)) == 1
    of_truth = replace(found, side="truth")
    assert boxes.examples(truth, truth, sample, plain, of_truth)[0].startswith("b: 0 0 10 10 ")


def off_by(*errors, count=30, measure="abs"):
    truth = [[100.0 * i, 0, 100 * i + 40, 40] for i in range(count)]
    sample = Sample(group(truth), {0: group(np.add(truth, errors).tolist())})
    plain = explanation([1.0], 1, Reading("xyxy", measure))
    found = offsets.find_off_by_one(SimpleNamespace(explanations=(plain, None), sample=sample))
    return [f.message.rpartition(": ")[2] for f in found]


def test_boxes_one_pixel_beside_the_ground_truth_are_noted():
    assert off_by(1, 1, 1, 1) == ["left +1, top +1, right +1, bottom +1"]
    assert off_by(-1, -1, 0, 0) == ["left -1, top -1, right +0, bottom +0"]
    assert off_by(1, 1, 1, 0) == ["left +1, top +1, right +1, bottom +0"]
    assert off_by(1, 1, 1, 1, count=29) == []
    for other in ((0, 0, 0, 0), (1, 0, 1, 1), (1, -1, 1, 1), (2, 2, 2, 2), (1, 1, 2, 1), (1, 1, 1, -1)):
        assert off_by(*other) == []
    assert off_by(0.76, 0.76, 1, 1) != []
    assert off_by(0.74, 0.76, 1, 1) == []
    assert off_by(1, 1, 1, 1, measure="factor") == []


def test_boxes_leave_on_each_side():
    size = np.array([[100.0, 50]])
    for box, is_out in (
        ([-10, 0, 5, 5], False), ([-10.1, 0, 5, 5], True), ([0, -5, 5, 5], False), ([0, -5.1, 5, 5], True),
        ([0, 0, 110, 5], False), ([0, 0, 110.1, 5], True), ([0, 0, 5, 55], False), ([0, 0, 5, 55.1], True),
    ):  # fmt: skip
        assert outside.leave(np.array([box], dtype=float), size).tolist() == [is_out]


def test_formats_that_have_one_layout_are_to_be_written_so():
    values = np.array([200.0, 200, 400, 400]) + np.arange(5)[:, None]
    values[:2] += 300
    names = [f"{i}.jpg" for i in range(5)]
    given = vt.Annotations.of(names, ["cat"] * 5, values, "xywh", sizes=dict.fromkeys(names, (1000, 1000)))
    for format, fix in (("coco", "add --truth-boxes xyxy"), ("voc", "write them as the format requires")):
        found = told(given.with_source(Source("x", format, "")), is_truth=True)["V114"]
        assert (found.remedy, found.count) == (fix, 2)
        assert found.examples[0] == "500 500 700 700"


# Poses and angles.
def posed(points, *, is_truth=True, unit="px", size=(100, 50)):
    """Which points of one object lie outside of its image."""
    keypoints = SimpleNamespace(owners=np.zeros(len(points), np.int64), points=np.array(points, dtype=float))
    table = SimpleNamespace(widths=np.array([size[0]]), heights=np.array([size[1]]))
    annotations = SimpleNamespace(images=table, image=np.array([0]), unit=unit)
    return poses.outside(SimpleNamespace(annotations=annotations, is_truth=is_truth), keypoints).tolist()


def test_points_leave_on_each_side_of_an_image_of_known_size():
    inside, out = [[-10, 0, 1], [0, -5, 1], [110, 0, 1], [0, 55, 1]], [[-11, 0, 1], [0, -6, 1], [111, 0, 1], [0, 56, 1]]
    assert posed(inside) == [False] * 4
    assert posed(out) == [True] * 4
    assert posed(out, size=(0, 0)) == posed(out, size=(0, 50)) == [False] * 4
    assert posed([[1.1, 1.1, 1], [1.2, 0, 1]], unit="rel", size=(0, 0)) == [False, True]


def test_points_that_nobody_labelled_may_be_anywhere_in_a_ground_truth():
    points = [[500, 0, 0], [500, 0, 1]]
    assert posed(points) == [False, True]
    assert posed(points, is_truth=False) == [True, True]


def test_predictions_may_have_points_outside_in_a_tenth_of_the_objects(tmp_path):
    def found(count):
        truth = {"images": [{"id": 1, "width": 100, "height": 100}], "categories": [{"id": 1, "name": "cat"}]}
        boxes = [{"id": i + 1, "bbox": [9 * i, 0, 8, 8], "keypoints": [5, 5, 2]} for i in range(10)]
        known = vt.read(truth | {"annotations": [one | {"image_id": 1, "category_id": 1, "area": 64} for one in boxes]})
        results = [
            {"image_id": 1, "category_id": 1, "bbox": one["bbox"], "score": 1 - one["id"] / 50}
            | {"keypoints": [500 if one["id"] <= count else 5, 5, 1]}
            for one in boxes
        ]
        return told_of(known, vt.read(results, like=known)).get("V421")

    assert found(1) is None
    assert found(2).message.startswith("2 of 10 predictions")


def test_keypoints_of_several_faults_are_counted_together(tmp_path):
    odd = {"keypoints": [500, 5, 2, 5, 5, 2], "num_keypoints": 2}
    found = coco(tmp_path, {"keypoints": [5, 5, 2] * 3}, {"keypoints": [5, 5, 2] * 3}, odd)
    assert found["V420"].count == found["V421"].count == 1


def test_every_second_truth_is_paired_where_there_are_many():
    for count, step in ((499, 1), (500, 2), (1000, 3)):
        names = [str(i) for i in range(count)]
        truth = side(names, boxes=np.tile([0.0, 0, 9, 9], (count, 1)))
        pred = side(names, boxes=np.tile([0.0, 0, 9, 9], (count, 1)), confidence=np.linspace(0, 1, count)).like(truth)
        found = list(poses.nearest(SimpleNamespace(truth=truth, pred=pred)))
        assert found[:2] == [(0, 0), (step, step)]


def test_predictions_of_another_class_are_not_paired():
    truth = side(["a"], ["cat"], [[0, 0, 9, 9]])
    pred = side(["a"], ["dog"], [[0, 0, 9, 9]], confidence=[0.5]).like(truth)
    assert list(poses.nearest(SimpleNamespace(truth=truth, pred=pred))) == []


def test_an_angle_is_mirrored_about_the_centre():
    # Five slim boxes that go down to the right by one in two, found as ones that go up about the same centre.
    down = np.array([[20.0, 30], [36, 38], [35.5, 39], [19.5, 31]])
    middle = down.mean(axis=0)
    up = np.stack([down[:, 0], 2 * middle[1] - down[:, 1]], axis=1)
    for pred, is_told in ((up, True), (down, False)):
        quads = iter([np.tile(down, (5, 1, 1)), np.tile(pred, (5, 1, 1))])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rotated, "quads_of", lambda regions, quads=quads: next(quads))
            patch.setattr(rotated, "nearest", lambda pair: [(i, i) for i in range(5)])
            one = SimpleNamespace(regions=None, source=SimpleNamespace(notes=()))
            found = list(rotated.find_mirrored_angles(SimpleNamespace(truth=one, pred=one)))
        assert bool(found) == is_told
        if found:
            assert (found[0].count, found[0].remedy) == (5, "add --pred-angle degrees-ccw")
            assert all(part in found[0].message for part in ("mean IoU 0.0", "1.00"))
            assert "5 pairs" in found[0].message


def test_void_is_what_segments_leave():
    def found(area, is_truth=True, format="panoptic"):
        given = side(["a", "a", "b"], boxes=[[0, 0, 2, 2]] * 3, sizes={"a": (4, 5), "b": (10, 10), "c": (9, 9)})
        given = replace(given, area=np.array(area, dtype=float)).with_source(Source("x", format, ""))
        return list(outlines.find_void(SimpleNamespace(annotations=given, is_truth=is_truth, name="truth")))

    (void,) = found([10, 5, 99])
    assert void.message.startswith("6 of 120 pixels")
    assert (void.count, void.examples) == (6, ("a: 5 of 20", "b: 1 of 100"))
    assert found([10, 9, 100])[0].count == 1
    assert found([10, 10, 100]) == []
    assert found([1, 1, 1], format="coco") == []
    assert found([10, 5, 99], is_truth=False)[0].message.endswith("false negatives")


def test_quarters_of_the_sides_are_reported():
    sides = [[0, 0, s, s] for s in (10, 20, 30, 40, 50)]
    summary = vt.inspect(side(list("abcde"), boxes=sides)).files[0]
    assert summary.box_sides == {"smallest": 10, "quarter": 20, "median": 30, "three_quarters": 40, "largest": 50}


def looks_sound(truth, pred):
    return not Pair(truth, pred).count("misfit")


def long_look(truth, pred, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Pair, "anomalies", Pair(truth, pred).anomalies | {"misfit": 1})
        found = checks.examine_pair(truth, pred)
    covered = {check.code for check in every_check() if check.is_covered}
    return [finding for finding in found if finding.code in covered]


def cases():
    for kind in KINDS:
        for seed in range(20):
            data = draw_set(np.random.default_rng([1900, seed, KINDS.index(kind)]), kind)
            yield Files.of(data, "xyxy" if seed % 4 == 0 else "xywh")
            for mistake in GEOMETRY:
                yield with_wrong_boxes(data, mistake)
    for make in ADVERSARIES.values():
        yield from (Files.of(make(np.random.default_rng([1901, seed]))) for seed in range(2))


@pytest.mark.thorough
def test_what_looks_sound_is_so_after_a_long_look(monkeypatch):
    sound = 0
    for files in cases():
        truth, pred = files.read()
        if looks_sound(truth, pred):
            sound += 1
            assert long_look(truth, pred, monkeypatch) == []
    assert sound > 50  # else the glance is of no use


def matching_sides(count):
    """One object an image, all of one class, and predictions that fit."""
    images = [f"{i}.jpg" for i in range(count)]
    corners = np.array([[10, 20, 60, 90]] * count, dtype=np.float64)
    return images, ["cat"] * count, corners


def glance(count=10, change=lambda corners, labels, confidence: None, **more):
    images, labels, corners = matching_sides(count)
    pred_corners, pred_labels, confidence = corners.copy(), list(labels), np.full(count, 0.5)
    change(pred_corners, pred_labels, confidence)
    truth = vt.Annotations.of(images, labels, corners, labels=["cat", "dog"], **more)
    pred = vt.Annotations.of(images, pred_labels, pred_corners, confidence=confidence, labels=["cat", "dog"])
    return looks_sound(truth, pred.like(truth))


def test_what_fits_looks_sound():
    assert glance()


def test_half_of_the_objects_must_be_found_precisely():
    def off(missed):
        def change(corners, labels, confidence):
            corners[:missed] += 40

        return change

    assert glance(change=off(5))
    assert not glance(change=off(6))

    def lower(count, by):
        def change(corners, labels, confidence):
            corners[:count, 3] -= by

        return change

    assert glance(change=lower(10, 17.5))  # 52.5 of 70 pixels are three quarters
    assert not glance(change=lower(10, 17.6))


@pytest.mark.parametrize(("found", "precise", "is_sound"), [(13, 8, True), (12, 8, False), (13, 7, False)])
def test_of_a_detector_that_misses_many_two_thirds_must_be_found_most_of_them_precisely(found, precise, is_sound):
    def change(corners, labels, confidence):
        corners[found:] += 40  # an IoU of .04
        corners[precise:found, 3] -= 17.6  # .749

    assert glance(20, change) == is_sound


def test_most_must_have_their_class():
    def wrong(count):
        def change(corners, labels, confidence):
            labels[:count] = ["dog"] * count

        return change

    assert glance(change=wrong(4))
    assert not glance(change=wrong(5))


def test_crowds_do_not_count():
    def off(corners, labels, confidence):
        corners[:6] += 40

    assert glance(change=off, crowd=[True] * 6 + [False] * 4)


def test_fractions_of_an_image_are_looked_at():
    images, labels, corners = matching_sides(10)
    truth = vt.Annotations.of(images, labels, corners / 1000)
    pred = vt.Annotations.of(images, labels, corners / 1000, confidence=[0.5] * 10)
    assert not looks_sound(truth, pred.like(truth))


def test_a_twentieth_of_the_numbers_is_too_large_for_fractions():
    def is_good(large, number):
        boxes = np.tile([0.1, 0.1, 0.9, 0.9], (25, 1))
        boxes[:large, 2] = number
        names = [f"{i}.jpg" for i in range(25)]
        truth = vt.Annotations.of(names, ["cat"] * 25, boxes)
        pred = vt.Annotations.of(names, ["cat"] * 25, boxes, confidence=np.linspace(0.1, 0.9, 25))
        return Pair(truth, pred.like(truth)).fit.is_good

    assert is_good(6, 2.1)
    assert not is_good(5, 2.1)  # of a hundred
    assert not is_good(6, 2.0)


def exchanged(mapping, count=7, share=1.0, lower=0.0):
    """Objects of three classes that are found as others."""
    names = [name for name in mapping for _ in range(count)]
    images = [f"{i}.jpg" for i in range(len(names))]
    boxes = np.array([[10, 20, 60, 90]] * len(names), dtype=np.float64)
    found = [mapping[name] if i % count < share * count else name for i, name in enumerate(names)]
    truth = vt.Annotations.of(images, names, boxes, labels=["cat", "dog", "owl"])
    pred = vt.Annotations.of(
        images,
        found,
        boxes - [0, 0, 0, lower],
        confidence=np.linspace(0.1, 0.9, len(names)),
        labels=["cat", "dog", "owl"],
    )
    return Pair(truth, pred.like(truth)).count("exchanges")


def test_two_swapped_classes_and_three_in_a_circle_are_seen():
    assert exchanged({"cat": "dog", "dog": "cat", "owl": "owl"}) == 2
    assert exchanged({"cat": "dog", "dog": "owl", "owl": "cat"}) == 3


def test_one_class_confused_with_another_is_a_weak_detector():
    assert exchanged({"cat": "dog", "dog": "dog", "owl": "owl"}) == 0


def test_it_takes_six_objects_and_three_quarters_of_a_class():
    swap = {"cat": "dog", "dog": "cat", "owl": "owl"}
    assert exchanged(swap, count=6) == 2
    assert exchanged(swap, count=5) == 0
    assert exchanged(swap, count=8, share=0.75) == 2
    assert exchanged(swap, count=8, share=0.7) == 2  # six of eight are three quarters
    assert exchanged(swap, count=9, share=0.6) == 0
    assert exchanged(swap, count=6, lower=35) == 2  # found by half
    assert exchanged(swap, count=6, lower=35.1) == 0


def unpredicted(missing, per_image=5, count=100):
    """Images with so many objects, all found, in all but the first images."""
    images = [f"{i}.jpg" for i in range(count) for _ in range(per_image)]
    boxes = np.array([[10 * j, 20, 10 * j + 9, 90] for _ in range(count) for j in range(per_image)], dtype=np.float64)
    truth = vt.Annotations.of(images, ["cat"] * len(images), boxes)
    kept = np.arange(len(images)) >= missing * per_image
    pred = vt.Annotations.of(images, ["cat"] * len(images), boxes, confidence=np.linspace(0, 1, len(images)))
    return Pair(truth, pred.where(kept).like(truth))


def test_many_images_without_predictions_are_more_than_a_tenth_and_more_than_chance():
    assert not unpredicted(10).count("many_unpredicted")
    assert unpredicted(10).count("unpredicted") == 10
    assert unpredicted(11).count("many_unpredicted") == 11
    assert unpredicted(50).count("many_unpredicted") == 50


def test_images_of_one_object_are_easily_missed():
    assert not unpredicted(50, per_image=1).count("many_unpredicted")  # e^-0.5 of them would be, by chance
