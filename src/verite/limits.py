"""How large may an input be? Every limit has a name, appears in its error, and can be raised.

A limit is raised for one process through the environment, e.g. `VERITE_LIMIT_JSON_DEPTH=128`.
"""

from __future__ import annotations

import os

from verite.errors import BadParameter, excerpt

DEFAULTS = {
    "file_bytes": 8 * 2**30,
    "json_depth": 64,
    "xml_depth": 64,
    "xml_text": 2**20,
    "image_side": 65_535,
    "image_pixels": 500_000_000,
    "pixels_per_byte": 50,
    "runs_per_byte": 5,
    "polygon_points": 1_000_000,
    "coordinate": 10_000_000,
    "class_name": 512,
    "classes": 100_000,
    "confusion_cells": 25_000_000,
    "overlaps": 50_000_000,
    "curve_points": 17_000_000,
    "unpacked_ratio": 200,
    "unpacked_files": 1_000_000,
}
# What a limit may be raised or lowered to; others reach from 0 to what 64 bits hold. Readers recurse into JSON.
BOUNDS = {"json_depth": (1, 10_000), "xml_depth": (1, 10_000)}
MOST = 2**63 - 1


def limit(name: str) -> int:
    """The limit of this name, as raised by the environment.

    >>> limit("json_depth")
    64
    """
    variable = f"VERITE_LIMIT_{name.upper()}"
    raised = os.environ.get(variable)
    if raised is None:
        return DEFAULTS[name]
    low, high = BOUNDS.get(name, (0, MOST))
    if name not in BOUNDS and raised.isdecimal() and len(raised) < 1000:
        return min(int(raised), MOST)
    if not raised.isdecimal() or len(raised) > 19 or not low <= int(raised) <= high:
        within = f"from {low:,} to {high:,}" if name in BOUNDS else "from 0 up"
        raise BadParameter(f"{variable}: expected a whole number {within}, found {excerpt(raised)}")
    return int(raised)


def environment_name(name: str) -> str:
    """The environment variable that raises a limit."""
    return f"VERITE_LIMIT_{name.upper()}"


def remedy(name: str) -> str:
    """What a message says about raising the limit."""
    return f"raise the limit with {environment_name(name)} if this is right"
