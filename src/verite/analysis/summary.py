"""What must be seen of a run at a glance? Its numbers, what they lack, where it is worst, and what is suspicious."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from verite.analysis.saved import SavedComparison
from verite.model.comparison import MOST_BESIDE, Comparison
from verite.model.display import Display, Part
from verite.model.results import Results
from verite.model.tables import Table
from verite.records import replace

WORST_CLASSES = 5


class Summary(Display):
    """Systems, the first of which may be what the others are compared with, and comparisons with what was saved."""

    def __init__(self, results: Sequence[Results], comparisons: Sequence[SavedComparison] = ()) -> None:
        self.results, self.comparisons = tuple(results), tuple(comparisons)

    def contents(self) -> list[Part]:
        news = self.results[1:] if len(self.results) > 1 and not self.comparisons else self.results
        return [
            *self.numbers(),
            *(part for one in self.comparisons for part in one.contents()[:-1]),
            *(part for result in news for part in self.shortcomings(result)),
            *self.findings(),
            *({result.signature for result in self.results} | {one.base.signature for one in self.comparisons}),
        ]

    def numbers(self) -> list[Part]:
        """Every score of every system, beside each other as far as they fit."""
        if self.comparisons or not self.results:
            return []  # which have them
        if len(self.results) == 1:
            return [self.results[0].summary()]
        comparison = Comparison(self.results)
        return [comparison.summary() if len(self.results) <= MOST_BESIDE else comparison.standing_table()]

    def shortcomings(self, result: Results) -> list[Part]:
        """What each type of error costs, and the worst classes."""
        costs = [replace(part, title=f"{result.name}: what is missing") if isinstance(part, Table) else part
                 for part in result.breakdown()]  # fmt: skip
        return [*costs, *([worst] if (worst := worst_classes(result)).rows else [])]

    def findings(self) -> list[Part]:
        """What is suspicious, each thing once."""
        return [*dict.fromkeys(f"{one.severity}: {one}" for result in self.results for one in result.findings)]


def worst_classes(result: Results) -> Table:
    """The rows of the classes with the worst first score."""
    headline, table = next(iter(result.scores)), result.class_table()
    values = dict(zip(result.class_names, result.class_scores()[headline], strict=True))
    present = [row for row in table.rows if not isnan(values.get(row[0], float("nan")))]
    order = sorted(present, key=lambda row: -values[row[0]] if result.is_error(headline) else values[row[0]])
    title = f"{result.name}: worst classes"
    return Table(table.head, tuple(order[:WORST_CLASSES]), title=title if len(order) > 1 else result.name)
