"""The native core: loops over plain arrays (see cpp/)."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

Buffer = Any  # bytes, array.array, an array without gaps

def box_iou(truth: NDArray[np.float64], pred: NDArray[np.float64], pixel: float = 0.0) -> NDArray[np.float64]: ...
def box_candidates(
    truth: NDArray[np.float64],
    truth_cells: NDArray[np.int64],
    pred: NDArray[np.float64],
    pred_cells: NDArray[np.int64],
    pixel: float = 0.0,
    floor: float = 0.0,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...
def assign(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    row_count: int,
    column_count: int,
) -> NDArray[np.bool_]: ...
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

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]
CellArrays = tuple[Int32s, Int32s, Int64s]
CandidateArrays = tuple[Int64s, Int32s, Floats]

def group_objects(image: Int32s, label: Int32s, images: int, labels: int) -> CellArrays: ...
def coco_box_candidates(
    truth: CellArrays,
    truth_sizes: Floats,
    crowd: NDArray[np.bool_],
    pred: CellArrays,
    pred_sizes: Floats,
    floor: float,
    threads: int = 1,
) -> CandidateArrays: ...
def coco_box_overlaps(pred: Floats, truth: Floats, crowd: NDArray[np.bool_]) -> Floats: ...
def accumulate_outcomes(
    confidence: Floats, hits: NDArray[np.bool_], spared: NDArray[np.bool_], positives: float, recalls: Floats
) -> tuple[Floats, Floats, Floats]: ...
def box_areas(sizes: Floats, threads: int = 1) -> Floats: ...

RunArrays = tuple[NDArray[np.uint32], Int64s, Int32s]
PolygonArrays = tuple[Floats, Int64s, Int64s]  # points, offsets of rings and of objects
OutlineArrays = tuple[RunArrays, Floats, Int64s, Int64s, Floats, Int32s]

# Columns come from anything with a buffer: shared where it cannot be written to, else copied.
class Regions:
    def __init__(
        self,
        boxes: Buffer,
        layout: str,
        polygons: tuple[Buffer, Buffer, Buffer] | None = None,
        runs: tuple[Buffer, Buffer, Buffer] | None = None,
        boxed: Buffer | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    layout: str
    boxes: Floats
    has_only_boxes: bool
    kinds: NDArray[np.uint8]
    boxed: NDArray[np.bool_] | None
    def boxes_as(self, layout: str) -> Floats: ...
    has_all_boxes: bool
    def shapes(self) -> tuple[PolygonArrays | None, RunArrays | None]: ...
    def load(self) -> None: ...
    def bound(self) -> Regions: ...
    def with_boxes(self, boxes: Buffer, layout: str) -> Regions: ...
    def take(self, rows: Buffer) -> Regions: ...
    def scale(self, factors: Buffer) -> Regions: ...

class Columns:
    def __init__(
        self,
        regions: Regions,
        image: Buffer,
        label: Buffer,
        confidence: Buffer | None = None,
        area: Buffer | None = None,
        ids: Buffer | None = None,
        flags: dict[str, Any] = ...,
    ) -> None: ...
    def __len__(self) -> int: ...
    regions: Regions
    image: Int32s
    label: Int32s
    has_confidence: bool
    confidence: Floats | None
    area: Floats | None
    ids: Int64s | None
    flags: dict[str, NDArray[np.bool_]]
    flag_names: list[str]
    def outside(self, images: int, labels: int) -> str | None: ...
    def take(self, rows: Buffer) -> Columns: ...
    def only(self, labels: Buffer) -> Columns: ...
    def with_regions(self, regions: Regions) -> Columns: ...
    def facts(self, with_shapes: bool) -> list[tuple[str, int, int]]: ...
    def move(self, images: Buffer | None = None, labels: Buffer | None = None) -> Columns: ...

class Images:
    def __init__(
        self,
        names: Sequence[str] | None = None,
        ids: Buffer | None = None,
        widths: Buffer | None = None,
        heights: Buffer | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    has_names: bool
    has_ids: bool
    ids: Int64s | None
    widths: Int32s
    heights: Int32s
    def name(self, i: int) -> str: ...
    def names(self) -> list[str]: ...
    def facts(self) -> list[tuple[str, int, int]]: ...

def draw_masks(
    runs: RunArrays, points: Floats, rings: Int64s, objects: Int64s, boxes: Floats, images: Int32s, threads: int = 1
) -> RunArrays: ...
def mask_areas(masks: RunArrays) -> Floats: ...
def mask_bounds(masks: RunArrays) -> Floats: ...
def mask_overlaps(pred: RunArrays, truth: RunArrays, crowd: NDArray[np.bool_]) -> Floats: ...
def mask_candidates(
    truth: CellArrays,
    truth_outlines: OutlineArrays,
    crowd: NDArray[np.bool_],
    pred: CellArrays,
    pred_outlines: OutlineArrays,
    floor: float,
    threads: int = 1,
) -> CandidateArrays: ...
def encode_masks(pixels: NDArray[np.uint8]) -> tuple[NDArray[np.uint32], Int64s]: ...
def decode_masks(masks: RunArrays) -> NDArray[np.uint8]: ...
def mask_pixels(masks: RunArrays, i: int) -> NDArray[np.uint8]: ...
def merge_masks(masks: RunArrays, is_intersection: bool = False) -> NDArray[np.uint32]: ...
def mean(values: Sequence[float]) -> float: ...
def wants_outlines(similarity: str) -> bool: ...

class Numbers:
    positives: list[float]  # [class, range] in one row
    precision: Floats  # [range, threshold, recall, class]
    recall: Floats  # [limit, range, threshold, class]
    def mean(
        self, is_precision: bool, threshold: int | None, range: int, limit: int, classes: bytes | None = None
    ) -> float: ...
    def class_means(self, is_precision: bool, threshold: int | None, range: int, limit: int) -> list[float]: ...

class Part:
    image_count: int
    @staticmethod
    def merge(parts: Sequence[Part]) -> Part: ...
    def numbers(self, threads: int = 1) -> Numbers: ...

class Evaluation:
    truth_counts: list[int]
    pred_counts: list[int]
    def __init__(
        self,
        truth: Columns,
        pred: Columns,
        images: Images,
        labels: int,
        label_rank: Buffer | None = None,
        *,
        thresholds: Sequence[float],
        ranges: Sequence[float],
        limits: Sequence[int],
        recalls: Sequence[float],
        similarity: str = "box",
        pixel: float = 0.0,
        wants: str = "free",
        equal: str = "later",
        ties: str = "image",
        is_strict: bool = False,
        is_together: bool = False,
        ignored: Sequence[str] = (),
        shared: Sequence[str] = (),
        repeats_quirks: bool = False,
        truth_is_results: bool = False,
        pred_is_results: bool = False,
        image_limit: int = 0,
        drops_flat: bool = False,
        judged: Buffer | None = None,
        spared: Buffer | None = None,
        least: Buffer | None = None,
        pred_rows: Buffer | None = None,
        threads: int = 1,
    ) -> None: ...
    def numbers(self) -> Numbers: ...
    def weighted(self, weights: Floats, threads: int = 1) -> Numbers: ...
    def changed(
        self, removed: Int32s | None, added: Columns | None, weights: Floats | None = None, threads: int = 1
    ) -> Numbers: ...
    def draw_means(
        self,
        choices: Sequence[tuple[bool, int | None, int, int]],
        weights: Floats | None = None,
        changes: list[tuple[Int32s | None, Columns | None]] | None = None,
        threads: int = 1,
    ) -> list[float]: ...
    def arrays(self, absent: float) -> tuple[Floats, Floats, Floats]: ...
    def outcomes(self, threshold: int, range: int = 0) -> dict[str, Any]: ...
    def part(self, about: str) -> Part: ...
    def readings(self, threshold: int, threads: int = 1) -> list[tuple[float, float, int, int, int, float, float]]: ...
    def by_class(self) -> tuple[Int32s, Int64s]: ...
    def by_image(self) -> dict[str, list[Any]]: ...
    def stages(self) -> dict[str, Any]: ...

class ParseError(ValueError):
    code: str
    place: str
    expected: str
    found: str
    byte: int
    line: int
    section: str
    record: int | None
    path: str

class ChangedFileError(RuntimeError):
    path: str

Limits = tuple[int, int, int, float]
Faults = list[tuple[str, str, int, str, int]]  # code, section, record, field, another record

class CocoFile:
    is_results: bool
    keys: list[str]
    object_count: int
    image_count: int
    def missing_ids(self) -> int: ...
    def class_ids(self) -> list[int]: ...
    def class_names(self) -> list[str | None]: ...
    def image_id_texts(self) -> list[str] | None: ...
    def file_names(self) -> list[str]: ...
    def id_of(self, section: str, field: str, record: int) -> int | str: ...
    def image_size(self, image: int) -> tuple[int, int]: ...
    def image_table(self, offset: int = 0, names: Sequence[str] | None = None) -> Images: ...
    def table_faults(self, limits: Limits = ..., most: int = 100) -> Faults: ...
    def objects(
        self, layout: str = "xywh", limits: Limits = ..., threads: int = 1, most: int = 100
    ) -> tuple[Columns | None, Faults]: ...
    def objects_in(
        self,
        images: Images,
        label_ids: Sequence[int],
        image_offset: int = 0,
        label_offset: int = 0,
        layout: str = "xywh",
        limits: Limits = ...,
        threads: int = 1,
        most: int = 100,
    ) -> tuple[Columns | None, Faults]: ...
    def ids_used(self) -> tuple[Any, list[int]]: ...
    images: dict[str, Any]
    categories: dict[str, Any]
    annotations: dict[str, Any]
    region_kinds: NDArray[np.uint8] | None
    region_bytes: NDArray[np.uint64] | None
    region_lengths: NDArray[np.uint64] | None
    def polygons(
        self, records: NDArray[np.int64], strict: bool = True, limits: Limits = ...
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]: ...
    def runs(
        self, records: NDArray[np.int64], strict: bool = True, limits: Limits = ...
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
def warp_runs(edges: NDArray[np.float64], warps: NDArray[np.float64], height: int, width: int) -> Drawn: ...
def triangle_failures(values: NDArray[np.float64], reach: int, slack: float) -> int: ...
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
def find_positions(ids: Int64s, table: Int64s, threads: int = 1) -> tuple[Int32s, int]: ...
def mark_used(positions: NDArray[np.int32], count: int) -> NDArray[np.bool_]: ...
def rows_at(positions: NDArray[np.int32], wanted: NDArray[np.bool_]) -> NDArray[np.int64]: ...
def census(
    side: Columns, images: Images, is_truth: bool, is_relative: bool = False, threads: int = 1
) -> dict[str, tuple[int, list[int]]]: ...
def quick_fit(truth: Columns, pred: Columns, images: int) -> dict[str, Any]: ...
def digest(thing: NDArray[Any] | bytes) -> int: ...
