"""Ids of images and classes: which are there, and where in a table each is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from verite import _core
from verite.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ids: TypeAlias = "NDArray[np.int64]"
Positions: TypeAlias = "NDArray[np.int32]"  # -1: not in the table

# A direct look-up table is used as long as it is not much longer than what is looked up.
SPREAD = 16
SMALL = 1 << 20


def positions_in(table: Ids, ids: Ids) -> Positions:
    """The position of each id in a table of distinct ids; -1 where it is not there.

    >>> positions_in(np.array([7, 3]), np.array([3, 7, 5]))
    array([ 1,  0, -1], dtype=int32)
    """
    return _core.find_positions(ids, table)[0]


def is_dense(span: int, count: int) -> bool:
    return span < max(SMALL, SPREAD * count)
