"""How far apart are two classes? A matrix from 0 to 1: all alike, written by hand, from a taxonomy or from images."""

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
from verite.errors import BadParameter, DataError, ReadError, did_you_mean, excerpt
from verite.files import find_path
from verite.model.classes import Labels
from verite.model.tables import Display, Part, Table
from verite.scene.taxonomy import Taxonomy, read_taxonomy

Floats = NDArray[np.float64]
TOLERANCE = 1e-9
SHIPPED = {"voc": "taxonomy-voc.txt"}  # taxonomies that come with the package


@dataclass(frozen=True, eq=False)
class ClassDistances(Display):
    """A distance for every two classes; without names, 1 for any two that differ.

    >>> d = ClassDistances.of(["cat", "dog", "car"], [[0, 0.2, 1], [0.2, 0, 1], [1, 1, 0]])
    >>> d["cat", "dog"]
    0.2
    """

    names: tuple[str, ...] | None = None
    matrix: Floats | None = None
    source: str = ""  # where it came from, in a word
    groups: frozenset[str] = frozenset()  # names of a taxonomy that stand for several classes

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
        """From a square matrix, checked: numbers from 0 to 1, 0 on the diagonal, symmetric unless said otherwise."""
        place = where if where is not None else "class distances"
        try:
            values = np.array(matrix, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ReadError(place, expected="a matrix of numbers from 0 to 1", found=excerpt(str(error))) from None
        if values.shape != (len(names), len(names)):
            raise ReadError(place, expected=f"a matrix of {len(names)} × {len(names)}", found=str(values.shape))
        check(tuple(names), values, symmetric, place)
        values.flags.writeable = False
        return cls(tuple(names), values, source)

    @classmethod
    def from_taxonomy(cls, taxonomy: Taxonomy, source: str = "taxonomy") -> ClassDistances:
        """The path between two classes, as a share of the longest such path."""
        names, steps = taxonomy.path_lengths()
        made = cls.of(names, steps / max(1.0, float(steps.max(initial=0))), source=source)
        return cls(made.names, made.matrix, source, frozenset(taxonomy.groups))

    def __getitem__(self, pair: tuple[str, str]) -> float:
        if self.names is None or self.matrix is None:
            return float(pair[0] != pair[1])
        return float(self.matrix[self.place(pair[0]), self.place(pair[1])])

    def place(self, name: str) -> int:
        found = self.index.get(name)
        if found is None:
            raise self.missing_error([name])
        return found

    @cached_property
    def index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names or ())}

    def missing_error(self, names: Sequence[str]) -> DataError:
        first = names[0]
        reason = " (a group of the taxonomy, not a class)" if first in self.groups else ""
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return DataError(
            f"class distances ({self.source}): expected every class of the data, found none for {excerpt(first)}"
            f"{reason}{more}{did_you_mean(first, self.index)}"
        )

    def between(self, mine: NDArray[Any], theirs: NDArray[Any], my_labels: Labels, their_labels: Labels) -> Floats:
        """The distances of labels mine[i] and theirs[i], all of them covered.

        Both tables number alike what they have in common.
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
        """An error where a class that occurs has no distances."""
        if self.names is None:
            return
        unknown = [name for i in np.unique(used) if (name := labels.name(int(i))) not in self.index]
        if unknown:
            raise self.missing_error(unknown)

    @property
    def spelled(self) -> str:
        """What a signature says of it."""
        if self.names is None or self.matrix is None:
            return "identity"
        state = blake2b(repr(self.names).encode(), digest_size=4)
        state.update(np.ascontiguousarray(self.matrix).tobytes())
        return f"{self.source.replace('|', '-').replace(':', '-')}#{state.hexdigest()}"

    def table(self) -> Table:
        names = self.names or ()
        columns = {name: self.square[:, j].tolist() for j, name in enumerate(names)}
        return Table.of("class", names, columns)

    @property
    def square(self) -> Floats:
        return self.matrix if self.matrix is not None else np.zeros((0, 0))

    def contents(self) -> list[Part]:
        if self.names is None:
            return ["1 for any two classes that differ, 0 for the same"]
        return [f"{len(self.names)} classes, {self.source}", self.table()]

    def to_json(self, *, indent: int = 0) -> str:
        from verite.model.results import to_json

        document = {"source": self.source, "classes": list(self.names or ()), "distances": self.square.tolist()}
        return to_json(document, indent=indent)


def check(names: tuple[str, ...], values: Floats, symmetric: bool, where: Any) -> None:
    """Is this a matrix of distances? What is not is named by its classes."""
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ReadError(where, expected="each class once", found=f"{excerpt(twice)} twice")

    def complain(bad: NDArray[np.bool_], expected: str, remedy: str = "") -> None:
        if bad.any():
            i, j = (int(k) for k in np.argwhere(bad)[0])
            found = f"{values[i, j]:g} for {excerpt(names[i])} and {excerpt(names[j])}"
            raise ReadError(where, expected=expected, found=found, remedy=remedy)

    complain(~np.isfinite(values), "a number for every two classes")
    complain(values < 0, "no negative distance")
    complain(values > 1, "distances from 0 to 1", "divide them by the largest")
    itself = np.diag(values)
    is_similarity = len(names) > 1 and bool(((itself > 0) & (itself >= values.max(axis=1))).all())
    remedy = "these look like similarities, 1 for the same class: did you mean 1 - S?" if is_similarity else ""
    complain(np.diag(np.diag(values) != 0), "a distance of 0 from a class to itself", remedy)
    if symmetric:
        differs = np.abs(values - values.T) > TOLERANCE
        if differs.any():
            i, j = (int(k) for k in np.argwhere(differs)[0])
            raise ReadError(
                where,
                expected="a symmetric matrix",
                found=f"{values[i, j]:g} for {excerpt(names[i])} and {excerpt(names[j])}, but {values[j, i]:g} the "
                "other way",
                remedy="say --asymmetric if that is meant",
            )


def class_distances(given: Any, *, symmetric: bool = True) -> ClassDistances:
    """Distances from whatever a person has: nothing, a matrix, a taxonomy, a file of either, or "voc"."""
    if given is None:
        return ClassDistances()
    if isinstance(given, ClassDistances):
        return given
    if isinstance(given, Taxonomy):
        return ClassDistances.from_taxonomy(given)
    if isinstance(given, Mapping):
        return of_mapping(given, symmetric)
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


def of_mapping(given: Mapping[str, Mapping[str, float]], symmetric: bool) -> ClassDistances:
    """From {"cat": {"dog": 0.2, …}, …}."""
    names = list(given)
    rows = []
    for name in names:
        row = given[name]
        if not isinstance(row, Mapping):
            found = f"{type(row).__name__} for {excerpt(str(name))}"
            raise ReadError("class distances", expected="a mapping from classes to numbers for each class", found=found)
        absent = [other for other in names if other not in row and other != name]
        if absent:
            raise ReadError(
                "class distances",
                expected="a number for every two classes",
                found=f"none for {name!r} and {absent[0]!r}",
            )
        rows.append([row.get(other, 0.0) for other in names])
    return ClassDistances.of(names, rows, symmetric=symmetric)


def read_matrix(path: Path, *, symmetric: bool = True) -> ClassDistances:
    """From CSV: class names as header and as first column, in any order of rows."""
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
        rows[name] = [number_of(cell, where) for cell in cells]
    absent = [name for name in names if name not in rows]
    if absent:
        raise ReadError(path, expected="a row for every class of the header", found=f"none for {excerpt(absent[0])}")
    return ClassDistances.of(names, [rows[name] for name in names], symmetric=symmetric, source=path.stem, where=path)


def number_of(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ReadError(where, expected="a number from 0 to 1", found=excerpt(text)) from None
