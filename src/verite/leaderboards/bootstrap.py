"""How much would a score differ on other images? As many as there are, drawn with replacement, for all systems alike.

An image that is drawn twice counts twice: keeping each once is another, narrower question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from verite.errors import BadParameter, DataError, NotComparable
from verite.model.comparison import Difference
from verite.progress import begin
from verite.statistics.intervals import check_level, percentile_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.evaluation.evaluation import Evaluation
    from verite.model.annotations import Annotations
    from verite.model.images import Images
    from verite.model.results import Results

    Floats = NDArray[np.float64]


DRAWS = 1000

SEED = 0

BLOCK = 50  # draws whose weights are held at a time

IMAGES = 0  # streams of random numbers: one for each thing that is drawn


class Redrawable(Protocol):
    """Results whose images can be drawn again: those of protocols that keep their evaluation."""

    @property
    def evaluation(self) -> Evaluation: ...

    @property
    def truth(self) -> Annotations: ...

    def mean_query(self, score: str, label: str | None = None) -> tuple[Any, ...]:
        """What a score, of all classes or of one, is made of."""


def generator(seed: int, draw: int, stream: int) -> np.random.Generator:
    """The random numbers of one draw: the same whatever is drawn before, after or beside it."""
    return np.random.Generator(np.random.Philox(key=[seed, stream], counter=[0, 0, 0, draw]))


def draw_images(images: Images, draws: int = DRAWS, seed: int = SEED, *, groups: Any = None, first: int = 0) -> Floats:
    """How often each image is there in each draw, [draw, image]; with a group for each image, groups are drawn.

    The order of images in the file changes nothing.
    """
    names = [images.name(i) for i in range(len(images))]
    if groups is None:
        order = sorted(range(len(names)), key=names.__getitem__)
        unit = np.empty(len(names), dtype=np.int64)
        unit[order] = np.arange(len(names))
        units = len(names)
    else:
        found, unit = np.unique(np.asarray(groups).astype(np.str_), return_inverse=True)
        if len(unit) != len(names):
            raise DataError(f"resample: expected a group for each of {len(names)} images, found {len(unit)}")
        units = len(found)
    weights = np.empty((draws, len(names)))
    for i in range(draws):
        taken = generator(seed, first + i, IMAGES).integers(0, units, units)
        weights[i] = np.bincount(taken, minlength=units)[unit]
    return weights


def redraw(
    results: Sequence[Results],
    scores: Sequence[str],
    *,
    label: str | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
    groups: Any = None,
) -> Floats:
    """Scores on drawn images, [draw, system, score]: of all classes, or of one. All systems get the same images."""
    images = results[0].truth.images
    for other in results[1:]:
        check_images(images, other.truth.images)
    found = np.empty((draws, len(results), len(scores)))
    with begin("drawing", draws * len(results), "evaluations") as advance:
        for first in range(0, draws, BLOCK):
            last = min(first + BLOCK, draws)
            weights = draw_images(images, last - first, seed, groups=groups, first=first)
            for i, one in enumerate(results):
                found[first:last, i] = one.draw_scores(scores, weights, label)
                advance(last - first)
    return found


def check_images(images: Images, others: Images) -> None:
    """All systems are drawn the same images, so that they must have the same ones in the same order."""
    if images is others:
        return
    mine, theirs = ([each.name(i) for i in range(len(each))] for each in (images, others))
    if mine != theirs:
        missing = next(iter(set(mine) ^ set(theirs)), "another order")
        raise NotComparable(f"resample: expected the same images, found {len(mine)} and {len(theirs)} ({missing!r})")


def find_differences(
    results: Sequence[Results], names: Sequence[str], level: float = 0.95, **how: Any
) -> list[Difference]:
    """Each system against the first, by every score, with intervals over the choice of images."""
    scores = [score for score, found in results[0].scores.items() if found.value == found.value]
    if not scores:
        return []  # without truths there is nothing to differ in
    drawn = redraw(results, scores, **how)
    differences = []
    for i in range(1, len(results)):
        for k, score in enumerate(scores):
            value = results[i].scores[score].value - results[0].scores[score].value
            interval = percentile_interval(drawn[:, i, k] - drawn[:, 0, k], level)
            differences.append(Difference(names[0], names[i], score, value, *interval))
    return differences


def check_redrawable(results: Results) -> Redrawable:
    if not hasattr(results, "mean_query"):
        raise BadParameter(
            "resample: expected results whose images can be drawn again, as coco's, voc's and lvis's can, "
            f"found {results.protocol}"
        )
    found: Redrawable = results  # type: ignore[assignment]
    return found


def paired_interval(
    base: Results, new: Results, score: str, label: str | None = None, sure: float = 0.95, **how: Any
) -> tuple[float, float]:
    """Between which two numbers `new - base` lies with this probability, over the choice of images.

    The percentile bootstrap: both systems on the same drawn images. `how` is what :func:`redraw` takes.
    """
    check_level(sure, "sure")
    drawn = redraw([base, new], [score], label=label, **how)[:, :, 0]
    return percentile_interval(drawn[:, 1] - drawn[:, 0], sure)
