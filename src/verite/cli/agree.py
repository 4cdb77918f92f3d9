"""`verite agree`: how far annotators agree, and which error rates of the ground truth follow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.annotation_errors.agree import AgreeSettings
from verite.cli.help import command
from verite.cli.options import (
    INPUT,
    output_options,
    read_side,
    reading_options,
    settings_given,
    settings_options,
    side_reading,
)

if TYPE_CHECKING:
    from verite.annotation_errors.agree import Agreement

Given = dict[str, Any]


@command(
    epilog="""\b
Examples:
  verite agree first.json second.json third.json
  verite agree first.json second.json -o agreement/
  verite agree first.json second.json --adjudicated agreement/singles.csv --detectors pred.json
  verite agree readers.json --annotator rad_id --only R8 --only R9
  verite agree tasks.json                          Label Studio, several annotations per task
  verite agree polygons.csv --annotator worker_id --object object_id
Exit status: 0 success, 1 data error, 2 usage error."""
)
@click.argument("annotators", type=INPUT, nargs=-1, required=True, metavar="A B [C...]")
@click.option("--annotator", metavar="FIELD", help="Key or column that names the annotator, of one file.")
@click.option("--object", "object_key", metavar="COLUMN",
              help="Column that names the object, where annotators drew polygons around given objects.")  # fmt: skip
@click.option("--complete", is_flag=True,
              help="Every annotator of one file annotated every image, also those where it has no object.")  # fmt: skip
@click.option("--adjudicated", type=INPUT, metavar="FILE", help="singles.csv with its verdicts filled in.")
@click.option("--detectors", type=INPUT, multiple=True, metavar="PRED",
              help="Predictions whose confidence forms strata of easy and hard objects; may be repeated.")  # fmt: skip
@settings_options(AgreeSettings)
@click.option("--output", "-o", type=click.Path(file_okay=False),
              help="Folder for rates.csv, singles.csv, consensus.json, tables and drawn images.")  # fmt: skip
@click.option("--drawn", type=click.IntRange(0), default=6, show_default=True, metavar="N",
              help="Number of images with the most disagreement to draw.")  # fmt: skip
@click.option("--no-plot", is_flag=True, help="No plots in the output folder.")
@click.option("--plot-format", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True)
@reading_options
@output_options
def agree(annotators: tuple[str, ...], **given: Any) -> None:
    """Compare annotators, and estimate the error rates of ground truth.

    A, B, C... are one file or folder per annotator in any known format, or one file that names the annotator of each
    object: COCO JSON with a key such as rad_id, a CSV table with such a column, Label Studio's JSON. The first
    annotator is the ground truth in question. The tables show rates of missing and spurious objects, wrong
    classes and jitter with intervals, how far annotators agree, and the scores they reach against each other.
    """
    from verite.annotation_errors.agree import Agreement
    from verite.annotation_errors.annotators import align_annotators, split_file
    from verite.cli.evaluate import system_names
    from verite.cli.output import describe_reading, emit, note
    from verite.errors import BadParameter
    from verite.files import find_path
    from verite.model.comparison import distinct_names

    quiet = given["quiet"] or given["as_json"]
    settings = AgreeSettings(**settings_given(AgreeSettings, given))
    if len(annotators) == 1:
        format, options = side_reading("truth", given)
        how = {"complete": given["complete"], "format": format, "options": options}
        found = split_file(find_path(annotators[0]), given["annotator"], given["object_key"], **how)
        note(f"{annotators[0]}: {len(found.names)} annotators", quiet=quiet)
    else:
        if given["annotator"] or given["object_key"]:
            raise BadParameter(f"annotator: expected one file of several annotators, found {len(annotators)}")
        sides = [read_side(path, "truth", given) for path in annotators]
        for path, side in zip(annotators, sides, strict=True):
            describe_reading(Path(path).stem, side, quiet=quiet)
        found = align_annotators(distinct_names(system_names(annotators)), sides, ", ".join(annotators))
    detectors = [read_side(path, "pred", given, found.sides[0]) for path in given["detectors"]]
    agreement = Agreement.of(found, settings, detectors, given["adjudicated"])
    if given["output"]:
        save_agreement(agreement, Path(given["output"]), given)
        note(f"results in {given['output']}", quiet=quiet)
    emit(agreement, given)


def save_agreement(agreement: Agreement, folder: Path, given: Given) -> None:
    """Write the JSON document, every table, the consensus as COCO JSON, and the images with most disagreement."""
    from verite.cli.output import keep_table, wants_plots
    from verite.files import fill_folder, write_atomically
    from verite.model.results import to_json

    with fill_folder(folder) as home:
        write_atomically(home / "agree.json", agreement.to_json(indent=1) + "\n")
        write_atomically(home / "agree.md", agreement.to_markdown())
        write_atomically(home / "consensus.json", to_json(agreement.consensus_document()) + "\n")
        for name, table in agreement.tables().items():
            keep_table(home / f"{name}.csv", table, given)
        if wants_plots(given):
            from verite.reporting.agreement_plots import save_disagreement

            save_disagreement(agreement, home, given["drawn"], given["images"], given["plot_format"])
