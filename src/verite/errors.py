"""Exceptions and their messages.

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

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

# Whether messages name options of the command line, rather than arguments of Python.
IS_COMMAND_LINE: ContextVar[bool] = ContextVar("is_command_line", default=False)


def give_sizes(argument: str = "") -> str:
    """What to do where the size of an image is missing: options on the command line, arguments in Python.

    `argument` is the name of the size that the called function has itself, where it has one.

    >>> give_sizes()
    'give image_size=(WIDTH, HEIGHT) or images=FOLDER to verite.read'
    >>> give_sizes("size=(WIDTH, HEIGHT)")
    'give size=(WIDTH, HEIGHT), or image_size=(WIDTH, HEIGHT) or images=FOLDER to verite.read'
    """
    if IS_COMMAND_LINE.get():
        return "give --image-size WIDTH,HEIGHT or --images FOLDER"
    first = f"{argument}, or " if argument else ""
    return f"give {first}image_size=(WIDTH, HEIGHT) or images=FOLDER to verite.read"


def spell_option(name: str, value: object = None) -> str:
    """Return an option of the command line, or in Python the argument of that name.

    Lower-case values are words of a choice, quoted in Python; upper-case ones stand for what a user gives.

    >>> spell_option("max_dets", "N"), spell_option("on", "mask"), spell_option("map")
    ('max_dets=N', 'on="mask"', 'map=')
    >>> token = IS_COMMAND_LINE.set(True)
    >>> spell_option("max_dets", "N"), spell_option("on", "mask"), spell_option("map")
    ('--max-dets N', '--on mask', '--map')
    >>> IS_COMMAND_LINE.reset(token)
    """
    if IS_COMMAND_LINE.get():
        return f"--{name.replace('_', '-')}" + ("" if value is None else f" {value}")
    is_word = isinstance(value, str) and value != value.upper()
    return f"{name}=" + ("" if value is None else f'"{value}"' if is_word else f"{value}")


def spell_options(message: str) -> str:
    """Return a message of the core, which names options of the command line, with arguments in Python.

    >>> spell_options("boxes: expected rotated boxes, found none; evaluate boxes with --on box")
    'boxes: expected rotated boxes, found none; evaluate boxes with on="box"'
    """
    if IS_COMMAND_LINE.get():
        return message

    def spell(found: re.Match[str]) -> str:
        name, value = found.group(1).replace("-", "_"), found.group(2)
        return spell_option(name, value) if value else name

    return re.sub(r"--([a-z]+(?:-[a-z]+)*)(?: (box|mask|[A-Z]+(?:,[A-Z]+)*))?", spell, message)


def to_format(name: str) -> str:
    """Return how to choose a format to write: `--to coco`, in Python `format="coco"`."""
    return f"--to {name}" if IS_COMMAND_LINE.get() else f'format="{name}"'


def fix_file() -> str:
    """Return how to write a corrected copy of a file, which the command line alone does."""
    return "verite inspect FILE --fix OUT" + ("" if IS_COMMAND_LINE.get() else " on the command line")


def ignore_classes() -> str:
    """How to compare places alone: `coco` and `voc` can, and not every protocol."""
    if IS_COMMAND_LINE.get():
        return "verite coco or verite voc with --class-agnostic --checks warn compares places alone"
    return 'verite.coco or verite.voc with class_agnostic=True, checks="warn" compares places alone'


LONGEST = 2_000  # characters of a message: what a file holds may be as long as the file
LONGEST_PART = 600


def cut(text: str, most: int) -> str:
    """Return a text without what is beyond so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


class VeriteError(Exception):
    """Base class of all errors of verite; the message is one line.

    Parameters
    ----------
    message : str
        One line: where, what was expected, what was found, what to do.

    Examples
    --------
    >>> import verite as vt
    >>> try:
    ...     vt.read("missing.json")
    ... except vt.VeriteError as error:
    ...     print(type(error).__name__)
    ReadError
    """

    def __init__(self, *words: object) -> None:
        super().__init__(*(cut(word, LONGEST) if isinstance(word, str) else word for word in words))


class ReadError(VeriteError, ValueError):
    """A file is missing or does not have the expected content.

    Parameters
    ----------
    where : object
        The file, with a line number if there is one.
    expected, found : str
        The expected and the actual content.
    remedy : str, default ''
        What to do.

    Examples
    --------
    >>> print(ReadError("a.txt:3", expected="5 numbers", found="4", remedy="is this a YOLO file?"))
    a.txt:3: expected 5 numbers, found 4; is this a YOLO file?
    """

    def __init__(self, where: object, *, expected: str, found: str, remedy: str = "") -> None:
        self.where, self.expected, self.found, self.remedy = str(where), expected, found, remedy
        expected, found = cut(expected, LONGEST_PART), cut(found, LONGEST_PART)  # so that what to do is read, too
        line = f"{self.where}: expected {expected}, found {found}" + (f"; {remedy}" if remedy else "")
        super().__init__(one_line(line))

    def __reduce__(self) -> tuple[object, ...]:
        return read_error, (self.where, self.expected, self.found, self.remedy)


def read_error(where: str, expected: str, found: str, remedy: str) -> ReadError:
    """Return the error from the content of a pickle."""
    return ReadError(where, expected=expected, found=found, remedy=remedy)


class DataError(VeriteError, ValueError):
    """Files can be read, but ground truth, predictions and settings do not fit together.

    Parameters
    ----------
    message : str
        One line: where, what was expected, what was found, what to do.

    Attributes
    ----------
    findings : tuple of Finding
        What the checks found, where a check is the reason; else empty.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]])
    >>> try:
    ...     vt.coco(truth, vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]]))
    ... except vt.DataError as error:
    ...     print("V301" in str(error), error.findings[0].code)
    True V301
    """

    findings: tuple[Any, ...] = ()


class NotComparable(VeriteError, ValueError):  # noqa: N818 - a statement about two scores, not about an error
    """Two results have different settings or ground truth; the message names the difference.

    Parameters
    ----------
    message : str
        One line: where, what was expected, what was found, what to do.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]])
    >>> pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.9])
    >>> try:
    ...     vt.compare(vt.voc(truth, pred), vt.voc(truth, pred, iou=0.75))
    ... except vt.NotComparable as error:
    ...     print("iou" in str(error))
    True
    """


class BadParameter(VeriteError, ValueError):  # noqa: N818
    """An argument or setting is unknown or out of its range.

    Parameters
    ----------
    message : str
        One line: where, what was expected, what was found, what to do.

    Examples
    --------
    >>> import verite as vt
    >>> try:
    ...     vt.metric("hausdorff(quantile=1.5)")
    ... except vt.BadParameter as error:
    ...     print(error)
    hausdorff: expected quantile in (0, 1], found 1.5
    """


class UnknownMetric(VeriteError, LookupError):  # noqa: N818
    """No metric has this name.

    Parameters
    ----------
    message : str
        One line: where, what was expected, what was found, what to do.

    Examples
    --------
    >>> import verite as vt
    >>> try:
    ...     vt.metric("hausdorf")
    ... except vt.UnknownMetric as error:
    ...     print("did you mean 'hausdorff'?" in str(error))
    True
    """


class DataWarning(UserWarning):
    """Warning of a check: the data look wrong, and the evaluation goes on.

    Parameters
    ----------
    message : str
        One line: where, what was expected, what was found, what to do.

    Examples
    --------
    >>> import warnings
    >>> import verite as vt
    >>> warnings.simplefilter("ignore", vt.DataWarning)         # doctest: +SKIP
    """


def one_line(text: str) -> str:
    """`text` with everything that would break a terminal line made visible."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def excerpt(value: object, limit: int = 60) -> str:
    """`value` as it may be quoted in a message: one line, not too long.

    >>> excerpt("0 0.5 0.5")
    "'0 0.5 0.5'"
    """
    try:
        text = repr(str(value)) if isinstance(value, str) else str(value)  # np.str_ has a repr of its own
    except Exception:  # a number of thousands of digits, an object that cannot show itself
        text = type(value).__name__
    return one_line(text if len(text) <= limit else text[: limit - 1] + "…")


def count_words(words: Sequence[str]) -> str:
    """Return how many words a line of text has, with their beginning.

    >>> count_words(["0", "0.5"]), count_words(["{"])
    ("2 words ('0 0.5')", "1 word ('{')")
    """
    return f"{len(words)} word{'s' if len(words) != 1 else ''} ({excerpt(' '.join(words))})"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ "; did you mean 'x'?" where a known word is near, else nothing."""
    from difflib import get_close_matches

    word, words = str(word), list(known)
    near = get_close_matches(word, words, n=1, cutoff=0.6)
    if not near:
        folded = {w.casefold(): w for w in words}
        near = [folded[w] for w in get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)]
    return f"; did you mean {near[0]!r}?" if near else ""


UNREADABLE = "V402"  # of a record for which there is no particular code

UNLABELLED = "V207"  # of a shape that has no class: left out whoever reads

CODE = r" \((V\d{3})\)"

PLACES = 5  # remembered of each kind

KINDS = 20  # of skipped records that are counted separately

_IS_LISTING: ContextVar[bool] = ContextVar("is_listing", default=False)


@dataclass(frozen=True)
class SkippedRecord:
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


class ErrorCollector:
    """What is done about wrong records of one file.

    >>> tolerance = ErrorCollector()
    >>> with list_faults(), tolerance:
    ...     raise ReadError("a.txt:3", expected="4 numbers", found="3")
    >>> tolerance.flaws
    (SkippedRecord(code='V402', what='expected 4 numbers', count=1, places=('a.txt:3: found 3',), remedy=''),)
    """

    def __init__(self) -> None:
        self.kinds: dict[tuple[str, str], SkippedRecord] = {}

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
        flaw = self.kinds.get((code, what), SkippedRecord(code, what, 0, (), remedy))
        places = flaw.places if len(flaw.places) >= PLACES else (*flaw.places, place)
        self.kinds[code, what] = SkippedRecord(code, what, flaw.count + 1, places, flaw.remedy)

    def add_all(self, flaws: Iterable[SkippedRecord]) -> None:
        """Wrong records of another file of the same side."""
        for flaw in flaws:
            known = self.kinds.get((flaw.code, flaw.what), SkippedRecord(flaw.code, flaw.what, 0, (), flaw.remedy))
            places = (*known.places, *flaw.places)[:PLACES]
            self.kinds[flaw.code, flaw.what] = SkippedRecord(
                known.code, known.what, known.count + flaw.count, places, known.remedy
            )

    @property
    def flaws(self) -> tuple[SkippedRecord, ...]:
        return tuple(self.kinds.values())
