"""LVIS: average precision of a federated data set, as its own package computes it, by COCO's rules.

What is LVIS's own: which predictions count at all, which of them are ignored, and means over rare, common and frequent
classes. Everything else is COCO's.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any, Literal

from verite.arrays import np
from verite.errors import IS_COMMAND_LINE, DataError
from verite.evaluation.evaluation import Evaluation
from verite.evaluation.prepare import need_pixels, prepare
from verite.evaluation.settings import THREADS, RankedSettings
from verite.model.classes import ABSENT, INCOMPLETE
from verite.protocols.coco import CocoResults, CocoSettings, CocoThresholds, Per, rules_of
from verite.protocols.protocol import protocol
from verite.settings import Choice, Constant, Count, Option
from verite.signature import Signature
from verite.threads import thread_count

if TYPE_CHECKING:
    from verite.evaluation.partial import MergedNumbers
    from verite.files import JsonObject
    from verite.model.annotations import Annotations

On = Literal["box", "mask"]
FREQUENCIES = {"r": "rare", "c": "common", "f": "frequent"}


class ImageLimit(Count[int, int]):
    """Number of predictions per image, not per class."""

    def format(self, value: int) -> object:
        return f"{value} per image"


class LvisSettings(RankedSettings):
    """Settings of the LVIS protocol; everything else is COCO's default."""

    on: Option[On] = Choice("box", "Compare boxes or masks.", On)
    iou: CocoThresholds = CocoThresholds()
    areas = Constant("all,small,medium,large")
    max_dets: ImageLimit = ImageLimit(300, "Predictions per image that count, over all classes.", short="-n")
    classes = Constant("federated")
    ignored = Constant("explicit")
    per: Option[Per] = CocoSettings.per
    threads: Option[int | None] = THREADS

    def rules(self) -> CocoSettings:
        """Return the settings of COCO's evaluation."""
        same = {key: getattr(self, key) for key in ("on", "iou", "max_dets", "per", "labels", "threads")}
        return CocoSettings(**same, ignored="explicit")


class LvisResults(CocoResults):
    """Results of the LVIS protocol: thirteen scores, the same per class and IoU threshold, and the arrays."""

    PROTOCOL = "lvis"

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: Any) -> LvisResults:
        numbers.expect_rules(rules_of(settings.rules()))
        return cls(numbers, settings.rules(), settings)

    @cached_property
    def parts(self) -> dict[str, Any]:
        """COCO's scores, and AP of rare, common and frequent classes before the recalls."""
        found = dict(super().parts)
        groups = {f"AP{group}": (*found["AP"], group) for group in FREQUENCIES}
        first = next(key for key in found if key.startswith("AR"))
        before = list(found)[: list(found).index(first)]
        return {key: found[key] for key in before} | groups | {key: found[key] for key in found if key not in before}

    @cached_property
    def class_groups(self) -> list[str]:
        """Frequency (r, c or f) of each class along the K axis."""
        labels = self.evaluation.truth.labels
        assert labels.groups is not None
        return [labels.groups[i] for i in labels.by_id or range(len(labels))]

    def mean(self, kind: str, threshold: int | None, area: int, limit: int, group: str = "") -> float:
        if not group:
            return super().mean(kind, threshold, area, limit)
        chosen = [own == group for own in self.class_groups]
        return self.evaluation.mean(kind, threshold, area, limit, chosen)

    def mean_query(self, score: str, label: str | None = None) -> tuple[Any, ...]:
        found = super().mean_query(score, label)
        group = (*self.parts.get(score, ()), "")[4:5]
        if group in ((), ("",)):
            return found
        chosen = found[4] if label is not None else [True] * len(self.class_groups)
        return (*found[:4], [is_one and own in group for is_one, own in zip(chosen, self.class_groups, strict=True)])

    def signature_of(self, kind: str, threshold: int | None, area: int, limit: int, group: str = "") -> Signature:
        signed = super().signature_of(kind, threshold, area, limit)
        return Signature(signed.name, (*signed.settings, ("frequency", FREQUENCIES[group]))) if group else signed

    def class_means(self, kind: str, threshold: int | None, area: int, limit: int, group: str = "") -> list[float]:
        means = super().class_means(kind, threshold, area, limit)
        return [m if not group or g == group else nan for m, g in zip(means, self.class_groups, strict=True)]

    def details(self) -> JsonObject:
        document = super().details()
        for facts, group in zip(document["classes"].values(), self.class_groups, strict=True):
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
    """LVIS average precision, also over rare, common and frequent classes.

    At most ``max_dets`` predictions per image count, over all classes. A prediction is dropped if its class is neither
    annotated in the image nor verified to be absent. Where the annotation of a class is not exhaustive, an unmatched
    prediction is ignored. Objects without area are dropped on both sides. Matching, area ranges and means are COCO's,
    without crowds; the `ignore` flag of annotations is honoured. APr, APc and APf are means over rare, common and
    frequent classes.

    References
    ----------
    Gupta, Dollár, Girshick, LVIS: A Dataset for Large Vocabulary Instance Segmentation, CVPR 2019.

    Examples
    --------
    >>> import verite as vt
    >>> truth = {
    ...     "images": [{"id": 1, "width": 20, "height": 20, "neg_category_ids": [], "not_exhaustive_category_ids": []}],
    ...     "categories": [{"id": 1, "name": "cat", "frequency": "r"}],
    ...     "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "area": 81}],
    ... }
    >>> pred = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.9}]
    >>> round(vt.lvis(truth, pred)["APr"], 4)
    1.0
    """
    if truth.verdicts is None or truth.labels.groups is None:
        option = "--truth-format lvis" if IS_COMMAND_LINE.get() else 'verite.read(…, format="lvis")'
        raise DataError(
            f"{truth.source.path or 'truth'}: expected LVIS ground truth, found one without neg_category_ids, "
            "not_exhaustive_category_ids and frequency (V414); verite coco needs none of them, and "
            f"{option} shows which one a file lacks"
        )
    truth, pred, findings = prepare(
        truth, pred, settings.checks, measures="masks" if settings.on == "mask" else "boxes"
    )
    need_pixels(truth)
    if settings.labels is not None:  # the limit is one of all classes
        # The `settings.max_dets` predictions of highest confidence per image; of equal ones the first.
        counts = np.bincount(pred.image, minlength=len(pred.images))
        full = np.flatnonzero((counts > settings.max_dets)[pred.image])
        if len(full) and pred.confidence is not None:
            order = full[np.lexsort((-pred.confidence[full], pred.image[full]))]
            images = pred.image[order]
            rank = np.arange(len(order)) - np.searchsorted(images, images)
            kept = np.ones(len(pred), dtype=np.bool_)
            kept[order[rank >= settings.max_dets]] = False
            pred = pred.where(kept)
    truth, pred = settings.choose(truth, pred)
    said, cells = truth.verdicts, len(truth.labels)
    assert said is not None
    rules = rules_of(settings.rules())
    evaluation = Evaluation(
        truth,
        pred,
        replace(rules, ignored=("ignore",), shared=(), image_limit=settings.max_dets, drops_flat=True),
        thread_count(settings.threads),
        verified=said.cells(cells, ABSENT),
        ignore_if_unmatched=said.cells(cells, INCOMPLETE),
    )
    return LvisResults(evaluation, settings.rules(), settings, findings)
