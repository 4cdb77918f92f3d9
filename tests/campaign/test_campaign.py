"""A small part of the campaign in every run: some hundred cases of each kind; `make fuzz` runs as many as you like."""

from __future__ import annotations

import pytest

from tests.campaign.__main__ import COMMANDS, watch
from tests.campaign.cases import KINDS, run_case, targets

OURS = [kind for kind in KINDS if "pycocotools" not in kind]


@pytest.mark.parametrize("kind", OURS)
def test_every_case_is_fine_or_refused(kind):
    outcomes = {number: run_case(kind, 7, number) for number in range(120)}
    assert {number: said for number, said in outcomes.items() if said not in ("fine", "refused")} == {}
    assert set(outcomes.values()) == {"fine", "refused"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", OURS)
def test_hundreds_more_are_fine_or_refused(kind):
    outcomes = {number: run_case(kind, 8, number) for number in range(500)}
    assert {number: said for number, said in outcomes.items() if said not in ("fine", "refused")} == {}


def test_every_format_with_a_sample_is_a_target():
    assert len(targets()) > 25


@pytest.mark.thorough
def test_a_death_and_a_hang_are_counted_and_the_run_goes_on(monkeypatch, tmp_path):
    """The watchdog itself, on workers that end and on one that sleeps."""
    import subprocess
    import sys
    import time

    import tests.campaign.__main__ as campaign

    script = tmp_path / "worker.py"
    script.write_text(
        "import os, sys, time\n"
        "for n in range(int(sys.argv[1]), 6):\n"
        "    print(n, flush=True)\n"
        "    if n == 1: os.abort()\n"
        "    if n == 3: time.sleep(60)\n"
        "    print('undocumented Oops: x' if n == 4 else 'fine', flush=True)\n"
    )
    real = subprocess.Popen

    def start(words, **more):
        return real([sys.executable, str(script), words[-2]], **more)

    monkeypatch.setattr(campaign.subprocess, "Popen", start)
    monkeypatch.setattr(campaign, "HANG", 8.0)
    count, outcomes, wrong = watch("files", 1, 0, 6, time.monotonic() + 60)
    assert (count, outcomes) == (6, {"fine": 3, "death": 1, "hang": 1, "undocumented": 1})
    assert len(wrong) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "interrupts"])
def test_commands_under_bad_conditions_do_all_or_nothing(name):
    import time

    run, _ = COMMANDS[name]
    count, outcomes, wrong = run(3, 4, time.monotonic() + 60)
    assert (count, wrong) == (4, [])
    assert set(outcomes) <= {"fine", "refused"}
