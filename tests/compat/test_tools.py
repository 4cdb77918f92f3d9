"""Do the installed tools still say what the quirks repeat? Run beside them, on the sets of the stored numbers."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.compat.tools_beside import RUNS, is_there, ways_of_ultralytics
from tests.oracles.tool_sets import SEEDS, tool_set
from tests.protocols.test_tool_quirks import TOLERANCES, WAYS, ours, sides, translate_core_errors
from verite.analysis.reconcile_search import TOOLS

pytestmark = pytest.mark.filterwarnings("ignore")  # of the tools, about themselves


@pytest.mark.parametrize("tool", RUNS)
def test_the_installed_tool_says_what_its_quirks_give(tool: str, tmp_path: Path) -> None:
    needed, run = RUNS[tool]
    if not is_there(*needed):
        pytest.skip(f"{tool} is not installed: make clients")
    said = ways_of_ultralytics() if tool == "ultralytics" else tool
    name, place = WAYS[said]
    for seed in SEEDS:
        values = ours(TOOLS[name].conventions[place], *sides(seed, said, tmp_path))
        for key, theirs in run(*tool_set(seed)).items():
            mine = values[translate_core_errors(name, key)]
            told = f"{tool} {version(needed[-1])}, set {seed}, {key}"
            assert theirs == -1 if mine != mine else mine == pytest.approx(theirs, abs=tolerance_of(name)), told


def tolerance_of(tool: str) -> Any:
    return TOLERANCES.get(tool, 1e-12)
