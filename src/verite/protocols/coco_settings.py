"""Everything that can change COCO's numbers, checked when it is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from verite.arrays import np
from verite.errors import BadParameter, check_choices
from verite.records import record
from verite.signature import Signature

if TYPE_CHECKING:
    from numpy.typing import NDArray

On = Literal["box", "mask", "boundary"]
CHOICES = {
    "on": ("box", "mask", "boundary"),
    "ignore": ("crowd", "explicit"),
    "classes": ("each", "together"),
    "mode": ("verite", "pycocotools"),
}
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
# The reference matches at min(threshold, 1 - 1e-10), so that a threshold of 1 can be reached.
HIGHEST = 1 - 1e-10
MOST_THRESHOLDS, MOST_AREAS = 64, 24


@record()
class Settings:
    """What is compared, from which overlap, for objects of which size, and how many predictions count."""

    on: On = "box"
    iou: tuple[float, ...] = THRESHOLDS
    areas: tuple[tuple[str, float, float], ...] = tuple((name, *limits) for name, limits in AREAS.items())
    max_dets: tuple[int, ...] = LIMITS
    ignore: Literal["crowd", "explicit"] = "crowd"
    classes: Literal["each", "together"] = "each"
    mode: Literal["verite", "pycocotools"] = "verite"
    labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_choices(self, CHOICES)
        check_thresholds(self.iou)
        check_areas(self.areas)
        if not self.max_dets or min(self.max_dets) < 1 or max(self.max_dets) >= 2**31:
            raise BadParameter(f"max_dets: expected numbers of predictions from 1 up, found {list(self.max_dets)}")

    @classmethod
    def of(
        cls,
        *,
        iou: float | Sequence[float] | None,
        areas: Mapping[str, Sequence[float]] | None,
        max_dets: int | Sequence[int] | None,
        labels: Sequence[str] | None,
        **choices: str,
    ) -> Settings:
        """From what a user gives; None stands for COCO's own."""
        given: dict[str, object] = dict(choices)
        if iou is not None:
            given["iou"] = tuple(float(t) for t in ([iou] if isinstance(iou, (int, float)) else iou))
        if areas is not None:
            for name, limits in areas.items():
                if len(limits) != 2:
                    raise BadParameter(f"areas: expected two limits for {name!r}, found {len(limits)}")
            given["areas"] = tuple((str(name), float(low), float(high)) for name, (low, high) in areas.items())
        if max_dets is not None:
            given["max_dets"] = tuple(sorted({int(n) for n in ([max_dets] if isinstance(max_dets, int) else max_dets)}))
        return cls(labels=tuple(labels) if labels is not None else None, **given)  # type: ignore[arg-type]

    @property
    def recalls(self) -> NDArray[np.float64]:
        """Where precision is read."""
        return np.array(RECALLS)

    @property
    def is_exact(self) -> bool:
        return self.mode == "pycocotools"

    @property
    def area_names(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.areas)

    def signature(self, name: str, *, iou: float | None, area: str | None, most: int | None) -> Signature:
        """Of one score, or with None of all of them."""
        limits = list(self.max_dets) if most is None else most
        rules = {"max_dets": limits, "ignore": self.ignore, "classes": self.classes, "mode": self.mode}
        return self.signed(name, iou, area, **rules)

    def signed(self, name: str, iou: float | None, area: str | None, **rules: object) -> Signature:
        """A signature with these rules besides what every score depends on."""
        extra: dict[str, object] = {} if self.labels is None else {"labels": self.labels}
        return Signature.of(
            name,
            on=self.on,
            iou=spell_thresholds(self.iou) if iou is None else iou,
            area=spell_areas(self.areas, area),
            **rules,
            **extra,
            rev=1,
        )


def check_thresholds(thresholds: Sequence[float]) -> None:
    if not 0 < len(thresholds) <= MOST_THRESHOLDS:
        raise BadParameter(f"iou: expected 1 to {MOST_THRESHOLDS} thresholds, found {len(thresholds)}")
    for threshold in thresholds:
        if not 0 < threshold <= 1:
            raise BadParameter(f"iou: expected a threshold above 0 and up to 1, found {threshold}")
    if len(set(thresholds)) < len(thresholds):
        raise BadParameter(f"iou: expected each threshold once, found {list(thresholds)}")


def check_areas(areas: Sequence[tuple[str, float, float]]) -> None:
    if not 0 < len(areas) <= MOST_AREAS:
        raise BadParameter(f"areas: expected 1 to {MOST_AREAS} ranges, found {len(areas)}")
    for name, low, high in areas:
        if not low <= high:
            raise BadParameter(f"areas: expected {name!r} to rise, found {low:g} to {high:g}")
    if len({name for name, _, _ in areas}) < len(areas):
        raise BadParameter(f"areas: expected each name once, found {[name for name, _, _ in areas]}")


def spell_thresholds(thresholds: Sequence[float]) -> object:
    """COCO's ten in short, others one by one."""
    return "0.50:0.05:0.95" if tuple(thresholds) == THRESHOLDS else list(thresholds)


def spell_areas(areas: Sequence[tuple[str, float, float]], chosen: str | None) -> str:
    """The names of ranges; those that are not COCO's own with their limits."""
    spelled = [
        name if AREAS.get(name) == (low, high) else f"{name}={low:g}..{high:g}"
        for name, low, high in areas
        if chosen in (None, name)
    ]
    return ",".join(spelled)
