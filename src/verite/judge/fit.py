"""Hold metrics against votes: consistency of judges, strengths of results, agreement of each metric, human ceiling.

Judges are the units of all intervals. Shares of votes are means over judges with Student's t, widened by the spread
over objects, so that they hold for other judges and for other objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import permutations
from math import isnan, nan, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import DataError
from verite.judge.plan import Plan, Trial, penalties_of
from verite.judge.scenes import (
    SceneScoreFit,
    ScoreGrid,
    log_likelihoods,
    preset_penalties,
    score_grid,
    settings_of_grid,
)
from verite.judge.votes import EQUAL, UNSURE, Vote
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table
from verite.statistics.intervals import student_quantile

if TYPE_CHECKING:
    from verite.files import JsonObject

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FAILED = 0.3  # share of failed catch trials above which a judge is left out
COMPONENTS = ("pascal", "robin_loc", "robin_com", "robin_cor", "pixel_precision", "pixel_recall", "hausdorff")
FOLDS, LEAST_VOTES = 5, 10
ALL = slice(None)
STEPS, RATE, RIDGE = 400, 0.5, 1e-3  # of the fitted metric: projected gradient ascent


@dataclass(frozen=True)
class Share:
    """A share with its 95 % confidence interval."""

    agreement: float
    low: float
    high: float
    votes: int = 0


def crossed_interval(values: Floats, judges: Ints, items: Ints) -> Share:
    """Return the mean of votes with an interval for other judges and other items (crossed clusters).

    The variance is that of judges' means plus that of items' means; Student's t has the degrees of freedom of the
    smaller number of clusters. The interval is cut to 0 and 1.

    >>> crossed_interval(np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    Share(agreement=1.0, low=1.0, high=1.0, votes=4)
    """
    if not len(values):
        return Share(nan, nan, nan)
    mean, variance, freedom = float(values.mean()), 0.0, len(values)
    for of in (judges, items):
        _, at, counts = np.unique(of, return_inverse=True, return_counts=True)
        groups = len(counts)
        if groups < 2:
            continue
        residuals = np.bincount(at, weights=values - mean)
        variance += float((residuals**2).sum()) / len(values) ** 2 * groups / (groups - 1)
        freedom = min(freedom, groups - 1)
    half = student_width(freedom) * sqrt(variance)
    return Share(mean, max(0.0, mean - half), min(1.0, mean + half), len(values))


def student_width(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t.

    >>> round(student_width(10), 3)
    2.228
    """
    return float(student_quantile(1.959963984540054, max(1, freedom)))


@dataclass(frozen=True)
class JudgeSummary:
    """One judge.

    Parameters
    ----------
    votes : int
        Answers.
    self_agreement : float
        Share of repeats with the same answer.
    side_bias : float
        Share of decided votes for the left side.
    catch_failed : float
        Share of catch trials that failed.
    agreement : float
        Share of pairs on which the judge votes as most of the others do.
    excluded : bool
        Whether the judge is left out of everything else.
    """

    votes: int
    self_agreement: float
    side_bias: float
    catch_failed: float
    agreement: float
    excluded: bool


@dataclass(frozen=True, repr=False)
class JudgeFit(Display):
    """What people think, and which metrics agree with them.

    Parameters
    ----------
    judges : dict of JudgeSummary
        By name.
    alpha : float
        Krippendorff's alpha (nominal) of the judges that are kept.
    strengths : dict of Share
        Davidson's strength of each result (log scale, mean 0), with intervals over judges.
    metrics : dict of Share
        Share of decided votes that each metric predicts.
    ceiling : Share
        Share of votes that the majority of the other judges predicts.
    contrasts : dict of Share
        Named preferences.
    metric : FittedMetric, optional
        Weights of the fitted metric and its held-out share of votes.
    scene_score : SceneScoreFit, optional
        Settings of the scene score that agree best.
    chance : float, default 0.5
        Share of votes that a random choice predicts.
    """

    judges: dict[str, JudgeSummary]
    alpha: float
    strengths: dict[str, Share]
    metrics: dict[str, Share]
    ceiling: Share
    contrasts: dict[str, Contrast]
    metric: FittedMetric | None = None
    scene_score: SceneScoreFit | None = None
    chance: float = 0.5

    @property
    def fitted(self) -> JsonObject:
        """The fitted metric and scene score as in the JSON document."""
        found = asdict(self.metric) if self.metric is not None else {}
        return found | ({"scene_score": asdict(self.scene_score)} if self.scene_score is not None else {})

    def judge_table(self) -> Table:
        """Return the judges."""
        rows = self.judges
        heads = {
            "votes": "votes",
            "self_agreement": "repeats alike",
            "side_bias": "left",
            "catch_failed": "catch failed",
            "agreement": "as others",
        }
        columns: dict[str, list[Any]] = {head: [getattr(j, key) for j in rows.values()] for key, head in heads.items()}
        return Table.of("judge", list(rows), columns | {"": ["excluded" if j.excluded else "" for j in rows.values()]})

    def main_table(self) -> Table:
        """Return the metrics, the best first."""
        order = sorted(self.metrics, key=lambda name: -self.metrics[name].agreement)
        columns = {key: [getattr(self.metrics[name], key) for name in order] for key in ("agreement", "low", "high")}
        return Table.of("metric", order, columns)

    def contrast_table(self) -> Table:
        """Return the named preferences."""
        rows = [(name, c.about, c.agreement, c.low, c.high, c.votes) for name, c in self.contrasts.items()]
        return Table(("contrast", "property", "share", "low", "high", "votes"), tuple(rows))

    def strength_table(self) -> Table:
        """Return the strengths of the results."""
        found = self.strengths.values()
        columns = {"log strength": [s.agreement for s in found], "low": [s.low for s in found],
                   "high": [s.high for s in found]}  # fmt: skip
        return Table.of("result", list(self.strengths), columns)

    def tables(self) -> dict[str, Table]:
        """Return all tables by name, as `verite judge fit -o` saves them."""
        return {
            "judges": self.judge_table(),
            "metrics": self.main_table(),
            "contrasts": self.contrast_table(),
            "strengths": self.strength_table(),
        }

    def contents(self) -> list[Part]:
        kept = sum(not judge.excluded for judge in self.judges.values())
        lines = [f"{kept} of {len(self.judges)} judges kept (at most {100 * FAILED:.0f} % of catch trials failed); "
                 f"Krippendorff's alpha {self.alpha:.3f}"]  # fmt: skip
        ceiling = f"human ceiling (one judge against most others): {show(self.ceiling)}"
        parts: list[Part] = [self.judge_table(), *lines, self.main_table(), ceiling]
        parts += [self.contrast_table()] * bool(self.contrasts) + [self.strength_table()] * bool(self.strengths)
        return [*parts, *self.describe_fits()]

    def describe_fits(self) -> list[str]:
        """Return what was fitted, with the share of held-out votes, in sentences."""
        lines = []
        if self.metric is not None:
            weights = ", ".join(f"{name} {w:.3f}" for name, w in self.metric.weights.items() if w > 0)
            lines.append(f"fitted metric: {weights or 'no weight'}; held-out share of votes (other objects and judges) "
                         f"{self.metric.held_out:.3f} [{self.metric.low:.3f}, {self.metric.high:.3f}]")  # fmt: skip
        found = self.scene_score
        if found is not None and found.alpha is not None:
            held = "" if found.held_out is None or isnan(found.held_out) else (
                f"; held-out share of votes (other images and judges) {found.held_out:.3f} "
                f"[{found.low:.3f}, {found.high:.3f}]")  # fmt: skip
            lines.append(f"scene score: alpha {found.alpha:.2f} [{found.alpha_low:.2f}, {found.alpha_high:.2f}], "
                         f"threshold {found.threshold:g}, localization {found.localization}{held}")  # fmt: skip
        elif found is not None:
            lines.append(f"scene score: localization {found.localization} agrees best; {found.why}")
        return lines

    def to_json(self, *, indent: int = 0) -> str:
        found = {
            "judges": {name: asdict(judge) for name, judge in self.judges.items()},
            "alpha": self.alpha,
            "metrics": {name: asdict(share) for name, share in self.metrics.items()},
            "ceiling": asdict(self.ceiling),
            "contrasts": {name: asdict(share) for name, share in self.contrasts.items()},
            "strengths": {name: asdict(share) for name, share in self.strengths.items()},
            "chance": self.chance,
            "properties": judged_properties(self.contrasts),
            "fitted": self.fitted,
        }
        return to_json(found, indent=indent)


def show(share: Share) -> str:
    """Return a share with its interval in words."""
    if isnan(share.agreement):
        return "unknown"
    return f"{share.agreement:.3f} [{share.low:.3f}, {share.high:.3f}], n = {share.votes:,}"


def krippendorff(units: Sequence[Sequence[str]]) -> float:
    """Return Krippendorff's alpha of nominal values; each unit has the values of its judges.

    >>> krippendorff([["a", "a"], ["b", "b"], ["a", "b"]])
    0.4444444444444444
    """
    kept = [unit for unit in units if len(unit) > 1]
    values = sorted({value for unit in kept for value in unit})
    if len(values) < 2:
        return nan
    at = {value: i for i, value in enumerate(values)}
    coincidence = np.zeros((len(values), len(values)))
    for unit in kept:
        counts = np.bincount([at[value] for value in unit], minlength=len(values)).astype(np.float64)
        coincidence += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    totals = coincidence.sum(axis=1)
    n = totals.sum()
    observed = n - np.trace(coincidence)
    expected = (n**2 - (totals**2).sum()) / (n - 1)
    return float(1 - observed / expected)


def davidson(wins: Floats, ties: Floats, steps: int = 500) -> Floats:
    """Return log strengths of Davidson's model (Bradley–Terry with ties), with mean 0.

    Parameters
    ----------
    wins : array [i, j]
        How often i was preferred to j.
    ties : array [i, j]
        How often both were judged equal, symmetric.
    steps : int
        Iterations of the minorisation algorithm.

    Examples
    --------
    >>> np.exp(davidson(np.array([[0.0, 3], [1, 0]]), np.zeros((2, 2)))).round(3)      # odds 3 to 1
    array([1.732, 0.577])
    """
    count = len(wins)
    strength, nu = np.ones(count), 0.5
    prior = 0.0 if (wins.sum(axis=1) > 0).all() else 0.5  # a result that never won keeps a finite strength
    own = wins.sum(axis=1) + ties.sum(axis=1) / 2 + prior
    games = wins + wins.T + ties
    total_ties = np.triu(ties).sum()
    for _ in range(steps):
        roots = np.sqrt(np.outer(strength, strength))
        below = strength[:, None] + strength[None] + nu * roots
        weight = games / below
        grad = (weight * (1 + 0.5 * nu * np.sqrt(strength[None] / strength[:, None]))).sum(axis=1)
        strength = own / np.maximum(grad + prior, 1e-300)
        strength /= np.exp(np.log(strength).mean())
        if total_ties:
            nu = total_ties / max(np.triu(weight * roots).sum(), 1e-300)
        else:
            nu = 0.0
    logs = np.log(strength)
    found: Floats = logs - logs.mean()
    return found


def comparison_key(trial: Trial) -> str:
    """Return object and results of a trial, whatever their sides: those of a repeat are those of its pair."""
    return "|".join([trial.object, *sorted(trial.names)])


def summarise_judges(plan: Plan, votes: Sequence[Vote]) -> dict[str, JudgeSummary]:
    """Return consistency, side bias, catch trials and agreement of every judge."""
    by_judge: dict[str, dict[str, Vote]] = {}
    for vote in votes:
        by_judge.setdefault(vote.judge, {})[vote.pair] = vote
    first_of = {comparison_key(trial): trial.id for trial in plan.trials if trial.kind == "pair"}
    found = {}
    for name, mine in by_judge.items():
        trials = {pair: plan.by_id[pair] for pair in mine}
        again = {p: first_of.get(comparison_key(trial), "") for p, trial in trials.items() if trial.kind == "repeat"}
        repeats = [(mine[p].choice, mine[first].choice) for p, first in again.items() if first in mine]
        caught = [mine[p].choice != trial.answer for p, trial in trials.items() if trial.kind == "catch"]
        sides = [vote.choice == vote.left for vote in mine.values() if vote.choice in (vote.left, vote.right)]
        same = []
        for pair, vote in mine.items():
            others = [other[pair].choice for who, other in by_judge.items() if who != name and pair in other]
            if trials[pair].kind == "pair" and vote.is_decided and (most := majority(others)):
                same.append(vote.choice == most)
        failed = float(np.mean(caught)) if caught else nan
        found[name] = JudgeSummary(
            len(mine),
            float(np.mean([a == b for a, b in repeats])) if repeats else nan,
            float(np.mean(sides)) if sides else nan,
            failed,
            float(np.mean(same)) if same else nan,
            bool(caught) and failed > FAILED,
        )
    return found


def majority(choices: Sequence[str]) -> str:
    """Return the strict majority among decided choices; "" if there is none.

    >>> majority(["a", "b", "a"]), majority(["a", "b"])
    ('a', '')
    """
    decided = [choice for choice in choices if choice not in (EQUAL, UNSURE)]
    return next((choice for choice in set(decided) if 2 * decided.count(choice) > len(decided)), "")


@dataclass(frozen=True, eq=False)
class DecidedVotes:
    """Decided votes as columns: which of the results was chosen, by judge, object and trial.

    Parameters
    ----------
    chosen : array of int
        Position of the chosen result in its trial: 0 is the left one.
    judge, object, pair : array of int
        Positions of the judge, of the object and of the trial.
    trials : list of Trial
        Pairs and repeats.
    penalties : dict of array, [trial, option]
        Penalty of every metric; nan where a trial has fewer options.
    grid : ScoreGrid, optional
        Scene scores of trials of whole scenes.
    """

    chosen: Ints
    judge: Ints
    object: Ints
    pair: Ints
    trials: list[Trial]
    penalties: dict[str, Floats]
    grid: ScoreGrid | None = None

    @cached_property
    def comparisons(self) -> tuple[Ints, Ints]:
        """Rows of votes, and a result that was not chosen: a vote among n results is n - 1 comparisons."""
        counts = np.array([len(trial.names) for trial in self.trials], dtype=np.int64)
        most = int(counts.max()) if len(counts) else 2
        rows = np.repeat(np.arange(len(self.chosen)), most)
        other = np.tile(np.arange(most), len(self.chosen))
        options = counts[self.pair] if len(counts) else np.full(len(self.chosen), most)
        kept = (other < options[rows]) & (other != self.chosen[rows])
        return rows[kept], other[kept]

    def difference(self, penalties: Floats) -> Floats:
        """Return the penalty of results that were not chosen minus that of the chosen ones; positive agrees."""
        rows, other = self.comparisons
        found: Floats = penalties[self.pair[rows], other] - penalties[self.pair[rows], self.chosen[rows]]
        return found

    def hits(self, penalties: Floats, rows: Ints | slice = ALL) -> Floats:
        """Return for each vote 1 where the chosen result has the lowest penalty, shared where several have it.

        Parameters
        ----------
        penalties
            Penalty of each result by a metric, [trial, result]; NaN where the metric is not defined.
        rows
            Votes to look at.

        Returns
        -------
        Floats
            1, 0, or 1/k where k results share the lowest penalty; the mean is the agreement with people.
        """
        values, chosen = penalties[self.pair[rows]], self.chosen[rows]
        best = values <= np.nanmin(values, axis=1, keepdims=True) + 1e-12
        found: Floats = best[np.arange(len(chosen)), chosen] / best.sum(axis=1)
        return found


def decided_votes(plan: Plan, votes: Sequence[Vote]) -> DecidedVotes:
    """Return the decided votes on pairs and repeats as columns, with the penalties of all results.

    Raises
    ------
    DataError
        If the plan has catch trials alone.
    """
    trials = [trial for trial in plan.trials if trial.kind != "catch"]
    if not trials:
        raise DataError("judge: expected pairs of results, found catch trials alone")
    at = {trial.id: i for i, trial in enumerate(trials)}
    judges = {name: i for i, name in enumerate(dict.fromkeys(vote.judge for vote in votes))}
    objects = {name: i for i, name in enumerate(dict.fromkeys(trial.object for trial in trials))}
    kept = [vote for vote in votes if vote.pair in at and vote.is_decided]
    grid = score_grid(trials) if trials[0].scenes else None
    return DecidedVotes(
        np.array([trials[at[vote.pair]].names.index(vote.choice) for vote in kept], dtype=np.int64),
        np.array([judges[vote.judge] for vote in kept], dtype=np.int64),
        np.array([objects[trials[at[vote.pair]].object] for vote in kept], dtype=np.int64),
        np.array([at[vote.pair] for vote in kept], dtype=np.int64),
        trials,
        box_penalties(trials) if grid is None else preset_penalties(grid),
        grid,
    )


def box_penalties(trials: Sequence[Trial]) -> dict[str, Floats]:
    """Return the penalty of every metric of the catalogue, [trial, option], nan for options that a trial lacks."""
    options = max(len(trial.boxes) for trial in trials)
    sides = []
    for k in range(options):
        boxes = [trial.boxes[min(k, len(trial.boxes) - 1)] for trial in trials]
        sides.append(penalties_of([trial.truth for trial in trials], boxes, [trial.size for trial in trials]))
    is_absent = np.array([[k >= len(trial.boxes) for k in range(options)] for trial in trials])
    found = {}
    for name in sides[0]:
        if all(name in side for side in sides):
            found[name] = np.stack([side[name] for side in sides], axis=1)
            found[name][is_absent] = nan
    return found


def metric_shares(decided: DecidedVotes) -> dict[str, Share]:
    """Return the share of decided votes that each metric predicts; results that it judges alike share a vote."""
    return {
        name: crossed_interval(decided.hits(penalties), decided.judge, decided.object)
        for name, penalties in decided.penalties.items()
    }


def human_ceiling(decided: DecidedVotes) -> Share:
    """Return how well the most frequent choice of the other judges predicts a vote, shared where several are."""
    values, rows = [], []
    for pair in np.unique(decided.pair).tolist():
        here = np.flatnonzero(decided.pair == pair)
        counts = np.bincount(decided.chosen[here], minlength=len(decided.trials[pair].names))
        for row in here.tolist():
            own = decided.chosen[row]
            others = counts - (np.arange(len(counts)) == own)
            if others.sum():
                best = others == others.max()
                values.append(float(best[own]) / float(best.sum()))
                rows.append(row)
    at = np.array(rows, dtype=np.int64)
    return crossed_interval(np.array(values), decided.judge[at], decided.object[at])


@dataclass(frozen=True)
class Contrast(Share):
    """A named preference: a share of comparisons with its interval, and the property of metrics that it is about."""

    about: str = ""


# Properties of a metric that votes on results of one object cannot test, and why.
NOT_JUDGED = {
    "triangle inequality": "votes compare results of one object, not three regions with each other",
    "continuity": "a vote is one of two answers, however small the difference",
}
CLOSE = 0.1  # largest difference of IoU between boxes of "about equal IoU"
APART = 0.02  # relative difference from which a box is too large, too tall or shifted


def box_contrasts(decided: DecidedVotes) -> dict[str, Contrast]:
    """Return named preferences, each about one of the properties of metrics that the studies look at.

    Contrasts of size, shape and direction count pairs of about equal IoU alone (difference at most 0.1). A contrast
    that no vote is about is left out.
    """
    rows, other = decided.comparisons
    pair, chosen, judge, object = (of[rows] for of in (decided.pair, decided.chosen, decided.judge, decided.object))
    options = max(len(trial.boxes) for trial in decided.trials)
    boxes = np.array([[t.boxes[min(k, len(t.boxes) - 1)] for k in range(options)] for t in decided.trials])
    truth = np.array([trial.truth for trial in decided.trials])[:, None]
    size, own = boxes[..., 2:] - boxes[..., :2], truth[..., 2:] - truth[..., :2]
    middle = ((boxes[..., :2] + boxes[..., 2:]) - (truth[..., :2] + truth[..., 2:])) / 2 / own
    iou = 1 - decided.penalties["iou"]
    area, aspect = size.prod(axis=2) / own.prod(axis=2), (size[..., 1] / size[..., 0]) / (own[..., 1] / own[..., 0])
    small = own.prod(axis=2)[:, 0] <= np.median(own.prod(axis=2))
    outside, inside = ((boxes - truth) * np.array([-1, -1, 1, 1]) * sign for sign in (1, -1))
    found: dict[str, Contrast] = {}

    def add(
        name: str, about: str, first: NDArray[np.bool_], second: NDArray[np.bool_], where: NDArray[np.bool_]
    ) -> None:
        """Add the share of comparisons of a `first` with a `second` box in which the first was chosen."""
        is_first = first[pair, chosen] & second[pair, other] & where
        is_second = second[pair, chosen] & first[pair, other] & where
        at = np.flatnonzero(is_first | is_second)
        if len(at):
            share = crossed_interval(is_first[at].astype(np.float64), judge[at], object[at])
            found[name] = Contrast(share.agreement, share.low, share.high, share.votes, about)

    close = np.abs(iou[pair, chosen] - iou[pair, other]) <= CLOSE
    everywhere = np.ones(len(rows), dtype=bool)
    add("too large over too small", "symmetry", area > 1 + APART, area < 1 - APART, close)
    add("too tall over too wide", "shape", aspect > 1 + APART, aspect < 1 - APART, close)
    skewed = np.abs(np.log(aspect)) > 3 * APART
    add("same shape over another shape", "shape", np.abs(np.log(aspect)) <= APART, skewed, close)
    add("right over left", "axial symmetry", middle[..., 0] > APART, middle[..., 0] < -APART, close)
    add("below over above", "axial symmetry", middle[..., 1] > APART, middle[..., 1] < -APART, close)
    exact = np.abs(boxes - truth).max(axis=2) <= 1e-9
    add("exact over altered", "separation", exact, ~exact, everywhere)
    # Monotony: the other box goes further in the same direction on every side, all outwards or all inwards.
    further = np.zeros(len(rows), dtype=bool)
    lesser = np.zeros(len(rows), dtype=bool)
    for side in (outside, inside):
        mine, theirs = side[pair, chosen], side[pair, other]
        further |= (mine >= 0).all(axis=1) & (theirs >= mine).all(axis=1) & (theirs > mine).any(axis=1)
        lesser |= (theirs >= 0).all(axis=1) & (mine >= theirs).all(axis=1) & (mine > theirs).any(axis=1)
    at = np.flatnonzero(further | lesser)
    if len(at):
        share = crossed_interval(further[at].astype(np.float64), judge[at], object[at])
        found["less altered over more altered"] = Contrast(
            share.agreement, share.low, share.high, share.votes, "monotony"
        )
    for name, where in (("small", small[pair]), ("large", ~small[pair])):
        at = np.flatnonzero(where & (np.abs(iou[pair, chosen] - iou[pair, other]) > 1e-9))
        if len(at):
            values = (iou[pair, chosen] > iou[pair, other])[at].astype(np.float64)
            share = crossed_interval(values, judge[at], object[at])
            key = f"higher IoU, {name} objects"
            found[key] = Contrast(share.agreement, share.low, share.high, share.votes, "scale")
    return found


def scene_contrasts(decided: DecidedVotes) -> dict[str, Contrast]:
    """Return preferences between scenes: fewer missed against fewer spurious objects, classes against places."""
    assert decided.grid is not None
    rows, other = decided.comparisons
    pair, chosen = decided.pair[rows], decided.chosen[rows]
    options = max(len(trial.scenes) for trial in decided.trials)
    count = np.array([[len(t.scenes[min(k, len(t.scenes) - 1)]) - len(t.objects) for k in range(options)]
                      for t in decided.trials])  # fmt: skip
    cell = decided.grid.cells.index(("iou", 0.5))
    classes, places = decided.grid.at_zero[cell], decided.grid.at_one[cell]
    found: dict[str, Contrast] = {}
    for name, about, first, second in (
        ("more objects over fewer", "missed against spurious", count[pair, chosen] > count[pair, other],
         count[pair, chosen] < count[pair, other]),
        ("better classes over better places", "recognition against localization",
         (classes[pair, chosen] < classes[pair, other]) & (places[pair, chosen] > places[pair, other]),
         (classes[pair, chosen] > classes[pair, other]) & (places[pair, chosen] < places[pair, other])),
    ):  # fmt: skip
        at = np.flatnonzero(first | second)
        if len(at):
            share = crossed_interval(first[at].astype(np.float64), decided.judge[rows][at], decided.object[rows][at])
            found[name] = Contrast(share.agreement, share.low, share.high, share.votes, about)
    return found


def judged_properties(contrasts: Mapping[str, Contrast]) -> dict[str, str]:
    """Return for each property of a metric what the votes say: a preference, none that is significant, or why not.

    >>> judged_properties({"right over left": Contrast(0.5, 0.4, 0.6, 90, "axial symmetry")})["axial symmetry"]
    'no significant preference: right over left 0.500 [0.400, 0.600]'
    """
    found = {}
    for about in dict.fromkeys(one.about for one in contrasts.values()):
        mine = {name: one for name, one in contrasts.items() if one.about == about}
        clear = {name: one for name, one in mine.items() if not one.low <= 0.5 <= one.high}
        shown = ", ".join(
            f"{name} {c.agreement:.3f} [{c.low:.3f}, {c.high:.3f}]" for name, c in (clear or mine).items()
        )
        found[about] = f"{'preference' if clear else 'no significant preference'}: {shown}"
    return found | {name: f"not judged: {why}" for name, why in NOT_JUDGED.items()}


def fit_weights(features: Floats) -> Floats:
    """Return non-negative weights of a logistic model: differences of penalties that should be positive.

    Projected gradient ascent on the mean log likelihood with a small ridge.

    >>> fit_weights(np.array([[1.0, -1.0], [1.0, 1.0], [2.0, -1.0]] * 20)).round(1)[1:]
    array([0.])
    """
    scale = np.abs(features).mean(axis=0).clip(min=1e-12)
    scaled, weights = features / scale, np.zeros(features.shape[1])
    for _ in range(STEPS):
        odds = 1 / (1 + np.exp(np.clip(scaled @ weights, -30, 30)))
        weights = np.maximum(0.0, weights + RATE * ((odds[:, None] * scaled).mean(axis=0) - RIDGE * weights))
    found: Floats = weights / scale
    return found


@dataclass(frozen=True)
class FittedMetric:
    """A weighted sum of penalties fitted to the votes.

    Parameters
    ----------
    weights : dict
        Non-negative weights of the components, from all votes; their sum is 1.
    held_out, low, high : float
        Share of votes that weights fitted to other objects and other judges predict, with its 95 % confidence
        interval; never measured on votes that the weights were fitted to.
    held_out_votes : int
        Number of these votes.
    """

    weights: dict[str, float]
    held_out: float
    held_out_votes: int
    low: float
    high: float


def held_out_folds(decided: DecidedVotes, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield votes to fit to and votes to test, which share neither object nor judge.

    Objects and judges are divided into five folds each (of fewer judges, one fold per judge); a test set is a fold of
    both, and the votes of its objects or of its judges take no part in the fit.
    """
    rng = np.random.default_rng(seed)
    objects, judges = (rng.permutation(int(of.max()) + 1) % FOLDS for of in (decided.object, decided.judge))
    for a in range(FOLDS):
        for b in range(min(FOLDS, int(decided.judge.max()) + 1)):
            test = (objects[decided.object] == a) & (judges[decided.judge] == b)
            train = (objects[decided.object] != a) & (judges[decided.judge] != b)
            if test.any() and train.sum() >= LEAST_VOTES:
                yield np.flatnonzero(train), np.flatnonzero(test)


def fit_metric(decided: DecidedVotes, seed: int = 0) -> FittedMetric | None:
    """Fit a weighted sum of component penalties, judged on objects and judges that took no part in the fit.

    Returns
    -------
    FittedMetric or None
        None if there are too few votes to hold some out, or no boxes.
    """
    names = [name for name in COMPONENTS if name in decided.penalties]
    if not names:
        return None
    rows, _ = decided.comparisons
    features = np.stack([decided.difference(decided.penalties[name]) for name in names], axis=1)
    penalties = np.stack([decided.penalties[name] for name in names])
    hits, tested = [], []
    for train, test in held_out_folds(decided, seed):
        weights = fit_weights(features[np.isin(rows, train)])
        hits.append(decided.hits(np.tensordot(weights, penalties, axes=1), test))
        tested.append(test)
    if not hits:
        return None
    at = np.concatenate(tested)
    share = crossed_interval(np.concatenate(hits), decided.judge[at], decided.object[at])
    weights = fit_weights(features)
    total = max(float(weights.sum()), 1e-300)
    shares = {name: float(w / total) for name, w in zip(names, weights, strict=True)}
    return FittedMetric(shares, share.agreement, share.votes, share.low, share.high)


def fit_scene_score(decided: DecidedVotes, shares: Mapping[str, Share], draws: int, seed: int) -> SceneScoreFit:
    """Fit alpha, threshold and localization of the scene score to votes on whole scenes.

    Parameters
    ----------
    decided : DecidedVotes
        The votes. Of single objects, only the localization metric that agrees best is named.
    shares : mapping of Share
        Agreement of each metric.
    draws : int
        Bootstrap resamples of judges and images for the interval of alpha.
    seed : int
        Seed of resamples and folds.
    """
    from verite.metrics.catalogue import metric

    if decided.grid is None:
        bounded = [name for name in shares if metric(name).bounds == (0, 1)]
        best = max(bounded, key=lambda name: shares[name].agreement, default=None)
        return SceneScoreFit(
            best, why="alpha and threshold need comparisons of whole scenes (verite judge make --scenes)"
        )
    grid, settings = decided.grid, settings_of_grid()
    rows, _ = decided.comparisons
    differences = np.stack([decided.difference(grid.at(cell, alpha)) for cell, alpha in settings], axis=1)
    count = len(decided.chosen)

    def best_of(weights: Floats) -> int:
        """Return the position of the most likely setting under weights of the votes."""
        return int(np.argmax(log_likelihoods(differences, weights[rows])))

    hits, tested = [], []
    for train, test in held_out_folds(decided, seed):
        cell, alpha = settings[best_of(np.isin(np.arange(count), train).astype(np.float64))]
        hits.append(decided.hits(grid.at(cell, alpha), test))
        tested.append(test)
    rng = np.random.default_rng(seed)
    alphas = []
    for _ in range(draws):
        weights = np.ones(count)
        for of in (decided.judge, decided.object):
            units = int(of.max()) + 1
            weights *= np.bincount(rng.integers(0, units, units), minlength=units)[of]
        if weights.sum() >= LEAST_VOTES:
            alphas.append(settings[best_of(weights)][1])
    cell, alpha = settings[best_of(np.ones(count))]
    low, high = (float(np.quantile(alphas, q)) for q in (0.025, 0.975)) if alphas else (nan, nan)
    at = np.concatenate(tested) if tested else np.zeros(0, dtype=np.int64)
    share = crossed_interval(np.concatenate(hits) if hits else np.zeros(0), decided.judge[at], decided.object[at])
    localization, threshold = grid.cells[cell]
    return SceneScoreFit(localization, alpha, threshold, min(low, alpha), max(high, alpha), share.agreement, share.low,
                         share.high)  # fmt: skip


def fit(plan: Plan, votes: Sequence[Vote], *, draws: int = 200, seed: int = 0) -> JudgeFit:
    """Fit everything to the votes.

    Parameters
    ----------
    plan : Plan
        The plan that was judged.
    votes : sequence of Vote
        Votes of all judges.
    draws : int, default 200
        Bootstrap resamples of judges for the strengths.
    seed : int, default 0
        Seed of resamples and folds.

    Returns
    -------
    JudgeFit

    Raises
    ------
    DataError
        If no judge is left, or no vote is decided.
    """
    judges = summarise_judges(plan, votes)
    kept = [vote for vote in votes if not judges[vote.judge].excluded]
    if not kept:
        raise DataError("judge: expected a judge who passes the catch trials, found none")
    decided = decided_votes(plan, kept)
    if not len(decided.chosen):
        raise DataError("judge: expected votes for one of two results, found none")
    units: dict[str, list[str]] = {}
    for vote in kept:
        if plan.by_id[vote.pair].kind == "pair" and vote.choice != UNSURE:
            units.setdefault(vote.pair, []).append(vote.choice)
    shares = metric_shares(decided)
    chance = float(np.mean([1 / len(decided.trials[i].names) for i in decided.pair]))
    contrasts = box_contrasts(decided) if decided.grid is None else scene_contrasts(decided)
    return JudgeFit(judges, krippendorff(list(units.values())), strengths_of(plan, kept, draws, seed), shares,
                    human_ceiling(decided), contrasts, fit_metric(decided, seed),
                    fit_scene_score(decided, shares, draws, seed), chance)  # fmt: skip


def strengths_of(plan: Plan, votes: Sequence[Vote], draws: int, seed: int) -> dict[str, Share]:
    """Return Davidson's strengths of the results with intervals from resampled judges.

    A vote among several results counts as one against each of the others.
    """
    used = [vote for vote in votes if plan.by_id[vote.pair].kind == "pair" and vote.choice != UNSURE]
    names = sorted({name for vote in used for name in plan.by_id[vote.pair].names})
    at = {name: i for i, name in enumerate(names)}
    judges = sorted({vote.judge for vote in used})
    counts = {judge: np.zeros((2, len(names), len(names))) for judge in judges}
    for vote in used:
        shown = [at[name] for name in plan.by_id[vote.pair].names]
        if vote.choice == EQUAL:
            for a, b in permutations(shown, 2):
                counts[vote.judge][1, a, b] += 1
        else:
            for loser in shown:
                counts[vote.judge][0, at[vote.choice], loser] += loser != at[vote.choice]
    whole = sum(counts.values(), np.zeros((2, len(names), len(names))))
    values = davidson(whole[0], whole[1])
    rng = np.random.default_rng(seed)
    samples = []
    for _ in range(draws):
        drawn = rng.integers(0, len(judges), len(judges))
        some = sum((counts[judges[i]] for i in drawn), np.zeros_like(whole))
        samples.append(davidson(some[0], some[1], steps=100))
    # Few judges: the percentile interval is widened as Student's t widens the normal one.
    spread = (
        np.std(samples, axis=0, ddof=1) * sqrt(len(judges) / max(1, len(judges) - 1)) * student_width(len(judges) - 1)
    )
    return {name: Share(float(values[i]), float(values[i] - spread[i]), float(values[i] + spread[i]), len(used))
            for name, i in at.items()}  # fmt: skip


METRIC_MODULE = '''"""A localization metric fitted to the votes of people by `verite judge fit`."""

import numpy as np

import verite as vt

WEIGHTS = {weights!r}


def fitted(pairs):
    """Weighted sum of penalties of the catalogue; 0 is best."""
    total = np.zeros(len(pairs))
    for name, weight in WEIGHTS.items():
        metric = vt.metric(name)
        total += weight * np.abs(metric.values(pairs) - metric.best)
    return total
'''


def metric_module(weights: Mapping[str, float]) -> str:
    """Return a Python module with the fitted metric, for `-m fitted_metric:fitted` of localize and study."""
    weights = {name: round(weight, 6) for name, weight in weights.items() if weight > 0}
    return METRIC_MODULE.replace("{weights!r}", repr(weights))
