"""Catalogue metrics over matched objects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.cli.gate import gate_options
from verite.cli.help import command
from verite.cli.options import INPUT, METRIC, output_options, reading_options, settings_given, settings_options
from verite.metrics.localize import LocalizeSettings

if TYPE_CHECKING:
    from verite.metrics.localize import LocalizationResults
    from verite.metrics.metric import Metric
    from verite.model.annotations import Annotations


@command(
    epilog="""\b
Examples:
  verite localize truth.json pred.json -m iou -m figure_of_merit
  verite localize truth.json pred.json -m "hausdorff(quantile=0.95)" -m my_package.metrics:mine
  verite localize truth.json a.json b.json -m gce --unmatched score
  verite localize truth.json pred.json --all -o results/
  verite localize truth/ pred/ --all --image-size 640,480 --json | jq .metrics"""
)
@click.argument("truth", type=INPUT)
@click.argument("pred", type=INPUT, nargs=-1, required=True)
@click.option("--metric", "-m", "metrics", multiple=True, type=METRIC, metavar="NAME",
              help="A metric (see verite metrics); may be repeated.")  # fmt: skip
@click.option("--all", "every", is_flag=True, help="Every metric that fits the regions.")
@settings_options(LocalizeSettings)
@click.option("--object", "number", type=int, metavar="N",
              help="With --output, a picture of the N-th of the listed objects.")  # fmt: skip
@click.option("--output", "-o", type=click.Path(file_okay=False), help="Folder for results, tables and plots.")
@click.option("--no-plot", is_flag=True, help="No plots in the output folder.")
@click.option("--plot-format", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True)
@gate_options
@reading_options
@output_options
def localize(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """How well objects are localized, by any metric of the catalogue.

    TRUTH and PRED are files or folders in any known format. Objects are matched one to one by overlap; several PREDs
    are compared side by side.
    """
    from verite.cli.evaluate import evaluate_each, finish
    from verite.cli.study import look_here
    from verite.metrics.catalogue import metric
    from verite.metrics.localize import localize as evaluate

    if not given["metrics"] and not given["every"]:
        raise click.UsageError("expected -m METRIC or --all, found neither", click.get_current_context())
    if given["number"] is not None and not given["output"]:
        raise click.UsageError("--object: expected --output FOLDER for the picture", click.get_current_context())
    look_here(given["metrics"])
    chosen = [metric(name) for name in given["metrics"]]  # a wrong name is told before a large file is read
    settings = settings_given(LocalizeSettings, given)
    LocalizeSettings(**settings)

    from verite.formats.volumes import are_volumes

    if are_volumes(truth, *pred):
        finish(localize_each(truth, pred, chosen, given), given, lambda result, home: draw_plots(result, home, given))
        return

    def compare(truths: Annotations, preds: Annotations, **about: Any) -> LocalizationResults:
        return evaluate(truths, preds, *chosen, all=given["every"], **(settings | about))

    finish(evaluate_each(truth, pred, given, compare), given, lambda result, home: draw_plots(result, home, given))


def localize_each(
    truth: str, preds: tuple[str, ...], chosen: list[Metric], given: dict[str, Any]
) -> list[LocalizationResults]:
    """The results of every volume against the truth's."""
    from verite.cli.evaluate import system_names
    from verite.cli.output import note, warn
    from verite.metrics.catalogue import every_metric
    from verite.metrics.volumes import localize_volumes

    if given["every"]:
        chosen = [*chosen, *(m for m in every_metric() if m.record.volumes and m not in chosen)]
    how = {"spacing": given["spacing"], "mask_threshold": given["mask_threshold"]}
    note(f"truth: {truth}: {tell_volumes(truth, how)}", quiet=given["quiet"] or given["as_json"])
    names = system_names(preds)
    results = []
    for pred, name in zip(preds, names, strict=True):
        results.append(localize_volumes(truth, pred, chosen, names=given["names"], name=name, **how))
        warn(results[-1].findings, {"truth": truth, "pred": pred}, set())
    return results


def tell_volumes(path: str, how: dict[str, Any]) -> str:
    """What a file or folder of volumes is."""
    from verite.formats.volumes import list_cases, read_volume

    cases = list_cases(path)
    if cases:
        return f"{len(cases):,} volumes, paired by the names of their files"
    volume = read_volume(path, **how)
    shape = " × ".join(map(str, volume.values.shape))
    return f"a volume of {shape} voxels, spacing {volume.spacing or 'not known: distances in voxels'}"


def draw_plots(result: LocalizationResults, home: Path, given: dict[str, Any]) -> None:
    """How values are distributed, the worst pairs, and the object that was asked for."""
    from verite.files import write_atomically
    from verite.reporting.image_files import ImageFiles
    from verite.reporting.localization import draw_object, save_localization
    from verite.reporting.plots import render

    save_localization(result, home, given["plot_format"], given["images"])
    if given["number"] is not None:
        photos = ImageFiles(result.truth, given["images"])
        picture = render(draw_object(result, given["number"], photos=photos), given["plot_format"])
        write_atomically(home / f"object-{given['number']}.{given['plot_format']}", picture)
