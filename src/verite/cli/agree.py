"""`verite agree`: how far annotators agree, and which error rates of the ground truth follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import click

from verite.annotation_errors.agree import AgreeSettings
from verite.cli.help import command
from verite.cli.options import (
    INPUT,
    READING,
    FolderSettings,
    OutputSettings,
    PlotSettings,
    options_for,
    read_side,
    settings_given,
    side_reading,
)
from verite.settings import Flag, Names, Option, Setting, Settings, Texts, Whole


class AnnotatorSettings(Settings):
    """Which annotators a file has, and what else is known about its objects."""

    TITLE: ClassVar[str] = "Annotators"
    annotator: Option[str | None] = Setting(
        None, "Key or column that names the annotator, of one file.", metavar="FIELD"
    )
    object_key: Option[str | None] = Setting(
        None,
        "Column that names the object, where annotators drew polygons around given objects.",
        long="object",
        metavar="COLUMN",
    )
    complete: Option[bool] = Flag(
        False, "Every annotator of one file annotated every image, also those where it has no object."
    )
    adjudicated: Option[str | None] = Setting(
        None, "Table singles.csv with its verdicts filled in.", metavar="FILE", kind="path"
    )
    detectors: Texts = Names(
        None,
        "Predictions whose confidence forms strata of easy and hard objects; may be repeated.",
        metavar="PRED",
        kind="path",
    )


class AgreementFolderSettings(FolderSettings):
    """The folder of `verite agree`."""

    output: Option[str | None] = Setting(
        None,
        "Folder for rates.csv, singles.csv, consensus.json, tables and drawn images.",
        short="-o",
        kind="output_folder",
    )
    drawn: Option[int] = Whole(6, "Number of images with the most disagreement to draw.", section="Output")


@command(
    params=options_for(
        AnnotatorSettings, AgreeSettings, AgreementFolderSettings, PlotSettings, *READING, OutputSettings
    ),
    epilog="""\b
Examples:
  verite agree first.json second.json third.json
  verite agree first.json second.json -o agreement/
  verite agree first.json second.json --adjudicated agreement/singles.csv --detectors pred.json
  verite agree readers.json --annotator rad_id --only R8 --only R9
  verite agree tasks.json                          Label Studio, several annotations per task
  verite agree polygons.csv --annotator worker_id --object object_id
Exit codes: 0 success, 1 data error, 2 usage error.""",
)
@click.argument("annotators", type=INPUT, nargs=-1, required=True, metavar="A B [C...]")
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
        format, options = side_reading("truth", given | {"annotator": None})
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
        # Write the JSON document, every table, the consensus as COCO JSON, and the images with most disagreement.
        from verite.cli.output import keep_table, wants_plots
        from verite.files import fill_folder, write_atomically
        from verite.model.results import encode_json

        with fill_folder(Path(given["output"]), overwrite=given["overwrite"]) as home:
            write_atomically(home / "agree.json", agreement.to_json(indent=1) + "\n")
            write_atomically(home / "agree.md", agreement.to_markdown())
            write_atomically(home / "consensus.json", encode_json(agreement.consensus_document()) + "\n")
            for name, table in agreement.tables().items():
                keep_table(home / f"{name}.csv", table, given)
            if wants_plots(given):
                from verite.reporting.agreement_plots import save_disagreement

                save_disagreement(agreement, home, given["drawn"], given["images"], given["plot_format"])
        note(f"results in {given['output']}", quiet=quiet)
    emit(agreement, given)
