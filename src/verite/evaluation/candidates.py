"""Which prediction may take which truth? The pairs of an evaluation, prediction by prediction."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from verite import _core
from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.evaluation import Evaluation, Rules
from verite.limits import limit, remedy
from verite.model.ragged import offsets_of
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


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

    @property
    def arrays(self) -> tuple[Ints, NDArray[np.int32], NDArray[np.float64]]:
        """As the core takes them."""
        return self.offsets, self.truth, self.overlap


def box_candidates(
    truth: Annotations, pred: Annotations, *, pixel: float = 0.0, floor: float = 0.0, threads: int = 1
) -> Candidates:
    """Pairs of the same image and label whose boxes overlap by at least `floor`.

    `pixel` is added to every width and height: 1 where coordinates are pixel indices.
    """
    labels = max(len(truth.labels), len(pred.labels))
    cells, pred_cells = (side.image.astype(np.int64) * labels + side.label for side in (truth, pred))
    order = np.argsort(cells, kind="stable")
    boxes, pred_boxes = truth.regions.boxes[order], pred.regions.boxes
    check_overlaps(boxes, cells[order], pred_boxes, pred_cells, pixel=pixel, where=pred.source.path)
    rules = Rules((floor,), "corner_box", pixel=pixel, is_open=True)
    stages = Evaluation(truth, pred, rules, threads).stages
    slot_offsets, truth_slot, overlap = stages.candidates
    lengths = np.zeros(len(pred), dtype=np.int64)
    lengths[stages.preds[0]] = np.diff(slot_offsets)
    by_pred = np.argsort(np.repeat(stages.preds[0], np.diff(slot_offsets)), kind="stable")
    return Candidates(offsets_of(lengths), stages.truths[0][truth_slot[by_pred]], overlap[by_pred])


def check_overlaps(
    truth: Floats, truth_cells: Ints, pred: Floats, pred_cells: Ints, *, pixel: float, where: str
) -> None:
    """Refuse boxes of which more pairs overlap within cells than fit into memory; truths are sorted by cell.

    They are counted where there could be so many, a part of the predictions at a time.
    """
    most = limit("overlaps")
    if len(truth) * len(pred) <= most:
        return
    first, last = (np.searchsorted(truth_cells, pred_cells, side) for side in ("left", "right"))
    part = (last - first).cumsum() // most
    cuts, found = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(pred)], 0
    for some in (slice(*ends) for ends in pairwise(cuts) if part[-1]):
        found += len(_core.box_candidates(truth, truth_cells, pred[some], pred_cells[some], pixel)[1])
        if found > most:
            raise DataError(
                f"{where or 'predictions'}: expected at most {most:,} pairs of objects that overlap, found more; "
                f"{remedy('overlaps')}, with 100 bytes of memory for each"
            )
