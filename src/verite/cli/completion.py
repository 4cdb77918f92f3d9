"""Completion of verbs and options in the shell."""

from __future__ import annotations

import click


@click.command(
    epilog="""\b
Examples:
  verite completion bash >> ~/.bashrc
  verite completion zsh >> ~/.zshrc
  verite completion fish > ~/.config/fish/completions/verite.fish"""
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what a shell needs to complete verbs and options."""
    from click.shell_completion import get_completion_class

    from verite.cli import verite

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(verite, {}, "verite", "_VERITE_COMPLETE").source())
