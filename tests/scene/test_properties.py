"""What must hold for any scene."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import verite as vt
from tests.scene.scenes import LABELS, SIDE, boxes_in_images, of_masks, scored

MODES = st.sampled_from(["multiple", "one-to-one"])
DISTANCES = vt.ClassDistances.of(LABELS, [[0, 0.3, 1], [0.3, 0, 0.7], [1, 0.7, 0]])
CLOSE = pytest.approx
unhurried = settings(deadline=None, max_examples=min(60, settings().max_examples))
METRICS = st.sampled_from(["martin", "iou", "pascal", "dice"])


@unhurried
@given(boxes_in_images(), boxes_in_images(confident=True), MODES, st.sampled_from([0, 0.3, 0.8, 1]), METRICS)
def test_scores_lie_between_0_and_1(truth, pred, matching, alpha, localization):
    found = scored(truth, pred, matching=matching, alpha=alpha, localization=localization, distance=DISTANCES)
    assert ((found.image_scores >= 0) & (found.image_scores <= 1)).all()


@unhurried
@given(boxes_in_images(), MODES)
def test_one_to_one_identical_scenes_score_0(truth, matching):
    # With multiple matching an object also matches another that overlaps it, which is judged like any match.
    if matching == "one-to-one":
        assert scored(truth, truth, matching=matching).score == 0
    else:
        alone = scored(truth, truth).scored.matches
        if (alone.truth == alone.pred).all():
            assert scored(truth, truth).score == 0


@unhurried
@given(boxes_in_images(), boxes_in_images(confident=True), MODES, st.randoms())
def test_the_order_of_objects_does_not_matter(truth, pred, matching, random):
    rows = [random.sample(range(len(side)), len(side)) for side in (truth, pred)]
    first = scored(truth, pred, matching=matching, distance=DISTANCES)
    second = scored(truth.take(np.array(rows[0], int)), pred.take(np.array(rows[1], int)), matching=matching,
                    distance=DISTANCES)  # fmt: skip
    assert first.image_scores == CLOSE(second.image_scores, abs=1e-12)


@unhurried
@given(boxes_in_images(images=3), boxes_in_images(images=3), MODES)
def test_the_order_of_images_does_not_matter(truth, pred, matching):
    def turned(side):
        table = vt.Images(side.images.names[::-1], widths=side.images.widths, heights=side.images.heights)
        return replace(side, images=table, image=(2 - side.image).astype(np.int32))

    first, second = scored(truth, pred, matching=matching), scored(turned(truth), turned(pred), matching=matching)
    assert first.image_scores == CLOSE(second.image_scores[::-1], abs=1e-12)
    assert first.score == CLOSE(second.score)


@unhurried
@given(boxes_in_images(), boxes_in_images(), MODES, st.integers(-3, 9), st.integers(-3, 9))
def test_shifting_both_scenes_together_changes_nothing(truth, pred, matching, dx, dy):
    def shifted(side):
        return replace(side, regions=vt.Regions(side.regions.boxes + np.array([dx, dy, dx, dy])))

    first, second = scored(truth, pred, matching=matching), scored(shifted(truth), shifted(pred), matching=matching)
    assert first.image_scores == CLOSE(second.image_scores, abs=1e-12)


@unhurried
@given(boxes_in_images(), MODES, st.integers(0, 1))
def test_a_spurious_object_never_makes_a_perfect_scene_better(truth, matching, image):
    perfect = scored(truth, truth, matching=matching)
    far = vt.Annotations.of(
        [*(truth.images.name(i) for i in truth.image), f"i{image}"],
        [*(truth.labels.name(i) for i in truth.label), "cat"],
        np.vstack([truth.regions.boxes, [[50, 50, 60, 60]]]),
        images=truth.images.names,
        labels=LABELS,
    )
    more = scored(truth, far, matching=matching)
    assert (more.image_scores >= perfect.image_scores - 1e-12).all()
    assert more.image_scores[image] > 0


@unhurried
@given(boxes_in_images(), st.data())
def test_removing_a_matched_object_never_makes_a_perfect_scene_better(truth, data):
    if not len(truth):
        return
    gone = data.draw(st.integers(0, len(truth) - 1))
    fewer = truth.take(np.delete(np.arange(len(truth)), gone))
    found = scored(truth, fewer, matching="one-to-one")
    assert found.score >= scored(truth, truth, matching="one-to-one").score == 0
    assert found.score > 0


@unhurried
@given(boxes_in_images(), boxes_in_images(), st.sampled_from([None, 0.2, 0.5]), METRICS)
def test_one_to_one_is_symmetric(truth, pred, threshold, localization):
    how = {"matching": "one-to-one", "iou": threshold, "distance": DISTANCES, "localization": localization}
    assert scored(truth, pred, **how).image_scores == CLOSE(scored(pred, truth, **how).image_scores, abs=1e-12)


@unhurried
@given(boxes_in_images(), boxes_in_images(confident=True), MODES)
def test_the_trace_of_an_image_ends_at_its_score(truth, pred, matching):
    found = scored(truth, pred, matching=matching, distance=DISTANCES)
    for i, score in enumerate(found.image_scores):
        trace = found.trace(i)
        assert trace.score == CLOSE(score, abs=1e-12)
        cells = trace.compensated[~np.isnan(trace.compensated)]
        assert trace.score == CLOSE(cells.mean() if len(cells) else 0, abs=1e-12)


@pytest.mark.thorough
@unhurried
@given(boxes_in_images(), boxes_in_images())
def test_boxes_polygons_and_masks_of_the_same_pixels_score_alike(truth, pred):
    def masks(side):
        drawn = np.zeros((len(side), SIDE, SIDE), dtype=bool)
        for i, (x1, y1, x2, y2) in enumerate(side.regions.boxes.astype(int)):
            drawn[i, y1:y2, x1:x2] = True
        return of_masks(drawn, side.label, side.image, len(side.images))

    def polygons(side):
        rings = [[[x1, y1, x2, y1, x2, y2, x1, y2]] for x1, y1, x2, y2 in side.regions.boxes.tolist()]
        return replace(side, regions=vt.Regions(side.regions.boxes, polygons=vt.Polygons.of(rings)))

    boxes = scored(truth, pred).image_scores
    assert boxes == CLOSE(scored(masks(truth), masks(pred)).image_scores, abs=1e-12)
    assert boxes == CLOSE(scored(polygons(truth), polygons(pred), polygons="centre").image_scores, abs=1e-12)
    assert boxes == CLOSE(scored(masks(truth), polygons(pred), polygons="centre").image_scores, abs=1e-12)


@unhurried
@given(boxes_in_images(), boxes_in_images(confident=True), MODES, st.sampled_from([None, 0.1, 0.2, 0.5]))
def test_scenes_are_judged_as_the_paper_tells_it(truth, pred, matching, threshold):
    from tests.oracles.interpretation import score_of

    found = scored(truth, pred, matching=matching, iou=threshold, distance=DISTANCES)
    for i, score in enumerate(found.image_scores):
        mine, theirs = (np.flatnonzero(side.image == i) for side in (truth, pred))
        told = score_of(
            truth.regions.boxes[mine], truth.label[mine], pred.regions.boxes[theirs], pred.label[theirs],
            pred.confidence[theirs], DISTANCES.matrix, matching, threshold,
        )  # fmt: skip
        assert score == CLOSE(told, abs=1e-11)
