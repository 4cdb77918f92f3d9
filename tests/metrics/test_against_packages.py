"""The same numbers as packages that know nothing of us: scipy, scikit-image, MedPy, surface-distance.

No package on PyPI was found that computes Pratt's figure of merit or the consistency errors as their authors define
them: scipy's exact distance transform and scikit-image's contingency tables stand in.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial.distance import directed_hausdorff

import verite as vt
from tests.random_masks import random_pairs

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # these packages warn of their own age
    surface_distance = pytest.importorskip("surface_distance", reason="surface-distance is in the group 'peers'")
    medpy = pytest.importorskip("medpy.metric.binary", reason="MedPy is in the group 'peers'")
    skimage = pytest.importorskip("skimage.metrics", reason="scikit-image is in the group 'peers'")

Mask = NDArray[np.bool_]
PAIRS = random_pairs(seed=6, count=500, most=60)
SMALL = PAIRS[:120]


def contour(mask: Mask) -> Mask:
    return mask & ~ndimage.binary_erosion(mask)


def values(name: str, pairs: list[tuple[Mask, Mask]] = PAIRS) -> NDArray[np.float64]:
    return vt.metric(name).batch([t for t, _ in pairs], [p for _, p in pairs])


def check(name: str, expected: list[float], pairs: list[tuple[Mask, Mask]] = PAIRS) -> None:
    np.testing.assert_allclose(values(name, pairs), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.thorough
def test_directed_distances_equal_scipys_distance_transform() -> None:
    pairs = vt.Pairs.of([t for t, _ in PAIRS], [p for _, p in PAIRS])
    for directed, sides in ((pairs.to_truth, PAIRS), (pairs.to_pred, [(p, t) for t, p in PAIRS])):
        for i, (to, of) in enumerate(sides):
            # argwhere over the transpose goes column by column, as the core lists contour pixels
            distance = ndimage.distance_transform_edt(~contour(to)).T[contour(of).T]
            start, end = directed.offsets[i], directed.offsets[i + 1]
            np.testing.assert_allclose(directed.distances[start:end], distance, rtol=1e-12)


def test_added_pixels_lie_as_far_away_as_scipys_distance_transform_says() -> None:
    expected = [
        100 / t.size * np.sqrt((ndimage.distance_transform_edt(~t)[p & ~t] ** 2).sum()) if t.any() else 0
        for t, p in PAIRS
    ]
    check("yasnoff3", expected)


def test_figure_of_merit_from_scipys_distance_transform() -> None:
    expected = []
    for t, p in PAIRS:
        distance = ndimage.distance_transform_edt(~contour(t))[contour(p)]
        expected.append((1 / (1 + distance**2 / 9)).sum() / max(contour(t).sum(), contour(p).sum()))
    check("fom(variant=similarity)", expected)


def test_baddeley_from_scipys_distance_transform() -> None:
    expected = []
    for t, p in PAIRS:
        a, b = (ndimage.distance_transform_edt(~contour(m)) for m in (t, p))
        expected.append(np.sqrt(((a - b) ** 2).mean()))
    check("baddeley", expected)


def test_hausdorff_equals_scipys_and_scikit_images() -> None:
    expected = []
    for t, p in PAIRS:
        a, b = np.argwhere(contour(t)), np.argwhere(contour(p))
        expected.append(max(directed_hausdorff(a, b)[0], directed_hausdorff(b, a)[0]))
    check("hausdorff", expected)
    check("hausdorff", [skimage.hausdorff_distance(contour(t), contour(p)) for t, p in SMALL], SMALL)


def test_hausdorff_and_its_pooled_quantile_equal_medpys() -> None:
    check("hausdorff", [medpy.hd(p, t) for t, p in PAIRS])
    check("hd95(variant=pooled)", [medpy.hd95(p, t) for t, p in PAIRS])


def test_hausdorff_quantile_equals_monais_way_of_computing_it() -> None:
    """MONAI (monai.metrics.hausdorff_distance): the larger of the two percentiles of distance transforms at edges."""
    expected = []
    for t, p in PAIRS:
        forward = ndimage.distance_transform_edt(~contour(t))[contour(p)]
        backward = ndimage.distance_transform_edt(~contour(p))[contour(t)]
        expected.append(max(np.percentile(forward, 95), np.percentile(backward, 95)))
    check("hd95", expected)


@pytest.mark.thorough
def test_surface_distances_equal_medpys() -> None:
    check("mean_distance", [medpy.asd(p, t) for t, p in PAIRS])
    check("average_surface_distance", [medpy.assd(p, t) for t, p in PAIRS])
    both = [(medpy.asd(p, t) + medpy.asd(t, p)) / 2 for t, p in PAIRS]
    check("average_surface_distance(variant=mean)", both)


@pytest.mark.thorough
def test_overlaps_equal_medpys_and_surface_distances() -> None:
    check("dice", [medpy.dc(p, t) for t, p in PAIRS])
    check("dice", [surface_distance.compute_dice_coefficient(t, p) for t, p in PAIRS])
    check("iou", [medpy.jc(p, t) for t, p in PAIRS])
    check("pixel_precision(variant=similarity)", [medpy.precision(p, t) for t, p in PAIRS])
    check("pixel_recall(variant=similarity)", [medpy.recall(p, t) for t, p in PAIRS])


def test_consistency_errors_follow_from_scikit_images_contingency_table() -> None:
    rng = np.random.default_rng(7)
    gce, lce = [], []
    images = [rng.integers(0, 4, size=(2, *rng.integers(3, 30, size=2))) for _ in range(500)]
    for truth, pred in images:
        truth[0, 0] = pred[0, 0] = 3
        table = skimage.contingency_table(truth, pred).toarray()
        rows, columns = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
        forward, backward = ((s - table) / np.maximum(s, 1) for s in (rows, columns))
        gce.append(min((table * forward).sum(), (table * backward).sum()) / truth.size)
        lce.append((table * np.minimum(forward, backward)).sum() / truth.size)
    for name, expected in (("gce", gce), ("lce", lce)):
        found = [vt.metric(name)(truth, pred) for truth, pred in images]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_pixel_of_the_wrong_region_costs_less_than_taha_and_hanbury_say() -> None:
    """Their closed form (in EvaluateSegmentation and pymia) takes the whole region of such a pixel for wrong.

    One pixel each, side by side, of four: true positives 0, false negatives 1, false positives 1, true negatives 2.
    """
    theirs = (1 * (1 + 2 * 0) / 1 + 1 * (1 + 2 * 2) / 3) / 4
    martins = (0 + 2 * (1 * 2) / 3) / 4
    truth, pred = np.array([[1, 0, 0, 0]], dtype=bool), np.array([[0, 1, 0, 0]], dtype=bool)
    assert vt.metric("gce")(truth, pred) == pytest.approx(martins)
    assert theirs == pytest.approx(martins + (1 / 1 + 1 / 3) / 4)


def test_boundary_iou_equals_repeated_erosion() -> None:
    """The authors erode with a 3 × 3 square as often as the rim is wide, with background around the image."""
    rim = 0.1
    expected = []
    for t, p in PAIRS:
        times = max(1, int(np.round(rim * np.hypot(*t.shape))))
        a, b = (m & ~ndimage.binary_erosion(m, np.ones((3, 3)), iterations=times) for m in (t, p))
        expected.append((a & b).sum() / (a | b).sum())
    check(f"boundary_iou(rim={rim})", expected)


@pytest.mark.parametrize("tolerance", [0, 1, 2.5])
def test_normalised_surface_dice_counts_edge_pixels_within_the_tolerance(tolerance: float) -> None:
    expected = []
    for t, p in PAIRS:
        forward = ndimage.distance_transform_edt(~contour(t))[contour(p)]
        backward = ndimage.distance_transform_edt(~contour(p))[contour(t)]
        expected.append(((forward <= tolerance).sum() + (backward <= tolerance).sum()) / (len(forward) + len(backward)))
    check(f"nsd(tolerance={tolerance})", expected)
