"""What is said about whole images: is a class in them or not, are all its objects marked, does it count at all?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter
from verite.model.ids import is_dense
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# PRESENT and ABSENT: somebody looked, and it is there or not. INCOMPLETE: not every object of the class is marked.
# EXCLUDED: the class does not count in this image.
PRESENT, ABSENT, INCOMPLETE, EXCLUDED = 0, 1, 2, 3
KINDS = ("present", "absent", "incomplete", "excluded")


@record(eq=False)
class Verdicts:
    """Statements about a class in an image, a row each; positions as in the tables of the annotations they belong to.

    >>> said = Verdicts(np.array([0, 0]), np.array([1, 2]), np.array([PRESENT, ABSENT]))
    >>> said.cells(3, ABSENT)
    array([2])
    """

    image: NDArray[np.int32]
    label: NDArray[np.int32]
    kind: NDArray[np.uint8]

    def __post_init__(self) -> None:
        from verite.model.freeze import freeze

        for name, dtype in (("image", np.int32), ("label", np.int32), ("kind", np.uint8)):
            object.__setattr__(self, name, freeze(getattr(self, name), dtype))
        if not len(self.image) == len(self.label) == len(self.kind):
            lengths = f"{len(self.image)}, {len(self.label)} and {len(self.kind)}"
            raise BadParameter(f"verdicts: expected columns of the same length, found {lengths}")

    @staticmethod
    def of(rows: Iterable[tuple[int, int, int]]) -> Verdicts:
        """From (image, label, kind)."""
        table = np.array(list(rows), dtype=np.int64).reshape(-1, 3)
        return Verdicts(*(table[:, i] for i in range(3)))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.kind)

    def cells(self, labels: int, *kinds: int) -> NDArray[np.int64]:
        """image × labels + label of the statements of these kinds, each once, rising."""
        rows = np.isin(self.kind, kinds)
        return np.unique(self.image[rows].astype(np.int64) * labels + self.label[rows])

    def move(self, image: ArrayLike, label: ArrayLike) -> Verdicts:
        """With new positions of images and labels; those that get -1 are left out."""
        images, labels = np.asarray(image)[self.image], np.asarray(label)[self.label]
        kept = (images >= 0) & (labels >= 0)
        return Verdicts(images[kept], labels[kept], self.kind[kept])


def is_in(cells: NDArray[np.int64], image: NDArray[Any], label: NDArray[Any], labels: int) -> NDArray[np.bool_]:
    """Which objects are in one of these cells, given as by :meth:`Verdicts.cells`."""
    mine = image.astype(np.int64) * labels + label
    if not len(cells):
        return np.zeros(len(mine), dtype=np.bool_)
    span = int(max(cells[-1], mine.max(initial=0))) + 1
    if is_dense(span, len(mine)):
        table = np.zeros(span, dtype=np.bool_)
        table[cells] = True
        return np.asarray(table[mine])
    at = np.minimum(np.searchsorted(cells, mine), len(cells) - 1)
    return np.asarray(cells[at] == mine)
