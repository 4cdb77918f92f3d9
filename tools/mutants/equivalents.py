"""Which changes change nothing that anybody could see? By file, line and change, each with the reason.

A line stands here as it is written, without its indentation; where it changes, the entry has to be thought over. An
empty change stands for all of the line.
"""

from __future__ import annotations

EQUIVALENT: dict[tuple[str, str, str], str] = {}
