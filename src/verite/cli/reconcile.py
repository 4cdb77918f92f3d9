"""The command `verite reconcile`: which evaluation conventions give the number that another tool printed."""

from __future__ import annotations

from shlex import quote
from typing import Any

import click

from verite.cli.help import command
from verite.cli.options import INPUT, checks_option, is_typed, output_options, read_side, reading_options
from verite.errors import BadParameter


@command(
    epilog="""\b
Examples:
  verite reconcile truth.json pred.json --number 0.523
  verite reconcile data.yaml predictions.json --number mAP50-95=0.371 --number mAP50=0.583 --tool ultralytics
  verite reconcile truth.json pred.json --number 52.3 --tool voc2007
  verite reconcile truth.json pred.json --numbers per-class.csv"""
)
@click.argument("truth", type=INPUT)
@click.argument("pred", type=INPUT)
@click.option("--number", "numbers", multiple=True, metavar="[SCORE=]NUMBER",
              help="Printed number: 0.523, 52.3, AP50=0.721, AP50[person]=0.8; may be repeated.")  # fmt: skip
@click.option("--numbers", "table", type=INPUT, metavar="FILE.csv",
              help="Table of printed scores: a column of classes, columns of scores.")  # fmt: skip
@click.option("--tool", metavar="NAME", help="Only try the conventions of this tool; an unknown name lists them.")
@click.option("--protocol", "protocols", multiple=True, metavar="PROTOCOL", show_default="coco, voc",
              help="Protocol whose conventions are tried, ours first; may be repeated.")  # fmt: skip
@click.option("--tries", type=click.IntRange(1), default=500, show_default=True, help="Number of conventions to try.")
@reading_options
@checks_option
@output_options
@click.pass_context
def reconcile(context: click.Context, /, truth: str, pred: str, **given: Any) -> None:
    """Find the conventions that give the number another tool printed.

    TRUTH and PRED are files or folders in any known format. Conventions of known tools are tried, and every change of a
    single setting; where none gives the number to its printed digits, several changes at once, the most likely first.
    """
    from verite.analysis.reconcile import PROTOCOLS, parse_numbers
    from verite.analysis.reconcile import reconcile as evaluate
    from verite.analysis.reconcile_search import tool_named
    from verite.cli.output import describe_reading, emit, note, warn

    # Errors of the command are raised before a large file is read.
    tool = tool_named(given["tool"]) if given["tool"] else None
    if not given["numbers"] and not given["table"]:
        raise BadParameter("expected --number or --numbers, found neither; give the number that the other tool printed")
    parse_numbers(given["numbers"], given["table"], tool.scores if tool else {})
    quiet = given["quiet"] or given["as_json"]
    truths = read_side(truth, "truth", given)
    describe_reading("truth", truths, quiet=quiet)
    preds = read_side(pred, "pred", given, truths)
    describe_reading("pred", preds, quiet=quiet)
    note("", quiet=quiet)
    found = evaluate(
        truths,
        preds,
        *given["numbers"],
        table=given["table"],
        tool=given["tool"],
        protocols=given["protocols"] or PROTOCOLS,
        tries=given["tries"],
        checks=given["checks"],
        read_as=typed_options(context),
    )
    warn(found.findings, {"truth": truth, "pred": pred}, set())
    emit(found, given)


# Options that say how files are read are all but these.
OTHER_OPTIONS = (
    "truth", "pred", "numbers", "table", "tool", "protocols", "tries", "as_json", "style", "csv_safe", "save", "quiet"
)  # fmt: skip


def typed_options(context: click.Context) -> list[str]:
    """Return the options by which both files were read, as they were typed, for commands that read them again."""
    words = []
    for parameter in context.command.params:
        name = str(parameter.name)
        if is_typed(context, name) and name not in OTHER_OPTIONS:
            value = context.params[name]
            if isinstance(value, dict):
                value = ",".join(f"{ours}={theirs}" for ours, theirs in value.items())
            elif isinstance(value, tuple):
                value = ",".join(map(str, value))
            words += [parameter.opts[-1], quote(str(value))]
    return words
