"""Masks as Open Images writes them into a cell: COCO's run-length text, compressed with zlib, in base 64."""

from __future__ import annotations

import base64
import binascii
import zlib

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import ReadError, excerpt
from verite.formats.outlines import check_mask_size, parse_runs

LONGEST = 1 << 26  # bytes of one mask's text, however far it was compressed


def decode_mask(text: str, height: int, width: int, where: str) -> NDArray[np.uint32]:
    """The runs of a mask of this size."""
    check_mask_size(where, height, width)
    expected = "a mask: COCO's run-length text, compressed with zlib, in base 64"
    try:
        packed = base64.b64decode(text.encode("ascii"), validate=True)
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(packed, LONGEST)
    except (binascii.Error, zlib.error, UnicodeEncodeError) as error:
        raise ReadError(where, expected=expected, found=f"{excerpt(text, 30)} ({error})") from None
    if not unpacker.eof or unpacker.unconsumed_tail:
        raise ReadError(where, expected=expected, found=f"{excerpt(text, 30)}, which is cut off or far too long")
    return parse_runs(where, plain.decode("latin-1"), height, width)


def encode_mask(runs: NDArray[np.uint32]) -> str:
    """A mask as a word without blanks."""
    return base64.b64encode(zlib.compress(_core.encode_runs(np.ascontiguousarray(runs)), 9)).decode()


def parse_side(cell: str, where: str, column: str) -> int:
    """Width or height of an image in a cell."""
    word = cell.strip().removesuffix(".0")
    if not word.isdecimal() or len(word) > 9:
        raise ReadError(where, expected=f"whole pixels in {column}", found=excerpt(cell))
    return int(word)
