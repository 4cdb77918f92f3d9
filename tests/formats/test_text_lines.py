"""Numbers in lines of text: fractions, boxes, position of the confidence."""

from __future__ import annotations

import pytest

from tests.formats.samples import refused
from verite.formats.text_lines import (
    confidence_position,
    ends_with_confidence,
    is_relative,
    leaves_image,
    relative_lines,
    to_number,
    to_numbers,
)


@pytest.mark.parametrize(
    ("line", "is_so"),
    [
        ("0 0.5 0.5 0.2 0.2", True),
        ("0 0.5 0.5 0.2", False),  # four words
        ("boat 0.5 0.5 0.2 0.2", False),
        ("0 -0.01 0.5 1.01 0.2", True),  # a hundredth beyond the edge is rounding
        ("0 -0.0105 0.5 0.2 0.2", False),
        ("0 0.5 0.5 1.0105 0.2", False),
        ("0 0.5 0.5 x 0.2", False),
    ],
)
def test_a_line_of_a_class_number_and_fractions_is_relative(line, is_so):
    assert is_relative(line.split()) is is_so


def test_a_line_may_name_its_class_where_names_are_looked_for():
    assert is_relative(["boat", "0.5", "0.5", "0.2", "0.2"], is_named=True)
    assert not is_relative(["boat", "0.5", "0.5", "0.2", "20"], is_named=True)


def test_more_than_half_of_the_lines_must_be_relative():
    fraction, pixels = ["0", "0.5", "0.5", "0.2", "0.2"], ["0", "5", "5", "20", "20"]
    assert relative_lines([fraction, fraction, pixels]) == [[0.5, 0.5, 0.2, 0.2]] * 2
    assert relative_lines([fraction, pixels]) == []


@pytest.mark.parametrize(
    ("box", "leaves"),
    [
        ((0.5, 0.5, 1, 1), False),
        ((0.5, 0.5, 1.01, 1.01), False),  # half a hundredth on each side
        ((0.5, 0.5, 1.03, 1), True),
        ((0.5, 0.5, 1, 1.03), True),
        ((0.1, 0.5, 0.23, 0.2), True),  # to -0.015
        ((0.9, 0.5, 0.23, 0.2), True),
        ((0.5, 0.1, 0.2, 0.23), True),
        ((0.5, 0.9, 0.2, 0.23), True),
        ((0.1, 0.1, 0.2, 0.2), False),
    ],
)
def test_a_box_by_its_centre_leaves_the_image_with_any_side(box, leaves):
    assert leaves_image(box) is leaves


@pytest.mark.parametrize(
    ("lines", "is_last"),
    [
        (["boat 10 2 3 4 0.5"], True),
        (["boat 10 2 3 4 0", "boat 10 2 3 4 1"], True),
        (["boat 10 2 3 4 1.5"], False),
        (["boat 10 2 3 4 -0.5"], False),
        (["boat 1 2 3 4 0.5"], False),  # 1 may be a confidence
        (["boat 10 2 3 4 0.5", "boat 0.5 2 3 4 0.5"], False),  # half of them
        (["boat 10 2 3 4 0.5", "boat 12 2 3 4 0.5", "boat 0.5 2 3 4 0.5"], True),
        (["boat 10 2 3 4"], False),
        (["boat x 2 3 4 0.5"], False),
        ([], False),
    ],
)
def test_a_confidence_stands_last_where_most_lines_begin_with_more_than_one(lines, is_last):
    assert ends_with_confidence([line.split() for line in lines]) is is_last


def test_the_place_of_a_confidence_is_asked_where_most_lines_have_one():
    five, six = ["0", "0.5", "0.5", "0.2", "0.2"], ["0", "0.9", "0.5", "0.5", "0.2", "0.2"]
    assert confidence_position([five, six]) is None
    assert confidence_position([five]) is None
    assert confidence_position([five, six, six]) is not None


def test_the_place_of_a_confidence_is_where_fewer_boxes_leave_the_image():
    # As class, confidence, box the box is 0.5 0.5 0.2 0.2; as class, box, confidence it is 0.9 0.5 0.5 0.2, to 1.15.
    place, why = confidence_position([["0", "0.9", "0.5", "0.5", "0.2", "0.2"]])
    assert (place, why) == (
        "before",
        "confidence before the box, because of 1 boxes 1 leave the image if the confidence comes last, "
        "0 if it comes first",
    )
    assert confidence_position([["0", "0.5", "0.5", "0.2", "0.2", "0.9"]])[0] == "after"
    assert confidence_position([["0", "0.5", "0.5", "0.5", "0.5", "0.5"]])[0] == "after"  # neither leaves it
    assert confidence_position([["boat", "0.5", "0.5", "0.5", "0.5", "0.5"]]) is None
    assert confidence_position([["boat", "0.5", "0.5", "0.5", "0.5", "0.5"]], is_named=True)[0] == "before"


def test_numbers_with_underscores_or_commas_are_none():
    assert refused(to_number, "1_000", "a:1") == "a:1: expected a number, found '1_000'"
    assert refused(to_number, "1,5", "a:1") == "a:1: expected a number, found '1,5'; write a decimal point"
    assert refused(to_number, "x", "a:1") == "a:1: expected a number, found 'x'"
    assert "found '1_0'" in refused(to_numbers, ["1", "1_0"], "a:1")
    assert to_numbers(["1", "-2.5e1"], "a:1") == [1, -25]
