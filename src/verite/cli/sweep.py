"""`verite sweep`: a score against a parameter of the detector, with a setting chosen on held-out images."""

from __future__ import annotations

from glob import glob
from pathlib import Path
from typing import Any

import click

from verite.cli.help import command
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
from verite.settings import Choice, Count, Option, Setting, Whole

PROTOCOLS = ("coco", "voc", "lvis", "f1", "scene-score")


class SweepSettings(EvaluationSettings):
    """Settings of `verite sweep`."""

    protocol: Option[str] = Choice("coco", "Evaluation protocol.", PROTOCOLS)
    metric: Option[str | None] = Setting(None, "Score of the protocol.", metavar="NAME", default_text="its first")
    draws: Option[int] = Count(1000, "Bootstrap resamples of images.")
    seed: Option[int] = Whole(0, "Seed of resamples and halves.")
    metadata: Option[str | None] = Setting(
        None, "Table image,CONDITION: the best setting for each condition.", kind="path", metavar="FILE"
    )


@command(
    params=options_for(SweepSettings, FolderSettings, PlotSettings, *READING, OutputSettings),
    epilog="""\b
Examples:
  verite sweep truth.json 'runs/conf=*.json'
  verite sweep truth.json 'runs/conf=*.json' --protocol voc
  verite sweep truth.json runs.csv --metric AP50
  verite sweep truth.json 'runs/conf=*.json' -o swept/        table, JSON and plot
A table of runs has two columns, the parameter and the file of each run: conf,file.""",
)
@click.argument("truth", type=INPUT)
@click.argument("runs", type=INPUT, nargs=-1, required=True, metavar="RUNS...")
def sweep(truth: str, runs: tuple[str, ...], **given: Any) -> None:
    """Show a score against a parameter of the detector, with 95 % bootstrap intervals.

    RUNS are prediction files named after the setting (conf=0.25.json), patterns, or a table of runs. The best setting
    is chosen on random halves of the images and scored on the other halves: the score to expect elsewhere.
    """
    from verite.analysis.parameter_sweep import sweep_runs
    from verite.cli.output import emit, note, warn

    parameter, files = runs_of(runs)
    quiet = given["quiet"] or given["as_json"]
    evaluate = protocol_of(given["protocol"])
    truths = read_side(truth, "truth", given)
    results: dict[float | str, Any] = {}
    said: set[str] = set()
    for value, path in files.items():
        results[value] = evaluate(truths, read_side(path, "pred", given, truths), checks=given["checks"])
        warn(results[value].findings, {"truth": truth, "pred": path}, said)
    first = next(iter(results.values()))
    score = given["metric"] or next(iter(first.scores))
    first[score]  # an unknown name is refused
    names = [truths.images.name(i) for i in range(len(truths.images))]
    groups = None
    if given["metadata"]:
        # The condition of each image from a table image,CONDITION.
        from verite.csv_files import lines_of
        from verite.errors import ReadError, excerpt
        from verite.files import find_path

        file = find_path(given["metadata"])
        rows = [row for _, row in lines_of(file) if any(row)]
        if not rows or rows[0][0].strip() != "image" or len(rows[0]) < 2:
            raise ReadError(file, expected="the columns image,CONDITION", found=excerpt(rows[0] if rows else ""))
        known = {row[0].strip(): row[1].strip() for row in rows[1:] if len(row) > 1}
        missing = next((name for name in names if name not in known), None)
        if missing is not None:
            raise ReadError(file, expected="a condition for every image", found=f"none for {excerpt(missing)}")
        groups = [known[name] for name in names]
    found = sweep_runs(results, score, parameter=parameter, draws=given["draws"], seed=given["seed"], groups=groups)
    note(f"{len(results)} runs, {len(names):,} images", quiet=quiet)
    note("", quiet=quiet)
    if given["output"]:
        # Write sweep.json, sweep.csv and the plot.
        folder = Path(given["output"])
        from verite.cli.output import keep_table, wants_plots
        from verite.files import fill_folder, write_atomically

        with fill_folder(folder, overwrite=given["overwrite"]) as home:
            write_atomically(home / "sweep.json", found.to_json(indent=1) + "\n")
            keep_table(home / "sweep.csv", found.main_table(), given)
            if wants_plots(given):
                from verite.reporting.comparison_plots import plot_sweep
                from verite.reporting.plots import render

                format = given["plot_format"]
                write_atomically(home / f"sweep.{format}", render(plot_sweep(found), format))
        note(f"results in {given['output']}", quiet=quiet)
    emit(found, given)


def protocol_of(name: str) -> Any:
    """Return the function of a protocol."""
    import verite as vt

    return getattr(vt, name.replace("-", "_"))


def runs_of(given: tuple[str, ...]) -> tuple[str, dict[float | str, str]]:
    """Return the name of the parameter and the file of each value; BadParameter if a value occurs twice."""
    from verite.analysis.parameter_sweep import parameter_of
    from verite.csv_files import lines_of
    from verite.errors import BadParameter, ReadError

    files: dict[float | str, str] = {}
    names: set[str] = set()

    def add(name: str, value: float | str, path: str) -> None:
        if value in files:
            raise BadParameter(f"sweep: expected each setting once, found {value} in {files[value]} and {path}")
        files[value] = path
        names.add(name)

    if len(given) == 1 and given[0].lower().endswith(".csv"):
        path = Path(given[0])
        rows = [(number, row) for number, row in lines_of(path) if any(row)]
        if len(rows) < 2 or len(rows[0][1]) != 2:
            raise ReadError(path, expected="two columns, the parameter and the file of each run", found="others")
        for number, row in rows[1:]:
            if len(row) != 2:
                raise ReadError(f"{path}:{number}", expected="a value and a file", found=str(len(row)))
            add(rows[0][1][0].strip(), parameter_of(f"run={row[0].strip()}")[1], str(path.parent / row[1].strip()))
    else:
        for word in given:
            found = sorted(glob(word)) or [word]
            for one in found:
                name, value = parameter_of(Path(one).stem)
                add(name, value, one)
    if len(files) < 2:
        raise BadParameter(f"sweep: expected two runs or more, found {len(files)}; quote patterns: 'runs/conf=*.json'")
    return (names.pop() if len(names) == 1 else "run"), files
