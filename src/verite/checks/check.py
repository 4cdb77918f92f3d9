"""What is a check? A record: its code, how bad it is, what is wrong and what mends it, what it looks at and who looks.

Records are plain data, so that nothing is imported before a check has something to say. The order in which they are
declared is the order in which they run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from verite.records import record

if TYPE_CHECKING:
    from verite.checks.findings import Finding, Severity

# What a check looks at: one side alone, predictions on their truth, or the bytes of a file while it is read.
Subject = Literal["truth", "pred", "pair", "file"]
Look = Callable[[Any], Iterable["Finding"]]


@record()
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
