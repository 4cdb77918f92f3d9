"""One page to look at and to send."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.analysis.settings import AnalyseSettings
from verite.cli.options import THREADS, F, checks_option, is_typed, options_of, read_side, reading_options
from verite.evaluation.similarities import SIMILARITIES
from verite.protocols import HOMES
from verite.reporting.page.settings import ANALYSIS, PageSettings

if TYPE_CHECKING:
    from verite.model.results import Results

UNITS = {"": 1, "B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}


def analysis_options(command: F) -> F:
    """What `verite analyse` can be asked."""
    for name in reversed(ANALYSIS):
        for option in options_of(AnalyseSettings.declared[name]):
            command = option(command)
    return command


class Bytes(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, such as 4MB."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = str(value).strip().upper()
        digits = text.rstrip("KMGB")
        try:
            size = float(digits) * UNITS[text[len(digits) :].strip()]
        except (ValueError, KeyError):
            self.fail(f"expected bytes such as 4MB or 500kB, found {value!r}", param, ctx)
        return int(size)


@click.command(
    epilog="""\b
Examples:
  verite report truth.json pred.json -o report.html
  verite report truth.json a.json b.json --images photos/ --pictures embed -o report.html
  verite report truth.json a.json --protocol voc -t 0.5 --title "Night, first try" --open
  verite report truth.json a.json b.json --check report.html        is the page still true?"""
)
@click.argument("truth")
@click.argument("pred", nargs=-1, required=True)
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="The page to write, such as report.html.")
@click.option("--check", type=click.Path(dir_okay=False), metavar="PAGE",
              help="Make it again and say whether this page is equal; if not, status 1.")  # fmt: skip
@click.option("--protocol", type=click.Choice(list(HOMES)), default="coco", show_default=True, help="Whose rules.")
@click.option(
    "--on",
    type=click.Choice(list(SIMILARITIES)),
    help="What is compared, where the protocol asks.",
)
@click.option("--sigmas", metavar="FILE", show_default="the truth's, else those of COCO or CrowdPose",
              help="Spread of each keypoint: a file of numbers, coco or crowdpose.")  # fmt: skip
@click.option("--iou", "-t", type=float, multiple=True, metavar="IOU", show_default="the protocol's own",
              help="Overlap from which on a prediction is right; may be repeated.")  # fmt: skip
@click.option("--class", "labels", multiple=True, metavar="NAME", help="Only this class; may be repeated.")
@click.option(
    "--pictures",
    type=click.Choice(["auto", "link", "embed", "none"]),
    default="auto",
    show_default=True,
    help="Link to photos, put small pieces of them into the page (whoever gets it sees them), or none.",
)
@click.option(
    "--budget", type=Bytes(), default="4MB", show_default=True, help="Most bytes of the page without pictures."
)
@click.option("--picture-budget", type=Bytes(), default="8MB", show_default=True, help="Most bytes of pictures in it.")
@click.option("--draws", type=click.IntRange(0), default=200, show_default=True,
              help="Sets of other images, and of truths, that say how sure an order is; 0: none.")  # fmt: skip
@click.option("--errors", metavar="KIND=RATE,...", show_default="nothing",
              help="What may be wrong with the truth, as in verite leaderboard.")  # fmt: skip
@click.option("--audit", type=click.Path(dir_okay=False), metavar="FILE",
              help="Records that were checked: audit.csv with its verdicts, as the page copies marks.")  # fmt: skip
@click.option("--title", metavar="TEXT", help="What the page is called.")
@click.option("--open", "is_opened", is_flag=True, help="Show it in a browser.")
@THREADS
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but the name of the page.")
@checks_option
@analysis_options
@reading_options
def report(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """One self-contained page: the verdict, the numbers, the errors that matter, and how it was computed.

    TRUTH and PRED are files or folders in any known format; several PREDs are compared. The page opens from disk, loads
    nothing but linked photos, and can be read without scripts, printed and sent. Photos are looked for in --images,
    else beside TRUTH.
    """
    from verite.cli.output import note
    from verite.files import write_atomically
    from verite.reporting.page.report import analyse_all, check_report, make_page, page_settings

    if not given["output"] and not given["check"]:
        raise click.UsageError("expected -o PAGE or --check PAGE, found neither", click.get_current_context())
    settings = {name: given[name] for name in ("on", "iou", "labels", "sigmas") if given[name] not in (None, ())}
    context = click.get_current_context()
    asked = {name: given[name] for name in ANALYSIS if is_typed(context, name)}
    AnalyseSettings(**asked)  # what is wrong with the command is told before a large file is read
    own = (
        page_settings(given["check"]) if given["check"] else PageSettings(**{n: given[n] for n in PageSettings.names()})
    )
    systems = analyse_all(evaluate(truth, pred, settings, given), asked)
    place = Path(given["check"] or given["output"])
    changed = settings | asked | ({"audit": given["audit"]} if given["audit"] else {})
    page = make_page(systems, place, own, images=given["images"], changed=changed)
    if given["check"]:
        check_report(given["check"], page)
        click.echo(f"{given['check']}: equal, every number recomputed")
        return
    write_atomically(place, page)
    note(f"{len(page.encode()) / 1e6:.2f} MB", quiet=given["quiet"])
    click.echo(place)
    if given["is_opened"]:
        click.launch(str(place))


def evaluate(truth: str, preds: tuple[str, ...], settings: dict[str, Any], given: dict[str, Any]) -> list[Results]:
    """The results of every system."""
    from verite.cli.evaluate import system_names
    from verite.cli.output import describe_reading, warn
    from verite.protocols import protocol_named

    protocol = protocol_named(given["protocol"])
    protocol.settings(**settings)  # what is wrong with the command is told before a large file is read
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
