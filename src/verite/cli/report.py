"""Command `verite report`: a self-contained HTML report of one or several detectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.analysis.parts import AnalyseSettings
from verite.cli.help import command
from verite.cli.options import (
    INPUT,
    THREADS,
    F,
    InputPath,
    checks_option,
    is_typed,
    options_of,
    read_side,
    reading_options,
)
from verite.errors import one_line
from verite.evaluation.settings import SIMILARITIES
from verite.protocols import REGISTRY
from verite.reporting.report.settings import ANALYSIS, ReportSettings

if TYPE_CHECKING:
    from verite.model.results import Results

UNITS = {"": 1, "B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}


def analysis_options(command: F) -> F:
    """Add the options of `verite analyse` to a command."""
    for name in reversed(ANALYSIS):
        for option in options_of(AnalyseSettings.declared[name]):
            command = option(command)
    return command


class Bytes(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, such as 4MB."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes; kB, MB and GB are powers of 1,000."""
        if isinstance(value, int):
            return value
        text = str(value).strip().upper()
        digits = text.rstrip("KMGB")
        try:
            size = float(digits) * UNITS[text[len(digits) :].strip()]
        except (ValueError, KeyError):
            self.fail(f"expected bytes such as 4MB or 500kB, found {value!r}", param, ctx)
        return int(size)


@command(
    epilog="""\b
Examples:
  verite report truth.json pred.json -o report.html
  verite report truth.json a.json b.json --images photos/ --pictures embed -o report.html
  verite report truth.json a.json --protocol voc -t 0.5 --title "Night images" -o night.html --open
  verite report truth.json a.json b.json --check report.html        verify an existing report"""
)
@click.argument("truth", type=INPUT)
@click.argument("pred", type=INPUT, nargs=-1, required=True)
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="HTML report to write, such as report.html.")
@click.option("--check", type=InputPath(dir_okay=False), metavar="REPORT",
              help="Recompute an existing report and compare; exit code 1 if it differs.")  # fmt: skip
@click.option(
    "--protocol", type=click.Choice(list(REGISTRY)), default="coco", show_default=True, help="Evaluation protocol."
)
@click.option(
    "--on",
    type=click.Choice(list(SIMILARITIES)),
    help="What is compared, if the protocol has a choice.",
)
@click.option("--sigmas", type=INPUT, metavar="FILE", show_default="as annotated, else COCO or CrowdPose",
              help="OKS sigma of each keypoint: a file of numbers, coco or crowdpose.")  # fmt: skip
@click.option("--iou", "-t", type=float, multiple=True, metavar="IOU", show_default="the protocol's own",
              help="IoU threshold of a true positive; may be repeated.")  # fmt: skip
@click.option("--class", "labels", multiple=True, metavar="NAME", help="Only this class; may be repeated.")
@click.option(
    "--pictures",
    type=click.Choice(["auto", "link", "embed", "none"]),
    default="auto",
    show_default=True,
    help="Images: auto (link if found), link, embed (store crops in the report) or none.",
)
@click.option(
    "--budget", type=Bytes(), default="4MB", show_default=True, help="Maximum bytes of the report without images."
)
@click.option(
    "--picture-budget", type=Bytes(), default="8MB", show_default=True, help="Maximum bytes of embedded images."
)
@click.option("--draws", type=click.IntRange(0), default=200, show_default=True,
              help="Bootstrap resamples and simulations for the reliability of the ranking; 0: none.")  # fmt: skip
@click.option("--errors", metavar="KIND=RATE,...", show_default="none",
              help="Annotation errors to simulate, as in verite leaderboard.")  # fmt: skip
@click.option("--audit", type=InputPath(dir_okay=False), metavar="FILE",
              help="Checked annotations: audit.csv with verdicts, as the report exports it.")  # fmt: skip
@click.option("--title", metavar="TEXT", help="Title of the report.")
@click.option("--open", "is_opened", is_flag=True, help="Open the report in a browser.")
@THREADS
@click.option("--quiet", "-q", is_flag=True, help="Print only the path of the report.")
@checks_option
@analysis_options
@reading_options
def report(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """Write a self-contained HTML report: summary, scores, error analysis, ranking and provenance.

    TRUTH and PRED are files or folders in any known format; several PREDs are compared. The report loads nothing
    but linked images, works without JavaScript, and prints cleanly. Images are searched in --images, else beside TRUTH.
    """
    from verite.cli.output import note
    from verite.files import write_atomically
    from verite.reporting.report.report import analyse_all, check_report, render_report, report_settings

    if not given["output"] and not given["check"]:
        raise click.UsageError("expected -o REPORT or --check REPORT, found neither", click.get_current_context())
    settings = {name: given[name] for name in ("on", "iou", "labels", "sigmas") if given[name] not in (None, ())}
    context = click.get_current_context()
    asked = {name: given[name] for name in ANALYSIS if is_typed(context, name)}
    AnalyseSettings(**asked)  # usage errors are raised before a large file is read
    own = (
        report_settings(given["check"])
        if given["check"]
        else ReportSettings(**{n: given[n] for n in ReportSettings.names()})
    )
    detectors = analyse_all(evaluate(truth, pred, settings, given), asked)
    place = Path(given["check"] or given["output"])
    changed = settings | asked | ({"audit": given["audit"]} if given["audit"] else {})
    page = render_report(detectors, place, own, images=given["images"], changed=changed)
    if given["check"]:
        check_report(given["check"], page)
        click.echo(one_line(f"{given['check']}: equal, every number recomputed"))
        return
    write_atomically(place, page)
    note(f"{len(page.encode()) / 1e6:.2f} MB", quiet=given["quiet"])
    click.echo(one_line(str(place)))
    if given["is_opened"]:
        click.launch(str(place))


def evaluate(truth: str, preds: tuple[str, ...], settings: dict[str, Any], given: dict[str, Any]) -> list[Results]:
    """Evaluate every PRED against TRUTH and print warnings of the checks."""
    from verite.cli.evaluate import system_names
    from verite.cli.output import describe_reading, warn
    from verite.protocols import protocol_named

    protocol = protocol_named(given["protocol"])
    protocol.settings(**settings)  # usage errors are raised before a large file is read
    truths = read_side(truth, "truth", given)
    describe_reading("truth", truths, quiet=given["quiet"])
    found: list[Results] = []
    said: set[str] = set()
    more = {} if given["threads"] is None else {"threads": given["threads"]}
    for path, name in zip(preds, system_names(preds), strict=True):
        predictions = read_side(path, "pred", given, truths)
        describe_reading("pred", predictions, quiet=given["quiet"])
        found.append(protocol(truths, predictions, name=name, checks=given["checks"], **settings, **more))
        warn(found[-1].findings, {"truth": truth, "pred": path}, said)
    return found
