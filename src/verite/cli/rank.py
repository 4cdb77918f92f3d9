"""`verite rank`: exact probabilities that a ranking survives annotation errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.annotation_errors.model import MODELS, ErrorModel
from verite.annotation_errors.model import Option as ModelOption
from verite.annotation_errors.model import options_of as options_of_model
from verite.cli.help import Command, command
from verite.cli.options import (
    INPUT,
    READING,
    FolderSettings,
    Given,
    OutputSettings,
    PlotSettings,
    options_for,
    options_of,
    read_side,
)
from verite.errors import BadParameter
from verite.evaluation.settings import EvaluationSettings, ThresholdSetting
from verite.ranking.rank import RankSettings
from verite.settings import Choice, Count, Flag, Number, Option, Setting, Threshold

if TYPE_CHECKING:
    from verite.evaluation.prepare import Checks
    from verite.model.annotations import Annotations
    from verite.model.results import Results
    from verite.ranking.calibration import AnswerCalibration
    from verite.ranking.result import Ranking


HOW_MANY = (
    "expected an error model, found none: --epsilon E for a known share of wrong annotations, --audit K/N after an "
    "audit (of items on which the algorithms disagree), or --at-most M for the worst case"
)
SETTINGS = ("labels", "confusion", "loss", "zero", "tolerance", "sums", "confidence", "iou", "wrong", "by")


def model_options() -> dict[str, ModelOption]:
    """Return the options of every error model, each once."""
    import verite.annotation_errors  # noqa: F401  registers the models

    return {option.name: option for model in MODELS.values() for option in options_of_model(model)}


class RankCommand(Command):
    """A command with the options of every registered error model."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        found = [param for option in model_options().values() for param in options_of(option)]
        first, *rest = super().get_params(ctx)
        return [first, *found, *rest]


class AnswerSettings(RankSettings, EvaluationSettings):
    """Settings of `verite rank`: of tables of answers and of detectors, some of which apply to one kind only."""

    errors: Option[str | None] = Setting(
        None,
        "An error model as signatures print it, such as audit(errors=5, checked=50), or your own: "
        "package.module:Class(field=value).",
        metavar="MODEL",
    )
    kind: Option[str | None] = Choice(
        None,
        "Kind of answers in the table.",
        ("binary", "labels", "confidences", "numbers", "grades", "places"),
        default_text="that of the table",
        section="Tables of answers",
    )
    sigma: Option[float | None] = Number(
        None,
        "Numbers: standard deviation of the annotations.",
        least=0,
        default_text="none",
        section="Tables of answers",
    )
    grades: Option[str | None] = Setting(
        None, "Grades: their names from lowest to highest.", metavar="LOW,...,HIGH", section="Tables of answers"
    )
    scores: Option[str | None] = Setting(
        None,
        "Published scores instead of a table: range of P(kept).",
        metavar="A=0.85,B=0.84",
        section="Tables of answers",
    )
    items: Option[int | None] = Count(
        None, "With --scores: number of items.", default_text="none", section="Tables of answers"
    )
    labels: Option[str | None] = Setting(
        None, "All labels, if some occur nowhere in the table.", metavar="A,B,...", section="Tables of answers"
    )
    confusion: Option[str | None] = Setting(
        None, "Table recorded,LABEL...: the true labels of wrong annotations.", kind="path", section="Tables of answers"
    )
    loss: Option[str | None] = Choice(
        None,
        "Loss of confidences: D(truth|answer), or D(answer|truth).",
        ("logloss", "kl_printed"),
        default_text="logloss",
        section="Tables of answers",
    )
    zero: Option[float | None] = Number(
        None, "Replacement of zero confidences.", default_text="1e-09", section="Tables of answers", is_rare=True
    )
    tolerance: Option[float | None] = Number(
        None, "Losses that differ by no more are tied.", default_text="1e-09", section="Tables of answers", is_rare=True
    )
    sums: Option[str | None] = Choice(
        None,
        "Confidences that do not add up to 1: refuse (check), keep or scale.",
        ("check", "keep", "scale"),
        default_text="check",
        section="Tables of answers",
        is_rare=True,
    )
    confidence = ThresholdSetting(
        None,
        "Detectors: confidence threshold, or a thresholds.json with one per class.",
        metavar="C|FILE",
        default_text="0.5",
        section="Detectors",
    )
    iou: Option[float | None] = Threshold(None, "Detectors: IoU threshold.", default_text="0.5", section="Detectors")
    wrong: Option[str | None] = Choice(
        None,
        "Detectors: detecting a spurious object is wrong, or does not count.",
        ("reverses", "vanishes"),
        default_text="reverses",
        section="Detectors",
    )
    by: Option[str | None] = Choice(
        None,
        "Detectors: score to rank by.",
        ("recall", "precision", "f1", "accuracy"),
        default_text="recall",
        section="Detectors",
    )
    calibrate: Option[str | None] = Setting(
        None,
        "Corrected annotations of TABLE's items (item[,interpretation],truth): compare the predicted probabilities "
        "with the rankings they keep; without an error model at the observed rate.",
        kind="path",
        metavar="BETTER",
    )
    all_pairs: Option[bool] = Flag(
        False, "Print every pair, not only neighbours where there are many.", section="Output"
    )
    published: Option[str | None] = Setting(
        None,
        "Table first,second,epsilon,kept: points to mark in the plot.",
        kind="path",
        section="Output",
        is_rare=True,
    )


@command(
    cls=RankCommand,
    params=options_for(AnswerSettings, FolderSettings, PlotSettings, *READING, OutputSettings),
    epilog="""\b
Examples:
  verite rank table.csv --epsilon 0.2
  verite rank table.csv --audit 5/50 -o results/
  verite rank table.csv --epsilon 0.05 --shared interpretation --correlation 0.1
  verite rank table.csv --at-most 20
  verite rank confidences.csv --epsilon 0.1 --loss logloss --zero 1e-6
  verite rank truth.json a.json b.json c.json --epsilon 0.05 --confidence 0.3 --iou 0.5
  verite rank --scores A=0.85,B=0.84 --items 10000 --epsilon 0.1
  verite rank numbers.csv --kind numbers --sigma 2
  verite rank grades.csv --kind grades --grades low,middle,high --epsilon 0.1
A table has the columns item[,interpretation],truth,NAME... with 0 and 1 or labels in them, or
item,label,truth,NAME... with a confidence for every label and truth 1 on the true one.
Exit codes: 0 success, 1 data error, 2 usage error.""",
)
@click.argument("paths", type=INPUT, nargs=-1, metavar="TABLE | TRUTH PRED PRED...")
def rank(paths: tuple[str, ...], **given: Any) -> None:
    """Rank algorithms by accuracy, with exact probabilities.

    Prints the probability that the ranking holds if the annotations have errors.

    TABLE holds every algorithm's answers and the annotations. Or: TRUTH and two or more PREDs, files or folders in any
    known format; then the items are the ground-truth objects, detected or not. For rankings by AP: verite leaderboard.
    """
    from verite.cli.output import emit, note

    quiet = given["quiet"] or given["as_json"]
    if given["scores"] or given["kind"] in ("numbers", "grades", "places"):
        emit(rank_otherwise(paths, given), given)
        return
    if not paths:
        raise click.UsageError("Missing argument 'TABLE | TRUTH PRED PRED...'")
    if given["calibrate"]:
        emit(calibration_of(paths, given), given)
        return
    errors = model_of(given)
    if len(paths) == 1:
        # The algorithms of a table of answers.
        from verite.errors import ReadError
        from verite.ranking.rank import rank as assess
        from verite.ranking.sheets import HEADER
        from verite.ranking.tables import is_table, read_table

        path = paths[0]
        # A file named like a table is left to the table reader, whose messages are more precise.
        if Path(path).suffix.lower() not in (".csv", ".tsv", ".parquet") and not is_table(path):
            raise ReadError(
                path, expected=f"a table with {HEADER}", found="none", remedy="give predictions after the ground truth"
            )
        table = read_table(path, errors.columns, kind=given["kind"], **pick_settings(given))
        ranking = assess(table, errors, **pick_rank_settings(given))
    else:
        ranking = of_detectors(paths, errors, given, quiet=quiet)
    if given["output"]:
        # Write the JSON document, both tables and the plots.
        from verite.cli.output import keep_table, wants_plots
        from verite.files import fill_folder, write_atomically
        from verite.reporting.rank_plots import read_published, save_ranking

        points = read_published(given["published"], ranking.order) if given["published"] else []
        with fill_folder(Path(given["output"]), overwrite=given["overwrite"]) as home:
            write_atomically(home / "ranking.json", ranking.to_json(indent=1) + "\n")
            keep_table(home / "ranks.csv", ranking.rank_table(), given)
            keep_table(home / "pairs.csv", ranking.main_table(), given)
            if wants_plots(given):
                save_ranking(ranking, home, given["plot_format"], points)
        note(f"results in {given['output']}", quiet=quiet)
    emit(replace(ranking, all_pairs=given["all_pairs"]), given)


def rank_otherwise(paths: tuple[str, ...], given: Given) -> Any:
    """Rank from published scores, or on numbers, grades and places."""
    from verite.ranking.published_scores import parse_scores, rank_published
    from verite.ranking.values import rank_values, read_values

    epsilon = arguments_of(given, model_options()["epsilon"]).get("epsilon")
    if given["scores"]:
        if paths:
            raise click.UsageError(f"--scores: expected no table, found {paths[0]}")
        if given["items"] is None or epsilon is None:
            raise click.UsageError("--scores: expected --items N and --epsilon E")
        return rank_published(parse_scores(given["scores"]), given["items"], epsilon)
    if len(paths) != 1:
        raise click.UsageError(f"--kind {given['kind']}: expected one table, found {len(paths)} files")
    size = given["sigma"] if given["kind"] == "numbers" else epsilon
    if size is None:
        option = "--sigma S" if given["kind"] == "numbers" else "--epsilon E"
        raise click.UsageError(f"--kind {given['kind']}: expected {option}")
    grades = [name.strip() for name in (given["grades"] or "").split(",") if name.strip()]
    table = read_values(paths[0], given["kind"], grades)
    return rank_values(table, size, draws=min(given["draws"], 20_000), seed=given["seed"])


def model_of(given: Given) -> ErrorModel:
    """Return the error model that the options describe; refuse none and several."""
    from verite.annotation_errors import parse

    if given["published"] is not None and given["output"] is None:
        raise click.UsageError("--published goes with --output")
    options = model_options()
    named = {name: option for name, option in options.items() if given[name] is not None}
    if given["errors"] is not None:
        if named:
            found = " and ".join(option.flag for option in named.values())
            raise click.UsageError(f"expected one error model, found --errors and {found}")
        return parse(given["errors"])
    if not named:
        raise click.UsageError(HOW_MANY)
    for name in named:  # an option of a model whose main option is missing
        missing = []
        for model in MODELS.values():
            mine = options_of_model(model)
            if name in {option.name for option in mine}:
                missing.append([option.flag for option in mine if option.needed and option.name not in named])
        if all(missing):
            raise click.UsageError(f"{named[name].flag} goes with {missing[0][0]}")
    for model in MODELS.values():
        mine = options_of_model(model)
        if named.keys() <= {o.name for o in mine} and named.keys() >= {o.name for o in mine if o.needed}:
            return model(**{key: value for option in mine for key, value in arguments_of(given, option).items()})
    found = " and ".join(option.flag for option in named.values() if option.needed)
    raise click.UsageError(f"expected one error model, found {found}")


def arguments_of(given: Given, option: ModelOption) -> Mapping[str, Any]:
    """Return the arguments of an error model that an option stands for; none where it is not given."""
    text = given[option.name]
    return {} if text is None else option.validate(text)


def calibration_of(paths: tuple[str, ...], given: Given) -> AnswerCalibration:
    """Compare predicted and observed ranking stability on corrected annotations."""
    from verite.ranking.answers import AnswerTable
    from verite.ranking.calibration import calibrate, read_truth
    from verite.ranking.tables import read_table

    if len(paths) != 1:
        raise BadParameter(f"calibrate: expected one table of answers, found {len(paths)} files")
    is_named = given["errors"] is not None or any(given[name] is not None for name in model_options())
    errors = model_of(given) if is_named else None
    columns = [] if errors is None else errors.columns
    table = read_table(paths[0], columns, kind=given["kind"], **pick_settings(given))
    if not isinstance(table, AnswerTable):
        raise BadParameter("calibrate: expected a table of 0 and 1 or of labels, found confidences")
    return calibrate(table, read_truth(given["calibrate"], table), errors)


def of_detectors(paths: tuple[str, ...], errors: ErrorModel, given: Given, *, quiet: bool) -> Ranking:
    """Rank detectors by the objects they detect."""
    from verite.cli.evaluate import system_names
    from verite.cli.output import describe_reading, note, warn
    from verite.evaluation.settings import count_left, validate_threshold
    from verite.model.comparison import distinct_names
    from verite.ranking.detectors import DetectionTable
    from verite.ranking.rank import rank as assess
    from verite.ranking.tables import check_settings, is_table

    if is_table(paths[0]):
        raise BadParameter(f"rank: expected nothing after the table {paths[0]}, found {paths[1]}")
    if len(paths) == 2:
        raise BadParameter(
            f"rank: expected a table, or ground truth and at least two predictions, found one: {paths[1]}"
        )
    if given["kind"] is not None:
        raise BadParameter(f"kind: expected none with detectors, found {given['kind']!r}")
    settings = pick_settings(given)
    check_settings(settings, "found")
    truth = read_side(paths[0], "truth", given)
    describe_reading("truth", truth, quiet=quiet)
    predictions = {}
    for path, name in zip(paths[1:], distinct_names(system_names(paths[1:])), strict=True):
        predictions[name] = read_side(path, "pred", given, truth)
        describe_reading("pred", predictions[name], quiet=quiet)
    table = DetectionTable.of(truth, predictions, checks=given["checks"], **settings)
    for name, pred in predictions.items() if given["confidence"] is not None else ():
        note(f"{name}: {count_left(pred, validate_threshold(given['confidence']))}", quiet=quiet)
    note("", quiet=quiet)
    title, published = evaluate_published(truth, predictions, "off" if given["checks"] == "off" else "warn")
    said: set[str] = set()
    for path, result in zip(paths[1:], published.values(), strict=True):
        warn(result.findings, {"truth": paths[0], "pred": path}, said)
    ranking = assess(table, errors, **pick_rank_settings(given))
    scores = {name: result[next(iter(result.scores))].value for name, result in published.items()}
    return replace(ranking, published=(title, scores))


def evaluate_published(
    truth: Annotations, predictions: dict[str, Annotations], checks: Checks
) -> tuple[str, dict[str, Results]]:
    """Return the results that have COCO's AP or, for relative boxes in images of unknown size, Pascal VOC's mAP."""
    from verite.protocols.coco import coco
    from verite.protocols.voc import voc

    if truth.unit == "rel":
        return "VOC's mAP", {
            name: voc(truth, pred, pixel="continuous", checks=checks) for name, pred in predictions.items()
        }
    return "COCO's AP", {name: coco(truth, pred, checks=checks) for name, pred in predictions.items()}


def pick_settings(given: Given) -> Given:
    """Return the given settings of the answers; those that do not fit are refused later, when the kind is known."""
    said = {name: given[name] for name in SETTINGS if given[name] is not None}
    return said | ({"labels": said["labels"].split(",")} if "labels" in said else {})


def pick_rank_settings(given: Given) -> Given:
    """Return the settings of `vt.rank`."""
    return {name: given[name] for name in RankSettings.declared}
