"""Distances between classes from 0 to 1: one for all, a matrix, path lengths in a taxonomy, or learned from images.

A confusion of near classes (cat and dog) then costs less in the scene score than one of distant classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from importlib.resources import as_file, files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verite.csv_files import lines_of
from verite.errors import IS_COMMAND_LINE, BadParameter, DataError, ReadError, did_you_mean, excerpt
from verite.evaluation.settings import is_number
from verite.files import find_path
from verite.model.classes import Labels
from verite.model.tables import Display, Part, Table
from verite.scene.taxonomy import Taxonomy, read_taxonomy

Floats = NDArray[np.float64]
TOLERANCE = 1e-9
SHIPPED = {"voc": "taxonomy-voc.txt"}  # taxonomies that come with the package


@dataclass(frozen=True, eq=False, repr=False)
class ClassDistances(Display):
    """A distance from 0 to 1 for every two classes.

    Parameters
    ----------
    names : tuple of str, optional
        The classes. Default: any classes, at distance 1 if they differ.
    matrix : array [classes, classes], optional
        The distances.
    source : str, default ""
        Where they come from, part of the signature.
    groups : frozenset of str, default empty
        Names of a taxonomy that stand for several classes.

    Examples
    --------
    >>> d = ClassDistances.of(["cat", "dog", "car"], [[0, 0.2, 1], [0.2, 0, 1], [1, 1, 0]])
    >>> d["cat", "dog"]
    0.2
    """

    names: tuple[str, ...] | None = None
    matrix: Floats | None = None
    source: str = ""
    groups: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        matrix: ArrayLike,
        *,
        symmetric: bool = True,
        source: str = "given",
        where: Any = None,
    ) -> ClassDistances:
        """Make distances from a square matrix, and check it.

        Parameters
        ----------
        names : sequence of str
            The classes.
        matrix : array [classes, classes]
            Numbers from 0 to 1, 0 on the diagonal.
        symmetric : bool, default True
            Whether the matrix must be symmetric.
        source : str, default "given"
            Where it comes from, part of the signature.
        where : path, optional
            The file to name in errors.

        Returns
        -------
        ClassDistances

        Raises
        ------
        ReadError
            If the matrix is not one of distances; the first wrong pair of classes is named.
        """
        place = where if where is not None else "class distances"
        try:
            values = np.array(matrix, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ReadError(place, expected="a matrix of numbers from 0 to 1", found=excerpt(str(error))) from None
        if values.shape != (len(names), len(names)):
            raise ReadError(place, expected=f"a matrix of {len(names)} × {len(names)}", found=str(values.shape))
        check_matrix(tuple(names), values, symmetric, place)
        values.flags.writeable = False
        return cls(tuple(names), values, source)

    @classmethod
    def from_taxonomy(cls, taxonomy: Taxonomy, source: str = "taxonomy") -> ClassDistances:
        """Make distances from a taxonomy: the path between two classes, divided by the longest such path."""
        names, steps = taxonomy.path_lengths()
        made = cls.of(names, steps / max(1.0, float(steps.max(initial=0))), source=source)
        return cls(made.names, made.matrix, source, frozenset(taxonomy.groups))

    def __getitem__(self, pair: tuple[str, str]) -> float:
        if self.names is None or self.matrix is None:
            return float(pair[0] != pair[1])
        unknown = [name for name in pair if name not in self.index]
        if unknown:
            raise self.missing_error(unknown[:1])
        return float(self.matrix[self.index[pair[0]], self.index[pair[1]]])

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each class."""
        return {name: i for i, name in enumerate(self.names or ())}

    def missing_error(self, names: Sequence[str]) -> DataError:
        """Return the error for classes without distances."""
        first = names[0]
        reason = " (a group of the taxonomy, not a class)" if first in self.groups else ""
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return DataError(
            f"class distances ({self.source}): expected every class of the data, found none for {excerpt(first)}"
            f"{reason}{more}{did_you_mean(first, self.index)}"
        )

    def between(self, mine: NDArray[Any], theirs: NDArray[Any], my_labels: Labels, their_labels: Labels) -> Floats:
        """Return the distances of the classes mine[i] and theirs[i].

        All of them must be covered, and classes that both sides have must have the same numbers.
        """
        if self.matrix is None:
            return np.asarray(mine != theirs, dtype=np.float64)
        place = [
            np.array([self.index.get(name, -1) for name in labels.all_names], dtype=np.int64)[used]
            for used, labels in ((mine, my_labels), (theirs, their_labels))
        ]
        found: Floats = self.matrix[place[0], place[1]]
        return found

    def check_covers(self, labels: Labels, used: NDArray[Any]) -> None:
        """Raise DataError if a class that occurs has no distances.

        Parameters
        ----------
        labels
            Classes of the dataset.
        used
            Positions of the classes that occur; others need no distance.
        """
        if self.names is None:
            return
        unknown = [name for i in np.unique(used) if (name := labels.name(int(i))) not in self.index]
        if unknown:
            raise self.missing_error(unknown)

    @property
    def signature_value(self) -> str:
        """The distances as a signature names them: source and digest."""
        if self.names is None or self.matrix is None:
            return "identity"
        state = blake2b(repr(self.names).encode(), digest_size=4)
        state.update(np.ascontiguousarray(self.matrix).tobytes())
        return f"{self.source.replace('|', '-').replace(':', '-')}#{state.hexdigest()}"

    def table(self) -> Table:
        """Return the matrix as a table."""
        names = self.names or ()
        columns = {name: self.square[:, j].tolist() for j, name in enumerate(names)}
        return Table.of("class", names, columns)

    @property
    def square(self) -> Floats:
        """The matrix, of shape (0, 0) where there is none."""
        return self.matrix if self.matrix is not None else np.zeros((0, 0))

    def contents(self) -> list[Part]:
        if self.names is None:
            return ["1 for any two classes that differ, 0 for the same"]
        return [f"{len(self.names)} classes, {self.source}", self.table()]

    def to_json(self, *, indent: int = 0) -> str:
        from verite.model.results import to_json

        document = {"source": self.source, "classes": list(self.names or ()), "distances": self.square.tolist()}
        return to_json(document, indent=indent)


def check_matrix(names: tuple[str, ...], values: Floats, symmetric: bool, where: Any) -> None:
    """Raise ReadError if this is not a matrix of distances, naming the first wrong pair of classes."""
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ReadError(where, expected="each class once", found=f"{excerpt(twice)} twice")

    def refuse(bad: NDArray[np.bool_], expected: str, remedy: str = "") -> None:
        if bad.any():
            i, j = (int(k) for k in np.argwhere(bad)[0])
            found = f"{values[i, j]:g} for {excerpt(names[i])} and {excerpt(names[j])}"
            raise ReadError(where, expected=expected, found=found, remedy=remedy)

    refuse(~np.isfinite(values), "a number for every two classes")
    refuse(values < 0, "no negative distance")
    refuse(values > 1, "distances from 0 to 1", "divide them by the largest")
    itself = np.diag(values)
    is_similarity = len(names) > 1 and bool(((itself > 0) & (itself >= values.max(axis=1))).all())
    remedy = "these look like similarities, 1 for the same class: did you mean 1 - S?" if is_similarity else ""
    refuse(np.diag(np.diag(values) != 0), "a distance of 0 from a class to itself", remedy)
    if symmetric:
        differs = np.abs(values - values.T) > TOLERANCE
        if differs.any():
            i, j = (int(k) for k in np.argwhere(differs)[0])
            option = "--asymmetric" if IS_COMMAND_LINE.get() else "symmetric=False"
            raise ReadError(
                where,
                expected="a symmetric matrix",
                found=f"{values[i, j]:g} for {excerpt(names[i])} and {excerpt(names[j])}, but {values[j, i]:g} in the "
                "other direction",
                remedy=f"give {option} if that is intended",
            )


def class_distances(given: Any, *, symmetric: bool = True) -> ClassDistances:
    """Make class distances from a matrix, a taxonomy, or a file.

    Parameters
    ----------
    given : ClassDistances, Taxonomy, mapping of mappings, path, "voc" or None
        A path is a matrix (.csv, .tsv) or a taxonomy (.json, indented text); "voc" is the shipped taxonomy of the 20
        VOC classes; None is distance 1 for any two classes that differ.
    symmetric : bool, default True
        Whether a matrix must be symmetric.

    Returns
    -------
    ClassDistances

    Raises
    ------
    BadParameter
        If `given` is none of these.
    ReadError
        If a file or mapping does not hold distances.

    Examples
    --------
    >>> class_distances({"cat": {"dog": 0.2}, "dog": {"cat": 0.2}})["dog", "cat"]
    0.2
    """
    if not isinstance(symmetric, bool):
        raise BadParameter(f"symmetric: expected True or False, found {excerpt(symmetric)}")
    if given is None:
        return ClassDistances()
    if isinstance(given, ClassDistances):
        return given
    if isinstance(given, Taxonomy):
        return ClassDistances.from_taxonomy(given)
    if isinstance(given, Mapping):
        # Make distances from {"cat": {"dog": 0.2, …}, …}.
        names = list(given)
        rows = []
        for name in names:
            row = given[name]
            if not isinstance(row, Mapping):
                found = f"{type(row).__name__} for {excerpt(str(name))}"
                raise ReadError(
                    "class distances", expected="a mapping from classes to numbers for each class", found=found
                )
            absent = [other for other in names if other not in row and other != name]
            if absent:
                raise ReadError(
                    "class distances",
                    expected="a number for every two classes",
                    found=f"none for {name!r} and {absent[0]!r}",
                )
            rows.append([row.get(other, 0.0) for other in names])
        return ClassDistances.of(names, rows, symmetric=symmetric)
    if not isinstance(given, (str, PathLike)):
        raise BadParameter(
            "distance: expected ClassDistances, a file, a mapping of mappings or 'voc', "
            f"found {type(given).__name__}; ClassDistances.of(names, matrix) makes one from a matrix"
        )
    if isinstance(given, str) and given in SHIPPED:
        with as_file(files("verite") / "data" / "class-distances" / SHIPPED[given]) as path:
            return ClassDistances.from_taxonomy(read_taxonomy(path), source=f"taxonomy-{given}")
    path = find_path(given)
    if path.suffix.lower() in (".csv", ".tsv"):
        return read_matrix(path, symmetric=symmetric)
    return ClassDistances.from_taxonomy(read_taxonomy(path), source=f"taxonomy-{path.stem}")


def read_matrix(path: Path, *, symmetric: bool = True) -> ClassDistances:
    """Read distances from CSV: class names in the header and the first column, rows in any order."""
    lines = [(number, row) for number, row in lines_of(path) if any(row)]
    if len(lines) < 2:
        raise ReadError(path, expected="a header with class names and a row for each class", found="no such rows")
    names = [name.strip() for name in lines[0][1][1:]]
    rows: dict[str, list[float]] = {}
    for number, (first, *cells) in lines[1:]:
        where, name = f"{path}:{number}", first.strip()
        if name not in names:
            raise ReadError(where, expected="a class of the header", found=excerpt(name) + did_you_mean(name, names))
        if name in rows:
            raise ReadError(where, expected="each class once", found=f"{excerpt(name)} twice")
        if len(cells) != len(names):
            raise ReadError(where, expected=f"{len(names)} numbers", found=str(len(cells)))
        try:
            rows[name] = [float(cell) for cell in cells]
        except ValueError:
            wrong = next(cell for cell in cells if not is_number(cell))
            raise ReadError(where, expected="a number from 0 to 1", found=excerpt(wrong)) from None
    absent = [name for name in names if name not in rows]
    if absent:
        raise ReadError(path, expected="a row for every class of the header", found=f"none for {excerpt(absent[0])}")
    return ClassDistances.of(names, [rows[name] for name in names], symmetric=symmetric, source=path.stem, where=path)
