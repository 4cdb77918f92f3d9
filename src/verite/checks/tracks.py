"""Checks of tracks in videos: repeated and missing ids, gaps, tracks of one frame, frames off by one.

They concern annotations whose objects have track ids (V501 to V506); all others pass without a look.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from verite import _core
from verite.checks.check import EXAMPLES, Finding
from verite.checks.sample import Pair, Side
from verite.errors import DataError
from verite.model.sequences import Sequences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

SHORT = 0.5  # share of tracks with one frame, from which V504 is a warning
LONG_GAP = 0.5  # share of tracks with gaps in a ground truth, from which V503 is a warning
BETTER = 2.0  # factor by which a shift by one frame must raise the overlapping objects, for V505
FEWEST = 20  # objects that overlap after the shift, for V505


def frames_of(side: Annotations) -> Sequences | None:
    """Return the sequences of annotations with track ids; None where there are no tracks or no frames."""
    if side.track is None or not len(side) or (side.track < 0).all():
        return None
    try:
        return Sequences.of(side.images)
    except DataError:
        return None


def place(side: Annotations, sequences: Sequences, row: int) -> str:
    """Return sequence, frame and track of an object, for examples.

    Parameters
    ----------
    side
        Ground truth or predictions with tracks.
    sequences
        Sequence and frame of each image.
    row
        The object.
    """
    image, track = int(side.image[row]), side.track
    assert track is not None
    return f"{sequences.names[sequences.sequence[image]]}, frame {sequences.frame[image]}, track {int(track[row])}"


def find_repeated_tracks(side: Side) -> Iterator[Finding]:
    """Find track ids that occur twice in a frame and class (V501)."""
    given = side.annotations
    sequences = frames_of(given)
    if sequences is None or given.track is None:
        return
    order = np.lexsort((given.track, given.label, given.image))
    keys = np.stack([given.image, given.label, given.track])[:, order]
    twice = order[1:][(keys[:, 1:] == keys[:, :-1]).all(axis=0) & (keys[2, 1:] >= 0)]
    if len(twice):
        yield Finding(
            "V501", "warning", f"{len(twice):,} objects have the track id of another one in their frame", len(twice),
            tuple(place(given, sequences, int(row)) for row in twice[:EXAMPLES]),
            "give each object of a frame its own track id", side.name,
        )  # fmt: skip


def find_missing_tracks(side: Side) -> Iterator[Finding]:
    """Find objects without a track id among others that have one (V502)."""
    given = side.annotations
    sequences = frames_of(given)
    if sequences is None or given.track is None:
        return
    missing = np.flatnonzero((given.track < 0) & ~given.ignored)
    if len(missing):
        yield Finding(
            "V502", "warning", f"{len(missing):,} of {len(given):,} objects have no track id", len(missing),
            tuple(place(given, sequences, int(row)) for row in missing[:EXAMPLES]),
            "give them one, mark them to be ignored, or remove them", side.name,
        )  # fmt: skip


def spans(given: Annotations, sequences: Sequences) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return for each track the row of its first object, the number of its frames, and that from first to last."""
    assert given.track is not None
    rows = np.flatnonzero((given.track >= 0) & ~given.ignored)
    sequence, frame = sequences.sequence[given.image[rows]], sequences.frame[given.image[rows]]
    order = np.lexsort((frame, given.track[rows], given.label[rows], sequence))
    rows, frame = rows[order], frame[order]
    keys = np.stack([sequence[order], given.label[rows], given.track[rows]])
    starts = np.flatnonzero(np.r_[True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)]) if len(rows) else np.zeros(0, int)
    ends = np.r_[starts[1:], len(rows)] - 1
    return rows[starts], ends - starts + 1, frame[ends] - frame[starts] + 1 if len(starts) else ends


def find_gaps(side: Side) -> Iterator[Finding]:
    """Find tracks with missing frames between their first and last one (V503); usual in predictions."""
    given = side.annotations
    sequences = frames_of(given)
    if sequences is None or not side.is_truth:
        return
    first, count, span = spans(given, sequences)
    gaps = np.flatnonzero(span > count)
    if len(gaps):
        yield Finding(
            "V503", "warning" if len(gaps) >= LONG_GAP * len(first) else "note",
            f"{len(gaps):,} of {len(first):,} tracks have gaps: {int((span - count)[gaps].sum()):,} frames are missing "
            "between their first and last one",
            len(gaps), tuple(place(given, sequences, int(first[i])) for i in gaps[:EXAMPLES]),
            "are only keyframes annotated? interpolate between them, or mark occluded objects to be ignored", side.name,
        )  # fmt: skip


def find_short_tracks(side: Side) -> Iterator[Finding]:
    """Find tracks of one frame (V504); many of them mean that ids are numbers of objects rather than of tracks."""
    given = side.annotations
    sequences = frames_of(given)
    if sequences is None or len(np.unique(sequences.frame)) < 2:
        return
    first, count, _ = spans(given, sequences)
    short = np.flatnonzero(count == 1)
    if len(short):
        is_many = len(short) >= SHORT * len(first) and len(first) > 1
        yield Finding(
            "V504", "warning" if is_many else "note", f"{len(short):,} of {len(first):,} tracks have a single frame",
            len(short), tuple(place(given, sequences, int(first[i])) for i in short[:EXAMPLES]),
            "are these ids of objects instead of tracks?" if is_many else "no action needed if they are meant",
            side.name,
        )  # fmt: skip


def find_shifted_frames(pair: Pair) -> Iterator[Finding]:
    """Find frames that are off by one: predictions overlap objects far better in the next or last frame (V505)."""
    truth, pred = pair.truth, pair.pred
    ours, theirs = frames_of(truth), frames_of(pred)
    if ours is None or theirs is None:
        return
    try:
        from verite.model.sequences import share_frames

        truth, pred, shared = share_frames(truth, pred)
    except DataError:
        return
    span = int(shared.frame.max(initial=0)) + 3
    cells = shared.sequence * span + shared.frame + 1

    def overlapping(shift: int) -> int:
        keys = cells[truth.image].astype(np.int64)
        order = np.argsort(keys, kind="stable")
        _, _, iou = _core.box_candidates(
            np.ascontiguousarray(truth.regions.boxes[order]), keys[order],
            np.ascontiguousarray(pred.regions.boxes), cells[pred.image].astype(np.int64) + shift, 0.0, 0.9,
        )  # fmt: skip
        return int((iou >= 0.9).sum())

    now = overlapping(0)
    best, shift = max((overlapping(shift), shift) for shift in (-1, 1))
    if best >= FEWEST and best > BETTER * now:
        which = "less" if shift < 0 else "more"
        yield Finding(
            "V505", "error",
            f"frames are off by one: {best:,} predictions overlap an object with IoU ≥ 0.9 if frame numbers are one "
            f"{which}, {now:,} as they are",
            len(pred), (), f"write the predictions with frame {'− 1' if shift < 0 else '+ 1'} (MOT counts from 1)",
        )  # fmt: skip


def find_sequences_of_one_side(pair: Pair) -> Iterator[Finding]:
    """Find sequences of the ground truth without any prediction (V506)."""
    ours = frames_of(pair.truth)
    if ours is None or pair.pred.track is None:
        return
    used = set(ours.sequence[np.unique(pair.truth.image)].tolist())
    known = len(pair.truth.images)
    found = set(ours.sequence[np.unique(pair.pred.image[pair.pred.image < known])].tolist())
    empty = [ours.names[i] for i in sorted(used - found)]
    if empty and found:
        yield Finding(
            "V506", "note", f"{len(empty):,} of {len(ours.names):,} sequences have no prediction", len(empty),
            tuple(empty[:EXAMPLES]), "is a file missing?",
        )  # fmt: skip
