"""Every example in a docstring runs."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).parent.parent / "src"
MODULES = sorted(
    ".".join(p.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for p in (SOURCE / "verite").rglob("*.py")
)


@pytest.mark.usefixtures("leaves_no_trace")
@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name):
    module = import_module(name)
    with np.printoptions(legacy=False):
        failed, _ = doctest.testmod(module, extraglobs={"np": np}, optionflags=doctest.ELLIPSIS)
    assert not failed
