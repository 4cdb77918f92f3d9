"""What was asked of threads holds for a whole piece of work, reading and checking among it."""

from importlib.resources import files
from pathlib import Path

import pytest

import verite as vt
from verite.checks import sample as sides
from verite.cli import run
from verite.errors import BadParameter
from verite.formats import coco as coco_file
from verite.threads import thread_count, use_threads

DEMO = Path(str(files("verite") / "data" / "demo"))
TRUTH, HAWK, MOLE = (str(DEMO / f"{name}.json") for name in ("truth", "hawk", "mole"))


@pytest.fixture
def used(monkeypatch):
    """How many threads reading and checking took."""
    counts = []

    def count(asked=None):
        counts.append(thread_count(asked))
        return counts[-1]

    for module in (coco_file, sides):
        monkeypatch.setattr(module, "thread_count", count)
    return counts


def test_what_was_asked_for_the_whole_ends_with_it():
    usual = thread_count()
    with use_threads(7):
        assert thread_count() == 7
        assert thread_count(2) == 2
        with use_threads(None):
            assert thread_count() == 7
        with pytest.raises(BadParameter, match="threads: expected at least 1, found 0"), use_threads(0):
            pass
        assert thread_count() == 7
    assert thread_count() == usual


@pytest.mark.parametrize(
    "words",
    [
        ["coco", TRUTH, HAWK],
        ["partial", "coco", TRUTH, HAWK, "-o", "hawk.part"],
        ["analyse", TRUTH, HAWK],
        ["leaderboard", TRUTH, HAWK, MOLE, "--draws", "20"],
        ["report", TRUTH, HAWK, "-o", "report.html", "--draws", "0"],
    ],
    ids=lambda words: words[0],
)
def test_a_command_reads_and_checks_with_as_many_threads_as_asked(words, used, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    usual = thread_count()
    assert run([*words, "-j", "5", "-q"]) == 0
    assert len(used) > 2
    assert set(used) == {5}
    assert thread_count() == usual


def test_a_function_reads_and_checks_with_as_many_threads_as_asked(used):
    vt.coco(TRUTH, HAWK, threads=5)
    vt.partial(TRUTH, HAWK, threads=5)
    vt.analyse(TRUTH, HAWK, threads=5)
    vt.leaderboard(TRUTH, {"hawk": HAWK, "mole": MOLE}, threads=5, draws=20)
    assert len(used) > 8
    assert set(used) == {5}
