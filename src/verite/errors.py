"""What can go wrong, and how it is said.

::

    VeriteError
    ├── ReadError       a file is not what it should be        (ValueError)
    ├── DataError       files are readable, but do not fit     (ValueError)
    ├── NotComparable   two scores measure different things    (ValueError)
    ├── BadParameter    an argument is out of its range        (ValueError)
    └── UnknownMetric   no metric has this name                (LookupError)

Every message is one line: where, what was found, what was expected, what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar

# Does somebody read this in a terminal, who mends things by options, or in Python, who does so by arguments?
IS_COMMAND_LINE: ContextVar[bool] = ContextVar("is_command_line", default=False)


class VeriteError(Exception):
    """Anything verite refuses to do, with the reason in one line."""


class ReadError(VeriteError, ValueError):
    """A file is not what it should be.

    >>> print(ReadError("a.txt:3", expected="5 numbers", found="4", remedy="is this a YOLO file?"))
    a.txt:3: expected 5 numbers, found 4; is this a YOLO file?
    """

    def __init__(self, where: object, *, expected: str, found: str, remedy: str = "") -> None:
        self.where, self.expected, self.found, self.remedy = str(where), expected, found, remedy
        line = f"{self.where}: expected {expected}, found {found}" + (f"; {remedy}" if remedy else "")
        super().__init__(one_line(line))

    def __reduce__(self) -> tuple[object, ...]:
        return read_error, (self.where, self.expected, self.found, self.remedy)


def read_error(where: str, expected: str, found: str, remedy: str) -> ReadError:
    """What a pickle holds."""
    return ReadError(where, expected=expected, found=found, remedy=remedy)


class DataError(VeriteError, ValueError):
    """Files can be read, but do not fit each other or the question asked."""


class NotComparable(VeriteError, ValueError):  # noqa: N818 - a statement about two scores, not about an error
    """Two scores measure different things; the message names what differs."""


class BadParameter(VeriteError, ValueError):  # noqa: N818
    """An argument is out of its range."""


class UnknownMetric(VeriteError, LookupError):  # noqa: N818
    """No metric has this name."""


class DataWarning(UserWarning):
    """Something about the data looks wrong, at a door that does not stop for it."""


def one_line(text: str) -> str:
    """`text` with everything that would break a terminal line made visible."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def excerpt(value: object, limit: int = 60) -> str:
    """`value` as it may be quoted in a message: one line, not too long.

    >>> excerpt("0 0.5 0.5")
    "'0 0.5 0.5'"
    """
    text = repr(value) if isinstance(value, str) else str(value)
    return one_line(text if len(text) <= limit else text[: limit - 1] + "…")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ "; did you mean 'x'?" where a known word is near, else nothing."""
    from difflib import get_close_matches

    words = list(known)
    near = get_close_matches(word, words, n=1, cutoff=0.6)
    if not near:
        folded = {w.casefold(): w for w in words}
        near = [folded[w] for w in get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)]
    return f"; did you mean {near[0]!r}?" if near else ""
