"""Help of the commands: common options first, then titled sections, the long tail under `--help-all`.

Also the `formats` command, which lists the annotation formats once instead of in every help text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

# Shown first, in this order, under "Options"; of these a command shows those it has.
COMMON = (
    "on",
    "iou",
    "labels",
    "confidence",
    "per",
    "metric",
    "metrics",
    "protocol",
    "errors",
    "epsilon",
    "images",
    "output",
    "as_json",
    "checks",
    "threads",
    "quiet",
    "help_all",
)
# Other options by section; what is listed nowhere is about matching, the heart of an evaluation.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Matching": (),
    "Ground truth and formats": (
        "both_format",
        "truth_format",
        "pred_format",
        "truth_boxes",
        "pred_boxes",
        "truth_coords",
        "pred_coords",
        "truth_angle",
        "pred_angle",
        "truth_label_offset",
        "pred_label_offset",
        "truth_image_offset",
        "pred_image_offset",
        "truth_images",
        "pred_images",
        "truth_masks",
        "pred_masks",
        "image_size",
        "names",
        "map",
        "split",
        "columns",
        "class_name",
        "annotator",
        "mask_threshold",
    ),
    "Output": (
        "style",
        "save",
        "csv_safe",
        "no_plot",
        "plot_format",
        "table",
        "pictures",
        "title",
        "curves",
        "legend",
        "open",
    ),
    "Statistics": ("resample", "draws", "seed", "level", "metadata", "audit", "calibrate"),
    "Gate": ("requirements", "base", "sure", "summary"),
}
SECTION_OF = {name: title for title, names in SECTIONS.items() for name in names}
# Rarely needed: in `--help-all` and in the reference only.
RARE = frozenset(
    [
        "area_from",
        "ties",
        "max_image_dets",
        "parts",
        "csv_safe",
        "no_plot",
        "plot_format",
        "columns",
        "class_name",
        "annotator",
        "mask_threshold",
        "sigmas",
        "exact",
        "truth_format",
        "pred_format",
        "truth_angle",
        "pred_angle",
        "truth_label_offset",
        "pred_label_offset",
        "truth_image_offset",
        "pred_image_offset",
        "truth_coords",
        "truth_images",
        "pred_images",
        "truth_masks",
        "pred_masks",
        "summary",
        "equal",
        "pixel",
        "descriptions",
        "image_labels",
    ]
)
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
    "--jobs": ("--threads",),
    "--favours": ("--bias-toward",),  # earlier names
    "--lit": ("--detectable",),
}
OTHER_SIDES = {
    "truth": ("--gt", "--truth", "--ann", "--anno", "--annotations"),
    "pred": ("--dt", "--det", "--pred", "--predictions", "--results"),
}
HELP_ALL = "verite.help_all"


def show_everything(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Print the help with every option, and exit."""
    if value and not context.resilient_parsing:
        context.meta[HELP_ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


class Command(click.Command):
    """A command whose help has sections, and every option under `--help-all`."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), ALL_OPTIONS] if self.has_rare_options() else super().get_params(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self.translate_options(args))

    def translate_options(self, args: list[str]) -> list[str]:
        """Replace spellings of other tools by ours, and bring `--gt FILE` and `--dt FILE` into the place of arguments.

        A spelling that this command has itself, or that means nothing to it, is left as it is.
        """
        own = {word for param in self.params for word in param.opts}
        sides = {
            word: name for name, words in OTHER_SIDES.items() if name in {p.name for p in self.params} for word in words
        }
        given: dict[str, list[str]] = {"truth": [], "pred": []}
        translated: list[str] = []
        rest = iter(args)
        for arg in rest:
            word, equals, value = arg.partition("=")
            if arg == "--":
                translated += [arg, *rest]
            elif word in own:
                translated.append(arg)
            elif word in sides:
                given[sides[word]].append(value if equals else next(rest, ""))
            elif word in OTHER_OPTIONS and OTHER_OPTIONS[word][0] in own:
                translated += [*OTHER_OPTIONS[word], *([value] if equals else [])]
            else:
                translated.append(arg)
        return [*given["truth"], *translated, *given["pred"]] if any(given.values()) else translated

    def has_rare_options(self) -> bool:
        return any(param.name in RARE for param in self.params)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options: the common ones first, the others by section."""
        is_all = ctx.meta.get(HELP_ALL, False)
        found: dict[str, list[tuple[str, str]]] = {"Options": [], **{title: [] for title in SECTIONS}}
        params = sorted(self.get_params(ctx), key=lambda p: COMMON.index(p.name) if p.name in COMMON else len(COMMON))
        for param in params:
            if param.name in RARE and not is_all:
                continue
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                is_common = param.name in COMMON or "--help" in param.opts or not self.has_rare_options()
                title = "Options" if is_common else SECTION_OF.get(str(param.name), "Matching")
                found[title].append((record[0].ljust(COLUMN - 2), record[1]))
        for title, records in found.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=COLUMN)


ALL_OPTIONS = click.Option(
    ["--help-all"], is_flag=True, expose_value=False, is_eager=True, callback=show_everything,
    help="Show every option and exit.",
)  # fmt: skip

command: Callable[..., Callable[[Callable[..., Any]], Command]] = partial(click.command, cls=Command)


@command(epilog="\b\nExamples:\n  verite formats\n  verite formats yolo")
@click.argument("name", required=False)
def formats(name: str | None) -> None:
    """List the annotation formats, or show one: what it is, what it holds, its options."""
    from verite.formats import all_formats, format_named

    if name is not None:
        chosen = format_named(name)
        click.echo(f"{chosen.name}: {chosen.title}\n\n{chosen.about}\n")
        click.echo(f"read as: {', '.join(chosen.sides)}")
        click.echo(f"written: {'yes' if chosen.write else 'no'}")
        if chosen.write:
            click.echo(f"preserves: {', '.join(sorted(chosen.preserves)) or '-'}")
            click.echo(f"requires: {', '.join(sorted(chosen.requires)) or '-'}")
        click.echo(f"options: {', '.join(sorted(chosen.options)) or '-'}")
        return
    known = all_formats()
    width = max(len(format.name) for format in known)
    for format in known:
        click.echo(f"{format.name.ljust(width)}  {'read, written' if format.write else 'read':<13}  {format.title}")
    click.echo("\n`verite formats NAME` shows what a format preserves and which options it has.")
