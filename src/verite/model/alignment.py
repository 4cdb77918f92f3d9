"""Alignment of predictions with the ground truth: images and classes are matched by name or id."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from verite.arrays import np
from verite.errors import DataError, excerpt, give_sizes
from verite.model.annotations import Annotations
from verite.model.classes import Labels
from verite.model.images import Images, Positions, path_parts, positions_in, split_of, stem
from verite.model.keypoints import Skeleton

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T", bound=Images | Labels)


def align(pred: Annotations, truth: Annotations, *, by_base_name: bool = True) -> Annotations:
    """Return predictions with the images and classes of the ground truth; unknown ones are appended.

    Parameters
    ----------
    pred, truth
        Predictions and ground truth.
    by_base_name
        Whether images in differing folders may match by their base names. Among files of one dataset they are
        different images.

    Raises
    ------
    DataError
        If an image's name is ambiguous, or a size is needed to convert coordinates and missing.
    """
    if pred.images is truth.images and pred.labels is truth.labels and pred.unit == truth.unit:
        return pred
    images, labels, columns, verdicts = pred.images, pred.labels, pred.columns, pred.verdicts
    notes, missing = list(pred.source.notes), pred.source.missing
    if images is not truth.images:
        found, note = match_images(images, truth.images, pred.source.path or "images", by_base_name=by_base_name)
        if pred.source.is_file_per_image:
            missing = tuple(truth.images.name(i) for i in np.setdiff1d(np.arange(len(truth.images)), found).tolist())
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
    source = replace(pred.source, notes=tuple(notes), missing=missing)
    aligned = pred.changed(columns=columns, images=images, labels=labels, verdicts=verdicts, source=source)
    return in_unit(aligned, truth)


def match_images(
    mine: Images, theirs: Images, where: object = "images", *, by_base_name: bool = True
) -> tuple[Positions, list[str]]:
    """Return the position of each image in another table, by name if both have names, else by id, and notes.

    Raises
    ------
    DataError
        If two names stand for one image of the other table, or one name for several.
    """
    if mine.sequences is not None and theirs.sequences is not None:
        frames = theirs.sequences.find(mine.sequences)
        if frames is not None:
            matched = np.flatnonzero(frames >= 0)
            if len(matched) and mine.sequences.names != theirs.sequences.names and len(theirs.sequences.names) == 1:
                return frames, [
                    note_other_folders(len(matched), mine.name(matched[0]), theirs.name(frames[matched[0]]))
                ]
            return frames, []
    if mine.names is not None and theirs.names is not None:
        found = positions(map(theirs.index_of_name.get, mine.names))
        if by_base_name and np.any(found < 0):
            return found, match_path_ends(mine.names, theirs.names, found, where)
        return found, []
    if not mine.has_names and (not theirs.has_names or theirs.ids is not None):
        return by_id(mine, theirs), []
    if mine.names is None:
        assert mine.ids is not None
        assert theirs.names is not None
        numbers: dict[int, int] = {}
        wanted = set(mine.ids.tolist())
        for i, name in enumerate(theirs.names):
            number = to_id(stem(name))
            if number is not None and number in wanted and numbers.setdefault(number, i) != i:
                raise ambiguous(where, f"the image id {number}", [theirs.names[numbers[number]], name])
        return positions(numbers.get(int(id)) for id in mine.ids), ["image ids taken as the numbers in file names"]
    ids = [to_id(stem(name)) for name in mine.names]
    found = positions(None if id is None else theirs.index_of_id.get(id) for id in ids)
    first: dict[int, int] = {}
    for row, at in enumerate(found.tolist()):
        if at >= 0 and first.setdefault(at, row) != row:
            raise twice(where, [mine.names[first[at]], mine.names[row]], f"the image id {ids[row]}")
    return found, ["numbers in file names taken as image ids"]


Parts = tuple[str, ...]


def match_path_ends(mine: Sequence[str], theirs: Sequence[str], found: Positions, where: object) -> list[str]:
    """Match images without an equal name by the ends of their paths, without the suffix, and fill in `found`.

    The end is the base name if base names are unique on both sides, else it includes as many folders as make paths
    unique: frame 1 of one sequence is not frame 1 of another. Returns a note if images in folders of different names
    were matched by their base names.
    """
    left = np.flatnonzero(found < 0).tolist()
    paths, known = [path_parts(name) for name in mine], [path_parts(name) for name in theirs]
    tables = set(paths), set(known)
    depth, longest = 1, max((len(parts) for table in tables for parts in table), default=1)
    while depth < longest and any(len({parts[-depth:] for parts in table}) < len(table) for table in tables):
        depth += 1
    rows_of_end: dict[Parts, list[int]] = {}
    rows_of_base: dict[str, list[int]] = {}
    for i, parts in enumerate(known):
        rows_of_end.setdefault(parts[-depth:], []).append(i)
        rows_of_base.setdefault(parts[-1], []).append(i)
    folders = {parts[-2] for parts in known if len(parts) > 1}
    row_on: dict[int, int] = {at: row for row, at in enumerate(found.tolist()) if at >= 0}
    for row in left:
        rows = rows_of_end.get(paths[row][-depth:], [])
        if len(rows) > 1:
            raise ambiguous(where, repr(mine[row]), [theirs[i] for i in rows])
        if rows:
            if rows[0] in row_on:
                raise twice(where, [mine[row_on[rows[0]]], mine[row]], repr(theirs[rows[0]]))
            check_folders(where, mine[row], theirs[rows[0]], folders)
            row_on[rows[0]] = row
            found[row] = rows[0]
    claimed = Counter(paths[row][-1] for row in left if found[row] < 0)
    for row in left if depth > 1 else ():
        base = paths[row][-1]
        free = [i for i in rows_of_base.get(base, []) if i not in row_on] if found[row] < 0 else []
        if free and claimed[base] > 1:
            names = [mine[other] for other in left if found[other] < 0 and paths[other][-1] == base]
            raise twice(where, names, repr(theirs[free[0]]))
        if len(free) > 1:
            raise ambiguous(where, repr(mine[row]), [theirs[i] for i in free])
    pairs = [(row, paths[row], known[found[row]]) for row in left if found[row] >= 0]
    moved = [row for row, one, other in pairs if len(one) > 1 and len(other) > 1 and one[-2] != other[-2]]
    if not moved:
        return []
    return [note_other_folders(len(moved), mine[moved[0]], theirs[found[moved[0]]])]


def note_other_folders(count: int, mine: str, theirs: str) -> str:
    """Return the note on images that are matched although their folders have other names.

    Parameters
    ----------
    count
        Number of images matched by file name alone.
    mine
        Folder that the predictions name.
    theirs
        Folder that the ground truth names.

    Returns
    -------
    str
        A sentence, so that a user can notice predictions of another split with the same file names.
    """
    return (
        f"{count:,} images matched by their file names alone, in folders of other names: {mine!r} with {theirs!r} of "
        "the ground truth"
    )


def check_folders(where: object, mine: str, theirs: str, folders: Collection[str]) -> None:
    """Raise `DataError` if two images with equal base names are different images by their folders.

    They are in numbered folders (`seq-02` and `seq-04`), in different splits, or in two folders of the ground truth.
    """
    one, two = (path_parts(name)[-2:-1] for name in (mine, theirs))
    if not one or not two or one == two:
        return
    splits = {split_of(one[0]), split_of(two[0])}
    counted = [re.sub(r"\d+", "#", folder) for folder in (*one, *two)]
    if one[0] in folders or counted[0] == counted[1] or (None not in splits and len(splits) == 2):
        raise DataError(
            f"{where}: expected images of the ground truth, found {excerpt(mine)}, where the ground truth has "
            f"{excerpt(theirs)}: the same base name in another folder; evaluate the ground truth of the same folder, "
            "or spell the names alike if these are the same images"
        )


def twice(where: object, names: Sequence[str], image: str) -> DataError:
    """Return the error for several names of one image.

    Parameters
    ----------
    where
        File or argument at fault.
    names
        The names that all stand for the image.
    image
        The image of the ground truth.

    Returns
    -------
    DataError
        The error. Predictions of several folders must not be added up on one image in silence.
    """
    return DataError(
        f"{where}: expected one name for each image, found {list_names(names)} for {image} of the ground truth; keep "
        "the predictions of other folders, sequences or detectors apart, or spell the names as the ground truth does"
    )


def ambiguous(where: object, name: str, images: Sequence[str]) -> DataError:
    """Return the error for a name that may be several images.

    Parameters
    ----------
    where
        File or argument at fault.
    name
        The name in the predictions, without a folder.
    images
        Images of the ground truth in different folders that have this file name.

    Returns
    -------
    DataError
        The error; guessing one of the images would give a wrong AP.
    """
    return DataError(
        f"{where}: expected names that stand for one image, found {name}, which may be {list_names(images)} of the "
        "ground truth; spell the names with their folders, as the ground truth does"
    )


def list_names(names: Sequence[str]) -> str:
    """Return the first two names and the number of the others."""
    shown = " and ".join(excerpt(name) for name in names[:2])
    return shown if len(names) < 3 else f"{shown} and {len(names) - 2} more"


def match_labels(mine: Labels, theirs: Labels) -> tuple[Positions, list[str]]:
    """Return the position of each class in another table, by name if both have names, else by id, and notes."""
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
    """Return a text as an id, None if it is none: Python refuses to read thousands of digits."""
    return int(text) if text.isdecimal() and len(text) < 19 else None


def positions(found: object) -> Positions:
    """Return an array of positions, -1 for None."""
    return np.array([-1 if i is None else i for i in found], dtype=np.int32)  # type: ignore[attr-defined]


def by_id(mine: Images | Labels, theirs: Images | Labels) -> Positions:
    """Return the positions of ids in another table.

    Parameters
    ----------
    mine
        Images or classes of the predictions, with numeric ids.
    theirs
        Those of the ground truth, with ids too.

    Returns
    -------
    Positions
        For each of `mine` its position in `theirs`; -1 where the id is unknown there.
    """
    assert mine.ids is not None
    assert theirs.ids is not None
    return positions_in(theirs.ids, mine.ids)


def extend(theirs: T, mine: T, found: Positions, extend: Callable[[T, T, NDArray[np.int64]], T]) -> tuple[T, Positions]:
    """Return a table with the unknown rows of another one appended, and the new positions of the latter's rows.

    Parameters
    ----------
    theirs
        Table of the ground truth (images or classes).
    mine
        Table of the predictions.
    found
        Position in `theirs` of each row of `mine`, -1 where there is none.
    extend
        Appends chosen rows of one table to another.

    Returns
    -------
    tuple[T, Positions]
        The joint table, and positions in it without any -1.
    """
    unknown = np.flatnonzero(found < 0)
    if not len(unknown):
        return theirs, found
    new = found.copy()
    new[unknown] = len(theirs) + np.arange(len(unknown))
    return extend(theirs, mine, unknown), new


def extend_images(theirs: Images, mine: Images, rows: NDArray[np.int64]) -> Images:
    """Return images with some rows of another table appended."""
    names, ids = extended_keys(theirs, mine, rows)
    return Images(
        names,
        ids,
        widths=np.concatenate([theirs.widths, mine.widths[rows]]),
        heights=np.concatenate([theirs.heights, mine.heights[rows]]),
        sequences=None
        if theirs.sequences is None or mine.sequences is None
        else theirs.sequences.extend(mine.sequences, rows),
    )


def extend_labels(theirs: Labels, mine: Labels, rows: NDArray[np.int64]) -> Labels:
    """Return classes with some rows of another table appended, under new names or ids where they collide."""
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
    """Return names and ids of both tables; rows without a name get their id as name, rows without an id a free one."""
    names = [*theirs.names, *(mine.name(i) for i in rows)] if theirs.names is not None else None
    if theirs.ids is None:
        return names, None
    new = mine.ids[rows] if mine.ids is not None else free_ids(theirs.ids, len(rows))
    return names, np.concatenate([theirs.ids, new])


def free_ids(taken: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return negative ids that are not taken."""
    return min(0, int(taken.min(initial=0))) - 1 - np.arange(count, dtype=np.int64)


def in_unit(pred: Annotations, truth: Annotations) -> Annotations:
    """Return predictions in the unit of the ground truth: pixels, or fractions of the image.

    Raises
    ------
    DataError
        If the size of an image is needed and missing.
    """
    if pred.unit == truth.unit:
        return pred
    widths, heights = pred.images.widths[pred.image], pred.images.heights[pred.image]
    unsized = np.flatnonzero((widths <= 0) | (heights <= 0))
    if len(unsized):
        relative, other = ("predictions", "truth") if pred.unit == "rel" else ("truth", "predictions")
        is_unknown = pred.image[unsized[0]] >= len(truth.images)
        remedy = "the ground truth has no image of this name (V213): spell names as it does, or " if is_unknown else ""
        raise DataError(
            f"{pred.source.path or 'predictions'}: expected the size of every image (the {relative} are fractions of "
            f"the image, the {other} pixels), found none for {pred.images.name(int(pred.image[unsized[0]]))!r}; "
            f"{remedy}{give_sizes()}"
        )
    factors = np.stack([widths, heights], axis=1).astype(np.float64)
    regions = pred.regions.scale(factors if pred.unit == "rel" else 1 / factors)
    return pred.changed(columns=pred.columns.with_regions(regions.native), unit=truth.unit)
