"""The command `verite localize`: localization metrics of matched objects, and of volumes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.cli.gate import GateSettings
from verite.cli.help import command
from verite.cli.options import (
    INPUT,
    READING,
    FolderSettings,
    Given,
    OutputSettings,
    PlotSettings,
    options_for,
    settings_given,
)
from verite.metrics.localize import LocalizeSettings
from verite.settings import Flag, Names, Option, Setting, Settings, Texts

if TYPE_CHECKING:
    from verite.metrics.localize import LocalizationResults
    from verite.metrics.metric import Metric
    from verite.model.annotations import Annotations


class ChosenMetrics(Settings):
    """The metrics of `verite localize`, and the object to plot."""

    metrics: Texts = Names(
        None, "Metric (see verite metrics); may be repeated.", short="-m", long="metric", kind="metric", metavar="NAME"
    )
    every: Option[bool] = Flag(False, "Add every metric that the regions allow.", long="all", section="Options")
    number: Option[str | None] = Setting(
        None, "With --output: plot the N-th of the listed objects.", long="object", kind="whole", metavar="N",
        section="Output",
    )  # fmt: skip


@command(
    params=options_for(
        ChosenMetrics, LocalizeSettings, FolderSettings, PlotSettings, GateSettings, *READING, OutputSettings
    ),
    epilog="""\b
Examples:
  verite localize truth.json pred.json -m iou -m figure_of_merit
  verite localize truth.json pred.json -m "hausdorff(quantile=0.95)" -m my_package.metrics:mine
  verite localize truth.json a.json b.json -m gce --unmatched score
  verite localize truth.json pred.json --all -o results/
  verite localize truth.json pred.json -m dice -m hausdorff95 --per case
  verite localize truth/ pred/ --all --image-size 640,480 --json | jq .metrics""",
)
@click.argument("truth", type=INPUT)
@click.argument("pred", type=INPUT, nargs=-1, required=True)
def localize(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """Measure how well objects are localized, by any metric of the catalogue.

    TRUTH and PRED are files or folders in any known format. Objects are matched one to one by IoU; several PREDs are
    compared side by side.
    """
    from verite.cli.evaluate import evaluate_each, finish
    from verite.cli.study import allow_local_modules
    from verite.metrics.catalogue import metric
    from verite.metrics.localize import localize as evaluate

    if not given["metrics"] and not given["every"]:
        raise click.UsageError("expected -m METRIC or --all, found neither", click.get_current_context())
    if given["number"] is not None and not given["output"]:
        raise click.UsageError("--object: expected --output FOLDER for the figure", click.get_current_context())
    allow_local_modules(given["metrics"])
    chosen = [metric(name) for name in given["metrics"]]  # a wrong name is refused before a large file is read
    settings = settings_given(LocalizeSettings, given)
    LocalizeSettings(**settings)

    from verite.formats.volumes import are_volumes

    if are_volumes(truth, *pred):
        finish(localize_each(truth, pred, chosen, given), given, lambda result, home: save_plots(result, home, given))
        return

    def compare(truths: Annotations, preds: Annotations, **about: Any) -> LocalizationResults:
        return evaluate(truths, preds, *chosen, all=given["every"], **(settings | about))

    finish(evaluate_each(truth, pred, given, compare), given, lambda result, home: save_plots(result, home, given))


def localize_each(truth: str, preds: tuple[str, ...], chosen: list[Metric], given: Given) -> list[LocalizationResults]:
    """Return the results of every PRED of volumes."""
    from verite.cli.evaluate import system_names
    from verite.cli.output import note, warn
    from verite.formats.volumes import list_cases, read_volume
    from verite.metrics.catalogue import every_metric
    from verite.metrics.volumes import localize_volumes

    if given["every"]:
        chosen = [*chosen, *(m for m in every_metric() if m.record.volumes and m not in chosen)]
    how = {"spacing": given["spacing"], "mask_threshold": given["mask_threshold"]}
    cases = list_cases(truth)
    if cases:
        described = f"{len(cases):,} volumes, paired by the names of their files"
    else:
        volume = read_volume(truth, **how)
        shape = " × ".join(map(str, volume.values.shape))
        described = f"a volume of {shape} voxels, spacing {volume.spacing or 'not known: distances in voxels'}"
    note(f"truth: {truth}: {described}", quiet=given["quiet"] or given["as_json"])
    names = system_names(preds)
    results = []
    for pred, name in zip(preds, names, strict=True):
        results.append(localize_volumes(truth, pred, chosen, names=given["names"], name=name, per=given["per"], **how))
        warn(results[-1].findings, {"truth": truth, "pred": pred}, set())
    return results


def save_plots(result: LocalizationResults, home: Path, given: Given) -> None:
    """Save the distributions, the worst pairs, and the chosen object."""
    from verite.files import write_atomically
    from verite.reporting.image_files import ImageFiles
    from verite.reporting.localization import plot_object, save_localization
    from verite.reporting.plots import render

    save_localization(result, home, given["plot_format"], given["images"])
    if given["number"] is not None:
        image_files = ImageFiles(result.truth, given["images"])
        figure = plot_object(result, given["number"], image_files=image_files)
        path = home / f"object-{given['number']}.{given['plot_format']}"
        write_atomically(path, render(figure, given["plot_format"]))
