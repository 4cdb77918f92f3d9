"""The catalogue."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from verite.cli.options import output_options


@click.command(
    epilog="""\b
Examples:
  verite metrics
  verite metrics gce
  verite metrics "hausdorff(quantile=0.95)"
  verite metrics voc_ap
  verite metrics --json"""
)
@click.argument("name", required=False)
@output_options
def metrics(name: str | None, **given: Any) -> None:
    """List the metrics, or show the card of one."""
    from verite.cli.output import emit
    from verite.metrics.cards import card, catalogue

    look_here([name] if name else [])
    emit(card(name) if name else catalogue(), given)


def look_here(names: Iterable[str]) -> None:
    """A function of one's own, named by its path, may lie in the folder at hand."""
    if any(":" in name for name in names):
        sys.path.insert(0, str(Path.cwd()))
