"""Why is a number so low? One line with the likeliest cause: classes, places, or confidences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verite.arrays import np
from verite.evaluation.candidates import box_candidates
from verite.records import replace

if TYPE_CHECKING:
    from verite.model.annotations import Annotations
    from verite.model.results import Results

LOW = 0.05  # below, somebody will ask why
SOME = 0.25  # the share of objects that something else must explain to be the likeliest cause


def explain_low_score(results: Results) -> list[str]:
    """A line where the first score is below 0.05 although both sides have objects, else none."""
    score = next(iter(results.scores.values()))
    if not score.value < LOW or not min(results.truth.counts[0], results.pred.counts[0]):
        return []
    cause = likeliest_cause(results.truth, results.pred)
    return [f"{score.name} is below {LOW}: {cause}; see verite inspect TRUTH PRED"]


def likeliest_cause(truth: Annotations, pred: Annotations) -> str:
    """By the shares of objects that some prediction overlaps by half, with its class and with any."""
    right, anywhere = covered_share(truth, pred), covered_share(without_labels(truth), without_labels(pred))
    if anywhere < SOME:
        return f"boxes lie elsewhere, no prediction overlaps {1 - anywhere:.0%} of the objects by half"
    if right < anywhere / 2:
        shares = f"{anywhere:.0%} of the objects are found, {right:.0%} with their class"
        return f"places are right, classes are not, {shares}"
    return (
        f"{right:.0%} of the objects are found, but by {len(pred) / max(len(truth), 1):.1f} predictions per object "
        "whose confidences do not tell right from wrong"
    )


def covered_share(truth: Annotations, pred: Annotations) -> float:
    found = box_candidates(truth, pred, floor=0.5)
    return len(np.unique(found.truth)) / len(truth)


def without_labels(side: Annotations) -> Annotations:
    """The same with one class for all."""
    return replace(side, label=np.zeros(len(side), dtype=np.int32))
