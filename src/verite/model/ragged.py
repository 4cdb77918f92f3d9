"""Rows of different lengths in one flat array, with offsets: row i is flat[offsets[i]:offsets[i + 1]]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from verite.arrays import np
from verite.errors import BadParameter, excerpt

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


Ints: TypeAlias = "NDArray[np.int64]"


def offsets_of(lengths: NDArray[np.integer]) -> Ints:
    """Offsets of rows with these lengths.

    >>> offsets_of(np.array([2, 0, 1]))
    array([0, 2, 2, 3])
    """
    out = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=out[1:])
    return out


def gather(offsets: Ints, rows: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Where the chosen rows' values lie in the flat array, and the offsets of the new one.

    >>> gather(np.array([0, 2, 2, 5]), np.array([2, 0]))
    (array([2, 3, 4, 0, 1]), array([0, 3, 5]))
    """
    lengths = (offsets[1:] - offsets[:-1])[rows]
    new = offsets_of(lengths)
    within = np.arange(new[-1], dtype=np.int64) - np.repeat(new[:-1], lengths)
    return np.repeat(offsets[:-1][rows], lengths) + within, new


def is_every(rows: NDArray[np.integer], count: int) -> bool:
    """Are these all rows, in their order? Then nothing need be copied.

    Parameters
    ----------
    rows
        Positions asked for.
    count
        Number of rows there are.

    Examples
    --------
    >>> is_every(np.array([0, 1, 2]), 3), is_every(np.array([0, 2, 1]), 3)
    (True, False)
    """
    return len(rows) == count and bool((np.asarray(rows) == np.arange(count)).all())


def freeze(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return a contiguous read-only array of that type, not writable through another view either.

    >>> mine = np.zeros(2)
    >>> kept = freeze(mine, np.float64)
    >>> mine[0] = 7
    >>> kept.tolist(), np.shares_memory(freeze(kept, np.float64), kept)
    ([0.0, 0.0], True)
    """
    array = np.ascontiguousarray(values, dtype=dtype)
    owner: Any = array
    while isinstance(owner, np.ndarray) and not owner.flags.writeable:
        owner = owner.base
    if array is not values and array.base is None:  # made here
        array.flags.writeable = False
    elif isinstance(owner, np.ndarray):  # the array, or one that it is a view of, can be written to
        array = array.copy()
        array.flags.writeable = False
    return array


def freeze_whole(values: ArrayLike, dtype: Any, what: str) -> NDArray[Any]:
    """The same of whole numbers, such as ids and sizes: 1.7 is none, and neither is NaN or what the type cannot hold.

    >>> freeze_whole([1.0, 2.0], "int64", "ids").tolist()
    [1, 2]
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iu" and array.size:
            number = array.astype(np.float64)
            if array.dtype.kind not in "fO" or not (number == np.rint(number)).all():
                raise ValueError
        return freeze(values, dtype)
    except (TypeError, ValueError, OverflowError):
        raise BadParameter(f"{what}: expected whole numbers, found {excerpt(values)}") from None
