"""Why is a number so low? One line with the likeliest cause: classes, places, or confidences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verite.evaluation.evaluation import Evaluation, Rules
from verite.model.words import words_of
from verite.records import replace

if TYPE_CHECKING:
    from verite.model.results import Results

LOW = 0.05  # below, somebody will ask why
SOME = 0.25  # the share of objects that something else must explain to be the likeliest cause
HALF = 0.5


def explain_low_score(results: Results) -> list[str]:
    """A line where the first score is below 0.05 although both sides have objects, or there is none; else no line."""
    score = next(iter(results.scores.values()))
    if score.value != score.value and results.truth.counts[0]:
        return [
            f"no {score.name}: all {results.truth.counts[0]:,} objects of the truth are crowds or otherwise left out"
        ]
    if not score.value < LOW or not min(results.truth.counts[0], results.pred.counts[0]):
        return []
    return [f"{score.name} is below {LOW}: {likeliest_cause(matches_by_half(results))}; see verite inspect TRUTH PRED"]


def matches_by_half(results: Results) -> Evaluation:
    """Who overlaps whom by half: what is kept where that was asked first, else boxes compared for it."""
    kept = getattr(results, "evaluation", None)
    if isinstance(kept, Evaluation) and kept.rules.thresholds[0] == HALF:
        return kept
    return Evaluation(results.truth, results.pred, Rules((HALF,), "corner_box", is_open=True))


def likeliest_cause(kept: Evaluation) -> str:
    """By the shares of objects that predictions overlap by half, with its class and with any."""
    right, words = found_share(kept), words_of(kept.rules.similarity)
    anywhere = right if right >= HALF else found_share_of_any_class(kept)  # half as many are no cause then
    if anywhere < SOME:
        share = f"{1 - anywhere:.0%} of the objects"
        return f"{words.many} lie elsewhere, no prediction reaches {words.overlap} {HALF} with {share}"
    if right < anywhere / 2:
        shares = f"{anywhere:.0%} of the objects are found, {right:.0%} with their class"
        return f"places are right, classes are not, {shares} (--class-agnostic asks for places alone)"
    return (
        f"{right:.0%} of the objects are found, but by {len(kept.pred) / max(len(kept.truth), 1):.1f} predictions per "
        "object whose confidences do not tell right from wrong"
    )


def found_share(kept: Evaluation) -> float:
    """Of all objects that are asked for, those found at the first threshold."""
    truths, recalls = kept.counts[0], kept.class_means("recall", 0, 0, len(kept.rules.limits) - 1)
    found = sum(recall * count for recall, count in zip(recalls, truths, strict=True) if count)
    return found / max(sum(truths), 1)


def found_share_of_any_class(kept: Evaluation) -> float:
    """The same if all classes were one."""
    if len(kept.counts[0]) == 1:
        return found_share(kept)
    rules = replace(kept.rules, thresholds=(HALF,), is_together=True, is_open=True)
    return found_share(Evaluation(kept.truth, kept.pred, rules, kept.threads))
