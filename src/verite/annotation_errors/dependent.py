"""Correlated annotation errors: an uncertain common rate, errors in groups, a fixed number of errors.

Within a group errors are exchangeable: given their number, every choice of wrong annotations is equally likely.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log
from numbers import Real
from typing import TYPE_CHECKING

from verite.annotation_errors.independent import Bernoulli
from verite.annotation_errors.model import (
    WHY_HALF,
    AnnotatedItems,
    ErrorModel,
    Option,
    check_count,
    check_rate,
    set_fields,
    split_arguments,
)
from verite.arrays import np
from verite.errors import BadParameter, ReadError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class OneGroup(ErrorModel):
    """A model in which the errors of all annotations are correlated."""

    def groups_of(self, table: AnnotatedItems) -> NDArray[np.int64]:
        return np.zeros(len(table), dtype=np.int64)


@dataclass(frozen=True)
class Audit(OneGroup):
    """An audit found `errors` among `checked` annotations; the common rate follows Jeffreys' posterior.

    Audit items on which the algorithms disagree: only they matter to the ranking, and they are wrong more often.

    Parameters
    ----------
    errors : int
        Annotations that were found wrong: at most half of those checked.
    checked : int
        Annotations that were checked.

    Examples
    --------
    >>> print(Audit(5, 50))
    audit(errors=5, checked=50)
    """

    errors: int
    checked: int

    @staticmethod
    def read_counts(text: str) -> dict[str, int]:
        """Read `--audit`: K/N, or an audit.csv whose verdicts are counted (missing objects have no annotation)."""
        if not text.endswith(".csv"):
            return split_arguments(text, "K/N", "/", int, ["errors", "checked"])
        from verite.csv_files import read_csv

        table = read_csv(text, "an audit.csv with the columns kind and verdict", ("kind", "verdict"))
        verdicts = [row["verdict"].strip().lower() for _, row in table.records() if row["kind"] != "missing"]
        checked = sum(verdict in ("right", "wrong") for verdict in verdicts)
        if not checked:
            raise ReadError(table.path, expected="verdicts, right or wrong, of some annotations", found="none")
        return {"errors": verdicts.count("wrong"), "checked": checked}

    options = (
        Option(
            "audit",
            "K/N|FILE",
            "K of N audited annotations were wrong; or audit.csv with its verdicts filled in.",
            read_counts,
        ),
    )

    def __post_init__(self) -> None:
        set_fields(self, checked=check_count("checked", self.checked, 1), errors=check_count("errors", self.errors))
        if self.errors > self.checked:
            raise BadParameter(f"errors: expected at most the {self.checked} annotations checked, found {self.errors}")
        if 2 * self.errors > self.checked:
            raise BadParameter(
                f"errors: expected at most half of the {self.checked} annotations checked, found {self.errors}; "
                f"{WHY_HALF}"
            )

    @property
    def assumption(self) -> str:
        return (
            f"{self.errors} of {self.checked} audited annotations were wrong; each annotation is wrong independently "
            "of the others, at a common uncertain rate (Beta posterior under Jeffreys' prior)"
        )

    def rates_of(self, table: AnnotatedItems) -> tuple[Array, None]:
        return np.array([self.errors / self.checked]), None

    def log_pmf(self, size: int, items: int) -> Array:
        from verite.annotation_errors.distributions import beta_binomial_log_pmf

        return beta_binomial_log_pmf(size, self.errors + 0.5, self.checked - self.errors + 0.5)

    def log_mean(self, log_at: Callable[[float], Array], degree: int) -> Array:
        from verite.annotation_errors.distributions import log_mean_over_posterior

        return log_mean_over_posterior(log_at, self.errors, self.checked, degree)

    def expected_errors(self, table: AnnotatedItems) -> int:
        return len(table) * self.errors // self.checked


@dataclass(frozen=True, eq=False)
class Shared(ErrorModel):
    """Errors come in groups: the rate of each group is drawn from a Beta distribution of mean epsilon.

    Parameters
    ----------
    epsilon : float
        The mean error rate, from 0 to 0.5.
    correlation : float
        The correlation of two errors in one group: 0 is independence, at 1 a group is wrong as a whole or not at all.
    groups : str or sequence
        One group per item, or the name of a column: `interpretation`, `item`, `truth` or one of the table's own.

    Examples
    --------
    >>> print(Shared(0.05, 0.1, "source"))
    shared(epsilon=0.05, correlation=0.1, groups=source)
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
            "With --epsilon: errors come in groups given by this column (item, interpretation, truth, one of the "
            "table's own; label or image for detectors).",
            lambda text: {"groups": text, "correlation": 0.1},
        ),
        Option(
            "correlation",
            "R",
            "With --shared: correlation of two errors in one group.  [default: 0.1]",
            lambda text: split_arguments(text, "R, a number from 0 to 1", "/", float, ["correlation"]),
            needed=False,
        ),
    )

    def __post_init__(self) -> None:
        set_fields(self, epsilon=check_rate("epsilon", self.epsilon))
        if not isinstance(self.correlation, Real) or not 0 <= self.correlation <= 1:
            raise BadParameter(f"correlation: expected a number from 0 to 1, found {self.correlation!r}")
        set_fields(self, correlation=float(self.correlation))

    @property
    def assumption(self) -> str:
        within = f"the same {self.groups}" if isinstance(self.groups, str) else "one group"
        return (
            f"each annotation is wrong with probability {self.epsilon:g}; errors in {within} are correlated "
            f"(correlation {self.correlation:g}), errors in different groups are independent"
        )

    @property
    def columns(self) -> list[str]:
        return [self.groups] if isinstance(self.groups, str) else []

    @property
    def is_independent(self) -> bool:
        return self.correlation == 0 or self.epsilon == 0

    def rates_of(self, table: AnnotatedItems) -> tuple[Array, None]:
        return np.array([self.epsilon]), None

    def groups_of(self, table: AnnotatedItems) -> NDArray[np.int64] | None:
        given = self.groups
        names = table.column(given, "groups") if isinstance(given, str) else np.asarray(given)
        if names.shape != (len(table),):
            raise BadParameter(f"groups: expected {len(table)} names, one per item, found {len(names)}")
        if names.dtype.kind == "O":
            absent = next((i for i, name in enumerate(names) if name is None), None)
            if absent is not None:
                raise BadParameter(f"groups: expected a name for every item, found none for item {absent + 1}")
            names = np.array([str(name) for name in names])
        numbers: NDArray[np.int64] = np.unique(names, return_inverse=True)[1].ravel().astype(np.int64)
        return None if self.is_independent else numbers

    def log_pmf(self, size: int, items: int) -> Array:
        from verite.annotation_errors.distributions import beta_binomial_log_pmf, binomial_log_pmf, point_mass_log_pmf

        if self.epsilon == 0:
            return point_mass_log_pmf(size, 0)
        if self.correlation == 0:
            return binomial_log_pmf(size, self.epsilon)
        if self.correlation == 1:
            right = point_mass_log_pmf(size, 0) + log(1 - self.epsilon)
            wrong = point_mass_log_pmf(size, size) + log(self.epsilon)
            return np.asarray(np.logaddexp(right, wrong), dtype=np.float64)
        weight = (1 - self.correlation) / self.correlation
        return beta_binomial_log_pmf(size, self.epsilon * weight, (1 - self.epsilon) * weight)

    def with_rate(self, epsilon: float) -> Shared:
        return replace(self, epsilon=epsilon)


@dataclass(frozen=True)
class Exactly(OneGroup):
    """Exactly this many annotations are wrong, every choice of them equally likely.

    Parameters
    ----------
    errors : int
        The number of wrong annotations, at most half of all.

    Examples
    --------
    >>> print(Exactly(20))
    exactly(errors=20)
    """

    errors: int
    options = (
        Option(
            "exactly",
            "M",
            "Exactly M annotations are wrong, every choice of them equally likely.",
            lambda text: split_arguments(text, "M, a whole number", "/", int, ["errors"]),
        ),
    )

    def __post_init__(self) -> None:
        set_fields(self, errors=check_count("errors", self.errors))

    @property
    def assumption(self) -> str:
        return f"exactly {self.errors} annotations are wrong, every choice of them equally likely"

    def check(self, items: int) -> None:
        if 2 * self.errors > items:
            raise BadParameter(
                f"errors: expected at most half of the {items} annotations, found {self.errors}; {WHY_HALF}"
            )

    def rates_of(self, table: AnnotatedItems) -> tuple[Array, None]:
        return np.array([self.errors / len(table)]), None

    def log_pmf(self, size: int, items: int) -> Array:
        from verite.annotation_errors.distributions import hypergeometric_log_pmf, point_mass_log_pmf

        return hypergeometric_log_pmf(items, size, self.errors) if self.errors else point_mass_log_pmf(size, 0)

    def expected_errors(self, table: AnnotatedItems) -> int:
        return self.errors
