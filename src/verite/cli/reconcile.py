"""The command `verite reconcile`: which evaluation conventions give the number that another tool printed."""

from __future__ import annotations

from typing import Any

import click

from verite.cli.help import command
from verite.cli.options import INPUT, READING, OutputSettings, options_for, read_side, spell_reading_options
from verite.errors import BadParameter
from verite.evaluation.settings import EvaluationSettings
from verite.settings import Count, Names, Option, Setting, Texts


class ReconcileSettings(EvaluationSettings):
    """Settings of `verite reconcile`."""

    numbers: Texts = Names(
        None, "Printed number: 0.523, 52.3, AP50=0.721, AP50[person]=0.8; may be repeated.", long="number",
        metavar="[SCORE=]NUMBER", section="Options",
    )  # fmt: skip
    table: Option[str | None] = Setting(
        None,
        "Table of printed scores: a column of classes, columns of scores.",
        long="numbers",
        metavar="FILE.csv",
        section="Options",
    )
    tool: Option[str | None] = Setting(
        None, "Only try the conventions of this tool; an unknown name lists them.", metavar="NAME", section="Options"
    )
    protocols: Texts = Names(
        None, "Protocol whose conventions are tried, ours first; may be repeated.", long="protocol",
        metavar="PROTOCOL", default_text="coco, voc", section="Options",
    )  # fmt: skip
    tries: Option[int] = Count(500, "Number of conventions to try.", section="Options")


@command(
    params=options_for(ReconcileSettings, *READING, OutputSettings),
    epilog="""\b
Examples:
  verite reconcile truth.json pred.json --number 0.523
  verite reconcile data.yaml predictions.json --number mAP50-95=0.371 --number mAP50=0.583 --tool ultralytics
  verite reconcile truth.json pred.json --number 52.3 --tool voc2007
  verite reconcile truth.json pred.json --numbers per-class.csv""",
)
@click.argument("truth", type=INPUT)
@click.argument("pred", type=INPUT)
def reconcile(truth: str, pred: str, **given: Any) -> None:
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
        read_as=spell_reading_options("checks"),
    )
    warn(found.findings, {"truth": truth, "pred": pred}, set())
    emit(found, given)
