"""Which image and which label of the truth does a prediction speak of?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from verite.arrays import np
from verite.errors import DataError
from verite.model.annotations import Annotations
from verite.model.ids import Positions, positions_in
from verite.model.images import Images, stem
from verite.model.labels import Labels
from verite.model.skeletons import Skeleton

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T", bound=Images | Labels)


def align(pred: Annotations, truth: Annotations) -> Annotations:
    """Predictions with the truth's images and labels; those the truth does not know are added behind."""
    if pred.images is truth.images and pred.labels is truth.labels and pred.unit == truth.unit:
        return pred
    images, labels, columns, verdicts = pred.images, pred.labels, pred.columns, pred.verdicts
    notes = list(pred.source.notes)
    if images is not truth.images:
        found, note = match_images(images, truth.images)
        images, new = extend(truth.images, images, found, extend_images)
        columns = columns.move(images=new)
        verdicts = verdicts.move(new, np.arange(len(labels))) if verdicts is not None else None
        notes += note
    if labels is not truth.labels:
        found, note = match_labels(labels, truth.labels)
        labels, new = extend(truth.labels, labels, found, extend_labels)
        columns = columns.move(labels=new)
        verdicts = verdicts.move(np.arange(len(images)), new) if verdicts is not None else None
        notes += note
    source = replace(pred.source, notes=tuple(notes))
    aligned = pred.changed(columns=columns, images=images, labels=labels, verdicts=verdicts, source=source)
    return in_unit(aligned, truth)


def match_images(mine: Images, theirs: Images) -> tuple[Positions, list[str]]:
    """For each of my images its position among theirs, by name where both have names, else by id."""
    if mine.names is not None and theirs.names is not None:
        return positions(map(theirs.find, mine.names)), []
    if not mine.has_names and (not theirs.has_names or theirs.ids is not None):
        return by_id(mine, theirs), []
    if mine.names is None:
        assert mine.ids is not None
        assert theirs.names is not None
        numbers = {n: i for i, name in enumerate(theirs.names) if (n := to_id(stem(name))) is not None}
        return positions(numbers.get(int(id)) for id in mine.ids), ["image ids taken as the numbers in file names"]
    ids = (to_id(stem(name)) for name in mine.names)
    numbers = theirs.index_of_id
    return positions(None if id is None else numbers.get(id) for id in ids), [
        "numbers in file names taken as image ids"
    ]


def match_labels(mine: Labels, theirs: Labels) -> tuple[Positions, list[str]]:
    """For each of my labels its position among theirs, by name where both have names, else by id."""
    if mine.names is not None and theirs.names is not None:
        found = positions(map(theirs.index_of_name.get, mine.names))
        if np.any(found >= 0) or theirs.ids is None or not all(name.isdecimal() for name in mine.names):
            return found, []
    elif mine.names is None and theirs.ids is not None:
        return by_id(mine, theirs), []
    elif mine.names is None:
        return positions(map(theirs.index_of_name.get, mine.all_names)), ["class ids taken as class names"]
    numbers = (to_id(name) for name in mine.names or ())
    index = theirs.index_of_id
    return positions(None if n is None else index.get(n) for n in numbers), ["class names taken as class ids"]


def to_id(text: str) -> int | None:
    """The number that a text is, if it can be an id: Python refuses to read thousands of digits."""
    return int(text) if text.isdecimal() and len(text) < 19 else None


def positions(found: object) -> Positions:
    """An array of positions, -1 for None."""
    return np.array([-1 if i is None else i for i in found], dtype=np.int32)  # type: ignore[attr-defined]


def by_id(mine: Images | Labels, theirs: Images | Labels) -> Positions:
    """Positions of my ids among theirs."""
    assert mine.ids is not None
    assert theirs.ids is not None
    return positions_in(theirs.ids, mine.ids)


def extend(theirs: T, mine: T, found: Positions, extend: Callable[[T, T, NDArray[np.int64]], T]) -> tuple[T, Positions]:
    """Their table with my unknown rows behind it, and the new position of each of my rows."""
    unknown = np.flatnonzero(found < 0)
    if not len(unknown):
        return theirs, found
    new = found.copy()
    new[unknown] = len(theirs) + np.arange(len(unknown))
    return extend(theirs, mine, unknown), new


def extend_images(theirs: Images, mine: Images, rows: NDArray[np.int64]) -> Images:
    names, ids = extended_keys(theirs, mine, rows)
    return Images(
        names,
        ids,
        widths=np.concatenate([theirs.widths, mine.widths[rows]]),
        heights=np.concatenate([theirs.heights, mine.heights[rows]]),
    )


def extend_labels(theirs: Labels, mine: Labels, rows: NDArray[np.int64]) -> Labels:
    names, ids = extended_keys(theirs, mine, rows)
    if names is not None and len(set(names)) < len(names):  # an unknown id that reads like a known name
        names = [*names[: len(theirs)], *(f"id {name}" for name in names[len(theirs) :])]
    if ids is not None and len(np.unique(ids)) < len(ids):  # an unknown name whose id means another class here
        ids = np.concatenate([ids[: len(theirs)], free_ids(ids[: len(theirs)], len(rows))])
    skeletons = [labels.skeletons or (Skeleton(),) * len(labels) for labels in (theirs, mine)]
    return Labels(names, ids, skeletons=[*skeletons[0], *(skeletons[1][i] for i in rows)])


def extended_keys(
    theirs: Images | Labels, mine: Images | Labels, rows: NDArray[np.int64]
) -> tuple[list[str] | None, NDArray[np.int64] | None]:
    """Names and ids of both tables: my rows get what they lack from what they have."""
    names = [*theirs.names, *(mine.name(i) for i in rows)] if theirs.names is not None else None
    if theirs.ids is None:
        return names, None
    new = mine.ids[rows] if mine.ids is not None else free_ids(theirs.ids, len(rows))
    return names, np.concatenate([theirs.ids, new])


def free_ids(taken: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Negative ids that nobody uses."""
    return min(0, int(taken.min(initial=0))) - 1 - np.arange(count, dtype=np.int64)


def in_unit(pred: Annotations, truth: Annotations) -> Annotations:
    """The predictions in the truth's unit: pixels, or fractions of the image where no size is known."""
    if pred.unit == truth.unit:
        return pred
    widths, heights = pred.images.widths[pred.image], pred.images.heights[pred.image]
    unsized = np.flatnonzero((widths <= 0) | (heights <= 0))
    if len(unsized):
        relative, other = ("predictions", "truth") if pred.unit == "rel" else ("truth", "predictions")
        is_unknown = pred.image[unsized[0]] >= len(truth.images)
        remedy = "the truth has no image of this name (V213): spell names as it does, or " if is_unknown else ""
        raise DataError(
            f"{pred.source.path or 'predictions'}: expected the size of every image (the {relative} are fractions of "
            f"the image, the {other} pixels), found none for {pred.images.name(int(pred.image[unsized[0]]))!r}; "
            f"{remedy}give --image-size WIDTH,HEIGHT or --images FOLDER"
        )
    factors = np.stack([widths, heights], axis=1).astype(np.float64)
    regions = pred.regions.scale(factors if pred.unit == "rel" else 1 / factors)
    return pred.changed(columns=pred.columns.with_regions(regions.native), unit=truth.unit)
