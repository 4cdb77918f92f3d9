"""Everything that can change COCO's numbers, checked when it is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal

from verite.evaluation.settings import THREADS, RankedSettings
from verite.protocols.keypoints import Sigmas
from verite.settings import Choice, Counts, Flag, Option, Setting, Thresholds

On = Literal["box", "mask", "boundary", "keypoints", "rotated"]
Per = Literal["class", "threshold", "image"]
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

    on: Option[On] = Choice("box", "Compare boxes, masks, masks and their boundaries, keypoints, or rotated boxes.", On)
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
    ignored: Option[Literal["crowd", "explicit"]] = Choice(
        "crowd",
        "What neither rewards nor punishes: crowds as in COCO, or also what says so itself.",
        ("crowd", "explicit"),
    )
    class_agnostic: Option[bool] = Flag(False, "Ask where objects are, not what they are.")
    quirks: Option[Literal["none", "pycocotools"]] = Choice(
        "none",
        "Whose odd ways to repeat, too (ids of 0, repeated ids, NaN).",
        ("none", "pycocotools"),
        flags={"exact": "pycocotools"},
    )
    per: Option[Per] = Choice("class", "What the table has a row for.", Per, is_signed=False, is_common=True)
    threads: Option[int | None] = THREADS

    def usual(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        return KEYPOINT_DEFAULTS if given.get("on") == "keypoints" else {}

    @property
    def is_exact(self) -> bool:
        return self.quirks == "pycocotools"

    @property
    def area_names(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.areas)


def spell_area(area: Area) -> str:
    """The name of a range; one that is not COCO's own with its limits."""
    name, low, high = area
    return name if AREAS.get(name) == (low, high) else f"{name}={low:g}..{high:g}"
