"""Audit of ground-truth annotations: `audit.csv` lists those to check first, and brings the verdicts back.

A verdict is about the ground truth: `right` where it is correct, `wrong` where it is not (a spurious annotation is no
such object, a missing object exists, a box is badly placed), `unsure` or empty where it could not be decided.

Annotations that are listed because they matter say nothing about how many are wrong among all. So a tenth of a
leaderboard's list is a random sample of the annotations, each with its sampling weight, and error rates come from these
alone, by the estimator of Horvitz and Thompson (JASA 1952). All verdicts together show whether errors are more frequent
among annotations that the one or the other detector finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, sqrt
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from verite.errors import BadParameter, DataError, ReadError, excerpt, spell_option
from verite.model.tables import Table
from verite.statistics.intervals import NORMAL_95

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.annotation_errors.detection import Detection
    from verite.files import JsonObject
    from verite.leaderboards.candidates import CandidatePool
    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]

COLUMNS = ("image", "label", "x", "y", "width", "height", "kind", "influence", "reason", "weight", "verdict")
VERDICTS = ("right", "wrong", "unsure", "")
AUDIT_KINDS = ("spurious", "label", "missing", "box")
RANDOM_SHARE = 10  # one in ten rows of a leaderboard's list is drawn at random
PRIOR_ERRORS = 2.0  # errors that a relative rate of a stratum is shrunken by towards 1
SAME_BOX = 1e-6  # coordinates that differ by no more are the same


@dataclass(frozen=True)
class AuditRow:
    """One annotation to check, or one box in which an object may be missing."""

    image: str
    label: str
    x: float
    y: float
    width: float
    height: float
    kind: str  # of error: one of `AUDIT_KINDS`
    influence: float  # change of a score, or of the gap between two detectors, if the ground truth is wrong here
    reason: str
    weight: float | None = None  # of a row that was drawn at random: how many annotations it stands for
    verdict: str = ""
    favours: str = ""  # the detector of a pair that gains from the ground truth as it is; not in the table

    @classmethod
    def of(cls, image: str, label: str, box: Any, kind: str, influence: float, reason: str, **more: Any) -> AuditRow:
        """Make a row from a box given as x, y, width, height."""
        x, y, width, height = (float(side) for side in box)
        return cls(image, label, x, y, width, height, kind, influence, reason, **more)

    @property
    def location(self) -> tuple[Any, ...]:
        """Image, class, box and kind of error: what identifies a row."""
        return self.image, self.label, self.x, self.y, self.width, self.height, self.kind

    def to_dict(self) -> JsonObject:
        """The documented keys of the JSON document: the columns, and for leaderboards whom the annotation favours."""
        found = {name: getattr(self, name) for name in COLUMNS}
        return {**found, "favours": self.favours} if self.favours else found


class CheckedOdds(NamedTuple):
    """By what odds checked annotations are wrong rather where one detector finds them, with its 95 % interval."""

    value: float
    low: float
    high: float


def audit_table(rows: Sequence[AuditRow]) -> Table:
    """Return `audit.csv` as a table, without the detector that an annotation favours, so that checking is blind."""
    cells = []
    for row in rows:
        found = {name: getattr(row, name) for name in COLUMNS}
        if row.favours:
            found["influence"] = abs(row.influence)
        cells.append(tuple(found.values()))
    return Table(COLUMNS, tuple(cells))


def read_rows(source: str | PathLike[str] | Sequence[AuditRow], argument: str = "audit") -> list[AuditRow]:
    """Return the rows of an `audit.csv`, or a leaderboard's own rows.

    The columns influence, reason and weight may be absent. `argument` is the one that messages name.
    """
    from verite.csv_files import read_csv

    if not isinstance(source, (str, PathLike)):
        given = [row for row in source if isinstance(row, AuditRow)] if isinstance(source, Sequence) else []
        if not isinstance(source, Sequence) or len(given) < len(source):
            raise BadParameter(
                f"{argument}: expected an audit.csv or a leaderboard's own rows, found {excerpt(source)}"
            )
        return given
    needed = [name for name in COLUMNS if name not in ("influence", "reason", "weight")]
    rows = []
    for where, row in read_csv(source, f"the columns {','.join(COLUMNS)}", needed).records():
        verdict, kind = row["verdict"].strip().lower(), row["kind"]
        if verdict not in VERDICTS:
            raise ReadError(where, expected="right, wrong, unsure or nothing", found=excerpt(verdict))
        if kind not in AUDIT_KINDS:
            raise ReadError(where, expected=f"the kind {', '.join(AUDIT_KINDS)}", found=excerpt(kind))
        try:
            box = [float(row[side]) for side in ("x", "y", "width", "height")]
        except ValueError:
            found = excerpt(",".join(row.values()))
            raise ReadError(where, expected="four numbers of a box", found=found) from None
        weight = row.get("weight", "").strip()
        try:
            stands_for = float(weight) if weight else None
            if stands_for is not None and not 1 <= stands_for < inf:
                raise ValueError
        except ValueError:
            raise ReadError(where, expected="a weight from 1 up, or nothing", found=excerpt(weight)) from None
        reason = row.get("reason", "")
        rows.append(AuditRow.of(row["image"], row["label"], box, kind, 0.0, reason, weight=stands_for, verdict=verdict))
    return rows


class AuditVerdicts:
    """Audited annotations with the verdict right or wrong.

    Parameters
    ----------
    rows
        The audited rows.
    positions
        For each of them the row of the ground truth, -1 for missing objects.
    """

    def __init__(self, rows: Iterable[AuditRow] = (), positions: Sequence[int] = ()) -> None:
        self.rows, self.positions = tuple(rows), tuple(positions)

    @classmethod
    def read(cls, source: str | PathLike[str] | Sequence[AuditRow], truth: Annotations) -> AuditVerdicts:
        """Read the verdicts of an `audit.csv`, or of a leaderboard's own rows, and find their annotations.

        Raises
        ------
        DataError
            An audited annotation is not in this ground truth.
        """
        place = str(source) if isinstance(source, (str, PathLike)) else "audit"
        decided = [row for row in read_rows(source) if row.verdict in ("right", "wrong")]
        positions = []
        for row in decided:
            position = -1 if row.kind == "missing" else find_annotation(row, truth)
            if position is None:
                raise DataError(
                    f"{place}: expected annotations of this ground truth, found {row.label!r} at {row.x:g}, {row.y:g} "
                    f"in {row.image!r}; was another ground truth audited?"
                )
            positions.append(position)
        return cls(decided, positions)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def has_missing(self) -> bool:
        """Whether candidates for missing objects were audited."""
        return any(row.kind == "missing" for row in self.rows)

    def decided(self, kind: str) -> list[tuple[AuditRow, int]]:
        """Return the rows of a kind with their positions in the ground truth."""
        return [(row, at) for row, at in zip(self.rows, self.positions, strict=True) if row.kind == kind]

    def complete(self, errors: Detection) -> Detection:
        """Return the error model with rates from the audit where it has none, of spurious annotations and classes.

        Raises
        ------
        DataError
            A rate is needed, and all annotations with a verdict were chosen instead of drawn at random.
        """
        found: dict[str, Any] = {}
        for kind in ("spurious", "label"):
            rows = [row for row in self.rows if row.kind == kind]
            if not rows or errors.has(kind):
                continue
            drawn = [row for row in rows if row.weight is not None]
            if not drawn:
                rate = spell_option("errors", f"{kind}=0.02")
                raise DataError(
                    f"audit: expected a rate of {kind} errors ({rate}), found none: the annotations with "
                    "verdicts were chosen, so that their verdicts give no rate; rows drawn at random (weight) do"
                )
            found[kind] = rate_of_sample(drawn)
        return replace(errors, **found) if found else errors

    def known(self, truth: Annotations, pool: CandidatePool | None) -> dict[tuple[str, int], bool]:
        """Return by kind and position whether the ground truth is wrong.

        Positions are rows of the ground truth or, for missing objects, candidates of the pool. An annotation that is
        right has no error of any kind; one in a wrong place is an object, and of its class.
        """
        known: dict[tuple[str, int], bool] = {}
        for row, position in zip(self.rows, self.positions, strict=True):
            is_wrong = row.verdict == "wrong"
            if row.kind != "missing":
                known |= {("spurious", position): False, ("label", position): False}
                if row.kind != "box":
                    known[row.kind, position] = is_wrong
            elif pool is not None:
                known |= {("missing", i): is_wrong for i in find_candidates(row, truth, pool)}
        return known


def stratified_rates(expected: Floats, strata: NDArray[Any], checked: Mapping[int, bool]) -> Floats:
    """Return for each annotation (or candidate for a missing object) how many times its rate is due to its stratum.

    In each stratum the errors that an audit found are divided by those that were expected, shrunken towards 1; the mean
    over all annotations is 1. Annotations that matter for a ranking are mostly those that detectors find, and these are
    wrong less often than others: with one rate for all, checking them would make every leader more certain.

    Parameters
    ----------
    expected
        The probability of an error of each annotation, before the audit.
    strata
        The stratum of each, such as which of two detectors finds it.
    checked
        By position, whether the audit found it wrong.

    Examples
    --------
    Of 100 annotations in each of two strata 2 errors were expected; 6 were found in the first and none in the second.

    >>> found = stratified_rates(np.full(200, 0.02), np.arange(200) // 100, {i: i < 6 for i in range(200)})
    >>> found[[0, 100]].round(3).tolist()
    [1.6, 0.4]
    """
    factors = np.ones(len(expected))
    if not checked:
        return factors
    at = np.fromiter(checked, np.int64, len(checked))
    wrong = np.fromiter(checked.values(), np.bool_, len(checked))
    for stratum in np.unique(strata):
        mine = strata[at] == stratum
        found = (wrong[mine].sum() + PRIOR_ERRORS) / (expected[at[mine]].sum() + PRIOR_ERRORS)
        factors[strata == stratum] = found
    total = float((factors * expected).sum())
    return factors * (float(expected.sum()) / total) if total else factors


def observed_odds(
    found_by_first: NDArray[Any], found_by_second: NDArray[Any], wrong: NDArray[Any]
) -> CheckedOdds | None:
    """Return the odds ratio of errors among checked annotations that only the first or only the second detector finds.

    None unless there are verdicts of both. The interval is the normal one of the logarithm, with half an annotation
    added to each of the four cells (Haldane and Anscombe).

    >>> first = np.repeat([True, False], 10)
    >>> odds = observed_odds(first, ~first, np.arange(20) < 5)
    >>> [round(value, 2) for value in (odds.value, odds.low, odds.high)]
    [21.0, 0.97, 453.91]
    """
    cells = []
    for mine in (found_by_first & ~found_by_second, found_by_second & ~found_by_first):
        if not mine.any():
            return None
        errors = int(wrong[mine].sum())
        cells += [errors + 0.5, int(mine.sum()) - errors + 0.5]
    value = cells[0] / cells[1] / (cells[2] / cells[3])
    reach = NORMAL_95 * sqrt(sum(1 / cell for cell in cells))
    return CheckedOdds(value, value * exp(-reach), value * exp(reach))


def rate_of_sample(rows: Sequence[AuditRow]) -> tuple[float, float]:
    """Return errors and checked annotations, both effective numbers, from verdicts of a weighted random sample.

    The share of wrong annotations is that of Horvitz and Thompson, the effective number that of Kish.

    >>> one = AuditRow("a", "cat", 0, 0, 9, 9, "spurious", 0.0, "", weight=10.0, verdict="wrong")
    >>> rate_of_sample([one, replace(one, verdict="right"), replace(one, weight=20.0, verdict="right")])
    (0.6666666666666666, 2.6666666666666665)
    """
    weights = np.array([row.weight for row in rows], dtype=np.float64)
    wrong = np.array([row.verdict == "wrong" for row in rows])
    count = float(weights.sum() ** 2 / (weights**2).sum())
    return float(weights[wrong].sum() / weights.sum()) * count, count


def sample_with_weights(probabilities: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw a systematic sample with these inclusion probabilities; return positions, in order, and weights.

    >>> at, weights = sample_with_weights(np.array([0.5, 1.0, 0.25, 0.25]), np.random.default_rng(0))
    >>> len(at), weights[at == 1].tolist()
    (2, [1.0])
    """
    order = rng.permutation(len(probabilities))
    ends = np.cumsum(probabilities[order])
    starts = ends - probabilities[order]
    offset = rng.random()
    chosen = np.sort(order[np.ceil(ends - offset) > np.ceil(starts - offset)])
    return chosen, 1 / probabilities[chosen]


def find_annotation(row: AuditRow, truth: Annotations) -> int | None:
    """Return the row of the ground truth with this image, class and box; None if there is none.

    Parameters
    ----------
    row
        One row of a table of audited annotations.
    truth
        Ground truth that was audited.

    Returns
    -------
    int | None
        Its position. Boxes may differ by rounding; the first of several equal annotations is returned.
    """
    image = truth.images.find(row.image)
    mine = np.flatnonzero(truth.image == (-1 if image is None else image))
    distance = np.abs(truth.regions.sizes[mine] - [row.x, row.y, row.width, row.height]).max(axis=1, initial=0.0)
    return next(
        (int(i) for i in mine[distance <= SAME_BOX] if truth.labels.name(int(truth.label[i])) == row.label), None
    )


def find_candidates(row: AuditRow, truth: Annotations, pool: CandidatePool) -> list[int]:
    """Return the candidates of the same image and class whose box has an IoU of at least 0.5 with the audited one."""
    image = truth.images.find(row.image)
    mine = np.flatnonzero(pool.image == (-1 if image is None else image))
    mine = mine[[truth.labels.name(int(label)) == row.label for label in pool.label[mine]]] if len(mine) else mine
    boxes, box = pool.boxes[mine], np.array([row.x, row.y, row.width, row.height])
    low, high = np.maximum(boxes[:, :2], box[:2]), np.minimum(boxes[:, :2] + boxes[:, 2:], box[:2] + box[2:])
    both = np.prod(np.maximum(high - low, 0), axis=1)
    iou = both / np.maximum(np.prod(boxes[:, 2:], axis=1) + box[2] * box[3] - both, 1e-300)
    return [int(i) for i in mine[iou >= 0.5]]
