"""Numbers in lines of text, and what they mean: pixels or fractions, and the position of the confidence.

The formats YOLO and text folder differ in the order of the same numbers. The order is inferred from which reading
keeps the boxes inside the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import float_info
from typing import Literal, cast

from verite.errors import ReadError, excerpt


def is_number(word: str) -> bool:
    """Tell whether `float` can parse a word."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def is_plain_number(value: object) -> bool:
    """Tell whether a JSON value is a number that float64 holds; true and false are none.

    >>> [is_plain_number(value) for value in (1, 0.5, True, "1", 10**400)]
    [True, True, False, False, False]
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= float_info.max


def to_number(word: str, where: str, expected: str = "a number") -> float:
    """Parse a number; `1_000`, which Python accepts, is refused."""
    try:
        if "_" not in word:
            return float(word)
    except ValueError:
        pass
    remedy = "write a decimal point" if is_number(word.replace(",", ".")) and "_" not in word else ""
    raise ReadError(where, expected=expected, found=excerpt(word), remedy=remedy)


def to_numbers(words: Sequence[str], where: str, expected: str = "a number") -> list[float]:
    """Parse the numbers of a line.

    Parameters
    ----------
    words
        Words of a line.
    where
        File and line, for messages.
    expected
        What each number is, for messages.

    Returns
    -------
    list[float]
        Floats. `1_000`, which Python would read as 1000, is refused.
    """
    try:
        if not any("_" in word for word in words):
            return list(map(float, words))
    except ValueError:
        pass
    return [to_number(word, where, expected) for word in words]  # names the word that is none


# How far a fraction may leave 0..1: rounding, and boxes drawn to the very edge.
TOLERANCE = 0.01
MANY = 0.1  # share of the boxes that leave the image under either reading, before another layout is thought of
STRAY, BEYOND = 0.05, 2.0  # share of the fractions that may lie outside 0..1, and how far


def is_relative(words: Sequence[str], *, is_named: bool = False) -> bool:
    """Tell whether a line is a class number (`is_named`: any class) and fractions of the image.

    Parameters
    ----------
    words
        Words of a line, of which four or more follow the class.
    is_named
        The class may be a name, too.
    """
    if len(words) < 5 or not (is_named or words[0].isdecimal()):
        return False
    return all(is_number(word) and is_fraction(float(word)) for word in words[1:])


def is_fraction(number: float) -> bool:
    """Tell whether a number lies between 0 and 1, up to `TOLERANCE`."""
    return -TOLERANCE <= number <= 1 + TOLERANCE


def relative_lines(lines: Sequence[Sequence[str]], *, is_named: bool = False) -> list[list[float]]:
    """Return the numbers of the lines in fractions, if these are the majority; else nothing."""
    found = [[float(word) for word in words[1:]] for words in lines if is_relative(words, is_named=is_named)]
    return found if 2 * len(found) > len(lines) else []


def reason_for_fractions(boxes: Sequence[Sequence[float]]) -> str:
    """Return why the numbers of these boxes are fractions of the image; "" where they may be pixels.

    No box in pixels lies within the first pixel of its image with non-integer coordinates, so that a single box is
    evidence. A few numbers may leave 0..1, as those of predictions that were not clipped.

    >>> reason_for_fractions([[0.25, 0.5, 0.1, 0.2]]), reason_for_fractions([[0, 0, 1, 1]])
    ('all 4 numbers lie between 0 and 1', '')
    """
    numbers = [number for box in boxes for number in box]
    inside = sum(map(is_fraction, numbers))
    if inside < (1 - STRAY) * len(numbers) or not all(abs(number) <= BEYOND for number in numbers):
        return ""
    if all(number.is_integer() for number in map(float, numbers)):
        return ""
    if inside == len(numbers):
        return f"all {len(numbers):,} numbers lie between 0 and 1"
    return f"{inside:,} of {len(numbers):,} numbers lie between 0 and 1, and none is above {BEYOND:g}"


def layouts_inside_image(boxes: Sequence[Sequence[float]]) -> list[str]:
    """Return the layouts in which boxes in fractions stay inside their image, centre and size first.

    >>> layouts_inside_image([[0.1, 0.1, 0.2, 0.9]]), layouts_inside_image([[0.5, 0.5, 0.2, 0.2]])
    (['xyxy', 'ltwh'], ['cxcywh', 'ltwh'])
    """
    most = MANY * len(boxes)
    leaving = {
        "cxcywh": sum(map(leaves_image, boxes)),
        "xyxy": 0 if all(map(is_corners, boxes)) else len(boxes),
        "ltwh": sum(max(x + width, y + height) > 1 + TOLERANCE for x, y, width, height in boxes),
    }
    return [layout for layout, count in leaving.items() if count <= most]


def leaves_image(box: Sequence[float]) -> bool:
    """Tell whether a box (centre and size, in fractions) leaves the image."""
    x, y, width, height = box
    sides = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    return min(sides) < -TOLERANCE or max(sides) > 1 + TOLERANCE


def is_corners(box: Sequence[float]) -> bool:
    """Tell whether the second point is to the right of and below the first."""
    return box[0] < box[2] and box[1] < box[3]


def ends_with_confidence(lines: Sequence[Sequence[str]]) -> bool:
    """Tell whether lines of a class and five numbers end with a number in 0..1, while most begin with one above 1."""
    numbers = [
        [float(word) for word in words[1:]] for words in lines if len(words) == 6 and all(map(is_number, words[1:]))
    ]
    above = sum(n[0] > 1 for n in numbers)
    return 2 * above > len(numbers) and all(0 <= n[-1] <= 1 for n in numbers)


def confidence_position(
    lines: Sequence[Sequence[str]], *, is_named: bool = False
) -> tuple[Literal["before", "after"], str] | None:
    """Return where the confidence of relative lines stands, before or after the box, and why.

    None where most lines have no confidence. A line of a class and five fractions is `class cx cy w h confidence` in
    YOLO, `class confidence cx cy w h` in the text format. In the wrong reading some boxes leave the image. Where none
    does, YOLO is assumed, or the text format where classes may have names (`is_named`). Where many do in both, numbers
    that are corners in one reading only decide.
    """
    numbers = relative_lines(lines, is_named=is_named)
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
    if before < after or (is_named and before == after):
        return "before", f"confidence before the box, because {counts}"
    return "after", f"confidence after the box, because {counts}"
