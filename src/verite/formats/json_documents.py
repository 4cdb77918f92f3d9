"""JSON documents decoded to typed records (msgspec), with every error in one line that names its place."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from verite.arrays import np
from verite.errors import ErrorCollector, ReadError, excerpt
from verite.files import read_bytes, write_atomically
from verite.limits import limit, remedy

if TYPE_CHECKING:
    import msgspec
    from numpy.typing import NDArray

T = TypeVar("T")

NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))

STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')

WORDS = {"int": "a whole number", "float": "a number", "str": "text", "bool": "true or false", "null": "null"}

WORDS |= {"array": "an array", "object": "an object"}

ANYWHERE = frozenset({"*"})  # NaN is let through under every key, as Python's json module and the core do


def decode(path: Path, kind: Any, *, nan_in: frozenset[str] = frozenset()) -> Any:
    """The document as `kind`. Python writes NaN into JSON, which is none; under the keys `nan_in` it is let through."""
    return decode_bytes(path, read_bytes(path), kind, nan_in=nan_in)


def decode_bytes(path: Path, data: bytes, kind: Any = Any, *, nan_in: frozenset[str] = frozenset()) -> Any:
    """Decode JSON in memory, or a part of a file; messages call it `path`."""
    import msgspec

    data = data.removeprefix(b"\xef\xbb\xbf")
    check_depth(path, data)
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise explain_misfit(path, error) from None
    except msgspec.DecodeError as error:
        if re.search(rb"NaN|Infinity", data) and (document := decode_with_nan(path, data, kind, nan_in)) is not None:
            return document
        raise explain_syntax(path, data, error) from None
    except UnicodeDecodeError as error:
        odd = error
        try:
            data.decode()
        except UnicodeDecodeError as whole:  # with the position in the file; msgspec's is that in a string
            odd = whole
        line, byte = data.count(b"\n", 0, odd.start) + 1, odd.object[odd.start]
        found = f"byte 0x{byte:02x} at position {odd.start}"
        raise ReadError(f"{path}:{line}", expected="UTF-8 text", found=found, remedy="save the file as UTF-8") from None
    except RecursionError:
        raise explain_depth(path) from None


def convert_records(place: str, records: Sequence[Any], kind: type[T], errors: ErrorCollector) -> dict[int, T]:
    """Records of a list as `kind`, by their numbers; those that are none are left out, where that is tolerated."""
    import msgspec

    found = {}
    for i, record in enumerate(records):
        with errors:
            try:
                found[i] = msgspec.convert(record, kind)
            except msgspec.ValidationError as error:
                raise explain_misfit(f"{place}[{i}]", error) from None
    return found


def decode_with_nan(path: Path, data: bytes, kind: Any, nan_in: frozenset[str]) -> Any:
    """Decode a document in which all that is wrong is NaN in the right places; None if something else is wrong, too."""
    import msgspec

    try:
        document = json.loads(data.decode())
        odd = None if nan_in == ANYWHERE else odd_value(document, "", nan_in)
    except (ValueError, RecursionError):
        return None
    if odd is not None:
        place, expected, found = odd
        raise ReadError(f"{path}: {place.strip('.')}", expected=expected, found=found)
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise explain_misfit(path, error) from None
    except RecursionError:
        raise explain_depth(path) from None


def odd_value(value: Any, place: str, nan_in: frozenset[str]) -> tuple[str, str, str] | None:
    """Place, expectation and finding of the first value that Python's json module accepts and JSON does not have."""
    if isinstance(value, float) and not np.isfinite(value):
        return place, "a number", str(value)
    if isinstance(value, str) and not value.isascii() and value != value.encode("utf-8", "replace").decode():
        return place, "text", "half a surrogate pair"
    inside: Any = ()
    if isinstance(value, dict):
        keys = ((f"{place}: key", key) for key in value)
        inside = chain(keys, ((f"{place}.{key}", child) for key, child in value.items() if key not in nan_in))
    elif isinstance(value, list):
        inside = ((f"{place}[{i}]", child) for i, child in enumerate(value))
    return next((odd for where, child in inside if (odd := odd_value(child, where, nan_in)) is not None), None)


def explain_misfit(where: Path | str, error: msgspec.ValidationError) -> ReadError:
    """A value of the wrong kind, in our words instead of msgspec's; `where` is the file or a record in it.

    Parameters
    ----------
    where
        The file, or a record in it.
    error
        What msgspec found.

    Returns
    -------
    ReadError
        The error with the path of the value, what was expected and what was found.
    """
    message, _, place = str(error).partition(" - at `$")
    expected, found = translate(message)
    inside = f": {place.strip('`.') or 'top level'}" if isinstance(where, Path) else place.strip("`")
    return ReadError(f"{where}{inside}", expected=expected, found=found)


def translate(message: str) -> tuple[str, str]:
    """Return what was expected and found, from msgspec's message.

    >>> translate("Expected `float | null`, got `str`")
    ('a number', 'text')
    """
    if match := re.match(r"Expected `array` of length (\d+)(?:, got (\d+))?", message):
        return f"{match[1]} values", match[2] or "another number of them"
    if match := re.match(r"Expected `(.+)`, got `(.+)`", message):
        kinds = [kind for kind in match[1].split(" | ") if kind != "null"]
        return " or ".join(WORDS.get(kind, kind) for kind in kinds), WORDS.get(match[2], match[2])
    if match := re.match(r"Object missing required field `(.+)`", message):
        return f"a key {match[1]!r}", "none"
    if match := re.match(r"Expected `int` ([<>])= (-?\d+)", message):
        return f"a whole number {'up to' if match[1] == '<' else 'from'} {match[2]}", "one beyond"
    if message == "Number out of range":
        return "a number", "one too large to hold"
    return "a value that fits", excerpt(message)


def explain_syntax(path: Path, data: bytes, error: msgspec.DecodeError) -> ReadError:
    """Return the error of text that is not JSON, with its position."""
    if "truncated" in str(error):
        found = f"the end of the file at byte {len(data)}"
        return ReadError(path, expected="a whole JSON document", found=found, remedy="was it cut off? (V403)")
    byte = int(match[1]) if (match := re.search(r"byte (\d+)", str(error))) else 0
    line = data.count(b"\n", 0, byte) + 1
    near = data[max(0, byte - 10) : byte + 20].decode("utf-8", errors="replace")
    return ReadError(f"{path}:{line}", expected="JSON", found=f"{excerpt(near)} around byte {byte}")


def check_depth(path: Path, data: bytes) -> None:
    """Refuse deep nesting before parsing; msgspec's own guard covers brackets that are hidden in strings.

    Parameters
    ----------
    path
        The file, for the message.
    data
        Its bytes.
    """
    most = limit("json_depth")
    if data.count(b"[") + data.count(b"{") <= most or depth_of(data) <= most:
        return
    # Brackets inside strings do not count; strings are removed only where the bound is exceeded, as that takes time.
    if depth_of(STRING.sub(b"", data)) > most:
        raise explain_depth(path)


def depth_of(data: bytes) -> int:
    brackets = np.frombuffer(data.translate(None, NO_BRACKETS), dtype=np.uint8)
    is_opening = (brackets == ord("[")) | (brackets == ord("{"))
    return int(np.cumsum(np.where(is_opening, 1, -1), dtype=np.int64).max(initial=0))


def explain_depth(path: Path) -> ReadError:
    most = limit("json_depth")
    return ReadError(path, expected=f"at most {most} levels of nesting", found="more", remedy=remedy("json_depth"))


def check_finite(path: Path, what: str, values: NDArray[np.float64]) -> None:
    """JSON has no NaN: written all the same, it could not be read back.

    Parameters
    ----------
    path
        The file to be written.
    what
        What the values are, for the message.
    values
        One row per object.
    """
    is_finite = np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
    if not is_finite.all():
        found = f"NaN or infinity in object {int(np.argmin(is_finite))}"
        raise ReadError(path, expected=f"{what} that JSON can hold", found=found, remedy="fix it or leave it out")


def write_json(path: Path, document: Any) -> None:
    """One line, whole or not at all."""
    import msgspec

    write_atomically(path, msgspec.json.encode(document) + b"\n")
