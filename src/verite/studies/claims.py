"""Claims of the paper about the scene score, checked on measured curves.

A claim is checked in many cases: steps of curves, numbers of objects, altered scenes. It holds, holds except in some
cases, or fails in at least half of them. Claims are grouped by figures 10 to 15 of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot
from typing import TYPE_CHECKING

import numpy as np

from verite.studies import properties

if TYPE_CHECKING:
    from verite.studies.interpretation import StudyCurves

EXACT = 1e-12  # means of equal numbers may differ by rounding
# A jump, as in the study of localization metrics: a step above an eighth of the curve's height and four times its
# neighbours.
SHARE, TIMES = 1 / 8, 4
POWERS = 20
UNITS = {"rotation": "°"}


@dataclass(frozen=True)
class CheckedClaim:
    """One claim with the number of cases that contradict it.

    Parameters
    ----------
    figure : int
        The paper's figure that shows it.
    claim : str
        The claim in words.
    exceptions, cases : int
        Cases that contradict it, and all cases.
    found : str
        The measured values, or the first exception.
    """

    figure: int
    claim: str
    exceptions: int
    cases: int
    found: str

    @property
    def passed(self) -> bool:
        """Whether the claim holds in all cases."""
        return not self.exceptions

    @property
    def verdict(self) -> str:
        """The verdict: holds, holds except, or fails.

        >>> [CheckedClaim(10, "", n, 100, "").verdict for n in (0, 3, 50)]
        ['holds', 'holds except', 'fails']
        """
        return "holds" if self.passed else "holds except" if 2 * self.exceptions < self.cases else "fails"

    def to_dict(self) -> dict[str, object]:
        """Return the claim for the JSON document."""
        keys = ("claim", "figure", "passed", "verdict", "exceptions", "cases", "found")
        return {key: getattr(self, key) for key in keys}


def check_claim(figure: int, claim: str, exceptions: Sequence[str], cases: int, measured: str) -> CheckedClaim:
    """Return a claim with the number of exceptions and the first of them, or the measured values if there is none."""
    found = f"not in {len(exceptions)} of {cases:,} cases, e.g. {exceptions[0]}" if exceptions else measured
    return CheckedClaim(figure, claim, len(exceptions), cases, found)


Checks = Callable[["StudyCurves", float], Iterator[CheckedClaim]]
CHECKS: list[Checks] = []  # in the order of the paper's figures


def claims(checks: Checks) -> Checks:
    """Register a function that checks some of the claims on the curves, for one weight alpha."""
    CHECKS.append(checks)
    return checks


def checks_of(curves: StudyCurves, alpha: float) -> list[CheckedClaim]:
    """Check all claims, in the order of the paper's figures.

    Parameters
    ----------
    curves : StudyCurves
        The measured costs of misplaced, misclassified, removed and added objects.
    alpha : float
        Weight of localization against recognition, with which the scenes were scored.

    Returns
    -------
    list of CheckedClaim
    """
    return [claim for checks in CHECKS for claim in checks(curves, alpha)]


@claims
def localization_checks(c: StudyCurves, alpha: float) -> Iterator[CheckedClaim]:
    """Check the claims about misplaced objects (figure 10)."""
    for kind, by_count in c.localization.items():
        falls = [
            f"{n} objects, power {power} to {power + 1}: {a:.6f} to {b:.6f}"
            for n, curve in by_count.items()
            for power, (a, b) in enumerate(pairwise([0.0, *curve]))
            if b <= a
        ]
        rising = f"{len(by_count)} of {len(by_count)} curves rise at every step"
        steps = sum(map(len, by_count.values()))
        yield check_claim(10, f"{kind}: rises strictly with the power", falls, steps, rising)
        jumps = []
        for n, curve in by_count.items():
            whole = np.array([0.0, *curve])
            steps_that_jump = properties.jumps(whole, SHARE * properties.amplitude(whole), TIMES)
            jumps += [f"{n} objects, at power {step + 1}" for step in np.flatnonzero(steps_that_jump)]
        yield check_claim(10, f"{kind}: has no jump", jumps, steps, f"none in {len(by_count)} curves")
        yield fewer_cost_more(kind, by_count, c.errors[kind])
    for costly, cheap in (("translation", "scale"), ("rotation", "scale"), ("scale", "perspective")):
        cheaper = [
            f"{n} objects, power {power}"
            for n, curve in c.localization[costly].items()
            for power, (a, b) in enumerate(zip(curve, c.localization[cheap][n], strict=True), 1)
            if a <= b
        ]
        steps, means = sum(map(len, c.localization[costly].values())), (c.pooled[costly], c.pooled[cheap])
        found = f"mean {means[0]:.4f} against {means[1]:.4f}"
        # In the mean over all objects, and at every power and number of objects.
        failed = max(len(cheaper), means[0] <= means[1])
        told = found + (f"; not at {failed} of {steps} powers and numbers of objects" if failed else "")
        yield CheckedClaim(10, f"{costly} costs more than {cheap}", failed, steps, told)
    free = sum(c.unpunished.values())
    listed = ", ".join(f"{kind} {100 * c.unpunished[kind] / max(1, c.differing[kind]):.1f} %" for kind in c.unpunished)
    cases = sum(c.differing.values())
    found = f"{free:,} of {cases:,} altered objects score 0 ({listed})"
    yield CheckedClaim(10, "separation: only a perfect scene scores 0", free, cases, found)
    found = f"largest difference {c.asymmetry:.2g} of {sum(c.alterations.values()):,} altered scenes"
    claim = "identity: truth and result may be exchanged"
    yield CheckedClaim(10, claim, c.asymmetric, sum(c.alterations.values()), found)


@claims
def topology_checks(c: StudyCurves, alpha: float) -> Iterator[CheckedClaim]:
    """Check symmetry as section 1.1 means it (opposite directions), and dependency on size and shape."""
    for kind, (objects, differing, largest) in c.opposite.items():
        claim = f"symmetry, {kind}: an alteration and its opposite cost the same"
        found = f"differ on {differing:.0f} of {objects:.0f} objects, localization by at most {largest:.3f}"
        yield CheckedClaim(10, claim, int(differing), int(objects), found)
    for kind, (small, large) in c.by_size.items():
        cases = min(len(small), len(large))
        other = sum(a <= b for a, b in zip(small, large, strict=False))
        found = f"power {cases}: {small[-1]:.4f} and {large[-1]:.4f}" if cases else "objects of one size"
        yield CheckedClaim(10, f"size, {kind}: a smaller object costs more", other, max(cases, 1), found)
    wide, tall = c.by_shape
    found = f"moved down by 16 pixels: 96 x 64 costs {wide:.4f}, 64 x 96 costs {tall:.4f}"
    yield CheckedClaim(10, "shape: objects of equal area and other shape cost differently", int(wide == tall), 1, found)


def fewer_cost_more(kind: str, by_count: Mapping[int, list[float]], errors: Mapping[int, list[float]]) -> CheckedClaim:
    """Check that the cost falls with the number of objects.

    Groups of few images differ by chance: a rise counts at two standard errors, and the ends must differ.
    """
    steps, small, rises = 0, 0, []
    for (fewer, first), (more, second) in pairwise(by_count.items()):
        for i, (a, b) in enumerate(zip(first, second, strict=True)):
            steps += 1
            if b >= a:
                small += 1
                if b - a > 2 * hypot(errors[fewer][i], errors[more][i]):
                    rises.append(f"{more} objects cost {b:.4f}, {fewer} cost {a:.4f} at power {i + 1}")
    first, last = (by_count[n] for n in (min(by_count), max(by_count)))
    if len(by_count) > 1 and any(b >= a for a, b in zip(first, last, strict=True)):
        rises.append(f"{max(by_count)} objects cost no less than {min(by_count)}")
    found = f"{steps - small} of {steps} steps fall" + ", the others rise within two standard errors" * bool(small)
    return check_claim(10, f"{kind}: costs less the more objects there are", rises, max(1, steps), found)


@claims
def recognition_checks(c: StudyCurves, alpha: float) -> Iterator[CheckedClaim]:
    """Check the claims about wrong classes (figure 11)."""
    off = [
        f"{n} objects, {wrong} wrong: {value:.6f} instead of {(1 - alpha) * wrong / n:.6f}"
        for n, curve in c.recognition.items()
        for wrong, value in enumerate(curve)
        if abs(value - (1 - alpha) * wrong / n) > EXACT
    ]
    cases = sum(map(len, c.recognition.values()))
    yield check_claim(11, "wrong classes: the score is linear in their number", off, cases, "to 1e-12")
    last = {n: curve[-1] for n, curve in c.recognition.items()}
    off = [f"{n} objects: {value:.6f}" for n, value in last.items() if abs(value - (1 - alpha)) > EXACT]
    yield check_claim(11, f"all classes wrong: exactly {1 - alpha:.3g}", off, len(last), f"{1 - alpha:.3g} everywhere")


@claims
def detection_checks(c: StudyCurves, alpha: float) -> Iterator[CheckedClaim]:
    """Check the claims about removed and added objects (figure 12)."""
    for word, curves in (("removed", c.removed), ("added", c.added)):
        falls = [f"{n} objects" for n, curve in curves.items() if any(b <= a for a, b in pairwise(curve))]
        yield check_claim(12, f"{word} objects: rises with their number", falls, len(curves), "at every step")
        above = [
            f"{more} objects cost as much as {fewer}, {k} {word}"
            for (fewer, first), (more, second) in pairwise(curves.items())
            for k, (a, b) in enumerate(zip(first, second, strict=False))
            if k and b >= a
        ]
        cases = sum(len(curve) - 1 for curve in curves.values())
        yield check_claim(12, f"{word} objects: cost more the fewer there are", above, cases, "for every number")
    cheaper = [
        f"{n} objects, {k}: {gone:.4f} removed, {new:.4f} added"
        for n, curve in c.removed.items()
        for k, (gone, new) in enumerate(zip(curve, c.added[n], strict=False))
        if k and gone <= new
    ]
    first = next(iter(c.removed))
    example = f"e.g. {c.removed[first][1]:.3f} against {c.added[first][1]:.3f} for one of {first}"
    cases = sum(len(curve) - 1 for curve in c.removed.values())
    yield check_claim(12, "a removal costs more than an addition", cheaper, cases, example)


@claims
def matching_checks(c: StudyCurves, alpha: float) -> Iterator[CheckedClaim]:
    """Check the claims about multiple and one-to-one matching (figure 13)."""
    milder, unsteady = [], []
    for kind, modes in c.matching.items():
        one, *multiple = modes.items()
        for name, curve in multiple:
            milder += [
                f"{kind}, {name}, power {p}"
                for p, (a, b) in enumerate(zip(one[1], curve, strict=True), 1)
                if b < a - EXACT
            ]
        for (low, first), (high, second) in pairwise(multiple):
            unsteady += [
                f"{kind}, {high} below {low}, power {p}"
                for p, (a, b) in enumerate(zip(first, second, strict=True), 1)
                if b < a - EXACT
            ]
    ends = {kind: {name: curve[-1] for name, curve in modes.items()} for kind, modes in c.matching.items()}
    strict = [
        f"{kind}: no difference at power 20"
        for kind in ("translation", "rotation")
        if not list(ends[kind].values())[-1] > ends[kind]["one-to-one"]
    ]
    shown = ", ".join(f"{name} {value:.3f}" for name, value in ends["rotation"].items())
    cases = sum(len(curve) for modes in c.matching.values() for curve in modes.values())
    claim = "multiple matching is more severe than one to one"
    yield check_claim(13, claim, milder + strict, cases, f"rotation 20: {shown}")
    same = [f"{kind}: thresholds 0.2 and 0.5 alike at power 20" for kind in ("translation", "rotation")
            if not list(ends[kind].values())[-1] > list(ends[kind].values())[1]]  # fmt: skip
    yield check_claim(13, "a higher threshold is more severe", unsteady + same, cases, "at every power")
    yield from small_object_checks(c.matching_small)
    modes = c.matching["perspective"]
    lost = [
        f"{name}: {max(curve):.4f}" for name, curve in modes.items() if abs(curve[-1] - modes["one-to-one"][-1]) > EXACT
    ]
    yield check_claim(13, "perspective up to 20 never loses a match", lost, len(modes), "all ways of matching agree")


def small_object_checks(matching: Mapping[str, Mapping[str, list[float]]]) -> Iterator[CheckedClaim]:
    """Check that the ways of matching differ on small objects: each is more severe than the one before, at some power.

    On large objects they are equal up to power 20, which satisfies "more severe" only in the sense of no less.
    """
    for kind in ("translation", "rotation"):
        modes = list(matching[kind].items())
        milder = [f"{high} below {low}, power {p}" for (low, a), (high, b) in pairwise(modes)
                  for p, (x, y) in enumerate(zip(a, b, strict=True), 1) if y < x - EXACT]  # fmt: skip
        same = [f"{high} never above {low}" for (low, a), (high, b) in pairwise(modes)
                if not any(y > x + EXACT for x, y in zip(a, b, strict=True))]  # fmt: skip
        shown = ", ".join(f"{name} {curve[-1]:.3f}" for name, curve in modes)
        claim = f"small objects, {kind}: each way of matching is strictly more severe at some power"
        yield check_claim(13, claim, milder + same, sum(len(curve) for _, curve in modes), f"power {POWERS}: {shown}")


@claims
def lost_match_checks(c: StudyCurves, alpha: float) -> Iterator[CheckedClaim]:
    """Check that rotation and translation lose matches at a lower power than a scale change, at every threshold."""
    for soon, late in (("rotation", "scale"), ("translation", "scale")):
        later = [
            f"{threshold}, power {power}: {a:.3f} of the objects lost, {b:.3f} by {late}"
            for threshold, curve in c.lost[soon].items()
            for power, (a, b) in enumerate(zip(curve, c.lost[late][threshold], strict=True), 1)
            if a < b
        ]
        cases = sum(map(len, c.lost[soon].values()))
        ends = {threshold: (curve[-1], c.lost[late][threshold][-1]) for threshold, curve in c.lost[soon].items()}
        shown = ", ".join(f"{threshold} {a:.3f} against {b:.3f}" for threshold, (a, b) in ends.items() if a or b)
        claim = f"matches are lost sooner by {soon} than by {late}"
        if shown:
            yield check_claim(13, claim, later, cases, f"lost at power {POWERS}: {shown}")
        else:
            yield CheckedClaim(13, claim, cases, cases, f"no match is lost up to power {POWERS}")


@claims
def confidence_checks(c: StudyCurves, alpha: float) -> Iterator[CheckedClaim]:
    """Check the claim about the weight of a wrong class (figure 14)."""
    below = [
        i
        for i, (right, wrong) in enumerate(zip(c.right, c.wrong, strict=True))
        if wrong < right or (i and wrong <= right)
    ]
    found = f"equal at 0 ({c.right[0]:g}), then {c.wrong[-1] - c.right[-1]:g} apart at 1"
    steps = [f"step {i}" for i in below]
    yield check_claim(14, "a wrong class weighs more than a right one", steps, len(c.right), found)


@claims
def class_checks(c: StudyCurves, alpha: float) -> Iterator[CheckedClaim]:
    """Check the claims about class distances (figure 15)."""
    for name, curve, plain in (
        (f"{c.example['class'][0]}", c.example["with"], c.example["without"]),
        ("all classes", c.mean["with"], c.mean["without"]),
    ):
        levels = sorted(set(curve))
        step = max(b - a for a, b in pairwise(curve))
        default = max(b - a for a, b in pairwise(plain))
        passed = len(levels) > 2 and step < default and all(a <= b for a, b in pairwise(curve))
        found = f"{len(levels)} levels, largest step {step:.3f}; without distances {default:.3f}"
        yield CheckedClaim(15, f"class distances, {name}: step by step instead of a jump", int(not passed), 1, found)


@claims
def order_checks(c: StudyCurves, alpha: float) -> Iterator[CheckedClaim]:
    """Check the order of costs: detection, recognition, localization."""
    n = next(iter(c.removed))
    missing, wrong = c.removed[n][1], c.recognition[n][1]
    misplaced = max(curves[n][-1] for curves in c.localization.values())
    found = f"of {n}: missing {missing:.3f}, wrong class {wrong:.3f}, misplaced at most {misplaced:.3f}"
    costly = {kind: [power for power, cost in enumerate(curves[n], 1) if cost >= wrong]
            for kind, curves in c.localization.items()}  # fmt: skip
    above = [f"{kind} from {min(powers)}{UNITS.get(kind, ' px')} on" for kind, powers in costly.items() if powers]
    cases = sum(len(curves[n]) for curves in c.localization.values())
    failed = sum(map(len, costly.values())) if missing > wrong else cases
    told = found + (f"; not for {', '.join(above)}" if above else "")
    claim = "detection weighs more than recognition, recognition than localization"
    yield CheckedClaim(12, claim, failed, cases, told)
