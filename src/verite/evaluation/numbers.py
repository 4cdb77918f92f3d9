"""Which numbers does an evaluation have, however it was made?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from verite.errors import IS_COMMAND_LINE, VeriteError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verite import _core


@contextmanager
def tell_as(kind: type[VeriteError]) -> Iterator[None]:
    """What the core finds wrong with what it is asked, as an error of ours."""
    try:
        yield
    except VeriteError:
        raise
    except ValueError as error:
        raise kind(str(error) + way_out_of(str(error))) from None


def way_out_of(complaint: str) -> str:
    """What to do about it, in the words of whoever asks, where something can be done."""
    if not complaint.endswith("in two of them"):
        return ""
    way = "--duplicates first" if IS_COMMAND_LINE.get() else 'duplicates="first"'
    return f"; {way} takes the first"


class Numbers:
    """Means of precision and recall over everything that is present."""

    def __init__(self, native: _core.Numbers) -> None:
        self.native = native

    def mean(
        self, kind: str, threshold: int | None, area: int, limit: int, classes: Sequence[bool] | None = None
    ) -> float:
        """Of `precision` or `recall` at one threshold (None: all), area range and limit; of all classes or of some."""
        flags = None if classes is None else bytes(classes)
        return self.native.mean(kind == "precision", threshold, area, limit, flags)

    def class_means(self, kind: str, threshold: int | None, area: int, limit: int) -> list[float]:
        """The same for each class."""
        return self.native.class_means(kind == "precision", threshold, area, limit)
