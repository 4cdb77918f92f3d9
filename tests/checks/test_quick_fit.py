"""A quick fit on a sample spares a long look; it must not change what is found."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.checks.adversaries import ADVERSARIES
from tests.checks.boundary import boundary
from tests.checks.mistakes import GEOMETRY, Files, with_wrong_boxes
from tests.checks.sets import KINDS, draw_set
from verite import checks
from verite.checks.check import every_check
from verite.checks.sample import Pair


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


def boxes(count):
    """One object an image, all of one class, and predictions that fit."""
    images = [f"{i}.jpg" for i in range(count)]
    corners = np.array([[10, 20, 60, 90]] * count, dtype=np.float64)
    return images, ["cat"] * count, corners


def glance(count=10, change=lambda corners, labels, confidence: None, **more):
    images, labels, corners = boxes(count)
    pred_corners, pred_labels, confidence = corners.copy(), list(labels), np.full(count, 0.5)
    change(pred_corners, pred_labels, confidence)
    truth = vt.Annotations.of(images, labels, corners, labels=["cat", "dog"], **more)
    pred = vt.Annotations.of(images, pred_labels, pred_corners, confidence=confidence, labels=["cat", "dog"])
    return looks_sound(truth, pred.like(truth))


def test_what_fits_looks_sound():
    assert glance()


@boundary("FitRules.share", "FitRules.precise")
def test_half_of_the_truths_must_be_found_precisely():
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
    images, labels, corners = boxes(10)
    truth = vt.Annotations.of(images, labels, corners / 1000)
    pred = vt.Annotations.of(images, labels, corners / 1000, confidence=[0.5] * 10)
    assert not looks_sound(truth, pred.like(truth))


@boundary("FitRules.pixels", "FitRules.most_small")
def test_a_twentieth_of_the_numbers_is_too_large_for_fractions():
    def is_good(large, number):
        boxes = np.tile([0.1, 0.1, 0.9, 0.9], (25, 1))
        boxes[:large, 2] = number
        names = [f"{i}.jpg" for i in range(25)]
        truth = vt.Annotations.of(names, ["cat"] * 25, boxes)
        pred = vt.Annotations.of(names, ["cat"] * 25, boxes, confidence=np.linspace(0.1, 0.9, 25))
        return Pair(truth, pred.like(truth)).fit["is_good"]

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


def test_two_exchanged_classes_and_three_in_a_circle_are_seen():
    assert exchanged({"cat": "dog", "dog": "cat", "owl": "owl"}) == 2
    assert exchanged({"cat": "dog", "dog": "owl", "owl": "cat"}) == 3


def test_one_class_taken_for_another_is_a_weak_detector():
    assert exchanged({"cat": "dog", "dog": "dog", "owl": "owl"}) == 0


@boundary("FitRules.fewest", "FitRules.taken_for", "FitRules.found")
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


@boundary("sides.MANY")
def test_many_images_without_predictions_are_more_than_a_tenth_and_more_than_chance():
    assert not unpredicted(10).count("many_unpredicted")
    assert unpredicted(10).count("unpredicted") == 10
    assert unpredicted(11).count("many_unpredicted") == 11
    assert unpredicted(50).count("many_unpredicted") == 50


def test_images_of_one_object_are_easily_missed():
    assert not unpredicted(50, per_image=1).count("many_unpredicted")  # e^-0.5 of them would be, by chance
