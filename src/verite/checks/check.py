"""Input checks as records: code, severity, description, remedy, and the function that makes findings.

Records are plain data and name their function as "module:function", so that a module is imported only when its check
runs. `Finding` is what a check reports, `Fix` the reading options that correct it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from verite.errors import IS_COMMAND_LINE, DataError, DataWarning, did_you_mean, one_line, spell_option

if TYPE_CHECKING:
    from verite.files import JsonObject

SideName = Literal["truth", "pred"]

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")  # the worst first

EXAMPLES = 5
FEW_MASKS = 20  # polygons before one says of them that they are boxes

MOST_COMPARED = 2000  # names that the search for the nearest one compares at most


@dataclass(frozen=True)
class Fix:
    """Arguments of `verite.read` that correct the reading of one side, for the command line and for Python.

    Attributes
    ----------
    side : {"truth", "pred"}
        The side to read with these arguments.
    options : tuple of (name, value)
        Keyword arguments of `verite.read`.

    Examples
    --------
    >>> fix = Fix("pred", (("boxes", "cxcywh"), ("coords", "rel"), ("image_size", (640, 480))))
    >>> print(fix.as_options())
    --pred-boxes cxcywh --pred-coords rel --image-size 640,480
    >>> print(fix.as_python())
    boxes="cxcywh", coords="rel", image_size=(640, 480)
    """

    side: SideName
    options: tuple[tuple[str, object], ...]

    def as_options(self) -> str:
        """Format as options of the command line; values with a `*` are quoted, since the shell expands them."""
        texts = []
        for name, value in self.options:
            if name == "image_size":
                assert isinstance(value, tuple)
                texts.append(f"--image-size {value[0]},{value[1]}")
            else:
                quoted = f'"{value}"' if "*" in str(value) else value
                texts.append(f"--{self.side}-{name.replace('_', '-')} {quoted}")
        return " ".join(texts)

    def as_python(self) -> str:
        """Format as keyword arguments."""
        return ", ".join(f'{name}="{v}"' if isinstance(v, str) else f"{name}={v!r}" for name, v in self.options)


@dataclass(frozen=True)
class Finding:
    """A suspected mistake in the input, found by a check.

    Attributes
    ----------
    code : str
        The stable code of the check, e.g. "V101".
    severity : {"error", "warning", "note"}
        An error stops an evaluation unless `checks="warn"` or `"off"`.
    message : str
        One line with the evidence in numbers.
    count : int
        Number of objects, images or classes concerned.
    examples : tuple of str
        Up to five examples by image and object id.
    fix : Fix or str
        Arguments of `verite.read` that correct the input, or advice where no argument does.
    side : {"truth", "pred"}
        The side whose file is wrong.
    """

    code: str
    severity: Severity
    message: str
    count: int
    examples: tuple[str, ...]
    fix: Fix | str
    side: SideName = "pred"

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", one_line(self.message))
        object.__setattr__(self, "examples", tuple(one_line(text) for text in self.examples[:EXAMPLES]))

    @property
    def remedy(self) -> str:
        """The advice for users of the command line."""
        return f"add {self.fix.as_options()}" if isinstance(self.fix, Fix) else self.fix

    def __str__(self) -> str:
        return one_line(f"{self.code} {self.message}; {self.remedy}")

    def in_python(self, template: str) -> str:
        """Format for Python users; `template` is the advice with `{}` for the arguments of `verite.read`."""
        remedy = template.format(self.fix.as_python()) if isinstance(self.fix, Fix) else self.fix
        return one_line(f"{self.code} {self.message}; {remedy}")

    def to_dict(self) -> JsonObject:
        """Return plain values for JSON; `options` and `python` are null where the fix is advice only."""
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


def stop_on_errors(findings: Sequence[Finding], paths: Mapping[str, str], *, is_strict: bool = False) -> None:
    """Raise the first error among the findings as `DataError`, with the number of further errors.

    Parameters
    ----------
    findings
        What the checks found.
    paths
        The file of each side ("truth", "pred"), where known.
    is_strict
        Whether warnings are errors, too (`--strict`).
    """
    stopping = ("error", "warning") if is_strict else ("error",)
    errors = [finding for finding in findings if finding.severity in stopping]
    if not errors:
        return
    path = paths.get(errors[0].side)
    where = f"{path}: " if path else "truth: " if errors[0].side == "truth" else ""
    more = {0: "", 1: "one more error; "}.get(len(errors) - 1, f"{len(errors) - 1} more errors; ")
    if not IS_COMMAND_LINE.get():
        finding = errors[0].in_python("read it with {}")
        text = f'{finding} ({more}verite.inspect lists all findings, checks="warn" evaluates anyway)'
    elif is_strict:
        text = f"{errors[0]} ({more}--strict makes warnings errors, verite inspect lists all findings)"
    else:
        text = (
            f"{errors[0]} ({more}verite inspect lists all findings, {spell_option('checks', 'warn')} evaluates anyway)"
        )
    stop = DataError(one_line(f"{where}{text}"))
    stop.findings = tuple(findings)
    raise stop


def warn_of(findings: Sequence[Finding], who: str) -> None:
    """Issue one `DataWarning` with the first finding and the number of further ones."""
    if not findings:
        return
    import warnings

    more = f" ({len(findings) - 1} more)" if len(findings) > 1 else ""
    finding = findings[0].in_python("convert them before the call (verite.read takes {})")
    warnings.warn(f"{who}: {finding}{more}", DataWarning, stacklevel=3)


def near_word(word: str, known: Sequence[str]) -> str | None:
    """Return the known name nearest in spelling, or None; of many names only those with a common start or end count.

    Parameters
    ----------
    word
        A name that is not known.
    known
        Names that are, such as the classes of the ground truth.

    Returns
    -------
    str | None
        The name to suggest.
    """
    if len(known) > MOST_COMPARED:
        alike = [k for k in known if k[:3] == word[:3] or k[-8:] == word[-8:]]
        known = (alike or list(known))[:MOST_COMPARED]
    suggestion = did_you_mean(word, known)
    return suggestion.removeprefix("; did you mean '").removesuffix("'?") or None


# The input of a check: one side alone, predictions with their ground truth, or a file while it is read.
Subject = Literal["truth", "pred", "pair", "file"]

Look = Callable[[Any], Iterable["Finding"]]


@dataclass(frozen=True)
class Check:
    """One check of the catalogue.

    Attributes
    ----------
    code, severity, title, remedy : str
        Stable code, worst severity, and the texts of the reference page.
    subjects : tuple of {"truth", "pred", "pair", "file"}
        Where the check applies; "file" checks are made by the readers of formats.
    look : str or callable
        Function from a `Side` or a `Pair` to findings, as "module:function" below `verite.checks`; empty for checks
        of the readers. Several checks may share one function.
    cleared_by : tuple of str
        Anomaly counts (`Side.count`, `Pair.count`). The check runs only if one of them is above zero; a check without
        any always runs. With "misfit" a good fit on a sample of images rules the check out.
    notes_more : bool
        `inspect` runs the check even where the counts rule it out, since it may still give a note.
    is_slow : bool
        Only `inspect` runs the check: it reads polygons, or evaluates twice.
    """

    code: str
    severity: Severity
    title: str
    remedy: str
    subjects: tuple[Subject, ...]
    look: str | Look = ""
    cleared_by: tuple[str, ...] = ()
    notes_more: bool = False
    is_slow: bool = False

    @property
    def is_covered(self) -> bool:
        """Whether a good fit on a sample of images rules this check out."""
        return "misfit" in self.cleared_by

    def function(self) -> Look:
        """Import and return the function that makes the findings."""
        if not isinstance(self.look, str):
            return self.look
        module, _, name = self.look.partition(":")
        return getattr(import_module(f"verite.checks.{module}"), name)  # type: ignore[no-any-return]


ADDED: list[Check] = []


def every_check() -> Iterator[Check]:
    """Yield the checks of the catalogue, then those added by `add_check`."""
    from verite.checks.catalogue import CHECKS

    yield from CHECKS
    yield from ADDED


@contextmanager
def add_check(check: Check) -> Iterator[None]:
    """Run a further check at every entry point within this block."""
    ADDED.append(check)
    try:
        yield
    finally:
        ADDED.remove(check)


def reference() -> str:
    """Return the Markdown table of all checks, as in `docs/reference/checks.md`."""
    words = {"truth": "ground truth", "pred": "predictions", "pair": "both", "file": "while reading"}
    lines = ["| code | severity | what is wrong | what to do | applies to |", "|---|---|---|---|---|"]
    for check in sorted(every_check(), key=lambda check: check.code):
        where = ", ".join(words[subject] for subject in check.subjects)
        lines.append(f"| {check.code} | {check.severity} | {check.title} | {check.remedy} | {where} |")
    return "\n".join(lines)
