"""The competitions' numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.cli.options import checks_option, output_options, read_side, reading_options

if TYPE_CHECKING:
    from verite.protocols.voc import VocResults


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
@click.option("--class", "labels", multiple=True, metavar="NAME", help="Only this class; may be repeated.")
@click.option("--table", metavar="CLASS", help="Print the accumulated table of this class.")
@click.option("--output", "-o", type=click.Path(file_okay=False), help="Folder for results, tables and plots.")
@click.option("--no-plot", is_flag=True, help="No plots in the output folder.")
@click.option("--plot-format", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True)
@reading_options
@checks_option
@output_options
def voc(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """Average precision as Pascal VOC computes it.

    TRUTH and PRED are files or folders in any known format; several PREDs are compared side by side.
    """
    from verite.cli.output import describe, emit, note, warn
    from verite.model.results import Comparison
    from verite.protocols.voc import voc as evaluate

    quiet = given["quiet"] or given["as_json"]
    truths = read_side(truth, "truth", given)
    describe("truth", truths, quiet=quiet)
    results = []
    for path, name in zip(pred, system_names(pred), strict=True):
        predictions = read_side(path, "pred", given, truths)
        describe("pred", predictions, quiet=quiet)
        results.append(
            evaluate(
                truths,
                predictions,
                iou=given["iou"],
                interpolation=given["interpolation"],
                pixel=given["pixel"],
                difficult=given["difficult"],
                variant=given["variant"],
                labels=given["labels"] or None,
                name=name,
                checks=given["checks"],
            )
        )
        warn(results[-1].findings, path, quiet=quiet)
    note("", quiet=quiet)
    if given["table"] and not given["as_json"]:
        for result in results:
            click.echo(f"{result.name}\n{result.accumulated(given['table'])}\n")
    if given["output"]:
        keep(results, Path(given["output"]), "" if given["no_plot"] else given["plot_format"])
        note(f"results in {given['output']}", quiet=quiet)
    outcome = results[0] if len(results) == 1 else Comparison(results)
    emit(outcome, as_json=given["as_json"], save=given["save"], quiet=quiet)


def keep(results: list[VocResults], folder: Path, plot_format: str) -> None:
    """Each system's JSON, tables and plots in a folder of its own, and the comparison beside them."""
    from verite.files import make_folder, write_atomically
    from verite.model.results import Comparison

    for result in results:
        home = make_folder(folder / result.name if len(results) > 1 else folder)
        write_atomically(home / "results.json", result.to_json(indent=1) + "\n")
        write_atomically(home / "classes.csv", result.to_csv())
        if plot_format:
            from verite.reporting.plots import save_curves

            save_curves(result, home, plot_format)
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
