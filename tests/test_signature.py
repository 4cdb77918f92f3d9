"""Everything that can change a number is in its signature."""

from __future__ import annotations

from verite.signature import Signature


def test_default_signature_of_voc_is_the_documented_one():
    import verite as vt

    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]])
    pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.9])
    expected = "voc_ap|on:box|iou:0.30|interpolation:all|pixel:plus1|ties:stable|ignored:skip|quirks:none|rev:1"
    assert str(vt.voc(truth, pred, iou=0.3).signature) == expected


def test_numbers_keep_every_digit_they_need():
    assert str(Signature.of("x", a=0.5, b=0.333, c=1 / 3)) == "x|a:0.50|b:0.333|c:0.3333333333333333"


def test_differences_name_both_values_and_absent_keys():
    one, two = Signature.of("x", a=1, b=2), Signature.of("y", a=1, c=3)
    assert one.differences(two) == {"score": ("x", "y"), "b": ("2", "absent"), "c": ("absent", "3")}
