"""How sure is an order by one score? Standings of its draws, gaps, places and groups."""

from __future__ import annotations

from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.records import record
from verite.statistics.intervals import percentile_interval, wilson
from verite.statistics.places import TIE, Separations, separate
from verite.statistics.standings import Standings, stand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
DOUBTS = ("errors", "images", "both")


@record(eq=False)
class DetectorPair:
    """Two detectors, the one ahead on the record first; by doubt how often their order is kept, level and reversed."""

    first: str
    second: str
    shares: dict[str, tuple[float, float, float] | None]
    count: int  # of draws

    def interval(self, doubt: str, side: int) -> tuple[float, float] | None:
        """Wilson's 95 % interval of one of the three shares."""
        shares = self.shares[doubt]
        return None if shares is None else wilson(shares[side], self.count)

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = {"first": self.first, "second": self.second}
        for doubt, shares in self.shares.items():
            document[doubt] = None
            if shares is not None:
                document[doubt] = dict(zip(SIDES, shares, strict=True)) | {
                    "intervals": {side: list(self.interval(doubt, i) or ()) for i, side in enumerate(SIDES)}
                }
        return document


SIDES = ("kept", "tie", "reversed")


class Board:
    """One score of all detectors, the best first, and what draws say about the order."""

    def __init__(
        self,
        metric: str,
        names: tuple[str, ...],
        scores: Floats,
        draws: dict[str, Floats],
        level: float = 0.95,
    ) -> None:
        """`draws` by doubt, [draw, detector]; a doubt that nobody has is not in there."""
        order = sorted(range(len(names)), key=lambda i: (np.isnan(scores[i]), -scores[i], names[i]))
        self.order = order
        self.metric, self.level = metric, level
        self.names = tuple(names[i] for i in order)
        self.scores = scores[order]
        self.by_doubt = {doubt: np.ascontiguousarray(draws[doubt][:, order]) for doubt in DOUBTS if doubt in draws}

    @property
    def draws(self) -> Floats:
        """[doubt, draw, detector] in the order of `names`: errors, images, both; nan where a doubt was not drawn."""
        count = max((len(drawn) for drawn in self.by_doubt.values()), default=0)
        found = np.full((len(DOUBTS), count, len(self.names)), nan)
        for doubt, drawn in self.by_doubt.items():
            found[DOUBTS.index(doubt)] = drawn
        return found

    @cached_property
    def standings(self) -> dict[str, Standings]:
        return {doubt: stand(drawn, None, self.scores, TIE) for doubt, drawn in self.by_doubt.items()}

    @property
    def images(self) -> Floats | None:
        """The draws of images alone, which gaps and places come from."""
        return self.by_doubt.get("images")

    @property
    def widest(self) -> Floats | None:
        """The draws of both doubts, or of the only one."""
        return self.by_doubt.get("both", next(iter(self.by_doubt.values()), None))

    @cached_property
    def gaps(self) -> list[tuple[float, float, float] | None]:
        """For each detector its lead over the next, and between which numbers it lies on other images."""
        gaps: list[tuple[float, float, float] | None] = []
        for i in range(len(self.names) - 1):
            low = high = nan
            if self.images is not None:
                low, high = percentile_interval(self.images[:, i] - self.images[:, i + 1], self.level)
            gaps.append((float(self.scores[i] - self.scores[i + 1]), low, high))
        return [*gaps, None]

    @cached_property
    def spread(self) -> list[tuple[float, float]]:
        """For each detector the standard deviation of its score over the choice of images, and the estimated bias."""
        if self.images is None or len(self.images) < 2:
            return [(nan, nan)] * len(self.names)
        deviation, mean = np.nanstd(self.images, axis=0, ddof=1), np.nanmean(self.images, axis=0)
        return list(zip(deviation.tolist(), (mean - self.scores).tolist(), strict=True))

    @cached_property
    def places(self) -> list[tuple[int, int] | None]:
        """The places that cannot be excluded on other images, all of them at once."""
        if self.images is None:
            return [None] * len(self.names)
        return [(int(low), int(high)) for low, high in separate(self.scores, self.images, self.level).places]

    @cached_property
    def separations(self) -> Separations | None:
        return None if self.widest is None else separate(self.scores, self.widest, self.level)

    @cached_property
    def groups(self) -> list[list[str]]:
        """Runs of neighbours who cannot be told apart under both doubts."""
        if self.separations is None:
            return []
        return [[self.names[i] for i in run] for run in self.separations.groups(list(range(len(self.names))))]

    def p_first(self, i: int) -> dict[str, float | None]:
        """How likely the i-th detector is the first one, under each doubt; those that are level share the place."""
        return self.p_place(i, 0)

    def p_keeps(self, i: int) -> dict[str, float | None]:
        """How likely the i-th detector keeps its place."""
        return self.p_place(i, i)

    def p_place(self, i: int, place: int) -> dict[str, float | None]:
        return {d: float(self.standings[d].places[i, place]) if d in self.standings else None for d in DOUBTS}

    @property
    def whole_order(self) -> dict[str, float | None]:
        return {d: self.standings[d].whole if d in self.standings else None for d in DOUBTS}

    @cached_property
    def pairs(self) -> list[DetectorPair]:
        """Every two detectors, the better one of the record first."""
        found = []
        for i in range(len(self.names)):
            for j in range(i + 1, len(self.names)):
                shares: dict[str, tuple[float, float, float] | None] = {}
                for doubt in DOUBTS:
                    if doubt not in self.standings:
                        shares[doubt] = None
                        continue
                    at = self.standings[doubt]
                    shares[doubt] = (float(at.ahead[i, j]), float(at.level[i, j]), float(at.ahead[j, i]))
                count = len(next(iter(self.by_doubt.values()), ()))
                found.append(DetectorPair(self.names[i], self.names[j], shares, count))
        return found

    @property
    def turned(self) -> list[tuple[str, str, str]]:
        """Neighbours whose order is another one in the mean of the draws: doubt, first and second on the record."""
        found = []
        for doubt, drawn in self.by_doubt.items():
            mean = np.nanmean(drawn, axis=0)
            turned = (self.scores[:-1] - self.scores[1:] > TIE) & (mean[1:] - mean[:-1] > TIE)
            found += [(doubt, self.names[i], self.names[i + 1]) for i in np.flatnonzero(turned)]
        return found

    @cached_property
    def copies(self) -> list[tuple[str, str]]:
        """Neighbours who are level in every draw."""
        found = []
        for i in range(len(self.names) - 1):
            drawn = list(self.by_doubt.values())
            level = [np.nanmax(np.abs(d[:, i] - d[:, i + 1])) <= TIE for d in drawn]
            if drawn and all(level) and abs(self.scores[i] - self.scores[i + 1]) <= TIE:
                found.append((self.names[i], self.names[i + 1]))
        return found
