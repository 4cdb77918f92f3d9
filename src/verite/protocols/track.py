"""Multi-object tracking protocol: HOTA, CLEAR MOT (MOTA, MOTP, IDSW …) and Identity (IDF1), as TrackEval computes them.

Both sides carry track ids. Sequences (videos) are evaluated one by one and combined as TrackEval combines them; so are
classes. MOTChallenge's rules leave out what is no pedestrian and predictions on distractors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError
from verite.evaluation.prepare import need_pixels, prepare
from verite.evaluation.settings import RankedSettings, above_threshold
from verite.evaluation.tracking import (
    EPSILON,
    HOTA_FAMILY,
    SequenceCounts,
    TrackedSequence,
    TrackTimeline,
    assign,
    count_sequence,
    hota_curves,
    match_clear,
    summarise,
    timeline_of,
)
from verite.model.results import Matches, Results, choose_threshold
from verite.model.sequences import Sequences, share_frames
from verite.model.tables import Part, Table
from verite.protocols.protocol import protocol
from verite.settings import Choice, Option, Threshold

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from verite.files import JsonObject
    from verite.model.annotations import Annotations

    Ints = NDArray[np.int64]
    Pairs = tuple[Ints, Ints, NDArray[np.float64]]  # rows of both sides, and their similarity

SCORES = ("HOTA", "DetA", "AssA", "LocA", "MOTA", "MOTP", "IDF1", "IDP", "IDR", "IDSW", "Frag", "MT", "PT", "ML")

ERRORS = ("IDSW", "Frag", "ML")  # lower is better

COUNTS = ("IDSW", "Frag", "MT", "PT", "ML")

PEDESTRIAN = "pedestrian"

# Classes of MOTChallenge on which a prediction is neither right nor wrong.
DISTRACTORS = {
    "mot17": ("person on vehicle", "static person", "distractor", "reflection"),
    "mot20": ("person on vehicle", "static person", "distractor", "reflection", "non-motorized vehicle"),
}


class TrackSettings(RankedSettings):
    """Settings of the tracking protocol."""

    on: Option[Literal["box", "mask"]] = Choice("box", "Compare boxes or masks.", ("box", "mask"))
    rules: Option[Literal["mot17", "mot20", "plain"] | None] = Choice(
        None,
        "Objects that count: pedestrians without predictions on distractors (MOTChallenge: mot17, mot20), or all that "
        "are not marked to be ignored (plain).",
        ("mot17", "mot20", "plain"),
        default_text="mot17 for MOTChallenge files with classes, else plain",
    )
    iou: Option[float] = Threshold(0.5, "IoU threshold of a match in CLEAR MOT and Identity.", short="-t")

    def for_truth(self, truth: Any) -> TrackSettings:
        """Return settings with the rules of the ground truth's format."""
        if self.rules is not None:
            return self
        known = set(truth.labels.all_names)
        is_mot = truth.source.format == "mot" and PEDESTRIAN in known
        return self.change(rules="mot17" if is_mot and known & set(DISTRACTORS["mot17"]) else "plain")


class TrackResults(Results):
    """Results of the tracking protocol: HOTA, CLEAR MOT and Identity, overall, per sequence and per class.

    ``results.sequence_counts`` holds the counts of each sequence and class; ``results.curves`` HOTA and its parts at
    each of the 19 localization thresholds.

    Parameters
    ----------
    settings : TrackSettings
        The settings of the protocol.
    counts : mapping of (str, str) to SequenceCounts
        The counts of each sequence and class.
    truth, pred : Annotations
        Ground truth and predictions over the same frames.
    sequences : Sequences
        The sequence and frame number of each image.
    findings : sequence of Finding
        What the checks found.

    Examples
    --------
    A car in two frames; in the second its track is another one:

    >>> import verite as vt
    >>> frames, boxes = ["v/000001", "v/000002"], [[0, 0, 10, 10], [1, 0, 11, 10]]
    >>> truth = vt.Annotations.of(frames, ["car"] * 2, boxes, track=[1, 1])
    >>> pred = vt.Annotations.of(frames, ["car"] * 2, boxes, track=[1, 2], confidence=[1, 1])
    >>> results = vt.track(truth, pred)
    >>> isinstance(results, vt.TrackResults), int(results["IDSW"]), results["DetA"].value
    (True, 1, 1.0)
    >>> results.sequences.names, results.class_names
    (('v',), ['car'])
    """

    def __init__(
        self,
        settings: TrackSettings,
        counts: Mapping[tuple[str, str], SequenceCounts],
        truth: Annotations,
        pred: Annotations,
        sequences: Sequences,
        findings: Sequence[Any] = (),
    ) -> None:
        self.settings, self.sequence_counts, self.sequences = settings, dict(counts), sequences
        self.outside = 0  # predictions in frames that the ground truth does not have
        self.counted = (~truth.ignored, ~pred.ignored)  # objects and predictions that the rules leave
        self.classes = list(dict.fromkeys(label for _, label in self.sequence_counts))
        self.total = SequenceCounts.total(list(self.sequence_counts.values()))
        self.metrics = summarise(self.total)
        has_objects = bool(self.total.size.truths or self.total.size.preds)
        super().__init__(
            protocol="track",
            signature=settings.signature("track"),
            scores={
                name: (self.metrics[name] if has_objects else np.nan, settings.signature(name.lower()))
                for name in SCORES
            },
            truth=truth,
            pred=pred,
            name=settings.name,
            findings=findings,
        )

    def is_error(self, score: str) -> bool:
        return score in ERRORS

    @property
    def curves(self) -> dict[str, NDArray[np.float64]]:
        """HOTA, DetA, AssA, DetRe, DetPr, AssRe, AssPr and LocA at the alphas 0.05, 0.10, …, 0.95."""
        return hota_curves(self.total.hota)

    @property
    def iou_thresholds(self) -> tuple[float, ...]:
        """The IoU threshold of CLEAR MOT and Identity."""
        return (self.settings.iou,)

    @property
    def class_names(self) -> list[str]:
        return self.classes

    def metrics_by(self, position: int) -> dict[str, dict[str, float]]:
        """Return every metric per sequence (position 0) or per class (1), by name."""
        groups: dict[str, list[SequenceCounts]] = {}
        for key, counts in self.sequence_counts.items():
            groups.setdefault(key[position], []).append(counts)
        return {name: summarise(SequenceCounts.total(parts)) for name, parts in groups.items()}

    def class_scores(self) -> dict[str, list[float]]:
        by_class = self.metrics_by(1)
        return {score: [by_class[name][score] for name in self.class_names] for score in self.scores}

    def class_table(self) -> Table:
        """Return the scores of each class, and of all together."""
        return self.table_of("class", self.metrics_by(1))

    def sequence_table(self) -> Table:
        """Return the scores of each sequence, and of all together."""
        return self.table_of("sequence", self.metrics_by(0))

    def table_of(self, head: str, metrics: dict[str, dict[str, float]]) -> Table:
        """Return a table with one row per sequence or class, and the combined one below."""

        def cell(name: str, value: float) -> float | int:
            return int(value) if name in COUNTS else value

        columns = {name: [cell(name, row[name]) for row in metrics.values()] for name in SCORES}
        combined = {name: cell(name, self.metrics[name]) for name in SCORES}
        return Table.of(head, list(metrics), columns, mean=combined)

    def main_table(self) -> Table:
        return self.sequence_table()

    def tables(self) -> dict[str, Table]:
        return {"sequences": self.sequence_table(), "classes": self.class_table()}

    def contents(self) -> list[Part]:
        tables = [self.sequence_table()]
        if len(self.classes) > 1:
            tables.append(self.class_table())
        return [self.name, *tables, self.signature, *self.notes]

    def details(self) -> JsonObject:
        """Return the documented keys of the JSON: all metrics, overall and for each sequence and class."""

        def rounded(metrics: Mapping[str, float]) -> dict[str, float | int]:
            families = (*HOTA_FAMILY, "MOTA", "MOTP", "MODA", "recall", "precision", "IDF1", "IDP", "IDR")
            return {name: value if name in families else int(value) for name, value in metrics.items()}

        return {
            **rounded(self.metrics),
            "rules": self.settings.rules,
            "alphas": {name: curve.tolist() for name, curve in self.curves.items()},
            "sequences": {name: rounded(metrics) for name, metrics in self.metrics_by(0).items()},
            "classes": {name: rounded(metrics) for name, metrics in self.metrics_by(1).items()},
        }

    @property
    def notes(self) -> list[str]:
        """Notes below the scores; a sequence without any prediction is named."""
        empty = [name for name, metrics in self.metrics_by(0).items() if metrics["truths"] and not metrics["preds"]]
        more = f" and {len(empty) - 3} more" if len(empty) > 3 else ""
        said = f"no prediction in sequence {', '.join(empty[:3])}{more}: is a file missing?"
        beyond = f"{self.outside:,} predictions are in frames that the ground truth does not have: false positives"
        return [*super().notes, *([said] if empty else []), *([beyond] if self.outside else [])]

    def timelines(self) -> dict[tuple[str, str], TrackTimeline]:
        """Return what happens to each object over time, by sequence and class: matched, missed, identity switches."""
        return {key: timeline_of(tracked, self.settings.iou) for key, _, _, tracked in self.tracked()}

    def tracked(self) -> Iterator[tuple[tuple[str, str], Ints, Ints, TrackedSequence]]:
        """Yield sequence and class, the rows of both sides that count, and their overlapping pairs."""
        names = self.truth.labels.all_names
        for sequence, name in self.sequence_counts:
            label, i = names.index(name), self.sequences.names.index(sequence)
            ours = rows_of(self.truth, self.counted[0], label, self.sequences, i)
            theirs = rows_of(self.pred, self.counted[1], label, self.sequences, i)
            yield (
                (sequence, name),
                ours,
                theirs,
                tracked_sequence(self.truth, self.pred, ours, theirs, self.sequences, i, self.settings),
            )

    def matches(self, iou: float | None = None) -> Matches:
        """Return the prediction that CLEAR MOT matches with each ground-truth object at the IoU threshold."""
        choose_threshold((self.settings.iou,), iou)
        pairs, truths, preds = [], [], []
        for _, ours, theirs, tracked in self.tracked():
            truth, pred, _, _ = match_clear(tracked, self.settings.iou)
            pairs.append(np.stack([ours[truth], theirs[pred]]))
            truths.append(ours)
            preds.append(theirs)
        empty = np.zeros(0, dtype=np.int64)
        found = np.concatenate([np.zeros((2, 0), dtype=np.int64), *pairs], axis=1)
        missed = np.setdiff1d(np.concatenate([empty, *truths]), found[0])
        false = np.setdiff1d(np.concatenate([empty, *preds]), found[1])
        sizes = len(self.truth), len(self.pred)
        return Matches.of_pairs(self.settings.iou, sizes, (found[0], found[1]), missed, false)

    def draw_scores(self, scores: Sequence[str], weights: NDArray[np.float64], label: str | None = None) -> Any:
        """Return scores on bootstrap samples of whole sequences.

        Raises
        ------
        BadParameter
            If frames of a sequence have different weights: a track only makes sense over consecutive frames.
        """
        of_sequence = np.array(
            [np.flatnonzero(self.sequences.sequence == i)[0] for i in range(len(self.sequences.names))]
        )
        by_sequence = weights[:, of_sequence]
        if not np.array_equal(by_sequence[:, self.sequences.sequence], weights):
            raise BadParameter("resample: expected sequences, since tracks run over frames, found single images")
        place = {name: i for i, name in enumerate(self.sequences.names)}
        chosen = [(place[key[0]], n) for key, n in self.sequence_counts.items() if label in (None, key[1])]
        out = np.empty((len(weights), len(scores)))
        for draw, row in enumerate(by_sequence):
            metrics = summarise(SequenceCounts.total([n for _, n in chosen], [float(row[i]) for i, _ in chosen]))
            out[draw] = [metrics[score] for score in scores]
        return out


@protocol(
    TrackSettings,
    files="TRUTH and PRED are files or folders with track ids: MOTChallenge, MOTS, KITTI or VisDrone text (a file per "
    "sequence), CVAT for video, COCO JSON or tables with track_id",
    examples="""
verite track MOT17/train results/
verite track gt.txt tracker.txt
verite track gt.txt a.txt b.txt --rules plain
verite track gt.txt tracker.txt --json | jq .HOTA""",
    needs_tracks=True,
)
def track(truth: Annotations, pred: Annotations, settings: TrackSettings) -> TrackResults:
    """Multi-object tracking: HOTA, CLEAR MOT (MOTA, IDSW …) and IDF1.

    Objects of the same class and frame are matched by IoU. HOTA is the geometric mean of detection accuracy (DetA) and
    association accuracy (AssA), averaged over 19 localization thresholds from 0.05 to 0.95; MOTA counts missed objects,
    false positives and identity switches at one threshold; IDF1 matches whole tracks one to one. Sequences and classes
    are combined by their counts, as TrackEval combines them.

    By MOTChallenge's rules (``rules="mot17"``) predictions matched to a distractor (static person, person on a vehicle,
    reflection …) are left out, then everything but pedestrians that are marked to be evaluated.

    References
    ----------
    Luiten et al., HOTA: A Higher Order Metric for Evaluating Multi-Object Tracking, IJCV 2021.
    Bernardin and Stiefelhagen, Evaluating Multiple Object Tracking Performance: The CLEAR MOT Metrics, 2008.
    Ristani et al., Performance Measures and a Data Set for Multi-Target, Multi-Camera Tracking, 2016.

    Examples
    --------
    >>> import verite as vt
    >>> frames = ["v/000001", "v/000002", "v/000003"]
    >>> boxes = [[0, 0, 10, 10], [1, 0, 11, 10], [2, 0, 12, 10]]
    >>> truth = vt.Annotations.of(frames, ["car"] * 3, boxes, track=[1, 1, 1])
    >>> pred = vt.Annotations.of(frames, ["car"] * 3, boxes, track=[1, 1, 2], confidence=[1, 1, 1])
    >>> results = vt.track(truth, pred)
    >>> results["MOTA"].value, int(results["IDSW"]), round(results["HOTA"], 4)
    (0.6666666666666666, 1, 0.7454)
    """
    settings = settings.for_truth(truth) if settings.rules is None else settings
    for side, what in ((truth, "truth"), (pred, "predictions")):
        check_tracks(side, what)
    outside = pred.like(truth).image >= len(truth.images)
    truth, pred, sequences = share_frames(truth, pred)
    truth, pred, findings = prepare(truth, pred, settings.checks, is_ranked=False)
    if settings.on == "mask":
        need_pixels(truth, "masks")
    settings.check_labels(truth.labels.all_names)
    if settings.confidence is not None and pred.confidence is not None:
        pred = pred.where(above_threshold(pred, settings.confidence))
    for side in (truth, pred):
        check_unique(side, sequences)
    counted_truth, counted_pred = apply_rules(truth, pred, settings)
    counts: dict[tuple[str, str], SequenceCounts] = {}
    for label, name in enumerate(truth.labels.all_names):
        if settings.labels is not None and name not in settings.labels:
            continue
        if settings.rules != "plain" and name != PEDESTRIAN:
            continue
        for i, sequence in enumerate(sequences.names):
            ours = rows_of(truth, counted_truth, label, sequences, i)
            theirs = rows_of(pred, counted_pred, label, sequences, i)
            if len(ours) or len(theirs):
                counts[sequence, name] = count_sequence(
                    tracked_sequence(truth, pred, ours, theirs, sequences, i, settings), settings.iou
                )
    results = TrackResults(settings, counts, truth, pred, sequences, findings)
    results.outside, results.counted = int(outside.sum()), (counted_truth, counted_pred)
    return results


def check_tracks(side: Annotations, what: str) -> None:
    """Raise `DataError` if objects have no track ids."""
    if len(side) and (side.track is None or (side.track < 0).all()):
        raise DataError(
            f"{side.source.path or what}: expected a track id for each object, found none; tracks are read from "
            "MOTChallenge, MOTS, KITTI and VisDrone text, CVAT for video, COCO JSON with track_id and tables"
        )
    missing = np.flatnonzero((side.track < 0) & ~side.ignored) if side.track is not None else np.zeros(0, np.int64)
    if len(missing):
        raise DataError(
            f"{side.source.path or what}: expected a track id for each object, found {len(missing):,} of "
            f"{len(side):,} without, the first in {side.images.name(int(side.image[missing[0]]))!r}; give them one, "
            "or mark them to be ignored"
        )


def check_unique(side: Annotations, sequences: Sequences) -> None:
    """Raise `DataError` if a track occurs twice in a frame."""
    if side.track is None or not len(side):
        return
    order = np.lexsort((side.track, side.label, side.image))
    same = [column[order][1:] == column[order][:-1] for column in (side.image, side.label, side.track)]
    twice = np.flatnonzero(same[0] & same[1] & same[2] & ~side.ignored[order][1:])
    if len(twice):
        row = int(order[twice[0]])
        image = int(side.image[row])
        raise DataError(
            f"{side.source.path or 'annotations'}: expected each track once per frame, found track {side.track[row]} "
            f"twice in frame {sequences.frame[image]} of {sequences.names[sequences.sequence[image]]!r}"
            + (f", and {len(twice) - 1:,} more like it" if len(twice) > 1 else "")
        )


def box_pairs(truth: Annotations, pred: Annotations, ours: Ints, theirs: Ints) -> Pairs:
    """Return the pairs of boxes of one image that overlap, as positions in `ours` and `theirs`, with their IoU."""
    order = np.argsort(truth.image[ours], kind="stable")
    offsets, found, similarity = _core.box_candidates(
        np.ascontiguousarray(truth.regions.boxes[ours[order]]),
        truth.image[ours[order]].astype(np.int64),
        np.ascontiguousarray(pred.regions.boxes[theirs]),
        pred.image[theirs].astype(np.int64),
    )
    return order[found], np.repeat(np.arange(len(theirs)), np.diff(offsets)), similarity


def apply_rules(
    truth: Annotations, pred: Annotations, settings: TrackSettings
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which objects and which predictions count by the rules of the challenge."""
    counted_truth, counted_pred = ~truth.ignored, ~pred.ignored
    if settings.rules == "plain":
        counted_pred &= ~in_ignore_regions(truth, pred, settings)
        return counted_truth, counted_pred
    names = truth.labels.all_names
    distractors = [i for i, name in enumerate(names) if name in DISTRACTORS[str(settings.rules)]]
    truth_rows, pred_rows = np.arange(len(truth)), np.arange(len(pred))
    ours, theirs, similarity = box_pairs(truth, pred, truth_rows, pred_rows)
    near = similarity >= 0.5 - EPSILON
    ours, theirs, similarity = ours[near], theirs[near], similarity[near]
    matched = assign(ours, theirs, similarity, (len(truth), len(pred)))
    ours, theirs = ours[matched], theirs[matched]
    counted_pred[theirs[np.isin(truth.label[ours], distractors)]] = False
    return counted_truth, counted_pred


def in_ignore_regions(truth: Annotations, pred: Annotations, settings: TrackSettings) -> NDArray[np.bool_]:
    """Return the predictions that match no object and have more than half of their area in a region to ignore.

    These are KITTI's `DontCare`, class 10 of MOTS and VisDrone's ignored regions, which hold for all classes.
    """
    found = np.zeros(len(pred), dtype=np.bool_)
    regions = np.flatnonzero(truth.flag("ignore_region"))
    if not len(regions) or not len(pred):
        return found
    ours, theirs, similarity = box_pairs(truth, pred, np.flatnonzero(~truth.ignored), np.arange(len(pred)))
    objects = np.flatnonzero(~truth.ignored)[ours]
    near = (similarity >= settings.iou - EPSILON) & (truth.label[objects] == pred.label[theirs])
    matched = assign(ours[near], theirs[near], similarity[near], (len(truth), len(pred)))
    at, rows, iou = box_pairs(truth, pred, regions, np.arange(len(pred)))
    area = np.prod(np.maximum(pred.regions.sizes[:, 2:], 0), axis=1)
    if settings.on == "mask":
        shared, _, own = mask_areas(truth, pred, regions[at], rows)
    else:
        around = np.prod(np.maximum(truth.regions.sizes[regions[at], 2:], 0), axis=1)
        shared, own = iou / (1 + iou) * (around + area[rows]), area[rows]
    found[rows[shared > 0.5 * own]] = True
    found[theirs[near][matched]] = False
    return found


def rows_of(side: Annotations, counted: NDArray[np.bool_], label: int, sequences: Sequences, sequence: int) -> Ints:
    """Return the rows of one class and sequence that count, in the order of frames."""
    rows = np.flatnonzero(counted & (side.label == label) & (sequences.sequence[side.image] == sequence))
    return rows[np.argsort(sequences.frame[side.image[rows]], kind="stable")]


def tracked_sequence(
    truth: Annotations,
    pred: Annotations,
    ours: Ints,
    theirs: Ints,
    sequences: Sequences,
    sequence: int,
    settings: TrackSettings,
) -> TrackedSequence:
    """Return one class of one sequence, ready to be counted."""
    images = np.flatnonzero(sequences.sequence == sequence)
    images = images[np.argsort(sequences.frame[images], kind="stable")]
    frame = np.full(len(sequences.frame), -1, dtype=np.int64)
    frame[images] = np.arange(len(images))
    found_truth, found_pred, similarity = box_pairs(truth, pred, ours, theirs)
    if settings.on == "mask":
        similarity = mask_similarity(truth, pred, ours[found_truth], theirs[found_pred])
        keep = similarity > 0
        found_truth, found_pred, similarity = found_truth[keep], found_pred[keep], similarity[keep]
    order = np.argsort(frame[truth.image[ours[found_truth]]], kind="stable")
    assert truth.track is not None or not len(ours)
    return TrackedSequence(
        frames=len(images),
        truth_frame=frame[truth.image[ours]],
        pred_frame=frame[pred.image[theirs]],
        truth_track=number_tracks(truth, ours),
        pred_track=number_tracks(pred, theirs),
        truth=found_truth[order],
        pred=found_pred[order],
        similarity=similarity[order],
    )


def number_tracks(side: Annotations, rows: Ints) -> Ints:
    """Return the tracks of some objects, numbered from 0 without gaps."""
    if side.track is None:
        return np.zeros(0, dtype=np.int64)
    return np.unique(side.track[rows], return_inverse=True)[1].reshape(-1).astype(np.int64)


def mask_similarity(truth: Annotations, pred: Annotations, ours: Ints, theirs: Ints) -> NDArray[np.float64]:
    """Return the IoU of masks, row by row."""
    shared, truth_area, pred_area = mask_areas(truth, pred, ours, theirs)
    return shared / np.maximum(truth_area + pred_area - shared, 1)


def mask_areas(truth: Annotations, pred: Annotations, ours: Ints, theirs: Ints) -> tuple[NDArray[np.float64], ...]:
    """Return shared pixels of pairs of masks, and the pixels of either."""
    from verite.model.shapes import shapes_of
    from verite.pairs import Pairs as MaskPairs

    pairs = MaskPairs.from_shapes(
        shapes_of(truth.regions, "truth", "xyxy"), shapes_of(pred.regions, "pred", "xyxy"), ours, theirs,
        size=np.stack([truth.images.widths, truth.images.heights], axis=1)[truth.image[ours]],
    )  # fmt: skip
    return pairs.shared_area, pairs.truth_area, pairs.pred_area
