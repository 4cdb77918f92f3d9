"""Options of the command line, derived from declared settings, and the settings that several commands share.

A command names the groups of settings that it takes: ``options_for(CocoSettings, FolderSettings, ReadingSettings)``.
The type of a setting decides what is parsed, its declaration the help, the default and the section.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from verite.formats import REGISTRY
from verite.formats.format import MASKS
from verite.model.layouts import LAYOUTS as BOX_LAYOUTS
from verite.model.regions import ANGLES
from verite.model.tables import STYLES
from verite.progress import wait_for
from verite.settings import OTHER_WORDS, STEP, Choice, Flag, Option, Setting, Settings, parse_numbers
from verite.threads import use_threads

if TYPE_CHECKING:
    from pathlib import Path

    from click.shell_completion import CompletionItem

    from verite.formats.format import Options
    from verite.model.annotations import Annotations

Given = dict[str, Any]  # the options of a command by the names of their settings


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
            if self.step is not None:
                return tuple(parse_numbers(value, self.step))
            return tuple(self.kind(word) for word in value.split(","))
        except ValueError:
            example = "0.5, 0.5,0.75 or 0.5:0.05:0.95" if self.step else "1 or 1,10,100"
            self.fail(f"expected numbers such as {example}, found {value!r}", param, ctx)


class ListOf(click.ParamType):  # type: ignore[type-arg]
    """One or several values of a type with commas between: `--class cat,dog`, `--area all:0:1e10,tiny:0:256`.

    A comma before a blank, within parentheses or within double quotes belongs to the value: `tench, Tinca tinca` is one
    class, `hausdorff(quantile=0.95,spacing=2)` one metric.
    """

    SEPARATOR = re.compile(r""",(?!\s)(?=(?:[^"]*"[^"]*")*[^"]*$)(?![^()]*\))""")

    def __init__(self, kind: click.ParamType) -> None:  # type: ignore[type-arg]
        self.kind, self.name = kind, kind.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        if not isinstance(value, str):
            return (value,)
        words = [word for word in self.SEPARATOR.split(value) if word] or [value]
        return tuple(
            self.kind.convert(word[1:-1] if len(word) > 1 and word[0] == word[-1] == '"' else word, param, ctx)
            for word in words
        )

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        found = self.kind.shell_complete(ctx, param, last)
        for item in found:
            item.value = before + comma + str(item.value)
        return found


# Repeated options whose value may itself hold commas, or is a path.
WHOLE = ("requirements", "slice", "detectors", "truths", "tolerances")


class OptionalCount(click.ParamType):  # type: ignore[type-arg]
    """A whole number from 1 up."""

    name = "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if not str(value).isdecimal() or not 1 <= int(value) < 2**31:
            self.fail(f"expected a whole number from 1 up, found {value!r}", param, ctx)
        return int(value)


# What the command line parses for each kind of setting, and what shells complete.
TYPES: dict[str, Any] = {
    "text": str,
    "whole": int,
    "number": float,
    "count": OptionalCount(),
    "path": INPUT,
    "area": AreaRange(),
    "bytes": str,
    "input_file": InputPath(dir_okay=False),
    "output_file": click.Path(dir_okay=False),
    "output_folder": click.Path(file_okay=False),
    "output": click.Path(),
    "format": OneOf(lambda: REGISTRY),
    "written_format": OneOf(written_formats),
    "metric": OneOf(metric_names),
    "layout": OneOf(lambda: BOX_LAYOUTS),
    "angle": OneOf(lambda: ANGLES),
    "mask": OneOf(lambda: MASKS),
    "image_size": ImageSize(),
    "columns": ColumnNames(),
}


class SettingOption(click.Option):
    """The option of a declared setting, or a flag that stands for one value of it."""

    def __init__(self, words: Sequence[str], setting: Setting[Any, Any], *, is_rare: bool, **more: Any) -> None:
        super().__init__(words, **more)
        self.section, self.is_rare = setting.section, is_rare

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the parsed value; lists that are given to an option, which may be repeated, are joined."""
        found = super().type_cast_value(ctx, value)
        if self.multiple and isinstance(self.type, (NumberList, ListOf)):
            return tuple(part for parts in found for part in parts)
        if self.name == "threads" and found is not None:  # for all that the command does, reading and checking included
            ctx.with_resource(use_threads(found))
        return found


def options_for(*groups: type[Settings]) -> list[click.Parameter]:
    """Return the options of declared settings.

    Parameters
    ----------
    *groups
        Classes of settings in the order of the help; of a name that several of them declare, the first one counts.

    Returns
    -------
    list of click.Parameter
        The options, for ``params=`` of a command. Settings without ``has_option`` have none.
    """
    declared = {name: one for group in reversed(groups) for name, one in group.declared.items()}
    ordered = dict.fromkeys(name for group in groups for name in group.declared)
    options = [option for name in ordered if declared[name].has_option for option in options_of(declared[name])]
    return [*options, *([STRICT] if "checks" in declared else [])]


# Of every command that runs the checks; `verite.cli.output.warn` stops at the first warning.
STRICT = click.Option(["--strict"], is_flag=True, help="Treat warnings as errors: exit with status 1.")


def options_of(setting: Setting[Any, Any]) -> list[click.Parameter]:
    """Return the option of a setting, and one for each flag that stands for a value of it."""
    words = [*([setting.short] if setting.short else []), setting.option, *(f"--{name}" for name in setting.names)]
    more: dict[str, Any] = {"help": setting.help, "metavar": setting.metavar, "required": setting.is_required}
    if setting.kind == "flag":
        more |= {"is_flag": True}
    else:
        is_file = "FILE" in (setting.metavar or "") and setting.kind not in ("input_file", "output_file")
        plain = ChoiceWithSynonyms(setting.choices) if isinstance(setting, Choice) else TYPES[setting.kind]
        plain = INPUT if is_file else plain
        more |= {"type": plain, "multiple": setting.is_repeated}
        if setting.is_repeated and setting.kind in ("number", "count"):
            more["type"] = NumberList(float, STEP) if setting.kind == "number" else NumberList(int)
            more["metavar"] = setting.metavar or ("IOU" if setting.kind == "number" else "N")
        elif setting.is_repeated and setting.name not in WHOLE:
            more["type"] = ListOf(click.types.convert_type(plain))
        if isinstance(more["type"], (NumberList, ListOf)):
            several = {"number": "0.5,0.75 or 0.5:0.95", "count": "1,10,100"}.get(setting.kind, "A,B")
            more["help"] = setting.help.replace("may be repeated", f"several: {several}")
        if setting.default_text or setting.is_repeated:
            more |= {"show_default": setting.default_words or False}
        elif setting.default is not None:
            more |= {"default": setting.default, "show_default": True}

    flags = [
        SettingOption([f"--{flag}"], setting, is_rare=True, is_flag=True, help=f"The same as {setting.option} {value}.")
        for flag, value in setting.flags.items()
    ]
    return [SettingOption([setting.name, *words], setting, is_rare=setting.is_rare, **more), *flags]


def settings_given(settings: type[Settings], given: Given) -> Given:
    """Return the settings among the typed options; the others have their defaults, which may follow from these.

    Parameters
    ----------
    settings
        The declared settings.
    given
        The options of the command, defaults included.

    Returns
    -------
    dict
        Arguments for ``settings(**…)``: what was typed, and the values that flags stand for.
    """
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    typed = {
        name: given[name]
        for name, one in settings.declared.items()
        if one.has_option and given[name] not in (None, ()) and context.get_parameter_source(name) is not default
    }
    flags = {name: value for name, one in settings.declared.items() for flag, value in one.flags.items() if given[flag]}
    return typed | flags


FILES = "Ground truth and formats"
SIDES = {"truth": "ground truth", "pred": "predictions"}


def file_settings(side: str = "") -> dict[str, Setting[Any, Any]]:
    """Return the settings of how one file is read, where it does not state that itself or states it wrongly.

    Parameters
    ----------
    side
        ``truth`` or ``pred`` for the options of one side, ``--truth-boxes`` and so on; "" for a single file.
    """
    of, is_side = SIDES.get(side, "source"), bool(side)
    settings: dict[str, Setting[Any, Any]] = {
        "format": Setting(
            None, f"Format of the {of}; see `verite formats`.", kind="format", metavar="NAME", is_rare=is_side
        ),
        "boxes": Setting(None, f"Box layout of the {of}: {', '.join(BOX_LAYOUTS)}.", kind="layout", metavar="LAYOUT"),
        "coords": Setting(
            None,
            "Units: pixels, fractions of the image, pixels of an image resized to WxH, a factor.",
            metavar="abs|rel|WxH|*F",
            is_rare=side == "truth",
        ),
        "angle": Setting(
            None, f"Angle of rotated boxes: {', '.join(ANGLES)}.", kind="angle", metavar="UNIT", is_rare=is_side
        ),
        "label_offset": Setting(0, "Number added to every class id.", kind="whole", is_rare=is_side),
        "image_offset": Setting(0, "Number added to every image id.", kind="whole", is_rare=is_side),
        "masks": Setting(
            None, f"What the pixels of mask images mean: {', '.join(MASKS)}.", kind="mask", metavar="KIND",
            is_rare=is_side,
        ),
    }  # fmt: skip
    if side:
        images = f"Folder with the images or label PNGs of the {of}."
        settings["images"] = Setting(None, images, kind="path", is_rare=True)
    for one in settings.values():
        one.section = FILES
    return {f"{side}_{name}" if side else name: one for name, one in settings.items()}


class DatasetSettings(Settings):
    """What files leave open: sizes of images, names of classes, the split, columns of tables, grey values of masks."""

    image_size: Option[str | None] = Setting(
        None, "Size of every image, for relative coordinates.", kind="image_size", section=FILES
    )
    images: Option[str | None] = Setting(None, "Folder with the images, for sizes and figures.", kind="path")
    names: Option[str | None] = Setting(None, "Class names: one per line, or a data.yaml.", kind="path", section=FILES)
    map: Option[str | None] = Setting(
        None, "Rename classes by a CSV table from,to; those with an empty `to` are ignored.", kind="path",
        metavar="FILE", section=FILES,
    )  # fmt: skip
    split: Option[str | None] = Setting(
        None, "Split of the dataset: train, val or test.", metavar="NAME", section=FILES
    )
    columns: Option[str | None] = Setting(
        None, "Columns of a table under other names, e.g. image=img,label=kind.", kind="columns",
        metavar="OURS=THEIRS,...", section=FILES, is_rare=True,
    )  # fmt: skip
    mask_threshold: Option[str | None] = Setting(
        None, "Grey value (0 to 1) from which a pixel of a soft mask belongs to the object.", kind="number",
        metavar="SHARE", section=FILES, is_rare=True,
    )  # fmt: skip
    unknown_images: Option[str | None] = Setting(
        None, "Predictions on images that the ground truth does not have: stop, or drop them with a note.",
        metavar="stop|drop", section=FILES, is_rare=True,
    )  # fmt: skip
    only_images: Option[str | None] = Setting(
        None, "Evaluate only the images of this annotation file.", kind="path", metavar="FILE", section=FILES,
        is_rare=True,
    )  # fmt: skip
    annotator: Option[str | None] = Setting(
        None, "Ground truth of one annotator, of a file that has several.", metavar="COLUMN=NAME", section=FILES,
        is_rare=True,
    )  # fmt: skip


class ClassNameSettings(Settings):
    """The class of a table without a column of classes, for commands that evaluate no choice of classes."""

    class_name: Option[str | None] = Setting(
        None, "Class of all objects, for tables without a column of classes.", metavar="NAME", section=FILES,
        is_rare=True,
    )  # fmt: skip


class PairSettings(Settings):
    """What holds for ground truth and predictions together."""

    both_format: Option[str | None] = Setting(
        None, "Format of both sides; see `verite formats`.", long="format", kind="format", metavar="NAME",
        section=FILES,
    )  # fmt: skip


SourceSettings: type[Settings] = type("SourceSettings", (Settings,), file_settings())
SideSettings: type[Settings] = type("SideSettings", (Settings,), file_settings("truth") | file_settings("pred"))
READING = (PairSettings, SideSettings, DatasetSettings)  # how ground truth and predictions are read


class OutputSettings(Settings):
    """What to print, how it looks, and what to save."""

    as_json: Option[bool] = Flag(False, "Print one JSON document and nothing else.", long="json", section="Options")
    style: Option[str] = Choice(
        "text", "Style of the printed tables; csv prints the main table.", STYLES, section="Output"
    )
    legend: Option[bool] = Flag(
        False, "Explain columns and terms below the tables, and show details.", section="Output"
    )
    csv_safe: Option[bool] = Flag(
        False, "Quote CSV cells that spreadsheets would compute (=1+1).", section="Output", is_rare=True
    )
    save: Option[str | None] = Setting(None, "Write the JSON document to a file.", kind="output_file", section="Output")
    quiet: Option[bool] = Flag(False, "Print nothing but the result.", short="-q")


class FolderSettings(Settings):
    """The folder for results."""

    output: Option[str | None] = Setting(
        None, "Folder for results, tables and plots.", short="-o", kind="output_folder"
    )
    overwrite: Option[bool] = Flag(
        False, "Replace files in the output folder; without it the folder must be new or empty.", section="Output",
        is_rare=True,
    )  # fmt: skip


class PlotSettings(Settings):
    """The plots in the folder for results."""

    no_plot: Option[bool] = Flag(False, "Write no plots into the output folder.", section="Output", is_rare=True)
    plot_format: Option[str] = Choice(
        "png", "File format of plots.", ("png", "svg", "pdf"), section="Output", is_rare=True
    )


def spell_reading_options(*more: str) -> list[str]:
    """Return how files are read, and options of these names, as they were typed: for another command on the files."""
    from click.core import ParameterSource

    context = click.get_current_context(silent=True)
    if context is None:
        return []
    names = {name for group in READING for name in group.declared}.union(more)
    typed = [param for param in context.command.params if param.name in names
             and context.get_parameter_source(str(param.name)) == ParameterSource.COMMANDLINE]  # fmt: skip
    return [f"{param.opts[0]} {spell(context.params[str(param.name)])}" for param in typed]


def spell(value: Any) -> str:
    """A value as it is typed."""
    import shlex

    if isinstance(value, dict):
        return shlex.quote(",".join(f"{ours}={theirs}" for ours, theirs in value.items()))
    return ",".join(map(str, value)) if isinstance(value, tuple) else shlex.quote(str(value))


def side_reading(side: str, given: Given, like: Annotations | None = None) -> tuple[str | None, Options]:
    """Return the format that the options name for one side, and how they say to read it."""
    from verite.formats.format import Options

    # The only class that is evaluated is also that of a table without a column of classes.
    labels: tuple[str, ...] = tuple(given.get("labels") or ())
    context = click.get_current_context(silent=True)
    params = context.params if context is not None and side == "truth" else {}
    paths: Any = params.get("pred") or (params.get("paths") or ())[1:]
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
        unknown_images=("drop" if given.get("only_images") else given.get("unknown_images"))
        if side == "pred"
        else None,
        like=like,
        predictions=(paths if isinstance(paths, str) else paths[0]) if paths else None,
        side=side,
    )
    return given[f"{side}_format"] or given["both_format"], options


def read_side(path: str | Path | list[str], side: str, given: Given, like: Annotations | None = None) -> Annotations:
    """Read one side, a file or a list of shards, as the options say; on a terminal a line shows that it takes long.

    Parameters
    ----------
    path
        A file, a folder, a glob, or a list of files.
    side
        `truth` or `pred`, whose options apply.
    given
        The options of the command.
    like
        Ground truth whose images and classes predictions are aligned with.
    """
    from verite.formats import read_source, restrict_images

    what, size = f"{len(path)} files" if isinstance(path, list) else str(path), 0
    with suppress(OSError, ValueError):
        size = os.stat(path).st_size if not isinstance(path, list) and os.path.isfile(path) else 0
    if size >= 1e6:
        what += f" ({size / 1e9:.1f} GB)" if size >= 1e9 else f" ({size / 1e6:.0f} MB)"
    with wait_for(f"reading {what}"):
        found = read_source(path, *side_reading(side, given, like))
        return restrict_images(found, given["only_images"]) if side == "truth" and given.get("only_images") else found
