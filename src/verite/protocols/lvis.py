"""LVIS: average precision of a federated data set, as its own package computes it, on COCO's stages.

What is LVIS's own: which predictions count at all, which of them are spared, and means over rare, common and frequent
classes. Everything else is COCO's.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.prepare import prepare
from verite.model.verdicts import ABSENT, is_in
from verite.protocols.coco import CocoResults
from verite.protocols.coco_masks import masks_of, pred_areas
from verite.protocols.coco_settings import CocoSettings, CocoThresholds, Per
from verite.protocols.protocol import THREADS, ClassSettings, protocol
from verite.settings import Choice, Count, Fact, Option
from verite.signature import Signature
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]

On = Literal["box", "mask"]
FREQUENCIES = {"r": "rare", "c": "common", "f": "frequent"}


class ImageLimit(Count[int, int]):
    """A limit of images, not of classes."""

    def spell(self, value: int) -> object:
        return f"{value} per image"


class LvisSettings(ClassSettings):
    """What LVIS can be asked; everything else is COCO's default, and classes are judged where they were sought."""

    on: Option[On] = Choice("box", "Compare boxes or masks.", On)
    iou: CocoThresholds = CocoThresholds()
    areas = Fact("all,small,medium,large")
    max_dets: ImageLimit = ImageLimit(300, "Predictions per image that count, over all classes.", short="-n")
    classes = Fact("federated")
    ignored = Fact("explicit")
    per: Option[Per] = CocoSettings.per
    threads: Option[int | None] = THREADS

    def rules(self) -> CocoSettings:
        """What is asked of COCO's evaluation."""
        same = {key: getattr(self, key) for key in ("on", "iou", "max_dets", "per", "labels", "threads")}
        return CocoSettings(**same, ignored="explicit")


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


@protocol(
    LvisSettings,
    files="TRUTH is an LVIS file; PREDs are results in any known format",
    examples="""
verite lvis lvis_v1_val.json detections.json
verite lvis lvis_v1_val.json segments.json --on mask
verite lvis lvis_v1_val.json a.json b.json
verite lvis truth.json pred.json --json | jq .APr""",
)
def lvis(truth: Annotations, pred: Annotations, settings: LvisSettings) -> LvisResults:
    """LVIS's thirteen numbers, for boxes or masks, and everything behind them.

    The best ``max_dets`` predictions per image count, over all classes. Of these, the ones whose class is neither
    among the truths of the image nor among those known to be absent are left out: nobody looked for it. Where not every
    object of a class is marked, a prediction that finds nothing is spared. Objects without any area are left out on
    both sides. Matching, area ranges and means are COCO's, without crowds; `ignore` of annotations is honoured. APr,
    APc and APf are means over rare, common and frequent classes.

    Gupta, Dollár, Girshick, LVIS: A Dataset for Large Vocabulary Instance Segmentation, CVPR 2019.

    >>> truth = vt.read("lvis_v1_val.json", format="lvis")         # doctest: +SKIP
    >>> pred = vt.read("detections.json", like=truth)              # doctest: +SKIP
    >>> vt.lvis(truth, pred).scores["APr"].value                   # doctest: +SKIP
    """
    from verite.protocols.lvis_stages import FederatedEvaluation

    if truth.verdicts is None or truth.labels.groups is None:
        raise DataError(
            f"{truth.source.path or 'truth'}: expected an LVIS truth, found one without neg_category_ids, "
            "not_exhaustive_category_ids and frequency (V414); read it with --truth-format lvis"
        )
    pred, findings = prepare(truth, pred, settings.checks)
    pred = best_of_images(pred, settings.max_dets)
    truth, pred = settings.choose(truth, pred)
    without_crowds = {name: column for name, column in truth.flags.items() if name != "crowd"}
    truth = replace(truth, flags=without_crowds)
    if truth.area is not None and (truth.area <= 0).any():
        truth = truth.where(~(truth.area <= 0))
    pred = keep_judged(truth, pred)
    is_flat = ~(areas_of(pred, settings.on) > 0)
    pred = pred.where(~is_flat) if is_flat.any() else pred
    evaluation = FederatedEvaluation(settings.rules(), truth, pred, thread_count(settings.threads))
    return LvisResults(evaluation, settings, findings)


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
