"""Command `verite draw`: ground truth and predictions drawn on their images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from verite.cli.help import command
from verite.cli.options import INPUT, READING, FolderSettings, PlotSettings, options_for, read_side, settings_given
from verite.errors import one_line
from verite.reporting.draw import DrawSettings
from verite.settings import Flag, Option, Setting, Threshold


class DrawCommandSettings(DrawSettings):
    """Settings of `verite draw`, with those of the command line alone."""

    output: Option[str | None] = Setting(
        None, "Folder for the figures.", short="-o", kind="output_folder", is_required=True
    )
    overwrite: Option[bool] = FolderSettings.overwrite
    iou: Option[float | None] = Threshold(
        None, "IoU threshold of a match.", short="-t", metavar="IOU", default_text="0.5, or the protocol's own"
    )
    plot_format = PlotSettings.plot_format
    quiet: Option[bool] = Flag(False, "Print only the paths of the figures.", short="-q")


@command(
    params=options_for(DrawCommandSettings, *READING),
    epilog="""\b
Examples:
  verite draw truth.json pred.json --images photos/ -o drawn/
  verite draw truth.json pred.json --images photos/ -o drawn/ --worst 40
  verite draw truth.json pred.json --images photos/ -o drawn/ --image street.jpg --confidence 0.3
  verite draw truth.json pred.json --on mask -o drawn/ --plot-format svg""",
)
@click.argument("truth", type=INPUT)
@click.argument("pred", type=INPUT)
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
    own = DrawSettings(**settings_given(DrawSettings, given))
    protocol = protocol_named(own.protocol)
    settings = own.of_protocol | ({} if given["iou"] is None else {"iou": given["iou"]})
    protocol.settings(**settings)
    truths = read_side(truth, "truth", given)
    describe_reading("truth", truths, quiet=given["quiet"])
    preds = read_side(pred, "pred", given, truths)
    describe_reading("pred", preds, quiet=given["quiet"])
    results = protocol(truths, preds, checks=own.checks, **settings)
    warn(results.findings, {"truth": truth, "pred": pred}, set())
    files = ImageFiles(results.truth, given["images"])
    if files.folder is None:
        note("no images: expected --images FOLDER; objects are drawn on an empty background", quiet=given["quiet"])
    overlay = Overlay(results, confidence=own.confidence)
    if own.confidence is not None:
        note(count_left(results.pred, overlay.confidence), quiet=given["quiet"])
    with fill_folder(given["output"], overwrite=given["overwrite"]) as home:
        saved = save_overlays(overlay, files, home, given["plot_format"], own.image, own.worst)
    if not saved:
        note("nothing to draw: no image has an error; choose one with --image", quiet=given["quiet"])
    for path in saved:
        click.echo(one_line(str(Path(given["output"]) / path.relative_to(home))))
