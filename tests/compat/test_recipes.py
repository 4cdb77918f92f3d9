"""The recipes of the documentation run, and what they train gets better."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

RECIPES = Path(__file__).parents[2] / "docs" / "recipes"
NEEDS = {
    "plain_pytorch": ("torch",),
    "lightning": ("torch", "torchmetrics", "pytorch_lightning"),
    "hugging_face": ("torch", "transformers", "accelerate"),
}
RUN = """
import runpy, sys
from tests.compat.torchvision_operators import define_operators
define_operators()
sys.path.insert(0, sys.argv[1])
runpy.run_path(f"{sys.argv[1]}/{sys.argv[2]}.py", run_name="__main__")
"""


def test_every_recipe_is_listed():
    assert {path.stem for path in RECIPES.glob("*.py")} == {*NEEDS, "toy"}


@pytest.mark.parametrize("name", list(NEEDS))
def test_a_recipe_trains(name):
    missing = [module for module in NEEDS[name] if not find_spec(module)]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: make clients")
    words = [sys.executable, "-W", "ignore", "-c", RUN, str(RECIPES), name]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(re.findall(r"^(?:epoch \d+: )?map (\d\.\d+)", done.stdout, re.MULTILINE)[-1]) > 0.5
