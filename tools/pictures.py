"""Write every picture of the documentation, from the bundled data; needs playwright and a chromium for the page.

make pictures
.venv/bin/python tools/pictures.py pr-all-classes report      # these alone
COCO_VAL2017=FOLDER .venv/bin/python tools/pictures.py report-coco   # of truth.json.gz and results/NAME.json.gz
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import numpy as np
from PIL import Image

import verite as vt
from verite.cli import run
from verite.cli.demo import FOLDERS

ROOT = Path(__file__).parent.parent
DATA = ROOT / "src" / "verite" / "data"
IMAGES = ROOT / "docs" / "images"
WIDE, HIGH = 1400, 1180
ERRORS = "missing=0.02,spurious=0.02,label=0.02"  # as in the demo

# The picture, the words that draw it in a folder of the demo's data, and the file in which it then is.
DRAWN = {
    "pr-all-classes": ("voc harbour/truth.json harbour/hawk.json -o {out}", "pr-all-classes.png"),
    "localize-distributions": (
        "localize harbour/truth.json harbour/hawk.json -m iou -m fom -m gce -m hausdorff -o {out}", "distributions.png",
    ),
    "interpret-scene": (
        "interpret scene/truth.json scene/found.json --image street.png -o {out}", "scene-street.png",
    ),
    "class-distances-voc": ("class-distance voc --plot {out}/voc.png", "voc.png"),
    "ranking-kept": ("rank ranking/table2.csv --epsilon 0.1 -o {out}", "kept.png"),
    "interpretation-figure-10": ("study interpretation -o {out}", "figure-10-localization.png"),
    "study-alterations": ("study -o {out}", "alterations.png"),
    "study-truths": ("study -o {out}", "truths.png"),
    "study-synthesis": ("study -o {out}", "synthesis.png"),
    "study-curves-scale": ("study -o {out}", "curves-scale.png"),
    "study-surfaces": ("study -o {out}", "surfaces-translation.png"),
}  # fmt: skip


def draw_report(target: Path) -> None:
    """The first screen of the page of three detectors."""
    systems = {name: f"harbour/{name}.json" for name in ("hawk", "magpie", "mole")}
    page = vt.report("harbour/truth.json", systems, "report.html", pictures="embed", title="Harbour", errors=ERRORS)
    photograph(page.absolute(), Path("page.png"))
    shrink(Path("page.png"), target, 900)


def draw_real_report(target: Path) -> None:
    """The first screen of the report of three published detectors on COCO val2017; left as it is without the files."""
    if not (home := os.environ.get("COCO_VAL2017")):
        print("pictures: report-coco stays as it is; COCO_VAL2017 names the folder with truth.json.gz and results/")
        return
    names = ("rcnn-nas-lowproposals", "ssd-resnet50-fpn", "yolo-v3")
    detectors = {name: f"{home}/results/{name}.json.gz" for name in names}
    page = vt.report(f"{home}/truth.json.gz", detectors, "real.html", title="COCO val2017", draws=200, checks="warn")
    photograph(page.absolute(), Path("real.png"))
    shrink(Path("real.png"), target, 900)


def draw_park(target: Path) -> None:
    """What a detector found and missed on a photo."""
    (drawn,) = vt.draw("harbour/truth.json", "harbour/hawk.json", "drawn", image="park-2052.png")
    shrink(drawn, target, 800)


def plot_pair(target: Path) -> None:
    """Two masks with their contours, as in the how-to."""
    truth, pred = np.zeros((2, 100, 120), dtype=bool)
    truth[20:60, 30:70] = pred[25:65, 30:80] = True
    vt.plot_pair(truth, pred, "iou", "hausdorff").savefig(target)


def plot_work_time(target: Path) -> None:
    """CPU time of reading and evaluating COCO val2017 by tool, as `benchmarks/work.py --save` measured it."""
    import json

    from matplotlib.figure import Figure

    measured = json.loads((ROOT / "benchmarks" / "work.json").read_text())
    rows = [row for row in measured["times"] if row["data"] == "val2017, yolo-v3" and row["threads"] == 1]
    rows.sort(key=lambda row: row["cpu"], reverse=True)
    figure = Figure(figsize=(7, 2.4), dpi=200, layout="constrained")
    axes = figure.subplots()
    colours = ["#0072b2" if row["tool"] == "verite" else "#b8b8b8" for row in rows]
    bars = axes.barh([row["tool"] for row in rows], [row["cpu"] for row in rows], color=colours)
    axes.bar_label(bars, [f"{row['cpu']:.3g} s" for row in rows], padding=3, fontsize=8)
    axes.set_xscale("log")
    axes.set_xlim(right=max(row["cpu"] for row in rows) * 3)
    axes.set_title("CPU seconds to read COCO val2017 and YOLOv3's predictions and compute AP", fontsize=9, loc="left")
    axes.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
    axes.set_xlabel("seconds, one thread, log scale", fontsize=8)
    axes.set_xlim(left=0.008)
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(target)


def draw_sweep(target: Path) -> None:
    """F1 against the confidence threshold, as in the how-to."""
    import json

    predictions = json.loads(Path("harbour/magpie.json").read_text())
    Path("runs").mkdir()
    for cut in (0.1, 0.3, 0.5, 0.7):
        Path(f"runs/conf={cut}.json").write_text(json.dumps([p for p in predictions if p["score"] >= cut]))
    words = ["sweep", "harbour/truth.json", "runs/conf=*.json", "--protocol", "f1", "-o", "swept", "--quiet"]
    if status := run(words):
        sys.exit(f"pictures: verite {' '.join(words)}: status {status}")
    shutil.copyfile("swept/sweep.png", target)


MADE: dict[str, Callable[[Path], None]] = {
    "report": draw_report,
    "report-coco": draw_real_report,
    "draw-park": draw_park,
    "localize-pair": plot_pair,
    "work-time": plot_work_time,
    "sweep": draw_sweep,
}


def photograph(page: Path, target: Path) -> None:
    """The first screen of a page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shown = browser.new_context(viewport={"width": WIDE, "height": HIGH}, color_scheme="light").new_page()
        shown.goto(page.as_uri())
        shown.wait_for_selector("[data-ready]", state="attached")
        shown.screenshot(path=target)
        browser.close()


def shrink(source: Path, target: Path, width: int) -> None:
    """A small picture of few colours."""
    with Image.open(source) as image:
        small = image.convert("RGB").resize(
            (width, round(image.height * width / image.width)), Image.Resampling.LANCZOS
        )
    small.quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)


def main() -> None:
    wanted = sys.argv[1:] or [*DRAWN, *MADE]
    if unknown := set(wanted) - set(DRAWN) - set(MADE):
        sys.exit(f"pictures: no {', '.join(sorted(unknown))}; there are {', '.join([*DRAWN, *MADE])}")
    with tempfile.TemporaryDirectory() as home, chdir(home):
        for source, name in FOLDERS.items():
            shutil.copytree(DATA / source, name)
        outs: dict[str, Path] = {}  # by words: one run may draw several
        for name in wanted:
            if name in MADE:
                MADE[name](IMAGES / f"{name}.png")
                continue
            words, file = DRAWN[name]
            if words not in outs:
                outs[words] = Path(f"out-{len(outs)}")
                outs[words].mkdir()
                if status := run([*shlex.split(words.format(out=outs[words])), "--quiet"]):
                    sys.exit(f"pictures: verite {words}: status {status}")
            shutil.copyfile(outs[words] / file, IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
