"""The numbers of the other competitions."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from verite.cli.evaluate import CLASS, evaluated, finish
from verite.cli.options import checks_option, output_options, reading_options

OUTPUT = click.option("--output", "-o", type=click.Path(file_okay=False), help="Folder for results and tables.")


@click.command(
    epilog="""\b
Examples:
  verite panoptic panoptic_val2017.json predictions.json
  verite panoptic truth.json a.json b.json
  verite panoptic truth.json pred.json --truth-images truth_png/ --pred-images pred_png/
  verite panoptic truth.json pred.json --json | jq .PQ"""
)
@click.argument("truth")
@click.argument("pred", nargs=-1, required=True)
@click.option("--truth-images", type=click.Path(), help="Folder with the truth's PNGs, if not beside its JSON.")
@click.option("--pred-images", type=click.Path(), help="Folder with the predictions' PNGs, if not beside their JSON.")
@CLASS
@OUTPUT
@reading_options
@checks_option
@output_options
def panoptic(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """Panoptic quality: PQ, SQ and RQ over all classes, things and stuff.

    TRUTH and PRED are panoptic JSON files with their folders of PNGs, or any format that has a mask for every segment;
    several PREDs are compared side by side.
    """
    from verite.protocols.panoptic import panoptic as evaluate

    finish(evaluated(truth, pred, given, partial(evaluate, labels=given["labels"] or None)), given)
