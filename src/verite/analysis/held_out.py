"""What does the best threshold promise on other images? F on one half of them at a threshold chosen on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verite.analysis.matches import ends_of_runs
from verite.analysis.sweeps import ConfidenceSweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.analysis.matches import Ints, Matches

ROOM, MORE = 1.5, 1000  # of the predictions that are looked at first


def hold_out(
    matches: Matches, whole: ConfidenceSweep, falling: Ints, beta: float, splits: int, seed: int
) -> list[float]:
    """Both ways of so many halvings. `falling`: predictions that count by falling confidence, `whole` their sweep."""
    truths = np.bincount(matches.truth.image[matches.is_asked], minlength=matches.image_count)
    random = np.random.Generator(np.random.PCG64(seed))
    short = list_hits(matches, falling[: count_enough(whole, beta)])
    every = list_hits(matches, falling)
    values = []
    for _ in range(splits):
        is_first = np.zeros(matches.image_count, dtype=np.bool_)
        is_first[random.permutation(matches.image_count)[: matches.image_count // 2]] = True
        asked = int(truths[is_first].sum())
        counts = asked, int(truths.sum()) - asked
        halves = halve(matches, is_first, counts, *short)
        if not all(
            is_best_before(matches, half, beta, own) for half, own in zip(halves, (is_first, ~is_first), strict=True)
        ):
            halves = halve(matches, is_first, counts, *every)
        for chosen, judged in (halves, halves[::-1]):
            best = chosen.best(chosen.f(beta))
            if best is not None and judged.truths:
                values.append(float(judged.f(beta)[best]))
    return values


def count_enough(whole: ConfidenceSweep, beta: float) -> int:
    """So many predictions, to the end of a confidence, surely hold the best F of all images, with room for that of
    some: beyond, F would be too small even if all that is right were kept.
    """
    if not whole.truths or not len(whole.right) or not whole.right[-1]:
        return 0
    square, kept = beta**2, whole.right + whole.wrong
    most = (1 + square) * whole.right[-1] / float(whole.f(beta).max()) - square * whole.truths
    at = np.searchsorted(kept, ROOM * most + MORE)
    return int(kept[min(int(at), len(kept) - 1)])


def list_hits(matches: Matches, rows: Ints) -> tuple[Ints, Ints]:
    """Predictions, and the last of each confidence at which something right is added: F falls everywhere else, so that
    the best of any images is at one of these.
    """
    ends = ends_of_runs(matches.confidence[rows])
    return rows, ends[np.diff(np.cumsum(matches.is_right[rows])[ends], prepend=-1) > 0]


def halve(
    matches: Matches, is_first: NDArray[np.bool_], truths: tuple[int, int], rows: Ints, ends: Ints
) -> list[ConfidenceSweep]:
    """What is kept of both halves of the images."""
    inside, right = is_first[matches.pred.image[rows]], matches.is_right[rows]
    found, kept = (np.cumsum(flags, dtype=np.int64)[ends] for flags in (inside & right, inside))
    others = np.cumsum(right)[ends] - found
    confidence = matches.confidence[rows[ends]]
    return [
        ConfidenceSweep(confidence, found, kept - found, truths[0], 1),
        ConfidenceSweep(confidence, others, ends + 1 - kept - others, truths[1], 1),
    ]


def is_best_before(matches: Matches, half: ConfidenceSweep, beta: float, images: NDArray[np.bool_]) -> bool:
    """Can no threshold beyond the last one be better, whatever is right there?"""
    if not len(half.right):
        return False
    right, square = int((matches.is_right & images[matches.pred.image]).sum()), beta**2
    bound = (1 + square) * right / max(square * half.truths + half.right[-1] + half.wrong[-1], 1e-300)
    return not half.truths or float(half.f(beta).max()) >= bound
