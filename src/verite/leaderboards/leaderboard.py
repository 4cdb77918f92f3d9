"""`vt.leaderboard`: rank detectors by a published score, with the uncertainty of the ranking.

Every detector is scored on simulated ground truths (annotation errors), on bootstrap resamples of the images, and on
both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verite.annotation_errors.detection import Detection, parameter_name
from verite.errors import BadParameter, DataError, did_you_mean, excerpt, spell_option
from verite.evaluation.evaluation import Simulations
from verite.evaluation.points import MaxDistanceSetting, PixelSize, check_distance
from verite.evaluation.results import MeanResults
from verite.evaluation.settings import THREADS, EvaluationSettings, On, on_setting
from verite.formats import list_shards, read
from verite.leaderboards.audit import AuditVerdicts, stratified_rates
from verite.leaderboards.bootstrap import image_groups, resample_images, sampled_units
from verite.leaderboards.candidates import CandidatePool, UnmatchedDetections, find_unmatched
from verite.leaderboards.gold import correct_by_gold, detectable_by_gold, read_gold, share_detectable
from verite.leaderboards.influence import RankingInfluence, find_influence
from verite.leaderboards.plan import make_plan
from verite.leaderboards.result import Board, Leaderboard
from verite.leaderboards.simulation import AnnotationErrorSimulation, count_confusions, read_confusions
from verite.model.annotations import Annotations
from verite.model.comparison import check_comparable, distinct_names
from verite.model.rasters import join_regions
from verite.model.results import Results, system_name
from verite.progress import begin
from verite.protocols import protocol_named
from verite.protocols.keypoints import Sigmas
from verite.settings import (
    Choice,
    Count,
    FileOrContent,
    Flag,
    Names,
    Number,
    Option,
    P,
    Setting,
    Settings,
    SettingsFunction,
    Whole,
)
from verite.signature import Signature
from verite.statistics.half_samples import HALVES, check_enough_images, check_images, half_sample_interval
from verite.statistics.multiple_comparisons import TIE
from verite.threads import thread_count, use_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.evaluation.prepare import Checks
    from verite.leaderboards.audit import AuditRow
    from verite.leaderboards.track_leaderboard import TrackErrors, TrackLeaderboard
    from verite.statistics.half_samples import ScoreInterval

    Floats = NDArray[np.float64]


Protocols = Literal["coco", "voc", "lvis", "f1", "track"]
F1_SCORES = ("F1", "precision", "recall", "macro_F1", "macro_precision", "macro_recall")  # at any IoU threshold
TRACK_SCORES = ("HOTA", "DetA", "AssA", "LocA", "MOTA", "MOTP", "IDF1", "IDP", "IDR", "IDSW", "Frag", "MT", "PT", "ML")
NONE = "none"
BLOCK = 50  # simulations that are held in memory at a time
# For each source of uncertainty whether images are resampled, and whether annotation errors are simulated.
CORE_SOURCES = {"images": (True, False), "errors": (False, True), "both": (True, True)}
DETECTABLE = (0.2, 0.7)  # shares of missing objects that some detector may have found
DETECTABLE_SAMPLES = 200
POOLING_SAMPLES = 100  # simulations with a pool that lacks one detector's boxes


class Level(Number[float, float]):
    """A confidence level: neither 0 nor 1."""

    def validate(self, value: Any) -> float:
        from verite.statistics.intervals import check_level

        level = float(super().validate(value))
        check_level(level)
        return level


class ImageNumber(Setting[Any, Any]):
    """A number of images, "all" for infinitely many, or None for the number that there is."""

    def validate(self, value: Any) -> int | str | None:
        return check_images(value, self.name)


class Groups(Setting[Any, Any]):
    """Groups of images, or where missing objects come from: a word, a column, a file, or a value per image."""

    def validate(self, value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray) else value

    def format(self, value: Any) -> object:
        return value if isinstance(value, str) else "given"


ERRORS, GOLD = "Annotation errors", "Gold images and planning"  # sections of the help


class LeaderboardSettings(Settings):
    """The protocol and its scores, what is simulated, and how often."""

    protocol: Option[Protocols] = Choice("coco", "Evaluation protocol; f1 with --metric F1.", Protocols)
    on: Option[On] = on_setting()
    sigmas: Setting[Any, Any] = Sigmas(omit_default=True)
    max_distance: Setting[Any, Any] = MaxDistanceSetting()
    pixel_size: Setting[Any, Any] = PixelSize()
    metrics: Setting[str | Sequence[str] | None, tuple[str, ...]] = Names(
        ("AP",), "A score of the protocol, such as AP, AP50, AR100 or F1; may be repeated.", short="-m",
        names=["metric"], metavar="NAME", is_signed=False,
    )  # fmt: skip
    missing_from: Setting[Any, Any] = Groups(
        "pool", "Candidates for missing objects: unmatched detections of all detectors (pool), a file, or none.",
        metavar="pool|FILE|none", section=ERRORS,
    )  # fmt: skip
    confusion: Setting[str | Path | None, Any] = FileOrContent(
        None, "Table recorded,CLASS…: the true classes of wrong labels.", default_text="the detectors' own confusions",
        section=ERRORS,
    )  # fmt: skip
    resample: Setting[Any, Any] = Groups(
        "images", "Bootstrap over images, groups of images (a column), or none.", metavar="images|COLUMN|none"
    )
    draws: Option[int] = Count(1000, "Number of simulations and of bootstrap resamples.")
    seed: Option[int] = Whole(0, "Seed of the random numbers.")
    level: Option[float] = Level(0.95, "Confidence level of intervals, rank sets and ties.")
    gold: Setting[Any, Any] = FileOrContent(
        None, "Better ground truth of a random subset of the images: corrects leads, whatever the errors are.",
        metavar="FILE", omit_default=True, section=GOLD,
    )  # fmt: skip
    plan: Option[float | None] = Number(
        None, "Plan: images, gold images and annotations to check until a lead of DELTA is decided.", metavar="DELTA",
        is_signed=False, section=GOLD,
    )  # fmt: skip
    power: Option[float] = Number(0.8, "Power of the planned test.", is_signed=False, section=GOLD)
    interval: Option[bool] = Flag(
        False, "Require confidence intervals around the scores; by default they are shown where possible.",
        is_signed=False, section="Statistics",
    )  # fmt: skip
    interval_images: Setting[Any, Any] = ImageNumber(
        None,
        "Intervals around the scores on N images, or on infinitely many; by default around means of this many images.",
        metavar="N|all", is_signed=False, section="Statistics",
    )  # fmt: skip
    audit_size: Option[int] = Count(100, "Largest number of annotations to check first.", is_signed=False, section=GOLD)
    threads: Option[int | None] = THREADS
    checks: Option[Checks] = EvaluationSettings.checks

    def check(self) -> None:
        if self.sigmas is not None and self.on != "keypoints":
            raise type(self).sigmas.refuse("nothing but with on=keypoints", self.sigmas)
        if self.protocol == "voc" and self.on not in ("box", "rotated"):
            raise type(self).on.refuse("box or rotated with Pascal VOC", self.on)
        if self.protocol == "lvis" and self.on not in ("box", "mask"):
            raise type(self).on.refuse("box or mask with LVIS", self.on)
        if self.protocol == "track" and self.on not in ("box", "mask"):
            raise type(self).on.refuse("box or mask with tracks", self.on)
        if self.protocol == "f1" and self.on not in ("box", "mask", "rotated", "point"):
            raise type(self).on.refuse("box, mask, rotated or point with F1", self.on)
        check_distance(self)

    def defaults(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"protocol": protocol_of_scores(given.get("metrics"))}


class ErrorRates(Setting[Any, Any]):
    """Rates of annotation errors: a model, which the simulation checks."""

    takes = "Detection | TrackErrors"

    def validate(self, value: Any) -> Any:
        from verite.leaderboards.track_leaderboard import TrackErrors

        if not isinstance(value, (Detection, TrackErrors)):
            raise self.refuse("rates such as verite.annotation_errors.Detection(missing=0.05)", excerpt(value))
        return value


class AuditRows(FileOrContent[Any, Any]):
    """An audit.csv with its verdicts filled in, or its rows."""

    takes = "str | PathLike[str] | Sequence[AuditRow]"


class LeaderboardArguments(LeaderboardSettings):
    """Keyword arguments of `vt.leaderboard`: the settings, and what the command line makes of several options."""

    errors: Setting[Detection | TrackErrors | None, Any] = ErrorRates(
        None, "Rates of annotation errors.", is_signed=False, has_option=False
    )
    audit: Setting[str | PathLike[str] | Sequence[AuditRow] | None, Any] = AuditRows(
        None, "An audit.csv with its verdicts filled in.", is_signed=False, has_option=False
    )


def protocol_of_scores(metrics: Any) -> Protocols:
    """Return the protocol that has these scores, if none is given: f1, track, or else coco.

    >>> protocol_of_scores("F1@0.50"), protocol_of_scores("HOTA"), protocol_of_scores(["AP", "AP50"])
    ('f1', 'track', 'coco')
    """
    names = [metrics] if isinstance(metrics, str) else metrics if isinstance(metrics, (list, tuple)) else []
    if names and all(name in TRACK_SCORES for name in names):
        return "track"
    return "f1" if names and all(str(name).partition("@")[0] in F1_SCORES for name in names) else "coco"


class LeaderboardFunction(SettingsFunction[P, LeaderboardArguments]):
    """`vt.leaderboard`, called like a function; its keyword arguments are `LeaderboardArguments`."""

    def __call__(self, truth: Any, predictions: Any = None, *args: P.args, **given: P.kwargs) -> Leaderboard:
        """Rank detectors by a published score, with the probability that the ranking holds.

        The ranking is simulated under annotation errors, on bootstrap resamples of the images, and under both. Without
        `errors` and with `resample="none"` the result is the plain table, sorted. For rankings by accuracy, recall or
        F1, :func:`verite.rank` gives exact probabilities.

        Parameters
        ----------
        truth : path, Annotations, or results
            The ground truth. Or, without predictions, several results of one protocol: a list, or a mapping from names.
        predictions : mapping, sequence, or path, optional
            Predictions of at least two detectors: a mapping from names, several files or annotations, or a folder or
            glob.
        errors : Detection, optional
            Rates of annotation errors, see :class:`verite.annotation_errors.Detection`.
        audit : path or rows, optional
            An audit.csv with its verdicts filled in: audited annotations are as they were found in every simulation.
        protocol : {"coco", "voc", "lvis", "f1", "track"}, default "coco"
            The evaluation protocol; f1 where all metrics are its scores.
        on : str, default "box"
            What is compared: box, mask, boundary, keypoints, rotated or point.
        sigmas : optional
            Sigmas of keypoints, as in :func:`verite.coco`.
        max_distance, pixel_size : optional
            Maximum distance of a match of points and the size of a pixel, as in :func:`verite.coco`.
        metrics : str or sequence of str, default ("AP",)
            Scores of the protocol; one matching serves them all. AP is the headline score of every protocol. F1,
            precision and recall (also macro_F1 and F1@0.50) need no confidences.
        missing_from : str, path or Annotations, default "pool"
            Candidates for missing objects: unmatched detections of all detectors (pool), a file, or none.
        confusion : path, optional
            A table recorded,CLASS… of the true classes of wrong labels; the detectors' own confusions by default.
        resample : str or sequence, default "images"
            Bootstrap over images, groups of images (a column of them, or one value per image), or none.
        draws : int, default 1000
            The number of simulations and of resamples.
        seed : int, default 0
            The seed of the random numbers.
        level : float, default 0.95
            The confidence level of intervals, rank sets and ties.
        gold : path or Annotations, optional
            A better ground truth of a random subset of the images, at least 20: leads are corrected by it, which is
            valid whatever the errors are.
        plan, power : float, optional
            A lead, and the power with which it is to be found: how many images, gold images and checked annotations the
            decision between neighbours needs.
        interval : bool, default False
            Require confidence intervals around the scores: an error if they are not possible. By default they are shown
            where possible.
        interval_images : int or "all", optional
            Intervals are for scores on this many images; of the mean over test sets of this size by default.
        audit_size : int, default 100
            The largest number of annotations to list in `audit`.
        threads : int, optional
            The number of threads; the result does not depend on it.
        checks : {"stop", "warn", "off"}, default "stop"
            What happens where the inputs look wrong.

        Returns
        -------
        Leaderboard
            The ranking, its probabilities, and the annotations that decide it.

        Raises
        ------
        BadParameter
            A parameter is wrong, or there are fewer than two detectors.
        DataError
            The ground truth has no objects that count, an audit does not fit it, or an interval around the scores is
            asked for and not possible.

        Examples
        --------
        >>> from verite import Annotations
        >>> boxes = [[10 * i, 0, 10 * i + 9, 9] for i in range(4)]
        >>> truth = Annotations.of(list("abcd"), ["cat"] * 4, boxes)
        >>> found = [Annotations.of(list("abcd"[:n]), ["cat"] * n, boxes[:n], confidence=[0.9] * n) for n in (3, 2)]
        >>> board = leaderboard(truth, {"two": found[1], "three": found[0]}, draws=100)
        >>> board.names, board.places[0]
        (('three', 'two'), (1, 2))
        """
        settings = self.settings_of(*args, **given)
        with use_threads(settings.threads):
            several = truth if predictions is None else predictions
            if not isinstance(several, (Iterable, PathLike)):
                raise BadParameter(f"leaderboard: expected several detectors, found {type(several).__name__}")
            if predictions is None:
                results = list(truth.values()) if isinstance(truth, Mapping) else list(truth)
                for one in results:
                    if not isinstance(one, Results):
                        found = f"no predictions, and {type(one).__name__} as one of the results"
                        raise BadParameter(
                            f"leaderboard: expected predictions, or results of one protocol, found {found}"
                        )
                names = list(truth) if isinstance(truth, Mapping) else distinct_names([one.name for one in results])
                by_name = dict(zip(names, results, strict=True))
                return rank_results(by_name, settings.errors, settings.audit, settings)
            ground_truth = truth if isinstance(truth, Annotations) else read(truth)
            if isinstance(predictions, (str, PathLike)):
                predictions = list_shards(predictions)
            values = list(predictions.values()) if isinstance(predictions, Mapping) else list(predictions)
            preds = [one if isinstance(one, Annotations) else read(one, like=ground_truth) for one in values]
            if isinstance(predictions, Mapping):
                names = [str(name) for name in predictions]
            else:
                names = distinct_names([system_name(pred) for pred in preds])
            if len(preds) < 2:
                raise BadParameter(f"leaderboard: expected at least two detectors, found {len(preds)}")
            detectors = zip(names, preds, strict=True)
            by_name = {name: evaluate_detector(ground_truth, pred, name, settings) for name, pred in detectors}
            return rank_results(by_name, settings.errors, settings.audit, settings)


leaderboard = LeaderboardFunction("leaderboard", LeaderboardArguments)


def rank_tracked(results: Mapping[str, Results], errors: Any, settings: LeaderboardSettings) -> TrackLeaderboard:
    """Make the leaderboard of trackers; `errors` are `TrackErrors`, or the missing and spurious rates of `Detection`.

    Raises
    ------
    BadParameter
        If the errors have kinds that tracks do not have, or a setting has no meaning for tracks.
    """
    from verite.leaderboards.track_leaderboard import TrackErrors, rank_trackers
    from verite.protocols.track import TrackResults

    if isinstance(errors, Detection):
        if errors.has("label") or errors.has("jitter"):
            raise BadParameter("errors: expected missing, spurious or swapped tracks, found label or jitter")
        errors = TrackErrors(missing=errors.mean("missing"), spurious=errors.mean("spurious"))
    if not isinstance(errors, (TrackErrors, type(None))):
        raise BadParameter(f"errors: expected rates of tracks (TrackErrors), found {excerpt(errors)}")
    if not isinstance(settings.resample, str):
        raise BadParameter(f"resample: expected sequence, blocks:N or none, found {excerpt(settings.resample)}")
    for name in ("gold", "plan", "interval_images"):
        if getattr(settings, name) is not None:
            raise BadParameter(f"{name}: expected none for tracks, found {excerpt(getattr(settings, name))}")
    trackers = {name: one for name, one in results.items() if isinstance(one, TrackResults)}
    if len(trackers) != len(results):
        raise BadParameter("leaderboard: expected results of track alone, found others among them")
    metrics = ["HOTA" if metric == "AP" else metric for metric in settings.metrics]
    return rank_trackers(
        trackers, metrics, errors, resample=settings.resample, draws=settings.draws, seed=settings.seed,
        level=settings.level,
    )  # fmt: skip


def evaluate_detector(truth: Annotations, pred: Annotations, name: str, settings: LeaderboardSettings) -> Results:
    """Evaluate one detector by the protocol of the settings."""
    named = ("sigmas", "max_distance", "pixel_size")
    more: dict[str, object] = {name: value for name in named if (value := getattr(settings, name)) is not None}
    more |= {} if settings.protocol == "track" else {"threads": settings.threads}
    found: Results = protocol_named(settings.protocol)(
        truth, pred, name=name, on=settings.on, checks=settings.checks, **more
    )
    return found


def rank_results(
    results: Mapping[str, Results],
    errors: Detection | None,
    audit: Any,
    settings: LeaderboardSettings,
    influence_on: Sequence[str] | None = None,
) -> Leaderboard:
    """Make the leaderboard of results of one protocol, by name.

    `influence_on` are the scores whose influential annotations are searched, by default all: half of the work.
    """
    if len(results) < 2:
        raise BadParameter(f"leaderboard: expected at least two detectors, found {len(results)}")
    if next(iter(results.values())).protocol == "track":
        return rank_tracked(results, errors, settings)  # type: ignore[return-value]
    names, given = tuple(results), list(results.values())
    for one in given:
        if not isinstance(one, MeanResults):
            raise BadParameter(
                "resample: expected results whose images can be resampled, such as those of coco, voc and lvis, "
                f"found {one.protocol}"
            )
        check_comparable(given[0], one)
    metrics = []
    for metric in settings.metrics:
        known = given[0].scores
        if metric not in known and metric.upper() not in ("AP", "MAP"):
            near = did_you_mean(metric, known)
            raise BadParameter(f"metrics: expected one of {', '.join(known)}, found {metric!r}{near}")
        metrics.append(metric if metric in known else next(iter(known)))
        for name, one in results.items():
            if np.isnan(one.scores[metrics[-1]].value):
                path = one.truth.source.path or "truth"
                found = f"found none: {name!r} has no {metrics[-1]}"
                raise DataError(f"{path}: expected objects that count, {found}")
    gold, detectable = None, None
    if settings.gold is not None:
        evaluations = [one.evaluation for one in given if isinstance(one, MeanResults)]
        gold = read_gold(settings.gold, evaluations[0].truth)
        if errors is not None and errors.has("missing") and errors.assumes_lit:
            detectable = detectable_by_gold(*gold, evaluations)
            errors = errors if detectable is None else replace(errors, lit=share_detectable(*detectable))
    simulation = LeaderboardSimulation(names, given, metrics, errors, audit, settings)
    samples = simulation.simulate()
    units = sampled_units(simulation.truth.images, simulation.groups) if simulation.resamples else None
    intervals, no_interval = simulation.score_intervals(None if units is None else units.effective)
    boards = {}
    for k, metric in enumerate(metrics):
        scores = np.array([one.scores[metric].value for one in given])
        drawn = {source: found[:, :, k] for source, found in samples.items()}
        is_grouped = simulation.groups is not None
        boards[metric] = Board(
            metric,
            names,
            scores,
            drawn,
            settings.level,
            None if units is None else units.count,
            is_grouped=is_grouped,
            intervals=intervals.get(metric, ()),
            effective_units=None if units is None else units.effective,
        )
    board = boards[metrics[0]]
    corrected = None if gold is None else correct_by_gold(*gold, given, board, settings.seed, detectable=detectable)
    plan = None
    if settings.plan is not None:
        plan = make_plan(board, simulation, corrected, settings.plan, settings.power)
    return Leaderboard(
        boards=boards,
        gold=corrected,
        plan=plan,
        protocol=given[0].protocol,
        signatures={metric: simulation.signature(metric) for metric in metrics},
        errors=simulation.errors,
        settings=settings,
        influence={
            metric: simulation.influence(boards[metric])
            for metric in metrics
            if samples and (influence_on is None or metric in influence_on)
        },
        truth=given[0].truth,
        pool=simulation.pool,
        pooling=simulation.pooling_bias(boards) if samples else {},
        by_detectable=simulation.first_by_detectable(boards[metrics[0]]) if samples else {},
        vanishing=simulation.vanishing_classes(),
        no_interval=no_interval,
        simulation=simulation,
        findings=[(name, finding) for name, one in results.items() for finding in one.findings],
    )


class LeaderboardSimulation:
    """Detectors on one ground truth, and everything that simulations of their scores need.

    Parameters
    ----------
    names, results
        The detectors and their results.
    metrics
        The scores to simulate.
    errors, audit
        The error model, and an audit.csv or its rows.
    settings
        Those of the leaderboard.
    """

    candidates: Annotations  # the objects of the file that `missing_from` names, if it names one

    def __init__(
        self,
        names: tuple[str, ...],
        results: list[Any],
        metrics: list[str],
        errors: Detection | None,
        audit: Any,
        settings: LeaderboardSettings,
    ) -> None:
        self.names, self.results, self.metrics, self.settings = names, results, metrics, settings
        self.truth: Annotations = results[0].evaluation.truth
        self.counted = results[0].evaluation.outcomes().is_asked
        self.threads = thread_count(settings.threads)
        self.verdicts = AuditVerdicts.read(audit, self.truth) if audit is not None else AuditVerdicts()
        if not isinstance(errors, (Detection, type(None))):
            raise BadParameter(f"errors: expected the rates of verite.annotation_errors, found {excerpt(errors)}")
        self.errors = self.verdicts.complete(Detection() if errors is None else errors)
        self.has_errors = not self.errors.is_none or bool(len(self.verdicts))
        resample = settings.resample
        self.resamples = not (isinstance(resample, str) and resample == NONE)
        is_grouped = self.resamples and not (isinstance(resample, str) and resample == "images")
        self.groups = image_groups(self.truth, resample, "resample") if is_grouped else None
        if self.errors.favours is not None and self.errors.favours[0] not in names:
            near = did_you_mean(self.errors.favours[0], names)
            option = parameter_name("favours")
            raise BadParameter(f"{option}: expected one of {', '.join(names)}, found {self.errors.favours[0]!r}{near}")
        if self.errors.mean("jitter") and settings.on != "box":
            raise BadParameter(
                f"jitter: expected {spell_option('on', 'box')}, found {settings.on}: only boxes can be displaced"
            )
        self.pool = self.find_pool() if self.has_errors else None
        self.ground_truths = self.simulate_ground_truths() if self.has_errors else None

    @property
    def sources(self) -> list[str]:
        """The sources of uncertainty that are simulated."""
        wanted = {"images": self.resamples, "errors": self.has_errors, "both": self.resamples and self.has_errors}
        return [source for source, is_wanted in wanted.items() if is_wanted]

    def find_pool(self) -> CandidatePool | None:
        """Return the candidates for missing objects: unmatched detections, or the objects of a file."""
        source = self.settings.missing_from
        is_none = isinstance(source, str) and source == NONE
        if is_none or not (self.errors.has("missing") or self.verdicts.has_missing):
            return None
        if isinstance(source, str) and source == "pool":
            return self.pool_of(self.unmatched_detections(), range(len(self.results)))
        preds = [one.evaluation.pred for one in self.results]
        objects = source if isinstance(source, Annotations) else read(source, like=self.truth)
        self.candidates = objects.like(self.truth)
        pool = CandidatePool.from_file(self.truth, self.candidates, preds)
        return pool.only_verified(self.truth).sorted(self.truth)

    def unmatched_detections(self) -> UnmatchedDetections:
        """Return the unmatched detections of all detectors; not cached, since it is as large as all predictions."""
        return find_unmatched(self.truth, [one.evaluation.pred for one in self.results])

    def pool_of(self, detections: UnmatchedDetections, members: Sequence[int]) -> CandidatePool:
        """Return the candidates out of the detections of some detectors."""
        return detections.pool(members).only_verified(self.truth).sorted(self.truth)

    def simulate_ground_truths(self) -> AnnotationErrorSimulation:
        """Set up the simulation of annotation errors."""
        errors, settings = self.errors, self.settings
        confusions = None
        if errors.has("label"):
            if settings.confusion is None:
                confusions = count_confusions(self.truth, [one.evaluation.pred for one in self.results])
            else:
                confusions = read_confusions(settings.confusion, self.truth)
        favoured = None if errors.favours is None else self.names.index(errors.favours[0])
        is_grouped = errors.shared not in (None, "image", "label")
        found = AnnotationErrorSimulation(
            self.truth,
            self.counted,
            errors,
            settings.seed,
            pool=self.pool,
            pooled_regions=None if settings.on == "box" else self.pooled_masks(),
            confusions=confusions,
            groups=image_groups(self.truth, errors.shared, "shared") if is_grouped else None,
            found=None if favoured is None else self.results[favoured].evaluation.outcomes().pred >= 0,
            favoured=favoured,
            known=self.verdicts.known(self.truth, self.pool),
        )
        return found.with_factors(self.audited_factors(found)) if len(self.verdicts) else found

    def audited_factors(self, simulation: AnnotationErrorSimulation) -> dict[str, Floats]:
        """Return rates relative to the common ones, by which of the best two detectors finds an annotation.

        In these strata verdicts give relative rates of spurious annotations, and of candidates to be missing objects.
        """
        first, second = np.argsort([-one.scores[self.metrics[0]].value for one in self.results], kind="stable")[:2]
        found = [self.results[i].evaluation.outcomes().pred >= 0 for i in (first, second)]
        rows = simulation.rows
        position = {int(row): i for i, row in enumerate(rows)}
        checked = {
            position[at]: row.verdict == "wrong" for row, at in self.verdicts.decided("spurious") if at in position
        }
        strata = found[0][rows] + 2 * found[1][rows]
        factors = {"spurious": stratified_rates(simulation.mean_spurious_rates(), strata, checked)}
        if self.pool is not None and len(self.pool) and self.errors.has("missing"):
            known = {at: is_wrong for (kind, at), is_wrong in simulation.known.items() if kind == "missing"}
            strata = self.pool.found[:, first] + 2 * self.pool.found[:, second]
            factors["missing"] = stratified_rates(simulation.candidate_probabilities(), strata, known)
        return factors

    def pooled_masks(self) -> tuple[Any, Floats]:
        """Return the regions of the ground truth and of the pool's highest-confidence detections; areas are unknown."""
        parts = [self.truth.regions]
        detector, row = (np.zeros(0, np.int32),) * 2 if self.pool is None else self.pool.best
        if (detector < 0).any():
            parts.append(self.candidates.regions.take(row))
            order = np.arange(len(row))
        else:
            order = np.argsort(detector, kind="stable")
            parts += [self.results[i].evaluation.pred.regions.take(row[detector == i]) for i in np.unique(detector)]
        joined = join_regions(parts)
        places = np.concatenate([np.arange(len(self.truth)), len(self.truth) + np.argsort(order)])
        return joined.take(places), np.full(len(row), np.nan)

    def simulate(self) -> dict[str, Floats]:
        """Return by source of uncertainty the score in every simulation, [simulation, detector, metric]."""
        draws, sources = self.settings.draws, self.sources
        if not sources:
            return {}
        found = np.empty((draws, len(sources), len(self.names), len(self.metrics)))
        with begin("simulating", draws * len(self.names), "evaluations") as advance:
            for first in range(0, draws, BLOCK):
                count = min(BLOCK, draws - first)
                weights = None
                if self.resamples:
                    weights = resample_images(
                        self.truth.images, count, self.settings.seed, groups=self.groups, first=first
                    )
                changes = None if self.ground_truths is None else self.ground_truths.changes(first, count)
                simulations = Simulations(weights, changes, is_shared=True)
                for i, one in enumerate(self.results):
                    found[first : first + count, :, i] = one.evaluation.simulate_means(
                        [one.mean_query(metric) for metric in self.metrics],
                        simulations,
                        [CORE_SOURCES[source] for source in sources],
                        self.threads,
                    )
                    advance(count)
        return {source: found[:, k] for k, source in enumerate(sources)}

    def score_intervals(self, units: int | None) -> tuple[dict[str, list[ScoreInterval]], str]:
        """Return the confidence intervals around scores by metric, in the order of detectors, and why not to show them.

        They are computed where images are resampled, for the bias, and where they are asked for.
        """
        settings = self.settings
        if not (self.resamples or settings.interval or settings.interval_images is not None):
            return {}, "images are not resampled"
        reason = ""
        try:
            check_enough_images(len(self.truth.images), self.images_of_classes().tolist())
        except DataError as error:
            if settings.interval or settings.interval_images is not None:
                raise
            reason = str(error).removeprefix("interval: ").partition("; ")[0].partition(": ")[0]
        halved = sampled_units(self.truth.images, self.groups)
        weights = halved.half_samples(HALVES, settings.seed)
        found: dict[str, list[ScoreInterval]] = {metric: [] for metric in self.metrics}
        for one in self.results:
            queries = [one.mean_query(metric) for metric in self.metrics]
            halves = one.evaluation.bootstrap_means(queries, weights, None, self.threads)
            for k, metric in enumerate(self.metrics):
                found[metric].append(
                    half_sample_interval(
                        metric,
                        one.scores[metric].value,
                        halves[:, k],
                        len(self.truth.images),
                        units=None if self.groups is None else units,
                        images=settings.interval_images,
                        level=settings.level,
                    )
                )
        return found, reason

    def first_scores(self, ground_truths: AnnotationErrorSimulation, members: Iterable[int], draws: int) -> Floats:
        """Return the first score of some detectors on simulated ground truths, [simulation, detector].

        Parameters
        ----------
        ground_truths
            Simulated annotation errors.
        members
            Positions of the detectors.
        draws
            Number of simulated ground truths.

        Returns
        -------
        Floats
            Every detector meets the same simulated ground truths, so that differences are paired.
        """
        simulations = Simulations(None, ground_truths.changes(0, draws), is_shared=True)
        found = []
        for one in (self.results[i] for i in members):
            query = [one.mean_query(self.metrics[0])]
            found.append(one.evaluation.simulate_means(query, simulations, [(False, True)], self.threads)[:, 0, 0])
        return np.stack(found, axis=1)

    def scores_at(self, factor: float, draws: int) -> Floats:
        """Return the first score of all detectors with all error rates multiplied, [simulation, detector].

        Parameters
        ----------
        factor
            1 for the rates of the error model, 2 for twice as many errors.
        draws
            Number of simulated ground truths.

        Returns
        -------
        Floats
            Scores from which the largest factor at which a ranking holds is found.
        """
        assert self.ground_truths is not None
        return self.first_scores(
            self.ground_truths.with_errors(self.errors.scale(factor)), range(len(self.names)), draws
        )  # fmt: skip

    def first_by_detectable(self, board: Board) -> dict[str, dict[float, float]]:
        """Return P(first) of each detector under annotation errors for two shares of detectable missing objects.

        The share is hardly ever known. Empty where it is given, by `verite agree` or gold images, too, or no objects
        are missing.
        """
        if self.ground_truths is None or not self.errors.has("missing") or not self.errors.assumes_lit:
            return {}
        if self.pool is None:
            return {}
        count = min(DETECTABLE_SAMPLES, self.settings.draws)
        found: dict[str, dict[float, float]] = {name: {} for name in board.names}
        for share in DETECTABLE:
            scores = board.samples["errors"][:count]
            if share != self.errors.lit:
                other = self.ground_truths.with_errors(replace(self.errors, lit=share))
                scores = self.first_scores(other, range(len(self.names)), count)[:, board.order]
            is_first = scores >= scores.max(axis=1, keepdims=True) - TIE
            shares = (is_first / is_first.sum(axis=1, keepdims=True)).mean(axis=0)
            for name, p in zip(board.names, shares.tolist(), strict=True):
                found[name][share] = p
        return found

    def pooling_bias(self, boards: Mapping[str, Board]) -> dict[str, float]:
        """Return how much each detector's first score gains on average because its own boxes are in the pool."""
        if self.pool is None or self.settings.missing_from != "pool" or len(self.names) < 3:
            return {}
        if self.settings.on != "box" or not self.errors.has("missing"):
            return {}
        assert self.ground_truths is not None
        count, found = min(POOLING_SAMPLES, self.settings.draws), {}
        unbiased = replace(self.errors, favours=None)
        if self.errors.favours is None and not len(self.verdicts):
            board = next(iter(boards.values()))
            own = [board.samples["errors"][:count, board.names.index(name)].mean() for name in self.names]
        else:
            pooled = self.ground_truths.with_errors(unbiased, self.pool)
            own = [column.mean() for column in self.first_scores(pooled, range(len(self.names)), count).T]
        detections = self.unmatched_detections()
        for i, name in enumerate(self.names):
            pool = self.pool_of(detections, [j for j in range(len(self.names)) if j != i])
            without = self.ground_truths.with_errors(unbiased, pool)
            found[name] = float(own[i] - self.first_scores(without, [i], count).mean())
        return found

    def influence(self, board: Board) -> RankingInfluence:
        """Return the annotations that decide a ranking."""
        size = self.settings.audit_size
        return find_influence(
            board, self.results, self.truth, self.counted, self.errors, size, self.ground_truths, self.verdicts,
            self.settings.seed,
        )  # fmt: skip

    def vanishing_classes(self) -> float | None:
        """Return how many classes occur in no image of a bootstrap resample, on average."""
        if not self.resamples or self.groups is not None:
            return None
        count, images = len(self.truth.images), self.images_of_classes()
        return float(((1 - images[images > 0] / count) ** count).sum())

    def images_of_classes(self) -> NDArray[np.int64]:
        """Return for each class the number of images with objects of it that count."""
        count = len(self.truth.images)
        label, image = self.truth.label[self.counted].astype(np.int64), self.truth.image[self.counted]
        return np.bincount(np.unique(label * count + image) // count, minlength=len(self.truth.labels))

    def signature(self, metric: str) -> Signature:
        """Return everything that can change the probabilities of a ranking by a score."""
        own = self.results[0].scores[metric].signature
        facts = {key: str(value) for key, value in self.settings.signed_values.items() if value is not None}
        for known in ("protocol", "on"):
            facts.pop(known, None)
        given = {"metric": metric, "score": own.name, **dict(own.settings)}
        model = {"errors": str(self.errors) if self.has_errors else NONE, "checked": str(len(self.verdicts)), **facts}
        return Signature("leaderboard", tuple((given | model).items()))
