"""Hostile input in large amounts. VERITE_CORE names another build of the core to be tried, as `make sanitize` does."""

from __future__ import annotations

import os
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location

if "VERITE_CORE" in os.environ and "verite._core" not in sys.modules:
    import verite

    path = os.environ["VERITE_CORE"]
    spec = spec_from_file_location("verite._core", path, loader=ExtensionFileLoader("verite._core", path))
    assert spec is not None
    assert spec.loader is not None
    sys.modules["verite._core"] = core = module_from_spec(spec)
    spec.loader.exec_module(core)
    verite._core = core  # type: ignore[attr-defined]
