"""How many images, gold images and checked annotations a decision between two detectors needs.

Images: the standard deviation of a lead falls with the square root of the number of images, so that a test of level α
has the power 1 - β for a lead δ on n0 ((z(1-α/2) + z(1-β)) s0 / δ)² images, s0 being the standard deviation on n0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil, isnan
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.errors import BadParameter, spell_option
from verite.evaluation.evaluation import Changes
from verite.leaderboards.candidates import sort_annotations
from verite.leaderboards.influence import MAX_CANDIDATES, removal_influence
from verite.model.tables import Part, Table
from verite.statistics.multiple_comparisons import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.files import JsonObject
    from verite.leaderboards.gold import GoldCorrection
    from verite.leaderboards.leaderboard import LeaderboardSimulation
    from verite.leaderboards.result import Board

    Floats = NDArray[np.float64]

DECIDED = 1.645  # standard deviations of an expected lead from 0: 95 %, one-sided


@dataclass(frozen=True)
class PlannedPair:
    """Two neighbours, and what a decision between them needs.

    `images` are for their own lead, `images_for_delta` for the lead of the plan; `power` is that on the present images
    for the lead of the plan. `gold` needs a pilot of gold images, `records` simulated annotation errors; None without,
    or where no number decides.
    """

    first: str
    second: str
    lead: float
    sd: float
    power: float
    images: int | None
    images_for_delta: int | None
    gold: int | None = None
    records: int | None = None


@dataclass(frozen=True)
class Plan:
    """What the decision between each detector and the next one needs."""

    delta: float
    power: float
    level: float
    units: int
    pairs: list[PlannedPair]

    def contents(self) -> list[Part]:
        """The table and its legend."""
        columns: dict[str, list[Any]] = {
            "second": [pair.second for pair in self.pairs],
            "lead": [pair.lead for pair in self.pairs],
            "images": [pair.images for pair in self.pairs],
            f"images for {self.delta:g}": [pair.images_for_delta for pair in self.pairs],
            "power now": [f"{pair.power:.2f}" for pair in self.pairs],
            "gold": [pair.gold for pair in self.pairs],
            "records": [pair.records for pair in self.pairs],
        }
        title = f"plan: a lead is significant ({100 * self.level:g} %) with power {self.power:g}"
        table = Table.of("first", [pair.first for pair in self.pairs], columns, title=title)
        legend = (
            f"images: for the lead as it is, and for a lead of {self.delta:g}, which {self.units:,} images show with "
            f"the power now; gold: gold images after which the corrected lead excludes 0 (needs {spell_option('gold')})"
            "; records: annotations and candidates to check, the most decisive first, until the order is decided "
            f"(needs {spell_option('errors')})"
        )
        return [table, legend]

    def to_dict(self) -> JsonObject:
        """Return the documented keys: those of the first two detectors, and of every two neighbours."""
        first = self.pairs[0] if self.pairs else None
        return {
            "delta": self.delta,
            "power": self.power,
            "images": None if first is None else first.images_for_delta,
            "gold": None if first is None else first.gold,
            "records": None if first is None else first.records,
            "pairs": [asdict(pair) for pair in self.pairs],
        }


def images_needed(lead: float, deviation: float, images: int, power: float = 0.8, level: float = 0.95) -> int | None:
    """Return the number of images on which a lead is significant with a power.

    Parameters
    ----------
    lead : float
        The lead.
    deviation, images : float, int
        The standard deviation of the lead on a number of images.
    power, level : float
        The power, and the confidence level of the two-sided test.

    Returns
    -------
    int or None
        None without a lead or a standard deviation.

    Examples
    --------
    COCO, YOLOv3 against SSD Inception v2: a lead of 0.0092, of which 500 images show 0.0109.

    >>> images_needed(0.0092, 0.0109, 500)
    5509
    """
    if isnan(deviation) or abs(lead) <= TIE:
        return None
    normal = NormalDist()
    reach = normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(power)
    return max(1, ceil(images * (reach * deviation / lead) ** 2))


def power_of(lead: float, deviation: float, level: float = 0.95) -> float:
    """Return the power of the two-sided test for a lead with a standard deviation.

    >>> round(power_of(0.0142, 0.0114), 2)
    0.24
    """
    if isnan(deviation) or deviation <= 0:
        return float("nan")
    return NormalDist().cdf(abs(lead) / deviation - NormalDist().inv_cdf((1 + level) / 2))


def make_plan(
    board: Board,
    simulation: LeaderboardSimulation,
    gold: GoldCorrection | None,
    delta: float,
    power: float,
) -> Plan:
    """Plan the decision between each detector and the next one.

    Raises
    ------
    BadParameter
        Images are not resampled, or the lead or the power is no positive number below 1.
    """
    for name, value in (("plan", delta), ("power", power)):
        if not 0 < value < 1:
            raise BadParameter(f"{name}: expected a number between 0 and 1, found {value:g}")
    if board.images is None or board.units is None or len(board.images) < 2:
        raise BadParameter(f"plan: expected a bootstrap of images, found {spell_option('resample', 'none')}")
    ranked = [simulation.results[i] for i in board.order]
    pairs = []
    for i in range(len(board.names) - 1):
        lead = float(board.scores[i] - board.scores[i + 1])
        deviation = float(np.nanstd(board.images[:, i] - board.images[:, i + 1], ddof=1))
        names = board.names[i], board.names[i + 1]
        needed = None
        if gold is not None:
            corrected = next(pair.corrected for pair in gold.pairs if (pair.first, pair.second) == names)
            normal = NormalDist().inv_cdf((1 + board.level) / 2)
            if abs(corrected) > TIE:
                needed = ceil((normal * gold.deviations[names] / corrected) ** 2)
                needed = needed if needed <= gold.total else None
        pairs.append(
            PlannedPair(
                *names,
                lead,
                deviation,
                power_of(delta, deviation, board.level),
                images_needed(lead, deviation, board.units, power, board.level),
                images_needed(delta, deviation, board.units, power, board.level),
                needed,
                records_needed(board, simulation, ranked[i : i + 2], i),
            )
        )
    return Plan(delta, power, board.level, board.units, pairs)


def records_needed(board: Board, simulation: LeaderboardSimulation, pair: Sequence[Any], i: int) -> int | None:
    """Return how many annotations to check until the order of two neighbours is decided, None without errors.

    Each annotation (and each candidate for a missing object) that is wrong with probability e and changes the lead by c
    adds e (1 - e) c² to its variance. The largest are checked until what remains is small against the mean lead over
    the simulations.
    """
    simulated, model = board.samples.get("errors"), simulation.ground_truths
    if simulated is None or model is None:
        return None
    rows = sort_annotations(simulation.truth, np.flatnonzero(simulation.counted))
    one, two = (np.nan_to_num(removal_influence(each, board.metric, rows)) for each in pair)
    rates = model.mean_spurious_rates()
    variances = rates * (1 - rates) * (one - two) ** 2
    if model.pool is not None and len(model.pool):
        pool = model.pool
        likely = np.argsort(-pool.weight, kind="stable")[:MAX_CANDIDATES]
        chance = model.candidate_probabilities()[likely]
        changes = Changes.of(model.object_table, added=[[len(simulation.truth) + int(k)] for k in likely])
        added = [
            np.nan_to_num(
                each.evaluation.bootstrap_means([each.mean_query(board.metric)], None, changes)[:, 0]
                - each.scores[board.metric].value
            )
            for each in pair
        ]
        variances = np.concatenate([variances, chance * (1 - chance) * (added[0] - added[1]) ** 2])
    lead = float(np.nanmean(simulated[:, i] - simulated[:, i + 1]))
    ordered = np.sort(variances)[::-1]
    remaining = np.append(ordered[::-1].cumsum()[::-1], 0.0)
    enough = np.flatnonzero(np.sqrt(remaining) <= abs(lead) / DECIDED)
    return int(enough[0]) if len(enough) and abs(lead) > TIE else None
