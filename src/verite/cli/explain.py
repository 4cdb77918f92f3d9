"""Which conventions give the number that another tool printed?"""

from __future__ import annotations

from typing import Any

import click

from verite.cli.options import checks_option, output_options, read_side, reading_options


@click.command(
    epilog="""\b
Examples:
  verite explain truth.json pred.json --number 0.523
  verite explain truth.json pred.json --number 52.3 --protocol voc
  verite explain truth.json pred.json --number AP=0.371 --number AP50=0.583"""
)
@click.argument("truth")
@click.argument("pred")
@click.option("--number", "numbers", multiple=True, required=True, metavar="[SCORE=]NUMBER",
              help="What was printed, 0.523 or 52.3; may be repeated.")  # fmt: skip
@click.option("--protocol", "protocols", multiple=True, metavar="VERB", show_default="coco, voc",
              help="Whose conventions to try; may be repeated.")  # fmt: skip
@reading_options
@checks_option
@output_options
def explain(truth: str, pred: str, **given: Any) -> None:
    """Which conventions give the number that another tool printed.

    TRUTH and PRED are files or folders in any known format. Each convention is tried alone, and where none gives the
    number to its printed digits, two at a time.
    """
    from verite.analysis.explain import PROTOCOLS, PrintedNumber
    from verite.analysis.explain import explain as evaluate
    from verite.cli.output import describe_reading, emit, note, warn

    for number in given["numbers"]:
        PrintedNumber.of(number)  # what is wrong with the command is told before a large file is read
    quiet = given["quiet"] or given["as_json"]
    truths = read_side(truth, "truth", given)
    describe_reading("truth", truths, quiet=quiet)
    preds = read_side(pred, "pred", given, truths)
    describe_reading("pred", preds, quiet=quiet)
    note("", quiet=quiet)
    whose = given["protocols"] or PROTOCOLS
    found = evaluate(truths, preds, *given["numbers"], protocols=whose, checks=given["checks"])
    warn(found.findings, {"truth": truth, "pred": pred}, set())
    emit(found, given)
