"""WIDER FACE: AP of the easy, medium and hard faces, at 1,000 thresholds of the normalised confidence.

The rules are those of the official evaluation (`wider_eval.m`): each prediction belongs to the face of highest IoU;
faces outside a subset are ignored together with the predictions that belong to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.arrays import np
from verite.checks import stop_on_errors
from verite.errors import BadParameter, DataError, ReadError, excerpt, spell_option
from verite.evaluation.evaluation import Evaluation, Rules
from verite.evaluation.kept_rows import MOST_COUNTS, KeptRows, count_objects, unlike
from verite.evaluation.prepare import need_pixels, prepare
from verite.evaluation.settings import IGNORE_REGIONS, THREADS, RankedSettings
from verite.evaluation.state import PartialMetadata
from verite.files import find_path
from verite.model.tables import Legend, Table
from verite.protocols.protocol import protocol
from verite.protocols.subset_results import SubsetResults
from verite.settings import FileOrContent, Number, Option, Setting
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.checks import Finding
    from verite.evaluation.partial import MergedNumbers
    from verite.evaluation.state import EvaluationState
    from verite.files import JsonObject
    from verite.model.annotations import Annotations
    from verite.model.classes import Labels

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

Subset = Literal["easy", "medium", "hard"]
SUBSETS: tuple[Subset, ...] = ("easy", "medium", "hard")
THRESHOLDS = 1000
FLAGS = ("ignore", "crowd", "difficult", "group_of", "ignore_region")
COLUMNS = ("image", "face", "subset")
LEGEND = Legend(
    "AP: area below the precision envelope over 1,000 thresholds of the confidence, which is scaled to 0 … 1 over all "
    "predictions. Faces outside a subset are ignored."
)


class WiderSettings(RankedSettings):
    """Settings of the WIDER FACE evaluation."""

    iou: Option[float] = Number(0.5, "IoU threshold of a match.", short="-t", least=0, most=1)
    lists: Setting[Any, Any] = FileOrContent(
        None,
        "Which faces are easy, medium and hard: the folder of wider_easy_val.mat …, or a table image,face,subset.",
        metavar="FOLDER|FILE",
        default_text="beside the ground truth; else all faces",
        is_common=True,
        omit_default=True,
    )
    threads: Option[int | None] = THREADS


@dataclass(frozen=True, eq=False)
class Curve:
    """Precision and recall of one class at 1,000 falling thresholds, and how many faces count."""

    precision: Floats
    recall: Floats
    truths: int

    @property
    def ap(self) -> float:
        """Area below the envelope of precision; nan without faces."""
        if not self.truths:
            return nan
        recall = np.concatenate([[0.0], self.recall, [1.0]])
        precision = np.concatenate([[0.0], self.precision, [0.0]])
        envelope = np.maximum.accumulate(precision[::-1])[::-1]
        return float(np.sum(np.diff(recall) * envelope[1:]))


@cache
def rising_thresholds() -> Floats:
    """Return the thresholds 0, 0.001 … 0.999."""
    return np.array([1 - i / THRESHOLDS for i in range(THRESHOLDS, 0, -1)])


@dataclass(frozen=True, eq=False)
class FaceOutcomes:
    """Predictions of one class and subset that count, those that are true positives, and the faces."""

    rows: NDArray[np.int64]  # predictions that are true or false positives
    is_hit: Bools  # whether each of them is a true positive
    truth_image: NDArray[np.int64]  # of each face that counts

    def curve(self, confidence: Floats, weights: Floats | None = None, images: Floats | None = None) -> Curve:
        """Return precision and recall at the thresholds 0.999, 0.998 … 0.

        Parameters
        ----------
        confidence
            Scaled confidence of every prediction.
        weights, images
            How often every prediction and every image counts; by default once.
        """
        own, truths = confidence[self.rows], len(self.truth_image)
        # The first threshold that a prediction reaches; those below 0 (of images without weight) reach none.
        place = THRESHOLDS - np.searchsorted(rising_thresholds(), own, side="right")
        weight = np.ones(len(own)) if weights is None else weights[self.rows]
        proposed, found = (
            np.cumsum(np.bincount(place[chosen], weights=weight[chosen], minlength=THRESHOLDS + 1))[:THRESHOLDS]
            for chosen in (slice(None), self.is_hit)
        )
        if images is not None:
            truths = int(images[self.truth_image].sum())
        precision = np.divide(found, proposed, out=np.zeros(THRESHOLDS), where=proposed > 0)
        return Curve(precision, found / max(truths, 1), truths)


class WiderResults(SubsetResults):
    """Results of WIDER FACE: AP of the easy, medium and hard faces (or of all), and the curves."""

    settings: WiderSettings
    legend = LEGEND

    def __init__(
        self,
        settings: WiderSettings,
        outcomes: Mapping[str, Mapping[str, FaceOutcomes]],
        truth: Annotations,
        pred: Annotations,
        findings: Sequence[Finding] = (),
        remarks: Sequence[str] = (),
        predictions: tuple[Floats | None, NDArray[np.integer[Any]]] | None = None,
    ) -> None:
        """`outcomes` are by subset and class; `remarks` are notes about the lists.

        `predictions` are the confidences and images of all predictions, where `pred` has none any more.
        """
        self.settings, self.outcomes, self.file_notes = settings, outcomes, list(remarks)
        self.confidence: Floats | None
        self.image: NDArray[np.integer[Any]]
        self.confidence, self.image = predictions or (pred.confidence, pred.image)
        confidence = scaled_confidences(self.confidence, len(self.image))
        self.curves = {
            subset: {name: one.curve(confidence) for name, one in own.items()} for subset, own in outcomes.items()
        }
        scores = {}
        for subset, own in self.curves.items():
            known = [curve.ap for curve in own.values() if curve.truths]
            value = _core.mean(known) if known else nan
            scores[score_of(subset)] = (value, settings.signature("wider_ap", subset=subset))
        super().__init__(
            protocol="wider", signature=settings.signature("wider"), scores=scores, truth=truth, pred=pred,
            name=settings.name, findings=findings,
        )  # fmt: skip

    @property
    def class_names(self) -> list[str]:
        return list(next(iter(self.curves.values())))

    def class_scores(self) -> dict[str, list[float]]:
        return {score_of(subset): [curve.ap for curve in own.values()] for subset, own in self.curves.items()}

    def class_table(self) -> Table:
        """Return one row per class: AP and number of faces of each subset."""
        columns: dict[str, Sequence[Any]] = dict(self.class_scores())
        columns |= {
            "truths" if subset == "all" else f"truths {subset}": [curve.truths for curve in own.values()]
            for subset, own in self.curves.items()
        }
        return Table.of(
            "class", self.class_names, columns, mean={key: score.value for key, score in self.scores.items()}
        )

    def curve_table(self) -> Table:
        """Return precision and recall of each subset and class at 1,000 thresholds."""
        columns = {
            f"{name} {subset} {what}": getattr(curve, what).tolist()
            for subset, own in self.curves.items()
            for name, curve in own.items()
            for what in ("precision", "recall")
        }
        return Table.of("threshold", [f"{1 - (i + 1) / THRESHOLDS:.3f}" for i in range(THRESHOLDS)], columns)

    def draw_class(self, name: str, score: str, weights: Floats) -> Floats:
        outcomes = self.outcomes[next(subset for subset in self.outcomes if score_of(subset) == score)][name]
        image = self.image
        found = np.empty(len(weights))
        for i, own in enumerate(weights):
            confidence = scaled_confidences(self.confidence, len(image), own[image] > 0)
            found[i] = outcomes.curve(confidence, own[image], own).ap
        return found

    def part(self, about: Callable[[Labels], str]) -> EvaluationState:
        """Return all predictions; each subset has two marks, for positives and for true positives."""
        if len(self.outcomes) > MOST_COUNTS:
            raise BadParameter(f"lists: expected at most {MOST_COUNTS} subsets, found {len(self.outcomes)}")
        marks = np.zeros((len(self.pred), 2 * len(self.outcomes)), dtype=np.bool_)
        faces = []
        for s, own in enumerate(self.outcomes.values()):
            for outcomes in own.values():
                marks[outcomes.rows, 2 * s] = True
                marks[outcomes.rows[outcomes.is_hit], 2 * s + 1] = True
            images = [outcomes.truth_image for outcomes in own.values()]
            labels = np.repeat(np.arange(len(images)), list(map(len, images)))
            faces.append((labels, np.concatenate([np.empty(0, np.int64), *images])))
        confidence = np.ones(len(self.pred)) if self.confidence is None else self.confidence
        kept = KeptRows(self.pred.label, self.image, confidence, marks, *count_objects(faces))
        notes = PartialMetadata(subsets=tuple(self.outcomes), remarks=tuple(self.file_notes))
        return kept.part(about, self.truth, self.pred, notes)

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: WiderSettings) -> WiderResults:
        """Return the results of merged partial results."""
        subsets = numbers.notes.subsets
        kept = KeptRows.of_merged(numbers, 2 * len(subsets), len(subsets))
        found: dict[str, dict[str, FaceOutcomes]] = {subset: {} for subset in subsets}
        for s, own in enumerate(found.values()):
            for k, name in enumerate(numbers.truth.labels.all_names):
                rows = np.flatnonzero((kept.label == k) & kept.marks[:, 2 * s])
                cells = kept.cell_label == k
                faces = np.repeat(kept.cell_image[cells], kept.counts[cells, s])
                own[name] = FaceOutcomes(rows, kept.marks[rows, 2 * s + 1], faces)
                if own[name].is_hit.sum() > len(faces):
                    raise unlike("no more true positives than faces")
        remarks, predictions = numbers.notes.remarks, (kept.value, kept.image)
        return cls(settings, found, numbers.truth, numbers.pred, remarks=remarks, predictions=predictions)

    def details(self) -> JsonObject:
        """Return AP of each subset, and per class AP and numbers of faces."""
        scores = self.class_scores()
        classes = {
            name: {
                **{key: values[k] for key, values in scores.items()},
                "truths": {subset: own[name].truths for subset, own in self.curves.items()},
            }
            for k, name in enumerate(self.class_names)
        }
        return {**{name: score.value for name, score in self.scores.items()}, "classes": classes}


def score_of(subset: str) -> str:
    """Return the name of a subset's score."""
    return "AP" if subset == "all" else f"AP_{subset}"


def wider_of_shard(truth: Annotations, pred: Annotations, settings: WiderSettings) -> WiderResults:
    """Return the results of a shard: images of the lists that it lacks belong to other shards."""
    return evaluate_faces(truth, pred, settings, is_shard=True)


@protocol(
    WiderSettings,
    of_shard=wider_of_shard,
    examples="""
verite wider ground_truth/ predictions/
verite wider wider_face_val_bbx_gt.txt predictions/ --lists ground_truth/
verite wider faces.json pred.json --lists subsets.csv""",
)
def wider(truth: Annotations, pred: Annotations, settings: WiderSettings) -> WiderResults:
    """WIDER FACE: AP of the easy, medium and hard faces.

    Confidences are scaled to 0 … 1 over all predictions. Each prediction belongs to the face of its image with the
    highest IoU, if that reaches 0.5; widths and heights count the last pixel, too. The first prediction of a face is a
    true positive, others are false positives. Predictions that belong to a face outside the subset are ignored.
    Precision and recall are read at 1,000 thresholds, AP is the area below the envelope.

    References
    ----------
    Yang et al., WIDER FACE: A Face Detection Benchmark, CVPR 2016.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "a"], ["face", "face"], [[0, 0, 10, 10], [50, 0, 60, 10]])
    >>> pred = vt.Annotations.of(["a"], ["face"], [[0, 0, 10, 10]], confidence=[0.9])
    >>> vt.wider(truth, pred)["AP"].value
    0.5
    """
    return evaluate_faces(truth, pred, settings)


def evaluate_faces(
    truth: Annotations, pred: Annotations, settings: WiderSettings, *, is_shard: bool = False
) -> WiderResults:
    """Return the results of a dataset or, if `is_shard`, of some images of the one that the lists describe."""
    truth, pred, findings = prepare(truth, pred, "warn" if settings.checks == "stop" else settings.checks)
    if settings.checks == "stop":
        # The official ground truth has a box with a negative height.
        serious = [finding for finding in findings if (finding.code, finding.side) != ("V106", "truth")]
        stop_on_errors(serious, {"truth": truth.source.path, "pred": pred.source.path})
    need_pixels(truth, "the +1 rule")
    members, remarks = subset_members(truth, settings.lists, is_shard=is_shard)
    if settings.labels is not None:
        settings.check_labels(truth.labels.all_names)
        is_chosen = np.isin(np.array([*truth.labels.all_names, ""])[truth.label], settings.labels)
        members = {subset: own[is_chosen] for subset, own in members.items()}
    truth, pred = settings.choose(truth, pred)
    is_ignored = np.zeros(len(truth), dtype=np.bool_)
    for flag in FLAGS:
        is_ignored |= truth.flag(flag)
    regions = {name: own for name, own in truth.flags.items() if name == "ignore_region"}
    rules = Rules(
        (settings.iou,), "corner_box", pixel=1.0, wants="best", equal="first", ignored=("ignore",),
        region_share=IGNORE_REGIONS.default,
    )  # fmt: skip
    found = {}
    for subset, own in members.items():
        # The lists say which faces count, whatever the files mark besides.
        flags = {"ignore": is_ignored if subset == "all" else ~own, **regions}
        outcomes = Evaluation(replace(truth, flags=flags), pred, rules, thread_count(settings.threads)).outcomes()
        rows, faces = (by_class(side.label, which, len(truth.labels)) for side, which in
                       ((pred, outcomes.state >= 0), (truth, outcomes.is_asked)))  # fmt: skip
        found[subset] = {
            name: FaceOutcomes(rows[k], outcomes.state[rows[k]] == 1, truth.image[faces[k]].astype(np.int64))
            for k, name in enumerate(truth.labels.all_names)
        }
    return WiderResults(settings, found, truth, pred, findings, remarks)


def by_class(labels: NDArray[np.int32], chosen: Bools, classes: int) -> list[NDArray[np.int64]]:
    """Return the positions of the chosen objects of each class.

    Parameters
    ----------
    labels
        Class of each object.
    chosen
        Which objects to list.
    classes
        Number of classes.

    Returns
    -------
    list[NDArray[np.int64]]
        One array per class, positions rising.
    """
    rows = np.flatnonzero(chosen)
    order = rows[np.argsort(labels[rows], kind="stable")]
    return np.split(order, np.searchsorted(labels[order], np.arange(1, classes)))


def scaled_confidences(confidence: Floats | None, count: int, chosen: Bools | None = None) -> Floats:
    """Return confidences scaled to 0 … 1 over the chosen predictions: from the lowest (at most 1) to the highest.

    Parameters
    ----------
    confidence
        Confidences of any range; None if the detector gives none.
    count
        Number of predictions, which is known without confidences.
    chosen
        Predictions that set the scale; None for all.

    Returns
    -------
    Floats
        Confidences as the reference normalises them before it sweeps 1,000 thresholds; 1 where all are equal.
    """
    if confidence is None or not count:
        return np.ones(count)
    own = confidence if chosen is None else confidence[chosen]
    low, high = min(float(own.min(initial=1.0)), 1.0), max(float(own.max(initial=0.0)), 0.0)
    return (confidence - low) / (high - low) if high > low else np.ones(count)


def subset_members(truth: Annotations, given: Any, *, is_shard: bool = False) -> tuple[dict[str, Bools], list[str]]:
    """Return for each subset which faces belong to it, and notes; all faces where there are no lists.

    If `is_shard`, images that the ground truth lacks are skipped.

    Raises
    ------
    DataError
        If a face of a list is not in the ground truth.
    ReadError
        If a list cannot be read.
    """
    place = Path(truth.source.path) if truth.source.path else None
    if given is None and place is not None and place.is_dir() and (place / mat_name("easy")).is_file():
        given = place
    if given is None:
        hint = f"{spell_option('lists', 'FOLDER')} with wider_easy_val.mat, wider_medium_val.mat and wider_hard_val.mat"
        return {"all": np.ones(len(truth), dtype=np.bool_)}, [f"all faces are one subset; {hint} gives the three"]
    own_images = {stem_of(truth.images.name(i)) for i in range(len(truth.images))} if is_shard else set()

    def in_shard(faces: Mapping[str, Any]) -> Mapping[str, Any]:
        return {name: own for name, own in faces.items() if stem_of(str(name)) in own_images} if is_shard else faces

    if isinstance(given, Mapping):
        return {str(name): rows_of(truth, name, in_shard(own)) for name, own in given.items()}, []
    path = find_path(given)
    lists = read_mats(path) if path.is_dir() else read_table(path)
    return {subset: rows_of(truth, subset, in_shard(lists.get(subset, {}))) for subset in SUBSETS}, []


def mat_name(subset: str) -> str:
    """Return the file name of an official list."""
    return f"wider_{subset}_val.mat"


def stem_of(name: str) -> str:
    """Return the name of an image without folders and suffix, by which lists and files agree."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return last[: -len(".jpg")] if last.lower().endswith(".jpg") else last


def rows_of(truth: Annotations, subset: str, faces: Mapping[str, Any]) -> Bools:
    """Return which objects a list contains: face numbers from 1 by image, in the order of the ground truth."""
    found = np.zeros(len(truth), dtype=np.bool_)
    order = np.argsort(truth.image, kind="stable")
    starts = np.searchsorted(truth.image[order], np.arange(len(truth.images) + 1))
    places = {stem_of(truth.images.name(i)): i for i in range(len(truth.images))}
    for name, numbers in faces.items():
        place = places.get(stem_of(str(name)))
        count = 0 if place is None else int(starts[place + 1] - starts[place])
        for number in np.asarray(numbers, dtype=np.int64).ravel().tolist():
            if place is None or not 1 <= number <= count:
                raise DataError(
                    f"lists: {subset}: expected face {number} of image {name!r} in the ground truth, found {count} "
                    "faces; is it that of the lists?"
                )
            found[order[starts[place] + number - 1]] = True
    return found


def read_mats(folder: Path) -> dict[str, dict[str, NDArray[Any]]]:
    """Return face numbers by subset and image from the official lists of a folder."""
    from verite.formats.mat_files import read_mat

    found: dict[str, dict[str, NDArray[Any]]] = {}
    for subset in SUBSETS:
        path = folder / mat_name(subset)
        if not path.is_file():
            raise ReadError(folder, expected=mat_name(subset), found="none; see the evaluation tools of WIDER FACE")
        content = read_mat(path)
        if "gt_list" not in content or "file_list" not in content:
            raise ReadError(path, expected="gt_list and file_list", found=", ".join(content) or "nothing")
        found[subset] = {
            name: faces
            for names, lists in zip(content["file_list"], content["gt_list"], strict=True)
            for name, faces in zip(names, lists, strict=True)
        }
    return found


def read_table(path: Path) -> dict[str, dict[str, list[int]]]:
    """Return face numbers by subset and image from a table image,face,subset; a harder subset holds the easier ones."""
    from verite.csv_files import read_csv

    found: dict[str, dict[str, list[int]]] = {subset: {} for subset in SUBSETS}
    for where, row in read_csv(path, "the columns image,face,subset", COLUMNS).records():
        subset, face = row["subset"], row["face"]
        if subset not in SUBSETS or not face.isdecimal():
            expected = f"a face number and one of {', '.join(SUBSETS)}"
            raise ReadError(where, expected=expected, found=excerpt(f"{face},{subset}"))
        for own in SUBSETS[SUBSETS.index(subset) :]:
            found[own].setdefault(row["image"], []).append(int(face))
    return found
