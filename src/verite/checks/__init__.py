"""What is suspicious about these files, and what to do about it.

Everyday mistakes end in numbers near zero without a word elsewhere: corners read as width and height, fractions read
as pixels, ids that start at another number. Here each has a code that stays, an example, and a fix to paste.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verite.checks.findings import Finding, Fix, stop_on_errors
from verite.checks.glance import looks_sound
from verite.model.annotations import Annotations

if TYPE_CHECKING:
    from verite.checks.inspection import Inspection

__all__ = ["Finding", "Fix", "examine", "examine_pair", "inspect", "stop_on_errors"]


def examine(annotations: Annotations, *, is_truth: bool) -> list[Finding]:
    """What is wrong with one side alone."""
    from verite.checks.values import value_findings

    return list(value_findings(annotations, is_truth=is_truth))


def examine_pair(truth: Annotations, pred: Annotations) -> list[Finding]:
    """What is wrong with predictions that are aligned with their truth, and with the two together; errors first."""
    if looks_sound(truth, pred):
        return []
    from verite.checks.boxes import box_findings
    from verite.checks.classes import class_findings
    from verite.checks.geometry import explain
    from verite.checks.images import image_findings
    from verite.checks.sample import draw

    alone = examine(pred, is_truth=False)
    sample = draw(truth, pred)
    plain, found = explain(sample) if sample else (None, None)
    together: list[Finding] = []
    if sample and plain:
        together += box_findings(truth, pred, sample, plain, found)
    if any(f.severity == "error" for f in together):
        alone = [f for f in alone if f.code != "V106"]  # sizes turn negative when boxes are read wrongly
    together += image_findings(truth, pred, sample, plain, found)
    together += class_findings(truth, pred, sample, found or plain)
    return sorted([*together, *alone], key=lambda finding: finding.severity != "error")


def inspect(truth: Any, *preds: Any) -> Inspection:
    """What is in the files, what is suspicious, what to do about it; whatever `verite.read` takes is looked at.

    >>> truth = Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9], [5, 5, 20, 20]])
    >>> print(inspect(truth).findings)
    ()
    """
    import verite
    from verite.checks.inspection import Inspection

    truth = truth if isinstance(truth, Annotations) else verite.read(truth)
    preds = tuple(pred if isinstance(pred, Annotations) else verite.read(pred, like=truth) for pred in preds)
    if not preds and truth.confidence is not None:
        return Inspection.of(None, [truth], [examine(truth, is_truth=False)])
    aligned = [pred.like(truth) for pred in preds]
    alone = examine(truth, is_truth=True)
    return Inspection.of(truth, aligned, [alone, *(examine_pair(truth, pred) for pred in aligned)])
