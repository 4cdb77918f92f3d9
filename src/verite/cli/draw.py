"""Command `verite draw`: ground truth and predictions drawn on their images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from verite.cli.help import command
from verite.cli.options import INPUT, checks_option, read_side, reading_options
from verite.errors import one_line
from verite.evaluation.settings import SIMILARITIES
from verite.protocols import REGISTRY


@command(
    epilog="""\b
Examples:
  verite draw truth.json pred.json --images photos/ -o drawn/
  verite draw truth.json pred.json --images photos/ -o drawn/ --worst 40
  verite draw truth.json pred.json --images photos/ -o drawn/ --image street.jpg --confidence 0.3
  verite draw truth.json pred.json --on mask -o drawn/ --plot-format svg"""
)
@click.argument("truth", type=INPUT)
@click.argument("pred", type=INPUT)
@click.option("--output", "-o", type=click.Path(file_okay=False), required=True, help="Folder for the figures.")
@click.option("--worst", type=click.IntRange(1), default=12, show_default=True, metavar="N",
              help="Number of images, those with the most errors first.")  # fmt: skip
@click.option("--image", metavar="NAME", help="Only this image.")
@click.option("--confidence", type=INPUT, metavar="C|FILE", show_default="that of the best F1",
              help="Confidence threshold, or a thresholds.json with one per class.")  # fmt: skip
@click.option("--iou", "-t", type=float, metavar="IOU", show_default="0.5, or the protocol's own",
              help="IoU threshold of a match.")  # fmt: skip
@click.option(
    "--on",
    type=click.Choice(list(SIMILARITIES)),
    help="What is compared and drawn, if the protocol has a choice.",
)
@click.option("--sigmas", type=INPUT, metavar="FILE", show_default="as annotated, else COCO or CrowdPose",
              help="OKS sigma of each keypoint: a file of numbers, coco or crowdpose.")  # fmt: skip
@click.option(
    "--protocol", type=click.Choice(list(REGISTRY)), default="coco", show_default=True, help="Evaluation protocol."
)
@click.option("--plot-format", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True)
@click.option("--quiet", "-q", is_flag=True, help="Print only the paths of the figures.")
@checks_option
@reading_options
def draw(truth: str, pred: str, **given: Any) -> None:
    """Draw true positives, false positives and missed objects on the images.

    TRUTH and PRED are files or folders in any known format. Ground truth is solid, predictions are dashed. Images
    are searched in --images, else beside TRUTH; without images, objects are drawn on an empty background.
    """
    from verite.cli.output import can_draw, describe_reading, note, warn
    from verite.evaluation.settings import count_left
    from verite.files import fill_folder
    from verite.protocols import protocol_named
    from verite.reporting.draw import Overlay, save_overlays
    from verite.reporting.image_files import ImageFiles

    if not can_draw():
        raise click.exceptions.Exit(1)
    protocol = protocol_named(given["protocol"])
    settings = {name: given[name] for name in ("on", "iou", "sigmas") if given[name] is not None}
    protocol.settings(**settings)
    truths = read_side(truth, "truth", given)
    describe_reading("truth", truths, quiet=given["quiet"])
    preds = read_side(pred, "pred", given, truths)
    describe_reading("pred", preds, quiet=given["quiet"])
    results = protocol(truths, preds, checks=given["checks"], **settings)
    warn(results.findings, {"truth": truth, "pred": pred}, set())
    files = ImageFiles(results.truth, given["images"])
    if files.folder is None:
        note("no images: expected --images FOLDER; objects are drawn on an empty background", quiet=given["quiet"])
    overlay = Overlay(results, confidence=given["confidence"])
    if given["confidence"] is not None:
        note(count_left(results.pred, overlay.confidence), quiet=given["quiet"])
    with fill_folder(given["output"]) as home:
        saved = save_overlays(overlay, files, home, given["plot_format"], given["image"], given["worst"])
    if not saved:
        note("nothing to draw: no image has an error; choose one with --image", quiet=given["quiet"])
    for path in saved:
        click.echo(one_line(str(Path(given["output"]) / path.relative_to(home))))
