"""Is the angle of rotated boxes read as it was written? (V431)

Only boxes of five numbers have an angle that can be misread; corners speak for themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from verite import _core
from verite.checks.findings import Finding
from verite.checks.poses import nearest
from verite.model.quads import FIVE_NUMBERS, quads_of

if TYPE_CHECKING:
    from verite.checks.sides import Pair

FEWEST = 5  # pairs before an angle is called mirrored
TURNED = 0.05  # of an overlap: boxes that are nearly upright or square look the same in the mirror
MOSTLY = 0.8  # share of the pairs that overlap more
BETTER = 0.1  # by how much the mean overlap must grow


def find_mirrored_angles(pair: Pair) -> Iterator[Finding]:
    """Predictions that overlap the truth far better when they turn the other way."""
    truth, pred = quads_of(pair.truth.regions), quads_of(pair.pred.regions)
    if truth is None or pred is None:
        return
    matches = np.array(list(nearest(pair)), dtype=np.int64).reshape(-1, 2)
    first, second = truth[matches[:, 0]], pred[matches[:, 1]]
    other = second.copy()
    other[..., 1] = 2 * second.mean(axis=1)[:, None, 1] - second[..., 1]
    flat = [np.ascontiguousarray(quads.reshape(-1, 8)) for quads in (first, second, other)]
    plain, turned = _core.quad_overlaps(flat[0], flat[1]), _core.quad_overlaps(flat[0], flat[2])
    differ = np.abs(plain - turned) > TURNED
    if differ.sum() < FEWEST or turned[differ].mean() < plain[differ].mean() + BETTER:
        return
    better = int((turned > plain)[differ].sum())
    if better < MOSTLY * differ.sum():
        return
    yield Finding(
        "V431",
        "error",
        f"angles turn the other way: mean overlap {turned[differ].mean():.2f} instead of {plain[differ].mean():.2f} in "
        f"{int(differ.sum()):,} pairs if predictions turn against the way they are read",
        better,
        (),
        f"add {spell_other_way(pair)}",
    )


def spell_other_way(pair: Pair) -> str:
    """The option that reads predictions the other way, or the truth where only it has angles."""
    for option, side in (("--pred-angle", pair.pred), ("--truth-angle", pair.truth)):
        for note in side.source.notes:
            if note.startswith(FIVE_NUMBERS):
                unit = "radians" if "radians" in note else "degrees"
                return f"{option} {unit if 'counterclockwise' in note else f'{unit}-ccw'}"
    return "--pred-angle degrees-ccw"
