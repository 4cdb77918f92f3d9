"""How many keypoints does a YOLO line have behind its box, and which of its numbers are they?

`kpt_shape` in data.yaml says it, else what the truth has, else what the lines betray: every third number behind the box
is a visibility of 0, 1 or 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from verite.errors import ReadError
from verite.formats.format import Options, head_of
from verite.formats.words import is_number
from verite.model.keypoints import VISIBLE

# In a line, [17, 3], or in lines of their own behind dashes.
SHAPE = re.compile(r"^\s*kpt_shape\s*:[\s\[(-]*(\d{1,4})\s*(?:,|\n\s*-)\s*([23])\b", re.MULTILINE)
Shape = tuple[int, int]  # how many keypoints, how many numbers each


def shape_in(files: Iterable[Path]) -> Shape | None:
    """The `kpt_shape` of the first of these files that has one."""
    for file in files:
        if file.suffix in (".yaml", ".yml") and file.is_file() and (found := SHAPE.search(head_of(file))):
            return int(found[1]), int(found[2])
    return None


def shape_of_lines(lines: Sequence[Sequence[str]]) -> Shape | None:
    """The shape that lines betray: all as long, and every third number behind the box a visibility, some of them 2."""
    lengths = {len(words) for words in lines}
    if len(lengths) != 1:
        return None
    count, rest = divmod(lengths.pop() - 5, 3)
    if count < 1 or rest or not all(is_number(word) for words in lines for word in words):
        return None
    seen = {float(word) for words in lines for word in words[7::3]}
    return (count, 3) if seen <= {0.0, 1.0, 2.0} and 2.0 in seen else None


def shape_of_truth(lines: Sequence[Sequence[str]], options: Options) -> Shape | None:
    """As many keypoints as the truth has, if lines are long enough for them."""
    truth = options.like.regions.keypoints if options.like is not None else None
    if truth is None or not lines:
        return None
    count, lengths = int(truth.counts.max()), {len(words) - 5 for words in lines}
    return next(((count, each) for each in (3, 2) if lengths <= {count * each, count * each + 1}), None)


def find_shape(files: Iterable[Path], lines: Sequence[Sequence[str]], options: Options) -> Shape | None:
    """The shape of keypoints; None where lines are boxes or outlines."""
    named = [options.names] if isinstance(options.names, Path) else []
    return shape_in([*named, *files]) or shape_of_truth(lines, options) or shape_of_lines(lines)


def split_keypoints(where: str, numbers: Sequence[float], shape: Shape) -> tuple[list[float], float | None]:
    """x, y and visibility of each point behind the box, and the confidence where there is one."""
    count, each = shape
    wanted = count * each
    if len(numbers) not in (wanted, wanted + 1):
        expected = f"a class, 4 numbers and {count} keypoints of {each} numbers, as kpt_shape says (V420)"
        raise ReadError(where, expected=expected, found=f"{len(numbers) + 5} words")
    points = []
    for i in range(0, wanted, each):
        x, y, *seen = numbers[i : i + each]
        points += [x, y, *(seen or [0.0 if min(x, y) < 0 else VISIBLE])]  # below zero: Ultralytics' way to say unknown
    return points, numbers[wanted] if len(numbers) > wanted else None
