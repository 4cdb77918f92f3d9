"""The sections of the report, one module each: its data, how they are built, and the HTML that shows them.

A module of this package that has a `SECTION` is a section of every report for which it is wanted: it is listed in the
contents, drawn once, and its data are embedded in the report's JSON document.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from verite.reporting.report.section import DetectorSection, Section


def all_sections() -> list[Section[Any] | DetectorSection[Any]]:
    """Return the sections in the order of the report."""
    modules = [import_module(f"{__name__}.{one.name}") for one in iter_modules(__path__)]
    return sorted((module.SECTION for module in modules), key=lambda section: section.place)
