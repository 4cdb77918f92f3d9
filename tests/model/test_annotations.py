"""The columns of a data set: nothing changes them, filters give new ones, the digest stands for all of them."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import verite as vt


@pytest.fixture
def data():
    """Three objects with every kind of column."""
    return vt.Annotations(
        images=vt.Images(["a.jpg", "b.jpg"], [4, 7], widths=[640, 320], heights=[480, 240]),
        labels=vt.Labels(["cat", "dog", "cow"], [1, 2, 9]),
        image=np.array([0, 1, 1]),
        label=np.array([2, 0, 2]),
        regions=vt.Regions(
            [[0, 0, 4, 2], [1, 1, 3, 3], [0, 0, 2, 2]],
            polygons=vt.Polygons.of([[], [[1, 1, 3, 1, 3, 3], [1, 2, 2, 2, 2, 3]], []]),
            runs=vt.RLEMasks.of([None, None, ([0, 4], (2, 2))]),
        ),
        confidence=np.array([0.5, 0.25, 0.75]),
        area=np.array([8.0, 2.0, 4.0]),
        ids=np.array([11, 12, 13]),
        flags={"crowd": np.array([False, False, True]), "difficult": np.array([True, False, False])},
    )


def columns(data):
    """Every array there is."""
    yield from (data.image, data.label, data.confidence, data.area, data.ids, *data.flags.values())
    yield from (data.images.ids, data.images.widths, data.images.heights, data.labels.ids)
    regions = data.regions
    yield from (regions.values, regions.boxes, regions.sizes)
    yield from (regions.polygons.points, regions.polygons.rings, regions.polygons.objects)
    yield from (regions.runs.counts, regions.runs.objects, regions.runs.sizes)


def test_no_column_can_be_written_to(data):
    for column in columns(data):
        with pytest.raises(ValueError, match="read-only"):
            column[...] = 0


def test_no_column_can_be_exchanged(data):
    with pytest.raises(FrozenInstanceError):
        data.image = np.array([0, 0, 0])


def test_arrays_of_the_caller_stay_the_callers():
    boxes, confidence, crowd = np.ones((1, 4)), np.ones(1), np.array([True])
    made = vt.Annotations.of(["a"], ["cat"], boxes, confidence=confidence, crowd=crowd)
    digest = made.digest
    boxes[:] = confidence[:] = 5
    crowd[:] = False
    assert made.regions.boxes.tolist() == [[1, 1, 1, 1]]
    assert made.confidence.tolist() == [1]
    assert made.crowd.tolist() == [True]
    assert replace(made).digest == digest


def test_plain_lists_become_columns():
    made = vt.Annotations.of(
        ["b", "a", "b"],
        ["cat", "dog", "cat"],
        [[0, 0, 1, 1]] * 3,
        "xywh",
        sizes={"c": (6, 4)},
        images=["z"],
        labels=["cow"],
        crowd=[0, 1, 0],
    )
    assert made.images.names == ("z", "c", "b", "a")
    assert made.images.widths.tolist() == [0, 6, 0, 0]
    assert made.image.tolist() == [2, 3, 2]
    assert made.labels.names == ("cow", "cat", "dog")
    assert made.label.tolist() == [1, 2, 1]
    assert made.crowd.tolist() == [False, True, False]
    assert repr(made) == "Annotations: 3 objects of 3 classes in 4 images"


def test_no_objects_are_annotations_too():
    made = vt.Annotations.of([], [], [])
    assert len(made) == len(made.images) == len(made.labels) == 0
    assert made.digest


def test_flag_that_nobody_carries_is_left_out(data):
    assert set(data.flags) == {"crowd", "difficult"}
    assert set(data.take(np.array([1])).flags) == set()
    assert data.take(np.array([1])).crowd.tolist() == [False]
    assert data.flag("occluded").tolist() == [False] * 3


def test_take_keeps_the_order_asked_for_and_all_columns(data):
    taken = data.take(np.array([2, 1]))
    assert taken.image.tolist() == [1, 1]
    assert taken.label.tolist() == [2, 0]
    assert taken.confidence.tolist() == [0.75, 0.25]
    assert taken.area.tolist() == [4, 2]
    assert taken.ids.tolist() == [13, 12]
    assert taken.crowd.tolist() == [True, False]
    assert taken.regions.boxes.tolist() == [[0, 0, 2, 2], [1, 1, 3, 3]]
    assert [len(rings) for rings in (taken.regions.polygons[0], taken.regions.polygons[1])] == [0, 2]
    assert taken.regions.runs[0].tolist() == [0, 4]
    assert taken.images is data.images
    assert taken.labels is data.labels


def test_where_keeps_what_the_mask_says(data):
    kept = data.where(data.confidence > 0.3)
    assert kept.ids.tolist() == [11, 13]
    assert len(data) == 3


def test_only_leaves_out_other_labels_and_their_names(data):
    kept = data.only(["cow", "dog"])
    assert kept.labels.names == ("dog", "cow")
    assert kept.labels.ids.tolist() == [2, 9]
    assert kept.label.tolist() == [1, 1]
    assert kept.ids.tolist() == [11, 13]
    assert len(kept.images) == 2


def test_only_names_the_nearest_label(data):
    with pytest.raises(vt.BadParameter, match=r"labels: expected one of 3 classes, found 'cats'; did you mean 'cat'\?"):
        data.only(["cats"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": np.array([0])}, "image: expected 3 values, one a region, found 1"),
        ({"confidence": np.array([0.5])}, "confidence: expected 3 values, one a region, found 1"),
        ({"flags": {"crowd": np.array([True])}}, "crowd: expected 3 values, one a region, found 1"),
        ({"flags": {"blurry": np.array([True] * 3)}}, "flags: expected names out of .*, found 'blurry'"),
        ({"image": np.array([0, 1, 2])}, "image: expected positions from 0 to 1"),
        ({"label": np.array([0, -1, 2])}, "label: expected positions from 0 to 2"),
    ],
)
def test_columns_that_do_not_fit_are_refused(data, change, message):
    with pytest.raises(vt.BadParameter, match=message):
        replace(data, **change)


def test_same_facts_have_the_same_digest(data):
    again = replace(data, source=vt.model.annotations.Source("elsewhere"))
    assert again.digest == data.digest
    assert data.take(np.arange(3)).digest == data.digest
    assert len(data.digest) == 16


def changed_regions(data, **changes):
    parts = {"boxes": data.regions.values, "polygons": data.regions.polygons, "runs": data.regions.runs, **changes}
    return replace(data, regions=vt.Regions(**parts))


def test_every_fact_changes_the_digest(data):
    images, labels, regions = data.images, data.labels, data.regions
    points = np.array(regions.polygons.points)
    points[0] += 1
    others = [
        replace(data, image=np.array([0, 1, 0])),
        replace(data, label=np.array([2, 1, 2])),
        replace(data, confidence=np.array([0.5, 0.25, 0.7500001])),
        replace(data, confidence=None),
        replace(data, area=np.array([8.0, 2.0, 5.0])),
        replace(data, flags={}),
        replace(data, flags={"crowd": data.flag("difficult"), "difficult": data.flag("crowd")}),
        replace(data, unit="rel"),
        replace(data, images=vt.Images(["a.jpg", "c.jpg"], images.ids, widths=images.widths, heights=images.heights)),
        replace(data, images=vt.Images(images.names, images.ids, widths=[640, 321], heights=images.heights)),
        replace(data, images=vt.Images(images.names, images.ids, widths=images.widths, heights=[480, 241])),
        replace(data, labels=vt.Labels(["cat", "dog", "Cow"], labels.ids)),
        changed_regions(data, boxes=[[0, 0, 4, 2], [1, 1, 3, 3], [0, 0, 2, 2.5]]),
        changed_regions(data, polygons=None),
        changed_regions(data, polygons=vt.Polygons(points, regions.polygons.rings, regions.polygons.objects)),
        changed_regions(data, runs=None),
        changed_regions(data, runs=vt.RLEMasks.of([None, None, ([1, 3], (2, 2))])),
        changed_regions(data, runs=vt.RLEMasks.of([None, None, ([0, 4], (1, 4))])),
        changed_regions(data, runs=vt.RLEMasks.of([None, ([0, 4], (2, 2)), None])),
        data.take(np.array([1, 0, 2])),
    ]
    digests = {other.digest for other in [data, *others]}
    assert len(digests) == len(others) + 1


def test_names_do_not_run_into_each_other_in_the_digest():
    first = vt.Annotations.of(["a\nb", "c"], ["x", "x"], [[0, 0, 1, 1]] * 2)
    second = vt.Annotations.of(["a", "b\nc"], ["x", "x"], [[0, 0, 1, 1]] * 2)
    assert first.digest != second.digest


def test_ids_of_objects_are_bookkeeping_and_not_in_the_digest(data):
    assert replace(data, ids=None).digest == data.digest


@pytest.mark.parametrize("odd", [1.7, float("nan"), float("inf"), 2**70, "x", None])
def test_an_id_or_size_that_is_no_whole_number_is_refused(odd):
    with pytest.raises(vt.BadParameter, match="images: ids: expected whole numbers"):
        vt.Images(ids=[odd])
    with pytest.raises(vt.BadParameter, match="images: widths: expected whole numbers"):
        vt.Images(["a"], widths=[odd], heights=[4])
    if odd != 2**70:  # as large as it may be in memory; files have 64 bits
        with pytest.raises(vt.BadParameter, match="labels: expected whole numbers as ids"):
            vt.Labels(ids=[odd])
    assert vt.Images(ids=[2.0]).ids.tolist() == [2]
    assert vt.Labels(ids=[2.0]).ids.tolist() == [2]


@pytest.mark.parametrize("kind", [vt.Images, vt.Labels])
def test_a_name_that_is_no_text_is_refused(kind):
    with pytest.raises(vt.BadParameter, match="expected names, found 7"):
        kind(["a", 7])
