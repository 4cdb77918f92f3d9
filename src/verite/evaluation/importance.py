"""Importance of ground-truth objects: weights from a table, by class, by image or by the id of an annotation.

An object of weight 3 counts as three objects of weight 1: missing it costs three times as much. Average precision by
weighted recall is the area below a curve whose recall is the share of the weight that is found; precision counts
predictions, as always.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan, nan
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.csv_files import lines_of
from verite.errors import BadParameter, ReadError, excerpt
from verite.evaluation.evaluation import FALSE_POSITIVE, TRUE_POSITIVE
from verite.files import find_path
from verite.model.annotations import Annotations
from verite.signature import Signature

if TYPE_CHECKING:
    from verite.evaluation.evaluation import Evaluation

Floats = NDArray[np.float64]
KEYS = ("image", "class", "id")
EXPECTED = "the column weight and one or more of image, class and id"


def object_weights(given: str | PathLike[str] | Iterable[float], truth: Annotations) -> Floats:
    """Return the weight of each ground-truth object.

    Parameters
    ----------
    given : path or iterable of float
        A table with the column ``weight`` and one or more of ``image``, ``class`` and ``id`` (the id of an
        annotation), or one weight per object. A row applies to all objects that agree with its cells; empty cells
        agree with every object, later rows replace earlier ones, and objects without a row have weight 1.
    truth : Annotations
        The ground truth.

    Returns
    -------
    array of float, shape (n,)

    Raises
    ------
    ReadError
        If the table cannot be read, or a row applies to no object.
    BadParameter
        If there are not as many weights as objects, or one is negative.

    Examples
    --------
    >>> truth = Annotations.of(["a", "a"], ["cat", "dog"], [[0, 0, 4, 4], [5, 5, 9, 9]])
    >>> object_weights([1, 3], truth)
    array([1., 3.])
    """
    if not isinstance(given, (str, PathLike)):
        try:
            weights = np.array(list(given), dtype=np.float64)
        except (TypeError, ValueError):
            raise BadParameter(
                f"importance: expected a file or one weight per object, found {excerpt(given)}"
            ) from None
        if weights.shape != (len(truth),):
            raise BadParameter(f"importance: expected {len(truth)} weights, one per object, found {len(weights)}")
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise BadParameter("importance: expected weights from 0 up, found a negative or infinite one")
        return weights
    file = find_path(given)
    rows = [(number, [cell.strip() for cell in row]) for number, row in lines_of(file) if any(row)]
    head = rows[0][1] if rows else []
    keys = [name for name in head if name in KEYS]
    if "weight" not in head or not keys or len(head) != len(keys) + 1 or len(set(head)) < len(head):
        raise ReadError(file, expected=EXPECTED, found=excerpt(",".join(head)))
    if "id" in keys and truth.ids is None:
        raise ReadError(file, expected="image or class", found="id, but the ground truth has no ids of annotations")
    columns: dict[str, NDArray[Any]] = {
        "image": np.array([truth.images.name(int(i)) for i in truth.image], dtype=object),
        "class": np.array([truth.labels.name(int(i)) for i in truth.label], dtype=object),
        "id": np.array([str(i) for i in (truth.ids if truth.ids is not None else ())], dtype=object),
    }
    found = np.ones(len(truth))
    for number, row in rows[1:]:
        where = f"{file}:{number}"
        if len(row) != len(head):
            raise ReadError(where, expected=f"{len(head)} cells", found=str(len(row)))
        cell = dict(zip(head, row, strict=True))
        try:
            weight = float(cell["weight"])
        except ValueError:
            weight = inf
        if not isfinite(weight) or weight < 0:
            raise ReadError(where, expected="a weight from 0 up", found=excerpt(cell["weight"]))
        chosen = np.ones(len(truth), dtype=np.bool_)
        for key in keys:
            if cell[key]:
                chosen &= columns[key] == cell[key]
        if not chosen.any():
            raise ReadError(where, expected="an object of the ground truth", found=excerpt(",".join(row)))
        found[chosen] = weight
    return found


@dataclass(frozen=True)
class ImportanceScores:
    """Average precision by weighted recall, and weighted recall, beside the official scores.

    `scores` are means over classes, `classes` the same per class (nan for a class without weight), `signature` that of
    the official scores with a digest of the weights.
    """

    scores: dict[str, float]
    classes: dict[str, list[float]]
    signature: Signature

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {"signature": str(self.signature), **self.scores, "classes": self.classes}

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {'–' if isnan(value) else f'{value:.4f}'}" for name, value in self.scores.items())
        return f"recall weighted by importance: {shown}"


def weighted_average_precision(
    is_true: NDArray[np.bool_], weight: Floats, total: float, recalls: Sequence[float] | None, slack: float = 0.0
) -> float:
    """Return average precision with a recall that weighs objects; precision counts predictions.

    Parameters
    ----------
    is_true : array of bool, shape (n,)
        True and false positives by falling confidence.
    weight : array of float, shape (n,)
        Weight of the ground-truth object that each prediction is matched with.
    total : float
        Weight of all ground-truth objects that count.
    recalls : sequence of float, optional
        Recalls at which precision is interpolated; None for the area below all points.
    slack : float, default 0
        Added to the number of predictions that precision divides by (pycocotools adds 2**-52).

    Returns
    -------
    float
        nan if the objects weigh nothing.

    Examples
    --------
    The object of weight 1 is found first, then there is a false positive, then the object of weight 3:

    >>> found = np.array([True, False, True])
    >>> weighted_average_precision(found, np.array([1.0, 0.0, 3.0]), 4.0, None)    # 1/4 · 1 + 3/4 · 2/3
    0.75
    """
    if not total > 0:
        return nan
    if not len(is_true):
        return 0.0
    precision = np.cumsum(is_true) / (np.arange(1, len(is_true) + 1) + slack)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    found = np.cumsum(np.where(is_true, weight, 0.0))
    if recalls is None:
        return float(np.sum(envelope[is_true] * weight[is_true]) / total)
    first = np.searchsorted(found / total, recalls)
    return float(np.mean(np.append(envelope, 0.0)[first]))


def class_values(
    evaluation: Evaluation, weights: Floats, threshold: int, recalls: Sequence[float] | None, slack: float
) -> tuple[list[float], list[float]]:
    """Return average precision by weighted recall and weighted recall of each class, at one IoU threshold."""
    outcomes = evaluation.outcomes(threshold)
    predictions = evaluation.by_class
    of_class = np.zeros(len(weights), np.int64) if evaluation.rules.class_agnostic else evaluation.truth.label
    totals = np.bincount(of_class[outcomes.is_asked], weights=weights[outcomes.is_asked], minlength=len(predictions))
    order = evaluation.truth.labels.by_id
    labels = range(len(predictions)) if order is None or len(predictions) == 1 else order
    precision, recall = [], []
    for label, rows in zip(labels, predictions, strict=True):
        kept = rows[outcomes.state[rows] >= FALSE_POSITIVE]
        is_true = outcomes.state[kept] == TRUE_POSITIVE
        own = np.append(weights, 0.0)[outcomes.truth[kept]]
        total = float(totals[label])
        precision.append(weighted_average_precision(is_true, own, total, recalls, slack))
        recall.append(float(own[is_true].sum() / total) if total > 0 else nan)
    return precision, recall


def importance_scores(
    evaluation: Evaluation,
    weights: Floats,
    scores: Mapping[str, tuple[str, Sequence[int]]],
    recalls: Sequence[float] | None,
    signature: Signature,
    slack: float = 0.0,
) -> ImportanceScores:
    """Return average precision by weighted recall, and weighted recall, as means over IoU thresholds and classes.

    Parameters
    ----------
    evaluation : Evaluation
        The matching.
    weights : array of float, shape (n,)
        Weight of each ground-truth object.
    scores : mapping of str to (str, sequence of int)
        For each score ``"precision"`` or ``"recall"``, and the positions of its IoU thresholds.
    recalls : sequence of float, optional
        Recalls at which precision is interpolated; None for the area below all points.
    signature : Signature
        That of the official scores.
    slack : float, default 0
        Added to the number of predictions that precision divides by.

    Returns
    -------
    ImportanceScores
    """
    asked = sorted({at for _, positions in scores.values() for at in positions})
    values = {at: class_values(evaluation, weights, at, recalls, slack) for at in asked}
    classes = {
        name: np.mean([values[at][0 if kind == "precision" else 1] for at in positions], axis=0).tolist()
        for name, (kind, positions) in scores.items()
    }
    means = {name: _core.mean([value for value in column if not isnan(value)]) for name, column in classes.items()}
    return ImportanceScores(
        means, classes, signature.replace(signature.name, importance=f"{_core.digest(weights.tobytes()):016x}"[:8])
    )
