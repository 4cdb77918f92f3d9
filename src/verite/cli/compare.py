"""Is the new one worse than the old one?"""

from __future__ import annotations

from typing import Any

import click

from verite.cli.evaluate import OUTPUT, evaluate_each, finish
from verite.cli.gate import gate_options, pass_saved
from verite.cli.options import checks_option, output_options, reading_options
from verite.protocols import HOMES, protocol_named


@click.command(
    epilog="""\b
Examples:
  verite coco truth.json new.json --save new-results.json
  verite compare main-results.json new-results.json
  verite compare main-results.json new-results.json --require "AP>=base-0.005" --require "AP[person]>=0.6"
  verite compare truth.json old.json new.json --require "AP>=base-0.005" --sure 0.95
  verite compare truth/ old/ new/ --protocol voc --require "mAP>=base"
Exit status: 0 all requirements are met, 1 the data is at fault, 2 the command is, 3 one is not met."""
)
@click.argument("paths", nargs=-1, required=True, metavar="BASE.json NEW.json | TRUTH BASE NEW")
@click.option("--protocol", type=click.Choice(list(HOMES)), default="coco", show_default=True,
              help="With TRUTH BASE NEW: whose numbers; its verb has more options.")  # fmt: skip
@gate_options
@OUTPUT
@reading_options
@checks_option
@output_options
def compare(paths: tuple[str, ...], **given: Any) -> None:
    """Two saved results, or two systems on one truth: what is better, what is worse, and is it good enough?"""
    if len(paths) == 3:
        finish(evaluate_each(paths[0], paths[1:], given, protocol_named(given["protocol"])), given)
        return
    if len(paths) != 2:
        raise click.UsageError(f"expected BASE.json NEW.json, or TRUTH BASE NEW, found {len(paths)} files")
    from verite.analysis.saved import SavedComparison, read_saved

    base, new = (read_saved(path) for path in paths)
    pass_saved(base, new, SavedComparison(base, new), given)
