"""Leaderboards of trackers: rank by HOTA, MOTA or IDF1 with the uncertainty of sequences and of annotated tracks.

Sequences are the units that are resampled: MOT17 has seven, so that the choice of sequences matters more than decimals.
With few sequences, blocks of consecutive frames may be resampled instead; tracks are cut at their ends. Annotation
errors of tracks are simulated as rates of all tracks: spurious ones (removed), missing ones (added out of the predicted
tracks that match no object), and swapped ids (two tracks exchange their ids from some frame on).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from verite import __version__
from verite.errors import BadParameter, DataError, did_you_mean, excerpt
from verite.evaluation.tracking import SequenceCounts, SizeCounts, TrackedSequence, count_sequence, summarise
from verite.leaderboards.result import Board
from verite.model.comparison import check_comparable
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table
from verite.protocols.track import ERRORS, SCORES, TrackResults, box_pairs, mask_similarity
from verite.signature import Signature
from verite.statistics.multiple_comparisons import format_group
from verite.statistics.resampling import MIN_GROUPS, SampledUnits, effective_number, generator, warn_of_few

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.files import JsonObject
    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

KINDS = ("missing", "spurious", "swapped")  # annotation errors of tracks
TRACK_STREAM = 41  # of random numbers
ASSOCIATED = ("HOTA", "AssA", "IDF1", "IDP", "IDR", "MT", "PT", "ML")  # scores of whole tracks, which blocks cut
UNMATCHED = 0.5  # share of a predicted track's frames without an object, from which it is a candidate


@dataclass(frozen=True)
class TrackErrors:
    """Rates of annotation errors of tracks, each a share of the annotated tracks.

    Parameters
    ----------
    missing
        Tracks that are not annotated. They are taken out of the predicted tracks that match no object.
    spurious
        Annotated tracks of nothing.
    swapped
        Tracks whose id is exchanged with that of the nearest track of their class from some frame on.

    Raises
    ------
    BadParameter
        If a rate is not from 0 up to and below 1.

    Examples
    --------
    >>> import verite as vt
    >>> vt.TrackErrors.parse("missing=0.05,swapped=0.02")
    TrackErrors(missing=0.05, spurious=0.0, swapped=0.02)
    """

    missing: float = 0.0
    spurious: float = 0.0
    swapped: float = 0.0

    def __post_init__(self) -> None:
        for kind in KINDS:
            rate = getattr(self, kind)
            if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate < 1:
                raise BadParameter(f"errors: {kind}: expected a rate from 0 up and below 1, found {excerpt(rate)}")

    @classmethod
    def parse(cls, text: str | None) -> TrackErrors:
        """Return the rates of an option ``KIND=RATE,…``."""
        rates: dict[str, float] = {}
        for part in (text or "").split(",") if text else ():
            kind, _, rate = part.strip().partition("=")
            if kind not in KINDS:
                near = did_you_mean(kind, KINDS)
                raise BadParameter(f"errors: expected {', '.join(KINDS)} of tracks, found {kind!r}{near}")
            try:
                rates[kind] = float(rate)
            except ValueError:
                raise BadParameter(f"errors: {kind}: expected a rate such as 0.05, found {excerpt(rate)}") from None
        return cls(**rates)

    @property
    def is_none(self) -> bool:
        """Whether no error is simulated."""
        return not (self.missing or self.spurious or self.swapped)

    def __str__(self) -> str:
        return ",".join(f"{kind}={getattr(self, kind):g}" for kind in KINDS if getattr(self, kind)) or "none"


@dataclass(frozen=True, eq=False)
class SequenceBoxes:
    """One class of one sequence: annotated tracks, candidates for missing ones, and the pairs with each detector.

    Attributes
    ----------
    frames
        Number of frames.
    frame, track
        Frame and track of each annotated object; candidates follow, their tracks numbered on.
    annotated
        Number of annotated tracks; tracks from there on are candidates.
    centre
        Centre of each object's box, for the nearest track.
    pred_frame, pred_track, pairs
        By detector: frame and track of each prediction, and (object, prediction, similarity) of overlapping pairs.
    """

    frames: int
    frame: Ints
    track: Ints
    annotated: int
    centre: Floats
    pred_frame: list[Ints]
    pred_track: list[Ints]
    pairs: list[tuple[Ints, Ints, Floats]]

    def evaluate(self, detector: int, track: Ints, kept: NDArray[np.bool_], iou: float) -> SequenceCounts:
        """Count a detector against the kept objects under given tracks; -1 is none."""
        rows = np.flatnonzero(kept)
        rows = rows[np.argsort(self.frame[rows], kind="stable")]
        place = np.full(len(self.frame), -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        truth, pred, similarity = self.pairs[detector]
        chosen = np.flatnonzero(place[truth] >= 0)
        chosen = chosen[np.argsort(self.frame[truth[chosen]], kind="stable")]
        return count_sequence(
            TrackedSequence(
                frames=self.frames,
                truth_frame=self.frame[rows],
                pred_frame=self.pred_frame[detector],
                truth_track=np.unique(track[rows], return_inverse=True)[1].reshape(-1).astype(np.int64),
                pred_track=self.pred_track[detector],
                truth=place[truth[chosen]],
                pred=pred[chosen],
                similarity=similarity[chosen],
            ),
            iou,
        )

    def simulate(self, errors: TrackErrors, rng: np.random.Generator) -> tuple[Ints, NDArray[np.bool_]]:
        """Return simulated tracks of all objects, and which objects are there."""
        track, count = self.track.copy(), int(self.track.max(initial=-1)) + 1
        is_there = np.zeros(count, dtype=np.bool_)
        is_there[: self.annotated] = rng.random(self.annotated) >= errors.spurious
        candidates = count - self.annotated
        wanted = min(int(rng.poisson(errors.missing * self.annotated)), candidates)
        is_there[self.annotated + rng.permutation(candidates)[:wanted]] = True
        for mine in np.flatnonzero(rng.random(self.annotated) < errors.swapped).tolist():
            rows = np.flatnonzero(track == mine)
            if not len(rows) or not is_there[mine]:
                continue
            start = int(rng.choice(rows))
            others = np.flatnonzero((self.frame == self.frame[start]) & is_there[track] & (track != mine))
            if len(others):
                distance = np.hypot(*(self.centre[others] - self.centre[start]).T)
                other = int(track[others[np.argmin(distance)]])
                later = self.frame >= self.frame[start]
                first, second = later & (track == mine), later & (track == other)
                track[first], track[second] = other, mine
        return track, is_there[self.track]


def sequence_boxes(results: Sequence[TrackResults], sequence: int, name: str) -> SequenceBoxes | None:
    """Collect one class of one sequence of all detectors; None where there is nothing."""
    at, truth = results[0].sequences, results[0].truth
    label = truth.labels.all_names.index(name)
    images = np.flatnonzero(at.sequence == sequence)
    images = images[np.argsort(at.frame[images], kind="stable")]
    frame = np.full(len(at.frame), -1, dtype=np.int64)
    frame[images] = np.arange(len(images))

    def rows_of(side: Annotations, counted: NDArray[np.bool_]) -> Ints:
        rows = np.flatnonzero(counted & (side.label == label) & (frame[side.image] >= 0))
        return rows[np.argsort(frame[side.image[rows]], kind="stable")]

    ours = rows_of(truth, results[0].counted[0])
    tracks = [rows_of(one.pred, one.counted[1]) for one in results]
    if not len(ours) and not any(map(len, tracks)):
        return None
    numbers = number_of_tracks(truth, ours)
    annotated = int(numbers.max(initial=-1)) + 1
    boxes, frames, ids = [truth.regions.boxes[ours]], [frame[truth.image[ours]]], [numbers]
    sources = [(0, ours)]  # side of each part: the ground truth, then predictions of detector i as i + 1
    for i, (one, rows) in enumerate(zip(results, tracks, strict=True)):
        mine = number_of_tracks(one.pred, rows)
        found = similarity_pairs(truth, one.pred, ours, rows, one.settings.on)
        is_near = np.zeros(len(rows), dtype=np.bool_)
        is_near[found[1][found[2] >= one.settings.iou]] = True
        near = np.bincount(mine, is_near) / np.maximum(np.bincount(mine), 1)
        candidates = np.isin(mine, np.flatnonzero(near < 1 - UNMATCHED))
        known = int(np.concatenate(ids).max(initial=-1)) + 1
        boxes.append(one.pred.regions.boxes[rows[candidates]])
        frames.append(frame[one.pred.image[rows[candidates]]])
        ids.append(known + np.unique(mine[candidates], return_inverse=True)[1].reshape(-1))
        sources.append((i + 1, rows[candidates]))
    pairs = []
    for one, rows in zip(results, tracks, strict=True):
        parts, first = [], 0
        for side, mine in sources:
            owner = truth if side == 0 else results[side - 1].pred
            t, p, s = similarity_pairs(owner, one.pred, mine, rows, one.settings.on)
            parts.append((t + first, p, s))
            first += len(mine)
        joined = [np.concatenate([part[k] for part in parts]) for k in range(3)]
        pairs.append((joined[0].astype(np.int64), joined[1].astype(np.int64), joined[2]))
    corners = np.concatenate(boxes)
    return SequenceBoxes(
        frames=len(images),
        frame=np.concatenate(frames).astype(np.int64),
        track=np.concatenate(ids).astype(np.int64),
        annotated=annotated,
        centre=(corners[:, :2] + corners[:, 2:]) / 2,
        pred_frame=[frame[one.pred.image[rows]] for one, rows in zip(results, tracks, strict=True)],
        pred_track=[number_of_tracks(one.pred, rows) for one, rows in zip(results, tracks, strict=True)],
        pairs=pairs,
    )


def similarity_pairs(
    truth: Annotations, pred: Annotations, ours: Ints, theirs: Ints, on: str
) -> tuple[Ints, Ints, Floats]:
    """Return the overlapping pairs of some objects and predictions, by boxes or masks."""
    t, p, similarity = box_pairs(truth, pred, ours, theirs)
    if on == "mask":
        similarity = mask_similarity(truth, pred, ours[t], theirs[p])
        keep = similarity > 0
        t, p, similarity = t[keep], p[keep], similarity[keep]
    return t, p, similarity


def number_of_tracks(side: Annotations, rows: Ints) -> Ints:
    """Return the tracks of some objects, numbered from 0 without gaps."""
    if side.track is None:
        return np.zeros(0, dtype=np.int64)
    return np.unique(side.track[rows], return_inverse=True)[1].reshape(-1).astype(np.int64)


def cut_blocks(given: SequenceBoxes, length: int) -> list[SequenceBoxes]:
    """Cut a sequence into blocks of consecutive frames; a track goes on in the next block as another one."""
    found = []
    for start in range(0, given.frames, length):
        rows = np.flatnonzero((given.frame >= start) & (given.frame < start + length) & (given.track < given.annotated))
        place = np.full(len(given.frame), -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        preds = [np.flatnonzero((f >= start) & (f < start + length)) for f in given.pred_frame]
        pairs = []
        for (t, p, s), mine in zip(given.pairs, preds, strict=True):
            there = np.full(int(p.max(initial=-1)) + 1 if len(p) else 0, -1, dtype=np.int64)
            there[mine[mine < len(there)]] = np.flatnonzero(mine < len(there))
            keep = (place[t] >= 0) & (there[p] >= 0) if len(p) else np.zeros(0, dtype=np.bool_)
            pairs.append((place[t[keep]], there[p[keep]], s[keep]))
        track = np.unique(given.track[rows], return_inverse=True)[1].reshape(-1).astype(np.int64)
        found.append(
            replace(
                given,
                frames=min(length, given.frames - start),
                frame=given.frame[rows] - start,
                track=track,
                annotated=int(track.max(initial=-1)) + 1,
                centre=given.centre[rows],
                pred_frame=[f[mine] - start for f, mine in zip(given.pred_frame, preds, strict=True)],
                pred_track=[
                    np.unique(t[mine], return_inverse=True)[1].reshape(-1).astype(np.int64)
                    for t, mine in zip(given.pred_track, preds, strict=True)
                ],
                pairs=pairs,
            )
        )
    return found


@dataclass(frozen=True, eq=False, repr=False)
class TrackLeaderboard(Display):
    """A ranking of trackers and its uncertainty: the result of ``verite.leaderboard(…, protocol="track")``.

    Parameters
    ----------
    boards : dict of str to Board
        The ranking by each score; of scores such as IDSW, where less is better, with the opposite sign.
    errors : TrackErrors
        The simulated annotation errors.
    resample : str
        ``sequence``, ``blocks:N`` or ``none``.
    units : int
        The number of sequences or blocks.
    draws, seed, level : int, int, float
        Number of simulations, seed, and confidence level.
    protocol_signature : Signature
        The signature of the protocol.

    Examples
    --------
    >>> import verite as vt
    >>> frames = [f"{v}/{f}" for v in "abcdef" for f in range(3)]
    >>> truth = vt.Annotations.of(frames, ["car"] * 18, [[0, 0, 9, 9]] * 18, track=[1] * 18)
    >>> good = vt.Annotations.of(frames, ["car"] * 18, [[0, 0, 9, 9]] * 18, track=[1] * 18, confidence=[1] * 18)
    >>> board = vt.leaderboard(truth, {"all": good, "half": good.take(range(0, 18, 2))}, protocol="track",
    ...                        metrics="HOTA", resample="sequence", draws=50)
    >>> board.names, board.units
    (('all', 'half'), 6)
    """

    boards: dict[str, Board]
    errors: TrackErrors
    resample: str
    units: int
    draws: int
    seed: int
    level: float
    protocol_signature: Signature
    protocol: str = "track"

    @property
    def board(self) -> Board:
        """The ranking by the first score."""
        return next(iter(self.boards.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """The trackers, the best first by the first score."""
        return self.board.names

    @property
    def signature(self) -> Signature:
        """Everything that can change a number."""
        facts = {
            "metric": ",".join(self.boards), **dict(self.protocol_signature.settings), "errors": str(self.errors),
            "resample": self.resample, "draws": str(self.draws), "seed": str(self.seed), "level": f"{self.level:g}",
        }  # fmt: skip
        return Signature("leaderboard", tuple((key, str(value)) for key, value in facts.items()))

    @property
    def unit(self) -> str:
        """What is resampled: sequences or blocks."""
        return "blocks" if self.resample.startswith("blocks") else "sequences"

    def sign(self, metric: str) -> float:
        """Return -1 for scores of which less is better."""
        return -1.0 if metric in ERRORS else 1.0

    def table(self, metric: str | None = None) -> Table:
        """Return one row per tracker with plain numbers."""
        metric = metric or next(iter(self.boards))
        board, sign = self.boards[metric], self.sign(metric)
        columns: dict[str, list[Any]] = {
            "place": list(range(1, len(board.names) + 1)),
            metric: (sign * board.scores).tolist(),
            "sd": [sd for sd, _ in board.spread],
        }
        for at, key in enumerate(("gap", "gap low", "gap high")):
            columns[key] = [None if gap is None else gap[at] for gap in board.gaps]
        for source in board.samples:
            columns[f"first in ({source})"] = [board.p_first(i)[source] for i in range(len(board.names))]
        for at, key in enumerate(("best place", "last place")):
            columns[key] = [None if places is None else places[at] for places in board.places]
        return Table.of("tracker", list(board.names), columns)

    def main_table(self) -> Table:
        return self.table()

    def tables(self) -> dict[str, Table]:
        """All tables, by the names of their files."""
        return {f"leaderboard-{metric}": self.table(metric) for metric in self.boards}

    def shown(self, metric: str) -> Table:
        """Return the printed table of a score."""
        board, sign = self.boards[metric], self.sign(metric)
        words = {"images": f"first in ({self.unit})", "errors": "first in (annotations)", "both": "first in (both)"}
        columns: dict[str, list[Any]] = {
            "place": board.shown_places(),
            metric: (sign * board.scores).tolist(),
            "lead": board.shown_leads(),
        }
        for source in board.samples:
            shares = [board.p_first(i)[source] for i in range(len(board.names))]
            columns[words[source]] = ["–" if share is None else f"{100 * share:.0f} %" for share in shares]
        return Table.of("tracker", list(board.names), columns)

    def contents(self) -> list[Part]:
        parts: list[Part] = []
        what = "blocks of frames" if self.resample.startswith("blocks") else "sequences"
        for metric, board in self.boards.items():
            groups = "; ".join(format_group(group, board.names) for group in board.groups)
            parts += [self.shown(metric)]
            if board.samples:
                parts.append(f"statistically tied by {metric}: {groups}" if groups else "no two are statistically tied")
        if self.resample != "none":
            parts.append(f"{self.draws:,} bootstrap resamples of {self.units:,} {what}, intervals by Student's t")
            parts += warn_of_few(self.units, what)
        if what == "blocks of frames" and self.resample != "none":
            parts.append("tracks are cut at the ends of blocks: spreads are those of blocks, around the whole scores")
            cut = [metric for metric in self.boards if metric in ASSOCIATED]
            if cut:
                parts.append(
                    f"warning: intervals of {', '.join(cut)} from blocks are too short, since association runs over "
                    "many blocks; resample sequences where there are five or more"
                )
        if not self.errors.is_none:
            parts.append(f"simulated annotation errors of tracks: {self.errors}")
        return [*parts, self.signature]

    def to_dict(self) -> JsonObject:
        """Everything as plain values; the documented keys of the JSON document."""
        return {
            "protocol": "track",
            "signature": str(self.signature),
            "errors": {kind: getattr(self.errors, kind) for kind in KINDS},
            "resample": self.resample,
            "units": self.units,
            "draws": self.draws,
            "seed": self.seed,
            "level": self.level,
            "metrics": {
                metric: {
                    "detectors": [
                        {
                            "name": name,
                            "score": float(self.sign(metric) * board.scores[i]),
                            "sd": board.spread[i][0],
                            "gap": None if gap is None else dict(zip(("value", "low", "high"), gap, strict=True)),
                            "p_first": board.p_first(i),
                            "places": list(board.places[i] or ()),
                        }
                        for i, (name, gap) in enumerate(zip(board.names, board.gaps, strict=True))
                    ],
                    "pairs": [pair.to_dict() for pair in board.pairs],
                    "groups": board.groups,
                }
                for metric, board in self.boards.items()
            },
            "version": __version__,
        }

    def to_json(self, *, indent: int = 0) -> str:
        """The JSON document; absent values are null."""
        return to_json(self.to_dict(), indent=indent)

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame; pandas must be installed."""
        return self.table().to_frame()


def rank_trackers(
    results: Mapping[str, TrackResults],
    metrics: Sequence[str] = ("HOTA",),
    errors: TrackErrors | None = None,
    *,
    resample: str = "sequence",
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> TrackLeaderboard:
    """Rank trackers by scores of the tracking protocol.

    Parameters
    ----------
    results
        Results of `verite.track` on one ground truth, by name.
    metrics
        Scores such as HOTA, MOTA, IDF1 or IDSW.
    errors
        Rates of annotation errors of tracks. Default: none.
    resample
        ``sequence``, ``blocks:N`` (blocks of N frames), or ``none``.
    draws, seed, level
        Number of simulations, seed of the random numbers, confidence level.

    Raises
    ------
    BadParameter
        If a score or `resample` is unknown, or there are fewer than five sequences or blocks.
    """
    names, given, errors = tuple(results), list(results.values()), errors or TrackErrors()
    if len(given) < 2:
        raise BadParameter(f"leaderboard: expected at least two trackers, found {len(given)}")
    for one in given:
        check_comparable(given[0], one)
    for metric in metrics:
        if metric not in SCORES:
            raise BadParameter(
                f"metrics: expected one of {', '.join(SCORES)}, found {metric!r}{did_you_mean(metric, SCORES)}"
            )
    length = block_length(resample)
    parts: list[SequenceBoxes] = []
    for sequence in range(len(given[0].sequences.names)):
        of_classes = [sequence_boxes(given, sequence, name) for name in all_classes(given)]
        parts += [part for part in of_classes if part is not None]
    if not parts:
        raise DataError("leaderboard: expected tracks, found none")
    unit_of = units_of(given[0], given, parts) if length is None else None
    iou = given[0].settings.iou
    whole = stack_counts(
        [[part.evaluate(i, part.track, part.track < part.annotated, iou) for i in range(len(given))] for part in parts]
    )
    samples: dict[str, list[Floats]] = {}
    scores = scores_of(whole, None, metrics)
    weights, blocks, block_scores, units = None, None, scores, len(set(unit_of or ()))
    if length is not None and length > 0:
        cut = [block for part in parts for block in cut_blocks(part, length)]
        blocks = stack_counts(
            [[b.evaluate(i, b.track, np.ones(len(b.track), np.bool_), iou) for i in range(len(given))] for b in cut]
        )
        block_scores, units = scores_of(blocks, None, metrics), len(cut)
    if resample != "none":
        if units < MIN_GROUPS:
            what = "blocks" if blocks is not None else "sequences"
            raise BadParameter(
                f"resample: expected at least {MIN_GROUPS} {what}, found {units}: so few say next to nothing; resample "
                "blocks of frames (blocks:50), or none"
            )
        weights = SampledUnits(np.arange(units), units).bootstrap(draws, seed)
        rows = weights if unit_of is None else weights[:, unit_of]
        base = whole if blocks is None else blocks
        samples["images"] = [scores_of(base, row, metrics) - block_scores + scores for row in rows]
    if not errors.is_none:
        samples["errors"], samples["both"] = [], []
        for draw in range(draws):
            rng = generator(seed, draw, TRACK_STREAM)
            changed = []
            for part in parts:
                track, kept = part.simulate(errors, rng)
                changed.append([part.evaluate(i, track, kept, iou) for i in range(len(given))])
            simulated = stack_counts(changed)
            moved = scores_of(simulated, None, metrics)
            samples["errors"].append(moved)
            if weights is not None and unit_of is not None:
                samples["both"].append(scores_of(simulated, weights[draw, unit_of], metrics))
            elif weights is not None:
                samples["both"].append(samples["images"][draw] + moved - scores)
        if weights is None:
            del samples["both"]
    # Sequences of unequal size: Student's t with Kish's effective number of units by their objects.
    objects = (whole if blocks is None else blocks)[0, :, -len(fields(SizeCounts))]
    effective = effective_number(np.bincount(unit_of or np.arange(len(objects)), objects)) if units else None
    boards = {}
    for k, metric in enumerate(metrics):
        sign = -1.0 if metric in ERRORS else 1.0
        drawn = {source: sign * np.stack(found)[:, :, k] for source, found in samples.items()}
        boards[metric] = Board(
            metric, names, sign * scores[:, k], drawn, level, units or None, is_grouped=True, effective_units=effective
        )
    return TrackLeaderboard(boards, errors, resample, units, draws, seed, level, given[0].signature)


def block_length(resample: str) -> int | None:
    """Return the frames of a block; None for whole sequences, 0 where nothing is resampled."""
    if resample in ("sequence", "sequences", "images"):
        return None
    if resample == "none":
        return 0
    word, _, count = resample.partition(":")
    if word != "blocks" or not count.isdecimal() or not int(count):
        raise BadParameter(f"resample: expected sequence, blocks:N or none, found {excerpt(resample)}")
    return int(count)


def all_classes(results: Sequence[TrackResults]) -> list[str]:
    """Return the classes that some tracker or the ground truth has, in the order of the first results."""
    return list(dict.fromkeys(name for one in results for name in one.classes))


def units_of(first: TrackResults, given: Sequence[TrackResults], parts: Sequence[SequenceBoxes]) -> list[int]:
    """Return the sequence of each part, numbered without gaps: classes of one sequence are resampled together."""
    found = [
        sequence
        for sequence, title in enumerate(first.sequences.names)
        for name in all_classes(given)
        if any((title, name) in one.sequence_counts for one in given)
    ]
    numbers = {sequence: i for i, sequence in enumerate(dict.fromkeys(found))}
    assert len(found) == len(parts)
    return [numbers[sequence] for sequence in found]


def stack_counts(counts: Sequence[Sequence[SequenceCounts]]) -> Floats:
    """Return the counts [part][tracker] as an array [tracker, part, count]."""
    return np.array([[one.flatten() for one in part] for part in counts]).transpose(1, 0, 2)


def scores_of(stacked: Floats, weights: Floats | None, metrics: Sequence[str]) -> Floats:
    """Return the scores of every tracker over weighted parts, shape (trackers, metrics).

    Parameters
    ----------
    stacked
        Counts [tracker, part, count] from which HOTA, MOTA and IDF1 are computed.
    weights
        How often each part (a sequence) counts; None for once each.
    metrics
        Names of the scores.

    Returns
    -------
    Floats
        Scores of the summed counts: they are not means over sequences.
    """
    totals = stacked.sum(axis=1) if weights is None else (stacked * weights[None, :, None]).sum(axis=1)
    found = [summarise(SequenceCounts.from_row(row)) for row in totals]
    return np.array([[one[metric] for metric in metrics] for one in found])
