"""The command line `verite`: groups of commands, exit codes, and errors in one line.

A command is imported when it is run. Exit codes: 0 success, 1 data error, 2 usage error, 3 requirement not met, 130
interrupted.
"""

from __future__ import annotations

import codecs
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import click

from verite import __version__
from verite.errors import (
    IS_COMMAND_LINE,
    BadParameter,
    DataError,
    ReadError,
    UnknownMetric,
    VeriteError,
    did_you_mean,
    one_line,
)
from verite.protocols import REGISTRY, protocol_named

if TYPE_CHECKING:
    from verite.files import JsonObject

# The commands in groups, as `verite --help` lists them: name, module below verite.cli ("" for protocols), summary.
GROUPS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "Evaluate": (
        ("coco", "", "COCO: AP and AR of boxes, masks, keypoints"),
        ("voc", "", "Pascal VOC: AP per class and mAP"),
        ("lvis", "", "LVIS: AP of rare, common, frequent classes"),
        ("openimages", "", "Open Images: AP with groups and hierarchy"),
        ("imagenet-loc", "", "ImageNet localization: top-1 and top-5 error"),
        ("imagenet-det", "", "ImageNet detection: AP per class and mAP"),
        ("panoptic", "", "Panoptic quality: PQ, SQ, RQ"),
        ("semantic", "", "Semantic segmentation: mIoU, accuracy"),
        ("f1", "", "Precision, recall, F1 without confidences"),
        ("track", "", "Tracking: HOTA, MOTA, IDF1"),
        ("miss-rate", "", "Pedestrians: log-average miss rate, MR⁻²"),
        ("kitti", "", "KITTI 2-D: easy, moderate and hard objects"),
        ("wider", "", "WIDER FACE: easy, medium and hard faces"),
        ("instances", "", "Cells, nuclei, lesions: AP, AJI, SortedAP"),
        ("oc-cost", "", "OC-cost: cost of correcting the detections"),
        ("localize", "localize", "Localization metrics of matched objects"),
        ("scene-score", "scene_score", "One score per image for the whole scene"),
        ("suite", "suite", "Several datasets: scores and macro means"),
    ),
    "Diagnose": (
        ("inspect", "data", "Show what a file holds and what is wrong"),
        ("analyse", "analyse", "Error types, calibration, thresholds, slices"),
        ("reconcile", "reconcile", "Find out why two tools report different AP"),
        ("report", "report", "Write one self-contained HTML report"),
        ("draw", "draw", "Draw TP, FP and FN on the images"),
        ("coherence", "coherence", "Contrast of predictions without ground truth"),
    ),
    "Compare": (
        ("compare", "compare", "Compare two results; fail CI on a regression"),
        ("leaderboard", "leaderboard", "Rank detectors by AP, with its uncertainty"),
        ("rank", "rank", "Rank by accuracy, with exact probabilities"),
        ("sweep", "sweep", "A score against a parameter of the detector"),
        ("agree", "agree", "Annotators: agreement, error rates, ceiling"),
    ),
    "Data": (
        ("convert", "data", "Convert annotations to another format"),
        ("formats", "help", "List the annotation formats"),
        ("demo", "demo", "Evaluate a small bundled dataset"),
        ("bundle", "bundle", "Write a scoring program for a challenge"),
    ),
    "Research": (
        ("study", "study", "Measure the properties of a metric"),
        ("metrics", "study", "List the localization metrics"),
        ("class-distance", "scene_score", "Distances between classes, from data"),
        ("judge", "judge", "Ask people which localization is better"),
    ),
    "Scale": (
        ("partial", "parts", "Evaluate one shard of a dataset"),
        ("merge", "parts", "Merge partial results of shards"),
    ),
    "Shell": (("completion", "data", "Print the completion script of a shell"),),
}
COMMANDS = {name: (module, summary) for group in GROUPS.values() for name, module, summary in group}


# What click >= 8.2 raises where a group is given no command; older versions print the help themselves.
NO_ARGUMENTS: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())
# Other spellings and earlier names, which help does not list.
ALIASES = {"analyze": "analyse", "localise": "localize", "explain": "reconcile", "interpret": "scene-score"}
# Options of pascalvoc.py (Object-Detection-Metrics), answered with the spelling here.
PASCALVOC_OPTIONS = {
    "-gtformat": "--truth-boxes",
    "-detformat": "--pred-boxes",
    "-gtcoords": "--truth-coords",
    "-detcoords": "--pred-coords",
    "-imgsize": "--image-size",
    "-sp": "--output",
    "-np": "--no-plot",
}
PASCALVOC_ARGUMENTS = ("-gt", "-det", "--gtfolder", "--detfolder")


# What people type who want AP, and who have used other tools.
OTHER_WORDS = {"ap", "map", "eval", "evaluate", "score", "test", "val", "metric"}


class Commands(click.Group):
    """Commands, imported when they are run; an unknown one gets a suggestion."""

    def list_commands(self, context: click.Context) -> list[str]:
        return [*COMMANDS, *(name for name in REGISTRY if name not in COMMANDS)]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        name = ALIASES.get(name, name)
        if name not in COMMANDS and name not in REGISTRY:
            return None
        module, summary = COMMANDS.get(name) or ("", protocol_named(name).summary)
        if module:
            command = getattr(import_module(f"verite.cli.{module}"), name.replace("-", "_"))
        else:
            from verite.cli.evaluate import protocol_command

            command = protocol_command(protocol_named(name))
        assert isinstance(command, click.Command)
        command.short_help = summary
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the commands in groups, without importing any of them."""
        width = max(map(len, COMMANDS))
        for title, group in GROUPS.items():
            rows = [(name.ljust(width), summary) for name, _, summary in group]
            if title == "Evaluate":  # a protocol that is registered needs no entry above
                rows += [(name, protocol_named(name).summary) for name in REGISTRY if name not in COMMANDS]
            with formatter.section(title):
                formatter.write_dl(rows)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] == "help":
            if not args[1:]:
                click.echo(context.get_help(), color=context.color)
                context.exit()
            args = self.find_help(args[1])
        if args and not args[0].startswith("-") and args[0] not in (*COMMANDS, *ALIASES, *REGISTRY):
            near = "; AP is verite coco or verite voc" if args[0].casefold() in OTHER_WORDS else ""
            raise click.UsageError(f"no command {args[0]!r}{near or did_you_mean(args[0], COMMANDS)}", context)
        return super().resolve_command(context, args)

    def find_help(self, name: str) -> list[str]:
        """Return the command that shows help on a command, a format or a metric of this name."""
        if name not in (*COMMANDS, *ALIASES, *REGISTRY):
            from verite.formats import REGISTRY as FORMATS

            if name in FORMATS:
                return ["formats", name]
            from verite.metrics.cards import card

            with suppress(UnknownMetric, BadParameter):
                card(name)
                return ["metrics", name]
            if name.casefold() not in OTHER_WORDS:
                near = did_you_mean(name, [*COMMANDS, *FORMATS])
                raise click.UsageError(f"no command, format or metric {name!r}{near}")
        return [name, "--help"]


verite = click.version_option(__version__, "-V", "-v", "--version", prog_name="verite", message="%(prog)s %(version)s")(
    Commands(
        "verite",
        help="Evaluate object detectors: official metrics, error analysis, reliable comparisons.",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        epilog="""\b
Examples:
  verite demo                                      evaluate bundled data, write a report
  verite coco truth.json pred.json                 COCO's twelve numbers
  verite voc truth/ pred/                          Pascal VOC, any annotation format
  verite coco truth.json a.json b.json             two detectors side by side
  verite inspect truth.json pred.json              what is in the files, what is wrong
  verite analyse truth.json pred.json              where AP is lost, by error type
  verite report truth.json a.json b.json -o report.html
  verite compare main.json new.json --require "AP>=base-0.005"
  verite leaderboard truth.json a.json b.json --errors missing=0.05
`verite COMMAND --help` lists the options of a command.
Exit codes: 0 success, 1 data error, 2 usage error, 3 requirement not met.""",
    )
)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit with its status; every error is printed as one line."""
    # Nothing large is left to BLAS here, whose threads would wait for work by spinning on our cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Make all output printable: a closed stream discards it, a narrow encoding shows replacements.
    codecs.register_error("plainly", spell_plainly)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by who called us
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open as long as the process runs
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="plainly")
    status = run(args)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # everything is printed; an interrupt has nothing left to end
    sys.exit(status)


# What stands for signs that an encoding does not have; other letters are shown as their codes.
PLAIN_SIGNS = {"─": "-", "–": "-", "−": "-", "×": "x", "…": "...", "²": "^2", "≥": ">=", "≤": "<=", "→": "->"}


def spell_plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return what a stream shows instead of characters that its encoding does not have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    plain = (PLAIN_SIGNS.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in letters)
    return "".join(plain), error.end


def run(args: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    An error is one line on standard error. With `--json` it is also a document on standard output,
    ``{"schema": 2, "error": {"status", "type", "message", ...}}``, unless a document was printed before.
    """
    if "_VERITE_COMPLETE" in os.environ:
        verite.main(prog_name="verite")  # answers the shell and exits
    words = list(sys.argv[1:] if args is None else args)
    status = 0
    try:
        status = run_words(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone; what is left in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


def run_words(words: list[str]) -> int:
    """Run a command given as words and return its exit status, with every error but a closed pipe told."""
    from verite.cli.output import show_progress

    try:
        with show_progress():
            follow(words)
        return 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except NO_ARGUMENTS as error:
        print(error.ctx.get_help())
        return 0
    except BrokenPipeError:
        raise
    except click.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if os.environ.get("VERITE_DEBUG") and not isinstance(error, (click.UsageError, VeriteError, OSError)):
            raise
        message, status = describe_error(error, words)
        # Print one line to standard error, with `--json` a document to standard output, and return the exit status.
        from verite.cli.output import HAS_PRINTED, print_error

        print_error(f"verite: {one_line(message)}")
        options = words[: words.index("--")] if "--" in words else words
        if "--json" in options and not HAS_PRINTED.get():
            from verite.model.results import to_small_json

            kind = "UsageError" if isinstance(error, click.UsageError) else type(error).__name__
            details: JsonObject = {"status": status, "type": kind, "message": one_line(message)}
            if isinstance(error, ReadError):
                details |= {name: getattr(error, name) for name in ("where", "expected", "found", "remedy")}
            if isinstance(error, DataError):
                details["findings"] = [finding.to_dict() for finding in error.findings]
            with suppress(BrokenPipeError):  # who reads no more still gets the status
                click.echo(to_small_json({"error": details}))
        return status


def describe_error(error: Exception, words: Sequence[str]) -> tuple[str, int]:
    """Return the line that a person reads, and the exit status: 2 where the command is wrong, else 1."""
    if isinstance(error, click.UsageError):
        hint = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        name = ""
        if isinstance(error, (click.NoSuchOption, click.BadParameter)):  # -np is also -n p
            options = [word.partition("=")[0] for word in words]
            name = next((word for word in options if word in (*PASCALVOC_OPTIONS, *PASCALVOC_ARGUMENTS)), "")
        if name in PASCALVOC_OPTIONS:
            return f"no option {name!r}; did you mean {PASCALVOC_OPTIONS[name]!r}?{hint}", 2
        if name:
            return f"no option {name!r}; ground truth and predictions are arguments: TRUTH PRED{hint}", 2
        if isinstance(error, click.NoSuchOption) and error.ctx:
            known = [word for param in error.ctx.command.get_params(error.ctx) for word in param.opts]
            return f"no option {error.option_name!r}{did_you_mean(error.option_name, known)}{hint}", 2
        return error.format_message().rstrip(".") + hint, 2
    if isinstance(error, VeriteError):
        return str(error), 2 if isinstance(error, (BadParameter, UnknownMetric)) else 1
    if isinstance(error, MemoryError):
        return "not enough memory", 1
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{(error.strerror or str(error)).lower()}", 1
    return f"internal error: {type(error).__name__}: {error}; set VERITE_DEBUG=1 for the details", 1


def follow(words: Sequence[str]) -> None:
    """Run a command given as words, without handling errors."""
    from verite.cli.output import HAS_PRINTED

    HAS_PRINTED.set(False)
    token = IS_COMMAND_LINE.set(True)
    try:
        with verite.make_context("verite", list(words)) as context:
            verite.invoke(context)
    finally:
        IS_COMMAND_LINE.reset(token)
