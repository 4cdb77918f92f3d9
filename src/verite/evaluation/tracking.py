"""Multi-object tracking metrics of one sequence: HOTA, CLEAR MOT (MOTA, IDSW …) and Identity (IDF1).

The rules are TrackEval's. Every metric starts from the pairs of ground-truth object and prediction that overlap in a
frame; both sides carry a track id.

- HOTA (Luiten et al., IJCV 2021) matches the objects of a frame by similarity times how well their tracks agree over
  the whole sequence, and evaluates detection and association at 19 localization thresholds (alphas).
- CLEAR MOT (Bernardin and Stiefelhagen 2008) matches frame by frame, keeping the matches of the last frame.
- Identity (Ristani et al. 2016) matches whole tracks one to one.

`SequenceCounts` holds what has to be summed to combine sequences and classes; `summarise` turns it into metrics.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

ALPHAS = 19  # localization thresholds of HOTA: 0.05, 0.10, …, 0.95

EPSILON = 2.0**-52  # slack of every comparison with a threshold, as in TrackEval

WHOLE = 1 << 40  # similarities are assigned as whole numbers, so that no sum depends on an order

MOSTLY_TRACKED, MOSTLY_LOST = 0.8, 0.2  # shares of a track's frames

HOTA_FAMILY = ("HOTA", "DetA", "AssA", "DetRe", "DetPr", "AssRe", "AssPr", "LocA")


@dataclass(frozen=True, eq=False)
class TrackedSequence:
    """Both sides of one sequence and class, and the pairs of objects that overlap.

    Attributes
    ----------
    frames
        Number of frames of the sequence, also of those without objects.
    truth_frame, pred_frame
        Frame of each object, from 0, in rising order.
    truth_track, pred_track
        Track of each object, numbered from 0 without gaps.
    truth, pred, similarity
        Rows of both sides of each pair with a similarity above 0, and that similarity (IoU); pairs of a frame stand
        together, in the order of frames.
    """

    frames: int
    truth_frame: Ints
    pred_frame: Ints
    truth_track: Ints
    pred_track: Ints
    truth: Ints
    pred: Ints
    similarity: Floats

    @property
    def truth_lengths(self) -> Ints:
        """Number of objects of each ground-truth track."""
        return np.bincount(self.truth_track)

    @property
    def pred_lengths(self) -> Ints:
        """Number of objects of each predicted track."""
        return np.bincount(self.pred_track)


@dataclass(frozen=True, eq=False)
class HotaCounts:
    """Counts and sums over matches at each alpha, arrays of 19 values."""

    tp: Floats
    fn: Floats
    fp: Floats
    association: Floats  # sum over matches of the association score (Jaccard index) of their two tracks
    association_recall: Floats
    association_precision: Floats
    localization: Floats  # sum over matches of their similarity


@dataclass(frozen=True)
class ClearCounts:
    """Counts of CLEAR MOT."""

    tp: float
    fn: float
    fp: float
    similarity: float  # sum over matches
    switches: float
    fragments: float
    mostly_tracked: float
    partly_tracked: float
    mostly_lost: float


@dataclass(frozen=True)
class IdentityCounts:
    """Objects of tracks that are matched as wholes."""

    tp: float
    fn: float
    fp: float


@dataclass(frozen=True)
class SizeCounts:
    """Objects, tracks and frames."""

    truths: float
    preds: float
    truth_tracks: float
    pred_tracks: float
    frames: float


@dataclass(frozen=True, eq=False)
class SequenceCounts:
    """What one sequence, or several, add up to."""

    hota: HotaCounts
    clear: ClearCounts
    identity: IdentityCounts
    size: SizeCounts

    @classmethod
    def total(cls, parts: Sequence[SequenceCounts], weights: Sequence[float] | None = None) -> SequenceCounts:
        """Return the sum over sequences and classes; zeros of none.

        Parameters
        ----------
        parts
            The counts of each.
        weights
            How often each occurs, as in a bootstrap sample. Default: once.
        """
        factors = [1.0] * len(parts) if weights is None else weights

        def sums(name: str, kind: type, zero: Any) -> list[Any]:
            pairs = [(getattr(part, name), factor) for part, factor in zip(parts, factors, strict=True)]
            return [sum((getattr(one, f.name) * factor for one, factor in pairs), zero) for f in fields(kind)]

        return cls(
            HotaCounts(*sums("hota", HotaCounts, np.zeros(ALPHAS))),
            ClearCounts(*sums("clear", ClearCounts, 0.0)),
            IdentityCounts(*sums("identity", IdentityCounts, 0.0)),
            SizeCounts(*sums("size", SizeCounts, 0.0)),
        )

    def flatten(self) -> Floats:
        """Return all counts as one row, for weighted sums over many resamples; `from_row` is the inverse."""
        parts = (self.hota, self.clear, self.identity, self.size)
        return np.concatenate([np.atleast_1d(getattr(part, f.name)) for part in parts for f in fields(part)])

    @classmethod
    def from_row(cls, row: Floats) -> SequenceCounts:
        """Return the counts that `flatten` has made one row of."""
        hota = len(fields(HotaCounts)) * ALPHAS
        rest, clear, identity = row[hota:].tolist(), len(fields(ClearCounts)), len(fields(IdentityCounts))
        return cls(
            HotaCounts(*row[:hota].reshape(-1, ALPHAS)),
            ClearCounts(*rest[:clear]),
            IdentityCounts(*rest[clear : clear + identity]),
            SizeCounts(*rest[clear + identity :]),
        )


def count_sequence(sequence: TrackedSequence, threshold: float = 0.5) -> SequenceCounts:
    """Evaluate one sequence.

    Parameters
    ----------
    sequence
        Both sides and the pairs that overlap.
    threshold
        Similarity from which CLEAR MOT and Identity accept a match.
    """
    # Pair of tracks of each pair of objects, and both tracks of each pair of tracks that overlap at all.
    count = max(len(sequence.pred_lengths), 1)
    keys = sequence.truth_track[sequence.truth] * count + sequence.pred_track[sequence.pred]
    known, pair_track = np.unique(keys, return_inverse=True)
    tracks = (known // count, known % count)
    truth_tracks, pred_tracks = len(sequence.truth_lengths), len(sequence.pred_lengths)
    # IDTP, IDFN and IDFP: tracks are assigned one to one so that most of their objects match.
    matches = np.bincount(pair_track[sequence.similarity >= threshold], minlength=len(tracks[0]))
    sizes = (len(sequence.truth_lengths), len(sequence.pred_lengths))
    chosen = _core.assign(*tracks, matches, np.zeros(len(matches), dtype=np.int64), *sizes)
    idtp = float(matches[chosen].sum())
    # TP, FN, FP, sum of similarities, identity switches, fragmentations, and tracks mostly tracked … lost.
    truths, preds = len(sequence.truth_frame), len(sequence.pred_frame)
    truth, pred, similarity, is_full = match_clear(sequence, threshold)
    tp = float(len(truth))
    track, found, frame = sequence.truth_track[truth], sequence.pred_track[pred], sequence.truth_frame[truth]
    by_track = np.argsort(track, kind="stable")
    track, found, frame = track[by_track], found[by_track], frame[by_track]
    is_same = track[1:] == track[:-1]
    switches = float((is_same & (found[1:] != found[:-1])).sum())
    # Frames in which one side is empty neither continue nor interrupt a track.
    step = np.cumsum(is_full)[frame]
    fragments = float((is_same & (step[1:] != step[:-1] + 1)).sum())
    share = np.bincount(track, minlength=len(sequence.truth_lengths)) / np.maximum(sequence.truth_lengths, 1)
    mostly = float((share > MOSTLY_TRACKED).sum())
    partly = float((share >= MOSTLY_LOST).sum()) - mostly
    lost = len(share) - mostly - partly
    total = float(similarity.sum())
    return SequenceCounts(
        count_hota(sequence, pair_track, tracks),
        ClearCounts(tp, truths - tp, preds - tp, total, switches, fragments, mostly, partly, lost),
        IdentityCounts(idtp, len(sequence.truth_frame) - idtp, len(sequence.pred_frame) - idtp),
        SizeCounts(len(sequence.truth_frame), len(sequence.pred_frame), truth_tracks, pred_tracks, sequence.frames),
    )


def assign(truth: Ints, pred: Ints, gain: Floats, sizes: tuple[int, int]) -> NDArray[np.bool_]:
    """Return which pairs belong to the one-to-one assignment with the largest sum of gains (from 0 to 1)."""
    whole = np.rint(gain * WHOLE).astype(np.int64)
    return _core.assign(truth, pred, whole, np.zeros(len(whole), dtype=np.int64), *sizes)


def count_hota(sequence: TrackedSequence, pair_track: Ints, tracks: tuple[Ints, Ints]) -> HotaCounts:
    """Return TP, FN, FP and the sums of association and localization over matches, at each alpha."""
    truths, preds = len(sequence.truth_frame), len(sequence.pred_frame)
    similarity = sequence.similarity
    # How much the tracks agree over the whole sequence: a soft Jaccard index in which an object that overlaps several
    # others counts in parts.
    row_sums = np.bincount(sequence.truth, similarity, truths)
    column_sums = np.bincount(sequence.pred, similarity, preds)
    shared = similarity / (row_sums[sequence.truth] + column_sums[sequence.pred] - similarity)
    common = np.bincount(pair_track, shared, len(tracks[0]))
    lengths = (sequence.truth_lengths[tracks[0]], sequence.pred_lengths[tracks[1]])
    agreement = common / (lengths[0] + lengths[1] - common)
    matched = assign(sequence.truth, sequence.pred, agreement[pair_track] * similarity, (truths, preds))
    similarity, pair_track = similarity[matched], pair_track[matched]
    out = np.zeros((7, ALPHAS))
    for k in range(ALPHAS):
        is_match = similarity >= 0.05 * (k + 1) - EPSILON
        tp = float(is_match.sum())
        matches = np.bincount(pair_track[is_match], minlength=len(tracks[0])).astype(np.float64)
        out[:, k] = (
            tp,
            truths - tp,
            preds - tp,
            (matches * (matches / np.maximum(1, lengths[0] + lengths[1] - matches))).sum(),
            (matches * (matches / np.maximum(1, lengths[0]))).sum(),
            (matches * (matches / np.maximum(1, lengths[1]))).sum(),
            similarity[is_match].sum(),
        )
    return HotaCounts(*out)


def match_clear(sequence: TrackedSequence, threshold: float) -> tuple[Ints, Ints, Floats, NDArray[np.bool_]]:
    """Return objects, predictions and similarities of CLEAR MOT's matches, and which frames have both sides.

    Matches are in the order of frames.
    """
    chosen = sequence.similarity >= threshold - EPSILON
    truth, pred, similarity = sequence.truth[chosen], sequence.pred[chosen], sequence.similarity[chosen]
    frame = sequence.truth_frame[truth]
    is_full = np.zeros(sequence.frames, dtype=np.bool_)  # frames with objects on both sides
    is_full[np.intersect1d(sequence.truth_frame, sequence.pred_frame)] = True
    matched = _core.clear_matches(
        offsets=np.searchsorted(frame, np.arange(sequence.frames + 1)),
        truth=truth.astype(np.int32),
        pred=pred.astype(np.int32),
        truth_track=sequence.truth_track[truth].astype(np.int32),
        pred_track=sequence.pred_track[pred].astype(np.int32),
        similarity=similarity,
        keeps=is_full,
        tracks=len(sequence.truth_lengths),
    )
    return truth[matched], pred[matched], similarity[matched], is_full


@dataclass(frozen=True, eq=False)
class TrackTimeline:
    """The objects of one sequence and class over time, as CLEAR MOT matches them.

    Attributes
    ----------
    frames
        Number of frames.
    frame, track
        Frame (from 0) and track (from 0) of each object.
    found
        Track of the matched prediction (from 0), -1 if the object is missed.
    is_switch
        Whether the object's track had another predicted track before (identity switch).
    false_positives
        Number of unmatched predictions in each frame.
    """

    frames: int
    frame: Ints
    track: Ints
    found: Ints
    is_switch: NDArray[np.bool_]
    false_positives: Ints


def timeline_of(sequence: TrackedSequence, threshold: float) -> TrackTimeline:
    """Return what happens to each object of a sequence by CLEAR MOT at an IoU threshold."""
    truth, pred, _, _ = match_clear(sequence, threshold)
    found = np.full(len(sequence.truth_frame), -1, dtype=np.int64)
    found[truth] = sequence.pred_track[pred]
    is_switch = np.zeros(len(found), dtype=np.bool_)
    matched = np.flatnonzero(found >= 0)
    matched = matched[np.lexsort((sequence.truth_frame[matched], sequence.truth_track[matched]))]
    is_same = sequence.truth_track[matched][1:] == sequence.truth_track[matched][:-1]
    is_switch[matched[1:][is_same & (found[matched][1:] != found[matched][:-1])]] = True
    is_matched = np.zeros(len(sequence.pred_frame), dtype=np.bool_)
    is_matched[pred] = True
    wrong = np.bincount(sequence.pred_frame[~is_matched], minlength=sequence.frames)
    return TrackTimeline(sequence.frames, sequence.truth_frame, sequence.truth_track, found, is_switch, wrong)


def hota_curves(counts: HotaCounts) -> dict[str, Floats]:
    """Return HOTA and its parts at each of the 19 alphas, by name."""
    tp, fn, fp = counts.tp, counts.fn, counts.fp
    found = {
        "DetA": tp / np.maximum(1, tp + fn + fp),
        "AssA": counts.association / np.maximum(1, tp),
        "DetRe": tp / np.maximum(1, tp + fn),
        "DetPr": tp / np.maximum(1, tp + fp),
        "AssRe": counts.association_recall / np.maximum(1, tp),
        "AssPr": counts.association_precision / np.maximum(1, tp),
        "LocA": np.maximum(1e-10, counts.localization) / np.maximum(1e-10, tp),
    }
    return {"HOTA": np.sqrt(found["DetA"] * found["AssA"])} | found


def summarise(counts: SequenceCounts) -> dict[str, float]:
    """Return every metric of some sequences; the HOTA family as means over the alphas."""
    clear, identity, size = counts.clear, counts.identity, counts.size
    truths = max(1.0, clear.tp + clear.fn)
    found = {name: float(curve.mean()) for name, curve in hota_curves(counts.hota).items()}
    return found | {
        "MOTA": (clear.tp - clear.fp - clear.switches) / truths,
        "MOTP": clear.similarity / max(1.0, clear.tp),
        "MODA": (clear.tp - clear.fp) / truths,
        "recall": clear.tp / truths,
        "precision": clear.tp / max(1.0, clear.tp + clear.fp),
        "IDF1": identity.tp / max(1.0, identity.tp + 0.5 * identity.fp + 0.5 * identity.fn),
        "IDP": identity.tp / max(1.0, identity.tp + identity.fp),
        "IDR": identity.tp / max(1.0, identity.tp + identity.fn),
        "IDSW": clear.switches,
        "Frag": clear.fragments,
        "MT": clear.mostly_tracked,
        "PT": clear.partly_tracked,
        "ML": clear.mostly_lost,
        "TP": clear.tp,
        "FP": clear.fp,
        "FN": clear.fn,
        "IDTP": identity.tp,
        "IDFP": identity.fp,
        "IDFN": identity.fn,
        "truths": size.truths,
        "preds": size.preds,
        "truth_tracks": size.truth_tracks,
        "pred_tracks": size.pred_tracks,
        "frames": size.frames,
    }
