"""Which test stands at the boundary that a constant of the checks draws? Tests say so, and are held to it.

A test with `@boundary("evidence.FEWEST")` must fail as soon as the constant is a little larger, and as soon as it is a
little smaller (see test_constants.py): then it has a case on either side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CASES: dict[str, list[Callable[..., Any]]] = {}


def boundary(*names):
    """`module.NAME` below verite.checks, or `Rules.field` of the core's census and quick fit."""

    def register(test):
        for name in names:
            CASES.setdefault(name, []).append(test)
        return test

    return register
