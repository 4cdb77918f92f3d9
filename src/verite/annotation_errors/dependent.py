"""Which models let records err together? A common rate that is itself uncertain, groups, a fixed number of errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log
from numbers import Real
from typing import TYPE_CHECKING

from verite.annotation_errors.independent import Bernoulli
from verite.annotation_errors.model import (
    WHY_HALF,
    ErrorModel,
    Option,
    Records,
    check_count,
    check_rate,
    set_fields,
    split,
)
from verite.arrays import np
from verite.errors import BadParameter, ReadError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def count_verdicts(path: str) -> dict[str, int]:
    """How many records of an `audit.csv` were judged and found wrong; objects that are missing are no records. Nothing
    where this is no such file.
    """
    if not path.endswith(".csv"):
        return {}
    from verite.csv_files import read_csv

    table = read_csv(path, "an audit.csv with the columns kind and verdict", ("kind", "verdict"))
    said = [row["verdict"].strip().lower() for _, row in table.records() if row["kind"] != "missing"]
    checked = sum(verdict in ("right", "wrong") for verdict in said)
    if not checked:
        raise ReadError(table.path, expected="verdicts, right or wrong, of some records", found="none")
    return {"errors": said.count("wrong"), "checked": checked}


class OneGroup(ErrorModel):
    """A model in which all records err together."""

    def groups_of(self, records: Records) -> NDArray[np.int64]:
        return np.zeros(len(records), dtype=np.int64)


@dataclass(frozen=True)
class Audit(OneGroup):
    """Some records were checked again: `errors` of `checked` were wrong. The rate follows Jeffreys' posterior.

    Check records on which the algorithms disagree: only they matter, and they are wrong more often than others.
    """

    errors: int
    checked: int
    options = (
        Option(
            "audit",
            "K/N|FILE",
            "K of N records checked again were wrong; or audit.csv with its verdicts filled in.",
            lambda text: count_verdicts(text) or dict(split(text, "K/N", "/", int, ["errors", "checked"])),
        ),
    )

    def __post_init__(self) -> None:
        set_fields(self, checked=check_count("checked", self.checked, 1), errors=check_count("errors", self.errors))
        if self.errors > self.checked:
            raise BadParameter(f"errors: expected at most the {self.checked} records checked, found {self.errors}")
        if 2 * self.errors > self.checked:
            raise BadParameter(
                f"errors: expected at most half of the {self.checked} records checked, found {self.errors}; {WHY_HALF}"
            )

    @property
    def words(self) -> str:
        return (
            f"{self.errors} of {self.checked} records checked were wrong; each record is wrong independently of the "
            "others, at a common rate known only so well (Beta posterior under Jeffreys' prior)"
        )

    def rates_of(self, records: Records) -> tuple[Array, None]:
        return np.array([self.errors / self.checked]), None

    def law(self, size: int, items: int) -> Array:
        from verite.annotation_errors.laws import beta_binomial

        return beta_binomial(size, self.errors + 0.5, self.checked - self.errors + 0.5)

    def average(self, logs_at: Callable[[float], Array], degree: int) -> Array:
        from verite.annotation_errors.laws import average_logs

        return average_logs(logs_at, self.errors, self.checked, degree)

    def expected(self, records: Records) -> int:
        return len(records) * self.errors // self.checked


@dataclass(frozen=True, eq=False)
class Shared(ErrorModel):
    """Errors come in groups: the rate of each group is drawn from a Beta law of mean epsilon.

    `correlation` is that of two errors in one group: 0 is independence, 1 means a group is wrong as a whole or not at
    all. `groups` is a name for every item, or the name of a column: `interpretation`, `item`, `truth` or one of the
    table's own.
    """

    epsilon: float
    correlation: float
    groups: str | Sequence[object]
    is_scattered = False
    options = (
        *Bernoulli.options,
        Option(
            "shared",
            "COLUMN",
            "With --epsilon: errors come in groups named by this column (item, interpretation, truth, one of the "
            "table's own; label or image for detectors).",
            lambda text: {"groups": text, "correlation": 0.1},
        ),
        Option(
            "correlation",
            "R",
            "With --shared: of two errors in one group.  [default: 0.1]",
            lambda text: dict(split(text, "R, a number from 0 to 1", "/", float, ["correlation"])),
            needed=False,
        ),
    )

    def __post_init__(self) -> None:
        set_fields(self, epsilon=check_rate("epsilon", self.epsilon))
        if not isinstance(self.correlation, Real) or not 0 <= self.correlation <= 1:
            raise BadParameter(f"correlation: expected a number from 0 to 1, found {self.correlation!r}")
        set_fields(self, correlation=float(self.correlation))

    @property
    def words(self) -> str:
        by = f"the same {self.groups}" if isinstance(self.groups, str) else "one group"
        return (
            f"each record of the truth is wrong with probability {self.epsilon:g}; errors in {by} go together "
            f"(correlation {self.correlation:g}), errors in different groups are independent"
        )

    @property
    def columns(self) -> list[str]:
        return [self.groups] if isinstance(self.groups, str) else []

    @property
    def is_independent(self) -> bool:
        return self.correlation == 0 or self.epsilon == 0

    def rates_of(self, records: Records) -> tuple[Array, None]:
        return np.array([self.epsilon]), None

    def groups_of(self, records: Records) -> NDArray[np.int64] | None:
        given = self.groups
        names = records.column(given, "groups") if isinstance(given, str) else np.asarray(given)
        if names.shape != (len(records),):
            raise BadParameter(f"groups: expected {len(records)} names, one per item, found {len(names)}")
        if names.dtype.kind == "O":
            absent = next((i for i, name in enumerate(names) if name is None), None)
            if absent is not None:
                raise BadParameter(f"groups: expected a name for every item, found none for item {absent + 1}")
            names = np.array([str(name) for name in names])
        numbers: NDArray[np.int64] = np.unique(names, return_inverse=True)[1].ravel().astype(np.int64)
        return None if self.is_independent else numbers

    def law(self, size: int, items: int) -> Array:
        from verite.annotation_errors.laws import beta_binomial, binomial, certain

        if self.epsilon == 0:
            return certain(size, 0)
        if self.correlation == 0:
            return binomial(size, self.epsilon)
        if self.correlation == 1:
            right, wrong = certain(size, 0) + log(1 - self.epsilon), certain(size, size) + log(self.epsilon)
            return np.asarray(np.logaddexp(right, wrong), dtype=np.float64)
        weight = (1 - self.correlation) / self.correlation
        return beta_binomial(size, self.epsilon * weight, (1 - self.epsilon) * weight)

    def at(self, epsilon: float) -> Shared:
        return replace(self, epsilon=epsilon)


@dataclass(frozen=True)
class Exactly(OneGroup):
    """Exactly so many records are wrong, every choice of them being as likely as any other."""

    errors: int
    options = (
        Option(
            "exactly",
            "M",
            "Exactly M records are wrong, no matter which.",
            lambda text: dict(split(text, "M, a whole number", "/", int, ["errors"])),
        ),
    )

    def __post_init__(self) -> None:
        set_fields(self, errors=check_count("errors", self.errors))

    @property
    def words(self) -> str:
        return f"exactly {self.errors} records of the truth are wrong, every choice of them as likely as any other"

    def check(self, items: int) -> None:
        if 2 * self.errors > items:
            raise BadParameter(f"errors: expected at most half of the {items} records, found {self.errors}; {WHY_HALF}")

    def rates_of(self, records: Records) -> tuple[Array, None]:
        return np.array([self.errors / len(records)]), None

    def law(self, size: int, items: int) -> Array:
        from verite.annotation_errors.laws import certain, hypergeometric

        return hypergeometric(items, size, self.errors) if self.errors else certain(size, 0)

    def expected(self, records: Records) -> int:
        return self.errors
