"""The native core: loops over plain arrays (see cpp/)."""

from os import PathLike
from typing import Any

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
    ways: NDArray[np.float64],
    change: NDArray[np.float64],
    rate: float,
    share: NDArray[np.float64],
    draws: int,
    seed: int,
    first_draw: int,
) -> NDArray[np.float64]: ...
def chosen_changes(
    kind: NDArray[np.int32],
    ways: NDArray[np.float64],
    change: NDArray[np.float64],
    groups: NDArray[np.int64],
    wrong: NDArray[np.int32],
    seed: int,
    first_draw: int,
) -> NDArray[np.float64]: ...

class ParseError(ValueError):
    code: str
    byte: int
    line: int
    section: str
    record: int | None

class CocoFile:
    images: dict[str, Any]
    categories: dict[str, Any]
    annotations: dict[str, Any]
    is_results: bool
    keys: list[str]
    region_kinds: NDArray[np.uint8] | None
    region_bytes: NDArray[np.int64] | None
    region_lengths: NDArray[np.int64] | None
    def polygons(
        self, records: NDArray[np.int64], strict: bool = True, limits: tuple[int, int, int, float] = ...
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]: ...
    def runs(
        self, records: NDArray[np.int64], strict: bool = True, limits: tuple[int, int, int, float] = ...
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32]]: ...

def read_coco(
    path: str | PathLike[str], threads: int = 1, deepest: int = 64, piece_bytes: int = 1048576
) -> CocoFile: ...
def read_coco_bytes(content: bytes, threads: int = 1, deepest: int = 64, piece_bytes: int = 1048576) -> CocoFile: ...

# Runs with offsets: object i has the runs counts[offsets[i]:offsets[i + 1]].
Drawn = tuple[NDArray[np.uint32], NDArray[np.int64]]
# One side of the pairs: runs, offsets and sizes (height, width) of masks, the object of each pair, and runs and offsets
# of outlines that were given (an object without one has no runs) or None.
Side = tuple[
    NDArray[np.uint32],
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.uint32] | None,
    NDArray[np.int64] | None,
]

def polygon_runs(
    points: NDArray[np.float64],
    rings: NDArray[np.int64],
    objects: NDArray[np.int64],
    sizes: NDArray[np.int32],
    coco: bool = True,
) -> Drawn: ...
def box_runs(boxes: NDArray[np.float64], sizes: NDArray[np.int32]) -> Drawn: ...
def mask_runs(masks: NDArray[np.uint8]) -> Drawn: ...
def outline_runs(counts: NDArray[np.uint32], objects: NDArray[np.int64], sizes: NDArray[np.int32]) -> Drawn: ...
def filled_runs(counts: NDArray[np.uint32], objects: NDArray[np.int64], sizes: NDArray[np.int32]) -> Drawn: ...
def run_frames(
    counts: NDArray[np.uint32], objects: NDArray[np.int64], sizes: NDArray[np.int32]
) -> NDArray[np.float64]: ...
def pair_overlaps(truth: Side, pred: Side) -> NDArray[np.float64]: ...
def pair_statistics(truth: Side, pred: Side) -> NDArray[np.float64]: ...
def pair_outside(truth: Side, pred: Side) -> NDArray[np.float64]: ...
def pair_distances(
    truth: Side, pred: Side
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], tuple[NDArray[np.int64], NDArray[np.int64]]]: ...
def rim_overlaps(truth: Side, pred: Side, widths: NDArray[np.int64]) -> NDArray[np.float64]: ...
def distance_differences(
    truth: Side, pred: Side, powers: NDArray[np.float64], cutoff: float
) -> NDArray[np.float64]: ...
