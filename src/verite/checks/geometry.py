"""Under which reading of the boxes, and which shift of image ids, do predictions overlap the truth?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from verite.checks.evidence import FEWEST, MORE, is_dominant, most_possible, places, wins
from verite.checks.explanations import Hypothesis, overlaps_under, share_outside
from verite.checks.hypotheses import Tried, plain_readings, scaled_readings
from verite.checks.plausibility import OUTSIDE, PLACES, is_plausible, reach
from verite.checks.readings import SCALED
from verite.checks.sample import Sample
from verite.checks.scaling import estimate, round_off

LEAST, LEAST_CHANGED = 0.35, 0.4  # share of the truths that must be found; where scaled, or two things are changed
PAST, TRUTH_PAST = 1.1, 1.15  # parts of an image to which predictions, and truths, may reach
SHORT, FULL = 0.7, 0.93  # truths that reach so far fill their images; so do predictions that reach so far
AS_GOOD = 0.95  # part of the overlaps that remains when the other side is scaled
TWOFOLD = 2.0  # truths won for each one found before, where two things are changed


def weigh_readings(sample: Sample) -> tuple[Hypothesis, Hypothesis | None]:
    """The files as read, and what explains far more than that, if anything does."""
    reading = sample.pred.reading
    plain = Hypothesis(
        "pred",
        reading,
        0,
        overlaps_under(sample, "pred", reading, 0),
        most_possible(sample.truth, sample.pred),
    )
    if plain.is_sound:
        return plain, None
    plain = replace(plain, outside=share_outside(sample, "pred", reading, 0))
    best = best_of(sample, plain, plain_readings(sample))
    if best is None or not best.is_sound:
        scaled = best_of(sample, plain, scaled_readings(sample))
        if scaled is not None and (best is None or scaled.score > best.score):
            best = with_round_numbers(sample, on_the_right_side(sample, scaled))
    return plain, best


def best_of(sample: Sample, plain: Hypothesis, tried: Iterator[Tried]) -> Hypothesis | None:
    """The best explanation that dominates the plain one and is plausible."""
    own = {"pred": sample.pred.reading, "truth": sample.truth.reading}
    found = []
    for side, reading, shift, weight in tried:
        overlaps = overlaps_under(sample, side, reading, shift)
        e = Hypothesis(side, reading, shift, overlaps, most_possible(sample.truth, sample.preds[shift]), weight=weight)
        changes = max(1, (reading.layout != own[side].layout) + (reading.measure in SCALED) + (shift != 0))
        is_dominating = dominates(e, plain, changes)
        if is_dominating or plain.outside >= OUTSIDE:
            e = replace(e, outside=share_outside(sample, side, reading, shift))
            if is_dominating or stays_inside(e, plain):
                found.append(e)
    ranked = sorted(found, key=lambda e: -e.score)
    best = next((e for e in ranked[:3] if is_plausible(sample, plain, e)), None)
    if best is None or best.reading.measure not in SCALED:
        return best
    return next(e for e in ranked if e.side == best.side)  # something is scaled: how, the best fit says


def dominates(e: Hypothesis, plain: Hypothesis, changes: int) -> bool:
    """Does it find far more? What was estimated, or changes two things, must explain more than what was not."""
    is_scaled = e.reading.measure in SCALED
    if e.found < (LEAST_CHANGED if is_scaled or changes > 1 else LEAST) * e.possible:
        return False
    more = TWOFOLD if changes > 1 else MORE
    return is_dominant(e.overlaps, plain.overlaps, more, FEWEST * (1 + is_scaled) * changes)


def stays_inside(e: Hypothesis, plain: Hypothesis) -> bool:
    """Do boxes that leave their images as read stay inside, and find more? Then less of a difference is enough."""
    won, lost = wins(e.overlaps, plain.overlaps)
    return e.reading.measure not in SCALED and plain.outside - e.outside >= OUTSIDE and won >= FEWEST + lost


def on_the_right_side(sample: Sample, found: Hypothesis) -> Hypothesis:
    """Overlaps do not say which side was resized; the images' own size may."""
    if found.side == "truth" or found.reading.measure not in SCALED or not sample.truth.is_sized:
        return found
    truth, pred = (reach(group, group.corners()) for group in (sample.truth, sample.pred))
    if pred.max() > PAST or (truth.max() <= TRUTH_PAST and (truth.min() > SHORT or pred.min() < FULL)):
        return found
    if truth.max() <= TRUTH_PAST and places(sample.truth.corners()) < 2 * PLACES:
        return found
    reading = estimate(sample.truth, sample.pred, sample.truth.reading.layout, found.reading.measure)
    if reading is None:
        return found
    overlaps = overlaps_under(sample, "truth", reading, 0)
    is_as_good = overlaps.sum() >= AS_GOOD * found.overlaps.sum()
    return replace(found, side="truth", reading=reading, overlaps=overlaps) if is_as_good else found


def with_round_numbers(sample: Sample, found: Hypothesis) -> Hypothesis:
    wrong, right = (sample.pred, sample.truth) if found.side == "pred" else (sample.truth, sample.pred)
    reading = round_off(wrong, right, found.reading)
    return replace(found, reading=reading, overlaps=overlaps_under(sample, found.side, reading, 0))
