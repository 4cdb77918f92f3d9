"""Confidence intervals around a score by half-samples: formulas by hand, refusals, results of every protocol."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import verite as vt
from tests.leaderboards.datasets import make_detector, make_truth
from verite.statistics.half_samples import check_enough_images, half_sample_interval
from verite.statistics.resampling import SampledUnits

HALVES = np.array([0.40, 0.42, 0.44])  # mean 0.42, standard deviation 0.02


def test_for_this_size_the_interval_is_around_the_score() -> None:
    found = half_sample_interval("AP", 0.4, HALVES, 10**6)
    assert (found.value, found.low, found.high) == pytest.approx((0.4, 0.4 - 1.959964 * 0.02, 0.4 + 1.959964 * 0.02))
    assert (found.images, found.level) == (10**6, 0.95)


@pytest.mark.parametrize(
    ("images", "factor", "share"),
    [("all", 1.0, 1.0), (4 * 10**6, 0.5, 0.75), (10**6, 0.0, 1.0), (250_000, -1.0, 3.0)],
)
def test_for_other_sizes_the_bias_is_taken_off(images: int | str, factor: float, share: float) -> None:
    """From n/2 to n images the bias falls by 0.02; f = (1 - sqrt(n / N)) / (sqrt(2) - 1).

    The variance is s² |1 - n / N|, since these images are part of the N, and that of a bias with a standard deviation
    of 0.4 of it; for as many images as there are the interval is that of the mean over test sets of this size.
    """
    found = half_sample_interval("AP", 0.4, HALVES, 10**6, images=images)
    bias = factor / (sqrt(2) - 1) * 0.02
    assert found.value == pytest.approx(0.4 - bias)
    assert found.high - found.value == pytest.approx(1.959964 * sqrt(share * 0.02**2 + (0.4 * bias) ** 2), rel=1e-5)


def test_groups_have_students_t() -> None:
    """t with 9 degrees of freedom: 2.262157."""
    found = half_sample_interval("AP", 0.4, HALVES, 500, units=10)
    assert found.high - 0.4 == pytest.approx(2.262157 * 0.02, rel=1e-6)


def test_groups_of_unequal_size_count_as_fewer() -> None:
    """Kish: (8 + 4 + 2 + 1 + 1)² / (64 + 16 + 4 + 1 + 1) = 256 / 86 = 2.98."""
    groups = [name for name, count in zip("abcde", (8, 4, 2, 1, 1), strict=True) for _ in range(count)]
    assert SampledUnits.of([str(i) for i in range(16)], groups).effective == 2
    assert SampledUnits.of([str(i) for i in range(16)]).effective == 16
    assert SampledUnits.of([str(i) for i in range(16)], [i % 8 for i in range(16)]).effective == 8


@pytest.mark.parametrize("images", [0, -3, 2.5, True, "many", [1]])
def test_a_wrong_number_of_images_is_refused(images: object) -> None:
    with pytest.raises(vt.VeriteError, match="images: expected a number of images or 'all'"):
        half_sample_interval("AP", 0.4, HALVES, 500, images=images)  # type: ignore[arg-type]


def test_few_images_and_mostly_rare_classes_are_refused() -> None:
    with pytest.raises(vt.DataError, match="at least 100 images, found 99"):
        check_enough_images(99, [50])
    with pytest.raises(vt.DataError, match="found 2 of 3 classes in fewer"):
        check_enough_images(100, [7, 7, 8, 0])
    check_enough_images(100, [7, 8])


def dataset(images: int = 150) -> tuple[vt.Annotations, vt.Annotations]:
    document = make_truth(3, images=images)
    truth = vt.read(document)
    return truth, vt.read(make_detector(document, 1), like=truth)


def test_the_interval_of_results_is_that_of_200_evaluated_halves() -> None:
    truth, pred = dataset()
    results = vt.coco(truth, pred, checks="off")
    units = SampledUnits.of([truth.images.name(i) for i in range(len(truth.images))])
    halves = units.half_samples(200)
    assert (halves.sum(axis=1) == 75).all()
    scores = []
    for row in halves[:3]:
        kept = np.flatnonzero(row)
        sides = [one.take(np.flatnonzero(np.isin(one.image, kept))) for one in (truth, pred)]
        scores.append(vt.coco(*sides, checks="off")["AP"].value)
    assert results.draw_scores(["AP"], halves[:3])[:, 0] == pytest.approx(scores, abs=1e-12)
    every = results.draw_scores(["AP"], halves)[:, 0]
    found = results.interval("AP")
    assert found.deviation == pytest.approx(every.std(ddof=1), abs=1e-12)
    assert found.value == results["AP"].value


def test_the_number_of_threads_changes_no_byte() -> None:
    truth, pred = dataset()
    one, four = (vt.coco(truth, pred, threads=threads, checks="off").interval("AP", images="all") for threads in (1, 4))
    assert one == four


def test_an_interval_says_what_it_is_for() -> None:
    """AP .4 on 500 images, .42 on halves of them: .0483 higher than on infinitely many, .02 / (√2 − 1)."""
    halves = np.array([0.40, 0.42, 0.44])
    here, more, many = (half_sample_interval("AP", 0.4, halves, 500, images=n) for n in (None, 2000, "all"))
    assert str(here) == (
        f"AP 0.4000 [{here.low:.4f}, {here.high:.4f}], 95 % confidence interval of the mean over test sets of 500 "
        "images; on more images AP is lower, by up to about 0.0483"
    )
    assert str(more).startswith("AP on 2,000 images 0.3759 [")
    assert str(more).endswith("], 95 % confidence interval, from 0.4000 on 500 images")
    assert str(many).startswith("AP on infinitely many images 0.3517 [")
    flat = half_sample_interval("AP", 0.4, np.array([0.38, 0.42]), 500)
    assert str(flat).endswith("over test sets of 500 images")


def test_an_interval_of_groups_and_one_of_an_unknown_score() -> None:
    truth, pred = dataset()
    results = vt.coco(truth, pred, checks="off")
    grouped = results.interval("AP", groups=[i % 10 for i in range(150)])
    assert grouped.high - grouped.value > 0
    assert str(grouped).endswith("; warning: 10 groups of images: with fewer than 30, intervals are approximate")
    with pytest.raises(vt.UnknownMetric):
        results.interval("mAP")
    with pytest.raises(vt.VeriteError, match="at least 5 groups"):
        results.interval("AP", groups=[i % 4 for i in range(150)])
    with pytest.raises(vt.VeriteError, match="a probability between 0 and 1"):
        results.interval("AP", level=1.5)


@pytest.mark.parametrize("protocol", [vt.coco, vt.voc, vt.f1])
def test_protocols_of_boxes_have_intervals(protocol: object) -> None:
    truth, pred = dataset()
    results = protocol(truth, pred, checks="off")  # type: ignore[operator]
    found = results.interval(next(iter(results)))
    assert found.low < found.value < found.high
