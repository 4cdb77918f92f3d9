"""Where is it good and where not? Recall and AP of slices, compared with what chance would give.

Objects, COCO's way: truths outside a slice neither reward nor punish. AP of a slice is asked only where a box has the
property by itself, so that wrong predictions outside it can be left out, too; beside it stands AP with normalised
precision (Hoiem, Chodpathumwan, Dai, ECCV 2012), which does not depend on how many truths the slice has. Image slices
are compared with random sets of as many images, never with the rest: AP of few images lies above that of many.
"""

from __future__ import annotations

from functools import cached_property
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.parts import AnalysisPart, interval, sign, tell_set_aside
from verite.analysis.properties import BUILT_IN, Property, find_property
from verite.model.tables import Table
from verite.statistics.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verite.analysis.matches import AnalysisMatches, Bools, Floats, Ints
    from verite.analysis.parts import ImageBootstrap
    from verite.model.tables import Part
    from verite.signature import Signature

LEAST_TRUTHS = 30  # of a slice that is ranked
RANDOM_SETS = 200  # where nobody says how many


class Slices(AnalysisPart):
    """A row for each bin of each property."""

    name = "slices"

    def __init__(
        self,
        matches: AnalysisMatches,
        specs: Sequence[str] = (),
        meta: dict[str, list[str | None]] | None = None,
        drawn: ImageBootstrap | None = None,
        seed: int = 0,
    ) -> None:
        self.matches, self.drawn, self.seed = matches, drawn, seed
        self.sets = drawn.count if drawn else RANDOM_SETS
        self.specs = tuple(specs) or (*BUILT_IN, *(meta or ()))
        found = [find_property(matches, spec, meta) for spec in self.specs]
        self.properties = [one for one in found if isinstance(one, Property)]
        self.absent = [one for one in found if isinstance(one, str)]

    @property
    def signature(self) -> Signature:
        drawn = {"draws": 0, "seed": self.seed} if self.drawn is None else self.drawn.settings
        return sign("slices", self.matches, slices=list(self.specs), fp="shared", sets=self.sets, **drawn)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for one in self.properties:
            ap = self.find_ap(one)
            for code, name in enumerate(one.bins):
                found.append(self.describe(one, code, name) | ap[code])
        adjust(found)
        return found

    def describe(self, one: Property, code: int, name: str) -> dict[str, Any]:
        """Counts, recall with its interval, and AP with normalised precision at the single threshold."""
        matches = self.matches
        inside = (one.of_truths == code) & matches.is_asked
        is_found = inside & (matches.outcomes.pred >= 0)
        truths, found = int(inside.sum()), int(is_found.sum())
        low, high = self.bound_recall(is_found, inside) if truths else (nan, nan)
        if one.of_preds is not None:
            preds = int((matches.is_counted & (one.of_preds == code)).sum())
        elif one.of_images is not None:
            padded = np.append(one.of_images, np.full(matches.image_count - len(one.of_images), -1))
            preds = int((matches.is_counted & (padded[matches.pred.image] == code)).sum())
        elif one.of_labels is not None:
            preds = int((matches.is_counted & (matches.of_preds(one.of_labels, -1) == code)).sum())
        else:
            preds = int(matches.is_counted.sum())
        return {
            "slice": one.name,
            "bin": name,
            "kind": one.kind,
            "images": len(np.unique(matches.truth.image[inside])),
            "truths": truths,
            "preds": preds,
            "recall": found / truths if truths else nan,
            "recall_low": low,
            "recall_high": high,
            "normalised_AP": normalise(matches, inside),
            "is_ranked": truths >= LEAST_TRUTHS,
        }

    def bound_recall(self, found: Bools, inside: Bools) -> tuple[float, float]:
        """Over the choice of images where they are drawn, else Wilson's, as if objects were independent."""
        if self.drawn is None:
            return wilson(float(found.sum() / inside.sum()), int(inside.sum()))
        matches = self.matches
        counts = (np.bincount(matches.truth.image[one], minlength=matches.image_count) for one in (found, inside))
        return interval(self.drawn.ratio(*counts))

    def find_ap(self, one: Property) -> list[dict[str, Any]]:
        """AP of each bin where that means something."""
        none: dict[str, Any] = {"AP": nan, "difference": nan, "low": nan, "high": nan, "p": nan}
        if one.of_labels is not None:
            values = dict(zip(self.matches.results.class_names, self.class_ap, strict=True))
            of_label = np.array([values.get(name, nan) for name in self.matches.names])
            chosen = [of_label[(one.of_labels == code) & ~np.isnan(of_label)] for code in range(len(one.bins))]
            return [none | {"AP": float(part.mean()) if len(part) else nan} for part in chosen]
        if one.of_images is not None:
            return [none | self.compare_images(one.of_images == code) for code in range(len(one.bins))]
        if one.of_preds is None:
            return [none] * len(one.bins)
        bins = self.matches.results.bin_means(one.of_truths, one.of_preds, len(one.bins), one.areas)
        return [none | {"AP": value} for value in bins]

    @cached_property
    def class_ap(self) -> list[float]:
        return next(iter(self.matches.results.class_scores().values()))

    def compare_images(self, inside: Any) -> dict[str, Any]:
        """AP of these images, and how it lies among those of random sets of as many."""
        results, count = self.matches.results, len(self.matches.truth.images)
        chosen = np.flatnonzero(np.asarray(inside)[:count])
        if not len(chosen):
            return {}
        random = np.random.Generator(np.random.PCG64(self.seed))
        weights = np.zeros((self.sets + 1, count))
        weights[0, chosen] = 1
        for row in weights[1:]:
            row[random.permutation(count)[: len(chosen)]] = 1
        drawn = results.draw_scores([next(iter(results.scores))], weights)[:, 0]
        own, others = float(drawn[0]), drawn[1:]
        others = others[~np.isnan(others)]
        if isnan(own) or not len(others):
            return {"AP": own}
        middle = float(others.mean())
        low, high = interval(own - others)
        more = int((np.abs(others - middle) >= abs(own - middle) - 1e-12).sum())
        return {"AP": own, "difference": own - middle, "low": low, "high": high, "p": (more + 1) / (len(others) + 1)}

    def worst(self, most: int = 3) -> list[dict[str, Any]]:
        """Slices with enough truths by how far their recall lies below that of all."""
        total = int((self.matches.is_asked & (self.matches.outcomes.pred >= 0)).sum())
        base = total / max(int(self.matches.truths.sum()), 1)
        below = [one for one in self.rows if one["is_ranked"] and one["recall_high"] < base]
        return sorted(below, key=lambda one: one["recall"] - base)[:most]

    def sentences(self, most: int = 3) -> list[str]:
        return [
            f"{one['slice']} {one['bin']}: recall {one['recall']:.3f} [{one['recall_low']:.3f}, "
            f"{one['recall_high']:.3f}] of {one['truths']:,} truths"
            for one in self.worst(most)
        ]

    def table(self) -> Table:
        names = [f"{one['slice']}: {one['bin']}" for one in self.rows]
        return Table.of("slice", names, {head: [one[key] for one in self.rows] for head, key in HEADS.items()})

    def contents(self) -> list[Part]:
        notes = [one.note for one in self.properties if one.note]
        few = f"slices under {LEAST_TRUTHS} truths are listed, not ranked; AP of slices with other numbers of truths "
        few += "compares only as normalised AP"
        return [
            self.table(),
            *self.sentences(),
            *notes,
            *self.absent,
            few,
            tell_set_aside(self.matches),
            self.signature,
        ]

    def to_dict(self) -> list[dict[str, Any]]:  # type: ignore[override]
        return self.rows


HEADS = {"images": "images", "truths": "truths", "preds": "preds", "recall": "recall", "from": "recall_low",
         "to": "recall_high", "AP": "AP", "normalised AP": "normalised_AP", "difference": "difference",
         "p (Holm)": "p_holm"}  # fmt: skip


def adjust(rows: list[dict[str, Any]]) -> None:
    """Holm's p over the slices that have one."""
    tested = sorted((one for one in rows if not isnan(one["p"])), key=lambda one: one["p"])
    least = 0.0
    for place, one in enumerate(tested):
        least = max(least, min(1.0, one["p"] * (len(tested) - place)))
        one["p_holm"] = least
    for one in rows:
        one.setdefault("p_holm", nan)


def normalise(matches: AnalysisMatches, inside: Any) -> float:
    """AP at the single threshold as if the slice had as many truths of each label as there are: the wrong predictions
    of a label are shared by all slices, and right ones outside it are left out.
    """
    found = []
    counts: Ints = matches.count(matches.truth_label[inside])
    hits, wrong_before, parts = matches.hits
    mine = inside[matches.outcomes.truth[hits]]
    for label in np.flatnonzero(counts).tolist():
        wrong = wrong_before[parts[label]][mine[parts[label]]]
        recall = np.arange(1, len(wrong) + 1) / counts[label]
        scaled = recall * matches.truths[label]
        best: Floats = np.append(np.maximum.accumulate((scaled / (scaled + wrong))[::-1])[::-1], 0.0)
        at = np.minimum(matches.tp_needed_per_recall(int(counts[label])) - 1, len(wrong))
        found.append(float(best[at].mean()))
    return float(np.mean(found)) if found else nan
