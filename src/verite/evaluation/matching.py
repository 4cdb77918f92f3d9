"""Which prediction takes which truth? Similarities in, matches out; nothing here knows of boxes or masks.

Only :func:`box_candidates` looks at regions; the rules work on its output and on any other similarity alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verite import _core
from verite.arrays import np
from verite.model.annotations import Annotations
from verite.model.ragged import offsets_of
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
TRUE, FALSE, IGNORED = 1, 0, -1


@record(eq=False)
class Candidates:
    """Pairs that overlap: prediction i with truth[j] by overlap[j], j from offsets[i] to offsets[i + 1]."""

    offsets: Ints
    truth: NDArray[np.int32]
    overlap: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def pred(self) -> Ints:
        """The prediction of each pair."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def where(self, kept: NDArray[np.bool_]) -> Candidates:
        """Only these pairs."""
        counts = np.bincount(self.pred[kept], minlength=len(self))
        return Candidates(offsets_of(counts), self.truth[kept], self.overlap[kept])


@record(eq=False)
class Matches:
    """What became of each prediction at each threshold."""

    thresholds: tuple[float, ...]
    outcome: NDArray[np.int8]  # [threshold, prediction]: TRUE, FALSE or IGNORED
    truth: NDArray[np.int32]  # [threshold, prediction]: the truth it took, -1 where it took none


def box_candidates(truth: Annotations, pred: Annotations, *, pixel: float = 0.0, floor: float = 0.0) -> Candidates:
    """Pairs of the same image and label whose boxes overlap by at least `floor`.

    `pixel` is added to every width and height: 1 where coordinates are pixel indices.
    """
    labels = max(len(truth.labels), len(pred.labels))
    truth_cells = truth.image.astype(np.int64) * labels + truth.label
    pred_cells = pred.image.astype(np.int64) * labels + pred.label
    order = np.argsort(truth_cells, kind="stable").astype(np.int32)
    offsets, found, overlap = _core.box_candidates(
        truth.regions.boxes[order], truth_cells[order], pred.regions.boxes, pred_cells, pixel, floor
    )
    return Candidates(offsets, order[found], overlap)


def best_candidates(candidates: Candidates) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """For each prediction the first truth of largest overlap and that overlap; -1 and 0 where nothing overlaps."""
    lengths = np.diff(candidates.offsets)
    rows = np.flatnonzero(lengths)
    truth = np.full(len(candidates), -1, dtype=np.int32)
    overlap = np.zeros(len(candidates))
    if len(rows):
        starts = candidates.offsets[rows]
        overlap[rows] = np.maximum.reduceat(candidates.overlap, starts)
        is_best = candidates.overlap == np.repeat(overlap[rows], lengths[rows])
        at = np.flatnonzero(is_best)
        owner = np.repeat(rows, lengths[rows])[at]
        # Written last to first, so that the first of equal overlaps stays.
        truth[owner[::-1]] = candidates.truth[at[::-1]]
    return truth, overlap


def match_best(
    candidates: Candidates,
    order: Ints,
    ignored: NDArray[np.bool_],
    thresholds: Sequence[float],
    *,
    is_strict: bool = False,
) -> Matches:
    """Pascal VOC's rule: a prediction asks only for the truth it overlaps most.

    In the given order, the first prediction to ask for a truth takes it and every later one is false; a prediction
    whose best truth is `ignored` counts for nothing. `is_strict`: the overlap must exceed the threshold.
    """
    best, overlap = best_candidates(candidates)
    outcome = np.zeros((len(thresholds), len(candidates)), dtype=np.int8)
    taken = np.full(outcome.shape, -1, dtype=np.int32)
    asks_for_ignored = np.append(ignored, False)[best]  # -1, no truth, finds the last
    for t, threshold in enumerate(thresholds):
        reached = (best >= 0) & (overlap > threshold if is_strict else overlap >= threshold)
        outcome[t, reached & asks_for_ignored] = IGNORED
        asking = order[(reached & ~asks_for_ignored)[order]]
        first = np.full(len(ignored), -1, dtype=np.int64)
        first[best[asking[::-1]]] = asking[::-1]
        winners = first[first >= 0]
        outcome[t, winners] = TRUE
        taken[t, winners] = best[winners]
    return Matches(tuple(thresholds), outcome, taken)


def match_free(candidates: Candidates, order: Ints, truths: int, threshold: float) -> NDArray[np.int32]:
    """One to one: in the given order each prediction takes the free truth it overlaps most, -1 where none is left.

    An overlap below the threshold, or of zero, is no candidate; of equal overlaps the first truth is taken.
    """
    lengths = np.diff(candidates.offsets)
    owner = np.repeat(np.arange(len(candidates)), lengths)
    wanted = (candidates.overlap >= threshold) & (candidates.overlap > 0)
    rank = np.empty(len(candidates), dtype=np.int64)
    rank[order] = np.arange(len(candidates))
    # Every truth prefers the same, earlier prediction, so asking in rounds ends where asking one by one would: those
    # who were refused ask for their next best, and a truth lets go of a later prediction for an earlier one.
    pairs = np.flatnonzero(wanted)
    pairs = pairs[np.lexsort((-candidates.overlap[pairs], owner[pairs]))]
    owner, truth = owner[pairs], candidates.truth[pairs]
    next_pair = np.searchsorted(owner, np.arange(len(candidates)))
    last_pair = np.searchsorted(owner, np.arange(len(candidates)), side="right")
    taken_by = np.full(truths, -1, dtype=np.int64)
    asking = np.flatnonzero(next_pair < last_pair)
    while len(asking):
        asked = truth[next_pair[asking]]
        next_pair[asking] += 1
        holders = taken_by[np.unique(asked)]
        contenders = np.concatenate([asking, holders[holders >= 0]])
        contested = np.concatenate([asked, np.unique(asked)[holders >= 0]])
        by_rank = np.argsort(-rank[contenders], kind="stable")  # the earliest is written last
        taken_by[contested[by_rank]] = contenders[by_rank]
        refused = contenders[taken_by[contested] != contenders]
        asking = refused[next_pair[refused] < last_pair[refused]]
    out = np.full(len(candidates), -1, dtype=np.int32)
    held = np.flatnonzero(taken_by >= 0)
    out[taken_by[held]] = held
    return out


@record(eq=False)
class Cells:
    """Objects laid out image by image, class by class within an image: a place in this layout is a slot."""

    rows: NDArray[np.int32]  # the object in each slot
    labels: NDArray[np.int32]  # its class
    images: Ints  # image i has the slots images[i] .. images[i + 1]

    @property
    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32], Ints]:
        return self.rows, self.labels, self.images


def group_truths(image: NDArray[np.int32], label: NDArray[np.int32], *, images: int, labels: int) -> Cells:
    """Objects in cells, in their order within a cell. A position of -1 leaves an object out."""
    return Cells(*_core.group_objects(image, label, images, labels))


WHOLE = 2**40  # overlaps and preferences as whole numbers, so that their sums are exact


def match_one_to_one(
    truth: Ints, pred: Ints, overlap: NDArray[np.float64], preference: NDArray[np.float64], truths: int, preds: int
) -> NDArray[np.bool_]:
    """Which of the pairs truth[i], pred[i] are in the assignment with the largest sum of overlaps (Hungarian method).

    Of assignments with the same sum the one with the largest sum of preferences is taken, so that the outcome does not
    depend on the order of the objects. Both are numbers from 0 to 1.

    >>> match_one_to_one(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0.6, 0.5, 0.5]), np.zeros(3), 2, 2)
    array([False,  True,  True])
    """
    gains = (np.rint(values * WHOLE).astype(np.int64) for values in (overlap, preference))
    first, second = gains
    rows, columns = (np.ascontiguousarray(side, dtype=np.int64) for side in (truth, pred))
    return _core.assign(rows, columns, np.maximum(first, 1), np.maximum(second, 0), truths, preds)
