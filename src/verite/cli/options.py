"""Options that several verbs share: how to read the files, and what to do with the outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from verite.formats import HOMES
from verite.formats.format import MASKS
from verite.model.display import STYLES
from verite.model.layouts import LAYOUTS as BOX_LAYOUTS
from verite.model.quads import ANGLES
from verite.settings import Choice
from verite.threads import use_threads

if TYPE_CHECKING:
    from verite.model.annotations import Annotations
    from verite.settings import Setting, Settings

F = TypeVar("F", bound=Callable[..., Any])
Given = dict[str, Any]

FORMATS = ", ".join(HOMES)
LAYOUTS = ", ".join(BOX_LAYOUTS)
ANGLE_NAMES = ", ".join(ANGLES)
MASK_KINDS = ", ".join(MASKS)
COORDS = "In pixels, fractions, a resized picture's pixels."


class WrittenFormat(click.Option):
    """`--to`: which formats can be written is known to their records, which are loaded when help is asked for."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from verite.formats import all_formats

        self.help = f"One of {', '.join(format.name for format in all_formats() if format.write)}."
        return super().get_help_record(ctx)


class ImageSize(click.ParamType):  # type: ignore[type-arg]
    """WIDTH,HEIGHT (or WIDTHxHEIGHT) in pixels."""

    name = "W,H"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        parts = str(value).replace("x", ",").split(",")
        if len(parts) != 2 or not all(p.strip().isdecimal() and int(p) > 0 for p in parts):
            self.fail(f"expected WIDTH,HEIGHT in pixels, found {value!r}", param, ctx)
        return int(parts[0]), int(parts[1])


class ColumnNames(click.ParamType):  # type: ignore[type-arg]
    """OURS=THEIRS, several of them with commas between."""

    name = "OURS=THEIRS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, str]:
        pairs = [part.partition("=") for part in str(value).split(",")]
        if not all(ours.strip() and theirs.strip() for ours, _, theirs in pairs):
            self.fail(f"expected OURS=THEIRS such as image=img,label=kind, found {value!r}", param, ctx)
        return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


class AreaRange(click.ParamType):  # type: ignore[type-arg]
    """NAME:LOW:HIGH in square pixels."""

    name = "NAME:LOW:HIGH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float, float]:
        name, _, limits = str(value).partition(":")
        low, _, high = limits.partition(":")
        try:
            if not name:
                raise ValueError
            return name, float(low), float(high)
        except ValueError:
            self.fail(f"expected NAME:LOW:HIGH such as small:0:1024, found {value!r}", param, ctx)


# What the command line parses for each kind of setting.
TYPES: dict[str, Any] = {
    "text": str,
    "whole": int,
    "number": float,
    "count": click.IntRange(1),
    "path": click.Path(),
    "area": AreaRange(),
}


def setting_options(settings: type[Settings]) -> list[Callable[[F], F]]:
    """The options of settings: the long one is the setting's name."""
    return [option for s in settings.declared.values() if s.has_option for option in options_of(s)]


def settings_options(settings: type[Settings]) -> Callable[[F], F]:
    """The same as a decorator."""

    def add(command: F) -> F:
        for option in reversed(setting_options(settings)):
            command = option(command)
        return command

    return add


def share_threads(context: click.Context, parameter: click.Parameter, value: int | None) -> int | None:
    """What was asked holds for everything that the command does, reading and checking among it."""
    if value is not None:
        context.with_resource(use_threads(value))
    return value


# What options of some names do beside being given.
CALLBACKS = {"threads": share_threads}
THREADS = click.option("--threads", "-j", type=click.IntRange(1), callback=share_threads, help="Threads.")


def options_of(setting: Setting[Any, Any]) -> list[Callable[[F], F]]:
    """One option for a setting, and one for each flag that stands for a value of it."""
    words = [*([setting.short] if setting.short else []), setting.option, *(f"--{name}" for name in setting.names)]
    more: dict[str, Any] = {"help": setting.help, "metavar": setting.metavar, "callback": CALLBACKS.get(setting.name)}
    if setting.kind == "flag":
        more |= {"is_flag": True}
    else:
        kind = click.Choice(setting.choices) if isinstance(setting, Choice) else TYPES[setting.kind]
        more |= {"type": kind, "multiple": setting.is_repeated}
        if setting.default_text or setting.is_repeated:
            more |= {"show_default": setting.default_words or False}
        else:
            more |= {"default": setting.default, "show_default": True}
    flags = [
        click.option(f"--{flag}", is_flag=True, help=f"The same as {setting.option} {value}.")
        for flag, value in setting.flags.items()
    ]
    return [click.option(setting.name, *words, **more), *flags]


def settings_given(settings: type[Settings], given: Given) -> Given:
    """The settings among the options that were typed; the others have their defaults, which may follow from these."""
    declared = settings.declared.values()
    context = click.get_current_context()
    typed = {
        s.name: given[s.name]
        for s in declared
        if s.has_option and given[s.name] not in (None, ()) and is_typed(context, s.name)
    }
    return typed | {s.name: value for s in declared for flag, value in s.flags.items() if given[flag]}


def is_typed(context: click.Context, name: str) -> bool:
    """Was the option said, on the command line or anywhere else, or has it its default?"""
    return context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


IMAGE_SIZE = click.option("--image-size", type=ImageSize(), help="Size of every image, for relative coordinates.")
IMAGES = click.option("--images", type=click.Path(), help="Folder with the pictures, for their sizes.")
COLUMNS = click.option("--columns", metavar="OURS=THEIRS,...", type=ColumnNames(),
                       help="Columns of a table under other names, e.g. image=img,label=kind.")  # fmt: skip
SPLIT = click.option("--split", metavar="NAME", help="Which part of a data set is the truth: train, val or test.")
MASK_THRESHOLD = click.option("--mask-threshold", type=float, metavar="SHARE",
                              help="Grey from which a pixel of a soft mask is the object's, 0 to 1.")  # fmt: skip
NAMES = click.option("--names", type=click.Path(), help="File with class names, one a line, or a data.yaml.")


def side_options(side: str) -> list[Callable[[F], F]]:
    """The options of one side: `--truth-boxes` and so on."""
    return [
        click.option(f"--{side}-format", metavar="NAME", help=f"Format of the {side}: {FORMATS}."),
        click.option(f"--{side}-boxes", metavar="LAYOUT", help=f"What the 4 numbers are: {LAYOUTS}."),
        click.option(f"--{side}-coords", metavar="abs|rel|WxH|*F", help=COORDS),
        click.option(f"--{side}-angle", metavar="UNIT", help=f"Angle of rotated boxes: {ANGLE_NAMES}."),
        click.option(f"--{side}-label-offset", type=int, default=0, help="Added to every class id."),
        click.option(f"--{side}-image-offset", type=int, default=0, help="Added to every image id."),
        click.option(f"--{side}-images", type=click.Path(), help=f"Folder with the {side}'s pictures or PNGs."),
        click.option(f"--{side}-masks", metavar="KIND", help=f"What pixels of mask pictures are: {MASK_KINDS}."),
    ]


def reading_options(command: F) -> F:
    """How to read truth and predictions, where the files do not say or say it wrongly."""
    both = click.option("--format", "both_format", metavar="NAME", help=f"Format of both sides: {FORMATS}.")
    options = [both, *side_options("truth"), *side_options("pred"), IMAGE_SIZE, IMAGES, NAMES, SPLIT, COLUMNS]
    options.append(MASK_THRESHOLD)
    for option in reversed(options):
        command = option(command)
    return command


def spell_reading_options() -> list[str]:
    """How files are read, as somebody typed it: what another verb must be told as well."""
    from click.core import ParameterSource

    context = click.get_current_context(silent=True)
    if context is None:
        return []
    names = {param.name for param in reading_options(click.Command("")).params}
    typed = [param for param in context.command.params if param.name in names
             and context.get_parameter_source(str(param.name)) == ParameterSource.COMMANDLINE]  # fmt: skip
    return [f"{param.opts[0]} {spell(context.params[str(param.name)])}" for param in typed]


def spell(value: Any) -> str:
    """A value as it is typed."""
    import shlex

    if isinstance(value, dict):
        return shlex.quote(",".join(f"{ours}={theirs}" for ours, theirs in value.items()))
    return ",".join(map(str, value)) if isinstance(value, tuple) else shlex.quote(str(value))


def refuse_both(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """A JSON document has no style; whichever of the two options comes second says so."""
    typed = {**context.params, str(parameter.name): value}
    style = typed.get("style", "text")
    if style != "text" and typed.get("as_json"):
        raise click.UsageError(f"expected --json or --style {style}, found both", context)
    return value


def output_options(command: F) -> F:
    """What to print, how it looks, and what to keep."""
    options = [
        click.option("--json", "as_json", is_flag=True, callback=refuse_both,
                     help="Print one JSON document and nothing else."),
        click.option("--style", type=click.Choice(STYLES), default="text", show_default=True, callback=refuse_both,
                     help="How tables are printed; csv prints the main one."),
        click.option("--csv-safe", is_flag=True, help="In CSV, keep spreadsheets from computing names such as =1+1."),
        click.option("--save", type=click.Path(dir_okay=False), help="Write the JSON document to a file."),
        click.option("--quiet", "-q", is_flag=True, help="Print nothing but the result."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def checks_option(command: F) -> F:
    return click.option(
        "--checks",
        type=click.Choice(["stop", "warn", "off"]),
        default="stop",
        show_default=True,
        help="What to do when the files look wrong.",
    )(command)


def read_side(path: str, side: str, given: Given, like: Annotations | None = None) -> Annotations:
    """Read one side as the options say."""
    from verite.formats import read_given
    from verite.formats.format import Options

    options = Options.of(
        boxes=given[f"{side}_boxes"],
        coords=given[f"{side}_coords"],
        angle=given[f"{side}_angle"],
        label_offset=given[f"{side}_label_offset"],
        image_offset=given[f"{side}_image_offset"],
        image_size=given["image_size"],
        images=given[f"{side}_images"] or given["images"],
        names=given["names"],
        split=given.get("split") if side == "truth" else None,
        columns=given.get("columns"),
        masks=given[f"{side}_masks"] or given.get("masks"),
        mask_threshold=given.get("mask_threshold"),
        like=like,
        side=side,
    )
    return read_given(path, given[f"{side}_format"] or given["both_format"], options)
