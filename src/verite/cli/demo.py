"""The command `verite demo`: a tour on bundled data that ends with an HTML report; `--long` runs every command."""

from __future__ import annotations

import shlex
import shutil
from contextlib import chdir, nullcontext, redirect_stdout
from importlib.resources import as_file, files
from io import StringIO
from pathlib import Path

import click

from verite.cli.help import command
from verite.cli.options import options_for
from verite.errors import one_line
from verite.files import folder_atomically
from verite.settings import Flag, Option, Settings

MARK = ".made-by-verite-demo"
# Where bundled data are, and what they are called in the tour.
FOLDERS = {
    "example": "example",
    "demo": "harbour",
    "ranking": "ranking",
    "scene": "scene",
    "competitions": "competitions",
    "tracks": "tracks",
}

# A sentence, and the command that follows it.
SHORT = (
    (
        "A harbour town: 36 images, three imaginary detectors. Which has the highest AP?",
        "coco harbour/truth.json harbour/hawk.json harbour/magpie.json harbour/mole.json --quiet",
    ),
    (
        "What did the hawk miss? Ground truth is solid, predictions are dashed.",
        "draw harbour/truth.json harbour/hawk.json --images harbour/images -o drawn --worst 3 --quiet",
    ),
    (
        "Everything in one HTML report.",
        "report harbour/truth.json harbour/hawk.json harbour/magpie.json harbour/mole.json"
        " --pictures embed --errors missing=0.02,spurious=0.02,label=0.02 --title Harbour -o report.html --quiet",
    ),
)
TOUR = (
    (
        "Start with the worked example every evaluation tool should get right: 15 people in 7 pictures,\n"
        "24 detections, with boxes of our own. Average precision at IoU 0.3 is 24.57 %.",
        "voc example/truth example/pred -t 0.3 --table person",
    ),
    (
        "The same detections judged by the rule of 2007, with the plot kept.",
        "voc example/truth example/pred -t 0.3 --interpolation 11 -o results/example",
    ),
    (
        "A harbour town: 36 images and three imaginary detectors. What is in the files?",
        "inspect harbour/truth.json harbour/hawk.json",
    ),
    (
        "The hawk is precise, the magpie takes everything that glitters, the mole sees badly. Who is best?",
        "voc harbour/truth.json harbour/hawk.json harbour/magpie.json harbour/mole.json -o results/harbour",
    ),
    (
        "And if boxes must fit well? Several thresholds at once.",
        "voc harbour/truth.json harbour/hawk.json harbour/magpie.json -t 0.5 -t 0.75 -t 0.9",
    ),
    (
        "COCO's twelve numbers of all three, as pycocotools has them to the last bit.",
        "coco harbour/truth.json harbour/hawk.json harbour/magpie.json harbour/mole.json -o results/coco",
    ),
    (
        "What did the hawk miss? The images with most errors: ground truth solid, predictions dashed.",
        "draw harbour/truth.json harbour/hawk.json --images harbour/images -o results/drawn --worst 3",
    ),
    (
        "Why is the hawk's number what it is? What every kind of error costs.",
        "analyse harbour/truth.json harbour/hawk.json --quiet",
    ),
    (
        "The hawk leads. How sure is that, on other images and if the truth has errors?",
        "leaderboard harbour/truth.json harbour/hawk.json harbour/magpie.json harbour/mole.json"
        " --errors missing=0.02,spurious=0.02,label=0.02 --draws 200 --quiet",
    ),
    (
        "Everything in one HTML report.",
        "report harbour/truth.json harbour/hawk.json harbour/magpie.json harbour/mole.json"
        " --pictures embed --title Harbour -o report.html",
    ),
    (
        "Good enough to take the hawk's place? What must hold, and an exit status that says whether it does.",
        "compare results/coco/hawk/results.json results/coco/magpie/results.json"
        ' --require "AP50>=base-0.005" --require "AP[person]>=0.4"',
    ),
    (
        "Another tool prints 0.6896 for the hawk. By which conventions?",
        "reconcile harbour/truth.json harbour/hawk.json --number 0.6896 --protocol voc --quiet",
    ),
    (
        "The other competitions have rules of their own. LVIS: not every class was annotated in every image.",
        "lvis competitions/lvis/truth.json harbour/hawk.json harbour/magpie.json --quiet",
    ),
    (
        "Open Images: groups, verified labels, and a hierarchy of classes.",
        "openimages competitions/openimages/boxes.csv competitions/openimages/hawk.csv --quiet"
        " --image-labels competitions/openimages/labels.csv --hierarchy competitions/openimages/hierarchy.json",
    ),
    (
        "ImageNet: is the right class among five guesses, and in the right place?",
        "imagenet-loc competitions/imagenet/solution.csv competitions/imagenet/hawk.csv --quiet",
    ),
    (
        "ImageNet's detection task forgives small objects a few pixels.",
        "imagenet-det harbour/truth.json harbour/hawk.json --quiet",
    ),
    (
        "Panoptic quality gives every pixel to one segment.",
        "panoptic competitions/panoptic/truth.json competitions/panoptic/hawk.json --quiet",
    ),
    (
        "Semantic segmentation asks for the class of every pixel alone.",
        "semantic competitions/panoptic/truth.json competitions/panoptic/hawk.json --quiet",
    ),
    (
        "Final decisions without confidences: precision, recall and F1 instead of AP.",
        "f1 harbour/truth.json harbour/mole.json --confidence 0.5 --quiet",
    ),
    (
        "Pedestrian detection asks how many people are missed at few false positives per image.",
        "miss-rate harbour/truth.json harbour/hawk.json --class person --quiet",
    ),
    (
        "KITTI counts easy, moderate and hard objects by size, occlusion and truncation.",
        "kitti harbour/truth.json harbour/hawk.json --quiet",
    ),
    (
        "WIDER FACE normalises confidences; here people stand for faces.",
        "wider harbour/truth.json harbour/hawk.json --class person --quiet",
    ),
    (
        "Cells and other instances without confidences: AJI and the AP of microscopy.",
        "instances competitions/panoptic/truth.json competitions/panoptic/hawk.json --quiet",
    ),
    (
        "OC-cost is what it costs to correct the detections into the ground truth.",
        "oc-cost harbour/truth.json harbour/hawk.json --confidence 0.5 --quiet",
    ),
    (
        "Organisers of a challenge get a scoring program.",
        "bundle harbour/truth.json --score AP50 -o challenge --quiet",
    ),
    (
        "A suite evaluates detectors on several datasets and prints macro means.",
        "suite harbour/suite.toml --quiet",
    ),
    (
        "Video: do objects keep their identity from frame to frame?",
        "track tracks/gt.txt tracks/hawk.txt tracks/mole.txt --quiet",
    ),
    (
        "Two annotations of the same images: how far do they agree, and which error rates follow?",
        "agree harbour/truth.json harbour/truth-voc --draws 200 --quiet",
    ),
    (
        "Which of several runs is best, chosen on half of the images and judged on the other half?",
        "sweep harbour/truth.json harbour/hawk.json harbour/magpie.json harbour/mole.json --draws 100 --quiet",
    ),
    (
        "Without any ground truth: do predictions at least separate objects from background?",
        "coherence harbour/images harbour/hawk.json --truth harbour/truth.json --quiet",
    ),
    (
        "What do people prefer? A page of comparisons to be answered in a browser.",
        "judge make --from-study --pairs 6 -o results/judge",
    ),
    (
        "A data set that is too large for one process is evaluated in parts, here in one,",
        "partial coco harbour/truth.json harbour/hawk.json --quiet -o results/hawk.part",
    ),
    (
        "and merging all partial results gives the same numbers, to the last bit.",
        "merge results/hawk.part --name hawk",
    ),
    (
        "How close are the hawk's outlines to the ground truth? Any metric of the catalogue, the worst pairs drawn.",
        'localize harbour/truth.json harbour/hawk.json -m iou -m "hausdorff(quantile=0.95)" -m gce -o results/localize',
    ),
    (
        "One score for each picture: places, classes, missed and spurious objects together.",
        "scene-score harbour/truth.json harbour/hawk.json --confidence 0.3 --quiet -o results/interpret-harbour",
    ),
    (
        "And how it comes about: seven true objects, four found. Three people as one, a bus called a truck,\n"
        "a missed car.",
        "scene-score scene/truth.json scene/found.json --image street.png --quiet -o results/interpret-scene",
    ),
    (
        "A bus called a truck is not as wrong as a bus called a bird: distances of the classes, here from a taxonomy.",
        "class-distance scene/kinds.txt --quiet -o results/distances.csv --plot results/distances.png",
    ),
    (
        "Formats are no obstacle: the truth as Pascal VOC XML,",
        "convert harbour/truth.json results/truth-voc --to voc",
    ),
    (
        "the predictions as a text folder,",
        "convert harbour/hawk.json results/hawk-text --to text --like harbour/truth.json",
    ),
    (
        "and the numbers are the same.",
        "voc results/truth-voc results/hawk-text --quiet",
    ),
    (
        "How sure is that ranking if one object in twenty is wrong in the truth? Probabilities, not hopes.",
        "rank harbour/truth.json harbour/hawk.json harbour/magpie.json harbour/mole.json --epsilon 0.05 --quiet"
        " -o results/rank-harbour",
    ),
    (
        "The worked example of the paper behind it: two algorithms, ten answers, and the published values as rings\n"
        "in the plot.",
        "rank ranking/table3.csv --epsilon 0.2 --quiet --published ranking/table3-published.csv -o results/rank-table3",
    ),
    (
        "Three algorithms, not all significantly different, with errors that come in groups.",
        "rank ranking/table2.csv --epsilon 0.1 --shared item --correlation 0.3 --quiet -o results/rank-table2",
    ),
    (
        "And what is a metric itself worth? Regions altered in known ways, properties counted, a verdict in words.",
        'study -m iou -m hausdorff -m gce -a "translation(reach=12, step=2)" -a "rotation(reach=45, step=3)" --quiet'
        " -o results/study",
    ),
    ("What can be measured?", "metrics"),
    ("And which annotation formats are read and written?", "formats"),
)


class DemoSettings(Settings):
    """Settings of `verite demo`."""

    is_long: Option[bool] = Flag(False, "Run every command, with all its output.", long="long")
    quiet: Option[bool] = Flag(False, "Print nothing but the name of the report.", short="-q")


@command(
    params=options_for(DemoSettings),
    epilog="""\b
Examples:
  verite demo
  verite demo tour/
  verite demo tour/ --long""",
)
@click.argument("folder", type=click.Path(file_okay=False), default="verite-demo")
def demo(folder: str, is_long: bool, quiet: bool) -> None:
    """Write a small dataset to FOLDER (verite-demo), evaluate it, and write an HTML report."""
    target = Path(folder)
    with redirect_stdout(StringIO()) if quiet else nullcontext():
        tour(target, is_long)
    if quiet:
        click.echo(one_line(str(target / "report.html")))


def tour(target: Path, is_long: bool) -> None:
    """Print each sentence, run its command, and print the output."""
    from verite.cli import follow
    from verite.cli.output import can_draw

    if target.is_dir() and (target / MARK).exists():
        shutil.rmtree(target)
    with folder_atomically(target) as home:
        (home / MARK).touch()
        for bundled, name in FOLDERS.items():
            with as_file(files("verite") / "data" / bundled) as source:
                for file in sorted(path for path in source.rglob("*") if path.is_file()):
                    place = home / name / file.relative_to(source)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, place)
        with chdir(home):
            for said, typed in TOUR if is_long else SHORT:
                click.secho(f"\n{said}", fg="cyan")
                click.secho(f"$ verite {typed}", bold=True)
                if not typed.startswith("draw ") or can_draw():
                    follow(shlex.split(typed))
    click.secho(f"\nOpen {target / 'report.html'} in a browser.", fg="cyan")
    if is_long:
        plots = sum(1 for path in target.rglob("*.png") if "results" in path.parts)
        click.secho(f"All results, tables and {plots} plots are in {target}.", fg="cyan")
    else:
        click.secho(f"The data are in {target}, to try any command on; verite demo --long runs them all.", fg="cyan")
