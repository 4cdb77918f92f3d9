"""What is known about an order: tables, sentences, JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import isnan, nan
from textwrap import fill
from typing import TYPE_CHECKING, Any

import verite
from verite.arrays import np
from verite.leaderboards.audit import AuditRow, audit_table
from verite.model.results import describe_cuts, digest_for, to_json
from verite.model.tables import ABSENT, Display, Part, Table
from verite.statistics.intervals import FEWEST, percentile_interval, wilson
from verite.statistics.standings import TIE, Separations, Standings, say_group, separate, stand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    from verite.annotation_errors.detection import Detection
    from verite.leaderboards.flips import Flips
    from verite.leaderboards.leaderboard import Contenders, LeaderboardSettings
    from verite.leaderboards.simulation import Pool
    from verite.model.annotations import Annotations
    from verite.signature import Signature


DOUBTS = ("errors", "images", "both")


@dataclass(frozen=True, eq=False)
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


NOT_COVERED = (
    "all of this is conditional on the model; not covered: errors that favour one detector unless --favours says so, "
    "another annotation guide, images of another kind"
)

WIDTH = 110

POOL = "candidates for missing objects are the detectors' own boxes, which favours the detectors in the table"


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Display):
    """An order by one or several scores, and how sure it is. What is asked without a score is about the first one."""

    boards: dict[str, Board]
    protocol: str
    signatures: dict[str, Signature]
    errors: Detection
    settings: LeaderboardSettings
    truth: Annotations
    flips: dict[str, Flips] = field(default_factory=dict)
    pool: Pool | None = None
    pooling: dict[str, float] = field(default_factory=dict)  # what its own boxes in the pool are worth to a detector
    vanishing: float | None = None  # classes that are in no image of a draw, in the mean
    findings: list[tuple[str, Any]] = field(default_factory=list)
    contest: Contenders | None = None  # all that more draws need

    def kept_at(self, factor: float, draws: int) -> list[float]:
        """How often neighbours keep their order where every rate of errors is so many times as high."""
        assert self.contest is not None
        drawn = self.contest.draw_at(factor, min(draws, self.settings.draws))[:, self.board.order]
        ahead = drawn[:, :-1] - drawn[:, 1:] > TIE
        return [float(share) for share in ahead.mean(axis=0)]

    @property
    def board(self) -> Board:
        return next(iter(self.boards.values()))

    @property
    def metric(self) -> str:
        return self.board.metric

    @property
    def signature(self) -> Signature:
        return self.signatures[self.metric]

    @property
    def names(self) -> tuple[str, ...]:
        """The detectors, the best first."""
        return self.board.names

    @property
    def scores(self) -> dict[str, float]:
        return dict(zip(self.board.names, self.board.scores.tolist(), strict=True))

    @property
    def pairs(self) -> list[DetectorPair]:
        return self.board.pairs

    @property
    def places(self) -> list[tuple[int, int] | None]:
        return self.board.places

    @property
    def groups(self) -> list[list[str]]:
        return self.board.groups

    @property
    def draws(self) -> NDArray[np.float64]:
        """[doubt, draw, detector], detectors as in `names`, doubts errors, images, both."""
        return self.board.draws

    @property
    def audit(self) -> list[AuditRow]:
        """Records to check, in the order in which a person should."""
        return self.flips[self.metric].rows if self.metric in self.flips else []

    def flip_of(self, metric: str, i: int) -> int | None:
        return self.flips[metric].flip[i] if metric in self.flips else None

    def gamma_of(self, metric: str, i: int) -> float | None:
        return self.flips[metric].gamma[i] if metric in self.flips else None

    def table(self, metric: str | None = None) -> Table:
        """A row for each detector with plain numbers, for files."""
        board = self.boards[metric or self.metric]
        columns: dict[str, list[Any]] = {"place": list(range(1, len(board.names) + 1)), "score": board.scores.tolist()}
        columns |= {"sd": [sd for sd, _ in board.spread], "bias": [bias for _, bias in board.spread]}
        for at, key in enumerate(("gap", "gap low", "gap high")):
            columns[key] = [None if gap is None else gap[at] for gap in board.gaps]
        for key, ask in (("P(first)", board.p_first), ("P(keeps)", board.p_keeps)):
            for doubt in board.by_doubt:
                columns[f"{key} {doubt}"] = [ask(i)[doubt] for i in range(len(board.names))]
        for at, key in enumerate(("best place", "last place")):
            columns[key] = [None if places is None else places[at] for places in board.places]
        columns["flip"] = [self.flip_of(board.metric, i) for i in range(len(board.names))]
        columns["gamma"] = [self.gamma_of(board.metric, i) for i in range(len(board.names))]
        if self.pooling and board.metric == self.metric:
            columns["own boxes"] = [self.pooling.get(name) for name in board.names]
        return Table.of("detector", list(board.names), columns)

    def main_table(self) -> Table:
        return self.table()

    def pair_table(self, metric: str | None = None) -> Table:
        """A row for each pair: shares of draws with Wilson's intervals."""
        board = self.boards[metric or self.metric]
        columns: dict[str, list[Any]] = {"second": [pair.second for pair in board.pairs]}
        for doubt in board.by_doubt:
            for at, side in enumerate(SIDES):
                columns[f"{side} {doubt}"] = [shares_of(pair, doubt)[at] for pair in board.pairs]
                for end, word in enumerate(("low", "high")):
                    columns[f"{side} {doubt} {word}"] = [(pair.interval(doubt, at) or ())[end] for pair in board.pairs]
        return Table.of("first", [pair.first for pair in board.pairs], columns)

    def place_table(self, metric: str | None = None) -> Table:
        """How often each detector came in each place: frequencies of draws, no statement about the truth."""
        board = self.boards[metric or self.metric]
        rows, names = [], []
        for doubt, standings in board.standings.items():
            names += list(board.names)
            rows += [(doubt, *places) for places in standings.places.tolist()]
        head = ("detector", "doubt", *(str(i + 1) for i in range(len(board.names))))
        return Table(head, tuple((name, *row) for name, row in zip(names, rows, strict=True)))

    def tables(self) -> dict[str, Table]:
        """All tables, by the names of the files they are kept in."""
        found = {}
        for metric, board in self.boards.items():
            end = "" if metric == self.metric else f"-{metric.replace('@', '-')}"
            found[f"leaderboard{end}"] = self.table(metric)
            if board.by_doubt:
                found |= {f"pairs{end}": self.pair_table(metric), f"places{end}": self.place_table(metric)}
        if self.flips:
            found["audit"] = audit_table(self.audit)
        return found

    def shown_table(self, metric: str) -> Table:
        """The table a person reads."""
        board, level = self.boards[metric], self.settings.level
        size = range(len(board.names))
        columns: dict[str, list[Any]] = {"place": [str(i + 1) for i in size], metric: board.scores.tolist()}
        if not board.by_doubt:
            return Table.of("detector", list(board.names), columns)
        if board.images is not None:
            columns["sd"] = [sd for sd, _ in board.spread]
        columns[f"lead ({100 * level:g} %)"] = [show_gap(gap) for gap in board.gaps]
        doubts = "/".join(doubt[0] for doubt in board.by_doubt)
        count = len(board.widest) if board.widest is not None else 0
        for key, ask in (("P(first)", board.p_first), ("P(keeps)", board.p_keeps)):
            columns[f"{key} {doubts}"] = [
                "/".join(show_share(ask(i)[doubt], count) for doubt in board.by_doubt) for i in size
            ]
        if board.images is not None:
            columns["places"] = [show_places(places) for places in board.places]
        columns["flip"] = [self.flip_of(metric, i) for i in size]
        if self.errors.mean("spurious"):
            columns["Γ"] = [show_gamma(self.gamma_of(metric, i)) for i in size]
        if self.pooling and metric == self.metric:
            columns["own boxes"] = [f"{self.pooling[name]:+.4f}" for name in board.names]
        return Table.of("detector", list(board.names), columns)

    def contents(self) -> list[Part]:
        parts: list[Part] = []
        for metric, board in self.boards.items():
            table = self.shown_table(metric)
            several = len(self.boards) > 1
            parts.append(Table(table.head, table.rows, title=metric) if several else table)
            parts += self.say_order(board)
        cuts = describe_cuts({name: [found for whose, found in self.findings if whose == name] for name in self.names})
        notes = (fill(note, WIDTH, break_on_hyphens=False) for note in (*self.notes, *cuts))
        return [*parts, *notes, self.signature]

    def say_order(self, board: Board) -> list[str]:
        """What the draws say about the order as a whole."""
        if not board.by_doubt:
            return []
        groups = "; ".join(say_group(group, board.names) for group in board.groups)
        count = len(next(iter(board.by_doubt.values())))
        whole = ", ".join(
            f"{show_share(board.whole_order[doubt], count)} under {say_doubt(doubt)}" for doubt in board.by_doubt
        )
        apart = f"cannot be told apart: {groups}" if groups else "all can be told apart"
        lines = [fill(apart, WIDTH, break_on_hyphens=False), f"whole order: {whole}"]
        lines += [f"always level: {one} and {two}" for one, two in board.copies]
        lines += [
            f"warning: in the mean of the draws under {say_doubt(doubt)}, {second} is before {first}: "
            "the record's order is not the likeliest one"
            for doubt, first, second in board.turned
        ]
        return lines

    @property
    def notes(self) -> list[str]:
        if not self.board.by_doubt:
            return []
        draws = self.settings.draws
        letters = [f"{doubt[0]} {say_doubt(doubt)}" for doubt in self.board.by_doubt]
        notes = [
            f"{draws:,} {'draw' if draws == 1 else 'draws'} ({', '.join(letters)}): shares of draws in which a "
            "detector is first, and keeps its place; draws are orders, never scores"
        ]
        if "errors" in self.board.by_doubt:
            notes.append(f"assumed: {self.errors.words}")
            if self.contest is not None and len(self.contest.verdicts):
                notes.append(f"{len(self.contest.verdicts):,} that were checked are in every draw as they were found")
        if self.board.images is not None:
            notes.append(
                "lead over the next one and places that cannot be excluded (all at once, Mogstad et al.) come from "
                "drawn images; an interval around a score itself would be wrong: its estimated bias is in the files"
            )
            notes += [f"no interval of a lead: expected at least {FEWEST} draws"] * (draws < FEWEST)
        if self.flips:
            notes.append(self.say_flips())
        if self.vanishing is not None and self.vanishing >= 0.05:
            notes.append(f"{self.vanishing:.1f} classes are in no image of a draw in the mean, and leave it")
        if self.pool is not None and self.settings.missing_from == "pool":
            notes.append(f"{POOL} (own boxes: what they are worth to each)" if self.pooling else POOL)
        return [*notes, NOT_COVERED]

    def say_flips(self) -> str:
        """What the columns about single records mean."""
        said = "flip: removing at most so many records turns the order with the next one"
        if any(None in flips.flip[:-1] for flips in self.flips.values()):
            said += " (–: none were found that do, or the two are level)"
        if self.errors.mean("spurious"):
            said += (
                "; Γ: odds by which spurious records must favour the leader until it turns (first order, spurious "
                "records only)"
            )
            if any(None in flips.gamma[:-1] for flips in self.flips.values()):
                said += " (–: no odds do, or the two are level)"
        return said

    def board_dict(self, metric: str) -> dict[str, Any]:
        """The documented keys about one score."""
        board = self.boards[metric]
        detectors = []
        for i, name in enumerate(board.names):
            gap = board.gaps[i]
            deviation, bias = board.spread[i]
            detectors.append(
                {
                    "name": name,
                    "score": float(board.scores[i]),
                    "sd": deviation,
                    "bias": bias,
                    "gap": None if gap is None else dict(zip(("value", "low", "high"), gap, strict=True)),
                    "p_first": board.p_first(i),
                    "p_keeps": board.p_keeps(i),
                    "places": None if board.places[i] is None else list(board.places[i] or ()),
                    "flip": self.flip_of(metric, i),
                    "gamma": self.gamma_of(metric, i),
                    **({"own_boxes": self.pooling.get(name)} if self.pooling and metric == self.metric else {}),
                    "frequencies": {d: s.places[i].tolist() for d, s in board.standings.items()},
                }
            )
        return {
            "metric": metric,
            "detectors": detectors,
            "pairs": [pair.to_dict() for pair in board.pairs],
            "groups": board.groups,
            "whole_order": board.whole_order,
            "turned": [{"doubt": d, "first": a, "second": b} for d, a, b in board.turned],
            "audit": [row.to_dict() for row in self.flips[metric].rows] if metric in self.flips else [],
        }

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = {"protocol": self.protocol, "signature": str(self.signature)}
        document |= self.board_dict(self.metric)
        document |= {
            "draws": self.settings.draws if self.board.by_doubt else 0,
            "seed": self.settings.seed,
            "level": self.settings.level,
            "errors": str(self.errors) if "errors" in self.board.by_doubt else None,
            "assumption": self.errors.words if "errors" in self.board.by_doubt else None,
            "resample": None if self.board.images is None else spell_resample(self.settings.resample),
            "vanishing_classes": self.vanishing,
            "version": verite.__version__,
            "truth": {"path": self.truth.source.path, "digest": digest_for(self.signature, self.truth)},
        }
        if len(self.boards) > 1:
            document["metrics"] = {
                metric: {"signature": str(self.signatures[metric]), **self.board_dict(metric)} for metric in self.boards
            }
        return document

    def to_json(self, *, indent: int = 0) -> str:
        """One JSON document; what is absent is null."""
        return to_json(self.to_dict(), indent=indent)

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame (pandas must be installed)."""
        return self.table().to_frame()


def spell_resample(value: Any) -> str:
    return value if isinstance(value, str) else "given groups"


def shares_of(pair: DetectorPair, doubt: str) -> tuple[float, float, float]:
    shares = pair.shares[doubt]
    assert shares is not None
    return shares


def say_doubt(doubt: str) -> str:
    return {"errors": "errors of the truth", "images": "other images", "both": "both"}[doubt]


def show_gap(gap: tuple[float, float, float] | None) -> str:
    if gap is None:
        return ABSENT
    value, low, high = gap
    return f"{value:.4f}" if isnan(low) else f"{value:.4f} [{low:+.4f}, {high:+.4f}]"


def show_share(share: float | None, draws: int) -> str:
    """A share of draws; none or all of them is a bound.

    >>> show_share(0.965, 1000), show_share(0.0, 1000), show_share(1.0, 1000), show_share(None, 0)
    ('.965', '<.004', '>.996', '–')
    >>> show_share(0.0001, 10_000), show_share(0.9999, 10_000)
    ('<.001', '>.999')
    """
    if share is None or isnan(share) or not draws:
        return ABSENT
    if share in (0.0, 1.0):
        low, high = wilson(share, draws)
        return f"<{high:.3f}".replace("0.", ".") if share == 0 else f">{low:.3f}".replace("0.", ".")
    if not 0.0005 <= share < 0.9995:
        return "<.001" if share < 0.5 else ">.999"
    return f"{share:.3f}"[1:]


def show_places(places: tuple[int, int] | None) -> str:
    if places is None:
        return ABSENT
    low, high = places
    return f"{low}" if low == high else f"{low}–{high}"


def show_gamma(gamma: float | None) -> str:
    return ABSENT if gamma is None else f"{gamma:.2f}" if gamma < 100 else f"{gamma:.0f}"
