"""Ctrl-C ends long work, also inside the core, in a line and with status 130. How soon, `make fuzz` measures."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

# Each would take minutes in one call of the core.
PROGRAMS = {
    "comparing boxes": """
import numpy as np, verite as vt
n, far = 200_000, 4000.0
at = np.linspace(0, far - 1, n)
lying = np.stack([np.zeros(n), at, np.full(n, far), at + 1], axis=1)
truth = vt.Annotations.of(["a"] * n, ["cat"] * n, lying)
pred = vt.Annotations.of(["a"] * n, ["cat"] * n, lying[:, [1, 0, 3, 2]], confidence=np.linspace(0, 1, n))
vt.voc(truth, pred, checks="off")
""",
    "drawing truths": """
import numpy as np
from verite import _core
kind, ways, change = np.zeros(100_000, np.int32), np.ones((1, 1)), np.ones((1, 1, 4))
_core.independent_changes(kind, ways, change, 0.5, np.empty(0), 100_000, 1, 0)
""",
    "measuring pairs": """
import numpy as np, verite as vt
boxes = np.tile([[10.0, 10, 900, 900]], (3000, 1))
names, labels = [f"{i}" for i in range(3000)], ["cat"] * 3000
truth = vt.Annotations.of(names, labels, boxes, sizes=dict.fromkeys(names, (1000, 1000)))
pred = vt.Annotations.of(names, labels, boxes + 3, confidence=np.linspace(0, 1, 3000))
vt.localize(truth, pred, "baddeley", checks="off")
""",
}


@pytest.mark.thorough
@pytest.mark.parametrize("what", PROGRAMS)
def test_an_interrupt_ends_it(what):
    program = f"import sys; print('ready', flush=True)\n{PROGRAMS[what]}"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(2)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=20)
    assert b"KeyboardInterrupt" in said


def test_an_interrupt_while_modules_are_loaded_is_a_line_as_well():
    program = (
        "import sys, builtins\nold = builtins.__import__\n"
        "def stop(name, *more):\n    if name == 'verite.cli': raise KeyboardInterrupt\n    return old(name, *more)\n"
        "from verite.__main__ import main\nbuiltins.__import__ = stop\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "verite: interrupted\n")


def test_an_interrupt_that_an_import_swallows_ends_it_all_the_same(tmp_path):
    """CPython may lose it in the middle of an import, with the lock of all imports held for ever."""
    (tmp_path / "deaf.py").write_text(
        "import signal\ntry:\n    signal.raise_signal(signal.SIGINT)\nexcept BaseException:\n    pass\nmine = None\n"
    )
    words = [sys.executable, "-m", "verite", "study", "-m", "deaf:mine"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stderr) == (130, "verite: interrupted\n")


def test_threads_that_work_for_somebody_end_when_they_are_told_to():
    """An interrupt reaches one thread; the loops of the others look at the stop they are in."""
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np

    from verite import _core

    def draw():
        with stop:
            _core.independent_changes(
                np.zeros(100_000, np.int32), np.ones((1, 1)), np.ones((1, 1, 4)), 0.5, np.empty(0), 100_000, 1, 0
            )

    stop = _core.Stop()
    with ThreadPoolExecutor(2) as pool:
        work = [pool.submit(draw) for _ in range(2)]
        stop.set()
        errors = [str(task.exception(timeout=60)) for task in work]
    assert errors == ["the work is no longer wanted"] * 2
    assert stop.is_set()
