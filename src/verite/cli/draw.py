"""Truth and predictions on their photos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from verite.cli.options import checks_option, read_side, reading_options
from verite.evaluation.similarities import SIMILARITIES
from verite.protocols import HOMES


@click.command(
    epilog="""\b
Examples:
  verite draw truth.json pred.json --images photos/ -o drawn/
  verite draw truth.json pred.json --images photos/ -o drawn/ --worst 40
  verite draw truth.json pred.json --images photos/ -o drawn/ --image street.jpg --confidence 0.3
  verite draw truth.json pred.json --on mask -o drawn/ --plot-format svg"""
)
@click.argument("truth")
@click.argument("pred")
@click.option("--output", "-o", type=click.Path(file_okay=False), required=True, help="Folder for the pictures.")
@click.option("--worst", type=click.IntRange(1), default=12, show_default=True, metavar="N",
              help="How many images, those with most mistakes first.")  # fmt: skip
@click.option("--image", metavar="NAME", help="Only this image.")
@click.option("--confidence", metavar="C|FILE", show_default="that of the best F1",
              help="Leave out predictions below this confidence, or below that of their class in a "
              "thresholds.json.")  # fmt: skip
@click.option("--iou", "-t", type=float, metavar="IOU", show_default="0.5, or the protocol's own",
              help="Overlap from which on an object is found.")  # fmt: skip
@click.option(
    "--on",
    type=click.Choice(list(SIMILARITIES)),
    help="What is compared and drawn, where the protocol asks.",
)
@click.option("--sigmas", metavar="FILE", show_default="the truth's, else those of COCO or CrowdPose",
              help="Spread of each keypoint: a file of numbers, coco or crowdpose.")  # fmt: skip
@click.option("--protocol", type=click.Choice(list(HOMES)), default="coco", show_default=True, help="Whose rules.")
@click.option("--plot-format", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True)
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but the names of the pictures.")
@checks_option
@reading_options
def draw(truth: str, pred: str, **given: Any) -> None:
    """What was found, missed and wrong, drawn on the photos: truth solid, predictions dashed.

    TRUTH and PRED are files or folders in any known format. Photos are looked for in --images, else beside TRUTH; where
    there is none, objects are drawn on an empty ground.
    """
    from verite.cli.output import can_draw, describe_reading, note, warn
    from verite.files import fill_folder
    from verite.protocols import protocol_named
    from verite.reporting.draw import save_overlays
    from verite.reporting.overlays import Overlay
    from verite.reporting.pictures import Pictures

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
    pictures = Pictures(results.truth, given["images"])
    if pictures.folder is None:
        note("no photos: expected --images FOLDER; objects are drawn on an empty ground", quiet=given["quiet"])
    overlay = Overlay(results, confidence=given["confidence"])
    with fill_folder(given["output"]) as home:
        saved = save_overlays(overlay, pictures, home, given["plot_format"], given["image"], given["worst"])
    if not saved:
        note("nothing to draw: no image has a mistake; name one with --image", quiet=given["quiet"])
    for path in saved:
        click.echo(Path(given["output"]) / path.relative_to(home))
