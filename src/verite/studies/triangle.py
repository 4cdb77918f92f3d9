"""Is a detour ever shorter? The triangle inequality over all couples of two translations.

M(truth, 2) ≤ M(truth, 1) + M(1, 2) for translations 1 and 2 of three boxes: 2,401² couples each at a reach of 24. A
metric that does not care where in the image things are has M(1, 2) = M(truth, 2 - 1), so that all couples follow from
97² values. Whether it cares is tried on couples spread over the range; one that does is asked directly, on a coarser
grid of translations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite._core import Stop
from verite.studies.alterations import draw, translation
from verite.studies.measuring import pairs_of, run_all, values_of
from verite.studies.processes import Named, can_move, find_rows, name_rows, run_in_processes
from verite.studies.properties import triangle_violations
from verite.studies.rows import Row, Turn
from verite.studies.truths import Truth, boxes

Floats = NDArray[np.float64]
ON = ("small square", "large square", "wide")
TRIED = 5  # translations a side on which a metric is tried, and asked directly where it cares for places


def triangle_shares(
    rows: Sequence[Row],
    turns: Sequence[Turn],
    *,
    reach: int = 24,
    slack: float = 1e-9,
    jobs: int = 1,
    processes: bool = False,
) -> Floats:
    """For each row the share of couples that violate the inequality."""
    chosen = [truth for truth in boxes() if truth.name in ON]
    away = [i for i, row in enumerate(rows) if processes and jobs > 1 and can_move(row)]
    here = [i for i in range(len(rows)) if i not in away]
    found, stop = np.empty((len(chosen), len(rows))), Stop()
    if here:
        mine, how = [rows[i] for i in here], [turns[i] for i in here]
        work = [partial(shares_on, mine, how, truth, reach, slack, stop) for truth in chosen]
        for k, shares in run_all(work, jobs, stop):
            found[k, here] = shares
    if away:
        named, how = name_rows([rows[i] for i in away]), [turns[i] for i in away]
        for k, shares in run_in_processes(shares_named, [(named, how, truth, reach, slack) for truth in chosen], jobs):
            found[k, away] = shares
    mean: Floats = found.mean(axis=0)
    return mean


def shares_named(named: Named, turns: Sequence[Turn], truth: Truth, reach: int, slack: float) -> Floats:
    """One truth, in a process that finds the functions itself."""
    return shares_on(find_rows(named), turns, truth, reach, slack, Stop())


def shares_on(rows: Sequence[Row], turns: Sequence[Turn], truth: Truth, reach: int, slack: float, stop: Stop) -> Floats:
    """One truth. It must lie at least 2 · reach from the border for shifts to stand for couples."""
    outline = truth.outline
    marks = np.arange(-2 * reach, 2 * reach + 1).astype(np.float64)
    x, y = (grid.ravel() for grid in np.meshgrid(marks, marks, indexing="ij"))
    forward = values_of(rows, truth.mask[None], draw(outline, translation(outline, x, y)), stop, both_ways=False)[0]
    steps = np.linspace(-reach, reach, TRIED).round()
    a, b = (grid.ravel() for grid in np.meshgrid(steps, steps, indexing="ij"))
    one, two = (grid.ravel() for grid in np.meshgrid(np.arange(len(a)), np.arange(len(a)), indexing="ij"))
    shifted = draw(outline, translation(outline, a, b))
    pairs = pairs_of(shifted.take(one), shifted.take(two))
    size = len(marks)
    shares = np.empty(len(rows))
    for i, row in enumerate(rows):
        penalties = turns[i](forward[i]).reshape(size, size)
        # M(1, 2) itself, and what stands for it.
        direct = turns[i](row.values(pairs))
        at = [(2 * reach + c[two] - c[one]).astype(np.int64) for c in (a, b)]
        cares = not np.allclose(direct, penalties[at[0], at[1]], rtol=1e-9, atol=1e-12)
        if cares:
            alone = penalties[(2 * reach + a).astype(np.int64), (2 * reach + b).astype(np.int64)]
            shares[i] = triangle_violations(alone, direct.reshape(len(a), len(a)), slack=slack)
        else:
            couples = (2 * reach + 1) ** 4
            shares[i] = _core.triangle_failures(np.ascontiguousarray(penalties), reach, slack) / couples
    return shares
