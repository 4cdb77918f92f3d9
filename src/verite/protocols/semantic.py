"""Semantic segmentation protocol: mIoU, pixel accuracy and Dice from confusion counts of pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from verite.arrays import np
from verite.errors import BadParameter, DataError, excerpt
from verite.evaluation.bootstrap import widen
from verite.evaluation.prepare import prepare
from verite.evaluation.settings import THREADS, ClassSettings
from verite.limits import limit, remedy
from verite.model.annotations import Annotations, Source
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.regions import Regions
from verite.model.results import Results
from verite.model.tables import Part, Table
from verite.protocols.panoptic import add_up, blocks, join_classes, overlaps
from verite.protocols.protocol import protocol, signature_with_settings
from verite.settings import Constant, Option, Setting
from verite.threads import thread_count

if TYPE_CHECKING:
    from inspect import Signature

    from numpy.typing import NDArray

    from verite.files import JsonObject

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    from verite.model.annotations import Annotations
    from verite.model.classes import Labels


NOTHING = "nothing"  # what a pixel is predicted as that has no label, or an unknown one


@dataclass(frozen=True, eq=False)
class ClassPixels:
    """Pixels of each class: correct ones, those of the ground truth, and those predicted within the ground truth.

    Classes are the last axis; there may be a row for each image or draw.
    """

    right: NDArray[Any]
    truth: NDArray[Any]
    pred: NDArray[Any]

    def measures(self) -> dict[str, Floats]:
        """Return IoU, accuracy and Dice per class; NaN where the divisor is 0."""
        right, truth, pred = self.right, self.truth, self.pred
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                "IoU": right / (truth + pred - right),
                "acc": right / truth,
                "Dice": 2 * right / (truth + pred),
            }

    def means(self, kept: Sequence[int]) -> dict[str, Floats]:
        """Return the means over these classes without NaN, fwIoU and aAcc."""
        found = {name: values[..., kept] for name, values in self.measures().items()}
        truth, right = self.truth[..., kept], self.right[..., kept]
        pixels = truth.sum(axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                "mIoU": mean_known(found["IoU"]),
                "fwIoU": (truth * np.nan_to_num(found["IoU"])).sum(axis=-1) / pixels,
                "mAcc": mean_known(found["acc"]),
                "aAcc": right.sum(axis=-1) / pixels,
                "Dice": mean_known(found["Dice"]),
            }


@dataclass(frozen=True, eq=False)
class PixelCounts:
    """Pixels by their class in the ground truth and in the prediction: the pairs of classes that occur, so that memory
    follows the pixels and not the square of the number of classes.
    """

    size: int  # how many classes there are
    pairs: Ints  # class in the ground truth × (size + 1) + class in the prediction, rising; the last is nothing
    pixels: Ints

    @classmethod
    def none(cls, classes: int) -> PixelCounts:
        return cls(classes, np.empty(0, np.int64), np.empty(0, np.int64))

    def __add__(self, other: PixelCounts) -> PixelCounts:
        pairs, pixels = (np.concatenate([getattr(one, key) for one in (self, other)]) for key in ("pairs", "pixels"))
        return PixelCounts(self.size, *add_up(pairs, pixels, self.size * (self.size + 1)))

    @property
    def truth(self) -> Ints:
        """Ground-truth class of each pair."""
        return self.pairs // (self.size + 1)

    @property
    def pred(self) -> Ints:
        """Predicted class of each pair; `size` is no class."""
        return self.pairs % (self.size + 1)

    def among(self, rows: Sequence[int]) -> Ints:
        """[class, class + 1] of some classes; the last column has what was predicted as anything else."""
        cells = len(rows) * (len(rows) + 1)
        if cells > limit("confusion_cells"):
            raise DataError(
                f"confusion: expected at most {limit('confusion_cells'):,} pairs of classes in a table, found "
                f"{cells:,} of {len(rows):,} classes; {remedy('confusion_cells')}"
            )
        place = np.full(self.size + 1, len(rows), dtype=np.int64)
        place[list(rows)] = np.arange(len(rows))
        truth, pred = place[self.truth], place[self.pred]
        kept = truth < len(rows)
        found: Ints = np.zeros((len(rows), len(rows) + 1), dtype=np.int64)
        np.add.at(found, (truth[kept], pred[kept]), self.pixels[kept])
        return found

    @property
    def matrix(self) -> Ints:
        """[class, class + 1]: ground truth in rows, predictions in columns, of which the last is nothing."""
        return self.among(range(self.size))

    @property
    def classes(self) -> ClassPixels:
        truth, pred = self.truth, self.pred
        return ClassPixels(
            self.sum_by(truth[truth == pred], truth == pred), self.sum_by(truth), self.sum_by(pred)[: self.size]
        )

    def sum_by(self, classes: Ints, kept: NDArray[np.bool_] | slice = slice(None)) -> Ints:
        """Return the pixels of each class, over all pairs or some."""
        return np.bincount(classes, weights=self.pixels[kept], minlength=self.size).astype(np.int64)


def mean_known(values: Floats) -> Floats:
    """Return the mean along the last axis without NaN."""
    is_known = ~np.isnan(values)
    count = is_known.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(is_known, values, 0.0).sum(axis=-1) / count)


def count_pixels(truth: Ints, pred: Ints, classes: int, weights: NDArray[np.integer] | None = None) -> PixelCounts:
    """Count pixels by their classes on both sides; truth outside 0 … classes - 1 is ignored, such a pred is no class.

    >>> count_pixels(np.array([0, 1, 1, 9]), np.array([0, 0, 7, 0]), 2).matrix
    array([[1, 0, 0],
           [1, 0, 1]])
    """
    kept = (truth >= 0) & (truth < classes)
    mine, theirs = truth[kept].astype(np.int64), pred[kept].astype(np.int64)
    theirs = np.where((theirs >= 0) & (theirs < classes), theirs, classes)
    shares = None if weights is None else weights[kept]
    return PixelCounts(classes, *add_up(mine * (classes + 1) + theirs, shares, classes * (classes + 1)))


MEASURES = {"mIoU": "IoU", "fwIoU": "IoU", "mAcc": "acc", "aAcc": "acc", "Dice": "Dice"}

MOST_CONFUSED = 12  # classes whose confusion is printed; the JSON document and `-o` have all


class IgnoreIndex(Setting[int | None, int | None]):
    """A value of label images to ignore; below 0: every value counts."""

    kind = "whole"

    def validate(self, value: Any) -> int:
        try:
            number = int(value)
        except (TypeError, ValueError, OverflowError):
            raise self.refuse("a whole number", repr(value)) from None
        if number != value and str(number) != str(value):
            raise self.refuse("a whole number", repr(value))
        return number


class SemanticSettings(ClassSettings):
    on = Constant("pixel")
    ignore = IgnoreIndex(
        255, "Ground-truth pixels with this value (class id) are ignored; -1: ignore none.", metavar="VALUE"
    )
    void = Constant("left out")
    threads: Option[int | None] = THREADS


class SemanticResults(Results):
    """Results of the semantic protocol: IoU, accuracy and Dice over all classes and per class, with pixel counts."""

    def __init__(
        self,
        settings: SemanticSettings,
        counts: PixelCounts,
        truth: Annotations,
        pred: Annotations,
        findings: Sequence[Any] = (),
        images: ClassPixels | None = None,
    ) -> None:
        """`images` are the pixel counts per image, [image, class]."""
        self.settings, self.counts, self.images = settings, counts, images
        self.rows = find_rows(pred.labels, settings)
        found = {name: float(value) for name, value in counts.classes.means(self.rows).items()}
        super().__init__(
            protocol="semantic",
            signature=settings.signature("semantic"),
            scores={name: (value, settings.signature(name.lower())) for name, value in found.items()},
            truth=truth,
            pred=pred,
            name=settings.name,
            findings=findings,
        )

    @property
    def by_class(self) -> dict[str, NDArray[np.float64]]:
        """Return IoU, accuracy and Dice of every class."""
        return self.counts.classes.measures()

    @property
    def class_names(self) -> list[str]:
        return [self.pred.labels.name(i) for i in self.rows]

    def class_scores(self) -> dict[str, list[float]]:
        found = self.by_class
        return {score: found[measure][self.rows].tolist() for score, measure in MEASURES.items()}

    def class_table(self) -> Table:
        """Return IoU, accuracy, Dice and ground-truth pixels per class, and below them the means."""
        columns: dict[str, list[Any]] = {name: v[self.rows].tolist() for name, v in self.by_class.items()}
        columns["pixels"] = self.counts.classes.truth[self.rows].tolist()
        scores = {name: score.value for name, score in self.scores.items()}
        mean = {"IoU": scores["mIoU"], "acc": scores["mAcc"], "Dice": scores["Dice"], "pixels": sum(columns["pixels"])}
        return Table.of("class", self.class_names, columns, mean=mean)

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Confusion matrix of pixels: ground truth in rows, prediction in columns; the last column is no class."""
        return self.counts.among(self.rows)

    def confusion_table(self) -> Table:
        """Return the confusion matrix as a table."""
        columns = [*self.class_names, NOTHING]
        confusion = self.confusion
        table = {name: confusion[:, j].tolist() for j, name in enumerate(columns)}
        return Table.of("truth \\ pred", self.class_names, table)

    def image_table(self) -> Table:
        """Return the pixel accuracy of each image, the worst first."""
        order = self.worst_images()
        names = [self.truth.images.name(i) for i in order]
        pixels, right = (counted[order] for counted in self.image_pixels())
        return Table.of("image", names, {"right": (right / pixels).tolist(), "pixels": pixels.tolist()})

    def image_pixels(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Number of pixels of each image that count, and how many of them are correct."""
        assert self.images is not None
        pixels, right = (counted[:, self.rows].sum(axis=1) for counted in (self.images.truth, self.images.right))
        return pixels, right

    def draw_scores(
        self, scores: Sequence[str], weights: NDArray[np.float64], label: str | None = None
    ) -> NDArray[np.float64]:
        """Return scores on bootstrap samples of the images, [sample, score]."""
        if self.images is None:
            raise BadParameter("resample: expected an evaluation that knows its images, found counts of batches")
        weights = widen(weights, len(self.images.right))
        drawn = ClassPixels(*(weights @ getattr(self.images, name) for name in ("right", "truth", "pred")))
        if label is not None:
            row, found = self.rows[self.class_names.index(label)], drawn.measures()
            return np.stack([found[MEASURES[self[score].name]][:, row] for score in scores], axis=1)
        means = drawn.means(self.rows)
        return np.stack([means[self[score].name] for score in scores], axis=1)

    def worst_images(self) -> list[int]:
        """Return the images with pixels that count, the lowest pixel accuracy first."""
        if self.images is None:
            return []
        pixels, right = self.image_pixels()
        there = np.flatnonzero(pixels > 0)
        share = right[there] / pixels[there]
        found: list[int] = there[np.argsort(share, kind="stable")].tolist()
        return found

    def tables(self) -> dict[str, Table]:
        every = {"classes": self.class_table(), "confusion": self.confusion_table()}
        return every if self.images is None else {**every, "images": self.image_table()}

    def contents(self) -> list[Part]:
        first, *rest = super().contents()
        if 1 < len(self.rows) <= MOST_CONFUSED:
            rest.insert(1, self.confusion_table())
        return [first, *rest]

    def details(self) -> JsonObject:
        """Return the documented keys of the JSON: the five scores, every class, and the confusion matrix."""
        found, pixels = self.by_class, self.counts.classes.truth
        classes = {
            self.pred.labels.name(k): {**{m: float(v[k]) for m, v in found.items()}, "pixels": int(pixels[k])}
            for k in self.rows
        }
        confusion = {"labels": [*self.class_names, NOTHING], "matrix": self.confusion.tolist()}
        return {name: score.value for name, score in self.scores.items()} | {
            "classes": classes,
            "confusion": confusion,
        }


@protocol(
    SemanticSettings,
    files="TRUTH and PREDs are label images, folders of them, or any known format with masks",
    reading={"masks": "every"},
    examples="""
verite semantic SegmentationClass/ predictions/
verite semantic truth.png pred.png
verite semantic truth/ a/ b/ --names classes.txt --ignore 0
verite semantic truth/ pred/ -o results/                     confusion matrix, plots of the differences
verite semantic truth/ pred/ --json | jq .mIoU""",
)
def semantic(truth: Annotations, pred: Annotations, settings: SemanticSettings) -> SemanticResults:
    """mIoU, frequency-weighted IoU, mean and pixel accuracy and Dice of semantic segmentation.

    Pixels are counted over all images. For each class, IoU divides the pixels that both sides have by those that either
    has, accuracy divides them by those of the ground truth, and Dice twice them by the sum of both. mIoU, mAcc and Dice
    are means over the classes that occur; fwIoU weights each class by its pixels in the ground truth; aAcc is the share
    of correct pixels. Pixels of the ground truth without a class, or with the value `ignore`, are ignored; a pixel
    without a prediction is wrong.

    References
    ----------
    Long et al., Fully Convolutional Networks for Semantic Segmentation, CVPR 2015.

    Examples
    --------
    >>> import numpy as np
    >>> import verite as vt
    >>> results = vt.semantic(np.array([[0, 1, 1, 255]]), np.array([[0, 0, 1, 1]]))
    >>> results["mIoU"].value, round(results["aAcc"], 4)
    (0.5, 0.6667)
    """
    truth, pred, findings = prepare(truth, pred, settings.checks, is_ranked=False)
    settings.check_labels(pred.labels.all_names)
    # A class that only predictions have is wrong wherever it is, and counts.
    threads, classes = thread_count(settings.threads), len(pred.labels)
    (truth_masks, mine), (pred_masks, theirs) = join_classes(truth, threads), join_classes(pred, threads)
    is_left_out = find_ignored(pred.labels, settings)
    counts = PixelCounts.none(classes)
    images = np.zeros((3, max(len(truth.images), len(pred.images)), classes), dtype=np.int64)
    for rows in blocks(mine, theirs):
        shared = overlaps((truth_masks, pred_masks), rows, (mine, theirs))
        one, two = (np.append(side.label[r], -1)[at] for side, r, at in
                    ((mine, rows[0], shared.truth), (theirs, rows[1], shared.pred)))  # fmt: skip
        one = np.where((one >= 0) & is_left_out[one], -1, one)
        counts += count_pixels(one, two, classes, shared.pixels)
        where = np.append(mine.image[rows[0]], 0)[shared.truth]
        asked = one >= 0
        for table, label, kept in zip(images, (one, one, two), (asked & (one == two), asked, asked & (two >= 0)),
                                      strict=True):  # fmt: skip
            np.add.at(table, (where[kept], label[kept]), shared.pixels[kept])
    return SemanticResults(settings, counts, truth, pred, findings, ClassPixels(*images))


def find_rows(labels: Labels, settings: SemanticSettings) -> list[int]:
    """Return the positions of the classes that count, by id."""
    left_out = find_ignored(labels, settings)
    rows = [
        i
        for i in range(len(labels))
        if not left_out[i] and (settings.labels is None or labels.name(i) in settings.labels)
    ]
    return rows if labels.numbers is None else sorted(rows, key=labels.numbers.__getitem__)


def find_ignored(labels: Labels, settings: SemanticSettings) -> NDArray[np.bool_]:
    """Return which class is the ignored value."""
    ids = labels.ids
    return np.zeros(len(labels), np.bool_) if ids is None else np.asarray(ids == settings.ignore)


class SemanticEvaluator:
    """Semantic segmentation metrics in a training loop: counts the pixels of label maps batch by batch.

    Only the confusion counts are kept, so memory does not grow.

    Parameters
    ----------
    labels : sequence of str, mapping of int to str, or int
        Names of the classes, names by class number, or the number of classes.
    **settings
        Settings of :func:`verite.semantic`, such as `ignore`.

    Raises
    ------
    BadParameter
        If `labels` or a setting is out of its range.

    Examples
    --------
    >>> evaluator = SemanticEvaluator(labels=["sky", "sea"])
    >>> evaluator.update([[0, 1, 1]], [[0, 0, 1]])
    >>> round(evaluator.compute()["mIoU"], 4)
    0.5
    """

    __signature__: ClassVar[Signature]

    def __init__(self, *, labels: Sequence[str] | Mapping[int, str] | int, **settings: Any) -> None:
        if isinstance(labels, bool) or not isinstance(labels, (int, Mapping, Sequence)):
            raise BadParameter(f"labels: expected names of classes, or how many there are, found {excerpt(labels)}")
        if isinstance(labels, int):
            if labels < 1:
                raise BadParameter(f"labels: expected a number of classes from 1 up, found {labels}")
            if labels > limit("classes"):
                raise BadParameter(
                    f"labels: expected at most {limit('classes'):,} classes, found {labels:,}; {remedy('classes')}"
                )
            self.labels = Labels(None, range(labels))
        else:
            names = dict(labels) if isinstance(labels, Mapping) else dict(enumerate(labels))
            self.labels = Labels(list(names.values()), list(names))
        self.settings = SemanticSettings(**settings)
        self.reset()

    def reset(self) -> None:
        """Set all counts to 0."""
        self.counts, self.images = PixelCounts.none(len(self.labels)), 0

    def __len__(self) -> int:
        """Return the number of images."""
        return self.images

    def update(self, preds: Any, targets: Any) -> None:
        """Add the label maps of a batch.

        Parameters
        ----------
        preds, targets : array-like of int, shape (rows, columns) or (images, rows, columns)
            Class number of each pixel: arrays of numpy or torch, or anything that numpy takes.

        Raises
        ------
        BadParameter
            If the shapes differ, or values are no integers.
        DataError
            If a target has an unknown class.
        """
        mine, theirs = as_maps(targets, "targets"), as_maps(preds, "preds")
        if mine.shape != theirs.shape:
            raise BadParameter(f"update: expected preds of the targets' shape {mine.shape}, found {theirs.shape}")
        classes = len(self.labels)
        left_out = mine == self.settings.ignore
        one, two = self.positions(mine, left_out), self.positions(theirs, None)
        found = count_pixels(np.where(left_out, -1, one).ravel(), two.ravel(), classes)
        self.counts, self.images = self.counts + found, self.images + (len(mine) if mine.ndim == 3 else 1)

    def positions(self, values: NDArray[Any], left_out: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Return the class of each pixel, -1 for none; targets must have known classes only."""
        ids = np.array(self.labels.numbers, dtype=np.int64)
        order = np.argsort(ids)
        at = order[np.minimum(np.searchsorted(ids, values, sorter=order), len(ids) - 1)]
        is_known = ids[at] == values
        if left_out is not None and not (is_known | left_out).all():
            odd = values[~(is_known | left_out)].flat[0]
            raise DataError(
                f"targets: expected one of {len(ids)} classes or {self.settings.ignore}, which is ignored, found {odd}"
            )
        return np.where(is_known, at, -1)

    def merge(self, other: SemanticEvaluator) -> None:
        """Add the counts of another evaluator, for example of another process.

        Raises
        ------
        BadParameter
            If settings or classes differ.
        """
        mine, theirs = ((e.labels.names, e.labels.numbers, e.settings) for e in (self, other))
        if mine != theirs:
            raise BadParameter("merge: expected an evaluator with the same settings and labels")
        self.counts, self.images = self.counts + other.counts, self.images + other.images

    def compute(self, *, name: str | None = None) -> SemanticResults:
        """Return the results of all label maps so far; more may be added afterwards. `name` is the detector's."""
        empty = Annotations(
            images=Images([]),
            labels=self.labels,
            image=np.empty(0, np.int32),
            label=np.empty(0, np.int32),
            regions=Regions(np.empty((0, 4))),
            source=Source(path=name or "", format="part"),
        )
        settings = self.settings.change(name=name or self.settings.name or "evaluator")
        return SemanticResults(settings, self.counts, empty, empty)


SemanticEvaluator.__signature__ = signature_with_settings(
    SemanticEvaluator.__init__, SemanticSettings, omit=("executor", "parts")
)


def as_maps(given: Any, what: str) -> NDArray[Any]:
    """Return label maps as an array of integers with two or three dimensions."""
    given = given.detach().cpu() if hasattr(given, "detach") else given
    try:
        array = np.asarray(given)
    except ValueError:
        raise BadParameter(f"{what}: expected maps of one size, found several; update image by image") from None
    if array.dtype.kind not in "biu":
        raise BadParameter(f"{what}: expected whole numbers, found {array.dtype}; take argmax of scores first")
    if array.ndim not in (2, 3):
        raise BadParameter(f"{what}: expected [row, column] or [image, row, column], found {array.ndim} dimensions")
    return array
