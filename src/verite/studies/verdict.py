"""Verdict on a metric in words: what it ignores, where it jumps, and which known metric it resembles most.

Jumps and stalls are read off the penalty curves by the tolerances of the study; resemblance is the rank correlation
(Spearman) of penalties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from verite.metrics.importance import importance_values
from verite.studies import properties
from verite.studies.judging import Evidence, PropertyTable, Tolerances
from verite.studies.sweeps import Grid, Sweep

if TYPE_CHECKING:
    from verite.files import JsonObject

Floats = NDArray[np.float64]
MOST_LIKE = 3
WIDTH = 110
ALIKE = 0.5  # rank correlation at which metrics are called alike


@dataclass(frozen=True)
class Verdict:
    """The findings of a study about one metric.

    Parameters
    ----------
    label : str
        The metric.
    score, out_of : int
        Its final score, and the highest possible one.
    way : str
        How its values were read, in one sentence.
    ignores, jumps, stalls, remarks : tuple of str
        Alterations that it ignores, under which it jumps, under which more alteration is not penalised more; the rest.
    resembles : tuple
        Known metrics with the rank correlation of their penalties.
    is_continuity_open : bool
        Whether there are too few results to see a jump.
    importance : float, optional
        How many times the penalty of an error where pixels weigh 1 an equal error costs where they weigh 3; None if
        pixels cannot be weighted.
    """

    label: str
    score: int
    out_of: int
    way: str
    ignores: tuple[str, ...]
    jumps: tuple[str, ...]
    stalls: tuple[str, ...]
    remarks: tuple[str, ...]
    resembles: tuple[tuple[str, float], ...]
    is_continuity_open: bool = False
    importance: float | None = None

    def __str__(self) -> str:
        lines = [f"{self.label}: {self.score} of {self.out_of}. {self.way}"]
        lines.append(
            f"  It ignores {list_words(self.ignores)}." if self.ignores else "  It ignores none of the alterations."
        )
        if self.jumps or not self.is_continuity_open:
            lines.append(f"  It jumps: {'; '.join(self.jumps)}." if self.jumps else "  It does not jump.")
        if self.stalls:
            lines.append(f"  More alteration is not always penalised more: {'; '.join(self.stalls)}.")
        lines += [f"  {remark}" for remark in self.remarks]
        if self.importance is not None:
            lines.append(f"  Importance: an error where pixels weigh 3 costs {self.importance:.1f} times an equal one.")
        if self.resembles:
            (first, likeness), *others = self.resembles
            also = f", then {list_words([f'{name} ({value:.3f})' for name, value in others])}" if others else ""
            same = " (the same order throughout)" if likeness > 1 - 1e-9 else ""
            found = f"It resembles {first} most: rank correlation {likeness:.3f}{same}{also}."
            lines.append(f"  {found if likeness >= ALIKE else 'It resembles no known metric.'}")
        return "\n".join(part for line in lines for part in wrap(line, WIDTH, subsequent_indent="    "))

    def to_dict(self) -> JsonObject:
        """Return the JSON document."""
        lists = {name: list(getattr(self, name)) for name in ("ignores", "jumps", "stalls", "remarks")}
        likeness = [{"metric": name, "rank_correlation": value} for name, value in self.resembles]
        return {"score": self.score, "out_of": self.out_of, "reading": self.way, **lists, "resembles": likeness} | {
            "importance": self.importance
        }


@dataclass(frozen=True)
class Description:
    """Sentences about one row of a study: where it jumps, where its penalty stalls, why it does not separate."""

    evidence: Evidence
    tolerances: Tolerances
    row: int

    def separation_failure(self) -> str:
        """Describe why a metric does not separate: identical regions with a penalty, or altered ones without."""
        evidence, tolerances, i = self.evidence, self.tolerances, self.row
        penalise = evidence.penalty_rules[i]
        for (truth, sweep), values in evidence.measured.items():
            if abs(float(penalise(values.itself[i : i + 1])[0])) > tolerances.zero:
                return f"Identical regions do not get 0: its penalty for {truth} and {truth} is not."
            unnoticed = ~values.is_same & (penalise(values.forward[i]) <= tolerances.zero)
            if unnoticed.any():
                return (
                    f"Some altered regions get no penalty: {int(unnoticed.sum())} of {unnoticed.size} results of "
                    f"{truth} under {sweep}."
                )
        return "It does not separate."

    def jump(self, sweep: Sweep) -> str:
        """Describe on how many ground truths a metric jumps under an alteration, with an example."""
        evidence, tolerances, i = self.evidence, self.tolerances, self.row
        truths = evidence.truths_under(sweep)
        found = []
        for truth in truths:
            curve = evidence.curves[truth.name, sweep.name][i]
            threshold = tolerances.gap * properties.amplitude(curve)
            parts = properties.outward(curve) if isinstance(sweep, Grid) else iter([curve])
            for sign, part in zip((1, -1), parts, strict=False):
                at = np.argwhere(properties.jumps(part, threshold, tolerances.factor))
                if not len(at) and part.ndim == 2 and isinstance(sweep, Grid):
                    at = np.argwhere(properties.jumps(part.T, threshold, tolerances.factor))[:, ::-1]
                if len(at):
                    found.append((truth.name, sign, tuple(int(n) for n in at[0])))
                    break
        if not found:
            return sweep.name
        name, sign, at_step = found[0]
        place = f" after {parameters(sweep, sign, at_step)}" if isinstance(sweep, Grid) else ""
        return f"{sweep.name}, on {len(found)} of {len(truths)} ground truths, e.g. {name}{place}"

    def stall(self, sweep: Sweep) -> str:
        """Describe on how many ground truths the penalty does not rise with the alteration, with an example."""
        evidence, tolerances, i = self.evidence, self.tolerances, self.row
        truths = evidence.truths_under(sweep)
        example, count = "", 0
        for truth in truths:
            curve = evidence.curves[truth.name, sweep.name][i]
            if not isinstance(sweep, Grid):
                count += not properties.grows(curve, allowed=tolerances.turning)
                continue
            until = max(1, tolerances.until // sweep.step)
            if properties.is_strictly_monotonous(
                curve, allowed=tolerances.monotony, allowed_turning=tolerances.turning, until=until
            ):
                continue
            count += 1
            for sign, part in zip((1, -1), properties.outward(curve), strict=True):
                diagonal = part if part.ndim == 1 else np.diagonal(part)
                stuck = np.flatnonzero(np.diff(diagonal[: until + 1] if part.ndim == 1 else diagonal) <= 0)
                if len(stuck) and not example:
                    example = f", e.g. {truth.name} after {parameters(sweep, sign, (int(stuck[0]),) * part.ndim)}"
        return f"{sweep.name}, on {count} of {len(truths)} ground truths{example}"


def verdict(
    evidence: Evidence,
    tolerances: Tolerances,
    tables: dict[str, PropertyTable],
    i: int,
    resembles: Sequence[tuple[str, float]],
) -> Verdict:
    """Return the verdict on row i.

    Parameters
    ----------
    evidence : Evidence
        The measured values of the study.
    tolerances : Tolerances
        The tolerances of its properties.
    tables : dict of PropertyTable
        Its tables, by name.
    i : int
        Position of the metric among the rows.
    resembles : Sequence
        Known metrics with their rank correlation, the highest first.
    """
    row = evidence.rows[i]
    synthesis = tables["synthesis"]
    ignores: list[str] = []
    jumps, stalls = [], []
    describe = Description(evidence, tolerances, i)
    sized: set[bool] = set()
    shaped: set[bool] = set()
    for sweep in evidence.sweeps:
        cells = tables[sweep.name].cells[i]
        if evidence.indifferent(sweep, tolerances)[i]:
            ignores.append(sweep.name)
            continue
        if "scale" in cells:
            sized.add(cells["scale"] != "")
            shaped.add(bool(cells["shape"]))
        if cells.get("continuity") is False:
            jumps.append(describe.jump(sweep))
        if cells["monotony"] is False:
            stalls.append(describe.stall(sweep))
    if sized == {False}:
        ignores.append("the size of the object")
    if shaped == {False}:
        ignores.append("the shape of the object")
    remarks = []
    distance = tables["distance"].cells[i]
    if not distance["symmetry"]:
        remarks.append("Exchanging truth and pred changes its value.")
    if not distance["separation"]:
        remarks.append(describe.separation_failure())
    ways = {"as it is": "Larger values were read as worse.", "turned": "Larger values were read as better.",
            "distance": f"Values were read as worse the farther from {evidence.penalty_rules[i].best:g}."}  # fmt: skip
    return Verdict(
        row.label, synthesis.scores[i], out_of(tables), ways[evidence.penalty_rules[i].way], tuple(ignores),
        tuple(jumps), tuple(stalls), tuple(remarks), tuple(resembles),
        all("continuity" not in sweep.columns for sweep in evidence.sweeps), importance_of(evidence, i),
    )  # fmt: skip


def importance_of(evidence: Evidence, i: int) -> float | None:
    """Return how many times as much an error costs where pixels weigh 3 as where they weigh 1; None if they cannot."""
    values = importance_values(evidence.rows[i].metric)
    if values is None:
        return None
    costly, cheap = evidence.penalty_rules[i](values)
    return float(costly / cheap) if cheap > 0 else None


def out_of(tables: dict[str, PropertyTable]) -> int:
    """Return the highest possible score."""
    return sum(len(sheet.columns) for name, sheet in tables.items() if name != "synthesis")


def parameters(sweep: Grid, sign: int, steps: tuple[int, ...]) -> str:
    """Write a position on the curve in the units of the alteration."""
    values = [sign * step * sweep.step for step in steps]
    return f"{values[0]}°" if sweep.is_line else f"({values[0]}, {values[1]})"


def likeness(evidence: Evidence, others: Evidence) -> tuple[Floats, Floats]:
    """Return the correlations of ranks and of values, [row, other], averaged over the ground truths.

    Parameters
    ----------
    evidence, others : Evidence
        The metrics of a study, and those they are compared with, measured on the same ground truths.
    """
    total = np.zeros((2, len(evidence.rows), len(others.rows)))
    shown = {
        t.name: [s.name for s in evidence.single_alterations() if (t.name, s.name) in evidence.curves]
        for t in evidence.truths
    }
    truths = [name for name, sweeps in shown.items() if sweeps]
    for truth in truths:
        mine, theirs = (
            np.concatenate([e.curves[truth, sweep].reshape(len(e.rows), -1) for sweep in shown[truth]], axis=1)
            for e in (evidence, others)
        )
        for k, standard in enumerate((standardise_ranks, standardise)):
            total[k] += standard(mine) @ standard(theirs).T / mine.shape[1]
    ranks, values = total / max(1, len(truths))
    return ranks, values


def standardise(values: Floats) -> Floats:
    """Return values with mean 0 and variance 1 along the last axis; all 0 where they are equal."""
    centred = values - values.mean(axis=-1, keepdims=True)
    spread = centred.std(axis=-1, keepdims=True)
    found: Floats = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)
    return found


def standardise_ranks(values: Floats) -> Floats:
    """Return mean ranks along the last axis with mean 0 and variance 1; all 0 where values are equal.

    >>> standardise_ranks(np.array([[3.0, 1.0, 3.0, 5.0]])).round(3)
    array([[ 0.   , -1.414,  0.   ,  1.414]])
    """
    ranks = np.empty_like(values)
    for i, row in enumerate(values):
        # Differences in the last digits are rounding noise.
        span = row.max() - row.min()
        rounded = np.round(row / span, 9) if span > 0 else np.zeros_like(row)
        _, place, counts = np.unique(rounded, return_inverse=True, return_counts=True)
        ranks[i] = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return standardise(ranks)


def list_words(words: Sequence[str]) -> str:
    """Join words with commas and "and".

    >>> list_words(["a", "b", "c"])
    'a, b and c'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
