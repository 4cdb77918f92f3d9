"""How sure is a difference? Both systems on the same images, drawn again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verite.errors import BadParameter
from verite.protocols.coco import CocoResults

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.evaluation.evaluation import Numbers
    from verite.model.results import Results

DRAWS = 1000
SEED = 0


def paired_interval(base: Results, new: Results, score: str, label: str | None, sure: float) -> tuple[float, float]:
    """Between which two numbers `new - base` lies with this probability, over the choice of images.

    The percentile bootstrap: as many images as there are, drawn with replacement, the same for both systems.
    """
    if not 0 < sure < 1:
        raise BadParameter(f"sure: expected a probability between 0 and 1, such as 0.95, found {sure:g}")
    pair = []
    for results in (base, new):
        if not isinstance(results, CocoResults):
            raise BadParameter(
                "sure: expected results whose images can be drawn again, as coco's and lvis's can, "
                f"found {results.protocol}"
            )
        pair.append(results)
    weights = draw_images(len(base.truth.images))
    one, two = (draw_values(results, weights, score, label) for results in pair)
    difference = two - one
    present = difference[~np.isnan(difference)]
    if not len(present):
        return float("nan"), float("nan")
    low, high = np.quantile(present, [(1 - sure) / 2, (1 + sure) / 2])
    return float(low), float(high)


def draw_images(count: int) -> NDArray[np.float64]:
    """How often each image is there in each draw."""
    shares = np.full(count, 1 / count)
    return np.random.default_rng(SEED).multinomial(count, shares, size=DRAWS).astype(np.float64)


def draw_values(
    results: CocoResults, weights: NDArray[np.float64], score: str, label: str | None
) -> NDArray[np.float64]:
    """The score in each draw."""
    evaluation = results.evaluation
    if label is None:
        return evaluation.draw_means([results.parts[results[score].name]], weights)[:, 0]
    return np.array([value_of(results, evaluation.weighted(row), score, label) for row in weights])


def value_of(results: CocoResults, numbers: Numbers, score: str, label: str | None) -> float:
    """A score of all classes, or of one, from other numbers of the same evaluation."""
    part = results.parts[results[score].name]
    if label is None:
        return numbers.mean(*part)
    return numbers.class_means(*part)[results.class_names.index(label)]
