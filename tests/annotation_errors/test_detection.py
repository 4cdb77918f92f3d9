"""Rates of annotation errors of ground-truth objects, as they are written and read."""

from __future__ import annotations

import pytest

import verite as vt
from verite.annotation_errors.detection import Detection, read_rates


def test_rates_are_written_as_they_are_read():
    errors = Detection.parse("missing=0.05,spurious=1/60,label=0.01,jitter=0.05x0.15")
    assert errors == Detection(missing=0.05, spurious=(1, 60), label=0.01, jitter=(0.05, 0.15))
    assert str(errors) == "detection(missing=0.05, spurious=1/60, label=0.01, jitter=0.05x0.15, lit=0.7)"
    assert errors.mean("spurious") == pytest.approx(1.5 / 61)
    assert "1 in 60 checked" in errors.assumption


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mising=0.05", "errors: expected missing, spurious, label, jitter, .*did you mean 'missing'"),
        ("missing=a", "missing: expected a share such as 0.05, or ERRORS/CHECKED"),
        ("missing=1.5", "missing: expected a share from 0 to 1, found 1.5"),
        ("spurious=-0.1", "spurious: expected a share from 0 to 1, found -0.1"),
        ("spurious=3/2", "spurious: expected at most the 2 annotations checked, found 3"),
        ("spurious=3/0", "spurious: expected a whole number of at least 1"),
        ("jitter=0.05", "jitter: expected SHARExDEVIATION"),
        ("jitter=0.05x-1", "jitter: expected a deviation from 0 up"),
    ],
)
def test_wrong_rates_are_refused_with_the_kind_and_the_value(text, message):
    with pytest.raises(vt.BadParameter, match=message):
        Detection.parse(text)


def test_a_kind_given_twice_is_refused():
    with pytest.raises(vt.BadParameter, match=r"spurious: expected one rate, found 0.1 and 1/60"):
        Detection.parse("spurious=0.1,spurious=1/60")


def test_groups_and_a_correlation_go_together():
    with pytest.raises(vt.BadParameter, match="shared: expected a group"):
        Detection(spurious=0.1, shared="image")
    with pytest.raises(vt.BadParameter, match="shared: expected a group"):
        Detection(spurious=0.1, correlation=0.1)
    with pytest.raises(vt.BadParameter, match="correlation: expected a number from 0 up and below 1"):
        Detection(spurious=0.1, shared="image", correlation=1.0)


def test_rates_by_class_and_size_are_read_from_a_table(tmp_path):
    path = tmp_path / "rates.csv"
    path.write_text("class,size,kind,rate\ncat,small,missing,0.2\n*,,label,0.1\n")
    assert read_rates(path) == (("cat", "small", "missing", 0.2), ("*", "*", "label", 0.1))
    for text, message in (
        ("class,size,kind\n", "the header class,size,kind,rate"),
        ("class,size,kind,rate\ncat,tiny,missing,0.1\n", "rates.csv:2: .*size small"),
        ("class,size,kind,rate\ncat,small,odd,0.1\n", "rates.csv:2: .*kind missing"),
        ("class,size,kind,rate\ncat,small,missing,2\n", "rates.csv:2: .*share from 0 to 1"),
        ("class,size,kind,rate\ncat,small,missing\n", "rates.csv:2"),
    ):
        path.write_text(text)
        with pytest.raises(vt.ReadError, match=message):
            read_rates(path)


def test_rates_can_be_scaled():
    errors = Detection(missing=0.4, spurious=(1, 3), jitter=(0.1, 0.2)).scale(2)
    assert (errors.missing, errors.spurious, errors.jitter) == (0.8, 0.75, (0.2, 0.2))
    assert Detection(missing=0.4).scale(4).missing == 1.0


def test_a_model_without_rates_has_no_errors():
    assert Detection().is_none
    assert not Detection(rates=[("*", "*", "label", 0.1)]).is_none
    assert not Detection(spurious=(0, 5)).is_none
