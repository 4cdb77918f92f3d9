"""Hooks: what a higher package adds to objects of a lower one, in one table.

Imports go down only: `verite.model` knows nothing of plots, analyses or reports. Yet a result can be plotted with
``results.plot()`` and analysed with ``results.analyse()``. Such a method calls :func:`hook` with a name of ``HOOKS``;
the function behind it is imported when it is called. Nothing else below the command line reaches upward, which
``tests/test_hooks.py`` checks for every import of every module.

A new hook is one line of the table: its name, the module and function it stands for, and who calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

HOOKS = {
    # Name: where the function lives                           who calls it
    "analyse": "verite.analysis.analyse:analyse",  # Results.analyse
    "coco": "verite.protocols.coco:coco",  # check V305, the range of AP50 among tied confidences
    "f1": "verite.protocols.f1:f1",  # check V305, where all confidences of a class are equal
    "evaluate_parts": "verite.scale.executors:evaluate_parts",  # a protocol with executor= or parts=
    "plot": "verite.reporting.plot_kinds:plot",  # plot() of results, comparisons, analyses and their parts
    "read": "verite.formats:read",  # Annotations.from_arrow, vt.inspect, check V213 (another split)
    "save_report": "verite.reporting.report.report:save_report",  # save_report() of analyses
}


def hook(name: str) -> Callable[..., Any]:
    """Return the function of a higher package by its name in ``HOOKS``, importing its module if needed.

    >>> hook("read").__module__
    'verite.formats'
    """
    from importlib import import_module

    module, _, function = HOOKS[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
