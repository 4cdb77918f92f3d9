"""Divisions that know what to say where there is nothing to divide by."""

from __future__ import annotations

import numpy as np

from verite.pairs import Array

# How a metric that is printed as a similarity is offered both ways.
DISTANCE = "0 is perfect"


def ratio(part: Array, whole: Array, otherwise: float = 0.0) -> Array:
    """part / whole, and `otherwise` where whole is 0.

    >>> ratio(np.array([1.0, 2.0]), np.array([2.0, 0.0]))
    array([0.5, 0. ])
    """
    shape = np.broadcast_shapes(np.shape(part), np.shape(whole))
    return np.divide(part, whole, out=np.full(shape, otherwise), where=np.asarray(whole) != 0)


def turn(distance: Array, variant: str) -> Array:
    """A distance as it is, or as the similarity 1 - distance."""
    return 1 - distance if variant == "similarity" else distance
