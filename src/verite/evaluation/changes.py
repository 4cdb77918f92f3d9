"""Which other truths are there? What is removed and added in each of many draws, as lists one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

    Rows = NDArray[np.int32]
    Offsets = NDArray[np.int64]


@record(eq=False)
class Changes:
    """The truth of each draw: `removed` rows are not there; of the `objects` that may be added, those in `added` are
    there, with these `labels` (positions in the truth's), behind all others of their groups; rows in `again` have a
    twin that nobody can find. The i-th draw has `removed[removed_offsets[i]:removed_offsets[i + 1]]`, and so on.
    """

    objects: Annotations | None  # with the truth's own images and labels
    removed: Rows
    removed_offsets: Offsets
    added: Rows
    labels: Rows
    added_offsets: Offsets
    again: Rows
    again_offsets: Offsets

    @classmethod
    def of(
        cls,
        objects: Annotations | None = None,
        removed: Sequence[Any] = (),
        added: Sequence[Any] = (),
        labels: Sequence[Any] | None = None,
        again: Sequence[Any] = (),
    ) -> Changes:
        """From the rows of each draw; what is not given is empty in all of them, labels are the objects' own."""
        count = max(len(removed), len(added), len(again))
        lists = [one or [()] * count for one in (list(removed), list(added), list(again))]
        flat = [join_lists(rows) for rows in lists]
        if labels is not None:
            names = join_lists(list(labels))[0]
        else:
            names = np.zeros(0, np.int32) if objects is None else objects.label[flat[1][0]]
        return cls(objects, *flat[0], flat[1][0], names, flat[1][1], *flat[2])

    def __len__(self) -> int:
        """How many draws there are."""
        return len(self.removed_offsets) - 1

    def draw(self, i: int) -> tuple[Rows, Rows, Rows, Rows]:
        """The i-th draw: rows removed, objects added, their labels, rows with a twin."""
        gone = slice(*self.removed_offsets[i : i + 2])
        new = slice(*self.added_offsets[i : i + 2])
        return self.removed[gone], self.added[new], self.labels[new], self.again[slice(*self.again_offsets[i : i + 2])]

    @property
    def lists(self) -> tuple[Any, ...]:
        """What the core asks for after the objects."""
        return (
            self.removed,
            self.removed_offsets,
            self.added,
            self.labels,
            self.added_offsets,
            self.again,
            self.again_offsets,
        )


def join_lists(rows: Sequence[Any]) -> tuple[Rows, Offsets]:
    """Lists one after the other, and where each begins."""
    parts = [np.asarray(one, dtype=np.int32) for one in rows]
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return np.concatenate([np.zeros(0, np.int32), *parts]), offsets
