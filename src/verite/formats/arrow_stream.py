"""Tables by the Arrow C stream interface, read with ctypes alone: polars, pyarrow, DuckDB and pandas 3 offer it.

The structures and type codes are those of Arrow's specification of the C data and C stream interfaces. Every buffer is
copied before it is released.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, excerpt

Values = NDArray[Any] | list[Any]


class ArrowSchema(ctypes.Structure):
    """What a column is: a type in letters, a name, and the columns inside it."""


class ArrowArray(ctypes.Structure):
    """A stretch of a column: buffers, and the columns inside it."""


class ArrowStream(ctypes.Structure):
    """Stretch after stretch of a table."""


Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)),
    ("release", Release),
    ("private_data", ctypes.c_void_p),
]
ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", Release),
    ("private_data", ctypes.c_void_p),
]
ArrowStream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ArrowSchema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ArrowArray))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
    ("release", Release),
    ("private_data", ctypes.c_void_p),
]

NUMBERS = {"c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8"}
NUMBERS |= {"e": "f2", "f": "f4", "g": "f8"}
OFFSETS = {"u": "i4", "z": "i4", "+l": "i4", "U": "i8", "Z": "i8", "+L": "i8"}


def read_stream(table: Any) -> dict[str, Values]:
    """The columns of a table by name; those of types that no annotation needs are left out."""
    capsule = table.__arrow_c_stream__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer(capsule, b"arrow_array_stream")
    stream = ArrowStream.from_address(address)
    schema = ArrowSchema()
    check(stream, address, stream.get_schema(address, ctypes.byref(schema)))
    try:
        if (schema.format or b"").decode() != "+s":
            raise BadParameter("table: expected columns with names, found a single one")
        kinds = [schema.children[i].contents for i in range(schema.n_children)]
        names = [(kind.name or b"").decode("utf-8", "replace") for kind in kinds]
        parts: list[list[Values | None]] = [[] for _ in kinds]
        while (batch := next_batch(stream, address)) is not None:
            try:
                for i, kind in enumerate(kinds):
                    parts[i].append(decode(kind, batch.children[i].contents, batch.offset, batch.length))
            finally:
                batch.release(ctypes.addressof(batch))
        empty = [decode_empty(kind) for kind in kinds]
    finally:
        if schema.release:
            schema.release(ctypes.addressof(schema))
        if stream.release:
            stream.release(address)
    columns = {name: join_stretches(part, none) for name, part, none in zip(names, parts, empty, strict=True)}
    return {name: values for name, values in columns.items() if values is not None}


def check(stream: ArrowStream, address: int, status: int) -> None:
    if status:
        said = (stream.get_last_error(address) or b"an error").decode("utf-8", "replace")
        raise BadParameter(f"table: expected a stream that can be read, found {excerpt(said)}")


def next_batch(stream: ArrowStream, address: int) -> ArrowArray | None:
    batch = ArrowArray()
    check(stream, address, stream.get_next(address, ctypes.byref(batch)))
    return batch if batch.release else None


def join_stretches(parts: list[Values | None], empty: Values | None) -> Values | None:
    """The stretches of one column."""
    if not parts:
        return empty
    if any(part is None for part in parts):
        return None
    if any(isinstance(part, list) for part in parts):
        return [value for part in parts if part is not None for value in part]
    return np.concatenate([np.asarray(part) for part in parts])


def decode_empty(kind: ArrowSchema) -> Values | None:
    letters = kind.format.decode()
    return np.empty(0, NUMBERS[letters]) if letters in NUMBERS else []


def decode(kind: ArrowSchema, array: ArrowArray, start: int = 0, length: int | None = None) -> Values | None:
    """`length` values from `start` on; None for types that are of no use here."""
    length = array.length if length is None else length
    start += array.offset
    letters = kind.format.decode()
    if kind.dictionary:
        return decode_dictionary(kind, array, start, length)
    reader = READERS.get(letters) or next((read for key, read in READERS.items() if letters.startswith(key)), None)
    if letters in NUMBERS:
        return with_nulls(buffer(array, 1, NUMBERS[letters], start, length), nulls(array, start, length))
    return reader(kind, array, start, length) if reader is not None else None


def buffer(array: ArrowArray, i: int, dtype: str, start: int, length: int) -> NDArray[Any]:
    """A copy of a stretch of one buffer."""
    size = np.dtype(dtype).itemsize
    address = array.buffers[i]
    if not length or not address:
        return np.zeros(length, dtype)
    raw = ctypes.string_at(address + start * size, length * size)
    return np.frombuffer(raw, dtype)


def bits(address: int, start: int, length: int) -> NDArray[np.bool_]:
    first, last = start // 8, (start + length + 7) // 8
    raw = np.frombuffer(ctypes.string_at(address + first, last - first), np.uint8)
    found = np.unpackbits(raw, bitorder="little")[start - 8 * first :][:length]
    return found.astype(np.bool_)


def nulls(array: ArrowArray, start: int, length: int) -> NDArray[np.bool_] | None:
    """Where nothing is; None where something is everywhere."""
    if array.null_count == 0 or not length or not array.buffers[0]:
        return None
    absent = ~bits(array.buffers[0], start, length)
    return absent if absent.any() else None


def with_nulls(values: NDArray[Any], absent: NDArray[np.bool_] | None) -> Values:
    """Numbers, NaN where there is none; numbers of more than 53 bits stay what they are."""
    if absent is None:
        return values
    if values.dtype.kind in "iu" and len(values) and max(abs(int(values.min())), int(values.max())) > 2**53:
        return without(values.tolist(), absent)
    out = values.astype(np.float64)
    out[absent] = np.nan
    return out


def read_nothing(kind: ArrowSchema, array: ArrowArray, start: int, length: int) -> Values:
    """A column of nulls, which has no type of its own."""
    return [None] * length


def read_bools(kind: ArrowSchema, array: ArrowArray, start: int, length: int) -> Values:
    if not length:
        return np.empty(0, np.bool_)
    return with_nulls(bits(array.buffers[1], start, length), nulls(array, start, length))


def read_texts(kind: ArrowSchema, array: ArrowArray, start: int, length: int) -> Values:
    if not length:
        return []
    ends = buffer(array, 1, OFFSETS[kind.format.decode()], start, length + 1)
    first, last = int(ends[0]), int(ends[-1])
    raw = ctypes.string_at(array.buffers[2] + first, last - first) if last > first else b""
    absent = nulls(array, start, length)
    bounds = (ends - first).tolist()
    texts: list[Any] = [raw[a:b].decode("utf-8", "replace") for a, b in pairwise(bounds)]
    return without(texts, absent)


def read_text_views(kind: ArrowSchema, array: ArrowArray, start: int, length: int) -> Values:
    """Texts of up to twelve bytes in place, longer ones in one of the data buffers."""
    if not length:
        return []
    raw = ctypes.string_at(array.buffers[1] + 16 * start, 16 * length)
    views = np.frombuffer(raw, np.int32).reshape(-1, 4)
    texts: list[Any] = []
    for i, (size, _, which, at) in enumerate(views.tolist()):
        data = (
            raw[16 * i + 4 : 16 * i + 4 + size] if size <= 12 else ctypes.string_at(array.buffers[2 + which] + at, size)
        )
        texts.append(data.decode("utf-8", "replace"))
    return without(texts, nulls(array, start, length))


def without(values: list[Any], absent: NDArray[np.bool_] | None) -> list[Any]:
    return values if absent is None else [None if gone else v for v, gone in zip(values, absent.tolist(), strict=True)]


def read_lists(kind: ArrowSchema, array: ArrowArray, start: int, length: int) -> Values | None:
    if not length:
        return []
    ends = buffer(array, 1, OFFSETS[kind.format.decode()], start, length + 1).tolist()
    inner = decode(kind.children[0].contents, array.children[0].contents, ends[0], ends[-1] - ends[0])
    if inner is None:
        return None
    values = [inner[a - ends[0] : b - ends[0]] for a, b in pairwise(ends)]
    return without(values, nulls(array, start, length))


def read_fixed_lists(kind: ArrowSchema, array: ArrowArray, start: int, length: int) -> Values | None:
    size = int(kind.format.decode().removeprefix("+w:"))
    inner = decode(kind.children[0].contents, array.children[0].contents, start * size, length * size)
    if inner is None:
        return None
    return without([inner[i * size : (i + 1) * size] for i in range(length)], nulls(array, start, length))


def read_structs(kind: ArrowSchema, array: ArrowArray, start: int, length: int) -> Values | None:
    """Values with names, as dictionaries."""
    inner = [kind.children[i].contents for i in range(kind.n_children)]
    columns = {
        (one.name or b"").decode("utf-8", "replace"): decode(one, array.children[i].contents, start, length)
        for i, one in enumerate(inner)
    }
    known = {name: values for name, values in columns.items() if values is not None}
    return without(
        [{name: values[i] for name, values in known.items()} for i in range(length)], nulls(array, start, length)
    )


def read_decimals(kind: ArrowSchema, array: ArrowArray, start: int, length: int) -> Values | None:
    """Numbers of 128 bits and a scale, as float64."""
    _, scale, *width = kind.format.decode().removeprefix("d:").split(",")
    if width and width[0] != "128":
        return None
    pairs = buffer(array, 1, "i8", 2 * start, 2 * length).reshape(-1, 2).tolist()
    values = [((high << 64) | (low & (2**64 - 1))) / 10 ** int(scale) for low, high in pairs]
    return with_nulls(np.array(values, dtype=np.float64), nulls(array, start, length))


def decode_dictionary(kind: ArrowSchema, array: ArrowArray, start: int, length: int) -> Values | None:
    """Values that are kept once and named by their numbers."""
    values = decode(kind.dictionary.contents, array.dictionary.contents)
    if values is None:
        return None
    at = buffer(array, 1, NUMBERS[kind.format.decode()], start, length).tolist()
    absent = nulls(array, start, length)
    gone = absent.tolist() if absent is not None else [False] * length
    return [None if missing else values[i] for i, missing in zip(at, gone, strict=True)]


Reader = Callable[[ArrowSchema, ArrowArray, int, int], Values | None]
READERS: dict[str, Reader] = {
    "n": read_nothing,
    "b": read_bools,
    "u": read_texts,
    "U": read_texts,
    "vu": read_text_views,
    "+l": read_lists,
    "+L": read_lists,
    "+w:": read_fixed_lists,
    "+s": read_structs,
    "d:": read_decimals,
}
