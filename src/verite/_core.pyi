"""The native core: loops over plain arrays (see cpp/)."""

import numpy as np
from numpy.typing import NDArray

def box_iou(truth: NDArray[np.float64], pred: NDArray[np.float64], pixel: float = 0.0) -> NDArray[np.float64]: ...
def box_candidates(
    truth: NDArray[np.float64],
    truth_cells: NDArray[np.int64],
    pred: NDArray[np.float64],
    pred_cells: NDArray[np.int64],
    pixel: float = 0.0,
    floor: float = 0.0,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...
def decode_runs(text: bytes, height: int, width: int) -> NDArray[np.uint32]: ...
def encode_runs(counts: NDArray[np.uint32]) -> bytes: ...
def independent_changes(
    kind: NDArray[np.int32],
    groups: NDArray[np.int64],
    share: NDArray[np.float64],
    ways: NDArray[np.float64],
    change: NDArray[np.float64],
    rates: NDArray[np.float64],
    seed: int,
    first_draw: int,
) -> NDArray[np.float64]: ...
def chosen_changes(
    kind: NDArray[np.int32],
    ways: NDArray[np.float64],
    change: NDArray[np.float64],
    counts: NDArray[np.int64],
    seed: int,
    first_draw: int,
) -> NDArray[np.float64]: ...
