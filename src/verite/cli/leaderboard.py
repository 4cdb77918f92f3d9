"""How sure is an order by average precision?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.cli.help import command
from verite.cli.options import INPUT, output_options, read_side, reading_options, settings_given, settings_options
from verite.errors import BadParameter
from verite.leaderboards.leaderboard import LeaderboardSettings

if TYPE_CHECKING:
    from verite.annotation_errors.detection import Detection
    from verite.leaderboards.calibration import BoardCalibration
    from verite.leaderboards.result import Leaderboard

Given = dict[str, Any]


@command(
    epilog="""\b
Examples:
  verite leaderboard truth.json a.json b.json c.json
  verite leaderboard truth.json a.json b.json --errors missing=0.05,spurious=0.02,label=0.01
  verite leaderboard truth.json a.json b.json --errors missing=0.05 -m AP -m AP50 -o board/
  verite leaderboard truth.json a.json b.json --audit missing=3/60,spurious=1/60
  verite leaderboard truth.json a.json b.json --audit board/audit.csv --errors missing=0.05
  verite leaderboard truth.json a.json b.json --errors spurious=0.02 --favours a:4
  verite leaderboard truth.json a.json b.json --resample video_id
  verite leaderboard --calibrate truth.json better.json a.json b.json c.json --errors missing=0.05
Exit status: 0 done, 1 the data is at fault, 2 the command is."""
)
@click.argument("truth", type=INPUT)
@click.argument("pred", type=INPUT, nargs=-1, required=True)
@click.option("--errors", metavar="KIND=RATE,...",
              help="What may be wrong with the truth: missing, spurious, label as shares of its records, jitter as "
              "SHARExDEVIATION.  [default: nothing]")  # fmt: skip
@click.option("--errors-file", type=INPUT, help="Table class,size,kind,rate: where rates differ.")
@click.option("--audit", type=INPUT, metavar="KIND=K/N,...|FILE",
              help="K of N records checked were wrong; or audit.csv with its verdicts filled in.")  # fmt: skip
@click.option("--shared", metavar="image|label|COLUMN", help="Records err together within these groups.")
@click.option("--correlation", type=float, help="How much, from 0 up and below 1.")
@click.option("--favours", metavar="NAME:TIMES", help="Errors are so many times as likely where NAME profits.")
@click.option("--lit", type=float, default=0.7, show_default=True,
              help="Share of missing objects that a detector may have found.")  # fmt: skip
@settings_options(LeaderboardSettings)
@click.option("--calibrate", is_flag=True,
              help="TRUTH is followed by a better truth: how many orders survive the step to it, against what was "
              "predicted.")  # fmt: skip
@click.option("--output", "-o", type=click.Path(file_okay=False), help="Folder for tables, audit.csv and plots.")
@click.option("--no-plot", is_flag=True, help="No plots in the output folder.")
@click.option("--plot-format", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True)
@reading_options
@output_options
def leaderboard(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """How likely the order of detectors by a published score survives errors of the truth, other images, and both.

    TRUTH and PREDs are files or folders in any known format. The table says for each detector its score, its lead over
    the next with an interval, how likely it is first and keeps its place, which places cannot be excluded, and how many
    records decide; groups that cannot be told apart follow.
    """
    from verite.cli.output import emit, note
    from verite.formats import list_shards

    quiet = given["quiet"] or given["as_json"]
    settings = LeaderboardSettings(**settings_given(LeaderboardSettings, given))
    errors, audit = errors_of(given), given["audit"] if is_file(given["audit"]) else None
    if given["calibrate"]:
        emit(calibrate(truth, pred, settings, errors, given), given)
        return
    if len(pred) == 1:  # a folder or a quoted glob of the files of several detectors
        pred = tuple(str(path) for path in list_shards(pred[0]))
    if len(pred) < 2:
        raise BadParameter(f"leaderboard: expected at least two detectors, found {len(pred)}")
    board = make_board(truth, pred, settings, errors, audit, given)
    if given["output"]:
        save_board(board, Path(given["output"]), given)
        note(f"results in {given['output']}", quiet=quiet)
    emit(board, given)


def is_file(audit: str | None) -> bool:
    return audit is not None and "=" not in audit


def errors_of(given: Given) -> Detection:
    """What the options say may be wrong with the truth."""
    from verite.annotation_errors.detection import Detection, join_rates, parse_rates, read_rates

    said = [parse_rates(given["errors"])] if given["errors"] else []
    if given["audit"] and not is_file(given["audit"]):
        said.append(parse_rates(given["audit"]))
    favours = None
    if given["favours"]:
        name, _, times = given["favours"].rpartition(":")
        try:
            favours = (name, float(times))
        except ValueError:
            favours = ("", 0.0)
        if not name:
            raise BadParameter(f"favours: expected NAME:TIMES such as a:4, found {given['favours']!r}")
    return Detection(
        **join_rates(*said),
        rates=read_rates(given["errors_file"]) if given["errors_file"] else (),
        lit=given["lit"],
        shared=given["shared"],
        correlation=given["correlation"] or 0.0,
        favours=favours,
    )


def make_board(
    truth: str, preds: tuple[str, ...], settings: LeaderboardSettings, errors: Detection, audit: Any, given: Given
) -> Leaderboard:
    """Read and evaluate every detector, and rank them."""
    from verite.cli.evaluate import evaluate_each
    from verite.leaderboards.leaderboard import evaluate_one, rank_results
    from verite.model.comparison import distinct_names

    results = evaluate_each(
        truth,
        preds,
        {**given, **dict.fromkeys(("requirements", "base", "sure", "summary"))},
        lambda truths, pred, name, checks: evaluate_one(truths, pred, name, settings.change(checks=checks)),
    )
    names = distinct_names([one.name for one in results])
    return rank_results(dict(zip(names, results, strict=True)), errors, audit, settings)


def calibrate(
    truth: str, paths: tuple[str, ...], settings: LeaderboardSettings, errors: Detection, given: Given
) -> BoardCalibration:
    """What was predicted of the orders on one truth, and what a better truth says."""
    from verite.cli.evaluate import system_names
    from verite.leaderboards.calibration import calibrate as compare
    from verite.model.comparison import distinct_names

    if len(paths) < 3:
        raise BadParameter(
            f"calibrate: expected a truth, a better one and at least two detectors, found {len(paths) + 1} files"
        )
    record = read_side(truth, "truth", given)
    better = read_side(paths[0], "truth", given)
    names = distinct_names(system_names(paths[1:]))
    preds = {name: read_side(path, "pred", given, record) for name, path in zip(names, paths[1:], strict=True)}
    return compare(record, better, preds, errors, settings)


def save_board(board: Leaderboard, folder: Path, given: Given) -> None:
    """The JSON document, every table, the printed text as Markdown and LaTeX, and the plots."""
    from verite.files import fill_folder

    with fill_folder(folder) as home:
        write_board(board, home, given)


def write_board(board: Leaderboard, home: Path, given: Given) -> None:
    """All of it into a folder that is there."""
    from verite.cli.output import keep_table, wants_plots
    from verite.files import write_atomically

    write_atomically(home / "leaderboard.json", board.to_json(indent=1) + "\n")
    write_atomically(home / "leaderboard.md", board.to_markdown())
    write_atomically(home / "leaderboard.tex", board.to_latex())
    for name, table in board.tables().items():
        keep_table(home / f"{name}.csv", table, given)
    if wants_plots(given):
        from verite.reporting.leaderboard_plots import save_leaderboard

        save_leaderboard(board, home, given["plot_format"])
