"""Which models let every record err for itself? A common rate, one for each answer, one for each record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verite.annotation_errors.model import (
    ErrorModel,
    Option,
    Records,
    check_count,
    check_rate,
    set_fields,
    share_of,
    split,
)
from verite.arrays import np
from verite.errors import BadParameter, DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def read_bound(text: str) -> dict[str, Any]:
    """A number of errors, or a share of all records."""
    try:
        return {"errors": int(text)} if text.isdecimal() else {"epsilon": float(text)}
    except ValueError:
        raise BadParameter(f"expected a number of errors such as 20 or a share such as 0.05, found {text!r}") from None


@dataclass(frozen=True, eq=False)
class AtMost(ErrorModel):
    """Up to so many records are wrong, in the worst way for the order. No probability: what is certain and what is not.

    The bound is a number of `errors`, or a share `epsilon` of all records. Records known to be right may be named:
    `audited` is a truth value for every item or the name of the table's column that holds them.
    """

    errors: int | None = None
    epsilon: float | None = None
    audited: str | Sequence[bool] | None = None
    is_scattered = False
    is_worst_case = True
    knows_right = True
    options = (
        Option("at_most", "M|SHARE", "At most M records, or this share, are wrong: the worst case.", read_bound),
        Option(
            "audited",
            "COLUMN",
            "With --at-most: the column with 1 for records known to be right.",
            lambda text: {"audited": text},
            needed=False,
        ),
    )

    def __post_init__(self) -> None:
        if (self.errors is None) == (self.epsilon is None):
            raise BadParameter("at most: expected either a number of errors or a share epsilon")
        if self.errors is not None:
            set_fields(self, errors=check_count("errors", self.errors))
        if self.epsilon is not None:
            set_fields(self, epsilon=check_rate("epsilon", self.epsilon))

    @property
    def words(self) -> str:
        share = f"{self.errors}" if self.errors is not None else f"a share of {self.epsilon:g}"
        checked = " that were not audited" if self.audited is not None else ""
        return f"at most {share} of the records{checked} are wrong, chosen in the worst way for the order"

    @property
    def columns(self) -> list[str]:
        return [self.audited] if isinstance(self.audited, str) else []

    def check(self, items: int) -> None:
        if self.errors is not None and self.errors > items:
            raise BadParameter(f"errors: expected at most the {items} records there are, found {self.errors}")

    def rates_of(self, records: Records) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
        """A record that cannot be wrong has rate 0; the size of the other rate plays no part."""
        if self.audited is None:
            return np.array([0.5]), None
        known = self.audited
        marks = read_numbers(records.column(known, "audited"), known) if isinstance(known, str) else np.asarray(known)
        if len(marks) != len(records):
            raise BadParameter(f"audited: expected {len(records)} values, one per item, found {len(marks)}")
        if not np.isin(marks, [0, 1]).all():
            raise BadParameter("audited: expected 0 or 1 for every item")
        return np.array([0.5, 0.0]), marks.astype(np.int64)

    def expected(self, records: Records) -> int:
        return self.errors if self.errors is not None else share_of(self.epsilon or 0.0, len(records))


def read_epsilon(text: str) -> dict[str, Any]:
    return dict(split(text, "E, a share of wrong records", "/", float, ["epsilon"]))


@dataclass(frozen=True)
class Bernoulli(ErrorModel):
    """Every record is wrong with probability epsilon, independently of the others and of the answers."""

    epsilon: float
    options = (
        Option("epsilon", "E", "Each record of the truth is wrong with this probability, independently.", read_epsilon),
    )

    def __post_init__(self) -> None:
        set_fields(self, epsilon=check_rate("epsilon", self.epsilon))

    @property
    def words(self) -> str:
        return f"each record of the truth is wrong with probability {self.epsilon:g}, independently of the others"

    def rates_of(self, records: Records) -> tuple[NDArray[np.float64], None]:
        return np.array([self.epsilon]), None


@dataclass(frozen=True)
class Asymmetric(ErrorModel):
    """Records that say 0 are wrong at one rate, records that say 1 at another.

    >>> print(Asymmetric(zero=0.1, one=0.3))
    asymmetric(zero=0.1, one=0.3)
    """

    zero: float  # P(truth is 1 | record says 0)
    one: float  # P(truth is 0 | record says 1)
    knows_right = True
    options = (
        Option(
            "asymmetric",
            "E0,E1",
            "Records that say 0 are wrong at the first rate, those that say 1 at the second.",
            lambda text: dict(split(text, "E0,E1", ",", float, ["zero", "one"])),
        ),
    )

    def __post_init__(self) -> None:
        set_fields(self, zero=check_rate("zero", self.zero), one=check_rate("one", self.one))

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

    @property
    def words(self) -> str:
        return (
            f"a record that says 0 is wrong with probability {self.zero:g}, one that says 1 with probability "
            f"{self.one:g}, independently of the others"
        )

    def rates_of(self, records: Records) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if records.kind in ("labels", "confidences"):
            raise BadParameter(
                "asymmetric rates: expected a table of 0 and 1, found labels; give a confusion matrix or rates per item"
            )
        return np.array([self.zero, self.one]), records.truth.astype(np.int64)


@dataclass(frozen=True, eq=False)
class PerItem(ErrorModel):
    """A probability of being wrong for every record: 0 where it was checked, a share of votes, a calibrated posterior.

    `rates` is one number per item, or the name of the table's column that holds them.
    """

    rates: str | NDArray[np.float64]
    knows_right = True
    options = (
        Option("rates", "COLUMN", "The table's column with a rate for every item.", lambda text: {"rates": text}),
    )

    def __init__(self, rates: str | ArrayLike) -> None:
        set_fields(self, rates=rates if isinstance(rates, str) else check_rates(rates))

    @property
    def words(self) -> str:
        return "each record of the truth is wrong with a probability of its own, independently of the others"

    @property
    def columns(self) -> list[str]:
        return [self.rates] if isinstance(self.rates, str) else []

    def rates_of(self, records: Records) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        rates = self.rates
        if isinstance(rates, str):
            rates = check_rates(read_numbers(records.column(rates, "rates"), rates))
        if len(rates) != len(records):
            raise BadParameter(f"rates: expected {len(records)} numbers, one per item, found {len(rates)}")
        table, which = np.unique(rates, return_inverse=True)
        return table, which.ravel().astype(np.int64)


def check_rates(rates: ArrayLike) -> NDArray[np.float64]:
    """A share of wrong records for every item."""
    try:
        values = np.array(rates, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadParameter("rates: expected a number for every item, found something else") from None
    if values.ndim != 1:
        raise BadParameter(f"rates: expected one number per item, found an array of shape {values.shape}")
    bad = np.flatnonzero(~((values >= 0) & (values <= 0.5)))
    if len(bad):
        raise BadParameter(
            f"rates: expected shares from 0 to 0.5, found {values[bad[0]]:g} for item {bad[0] + 1}; "
            "where a record is more likely wrong than right, correct it instead"
        )
    values.flags.writeable = False
    return values


def read_numbers(column: NDArray[Any], name: str) -> NDArray[np.float64]:
    """A table's column as numbers."""
    try:
        return column.astype("float64")
    except ValueError as error:
        raise DataError(f"{name}: expected a number for every item, found {str(error).rpartition(': ')[2]}") from None
