"""Where do numbers on this page differ on purpose from what other tools would say of the same files?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from verite.records import record
from verite.reporting.page.document import System
from verite.reporting.page.words import count_of

LIKE_COCO = ("coco", "lvis")  # protocols whose reference finds truths by their ids


@record()
class Deviation:
    """A row of the documentation's table, and when it applies: how often, or 0."""

    name: str
    said: str
    count: Callable[[System], int]


def labels_without_truths(system: System) -> int:
    """Classes that only predictions have."""
    counted = system.tally.kind >= 0
    claimed = np.bincount(system.tally.pred.label[counted], minlength=len(system.tally.names))
    return int(((claimed > 0) & (system.tally.truths == 0)).sum())


def is_empty(system: System) -> int:
    return int(system.results.protocol in LIKE_COCO and not len(system.results.pred))


def truths_named_zero(system: System) -> int:
    ids = ids_of(system)
    return int((ids == 0).sum())


def truths_named_alike(system: System) -> int:
    ids = ids_of(system)
    return len(ids) - len(np.unique(ids))


def ids_of(system: System) -> Any:
    """Of the truths, where the reference reads them and its quirks are not repeated."""
    ids = system.results.truth.ids
    repeats = getattr(getattr(system.results, "settings", None), "is_exact", False)
    return np.zeros(0) if ids is None or repeats or system.results.protocol != "coco" else ids


def has(part: str) -> Callable[[System], int]:
    """Whether the page shows a part of the analysis."""
    return lambda system: int(system.analysis is not None and part in system.analysis.settings.only)


def pairs_right_first(system: System) -> int:
    return has("confusion")(system) and int(system.analysis.settings.matching == "same-first")


DEVIATIONS = (
    Deviation("class-without-truths", "{many} without truths: absent, and in no mean", labels_without_truths),
    Deviation("no-results", "no predictions: AP is 0, where the reference ends with an error", is_empty),
    Deviation("truth-id-zero", "a truth with the id 0 can be found", truths_named_zero),
    Deviation("repeated-truth-ids", "truths with the id of another are truths of their own", truths_named_alike),
    Deviation("tide-adds-up", "costs of errors add up, beside what each would gain alone", has("errors")),
    Deviation("lrp-equal-confidences", "LRP only where a threshold can be set", has("lrp")),
    Deviation("confusion-same-label-first", "right predictions keep their truths", pairs_right_first),
    Deviation("best-f1-exists", "the best F1 is at a confidence that occurs, nothing is smoothed", has("operating")),
)  # fmt: skip


def tell_deviations(system: System) -> list[dict[str, str]]:
    """Those that apply to a system."""
    found = [(one, one.count(system)) for one in DEVIATIONS]
    return [
        {"name": one.name, "said": one.said.format(many=count_of(many, "class", "classes"))}
        for one, many in found
        if many
    ]
