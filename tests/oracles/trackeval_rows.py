"""Write small sequences of KITTI, KITTI MOTS, YouTube-VIS and MOTChallenge with TrackEval's numbers for them.

``PYTHON -m tests.oracles.trackeval_rows`` with an interpreter that has trackeval (1.3.0) and pycocotools writes
tests/data/trackeval: the files of both sides and `expected.json`. The objects are random walks with missed objects,
false positives and exchanged ids; KITTI and MOTS have regions to ignore.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HOME = Path(__file__).parent.parent / "data" / "trackeval"
CLASSES = ("Car", "Pedestrian")
FRAMES = {"0003": 14, "0007": 9}
SIZE = (120, 90)  # width and height
METRICS = ("HOTA", "DetA", "AssA", "LocA", "MOTA", "MOTP", "IDSW", "Frag", "MT", "PT", "ML", "IDF1", "IDP", "IDR")

Row = tuple[int, int, str, tuple[int, int, int, int]]  # frame, track, class, corners


def walk(rng: np.random.Generator, frames: int) -> tuple[list[Row], list[Row], list[Row]]:
    """Ground truth, predictions and regions to ignore of one sequence."""
    truth: list[Row] = []
    pred: list[Row] = []
    regions: list[Row] = []
    for track in range(5):
        name = CLASSES[track % 2]
        x, y = rng.uniform(0, 80), rng.uniform(0, 50)
        start, end = int(rng.integers(0, 3)), int(rng.integers(frames - 3, frames + 1))
        change = int(rng.integers(start + 2, end))
        for frame in range(start, end):
            x, y = np.clip(x + rng.normal(0, 3), 0, 80), np.clip(y + rng.normal(0, 2), 0, 50)
            box = (int(x), int(y), int(x) + 24, int(y) + 30)
            truth.append((frame, track, name, box))
            if rng.random() < 0.85:
                moved = [v + int(d) for v, d in zip(box, np.tile(rng.integers(-5, 6, 2), 2), strict=True)]
                inside = (max(moved[0], 0), max(moved[1], 0), moved[2], moved[3])
                pred.append((frame, track + 10 * (frame >= change), name, inside))
    for frame in range(frames):
        regions.append((frame, -1, "DontCare", (84, 10, 119, 70)))
        if rng.random() < 0.6:  # a false positive, half of them on the region
            left = 86 if rng.random() < 0.5 else 40
            pred.append((frame, 40 + frame % 3, CLASSES[frame % 2], (left, 15, left + 28, 15 + 32)))
    return truth, pred, regions


def kitti_line(row: Row, score: str = "") -> str:
    frame, track, name, box = row
    corners = " ".join(f"{v:.2f}" for v in box)
    return f"{frame} {track} {name} 0 0 -10 {corners} -1 -1 -1 -1000 -1000 -1000 -10{score}"


def masks(rows: list[Row], frame: int) -> dict[tuple[int, str], Any]:
    """Masks of one frame without overlaps: the first object has the pixels."""
    taken = np.zeros(SIZE[::-1], dtype=bool)
    found: dict[tuple[int, str], Any] = {}
    for at, track, name, (left, top, right, bottom) in rows:
        if at == frame:
            mask = np.zeros_like(taken)
            mask[top:bottom, left:right] = True
            mask &= ~taken
            taken |= mask
            if mask.any():
                found[track, name] = mask
    return found


def encoded(mask: Any) -> str:
    from pycocotools import mask as coco_mask

    return str(coco_mask.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"].decode())


def run_lengths(mask: Any) -> list[int]:
    """COCO's uncompressed runs, column by column, which TrackEval wants in a ground truth of YouTube-VIS."""
    flat = np.asfortranarray(mask).ravel(order="F").astype(np.int8)
    edges = np.flatnonzero(np.diff(flat)) + 1
    runs = np.diff([0, *edges.tolist(), len(flat)]).tolist()
    return [0, *runs] if flat[0] else runs


def mots_lines(rows: list[Row], frames: int, *, is_truth: bool) -> list[str]:
    lines = []
    for frame in range(frames):
        for (track, name), mask in masks(rows, frame).items():
            label = {"Car": 1, "Pedestrian": 2, "DontCare": 10}[name]
            number = 10000 if label == 10 else 1000 * label + track if is_truth else track + 1
            lines.append(f"{frame} {number} {label} {SIZE[1]} {SIZE[0]} {encoded(mask)}")
    return lines


def vis_tracks(rows: list[Row], frames: int, video: int, *, is_truth: bool) -> list[dict[str, Any]]:
    by_frame = [masks(rows, frame) for frame in range(frames)]
    found = []
    for track, name in dict.fromkeys(key for one in by_frame for key in one):
        shapes = [
            {"counts": (run_lengths if is_truth else encoded)(one[track, name]), "size": [SIZE[1], SIZE[0]]}
            if (track, name) in one
            else None
            for one in by_frame
        ]
        record: dict[str, Any] = {"video_id": video, "category_id": 1 + CLASSES.index(name), "segmentations": shapes}
        areas = [int(one[track, name].sum()) if (track, name) in one else None for one in by_frame]
        size = {"width": SIZE[0], "height": SIZE[1], "iscrowd": 0, "areas": areas}
        record |= size if is_truth else {"score": 0.5}
        found.append(record)
    return found


def write_files() -> None:
    """Write both sides of every dataset below tests/data/trackeval."""
    rng = np.random.default_rng(48)
    shutil.rmtree(HOME, ignore_errors=True)
    for folder in ("kitti/gt", "kitti/pred", "mots/gt", "mots/pred", "youtube_vis", "mot/gt", "mot/pred"):
        (HOME / folder).mkdir(parents=True)
    videos, annotations, results = [], [], []
    for i, (name, frames) in enumerate(FRAMES.items()):
        truth, pred, regions = walk(rng, frames)
        lines = {
            "kitti/gt": [kitti_line(row) for row in sorted(truth + regions)],
            "kitti/pred": [kitti_line(row, " 0.9") for row in sorted(pred)],
            "mots/gt": mots_lines(truth + regions, frames, is_truth=True),
            "mots/pred": mots_lines(pred, frames, is_truth=False),
            "mot/pred": [
                f"{f + 1},{t + 1},{b[0]},{b[1]},{b[2] - b[0]},{b[3] - b[1]},0.9,-1,-1,-1"
                for f, t, label, b in sorted(pred) if label == "Pedestrian"
            ],
        }  # fmt: skip
        for folder, content in lines.items():
            (HOME / folder / f"{name}.txt").write_text("\n".join(content) + "\n")
        # MOTChallenge: pedestrians, and cars as static persons, which are distractors.
        folder = HOME / "mot" / "gt" / name / "gt"
        folder.mkdir(parents=True)
        rows = [
            f"{f + 1},{t + 1},{b[0]},{b[1]},{b[2] - b[0]},{b[3] - b[1]},{int(label == 'Pedestrian')},"
            f"{1 if label == 'Pedestrian' else 7},1"
            for f, t, label, b in sorted(truth)
        ]
        (folder / "gt.txt").write_text("\n".join(rows) + "\n")
        (folder.parent / "seqinfo.ini").write_text(
            f"[Sequence]\nname={name}\nseqLength={frames}\nimWidth={SIZE[0]}\nimHeight={SIZE[1]}\n"
        )
        videos.append({"id": i + 1, "width": SIZE[0], "height": SIZE[1], "length": frames,
                       "file_names": [f"{name}/{f:05d}.jpg" for f in range(frames)]})  # fmt: skip
        annotations += vis_tracks(truth, frames, i + 1, is_truth=True)
        results += vis_tracks(pred, frames, i + 1, is_truth=False)
    document = {
        "videos": videos,
        "categories": [{"id": i + 1, "name": name.lower()} for i, name in enumerate(CLASSES)],
        "annotations": [{"id": i + 1, **one} for i, one in enumerate(annotations)],
    }
    (HOME / "youtube_vis" / "truth.json").write_text(json.dumps(document) + "\n")
    (HOME / "youtube_vis" / "results.json").write_text(json.dumps(results) + "\n")


def lay_out(home: Path) -> dict[str, dict[str, Any]]:
    """Copy the files as TrackEval wants them, and return the configuration of each dataset."""
    seqmap = "".join(f"{name} empty 000000 {frames:06d}\n" for name, frames in FRAMES.items())
    for name in ("kitti", "mots"):
        shutil.copytree(HOME / name / "gt", home / name / "gt" / "label_02")
        shutil.copytree(HOME / name / "pred", home / name / "trackers" / "own" / "data")
        (home / name / "gt" / "evaluate_tracking.seqmap.training").write_text(seqmap)
    shutil.copytree(HOME / "mot" / "gt", home / "mot" / "gt")
    shutil.copytree(HOME / "mot" / "pred", home / "mot" / "trackers" / "own" / "data")
    (home / "vis" / "gt" / "youtube_vis_val").mkdir(parents=True)
    (home / "vis" / "trackers" / "youtube_vis_val" / "own" / "data").mkdir(parents=True)
    shutil.copy(HOME / "youtube_vis" / "truth.json", home / "vis" / "gt" / "youtube_vis_val")
    shutil.copy(HOME / "youtube_vis" / "results.json", home / "vis" / "trackers" / "youtube_vis_val" / "own" / "data")
    common = {"PRINT_CONFIG": False, "OUTPUT_FOLDER": str(home / "out"), "TRACKERS_TO_EVAL": ["own"]}
    sides = {
        name: {"GT_FOLDER": f"{home / name / 'gt'}", "TRACKERS_FOLDER": f"{home / name / 'trackers'}"}
        for name in ("kitti", "mots", "mot")
    }
    vis = {"GT_FOLDER": f"{home}/vis/gt/", "TRACKERS_FOLDER": f"{home}/vis/trackers/", "SPLIT_TO_EVAL": "val"}
    return {
        "kitti": common | sides["kitti"],
        "mots": common | sides["mots"] | {"SEQ_INFO": FRAMES},
        "youtube_vis": common | vis,
        "mot": common | sides["mot"] | {"SEQ_INFO": FRAMES, "SKIP_SPLIT_FOL": True, "BENCHMARK": "MOT17"},
    }


def evaluate() -> dict[str, Any]:
    """TrackEval's numbers by dataset, sequence (COMBINED_SEQ for all) and class."""
    import trackeval

    quiet = {"PRINT_CONFIG": False, "PRINT_RESULTS": False, "TIME_PROGRESS": False, "PLOT_CURVES": False,
             "OUTPUT_SUMMARY": False, "OUTPUT_DETAILED": False, "OUTPUT_EMPTY_CLASSES": False}  # fmt: skip
    sets = {
        "kitti": trackeval.datasets.Kitti2DBox, "mots": trackeval.datasets.KittiMOTS,
        "youtube_vis": trackeval.datasets.YouTubeVIS, "mot": trackeval.datasets.MotChallenge2DBox,
    }  # fmt: skip
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stdout(io.StringIO()):
        for name, config in lay_out(Path(place)).items():
            dataset = sets[name](config)
            metrics = [trackeval.metrics.HOTA(), trackeval.metrics.CLEAR({"PRINT_CONFIG": False}),
                       trackeval.metrics.Identity({"PRINT_CONFIG": False})]  # fmt: skip
            outcome, _ = trackeval.Evaluator(quiet).evaluate([dataset], metrics)
            (per_sequence,) = outcome.values()
            found[name] = {
                sequence: {
                    label: {
                        key: float(np.mean(value))
                        for family in families.values() for key, value in family.items() if key in METRICS
                    }
                    for label, families in classes.items() if label in ("car", "pedestrian")
                }
                for sequence, classes in per_sequence["own"].items()
            }  # fmt: skip
    return found


if __name__ == "__main__":
    write_files()
    (HOME / "expected.json").write_text(json.dumps(evaluate(), indent=1) + "\n")
