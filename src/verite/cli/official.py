"""The numbers of the other competitions."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from verite.cli.evaluate import CLASS, TABLE, evaluate_each, finish, finish_curves, plotting_options
from verite.cli.options import checks_option, output_options, reading_options

OUTPUT = click.option("--output", "-o", type=click.Path(file_okay=False), help="Folder for results and tables.")


@click.command(
    epilog="""\b
Examples:
  verite lvis lvis_v1_val.json detections.json
  verite lvis lvis_v1_val.json segments.json --on mask
  verite lvis lvis_v1_val.json a.json b.json
  verite lvis truth.json pred.json --json | jq .APr"""
)
@click.argument("truth")
@click.argument("pred", nargs=-1, required=True)
@click.option("--on", type=click.Choice(["box", "mask"]), default="box", show_default=True,
              help="Compare boxes or masks.")  # fmt: skip
@click.option("--threshold", "-t", "iou", type=float, multiple=True, show_default="0.5 to 0.95 by 0.05",
              help="IoU from which a prediction is right; may be repeated.")  # fmt: skip
@click.option("--max-dets", "-n", type=click.IntRange(1), default=300, show_default=True,
              help="Predictions of an image that count, over all classes.")  # fmt: skip
@click.option("--per", type=click.Choice(["class", "threshold", "image"]), default="class", show_default=True,
              help="What the table has a row for.")  # fmt: skip
@click.option("--jobs", "-j", type=click.IntRange(1), show_default="one a core", help="Threads.")
@CLASS
@OUTPUT
@reading_options
@checks_option
@output_options
def lvis(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """LVIS's thirteen numbers, for boxes or masks.

    TRUTH is an LVIS file; PREDs are results in any known format, several are compared side by side.
    """
    from verite.protocols.lvis import lvis as evaluate

    settings = {
        "on": given["on"],
        "iou": given["iou"] or None,
        "max_dets": given["max_dets"],
        "labels": given["labels"] or None,
        "per": given["per"],
        "threads": given["jobs"],
    }
    finish(evaluate_each(truth, pred, given, partial(evaluate, **settings)), given)


@click.command(
    epilog="""\b
Examples:
  verite openimages validation-boxes.csv predictions.csv --image-labels labels.csv
  verite openimages boxes.csv a.csv b.csv --image-labels labels.csv --hierarchy bbox_labels_500_hierarchy.json
  verite openimages boxes.csv predictions.csv --metric v2 --descriptions class-descriptions.csv
  verite openimages segments.csv predictions.csv --on mask --image-labels labels.csv"""
)
@click.argument("truth")
@click.argument("pred", nargs=-1, required=True)
@click.option("--metric", type=click.Choice(["challenge", "v2"]), default="challenge", show_default=True,
              help="The challenge's metric or that of Open Images V2.")  # fmt: skip
@click.option("--on", type=click.Choice(["box", "mask"]), default="box", show_default=True,
              help="Compare boxes or masks.")  # fmt: skip
@click.option("--image-labels", type=click.Path(), help="CSV of the classes that were verified in each image.")
@click.option("--hierarchy", type=click.Path(), help="JSON of classes and those below them; boxes count for all above.")
@click.option("--descriptions", type=click.Path(), help="CSV of classes and their names, to print names.")
@click.option("--group-of-weight", type=float, show_default="1 for boxes of the challenge, else 0",
              help="What finding a group is worth.")  # fmt: skip
@click.option("--unverified", type=click.Choice(["drop", "count"]),
              show_default="count in v2 without labels, else drop",
              help="Predictions of classes that nobody verified in the image.")  # fmt: skip
@click.option("--threshold", "-t", "iou", type=float, multiple=True, default=(0.5,), show_default="0.5",
              help="IoU from which a prediction is right; may be repeated.")  # fmt: skip
@click.option("--jobs", "-j", type=click.IntRange(1), show_default="one a core", help="Threads.")
@CLASS
@TABLE
@OUTPUT
@plotting_options
@reading_options
@checks_option
@output_options
def openimages(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """Average precision as Open Images computes it, with groups, verified labels and the hierarchy of classes.

    TRUTH is a CSV of boxes, PREDs are the challenge's CSVs or boxes with scores, or any known format; several PREDs are
    compared side by side.
    """
    from verite.protocols.openimages import openimages as evaluate

    same = ("metric", "on", "image_labels", "hierarchy", "descriptions", "group_of_weight", "unverified", "iou")
    settings = {key: given[key] for key in same} | {"labels": given["labels"] or None, "threads": given["jobs"]}
    finish_curves(evaluate_each(truth, pred, given, partial(evaluate, **settings)), given)


@click.command(
    epilog="""\b
Examples:
  verite imagenet-loc LOC_val_solution.csv predictions.csv
  verite imagenet-loc Annotations/ a.csv b.csv
  verite imagenet-loc LOC_val_solution.csv predictions.csv --blacklist blacklist.txt
  verite imagenet-loc LOC_val_solution.csv predictions.csv --json | jq .top5_error"""
)
@click.argument("truth")
@click.argument("pred", nargs=-1, required=True)
@click.option("--threshold", "-t", "iou", type=float, default=0.5, show_default=True,
              help="IoU from which a box is in place.")  # fmt: skip
@click.option("--guesses", "-n", type=click.IntRange(1), multiple=True, default=(1, 5), show_default="1, 5",
              help="Guesses of an image that count; may be repeated.")  # fmt: skip
@click.option("--blacklist", type=click.Path(), help="Images that count for classification alone: one a line.")
@OUTPUT
@reading_options
@checks_option
@output_options
def imagenet_loc(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """Errors of ImageNet's localization task: top 1 and top 5, with place and by class alone.

    TRUTH is a solution CSV or a folder of the devkit's XML, PREDs are prediction CSVs, or any known format; several
    PREDs are compared side by side.
    """
    from verite.protocols.imagenet import imagenet_loc as evaluate

    settings = {key: given[key] for key in ("iou", "guesses", "blacklist")}
    finish(evaluate_each(truth, pred, given, partial(evaluate, **settings)), given)


@click.command(
    epilog="""\b
Examples:
  verite imagenet-det Annotations/ detections.json
  verite imagenet-det Annotations/ detections.json --blacklist ILSVRC2014_det_validation_blacklist.txt
  verite imagenet-det truth.json a.json b.json -o results/"""
)
@click.argument("truth")
@click.argument("pred", nargs=-1, required=True)
@click.option("--threshold", "-t", "iou", type=float, default=0.5, show_default=True,
              help="IoU that large objects ask for.")  # fmt: skip
@click.option("--tolerance", type=float, default=10.0, show_default=True,
              help="Pixels by which small objects may be missed.")  # fmt: skip
@click.option("--blacklist", type=click.Path(), help="Classes that do not count in an image: IMAGE CLASS a line.")
@CLASS
@TABLE
@OUTPUT
@plotting_options
@reading_options
@checks_option
@output_options
def imagenet_det(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """Average precision of ImageNet's detection task.

    TRUTH and PRED are files or folders in any known format; several PREDs are compared side by side.
    """
    from verite.protocols.imagenet import imagenet_det as evaluate

    settings = {key: given[key] for key in ("iou", "tolerance", "blacklist")} | {"labels": given["labels"] or None}
    finish_curves(evaluate_each(truth, pred, given, partial(evaluate, **settings)), given)


@click.command(
    epilog="""\b
Examples:
  verite panoptic panoptic_val2017.json predictions.json
  verite panoptic truth.json a.json b.json
  verite panoptic truth.json pred.json --truth-images truth_png/ --pred-images pred_png/
  verite panoptic truth.json pred.json --json | jq .PQ"""
)
@click.argument("truth")
@click.argument("pred", nargs=-1, required=True)
@click.option("--truth-images", type=click.Path(), help="Folder with the truth's PNGs, if not beside its JSON.")
@click.option("--pred-images", type=click.Path(), help="Folder with the predictions' PNGs, if not beside their JSON.")
@CLASS
@OUTPUT
@reading_options
@checks_option
@output_options
def panoptic(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """Panoptic quality: PQ, SQ and RQ over all classes, things and stuff.

    TRUTH and PRED are panoptic JSON files with their folders of PNGs, or any format that has a mask for every segment;
    several PREDs are compared side by side.
    """
    from verite.protocols.panoptic import panoptic as evaluate

    finish(evaluate_each(truth, pred, given, partial(evaluate, labels=given["labels"] or None)), given)
