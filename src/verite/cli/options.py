"""Options that several verbs share: how to read the files, and what to do with the outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from verite.formats import REGISTRY
from verite.formats.format import MASKS
from verite.model.layouts import LAYOUTS as BOX_LAYOUTS
from verite.model.rotated_boxes import ANGLES
from verite.model.tables import STYLES
from verite.settings import OTHER_WORDS, Choice
from verite.threads import use_threads

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from verite.model.annotations import Annotations
    from verite.settings import Setting, Settings

F = TypeVar("F", bound=Callable[..., Any])
Given = dict[str, Any]

SIDES = {"truth": "ground truth", "pred": "predictions"}
LAYOUTS = ", ".join(BOX_LAYOUTS)
ANGLE_NAMES = ", ".join(ANGLES)
MASK_KINDS = ", ".join(MASKS)
COORDS = "Units of the coordinates: pixels, fractions of the image, pixels of a resized image, a factor."


class WrittenFormat(click.Option):
    """`--to`: which formats can be written is known to their records, which are loaded when help is asked for."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = f"One of {', '.join(written_formats())}."
        return super().get_help_record(ctx)


class InputPath(click.Path):
    """A file or folder that is read, or a word in its place: shells complete file names, readers find out the rest."""

    def __init__(self, *, dir_okay: bool = True) -> None:
        super().__init__(dir_okay=dir_okay, readable=False)


class OneOf(click.ParamType):  # type: ignore[type-arg]
    """A name out of a list that shells complete. Another name is refused, with a suggestion, where it is looked up."""

    name = "text"

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self.names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in self.names() if name.startswith(incomplete)]


def written_formats() -> list[str]:
    """Names of the formats that can be written, from their records."""
    from verite.formats import all_formats

    return [format.name for format in all_formats() if format.write]


def metric_names() -> list[str]:
    """Names of the metrics in the catalogue."""
    from verite.metrics.catalogue import records

    return list(records())


INPUT = InputPath()
FORMAT, WRITTEN_FORMAT, METRIC = OneOf(lambda: REGISTRY), OneOf(written_formats), OneOf(metric_names)
LAYOUT, ANGLE, MASK = OneOf(lambda: BOX_LAYOUTS), OneOf(lambda: ANGLES), OneOf(lambda: MASKS)


class ImageSize(click.ParamType):  # type: ignore[type-arg]
    """WIDTH,HEIGHT (or WIDTHxHEIGHT) in pixels."""

    name = "W,H"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        parts = str(value).replace("x", ",").split(",")
        if len(parts) != 2 or not all(p.strip().isdecimal() and len(p) < 20 and int(p) > 0 for p in parts):
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


class ChoiceWithSynonyms(click.Choice):  # type: ignore[type-arg]
    """One of a few words, or what another tool calls it: `--on bbox`, `--on segm`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        meant = OTHER_WORDS.get(value, value)
        return super().convert(meant if meant in self.choices else value, param, ctx)


class NumberList(click.ParamType):  # type: ignore[type-arg]
    """One or several numbers: `0.5`, `0.5,0.75`, `0.5:0.95` (steps of 0.05) or `0.5:0.05:0.95`."""

    name = "number"

    def __init__(self, kind: type[int] | type[float], step: float | None = None) -> None:
        self.kind, self.step = kind, step

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if not isinstance(value, str):
            return (value,)
        try:
            return tuple(number for part in value.split(",") for number in self.expand(part))
        except ValueError:
            example = "0.5, 0.5,0.75 or 0.5:0.05:0.95" if self.step else "1 or 1,10,100"
            self.fail(f"expected numbers such as {example}, found {value!r}", param, ctx)

    def expand(self, part: str) -> list[float]:
        """Return the numbers of one word; a range includes both ends and is spaced as `numpy.linspace` does it."""
        bounds = [self.kind(word) for word in part.split(":")]
        if len(bounds) == 1:
            return [*bounds]
        if self.step is None or len(bounds) > 3:
            raise ValueError
        low, step, high = (bounds[0], self.step, bounds[1]) if len(bounds) == 2 else bounds
        if not step > 0 or not 0 <= high - low < 1000 * step:
            raise ValueError
        count = int((high - low) / step + 1e-6)
        last = high if abs(low + count * step - high) < 1e-9 else low + count * step
        return [low + i * ((last - low) / count) for i in range(count)] + [last] if count else [low]


def flatten(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Join the numbers of an option that was repeated or was given a list."""
    return tuple(number for numbers in value for number in numbers)


# What the command line parses for each kind of setting.
TYPES: dict[str, Any] = {
    "text": str,
    "whole": int,
    "number": float,
    "count": click.IntRange(1),
    "path": INPUT,
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
THREADS = click.option("--threads", "-j", type=click.IntRange(1), callback=share_threads, help="Number of threads.")


def options_of(setting: Setting[Any, Any]) -> list[Callable[[F], F]]:
    """One option for a setting, and one for each flag that stands for a value of it."""
    words = [*([setting.short] if setting.short else []), setting.option, *(f"--{name}" for name in setting.names)]
    more: dict[str, Any] = {"help": setting.help, "metavar": setting.metavar, "callback": CALLBACKS.get(setting.name)}
    if setting.kind == "flag":
        more |= {"is_flag": True}
    else:
        plain = INPUT if "FILE" in (setting.metavar or "") else TYPES.get(setting.kind)
        kind = ChoiceWithSynonyms(setting.choices) if isinstance(setting, Choice) else plain
        if setting.is_repeated and setting.kind in ("number", "count"):
            kind = NumberList(float, 0.05) if setting.kind == "number" else NumberList(int)
            more |= {"callback": flatten, "metavar": setting.metavar or ("IOU" if setting.kind == "number" else "N")}
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
IMAGES = click.option("--images", type=INPUT, help="Folder with the images, for their sizes.")
COLUMNS = click.option("--columns", metavar="OURS=THEIRS,...", type=ColumnNames(),
                       help="Columns of a table under other names, e.g. image=img,label=kind.")  # fmt: skip
SPLIT = click.option("--split", metavar="NAME", help="Split of the dataset to evaluate: train, val or test.")
MASK_THRESHOLD = click.option("--mask-threshold", type=float, metavar="SHARE",
                              help="Grey value (0 to 1) from which a pixel belongs to the object.")  # fmt: skip
NAMES = click.option("--names", type=INPUT, help="File with one class name per line, or a data.yaml.")


MAP = click.option("--map", type=INPUT, metavar="FILE",
                   help="Classes by other names: a table from,to; an empty `to` is ignored.")  # fmt: skip


CLASS_NAME = click.option("--class", "class_name", metavar="NAME",
                          help="Class of all objects, for tables without a column of classes.")  # fmt: skip
ANNOTATOR = click.option("--annotator", metavar="COLUMN=NAME",
                         help="Ground truth of one annotator, of a file that has several.")  # fmt: skip


def side_options(side: str) -> list[Callable[[F], F]]:
    """The options of one side: `--truth-boxes` and so on."""
    return [
        click.option(
            f"--{side}-format",
            type=FORMAT,
            metavar="NAME",
            help=f"Format of the {SIDES[side]}; `verite formats` lists them.",
        ),
        click.option(
            f"--{side}-boxes", type=LAYOUT, metavar="LAYOUT", help=f"Box layout of the {SIDES[side]}: {LAYOUTS}."
        ),
        click.option(f"--{side}-coords", metavar="abs|rel|WxH|*F", help=COORDS),
        click.option(f"--{side}-angle", type=ANGLE, metavar="UNIT", help=f"Angle of rotated boxes: {ANGLE_NAMES}."),
        click.option(f"--{side}-label-offset", type=int, default=0, help="Number added to every class id."),
        click.option(f"--{side}-image-offset", type=int, default=0, help="Number added to every image id."),
        click.option(
            f"--{side}-images", type=INPUT, help=f"Folder with the images or label PNGs of the {SIDES[side]}."
        ),
        click.option(
            f"--{side}-masks", type=MASK, metavar="KIND", help=f"What the pixels of mask images mean: {MASK_KINDS}."
        ),
    ]


def reading_options(command: F) -> F:
    """How to read truth and predictions, where the files do not say or say it wrongly."""
    both = click.option(
        "--format",
        "both_format",
        type=FORMAT,
        metavar="NAME",
        help="Format of both sides; `verite formats` lists them.",
    )
    options = [both, *side_options("truth"), *side_options("pred"), IMAGE_SIZE, IMAGES, NAMES, MAP, SPLIT, COLUMNS]
    options += [MASK_THRESHOLD, ANNOTATOR]
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
                     help="Style of the printed tables; csv prints the main table."),
        click.option("--legend", is_flag=True, help="Explain columns and terms below the tables."),
        click.option("--csv-safe", is_flag=True, help="Quote CSV cells that spreadsheets would compute (=1+1)."),
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
        help="When files look wrong: stop, warn and go on, or do not check.",
    )(command)


def read_side(path: str, side: str, given: Given, like: Annotations | None = None) -> Annotations:
    """Read one side as the options say."""
    from verite.formats import read_source
    from verite.formats.format import Options

    # The only class that is evaluated is also that of a table without a column of classes.
    labels = given.get("labels") or ()
    class_name = given.get("class_name") or (labels[0] if len(labels) == 1 else None)
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
        map=given.get("map"),
        class_name=class_name,
        annotator=given.get("annotator") if side != "pred" else None,
        like=like,
        side=side,
    )
    return read_source(path, given[f"{side}_format"] or given["both_format"], options)
