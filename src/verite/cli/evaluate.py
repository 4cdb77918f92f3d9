"""Commands of the evaluation protocols (`verite coco`, `verite voc` …), with options from the protocol's settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from verite.cli.gate import GateSettings, pass_gate, requirements_of, told_to_github
from verite.cli.help import Command
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
    spell,
    spell_reading_options,
)
from verite.errors import one_line
from verite.files import is_pattern, without_suffix
from verite.progress import wait_for
from verite.settings import Flag, Option, Setting, Settings

if TYPE_CHECKING:
    from verite.model.comparison import Comparison
    from verite.model.results import Results
    from verite.protocols.protocol import Protocol

R = TypeVar("R", bound="Results")
ANALYSED = ("coco", "voc", "lvis", "openimages")
NEARLY_ALL = 0.995
MOST_POINTED = 3  # detectors whose files are repeated in the hint at the end
# Where a command without arguments looks for both sides: the folders of Object-Detection-Metrics (pascalvoc.py).
USUAL_FOLDERS = {"voc": ("groundtruths", "detections")}


class UncertaintySettings(Settings):
    """Confidence intervals of differences between detectors, and of scores."""

    resample: Option[str | None] = Setting(
        None,
        "Bootstrap of images or groups: 95 % intervals of differences to the first PRED.",
        metavar="images|COLUMN",
    )
    interval: Option[bool] = Flag(False, "95 % confidence interval of the first score.", section="Statistics")
    interval_images: Option[str | None] = Setting(
        None, "The same, for N images; all: infinitely many.", metavar="N|all", section="Statistics"
    )


class CurveSettings(Settings):
    """What protocols with precision-recall curves print besides."""

    table: Option[str | None] = Setting(
        None,
        "Print every prediction of this class with cumulative TP, FP, precision and recall.",
        metavar="CLASS",
        section="Output",
    )


# Protocols that save plots, beside those with precision-recall curves.
PLOTTED = ("coco", "lvis", "semantic", "track", "miss-rate", "kitti", "wider", "instances", "oc-cost")


@cache
def protocol_command(protocol: Protocol[Any, Any]) -> click.Command:
    """Return the command of a protocol: two sides, its settings, and the options that all commands share."""
    curves = (CurveSettings,) if "curves" in protocol.settings.declared else ()
    plots = (PlotSettings,) if curves or protocol.verb in PLOTTED else ()
    own = (protocol.settings, FolderSettings, UncertaintySettings, *curves, *plots)
    is_needed = protocol.verb not in USUAL_FOLDERS
    sides = [
        click.Argument(["truth"], type=INPUT, required=is_needed),
        click.Argument(["pred"], type=INPUT, nargs=-1, required=is_needed),
    ]
    usual = "" if is_needed else f" Without arguments: {'/ and '.join(USUAL_FOLDERS[protocol.verb])}/ in this folder."
    return Command(
        protocol.verb,
        callback=partial(run_protocol, protocol),
        params=[*sides, *options_for(*own, GateSettings, *READING, OutputSettings)],
        help=f"{protocol.summary}\n\n{protocol.files}; several PREDs are compared side by side.{usual}",
        epilog="\b\nExamples:" + protocol.examples.replace("\n", "\n  "),
    )


def find_sides(verb: str, truth: str | None, pred: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return both sides of a command; without arguments those of its usual folders in the current directory.

    Raises
    ------
    click.UsageError
        If a side is missing and the usual folders are not there.
    """
    if truth is not None and pred:
        return truth, pred
    context = click.get_current_context()
    if truth is None and all(Path(folder).is_dir() for folder in USUAL_FOLDERS[verb]):
        known, predicted = USUAL_FOLDERS[verb]
        return known, (predicted,)
    hint = f" (or folders {' and '.join(f'{name}/' for name in USUAL_FOLDERS[verb])} here)" if truth is None else ""
    raise click.UsageError(f"Missing argument '{'TRUTH' if truth is None else 'PRED...'}'{hint}", context)


def run_protocol(protocol: Protocol[Any, Any], truth: str | None, pred: tuple[str, ...], **given: Any) -> None:
    """Evaluate every detector, save what was asked for, and print the results or their comparison."""
    if truth is None or not pred:
        truth, pred = find_sides(protocol.verb, truth, pred)
    given = protocol.reading | given
    typed = settings_given(protocol.settings, given)
    settings = protocol.settings(**typed)  # errors of the command are raised before a large file is read
    has_interval = given["interval"] or given["interval_images"] is not None
    if has_interval:
        from verite.statistics.half_samples import check_images

        given["interval_images"] = check_images(given["interval_images"], "interval-images")
    if given.get("resample") and len(pred) < 2 and not has_interval:
        raise click.UsageError("--resample: expected two PREDs to compare, found one (or one and --interval)")
    if typed.pop("parts", None):
        from verite.cli.parts import evaluate_in_parts

        results: list[Any] = evaluate_in_parts(protocol, truth, pred, given, typed)
    else:
        results = evaluate_each(
            truth, pred, given, lambda truths, preds, **own: protocol.run(truths, preds, settings.change(**own))
        )
    if has_interval:
        # Add the confidence interval of the first score to each of the results.
        from verite.leaderboards.bootstrap import image_groups

        column = given["resample"] or "images"
        groups = None if column == "images" else image_groups(results[0].truth, column, "resample")
        for one in results:
            score = next(iter(one.scores))
            one.intervals = {score: one.interval(score, given["interval_images"], groups=groups)}
    if given.get("table") and not given["as_json"]:
        for result in results:
            click.echo(f"{one_line(result.name)}\n{result.accumulate(given['table'])}\n")
    finish(results, given, partial(draw_plots, given=given) if "plot_format" in given else None)


def evaluate_each(truth: str, preds: tuple[str, ...], given: Given, evaluate: Callable[..., R]) -> list[R]:
    """Read and evaluate every detector; print what the files were recognised as, and findings of the checks.

    Parameters
    ----------
    truth, preds
        Paths of the ground truth and of the predictions of each detector.
    given
        The options of the command.
    evaluate
        Function of ground truth, predictions, ``name`` and ``checks`` that returns the results.

    Returns
    -------
    list of Results
        The results of each detector, in the order of `preds`.
    """
    from verite.cli.output import describe_reading, note, warn

    if has_gate(given):
        requirements_of(given)
        if given["base"]:  # an unreadable one is told before the evaluation
            from verite.analysis.gate import read_saved

            read_saved(given["base"])
    quiet = given["quiet"] or given["as_json"]
    results: list[R] = []
    said: set[str] = set()
    with told_to_github() if given.get("summary") else nullcontext():
        truths = read_side(truth, "truth", given)
        describe_reading("truth", truths, quiet=quiet)
        for path, name in zip(preds, system_names(preds), strict=True):
            predictions = read_side(path, "pred", given, truths)
            describe_reading("pred", predictions, quiet=quiet)
            with wait_for(f"evaluating {name}"):
                results.append(evaluate(truths, predictions, name=name, checks=given["checks"]))
            warn(results[-1].findings, {"truth": truth, "pred": path}, said)
        note("", quiet=quiet)
    return results


def draw_plots(result: Results, home: Path, given: Given) -> None:
    """Save curves, bar charts and, if there are images, those with the most errors."""
    from verite.protocols.coco import CocoResults
    from verite.protocols.curves import CurveResults
    from verite.protocols.semantic import SemanticResults
    from verite.protocols.track import TrackResults
    from verite.reporting.coco_plots import save_coco
    from verite.reporting.draw import save_worst
    from verite.reporting.plots import save_curves

    if isinstance(result, CocoResults):
        save_coco(result, home, given["plot_format"])
    elif isinstance(result, CurveResults):
        save_curves(result, home, given["plot_format"])
    elif isinstance(result, SemanticResults):
        from verite.reporting.semantic_plots import save_semantic

        save_semantic(result, home, given["plot_format"], given["images"])
    elif isinstance(result, TrackResults):
        from verite.reporting.track_plots import save_tracks

        save_tracks(result, home, given["plot_format"])
    elif result.protocol in ("miss-rate", "kitti", "wider", "instances", "oc-cost"):
        from verite.reporting.subset_plots import save_subsets

        save_subsets(result, home, given["plot_format"])  # type: ignore[arg-type]
    save_worst(result, home / "worst", given["images"], given["plot_format"])


def finish(results: Sequence[R], given: Given, plot: Callable[[R, Path], object] | None = None) -> None:
    """Save what was asked for, print the results or their comparison, and check the requirements.

    Parameters
    ----------
    results
        The results of each detector; several are compared.
    given
        The options of the command.
    plot
        Function of one detector's results and a folder that saves plots; None if there are none.
    """
    from verite.cli.output import emit, note, wants_plots

    quiet = given["quiet"] or given["as_json"]
    outcome = results[0] if len(results) == 1 else compare(results, given)
    if given["output"]:
        save_results(results, Path(given["output"]), given, plot if plot and wants_plots(given) else None)
        if plot and wants_plots(given):
            # Plots that compare several detectors by COCO's rules: precision-recall, AP with intervals, class by
            # detector.
            home = Path(given["output"])
            from verite.protocols.coco import CocoResults

            compared = [one for one in results if isinstance(one, CocoResults)]
            if len(compared) > 1 and len(compared) == len(results):
                from verite.reporting.comparison_plots import save_comparison

                save_comparison(compared, home, given["plot_format"])
        note(f"results in {given['output']}", quiet=quiet)
    emit(outcome, given)
    if not quiet and given["style"] == "text" and (pointer := point_to_analysis(results)):
        note(pointer, quiet=False)
    if has_gate(given):
        pass_gate(results, given)


def has_gate(given: Given) -> bool:
    """Return whether requirements, a base or a summary were asked for."""
    return any(given.get(name) not in (None, (), False) for name in GateSettings.declared)


def compare(results: Sequence[Results], given: Given) -> Comparison:
    """Return the comparison of several detectors, with bootstrap intervals of the differences if asked for."""
    from verite.model.comparison import Comparison, distinct_names

    if not given.get("resample"):
        return Comparison(results)
    from verite.leaderboards.bootstrap import bootstrap_differences, image_groups, sampled_units

    column, images = given["resample"], results[0].truth.images
    groups = None if column == "images" else image_groups(results[0].truth, column, "resample")
    names = distinct_names([one.name for one in results])
    differences = bootstrap_differences(results, names, groups=groups)
    return Comparison(results, differences, None if groups is None else sampled_units(images, groups).count)


def point_to_analysis(results: Sequence[Results]) -> str:
    """Return the `verite analyse` command for these results; "" for perfect ones or where it does not apply."""
    first = results[0]
    paths = [first.truth.source.path, *(one.pred.source.path for one in results)]
    scores = [next(iter(one.scores.values())).value for one in results]
    if first.protocol not in ANALYSED or not all(paths) or not any(score < NEARLY_ALL for score in scores):
        return ""
    asked = spell_settings_for_analysis(type(first.given_settings))
    if asked is None:
        return ""
    if len(results) > MOST_POINTED:
        return "what is missing, and where to look first: verite analyse with the same files and options"
    options = [] if first.protocol == "coco" else [f"--protocol {first.protocol}"]
    words = [*paths, *options, *asked, *spell_reading_options()]
    return f"to see where the score is lost: verite analyse {' '.join(words)}"


def spell_settings_for_analysis(settings: type[Settings]) -> list[str] | None:
    """Return the typed settings as options of `verite analyse`; None if it lacks one of them."""
    params = click.get_current_context().params
    if not {one.name for one in settings.declared.values() if one.has_option} <= set(params):
        return None  # parts that are merged hold no objects
    given = settings_given(settings, params)
    typed = [settings.declared[name] for name in given if settings.declared[name].is_signed or name == "image_labels"]
    if any(one.name not in ("on", "iou") for one in typed):
        from verite.analysis.parts import ProtocolSettings

        if any(one.name not in ProtocolSettings.declared for one in typed):
            return None
    return [
        f"{one.short or (f'--{one.names[0]}' if one.names else one.option)} {spell(value)}"
        for one in typed
        for value in (given[one.name] if one.is_repeated else [given[one.name]])
    ]


def save_results(
    results: Sequence[R], folder: Path, given: Given, also: Callable[[R, Path], object] | None = None
) -> None:
    """Save JSON, tables and plots of each detector in a folder of its own, and their comparison beside them."""
    from verite.cli.output import keep_table
    from verite.files import fill_folder, make_folder, write_atomically
    from verite.model.comparison import Comparison

    with fill_folder(folder, overwrite=given["overwrite"]) as place:
        for result in results:
            home = make_folder(place / result.name) if len(results) > 1 else place
            write_atomically(home / "results.json", result.to_json(indent=1) + "\n")
            for name, table in result.tables().items():
                keep_table(home / f"{name}.csv", table, given)
            if also:
                also(result, home)
        if len(results) > 1:
            comparison = Comparison(results)
            keep_table(place / "comparison.csv", comparison.table(), given)
            keep_table(place / "standing.csv", comparison.standing_table(), given)


def fixed_part(pattern: str) -> str:
    """Return the fixed part of a glob, as a name for the detector."""
    words = [word for word in Path(pattern).parts if not is_pattern(word)]
    if words:
        return str(Path(*words))
    return "".join(letter for letter in without_suffix(pattern).name if letter not in "*?[]").strip("-_.") or pattern


def system_names(paths: tuple[str, ...]) -> list[str]:
    """Return names of detectors: the shortest ends of their paths that differ.

    >>> system_names(("a/results.json", "b/results.json", "c.json"))
    ['a-results', 'b-results', 'c']
    >>> system_names(("predictions.json.gz", "b/predictions.json"))
    ['predictions', 'b-predictions']
    >>> system_names(("a/*.json", "runs/b/*.json", "@c.txt", "d-*.json"))
    ['a', 'b', 'c', 'd']
    """
    paths = tuple(path.lstrip("@") if not is_pattern(path) else fixed_part(path) for path in paths)
    # The folder one is in is called `.`, and has no part of a name.
    parts = [without_suffix(path).parts or Path(path).resolve().parts for path in paths]
    lengths = [1] * len(parts)
    names = [p[-1] for p in parts]
    for _ in range(max(map(len, parts))):
        # The same path given twice has no distinguishing end.
        twice = {name for name in names if len({p for p, n in zip(parts, names, strict=True) if n == name}) > 1}
        lengths = [length + (name in twice) for length, name in zip(lengths, names, strict=True)]
        names = ["-".join(p[-n:]).strip("/") for p, n in zip(parts, lengths, strict=True)]
    return names
