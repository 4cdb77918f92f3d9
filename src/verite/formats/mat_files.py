"""MATLAB 5 files (.mat) of cell arrays, texts and numbers: the subset lists of WIDER FACE.

Only what these lists need: little-endian files with cells, character arrays and real numbers, compressed or not.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import ReadError
from verite.files import read_bytes
from verite.limits import limit, remedy

HEADER = 128
MATRIX, COMPRESSED, UTF8 = 14, 15, 16
CELL, CHAR = 1, 4
# Numpy types of the elements, by their number in the file.
TYPES = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8", 12: "<i8", 13: "<u8", 16: "u1",
         17: "<u2", 18: "<u4"}  # fmt: skip
NUMERIC = range(6, 16)


class Reader:
    """Elements of a MATLAB 5 file, one after the other."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data, self.at = path, data, 0

    def error(self, expected: str, found: str) -> ReadError:
        return ReadError(self.path, expected=expected, found=found)

    def element(self) -> tuple[int, bytes]:
        """Return the type and the bytes of the next element; small ones have both in eight bytes."""
        if self.at + 8 > len(self.data):
            raise self.error("the rest of the file", "its end; was it cut off?")
        kind, size = struct.unpack_from("<II", self.data, self.at)
        if kind >> 16:
            found = self.data[self.at + 4 : self.at + 4 + (kind >> 16)]
            self.at += 8
            return kind & 0xFFFF, found
        start = self.at + 8
        if start + size > len(self.data):
            raise self.error("the rest of the file", "its end; was it cut off?")
        self.at = start + size
        if kind != COMPRESSED:
            self.at += -self.at % 8
        return kind, self.data[start : start + size]

    def numbers(self) -> Any:
        """Return the next element as an array of numbers."""
        kind, data = self.element()
        if kind not in TYPES:
            raise self.error("numbers or texts", f"an element of type {kind}")
        return np.frombuffer(data[: len(data) - len(data) % np.dtype(TYPES[kind]).itemsize], TYPES[kind])


def read_matrix(path: Path, data: bytes) -> tuple[str, Any]:
    """Return the name and the value of a matrix: a list of cells, a text, or an array with MATLAB's shape."""
    reader = Reader(path, data)
    flags, shape = reader.numbers(), tuple(int(side) for side in reader.numbers())
    name = reader.element()[1].decode("latin-1")
    kind, count = int(flags[0]) & 0xFF, int(np.prod(shape, dtype=np.int64))
    if kind == CELL:
        if not 0 <= count <= len(data):
            raise reader.error("as many cells as there are bytes at most", str(count))
        return name, [read_matrix(path, reader.element()[1])[1] for _ in range(count)]
    if kind == CHAR:
        return name, "".join(map(chr, reader.numbers().tolist()))
    if kind not in NUMERIC or (int(flags[0]) >> 8) & 0x08:
        raise reader.error("cells, texts or real numbers", f"an array of class {kind}")
    values = reader.numbers()
    if len(values) != count:
        raise reader.error(f"{count} numbers", str(len(values)))
    return name, values.reshape(shape, order="F")


def read_mat(path: Path) -> dict[str, NDArray[Any]]:
    """Return the variables of a MATLAB 5 file by name.

    Raises
    ------
    ReadError
        If it is no such file, or is cut off.
    """
    data = read_bytes(path)
    if len(data) < HEADER or data[126:128] != b"IM":
        hint = "an HDF5 file of MATLAB 7.3; save it with -v7" if data[:8] == b"\x89HDF\r\n\x1a\n" else "another file"
        raise ReadError(path, expected="a MATLAB 5 file", found=hint)
    reader, found = Reader(path, data[HEADER:]), {}
    most = limit("unpacked_ratio") * len(data)
    while reader.at < len(reader.data):
        kind, content = reader.element()
        if kind == COMPRESSED:
            unpacker = zlib.decompressobj()
            try:
                content = unpacker.decompress(content, most)
            except zlib.error as error:
                raise ReadError(path, expected="compressed data", found=str(error)) from None
            if unpacker.unconsumed_tail:
                raise ReadError(path, expected=f"at most {most:,} bytes unpacked", found="more",
                                remedy=remedy("unpacked_ratio"))  # fmt: skip
            kind, content = Reader(path, content).element()
        if kind == MATRIX:
            try:
                name, value = read_matrix(path, content)
            except (struct.error, ValueError, IndexError, RecursionError) as error:
                raise ReadError(path, expected="arrays of MATLAB", found=str(error)) from None
            found[name] = value
    return found
