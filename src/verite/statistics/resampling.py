"""Resampling of images or groups of images: bootstrap (with replacement) and half-samples (half of them, once each).

A resample is a row of weights, how often each image occurs in it. Every resample has random numbers of its own, so that
it is the same whatever is drawn before, after or beside it, and whatever the order of images in a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter, DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MIN_GROUPS = 5  # fewer say next to nothing about further groups
ENOUGH_GROUPS = 30  # with fewer, intervals by Student's t are approximate
BOOTSTRAP_STREAM, HALF_STREAM = 0, 10  # of random numbers; the simulation of annotation errors has those between


def generator(seed: int, sample: int, stream: int) -> np.random.Generator:
    """Return the random numbers of one sample: the same whatever is sampled before, after or beside it."""
    return np.random.Generator(np.random.Philox(key=[seed, stream], counter=[0, 0, 0, sample]))


def effective_number(sizes: NDArray[Any]) -> int:
    """Return Kish's effective number of groups of these sizes, rounded down; at least 2, at most the number of groups.

    >>> effective_number(np.array([5, 5, 5, 5])), effective_number(np.array([14, 2, 2, 2]))
    (4, 2)
    """
    total = float(sizes.sum())
    found = int(total**2 / float((sizes.astype(np.float64) ** 2).sum()) + 1e-9) if total else 0
    return min(max(found, 2), max(len(sizes), 2))


def warn_of_few(count: int | None, what: str = "groups of images", approximate: str = "intervals") -> list[str]:
    """Return a warning where fewer than 30 groups are resampled, none otherwise; None: no groups are.

    >>> warn_of_few(10), warn_of_few(30), warn_of_few(None)
    (['warning: 10 groups of images: with fewer than 30, intervals are approximate'], [], [])
    """
    if count is None or count >= ENOUGH_GROUPS:
        return []
    return [f"warning: {count} {what}: with fewer than {ENOUGH_GROUPS}, {approximate} are approximate"]


@dataclass(frozen=True, eq=False)
class SampledUnits:
    """Images, or groups of images, that are resampled as wholes.

    Parameters
    ----------
    of_image
        The unit of each image.
    count
        The number of units.
    """

    of_image: NDArray[np.int64]
    count: int

    @classmethod
    def of(cls, names: Sequence[str], groups: Any = None) -> SampledUnits:
        """Return single images, numbered by their names, or the groups of images.

        Parameters
        ----------
        names
            The name of each image.
        groups
            One group per image, for a cluster bootstrap.

        Raises
        ------
        DataError
            There is not one group for each image.
        BadParameter
            There are fewer than five groups.
        """
        if groups is None:
            order = sorted(range(len(names)), key=names.__getitem__)
            unit = np.empty(len(names), dtype=np.int64)
            unit[order] = np.arange(len(names))
            return cls(unit, len(names))
        found, unit = np.unique(np.asarray(groups).astype(np.str_), return_inverse=True)
        if len(unit) != len(names):
            raise DataError(f"resample: expected a group for each of {len(names)} images, found {len(unit)}")
        if len(found) < MIN_GROUPS:
            raise BadParameter(
                f"resample: expected at least {MIN_GROUPS} groups of images, found {len(found)}: so few say next to "
                "nothing about other groups"
            )
        return cls(unit, len(found))

    @property
    def effective(self) -> int:
        """Kish's effective number of units, n² / Σ nᵤ² with nᵤ images in unit u, rounded down: for Student's t.

        Groups of unequal size tell less than as many equal ones; with groups of 1, 1 and 8 images almost everything
        hangs on one of them. At least 2.
        """
        return effective_number(np.bincount(self.of_image, minlength=self.count))

    def bootstrap(self, resamples: int, seed: int = 0, first: int = 0) -> Floats:
        """Return how often each image occurs in each bootstrap resample, [resample, image].

        Parameters
        ----------
        resamples
            Number of resamples.
        seed
            Seed of all resamples; resample i depends on seed and i alone, so that parallel runs agree.
        first
            Number of the first resample, for a run that continues another.

        Returns
        -------
        Floats
            Weights; images of one unit (a patient, a video) always occur together.
        """
        weights = np.empty((resamples, len(self.of_image)))
        for i in range(resamples):
            drawn = generator(seed, first + i, BOOTSTRAP_STREAM).integers(0, self.count, self.count)
            weights[i] = np.bincount(drawn, minlength=self.count)[self.of_image]
        return weights

    def half_samples(self, samples: int, seed: int = 0) -> Floats:
        """Return which images are in each random half of the units, drawn without replacement, [sample, image].

        Parameters
        ----------
        samples
            Number of half samples.
        seed
            Seed; sample i depends on seed and i alone.

        Returns
        -------
        Floats
            1 for images in the half, 0 for the others; images of one unit stay together.
        """
        weights = np.empty((samples, len(self.of_image)))
        for i in range(samples):
            is_in = np.zeros(self.count)
            is_in[generator(seed, i, HALF_STREAM).permutation(self.count)[: self.count // 2]] = 1.0
            weights[i] = is_in[self.of_image]
        return weights
