"""LVIS: average precision of a federated data set, as its own package computes it, on COCO's stages.

What is LVIS's own: which predictions count at all, which of them are spared, and means over rare, common and frequent
classes. Everything else is COCO's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verite import _core
from verite.errors import BadParameter, DataError
from verite.evaluation.prepare import prepare
from verite.model.verdicts import ABSENT, INCOMPLETE, is_in
from verite.protocols.coco import CocoResults
from verite.protocols.coco_masks import masks_of, pred_areas
from verite.protocols.coco_settings import Settings
from verite.protocols.coco_stages import Evaluation
from verite.signature import Signature
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    from verite.evaluation.prepare import Checks
    from verite.model.annotations import Annotations

MOST = 300  # predictions of an image that count, whatever their classes
FREQUENCIES = {"r": "rare", "c": "common", "f": "frequent"}


class LvisSettings(Settings):
    """COCO's settings with LVIS's signature: the limit is of an image, classes are judged where they were sought."""

    def signature(self, name: str, *, iou: float | None, area: str | None, most: int | None) -> Signature:
        limit = f"{max(self.max_dets)} an image"
        return self.signed(name, iou, area, max_dets=limit, classes="federated", ignore="explicit")


class FederatedEvaluation(Evaluation):
    """COCO's stages, with predictions of classes that are not all marked spared where they find nothing."""

    @cached_property
    def outside(self) -> NDArray[np.uint32]:
        """For each prediction (by slot) the area ranges in which it is spared if it finds nothing, one bit each."""
        found = super().outside
        said, rows = self.truth.verdicts, self.ordered.cells.rows
        assert said is not None
        labels = len(self.truth.labels)
        spared = is_in(said.cells(labels, INCOMPLETE), self.pred.image[rows], self.pred.label[rows], labels)
        return np.where(spared, np.uint32((1 << len(self.settings.areas)) - 1), found)


class LvisResults(CocoResults):
    """The thirteen numbers, and on demand the same by class and by threshold, and the arrays they come from."""

    PROTOCOL = "lvis"

    @cached_property
    def parts(self) -> dict[str, Any]:
        """COCO's, and AP of rare, common and frequent classes before the recalls."""
        found = dict(super().parts)
        groups = {f"AP{group}": (*found["AP"], group) for group in FREQUENCIES}
        first = next(key for key in found if key.startswith("AR"))
        before = list(found)[: list(found).index(first)]
        return {key: found[key] for key in before} | groups | {key: found[key] for key in found if key not in before}

    @cached_property
    def class_groups(self) -> NDArray[np.str_]:
        """How frequent each class is, along the K axis."""
        groups = np.array(self.evaluation.truth.labels.groups)
        order = self.evaluation.label_order
        return groups if order is None else groups[order]

    def mean(self, kind: str, threshold: int | None, area: int, limit: int, group: str = "") -> float:
        if not group:
            return super().mean(kind, threshold, area, limit)
        present = (self.evaluation.positives[:, area] > 0) & (self.class_groups == group)
        values = self.evaluation.part(kind, threshold, area, limit)[..., present]
        return float(values.ravel().mean()) if values.size else np.nan

    def signature_of(self, kind: str, threshold: int | None, area: int, limit: int, group: str = "") -> Signature:
        signed = super().signature_of(kind, threshold, area, limit)
        return Signature(signed.name, (*signed.settings, ("frequency", FREQUENCIES[group]))) if group else signed

    def class_means(self, kind: str, threshold: int | None, area: int, limit: int, group: str = "") -> list[float]:
        means = super().class_means(kind, threshold, area, limit)
        return [m if not group or g == group else np.nan for m, g in zip(means, self.class_groups, strict=True)]

    def details(self) -> dict[str, Any]:
        document = super().details()
        for facts, group in zip(document["classes"].values(), self.class_groups.tolist(), strict=True):
            for other in FREQUENCIES:
                del facts[f"AP{other}"]
            facts["frequency"] = group
        return document


def lvis(
    truth: Annotations,
    pred: Annotations,
    *,
    on: Literal["box", "mask"] = "box",
    iou: float | Sequence[float] | None = None,
    max_dets: int = MOST,
    labels: Sequence[str] | None = None,
    per: Literal["class", "threshold", "image"] = "class",
    name: str | None = None,
    checks: Checks = "stop",
    threads: int | None = None,
) -> LvisResults:
    """LVIS's thirteen numbers, and everything behind them.

    The best ``max_dets`` predictions of an image count, over all classes. Of these, the ones whose class is neither
    among the truths of the image nor among those known to be absent are left out: nobody looked for it. Where not every
    object of a class is marked, a prediction that finds nothing is spared. Objects without any area are left out on
    both sides. Matching, area ranges and means are COCO's, without crowds; `ignore` of annotations is honoured. APr,
    APc and APf are means over rare, common and frequent classes.

    Gupta, Dollár, Girshick, LVIS: A Dataset for Large Vocabulary Instance Segmentation, CVPR 2019.

    >>> truth = vt.read("lvis_v1_val.json", format="lvis")         # doctest: +SKIP
    >>> pred = vt.read("detections.json", like=truth)              # doctest: +SKIP
    >>> vt.lvis(truth, pred).scores["APr"].value                   # doctest: +SKIP
    """
    if on not in ("box", "mask"):
        raise BadParameter(f"on: expected box or mask, found {on!r}")
    if truth.verdicts is None or truth.labels.groups is None:
        raise DataError(
            f"{truth.source.path or 'truth'}: expected an LVIS truth, found one without neg_category_ids, "
            "not_exhaustive_category_ids and frequency (V414); read it with --truth-format lvis"
        )
    settings = LvisSettings.of(
        on=on, iou=iou, areas=None, max_dets=max_dets, labels=labels, ignore="explicit", classes="each", mode="verite"
    )
    pred, findings = prepare(truth, pred, checks)
    if settings.labels is not None:
        truth = truth.only(settings.labels)
        pred = best_of_images(pred, max_dets)
        pred = pred.only([name for name in pred.labels.all_names if name in set(settings.labels)])
    without_crowds = {name: column for name, column in truth.flags.items() if name != "crowd"}
    truth = replace(truth, flags=without_crowds)
    if truth.area is not None and (truth.area <= 0).any():
        truth = truth.where(~(truth.area <= 0))
    pred = keep_judged(truth, best_of_images(pred, max_dets))
    is_flat = ~(areas_of(pred, on) > 0)
    pred = pred.where(~is_flat) if is_flat.any() else pred
    evaluation = FederatedEvaluation(settings, truth, pred, thread_count(threads))
    return LvisResults(evaluation, per=per, name=name, findings=findings)


def areas_of(pred: Annotations, on: str) -> Floats:
    """The areas of predictions: of the box where there is one, as in COCO."""
    if on == "box" or pred.regions.boxed is None:
        return _core.box_areas(pred.regions.sizes)
    return pred_areas(pred, lambda: masks_of(pred, 1), by_first=False)


def keep_judged(truth: Annotations, pred: Annotations) -> Annotations:
    """The predictions that count: those of classes that somebody looked for in their image."""
    assert truth.verdicts is not None
    labels = len(truth.labels)
    present = truth.image.astype(np.int64) * labels + truth.label
    sought = np.union1d(present, truth.verdicts.cells(labels, ABSENT))
    known = (pred.label < labels) & (pred.image < len(truth.images))
    # Of an image that the truth does not have, everything is kept, for the evaluation to complain about it.
    kept = is_in(sought, pred.image, np.where(known, pred.label, 0), labels) & known
    kept |= pred.image >= len(truth.images)
    return pred if kept.all() else pred.where(kept)


def best_of_images(pred: Annotations, most: int) -> Annotations:
    """At most so many predictions of each image, those of highest confidence; of equal ones the first."""
    counts = np.bincount(pred.image, minlength=len(pred.images))
    full = np.flatnonzero((counts > most)[pred.image])
    if not len(full) or pred.confidence is None:
        return pred
    order = full[np.lexsort((-pred.confidence[full], pred.image[full]))]
    images = pred.image[order]
    rank = np.arange(len(order)) - np.searchsorted(images, images)
    kept = np.ones(len(pred), dtype=np.bool_)
    kept[order[rank >= most]] = False
    return pred.where(kept)
