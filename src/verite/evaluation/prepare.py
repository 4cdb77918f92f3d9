"""Before every evaluation: bring predictions onto the truth's images and labels, and look for everyday mistakes."""

from __future__ import annotations

from typing import Literal

from verite.checks import Finding, examine_pair, stop_on_errors
from verite.errors import BadParameter
from verite.model.annotations import Annotations

Checks = Literal["stop", "warn", "off"]


def prepare(
    truth: Annotations, pred: Annotations, checks: Checks = "stop", *, is_ranked: bool = True
) -> tuple[Annotations, list[Finding]]:
    """Aligned predictions and what is suspicious about them.

    `stop`: an error among the findings ends the evaluation; `warn`: it is only recorded; `off`: nobody looks.
    `is_ranked`: the protocol needs confidences.
    """
    if checks not in ("stop", "warn", "off"):
        raise BadParameter(f"checks: expected stop, warn or off, found {checks!r}")
    aligned = pred.like(truth)
    if checks == "off":
        return aligned, []
    findings = [f for f in examine_pair(truth, aligned) if is_ranked or f.code != "V301"]
    if checks == "stop":
        stop_on_errors(findings, aligned.source.path)
    return aligned, findings
