"""One detector of a report: its evaluation, object outcomes and analysis, from which the document is built.

Sections build their data from `EvaluatedDetector`: `results` of the protocol, `overlay` (the outcome of every object),
`counts` (by confidence threshold) and `analysis`, which is None without ground truth or where the protocol keeps no
matches.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.confusion import Confusion
from verite.analysis.errors import ap_of_fixed_sets, error_types
from verite.checks.predictions import find_threshold
from verite.checks.sample import Side
from verite.limits import limit
from verite.model.results import digest_for
from verite.reporting.draw import Overlay
from verite.reporting.report.confidence_counts import ConfidenceCounts
from verite.reporting.report.crops import plain_rings, window_of
from verite.reporting.report.document import Detector, ErrorCosts, Json, Outline, ThresholdScore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.analysis.analyse import Analysis
    from verite.model.results import Results


class EvaluatedDetector:
    """Results of one detector, the outcomes of its objects, and its analysis where the protocol has one."""

    def __init__(self, name: str, results: Results, analysis: Analysis | None) -> None:
        self.name, self.results, self.analysis = name, results, analysis
        self.overlay = Overlay(results)
        self.counts = ConfidenceCounts(self.overlay, analysis)

    @cached_property
    def parts(self) -> dict[str, dict[str, Json]]:
        """JSON of each part of the analysis, without what its classes have in the table of classes."""
        found = {}
        for name, part in ({} if self.analysis is None else self.analysis.parts).items():
            if name not in ("worst", "confusion", "suspicious"):
                plain = part.to_dict()
                if isinstance(plain, dict):
                    plain = {key: v for key, v in plain.items() if key not in ("classes", "temperatures", "signature")}
                found[name] = plain
        return found

    def has_part(self, name: str) -> bool:
        """Whether the analysis has this part."""
        return self.analysis is not None and name in self.analysis.settings.only

    @cached_property
    def confusion(self) -> tuple[Confusion, NDArray[np.int64], NDArray[np.int64] | None] | None:
        """Confusion at the default threshold, the classes with objects or predictions, and their matrix.

        The matrix is None for more classes than the limit `confusion_cells` allows.
        """
        analysis = self.analysis
        if analysis is None or "confusion" not in analysis.parts:
            return None
        confusion = Confusion(analysis.matches, self.counts.confidence, analysis.settings.matching)
        matches = confusion.matches
        used = np.flatnonzero(matches.truth_counts + matches.count_classes(matches.pred_label[matches.counted_pred]))
        is_small = len(used) ** 2 <= limit("confusion_cells")
        return confusion, used, confusion.count_among(used) if is_small else None

    @cached_property
    def fixed_sets(self) -> list[list[float]] | None:
        """AP at each IoU threshold with every set of error types fixed, [threshold][set]; one bit per type.

        AP as it is has seven decimals, with errors fixed it has five.
        """
        if self.analysis is None or not self.has_part("errors") or self.results.protocol == "f1":
            return None
        matches, found = self.analysis.matches, []
        for threshold in range(len(matches.thresholds)):
            values, _ = ap_of_fixed_sets(matches, error_types(matches, threshold))
            means = values[matches.present].mean(axis=0).tolist()
            found.append([round(value, 5 if k else 7) for k, value in enumerate(means)])
        return found if len(matches.present) else None

    def describe(self) -> Detector:
        """Return what every section may need of this detector."""
        results, counts = self.results, self.counts
        signatures: Mapping[str, Any] = {} if self.analysis is None else self.analysis.parts
        return Detector(
            name=self.name,
            file=file_name(results.pred.source.path),
            digest=digest_for(results.signature, results.pred),
            signature=str(results.signature),
            predictions=len(results.pred),
            ignored=int((counts.type < 0).sum()),
            headline=next(iter(results.scores.values())).value,
            scores={key: score.value for key, score in results.scores.items()},
            thresholds=scores_by_threshold(results),
            types=tuple(counts.types),
            choices=tuple(counts.choices),
            steps=counts.curve(),
            best=counts.at(self.overlay.best_confidence),
            iou=self.overlay.iou,
            errors=ErrorCosts.of(self.parts["errors"]) if "errors" in self.parts else None,
            signatures={name: str(part.signature) for name, part in signatures.items()} or None,
            cut_at=self.cut_at,
        )

    @property
    def cut_at(self) -> float | None:
        """The lowest confidence, where predictions were cut at a threshold (V308, whatever its severity)."""
        side = Side(self.results.pred, is_truth=False)
        confidence = self.results.pred.confidence
        return float(np.nanmin(confidence)) if confidence is not None and list(find_threshold(side)) else None

    def outlines(self, truth: int | None, pred: int | None) -> tuple[int, Outline, Outline, list[float]]:
        """Return image, outlines and crop window of a ground-truth object and a prediction.

        Parameters
        ----------
        truth, pred
            Rows of the object and of the prediction; one of them may be None.

        Returns
        -------
        tuple
            Position of the image, rings of both, and left, top, width and height of the crop.
        """
        ours, theirs = (
            [] if row is None else plain_rings(self.overlay.mark(side, row).lines)
            for side, row in (("truth", truth), ("pred", pred))
        )
        image = int(self.overlay.truth.image[truth] if truth is not None else self.overlay.pred.image[pred])
        return image, ours, theirs, window_of([*ours, *theirs], self.overlay.size(image))


def scores_by_threshold(results: Results) -> tuple[ThresholdScore, ...]:
    """Return AP, and AR where the protocol has it, at each IoU threshold; F1 by the protocol f1."""
    from verite.protocols.coco import CocoResults
    from verite.protocols.f1 import F1Results

    ious = results.iou_thresholds
    if isinstance(results, F1Results):
        return tuple(ThresholdScore(iou, tally.f1, None) for iou, tally in zip(ious, results.tallies, strict=True))
    if isinstance(results, CocoResults):
        rows = results.threshold_table().rows
        return tuple(ThresholdScore(iou, ap, ar) for iou, (_, ap, ar) in zip(ious, rows, strict=True))
    values = [score.value for score in results.scores.values()]
    return tuple(ThresholdScore(iou, value, None) for iou, value in zip(ious, values, strict=False))


def file_name(path: str) -> str:
    """Return the file name of a path; folders stay private."""
    return PurePath(path).name
