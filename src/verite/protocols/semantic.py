"""Semantic segmentation: how many pixels have the right class, class by class and together?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter
from verite.evaluation.prepare import prepare
from verite.evaluation.redrawing import widen
from verite.evaluation.settings import THREADS, ClassSettings
from verite.model.display import Part
from verite.model.results import Results
from verite.model.tables import Table
from verite.protocols.confusion_counts import NOTHING, ClassPixels, PixelCounts, count_pixels
from verite.protocols.protocol import protocol
from verite.protocols.shared_pixels import blocks, join_classes, overlaps
from verite.settings import Fact, Option, Setting
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations
    from verite.model.labels import Labels

MEASURES = {"mIoU": "IoU", "fwIoU": "IoU", "mAcc": "acc", "aAcc": "acc", "Dice": "Dice"}
MOST_CONFUSED = 12  # classes whose confusion is printed; the JSON document and `-o` have all


class IgnoreIndex(Setting[int | None, int | None]):
    """A value of label images; below 0: every value counts."""

    kind = "whole"

    def hold(self, value: Any) -> int:
        try:
            number = int(value)
        except (TypeError, ValueError, OverflowError):
            raise self.refuse("a whole number", repr(value)) from None
        if number != value and str(number) != str(value):
            raise self.refuse("a whole number", repr(value))
        return number


class SemanticSettings(ClassSettings):
    on = Fact("pixel")
    ignore = IgnoreIndex(
        255, "Pixels of the truth with this value (class id) count for nobody; -1: all count.", metavar="VALUE"
    )
    void = Fact("left out")
    threads: Option[int | None] = THREADS


class SemanticResults(Results):
    """IoU, accuracy and Dice over all classes and for each, with the pixels of every class that they come from."""

    def __init__(
        self,
        settings: SemanticSettings,
        counts: PixelCounts,
        truth: Annotations,
        pred: Annotations,
        findings: Sequence[Any] = (),
        images: ClassPixels | None = None,
    ) -> None:
        """`images` has the pixels of each image, [image, class]."""
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
        """IoU, accuracy and Dice of every class."""
        return self.counts.classes.measures()

    @property
    def class_names(self) -> list[str]:
        return [self.pred.labels.name(i) for i in self.rows]

    def class_scores(self) -> dict[str, list[float]]:
        found = self.by_class
        return {score: found[measure][self.rows].tolist() for score, measure in MEASURES.items()}

    def class_table(self) -> Table:
        """The measures of each class and its pixels in the truth; below them the means."""
        columns: dict[str, list[Any]] = {name: v[self.rows].tolist() for name, v in self.by_class.items()}
        columns["pixels"] = self.counts.classes.truth[self.rows].tolist()
        scores = {name: score.value for name, score in self.scores.items()}
        mean = {"IoU": scores["mIoU"], "acc": scores["mAcc"], "Dice": scores["Dice"], "pixels": sum(columns["pixels"])}
        return Table.of("class", self.class_names, columns, mean=mean)

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Pixels by their class in the truth (rows) and in the prediction (columns); the last column is the rest."""
        chosen = self.counts.matrix[self.rows]
        among = chosen[:, self.rows]
        return np.concatenate([among, (chosen.sum(axis=1) - among.sum(axis=1))[:, None]], axis=1)

    def confusion_table(self) -> Table:
        """Where the pixels of each class went."""
        columns = [*self.class_names, NOTHING]
        table = {name: self.confusion[:, j].tolist() for j, name in enumerate(columns)}
        return Table.of("truth \\ pred", self.class_names, table)

    def image_table(self) -> Table:
        """The share of right pixels of each image, the worst first."""
        order = self.worst_images()
        names = [self.truth.images.name(i) for i in order]
        pixels, right = (counted[order] for counted in self.image_pixels())
        return Table.of("image", names, {"right": (right / pixels).tolist(), "pixels": pixels.tolist()})

    def image_pixels(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many pixels of each image are judged, and how many of them are right."""
        assert self.images is not None
        pixels, right = (counted[:, self.rows].sum(axis=1) for counted in (self.images.truth, self.images.right))
        return pixels, right

    def draw_scores(
        self, scores: Sequence[str], weights: NDArray[np.float64], label: str | None = None
    ) -> NDArray[np.float64]:
        """These scores if every image were there so many times, [draw, score]."""
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
        """The images that have pixels to be judged, the smallest share of right ones first."""
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

    def details(self) -> dict[str, Any]:
        """The documented keys: the five numbers, every class, and the confusion they come from."""
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
verite semantic truth/ pred/ -o results/                     confusion and drawn differences
verite semantic truth/ pred/ --json | jq .mIoU""",
)
def semantic(truth: Annotations, pred: Annotations, settings: SemanticSettings) -> SemanticResults:
    """mIoU, frequency-weighted IoU, mean and pixel accuracy and Dice of semantic segmentation.

    Pixels are counted over all images: of each class those that both sides have, over those that either has (IoU), over
    those of the truth (accuracy), and twice over the sum of both (Dice). mIoU, mAcc and Dice are means over the classes
    that occur; fwIoU weighs each class by its pixels in the truth; aAcc is the share of right pixels. Pixels of the
    truth without a class, or with the value `ignore`, are left out; a pixel without a prediction is wrong.

    Long et al., Fully Convolutional Networks for Semantic Segmentation, CVPR 2015.

    >>> import numpy as np
    >>> import verite as vt
    >>> found = vt.semantic(np.array([[0, 1, 1, 255]]), np.array([[0, 0, 1, 1]]))
    >>> {name: score.value for name, score in found.scores.items() if name in ("mIoU", "aAcc")}
    {'mIoU': 0.5, 'aAcc': 0.6666666666666666}
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
    """The positions of the classes that count, by their ids."""
    left_out = find_ignored(labels, settings)
    rows = [
        i
        for i in range(len(labels))
        if not left_out[i] and (settings.labels is None or labels.name(i) in settings.labels)
    ]
    return rows if labels.numbers is None else sorted(rows, key=labels.numbers.__getitem__)


def find_ignored(labels: Labels, settings: SemanticSettings) -> NDArray[np.bool_]:
    """Which classes are the value that is left out."""
    ids = labels.ids
    return np.zeros(len(labels), np.bool_) if ids is None else np.asarray(ids == settings.ignore)
