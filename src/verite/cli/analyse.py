"""The command `verite analyse`: error analysis of one or several detectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.analysis.parts import REGISTRY, AnalyseSettings, analyse_settings, part_named
from verite.cli.help import Command, command
from verite.cli.options import (
    INPUT,
    READING,
    FolderSettings,
    Given,
    OutputSettings,
    PlotSettings,
    options_for,
    options_of,
    settings_given,
)
from verite.errors import BadParameter

if TYPE_CHECKING:
    from verite.analysis.analyse import Analyses, Analysis
    from verite.analysis.comparison import DetectorPair
    from verite.analysis.part import AnalysisPart
    from verite.model.annotations import Annotations
    from verite.model.results import Results


class AnalyseCommand(Command):
    """The command with the options of all registered parts; `--only` lists the parts."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the declared options, and those of parts that are registered besides."""
        added = [one for name, one in analyse_settings().declared.items() if name not in AnalyseSettings.declared]
        found = [*super().get_params(ctx), *(param for one in added if one.has_option for param in options_of(one))]
        for param in found:
            if param.name == "only" and isinstance(param, click.Option):
                param.help = f"Sections to compute: {', '.join(REGISTRY)}; may be repeated."
        return found


@command(
    cls=AnalyseCommand,
    params=options_for(AnalyseSettings, FolderSettings, PlotSettings, *READING, OutputSettings),
    epilog="""\b
Examples:
  verite analyse truth.json pred.json
  verite analyse truth.json pred.json -t 0.5 --only errors
  verite analyse truth.json segments.json --on mask -o analysis/
  verite analyse truth/ pred/ --protocol voc --json | jq .errors.cost""",
)
@click.argument("truth", type=INPUT)
@click.argument("pred", type=INPUT, nargs=-1, required=True)
def analyse(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """Analyse errors: where AP is lost, and where to look first.

    TRUTH and PRED are files or folders in any known format. Everything comes from the matches that gave the AP: the
    costs of six error types add up to 1 − AP. One screen is printed; -o DIR and --json have everything.
    """
    from verite.analysis.analyse import Analyses, Analysis, evaluate
    from verite.cli.evaluate import evaluate_each
    from verite.cli.output import emit, note, wants_plots

    declared = analyse_settings()
    settings = declared(**settings_given(declared, given))
    if settings.only == ("comparison",) and len(pred) == 1:
        raise BadParameter("only: expected two PREDs or more to compare, found one")

    def evaluate_one(truths: Annotations, preds: Annotations, *, name: str, checks: str) -> Results:
        return evaluate(truths, preds, settings, name)

    found = [Analysis(results, settings) for results in evaluate_each(truth, pred, given, evaluate_one)]
    outcome = found[0] if len(found) == 1 else Analyses(found)
    if given["output"]:
        save_analyses(outcome, Path(given["output"]), given, with_plots=wants_plots(given))
        note(f"analysis in {given['output']}", quiet=given["quiet"] or given["as_json"])
    emit(outcome, given)


def save_analyses(outcome: Analysis | Analyses, folder: Path, given: Given, *, with_plots: bool) -> None:
    """Write JSON, tables and plots; of several detectors in a folder each, and their comparison beside them."""
    from verite.analysis.analyse import Analysis
    from verite.analysis.comparison import join_tables
    from verite.cli.output import keep_table
    from verite.files import fill_folder, make_folder, write_atomically
    from verite.leaderboards.audit import audit_table
    from verite.reporting.plots import file_names

    with fill_folder(folder, overwrite=given["overwrite"]) as place:
        if isinstance(outcome, Analysis):
            save_analysis(outcome, place, given, with_plots=with_plots)
            return
        for name, one in zip(file_names(outcome.systems), outcome.systems.values(), strict=True):
            save_analysis(one, make_folder(place / name), given, with_plots=with_plots)
        write_atomically(place / "analysis.json", outcome.to_json(indent=1) + "\n")
        if not outcome.is_compared:
            return
        for name, table in join_tables(outcome.comparison).items():
            keep_table(place / f"{name}.csv", table, given)
        if with_plots:
            save_plot(outcome, place / "systems", given["plot_format"])
            if len(outcome.comparison) == 1:
                save_plot(outcome.comparison[0], place / "comparison", given["plot_format"])
        if "suspicious" in outcome.settings.only:
            keep_table(place / "audit.csv", audit_table(outcome.audit()), given)


def save_analysis(analysis: Analysis, folder: Path, given: Given, *, with_plots: bool) -> None:
    """Write the JSON documents, tables and plots of one detector."""
    from verite.cli.output import keep_table
    from verite.files import write_atomically
    from verite.model.results import encode_json

    write_atomically(folder / "analysis.json", analysis.to_json(indent=1) + "\n")
    for part in analysis.parts.values():
        for name, document in part.documents().items():
            write_atomically(folder / name, encode_json(document, indent=1) + "\n")
        for name, table in part.tables().items():
            keep_table(folder / f"{name}.csv", table, given)
        if with_plots:
            save_plot(part, folder / part_named(part.name).kind, given["plot_format"])


def save_plot(shown: AnalysisPart | Analyses | DetectorPair, stem: Path, format: str) -> None:
    """Write the usual plot of an analysis, a part or a comparison."""
    from matplotlib.figure import Figure

    from verite.files import write_atomically
    from verite.reporting.plots import render

    figure = shown.plot().figure
    assert isinstance(figure, Figure)
    write_atomically(stem.with_name(f"{stem.name}.{format}"), render(figure, format))
