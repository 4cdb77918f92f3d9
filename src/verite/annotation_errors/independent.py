"""Independent annotation errors (one rate, a rate per recorded answer, a rate per item), and the worst case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from verite.annotation_errors.model import (
    AnnotatedItems,
    ErrorModel,
    Option,
    check_count,
    check_rate,
    set_fields,
    split_arguments,
)
from verite.arrays import np
from verite.errors import BadParameter, DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Bernoulli(ErrorModel):
    """Every annotation is wrong with probability epsilon, independently of the others and of the answers.

    Parameters
    ----------
    epsilon : float
        The error rate, from 0 to 0.5.

    Examples
    --------
    >>> print(Bernoulli(0.05))
    bernoulli(epsilon=0.05)
    """

    epsilon: float
    options = (
        Option(
            "epsilon",
            "E",
            "Each annotation is wrong with this probability, independently.",
            lambda text: split_arguments(text, "E, a share of wrong annotations", "/", float, ["epsilon"]),
        ),
    )

    def __post_init__(self) -> None:
        set_fields(self, epsilon=check_rate("epsilon", self.epsilon))

    @property
    def assumption(self) -> str:
        return f"each annotation is wrong with probability {self.epsilon:g}, independently of the others"

    def rates_of(self, table: AnnotatedItems) -> tuple[NDArray[np.float64], None]:
        return np.array([self.epsilon]), None


@dataclass(frozen=True)
class Asymmetric(ErrorModel):
    """Annotations of 0 are wrong at one rate, annotations of 1 at another.

    Parameters
    ----------
    zero : float
        P(the true value is 1 | the annotation is 0), from 0 to 0.5.
    one : float
        P(the true value is 0 | the annotation is 1), from 0 to 0.5.

    Examples
    --------
    >>> print(Asymmetric(zero=0.1, one=0.3))
    asymmetric(zero=0.1, one=0.3)
    """

    zero: float
    one: float
    rate_zero_is_verified = True
    options = (
        Option(
            "asymmetric",
            "E0,E1",
            "Annotations of 0 are wrong at the first rate, those of 1 at the second.",
            lambda text: split_arguments(text, "E0,E1", ",", float, ["zero", "one"]),
        ),
    )

    def __post_init__(self) -> None:
        set_fields(self, zero=check_rate("zero", self.zero), one=check_rate("one", self.one))

    @classmethod
    def forward(cls, false_ones: float, false_zeros: float, recorded_ones: float) -> Asymmetric:
        """Derive the model from the annotator's error rates by Bayes' theorem.

        With the true share of ones s = (recorded_ones - false_ones) / (1 - false_ones - false_zeros),
        one = (1 - s) false_ones / recorded_ones and zero = s false_zeros / (1 - recorded_ones).

        Parameters
        ----------
        false_ones : float
            P(annotated as 1 | the true value is 0).
        false_zeros : float
            P(annotated as 0 | the true value is 1).
        recorded_ones : float
            The share of ones among the annotations, between 0 and 1.

        Returns
        -------
        Asymmetric

        Raises
        ------
        BadParameter
            These rates cannot produce the share of ones.

        Examples
        --------
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
    def assumption(self) -> str:
        return (
            f"an annotation of 0 is wrong with probability {self.zero:g}, one of 1 with probability {self.one:g}, "
            "independently of the others"
        )

    def rates_of(self, table: AnnotatedItems) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if table.kind in ("labels", "confidences"):
            raise BadParameter(
                "asymmetric rates: expected a table of 0 and 1, found labels; give a confusion matrix or rates per item"
            )
        return np.array([self.zero, self.one]), table.truth.astype(np.int64)


@dataclass(frozen=True, eq=False)
class PerItem(ErrorModel):
    """Every annotation is wrong with a probability of its own, independently of the others.

    Such as 0 where it was verified, a share of annotators' votes, or a calibrated posterior.

    Parameters
    ----------
    rates : str or sequence of float
        One rate per item, from 0 to 0.5, or the name of the table's column that holds them.

    Examples
    --------
    >>> print(PerItem("rate"))
    per_item(rates=rate)
    """

    rates: str | NDArray[np.float64]
    rate_zero_is_verified = True
    options = (
        Option("rates", "COLUMN", "The table's column with a rate for every item.", lambda text: {"rates": text}),
    )

    def __init__(self, rates: str | ArrayLike) -> None:
        set_fields(self, rates=rates if isinstance(rates, str) else check_rates(rates))

    @property
    def assumption(self) -> str:
        return "each annotation is wrong with a probability of its own, independently of the others"

    @property
    def columns(self) -> list[str]:
        return [self.rates] if isinstance(self.rates, str) else []

    def rates_of(self, table: AnnotatedItems) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        rates = self.rates
        if isinstance(rates, str):
            rates = check_rates(read_numbers(table.column(rates, "rates"), rates))
        if len(rates) != len(table):
            raise BadParameter(f"rates: expected {len(table)} numbers, one per item, found {len(rates)}")
        distinct, which = np.unique(rates, return_inverse=True)
        return distinct, which.ravel().astype(np.int64)


@dataclass(frozen=True, eq=False)
class AtMost(ErrorModel):
    """Worst case: up to this many annotations are wrong, chosen to change the ranking. No probabilities.

    Parameters
    ----------
    errors : int, optional
        The bound as a number of wrong annotations.
    epsilon : float, optional
        The bound as a share of all annotations, from 0 to 0.5. Give one of the two.
    audited : str or sequence of bool, optional
        Which annotations are known to be right: one value per item, or the name of the table's column.

    Examples
    --------
    >>> AtMost(20).assumption
    'at most 20 of the annotations are wrong, chosen in the worst way for the ranking'
    """

    errors: int | None = None
    epsilon: float | None = None
    audited: str | Sequence[bool] | None = None
    is_scattered = False
    is_worst_case = True
    rate_zero_is_verified = True

    @staticmethod
    def read_bound(text: str) -> dict[str, Any]:
        """Read `--at-most`: a number of errors, or a share of all annotations."""
        try:
            return {"errors": int(text)} if text.isdecimal() else {"epsilon": float(text)}
        except ValueError:
            raise BadParameter(
                f"expected a number of errors such as 20 or a share such as 0.05, found {text!r}"
            ) from None

    options = (
        Option(
            "at_most", "M|SHARE", "At most M annotations, or this share, are wrong: the worst case.", read_bound
        ),
        Option(
            "audited",
            "COLUMN",
            "With --at-most: the column with 1 for annotations known to be right.",
            lambda text: {"audited": text},
            needed=False,
        ),
    )  # fmt: skip

    def __post_init__(self) -> None:
        if (self.errors is None) == (self.epsilon is None):
            raise BadParameter("at most: expected either a number of errors or a share epsilon")
        if self.errors is not None:
            set_fields(self, errors=check_count("errors", self.errors))
        if self.epsilon is not None:
            set_fields(self, epsilon=check_rate("epsilon", self.epsilon))

    @property
    def assumption(self) -> str:
        share = f"{self.errors}" if self.errors is not None else f"a share of {self.epsilon:g}"
        unaudited = " that were not audited" if self.audited is not None else ""
        return f"at most {share} of the annotations{unaudited} are wrong, chosen in the worst way for the ranking"

    @property
    def columns(self) -> list[str]:
        return [self.audited] if isinstance(self.audited, str) else []

    def check(self, items: int) -> None:
        if self.errors is not None and self.errors > items:
            raise BadParameter(f"errors: expected at most the {items} annotations there are, found {self.errors}")

    def rates_of(self, table: AnnotatedItems) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
        """Rate 0 where an annotation cannot be wrong; the value of the other rate has no effect."""
        if self.audited is None:
            return np.array([0.5]), None
        known = self.audited
        marks = read_numbers(table.column(known, "audited"), known) if isinstance(known, str) else np.asarray(known)
        if len(marks) != len(table):
            raise BadParameter(f"audited: expected {len(table)} values, one per item, found {len(marks)}")
        if not np.isin(marks, [0, 1]).all():
            raise BadParameter("audited: expected 0 or 1 for every item")
        return np.array([0.5, 0.0]), marks.astype(np.int64)

    def expected_errors(self, table: AnnotatedItems) -> int:
        if self.errors is not None:
            return self.errors
        # Of the decimal number that was written: a share of 0.29 of 100 annotations is 29, not 28.999….
        return int(Fraction(repr(self.epsilon)) * len(table))


def check_rates(rates: ArrayLike) -> NDArray[np.float64]:
    """Return one error rate per item as a read-only array; refuse rates that are not from 0 to 0.5."""
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
            "where an annotation is more likely wrong than right, correct it instead"
        )
    values.flags.writeable = False
    return values


def read_numbers(column: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Convert a table's column of text to numbers.

    Parameters
    ----------
    column
        Cells of the column as text.
    name
        Name of the column, for the message.

    Returns
    -------
    NDArray[np.float64]
        One float per item; a cell that is no number is refused.
    """
    try:
        return column.astype("float64")
    except ValueError as error:
        raise DataError(f"{name}: expected a number for every item, found {str(error).rpartition(': ')[2]}") from None
