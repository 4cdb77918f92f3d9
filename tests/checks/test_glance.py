"""The first glance spares a long look; it must not change what is found."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.checks.adversaries import ADVERSARIES
from tests.checks.mistakes import GEOMETRY, Files, with_wrong_boxes
from tests.checks.sets import KINDS, draw_set
from verite import checks
from verite.checks.glance import looks_sound


def long_look(truth, pred, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(checks, "looks_sound", lambda truth, pred: False)
        return checks.examine_pair(truth, pred)


def cases():
    for kind in KINDS:
        for seed in range(20):
            data = draw_set(np.random.default_rng([1900, seed, KINDS.index(kind)]), kind)
            yield Files.of(data, "xyxy" if seed % 4 == 0 else "xywh")
            for mistake in GEOMETRY:
                yield with_wrong_boxes(data, mistake)
    for make in ADVERSARIES.values():
        yield from (Files.of(make(np.random.default_rng([1901, seed]))) for seed in range(2))


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


def put(place, value):
    def change(corners, labels, confidence):
        {"corners": corners, "confidence": confidence}[place].flat[0] = value

    return change


def test_what_fits_looks_sound():
    assert glance()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", ["corners", "confidence"])
def test_what_is_no_number_does_not(place, value):
    assert not glance(change=put(place, value))


def test_negative_widths_do_not():
    assert not glance(change=put("corners", 61.0))


def test_half_of_the_truths_must_be_found_precisely():
    def off(missed):
        def change(corners, labels, confidence):
            corners[:missed] += 40

        return change

    assert glance(change=off(5))
    assert not glance(change=off(6))


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
