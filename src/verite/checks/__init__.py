"""Input checks: find mistakes in ground truth and predictions, such as a wrong box format or shifted ids.

Common mistakes give an AP near zero without an error message: corners read as width and height, normalised coordinates
read as pixels, class ids that start at another number, predictions without NMS. Each check has a stable code (V101 and
so on), a severity, examples, and a remedy to paste. They run before every evaluation and in `verite.inspect`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from verite.checks.check import ADDED, SEVERITIES, Check, Finding, Fix, SideName, Subject, stop_on_errors, warn_of
from verite.checks.sample import Pair, Side
from verite.errors import VeriteError, excerpt, list_faults
from verite.hooks import hook
from verite.model.annotations import Annotations

if TYPE_CHECKING:
    from verite.checks.inspection import Inspection

__all__ = [
    "Check",
    "Finding",
    "Fix",
    "examine",
    "examine_all",
    "examine_pair",
    "inspect",
    "remarks_on_ap",
    "stop_on_errors",
    "warn_of",
]

# Findings that are consequences of misread boxes, and of images that are not found, on the same side.
ODD_BOXES, NO_PREDICTIONS = {"V106", "V108", "V109", "V110", "V113", "V114", "V306", "V406"}, {"V214", "V219"}
CONSEQUENCES = dict.fromkeys(("V101", "V102", "V104", "V105", "V118"), ODD_BOXES)
CONSEQUENCES["V103"] = ODD_BOXES | {"V116"}
CONSEQUENCES |= dict.fromkeys(("V211", "V212", "V213"), NO_PREDICTIONS)
CONSEQUENCES |= {"V108": {"V109"}, "V114": {"V108", "V109", "V113"}}
CONSEQUENCES["V407"] = {"V112"}
EXPLANATORY_WARNINGS = {"V108", "V407"}  # warnings that have consequences; otherwise only errors have
SWAPPED_SIDES = "V221"


def examine(
    annotations: Annotations, *, is_truth: bool, notes: bool = False, unasked: Collection[str] = ()
) -> list[Finding]:
    """Check one side alone and return its findings by severity; notes are included only if asked for.

    Parameters
    ----------
    annotations
        Ground truth or predictions.
    is_truth
        Which of the two they are: some checks apply to one side only.
    notes
        Also return notes, and run slow checks, as `verite inspect` does.
    unasked
        Codes of checks to leave out.

    Returns
    -------
    list[Finding]
        Errors first, then warnings, then notes.
    """
    what: Subject = "truth" if is_truth else "pred"
    return without_consequences(run_checks(Side(annotations, is_truth), what, notes=notes, unasked=unasked))


def examine_pair(
    truth: Annotations, pred: Annotations, *, notes: bool = False, unasked: Collection[str] = ()
) -> list[Finding]:
    """Check predictions, aligned with their ground truth, alone and against it; findings by severity.

    Parameters
    ----------
    truth
        Ground truth.
    pred
        Predictions, with images and classes at the positions of the ground truth.
    notes
        Also return notes, and run slow checks.
    unasked
        Codes of checks to leave out.

    Returns
    -------
    list[Finding]
        Findings without those that merely follow from another one.
    """
    together = run_checks(Pair(truth, pred), "pair", notes=notes, unasked=unasked)
    return without_consequences([*together, *examine(pred, is_truth=False, notes=notes, unasked=unasked)])


def examine_all(truth: Annotations, pred: Annotations, unasked: Collection[str] = ()) -> list[Finding]:
    """Check both sides before an evaluation: every error and warning but the codes `unasked`, by severity."""
    subjects: list[tuple[Side | Pair, Subject]] = [
        (Pair(truth, pred), "pair"),
        (Side(pred, is_truth=False), "pred"),
        (Side(truth, is_truth=True), "truth"),
    ]
    found = [run_checks(subject, what, notes=False, unasked=unasked) for subject, what in subjects]
    return without_consequences([finding for findings in found for finding in findings])


def run_checks(subject: Side | Pair, what: Subject, *, notes: bool, unasked: Collection[str] = ()) -> list[Finding]:
    """Run the checks that apply to a side or a pair, unless its anomaly counts rule them out.

    Checks that share a function run it once. Slow checks and notes are left to `inspect` (`notes=True`). Checks whose
    code is `unasked` are not run unless they share a function with another one.
    """
    from verite.checks.catalogue import CHECKS

    found: list[Finding] = []
    done = set()
    for check in (*CHECKS, *ADDED):
        if what not in check.subjects or not check.look or check.look in done or check.code in unasked:
            continue
        if (check.severity == "note" or check.is_slow) and not notes:
            continue
        is_cleared = check.cleared_by and not any(subject.count(anomaly) for anomaly in check.cleared_by)
        if is_cleared and not (notes and check.notes_more):
            continue
        done.add(check.look)
        try:
            found += check.function()(subject)
        except VeriteError as error:  # a check may evaluate, and an evaluation may refuse the input
            side: SideName = "truth" if what == "truth" else "pred"
            found.append(
                Finding(check.code, "note", f"not checked: {error}", 0, (), "fix the other findings first", side)
            )
    found = [finding for finding in found if notes or finding.severity != "note"]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def without_consequences(findings: Sequence[Finding]) -> list[Finding]:
    """Remove findings that follow from another one on the same side, e.g. odd areas of misread boxes; errors first."""
    errors = [finding for finding in findings if finding.severity == "error"]
    if any(finding.code == SWAPPED_SIDES for finding in errors):
        return [finding for finding in errors if finding.code == SWAPPED_SIDES]
    causes = [finding for finding in findings if finding.severity == "error" or finding.code in EXPLANATORY_WARNINGS]
    follow = {(code, cause.side) for cause in causes for code in CONSEQUENCES.get(cause.code, ())}
    found = [finding for finding in findings if (finding.code, finding.side) not in follow]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


SAMPLED = 1000  # predictions in which ties are looked for before all are counted

SUSPECT = 0.05  # share of them that are tied, from which both orders of ties are evaluated ...

MOST_TIED = 200_000  # ... unless there are more predictions than this, which would take as long as the result itself


def remarks_on_ap(truth: Annotations, pred: Annotations, unpredicted: Sequence[str]) -> list[str]:
    """Return one line each for what readers of an AP should know, though it is no mistake (V217, V305, V309).

    Parameters
    ----------
    truth, pred
        Both sides.
    unpredicted
        Classes with objects and without any prediction, which count with AP 0.
    """
    remarks = []
    if len(pred) and unpredicted:
        have, count = ("class has", "counts") if len(unpredicted) == 1 else ("classes have", "count")
        shown = ", ".join(map(excerpt, unpredicted[:3])) + (", …" if len(unpredicted) > 3 else "")
        remarks.append(f"V309 {len(unpredicted):,} {have} objects but no prediction and {count} with AP 0: {shown}")
    if len(truth) and truth.columns.describe(0)[3] == 0:
        remarks.append("V217 object ids start at 0: pycocotools counts the object with id 0 as missed, verite does not")
    rows = range(0, len(pred), max(1, len(pred) // SAMPLED)) if pred.columns.has_confidence else ()
    sampled = [pred.columns.describe(row)[2] for row in rows]
    if len(sampled) - len(set(sampled)) > SUSPECT * len(sampled) and len(pred) <= MOST_TIED:
        from verite.checks.predictions import find_ties

        remarks += [f"{finding.code} {finding.message}" for finding in find_ties(Pair(truth, pred))]
    return remarks


def inspect(truth: Any, *preds: Any) -> Inspection:
    """Summarise annotation files and list suspected mistakes, each with a remedy.

    Runs every check, including notes and the slow checks that evaluations skip, and collects unreadable records instead
    of stopping at the first one. All checks are listed in `docs/reference/checks.md`.

    Parameters
    ----------
    truth : path, Annotations or any input of `verite.read`
        The ground truth. A file with confidences, given alone, is checked as predictions.
    *preds : path, Annotations or any input of `verite.read`
        Predictions of any number of detectors. Each is aligned with the ground truth and compared to it.

    Returns
    -------
    Inspection
        A summary per file (images, objects, classes, box sizes, confidences) and its findings. `findings` lists all
        of them; `print` shows a report, `to_dict()` and `to_json()` give plain values.

    Raises
    ------
    ReadError
        If a file cannot be read at all, or its format is unknown.

    Examples
    --------
    >>> truth = Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9], [5, 5, 20, 20]])
    >>> print(inspect(truth).findings)
    ()
    >>> pred = Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.9])
    >>> [finding.code for finding in inspect(truth, pred).findings]
    ['V219']
    """
    from verite.checks.inspection import Inspection

    read = hook("read")
    with list_faults():
        truth = truth if isinstance(truth, Annotations) else read(truth)
        preds = tuple(pred if isinstance(pred, Annotations) else read(pred, like=truth) for pred in preds)
    if not preds and truth.confidence is not None:
        return Inspection.of(None, [truth], [examine(truth, is_truth=False, notes=True)])
    aligned = [pred.like(truth) for pred in preds]
    by_pred = [examine_pair(truth, pred, notes=True) for pred in aligned]
    alone = examine(truth, is_truth=True, notes=True)
    return Inspection.of(truth, aligned, [alone, *by_pred])
