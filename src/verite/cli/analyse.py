"""Why is the number what it is?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.analysis.parts import AnalyseSettings
from verite.cli.evaluate import NO_PLOT, OUTPUT, PLOT_FORMAT
from verite.cli.help import command
from verite.cli.options import INPUT, output_options, reading_options, settings_given, settings_options
from verite.errors import BadParameter

if TYPE_CHECKING:
    from verite.analysis.analyse import Analyses, Analysis
    from verite.analysis.comparison import SystemPair
    from verite.analysis.parts import AnalysisPart
    from verite.model.annotations import Annotations
    from verite.model.results import Results


@command(
    epilog="""\b
Examples:
  verite analyse truth.json pred.json
  verite analyse truth.json pred.json -t 0.5 --only errors
  verite analyse truth.json segments.json --on mask -o analysis/
  verite analyse truth/ pred/ --protocol voc --json | jq .errors.cost"""
)
@click.argument("truth", type=INPUT)
@click.argument("pred", type=INPUT, nargs=-1, required=True)
@settings_options(AnalyseSettings)
@OUTPUT
@NO_PLOT
@PLOT_FORMAT
@reading_options
@output_options
def analyse(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """Why the number is what it is, and where to look first.

    TRUTH and PRED are files or folders in any known format. Everything comes from the matches that gave the number: the
    costs of six types of errors add up to what is missing from AP. One screen; the rest is in -o DIR and --json.
    """
    from verite.analysis.analyse import Analyses, Analysis, evaluate
    from verite.cli.evaluate import evaluate_each
    from verite.cli.output import emit, note, wants_plots

    settings = AnalyseSettings(**settings_given(AnalyseSettings, given))
    if settings.only == ("comparison",) and len(pred) == 1:
        raise BadParameter("only: expected two PREDs or more to compare, found one")

    def evaluate_one(truths: Annotations, preds: Annotations, *, name: str, checks: str) -> Results:
        return evaluate(truths, preds, settings, name)

    found = [Analysis(results, settings) for results in evaluate_each(truth, pred, given, evaluate_one)]
    outcome = found[0] if len(found) == 1 else Analyses(found)
    if given["output"]:
        save_analyses(outcome, Path(given["output"]), given, draw=wants_plots(given))
        note(f"analysis in {given['output']}", quiet=given["quiet"] or given["as_json"])
    emit(outcome, given)


def save_analyses(outcome: Analysis | Analyses, folder: Path, given: dict[str, Any], *, draw: bool) -> None:
    """JSON, tables and plots; each system's in a folder of its own where there are several, beside what differs."""
    from verite.analysis.analyse import Analysis
    from verite.files import fill_folder, make_folder
    from verite.reporting.plots import file_names

    with fill_folder(folder) as place:
        if isinstance(outcome, Analysis):
            save_one(outcome, place, given, draw=draw)
            return
        for system, one in zip(file_names(outcome.systems), outcome.systems.values(), strict=True):
            save_one(one, make_folder(place / system), given, draw=draw)
        save_differences(outcome, place, given, draw=draw)


def save_one(analysis: Analysis, home: Path, given: dict[str, Any], *, draw: bool) -> None:
    """What there is of one system."""
    from verite.cli.output import keep_table
    from verite.files import write_atomically
    from verite.leaderboards.audit import audit_table
    from verite.model.results import to_json

    asked = analysis.settings.only
    write_atomically(home / "analysis.json", analysis.to_json(indent=1) + "\n")
    if "operating" in asked:
        write_atomically(home / "thresholds.json", to_json(analysis.operating.thresholds, indent=1) + "\n")
    for name, table in analysis.tables().items():
        keep_table(home / f"{name}.csv", table, given)
    if "suspicious" in asked:
        keep_table(home / "audit.csv", audit_table(analysis.suspicious.audit(analysis.settings.audit)), given)
    if draw:
        save_plots(analysis, home, given["plot_format"])


def save_differences(outcome: Analyses, place: Path, given: dict[str, Any], *, draw: bool) -> None:
    """The document of all systems, and what differs between them: all pairs in one file of each kind."""
    from verite.analysis.comparison import join_tables
    from verite.cli.output import keep_table
    from verite.files import write_atomically
    from verite.leaderboards.audit import audit_table

    write_atomically(place / "analysis.json", outcome.to_json(indent=1) + "\n")
    if not outcome.is_compared:
        return
    for name, table in join_tables(outcome.comparison).items():
        keep_table(place / f"{name}.csv", table, given)
    if draw:
        save_plot(outcome, place / "systems", given["plot_format"])
        if len(outcome.comparison) == 1:
            save_plot(outcome.comparison[0], place / "comparison", given["plot_format"])
    if "suspicious" in outcome.settings.only:
        keep_table(place / "audit.csv", audit_table(outcome.audit()), given)


def save_plots(analysis: Analysis, home: Path, format: str) -> None:
    """A plot of every part."""
    for part in analysis.parts.values():
        save_plot(part, home / (part.picture or part.name), format)


def save_plot(part: AnalysisPart | Analyses | SystemPair, stem: Path, format: str) -> None:
    from matplotlib.figure import Figure

    from verite.files import write_atomically
    from verite.reporting.plots import render

    figure = part.plot().figure
    assert isinstance(figure, Figure)
    write_atomically(stem.with_name(f"{stem.name}.{format}"), render(figure, format))
