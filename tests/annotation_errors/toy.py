"""An error model of somebody's own: one class, and nothing else anywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verite.annotation_errors import ErrorModel
from verite.annotation_errors.laws import binomial, certain
from verite.annotation_errors.model import check_rate


@dataclass(frozen=True)
class TwoRates(ErrorModel):
    """The annotators were careful or careless, nobody knows which: one rate or another for all records.

    A coin decides between them.
    """

    careful: float
    careless: float

    def __post_init__(self) -> None:
        check_rate("careful", self.careful)
        check_rate("careless", self.careless)

    @property
    def words(self) -> str:
        return f"all records are wrong at a rate of {self.careful:g} or all at one of {self.careless:g}, a toss-up"

    def rates_of(self, records):
        return np.array([(self.careful + self.careless) / 2]), None

    def groups_of(self, records):
        return np.zeros(len(records), dtype=np.int64)

    def law(self, size, items):
        laws = [binomial(size, rate) if rate else certain(size, 0) for rate in (self.careful, self.careless)]
        return np.logaddexp(*laws) - np.log(2)
