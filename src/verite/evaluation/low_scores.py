"""Why is a number so low? One line with the likeliest cause: classes, places, or confidences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verite.evaluation.evaluation import Evaluation, Rules

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
    """By the shares of objects that predictions overlap by half, with its class and with any."""
    right, anywhere = found_share(truth, pred), found_share(truth, pred, is_together=True)
    if anywhere < SOME:
        return f"boxes lie elsewhere, no prediction overlaps {1 - anywhere:.0%} of the objects by half"
    if right < anywhere / 2:
        shares = f"{anywhere:.0%} of the objects are found, {right:.0%} with their class"
        return f"places are right, classes are not, {shares}"
    return (
        f"{right:.0%} of the objects are found, but by {len(pred) / max(len(truth), 1):.1f} predictions per object "
        "whose confidences do not tell right from wrong"
    )


def found_share(truth: Annotations, pred: Annotations, *, is_together: bool = False) -> float:
    """Of all objects, those whose box a prediction of its own overlaps by half; with any class if all are one."""
    kept = Evaluation(truth, pred, Rules((0.5,), "corner_box", is_open=True, is_together=is_together))
    truths, recalls = kept.counts[0], kept.class_means("recall", 0, 0, 0)
    return sum(recall * count for recall, count in zip(recalls, truths, strict=True) if count) / sum(truths)
