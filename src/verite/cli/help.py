"""Help of the commands: common options first, then titled sections, the long tail under `--help-all`.

Also the `formats` command, which lists the annotation formats once instead of in every help text.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from verite.cli.options import SIDES, OneOf, SettingOption
from verite.errors import BadParameter, UnknownMetric
from verite.files import check_folder
from verite.formats import REGISTRY

TITLES = (
    *("Options", "Matching", "Partial results", "Analysis", "Score", "Distances"),
    *("Annotation errors", "Gold images and planning", "Tables of scores", "Annotators"),
    *("Study", "Tables of answers", "Detectors"),
    *("Ground truth and formats", "Output", "Statistics", "Gate"),
)
LAST = ("output", "as_json", "checks", "strict", "threads", "quiet", "help_all")  # of the common options, in this order
COLUMN = 28  # width of the column of options
# What other tools call an option or a side, and what it is here.
OTHER_OPTIONS: dict[str, tuple[str, ...]] = {
    "--per-class": ("--per", "class"),
    "--classwise": ("--per", "class"),
    "--score-thr": ("--confidence",),
    "--score-threshold": ("--confidence",),
    "--conf": ("--confidence",),
    "--conf-thres": ("--confidence",),
    "--threshold": ("--iou",),
    "--iou-thr": ("--iou",),
    "--iou-threshold": ("--iou",),
    "--iou-type": ("--on",),
    "--iouType": ("--on",),
    "--max-det": ("--max-dets",),
    "--maxDets": ("--max-dets",),
    "--jobs": ("--threads",),
    "--matching": ("--match",),
    "--all": ("--long",),
    "--table": ("--show",),
    "--pictures": ("--png",),
    "--audit": ("--audit-size",),
    "--labels": ("--class",),
    "--classes": ("--class",),
    "--class": ("--class-name",),  # of commands that evaluate no choice of classes
    "--favours": ("--bias-toward",),  # earlier names
    "--lit": ("--detectable",),
}
OTHER_SIDES = {
    "truth": ("--gt", "--truth", "--ann", "--anno", "--annotations"),
    "pred": ("--dt", "--det", "--pred", "--predictions", "--results"),
}
HELP_ALL = "verite.help_all"
DEFAULT = re.compile(r"\[default: \((.*)\)(?=\])")  # click puts defaults in words into parentheses


def show_everything(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Print the help with every option, and exit."""
    if value and not context.resilient_parsing:
        context.meta[HELP_ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


class Sectioned(click.Command):
    """A command or group whose help has sections, and every option under `--help-all`."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        is_long = any(isinstance(param, SettingOption) and param.is_rare for param in self.params)
        return [*super().get_params(ctx), ALL_OPTIONS if is_long else NO_MORE_OPTIONS]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of a command, and refuse combinations of options that no command takes.

        Spellings of other tools are replaced by ours, and `--gt FILE` and `--dt FILE` brought into the place of
        arguments. A spelling that this command has itself, or that means nothing to it, is left as it is.
        """
        own = {word for param in self.params for word in param.opts}
        sides = {
            word: name for name, words in OTHER_SIDES.items() if name in {p.name for p in self.params} for word in words
        }
        given: dict[str, list[str]] = {"truth": [], "pred": []}
        translated: list[str] = []
        words = iter(args)
        for arg in words:
            word, equals, value = arg.partition("=")
            if arg == "--":
                translated += [arg, *words]
            elif word in own:
                translated.append(arg)
            elif word in sides:
                given[sides[word]].append(value if equals else next(words, ""))
            elif word in OTHER_OPTIONS and OTHER_OPTIONS[word][0] in own:
                translated += [*OTHER_OPTIONS[word], *([value] if equals else [])]
            else:
                translated.append(arg)
        rest = super().parse_args(ctx, [*given["truth"], *translated, *given["pred"]])
        style = ctx.params.get("style", "text")
        if style != "text" and ctx.params.get("as_json"):
            raise click.UsageError(f"expected --json or --style {style}, found both", ctx)
        if ctx.params.get("strict") and ctx.params.get("checks") == "off":
            raise click.UsageError("expected --strict or --checks off, found both", ctx)
        if ctx.params.get("output") and "overwrite" in ctx.params:  # told before a large file is read
            check_folder(ctx.params["output"], overwrite=ctx.params["overwrite"])
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error that names a setting names its option."""
        try:
            return super().invoke(ctx)
        except (BadParameter, UnknownMetric) as error:
            name, _, rest = str(error).partition(": ")
            for param in self.get_params(ctx):
                option = max(param.opts, key=len)
                if rest and option.startswith("--") and name in (param.name, option[2:].replace("-", "_")):
                    raise type(error)(f"{option}: {rest}") from error
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options: the common ones first, the others by the section of their declaration."""
        is_all = ctx.meta.get(HELP_ALL, False)
        found: dict[str, list[tuple[str, str]]] = {title: [] for title in TITLES}
        params = self.get_params(ctx)
        names = [*LAST, *(param.name for param in params if "--help" in param.opts)]
        for param in sorted(params, key=lambda p: names.index(p.name) + 1 if p.name in names else 0):
            title = "Options"
            if isinstance(param, SettingOption) and ALL_OPTIONS in params:
                if param.is_rare and not is_all:
                    continue
                title = param.section
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                text = DEFAULT.sub(r"[default: \1", record[1].replace("  [default: (none)]", ""))
                found[title].append((record[0].ljust(COLUMN - 2), text))
        for title, records in found.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=COLUMN)


class Command(Sectioned):
    """A command with sections in its help."""


class Group(Sectioned, click.Group):
    """A group of commands that accepts `--help-all` too."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and the commands of the group."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def all_options(*, hidden: bool = False) -> click.Option:
    """Return the option `--help-all`."""
    return click.Option(
        ["--help-all"], is_flag=True, expose_value=False, is_eager=True, callback=show_everything, hidden=hidden,
        help="Show every option and exit.",
    )  # fmt: skip


ALL_OPTIONS = all_options()
NO_MORE_OPTIONS = all_options(hidden=True)  # of commands whose help is complete

command: Callable[..., Callable[[Callable[..., Any]], Command]] = partial(click.command, cls=Command)


@command(epilog="\b\nExamples:\n  verite formats\n  verite formats yolo")
@click.argument("name", required=False, type=OneOf(lambda: REGISTRY))
def formats(name: str | None) -> None:
    """List the annotation formats, or show one: what it is, what it holds, its options."""
    from textwrap import fill

    from verite.formats import all_formats, format_named

    if name is not None:
        chosen = format_named(name)
        options = sorted(f"--{option.replace('_', '-')}" for option in chosen.options)
        lines = {"read as": ", ".join(SIDES[side] for side in chosen.sides), "written": "yes" if chosen.write else "no"}
        if chosen.write:
            lines |= {"preserves": ", ".join(sorted(chosen.preserves)), "requires": ", ".join(sorted(chosen.requires))}
        lines["options"] = ", ".join(options)
        width = min(shutil.get_terminal_size().columns, 100)
        click.echo(f"{chosen.name}: {chosen.title}\n\n{fill(chosen.about, width)}\n")
        for title, words in lines.items():
            click.echo(fill(f"{title}: {words or '-'}", width, subsequent_indent="  ", break_on_hyphens=False))
        if options:
            click.echo("  (of verite convert; evaluations have one per side: --truth-boxes, --pred-boxes)")
        return
    known = sorted(all_formats(), key=lambda format: format.name)
    width = max(len(format.name) for format in known)
    for format in known:
        click.echo(f"{format.name.ljust(width)}  {'read, written' if format.write else 'read':<13}  {format.title}")
    click.echo("\n`verite formats NAME` shows what a format preserves and which options it has.")
