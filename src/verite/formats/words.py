"""What do the words of a line stand for? Numbers, and which of two formats their order betrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from verite.errors import ReadError, excerpt


def is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def to_number(word: str, where: str, expected: str = "a number") -> float:
    """The number a word stands for; Python's own 1_000 is none."""
    try:
        if "_" not in word:
            return float(word)
    except ValueError:
        pass
    remedy = "write a decimal point" if is_number(word.replace(",", ".")) and "_" not in word else ""
    raise ReadError(where, expected=expected, found=excerpt(word), remedy=remedy)


def to_numbers(words: Sequence[str], where: str, expected: str = "a number") -> list[float]:
    """The numbers of a line."""
    try:
        if not any("_" in word for word in words):
            return list(map(float, words))
    except ValueError:
        pass
    return [to_number(word, where, expected) for word in words]  # names the word that is none


# How far a fraction may leave 0..1: rounding, and boxes drawn to the very edge.
TOLERANCE = 0.01
MANY = 0.1  # share of the boxes that leave the image under either reading, before another layout is thought of


def is_relative(words: Sequence[str]) -> bool:
    """A class number and fractions of the image?"""
    if len(words) < 5 or not words[0].isdecimal():
        return False
    return all(is_number(word) and -TOLERANCE <= float(word) <= 1 + TOLERANCE for word in words[1:])


def relative_lines(lines: Sequence[Sequence[str]]) -> list[list[float]]:
    """The numbers of the lines that are relative, if most lines are; else none."""
    found = [[float(word) for word in words[1:]] for words in lines if is_relative(words)]
    return found if 2 * len(found) > len(lines) else []


def leaves_image(box: Sequence[float]) -> bool:
    """Does a box of centre and size, as fractions, leave the image?"""
    x, y, width, height = box
    sides = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    return min(sides) < -TOLERANCE or max(sides) > 1 + TOLERANCE


def is_corners(box: Sequence[float]) -> bool:
    """Is the second point behind the first?"""
    return box[0] < box[2] and box[1] < box[3]


def is_confidence_last(lines: Sequence[Sequence[str]]) -> bool:
    """Do lines of a class and five numbers end with a number from 0 to 1, while most begin with one above 1?"""
    numbers = [
        [float(word) for word in words[1:]] for words in lines if len(words) == 6 and all(map(is_number, words[1:]))
    ]
    above = sum(n[0] > 1 for n in numbers)
    return 2 * above > len(numbers) and all(0 <= n[-1] <= 1 for n in numbers)


def confidence_place(lines: Sequence[Sequence[str]]) -> tuple[Literal["before", "after"], str] | None:
    """Where the confidence of relative lines stands, and why; None where most lines have none.

    A line of a class and five fractions is `class cx cy w h confidence` to YOLO, `class confidence cx cy w h` to
    the text format. Under the wrong reading some boxes leave the image; where none does, it is taken for YOLO. Where
    many do under both, numbers that are corners in one place and not in the other tell.
    """
    numbers = relative_lines(lines)
    six = [n for n in numbers if len(n) == 5]
    if not six or 2 * len(six) <= len(numbers):
        return None
    before, after = sum(leaves_image(n[1:]) for n in six), sum(leaves_image(n[:4]) for n in six)
    if min(before, after) > MANY * len(six):
        places = (("before", all(is_corners(n[1:]) for n in six)), ("after", all(is_corners(n[:4]) for n in six)))
        fitting = [place for place, fits in places if fits]
        if len(fitting) == 1:
            where = cast(Literal["before", "after"], fitting[0])
            return where, f"confidence {where} the box, because all {len(six)} boxes are corners then"
    counts = f"of {len(six)} boxes {after} leave the image if the confidence comes last, {before} if it comes first"
    if before < after:
        return "before", f"confidence before the box, because {counts}"
    return "after", f"confidence after the box, because {counts}"
