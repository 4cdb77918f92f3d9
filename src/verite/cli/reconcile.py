"""Which conventions give the number that another tool printed?"""

from __future__ import annotations

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
              help="What was printed: 0.523, 52.3, AP50=0.721, AP50[person]=0.8; may be repeated.")  # fmt: skip
@click.option("--numbers", "table", type=INPUT, metavar="FILE.csv",
              help="A table of what was printed: a column of classes, columns of scores.")  # fmt: skip
@click.option("--tool", metavar="NAME", help="Who printed it: its ways only. A wrong name lists them.")
@click.option("--protocol", "protocols", multiple=True, metavar="VERB", show_default="coco, voc",
              help="Whose conventions to try, ours first; may be repeated.")  # fmt: skip
@click.option("--tries", type=click.IntRange(1), default=500, show_default=True, help="How many ways to try.")
@reading_options
@checks_option
@output_options
@click.pass_context
def reconcile(context: click.Context, /, truth: str, pred: str, **given: Any) -> None:
    """Which conventions give the number that another tool printed.

    TRUTH and PRED are files or folders in any known format. What known tools do is tried, and every single convention;
    where none gives the number to its printed digits, several at once, the likeliest first.
    """
    from verite.analysis.reconcile import PROTOCOLS, numbers_of
    from verite.analysis.reconcile import reconcile as evaluate
    from verite.analysis.reconcile_search import tool_named
    from verite.cli.output import describe_reading, emit, note, warn

    # What is wrong with the command is told before a large file is read.
    tool = tool_named(given["tool"]) if given["tool"] else None
    if not given["numbers"] and not given["table"]:
        raise BadParameter("expected --number or --numbers, found neither; what did the other tool print?")
    numbers_of(given["numbers"], given["table"], tool.scores if tool else {})
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


OWN = ("truth", "pred", "numbers", "table", "tool", "protocols", "tries")
ABOUT_OUTPUT = ("as_json", "style", "csv_safe", "save", "quiet")


def typed_options(context: click.Context) -> list[str]:
    """The options with which both sides were read, as they were typed, for commands that read them again."""
    from shlex import quote

    words = []
    for parameter in context.command.params:
        name = str(parameter.name)
        if is_typed(context, name) and name not in (*OWN, *ABOUT_OUTPUT):
            words += [parameter.opts[-1], quote(spell_option(context.params[name]))]
    return words


def spell_option(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{ours}={theirs}" for ours, theirs in value.items())
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
