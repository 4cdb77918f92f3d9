"""What if the errors are where they hurt most? A bound on their number, and no probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter
from verite.truth_errors.independent import read_numbers
from verite.truth_errors.model import ErrorModel, Option, Records, check_count, check_rate, set_fields, share_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
