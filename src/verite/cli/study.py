"""The commands `verite study` (properties of metrics, and of the scene score) and `verite metrics`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import click

from verite.cli.help import Group, command
from verite.cli.options import INPUT, FolderSettings, Given, OneOf, OutputSettings, PlotSettings, options_for
from verite.errors import BadParameter, did_you_mean
from verite.evaluation.settings import THREADS
from verite.progress import begin
from verite.settings import Choice, Count, Flag, Names, Number, Option, Setting, Settings, Texts, Whole


class SceneStudySettings(FolderSettings):
    """Settings of `verite study interpretation`."""

    localization: Option[str] = Setting(
        "martin", "Localization metric: martin (the paper's), or one of the catalogue from 0 to 1.", kind="metric",
        metavar="METRIC",
    )  # fmt: skip
    alpha: Option[float] = Number(0.8, "Weight of localization; recognition has the rest.")
    distance: Option[str] = Setting("voc", "Class distances of figure 15.", kind="path", metavar="FILE|voc")
    shapes: Option[str] = Choice("masks", "Alter the objects' masks, or their bounding boxes.", ("masks", "boxes"))
    anchor: Option[str] = Choice(
        "centre", "Fixed point of scaling: the centre of an object's box, or its upper left corner.",
        ("centre", "corner"),
    )  # fmt: skip
    seed: Option[int] = Whole(0, "Seed of the synthetic scenes.")
    threads: Option[int | None] = THREADS
    output: Option[str | None] = Setting(
        None, "Folder for results and figures 10 to 15.", short="-o", kind="output_folder"
    )


@command(
    params=options_for(SceneStudySettings, PlotSettings, OutputSettings),
    epilog="""\b
Examples:
  verite study interpretation                              1,002 synthetic scenes, 341,440 alterations
  verite study interpretation VOCdevkit/VOC2008 -o results/
  verite study interpretation truth.json --localization iou
  verite study interpretation --shapes boxes --json | jq '.checks[] | select(.passed | not)'""",
)
@click.argument("source", type=INPUT, required=False, metavar="[FOLDER]")
def interpretation(source: str | None, **given: Any) -> None:
    """Check the paper's statements about the scene score.

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
    # The scenes to alter: the user's, or synthetic ones.
    if source is None:
        from verite.studies.interpretation import synthetic_scenes

        scenes = synthetic_scenes(given["seed"])
    else:
        from verite.files import find_path
        from verite.formats import read
        from verite.formats.voc import is_segmentation, read_segmentation

        scenes = read_segmentation(source) if is_segmentation(find_path(source)) else read(source)
    with begin("altering", len(scenes), "objects") as advance:
        outcome = study_interpretation(
            scenes,
            localization=given["localization"],
            alpha=given["alpha"],
            distance=given["distance"],
            shapes=given["shapes"],
            anchor=given["anchor"],
            threads=given["threads"],
            report=advance,
        )
    if given["output"]:
        with fill_folder(given["output"], overwrite=given["overwrite"]) as home:
            write_atomically(home / "results.json", outcome.to_json(indent=1) + "\n")
            keep_table(home / "checks.csv", outcome.check_table(), given)
            if wants_plots(given):
                from verite.reporting.scene_score_plots import save_study

                save_study(outcome, home, given["plot_format"])
        note(f"results in {given['output']}", quiet=quiet)
    emit(outcome, given)


def card_names() -> Iterable[str]:
    """Return the names of all metrics with a card."""
    from verite.metrics.cards import catalogue

    return catalogue().cards


class AdviceSettings(Settings):
    """Settings of `verite metrics`."""

    advise: Option[str | None] = Choice(
        None,
        "Advise which metrics to use for boxes, contours, masks or points.",
        ("box", "contour", "mask", "point"),
        section="Options",
    )


@command(
    params=options_for(AdviceSettings, OutputSettings),
    epilog="""\b
Examples:
  verite metrics
  verite metrics --advise box
  verite metrics gce
  verite metrics "hausdorff(quantile=0.95)"
  verite metrics voc_ap
  verite metrics --json""",
)
@click.argument("name", type=OneOf(card_names), required=False)
def metrics(name: str | None, **given: Any) -> None:
    """List the metrics, or show the card of one: formula, range, unit, source."""
    from verite.cli.output import emit
    from verite.metrics.cards import card, catalogue

    if given["advise"]:
        from verite.reproductions.advice import Advice

        if name:
            raise click.UsageError(f"--advise: expected no NAME, found {name!r}")
        emit(Advice(given["advise"]), given)
        return
    allow_local_modules([name] if name else [])
    emit(card(name) if name else catalogue(), given)


def allow_local_modules(names: Iterable[str]) -> None:
    """Let functions named by `module:function` be imported from the current folder."""
    if any(":" in name for name in names):
        sys.path.insert(0, str(Path.cwd()))


# Subcommands of `verite study`, and their modules.
TARGETS = {"interpretation": "study"}


class StudyCommands(Group):
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


class StudySettings(FolderSettings):
    """Settings of `verite study`."""

    TITLE: ClassVar[str] = "Study"
    metrics: Texts = Names(
        None, "Metric, jei (38 rows, the default) or all; may be repeated.", short="-m", long="metric", kind="metric",
        metavar="NAME",
    )  # fmt: skip
    truths: Texts = Names(
        None, "Ground truth: all (16, the default), boxes, silhouettes, a name, or mask images.", long="truth",
        metavar="NAME|FILE",
    )  # fmt: skip
    mask_threshold: Option[float | None] = Number(
        None, "Grey value (0 to 1) from which a pixel belongs to the object.", metavar="SHARE"
    )
    alterations: Texts = Names(
        None,
        "Alteration: translation, scale, rotation, perspective, two joined by +, bite, bump, noise, missing, stray; "
        "with (reach=N, step=N); jei, the default, is the first four.",
        short="-a",
        long="alteration",
        metavar="NAME",
    )
    beyond: Option[bool] = Flag(False, "Add local changes, rough edges, several objects, two alterations at once.")
    quick: Option[bool] = Flag(
        False, "Measure a tenth of the results; properties that they cannot decide are left open."
    )
    reproduce: Option[str | None] = Choice(None, "Reproduce a published study and compare.", ("jei", "gretsi"))
    tolerances: Texts = Names(
        None, "Change a tolerance, e.g. axial=0.02; may be repeated.", long="tolerance", metavar="NAME=VALUE"
    )
    asks_sensitivity: Option[bool] = Flag(
        False, "Show how results change with tolerances and ground truths.", long="sensitivity"
    )
    show: Option[str | None] = Setting(
        None, "Print only this table: distance, an alteration, or synthesis.", metavar="NAME"
    )
    threads: Option[int | None] = Count(
        None, "Number of threads, and of processes for functions of your own.", short="-j", default_text="all"
    )
    export: Option[str | None] = Setting(
        None, "Folder for every altered mask, its parameters and all raw values.", kind="output_folder", metavar="DIR"
    )
    export_format: Option[str] = Choice("parquet", "Format of the exported tables.", ("parquet", "csv"))
    png: Option[bool] = Flag(False, "With --export: also save every mask as a PNG.")
    asks_curves: Option[bool] = Flag(
        False, "With --json, --save or -o: include every penalty in the document.", long="curves"
    )
    output: Option[str | None] = Setting(None, "Folder for tables and plots.", short="-o", kind="output_folder")


def parse_tolerance(text: str) -> tuple[str, Any]:
    """Return name and value of a tolerance written as NAME=VALUE."""
    from verite.metrics.metric import parse_value

    key, _, word = text.partition("=")
    if not key.strip() or not word.strip():
        raise BadParameter(f"--tolerance: expected NAME=VALUE, e.g. axial=0.02, found {text!r}")
    return key.strip(), parse_value(word.strip())


@click.command(
    cls=StudyCommands,
    params=options_for(StudySettings, PlotSettings, OutputSettings),
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

        path = export(
            measured,
            given["export"],
            format=given["export_format"],
            pictures=given["png"],
            overwrite=given["overwrite"],
        )
        note(f"all results and values in {path}", quiet=quiet)
    if given["output"]:
        save_results(outcome, changes, Path(given["output"]), given)
        note(f"results in {given['output']}", quiet=quiet)
    # Print the outcome as text or JSON, with its sensitivity if there is one.
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
    shown = outcome.tables[given["show"]] if given["show"] else outcome
    click.echo(in_style(shown, given).rstrip("\n"))
    if changes is not None:
        click.echo(f"\n{in_style(changes, given)}".rstrip("\n"))


def check(context: click.Context, given: Given) -> None:
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
    if given["png"] and not given["export"]:
        raise click.UsageError("--png: expected --export DIR, found none", context)
    if given["reproduce"] and given["show"]:
        raise click.UsageError("--show: expected a study of metrics, found --reproduce", context)


def run_study(given: Given) -> tuple[Any, Any]:
    """Run a study, and its sensitivity with --sensitivity."""
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
    if given["show"] and given["show"] not in tables:
        near = did_you_mean(given["show"], tables)
        raise BadParameter(f"--show: expected one of {', '.join(tables)}, found {given['show']!r}{near}")
    tolerances = tolerances_of(Tolerances(), dict(map(parse_tolerance, given["tolerances"])))
    how = {"jobs": given["threads"], "processes": True, "quick": given["quick"], "tolerances": tolerances}
    with begin("measuring", count_results(truths, sweeps), "results") as advance:
        outcome = evaluate(rows, truths, sweeps, progress=advance, **how)
    return outcome, sensitivity(outcome) if given["asks_sensitivity"] else None


def run_reproduction(given: Given) -> tuple[Any, Any]:
    """Reproduce a published study, and its sensitivity with --sensitivity."""
    if given["reproduce"] == "gretsi":
        from verite.reproductions.gretsi import reproduce_gretsi

        with begin("measuring", 1696, "results") as advance:
            return reproduce_gretsi(progress=advance), None
    from verite.reproductions.comparison import count_agreement
    from verite.reproductions.jei import compare_tables, reproduce_jei
    from verite.studies.sensitivity import sensitivity

    with begin("measuring", 118_080, "results") as advance:
        outcome = reproduce_jei(jobs=given["threads"], progress=advance)
    if not given["asks_sensitivity"]:
        return outcome, None
    return outcome, sensitivity(outcome.outcome, lambda other: count_agreement(compare_tables(other))["all"][0])


def save_results(outcome: Any, changes: Any, folder: Path, given: Given) -> None:
    """Save the JSON document, every table as CSV, Markdown and LaTeX, and the plots."""
    from verite.cli.output import wants_plots
    from verite.files import fill_folder

    with fill_folder(folder, overwrite=given["overwrite"]) as home:
        # Save the JSON document and the tables.
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
        if wants_plots(given):
            save_plots(outcome, home, given)


def save_plots(outcome: Any, folder: Path, given: Given) -> None:
    """Save the figures of a published study, or those of any study."""
    if given["reproduce"] == "gretsi":
        from verite.reproductions.plots import save_stars

        save_stars(outcome.outcome, folder, given["plot_format"])
        return
    from verite.reporting.study_plots import save_study
    from verite.reproductions.plots import save_illustrations

    save_study(getattr(outcome, "outcome", outcome), folder, given["plot_format"])
    if given["reproduce"]:
        save_illustrations(folder, given["plot_format"])
