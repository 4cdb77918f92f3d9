"""The competitions' numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from verite.cli.options import AreaRange, checks_option, output_options, read_side, reading_options

if TYPE_CHECKING:
    from verite.model.results import Results
    from verite.protocols.curve_results import CurveResults

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R", bound="Results")
Given = dict[str, Any]

TABLE = click.option("--table", metavar="CLASS", help="Print the accumulated table of this class.")
CLASS = click.option("--class", "labels", multiple=True, metavar="NAME", help="Only this class; may be repeated.")


def plotting_options(command: F) -> F:
    """Whether and how to draw curves into the output folder."""
    formats = click.Choice(["png", "svg", "pdf"])
    command = click.option("--plot-format", type=formats, default="png", show_default=True)(command)
    return click.option("--no-plot", is_flag=True, help="No plots in the output folder.")(command)


@click.command(
    epilog="""\b
Examples:
  verite voc groundtruths/ detections/ -t 0.3
  verite voc Annotations/ detections.json --interpolation 11
  verite voc truth.json a.json b.json c.json -t 0.5 -t 0.75
  verite voc truth/ pred/ --truth-boxes xyrb --pred-coords rel --image-size 600,400
  verite voc truth.json pred.json -o results/ --plot-format svg
  verite voc truth.json pred.json --json | jq .mAP"""
)
@click.argument("truth")
@click.argument("pred", nargs=-1, required=True)
@click.option("--threshold", "-t", "iou", type=float, multiple=True, default=(0.5,), show_default="0.5",
              help="IoU from which a prediction is right; may be repeated.")  # fmt: skip
@click.option("--interpolation", type=click.Choice(["all", "11"]), default="all", show_default=True,
              help="Area below all points (since 2010) or mean at 11 recalls (2007).")  # fmt: skip
@click.option("--pixel", type=click.Choice(["plus1", "continuous"]), default="plus1", show_default=True,
              help="Width is x2 - x1 + 1 (pixel indices) or x2 - x1.")  # fmt: skip
@click.option("--difficult", type=click.Choice(["skip", "count"]), default="skip", show_default=True,
              help="Difficult objects and crowds neither reward nor punish, or count like others.")  # fmt: skip
@click.option("--variant", type=click.Choice(["devkit", "py-faster-rcnn"]), default="devkit", show_default=True,
              help="Whose code to reproduce.")  # fmt: skip
@CLASS
@TABLE
@click.option("--output", "-o", type=click.Path(file_okay=False), help="Folder for results, tables and plots.")
@plotting_options
@reading_options
@checks_option
@output_options
def voc(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """Average precision as Pascal VOC computes it.

    TRUTH and PRED are files or folders in any known format; several PREDs are compared side by side.
    """
    from verite.protocols.voc import voc as evaluate

    names = ("iou", "interpolation", "pixel", "difficult", "variant")
    settings = {name: given[name] for name in names} | {"labels": given["labels"] or None}
    results = evaluate_each(truth, pred, given, lambda a, b, **about: evaluate(a, b, **settings, **about))
    finish_curves(results, given)


@click.command(
    epilog="""\b
Examples:
  verite coco instances_val.json detections.json
  verite coco instances_val.json segments.json --on mask
  verite coco instances_val.json a.json b.json c.json
  verite coco truth.json pred.json -t 0.3 -t 0.5 --area all:0:1e10 --area tiny:0:256
  verite coco truth.json pred.json --max-dets 1 --max-dets 10 --max-dets 300
  verite coco truth.json pred.json --per image -o results/
  verite coco truth.json pred.json --json | jq .AP"""
)
@click.argument("truth")
@click.argument("pred", nargs=-1, required=True)
@click.option("--on", type=click.Choice(["box", "mask", "boundary"]), default="box", show_default=True,
              help="Compare boxes, masks, or masks and their boundaries.")  # fmt: skip
@click.option("--threshold", "-t", "iou", type=float, multiple=True, show_default="0.5 to 0.95 by 0.05",
              help="IoU from which a prediction is right; may be repeated.")  # fmt: skip
@click.option("--area", "areas", type=AreaRange(), multiple=True, show_default="all, small, medium, large",
              help="Range of areas in square pixels; may be repeated, the first one is the headline.")  # fmt: skip
@click.option("--max-dets", "-n", type=click.IntRange(1), multiple=True, show_default="1, 10, 100",
              help="Predictions of a class and image that count; may be repeated.")  # fmt: skip
@click.option("--ignore", type=click.Choice(["crowd", "explicit"]), default="crowd", show_default=True,
              help="What neither rewards nor punishes: crowds as in COCO, or also what says so itself.")  # fmt: skip
@click.option("--class-agnostic", is_flag=True, help="Ask where objects are, not what they are.")
@click.option("--exact", is_flag=True, help="Repeat pycocotools' odd ways, too (ids of 0, repeated ids, NaN).")
@CLASS
@click.option("--per", type=click.Choice(["class", "threshold", "image"]), default="class", show_default=True,
              help="What the table has a row for.")  # fmt: skip
@click.option("--output", "-o", type=click.Path(file_okay=False), help="Folder for results and all tables.")
@click.option("--jobs", "-j", type=click.IntRange(1), show_default="one a core", help="Threads.")
@reading_options
@checks_option
@output_options
def coco(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """COCO's twelve numbers, for boxes or masks.

    TRUTH and PRED are files or folders in any known format; several PREDs are compared side by side.
    """
    from verite.protocols.coco import coco as evaluate

    settings = {
        "on": given["on"],
        "iou": given["iou"] or None,
        "areas": {name: limits for name, *limits in given["areas"]} or None,
        "max_dets": given["max_dets"] or None,
        "ignore": given["ignore"],
        "classes": "together" if given["class_agnostic"] else "each",
        "mode": "pycocotools" if given["exact"] else "verite",
        "labels": given["labels"] or None,
        "per": given["per"],
        "threads": given["jobs"],
    }
    results = evaluate_each(truth, pred, given, lambda a, b, **about: evaluate(a, b, **settings, **about))
    finish(results, given)


def evaluate_each(truth: str, preds: tuple[str, ...], given: Given, evaluate: Callable[..., R]) -> list[R]:
    """The results of every system, read as the options say; what is suspicious is said on the way."""
    from verite.cli.output import describe, note, warn

    quiet = given["quiet"] or given["as_json"]
    truths = read_side(truth, "truth", given)
    describe("truth", truths, quiet=quiet)
    results = []
    for path, name in zip(preds, system_names(preds), strict=True):
        predictions = read_side(path, "pred", given, truths)
        describe("pred", predictions, quiet=quiet)
        results.append(evaluate(truths, predictions, name=name, checks=given["checks"]))
        warn(results[-1].findings, path, quiet=quiet)
    note("", quiet=quiet)
    return results


def finish_curves(results: Sequence[CurveResults], given: Given) -> None:
    """Print and keep results that have precision-recall curves: with plots, and the table of one class if asked for."""
    if given["table"] and not given["as_json"]:
        for result in results:
            click.echo(f"{result.name}\n{result.accumulate(given['table'])}\n")
    plot_format = "" if given["no_plot"] or not given["output"] else given["plot_format"]
    if plot_format:
        from verite.reporting.plots import save_curves

        finish(results, given, lambda result, home: save_curves(result, home, plot_format))
    else:
        finish(results, given)


def finish(results: Sequence[R], given: Given, plot: Callable[[R, Path], object] | None = None) -> None:
    """Keep what is to be kept, and print the results or their comparison."""
    from verite.cli.output import emit, note
    from verite.model.results import Comparison

    quiet = given["quiet"] or given["as_json"]
    outcome = results[0] if len(results) == 1 else Comparison(results)
    if given["output"]:
        save_results(results, Path(given["output"]), plot)
        note(f"results in {given['output']}", quiet=quiet)
    emit(outcome, as_json=given["as_json"], save=given["save"], quiet=quiet)


def save_results(results: Sequence[R], folder: Path, plot: Callable[[R, Path], object] | None) -> None:
    """Each system's JSON, tables and plots in a folder of its own, and the comparison beside them."""
    from verite.files import make_folder, write_atomically
    from verite.model.results import Comparison

    for result in results:
        home = make_folder(folder / result.name if len(results) > 1 else folder)
        write_atomically(home / "results.json", result.to_json(indent=1) + "\n")
        for name, table in result.tables().items():
            write_atomically(home / f"{name}.csv", table.to_csv())
        if plot:
            plot(result, home)
    if len(results) > 1:
        write_atomically(folder / "comparison.csv", Comparison(results).to_csv())


def system_names(paths: tuple[str, ...]) -> list[str]:
    """The shortest ends of the paths that tell them apart.

    >>> system_names(("a/results.json", "b/results.json", "c.json"))
    ['a-results', 'b-results', 'c']
    """
    parts = [Path(path).with_suffix("").parts if Path(path).suffix else Path(path).parts for path in paths]
    lengths = [1] * len(parts)
    names = [p[-1] for p in parts]
    for _ in range(max(map(len, parts))):
        # The same path given twice cannot be told apart by any end of it.
        twice = {name for name in names if len({p for p, n in zip(parts, names, strict=True) if n == name}) > 1}
        lengths = [length + (name in twice) for length, name in zip(lengths, names, strict=True)]
        names = ["-".join(p[-n:]).strip("/") for p, n in zip(parts, lengths, strict=True)]
    return names
