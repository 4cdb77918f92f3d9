"""Which prediction may take which truth? The pairs of an evaluation, prediction by prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verite.arrays import np
from verite.evaluation.evaluation import Evaluation, Rules
from verite.limits import limit
from verite.model.ragged import offsets_of
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

    Ints = NDArray[np.int64]


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
    truth: Annotations,
    pred: Annotations,
    *,
    pixel: float = 0.0,
    floor: float = 0.0,
    is_together: bool = False,
    threads: int = 1,
) -> Candidates:
    """Pairs of the same image and label whose boxes overlap by at least `floor`; `is_together`: of any label.

    `pixel` is added to every width and height: 1 where coordinates are pixel indices. More pairs than fit into memory
    are refused.
    """
    rules = Rules((floor,), "corner_box", pixel=pixel, is_open=True, is_together=is_together)
    stages = Evaluation(truth, pred, rules, threads, most_pairs=limit("overlaps")).stages
    slot_offsets, truth_slot, overlap = stages.candidates
    lengths = np.zeros(len(pred), dtype=np.int64)
    lengths[stages.preds[0]] = np.diff(slot_offsets)
    rows = stages.truths[0][truth_slot]
    by_pred = np.lexsort((rows, np.repeat(stages.preds[0], np.diff(slot_offsets))))
    return Candidates(offsets_of(lengths), rows[by_pred], overlap[by_pred])
