"""What the exports of annotation platforms share: records of JSON documents, and outlines as rings of numbers.

Platforms write one JSON document per project, one per image, or one line per image. `records_in` reads all three;
`files_of` lists the files of a folder with a document per image.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec

from verite.errors import ReadError
from verite.files import read_bytes
from verite.formats.format import Options, PathProbe
from verite.formats.json_documents import decode_bytes
from verite.formats.polygons import check_ring
from verite.formats.rows import Rows
from verite.formats.shards import files_of_split
from verite.progress import count_files

T = TypeVar("T")
CORNERS = 64  # of an ellipse as a polygon


class Point(msgspec.Struct):
    """A corner of an outline."""

    x: float
    y: float


class Sides(msgspec.Struct):
    """A box as its top left corner and its size."""

    left: float
    top: float
    width: float
    height: float

    @property
    def corners(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom."""
        return self.left, self.top, self.left + self.width, self.top + self.height


def records_in(path: Path, kind: type[T]) -> Iterator[tuple[str, T]]:
    """Yield place and record of each item of a JSON list, of a single object, or of JSON lines.

    Parameters
    ----------
    path : Path
        A JSON file.
    kind : type
        The msgspec structure of one record.

    Yields
    ------
    tuple of str and record
        Where the record is, for messages, and the record.
    """
    data = read_bytes(path)
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    first, _, rest = start.partition(b"\n")
    if start.startswith(b"["):
        for i, record in enumerate(decode_bytes(path, data, list[kind])):  # type: ignore[valid-type]
            yield f"{path}: [{i}]", record
    elif first.rstrip().endswith(b"}") and (rest.lstrip()[:1] == b"{" or not rest.strip()):  # JSON lines
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                yield f"{path}:{number}", decode_bytes(Path(f"{path}:{number}"), line, kind)
    else:
        yield str(path), decode_bytes(path, data, kind)


def files_of(path: Path, options: Options, suffix: str = ".json") -> tuple[list[Path], str]:
    """Return the files of a folder with a document per image, of the split that the options name, and the reason.

    Parameters
    ----------
    path
        A file or a folder.
    options
        Options of the call; `split` chooses among train, val and test.
    suffix
        Suffix of the documents.

    Returns
    -------
    tuple[list[Path], str]
        The files, and the sentence that says which split was read.
    """
    files, why = files_of_split(path, PathProbe(path).with_suffix(suffix) if path.is_dir() else [path], options)
    if not files:
        raise ReadError(path, expected=f"files ending in {suffix}", found="none")
    return list(count_files("reading", files)), why


def has_keys(head: str, *keys: str) -> bool:
    """Tell whether a JSON text has all of these keys."""
    return head[:1] in ("{", "[") and all(f'"{key}"' in head for key in keys)


def file_name(address: str) -> str:
    """Return the name of the file that a URL or a path ends with.

    >>> file_name("s3://bucket/images/a%20b.jpg"), file_name("images/c.jpg")
    ('a b.jpg', 'images/c.jpg')
    """
    if "://" not in address:
        return address.removeprefix("file:").replace("\\", "/")
    return PurePosixPath(unquote(urlsplit(address).path)).name or address


def ring_of(where: str, points: list[Point]) -> list[float]:
    """Return the corners of an outline as x, y, x, y …; fewer than three are an error."""
    return list(check_ring(where, [value for point in points for value in (point.x, point.y)]))


def ellipse_ring(where: str, x: float, y: float, axes: tuple[float, float], angle: float) -> list[float]:
    """Return an ellipse of these half axes, turned clockwise by an angle in radians, as a polygon.

    Parameters
    ----------
    where
        The object, for messages.
    x
        Centre.
    y
        Centre.
    axes
        Half width and half height before the turn.
    angle
        In radians, clockwise as y points down.

    Returns
    -------
    list[float]
        Coordinates x1, y1, x2, y2, … of a polygon of `CORNERS` corners.
    """
    cos, sin = math.cos(angle), math.sin(angle)
    turns = (2 * math.pi * k / CORNERS for k in range(CORNERS))
    around = ((axes[0] * math.cos(turn), axes[1] * math.sin(turn)) for turn in turns)
    return list(check_ring(where, [v for a, b in around for v in (x + a * cos - b * sin, y + a * sin + b * cos)]))


def note_if_unscored(rows: Rows, scores: list[Any]) -> bool:
    """Tell whether all objects have a confidence; if only some have one, it is dropped and counted.

    Parameters
    ----------
    rows
        Collects the note.
    scores
        Confidence of each object; None where it has none.

    Returns
    -------
    bool
        Whether the file is one of predictions.
    """
    given = sum(score is not None for score in scores)
    if 0 < given < len(scores):
        rows.remark("confidences left out, as other objects have none", count=given)
    return given > 0 and given == len(scores)
