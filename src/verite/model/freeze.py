"""Arrays that nobody can write to: shared where that is so already, else copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verite.arrays import np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def freeze(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """A contiguous array of that type that nobody can write to, not even by another name.

    >>> mine = np.zeros(2)
    >>> kept = freeze(mine, np.float64)
    >>> mine[0] = 7
    >>> kept.tolist(), np.shares_memory(freeze(kept, np.float64), kept)
    ([0.0, 0.0], True)
    """
    array = np.ascontiguousarray(values, dtype=dtype)
    if array is not values and array.base is None:  # made here
        array.flags.writeable = False
    elif not is_final(array):
        array = array.copy()
        array.flags.writeable = False
    return array


def is_final(array: object) -> bool:
    """Can nobody write to it, nor to what it looks at?"""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return True
