"""How did a scene come to its score? Every matrix on the way, for one image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verite.errors import BadParameter
from verite.model.tables import Display, Part, Table
from verite.scene.score import ALPHA, Matching, Objects, Possible, ScoreRules, judge

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Thing:
    """One object of a scene, as far as a trace tells of it."""

    label: str
    confidence: float | None = None
    row: int | None = None  # its place in the file

    def __str__(self) -> str:
        return self.label if self.confidence is None else f"{self.label} {self.confidence:.2f}"


@dataclass(frozen=True, eq=False)
class Trace(Display):
    """One scene with the matrices of the four steps: truths are rows, preds are columns.

    >>> trace = Trace.of([[0.6], [0.1]], [[0.25], [0.5]], [[0.0], [1.0]])
    >>> trace.compensation           # a column is added for the truth that nobody found
    array([[1, 0],
           [0, 1]])
    >>> trace.compensated, trace.score
    (array([[0.2, nan],
           [nan, 1. ]]), 0.6)
    """

    overlap: Floats
    correspondence: NDArray[np.int64]  # 1 where a truth is matched with a pred
    localization: Floats  # of the matches, NaN elsewhere; so are the next two
    recognition: Floats
    local: Floats
    missed: tuple[int, ...]  # rows without a match
    spurious: tuple[int, ...]  # columns without a match
    score: float
    rules: ScoreRules
    image: str = ""
    truths: tuple[Thing, ...] = ()
    preds: tuple[Thing, ...] = ()
    ignored: int = 0  # truths that neither reward nor punish
    excused: int = 0  # preds on such truths
    scene: Any = field(default=None, repr=False)  # the objects of both sides, for pictures
    about: Mapping[str, Any] = field(default_factory=dict)  # what else a JSON document says

    @classmethod
    def of(
        cls,
        overlap: ArrayLike,
        localization: ArrayLike,
        recognition: ArrayLike,
        *,
        matching: Matching = "multiple",
        iou: float | None = None,
        alpha: float = ALPHA,
        truths: Sequence[str] | Sequence[Thing] = (),
        preds: Sequence[str] | Sequence[Thing] = (),
        **about: Any,
    ) -> Trace:
        """From matrices: a row for each truth, a column for each pred; where nothing matches, any number will do."""
        shared = matrix(overlap, "overlap")
        rules = ScoreRules(matching, iou, alpha)
        where, what = (matrix(m, name) for m, name in ((localization, "localization"), (recognition, "recognition")))
        for name, values in (("localization", where), ("recognition", what)):
            if values.shape != shared.shape:
                raise BadParameter(f"{name}: expected a matrix {shared.shape} as of overlaps, found {values.shape}")
        rows, columns = (part.ravel() for part in np.indices(shared.shape))
        possible = Possible(rows, columns, shared.ravel(), where.ravel(), what.ravel())
        objects = Objects(1, *(np.zeros(length, dtype=np.int64) for length in shared.shape))
        found = judge(objects, possible, rules)
        at = found.matches.truth, found.matches.pred
        known = found.matches
        return cls(
            overlap=shared,
            correspondence=place(shared.shape, at, np.ones(len(at[0])), 0.0).astype(np.int64),
            localization=place(shared.shape, at, known.localization),
            recognition=place(shared.shape, at, known.recognition),
            local=place(shared.shape, at, found.local),
            missed=tuple(found.missed.tolist()),
            spurious=tuple(found.spurious.tolist()),
            score=float(found.score[0]),
            rules=rules,
            truths=things(truths, shared.shape[0]),
            preds=things(preds, shared.shape[1]),
            **about,
        )

    @property
    def couples(self) -> list[tuple[int | None, int | None]]:
        """Who is paired in compensation: the first missed truth with the first spurious pred, and so on."""
        return list(zip_longest(self.missed, self.spurious))

    def extend(self, values: NDArray[Any], fill: float, added: float) -> NDArray[Any]:
        """A matrix with the rows and columns of compensation, `added` where objects are paired in it."""
        rows, columns = self.overlap.shape
        short = len(self.missed) - len(self.spurious)
        out = np.full((rows + max(0, -short), columns + max(0, short)), fill, dtype=values.dtype)
        out[:rows, :columns] = values
        new_row, new_column = rows, columns
        for row, column in self.couples:
            if row is None:
                row, new_row = new_row, new_row + 1
            if column is None:
                column, new_column = new_column, new_column + 1
            out[row, column] = added
        return out

    @property
    def compensation(self) -> NDArray[np.int64]:
        """The correspondence with missed and spurious objects paired, in added rows or columns where need be."""
        return self.extend(self.correspondence, 0, 1)

    @property
    def compensated(self) -> Floats:
        """The local scores with a 1 for each pair of the compensation."""
        return self.extend(self.local, np.nan, 1.0)

    def tables(self) -> dict[str, Table]:
        """The matrices as a person reads them, step by step."""
        nan = np.nan
        named = {
            "overlap": self.overlap,
            "correspondence": np.where(self.correspondence > 0, 1.0, nan),
            "localization": self.localization,
            "recognition": self.recognition,
            "local": self.local,
            "compensation": np.where(self.compensation > 0, 1.0, nan),
            "compensated": self.compensated,
        }
        titles, whole = self.titles, ("correspondence", "compensation")
        return {name: self.table(values, name in whole, titles[name]) for name, values in named.items()}

    def table(self, values: Floats, is_whole: bool, title: str) -> Table:
        count = values.shape
        rows = [*(f"{i + 1} {t}" for i, t in enumerate(self.truths)), *["added"] * (count[0] - len(self.truths))]
        columns = [*(f"{j + 1} {p}" for j, p in enumerate(self.preds)), *["added"] * (count[1] - len(self.preds))]
        cells = [[blank(v, is_whole) for v in row] for row in values.tolist()]
        named = tuple((name, *row) for name, row in zip(rows, cells, strict=True))
        return Table(("truth \\ pred", *columns), named, title=title)

    @property
    def titles(self) -> dict[str, str]:
        """What each matrix is."""
        r = self.rules
        return {
            "overlap": "Overlap (intersection over union)",
            "correspondence": f"Correspondence ({r.matching}, from {r.least:g})"
            if r.least
            else f"Correspondence ({r.matching})",
            "localization": "Localization of the matches",
            "recognition": "Recognition of the matches",
            "local": f"Local scores: {r.alpha:g} × localization + {1 - r.alpha:g} × recognition",
            "compensation": "Compensation: missed and spurious objects paired",
            "compensated": "Scores with compensation",
        }

    def contents(self) -> list[Part]:
        first = f"{self.image}   {self.sentence}" if self.image else self.sentence
        last = [f"{self.ignored} truths are ignored, {self.excused} preds on them do not count"] if self.ignored else []
        return [first, *self.tables().values(), *last]

    @property
    def sentence(self) -> str:
        """The score and the counts behind it."""
        found = int(self.correspondence.sum())
        counts = f"{found} matches, {len(self.missed)} missed, {len(self.spurious)} spurious"
        return f"score {self.score:.4f}   {len(self.truths)} truths, {len(self.preds)} preds: {counts}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; what is not a match is null."""

        def describe(thing: Thing) -> dict[str, Any]:
            return {"class": thing.label, "confidence": thing.confidence, "row": thing.row}

        return {
            **self.about,
            "image": self.image,
            "score": self.score,
            "truths": [describe(t) for t in self.truths],
            "preds": [describe(p) for p in self.preds],
            "overlap": self.overlap.tolist(),
            "correspondence": self.correspondence.tolist(),
            "localization": self.localization.tolist(),
            "recognition": self.recognition.tolist(),
            "local": self.local.tolist(),
            "compensation": self.compensation.tolist(),
            "compensated": self.compensated.tolist(),
            "missed": list(self.missed),
            "spurious": list(self.spurious),
            "ignored": self.ignored,
        }

    def to_json(self, *, indent: int = 0) -> str:
        """One JSON document."""
        from verite.model.results import to_json

        return to_json(self.to_dict(), indent=indent)


def matrix(values: ArrayLike, name: str) -> Floats:
    """A matrix of numbers, also where it has no row or no column."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 2:
        raise BadParameter(f"{name}: expected a matrix, found an array of shape {found.shape}")
    return found


def place(shape: tuple[int, ...], at: tuple[Any, Any], values: Floats, elsewhere: float = np.nan) -> Floats:
    out = np.full(shape, elsewhere)
    out[at] = values
    return out


def things(names: Sequence[str] | Sequence[Thing], count: int) -> tuple[Thing, ...]:
    """What the objects are called: as given, or nothing."""
    if not names:
        return tuple(Thing("") for _ in range(count))
    if len(names) != count:
        raise BadParameter(f"names: expected {count}, one an object, found {len(names)}")
    return tuple(n if isinstance(n, Thing) else Thing(n) for n in names)


def blank(value: float, is_whole: bool) -> Any:
    """A cell as figures show it: nothing where there is nothing."""
    if value != value:
        return ""
    return int(value) if is_whole else f"{value:.3f}"
