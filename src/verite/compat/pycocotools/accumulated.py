"""What does `accumulate` leave? A dictionary whose three large arrays are made when somebody looks at one of them.

Most clients read `stats` and nothing else, for which the core keeps a sixth of those numbers.

>>> found = Accumulated({"date": "today"}, lambda: {"precision": 0.5, "recall": 0.25, "scores": 0.75})
>>> list(found), found["date"], found.is_open
(['date', 'precision', 'recall', 'scores'], 'today', False)
>>> found["recall"], found.is_open
(0.25, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verite import _core

ARRAYS = ("precision", "recall", "scores")


class Accumulated(dict[str, Any]):
    """Facts, and arrays that `make` makes at the first look; afterwards, pickled or copied, a dictionary like any."""

    def __init__(
        self, facts: Mapping[str, Any], make: Callable[[], Mapping[str, Any]], numbers: _core.Numbers | None = None
    ) -> None:
        super().__init__(facts)
        self._make: Callable[[], Mapping[str, Any]] | None = make
        self.numbers = numbers  # means without the arrays, until somebody may have changed those
        super().update(dict.fromkeys(ARRAYS))

    @property
    def is_open(self) -> bool:
        """Has somebody looked at the arrays?"""
        return self._make is None

    def open(self) -> None:
        """Make the arrays, once."""
        if self._make is not None:
            super().update(self._make())
            self._make = self.numbers = None

    def __getitem__(self, key: str) -> Any:
        if key in ARRAYS:
            self.open()
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[str]:  # whoever copies a dictionary asks for its keys where it has a way of its own
        return super().__iter__()

    def __reduce_ex__(self, protocol: object) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        self.open()
        return dict, (dict(self),)


def mean_at(found: Mapping[str, Any], kind: str, levels: Any, areas: Sequence[int], limits: Sequence[int]) -> float:
    """The mean of what is there at these thresholds (None: all), area ranges and limits; -1 where nothing is."""
    if isinstance(found, Accumulated) and found.numbers is not None:
        thresholds, _, _, ranges, most = found["counts"]
        # Of precision the core keeps what belongs to the highest limit.
        is_kept = list(limits) == [most - 1] or (kind == "recall" and is_one(limits, most))
        if is_kept and is_one(areas, ranges) and (levels is None or is_one(levels, thresholds)):
            level = None if levels is None else int(levels[0])
            mean = found.numbers.mean(kind == "precision", level, areas[0], limits[0])
            return -1.0 if isnan(mean) else mean
    values = found[kind] if levels is None else found[kind][levels]
    values = values[..., areas, limits]
    present = values[values > -1]
    return float(present.mean()) if len(present) else -1.0


def is_one(places: Sequence[int], count: int) -> bool:
    """Is it one place, of those that there are?"""
    return len(places) == 1 and places[0] < count


def open_first(name: str) -> Callable[..., Any]:
    """A method of dictionaries, called when the arrays are there."""
    method = getattr(dict, name)

    def call(self: Accumulated, *args: Any, **named: Any) -> Any:
        self.open()
        return method(self, *args, **named)

    call.__name__, call.__doc__ = name, method.__doc__
    return call


for name in ("get", "items", "values", "pop", "popitem", "setdefault", "update", "clear", "copy"):
    setattr(Accumulated, name, open_first(name))
for name in ("setitem", "delitem", "eq", "ne", "or", "ror", "ior", "repr"):
    setattr(Accumulated, f"__{name}__", open_first(f"__{name}__"))
