"""What is suspicious about these files, and what to do about it.

Everyday mistakes end in numbers near zero without a word elsewhere: corners read as width and height, fractions read
as pixels, ids that start at another number. Here each has a code that stays, an example, and a fix to paste.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from verite.checks.check import SEVERITIES, Check, Finding, Fix, SideName, Subject, every_check, stop_on_errors, warn_of
from verite.checks.sample import Pair, Side
from verite.errors import VeriteError, list_faults
from verite.model.annotations import Annotations

if TYPE_CHECKING:
    from verite.checks.inspection import Inspection

__all__ = ["Check", "Finding", "Fix", "examine", "examine_all", "examine_pair", "inspect", "stop_on_errors", "warn_of"]

# What else looks odd on a side whose boxes are misread, or whose images are not found.
ODD_BOXES, NO_PREDICTIONS = {"V106", "V109", "V110", "V113", "V114", "V306"}, {"V214", "V219"}
FOLLOW = dict.fromkeys(("V101", "V102", "V103", "V104", "V105"), ODD_BOXES)
FOLLOW |= dict.fromkeys(("V211", "V212", "V213"), NO_PREDICTIONS) | {"V108": {"V109"}, "V114": {"V109", "V108"}}
EXPLAIN = {"V108"}  # warnings that say why
EXCHANGED = "V221"


def examine(annotations: Annotations, *, is_truth: bool, notes: bool = False) -> list[Finding]:
    """What is wrong with one side alone, the worst first; `notes`: what is merely worth knowing, too."""
    side = Side(annotations, is_truth=is_truth)
    return run_checks(side, side.name, notes=notes)


def examine_pair(truth: Annotations, pred: Annotations, *, notes: bool = False) -> list[Finding]:
    """What is wrong with predictions that are aligned with their truth, and with the two together; the worst first."""
    together = run_checks(Pair(truth, pred), "pair", notes=notes)
    return without_consequences([*together, *examine(pred, is_truth=False, notes=notes)])


def examine_all(truth: Annotations, pred: Annotations) -> list[Finding]:
    """What an evaluation wants to know: everything about both sides that is an error or a warning."""
    return without_consequences([*examine_pair(truth, pred), *examine(truth, is_truth=True)])


def run_checks(subject: Side | Pair, what: Subject, *, notes: bool) -> list[Finding]:
    """Every check that looks at this and is not cleared by what was counted, each once; the worst finding first."""
    found: list[Finding] = []
    done = set()
    for check in every_check():
        if what not in check.subjects or not check.look or check.look in done:
            continue
        if (check.severity == "note" or check.is_slow) and not notes:
            continue
        is_cleared = check.cleared_by and not any(subject.count(fault) for fault in check.cleared_by)
        if is_cleared and not (notes and check.notes_more):
            continue
        done.add(check.look)
        try:
            found += check.function()(subject)
        except VeriteError as error:  # what it evaluates is refused; that must not end the other checks
            side: SideName = "truth" if what == "truth" else "pred"
            found.append(
                Finding(check.code, "note", f"not checked: {error}", 0, (), "fix the other findings first", side)
            )
    return by_severity(finding for finding in found if notes or finding.severity != "note")


def without_consequences(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, without those that follow from another one on the same side."""
    errors = [finding for finding in findings if finding.severity == "error"]
    if any(finding.code == EXCHANGED for finding in errors):
        return [finding for finding in errors if finding.code == EXCHANGED]
    causes = [finding for finding in findings if finding.severity == "error" or finding.code in EXPLAIN]
    follow = {(code, cause.side) for cause in causes for code in FOLLOW.get(cause.code, ())}
    return by_severity(finding for finding in findings if (finding.code, finding.side) not in follow)


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def inspect(truth: Any, *preds: Any) -> Inspection:
    """What is in the files, what is suspicious, what to do about it; whatever `verite.read` takes is looked at.

    >>> truth = Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9], [5, 5, 20, 20]])
    >>> print(inspect(truth).findings)
    ()
    """
    import verite
    from verite.checks.inspection import Inspection

    with list_faults():
        truth = truth if isinstance(truth, Annotations) else verite.read(truth)
        preds = tuple(pred if isinstance(pred, Annotations) else verite.read(pred, like=truth) for pred in preds)
    if not preds and truth.confidence is not None:
        return Inspection.of(None, [truth], [examine(truth, is_truth=False, notes=True)])
    aligned = [pred.like(truth) for pred in preds]
    by_pred = [examine_pair(truth, pred, notes=True) for pred in aligned]
    alone = examine(truth, is_truth=True, notes=True)
    return Inspection.of(truth, aligned, [alone, *by_pred])
