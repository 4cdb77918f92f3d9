"""Results of `vt.leaderboard`: ranks, pairwise probabilities, rank sets, tied detectors; tables, text and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from verite import __version__
from verite.arrays import np
from verite.errors import spell_option
from verite.leaderboards.audit import AuditRow, audit_table
from verite.model.results import describe_cuts, digest_for, to_json
from verite.model.tables import ABSENT, Display, Legend, Part, Table
from verite.statistics.half_samples import ALL
from verite.statistics.intervals import MIN_RESAMPLES, difference_interval, wilson
from verite.statistics.multiple_comparisons import TIE, compare_all_pairs, format_group
from verite.statistics.rankings import OrderShares, RankProbabilities, rank_probabilities
from verite.statistics.resampling import warn_of_few
from verite.statistics.shrinkage import DRAWS, MIN_DETECTORS, shrunken_scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.annotation_errors.detection import Detection
    from verite.files import JsonObject
    from verite.leaderboards.audit import CheckedOdds
    from verite.leaderboards.candidates import CandidatePool
    from verite.leaderboards.gold import GoldCorrection
    from verite.leaderboards.influence import RankingInfluence
    from verite.leaderboards.leaderboard import LeaderboardSettings, LeaderboardSimulation
    from verite.leaderboards.plan import Plan
    from verite.model.annotations import Annotations
    from verite.signature import Signature
    from verite.statistics.half_samples import ScoreInterval

    Floats = NDArray[np.float64]


# Sources of uncertainty, in the order of tables and arrays, and how they are printed.
SOURCES = {"errors": "annotation errors", "images": "bootstrap of images", "both": "both"}
NOT_COVERED = (
    "all of this is conditional on the model; not covered: errors that favour one detector unless --bias-toward states "
    "it, other annotation guidelines, images of another kind"
)
NO_ERRORS_COVERED = "not covered: annotation errors, other annotation guidelines, images of another kind"
POOL = "Candidates for missing objects are unmatched detections, which favours the detectors in the table"


@dataclass(frozen=True, eq=False)
class DetectorPair:
    """Two detectors, the one with the higher score first, and how often they keep their order."""

    first: str
    second: str
    shares: dict[str, OrderShares | None]  # by source of uncertainty; None where it was not simulated
    count: int  # of simulations

    def to_dict(self) -> JsonObject:
        """The documented keys of the JSON document: shares and their 95 % confidence intervals by source."""
        document: JsonObject = {"first": self.first, "second": self.second}
        for source, shares in self.shares.items():
            document[source] = None
            if shares is not None:
                intervals = {side: list(ends) for side, ends in shares.intervals(self.count).items()}
                document[source] = {**shares._asdict(), "intervals": intervals}
        return document


class Board:
    """The ranking of all detectors by one score, the best first, and its simulations.

    Parameters
    ----------
    metric
        The score.
    names, scores
        The detectors in any order, and their scores.
    samples
        Simulated scores by source of uncertainty, [simulation, detector]; sources that were not simulated are absent.
    level
        The confidence level.
    units
        The number of images or groups that are resampled; None where nothing is.
    is_grouped
        Whether these are groups of images.
    effective_units
        The effective number of groups where they are of unequal size, for Student's t; `units` by default.
    intervals
        The confidence interval around each score, from half-samples, in the order of `names`.
    """

    def __init__(
        self,
        metric: str,
        names: tuple[str, ...],
        scores: Floats,
        samples: dict[str, Floats],
        level: float = 0.95,
        units: int | None = None,
        *,
        is_grouped: bool = False,
        intervals: Sequence[ScoreInterval] = (),
        effective_units: int | None = None,
    ) -> None:
        order = sorted(range(len(names)), key=lambda i: (np.isnan(scores[i]), -scores[i], names[i]))
        self.order = order
        self.metric, self.level, self.units, self.is_grouped = metric, level, units, is_grouped
        self.effective_units = units if effective_units is None else effective_units
        self.names = tuple(names[i] for i in order)
        self.scores = scores[order]
        self.intervals = [intervals[i] for i in order] if intervals else []
        self.samples = {
            source: np.ascontiguousarray(samples[source][:, order]) for source in SOURCES if source in samples
        }

    @property
    def draws(self) -> Floats:
        """[source, simulation, detector]: errors, images, both; nan where a source was not simulated."""
        found = np.full((len(SOURCES), self.count, len(self.names)), nan)
        for i, source in enumerate(SOURCES):
            if source in self.samples:
                found[i] = self.samples[source]
        return found

    @property
    def count(self) -> int:
        """The number of simulations."""
        return max((len(samples) for samples in self.samples.values()), default=0)

    @cached_property
    def probabilities(self) -> dict[str, RankProbabilities]:
        """Pairwise and rank probabilities by source of uncertainty."""
        return {source: rank_probabilities([drawn], self.scores, TIE) for source, drawn in self.samples.items()}

    @property
    def images(self) -> Floats | None:
        """The bootstrap over images alone, which gaps and rank sets come from."""
        return self.samples.get("images")

    @cached_property
    def gaps(self) -> list[tuple[float, float, float] | None]:
        """Each detector's lead over the next with its bootstrap confidence interval; None for the last."""
        gaps: list[tuple[float, float, float] | None] = []
        for i in range(len(self.names) - 1):
            value, low, high = float(self.scores[i] - self.scores[i + 1]), nan, nan
            if self.images is not None:
                samples = self.images[:, i] - self.images[:, i + 1]
                units = self.effective_units if self.is_grouped else None
                low, high = difference_interval(value, samples, self.level, units)
            gaps.append((value, low, high))
        return [*gaps, None]

    @cached_property
    def spread(self) -> list[tuple[float, float]]:
        """Each detector's bootstrap standard deviation, and the bias of its score: how far it lies above that of
        infinitely many images, by half-samples."""
        deviations = [nan] * len(self.names)
        if self.images is not None and len(self.images) > 1:
            deviations = np.nanstd(self.images, axis=0, ddof=1).tolist()
        biases = [interval.excess for interval in self.intervals] or [nan] * len(self.names)
        return list(zip(deviations, biases, strict=True))

    @cached_property
    def places(self) -> list[tuple[int, int] | None]:
        """Simultaneous confidence sets for ranks from the bootstrap over images: best and worst rank."""
        if self.images is None:
            return [None] * len(self.names)
        found = compare_all_pairs(self.scores, self.images, self.level, self.effective_units).rank_sets
        return [(int(low), int(high)) for low, high in found]

    def shown_places(self) -> list[str]:
        """Return ranks as printed: by score, and in parentheses those that cannot be excluded where these are more."""
        sets = [places or (0, 0) for places in self.places]
        return [f"{i + 1}" if low == high else f"{i + 1} ({low}–{high})" for i, (low, high) in enumerate(sets)]

    def shown_leads(self) -> list[str]:
        """Return leads over the next detector as printed, with their intervals where there are any."""
        leads = []
        for gap in self.gaps:
            value, low, high = gap or (nan, nan, nan)
            shown = f"{value:.4f}" if isnan(low) else f"{value:.4f} [{low:+.4f}, {high:+.4f}]"
            leads.append(ABSENT if gap is None else shown)
        return leads

    @cached_property
    def groups(self) -> list[list[str]]:
        """Runs of neighbours that are statistically tied under both sources of uncertainty, or under the only one.

        Differences are those in the mean over simulated annotation errors, which may shift them. Two detectors are tied
        also where the one with the higher score stays ahead in a smaller share of simulations than the level.
        """
        if not self.samples:
            return []
        source = "both" if "both" in self.samples else next(iter(self.samples))
        scores = self.scores
        if "errors" in self.samples:
            scores = np.nanmean(self.samples["errors"], axis=0)
        units = self.effective_units if source != "errors" else None
        found = compare_all_pairs(scores, self.samples[source], self.level, units)
        found.ahead[self.probabilities[source].wins < self.level] = False
        return [[self.names[i] for i in run] for run in found.tied_groups(list(range(len(self.names))))]

    def p_first(self, i: int) -> dict[str, float | None]:
        """The share of simulations in which the i-th detector is first, by source; tied detectors share the rank.

        Under annotation errors it is a probability given the model. Over images it is not: resamples are centred at the
        scores, of which the highest was probably lucky; see `p_first_images`.
        """
        return self.p_rank(i, 0)

    @cached_property
    def p_first_images(self) -> list[float | None]:
        """The probability of each detector to be first over all images, by hierarchical shrinkage of the scores.

        It holds if the detectors are as alike as their scores suggest; None with fewer than three detectors, or without
        a bootstrap of images.
        """
        enough = self.images is not None and np.count_nonzero(~np.isnan(self.images).any(axis=1)) > 1
        if not enough or len(self.names) < MIN_DETECTORS or np.isnan(self.scores).any():
            return [None] * len(self.names)
        drawn = shrunken_scores(self.scores, self.images)
        is_first = drawn >= drawn.max(axis=1, keepdims=True) - TIE
        return [float(share) for share in (is_first / is_first.sum(axis=1, keepdims=True)).mean(axis=0)]

    def p_keeps(self, i: int) -> dict[str, float | None]:
        """The share of simulations in which the i-th detector keeps its rank, by source."""
        return self.p_rank(i, i)

    def p_rank(self, i: int, rank: int) -> dict[str, float | None]:
        """The share of simulations in which the i-th detector has a rank, counted from 0, by source."""
        found = self.probabilities
        return {s: float(found[s].ranks[i, rank]) if s in found else None for s in SOURCES}

    @property
    def whole_order(self) -> dict[str, float | None]:
        """The share of simulations in which all pairs with different scores keep their order, by source."""
        return {s: self.probabilities[s].whole if s in self.probabilities else None for s in SOURCES}

    @cached_property
    def pairs(self) -> list[DetectorPair]:
        """Every two detectors, the one with the higher score first."""
        found = []
        for i in range(len(self.names)):
            for j in range(i + 1, len(self.names)):
                shares: dict[str, OrderShares | None] = dict.fromkeys(SOURCES)
                for source, p in self.probabilities.items():
                    shares[source] = OrderShares(float(p.wins[i, j]), float(p.ties[i, j]), float(p.wins[j, i]))
                found.append(DetectorPair(self.names[i], self.names[j], shares, self.count))
        return found

    @property
    def sources(self) -> list[str]:
        """The simulated sources of uncertainty in words."""
        return [SOURCES[source] for source in self.samples]

    @property
    def turned(self) -> list[tuple[str, str, str]]:
        """Neighbours whose order is reversed in the mean of the simulations: source, first and second by score."""
        found = []
        for source, samples in self.samples.items():
            mean = np.nanmean(samples, axis=0)
            turned = (self.scores[:-1] - self.scores[1:] > TIE) & (mean[1:] - mean[:-1] > TIE)
            found += [(source, self.names[i], self.names[i + 1]) for i in np.flatnonzero(turned)]
        return found

    @cached_property
    def copies(self) -> list[tuple[str, str]]:
        """Neighbours that are tied in every simulation, such as two copies of one detector."""
        found = []
        for i in range(len(self.names) - 1):
            samples = list(self.samples.values())
            level = [np.nanmax(np.abs(s[:, i] - s[:, i + 1])) <= TIE for s in samples]
            if samples and all(level) and abs(self.scores[i] - self.scores[i + 1]) <= TIE:
                found.append((self.names[i], self.names[i + 1]))
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Display):
    """A ranking of detectors by one or several scores, and its uncertainty: the result of :func:`verite.leaderboard`.

    Attributes without a score in their name are about the first one.

    Parameters
    ----------
    boards : dict of str to Board
        The ranking by each score.
    protocol : str
        The evaluation protocol.
    signatures : dict of str to Signature
        Everything that can change the probabilities, by score.
    errors : Detection
        The error model.
    settings : LeaderboardSettings
        The settings of the leaderboard.
    truth : Annotations
        The ground truth.
    influence : dict of str to RankingInfluence
        The annotations that decide the ranking, by score.
    pool : CandidatePool, optional
        The candidates for missing objects.
    pooling : dict of str to float
        Pooling bias: what its own boxes in the pool add to a detector's first score, on average.
    by_detectable : dict of str to dict of float to float
        P(first) of each detector under annotation errors, by the share of missing objects that are detectable.
    vanishing : float, optional
        The mean number of classes that occur in no image of a bootstrap resample.
    no_interval : str
        Why there are no intervals around scores, where there are none.
    findings : list
        Findings of the checks, with the name of the detector.
    simulation : LeaderboardSimulation, optional
        Everything that further simulations need.
    gold : GoldCorrection, optional
        Leads by the first score, corrected by gold images.
    plan : Plan, optional
        What the decision between neighbours by the first score needs.

    Examples
    --------
    >>> from verite import Annotations, leaderboard
    >>> truth = Annotations.of(["a", "b"], ["cat"] * 2, [[0, 0, 9, 9]] * 2)
    >>> both = Annotations.of(["a", "b"], ["cat"] * 2, [[0, 0, 9, 9]] * 2, confidence=[0.9] * 2)
    >>> board = leaderboard(truth, {"one": both.take([0]), "both": both}, draws=50)
    >>> {name: round(score, 4) for name, score in board.scores.items()}
    {'both': 1.0, 'one': 0.505}
    """

    boards: dict[str, Board]
    protocol: str
    signatures: dict[str, Signature]
    errors: Detection
    settings: LeaderboardSettings
    truth: Annotations
    influence: dict[str, RankingInfluence] = field(default_factory=dict)
    pool: CandidatePool | None = None
    pooling: dict[str, float] = field(default_factory=dict)
    by_detectable: dict[str, dict[float, float]] = field(default_factory=dict)
    vanishing: float | None = None
    no_interval: str = ""
    findings: list[tuple[str, Any]] = field(default_factory=list)
    simulation: LeaderboardSimulation | None = None
    gold: GoldCorrection | None = None
    plan: Plan | None = None

    @property
    def board(self) -> Board:
        """The ranking by the first score."""
        return next(iter(self.boards.values()))

    @property
    def metric(self) -> str:
        """The first score."""
        return self.board.metric

    @property
    def signature(self) -> Signature:
        """Everything that can change the probabilities of the ranking by the first score."""
        return self.signatures[self.metric]

    @property
    def names(self) -> tuple[str, ...]:
        """The detectors, the best first."""
        return self.board.names

    @property
    def scores(self) -> dict[str, float]:
        """The first score of each detector, the best first."""
        return dict(zip(self.board.names, self.board.scores.tolist(), strict=True))

    @property
    def pairs(self) -> list[DetectorPair]:
        """Every two detectors, the one with the higher score first."""
        return self.board.pairs

    @property
    def places(self) -> list[tuple[int, int] | None]:
        """Confidence sets for ranks, all at once: best and worst rank of each detector; None without a bootstrap."""
        return self.board.places

    @property
    def groups(self) -> list[list[str]]:
        """Statistically tied detectors."""
        return self.board.groups

    @property
    def draws(self) -> NDArray[np.float64]:
        """Simulated scores, [source, simulation, detector]: sources errors, images, both; detectors as in `names`."""
        return self.board.draws

    @property
    def shows_intervals(self) -> bool:
        """Whether there are confidence intervals around the scores."""
        return bool(self.board.intervals) and not self.no_interval

    @property
    def audit(self) -> list[AuditRow]:
        """The annotations to check, the most decisive first."""
        return self.influence[self.metric].rows if self.metric in self.influence else []

    def flip_of(self, metric: str, i: int) -> int | None:
        """Return how many annotations swap the i-th detector with the next one when they are removed."""
        return self.influence[metric].flip[i] if metric in self.influence else None

    def gamma_of(self, metric: str, i: int) -> float | None:
        """Return the bias Γ of spurious annotations that ties the i-th detector with the next one."""
        return self.influence[metric].gamma[i] if metric in self.influence else None

    def odds_of(self, metric: str, i: int) -> CheckedOdds | None:
        """Return by what odds checked annotations err rather where the i-th detector finds them, not the next one."""
        return self.influence[metric].odds[i] if metric in self.influence else None

    def kept_at(self, factor: float, draws: int) -> list[float]:
        """Return how often neighbours keep their order with all error rates multiplied by a factor.

        Parameters
        ----------
        factor
            Multiplies all error rates of the model.
        draws
            Number of simulations, at most that of the leaderboard.

        Returns
        -------
        list[float]
            A share per pair of neighbours in the ranking; ties do not keep an order.
        """
        assert self.simulation is not None
        samples = self.simulation.scores_at(factor, min(draws, self.settings.draws))[:, self.board.order]
        ahead = samples[:, :-1] - samples[:, 1:] > TIE
        return [float(share) for share in ahead.mean(axis=0)]

    def table(self, metric: str | None = None) -> Table:
        """Return one row per detector with plain numbers, for files."""
        board = self.boards[metric or self.metric]
        columns: dict[str, list[Any]] = {"place": list(range(1, len(board.names) + 1)), "score": board.scores.tolist()}
        columns |= {"sd": [sd for sd, _ in board.spread], "bias": [bias for _, bias in board.spread]}
        if self.shows_intervals:
            for key in ("value", "low", "high"):
                columns[f"score {key}"] = [getattr(interval, key) for interval in board.intervals]
        for at, key in enumerate(("gap", "gap low", "gap high")):
            columns[key] = [None if gap is None else gap[at] for gap in board.gaps]
        columns |= self.share_columns(board, "errors")
        for at, key in enumerate(("best place", "last place")):
            columns[key] = [None if places is None else places[at] for places in board.places]
        columns["flip"] = [self.flip_of(board.metric, i) for i in range(len(board.names))]
        columns["gamma"] = [self.gamma_of(board.metric, i) for i in range(len(board.names))]
        if self.pooling and board.metric == self.metric:
            columns["own boxes"] = [self.pooling.get(name) for name in board.names]
        return Table.of("detector", list(board.names), columns)

    def share_columns(self, board: Board, errors: str) -> dict[str, list[float | None]]:
        """Return how often each detector is first and keeps its rank, by source of uncertainty.

        Under annotation errors, for which heads say `errors`, shares of simulations are probabilities given the model.
        Over images they are shares, named as such, with the probability by shrinkage beside them.
        """
        columns: dict[str, list[float | None]] = {}
        ranks = range(len(board.names))
        for probability, share, found in (
            ("P(first)", "first in", board.p_first),
            ("P(keeps)", "kept in", board.p_keeps),
        ):
            for source in board.samples:
                head = f"{probability} {errors}" if source == "errors" else f"{share} {source}"
                columns[head] = [found(i)[source] for i in ranks]
                if source == "images" and probability == "P(first)" and board.p_first_images[0] is not None:
                    columns["P(first) images"] = board.p_first_images
        return columns

    def main_table(self) -> Table:
        """The table of the first score."""
        return self.table()

    def pair_table(self, metric: str | None = None) -> Table:
        """Return one row per pair: shares of simulations with Wilson's confidence intervals."""
        board = self.boards[metric or self.metric]
        columns: dict[str, list[Any]] = {"second": [pair.second for pair in board.pairs]}
        for source in board.samples:
            shares = [found for pair in board.pairs if (found := pair.shares[source]) is not None]
            intervals = [found.intervals(board.count) for found in shares]
            for side in OrderShares._fields:
                columns[f"{side} {source}"] = [getattr(found, side) for found in shares]
                columns[f"{side} {source} low"] = [found[side][0] for found in intervals]
                columns[f"{side} {source} high"] = [found[side][1] for found in intervals]
        return Table.of("first", [pair.first for pair in board.pairs], columns)

    def place_table(self, metric: str | None = None) -> Table:
        """Return how often each detector had each rank: shares of simulations, not posterior probabilities."""
        board = self.boards[metric or self.metric]
        rows = [
            (name, source, *ranks)
            for source, found in board.probabilities.items()
            for name, ranks in zip(board.names, found.ranks.tolist(), strict=True)
        ]
        return Table(("detector", "doubt", *(str(i + 1) for i in range(len(board.names)))), tuple(rows))

    def tables(self) -> dict[str, Table]:
        """All tables, by the names of their files."""
        found = {}
        for metric, board in self.boards.items():
            end = "" if metric == self.metric else f"-{metric.replace('@', '-')}"
            found[f"leaderboard{end}"] = self.table(metric)
            if board.samples:
                found |= {f"pairs{end}": self.pair_table(metric), f"places{end}": self.place_table(metric)}
        if self.influence:
            found["audit"] = audit_table(self.audit)
        if self.gold is not None:
            found["gold"] = self.gold.table()
        return found

    def shown_table(self, metric: str) -> Table:
        """Return the printed table of a score: of several sources of uncertainty, the shares under all of them."""
        board, ranks = self.boards[metric], range(len(self.boards[metric].names))
        columns: dict[str, list[Any]] = {"place": board.shown_places()}
        if not board.samples:
            return Table.of("detector", list(board.names), columns | {metric: board.scores.tolist()})
        halves = [(one.high - one.low) / 2 for one in board.intervals] if self.shows_intervals else []
        if self.shows_intervals and board.intervals[0].images == board.intervals[0].measured_on:
            pairs = zip(board.scores.tolist(), halves, strict=True)
            columns[f"{metric} ±"] = [f"{score:.4f} ± {half:.4f}" for score, half in pairs]
        else:
            columns[metric] = board.scores.tolist()
        if self.shows_intervals and f"{metric} ±" not in columns:
            images = board.intervals[0].images
            many = "all images" if images == ALL else f"{images:,} images"
            values = zip(board.intervals, halves, strict=True)
            columns[f"{metric} on {many}"] = [f"{one.value:.4f} ± {half:.4f}" for one, half in values]
        columns[f"lead ({100 * self.settings.level:g} %)"] = board.shown_leads()
        source = list(board.samples)[-1]  # both, if there are two
        first_in, kept_in = ("P(first)", "P(keeps)") if source == "errors" else ("first in", "kept in")
        columns[first_in] = [format_share(board.p_first(i)[source], board.count) for i in ranks]
        if board.p_first_images[0] is not None:
            columns[self.shrunken_head] = [format_share(share, DRAWS) for share in board.p_first_images]
        columns[kept_in] = [format_share(board.p_keeps(i)[source], board.count) for i in ranks]
        columns["flip"] = [self.flip_of(metric, i) for i in ranks]
        return Table.of("detector", list(board.names), columns)

    @property
    def shrunken_head(self) -> str:
        """The head of the probability by shrinkage, which is about images alone."""
        return "P(first) images" if "errors" in self.board.samples else "P(first)"

    def source_table(self, metric: str) -> Table | None:
        """Return the shares by source of uncertainty, standard deviation, Γ and own boxes; None if there is no more."""
        board, ranks = self.boards[metric], range(len(self.boards[metric].names))
        columns: dict[str, list[Any]] = {}
        if board.images is not None:
            columns["sd"] = [sd for sd, _ in board.spread]
        if len(board.samples) > 1:
            for head, shares in self.share_columns(board, "annotations").items():
                if head != "P(first) images":
                    columns[head] = [format_share(share, board.count) for share in shares]
        if self.errors.mean("spurious"):
            gammas = [self.gamma_of(metric, i) for i in ranks]
            columns["Γ"] = [ABSENT if g is None else f"{g:.2f}" if g < 100 else f"{g:.0f}" for g in gammas]
        if self.pooling and metric == self.metric:
            columns["own boxes"] = [f"{self.pooling[name]:+.4f}" for name in board.names]
        if not columns:
            return None
        names = list(board.names)
        return replace(Table.of("detector", names, columns, title=f"{metric} by source of uncertainty"), is_detail=True)

    def contents(self) -> list[Part]:
        """Everything that is printed, from top to bottom."""
        parts: list[Part] = []
        for metric, board in self.boards.items():
            table = self.shown_table(metric)
            parts.append(Table(table.head, table.rows, title=metric) if len(self.boards) > 1 else table)
            parts += self.describe_ranking(board)
            if board.samples and (details := self.source_table(metric)) is not None:
                parts.append(details)
        for more in (self.gold, self.plan):
            parts += more.contents() if more is not None else []
        cuts = describe_cuts({name: [found for whose, found in self.findings if whose == name] for name in self.names})
        return [*parts, *self.notes, *cuts, self.signature]

    def describe_ranking(self, board: Board) -> list[str]:
        """Return sentences about the ranking as a whole: tied groups, probability, copies, reversals."""
        if not board.samples:
            return []
        groups = "; ".join(format_group(group, board.names) for group in board.groups)
        tied = f"statistically tied: {groups}" if groups else "no two detectors are statistically tied"
        whole = ", ".join(
            f"{format_share(board.whole_order[source], board.count)} under {SOURCES[source]}"
            for source in board.samples
        )
        lines = [tied, f"whole ranking kept: {whole}"]
        lines += [f"tied in every simulation: {one} and {two}" for one, two in board.copies]
        turned: dict[tuple[str, str], list[str]] = {}
        for source, first, second in board.turned:
            turned.setdefault((first, second), []).append(source)
        reversals = [
            f"{second} above {first} ({', '.join(SOURCES[source] for source in sources)})"
            for (first, second), sources in turned.items()
        ]
        if reversals:
            lines.append(f"warning: the ranking by score is not the likeliest one; in the mean, {'; '.join(reversals)}")
        for i, first in enumerate(board.names[:-1]):
            odds, gamma = self.odds_of(board.metric, i), self.gamma_of(board.metric, i)
            if odds is None:
                continue
            found = f"odds of checked annotations {odds.value:.2g} [{odds.low:.2g}, {odds.high:.2g}]"
            limit = "no Γ" if gamma is None else f"Γ {gamma:.2f}"
            verdict = f"no sign that errors favour {first}"
            if gamma is not None and odds.high > gamma:
                verdict = f"errors may favour {first} enough to tie the two"
                if odds.low > 1:
                    verdict = f"errors do favour {first}, perhaps enough to tie the two"
            elif odds.low > 1:
                verdict = f"errors favour {first}, but not enough"
            lines.append(f"{first} and {board.names[i + 1]}: {limit}, {found}: {verdict}")
        return lines

    @property
    def notes(self) -> list[str]:
        """What was simulated, assumed and not covered, with the legend of the tables."""
        board = self.board
        if not board.samples:
            return []
        draws = self.settings.draws
        simulated = "simulation" if draws == 1 else "simulations"
        notes = [f"{draws:,} {simulated}, sources of uncertainty: {', '.join(board.sources)}"]
        if "errors" in board.samples:
            notes.append(f"assumed: {self.errors.assumption}")
            if self.simulation is not None and len(self.simulation.verdicts):
                count = len(self.simulation.verdicts)
                notes.append(f"{count:,} audited annotations are as the audit found them in every simulation")
        if self.by_detectable:
            shares = self.by_detectable[self.names[0]]
            known = ", ".join(f"{format_share(p, 200)} if {100 * share:g} % are" for share, p in shares.items())
            notes.append(
                f"P(first) of {self.names[0]} under annotation errors depends on how many missing objects are "
                f"detectable ({spell_option('detectable')}): {known}"
            )
        if board.images is not None:
            notes += [f"no interval around {self.metric}: {self.no_interval}"] * (not self.shows_intervals)
            notes += [f"no interval of a lead: expected at least {MIN_RESAMPLES} draws"] * (draws < MIN_RESAMPLES)
            if board.is_grouped:
                notes += warn_of_few(board.units, approximate="intervals, places and ties")
        if self.vanishing is not None and self.vanishing >= 0.05:
            notes.append(
                f"on average {self.vanishing:.1f} classes are in no image of a resample and do not count there"
            )
        return [*notes, NOT_COVERED if "errors" in board.samples else NO_ERRORS_COVERED, *self.legend()]

    def legend(self) -> list[Legend]:
        """Return the explanations of the columns."""
        board = self.board
        lines = ["Simulations show how stable the ranking is; they do not estimate true scores."]
        if board.images is not None:
            lines.append(
                "place: rank by score, and in parentheses the ranks that cannot be excluded, for all detectors at once "
                "(Mogstad et al.). lead: difference to the next detector. Both are from the bootstrap of images."
            )
            lines += [self.interval_legend()] * self.shows_intervals
            lines.append(
                "first in, kept in: share of simulations in which a detector is first, and in which it keeps its rank "
                "toward its neighbours. Over resampled images this is no probability: the leader on these images was "
                "probably lucky."
            )
            if board.p_first_images[0] is not None:
                known = ", if there are no annotation errors and" if "errors" in board.samples else ", if"
                lines.append(
                    f"{self.shrunken_head}: probability of being first on all images{known} these detectors are as "
                    "alike as their scores suggest (hierarchical shrinkage)."
                )
        if "errors" in board.samples:
            heads = (
                ["P(first)", "P(keeps)"]
                if len(board.samples) == 1
                else ["P(first) annotations", "P(keeps) annotations"]
            )
            lines.append(
                f"{', '.join(heads)}: probability that a detector is first, and that it keeps its rank, under the "
                "assumed annotation errors."
            )
        if self.influence:
            lines.append(self.influence_legend())
        if self.pool is not None and self.settings.missing_from == "pool":
            lines.append(f"{POOL} (own boxes: how much each gains)." if self.pooling else f"{POOL}.")
        return [Legend(line) for line in lines]

    def interval_legend(self) -> str:
        """The legend of the interval around the score."""
        one = self.board.intervals[0]
        largest = max(interval.excess for interval in self.board.intervals)
        legend = f"±: {100 * one.level:g} % confidence interval of the score, by random halves of the images"
        if one.images == one.measured_on:
            legend += f", of its mean over test sets of {one.measured_on:,} images"
        return f"{legend}. {self.metric} of {one.measured_on:,} images lies above that of more by up to {largest:.4f}."

    def influence_legend(self) -> str:
        """The legend of the columns flip and Γ."""
        legend = "flip: smallest number of annotations found whose removal swaps this detector with the next"
        if any(None in found.flip[:-1] for found in self.influence.values()):
            legend += " (–: none found, or the two are tied)"
        if self.errors.mean("spurious"):
            legend += (
                ". Γ: odds by which spurious annotations must favour this detector until the two are tied (first "
                "order, spurious annotations only)"
            )
            if any(None in found.gamma[:-1] for found in self.influence.values()):
                legend += " (–: no odds do, or the two are tied)"
        return f"{legend}."

    def board_dict(self, metric: str) -> JsonObject:
        """Return the documented keys about one score."""
        board = self.boards[metric]
        detectors = []
        for i, name in enumerate(board.names):
            gap = board.gaps[i]
            deviation, bias = board.spread[i]
            detectors.append(
                {
                    "name": name,
                    "score": float(board.scores[i]),
                    "sd": deviation,
                    "bias": bias,
                    "interval": board.intervals[i].to_dict() if self.shows_intervals else None,
                    "gap": None if gap is None else dict(zip(("value", "low", "high"), gap, strict=True)),
                    "p_first": board.p_first(i),
                    "p_first_images": board.p_first_images[i],
                    "p_keeps": board.p_keeps(i),
                    "places": None if board.places[i] is None else list(board.places[i] or ()),
                    "flip": self.flip_of(metric, i),
                    "gamma": self.gamma_of(metric, i),
                    "checked_odds": None if (odds := self.odds_of(metric, i)) is None else odds._asdict(),
                    **(
                        {"p_first_by_detectable": {f"{share:g}": p for share, p in self.by_detectable[name].items()}}
                        if self.by_detectable and metric == self.metric
                        else {}
                    ),
                    **({"own_boxes": self.pooling.get(name)} if self.pooling and metric == self.metric else {}),
                    "frequencies": {source: found.ranks[i].tolist() for source, found in board.probabilities.items()},
                }
            )
        return {
            "metric": metric,
            "detectors": detectors,
            "pairs": [pair.to_dict() for pair in board.pairs],
            "groups": board.groups,
            "whole_order": board.whole_order,
            "turned": [{"doubt": source, "first": a, "second": b} for source, a, b in board.turned],
            "audit": [row.to_dict() for row in self.influence[metric].rows] if metric in self.influence else [],
        }

    def to_dict(self) -> JsonObject:
        """Everything as plain values; the documented keys of the JSON document."""
        resample = self.settings.resample if isinstance(self.settings.resample, str) else "given groups"
        has_errors = "errors" in self.board.samples
        document: JsonObject = {"protocol": self.protocol, "signature": str(self.signature)}
        document |= self.board_dict(self.metric)
        document |= {
            "draws": self.settings.draws if self.board.samples else 0,
            "seed": self.settings.seed,
            "level": self.settings.level,
            "errors": str(self.errors) if has_errors else None,
            "assumption": self.errors.assumption if has_errors else None,
            "resample": None if self.board.images is None else resample,
            "vanishing_classes": self.vanishing,
            "version": __version__,
            "truth": {"path": self.truth.source.path, "digest": digest_for(self.signature, self.truth)},
        }
        if self.gold is not None:
            document["gold"] = self.gold.to_dict()
            chances = dict(zip(self.gold.names, self.gold.p_first, strict=True))
            document["detectors"] = [one | {"p_first_gold": chances[one["name"]]} for one in document["detectors"]]
        if self.plan is not None:
            document["plan"] = self.plan.to_dict()
        if len(self.boards) > 1:
            document["metrics"] = {
                metric: {"signature": str(self.signatures[metric]), **self.board_dict(metric)} for metric in self.boards
            }
        return document

    def to_json(self, *, indent: int = 0) -> str:
        """The JSON document; absent values are null."""
        return to_json(self.to_dict(), indent=indent)

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame; pandas must be installed."""
        return self.table().to_frame()


def format_share(share: float | None, count: int) -> str:
    """Format a share of simulations; none or all of them is shown as its confidence bound.

    >>> format_share(0.965, 1000), format_share(0.0, 1000), format_share(1.0, 1000), format_share(None, 0)
    ('0.965', '<0.004', '>0.996', '–')
    >>> format_share(0.0001, 10_000), format_share(0.9999, 10_000)
    ('<0.001', '>0.999')
    """
    if share is None or isnan(share) or not count:
        return ABSENT
    if share in (0.0, 1.0):
        low, high = wilson(share, count)
        return f"<{high:.3f}" if share == 0 else f">{low:.3f}"
    if not 0.0005 <= share < 0.9995:
        return "<0.001" if share < 0.5 else ">0.999"
    return f"{share:.3f}"
