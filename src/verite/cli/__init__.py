"""The command line: parse, call, print. Nothing heavy is imported before a verb needs it."""

from __future__ import annotations

import codecs
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from verite import __version__
from verite.errors import IS_COMMAND_LINE, BadParameter, UnknownMetric, VeriteError, did_you_mean, one_line
from verite.protocols import HOMES, protocol_named

# Each verb that is not a protocol, and the module that holds it.
OTHERS = {
    "demo": "demo",
    "localize": "localize",
    "interpret": "interpret",
    "class-distance": "interpret",
    "report": "report",
    "draw": "draw",
    "analyse": "analyse",
    "compare": "compare",
    "explain": "explain",
    "leaderboard": "leaderboard",
    "rank": "rank",
    "study": "study",
    "inspect": "files",
    "convert": "files",
    "metrics": "metrics",
    "partial": "parts",
    "merge": "parts",
    "completion": "completion",
}


ALIASES = {"analyze": "analyse"}  # other spellings, which help does not list
# What people call an option that has another name here, and no similar one.
OPTION_WORDS = {"--threshold": "--iou", "--iou-threshold": "--iou", "--jobs": "--threads", "--conf": "--confidence"}


def verbs() -> list[str]:
    """All verbs in the order in which help lists them: the tour, the protocols, the others."""
    first, *rest = OTHERS
    return [first, *HOMES, *rest]


# What people type who want AP, and who have used other tools.
OTHER_WORDS = {"ap", "map", "eval", "evaluate", "score", "test", "val", "metric"}


class Verbs(click.Group):
    """Verbs, imported when asked for; a wrong one gets a suggestion."""

    def list_commands(self, context: click.Context) -> list[str]:
        return verbs()

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        name = ALIASES.get(name, name)
        if name in HOMES:
            from verite.cli.evaluate import protocol_command

            return protocol_command(protocol_named(name))
        if name not in OTHERS:
            return None
        command = getattr(import_module(f"verite.cli.{OTHERS[name]}"), name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in (*verbs(), *ALIASES):
            near = "; AP is verite coco or verite voc" if args[0].casefold() in OTHER_WORDS else ""
            raise click.UsageError(f"no verb {args[0]!r}{near or did_you_mean(args[0], verbs())}", context)
        return super().resolve_command(context, args)


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  verite demo                                     a short tour on bundled data, and a page to open
  verite coco truth.json predictions.json         COCO's twelve numbers
  verite voc truth/ predictions/                  Pascal VOC numbers, any format
  verite voc truth.json a.json b.json -t 0.75     two systems side by side
  verite interpret truth.json pred.json           one score for each whole scene
  verite report truth.json a.json b.json -o report.html   one page to look at and to send
  verite draw truth.json pred.json --images photos/ -o drawn/   found, missed and wrong, on the photos
  verite analyse truth.json pred.json             why is the number what it is, where to look first
  verite compare main.json new.json --require "AP>=base-0.005"   good enough to merge?
  verite leaderboard truth.json a.json b.json --errors missing=0.05,spurious=0.02   is their order by AP sure?
  verite rank table.csv --epsilon 0.05            the same for any answers, exactly
  verite study -m mymodule:my_metric -m iou       what is your metric worth?
  verite inspect truth.json predictions.json      what is in there, what is wrong
Exit status: 0 done, 1 the data is at fault, 2 the command is, 3 a requirement is not met.""",
)
@click.version_option(__version__, "-v", "--version", prog_name="verite", message="%(prog)s %(version)s")
def verite() -> None:
    """How good is an object detector, and how sure are you?"""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run a command and leave with its exit status; whatever happens is said in one line."""
    # Nothing large is left to BLAS here, whose threads would wait for work by spinning on our cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    open_streams()
    status = run(args)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is said; an interrupt has nothing left to end
    sys.exit(status)


# What stands for signs that an encoding does not have; other letters are shown as their codes.
PLAIN_SIGNS = {"─": "-", "–": "-", "−": "-", "×": "x", "…": "...", "²": "^2", "≥": ">=", "≤": "<=", "→": "->"}


def spell_plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    """What a stream shows instead of letters that it cannot."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    plain = (PLAIN_SIGNS.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in letters)
    return "".join(plain), error.end


def open_streams() -> None:
    """Make whatever was written printable anywhere: a closed stream takes it, a narrow one shows it plainly."""
    codecs.register_error("plainly", spell_plainly)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by who called us
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open as long as the process runs
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="plainly")


def run(args: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    if "_VERITE_COMPLETE" in os.environ:
        verite.main(prog_name="verite")  # answers the shell and exits
    from verite.cli.bar import show_progress

    try:
        with show_progress():
            follow(sys.argv[1:] if args is None else args)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.UsageError as error:
        hint = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        known = OPTION_WORDS.get(error.option_name) if isinstance(error, click.NoSuchOption) else None
        if isinstance(error, click.NoSuchOption) and known:
            return complain(f"no option {error.option_name!r}; did you mean {known!r}?{hint}", 2)
        return complain(error.format_message().rstrip(".") + hint, 2)
    except (BadParameter, UnknownMetric) as error:
        return complain(str(error), 2)
    except VeriteError as error:
        return complain(str(error), 1)
    except BrokenPipeError:
        # The reader of our output has gone; what is left in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except click.Abort:
        raise KeyboardInterrupt from None
    except MemoryError:
        return complain("not enough memory", 1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return complain(f"{place}{(error.strerror or str(error)).lower()}", 1)
    except Exception as error:
        if os.environ.get("VERITE_DEBUG"):
            raise
        return complain(f"internal error: {type(error).__name__}: {error}; set VERITE_DEBUG=1 for the details", 1)


def follow(words: Sequence[str]) -> None:
    """Run the words of a command, and let everything that goes wrong through."""
    token = IS_COMMAND_LINE.set(True)
    try:
        with verite.make_context("verite", list(words)) as context:
            verite.invoke(context)
    finally:
        IS_COMMAND_LINE.reset(token)


def complain(message: str, status: int) -> int:
    """One line on standard error."""
    print(f"verite: {one_line(message)}", file=sys.stderr)
    return status
