"""Simulated ground truths: each equals the same ground truth written to a file and read."""

from __future__ import annotations

import json

import numpy as np
import pytest

import verite as vt
from tests.leaderboards.datasets import make_detector, make_truth
from verite.annotation_errors import Detection
from verite.leaderboards.candidates import CandidatePool, find_unmatched, order_boxes
from verite.leaderboards.leaderboard import LeaderboardSettings, LeaderboardSimulation
from verite.leaderboards.simulation import AnnotationErrorSimulation, displace_boxes, scale_probabilities

KINDS = {
    "spurious": Detection(spurious=0.2),
    "label": Detection(label=0.3),
    "missing": Detection(missing=0.4),
    "jitter": Detection(jitter=(0.5, 0.2)),
    "all": Detection(missing=0.2, spurious=0.1, label=0.2, jitter=(0.2, 0.1)),
}
SCORES = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100")


def read_detectors(folder, seed, *, masks=False, detectors=3):
    document = make_truth(seed, masks=masks)
    (folder / "truth.json").write_text(json.dumps(document))
    truth = vt.read(folder / "truth.json")
    preds = {}
    for i in range(detectors):
        (folder / f"d{i}.json").write_text(
            json.dumps(make_detector(document, 10 * seed + i, 0.8 - 0.1 * i, masks=masks))
        )
        preds[f"d{i}"] = vt.read(folder / f"d{i}.json", like=truth)
    return document, truth, preds


def write_out(document, changes, i, masks):
    """The i-th simulated ground truth as a COCO document, from its changes alone."""
    removed, added, labels, again = changes.draw(i)
    records = document["annotations"]
    kept = [record for row, record in enumerate(records) if row not in set(removed.tolist())]
    objects = changes.objects
    ids = {k: category["id"] for k, category in enumerate(document["categories"])}
    images = [image["id"] for image in document["images"]]
    new = []
    for row, label in zip(added.tolist(), labels.tolist(), strict=True):
        one = {"image_id": images[objects.image[row]], "category_id": ids[label], "iscrowd": 0,
               "bbox": objects.regions.sizes[row].tolist(), "area": float(objects.area[row])}  # fmt: skip
        if masks:
            rings = objects.regions.polygons[row] if objects.regions.polygons is not None else []
            if rings:
                one["segmentation"] = [ring.ravel().tolist() for ring in rings]
            else:
                counts = objects.regions.runs[row]
                one["segmentation"] = {"size": [200, 200], "counts": counts.tolist()}
                one["area"] = float(counts[1::2].sum())
        new.append(one)
    for row in again.tolist():
        copy = {**records[row], "bbox": [-1e6, -1e6, 1, 1]}
        if masks:
            copy["segmentation"] = [[190.0, 0.0, 191.0, 0.0, 191.0, 1.0, 190.0, 1.0]]
        new.append(copy)
    listed = [{**record, "id": n + 1} for n, record in enumerate([*kept, *new])]
    return {**document, "annotations": listed}


CASES = [*((kind, False) for kind in KINDS), *((kind, True) for kind in ("spurious", "label", "missing"))]


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "masks"), CASES)
def test_a_simulated_ground_truth_equals_the_same_one_written_and_read(tmp_path, kind, masks):
    compared = 0
    on = "mask" if masks else "box"
    for seed in range(8):
        document, truth, preds = read_detectors(tmp_path, seed, masks=masks)
        results = [vt.coco(truth, pred, on=on, checks="off") for pred in preds.values()]
        simulation = LeaderboardSimulation(
            tuple(preds), results, ["AP"], KINDS[kind], None, LeaderboardSettings(on=on, seed=seed)
        )
        count = 25 if not masks else 6
        changes = simulation.ground_truths.changes(0, count)
        parts = [[one.mean_query(score) for score in SCORES] for one in results]
        drawn = [
            one.evaluation.bootstrap_means(asked, None, changes) for one, asked in zip(results, parts, strict=True)
        ]
        for i in range(count):
            path = tmp_path / "drawn.json"
            path.write_text(json.dumps(write_out(document, changes, i, masks)))
            other = vt.read(path)
            which = i % len(results)
            pred = vt.read(tmp_path / f"d{which}.json", like=other)
            expected = vt.coco(other, pred, on=on, checks="off")
            values = [expected[score].value for score in SCORES]
            assert np.allclose(drawn[which][i], values, rtol=0, atol=1e-15, equal_nan=True), (seed, i)
            compared += 1
    assert compared == 8 * count


def test_rates_of_zero_change_nothing(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 3)
    result = vt.coco(truth, preds["d0"], checks="off")
    simulation = AnnotationErrorSimulation(truth, result.evaluation.outcomes().is_asked, Detection(), 0)
    drawn = result.evaluation.bootstrap_means([result.mean_query("AP")], None, simulation.changes(0, 5))
    assert np.abs(drawn - result["AP"].value).max() <= 1e-15


def pool_boxes(truth, preds) -> CandidatePool:
    return find_unmatched(truth, preds).pool(range(len(preds)))


@pytest.mark.parametrize("count", [0, 1, 2, 400])
def test_boxes_are_ordered_by_class_confidence_and_where_these_tie_by_place(count):
    rng = np.random.default_rng(count)
    key, confidence, boxes = (
        rng.integers(0, 9, count),
        rng.integers(0, 4, count) / 4,
        rng.integers(0, 3, (count, 4)) / 1.0,
    )
    wanted = sorted(range(count), key=lambda i: (key[i], -confidence[i], *boxes[i]))
    assert order_boxes(key, confidence, boxes).tolist() == wanted


def test_a_pool_without_one_detector_is_the_pool_of_the_others(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 5)
    one, two, three = preds.values()
    boxes = find_unmatched(truth, [one, two, three])
    for members, alone in (([1, 2], [two, three]), ([0, 2], [one, three]), ([0, 1], [one, two]), ([1], [two])):
        found, wanted = boxes.pool(members), pool_boxes(truth, alone)
        assert len(found) > 5
        for name in ("image", "label", "boxes", "weight", "found"):
            assert getattr(found, name).tobytes() == getattr(wanted, name).tobytes()


def test_as_many_annotations_are_wrong_as_the_rates_say(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 1)
    asked = ~truth.crowd
    pool = pool_boxes(truth, list(preds.values())).sorted(truth)
    errors = Detection(missing=0.3, spurious=0.1, label=0.2, jitter=(0.25, 0.1))
    changes = AnnotationErrorSimulation(truth, asked, errors, 0, pool=pool).changes(0, 600)
    count, draws = asked.sum(), 600
    gone = sum(len(changes.draw(i)[0]) for i in range(draws)) / draws / count
    # no object .1, of the others another class .2, of the rest moved .25
    assert gone == pytest.approx(0.1 + 0.9 * (0.2 + 0.8 * 0.25), abs=0.02)
    new = sum(len(changes.draw(i)[1]) + len(changes.draw(i)[3]) for i in range(draws)) / draws / count
    assert new == pytest.approx(0.9 * (0.2 + 0.8 * 0.25) + 0.3, abs=0.02)
    detectable = sum((changes.draw(i)[1] >= len(truth)).sum() for i in range(draws))
    assert detectable > 0


def test_without_candidates_missing_objects_are_detected_by_none(tmp_path):
    _, truth, _ = read_detectors(tmp_path, 1)
    changes = AnnotationErrorSimulation(truth, ~truth.crowd, Detection(missing=0.3), 0).changes(0, 400)
    assert not len(changes.added)
    assert len(changes.again) / 400 == pytest.approx(0.3 * (~truth.crowd).sum(), rel=0.05)


def test_errors_within_a_group_are_correlated(tmp_path):
    _, truth, _ = read_detectors(tmp_path, 1)
    asked = ~truth.crowd
    own = Detection(spurious=0.2)
    alone, shared = (
        [len(AnnotationErrorSimulation(truth, asked, errors, 0).sample(i)[0]) for i in range(500)]
        for errors in (own, Detection(spurious=0.2, shared="label", correlation=0.3))
    )
    assert np.mean(shared) == pytest.approx(np.mean(alone), rel=0.1)
    # Three classes of about a third each: the variance grows by 1 + (n / 3 - 1) 0.3 with n records.
    factor = 1 + (asked.sum() / 3 - 1) * 0.3
    assert np.var(shared) / np.var(alone) == pytest.approx(factor, rel=0.3)


def test_a_rate_from_an_audit_is_uncertain(tmp_path):
    _, truth, _ = read_detectors(tmp_path, 1)
    simulation = AnnotationErrorSimulation(truth, ~truth.crowd, Detection(spurious=(3, 20)), 0)
    rates = np.array([simulation.rates("spurious", i)[0] for i in range(2000)])
    # Beta(3.5, 17.5) has the mean 1/6 and the variance 1/6 · 5/6 / 22.
    assert rates.mean() == pytest.approx(1 / 6, abs=0.006)
    assert rates.std() == pytest.approx((1 / 6 * 5 / 6 / 22) ** 0.5, rel=0.06)


def test_rates_of_classes_and_sizes_replace_the_common_one(tmp_path):
    _, truth, _ = read_detectors(tmp_path, 1)
    rates = (("class 1", "*", "spurious", 0.0), ("*", "small", "spurious", 1.0))
    simulation = AnnotationErrorSimulation(truth, ~truth.crowd, Detection(spurious=0.5, rates=rates), 0)
    found = simulation.rates("spurious", 0)
    small = simulation.areas[simulation.rows] < 32**2
    first = truth.label[simulation.rows] == 0
    assert (found[small] == 1).all()
    assert (found[first & ~small] == 0).all()
    assert (found[~first & ~small] == 0.5).all()
    with pytest.raises(vt.DataError, match="expected classes of the ground truth, found 'dog'"):
        AnnotationErrorSimulation(truth, ~truth.crowd, Detection(rates=[("dog", "*", "spurious", 0.5)]), 0).rates(
            "spurious", 0
        )


def test_errors_that_favour_a_detector_are_likelier_where_it_gains(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 1)
    results = [vt.coco(truth, pred, checks="off") for pred in preds.values()]
    errors = Detection(spurious=0.1, missing=0.1, favours=("d1", 4))
    simulation = LeaderboardSimulation(tuple(preds), results, ["AP"], errors, None, LeaderboardSettings())
    rates = simulation.ground_truths.rates("spurious", 0)
    found = (results[1].evaluation.outcomes().pred >= 0)[simulation.ground_truths.rows]
    assert rates[found].min() == pytest.approx(4 * rates[~found].max())
    assert rates.mean() == pytest.approx(0.1)
    factor = simulation.ground_truths.relative_rates["missing"][0][len(simulation.ground_truths.rows) :]
    assert set(factor[simulation.pool.found[:, 1]]) == {1.0}
    assert set(factor[~simulation.pool.found[:, 1]]) == {4.0}


def test_candidates_are_clusters_of_unmatched_detections():
    truth = vt.Annotations.of(["a", "a"], ["cat", "dog"], [[0, 0, 10, 10], [50, 50, 60, 60]])
    box, other = [20.0, 20, 30, 30], [20.0, 20, 30, 31]
    one = vt.Annotations.of(["a"] * 3, ["cat", "cat", "dog"], [[0, 0, 10, 9], box, [50, 50, 60, 60]],
                            confidence=[0.9, 0.6, 0.9]).like(truth)  # fmt: skip
    two = vt.Annotations.of(["a"] * 3, ["cat", "cat", "dog"], [other, [80, 80, 90, 90], [0, 0, 10, 10]],
                            confidence=[0.4, 0.02, 0.3]).like(truth)  # fmt: skip
    pool = pool_boxes(truth, [one, two])
    # cat at (20, 20): both detectors, .6 and .4; dog at (0, 0), where only a cat is: .3; .02 is too low.
    assert pool.label.tolist() == [0, 1]
    assert pool.weight == pytest.approx([0.5, 0.15])
    assert pool.boxes[0] == pytest.approx([20, 20, 10, (0.6 * 10 + 0.4 * 11) / 1.0])
    assert pool.found.tolist() == [[True, True], [False, True]]
    turned = pool_boxes(truth, [two, one])
    assert turned.weight.tobytes() == pool.weight.tobytes()
    assert turned.boxes.tobytes() == pool.boxes.tobytes()


def test_probabilities_add_up_as_far_as_none_exceeds_one():
    weights = np.array([0.5, 0.2, 0.1, 0.1, 0.1])
    assert scale_probabilities(weights, 0.5) == pytest.approx(weights / 2)
    assert scale_probabilities(weights, 3.0).sum() == pytest.approx(3.0)
    assert scale_probabilities(weights, 3.0).max() == 1.0
    assert scale_probabilities(weights, 9.0).tolist() == [1.0] * 5
    assert scale_probabilities(np.zeros(2), 1.0).tolist() == [0.0, 0.0]


def test_no_side_of_a_displaced_box_passes_the_opposite_one():
    moved = displace_boxes(np.array([[0.0, 0, 10, 10]]), np.array([[2.0, 0, 0, -0.5]]))
    assert moved[0] == pytest.approx([20, 0, 20.01, 5])


def test_posterior_draws_of_rates_are_taken_row_by_row_all_kinds_at_once():
    from verite.annotation_errors.detection import Detection
    from verite.leaderboards.simulation import AnnotationErrorSimulation

    names = [f"i{i}" for i in range(200)]
    truth = vt.Annotations.of(names, ["cat"] * 200, [[0, 0, 50, 50]] * 200)
    # Every annotation is spurious in even simulations; in odd ones half of the boxes are displaced, by little.
    rows = ((0.0, 1.0, 0.0, float("nan"), float("nan"), float("nan")), (0.0, 0.0, 0.0, 0.5, 0.001, 0.2))
    errors = Detection(draws=rows)
    simulation = AnnotationErrorSimulation(truth, np.ones(200, bool), errors, seed=1)
    for sample in range(4):
        removed, _, _, _, displaced = simulation.sample(sample)
        if sample % 2 == 0:
            assert sorted(removed.tolist()) == list(range(200))
            assert not len(displaced)
        else:
            assert 70 <= len(displaced) <= 130
            assert np.abs(displaced[:, 1:] - [0, 0, 50, 50]).max() < 1
    assert errors.mean("spurious") == 0.5
    assert errors.lit_share(0) == 0.7
    assert errors.lit_share(1) == 0.2
    assert errors.scale(0.5).mean("spurious") == 0.25


def test_an_audit_of_missing_objects_has_a_gamma_posterior():
    """Three missing objects beside 60 annotations: mean 3.5 / 60, variance 3.5 / 60², and no upper bound of 1."""
    from verite.annotation_errors.detection import Detection

    errors = Detection(missing=(3, 60), spurious=(3, 60))
    rng = np.random.default_rng(2)
    drawn = np.array([errors.sample_rate("missing", i, rng) for i in range(20_000)])
    assert errors.mean("missing") == pytest.approx(3.5 / 60)
    assert drawn.mean() == pytest.approx(3.5 / 60, rel=0.02)
    assert drawn.var() == pytest.approx(3.5 / 60**2, rel=0.05)
    assert errors.mean("spurious") == pytest.approx(3.5 / 61)  # a share of the checked annotations: Beta


def test_draws_of_rates_are_read_and_refused(tmp_path):
    from verite.annotation_errors.detection import Detection, read_draws

    path = tmp_path / "rates.csv"
    path.write_text("missing,spurious,label,jitter_share,jitter_sd,lit\n0.1,0.02,0.01,1,0.05,\n0.2,0.03,0.01,1,0.06,\n")
    rows = read_draws(path)
    assert len(rows) == 2
    assert Detection(draws=rows).mean("missing") == pytest.approx(0.15)
    path.write_text("missing,spurious,label,jitter_share,jitter_sd,lit\n0.1,2,0.01,1,0.05,\n")
    with pytest.raises(vt.ReadError, match=r"rates.csv:2.*spurious, found 2"):
        read_draws(path)
    path.write_text("missing,spurious\n0.1,0.2\n")
    with pytest.raises(vt.ReadError, match="jitter_share"):
        read_draws(path)
    with pytest.raises(vt.BadParameter, match="found both"):
        Detection(missing=0.1, draws=rows)
