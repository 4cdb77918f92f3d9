"""Label Studio's brush strokes: how is a mask packed into bits, and unpacked within bounds?

Four bytes a pixel, row by row, of which the last says whether the brush was there (thi.ng's rle-pack): 32 bits that say
how many bytes there are, 5 how many bits a byte has less one, four times 4 how many bits a length has less one; then, a
bit that says whether one byte is repeated, 2 bits that choose how long the length is, the length less one, and the byte
or as many as the length says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import ReadError, excerpt
from verite.formats.cvat_masks import image_runs, runs, segments, transpose
from verite.formats.outlines import check_mask_size

CHANNELS = 4  # the last one is how opaque a pixel is
WORD = 8
LENGTHS = (3, 4, 8, 16)  # bits, as Label Studio itself chooses them
LONGEST = 1 << LENGTHS[-1]


class Bits:
    """Bits out of bytes, the highest of each byte first."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> int:
        first, last = self.at, self.at + count
        if last > 8 * len(self.data):
            raise EOFError
        self.at = last
        chunk = int.from_bytes(self.data[first // 8 : (last + 7) // 8], "big")
        return chunk >> (-last % 8) & ((1 << count) - 1)


def decode_brush(packed: Any, height: int, width: int, where: str) -> NDArray[np.uint32]:
    """COCO's runs of a mask of this size."""
    check_mask_size(where, height, width)
    expected = f"a brush mask of {height} x {width} pixels (V405)"
    if not isinstance(packed, list) or not all(isinstance(b, int) and 0 <= b < 256 for b in packed):
        raise ReadError(where, expected=expected, found=excerpt(str(packed), 40))
    bits = Bits(bytes(packed))
    try:
        total, word = bits.take(32), bits.take(5) + 1
        if total != height * width * CHANNELS:
            raise ReadError(where, expected=expected, found=f"{total:,} bytes")
        counts = count_rows(stretches(bits, total, word))
    except EOFError:
        raise ReadError(where, expected=expected, found=f"{len(packed):,} bytes, which end too soon") from None
    return image_runs(counts, (0, 0, width, height), height, width)


def stretches(bits: Bits, total: int, word: int) -> Iterator[tuple[bool, int]]:
    """Pixels row by row: whether the brush was there, and for how many of them."""
    lengths = [bits.take(4) + 1 for _ in range(4)]
    at = 0
    while at < total:
        is_repeated = bits.take(1)
        end = min(at + 1 + bits.take(lengths[bits.take(2)]), total)
        if is_repeated:
            yield bits.take(word) > 0, end // CHANNELS - at // CHANNELS
        else:
            for place in range(at, end):
                value = bits.take(word)
                if place % CHANNELS == CHANNELS - 1:
                    yield value > 0, 1
        at = end


def count_rows(found: Iterator[tuple[bool, int]]) -> NDArray[np.uint32]:
    """Runs, the first of them background."""
    counts = [0]
    for is_there, length in found:
        if is_there == (len(counts) % 2 == 0):
            counts[-1] += length
        elif length:
            counts.append(length)
    return np.array(counts, dtype=np.uint32)


def encode_brush(counts: NDArray[np.uint32], height: int, width: int) -> list[int]:
    """A mask as Label Studio packs it."""
    rows = runs(transpose(segments(counts, height), width, height), width, height)
    words = [f"{height * width * CHANNELS:032b}{WORD - 1:05b}", *(f"{bits - 1:04b}" for bits in LENGTHS)]
    for i, length in enumerate(rows.tolist()):
        words += encode_stretch(length * CHANNELS, "1" * WORD if i % 2 else "0" * WORD)
    text = "".join(words)
    text += "0" * (-len(text) % 8)
    return list(int(text, 2).to_bytes(len(text) // 8, "big"))


def encode_stretch(length: int, value: str) -> Sequence[str]:
    whole, rest = divmod(length, LONGEST)
    parts = [LONGEST] * whole + [rest] * (rest > 0)
    return [f"1{len(LENGTHS) - 1:02b}{part - 1:0{LENGTHS[-1]}b}{value}" for part in parts]
