"""`verite leaderboard`: rank detectors by a published score, with the uncertainty of the ranking."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from verite.cli.help import command
from verite.cli.options import (
    INPUT,
    READING,
    FolderSettings,
    Given,
    OutputSettings,
    PlotSettings,
    options_for,
    read_side,
    settings_given,
)
from verite.errors import BadParameter
from verite.leaderboards.leaderboard import LeaderboardSettings
from verite.leaderboards.score_tables import ScoreSettings
from verite.settings import Count, Flag, Number, Option, Setting, Settings

if TYPE_CHECKING:
    from verite.annotation_errors.detection import Detection
    from verite.leaderboards.calibration import LeaderboardCalibration
    from verite.leaderboards.result import Leaderboard


class ErrorSettings(Settings):
    """Settings of the annotation errors that are simulated; `read_error_model` makes the model of them."""

    TITLE: ClassVar[str] = "Annotation errors"
    errors: Option[str | None] = Setting(
        None,
        "Rates of annotation errors: missing, spurious, label as shares of the annotations, jitter as SHARExDEVIATION.",
        metavar="KIND=RATE,...",
        default_text="no errors",
    )
    rates_draws: Option[str | None] = Setting(
        None, "Posterior draws of the rates: rates.csv of verite agree.", kind="path", metavar="FILE"
    )
    errors_file: Option[str | None] = Setting(None, "Table class,size,kind,rate of rates that differ.", kind="path")
    audit: Option[str | None] = Setting(
        None,
        "K of N audited annotations were wrong; or audit.csv with its verdicts filled in.",
        metavar="KIND=K/N,...|FILE",
    )
    shared: Option[str | None] = Setting(
        None, "Groups within which annotation errors are correlated.", metavar="image|label|COLUMN"
    )
    correlation: Option[float | None] = Number(
        None, "With --shared: correlation of two errors in one group, at least 0 and below 1."
    )
    favours: Option[str | None] = Setting(
        None,
        "Bias: errors are this many times as likely where NAME gains.",
        long="bias-toward",
        metavar="NAME:TIMES",
    )
    lit: Option[float] = Number(0.7, "Share of missing objects that a detector may have detected.", long="detectable")


class CalibrationSettings(Settings):
    """Settings of the comparison of predicted and observed ranking stability."""

    calibrate: Option[bool] = Flag(
        False, "TRUTH is followed by corrected ground truth: compare predicted probabilities with rankings kept."
    )


class GoldDrawSettings(Settings):
    """Settings of the choice of images for a better annotation."""

    TITLE: ClassVar[str] = "Gold images and planning"
    draw_gold: Option[int | None] = Count(
        None, "Draw N images at random for --gold, and write their names to gold-images.csv.", metavar="N"
    )


class BoardSettings(FolderSettings):
    """The folder of `verite leaderboard`."""

    output: Option[str | None] = Setting(
        None, "Folder for tables, audit.csv and plots.", short="-o", kind="output_folder"
    )


@command(
    params=options_for(
        ErrorSettings,
        LeaderboardSettings,
        CalibrationSettings,
        GoldDrawSettings,
        ScoreSettings,
        BoardSettings,
        PlotSettings,
        *READING,
        OutputSettings,
    ),
    epilog="""\b
Examples:
  verite leaderboard truth.json a.json b.json c.json
  verite leaderboard truth.json a.json b.json --errors missing=0.05,spurious=0.02,label=0.01
  verite leaderboard truth.json a.json b.json --errors missing=0.05 -m AP -m AP50 -o board/
  verite leaderboard truth.json a.json b.json --audit missing=3/60,spurious=1/60
  verite leaderboard truth.json a.json b.json --audit board/audit.csv --errors missing=0.05
  verite leaderboard truth.json a.json b.json --errors spurious=0.02 --bias-toward a:4
  verite leaderboard truth.json a.json b.json --rates-draws agreement/rates.csv
  verite leaderboard truth.json --draw-gold 30 --seed 1 -o drawn/
  verite leaderboard truth.json a.json b.json --gold gold.json --plan 0.005 --power 0.8
  verite leaderboard scores.csv --case case --cluster patient --better higher
  verite leaderboard truth.json a.json b.json --resample video_id
  verite leaderboard MOT17/train a/ b/ -m HOTA --resample sequence --errors missing=0.03,swapped=0.02
  verite leaderboard --calibrate truth.json better.json a.json b.json c.json --errors missing=0.05
Exit codes: 0 success, 1 data error, 2 usage error.""",
)
@click.argument("truth", type=INPUT)
@click.argument("pred", type=INPUT, nargs=-1)
def leaderboard(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """Rank detectors by AP, with simulated uncertainty.

    TRUTH and PREDs are files or folders in any known format. The ranking is simulated under annotation errors, on
    bootstrap resamples of the images, and under both. The table shows for each detector its score, its lead over the
    next with a confidence interval, the probability that it is first and that it keeps its rank, the ranks that cannot
    be excluded, and how few annotations decide; statistically tied detectors follow. Exact probabilities for
    accuracy-type scores: verite rank. In place of TRUTH and PREDs, a table of scores per case ranks any systems.
    """
    from verite.cli.output import emit, note
    from verite.formats import list_shards

    quiet = given["quiet"] or given["as_json"]
    if given["draw_gold"] is not None:
        draw_gold(truth, given)
        return
    if are_score_tables(truth, pred, given):
        rank_tables((truth, *pred), given)
        return
    settings = LeaderboardSettings(**settings_given(LeaderboardSettings, given))
    if settings.protocol == "track":
        errors, audit = read_track_errors(given), None
    else:
        errors, audit = read_error_model(given), given["audit"] if is_audit_file(given["audit"]) else None
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


def draw_gold(truth: str, given: Given) -> None:
    """Draw images for a better annotation, and write their names or print them."""
    from verite.cli.output import keep_table, note
    from verite.files import fill_folder
    from verite.leaderboards.gold import draw_gold_images
    from verite.model.tables import Table

    names = draw_gold_images(read_side(truth, "truth", given), given["draw_gold"], given["seed"])
    if not given["output"]:
        click.echo("\n".join(names))
        return
    with fill_folder(Path(given["output"]), overwrite=given["overwrite"]) as home:
        keep_table(home / "gold-images.csv", Table(("image",), tuple((name,) for name in names)), given)
    note(f"{len(names)} images in {given['output']}/gold-images.csv", quiet=given["quiet"])


def are_score_tables(truth: str, pred: tuple[str, ...], given: Given) -> bool:
    """Return whether the arguments are tables of scores: one table, columns of such are named, or all look like it.

    Parameters
    ----------
    truth
        The first argument.
    pred
        The other arguments.
    given
        The options; `--case` and the like name columns of a table of scores.
    """
    from verite.leaderboards.score_tables import is_score_table

    named = any(given[name] is not None for name in ("case", "system", "score", "cluster", "task"))
    if named or (not pred and Path(truth).suffix.lower() in (".csv", ".tsv")):
        return True
    return bool(pred) and all(is_score_table(Path(path)) for path in (truth, *pred))


def rank_tables(paths: tuple[str, ...], given: Given) -> None:
    """Rank the systems of a table of scores, or of one table per system."""
    from verite.cli.output import emit, keep_table, note, wants_plots
    from verite.files import fill_folder, write_atomically
    from verite.leaderboards.score_tables import rank_scores, read_scores

    settings = ScoreSettings(**settings_given(ScoreSettings, given))
    board = rank_scores(read_scores(paths[0] if len(paths) == 1 else paths, settings), settings)
    if given["output"]:
        from verite.reporting.report.score_report import render_score_report

        with fill_folder(Path(given["output"]), overwrite=given["overwrite"]) as home:
            write_atomically(home / "leaderboard.json", board.to_json(indent=1) + "\n")
            write_atomically(home / "leaderboard.md", board.to_markdown())
            write_atomically(home / "report.html", render_score_report(board))
            for name, table in board.tables().items():
                keep_table(home / f"{name}.csv", table, given)
            if wants_plots(given):
                from verite.reporting.leaderboard_plots import save_scores

                save_scores(board, home, given["plot_format"])
        note(f"results in {given['output']}", quiet=given["quiet"] or given["as_json"])
    emit(board, given)


def read_error_model(given: Given) -> Detection:
    """Build the annotation-error model from the options; `--audit FILE` is read later, with the ground truth."""
    from verite.annotation_errors.detection import Detection, read_draws, read_rates

    rates = [given["errors"], None if is_audit_file(given["audit"]) else given["audit"]]
    favours = None
    if given["favours"]:
        name, _, times = given["favours"].rpartition(":")
        try:
            favours = (name, float(times))
        except ValueError:
            favours = ("", 0.0)
        if not name:
            raise BadParameter(f"bias-toward: expected NAME:TIMES such as a:4, found {given['favours']!r}")
    return Detection.parse(
        ",".join(filter(None, rates)),
        rates=read_rates(given["errors_file"]) if given["errors_file"] else (),
        lit=given["lit"],
        shared=given["shared"],
        correlation=given["correlation"] or 0.0,
        favours=favours,
        draws=read_draws(given["rates_draws"]) if given["rates_draws"] else (),
    )


def read_track_errors(given: Given) -> Any:
    """Build the rates of annotation errors of tracks; options of other error models are refused."""
    from verite.leaderboards.track_leaderboard import TrackErrors

    for name in ("audit", "errors_file", "rates_draws", "shared", "favours", "correlation"):
        if given[name] is not None:
            option = {"favours": "bias-toward"}.get(name, name).replace("_", "-")
            raise BadParameter(f"{option}: expected none for tracks, found {given[name]!r}")
    return TrackErrors.parse(given["errors"])


def is_audit_file(audit: str | None) -> bool:
    """Return whether `--audit` is a file, not KIND=K/N."""
    return audit is not None and "=" not in audit


def make_board(
    truth: str, preds: tuple[str, ...], settings: LeaderboardSettings, errors: Detection, audit: Any, given: Given
) -> Leaderboard:
    """Read and evaluate every detector, and make the leaderboard."""
    from verite.cli.evaluate import evaluate_each
    from verite.leaderboards.leaderboard import evaluate_detector, rank_results
    from verite.model.comparison import distinct_names

    results = evaluate_each(
        truth,
        preds,
        {**given, **dict.fromkeys(("requirements", "base", "sure", "summary"))},
        lambda truths, pred, name, checks: evaluate_detector(truths, pred, name, settings.change(checks=checks)),
    )
    names = distinct_names([one.name for one in results])
    return rank_results(dict(zip(names, results, strict=True)), errors, audit, settings)


def calibrate(
    truth: str, paths: tuple[str, ...], settings: LeaderboardSettings, errors: Detection, given: Given
) -> LeaderboardCalibration:
    """Compare predicted and observed ranking stability on corrected ground truth."""
    from verite.cli.evaluate import system_names
    from verite.leaderboards.calibration import calibrate as compare
    from verite.model.comparison import distinct_names

    if len(paths) < 3:
        raise BadParameter(
            "calibrate: expected ground truth, corrected ground truth and at least two detectors, found "
            f"{len(paths) + 1} files"
        )
    record = read_side(truth, "truth", given)
    better = read_side(paths[0], "truth", given)
    names = distinct_names(system_names(paths[1:]))
    preds = {name: read_side(path, "pred", given, record) for name, path in zip(names, paths[1:], strict=True)}
    return compare(record, better, preds, errors, settings)


def save_board(board: Any, folder: Path, given: Given) -> None:
    """Write the JSON document, every table, the printed text as Markdown and LaTeX, and the plots."""
    from verite.cli.output import keep_table, wants_plots
    from verite.files import fill_folder, write_atomically

    with fill_folder(folder, overwrite=given["overwrite"]) as home:
        write_atomically(home / "leaderboard.json", board.to_json(indent=1) + "\n")
        write_atomically(home / "leaderboard.md", board.to_markdown())
        write_atomically(home / "leaderboard.tex", board.to_latex())
        for name, table in board.tables().items():
            keep_table(home / f"{name}.csv", table, given)
        if wants_plots(given) and board.protocol == "track":
            from verite.reporting.track_plots import save_track_board

            save_track_board(board, home, given["plot_format"])
        elif wants_plots(given):
            from verite.reporting.leaderboard_plots import save_leaderboard

            save_leaderboard(board, home, given["plot_format"])
