"""What can every evaluation be asked? Which classes, by how many threads, and how regions are laid on each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from verite.errors import BadParameter, did_you_mean
from verite.evaluation.floors import Floor, sure_enough
from verite.settings import Choice, Count, Names, Option, Setting, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verite.model.annotations import Annotations

Regions = Literal["common", "box", "given"]
Pixel = Literal["continuous", "plus1"]
Ignored = Literal["skip", "count"]
PolygonRule = Literal["coco", "centre"]


class EvaluationSettings(Settings):
    """What every evaluation can be asked."""

    name: Option[str | None] = Setting(
        None, "What the system is called.", is_signed=False, is_common=True, has_option=False
    )
    checks: Option[Literal["stop", "warn", "off"]] = Choice(
        "stop", "What to do when the files look wrong.", ("stop", "warn", "off"), is_signed=False, is_common=True
    )


class ClassSettings(EvaluationSettings):
    """What evaluations can be asked that know classes."""

    labels: Setting[Iterable[str] | None, tuple[str, ...] | None] = Names(
        None, "Only this class; may be repeated.", names=["class"], metavar="NAME", is_common=True
    )

    def check_labels(self, names: Sequence[str]) -> None:
        """The chosen classes are among these."""
        for label in self.labels or ():
            if label not in names:
                raise BadParameter(f"label: expected one of {len(names)}, found {label!r}{did_you_mean(label, names)}")

    def choose(self, truth: Annotations, pred: Annotations) -> tuple[Annotations, Annotations]:
        """Both sides with the chosen classes alone."""
        if self.labels is None:
            return truth, pred
        return truth.only(self.labels), pred.only([n for n in pred.labels.all_names if n in set(self.labels)])


class ShardedSettings(ClassSettings):
    """What evaluations can be asked that are made of parts."""

    executor: Option[Any] = Setting(
        None, "Who evaluates shards: a concurrent.futures.Executor.", is_signed=False, is_common=True, has_option=False
    )
    parts: Option[int | None] = Count(
        None,
        "Evaluate shards in so many parts, for less memory.",
        default_text="all at once",
        is_signed=False,
        is_common=True,
    )


THREADS: Option[int | None] = Count(
    None, "Threads.", short="-j", default_text="one per core", is_signed=False, is_common=True
)
MAX_IMAGE_DETS: Option[int | None] = Count(
    None, "Predictions per image that count, over all classes.", default_text="all", is_quiet=True
)


BELOW = "Leave out predictions below this confidence, or below that of their class in a thresholds.json."


class RankedSettings(ShardedSettings):
    """What evaluations can be asked that take predictions by falling confidence."""

    confidence: Floor = Floor(None, BELOW, metavar="C|FILE", default_text="none is left out", is_common=True)

    def choose(self, truth: Annotations, pred: Annotations) -> tuple[Annotations, Annotations]:
        """Both sides with the chosen classes alone, and predictions that are sure enough."""
        truth, pred = super().choose(truth, pred)
        return truth, self.choose_sure(pred)

    def choose_sure(self, pred: Annotations) -> Annotations:
        if self.confidence is None or pred.confidence is None:
            return pred
        return pred.where(sure_enough(pred, self.confidence))


class Confidence(Floor):
    """A floor that signatures always mention."""

    def spell(self, value: object) -> object:
        return "all" if value is None else value


class ComparisonSettings(ClassSettings):
    """Which regions of two sides are compared, and as what."""

    regions: Option[Regions] = Choice(
        "common", "Compare what both sides have, boxes always, or each region as it is.", Regions, is_common=True
    )
    pixel: Option[Pixel] = Choice(
        "continuous", "A box's width is x2 - x1, or x2 - x1 + 1 (pixel indices).", Pixel, is_common=True
    )
    polygons: Option[PolygonRule] = Choice(
        "coco",
        "Which pixels a polygon covers: COCO's rule, or those whose middle is inside.",
        PolygonRule,
        is_common=True,
    )
    confidence: Confidence = Confidence(None, BELOW, metavar="C|FILE", default_text="none is left out", is_common=True)
    ignored: Option[Ignored] = Choice(
        "skip",
        "Crowds, groups and difficult objects neither reward nor punish, or count like others.",
        Ignored,
        is_common=True,
    )
