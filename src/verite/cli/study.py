"""The commands `verite study` (properties of metrics, and of the scene score) and `verite metrics`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.cli.help import command
from verite.cli.options import INPUT, MASK_THRESHOLD, METRIC, OneOf, output_options
from verite.errors import did_you_mean
from verite.progress import begin

if TYPE_CHECKING:
    from verite.model.annotations import Annotations


@command(
    epilog="""\b
Examples:
  verite study interpretation                              1,002 synthetic scenes, 341,440 alterations
  verite study interpretation VOCdevkit/VOC2008 -o results/
  verite study interpretation truth.json --localization iou
  verite study interpretation --shapes boxes --json | jq '.checks[] | select(.passed | not)'"""
)
@click.argument("source", type=INPUT, required=False, metavar="[FOLDER]")
@click.option("--localization", type=METRIC, metavar="METRIC", default="martin", show_default=True,
              help="Localization metric: martin (the paper's), or one of the catalogue from 0 to 1.")  # fmt: skip
@click.option("--alpha", type=float, default=0.8, show_default=True,
              help="Weight of localization; recognition has the rest.")  # fmt: skip
@click.option("--distance", type=INPUT, metavar="FILE|voc", default="voc", show_default=True,
              help="Class distances of figure 15.")  # fmt: skip
@click.option("--shapes", type=click.Choice(["masks", "boxes"]), default="masks", show_default=True,
              help="Alter the objects' masks, or their bounding boxes.")  # fmt: skip
@click.option("--anchor", type=click.Choice(["centre", "corner"]), default="centre", show_default=True,
              help="Fixed point of scaling: the centre of an object's box, or its upper left corner.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the synthetic scenes.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Number of threads; default: one per core.")
@click.option("--output", "-o", type=click.Path(file_okay=False), help="Folder for results and figures 10 to 15.")
@click.option("--no-plot", is_flag=True, help="Write no figures to the output folder.")
@click.option("--plot-format", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True)
@output_options
def interpretation(source: str | None, **given: Any) -> None:
    """Check the claims of the paper about the scene score.

    Every object of every scene is translated, scaled, rotated and put into perspective with power 1 to 20, classes are
    changed, objects removed and added; each claim of the paper is checked on the scores. FOLDER is a Pascal VOC folder
    with segmentations, or annotations with masks in any known format; by default, synthetic scenes have the paper's
    numbers of images and objects.
    """
    from verite.cli.output import emit, keep_table, note, wants_plots
    from verite.files import fill_folder, write_atomically
    from verite.progress import begin
    from verite.scene.score import localization_metric
    from verite.studies.interpretation import study_interpretation

    localization_metric(given["localization"])  # a wrong name is refused before any work
    quiet = given["quiet"] or given["as_json"]
    scenes = scenes_of(source, given["seed"])
    with begin("altering", len(scenes), "objects") as advance:
        outcome = study_interpretation(
            scenes,
            localization=given["localization"],
            alpha=given["alpha"],
            distance=given["distance"],
            shapes=given["shapes"],
            anchor=given["anchor"],
            threads=given["jobs"],
            report=advance,
        )
    if given["output"]:
        with fill_folder(given["output"]) as home:
            write_atomically(home / "results.json", outcome.to_json(indent=1) + "\n")
            keep_table(home / "checks.csv", outcome.check_table(), given)
            if wants_plots(given):
                from verite.reporting.scene_score_plots import save_study

                save_study(outcome, home, given["plot_format"])
        note(f"results in {given['output']}", quiet=quiet)
    emit(outcome, given)


def scenes_of(source: str | None, seed: int) -> Annotations:
    """Return the scenes to alter: the user's, or synthetic ones."""
    if source is None:
        from verite.studies.interpretation import synthetic_scenes

        return synthetic_scenes(seed)
    from verite.files import find_path
    from verite.formats import read
    from verite.formats.voc import is_segmentation, read_segmentation

    return read_segmentation(source) if is_segmentation(find_path(source)) else read(source)


def card_names() -> Iterable[str]:
    """Return the names of all metrics with a card."""
    from verite.metrics.cards import catalogue

    return catalogue().cards


@command(
    epilog="""\b
Examples:
  verite metrics
  verite metrics gce
  verite metrics "hausdorff(quantile=0.95)"
  verite metrics voc_ap
  verite metrics --json"""
)
@click.argument("name", type=OneOf(card_names), required=False)
@output_options
def metrics(name: str | None, **given: Any) -> None:
    """List the metrics, or show the card of one: formula, range, unit, source."""
    from verite.cli.output import emit
    from verite.metrics.cards import card, catalogue

    allow_local_modules([name] if name else [])
    emit(card(name) if name else catalogue(), given)


def allow_local_modules(names: Iterable[str]) -> None:
    """Let functions named by `module:function` be imported from the current folder."""
    if any(":" in name for name in names):
        sys.path.insert(0, str(Path.cwd()))


# Subcommands of `verite study`, and their modules.
TARGETS = {"interpretation": "study"}


class Targets(click.Group):
    """The study of metrics, with other studies as subcommands that are imported when used."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(TARGETS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in TARGETS:
            return None
        command = getattr(import_module(f"verite.cli.{TARGETS[name]}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in TARGETS:
            known = f"{', '.join(TARGETS)} or options" if TARGETS else "options"
            near = did_you_mean(args[0], TARGETS) or "; is it a metric? Write -m before it"
            raise click.UsageError(f"expected {known}, found {args[0]!r}{near}", context)
        return super().resolve_command(context, args)


class ToleranceOption(click.ParamType):  # type: ignore[type-arg]
    """NAME=VALUE, a tolerance of the study."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        from verite.metrics.metric import parse_value

        key, _, word = str(value).partition("=")
        if not key.strip() or not word.strip():
            self.fail(f"expected NAME=VALUE, e.g. axial=0.02, found {value!r}", param, ctx)
        return key.strip(), parse_value(word.strip())


@click.command(
    cls=Targets,
    invoke_without_command=True,
    subcommand_metavar="[TARGET ...]" if TARGETS else "",
    epilog="""\b
Examples:
  verite study -m mypackage.mymodule:my_metric -m iou -m hausdorff
  verite study -m mypackage.mymodule:my_metric --quick
  verite study --reproduce jei
  verite study --reproduce gretsi --json | jq .agreement
  verite study -m iou -m gce --truth boxes --truth mask.png -a "translation(reach=12)" -a rotation
  verite study -m iou --beyond -o results/
  verite study -m iou --tolerance axial=0.05 --sensitivity
A function of your own takes two masks and returns a number, or takes Pairs and returns an array.""",
)
@click.option("--metric", "-m", "metrics", multiple=True, type=METRIC, metavar="NAME",
              help="Metric, jei (38 rows, the default) or all; may be repeated.")  # fmt: skip
@click.option("--truth", "truths", multiple=True, type=INPUT, metavar="NAME|FILE",
              help="Ground truth: all (16, the default), boxes, silhouettes, a name, or mask images.")  # fmt: skip
@MASK_THRESHOLD
@click.option("--alteration", "-a", "alterations", multiple=True, metavar="NAME",
              help="Alteration: translation, scale, rotation, perspective, two joined by +, bite, bump, noise, "
                   "missing, stray; with (reach=N, step=N); jei, the default, is the first four.")  # fmt: skip
@click.option(
    "--beyond", is_flag=True, help="Add local changes, rough edges, several objects, two alterations at once."
)
@click.option(
    "--quick", is_flag=True, help="Measure a tenth of the results; properties that they cannot decide are left open."
)
@click.option("--reproduce", type=click.Choice(["jei", "gretsi"]), help="Reproduce a published study and compare.")
@click.option(
    "--tolerance", "tolerances", type=ToleranceOption(), multiple=True, help="Change a tolerance; may be repeated."
)
@click.option("--sensitivity", "asks_sensitivity", is_flag=True,
              help="Show how results change with tolerances and ground truths.")  # fmt: skip
@click.option("--table", metavar="NAME", help="Print only this table: distance, an alteration, or synthesis.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N",
              help="Number of threads, and of processes for functions of your own; default: one per core.")  # fmt: skip
@click.option("--export", type=click.Path(file_okay=False), metavar="DIR",
              help="Folder for every altered mask, its parameters and all raw values.")  # fmt: skip
@click.option("--export-format", type=click.Choice(["parquet", "csv"]), default="parquet", show_default=True)
@click.option("--pictures", is_flag=True, help="With --export: also save every mask as a PNG.")
@click.option(
    "--curves", "asks_curves", is_flag=True, help="With --json, --save or -o: include every penalty in the document."
)
@click.option("--output", "-o", type=click.Path(file_okay=False), help="Folder for tables and plots.")
@click.option("--no-plot", is_flag=True, help="Write no plots to the output folder.")
@click.option("--plot-format", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True)
@output_options
@click.pass_context
def study(context: click.Context, /, **given: Any) -> None:
    """Study metrics, also your own: eight properties under controlled alterations.

    Ground truths are translated, scaled, rotated and put into perspective. Every metric is measured on every result,
    and gets a point for each property it shows, 22 at most.
    """
    if context.invoked_subcommand is not None:
        return
    from verite.cli.output import note

    check(context, given)
    quiet = given["quiet"] or given["as_json"]
    outcome, changes = run_reproduction(given) if given["reproduce"] else run_study(given)
    measured = getattr(outcome, "outcome", outcome)
    measured.include_curves = given["asks_curves"]
    if given["export"]:
        from verite.studies.export import export

        path = export(measured, given["export"], format=given["export_format"], pictures=given["pictures"])
        note(f"all results and values in {path}", quiet=quiet)
    if given["output"]:
        save_results(outcome, changes, Path(given["output"]), given)
        note(f"results in {given['output']}", quiet=quiet)
    print_outcome(outcome, changes, given)


def check(context: click.Context, given: dict[str, Any]) -> None:
    """Refuse options that contradict each other before anything is measured."""
    fixed = [name for name in ("metrics", "truths", "alterations", "beyond", "quick", "tolerances") if given[name]]
    if given["reproduce"] and fixed:
        option = {"metrics": "-m", "truths": "--truth", "alterations": "-a", "tolerances": "--tolerance"}
        found = option.get(fixed[0], f"--{fixed[0]}")
        raise click.UsageError(f"--reproduce: expected no {found}; a published study has its own", context)
    if given["reproduce"] == "gretsi" and given["asks_sensitivity"]:
        raise click.UsageError("--sensitivity: expected a study of metrics or --reproduce jei, found gretsi", context)
    if given["reproduce"] == "gretsi" and given["export"]:
        raise click.UsageError("--export: expected a study of metrics or --reproduce jei, found gretsi", context)
    if given["pictures"] and not given["export"]:
        raise click.UsageError("--pictures: expected --export DIR, found none", context)
    if given["reproduce"] and given["table"]:
        raise click.UsageError("--table: expected a study of metrics, found --reproduce", context)


def run_study(given: dict[str, Any]) -> tuple[Any, Any]:
    """Run a study, and its sensitivity with --sensitivity."""
    from verite.errors import BadParameter
    from verite.studies.judging import Tolerances
    from verite.studies.measuring import count_results
    from verite.studies.rows import rows_of
    from verite.studies.sensitivity import sensitivity
    from verite.studies.study import study as evaluate
    from verite.studies.study import tolerances_of
    from verite.studies.sweeps import coarsen, sweeps_of
    from verite.studies.truths import truths_of

    allow_local_modules(given["metrics"])
    # Wrong names are refused before anything is measured.
    rows = rows_of(given["metrics"] or "jei")
    truths = truths_of(list(given["truths"]) or "all", given["mask_threshold"])
    named = list(given["alterations"]) or ["jei"]
    sweeps = sweeps_of([*named, "beyond"] if given["beyond"] else named)
    sweeps = coarsen(sweeps) if given["quick"] else sweeps
    tables = ["distance", *(sweep.name for sweep in sweeps), "synthesis"]
    if given["table"] and given["table"] not in tables:
        near = did_you_mean(given["table"], tables)
        raise BadParameter(f"--table: expected one of {', '.join(tables)}, found {given['table']!r}{near}")
    tolerances = tolerances_of(Tolerances(), dict(given["tolerances"]))
    how = {"jobs": given["jobs"], "processes": True, "quick": given["quick"], "tolerances": tolerances}
    with begin("measuring", count_results(truths, sweeps), "results") as advance:
        outcome = evaluate(rows, truths, sweeps, progress=advance, **how)
    return outcome, sensitivity(outcome) if given["asks_sensitivity"] else None


def run_reproduction(given: dict[str, Any]) -> tuple[Any, Any]:
    """Reproduce a published study, and its sensitivity with --sensitivity."""
    if given["reproduce"] == "gretsi":
        from verite.reproductions.gretsi import reproduce_gretsi

        with begin("measuring", 1696, "results") as advance:
            return reproduce_gretsi(progress=advance), None
    from verite.reproductions.comparison import count_agreement
    from verite.reproductions.jei import compare_tables, reproduce_jei
    from verite.studies.sensitivity import sensitivity

    with begin("measuring", 118_080, "results") as advance:
        outcome = reproduce_jei(jobs=given["jobs"], progress=advance)
    if not given["asks_sensitivity"]:
        return outcome, None
    return outcome, sensitivity(outcome.outcome, lambda other: count_agreement(compare_tables(other))["all"][0])


def print_outcome(outcome: Any, changes: Any, given: dict[str, Any]) -> None:
    """Print the outcome as text or JSON, with its sensitivity if there is one."""
    from verite.cli.output import emit, in_style
    from verite.files import write_atomically
    from verite.model.results import to_json

    if changes is not None and (given["as_json"] or given["save"]):
        document = to_json({**outcome.to_dict(), "sensitivity": changes.to_dict()})
        if given["save"]:
            write_atomically(given["save"], document + "\n")
        if given["as_json"]:
            click.echo(document)
            return
    if given["as_json"]:
        emit(outcome, given)
        return
    if given["save"] and changes is None:
        write_atomically(given["save"], outcome.to_json(indent=1) + "\n")
    shown = outcome.tables[given["table"]] if given["table"] else outcome
    click.echo(in_style(shown, given).rstrip("\n"))
    if changes is not None:
        click.echo(f"\n{in_style(changes, given)}".rstrip("\n"))


def save_results(outcome: Any, changes: Any, folder: Path, given: dict[str, Any]) -> None:
    """Save the JSON document, every table as CSV, Markdown and LaTeX, and the plots."""
    from verite.cli.output import wants_plots
    from verite.files import fill_folder

    with fill_folder(folder) as home:
        save_tables(outcome, changes, home, given)
        if wants_plots(given):
            save_plots(outcome, home, given)


def save_tables(outcome: Any, changes: Any, home: Path, given: dict[str, Any]) -> None:
    """Save the JSON document and the tables."""
    from verite.cli.output import keep_table
    from verite.files import write_atomically
    from verite.reporting.plots import file_names

    write_atomically(home / "study.json", outcome.to_json(indent=1) + "\n")
    write_atomically(home / "study.md", outcome.to_markdown())
    write_atomically(home / "study.tex", outcome.to_latex())
    if given["reproduce"]:
        keep_table(home / "differences.csv", outcome.main_table(), given)
    else:
        for table, name in zip(outcome.tables, file_names(outcome.tables), strict=True):
            keep_table(home / f"{name}.csv", outcome.tables[table].main_table(), given)
    if changes is not None:
        keep_table(home / "sensitivity.csv", changes.table, given)


def save_plots(outcome: Any, folder: Path, given: dict[str, Any]) -> None:
    """Save the figures of a published study, or those of any study."""
    if given["reproduce"] == "gretsi":
        from verite.reproductions.gretsi_plots import save_stars

        save_stars(outcome.outcome, folder, given["plot_format"])
        return
    from verite.reporting.study_plots import save_study
    from verite.reproductions.jei_plots import save_illustrations

    save_study(getattr(outcome, "outcome", outcome), folder, given["plot_format"])
    if given["reproduce"]:
        save_illustrations(folder, given["plot_format"])
