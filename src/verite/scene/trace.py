"""Trace of a scene score: every matrix of the computation for one image, from IoU to compensated scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verite.errors import BadParameter
from verite.model.annotations import Annotations
from verite.model.tables import Display, Part, Table
from verite.scene.score import ALPHA, CandidateMatches, Matching, SceneObjects, ScoreRules, score_scenes

if TYPE_CHECKING:
    from verite.files import JsonObject

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SceneObject:
    """One object of a scene: class, confidence, and its row in the file."""

    label: str
    confidence: float | None = None
    row: int | None = None

    def __str__(self) -> str:
        return self.label if self.confidence is None else f"{self.label} {self.confidence:.2f}"


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Display):
    """The scene score of one image with the matrices of its steps: ground truth in rows, predictions in columns.

    Use :meth:`of` to compute one from matrices, or ``results.trace(image)``.

    Parameters
    ----------
    overlap : array [truths, preds]
        IoU of every pair.
    correspondence : array [truths, preds] of int
        1 where a ground-truth object is matched with a prediction.
    localization, recognition, local : array [truths, preds]
        Errors and score of the matches, NaN elsewhere.
    missed, spurious : tuple of int
        Rows and columns without a match.
    score : float
        Score of the image, 0 being perfect.
    rules : ScoreRules
        Matching, IoU threshold and weight of localization.
    image : str, default ""
        Name of the image.
    truths, preds : tuple of SceneObject, default ()
        The objects.
    ignored : int, default 0
        Number of ignored ground-truth objects.
    excused : int, default 0
        Number of predictions on ignored ground truth, which do not count.
    scene : tuple of Annotations, optional
        The objects of both sides, for figures.
    about : mapping, optional
        More keys of the JSON document.

    Examples
    --------
    >>> trace = Trace.of([[0.6], [0.1]], [[0.25], [0.5]], [[0.0], [1.0]])
    >>> trace.compensation           # a column is added for the missed object
    array([[1, 0],
           [0, 1]])
    >>> trace.compensated, trace.score
    (array([[0.2, nan],
           [nan, 1. ]]), 0.6)
    """

    overlap: Floats
    correspondence: NDArray[np.int64]
    localization: Floats
    recognition: Floats
    local: Floats
    missed: tuple[int, ...]
    spurious: tuple[int, ...]
    score: float
    rules: ScoreRules
    image: str = ""
    truths: tuple[SceneObject, ...] = ()
    preds: tuple[SceneObject, ...] = ()
    ignored: int = 0
    excused: int = 0
    scene: tuple[Annotations, Annotations] | None = field(default=None, repr=False)
    about: Mapping[str, Any] = field(default_factory=dict)

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
        truths: Sequence[str] | Sequence[SceneObject] = (),
        preds: Sequence[str] | Sequence[SceneObject] = (),
        image: str = "",
        ignored: int = 0,
        excused: int = 0,
        scene: tuple[Annotations, Annotations] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> Trace:
        """Score one image from matrices with a row per ground-truth object and a column per prediction.

        Parameters
        ----------
        overlap : array [truths, preds]
            IoU of every pair.
        localization, recognition : array [truths, preds]
            Errors from 0 (perfect) to 1; values of pairs that do not match are not used.
        matching : {"multiple", "one-to-one"}, default "multiple"
            As for :func:`verite.scene_score`.
        iou : float, optional
            IoU threshold. Default: 0.2, and any overlap for one-to-one.
        alpha : float, default 0.8
            Weight of localization.
        truths, preds : sequence of str or SceneObject, default ()
            Class names, or objects.
        image, ignored, excused, scene, about
            As for :class:`Trace`.

        Returns
        -------
        Trace

        Raises
        ------
        BadParameter
            If the matrices have different shapes, or the number of names differs.
        """
        shared = matrix(overlap, "overlap")
        rules = ScoreRules(matching, iou, alpha)
        errors = [matrix(m, name) for m, name in ((localization, "localization"), (recognition, "recognition"))]
        for name, values in zip(("localization", "recognition"), errors, strict=True):
            if values.shape != shared.shape:
                raise BadParameter(f"{name}: expected a matrix {shared.shape} as of overlaps, found {values.shape}")
        rows, columns = (part.ravel() for part in np.indices(shared.shape))
        candidates = CandidateMatches(rows, columns, *(values.ravel() for values in (shared, *errors)))
        objects = SceneObjects(1, *(np.zeros(length, dtype=np.int64) for length in shared.shape))
        found = score_scenes(objects, candidates, rules)

        def place(values: Floats, elsewhere: float = np.nan) -> Floats:
            out = np.full(shared.shape, elsewhere)
            out[found.matches.truth, found.matches.pred] = values
            return out

        return cls(
            overlap=shared,
            correspondence=place(np.ones(len(found.local)), 0.0).astype(np.int64),
            localization=place(found.matches.localization),
            recognition=place(found.matches.recognition),
            local=place(found.local),
            missed=tuple(found.missed.tolist()),
            spurious=tuple(found.spurious.tolist()),
            score=float(found.score[0]),
            rules=rules,
            truths=as_objects(truths, shared.shape[0]),
            preds=as_objects(preds, shared.shape[1]),
            image=image,
            ignored=ignored,
            excused=excused,
            scene=scene,
            about=about or {},
        )

    @property
    def compensation_pairs(self) -> list[tuple[int | None, int | None]]:
        """Missed and spurious objects paired in compensation, in their order; None where one side has fewer."""
        return list(zip_longest(self.missed, self.spurious))

    def extend(self, values: NDArray[Any], fill: float, added: float) -> NDArray[Any]:
        """Return a matrix extended by the rows and columns of compensation, with `added` at its pairs."""
        rows, columns = self.overlap.shape
        short = len(self.missed) - len(self.spurious)
        out = np.full((rows + max(0, -short), columns + max(0, short)), fill, dtype=values.dtype)
        out[:rows, :columns] = values
        new_row, new_column = rows, columns
        for row, column in self.compensation_pairs:
            if row is None:
                row, new_row = new_row, new_row + 1
            if column is None:
                column, new_column = new_column, new_column + 1
            out[row, column] = added
        return out

    @property
    def compensation(self) -> NDArray[np.int64]:
        """The correspondence with missed and spurious objects paired, in added rows or columns where needed."""
        return self.extend(self.correspondence, 0, 1)

    @property
    def compensated(self) -> Floats:
        """The local scores with a 1 for each pair of the compensation."""
        return self.extend(self.local, np.nan, 1.0)

    def tables(self) -> dict[str, Table]:
        """Return the matrices as tables, in the order of the steps."""
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
        """Return one matrix as a table, with empty cells for NaN."""

        def cell(value: float) -> int | str:
            return "" if value != value else int(value) if is_whole else f"{value:.3f}"

        count = values.shape
        rows = [*(f"{i + 1} {t}" for i, t in enumerate(self.truths)), *["added"] * (count[0] - len(self.truths))]
        columns = [*(f"{j + 1} {p}" for j, p in enumerate(self.preds)), *["added"] * (count[1] - len(self.preds))]
        cells = [[cell(v) for v in row] for row in values.tolist()]
        named = tuple((name, *row) for name, row in zip(rows, cells, strict=True))
        return Table(("truth \\ pred", *columns), named, title=title)

    @property
    def titles(self) -> dict[str, str]:
        """The title of each matrix."""
        r = self.rules
        return {
            "overlap": "IoU (intersection over union)",
            "correspondence": f"Correspondence ({r.matching}, IoU ≥ {r.iou_threshold:g})"
            if r.iou_threshold
            else f"Correspondence ({r.matching})",
            "localization": "Localization of the matches",
            "recognition": "Recognition of the matches",
            "local": f"Local scores: {r.alpha:g} × localization + {1 - r.alpha:g} × recognition",
            "compensation": "Compensation: missed and spurious objects paired",
            "compensated": "Scores with compensation",
        }

    def contents(self) -> list[Part]:
        first = f"{self.image}   {self.sentence}" if self.image else self.sentence
        ignored = f"{self.ignored} ground-truth objects ignored, {self.excused} predictions on them do not count"
        return [first, *self.tables().values(), *([ignored] if self.ignored else [])]

    @property
    def sentence(self) -> str:
        """The score and the counts behind it."""
        found = int(self.correspondence.sum())
        counts = f"{found} matches, {len(self.missed)} missed, {len(self.spurious)} spurious"
        return (
            f"score {self.score:.4f}   {len(self.truths)} ground-truth objects, {len(self.preds)} predictions: {counts}"
        )

    def to_dict(self) -> JsonObject:
        """Return the JSON document; NaN becomes null."""

        def describe(one: SceneObject) -> JsonObject:
            return {"class": one.label, "confidence": one.confidence, "row": one.row}

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
        """Return the JSON document as text."""
        from verite.model.results import to_json

        return to_json(self.to_dict(), indent=indent)


def matrix(values: ArrayLike, name: str) -> Floats:
    """Return values as a matrix of float64, which may have no row or no column.

    Parameters
    ----------
    values
        Nested lists or an array.
    name
        The argument, for messages.

    Returns
    -------
    Floats
        The values as float64, [row, column].
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 2:
        raise BadParameter(f"{name}: expected a matrix, found an array of shape {found.shape}")
    return found


def as_objects(names: Sequence[str] | Sequence[SceneObject], count: int) -> tuple[SceneObject, ...]:
    """Return objects from class names or objects; without names, objects without a class.

    Parameters
    ----------
    names
        Class names, or objects that have a confidence or importance as well; empty for none.
    count
        Number of objects, from the shape of the localization errors.

    Returns
    -------
    tuple[SceneObject, ...]
        One object each.
    """
    if not names:
        return tuple(SceneObject("") for _ in range(count))
    if len(names) != count:
        raise BadParameter(f"names: expected {count}, one per object, found {len(names)}")
    return tuple(n if isinstance(n, SceneObject) else SceneObject(n) for n in names)
