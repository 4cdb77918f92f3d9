"""Whole outputs, one per command, on the bundled data: what a person sees in a terminal of 80 columns.

The files in tests/data/golden show layout and wording; numbers are tested where they belong. After a change on
purpose: `python -m tests.cli.test_golden_outputs` writes them again, and the difference is read before it is committed.
"""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from importlib.resources import files
from io import StringIO
from pathlib import Path

import pytest

import verite
from verite.cli import COMMANDS, run

DATA = Path(str(files("verite") / "data"))
GOLDEN = Path(__file__).parents[1] / "data" / "golden"
SIDES = "demo/truth.json demo/hawk.json"
THREE = f"{SIDES} demo/magpie.json demo/mole.json"
OPENIMAGES, IMAGENET, PANOPTIC = (f"competitions/{name}" for name in ("openimages", "imagenet", "panoptic"))
# One command line per command; a few commands first write what it needs.
LINES = {
    "coco": f"coco {THREE}",
    "voc": "voc example/truth example/pred --iou 0.3",
    "lvis": "lvis competitions/lvis/truth.json demo/hawk.json",
    "openimages": f"openimages {OPENIMAGES}/boxes.csv {OPENIMAGES}/hawk.csv --image-labels {OPENIMAGES}/labels.csv",
    "imagenet-loc": f"imagenet-loc {IMAGENET}/solution.csv {IMAGENET}/hawk.csv",
    "imagenet-det": f"imagenet-det {SIDES}",
    "panoptic": f"panoptic {PANOPTIC}/truth.json {PANOPTIC}/hawk.json",
    "semantic": f"semantic {PANOPTIC}/truth.json {PANOPTIC}/hawk.json",
    "f1": f"f1 {SIDES} --confidence 0.5",
    "track": "track tracks/gt.txt tracks/hawk.txt",
    "miss-rate": f"miss-rate {SIDES} --class person",
    "kitti": f"kitti {SIDES}",
    "wider": f"wider {SIDES} --class person",
    "instances": f"instances {PANOPTIC}/truth.json {PANOPTIC}/hawk.json",
    "oc-cost": f"oc-cost {SIDES} --confidence 0.5",
    "localize": f"localize {SIDES} -m iou -m 'hausdorff(quantile=0.95)'",
    "scene-score": "scene-score scene/truth.json scene/found.json --image street.png",
    "suite": "suite demo/suite.toml",
    "inspect": f"inspect {SIDES}",
    "analyse": f"analyse {SIDES}",
    "reconcile": f"reconcile {SIDES} --number 0.6896 --protocol voc",
    "report": f"report {THREE} -o report.html",
    "draw": f"draw {SIDES} --image harbour-1018.png -o drawn",
    "coherence": "coherence demo/images demo/hawk.json --truth demo/truth.json",
    "compare": "compare old.json new.json",
    "sweep": "sweep demo/truth.json demo/hawk.json demo/magpie.json demo/mole.json --draws 100 --protocol voc",
    "leaderboard": f"leaderboard {THREE} --errors missing=0.05 --draws 200",
    "rank": "rank ranking/table2.csv --epsilon 0.1",
    "agree": "agree demo/truth.json demo/truth-voc --draws 200",
    "convert": "convert demo/truth.json voc --to voc",
    "formats": "formats",
    "demo": "demo tour",
    "bundle": "bundle demo/truth.json -o challenge",
    "study": "study -m iou -a 'translation(reach=12, step=2)'",
    "metrics": "metrics hausdorff",
    "class-distance": "class-distance scene/kinds.txt",
    "judge": "judge make --from-study --pairs 6 -o study",
    "partial": f"partial coco {SIDES} -o hawk.part",
    "merge": "merge whole.part",
    "completion": "completion bash",
}
BEFORE = {
    "compare": (
        "coco demo/truth.json demo/mole.json --save old.json",
        "coco demo/truth.json demo/hawk.json --save new.json",
    ),
    "merge": (f"partial coco {SIDES} -o whole.part",),
}


@contextmanager
def bundled_data() -> Iterator[Path]:
    """A folder with the bundled data, which is the current one."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "data"
        shutil.copytree(DATA, home)
        with chdir(home):
            yield home


def run_line(line: str) -> str:
    """The command line, then everything that is printed; paths, versions and times are replaced."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = run(shlex.split(line))
    assert status == 0, err.getvalue()
    text = f"$ verite {line}\n{err.getvalue()}{out.getvalue()}"
    text = text.replace(str(Path.cwd()), ".").replace(f"verite {verite.__version__}", "verite VERSION")
    return re.sub(r"\b\d+(\.\d+)? s\b", "TIME", re.sub(r"\b[0-9a-f]{16,64}\b", "DIGEST", text))


def output_of(command: str) -> str:
    for line in BEFORE.get(command, ()):
        run_line(line)
    return run_line(LINES[command])


def test_every_command_has_a_golden_output():
    assert set(LINES) == set(COMMANDS)
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(LINES)


@pytest.mark.thorough
@pytest.mark.parametrize("command", LINES)
def test_output_is_the_golden_one(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with bundled_data():
        assert output_of(command) == (GOLDEN / f"{command}.txt").read_text("utf-8")


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name in LINES:
        with bundled_data():
            found = output_of(name)
        (GOLDEN / f"{name}.txt").write_text(found, "utf-8")
