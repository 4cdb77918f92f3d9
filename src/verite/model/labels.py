"""The classes objects may have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.skeletons import Skeleton


class Labels:
    """Names and file ids of the classes. A file that knows only ids has no names, and the reverse.

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
        """`groups`: a word for each class that says what kind it is, as `thing` or `stuff`; rare is `r`.

        `skeletons`: what is known of the keypoints of each class.
        """
        self.names = tuple(names) if names is not None else None
        self.groups = tuple(groups) if groups is not None else None
        self.skeletons = (
            tuple(skeletons) if skeletons is not None and any(s.names or s.sigmas for s in skeletons) else None
        )
        self.numbers = tuple(int(id) for id in ids) if ids is not None else None  # the ids, without numpy
        if self.names is None and self.numbers is None:
            raise BadParameter("labels: expected names or ids, found neither")
        if self.names is not None and self.numbers is not None and len(self.names) != len(self.numbers):
            raise BadParameter(f"labels: expected an id for each of {len(self.names)} names, found {len(self.numbers)}")
        tables: tuple[tuple[str, Mapping[Any, int], Sequence[Any]], ...] = (
            ("name", self.index_of_name, self.names or ()),
            ("id", self.index_of_id, self.numbers or ()),
        )
        for what, index, values in tables:
            if len(index) != len(values):
                repeated = next(v for i, v in enumerate(values) if index[v] != i)
                raise BadParameter(f"labels: expected each {what} once, found {repeated!r} twice")
        if self.groups is not None and len(self.groups) != len(self):
            raise BadParameter(f"labels: expected a group for each of {len(self)} classes, found {len(self.groups)}")
        if self.skeletons is not None and len(self.skeletons) != len(self):
            found = len(self.skeletons)
            raise BadParameter(f"labels: expected a skeleton for each of {len(self)} classes, found {found}")

    @cached_property
    def ids(self) -> NDArray[np.int64] | None:
        from verite.model.freeze import freeze

        return freeze(self.numbers, "int64") if self.numbers is not None else None

    def __len__(self) -> int:
        if self.names is not None:
            return len(self.names)
        assert self.numbers is not None
        return len(self.numbers)

    def name(self, i: int) -> str:
        """What to print for label i: its name, or its id where the file gives no name."""
        if self.names is not None:
            return self.names[i]
        assert self.numbers is not None
        return str(self.numbers[i])

    @property
    def all_names(self) -> tuple[str, ...]:
        """What to print for every label."""
        return tuple(self.name(i) for i in range(len(self)))

    @cached_property
    def index_of_name(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names or ())}

    @cached_property
    def index_of_id(self) -> dict[int, int]:
        return {id: i for i, id in enumerate(self.numbers or ())}

    @cached_property
    def by_id(self) -> tuple[int, ...] | None:
        """Positions in the order of their ids; None where they stand in it already."""
        if self.numbers is None or all(a < b for a, b in pairwise(self.numbers)):
            return None
        return tuple(sorted(range(len(self.numbers)), key=self.numbers.__getitem__))

    def take(self, rows: Iterable[int]) -> Labels:
        """These classes, in this order."""
        rows = list(rows)
        names = None if self.names is None else [self.names[i] for i in rows]
        groups = None if self.groups is None else [self.groups[i] for i in rows]
        numbers = None if self.numbers is None else [self.numbers[i] for i in rows]
        skeletons = None if self.skeletons is None else [self.skeletons[i] for i in rows]
        return Labels(names, numbers, groups=groups, skeletons=skeletons)

    def __repr__(self) -> str:
        shown = ", ".join(self.all_names[:6]) + (", …" if len(self) > 6 else "")
        return f"Labels({len(self)}: {shown})"
