"""Looking at files, and turning one format into another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.cli.help import command
from verite.cli.options import (
    ANGLE,
    ANGLE_NAMES,
    CLASS_NAME,
    COLUMNS,
    COORDS,
    FORMAT,
    IMAGE_SIZE,
    IMAGES,
    INPUT,
    LAYOUT,
    LAYOUTS,
    MASK,
    MASK_KINDS,
    MASK_THRESHOLD,
    NAMES,
    SPLIT,
    WRITTEN_FORMAT,
    WrittenFormat,
    output_options,
    read_side,
    reading_options,
)
from verite.errors import list_faults

if TYPE_CHECKING:
    from verite.model.annotations import Annotations


@command(
    epilog="""\b
Examples:
  verite inspect instances_val.json
  verite inspect truth/ detections.json
  verite inspect truth.json a.json b.json --json
  verite inspect truth.json --fix mended.json
The first file is the truth unless it has confidences; the others are predictions on it."""
)
@click.argument("paths", type=INPUT, nargs=-1, required=True, metavar="TRUTH [PRED...]")
@click.option("--fix", type=click.Path(), metavar="OUT",
              help="Write the one file anew, in its own format: without exact repetitions, boxes clipped to their "
                   "images, names without blanks around them.")  # fmt: skip
@reading_options
@CLASS_NAME
@output_options
@click.pass_context
def inspect(context: click.Context, /, paths: tuple[str, ...], fix: str | None, **given: Any) -> None:
    """What is in a file, what is suspicious, what to do about it."""
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
        write_fixed(truth, fix, quiet=given["quiet"] or given["as_json"])
    if any(finding.severity == "error" for finding in inspection.findings):
        context.exit(1)


def write_fixed(annotations: Annotations, target: str, *, quiet: bool) -> None:
    """The same file with what can be put right put right, and a line for everything that was changed."""
    from verite.checks.inspection import fix_annotations
    from verite.cli.output import count_of, note
    from verite.formats import format_named, write

    if unread := sum(flaw.count for flaw in annotations.source.flaws):
        note(
            f"{target} not written: {count_of(unread, 'record')} cannot be read; fix or remove them first", quiet=False
        )
        return
    fixed, done = fix_annotations(annotations)
    title = format_named(annotations.source.format).title
    lost = write(fixed, Path(target), annotations.source.format)
    for line in done or ["nothing to fix"]:
        note(line, quiet=quiet)
    note(f"out: {target} as {title}", quiet=quiet)
    if lost:
        note(f"left out, because {title} cannot hold it: {', '.join(lost)}", quiet=False)


@command(
    epilog="""\b
Examples:
  verite convert instances_val.json Annotations/ --to voc
  verite convert labels/ truth.json --to coco --images pictures/ --names data.yaml
  verite convert detections/ results.json --to coco-results --like truth.json
  verite convert data.yaml truth.json --to coco --split val
  verite convert export.zip labels/ --to kitti
What the new format cannot hold is named; nothing is overwritten but a file you name yourself."""
)
@click.argument("source", type=INPUT)
@click.argument("target", type=click.Path())
@click.option("--to", required=True, type=WRITTEN_FORMAT, metavar="FORMAT", cls=WrittenFormat)
@click.option(
    "--like", type=INPUT, metavar="TRUTH", help="Take over images and classes, with their ids, from this file."
)
@click.option("--format", type=FORMAT, metavar="NAME", help="Format of the source; `verite formats` lists them.")
@click.option("--boxes", type=LAYOUT, metavar="LAYOUT", help=f"What the 4 numbers are: {LAYOUTS}.")
@click.option("--coords", metavar="abs|rel|WxH|*F", help=COORDS)
@click.option("--angle", type=ANGLE, metavar="UNIT", help=f"Angle of rotated boxes: {ANGLE_NAMES}.")
@IMAGE_SIZE
@IMAGES
@NAMES
@SPLIT
@COLUMNS
@click.option("--masks", type=MASK, metavar="KIND", help=f"What pixels of mask pictures are: {MASK_KINDS}.")
@MASK_THRESHOLD
@click.option("--label-offset", type=int, default=0, help="Added to every class id.")
@click.option("--image-offset", type=int, default=0, help="Added to every image id.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but what is lost.")
def convert(source: str, target: str, to: str, like: str | None, quiet: bool, **given: Any) -> None:
    """Turn annotations of one format into another."""
    from verite.cli.output import count_of, describe_reading, note
    from verite.formats import format_named, read, read_source, write
    from verite.formats.format import Options

    title = format_named(to).title
    truth = read(like) if like else None
    annotations = read_source(source, given.pop("format"), Options.of(**given, like=truth, side=""))
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
    """Print what a shell needs to complete verbs and options."""
    from click.shell_completion import get_completion_class

    from verite.cli import verite

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(verite, {}, "verite", "_VERITE_COMPLETE").source())
