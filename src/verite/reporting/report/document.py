"""Data of one detector in the report's JSON document: scores, classes, curves, costly errors, images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from math import isfinite
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.parts import AnalyseSettings, ProtocolSettings
from verite.errors import BadParameter, excerpt
from verite.model.results import digest_for
from verite.reporting.draw import MOST_RING_POINTS as MOST_POINTS
from verite.reporting.draw import Overlay
from verite.reporting.report.crops import rings_for, window_of
from verite.reporting.report.layout import is_known
from verite.reporting.report.packed import ConfidenceTally
from verite.settings import check_whole

if TYPE_CHECKING:
    from verite.model.results import Results


# What an analysis can be asked here; how an order is drawn again, and what was checked, are asked of the page.
ELSEWHERE = (*ProtocolSettings.declared, "draws", "audit")

ANALYSIS = tuple(name for name in AnalyseSettings.declared if name not in ELSEWHERE)

MEGABYTE = 1_000_000

PICTURES = ("auto", "link", "embed", "none")


@dataclass(frozen=True)
class ReportSettings:
    """Settings of a report; the report stores them, so that it can be reproduced."""

    title: str | None = None
    pictures: str = "auto"
    budget: int = 4 * MEGABYTE  # bytes without pictures
    picture_budget: int = 8 * MEGABYTE
    draws: int = 200  # bootstrap resamples for the reliability of the ranking
    errors: str | None = None  # simulated annotation errors

    def __post_init__(self) -> None:
        if not isinstance(self.pictures, str) or self.pictures not in PICTURES:
            listed = f"{', '.join(PICTURES[:-1])} or {PICTURES[-1]}"
            raise BadParameter(f"pictures: expected {listed}, found {excerpt(self.pictures)}")
        for word, value in (("budget", self.budget), ("picture_budget", self.picture_budget)):
            check_whole(word, value, 0)
        check_whole("draws", self.draws, 0)
        for word, text in (("title", self.title), ("errors", self.errors)):
            if not isinstance(text, (str, type(None))):
                raise BadParameter(f"{word}: expected text, found {excerpt(text)}")

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(one.name for one in fields(cls))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def changed(self) -> dict[str, Any]:
        """Return the settings that differ from their defaults."""
        usual = ReportSettings().to_dict()
        return {key: value for key, value in self.to_dict().items() if value != usual[key]}


REVISION = 1

MOST_CURVES = 24  # classes with a curve of their own, the worst

MOST_CROPS = 24

LISTED_IMAGES = 60  # in the table without script


class System:
    """One detector: its results, object outcomes, and analysis where the protocol has one."""

    def __init__(self, name: str, results: Results, analysis: Any) -> None:
        self.name, self.results, self.analysis = name, results, analysis
        self.overlay = Overlay(results)
        self.tally = ConfidenceTally(self.overlay, analysis)

    def tell(self, parts: dict[str, Any], most: int) -> dict[str, Any]:
        """Everything about it; of its classes at most so many."""
        results, tally = self.results, self.tally
        best = tally.at(self.overlay.best_confidence)
        return {
            "name": self.name,
            "file": file_name(results.pred.source.path),
            "digest": digest_for(results.signature, results.pred),
            "signature": str(results.signature),
            "preds": len(results.pred),
            "set_aside": int((tally.kind < 0).sum()),
            "headline": next(iter(results.scores.values())).value,
            "scores": {key: score.value for key, score in results.scores.items()},
            "classes": self.tell_classes(most),
            "thresholds": tell_thresholds(results),
            "curves": self.tell_curves(),
            "types": list(tally.types),
            "choices": list(tally.choices),
            "steps": tally.curve(),
            "best": best,
            "look": self.tell_look(),
            "images": self.tell_images(),
            **parts,
        }

    def tell_classes(self, most: int) -> dict[str, Any]:
        """The table of the protocol, the worst classes first; for each the confidence with the best F1, what its errors
        cost, and its optimal LRP.
        """
        table = self.results.class_table()
        head = [word for word in table.head if word not in ("best F1", "at confidence")]
        keep = [i for i, word in enumerate(table.head) if word in head]
        rows = [[row[i] for i in keep] for row in table.rows]
        rows.sort(key=lambda row: (not is_known(row[1]), row[1] if is_known(row[1]) else 0.0))
        names = [row[0] for row in rows[:most]]
        best = dict(zip(self.tally.names, self.tally.best_of_labels, strict=True))
        told = {"count": len(rows), "head": head, "rows": rows[:most]}
        told |= {"mean": [table.mean[i] if table.mean else None for i in keep]}
        told |= {"best_at": [best.get(name) for name in names]}
        return told | ({} if self.analysis is None else self.tell_label_errors(names))

    def tell_label_errors(self, names: list[str]) -> dict[str, Any]:
        analysis, found = self.analysis, {}
        places = {name: k for k, name in enumerate(analysis.matches.names)}
        if "errors" in analysis.settings.only:
            cost, truths = analysis.errors.label_cost, analysis.matches.truth_counts
            known = [places.get(name, -1) for name in names]
            found["cost"] = [cost[k].round(5).tolist() if k >= 0 and truths[k] else None for k in known]
        if "lrp" in analysis.settings.only:
            optima = analysis.lrp.optima
            found["oLRP"] = [optima[k].olrp if (k := places.get(name, -1)) in optima else None for name in names]
        return found

    def tell_curves(self) -> dict[str, Any]:
        """Precision against recall of the worst classes, and of all, where they change."""
        curves = curves_of(self.results, self.overlay.iou)
        worst = sorted(curves, key=lambda one: (one[1], one[0]))[:MOST_CURVES]
        listed = [{"label": label, "AP": ap, "points": thin_curve(*points)} for label, ap, points in worst]
        return {"iou": self.overlay.iou, "count": len(curves), "worst": listed, "mean": mean_curve(curves)}

    def tell_look(self) -> list[dict[str, Any]]:
        """Return the errors with the highest cost, with outlines and crop windows."""
        told = plain_errors(self) if self.analysis is None else costly_errors(self.analysis)
        return [self.tell_error(**one) for one in told[:MOST_CROPS]]

    def tell_error(self, error: str, pred: int | None, truth: int | None, cost: float | None, iou: float | None) -> Any:
        sides = self.overlay.truth, self.overlay.pred
        shapes = [
            [] if row is None else rings_for(self.overlay.mark(name, row).lines)
            for name, row in (("truth", truth), ("pred", pred))
        ]
        labels = [
            None if row is None else side.labels.all_names[side.label[row]]
            for side, row in zip(sides, (truth, pred), strict=True)
        ]
        image = int(sides[0].image[truth] if truth is not None else sides[1].image[pred])
        return {
            "image": image,
            "error": error,
            "truth_label": labels[0],
            "label": labels[1],
            "confidence": None if pred is None else float(self.overlay.sureness[pred]),
            "iou": iou,
            "cost": cost,
            "truth": shapes[0],
            "pred": shapes[1],
            "window": window_of([*shapes[0], *shapes[1]], self.overlay.size(image)),
        }

    def tell_suspect(self, one: dict[str, Any]) -> dict[str, Any]:
        """A record that is probably wrong, with what is needed to draw it."""
        error = self.tell_error(one["kind"], one["pred"], one["truth"], one["cost"], one["iou"])
        keys = ("image", "truth", "pred", "window")
        kept = {key: one[key] for key in ("kind", "probability", "reason")}
        return {key: error[key] for key in keys} | kept | {"row": one["truth"]}

    def tell_images(self) -> list[dict[str, Any]]:
        """The worst images at the best confidence."""
        counts = self.overlay.by_image
        truths = np.bincount(self.overlay.truth.image[self.overlay.finds.counted_truth], minlength=len(counts["found"]))
        cost = None if self.analysis is None else self.analysis.worst.of_images
        key = counts["missed"] + counts["wrong"] if cost is None else cost[: len(truths)]
        errors = counts["missed"] + counts["wrong"]
        order = np.lexsort((-errors, -key))[:LISTED_IMAGES]  # an error may cost nothing
        return [
            {
                "image": int(i),
                "truths": int(truths[i]),
                "right": int(counts["found"][i]),
                "wrong": int(counts["wrong"][i]),
                "missed": int(counts["missed"][i]),
                "cost": None if cost is None else float(cost[i]),
            }
            for i in order
            if key[i] > 0 or errors[i] > 0
        ]


def costly_errors(analysis: Any) -> list[dict[str, Any]]:
    """Return false positives and missed objects by falling cost in AP."""
    worst = analysis.worst
    told = [worst.pred_dict(int(row)) | {"side": "pred"} for row in worst.preds(MOST_CROPS)]
    told += [worst.truth_dict(int(row)) | {"side": "truth"} for row in worst.truths(MOST_CROPS)]
    told.sort(key=lambda one: -one["cost"])
    return [
        {
            "error": one["error"],
            "pred": one["row"] if one["side"] == "pred" else None,
            "truth": one["truth"] if one["side"] == "pred" else one["row"],
            "cost": one["cost"],
            "iou": one.get("iou"),
        }
        for one in told
        if one["cost"] > 0
    ]


def plain_errors(system: System) -> list[dict[str, Any]]:
    """Return false positives by falling confidence and missed objects by falling area, without costs."""
    overlay = system.overlay
    wrong = np.flatnonzero(system.tally.kind > 0)
    wrong = wrong[np.argsort(-overlay.sureness[wrong], kind="stable")][: MOST_CROPS // 2]
    missed = np.flatnonzero(overlay.finds.counted_truth & (overlay.finds.matched_pred < 0))
    sizes = overlay.truth.regions.sizes[missed]
    missed = missed[np.argsort(-(sizes[:, 2] * sizes[:, 3]), kind="stable")][: MOST_CROPS // 2]
    none: dict[str, Any] = {"cost": None, "iou": None}
    listed = [{"error": "wrong", "pred": int(row), "truth": None, **none} for row in wrong]
    return listed + [{"error": "missed", "pred": None, "truth": int(row), **none} for row in missed]


def curves_of(results: Results, iou: float) -> list[tuple[str, float, tuple[Any, Any]]]:
    """For each class with truths its name, its first score, and precision against recall at one overlap."""
    aps = dict(zip(results.class_names, results.class_scores()[next(iter(results.scores))], strict=True))
    settings: Any = getattr(results, "settings", None)
    t = [abs(one - iou) < 1e-9 for one in settings.iou].index(True)
    if hasattr(results, "curve_table"):
        table = results.curve_table[t]
        recall = np.linspace(0, 1, len(table))
        points = {name: (recall, table[:, k]) for k, name in enumerate(results.class_names)}
    else:
        from verite.reporting.plots import stairs

        points = {name: stairs(curve) for name, curve in results.curves[t].items() if curve.truths}  # type: ignore[attr-defined]
    return [(name, ap, points[name]) for name, ap in aps.items() if isfinite(ap) and name in points]


def mean_curve(curves: Sequence[tuple[str, float, tuple[Any, Any]]]) -> list[list[float]]:
    """The mean over classes, at 101 recalls."""
    if not curves:
        return []
    recall = np.linspace(0, 1, 101)
    mean = np.mean([np.interp(recall, *points) for _, _, points in curves], axis=0)
    return thin_curve(recall, mean)


def thin_curve(x: Any, y: Any) -> list[list[float]]:
    """The points of a curve where it bends."""
    x, y = np.round(np.asarray(x, dtype=float), 4), np.round(np.asarray(y, dtype=float), 4)
    if len(x) < 3:
        return list(np.stack([x, y], axis=1).tolist())
    bends = np.diff(y[:-1]) * np.diff(x[1:]) != np.diff(y[1:]) * np.diff(x[:-1])
    keep = np.concatenate([[True], bends, [True]])
    keep[1:-1] |= (y[1:-1] != y[:-2]) | (y[1:-1] != y[2:])
    points = np.stack([x[keep], y[keep]], axis=1)
    if len(points) > MOST_POINTS:
        points = points[np.linspace(0, len(points) - 1, MOST_POINTS).astype(int)]
    return list(points.tolist())


def tell_thresholds(results: Results) -> list[dict[str, Any]]:
    """The score at each overlap, where there are several."""
    from verite.protocols.coco import CocoResults

    settings: Any = getattr(results, "settings", None)
    if isinstance(results, CocoResults):
        rows = results.threshold_table().rows
        return [{"iou": t, "AP": ap, "AR": ar} for t, (_, ap, ar) in zip(settings.iou, rows, strict=True)]
    values = [score.value for score in results.scores.values()]
    return [{"iou": t, "AP": value, "AR": None} for t, value in zip(settings.iou, values, strict=False)]


def file_name(path: str) -> str:
    """Return the file name of a path; folders stay private."""
    return PurePath(path).name


def tell_truth(systems: Sequence[System]) -> dict[str, Any]:
    truth, first = systems[0].results.truth, systems[0]
    asked = first.overlay.finds.counted_truth
    return {
        "file": file_name(truth.source.path),
        "format": truth.source.format,
        "digest": digest_for(first.results.signature, truth),
        "objects": int(asked.sum()),
        "set_aside": int((~asked).sum()),
        "images": len(truth.images),
        "classes": int((first.tally.truths > 0).sum()),
        "labels": list(first.tally.names),
        "asked": first.tally.truths.tolist(),
        "unit": truth.unit,
    }


def tell_findings(systems: Sequence[System]) -> list[dict[str, Any]]:
    """Return the findings of the checks, each once, with the detector it concerns."""
    found: dict[str, dict[str, Any]] = {}
    for system in systems:
        for finding in system.results.findings:
            key = "truth" if finding.side == "truth" else system.name
            found.setdefault(f"{key}|{finding}", finding.to_dict() | {"of": key})
    return list(found.values())
