"""Which faults of a file end its reading? The first one, unless somebody wants a list of all of them.

Readers go through records inside of a `Tolerance`. Within `list_faults()` a record that is wrong is left out and
remembered; otherwise its error goes to whoever reads. What was left out stays with the annotations as flaws, which the
checks put into words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from verite.errors import ReadError
from verite.records import record

UNREADABLE = "V402"  # of a record for which there is no particular code
UNLABELLED = "V207"  # of a shape that has no class: left out whoever reads
CODE = r" \((V\d{3})\)"
PLACES = 5  # remembered of each kind
KINDS = 20  # told apart
_IS_LISTING: ContextVar[bool] = ContextVar("is_listing", default=False)


@record()
class Flaw:
    """Records of one kind that are wrong: how many, and the first few of them."""

    code: str
    what: str
    count: int
    places: tuple[str, ...]
    remedy: str


@contextmanager
def list_faults() -> Iterator[None]:
    """Within this block readers go on after a record that is wrong."""
    token = _IS_LISTING.set(True)
    try:
        yield
    finally:
        _IS_LISTING.reset(token)


def is_listing() -> bool:
    return _IS_LISTING.get()


class Tolerance:
    """What is done about wrong records of one file.

    >>> tolerance = Tolerance()
    >>> with list_faults(), tolerance:
    ...     raise ReadError("a.txt:3", expected="4 numbers", found="3")
    >>> tolerance.flaws
    (Flaw(code='V402', what='expected 4 numbers', count=1, places=('a.txt:3: found 3',), remedy=''),)
    """

    def __init__(self) -> None:
        self.kinds: dict[tuple[str, str], Flaw] = {}

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, traceback: object) -> bool:
        if not isinstance(error, ReadError) or not is_listing():
            return False
        self.add_error(error)
        return True

    def add_error(self, error: ReadError) -> None:
        """A record that is left out because of this."""
        found = re.search(CODE, str(error))
        expected, remedy = (re.sub(CODE, "", text) for text in (error.expected, error.remedy))
        self.add(
            found[1] if found else UNREADABLE, f"expected {expected}", f"{error.where}: found {error.found}", remedy
        )

    def add(self, code: str, what: str, place: str, remedy: str) -> None:
        """A record that is wrong in this way, at this place."""
        if (code, what) not in self.kinds and len(self.kinds) >= KINDS:
            code, what = UNREADABLE, "wrong in other ways"
        flaw = self.kinds.get((code, what), Flaw(code, what, 0, (), remedy))
        places = flaw.places if len(flaw.places) >= PLACES else (*flaw.places, place)
        self.kinds[code, what] = Flaw(code, what, flaw.count + 1, places, flaw.remedy)

    def add_all(self, flaws: Iterable[Flaw]) -> None:
        """Wrong records of another file of the same side."""
        for flaw in flaws:
            known = self.kinds.get((flaw.code, flaw.what), Flaw(flaw.code, flaw.what, 0, (), flaw.remedy))
            places = (*known.places, *flaw.places)[:PLACES]
            self.kinds[flaw.code, flaw.what] = Flaw(
                known.code, known.what, known.count + flaw.count, places, known.remedy
            )

    @property
    def flaws(self) -> tuple[Flaw, ...]:
        return tuple(self.kinds.values())
