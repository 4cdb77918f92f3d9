"""Hold metrics against votes: consistency of judges, strengths of results, agreement of each metric, human ceiling.

Judges are the units of all intervals. Shares of votes are means over judges with Student's t, widened by the spread
over objects, so that they hold for other judges and for other objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isnan, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import DataError
from verite.judge.plan import Plan, Trial, penalties_of
from verite.judge.votes import EQUAL, UNSURE, Vote
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table
from verite.statistics.intervals import student_quantile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FAILED = 0.3  # share of failed catch trials above which a judge is left out
COMPONENTS = ("pascal", "robin_loc", "robin_com", "robin_cor", "pixel_precision", "pixel_recall", "hausdorff")
FOLDS = 5
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


@dataclass(frozen=True)
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
    fitted : dict
        Weights of the fitted metric and its held-out share of votes.
    """

    judges: dict[str, JudgeSummary]
    alpha: float
    strengths: dict[str, Share]
    metrics: dict[str, Share]
    ceiling: Share
    contrasts: dict[str, Share]
    fitted: dict[str, Any] = field(default_factory=dict)

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

    def contents(self) -> list[Part]:
        kept = sum(not judge.excluded for judge in self.judges.values())
        lines = [f"{kept} of {len(self.judges)} judges kept (at most {100 * FAILED:.0f} % of catch trials failed); "
                 f"Krippendorff's alpha {self.alpha:.3f}"]  # fmt: skip
        ceiling = f"human ceiling (one judge against most others): {show(self.ceiling)}"
        parts: list[Part] = [self.judge_table(), *lines, self.main_table(), ceiling]
        for title, shares in (("contrast", self.contrasts), ("strength", self.strengths)):
            if shares:
                columns = {key: [getattr(s, key) for s in shares.values()] for key in ("agreement", "low", "high")}
                heads = {"agreement": "share" if title == "contrast" else "log strength"}
                parts.append(Table.of(title, list(shares), {heads.get(k, k): v for k, v in columns.items()}))
        if self.fitted:
            weights = ", ".join(f"{name} {w:.3f}" for name, w in self.fitted["weights"].items() if w > 0)
            parts.append(f"fitted metric: {weights or 'no weight'}; held-out share of votes (other objects and judges) "
                         f"{self.fitted['held_out']:.3f}")  # fmt: skip
        return parts

    def to_json(self, *, indent: int = 0) -> str:
        found = {
            "judges": {name: asdict(judge) for name, judge in self.judges.items()},
            "alpha": self.alpha,
            "metrics": {name: asdict(share) for name, share in self.metrics.items()},
            "ceiling": asdict(self.ceiling),
            "contrasts": {name: asdict(share) for name, share in self.contrasts.items()},
            "strengths": {name: asdict(share) for name, share in self.strengths.items()},
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
    """Decided votes on pairs as columns: which of two results was chosen, by judge, object and pair."""

    chosen: Ints  # 0: left, 1: right
    judge: Ints
    object: Ints
    pair: Ints
    trials: list[Trial]
    penalties: dict[str, Floats]  # [trial, side]

    @property
    def differences(self) -> dict[str, Floats]:
        """Penalty of the result that was not chosen minus that of the chosen one, by metric; positive agrees."""
        rows = np.arange(len(self.chosen))
        return {
            name: values[self.pair][rows, 1 - self.chosen] - values[self.pair][rows, self.chosen]
            for name, values in self.penalties.items()
        }


def decided_votes(plan: Plan, votes: Sequence[Vote]) -> DecidedVotes:
    """Return the decided votes on two-sided pairs and repeats as columns."""
    trials = [trial for trial in plan.trials if trial.kind != "catch" and not trial.more]
    if not trials:
        raise DataError("judge: expected pairs of two results, found none")
    at = {trial.id: i for i, trial in enumerate(trials)}
    judges = {name: i for i, name in enumerate(dict.fromkeys(vote.judge for vote in votes))}
    objects = {name: i for i, name in enumerate(dict.fromkeys(trial.object for trial in trials))}
    kept = [vote for vote in votes if vote.pair in at and vote.is_decided]
    truth = [trial.truth for trial in trials]
    sides = [
        penalties_of(truth, [trial.boxes[k] for trial in trials], [trial.size for trial in trials]) for k in (0, 1)
    ]
    penalties = {name: np.stack([sides[0][name], sides[1][name]], axis=1) for name in sides[0] if name in sides[1]}
    return DecidedVotes(
        np.array([0 if vote.choice == trials[at[vote.pair]].left else 1 for vote in kept], dtype=np.int64),
        np.array([judges[vote.judge] for vote in kept], dtype=np.int64),
        np.array([objects[trials[at[vote.pair]].object] for vote in kept], dtype=np.int64),
        np.array([at[vote.pair] for vote in kept], dtype=np.int64),
        trials,
        penalties,
    )


def metric_shares(decided: DecidedVotes) -> dict[str, Share]:
    """Return the share of decided votes that each metric predicts; a tie of the metric counts half."""
    found = {}
    for name, difference in decided.differences.items():
        values = np.where(np.abs(difference) <= 1e-12, 0.5, difference > 0)
        found[name] = crossed_interval(values.astype(np.float64), decided.judge, decided.object)
    return found


def human_ceiling(decided: DecidedVotes) -> Share:
    """Return how well the majority of the other judges predicts a vote; half where they are split."""
    values, judges, objects = [], [], []
    for pair in np.unique(decided.pair).tolist():
        rows = np.flatnonzero(decided.pair == pair)
        right = int(decided.chosen[rows].sum())
        for row in rows.tolist():
            own = int(decided.chosen[row])
            others, theirs = len(rows) - 1, right - own
            if others:
                values.append(0.5 if 2 * theirs == others else float((2 * theirs > others) == bool(own)))
                judges.append(int(decided.judge[row]))
                objects.append(int(decided.object[row]))
    return crossed_interval(np.array(values), np.array(judges, dtype=np.int64), np.array(objects, dtype=np.int64))


def named_contrasts(decided: DecidedVotes) -> dict[str, Share]:
    """Return preferences with a name: too large against too small, tall against wide, right against left.

    Only pairs of about equal IoU (difference at most 0.1) count.
    """
    sides = np.array([trial.boxes[:2] for trial in decided.trials])  # [trial, side, 4]
    truth = np.array([trial.truth for trial in decided.trials])[:, None]
    size, own = sides[..., 2:] - sides[..., :2], truth[..., 2:] - truth[..., :2]
    area, aspect = size.prod(axis=2) / own.prod(axis=2), (size[..., 1] / size[..., 0]) / (own[..., 1] / own[..., 0])
    offset = (sides[..., 0] + sides[..., 2]) / 2 - (truth[..., 0] + truth[..., 2]) / 2
    close = np.abs(np.diff(decided.penalties["iou"], axis=1)[:, 0]) <= 0.1
    found = {}
    for name, feature, middle in (
        ("too large over too small", area, 1.0),
        ("too tall over too wide", aspect, 1.0),
        ("right over left", offset, 0.0),
    ):
        apart = close & (feature.min(axis=1) < middle - 0.02) & (feature.max(axis=1) > middle + 0.02)
        larger = feature.argmax(axis=1)
        rows = np.flatnonzero(apart[decided.pair])
        values = (decided.chosen[rows] == larger[decided.pair[rows]]).astype(np.float64)
        if len(rows):
            found[name] = crossed_interval(values, decided.judge[rows], decided.object[rows])
    return found


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


def fit_metric(decided: DecidedVotes, seed: int = 0) -> dict[str, Any]:
    """Fit a weighted sum of component penalties, judged on objects and judges that took no part in the fit.

    Returns
    -------
    dict
        `weights` from all votes, `held_out` share of votes (never in-sample) and the number of held-out votes.
    """
    names = [name for name in COMPONENTS if name in decided.penalties]
    differences = decided.differences
    features = np.stack([differences[name] for name in names], axis=1)
    rng = np.random.default_rng(seed)
    objects, judges = (rng.permutation(int(of.max()) + 1) % FOLDS for of in (decided.object, decided.judge))
    hits: list[float] = []
    for a in range(FOLDS):
        for b in range(min(FOLDS, int(decided.judge.max()) + 1)):
            test = (objects[decided.object] == a) & (judges[decided.judge] == b)
            train = (objects[decided.object] != a) & (judges[decided.judge] != b)
            if not test.any() or train.sum() < 10:
                continue
            predicted = features[test] @ fit_weights(features[train])
            hits += np.where(np.abs(predicted) <= 1e-12, 0.5, predicted > 0).tolist()
    if not hits:
        return {}
    weights = fit_weights(features)
    total = max(float(weights.sum()), 1e-300)
    return {
        "weights": {name: float(w / total) for name, w in zip(names, weights, strict=True)},
        "held_out": float(np.mean(hits)),
        "held_out_votes": len(hits),
    }


def scene_score_settings(decided: DecidedVotes, shares: Mapping[str, Share]) -> dict[str, Any]:
    """Return the localization of the scene score that agrees best with the votes, and what cannot be fitted."""
    from verite.metrics.catalogue import metric

    bounded = [name for name in shares if metric(name).bounds == (0, 1)]
    best = max(bounded, key=lambda name: shares[name].agreement, default=None)
    return {
        "localization": best,
        "alpha": None,
        "threshold": None,
        "why": "alpha and threshold need comparisons of results with other classes and with missed objects",
    }


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
    fitted = fit_metric(decided, seed)
    if fitted:
        fitted["scene_score"] = scene_score_settings(decided, shares)
    return JudgeFit(judges, krippendorff(list(units.values())), strengths_of(plan, kept, draws, seed), shares,
                    human_ceiling(decided), named_contrasts(decided), fitted)  # fmt: skip


def strengths_of(plan: Plan, votes: Sequence[Vote], draws: int, seed: int) -> dict[str, Share]:
    """Return Davidson's strengths of the results with percentile intervals over resampled judges."""
    used = [vote for vote in votes if plan.by_id[vote.pair].kind == "pair" and vote.choice != UNSURE]
    names = sorted({name for vote in used for name in (vote.left, vote.right)})
    at = {name: i for i, name in enumerate(names)}
    judges = sorted({vote.judge for vote in used})
    counts = {judge: np.zeros((2, len(names), len(names))) for judge in judges}
    for vote in used:
        a, b = at[vote.left], at[vote.right]
        if vote.choice == EQUAL:
            counts[vote.judge][1, a, b] += 1
            counts[vote.judge][1, b, a] += 1
        elif vote.choice in (vote.left, vote.right):
            winner, loser = (a, b) if vote.choice == vote.left else (b, a)
            counts[vote.judge][0, winner, loser] += 1
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


def metric_module(fitted: Mapping[str, Any]) -> str:
    """Return a Python module with the fitted metric, for `-m fitted_metric:fitted` of localize and study."""
    weights = {name: round(weight, 6) for name, weight in fitted["weights"].items() if weight > 0}
    return METRIC_MODULE.replace("{weights!r}", repr(weights))
