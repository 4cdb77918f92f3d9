"""The classes of a dataset: names and ids, hierarchies, and labels of whole images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter, DataError, did_you_mean, excerpt

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from verite.model.keypoints import Skeleton

# A direct look-up table is used as long as it is not much longer than what is looked up.
SPREAD = 16

SMALL = 1 << 20


def whole_id(value: Any) -> int:
    """Return the id of a class as an integer; 1.7 and NaN are refused."""
    try:
        number = int(value)
        if isinstance(value, str) or number == value:
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise BadParameter(f"labels: expected whole numbers as ids, found {excerpt(value)}")


class Labels:
    """The classes of a dataset: names and ids.

    Parameters
    ----------
    names : sequence of str, optional
        Names. Either names or ids must be given.
    ids : iterable of int, optional
        Ids, such as COCO's category ids.
    groups : sequence of str, optional
        Group of each class: ``thing`` or ``stuff``, or LVIS's ``r``, ``c`` and ``f`` (rare, common, frequent).
    skeletons : sequence of Skeleton, optional
        Names, edges and sigmas of the keypoints of each class.

    Raises
    ------
    BadParameter
        If neither names nor ids are given, one occurs twice, or the lengths differ.

    Examples
    --------
    >>> labels = Labels(["cat", "dog"], [17, 18])
    >>> labels.name(1), labels.index_of_name["dog"], labels.index_of_id[17]
    ('dog', 1, 0)
    """

    def __init__(
        self,
        names: Sequence[str] | None = None,
        ids: Iterable[int] | None = None,
        *,
        groups: Sequence[str] | None = None,
        skeletons: Sequence[Skeleton] | None = None,
    ) -> None:
        self.names = tuple(names) if names is not None else None
        odd = next((name for name in self.names or () if not isinstance(name, str)), "")
        if odd != "":
            raise BadParameter(f"labels: expected names, found {excerpt(odd)}")
        self.groups = tuple(groups) if groups is not None else None
        self.skeletons = (
            tuple(skeletons) if skeletons is not None and any(s.names or s.sigmas for s in skeletons) else None
        )
        self.numbers: tuple[int, ...] | None = None  # the ids, without numpy
        if ids is not None:
            self.numbers = tuple(id if type(id) is int else whole_id(id) for id in ids)
        if self.names is None and self.numbers is None:
            raise BadParameter("labels: expected names or ids, found neither")
        if self.names is not None and self.numbers is not None and len(self.names) != len(self.numbers):
            raise BadParameter(f"labels: expected an id for each of {len(self.names)} names, found {len(self.numbers)}")
        tables: tuple[tuple[str, Sequence[Any]], ...] = (("name", self.names or ()), ("id", self.numbers or ()))
        for what, values in tables:
            if len(set(values)) != len(values):
                counts = Counter(values)
                repeated = next(value for value in values if counts[value] > 1)
                raise BadParameter(f"labels: expected each {what} once, found {repeated!r} twice")
        for what, given in (("group", self.groups), ("skeleton", self.skeletons)):
            if given is not None and len(given) != len(self):
                raise BadParameter(f"labels: expected a {what} for each of {len(self)} classes, found {len(given)}")

    @cached_property
    def ids(self) -> NDArray[np.int64] | None:
        """Ids as an array; None if there are only names."""
        from verite.model.ragged import freeze

        return freeze(self.numbers, "int64") if self.numbers is not None else None

    def __len__(self) -> int:
        if self.names is not None:
            return len(self.names)
        assert self.numbers is not None
        return len(self.numbers)

    def name(self, i: int) -> str:
        """Return the name of class i, or its id if there are no names."""
        if self.names is not None:
            return self.names[i]
        assert self.numbers is not None
        return str(self.numbers[i])

    @cached_property
    def all_names(self) -> tuple[str, ...]:
        """Names of all classes; ids if there are no names."""
        return self.names if self.names is not None else tuple(map(str, self.numbers or ()))

    @cached_property
    def index_of_name(self) -> dict[str, int]:
        """Position of each name."""
        return {name: i for i, name in enumerate(self.names or ())}

    @cached_property
    def index_of_id(self) -> dict[int, int]:
        """Position of each id."""
        return {id: i for i, id in enumerate(self.numbers or ())}

    @cached_property
    def by_id(self) -> tuple[int, ...] | None:
        """Positions in the order of the ids; None if the classes are in that order already."""
        if self.numbers is None or all(a < b for a, b in pairwise(self.numbers)):
            return None
        return tuple(sorted(range(len(self.numbers)), key=self.numbers.__getitem__))

    def take(self, rows: Iterable[int]) -> Labels:
        """Return some classes, in the given order."""
        rows = list(rows)
        names = None if self.names is None else [self.names[i] for i in rows]
        groups = None if self.groups is None else [self.groups[i] for i in rows]
        numbers = None if self.numbers is None else [self.numbers[i] for i in rows]
        skeletons = None if self.skeletons is None else [self.skeletons[i] for i in rows]
        return Labels(names, numbers, groups=groups, skeletons=skeletons)

    def __repr__(self) -> str:
        shown = ", ".join(self.all_names[:6]) + (", …" if len(self) > 6 else "")
        return f"Labels({len(self)}: {shown})"


@dataclass(frozen=True)
class Hierarchy:
    """Class hierarchy: for each class its ancestors and descendants; the root is no class.

    >>> tree = Hierarchy.of([("animal", "cat"), ("animal", "dog"), ("dog", "pug")])
    >>> sorted(tree.above["pug"]), sorted(tree.below["animal"])
    (['animal', 'dog'], ['cat', 'dog', 'pug'])
    """

    above: dict[str, frozenset[str]]
    below: dict[str, frozenset[str]]

    @classmethod
    def of(cls, pairs: list[tuple[str, str]]) -> Hierarchy:
        """Return a hierarchy from pairs (class, subclass)."""
        children: dict[str, list[str]] = {}
        for parent, child in pairs:
            children.setdefault(parent, []).append(child)
        roots = [name for name in children if name not in {child for _, child in pairs}]
        if pairs and not roots:
            raise DataError(f"hierarchy: expected a tree, found a circle through {pairs[0][0]!r}")

        def paths(name: str, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
            if name in path:
                raise DataError(f"hierarchy: expected a tree, found {name!r} below itself")
            yield (*path, name)
            for child in children.get(name, ()):
                yield from paths(child, (*path, name))

        return cls.of_paths(path for root in roots for path in paths(root, ()))

    @classmethod
    def of_paths(cls, paths: Iterator[tuple[str, ...]]) -> Hierarchy:
        """Return a hierarchy from the path of every node. A class in several places has all their ancestors."""
        above: dict[str, set[str]] = {}
        below: dict[str, set[str]] = {}
        for *ancestors, name in paths:
            above.setdefault(name, set()).update(ancestors)
            below.setdefault(name, set())
            for ancestor in ancestors:
                below.setdefault(ancestor, set()).add(name)
        for name, others in above.items():
            both = others & below[name]
            if both:
                other = min(both)
                raise DataError(f"hierarchy: expected a tree, found {name!r} both above and below {other!r}")
        return cls({k: frozenset(v) for k, v in above.items()}, {k: frozenset(v) for k, v in below.items()})

    def need(self, name: str, where: str) -> None:
        """Raise `DataError` if a class is not in the hierarchy.

        Parameters
        ----------
        name
            The class to look up.
        where
            File or argument that names it, for the message.
        """
        if name not in self.above:
            near = did_you_mean(name, self.above)
            raise DataError(f"{where}: expected classes of the hierarchy, found {name!r}, which is not in it{near}")

    def __len__(self) -> int:
        return len(self.above)


# PRESENT and ABSENT: verified in this image. INCOMPLETE: the annotation of the class is not exhaustive.
# EXCLUDED: the class does not count in this image.
PRESENT, ABSENT, INCOMPLETE, EXCLUDED = 0, 1, 2, 3

KINDS = ("present", "absent", "incomplete", "excluded")


@dataclass(frozen=True, eq=False)
class ImageLevelLabels:
    """Labels of whole images: a class verified present or absent, not exhaustively annotated, or excluded.

    Each row has the positions of an image and a class in the tables of the annotations, and a kind.

    >>> said = ImageLevelLabels(np.array([0, 0]), np.array([1, 2]), np.array([PRESENT, ABSENT]))
    >>> said.cells(3, ABSENT)
    array([2])
    """

    image: NDArray[np.int32]
    label: NDArray[np.int32]
    kind: NDArray[np.uint8]

    def __post_init__(self) -> None:
        from verite.model.ragged import freeze

        for name, dtype in (("image", np.int32), ("label", np.int32), ("kind", np.uint8)):
            object.__setattr__(self, name, freeze(getattr(self, name), dtype))
        if not len(self.image) == len(self.label) == len(self.kind):
            lengths = f"{len(self.image)}, {len(self.label)} and {len(self.kind)}"
            raise BadParameter(f"verdicts: expected columns of the same length, found {lengths}")

    @staticmethod
    def of(rows: Iterable[tuple[int, int, int]]) -> ImageLevelLabels:
        """Return labels from rows (image, class, kind)."""
        table = np.array(list(rows), dtype=np.int64).reshape(-1, 3)
        return ImageLevelLabels(*(table[:, i] for i in range(3)))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.kind)

    def cells(self, labels: int, *kinds: int) -> NDArray[np.int64]:
        """Return image × labels + label of the rows of these kinds: unique and sorted."""
        rows = np.isin(self.kind, kinds)
        return np.unique(self.image[rows].astype(np.int64) * labels + self.label[rows])

    def move(self, image: ArrayLike, label: ArrayLike) -> ImageLevelLabels:
        """Return a copy with new positions of images and classes; rows that get -1 are dropped.

        Parameters
        ----------
        image
            New position of each image; -1 drops its labels.
        label
            New position of each class; -1 drops its labels.

        Returns
        -------
        ImageLevelLabels
            Labels at the new positions, their kind (present, absent) unchanged.
        """
        images, labels = np.asarray(image)[self.image], np.asarray(label)[self.label]
        kept = (images >= 0) & (labels >= 0)
        return ImageLevelLabels(images[kept], labels[kept], self.kind[kept])


def is_in(cells: NDArray[np.int64], image: NDArray[Any], label: NDArray[Any], labels: int) -> NDArray[np.bool_]:
    """Return which objects are in one of the cells that :meth:`ImageLevelLabels.cells` gives."""
    mine = image.astype(np.int64) * labels + label
    if not len(cells):
        return np.zeros(len(mine), dtype=np.bool_)
    span = int(max(cells[-1], mine.max(initial=0))) + 1
    if span < max(SMALL, SPREAD * len(mine)):
        table = np.zeros(span, dtype=np.bool_)
        table[cells] = True
        return np.asarray(table[mine])
    at = np.minimum(np.searchsorted(cells, mine), len(cells) - 1)
    return np.asarray(cells[at] == mine)
