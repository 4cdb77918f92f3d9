"""The commands `verite scene-score` and `verite class-distance`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from verite.cli.gate import GateSettings, pass_gate
from verite.cli.help import command
from verite.cli.options import (
    INPUT,
    READING,
    FolderSettings,
    Given,
    OutputSettings,
    PlotSettings,
    options_for,
    settings_given,
)
from verite.model.tables import Display
from verite.scene.score import SceneScoreSettings
from verite.settings import Choice, Count, Flag, Number, Option, Setting, Settings, Whole

if TYPE_CHECKING:
    from verite.scene.class_distances import ClassDistances
    from verite.scene.scene_score import SceneScoreResults
    from verite.scene.trace import Trace


class DistanceSettings(Settings):
    """Which class distances are allowed."""

    TITLE: ClassVar[str] = "Score"

    asymmetric: Option[bool] = Flag(False, "Allow distances that differ by direction (truth in rows, pred in columns).")


class TraceSettings(Settings):
    """The image whose computation is shown."""

    image: Option[str | None] = Setting(
        None, "Show every step of the computation for this image.", metavar="NAME", section="Options"
    )


class TimeSettings(Settings):
    """Scores of videos over time."""

    per: Option[str | None] = Choice(
        None, "Show the scores of videos over time: a curve per sequence, and change points.", ("frame",),
        default_text="scores of all images", section="Options",
    )  # fmt: skip


class SeveralSettings(Settings):
    """What is done with several detectors."""

    sweep: Option[str | None] = Setting(
        None, "Show for which values which PRED is first.", metavar="alpha,threshold", section="Options"
    )
    like: Option[str | None] = Setting(
        None,
        "Compare all PREDs with each other without ground truth; FILE gives the names of images and classes only.",
        metavar="FILE",
        kind="path",
        section="Options",
    )


@command(
    params=options_for(
        TraceSettings,
        TimeSettings,
        SeveralSettings,
        SceneScoreSettings,
        DistanceSettings,
        FolderSettings,
        PlotSettings,
        GateSettings,
        *READING,
        OutputSettings,
    ),
    epilog="""\b
Examples:
  verite scene-score truth.json pred.json
  verite scene-score truth.json pred.json --image street.jpg -o results/
  verite scene-score truth.json a.json b.json --confidence 0.5 --match one-to-one
  verite scene-score VOC2008/Annotations pred.json --distance voc --alpha 0.5
  verite scene-score a.json b.json                   difference of two results
  verite scene-score a.json b.json c.json --like truth.json    results without ground truth
  verite scene-score truth.json a.json b.json --sweep alpha,threshold
  verite scene-score truth.json pred.json --cost missed=3,spurious=1
  verite scene-score truth.json pred.json --importance weights.csv
  verite scene-score video.json pred.json --per frame -o results/     score over time
  verite scene-score truth.json pred.json --json | jq .score""",
)
@click.argument("truth", type=INPUT)
@click.argument("pred", type=INPUT, nargs=-1)
def scene_score(truth: str, pred: tuple[str, ...], **given: Any) -> None:
    """Score each image from 0 (perfect) to 1: localization, recognition and detection of its objects.

    TRUTH and PRED are files or folders in any known format. Several PREDs are compared side by side. TRUTH may be the
    result of another algorithm: the score then measures how far two results differ.
    """
    from verite.cli.evaluate import evaluate_each, save_results
    from verite.cli.output import emit, note, wants_plots
    from verite.cli.study import allow_local_modules
    from verite.scene.class_distances import class_distances
    from verite.scene.scene_score import SceneScoreConfig
    from verite.scene.scene_score import scene_score as evaluate

    allow_local_modules([given["localization"]])
    # Wrong settings are refused before a large file is read.
    settings = settings_given(SceneScoreSettings, given)
    settings["distance"] = class_distances(given["distance"], symmetric=not given["asymmetric"])
    SceneScoreConfig.of(SceneScoreSettings(**settings))
    for name in ("cost", "importance"):
        if given["image"] and given[name]:
            raise click.UsageError(f"--image: expected no --{name}; the steps of one image are shown without weights")
    if given["sweep"] or given["like"]:
        emit(compare_several(truth, pred, given, settings), given)
        return
    if not pred:
        raise click.UsageError("Missing argument 'PRED...'")
    results = evaluate_each(truth, pred, given, partial(evaluate, **settings))
    quiet = given["quiet"] or given["as_json"]
    outcome = choose_outcome(results, given["image"])
    if given["per"]:
        if len(results) != 1 or given["image"]:
            raise click.UsageError("--per frame: expected one PRED and no --image")
        from verite.scene.over_time import FrameScores

        outcome = FrameScores.of(results[0])
    if given["output"]:
        plots = wants_plots(given)
        save_results(
            results, Path(given["output"]), given, lambda result, home: save_scenes(result, home, given, plots)
        )
        note(f"results in {given['output']}", quiet=quiet)
    emit(outcome, given)
    if remark := describe_order(results, settings):
        note(remark, quiet=quiet or given["style"] != "text")
    pass_gate(results, given)


def compare_several(truth: str, pred: tuple[str, ...], given: Given, settings: Given) -> Any:
    """Sweep settings over several detectors, or compare them without ground truth."""
    from verite.cli.evaluate import system_names
    from verite.cli.options import read_side
    from verite.cli.output import describe_reading, note, warn
    from verite.model.comparison import distinct_names
    from verite.scene.sweep import distances_between, sweep_settings

    if given["sweep"] and given["like"]:
        raise click.UsageError("--like: expected no --sweep, which needs ground truth")
    quiet = given["quiet"] or given["as_json"]
    paths = pred if given["sweep"] else (truth, *pred)
    if len(paths) < 2:
        raise click.UsageError(
            f"{'--sweep' if given['sweep'] else '--like'}: expected two PREDs or more, found {len(paths)}"
        )
    truths = read_side(given["like"] or truth, "truth", given)
    describe_reading("names" if given["like"] else "truth", truths, quiet=quiet)
    sides = {}
    for path, name in zip(paths, distinct_names(system_names(paths)), strict=True):
        sides[name] = read_side(path, "pred", given, truths)
        describe_reading("pred", sides[name], quiet=quiet)
    note("", quiet=quiet)
    if given["like"]:
        return distances_between(sides, **settings)
    swept = [name.strip() for name in given["sweep"].split(",")]
    found = sweep_settings(truths, sides, swept, **{**settings, "checks": given["checks"]})
    said: set[str] = set()
    for path, findings in zip(paths, found.findings.values(), strict=True):
        warn(findings, {"truth": truth, "pred": path}, said)
    return found


def describe_order(results: Sequence[SceneScoreResults], settings: Given) -> str:
    """Return a warning if the paper's localization metric orders detectors otherwise than 1 - IoU does."""
    from verite.scene.scene_score import scene_score as evaluate

    if len(results) < 2 or results[0].config.localization.name != "martin":
        return ""
    other = {**settings, "localization": "iou", "checks": "off"}
    by_overlap = {result.name: evaluate(result.truth, result.pred, **other).score for result in results}
    here = sorted(results, key=lambda result: result.score)
    there = sorted(by_overlap, key=lambda name: by_overlap[name])
    if [result.name for result in here] == there:
        return ""
    shown = ", ".join(f"{name} {by_overlap[name]:.4f}" for name in there)
    return (
        "note: the order depends on the localization metric. martin is 0 where one region contains the other; with "
        f"--localization iou the order is {shown} (lower is better)"
    )


class Traces(Display):
    """The traces of one image for several detectors."""

    def __init__(self, traces: Mapping[str, Trace]) -> None:
        self.traces = traces

    def contents(self) -> list[Any]:
        if len(self.traces) == 1:
            return [part for trace in self.traces.values() for part in trace.contents()]
        return [part for name, trace in self.traces.items() for part in (name, *trace.contents())]

    def to_json(self, *, indent: int = 0) -> str:
        """Return the traces under ``systems``; of a single detector its own keys beside it."""
        from verite.model.results import to_json

        systems = {name: trace.to_dict() for name, trace in self.traces.items()}
        first = next(iter(systems.values())) if len(systems) == 1 else {}
        return to_json({**first, "systems": systems}, indent=indent)


def choose_outcome(results: Sequence[SceneScoreResults], image: str | None) -> Any:
    """Return what to print: a result, a comparison of several, or the trace of one image."""
    from verite.model.comparison import Comparison, distinct_names

    if image is None:
        return results[0] if len(results) == 1 else Comparison(results)
    names = distinct_names([result.name for result in results])
    return Traces({name: result.trace(image) for name, result in zip(names, results, strict=True)})


def save_scenes(result: SceneScoreResults, home: Path, given: Given, plots: bool) -> None:
    """Save the trace of the chosen image, and the figures."""
    from verite.files import write_atomically

    if given["image"]:
        write_atomically(home / "trace.json", result.trace(given["image"]).to_json(indent=1) + "\n")
    if given["per"]:
        from verite.cli.output import keep_table
        from verite.scene.over_time import FrameScores

        scores = FrameScores.of(result)
        write_atomically(home / "over-time.json", scores.to_json(indent=1) + "\n")
        for name, table in scores.tables().items():
            keep_table(home / f"over-time-{name}.csv", table, given)
        if plots:
            from verite.reporting.scene_score_plots import save_frame_scores

            save_frame_scores(scores, home, given["plot_format"])
    if plots:
        from verite.reporting.scene_score_plots import save_scene_scores

        save_scene_scores(result, home, given["plot_format"], given["image"], given["images"])


class LearningSettings(DistanceSettings):
    """Settings of `verite class-distance`."""

    TITLE: ClassVar[str] = "Distances"

    output: Option[str | None] = Setting(None, "Write the matrix as CSV.", short="-o", kind="output_file")
    plot: Option[str | None] = Setting(None, "Plot the matrix (.png, .svg or .pdf).", kind="output_file")
    pairs: Option[int] = Count(50, "Pairs of images for every two classes.")
    points: Option[int] = Count(400, "SIFT points per image.")
    ratio: Option[float] = Number(0.8, "Lowe's ratio test: nearest against second nearest descriptor.")
    seed: Option[int] = Whole(0, "Seed of the sampled pairs.")
    images: Option[str | None] = Setting(
        None, "A dataset's images: distances of the colour histograms of its objects.", kind="path"
    )
    kind: Option[str | None] = Choice(
        None,
        "What FILE is: supercategories (COCO), features (a class and numbers per row, or .npy), or a matrix of "
        "confusion or similarity.",
        ("supercategories", "features", "confusion", "similarity"),
        long="from",
        default_text="a matrix, a taxonomy or a dataset",
    )
    other: Option[str | None] = Setting(
        None, "Another taxonomy: print the graph edit distance of both.", long="compare", kind="path", metavar="FILE"
    )


@command(
    "class-distance",
    params=options_for(LearningSettings, OutputSettings),
    epilog="""\b
Examples:
  verite class-distance voc                                  the shipped taxonomy of the 20 VOC classes
  verite class-distance classes.txt -o distances.csv         path lengths in a taxonomy of your own
  verite class-distance truth.json --images photos/          colours of the objects of a dataset
  verite class-distance confusion.csv --from confusion
  verite class-distance features.csv --from features
  verite class-distance classes.txt --compare other.txt      graph edit distance of two taxonomies
  verite class-distance images/ -o distances.csv             learned: a folder of images per class
  verite class-distance cat/ dog/ car/ --pairs 200 -o distances.csv --plot distances.png
  verite scene-score truth.json pred.json --distance distances.csv""",
)
@click.argument("sources", type=INPUT, nargs=-1, required=True, metavar="IMAGES...|FILE|voc")
def class_distance(sources: tuple[str, ...], **given: Any) -> None:
    """Show distances between classes from 0 to 1: from a taxonomy, a matrix, a dataset, or learned from images.

    A dataset with --images: colour histograms of its objects. A folder of images is a class, a folder of such folders
    is several; these are compared by SIFT points (needs verite[vision]).
    """
    from verite.cli.output import can_draw, emit, keep_table, note
    from verite.errors import BadParameter
    from verite.files import write_atomically
    from verite.scene.class_distances import SHIPPED, class_distances

    plot = Path(given["plot"]) if given["plot"] else None
    if plot is not None and plot.suffix[1:] not in ("png", "svg", "pdf"):
        raise BadParameter(f"plot: expected a name ending in .png, .svg or .pdf, found {plot.name!r}")
    if given["other"]:
        from verite.scene.dataset_distances import edit_distance
        from verite.scene.taxonomy import read_taxonomy

        edits = edit_distance(read_taxonomy(sources[0]), read_taxonomy(given["other"]))
        from verite.model.results import to_json

        click.echo(to_json({"edit_distance": edits}) if given["as_json"] else f"graph edit distance: {edits}")
        return
    if given["images"] or given["kind"]:
        found = distances_of_data(sources, given)
    elif len(sources) == 1 and (sources[0] in SHIPPED or not Path(sources[0]).is_dir()):
        found = class_distances(sources[0], symmetric=not given["asymmetric"])
    else:
        from verite.scene.descriptors import images_by_class, learn_distances

        found = learn_distances(
            images_by_class(sources), **{key: given[key] for key in ("pairs", "points", "ratio", "seed")}
        )
    quiet = given["quiet"] or given["as_json"]
    if given["output"]:
        keep_table(Path(given["output"]), found.table(), given)
        note(f"saved {given['output']}", quiet=quiet)
    if plot is not None and can_draw():
        from verite.reporting.plots import render
        from verite.reporting.scene_score_plots import plot_distances

        write_atomically(plot, render(plot_distances(found), plot.suffix[1:]))
        note(f"saved {plot}", quiet=quiet)
    emit(found, given)


def distances_of_data(sources: tuple[str, ...], given: Given) -> ClassDistances:
    """Return class distances from a dataset, supercategories, features, a confusion matrix or similarities."""
    from verite.formats import read
    from verite.scene import dataset_distances as data

    if len(sources) != 1:
        raise click.UsageError(f"class-distance: expected one file, found {len(sources)}")
    if given["images"]:
        if given["kind"]:
            raise click.UsageError(f"--images: expected no --from {given['kind']}")
        return data.from_dataset(read(sources[0]), given["images"])
    if given["kind"] == "supercategories":
        return data.from_supercategories(sources[0])
    if given["kind"] == "features":
        return data.read_features(sources[0])
    names, matrix = data.read_square(sources[0])
    make = data.from_confusion if given["kind"] == "confusion" else data.from_similarity
    return make(names, matrix, source=f"{given['kind']}-{Path(sources[0]).stem}")
