"""KITTI 2-D object detection: AP at 40 recalls for easy, moderate and hard objects.

The rules are those of the development kit (`evaluate_object.cpp`): each ground-truth object takes the prediction of
highest IoU, again at each of up to 41 confidence thresholds; DontCare regions and neighbouring classes (Van for Car,
Person_sitting for Pedestrian) are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Any, Literal, cast

from verite import _core
from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.evaluation import Evaluation, Rules
from verite.evaluation.kept_rows import KeptRows, count_objects, unlike
from verite.evaluation.prepare import need_pixels, prepare
from verite.evaluation.settings import THREADS, ObjectNumbers, RankedSettings
from verite.evaluation.state import PartialMetadata
from verite.model.tables import Legend, Table
from verite.protocols.protocol import protocol
from verite.protocols.subset_results import SubsetResults
from verite.settings import Choice, Option, Threshold
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.checks import Finding
    from verite.evaluation.partial import MergedNumbers
    from verite.evaluation.state import EvaluationState
    from verite.files import JsonObject
    from verite.model.annotations import Annotations
    from verite.model.classes import Labels

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

OFFICIAL = ("car", "pedestrian", "cyclist")  # the classes of the benchmark, in small letters
NEIGHBOURS = {"car": "van", "pedestrian": "person_sitting"}
IOU = {"car": 0.7}  # other classes: 0.5
POINTS = 41  # recalls 0, 1/40, … 1
KINDS = ("tp more", "tp fewer", "fp more", "fp fewer", "threshold")  # steps that partial results keep
FLAGS = ("ignore", "crowd", "difficult", "group_of")
# Keys of COCO annotations with the truncated share and the level of occlusion.
TRUNCATION, OCCLUSION = ("truncation", "truncated"), ("occlusion", "occluded")
LEGEND = Legend(
    "easy: at least 40 px high, fully visible, at most 15 % truncated; moderate: 25 px, partly occluded, 30 %; hard: "
    "25 px, difficult to see, 50 %. Other objects are ignored. AP: mean precision at 40 recalls (or 11)."
)

Difficulty = Literal["easy", "moderate", "hard"]


@dataclass(frozen=True)
class Limits:
    """Which objects count: those higher than `height` pixels, occluded and truncated up to a limit."""

    height: float
    occlusion: float
    truncation: float


DIFFICULTIES: dict[Difficulty, Limits] = {
    "moderate": Limits(25, 1, 0.30),  # the benchmark ranks by it
    "easy": Limits(40, 0, 0.15),
    "hard": Limits(25, 2, 0.50),
}


class KittiSettings(RankedSettings):
    """Settings of KITTI's 2-D benchmark."""

    iou: Option[float | None] = Threshold(
        None, "IoU that a match exceeds.", short="-t", default_text="0.7 for cars, 0.5 for others", omit_default=True
    )
    recalls: Option[Literal["40", "11"]] = Choice(
        "40", "Recalls at which precision is averaged: 40 (since 2019) or 11 (before).", Literal["40", "11"]
    )
    truncation: ObjectNumbers = ObjectNumbers(
        None, "Truncated share of each ground-truth object.", default_text="the file's", omit_default=True,
        has_option=False,
    )  # fmt: skip
    occlusion: ObjectNumbers = ObjectNumbers(
        None, "Level of occlusion of each ground-truth object, 0 to 3.", default_text="the file's",
        omit_default=True, has_option=False,
    )  # fmt: skip
    threads: Option[int | None] = THREADS


MARKS = len(DIFFICULTIES) * len(KINDS)


@dataclass(frozen=True, eq=False)
class Curve:
    """Precision at the recalls 0, 1/40, … 1 of one class and difficulty, and how many objects count."""

    precision: tuple[float, ...]
    truths: int

    def average(self, recalls: str) -> float:
        """Return AP: the mean precision at 40 recalls above 0, or at 0, 0.1, … 1; nan without objects."""
        if not self.truths:
            return nan
        return _core.mean(self.precision[1:] if recalls == "40" else self.precision[::4])


def confidence_thresholds(confidences: Floats, truths: int) -> list[float]:
    """Return the confidences at which precision is computed: those nearest to each recall, up to 41.

    Parameters
    ----------
    confidences
        Of the true positives, in any order.
    truths
        Number of objects that count.

    >>> confidence_thresholds(np.array([0.9, 0.8]), 2)
    [0.9, 0.8]
    """
    falling = np.sort(confidences)[::-1]
    last = len(falling) - 1
    found: list[float] = []
    recall, at = 0.0, 0
    while at <= last:
        # Skip confidences whose recall is farther from the wanted one than the next confidence's.
        at = max(at, min(last, int(recall * truths - 1.5) - 1))
        while at < last and (at + 2) / truths - recall < recall - (at + 1) / truths:
            at += 1
        found.append(float(falling[at]))
        recall += 1 / (POINTS - 1.0)
        at += 1
    return found


@dataclass(frozen=True, eq=False)
class Steps:
    """Changes of true and false positives of one class and difficulty as the confidence threshold falls.

    Matching is repeated at every threshold, but within an image it changes only where the threshold reaches one of its
    confidences. Counts at any threshold, and on any sample of the images, are sums over these steps.
    """

    confidence: Floats  # falling
    image: NDArray[np.int64]
    tp: Floats
    fp: Floats
    hit_confidence: Floats  # of the true positives that select the thresholds
    hit_image: NDArray[np.int64]
    truth_image: NDArray[np.int64]  # of each object that counts

    def to_rows(self) -> list[tuple[Ints, Floats]]:
        """Return image and confidence of every step by kind, one row for each unit of its change."""
        found = []
        for change in (self.tp, -self.tp, self.fp, -self.fp):
            units = np.maximum(change, 0).astype(np.int64)
            found.append((np.repeat(self.image, units), np.repeat(self.confidence, units)))
        return [*found, (self.hit_image, self.hit_confidence)]

    @classmethod
    def of_rows(
        cls, image: NDArray[np.int64], confidence: Floats, kinds: Bools, truth_image: NDArray[np.int64]
    ) -> Steps:
        """Return the steps of rows by falling confidence; `kinds` says for each which kind it is, [row, kind].

        Raises
        ------
        DataError
            If there are more true positives than objects at some confidence, or fewer positives than none.
        """
        tp, fp = (kinds[:, up].astype(np.float64) - kinds[:, down] for up, down in ((0, 1), (2, 3)))
        changed = kinds[:, :4].any(axis=1)
        own, hit = confidence[changed], kinds[:, 4]
        last = np.append(own[1:] != own[:-1], True)[: len(own)]
        found, false = (np.cumsum(change[changed])[last] for change in (tp, fp))
        truths = len(truth_image)
        if (found < 0).any() or (false < 0).any() or (found > truths).any() or int(hit.sum()) > truths:
            raise unlike("true positives among as many objects")
        return cls(own, image[changed], tp[changed], fp[changed], confidence[hit], image[hit], truth_image)

    def curve(self, weights: Floats | None = None) -> Curve:
        """Return precision against recall; `weights` say how often each image counts, whole numbers."""
        hits, tp, fp, truths = self.hit_confidence, self.tp, self.fp, len(self.truth_image)
        if weights is not None:
            hits = np.repeat(hits, weights[self.hit_image].astype(np.int64))
            tp, fp = weights[self.image] * tp, weights[self.image] * fp
            truths = int(weights[self.truth_image].sum())
        precision = np.zeros(POINTS)
        if truths:
            thresholds = confidence_thresholds(hits, truths)[:POINTS]
            at = np.searchsorted(-self.confidence, -np.array(thresholds), side="right")
            found, false = (np.append(0.0, np.cumsum(own))[at] for own in (tp, fp))
            precision[: len(at)] = np.divide(found, found + false, out=np.zeros(len(at)), where=found + false > 0)
            precision = np.maximum.accumulate(precision[::-1])[::-1]
        return Curve(tuple(precision.tolist()), truths)


class KittiResults(SubsetResults):
    """Results of KITTI's benchmark: AP of easy, moderate and hard objects, as mean over classes and per class."""

    settings: KittiSettings
    legend = LEGEND
    keeps_predictions = False

    def __init__(
        self,
        settings: KittiSettings,
        steps: Mapping[str, Mapping[Difficulty, Steps]],
        truth: Annotations,
        pred: Annotations,
        findings: Sequence[Finding] = (),
        remarks: Sequence[str] = (),
    ) -> None:
        """`steps` are by class and difficulty; `remarks` are notes about the files."""
        self.settings, self.steps, self.file_notes = settings, steps, list(remarks)
        self.curves = {name: {key: one.curve() for key, one in own.items()} for name, own in steps.items()}
        scores = {}
        for difficulty in DIFFICULTIES:
            known = [own[difficulty].average(settings.recalls) for own in self.curves.values()]
            known = [value for value in known if not isnan(value)]
            scores[f"AP_{difficulty}"] = (
                _core.mean(known) if known else nan,
                settings.signature("kitti_ap", difficulty=difficulty),
            )
        super().__init__(
            protocol="kitti", signature=settings.signature("kitti"), scores=scores, truth=truth, pred=pred,
            name=settings.name, findings=findings,
        )  # fmt: skip

    @property
    def class_names(self) -> list[str]:
        return list(self.curves)

    def class_scores(self) -> dict[str, list[float]]:
        recalls = self.settings.recalls
        return {
            f"AP_{difficulty}": [own[difficulty].average(recalls) for own in self.curves.values()]
            for difficulty in DIFFICULTIES
        }

    def class_table(self) -> Table:
        """Return one row per class: AP of each difficulty, and how many objects count for each."""
        columns: dict[str, Sequence[Any]] = dict(self.class_scores())
        columns |= {
            f"truths {difficulty}": [own[difficulty].truths for own in self.curves.values()]
            for difficulty in DIFFICULTIES
        }
        mean = {key: score.value for key, score in self.scores.items()}
        return Table.of("class", self.class_names, columns, mean=mean)

    def curve_table(self) -> Table:
        """Return the precision at each of 41 recalls, of every class and difficulty."""
        columns = {
            f"{name} {difficulty}": list(curve.precision)
            for name, own in self.curves.items()
            for difficulty, curve in own.items()
        }
        return Table.of("recall", [f"{i / (POINTS - 1):.3f}" for i in range(POINTS)], columns)

    def part(self, about: Callable[[Labels], str]) -> EvaluationState:
        """Return the steps of all curves; each difficulty has a mark for every kind of step."""
        rows = [
            (k, d * len(KINDS) + kind, image, confidence)
            for k, own in self.steps_by_position
            for d, steps in enumerate(own.values())
            for kind, (image, confidence) in enumerate(steps.to_rows())
        ]
        label, mark = (np.repeat([row[i] for row in rows], [len(row[2]) for row in rows]) for i in (0, 1))
        image, value = (np.concatenate([np.empty(0), *(row[i] for row in rows)]) for i in (2, 3))
        truths = [[(k, own[key].truth_image) for k, own in self.steps_by_position] for key in DIFFICULTIES]
        cells = count_objects([by_class(own) for own in truths])
        kept = KeptRows(label, image.astype(np.int64), value, mark[:, None] == np.arange(MARKS), *cells)
        return kept.part(about, self.truth, self.pred, PartialMetadata(remarks=tuple(self.file_notes)))

    @property
    def steps_by_position(self) -> list[tuple[int, Mapping[Difficulty, Steps]]]:
        """The steps of each class, by its position among the classes."""
        names = self.pred.labels.all_names
        return [(names.index(name), own) for name, own in self.steps.items()]

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: KittiSettings) -> KittiResults:
        """Return the results of merged partial results."""
        kept = KeptRows.of_merged(numbers, MARKS, len(DIFFICULTIES))
        truth, pred = numbers.truth, numbers.pred
        names = [name.casefold() for name in pred.labels.all_names]
        steps: dict[str, dict[Difficulty, Steps]] = {}
        for k in evaluated_classes(names, truth, settings, pred.labels.all_names):
            own, cells = kept.label == k, kept.cell_label == k
            steps[pred.labels.all_names[k]] = {
                difficulty: Steps.of_rows(
                    kept.image[own],
                    kept.value[own],
                    kept.marks[own, d * len(KINDS) : (d + 1) * len(KINDS)],
                    np.repeat(kept.cell_image[cells], kept.counts[cells, d]),
                )
                for d, difficulty in enumerate(DIFFICULTIES)
            }
        return cls(settings, steps, truth, pred, remarks=numbers.notes.remarks)

    def draw_class(self, name: str, score: str, weights: Floats) -> Floats:
        steps = self.steps[name][cast(Difficulty, score.removeprefix("AP_"))]
        return np.array([steps.curve(own).average(self.settings.recalls) for own in weights])

    def details(self) -> JsonObject:
        """Return AP of each difficulty; per class AP, numbers of objects and precision at 41 recalls."""
        recalls = self.settings.recalls
        classes = {
            name: {
                **{f"AP_{key}": curve.average(recalls) for key, curve in own.items()},
                "truths": {key: curve.truths for key, curve in own.items()},
                "precision": {key: list(curve.precision) for key, curve in own.items()},
            }
            for name, own in self.curves.items()
        }
        return {**{name: score.value for name, score in self.scores.items()}, "classes": classes}


@protocol(
    KittiSettings,
    examples="""
verite kitti label_2/ predictions/
verite kitti label_2/ predictions/ --class Car --recalls 11
verite kitti label_2/ a/ b/ --json""",
)
def kitti(truth: Annotations, pred: Annotations, settings: KittiSettings) -> KittiResults:
    """KITTI 2-D detection: AP of easy, moderate and hard objects.

    Cars must overlap by more than 0.7, pedestrians, cyclists and other classes by more than 0.5. Objects outside a
    difficulty's limits of height, occlusion and truncation are ignored, as are neighbouring classes (Van, sitting
    persons) and predictions lower than the minimum height. Predictions that lie in a DontCare region by more than the
    same share of their area are ignored. Where the ground truth has cars, pedestrians or cyclists, these classes are
    evaluated; else all classes are.

    References
    ----------
    Geiger et al., Are We Ready for Autonomous Driving? The KITTI Vision Benchmark Suite, CVPR 2012.
    Simonelli et al., Disentangling Monocular 3D Object Detection, ICCV 2019 (40 recalls).

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "a"], ["Car", "Car"], [[0, 0, 80, 60], [100, 0, 180, 60]])
    >>> pred = vt.Annotations.of(["a"], ["Car"], [[0, 0, 80, 60]], confidence=[0.9])
    >>> results = vt.kitti(truth, pred)
    >>> results["AP_moderate"].value
    0.0
    """
    truth, pred, findings = prepare(truth, pred, settings.checks, measures="boxes")
    need_pixels(truth, "the heights of easy, moderate and hard objects")
    settings.check_labels(pred.labels.all_names)
    remarks: list[str] = []
    truncation, occlusion = difficulty_columns(truth, settings, remarks)
    if settings.confidence is not None:
        _, pred = settings.change(labels=None).choose(truth, pred)
    names = [name.casefold() for name in pred.labels.all_names]
    regions = truth.flag("ignore_region") | (np.array([*names, ""])[truth.label] == "dontcare")
    pairs = OverlappingPairs.of(truth, pred, regions, settings)
    heights = truth.regions.boxes[:, 3] - truth.regions.boxes[:, 1]
    flagged = np.zeros(len(truth), dtype=np.bool_)
    for flag in FLAGS:
        flagged |= truth.flag(flag)
    beyond = {
        key: flagged | (occlusion > own.occlusion) | (truncation > own.truncation) | (heights <= own.height)
        for key, own in DIFFICULTIES.items()
    }
    steps = {
        pred.labels.all_names[k]: pairs.steps(k, names, settings.iou or IOU.get(names[k], 0.5), beyond)
        for k in evaluated_classes(names, truth, settings, pred.labels.all_names)
    }
    return KittiResults(settings, steps, truth, pred, findings, remarks)


def by_class(images: Sequence[tuple[int, NDArray[np.int64]]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return class and image of all objects, from the images of the objects of each class."""
    labels = np.repeat([k for k, _ in images], [len(own) for _, own in images])
    return labels.astype(np.int64), np.concatenate([np.empty(0, np.int64), *(own for _, own in images)])


def evaluated_classes(
    names: Sequence[str], truth: Annotations, settings: KittiSettings, given: Sequence[str]
) -> list[int]:
    """Return the positions of the classes to evaluate: the chosen ones, else KITTI's three, else all."""
    if settings.labels is not None:
        return [k for k, name in enumerate(given) if name in settings.labels]
    known = names[: len(truth.labels)]
    official = [known.index(name) for name in OFFICIAL if name in known]
    return official or [k for k, name in enumerate(known) if name != "dontcare"]


@dataclass(frozen=True, eq=False)
class OverlappingPairs:
    """Pairs of any classes with an IoU of 0.5 or the smallest threshold, by ground-truth object."""

    truth: Annotations
    pred: Annotations
    offsets: NDArray[np.int64]  # object i has the pairs offsets[i] to offsets[i + 1]
    row: NDArray[np.int64]  # the prediction of each pair, ascending within an object
    iou: Floats
    is_region: NDArray[np.bool_]  # ground truth that is a DontCare region
    region_share: Floats  # of each prediction: the largest share of its area in one of them

    @classmethod
    def of(
        cls, truth: Annotations, pred: Annotations, is_region: NDArray[np.bool_], settings: KittiSettings
    ) -> OverlappingPairs:
        """Find the pairs once for all classes and difficulties."""
        least = min(settings.iou or 0.5, 0.5)
        rules = Rules((least,), "corner_box", class_agnostic=True, orders_by_class=False, allow_unknown_classes=True)
        threads = thread_count(settings.threads)
        layout = Evaluation(truth, pred, rules, threads).layout
        offsets, truths, iou = layout.candidates
        rows = layout.preds[0][np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))].astype(np.int64)
        owner = layout.truths[0][truths].astype(np.int64)
        order = np.argsort(owner * max(len(pred), 1) + rows)
        starts = np.append(0, np.cumsum(np.bincount(owner, minlength=len(truth))))
        share = np.zeros(len(pred))
        if is_region.any():
            regions = truth.where(is_region)
            regions = replace(regions, flags={"crowd": np.ones(len(regions), dtype=np.bool_)}, verdicts=None)
            own = replace(rules, similarity="box", ignored=("crowd",), shared=("crowd",))
            share = np.nan_to_num(Evaluation(regions, pred, own, threads).outcomes().overlap)
        return cls(truth, pred, starts, rows[order], iou[order], is_region, share)

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The pairs, and what matters of each prediction, as the core takes them."""
        pred, boxes = self.pred, self.pred.regions.boxes
        confidence = np.ones(len(pred))
        if pred.confidence is not None:
            confidence = np.ascontiguousarray(pred.confidence, dtype=np.float64)
        return {
            "offsets": self.offsets.astype(np.int64),
            "pred": self.row,
            "iou": self.iou,
            "label": np.ascontiguousarray(pred.label, dtype=np.int32),
            "height": np.abs(boxes[:, 3] - boxes[:, 1]),
            "region_share": self.region_share,
            "confidence": confidence,
            "order": np.argsort(-confidence).astype(np.int64),
            "image": np.ascontiguousarray(pred.image, dtype=np.int32),
        }

    def steps(
        self, k: int, names: Sequence[str], least: float, beyond: Mapping[Difficulty, Bools]
    ) -> dict[Difficulty, Steps]:
        """Return true and false positives of one class for each difficulty.

        Parameters
        ----------
        k, names
            Position of the class, and the names of all in small letters.
        least
            IoU, and share of a region, above which pairs count.
        beyond
            The objects outside the limits of each difficulty.
        """
        beside = NEIGHBOURS.get(names[k])
        roles = np.array([0 if i == k else 1 if name == beside else -1 for i, name in enumerate(names)], np.int8)
        role = roles[self.truth.label]
        role[self.is_region] = -1
        found = _core.kitti_steps(
            **self.columns,
            role=role,
            own_label=k,
            least=least,
            is_beyond=[own.astype(np.uint8) for own in beyond.values()],
            least_heights=[DIFFICULTIES[key].height for key in beyond],
        )
        images = [self.truth.image[(role == 0) & ~own].astype(np.int64) for own in beyond.values()]
        return {key: Steps(*own, image) for key, own, image in zip(beyond, found, images, strict=True)}


def difficulty_columns(truth: Annotations, settings: KittiSettings, remarks: list[str]) -> tuple[Floats, Floats]:
    """Return the truncated share and the level of occlusion of each object: given, of the file, or 0 with a remark.

    Raises
    ------
    DataError
        If there are not as many numbers as objects.
    """
    from verite.formats.coco import read_annotation_records
    from verite.formats.kitti import read_difficulties

    found = [settings.truncation, settings.occlusion]
    if any(one is None for one in found) and len(truth):
        if truth.source.format == "kitti":
            of_file: Sequence[Any] = read_difficulties(truth)
        else:
            records = read_annotation_records(truth.source, (*TRUNCATION, *OCCLUSION)) if truth.ids is not None else {}
            ids = [] if truth.ids is None else truth.ids.tolist()
            of_file = [column_of(records, ids, keys) for keys in (TRUNCATION, OCCLUSION)]
        found = [own if own is not None else given for own, given in zip(found, of_file, strict=True)]
    missing = [name for name, own in zip(("truncation", "occlusion"), found, strict=True) if own is None]
    if missing and len(truth):
        remarks.append(f"the ground truth has no {' and '.join(missing)}: taken as 0 for every object")
    columns = [np.zeros(len(truth)) if own is None else np.asarray(own, dtype=np.float64) for own in found]
    for name, column in zip(("truncation", "occlusion"), columns, strict=True):
        if len(column) != len(truth):
            raise DataError(f"{name}: expected {len(truth):,} numbers, one per object, found {len(column):,}")
    return columns[0], columns[1]


def column_of(records: Mapping[Any, Mapping[str, Any]], ids: Sequence[Any], keys: Sequence[str]) -> list[float] | None:
    """Return a number of each annotation by the first key that it has; None if none has it."""
    if not records:
        return None
    values = []
    for id in ids:
        record = records.get(id, {})
        own = next((record[key] for key in keys if isinstance(record.get(key), (int, float))), None)
        values.append(own)
    if not values or all(value is None for value in values):
        return None
    return [inf if value is None else float(value) for value in values]
