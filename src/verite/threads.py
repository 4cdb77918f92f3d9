"""How many threads may be used? As many as the process may run on, unless somebody says fewer."""

from __future__ import annotations

import os

from verite.errors import BadParameter

# Ours first, then the variable that people set for every numerical program.
VARIABLES = ("VERITE_THREADS", "OMP_NUM_THREADS")
MOST = 256  # kernels set memory aside for each; who asks for more gets these


def thread_count(asked: int | None = None) -> int:
    """The number of threads: as asked, else as the environment says, else one for each core this process may use.

    >>> thread_count(3), thread_count(10**12)
    (3, 256)
    """
    if asked is not None:
        if asked < 1:
            raise BadParameter(f"threads: expected at least 1, found {asked}")
        return min(asked, MOST)
    for variable in VARIABLES:
        text = os.environ.get(variable, "").split(",")[0].strip()
        if text.isdecimal() and int(text) > 0:
            return min(int(text), MOST)
        if text and variable == VARIABLES[0]:
            raise BadParameter(f"{variable}: expected a whole number above 0, found {text!r}")
    available = getattr(os, "sched_getaffinity", None)
    return len(available(0)) if available else os.cpu_count() or 1
