"""What can objects be compared by? What the core has a similarity for, in the words of options and help."""

from __future__ import annotations

from typing import Any, Literal

from verite import _core
from verite.settings import Choice

# For type checkers: what `--on` takes is what the core has, and a test holds them together.
On = Literal["box", "mask", "boundary", "keypoints", "rotated"]
SIMILARITIES: dict[str, str] = dict(_core.similarities())


def on_setting(default: On | None = "box") -> Any:
    """The setting `on` of whoever compares by any of them."""
    *others, last = SIMILARITIES.values()
    return Choice(default, f"Compare {', '.join(others)}, or {last}.", tuple(SIMILARITIES))
