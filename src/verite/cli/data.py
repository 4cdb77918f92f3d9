"""The commands `verite inspect` (what a file holds and what is wrong), `verite convert` and `verite completion`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from verite.cli.help import Command, command
from verite.cli.options import (
    INPUT,
    READING,
    ClassNameSettings,
    DatasetSettings,
    OutputSettings,
    SourceSettings,
    options_for,
    read_side,
    written_formats,
)
from verite.errors import BadParameter, did_you_mean, list_faults
from verite.settings import Flag, Option, Setting, Settings


class InspectSettings(Settings):
    """Settings of `verite inspect`."""

    fix: Option[str | None] = Setting(
        None,
        "Write the file again with safe fixes: without exact duplicates, boxes clipped to their images, class names "
        "trimmed.",
        kind="output",
        metavar="OUT",
        section="Options",
    )
    strict: Option[bool] = Flag(False, "Treat warnings as errors: exit with status 1.", section="Options")


@command(
    params=options_for(InspectSettings, *READING, ClassNameSettings, OutputSettings),
    epilog="""\b
Examples:
  verite inspect instances_val.json
  verite inspect truth/ detections.json
  verite inspect truth.json a.json b.json --json
  verite inspect truth.json --fix fixed.json
The first file is the ground truth, unless it has confidences and is alone.
Exit codes: 0 no error, 1 an error was found (with --strict: a warning), 2 usage error.""",
)
@click.argument("paths", type=INPUT, nargs=-1, required=True, metavar="TRUTH [PRED...]")
@click.pass_context
def inspect(context: click.Context, /, paths: tuple[str, ...], fix: str | None, **given: Any) -> None:
    """Show what a file holds, suspected mistakes, and how to fix them."""
    if fix and len(paths) > 1:
        raise click.UsageError(f"--fix: expected one file, found {len(paths)}; fix one file at a time", context)
    from verite.checks import inspect as look
    from verite.cli.output import emit

    with list_faults():
        truth = read_side(paths[0], "truth", given)
        preds = [read_side(path, "pred", given, truth) for path in paths[1:]]
    inspection = look(truth, *preds)
    emit(inspection, given)
    if fix:
        # Write the file with what can be fixed automatically, and print a line per change.
        quiet = given["quiet"] or given["as_json"]
        from verite.checks.inspection import fix_annotations
        from verite.cli.output import count_of, note
        from verite.formats import format_named, write

        if unread := sum(flaw.count for flaw in truth.source.flaws):
            note(
                f"{fix} not written: {count_of(unread, 'record')} cannot be read; fix or remove them first", quiet=False
            )
        else:
            fixed, done = fix_annotations(truth)
            title = format_named(truth.source.format).title
            lost = write(fixed, Path(fix), truth.source.format)
            for line in done or ["nothing to fix"]:
                note(line, quiet=quiet)
            note(f"out: {fix} as {title}", quiet=quiet)
            if lost:
                note(f"left out, because {title} cannot hold it: {', '.join(lost)}", quiet=False)
    stopping = ("error", "warning") if given["strict"] else ("error",)
    if any(finding.severity in stopping for finding in inspection.findings):
        context.exit(1)


class ConvertSettings(Settings):
    """Settings of `verite convert`, beside those of how a file is read."""

    to: Option[str | None] = Setting(
        None, "Format to write.", kind="written_format", metavar="FORMAT", is_required=True, section="Options"
    )
    like: Option[str | None] = Setting(
        None, "Take image ids and class ids from this ground truth.", kind="path", metavar="TRUTH", section="Options"
    )
    quiet: Option[bool] = Flag(False, "Print nothing but what is lost.", short="-q")


class ConvertCommand(Command):
    """The command with the names of the formats that can be written, which are loaded when help is printed."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for param in self.params:
            if param.name == "to" and isinstance(param, click.Option):
                param.help = f"One of {', '.join(sorted(written_formats()))}."
        super().format_options(ctx, formatter)


@command(
    cls=ConvertCommand,
    params=options_for(ConvertSettings, SourceSettings, DatasetSettings, ClassNameSettings),
    epilog="""\b
Examples:
  verite convert instances_val.json Annotations/ --to voc
  verite convert labels/ truth.json --to coco --images images/ --names data.yaml
  verite convert detections/ results.json --to coco-results --like truth.json
  verite convert data.yaml truth.json --to coco --split val
  verite convert export.zip labels/ --to kitti
What the new format cannot hold is listed.""",
)
@click.argument("source", type=INPUT)
@click.argument("target", type=click.Path())
def convert(source: str, target: str, to: str, like: str | None, quiet: bool, **given: Any) -> None:
    """Convert annotations to another format."""
    from verite.cli.output import count_of, describe_reading, note
    from verite.formats import REGISTRY, format_named, read, read_source, restrict_images, write
    from verite.formats.format import Options

    if to not in REGISTRY:
        raise BadParameter(f"to: expected a format (see verite formats), found {to!r}{did_you_mean(to, REGISTRY)}")
    title = format_named(to).title
    truth = read(like) if like else None
    listed = given.pop("only_images")
    annotations = read_source(source, given.pop("format"), Options.of(**given, like=truth, side=""))
    if listed:
        annotations = restrict_images(annotations, listed)
    describe_reading("in", annotations, quiet=quiet)
    for flaw in annotations.source.flaws:
        note(
            f"{flaw.code} {count_of(flaw.count, 'record')} left out: {flaw.what} (first: {flaw.places[0]})", quiet=False
        )
    lost = write(annotations, Path(target), to)
    note(f"out: {target}: {count_of(len(annotations), 'object')} as {title}", quiet=quiet)
    if lost:
        note(f"left out, because {title} cannot hold it: {', '.join(lost)}", quiet=False)


@command(
    epilog="""\b
Examples:
  verite completion bash >> ~/.bashrc
  verite completion zsh >> ~/.zshrc
  verite completion fish > ~/.config/fish/completions/verite.fish"""
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script by which a shell completes commands and options."""
    from click.shell_completion import get_completion_class

    from verite.cli import verite

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(verite, {}, "verite", "_VERITE_COMPLETE").source())
