"""Which part of a data set is meant: what train, val and test are called, and what to say where it is not clear."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from verite.errors import BadParameter, ReadError, did_you_mean
from verite.formats.format import Options

T = TypeVar("T")
OTHERS = {"val": "valid", "valid": "val", "validation": "val"}  # the same part, as others call it


def choose_split(path: Path, parts: Mapping[str, T], options: Options, *, expected: str) -> tuple[str, T]:
    """The part that the user names, or the only one there is."""
    if not parts:
        raise ReadError(path, expected=expected, found="none")
    wanted = options.split
    if wanted is None:
        if len(parts) > 1:
            remedy = f"add {options.spell('split', next(iter(parts)))}"
            raise ReadError(path, expected="one part of the data set", found=", ".join(parts), remedy=remedy)
        return next(iter(parts.items()))
    for name in (wanted, OTHERS.get(wanted, wanted)):
        if name in parts:
            return name, parts[name]
    if list(parts) == [""]:
        raise BadParameter(f"split: expected none, as {path} has only one part, found {wanted!r}")
    raise BadParameter(f"split: expected one of {', '.join(parts)}, found {wanted!r}{did_you_mean(wanted, parts)}")
