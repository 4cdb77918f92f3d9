"""`verite judge`: make a study of human judgement, and compare metrics with the votes."""

from __future__ import annotations

from glob import glob
from pathlib import Path
from typing import Any, ClassVar

import click

from verite.cli.help import Group, command
from verite.cli.options import (
    INPUT,
    READING,
    FolderSettings,
    OutputSettings,
    PlotSettings,
    options_for,
    read_side,
)
from verite.evaluation.settings import EvaluationSettings
from verite.settings import Count, Flag, Number, Option, Setting, Settings, Whole


class MakeSettings(EvaluationSettings):
    """Settings of `verite judge make`."""

    TITLE: ClassVar[str] = "Study"
    from_study: Option[bool] = Flag(False, "Shapes of the study of metrics instead of a dataset; needs no images.")
    scenes: Option[bool] = Flag(False, "Compare whole images with all predictions and classes, not single objects.")
    confidence: Option[float] = Number(0.5, "With --scenes: lowest confidence of the predictions that are shown.")
    pairs: Option[int] = Count(60, "Number of pairs; a tenth more are repeats, and as many catch trials.")
    choices: Option[int] = Count(2, "Results shown side by side, as many as PREDs.")
    seed: Option[int] = Whole(0, "Seed of sides and order.")
    consent: Option[str | None] = Setting(None, "Text that judges agree to.", default_text="a short one")
    output: Option[str] = Setting("study", "Folder of the study.", short="-o", kind="output_folder")
    serve: Option[bool] = Flag(False, "Offer the page on this computer and collect votes into the folder.")
    host: Option[str] = Setting("127.0.0.1", "With --serve: address to listen on.")
    port: Option[int] = Whole(8123, "With --serve: port.")


@command(
    params=options_for(MakeSettings, *READING, OutputSettings),
    epilog="""\b
Examples:
  verite judge make truth.json a.json b.json --images photos/ -o pages/
  verite judge make --from-study --pairs 12 -o shapes/
  verite judge make truth.json a.json b.json --scenes --images photos/ -o scenes/
With --serve the page is offered on this computer, and votes are collected into the folder.""",
)
@click.argument("truth", type=INPUT, required=False)
@click.argument("pred", type=INPUT, nargs=-1)
def make(truth: str | None, pred: tuple[str, ...], **given: Any) -> None:
    """Make a page of comparisons.

    The page is self-contained and asks which of two boxes fits the object better.

    Pairs are chosen where the metrics of the catalogue disagree most, spread over classes and sizes. The folder gets
    index.html and plan.json. Nothing is sent anywhere: judges download their votes.
    """
    from verite.cli.evaluate import system_names
    from verite.cli.output import describe_reading, note
    from verite.files import fill_folder, write_atomically
    from verite.judge.page import CONSENT, make_page
    from verite.judge.plan import find_candidates, make_plan, save_plan, study_candidates
    from verite.model.comparison import distinct_names

    quiet = given["quiet"] or given["as_json"]
    if given["from_study"]:
        if truth or given["scenes"]:
            found = truth or "--scenes"
            raise click.UsageError(f"--from-study: expected no TRUTH and no --scenes, found {found}")
        candidates = study_candidates(given["seed"])
    else:
        if truth is None or len(pred) < 2:
            raise click.UsageError("expected TRUTH and two PREDs or more, or --from-study")
        if given["choices"] != len(pred) and given["choices"] != 2:
            raise click.UsageError(f"--choices: expected as many as PREDs, {len(pred)}, found {given['choices']}")
        if not given["images"]:
            raise click.UsageError("expected --images DIR with the images that judges are shown")
        truths = read_side(truth, "truth", given)
        describe_reading("truth", truths, quiet=quiet)
        chosen = pred[: given["choices"]]
        sides = {name: read_side(path, "pred", given, truths)
                 for path, name in zip(chosen, distinct_names(system_names(chosen)), strict=True)}  # fmt: skip
        if given["scenes"]:
            from verite.judge.scenes import find_scenes

            candidates = find_scenes(truths, sides, given["confidence"])
        else:
            candidates = find_candidates(truths, sides)
    plan = make_plan(candidates, pairs=given["pairs"], seed=given["seed"])
    images = None if given["from_study"] else given["images"]
    page = make_page(plan, images, consent=given["consent"] or CONSENT)
    with fill_folder(given["output"]) as home:
        write_atomically(home / "index.html", page)
        save_plan(plan, home)
    note(f"{len(plan.trials)} comparisons in {given['output']}/index.html ({len(page) / 1e6:.1f} MB)", quiet=quiet)
    if given["serve"]:
        from verite.judge.page import make_server

        served = make_page(plan, images, serve=True, consent=given["consent"] or CONSENT)
        server = make_server(plan, served, Path(given["output"]), host=given["host"], port=given["port"])
        note(f"open http://{given['host']}:{server.server_port}/ (stop with Ctrl-C)", quiet=False)
        with server:
            server.serve_forever()


class FitSettings(Settings):
    """Settings of `verite judge fit`."""

    draws: Option[int] = Count(200, "Bootstrap resamples of judges for strengths and alpha.")
    seed: Option[int] = Whole(0, "Seed of resamples and folds.")


@command(
    params=options_for(FitSettings, FolderSettings, PlotSettings, OutputSettings),
    epilog="""\b
Examples:
  verite judge fit study/plan.json 'study/votes-*.csv'
  verite judge fit study/plan.json 'study/votes-*.csv' -o fitted/
  verite judge fit choices.csv
A CSV of another study needs no plan: columns judge, image, class, truth, box1,
box2 …, choice; or of a crowd study without boxes: WorkerId, Input.imageLink1 …,
Answer.detection1.1 …""",
)
@click.argument("plan", type=INPUT)
@click.argument("votes", type=INPUT, nargs=-1)
def fit(plan: str, votes: tuple[str, ...], **given: Any) -> None:
    """Fit metrics to the votes.

    Prints how consistent judges are, and which metrics agree with them, with intervals and the human ceiling.

    PLAN is plan.json of `verite judge make`, or the table of another study.
    """
    from verite.cli.output import emit, keep_table, note, wants_plots
    from verite.files import fill_folder, write_atomically
    from verite.judge.fit import JudgeFit, metric_module
    from verite.judge.fit import fit as evaluate
    from verite.judge.other_studies import has_boxes, read_study, study_choices
    from verite.judge.plan import read_plan
    from verite.judge.votes import read_choices, read_votes

    found: Any
    is_table = plan.lower().endswith(".csv")
    if is_table and votes:
        raise click.UsageError(f"expected one file of choices, found also {votes[0]}")
    if is_table and not has_boxes(plan):
        found = study_choices(*read_choices(plan))
    else:
        paths = [path for word in votes for path in (sorted(glob(word)) or [word])]
        if not paths and not is_table:
            raise click.UsageError("expected files of votes after the plan: study/votes-*.csv")
        if is_table:
            known, answers = read_study(plan)
        else:
            known = read_plan(plan)
            answers = read_votes(known, paths)
        found = evaluate(known, answers, draws=given["draws"], seed=given["seed"])
    if given["output"]:
        with fill_folder(Path(given["output"]), overwrite=given["overwrite"]) as home:
            write_atomically(home / "fit.json", found.to_json(indent=1) + "\n")
            for name, table in found.tables().items():
                keep_table(home / f"{name}.csv", table, given)
            if isinstance(found, JudgeFit) and found.metric is not None:
                write_atomically(home / "fitted_metric.py", metric_module(found.metric.weights))
            if wants_plots(given):
                from verite.reporting.judge_plots import save_judgements

                save_judgements(found, home, given["plot_format"])
        note(f"results in {given['output']}", quiet=given["quiet"] or given["as_json"])
    emit(found, given)


@click.group(
    cls=Group,
    epilog="""\b
Examples:
  verite judge make truth.json a.json b.json --images photos/ -o study/
  verite judge fit study/plan.json 'study/votes-*.csv'""",
)
def judge() -> None:
    """Ask people which localization is better, and compare metrics with their votes."""


judge.add_command(make)
judge.add_command(fit)
