"""OC-cost (optimal correction cost): what it costs to correct the detections of an image into its ground truth.

Predictions and objects of an image are assigned one to one, whatever their classes, so that the sum of costs is least.
A pair costs its localization error (from GIoU) and classification error, an extra or missed object a fixed amount.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum, isnan, nan
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.evaluation.bootstrap import draw_ratio, widen
from verite.evaluation.kept_rows import KeptRows, count_objects, unlike
from verite.evaluation.prepare import prepare, probabilities
from verite.evaluation.settings import RankedSettings
from verite.model.images import known_images
from verite.model.results import Results
from verite.model.tables import Legend, Part, Table
from verite.progress import begin
from verite.protocols.protocol import protocol
from verite.settings import Constant, Number, Option

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.checks import Finding
    from verite.evaluation.partial import MergedNumbers
    from verite.evaluation.state import EvaluationState
    from verite.files import JsonObject
    from verite.model.annotations import Annotations
    from verite.model.classes import Labels

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

FLAGS = ("ignore", "crowd", "difficult", "group_of", "ignore_region")
BLOCK = 1 << 20  # pairs that are compared at a time
GAIN = 2.0**38  # whole numbers per unit of cost, in which assignments are compared
PAIR, EXTRA, MISSED = range(3)  # kinds of corrections
PARTS = ("localization", "classification", "extra", "missed")
LEGEND = Legend(
    "OC-cost: mean cost of correcting an image, 0 is perfect; localization, classification, extra (predictions without "
    "an object) and missed (objects without a prediction) add up to it. The cost of a class is the mean over its "
    "pairs, extra predictions and missed objects."
)


class CorrectionSettings(RankedSettings):
    """Settings of OC-cost."""

    on = Constant("box")
    balance: Option[float] = Number(
        0.5, "Weight of localization against classification in the cost of a pair (λ).", least=0, most=1
    )
    beta: Option[float] = Number(0.6, "Cost of an extra prediction or a missed object (β).", least=0, most=1)


@dataclass(frozen=True, eq=False)
class Corrections:
    """The corrections of all images: pairs, extra predictions and missed objects, a row each."""

    image: NDArray[np.integer[Any]]
    label: NDArray[np.integer[Any]]  # class of the object, or of an extra prediction
    costs: Floats  # [correction, 4]: localization, classification, extra, missed
    kind: NDArray[np.int8]  # 0 pair, 1 extra, 2 missed
    images: int
    preds: tuple[
        NDArray[np.integer[Any]], NDArray[np.integer[Any]]
    ]  # class and image of the prediction of each pair, in any order

    def by_image(self) -> Floats:
        """Return the cost of each image by parts, [image, 4]: the mean over its corrections; 0 without any."""
        counts = np.bincount(self.image, minlength=self.images)
        return self.sums(self.image, self.images) / np.maximum(counts, 1)[:, None]

    def sums(self, place: NDArray[np.integer[Any]], count: int) -> Floats:
        """Return the sums of each part of the costs by place, [place, 4], to the same bits for any order of rows."""
        found = []
        for own in self.costs.T:
            order = np.lexsort((own, place))
            found.append(np.bincount(place[order], weights=own[order], minlength=count))
        return np.stack(found, axis=1)

    def mean(self) -> Floats:
        """Return the mean cost of an image by parts, [4]; nan without objects."""
        if not (self.kind != EXTRA).any():
            return np.full(len(PARTS), nan)
        return np.array([fsum(own) for own in self.by_image().T.tolist()]) / self.images

    def count(self, classes: int) -> tuple[list[int], list[int]]:
        """Return the numbers of objects and of predictions of each class."""
        truths, extra = self.label[self.kind != EXTRA], self.label[self.kind == EXTRA]
        preds = np.concatenate([extra, self.preds[0]])
        return np.bincount(truths, minlength=classes).tolist(), np.bincount(preds, minlength=classes).tolist()

    def to_rows(self) -> KeptRows:
        """Return the rows of a partial result: the two costs of each pair, and numbers of other corrections."""
        pairs = np.flatnonzero(self.kind == PAIR)
        label, image = self.label[pairs], self.image[pairs]
        others = [(self.label[self.kind == kind], self.image[self.kind == kind]) for kind in (EXTRA, MISSED)]
        return KeptRows(
            np.tile(label, 2),
            np.tile(image, 2),
            self.costs[pairs, :2].T.ravel(),
            np.repeat(np.eye(2, dtype=np.bool_), len(pairs), axis=0),
            *count_objects([*others, self.preds]),
        )

    @classmethod
    def of_rows(cls, kept: KeptRows, images: int, beta: float) -> Corrections:
        """Return the corrections of merged partial results; which costs of a class and image are of one pair is lost.

        Raises
        ------
        DataError
            If the numbers of costs do not agree, or they are outside 0 … `beta`.
        """
        columns = []
        for part in range(2):
            own = np.flatnonzero(kept.marks[:, part])
            columns.append(own[np.lexsort((kept.image[own], kept.label[own]))])
        one, two = columns
        if len(one) != len(two) or not all((own[one] == own[two]).all() for own in (kept.label, kept.image)):
            raise unlike("two costs for each pair")
        pairs = np.stack([kept.value[one], kept.value[two]], axis=1)
        if ((kept.value < 0) | (kept.value > beta)).any():
            raise unlike(f"costs from 0 to {beta:g}")
        cells = [(np.repeat(kept.cell_label, own), np.repeat(kept.cell_image, own)) for own in kept.counts.T]
        (extra, extra_image), (missed, missed_image), preds = cells
        if len(preds[0]) != len(pairs):
            raise unlike("a prediction for each pair")
        lengths = len(pairs), len(extra), len(missed)
        costs = np.zeros((sum(lengths), 4))
        kind = np.repeat(np.array([PAIR, EXTRA, MISSED], dtype=np.int8), lengths)
        costs[: len(pairs), :2] = pairs
        costs[kind == EXTRA, 2] = costs[kind == MISSED, 3] = beta
        image, label = (np.concatenate(own) for own in ((kept.image[one], extra_image, missed_image),
                                                        (kept.label[one], extra, missed)))  # fmt: skip
        return cls(image, label, costs, kind, images, preds)


def generalized_iou(one: Floats, two: Floats) -> Floats:
    """Return GIoU of pairs of boxes [n, 4]: IoU minus the share of the enclosing box that neither covers.

    >>> generalized_iou(np.array([[0.0, 0, 2, 2]]), np.array([[1.0, 0, 3, 2]])).round(4)
    array([0.3333])
    """
    (left, top, right, bottom), (left2, top2, right2, bottom2) = one.T, two.T

    def area(across: Floats, down: Floats) -> Floats:
        return np.asarray(np.maximum(across, 0) * np.maximum(down, 0))

    inside = area(
        np.minimum(right, right2) - np.maximum(left, left2), np.minimum(bottom, bottom2) - np.maximum(top, top2)
    )
    union = area(right - left, bottom - top) + area(right2 - left2, bottom2 - top2) - inside
    hull = (np.maximum(right, right2) - np.minimum(left, left2)) * (np.maximum(bottom, bottom2) - np.minimum(top, top2))
    iou = np.divide(inside, union, out=np.zeros_like(union), where=union > 0)
    return np.asarray(iou - np.divide(hull - union, hull, out=np.zeros_like(hull), where=hull > 0))


def pairs_of_images(truth: Annotations, pred: Annotations, images: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield rows of all pairs of an object and a prediction of one image, for some images at a time."""
    orders = [np.argsort(side.image, kind="stable") for side in (truth, pred)]
    starts = [
        np.searchsorted(side.image[order], np.arange(images + 1))
        for side, order in zip((truth, pred), orders, strict=True)
    ]
    counts = [np.diff(own) for own in starts]
    upto = np.cumsum(counts[0] * counts[1])
    with begin("assigning", images, "images") as advance:
        first = 0
        while first < images:
            done = int(upto[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(upto, done + BLOCK, side="right")))
            own = np.arange(starts[0][first], starts[0][last])  # objects, by image
            image = truth.image[orders[0][own]]
            each = counts[1][image]  # predictions beside each object
            within = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
            yield (
                orders[0][np.repeat(own, each)].astype(np.int64),
                orders[1][np.repeat(starts[1][image], each) + within].astype(np.int64),
            )
            advance(last - first)
            first = last


def correct(truth: Annotations, pred: Annotations, images: int, balance: float, beta: float) -> Corrections:
    """Return the cheapest corrections of each image.

    A pair is corrected if that costs less than `beta`: in the authors' transport the mass that moves between the two
    dummies has the same cost.
    """
    confidence = probabilities(pred)
    boxes = [np.asarray(side.regions.boxes, dtype=np.float64) for side in (truth, pred)]
    found: list[tuple[Ints, Ints, Floats]] = []
    for one, two in pairs_of_images(truth, pred, images):
        place = balance * (1 - generalized_iou(boxes[0][one], boxes[1][two])) / 2
        same = truth.label[one] == pred.label[two]
        name = (1 - balance) * np.where(same, 1 - confidence[two], 1 + confidence[two]) / 2
        kept = np.flatnonzero(place + name < beta)
        gain = np.rint((beta - place - name)[kept] * GAIN).astype(np.int64)
        chosen = kept[_core.assign(one[kept], two[kept], gain, np.ones_like(gain), len(truth), len(pred))]
        found.append((one[chosen], two[chosen], np.stack([place, name], axis=1)[chosen]))
    nothing = np.empty(0, dtype=np.int64)
    one, two = (np.concatenate([nothing, *(own[k] for own in found)]) for k in (0, 1))
    costs = np.concatenate([np.empty((0, 2)), *(own[2] for own in found)])
    missed, extra = np.ones(len(truth), dtype=np.bool_), np.ones(len(pred), dtype=np.bool_)
    missed[one] = extra[two] = False
    rows = np.zeros((len(one) + int(extra.sum()) + int(missed.sum()), 4))
    rows[: len(one), :2] = costs
    rows[len(one) : len(one) + int(extra.sum()), 2] = beta
    rows[len(one) + int(extra.sum()) :, 3] = beta
    kind = np.repeat(np.array([PAIR, EXTRA, MISSED], dtype=np.int8), [len(one), int(extra.sum()), int(missed.sum())])
    image, label = (
        np.concatenate([of_truth[one], of_pred[extra], of_truth[missed]]).astype(np.int64)
        for of_truth, of_pred in ((truth.image, pred.image), (truth.label, pred.label))
    )
    preds = pred.label[two].astype(np.int64), pred.image[two].astype(np.int64)
    return Corrections(image, label, rows, kind, images, preds)


class CorrectionResults(Results):
    """Results: OC-cost as mean over images, its parts, and the cost by class and image; lower is better."""

    settings: CorrectionSettings
    keeps_predictions = False

    def __init__(
        self,
        settings: CorrectionSettings,
        corrections: Corrections,
        truth: Annotations,
        pred: Annotations,
        findings: Sequence[Finding] = (),
    ) -> None:
        """`corrections` are those of all images."""
        self.settings, self.corrections = settings, corrections
        self.parts = corrections.mean()
        signature = settings.signature("oc-cost")
        super().__init__(
            protocol="oc-cost", signature=signature, scores={"OC-cost": (float(self.parts.sum()), signature)},
            truth=truth, pred=pred, name=settings.name, findings=findings,
        )  # fmt: skip

    def part(self, about: Callable[[Labels], str]) -> EvaluationState:
        """Return the costs of pairs, and the numbers of extra predictions, missed objects and paired predictions."""
        return self.corrections.to_rows().part(about, self.truth, self.pred)

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: CorrectionSettings) -> CorrectionResults:
        """Return the results of merged partial results."""
        kept = KeptRows.of_merged(numbers, marks=2, counts=3)
        corrections = Corrections.of_rows(kept, len(numbers.images), settings.beta)
        return cls(settings, corrections, numbers.truth, numbers.pred)

    def is_error(self, score: str) -> bool:
        return True

    @property
    def class_names(self) -> list[str]:
        return list(self.pred.labels.all_names)

    def class_costs(self) -> Floats:
        """Return the mean cost of the corrections of each class by parts, [class, 4]; nan without any."""
        own, classes = self.corrections, len(self.class_names)
        counts = np.bincount(own.label, minlength=classes).astype(np.float64)[:, None]
        sums = own.sums(own.label, classes)
        return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, nan), where=counts > 0))

    def class_scores(self) -> dict[str, list[float]]:
        return {"OC-cost": self.class_costs().sum(axis=1).tolist()}

    def draw_scores(self, scores: Sequence[str], weights: Floats, label: str | None = None) -> Floats:
        own = self.corrections
        weights = widen(np.asarray(weights, dtype=np.float64), own.images)
        if label is not None:
            chosen = own.label == self.class_names.index(label)
            drawn = draw_ratio(weights, own.image[chosen], own.costs[chosen].sum(axis=1), np.ones(int(chosen.sum())))
        else:
            drawn = weights @ own.by_image().sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-300)
            drawn = np.where(weights[:, own.image[own.kind != EXTRA]].any(axis=1), drawn, nan)
        return np.repeat(np.asarray(drawn)[:, None], len(scores), axis=1)

    def class_table(self) -> Table:
        """Return one row per class: its cost and the parts of it, and the numbers of objects and predictions."""
        costs, classes = self.class_costs(), len(self.class_names)
        truths, preds = self.corrections.count(classes)
        shown = [k for k in range(classes) if truths[k] or preds[k]] or list(range(classes))
        columns: dict[str, Sequence[Any]] = {"OC-cost": [float(costs[k].sum()) for k in shown]}
        columns |= {part: [float(costs[k, i]) for k in shown] for i, part in enumerate(PARTS)}
        columns |= {"truths": [truths[k] for k in shown], "preds": [preds[k] for k in shown]}
        mean: JsonObject = {"OC-cost": self.scores["OC-cost"].value, "truths": sum(truths), "preds": sum(preds)}
        mean |= dict(zip(PARTS, self.parts.tolist(), strict=True))
        return Table.of("class", [self.class_names[k] for k in shown], columns, mean=mean)

    def image_table(self) -> Table:
        """Return one row per image, the highest cost first."""
        costs = self.corrections.by_image()
        order = np.argsort(-costs.sum(axis=1), kind="stable").tolist()
        images = known_images(self.truth, self.pred)
        columns: dict[str, Sequence[Any]] = {"OC-cost": [float(costs[i].sum()) for i in order]}
        columns |= {part: [float(costs[i, k]) for i in order] for k, part in enumerate(PARTS)}
        return Table.of("image", [images.name(i) for i in order], columns)

    def tables(self) -> dict[str, Table]:
        return {"classes": self.class_table(), "images": self.image_table()}

    def contents(self) -> list[Part]:
        value = self.scores["OC-cost"].value
        return [
            f"{self.name}   OC-cost {'–' if isnan(value) else f'{value:.4f}'} (lower is better)",
            self.class_table(),
            LEGEND,
            self.signature,
            *self.notes,
        ]

    def details(self) -> JsonObject:
        """Return OC-cost and its parts, of the dataset and per class."""
        classes = {
            name: {"OC-cost": float(own.sum()), **dict(zip(PARTS, own.tolist(), strict=True))}
            for name, own in zip(self.class_names, self.class_costs(), strict=True)
        }
        parts = dict(zip(PARTS, self.parts.tolist(), strict=True))
        return {"OC-cost": self.scores["OC-cost"].value, "parts": parts, "classes": classes}


@protocol(
    CorrectionSettings,
    best=0.0,
    examples="""
verite oc-cost truth.json pred.json --confidence 0.5
verite oc-cost truth.json a.json b.json --confidence 0.5
verite oc-cost truth.json pred.json --balance 0.5 --beta 0.6""",
)
def oc_cost(truth: Annotations, pred: Annotations, settings: CorrectionSettings) -> CorrectionResults:
    """OC-cost: what it costs to correct detections into ground truth.

    Objects and predictions of an image are assigned one to one so that the sum of costs is least. A pair costs λ times
    its localization error, (1 − GIoU) / 2, and 1 − λ times its classification error: (1 − confidence) / 2 if the
    classes agree, else (1 + confidence) / 2. An extra prediction or a missed object costs β; pairs that cost as much
    are not formed. The cost of an image is the mean over its pairs, extra predictions and missed objects, and 0 where
    there is nothing; OC-cost is the mean over images. Every prediction counts, so that a confidence threshold belongs
    to the detector. Flagged objects (crowd, ignore) are left out, and predictions with at least half of their area in
    one of them that reach IoU 0.5 with no other object.

    References
    ----------
    Otani et al., Optimal Correction Cost for Object Detection Evaluation, CVPR 2022.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "a"], ["cat", "dog"], [[0, 0, 10, 10], [50, 0, 60, 10]])
    >>> pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.8])
    >>> round(vt.oc_cost(truth, pred)["OC-cost"], 4)  # (0.5 · 0.1 + 0.6) / 2
    0.325
    """
    truth, pred, findings = prepare(truth, pred, settings.checks, is_ap=False, measures="boxes")
    settings.check_labels(truth.labels.all_names)
    truth, pred = settings.choose(truth, pred)
    images = len(known_images(truth, pred))
    is_ignored = np.zeros(len(truth), dtype=np.bool_)
    for flag in FLAGS:
        is_ignored |= truth.flag(flag)
    if is_ignored.any():
        # As by COCO's rules, a prediction that finds an object is not one of a crowd that the object stands in.
        inside, found = np.zeros(len(pred), dtype=np.bool_), np.zeros(len(pred), dtype=np.bool_)
        for one, two in pairs_of_images(truth, pred, images):
            a, b = truth.regions.boxes[one], pred.regions.boxes[two]
            sides = np.maximum(np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2]), 0)
            shared = np.prod(sides, axis=1)
            areas = [np.prod(np.maximum(own[:, 2:] - own[:, :2], 0), axis=1) for own in (a, b)]
            region = is_ignored[one]
            inside[two[region & (2 * shared >= areas[1]) & (areas[1] > 0)]] = True
            found[two[~region & (shared > 0) & (2 * shared >= areas[0] + areas[1] - shared)]] = True
        pred = pred.where(found | ~inside)
        truth = truth.where(~is_ignored)
    corrections = correct(truth, pred, images, settings.balance, settings.beta)
    return CorrectionResults(settings, corrections, truth, pred, findings)
