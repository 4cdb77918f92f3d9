"""numpy is there when it is used, and not before."""

from __future__ import annotations

import gc
import inspect
import pickle
import subprocess
import sys

import numpy
import pytest

from verite.arrays import Later, np


def said(script: str) -> str:
    """What a program prints in a process of its own."""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


def test_numpy_is_imported_when_it_is_first_used():
    script = (
        "import sys; from verite.arrays import np; before = 'numpy' in sys.modules; zeros = np.zeros(2)\n"
        "import numpy; print(before, zeros.tolist(), np.float64 is numpy.float64, np.random is numpy.random)"
    )
    assert said(script) == "False [0.0, 0.0] True True"


def test_looking_at_a_namespace_does_not_import_numpy():
    script = (
        "import inspect, sys; import verite.arrays as a\n"
        "inspect.unwrap(a.np); repr(a.np); print([hasattr(a.np, n) for n in ('__wrapped__', '__path__', '__file__')])\n"
        "print('numpy' in sys.modules)"
    )
    assert said(script).splitlines() == ["[False, False, False]", "False"]


def test_what_was_asked_for_is_kept():
    later = Later("numpy")
    assert "zeros" not in vars(later)
    assert later.zeros is numpy.zeros
    assert vars(later)["zeros"] is numpy.zeros


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="nonsense"):
        np.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="__nonsense__"):
        np.__nonsense__  # noqa: B018
    assert inspect.unwrap(np) is np


def test_what_it_gives_is_numpys_own():
    assert pickle.loads(pickle.dumps(np.int64)) is numpy.int64
    assert isinstance(numpy.zeros(1), np.ndarray)


def test_an_import_leaves_the_collector_as_it_was():
    was_enabled = gc.isenabled()
    assert Later("numpy").ones is numpy.ones
    assert gc.isenabled() == was_enabled
