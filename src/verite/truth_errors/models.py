"""In what way may a truth be wrong? Each model has a name, its numbers, and its assumption in words.

::

    Bernoulli(0.05)             every record is wrong with the same probability, independently
    Asymmetric(0.02, 0.10)      one rate for records that say 0, another for those that say 1
    PerItem(rates)              a rate for every item
    Audit(5, 50)                5 errors were found among 50 records checked: the rate itself is uncertain
    Shared(0.05, 0.1, groups)   errors come in groups: a class or a source is bad as a whole
    Exactly(20)                 exactly 20 records are wrong, no matter which
    AtMost(20)                  up to 20 records are wrong, in the worst way there is
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verite.errors import BadParameter

WHY_HALF = (
    "beyond one half the record says the opposite of the truth more often than the truth, "
    "and no order can be read off it"
)


def check_rate(name: str, value: float) -> float:
    """A share of wrong records between 0 and one half."""
    if not isinstance(value, (int, float, np.number)):
        raise BadParameter(f"{name}: expected a share of wrong records from 0 to 0.5, found {value!r}")
    if not 0 <= value <= 0.5:
        raise BadParameter(f"{name}: expected a share of wrong records from 0 to 0.5, found {value:g}; {WHY_HALF}")
    return float(value)


def fingerprint(values: Any) -> str:
    """How many values, and eight characters that stand for them, to tell signatures apart.

    >>> fingerprint([0.1, 0.2]) == fingerprint(np.array([0.1, 0.2])), fingerprint([0.1, 0.2]) == fingerprint([0.2, 0.1])
    (True, False)
    """
    from hashlib import blake2b

    plain = np.asarray(values).tolist()
    return f"{len(plain)}:{blake2b(repr(plain).encode(), digest_size=4).hexdigest()}"


def check_count(name: str, value: int, least: int = 0) -> int:
    """A whole number, such as one of records."""
    if not isinstance(value, (int, float, np.number)) or value % 1 or value < least:
        raise BadParameter(f"{name}: expected a whole number from {least} on, found {value!r}")
    return int(value)


@dataclass(frozen=True)
class Bernoulli:
    """Every record is wrong with probability epsilon, independently of the others and of the answers."""

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_rate("epsilon", self.epsilon))

    def __str__(self) -> str:
        return f"bernoulli(epsilon={self.epsilon:g})"

    @property
    def words(self) -> str:
        return f"each record of the truth is wrong with probability {self.epsilon:g}, independently of the others"


@dataclass(frozen=True)
class Asymmetric:
    """Records that say 0 are wrong at one rate, records that say 1 at another.

    >>> print(Asymmetric(zero=0.1, one=0.3))
    asymmetric(zero=0.1, one=0.3)
    """

    zero: float  # P(truth is 1 | record says 0)
    one: float  # P(truth is 0 | record says 1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "zero", check_rate("zero", self.zero))
        object.__setattr__(self, "one", check_rate("one", self.one))

    @classmethod
    def forward(cls, false_ones: float, false_zeros: float, recorded_ones: float) -> Asymmetric:
        """From the annotator's side: how often a true 0 is written as 1, a true 1 as 0, and the share of 1s on record.

        Bayes turns them round: with the true share s = (recorded - false_ones) / (1 - false_ones - false_zeros),
        one = (1 - s) false_ones / recorded and zero = s false_zeros / (1 - recorded).

        >>> model = Asymmetric.forward(false_ones=0.05, false_zeros=0.1, recorded_ones=0.39)
        >>> round(model.zero, 6), round(model.one, 6)
        (0.065574, 0.076923)
        """
        for name, value in (("false_ones", false_ones), ("false_zeros", false_zeros)):
            check_rate(name, value)
        if not 0 < recorded_ones < 1:
            raise BadParameter(f"recorded_ones: expected a share between 0 and 1, found {recorded_ones:g}")
        share = (recorded_ones - false_ones) / (1 - false_ones - false_zeros) if false_ones + false_zeros < 1 else -1.0
        if not 0 <= share <= 1:
            raise BadParameter(
                f"recorded_ones: expected a share from {false_ones:g} to {1 - false_zeros:g}, which these rates can "
                f"produce, found {recorded_ones:g}"
            )
        return cls(zero=share * false_zeros / (1 - recorded_ones), one=(1 - share) * false_ones / recorded_ones)

    def __str__(self) -> str:
        return f"asymmetric(zero={self.zero:g}, one={self.one:g})"

    @property
    def words(self) -> str:
        return (
            f"a record that says 0 is wrong with probability {self.zero:g}, one that says 1 with probability "
            f"{self.one:g}, independently of the others"
        )


@dataclass(frozen=True, eq=False)
class PerItem:
    """A probability of being wrong for every record: 0 where it was checked, a share of votes, a calibrated posterior.

    `rates` is one number an item, or the name of the table's column that holds them.
    """

    rates: str | NDArray[np.float64]

    def __init__(self, rates: str | ArrayLike) -> None:
        object.__setattr__(self, "rates", rates if isinstance(rates, str) else check_rates(rates))

    def __str__(self) -> str:
        rates = self.rates if isinstance(self.rates, str) else fingerprint(self.rates)
        return f"per_item(rates={rates})"

    @property
    def words(self) -> str:
        return "each record of the truth is wrong with a probability of its own, independently of the others"


def check_rates(rates: ArrayLike) -> NDArray[np.float64]:
    try:
        values = np.asarray(rates, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadParameter("rates: expected a number for every item, found something else") from None
    if values.ndim != 1:
        raise BadParameter(f"rates: expected one number an item, found an array of shape {values.shape}")
    bad = np.flatnonzero(~((values >= 0) & (values <= 0.5)))
    if len(bad):
        raise BadParameter(
            f"rates: expected shares from 0 to 0.5, found {values[bad[0]]:g} for item {bad[0] + 1}; "
            "where a record is more likely wrong than right, correct it instead"
        )
    values.flags.writeable = False
    return values


@dataclass(frozen=True)
class Audit:
    """Some records were checked again: `errors` of `checked` were wrong. The rate follows Jeffreys' posterior.

    Check records on which the algorithms disagree: only they matter, and they are wrong more often than others.
    """

    errors: int
    checked: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "checked", check_count("checked", self.checked, 1))
        object.__setattr__(self, "errors", check_count("errors", self.errors))
        if self.errors > self.checked:
            raise BadParameter(f"errors: expected at most the {self.checked} records checked, found {self.errors}")
        if 2 * self.errors > self.checked:
            raise BadParameter(
                f"errors: expected at most half of the {self.checked} records checked, found {self.errors}; {WHY_HALF}"
            )

    def __str__(self) -> str:
        return f"audit(errors={self.errors}, checked={self.checked})"

    @property
    def words(self) -> str:
        return (
            f"{self.errors} of {self.checked} records checked were wrong; each record is wrong independently of the "
            "others, at a common rate known only so well (Beta posterior under Jeffreys' prior)"
        )


@dataclass(frozen=True, eq=False)
class Shared:
    """Errors come in groups: the rate of each group is drawn from a Beta law of mean epsilon.

    `correlation` is that of two errors in one group: 0 is independence, 1 means a group is wrong as a whole or not at
    all. `groups` is a name for every item, or the name of a column: `interpretation`, `item`, `truth` or one of the
    table's own.
    """

    epsilon: float
    correlation: float
    groups: str | Sequence[object]

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_rate("epsilon", self.epsilon))
        if not isinstance(self.correlation, (int, float, np.number)) or not 0 <= self.correlation <= 1:
            raise BadParameter(f"correlation: expected a number from 0 to 1, found {self.correlation!r}")
        object.__setattr__(self, "correlation", float(self.correlation))

    @property
    def beta(self) -> tuple[float, float]:
        """The two parameters of the Beta law of a group's rate; only for a correlation strictly between 0 and 1."""
        weight = (1 - self.correlation) / self.correlation
        return self.epsilon * weight, (1 - self.epsilon) * weight

    def __str__(self) -> str:
        groups = self.groups if isinstance(self.groups, str) else fingerprint(self.groups)
        return f"shared(epsilon={self.epsilon:g}, correlation={self.correlation:g}, groups={groups})"

    @property
    def words(self) -> str:
        by = f"the same {self.groups}" if isinstance(self.groups, str) else "one group"
        return (
            f"each record of the truth is wrong with probability {self.epsilon:g}; errors in {by} go together "
            f"(correlation {self.correlation:g}), errors in different groups are independent"
        )


@dataclass(frozen=True)
class Exactly:
    """Exactly so many records are wrong, every choice of them being as likely as any other."""

    errors: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "errors", check_count("errors", self.errors))

    def __str__(self) -> str:
        return f"exactly(errors={self.errors})"

    @property
    def words(self) -> str:
        return f"exactly {self.errors} records of the truth are wrong, every choice of them as likely as any other"


@dataclass(frozen=True, eq=False)
class AtMost:
    """Up to so many records are wrong, in the worst way for the order. No probability: what is certain and what is not.

    The bound is a number of `errors`, or a share `epsilon` of all records. Records known to be right may be named:
    `audited` is a truth value for every item or the name of the table's column that holds them.
    """

    errors: int | None = None
    epsilon: float | None = None
    audited: str | Sequence[bool] | None = None

    def __post_init__(self) -> None:
        if (self.errors is None) == (self.epsilon is None):
            raise BadParameter("at most: expected either a number of errors or a share epsilon")
        if self.errors is not None:
            object.__setattr__(self, "errors", check_count("errors", self.errors))
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", check_rate("epsilon", self.epsilon))

    def bound(self, items: int) -> int:
        """The largest number of wrong records."""
        return self.errors if self.errors is not None else share_of(self.epsilon or 0.0, items)

    def __str__(self) -> str:
        what = f"errors={self.errors}" if self.errors is not None else f"epsilon={self.epsilon:g}"
        if self.audited is not None:
            marks = self.audited if isinstance(self.audited, str) else fingerprint(self.audited)
            what += f", audited={marks}"
        return f"at_most({what})"

    @property
    def words(self) -> str:
        share = f"{self.errors}" if self.errors is not None else f"a share of {self.epsilon:g}"
        checked = " that were not audited" if self.audited is not None else ""
        return f"at most {share} of the records{checked} are wrong, chosen in the worst way for the order"


def is_shared(model: object) -> TypeGuard[Shared]:
    """Whether errors really come in groups."""
    return isinstance(model, Shared) and model.correlation > 0 and model.epsilon > 0


ErrorModel = Bernoulli | Asymmetric | PerItem | Audit | Shared | Exactly | AtMost


def share_of(epsilon: float, items: int) -> int:
    """The largest whole number of items within a share: floor(epsilon items) of the decimal number that was written.

    >>> share_of(0.29, 100)  # 0.29 * 100 is 28.999999999999996
    29
    """
    if not isfinite(epsilon):
        raise BadParameter(f"epsilon: expected a number, found {epsilon}")
    return int(Fraction(repr(float(epsilon))) * items)
