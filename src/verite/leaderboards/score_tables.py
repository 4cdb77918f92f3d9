"""Leaderboards of any table of scores per case: Dice, PQ, F1 or accuracy of systems on images, patients or volumes.

Cases of one patient (or site, or video) are not independent: with cases as units, tests of six equal systems are wrong
in 18 to 27 % of all tables instead of 5 %. Here whole clusters are resampled, and intervals, ranks and ties hold for
all pairs at once (Romano and Wolf's stepdown procedure with Student's t). Patients have unequally many cases: degrees
of freedom are those of Kish's effective number of clusters (Carter, Schnepel and Steigerwald, REStat 2017).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from verite import __version__
from verite.csv_files import header_of, read_csv
from verite.errors import BadParameter, DataError, ReadError, did_you_mean, excerpt, spell_option
from verite.files import find_path
from verite.formats.format import head_of
from verite.leaderboards.result import Board
from verite.model.comparison import check_comparable, distinct_names
from verite.model.results import Results, to_json
from verite.model.tables import Display, Legend, Part, Table
from verite.settings import Choice, Count, Number, Option, P, Settings, SettingsFunction, Text, Whole
from verite.signature import Signature
from verite.statistics.intervals import check_level
from verite.statistics.multiple_comparisons import compare_all_pairs, format_group
from verite.statistics.resampling import MIN_GROUPS, SampledUnits, effective_number, generator, warn_of_few

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.files import JsonObject

    Floats = NDArray[np.float64]

Better = Literal["auto", "higher", "lower"]
Average = Literal["mean", "rank"]
Missing = Literal["stop", "worst", "drop"]
# Columns that are recognised by their names; the first is that of messages.
CASE_COLUMNS = ("case", "image", "item", "volume", "file", "id", "name")
SYSTEM_COLUMNS = ("system", "detector", "algorithm", "model", "method", "team")
SCORE_COLUMNS = ("score", "value", "F1", "PQ", "mIoU", "Dice", "AP", "iou", "accuracy", "right")
# Scores of which lower ones are better, beside those of verite's own metrics; without digits and signs.
ERROR_SCORES = frozenset(
    ("hausdorff", "hd", "hausdorffdistance", "assd", "asd", "msd", "masd", "mae", "mse", "rmse", "error", "errors",
     "loss", "distance", "missrate", "lamr", "volumedifference", "rvd", "avd")
)  # fmt: skip
SCENE_SCORE_COLUMNS = frozenset(("score", "matches", "missed", "spurious"))  # of images.csv of `verite scene-score`
OBJECT_COLUMN = "truth"  # of objects.csv: the ground-truth object of an image
BOX_COLUMNS = ("x", "y", "x1", "xmin", "left", "bbox", "box", "label", "category", "PredictionString")
TASK_STREAM = 40  # of random numbers
IMAGE_BLOCK = 200  # images that are evaluated at a time


class ScoreSettings(Settings):
    """Columns of a table of scores, what is better, and how uncertainty is sampled."""

    TITLE: ClassVar[str] = "Tables of scores"
    case: Option[str | None] = Text(None, "Column of the cases in a table of scores.", metavar="COLUMN")
    system: Option[str | None] = Text(None, "Column of the systems in a table of scores.", metavar="COLUMN")
    score: Option[str | None] = Text(None, "Column of the scores in a table of scores.", metavar="COLUMN")
    cluster: Option[str | None] = Text(
        None, "Column of units that belong together in a table of scores, such as patients.", metavar="COLUMN"
    )
    task: Option[str | None] = Text(
        None, "Column of tasks in a table of scores, which all count alike.", metavar="COLUMN"
    )
    better: Option[Better] = Choice(
        "auto", "Which scores of a table are better: auto is lower for known errors and distances.", Better
    )
    average: Option[Average] = Choice("mean", "Order systems of a table by the mean score or the mean rank.", Average)
    missing: Option[Missing] = Choice(
        "stop", "Cases without a score of some system: stop, worst (the worst score), drop (the case).", Missing
    )
    draws: Option[int] = Count(1000, "Number of bootstrap resamples.")
    seed: Option[int] = Whole(0, "Seed of the random numbers.")
    level: Option[float] = Number(0.95, "Confidence level of intervals, rank sets and ties.")

    def check(self) -> None:
        check_level(self.level)


@dataclass(frozen=True, eq=False)
class CaseScores:
    """Scores of systems on cases, in tasks and clusters.

    Parameters
    ----------
    systems : tuple of str
        The systems.
    cases : list of str
        The cases.
    values : array of float64, shape (cases, systems)
        The scores; nan where a system has none.
    clusters, tasks : list of str, optional
        The cluster and the task of each case.
    score : str
        The name of the score.
    path : str
        The file or files, for messages.
    is_error : bool
        Whether lower scores are better, as far as the name of the score tells.
    """

    systems: tuple[str, ...]
    cases: list[str]
    values: Floats
    clusters: list[str] | None = None
    tasks: list[str] | None = None
    score: str = "score"
    path: str = "scores"
    is_error: bool = False

    def fill(self, missing: Missing, *, higher: bool) -> CaseScores:
        """Return the scores without gaps: with the worst score of the table, or without the cases that have gaps.

        Raises
        ------
        DataError
            There is a gap and none of this is chosen, or nothing is left.
        """
        gaps = np.isnan(self.values)
        if np.isinf(self.values).any():
            row, column = (int(found[0]) for found in np.nonzero(np.isinf(self.values)))
            found = f"{self.values[row, column]:g} of {self.systems[column]!r} for {self.cases[row]!r}"
            raise DataError(f"{self.path}: expected finite scores, found {found}")
        if not gaps.any():
            return self
        if missing == "stop":
            row, column = (int(found[0]) for found in np.nonzero(gaps))
            worst, drop = (spell_option("missing", way) for way in ("worst", "drop"))
            raise DataError(
                f"{self.path}: expected a score of every system for every case, found none of {self.systems[column]!r} "
                f"for {self.cases[row]!r} ({int(gaps.sum()):,} are absent); {worst} counts the worst score, "
                f"{drop} leaves such cases out"
            )
        if missing == "worst":
            lowest = float(np.nanmin(self.values) if higher else np.nanmax(self.values))
            return replace(self, values=np.where(gaps, lowest, self.values))
        kept = np.flatnonzero(~gaps.any(axis=1)).tolist()
        if not kept:
            raise DataError(f"{self.path}: expected cases with a score of every system, found none")
        clusters, tasks = (None if part is None else [part[i] for i in kept] for part in (self.clusters, self.tasks))
        cases = [self.cases[i] for i in kept]
        return replace(self, cases=cases, values=self.values[kept], clusters=clusters, tasks=tasks)


@dataclass(frozen=True, eq=False, repr=False)
class ScoreLeaderboard(Display):
    """A ranking of systems by their scores on cases: the result of :func:`verite.score_leaderboard`.

    Parameters
    ----------
    board : Board
        The ranking; scores are such that more is better.
    scores : CaseScores
        The scores, without gaps.
    settings : ScoreSettings
        The settings.
    units : int
        The number of cases or clusters that are resampled.

    Examples
    --------
    >>> import verite as vt
    >>> cases = [i / 20 for i in range(20)]
    >>> found = vt.score_leaderboard({"old": cases, "new": [score + 0.1 for score in cases]}, score="Dice", draws=100)
    >>> isinstance(found, vt.ScoreLeaderboard), found.names, found.metric
    (True, ('new', 'old'), 'mean Dice')
    >>> found.table().head[:3], found.units
    (('system', 'place', 'score'), 20)
    """

    board: Board
    scores: CaseScores
    settings: ScoreSettings
    units: int

    @property
    def sign(self) -> float:
        """What turns the scores of the board into those that are shown."""
        return -1.0 if self.settings.average == "rank" or self.settings.better == "lower" else 1.0

    @property
    def names(self) -> tuple[str, ...]:
        """The systems, the best first."""
        return self.board.names

    @property
    def metric(self) -> str:
        """What the systems are ordered by."""
        return f"mean rank by {self.scores.score}" if self.settings.average == "rank" else f"mean {self.scores.score}"

    @cached_property
    def significance(self) -> NDArray[np.bool_]:
        """Which systems are significantly better than which, all statements at once: [better, worse]."""
        assert self.board.images is not None
        board = self.board
        return compare_all_pairs(board.scores, self.board.images, board.level, board.effective_units).ahead

    def table(self) -> Table:
        """Return one row per system with plain numbers."""
        board, sign = self.board, self.sign
        columns: dict[str, list[Any]] = {
            "place": list(range(1, len(board.names) + 1)),
            "score": (sign * board.scores).tolist(),
            "sd": [sd for sd, _ in board.spread],
        }
        for at, key in enumerate(("gap", "gap low", "gap high")):
            columns[key] = [None if gap is None else gap[at] for gap in board.gaps]
        for at, key in enumerate(("best place", "last place")):
            columns[key] = [None if places is None else places[at] for places in board.places]
        return Table.of("system", list(board.names), columns)

    def main_table(self) -> Table:
        """The table of systems."""
        return self.table()

    def significance_table(self) -> Table:
        """Return which system (row) is significantly better than which (column): `>`, `<`, or nothing."""
        ahead, names = self.significance, list(self.names)
        rows = tuple(
            (name, *(">" if ahead[i, j] else "<" if ahead[j, i] else "" for j in range(len(names))))
            for i, name in enumerate(names)
        )
        return Table(("better than", *names), rows)

    def tables(self) -> dict[str, Table]:
        """All tables, by the names of their files."""
        return {"leaderboard": self.table(), "significance": self.significance_table()}

    def contents(self) -> list[Part]:
        """Everything that is printed, from top to bottom."""
        board, level = self.board, f"{100 * self.board.level:g} %"
        columns: dict[str, list[Any]] = {
            "place": board.shown_places(),
            self.metric: (self.sign * board.scores).tolist(),
            "sd": [sd for sd, _ in board.spread],
            f"lead ({level})": board.shown_leads(),
        }
        parts: list[Part] = [Table.of("system", list(board.names), columns)]
        groups = "; ".join(format_group(group, board.names) for group in board.groups)
        parts.append(f"statistically tied: {groups}" if groups else "no two systems are statistically tied")
        if len(board.names) > 2:
            table = self.significance_table()
            parts.append(Table(table.head, table.rows, title=f"significance ({level}, all pairs at once)"))
        what = "clusters" if self.scores.clusters is not None else "cases"
        sentence = f"{self.settings.better} is better; {len(self.scores.cases):,} cases"
        sentence += f" in {self.units:,} clusters" if self.scores.clusters is not None else ""
        if self.scores.tasks is not None:
            sentence += f", {len(set(self.scores.tasks))} tasks that count alike"
        parts.append(f"{sentence}; {self.settings.draws:,} bootstrap resamples of {what}, intervals by Student's t")
        parts += warn_of_few(self.units, what)
        parts.append(
            Legend(
                "place: rank, and in parentheses the ranks that cannot be excluded, for all systems at once. lead: "
                "difference to the next system. sd: standard deviation over the resamples."
            )
        )
        return [*parts, self.signature]

    @property
    def signature(self) -> Signature:
        """Everything that can change a number."""
        return self.settings.signature("score_leaderboard", cases=len(self.scores.cases), units=self.units)

    def to_dict(self) -> JsonObject:
        """Everything as plain values; the documented keys of the JSON document."""
        board = self.board
        return {
            "signature": str(self.signature),
            "metric": self.metric,
            "better": self.settings.better,
            "detectors": [
                {
                    "name": name,
                    "score": float(self.sign * board.scores[i]),
                    "sd": board.spread[i][0],
                    "gap": None if gap is None else dict(zip(("value", "low", "high"), gap, strict=True)),
                    "places": list(board.places[i] or ()),
                }
                for i, (name, gap) in enumerate(zip(board.names, board.gaps, strict=True))
            ],
            "pairs": [pair.to_dict() for pair in board.pairs],
            "groups": board.groups,
            "significance": self.significance.tolist(),
            "cases": len(self.scores.cases),
            "units": self.units,
            "draws": self.settings.draws,
            "seed": self.settings.seed,
            "level": self.settings.level,
            "version": __version__,
        }

    def to_json(self, *, indent: int = 0) -> str:
        """The JSON document; absent values are null."""
        return to_json(self.to_dict(), indent=indent)

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame; pandas must be installed."""
        return self.table().to_frame()


class ScoreLeaderboardFunction(SettingsFunction[P, ScoreSettings]):
    """`vt.score_leaderboard`, called like a function; its keyword arguments are `ScoreSettings`."""

    def __call__(self, scores: Any, *args: P.args, **given: P.kwargs) -> ScoreLeaderboard:
        """Rank systems by any score per case, with leads, ranks that cannot be excluded, and ties.

        Parameters
        ----------
        scores : path, sequence, mapping
            A CSV table, long (case, system, score) or wide (case and a column per system); several tables, one per
            system; a mapping from systems to scores, in the same order of cases; or several results of one protocol,
            such as :func:`verite.panoptic`, :func:`verite.semantic`, :func:`verite.f1`, :func:`verite.localize`: images
            are cases.
        case, system, score : str, optional
            Columns of the table; recognised by their names if they are not given.
        cluster : str, optional
            The column of units that belong together, such as patients: these are resampled.
        task : str, optional
            The column of tasks. Tasks count alike, and are strata of the resampling.
        better : {"auto", "higher", "lower"}, default "auto"
            Which scores are better: "auto" is lower for the scene score and for known errors and distances (Hausdorff,
            ASSD, MAE, miss rate and others), else higher. The printed text says which.
        average : {"mean", "rank"}, default "mean"
            Order by the mean score, or by the mean rank within cases (with tasks, standardised by the number of
            systems).
        missing : {"stop", "worst", "drop"}, default "stop"
            Cases without a score of some system: an error, the worst score of the table, or without the case.
        draws, seed : int
            Number of bootstrap resamples, and the seed of the random numbers.
        level : float, default 0.95
            The confidence level.

        Returns
        -------
        ScoreLeaderboard
            The ranking and its uncertainty.

        Raises
        ------
        DataError
            There are fewer than two systems, or scores are absent.
        BadParameter
            A column does not exist, or there are fewer than five clusters.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> base = rng.random(60)
        >>> found = score_leaderboard({"old": base, "new": base + 0.1 + 0.01 * rng.random(60)}, score="Dice")
        >>> found.names, found.significance.tolist()
        (('new', 'old'), [[False, True], [False, False]])
        """
        settings = self.settings_of(*args, **given)
        return rank_scores(read_scores(scores, settings), settings)


score_leaderboard = ScoreLeaderboardFunction("score_leaderboard", ScoreSettings)


def rank_scores(scores: CaseScores, settings: ScoreSettings) -> ScoreLeaderboard:
    """Make the leaderboard of scores that were read."""
    if len(scores.systems) < 2:
        raise DataError(f"{scores.path}: expected at least two systems, found {len(scores.systems)}")
    if not len(scores.cases):
        raise DataError(f"{scores.path}: expected cases, found none")
    if settings.better == "auto":
        settings = settings.change(better="lower" if scores.is_error else "higher")
    full = scores.fill(settings.missing, higher=settings.better == "higher")
    oriented = full.values if settings.better == "higher" else -full.values
    tasks = full.tasks or ["" for _ in full.cases]
    if settings.average == "rank":
        oriented = -mean_ranks(oriented)
        if full.tasks is not None:
            oriented = oriented / len(full.systems)
    if full.clusters is not None and len(set(full.clusters)) < MIN_GROUPS:
        found = len(set(full.clusters))
        raise BadParameter(
            f"cluster: expected at least {MIN_GROUPS} clusters, found {found}: so few say next to nothing"
        )
    if len(full.cases) < MIN_GROUPS:
        raise DataError(f"{scores.path}: expected at least {MIN_GROUPS} cases, found {len(full.cases)}")
    clusters = np.array(
        full.clusters if full.clusters is not None else [f"{t}\0{c}" for t, c in zip(tasks, full.cases, strict=True)]
    )
    points, samples = [], []
    for number, name in enumerate(sorted(set(tasks))):
        rows = np.flatnonzero([task == name for task in tasks])
        points.append(oriented[rows].mean(axis=0))
        # Mean scores on bootstrap resamples of the clusters of one task, [resample, system].
        values = oriented[rows]
        names, unit = np.unique(clusters[rows], return_inverse=True)
        count = len(names)
        sums = np.zeros((count, values.shape[1] + 1))
        np.add.at(sums, unit, np.column_stack([values, np.ones(len(values))]))
        if number == 0:
            weights = SampledUnits(np.arange(count), count).bootstrap(settings.draws, settings.seed)
        else:
            rng = generator(settings.seed, number, TASK_STREAM)
            weights = rng.multinomial(count, np.full(count, 1 / count), settings.draws).astype(np.float64)
        drawn = weights @ sums
        samples.append(np.asarray(drawn[:, :-1] / drawn[:, -1:]))
    sizes = np.unique(clusters, return_counts=True)[1]
    units = len(sizes)
    board = Board(
        full.score, full.systems, np.mean(points, axis=0), {"images": np.mean(samples, axis=0)}, settings.level, units,
        is_grouped=True, effective_units=effective_number(sizes),
    )  # fmt: skip
    return ScoreLeaderboard(board, full, settings, units)


def mean_ranks(values: Floats) -> Floats:
    """Return the rank of each system within each case, 1 for the highest value; tied systems share the mean rank.

    >>> mean_ranks(np.array([[0.9, 0.5, 0.9]])).tolist()
    [[1.5, 3.0, 1.5]]
    """
    above = (values[:, None, :] > values[:, :, None]).sum(axis=2)
    equal = (values[:, None, :] == values[:, :, None]).sum(axis=2)
    return np.asarray(above + (equal + 1) / 2)


def read_scores(given: Any, settings: ScoreSettings) -> CaseScores:
    """Read scores from a table, several tables, a mapping from systems, or results."""
    if isinstance(given, (str, PathLike)):
        return read_table(given, settings)
    if isinstance(given, Mapping) and given and all(isinstance(one, Results) for one in given.values()):
        return scores_of_results(given, settings)
    if isinstance(given, Mapping):
        # Scores by system, all in the same order of cases.
        try:
            columns = [np.asarray(values, dtype=np.float64).reshape(-1) for values in given.values()]
        except (TypeError, ValueError, OverflowError):
            raise BadParameter(f"scores: expected a list of numbers for each system, found {excerpt(given)}") from None
        if len({len(column) for column in columns}) > 1:
            lengths = ", ".join(str(len(column)) for column in columns)
            raise BadParameter(f"scores: expected as many scores of every system, found {lengths}")
        values = np.stack(columns, axis=1) if columns else np.zeros((0, 0))
        cases = [str(i) for i in range(len(values))]
        score = settings.score or "score"
        return CaseScores(tuple(map(str, given)), cases, values, score=score, is_error=is_error_score(score))
    several = list(given) if isinstance(given, Iterable) else []
    if several and all(isinstance(one, Results) for one in several):
        names = distinct_names([one.name for one in several])
        return scores_of_results(dict(zip(names, several, strict=True)), settings)
    if several and all(isinstance(one, (str, PathLike)) for one in several):
        return join_tables([Path(one) for one in several], settings)
    raise BadParameter(f"scores: expected a table, scores by system, or several results, found {excerpt(given)}")


def is_error_score(name: str, columns: Iterable[str] = ()) -> bool:
    """Return whether lower values of a score are better, by its name and the other columns of its table.

    >>> [is_error_score(name) for name in ("HD95", "Hausdorff distance", "Dice", "gce", "iou")]
    [True, True, False, True, False]
    >>> is_error_score("score", ["image", "score", "truths", "preds", "matches", "missed", "spurious"])
    True
    """
    from verite.metrics.catalogue import ALIASES, load_builtin, metric

    if name == "score" and set(columns) >= SCENE_SCORE_COLUMNS:
        return True
    if re.sub("[^a-z]", "", name.casefold().removeprefix("mean ")) in ERROR_SCORES:
        return True
    load_builtin()
    return name.casefold() in ALIASES and metric(name).better == "lower"


def find_column(head: Sequence[str], wanted: str | None, usual: Sequence[str], what: str, path: Any) -> str | None:
    """Return the column of a name that was given, or the first of the usual names; None if there is none of these."""
    if wanted is not None:
        if wanted not in head:
            near = did_you_mean(wanted, head)
            raise BadParameter(f"{what}: expected a column of {path} ({', '.join(head)}), found {wanted!r}{near}")
        return wanted
    lower = {name.casefold(): name for name in head}
    return next((lower[name.casefold()] for name in usual if name.casefold() in lower), None)


def is_score_table(path: Path) -> bool:
    """Return whether a file is a CSV table of scores of one system, such as images.csv of `verite f1 -o FOLDER`.

    It has a column of cases and one of scores, and no boxes, as tables of predictions have.
    """
    if path.suffix.lower() not in (".csv", ".tsv") or not path.is_file():
        return False
    head = {name.strip().strip('"').casefold() for name in re.split("[,;\t]", header_of(head_of(path)))}
    has = [any(name.casefold() in head for name in names) for names in (CASE_COLUMNS, SCORE_COLUMNS, BOX_COLUMNS)]
    return has[0] and has[1] and not has[2]


def read_table(path: Any, settings: ScoreSettings) -> CaseScores:
    """Read one CSV table: long if it has a column of systems, else wide, with a column per system."""
    place = find_path(path)
    table = read_csv(place, "a header such as case,system,score, or case and a column per system")
    head = table.head
    case = find_column(head, settings.case, CASE_COLUMNS, "case", place)
    system = find_column(head, settings.system, SYSTEM_COLUMNS, "system", place)
    extra = {
        key: find_column(head, getattr(settings, key), (), key, place)
        for key in ("cluster", "task")
        if getattr(settings, key) is not None
    }
    if case is None:
        raise ReadError(
            f"{place}:1",
            expected=f"a column of cases ({CASE_COLUMNS[0]}), or {spell_option('case', 'NAME')}",
            found=", ".join(head),
        )
    keys: dict[tuple[str, str], int] = {}
    facts: dict[str, list[str]] = {key: [] for key in extra}
    cells: dict[tuple[int, str], float] = {}
    systems: dict[str, None] = {}
    score = None
    if system is not None:
        score = find_column(head, settings.score, SCORE_COLUMNS, "score", place)
        if score is None:
            raise ReadError(
                f"{place}:1",
                expected=f"a column of scores ({SCORE_COLUMNS[0]}), or {spell_option('score', 'NAME')}",
                found=", ".join(head),
            )
    columns = [name for name in head if name not in (case, *extra.values())] if system is None else [str(score)]
    for where, row in table.records():
        task = row[str(extra["task"])] if "task" in extra else ""
        known = keys.setdefault((task, row[case]), len(keys))
        for key, column in extra.items():
            if known == len(facts[key]):
                facts[key].append(row[str(column)])
        for column in columns:
            name = column if system is None else row[system]
            systems.setdefault(name)
            if (known, name) in cells:
                found = f"a second one of {name!r} for {row[case]!r}"
                raise ReadError(where, expected="one score per case and system", found=found)
            try:
                cells[known, name] = float(row[column]) if row[column].strip() else np.nan
            except ValueError:
                raise ReadError(where, expected=f"a number in {column}", found=excerpt(row[column])) from None
    names = list(systems)
    values = np.full((len(keys), len(names)), np.nan)
    for (row_number, name), value in cells.items():
        values[row_number, names.index(name)] = value
    return CaseScores(
        tuple(names), [name for _, name in keys], values, facts.get("cluster"), facts.get("task"),
        settings.score or score or "score", str(place),
        is_error_score(settings.score or score or "score", head if system is not None else ()),
    )  # fmt: skip


def join_tables(paths: Sequence[Path], settings: ScoreSettings) -> CaseScores:
    """Join tables of one system each: cases of the same names, as `verite … -o FOLDER` writes them.

    In objects.csv of `verite localize` ground-truth objects are cases and their images are clusters; predictions
    without one are left out.
    """
    systems = distinct_names(
        [path.stem if path.stem not in ("images", "objects", "cases") else path.parent.name for path in paths]
    )
    rows: dict[tuple[str, str], dict[str, float]] = {}
    clusters: dict[tuple[str, str], str] = {}
    score = settings.score
    head: tuple[str, ...] = ()
    for path, name in zip(paths, systems, strict=True):
        place = find_path(path)
        table = read_csv(place, "a header such as image,F1")
        head = tuple(table.head)
        case = find_column(table.head, settings.case, CASE_COLUMNS, "case", place)
        score = find_column(table.head, score, SCORE_COLUMNS, "score", place)
        cluster = find_column(table.head, settings.cluster, (), "cluster", place)
        task = find_column(table.head, settings.task, (), "task", place)
        if case is None or score is None:
            names = " and ".join(spell_option(name, "NAME") for name in ("case", "score"))
            expected = f"a column of cases and one of scores, or {names}"
            raise ReadError(f"{place}:1", expected=expected, found=", ".join(table.head))
        of_objects = settings.case is None and case == "image" and OBJECT_COLUMN in table.head
        for where, row in table.records():
            if of_objects and not row[OBJECT_COLUMN].strip():
                continue
            known = f"{row[case]} {row[OBJECT_COLUMN]}" if of_objects else row[case]
            key = (row[task] if task else "", known)
            own = rows.setdefault(key, {})
            if name in own:
                remedy = f"name the column with {spell_option('case', 'NAME')}"
                raise ReadError(where, expected="each case once", found=f"{known!r} again", remedy=remedy)
            try:
                own[name] = float(row[score]) if row[score].strip() else np.nan
            except ValueError:
                raise ReadError(where, expected=f"a number in {score}", found=excerpt(row[score])) from None
            if cluster or of_objects:
                clusters[key] = row[cluster or case]
    values = np.array([[own.get(name, np.nan) for name in systems] for own in rows.values()])
    return CaseScores(
        tuple(systems), [name for _, name in rows], values.reshape(len(rows), len(systems)),
        [clusters[key] for key in rows] if clusters else None,
        [task for task, _ in rows] if settings.task else None, score or "score", ", ".join(map(str, paths)),
        is_error_score(score or "score", head),
    )  # fmt: skip


def scores_of_results(results: Mapping[str, Results], settings: ScoreSettings) -> CaseScores:
    """Take the score of each image alone from results of any protocol: panoptic, semantic, f1, localize, scene score.

    An image without a score, such as one without objects, is left out if no detector has one there.
    """
    given = list(results.values())
    known = list(given[0].scores)
    score = settings.score or known[0]
    if score not in known:
        near = did_you_mean(score, known)
        raise BadParameter(f"score: expected one of {', '.join(known)}, found {score!r}{near}")
    images = given[0].truth.images
    columns = []
    for one in given:
        check_comparable(given[0], one)
        blocks = []
        for first in range(0, len(images), IMAGE_BLOCK):
            rows = np.arange(first, min(first + IMAGE_BLOCK, len(images)))
            weights = np.zeros((len(rows), len(images)))
            weights[np.arange(len(rows)), rows] = 1.0
            blocks.append(np.asarray(one.draw_scores([score], weights)[:, 0], dtype=np.float64))
        columns.append(np.concatenate(blocks) if blocks else np.zeros(0))
    values = np.stack(columns, axis=1)
    kept = np.flatnonzero(~np.isnan(values).all(axis=1))
    cases = [images.name(int(i)) for i in kept]
    is_error = given[0].is_error(score)
    return CaseScores(tuple(map(str, results)), cases, values[kept], score=score, path="results", is_error=is_error)
