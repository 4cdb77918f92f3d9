"""Instance segmentation without confidences, as for cells, nuclei and lesions: AP of microscopy, AJI, AJI+, SortedAP.

The "average precision" of microscopy (Kaggle's Data Science Bowl 2018, StarDist, Cellpose) is TP / (TP + FP + FN) at an
IoU threshold. The aggregated Jaccard index (AJI) adds up intersections and unions of pixels; AJI+ pairs objects one to
one. SortedAP is the area below AP against the IoU threshold. Recall is listed by quantiles of the objects' size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum, isnan, nan
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.bootstrap import mean_over_classes, widen
from verite.evaluation.evaluation import GONE, Evaluation, Rules, in_ignore_regions
from verite.evaluation.kept_rows import KeptRows, unlike
from verite.evaluation.prepare import prepare
from verite.evaluation.settings import IGNORE_REGIONS, THREADS, RankedSettings
from verite.model.images import known_images
from verite.model.results import Matches, Results, choose_threshold
from verite.model.tables import Legend, Part, Table
from verite.protocols.coco import CocoThresholds
from verite.protocols.panoptic import segment_masks
from verite.protocols.protocol import protocol
from verite.settings import Choice, Constant, Count, Option, Overlaps
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

Pool = Literal["image", "dataset"]
FLAGS = ("ignore", "crowd", "difficult", "group_of", "ignore_region")
LEAST = 1e-12  # IoU of a pair that shares a pixel
GAIN = 2.0**38  # whole numbers per unit of IoU, in which assignments are compared
HALF_COUNT = 1 << 31  # numbers of pixels are kept in partial results as two counts
SHOWN = (0.5, 0.75)  # thresholds at which AP is a score of its own
LEGEND = Legend(
    "AP: TP / (TP + FP + FN), mean over the IoU thresholds or at one of them. AJI: shared pixels over the union of all "
    "objects, each with the prediction of highest IoU; AJI+: paired one to one. SortedAP: area below AP against the "
    "IoU threshold."
)


class InstanceSettings(RankedSettings):
    """Settings of instance segmentation without confidences."""

    on = Constant("mask")
    iou: Overlaps = CocoThresholds()
    pool: Option[Pool] = Choice(
        "image",
        "Average over images (Kaggle, Cellpose, MoNuSeg), or add up the counts of the dataset (StarDist, SortedAP).",
        Pool,
        is_common=True,
    )
    sizes: Option[int] = Count(4, "Number of size quantiles for which recall is listed.", is_signed=False)
    threads: Option[int | None] = THREADS


def sorted_ap(iou: Floats, truths: float, preds: float, weights: Floats | None = None) -> float:
    """Return SortedAP: the area below AP = TP / (TP + FP + FN) against the IoU threshold.

    The curve runs through the points at which a match is lost, from threshold 0 to AP 0 at threshold 1.

    Parameters
    ----------
    iou
        IoUs of the matches, which are one to one.
    truths, preds
        Numbers of objects and predictions.
    weights
        How often each match counts, whole numbers of at least 1; by default once.

    >>> sorted_ap(np.array([0.8]), 1, 1), sorted_ap(np.array([1.0, 1.0]), 2, 2)
    (0.9, 1.0)
    """
    if not len(iou):
        return nan if not truths and not preds else 0.0
    order = np.argsort(iou, kind="stable")
    rising = iou[order]
    counts = np.ones(len(iou)) if weights is None else weights[order]
    lost = np.concatenate([[0.0], np.cumsum(counts)[:-1]])
    found, every = counts.sum(), truths + preds - counts.sum()
    before = (found - lost) / (every + lost)  # where the threshold reaches this match
    after = (found - lost - counts + 1) / (every + lost + counts - 1)  # of its last copy
    starts = np.concatenate([[before[0]], after[:-1]])
    area = np.sum(np.diff(rising, prepend=0.0) * (before + starts)) / 2
    return float(area + (1 - rising[-1]) * after[-1] / 2)


@dataclass(frozen=True, eq=False)
class Groups:
    """The objects of each image and class: numbers, true positives, pixels, and the IoUs of the one-to-one pairs."""

    image: Ints
    label: Ints
    truths: Floats
    preds: Floats
    tp: Floats  # [group, threshold]
    aji: Floats  # [group, 2]: pixels of intersections and unions
    aji_plus: Floats
    pair_group: Ints  # of each one-to-one pair
    pair_iou: Floats

    def values(self) -> dict[str, Floats]:
        """Return the scores of each group alone: AP is [group, threshold], the others [group, 1]."""
        return {
            "AP": self.tp / (self.truths + self.preds - self.tp.T).T,
            "AJI": self.aji[:, :1] / self.aji[:, 1:],
            "AJI+": self.aji_plus[:, :1] / self.aji_plus[:, 1:],
            "SortedAP": self.sorted_aps().reshape(-1, 1),
        }

    def sorted_aps(self) -> Floats:
        """Return SortedAP of each group alone: :func:`sorted_ap` of its pairs, for all groups at once."""
        order = np.lexsort((self.pair_iou, self.pair_group))
        iou, group = self.pair_iou[order], self.pair_group[order]
        starts = np.searchsorted(group, np.arange(len(self.image) + 1))
        found = np.diff(starts)
        lost = np.arange(len(group)) - starts[group]
        every = self.truths + self.preds - found
        height = (found[group] - lost) / (every[group] + lost)
        is_first = lost == 0
        width = iou - np.where(is_first, 0.0, np.roll(iou, 1))
        before = np.where(is_first, height, np.roll(height, 1))
        area = np.bincount(group, weights=width * (height + before) / 2, minlength=len(self.image)).astype(np.float64)
        last = starts[1:][found > 0] - 1
        area[found > 0] += (1 - iou[last]) * height[last] / 2
        return np.asarray(area)

    def pooled(self, name: str, chosen: Bools, weights: Floats) -> Floats:
        """Return one score of the counts of some groups, added up with weights [group]: of AP [threshold], else [1]."""
        own = weights * chosen
        if not own.any():
            return np.full(self.tp.shape[1] if name == "AP" else 1, nan)
        if name == "AP":
            tp = own @ self.tp
            return np.asarray(tp / (own @ (self.truths + self.preds) - tp))
        if name == "SortedAP":
            of_pairs = own[self.pair_group]
            kept = of_pairs > 0
            truths, preds = float(own @ self.truths), float(own @ self.preds)
            found = sorted_ap(self.pair_iou[kept], truths, preds, of_pairs[kept])
            return np.array([found])
        inside, union = own @ (self.aji if name == "AJI" else self.aji_plus)
        return np.array([inside / union])


@dataclass(frozen=True, eq=False)
class CountedObjects:
    """The objects that count: class, image, pixels, and at which IoU thresholds each is matched."""

    label: NDArray[np.integer[Any]]
    image: NDArray[np.integer[Any]]
    area: Floats
    is_matched: Bools  # [object, threshold]


@dataclass(frozen=True, eq=False)
class InstancePairs:
    """Overlapping pairs of an object and a prediction of one image and class, with their areas."""

    truth: Annotations
    pred: Annotations
    one: Ints  # row of the ground truth of each pair
    two: Ints  # row of the prediction
    iou: Floats
    areas: tuple[Floats, Floats]  # pixels of each object and prediction
    counted: tuple[Bools, Bools]  # which objects and predictions count

    @classmethod
    def of(cls, truth: Annotations, pred: Annotations, threads: int) -> InstancePairs:
        """Find the pairs; flagged objects are ignored, and predictions with most of their pixels in one of them."""
        masks = [segment_masks(side, threads, "instance segmentation") for side in (truth, pred)]
        areas = [np.asarray(_core.mask_areas(own.arrays), dtype=np.float64) for own in masks]
        is_ignored = np.zeros(len(truth), dtype=np.bool_)
        for flag in FLAGS:
            is_ignored |= truth.flag(flag)
        rules = Rules((LEAST,), "mask", orders_by_class=False, allow_unknown_classes=True)
        layout = Evaluation(truth, pred, rules, threads).layout
        offsets, truths, iou = layout.candidates
        two = layout.preds[0][np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))].astype(np.int64)
        one = layout.truths[0][truths].astype(np.int64)
        inside = intersection(iou, areas[0][one], areas[1][two])
        hidden = np.zeros(len(pred))
        np.maximum.at(hidden, two[is_ignored[one]], inside[is_ignored[one]])
        is_counted = 2 * hidden <= areas[1]
        if "ignore_region" in truth.flags:
            regions = replace(rules, ignored=("ignore_region",), region_share=IGNORE_REGIONS.default)
            is_counted &= in_ignore_regions(truth, pred, regions, threads) == 0
        kept = ~is_ignored[one] & is_counted[two]
        return cls(truth, pred, one[kept], two[kept], iou[kept], (areas[0], areas[1]), (~is_ignored, is_counted))

    @cached_property
    def pixels(self) -> tuple[Floats, Floats]:
        """Pixels of the intersection and of the union of each pair."""
        one, two = self.areas[0][self.one], self.areas[1][self.two]
        inside = intersection(self.iou, one, two)
        return inside, one + two - inside

    def assign(self, least: float) -> Bools:
        """Return the pairs of the assignment with the most IoUs of at least `least`, then of the largest sum."""
        chosen = np.flatnonzero(self.iou >= least)
        gain = np.rint(self.iou[chosen] * GAIN).astype(np.int64)
        # Without a threshold the sum of IoUs decides alone, then the number of shared pixels.
        most = max(float(self.pixels[0].max(initial=1)), 1.0)
        shared = np.rint(self.pixels[0][chosen] / most * GAIN).astype(np.int64)
        gains = (gain, shared) if least <= LEAST else (np.ones_like(gain), gain)
        found = np.zeros(len(self.iou), dtype=np.bool_)
        found[chosen] = _core.assign(self.one[chosen], self.two[chosen], *gains, len(self.truth), len(self.pred))
        return found

    def closest(self) -> Bools:
        """Return for each object its pair of highest IoU, of equal ones the larger intersection."""
        order = np.lexsort((self.two, -self.pixels[0], -self.iou, self.one))
        first = np.diff(self.one[order], prepend=-1) != 0
        found = np.zeros(len(order), dtype=np.bool_)
        found[order[first]] = True
        return found

    def objects(self, matched: Mapping[float, Bools]) -> CountedObjects:
        """Return the objects that count; `matched` are the pairs at each IoU threshold."""
        rows = np.flatnonzero(self.counted[0])
        is_matched = np.zeros((len(self.truth), len(matched)), dtype=np.bool_)
        for t, chosen in enumerate(matched.values()):
            is_matched[self.one[chosen], t] = True
        return CountedObjects(self.truth.label[rows], self.truth.image[rows], self.areas[0][rows], is_matched[rows])

    def groups(self, matched: Mapping[float, Bools]) -> Groups:
        """Return what is counted of each image and class; `matched` are the pairs at each IoU threshold."""
        width = max(len(self.pred.labels), len(self.truth.labels), 1)
        keys = [side.image.astype(np.int64) * width + side.label for side in (self.truth, self.pred)]
        codes = np.unique(np.concatenate([key[own] for key, own in zip(keys, self.counted, strict=True)]))
        place = [np.searchsorted(codes, key) for key in keys]
        of_pair = place[0][self.one]

        def add(where: Ints, values: Floats | None = None) -> Floats:
            return np.bincount(where, weights=values, minlength=len(codes)).astype(np.float64)

        def jaccard(chosen: Bools) -> Floats:
            inside, union = (add(of_pair[chosen], own[chosen]) for own in self.pixels)
            for own, areas, rows, counted in zip(place, self.areas, (self.one, self.two), self.counted, strict=True):
                left = counted.copy()
                left[rows[chosen]] = False
                union += add(own[left], areas[left])
            return np.stack([inside, union], axis=1)

        plus = self.assign(LEAST)
        order = np.argsort(of_pair[plus], kind="stable")
        return Groups(
            image=codes // width,
            label=codes % width,
            truths=add(place[0][self.counted[0]]),
            preds=add(place[1][self.counted[1]]),
            tp=np.stack([add(of_pair[own]) for own in matched.values()], axis=1),
            aji=jaccard(self.closest()),
            aji_plus=jaccard(plus),
            pair_group=of_pair[plus][order],
            pair_iou=self.iou[plus][order],
        )


def intersection(iou: Floats, one: Floats, two: Floats) -> Floats:
    """Return the pixels that two masks share, from their IoU and areas; pixels are whole."""
    return np.asarray(np.rint(iou * (one + two) / (1 + iou)))


class InstanceResults(Results):
    """Results of instance segmentation: AP of microscopy, AJI, AJI+, SortedAP, and recall by size quantiles."""

    settings: InstanceSettings
    keeps_predictions = False

    def __init__(
        self,
        settings: InstanceSettings,
        truth: Annotations,
        pred: Annotations,
        groups: Groups,
        objects: CountedObjects,
        matched: tuple[InstancePairs, Mapping[float, Bools]] | None = None,
        findings: Sequence[Finding] = (),
    ) -> None:
        """`matched` are the overlapping pairs, and which of them match at each IoU threshold; None if merged."""
        self.settings, self.groups, self.counted_objects, self.matched = settings, groups, objects, matched
        self.by_class = [self.class_values(k) for k in range(len(pred.labels))]
        scores = {}
        for i, (name, (measure, threshold)) in enumerate(self.queries(settings).items()):
            own = {} if threshold is None else {"iou": threshold}
            value = mean_over_classes([values[i] for values in self.by_class], 1)[0]
            scores[name] = (value, settings.signature(measure.lower(), **own))
        super().__init__(
            protocol="instances", signature=settings.signature("instances"), scores=scores, truth=truth,
            pred=pred, name=settings.name, findings=findings,
        )  # fmt: skip

    def part(self, about: Callable[[Labels], str]) -> EvaluationState:
        """Return a row for each object that counts and each pair of AJI+, and numbers of predictions and pixels."""
        groups, objects = self.groups, self.counted_objects
        thresholds, pairs = len(self.settings.iou), len(groups.pair_iou)
        marks = np.zeros((len(objects.area) + pairs, thresholds + 1), dtype=np.bool_)
        marks[: len(objects.area), :thresholds] = objects.is_matched
        marks[len(objects.area) :, thresholds] = True
        pixels = np.concatenate([groups.aji, groups.aji_plus], axis=1).astype(np.int64)
        counts = np.column_stack([groups.preds.astype(np.int64), pixels // HALF_COUNT, pixels % HALF_COUNT])
        kept = KeptRows(
            np.concatenate([objects.label, groups.label[groups.pair_group]]),
            np.concatenate([objects.image, groups.image[groups.pair_group]]),
            np.concatenate([objects.area, groups.pair_iou]),
            marks,
            groups.label,
            groups.image,
            counts,
        )
        return kept.part(about, self.truth, self.pred)

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: InstanceSettings) -> InstanceResults:
        """Return the results of merged partial results."""
        thresholds = len(settings.iou)
        kept = KeptRows.of_merged(numbers, marks=thresholds + 1, counts=9)
        is_pair = kept.marks[:, -1]
        label, image, area = kept.label[~is_pair], kept.image[~is_pair], kept.value[~is_pair]
        objects = CountedObjects(label, image, area, kept.marks[~is_pair, :thresholds])
        width = max(len(numbers.pred.labels), 1)
        order = np.argsort(kept.cell_image * width + kept.cell_label)
        codes, counts = (kept.cell_image * width + kept.cell_label)[order], kept.counts[order]
        of_rows = kept.image * width + kept.label
        if not np.isin(of_rows, codes).all():
            raise unlike("numbers of predictions and pixels for each object")
        place = np.searchsorted(codes, of_rows)
        of_objects, of_pairs = place[~is_pair], place[is_pair]
        pixels = (counts[:, 1:5] * HALF_COUNT + counts[:, 5:]).astype(np.float64)
        tp = np.stack([np.bincount(of_objects[own], minlength=len(codes)) for own in objects.is_matched.T], axis=1)
        truths = np.bincount(of_objects, minlength=len(codes))
        found = np.maximum(tp.max(axis=1, initial=0), np.bincount(of_pairs, minlength=len(codes)))
        iou = kept.value[is_pair]
        if (found > np.minimum(truths, counts[:, 0])).any() or ((iou < 0) | (iou > 1)).any():
            raise unlike("no more matches than objects and predictions, with IoUs from 0 to 1")
        if (truths + counts[:, 0] == 0).any():
            raise unlike("an object or a prediction of each class that it counts in an image")
        if (pixels[:, ::2] > pixels[:, 1::2]).any() or (pixels[:, 1::2] == 0).any():
            raise unlike("intersections within unions of pixels")
        by_group = np.argsort(of_pairs, kind="stable")
        groups = Groups(
            image=codes // width,
            label=codes % width,
            truths=truths.astype(np.float64),
            preds=counts[:, 0].astype(np.float64),
            tp=tp.astype(np.float64),
            aji=pixels[:, :2],
            aji_plus=pixels[:, 2:],
            pair_group=of_pairs[by_group],
            pair_iou=iou[by_group],
        )
        return cls(settings, numbers.truth, numbers.pred, groups, objects)

    @staticmethod
    def queries(settings: InstanceSettings) -> dict[str, tuple[str, float | None]]:
        """Return for each score which measure it is, and its IoU threshold if it has one."""
        several = len(settings.iou) > 1
        at = [t for t in settings.iou if any(abs(t - shown) < 1e-9 for shown in SHOWN)] if several else []
        found: dict[str, tuple[str, float | None]] = {"AP": ("AP", None)}
        found |= {f"AP@{t:.2f}": ("AP", t) for t in at}
        return found | {name: (name, None) for name in ("AJI", "AJI+", "SortedAP")}

    @cached_property
    def group_values(self) -> dict[str, Floats]:
        """The scores of each image and class alone."""
        return self.groups.values()

    def class_values(self, k: int) -> list[Floats]:
        """Return every score of a class, a list of [1], to the same bits for any order of the images."""
        images = int(self.groups.image.max(initial=-1)) + 1
        if self.settings.pool == "dataset":
            return self.draw_class(k, np.ones((1, images)))
        chosen, thresholds = self.groups.label == k, self.settings.iou
        if not self.groups.truths[chosen].any():
            return [np.array([nan])] * len(self.queries(self.settings))
        found = []
        for measure, threshold in self.queries(self.settings).values():
            at = range(self.group_values[measure].shape[1]) if threshold is None else [thresholds.index(threshold)]
            sums = [fsum(self.group_values[measure][chosen, i].tolist()) / int(chosen.sum()) for i in at]
            found.append(np.array([np.mean(sums)]))
        return found

    def ap_by_threshold(self, label: str) -> Floats:
        """Return TP / (TP + FP + FN) of a class at every IoU threshold; nan without ground truth."""
        groups = self.groups
        chosen = groups.label == self.class_names.index(label)
        if not groups.truths[chosen].any():
            return np.full(len(self.settings.iou), nan)
        if self.settings.pool == "dataset":
            return groups.pooled("AP", chosen, np.ones(len(groups.image)))
        return np.asarray(self.group_values["AP"][chosen].mean(axis=0))

    def draw_class(self, k: int, weights: Floats) -> list[Floats]:
        """Return every score of a class on samples of the images, a list of [sample]; nan without ground truth."""
        groups, settings = self.groups, self.settings
        chosen = groups.label == k
        own = weights[:, groups.image] * chosen
        values: dict[str, Floats] = {}
        for name in ("AP", "AJI", "AJI+", "SortedAP"):
            if settings.pool == "dataset":
                values[name] = np.stack([groups.pooled(name, chosen, one) for one in own])
                continue
            each = self.group_values[name]
            total = own.sum(axis=1)[:, None]
            values[name] = np.divide(own @ each, total, out=np.full((len(own), each.shape[1]), nan), where=total > 0)
        found = []
        has_truths = own @ groups.truths > 0
        for measure, threshold in self.queries(settings).values():
            at = slice(None) if threshold is None else [settings.iou.index(threshold)]
            found.append(np.where(has_truths, values[measure][:, at].mean(axis=1), nan))
        return found

    def draw_scores(self, scores: Sequence[str], weights: Floats, label: str | None = None) -> Floats:
        weights = widen(np.asarray(weights, dtype=np.float64), int(self.groups.image.max(initial=-1)) + 1)
        labels = range(len(self.class_names)) if label is None else [self.class_names.index(label)]
        drawn = [self.draw_class(k, weights) for k in labels]
        names = list(self.queries(self.settings))
        chosen = [names.index(self[score].name) for score in scores]
        return np.stack([mean_over_classes([own[i] for own in drawn], len(weights)) for i in chosen], axis=1)

    def matches(self, iou: float | None = None) -> Matches:
        """Which prediction is matched with which object at one of the IoU thresholds."""
        threshold = self.settings.iou[0] if iou is None else self.settings.iou[choose_threshold(self.settings.iou, iou)]
        if self.matched is None:
            raise DataError(f"matches: {GONE}; evaluate in one piece")
        pairs, chosen = self.matched[0], self.matched[1][threshold]
        missed, false_positives = pairs.counted[0].copy(), pairs.counted[1].copy()
        missed[pairs.one[chosen]] = false_positives[pairs.two[chosen]] = False
        return Matches.of_pairs(
            threshold,
            (len(self.truth), len(self.pred)),
            (pairs.one[chosen], pairs.two[chosen]),
            np.flatnonzero(missed),
            np.flatnonzero(false_positives),
        )

    @property
    def iou_thresholds(self) -> tuple[float, ...]:
        return tuple(self.settings.iou)

    @property
    def class_names(self) -> list[str]:
        return list(self.pred.labels.all_names)

    def class_scores(self) -> dict[str, list[float]]:
        return {name: [float(own[i][0]) for own in self.by_class] for i, name in enumerate(self.queries(self.settings))}

    def counts(self, k: int | None = None) -> tuple[int, int, list[int]]:
        """Return the numbers of objects and predictions, and TP at each threshold, of one class or all."""
        groups = self.groups
        chosen = slice(None) if k is None else groups.label == k
        truths, preds = (int(own[chosen].sum()) for own in (groups.truths, groups.preds))
        return truths, preds, groups.tp[chosen].sum(axis=0).astype(int).tolist()

    def class_table(self) -> Table:
        """Return one row per class: its scores, and the numbers of objects and predictions."""
        shown = [k for k in range(len(self.class_names)) if any(self.counts(k)[:2])] or list(range(len(self.by_class)))
        scores = self.class_scores()
        columns: dict[str, Sequence[Any]] = {name: [own[k] for k in shown] for name, own in scores.items()}
        columns |= {"truths": [self.counts(k)[0] for k in shown], "preds": [self.counts(k)[1] for k in shown]}
        mean: JsonObject = {name: score.value for name, score in self.scores.items()}
        mean |= dict(zip(("truths", "preds"), self.counts()[:2], strict=True))
        return Table.of("class", [self.class_names[k] for k in shown], columns, mean=mean)

    def threshold_table(self) -> Table:
        """Return TP, FP, FN and TP / (TP + FP + FN) of all images and classes together at every IoU threshold."""
        truths, preds, tp = self.counts()
        columns: dict[str, Sequence[Any]] = {
            "TP": tp,
            "FP": [preds - own for own in tp],
            "FN": [truths - own for own in tp],
            "TP/(TP+FP+FN)": [own / (truths + preds - own) if truths + preds else nan for own in tp],
        }
        return Table.of("IoU", [f"{t:.2f}" for t in self.settings.iou], columns)

    @cached_property
    def size_rows(self) -> list[dict[str, float]]:
        """Objects by quantiles of their number of pixels: smallest and largest, how many, and recall."""
        areas, is_matched = self.counted_objects.area, self.counted_objects.is_matched
        if not len(areas):
            return []
        inner = np.quantile(areas, np.arange(1, self.settings.sizes) / self.settings.sizes)
        which = np.searchsorted(inner, areas, side="left")
        rows = []
        for i in range(self.settings.sizes):
            own = which == i
            recalls = (is_matched[own].sum(axis=0) / max(int(own.sum()), 1)).tolist()
            if own.any():
                rows.append(
                    {
                        "quantile": i + 1,
                        "smallest": float(areas[own].min()),
                        "largest": float(areas[own].max()),
                        "truths": int(own.sum()),
                        "recall": recalls[0],
                        "mean_recall": float(np.mean(recalls)),
                    }
                )
        return rows

    def size_table(self) -> Table:
        """Return recall by quantiles of the objects' size, at the first IoU threshold and as mean over all."""
        first = f"recall at {self.settings.iou[0]:.2f}"
        heads = {"smallest": "smallest", "largest": "largest", "truths": "truths", "recall": first}
        heads |= {"mean_recall": "mean recall"} if len(self.settings.iou) > 1 else {}
        columns = {
            head: [int(row[key]) if key in ("smallest", "largest", "truths") else row[key] for row in self.size_rows]
            for key, head in heads.items()
        }
        names = [f"{int(row['quantile'])} of {self.settings.sizes}" for row in self.size_rows]
        return Table.of("size quantile", names, columns)

    def image_table(self) -> Table:
        """Return the scores of each image alone, as means over the classes that it has."""
        images, groups = known_images(self.truth, self.pred), self.groups
        names = list(self.queries(self.settings))
        rows = []
        for i in np.unique(groups.image).tolist():
            own = groups.image == i
            row = []
            for measure, threshold in self.queries(self.settings).values():
                values = self.group_values[measure][own]
                at = slice(None) if threshold is None else [self.settings.iou.index(threshold)]
                row.append(float(values[:, at].mean()))
            rows.append((images.name(i), *row))
        return Table(("image", *names), tuple(rows))

    def tables(self) -> dict[str, Table]:
        return {
            "classes": self.class_table(),
            "thresholds": self.threshold_table(),
            "sizes": self.size_table(),
            "images": self.image_table(),
        }

    def contents(self) -> list[Part]:
        values = [f"{name} {'–' if isnan(score) else f'{score:.4f}'}" for name, score in self.scores.items()]
        return [f"{self.name}   {'   '.join(values)}", self.class_table(), self.size_table(), LEGEND, self.signature,
                *self.notes]  # fmt: skip

    def details(self) -> JsonObject:
        """Return the scores, per class with counts, the counts at every threshold, and recall by size."""
        scores, thresholds = self.class_scores(), self.settings.iou
        classes = {}
        for k, name in enumerate(self.class_names):
            truths, preds, tp = self.counts(k)
            values = {key: own[k] for key, own in scores.items()}
            classes[name] = {**values, "truths": truths, "preds": preds, "tp": tp}
        truths, preds, tp = self.counts()
        counts = [{"iou": t, "tp": n, "fp": preds - n, "fn": truths - n} for t, n in zip(thresholds, tp, strict=True)]
        own = {name: score.value for name, score in self.scores.items()}
        return {**own, "thresholds": counts, "sizes": self.size_rows, "classes": classes}


@protocol(
    InstanceSettings,
    reading={"masks": "objects"},
    files="TRUTH and PRED are label images, volumes (.npy, .nii.gz, TIFF with several pages), or any format with masks",
    examples="""
verite instances truth_masks/ pred_masks/
verite instances truth_masks/ pred_masks/ --pool dataset
verite instances truth.npy pred.npy -t 0.5 --sizes 10""",
)
def instances(truth: Annotations, pred: Annotations, settings: InstanceSettings) -> InstanceResults:
    """Instance segmentation of cells, nuclei, lesions: AP, AJI, SortedAP.

    Objects and predictions of one class are paired one to one at every IoU threshold, as many as possible, then with
    the largest sum of IoU. AP is TP / (TP + FP + FN), as mean over the thresholds and at 0.50 and 0.75. AJI pairs each
    object with the prediction of highest IoU, AJI+ one to one with the largest sum; both are the shared pixels over the
    union, to which all pixels of unpaired objects and predictions are added. SortedAP is the area below AP against the
    IoU threshold, from the pairs of AJI+. Images (or, with ``pool="dataset"``, all counts) are averaged per class, then
    the classes with ground truth. Flagged objects (crowd, ignore) are ignored, and predictions with more than half of
    their pixels in one of them.

    References
    ----------
    Caicedo et al., Nucleus segmentation across imaging experiments: the 2018 Data Science Bowl, Nature Methods 2019.
    Kumar et al., A Dataset and a Technique for Generalized Nuclear Segmentation, IEEE TMI 2017 (AJI).
    Graham et al., HoVer-Net, Medical Image Analysis 2019 (AJI+).
    Chen et al., SortedAP: Rethinking Evaluation Metrics for Instance Segmentation, ICCV Workshops 2023.

    Examples
    --------
    >>> import numpy as np
    >>> import verite as vt
    >>> truth, pred = np.zeros((2, 8, 8), dtype=int)
    >>> truth[:4, :4], truth[4:, 4:], pred[:4, :4] = 1, 2, 1
    >>> results = vt.instances(truth, pred)
    >>> results["AP"].value, results["AJI"].value
    (0.5, 0.5)
    """
    truth, pred, findings = prepare(truth, pred, settings.checks, is_ranked=False)
    settings.check_labels(truth.labels.all_names)
    truth, pred = settings.choose(truth, pred)
    pairs = InstancePairs.of(truth, pred, thread_count(settings.threads))
    matched = {threshold: pairs.assign(threshold) for threshold in settings.iou}
    groups, objects = pairs.groups(matched), pairs.objects(matched)
    return InstanceResults(settings, truth, pred, groups, objects, (pairs, matched), findings)
