"""The catalogue."""

from __future__ import annotations

import click

from verite.cli.options import output_options


@click.command(
    epilog="""\b
Examples:
  verite metrics
  verite metrics voc_ap
  verite metrics --json"""
)
@click.argument("name", required=False)
@output_options
def metrics(name: str | None, as_json: bool, save: str | None, quiet: bool) -> None:
    """List the metrics, or show the card of one."""
    from verite.cli.output import emit
    from verite.metrics.catalogue import card, catalogue

    emit(card(name) if name else catalogue(), as_json=as_json, save=save, quiet=quiet)
