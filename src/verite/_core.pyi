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
