"""Everything that can change COCO's numbers, checked when it is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from verite.evaluation.settings import MAX_IMAGE_DETS, THREADS, RankedSettings
from verite.evaluation.similarities import On, on_setting
from verite.protocols.keypoints import Sigmas
from verite.records import replace
from verite.settings import Choice, Counts, Flag, Option, Setting, Thresholds

if TYPE_CHECKING:
    from verite.model.annotations import Annotations

Per = Literal["class", "threshold", "image"]
Ignored = Literal["crowd", "explicit", "count", "drop"]
Ties = Literal["id", "file", "row"]
Quirks = Literal["none", "pycocotools", "torchmetrics"]
Area = tuple[str, float, float]
# Evenly spaced as numpy's linspace, the reference's, has them; the ninth threshold is 0.8999999999999999.
THRESHOLDS = (*(i * ((0.95 - 0.5) / 9) + 0.5 for i in range(9)), 0.95)
RECALLS = (*(i * 0.01 for i in range(100)), 1.0)
AREAS = {
    "all": (0.0, 1e5**2),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e5**2),
}
LIMITS = (1, 10, 100)
# Keypoints are not asked of small objects, and at most twenty predictions count.
KEYPOINT_DEFAULTS: dict[str, Any] = {
    "areas": tuple((name, *AREAS[name]) for name in ("all", "medium", "large")),
    "max_dets": (20,),
}
# What torchmetrics does otherwise where nobody tells it of crowds and areas, images coming in the order of the file.
TORCHMETRICS: dict[str, Any] = {"ignored": "count", "area_from": "box", "ties": "file"}
# The reference matches at min(threshold, 1 - 1e-10), so that a threshold of 1 can be reached.
HIGHEST = 1 - 1e-10
MOST_AREAS = 24


class CocoThresholds(Thresholds[float | Sequence[float] | None, tuple[float, ...]]):
    def __init__(self) -> None:
        text = "IoU from which a prediction is right; may be repeated."
        super().__init__(THRESHOLDS, text, short="-t", default_text="0.5 to 0.95 by 0.05")

    def spell(self, value: Sequence[float]) -> object:
        """COCO's ten in short, others one by one."""
        return "0.50:0.05:0.95" if tuple(value) == THRESHOLDS else list(value)


class Areas(Setting[Mapping[str, Sequence[float]] | Sequence[Area] | None, tuple[Area, ...]]):
    """Named ranges of areas."""

    kind = "area"
    is_repeated = True

    def hold(self, value: Any) -> tuple[Area, ...]:
        ranges = [(k, *v) for k, v in value.items()] if isinstance(value, Mapping) else list(value)
        if not 0 < len(ranges) <= MOST_AREAS:
            raise self.refuse(f"1 to {MOST_AREAS} ranges", len(ranges))
        for name, *limits in ranges:
            if len(limits) != 2:
                raise self.refuse(f"two limits for {name!r}", len(limits))
            if not limits[0] <= limits[1]:
                raise self.refuse(f"{name!r} to rise", f"{limits[0]:g} to {limits[1]:g}")
        if len({name for name, *_ in ranges}) < len(ranges):
            raise self.refuse("each name once", [name for name, *_ in ranges])
        return tuple((str(name), float(low), float(high)) for name, low, high in ranges)

    def spell(self, value: Sequence[Area]) -> object:
        return ",".join(map(spell_area, value))


class CocoSettings(RankedSettings):
    """What is compared, from which overlap, for objects of which size, and how many predictions count."""

    on: Option[On] = on_setting()
    iou: CocoThresholds = CocoThresholds()
    areas: Areas = Areas(
        tuple((name, *limits) for name, limits in AREAS.items()),
        "Range of areas in square pixels; may be repeated, the first one is the headline.",
        names=["area"],
        default_text="all, small, medium, large; of keypoints all, medium, large",
    )
    max_dets: Setting[int | Sequence[int] | None, tuple[int, ...]] = Counts(
        LIMITS,
        "Predictions per class and image that count; may be repeated.",
        short="-n",
        default_text="1, 10, 100; of keypoints 20",
    )
    sigmas: Setting[str | PathLike[str] | Sequence[float] | None, tuple[float, ...] | Literal["truth"] | None] = (
        Sigmas()
    )
    ignored: Option[Ignored] = Choice(
        "crowd",
        "What neither rewards nor punishes: crowds as in COCO, also what says so itself, nothing, or it is not there.",
        Ignored,
    )
    area_from: Option[Literal["file", "box"]] = Choice(
        "file", "The area of a truth is what its file states, or that of its box.", ("file", "box"), is_quiet=True
    )
    ties: Option[Ties] = Choice(
        "id",
        "Equal confidences by ids of images, in the order of images in the truth's file, or of predictions in theirs.",
        Ties,
        is_quiet=True,
    )
    max_image_dets: Option[int | None] = MAX_IMAGE_DETS
    class_agnostic: Option[bool] = Flag(False, "Ask where objects are, not what they are.")
    quirks: Option[Quirks] = Choice(
        "none",
        "Whose odd ways to repeat, too: ids of 0, repeated ids, NaN; or no crowds, and areas of boxes.",
        Quirks,
        flags={"exact": "pycocotools"},
    )
    per: Option[Per] = Choice("class", "What the table has a row for.", Per, is_signed=False, is_common=True)
    threads: Option[int | None] = THREADS

    def usual(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        usual = KEYPOINT_DEFAULTS if given.get("on") == "keypoints" else {}
        return {**usual, **TORCHMETRICS} if given.get("quirks") == "torchmetrics" else usual

    def choose(self, truth: Annotations, pred: Annotations) -> tuple[Annotations, Annotations]:
        """Both sides with what is asked for alone; areas that are not asked for are forgotten."""
        truth, pred = super().choose(truth, pred)
        if self.ignored == "drop":
            truth = truth.where(~truth.ignored)
        if self.area_from == "box":
            truth = replace(truth, area=None)
        return number_images(truth, pred) if self.ties == "file" else (truth, pred)

    @property
    def is_exact(self) -> bool:
        return self.quirks == "pycocotools"

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Of overlaps, as they are compared."""
        return tuple(map(single, self.iou)) if self.quirks == "torchmetrics" else self.iou

    @property
    def recalls(self) -> tuple[float, ...]:
        """Where precision is read."""
        return spread_in_single(0, 1, len(RECALLS)) if self.quirks == "torchmetrics" else RECALLS

    @property
    def area_names(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.areas)


def spell_area(area: Area) -> str:
    """The name of a range; one that is not COCO's own with its limits."""
    name, low, high = area
    return name if AREAS.get(name) == (low, high) else f"{name}={low:g}..{high:g}"


def number_images(truth: Annotations, pred: Annotations) -> tuple[Annotations, Annotations]:
    """The same with ids of images in the order of the truth's file."""
    from verite.model.images import Images

    old = truth.images
    names = [old.name(i) for i in range(len(old))]
    images = Images(names, range(len(old)), widths=old.widths, heights=old.heights)
    return truth.changed(images=images), pred.changed(images=images) if len(pred.images) == len(old) else pred


def single(value: float) -> float:
    """The nearest number of single precision, in which torch computes by default."""
    from array import array

    return array("f", [value])[0]


def spread_in_single(first: float, last: float, count: int) -> tuple[float, ...]:
    """Evenly spaced numbers as torch's linspace has them: from either end to the middle, rounded once."""
    first, last = single(first), single(last)
    step = single(single(last - first) / (count - 1))
    rising = [single(first + step * i) for i in range(count // 2)]
    return (*rising, *(single(last - step * (count - 1 - i)) for i in range(count // 2, count)))
