"""What does the paper say of its score, and does it hold? Every claim is a check on measured curves that can fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verite.studies.interpretation import Curves

EXACT = 1e-12  # means of equal numbers may differ by rounding
# A jump, as in the study of localization metrics: a step above an eighth of the curve's height and four times its
# neighbours.
SHARE, TIMES = 1 / 8, 4


@dataclass(frozen=True)
class Check:
    """One claim, and what was found."""

    figure: int
    claim: str
    passed: bool
    found: str


def checks_of(curves: Curves, alpha: float) -> list[Check]:
    """All of them, in the order of the figures."""
    return [
        *localization_checks(curves),
        *recognition_checks(curves, alpha),
        *detection_checks(curves),
        *matching_checks(curves),
        *confidence_checks(curves),
        *class_checks(curves),
        *order_checks(curves),
    ]


def localization_checks(c: Curves) -> Iterator[Check]:
    for kind, by_count in c.localization.items():
        falls = [
            f"{n} objects, power {power} to {power + 1}: {a:.6f} to {b:.6f}"
            for n, curve in by_count.items()
            for power, (a, b) in enumerate(pairwise([0.0, *curve]))
            if b <= a
        ]
        rising = f"{len(by_count)} of {len(by_count)} curves rise at every step"
        yield Check(10, f"{kind}: rises strictly with the power", not falls, tell(falls, rising))
        jumps = [f"{n} objects, at power {power}" for n, curve in by_count.items() for power in jumps_of([0.0, *curve])]
        yield Check(10, f"{kind}: has no jump", not jumps, tell(jumps, f"none in {len(by_count)} curves"))
        yield fewer_cost_more(kind, by_count, c.errors[kind])
    for dear, cheap in (("translation", "scale"), ("rotation", "scale"), ("scale", "perspective")):
        a, b = c.pooled[dear], c.pooled[cheap]
        yield Check(10, f"{dear} costs more than {cheap}", a > b, f"mean {a:.4f} against {b:.4f}")
    free = sum(c.unpunished.values())
    listed = ", ".join(f"{kind} {100 * c.unpunished[kind] / max(1, c.differing[kind]):.1f} %" for kind in c.unpunished)
    found = f"{free:,} of {sum(c.differing.values()):,} altered objects score 0 ({listed})"
    yield Check(10, "separation: only a perfect scene scores 0", free == 0, found)


def fewer_cost_more(kind: str, by_count: Mapping[int, list[float]], errors: Mapping[int, list[float]]) -> Check:
    """Groups of few images differ by chance: a rise counts from two standard errors on, and the ends must differ."""
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
    return Check(10, f"{kind}: costs less the more objects there are", not rises, tell(rises, found))


def recognition_checks(c: Curves, alpha: float) -> Iterator[Check]:
    off = [
        f"{n} objects, {wrong} wrong: {value:.6f} instead of {(1 - alpha) * wrong / n:.6f}"
        for n, curve in c.recognition.items()
        for wrong, value in enumerate(curve)
        if abs(value - (1 - alpha) * wrong / n) > EXACT
    ]
    yield Check(11, "wrong classes: the score is linear in their number", not off, tell(off, "to 1e-12"))
    last = {n: curve[-1] for n, curve in c.recognition.items()}
    off = [f"{n} objects: {value:.6f}" for n, value in last.items() if abs(value - (1 - alpha)) > EXACT]
    yield Check(11, f"all classes wrong: exactly {1 - alpha:.3g}", not off, tell(off, f"{1 - alpha:.3g} everywhere"))


def detection_checks(c: Curves) -> Iterator[Check]:
    for word, curves in (("removed", c.removed), ("added", c.added)):
        falls = [f"{n} objects" for n, curve in curves.items() if any(b <= a for a, b in pairwise(curve))]
        yield Check(12, f"{word} objects: rises with their number", not falls, tell(falls, "at every step"))
        above = [
            f"{more} objects cost as much as {fewer}, {k} {word}"
            for (fewer, first), (more, second) in pairwise(curves.items())
            for k, (a, b) in enumerate(zip(first, second, strict=False))
            if k and b >= a
        ]
        yield Check(12, f"{word} objects: cost more the fewer there are", not above, tell(above, "for every number"))
    cheaper = [
        f"{n} objects, {k}: {gone:.4f} removed, {new:.4f} added"
        for n, curve in c.removed.items()
        for k, (gone, new) in enumerate(zip(curve, c.added[n], strict=False))
        if k and gone <= new
    ]
    first = next(iter(c.removed))
    example = f"e.g. {c.removed[first][1]:.3f} against {c.added[first][1]:.3f} for one of {first}"
    yield Check(12, "a removal costs more than an addition", not cheaper, tell(cheaper, example))


def matching_checks(c: Curves) -> Iterator[Check]:
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
    yield Check(
        13,
        "multiple matching is more severe than one to one",
        not milder + strict,
        tell(milder + strict, f"rotation 20: {shown}"),
    )
    same = [f"{kind}: thresholds 0.2 and 0.5 alike at power 20" for kind in ("translation", "rotation")
            if not list(ends[kind].values())[-1] > list(ends[kind].values())[1]]  # fmt: skip
    yield Check(13, "a higher threshold is more severe", not unsteady + same, tell(unsteady + same, "at every power"))
    modes = c.matching["perspective"]
    lost = [
        f"{name}: {max(curve):.4f}" for name, curve in modes.items() if abs(curve[-1] - modes["one-to-one"][-1]) > EXACT
    ]
    yield Check(13, "perspective up to 20 never loses a match", not lost, tell(lost, "all ways of matching agree"))


def confidence_checks(c: Curves) -> Iterator[Check]:
    below = [
        i
        for i, (right, wrong) in enumerate(zip(c.right, c.wrong, strict=True))
        if wrong < right or (i and wrong <= right)
    ]
    found = f"equal at 0 ({c.right[0]:g}), then {c.wrong[-1] - c.right[-1]:g} apart at 1"
    yield Check(14, "a wrong class weighs more than a right one", not below, tell([f"step {i}" for i in below], found))


def class_checks(c: Curves) -> Iterator[Check]:
    for name, curve, plain in (
        (f"{c.example['class'][0]}", c.example["with"], c.example["without"]),
        ("all classes", c.mean["with"], c.mean["without"]),
    ):
        levels = sorted(set(curve))
        step = max(b - a for a, b in pairwise(curve))
        default = max(b - a for a, b in pairwise(plain))
        passed = len(levels) > 2 and step < default and all(a <= b for a, b in pairwise(curve))
        found = f"{len(levels)} levels, largest step {step:.3f}; without distances {default:.3f}"
        yield Check(15, f"class distances, {name}: step by step instead of a jump", passed, found)


def order_checks(c: Curves) -> Iterator[Check]:
    n = next(iter(c.removed))
    missing, wrong = c.removed[n][1], c.recognition[n][1]
    misplaced = max(curves[n][-1] for curves in c.localization.values())
    found = f"of {n}: missing {missing:.3f}, wrong class {wrong:.3f}, misplaced at most {misplaced:.3f}"
    yield Check(
        12, "detection weighs more than recognition, recognition than localization", missing > wrong > misplaced, found
    )


def jumps_of(curve: Sequence[float]) -> list[int]:
    """Powers at which a curve leaps, a missing neighbour counting as small.

    >>> jumps_of([0, 1, 2, 3, 20, 21, 22, 23, 24])
    [4]
    """
    steps = [abs(b - a) for a, b in pairwise(curve)]
    height = max(curve) - min(curve)
    return [
        i + 1
        for i, step in enumerate(steps)
        if step > SHARE * height
        and (i == 0 or step > TIMES * steps[i - 1])
        and (i + 1 == len(steps) or step > TIMES * steps[i + 1])
    ]


def tell(problems: Sequence[str], otherwise: str) -> str:
    """The first problem and how many there are, or what was found instead."""
    if not problems:
        return otherwise
    return problems[0] + (f" and {len(problems) - 1} more" if len(problems) > 1 else "")
