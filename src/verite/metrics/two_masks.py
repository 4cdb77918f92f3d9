"""May a metric be a function of two masks? One that takes two arrays and returns a number, for every pair."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import DataError
from verite.model.outlines import Runs
from verite.model.rasters import array_of
from verite.pairs import Array, Pairs


def takes_two(function: Callable[..., Any]) -> bool:
    """Does a function want two regions, rather than pairs of them?"""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds and p.default is p.empty for p in parameters) == 2


def plain_name(function: Callable[..., Any]) -> str:
    found = getattr(function, "__name__", type(function).__name__)
    return found if found.isidentifier() else "own"


class Masks:
    """One side of many pairs as arrays; a mask that is asked for again is not drawn again."""

    def __init__(self, runs: Runs, rows: NDArray[np.integer]) -> None:
        self.runs, self.rows = runs, rows
        self.last: tuple[int, NDArray[np.bool_]] | None = None

    def __getitem__(self, i: int) -> NDArray[np.bool_]:
        row = int(self.rows[i])
        if self.last is None or self.last[0] != row:
            mask = array_of(self.runs, row)
            mask.flags.writeable = False  # it may be shown again
            self.last = row, mask
        return self.last[1]


def over_masks(function: Callable[..., Any]) -> Callable[..., Array]:
    """A function of two masks as one of many pairs."""

    def measure(pairs: Pairs, **parameters: Any) -> Array:
        truth, pred = (Masks(Runs(*side[:3]), side[3]) for side in pairs.sides())
        found = np.empty(len(pairs))
        for i in range(len(pairs)):
            value = function(truth[i], pred[i], **parameters)
            try:
                found[i] = value
            except (TypeError, ValueError):
                name = plain_name(function)
                raise DataError(f"{name}: expected a number for two masks, found {type(value).__name__}") from None
        return found

    parameters = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    pairs = inspect.Parameter("pairs", inspect.Parameter.POSITIONAL_ONLY)
    measure.__signature__ = inspect.Signature([pairs, *parameters])  # type: ignore[attr-defined]
    measure.__doc__, measure.__name__ = function.__doc__, plain_name(function)
    measure.__module__ = getattr(function, "__module__", None) or "own"
    return measure
