"""What is a check? A record: its code, how bad it is, what is wrong and what mends it, what it looks at and who looks.

Records are plain data, so that nothing is imported before a check has something to say. The order in which they are
declared is the order in which they run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from verite.errors import IS_COMMAND_LINE, DataError, DataWarning, did_you_mean, one_line

SideName = Literal["truth", "pred"]

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")  # the worst first

EXAMPLES = 5

COMPARED = 2000  # names among which the nearest is looked for


@dataclass(frozen=True)
class Fix:
    """Options of `verite.read` that put one side right, as words for the command line and for Python.

    >>> fix = Fix("pred", (("boxes", "cxcywh"), ("coords", "rel"), ("image_size", (640, 480))))
    >>> print(fix.as_options())
    --pred-boxes cxcywh --pred-coords rel --image-size 640,480
    >>> print(fix.as_python())
    boxes="cxcywh", coords="rel", image_size=(640, 480)
    """

    side: SideName
    options: tuple[tuple[str, object], ...]  # keyword arguments of verite.read

    def as_options(self) -> str:
        return " ".join(self._option(name, value) for name, value in self.options)

    def _option(self, name: str, value: object) -> str:
        if name == "image_size":
            assert isinstance(value, tuple)
            return f"--image-size {value[0]},{value[1]}"
        text = str(value)
        quoted = f'"{text}"' if "*" in text else text  # or the shell looks for files of that name
        return f"--{self.side}-{name.replace('_', '-')} {quoted}"

    def as_python(self) -> str:
        return ", ".join(f'{name}="{v}"' if isinstance(v, str) else f"{name}={v!r}" for name, v in self.options)


@dataclass(frozen=True)
class Finding:
    """One thing that is suspicious: a code that stays, a sentence, how often, where for example, what to do."""

    code: str
    severity: Severity
    message: str
    count: int
    examples: tuple[str, ...]
    fix: Fix | str
    side: SideName = "pred"  # whose file is at fault

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", one_line(self.message))
        object.__setattr__(self, "examples", tuple(one_line(text) for text in self.examples[:EXAMPLES]))

    @property
    def remedy(self) -> str:
        return f"add {self.fix.as_options()}" if isinstance(self.fix, Fix) else self.fix

    def __str__(self) -> str:
        return one_line(f"{self.code} {self.message}; {self.remedy}")

    def in_python(self, words: str) -> str:
        """The same for who has no options but arguments, of which `words` speak."""
        remedy = words.format(self.fix.as_python()) if isinstance(self.fix, Fix) else self.fix
        return one_line(f"{self.code} {self.message}; {remedy}")

    def to_dict(self) -> dict[str, Any]:
        """Plain values; `options` are those of the command line, null where words must do."""
        fix = self.fix if isinstance(self.fix, Fix) else None
        return {
            "code": self.code,
            "severity": self.severity,
            "side": self.side,
            "message": self.message,
            "count": self.count,
            "examples": list(self.examples),
            "fix": self.remedy,
            "options": fix.as_options() if fix else None,
            "python": fix.as_python() if fix else None,
        }


def stop_on_errors(findings: Sequence[Finding], paths: Mapping[str, str]) -> None:
    """Raise the first error among the findings, and say how many more there are; `paths` by side."""
    errors = [finding for finding in findings if finding.severity == "error"]
    if not errors:
        return
    path = paths.get(errors[0].side)
    where = f"{path}: " if path else "truth: " if errors[0].side == "truth" else ""
    more = {0: "", 1: "one more error; "}.get(len(errors) - 1, f"{len(errors) - 1} more errors; ")
    if IS_COMMAND_LINE.get():
        way_out = f"{errors[0]} ({more}verite inspect shows everything, --checks warn goes on regardless)"
    else:
        said = errors[0].in_python("read it with {}")
        way_out = f'{said} ({more}verite.inspect shows everything, checks="warn" goes on regardless)'
    raise DataError(one_line(f"{where}{way_out}"))


def warn_of(findings: Sequence[Finding], who: str) -> None:
    """One Python warning with the worst of the findings, and how many more there are."""
    if not findings:
        return
    import warnings

    more = f" ({len(findings) - 1} more)" if len(findings) > 1 else ""
    said = findings[0].in_python("convert them before you hand them over (verite.read takes {})")
    warnings.warn(f"{who}: {said}{more}", DataWarning, stacklevel=3)


def near_word(word: str, known: Sequence[str]) -> str | None:
    """What did_you_mean would say, the bare word; among many names only those that begin or end alike."""
    if len(known) > COMPARED:
        alike = [k for k in known if k[:3] == word[:3] or k[-8:] == word[-8:]]
        known = (alike or list(known))[:COMPARED]
    said = did_you_mean(word, known)
    return said.removeprefix("; did you mean '").removesuffix("'?") or None


# What a check looks at: one side alone, predictions on their truth, or the bytes of a file while it is read.
Subject = Literal["truth", "pred", "pair", "file"]

Look = Callable[[Any], Iterable["Finding"]]


@dataclass(frozen=True)
class Check:
    """One check. `look` takes a `Side` or a `Pair` and yields findings; several records may share one.

    `cleared_by` names counts of the census: where all of them are zero there is nothing to find and nobody looks.
    A check that names none always runs. `misfit` among them says that the quick fit covers the check.
    """

    code: str
    severity: Severity  # at worst
    title: str
    remedy: str
    subjects: tuple[Subject, ...]
    look: str | Look = ""  # "module:function" below verite.checks; "" where the reader of a format says it
    cleared_by: tuple[str, ...] = ()
    notes_more: bool = False  # `inspect` runs it even where the census clears it, for what is a note at most
    is_slow: bool = False  # left to `inspect`, which has the time to read polygons and to evaluate twice

    @property
    def is_covered(self) -> bool:
        """Does a good fit on a sample of the images show that there is nothing to find?"""
        return "misfit" in self.cleared_by

    def function(self) -> Look:
        """Who looks."""
        if not isinstance(self.look, str):
            return self.look
        module, _, name = self.look.partition(":")
        return getattr(import_module(f"verite.checks.{module}"), name)  # type: ignore[no-any-return]


ADDED: list[Check] = []


def every_check() -> Iterator[Check]:
    """Those of the catalogue, then those added."""
    from verite.checks.catalogue import CHECKS

    yield from CHECKS
    yield from ADDED


@contextmanager
def add_check(check: Check) -> Iterator[None]:
    """Within the block a further check runs at every door."""
    ADDED.append(check)
    try:
        yield
    finally:
        ADDED.remove(check)


def reference() -> str:
    """The table of all checks, as the reference page has it."""
    words = {"truth": "truth", "pred": "predictions", "pair": "both", "file": "while reading"}
    lines = ["| code | severity | what is wrong | what mends it | looks at |", "|---|---|---|---|---|"]
    for check in sorted(every_check(), key=lambda check: check.code):
        where = ", ".join(words[subject] for subject in check.subjects)
        lines.append(f"| {check.code} | {check.severity} | {check.title} | {check.remedy} | {where} |")
    return "\n".join(lines)
