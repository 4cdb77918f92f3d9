"""How sure is an order by average precision? Everybody's score on drawn truths, drawn images, and both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verite.annotation_errors.detection import Detection
from verite.errors import BadParameter, DataError, did_you_mean, excerpt
from verite.evaluation.settings import THREADS, EvaluationSettings, On, on_setting
from verite.formats import list_shards, read
from verite.formats.coco import read_image_records
from verite.leaderboards.audit import AuditVerdicts, read_verdicts
from verite.leaderboards.bootstrap import check_redrawable, draw_images
from verite.leaderboards.flips import Flips, find_flips
from verite.leaderboards.result import Board, Leaderboard
from verite.leaderboards.simulation import (
    Pool,
    TruthDraws,
    UnmatchedDetections,
    count_confusions,
    find_unexplained,
    keep_verified,
    pool_file,
    read_confusions,
    sort_pool,
)
from verite.model.annotations import Annotations
from verite.model.comparison import check_comparable, distinct_names
from verite.model.rasters import join_regions
from verite.model.results import Results, system_name
from verite.progress import begin
from verite.protocols import protocol_named
from verite.protocols.keypoints import Sigmas
from verite.settings import Choice, Count, FileOrContent, Names, Number, Option, Setting, Whole
from verite.signature import Signature
from verite.threads import thread_count, use_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]


Which = Literal["coco", "voc", "lvis"]

NONE = "none"


class Level(Number[float, float]):
    """A probability that is neither 0 nor 1."""

    def validate(self, value: Any) -> float:
        from verite.statistics.intervals import check_level

        level = float(super().validate(value))
        check_level(level)
        return level


class Groups(Setting[Any, Any]):
    """Images, none, a column of them, or a group for each."""

    def validate(self, value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray) else value

    def format(self, value: Any) -> object:
        return value if isinstance(value, str) else "given"


class LeaderboardSettings(EvaluationSettings):
    """Whose numbers, what is drawn, and how often."""

    protocol: Option[Which] = Choice("coco", "Whose numbers.", Which)
    on: Option[On] = on_setting()
    sigmas: Setting[Any, Any] = Sigmas(omit_default=True)
    metrics: Setting[str | Sequence[str] | None, tuple[str, ...]] = Names(
        ("AP",), "A score of the protocol, such as AP, AP50 or AR100; may be repeated.", short="-m", names=["metric"],
        metavar="NAME", is_signed=False,
    )  # fmt: skip
    missing_from: Setting[Any, Any] = Groups(
        "pool", "Candidates for missing objects: the detectors' own boxes (pool), a file, or none.",
        metavar="pool|FILE|none",
    )  # fmt: skip
    confusion: Setting[str | Path | None, Any] = FileOrContent(
        None, "Table recorded,CLASS…: where wrong labels move to.", default_text="the detectors' own confusions"
    )
    resample: Setting[Any, Any] = Groups(
        "images", "What is drawn again: images, groups of images (a column), or none.", metavar="images|COLUMN|none"
    )
    draws: Option[int] = Count(1000, "How many truths and sets of images are drawn.")
    seed: Option[int] = Whole(0, "Of the draws.")
    level: Option[float] = Level(0.95, "Probability with which intervals and places hold.")
    audit_size: Option[int] = Count(100, "At most so many records to check first.", is_signed=False)
    threads: Option[int | None] = THREADS
    parts: Option[int | None] = Count(None, "", is_signed=False, has_option=False)  # draws need everything at once

    def check(self) -> None:
        if self.sigmas is not None and self.on != "keypoints":
            raise type(self).sigmas.refuse("nothing but with on=keypoints", self.sigmas)
        if self.protocol == "voc" and self.on not in ("box", "rotated"):
            raise type(self).on.refuse("box or rotated with Pascal VOC", self.on)
        if self.protocol == "lvis" and self.on not in ("box", "mask"):
            raise type(self).on.refuse("box or mask with LVIS", self.on)


WORDS = {"shared": "image, label"}  # what else may be said besides a column


def groups_of(truth: Annotations, given: Any, purpose: str) -> NDArray[Any]:
    """The group of each image: a key of the images of a COCO file, `FILE.csv:COLUMN` with a column `image`, or a
    sequence with a value for each image.
    """
    if not isinstance(given, str):
        values = np.asarray(given)
        if values.ndim != 1:
            raise BadParameter(f"{purpose}: expected a group for each image, found {excerpt(given)}")
        if len(values) != len(truth.images):
            raise BadParameter(
                f"{purpose}: expected a group for each of {len(truth.images)} images, found {len(values)}"
            )
        return values
    path, _, column = given.rpartition(":")
    if path:
        return read_column(truth, path, column, purpose)
    records = read_image_records(truth.source)
    known = sorted({key for record in records.values() for key in record})
    if given not in known:
        listed = ", ".join(known) or "no columns"
        raise BadParameter(
            f"{purpose}: expected {WORDS.get(purpose, 'images')}, a column of the truth's images ({listed}) or "
            f"FILE.csv:COLUMN, found {given!r}{did_you_mean(given, known)}"
        )
    missing = [truth.images.name(i) for i in range(len(truth.images)) if given not in records.get(key_of(truth, i), {})]
    if missing:
        raise DataError(f"{purpose}: expected {given!r} for every image, found none for {missing[0]!r}")
    return np.array([str(records[key_of(truth, i)][given]) for i in range(len(truth.images))])


def key_of(truth: Annotations, image: int) -> int | str:
    return int(truth.images.ids[image]) if truth.images.ids is not None else truth.images.name(image)


def read_column(truth: Annotations, path: str, column: str, purpose: str) -> NDArray[Any]:
    """A column of a table that names images."""
    from verite.csv_files import read_csv

    table = read_csv(path, f"the columns image and {column}", ("image", column))
    values: dict[int, str] = {}
    for _, row in table.records():
        image = truth.images.find(row["image"])
        if image is not None:
            values[image] = row[column]
    missing = [i for i in range(len(truth.images)) if i not in values]
    if missing:
        name = truth.images.name(missing[0])
        raise DataError(f"{table.path}: expected a row for every image ({purpose}), found none for {name!r}")
    return np.array([values[i] for i in range(len(truth.images))])


BLOCK = 50  # draws that are held at a time

CORE_DOUBTS = {"images": (True, False), "errors": (False, True), "both": (True, True)}

LEFT_OUT = 100  # draws of a pool without one detector's own boxes


def leaderboard(
    truth: Any, predictions: Any = None, *, errors: Detection | None = None, audit: Any = None, **settings: Any
) -> Leaderboard:
    """How likely the order of detectors by a published score survives errors of the truth, other images, and both.

    `predictions` are a mapping from names, several files or annotations, or a folder or glob of such files; or
    `truth` is a list of results of one
    protocol. `metrics` are scores of the protocol (one matching serves them all), `errors` what may be wrong with the
    truth (`vt.annotation_errors.Detection`), `audit` a table of checked records (`audit.csv`, its verdicts filled in).
    Settings: protocol, on, sigmas, metrics, missing_from, confusion, resample, draws, seed, level, audit_size, threads,
    checks.

    Without errors and with `resample="none"` it is the plain table, sorted.

    >>> from verite import Annotations
    >>> boxes = [[10 * i, 0, 10 * i + 9, 9] for i in range(4)]
    >>> truth = Annotations.of(list("abcd"), ["cat"] * 4, boxes)
    >>> found = [Annotations.of(list("abcd"[:n]), ["cat"] * n, boxes[:n], confidence=[0.9] * n) for n in (3, 2)]
    >>> board = leaderboard(truth, {"two": found[1], "three": found[0]}, draws=100)
    >>> board.names, board.places[0]
    (('three', 'two'), (1, 2))
    """
    asked = LeaderboardSettings(**settings)
    with use_threads(asked.threads):
        return rank_results(evaluate_all(truth, predictions, asked), errors, audit, asked)


def evaluate_all(truth: Any, predictions: Any, settings: LeaderboardSettings) -> dict[str, Results]:
    """The results of every detector, by name."""
    several = truth if predictions is None else predictions
    if not isinstance(several, (Iterable, PathLike)):
        raise BadParameter(f"leaderboard: expected several detectors, found {type(several).__name__}")
    if predictions is None:
        given = list(truth.values()) if isinstance(truth, Mapping) else list(truth)
        for one in given:
            if not isinstance(one, Results):
                found = f"no predictions, and {type(one).__name__} as one of the results"
                raise BadParameter(f"leaderboard: expected predictions, or results of one protocol, found {found}")
        names = list(truth) if isinstance(truth, Mapping) else distinct_names([one.name for one in given])
        return dict(zip(names, given, strict=True))
    record = truth if isinstance(truth, Annotations) else read(truth)
    if isinstance(predictions, (str, PathLike)):
        predictions = list_shards(predictions)
    values = list(predictions.values()) if isinstance(predictions, Mapping) else list(predictions)
    preds = [one if isinstance(one, Annotations) else read(one, like=record) for one in values]
    if isinstance(predictions, Mapping):
        names = [str(name) for name in predictions]
    else:
        names = distinct_names([system_name(pred) for pred in preds])
    if len(preds) < 2:
        raise BadParameter(f"leaderboard: expected at least two detectors, found {len(preds)}")
    return {name: evaluate_one(record, pred, name, settings) for name, pred in zip(names, preds, strict=True)}


def evaluate_one(truth: Annotations, pred: Annotations, name: str, settings: LeaderboardSettings) -> Results:
    """One detector by the protocol that was asked for."""
    more = {} if settings.sigmas is None else {"sigmas": settings.sigmas}
    found: Results = protocol_named(settings.protocol)(
        truth, pred, name=name, on=settings.on, checks=settings.checks, threads=settings.threads, **more
    )
    return found


def rank_results(
    results: Mapping[str, Results], errors: Detection | None, audit: Any, settings: LeaderboardSettings
) -> Leaderboard:
    """A leaderboard of results that are there already."""
    if len(results) < 2:
        raise BadParameter(f"leaderboard: expected at least two detectors, found {len(results)}")
    names, given = tuple(results), list(results.values())
    for one in given:
        check_redrawable(one)
        check_comparable(given[0], one)
    metrics = [find_metric(given[0], metric) for metric in settings.metrics]
    for metric in metrics:
        check_scored(results, metric)
    contest = Contenders(names, given, metrics, errors, audit, settings)
    drawn = contest.draw()
    boards = {}
    for k, metric in enumerate(metrics):
        scores = np.array([one.scores[metric].value for one in given])
        boards[metric] = Board(metric, names, scores, {d: v[:, :, k] for d, v in drawn.items()}, settings.level)
    flips = {metric: contest.find_flips(boards[metric]) for metric in metrics} if drawn else {}
    return Leaderboard(
        boards=boards,
        protocol=given[0].protocol,
        signatures={metric: contest.sign(metric) for metric in metrics},
        errors=contest.errors,
        settings=settings,
        flips=flips,
        truth=given[0].truth,
        pool=contest.pool,
        pooling=contest.leave_out(boards) if drawn else {},
        vanishing=contest.count_vanishing(),
        contest=contest,
        findings=[(name, finding) for name, one in results.items() for finding in one.findings],
    )


def check_scored(results: Mapping[str, Results], metric: str) -> None:
    """Without a score there is no order."""
    for name, one in results.items():
        if np.isnan(one.scores[metric].value):
            path = one.truth.source.path or "truth"
            raise DataError(f"{path}: expected objects that are to be found, found none: {name!r} has no {metric}")


def find_metric(results: Results, metric: str) -> str:
    """The name of a score; AP is the headline of every protocol."""
    if metric not in results.scores and metric.upper() in ("AP", "MAP"):
        return next(iter(results.scores))
    if metric not in results.scores:
        near = did_you_mean(metric, results.scores)
        raise BadParameter(f"metrics: expected one of {', '.join(results.scores)}, found {metric!r}{near}")
    return metric


class Contenders:
    """Detectors on one truth, and all that draws need."""

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
        self.asked = results[0].evaluation.outcomes().is_asked
        self.threads = thread_count(settings.threads)
        self.verdicts = read_verdicts(audit, self.truth) if audit is not None else AuditVerdicts()
        if not isinstance(errors, (Detection, type(None))):
            raise BadParameter(f"errors: expected the rates of verite.annotation_errors, found {excerpt(errors)}")
        self.errors = self.verdicts.complete(Detection() if errors is None else errors)
        self.has_errors = not self.errors.is_none or bool(len(self.verdicts))
        self.groups = self.find_groups()
        if self.errors.favours is not None and self.errors.favours[0] not in names:
            near = did_you_mean(self.errors.favours[0], names)
            raise BadParameter(f"favours: expected one of {', '.join(names)}, found {self.errors.favours[0]!r}{near}")
        if self.errors.mean("jitter") and settings.on != "box":
            raise BadParameter(f"jitter: expected --on box, found {settings.on}: it is not known how others would move")
        self.pool = self.find_pool() if self.has_errors else None
        self.truths = self.make_draws(self.pool) if self.has_errors else None

    def find_groups(self) -> Any:
        """The group of each image, where groups of images are drawn."""
        resample = self.settings.resample
        return None if resample in ("images", NONE) else groups_of(self.truth, resample, "resample")

    def find_pool(self) -> Pool | None:
        """Candidates for missing objects out of the detectors' boxes, or out of a file."""
        source = self.settings.missing_from
        said = any(row[2] == "missing" for row in self.errors.rates) or self.verdicts.has_missing
        if source == NONE or not (self.errors.mean("missing") or said):
            return None
        if isinstance(source, str) and source == "pool":
            return self.pool_members(self.find_unexplained(), range(len(self.results)))
        preds = [one.evaluation.pred for one in self.results]
        objects = source if isinstance(source, Annotations) else read(source, like=self.truth)
        self.candidates = objects.like(self.truth)
        return sort_pool(keep_verified(pool_file(self.truth, self.candidates, preds), self.truth), self.truth)

    def find_unexplained(self) -> UnmatchedDetections:
        """Not kept: it is as large as all predictions together."""
        return find_unexplained(self.truth, [one.evaluation.pred for one in self.results])

    def pool_members(self, boxes: UnmatchedDetections, members: Sequence[int]) -> Pool:
        return sort_pool(keep_verified(boxes.pool(members), self.truth), self.truth)

    def make_draws(self, pool: Pool | None) -> TruthDraws:
        errors, settings = self.errors, self.settings
        confusions = None
        if errors.mean("label") or any(row[2] == "label" for row in errors.rates):
            if settings.confusion is None:
                confusions = count_confusions(self.truth, [one.evaluation.pred for one in self.results])
            else:
                confusions = read_confusions(settings.confusion, self.truth)
        favoured = None if errors.favours is None else self.names.index(errors.favours[0])
        groups = None
        if errors.shared not in (None, "image", "label"):
            groups = groups_of(self.truth, errors.shared, "shared")
        found = None if favoured is None else self.results[favoured].evaluation.outcomes().pred >= 0
        return TruthDraws(
            self.truth,
            self.asked,
            errors,
            settings.seed,
            pool=pool,
            pooled=self.lay_masks(pool),
            confusions=confusions,
            groups=groups,
            found=found,
            favoured=favoured,
            known=self.verdicts.known(self.truth, pool),
        )

    def lay_masks(self, pool: Pool | None) -> Any:
        """The truth's regions and those of the pool's surest boxes, where masks are compared."""
        if self.settings.on == "box":
            return None
        parts = [self.truth.regions]
        detector, row = (np.zeros(0, np.int32),) * 2 if pool is None else pool.best
        if (detector < 0).any():
            parts.append(self.candidates.regions.take(row))
            order = np.arange(len(row))
        else:
            order = np.argsort(detector, kind="stable")
            parts += [self.results[i].evaluation.pred.regions.take(row[detector == i]) for i in np.unique(detector)]
        joined = join_regions(parts)
        places = np.concatenate([np.arange(len(self.truth)), len(self.truth) + np.argsort(order)])
        return joined.take(places), np.full(len(row), np.nan)

    @property
    def doubts(self) -> list[str]:
        images, wrong = self.settings.resample != NONE, self.has_errors
        return [d for d, there in (("images", images), ("errors", wrong), ("both", images and wrong)) if there]

    def draw(self) -> dict[str, Floats]:
        """By doubt the scores of every draw, [draw, detector, metric]."""
        draws, doubts = self.settings.draws, self.doubts
        found = np.empty((draws, len(doubts), len(self.names), len(self.metrics)))
        if not doubts:
            return {}
        with begin("drawing", draws * len(self.names), "evaluations") as advance:
            for first in range(0, draws, BLOCK):
                count = min(BLOCK, draws - first)
                weights, changes = self.draw_block(first, count)
                for i, one in enumerate(self.results):
                    parts = [one.mean_query(metric) for metric in self.metrics]
                    asked = [CORE_DOUBTS[doubt] for doubt in doubts]
                    found[first : first + count, :, i] = one.evaluation.simulate_means(
                        parts, weights, changes, asked, self.threads
                    )
                    advance(count)
        return {doubt: found[:, k] for k, doubt in enumerate(doubts)}

    def draw_block(self, first: int, count: int) -> tuple[Any, Any]:
        """The weights of images and the truths of some draws."""
        weights = None
        if "images" in self.doubts:
            weights = draw_images(self.truth.images, count, self.settings.seed, groups=self.groups, first=first)
        return weights, None if self.truths is None else self.truths.changes(first, count)

    def draw_at(self, factor: float, draws: int) -> Floats:
        """The first score on truths whose rates of errors are so many times as high, [draw, detector]."""
        assert self.truths is not None
        truths = self.truths.with_errors(self.errors.scale(factor))
        changes = truths.changes(0, draws)
        found = [
            one.evaluation.bootstrap_means([one.mean_query(self.metrics[0])], None, changes, self.threads)[:, 0]
            for one in self.results
        ]
        return np.stack(found, axis=1)

    def leave_out(self, boards: Mapping[str, Board]) -> dict[str, float]:
        """By how much each detector's first score gains in the mean because its own boxes are in the pool."""
        if self.pool is None or self.settings.missing_from != "pool" or len(self.names) < 3:
            return {}
        is_drawn = self.errors.mean("missing") or any(row[2] == "missing" for row in self.errors.rates)
        if self.settings.on != "box" or not is_drawn:
            return {}
        count, found = min(LEFT_OUT, self.settings.draws), {}
        if self.errors.favours is None and not len(self.verdicts):
            board = next(iter(boards.values()))
            own = [board.by_doubt["errors"][:count, board.names.index(name)].mean() for name in self.names]
        else:
            own = self.draw_pooled(self.pool, range(len(self.names)), count)
        boxes = self.find_unexplained()
        for i, name in enumerate(self.names):
            pool = self.pool_members(boxes, [j for j in range(len(self.names)) if j != i])
            found[name] = float(own[i] - self.draw_pooled(pool, [i], count)[0])
        return found

    def draw_pooled(self, pool: Pool | None, members: Sequence[int], count: int) -> list[float]:
        """The mean of the first score of some detectors where candidates are these, whoever errors favour."""
        assert self.truths is not None
        assert pool is not None
        changes = self.truths.with_errors(replace(self.errors, favours=None), pool).changes(0, count)
        parts = [(self.results[i], [self.results[i].mean_query(self.metrics[0])]) for i in members]
        return [float(one.evaluation.bootstrap_means(part, None, changes, self.threads).mean()) for one, part in parts]

    def find_flips(self, board: Board) -> Flips:
        return find_flips(board, self.results, self.truth, self.asked, self.errors, self.settings, self.truths)

    def count_vanishing(self) -> float | None:
        """How many classes are in no image of a draw, in the mean."""
        if "images" not in self.doubts or self.groups is not None:
            return None
        present = np.unique(
            self.truth.label[self.asked].astype(np.int64) * len(self.truth.images) + self.truth.image[self.asked]
        )
        images = np.bincount(present // len(self.truth.images), minlength=len(self.truth.labels))
        count = len(self.truth.images)
        return float(((1 - images[images > 0] / count) ** count).sum())

    def sign(self, metric: str) -> Signature:
        """Everything that can change the numbers about a score."""
        own = self.results[0].scores[metric].signature
        spelled = {key: str(value) for key, value in self.settings.signed_values.items() if value is not None}
        for known in ("protocol", "on"):
            spelled.pop(known, None)
        given = {"metric": metric, "score": own.name, **dict(own.settings)}
        said = {"errors": str(self.errors) if self.has_errors else NONE, "checked": str(len(self.verdicts)), **spelled}
        return Signature("leaderboard", tuple((given | said).items()))
