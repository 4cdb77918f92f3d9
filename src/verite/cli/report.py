"""Command `verite report`: a self-contained HTML report of one or several detectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.analysis.parts import AnalyseSettings
from verite.cli.help import command
from verite.cli.options import INPUT, READING, Given, options_for, read_side, settings_given
from verite.errors import one_line
from verite.evaluation.points import MaxDistanceSetting, PixelSize
from verite.evaluation.settings import SIMILARITIES, THREADS, EvaluationSettings
from verite.protocols import REPORTED
from verite.protocols.keypoints import Sigmas
from verite.reporting.report.settings import ANALYSIS, ReportSettings
from verite.settings import Choice, Flag, Names, Option, Overlaps, Setting, Settings, Texts, Thresholds

if TYPE_CHECKING:
    from verite.model.results import Results


class ReportCommandSettings(EvaluationSettings):
    """Settings of `verite report`, beside those of the report itself and of the analysis."""

    output: Option[str | None] = Setting(
        None, "HTML report to write, such as report.html.", short="-o", kind="output_file"
    )
    checked: Option[str | None] = Setting(
        None, "Recompute an existing report and compare; exit code 1 if it differs.", long="check", kind="input_file",
        metavar="REPORT", section="Output",
    )  # fmt: skip
    protocol: Option[str] = Choice("coco", f"Evaluation protocol: {', '.join(REPORTED)}.", REPORTED, metavar="NAME")
    on: Option[str | None] = Choice(None, "What is compared, if the protocol has a choice.", tuple(SIMILARITIES))
    sigmas = Sigmas()
    max_distance = MaxDistanceSetting()
    pixel_size = PixelSize()
    iou: Overlaps = Thresholds(
        None, "IoU threshold of a true positive; may be repeated.", short="-t", default_text="the protocol's own"
    )
    labels: Texts = Names(None, "Only this class; may be repeated.", long="class", metavar="NAME")
    audit: Option[str | None] = Setting(
        None, "audit.csv with its verdicts filled in: error rates for the ranking.", kind="input_file", metavar="FILE",
    )  # fmt: skip
    judge: Option[str | None] = Setting(
        None, "Result of verite judge fit -o (fit.json): a section on human judgement.", kind="path", metavar="FILE",
        section="Output",
    )  # fmt: skip
    card: Option[str | None] = Setting(
        None, "Also write a card to share: an image of 1200 x 630 pixels, .png, .svg or .pdf.", kind="output_file",
        metavar="FILE", section="Output",
    )  # fmt: skip
    is_opened: Option[bool] = Flag(False, "Open the report in a browser.", long="open", section="Output")
    threads: Option[int | None] = THREADS
    quiet: Option[bool] = Flag(False, "Print only the path of the report.", short="-q")


class ReportAnalysisSettings(Settings):
    """Settings of the analysis that a report accepts too."""


ReportAnalysisSettings.declared = {name: AnalyseSettings.declared[name] for name in ANALYSIS}


@command(
    params=options_for(ReportCommandSettings, ReportSettings, ReportAnalysisSettings, *READING),
    epilog="""\b
Examples:
  verite report truth.json pred.json -o report.html
  verite report truth.json a.json b.json --images photos/ --pictures embed -o report.html
  verite report truth.json a.json --protocol voc -t 0.5 --title "Night images" -o night.html --open
  verite report truth.json a.json b.json --check report.html        verify an existing report""",
)
@click.argument("truth", type=INPUT)
@click.argument("pred", type=INPUT, nargs=-1, required=True)
def report(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """Write a self-contained HTML report: summary, scores, error analysis, ranking and provenance.

    TRUTH and PRED are files or folders in any known format; several PREDs are compared. The report loads nothing
    but linked images, works without JavaScript, and prints cleanly. Images are searched in --images, else beside TRUTH.
    """
    from verite.cli.output import note
    from verite.files import write_atomically
    from verite.reporting.report.report import analyse_all, check_report, render_report, report_settings

    if not given["output"] and not given["checked"]:
        raise click.UsageError("expected -o REPORT or --check REPORT, found neither", click.get_current_context())
    settings = {
        name: given[name]
        for name in ("on", "iou", "labels", "sigmas", "max_distance", "pixel_size")
        if given[name] not in (None, ())
    }
    asked = settings_given(ReportAnalysisSettings, given)
    AnalyseSettings(**asked)  # usage errors are raised before a large file is read
    own = (
        report_settings(given["checked"])
        if given["checked"]
        else ReportSettings(**{name: given[name] for name in ReportSettings.declared})
    )
    card = Path(given["card"]) if given["card"] and not given["checked"] else None
    if card is not None:
        from verite.reporting.report.card import card_format

        card_format(card)
    detectors = analyse_all(evaluate(truth, pred, settings, given), asked)
    place = Path(given["checked"] or given["output"])
    changed = settings | asked | {name: given[name] for name in ("audit", "judge") if given[name]}
    page = render_report(detectors, place, own, images=given["images"], changed=changed, card=card)
    if given["checked"]:
        check_report(given["checked"], page)
        click.echo(one_line(f"{given['checked']}: equal, every number recomputed"))
        return
    write_atomically(place, page)
    note(f"{len(page.encode()) / 1e6:.2f} MB", quiet=given["quiet"])
    click.echo(one_line(str(place)))
    if given["is_opened"]:
        click.launch(str(place))


def evaluate(truth: str, preds: tuple[str, ...], settings: Given, given: Given) -> list[Results]:
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
