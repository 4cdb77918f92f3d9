"""What is known of pairs of volumes: voxels, surfaces, and the distances between these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError
from verite.model.ragged import offsets_of
from verite.model.shapes import Volume
from verite.pairs.store import Array, Lists, Rows, Store, sum_squared
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray


class VolumeStore(Store):
    """Pairs of volumes, of which anything but 0 is object."""

    spacing = None
    is_sized = True

    def __init__(self, truth: Sequence[Volume], pred: Sequence[Volume]) -> None:
        if len(truth) != len(pred):
            raise BadParameter(f"volumes: expected as many truths as preds, found {len(truth)} and {len(pred)}")
        for i, (mine, theirs) in enumerate(zip(truth, pred, strict=True)):
            if mine.values.shape != theirs.values.shape:
                raise DataError(
                    f"pair {i}: expected volumes of one shape, found {mine.values.shape} and {theirs.values.shape}"
                )
            if not np.allclose(mine.steps, theirs.steps, rtol=1e-4):
                raise DataError(f"pair {i}: expected volumes of one spacing, found {mine.steps} and {theirs.steps}")
        self.truth, self.pred, self.known = list(truth), list(pred), {}
        self.sizes = np.array([v.values.shape[1:] for v in truth], dtype=np.int32).reshape(-1, 2)

    def part(self, rows: Rows) -> Store:
        return VolumeStore([self.truth[i] for i in rows], [self.pred[i] for i in rows])

    @property
    def surfaces(self) -> list[Any]:
        """What the core says of each pair."""

        def compare() -> list[Any]:
            return [
                _core.volume_surfaces(as_bytes(mine), as_bytes(theirs), mine.steps, thread_count())
                for mine, theirs in zip(self.truth, self.pred, strict=True)
            ]

        return self.once("surfaces", compare)

    @property
    def placed(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """None: a volume without voxels has no place."""
        none = np.zeros(len(self), dtype=np.bool_)
        return none, none

    @property
    def boxes(self) -> tuple[Array, Array]:
        """None: volumes are measured whole."""
        none = np.zeros((len(self), 4))
        return none, none

    @property
    def diagonals(self) -> Array:
        return np.array([np.linalg.norm(np.multiply(v.values.shape, v.steps)) for v in self.truth])

    @property
    def areas(self) -> Array:
        return np.array([found[0] for found in self.surfaces], dtype=np.float64).reshape(-1, 3)

    @property
    def contours(self) -> Array:
        return np.array([found[1] for found in self.surfaces], dtype=np.float64).reshape(-1, 3)

    @property
    def lists(self) -> tuple[Lists, Lists]:
        there, back = (
            (
                np.concatenate([np.empty(0), *(found[side] for found in self.surfaces)]),
                offsets_of(np.array([len(found[side]) for found in self.surfaces], dtype=np.int64)),
            )
            for side in (2, 3)
        )
        return there, back

    def directed_sums(self, forward: bool) -> Array:
        return self.once(("sums", forward), lambda: sum_squared(*self.lists[0 if forward else 1]))


def as_bytes(volume: Volume) -> NDArray[np.uint8]:
    values = volume.values if volume.values.dtype == np.bool_ else volume.values != 0
    return np.ascontiguousarray(values).view(np.uint8)
