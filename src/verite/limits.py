"""How large may an input be? Every limit has a name, appears in its error, and can be raised.

A limit is raised for one process through the environment, e.g. `VERITE_LIMIT_JSON_DEPTH=128`.
"""

from __future__ import annotations

import os

from verite.errors import BadParameter

DEFAULTS = {
    "file_bytes": 8 * 2**30,
    "json_depth": 64,
    "xml_depth": 64,
    "xml_text": 2**20,
    "image_side": 65_535,
    "image_pixels": 500_000_000,
    "polygon_points": 1_000_000,
    "coordinate": 10_000_000,
    "class_name": 512,
    "classes": 100_000,
    "overlaps": 50_000_000,
    "unpacked_ratio": 200,
    "unpacked_files": 1_000_000,
}


def limit(name: str) -> int:
    """The limit of this name, as raised by the environment.

    >>> limit("json_depth")
    64
    """
    variable = environment_name(name)
    raised = os.environ.get(variable)
    if raised is None:
        return DEFAULTS[name]
    if not raised.isdecimal():
        raise BadParameter(f"{variable}: expected a whole number, found {raised!r}")
    return int(raised)


def environment_name(name: str) -> str:
    """The environment variable that raises a limit."""
    return f"VERITE_LIMIT_{name.upper()}"


def remedy(name: str) -> str:
    """What a message says about raising the limit."""
    return f"raise the limit with {environment_name(name)} if this is right"
