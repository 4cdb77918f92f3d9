"""What is wrong with a file that the core reads, in our words?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from verite import _core
from verite.errors import ReadError
from verite.limits import remedy

# What else to say, by the reader's codes.
CODES = {"run_sum": " (V405)", "ring_points": " (V408)"}
HINTS = {"truncated": "was it cut off? (V403)", "empty": "was it cut off? (V403)"}

# What a field of a record is to hold, where it holds something else.
FIELDS = {
    "image_id": "write the id that the image has in the truth",
    "category_id": "write the number that the class has in the truth's categories, not its name",
    "score": "write a number without quotation marks",
    "bbox": "write left, top, width, height: [10.5, 20, 30, 40]",
}


@contextmanager
def translate_core_errors(path: object = "") -> Iterator[None]:
    """What the core complains about in this block as a `ReadError`; segmentations may be read long after their file."""
    try:
        yield
    except _core.ParseError as error:
        raise complain(path or error.path, error) from None
    except _core.ChangedFileError as error:
        place = path or error.path
        raise ReadError(place, expected="the file as it was when first read", found=str(error)) from None
    except OSError as error:
        found = (error.strerror or str(error)).lower()
        raise ReadError(path or error.filename, expected="a readable file", found=found) from None


def complain(path: object, error: Any) -> ReadError:
    """Place, expectation and finding of the reader in one line."""
    if error.code == "truncated":
        expected, found = "a whole JSON document", str(error)
    else:
        expected, found = error.expected + CODES.get(error.code, ""), f"{error.found} at byte {error.byte}"
    has_place = error.place and error.code != "truncated"
    place = f"{path}: {error.place}" if has_place else f"{path}:{error.line}"
    hint = remedy("json_depth") if error.code == "depth" else HINTS.get(error.code, "") or name_slip(error)
    return ReadError(place, expected=expected, found=found, remedy=hint)


def name_slip(error: Any) -> str:
    """What somebody probably did, by what stands where; nothing where that says nothing."""
    if error.found == "']'" and error.expected == "an object":
        return "is there a comma after the last record?"
    if error.place == "results[0]" and error.found == "an array":
        return "put the records of all images into one list"
    return FIELDS.get(error.place.rpartition(".")[2], "") if error.code == "type" else ""
