"""COCO files through the native reader: columns straight from the mapped file, outlines when they are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from verite import _core
from verite.arrays import np
from verite.errors import ReadError
from verite.files import check_file
from verite.limits import limit, remedy
from verite.model.ragged import Ints, offsets_of
from verite.model.regions import BOX, MASK, POLYGON, Polygons, Runs
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

# What the reader calls the kinds of a segmentation, and what we call them.
KINDS = (BOX, BOX, POLYGON, MASK)
# The reader's sentence: a place in the document, what is wrong, and where that is in the file.
SENTENCE = re.compile(r"(?:(?P<place>[\w.\[\]]+): )?(?P<wrong>.*?)(?: \(byte \d+, line \d+\))?$")
# What was expected where the sentence does not say it, and what to do; by the reader's codes.
EXPECTED = {"empty": "a whole JSON document", "truncated": "a whole JSON document"}
CODES = {"run_sum": " (V405)", "ring_points": " (V408)"}
HINTS = {"truncated": "was it cut off?", "empty": "was it cut off?"}


def open_coco(path: Path) -> _core.CocoFile:
    """The file as columns; every way of not being a COCO file in a line with its place."""
    check_file(path)
    return translated(path, lambda: _core.read_coco(path, thread_count(), limit("json_depth")))


def translated(path: Path, read: Callable[[], T]) -> T:
    """What `read` returns; its complaints in our words."""
    try:
        return read()
    except _core.ParseError as error:
        raise complaint(path, error) from None
    except RuntimeError as error:  # the file was changed since
        raise ReadError(path, expected="the file as it was when first read", found=str(error)) from None
    except OSError as error:
        raise ReadError(path, expected="a readable file", found=(error.strerror or str(error)).lower()) from None


def complaint(path: Path, error: Any) -> ReadError:
    """The reader's sentence, taken apart."""
    match = SENTENCE.match(str(error))
    assert match is not None
    wrong = match["wrong"]
    expected, found = EXPECTED.get(error.code, "a COCO file"), wrong
    if wrong.startswith("expected ") and ", found " in wrong:
        expected, found = wrong.removeprefix("expected ").split(", found ", 1)
    place = f"{path}: {match['place']}" if match["place"] else f"{path}:{error.line}"
    where = "" if error.code == "truncated" else f" at byte {error.byte}"
    hint = remedy("json_depth") if error.code == "depth" else HINTS.get(error.code, "")
    return ReadError(place, expected=expected + CODES.get(error.code, ""), found=found + where, remedy=hint)


def texts(column: tuple[NDArray[np.uint8], Ints]) -> list[str]:
    """A column of texts."""
    data, starts = column
    bounds = starts.tolist()
    raw = data.tobytes()
    if raw.isascii():
        whole = raw.decode("ascii")
        return [whole[first:last] for first, last in pairwise(bounds)]
    return [raw[first:last].decode() for first, last in pairwise(bounds)]


def presence(table: dict[str, Any], key: str) -> NDArray[np.bool_]:
    """Which records have a key."""
    answer = table["present"][key]
    return answer if isinstance(answer, np.ndarray) else np.full(table["count"], bool(answer))


class Outlines:
    """The polygons and masks of a file, read when they are first asked for."""

    def __init__(self, path: Path, file: _core.CocoFile, count: int) -> None:
        self.path, self.file, self.count = path, file, count
        kinds = file.region_kinds
        ours = np.array(KINDS, dtype=np.uint8)
        self.kinds = ours[kinds] if kinds is not None else np.full(count, BOX, dtype=np.uint8)

    def __call__(self) -> tuple[Polygons | None, Runs | None]:
        read = self.file.take_shapes()  # by the core, for itself: the file may have been written anew since
        if read is None:
            return self.polygons(), self.runs()
        polygons, runs = read
        return Polygons(*polygons) if polygons else None, Runs(*runs) if runs else None

    def polygons(self) -> Polygons | None:
        rows = np.flatnonzero(self.kinds == POLYGON)
        if not len(rows):
            return None
        points, rings, objects = translated(self.path, lambda: self.file.polygons(rows, True, region_limits()))
        counts = np.zeros(self.count, dtype=np.int64)
        counts[rows] = np.diff(objects)
        return Polygons(points, rings, offsets_of(counts))

    def runs(self) -> Runs | None:
        rows = np.flatnonzero(self.kinds == MASK)
        if not len(rows):
            return None
        lengths, starts, sizes = translated(self.path, lambda: self.file.runs(rows, True, region_limits()))
        counts = np.zeros(self.count, dtype=np.int64)
        counts[rows] = np.diff(starts)
        all_sizes = np.zeros((self.count, 2), dtype=np.int32)
        all_sizes[rows] = sizes
        return Runs(lengths, offsets_of(counts), all_sizes)


def region_limits() -> tuple[int, int, int, int]:
    """The largest side, number of pixels, number of points and coordinate."""
    names = ("image_side", "image_pixels", "polygon_points", "coordinate")
    side, pixels, points, coordinate = (min(limit(name), 2**53) for name in names)
    return side, pixels, points, coordinate
