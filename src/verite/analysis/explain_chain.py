"""How does one come from their number to ours? One setting after the other, each with what it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verite.analysis.explain_search import spell_value
from verite.analysis.explain_tools import Way
from verite.protocols import protocol_named
from verite.protocols.coco_settings import LIMITS, THRESHOLDS
from verite.records import record

if TYPE_CHECKING:
    from verite.analysis.explain_search import Attempt, Trial

SAME = 1e-12  # sums in another order
# Settings with which curves are matched and read as COCO does.
AS_COCO: dict[str, Any] = {
    "iou": THRESHOLDS,
    "interpolation": "101",
    "pixel": "continuous",
    "matching": "free",
    "ties": "image",
    "ignored": "crowd",
    "max_dets": LIMITS[-1],
}


@record(eq=False)
class Step:
    """A change, the score after it, and what it made of it."""

    words: str
    value: float
    difference: float
    attempt: Attempt


def chain_from(trial: Trial, theirs: Attempt, ours: str, score: str) -> tuple[list[Step], list[str]]:
    """From an attempt to the protocol `ours` as it is, and the changes that do nothing."""
    steps = [Step(theirs.words, theirs.value(score), 0.0, theirs)]
    idle: list[str] = []

    def go(words: str, attempt: Attempt | None) -> None:
        if attempt is None:
            return
        value, before = attempt.value(score), steps[-1].value
        if abs(value - before) < SAME or (value != value and before != before):
            idle.append(words)
        else:
            steps.append(Step(words, value, value - before, attempt))

    for words, way in ways_between(theirs, ours):
        go(words, trial.attempt(way))
    last = trial.attempt(Way(f"{ours} as it is", ours))
    if last is not None:
        if steps[-1].attempt.verb != ours:
            go(f"by the rules of {ours}", last)
        value = last.value(score)
        steps.append(Step(f"ours: {last.words}", value, value - steps[0].value, last))
    return steps, idle


def ways_between(theirs: Attempt, ours: str) -> list[tuple[str, Way]]:
    """Every setting that differs, brought from theirs to ours one after the other; quirks first, what they say kept."""
    kind = protocol_named(theirs.verb).settings
    start = kind(**theirs.changes)
    target = kind(**(AS_COCO if (theirs.verb, ours) == ("voc", "coco") else {}))
    names = [name for name, setting in kind.declared.items() if setting.is_signed]
    values = {name: getattr(start, name) for name in names}
    found = []
    for name in sorted(names, key=lambda name: name != "quirks"):
        old, new = values[name], getattr(target, name)
        if old == new:
            continue
        values[name] = new
        usual = kind()
        changes = {key: value for key, value in values.items() if value != getattr(usual, key)}
        told = f"{name} {spell_value(theirs.verb, name, old)} → {spell_value(theirs.verb, name, new)}"
        found.append((told, Way(told, theirs.verb, changes)))
    return found
