"""The validation of the interpretation score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from verite.cli.options import output_options

if TYPE_CHECKING:
    from verite.model.annotations import Annotations


@click.command(
    epilog="""\b
Examples:
  verite study interpretation                              1,002 synthetic scenes, 341,440 alterations
  verite study interpretation VOCdevkit/VOC2008 -o results/
  verite study interpretation truth.json --localization iou
  verite study interpretation --shapes boxes --json | jq '.checks[] | select(.passed | not)'"""
)
@click.argument("source", required=False, metavar="[FOLDER]")
@click.option("--localization", metavar="METRIC", default="martin", show_default=True,
              help="The paper's measure, or a metric of the catalogue from 0 to 1.")  # fmt: skip
@click.option("--alpha", type=float, default=0.8, show_default=True,
              help="Weight of localization; recognition has the rest.")  # fmt: skip
@click.option("--distance", metavar="FILE|voc", default="voc", show_default=True,
              help="The class distances of figure 15.")  # fmt: skip
@click.option("--shapes", type=click.Choice(["masks", "boxes"]), default="masks", show_default=True,
              help="The objects themselves, or the boxes around them.")  # fmt: skip
@click.option("--anchor", type=click.Choice(["centre", "corner"]), default="centre", show_default=True,
              help="What scaling leaves in place: the centre of an object's box, or its upper left.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of the synthetic scenes.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads; one for each core if not given.")
@click.option("--output", "-o", type=click.Path(file_okay=False), help="Folder for results and figures 10 to 15.")
@click.option("--no-plot", is_flag=True, help="No figures in the output folder.")
@click.option("--plot-format", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True)
@output_options
def interpretation(source: str | None, **given: Any) -> None:
    """Do the claims made for the interpretation score hold?

    Every object of every scene is shifted, stretched, turned and put into perspective with power 1 to 20, classes are
    mistaken, objects removed and added; each claim of the paper is held against what the score then says. FOLDER is a
    Pascal VOC folder with segmentations, or annotations with masks in any known format; without one, scenes are drawn
    that have the paper's numbers of images and objects.
    """
    from verite.cli.output import emit, keep_table, note, wants_plots
    from verite.files import fill_folder, write_atomically
    from verite.interpretation.localization import localization_metric
    from verite.progress import begin
    from verite.studies.interpretation import study_interpretation

    localization_metric(given["localization"])  # a wrong name is told before anything is drawn
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
                from verite.reporting.interpretation_study import save_study

                save_study(outcome, home, given["plot_format"])
        note(f"results in {given['output']}", quiet=quiet)
    emit(outcome, given)


def scenes_of(source: str | None, seed: int) -> Annotations:
    """The scenes to alter: a user's, or synthetic ones."""
    if source is None:
        from verite.studies.scenes import synthetic_scenes

        return synthetic_scenes(seed)
    from verite.files import find_path
    from verite.formats import read
    from verite.formats.voc_segmentation import is_segmentation, read_segmentation

    return read_segmentation(source) if is_segmentation(find_path(source)) else read(source)
