"""A custom error model: one class, and nothing else anywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verite.annotation_errors import ErrorModel
from verite.annotation_errors.distributions import binomial_log_pmf, point_mass_log_pmf
from verite.annotation_errors.model import check_rate


@dataclass(frozen=True)
class TwoRates(ErrorModel):
    """The annotators were careful or careless, it is not known which: one of two rates for all annotations.

    Both are equally likely.
    """

    careful: float
    careless: float

    def __post_init__(self) -> None:
        check_rate("careful", self.careful)
        check_rate("careless", self.careless)

    @property
    def assumption(self) -> str:
        return f"all annotations are wrong at a rate of {self.careful:g} or all at {self.careless:g}, equally likely"

    def rates_of(self, table):
        return np.array([(self.careful + self.careless) / 2]), None

    def groups_of(self, table):
        return np.zeros(len(table), dtype=np.int64)

    def log_pmf(self, size, items):
        rates = (self.careful, self.careless)
        logs = [binomial_log_pmf(size, rate) if rate else point_mass_log_pmf(size, 0) for rate in rates]
        return np.logaddexp(*logs) - np.log(2)
