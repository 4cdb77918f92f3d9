"""Requirements that fail a CI job (`--require`), the base they compare with, and the job summary of GitHub."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.cli.options import Given
from verite.cli.output import emit, fit_width, in_style, note, print_error
from verite.errors import DataError, VeriteError, one_line
from verite.settings import Flag, Names, Number, Option, Setting, Settings, Texts

if TYPE_CHECKING:
    from verite.analysis.gate import Decision, Requirement, Saved, SavedComparison
    from verite.model.results import Results

NOT_MET = 3
MOST_BYTES = 1_000_000  # GitHub takes 1 MiB a step
NO_IMAGES = (
    "--sure: expected both predictions, whose images are resampled, found saved results, which hold nothing per image; "
    "give TRUTH BASE NEW, or two partial results"
)


class GateSettings(Settings):
    """What must hold, compared with what, and where to report it."""

    requirements: Texts = Names(
        None, 'Exit with status 3 unless it holds: "AP>=0.5", "AP[person]>=0.6", "AP>=base-0.005"; may be repeated.',
        long="require", metavar="CONDITION", section="Gate",
    )  # fmt: skip
    base: Option[str | None] = Setting(
        None, "Saved results to compare with.", metavar="FILE", default_text="the first PRED", section="Gate"
    )
    sure: Option[float | None] = Number(
        None,
        "Fail only if the requirement is not met with at least this probability (bootstrap of images).",
        metavar="P",
        section="Gate",
    )
    summary: Option[bool] = Flag(
        False, "Write a job summary for GitHub, and findings as annotations.", section="Gate", is_rare=True
    )


def requirements_of(given: Given) -> list[Requirement]:
    """Parse the requirements, before a large file is read."""
    parsed: list[Requirement] = []
    if given["requirements"]:
        from verite.analysis.gate import Requirement

        parsed = [Requirement.parse(text) for text in given["requirements"]]
    if given["sure"] is not None and (given["base"] or not parsed):
        raise click.UsageError(NO_IMAGES if given["base"] else "--sure: expected --require, found none")
    if given["summary"] and not os.environ.get("GITHUB_STEP_SUMMARY"):
        raise click.UsageError(
            "--summary: expected a file named by GITHUB_STEP_SUMMARY, found none; elsewhere use --style markdown"
        )
    return parsed


def pass_gate(results: Sequence[Results], given: Given) -> None:
    """Compare with the base, check every requirement and write the summary; exit with 3 if one is not met."""
    requirements = requirements_of(given)
    if not (requirements or given["base"] or given["summary"]):
        return
    from verite.analysis.gate import Saved, SavedComparison, read_saved

    comparisons: list[SavedComparison] = []
    verdicts: list[Decision] = []
    base = read_saved(given["base"]) if given["base"] else None
    first = results[0] if base is None and len(results) > 1 else None
    reference = Saved.of(first) if first is not None else base
    judged = results[1:] if first is not None else results
    for result in judged:
        new = Saved.of(result)
        if base is not None:
            comparisons.append(SavedComparison(base, new))
            if not given["as_json"]:
                click.echo("\n" + in_style(comparisons[-1], given).rstrip("\n"))
        own = [one.judge(new, reference, interval_of(first, result, given)) for one in requirements]
        verdicts += own if len(judged) == 1 else [replace(one, line=f"{new.name}: {one.line}") for one in own]
    conclude(results, comparisons, verdicts, given)


def pass_saved(base: Saved, new: Saved, outcome: SavedComparison, given: Given) -> None:
    """Do the same for two saved results, whose comparison is printed.

    Parameters
    ----------
    base
        Saved results to compare with.
    new
        Saved results to judge.
    outcome
        Their comparison.
    given
        The options of the command; those that need images are refused, since saved results have none.
    """
    if given["sure"] is not None:
        raise click.UsageError(NO_IMAGES)
    verdicts = [one.judge(new, base) for one in requirements_of(given)]
    emit(outcome, given)
    conclude([], [outcome], verdicts, given)


def interval_of(first: Results | None, result: Results, given: Given) -> Any:
    """Return a function for the interval of a difference, if `--sure` was given and both predictions are at hand."""
    if given["sure"] is None:
        return None
    if first is None:
        raise click.UsageError("--sure: expected a base and a new PRED, found one; give TRUTH BASE NEW")
    from verite.leaderboards.bootstrap import paired_interval

    return lambda score, label: paired_interval(first, result, score, label, given["sure"])


def conclude(
    results: Sequence[Results], comparisons: Sequence[SavedComparison], verdicts: Sequence[Decision], given: Given
) -> None:
    """Print which requirements hold, write the summary, and exit with 3 if one does not."""
    for verdict in verdicts:
        if not verdict.is_met:
            print_error(fit_width(f"verite: {verdict.line}"))
        else:
            note(f"verite: {verdict.line}", quiet=given["quiet"] or given["as_json"])
    if given["summary"]:
        # Append the requirements and the tables to the job summary.
        from verite.analysis.gate import Summary
        from verite.model.styles import markdown_sentence

        lines = [f"- {'✅' if v.is_met else '❌'} {markdown_sentence(v.line)}" for v in verdicts]
        append_summary(
            "\n\n".join([*(["\n".join(lines)] * bool(lines)), Summary(results, comparisons).to_markdown().rstrip("\n")])
        )
        found = {str(finding): finding for result in results for finding in result.findings}
        for said, finding in found.items():
            annotate({"error": "error", "warning": "warning"}.get(finding.severity, "notice"), finding.code, said)
        for verdict in verdicts:
            if not verdict.is_met:
                annotate("error", "not met", verdict.line)
    if not all(verdict.is_met for verdict in verdicts):
        raise click.exceptions.Exit(NOT_MET)


def append_summary(text: str) -> None:
    """Append Markdown to the file that GitHub shows as the job summary; text beyond 1 MB is cut, with a note."""
    raw = text.encode()
    if len(raw) > MOST_BYTES:
        kept = raw[:MOST_BYTES].decode(errors="ignore").rpartition("\n")[0]
        text = f"{kept}\n\nCut here: the summary of a step may have 1 MiB."
    with Path(os.environ["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as file:
        file.write(text + "\n\n")


@contextmanager
def told_to_github() -> Iterator[None]:
    """Report what stops an evaluation as an annotation of the job and in its summary, too."""
    try:
        yield
    except VeriteError as error:
        from verite.model.styles import markdown_sentence

        annotate("error", "data", str(error))
        findings = error.findings if isinstance(error, DataError) else ()
        listed = [f"- {one.severity}: {markdown_sentence(str(one))}" for one in findings]
        append_summary("\n\n".join(["### verite: not evaluated", f"❌ {markdown_sentence(str(error))}", *listed]))
        raise


def annotate(level: str, title: str, message: str) -> None:
    """Print an annotation that GitHub shows beside the job, to standard error.

    Parameters
    ----------
    level
        `notice`, `warning` or `error`.
    title
        Heading of the annotation.
    message
        One line.
    """
    words = [one_line(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A") for text in (title, message)]
    words[0] = words[0].replace(":", "%3A").replace(",", "%2C")
    print_error(f"::{level} title={words[0]}::{words[1]}")
